/* Summaries: a newer value of the same thing takes the place of the older, and of nothing else. */
#include "tests/summary_rig.h"

/* Facts of an extract: of the record `before`, then what a person said. */
static const char *facts_of(const char *before, const char *const *text, size_t n)
{
    static char facts[1000];
    struct summary_source said[8];
    struct summary_result res;
    struct summary_limit l = most(1000);
    struct form_record r = {0};
    struct buf out = {0};
    if (before) r = read_record(before);
    for (size_t i = 0; i < n; i++) said[i] = (struct summary_source){form_text(text[i]), true};
    CHECK_EQ(summary_extract(before ? &r : NULL, said, n, NULL, &l, &out, &res, &err), 0);
    const char *from = out.data + strlen("Facts:\n- " SUMMARY_MARK "\n"), *to = strstr(out.data, "Decisions:");
    snprintf(facts, sizeof facts, "%.*s", (int)(to - from), from);
    forms_record_free(&r);
    buf_free(&out);
    return facts;
}

TEST(summary_f11_a_newer_value_takes_the_place_of_the_older)
{
    static const char *const port[] = {"The port is 8080.", "The host of the printer is Alba.", "The PORT is 9090."};
    CHECK_STR(facts_of(NULL, port, 3), "- the host of the printer is Alba\n- the PORT is 9090\n");
    CHECK_STR(facts_of("Facts:\n- the port is 7070\n- the host of the printer is Brix\n- Anna's desk is 5\n" NO_MORE,
                       port, 3), "- Anna's desk is 5\n- the host of the printer is Alba\n- the PORT is 9090\n");
    static const char *const now[] = {"My limit is 3.", "Anna's desk is now 17.", "My limit is 4."};
    CHECK_STR(facts_of("Facts:\n- Anna's desk is 5\n" NO_MORE, now, 3), "- Anna's desk is now 17\n- my limit is 4\n");
}

TEST(summary_f11_what_may_be_true_beside_the_older_stays_beside_it)
{
    static const char *const both[][2] = {
        {"The user is Ines.", "The user is Mara."},               /* there may be two */
        {"The port of it is 8080.", "The port of it is Alba."},   /* of another kind */
        {"The port is 8080.", "The port is 9090 on Brix."},       /* of something else */
        {"The port is 8080.", "The port of the lift is 9090."},
        {"The port is 8080.", "Is the port 9090?"},
        {"The port is 8080.", "The port is 9090?"},
        {"A dog is 5.", "A dog is 6."},                           /* another dog */
        {"The port I think is 5.", "The port that is 3 is 5."},
    };
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        const char *out = facts_of(NULL, both[i], 2);
        CHECK(strchr(out, '\n') != strrchr(out, '\n')); /* two lines */
    }
}

/* A model may be wrong, or late: only a person's word takes the place of another. */
TEST(summary_f11_a_model_takes_the_place_of_nothing)
{
    struct buf out = {0};
    struct summary_result res;
    struct summary_limit l = most(1000);
    struct summary_source said[] = {says("The port is 9090.", true), says("The limit is 7.", false)};
    struct form_record before = read_record("Facts:\n- the port is 8080\n- the limit is 5\n" NO_MORE);
    struct form_record now = read_record("Facts:\n- the port is 8080\n- the limit is 6\n" NO_MORE);
    CHECK_EQ(summary_merge(&before, &now, said, 2, NULL, &l, &out, &res, &err), 0);
    CHECK_STR(out.data, "Facts:\n- the limit is 5\n- the port is 9090\n- the limit is 6\n" NO_MORE_AT_END);
    out.len = 0; /* said in one go: which came last is not known */
    CHECK_EQ(summary_merge(NULL, &now, said, 2, NULL, &l, &out, &res, &err), 0);
    CHECK(strstr(out.data, "- the port is 9090\n- the port is 8080\n- the limit is 6\n"));
    out.len = 0;
    CHECK_EQ(summary_extract(&before, said, 2, NULL, &l, &out, &res, &err), 0);
    CHECK(strstr(out.data, "- the limit is 5\n- the port is 9090\n- the limit is 7\n"));
    forms_record_free(&before);
    forms_record_free(&now);
    buf_free(&out);
}

/* The model has the new value too: its line stays for the person's, and the old one goes. */
TEST(summary_f11_what_a_model_wrote_down_rightly_is_the_persons_word)
{
    struct buf out = {0};
    struct summary_result res;
    struct summary_limit l = most(1000);
    struct summary_source said[] = {says("The port is 9090.", true), says("No, the port is 7070.", true),
                                    says("Note that the port is 7070.", true)};
    struct form_record before = read_record("Facts:\n- the port is 8080\n" NO_MORE);
    struct form_record now = read_record("Facts:\n- the port is 7070\n- the port is 9090\n" NO_MORE);
    CHECK_EQ(summary_merge(&before, &now, said, 3, NULL, &l, &out, &res, &err), 0);
    CHECK_STR(out.data, "Facts:\n- the port is 7070\n" NO_MORE_AT_END);
    CHECK_EQ(res.added, 0);
    forms_record_free(&before);
    forms_record_free(&now);
    buf_free(&out);
}

/* Facts of a summary: `now` merged into `before`, where a person said this. */
static const char *facts_merged(const char *before, const char *now, const char *const *text, size_t n)
{
    static char facts[1000];
    struct form_record b = {0}, r = read_record(now);
    struct summary_source said[8];
    struct summary_limit l = most(1000);
    struct summary_result res;
    struct buf out = {0};
    if (before) b = read_record(before);
    for (size_t i = 0; i < n; i++) said[i] = says(text[i], true);
    CHECK_EQ(summary_merge(before ? &b : NULL, &r, said, n, NULL, &l, &out, &res, &err), 0);
    snprintf(facts, sizeof facts, "%.*s", (int)(strstr(out.data, "Decisions:") - out.data), out.data);
    forms_record_free(&b);
    forms_record_free(&r);
    buf_free(&out);
    return facts;
}

TEST(summary_f11_the_last_word_counts_though_a_record_has_its_value)
{
    static const char *const back[] = {"The port is 8080.", "The port is 9090."};
    const char *slow = "Facts:\n- it is slow\n" NO_MORE;
    CHECK_STR(facts_merged("Facts:\n- the port is 9090\n" NO_MORE, slow, back, 2),
              "Facts:\n- the port is 9090\n- it is slow\n");
    CHECK_STR(facts_merged(NULL, "Facts:\n- limit 9090\n" NO_MORE, back, 2),
              "Facts:\n- the port is 9090\n- limit 9090\n");
    CHECK_STR(facts_merged(NULL, "Facts:\n- port: 9090\n" NO_MORE, back + 1, 1), "Facts:\n- port: 9090\n");
    static const char *const again[] = {"The port is 9090.", "The port is 9090.", "The host is alba."};
    CHECK_STR(facts_merged(NULL, "Facts:\n- port: 9090\n- host: alba\n" NO_MORE, again, 3),
              "Facts:\n- port: 9090\n- host: alba\n");
    CHECK_STR(facts_merged(NULL, "Facts:\n- port: 8080, then 9090\n" NO_MORE, back, 2),
              "Facts:\n- port: 8080, then 9090\n"); /* both are there: neither is added */
}

/* One value of two things: what a record says of the one does not stand for the other. */
TEST(summary_f11_a_value_of_something_else_is_not_the_one_that_was_stated)
{
    static const char *const said[] = {"The port of bern is 17.", "My limit is 5."};
    CHECK_STR(facts_merged("Facts:\n- 5 of them came\n" NO_MORE, "Facts:\n- the port of alba is 17\n" NO_MORE, said, 2),
              "Facts:\n- 5 of them came\n- the port of bern is 17\n- my limit is 5\n- the port of alba is 17\n");
    CHECK_STR(facts_merged("Facts:\n- user's limit: 5\n" NO_MORE, "Facts:\n- 17 is Bern's port\n" NO_MORE, said, 2),
              "Facts:\n- user's limit: 5\n- 17 is Bern's port\n"); /* in words of its own */
    static const char *const desk[] = {"Anna's desk is 17."};
    CHECK_STR(facts_merged(NULL, "Facts:\n- Anna has desk 17\n" NO_MORE, desk, 1), "Facts:\n- Anna has desk 17\n");
}

CHECK_MAIN
