/* test_grammar_string.c - strings held to a pattern, a format or a length, and texts that are no JSON: against PCRE2,
 * which reads the same pattern, by texts that were made up and by texts that the grammar lets be written. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tests/grammar_rig.h"
#include <jansson.h>
#include <pcre2.h>

static struct rig rig;
static uint32_t seed = 1;

/* The schema of a string with this keyword. */
static char *schema_of(const char *keyword, const char *text)
{
    json_t *s = json_pack("{s:s, s:s}", "type", "string", keyword, text);
    char *made = json_dumps(s, JSON_COMPACT);
    json_decref(s);
    return made;
}

static struct grammar *compile(const char *keyword, const char *text)
{
    char *schema = schema_of(keyword, text);
    struct grammar *g = rig_schema(&rig, schema);
    free(schema);
    return g;
}

static struct grammar *compile_plain(const char *schema)
{
    return rig_compile(&rig, &(struct grammar_source){.schema = schema, .n_schema = strlen(schema), .close = "",
                                                      .plain = true});
}

static struct grammar *compile_regex(const char *pattern)
{
    json_t *s = json_string(pattern);
    char *text = json_dumps(s, JSON_ENCODE_ANY);
    struct grammar *g = compile_plain(text);
    free(text);
    json_decref(s);
    return g;
}

static bool says_string(const char *text, size_t n)
{
    json_t *s = json_stringn(text, n);
    char *quoted = json_dumps(s, JSON_ENCODE_ANY | JSON_COMPACT);
    const bool says = rig_says(&rig, quoted);
    free(quoted);
    json_decref(s);
    return says;
}

/* ---------------------------------------------------------------- PCRE2's word */

static bool matches(const pcre2_code *code, const char *text, size_t n)
{
    pcre2_match_data *m = pcre2_match_data_create_from_pattern(code, NULL);
    const int rc = pcre2_match(code, (PCRE2_SPTR)text, n, 0, 0, m, NULL);
    pcre2_match_data_free(m);
    CHECK(rc >= 0 || rc == PCRE2_ERROR_NOMATCH);
    return rc >= 0;
}

static pcre2_code *read_pattern(const char *pattern, bool whole)
{
    int why;
    PCRE2_SIZE at;
    const uint32_t how = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                     how | (whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0), &why, &at, NULL);
    if (!code) check_fail(__FILE__, __LINE__, "PCRE2 does not know %s", pattern);
    return code;
}

static const char *const patterns[] = {
    "a", "^a", "a$", "^a$", "", "^$", "^a|b$", "^(a|b)$", "ab*", "^ab*$", "^a+b?$", "^(ab)*$", "^(?:ab|a)+$", "^a{2}$",
    "^a{2,}$", "^a{1,3}b$", "^a{0}b$", "^(a*)*b$", "^(a|b*){2,3}$", "^a*?b+?$", "a.b", "^.$", "^.{2}$", "^[ab]+$",
    "^[^ab]$", "^[^\"]*$", "^[a-b-]+$", "^[\\]a-]+$", "^\\d+$", "^\\D$", "^\\w+$", "^\\W$", "^\\s+$", "^\\S+$",
    "^[\\d\\s]+$", "^[^\\d\\s]+$", "^[\\w.]+@\\w+$", "^\\\"\\\\$", "^\\/\\.\\-$", "^\\t\\n$", "^\\x41\\u0042$",
    "^\xc3\xa9+$", "^[a\xc3\xa9]+$", "^\\u00e9$", "^\xf0\x9f\x98\x80$", "^(?<x>a)(?P<y>b)$", "^a{$", "^{a}$",
    "^\\{\\}$", "^(|a)b$", "^(a||b)$", "^()$", "a|", "^((((a))))$", "^[\\s\\S]{3}$", "^[^\\n]$", "b{2}|a{2}",
    "^-?(0|[1-9]\\d*)(\\.\\d+)?$", "^(\\(\\d{3}\\) ?)?\\d{3}-\\d{4}$", "^[A-Z]{2}\\d{2}$", "^\\\\u00e9$",
    "^\\\xc3\xa9$",
};

/* Letters that patterns are about, so that many match. */
static size_t draw_text(char *out)
{
    static const char *const part[] = {"a", "b", "ab", "1", "22", "A", "\"", "\\", "/", ".", "-", "@", "\t", "\n", " ",
                                       "\xc3\xa9", "\xf0\x9f\x98\x80", "\xe4\xbd\xa0", "{", "}", "[", "]", "(555) ",
                                       "\b", "B", "u00e9", "\x7f", "_", "0", ","};
    size_t n = 0;
    for (int k = tiny_below(&seed, 6); k > 0; k--) {
        const char *s = part[tiny_below(&seed, tiny_below(&seed, 3) ? (int)COUNT_OF(part) : 4)];
        memcpy(out + n, s, strlen(s));
        n += strlen(s);
    }
    return n;
}

/* A whole text of the grammar's; 0: it came to no end in time. */
static size_t walk(char *out, size_t room)
{
    struct grammar_state st = grammar_begin(rig.g);
    for (size_t n = 0; n < room; n++) {
        int may[256], k = 0;
        if (grammar_is_complete(rig.g, &st) && n > 0 && tiny_below(&seed, 3) == 0) return n;
        for (int b = 0; b < 256; b++) {
            struct grammar_state t = st;
            if (grammar_accept(rig.g, &t, b)) may[k++] = b;
        }
        if (k == 0) return n;
        const int quote = grammar_accept(rig.g, &(struct grammar_state){st.at}, '"') && tiny_below(&seed, 4) == 0;
        out[n] = (char)(quote ? '"' : may[tiny_below(&seed, k)]);
        CHECK(grammar_accept(rig.g, &st, (unsigned char)out[n]));
    }
    return 0;
}

TEST(grammar_patterns_are_what_pcre2_takes_them_for)
{
    char text[256];
    long took = 0, not = 0, walked = 0;
    const int draws = CHECK_SANITIZED ? 60 : 400;
    rig_open(&rig, 1);
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        pcre2_code *code = read_pattern(patterns[i], false), *whole = read_pattern(patterns[i], true);
        if (!compile("pattern", patterns[i])) check_fail(__FILE__, __LINE__, "%s: %s", patterns[i], rig.err.text);
        for (int k = 0; k < draws; k++) {
            const size_t n = draw_text(text);
            const bool want = matches(code, text, n);
            if (says_string(text, n) != want)
                check_fail(__FILE__, __LINE__, "%s: %.*s is %s", patterns[i], (int)n, text, want ? "one" : "none");
            took += want;
            not += !want;
        }
        for (int k = 0; k < 60; k++) {
            const size_t n = walk(text, sizeof text);
            if (n == 0) continue;
            json_t *s = json_loadb(text, n, JSON_DECODE_ANY, NULL);
            if (!s || !matches(code, json_string_value(s), json_string_length(s)))
                check_fail(__FILE__, __LINE__, "%s: %.*s", patterns[i], (int)n, text);
            json_decref(s);
            walked++;
        }
        CHECK(compile_regex(patterns[i]) != NULL);
        for (int k = 0; k < draws; k++) {
            const size_t n = draw_text(text);
            if (rig_takes(&rig, text, n) != matches(whole, text, n))
                check_fail(__FILE__, __LINE__, "whole %s: %.*s", patterns[i], (int)n, text);
        }
        pcre2_code_free(code);
        pcre2_code_free(whole);
    }
    CHECK(took > 5 * draws && not > 5 * draws && walked > 1000);
    rig_close(&rig);
}

TEST(grammar_patterns_that_are_not_known_are_refused_by_what_they_have)
{
    static const struct { const char *pattern, *says; } cases[] = {
        {"(?=a)", "looked for ahead or behind"}, {"(?!a)", "looked for ahead or behind"},
        {"(?<=a)b", "looked for ahead or behind"}, {"(?<!a)b", "looked for ahead or behind"},
        {"(a)\\1", "what a group had"}, {"\\bword", "edge of a word"}, {"a\\B", "edge of a word"},
        {"\\p{L}", "an escape of this letter"}, {"*a", "nothing before it"}, {"a**", "a repetition is repeated"},
        {"a++", "a repetition is repeated"}, {"a{2}{3}", "a repetition is repeated"},
        {"a{,3}", "{,n} has two meanings"}, {"(a", "a group has no )"}, {"a)", "a ) has no group"},
        {"[a", "a class has no ]"}, {"[b-a]", "ends before it begins"}, {"[a-\\d]", "ends before it begins"},
        {"[\\d-a]", "a range has no set at its end"}, {"[]", "a class is empty"}, {"a{3,2}", "less at most than"},
        {"a{2000}", "more than 1024 times"}, {"a^b", "only be at its ends"}, {"(a$)", "only be at its ends"},
        {"(^a)", "only be at its ends"},
        {"[\xc3\xa0-\xc3\xa9]", "beyond ASCII"}, {"[^\xc3\xa9]", "beyond ASCII"}, {"\\", "ends in a backslash"},
        {"\\x4", "lacks its digits"}, {"\\u12g4", "lacks its digits"}, {"\\ud800", "a letter that no text has"},
        {"\\x00", "a letter that no text has"}, {"[\\x00]", "a letter that no text has"}, {"(?i)a", "ahead or behind"},
        {"^(a{1000}){1000}$", "more than"}, {"a.{30}b", "may be meant at once"},
    };
    char deep[80] = "", *at = deep;
    rig_open(&rig, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (compile("pattern", cases[i].pattern)) check_fail(__FILE__, __LINE__, "%s", cases[i].pattern);
        if (!strstr(rig.err.text, cases[i].says))
            check_fail(__FILE__, __LINE__, "%s: %s", cases[i].pattern, rig.err.text);
    }
    for (int i = 0; i < 33; i++) *at++ = '(';
    CHECK(!compile("pattern", deep) && strstr(rig.err.text, "too deep inside each other"));
    CHECK(compile_regex("(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)"
                        "(a)(a)(a)(a)") != NULL); /* beside each other they are no deeper */
    char *large = malloc(1100);
    memset(large, 'a', 1099);
    large[1099] = '\0';
    CHECK(!compile("pattern", large) && strstr(rig.err.text, "more than 1024 bytes"));
    free(large);
    rig_close(&rig);
}

/* However often it is said, in each other: written out a step at a time that is more than anybody waits for. */
TEST(grammar_patterns_of_nothing_take_no_time)
{
    static const char *const empty[] = {"(((((){1024}){1024}){1024}){1024}){1024}",
                                        "((((()()){1024}(){1024}){1024}){1024}){1024}",
                                        "((((a{0}){1024}){1024}){1024}){1024}"};
    rig_open(&rig, 1);
    for (size_t i = 0; i < COUNT_OF(empty); i++) {
        if (!compile_regex(empty[i])) check_fail(__FILE__, __LINE__, "%s: %s", empty[i], rig.err.text);
        CHECK(rig_says(&rig, "") && !rig_says(&rig, "a"));
    }
    CHECK(compile_regex("(a(){1024}){3}") && rig_says(&rig, "aaa") && !rig_says(&rig, "aa"));
    rig_close(&rig);
}

/* ---------------------------------------------------------------- formats, lengths */

TEST(grammar_formats_take_what_their_standards_do)
{
    static const struct { const char *format, *yes[6], *no[6]; } cases[] = {
        {"date", {"2026-11-29", "0000-01-31"}, {"2026-13-01", "2026-1-01", "2026-11-32", "2026-11-29 ", "26-11-29"}},
        {"date", {"2024-02-29", "2000-02-29", "2026-02-28", "2026-04-30", "2026-12-31", "0400-02-29"},
         {"2023-02-29", "1900-02-29", "2024-02-30", "2026-04-31", "2026-00-01", "2026-01-00"}},
        {"time", {"08:30:06Z", "23:59:59.123456+05:30"}, {"24:00:00Z", "08:30:06", "08:30Z", "8:30:06Z"}},
        {"date-time", {"2026-11-29T08:30:06Z", "2026-11-29T08:30:06.5-01:00"},
         {"2026-11-29 08:30:06Z", "2026-11-29", "2026-11-29T08:30:06", "2026-02-29T08:30:06Z"}},
        {"duration", {"P3W", "P1Y2M3D", "PT5M", "P1DT2H", "P1Y2M3DT4H5M6S"}, {"P", "PT", "P1Y3D", "3D", "P1S", "P1DT"}},
        {"duration", {"PT604800S", "P999999W", "P999999Y999999M999999DT999999H999999M999999S"},
         {"P500000000W", "PT1000000S"}}, /* more than clients can count */
        {"email", {"a@b.org", "ada.l+x@mail.example.com"}, {"a@b", "@b.org", "a b@c.org", "a.@b.org", "a@-b.org"}},
        {"hostname", {"localhost", "a-1.example.com"}, {"-a", "a-.b", "a..b", ""}},
        {"ipv4", {"127.0.0.1", "255.249.99.10"}, {"256.1.1.1", "1.2.3", "01.2.3.4", "1.2.3.4.5"}},
        {"ipv6", {"::1", "::", "fe80::1:2", "1:2:3:4:5:6:7:8", "1::8", "1:2:3:4:5:6:7::"},
         {"1:2", "1::2::3", "1:2:3:4:5:6:7:8:9", ":1", "12345::", "1:2:3:4:5:6:7"}},
        {"uuid", {"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567e89b12d3a456426614174000", "123e4567-e89b"}},
    };
    rig_open(&rig, 1);
    rig.limits = GRAMMAR_LIMITS; /* as the engine has them */
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK(grammar_knows_format(cases[i].format));
        if (!compile("format", cases[i].format))
            check_fail(__FILE__, __LINE__, "%s: %s", cases[i].format, rig.err.text);
        for (size_t k = 0; k < 6 && cases[i].yes[k]; k++)
            if (!says_string(cases[i].yes[k], strlen(cases[i].yes[k]))) check_fail(__FILE__, __LINE__, "%s: %s",
                                                                                 cases[i].format, cases[i].yes[k]);
        for (size_t k = 0; k < 6 && cases[i].no[k]; k++)
            if (says_string(cases[i].no[k], strlen(cases[i].no[k]))) check_fail(__FILE__, __LINE__, "%s: not %s",
                                                                                cases[i].format, cases[i].no[k]);
    }
    CHECK(!compile("format", "uri") && strstr(rig.err.text, "schema, at /: format is not known, but for date, time"));
    CHECK(!grammar_knows_format("uri"));
    rig_close(&rig);
}

TEST(grammar_lengths_count_characters)
{
    static const struct { const char *more, *yes, *no; } cases[] = {
        {"\"minLength\":2", "ab", "a"}, {"\"maxLength\":2", "", "abc"},
        {"\"minLength\":1,\"maxLength\":1", "\n", "\n\n"},
        {"\"maxLength\":0", "", "a"}, {"\"minLength\":2,\"maxLength\":3", "\xf0\x9f\x98\x80\xc3\xa9", "\xc3\xa9"},
        {"\"maxLength\":2", "\"\\", "\"\\\""},
    };
    char schema[200];
    rig_open(&rig, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        snprintf(schema, sizeof schema, "{\"type\":\"string\",%s}", cases[i].more);
        if (!rig_schema(&rig, schema)) check_fail(__FILE__, __LINE__, "%s: %s", schema, rig.err.text);
        CHECK(says_string(cases[i].yes, strlen(cases[i].yes)));
        CHECK(!says_string(cases[i].no, strlen(cases[i].no)));
    }
    static const struct { const char *more, *says; } bad[] = {
        {"\"minLength\":-1", "minLength must be an integer of 0 to 1024"},
        {"\"maxLength\":1025", "maxLength must be an integer of 0 to 1024"},
        {"\"minLength\":3,\"maxLength\":2", "minLength 3 is more than maxLength 2"},
        {"\"pattern\":\"a\",\"maxLength\":0", "no text is what pattern, format and lengths say together"},
        {"\"pattern\":\"a\",\"format\":\"date\"", "no text is what pattern, format and lengths say together"},
        {"\"pattern\":\"^a?$\",\"minLength\":2", "no text is what pattern, format and lengths say together"},
        {"\"pattern\":\"a**\",\"maxLength\":2", "a repetition is repeated"},
        {"\"pattern\":\"a\",\"maxLength\":1025", "maxLength must be an integer of 0 to 1024"},
        {"\"pattern\":\"a\",\"minLength\":3,\"maxLength\":2", "minLength 3 is more than maxLength 2"},
        {"\"pattern\":\"a.{30}b\",\"maxLength\":99", "may be meant at once"},
        {"\"pattern\":\"a\",\"format\":\"uri\"", "format is not known"},
        {"\"pattern\":3", "pattern must be a text"}, {"\"format\":3", "format is not known"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        snprintf(schema, sizeof schema, "{\"type\":\"string\",%s}", bad[i].more);
        CHECK(!rig_schema(&rig, schema));
        if (!strstr(rig.err.text, bad[i].says)) check_fail(__FILE__, __LINE__, "%s: %s", schema, rig.err.text);
    }
    rig_close(&rig);
}

/* ---------------------------------------------------------------- several at once */

static size_t characters_of(const char *text, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += ((unsigned char)text[i] & 0xc0) != 0x80;
    return sum;
}

/* Whatever is drawn, and whatever may be written: nothing that is begun has no end. */
TEST(grammar_patterns_and_lengths_are_held_to_together)
{
    char text[256];
    long took = 0, not = 0, walked = 0, none = 0;
    const int draws = CHECK_SANITIZED ? 20 : 120;
    rig_open(&rig, 1);
    rig.limits = GRAMMAR_LIMITS;
    for (size_t i = 0; i < 3 * COUNT_OF(patterns); i++) {
        const char *pattern = patterns[i / 3];
        const int least = tiny_below(&seed, 4), most = i % 3 == 0 ? 1000 : least + tiny_below(&seed, 4);
        pcre2_code *code = read_pattern(pattern, false);
        json_t *s = json_pack("{s:s, s:s, s:i}", "type", "string", "pattern", pattern, "minLength", least);
        if (most < 1000) json_object_set_new(s, "maxLength", json_integer(most));
        char *schema = json_dumps(s, JSON_COMPACT);
        const bool there = rig_schema(&rig, schema) != NULL;
        if (!there && !strstr(rig.err.text, "no text is"))
            check_fail(__FILE__, __LINE__, "%s: %s", schema, rig.err.text);
        none += !there;
        for (int k = 0; k < draws; k++) {
            const size_t n = draw_text(text), long_ = characters_of(text, n);
            const bool want = matches(code, text, n) && long_ >= (size_t)least && long_ <= (size_t)most;
            if ((there && says_string(text, n)) != want)
                check_fail(__FILE__, __LINE__, "%s: %.*s is %s", schema, (int)n, text, want ? "one" : "none");
            took += want;
            not += !want;
        }
        for (int k = 0; k < 20 && there; k++) {
            const size_t n = walk(text, sizeof text);
            if (n == 0) continue;
            json_t *v = json_loadb(text, n, JSON_DECODE_ANY, NULL);
            const size_t bytes = json_string_length(v), long_ = characters_of(json_string_value(v), bytes);
            if (!v || !matches(code, json_string_value(v), bytes) || long_ < (size_t)least || long_ > (size_t)most)
                check_fail(__FILE__, __LINE__, "%s: %.*s", schema, (int)n, text);
            json_decref(v);
            walked++;
        }
        free(schema);
        json_decref(s);
        pcre2_code_free(code);
    }
    printf("  %ld texts of both, %ld not, %ld walked, %ld without one\n", took, not, walked, none);
    CHECK(took > 2 * draws && not > 2 * draws && walked > 1000 && none > 3);
    rig_close(&rig);
}

TEST(grammar_formats_go_with_patterns_and_lengths)
{
    static const struct { const char *more, *yes[3], *no[3]; int states; } cases[] = {
        {"\"format\":\"date\",\"pattern\":\"^20(2[4-9]|30)-\"", {"2024-02-29", "2030-12-31"},
         {"2023-01-01", "2026-02-29", "2031-01-01"}, 60},
        {"\"format\":\"email\",\"maxLength\":20", {"a@b.org", "aaaaaaaaaaaaaa@b.org"}, {"aaaaaaaaaaaaaaa@b.org", "a@b"},
         600},
        {"\"format\":\"ipv4\",\"pattern\":\"^192\\\\.168\",\"maxLength\":12", {"192.168.0.1", "192.168.99.1"},
         {"192.168.99.10", "10.0.0.1"}, 50},
        {"\"pattern\":\"^[a-z]+$\",\"minLength\":1,\"maxLength\":255", {"a", "abcdefghij"}, {"", "A", "a1"}, 300},
        {"\"pattern\":\"^[a-z]+$\",\"maxLength\":1024", {"a"}, {"", "A"}, 1100},
        {"\"pattern\":\"^[A-Za-z][A-Za-z0-9_-]*$\",\"maxLength\":64", {"a-1"}, {"1a"}, 140},
        {"\"pattern\":\"^\\\\S+$\",\"maxLength\":60", {"\xc3\xa9\xf0\x9f\x98\x80"}, {"a b", ""}, 700},
        {"\"pattern\":\"^\\\\+?[0-9 ]{4,}$\",\"minLength\":7,\"maxLength\":20", {"+49 170", "01234567890123456789"},
         {"+49 17", "012345678901234567890"}, 60},
    };
    char schema[300];
    rig_open(&rig, 1);
    rig.limits = GRAMMAR_LIMITS;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        snprintf(schema, sizeof schema, "{\"type\":\"string\",%s}", cases[i].more);
        if (!rig_schema(&rig, schema)) check_fail(__FILE__, __LINE__, "%s: %s", schema, rig.err.text);
        CHECK(grammar_states(rig.g) < cases[i].states);
        for (size_t k = 0; k < 3 && cases[i].yes[k]; k++)
            if (!says_string(cases[i].yes[k], strlen(cases[i].yes[k])))
                check_fail(__FILE__, __LINE__, "%s: %s", schema, cases[i].yes[k]);
        for (size_t k = 0; k < 3 && cases[i].no[k]; k++)
            if (says_string(cases[i].no[k], strlen(cases[i].no[k])))
                check_fail(__FILE__, __LINE__, "%s: not %s", schema, cases[i].no[k]);
    }
    rig_close(&rig);
}

/* ---------------------------------------------------------------- texts that are no JSON */

TEST(grammar_of_plain_texts)
{
    rig_open(&rig, 1);
    CHECK(compile_plain("[\"yes\",\"no\",\"yes, sir\",\"\\\"q\\\"\"]") != NULL);
    CHECK(rig_says(&rig, "yes") && rig_says(&rig, "no") && rig_says(&rig, "yes, sir") && rig_says(&rig, "\"q\""));
    CHECK(!rig_says(&rig, "ye") && !rig_says(&rig, "\"yes\"") && !rig_says(&rig, "") && !rig_says(&rig, "yesno"));
    CHECK(compile_plain("\"\\\\d{2}\"") != NULL);
    CHECK(rig_says(&rig, "42") && !rig_says(&rig, "421") && !rig_says(&rig, "\"42\""));
    static const char *const bad[] = {"[]", "[\"\"]", "[\"a\",3]", "{}", "3", "{\"type\":\"string\"}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (compile_plain(bad[i])) check_fail(__FILE__, __LINE__, "%s", bad[i]);
    rig_close(&rig);
}

CHECK_MAIN
