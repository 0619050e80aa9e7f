/* Summaries: what a model wrote down and nobody said leaves its record. */
#include "tests/summary_rig.h"

/* The record `text` after the check against what was shown; "": refused. */
static const char *checked(const char *text, const char *const *shown, size_t n, size_t *left)
{
    static char out[1000];
    struct form_text list[12];
    struct form_record r = read_record(text);
    struct buf b = {0};
    for (size_t i = 0; i < n; i++) list[i] = form_text(shown[i]);
    int rc = summary_check(&r, list, n, left, &err);
    if (rc == 0) forms_record(&r, &b);
    CHECK(rc == 0 || rc == SUMMARY_EMPTY);
    snprintf(out, sizeof out, "%s", rc == 0 ? b.data : "");
    buf_free(&b);
    forms_record_free(&r);
    return out;
}

static const char *const shown[] = {
    "You are kind.\n\nFacts:\n- the host is alba\n- the code of the lift is 4711",
    "Note that the port of the server is 8080.",
    "Noted: the port of the server is 8080.",
    "My name is Ines, and the limit is 17.",
    "Set 9090 on the printer. I see that it says no no no no to us",
    "Let us use src/main.c for it. The size of the main.c file is 5512",
    ("\xe7\xa0\x81\xe6\x98\xaf" "4242, and Vera's door has 25 to 36"), /* Chinese: the code is 4242 */
    "The owner of the lift is Vera. The guest is Olaf.",
    "Remember: the branch of the server is Umbra.",
    "It has 12,500 seals and 1'234'567 doors. The weight is 7_300. Use 10, 200 and 40,5000 or 33,444x or 8,12.",
};

static size_t leaves(const char *fact)
{
    char text[300];
    size_t left;
    snprintf(text, sizeof text, "Facts:\n- it is slow\n- %s\n" NO_MORE, fact);
    const char *out = checked(text, shown, COUNT_OF(shown), &left);
    CHECK(left == (strstr(out, fact) == NULL));
    CHECK(strstr(out, "- it is slow\n"));
    return left;
}

TEST(summary_check_f10_a_figure_or_a_name_that_nobody_said_leaves)
{
    CHECK_EQ(leaves("the port of the server is 8081"), 1);
    CHECK_EQ(leaves("the server is called Brix"), 1);
    CHECK_EQ(leaves("it is in src/other9.c"), 0); /* one digit may be a count */
    CHECK_EQ(leaves("it is in src/other99.c"), 1);
    CHECK_EQ(leaves("the port of the server is 8080"), 0);
    CHECK_EQ(leaves("the SERVER of Ines has port 8080"), 0);
    CHECK_EQ(leaves("Somebody wants 3 things: They are dear"), 0); /* a sentence may begin with any word */
    CHECK_EQ(leaves("user's machine is busy"), 0);                 /* in words of its own */
}

TEST(summary_check_f10_marks_of_utf_8_are_no_part_of_a_figure_or_a_name)
{
    CHECK_EQ(leaves("it is \xe2\x80\x9cVera\xe2\x80\x99s\xe2\x80\x9d with 25\xe2\x80\x93" "36"), 0);
    CHECK_EQ(leaves("it costs 25\xe2\x82\xac,\xc2\xa0" "36\xc2\xb5m"), 0);
    CHECK_EQ(leaves("\xe7\xa0\x81\xef\xbc\x9a" "4242\xe3\x80\x82"), 0);
    CHECK_EQ(leaves("it is of Vera\xc2\xa0now, of Vera\xef\xbc\x8cnow, of Vera\xe3\x80\x82"), 0);
    CHECK_EQ(leaves("\xe2\x80\x9cSomebody else\xe2\x80\x9d"), 0); /* it may begin a sentence */
    CHECK_EQ(leaves("\xe7\xa0\x81\xef\xbc\x9a" "4243\xe3\x80\x82"), 1);
    CHECK_EQ(leaves("it is of Zoltan\xe2\x80\x99s"), 1);
    CHECK_EQ(leaves("it costs 26\xe2\x82\xac"), 1);
}

TEST(summary_check_f10_a_figure_in_groups_is_the_same_without_them)
{
    CHECK_EQ(leaves("the port of the server is 8,080"), 0);
    CHECK_EQ(leaves("it has 12500 seals, or 12'500, or 12_500"), 0);
    CHECK_EQ(leaves("1,234,567 doors, 1234567"), 0);
    CHECK_EQ(leaves("the weight is 7300"), 0);
    CHECK_EQ(leaves("10,200"), 0); /* two figures */
    CHECK_EQ(leaves("the port of the server is 8,081"), 1);
    CHECK_EQ(leaves("the port of the printer is 8,080"), 1);
    CHECK_EQ(leaves("the weight of the door is 12,500"), 0); /* said, and stated of nothing */
    CHECK_EQ(leaves("the height is 7,300"), 1);
    CHECK_EQ(leaves("234567 doors"), 1);
    CHECK_EQ(leaves("1234 doors"), 1);
    CHECK_EQ(leaves("405000"), 1);
    CHECK_EQ(leaves("405,000"), 1);
    CHECK_EQ(leaves("33444"), 1);
    CHECK_EQ(leaves("10200"), 1);
    CHECK_EQ(leaves("812"), 1);
}

/* What is shown may be cut within a character, and so may a line of it be. */
TEST(summary_check_of_half_a_character_at_the_end_of_a_line)
{
    static const char *const half[] = {"\xc2", "\xe2\x80", "\xe3\x80", "\xef\xbc", "\xe2", "\xef"};
    struct buf text = {0};
    size_t left;
    for (int i = 0; i < 600; i++) {
        buf_puts(&text, half[i % 6]);
        buf_puts(&text, i % 2 ? "\nVera" : "Vera\n");
    }
    const char *const said[] = {text.data, half[0], half[1]};
    checked("Facts:\n- it is of Vera\n- it is of \xc2Vera\n" NO_MORE, said, 3, &left);
    CHECK_EQ(left, 0);
    checked("Facts:\n- it is slow\n- it is of Zoltan\n" NO_MORE, said, 3, &left);
    CHECK_EQ(left, 1);
    buf_free(&text);
}

TEST(summary_check_f10_a_figure_that_is_only_ever_something_else_leaves)
{
    CHECK_EQ(leaves("the colour of the server is 8080"), 1); /* it is the port */
    CHECK_EQ(leaves("the port of the new server is 8080"), 0);
    CHECK_EQ(leaves("the port of the printer is 8080"), 1);
    CHECK_EQ(leaves("the code of the server is 4711"), 1);   /* in the summary before it is the lift's */
    CHECK_EQ(leaves("the printer port is 9090"), 0);         /* said, but not stated of anything */
    CHECK_EQ(leaves("the most is 17"), 1);
    CHECK_EQ(leaves("the server has 8080"), 0);              /* no statement: in words of its own */
    CHECK_EQ(leaves("the main.c size is 5512"), 0);
}

TEST(summary_check_f10_a_name_that_is_only_ever_something_else_leaves)
{
    CHECK_EQ(leaves("the branch of the server is Umbra"), 0);
    CHECK_EQ(leaves("the server branch is Umbra"), 0);
    CHECK_EQ(leaves("the password of the server is Umbra"), 1);
    CHECK_EQ(leaves("the branch of the lift is Umbra"), 1);
    CHECK_EQ(leaves("the user is Ines"), 0);                  /* "my name is" is of nothing else */
    CHECK_EQ(leaves("the server is called Ines"), 0);         /* nor does it say that nothing else has the name */
    CHECK_EQ(leaves("Umbra is the branch of the server"), 0); /* what it is is no name */
    CHECK_EQ(leaves("the server has Umbra"), 0);              /* no statement: in words of its own */
    CHECK_EQ(leaves("the guest of the printer is Olaf"), 0);
    CHECK_EQ(leaves("the printer is of Olaf"), 1);
    CHECK_EQ(leaves("the keeper of the lift is Vera"), 0);    /* her line goes on: what it states is not certain */
}

TEST(summary_check_f10_an_item_of_a_model_that_could_not_stop_leaves)
{
    CHECK_EQ(leaves("call the lift off- the Lift off- the lift of it, lift"), 1);
    CHECK_EQ(leaves("the lift, the lift and the lift of the house"), 0);
    CHECK_EQ(leaves("it says no no no no"), 0); /* so it was said */
}

TEST(summary_check_looks_at_every_section_and_refuses_what_is_all_made_up)
{
    size_t left;
    const char *out = checked("Facts:\nnone\nDecisions:\n- ask Zoltan\n- ask Ines\nDone:\n- found 77\n"
                              "Open:\n- write the docs\n- call Zoltan\n", shown, COUNT_OF(shown), &left);
    CHECK_STR(out, "Facts:\nnone\nDecisions:\n- ask Ines\nDone:\nnone\nOpen:\n- write the docs");
    CHECK_EQ(left, 3);
    CHECK_STR(checked("Facts:\n- the port is 1234\n" NO_MORE, shown, COUNT_OF(shown), &left), "");
    CHECK_EQ(left, 1);
    CHECK_STR(checked("Facts:\n- it is so\n" NO_MORE, NULL, 0, &left), "Facts:\n- it is so\nDecisions:\nnone\n"
              "Done:\nnone\nOpen:\nnone");
    CHECK_STR(checked("Facts:\nnone\n" NO_MORE, shown, 1, &left), "Facts:\nnone\nDecisions:\nnone\n"
              "Done:\nnone\nOpen:\nnone"); /* empty is for the merge to refuse */
}

/* Any bytes on both sides; what is a line of what was shown always stays. */
TEST(summary_check_of_random_bytes_keeps_what_was_said)
{
    uint64_t seed = 88172645463325252u;
    for (int round = 0; round < 2000; round++) {
        static char bytes[280], text[600];
        for (size_t i = 0; i + 1 < sizeof bytes; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            static const char often[] = "aB17 is .=/:-A\xe2\x82\xac\xff\x01";
            bytes[i] = seed >> 61 ? often[(seed >> 8) % (sizeof often - 1)] : (char)(1 + (seed >> 16) % 255);
            if (bytes[i] == '\n') bytes[i] = ' ';
        }
        size_t left;
        snprintf(text, sizeof text, "Facts:\n- the code is 4711\n- x%.300s\n" NO_MORE, bytes + 1);
        bytes[0] = 'x';
        const char *const said[] = {bytes, "some code is 4711"};
        checked(text, said, COUNT_OF(said), &left);
        CHECK_EQ(left, 0);
    }
}

CHECK_MAIN
