/* test_cli_tags.c - the program with vocabularies of Qwen 3.5's and Qwen3-Coder's templates, and a script that calls
 * tools in tags: what a person sees, and what a client of the server gets. */
#include "tests/serve_rig.h"
#include "tests/vocab_file.h"

#define SAYS(text) "{'answer': '" text "'}\n"
#define P(key, value) "<parameter=" key ">\\n" value "\\n</parameter>\\n"
#define CALLS(name, parameters) "<tool_call>\\n<function=" name ">\\n" parameters "</function>\\n</tool_call>"

static struct child c;
static int run(bool coder, const char *answers, const char *in, const char *const *more)
{
    const char *args[CHILD_ARGS] = {"-m", vocab_file_tags(coder), "--engine", "scripted", "--script-file",
                                    serve_file("answers", quoted(answers)), "--no-save", "--ctx", "4096"};
    size_t n = 9;
    for (size_t i = 0; more[i]; i++) args[n++] = more[i];
    child_free(&c);
    return child_run(&c, args, in, strlen(in));
}
#define RUN(coder, answers, in, ...) run(coder, answers, in, (const char *const[]){__VA_ARGS__, NULL})

static void check_out(const char *want) { CHECK_STR(c.out_text.data ? c.out_text.data : "", want); }

TEST(cli_tags_call_a_tool_and_go_on)
{
    static const char script[] = SAYS("<think>\\nSix.\\n</think>\\n\\nI reckon.\\n\\n" CALLS("calculator",
                                      P("expression", "6*7")) "\\n")
                                 SAYS("It is 42.");
    for (int coder = 0; coder < 2; coder++) {
        CHECK_EQ(RUN(coder, script, "why\n", "--tools", "calculator"), 0);
        check_out("<think>\nSix.\n</think>\n\nI reckon.\n\nIt is 42.\n");
        CHECK(strstr(c.err_text.data, "[calculator {\"expression\":\"6*7\"}: ") != NULL);
    }
    CHECK_EQ(RUN(false, script, "why\n", "--tools", "calculator", "--json"), 0);
    CHECK(strstr(c.out_text.data, "\"event\":\"call\"") && strstr(c.out_text.data, "\"event\":\"tool\""));
}

/* What only begins like one is an answer, and is all shown. */
TEST(cli_tags_that_are_no_call_are_shown)
{
    static const char cut[] = SAYS("So: <tool_call>\\n<function=calculator>\\n<parameter=expression>\\n6*7\\n"
                                   "</function>");
    CHECK_EQ(RUN(false, cut, "why\n", "--tools", "calculator"), 0);
    check_out("So: <tool_call>\n<function=calculator>\n<parameter=expression>\n6*7\n</function>\n");
    CHECK_EQ(RUN(false, SAYS("a <tool_"), "why\n", "--tools", "calculator"), 0);
    check_out("a <tool_\n");
}

TEST(cli_tags_with_strict_tools_are_none)
{
    CHECK_EQ(RUN(false, SAYS("<tool_call>{\\'name\\':\\'calculator\\',\\'arguments\\':{\\'expression\\':\\'6*7\\'}}"
                             "</tool_call>") SAYS("It is 42."), "why\n", "--tools", "calculator", "--strict-tools"), 0);
    check_out("It is 42.\n");
}

/* ---------------------------------------------------------------- served */

#define CHAT "/v1/chat/completions"
#define ANY "{'messages':[{'role':'user','content':'x'}],'max_tokens':900"
#define PROPERTIES "'n':{'type':'integer'},'x':{'$ref':'#/$defs/X'},'ok':{'type':'boolean'}," \
                   "'none':{'anyOf':[{'type':'string'},{'type':'null'}]},'list':{'type':'array'}," \
                   "'o':{'properties':{}},'one':{'enum':[1,2]},'s':{'type':'string'},'free':{}"
#define SCHEMA "{'type':'object','properties':{" PROPERTIES "},'$defs':{'X':{'type':['number','null']}}}"
#define TOOL "{'type':'function','function':{'name':'f','parameters':" SCHEMA "}}"
#define TYPED P("n", "7") P("x", "0.5") P("ok", "True") P("none", "None") P("list", "[1, {\\'a\\': null}]") \
              P("o", "{\\'b\\': [2]}") P("one", "2") P("s", "8") P("free", "[9]") P("more", "true")
#define GIVEN "{\"n\":7,\"x\":0.5,\"ok\":true,\"none\":null,\"list\":[1,{\"a\":null}],\"o\":{\"b\":[2]},\"one\":2," \
              "\"s\":\"8\",\"free\":\"[9]\",\"more\":\"true\"}"
#define TWO SAYS("<think>\\nHm.\\n</think>\\n\\nI look.\\n\\n" CALLS("f", TYPED) "\\n" CALLS("g", P("n", "7")))

static void serve(bool coder, const char *answers)
{
    SERVE("-m", vocab_file_tags(coder), "--engine", "scripted", "--script-file", serve_file("answers", quoted(answers)),
          "--ctx", "4096");
}

/* Types are of the tool's schema: a parameter that it does not say, or another tool's, is a text. */
TEST(serve_tags_are_calls_with_typed_arguments)
{
    struct buf text = {0};
    serve(false, TWO TWO TWO);
    json_t *a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200), *events = stream_of(CHAT, ANY ",'tools':[" TOOL
                    "],'stream':true}");
    CHECK_STR(text_at(a, "choices.0.message.reasoning_content"), "Hm.");
    CHECK_STR(text_at(a, "choices.0.message.content"), "I look.");
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "tool_calls");
    CHECK_EQ(json_array_size(json_at(a, "choices.0.message.tool_calls")), 2);
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.name"), "f");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), GIVEN);
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.1.function.name"), "g");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.1.function.arguments"), "{\"n\":\"7\"}");
    gather(events, "delta.content", &text);
    CHECK_STR(text.data, "I look.");
    text.len = 0;
    gather(events, "delta.tool_calls.0.function.arguments", &text);
    CHECK_STR(text.data, GIVEN "{\"n\":\"7\"}");
    json_decref(a);
    json_decref(events);
    a = ask(CHAT, ANY ",'tools':[" TOOL "],'parallel_tool_calls':false}", 200);
    CHECK_EQ(json_array_size(json_at(a, "choices.0.message.tool_calls")), 1);
    json_decref(a);
    buf_free(&text);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_tags_are_calls_in_every_api)
{
    serve(true, TWO TWO TWO TWO TWO TWO);
    json_t *want = json_loads(GIVEN, 0, NULL), *a, *events;
    const json_t *e;
    struct buf words = {0}, pieces = {0};
    size_t i;
#define RESPONSE "{'input':'x','max_output_tokens':900,'tools':[{'type':'function','name':'f','parameters':" SCHEMA "}]"
    a = ask("/v1/responses", RESPONSE "}", 200);
    CHECK_STR(text_at(a, "output.1.content.0.text"), "I look.");
    CHECK_STR(text_at(a, "output.2.arguments"), GIVEN);
    json_decref(a);
    events = named_events("/v1/responses", RESPONSE ",'stream':true}");
    json_array_foreach(events, i, e) {
        const bool text = strcmp(text_at(e, "type"), "response.output_text.delta") == 0;
        const bool call = strcmp(text_at(e, "type"), "response.function_call_arguments.done") == 0;
        if (text) buf_puts(&words, text_at(e, "delta"));
        if (call) buf_puts(&pieces, text_at(e, "arguments"));
    }
    CHECK_STR(words.data, "I look.");
    CHECK_STR(pieces.data, GIVEN "{\"n\":\"7\"}");
    json_decref(events);
#define MESSAGE ANY ",'tools':[{'name':'f','input_schema':" SCHEMA "}]"
    a = ask("/v1/messages", MESSAGE "}", 200);
    CHECK_STR(text_at(a, "content.1.text"), "I look.");
    CHECK(json_equal(json_at(a, "content.2.input"), want));
    json_decref(a);
    events = named_events("/v1/messages", MESSAGE ",'stream':true}");
    words.len = pieces.len = 0;
    json_array_foreach(events, i, e) {
        if (text_at(e, "delta.text")) buf_puts(&words, text_at(e, "delta.text"));
        if (text_at(e, "delta.partial_json")) buf_puts(&pieces, text_at(e, "delta.partial_json"));
    }
    CHECK_STR(words.data, "I look.");
    CHECK_STR(pieces.data, GIVEN "{\"n\":\"7\"}");
    json_decref(events);
#define OLLAMA "{'messages':[{'role':'user','content':'x'}],'options':{'num_predict':900},'tools':[" TOOL "]"
    a = ask("/api/chat", OLLAMA ",'stream':false}", 200);
    CHECK_STR(text_at(a, "message.content"), "I look.");
    CHECK(json_equal(json_at(a, "message.tool_calls.0.function.arguments"), want));
    json_decref(a);
    events = lines_of("/api/chat", OLLAMA "}");
    words.len = 0;
    json_array_foreach(events, i, e) {
        if (text_at(e, "message.content")) buf_puts(&words, text_at(e, "message.content"));
        if (json_at(e, "message.tool_calls"))
            CHECK(json_equal(json_at(e, "message.tool_calls.0.function.arguments"), want));
    }
    CHECK_STR(words.data, "I look.");
    json_decref(events);
    json_decref(want);
    buf_free(&words);
    buf_free(&pieces);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_tags_that_are_no_call_are_words)
{
    struct buf text = {0};
    serve(false, SAYS("So <tool_call> it is: <tool_call>\\n<function=f>\\n<parameter=s>\\nhalf")
          SAYS("So <tool_call> it is: <tool_call>\\n<function=f>\\n<parameter=s>\\nhalf")
          SAYS("I say <tool_call>.\\n\\n<tool_call>{\\'name\\': \\'f\\', \\'arguments\\': {\\'s\\': \\'<b>\\'}}"
               "</tool_call>"));
    json_t *a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200);
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "stop");
    CHECK_STR(text_at(a, "choices.0.message.content"),
              "So <tool_call> it is: <tool_call>\n<function=f>\n<parameter=s>\nhalf");
    json_t *events = stream_of(CHAT, ANY ",'tools':[" TOOL "],'stream':true}");
    gather(events, "delta.content", &text);
    CHECK_STR(text.data, text_at(a, "choices.0.message.content"));
    json_decref(a);
    json_decref(events);
    a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200); /* they drift */
    CHECK_STR(text_at(a, "choices.0.message.content"), "I say <tool_call>.");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"s\":\"<b>\"}");
    json_decref(a);
    buf_free(&text);
    CHECK_EQ(serve_end(), 130);
}

/* As Qwen3-Coder forgets it: a line and a tool of the client's. */
TEST(serve_tags_without_the_first)
{
    serve(true, SAYS("I look.\\n<function=f>\\n" P("n", "7") "</function>\\n</tool_call>")
          SAYS("<function=other>\\n</function>"));
    json_t *a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200);
    CHECK_STR(text_at(a, "choices.0.message.content"), "I look.");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"n\":7}");
    json_decref(a);
    a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200);
    CHECK(!json_at(a, "choices.0.message.tool_calls"));
    CHECK_STR(text_at(a, "choices.0.message.content"), "<function=other>\n</function>");
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

/* As long as the models' own templates make it of the same messages and tools: a token a byte, and a mark each for the
 * ends of messages.  (Qwen 3.5's has an empty thought before calls whose thought nobody sent: that is left out.) */
TEST(serve_tags_are_told_as_the_models_learned_them)
{
    static const char talk[] = "{'max_tokens':9,'messages':[{'role':'system','content':'Be brief.'},{'role':'user',"
        "'content':'x'},{'role':'assistant','content':'Two.','tool_calls':[{'id':'c','type':'function','function':"
        "{'name':'f','arguments':'{\\'n\\':3,\\'s\\':\\'a\\\\nb\\',\\'t\\':true}'}},{'id':'d','type':'function',"
        "'function':{'name':'g','arguments':''}}]},{'role':'tool','tool_call_id':'c','content':'R'},{'role':'tool',"
        "'tool_call_id':'d','content':'S'}],'tools':[{'type':'function','function':{'name':'f','description':'Does.',"
        "'parameters':{'type':'object','properties':{'n':{'type':'integer'},'s':{'type':['string','null'],"
        "'description':' A text. '}},'required':['n']}}}]}";
    for (int coder = 0; coder < 2; coder++) {
        serve(coder, SAYS("So."));
        json_t *a = ask(CHAT, talk, 200);
        CHECK_EQ(number_at(a, "usage.prompt_tokens"), coder ? 1448 : 1445);
        json_decref(a);
        CHECK_EQ(serve_end(), 130);
    }
}

/* By its id, and with what was thought before it: so that the pages of all of it are found. */
TEST(serve_tags_go_back_as_they_were_written)
{
    struct buf body = {0};
    serve(false, SAYS("<think>\\nHm.\\n</think>\\n\\nI look.\\n\\n<tool_call><function=f>\\n<parameter=n>7</parameter>"
                      "\\n<parameter=s>\\n some long text, and more of it \\n</parameter></function></tool_call>")
          SAYS("So."));
    json_t *a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200);
    char *made = json_dumps(json_at(a, "choices.0.message"), JSON_COMPACT);
    buf_printf(&body, "{'messages':[{'role':'user','content':'x'},%s,{'role':'tool','content':'y','tool_call_id':",
               made);
    buf_printf(&body, "'%s'}],'tools':[" TOOL "]}", text_at(a, "choices.0.message.tool_calls.0.id"));
    json_t *b = ask(CHAT, body.data, 200);
    CHECK_STR(text_at(b, "choices.0.message.content"), "So.");
    CHECK(number_at(b, "usage.prompt_tokens_details.cached_tokens") >=
          16 * (number_at(a, "usage.total_tokens") / 16 - 1));
    free(made);
    json_decref(a);
    json_decref(b);
    buf_free(&body);
    CHECK_EQ(serve_end(), 130);
}

/* A call that must keep to a form is one of JSON, and asked for so. */
TEST(serve_tags_are_json_where_a_grammar_holds)
{
#define JSON "<tool_call>{\\'name\\':\\'f\\',\\'arguments\\':{\\'s\\':\\'b\\'}}</tool_call>"
#define STRICT(strict) ANY ",'tools':[{'type':'function','function':{'name':'f','strict':" strict ",'parameters':" \
                       "{'type':'object','properties':{'s':{'type':'string'}},'required':['s']}}}]"
    serve(false, SAYS(JSON) SAYS(JSON) SAYS(JSON) SAYS(CALLS("f", P("s", "b"))) SAYS(JSON)
          SAYS(CALLS("f", P("s", "b"))));
    static const char *const held[] = {STRICT("true") "}", STRICT("false") ",'tool_choice':'required'}",
                                       STRICT("false") ",'tool_choice':{'type':'function','function':{'name':'f'}}}",
                                       STRICT("false") "}",
                                       STRICT("false") ",'tool_choice':{'type':'allowed_tools','allowed_tools':{'mode':"
                                       "'auto','tools':[{'type':'function','function':{'name':'f'}}]}}}"};
    long long tokens[COUNT_OF(held)];
    for (size_t i = 0; i < COUNT_OF(held); i++) {
        json_t *a = ask(CHAT, held[i], 200);
        CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"s\":\"b\"}");
        tokens[i] = number_at(a, "usage.prompt_tokens");
        json_decref(a);
    }
    CHECK(tokens[1] < tokens[3] && tokens[2] == tokens[1] && tokens[4] == tokens[1]);
    json_decref(ask(CHAT, held[0], 400)); /* none in tags comes out */
    CHECK_EQ(serve_end(), 130);
}

CHECK_MAIN
