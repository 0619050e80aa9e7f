/* Every event of the table is written and read back; what is hostile in it is harmless on the way. */
#include "app/session/event.h"
#include "tests/check.h"
#include <jansson.h>
#include <math.h>

/* Fields that differ by kind and place, set through the table itself. */
static void fill(struct event *e, enum event_kind kind)
{
    const struct event_info *info = event_info(kind);
    *e = (struct event){.kind = kind, .seq = 3 + (int64_t)kind, .time = 0.25};
    for (size_t i = 0; i < info->n_fields; i++) {
        void *p = (char *)e + info->fields[i].at;
        switch (info->fields[i].type) {
        case EVENT_INT: *(int64_t *)p = INT64_MAX - (int64_t)i; break;
        case EVENT_REAL: *(double *)p = -1.5 - (double)i; break;
        case EVENT_STR: *(struct event_str *)p = event_str(info->fields[i].name); break;
        case EVENT_BOOL: *(bool *)p = i % 2 == 0; break;
        }
    }
}

static void check_same(const struct event *a, const struct event *b)
{
    const struct event_info *info = event_info(a->kind);
    CHECK_EQ(a->kind, b->kind);
    CHECK_EQ(a->seq, b->seq);
    CHECK_NEAR(a->time, b->time, 0);
    for (size_t i = 0; i < info->n_fields; i++) {
        const void *p = (const char *)a + info->fields[i].at, *q = (const char *)b + info->fields[i].at;
        const struct event_str *s = p, *t = q;
        switch (info->fields[i].type) {
        case EVENT_INT: CHECK_EQ(*(const int64_t *)p, *(const int64_t *)q); break;
        case EVENT_REAL: CHECK_NEAR(*(const double *)p, *(const double *)q, 0); break;
        case EVENT_STR:
            CHECK_EQ(s->len, t->len);
            CHECK_MEM(s->data, t->data, s->len);
            break;
        case EVENT_BOOL: CHECK_EQ(*(const bool *)p, *(const bool *)q); break;
        }
    }
}

TEST(event_every_kind_is_read_back_as_it_was_written)
{
    for (size_t k = 0; k < EVENT_KINDS; k++) {
        struct buf line = {0};
        struct event a, b;
        struct err err = {0};
        fill(&a, (enum event_kind)k);
        CHECK_EQ(event_write(&a, &line), 0);
        CHECK(memchr(line.data, '\n', line.len) == line.data + line.len - 1);
        CHECK_EQ(event_read(line.data, line.len - 1, &b, &err), 0);
        check_same(&a, &b);
        event_free(&b);
        buf_free(&line);
    }
}

TEST(event_names_are_unique_and_every_kind_and_field_is_documented)
{
    struct buf doc = {0};
    event_doc(&doc);
    for (size_t i = 0; i < EVENT_KINDS; i++) {
        const struct event_info *a = event_info((enum event_kind)i);
        CHECK(*a->doc && a->n_fields > 0);
        CHECK(strstr(doc.data, a->name) && strstr(doc.data, a->doc));
        for (size_t j = 0; j < i; j++) CHECK(strcmp(a->name, event_info((enum event_kind)j)->name) != 0);
        for (size_t f = 0; f < a->n_fields; f++) {
            CHECK(strstr(doc.data, a->fields[f].name));
            CHECK(strcmp(a->fields[f].name, "seq") && strcmp(a->fields[f].name, "time"));
            CHECK(strcmp(a->fields[f].name, "event") && strcmp(a->fields[f].name, "schema_version"));
            for (size_t g = 0; g < f; g++) CHECK(strcmp(a->fields[f].name, a->fields[g].name) != 0);
        }
    }
    buf_free(&doc);
}

/* Write a text event, check that the line is plain, read it back. */
static void through(const char *bytes, size_t n, const char *wanted, size_t n_wanted)
{
    struct event a = {.kind = EV_TEXT, .text = {.turn = 1, .text = {bytes, n}}}, b;
    struct buf line = {0};
    struct err err = {0};
    CHECK_EQ(event_write(&a, &line), 0);
    for (size_t i = 0; i + 1 < line.len; i++) CHECK((unsigned char)line.data[i] >= 0x20);
    CHECK_EQ(event_read(line.data, line.len, &b, &err), 0);
    CHECK_EQ(b.text.text.len, n_wanted);
    CHECK_MEM(b.text.text.data, wanted, n_wanted);
    event_free(&b);
    buf_free(&line);
}

TEST(event_strings_of_any_bytes_stay_inside_their_line)
{
    static const char quotes[] = "\"},{\"event\":\"error\"\n\\\x1b[31m\t\r", nul[] = "a\0b";
    through(quotes, sizeof quotes - 1, quotes, sizeof quotes - 1);
    through(nul, 3, nul, 3);
    through("", 0, "", 0);
    through("\xc3\xa9\xf0\x9f\x98\x80", 6, "\xc3\xa9\xf0\x9f\x98\x80", 6);
    through("a\xff" "b\xc3", 4, "a\xef\xbf\xbd" "b\xef\xbf\xbd", 8);         /* no UTF-8, and a cut character */
    through("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 9); /* a surrogate */
}

TEST(event_a_number_that_is_none_is_null)
{
    struct event a = {.kind = EV_TOKEN, .token = {.text = {"x", 1}, .logprob = -INFINITY}}, b;
    struct buf line = {0};
    CHECK_EQ(event_write(&a, &line), 0);
    CHECK(strstr(line.data, "\"logprob\":null"));
    CHECK_EQ(event_read(line.data, line.len, &b, NULL), 0);
    CHECK(isnan(b.token.logprob));
    event_free(&b);
    buf_free(&line);
}

TEST(event_reader_refuses_what_the_table_does_not_say)
{
    static const struct { const char *line, *part; } bad[] = {
        {"", "not JSON"}, {"{", "not JSON"}, {"[]", "JSON object"}, {"7", "not JSON"}, {"{} x", "not JSON"},
        {"{}", "schema_version"},
        {"{\"schema_version\":2,\"seq\":1,\"time\":0,\"event\":\"error\",\"where\":\"a\",\"text\":\"b\"}", "must be 1"},
        {"{\"schema_version\":1,\"seq\":1,\"time\":0}", "its name"},
        {"{\"schema_version\":1,\"seq\":1,\"time\":0,\"event\":7}", "its name"},
        {"{\"schema_version\":1,\"seq\":1,\"time\":0,\"event\":\"boom\"}", "no such event: boom"},
        {"{\"schema_version\":1,\"time\":0,\"event\":\"error\",\"where\":\"a\",\"text\":\"b\"}", "no field \"seq\""},
        {"{\"schema_version\":1,\"seq\":1,\"time\":0,\"event\":\"error\",\"where\":\"a\"}", "no field \"text\""},
        {"{\"schema_version\":1,\"seq\":1,\"time\":0,\"event\":\"error\",\"where\":1,\"text\":\"b\"}", "a string"},
        {"{\"schema_version\":1,\"seq\":1.5,\"time\":0,\"event\":\"error\",\"where\":\"a\",\"text\":\"b\"}",
         "an integer"},
        {"{\"schema_version\":1,\"seq\":99999999999999999999,\"time\":0,\"event\":\"error\"}", "not JSON"},
        {"{\"schema_version\":1,\"seq\":1,\"time\":0,\"event\":\"error\",\"where\":\"a\",\"text\":\"b\",\"x\":1}",
         "not in the table"},
        {"{\"schema_version\":1,\"seq\":1,\"seq\":1,\"time\":0,\"event\":\"error\",\"where\":\"a\",\"text\":\"b\"}",
         "not JSON"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct event e;
        struct err err = {0};
        CHECK_EQ(event_read(bad[i].line, strlen(bad[i].line), &e, &err), -1);
        if (!strstr(err.text, bad[i].part)) CHECK_STR(err.text, bad[i].part);
        CHECK(!e.owner);
    }
}

/* A stream that was recorded before a field was thought of is still one. */
TEST(event_reader_takes_streams_from_before_a_newer_field)
{
    struct event e = {.kind = EV_SESSION_OPEN, .seq = 1}, back;
    struct buf line = {0};
    struct err err = {0};
    e.session_open.mode = event_str("exact");
    CHECK_EQ(event_write(&e, &line), 0);
    char *mode = strstr(line.data, ",\"mode\":\"exact\"");
    CHECK(mode != NULL);
    memmove(mode, mode + strlen(",\"mode\":\"exact\""), strlen(mode + strlen(",\"mode\":\"exact\"")) + 1);
    CHECK_EQ(event_read(line.data, strlen(line.data), &back, &err), 0);
    CHECK_EQ(back.session_open.mode.len, 0);
    event_free(&back);
    char *seed = strstr(line.data, ",\"seed\":0");
    CHECK(seed != NULL);
    memmove(seed, seed + strlen(",\"seed\":0"), strlen(seed + strlen(",\"seed\":0")) + 1);
    CHECK(event_read(line.data, strlen(line.data), &back, &err) != 0);
    CHECK(strstr(err.text, "has no field \"seed\""));
    buf_free(&line);
}

TEST(event_reader_survives_cut_and_changed_lines)
{
    struct buf line = {0};
    struct event a, b;
    uint32_t random = 12345;
    fill(&a, EV_TURN_END);
    CHECK_EQ(event_write(&a, &line), 0);
    for (size_t n = 0; n < line.len - 1; n++) CHECK_EQ(event_read(line.data, n, &b, NULL), -1);
    for (int round = 0; round < 2000; round++) {
        random = random * 1664525 + 1013904223;
        size_t at = (random >> 8) % line.len;
        char was = line.data[at];
        line.data[at] = (char)(random >> 24);
        if (event_read(line.data, line.len, &b, NULL) == 0) event_free(&b);
        line.data[at] = was;
    }
    CHECK_EQ(event_read(line.data, line.len, &b, NULL), 0);
    event_free(&b);
    buf_free(&line);
}

TEST(event_reader_does_not_follow_endless_nesting)
{
    struct buf line = {0};
    struct event e;
    struct err err = {0};
    for (int i = 0; i < 200000; i++) buf_puts(&line, "[");
    CHECK_EQ(event_read(line.data, line.len, &e, &err), -1);
    CHECK(strstr(err.text, "not JSON"));
    buf_free(&line);
}

CHECK_MAIN
