/* `plimsoll serve` as clients of Anthropic's Messages API see it: answers, streams, calls, counts, errors. */
#include "tests/serve_rig.h"
#include "tests/vocab_file.h"

#define MESSAGES "/v1/messages"
#define COUNT_TOKENS "/v1/messages/count_tokens"
#define WORDS "tests/fixtures/llama-gqa.gguf" /* the vocabulary of scripted answers */
#define SCRIPTED(answers, ...)                                                                                        \
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", quoted(answers)), ##__VA_ARGS__)

#define CALCULATOR                                                                                                    \
    "{'name':'calculator','description':'exact arithmetic','cache_control':{'type':'ephemeral'},'input_schema':"       \
    "{'type':'object','properties':{'expression':{'type':'string'}},'required':['expression']}}"
/* A schema that no grammar can hold a call to, or the script could not say what it says. */
#define READ "{'name':'read','type':'custom','input_schema':{'type':'object','properties':{'path':{'type':'string',"   \
             "'not':{}}}}}"
#define CALL(path) "<tool_call>{\\'name\\':\\'read\\',\\'arguments\\':{\\'path\\':\\'" path "\\'}}</tool_call>"
#define QUESTION                                                                                                      \
    "{'role':'user','content':[{'type':'text','text':'What is 17 * 3? Please use the calculator.',"                    \
    "'cache_control':{'type':'ephemeral'}}]}"
#define USER "{'role':'user','content':'x'}"
#define ANY "{'max_tokens':200,'messages':[" USER "]"

/* ---------------------------------------------------------------- events */

/* Without pings. */
static json_t *events_of(const char *body)
{
    json_t *list = named_events(MESSAGES, body);
    for (size_t i = json_array_size(list); i-- > 0;)
        if (strcmp(text_at(json_array_get(list, i), "type"), "ping") == 0) json_array_remove(list, i);
    return list;
}

/* The message that a client puts together of them; the caller's. */
static json_t *message_of(const json_t *events)
{
    const json_t *e;
    size_t i, n = json_array_size(events);
    long long open = -1, next = 0;
    struct buf input = {0};
    CHECK(n > 2);
    CHECK_STR(text_at(events, "0.type"), "message_start");
    json_t *m = json_deep_copy(json_at(events, "0.message")), *list = json_object_get(m, "content");
    for (i = 1; i + 2 < n; i++) {
        e = json_array_get(events, i);
        const char *type = text_at(e, "type"), *what = text_at(e, "delta.type");
        CHECK_EQ(number_at(e, "index"), open < 0 ? next : open);
        if (strcmp(type, "content_block_start") == 0) {
            CHECK(open < 0);
            open = next++;
            input.len = 0;
            json_array_append(list, json_object_get(e, "content_block"));
            continue;
        }
        CHECK(open >= 0);
        json_t *b = json_array_get(list, (size_t)open);
        if (strcmp(type, "content_block_stop") == 0) {
            open = -1;
            if (input.len > 0) json_object_set_new(b, "input", json_loadb(input.data, input.len, 0, NULL));
            continue;
        }
        CHECK_STR(type, "content_block_delta");
        if (strcmp(what, "input_json_delta") == 0) {
            buf_puts(&input, text_at(e, "delta.partial_json"));
            continue;
        }
        const char *name = strcmp(what, "text_delta") == 0 ? "text" : strcmp(what, "thinking_delta") == 0 ? "thinking"
                           : "signature";
        struct buf all = {0};
        buf_printf(&all, "%s%s", text_at(b, name), text_at(json_object_get(e, "delta"), name));
        json_object_set_new(b, name, json_string(all.data));
        buf_free(&all);
    }
    CHECK(open < 0);
    e = json_array_get(events, n - 2);
    CHECK_STR(text_at(e, "type"), "message_delta");
    CHECK_STR(text_at(json_array_get(events, n - 1), "type"), "message_stop");
    json_object_update(m, json_object_get(e, "delta"));
    CHECK(json_equal(json_at(e, "usage.input_tokens"), json_at(m, "usage.input_tokens")));
    json_object_set(m, "usage", json_object_get(e, "usage"));
    buf_free(&input);
    return m;
}

static long long prompt_of(const json_t *m)
{
    CHECK_EQ(number_at(m, "usage.cache_creation_input_tokens"), 0);
    return number_at(m, "usage.input_tokens") + number_at(m, "usage.cache_read_input_tokens");
}

/* What both of them say but their names and what was known already. */
static void check_same(json_t *whole, json_t *streamed)
{
    const json_t *v;
    size_t i;
    CHECK_EQ(prompt_of(whole), prompt_of(streamed));
    CHECK_EQ(number_at(whole, "usage.output_tokens"), number_at(streamed, "usage.output_tokens"));
    for (int k = 0; k < 2; k++) {
        json_t *o = k ? streamed : whole;
        json_object_del(o, "id");
        json_object_del(o, "usage");
        json_array_foreach(json_object_get(o, "content"), i, v) json_object_del(json_array_get(json_object_get(o,
            "content"), i), "id");
    }
    if (json_equal(whole, streamed)) return;
    char *a = json_dumps(whole, 0), *b = json_dumps(streamed, 0);
    check_fail(__FILE__, __LINE__, "%s\n%s", a, b);
}

/* ---------------------------------------------------------------- answers */

TEST(messages_say_what_a_chat_says_whole_and_as_a_stream)
{
    SERVE("--threads", "1");
    json_t *chat = ask("/v1/chat/completions", "{'messages':[{'role':'system','content':'Be brief.\\n\\nBe kind.'},"
                       "{'role':'user','content':'What is plimsoll?'}]}", 200);
    static const char body[] = "'model':'default','max_tokens':100,'metadata':{'user_id':'u'},'system':[{'type':'text',"
        "'text':'Be brief.'},{'type':'text','text':'Be kind.','cache_control':{'type':'ephemeral'}}],'messages':"
        "[{'role':'user','content':'What is plimsoll?'}]";
    struct buf text = {0};
    buf_printf(&text, "{%s}", body);
    json_t *m = ask(MESSAGES, text.data, 200);
    CHECK_STR(text_at(m, "type"), "message");
    CHECK_STR(text_at(m, "role"), "assistant");
    CHECK_STR(text_at(m, "model"), "plimsoll-tiny");
    CHECK(strncmp(text_at(m, "id"), "msg_", 4) == 0);
    CHECK_STR(text_at(m, "content.0.text"), text_at(chat, "choices.0.message.content"));
    CHECK_STR(text_at(m, "stop_reason"), "end_turn");
    CHECK(json_is_null(json_at(m, "stop_sequence")));
    CHECK_EQ(prompt_of(m), number_at(chat, "usage.prompt_tokens"));
    CHECK(number_at(m, "usage.cache_read_input_tokens") > 0);
    CHECK_EQ(number_at(m, "usage.output_tokens"), number_at(chat, "usage.completion_tokens"));
    CHECK_EQ(number_at(m, "usage.output_tokens_details.thinking_tokens"), 0);
    text.len = 0;
    buf_printf(&text, "{%s,'stream':true}", body);
    json_t *events = events_of(text.data), *streamed = message_of(events);
    CHECK(json_array_size(events) > 6);
    check_same(m, streamed);
    json_decref(chat);
    json_decref(m);
    json_decref(events);
    json_decref(streamed);
    buf_free(&text);
    CHECK_EQ(serve_end(), 130);
}

TEST(messages_tell_why_an_answer_ended)
{
    SCRIPTED("{'answer': 'One two three END four'}\n{'answer': 'One two three END four'}\n{'answer': 'One two'}\n"
             "{'answer': ''}\n{'answer': 'One END'}\n{'answer': 'END'}\n", "--stop", "three");
    json_t *m = ask(MESSAGES, ANY ",'stop_sequences':['zzz','END','two']}", 200);
    CHECK_STR(text_at(m, "stop_reason"), "stop_sequence");
    CHECK_STR(text_at(m, "stop_sequence"), "two");
    CHECK_STR(text_at(m, "content.0.text"), "One ");
    json_decref(m);
    m = ask(MESSAGES, ANY ",'stop_sequences':['END']}", 200); /* the server's own is none of the client's */
    CHECK_STR(text_at(m, "stop_reason"), "end_turn");
    CHECK_STR(text_at(m, "content.0.text"), "One two ");
    json_decref(m);
    m = ask(MESSAGES, "{'max_tokens':2,'messages':[" USER "]}", 200);
    CHECK_STR(text_at(m, "stop_reason"), "max_tokens");
    CHECK_EQ(number_at(m, "usage.output_tokens"), 2);
    json_decref(m);
    m = ask(MESSAGES, ANY "}", 200);
    CHECK_EQ(json_array_size(json_at(m, "content")), 0);
    json_decref(m);
    json_t *events = events_of(ANY ",'stop_sequences':['END'],'stream':true}");
    m = message_of(events);
    CHECK_STR(text_at(m, "stop_sequence"), "END");
    json_decref(events);
    json_decref(m);
    m = ask(MESSAGES, ANY ",'stop_sequences':['END']}", 200);
    CHECK_STR(text_at(m, "stop_sequence"), "END");
    CHECK_EQ(json_array_size(json_at(m, "content")), 0);
    json_decref(m);
    CHECK_EQ(serve_end(), 130);
}

TEST(messages_hand_a_call_to_their_client_and_take_the_result)
{
    struct buf body = {0};
    SERVE("--threads", "1");
    json_t *m = ask(MESSAGES, "{'max_tokens':99,'messages':[" QUESTION "],'tools':[" CALCULATOR "]}", 200);
    CHECK_STR(text_at(m, "stop_reason"), "tool_use");
    CHECK_STR(text_at(m, "content.0.type"), "tool_use");
    CHECK_STR(text_at(m, "content.0.name"), "calculator");
    CHECK(strncmp(text_at(m, "content.0.id"), "toolu_", 6) == 0);
    CHECK(json_is_string(json_at(m, "content.0.input.expression")));
    char *made = json_dumps(json_at(m, "content"), JSON_COMPACT);
    buf_printf(&body, "'messages':[" QUESTION ",{'role':'assistant','content':%s},", made);
    buf_printf(&body, "{'role':'user','content':[{'type':'tool_result','tool_use_id':'%s','content':[{'type':'text',"
               "'text':'51'}]}]}],'tools':[" CALCULATOR "]}", text_at(m, "content.0.id"));
    struct buf all = {0}, counted = {0};
    buf_printf(&all, "{'max_tokens':99,%s", body.data);
    buf_printf(&counted, "{%s", body.data);
    json_t *count = ask(COUNT_TOKENS, counted.data, 200), *b = ask(MESSAGES, all.data, 200);
    CHECK(strstr(text_at(b, "content.0.text"), "51") != NULL);
    CHECK_EQ(prompt_of(b), number_at(count, "input_tokens"));
    const long long had = (prompt_of(m) + number_at(m, "usage.output_tokens")) / 16 * 16 - 16;
    CHECK(number_at(b, "usage.cache_read_input_tokens") >= had);
    json_t *events = events_of("{'max_tokens':99,'messages':[" QUESTION "],'tools':[" CALCULATOR "],'stream':true}");
    json_t *streamed = message_of(events);
    check_same(m, streamed);
    CHECK_NEAR(metric("plimsoll:tool_calls_total"), 2, 0);
    for (size_t i = 0; i < 5; i++) json_decref((json_t *[]){m, count, b, events, streamed}[i]);
    free(made);
    buf_free(&body);
    buf_free(&all);
    buf_free(&counted);
    CHECK_EQ(serve_end(), 130);
}

TEST(messages_choose_among_tools)
{
    SERVE("--threads", "1");
#define HELLO                                                                                                         \
    "{'max_tokens':200,'messages':[{'role':'user','content':'Hello!'}],'tools':[" CALCULATOR "],'tool_choice':"
    json_t *m = ask(MESSAGES, HELLO "{'type':'any'}}", 200);
    CHECK_STR(text_at(m, "content.0.type"), "tool_use");
    json_decref(m);
    m = ask(MESSAGES, HELLO "{'type':'tool','name':'calculator','disable_parallel_tool_use':true}}", 200);
    CHECK_STR(text_at(m, "content.0.name"), "calculator");
    json_decref(m);
    m = ask(MESSAGES, "{'max_tokens':99,'messages':[" QUESTION "],'tools':[" CALCULATOR "],'tool_choice':"
            "{'type':'none'}}", 200);
    CHECK_STR(text_at(m, "stop_reason"), "end_turn");
    json_decref(m);
    m = ask(MESSAGES, ANY ",'output_config':{'format':{'type':'json_schema','schema':{'type':'object','properties':"
            "{'sure':{'enum':['yes','no']}},'required':['sure'],'additionalProperties':false}}}}", 200);
    json_t *v = json_loads(text_at(m, "content.0.text"), 0, NULL);
    CHECK(json_is_string(json_object_get(v, "sure")));
    json_decref(v);
    json_decref(m);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- thinking */

#define ANSWER "'<think>\\nOne < two.\\nSo.\\n</think>\\n\\nI look \\u00e9.\\n" CALL("a") "\\n" CALL("b") "'"
#define TWO ANY ",'tools':[" READ "]"

TEST(messages_keep_thinking_text_and_calls_apart)
{
    SCRIPTED("{'answer': " ANSWER "}\n{'answer': " ANSWER "}\n{'answer': " ANSWER "}\n"
             "{'answer': '<tool_call>{\\'name\\':\\'read\\',\\'arguments\\':\\'[oh\\'}</tool_call>'}\n");
    json_t *m = ask(MESSAGES, TWO ",'thinking':{'type':'adaptive'}}", 200);
    CHECK_EQ(json_array_size(json_at(m, "content")), 4);
    CHECK_STR(text_at(m, "content.0.thinking"), "One < two.\nSo.");
    CHECK_STR(text_at(m, "content.0.signature"), "");
    CHECK_STR(text_at(m, "content.1.text"), "I look \u00e9.");
    CHECK_STR(text_at(m, "content.2.input.path"), "a");
    CHECK_STR(text_at(m, "content.3.input.path"), "b");
    CHECK(strcmp(text_at(m, "content.2.id"), text_at(m, "content.3.id")) != 0);
    json_t *events = events_of(TWO ",'stream':true}"), *streamed = message_of(events);
    check_same(m, streamed);
    json_decref(m);
    json_decref(events);
    json_decref(streamed);
    m = ask(MESSAGES, TWO ",'tool_choice':{'type':'auto','disable_parallel_tool_use':true}}", 200);
    CHECK_EQ(json_array_size(json_at(m, "content")), 3);
    json_decref(m);
    m = ask(MESSAGES, TWO "}", 200); /* what a model wrote as a text stands in an object */
    CHECK_STR(text_at(m, "content.0.input.arguments"), "[oh");
    json_decref(m);
    CHECK_EQ(serve_end(), 130);
}

static long long count_of(const char *body)
{
    json_t *v = ask(COUNT_TOKENS, body, 200);
    const long long n = number_at(v, "input_tokens");
    json_decref(v);
    return n;
}

/* With its thinking, as long as the turn goes on. */
TEST(messages_tell_a_model_what_it_thought_before_its_call)
{
    struct buf body = {0};
    static const char *const with[] = {"", "{'type':'redacted_thinking','data':'x'},",
        "{'type':'thinking','thinking':'','signature':'abc'},",
        "{'type':'thinking','thinking':'One < two.\\nSo.','signature':''},",
        "{'type':'thinking','thinking':'One < two.\\nSo.','signature':''},"};
    long long tokens[COUNT_OF(with)], cached = 0;
    SCRIPTED("{'answer': " ANSWER "}\n{'answer': 'So.'}\n");
    json_t *a = ask(MESSAGES, TWO "}", 200);
    const long long pages = (prompt_of(a) + number_at(a, "usage.output_tokens")) / 16 - 1;
    const char *ids[2] = {text_at(a, "content.2.id"), text_at(a, "content.3.id")};
    for (size_t i = 0; i < COUNT_OF(with); i++) {
        body.len = 0;
        buf_printf(&body, "'messages':[" USER ",{'role':'assistant','content':[%s{'type':'text','text':'I look "
                   "\u00e9.'},{'type':'tool_use','id':'%s','name':'read','input':{'path':'a'}}]},{'role':'assistant',"
                   "'content':[{'type':'tool_use','id':'%s','name':'read','input':{'path':'b'}}]},{'role':'user',"
                   "'content':[{'type':'tool_result','tool_use_id':'%s','content':'y'},{'type':'tool_result',"
                   "'tool_use_id':'%s','is_error':true}%s]}],'tools':[" READ "]}", with[i], ids[0], ids[1], ids[0],
                   ids[1], i == 4 ? ",{'type':'text','text':''}" : "");
        struct buf whole = {0}, counted = {0};
        buf_printf(&counted, "{%s", body.data);
        buf_printf(&whole, "{'max_tokens':20,%s", body.data);
        tokens[i] = count_of(counted.data);
        if (i == 3) {
            json_t *b = ask(MESSAGES, whole.data, 200);
            cached = number_at(b, "usage.cache_read_input_tokens");
            CHECK_EQ(prompt_of(b), tokens[i]);
            json_decref(b);
        }
        buf_free(&whole);
        buf_free(&counted);
    }
    CHECK(cached >= 16 * pages);
    CHECK_EQ(tokens[1], tokens[0]);
    CHECK_EQ(tokens[2], tokens[0]);
    CHECK(tokens[3] > tokens[0] + 4);
    CHECK(tokens[4] < tokens[3]); /* a turn later it is not told */
    json_decref(a);
    buf_free(&body);
    CHECK_EQ(serve_end(), 130);
}

/* Each is counted as the chat that says the same is. */
TEST(messages_are_told_to_the_model_as_chats_are)
{
#define USE "{'type':'tool_use','id':'c','name':'f','input':{'a':1},'caller':{'type':'direct'}}"
#define USED "'tool_calls':[{'id':'c','type':'function','function':{'name':'f','arguments':'{\\'a\\':1}'}}]"
#define TEXT(t) "{'type':'text','text':'" t "','citations':null}"
    static const char *const same[][2] = {
        {"{'role':'user','content':'a'},{'role':'user','content':[" TEXT("b") "," TEXT("c") "]}",
         "{'role':'user','content':'a\\n\\nb\\n\\nc'}"},
        {USER ",{'role':'assistant','content':'a'},{'role':'assistant','content':[" TEXT("b") "]}," USER,
         USER ",{'role':'assistant','content':'ab'}," USER},
        {USER ",{'role':'assistant','content':[]}," USER, USER ",{'role':'assistant','content':''}," USER},
        {USER ",{'role':'assistant','content':[" USE "]},{'role':'user','content':[" TEXT("z") ",{'type':'tool_result',"
         "'tool_use_id':'c','content':[" TEXT("p") "," TEXT("q") "],'is_error':true}]}",
         USER ",{'role':'assistant'," USED "},{'role':'tool','tool_call_id':'c','content':'Error: p\\n\\nq'},"
         "{'role':'user','content':'z'}"},
        {"{'role':'system','content':'s'}," USER, "{'role':'system','content':'s'}," USER},
        {"{'role':'system','content':''}," USER, USER},
    };
    SERVE("--threads", "1");
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        struct buf chat = {0}, counted = {0}, whole = {0};
        buf_printf(&chat, "{'max_tokens':1,'messages':[%s]}", same[i][1]);
        buf_printf(&counted, "{'messages':[%s]}", same[i][0]);
        buf_printf(&whole, "{'max_tokens':1,'messages':[%s]}", same[i][0]);
        json_t *a = ask("/v1/chat/completions", chat.data, 200), *b = ask(MESSAGES, whole.data, 200);
        const long long n = number_at(a, "usage.prompt_tokens"), known = number_at(b, "usage.cache_read_input_tokens");
        if (count_of(counted.data) != n || prompt_of(b) != n || known < n / 16 * 16 - 16)
            check_fail(__FILE__, __LINE__, "%s: %lld, not %lld", same[i][0], prompt_of(b), n);
        json_decref(a);
        json_decref(b);
        buf_free(&chat);
        buf_free(&counted);
        buf_free(&whole);
    }
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- a family with marks of its own */

#define SAYS(text) "{'marks': true, 'answer': '" text "'}\n"

/* gpt-oss: channels, a level of thinking that it is told, and no grammars. */
TEST(messages_of_harmony_have_thinking_calls_and_effort)
{
    SERVE("-m", vocab_file_harmony(), "--engine", "scripted", "--ctx", "4096", "--script-file", serve_file("answers",
          quoted(SAYS("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
                      "to=functions.read <|constrain|>json<|message|>{\\'path\\':\\'a\\'}<|call|>")
                 SAYS("<|channel|>final<|message|>One END<|return|>"))));
    json_t *m = ask(MESSAGES, TWO "}", 200);
    CHECK_STR(text_at(m, "stop_reason"), "tool_use");
    CHECK_STR(text_at(m, "content.0.thinking"), "Hm.");
    CHECK_STR(text_at(m, "content.1.input.path"), "a");
    json_decref(m);
    m = ask(MESSAGES, ANY ",'stop_sequences':['END'],'output_config':{'effort':'low'}}", 200);
    CHECK_STR(text_at(m, "content.0.text"), "One ");
    CHECK_STR(text_at(m, "stop_sequence"), "END");
    json_decref(m);
#define BACK(thought)                                                                                                 \
    "{'messages':[" USER ",{'role':'assistant','content':[" thought USE "]},{'role':'user','content':[{'type':"        \
    "'tool_result','tool_use_id':'c','content':'y'}]}]}"
    CHECK(count_of(BACK("{'type':'thinking','thinking':'Hm.','signature':''},")) > count_of(BACK("")) + 2);
#define LEVEL(word) "{'messages':[" USER "],'output_config':{'effort':'" word "'}}"
    CHECK(count_of(LEVEL("low")) != count_of(LEVEL("medium")));
    m = ask(COUNT_TOKENS, LEVEL("max"), 400);
    CHECK_STR(text_at(m, "error.message"), "output_config.effort is to be low, medium or high");
    json_decref(m);
    m = ask(MESSAGES, TWO ",'tool_choice':{'type':'any'}}", 200); /* no grammar says `not`: held to the tool's name */
    CHECK_STR(text_at(m, "content.0.thinking"), "Hm.");
    CHECK_STR(text_at(m, "content.1.name"), "read");
    CHECK_STR(text_at(m, "stop_reason"), "tool_use");
    json_decref(m);
    CHECK_EQ(serve_end(), 130);
}

CHECK_MAIN
