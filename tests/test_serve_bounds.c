/* `plimsoll serve` and what is too much, wrong, or not for its asker; and clients that leave. */
#include "tests/serve_rig.h"
#include <sys/stat.h>

#define CHAT "/v1/chat/completions"
#define WORDS "tests/fixtures/llama-gqa.gguf"
#define POST                                                                                                          \
    "POST " CHAT " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
#define USER "'messages':[{'role':'user','content':'x'}]"

/* ---------------------------------------------------------------- refusals */

static const struct {
    const char *body;
    int status;
    const char *code, *param; /* param NULL: none */
} refused[] = {
    {"{" USER, 400, "invalid_json", NULL},
    {"[]", 400, "invalid_json", NULL},
    {"{" USER ",'n':1,'n':2}", 400, "invalid_json", NULL},
    {"{}", 400, "invalid_value", "messages"},
    {"{'messages':[]}", 400, "invalid_value", "messages"},
    {"{'messages':[1]}", 400, "invalid_value", "messages[0].role"},
    {"{'messages':[{'role':'user'}]}", 400, "invalid_type", "messages[0].content"},
    {"{'messages':[{'role':'king','content':'x'}]}", 400, "invalid_value", "messages[0].role"},
    {"{'messages':[{'role':'user','content':[{'type':'image_url','image_url':{}}]}]}", 400, "unsupported_value",
     "messages[0].content"},
    {"{'messages':[{'role':'tool','tool_call_id':'a','content':'x'}]}", 400, "invalid_value",
     "messages[0].tool_call_id"},
    {"{'messages':[{'role':'assistant','tool_calls':[{'function':{'name':'f','arguments':'{}'}}]}]}",
     400, "invalid_value", "messages[0].tool_calls"},
    {"{" USER ",'model':'gpt-4'}", 404, "model_not_found", "model"},
    {"{" USER ",'n':0}", 400, "invalid_value", "n"},
    {"{" USER ",'temperature':-1}", 400, "invalid_value", "temperature"},
    {"{" USER ",'temperature':'hot'}", 400, "invalid_type", "temperature"},
    {"{" USER ",'top_p':2}", 400, "invalid_value", "top_p"},
    {"{" USER ",'top_k':1.5}", 400, "invalid_value", "top_k"},
    {"{" USER ",'seed':'a'}", 400, "invalid_type", "seed"},
    {"{" USER ",'max_tokens':0}", 400, "invalid_value", "max_tokens"},
    {"{" USER ",'max_tokens':1,'max_completion_tokens':2}", 400, "invalid_value", "max_tokens"},
    {"{" USER ",'stop':['']}", 400, "invalid_value", "stop"},
    {"{" USER ",'stop':['1','2','3','4','5','6','7','8','9']}", 400, "invalid_value", "stop"},
    {"{" USER ",'logit_bias':{'x':1}}", 400, "invalid_value", "logit_bias"},
    {"{" USER ",'top_logprobs':2}", 400, "invalid_value", "top_logprobs"},
    {"{" USER ",'logprobs':true,'top_logprobs':99}", 400, "invalid_value", "top_logprobs"},
    {"{" USER ",'stream_options':{}}", 400, "invalid_value", "stream_options"},
    {"{" USER ",'audio':{}}", 400, "unknown_parameter", "audio"},
    {"{" USER ",'verbosity':'low'}", 400, "unsupported_value", "verbosity"},
    {"{" USER ",'modalities':['text','audio']}", 400, "unsupported_value", "modalities"},
    {"{" USER ",'tools':[{'type':'function','function':{'name':'a b'}}]}", 400, "invalid_value", "tools[0]"},
    {"{" USER ",'functions':[{'name':'f','parameters':{}}],'function_call':'auto'}", 400, "unsupported_value",
     "functions"},
    {"{" USER ",'function_call':{'name':'f'}}", 400, "unsupported_value", "function_call"},
    {"{" USER ",'tool_choice':'required'}", 400, "invalid_value", "tool_choice"},
    {"{" USER ",'response_format':{'type':'grammar'}}", 400, "unsupported_value", "response_format"},
    {"{" USER ",'response_format':{'type':'json_schema','json_schema':{'strict':true,'schema':{'type':'string',"
     "'pattern':'(?=a)'}}}}",
     400, "invalid_value", "response_format"},
    {"{" USER ",'response_format':{'type':'json_schema','json_schema':{'schema':{'$ref':'#/$defs/A','$defs':{'A':"
     "{'$ref':'#/$defs/A'}}}}}}", 400, "invalid_value", "response_format"},
    {"{" USER ",'max_tokens':5000}", 400, "context_length_exceeded", "messages"},
};

TEST(serve_refuses_by_name_and_goes_on)
{
    SERVE("--threads", "1", "--ctx", "512");
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        json_t *v = ask(CHAT, refused[i].body, refused[i].status);
        const char *param = text_at(v, "error.param"), *text = text_at(v, "error.message");
        if (!text_at(v, "error.code") || strcmp(text_at(v, "error.code"), refused[i].code) != 0 ||
            (param ? !refused[i].param || strcmp(param, refused[i].param) != 0 : refused[i].param != NULL))
            check_fail(__FILE__, __LINE__, "%s: %s, %s: %s", refused[i].body, text_at(v, "error.code"),
                       param ? param : "-", text);
        CHECK_STR(text_at(v, "error.type"), "invalid_request_error");
        CHECK(strlen(text) > 5 && !strchr(text, '\n') && !strstr(text, "429") && !strstr(text, "Request too large"));
        json_decref(v);
    }
    json_t *v = ask(CHAT, "{" USER ",'max_tokens':5,'verbosity':'medium','modalities':['text'],'functions':null}", 200);
    json_decref(v);
    static const struct { const char *body, *instead; } older[] = {
        {"{" USER ",'functions':[{'name':'f','parameters':{}}]}", "the older form of tools, "},
        {"{" USER ",'function_call':'auto'}", "the older form of tool_choice, "},
        {"{'messages':[{'role':'function','name':'f','content':'x'}]}", "tool_call_id"},
        {"{'messages':[{'role':'assistant','function_call':{'name':'f','arguments':''}}]}", "say it as tool_calls"},
    };
    for (size_t i = 0; i < COUNT_OF(older); i++) {
        v = ask(CHAT, older[i].body, 400);
        CHECK(strstr(text_at(v, "error.message"), older[i].instead) != NULL);
        json_decref(v);
    }
    CHECK_NEAR(metric("plimsoll:requests_refused_total{reason=\"context\"}"), 1, 0);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_says_a_context_that_is_too_short_in_the_words_that_clients_look_for)
{
    struct buf body = {0};
    SERVE("--threads", "1", "--ctx", "256");
    buf_puts(&body, "{'messages':[{'role':'user','content':'");
    for (int i = 0; i < 400; i++) buf_puts(&body, "ship ");
    buf_puts(&body, "'}],'max_tokens':10}");
    json_t *v = ask(CHAT, body.data, 400);
    const char *text = text_at(v, "error.message");
    CHECK_STR(text_at(v, "error.code"), "context_length_exceeded");
    CHECK(strstr(text, "This model's maximum context length is 256 tokens") != NULL);
    CHECK(number_at(v, "error.n_prompt_tokens") > 256 && number_at(v, "error.n_ctx") == 256);
    json_decref(v);
    v = ask(CHAT, "{" USER ",'max_tokens':20}", 200); /* exactly 20 fit beside it, as unnamed they would too */
    json_decref(v);
    buf_free(&body);
    CHECK_EQ(serve_end(), 130);
    SERVE("--threads", "1", "--ctx", "512", "--pool", "64", "--parallel", "1"); /* the pool is what is too small */
    v = ask(CHAT, "{" USER ",'max_tokens':100}", 400);
    CHECK_STR(text_at(v, "error.code"), "exceeds_memory_budget");
    CHECK(strstr(text_at(v, "error.message"), "maximum context length is 64 tokens in the memory") != NULL);
    json_decref(v);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- who may ask, and how */

static int status_of(const char *method, const char *path, const char *headers, const char *body, size_t n)
{
    struct response r;
    exchange(method, path, headers, body, n, &r);
    int status = r.status;
    response_free(&r);
    return status;
}

TEST(serve_answers_this_machine_alone_under_its_own_names)
{
    SERVE("--threads", "1");
    CHECK_EQ(status_of("GET", "/health", NULL, "", 0), 200);
    CHECK_EQ(status_of("HEAD", "/health", NULL, "", 0), 200);
    CHECK_EQ(status_of("GET", "/v1/models/plimsoll-tiny", NULL, "", 0), 200);
    CHECK_EQ(status_of("GET", "/v1/models/other", NULL, "", 0), 404);
    CHECK_EQ(status_of("GET", "/v1/models", "Host: 127.0.0.1:80\r\n", "", 0), 200);
    CHECK_EQ(status_of("GET", "/health", "Host: probe\r\n", "", 0), 200);
    CHECK_EQ(status_of("GET", "/v1/models", "Host: attacker.example\r\n", "", 0), 403);
    CHECK_EQ(status_of("GET", "/v1/models", "Host: localhost.attacker.example\r\n", "", 0), 403);
    CHECK_EQ(status_of("POST", CHAT, "Content-Type: text/plain\r\n", "{" USER "}", 10), 415);
    CHECK_EQ(status_of("POST", CHAT, "Content-Type: application/json-or-so\r\n", "{}", 2), 415);
    CHECK_EQ(status_of("GET", CHAT, NULL, "", 0), 405);
    CHECK_EQ(status_of("OPTIONS", CHAT, NULL, "", 0), 405);
    CHECK_EQ(status_of("GET", "/nowhere", NULL, "", 0), 404);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_wants_the_key_where_there_is_one)
{
    struct child c = {0};
    const char *file = serve_file("key", "correct-horse-1\n");
    SERVE("--threads", "1", "--key-file", file);
    CHECK_EQ(status_of("GET", "/v1/models", NULL, "", 0), 401);
    CHECK_EQ(status_of("GET", "/v1/models", "Authorization: Bearer correct-horse-2\r\n", "", 0), 401);
    CHECK_EQ(status_of("GET", "/v1/models", "Authorization: Bearer correct-horse-12\r\n", "", 0), 401);
    CHECK_EQ(status_of("GET", "/v1/models", "Authorization: Bearer correct-horse-\r\n", "", 0), 401);
    CHECK_EQ(status_of("GET", "/v1/models", "Authorization: Bearer correct-horse-1\r\n", "", 0), 200);
    CHECK_EQ(status_of("GET", "/v1/models", "Host: my.name\r\nAuthorization: Bearer correct-horse-1\r\n", "", 0), 200);
    CHECK_EQ(status_of("GET", "/health", NULL, "", 0), 200);
    CHECK_EQ(serve_end(), 130);
    CHECK_EQ(child_run(&c, (const char *const[]){"serve", "--host", "0.0.0.0", "--port", "0", NULL}, "", 0), 2);
    CHECK(strstr(c.err_text.data, "--key-file") != NULL);
    child_free(&c);
    const char *const bad[] = {serve_file("short", "abc\n"), serve_file("blank", "two words here\n"), "/", "/nowhere"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_EQ(child_run(&c, (const char *const[]){"serve", "--key-file", bad[i], NULL}, "", 0), 2);
        CHECK(strstr(c.err_text.data, "--key-file") != NULL);
        child_free(&c);
    }
}

TEST(serve_has_options_that_are_checked)
{
    struct child c = {0};
    static const char *const bad[][3] = {{"--port", "65536"}, {"--port", "x"}, {"--port"}, {"--host", ""}, {"--json"},
                                         {"-p", "x"}, {"--tools", "read"}, {"--naive", "f32"},
                                         {"--host", "no.such.host.invalid"}, {"--alias", ""}, {"--alias", "two words"},
                                         {"--alias"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_EQ(child_run(&c, (const char *const[]){"serve", bad[i][0], bad[i][1], NULL}, "", 0), 2);
        CHECK(strstr(c.err_text.data, strcmp(bad[i][0], "-p") == 0 ? "--prompt" : bad[i][0]) != NULL);
        child_free(&c);
    }
    CHECK_EQ(child_run(&c, (const char *const[]){"serve", "--help", NULL}, "", 0), 0);
    CHECK(strstr(c.out_text.data, "--key-file") && strstr(c.out_text.data, "context_length_exceeded"));
    child_free(&c);
    char port[16];
    SERVE("--threads", "1");
    snprintf(port, sizeof port, "%d", server_port);
    CHECK_EQ(child_run(&c, (const char *const[]){"serve", "--port", port, NULL}, "", 0), 2);
    CHECK(strstr(c.err_text.data, "another program listens there") != NULL);
    child_free(&c);
    CHECK_EQ(serve_end(), 130);
    SERVE("--threads", "1", "--alias", "qwen/qwen3:8b"); /* for programs that have names of their own */
    static const struct { const char *body; int status; } named[] = {
        {"{" USER ",'max_tokens':1,'model':'qwen/qwen3:8b'}", 200},
        {"{" USER ",'max_tokens':1,'model':'default'}", 200},
        {"{" USER ",'model':'plimsoll-tiny'}", 404}, {"{" USER ",'model':'qwen/qwen3'}", 404},
    };
    for (size_t i = 0; i < COUNT_OF(named); i++) {
        json_t *v = ask(CHAT, named[i].body, named[i].status);
        if (named[i].status == 200) CHECK_STR(text_at(v, "model"), "qwen/qwen3:8b");
        else CHECK(strstr(text_at(v, "error.message"), "--alias") != NULL);
        json_decref(v);
    }
    CHECK_EQ(status_of("GET", "/v1/models/qwen/qwen3:8b", NULL, "", 0), 200);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- bodies */

TEST(serve_reads_a_body_up_to_its_limit)
{
    enum { LIMIT = 1 << 20 };
    struct buf body = {0}, chunked = {0};
    struct response r;
    SERVE("--threads", "1");
    buf_puts(&body, quoted("{'user':'"));
    while (body.len < LIMIT - 100) buf_puts(&body, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    buf_puts(&body, quoted("'," USER ",'max_tokens':3}"));
    exchange("POST", CHAT, NULL, body.data, body.len, &r);
    CHECK_EQ(r.status, 200);
    response_free(&r);
    for (size_t at = 0; at < body.len; at += 5000) {
        size_t n = MIN(body.len - at, (size_t)5000);
        buf_printf(&chunked, "%zx\r\n", n);
        buf_put(&chunked, body.data + at, n);
        buf_puts(&chunked, "\r\n");
    }
    int fd = client();
    struct buf head = {0};
    buf_puts(&head, POST "Transfer-Encoding: chunked\r\n\r\n");
    client_put(fd, head.data, head.len);
    client_put(fd, chunked.data, chunked.len);
    client_put(fd, "0\r\n\r\n", 5);
    read_response(fd, &r);
    CHECK_EQ(r.status, 200);
    response_free(&r);
    close(fd);

    fd = client(); /* a header that says too much: nothing of it is waited for */
    static const char large[] = POST "Content-Length: 99999999999\r\n\r\n";
    client_put(fd, large, sizeof large - 1);
    read_response(fd, &r);
    CHECK_EQ(r.status, 400);
    CHECK(strstr(r.body.data, "context_length_exceeded") != NULL);
    response_free(&r);
    close(fd);

    fd = client(); /* and without it */
    client_put(fd, head.data, head.len);
    client_put(fd, chunked.data, chunked.len);
    client_put(fd, chunked.data, chunked.len);
    client_put(fd, "0\r\n\r\n", 5);
    read_response(fd, &r);
    CHECK_EQ(r.status, 400);
    CHECK(strstr(r.body.data, "context_length_exceeded") != NULL);
    response_free(&r);
    close(fd);
    CHECK_NEAR(metric("plimsoll:http_body_bytes"), 0, 0);
    buf_free(&head);
    buf_free(&body);
    buf_free(&chunked);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_is_not_held_up_by_a_client_that_says_nothing)
{
    SERVE("--threads", "1");
    int silent = client(), slow = client();
    client_put(slow, "POST " CHAT " HTT", 15);
    json_t *v = ask(CHAT, "{" USER ",'max_tokens':3}", 200);
    json_decref(v);
    CHECK_EQ(serve_end(), 130);
    close(silent);
    close(slow);
}

/* ---------------------------------------------------------------- many, and those that leave */

static void begin_ask(int fd, const char *body)
{
    struct buf out = {0};
    buf_printf(&out, POST "Content-Length: %zu\r\n\r\n%s", strlen(body), quoted(body));
    client_put(fd, out.data, out.len);
    buf_free(&out);
}

static const char endless[] = "{'answer': 'word after word ', 'token_ms': 2, 'end': false}\n";
#define ENDLESS(...)                                                                                                  \
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("endless", quoted(endless)), ##__VA_ARGS__)
#define LONG "{" USER ",'max_tokens':450"

TEST(serve_lets_a_crowd_wait_or_try_again)
{
    enum { CROWD = 100 };
    int fd[CROWD], done = 0, busy = 0;
    ENDLESS("--ctx", "256", "--parallel", "2");
    for (int i = 0; i < CROWD; i++) {
        fd[i] = client();
        begin_ask(fd[i], i % 3 ? "{" USER ",'max_tokens':20}" : "{" USER ",'max_tokens':100,'stream':true}");
    }
    for (int i = 0; i < CROWD; i++) {
        struct response r;
        read_response(fd[i], &r);
        done += r.status == 200;
        busy += r.status == 429;
        if (r.status == 429) CHECK(strstr(r.all.data, "Retry-After: 1") && strstr(r.body.data, "\"server_busy\"") &&
                                   !strstr(r.body.data, "context") && !strstr(r.body.data, "tokens"));
        if (r.status != 200 && r.status != 429) check_fail(__FILE__, __LINE__, "%d: %s", r.status, r.body.data);
        response_free(&r);
        close(fd[i]);
    }
    if (done < 4 || !busy) check_fail(__FILE__, __LINE__, "%d done, %d busy", done, busy);
    CHECK_NEAR(metric("plimsoll:kv_tokens{state=\"reserved\"}"), 0, 0);
    CHECK_NEAR(metric("vllm:request_success_total{finished_reason=\"abort\"}"), 0, 0);
    CHECK_NEAR(metric("plimsoll:requests_refused_total{reason=\"busy\"}"), busy, 0);
    CHECK_NEAR(metric("plimsoll:http_connections"), 1, 0);
    CHECK_EQ(serve_end(), 130);
}

static void wait_until_idle(double aborted)
{
    for (int i = 0; metric("vllm:num_requests_running") > 0; i++) {
        CHECK(i < 100 * CHILD_PATIENCE);
        usleep(10000);
    }
    CHECK_NEAR(metric("plimsoll:kv_tokens{state=\"reserved\"}"), 0, 0);
    CHECK_NEAR(metric("vllm:request_success_total{finished_reason=\"abort\"}"), aborted, 0);
}

TEST(serve_gives_back_what_a_client_held_that_leaves)
{
    struct buf in = {0};
    ENDLESS();
    int fd = client();
    begin_ask(fd, LONG ",'stream':true}");
    CHECK(client_read(fd, &in, "\"content\":\"w\""));
    CHECK(metric("plimsoll:kv_tokens{state=\"reserved\"}") > 0);
    close(fd);
    wait_until_idle(1);
    fd = client(); /* one that waits for the whole answer */
    begin_ask(fd, LONG "}");
    for (int i = 0; metric("vllm:num_requests_running") == 0; i++) CHECK(i < 100 * CHILD_PATIENCE);
    close(fd);
    wait_until_idle(2);
    buf_free(&in);
    CHECK_EQ(serve_end(), 130);
}

TEST(serve_tells_those_who_wait_that_it_ends)
{
    struct response r;
    struct buf in = {0};
    ENDLESS();
    int stream = client(), whole = client();
    begin_ask(stream, LONG ",'stream':true}");
    begin_ask(whole, LONG "}");
    CHECK(client_read(stream, &in, "\"content\":\"w\""));
    while (metric("vllm:num_requests_running") < 2) usleep(1000);
    kill(server.pid, SIGTERM);
    client_read(stream, &in, NULL);
    CHECK(strstr(in.data, "shutting_down") && !strstr(in.data, "[DONE]"));
    read_response(whole, &r);
    CHECK_EQ(r.status, 503);
    CHECK(strstr(r.body.data, "shutting_down") != NULL);
    response_free(&r);
    buf_free(&in);
    close(stream);
    close(whole);
    CHECK_EQ(child_end(&server), 143);
    server.pid = 0;
}

/* Nobody reads its stderr. */
TEST(words_that_nobody_reads_stop_nobody)
{
    enum { MANY = 1000 };
    static const char line[] = "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char in[4096];
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", "{\"answer\":\"a\"}\n"));
    const size_t before = server.err_text.len;
    int fd = client();
    for (int i = 0; i < MANY; i++) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        client_put(fd, line, sizeof line - 1);
        for (size_t n = 0; n < 2 || memcmp(in + n - 2, "}}", 2) != 0;) {
            if (poll(&p, 1, 1000 * CHILD_PATIENCE) != 1) check_fail(__FILE__, __LINE__, "no answer to request %d", i);
            const ssize_t got = recv(fd, in + n, sizeof in - n, 0);
            CHECK(got > 0);
            n += (size_t)got;
        }
        CHECK(memcmp(in, "HTTP/1.1 404", 12) == 0);
    }
    close(fd);
    for (int i = 0; i < 20; i++) child_look(&server, 10);
    const size_t held = server.err_text.len - before;
    CHECK(held > 4096 && held < MANY * 200); /* what a pipe holds */
    json_decref(ask(CHAT, "{}", 400));
    for (int i = 0; i < 20; i++) child_look(&server, 10);
    CHECK(strstr(server.err_text.data, " lines found no reader)\n"));
}

CHECK_MAIN
