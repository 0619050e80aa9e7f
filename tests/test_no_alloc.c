/* While the engine serves, nothing is allocated: not by it, not by the backend's threads, not by a library. */
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/interpose.h"
#include "tests/tiny_model.h"
#include <fcntl.h>
#include <unistd.h>

enum { LIVE = 24, FRONTS = 3, FRONT = 2 * KERN_PAGE + 5, MOST = 48, CTX = 144, SEQS = 3, CELLS = 7, ROUNDS = 6000 };

static const char *const CHATML =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";

/* ------------------------------------------------------------------ what is asked of the engine */

struct soak {
    const struct engine_ops *ops;
    struct engine *e;
    uint32_t seed;
    int32_t front[FRONTS][FRONT], ids[MOST];
    uint8_t segment[MOST];
    uint32_t allowed[(TINY_VOCAB + 31) / 32];
    int id[LIVE];
    long steps, ended, talked, looks, weighed, refused[8]; /* refused: by -code */
    uint64_t most_parked;
    bool waited[WAIT_TURN + 1];
};

static int below(struct soak *k, int n) { return tiny_below(&k->seed, n); }

static void soak_init(struct soak *k, const struct engine_ops *ops, struct engine *e)
{
    *k = (struct soak){.ops = ops, .e = e, .seed = 8};
    for (int f = 0; f < FRONTS; f++)
        for (int i = 0; i < FRONT; i++) k->front[f][i] = TINY_BYTE0 + below(k, 256);
    for (int i = 0; i < MOST; i++) k->segment[i] = (uint8_t)(i % SEGMENTS);
    memset(k->allowed, 0xff, sizeof k->allowed);
}

/* A prompt that begins like others, or like none. */
static int make_prompt(struct soak *k)
{
    int n = 1 + below(k, MOST), front = below(k, FRONTS + 1);
    for (int i = 0; i < n; i++) k->ids[i] = TINY_BYTE0 + below(k, 256);
    if (front < FRONTS) memcpy(k->ids, k->front[front], (size_t)MIN(n, FRONT) * sizeof(int32_t));
    return n;
}

/* A text far longer than a context, as somebody pasted it, is counted as well. */
static void weigh(struct soak *k)
{
    static char paste[200000];
    static uint32_t seed = 3;
    struct msg msg = {.role = ROLE_TOOL, .text = paste, .len = sizeof paste - (size_t)tiny_below(&seed, 90000)};
    struct engine_count count;
    struct err err;
    if (!paste[0])
        for (size_t i = 0; i < sizeof paste; i++) paste[i] = "cargo 12,\n\xff"[tiny_below(&seed, 11)];
    int rc = k->ops->count_tokens(k->e, &msg, 1, &count, &err);
    k->weighed += rc == 0 && count.exact && count.tokens > CTX;
}

/* Messages: counted, and now and then rendered into a prompt of their own. */
static void talk(struct soak *k, int at)
{
    static const char text[] = "Was it the butler? <|im_end|> \xff No: the gardener, with 3 rakes.";
    struct msg msgs[3] = {{.role = ROLE_SYSTEM, .text = text, .len = 8, .summary = 3},
                          {.role = ROLE_USER, .text = text},
                          {.role = ROLE_USER, .text = text + 5, .len = 3}};
    struct engine_count count;
    struct err err;
    msgs[1].len = (size_t)below(k, (int)sizeof text);
    struct request r = {.msgs = msgs, .n_msgs = 3, .max_tokens = 1 + below(k, 8), .sampling = SAMPLING_GREEDY};
    int rc = k->ops->count_tokens(k->e, msgs, 3, &count, &err);
    if (!rc) rc = k->ops->submit(k->e, &r, &k->id[at], &err);
    if (rc) k->id[at] = 0;
    k->talked += rc == 0;
    k->refused[-rc]++;
}

/* All that a request can ask for, now and then too much. */
static void ask(struct soak *k, int at)
{
    static const struct kern_bias bias[] = {{TINY_BYTE0 + 'a', 2}, {TINY_BYTE0 + 'b', -3}};
    static const char *const stop[] = {"never said", "e"};
    struct err err;
    /* Answers are mostly short: the long ones take over-commit by surprise. */
    struct request r = {.ids = k->ids, .n_ids = make_prompt(k),
                        .max_tokens = below(k, 4) ? 1 + below(k, 8) : 60 + below(k, 30), .agent = below(k, 64),
                        .priority = below(k, 3), .sampling = SAMPLING_GREEDY};
    if (below(k, 2)) r.segment = k->segment;
    if (below(k, 2))
        r.sampling = (struct sampling){.temp = 0.9f, .top_k = below(k, 400), .top_p = 0.9f, .min_p = 0.01f,
                                       .repeat = 1.1f, .presence = 0.1f, .frequency = 0.1f, .recent = -1, .bias = bias,
                                       .n_bias = 2, .seed = (uint64_t)at};
    if (below(k, 3) == 0) {
        r.stop = stop;
        r.n_stop = 2;
    }
    if (below(k, 3) == 0) r.allowed = k->allowed;
    r.top_n = below(k, 2) ? below(k, KERN_TOP + 1) : 0;
    r.score = below(k, 5) == 0;
    r.no_wait = below(k, 5) == 0;
    r.fresh = below(k, 8) == 0;
    r.ignore_end = below(k, 2);
    if (below(k, 16) == 0) r.max_tokens = CTX;     /* can never be served */
    if (below(k, 40) == 0) r.sampling.top_p = 1.5f; /* no such */
    int rc = k->ops->submit(k->e, &r, &k->id[at], &err);
    if (rc) k->id[at] = 0;
    k->refused[-rc]++;
}

static void look(struct soak *k)
{
    struct engine_snapshot s;
    struct engine_cell cell[CELLS];
    struct engine_wait w;
    k->ops->snapshot(k->e, &s);
    k->ops->page_map(k->e, cell, CELLS);
    for (int i = 0; i < LIVE; i++) {
        if (!k->id[i]) continue;
        k->ops->waits(k->e, k->id[i], &w);
        k->waited[w.what] = true;
    }
}

static void step(struct soak *k)
{
    struct engine_event ev[3 * SEQS + 8];
    struct err err;
    struct engine_snapshot s;
    int n = k->ops->step(k->e, ev, (int)COUNT_OF(ev), &err);
    k->ops->snapshot(k->e, &s);
    k->most_parked = MAX(k->most_parked, s.park_used);
    for (int i = 0; i < n; i++) k->ended += ev[i].kind == ENGINE_END;
    k->steps++;
}

static void one_round(struct soak *k)
{
    int at = below(k, LIVE), what = below(k, 32);
    const struct answer *a = k->id[at] ? k->ops->answer(k->e, k->id[at]) : NULL;
    if (what < 6) {
        if (!a && what > 0) ask(k, at);
        else if (!a) talk(k, at);
    } else if (what < 12) {
        if (!a || (atomic_load(&a->end) == END_NONE && what > 6)) return; /* one that still runs: rarely */
        k->ops->drop(k->e, k->id[at]);
        k->id[at] = 0;
    } else if (what == 12) {
        if (a) k->ops->cancel(k->e, k->id[at]);
    } else if (what == 13) {
        look(k);
        if (k->looks++ % 20 == 0) weigh(k);
    } else {
        step(k);
    }
}

/* ------------------------------------------------------------------ counting */

/* Pages of address space, of which allocations that no symbol shows would take too. */
static long address_space(void)
{
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    return n > 0 ? strtol(text, NULL, 10) : -1;
}

static void warm_up(struct soak *k)
{
    for (int i = 0; i < FRONT; i++) k->ids[i] = k->front[0][i];
    int id;
    struct request r = {.ids = k->ids, .n_ids = FRONT, .max_tokens = 4, .sampling = SAMPLING_GREEDY};
    struct engine_event ev[16];
    struct err err;
    CHECK_EQ(k->ops->submit(k->e, &r, &id, &err), 0);
    while (k->ops->step(k->e, ev, 16, &err) > 0) continue;
    k->ops->drop(k->e, id);
}

/* The most bytes that were parked. */
static uint64_t check_quiet(const struct engine_ops *ops, struct engine *e, int rounds)
{
    static struct soak k;
    soak_init(&k, ops, e);
    warm_up(&k);
    long before = address_space();
    interpose_arm(0, false);
    for (int i = 0; i < rounds; i++) one_round(&k);
    long calls = interpose_disarm();
    const char *first = atomic_load(&interpose.first);
    if (first)
        check_fail(__FILE__, __LINE__, "%ld calls; the first: %s of %zu bytes, from %p", calls, first,
                   atomic_load(&interpose.first_bytes), atomic_load(&interpose.first_from));
    CHECK_EQ(calls, 0);
    CHECK_EQ(address_space(), before);
    /* all that was meant to happen did */
    CHECK(k.steps > rounds / 2 && k.ended > 20 && k.talked > 20 && k.weighed > 2 && k.refused[-ENGINE_OK] > 100);
    CHECK(k.refused[-ENGINE_BAD_REQUEST] && k.refused[-ENGINE_NEVER_FITS] && k.refused[-ENGINE_NOT_NOW]);
    CHECK(k.refused[-ENGINE_NO_MEMORY]);
    CHECK(k.waited[WAIT_NOTHING] && k.waited[WAIT_SLOT] && k.waited[WAIT_PAGES] && k.waited[WAIT_TURN]);
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    CHECK(s.reused > 0 && s.evicted_pages > 0);
    return k.most_parked;
}

/* ------------------------------------------------------------------ the engines */

static struct engine_config small_pool(const char *model)
{
    return (struct engine_config){.model = model, .kern = {.threads = 2}, .ctx = CTX, .max_seqs = SEQS, .max_rows = 24,
                                  .pool_tokens = 9 * KERN_PAGE, .template = -1, .text_bytes = 80 << 10,
                                  .overcommit = true, .park_bytes = 12 << 10};
}

static void check_local(const char *backend, enum ktype kv, bool overcommit, int rounds)
{
    if (!INTERPOSE_WORKS) SKIP("allocations cannot be counted in this build");
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    t.heads = 2; /* of 32 values, as Q8_0 needs */
    t.kv_heads = 1;
    struct engine_config cfg = small_pool(tiny_file(&t, CHATML, "quiet.gguf"));
    cfg.backend = backend;
    cfg.kv_type = kv;
    cfg.overcommit = overcommit;
    if (kv != KT_F16) cfg.park_bytes = kv == KT_F32 ? 24 << 10 : 7 << 10; /* three pages each */
    struct engine *e = engine_local.open(&cfg, &err);
    CHECK_STR(err.text, "");
    uint64_t parked = check_quiet(&engine_local, e, rounds);
    struct engine_snapshot s;
    engine_local.snapshot(e, &s);
    CHECK_EQ(s.parkings > 0 && s.resumes > 0 && s.recomputed > 0 && parked > 0, overcommit);
    engine_local.close(e);
}

TEST(no_alloc_cpu_f16) { check_local("cpu", KT_F16, true, 2 * ROUNDS); }
TEST(no_alloc_cpu_f32) { check_local("cpu", KT_F32, true, 2 * ROUNDS); }
TEST(no_alloc_cpu_q8_0) { check_local("cpu", KT_Q8_0, true, 2 * ROUNDS); }
TEST(no_alloc_cpu_without_overcommit) { check_local("cpu", KT_F16, false, ROUNDS); }
TEST(no_alloc_ref_f16) { check_local("ref", KT_F16, true, ROUNDS); }
TEST(no_alloc_ref_f32) { check_local("ref", KT_F32, true, ROUNDS); }
TEST(no_alloc_ref_q8_0) { check_local("ref", KT_Q8_0, true, 2 * ROUNDS); }

TEST(no_alloc_scripted)
{
    if (!INTERPOSE_WORKS) SKIP("allocations cannot be counted in this build");
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    struct engine_config cfg = small_pool(tiny_file(&t, CHATML, "quiet.gguf"));
    cfg.script = tiny_text_file("quiet.jsonl", "{\"answer\": \"one\"}\n"
                                               "{\"answer\": \"and on and on \", \"end\": false}\n"
                                               "{\"fault\": {\"pass\": 700, \"text\": \"lost\"}}\n");
    struct engine *e = engine_scripted.open(&cfg, &err);
    CHECK_STR(err.text, "");
    check_quiet(&engine_scripted, e, 4 * ROUNDS);
    engine_scripted.close(e);
}

/* A front's pages leave, and come back as those of texts that nobody said. */
TEST(no_alloc_pages_leave_and_come_back)
{
    if (!INTERPOSE_WORKS) SKIP("allocations cannot be counted in this build");
    static char page[32 << 10];
    static struct soak k;
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    int32_t ids[KERN_PAGE];
    struct engine_config cfg = small_pool(tiny_file(&t, CHATML, "quiet.gguf"));
    cfg.kv_type = KT_F16;
    struct engine *e = engine_local.open(&cfg, &err);
    CHECK_STR(err.text, "");
    CHECK(engine_local.info(e)->page_bytes <= sizeof page);
    soak_init(&k, &engine_local, e);
    int brought = 0, unknown = 0;
    interpose_arm(0, false);
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 100 == 0) warm_up(&k);
        memcpy(ids, k.front[0], sizeof ids);
        unknown += engine_local.page_get(e, ids, KERN_PAGE, page, &err) == ENGINE_UNKNOWN;
        ids[i % KERN_PAGE] = TINY_BYTE0 + i % 256;
        brought += engine_local.page_put(e, ids, KERN_PAGE, 0, page, &err) == 0;
    }
    CHECK_EQ(interpose_disarm(), 0);
    CHECK(brought == ROUNDS && unknown > 0); /* the front makes way, and is computed again */
    engine_local.close(e);
}

/* The counting itself counts: else all of the above would hold of anything. */
TEST(no_alloc_an_allocation_is_seen)
{
    if (!INTERPOSE_WORKS) SKIP("allocations cannot be counted in this build");
    char *volatile p; /* so that no compiler leaves out what is freed at once */
    interpose_arm(0, false);
    p = malloc(100);
    p = realloc(p, 200);
    free(p);
    p = strdup("by a library");
    free(p);
    CHECK_EQ(interpose_disarm(), 5);
    interpose_arm(0, false);
    FILE *in = fopen("/proc/self/statm", "r");
    fclose(in);
    CHECK(interpose_disarm() >= 2);
}

CHECK_MAIN
