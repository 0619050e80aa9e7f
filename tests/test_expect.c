/* test_expect.c - /expect and /assert: what holds, what does not, and what each failure says. */
#include "app/expect.h"
#include "app/opts.h"
#include "tests/check.h"

/* ---------------------------------------------------------------- helpers */

static struct err err;

static int expect(const char *pattern, const char *answer)
{
    err = (struct err){0};
    int r = expect_answer(7, pattern, strlen(pattern), answer, answer ? strlen(answer) : 0, &err);
    CHECK_EQ(r, err.code);
    CHECK(r == EXPECT_HOLDS || (strncmp(err.text, "line 7: /expect", 15) == 0 && !strpbrk(err.text, "\n\r\033")));
    return r;
}

struct figures {
    const char *const *names;
    const double *values;
    size_t n;
};

static bool figure(void *self, const char *name, double *value)
{
    const struct figures *f = self;
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->names[i], name)) continue;
        *value = f->values[i];
        return true;
    }
    return false;
}

static const char *figure_name(void *self, size_t i)
{
    const struct figures *f = self;
    return i < f->n ? f->names[i] : NULL;
}

static const char *const names[] = {"context.tokens", "pool.share", "turns", "rate"};
static const double values[] = {4096, 0.5, 3, (double)NAN};
static const struct figures few = {names, values, COUNT_OF(names)};

static int assert_bytes(const struct figures *of, const char *args, size_t n)
{
    struct expect_figures f = {(void *)(uintptr_t)of, figure, figure_name};
    err = (struct err){0};
    int r = expect_figure(12, args, n, &f, &err);
    CHECK_EQ(r, err.code);
    CHECK(r == EXPECT_HOLDS || (strncmp(err.text, "line 12: /assert", 16) == 0 && !strpbrk(err.text, "\n\r\033")));
    return r;
}

static int assert_that(const char *args) { return assert_bytes(&few, args, strlen(args)); }

static void check_says(const char *part)
{
    if (!strstr(err.text, part)) CHECK_STR(err.text, part);
}

/* ---------------------------------------------------------------- /expect */

TEST(expect_a_plain_text_is_found_as_it_stands)
{
    CHECK_EQ(expect("ship", "A ship floats."), EXPECT_HOLDS);
    CHECK_EQ(expect("ship f", "A ship floats."), EXPECT_HOLDS);
    CHECK_EQ(expect(".*", "what .* means"), EXPECT_HOLDS);
    CHECK_EQ(expect("Ship", "A ship floats."), EXPECT_FAILED);
    CHECK_STR(err.text, "line 7: /expect: the answer has no \"Ship\"; it is \"A ship floats.\"");
    CHECK_EQ(expect(".*", ""), EXPECT_FAILED);
    CHECK_STR(err.text, "line 7: /expect: the answer has no \".*\"; it is \"\"");
}

TEST(expect_a_pattern_is_between_slashes)
{
    CHECK_EQ(expect("/sh[io]p/", "A ship floats."), EXPECT_HOLDS);
    CHECK_EQ(expect("/^b$/", "a\nb\nc"), EXPECT_HOLDS); /* ^ and $ are for each line */
    CHECK_EQ(expect("/a.b/", "a\nb"), EXPECT_FAILED);
    CHECK_EQ(expect("/usr/bin/", "in usr/bin it is"), EXPECT_HOLDS); /* the last slash ends it */
    CHECK_EQ(expect("/^.\xc3\xa4.$/", "\xf0\x9f\x9a\xa2\xc3\xa4\xe2\x82\xac"), EXPECT_HOLDS); /* of characters */
    CHECK_EQ(expect("/SHIP/", "A ship floats."), EXPECT_FAILED);
    CHECK_STR(err.text, "line 7: /expect: the answer does not match /SHIP/; it is \"A ship floats.\"");
    CHECK_EQ(expect("/SHIP/i", "A ship floats."), EXPECT_HOLDS);
    CHECK_EQ(expect("/BOAT/i", "A ship floats."), EXPECT_FAILED);
    check_says("does not match /BOAT/i;");
}

TEST(expect_a_backslash_in_front_makes_a_text_of_what_would_be_a_pattern)
{
    CHECK_EQ(expect("\\/a.c/", "/a.c/"), EXPECT_HOLDS);
    CHECK_EQ(expect("\\/a.c/", "abc"), EXPECT_FAILED);
    CHECK_EQ(expect("\\\\x", "\\x"), EXPECT_HOLDS);
    CHECK_EQ(expect("\\\\x", "x"), EXPECT_FAILED);
}

TEST(expect_what_is_no_pattern_is_refused)
{
    static const char *const bad[] = {"/", "//", "//i", "/i", "/abc", "/abc/x", "\\"};
    char longest[EXPECT_PATTERN + 2];
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_EQ(expect(bad[i], "/abc/x //i /abc"), EXPECT_BAD);
        check_says("is written /.../ or /.../i");
    }
    CHECK_EQ(expect("", "x"), EXPECT_BAD);
    check_says("needs a text or a /pattern/ of 1 to 1024 bytes");
    memset(longest, 'a', sizeof longest);
    longest[EXPECT_PATTERN] = '\0';
    CHECK_EQ(expect(longest, longest), EXPECT_HOLDS);
    longest[EXPECT_PATTERN] = 'a';
    longest[EXPECT_PATTERN + 1] = '\0';
    CHECK_EQ(expect(longest, longest), EXPECT_BAD);
    CHECK_EQ(expect("/a(b/", "a(b"), EXPECT_BAD);
    check_says("no pattern: missing closing parenthesis");
    CHECK_EQ(expect("/\\C/", "a"), EXPECT_BAD);
}

TEST(expect_before_the_first_answer_is_refused)
{
    CHECK_EQ(expect("x", NULL), EXPECT_BAD);
    check_says("there is no answer before it");
}

/* Exponential in the number of a's: a million steps, were it not for the limit. */
TEST(expect_a_pattern_that_is_too_much_work_is_an_error)
{
    CHECK_EQ(expect("/^(a+)+$/", "aaaaaaaaaaaaaaaaaaab"), EXPECT_BAD);
    check_says("the pattern cannot be matched: match limit exceeded");
    CHECK_EQ(expect("/^(a+)+$/", "aaaaaab"), EXPECT_FAILED);
}

/* A match may begin at a million places of a long answer: at each it may take fewer steps. */
TEST(expect_the_work_is_limited_for_all_of_an_answer)
{
    enum { LINE = 2000, LONG = 1 << 20 };
    static const char pattern[] = "/^(?:(a)|b)*$/";
    char *answer = malloc(LONG);
    CHECK(answer != NULL);
    memset(answer, 'a', LONG);
    answer[LINE] = '\n';
    CHECK_EQ(expect_answer(7, pattern, strlen(pattern), answer, LINE + 1, &err), EXPECT_HOLDS);
    CHECK_EQ(expect_answer(7, pattern, strlen(pattern), answer, LONG, &err), EXPECT_BAD);
    free(answer);
}

/* What a terminal would obey is shown, and a long answer by its beginning. */
TEST(expect_a_failure_shows_the_answer_as_one_line_that_nothing_obeys)
{
    char answer[2000];
    CHECK_EQ(expect("x", "a\n\033[2J\xe2\x80\xae" "b\xff"), EXPECT_FAILED);
    CHECK_STR(err.text, "line 7: /expect: the answer has no \"x\"; it is \"a\\n\\x1b[2J\\u{202e}b\\xff\"");
    memset(answer, 'a', sizeof answer);
    answer[sizeof answer - 1] = '\0';
    CHECK_EQ(expect("x", answer), EXPECT_FAILED);
    check_says("aaa...\"");
    CHECK(strlen(err.text) < 300);
    CHECK_EQ(expect("/x\033/", "a"), EXPECT_FAILED);
}

/* ---------------------------------------------------------------- /assert */

TEST(assert_compares_in_each_way)
{
    static const struct { const char *op; bool less, equal, more; } ops[] = {
        {"=", false, true, false}, {"!=", true, false, true}, {"<", true, false, false},
        {"<=", true, true, false}, {">", false, false, true}, {">=", false, true, true},
    };
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        char args[64];
        snprintf(args, sizeof args, "turns %s 4", ops[i].op);
        CHECK_EQ(assert_that(args) == EXPECT_HOLDS, ops[i].less);
        snprintf(args, sizeof args, "turns %s 3", ops[i].op);
        CHECK_EQ(assert_that(args) == EXPECT_HOLDS, ops[i].equal);
        snprintf(args, sizeof args, "turns%s2.5", ops[i].op);
        CHECK_EQ(assert_that(args) == EXPECT_HOLDS, ops[i].more);
    }
}

TEST(assert_values_have_units)
{
    CHECK_EQ(assert_that("context.tokens = 4K"), EXPECT_HOLDS);
    CHECK_EQ(assert_that("context.tokens = 4.096e3"), EXPECT_HOLDS);
    CHECK_EQ(assert_that("context.tokens < 1M"), EXPECT_HOLDS);
    CHECK_EQ(assert_that("context.tokens = 0.00390625M"), EXPECT_HOLDS);
    CHECK_EQ(assert_that("context.tokens = 0.000003814697265625G"), EXPECT_HOLDS);
    CHECK_EQ(assert_that("pool.share = 50%"), EXPECT_HOLDS);
    CHECK_EQ(assert_that("pool.share > -1"), EXPECT_HOLDS);
}

TEST(assert_a_failure_says_what_was_expected_and_what_there_is)
{
    CHECK_EQ(assert_that("context.tokens  <=\t2K"), EXPECT_FAILED);
    CHECK_STR(err.text, "line 12: /assert: context.tokens <= 2K was expected; it is 4096");
    CHECK_EQ(assert_that("pool.share>60%"), EXPECT_FAILED);
    CHECK_STR(err.text, "line 12: /assert: pool.share > 60% was expected; it is 0.5");
}

TEST(assert_a_figure_without_a_value_is_nothing_at_all)
{
    CHECK_EQ(assert_that("rate != 3"), EXPECT_FAILED);
    check_says("rate has no value now");
}

TEST(assert_a_figure_is_compared_with_another)
{
    CHECK_EQ(assert_that("turns <= context.tokens"), EXPECT_HOLDS);
    CHECK_EQ(assert_that("turns=turns"), EXPECT_HOLDS);
    CHECK_EQ(assert_that("turns\t!=  pool.share"), EXPECT_HOLDS);
    CHECK_EQ(assert_bytes(&few, "turns = turnsx", 13), EXPECT_HOLDS); /* n bytes and no more */
    CHECK_EQ(assert_that("context.tokens < turns"), EXPECT_FAILED);
    CHECK_STR(err.text, "line 12: /assert: context.tokens < turns was expected; they are 4096 and 3");
    CHECK_EQ(assert_that("rate < turns"), EXPECT_FAILED);
    check_says("rate has no value now");
    CHECK_EQ(assert_that("turns != rate"), EXPECT_FAILED);
    check_says("rate has no value now");
    CHECK_EQ(assert_that("turns = turnz"), EXPECT_BAD);
    check_says("no such figure: turnz; did you mean turns? (there are:");
    CHECK_EQ(assert_that("turns = nan"), EXPECT_BAD); /* a name like any other, and there is none of it */
    check_says("no such figure: nan (there are:");
    CHECK_EQ(assert_that("turns = K"), EXPECT_BAD);
    check_says("no such figure: K (there are:");
    CHECK_EQ(assert_that("turnz = turnz"), EXPECT_BAD);
}

TEST(assert_what_is_no_comparison_is_refused)
{
    static const char *const bad[] = {
        "", " ", "turns", "turns 3", "turns =", "turns = ", "turns == 3", "turns => 3", "turns <> 3", "turns ! 3",
        "= 3", "turns = 3x", "turns = 3KB", "turns = 3 4", "turns = 3 K", "turns = 0x3", "turns = 3 turns",
        "turns = 1e999", "turns = 3-4", "turns = -", "turns = 3,5", "turns = turns 3", "turns = turns < 3",
        "turns = .turns", "turns = @a", "a-name-that-is-longer-than-any-that-there-is = 3",
        "turns = a-name-that-is-longer-than-any-that-there-is",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_EQ(assert_that(bad[i]), EXPECT_BAD);
        check_says("/assert needs FIGURE OP VALUE");
    }
    CHECK_EQ(assert_bytes(&few, "turns\0 = 3", 10), EXPECT_BAD);
    CHECK_EQ(assert_bytes(&few, "turns = 3\0" "4", 11), EXPECT_BAD);
    CHECK_EQ(assert_bytes(&few, "turns = turns\0", 14), EXPECT_BAD);
    CHECK_EQ(assert_bytes(&few, "turns = 3K", 9), EXPECT_HOLDS); /* n bytes and no more */
}

TEST(assert_an_unknown_figure_brings_the_nearest_and_all)
{
    CHECK_EQ(assert_that("turnz = 3"), EXPECT_BAD);
    CHECK_STR(err.text, "line 12: /assert: no such figure: turnz; did you mean turns? (there are: context.tokens, "
                        "pool.share, turns, rate)");
    CHECK_EQ(assert_that("sail\033 = 3"), EXPECT_BAD);
    CHECK_STR(err.text, "line 12: /assert: no such figure: sail\\x1b (there are: context.tokens, pool.share, turns, "
                        "rate)");
    CHECK_EQ(assert_bytes(&(struct figures){0}, "turns = 3", 9), EXPECT_BAD);
    CHECK_STR(err.text, "line 12: /assert: no such figure: turns (there are none)");
}

TEST(assert_many_figures_are_named_as_far_as_a_line_goes)
{
    static char many[100][20];
    const char *list[COUNT_OF(many)];
    for (size_t i = 0; i < COUNT_OF(many); i++) {
        snprintf(many[i], sizeof many[i], "figure.number.%zu", i);
        list[i] = many[i];
    }
    struct figures f = {list, NULL, COUNT_OF(many)};
    CHECK_EQ(assert_bytes(&f, "figur = 3", 9), EXPECT_BAD);
    check_says("(there are: figure.number.0, figure.number.1, ");
    check_says(", ...)");
}

CHECK_MAIN
