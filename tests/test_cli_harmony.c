/* test_cli_harmony.c - the program with a vocabulary of gpt-oss's and a script that speaks in channels, or of Mistral's
 * and one that calls by tokens: what a person sees, what a client of the server gets, and what it is held to. */
#include "tests/serve_rig.h"
#include "tests/vocab_file.h"

#define SAYS(text) "{'marks': true, 'answer': '" text "'}\n"
#define FINAL "<|start|>assistant<|channel|>final<|message|>"
#define THINKS(text) "<|channel|>analysis<|message|>" text "<|end|>"
#define CALLS(name, args) "<|start|>assistant<|channel|>commentary to=functions." name " <|constrain|>json<|message|>" \
                          args "<|call|>"

static struct child c;
static int run(const char *answers, const char *in, const char *const *more)
{
    const char *args[CHILD_ARGS] = {"-m", vocab_file_harmony(), "--engine", "scripted", "--script-file",
                                    serve_file("answers", quoted(answers)), "--no-save"};
    size_t n = 7;
    for (size_t i = 0; more[i]; i++) args[n++] = more[i];
    child_free(&c);
    return child_run(&c, args, in, strlen(in));
}
#define RUN(answers, in, ...) run(answers, in, (const char *const[]){__VA_ARGS__, NULL})

static void check_out(const char *want) { CHECK_STR(c.out_text.data ? c.out_text.data : "", want); }

TEST(cli_harmony_thinks_calls_and_answers)
{
    CHECK_EQ(RUN(SAYS(THINKS("Hm.") FINAL "It is so.<|return|>"), "why\n", "--ctx", "1024"), 0);
    check_out("<think>\nHm.\n</think>\n\nIt is so.\n");
    CHECK_EQ(RUN(SAYS(THINKS("Six.") "<|start|>assistant<|channel|>commentary<|message|>I reckon.<|end|>"
                      CALLS("calculator", "{\\'expression\\':\\'6*7\\'}"))
                 SAYS("<|channel|>final<|message|>It is 42.<|return|>"), "why\n", "--ctx", "4096", "--tools",
                 "calculator"), 0);
    check_out("<think>\nSix.\n</think>\n\nI reckon.\n\nIt is 42.\n");
    CHECK(strstr(c.err_text.data, "[calculator {\"expression\":\"6*7\"}: ") != NULL);
}

TEST(cli_harmony_s_thinking_is_closed_with_its_marks)
{
    /* a token a byte, but for the marks: of 30 the closing ones may have eight, the head has ten */
    static const char script[] = SAYS("<|channel|>analysis<|message|>la la la la.It is 42.<|return|>");
    CHECK_EQ(RUN(script, "why\n", "--thinking", "30", "--ctx", "1024"), 0);
    check_out("<think>\nla la la la.\n</think>\n\nIt is 42.\n");
    CHECK_EQ(RUN(SAYS("<|channel|>analysis<|message|>la la la<|end|><|start|>assistant<|channel|>final<|message|>"
                      "It is 42.<|return|>"), "why\n", "--thinking", "30", "--ctx", "1024"), 0);
    check_out("<think>\nla la la\n</think>\n\nIt is 42.\n"); /* its own head, begun in time */
    CHECK_EQ(RUN(script, "why\n", "--thinking", "30", "--ctx", "1024", "--json"), 0);
    const char *line = strstr(c.out_text.data, "\"event\":\"turn_end\"");
    CHECK(line != NULL);
    while (line > c.out_text.data && line[-1] != '\n') line--;
    json_t *e = json_loadb(line, strcspn(line, "\n"), 0, NULL);
    const char *text = json_string_value(json_object_get(e, "text"));
    CHECK(text && strncmp(text, "<think>\n", 8) == 0 && strstr(text, "</think>"));
    const size_t thought = (size_t)(strstr(text, "\n</think>") - text) - 8; /* a token a byte, but for the marks */
    CHECK_EQ(json_integer_value(json_object_get(e, "tokens")),
             (json_int_t)(2 + strlen("analysis") + thought + 4 + strlen("assistant" "final" "It is 42.")));
    json_decref(e);
}

TEST(cli_harmony_s_calls_are_held_to_their_tools)
{
#define STRICTLY "--strict-tools", "--tools", "calculator", "--ctx", "4096"
    CHECK_EQ(RUN(SAYS(THINKS("Six.") CALLS("calculator", "{\\'expression\\':\\'6*7\\'}"))
                 SAYS("<|channel|>final<|message|>It is 42.<|return|>"), "why\n", STRICTLY), 0);
    check_out("<think>\nSix.\n</think>\n\nIt is 42.\n");
    CHECK(strstr(c.err_text.data, "[calculator {\"expression\":\"6*7\"}: ") != NULL);
    static const char *const wrong[] = {SAYS(THINKS("Six.") CALLS("calculate", "{}")),
                                        SAYS(THINKS("Six.") CALLS("calculator", "{\\'sum\\':1}"))};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        CHECK(RUN(wrong[i], "why\n", STRICTLY) != 0);
        CHECK(strstr(c.err_text.data, "left no token") != NULL);
    }
}

/* It is told of tools in its own words all the same. */
TEST(cli_harmony_is_told_the_same_where_calls_are_held)
{
    int64_t tokens[2];
    for (int strict = 0; strict < 2; strict++) {
        const char *more[] = {"--json", "--tools", "calculator", "--ctx", "4096", strict ? "--strict-tools" : NULL,
                              NULL};
        CHECK_EQ(run(SAYS("<|channel|>final<|message|>x<|return|>"), "why\n", more), 0);
        const char *at = strstr(c.out_text.data, "\"prompt_tokens\":");
        CHECK(at != NULL);
        tokens[strict] = strtoll(strchr(at, ':') + 1, NULL, 10);
    }
    CHECK(tokens[0] > 0);
    CHECK_EQ(tokens[0], tokens[1]);
}

/* The bound's end leads on to the call that must come, and to the answer where one may. */
TEST(cli_harmony_thinks_no_longer_than_it_may_where_calls_are_held)
{
    CHECK_EQ(RUN(SAYS("<|channel|>analysis<|message|>la la la la.It is 42.<|return|>"), "why\n", STRICTLY,
                 "--thinking", "30"), 0);
    check_out("<think>\nla la la la.\n</think>\n\nIt is 42.\n");
}

static int64_t prompt_tokens(const char *how, bool oneshot)
{
    const char *more[] = {"--json", "--ctx", "1024", "--reasoning", how, oneshot ? "-p" : NULL, "why", NULL};
    CHECK_EQ(run(SAYS("<|channel|>final<|message|>x<|return|>"), "why\n", more), 0);
    const char *at = strstr(c.out_text.data, "\"prompt_tokens\":");
    CHECK(at != NULL);
    return strtoll(strchr(at, ':') + 1, NULL, 10);
}

/* A token a byte: the three words are as long as their letters. */
TEST(cli_harmony_is_told_how_much_to_think_and_no_other_family)
{
    for (int oneshot = 0; oneshot < 2; oneshot++) {
        const int64_t medium = prompt_tokens("medium", oneshot);
        CHECK_EQ(prompt_tokens("high", oneshot), medium - 2);
        CHECK_EQ(prompt_tokens("low", oneshot), medium - 3);
    }
    CHECK(RUN(SAYS("x"), "why\n", "--reasoning", "much") == 2 && strstr(c.err_text.data, "one of low|medium|high"));
    CHECK(RUN(SAYS("x"), "why\n", "--reasoning", "high", "--template", "raw") == 2);
    CHECK(strstr(c.err_text.data, "--reasoning: a model with the raw template is not told how much to think"));
    setenv("PLIMSOLL_REASONING", "high", 1); /* for the models that know it: others go on without a word */
    CHECK_EQ(RUN(SAYS("x"), "why\n", "--template", "raw"), 0);
    CHECK(!c.err_text.data || !strstr(c.err_text.data, "--reasoning"));
    unsetenv("PLIMSOLL_REASONING");
}

/* ---------------------------------------------------------------- served */

#define READ "{'type':'function','function':{'name':'read','description':'Reads.','parameters':{'type':'object'," \
             "'properties':{'path':{'type':'string','description':'Of a file.'},'n':{'type':'integer','default':3}," \
             "'how':{'enum':['a','b'],'default':'a'},'list':{'type':'array','items':{'type':'object','properties':{'x':" \
             "{'type':['number','null']}}}}},'required':['path']}}}"
#define CHAT "/v1/chat/completions"
#define ANY "{'messages':[{'role':'user','content':'x'}],'max_tokens':400"

static void serve(const char *answers)
{
    SERVE("-m", vocab_file_harmony(), "--engine", "scripted", "--script-file", serve_file("answers", quoted(answers)), "--ctx",
          "4096");
}

TEST(serve_harmony_gives_thinking_content_and_calls)
{
    serve(SAYS(THINKS("Hm.") "<|start|>assistant<|channel|>commentary<|message|>I look.<|end|>"
               CALLS("read", "{\\'path\\':\\'<tool_call>\\'}"))
          SAYS("<|channel|>final<|message|><tool_call>{\\'name\\':\\'read\\',\\'arguments\\':{}}</tool_call>"
               "<|return|>"));
    json_t *a = ask(CHAT, ANY ",'tools':[" READ "]}", 200);
    CHECK_STR(text_at(a, "choices.0.message.reasoning_content"), "Hm.");
    CHECK_STR(text_at(a, "choices.0.message.content"), "I look.");
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "tool_calls");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.name"), "read");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"path\":\"<tool_call>\"}");
    json_decref(a);
    a = ask(CHAT, ANY ",'tools':[" READ "]}", 200); /* who only says it */
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "stop");
    CHECK_STR(text_at(a, "choices.0.message.content"), "(tool_call){\"name\":\"read\",\"arguments\":{}}</tool_call>");
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

/* What was thought before a call, where the client sends it back: a token a byte, and four marks. */
TEST(serve_harmony_reads_what_it_thought_before_a_call)
{
    static const char *const thought[] = {"'tool_calls'", "'reasoning_content':'\\n Hm.\\n','tool_calls'"};
    long long tokens[2];
    serve(SAYS("<|channel|>final<|message|>x<|return|>"));
    for (size_t i = 0; i < 2; i++) {
        char body[2000];
        snprintf(body, sizeof body, "{'messages':[{'role':'user','content':'x'},{'role':'assistant',%s:[{'id':'c1',"
                 "'type':'function','function':{'name':'read','arguments':'{}'}}]},{'role':'tool','tool_call_id':'c1',"
                 "'content':'y'}],'tools':[" READ "]}", thought[i]);
        json_t *a = ask(CHAT, body, 200);
        tokens[i] = number_at(a, "usage.prompt_tokens");
        json_decref(a);
    }
    CHECK_EQ(tokens[1] - tokens[0], 4 + strlen("assistant" "analysis" "Hm."));
    CHECK_EQ(serve_end(), 130);
}

/* What is asked for, and an answer that is so and one that is not; where any message may come, a call is so. */
TEST(serve_harmony_s_answers_are_held_to_what_is_asked_for)
{
#define TOOL_OF(more) "'tools':[{'type':'function','function':{'name':'f'" more ",'parameters':{'type':'object'," \
                      "'required':['a'],'properties':{'a':{'type':'integer'}},'additionalProperties':false}}}]"
#define FORM "'response_format':{'type':'json_schema','json_schema':{'name':'n','strict':true,'schema':{'type':" \
             "'object','required':['ok'],'properties':{'ok':{'type':'boolean'}},'additionalProperties':false}}}"
#define GOOD_CALL THINKS("Hm.") CALLS("f", "{\\'a\\':1}")
#define BAD_CALL THINKS("Hm.") CALLS("f", "{\\'a\\':\\'1\\'}")
#define GOOD_VALUE THINKS("Hm.") FINAL "{\\'ok\\':true}<|return|>"
    static const struct { const char *more, *good, *bad; } asks[] = {
        {",'tools':[" READ "],'tool_choice':'required'}", THINKS("Hm.") CALLS("read", "{\\'path\\':\\'a\\'}"),
         THINKS("Hm.") FINAL "No.<|return|>"},
        {"," TOOL_OF("") ",'tool_choice':{'type':'function','function':{'name':'f'}}}", GOOD_CALL, BAD_CALL},
        {"," TOOL_OF(",'strict':true") "}", GOOD_CALL, BAD_CALL},
        {"," TOOL_OF("") "}", GOOD_CALL, BAD_CALL},
        {"," FORM "}", GOOD_VALUE, THINKS("Hm.") FINAL "yes<|return|>"},
        {",'response_format':{'type':'json_object'}}", GOOD_VALUE, FINAL "[]<|return|>"},
        {"," FORM "," TOOL_OF("") "}", GOOD_VALUE, THINKS("Hm.") FINAL "yes<|return|>"},
        {"," FORM "," TOOL_OF("") "}", GOOD_CALL, BAD_CALL},
    };
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        char body[2000], answers[2000];
        const bool calls = strstr(asks[i].good, "to=functions") != NULL;
        snprintf(answers, sizeof answers, SAYS("%s") SAYS("%s"), asks[i].good, asks[i].bad);
        serve(answers);
        snprintf(body, sizeof body, "%s%s", ANY, asks[i].more);
        json_t *a = ask(CHAT, body, 200);
        CHECK_STR(text_at(a, "choices.0.message.reasoning_content"), "Hm.");
        CHECK_STR(text_at(a, "choices.0.finish_reason"), calls ? "tool_calls" : "stop");
        if (!calls) CHECK_STR(text_at(a, "choices.0.message.content"), "{\"ok\":true}");
        else if (i > 0) CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"a\":1}");
        json_decref(a);
        a = ask(CHAT, body, 400);
        CHECK_STR(text_at(a, "error.code"), "no_token_left");
        json_decref(a);
        CHECK_EQ(serve_end(), 130);
    }
}

/* Stop texts end free text alone, whichever tools it may call instead. */
TEST(serve_harmony_s_held_values_are_not_cut_by_stop_texts)
{
    static const struct { const char *more, *says; } asks[] = {
        {",'stop':['true','Hm']," FORM "}", "{\"ok\":true}"},
        {",'stop':['true','Hm']," FORM "," TOOL_OF("") "}", "{\"ok\":true}"},
        {",'stop':['so']," TOOL_OF("") "}", "It is "}, {",'stop':['so']," TOOL_OF(",'strict':true") "}", "It is "},
    };
    serve(SAYS(THINKS("Hm.") FINAL "{\\'ok\\':true}<|return|>") SAYS(THINKS("Hm.") FINAL "{\\'ok\\':true}<|return|>")
          SAYS(THINKS("Hm.") FINAL "It is so.<|return|>") SAYS(THINKS("Hm.") FINAL "It is so.<|return|>"));
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        char body[1200];
        snprintf(body, sizeof body, "%s%s", ANY, asks[i].more);
        json_t *a = ask(CHAT, body, 200);
        CHECK_STR(text_at(a, "choices.0.message.content"), asks[i].says);
        CHECK_STR(text_at(a, "choices.0.finish_reason"), "stop");
        json_decref(a);
    }
    CHECK_EQ(serve_end(), 130);
}

/* A bound on thinking, and a call that must come: what closes the thought leads on to it. */
TEST(serve_harmony_thinks_no_longer_than_it_may_before_a_call)
{
    serve(SAYS("<|channel|>analysis<|message|>la la lacommentary to=functions.f<|message|>{\\'a\\':1}<|call|>"));
    json_t *a = ask(CHAT, ANY ",'thinking_token_budget':18," TOOL_OF("") ",'tool_choice':'required'}", 200);
    CHECK_STR(text_at(a, "choices.0.message.reasoning_content"), "la la la");
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"a\":1}");
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_harmony_is_told_how_much_to_think)
{
    SERVE("-m", vocab_file_harmony(), "--engine", "scripted", "--script-file",
          serve_file("answers", quoted(SAYS("<|channel|>final<|message|>x<|return|>"))), "--ctx", "4096", "--reasoning",
          "high");
    static const struct { const char *more; int less; } asks[] = {
        {"}", 2}, {",'reasoning_effort':null}", 2}, {",'reasoning_effort':'low'}", 3},
        {",'reasoning_effort':'high'}", 2}, {",'reasoning_effort':'medium'}", 0}};
    char body[400];
    long long tokens[COUNT_OF(asks)];
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        snprintf(body, sizeof body, "%s%s", ANY, asks[i].more);
        json_t *a = ask(CHAT, body, 200);
        tokens[i] = number_at(a, "usage.prompt_tokens");
        json_decref(a);
    }
    for (size_t i = 0; i < COUNT_OF(asks); i++) CHECK_EQ(tokens[COUNT_OF(asks) - 1] - tokens[i], asks[i].less);
    json_t *a = ask(CHAT, ANY ",'reasoning_effort':'minimal'}", 400);
    CHECK_STR(text_at(a, "error.message"), "reasoning_effort is to be low, medium or high");
    CHECK_STR(text_at(a, "error.param"), "reasoning_effort");
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
    SERVE("-m", vocab_file_harmony(), "--engine", "scripted", "--script-file", serve_file("answers", quoted(SAYS("x"))),
          "--template", "raw");
    a = ask(CHAT, ANY ",'reasoning_effort':'low'}", 400);
    CHECK_STR(text_at(a, "error.code"), "unsupported_value");
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

/* A conversation as clients send it back, counted: calls and results weigh what their messages weigh. */
TEST(serve_harmony_reads_calls_and_results)
{
    serve(SAYS("<|channel|>final<|message|>x<|return|>"));
#define TALK(more) "{'max_tokens':9,'messages':[{'role':'user','content':'x'},{'role':'assistant','content':'Two.'," \
                   "'tool_calls':[{'id':'c','type':'function','function':{'name':'read','arguments':'{\\'path\\':" \
                   "\\'a\\'}'}}" more "]},{'role':'tool','tool_call_id':'c','content':'R\\n'}],'tools':[" READ "]}"
    json_t *a = ask(CHAT, TALK(""), 200);
    json_t *b = ask(CHAT, TALK(",{'id':'d','type':'function','function':{'name':'f.g','arguments':'{oh'}}"), 200);
    const char *types = "# Tools\n\n## functions\n\nnamespace functions {\n\n// Reads.\ntype read = (_: {\n"
                        "// Of a file.\npath: string,\nn?: number, // default: 3\nhow?: \"a\" | \"b\", // default: a\n"
                        "list?: {\nx?: number | null,\n}[],\n}) => any;\n\n} // namespace functions";
    const char *system = "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n\n"
                         "Reasoning: medium\n\n# Valid channels: analysis, commentary, final. Channel must be included "
                         "for every message.\nCalls to these tools must go to the commentary channel: 'functions'.";
    const long long marks = 3 + 3 + 3 + 4 + 4 + 4 + 1; /* system, developer, user, text, call, result, head */
    const long long bytes = (long long)(strlen("system") + strlen(system) + strlen("developer") + strlen(types) +
        strlen("user" "x" "assistant" "final" "Two." "assistant to=functions.read" "commentary json" "{\"path\": \"a\"}"
               "functions.read to=assistant" "commentary" "\"R\\n\"" "assistant"));
    CHECK_EQ(number_at(a, "usage.prompt_tokens"), marks + bytes);
    CHECK_EQ(number_at(b, "usage.prompt_tokens"), marks + bytes + 4 +
             (long long)strlen("assistant to=functions.f.g" "commentary json" "\"{oh\""));
    json_decref(a);
    json_decref(b);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- Mistral's */

/* A call behind words, its result, and the answer: with an id and without. */
TEST(cli_mistral_calls_by_tokens)
{
    for (int ids = 0; ids < 2; ids++) {
        const char *call = ids ? "{'marks':true,'answer':'I reckon.[TOOL_CALLS]calculator[CALL_ID]abcdefghi[ARGS]"
                                 "{\\'expression\\': \\'6*7\\'}'}\n"
                                 "{'marks':true,'answer':'[THINK]Hm.[/THINK]It is 42.'}\n"
                               : "{'marks':true,'answer':'I reckon.[TOOL_CALLS]calculator[ARGS]"
                                 "{\\'expression\\': \\'6*7\\'}'}\n"
                                 "{'marks':true,'answer':'[THINK]Hm.[/THINK]It is 42.'}\n";
        const char *args[] = {"-m", vocab_file_mistral(ids), "--engine", "scripted", "--script-file",
                              serve_file("answers", quoted(call)), "--no-save", "--ctx", "4096", "--tools",
                              "calculator", NULL};
        child_free(&c);
        CHECK_EQ(child_run(&c, args, "why\n", 4), 0);
        check_out("I reckon.\n\n<think>\nHm.\n</think>\n\nIt is 42.\n");
        CHECK(strstr(c.err_text.data, "[calculator {\"expression\":\"6*7\"}: ") != NULL);
    }
}

/* Told of JSON, and held to it, it calls in text. */
TEST(mistral_is_held_to_json_where_that_is_asked_for)
{
    static const char call[] = "{'answer':'<tool_call>{\\'name\\':\\'calculator\\',\\'arguments\\':"
                               "{\\'expression\\':\\'6*7\\'}}</tool_call>'}\n{'answer':'It is 42.'}\n";
    const char *args[] = {"-m", vocab_file_mistral(false), "--engine", "scripted", "--script-file",
                          serve_file("answers", quoted(call)), "--no-save", "--ctx", "4096", "--tools", "calculator",
                          "--strict-tools", NULL};
    child_free(&c);
    CHECK_EQ(child_run(&c, args, "why\n", 4), 0);
    check_out("It is 42.\n");
    CHECK(strstr(c.err_text.data, "[calculator {\"expression\":\"6*7\"}: ") != NULL);
    SERVE("-m", vocab_file_mistral(true), "--engine", "scripted", "--ctx", "4096", "--script-file",
          serve_file("answers", quoted("{'answer':'So.<tool_call>{\\'name\\':\\'f\\',\\'arguments\\':{\\'a\\':1}}"
                                       "</tool_call>'}\n")));
#define STRICT_TOOL                                                                                       \
    ",'tools':[{'type':'function','function':{'name':'f','strict':true,'parameters':{'type':'object'," \
    "'required':['a'],'properties':{'a':{'type':'integer'}},'additionalProperties':false}}}]"
    json_t *a = ask(CHAT, ANY STRICT_TOOL "}", 200);
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"a\":1}");
    CHECK_STR(text_at(a, "choices.0.message.content"), "So.");
    const long long strict = number_at(a, "usage.prompt_tokens");
    json_decref(a);
    a = ask(CHAT, ANY STRICT_TOOL ",'tool_choice':'none'}", 200);
    CHECK(number_at(a, "usage.prompt_tokens") < strict);
    json_decref(a);
}

static long long mistral_prompt(const char *messages)
{
    struct buf body = {0};
    buf_printf(&body, "{'messages':[%s],'max_tokens':1}", messages);
    json_t *a = ask(CHAT, body.data, 200);
    const long long n = number_at(a, "usage.prompt_tokens");
    json_decref(a);
    buf_free(&body);
    return n;
}

#define CALL_OF(id) "{'id':'" id "','type':'function','function':{'name':'ls','arguments':'{}'}}"
#define RESULT_OF(id) "{'role':'tool','tool_call_id':'" id "','content':'r'}"

TEST(serve_mistral_gives_calls_and_reads_them_back)
{
    for (int ids = 0; ids < 2; ids++) {
        SERVE("-m", vocab_file_mistral(ids), "--engine", "scripted", "--ctx", "4096", "--script-file",
              serve_file("answers", quoted("{'marks':true,'answer':'[THINK]Hm.[/THINK]I look.[TOOL_CALLS]read[ARGS]"
                                           "{\\'path\\':\\'a\\'}[TOOL_CALLS]read[ARGS]{\\'path\\':\\'b\\'}'}\n")));
        json_t *a = ask(CHAT, ANY ",'tools':[" READ "]}", 200);
        CHECK_STR(text_at(a, "choices.0.message.reasoning_content"), "Hm.");
        CHECK_STR(text_at(a, "choices.0.message.content"), "I look.");
        CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.arguments"), "{\"path\":\"a\"}");
        CHECK_STR(text_at(a, "choices.0.message.tool_calls.1.function.arguments"), "{\"path\":\"b\"}");
        CHECK_STR(text_at(a, "choices.0.finish_reason"), "tool_calls");
        json_decref(a);
        /* A token a byte, but for the marks: [TOOL_CALLS]ls[CALL_ID]000000001[ARGS]{}, and both call and result of
         * the second. */
        const long long none = mistral_prompt("{'role':'user','content':'x'}");
        const long long one = mistral_prompt("{'role':'user','content':'x'},{'role':'assistant','tool_calls':["
                                             CALL_OF("a") "]}," RESULT_OF("a"));
        const long long two = mistral_prompt("{'role':'user','content':'x'},{'role':'assistant','tool_calls':["
                                             CALL_OF("a") "," CALL_OF("b") "]}," RESULT_OF("a") "," RESULT_OF("b"));
        const int call = 1 + 2 + (ids ? 10 : 0) + 1 + 2, result = 1 + (ids ? 10 : 0) + 1 + 1;
        CHECK_EQ(one - none, call + 1 + result);
        CHECK_EQ(two - one, call + result);
        a = ask(CHAT, ANY ",'response_format':{'type':'json_object'}}", 400); /* the script says something else */
        json_decref(a);
        CHECK_EQ(serve_end(), 130);
    }
}

CHECK_MAIN
