/* test_forms_tags.c - calls in tags, as Qwen 3.5 and Qwen3-Coder write them: what they are told, and what is read.  The
 * expected texts are what those models' own templates made of the same tools and calls (jinja2, as transformers runs
 * it). */
#include "tests/interpose.h"
#include "tests/forms_words.h" /* its `out` is a name there */

#define CALL_OF(name, parameters) "<tool_call>\n<function=" name ">\n" parameters "</function>\n</tool_call>"
#define P(key, value) "<parameter=" key ">\n" value "\n</parameter>\n"

static struct form_call c;

static int read_as(enum form_calls how, const char *text, size_t n)
{
    forms_call_free(&c);
    err = (struct err){0};
    return forms_read_call_as(how, text, n, &c, &err);
}

static int read_text(const char *text) { return read_as(FORM_CALLS_QWEN35, text, strlen(text)); }

static void check_call(const char *text, const char *name, const char *arguments)
{
    static const enum form_calls all[] = {FORM_CALLS_QWEN35, FORM_CALLS_QWEN3_CODER, FORM_CALLS_ANY};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (read_as(all[i], text, strlen(text))) check_fail(__FILE__, __LINE__, "%s: %s", text, err.text);
        CHECK_STR(c.name, name);
        CHECK_STR(c.arguments, arguments);
    }
    forms_call_free(&c);
}

static void check_none(const char *text, int rc, const char *why)
{
    const int got = read_text(text);
    if (got != rc || !strstr(err.text, why)) check_fail(__FILE__, __LINE__, "%s: %d, %s", text, got, err.text);
    CHECK(!c.name && !c.arguments);
    CHECK_EQ(forms_tags_end(text, strlen(text)), 0);
}

/* ---------------------------------------------------------------- what the model wrote */

TEST(tags_are_a_call_with_typed_arguments)
{
    check_call(CALL_OF("read", P("path", "a b.txt") P("from", "3") P("to", " 7 ")), "read",
               "{\"path\":\"a b.txt\",\"from\":3,\"to\":7}");
    CHECK_EQ(read_text(CALL_OF("read", P("path", "3"))), 0);
    CHECK_STR(c.arguments, "{\"path\":\"3\"}"); /* a text stays one */
    CHECK_EQ(forms_check_call(&c, &err), 0);
    CHECK_EQ(read_text(CALL_OF("read", P("path", "a") P("from", "three"))), 0);
    CHECK_EQ(forms_check_call(&c, &err), -1);
    CHECK_STR(err.text, "read: \"from\" must be an integer");
    check_call(CALL_OF("fly", P("high", "3") P("x", "True")), "fly", "{\"high\":\"3\",\"x\":\"True\"}");
    check_call(CALL_OF("list", ""), "list", "{}");
}

/* One newline at each end is the form's; more are the value's. */
TEST(tags_keep_a_value_as_it_is)
{
    check_call(CALL_OF("write", P("path", "p") P("text", "\n one\n\n\ttwo \n")), "write",
               "{\"path\":\"p\",\"text\":\"\\n one\\n\\n\\ttwo \\n\"}");
    check_call(CALL_OF("write", P("text", "")), "write", "{\"text\":\"\"}");
    check_call(CALL_OF("write", "<parameter=text>\n</parameter>\n"), "write", "{\"text\":\"\"}");
    check_call(CALL_OF("write", P("text", "{\"a\": [1]}")), "write", "{\"text\":\"{\\\"a\\\": [1]}\"}");
    check_call(CALL_OF("write", P("text", "<b>x</b>\n</tool_call> and <tool_call>\n<tool_call>{\"a\":1}</tool_call>")),
               "write",
               "{\"text\":\"<b>x</b>\\n</tool_call> and <tool_call>\\n<tool_call>{\\\"a\\\":1}</tool_call>\"}");
    check_call(CALL_OF("write", P("text", "say </parameter> to end\n</parameter>\nor </function>\n</function>\nx "
                                          "<parameter=y>\n<parameter=\n<parameter=>")),
               "write", "{\"text\":\"say </parameter> to end\\n</parameter>\\nor </function>\\n</function>\\nx "
               "<parameter=y>\\n<parameter=\\n<parameter=>\"}");
    check_call(CALL_OF("write", P("text", "\x01 caf\xc3\xa9 \\ \"")), "write",
               "{\"text\":\"\\u0001 caf\xc3\xa9 \\\\ \\\"\"}");
}

TEST(tags_that_were_forgotten)
{
    static const char want[] = "{\"path\":\"a\",\"to\":3}";
    check_call("<tool_call><function=read><parameter=path>a</parameter><parameter=to>3</parameter></function>"
               "</tool_call>", "read", want);
    check_call(" <tool_call> <function= read >\n<parameter=path >\na</parameter>\n\n<parameter=to>3\n</parameter>"
               " </function>\n\n</tool_call>\n", "read", want);
    check_call("<tool_call>\n<function=read>\n" P("path", "a") P("to", "3") "</function>", "read", want);
    check_call("<tool_call>\n<function=read>\n" P("path", "a") P("to", "3") "</tool_call>", "read", want);
    check_call("<tool_call>\n<function=read>\n<parameter=path>\na\n<parameter=to>\n3\n</function>\n</tool_call>",
               "read", want);
}

/* What was cut may be half of a file. */
TEST(tags_that_were_cut_are_no_call)
{
    static const char whole[] = CALL_OF("write", P("path", "a") P("text", "one\ntwo"));
    const size_t all = sizeof whole - 1, end = all - strlen("\n</tool_call>");
    for (size_t n = 0; n < all; n++) {
        char *part = malloc(n + 1); /* its own block: reading past the end is seen */
        memcpy(part, whole, n);
        const bool good = n == end || n == end + 1; /* without the last tag, and with its newline */
        CHECK_EQ(read_as(FORM_CALLS_QWEN35, part, n) == 0, good);
        CHECK_EQ(forms_tags_end(part, n), good ? end : 0);
        free(part);
    }
    check_none("<tool_call>\n<function=write>\n<parameter=text>\none\n</function>", FORMS_BAD, "does not end");
}

TEST(tags_behind_words_and_of_several_the_first)
{
    static const char one[] = "I use <tool_call> so:\n\n" CALL_OF("list", P("path", "a"));
    char two[400];
    check_call(one, "list", "{\"path\":\"a\"}");
    CHECK_EQ(forms_tags_end(one, strlen(one)), strlen(one));
    snprintf(two, sizeof two, "%s\n" CALL_OF("list", P("path", "b")) "\n", one);
    check_call(two, "list", "{\"path\":\"a\"}");
    CHECK_EQ(forms_tags_end(two, strlen(two)), strlen(one));
    snprintf(two, sizeof two, "%s\nDone.", one);
    check_none(two, FORMS_BAD, "text after the call");
    CHECK_EQ(read_text("Words."), FORMS_OTHER);
    CHECK_EQ(read_text("<tool_call>"), FORMS_OTHER);
    CHECK_EQ(read_text(""), FORMS_OTHER);
    CHECK_EQ(read_as(FORM_CALLS_OWN, one, strlen(one)), FORMS_BAD); /* nobody else's */
    CHECK_EQ(read_as(FORM_CALLS_LLAMA3, one, strlen(one)), FORMS_BAD);
}

/* Where a line begins so, and there is such a tool. */
TEST(tags_without_the_first)
{
    check_call("<function=list>\n" P("path", "a") "</function>\n</tool_call>", "list", "{\"path\":\"a\"}");
    check_call("I look.\n<function=list>\n" P("path", "a") "</function>\n<function=list>\n</function>", "list",
               "{\"path\":\"a\"}");
    CHECK_EQ(read_text("<function=fly>\n</function>"), FORMS_OTHER);
    CHECK_EQ(read_text("I use <function=list>\n</function>"), FORMS_OTHER);
    CHECK_EQ(read_text("<function=list>\n</function>\nDone."), FORMS_BAD);
    CHECK(!c.name && !c.arguments);
}

/* Of a text that goes on all is certain that no more of it can make a call. */
TEST(tags_that_may_come)
{
    static const struct { const char *text; size_t at; } row[] = {
        {"", 0}, {"a", 1}, {"a <", 2}, {"a <tool_call", 2}, {"a <tool_call>", 2}, {"a <tool_call> \n", 2},
        {"a <tool_call> x", 15}, {"a <tool_call>\n<func", 2}, {"a <tool_call>{", 2}, {"a <tool_call><b <", 16},
        {"a <function=", 12}, {"a\n<func", 2}, {"a\n<function=x", 2}, {"a\n<functional", 13}, {"<function=", 0},
        {"<tool_call> <tool_call>\n<function=f>", 12},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const size_t n = strlen(row[i].text);
        if (forms_tags_begin(row[i].text, 0, n) != row[i].at) check_fail(__FILE__, __LINE__, "%s", row[i].text);
    }
    CHECK_EQ(forms_tags_begin("a <function=", 2, 12), 12); /* it is amid a line */
}

/* They drift: a call in our form is one, and what it says of tags are its words. */
TEST(tags_or_json)
{
    static const char json[] = CALL("{\"name\":\"write\",\"arguments\":{\"text\":\"<tool_call><function=x>\"}}");
    check_call(json, "write", "{\"text\":\"<tool_call><function=x>\"}");
    CHECK_EQ(read_text("I look.\n<tool_call>\n{\"name\":\"list\",\"arguments\":{}}\n</tool_call>"), 0);
    CHECK_EQ(forms_tags_end(json, strlen(json)), 0);
    CHECK_EQ(read_text("<tool_call>{\"name\":\"list\"}</tool_call>"), FORMS_BAD);
}

TEST(tags_that_are_hostile)
{
    check_none(CALL_OF("", ""), FORMS_BAD, "names no tool");
    check_none(CALL_OF(" ", ""), FORMS_BAD, "names no tool");
    check_none(CALL_OF("a\x01", ""), FORMS_BAD, "names no tool");
    check_none("<tool_call>\n<function=a\n>", FORMS_BAD, "names no tool");
    check_none(CALL_OF("a", P("", "1")), FORMS_BAD, "has no name");
    check_none(CALL_OF("a", P("k", "1") P("k", "2")), FORMS_BAD, "duplicate");
    check_none(CALL_OF("a", P("k", "1") "x"), FORMS_BAD, "does not end"); /* it may be a line of the value's */
    check_none(CALL_OF("a", "x" P("k", "1")), FORMS_BAD, "something between");
    check_none(CALL_OF("a", P("k", "\xff")), FORMS_BAD, "unable to decode");
    check_none(CALL_OF("a\xff", ""), FORMS_BAD, "unable to decode");
    static const char nul[] = CALL_OF("a", P("k", "x\0y"));
    CHECK_EQ(read_as(FORM_CALLS_QWEN35, nul, sizeof nul - 1), FORMS_BAD);
    check_call(CALL_OF("a\"\\", P("k\"{}", "v")), "a\"\\", "{\"k\\\"{}\":\"v\"}");
    CHECK_EQ(read_text(CALL_OF("a", P("k", "1") P("k", "2"))), FORMS_BAD);
    for (const char *p = err.text; *p; p++) CHECK((unsigned char)*p >= 0x20);
}

/* What looks like tags costs no more than its bytes. */
TEST(tags_without_end_are_read_once)
{
    static const char *const again[] = {"<tool_call>", "<tool_call><function=a>", "</parameter> ", "<parameter=a>",
                                        "\n<parameter=a", "</function> ", "\n<parameter=a>", "</parameter>\n\n\n\n\n"};
    for (size_t i = 0; i < COUNT_OF(again); i++) {
        struct buf many = {0};
        buf_puts(&many, "<tool_call><function=a><parameter=b>");
        while (many.len < FORMS_READ_LIMIT - 40) buf_puts(&many, again[i]);
        CHECK(read_as(FORM_CALLS_QWEN35, many.data, many.len) != 0);
        CHECK(read_as(FORM_CALLS_ANY, many.data, many.len) != 0);
        while (many.len <= FORMS_READ_LIMIT) buf_puts(&many, again[i]);
        CHECK_EQ(read_as(FORM_CALLS_QWEN35, many.data, many.len), FORMS_BAD);
        CHECK(strstr(err.text, "longer than 1 MiB"));
        buf_free(&many);
    }
}

/* ---------------------------------------------------------------- types */

static unsigned by_key(void *self, const char *tool, const char *key)
{
    static const char letters[] = "sinbzao";
    unsigned types = 0;
    CHECK(self == &c && strcmp(tool, "t") == 0);
    for (; *key; key++) types |= 1u << (strchr(letters, *key) - letters);
    return types;
}

TEST(tags_have_the_types_that_a_schema_says)
{
    static const struct { const char *key, *value, *want; } row[] = {
        {"i", "7", "7"}, {"i", "-7\n", "-7"}, {"i", "7.0", "\"7.0\""}, {"i", "99999999999999999999", NULL},
        {"i", "007", "\"007\""}, {"i", "", "\"\""}, {"i", "true", "\"true\""}, {"i", "7 8", "\"7 8\""},
        {"n", "7", "7"}, {"n", "0.1", "0.1"}, {"n", "1e400", "\"1e400\""}, {"n", "NaN", "\"NaN\""},
        {"b", "true", "true"}, {"b", "False", "false"}, {"b", "TRUE", "\"TRUE\""}, {"b", "1", "\"1\""},
        {"z", "null", "null"}, {"z", "None", "null"}, {"s", "None", "\"None\""}, {"s", "7", "\"7\""},
        {"sz", "None", "null"}, {"sz", "7", "\"7\""}, {"si", "7", "7"}, {"si", "x", "\"x\""},
        {"a", "[1, {\"b\": [2]}]", "[1,{\"b\":[2]}]"}, {"a", "{}", "\"{}\""}, {"a", "[1", "\"[1\""},
        {"o", " {\"a\": \"\xc3\xa9\"}", "{\"a\":\"\xc3\xa9\"}"},
        {"o", "{\"a\":1,\"a\":2}", NULL}, {"o", "[]", "\"[]\""},
        {"o", "{\"a\":\"\\u0000\"}", "\"{\\\"a\\\":\\\"\\\\u0000\\\"}\""}, {"s", "\"q\"", "\"\\\"q\\\"\""},
        {"inbzao", "\"q\"", "\"\\\"q\\\"\""},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const struct form_types types = {by_key, &c};
        struct buf text = {0}, want = {0};
        buf_printf(&text, CALL_OF("t", P("%s", "%s")) "rest", row[i].key, row[i].value);
        struct form_text t = {text.data, text.len};
        if (forms_read_tags(&t, &types, &c, &err)) check_fail(__FILE__, __LINE__, "%s: %s", row[i].value, err.text);
        CHECK(t.len == 4 && memcmp(t.text, "rest", 4) == 0);
        buf_printf(&want, "{\"%s\":%s}", row[i].key, row[i].want ? row[i].want : "");
        if (row[i].want) CHECK_STR(c.arguments, want.data);
        else CHECK(strncmp(strchr(c.arguments, ':'), ":\"", 2) == 0); /* a text */
        forms_call_free(&c);
        buf_free(&text);
        buf_free(&want);
    }
}

TEST(tags_with_json_that_is_too_deep_are_no_call)
{
    const struct form_types types = {by_key, &c};
    for (int deep = 1000; deep <= 4000; deep += 1000) {
        struct buf text = {0};
        buf_puts(&text, "<tool_call><function=t><parameter=a>");
        for (int i = 0; i < deep; i++) buf_puts(&text, "[");
        for (int i = 0; i < deep; i++) buf_puts(&text, "]");
        buf_puts(&text, "</parameter></function>");
        struct form_text t = {text.data, text.len};
        CHECK_EQ(forms_read_tags(&t, &types, &c, &err), 0); /* a text where it is too deep for JSON */
        CHECK_EQ(c.arguments[5], deep > 2000 ? '"' : '[');
        forms_call_free(&c);
        buf_free(&text);
    }
    struct form_text t = T("<tool_call>{}");
    CHECK_EQ(forms_read_tags(&t, &types, &c, &err), FORMS_BAD);
    CHECK_EQ(t.len, 13);
}

/* Without memory there is no call, and none with other arguments. */
TEST(tags_without_memory_are_no_call)
{
    static const char text[] = "<tool_call><function=t><parameter=a>[{\"b\": 1.5}]</parameter><parameter=b>True"
                               "</parameter><parameter=i>7</parameter></function>";
    static const char want[] = "{\"a\":[{\"b\":1.5}],\"b\":true,\"i\":7}";
    const struct form_types types = {by_key, &c};
    if (!INTERPOSE_WORKS) SKIP("a sanitizer has an allocator of its own");
    bool done = false;
    for (long i = 1; i < 1000 && !done; i++) {
        struct form_text t = {text, sizeof text - 1};
        err = (struct err){0};
        interpose_arm(i, false);
        const int rc = forms_read_tags(&t, &types, &c, &err);
        interpose_disarm();
        done = atomic_load(&interpose.takes) < i;
        if (rc == 0) CHECK_STR(c.arguments, want);
        else CHECK(rc != FORMS_OTHER && *err.text && t.text == text && !c.name && !c.arguments);
        CHECK(!done || rc == 0);
        forms_call_free(&c);
    }
    CHECK(done);
}

/* ---------------------------------------------------------------- what it is told */

#define TOOLS \
    "[{\"type\": \"function\", \"function\": {\"name\": \"read\", \"description\": \" Reads a file.\\n\", \"st" \
    "rict\": true, \"parameters\": {\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string\", \"" \
    "description\": \"Of it, \\\"quoted\\\" caf\xc3\xa9.\"}, \"n\": {\"type\": [\"integer\", \"null\"], \"defa" \
    "ult\": 3, \"minimum\": 1.5}, \"how\": {\"enum\": [\"a\", \"b\"], \"default\": null}, \"list\": {\"type\":" \
    " \"array\", \"items\": {\"type\": \"object\", \"properties\": {\"x\": {\"type\": \"number\"}}}, \"uniqueI" \
    "tems\": true}}, \"required\": [\"path\"], \"additionalProperties\": false}}}, {\"type\": \"function\", \"" \
    "function\": {\"name\": \"now\", \"description\": \"Time.\"}}]"

static void check_list(enum form_calls how, const char *want, uint64_t sum)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a, of all that the template wrote there */
    forms_tags_list(how, form_text(TOOLS), fresh());
    CHECK(!out.failed);
    const char *at = strstr(out.data, "<tools>"), *end = at ? strstr(at, "</tools>") : NULL;
    CHECK(at && end);
    CHECK_EQ((size_t)(end - at), strlen(want));
    CHECK(memcmp(at, want, strlen(want)) == 0);
    for (size_t i = 0; i < out.len; i++) h = (h ^ (unsigned char)out.data[i]) * UINT64_C(0x100000001b3);
    CHECK_EQ(h, sum);
}

TEST(tags_of_tools)
{
    check_list(FORM_CALLS_QWEN35,
        "<tools>\n"
        "{\"type\": \"function\", \"function\": {\"name\": \"read\", \"description\": \" Reads a file.\\n\", \""
        "strict\": true, \"parameters\": {\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string"
        "\", \"description\": \"Of it, \\\"quoted\\\" caf\xc3\xa9" ".\"}, \"n\": {\"type\": [\"integer\", \"nu"
        "ll\"], \"default\": 3, \"minimum\": 1.5}, \"how\": {\"enum\": [\"a\", \"b\"], \"default\": null}, \"l"
        "ist\": {\"type\": \"array\", \"items\": {\"type\": \"object\", \"properties\": {\"x\": {\"type\": \"n"
        "umber\"}}}, \"uniqueItems\": true}}, \"required\": [\"path\"], \"additionalProperties\": false}}}\n"
        "{\"type\": \"function\", \"function\": {\"name\": \"now\", \"description\": \"Time.\"}}\n",
        UINT64_C(0x0087c3a9a1aa053f));
    check_list(FORM_CALLS_QWEN3_CODER,
        "<tools>\n<function>\n<name>read</name>\n<description>Reads a file.</description>\n<parameters>\n"
        "<parameter>\n<name>path</name>\n<type>string</type>\n"
        "<description>Of it, \"quoted\" caf\xc3\xa9" ".</description>\n</parameter>\n<parameter>\n"
        "<name>n</name>\n<type>['integer', 'null']</type>\n<default>3</default>\n<minimum>1.5</minimum>\n"
        "</parameter>\n<parameter>\n<name>how</name>\n<enum>[\"a\", \"b\"]</enum>\n<default>None</default>\n"
        "</parameter>\n<parameter>\n<name>list</name>\n<type>array</type>\n"
        "<items>{\"type\": \"object\", \"properties\": {\"x\": {\"type\": \"number\"}}}</items>\n"
        "<uniqueItems>True</uniqueItems>\n</parameter>\n<required>[\"path\"]</required>\n"
        "<additionalProperties>False</additionalProperties>\n</parameters>\n<strict>True</strict>\n</function>\n"
        "<function>\n<name>now</name>\n<description>Time.</description>\n<parameters>\n</parameters>\n"
        "</function>\n",
        UINT64_C(0xd3f7bc15918b994b));
}

TEST(tags_of_the_program_s_tools)
{
    static const char *const names[] = {"calculator", "read"}, *const none[] = {"fly"};
    char want[1000];
    CHECK_EQ(forms_tags_tools(FORM_CALLS_QWEN3_CODER, names, 2, fresh(), &err), 0);
    snprintf(want, sizeof want, "<function>\n<name>calculator</name>\n<description>%s</description>\n<parameters>\n"
             "<parameter>\n<name>expression</name>\n<type>string</type>\n</parameter>\n"
             "<required>[\"expression\"]</required>\n</parameters>\n</function>\n<function>\n<name>read</name>",
             forms_tool("calculator")->about);
    CHECK(strstr(out.data, want));
    CHECK_EQ(forms_tags_tools(FORM_CALLS_QWEN35, names, 2, fresh(), &err), 0);
    snprintf(want, sizeof want, "<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"calculator\", "
             "\"description\": \"%s\", \"parameters\": {\"type\": \"object\", \"properties\": {\"expression\": "
             "{\"type\": \"string\"}}, \"required\": [\"expression\"]}}}\n{\"type\": \"function\", ",
             forms_tool("calculator")->about);
    CHECK(strstr(out.data, want));
    CHECK_EQ(forms_tags_tools(FORM_CALLS_QWEN35, none, 1, fresh(), &err), -1);
    CHECK(out.len == 0 && strstr(err.text, "no tool \"fly\""));
}

TEST(tags_of_calls)
{
    struct form_call made = {strdup("read"), strdup("{\"path\":\"a\\nb\",\"n\":3,\"ok\":true,\"no\":null,\"x\":0.5,"
                                                    "\"list\":[{\"x\":1,\"y\":\"\xc3\xa9\"}],\"e\":\"\"}")};
    static const char want[] = CALL_OF("read", P("path", "a\nb") P("n", "3") P("ok", "True") P("no", "None")
                                       P("x", "0.5") P("list", "[{\"x\": 1, \"y\": \"\xc3\xa9\"}]") P("e", ""));
    forms_tags_call(&made, fresh());
    check_out(want);
    forms_call_free(&made);
    made = (struct form_call){strdup("now"), strdup("{}")};
    forms_tags_call(&made, fresh());
    check_out(CALL_OF("now", ""));
    forms_call_free(&made);
    made = (struct form_call){strdup("now"), strdup("{\"a\":")}; /* a client's */
    forms_tags_call(&made, fresh());
    check_out(CALL_OF("now", P("arguments", "{\"a\":")));
    forms_call_free(&made);
    static const char call[] = CALL_OF("write", P("path", "a") P("text", "\n x\n"));
    CHECK_EQ(read_text(call), 0); /* and as it was written, when it is told again */
    forms_tags_call(&c, fresh());
    check_out(call);
    forms_call_free(&c);
}

CHECK_MAIN
