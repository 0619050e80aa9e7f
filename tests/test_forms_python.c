/* test_forms_python.c - calls in Python, as LFM2 writes them: what is read, what is none, where the words around them
 * go, and what such a model is told. */
#include "tests/interpose.h"
#include "tests/forms_words.h" /* its `out` is a name there */
#include <jansson.h>

#define OPEN FORMS_PYTHON_OPEN
#define CLOSE FORMS_PYTHON_CLOSE
#define L(calls) OPEN "[" calls "]" CLOSE

static struct form_call c;

static int read_as(enum form_calls how, const char *text, size_t n)
{
    forms_call_free(&c);
    err = (struct err){0};
    return forms_read_call_as(how, text, n, &c, &err);
}

static int read_text(const char *text) { return read_as(FORM_CALLS_LFM2, text, strlen(text)); }

static void check_call(const char *text, const char *name, const char *arguments)
{
    static const enum form_calls all[] = {FORM_CALLS_LFM2, FORM_CALLS_ANY};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (read_as(all[i], text, strlen(text))) check_fail(__FILE__, __LINE__, "%s: %s", text, err.text);
        CHECK_STR(c.name, name);
        CHECK_STR(c.arguments, arguments);
    }
    CHECK(forms_python_end(text, strlen(text)) > 0);
    forms_call_free(&c);
}

static void check_none(const char *text, int rc, const char *why)
{
    const int got = read_text(text);
    if (got != rc || !strstr(err.text, why)) check_fail(__FILE__, __LINE__, "%s: %d, %s", text, got, err.text);
    CHECK(!c.name && !c.arguments);
    CHECK_EQ(forms_python_end(text, strlen(text)), 0);
    for (const char *p = err.text; *p; p++) CHECK((unsigned char)*p >= 0x20);
}

/* ---------------------------------------------------------------- what the model wrote */

TEST(python_is_a_call_with_typed_arguments)
{
    static const struct { const char *value, *json; } row[] = {
        {"\"a b.txt\"", "\"a b.txt\""}, {"'a'", "\"a\""}, {"\"it's\"", "\"it's\""},
        {"'say \"x\"'", "\"say \\\"x\\\"\""},
        {"''", "\"\""}, {"\"\"", "\"\""}, {"\"\"\"a \"b\"\nc\"\"\"", "\"a \\\"b\\\"\\nc\""}, {"'''it's'''", "\"it's\""},
        {"\"a\nb\tc\"", "\"a\\nb\\tc\""}, {"'\\n\\t\\r\\b\\f\\\\\\'\\\"'", "\"\\n\\t\\r\\b\\f\\\\'\\\"\""},
        {"'\\a\\v'", "\"\\u0007\\u000B\""}, {"'\\x41\\u00e9\\101\\U0001F600'", "\"A\xc3\xa9" "A\xf0\x9f\x98\x80\""},
        {"'\\ud83d\\ude00'", "\"\xf0\x9f\x98\x80\""}, {"'C:\\dir\\q'", "\"C:\\\\dir\\\\q\""}, {"'a\\\nb'", "\"ab\""},
        {"'\\7x\\18'", "\"\\u0007x\\u00018\""}, {"'caf\xc3\xa9 \x01'", "\"caf\xc3\xa9 \\u0001\""},
        {"3", "3"}, {"-7", "-7"}, {"+7", "7"}, {"0", "0"}, {"1_000", "1000"}, {"0.5", "0.5"}, {".5", "0.5"},
        {"-.5", "-0.5"}, {"5.", "5.0"}, {"1e3", "1000.0"}, {"2.5E-2", "0.025"}, {"1.e2", "100.0"},
        {"True", "true"}, {"False", "false"}, {"None", "null"}, {"true", "true"}, {"false", "false"}, {"null", "null"},
        {"[]", "[]"}, {"[1, 'a', [None]]", "[1,\"a\",[null]]"}, {"[1,]", "[1]"}, {"(1, 2)", "[1,2]"}, {"(1,)", "[1]"},
        {"()", "[]"}, {"(1)", "1"}, {"('a')", "\"a\""}, {"{}", "{}"}, {"{'a': 1, \"b\": {'c': [True,]},}",
         "{\"a\":1,\"b\":{\"c\":[true]}}"}, {" [ 1 ,\n 2 ] ", "[1,2]"},
        {"\"<|tool_call_end|>]\"", "\"<|tool_call_end|>]\""},
        {"\"f(x=1), [g()]\"", "\"f(x=1), [g()]\""}, {"'" OPEN "[f()]'", "\"" OPEN "[f()]\""},
        {"\"<tool_call>{}</tool_call>\n<function=a>\"", "\"<tool_call>{}</tool_call>\\n<function=a>\""},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        char text[200], want[200];
        snprintf(text, sizeof text, L("t(k=%s)"), row[i].value);
        snprintf(want, sizeof want, "{\"k\":%s}", row[i].json);
        check_call(text, "t", want);
    }
    check_call(L("list()"), "list", "{}");
    check_call(L("read(path=\"a\", from=3, to=7)"), "read", "{\"path\":\"a\",\"from\":3,\"to\":7}");
    check_call(L(" read ( path = 'a' ,\n from=3 , ) "), "read", "{\"path\":\"a\",\"from\":3}");
    check_call(L("my-tool.v2(a-b=1, $x=2, \xc3\xa9=3)"), "my-tool.v2", "{\"a-b\":1,\"$x\":2,\"\xc3\xa9\":3}");
    CHECK_EQ(read_text(L("read(path=3)")), 0);
    CHECK_EQ(forms_check_call(&c, &err), -1); /* it is what it was written as */
    CHECK_STR(err.text, "read: \"path\" must be a text");
}

/* Where a system message asks for JSON. */
TEST(python_s_list_may_have_json)
{
    check_call(L("{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}"), "read", "{\"path\":\"a\"}");
    check_call(L(" {\"name\": \"read\", \"arguments\": {}} , list() "), "read", "{}");
    check_none(L("{\"name\": \"read\"}"), FORMS_BAD, "a call is {\"name\":..., \"arguments\":...}");
    check_none(L("{\"name\": \"\", \"arguments\": {}}"), FORMS_BAD, "names no tool");
    check_none(L("{\"name\": \"a\", \"arguments\": 3}"), FORMS_BAD, "no object");
    check_none(L("{\"name\": "), FORMS_BAD, "not JSON");
}

TEST(python_that_is_none)
{
    static const struct { const char *list, *why; } row[] = {
        {"", "no call"}, {"f", "no call"}, {"f(", "no name"}, {"f(1)", "no name"}, {"f(a)", "no name"},
        {"f(a=)", "no value"}, {"f(a=b)", "no value"}, {"f(a=1 b=2)", "no name"}, {"f(a=1,,b=2)", "no name"},
        {"f(a=1)(b=2)", "between its calls"}, {"f(a=1) g()", "between its calls"}, {"(a=1)", "no call"},
        {"f(**{'a': 1})", "no name"}, {"f(a=1+1)", "no value"}, {"f(a=0x10)", "no value"}, {"f(a=007)", "no value"},
        {"f(a=3px)", "no value"}, {"f(a=nan)", "no value"}, {"f(a=--1)", "no value"}, {"f(a=1__0)", "no value"},
        {"f(a=f'x')", "no value"}, {"f(a=os.name)", "no value"}, {"f(a='x)", "does not end"},
        {"f(a='''x'')", "does not end"}, {"f(a=[1 2])", "no value"}, {"f(a={1: 2})", "no text"},
        {"f(a={'b' 2})", "no value"}, {"f(a={'b': 2 'c': 3})", "no value"}, {"f(a=1, a=2)", "duplicate"},
        {"f(a={'b': 1, 'b': 2})", "duplicate"}, {"f(a='\\x4')", "escape"}, {"f(a='\\U00110000')", "escape"},
        {"f(a='\\ud800')", "arguments"}, {"f(a='\\x00')", "arguments"}, {"f(a='\xff')", "arguments"},
        {"f(a=99999999999999999999)", "arguments"}, {"f(a=1e999)", "arguments"}, {"for x in y", "no call"},
        {"f(a=1);", "between its calls"}, {"f(a=print('x'))", "no value"}, {"\x01(a=1)", "no call"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        char text[200];
        snprintf(text, sizeof text, L("%s"), row[i].list);
        check_none(text, FORMS_BAD, row[i].why);
    }
    check_none(OPEN "f()" CLOSE, FORMS_BAD, "no list of calls");
}

/* What was cut may be half of a file; the last mark alone may lack, at the text's end. */
TEST(python_that_was_cut_is_no_call)
{
    static const char whole[] = L("write(path='a', text=\"one\ntwo\"), list()");
    const size_t all = sizeof whole - 1, end = all - strlen(CLOSE);
    for (size_t n = 0; n <= all; n++) {
        char *part = malloc(n + 1); /* its own block: reading past the end is seen */
        memcpy(part, whole, n);
        const bool good = n == end || n == all;
        CHECK_EQ(read_as(FORM_CALLS_LFM2, part, n) == 0, good);
        CHECK_EQ(forms_python_end(part, n), good ? n : 0);
        free(part);
    }
    check_none(OPEN "[list()] and", FORMS_BAD, "the list of calls does not end");
}

/* ---------------------------------------------------------------- words, and several */

/* The calls of an answer: "name arguments" and what says each, a line each. */
static const char *calls_of(enum form_calls how, const char *text)
{
    struct form_calls_said l;
    fresh();
    if (forms_read_calls(how, text, strlen(text), &l, &err)) return "none";
    for (size_t i = 0; i < l.n; i++) {
        const struct form_call_said *s = &l.v[i];
        struct form_text said = {text + s->from, s->end - s->from};
        struct form_call again;
        if (s->said.len > 0) said = (struct form_text){s->said.data, s->said.len};
        buf_printf(&out, "%s%s %s | %.*s", i ? "\n" : "", s->call.name, s->call.arguments, (int)said.len, said.text);
        /* as it stands alone, in the journal, it is that call whichever model reads it */
        CHECK_EQ(forms_read_call_as(FORM_CALLS_ANY, said.text, said.len, &again, &err), 0);
        CHECK(strcmp(again.name, s->call.name) == 0 && strcmp(again.arguments, s->call.arguments) == 0);
        forms_call_free(&again);
    }
    forms_calls_free(&l);
    return out.data;
}

TEST(python_between_words_and_of_several_all)
{
    static const struct { const char *text, *calls; } row[] = {
        {L("f()"), "f {} | " L("f()")},
        {L("f( a = 1 )") "Now I look.", "f {\"a\":1} | " L("f( a = 1 )") "Now I look."},
        {"I look.\n" L("f()") "\nThen I say.", "f {} | I look.\n" L("f()") "\nThen I say."},
        {"A " L("f(a=1), g()") " B", "f {\"a\":1} | A " L("f(a=1)") "\ng {} | " L("g()") " B"},
        {L("f()") "\n" L("g( )") " end", "f {} | " L("f()") "\ng {} | \n" L("g( )") " end"},
        {L("f(), {\"name\": \"g\", \"arguments\": {\"b\": [true]}}") L("h()"),
         "f {} | " L("f()") "\ng {\"b\":[true]} | " L("g(b=[True])") "\nh {} | " L("h()")},
        {L("f()") " then " OPEN "[oh", "f {} | " L("f()") " then " OPEN "[oh"}, /* words, as it was not meant */
        {L("f()") OPEN "[g()", "f {} | " L("f()") OPEN "[g()"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const char *is = calls_of(FORM_CALLS_LFM2, row[i].text);
        if (strcmp(is, row[i].calls) != 0) check_fail(__FILE__, __LINE__, "%s: %s", row[i].text, is);
    }
    CHECK_STR(calls_of(FORM_CALLS_LFM2, "Words."), "none");
    CHECK_STR(calls_of(FORM_CALLS_LFM2, OPEN "[oh" L("f()")), "none"); /* it begins with none */
    CHECK_STR(calls_of(FORM_CALLS_OWN, L("f()")), "none");              /* nobody else's */
    CHECK_STR(calls_of(FORM_CALLS_QWEN35, L("f()")), "none");
    static const char *const none[] = {"Words.", "", "f()", "[f()]", "<|tool_call_start>[f()]", CLOSE};
    for (size_t i = 0; i < COUNT_OF(none); i++) CHECK_EQ(read_text(none[i]), FORMS_OTHER);
}

TEST(python_with_no_text_around_it_loses_nothing)
{
    static const char text[] = "a\0b" L("f(), g()") "c\0d"; /* what is no text may be words */
    struct form_calls_said l;
    CHECK_EQ(forms_read_calls(FORM_CALLS_LFM2, text, sizeof text - 1, &l, &err), 0);
    CHECK_EQ(l.n, 2);
    CHECK_EQ(l.v[0].said.len, 3 + strlen(L("f()")));
    CHECK_MEM(l.v[0].said.data, "a\0b" L("f()"), l.v[0].said.len);
    CHECK_EQ(l.v[1].said.len, 3 + strlen(L("g()")));
    CHECK_MEM(l.v[1].said.data, L("g()") "c\0d", l.v[1].said.len);
    forms_calls_free(&l);
}

/* They drift, and texts say anything: what comes first is what it is. */
TEST(python_or_json)
{
    static const char in_json[] = CALL("{\"name\":\"write\",\"arguments\":{\"text\":\"" L("f()") "\"}}");
    static const char in_tags[] = "<tool_call>\n<function=write>\n<parameter=text>\n" L("f()")
                                  "\n</parameter>\n</function>\n</tool_call>";
    CHECK_EQ(read_text(in_json), 0);
    CHECK_STR(c.name, "write");
    CHECK_EQ(read_as(FORM_CALLS_ANY, in_json, sizeof in_json - 1), 0);
    CHECK_STR(c.arguments, "{\"text\":\"" L("f()") "\"}");
    CHECK_EQ(read_as(FORM_CALLS_ANY, in_tags, sizeof in_tags - 1), 0);
    CHECK_STR(c.name, "write");
    CHECK(forms_python_end(in_json, sizeof in_json - 1) == 0 && forms_python_end(in_tags, sizeof in_tags - 1) == 0);
    /* and a list that is quoted is words, where a call of another form ends the text */
    static const char *const quoted[] = {"I say " L("g()") ".\n" CALL("{\"name\":\"f\",\"arguments\":{}}"),
                                         "I say " L("g()") ".\n<tool_call>\n<function=f>\n</function>\n</tool_call>",
                                         "I say " OPEN "[g(.\n<tool_call>\n<function=f>\n</function>\n</tool_call>"};
    for (size_t i = 0; i < COUNT_OF(quoted); i++) {
        CHECK_EQ(read_as(FORM_CALLS_ANY, quoted[i], strlen(quoted[i])), 0);
        CHECK_STR(c.name, "f");
    }
    check_call("I see. " L("f(a='" CALL("{}") "')"), "f", "{\"a\":\"" CALL("{}") "\"}");
    forms_call_free(&c);
}

/* Of a text that goes on all is certain that no more of it can make a call. */
TEST(python_that_may_come)
{
    static const struct { const char *text; size_t at; } row[] = {
        {"", 0}, {"a", 1}, {"a <", 2}, {"a <|tool_call_start", 2}, {"a " OPEN, 2}, {"a " OPEN "[f", 2},
        {"a <|tool_x", 10}, {"<|tool_<|tool_", 7}, {"a<|tool_call_start|" "<", 19},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++)
        CHECK_EQ(forms_python_begin(row[i].text, 0, strlen(row[i].text)), row[i].at);
    CHECK_EQ(forms_python_begin(OPEN OPEN, 1, 2 * strlen(OPEN)), strlen(OPEN));
}

/* ---------------------------------------------------------------- hostile */

TEST(python_that_is_too_deep_is_no_call)
{
    for (int deep = 60; deep <= 60000; deep = deep == 60 ? 63 : deep == 63 ? 64 : 10 * deep) {
        struct buf text = {0};
        buf_puts(&text, OPEN "[f(a=");
        for (int i = 0; i < deep; i++) buf_puts(&text, i % 3 == 0 ? "[" : i % 3 == 1 ? "(" : "{'a':");
        buf_puts(&text, "1");
        for (int i = deep; i-- > 0;) buf_puts(&text, i % 3 == 0 ? "]" : i % 3 == 1 ? ",)" : "}");
        buf_puts(&text, ")]");
        CHECK_EQ(read_as(FORM_CALLS_LFM2, text.data, text.len), deep < 64 ? 0 : FORMS_BAD);
        if (deep >= 64) CHECK_STR(err.text, "the call's arguments are more than 64 deep");
        buf_free(&text);
    }
}

/* What looks like a list costs no more than its bytes. */
TEST(python_without_end_is_read_once)
{
    static const char *const again[] = {OPEN, OPEN "[", OPEN "[f()", L("f()"), L("f(a='"), "[", "f(", "f(), ", "{", "'",
                                        "\\", "a=1,", "1", "_", "<", "\"\"\"", L("f(), g()")};
    for (size_t i = 0; i < COUNT_OF(again); i++) {
        struct buf many = {0};
        struct form_calls_said l;
        buf_puts(&many, i % 2 ? OPEN "[f(a='" : OPEN "[");
        while (many.len < FORMS_READ_LIMIT - 40) buf_puts(&many, again[i]);
        if (forms_read_calls(FORM_CALLS_LFM2, many.data, many.len, &l, &err) == 0) forms_calls_free(&l);
        forms_python_end(many.data, many.len);
        while (many.len <= FORMS_READ_LIMIT) buf_puts(&many, again[i]);
        CHECK(read_as(FORM_CALLS_LFM2, many.data, many.len) != 0);
        CHECK_EQ(forms_python_end(many.data, many.len), 0);
        buf_free(&many);
    }
}

/* Without memory there is no call, and none with other arguments. */
TEST(python_without_memory_is_no_call)
{
    static const char text[] = "A " L("t(a=[{'b': 1.5}], b='x\\n', i=7), u()") " B";
    static const char want[] = "{\"a\":[{\"b\":1.5}],\"b\":\"x\\n\",\"i\":7}";
    if (!INTERPOSE_WORKS) SKIP("a sanitizer has an allocator of its own");
    bool done = false;
    for (long i = 1; i < 1000 && !done; i++) {
        struct form_calls_said l;
        err = (struct err){0};
        interpose_arm(i, false);
        const int rc = forms_read_calls(FORM_CALLS_LFM2, text, sizeof text - 1, &l, &err);
        interpose_disarm();
        done = atomic_load(&interpose.takes) < i;
        if (rc == 0) CHECK(l.n == 2 && strcmp(l.v[0].call.arguments, want) == 0 && strcmp(l.v[1].call.name, "u") == 0);
        else CHECK(rc != FORMS_OTHER && *err.text && l.n == 0);
        CHECK(!done || rc == 0);
        forms_calls_free(&l);
    }
    CHECK(done);
}

/* ---------------------------------------------------------------- what it is told */

TEST(python_of_calls)
{
    const struct form_call many[] = {
        {"read", "{\"path\":\"a \\\"b\\\"\\n\\t\\\\\\u0001\x7f caf\xc3\xa9\",\"from\":3}"}, {"list", "{}"},
        {"t", "{\"a\":[1,2.5,true,false,null,{\"b c\":\"d\"},[]],\"o\":{}}"},
        {"t", "{\"a b\":1}"}, {"a\"b", "{\"k\":true}"}, {"t", "[1]"}, {"t", "no \"JSON\""}, {"t", "{\"\":1}"},
    };
    static const char *const want[] = {
        "read(path=\"a \\\"b\\\"\\n\\t\\\\\\x01\\x7f caf\xc3\xa9\", from=3)", "list()",
        "t(a=[1, 2.5, True, False, None, {\"b c\": \"d\"}, []], o={})",
        "{\"name\": \"t\", \"arguments\": {\"a b\": 1}}", "{\"name\": \"a\\\"b\", \"arguments\": {\"k\": true}}",
        "t(arguments=\"[1]\")", "t(arguments=\"no \\\"JSON\\\"\")", "{\"name\": \"t\", \"arguments\": {\"\": 1}}",
    };
    struct buf all = {0};
    for (size_t i = 0; i < COUNT_OF(many); i++) {
        char text[300];
        snprintf(text, sizeof text, L("%s"), want[i]);
        forms_python_calls(&many[i], 1, fresh());
        check_out(text);
        CHECK_EQ(read_text(text), 0);
        CHECK_STR(c.name, many[i].name);
        if (i < 5 || i == 7) CHECK_STR(c.arguments, many[i].arguments);
        buf_printf(&all, "%s%s", i ? ", " : OPEN "[", want[i]);
    }
    buf_puts(&all, "]" CLOSE);
    forms_python_calls(many, COUNT_OF(many), fresh());
    check_out(all.data);
    forms_call_free(&c);
    buf_free(&all);
}

static uint32_t draw(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static json_t *draw_value(uint32_t *state, int deep)
{
    static const char *const part[] = {"a", "'", "\"", "\\", "\n", "\t", "\r", " ", ",", ")", "]", CLOSE, "\xc3\xa9",
                                       "\x01", "\x7f", "\xf0\x9f\x98\x80", "\\n", "\\x", "{", "#", "True", OPEN};
    const uint32_t kind = draw(state, deep > 0 ? 8 : 6);
    struct buf text = {0};
    json_t *v = kind == 6 ? json_array() : json_object();
    switch (kind) {
    case 0: json_decref(v); return json_integer((json_int_t)draw(state, 1u << 20) - (1 << 19));
    case 1: json_decref(v); return json_real(draw(state, 1000) / 8.0 - 60);
    case 2: json_decref(v); return json_boolean(draw(state, 2));
    case 3: json_decref(v); return json_null();
    case 4:
    case 5:
        json_decref(v);
        for (uint32_t k = draw(state, 9); k > 0; k--) buf_puts(&text, part[draw(state, COUNT_OF(part))]);
        v = json_stringn(text.data ? text.data : "", text.len);
        buf_free(&text);
        return v;
    default:
        for (uint32_t k = draw(state, 4); k > 0; k--) {
            char key[16];
            snprintf(key, sizeof key, "%c%u", "k '"[draw(state, 3)], k);
            if (kind == 6) json_array_append_new(v, draw_value(state, deep - 1));
            else json_object_set_new(v, key, draw_value(state, deep - 1));
        }
        return v;
    }
}

/* Whatever a call says is read as it was told. */
TEST(python_of_any_call_is_that_call)
{
    uint32_t state = 11;
    for (int i = 0; i < 2000; i++) {
        json_t *arguments = json_object();
        for (uint32_t k = draw(&state, 4); k > 0; k--) {
            char key[16];
            snprintf(key, sizeof key, "%c%u", "ab "[draw(&state, 20) < 19 ? draw(&state, 2) : 2], k);
            json_object_set_new(arguments, key, draw_value(&state, 3));
        }
        char *json = json_dumps(arguments, JSON_COMPACT | JSON_REAL_PRECISION(15));
        const struct form_call call = {"some_tool", json};
        forms_python_calls(&call, 1, fresh());
        if (read_as(FORM_CALLS_LFM2, out.data, out.len)) check_fail(__FILE__, __LINE__, "%s: %s", out.data, err.text);
        CHECK_STR(c.arguments, json);
        free(json);
        json_decref(arguments);
    }
    forms_call_free(&c);
}

CHECK_MAIN
