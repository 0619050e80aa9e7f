/* engine_remote against a server of the test's own: text and ends, several at once, busy and broken servers, what is
 * cancelled, what is counted, what is asked of servers at opening, and that nothing of theirs is more than it was
 * granted. */
#include "engine/engine.h"
#include "tests/fake_server.h"
#include "tests/gguf_make.h"
#include "tests/vocab_make.h"

#define VLLM "{'data':[{'id':'m','owned_by':'vllm','max_model_len':1024}]}"

static struct engine *engine;
static const struct engine_ops *const ops = &engine_remote;

static struct engine *open_with(const struct engine_remote *remote, int ctx, int seqs, struct err *err)
{
    const struct engine_config cfg = {.model = "tests/fixtures/llama-gqa.gguf", .remote = *remote, .ctx = ctx,
                                      .max_seqs = seqs, .template = TEMPLATE_RAW};
    *err = (struct err){0};
    return ops->open(&cfg, err);
}

static void begin(const char *models, void (*chat)(const struct fake_call *c), int seqs)
{
    struct err err;
    const struct engine_remote remote = {.at = fake_begin(models, chat), .own_vocab = true};
    engine = open_with(&remote, 0, seqs, &err);
    if (!engine) check_fail(__FILE__, __LINE__, "%s", err.text);
}

static void end(void)
{
    ops->close(engine);
    engine = NULL;
    fake_end();
}

static int submit_text(const char *text, int max_tokens)
{
    const struct msg m = {.role = ROLE_USER, .text = text, .len = strlen(text)};
    const struct request r = {.msgs = &m, .n_msgs = 1, .max_tokens = max_tokens, .sampling = SAMPLING_GREEDY};
    struct err err = {0};
    int id = 0;
    if (ops->submit(engine, &r, &id, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    return id;
}

static bool ended(int id) { return atomic_load(&ops->answer(engine, id)->end) != END_NONE; }

static void step(void)
{
    struct engine_event ev[16];
    struct err err = {0};
    if (ops->step(engine, ev, COUNT_OF(ev), &err) <= 0)
        check_fail(__FILE__, __LINE__, "nothing is left to do: %s", err.text);
}

static const struct answer *run(int id)
{
    for (time_t begun = time(NULL); !ended(id);) {
        CHECK(time(NULL) - begun < 60);
        step();
    }
    return ops->answer(engine, id);
}

static void check_answer(const struct answer *a, enum engine_end how, const char *text)
{
    char got[512];
    snprintf(got, sizeof got, "%.*s", (int)atomic_load(&a->text_len), a->text);
    CHECK_STR(got, text);
    CHECK_EQ(atomic_load(&a->end), how);
}

/* ---------------------------------------------------------------- answers */

static void says_hello(const struct fake_call *c)
{
    fake_stream(c);
    fake_says(c, "Hel");
    fake_sleep(30);
    fake_says(c, "lo, world");
    fake_ends(c, "stop", 1);
}

TEST(an_answer_comes_as_it_is_streamed)
{
    begin(VLLM, says_hello, 2);
    const struct engine_info *i = ops->info(engine);
    CHECK(i->remote && i->own_vocab && !i->plain_sampling && i->page_bytes == 0);
    CHECK_STR(i->name, "m");
    CHECK(strstr(i->backend, "vLLM at http://127.0.0.1:") != NULL);
    CHECK_EQ(i->ctx, 1024);
    const int id = submit_text("Hi", 50);
    check_answer(run(id), END_STOP, "Hello, world");
    CHECK(strstr(fake.last, "\"max_tokens\":50") && strstr(fake.last, "\"content\":\"Hi\""));
    CHECK(!strcasestr(fake.head, "authorization") && strcasestr(fake.head, "content-type: application/json"));
    struct engine_snapshot s;
    ops->snapshot(engine, &s);
    CHECK_EQ(s.running, 0);
    CHECK_EQ(s.reserved_tokens, 0);
    CHECK(s.generated > 0 && s.server.kv_permille == -1);
    ops->drop(engine, id);
    struct engine_event ev[4];
    CHECK_EQ(ops->step(engine, ev, 4, NULL), 0); /* now nothing is left to do */
    end();
}

static void says_a_call(const struct fake_call *c)
{
    fake_stream(c);
    fake_says(c, "I look.\\n\\n<tool_call>{}</tool_call>");
    fake_ends(c, "stop", 1);
}

/* A server has read its model's marks: what comes is the text, though the vocabulary is one that has them. */
TEST(an_answer_of_a_server_is_text_in_harmony_too)
{
    static const char *const token[] = {"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>"};
    struct vocab_make m;
    struct err err = {0};
    vocab_make_bpe(&m, "gpt-4o");
    for (size_t i = 0; i < COUNT_OF(token); i++) m.eos = vocab_make_add(&m, token[i], VOCAB_CONTROL, 0);
    m.chat = "<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>";
    struct buf file = vocab_make_bytes(&m);
    const struct engine_config cfg = {.model = gguf_make_write("harmony.gguf", file.data, file.len), .max_seqs = 1,
                                      .remote = {.at = fake_begin(VLLM, says_a_call), .own_vocab = true},
                                      .template = -1};
    buf_free(&file);
    engine = ops->open(&cfg, &err);
    CHECK(engine != NULL);
    CHECK_STR(ops->info(engine)->template, "harmony");
    const int id = submit_text("Hi", 200);
    check_answer(run(id), END_STOP, "I look.\n\n<tool_call>{}</tool_call>");
    ops->drop(engine, id);
    end();
}

static void says_much(const struct fake_call *c)
{
    fake_stream(c);
    for (int i = 0; i < 100000 && !fake_waits_for_leaving(c->fd, 0); i++) fake_says(c, "word and word ");
}

TEST(no_server_says_more_than_it_was_asked_for)
{
    begin(VLLM, says_much, 1);
    const struct answer *a = run(submit_text("Hi", 9));
    CHECK_EQ(atomic_load(&a->end), END_LENGTH);
    CHECK_EQ(atomic_load(&a->n_tokens), 9);
    for (int i = 0; i < 200 && atomic_load(&fake.left) == 0; i++) fake_sleep(10);
    end(); /* the thread that says it ends, since its client has left */
}

static void says_length(const struct fake_call *c)
{
    fake_stream(c);
    fake_says(c, "cut");
    fake_ends(c, "length", 1);
}

TEST(an_answer_that_the_server_cut_says_so)
{
    begin(VLLM, says_length, 1);
    check_answer(run(submit_text("Hi", 50)), END_LENGTH, "cut");
    end();
}

static atomic_int holds; /* 1: behind all, 2: behind the end alone, 3: breaks off there, 4: behind [DONE] alone */
static void holds_the_line(const struct fake_call *c)
{
    if (atomic_load(&holds) == 3) fake_put(c->fd, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    else fake_stream(c);
    fake_says(c, "all");
    if (atomic_load(&holds) == 1) fake_ends(c, "stop", 1);
    else if (atomic_load(&holds) == 4) fake_put(c->fd, "data: [DONE]\n\n");
    else fake_put(c->fd, "data: {'choices':[{'delta':{},'finish_reason':'stop'}]}\n\n");
    if (atomic_load(&holds) != 3) fake_waits_for_leaving(c->fd, 30000);
}

TEST(an_answer_ends_with_its_end_not_with_the_connection)
{
    begin(VLLM, holds_the_line, 1);
    for (int i = 1; i <= 4; i++) {
        atomic_store(&holds, i);
        const time_t begun = time(NULL);
        check_answer(run(submit_text("Hi", 50)), END_STOP, "all");
        CHECK(time(NULL) - begun < 20);
    }
    end();
}

static void says_stop_text(const struct fake_call *c)
{
    fake_stream(c);
    fake_says(c, "one ST");
    fake_says(c, "OP two");
    fake_waits_for_leaving(c->fd, 20000);
}

TEST(a_stop_text_ends_an_answer_here_and_there)
{
    begin(VLLM, says_stop_text, 1);
    static const char *const stop[] = {"STOP"};
    const struct msg m = {.role = ROLE_USER, .text = "x", .len = 1};
    const struct request r = {.msgs = &m, .n_msgs = 1, .max_tokens = 50, .sampling = SAMPLING_GREEDY, .stop = stop,
                              .n_stop = 1};
    int id;
    CHECK_EQ(ops->submit(engine, &r, &id, NULL), 0);
    check_answer(run(id), END_STOP, "one ");
    for (int i = 0; i < 500 && atomic_load(&fake.left) == 0; i++) {
        struct engine_event ev[4];
        ops->step(engine, ev, 4, NULL);
        fake_sleep(10);
    }
    CHECK_EQ(atomic_load(&fake.left), 1);
    end();
}

static void says_its_question(const struct fake_call *c)
{
    const char *q = strstr(c->body, "question ");
    char said[32];
    snprintf(said, sizeof said, "answer %.1s", q ? q + 9 : "?");
    if (strstr(c->body, "question 1")) fake_sleep(400); /* the first is the slowest */
    fake_stream(c);
    fake_says(c, said);
    fake_ends(c, "stop", 1);
}

TEST(a_slow_answer_does_not_hold_up_others)
{
    begin(VLLM, says_its_question, 3);
    const int slow = submit_text("question 1", 20);
    const int a = submit_text("question 2", 20), b = submit_text("question 3", 20);
    const int waits = submit_text("question 4", 20); /* three at once are granted */
    struct engine_wait w;
    step();
    ops->waits(engine, waits, &w);
    CHECK_EQ(w.what, WAIT_SLOT);
    CHECK_EQ(w.others + (w.after > 0) > 0, 1);
    check_answer(run(a), END_STOP, "answer 2");
    check_answer(run(b), END_STOP, "answer 3");
    check_answer(run(waits), END_STOP, "answer 4");
    CHECK(!ended(slow));
    check_answer(run(slow), END_STOP, "answer 1");
    end();
}

static void says_late(const struct fake_call *c)
{
    fake_waits_for_leaving(c->fd, 30000);
}

TEST(what_is_cancelled_leaves_the_server)
{
    begin(VLLM, says_late, 1);
    const int id = submit_text("a", 20), waits = submit_text("b", 20);
    for (int i = 0; i < 1000 && atomic_load(&fake.asked) == 0; i++) step();
    CHECK_EQ(atomic_load(&fake.asked), 1);
    CHECK_EQ(ops->cancel(engine, waits), 0); /* it has never been there */
    CHECK_EQ(ops->cancel(engine, id), 0);
    CHECK_EQ(ops->cancel(engine, id), -1);
    check_answer(ops->answer(engine, id), END_CANCELLED, "");
    for (int i = 0; i < 500 && atomic_load(&fake.left) == 0; i++) fake_sleep(10);
    CHECK_EQ(atomic_load(&fake.left), 1);
    CHECK_EQ(atomic_load(&fake.asked), 1);
    const int last = submit_text("c", 20); /* one that runs when all is closed */
    for (int i = 0; i < 1000 && atomic_load(&fake.asked) == 1; i++) step();
    CHECK(!ended(last));
    end();
    CHECK_EQ(atomic_load(&fake.left), 2);
}

TEST(one_that_would_have_to_wait_is_not_sent)
{
    begin(VLLM, says_late, 1);
    const int first = submit_text("a", 20);
    for (int i = 0; i < 1000 && atomic_load(&fake.asked) == 0; i++) step();
    const struct msg m = {.role = ROLE_USER, .text = "x", .len = 1};
    const struct request r = {.msgs = &m, .n_msgs = 1, .max_tokens = 5, .sampling = SAMPLING_GREEDY, .no_wait = true};
    int id;
    struct err err = {0};
    CHECK_EQ(ops->submit(engine, &r, &id, &err), ENGINE_NOT_NOW);
    ops->drop(engine, first);
    CHECK_EQ(ops->submit(engine, &r, &id, &err), 0); /* and in at once where there is room */
    for (int i = 0; i < 1000 && atomic_load(&fake.asked) < 2; i++) step();
    CHECK(strstr(fake.last, "\"content\":\"x\"") != NULL);
    for (int i = 0; i < 100; i++) { /* those that were refused leave no trace */
        int other;
        CHECK_EQ(ops->submit(engine, &r, &other, &err), ENGINE_NOT_NOW);
    }
    ops->drop(engine, id);
    end();
}

/* ---------------------------------------------------------------- servers that are busy, broken, or say no */

static void busy_once(const struct fake_call *c)
{
    if (c->nth == 0) fake_status(c, "429 Too Many Requests", "Retry-After: 1\r\n", "{'error':{'message':'busy'}}");
    else if (c->nth == 1) fake_status(c, "503 Service Unavailable", "", "{}");
    else says_hello(c);
}

TEST(a_busy_server_is_asked_again)
{
    begin(VLLM, busy_once, 1);
    check_answer(run(submit_text("Hi", 50)), END_STOP, "Hello, world");
    CHECK_EQ(atomic_load(&fake.asked), 3);
    end();
}

static atomic_int loads;

static void loads_then_serves(const struct fake_call *c)
{
    if (atomic_fetch_add(&loads, 1) == 0) fake_status(c, "503 Service Unavailable", "", "{'error':'loading'}");
    else fake_status(c, "200 OK", "", VLLM);
}

static void note_progress(void *self, uint64_t done, uint64_t all)
{
    CHECK(done <= all && all > 0);
    ++*(int *)self;
}

/* ... and whoever waits for it hears that it goes on. */
TEST(a_server_that_loads_its_model_is_waited_for)
{
    int told = 0;
    struct err err = {0};
    atomic_store(&loads, 0);
    const struct engine_config cfg = {.model = "tests/fixtures/llama-gqa.gguf", .max_seqs = 1, .template = TEMPLATE_RAW,
                                      .remote = {.at = fake_begin(NULL, says_hello), .own_vocab = true},
                                      .progress = note_progress, .progress_self = &told};
    fake.other = loads_then_serves;
    engine = ops->open(&cfg, &err);
    if (!engine) check_fail(__FILE__, __LINE__, "%s", err.text);
    CHECK_EQ(atomic_load(&loads), 2);
    CHECK(told >= 2); /* as it begins to wait, and after a second */
    end();
}

static void away_once(const struct fake_call *c)
{
    if (c->nth > 0) says_hello(c); /* the first is closed without a byte */
}

TEST(a_server_that_was_away_is_asked_again)
{
    begin(VLLM, away_once, 1);
    check_answer(run(submit_text("Hi", 50)), END_STOP, "Hello, world");
    CHECK_EQ(atomic_load(&fake.asked), 2);
    end();
}

static void says_nothing_for_ever(const struct fake_call *c)
{
    fake_stream(c);
    for (int i = 0; i < 1000000 && !fake_waits_for_leaving(c->fd, 0); i++)
        fake_put(c->fd, "data: {'choices':[{'delta':{'content':''}}]}\n\n: a comment that is long for a comment\n\n");
}

TEST(a_server_that_sends_without_saying_anything_is_given_up)
{
    begin(VLLM, says_nothing_for_ever, 1);
    const struct answer *a = run(submit_text("Hi", 5));
    CHECK_EQ(atomic_load(&a->end), END_FAULT);
    CHECK(strstr(a->fault, "far more than an answer") != NULL);
    end();
}

static void always_busy(const struct fake_call *c)
{
    fake_status(c, "429 Too Many Requests", "Retry-After: 1\r\n", "{'error':{'message':'far too busy'}}");
}

TEST(a_server_that_stays_busy_is_given_up)
{
    begin(VLLM, always_busy, 1);
    const struct answer *a = run(submit_text("Hi", 50));
    CHECK_EQ(atomic_load(&a->end), END_FAULT);
    CHECK(strstr(a->fault, "it is busy (HTTP 429): far too busy") != NULL);
    CHECK_EQ(atomic_load(&fake.asked), 6);
    end();
}

static void breaks_off(const struct fake_call *c)
{
    fake_stream(c);
    fake_says(c, "half");
}

static void says_nothing_known(const struct fake_call *c)
{
    fake_status(c, "400 Bad Request", "", "{'error':{'message':'The model is\\nnot known'}}");
}

static void goes_elsewhere(const struct fake_call *c)
{
    char where[128];
    snprintf(where, sizeof where, "Location: http://127.0.0.1:%d/elsewhere\r\n", fake.port);
    fake_status(c, "302 Found", where, "");
}

TEST(a_broken_answer_fails_alone)
{
    begin(VLLM, breaks_off, 1);
    const struct answer *a = run(submit_text("Hi", 50));
    check_answer(a, END_FAULT, "half");
    CHECK(strstr(a->fault, "without saying that it is whole") != NULL);
    fake.chat = says_nothing_known;
    a = run(submit_text("Hi", 50));
    check_answer(a, END_FAULT, "");
    CHECK(!a->too_long && strstr(a->fault, "refused the request (HTTP 400): The model is not known") != NULL);
    fake.chat = goes_elsewhere; /* and the key with it: no */
    const int before = atomic_load(&fake.asked);
    a = run(submit_text("Hi", 50));
    CHECK(strstr(a->fault, "HTTP 302") != NULL);
    CHECK_EQ(atomic_load(&fake.asked), before + 1);
    fake.chat = says_hello;
    check_answer(run(submit_text("Hi", 50)), END_STOP, "Hello, world");
    end();
}

static void has_no_system(const struct fake_call *c)
{
    if (strstr(c->body, "\"system\"")) fake_status(c, "400 Bad Request", "", "{'message':'System role not supported'}");
    else says_hello(c);
}

TEST(a_model_without_a_system_role_is_asked_without_one)
{
    static const struct msg msgs[] = {{.role = ROLE_SYSTEM, .text = "Be brief.", .len = 9},
                                      {.role = ROLE_USER, .text = "Hi", .len = 2}};
    const struct request r = {.msgs = msgs, .n_msgs = 2, .max_tokens = 50, .sampling = SAMPLING_GREEDY};
    begin(VLLM, has_no_system, 1);
    for (int asked = 2; asked <= 3; asked++) { /* once it is known the first try is right */
        int id;
        CHECK_EQ(ops->submit(engine, &r, &id, NULL), 0);
        check_answer(run(id), END_STOP, "Hello, world");
        CHECK_EQ(atomic_load(&fake.asked), asked);
        CHECK(strstr(fake.last, "\"messages\":[{\"role\":\"user\",\"content\":\"Be brief.\\n\\nHi\"}]") != NULL);
    }
    end();
}

/* ---------------------------------------------------------------- counts */

static int count(const char *text, bool *exact)
{
    const struct msg m = {.role = ROLE_USER, .text = text, .len = strlen(text)};
    struct engine_count c = {0};
    CHECK_EQ(ops->count_tokens(engine, &m, 1, &c, NULL), 0);
    struct engine_count aside = {0};
    CHECK_EQ(ops->count_aside(engine, &m, 1, &aside, NULL), 0);
    CHECK_EQ(c.tokens, aside.tokens);
    CHECK_EQ(c.exact, aside.exact);
    *exact = c.exact;
    return c.tokens;
}

static int counts; /* what the server says that a prompt has */
static void counts_its_own_way(const struct fake_call *c)
{
    fake_stream(c);
    fake_says(c, "x");
    fake_ends(c, "stop", counts);
}

TEST(what_the_server_counts_more_is_counted_from_then_on)
{
    static const char text[] = "a text of some words that has some tokens more than a few of them";
    bool exact;
    begin(VLLM, counts_its_own_way, 1);
    const int ours = count(text, &exact);
    CHECK(exact && ours > 10);
    counts = ours - 3; /* less is fine */
    ops->drop(engine, run(submit_text(text, 5))->id); /* as a turn does, at once */
    CHECK_EQ(count(text, &exact), ours);
    CHECK(exact);
    counts = ours + 7; /* a template with more around it */
    ops->drop(engine, run(submit_text(text, 5))->id);
    CHECK_EQ(count(text, &exact), ours + 7);
    CHECK(!exact);
    counts = 20 * ours; /* another vocabulary */
    ops->drop(engine, run(submit_text(text, 5))->id);
    CHECK(count(text, &exact) >= MIN(counts, 16 * ours));
    const struct msg m = {.role = ROLE_USER, .text = text, .len = strlen(text)};
    const struct request r = {.msgs = &m, .n_msgs = 1, .max_tokens = 900, .sampling = SAMPLING_GREEDY};
    int id;
    struct err err = {0};
    CHECK_EQ(ops->submit(engine, &r, &id, &err), ENGINE_NEVER_FITS); /* by our own count alone it would */
    CHECK(strstr(err.text, "as the server counts") != NULL);
    end();
}

static void too_long(const struct fake_call *c)
{
    fake_status(c, "400 Bad Request", "", "{'error':{'message':'This model has a maximum context length of 10 tokens',"
                "'code':'context_length_exceeded'}}");
}

TEST(a_prompt_that_was_too_long_raises_the_count)
{
    bool exact;
    begin(VLLM, too_long, 1);
    const int ours = count("some words that are counted", &exact);
    const struct answer *a = run(submit_text("some words that are counted", 5));
    CHECK_EQ(atomic_load(&a->end), END_FAULT);
    CHECK(a->too_long && strstr(a->fault, "maximum context length") != NULL);
    CHECK(strstr(a->fault, "shorten the conversation or ask for a shorter answer (-n)") != NULL);
    ops->drop(engine, a->id);
    CHECK(count("some words that are counted", &exact) > ours);
    end();
}

static void too_long_in_a_stream(const struct fake_call *c)
{
    fake_stream(c);
    fake_says(c, "half");
    fake_put(c->fd, "data: {'error':{'message':'Context size has been exceeded.','type':'server_error'}}\n\n");
}

static void busy_with_what_is_too_long(const struct fake_call *c)
{
    fake_status(c, "429 Too Many Requests", "Retry-After: 1\r\n", "{'error':{'message':'prompt is too long for now'}}");
}

TEST(a_prompt_is_too_long_where_a_stream_says_so_and_not_where_the_server_is_busy)
{
    begin(VLLM, too_long_in_a_stream, 1);
    const struct answer *a = run(submit_text("some words", 5));
    check_answer(a, END_FAULT, "half");
    CHECK(a->too_long && strstr(a->fault, "Context size has been exceeded.") != NULL);
    fake.chat = busy_with_what_is_too_long;
    a = run(submit_text("some words", 5));
    check_answer(a, END_FAULT, "");
    CHECK(!a->too_long && strstr(a->fault, "it is busy (HTTP 429)") != NULL);
    end();
}

TEST(what_never_fits_is_not_sent)
{
    begin(VLLM, says_hello, 1);
    const struct msg m = {.role = ROLE_USER, .text = "x", .len = 1};
    const struct request r = {.msgs = &m, .n_msgs = 1, .max_tokens = 1024, .sampling = SAMPLING_GREEDY};
    int id;
    struct err err = {0};
    CHECK_EQ(ops->submit(engine, &r, &id, &err), ENGINE_NEVER_FITS);
    CHECK_EQ(atomic_load(&fake.asked), 0);
    check_answer(run(submit_text("Hi", 50)), END_STOP, "Hello, world");
    end();
}

/* ---------------------------------------------------------------- the server's figures */

static void says_slowly(const struct fake_call *c)
{
    fake_stream(c);
    for (int i = 0; i < 15; i++) {
        fake_says(c, "w ");
        fake_sleep(100);
    }
    fake_ends(c, "stop", 1);
}

static void *reads_figures(void *self)
{
    atomic_bool *stop = self;
    struct engine_snapshot s;
    struct engine_memory m;
    while (!atomic_load(stop)) {
        ops->snapshot(engine, &s);
        ops->memory(engine, &m);
        fake_sleep(1);
    }
    return NULL;
}

TEST(the_servers_figures_are_looked_at_meanwhile)
{
    struct engine_snapshot s;
    atomic_bool stop = false;
    pthread_t reader;
    begin(VLLM, says_slowly, 1);
    fake.metrics = "vllm:kv_cache_usage_perc 0.5\nvllm:num_requests_running 7\nvllm:num_requests_waiting 2\n";
    CHECK_EQ(pthread_create(&reader, NULL, reads_figures, &stop), 0);
    run(submit_text("Hi", 50));
    atomic_store(&stop, true);
    pthread_join(reader, NULL);
    ops->snapshot(engine, &s);
    CHECK_EQ(s.server.kv_permille, 500);
    CHECK_EQ(s.server.running, 7);
    CHECK_EQ(s.server.waiting, 2);
    CHECK_EQ(s.server.preempted, -1);
    end();
}

/* ---------------------------------------------------------------- opening */

static void check_refused(const struct engine_remote *remote, int ctx, int code, const char *words)
{
    struct err err;
    struct engine *e = open_with(remote, ctx, 1, &err);
    if (e || err.code != code || !strstr(err.text, words) || strchr(err.text, '\n'))
        check_fail(__FILE__, __LINE__, "refused with %d: %s", err.code, err.text);
}

TEST(addresses_are_read_with_care)
{
    static const char *const bad[] = {"", "http://", "https:///v1", "ftp://host", "host:80", "http://a b",
                                      "http://h\n/", "http://user:secret@host/", "http://host/?key=1", "http://host/#x",
                                      "file:///etc/passwd"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const struct engine_remote remote = {.at = bad[i]};
        check_refused(&remote, 0, ENGINE_BAD_REQUEST, "--remote: ");
    }
    char at[80];
    struct err err;
    snprintf(at, sizeof at, "%s/v1/", fake_begin(VLLM, says_hello)); /* as OPENAI_BASE_URL has it */
    const struct engine_remote remote = {.at = at, .key = "sk-12345678"};
    engine = open_with(&remote, 0, 1, &err);
    CHECK(engine != NULL);
    check_answer(run(submit_text("Hi", 50)), END_STOP, "Hello, world");
    CHECK(strstr(fake.head, "Authorization: Bearer sk-12345678\r\n") != NULL);
    end();
    const struct engine_remote gone = {.at = "http://127.0.0.1:1"};
    check_refused(&gone, 0, ENGINE_FAULT, "http://127.0.0.1:1/v1/models: ");
}

static void wants_a_key(const struct fake_call *c)
{
    fake_status(c, "401 Unauthorized", "", "{'error':'Unauthorized'}");
}

TEST(what_a_server_lacks_is_said_at_opening)
{
    struct engine_remote remote = {.at = fake_begin(VLLM, says_hello)};
    check_refused(&remote, 2048, ENGINE_BAD_REQUEST, "holds 1024 tokens");
    remote.model = "other";
    check_refused(&remote, 0, ENGINE_BAD_REQUEST, "no model \"other\", but m");
    remote.model = NULL;
    fake.models = "{'data':[{'id':'m'}]}";
    check_refused(&remote, 0, ENGINE_BAD_REQUEST, "give it with --ctx");
    struct err err;
    engine = open_with(&remote, 512, 1, &err);
    CHECK(engine && ops->info(engine)->ctx == 512 && ops->info(engine)->plain_sampling);
    ops->close(engine);
    fake.models = "<html>";
    check_refused(&remote, 0, ENGINE_FAULT, "is it OpenAI's API?");
    fake.models = NULL;
    check_refused(&remote, 0, ENGINE_FAULT, "/v1/models: HTTP 404: Not Found");
    fake.other = wants_a_key;
    check_refused(&remote, 0, ENGINE_BAD_REQUEST, "--remote-key-file");
    fake_end();
}

/* As llama-server, TGI and Ollama tell what they have. */
static atomic_bool loaded;
static void others(const struct fake_call *c)
{
    if (strcmp(c->path, "/props") == 0) {
        fake_status(c, "200 OK", "", "{'default_generation_settings':{'n_ctx':640},'total_slots':1}");
    } else if (strcmp(c->path, "/info") == 0 && strstr(fake.models, "tgi")) {
        fake_status(c, "200 OK", "", "{'model_id':'tgi','max_total_tokens':768,'max_concurrent_requests':128}");
    } else if (strcmp(c->path, "/api/version") == 0) {
        fake_status(c, "200 OK", "", "{'version':'0.17.1'}");
    } else if (strcmp(c->path, "/api/generate") == 0 && strstr(c->body, "\"model\":\"o:1b\"")) {
        atomic_store(&loaded, true);
        fake_status(c, "200 OK", "", "{'done':true}");
    } else if (strcmp(c->path, "/api/ps") == 0) {
        fake_status(c, "200 OK", "", atomic_load(&loaded) ? "{'models':[{'name':'x','context_length':9},{'name':'o:1b',"
                    "'context_length':896}]}" : "{'models':[]}");
    } else {
        fake_status(c, "404 Not Found", "", "{}");
    }
}

static void check_context(const char *models, const char *model, int ctx, int seqs, const char *words)
{
    struct err err;
    const struct engine_remote remote = {.at = fake_begin(models, says_hello), .model = model};
    fake.other = others;
    engine = open_with(&remote, 0, 4, &err);
    if (!engine) check_fail(__FILE__, __LINE__, "%s", err.text);
    CHECK_EQ(ops->info(engine)->ctx, ctx);
    CHECK_EQ(ops->info(engine)->max_seqs, seqs);
    CHECK(strncmp(ops->info(engine)->backend, words, strlen(words)) == 0);
    end();
}

TEST(each_server_says_in_its_own_way_what_its_context_holds)
{
    check_context("{'data':[{'id':'l','owned_by':'llamacpp'}]}", NULL, 640, 1, "llama-server at ");
    check_context("{'data':[{'id':'tgi','owned_by':'tgi'}]}", NULL, 768, 4, "TGI at ");
    check_context("{'data':[{'id':'o:1b','owned_by':'library'},{'id':'o:8b','owned_by':'library'}]}", "o:1b", 896, 4,
                  "Ollama at ");
    check_context("{'data':[{'id':'o:1b','owned_by':'someone'}]}", NULL, 896, 4, "Ollama at ");
    check_context("{'data':[{'id':'big','owned_by':'sglang','max_model_len':131072}]}", NULL, 32768, 4, "SGLang at ");
}

CHECK_MAIN
