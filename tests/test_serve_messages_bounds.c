/* `plimsoll serve` and messages (Anthropic's API) that are too much, wrong, or not for their asker; those who leave. */
#include "tests/serve_rig.h"

#define MESSAGES "/v1/messages"
#define COUNT_TOKENS "/v1/messages/count_tokens"
#define WORDS "tests/fixtures/llama-gqa.gguf" /* the vocabulary of scripted answers */
#define SCRIPTED(answers, ...)                                                                                        \
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", quoted(answers)), ##__VA_ARGS__)
#define USER "{'role':'user','content':'x'}"
#define ANY "{'max_tokens':200,'messages':[" USER "]"
#define USE "{'type':'tool_use','id':'c','name':'f','input':{'a':1}}"
#define TEXT(t) "{'type':'text','text':'" t "'}"

/* ---------------------------------------------------------------- refusals */

#define ONE "'max_tokens':1,'messages':"
#define A_USE "[" USER ",{'role':'assistant','content':[" USE "]},"
static const struct { const char *body; int status; const char *type, *text; } refused[] = {
    {"{", 400, "invalid_request_error", "no JSON"},
    {"{'messages':[" USER "]}", 400, "invalid_request_error", "max_tokens is needed"},
    {"{'max_tokens':0,'messages':[" USER "]}", 400, "invalid_request_error", "max_tokens is to be"},
    {"{'max_tokens':1}", 400, "invalid_request_error", "messages is to be a list"},
    {"{" ONE "[1]}", 400, "invalid_request_error", "messages[0].role"},
    {"{" ONE "[{'role':'tool','content':'x'}]}", 400, "invalid_request_error", "messages[0].role"},
    {"{" ONE "[{'role':'user'}]}", 400, "invalid_request_error", "messages[0].content"},
    {"{" ONE "[{'role':'user','content':[]}]}", 400, "invalid_request_error", "messages[0].content"},
    {"{" ONE "[{'role':'user','content':'x','name':'n'}]}", 400, "invalid_request_error", "messages[0].name"},
    {"{" ONE "[{'role':'user','content':'x','cont':1}]}", 400, "invalid_request_error", "messages[0].cont is not"},
    {"{" ONE "[{'role':'user','content':'x','odd':false}]}", 400, "invalid_request_error", "messages[0].odd is not"},
    {"{" ONE "[{'role':'user\\u0000','content':'x'}]}", 400, "invalid_request_error", "messages[0].role"},
    {"{" ONE "[{'role':'user','content':[{'type':'image','source':{}}]}]}", 400, "invalid_request_error",
     "messages[0].content[0] is of type \"image\""},
    {"{" ONE "[{'role':'user','content':[" TEXT("a") ",{'type':'text','text':1}]}]}", 400, "invalid_request_error",
     "messages[0].content[1]"},
    {"{" ONE "[{'role':'user','content':[{'type':'text','text':'x','odd':1}]}]}", 400, "invalid_request_error",
     "messages[0].content[0].odd"},
    {"{" ONE "[{'role':'user','content':[" USE "]}]}", 400, "invalid_request_error", "\"tool_use\""},
    {"{" ONE "[" USER ",{'role':'assistant','content':[{'type':'tool_use','id':'c','name':'f','input':'x'}]}," USER
     "]}", 400, "invalid_request_error", "messages[1].content[0]: a tool_use needs"},
    {"{" ONE "[{'role':'user','content':[{'type':'tool_result','tool_use_id':'c','content':'y'}]}]}", 400,
     "invalid_request_error", "messages[0].content[0].tool_use_id"},
    {"{" ONE A_USE "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c','content':[{'type':'image'}]}]}"
     "]}", 400, "invalid_request_error", "messages[2].content[0].content[0] is of type \"image\""},
    {"{" ONE A_USE "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c','is_error':1}]}]}", 400,
     "invalid_request_error", "messages[2].content[0].is_error"},
    {ANY ",'system':1}", 400, "invalid_request_error", "system is to be"},
    {ANY ",'system':[{'type':'image'}]}", 400, "invalid_request_error", "system[0]"},
    {ANY ",'model':'claude-haiku'}", 404, "not_found_error", "ANTHROPIC_SMALL_FAST_MODEL"},
    {ANY ",'n':1}", 400, "invalid_request_error", "n is not known"},
    {ANY ",'stop':['a']}", 400, "invalid_request_error", "stop is not known"},
    {ANY ",'stop_sequences':['']}", 400, "invalid_request_error", "stop_sequences"},
    {ANY ",'stop_sequences':['1','2','3','4','5','6','7','8','9']}", 400, "invalid_request_error", "stop_sequences"},
    {ANY ",'temperature':'hot'}", 400, "invalid_request_error", "temperature"},
    {ANY ",'thinking':{'type':'enabled','budget_tokens':0}}", 400, "invalid_request_error", "budget_tokens"},
    {ANY ",'thinking':{'type':'adaptive','display':'omitted'}}", 400, "invalid_request_error", "thinking.display"},
    {ANY ",'context_management':{'edits':[]}}", 400, "invalid_request_error", "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS"},
    {ANY ",'thread':{'type':'create'}}", 400, "invalid_request_error", "send the whole of it in messages"},
    {ANY ",'context_management':{'edits':[{'type':'clear_thinking_20251015','keep':{'type':'thinking_turns','value':"
     "1}}]}}", 400, "invalid_request_error", "context_management: only"},
    {ANY ",'context_management':{'edits':[{'type':'clear_thinking_20251015','keep':'all'},{'type':"
     "'clear_tool_uses_20250919'}]}}", 400, "invalid_request_error", "context_management: only"},
    {ANY ",'context_management':1}", 400, "invalid_request_error", "context_management: only"},
    {ANY ",'output_config':{'effort':'low'}}", 400, "invalid_request_error", "output_config.effort"},
    {ANY ",'output_config':{'format':{'type':'json_schema','schema':{'type':'string','pattern':'(?=a)'}}}}", 400,
     "invalid_request_error", "pattern"},
    {ANY ",'tools':[{'type':'web_search_20250305','name':'web_search'}]}", 400, "invalid_request_error",
     "tools[0] is of type \"web_search_20250305\""},
    {ANY ",'tools':[{'name':'a b','input_schema':{}}]}", 400, "invalid_request_error", "tools[0]"},
    {ANY ",'tools':[{'name':'a'}]}", 400, "invalid_request_error", "tools[0].input_schema"},
    {ANY ",'tools':[{'name':'a','input_schema':{},'input_examples':[{}]}]}", 400, "invalid_request_error",
     "tools[0].input_examples"},
    {ANY ",'tools':[{'name':'a','input_schema':{},'defer_loading':true}]}", 400, "invalid_request_error",
     "tools[0].defer_loading"},
    {ANY ",'tool_choice':{'type':'any'}}", 400, "invalid_request_error", "tool_choice"},
    {ANY ",'tool_choice':{'type':'tool','name':'b'},'tools':[{'name':'a','input_schema':{}}]}", 400,
     "invalid_request_error", "tool_choice"},
};

/* What changes nothing, and Claude Code says in each request. */
#define KEPT "{'type':'clear_thinking_20251015','keep':'all'}"
#define AS_CLAUDE_CODE                                                                                                \
    ",'thinking':{'type':'adaptive'},'context_management':{'edits':[" KEPT "]},'output_config':{'effort':'high'}"

TEST(messages_are_refused_by_name_in_their_form)
{
    SERVE("--threads", "1", "--ctx", "512");
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        json_t *v = ask(MESSAGES, refused[i].body, refused[i].status);
        const char *text = text_at(v, "error.message");
        CHECK_STR(text_at(v, "type"), "error");
        CHECK_STR(text_at(v, "error.type"), refused[i].type);
        if (!strstr(text, refused[i].text) || strchr(text, '\n'))
            check_fail(__FILE__, __LINE__, "%s: %s", refused[i].body, text);
        json_decref(v);
    }
    json_t *v = ask(COUNT_TOKENS, ANY "}", 400); /* it is not for that call */
    CHECK(strstr(text_at(v, "error.message"), "max_tokens") != NULL);
    CHECK(json_at(v, "error.details") == NULL);
    json_decref(v);
    v = ask(MESSAGES, ANY ",'thread':{'type':'continue','previous_message_id':'msg_1'}}", 400);
    CHECK_STR(text_at(v, "error.details.error_code"), "thread_unsupported_request"); /* the SDK goes on without one */
    CHECK_STR(text_at(v, "error.details.unsupported.0"), "thread");
    json_decref(v);
    json_decref(ask(MESSAGES, ANY "}", 200));
    json_decref(ask(MESSAGES, ANY AS_CLAUDE_CODE "}", 200));
    json_decref(ask(COUNT_TOKENS, "{'messages':[" USER "],'context_management':{'edits':[" KEPT "]}}", 200));
    CHECK_EQ(serve_end(), 130);
}

TEST(messages_that_are_too_long_are_told_in_the_words_that_clients_look_for)
{
    struct buf body = {0};
    SERVE("--threads", "1", "--ctx", "256");
    buf_puts(&body, "{'max_tokens':10,'messages':[{'role':'user','content':'");
    for (int i = 0; i < 400; i++) buf_puts(&body, "ship ");
    buf_puts(&body, "'}]}");
    json_t *v = ask(MESSAGES, body.data, 400);
    int n = 0, most = 0;
    CHECK_EQ(sscanf(text_at(v, "error.message"), "prompt is too long: %d tokens > %d maximum", &n, &most), 2);
    CHECK(n > 400 && most == 256);
    json_decref(v);
    static const struct { const char *path, *type; int status; } asked[] = {
        {MESSAGES, "request_too_large", 413}, {"/v1/chat/completions", "invalid_request_error", 400}};
    for (size_t i = 0; i < COUNT_OF(asked); i++) { /* a header that says too much: nothing of it is waited for */
        struct response r;
        int fd = client();
        body.len = 0;
        buf_printf(&body, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Connection: close\r\nContent-Length: 99999999\r\n\r\n", asked[i].path);
        client_put(fd, body.data, body.len);
        read_response(fd, &r);
        CHECK_EQ(r.status, asked[i].status);
        v = json_loads(r.body.data, 0, NULL);
        CHECK_STR(text_at(v, "error.type"), asked[i].type);
        json_decref(v);
        response_free(&r);
        close(fd);
    }
    buf_free(&body);
    CHECK_EQ(serve_end(), 130);
}

/* A body that begins so, with a message of so many words. */
static const char *with_words(const char *front, int words)
{
    static struct buf body;
    body.len = 0;
    buf_printf(&body, "{%s'messages':[{'role':'user','content':'", front);
    for (int i = 0; i < words; i++) buf_puts(&body, "a ");
    buf_puts(&body, "'}]}");
    return body.data;
}

static int prompt_tokens(int words)
{
    json_t *v = ask(COUNT_TOKENS, with_words("", words), 200);
    const int n = (int)number_at(v, "input_tokens");
    json_decref(v);
    return n;
}

/* Why an answer that has no end of its own ended, and after how many tokens. */
static void check_cut(int words, int most, bool stream, const char *why, int tokens)
{
    char front[80];
    snprintf(front, sizeof front, "'max_tokens':%d,%s", most, stream ? "'stream':true," : "");
    const char *body = with_words(front, words);
    json_t *a = stream ? named_events(MESSAGES, body) : ask(MESSAGES, body, 200);
    const json_t *end = stream ? json_array_get(a, json_array_size(a) - 2) : a;
    CHECK_STR(text_at(end, stream ? "delta.stop_reason" : "stop_reason"), why);
    CHECK_EQ(number_at(end, "usage.output_tokens"), tokens);
    json_decref(a);
}

TEST(messages_that_may_be_longer_than_their_context_fill_it_and_say_so)
{
    enum { CTX = 256, LEAST = 64 };
    static const char full[] = "model_context_window_exceeded", cut[] = "max_tokens";
    SCRIPTED("{'answer': 'word after word ', 'end': false}\n", "--ctx", "256");
    const int room = CTX - prompt_tokens(1);
    for (int stream = 0; stream < 2; stream++) {
        check_cut(1, 16384, stream, full, room);
        check_cut(1, room + 1, stream, full, room);
        check_cut(1, room, stream, cut, room); /* that was asked for */
        check_cut(1, 20, stream, cut, 20);
    }
    int words = 1; /* more would leave too little */
    while (prompt_tokens(words + 1) <= CTX - LEAST) words++;
    check_cut(words, 128000, false, full, CTX - prompt_tokens(words));
    check_cut(words + 1, 40, false, cut, 40); /* enough for who wants no more */
    json_t *v = ask(MESSAGES, with_words("'max_tokens':128000,", words + 1), 400);
    CHECK(strstr(text_at(v, "error.message"), "input length and `max_tokens` exceed context limit: ") != NULL);
    json_decref(v);
    CHECK_NEAR(metric("plimsoll:kv_tokens{state=\"reserved\"}"), 0, 0);
    CHECK_EQ(serve_end(), 130);
    SCRIPTED("{'answer': 'word after word ', 'end': false}\n", "--ctx", "512", "--pool", "128", "--parallel", "1");
    check_cut(1, 16384, false, full, 128 - prompt_tokens(1)); /* the pool is what is full */
    CHECK_EQ(serve_end(), 130);
}

static void check_error(const char *method, const char *path, const char *headers, int status, const char *type)
{
    struct response r;
    exchange(method, path, headers, "{}", 2, &r);
    json_t *v = json_loads(r.body.data, 0, NULL);
    CHECK_EQ(r.status, status);
    CHECK_STR(text_at(v, "error.type"), type);
    json_decref(v);
    response_free(&r);
}

TEST(messages_want_the_key_under_either_name)
{
    SERVE("--threads", "1", "--key-file", serve_file("key", "correct-horse-1\n"));
    check_error("POST", MESSAGES, NULL, 401, "authentication_error");
    check_error("POST", MESSAGES, "x-api-key: correct-horse-\r\n", 401, "authentication_error");
    check_error("POST", MESSAGES, "x-api-key: correct-horse-12\r\n", 401, "authentication_error");
    check_error("POST", MESSAGES, "x-api-key: correct-horse-1\r\n", 400, "invalid_request_error");
    check_error("POST", COUNT_TOKENS, "X-Api-Key: correct-horse-1\r\nanthropic-version: 2023-06-01\r\n", 400,
                "invalid_request_error");
    check_error("POST", MESSAGES, "Authorization: Bearer correct-horse-1\r\n", 400, "invalid_request_error");
    check_error("POST", MESSAGES "/batches", "x-api-key: correct-horse-1\r\n", 404, "not_found_error");
    check_error("GET", MESSAGES, "x-api-key: correct-horse-1\r\n", 405, "invalid_request_error");
    CHECK_EQ(serve_end(), 130);
    SERVE("--threads", "1");
    check_error("POST", MESSAGES, "Host: attacker.example\r\n", 403, "permission_error");
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- ends before the end */

TEST(messages_tell_of_a_pass_that_failed)
{
    struct response r;
    SCRIPTED("{'answer': 'one two three four'}\n{'fault': {'pass': 2, 'text': 'the device was lost'}}\n"
             "{'fault': {'pass': 4, 'text': 'the device was lost'}}\n");
    json_t *a = ask(MESSAGES, ANY "}", 500);
    CHECK_STR(text_at(a, "error.type"), "api_error");
    json_decref(a);
    post(MESSAGES, ANY ",'stream':true}", &r);
    CHECK_EQ(r.status, 200);
    CHECK(strstr(r.body.data, "event: error\ndata: {") && strstr(r.body.data, "the device was lost") &&
          !strstr(r.body.data, "message_stop"));
    response_free(&r);
    CHECK_NEAR(metric("plimsoll:requests_failed_total"), 2, 0);
    CHECK_EQ(serve_end(), 130);
}

TEST(messages_wait_or_are_told_to_try_again)
{
    enum { CROWD = 100 };
    int fd[CROWD], done = 0, busy = 0;
    struct buf out = {0};
    static const char body[] = "{'max_tokens':20,'messages':[" USER "]}";
    SCRIPTED("{'answer': 'word after word ', 'token_ms': 2, 'end': false}\n", "--ctx", "256", "--parallel", "2");
    buf_printf(&out, "POST " MESSAGES " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               "Connection: close\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), quoted(body));
    for (int i = 0; i < CROWD; i++) {
        fd[i] = client();
        client_put(fd[i], out.data, out.len);
    }
    for (int i = 0; i < CROWD; i++) {
        struct response r;
        read_response(fd[i], &r);
        done += r.status == 200;
        busy += r.status == 429 && strstr(r.all.data, "Retry-After: 1") && strstr(r.body.data, "\"rate_limit_error\"");
        response_free(&r);
        close(fd[i]);
    }
    if (done < 4 || !busy || done + busy < CROWD) check_fail(__FILE__, __LINE__, "%d done, %d busy", done, busy);
    buf_free(&out);
    CHECK_EQ(serve_end(), 130);
}

TEST(messages_give_back_what_a_client_held_that_leaves)
{
    struct buf in = {0}, out = {0};
    static const char body[] = "{'max_tokens':450,'stream':true,'messages':[" USER "]}";
    SCRIPTED("{'answer': 'word after word ', 'token_ms': 2, 'end': false}\n");
    int fd = client();
    buf_printf(&out, "POST " MESSAGES " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               "Content-Length: %zu\r\n\r\n%s", strlen(body), quoted(body));
    client_put(fd, out.data, out.len);
    CHECK(client_read(fd, &in, "\"text\":\"w\""));
    CHECK(metric("plimsoll:kv_tokens{state=\"reserved\"}") > 0);
    close(fd);
    for (int i = 0; metric("vllm:num_requests_running") > 0; i++) {
        CHECK(i < 100 * CHILD_PATIENCE);
        usleep(10000);
    }
    CHECK_NEAR(metric("plimsoll:kv_tokens{state=\"reserved\"}"), 0, 0);
    CHECK_NEAR(metric("vllm:request_success_total{finished_reason=\"abort\"}"), 1, 0);
    buf_free(&in);
    buf_free(&out);
    CHECK_EQ(serve_end(), 130);
}

CHECK_MAIN
