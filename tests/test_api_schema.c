/* test_api_schema.c - clients' schemas as the engine's grammars read them: definitions that refer to themselves, and
 * what a schema says in several places. */
#include "app/serve/api.h"
#include "tests/check.h"

static const char *quoted(char *out, const char *text) /* ' stands for " */
{
    size_t i = 0;
    for (; text[i]; i++) out[i] = text[i] == '\'' ? '"' : text[i];
    out[i] = '\0';
    return out;
}

/* What is made of an answer's schema; why it cannot be used. */
static void made_of(const char *schema, bool strict, struct buf *out)
{
    char text[4096];
    struct api_ask a = {0};
    struct api_error e = {0};
    json_t *s = json_loads(quoted(text, schema), 0, NULL);
    CHECK(s);
    out->len = 0;
    if (api_schema_of_answer(&a, s, strict, &e)) buf_printf(out, "%s", e.text);
    else buf_put(out, a.schema.data, a.schema.len);
    buf_put(out, "", 1);
    buf_free(&a.schema);
    buf_free(&a.coarse);
    json_decref(s);
}

static void check_made(const char *schema, bool strict, const char *expected)
{
    char want[4096];
    struct buf got = {0};
    made_of(schema, strict, &got);
    json_t *a = json_loads(got.data, 0, NULL), *b = json_loads(quoted(want, expected), 0, NULL);
    if (!a || !b ? !strstr(got.data, expected) : !json_equal(a, b))
        check_fail(__FILE__, __LINE__, "%s\n  became  %s\n  not  %s", schema, got.data, expected);
    json_decref(a);
    json_decref(b);
    buf_free(&got);
}

#define S "{'type':'string'}"
#define I "{'type':'integer'}"

TEST(what_is_said_in_several_places_is_said_as_one)
{
    static const struct { const char *schema, *made; } cases[] = {
        {"{'allOf':[{'$ref':'#/$defs/a'}],'description':'x','$defs':{'a':" S "}}", S},
        {"{'$ref':'#/$defs/a','minLength':2,'$defs':{'a':" S "}}", "{'type':'string','minLength':2}"},
        {"{'$ref':'#/$defs/a','minLength':2,'$defs':{'a':{'type':'string','minLength':3,'maxLength':9}},'maxLength':8}",
         "{'type':'string','minLength':3,'maxLength':8}"},
        {"{'allOf':[{'type':'object','properties':{'a':" S "},'required':['a']},{'type':'object','properties':{'b':" I
         "},'required':['b']}]}",
         "{'type':'object','properties':{'a':" S ",'b':" I "},'required':['a','b']}"},
        {"{'type':'object','properties':{'a':{'type':'number'}},'allOf':[{'properties':{'a':{'type':['integer','null'],"
         "'minimum':1}},'required':['a']}]}",
         "{'type':'object','properties':{'a':{'type':'integer','minimum':1}},'required':['a']}"},
        {"{'allOf':[{'type':['number','string']},{'type':['integer','string','null']}]}",
         "{'anyOf':[" S "," I "]}"},
        {"{'allOf':[{'type':['number','string']},{'type':['number','null']}]}", "{'type':'number'}"},
        {"{'allOf':[{'enum':['a','b','c']},{'enum':['c','b','d']}]}", "{'enum':['b','c']}"},
        {"{'allOf':[{'type':'array','items':{'minimum':1,'type':'integer'}},{'items':{'maximum':4},'maxItems':3},"
         "{'minItems':1}]}",
         "{'type':'array','items':{'type':'integer','minimum':1,'maximum':4},'maxItems':3,'minItems':1}"},
        {"{'type':'object','properties':{'a':" S ",'b':" I "},'anyOf':[{'required':['a']},{'required':['b']}]}",
         "{'anyOf':[{'type':'object','properties':{'a':" S ",'b':" I "},'required':['a']},"
         "{'type':'object','properties':{'a':" S ",'b':" I "},'required':['b']}]}"},
        {"{'type':'object','oneOf':[{'properties':{'k':{'const':'x'}},'required':['k']},{'properties':{'k':{'const':"
         "'y'}},'required':['k']}]}",
         "{'oneOf':[{'type':'object','properties':{'k':{'const':'x'}},'required':['k']},{'type':'object','properties':"
         "{'k':{'const':'y'}},'required':['k']}]}"},
        {"{'allOf':[{'enum':['a',1,null]},{'type':['string','number']}]}", "{'enum':['a',1]}"},
        {"{'allOf':[{'enum':['a',{'b':1}]},{'type':'string','properties':{'b':" I "}}]}",
         "{'enum':['a'],'properties':{'b':" I "}}"},
        {"{'allOf':[{'const':2},{'enum':[1,2]},{'type':'integer','items':" S "}]}", "{'const':2}"},
        {"{'allOf':[{'const':2},{'enum':[1,3]}]}", "no value is valid"},
        {"{'allOf':[{'const':2.5},{'type':'integer'}]}", "no value is valid"},
        {"{'allOf':[" S "," I "]}", "no value is valid"},
        {"{'allOf':[{'enum':['a']},{'enum':['b']}]}", "no value is valid"},
        {"{'allOf':[{'$ref':'#/$defs/none'}]}", "a definition that is not in it"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) check_made(cases[i].schema, true, cases[i].made);
}

/* Two patterns, or properties that another part does not allow: no one schema says it, so it is refused by its name;
 * where nobody asked for strictness the first counts. */
TEST(what_cannot_be_said_as_one_stays_or_is_what_comes_first)
{
    static const char two[] = "{'allOf':[{'type':'string','pattern':'^a'},{'pattern':'b$'}]}";
    static const char shut[] = "{'allOf':[{'type':'object','properties':{'a':" S "},'additionalProperties':false},"
                               "{'properties':{'b':" S "}}]}";
    check_made(two, true, two);
    check_made(two, false, "{'type':'string','pattern':'^a'}");
    check_made(shut, true, "{'allOf':[{'type':'object','properties':{'a':" S "}},{'properties':{'b':" S "}}]}");
    check_made(shut, false, "{'type':'object','properties':{'a':" S ",'b':" S "}}");
}

/* Where nobody insists what makes a grammar large is left out. */
TEST(what_is_said_of_texts_and_numbers_is_kept_as_far_as_it_is_small)
{
#define TEXT(more) "{'type':'string'," more "}"
#define LIST(item) "{'type':'array','items':{" item "},'uniqueItems':true}"
    static const struct { const char *schema, *made; } cases[] = {
        {TEXT("'pattern':'^[a-z]+$','maxLength':20"), TEXT("'pattern':'^[a-z]+$','maxLength':20")},
        {TEXT("'pattern':'^[a-z]{50}','minLength':2,'maxLength':60"), TEXT("'pattern':'^[a-z]{50}','minLength':2")},
        {TEXT("'pattern':'^[a-z]+$','maxLength':65"), TEXT("'pattern':'^[a-z]+$'")},
        {TEXT("'pattern':'^2026','format':'date','maxLength':4"), TEXT("'pattern':'^2026','maxLength':4")},
        {TEXT("'format':'date','maxLength':20"), TEXT("'format':'date'")},
        {TEXT("'pattern':'(?=a)','maxLength':20"), TEXT("'maxLength':20")},
        {"{'type':'integer','multipleOf':25.0,'minimum':0}", "{'type':'integer','multipleOf':25.0,'minimum':0}"},
        {"{'type':'integer','multipleOf':7,'minimum':0}", "{'type':'integer','minimum':0}"},
        {"{'type':'number','multipleOf':0.1,'minimum':0}", "{'type':'number','minimum':0}"},
        {"{'type':'number','multipleOf':2000}", "{'type':'number'}"},
        {LIST("'enum':[1,2,3,4]"), LIST("'enum':[1,2,3,4]")},
        {LIST("'enum':[1,2,3,4,5]"), "{'type':'array','items':{'enum':[1,2,3,4,5]}}"},
        {LIST("'type':'boolean'"), LIST("'type':'boolean'")},
        {LIST("'type':'string'"), "{'type':'array','items':{'type':'string'}}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_made(cases[i].schema, true, cases[i].schema);
        check_made(cases[i].schema, false, cases[i].made);
    }
    check_made("{'type':'array','items':{'$ref':'#/$defs/C'},'uniqueItems':true,'$defs':{'C':{'enum':['r','g']}}}",
               false, LIST("'enum':['r','g']")); /* as pydantic has a set of an Enum */
    check_made(LIST("'enum':[1],'nullable':true"), false, "{'type':'array','items':{'anyOf':[{'enum':[1]},{'type':"
               "'null'}]}}");
    check_made("{'type':'array','items':{'type':'null'},'uniqueItems':false}", true, "{'type':'array','items':{'type':"
               "'null'}}");
}

static int times(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) n++;
    return n;
}

/* How often a name comes in what is written out. */
static int written_out(const char *schema, const char *name)
{
    struct buf got = {0};
    made_of(schema, true, &got);
    if (got.data[0] != '{') check_fail(__FILE__, __LINE__, "%s\n  became  %s", schema, got.data);
    const int n = times(got.data, name);
    buf_free(&got);
    return n;
}

/* Lists and trees, as pydantic writes them; the innermost has no more inside. */
TEST(a_definition_that_refers_to_itself_is_written_out)
{
    static const char list[] = "{'type':'object','properties':{'v':" I ",'next':{'anyOf':[{'$ref':'#'},{'type':"
        "'null'}]}"
                               "},'required':['v','next']}";
    static const char tree[] = "{'$ref':'#/$defs/T','$defs':{'T':{'type':'object','properties':{'name':" S ",'below':{"
                               "'type':'array','items':{'$ref':'#/$defs/T'}}},'required':['name','below']}}}";
    static const char wide[] = "{'$ref':'#/$defs/T','$defs':{'T':{'type':'object','properties':{'a':{'$ref':'#/$defs/T'"
                               "},'b':{'$ref':'#/$defs/T'},'c':{'$ref':'#/$defs/T'},'d':{'$ref':'#/$defs/T'},'e':" S
                               "}}}}";
    CHECK_EQ(written_out(list, "\"v\":"), 8);
    CHECK_EQ(written_out(tree, "\"name\":"), 8);
    CHECK_EQ(written_out(tree, "\"maxItems\":0"), 1);
    CHECK_EQ(written_out(wide, "\"e\":"), 1 + 4 + 16); /* three inside each other; five would be 341 */
    struct buf many = {0}, got = {0};
    buf_puts(&many, "{'type':'object','properties':{'a':{'$ref':'#'},'b':{'$ref':'#'}");
    for (int i = 0; i < 20; i++) buf_printf(&many, ",'s%d':" S, i);
    buf_put(&many, "}}", 3);
    CHECK_EQ(written_out(many.data, "\"s7\":"), 1 + 2); /* a string takes more states than letters */
    buf_free(&many);
    made_of(list, true, &got);
    CHECK(strstr(got.data, "\"next\":{\"anyOf\":[{\"type\":\"null\"}]}"));
    buf_free(&got);
}

TEST(a_definition_without_an_end_is_refused)
{
    static const char *const endless[] = {
        "{'type':'object','properties':{'a':{'$ref':'#'}},'required':['a']}",
        "{'type':'array','items':{'$ref':'#'},'minItems':1}",
        "{'type':'array','prefixItems':[" I ",{'$ref':'#'}],'minItems':2}",
        "{'anyOf':[{'$ref':'#'}]}",
        "{'$ref':'#/$defs/a','$defs':{'a':{'$ref':'#/$defs/b'},'b':{'$ref':'#/$defs/a'}}}",
    };
    static const struct { const char *schema, *made; } ends[] = {
        {"{'type':'array','prefixItems':[" I ",false]}", "{'type':'array','prefixItems':[" I "],'maxItems':1}"},
        {"{'type':'array','prefixItems':[false," I "]}", "{'type':'array','maxItems':0}"},
        {"{'type':'array','items':false}", "{'type':'array','maxItems':0}"},
        {"{'type':'object','properties':{'a':false,'b':" I "}}", "{'type':'object','properties':{'b':" I "}}"},
        {"{'anyOf':[" S ",false]}", "{'anyOf':[" S "]}"},
    };
    struct buf got = {0};
    for (size_t i = 0; i < COUNT_OF(endless); i++) {
        made_of(endless[i], true, &got);
        if (!strstr(got.data, "none that ends") && !strstr(got.data, "refers to itself and says no more"))
            check_fail(__FILE__, __LINE__, "%s\n  became  %s", endless[i], got.data);
    }
    for (size_t i = 0; i < COUNT_OF(ends); i++) check_made(ends[i].schema, true, ends[i].made);
    buf_free(&got);
}

/* Each of many definitions refers to all: what is tried is bounded. */
TEST(definitions_that_all_refer_to_each_other_end)
{
    struct buf text = {0}, got = {0};
    buf_puts(&text, "{'$ref':'#/$defs/d0','$defs':{");
    for (int i = 0; i < 12; i++) {
        buf_printf(&text, "%s'd%d':{'type':'object','properties':{", i ? "," : "", i);
        for (int k = 0; k < 12; k++) buf_printf(&text, "%s'p%d':{'$ref':'#/$defs/d%d'}", k ? "," : "", k, k);
        buf_puts(&text, "}}");
    }
    buf_puts(&text, "}}");
    buf_put(&text, "", 1);
    char *copy = malloc(text.len);
    struct api_ask a = {0};
    struct api_error e = {0};
    json_t *s = json_loads(quoted(copy, text.data), 0, NULL);
    CHECK_EQ(api_schema_of_answer(&a, s, true, &e), -1);
    CHECK(strstr(e.text, "too large"));
    free(copy);
    json_decref(s);
    buf_free(&text);
    buf_free(&got);
}

CHECK_MAIN
