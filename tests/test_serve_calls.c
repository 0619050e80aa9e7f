/* Calls of tools as clients of `plimsoll serve` send them back, changed or not; what calls and answers are held to. */
#include "tests/serve_rig.h"
#include "tests/vocab_file.h"

#define WORDS "tests/fixtures/llama-gqa.gguf"
#define CHAT "/v1/chat/completions"
#define USER "{'role':'user','content':'x'}"
#define SCRIPTED(answers, ...)                                                                                        \
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", quoted(answers)), ##__VA_ARGS__)
#define FREE "{'type':'object','properties':{'path':{'type':'string','not':{}}}}" /* no grammar can say it */
#define TOOL(name) "{'type':'function','function':{'name':'" name "','parameters':" FREE "}}"
#define TOOLS ",'tools':[" TOOL("read") "," TOOL("list") "]"
#define WRITTEN(name, path)                                                                                           \
    "<tool_call>{\\'name\\': \\'" name "\\', \\'arguments\\': {\\'path\\': \\'" path "\\'}}</tool_call>"

static json_t *asked(int status, const char *fmt, ...)
{
    struct buf body = {0};
    char text[8192];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    CHECK(n > 0 && (size_t)n < sizeof text);
    buf_puts(&body, text);
    json_t *a = ask(CHAT, body.data, status);
    buf_free(&body);
    return a;
}

/* Tokens of a prompt that has these calls (JSON in single quotes) of one message, and a result of the first. */
static long long prompt_with(const char *calls, const char *id)
{
    json_t *a = asked(200, "{'messages':[" USER ",{'role':'assistant','content':null,'tool_calls':[%s]},"
                      "{'role':'tool','tool_call_id':'%s','content':'r'}],'max_tokens':1" TOOLS "}", calls, id);
    const long long n = number_at(a, "usage.prompt_tokens");
    json_decref(a);
    return n;
}

static char *call(const char *id, const char *name, const char *arguments)
{
    static char text[4][512];
    static int next;
    char *to = text[next++ % 4];
    snprintf(to, sizeof text[0], "{'id':'%s','type':'function','function':{'name':'%s','arguments':%s}}", id, name,
             arguments);
    return to;
}
#define PATH(p) "'{\\'path\\':\\'" p "\\'}'"

/* ---------------------------------------------------------------- sent back */

/* The very call, in other blanks, is as the model wrote it; once the client changed it, it is the client's. */
TEST(a_call_that_the_client_changed_is_the_client_s)
{
    struct buf two = {0};
    char id[64];
    SCRIPTED("{'answer':'" WRITTEN("read", "abcdef") "'}\n{'answer':'y'}\n");
    json_t *a = asked(200, "{'messages':[" USER "],'max_tokens':200" TOOLS "}");
    snprintf(id, sizeof id, "%s", text_at(a, "choices.0.message.tool_calls.0.id"));
    json_decref(a);
    /* The model's blanks are two more than what is written anew. */
    const long long same = prompt_with(call(id, "read", PATH("abcdef")), id);
    const long long anew = prompt_with(call("other", "read", PATH("abcdef")), "other");
    CHECK(same > anew);
    CHECK_EQ(prompt_with(call(id, "read", "'{ \\'path\\' : \\'abcdef\\' }'"), id), same);
    static const struct { const char *name, *arguments; } changed[] = {
        {"read", PATH("abcdef0123456789")}, {"list", PATH("abcdef")}, {"read", "'{}'"}, {"read", "'no JSON'"}};
    for (size_t i = 0; i < COUNT_OF(changed); i++)
        CHECK_EQ(prompt_with(call(id, changed[i].name, changed[i].arguments), id),
                 prompt_with(call("other", changed[i].name, changed[i].arguments), "other"));
    buf_printf(&two, "%s,%s", call(id, "read", PATH("abcdef")), call("b", "list", PATH("c")));
    const long long more = prompt_with(two.data, id);
    two.len = 0;
    buf_printf(&two, "%s,%s", call("a", "read", PATH("abcdef")), call("b", "list", PATH("c")));
    CHECK_EQ(more, prompt_with(two.data, "a"));
    buf_free(&two);
}

TEST(a_call_that_was_left_out_does_not_come_back)
{
    char id[64];
    SCRIPTED("{'answer':'" WRITTEN("read", "a") WRITTEN("list", "b") "'}\n{'answer':'y'}\n");
    json_t *a = asked(200, "{'messages':[" USER "],'max_tokens':200,'parallel_tool_calls':false" TOOLS "}");
    CHECK_EQ(json_array_size(json_at(a, "choices.0.message.tool_calls")), 1);
    snprintf(id, sizeof id, "%s", text_at(a, "choices.0.message.tool_calls.0.id"));
    json_decref(a);
    CHECK_EQ(prompt_with(call(id, "read", PATH("a")), id), prompt_with(call("x", "read", PATH("a")), "x"));
}

/* As Ollama's clients have them; and nothing else. */
TEST(arguments_that_are_an_object_are_read)
{
    SCRIPTED("{'answer':'y'}\n");
    CHECK_EQ(prompt_with(call("a", "read", "{'path':'abc'}"), "a"), prompt_with(call("a", "read", PATH("abc")), "a"));
    CHECK(prompt_with(call("a", "read", "{'path':'abc'}"), "a") > prompt_with(call("a", "read", "{}"), "a"));
    json_t *a = asked(400, "{'messages':[" USER ",{'role':'assistant','tool_calls':[%s]}]}", call("a", "read", "[1]"));
    CHECK_STR(text_at(a, "error.param"), "messages[1].tool_calls[0]");
    json_decref(a);
}

static long long harmony_prompt(const char *second)
{
    json_t *a = asked(200, "{'messages':[" USER ",{'role':'assistant','tool_calls':[%s]},{'role':'tool','tool_call_id':"
                      "'call_1','content':'r'}," USER ",{'role':'assistant','tool_calls':[%s]},{'role':'tool',"
                      "'tool_call_id':'%s','content':'r'}],'max_tokens':1}", call("call_1", "a", "'{}'"),
                      call(second, "a_tool_with_a_long_name_indeed", "'{}'"), second);
    const long long n = number_at(a, "usage.prompt_tokens");
    json_decref(a);
    return n;
}

/* Clients that count the calls of a turn give one id to many. */
TEST(a_result_is_of_the_latest_call_with_its_id)
{
    SERVE("-m", vocab_file_harmony(), "--engine", "scripted", "--script-file",
          serve_file("answers", "{\"answer\":\"y\"}\n"));
    CHECK_EQ(harmony_prompt("call_1"), harmony_prompt("call_2"));
    json_t *a = asked(400, "{'messages':[" USER ",{'role':'tool','tool_call_id':'a','content':'r'},{'role':'assistant',"
                      "'tool_calls':[%s]}]}", call("a", "f", "'{}'"));
    CHECK(strstr(text_at(a, "error.message"), "the id of a call in a message before") != NULL);
    json_decref(a);
}

/* ---------------------------------------------------------------- what is held to what */

#define ADD                                                                                                           \
    "{'type':'function','function':{'name':'add','parameters':{'type':'object','required':['a'],'properties':{"       \
    "'a':{'type':'integer'}}}}}"
#define SAID                                                                                                          \
    "'response_format':{'type':'json_schema','json_schema':{'name':'s','strict':true,'schema':{'type':"               \
    "'object','required':['said'],'properties':{'said':{'type':'string'}},'additionalProperties':false}}}"

/* The Agents SDK asks so: a call first, and in the end an answer of a form. */
TEST(an_answer_of_a_form_may_be_a_call_instead)
{
    SCRIPTED("{'answer':'{\\'name\\':\\'add\\',\\'arguments\\':{\\'a\\':7}}'}\n{'answer':'{\\'said\\':\\'name\\'}'}\n"
             "{'answer':'{\\'name\\':\\'add\\',\\'arguments\\':{\\'a\\':7}}'}\n{'answer':'{\\'said\\':\\'name\\'}'}\n"
             "{'answer':'<tool_call>{\\'name\\':\\'add\\',\\'arguments\\':{\\'a\\':7}}</tool_call>'}\n");
    json_t *a = asked(200, "{'messages':[" USER "],'max_tokens':200,'tools':[" ADD "]," SAID "}");
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "tool_calls");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"a\":7}");
    CHECK(json_is_null(json_at(a, "choices.0.message.content")));
    json_decref(a);
    a = asked(200, "{'messages':[" USER "],'max_tokens':200,'tools':[" ADD "]," SAID "}");
    CHECK_STR(text_at(a, "choices.0.message.content"), "{\"said\":\"name\"}");
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "stop");
    json_decref(a);
    for (int i = 0; i < 2; i++) {
        struct buf said = {0};
        size_t k, calls = 0, pieces = 0;
        json_t *e, *events = stream_of(CHAT, "{'messages':[" USER "],'max_tokens':200,'stream':true,'tools':[" ADD "],"
                                       SAID "}");
        json_array_foreach(events, k, e) {
            const char *text = text_at(e, "choices.0.delta.content");
            calls += json_array_size(json_at(e, "choices.0.delta.tool_calls"));
            if (text && *text) pieces++, buf_puts(&said, text);
        }
        CHECK_EQ(calls, i ? 0 : 2);
        CHECK_STR(said.data ? said.data : "", i ? "{\"said\":\"name\"}" : "");
        CHECK(!i || pieces > 1); /* it is told as it comes */
        json_decref(events);
        buf_free(&said);
    }
    a = asked(200, "{'messages':[" USER "],'max_tokens':200,'tool_choice':'required','tools':[" ADD "]," SAID "}");
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "tool_calls"); /* it has no other form then */
    json_decref(a);
}

/* The real grammars: whatever is drawn (so hot that the model has no say in which), it is one of the two. */
TEST(calls_and_forms_are_held_to_together)
{
#define BRIEF                                                                                                         \
    "'response_format':{'type':'json_schema','json_schema':{'name':'s','strict':true,'schema':{'type':"               \
    "'object','required':['said'],'properties':{'said':{'type':'string','maxLength':4}}}}}"
    int calls = 0, answers = 0;
    SERVE("--temp", "6", "--seed", "5");
    json_t *a = asked(200, "{'messages':[{'role':'user','content':'What is 17 times 3?'}],'n':16,'max_tokens':200,"
                      "'top_p':1,'top_k':0,'min_p':0,'tools':[" ADD "]," BRIEF "}");
    for (int i = 0; i < 16; i++) {
        char path[64];
        snprintf(path, sizeof path, "choices.%d.finish_reason", i);
        const char *end = text_at(a, path);
        if (strcmp(end, "length") == 0) continue;
        const bool call = strcmp(end, "tool_calls") == 0;
        snprintf(path, sizeof path, call ? "choices.%d.message.tool_calls.0.function.arguments"
                                         : "choices.%d.message.content", i);
        json_t *v = json_loads(text_at(a, path), 0, NULL);
        CHECK(v && json_object_get(v, call ? "a" : "said"));
        calls += call;
        answers += !call;
        json_decref(v);
    }
    printf("  %d calls, %d answers\n", calls, answers);
    CHECK(calls > 0 && answers > 0);
    json_decref(a);
}

/* Which tools are called in 8 answers to it. */
static void check_allowed(const char *said, const char *mode, const char *first, const char *second, int least)
{
#define MAY "{'type':'function','function':{'name':'%s'}}"
#define SHAPED(name) "{'type':'function','function':{'name':'" name "','parameters':{'type':'object','properties':"    \
                     "{'x':{'type':'string','maxLength':20}},'required':['x']}}}"
    json_t *a = asked(200, "{'messages':[{'role':'user','content':'%s'}],'n':8,"
                      "'max_tokens':200,'tools':[" SHAPED("calculator") "," SHAPED("read") "," SHAPED("list") "],"
                      "'tool_choice':{'type':'allowed_tools','allowed_tools':{'mode':'%s','tools':[" MAY "," MAY
                      "]}}}", said, mode, first, second);
    int calls = 0;
    for (int i = 0; i < 8; i++) {
        char path[64];
        snprintf(path, sizeof path, "choices.%d.message.tool_calls.0.function.name", i);
        const char *name = text_at(a, path);
        calls += name != NULL;
        if (name && strcmp(name, first) != 0 && strcmp(name, second) != 0)
            check_fail(__FILE__, __LINE__, "%s was called, of %s and %s", name, first, second);
    }
    CHECK(calls >= least);
    json_decref(a);
}

TEST(calls_are_of_those_tools_that_are_allowed)
{
    SERVE("--temp", "1.5", "--seed", "7");
    check_allowed("What is 17 * 3? Please use the calculator.", "auto", "calculator", "calculator", 8);
    check_allowed("What is 17 * 3? Please use the calculator.", "auto", "read", "list", 1);
    check_allowed("Hello!", "required", "read", "list", 8);
    CHECK_EQ(serve_end(), 130);
    /* Parameters that no grammar can say: held to the names that are allowed. */
#define ALLOWED(mode) "'tool_choice':{'type':'allowed_tools','allowed_tools':{'mode':'" mode "','tools':[" \
                      "{'type':'function','function':{'name':'list'}}]}}"
    SCRIPTED("{'answer':'" WRITTEN("read", "a") "'}\n{'answer':'" WRITTEN("read", "a") "'}\n{'answer':'" WRITTEN("list",
             "b") "'}\n{'answer':'y'}\n{'answer':'y'}\n");
    long long tokens[2];
    json_t *a = asked(200, "{'messages':[" USER "],'max_tokens':200" TOOLS "}");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.name"), "read");
    json_decref(a);
    json_decref(asked(400, "{'messages':[" USER "],'max_tokens':200," ALLOWED("auto") TOOLS "}"));
    a = asked(200, "{'messages':[" USER "],'max_tokens':200," ALLOWED("auto") TOOLS "}");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.name"), "list");
    json_decref(a);
    for (int i = 0; i < 2; i++) { /* the model is told of all */
        a = asked(200, "{'messages':[" USER "],'max_tokens':1%s" TOOLS "}", i ? "," ALLOWED("auto") : "");
        tokens[i] = number_at(a, "usage.prompt_tokens");
        json_decref(a);
    }
    CHECK_EQ(tokens[0], tokens[1]);
    static const char *const bad[] = {
        "{'mode':'any','tools':[{'type':'function','function':{'name':'list'}}]}", "{'mode':'auto','tools':[]}",
        "{'mode':'auto','tools':[{'type':'function','function':{'name':'other'}}]}", "{'mode':'auto'}", "1",
        "{'mode':'auto','tools':[{'type':'custom','function':{'name':'list'}}]}", "{'mode':'auto','tools':[1]}",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        a = asked(400, "{'messages':[" USER "],'tool_choice':{'type':'allowed_tools','allowed_tools':%s}" TOOLS "}",
                  bad[i]);
        CHECK(strncmp(text_at(a, "error.message"), "tool_choice.allowed_tools is to be {", 36) == 0);
        json_decref(a);
    }
    CHECK_EQ(serve_end(), 130);
}

/* Tools by the dozen: a call that must come is one of them. */
TEST(many_tools_are_no_reason_to_refuse_a_call)
{
    struct buf tools = {0};
    for (int i = 0; i < 40; i++) {
        buf_printf(&tools, "%s{'type':'function','function':{'name':'tool_number_%d','parameters':{'type':'object',"
                   "'properties':{", i ? "," : "", i);
        for (int k = 0; k < 8; k++) buf_printf(&tools, "%s'parameter_%d':{'type':'string'}", k ? "," : "", k);
        buf_puts(&tools, "}}}}");
    }
    SERVE("--temp", "1", "--seed", "3", "--ctx", "4096");
    struct buf body = {0};
    buf_printf(&body, "{'messages':[{'role':'user','content':'Do it.'}],'max_tokens':200,'tool_choice':'required',"
               "'tools':[%s]}", tools.data);
    json_t *a = ask(CHAT, body.data, 200);
    if (strcmp(text_at(a, "choices.0.finish_reason"), "length") != 0)
        CHECK(strncmp(text_at(a, "choices.0.message.tool_calls.0.function.name"), "tool_number_", 12) == 0);
    json_decref(a);
    buf_free(&body);
    buf_free(&tools);
}

/* What pydantic, zod and OpenAPI write. */
TEST(schemas_are_read_as_libraries_write_them)
{
    static const char *const good[] = {
        "{'type':'object','properties':{'a':{'type':['string','null'],'enum':['x','y',null]}},'required':['a']}",
        "{'type':'object','properties':{'a':{'type':'string','nullable':true}},'required':['a']}",
        "{'type':'object','properties':{'a':{'anyOf':[{'type':'integer'},{'type':'null'}]},'b':{'$ref':"
        "'#/properties/a/anyOf/0'}},'required':['a','b']}",
        "{'type':'object','properties':{'a':{'$ref':'#/$defs/app~1models.Name%5Bstr%5D'}},'required':['a'],'$defs':"
        "{'app/models.Name[str]':{'type':'string'}}}",
        "{'allOf':[{'$ref':'#/$defs/T'},{'required':['a']}],'$defs':{'T':{'type':'object','properties':{'a':{'type':"
        "'array','items':{'$ref':'#/$defs/T'}}}}}}",
        "{'type':'object','properties':{'a':{'title':'A','description':'b'}},'required':['a']}",
        "{'type':'object','properties':{'a':{'type':'array','items':{'$ref':'#'}}},'required':['a']}",
        "{'type':'object','properties':{'a':{'anyOf':[{'$ref':'#'},{'type':'integer'}]},'b':{'$ref':'#'}},'required':"
        "['a']}",
    };
    static const struct { const char *schema, *words; } bad[] = {
        {"{'type':'object','properties':{'a':{'$ref':'#'}},'required':['a']}", "no value is valid, or none that ends"},
        {"{'type':'object','properties':{'a':{'type':'array','minItems':1,'items':{'$ref':'#'}}},'required':['a']}",
         "no value is valid, or none that ends"},
        {"{'allOf':[{'type':'string','pattern':'a'},{'pattern':'b'}]}", "allOf is not known"},
        {"{'type':'object','properties':{'a':{'$ref':'#/$defs/No'}}}", "a definition that is not in it"},
        {"{'type':'object','properties':{'a':{'$ref':'#/%zz'}}}", "a definition that is not in it"},
        {"{'type':'object','properties':{'a':{'type':'string','pattern':'(?=x)'}}}", "without \"strict\""},
    };
    SERVE("--temp", "1", "--seed", "3");
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        json_t *a = asked(200, "{'messages':[" USER "],'max_tokens':60,'response_format':{'type':'json_schema',"
                          "'json_schema':{'name':'s','strict':true,'schema':%s}}}", good[i]);
        json_t *v = json_loads(text_at(a, "choices.0.message.content"), 0, NULL);
        if (strcmp(text_at(a, "choices.0.finish_reason"), "stop") == 0) CHECK(v && json_object_get(v, "a"));
        json_decref(v);
        json_decref(a);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        json_t *a = asked(400, "{'messages':[" USER "],'max_tokens':60,'response_format':{'type':'json_schema',"
                          "'json_schema':{'name':'s','strict':true,'schema':%s}}}", bad[i].schema);
        if (!strstr(text_at(a, "error.message"), bad[i].words))
            check_fail(__FILE__, __LINE__, "%s: %s", bad[i].schema, text_at(a, "error.message"));
        json_decref(a);
    }
}

/* ---------------------------------------------------------------- schemas that refer to themselves */

static const struct nested {
    const char *schema, *deep;
} nested[] = {
    {"{'type':'object','required':['k'],'properties':{'k':{'type':'array','items':{'$ref':'#'},'maxItems':5}}}",
     "{'k':[{'k':[{'k':[]},{'k':[]}]}]}"},
    {"{'type':'object','properties':{'s':{'$ref':'#'}}}", "{'s':{'s':{'s':{}}}}"},
    {"{'type':'object','additionalProperties':{'$ref':'#'}}", "{'x':{'y':{'z':{}},'w':{}}}"},
    {"{'$ref':'#/$defs/P','$defs':{'P':{'type':'object','required':['n','of'],'properties':{'n':{'type':'integer'},"
     "'of':{'anyOf':[{'$ref':'#/$defs/G'},{'type':'null'}]}}},'G':{'type':'object','required':['all'],'properties':{"
     "'all':{'type':'array','items':{'$ref':'#/$defs/P'}}}}}}",
     "{'n':1,'of':{'all':[{'n':2,'of':{'all':[{'n':3,'of':null}]}}]}}"},
};

static void put_answer(struct buf *script, const char *text)
{
    json_t *o = json_pack("{s:s}", "answer", text);
    char *line = json_dumps(o, 0);
    buf_printf(script, "%s\n", line);
    free(line);
    json_decref(o);
}

static json_t *asked_for(const struct nested *n, int how, int status)
{
    if (how == 0)
        return asked(status, "{'messages':[" USER "],'response_format':{'type':'json_schema','json_schema':{'name':'s',"
                     "'strict':true,'schema':%s}}}", n->schema);
    return asked(status, "{'messages':[" USER "],'tool_choice':'required','tools':[{'type':'function','function':{"
                 "'name':'f','strict':%s,'parameters':%s}}]}", how == 1 ? "true" : "false", n->schema);
}

/* They are written out a few times inside themselves; at the end is what is valid without. */
TEST(schemas_may_stand_inside_themselves)
{
    struct buf script = {0};
    char call[256];
    for (size_t i = 0; i < COUNT_OF(nested); i++) {
        snprintf(call, sizeof call, "<tool_call>{'name':'f','arguments':%s}</tool_call>", nested[i].deep);
        for (int how = 0; how < 3; how++) put_answer(&script, quoted(how ? call : nested[i].deep));
    }
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", script.data));
    buf_free(&script);
    for (size_t i = 0; i < COUNT_OF(nested); i++)
        for (int how = 0; how < 3; how++) { /* an answer, a call that is strict, one that must come */
            json_t *a = asked_for(&nested[i], how, 200);
            CHECK_STR(text_at(a, how ? "choices.0.message.tool_calls.0.function.arguments"
                                     : "choices.0.message.content"), quoted(nested[i].deep));
            json_decref(a);
        }
    CHECK_EQ(serve_end(), 130);
}

TEST(schemas_stand_inside_themselves_as_often_as_there_is_room)
{
#define IN(value) "{'s':" value "}"
    struct buf script = {0};
    put_answer(&script, quoted(IN(IN(IN(IN(IN(IN(IN(IN(IN(IN("{}"))))))))))));
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", script.data));
    buf_free(&script);
    json_t *a = asked_for(&nested[1], 0, 400);
    CHECK_STR(text_at(a, "error.code"), "no_token_left"); /* there is an end */
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
#define ADDRESS "{'type':'string','format':'email'}"
    static const struct nested large = {"{'type':'object','required':['a','b','c'],'properties':{'a':" ADDRESS
        ",'b':" ADDRESS ",'c':" ADDRESS ",'d':{'$ref':'#'}}}", NULL};
    SERVE("-n", "4"); /* addresses take so much that there is room for two of these, and not for three */
    for (int how = 0; how < 2; how++) json_decref(asked_for(&large, how, 200));
    CHECK_EQ(serve_end(), 130);
}

TEST(arguments_of_which_nothing_is_said_are_an_object)
{
    static const struct nested nothing = {"{'title':'F','description':'d'}", NULL};
    struct buf script = {0};
    put_answer(&script, quoted("<tool_call>{'name':'f','arguments':{}}</tool_call>"));
    put_answer(&script, quoted("<tool_call>{'name':'f','arguments':3}</tool_call>"));
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", script.data));
    buf_free(&script);
    for (int i = 0; i < 2; i++) json_decref(asked_for(&nothing, 2, i ? 400 : 200));
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- messages */

TEST(what_a_message_carries_is_never_passed_over)
{
    static const struct { const char *body, *param; } bad[] = {
        {"{'messages':[{'role':'user','content':'x','images':['a']}]}", "messages[0].images"},
        {"{'messages':[{'role':'user','content':'x','audio':{'id':'a'}}]}", "messages[0].audio"},
        {"{'messages':[" USER ",{'role':'assistant','content':'','function_call':{'name':'f','arguments':'{}'}},"
         USER "]}", "messages[1].function_call"},
        {"{'messages':[" USER "],'tools':[{'type':'function','function':{'name':'f','strict':'yes'}}]}", "strict"},
        {"{'messages':[" USER "],'stream':true,'stream_options':{'continuous_usage_stats':true}}",
         "stream_options.continuous_usage_stats"},
    };
    SCRIPTED("{'answer':'y'}\n");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        json_t *a = ask(CHAT, bad[i].body, 400);
        const char *param = text_at(a, "error.param");
        if (!param || strcmp(param, bad[i].param) != 0)
            check_fail(__FILE__, __LINE__, "%s: %s", bad[i].body, param ? param : "");
        json_decref(a);
    }
    json_decref(asked(200, "{'messages':[{'role':'user','content':'x','name':'me','images':[],'audio':null},"
                      "{'role':'assistant','content':'y','refusal':null,'annotations':[],'function_call':null},"
                      USER "]}"));
    json_t *a = ask("/api/chat", "{'messages':[" USER "],'stream':false,'options':{'num_predict':1.0,'seed':7.0,"
                    "'num_ctx':64.0}}", 200);
    CHECK_STR(text_at(a, "done_reason"), "length");
    json_decref(a);
    json_decref(ask("/api/chat", "{'messages':[" USER "],'stream':false,'options':{'num_predict':1.5}}", 400));
}

/* Of several answers each has calls of its own. */
TEST(several_answers_may_each_be_calls)
{
    SCRIPTED("{'answer':'" WRITTEN("read", "a") "'}\n{'answer':'" WRITTEN("list", "b") "'}\n");
    json_t *a = asked(200, "{'messages':[" USER "],'max_tokens':200,'n':2" TOOLS "}");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.name"), "read");
    CHECK_STR(text_at(a, "choices.1.message.tool_calls.0.function.name"), "list");
    CHECK(strcmp(text_at(a, "choices.0.message.tool_calls.0.id"),
                 text_at(a, "choices.1.message.tool_calls.0.id")) != 0);
    json_decref(a);
}

CHECK_MAIN
