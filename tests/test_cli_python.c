/* test_cli_python.c - the program with vocabularies of LFM2's and LFM2.5's templates, and a script that calls tools as
 * Python does: what a person sees, and what a client of the server gets. */
#include "tests/serve_rig.h"
#include "tests/vocab_file.h"

#define SAYS(text) "{'answer': '" text "', 'marks': true}\n" /* marks are its tokens */
#define L(calls) "<|tool_call_start|>[" calls "]<|tool_call_end|>"

static struct child c;
static int run(bool newer, const char *answers, const char *in, const char *const *more)
{
    const char *args[CHILD_ARGS] = {"-m", vocab_file_lfm(newer), "--engine", "scripted", "--script-file",
                                    serve_file("answers", quoted(answers)), "--no-save", "--ctx", "4096"};
    size_t n = 9;
    for (size_t i = 0; more[i]; i++) args[n++] = more[i];
    child_free(&c);
    return child_run(&c, args, in, strlen(in));
}
#define RUN(newer, answers, in, ...) run(newer, answers, in, (const char *const[]){__VA_ARGS__, NULL})

static void check_out(const char *want) { CHECK_STR(c.out_text.data ? c.out_text.data : "", want); }

/* Words before and behind a call are shown, and nothing of it; several in a list are made one after the other. */
TEST(cli_python_calls_a_tool_and_goes_on)
{
#define SUM(sum) "calculator(expression=\\'" sum "\\')"
    static const char script[] = SAYS("I reckon. " L(SUM("6*7")) " Wait.\\n") SAYS(L(SUM("1+1") ", " SUM("2+2")))
                                 SAYS("It is 42.");
    for (int newer = 0; newer < 2; newer++) {
        CHECK_EQ(RUN(newer, script, "why\n", "--tools", "calculator"), 0);
        check_out("I reckon. Wait.\nIt is 42.\n");
        CHECK(strstr(c.err_text.data, "[calculator {\"expression\":\"6*7\"}: ") != NULL);
        CHECK(strstr(c.err_text.data, "{\"expression\":\"1+1\"}: ") != NULL);
        CHECK(strstr(c.err_text.data, "{\"expression\":\"2+2\"}: ") != NULL);
    }
    CHECK_EQ(RUN(false, script, "why\n", "--tools", "calculator", "--json"), 0);
    CHECK(strstr(c.out_text.data, "\"event\":\"call\"") && strstr(c.out_text.data, "\"event\":\"tool\""));
}

/* What only begins like one is an answer, and is all shown; so is one in a text that a person pasted. */
TEST(cli_python_that_is_no_call_is_shown)
{
    static const char cut[] = SAYS("So: <|tool_call_start|>[calculator(expression=\\'6*7");
    CHECK_EQ(RUN(false, cut, "why\n", "--tools", "calculator"), 0);
    check_out("So: <|tool_call_start|>[calculator(expression=\"6*7\n");
    CHECK_EQ(RUN(false, SAYS("a <|tool_"), "why\n", "--tools", "calculator"), 0);
    check_out("a <|tool_\n");
    CHECK_EQ(RUN(false, SAYS("[calculator(expression=\\'6*7\\')]"), L("calculator(expression='6*7')") "\n", "--tools",
                 "calculator"), 0);
    check_out("[calculator(expression=\"6*7\")]\n");
    CHECK(!c.err_text.data || !strstr(c.err_text.data, "[calculator {"));
}

TEST(cli_python_with_strict_tools_is_none)
{
    CHECK_EQ(RUN(false, SAYS("<tool_call>{\\'name\\':\\'calculator\\',\\'arguments\\':{\\'expression\\':\\'6*7\\'}}"
                             "</tool_call>") SAYS("It is 42."), "why\n", "--tools", "calculator", "--strict-tools"), 0);
    check_out("It is 42.\n");
}

/* ---------------------------------------------------------------- served */

#define CHAT "/v1/chat/completions"
#define ANY "{'messages':[{'role':'user','content':'x'}],'max_tokens':900"
#define SCHEMA "{'type':'object','properties':{'n':{'type':'integer'}}}"
#define TOOL "{'type':'function','function':{'name':'f','parameters':" SCHEMA "}}"
#define TYPED "f(n=7, x=0.5, ok=True, none=None, list=[1, {\\'a\\': None}], s=\\'it is\\')"
#define GIVEN "{\"n\":7,\"x\":0.5,\"ok\":true,\"none\":null,\"list\":[1,{\"a\":null}],\"s\":\"it is\"}"
#define TWO SAYS("<think>\\nHm.\\n</think>\\n\\nI look. " L(TYPED ", g(n=8)"))

static void serve(bool newer, const char *answers)
{
    SERVE("-m", vocab_file_lfm(newer), "--engine", "scripted", "--script-file", serve_file("answers", quoted(answers)),
          "--ctx", "4096");
}

TEST(serve_python_is_calls_streamed_or_not)
{
    struct buf text = {0};
    serve(true, TWO TWO TWO);
    json_t *a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200), *events = stream_of(CHAT, ANY ",'tools':[" TOOL
                    "],'stream':true}");
    CHECK_STR(text_at(a, "choices.0.message.reasoning_content"), "Hm.");
    CHECK_STR(text_at(a, "choices.0.message.content"), "I look.");
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "tool_calls");
    CHECK_EQ(json_array_size(json_at(a, "choices.0.message.tool_calls")), 2);
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.name"), "f");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), GIVEN);
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.1.function.name"), "g");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.1.function.arguments"), "{\"n\":8}");
    gather(events, "delta.content", &text);
    CHECK_STR(text.data, "I look.");
    text.len = 0;
    gather(events, "delta.tool_calls.0.function.arguments", &text);
    CHECK_STR(text.data, GIVEN "{\"n\":8}");
    json_decref(a);
    json_decref(events);
    a = ask(CHAT, ANY ",'tools':[" TOOL "],'parallel_tool_calls':false}", 200);
    CHECK_EQ(json_array_size(json_at(a, "choices.0.message.tool_calls")), 1);
    json_decref(a);
    buf_free(&text);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_python_is_calls_in_every_api)
{
    serve(false, TWO TWO TWO);
    json_t *want = json_loads(GIVEN, 0, NULL), *a;
    a = ask("/v1/responses", "{'input':'x','max_output_tokens':900,'tools':[{'type':'function','name':'f',"
            "'parameters':" SCHEMA "}]}", 200);
    CHECK_STR(text_at(a, "output.1.content.0.text"), "I look.");
    CHECK_STR(text_at(a, "output.2.arguments"), GIVEN);
    json_decref(a);
    a = ask("/v1/messages", ANY ",'tools':[{'name':'f','input_schema':" SCHEMA "}]}", 200);
    CHECK_STR(text_at(a, "content.1.text"), "I look.");
    CHECK(json_equal(json_at(a, "content.2.input"), want));
    json_decref(a);
    a = ask("/api/chat", "{'messages':[{'role':'user','content':'x'}],'options':{'num_predict':900},'tools':[" TOOL
            "],'stream':false}", 200);
    CHECK_STR(text_at(a, "message.content"), "I look.");
    CHECK(json_equal(json_at(a, "message.tool_calls.0.function.arguments"), want));
    json_decref(a);
    json_decref(want);
    CHECK_EQ(serve_end(), 130);
}

/* As LFM2 does it: what stands behind its calls is the answer's text too. */
TEST(serve_python_may_have_its_words_behind)
{
    struct buf text = {0};
    serve(false, SAYS(L("f(n=1)") "Now I look.") SAYS(L("f(n=1)") "Now I look.") SAYS("A " L("f(n=1)") " B")
          SAYS("A " L("f(n=1)") " B"));
    json_t *a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200), *events = stream_of(CHAT, ANY ",'tools':[" TOOL
                    "],'stream':true}");
    CHECK_STR(text_at(a, "choices.0.message.content"), "Now I look.");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"n\":1}");
    gather(events, "delta.content", &text);
    CHECK_STR(text.data, "Now I look.");
    text.len = 0;
    gather(events, "delta.tool_calls.0.function.arguments", &text);
    CHECK_STR(text.data, "{\"n\":1}");
    json_decref(a);
    json_decref(events);
    a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200);
    events = stream_of(CHAT, ANY ",'tools':[" TOOL "],'stream':true}");
    CHECK_STR(text_at(a, "choices.0.message.content"), "A\nB");
    text.len = 0;
    gather(events, "delta.content", &text);
    CHECK_STR(text.data, "A\nB");
    json_decref(events);
    json_decref(a);
    buf_free(&text);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_python_that_is_no_call_is_words)
{
    struct buf text = {0};
#define HALF "So <|tool_call it is: <|tool_call_start|>[f(n=1"
    serve(false, SAYS(HALF) SAYS(HALF) SAYS("I say.\\n<tool_call>{\\'name\\': \\'f\\', \\'arguments\\': {\\'n\\': 2}}"
                                            "</tool_call>"));
    json_t *a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200);
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "stop");
    CHECK_STR(text_at(a, "choices.0.message.content"), HALF);
    json_t *events = stream_of(CHAT, ANY ",'tools':[" TOOL "],'stream':true}");
    gather(events, "delta.content", &text);
    CHECK_STR(text.data, HALF);
    json_decref(a);
    json_decref(events);
    a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200); /* they drift */
    CHECK_STR(text_at(a, "choices.0.message.content"), "I say.");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"n\":2}");
    json_decref(a);
    buf_free(&text);
    CHECK_EQ(serve_end(), 130);
}

/* As long as the models' own templates make it of the same messages and tools: a token a byte, and a mark each.
 * (LFM2's own has no calls; they are written as LFM2.5's are.) */
TEST(serve_python_is_told_as_the_models_learned_it)
{
    static const char talk[] = "{'max_tokens':9,'messages':[{'role':'system','content':'Be brief.'},{'role':'user',"
        "'content':'x'},{'role':'assistant','content':'Two.','tool_calls':[{'id':'c','type':'function','function':"
        "{'name':'f','arguments':'{\\'n\\':3,\\'s\\':\\'ab\\',\\'t\\':true}'}},{'id':'d','type':'function',"
        "'function':{'name':'g','arguments':''}}]},{'role':'tool','tool_call_id':'c','content':'R'},{'role':'tool',"
        "'tool_call_id':'d','content':'S'}],'tools':[{'type':'function','function':{'name':'f','description':'Does.',"
        "'parameters':{'type':'object','properties':{'n':{'type':'integer'}},'required':['n']}}}]}";
    static const char front[] = "system\nBe brief.\nList of tools: [{\"type\": \"function\", \"function\": {\"name\": "
        "\"f\", \"description\": \"Does.\", \"parameters\": {\"type\": \"object\", \"properties\": {\"n\": {\"type\": "
        "\"integer\"}}, \"required\": [\"n\"]}}}]\nuser\nx\nassistant\nTwo.[f(n=3, s=\"ab\", t=True), g()]\ntool\nR\n"
        "tool\nS\nassistant\n";
    /* BOS, two marks a turn and one for the last, two of the call; LFM2: two of the list, two a result */
    const size_t marks = 1 + 2 * 5 + 1 + 2;
    for (int newer = 0; newer < 2; newer++) {
        serve(newer, SAYS("So."));
        json_t *a = ask(CHAT, talk, 200);
        CHECK_EQ(number_at(a, "usage.prompt_tokens"), strlen(front) + marks + (newer ? 0 : 2 + 4));
        json_decref(a);
        CHECK_EQ(serve_end(), 130);
    }
}

/* By its id, as it was written, and what stood behind it once: so that the pages of all of it are found. */
TEST(serve_python_goes_back_as_it_was_written)
{
#define LONG L("f( n = 7,s=\\'some long text, and more of it\\' )")
    static const char *const said[] = {SAYS("I look. " LONG) SAYS("So."),
                                       SAYS(LONG "Now I look at it all.") SAYS("So."),
                                       SAYS("I look. " LONG " At it all.") SAYS("So.")};
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        struct buf body = {0};
        serve(false, said[i]);
        json_t *a = ask(CHAT, ANY ",'tools':[" TOOL "]}", 200);
        char *made = json_dumps(json_at(a, "choices.0.message"), JSON_COMPACT);
        buf_printf(&body, "{'messages':[{'role':'user','content':'x'},%s,{'role':'tool','content':'y','tool_call_id':",
                   made);
        buf_printf(&body, "'%s'}],'tools':[" TOOL "]}", text_at(a, "choices.0.message.tool_calls.0.id"));
        json_t *b = ask(CHAT, body.data, 200);
        CHECK_STR(text_at(b, "choices.0.message.content"), "So.");
        /* beside what was there: the end of the turn, the result's (4 marks, "tool\ny\n") and the head of the next */
        CHECK_EQ(number_at(b, "usage.prompt_tokens"), number_at(a, "usage.total_tokens") + 2 + 4 + 7 + 11);
        free(made);
        json_decref(a);
        json_decref(b);
        buf_free(&body);
        CHECK_EQ(serve_end(), 130);
    }
}

/* A call that must keep to a form is one of JSON, and asked for so. */
TEST(serve_python_is_json_where_a_grammar_holds)
{
#define JSON "<tool_call>{\\'name\\':\\'f\\',\\'arguments\\':{\\'s\\':\\'b\\'}}</tool_call>"
#define STRICT(strict) ANY ",'tools':[{'type':'function','function':{'name':'f','strict':" strict ",'parameters':" \
                       "{'type':'object','properties':{'s':{'type':'string'}},'required':['s']}}}]"
    serve(false, SAYS(JSON) SAYS(JSON) SAYS(JSON) SAYS(L("f(s=\\'b\\')")) SAYS(L("f(s=\\'b\\')")));
    static const char *const held[] = {STRICT("true") "}", STRICT("false") ",'tool_choice':'required'}",
                                       STRICT("false") ",'tool_choice':{'type':'function','function':{'name':'f'}}}",
                                       STRICT("false") "}"};
    for (size_t i = 0; i < 4; i++) {
        json_t *a = ask(CHAT, held[i], 200);
        CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"s\":\"b\"}");
        json_decref(a);
    }
    json_t *a = ask(CHAT, held[0], 200); /* one that is written otherwise all the same is words */
    CHECK(!json_at(a, "choices.0.message.tool_calls"));
    CHECK_STR(text_at(a, "choices.0.message.content"), "<|tool_call_start|>[f(s=\"b\")]<|tool_call_end|>");
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

CHECK_MAIN
