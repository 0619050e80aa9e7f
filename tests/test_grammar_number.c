/* test_grammar_number.c - numbers between bounds: against what the numbers' values say, for bounds and numbers that
 * were drawn, and the words for bounds that cannot be. */
#include "tests/grammar_rig.h"
#include <math.h>

static struct rig rig;
static uint32_t seed = 1;

static const char *const edges[] = {"0", "1", "-1", "9", "10", "-10", "99", "100", "101", "-99", "0.5", "-0.5", "0.25",
                                    "1.5", "-12.5", "12.05", "123456", "999", "1000", "-1000.001", "0.001", "3.14",
                                    "-0.0", "7"};

/* Few digits, so that a double tells them apart. */
static void draw_number(char *out, bool integer)
{
    static const char *const begin[] = {"0", "1", "9", "10", "99", "100", "12", "999", "1000", "123456", "7", "5"};
    int n = sprintf(out, "%s%s", tiny_below(&seed, 2) ? "-" : "", begin[tiny_below(&seed, COUNT_OF(begin))]);
    if (tiny_below(&seed, 3) == 0) n = sprintf(out, "%d", tiny_below(&seed, 2400) - 1200);
    if (integer || tiny_below(&seed, 3) == 0) return;
    out[n++] = '.';
    for (int k = 1 + tiny_below(&seed, 4); k > 0; k--) out[n++] = "0001455559"[tiny_below(&seed, 10)];
    out[n] = '\0';
}

/* "-0" is no number of a range that begins with 0, for simplicity's sake; either way will do. */
static bool is_minus_zero(const char *text) { return *text == '-' && strtod(text, NULL) >= 0; }

TEST(grammar_numbers_lie_between_their_bounds)
{
    static const char *const lower[] = {NULL, "minimum", "exclusiveMinimum"};
    static const char *const upper[] = {NULL, "maximum", "exclusiveMaximum"};
    char schema[300], text[64];
    long took = 0, not = 0, none = 0;
    rig_open(&rig, 1);
    rig.limits.masks = 0;
    const int rounds = CHECK_SANITIZED ? 120 : 900;
    for (int i = 0; i < rounds; i++) {
        const bool integer = tiny_below(&seed, 2);
        const int a = tiny_below(&seed, 3), b = tiny_below(&seed, 3);
        const char *lo = edges[tiny_below(&seed, COUNT_OF(edges))], *hi = edges[tiny_below(&seed, COUNT_OF(edges))];
        int n = snprintf(schema, sizeof schema, "{\"type\":\"%s\"", integer ? "integer" : "number");
        if (a) n += snprintf(schema + n, sizeof schema - (size_t)n, ",\"%s\":%s", lower[a], lo);
        if (b) n += snprintf(schema + n, sizeof schema - (size_t)n, ",\"%s\":%s", upper[b], hi);
        snprintf(schema + n, sizeof schema - (size_t)n, "}");
        const double from = strtod(lo, NULL), to = strtod(hi, NULL);
        const bool there = rig_schema(&rig, schema) != NULL;
        if (!there && !strstr(rig.err.text, "no number is between its bounds"))
            check_fail(__FILE__, __LINE__, "%s: %s", schema, rig.err.text);
        none += !there;
        for (int k = 0; k < 120; k++) {
            draw_number(text, integer);
            const double d = strtod(text, NULL);
            const bool want = (!a || (a == 1 ? d >= from : d > from)) && (!b || (b == 1 ? d <= to : d < to));
            const bool says = there && rig_says(&rig, text);
            if (says != want && !(is_minus_zero(text) && want))
                check_fail(__FILE__, __LINE__, "%s: %s is %s", schema, text, want ? "one" : "none");
            took += want;
            not += !want;
        }
    }
    CHECK(took > 11 * rounds && not > 11 * rounds && none > rounds / 20);
    rig_close(&rig);
}

TEST(grammar_numbers_with_bounds_are_large_and_small_as_others_are)
{
    static const struct { const char *schema, *yes[3], *no[3]; } cases[] = {
        {"{\"type\":\"integer\",\"minimum\":0}", {"0", "999999999999999999"}, {"-1", "00", "1000000000000000000"}},
        {"{\"type\":\"integer\",\"maximum\":123}", {"12", "0", "123"}, {"012", "00", "124"}},
        {"{\"type\":\"integer\",\"maximum\":999999999999999998}", {"-999999999999999999", "999999999999999998"},
         {"999999999999999999", "1.0"}},
        {"{\"type\":\"integer\",\"minimum\":-9e30,\"maximum\":9e30}", {"999999999999999999", "-3"}, {"1e3"}},
        {"{\"type\":\"number\",\"exclusiveMinimum\":0}", {"0.0000000000000001", "123456789012345.5"},
         {"0", "0.0", "-1"}},
        {"{\"type\":\"number\",\"minimum\":0,\"maximum\":1}", {"0.5", "1.0000", "0"}, {"1.0001", "1e0", "01"}},
        {"{\"type\":\"number\",\"exclusiveMaximum\":0}", {"-0.0000000000000001"}, {"0.0", "1"}},
        {"{\"type\":\"number\",\"exclusiveMaximum\":100}", {"99.9999999999999", "-0.0000000000000001", "7"},
         {"99.9999999999999999", "100.0"}}, /* which a double has as 100 */
        {"{\"type\":\"number\",\"exclusiveMaximum\":10}", {"9.99999999999999", "0"}, {"9.9999999999999999", "10"}},
        {"{\"type\":\"number\",\"exclusiveMinimum\":-100}", {"-99.9999999999999"}, {"-99.9999999999999999"}},
        {"{\"type\":\"number\",\"exclusiveMinimum\":5}", {"5.00000000000001", "10.1"}, {"5.0000000000000001", "5"}},
        {"{\"type\":\"number\",\"multipleOf\":0.01}", {"-3.14", "3", "0.1"}, {"3.141", "1e1"}},
        {"{\"type\":\"number\",\"multipleOf\":1,\"minimum\":2.5}", {"3", "40"}, {"3.0", "2"}},
        {"{\"type\":\"integer\",\"multipleOf\":1}", {"-3"}, {"3.0"}},
        {"{\"type\":\"integer\",\"minimum\":3,\"exclusiveMinimum\":5,\"maximum\":7,\"exclusiveMaximum\":7}", {"6"},
         {"5", "7", "4"}},
        {"{\"type\":\"integer\",\"minimum\":5,\"exclusiveMinimum\":3}", {"5"}, {"4"}},
    };
    rig_open(&rig, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (!rig_schema(&rig, cases[i].schema)) check_fail(__FILE__, __LINE__, "%s: %s", cases[i].schema, rig.err.text);
        CHECK(grammar_states(rig.g) < 300); /* of 4096 for a request */
        for (size_t k = 0; k < 3 && cases[i].yes[k]; k++)
            if (!rig_says(&rig, cases[i].yes[k]))
                check_fail(__FILE__, __LINE__, "%s: %s", cases[i].schema, cases[i].yes[k]);
        for (size_t k = 0; k < 3 && cases[i].no[k]; k++)
            if (rig_says(&rig, cases[i].no[k]))
                check_fail(__FILE__, __LINE__, "%s: not %s", cases[i].schema, cases[i].no[k]);
    }
    rig_close(&rig);
}

/* Between bounds or none, near and far. */
TEST(grammar_multiples_are_those_of_their_number)
{
    static const int steps[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 25, 30, 50, 60, 90, 100, 125, 360, 1000};
    char schema[200], text[64];
    long took = 0, not = 0;
    rig_open(&rig, 1);
    for (int i = 0; i < (CHECK_SANITIZED ? 60 : 400); i++) {
        const int step = steps[tiny_below(&seed, COUNT_OF(steps))], bounds = tiny_below(&seed, 4);
        const int lo = tiny_below(&seed, 3000) - 2000, hi = lo + 1000 + tiny_below(&seed, 2000);
        const bool integer = tiny_below(&seed, 2);
        int n = snprintf(schema, sizeof schema, "{\"type\":\"%s\",\"multipleOf\":%d%s", integer ? "integer" : "number",
                         step, tiny_below(&seed, 2) ? ".0" : "");
        if (bounds & 1) n += snprintf(schema + n, sizeof schema - (size_t)n, ",\"exclusiveMinimum\":%d", lo);
        if (bounds & 2) n += snprintf(schema + n, sizeof schema - (size_t)n, ",\"maximum\":%d", hi);
        snprintf(schema + n, sizeof schema - (size_t)n, "}");
        if (!rig_schema(&rig, schema)) check_fail(__FILE__, __LINE__, "%s: %s", schema, rig.err.text);
        for (int k = 0; k < 300; k++) {
            long long v = tiny_below(&seed, 8000) - 4000;
            if (k % 3 == 0) v = (long long)tiny_below(&seed, 1 << 30) * (1 << tiny_below(&seed, 18)) * (k % 2 ? 1 : -1);
            if (k % 4 > 0) v = v / step * step;
            if (k % 16 == 1) v++;
            snprintf(text, sizeof text, "%lld", v);
            const bool want = v % step == 0 && (!(bounds & 1) || v > lo) && (!(bounds & 2) || v <= hi) &&
                              (integer || (v < 1000000000000000 && v > -1000000000000000));
            if (rig_says(&rig, text) != want)
                check_fail(__FILE__, __LINE__, "%s: %s is %s", schema, text, want ? "one" : "none");
            CHECK(strlen(text) < 30 && !rig_says(&rig, strcat(text, ".0")));
            took += want;
            not += !want;
        }
    }
    CHECK(took > 2000 && not > 2000);
    rig_close(&rig);
}

TEST(grammar_multiples_take_few_states)
{
    static const struct { const char *more; int states; } cases[] = {
        {"\"multipleOf\":2", 40}, {"\"multipleOf\":5", 40}, {"\"multipleOf\":100", 60}, {"\"multipleOf\":1000", 70},
        {"\"multipleOf\":3", 60}, {"\"multipleOf\":7", 130}, {"\"multipleOf\":15", 80}, {"\"multipleOf\":60", 90},
        {"\"multipleOf\":12", 130}, {"\"multipleOf\":90", 180}, {"\"multipleOf\":15,\"minimum\":0,\"maximum\":60", 8},
        {"\"multipleOf\":97,\"minimum\":0,\"maximum\":10000", 120},
    };
    char schema[200];
    rig_open(&rig, 1);
    rig.limits = GRAMMAR_LIMITS;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        snprintf(schema, sizeof schema, "{\"type\":\"integer\",%s}", cases[i].more);
        if (!rig_schema(&rig, schema)) check_fail(__FILE__, __LINE__, "%s: %s", schema, rig.err.text);
        CHECK(grammar_states(rig.g) <= cases[i].states);
    }
    rig_close(&rig);
}

TEST(grammar_bounds_that_cannot_be_are_refused)
{
    static const struct { const char *more, *says; } cases[] = {
        {"\"minimum\":\"1\"", "schema, at /: minimum must be a number"},
        {"\"exclusiveMaximum\":true", "exclusiveMaximum must be a number"},
        {"\"minimum\":1e19", "minimum is beyond all numbers"}, {"\"maximum\":-1e19", "maximum is beyond all numbers"},
        {"\"minimum\":0.00000000001", "minimum has more than 10 digits behind its point"},
        {"\"minimum\":2,\"maximum\":1", "no number is between its bounds"},
        {"\"exclusiveMinimum\":1,\"maximum\":1", "no number is between its bounds"},
        {"\"multipleOf\":1001", "multipleOf is known for 1"}, {"\"multipleOf\":0", "multipleOf is known for 1"},
        {"\"multipleOf\":-5", "multipleOf is known for 1"}, {"\"multipleOf\":\"5\"", "multipleOf is known for 1"},
        {"\"multipleOf\":2.5", "multipleOf is known for 1, 2 ... 1000"},
        {"\"multipleOf\":7,\"minimum\":8,\"maximum\":13", "no number is between its bounds"},
        {"\"multipleOf\":997", "more than 65536 nodes"},
        {"\"multipleOf\":7.5,\"minimum\":0.125", "multipleOf is known for 1"},
    };
    char schema[200];
    rig_open(&rig, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (int integer = 0; integer < 2; integer++) {
            snprintf(schema, sizeof schema, "{\"type\":\"%s\",%s}", integer ? "integer" : "number", cases[i].more);
            CHECK(!rig_schema(&rig, schema));
            if (!strstr(rig.err.text, cases[i].says)) check_fail(__FILE__, __LINE__, "%s: %s", schema, rig.err.text);
        }
    }
    CHECK(!rig_schema(&rig, "{\"type\":\"number\",\"multipleOf\":0.01,\"minimum\":0.125}"));
    CHECK(strstr(rig.err.text, "minimum has more digits behind its point than multipleOf"));
    CHECK(!rig_schema(&rig, "{\"type\":\"string\",\"minimum\":1}"));
    CHECK(strstr(rig.err.text, "minimum does not go with string"));
    rig_close(&rig);
}

CHECK_MAIN
