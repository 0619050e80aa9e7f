/* Servers that are watched: what each of them is in, what came of its samples, and what is said of it. */
#include "app/watch/watch.h"
#include "engine/remote/web.h"
#include "tests/fake_server.h"
#include <jansson.h>

static struct watch w;
static double clock_now = 100;

static void open_urls(char *const *urls, int n, double every)
{
    struct err err = {0};
    CHECK_EQ(watch_open(&w, urls, n, NULL, every, &err), 0);
    CHECK_STR(err.text, "");
}

/* Until each server was asked so often. */
static void step_until(uint64_t rounds)
{
    for (int tries = 0;; tries++) {
        bool all = true;
        watch_step(&w, clock_now);
        for (int i = 0; i < w.n; i++) all = all && w.server[i].rounds >= rounds;
        if (all) return;
        CHECK(tries < 20000);
        fake_sleep(1);
        clock_now += 0.001;
    }
}

/* ---------------------------------------------------------------- asking */

static void answer_by_path(const struct fake_call *c)
{
    if (strcmp(c->path, "/ollama/api/ps") == 0)
        fake_status(c, "200 OK", "", "{'models':[{'name':'q:4b','size':4000,'size_vram':4000}]}");
    else if (strcmp(c->path, "/key/metrics") == 0) fake_status(c, "401 Unauthorized", "", "{'error':'no key'}");
    else if (strcmp(c->path, "/other/metrics") == 0) fake_status(c, "200 OK", "", "up 1\n");
    else if (strcmp(c->path, "/broken/metrics") == 0) fake_status(c, "500 Internal Server Error", "", "no");
    else fake_status(c, "404 Not Found", "", "{}");
}

TEST(each_server_is_in_a_state_of_its_own)
{
    static const char *const front[] = {"", "/ollama", "/key", "/other", "/broken", "/none", "/v1/"};
    static const struct { enum watch_state state; const char *why; } want[] = {
        {WATCH_TOLD, ""}, {WATCH_TOLD, ""}, {WATCH_MUTE, "it wants a key"}, {WATCH_MUTE, "no name in its /metrics"},
        {WATCH_MUTE, "HTTP 500"}, {WATCH_MUTE, "llama-server begins with --metrics"}, {WATCH_TOLD, ""}};
    const char *at = fake_begin("{}", NULL);
    char url[COUNT_OF(front) + 1][100], *urls[COUNT_OF(front) + 1];
    fake.metrics = "vllm:num_requests_running{model_name='m'} 2\n";
    fake.other = answer_by_path;
    for (size_t i = 0; i < COUNT_OF(front); i++) {
        snprintf(url[i], sizeof url[i], "%s%s", at, front[i]);
        urls[i] = url[i];
    }
    snprintf(url[COUNT_OF(front)], sizeof url[0], "http://127.0.0.1:1");
    urls[COUNT_OF(front)] = url[COUNT_OF(front)];
    open_urls(urls, (int)COUNT_OF(urls), 3600);
    CHECK_EQ(w.server[0].state, WATCH_NEW);
    step_until(1);
    for (size_t i = 0; i < COUNT_OF(front); i++) {
        const struct watched *s = &w.server[i];
        if (s->state != want[i].state || !strstr(s->why, want[i].why))
            check_fail(__FILE__, __LINE__, "%s: %s: %s", s->at, watch_state_name(s->state), s->why);
        CHECK((watch_last(s, 0) != NULL) == (s->state == WATCH_TOLD) && s->heard > 0);
    }
    CHECK(w.server[0].kind == SERVER_VLLM && w.server[1].kind == SERVER_OLLAMA);
    CHECK_STR(w.server[0].model, "m");
    CHECK_STR(w.server[1].model, "q:4b");
    CHECK_STR(w.server[6].at, at); /* a /v1 is no part of it */
    CHECK_EQ(w.server[COUNT_OF(front)].state, WATCH_DOWN);
    CHECK(w.server[COUNT_OF(front)].heard == 0 && *w.server[COUNT_OF(front)].why);
    watch_close(&w);
    fake_end();
}

TEST(a_server_is_asked_again_in_its_time_and_may_come_and_go)
{
    char url[64], *urls[] = {url};
    snprintf(url, sizeof url, "%s", fake_begin("{}", NULL));
    fake.metrics = "vllm:generation_tokens_total 100\n";
    open_urls(urls, 1, 10);
    step_until(1);
    const double first = clock_now;
    for (int i = 0; i < 50; i++) watch_step(&w, first + 5);
    CHECK_EQ(w.server[0].rounds, 1); /* not yet */
    fake.metrics = "vllm:generation_tokens_total 150\n";
    clock_now = first + 10.5;
    step_until(2);
    const double rate = watch_rate(&w.server[0], LOAD_GENERATED);
    CHECK(rate > 4 && rate < 5.5);
    fake_end();
    clock_now += 10.5;
    step_until(3);
    CHECK_EQ(w.server[0].state, WATCH_DOWN);
    CHECK(!watch_last(&w.server[0], 0) && watch_rate(&w.server[0], LOAD_GENERATED) < 0 && w.server[0].heard > 0);
    watch_close(&w);
}

static atomic_bool let_go;
static void never(const struct fake_call *c)
{
    for (int i = 0; i < 3000 && !atomic_load(&let_go); i++) fake_sleep(10);
    fake_status(c, "200 OK", "", "vllm:num_requests_running 1\n");
}

TEST(a_server_that_does_not_answer_holds_nobody)
{
    char slow[80], *urls[] = {slow};
    const char *at = fake_begin("{}", NULL);
    fake.other = never;
    snprintf(slow, sizeof slow, "%s/slow", at);
    open_urls(urls, 1, 3600);
    for (int i = 0; i < 20; i++) {
        watch_step(&w, clock_now);
        fake_sleep(2);
    }
    CHECK_EQ(w.server[0].state, WATCH_NEW);
    watch_step(&w, clock_now + WATCH_SILENCE_S + 1);
    CHECK_EQ(w.server[0].state, WATCH_DOWN);
    CHECK_STR(w.server[0].why, "no answer in 5 seconds");
    watch_close(&w);
    atomic_store(&let_go, true);
    fake_end();
}

TEST(what_cannot_be_watched_is_refused)
{
    struct err err = {0};
    char *bad[] = {"http://127.0.0.1:1", "ftp://x"};
    CHECK_EQ(watch_open(&w, bad, 2, NULL, 1, &err), -1);
    CHECK(strstr(err.text, "ftp://x"));
    watch_close(&w);
    char *ports[] = {"http://h:99999", "http://h:0", "http://h:80a/v1", "http://[::1]:", "http://h:/v1"};
    for (size_t i = 0; i < COUNT_OF(ports); i++) {
        CHECK_EQ(watch_open(&w, &ports[i], 1, NULL, 1, &err), -1);
        CHECK(strstr(err.text, "has no port from 1 to 65535"));
        watch_close(&w);
    }
    char *good[] = {"http://[::1]:80/v1", "http://h/a:b", "https://h:65535"};
    CHECK_EQ(watch_open(&w, good, 3, NULL, 1, &err), 0);
    watch_close(&w);
    char *many[WATCH_SERVERS + 1];
    for (size_t i = 0; i < COUNT_OF(many); i++) many[i] = bad[0];
    CHECK_EQ(watch_open(&w, many, WATCH_SERVERS + 1, NULL, 1, &err), -1);
    CHECK(strstr(err.text, "32 servers"));
    watch_close(&w);
}

/* ---------------------------------------------------------------- samples */

static struct watched s;
static struct watch_sample kept[WATCH_KEPT];

static void begin_samples(enum server_kind kind)
{
    s = (struct watched){.state = WATCH_TOLD, .kept = kept, .kind = kind, .at = "http://x:1"};
}

/* One more, of which the test sets what it tells. */
static struct load *put(double time)
{
    struct watch_sample *at = &kept[s.n_kept++ % WATCH_KEPT];
    at->time = time;
    load_read("", 0, &at->load);
    at->load.kind = s.kind;
    return &at->load;
}

TEST(counters_grow_until_they_begin_anew)
{
    double took;
    begin_samples(SERVER_VLLM);
    CHECK(!watch_last(&s, 0) && watch_grew(&s, LOAD_LOST, 60, &took) < 0);
    for (int i = 0; i < 400; i++) put(i)->count[LOAD_PROMPT] = 10.0 * i;
    CHECK(watch_last(&s, 0)->time == 399 && watch_last(&s, WATCH_KEPT - 1)->time == 399 - WATCH_KEPT + 1);
    CHECK(!watch_last(&s, WATCH_KEPT));
    CHECK(watch_grew(&s, LOAD_PROMPT, 60, &took) == 600 && took == 60);
    CHECK(watch_grew(&s, LOAD_PROMPT, 1e9, &took) == 10.0 * (WATCH_KEPT - 1)); /* as far as they go back */
    CHECK(watch_rate(&s, LOAD_PROMPT) == 10 && watch_rate(&s, LOAD_GENERATED) < 0);
    CHECK(watch_ratio(&s, LOAD_PROMPT, LOAD_GENERATED) < 0);
    put(400)->count[LOAD_PROMPT] = 5; /* it was started again */
    CHECK(watch_rate(&s, LOAD_PROMPT) < 0);
    put(401)->count[LOAD_PROMPT] = 25;
    CHECK(watch_rate(&s, LOAD_PROMPT) == 20);
    put(402); /* which does not tell it */
    CHECK(watch_rate(&s, LOAD_PROMPT) < 0);
    put(403)->count[LOAD_PROMPT] = 50;
    CHECK(watch_rate(&s, LOAD_PROMPT) < 0);
    s.state = WATCH_DOWN;
    CHECK(!watch_last(&s, 0));
}

TEST(first_tokens_and_hits_are_of_the_last_minute)
{
    begin_samples(SERVER_VLLM);
    for (int i = 0; i < 100; i++) {
        struct load *l = put(i);
        l->count[LOAD_FIRST_S] = i < 30 ? 50.0 * i : 1500 + 2.0 * (i - 30);
        l->count[LOAD_FIRST_N] = 4.0 * i;
        l->count[LOAD_ASKED] = 100.0 * i;
        l->count[LOAD_HITS] = 25.0 * i;
    }
    CHECK(watch_ratio(&s, LOAD_FIRST_S, LOAD_FIRST_N) == 0.5 && watch_ratio(&s, LOAD_HITS, LOAD_ASKED) == 0.25);
    for (int i = 0; i < 70; i++) {
        struct load *l = put(100 + i);
        l->count[LOAD_FIRST_S] = 7;
        l->count[LOAD_FIRST_N] = 9;
    }
    CHECK(watch_ratio(&s, LOAD_FIRST_S, LOAD_FIRST_N) < 0); /* none came */
}

/* ---------------------------------------------------------------- verdicts */

struct case_of {
    enum server_kind kind;
    int kv_from, kv, running, waiting, lost; /* kv_from: a minute ago; lost: in it; -1: not told */
    enum watch_grave grave;
    const char *words;
};

static void check_case(const struct case_of *c)
{
    char text[400];
    begin_samples(c->kind);
    for (int i = 0; i <= 60; i++) {
        struct load *l = put(1000 + i);
        l->kv_permille = c->kv < 0 ? -1 : c->kv_from + (c->kv - c->kv_from) * i / 60;
        l->running = c->running;
        l->waiting = c->waiting;
        if (c->lost >= 0) l->count[LOAD_LOST] = i < 60 ? 5 : 5 + c->lost;
    }
    const enum watch_grave g = watch_verdict(&s, 1060, text, sizeof text);
    if (g != c->grave || !strstr(text, c->words))
        check_fail(__FILE__, __LINE__, "%s, KV %d: %d, \"%s\"; not %d, \"%s\"", server_name(c->kind), c->kv, g, text,
                   c->grave, c->words);
}

TEST(a_verdict_says_what_is_short_and_what_helps)
{
    static const struct case_of cases[] = {
        {SERVER_VLLM, 300, 300, 0, 0, 0, WATCH_IDLE, "idle"},
        {SERVER_VLLM, 300, 300, 4, 0, 0, WATCH_FINE, "all that came run"},
        {SERVER_VLLM, 300, 300, 4, 2, 0, WATCH_NEAR, "2 wait: not for KV memory, but for the number that may run at "
                                                     "once (--max-num-seqs)"},
        {SERVER_VLLM, 0, 0, 0, 1, 0, WATCH_NEAR, "1 waits and none runs: the first of them may be longer than all of "
                                                 "its KV pool"},
        {SERVER_VLLM, 300, 300, 4, 1, 0, WATCH_NEAR, "1 waits: not for KV memory"},
        {SERVER_LLAMA, -1, -1, 4, 1, -1, WATCH_NEAR, "1 waits until"},
        {SERVER_VLLM, 990, 990, 4, 1, 0, WATCH_BAD, "1 waits for KV memory"},
        {SERVER_VLLM, 990, 990, 4, 2, 0, WATCH_BAD, "2 wait for KV memory, of which 99% is taken"},
        {SERVER_VLLM, 990, 990, 4, 2, 0, WATCH_BAD, "--gpu-memory-utilization"},
        {SERVER_VLLM, 960, 960, 4, 0, 0, WATCH_NEAR, "96% of its KV pool is taken"},
        {SERVER_VLLM, 500, 500, 4, 2, 3, WATCH_BAD, "3 requests lost their KV pages in the last 60 s"},
        {SERVER_VLLM, 500, 500, 4, 2, 1, WATCH_BAD, "1 request lost"},
        {SERVER_VLLM, 500, 500, 4, 2, 1, WATCH_BAD, "a smaller --max-num-seqs, or a larger"},
        {SERVER_SGLANG, 500, 500, 4, 2, 1, WATCH_BAD, "--max-running-requests"},
        {SERVER_SGLANG, 990, 990, 4, 2, 0, WATCH_BAD, "--mem-fraction-static"},
        {SERVER_VLLM, 400, 700, 4, 0, 0, WATCH_NEAR, "full in about 60 s"},
        {SERVER_VLLM, 50, 350, 4, 0, 0, WATCH_FINE, "all that came run"},
        {SERVER_VLLM, 699, 700, 4, 0, 0, WATCH_FINE, "all that came run"}, /* in five hours */
        {SERVER_VLLM, 900, 700, 4, 0, 0, WATCH_FINE, "all that came run"},
        {SERVER_LLAMA, -1, -1, 4, 3, -1, WATCH_NEAR, "3 wait until one of those that run has ended (-np)"},
        {SERVER_LLAMA, -1, -1, 4, 0, -1, WATCH_FINE, "all that came run"},
        {SERVER_VLLM, 300, 300, 4, -1, 0, WATCH_FINE, "it does not tell how many wait"},
        {SERVER_VLLM, 300, 300, -1, 0, 0, WATCH_FINE, "it does not tell how many run"},
        {SERVER_TGI, -1, -1, 0, 0, -1, WATCH_IDLE, "idle"},
        {SERVER_PLIMSOLL, 1000, 1000, 4, 1, 0, WATCH_BAD, "--kv-type q8_0"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) check_case(&cases[i]);
}

TEST(a_server_that_tells_nothing_has_a_verdict_too)
{
    char text[400];
    begin_samples(SERVER_OLLAMA);
    struct load *l = put(1);
    l->model_bytes = 4ll << 30;
    l->model_device_bytes = 1ll << 30;
    CHECK_EQ(watch_verdict(&s, 1, text, sizeof text), WATCH_NEAR);
    CHECK(strstr(text, "4.0 GiB loaded, only 25% on a device"));
    l->model_device_bytes = 4ll << 30;
    CHECK_EQ(watch_verdict(&s, 1, text, sizeof text), WATCH_FINE);
    l->model_device_bytes = 0;
    CHECK_EQ(watch_verdict(&s, 1, text, sizeof text), WATCH_FINE); /* a machine without one */
    l->model_bytes = 0;
    CHECK_EQ(watch_verdict(&s, 1, text, sizeof text), WATCH_IDLE);
    s = (struct watched){.state = WATCH_DOWN, .since = 10, .why = "Connection refused"};
    CHECK_EQ(watch_verdict(&s, 40, text, sizeof text), WATCH_BAD);
    CHECK_STR(text, "does not answer since 30.0 s: Connection refused");
    s = (struct watched){.state = WATCH_MUTE, .why = "no"};
    CHECK_EQ(watch_verdict(&s, 40, text, sizeof text), WATCH_NEAR);
    s = (struct watched){.state = WATCH_NEW};
    CHECK_EQ(watch_verdict(&s, 40, text, sizeof text), WATCH_IDLE);
}

/* ---------------------------------------------------------------- as text */

TEST(a_table_has_a_row_a_server_and_json_a_line)
{
    struct buf out = {0};
    begin_samples(SERVER_PLIMSOLL);
    for (int i = 0; i <= 20; i++) {
        struct load *l = put(i);
        l->kv_permille = 430;
        l->running = 12;
        l->waiting = 0;
        l->count[LOAD_PROMPT] = 1500.0 * i;
        l->count[LOAD_GENERATED] = 2.5 * i;
        l->count[LOAD_LOST] = 0;
        l->ceiling = 1 << 20;
        l->bytes[LEDGER_KV] = 1 << 19;
        l->tokens[LOAD_POOL] = 640;
    }
    snprintf(s.model, sizeof s.model, "m");
    w = (struct watch){.n = 2, .every = 1};
    w.server[0] = s;
    w.server[1] = (struct watched){.state = WATCH_DOWN, .since = 15, .why = "gone", .at = "http://other:80"};
    watch_put_table(&w, 20, &out);
    static const char *const parts[] = {"server ", "http://x:1 ", "plimsoll serve", "43%", " 12 ", "1,500", "2.5",
                                        "http://other:80", "does not answer since 5.0 s: gone\n"};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (!strstr(out.data, parts[i])) check_fail(__FILE__, __LINE__, "no \"%s\" in\n%s", parts[i], out.data);
    out.len = 0;
    watch_put_json(&w, 20, 1700000000.25, &out);
    const char *second = strchr(out.data, '\n') + 1;
    json_t *a = json_loadb(out.data, (size_t)(second - out.data), 0, NULL), *b = json_loads(second, 0, NULL);
    CHECK(a && b && json_number_value(json_object_get(a, "time")) == 1700000000.25);
    CHECK_STR(json_string_value(json_object_get(a, "kind")), "plimsoll serve");
    CHECK_STR(json_string_value(json_object_get(a, "grave")), "fine");
    CHECK(json_number_value(json_object_get(a, "kv")) == 0.43);
    CHECK(json_number_value(json_object_get(a, "generated_rate")) == 2.5);
    CHECK_EQ(json_integer_value(json_object_get(a, "running")), 12);
    CHECK_EQ(json_integer_value(json_object_get(json_object_get(a, "memory_bytes"), "KV pool")), 1 << 19);
    CHECK_EQ(json_integer_value(json_object_get(json_object_get(a, "kv_tokens"), "pool")), 640);
    CHECK(!json_object_get(a, "first_token_s"));
    CHECK_STR(json_string_value(json_object_get(b, "state")), "down");
    CHECK(!json_object_get(b, "kind") && !json_object_get(b, "kv"));
    json_decref(a);
    json_decref(b);
    buf_free(&out);
}

CHECK_MAIN
