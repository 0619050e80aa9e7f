/* test_forms_read.c - what models write, read back: calls, records, hand-overs; any bytes at all are survived. */
#include "memory/forms.h"
#include "memory/forms_dialogue.h"
#include "tests/check.h"
#include "tests/forms_words.h"

/* ---------------------------------------------------------------- reading calls */

static int read_call(const char *text, size_t n, struct form_call *c)
{
    err = (struct err){0};
    return forms_read_call(text, n, c, &err);
}

TEST(forms_read_call_gives_name_and_arguments)
{
    static const char text[] = " \n" CALL("{ \"name\": \"read\",\n \"arguments\": {\"path\": \"a </tool_call> "
                                       "b\", \"to\": 3}}")
                               "\r\n";
    struct form_call c;
    CHECK_EQ(read_call(text, strlen(text), &c), 0);
    CHECK_STR(c.name, "read");
    CHECK_STR(c.arguments, "{\"path\":\"a </tool_call> b\",\"to\":3}");
    CHECK_EQ(forms_check_call(&c, &err), 0);
    CHECK_EQ(forms_call(c.name, form_text(c.arguments), fresh(), &err), 0);
    check_out(CALL("{\"name\":\"read\",\"arguments\":{\"path\":\"a </tool_call> b\",\"to\":3}}"));
    forms_call_free(&c);
    CHECK(c.name == NULL);
    forms_call_free(&c);
}

#define LLAMA3(text) forms_read_call_as(FORM_CALLS_LLAMA3, text, strlen(text), &c, &err)

TEST(forms_read_call_in_the_form_of_llama_3)
{
    static const char *const calls[] = {
        "{\"name\": \"read\", \"parameters\": {\"path\": \"a\", \"to\": 3}}",
        " \n{\"type\":\"function\",\"parameters\":{\"path\":\"a\",\"to\":3},\"name\":\"read\"}\r\n",
        CALL("{\"name\":\"read\",\"arguments\":{\"path\":\"a\",\"to\":3}}"),
    };
    struct form_call c;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        CHECK_EQ(LLAMA3(calls[i]), 0);
        CHECK_STR(c.name, "read");
        CHECK_STR(c.arguments, "{\"path\":\"a\",\"to\":3}");
        forms_call_free(&c);
    }
    CHECK_EQ(read_call(calls[0], strlen(calls[0]), &c), FORMS_OTHER); /* of others it is an answer */
    CHECK_EQ(LLAMA3("{\"name\":\"write\",\"parameters\":{\"path\":\"a\",\"text\":\"<tool_call>\"}}"), 0);
    CHECK_STR(c.arguments, "{\"path\":\"a\",\"text\":\"<tool_call>\"}");
    forms_call_free(&c);
}

/* JSON is an answer like any other. */
TEST(forms_read_call_of_llama_3_takes_no_answer_for_a_call)
{
#define BARE "{\"name\":\"read\",\"parameters\":{\"path\":\"a\"}}"
    static const char *const answers[] = {
        "", "{", "{}", "[" BARE "]", "{\"name\":\"read\"}", "{\"parameters\":{}}", BARE "; " BARE, BARE BARE,
        "Sure: " BARE, BARE " done", "`" BARE "`", "```json\n" BARE "\n```", "<|python_tag|>" BARE,
        "{\"name\":\"read\",\"parameters\":{},\"x\":1}", "{\"name\":\"read\",\"arguments\":{}}",
        "{\"name\":\"read\",\"arguments\":{},\"parameters\":{}}", "{\"name\":\"read\",\"parameters\":[]}",
        "{\"name\":\"read\",\"parameters\":\"{}\"}", "{\"name\":\"read\",\"parameters\":null}",
        "{\"name\":3,\"parameters\":{}}", "{\"name\":\"\",\"parameters\":{}}",
        "{\"name\":\"Ann\",\"parameters\":{\"age\":\"7\"}}", "{\"name\":\"read\\u0000x\",\"parameters\":{}}",
        "{\"name\":\"read\",\"name\":\"read\",\"parameters\":{}}",
        "{\"type\":\"object\",\"name\":\"read\",\"parameters\":{}}",
        "{\"type\":1,\"name\":\"read\",\"parameters\":{}}", "{'name':'read','parameters':{}}",
        "{\"name\":\"read\",\"parameters\":{\"path\":\"\xff\"}}",
    };
    struct form_call c = {0};
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        err = (struct err){0};
        int rc = LLAMA3(answers[i]);
        if (rc != FORMS_OTHER) check_fail(__FILE__, __LINE__, "%s: %d", answers[i], rc);
        check_err("no call of a tool");
        CHECK(!c.name && !c.arguments);
    }
    CHECK_EQ(LLAMA3("<tool_call>" BARE "</tool_call>"), FORMS_BAD); /* marked, and another form's */
    CHECK_EQ(LLAMA3(BARE), 0);
    forms_call_free(&c);
}

#define MISTRAL(text) forms_read_call_as(FORM_CALLS_MISTRAL3, text, strlen(text), &c, &err)

TEST(forms_read_call_in_the_form_of_mistral)
{
    static const char *const calls[] = {
        "[{\"name\": \"read\", \"arguments\": {\"path\": \"a\", \"to\": 3}}]",
        " [{\"arguments\":{\"path\":\"a\",\"to\":3},\"id\":\"VvvODy9mT\",\"name\":\"read\"}]\n",
        "[TOOL_CALLS] [{\"name\":\"read\",\"arguments\":{\"path\":\"a\",\"to\":3}}]",
        "[{\"name\":\"read\",\"arguments\":{\"path\":\"a\",\"to\":3}}, " /* of several the first */
        "{\"name\":\"write\",\"arguments\":{}}]",
        CALL("{\"name\":\"read\",\"arguments\":{\"path\":\"a\",\"to\":3}}"),
    };
    struct form_call c;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        for (int how = FORM_CALLS_MISTRAL3; how <= FORM_CALLS_ANY; how++) {
            CHECK_EQ(forms_read_call_as((enum form_calls)how, calls[i], strlen(calls[i]), &c, &err), 0);
            CHECK_STR(c.name, "read");
            CHECK_STR(c.arguments, "{\"path\":\"a\",\"to\":3}");
            forms_call_free(&c);
        }
    }
    CHECK_EQ(read_call(calls[0], strlen(calls[0]), &c), FORMS_OTHER); /* of others it is an answer */
    CHECK_EQ(LLAMA3(calls[0]), FORMS_OTHER);
    CHECK_EQ(MISTRAL("{\"name\":\"read\",\"parameters\":{}}"), FORMS_OTHER);
}

/* Behind what else was said, where a line begins with it. */
TEST(forms_read_call_at_the_end)
{
#define READ CALL("{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}")
    static const struct { const char *text; bool call; } row[] = {
        {READ, true}, {"I look.\n\n" READ, true}, {"a\n\n<tool_call>no\n\n" READ "\n", true},
        {"a\n\n" CALL("{}") "\n\n" READ, true}, {"a\n\n\n" READ, true}, {"a\n" READ, true}, {"a " READ, false},
        {"a\n\n" READ "\n\nb", false}, {"a\n\n" READ "\n\n" CALL("{}"), false}, {"a\n\n" CALL(""), false},
        {"a\n\n", false}, {"\n\n</tool_call>", false},
        {"a\n\n" CALL("{\"name\":\"x\",\"arguments\":{\"s\":\"\\n\\n<tool_call>\"}}"), true},
    };
    struct form_call c;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const size_t n = strlen(row[i].text);
        for (int k = 0; k < 4; k++) {
            static const enum form_calls each[] = {FORM_CALLS_ANY, FORM_CALLS_HARMONY, FORM_CALLS_OWN,
                                                   FORM_CALLS_LLAMA3};
            const enum form_calls how = each[k];
            if ((forms_read_call_as(how, row[i].text, n, &c, &err) == 0) != row[i].call)
                check_fail(__FILE__, __LINE__, "%s", row[i].text);
            forms_call_free(&c);
        }
    }
    struct buf many = {0}; /* what looks like calls costs no more than its bytes */
    while (many.len < FORMS_READ_LIMIT - 40) buf_puts(&many, "\n\n<tool_call>{\"name\":[");
    buf_puts(&many, "</tool_call>");
    CHECK_EQ(forms_read_call_as(FORM_CALLS_HARMONY, many.data, many.len, &c, &err), FORMS_BAD);
    buf_free(&many);
}

/* A list is an answer like any other, and one call that is none makes none of those behind it. */
TEST(forms_read_call_of_mistral_takes_no_answer_for_a_call)
{
#define ONE "{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}"
    static const char *const answers[] = {
        "[", "[]", "[1]", "[" ONE, "[[" ONE "]]", "[1," ONE "]", "[" ONE "] done", "Sure: [" ONE "]",
        "[" ONE "][" ONE "]",
        "[TOOL_CALLS]", "[TOOL_CALLS]read{\"path\":\"a\"}", "[TOOL_CALLS][TOOL_CALLS][" ONE "]", "[INST][" ONE "]",
        "[TOOL_RESULTS][" ONE "][/TOOL_RESULTS]", "[{\"name\":\"read\"}]", "[{\"arguments\":{}}]",
        "[{\"name\":\"read\",\"arguments\":{},\"id\":7}]", "[{\"name\":\"read\",\"arguments\":{},\"x\":1}]",
        "[{\"name\":\"read\",\"arguments\":\"{}\"}]", "[{\"name\":\"read\",\"parameters\":{}}]",
        "[{\"name\":\"Ann\",\"arguments\":{\"age\":7}}]", "[{\"name\":\"read\",\"name\":\"read\",\"arguments\":{}}]",
        "[{\"name\":\"read\\u0000x\",\"arguments\":{}}]", "[{'name':'read','arguments':{}}]",
        "[{\"name\":\"Ann\",\"arguments\":{}}," ONE "]", "[{\"name\":\"read\",\"arguments\":{\"path\":\"\xff\"}}]",
    };
    struct form_call c = {0};
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        err = (struct err){0};
        int rc = MISTRAL(answers[i]);
        if (rc != FORMS_OTHER) check_fail(__FILE__, __LINE__, "%s: %d", answers[i], rc);
        check_err("no call of a tool");
        CHECK(!c.name && !c.arguments);
    }
    CHECK_EQ(MISTRAL("[" ONE "]"), 0);
    forms_call_free(&c);
}

TEST(forms_read_call_says_what_is_wrong)
{
    static const struct { const char *text; int rc; const char *says; } bad[] = {
        {"", FORMS_OTHER, "no call"},
        {"Hello.", FORMS_OTHER, "no call"},
        {"{\"name\":\"read\",\"arguments\":{}}</tool_call>", FORMS_OTHER, "no call"},
        {"<tool_call", FORMS_OTHER, "no call"},
        {"<tool_call>", FORMS_BAD, "does not end"},
        {"<tool_call></tool_call", FORMS_BAD, "does not end"},
        {"Sure: " CALL("{\"name\":\"a\",\"arguments\":{}}"), FORMS_BAD, "text before"},
        {CALL("{\"name\":\"a\",\"arguments\":{}}") " done", FORMS_BAD, "text after"},
        {CALL("{\"name\":\"a\",\"arguments\":{}}") CALL("{\"name\":\"a\",\"arguments\":{}}"), FORMS_BAD, "not JSON"},
        {CALL(""), FORMS_BAD, "not JSON"},
        {CALL("{\"name\":\"a\nb\"}"), FORMS_BAD, "not JSON"},
        {CALL("{\"name\":\"a\\u0000\",\"arguments\":{}}"), FORMS_BAD, "not JSON"},
        {CALL("{\"name\":\"a\",\"name\":\"b\",\"arguments\":{}}"), FORMS_BAD, "not JSON"},
        {CALL("[]"), FORMS_BAD, "a call is"},
        {CALL("{\"name\":\"a\"}"), FORMS_BAD, "a call is"},
        {CALL("{\"name\":3,\"arguments\":{}}"), FORMS_BAD, "a call is"},
        {CALL("{\"name\":\"a\",\"arguments\":{},\"x\":1}"), FORMS_BAD, "a call is"},
        {CALL("{\"name\":\"\",\"arguments\":{}}"), FORMS_BAD, "names no tool"},
        {CALL("{\"name\":\"a\",\"arguments\":[]}"), FORMS_BAD, "no object"},
        {CALL("{\"name\":\"a\",\"arguments\":\"{}\"}"), FORMS_BAD, "no object"},
    };
    struct form_call c;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int rc = read_call(bad[i].text, strlen(bad[i].text), &c);
        if (rc != bad[i].rc) check_fail(__FILE__, __LINE__, "%s: %d", bad[i].text, rc);
        CHECK_EQ(err.code, rc);
        check_err(bad[i].says);
        CHECK(c.name == NULL && c.arguments == NULL);
    }
    CHECK_EQ(read_call(NULL, 0, &c), FORMS_OTHER);
}

static int check_call(char *name, char *arguments)
{
    return forms_check_call(&(struct form_call){name, arguments}, &err);
}

TEST(forms_check_call_knows_what_tools_take)
{
    CHECK_EQ(check_call("read", "{\"path\":\"a\"}"), 0);
    CHECK_EQ(check_call("read", "{\"from\":1,\"path\":\"a\"}"), 0);
    CHECK_EQ(check_call("fly", "{}"), -1);
    check_err("no tool \"fly\"");
    CHECK_EQ(check_call("read", "{\"from\":1}"), -1);
    check_err("read: the argument \"path\" lacks");
    CHECK_EQ(check_call("read", "{\"path\":1}"), -1);
    check_err("read: \"path\" must be a text");
    CHECK_EQ(check_call("artifact", "{\"id\":\"a1\",\"offset\":\"5\"}"), -1);
    check_err("artifact: \"offset\" must be an integer");
    CHECK_EQ(check_call("artifact", "{\"id\":\"a1\",\"pattern\":\"x\"}"), 0);
    CHECK_EQ(check_call("artifact", "{\"id\":\"a1\",\"from\":3,\"to\":\"4\"}"), -1);
    check_err("artifact: \"to\" must be an integer");
    CHECK_EQ(check_call("artifact", "{\"offset\":3}"), -1);
    CHECK_EQ(check_call("ask", "{\"question\":\"a\",\"x\\ny\":1}"), -1);
    check_err("ask: it has no argument \"x?y\"");
    CHECK_EQ(check_call("ask", "no"), -1);
    check_err("no object");
}

/* ---------------------------------------------------------------- reading records */

static int read_record(const char *text, struct form_record *r)
{
    err = (struct err){0};
    return forms_read_record(text, strlen(text), r, &err);
}

TEST(forms_read_record_comes_back_as_it_was_written)
{
    struct form_record r = {{LIST(T("Facts:"), T("none"), T("- x")), EMPTY, LIST(T("a  b")), LIST(T("{facts}"))},
                            NULL}, back;
    forms_record(&r, fresh());
    CHECK_EQ(forms_read_record(out.data, out.len, &back, &err), 0);
    for (int s = 0; s < RECORD_SECTIONS; s++) {
        CHECK_EQ(back.section[s].n, r.section[s].n);
        for (size_t i = 0; i < r.section[s].n; i++) {
            CHECK_EQ(back.section[s].item[i].len, r.section[s].item[i].len);
            CHECK_MEM(back.section[s].item[i].text, r.section[s].item[i].text, r.section[s].item[i].len);
        }
    }
    char *before = strdup(out.data);
    struct buf again = {0};
    forms_record(&back, &again);
    CHECK_STR(again.data, before);
    free(before);
    buf_free(&again);
    forms_record_free(&back);
    CHECK(back.items == NULL);
    buf_free(&out);
}

/* Whatever the items are: what is written is read, and written again the same. */
TEST(forms_read_record_takes_every_record_that_is_written)
{
    static const char some[] = "ab -\n\r\t :{}none\xc2\x85\xe2\x80\xa8\xff\0";
    uint32_t x = 1;
    for (int round = 0; round < 3000; round++) {
        char bytes[4][12];
        struct form_text item[4];
        struct form_record r = {0}, back;
        struct buf again = {0};
        for (int i = 0; i < 4; i++) {
            item[i] = (struct form_text){bytes[i], (size_t)(x >> 20) % sizeof bytes[i]};
            for (size_t k = 0; k < sizeof bytes[i]; k++) {
                x = x * 1664525u + 1013904223u;
                bytes[i][k] = some[(x >> 16) % sizeof some];
            }
            r.section[i] = (struct form_list){item, (size_t)i + 1};
        }
        forms_record(&r, fresh());
        CHECK_EQ(forms_read_record(out.data, out.len, &back, &err), 0);
        forms_record(&back, &again);
        CHECK_STR(again.data, out.data);
        CHECK_EQ(strlen(out.data), out.len);
        forms_record_free(&back);
        buf_free(&again);
    }
    buf_free(&out);
}

TEST(forms_read_record_passes_over_blanks)
{
    struct form_record r;
    CHECK_EQ(read_record("\n\n Facts: \r\n\n-   the ship\t\r\n  - is Ada \nDecisions:\n\n none \nDone:\nnone\n Open:\n"
                         "none\n\n \n", &r), 0);
    CHECK_EQ(r.section[RECORD_FACTS].n, 2);
    check_text(r.section[RECORD_FACTS].item[0], "the ship");
    check_text(r.section[RECORD_FACTS].item[1], "is Ada");
    for (int s = RECORD_DECISIONS; s < RECORD_SECTIONS; s++) CHECK_EQ(r.section[s].n, 0);
    forms_record_free(&r);
}

TEST(forms_read_record_is_strict_about_headings)
{
    static const struct { const char *text; int rc; const char *says; } bad[] = {
        {"", FORMS_OTHER, "no record"},
        {"Here it is:\nFacts:\nnone", FORMS_OTHER, "no record"},
        {"facts:\nnone", FORMS_OTHER, "no record"},
        {"Facts: none", FORMS_OTHER, "no record"},
        {"Facts:", FORMS_BAD, "no heading \"Decisions:\""},
        {"Facts:\nnone\nDecisions:\nnone\nDone:\nnone", FORMS_BAD, "no heading \"Open:\""},
        {"Facts:\nnone\nDone:\nnone\nDecisions:\nnone\nOpen:\nnone", FORMS_BAD, "line 3: neither an item"},
        {"Facts:\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone", FORMS_BAD, "nothing under \"Facts:\""},
        {"Facts:\nnone\nDecisions:\nnone\nDone:\nnone\nOpen:\n", FORMS_BAD, "nothing under \"Open:\""},
        {"Facts:\nnone\nDecisions:\nnone\nDone:\nnone\nOpen:\nnone\nFacts:", FORMS_BAD, "line 9: neither"},
        {"Facts:\nthe ship\n", FORMS_BAD, "line 2: neither"},
        {"Facts:\n-the ship\n", FORMS_BAD, "line 2: neither"},
        {"Facts:\n- \n", FORMS_BAD, "line 2: an empty item"},
        {"Facts:\nnone\n- the ship", FORMS_BAD, "line 3: \"none\" beside items"},
        {"Facts:\n- the ship\n\nnone", FORMS_BAD, "line 4: \"none\" beside items"},
        {"Facts:\nnone\nnone", FORMS_BAD, "line 3: \"none\" beside items"},
    };
    struct form_record r;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int rc = read_record(bad[i].text, &r);
        if (rc != bad[i].rc) check_fail(__FILE__, __LINE__, "%s: %d", bad[i].text, rc);
        CHECK_EQ(err.code, rc);
        check_err(bad[i].says);
        CHECK(r.items == NULL);
    }
}

/* ---------------------------------------------------------------- reading hand-overs */

static int read_handover(const char *text, struct form_handover *h)
{
    err = (struct err){0};
    return forms_read_handover(text, strlen(text), h, &err);
}

TEST(forms_read_handover_comes_back_as_it_was_written)
{
    struct form_handover h = {T("planner"), T("critic"), T("Result: x to y"), T("{task} to do"),
                              LIST(T("a12"), T("b")), NULL};
    struct form_handover back;
    forms_handover(&h, fresh());
    CHECK_EQ(forms_read_handover(out.data, out.len, &back, &err), 0);
    check_text(back.from, "planner");
    check_text(back.to, "critic");
    check_text(back.task, "Result: x to y");
    check_text(back.result, "{task} to do");
    CHECK_EQ(back.artifacts.n, 2);
    check_text(back.artifacts.item[0], "a12");
    check_text(back.artifacts.item[1], "b");
    forms_handover_free(&back);
    buf_free(&out);
}

TEST(forms_read_handover_passes_over_blanks)
{
    struct form_handover h;
    CHECK_EQ(read_handover("\n Hand-over from  planner  to  critic \r\n\nTask:  t \n"
                           "Result: r\n Artifacts: a1 ,a2\n\n", &h), 0);
    check_text(h.from, "planner");
    check_text(h.to, "critic");
    check_text(h.task, "t");
    CHECK_EQ(h.artifacts.n, 2);
    check_text(h.artifacts.item[1], "a2");
    forms_handover_free(&h);
    CHECK_EQ(read_handover("Hand-over from a to b\nTask: t\nResult: r\nArtifacts: none", &h), 0);
    CHECK_EQ(h.artifacts.n, 0);
    forms_handover_free(&h);
}

TEST(forms_read_handover_says_what_is_wrong)
{
    static const struct { const char *text; int rc; const char *says; } bad[] = {
        {"", FORMS_OTHER, "no hand-over"},
        {"I hand over.", FORMS_OTHER, "no hand-over"},
        {"Hand-over fromage to b", FORMS_OTHER, "no hand-over"},
        {"Hand-over from", FORMS_BAD, "from whom"},
        {"Hand-over from a", FORMS_BAD, "from whom"},
        {"Hand-over from a to", FORMS_BAD, "from whom"},
        {"Hand-over from to b", FORMS_BAD, "from whom"},
        {"Hand-over from a tomb", FORMS_BAD, "from whom"},
        {"Hand-over from a to b", FORMS_BAD, "\"Task:\" lacks"},
        {"Hand-over from a to b\nTask:", FORMS_BAD, "\"Task:\" says nothing"},
        {"Hand-over from a to b\nTask:t", FORMS_BAD, "\"Task:\" lacks"},
        {"Hand-over from a to b\nTask: t\nArtifacts: none", FORMS_BAD, "\"Result:\" lacks"},
        {"Hand-over from a to b\nTask: t\nResult: r\nmore\nArtifacts: none", FORMS_BAD, "\"Artifacts:\" lacks"},
        {"Hand-over from a to b\nTask: t\nResult: r\nArtifacts: a1,", FORMS_BAD, "without a name"},
        {"Hand-over from a to b\nTask: t\nResult: r\nArtifacts: none\nBye", FORMS_BAD, "line 5: text after"},
    };
    struct form_handover h;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int rc = read_handover(bad[i].text, &h);
        if (rc != bad[i].rc) check_fail(__FILE__, __LINE__, "%s: %d", bad[i].text, rc);
        check_err(bad[i].says);
        CHECK(h.items == NULL);
    }
}

/* ---------------------------------------------------------------- hostile bytes */

/* Read as everything, out of a block of exactly its size. */
static void read_all(const char *bytes, size_t n)
{
    struct form_call c;
    struct form_record r;
    struct form_handover h;
    char *text = malloc(n ? n : 1);
    memcpy(text, bytes, n);
    if (forms_read_call(text, n, &c, &err) == 0) forms_call_free(&c);
    else check_err("");
    if (forms_read_record(text, n, &r, &err) == 0) forms_record_free(&r);
    else check_err("");
    if (forms_read_handover(text, n, &h, &err) == 0) forms_handover_free(&h);
    else check_err("");
    struct buf b = {0};
    if (forms_dialogue(text, n, &b, &err)) check_err("");
    buf_free(&b);
    free(text);
}

static const char *const seeds[] = {
    CALL("{\"name\":\"read\",\"arguments\":{\"path\":\"caf\\u00e9\",\"from\":1}}"),
    "Facts:\n- a\n- b\nDecisions:\nnone\nDone:\n- c\nOpen:\nnone\n",
    "Hand-over from planner to critic\nTask: t\nResult: r\nArtifacts: a1, a2\n",
    "{\"role\":\"critic\",\"tools\":[\"read\"],\"turns\":[{\"user\":\"a\"},{\"verdict\":{\"accept\":true,"
    "\"reasons\":[\"b\"]}},"
    "{\"result\":{\"text\":\"t\",\"shown\":1,\"total\":2,\"id\":\"a\",\"offset\":3}},"
    "{\"findings\":[{\"text\":\"a\",\"source\":"
    "\"b\"}]}]}",
};

TEST(forms_readers_survive_every_truncation)
{
    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        for (size_t n = 0; n <= strlen(seeds[i]); n++) read_all(seeds[i], n);
}

TEST(forms_readers_survive_random_bytes)
{
    uint32_t x = 12345;
    for (int round = 0; round < 4000; round++) {
        char bytes[600];
        const char *seed = seeds[round % (int)COUNT_OF(seeds)];
        size_t n = strlen(seed);
        memcpy(bytes, seed, n);
        for (int k = 0; k < 1 + round % 7; k++) {
            x = x * 1664525u + 1013904223u;
            bytes[(x >> 8) % n] = (x & 0x80) ? (char)(x >> 24) : " \n\0-:,{}\"\x1b"[(x >> 24) % 10];
        }
        read_all(bytes, n);
    }
}

static void repeat(struct buf *b, const char *s, size_t upto)
{
    while (b->len + strlen(s) <= upto) buf_puts(b, s);
}

TEST(forms_readers_survive_depth_and_length)
{
    static const char *const parts[] = {"[", "{\"a\":", "<tool_call>", "- ", "- x\n", "\n", " to ", "Facts:\n", ","};
    static const char *const heads[] = {"", "<tool_call>", "Facts:\n",
                                        "Hand-over from a to b\nTask: t\nResult: r\nArtifacts: a",
                                        "{\"turns\":[{\"call\":{\"name\":\"ask\",\"arguments\":"};
    for (size_t h = 0; h < COUNT_OF(heads); h++) {
        for (size_t p = 0; p < COUNT_OF(parts); p++) {
            buf_puts(fresh(), heads[h]);
            repeat(&out, parts[p], FORMS_READ_LIMIT - 20);
            read_all(out.data, out.len);
            buf_puts(&out, "</tool_call>");
            read_all(out.data, out.len);
        }
    }
    buf_free(&out);
}

TEST(forms_readers_refuse_more_than_their_limit)
{
    struct form_call c;
    struct form_record r;
    struct form_handover h;
    repeat(fresh(), "{", FORMS_READ_LIMIT + 1);
    CHECK_EQ(forms_read_call_as(FORM_CALLS_LLAMA3, out.data, out.len, &c, &err), FORMS_BAD);
    check_err("longer than 1 MiB");
    CHECK_EQ(forms_read_call_as(FORM_CALLS_LLAMA3, out.data, FORMS_READ_LIMIT, &c, &err), FORMS_OTHER);
    repeat(fresh(), "[", FORMS_READ_LIMIT + 1);
    CHECK_EQ(forms_read_call_as(FORM_CALLS_MISTRAL7, out.data, out.len, &c, &err), FORMS_BAD);
    CHECK_EQ(forms_read_call_as(FORM_CALLS_MISTRAL7, out.data, FORMS_READ_LIMIT, &c, &err), FORMS_OTHER);
    repeat(fresh(), " ", FORMS_READ_LIMIT + 1);
    CHECK_EQ(forms_read_call(out.data, out.len, &c, &err), FORMS_BAD);
    check_err("longer than 1 MiB");
    CHECK_EQ(forms_read_record(out.data, out.len, &r, &err), FORMS_BAD);
    CHECK_EQ(forms_read_handover(out.data, out.len, &h, &err), FORMS_BAD);
    CHECK_EQ(forms_read_call(out.data, FORMS_READ_LIMIT, &c, &err), FORMS_OTHER);
    buf_free(&out);
}

CHECK_MAIN
