/* Summaries: merged without loss, extracted where a model failed, compared; from any text. */
#include "tests/summary_rig.h"

static const char before_text[] =
    "Facts:\n- the port is 8080\n- the host is alba\nDecisions:\n- use LMDB\nDone:\n- write the parser\n"
    "Open:\n- write the docs\n- run the tests\n";
static const char now_text[] =
    "Facts:\n- the host is alba\n- the user is Ines\nDecisions:\nnone\nDone:\n- run the tests\nOpen:\n- tag 1.0\n";

static int merge(const char *a, const char *b, const struct summary_tasks *tasks, int64_t limit, struct buf *out,
                 struct summary_result *res)
{
    struct form_record before = {0}, now = read_record(b);
    struct summary_limit l = most(limit);
    if (a) before = read_record(a);
    int rc = summary_merge(a ? &before : NULL, &now, NULL, 0, tasks, &l, out, res, &err);
    forms_record_free(&before);
    forms_record_free(&now);
    return rc;
}

/* ------------------------------------------------------------------ merge */

TEST(summary_merge_keeps_what_was_there_and_each_item_once)
{
    struct buf out = {0};
    struct summary_result res;
    CHECK_EQ(merge(before_text, now_text, NULL, 1000, &out, &res), 0);
    CHECK_STR(out.data, "Facts:\n- the port is 8080\n- the host is alba\n- the user is Ines\nDecisions:\n- use LMDB\n"
                        "Done:\n- write the parser\n- run the tests\nOpen:\n- write the docs\n- tag 1.0");
    CHECK_EQ(res.items, 8);
    CHECK_EQ(res.dropped, 0);
    int64_t tokens;
    words(NULL, out.data, out.len, &tokens);
    CHECK_EQ(res.tokens, tokens);
    buf_free(&out);
}

TEST(summary_f12_done_and_open_are_the_task_state_whatever_a_model_wrote)
{
    struct buf out = {0};
    struct summary_result res;
    struct form_text done[] = {form_text("ship it")}, open[] = {form_text("ask Ines"), form_text("use 8080")};
    struct summary_tasks tasks = {{done, 1}, {open, 2}};
    CHECK_EQ(merge(before_text, now_text, &tasks, 1000, &out, &res), 0);
    CHECK(strstr(out.data, "Done:\n- ship it\nOpen:\n- ask Ines\n- use 8080"));
    CHECK(!strstr(out.data, "run the tests"));
    out.len = 0;
    tasks = (struct summary_tasks){0};
    CHECK_EQ(merge(before_text, now_text, &tasks, 1000, &out, &res), 0);
    CHECK(strstr(out.data, "Done:\nnone\nOpen:\nnone"));
    buf_free(&out);
}

TEST(summary_an_open_task_stays_until_it_is_done_and_may_be_opened_again)
{
    struct buf out = {0};
    struct summary_result res;
    CHECK_EQ(merge("Facts:\nnone\nDecisions:\nnone\nDone:\n- a\nOpen:\n- b\n- c\n",
                   "Facts:\nnone\nDecisions:\nnone\nDone:\n- b\nOpen:\n- a\n- b\n", NULL, 1000, &out, &res), 0);
    CHECK_STR(out.data, "Facts:\nnone\nDecisions:\nnone\nDone:\n- b\nOpen:\n- c\n- a");
    buf_free(&out);
}

TEST(summary_too_large_drops_what_looks_least_like_a_fact_first_and_says_how_many)
{
    struct buf out = {0};
    struct summary_result res;
    int64_t whole;
    CHECK_EQ(merge(before_text, now_text, NULL, 1000, &out, &res), 0);
    whole = res.tokens;
    out.len = 0;
    CHECK_EQ(merge(before_text, now_text, NULL, whole - 1, &out, &res), 0);
    CHECK_EQ(res.dropped, 1);
    CHECK(strstr(out.data, "8080") && !strstr(out.data, "alba") && strstr(out.data, "Ines"));
    CHECK(res.tokens <= whole - 1);
    out.len = 0; /* of the same kind the oldest; what was said again is not old */
    CHECK_EQ(merge("Facts:\n- port a is 1\n- port b is 2\n" NO_MORE, "Facts:\n- port c is 3\n- port a is 1\n" NO_MORE,
                   NULL, 28, &out, &res), 0);
    CHECK_EQ(res.dropped, 1);
    CHECK(!strstr(out.data, "port b") && strstr(out.data, "- port c is 3\n- port a is 1"));
    out.len = 0;
    CHECK_EQ(merge(before_text, now_text, NULL, 24, &out, &res), 0);
    CHECK(strstr(out.data, "Open:\n- write the docs\n- tag 1.0")); /* these never go by themselves */
    CHECK(!strstr(out.data, "LMDB"));
    CHECK_EQ(res.dropped + res.items, 8);
    out.len = 0;
    CHECK_EQ(merge(before_text, now_text, NULL, 10, &out, &res), SUMMARY_NO_ROOM);
    CHECK_EQ(out.len, 0);
    buf_free(&out);
}

TEST(summary_f10_an_empty_one_is_refused)
{
    struct buf out = {0};
    struct summary_result res;
    CHECK_EQ(merge(before_text, "Facts:\nnone\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone\n", NULL, 1000, &out, &res),
             SUMMARY_EMPTY);
    struct form_text blank[] = {{"\x01\x02", 2}}; /* nothing is left of it in a line */
    struct form_record r = {.section = {[RECORD_FACTS] = {blank, 1}}};
    struct summary_limit l = most(1000);
    CHECK_EQ(summary_merge(NULL, &r, NULL, 0, NULL, &l, &out, &res, &err), SUMMARY_EMPTY);
    CHECK_EQ(out.len, 0);
    buf_free(&out);
}

TEST(summary_a_counter_that_fails_is_no_guess)
{
    struct buf out = {0};
    struct summary_result res;
    bool fails = true;
    struct form_record now = read_record(now_text);
    struct summary_limit l = {words, &fails, 1000};
    CHECK_EQ(summary_merge(NULL, &now, NULL, 0, NULL, &l, &out, &res, &err), SUMMARY_NOT_COUNTED);
    CHECK_EQ(out.len, 0);
    forms_record_free(&now);
    buf_free(&out);
}

TEST(summary_f10_facts_are_compared_by_their_words_and_one_within_a_younger_one_goes)
{
    struct buf out = {0};
    struct summary_result res;
    CHECK_EQ(merge("Facts:\n- The port is 8080.\n- alba is on port 7\n- is the host alba?\n"
                   "Decisions:\n- use LMDB for this\nDone:\nnone\nOpen:\n- write the docs\n- Write the docs\n",
                   "Facts:\n- the \"port\" is 8080\n- note that alba is on port 7 now\n- yes, is the host alba? no!\n"
                   "- a port is 8080\nDecisions:\nnone\nDone:\nnone\nOpen:\n- write the docs today\n",
                   NULL, 1000, &out, &res), 0);
    CHECK_STR(out.data, "Facts:\n- the \"port\" is 8080\n- note that alba is on port 7 now\n"
                        "- yes, is the host alba? no!\n- a port is 8080\nDecisions:\n- use LMDB for this\nDone:\nnone\n"
                        "Open:\n- write the docs\n- Write the docs\n- write the docs today");
    out.len = 0; /* the younger one within the older says it anew: both stay; so does a fact within a question */
    CHECK_EQ(merge("Facts:\n- not true that the port is 8080\n- the host is alba\nDecisions:\n- the host is alba\n"
                   "Done:\nnone\nOpen:\nnone\n",
                   "Facts:\n- the port is 8080\n- say the host is alba and what else?\n" NO_MORE, NULL, 1000,
                   &out, &res), 0);
    CHECK_EQ(res.items, 5);
    buf_free(&out);
}

TEST(summary_merge_adds_what_a_person_stated_and_the_model_left_out)
{
    struct buf out = {0};
    struct summary_result res;
    struct form_record before = read_record(before_text), now = read_record(now_text);
    struct summary_source said[] = {
        says("Note that the code of the door is Hrubel.\nThe host is alba.", true),
        says("Noted: the code of the lift is Sarmo.", false), /* not a person's */
        says("My name is Ines. The port of it is 8080.", true), /* in a record, each; so not the whole: added */
        says("Is the key 4711?", true),
        says("Go on with src/main.c", true), /* states nothing */
        says("The port is 8080", true),
    };
    struct summary_limit l = most(1000);
    CHECK_EQ(summary_merge(&before, &now, said, COUNT_OF(said), NULL, &l, &out, &res, &err), 0);
    CHECK(strstr(out.data, "- the code of the door is Hrubel\n- my name is Ines. The port of it is 8080\n"
                           "- the port is 8080\n- the host is alba\n")); /* said again: it is not old */
    CHECK_EQ(res.added, 2);
    CHECK_EQ(res.items, 10);
    CHECK(!strstr(out.data, "Sarmo") && !strstr(out.data, "4711") && !strstr(out.data, "main.c"));
    l.most = 30; /* what finds no room is not counted as added */
    out.len = 0;
    CHECK_EQ(summary_merge(&before, &now, said, COUNT_OF(said), NULL, &l, &out, &res, &err), 0);
    CHECK_EQ(res.added, 0);
    CHECK_EQ(res.dropped + res.items, 10);
    forms_record_free(&before);
    forms_record_free(&now);
    buf_free(&out);
}

/* ------------------------------------------------------------------ extract */

TEST(summary_extract_has_first_sentences_and_lines_with_facts_and_is_marked)
{
    struct buf out = {0};
    struct summary_result res;
    struct summary_source said[] = {
        says("Please look at the server. It is slow. Thanks!", true),
        says("\n  well well\nnothing here\nthe log is /var/log/app.log and port = 8080\nhm\n", false),
    };
    struct summary_limit l = most(1000);
    CHECK_EQ(summary_extract(NULL, said, 2, NULL, &l, &out, &res, &err), 0);
    CHECK_STR(out.data, "Facts:\n- " SUMMARY_MARK "\n- Please look at the server\n- well well\n"
                        "- the log is /var/log/app.log and port = 8080\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone");
    CHECK_EQ(res.items, 3);
    struct form_record r = read_record(out.data);
    CHECK(summary_is_extract(&r));
    struct buf merged = {0}; /* a model's summary over it is one of a model */
    CHECK_EQ(merge(out.data, now_text, NULL, 1000, &merged, &res), 0);
    CHECK(!strstr(merged.data, SUMMARY_MARK) && strstr(merged.data, "/var/log/app.log"));
    forms_record_free(&r);
    buf_free(&merged);
    buf_free(&out);
}

TEST(summary_extract_within_its_tokens_keeps_what_looks_most_like_facts)
{
    struct buf out = {0};
    struct summary_result res;
    enum { N = 300 };
    static struct summary_source said[N];
    static char text[N][64];
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], i % 10 ? "so it goes on and on" : "set limit_%d=%d in /etc/a.conf", i, i);
        if (i % 10) text[i][0] = (char)('a' + i % 26); /* not all equal */
        said[i] = says(text[i], false);
    }
    struct summary_limit l = most(150);
    CHECK_EQ(summary_extract(NULL, said, N, NULL, &l, &out, &res, &err), 0);
    CHECK(res.tokens <= 150);
    CHECK(res.dropped > 0);
    CHECK(!strstr(out.data, "goes on"));
    CHECK(strstr(out.data, "limit_290=") && !strstr(out.data, "limit_0=")); /* of equal ones the newer */
    buf_free(&out);
}

TEST(summary_extract_keeps_tasks_and_the_summary_before)
{
    struct buf out = {0};
    struct summary_result res;
    struct form_record before = read_record(before_text);
    struct summary_source said[] = {says("Go on.", true)};
    struct summary_limit l = most(1000);
    CHECK_EQ(summary_extract(&before, said, 1, NULL, &l, &out, &res, &err), 0);
    CHECK(strstr(out.data, "8080") && strstr(out.data, "use LMDB") && strstr(out.data, "- run the tests"));
    CHECK_EQ(summary_extract(NULL, said, 0, NULL, &l, &out, &res, &err), SUMMARY_EMPTY);
    forms_record_free(&before);
    buf_free(&out);
}

TEST(summary_extract_leaves_out_an_answer_that_only_says_again_what_it_answers)
{
    struct buf out = {0};
    struct summary_result res;
    struct form_record before = read_record("Facts:\n- Remember: the key is 5\n" NO_MORE);
    struct summary_source said[] = {
        says("Noted: the key is 5.", false), /* its question is in the record before */
        says("Note that the port is 8080.", true),  says("Noted: the port is 8080.", false),
        says("Call Mara at 5 please.", true),       says("Open: call Mara at 5 sharp.", false), /* says more */
        says("The host is Alba.", true),            says("The port is 8080.", false), /* answers something else */
    };
    struct summary_limit l = most(1000);
    CHECK_EQ(summary_extract(&before, said, COUNT_OF(said), NULL, &l, &out, &res, &err), 0);
    CHECK_STR(out.data, "Facts:\n- " SUMMARY_MARK "\n- Remember: the key is 5\n- Call Mara at 5 please\n"
                        "- Open: call Mara at 5 sharp\n- the host is Alba\n- the port is 8080\n"
                        "Decisions:\nnone\nDone:\nnone\nOpen:\nnone");
    forms_record_free(&before);
    buf_free(&out);
}

TEST(summary_extract_has_a_statement_without_the_words_that_ask_to_remember_it)
{
    static const char *const line[][2] = {
        {"Note that the port is 8080.", "the port is 8080"},
        {"Please remember that Anna's desk is 17.", "Anna's desk is 17"},
        {"remember: The host is alba", "the host is alba"},
        {"Our key is /etc/key", "our key is /etc/key"},
        {"Keep in mind that my dog is called Rufo.", "my dog is called Rufo"},
        {"Remember to call Mara at 5", "Remember to call Mara at 5"}, /* states nothing */
        {"Note: 17 of them", "Note: 17 of them"},
        {"Note that", "Note that"},
        {"Thereafter B is 5", "Thereafter B is 5"},
    };
    for (size_t i = 0; i < COUNT_OF(line); i++) {
        struct buf out = {0}, want = {0};
        struct summary_result res;
        struct summary_source said[] = {says(line[i][0], true)};
        struct summary_limit l = most(100);
        buf_printf(&want, "Facts:\n- " SUMMARY_MARK "\n- %s\nDecisions:", line[i][1]);
        CHECK_EQ(summary_extract(NULL, said, 1, NULL, &l, &out, &res, &err), 0);
        CHECK(memcmp(out.data, want.data, MIN(out.len, want.len)) == 0);
        buf_free(&want);
        buf_free(&out);
    }
}

/* A chain of extracts in little room: the fact of the first is in the last, behind a hundred rounds of talk. */
TEST(summary_an_old_fact_outlives_young_nothings)
{
    struct buf text = {0};
    struct summary_result res;
    for (int round = 0; round < 100; round++) {
        char talk[3][64];
        snprintf(talk[0], 64, "What do you think of the %c%c?", 'a' + round % 26, 'a' + round / 26);
        snprintf(talk[1], 64, "I see, the %c%c. It goes on and on.", 'a' + round % 26, 'a' + round / 26);
        snprintf(talk[2], 64, "Say it to Anna %c%c", 'a' + round % 26, 'a' + round / 26);
        struct summary_source said[] = {says("The code of the door is Hrubel.", true), says(talk[0], true),
                                        says(talk[1], false), says(talk[2], true)};
        struct form_record before = {0};
        struct buf out = {0};
        struct summary_limit l = most(60);
        if (round > 0) before = read_record(text.data);
        size_t first = round > 0;
        int rc = summary_extract(first ? &before : NULL, said + first, COUNT_OF(said) - first, NULL, &l, &out, &res,
                                 &err);
        CHECK_EQ(rc, 0);
        forms_record_free(&before);
        buf_free(&text);
        text = out;
    }
    CHECK(strstr(text.data, "- the code of the door is Hrubel\n"));
    CHECK(!strstr(text.data, "What do you think") && strstr(text.data, "Anna"));
    CHECK(res.dropped > 0);
    buf_free(&text);
}

/* The same lines in many spellings, and lines within lines: quickly all the same. */
TEST(summary_of_many_lines_alike_takes_no_time)
{
    enum { N = 8000, LEN = 200 };
    struct summary_source *said = calloc(N, sizeof *said);
    char *text = calloc(N, LEN);
    struct buf out = {0};
    struct summary_result res;
    for (int i = 0; i < N; i++) {
        char *t = text + (size_t)i * LEN;
        for (int k = 0; k < 40; k++) strcat(t, i >> k % 13 & 1 ? "A1 " : "a1 ");
        snprintf(t + strlen(t), 16, i % 2 ? "x%d" : "a1", i);
        said[i] = says(t, true);
    }
    struct summary_limit l = most(200);
    CHECK_EQ(summary_extract(NULL, said, N, NULL, &l, &out, &res, &err), 0);
    CHECK_EQ(res.items + res.dropped, N / 2 + 1); /* 41 times a1, in any spelling, is one */
    buf_free(&out);
    free(said);
    free(text);
}

/* Of a message only so many bytes are looked at: wherever they end, no half of a line is taken for a whole one. */
TEST(summary_of_a_long_message_has_whole_lines_only)
{
    struct form_record now = read_record("Facts:\n- it is slow\n" NO_MORE);
    struct summary_limit l = most(1000);
    for (size_t at = 65536 - 20; at < 65536; at++) {
        struct summary_result res;
        struct buf text = {0}, out = {0};
        while (text.len < at) buf_puts(&text, text.len % 80 ? "x" : "\n");
        buf_puts(&text, "\nThe port is 8080\n");
        struct summary_source said = {{text.data, text.len}, true};
        CHECK_EQ(summary_merge(NULL, &now, &said, 1, NULL, &l, &out, &res, &err), 0);
        CHECK((strstr(out.data, "port") != NULL) == (strstr(out.data, "- the port is 8080\n") != NULL));
        CHECK(at > 65536 - 20 || strstr(out.data, "8080"));
        out.len = 0;
        CHECK_EQ(summary_extract(NULL, &said, 1, NULL, &l, &out, &res, &err), 0);
        CHECK((strstr(out.data, "port") != NULL) == (strstr(out.data, "- the port is 8080\n") != NULL));
        buf_free(&text);
        buf_free(&out);
    }
    forms_record_free(&now);
}

TEST(summary_extract_cuts_long_lines_before_a_character)
{
    struct buf out = {0}, line = {0};
    struct summary_result res;
    buf_puts(&line, "x 1 ");
    for (int i = 0; i < 300; i++) buf_puts(&line, "\xe2\x82\xac");
    struct summary_source said[] = {{{line.data, line.len}, false}};
    struct summary_limit l = most(1000);
    CHECK_EQ(summary_extract(NULL, said, 1, NULL, &l, &out, &res, &err), 0);
    char *end = strstr(out.data, "...\nDecisions");
    CHECK(end != NULL);
    CHECK_MEM(end - 3, "\xe2\x82\xac", 3);
    CHECK(strlen(out.data) < 400);
    buf_free(&line);
    buf_free(&out);
}

/* Any bytes, any number: a record comes out that its own reader takes, within its tokens; or it is refused. */
TEST(summary_extract_of_random_bytes_is_always_a_record_that_fits)
{
    uint64_t seed = 88172645463325252u;
    int extracts = 0;
    for (int round = 0; round < 3000; round++) {
        static char bytes[4096];
        struct summary_source said[64];
        struct buf out = {0};
        struct summary_result res;
        size_t at = 0, n = 0;
        for (size_t i = 0; i < sizeof bytes; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            static const char often[] = "ab1 \n.=/:-A\xe2\x82\xac\xff\x00\x1b";
            bytes[i] = seed >> 60 ? often[(seed >> 8) % sizeof often] : (char)(seed >> 16);
        }
        for (; n < 64 && at < sizeof bytes; n++) {
            size_t len = MIN((size_t)(seed >> (n % 40)) % 200, sizeof bytes - at);
            said[n] = (struct summary_source){{bytes + at, len}, n % 2 == 0};
            at += len;
        }
        struct summary_limit l = most(40 + round % 400);
        int rc = summary_extract(NULL, said, n, NULL, &l, &out, &res, &err);
        if (rc == 0) {
            struct form_record r;
            int64_t tokens;
            CHECK_EQ(forms_read_record(out.data, out.len, &r, &err), 0);
            CHECK(summary_is_extract(&r));
            CHECK_EQ(r.section[RECORD_FACTS].n, res.items + 1);
            words(NULL, out.data, out.len, &tokens);
            CHECK_EQ(tokens, res.tokens);
            CHECK(tokens <= l.most);
            forms_record_free(&r);
            extracts++;
        } else {
            CHECK(rc == SUMMARY_EMPTY || rc == SUMMARY_NO_ROOM);
            CHECK_EQ(out.len, 0);
        }
        buf_free(&out);
    }
    CHECK(extracts > 2000);
}

TEST(summary_extract_of_more_messages_than_items_takes_the_newest_and_says_so)
{
    enum { N = 20000 };
    struct summary_source *said = calloc(N, sizeof *said);
    char *text = calloc(N, 24);
    struct buf out = {0};
    struct summary_result res;
    for (int i = 0; i < N; i++) {
        snprintf(text + 24 * i, 24, "fact %d", i);
        said[i] = says(text + 24 * i, true);
    }
    struct summary_limit l = most(200);
    CHECK_EQ(summary_extract(NULL, said, N, NULL, &l, &out, &res, &err), 0);
    CHECK(strstr(out.data, "fact 19999"));
    CHECK_EQ(res.dropped + res.items, N);
    buf_free(&out);
    free(said);
    free(text);
}

/* ------------------------------------------------------------------ diff */

static struct summary_change diff(const char *a, const char *b, const char *want)
{
    struct buf out = {0};
    struct summary_change c;
    CHECK_EQ(summary_diff(form_text(a), form_text(b), &out, &c, &err), 0);
    CHECK_STR(out.data ? out.data : "", want);
    buf_free(&out);
    return c;
}

TEST(summary_diff_tells_what_went_and_what_came)
{
    struct summary_change c = diff("a\nb\n\nc\nc\n", "c\nd\na\nz", "- b\n- c\n+ d\n+ z\n");
    CHECK_EQ(c.removed, 2);
    CHECK_EQ(c.added, 2);
    c = diff("a\nb", "b\n \na\n", "");
    CHECK_EQ(c.removed + c.added, 0);
    diff("", "x", "+ x\n");
    diff("x", "", "- x\n");
    diff("", "", "");
}

TEST(summary_diff_of_too_many_lines_is_refused)
{
    struct buf many = {0}, out = {0};
    struct summary_change c;
    for (int i = 0; i <= SUMMARY_ITEMS; i++) buf_puts(&many, "x\n");
    struct form_text all = {many.data, many.len}, less = {many.data, many.len - 2};
    CHECK_EQ(summary_diff(all, less, &out, &c, &err), SUMMARY_TOO_MANY);
    CHECK_EQ(summary_diff(less, less, &out, &c, &err), 0);
    CHECK_EQ(out.len, 0);
    buf_free(&many);
    buf_free(&out);
}

CHECK_MAIN
