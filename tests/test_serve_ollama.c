/* `plimsoll serve` as clients of Ollama's API see it: chats, prompts, streams, calls, options. */
#include "tests/serve_rig.h"
#include "tests/vocab_file.h"

#define CHAT "/api/chat"
#define GENERATE "/api/generate"
#define WORDS "tests/fixtures/llama-gqa.gguf" /* the vocabulary of scripted answers */
#define SCRIPTED(answers, ...)                                                                                        \
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", quoted(answers)), ##__VA_ARGS__)

#define CALCULATOR                                                                                                    \
    "{'type':'function','function':{'name':'calculator','description':'exact arithmetic','parameters':"               \
    "{'type':'object','properties':{'expression':{'type':'string'}},'required':['expression']}}}"
/* A schema that no grammar can hold a call to, or the script could not say what it says. */
#define READ "{'type':'function','function':{'name':'read','parameters':{'type':'object','properties':{'path':"       \
             "{'type':'string','not':{}}}}}}"
#define CALL(path) "<tool_call>{\\'name\\':\\'read\\',\\'arguments\\':{\\'path\\':\\'" path "\\'}}</tool_call>"
#define USER "{'role':'user','content':'x'}"
#define ASKED "{'role':'user','content':'What is 17 * 3? Please use the calculator.'}"
#define ANY "{'messages':[" USER "]"

/* What the lines have under this path, put together. */
static void join(const json_t *lines, const char *path, struct buf *out)
{
    const json_t *line;
    size_t i;
    json_array_foreach(lines, i, line) {
        const char *text = text_at(line, path);
        if (text) buf_puts(out, text);
    }
    buf_puts(out, "");
}

static const json_t *last_of(const json_t *lines) { return json_array_get(lines, json_array_size(lines) - 1); }

/* The text of a whole answer to a chat with these options; the caller's. */
static char *said(const char *options)
{
    struct buf body = {0};
    buf_printf(&body, "{'stream':false,'messages':[{'role':'user','content':'Tell me a story.'}],'options':{%s}}",
               options);
    json_t *m = ask(CHAT, body.data, 200);
    char *text = strdup(text_at(m, "message.content"));
    json_decref(m);
    buf_free(&body);
    return text;
}

static void check_said(const char *one, const char *other, bool same)
{
    char *a = said(one), *b = said(other);
    if ((strcmp(a, b) == 0) != same) check_fail(__FILE__, __LINE__, "%s: %s\n%s: %s", one, a, other, b);
    free(a);
    free(b);
}

/* ---------------------------------------------------------------- texts */

static void check_figures(const json_t *m, const json_t *chat)
{
    int year, month, day, hour, minute, second, fraction, n = 0;
    CHECK_STR(text_at(m, "model"), "plimsoll-tiny");
    CHECK_STR(text_at(m, "done_reason"), "stop");
    CHECK(json_is_true(json_object_get(m, "done")));
    CHECK_EQ(number_at(m, "prompt_eval_count"), number_at(chat, "usage.prompt_tokens"));
    CHECK_EQ(number_at(m, "eval_count"), number_at(chat, "usage.completion_tokens"));
    const long long read = number_at(m, "prompt_eval_duration"), wrote = number_at(m, "eval_duration");
    CHECK(read > 0 && wrote > 0 && number_at(m, "load_duration") >= 0);
    CHECK(number_at(m, "total_duration") >= number_at(m, "load_duration") + read + wrote - 3);
    CHECK_EQ(sscanf(text_at(m, "created_at"), "%4d-%2d-%2dT%2d:%2d:%2d.%6dZ%n", &year, &month, &day, &hour, &minute,
                    &second, &fraction, &n), 7);
    CHECK_EQ(n, 27);
}

TEST(ollama_chats_say_what_a_chat_says_whole_and_as_a_stream)
{
    static const char messages[] = "'messages':[{'role':'system','content':'Be brief.'},{'role':'user','content':"
                                   "'What is plimsoll?','images':[]}]";
    struct buf body = {0}, text = {0};
    SERVE("--threads", "1");
    json_t *chat = ask("/v1/chat/completions", "{'messages':[{'role':'system','content':'Be brief.'},{'role':'user',"
                       "'content':'What is plimsoll?'}]}", 200);
    buf_printf(&body, "{'model':'plimsoll-tiny:latest','stream':false,'keep_alive':'5m','format':'',%s}", messages);
    json_t *m = ask(CHAT, body.data, 200);
    CHECK_STR(text_at(m, "message.content"), text_at(chat, "choices.0.message.content"));
    CHECK_STR(text_at(m, "message.role"), "assistant");
    CHECK(!json_at(m, "message.thinking") && !json_at(m, "message.tool_calls") && !json_at(m, "logprobs"));
    check_figures(m, chat);
    body.len = 0;
    buf_printf(&body, "{'model':'plimsoll-tiny',%s}", messages); /* a stream is what they get who say nothing */
    json_t *lines = lines_of(CHAT, body.data);
    CHECK(json_array_size(lines) > 6);
    join(lines, "message.content", &text);
    CHECK_STR(text.data, text_at(m, "message.content"));
    CHECK_STR(text_at(lines, "0.message.role"), "assistant");
    CHECK(!json_at(lines, "0.done_reason") && !json_at(lines, "0.eval_count"));
    CHECK_STR(text_at(last_of(lines), "message.content"), "");
    check_figures(last_of(lines), chat);
    CHECK_NEAR(metric("vllm:request_success_total{finished_reason=\"stop\"}"), 3, 0);
    for (size_t i = 0; i < 3; i++) json_decref((json_t *[]){chat, m, lines}[i]);
    buf_free(&body);
    buf_free(&text);
    CHECK_EQ(serve_end(), 130);
}

TEST(ollama_prompts_are_a_chat_or_as_they_are)
{
    struct buf text = {0};
    SERVE("--threads", "1");
    json_t *chat = ask("/v1/chat/completions", "{'messages':[{'role':'system','content':'Be brief.'},{'role':'user',"
                       "'content':'What is plimsoll?'}]}", 200);
    json_t *m = ask(GENERATE, "{'system':'Be brief.','prompt':'What is plimsoll?','stream':false,'suffix':'',"
                    "'context':[],'template':''}", 200);
    CHECK_STR(text_at(m, "response"), text_at(chat, "choices.0.message.content"));
    CHECK(!json_at(m, "message") && !json_at(m, "context"));
    check_figures(m, chat);
    json_t *lines = lines_of(GENERATE, "{'system':'Be brief.','prompt':'What is plimsoll?'}");
    join(lines, "response", &text);
    CHECK_STR(text.data, text_at(m, "response"));
    CHECK_STR(text_at(last_of(lines), "response"), "");
    for (size_t i = 0; i < 3; i++) json_decref((json_t *[]){chat, m, lines}[i]);
    chat = ask("/v1/completions", "{'prompt':'<think>What is','max_tokens':9}", 200);
    m = ask(GENERATE, "{'prompt':'<think>What is','raw':true,'stream':false,'think':false,'options':"
            "{'num_predict':9}}", 200);
    CHECK_STR(text_at(m, "response"), text_at(chat, "choices.0.text"));
    CHECK_STR(text_at(m, "done_reason"), text_at(chat, "choices.0.finish_reason"));
    CHECK_EQ(number_at(m, "prompt_eval_count"), number_at(chat, "usage.prompt_tokens"));
    json_decref(chat);
    json_decref(m);
    buf_free(&text);
    CHECK_EQ(serve_end(), 130);
}

TEST(ollama_loads_a_model_that_is_there_by_an_empty_question)
{
    static const struct { const char *path, *body, *reason; } asked[] = {
        {GENERATE, "{'model':'plimsoll-tiny'}", "load"}, {GENERATE, "{'prompt':'','keep_alive':-1}", "load"},
        {GENERATE, "{'prompt':null,'keep_alive':0,'raw':true}", "unload"}, {CHAT, "{'messages':[]}", "load"},
        {CHAT, "{'model':'default','keep_alive':'0h0m'}", "unload"}, {CHAT, "{'keep_alive':'1h0m'}", "load"},
    };
    SERVE("--threads", "1");
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        json_t *m = ask(asked[i].path, asked[i].body, 200);
        const char *text = text_at(m, strcmp(asked[i].path, CHAT) == 0 ? "message.content" : "response");
        CHECK_STR(text, "");
        CHECK_STR(text_at(m, "done_reason"), asked[i].reason);
        CHECK(json_is_true(json_object_get(m, "done")));
        json_decref(m);
    }
    json_decref(ask(CHAT, ANY ",'stream':false,'options':{'num_predict':1}}", 200)); /* it stayed */
    CHECK_EQ(serve_end(), 130);
}

/* All that the context leaves, and of a model with a window the pool holds less than that. */
TEST(ollama_fills_a_context_that_is_longer_than_a_window)
{
    SERVE("-m", "tests/fixtures/llama-window.gguf", "--ctx", "512", "--parallel", "1");
    json_t *m = ask(GENERATE, "{'prompt':'a','raw':true,'stream':false,'options':{'num_predict':-1,'temperature':0,"
                    "'repeat_penalty':0.1}}", 200);
    CHECK_EQ(number_at(m, "prompt_eval_count") + number_at(m, "eval_count"), 512);
    json_decref(m);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- options */

TEST(ollama_options_do_what_the_fields_of_a_chat_do)
{
    SERVE("--threads", "1", "--temp", "0");
#define HOT "'temperature':1.5,'num_predict':40,"
    check_said(HOT "'seed':7", HOT "'seed':7", true);
    check_said(HOT "'seed':7", HOT "'seed':8", false);
    /* Of what is likely alone, two may be alike. */
#define ANYTHING "'temperature':30,'top_p':1,'top_k':0,'min_p':0,'num_predict':40,"
    check_said(ANYTHING "'seed':-1", ANYTHING "'seed':-1", false);
    check_said("'num_predict':5", "'num_predict':9", false);
    check_said(HOT "'seed':7,'top_k':1", "'num_predict':40", true);
    check_said(HOT "'seed':7,'top_p':0.01", "'num_predict':40", true);
    check_said(HOT "'seed':7,'min_p':1", "'num_predict':40", true);
    check_said("'num_predict':40,'repeat_penalty':5", "'num_predict':40", false);
    check_said("'num_predict':40,'repeat_penalty':5,'repeat_last_n':0", "'num_predict':40", true);
    check_said("'num_predict':40,'repeat_penalty':5,'repeat_last_n':-1", "'num_predict':40,'repeat_penalty':5,"
               "'repeat_last_n':2", false);
    check_said("'num_predict':40,'presence_penalty':20", "'num_predict':40", false);
    check_said("'num_predict':40,'frequency_penalty':20", "'num_predict':40", false);
    /* About the machine, or what they are anyway. */
    check_said("'num_predict':40,'num_ctx':4096,'num_keep':4,'num_batch':512,'num_gpu':1,'main_gpu':0,'low_vram':false,"
               "'f16_kv':true,'use_mmap':true,'use_mlock':false,'num_thread':8,'numa':false,'mirostat':0,"
               "'mirostat_tau':5,'mirostat_eta':0.1,'tfs_z':1,'typical_p':1.0,'penalize_newline':true,"
               "'repeat_penalty':1,'vocab_only':false,'embedding_only':false,'logits_all':false,'stop':null",
               "'num_predict':40", true);
    CHECK_EQ(serve_end(), 130);
}

TEST(ollama_answers_end_where_their_options_say)
{
    SCRIPTED("{'answer': 'One two three END four'}\n{'answer': 'One two three END four'}\n"
             "{'answer': 'word after word ', 'end': false}\n{'answer': 'word after word ', 'end': false}\n"
             "{'answer': 'word after word ', 'end': false}\n{'answer': 'word after word ', 'end': false}\n",
             "--ctx", "256", "-n", "20");
    json_t *m = ask(CHAT, ANY ",'stream':false,'options':{'stop':'END'}}", 200);
    CHECK_STR(text_at(m, "message.content"), "One two three ");
    CHECK_STR(text_at(m, "done_reason"), "stop");
    json_decref(m);
    m = ask(CHAT, ANY ",'stream':false,'options':{'stop':['zzz','three']}}", 200);
    CHECK_STR(text_at(m, "message.content"), "One two ");
    json_decref(m);
    static const char *const rooms[] = {"", "'num_predict':-1", "'num_predict':-2", "'num_predict':5000"};
    for (size_t i = 0; i < COUNT_OF(rooms); i++) { /* nothing said: as the server was started */
        struct buf body = {0};
        buf_printf(&body, ANY ",'stream':false,'options':{%s}}", rooms[i]);
        m = ask(CHAT, body.data, 200);
        CHECK_STR(text_at(m, "done_reason"), "length");
        CHECK_EQ(number_at(m, "eval_count"), i == 0 ? 20 : 256 - number_at(m, "prompt_eval_count"));
        json_decref(m);
        buf_free(&body);
    }
    CHECK_EQ(serve_end(), 130);
}

TEST(ollama_answers_keep_to_a_format)
{
    SERVE("--threads", "1");
    json_t *m = ask(CHAT, ANY ",'stream':false,'format':{'type':'object','properties':{'sure':{'type':'string','enum':"
                    "['yes','no']}},'required':['sure']}}", 200);
    json_t *v = json_loads(text_at(m, "message.content"), 0, NULL);
    CHECK(json_is_string(json_object_get(v, "sure")));
    json_decref(v);
    json_decref(m);
    m = ask(GENERATE, "{'prompt':'x','stream':false,'format':'json','options':{'num_predict':20}}", 200);
    CHECK_EQ(text_at(m, "response")[0], '{');
    json_decref(m);
    CHECK_EQ(serve_end(), 130);
}

TEST(ollama_tells_log_probabilities_of_every_token)
{
    SERVE("--threads", "1");
#define THREE "'logprobs':true,'top_logprobs':2,'options':{'num_predict':3}}"
    json_t *m = ask(CHAT, ANY ",'stream':false," THREE, 200), *lines = lines_of(CHAT, ANY "," THREE), *line;
    json_t *all = json_array(), *raw = ask(GENERATE, "{'prompt':'What','raw':true,'stream':false," THREE, 200);
    size_t i;
    CHECK_EQ(json_array_size(json_at(m, "logprobs")), 3);
    CHECK(json_is_real(json_at(m, "logprobs.0.logprob")) && json_is_string(json_at(m, "logprobs.0.token")));
    CHECK_EQ(json_array_size(json_at(m, "logprobs.0.top_logprobs")), 2);
    json_array_foreach(lines, i, line) json_array_extend(all, json_object_get(line, "logprobs"));
    CHECK(json_equal(all, json_at(m, "logprobs")));
    CHECK_EQ(json_array_size(json_at(raw, "logprobs")), 3);
    CHECK_EQ(json_array_size(json_at(raw, "logprobs.2.top_logprobs")), 2);
    for (i = 0; i < 4; i++) json_decref((json_t *[]){m, lines, all, raw}[i]);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- calls */

TEST(ollama_hands_a_call_to_its_client_and_takes_the_result)
{
    struct buf body = {0};
    SERVE("--threads", "1");
    json_t *m = ask(CHAT, "{'stream':false,'messages':[" ASKED "],'tools':[" CALCULATOR "]}", 200);
    CHECK_STR(text_at(m, "message.content"), "");
    CHECK_STR(text_at(m, "done_reason"), "stop");
    CHECK_STR(text_at(m, "message.tool_calls.0.function.name"), "calculator");
    CHECK(json_is_string(json_at(m, "message.tool_calls.0.function.arguments.expression")));
    CHECK(strncmp(text_at(m, "message.tool_calls.0.id"), "call_", 5) == 0);
    json_t *lines = lines_of(CHAT, "{'messages':[" ASKED "],'tools':[" CALCULATOR "]}");
    CHECK_EQ(json_array_size(lines), 2);
    CHECK(json_equal(json_at(lines, "0.message.tool_calls.0.function"), json_at(m, "message.tool_calls.0.function")));
    CHECK_NEAR(metric("plimsoll:tool_calls_total"), 2, 0);
    char *made = json_dumps(json_at(m, "message"), JSON_COMPACT);
    buf_printf(&body, "{'stream':false,'messages':[" ASKED ",%s,{'role':'tool','tool_name':'calculator','content':'51'}"
               "],'tools':[" CALCULATOR "]}", made);
    json_t *b = ask(CHAT, body.data, 200);
    CHECK(strstr(text_at(b, "message.content"), "51") != NULL);
    CHECK(metric("vllm:prefix_cache_hits_total") >= (double)(number_at(m, "prompt_eval_count") / 16 * 16));
    for (size_t i = 0; i < 3; i++) json_decref((json_t *[]){m, lines, b}[i]);
    free(made);
    buf_free(&body);
    CHECK_EQ(serve_end(), 130);
}

/* How many tokens the messages have, in a chat or in Ollama's. */
static long long prompt_of(const char *path, const char *messages)
{
    struct buf body = {0};
    buf_printf(&body, "{'stream':false,'messages':[%s],%s}", messages,
               strcmp(path, CHAT) == 0 ? "'options':{'num_predict':1}" : "'max_tokens':1");
    json_t *m = ask(path, body.data, 200);
    const long long n = number_at(m, strcmp(path, CHAT) == 0 ? "prompt_eval_count" : "usage.prompt_tokens");
    json_decref(m);
    buf_free(&body);
    return n;
}

/* Marks of this family have the numbers of calls, so it shows whose result one is. */
TEST(ollama_finds_the_call_that_a_result_is_of)
{
#define CALLED(id, name) "{" id "'function':{'name':'" name "','arguments':{'a':1}}}"
#define SAID(calls) USER ",{'role':'assistant','content':'','thinking':'','tool_calls':[" calls "]}"
#define RESULT(whose, text) ",{'role':'tool'," whose "'content':'" text "'}"
#define AS_CHAT(first, second)                                                                                        \
    USER ",{'role':'assistant','tool_calls':[{'id':'p','type':'function','function':{'name':'f','arguments':"          \
    "'{\\'a\\':1}'}},{'id':'q','type':'function','function':{'name':'g','arguments':'{\\'a\\':1}'}}]},"                \
    "{'role':'tool','tool_call_id':'" first "','content':'one'},{'role':'tool','tool_call_id':'" second "',"           \
    "'content':'two and a half'}"
#define BOTH_CALLS SAID(CALLED("", "f") "," CALLED("", "g"))
    static const struct { const char *messages; bool turned; } same[] = {
        {BOTH_CALLS RESULT("", "one") RESULT("", "two and a half"), false},
        {BOTH_CALLS RESULT("'tool_name':'f',", "one") RESULT("'tool_name':'g',", "two and a half"), false},
        {BOTH_CALLS RESULT("'name':'g',", "one") RESULT("'name':'f',", "two and a half"), true},
        {BOTH_CALLS RESULT("'tool_name':'g',", "one") RESULT("", "two and a half"), true},
        {SAID(CALLED("'id':'i','type':'function',", "f") "," CALLED("'id':'j',", "g"))
         RESULT("'tool_call_id':'i',", "one") RESULT("'tool_call_id':'j','tool_name':'g',", "two and a half"), false},
        {SAID(CALLED("'id':'i',", "f") "," CALLED("'id':'j',", "g"))
         RESULT("'tool_call_id':'j',", "one") RESULT("'tool_call_id':'i',", "two and a half"), true},
        {SAID(CALLED("'id':'i',", "f") "," CALLED("", "g"))
         RESULT("'tool_call_id':'lost',", "one") RESULT("", "two and a half"), true},
        {SAID(CALLED("", "f")) ",{'role':'assistant','tool_calls':[" CALLED("", "g") "]}" /* a turn in parts */
         RESULT("", "one") RESULT("", "two and a half"), false},
    };
    SERVE("-m", vocab_file_harmony(), "--engine", "scripted", "--ctx", "4096", "--script-file", serve_file("answers",
          quoted("{'answer': 'x'}\n")));
    const long long straight = prompt_of("/v1/chat/completions", AS_CHAT("p", "q"));
    const long long turned = prompt_of("/v1/chat/completions", AS_CHAT("q", "p"));
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        const long long n = prompt_of(CHAT, same[i].messages), wanted = same[i].turned ? turned : straight;
        if (n != wanted) check_fail(__FILE__, __LINE__, "%s: %lld, not %lld", same[i].messages, n, wanted);
    }
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- thinking */

#define ANSWER "'<think>\\nOne < two.\\nSo.\\n</think>\\n\\nI look \\u00e9.\\n" CALL("a") "\\n" CALL("b") "'"

TEST(ollama_keeps_thinking_text_and_calls_apart)
{
    struct buf thought = {0}, text = {0};
    SCRIPTED("{'answer': " ANSWER "}\n{'answer': " ANSWER "}\n{'answer': '<think>Hm.</think>So.'}\n"
             "{'answer': '<think>Hm.</think>So.'}\n{'answer': '<think>Hm.</think>So.'}\n");
    json_t *m = ask(CHAT, ANY ",'stream':false,'tools':[" READ "]}", 200);
    CHECK_STR(text_at(m, "message.thinking"), "One < two.\nSo.");
    CHECK_STR(text_at(m, "message.content"), "I look \u00e9.");
    CHECK_STR(text_at(m, "message.tool_calls.0.function.arguments.path"), "a");
    CHECK_STR(text_at(m, "message.tool_calls.1.function.arguments.path"), "b");
    CHECK_EQ(number_at(m, "message.tool_calls.1.function.index"), 1);
    json_t *lines = lines_of(CHAT, ANY ",'tools':[" READ "]}");
    join(lines, "message.thinking", &thought);
    join(lines, "message.content", &text);
    CHECK_STR(thought.data, "One < two.\nSo.");
    CHECK_STR(text.data, "I look \u00e9.");
    const json_t *calls = json_at(json_array_get(lines, json_array_size(lines) - 2), "message.tool_calls");
    CHECK_EQ(json_array_size(calls), 2);
    json_decref(m);
    json_decref(lines);
    m = ask(GENERATE, "{'prompt':'x','stream':false}", 200);
    CHECK_STR(text_at(m, "thinking"), "Hm.");
    CHECK_STR(text_at(m, "response"), "So.");
    json_decref(m);
    lines = lines_of(GENERATE, "{'prompt':'x'}");
    thought.len = 0;
    join(lines, "thinking", &thought);
    CHECK_STR(thought.data, "Hm.");
    json_decref(lines);
    m = ask(GENERATE, "{'prompt':'x','stream':false,'raw':true}", 200); /* what comes is one text */
    CHECK_STR(text_at(m, "response"), "<think>Hm.</think>So.");
    json_decref(m);
    buf_free(&thought);
    buf_free(&text);
    CHECK_EQ(serve_end(), 130);
}

TEST(ollama_tells_harmony_how_much_to_think)
{
    SERVE("-m", vocab_file_harmony(), "--engine", "scripted", "--ctx", "4096", "--script-file", serve_file("answers",
          quoted("{'marks': true, 'answer': '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>"
                 "final<|message|>One<|return|>'}\n")));
#define THINK(how) ask(CHAT, ANY ",'stream':false,'think':" how "}", 200)
    json_t *m[] = {THINK("'low'"), THINK("'medium'"), THINK("true")};
    CHECK(number_at(m[0], "prompt_eval_count") != number_at(m[1], "prompt_eval_count"));
    CHECK_EQ(number_at(m[1], "prompt_eval_count"), number_at(m[2], "prompt_eval_count"));
    CHECK_STR(text_at(m[0], "message.thinking"), "Hm.");
    CHECK_STR(text_at(m[0], "message.content"), "One");
    for (size_t i = 0; i < COUNT_OF(m); i++) json_decref(m[i]);
    json_t *e = ask(CHAT, ANY ",'think':'max'}", 400);
    CHECK_STR(text_at(e, "error"), "think is to be low, medium or high");
    json_decref(e);
    e = ask(CHAT, ANY ",'think':false}", 400);
    CHECK(strstr(text_at(e, "error"), "cannot be forbidden") != NULL);
    json_decref(e);
#define BACK(thought)                                                                                                 \
    USER ",{'role':'assistant'," thought "'tool_calls':[" CALLED("", "f") "]}" RESULT("", "y")
    CHECK(prompt_of(CHAT, BACK("'thinking':'Hm, so.',")) > prompt_of(CHAT, BACK("")) + 2);
    CHECK_EQ(serve_end(), 130);
}

CHECK_MAIN
