/* `plimsoll serve` as its clients see it: answers whole and as streams, tools, schemas, log-probabilities. */
#include "tests/serve_rig.h"

#define CHAT "/v1/chat/completions"
#define WORDS "tests/fixtures/llama-gqa.gguf" /* the vocabulary of scripted answers */

#define CALCULATOR                                                                                                    \
    "{'type':'function','function':{'name':'calculator','description':'exact arithmetic','parameters':"  \
    "{'type':'object','properties':{'expression':{'type':'string'}},'required':['expression']}}}"
#define READ                                                                                                          \
    "{'type':'function','function':{'name':'read','description':'a file','parameters':{'type':"        \
    "'object','properties':{'path':{'type':'string'}},'required':['path']}}}"
#define QUESTION "{'role':'user','content':'What is 17 * 3? Please use the calculator.'}"

/* ---------------------------------------------------------------- texts */

TEST(serve_says_what_the_program_says_whole_and_as_a_stream)
{
    struct child c = {0};
    struct buf streamed = {0};
    const char *const once[] = {"-p", "What is plimsoll?", "--system", "", "--no-save", NULL};
    CHECK_EQ(child_run(&c, once, "", 0), 0);
    CHECK(c.out_text.len > 10 && c.out_text.data[c.out_text.len - 1] == '\n');
    c.out_text.data[c.out_text.len - 1] = '\0';
    SERVE("--threads", "1");
    json_t *whole = ask(CHAT, "{'model':'plimsoll-tiny','messages':[{'role':'user','content':[{'type':"
                        "'text','text':'What is '},{'type':'text','text':'plimsoll?'}]}]}", 200);
    CHECK_STR(text_at(whole, "choices.0.message.content"), c.out_text.data);
    CHECK_STR(text_at(whole, "choices.0.message.role"), "assistant");
    CHECK_STR(text_at(whole, "choices.0.finish_reason"), "stop");
    CHECK_STR(text_at(whole, "object"), "chat.completion");
    long long prompt = number_at(whole, "usage.prompt_tokens"), answer = number_at(whole, "usage.completion_tokens");
    CHECK(prompt > 0 && answer > 0 && number_at(whole, "usage.total_tokens") == prompt + answer);

    json_t *events = stream_of(CHAT, "{'messages':[{'role':'user','content':'What is plimsoll?'}],'stream':"
                               "true,'stream_options':{'include_usage':true}}");
    size_t n = json_array_size(events);
    gather(events, "delta.content", &streamed);
    CHECK_STR(streamed.data, c.out_text.data);
    CHECK(n > 4);
    CHECK_STR(text_at(events, "0.choices.0.delta.role"), "assistant");
    CHECK_STR(text_at(events, "0.object"), "chat.completion.chunk");
    CHECK_STR(text_at(json_array_get(events, n - 2), "choices.0.finish_reason"), "stop");
    CHECK_EQ(json_array_size(json_at(json_array_get(events, n - 1), "choices")), 0);
    CHECK_EQ(number_at(json_array_get(events, n - 1), "usage.completion_tokens"), answer);
    json_decref(whole);
    json_decref(events);
    buf_free(&streamed);
    child_free(&c);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_heeds_lengths_stops_seeds_and_the_models_name)
{
    SERVE("--threads", "1", "--temp", "1");
#define HEAD "{'messages':[{'role':'user','content':'Tell me a story.'}]"
    json_t *a = ask(CHAT, HEAD ",'seed':7,'max_tokens':30}", 200), *b = ask(CHAT, HEAD ",'seed':7,"
                    "'max_completion_tokens':30,'user':'u','model':'default'}", 200);
    json_t *c = ask(CHAT, HEAD ",'seed':8,'max_tokens':30}", 200), *d = ask(CHAT, HEAD ",'max_tokens':3}", 200);
    const char *first = text_at(a, "choices.0.message.content");
    CHECK_STR(first, text_at(b, "choices.0.message.content"));
    CHECK(strcmp(first, text_at(c, "choices.0.message.content")) != 0);
    CHECK_STR(text_at(d, "choices.0.finish_reason"), "length");
    CHECK_EQ(number_at(d, "usage.completion_tokens"), 3);
    json_t *e = ask(CHAT, HEAD ",'seed':7,'max_tokens':30,'stop':['zzz',' ']}", 200);
    CHECK_STR(text_at(e, "choices.0.finish_reason"), "stop");
    size_t n = strlen(text_at(e, "choices.0.message.content"));
    CHECK(n > 0 && strncmp(first, text_at(e, "choices.0.message.content"), n) == 0 && first[n] == ' ');
    json_t *f = ask(CHAT, HEAD ",'temperature':0,'max_tokens':9}", 200), *g = ask(CHAT, HEAD ",'temperature':1,"
                    "'top_k':1,'seed':3,'max_tokens':9}", 200);
    CHECK_STR(text_at(f, "choices.0.message.content"), text_at(g, "choices.0.message.content"));
    for (size_t i = 0; i < 7; i++) json_decref((json_t *[]){a, b, c, d, e, f, g}[i]);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_completes_texts_and_ids)
{
    struct buf text = {0};
    SERVE("--threads", "1");
    json_t *a = ask("/v1/completions", "{'prompt':'A ship is','max_tokens':6,'logprobs':3}", 200);
    CHECK_STR(text_at(a, "object"), "text_completion");
    CHECK_EQ(number_at(a, "usage.completion_tokens"), 6);
    const json_t *tokens = json_at(a, "choices.0.logprobs.tokens"), *t;
    size_t i;
    CHECK_EQ(json_array_size(tokens), 6);
    json_array_foreach(tokens, i, t) buf_puts(&text, json_string_value(t));
    CHECK_STR(text.data, text_at(a, "choices.0.text"));
    for (i = 0; i < 6; i++) { /* greedy: each is the likeliest */
        const json_t *top = json_array_get(json_at(a, "choices.0.logprobs.top_logprobs"), i);
        double p = json_real_value(json_array_get(json_at(a, "choices.0.logprobs.token_logprobs"), i));
        CHECK_EQ(json_object_size(top), 3);
        CHECK_NEAR(json_real_value(json_object_get(top, json_string_value(json_array_get(tokens, i)))), p, 0);
        CHECK(p <= 0);
    }
    json_t *events = stream_of("/v1/completions", "{'prompt':['A ship is'],'max_tokens':6,'stream':true}");
    text.len = 0;
    gather(events, "text", &text);
    CHECK_STR(text.data, text_at(a, "choices.0.text"));
    json_decref(a);
    a = ask("/v1/completions", "{'prompt':[300,301,302],'max_tokens':2}", 200);
    CHECK_EQ(number_at(a, "usage.prompt_tokens"), 3);
    json_decref(a);
    json_decref(events);
    buf_free(&text);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_gives_the_log_probabilities_of_a_chat)
{
    SERVE("--threads", "1");
    json_t *a = ask(CHAT, "{'messages':[{'role':'user','content':'Hello!'}],'logprobs':true,'top_logprobs':"
                    "2,'max_tokens':5}", 200);
    const json_t *list = json_at(a, "choices.0.logprobs.content");
    CHECK_EQ(json_array_size(list), 5);
    for (size_t i = 0; i < 5; i++) {
        const json_t *t = json_array_get(list, i);
        CHECK_EQ(json_array_size(json_at(t, "top_logprobs")), 2);
        CHECK_STR(text_at(t, "token"), text_at(t, "top_logprobs.0.token"));
        CHECK_EQ(json_array_size(json_at(t, "bytes")), strlen(text_at(t, "token")));
    }
    json_decref(a);
    json_t *events = stream_of(CHAT, "{'messages':[{'role':'user','content':'Hello!'}],'logprobs':true,"
                               "'max_tokens':5,'stream':true}"), *e;
    size_t i, n = 0;
    json_array_foreach(events, i, e) n += json_array_size(json_at(e, "choices.0.logprobs.content"));
    CHECK_EQ(n, 5);
    json_decref(events);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- tools and schemas */

TEST(serve_hands_a_call_to_its_client_and_takes_the_result)
{
    struct buf body = {0}, arguments = {0};
    SERVE("--threads", "1");
    json_t *a = ask(CHAT, "{'messages':[" QUESTION "],'tools':[" CALCULATOR "," READ "]}", 200);
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "tool_calls");
    CHECK(json_is_null(json_at(a, "choices.0.message.content")));
    CHECK_EQ(json_array_size(json_at(a, "choices.0.message.tool_calls")), 1);
    const json_t *call = json_at(a, "choices.0.message.tool_calls.0");
    CHECK_STR(text_at(call, "type"), "function");
    CHECK_STR(text_at(call, "function.name"), "calculator");
    json_t *given = json_loads(text_at(call, "function.arguments"), 0, NULL);
    CHECK(json_is_string(json_object_get(given, "expression")));
    json_decref(given);

    /* It comes back as it was, so that its pages are known: all whole pages of prompt and call. */
    char *again = json_dumps(json_at(a, "choices.0.message"), JSON_COMPACT);
    buf_printf(&body, "{'messages':[" QUESTION ",%s,{'role':'tool','tool_call_id':'%s','content':'51'}],", again,
               text_at(call, "id"));
    buf_puts(&body, "'tools':[" CALCULATOR "," READ "]}");
    json_t *b = ask(CHAT, body.data, 200);
    CHECK_STR(text_at(b, "choices.0.finish_reason"), "stop");
    CHECK(strstr(text_at(b, "choices.0.message.content"), "51") != NULL);
    long long had = number_at(a, "usage.total_tokens") / 16 * 16 - 16;
    CHECK(number_at(b, "usage.prompt_tokens_details.cached_tokens") >= had);

    json_t *events = stream_of(CHAT, "{'messages':[" QUESTION "],'tools':[" CALCULATOR "," READ "],'stream':true}");
    size_t n = json_array_size(events);
    gather(events, "delta.tool_calls.0.function.arguments", &arguments);
    CHECK_STR(arguments.data, text_at(call, "function.arguments"));
    CHECK_STR(text_at(json_array_get(events, n - 1), "choices.0.finish_reason"), "tool_calls");
    CHECK_STR(text_at(json_array_get(events, n - 3), "choices.0.delta.tool_calls.0.function.name"), "calculator");
    free(again);
    json_decref(a);
    json_decref(b);
    json_decref(events);
    buf_free(&body);
    buf_free(&arguments);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_has_a_call_where_one_is_required)
{
    static const char *const questions[] = {"Hello!", "What is plimsoll?", "Tell me a story.", "51"};
    SERVE("--threads", "1", "--temp", "1.5");
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        struct buf body = {0};
        const bool named = i % 2;
        buf_printf(&body, "{'messages':[{'role':'user','content':'%s'}],'seed':%zu,'max_tokens':400,", questions[i],
                   i);
        buf_printf(&body, "'tool_choice':%s,'tools':[" CALCULATOR "," READ "]}",
                   named ? "{'type':'function','function':{'name':'read'}}" : "'required'");
        json_t *a = ask(CHAT, body.data, 200);
        const json_t *call = json_at(a, "choices.0.message.tool_calls.0");
        if (!call) CHECK_STR(text_at(a, "choices.0.finish_reason"), "length"); /* a string can be endless */
        if (call && named) CHECK_STR(text_at(call, "function.name"), "read");
        if (call) {
            json_t *given = json_loads(text_at(call, "function.arguments"), 0, NULL);
            const char *which = strcmp(text_at(call, "function.name"), "read") == 0 ? "path" : "expression";
            CHECK(json_object_size(given) == 1 && json_is_string(json_object_get(given, which)));
            json_decref(given);
        }
        json_decref(a);
        buf_free(&body);
    }
    json_t *a = ask(CHAT, "{'messages':[" QUESTION "],'tools':[" CALCULATOR "],'tool_choice':'required'}", 200);
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.0.function.name"), "calculator");
    json_decref(a);
    a = ask(CHAT, "{'messages':[" QUESTION "],'tools':[" CALCULATOR "],'tool_choice':'none','max_tokens':9}", 200);
    CHECK(!json_at(a, "choices.0.message.tool_calls"));
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

/* References, a property that is named like a keyword, types as a list, and (not strict) what no grammar can say. */
#define SCHEMA                                                                                                        \
    "{'type':'object','title':'T','properties':{'sure':{'$ref':'#/$defs/Sure','description':'d'},'n':{'type':"         \
    "['integer','null'],'minimum':5},'all':{'type':'array','maxItems':2,'items':{'allOf':[{'$ref':'#/$defs/Sure'}]}}," \
    "'format':{'const':{'pattern':'p'}}},'required':['sure','n','all','format'],'additionalProperties':true,"          \
    "'$defs':{'Sure':{'type':'string','enum':['yes','no'],'deprecated':true}}}"

TEST(serve_answers_in_the_schema_that_was_asked_for)
{
    SERVE("--threads", "1", "--temp", "1.2");
    for (int seed = 0; seed < 4; seed++) {
        struct buf body = {0};
        buf_printf(&body, "{'seed':%d,'max_tokens':300,'messages':[{'role':'user','content':'Who?'}],", seed);
        buf_puts(&body, "'response_format':{'type':'json_schema','json_schema':{'name':'x','schema':" SCHEMA "}}}");
        json_t *a = ask(CHAT, body.data, 200);
        CHECK_STR(text_at(a, "choices.0.finish_reason"), "stop");
        json_t *v = json_loads(text_at(a, "choices.0.message.content"), 0, NULL);
        const char *sure = text_at(v, "sure");
        CHECK(sure && (strcmp(sure, "yes") == 0 || strcmp(sure, "no") == 0));
        CHECK(json_is_null(json_at(v, "n")) || json_integer_value(json_at(v, "n")) >= 5);
        CHECK(json_is_array(json_at(v, "all")) && json_array_size(json_at(v, "all")) <= 2);
        CHECK_STR(text_at(v, "format.pattern"), "p");
        json_decref(v);
        json_decref(a);
        buf_free(&body);
    }
    for (int seed = 0; seed < 4; seed++) { /* any JSON, by itself or where a schema leaves it open */
        struct buf body = {0};
        buf_printf(&body, "{'seed':%d,'max_tokens':%d,'messages':[{'role':'user','content':'Who?'}],", seed,
                   CHECK_SANITIZED ? 100 : 600);
        buf_puts(&body, seed % 2 ? "'response_format':{'type':'json_object'}}"
                                 : "'response_format':{'type':'json_schema','json_schema':{'schema':{'type':'object',"
                                   "'properties':{'a':{},'b':{'type':'array','maxItems':3},'c':{'type':'object',"
                                   "'additionalProperties':{'type':'integer'}}},'required':['a','b','c']}}}}");
        json_t *a = ask(CHAT, body.data, 200);
        const bool whole = strcmp(text_at(a, "choices.0.finish_reason"), "stop") == 0;
        json_t *v = json_loads(text_at(a, "choices.0.message.content"), 0, NULL);
        CHECK(!whole || json_is_object(v)); /* a string can be endless */
        if (whole && seed % 2 == 0) CHECK(json_is_array(json_at(v, "b")) && json_is_object(json_at(v, "c")));
        json_decref(v);
        json_decref(a);
        buf_free(&body);
    }
    json_t *a = ask(CHAT, "{'messages':[{'role':'user','content':'x'}],'response_format':{'type':'json_schema',"
                    "'json_schema':{'strict':true,'schema':{'type':'array','items':{'type':'null'},'uniqueItems':true}}"
                    "}}", 400);
    CHECK(strstr(text_at(a, "error.message"), "uniqueItems is not known") != NULL);
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

/* As clients send them: no content beside calls or in a result, refusals, and a call whose arguments are no JSON. */
TEST(serve_reads_a_conversation_as_others_left_it)
{
    SERVE("--threads", "1");
    json_t *a = ask(CHAT, "{'max_tokens':3,'messages':[{'role':'developer','content':'s'},{'role':'user','content':'x'}"
                    ",{'role':'assistant','content':null},{'role':'user','content':'y'},"
                    "{'role':'assistant','content':[{'type':'refusal','refusal':'no'}]},{'role':'user','content':'z'},"
                    "{'role':'assistant','tool_calls':[{'id':'c','type':'function','function':{'name':'f','arguments':"
                    "'{oh'}}]},{'role':'tool','tool_call_id':'c','content':null}],'tools':[{'type':'function',"
                    "'function':{'name':'f','description':null,'parameters':null}}]}", 200);
    CHECK(number_at(a, "usage.prompt_tokens") > 40);
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- what a model may write */

#define SCRIPTED(answers)                                                                                             \
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", quoted(answers)))
#define CALL(path) "<tool_call>{\\'name\\':\\'read\\',\\'arguments\\':{\\'path\\':\\'" path "\\'}}</tool_call>"
#define ANY "{'messages':[{'role':'user','content':'x'}],'max_tokens':200"

TEST(serve_keeps_thinking_apart)
{
    struct buf thinking = {0}, content = {0};
    SCRIPTED("{'answer': '<think>\\nOne < two.\\nSo.\\n</think>\\n\\nIt is \\u00e9 <think> here.'}\n");
    json_t *a = ask(CHAT, ANY "}", 200), *events = stream_of(CHAT, ANY ",'stream':true}");
    CHECK_STR(text_at(a, "choices.0.message.reasoning_content"), "One < two.\nSo.");
    CHECK_STR(text_at(a, "choices.0.message.content"), "It is \u00e9 <think> here.");
    gather(events, "delta.reasoning_content", &thinking);
    gather(events, "delta.content", &content);
    CHECK_STR(thinking.data, "One < two.\nSo.");
    CHECK_STR(content.data, "It is \u00e9 <think> here.");
    json_decref(a);
    json_decref(events);
    buf_free(&thinking);
    buf_free(&content);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_finds_calls_behind_words_and_what_only_looks_like_one)
{
    struct buf content = {0};
    SCRIPTED("{'answer': 'I look.\\n" CALL("a") "\\n" CALL("b") "'}\n"
             "{'answer': 'I look.\\n" CALL("a") "\\n" CALL("b") "'}\n"
             "{'answer': 'A <tool is no call <tool_call>{oh'}\n{'answer': 'A <tool is no call <tool_call>{oh'}\n");
    /* A schema that no grammar can hold a call to, or the script could not say what it says. */
#define ODD "{'type':'function','function':{'name':'read','parameters':{'type':'object','properties':{'path':"    \
            "{'type':'string','not':{}}}}}}"
    json_t *a = ask(CHAT, ANY ",'tools':[" ODD "]}", 200);
    CHECK_STR(text_at(a, "choices.0.message.content"), "I look.");
    CHECK_EQ(json_array_size(json_at(a, "choices.0.message.tool_calls")), 2);
    CHECK_STR(text_at(a, "choices.0.message.tool_calls.1.function.arguments"), "{\"path\":\"b\"}");
    const json_t *calls = json_at(a, "choices.0.message.tool_calls");
    CHECK(strcmp(text_at(calls, "0.id"), text_at(calls, "1.id")) != 0);
    json_decref(a);
    a = ask(CHAT, ANY ",'tools':[" ODD "],'parallel_tool_calls':false}", 200);
    CHECK_EQ(json_array_size(json_at(a, "choices.0.message.tool_calls")), 1);
    json_decref(a);
    a = ask(CHAT, ANY ",'tools':[" ODD "]}", 200);
    CHECK_STR(text_at(a, "choices.0.message.content"), "A <tool is no call <tool_call>{oh");
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "stop");
    json_decref(a);
    a = stream_of(CHAT, ANY ",'tools':[" ODD "],'stream':true}");
    gather(a, "delta.content", &content);
    CHECK_STR(content.data, "A <tool is no call <tool_call>{oh");
    json_decref(a);
    buf_free(&content);
    CHECK_EQ(serve_end(), 130);
}

/* Written anew it would have other blanks, and so other pages from there on. */
TEST(serve_sends_a_call_back_to_the_model_as_it_was_written)
{
    struct buf body = {0};
    SCRIPTED("{'answer': '<tool_call>  {\\'name\\':  \\'read\\',  \\'arguments\\': {\\'path\\':   "
             "\\'some/long/path\\' } }  </tool_call>'}\n{'answer': 'So.'}\n");
    json_t *a = ask(CHAT, ANY ",'tools':[" ODD "]}", 200);
    char *made = json_dumps(json_at(a, "choices.0.message"), JSON_COMPACT);
    buf_printf(&body, "{'messages':[{'role':'user','content':'x'},%s,{'role':'tool','content':'y','tool_call_id':",
               made);
    buf_printf(&body, "'%s'}],", text_at(a, "choices.0.message.tool_calls.0.id"));
    buf_puts(&body, "'tools':[" ODD "]}");
    json_t *b = ask(CHAT, body.data, 200);
    CHECK_STR(text_at(b, "choices.0.message.content"), "So.");
    long long pages = number_at(a, "usage.total_tokens") / 16 - 1;
    CHECK(number_at(b, "usage.prompt_tokens_details.cached_tokens") >= 16 * pages);
    free(made);
    json_decref(a);
    json_decref(b);
    buf_free(&body);
    CHECK_EQ(serve_end(), 130);
}

/* With its thinking, where the client sends that too, as long as the turn goes on. */
TEST(serve_tells_a_model_what_it_thought_before_its_call)
{
    struct buf body = {0};
    SCRIPTED("{'answer': '<think>\\nWhere is it?\\n</think>\\n\\n" CALL("some/long/path") "'}\n{'answer': 'So.'}\n");
    json_t *a = ask(CHAT, ANY ",'tools':[" ODD "]}", 200);
    const long long pages = number_at(a, "usage.total_tokens") / 16 - 1;
    long long tokens[5], cached = 0;
    const char *id = text_at(a, "choices.0.message.tool_calls.0.id");
    static const char *const with[] = {"'tool_calls'", "'reasoning_content':null,'tool_calls'",
        "'reasoning_content':'Where is it?','tool_calls'", "'reasoning':' Where is it?\\n','tool_calls'",
        "'reasoning_content':'Where is it?','tool_calls'"};
    for (size_t i = 0; i < COUNT_OF(with); i++) {
        body.len = 0;
        buf_printf(&body, "{'messages':[{'role':'user','content':'x'},{'role':'assistant',%s:[{'id':'%s','type':"
                   "'function','function':{'name':'read','arguments':'{\\'path\\':\\'some/long/path\\'}'}}]},"
                   "{'role':'tool','content':'y','tool_call_id':'%s'}%s],'tools':[" ODD "]}", with[i], id, id,
                   i == 4 ? ",{'role':'user','content':''}" : "");
        json_t *b = ask(CHAT, body.data, 200);
        tokens[i] = number_at(b, "usage.prompt_tokens");
        if (i == 2) cached = number_at(b, "usage.prompt_tokens_details.cached_tokens");
        json_decref(b);
    }
    CHECK(cached >= 16 * pages);
    CHECK_EQ(tokens[1], tokens[0]);
    CHECK(tokens[2] > tokens[0] + 4);
    CHECK_EQ(tokens[3], tokens[2]);
    CHECK(tokens[4] < tokens[2]); /* a turn later it is not told */
    json_decref(a);
    json_decref(ask(CHAT, "{'messages':[{'role':'assistant','reasoning':['a'],'tool_calls':[{'id':'c','type':"
                    "'function','function':{'name':'f','arguments':'{}'}}]}]}", 400));
    buf_free(&body);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_tells_of_a_pass_that_failed_and_serves_on)
{
    struct response r;
    SCRIPTED("{'answer': 'one two three four'}\n{'fault': {'pass': 2, 'text': 'the device was lost'}}\n"
             "{'fault': {'pass': 4, 'text': 'the device was lost'}}\n");
    json_t *a = ask(CHAT, ANY "}", 500);
    CHECK_STR(text_at(a, "error.code"), "engine_failed");
    CHECK(strstr(text_at(a, "error.message"), "the device was lost") != NULL);
    json_decref(a);
    post(CHAT, ANY ",'stream':true}", &r); /* what was begun ends with an error, and without [DONE] */
    CHECK_EQ(r.status, 200);
    CHECK(strstr(r.body.data, "the device was lost") && !strstr(r.body.data, "[DONE]"));
    response_free(&r);
    CHECK_NEAR(metric("plimsoll:requests_failed_total"), 2, 0);
    a = ask(CHAT, ANY "}", 200);
    CHECK_STR(text_at(a, "choices.0.message.content"), "one two three four");
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

CHECK_MAIN
