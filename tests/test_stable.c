/* test_stable.c - what is left of a stream of events when all that may differ between two runs is taken out. */
#include "app/stable.h"
#include "tests/check.h"
#include <jansson.h>

/* ---------------------------------------------------------------- helpers */

static struct stable stable;
static struct buf out;
static int64_t seq;

static void begin(void)
{
    stable_free(&stable);
    buf_free(&out);
    stable = (struct stable){0};
    seq = 0;
}

/* Writes it, reads it back and gives it in. */
static void give(struct event e)
{
    struct buf line = {0};
    struct event read;
    e.seq = ++seq;
    CHECK_EQ(event_write(&e, &line), 0);
    CHECK_EQ(event_read(line.data, line.len - 1, &read, NULL), 0);
    CHECK_EQ(stable_put(&stable, &read, line.data, line.len - 1, &out), 0);
    event_free(&read);
    buf_free(&line);
}

/* What came of it, a line each: seq, name and the fields that these tests look at. */
static const char *end(void)
{
    static const char *const looked_at[] = {"turn", "text", "what", "index", "done", "of"};
    static char shown[1000];
    size_t n = 0;
    CHECK_EQ(stable_end(&stable, &out), 0);
    stable_free(&stable);
    shown[0] = '\0';
    for (const char *at = out.data, *stop; at && (stop = strchr(at, '\n')); at = stop + 1) {
        json_t *j = json_loadb(at, (size_t)(stop - at), JSON_ALLOW_NUL, NULL);
        CHECK(j != NULL && n < sizeof shown - 200);
        n += (size_t)sprintf(shown + n, "%lld %s", json_integer_value(json_object_get(j, "seq")),
                             json_string_value(json_object_get(j, "event")));
        for (size_t i = 0; i < COUNT_OF(looked_at); i++) {
            const json_t *value = json_object_get(j, looked_at[i]);
            if (json_is_integer(value)) n += (size_t)sprintf(shown + n, " %lld", json_integer_value(value));
            else if (value) n += (size_t)sprintf(shown + n, " %.80s", json_string_value(value));
        }
        n += (size_t)sprintf(shown + n, "\n");
        json_decref(j);
    }
    return shown;
}

static struct event text(int64_t turn, const char *bytes, size_t n)
{
    return (struct event){.kind = EV_TEXT, .text = {.turn = turn, .text = {bytes, n}}};
}

static struct event token(int64_t index)
{
    return (struct event){.kind = EV_TOKEN, .token = {.turn = 1, .index = index, .text = event_str("t")}};
}

static void give_text(const char *s) { give(text(1, s, strlen(s))); }

/* Fields of each type, by what; the union is as large as its largest member, so strings are all set. */
static struct event filled(enum event_kind kind, int64_t what, bool volatile_ones)
{
    static const char *const words[] = {"one", "two"};
    const struct event_info *info = event_info(kind);
    struct event e = {.kind = kind, .time = volatile_ones ? (double)what : 0};
    for (size_t i = 0; i < info->n_fields; i++) {
        const struct event_field *f = &info->fields[i];
        void *p = (char *)&e + f->at;
        int64_t value = f->is_volatile == volatile_ones ? what : 0;
        switch (f->type) {
        case EVENT_INT: *(int64_t *)p = value; break;
        case EVENT_REAL: *(double *)p = (double)value / 8; break;
        case EVENT_STR: *(struct event_str *)p = event_str(words[value]); break;
        case EVENT_BOOL: *(bool *)p = value != 0; break;
        }
    }
    return e;
}

static struct buf stable_of(struct event e)
{
    begin();
    give(e);
    CHECK_EQ(stable_end(&stable, &out), 0);
    struct buf b = out;
    out = (struct buf){0};
    return b;
}

/* ---------------------------------------------------------------- fields */

TEST(stable_volatile_fields_are_left_out_and_all_others_stay)
{
    for (size_t k = 0; k < EVENT_KINDS; k++) {
        const struct event_info *info = event_info((enum event_kind)k);
        if (info->class == EVENT_SAMPLE || k == EV_SAVED) continue;
        struct buf a = stable_of(filled((enum event_kind)k, 0, true));
        struct buf b = stable_of(filled((enum event_kind)k, 1, true));
        struct buf c = stable_of(filled((enum event_kind)k, 1, false));
        CHECK_STR(a.data, b.data);
        CHECK(strcmp(a.data, c.data) != 0);
        json_t *j = json_loads(a.data, 0, NULL);
        CHECK(j && !json_object_get(j, "time") && a.data[a.len - 1] == '\n');
        for (size_t i = 0; i < info->n_fields; i++)
            CHECK_EQ(json_object_get(j, info->fields[i].name) == NULL, info->fields[i].is_volatile);
        json_decref(j);
        buf_free(&a), buf_free(&b), buf_free(&c);
    }
}

TEST(stable_samples_leave_no_gap_in_the_numbers)
{
    begin();
    give((struct event){.kind = EV_MEMORY});
    give((struct event){.kind = EV_UNDONE, .undone = {.turn = 1, .what = event_str("m1")}});
    give((struct event){.kind = EV_MEMORY});
    give((struct event){.kind = EV_UNDONE, .undone = {.turn = 2, .what = event_str("m2")}});
    CHECK_STR(end(), "1 undone 1 m1\n2 undone 2 m2\n");
}

TEST(stable_says_nothing_of_when_a_turn_was_saved)
{
    begin();
    give_text("o");
    give((struct event){.kind = EV_SAVED, .saved = {.turn = 1}});
    give_text("ne");
    give((struct event){.kind = EV_UNDONE, .undone = {.turn = 1, .what = event_str("m1")}});
    give((struct event){.kind = EV_SAVED, .saved = {.turn = 1}});
    CHECK_STR(end(), "1 text 1 one\n2 undone 1 m1\n");
}

/* ---------------------------------------------------------------- what may be joined */

TEST(stable_text_is_the_same_however_it_was_cut)
{
    static const char whole[] = "1 text 1 one ship\n";
    begin();
    give_text("one ship");
    CHECK_STR(end(), whole);
    begin();
    give_text("o");
    give((struct event){.kind = EV_MEMORY});
    give_text("ne sh");
    give_text("");
    give_text("ip");
    CHECK_STR(end(), whole);
}

TEST(stable_text_stands_behind_the_tokens_among_which_it_was)
{
    begin();
    give(token(0)), give_text("o"), give(token(1)), give(token(2)), give_text("ne");
    static const char tokens_first[] = "1 token 1 t 0\n2 token 1 t 1\n3 token 1 t 2\n4 text 1 one\n";
    CHECK_STR(end(), tokens_first);
    begin();
    give(token(0)), give(token(1)), give_text("on"), give(token(2)), give_text("e");
    CHECK_STR(end(), tokens_first);
}

TEST(stable_text_of_two_answers_is_not_joined)
{
    begin();
    give_text("a");
    give(text(2, "b", 1));
    give((struct event){.kind = EV_UNDONE, .undone = {.turn = 2, .what = event_str("")}});
    give(text(2, "c", 1));
    CHECK_STR(end(), "1 text 1 a\n2 text 2 b\n3 undone 2 \n4 text 2 c\n");
}

TEST(stable_text_keeps_every_byte)
{
    begin();
    give(text(1, "a\0b", 3));
    give(text(1, "\033\"\\\n\xc3\xa4", 6));
    end();
    CHECK(strstr(out.data, "\"text\":\"a\\u0000b\\u001B\\\"\\\\\\n\xc3\xa4\"}\n"));
}

static struct event prefill(int64_t turn, int64_t done, int64_t of)
{
    return (struct event){.kind = EV_PREFILL, .prefill = {.turn = turn, .done = done, .of = of}};
}

TEST(stable_of_prefills_in_a_row_the_last_stays)
{
    begin();
    give(prefill(1, 8, 20)), give((struct event){.kind = EV_MEMORY}), give(prefill(1, 16, 20));
    give(prefill(1, 20, 20)), give(prefill(1, 9, 30));
    give_text("a");
    CHECK_STR(end(), "1 prefill 1 20 20\n2 prefill 1 9 30\n3 text 1 a\n");
}

TEST(stable_text_without_an_end_is_not_kept_for_ever)
{
    size_t n = 1 << 20;
    char *bytes = malloc(n);
    CHECK(bytes != NULL);
    memset(bytes, 'a', n);
    begin();
    for (int i = 0; i < 20; i++) give(text(1, bytes, n));
    CHECK(stable.text.len < 5 * n && out.len > 15 * n);
    CHECK_EQ(stable_end(&stable, &out), 0);
    CHECK(out.len > 20 * n && out.len < 20 * n + 400);
    begin();
    free(bytes);
}

CHECK_MAIN
