/* `plimsoll serve` to clients of Ollama's API: what it tells of itself and the model, what is refused and how, keys and
 * types, ends before the end; and /tokenize, /detokenize. */
#include "tests/serve_rig.h"
#include "tests/tiny_model.h"
#include "tests/vocab_file.h"

#define CHAT "/api/chat"
#define GENERATE "/api/generate"
#define WORDS "tests/fixtures/llama-gqa.gguf" /* the vocabulary of scripted answers */
#define SCRIPTED(answers, ...)                                                                                        \
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", quoted(answers)), ##__VA_ARGS__)
#define USER "{'role':'user','content':'x'}"
#define ANY "{'messages':[" USER "]"

/* ---------------------------------------------------------------- what it tells */

static json_t *get(const char *path)
{
    struct response r;
    exchange("GET", path, NULL, "", 0, &r);
    json_t *v = json_loads(r.body.data, 0, NULL);
    if (r.status != 200 || !v) check_fail(__FILE__, __LINE__, "%s: %d %s", path, r.status, r.body.data);
    response_free(&r);
    return v;
}

TEST(ollama_is_told_what_model_is_here)
{
    struct response r;
    SERVE("--threads", "1");
    json_t *tags = get("/api/tags"), *ps = get("/api/ps"), *version = get("/api/version");
    json_t *show = ask("/api/show", "{'model':'plimsoll-tiny','verbose':false}", 200);
    json_t *older = ask("/api/show", "{'name':'plimsoll-tiny:latest'}", 200);
    json_t *listed = get("/v1/models"); /* for OpenAI's clients and Anthropic's */
    CHECK_STR(text_at(listed, "data.0.id"), "plimsoll-tiny");
    CHECK_EQ(strlen(text_at(listed, "data.0.created_at")), 20);
    CHECK_STR(text_at(listed, "data.0.lifecycle"), "active");
    CHECK_EQ(number_at(listed, "data.0.max_input_tokens"), 4096);
    json_decref(listed);
    CHECK(json_equal(show, older));
    CHECK_EQ(json_array_size(json_object_get(tags, "models")), 1);
    CHECK_STR(text_at(tags, "models.0.name"), "plimsoll-tiny:latest");
    CHECK_STR(text_at(tags, "models.0.model"), "plimsoll-tiny:latest");
    CHECK_EQ(strlen(text_at(tags, "models.0.digest")), 64);
    CHECK(number_at(tags, "models.0.size") > 5000000 && number_at(tags, "models.0.size") < 7000000);
    CHECK_EQ(strlen(text_at(tags, "models.0.modified_at")), 20);
    CHECK_STR(text_at(tags, "models.0.details.format"), "gguf");
    CHECK_STR(text_at(tags, "models.0.details.family"), "qwen2");
    CHECK_STR(text_at(tags, "models.0.details.parameter_size"), "5.58M");
    CHECK_STR(text_at(tags, "models.0.details.quantization_level"), "Q8_0");
    CHECK_STR(text_at(ps, "models.0.name"), "plimsoll-tiny:latest");
    CHECK_EQ(number_at(ps, "models.0.context_length"), 4096);
    CHECK(number_at(ps, "models.0.size") > number_at(tags, "models.0.size"));
    CHECK_EQ(number_at(ps, "models.0.size_vram"), 0);
    CHECK(strcmp(text_at(ps, "models.0.expires_at"), "9") > 0);
    CHECK(json_is_string(json_object_get(version, "version")));
    const json_t *info = json_object_get(show, "model_info");
    CHECK_STR(json_string_value(json_object_get(info, "general.architecture")), "qwen2");
    CHECK_EQ(json_integer_value(json_object_get(info, "general.parameter_count")), 5578496);
    CHECK_EQ(json_integer_value(json_object_get(info, "qwen2.context_length")), 4096);
    CHECK(json_is_real(json_object_get(info, "qwen2.rope.freq_base")));
    CHECK(json_is_false(json_object_get(info, "tokenizer.ggml.add_bos_token")));
    CHECK(json_is_null(json_object_get(info, "tokenizer.ggml.tokens")));
    CHECK(!json_object_get(info, "tokenizer.chat_template"));
    CHECK(strstr(text_at(show, "template"), "<|im_start|>") != NULL);
    CHECK_STR(text_at(show, "capabilities.0"), "completion");
    CHECK_STR(text_at(show, "capabilities.1"), "tools");
    CHECK_EQ(json_array_size(json_object_get(show, "capabilities")), 2);
    for (size_t i = 0; i < 5; i++) json_decref((json_t *[]){tags, ps, version, show, older}[i]);
    exchange("GET", "/", NULL, "", 0, &r);
    CHECK_EQ(r.status, 200);
    CHECK_STR(r.body.data, "Ollama is running");
    response_free(&r);
    exchange("HEAD", "/", NULL, "", 0, &r);
    CHECK_EQ(r.status, 200);
    CHECK_EQ(r.body.len, 0);
    response_free(&r);
    CHECK_EQ(serve_end(), 130);
}

/* By its template: of a family with channels, with marks for what is thought, and none. */
TEST(ollama_is_told_whether_a_model_thinks_and_has_tools)
{
    static const char thinks[] = "{{'<|im_start|>' + content + '<|im_end|>'}}{% if '</think>' in content %}{% endif %}";
    const struct tiny t = TINY_LLAMA;
    const char *const files[] = {vocab_file_harmony(), tiny_file(&t, thinks, "thinks.gguf"),
                                 tiny_file(&t, NULL, "plain.gguf")};
    static const char *const can[] = {"completion tools thinking", "completion tools thinking", "completion"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct buf text = {0};
        const json_t *v;
        size_t k;
        SERVE("-m", files[i], "--engine", "scripted", "--ctx", "2048", "--script-file", serve_file("answers",
              quoted("{'answer': 'x'}\n")));
        json_t *show = ask("/api/show", "{'model':'default'}", 200);
        json_array_foreach(json_object_get(show, "capabilities"), k, v)
            buf_printf(&text, "%s%s", k ? " " : "", json_string_value(v));
        CHECK_STR(text.data, can[i]);
        json_decref(show);
        json_decref(ask(CHAT, ANY ",'stream':false,'think':true}", i < 2 ? 200 : 400));
        json_decref(ask(CHAT, ANY ",'stream':false,'think':false}", i == 0 ? 400 : 200));
        json_t *low = ask(CHAT, ANY ",'stream':false,'think':'low'}", i == 0 ? 200 : 400);
        if (i == 1) CHECK(strstr(text_at(low, "error"), "think: this model is not told how much") != NULL);
        json_decref(low);
        buf_free(&text);
        CHECK_EQ(serve_end(), 130);
    }
}

/* ---------------------------------------------------------------- what is refused */

#define FOUR(text) text text text text
#define LONG FOUR(FOUR(FOUR(FOUR("ship ship ")))) /* more than 512 tokens */
static const struct refusal {
    const char *path, *body;
    int status;
    const char *text; /* in the error */
} refused[] = {
    {CHAT, "[1]", 400, "JSON object"},
    {CHAT, "{'messages':", 400, "the body is no JSON"},
    {CHAT, "{'messages':1}", 400, "messages is to be a list"},
    {CHAT, "{'messages':[1]}", 400, "messages[0].role"},
    {CHAT, "{'messages':[{'role':'root','content':'x'}]}", 400, "messages[0].role is to be"},
    {CHAT, "{'messages':[{'role':'user','content':['x']}]}", 400, "messages[0].content is to be a text"},
    {CHAT, "{'messages':[{'role':'user','content':'x','images':['aGk=']}]}", 400, "messages[0].images"},
    {CHAT, "{'messages':[{'role':'user','content':'x','odd':1}]}", 400, "messages[0].odd"},
    {CHAT, "{'messages':[" USER ",{'role':'tool','content':'x'}]}", 400, "messages[1]: no call"},
    {CHAT, "{'messages':[" USER ",{'role':'assistant','tool_calls':{}}]}", 400, "messages[1].tool_calls"},
    {CHAT, "{'messages':[" USER ",{'role':'assistant','thinking':1}]}", 400, "messages[1].thinking"},
    {CHAT, "{'messages':[" USER ",{'role':'assistant','tool_calls':[{'function':{'name':'f','arguments':'{}'}}]}]}",
     400, "messages[1].tool_calls[0]"},
    {CHAT, "{'messages':[" USER ",{'role':'assistant','tool_calls':[{'function':{'name':'f'}}]},{'role':'tool',"
     "'tool_name':'g','content':'x'}]}", 400, "messages[2]: no call"},
    {CHAT, "{'messages':[" USER ",{'role':'assistant','tool_calls':[{'id':'i','function':{'name':'f'}}]},{'role':"
     "'tool','tool_call_id':'k','content':'x'}]}", 400, "messages[2]: no call"},
    {CHAT, "{'messages':[" USER ",{'role':'assistant','tool_calls':[{'function':{'name':'f'}}]},{'role':'tool',"
     "'content':'x'},{'role':'tool','content':'x'}]}", 400, "messages[3]: no call"},
    {CHAT, "{'messages':[" USER ",{'role':'assistant','tool_calls':[{'function':{'name':'f'}}]}," USER ",{'role':"
     "'assistant','content':'y'},{'role':'tool','content':'x'}]}", 400, "messages[4]: no call"},
    {CHAT, ANY ",'model':'other'}", 404, "the model \"other\" is not here"},
    {CHAT, ANY ",'model':'plimsoll-tiny:7b'}", 404, "is not here"},
    {CHAT, ANY ",'prompt':'x'}", 400, "prompt is not known"},
    {CHAT, ANY ",'stream':1}", 400, "stream is to be true or false"},
    {CHAT, ANY ",'tools':{}}", 400, "tools is to be a list"},
    {CHAT, ANY ",'tools':[{'type':'function','function':{'name':'a b'}}]}", 400, "tools[0]"},
    {CHAT, ANY ",'format':'xml'}", 400, "format is to be"},
    {CHAT, ANY ",'format':{'type':'array','prefixItems':1}}", 400, "schema"},
    {CHAT, ANY ",'think':true}", 400, "does not support thinking"},
    {CHAT, ANY ",'think':'low'}", 400, "does not support thinking"},
    {CHAT, ANY ",'think':1}", 400, "think is to be"},
    {CHAT, ANY ",'keep_alive':'soon'}", 400, "keep_alive is to be"},
    {CHAT, ANY ",'keep_alive':[]}", 400, "keep_alive is to be"},
    {CHAT, ANY ",'logprobs':2}", 400, "logprobs is to be true or false"},
    {CHAT, ANY ",'top_logprobs':2}", 400, "top_logprobs needs logprobs"},
    {CHAT, ANY ",'logprobs':true,'top_logprobs':99}", 400, "top_logprobs is to be a whole number"},
    {CHAT, ANY ",'options':[]}", 400, "options is to be an object"},
    {CHAT, ANY ",'options':{'num_ctx':513}}", 400, "options.num_ctx: this server was started for 512 tokens"},
    {CHAT, ANY ",'options':{'num_ctx':'x'}}", 400, "options.num_ctx is to be a whole number"},
    {CHAT, ANY ",'options':{'num_predict':1.5}}", 400, "options.num_predict is to be a whole number"},
    {CHAT, ANY ",'options':{'num_predict':9999999999}}", 400, "options.num_predict is to be at most"},
    {CHAT, "{'messages':[{'role':'user','content':'" LONG "'}],'options':{'num_predict':5000}}", 400,
     "maximum context length is 512 tokens"},
    {CHAT, ANY ",'options':{'temperature':'hot'}}", 400, "temperature is to be a number"},
    {CHAT, ANY ",'options':{'repeat_penalty':0}}", 400, "repeat_penalty: "},
    {CHAT, ANY ",'options':{'repeat_last_n':0.5}}", 400, "repeat_last_n is to be a whole number; 0 is none"},
    {CHAT, ANY ",'options':{'stop':['']}}", 400, "stop is to be a text"},
    {CHAT, ANY ",'options':{'seed':'x'}}", 400, "options.seed"},
    {CHAT, ANY ",'options':{'mirostat':2}}", 400, "options.mirostat is not served"},
    {CHAT, ANY ",'options':{'tfs_z':0.5}}", 400, "options.tfs_z is not served"},
    {CHAT, ANY ",'options':{'typical_p':'1'}}", 400, "options.typical_p is not served"},
    {CHAT, ANY ",'options':{'penalize_newline':false}}", 400, "options.penalize_newline"},
    {CHAT, ANY ",'options':{'num_predictt':1}}", 400, "options.num_predictt is not known"},
    {GENERATE, "{'prompt':1}", 400, "prompt is to be a text"},
    {GENERATE, "{'prompt':'x','messages':[]}", 400, "messages is not known"},
    {GENERATE, "{'prompt':'x','suffix':'y'}", 400, "suffix: "},
    {GENERATE, "{'prompt':'x','template':'y'}", 400, "template: "},
    {GENERATE, "{'prompt':'x','context':[1]}", 400, "context: "},
    {GENERATE, "{'prompt':'x','images':['aGk=']}", 400, "images: "},
    {GENERATE, "{'prompt':'x','system':[]}", 400, "system is to be a text"},
    {GENERATE, "{'prompt':'x','raw':'yes'}", 400, "raw is to be"},
    {GENERATE, "{'prompt':'x','raw':true,'system':'y'}", 400, "system: a raw prompt"},
    {GENERATE, "{'prompt':'x','raw':true,'format':'json'}", 400, "format: "},
    {GENERATE, "{'prompt':'x','raw':true,'think':true}", 400, "think: "},
    {"/api/show", "{}", 400, "model is needed"},
    {"/api/show", "{'model':'other'}", 404, "is not here"},
    {"/api/show", "{'model':'default','odd':1}", 400, "odd is not known"},
    {"/api/pull", "{}", 501, "the one model"}, {"/api/push", "{}", 501, "the one model"},
    {"/api/create", "{}", 501, "the one model"}, {"/api/copy", "{}", 501, "the one model"},
    {"/api/delete", "{}", 501, "the one model"}, {"/api/blobs/sha256:00", "{}", 501, "the one model"},
    {"/api/nowhere", "{}", 404, "is not here"}, {"/api/tags", "{}", 405, "GET"},
};

TEST(ollama_refuses_by_name_in_its_form)
{
    SERVE("--threads", "1", "--ctx", "512");
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        json_t *v = ask(refused[i].path, refused[i].body, refused[i].status);
        const char *text = text_at(v, "error");
        if (json_object_size(v) != 1 || !text || !strstr(text, refused[i].text) || strchr(text, '\n'))
            check_fail(__FILE__, __LINE__, "%s: %s", refused[i].body, text ? text : "");
        json_decref(v);
    }
    json_decref(ask(CHAT, ANY ",'stream':false,'options':{'num_predict':1}}", 200));
    CHECK_NEAR(metric("plimsoll:requests_failed_total"), 0, 0);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- who may ask */

static void check_status(const char *path, const char *headers, int status)
{
    struct response r;
    static const char body[] = "{'messages':[" USER "],'stream':false,'options':{'num_predict':1}}";
    exchange("POST", path, headers, quoted(body), sizeof body - 1, &r);
    if (r.status != status) check_fail(__FILE__, __LINE__, "%s: %d, not %d", headers, r.status, status);
    json_t *v = json_loads(r.body.data, 0, NULL);
    CHECK(json_is_object(v) && (status == 200 || json_object_get(v, "error")));
    json_decref(v);
    response_free(&r);
}

TEST(ollama_wants_the_key_and_takes_what_no_page_could_send)
{
#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"
    SERVE("--threads", "1", "--key-file", serve_file("key", "correct-horse-1\n"));
    check_status(CHAT, NULL, 401);
    check_status(CHAT, "Authorization: Bearer correct-horse-2\r\n", 401);
    check_status(CHAT, "Authorization: Bearer correct-horse-1\r\n", 200);
    CHECK_EQ(serve_end(), 130);
    SERVE("--threads", "1");
    check_status(CHAT, FORM, 200); /* as curl says */
    check_status(CHAT, FORM "Origin: http://attacker.example\r\n", 415);
    check_status(CHAT, FORM "Referer: http://attacker.example/\r\n", 415);
    check_status(CHAT, FORM "Sec-Fetch-Site: cross-site\r\n", 415);
    check_status(CHAT, "Content-Type: text/plain\r\n", 415);
    check_status("/v1/chat/completions", FORM, 415);
    check_status(CHAT, "Host: attacker.example\r\n", 403);
    struct response r; /* and none at all, as LiteLLM sends */
    for (int page = 0; page < 2; page++) {
        struct buf out = {0};
        int fd = client();
        buf_printf(&out, "POST " CHAT " HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: 2\r\nConnection: close\r\n\r\n"
                   "{}", page ? "Origin: null\r\n" : "");
        client_put(fd, out.data, out.len);
        read_response(fd, &r);
        CHECK_EQ(r.status, page ? 415 : 200);
        response_free(&r);
        close(fd);
        buf_free(&out);
    }
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- ends before the end */

static int begin_stream(const char *body, struct buf *in, const char *until)
{
    struct buf out = {0};
    int fd = client();
    buf_printf(&out, "POST " CHAT " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               "Connection: close\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), quoted(body));
    client_put(fd, out.data, out.len);
    buf_free(&out);
    if (until) CHECK(client_read(fd, in, until));
    return fd;
}

TEST(ollama_is_told_of_a_pass_that_failed)
{
    struct response r;
    SCRIPTED("{'answer': 'one two three four'}\n{'fault': {'pass': 2, 'text': 'the device was lost'}}\n"
             "{'fault': {'pass': 4, 'text': 'the device was lost'}}\n");
    json_t *a = ask(CHAT, ANY ",'stream':false}", 500);
    CHECK(strstr(text_at(a, "error"), "the device was lost") != NULL);
    json_decref(a);
    post(CHAT, ANY "}", &r);
    CHECK_EQ(r.status, 200);
    const char *last = strstr(r.body.data, "\n{\"error\":\"");
    CHECK(last && strstr(last, "the device was lost") && !strstr(r.body.data, "\"done\":true"));
    response_free(&r);
    CHECK_NEAR(metric("plimsoll:requests_failed_total"), 2, 0);
    CHECK_EQ(serve_end(), 130);
}

/* One holds the only place for so long that the other is shown that its stream lives; then it leaves. */
TEST(ollama_streams_live_while_they_wait_and_give_back_what_they_held)
{
    struct buf first = {0}, second = {0};
    SCRIPTED("{'answer': 'word after word ', 'token_ms': 40, 'end': false}\n{'answer': 'One'}\n", "--ctx", "512",
             "--parallel", "1");
    int held = begin_stream("{'messages':[" USER "],'options':{'num_predict':-1}}", &first, "\"content\":\"w");
    int waits = begin_stream(ANY "}", &second, "\"content\":\"\"");
    CHECK(strstr(second.data, "\"done\":false") && !strstr(second.data, "\n:"));
    CHECK(metric("plimsoll:kv_tokens{state=\"reserved\"}") > 0);
    close(held);
    client_read(waits, &second, NULL);
    const char *text = strstr(second.data, "\"content\":\"O"), *wait = strstr(second.data, "\"load_duration\":");
    CHECK(text && wait && atoll(wait + strlen("\"load_duration\":")) > 9000000000LL);
    close(waits);
    CHECK_NEAR(metric("plimsoll:kv_tokens{state=\"reserved\"}"), 0, 0);
    CHECK_NEAR(metric("vllm:request_success_total{finished_reason=\"abort\"}"), 1, 0);
    buf_free(&first);
    buf_free(&second);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- tokens */

/* What /tokenize makes of this body, and /detokenize of that; the caller's. */
static char *there_and_back(const char *body, size_t tokens)
{
    json_t *t = ask("/tokenize", body, 200), *only = json_pack("{s:O}", "tokens", json_object_get(t, "tokens"));
    char *back = json_dumps(only, JSON_COMPACT);
    if (json_array_size(json_object_get(t, "tokens")) != tokens) check_fail(__FILE__, __LINE__, "%s: %s", body, back);
    json_t *v = ask("/detokenize", back, 200);
    char *text = strdup(text_at(v, "content"));
    free(back);
    json_decref(t);
    json_decref(only);
    json_decref(v);
    return text;
}

TEST(texts_become_tokens_and_texts_again)
{
    static const struct { const char *body; size_t tokens; const char *text; } asked[] = {
        {"{'content':''}", 0, ""}, {"{'content':'hello'}", 1, "hello"},
        {"{'content':'hello<|im_end|>'}", 2, "hello<|im_end|>"},
        {"{'content':'<|im_end|>','parse_special':true,'add_special':true,'model':'default'}", 1, "<|im_end|>"},
        {"{'prompt':'hello','add_special_tokens':false}", 1, "hello"}, {"{'prompt':'hello'}", 1, "hello"},
    };
    SERVE("--threads", "1");
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        char *text = there_and_back(asked[i].body, asked[i].tokens);
        CHECK_STR(text, asked[i].text);
        free(text);
    }
    json_t *v = ask("/tokenize", "{'content':'<|im_end|>','parse_special':false}", 200);
    CHECK(json_array_size(json_object_get(v, "tokens")) > 3);
    CHECK(!json_object_get(v, "count"));
    json_decref(v);
    v = get("/tokenizer_info");
    CHECK_STR(text_at(v, "eos_token"), "<|im_end|>");
    CHECK(strstr(text_at(v, "chat_template"), "<|im_start|>") != NULL);
    CHECK_EQ(number_at(v, "model_max_length"), 4096);
    CHECK_STR(text_at(v, "tokenizer_class"), "bpe");
    json_decref(v);
    v = ask("/tokenize", "{'prompt':'hello hello'}", 200);
    CHECK_EQ(number_at(v, "count"), (long long)json_array_size(json_object_get(v, "tokens")));
    CHECK_EQ(number_at(v, "max_model_len"), 4096);
    json_decref(v);
    v = ask("/tokenize", "{'content':'\u00e9'}", 200); /* half of it is no character */
    struct buf half = {0};
    buf_printf(&half, "{'tokens':[%lld]}", number_at(v, "tokens.0"));
    json_t *back = ask("/detokenize", half.data, 200);
    CHECK_EQ(json_array_size(json_object_get(v, "tokens")), 2);
    CHECK_STR(text_at(back, "content"), "\xef\xbf\xbd");
    CHECK_STR(text_at(back, "prompt"), "\xef\xbf\xbd");
    json_decref(v);
    json_decref(back);
    buf_free(&half);
    static const struct refusal bad[] = {
        {"/tokenize", "{}", 400, "content is to be a text"}, {"/tokenize", "{'content':[1]}", 400, "content is"},
        {"/tokenize", "{'content':'x','with_pieces':true}", 400, "with_pieces is not known"},
        {"/tokenize", "{'content':'x','add_special':1}", 400, "add_special is to be true or false"},
        {"/tokenize", "{'content':'x','prompt':'y'}", 400, "prompt is not known"},
        {"/tokenize", "{'content':'x','model':'other'}", 404, "is not here"},
        {"/detokenize", "{}", 400, "tokens is to be a list"}, {"/detokenize", "{'tokens':'1'}", 400, "tokens is to be"},
        {"/detokenize", "{'tokens':[1,-1]}", 400, "tokens[1] is no token id from 0 to 4095"},
        {"/detokenize", "{'tokens':[4096]}", 400, "tokens[0]"}, {"/detokenize", "{'tokens':['1']}", 400, "tokens[0]"},
        {"/detokenize", "{'tokens':[1],'odd':2}", 400, "odd is not known"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        v = ask(bad[i].path, bad[i].body, bad[i].status);
        if (!strstr(text_at(v, "error.message"), bad[i].text))
            check_fail(__FILE__, __LINE__, "%s: %s", bad[i].body, text_at(v, "error.message"));
        json_decref(v);
    }
    CHECK_EQ(serve_end(), 130);
}

TEST(texts_begin_with_the_first_token_of_a_vocabulary_where_it_is_asked_for)
{
    static const char *const bodies[] = {"{'content':'One'}", "{'content':'One','add_special':true}",
                                         "{'prompt':'One'}", "{'prompt':'One','add_special_tokens':false}"};
    size_t n[COUNT_OF(bodies)];
    SCRIPTED("{'answer': 'x'}\n", "--ctx", "256");
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        json_t *v = ask("/tokenize", bodies[i], 200);
        n[i] = json_array_size(json_object_get(v, "tokens"));
        json_decref(v);
    }
    struct buf many = {0}; /* more than a request may hold */
    buf_puts(&many, "{'tokens':[7");
    for (int i = 1; i <= 256; i++) {
        if (i == 256) {
            buf_puts(&many, "]}");
            json_decref(ask("/detokenize", many.data, 200));
            many.len -= 2;
        }
        buf_puts(&many, ",7");
    }
    buf_puts(&many, "]}");
    json_t *v = ask("/detokenize", many.data, 400);
    CHECK_STR(text_at(v, "error.message"), "tokens: 257 of them; at most 256 are taken at once");
    json_decref(v);
    buf_free(&many);
    CHECK_EQ(n[1], n[0] + 1);
    CHECK_EQ(n[2], n[1]);
    CHECK_EQ(n[3], n[0]);
    CHECK_EQ(serve_end(), 130);
}

CHECK_MAIN
