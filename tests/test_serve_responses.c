/* `plimsoll serve` as clients of the Responses API see it: items whole and as streams, what is sent back, refusals. */
#include "app/serve/serve_impl.h"
#include "tests/serve_rig.h"
#include "tests/vocab_file.h"

#define RESPONSES "/v1/responses"
#define CHAT "/v1/chat/completions"
#define WORDS "tests/fixtures/llama-gqa.gguf" /* the vocabulary of scripted answers */
#define SCRIPTED(answers)                                                                                             \
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", quoted(answers)))
#define CALL(path) "<tool_call>{\\'name\\':\\'read\\',\\'arguments\\':{\\'path\\':\\'" path "\\'}}</tool_call>"
/* A schema that no grammar can hold a call to, or the script could not say what it says. */
#define PARAMETERS "'name':'read','parameters':{'type':'object','properties':{'path':{'type':'string','not':{}}}}"
#define READ "{'type':'function'," PARAMETERS "}"
#define CHATS_READ "{'type':'function','function':{" PARAMETERS "}}"

/* Each has its number. */
static json_t *events_of(const char *body)
{
    json_t *list = named_events(RESPONSES, body), *e;
    size_t i;
    json_array_foreach(list, i, e) CHECK_EQ(number_at(e, "sequence_number"), (long long)i);
    return list;
}

static const json_t *last_of(const json_t *events) { return json_array_get(events, json_array_size(events) - 1); }

/* The names of all, repetitions left out, with the item each is about. */
static void outline(const json_t *events, struct buf *out)
{
    const json_t *e;
    const char *before = "";
    size_t i;
    json_array_foreach(events, i, e) {
        const char *name = text_at(e, "type");
        if (strcmp(name, before) == 0) continue;
        buf_printf(out, "%s", strncmp(name, "response.", 9) == 0 ? name + 9 : name);
        if (json_at(e, "output_index")) buf_printf(out, " %lld", number_at(e, "output_index"));
        buf_puts(out, "\n");
        before = name;
    }
    buf_puts(out, "");
}

static void deltas(const json_t *events, const char *of, struct buf *out)
{
    const json_t *e;
    size_t i;
    json_array_foreach(events, i, e)
        if (strcmp(text_at(e, "type"), of) == 0) buf_puts(out, text_at(e, "delta"));
    buf_puts(out, "");
}

/* ---------------------------------------------------------------- answers */

TEST(responses_say_what_a_chat_says_whole_and_as_a_stream)
{
    struct buf streamed = {0};
    SERVE("--threads", "1");
    json_t *chat = ask(CHAT, "{'messages':[{'role':'system','content':'s'},{'role':'user','content':'What is plimsoll?'"
                       "}]}", 200);
    json_t *a = ask(RESPONSES, "{'model':'default','instructions':'s','input':'What is plimsoll?','store':true,"
                    "'reasoning':{'odd':false},"
                    "'metadata':{'a':'b'},'temperature':0.5,'top_k':1,'max_output_tokens':99,'user':'u'}", 200);
    const char *said = text_at(chat, "choices.0.message.content");
    CHECK_STR(text_at(a, "output.0.content.0.text"), said);
    CHECK_STR(text_at(a, "output.0.type"), "message");
    CHECK_STR(text_at(a, "output.0.role"), "assistant");
    CHECK_STR(text_at(a, "status"), "completed");
    CHECK_STR(text_at(a, "object"), "response");
    CHECK_STR(text_at(a, "instructions"), "s");
    CHECK_STR(text_at(a, "metadata.a"), "b");
    CHECK_NEAR(json_real_value(json_at(a, "temperature")), 0.5, 0);
    CHECK(json_is_false(json_at(a, "store")) && json_is_null(json_at(a, "error")));
    CHECK_EQ(json_array_size(json_at(a, "output")), 1);
    CHECK_EQ(number_at(a, "usage.input_tokens"), number_at(chat, "usage.prompt_tokens"));
    CHECK_EQ(number_at(a, "usage.output_tokens"), number_at(chat, "usage.completion_tokens"));
    CHECK_EQ(number_at(a, "usage.total_tokens"), number_at(chat, "usage.total_tokens"));
    CHECK_EQ(number_at(a, "usage.output_tokens_details.reasoning_tokens"), 0);
    json_t *events = events_of("{'instructions':'s','input':[{'role':'user','content':[{'type':'input_text','text':"
                               "'What is plimsoll?'}]}],'stream':true,'stream_options':{'include_obfuscation':false}}");
    deltas(events, "response.output_text.delta", &streamed);
    CHECK_STR(streamed.data, said);
    const json_t *end = json_at(last_of(events), "response");
    CHECK_STR(text_at(last_of(events), "type"), "response.completed");
    CHECK_STR(text_at(end, "id"), text_at(events, "0.response.id"));
    CHECK_STR(text_at(end, "output.0.id"), text_at(events, "2.item.id"));
    CHECK_STR(text_at(end, "output.0.content.0.text"), said);
    CHECK(json_equal((json_t *)json_at(end, "usage.output_tokens"), (json_t *)json_at(a, "usage.output_tokens")));
    streamed.len = 0;
    outline(events, &streamed);
    CHECK_STR(streamed.data, "created\nin_progress\noutput_item.added 0\ncontent_part.added 0\noutput_text.delta 0\n"
              "output_text.done 0\ncontent_part.done 0\noutput_item.done 0\ncompleted\n");
    json_decref(chat);
    json_decref(a);
    json_decref(events);
    buf_free(&streamed);
    CHECK_EQ(serve_end(), 130);
}

#define THINKS "{'answer': '<think>\\nWhere is it?\\n</think>\\n\\nI look.\\n" CALL("some/long/path") CALL("b") "'}\n"
#define ASKED "{'tools':[" READ "],'input':[{'role':'user','content':'x'}"

TEST(responses_have_thinking_words_and_calls_as_items)
{
    struct buf text = {0};
    SCRIPTED(THINKS THINKS THINKS);
    json_t *a = ask(RESPONSES, ASKED "]}", 200), *events = events_of(ASKED "],'stream':true}");
    const json_t *end = json_at(last_of(events), "response");
    for (size_t i = 0; i < 2; i++) {
        const json_t *v = i ? end : a;
        CHECK_EQ(json_array_size(json_at(v, "output")), 4);
        CHECK_STR(text_at(v, "output.0.type"), "reasoning");
        CHECK_STR(text_at(v, "output.0.content.0.type"), "reasoning_text");
        CHECK_STR(text_at(v, "output.0.content.0.text"), "Where is it?");
        CHECK_STR(text_at(v, "output.1.content.0.text"), "I look.");
        CHECK_STR(text_at(v, "output.2.name"), "read");
        CHECK_STR(text_at(v, "output.3.arguments"), "{\"path\":\"b\"}");
        CHECK(strcmp(text_at(v, "output.2.call_id"), text_at(v, "output.3.call_id")) != 0);
        CHECK(strncmp(text_at(v, "output.2.call_id"), "call_", 5) == 0);
        const long long thought = number_at(v, "usage.output_tokens_details.reasoning_tokens");
        CHECK(thought > 5 && thought < number_at(v, "usage.output_tokens") / 2);
    }
    outline(events, &text);
    CHECK_STR(text.data, "created\nin_progress\noutput_item.added 0\ncontent_part.added 0\nreasoning_text.delta 0\n"
              "reasoning_text.done 0\ncontent_part.done 0\noutput_item.done 0\noutput_item.added 1\n"
              "content_part.added 1\noutput_text.delta 1\noutput_text.done 1\ncontent_part.done 1\n"
              "output_item.done 1\noutput_item.added 2\nfunction_call_arguments.delta 2\n"
              "function_call_arguments.done 2\noutput_item.done 2\noutput_item.added 3\n"
              "function_call_arguments.delta 3\nfunction_call_arguments.done 3\noutput_item.done 3\ncompleted\n");
    text.len = 0;
    deltas(events, "response.reasoning_text.delta", &text);
    CHECK_STR(text.data, "Where is it?");
    json_decref(a);
    json_decref(events);
    a = ask(RESPONSES, ASKED "],'parallel_tool_calls':false}", 200);
    CHECK_EQ(json_array_size(json_at(a, "output")), 3);
    json_decref(a);
    buf_free(&text);
    CHECK_EQ(serve_end(), 130);
}

/* Thinking that takes two events, and the answer is there before the first is told: a client that reads slowly. */
TEST(responses_end_an_item_before_the_next_begins)
{
    static struct serve s;
    static struct answer none;
    struct job j = {.s = &s, .ans = &none, .name = "resp_a"};
    struct buf text = {0}, events = {0};
    s.model.id = "m";
    buf_puts(&j.echo, "{}");
    for (int i = 0; i < SERVE_PIECE + 100; i++) buf_puts(&text, "a");
    buf_puts(&text, "So.");
    const struct serve_parts p = {.text = text.data, .n = text.len, .ended = true, .end = END_STOP,
                                  .split = {.thinking = {0, SERVE_PIECE + 100}, .content = {SERVE_PIECE + 100, 3}}};
    serve_responses.begin(&j, &p);
    CHECK(serve_responses.more(&j, &p) && j.thinking == SERVE_PIECE && j.content == 0 && j.blocks == 1);
    CHECK(serve_responses.more(&j, &p) && j.thinking == SERVE_PIECE + 100 && j.content == 3 && j.blocks == 2);
    serve_responses.end(&j, &p);
    buf_put(&events, j.out.data, j.out.len);
    buf_puts(&events, "");
    const char *thought = strstr(events.data, "response.reasoning_text.done");
    const char *said = strstr(events.data, "response.output_text.");
    CHECK(thought && said && thought < said && strstr(said, "response.completed"));
    buf_free(&j.echo);
    buf_free(&j.out);
    buf_free(&text);
    buf_free(&events);
}

TEST(responses_can_be_counted_before_they_are_asked_for)
{
    static const char body[] = "'instructions':'Be brief.','input':[{'role':'user','content':'What is a token?'}],"
                               "'tools':[{'type':'function','name':'f','parameters':{'type':'object',"
                               "'properties':{}}}]}";
    SERVE("--threads", "1");
    struct buf whole = {0}, count = {0};
    buf_printf(&whole, "{'max_output_tokens':1,%s", body);
    buf_printf(&count, "{'model':'default',%s", body);
    json_t *a = ask(RESPONSES, whole.data, 200), *n = ask(RESPONSES "/input_tokens", count.data, 200);
    CHECK_STR(text_at(n, "object"), "response.input_tokens");
    CHECK_EQ(number_at(n, "input_tokens"), number_at(a, "usage.input_tokens"));
    json_decref(a);
    json_decref(n);
    n = ask(RESPONSES "/input_tokens", "{'input':[],'model':'default'}", 400);
    CHECK_STR(text_at(n, "error.param"), "input");
    json_decref(n);
    n = ask(RESPONSES "/compact", count.data, 404);
    CHECK(strstr(text_at(n, "error.message"), "no response is stored") != NULL);
    json_decref(n);
    buf_free(&whole);
    buf_free(&count);
    CHECK_EQ(serve_end(), 130);
}

TEST(responses_that_were_cut_or_failed_say_so)
{
    SCRIPTED("{'answer': '<think>\\none two three four five six seven'}\n{'answer': 'one two three four'}\n"
             "{'answer': 'one two three four'}\n{'fault': {'pass': 25, 'text': 'the device was lost'}}\n");
    json_t *a = ask(RESPONSES, "{'input':'x','max_output_tokens':8}", 200);
    CHECK_STR(text_at(a, "status"), "incomplete");
    CHECK_STR(text_at(a, "incomplete_details.reason"), "max_output_tokens");
    CHECK_EQ(json_array_size(json_at(a, "output")), 1);
    CHECK_STR(text_at(a, "output.0.status"), "incomplete");
    CHECK_EQ(number_at(a, "usage.output_tokens_details.reasoning_tokens"), 8);
    json_decref(a);
    a = events_of("{'input':'x','max_output_tokens':3,'stream':true}");
    CHECK_STR(text_at(last_of(a), "type"), "response.incomplete");
    CHECK_STR(text_at(last_of(a), "response.output.0.status"), "incomplete");
    json_decref(a);
    a = events_of("{'input':'x','stream':true}");
    CHECK_STR(text_at(last_of(a), "type"), "response.failed");
    CHECK_STR(text_at(last_of(a), "response.status"), "failed");
    CHECK_STR(text_at(last_of(a), "response.error.code"), "server_error");
    CHECK(strstr(text_at(last_of(a), "response.error.message"), "the device was lost") != NULL);
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

TEST(responses_come_in_the_schema_that_was_asked_for)
{
    SERVE("--threads", "1", "--temp", "1.2");
    json_t *a = ask(RESPONSES, "{'seed':1,'input':'Who?','text':{'format':{'type':'json_schema','name':'x','strict':"
                    "true,'schema':{'type':'object','properties':{'sure':{'type':'string','enum':['yes','no']}},"
                    "'required':['sure'],'additionalProperties':false}}}}", 200);
    json_t *v = json_loads(text_at(a, "output.0.content.0.text"), 0, NULL);
    const char *sure = text_at(v, "sure");
    CHECK(sure && (strcmp(sure, "yes") == 0 || strcmp(sure, "no") == 0));
    CHECK_STR(text_at(a, "text.format.name"), "x");
    json_decref(v);
    json_decref(a);
    a = ask(RESPONSES, "{'tools':[{'type':'function','name':'calculator','parameters':{'type':'object','properties':{"
            "'expression':{'type':'string'}},'required':['expression']}}],'temperature':0,'input':'What is 17 * 3?',"
            "'tool_choice':{'type':'function','name':'calculator'}}", 200);
    CHECK_STR(text_at(a, "output.0.type"), "function_call"); /* and no message before it */
    CHECK_STR(text_at(a, "tool_choice.name"), "calculator");
    json_decref(a);
    a = ask(RESPONSES, "{'tools':[" READ ",{'type':'function','name':'calculator','parameters':{'type':'object',"
            "'properties':{'expression':{'type':'string'}},'required':['expression']}}],'temperature':0,'input':"
            "'What is 17 * 3?','tool_choice':{'type':'allowed_tools','mode':'required','tools':[{'type':'function',"
            "'name':'read'}]}}", 200);
    CHECK_STR(text_at(a, "output.0.name"), "read");
    CHECK_STR(text_at(a, "tool_choice.tools.0.name"), "read");
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

#define MARKED(text) "{'marks': true, 'answer': '" text "'}\n"

/* gpt-oss's channels, and how much it is to think, of which it alone is told. */
TEST(responses_of_harmony_have_its_channels_as_items)
{
    long long tokens[2];
    SERVE("-m", vocab_file_harmony(), "--ctx", "4096", "--engine", "scripted", "--script-file",
          serve_file("answers", quoted(
              MARKED("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>I look."
                     "<|end|><|start|>assistant<|channel|>commentary to=functions.read <|constrain|>json<|message|>"
                     "{\\'path\\':\\'a\\'}<|call|>")
              MARKED("<|channel|>final<|message|>So.<|return|>") MARKED("<|channel|>final<|message|>So.<|return|>")
              MARKED("<|channel|>final<|message|>{\\'so\\':true}<|return|>"))));
    json_t *a = ask(RESPONSES, ASKED "]}", 200);
    CHECK_STR(text_at(a, "output.0.content.0.text"), "Hm.");
    CHECK_STR(text_at(a, "output.1.content.0.text"), "I look.");
    CHECK_STR(text_at(a, "output.2.arguments"), "{\"path\":\"a\"}");
    CHECK(number_at(a, "usage.output_tokens_details.reasoning_tokens") >= 4);
    json_decref(a);
    for (int i = 0; i < 2; i++) {
        a = ask(RESPONSES, i ? "{'input':'x','reasoning':{'effort':'low'}}" : "{'input':'x'}", 200);
        tokens[i] = number_at(a, "usage.input_tokens");
        CHECK_STR(text_at(a, "output.0.content.0.text"), "So.");
        CHECK_EQ(number_at(a, "usage.output_tokens_details.reasoning_tokens"), 0);
        json_decref(a);
    }
    CHECK(tokens[0] != tokens[1]);
    a = ask(RESPONSES, "{'input':'x','text':{'format':{'type':'json_object'}}}", 200);
    CHECK_STR(text_at(a, "output.0.content.0.text"), "{\"so\":true}");
    json_decref(a);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- what is sent back */

static long long tokens_of(const char *path, const char *body)
{
    json_t *a = ask(path, body, 200);
    const long long n = number_at(a, path[4] == 'r' ? "usage.input_tokens" : "usage.prompt_tokens");
    json_decref(a);
    return n;
}

#define FC(id) "{'type':'function_call','call_id':'" id "','name':'read','arguments':'{}'}"
#define OUT(id) "{'type':'function_call_output','call_id':'" id "','output':'y'}"
#define TC(id) "{'id':'" id "','type':'function','function':{'name':'read','arguments':'{}'}}"
#define RS(text) "{'type':'reasoning','id':'rs_1','summary':[],'content':[{'type':'reasoning_text','text':'" text "'}]}"
#define TOOL(id) "{'role':'tool','tool_call_id':'" id "','content':'y'}"

/* The same conversations as items and as messages: they are the same prompt. */
static const struct {
    const char *input, *messages;
} same[] = {
    {"{'type':'message','role':'developer','content':'s'},{'role':'user','content':'x'}",
     "{'role':'developer','content':'s'},{'role':'user','content':'x'}"},
    {"{'role':'user','content':'x'},{'role':'assistant','content':[{'type':'output_text','text':'One','annotations':[]}"
     ",{'type':'refusal','refusal':' two'}],'id':'msg_1','status':'completed'},{'role':'user','content':'z'}",
     "{'role':'user','content':'x'},{'role':'assistant','content':'One two'},{'role':'user','content':'z'}"},
    {"{'role':'user','content':'x'}," RS("hm") ",{'role':'assistant','content':'I look.'}," FC("a") "," FC("b") ","
     OUT("a") "," OUT("b"),
     "{'role':'user','content':'x'},{'role':'assistant','reasoning_content':'hm','content':'I look.','tool_calls':["
     TC("a") "," TC("b") "]}," TOOL("a") "," TOOL("b")},
    {"{'role':'user','content':'x'}," FC("a") "," OUT("a") "," RS("one") "," RS("two") "," FC("b")
     ",{'type':'function_call_output','call_id':'b','output':[{'type':'input_text','text':'y'}]}",
     "{'role':'user','content':'x'},{'role':'assistant','tool_calls':[" TC("a") "]}," TOOL("a")
     ",{'role':'assistant','reasoning_content':'one\\n\\ntwo','tool_calls':[" TC("b") "]}," TOOL("b")},
    {"{'role':'user','content':'x'},{'type':'reasoning','summary':[{'type':'summary_text','text':'hm'}],"
     "'encrypted_content':null}," FC("a") "," OUT("a"),
     "{'role':'user','content':'x'},{'role':'assistant','reasoning_content':'hm','tool_calls':[" TC("a") "]},"
     TOOL("a")},
    {"{'role':'user','content':'x'}," RS("led to nothing") ",{'role':'user','content':'y'}",
     "{'role':'user','content':'x'},{'role':'user','content':'y'}"},
};

TEST(responses_read_items_as_the_messages_that_they_are)
{
    SCRIPTED("{'answer': 'a'}\n");
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        struct buf items = {0}, messages = {0};
        buf_printf(&items, "{'tools':[" READ "],'input':[%s]}", same[i].input);
        buf_printf(&messages, "{'tools':[" CHATS_READ "],'messages':[%s]}", same[i].messages);
        json_t *chat = ask(CHAT, messages.data, 200), *a = ask(RESPONSES, items.data, 200);
        const long long n = number_at(a, "usage.input_tokens");
        if (n != number_at(chat, "usage.prompt_tokens"))
            check_fail(__FILE__, __LINE__, "%s: %lld tokens, not %lld", same[i].input, n,
                       number_at(chat, "usage.prompt_tokens"));
        /* Of the pages of both all whole ones are the same; the last token is computed in any case. */
        CHECK_EQ(number_at(a, "usage.input_tokens_details.cached_tokens"), (n - 1) / 16 * 16);
        json_decref(chat);
        json_decref(a);
        buf_free(&items);
        buf_free(&messages);
    }
    CHECK(tokens_of(RESPONSES, ASKED "," RS("hm") "," FC("a") "," OUT("a") "]}") >
          tokens_of(RESPONSES, ASKED "," FC("a") "," OUT("a") "]}"));
    CHECK_EQ(serve_end(), 130);
}

/* The whole output of an answer, sent back as it came: its pages are found. */
TEST(responses_go_on_where_their_output_is_sent_back)
{
    struct buf body = {0};
    SCRIPTED("{'answer': '<think>\\nWhere is it?\\n</think>\\n\\n<tool_call>  {\\'name\\': \\'read\\',  "
             "\\'arguments\\': {\\'path\\':   \\'some/long/path\\' } }  </tool_call>'}\n{'answer': 'So.'}\n");
    json_t *a = ask(RESPONSES, ASKED "]}", 200);
    char *output = json_dumps(json_at(a, "output"), JSON_COMPACT);
    buf_printf(&body, ASKED ",%.*s,{'type':'function_call_output','call_id':'%s','output':'y'}]}",
               (int)strlen(output) - 2, output + 1, text_at(a, "output.1.call_id"));
    json_t *b = ask(RESPONSES, body.data, 200);
    CHECK_STR(text_at(b, "output.0.content.0.text"), "So.");
    const long long pages = number_at(a, "usage.total_tokens") / 16 - 1;
    CHECK(number_at(b, "usage.input_tokens_details.cached_tokens") >= 16 * pages);
    free(output);
    json_decref(a);
    json_decref(b);
    buf_free(&body);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- refusals */

#define X "'input':'x'"
#define ITEM(text) "{'input':[{'role':'user','content':'x'}," text "]}"

static const struct {
    const char *body;
    int status;
    const char *code, *param;
} refused[] = {
    {"{}", 400, "invalid_value", "input"},
    {"{'input':[]}", 400, "invalid_value", "input"},
    {"{'input':1}", 400, "invalid_value", "input"},
    {"{'input':[" RS("x") "]}", 400, "invalid_value", "input"},
    {"{'messages':[]," X "}", 400, "unknown_parameter", "messages"},
    {"{" X ",'max_tokens':5}", 400, "unknown_parameter", "max_tokens"},
    {"{" X ",'model':'gpt-5'}", 404, "model_not_found", "model"},
    {"{" X ",'instructions':['a']}", 400, "invalid_type", "instructions"},
    {"{" X ",'previous_response_id':'resp_1'}", 400, "unsupported_value", "previous_response_id"},
    {"{" X ",'conversation':'conv_1'}", 400, "unsupported_value", "conversation"},
    {"{" X ",'background':true}", 400, "unsupported_value", "background"},
    {"{" X ",'prompt':{'id':'p'}}", 400, "unsupported_value", "prompt"},
    {"{" X ",'truncation':'auto'}", 400, "unsupported_value", "truncation"},
    {"{" X ",'include':['file_search_call.results']}", 400, "unsupported_value", "include"},
    {"{" X ",'top_logprobs':2}", 400, "unsupported_value", "top_logprobs"},
    {"{" X ",'stream_options':{}}", 400, "invalid_value", "stream_options"},
    {"{" X ",'stream':true,'stream_options':{'include_obfuscation':true}}", 400, "unsupported_value",
     "stream_options.include_obfuscation"},
    {"{" X ",'stream':true,'stream_options':{'include_usage':true}}", 400, "unknown_parameter",
     "stream_options.include_usage"},
    {"{" X ",'store':1}", 400, "invalid_type", "store"},
    {"{" X ",'max_output_tokens':0}", 400, "invalid_value", "max_output_tokens"},
    {"{" X ",'max_output_tokens':9999}", 400, "context_length_exceeded", "input"},
    {"{" X ",'temperature':-1}", 400, "invalid_value", "temperature"},
    {"{" X ",'reasoning':{'effort':'low'}}", 400, "unsupported_value", "reasoning.effort"},
    {"{" X ",'reasoning':{'depth':1}}", 400, "unknown_parameter", "reasoning.depth"},
    {"{" X ",'text':{'verbosity':'low'}}", 400, "unsupported_value", "text.verbosity"},
    {"{" X ",'text':{'format':{'type':'grammar'}}}", 400, "unsupported_value", "text.format"},
    {"{" X ",'text':{'format':{'type':'json_schema','name':'x'}}}", 400, "invalid_value", "text.format"},
    {"{" X ",'text':{'format':{'type':'json_schema','name':'x','strict':true,'schema':{'type':'string','pattern':"
     "'(?=a)'}}}}", 400, "invalid_value", "text.format"},
    {"{" X ",'tools':[{'type':'web_search'}]}", 400, "unsupported_value", "tools[0]"},
    {"{" X ",'tools':[" READ ",{'type':'custom','name':'x'}]}", 400, "unsupported_value", "tools[1]"},
    {"{" X ",'tools':[{'type':'function','name':'a b'}]}", 400, "invalid_value", "tools[0]"},
    {"{" X ",'tools':[{'type':'function','name':'a','defer_loading':true}]}", 400, "unknown_parameter",
     "tools[0].defer_loading"},
    {"{" X ",'tool_choice':'required'}", 400, "invalid_value", "tool_choice"},
    {"{" X ",'tools':[" READ "],'tool_choice':{'type':'function','name':'other'}}", 400, "invalid_value",
     "tool_choice"},
    {"{" X ",'tools':[" READ "],'tool_choice':{'type':'allowed_tools','mode':'auto','tools':[{'type':'function',"
     "'name':'other'}]}}", 400, "invalid_value", "tool_choice"},
    {"{" X ",'tools':[" READ "],'tool_choice':{'type':'allowed_tools','mode':'none','tools':[{'type':'function',"
     "'name':'read'}]}}", 400, "invalid_value", "tool_choice"},
    {"{" X ",'tools':[" READ "],'tool_choice':{'type':'allowed_tools','mode':'auto','tools':[]}}", 400,
     "invalid_value", "tool_choice"},
    {"{'input':['x']}", 400, "invalid_type", "input[0]"},
    {ITEM("{'type':'item_reference','id':'msg_1'}"), 400, "unsupported_value", "input[1]"},
    {ITEM("{'type':'web_search_call'}"), 400, "unsupported_value", "input[1]"},
    {ITEM("{'role':'tool','content':'x'}"), 400, "invalid_value", "input[1].role"},
    {ITEM("{'role':'user'}"), 400, "invalid_type", "input[1].content"},
    {ITEM("{'role':'user','content':'x','name':'n'}"), 400, "unknown_parameter", "input[1].name"},
    {ITEM("{'role':'user','content':[{'type':'input_text','text':'a'},{'type':'input_image','image_url':'u'}]}"), 400,
     "unsupported_value", "input[1].content[1]"},
    {ITEM("{'type':'function_call','call_id':'a','name':'r d','arguments':'{}'}"), 400, "invalid_value", "input[1]"},
    {ITEM("{'type':'function_call','call_id':'','name':'read','arguments':'{}'}"), 400, "invalid_value", "input[1]"},
    {ITEM("{'type':'function_call','call_id':'a','name':'re\\u0000','arguments':'{}'}"), 400, "invalid_value",
     "input[1]"},
    {ITEM("{'type':'function_call','call_id':'a','name':'read','arguments':{}}"), 400, "invalid_value", "input[1]"},
    {ITEM(OUT("a") "," FC("a")), 400, "invalid_value", "input[1].call_id"},
    {ITEM("{'type':'reasoning','summary':[],'encrypted_content':'gAAA'}"), 400, "unsupported_value",
     "input[1].encrypted_content"},
    {ITEM("{'type':'reasoning','summary':['a']}"), 400, "unsupported_value", "input[1].summary"},
    {ITEM(FC("1") "," FC("2") "," FC("3") "," FC("4") "," FC("5") "," FC("6") "," FC("7") "," FC("8") "," FC("9") ","
          FC("10") "," FC("11") "," FC("12") "," FC("13") "," FC("14") "," FC("15") "," FC("16") "," FC("17")), 400,
     "invalid_value", "input[17]"},
};

TEST(responses_are_refused_by_the_names_that_the_client_knows)
{
    static const char *const never[] = {"messages[", "response_format", "reasoning_effort", "max_completion_tokens"};
    struct response r;
    SERVE("--threads", "1", "--ctx", "512");
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        json_t *v = ask(RESPONSES, refused[i].body, refused[i].status);
        const char *param = text_at(v, "error.param"), *text = text_at(v, "error.message");
        if (strcmp(text_at(v, "error.code"), refused[i].code) != 0 || !param || strcmp(param, refused[i].param) != 0)
            check_fail(__FILE__, __LINE__, "%s: %s, %s: %s", refused[i].body, text_at(v, "error.code"),
                       param ? param : "-", text);
        for (size_t k = 0; k < COUNT_OF(never); k++) CHECK(!strstr(text, never[k]));
        CHECK(strlen(text) > 5 && !strchr(text, '\n'));
        json_decref(v);
    }
    static const char *const method[] = {"GET", "DELETE", "POST"};
    for (size_t i = 0; i < COUNT_OF(method); i++) {
        exchange(method[i], RESPONSES "/resp_1", NULL, "{}", 2, &r);
        CHECK_EQ(r.status, 404);
        CHECK(strstr(r.body.data, "no response is stored") != NULL);
        response_free(&r);
    }
    exchange("GET", RESPONSES, NULL, "", 0, &r);
    CHECK_EQ(r.status, 405);
    response_free(&r);
    CHECK_EQ(serve_end(), 130);
}

/* What a client repeats is held until its answer is sent: it has an end. */
TEST(responses_repeat_no_more_of_a_request_than_there_is_room_for)
{
    struct buf body = {0};
    SCRIPTED("{'answer': 'a'}\n{'answer': 'a'}\n");
    for (int i = 0; i < 2; i++) {
        body.len = 0;
        buf_puts(&body, "{'input':'x','metadata':{'a':'");
        for (int k = 0; k < (i ? 32 << 10 : 1 << 10); k++) buf_puts(&body, "m");
        buf_puts(&body, "'},'tools':[" READ "]}");
        json_t *a = ask(RESPONSES, body.data, 200);
        CHECK_EQ(json_object_size(json_at(a, "metadata")), !i);
        CHECK_EQ(json_array_size(json_at(a, "tools")), !i);
        CHECK_STR(text_at(a, "output.0.content.0.text"), "a");
        json_decref(a);
    }
    buf_free(&body);
    CHECK_EQ(serve_end(), 130);
}

CHECK_MAIN
