/* A verdict's helpers keep their bounds and cut at characters, fixes are ranked by what they free, and both forms say
 * everything that was filled in, escaped and within the width. */
#include "app/learn/verdict.h"
#include "app/tui/surface.h"
#include "tests/check.h"
#include <jansson.h>

TEST(names_are_there_for_every_class_and_are_found_again)
{
    for (int c = 0; c < CAUSES; c++) {
        CHECK_EQ(cause_find(cause_name((enum cause)c)), c);
        CHECK(*cause_words((enum cause)c));
        for (int other = 0; other < c; other++) CHECK(strcmp(cause_name((enum cause)c), cause_name((enum cause)other)));
    }
    for (int s = 0; s < STACKS; s++) {
        CHECK(*stack_name((enum stack)s) && *stack_words((enum stack)s));
        for (int other = 0; other < s; other++) CHECK(strcmp(stack_name((enum stack)s), stack_name((enum stack)other)));
    }
    CHECK_EQ(cause_find("static-batch"), CAUSE_STATIC_BATCH);
    CHECK_EQ(cause_find("Growth"), -1);
    CHECK_EQ(cause_find(NULL), -1);
    CHECK_STR(cause_name((enum cause)99), "unknown");
    CHECK_STR(stack_name((enum stack)-3), "unknown");
}

TEST(bytes_are_said_exactly_where_they_are_whole_and_to_two_places_elsewhere)
{
    char s[VERDICT_BYTES];
    CHECK_STR(verdict_bytes(0, s), "0 B");
    CHECK_STR(verdict_bytes(1023, s), "1023 B");
    CHECK_STR(verdict_bytes(1024, s), "1 KiB");
    CHECK_STR(verdict_bytes(20ull << 30, s), "20 GiB");
    CHECK_STR(verdict_bytes((20ull << 30) + 1, s), "20.00 GiB"); /* not "20 GiB": it is more */
    CHECK_STR(verdict_bytes(1793148846, s), "1.67 GiB");
    CHECK_STR(verdict_bytes((1ull << 30) - 1, s), "1.00 GiB");
    CHECK_STR(verdict_bytes(UINT64_MAX, s), "16 EiB");
}

static struct verdict full(void)
{
    struct verdict v = {.cause = CAUSE_GROWTH, .sure = SURE_LIKELY, .stack = STACK_VLLM, .wrapped_by = STACK_LITELLM,
                        .line = 14, .what = "needs 4,310 pages, the pool has 4,096", .where = "turn 36 of researcher"};
    verdict_figure(&v, "tried", 20ull << 30);
    struct verdict_figure *f = verdict_figure(&v, "prompt", 4310);
    snprintf(f->unit, sizeof f->unit, "tokens");
    f->reckoned = true;
    verdict_evidence(&v, "+%d pages a turn", 190);
    verdict_not(&v, "fragmentation: %s", "nothing is free");
    verdict_fix(&v, -1, "ask somebody");
    verdict_fix(&v, 100, "small");
    struct verdict_fix *best = verdict_fix(&v, 1 << 20, "window and summary");
    snprintf(best->how, sizeof best->how, "--max-model-len 8192");
    best->apply = APPLY_MAX_TOKENS;
    best->value = 256;
    verdict_next(&v, "is it the first request?");
    return v;
}

TEST(lists_that_are_full_take_no_more)
{
    struct verdict v = {0};
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        CHECK((verdict_figure(&v, name, (uint64_t)i) != NULL) == (i < VERDICT_FIGURES));
        CHECK((verdict_fix(&v, i, "fix %d", i) != NULL) == (i < VERDICT_FIXES));
        verdict_evidence(&v, "%d", i);
        verdict_not(&v, "%d", i);
        verdict_next(&v, "%d", i);
    }
    CHECK_EQ(v.evidences, VERDICT_LINES);
    CHECK_EQ(v.nots, VERDICT_LINES);
    CHECK_EQ(v.nexts, VERDICT_LINES);
    CHECK_STR(v.evidence[VERDICT_LINES - 1], "7");
    CHECK_EQ(verdict_has(&v, "f3")->value, 3);
    CHECK(!verdict_has(&v, "f16"));
}

TEST(what_is_too_long_is_cut_at_a_character)
{
    char word[VERDICT_TEXT * 4 + 1];
    struct verdict v;
    for (int lead = 0; lead < 5; lead++) {
        memset(word, 'x', sizeof word);
        for (size_t i = (size_t)lead; i + 4 < sizeof word; i += 4) memcpy(word + i, "\xf0\x9f\xa6\x80", 4);
        word[sizeof word - 1] = '\0';
        v = (struct verdict){0};
        verdict_evidence(&v, "%s", word);
        const size_t n = strlen(v.evidence[0]);
        CHECK(n < VERDICT_TEXT && n >= VERDICT_TEXT - 4);
        CHECK_EQ((n - (size_t)lead) % 4, 0);
    }
    v = (struct verdict){0};
    memset(word, 0x80, sizeof word - 1); /* no character at all: nothing to cut at */
    verdict_next(&v, "%s", word);
    CHECK_EQ(strlen(v.next[0]), VERDICT_TEXT - 1);
}

TEST(fixes_are_ranked_by_what_they_free_and_keep_their_order_where_nothing_says)
{
    struct verdict v = {0};
    verdict_fix(&v, -1, "a");
    verdict_fix(&v, 5, "b");
    verdict_fix(&v, -7, "c");
    verdict_fix(&v, 0, "d");
    verdict_fix(&v, 9, "e");
    verdict_fix(&v, 5, "f");
    verdict_rank(&v);
    char order[8] = "";
    for (int i = 0; i < v.fixes; i++) order[i] = v.fix[i].what[0];
    CHECK_STR(order, "ebfdac");
    CHECK_EQ(v.fix[5].frees, -1);
}

static void check_widths(const struct verdict *v, int width)
{
    struct buf b = {0};
    verdict_text(v, width, &b);
    CHECK(!b.failed && b.len > 0 && b.data[b.len - 1] == '\n');
    for (const char *at = b.data; *at;) {
        const size_t n = strcspn(at, "\n");
        CHECK(surface_columns(at, n) <= MAX(width, 40));
        CHECK(n == 0 || at[n - 1] != ' ');
        at += n + 1;
    }
    buf_free(&b);
}

TEST(the_text_says_all_of_it_in_order_and_keeps_its_width)
{
    static const char *const said[] = {
        "Out of memory: growth with turns\n", "  needs 4,310 pages, the pool has 4,096\n", "  turn 36 of researcher\n",
        "  likely; in vLLM, reported by LiteLLM, line 14 of the text\n",
        "figures   tried 20 GiB, prompt 4310 tokens (reckoned)\n", "evidence  +190 pages a turn\n",
        "not       fragmentation: nothing is free\n", "fixes     1  window and summary (frees 1 MiB)\n",
        "             --max-model-len 8192\n", "          2  small (frees 100 B)\n", "          3  ask somebody\n",
        "next      is it the first request?\n"};
    struct verdict v = full();
    struct buf b = {0};
    verdict_rank(&v);
    verdict_text(&v, 80, &b);
    const char *at = b.data;
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        CHECK(strncmp(at, said[i], strlen(said[i])) == 0);
        at += strlen(said[i]);
    }
    CHECK_STR(at, "");
    buf_free(&b);
    memset(v.what, 'w', sizeof v.what - 1);
    for (int i = 0; i < VERDICT_LINES; i++) verdict_evidence(&v, "a word 猫猫猫 and %d and one more, and then", i);
    for (int width = -3; width < 140; width += 7) check_widths(&v, width);
}

TEST(a_verdict_without_anything_is_still_a_text_and_an_object)
{
    const struct verdict none = {0};
    struct buf b = {0};
    verdict_text(&none, 80, &b);
    CHECK_STR(b.data, "No cause found\n  a guess\n");
    buf_free(&b);
    verdict_json(&none, &b);
    json_t *o = json_loads(b.data, 0, NULL);
    CHECK_STR(json_string_value(json_object_get(o, "cause")), "unknown");
    CHECK_EQ(json_array_size(json_object_get(o, "fixes")), 0);
    json_decref(o);
    buf_free(&b);
}

TEST(the_json_has_every_field)
{
    struct verdict v = full();
    struct buf b = {0};
    verdict_rank(&v);
    verdict_json(&v, &b);
    CHECK_STR(b.data,
              "{\"schema_version\":1,\"cause\":\"growth\",\"sure\":\"likely\",\"stack\":\"vllm\",\"wrapped_by\":"
              "\"litellm\",\"line\":14,\"what\":\"needs 4,310 pages, the pool has 4,096\",\"where\":\"turn 36 of "
              "researcher\",\"figures\":[{\"name\":\"tried\",\"value\":21474836480,\"unit\":\"bytes\",\"reckoned\":"
              "false},{\"name\":\"prompt\",\"value\":4310,\"unit\":\"tokens\",\"reckoned\":true}],\"evidence\":"
              "[\"+190 pages a turn\"],\"not\":[\"fragmentation: nothing is free\"],\"fixes\":[{\"what\":\"window and "
              "summary\",\"how\":\"--max-model-len 8192\",\"frees_bytes\":1048576,\"apply\":\"max_tokens\",\"value\":"
              "256},{\"what\":\"small\",\"how\":\"\",\"frees_bytes\":100,\"apply\":\"nothing\",\"value\":0},{\"what\":"
              "\"ask somebody\",\"how\":\"\",\"frees_bytes\":null,\"apply\":\"nothing\",\"value\":0}],\"next\":[\"is "
              "it the first request?\"]}");
    buf_free(&b);
}

TEST(bytes_that_are_no_text_still_come_out_as_json)
{
    struct verdict v = {.cause = CAUSE_HOST};
    struct buf b = {0};
    snprintf(v.what, sizeof v.what, "a\xff\x1b[31m\"b");
    verdict_evidence(&v, "%s", "\xc3");
    verdict_figure(&v, "\x80", UINT64_MAX);
    verdict_json(&v, &b);
    json_t *o = json_loads(b.data, 0, NULL);
    CHECK(o);
    CHECK_STR(json_string_value(json_object_get(o, "what")), "a\xef\xbf\xbd^[[31m\"b");
    CHECK_EQ(json_integer_value(json_object_get(json_array_get(json_object_get(o, "figures"), 0), "value")), INT64_MAX);
    json_decref(o);
    buf_free(&b);
}

CHECK_MAIN
