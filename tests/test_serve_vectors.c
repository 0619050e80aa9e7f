/* `plimsoll serve` as clients that want vectors of texts see it: OpenAI's and Ollama's, one text or thousands. */
#include "memory/base64.h"
#include "tests/serve_rig.h"
#include "tests/tiny_model.h"
#include <math.h>
#include <time.h>

#define OPENAI "/v1/embeddings"
#define EMBED "/api/embed"
#define ONE "/api/embeddings"

enum { EMBD = 512, MANY = 2048 };

/* end: its texts end with a token of their own. */
static const char *file_of(bool mean, bool end)
{
    const struct tiny t = {.arch = "qwen3", .layers = 1, .embd = EMBD, .heads = 4, .kv_heads = 2, .ff = 64,
                           .type = KT_F32, .seed = 3};
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    if (mean) gguf_make_u32(&m, "qwen3.pooling_type", 1);
    if (end) gguf_make_bool(&m, "tokenizer.ggml.add_eos_token", true);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    return gguf_make_file(&m, "vectors.gguf");
}
#define SERVE_FILE(...) SERVE("-m", file_of(false, false), "--ctx", "128", ##__VA_ARGS__)

/* n values, of a list. */
static void values(const json_t *list, double *out, size_t n)
{
    CHECK_EQ(json_array_size(list), n);
    for (size_t i = 0; i < n; i++) {
        CHECK(json_is_number(json_array_get(list, i)));
        out[i] = json_number_value(json_array_get(list, i));
    }
}

static double length(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

static void check_same(const double *x, const double *y, double scale, size_t n)
{
    for (size_t i = 0; i < n; i++) CHECK_NEAR(x[i] * scale, y[i], 1e-6);
}

/* The vector of one text by OpenAI's API. */
static void vector_of(const char *text, double *out)
{
    struct buf body = {0};
    buf_printf(&body, "{'input':'%s'}", text);
    json_t *a = ask(OPENAI, body.data, 200);
    values(json_at(a, "data.0.embedding"), out, EMBD);
    json_decref(a);
    buf_free(&body);
}

TEST(vectors_as_openai_has_them)
{
    double x[EMBD], y[EMBD], z[EMBD];
    SERVE_FILE();
    json_t *a = ask(OPENAI, "{'model':'vectors','user':'u','input':['Hello there','b'],"
                            "'encoding_format':'float'}", 200);
    CHECK_STR(text_at(a, "object"), "list");
    CHECK_STR(text_at(a, "model"), "vectors");
    CHECK_EQ(json_array_size(json_at(a, "data")), 2);
    CHECK_STR(text_at(a, "data.1.object"), "embedding");
    CHECK_EQ(number_at(a, "data.0.index"), 0);
    CHECK_EQ(number_at(a, "data.1.index"), 1);
    CHECK_EQ(number_at(a, "usage.total_tokens"), number_at(a, "usage.prompt_tokens"));
    values(json_at(a, "data.0.embedding"), x, EMBD);
    values(json_at(a, "data.1.embedding"), y, EMBD);
    CHECK_NEAR(length(x, EMBD), 1, 1e-6);
    CHECK_NEAR(length(y, EMBD), 1, 1e-6);
    vector_of("Hello there", z);
    check_same(x, z, 1, EMBD);
    vector_of("b", z);
    check_same(y, z, 1, EMBD);
    json_decref(a);

    a = ask(OPENAI, "{'input':'Hello there','dimensions':16}", 200);
    values(json_at(a, "data.0.embedding"), y, 16);
    check_same(x, y, 1 / length(x, 16), 16);
    json_decref(a);

    struct buf bytes = {0};
    a = ask(OPENAI, "{'input':'Hello there','encoding_format':'base64'}", 200);
    const char *text = text_at(a, "data.0.embedding");
    CHECK(text && base64_read(text, strlen(text), &bytes) == 0 && bytes.len == EMBD * sizeof(float));
    for (size_t i = 0; i < EMBD; i++) {
        float value;
        memcpy(&value, bytes.data + i * sizeof value, sizeof value);
        y[i] = (double)value;
    }
    check_same(x, y, 1, EMBD);
    json_decref(a);
    buf_free(&bytes);
}

TEST(vectors_as_ollama_has_them)
{
    double x[EMBD], y[EMBD];
    SERVE_FILE();
    vector_of("Hello there", x);
    json_t *a = ask(EMBED, "{'model':'vectors:latest','input':'Hello there','options':{'num_thread':4,'num_ctx':64},"
                           "'keep_alive':'5m','truncate':false}", 200);
    CHECK_STR(text_at(a, "model"), "vectors");
    CHECK(number_at(a, "prompt_eval_count") > 5 && number_at(a, "total_duration") > 0);
    CHECK_EQ(json_array_size(json_at(a, "embeddings")), 1);
    values(json_at(a, "embeddings.0"), y, EMBD);
    check_same(x, y, 1, EMBD);
    json_decref(a);
    a = ask(EMBED, "{'input':['b','Hello there'],'dimensions':8}", 200);
    values(json_at(a, "embeddings.1"), y, 8);
    check_same(x, y, 1 / length(x, 8), 8);
    json_decref(a);
    a = ask(ONE, "{'prompt':'Hello there'}", 200); /* as long as the model made it */
    values(json_at(a, "embedding"), y, EMBD);
    CHECK(fabs(length(y, EMBD) - 1) > 0.1);
    check_same(x, y, length(y, EMBD), EMBD);
    json_decref(a);
    static const char *const none[][3] = {{EMBED, "{'input':''}", "embeddings"}, {EMBED, "{'input':[]}", "embeddings"},
                                          {ONE, "{'prompt':''}", "embedding"}};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        a = ask(none[i][0], none[i][1], 200);
        CHECK(json_is_array(json_at(a, none[i][2])) && json_array_size(json_at(a, none[i][2])) == 0);
        json_decref(a);
    }
}

TEST(a_file_says_what_a_text_ends_with_and_how_vectors_are_made)
{
    double last[EMBD], mean[EMBD], ended[EMBD];
    int tokens[2];
    SERVE_FILE();
    vector_of("Hello", last);
    json_t *a = ask(OPENAI, "{'input':'Hello'}", 200);
    tokens[0] = (int)number_at(a, "usage.prompt_tokens");
    json_decref(a);
    SERVE("-m", file_of(true, false), "--ctx", "128");
    vector_of("Hello", mean);
    SERVE("-m", file_of(false, true), "--ctx", "128");
    vector_of("Hello", ended);
    a = ask(OPENAI, "{'input':'Hello'}", 200);
    tokens[1] = (int)number_at(a, "usage.prompt_tokens");
    json_decref(a);
    CHECK_EQ(tokens[1], tokens[0] + 1);
    CHECK(memcmp(last, mean, sizeof last) && memcmp(last, ended, sizeof last) && memcmp(mean, ended, sizeof mean));
}

TEST(what_is_too_long_is_cut_only_where_that_was_asked_for)
{
    double x[EMBD], y[EMBD];
    struct buf text = {0}, body = {0};
    SERVE("-m", file_of(false, true), "--ctx", "32");
    for (int i = 0; i < 100; i++) buf_puts(&text, "a");
    buf_printf(&body, "{'input':['b','%s'],'truncate':true}", text.data);
    json_t *a = ask(EMBED, body.data, 200);
    values(json_at(a, "embeddings.1"), x, EMBD);
    const int left = 32 - (int)number_at(a, "prompt_eval_count");
    json_decref(a);
    CHECK(left < 0 && left >= -4); /* 32 of the one, and a few of the other */
    body.len = 0;
    buf_printf(&body, "{'input':'%.*s'}", 32 - 2, text.data); /* a bos before it, an eos behind it */
    a = ask(EMBED, body.data, 200);
    CHECK_EQ(number_at(a, "prompt_eval_count"), 32);
    values(json_at(a, "embeddings.0"), y, EMBD);
    check_same(x, y, 1, EMBD);
    json_decref(a);
    body.len = 0;
    buf_printf(&body, "{'input':['b','%s']}", text.data);
    a = ask(OPENAI, body.data, 400);
    CHECK_STR(text_at(a, "error.code"), "context_length_exceeded");
    CHECK_STR(text_at(a, "error.param"), "input[1]");
    CHECK(strstr(text_at(a, "error.message"), "maximum context length is 32 tokens. However, input[1] has 102 tokens"));
    json_decref(a);
    json_decref(ask(EMBED, body.data, 400));
    buf_free(&text);
    buf_free(&body);
}

/* ---------------------------------------------------------------- batches */

static void put_many(struct buf *body)
{
    buf_puts(body, "{\"input\":[");
    for (int i = 0; i < MANY; i++) buf_printf(body, "%s\"text %d of many\"", i ? "," : "", i);
    buf_puts(body, "]}");
}

static int ask_many(int window)
{
    struct buf body = {0}, head = {0};
    put_many(&body);
    int fd = client();
    if (window) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
    buf_printf(&head, "POST " OPENAI " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               "Content-Length: %zu\r\nConnection: close\r\n\r\n", body.len);
    client_put(fd, head.data, head.len);
    client_put(fd, body.data, body.len);
    buf_free(&head);
    buf_free(&body);
    return fd;
}

/* Seconds that the server has computed so far. */
static double computed(void)
{
    char path[64], text[1024] = "";
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)server.pid);
    FILE *f = fopen(path, "r");
    CHECK(f && fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    CHECK_EQ(sscanf(strrchr(text, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system), 2);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static long resident(void)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)server.pid);
    FILE *f = fopen(path, "r");
    CHECK(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "RssAnon: %ld", &kib) == 1) break;
    fclose(f);
    return kib;
}

/* Thousands of texts, whose client reads nothing for a while: the server holds a part of the answer, serves others, and
 * sleeps; then all of it comes, in order. */
/* Of a model whose attention has a window the pool holds fewer tokens than a context, and a text of a whole one. */
TEST(a_window_is_no_bound_for_a_text)
{
    struct buf body = {0};
    SERVE("-m", "tests/fixtures/llama-window.gguf", "--ctx", "512", "--parallel", "1");
    CHECK(metric("plimsoll:kv_tokens{state=\"pool\"}") < 400);
    buf_puts(&body, "{'input':'");
    for (int i = 0; i < 400; i++) buf_puts(&body, "q");
    buf_puts(&body, "'}");
    json_t *a = ask(OPENAI, body.data, 200);
    CHECK(number_at(a, "usage.prompt_tokens") >= 400);
    json_decref(a);
    buf_free(&body);
}

TEST(a_batch_goes_on_as_fast_as_its_client_reads)
{
    double x[EMBD], y[EMBD];
    struct response r;
    json_error_t why;
    SERVE_FILE("--parallel", "7");
    vector_of("text 7 of many", x);
    const long before = resident();
    int fd = ask_many(1 << 16);
    const struct timespec wait = {.tv_nsec = 100000000};
    double last = -1;
    for (int i = 0; i < 600 && computed() > last; i++) { /* until it stands still */
        last = computed();
        for (int k = 0; k < 5; k++) nanosleep(&wait, NULL);
    }
    last = computed();
    for (int k = 0; k < 10; k++) nanosleep(&wait, NULL);
    last = computed() - last;
    if (last > 0.3) check_fail(__FILE__, __LINE__, "%.2f s computed in one second of waiting", last);
    vector_of("text 7 of many", y);
    check_same(x, y, 1, EMBD);
    printf("  %ld KiB more than before\n", resident() - before);
    /* The answer has 12 MB: 1 MiB of it is held, and 4 are on their way. */
    if (!CHECK_SANITIZED) CHECK(resident() - before < 4096);
    read_response(fd, &r);
    close(fd);
    CHECK_EQ(r.status, 200);
    json_t *a = json_loads(r.body.data, 0, &why);
    if (!a) check_fail(__FILE__, __LINE__, "%s", why.text);
    CHECK(r.body.len > 10 << 20);
    CHECK_EQ(json_array_size(json_at(a, "data")), MANY);
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(json_integer_value(json_object_get(json_array_get(json_at(a, "data"), (size_t)i), "index")), i);
    values(json_at(a, "data.7.embedding"), y, EMBD);
    check_same(x, y, 1, EMBD);
    CHECK(number_at(a, "usage.total_tokens") > MANY * 10);
    json_decref(a);
    response_free(&r);
}

/* Texts of a batch are computed together, not one after the other. */
TEST(a_batch_has_as_many_texts_in_a_pass_as_may_run)
{
    enum { TEXTS = 64, TOGETHER = 8 };
    struct buf body = {0};
    SERVE_FILE("--parallel", "8");
    const double before = metric("plimsoll:passes_total");
    buf_puts(&body, "{'input':['a'");
    for (int i = 1; i < TEXTS; i++) buf_puts(&body, ",'a'");
    buf_puts(&body, "]}");
    json_decref(ask(OPENAI, body.data, 200));
    buf_free(&body);
    CHECK_NEAR(metric("plimsoll:passes_total") - before, TEXTS / TOGETHER, 1);
}

TEST(a_batch_whose_client_leaves_is_given_up)
{
    double x[EMBD];
    SERVE_FILE("--parallel", "2");
    int fd = ask_many(1 << 16);
    struct buf some = {0};
    client_read(fd, &some, "HTTP/1.1 200");
    close(fd);
    buf_free(&some);
    double cancelled = 0;
    for (int i = 0; i < 100 && cancelled < 1; i++) {
        vector_of("b", x);
        cancelled = metric("vllm:request_success_total{finished_reason=\"abort\"}");
    }
    CHECK_NEAR(cancelled, 1, 0);
    CHECK_NEAR(metric("vllm:num_requests_running"), 0, 0);
    CHECK_NEAR(metric("vllm:num_requests_waiting"), 0, 0);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- what is refused */

static void refused(const char *path, const char *body, int status, const char *words)
{
    json_t *a = ask(path, body, status);
    const char *text = text_at(a, "error.message") ? text_at(a, "error.message") : text_at(a, "error");
    if (!text || !strstr(text, words)) check_fail(__FILE__, __LINE__, "%s: %s", body, text ? text : "");
    json_decref(a);
}

TEST(what_cannot_be_served_is_refused_by_name)
{
    static const struct { const char *path, *body, *words; } bad[] = {
        {OPENAI, "{}", "input is to be a text, or a list of texts"},
        {OPENAI, "{'input':7}", "input is to be a text"},
        {OPENAI, "{'input':[]}", "there is no text in it"},
        {OPENAI, "{'input':[1,2]}", "check_embedding_ctx_length=False"},
        {OPENAI, "{'input':[[1,2]]}", "token ids"},
        {OPENAI, "{'input':['a',null]}", "token ids"},
        {OPENAI, "{'input':'a','dimensions':0}", "dimensions is to be a whole number from 1 to 512"},
        {OPENAI, "{'input':'a','dimensions':513}", "from 1 to 512"},
        {OPENAI, "{'input':'a','dimensions':'8'}", "from 1 to 512"},
        {OPENAI, "{'input':'a','encoding_format':'int8'}", "\"float\" or \"base64\""},
        {OPENAI, "{'input':'a','truncate':true}", "truncate is not known here"},
        {OPENAI, "{'input':'a'", "no JSON"},
        {EMBED, "{'input':'a','truncate':1}", "truncate is to be true or false"},
        {EMBED, "{'input':'a','options':{'num_ctx':4096}}", "num_ctx"},
        {EMBED, "{'input':'a','options':{'mirostat':1}}", "options.mirostat"},
        {EMBED, "{'input':'a','keep_alive':[]}", "keep_alive"},
        {EMBED, "{'prompt':'a'}", "prompt is not known here"},
        {ONE, "{'prompt':['a']}", "prompt is to be a text"},
        {ONE, "{'input':'a'}", "input is not known here"},
    };
    SERVE_FILE("--pool", "32");
    for (size_t i = 0; i < COUNT_OF(bad); i++) refused(bad[i].path, bad[i].body, 400, bad[i].words);
    refused(OPENAI, "{'input':'a','model':'other'}", 404, "\"other\" is not here");
    refused(OPENAI, "{'input':'0123456789012345678901234567890123456789'}", 400,
            "32 tokens in the memory of this server");
    struct buf body = {0};
    buf_puts(&body, "{'input':['a'");
    for (int i = 0; i < MANY; i++) buf_puts(&body, ",'a'");
    buf_puts(&body, "]}");
    refused(OPENAI, body.data, 400, "2049 texts; at most 2048");
    buf_free(&body);
    struct response r;
    exchange("GET", OPENAI, NULL, "", 0, &r);
    CHECK_EQ(r.status, 405);
    response_free(&r);
    json_decref(ask(OPENAI, "{'input':'a'}", 200));
    const char *answers = serve_file("answers", "{\"answer\":\"a\"}\n");
    SERVE("-m", file_of(false, false), "--engine", "scripted", "--script-file", answers);
    refused(OPENAI, "{'input':'a'}", 501, "no vectors of texts");
    refused(EMBED, "{'input':'a'}", 501, "no vectors of texts");
}

CHECK_MAIN
