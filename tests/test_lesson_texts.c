/* The messages that lesson 16 gives to read are read by explain as the lesson says: what stands in its text and what
 * the program says of it do not part. */
#include "app/learn/explain.h"
#include "tests/check.h"

#include <glob.h>

static char lesson[64 << 10];

static void read_lesson(void)
{
    glob_t g;
    CHECK_EQ(glob("assets/lessons/16-*.lesson", 0, NULL, &g), 0);
    FILE *f = fopen(g.gl_pathv[0], "r");
    CHECK(f != NULL);
    lesson[fread(lesson, 1, sizeof lesson - 1, f)] = '\0';
    fclose(f);
    globfree(&g);
}

/* The verdict on the lesson's text from one mark up to, and with, another. */
static struct verdict judged(const char *from, const char *to)
{
    struct verdict v[EXPLAIN_MOST];
    const char *at = strstr(lesson, from), *end = at ? strstr(at, to) : NULL;
    if (!at || !end) check_fail(__FILE__, __LINE__, "the lesson has no \"%s ... %s\"", from, to);
    CHECK(explain_text(at, (size_t)(end - at) + strlen(to), v, EXPLAIN_MOST) >= 1);
    return v[0];
}

TEST(the_gap_of_the_first_is_too_small_for_what_was_asked)
{
    read_lesson();
    struct verdict v = judged("OutOfMemoryError:", "by PyTorch)");
    const struct verdict_figure *gap = verdict_has(&v, "gap"), *tried = verdict_has(&v, "tried");
    CHECK(v.cause != CAUSE_FRAGMENTATION);
    CHECK(gap && tried && gap->value < tried->value);
    bool denied = false;
    for (int i = 0; i < v.nots; i++) denied |= strncmp(v.not_it[i], "fragmentation", 13) == 0;
    CHECK(denied);
}

TEST(the_others_are_keys_and_values_then_ram_then_no_memory_at_all)
{
    read_lesson();
    CHECK_STR(cause_name(judged("\"To serve at least", "GiB).\"").cause), "kv");
    CHECK_STR(cause_name(judged("\"litellm.APIError", "Exit Code: 137\"").cause), "host");
    CHECK_STR(cause_name(judged("\"This model's maximum", "completion).\"").cause), "context");
}

CHECK_MAIN
