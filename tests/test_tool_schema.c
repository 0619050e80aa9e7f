/* The schema of tools' calls: what its grammar accepts is what forms_check_call() allows. */
#include "app/session/tool_schema.h"
#include "memory/forms.h"
#include "tests/grammar_rig.h"

static struct rig rig;

static void compile_tools(const char *const *names, int n)
{
    struct buf schema = {0};
    CHECK_EQ(tool_schema(names, n, &schema, &rig.err), 0);
    struct grammar_source source = {.schema = schema.data, .n_schema = schema.len, .close = "</end>", .n_close = 6};
    if (!rig_compile(&rig, &source)) check_fail(__FILE__, __LINE__, "%s: %s", rig.err.text, schema.data);
    buf_free(&schema);
}

static bool is_call(const char *json)
{
    struct buf text = {0};
    struct form_call call;
    buf_printf(&text, "<tool_call>%s</tool_call>", json);
    int rc = forms_read_call(text.data, text.len, &call, NULL);
    buf_free(&text);
    if (rc) return false;
    rc = forms_check_call(&call, NULL);
    forms_call_free(&call);
    return rc == 0;
}

/* Arguments of the tool; those that may be absent only with `all`; one less, if skip is one of them. */
static void put_call(const struct form_tool *t, bool all, int skip, struct buf *out)
{
    const char *comma = "";
    out->len = 0;
    buf_printf(out, "{\"name\":\"%s\",\"arguments\":{", t->name);
    for (int i = 0; i < t->n_args; i++) {
        if (i == skip || (t->arg[i].optional && !all)) continue;
        buf_printf(out, "%s\"%s\":%s", comma, t->arg[i].name, t->arg[i].is_int ? "-12" : "\"a \\\" b\"");
        comma = ",";
    }
    buf_puts(out, "}}");
}

static bool says(const char *json)
{
    struct buf text = {0};
    buf_printf(&text, "%s</end>", json);
    bool ok = rig_says(&rig, text.data);
    buf_free(&text);
    return ok;
}

TEST(tool_schema_accepts_what_forms_allow_of_every_tool)
{
    int n, lacks = 0;
    const struct form_tool *tool = forms_tools(&n);
    const char *names[64];
    struct buf call = {0};
    rig_open(&rig, 1);
    CHECK(n >= 10 && n <= 64);
    for (int i = 0; i < n; i++) names[i] = tool[i].name;
    compile_tools(names, n);
    for (int i = 0; i < n; i++) {
        for (int all = 0; all < 2; all++) {
            for (int skip = -1; skip < tool[i].n_args; skip++) {
                put_call(&tool[i], all, skip, &call);
                if (says(call.data) != is_call(call.data)) check_fail(__FILE__, __LINE__, "%s", call.data);
                lacks += !is_call(call.data);
            }
            put_call(&tool[i], all, -1, &call);
            CHECK(says(call.data));
        }
    }
    CHECK(lacks >= n);
    buf_free(&call);
    rig_close(&rig);
}

TEST(tool_schema_has_no_other_tools_arguments_or_types)
{
    static const char *const names[] = {"read", "list"};
    static const char *const bad[] = {
        "{\"name\":\"write\",\"arguments\":{\"path\":\"a\",\"text\":\"b\"}}",
        "{\"name\":\"read\",\"arguments\":{\"path\":\"a\",\"from\":\"1\"}}",
        "{\"name\":\"read\",\"arguments\":{\"path\":1}}",
        "{\"name\":\"read\",\"arguments\":{\"path\":\"a\",\"more\":1}}",
        "{\"name\":\"list\",\"arguments\":{\"path\":\"a\"},\"more\":1}",
        "{\"name\":\"list\",\"arguments\":{}}",
        "{\"name\":\"list\",\"arguments\":[]}",
        "{\"name\":\"list\"}",
    };
    rig_open(&rig, 1);
    compile_tools(names, 2);
    CHECK(says("{\"name\":\"read\",\"arguments\":{\"path\":\"a\",\"to\":3}}"));
    CHECK(says("{\"name\":\"list\",\"arguments\":{\"path\":\"a\"}}"));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (says(bad[i])) check_fail(__FILE__, __LINE__, "%s", bad[i]);
    rig_close(&rig);
}

/* A server's schema holds as far as a grammar can say it; one that is too large for that holds nobody to anything. */
TEST(tool_schema_of_a_tool_from_outside)
{
    static const char *const names[] = {"read", "s__do"};
    struct buf large = {0};
    CHECK_EQ(forms_tools_add("s__do", "", "{\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"}},"
        "\"required\":["
                             "\"n\"],\"$defs\":{\"N\":{\"type\":\"integer\"}}}", &rig.err), 0);
    rig_open(&rig, 1);
    compile_tools(names, 2);
    CHECK(says("{\"name\":\"s__do\",\"arguments\":{\"n\":7}}"));
    CHECK(says("{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}"));
    CHECK(!says("{\"name\":\"s__do\",\"arguments\":{}}"));
    CHECK(!says("{\"name\":\"s__do\",\"arguments\":{\"n\":\"7\"}}"));
    forms_tools_forget();
    buf_puts(&large, "{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < 300; i++) buf_printf(&large, "%s\"p%d\":{\"type\":\"string\"}", i ? "," : "", i);
    buf_puts(&large, "}}");
    CHECK_EQ(forms_tools_add("s__do", "", large.data, &rig.err), 0);
    compile_tools(names, 2);
    CHECK(says("{\"name\":\"s__do\",\"arguments\":{\"any\":[1,\"x\"]}}"));
    CHECK(!says("{\"name\":\"read\",\"arguments\":{\"any\":1}}"));
    forms_tools_forget();
    buf_free(&large);
    rig_close(&rig);
}

TEST(tool_schema_refuses_what_is_no_tool)
{
    static const char *const unknown[] = {"read", "sink"}, *const twice[] = {"read", "list", "read"};
    struct buf out = {0};
    struct err err = {0};
    buf_puts(&out, "before");
    CHECK_EQ(tool_schema(unknown, 2, &out, &err), -1);
    CHECK(strstr(err.text, "sink"));
    CHECK_EQ(tool_schema(twice, 3, &out, &err), -1);
    CHECK(strstr(err.text, "read is named twice"));
    CHECK_EQ(tool_schema(unknown, 0, &out, &err), -1);
    CHECK(strstr(err.text, "no tools"));
    CHECK_STR(out.data, "before");
    buf_free(&out);
}

CHECK_MAIN
