/* The calculator: known values, identities, and expressions that mean harm. */
#include "tests/tool_rig.h"
#include <time.h>

static struct rig rig;

static const char *calc(const char *expression)
{
    const struct tool_context none = {.workspace = -1, .limits = TOOL_LIMITS, .put = rig_put, .self = &rig};
    rig = (struct rig){.c = none, .out = rig.out};
    return rig_call(&rig, "calculator", json_pack("{s:s}", "expression", expression));
}

#define IS(expression, value)                      \
    do {                                           \
        CHECK_STR(calc(expression), value);        \
        CHECK_EQ(rig.verdict, TOOL_DONE);          \
    } while (0)
#define FAILS(expression, why)                     \
    do {                                           \
        CHECK_STR(calc(expression), "error: " why); \
        CHECK_EQ(rig.verdict, TOOL_FAILED);        \
    } while (0)

TEST(known_values)
{
    IS("1+2", "3");
    IS(" 2 + 3 * 4 ", "14");
    IS("(2+3)*4", "20");
    IS("10-4-3", "3");
    IS("100/10/5", "2");
    IS("2**3**2", "512");
    IS("-2**2", "-4");
    IS("2**-2", "0.25");
    IS("--3", "3");
    IS("-(1-5)", "4");
    IS("+7", "7");
    IS("0.1+0.2", "0.3");
    IS("1.10*3", "3.3");
    IS(".5*.5", "0.25");
    IS("5.", "5");
    IS("0-0.5", "-0.5");
    IS("7%3", "1");
    IS("-7%3", "2");
    IS("7%-3", "-2");
    IS("7.5%2", "1.5");
    IS("0**0", "1");
    IS("2**100", "1267650600228229401496703205376");
    IS("100000000000000000000*3+1", "300000000000000000001");
    IS("007", "7");
}

TEST(what_does_not_end_is_rounded_half_to_even)
{
    IS("1/3", "0.333333");
    IS("2/3", "0.666667");
    IS("-2/3", "-0.666667");
    IS("10/3", "3.333333");
    IS("1/7*7", "1");
    IS("1/8", "0.125");
    IS("1/2**20", "0.00000095367431640625"); /* it ends: nothing is rounded */
    IS("1.23456789*1", "1.23456789");
    IS("299999999/300000000", "1");
    IS("1/3000000000", "0.000000000333333"); /* six decimals would leave nothing */
    IS("-1/3000000000", "-0.000000000333333");
    IS("1/2**60*10**0", "0.000000000000000000867362"); /* 60 decimals are more than are shown */
}

TEST(errors_are_words)
{
    FAILS("1/0", "division by zero");
    FAILS("1%0", "division by zero");
    FAILS("1/(2-2)", "division by zero");
    FAILS("0**-1", "division by zero");
    FAILS("2**0.5", "an exponent is a whole number");
    FAILS("", "the expression is not complete");
    FAILS("  ", "the expression is not complete");
    FAILS("1+", "the expression is not complete");
    FAILS("(1+2", "a ) is missing");
    FAILS("1+2)", "not arithmetic, at its byte 3: )");
    FAILS("sqrt(4)", "not arithmetic, at its byte 0: sqrt(4)");
    FAILS("1e5", "not arithmetic, at its byte 1: e5");
    FAILS("1,000", "not arithmetic, at its byte 1: ,000");
    FAILS("1 2", "not arithmetic, at its byte 2: 2");
    FAILS(".", "the expression is not complete");
    FAILS("2 \x1b[31m", "not arithmetic, at its byte 2: \\x1b[31m");
    FAILS("1***2", "not arithmetic, at its byte 3: *2");
    FAILS("2 ^ 3", "not arithmetic, at its byte 2: ^ 3 (a power is **)");
}

TEST(identities_of_random_fractions)
{
    unsigned seed = 7;
    char e[400], want[40];
    for (int i = 0; i < 2000; i++) {
        int v[4];
        for (int j = 0; j < 4; j++) v[j] = (int)((seed = seed * 1664525u + 1013904223u) >> 16) % 2000 - 1000;
        int d = v[1] ? v[1] : 3;
        snprintf(e, sizeof e, "((%d)/(%d))*(%d) - (%d) + (%d)", v[0], d, d, v[2], v[3]);
        snprintf(want, sizeof want, "%d", v[0] - v[2] + v[3]);
        IS(e, want);
        snprintf(e, sizeof e, "(%d)-((%d)//(%d))", v[0], v[0], d);
        CHECK(strncmp(calc(e), "error: ", 7) == 0); /* there is no // */
        snprintf(e, sizeof e, "(((%d)-(%d)%%(%d))/(%d))%%1", v[0], v[0], d, d);
        IS(e, "0"); /* a - a % b is a multiple of b */
        snprintf(e, sizeof e, "((%d)+(%d)/17)**2-(%d)**2-2*(%d)*(%d)/17-((%d)/17)**2", v[0], v[2], v[0], v[0],
                 v[2], v[2]);
        IS(e, "0");
    }
}

TEST(harmful_expressions_end_soon)
{
    static char text[8000];
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    FAILS("9**9**9**9", "a value has more than 4000 digits");
    FAILS("9**999999999999999999999999", "a value has more than 4000 digits");
    FAILS("0.1**99999", "a value has more than 4000 digits");
    FAILS("(10**3999)*(10**3999)", "a value has more than 4000 digits");
    IS("1**999999999999999999999999", "1");
    IS("(-1)**999999999999999999999999", "-1");
    IS("(-1)**-4", "1");
    IS("0**999999999999999999999999", "0");
    CHECK_EQ(strlen(calc("10**3999")), 4000);
    CHECK_EQ(strlen(calc("2**13287")), 4000);
    FAILS("2**13288", "a value has more than 4000 digits");
    FAILS("1-10**4000", "a value has more than 4000 digits");
    CHECK_EQ(strlen(calc("1-(10**3999*9)-10**3999")), 4001); /* 4000 nines and a sign */
    memset(text, '(', 4096);
    FAILS(text, "the expression is more than 100 deep");
    memset(text, '-', 4096);
    FAILS(text, "the expression is more than 100 deep");
    memset(text, '1', 4097);
    FAILS(text, "the expression is longer than 4096 bytes");
    text[0] = '\0';
    for (int i = 0; strlen(text) < 4080; i++) snprintf(text + strlen(text), 20, "1/%d+", 1000 + i);
    strcat(text, "0");
    calc(text); /* a common denominator of thousands of digits */
    clock_gettime(CLOCK_MONOTONIC, &b);
    CHECK(b.tv_sec - a.tv_sec < 20);
}

TEST(an_argument_of_another_kind)
{
    rig.c = (struct tool_context){.workspace = -1, .limits = TOOL_LIMITS, .put = rig_put, .self = &rig};
    CALL_ERROR(&rig, "error: expression is missing", "calculator", "{}");
    CALL_ERROR(&rig, "error: expression is not a text", "calculator", "{s:i}", "expression", 4);
    CALL_ERROR(&rig, "error: expression has a NUL in it", "calculator", "{s:s%}", "expression", "1\0+", (size_t)3);
    buf_free(&rig.out);
}

CHECK_MAIN
