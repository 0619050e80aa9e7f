/* What can fail is made to fail, one call after the other: the engine refuses cleanly at open, or lives and serves the
 * next; its books balance, and what was not in the failed pass never notices. */
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/interpose.h"
#include "tests/kern_shim.h"
#include "tests/tiny_model.h"

enum { REQUESTS = 8, FRONT = 17, MOST = 32, NEW = 60, CTX = 96, PARK_PAGES = 4, POOL = 14 };

static const struct engine_ops *const ops = &engine_local;

/* ------------------------------------------------------------------ the scene */

static int32_t prompt[REQUESTS][MOST];
static const int prompt_len[REQUESTS] = {FRONT + 4, FRONT + 5, 6, FRONT + 3, 7, 8, 30, 5}; /* 0, 1, 3 begin alike */
static const bool cancelled[REQUESTS] = {[6] = true, [7] = true};

struct outcome {
    enum engine_end end;
    int n, ends; /* tokens; END events */
    int32_t id[NEW];
    char fault[240];
};

static struct outcome calm[REQUESTS]; /* without faults */

static void make_prompts(void)
{
    uint32_t seed = 21;
    for (int r = 0; r < REQUESTS; r++)
        for (int i = 0; i < prompt_len[r]; i++) prompt[r][i] = TINY_BYTE0 + tiny_below(&seed, 256);
    memcpy(prompt[1], prompt[0], FRONT * sizeof(int32_t));
    memcpy(prompt[3], prompt[0], FRONT * sizeof(int32_t));
}

static const char *model_path(void)
{
    static const char *path;
    struct tiny t = TINY_LLAMA;
    t.layers = 1;
    if (!path) path = tiny_file(&t, NULL, "faults.gguf");
    return path;
}

static size_t page_bytes(void) /* K and V of the one layer */
{
    struct kern_group g = {.layers = 1, .kv_heads = TINY_LLAMA.kv_heads, .head_dim = TINY_LLAMA.embd / TINY_LLAMA.heads,
                           .kv_type = KT_F16};
    return kern_cpu()->kv_page_bytes(&g);
}

/* More than the pool holds: over-commit has to park, and the slab for it holds only some of the pages. */
static struct engine *open_scene(struct err *err)
{
    static struct kern k;
    k = *shim_kern(kern_cpu());
    k.lazy = false; /* all pages are there from the first pass on: each run is the same */
    shim.watch = page_bytes();
    return ops->open(&(struct engine_config){.model = model_path(), .kernels = &k,
                                             .kern = {.threads = 1}, .kv_type = KT_F16, .ctx = CTX, .max_seqs = 6,
                                             .max_rows = 24, .pool_tokens = POOL * KERN_PAGE, .template = -1,
                                             .vram = 64 << 20, .overcommit = true,
                                             .park_bytes = PARK_PAGES * page_bytes()},
                     err);
}

/* Some answers are short: over-commit learns from them to promise less than the others need. */
static int answer_of(int r) { return r % 4 == 0 ? NEW / 6 : NEW; }

static int submit(struct engine *e, int r)
{
    int id;
    struct err err = {0};
    struct request q = {.ids = prompt[r], .n_ids = prompt_len[r], .max_tokens = answer_of(r), .agent = r,
                        .ignore_end = true,
                        .sampling = {.temp = 0.8f, .top_p = 0.95f, .repeat = 1.1f, .recent = 16, .seed = 3}};
    int rc = ops->submit(e, &q, &id, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(rc, 0);
    return id;
}

/* One step; what ended is noted.  Events and a failed pass's words. */
static int step(struct engine *e, const int *id, struct outcome *out)
{
    struct engine_event ev[32];
    struct err err = {0};
    int n = ops->step(e, ev, 32, &err);
    for (int i = 0; i < n; i++)
        for (int r = 0; r < REQUESTS && ev[i].kind == ENGINE_END; r++) out[r].ends += id[r] == ev[i].id;
    CHECK_EQ(err.code, *err.text ? ENGINE_FAULT : 0);
    return n;
}

static void read_outcome(struct engine *e, int id, struct outcome *out)
{
    const struct answer *a = ops->answer(e, id);
    out->end = (enum engine_end)atomic_load(&a->end);
    out->n = atomic_load(&a->n_tokens);
    for (int i = 0; i < out->n; i++) out->id[i] = a->token[i].id;
    snprintf(out->fault, sizeof out->fault, "%s", a->fault);
    ops->drop(e, id);
}

/* All requests, some late; one is cancelled in its pre-fill, one while it generates.  The first to end are short, so
 * that over-commit then expects short answers and lets more in than there is room for. */
static void play(struct engine *e, struct outcome out[REQUESTS])
{
    int id[REQUESTS] = {0}, steps = 0;
    memset(out, 0, REQUESTS * sizeof *out);
    id[6] = submit(e, 6);
    step(e, id, out);
    ops->cancel(e, id[6]);
    for (int r = 0; r < 3; r++) id[r] = submit(e, r);
    for (int i = 0; i < 3; i++) step(e, id, out);
    id[7] = submit(e, 7);
    for (int r = 3; r < 6; r++) id[r] = submit(e, r);
    for (int i = 0; i < 4; i++) step(e, id, out);
    ops->cancel(e, id[7]);
    while (step(e, id, out) > 0) CHECK(++steps < 1000);
    for (int r = 0; r < REQUESTS; r++) read_outcome(e, id[r], &out[r]);
}

/* Nothing is held, promised, waiting or kept; pages are free or cached. */
static void check_books(struct engine *e)
{
    struct engine_cell cell[POOL];
    struct engine_snapshot s;
    struct err err = {0};
    CHECK_EQ(sched_check(e->sched, &err), 0);
    ops->snapshot(e, &s);
    CHECK_EQ(s.reserved_tokens + s.filled_tokens + s.shared_tokens, 0);
    CHECK_EQ(s.running + s.waiting + s.parked, 0);
    CHECK_EQ(s.text_used + s.text_requests + s.park_used, 0);
    CHECK_EQ(s.pool_tokens, s.usable_tokens);
    ops->page_map(e, cell, POOL);
    for (int i = 0; i < POOL; i++) CHECK(cell[i].state == CELL_FREE || cell[i].state == CELL_CACHED);
}

/* The same text, bit for bit, as if nothing had ever failed; from pages that were computed before, where they are
 * known. */
static void check_serves(struct engine *e)
{
    for (int r = 0; r < 2; r++) {
        struct outcome now[REQUESTS] = {0};
        int id[REQUESTS] = {submit(e, r)};
        while (step(e, id, now) > 0) continue;
        read_outcome(e, id[0], &now[0]);
        CHECK_EQ(now[0].end, END_LENGTH);
        CHECK_MEM(now[0].id, calm[r].id, sizeof now[0].id);
    }
    check_books(e);
}

static void check_outcomes(const struct outcome *out)
{
    for (int r = 0; r < REQUESTS; r++) {
        CHECK_EQ(out[r].ends, 1);
        CHECK_MEM(out[r].id, calm[r].id, (size_t)out[r].n * sizeof(int32_t)); /* what came, came right */
        if (out[r].end == END_FAULT) {
            CHECK(strstr(out[r].fault, "was told to fail"));
        } else {
            CHECK_EQ(out[r].end, cancelled[r] ? END_CANCELLED : END_LENGTH);
            CHECK_STR(out[r].fault, "");
            CHECK(cancelled[r] || out[r].n == answer_of(r));
        }
    }
}

static void close_scene(struct engine *e)
{
    ops->close(e);
    CHECK_EQ(shim.devices + shim.slabs, 0);
    CHECK_EQ(shim.taken, 0);
}

/* ------------------------------------------------------------------ every call of the backend */

/* The scene without faults, for comparison. */
static void play_calm(void)
{
    struct err err = {0};
    struct engine_snapshot s;
    make_prompts();
    shim = (struct shim){0};
    struct engine *e = open_scene(&err);
    CHECK_STR(err.text, "");
    play(e, calm);
    ops->snapshot(e, &s);
    CHECK(s.parkings >= 2 && s.resumes >= 2 && s.reused > 0 && s.recomputed > 0);
    CHECK(shim.watched >= 2); /* pages saved, pages loaded */
    for (int c = 0; c < SHIM_CALLS; c++) CHECK(shim.of[c] > 0);
    check_outcomes(calm);
    check_serves(e);
    close_scene(e);
}

/* What the n-th failing call was, when it came in the scene and not at open. */
struct swept {
    long opens, of[SHIM_CALLS], saves, loads, untouched;
};

/* false: nothing failed any more, the sweep is through. */
static bool fail_at(long n, bool stay, struct swept *swept)
{
    struct outcome out[REQUESTS];
    struct err err = {0};
    shim = (struct shim){.fail_at = n, .stay = stay};
    struct engine *e = open_scene(&err);
    if (!e) {
        CHECK(strstr(err.text, "was told to fail"));
        CHECK_EQ(shim.devices + shim.slabs, 0);
        swept->opens++;
        return true;
    }
    CHECK_STR(err.text, "");
    play(e, out);
    bool failed = shim.failed > 0;
    int faults = 0;
    shim.fail_at = 0;
    check_outcomes(out);
    for (int r = 0; r < REQUESTS; r++) faults += out[r].end == END_FAULT;
    swept->of[shim.what] += failed;
    swept->saves += failed && shim.what_watched && shim.what == SHIM_FETCH;
    swept->loads += failed && shim.what_watched && shim.what == SHIM_UPLOAD;
    swept->untouched += failed && faults == 0;
    check_books(e);
    check_serves(e);
    close_scene(e);
    return failed;
}

static void sweep(bool stay)
{
    struct swept swept = {0};
    long n = 1;
    play_calm();
    while (fail_at(n, stay, &swept)) n += INTERPOSE_WORKS || swept.opens == n ? 1 : 7; /* sanitizers take their time */
    CHECK(swept.opens > 10); /* open, three slabs, weights */
    for (int c = SHIM_FETCH; c < SHIM_CALLS; c++) CHECK(swept.of[c] > 0 || c == SHIM_MAT_LOAD);
    CHECK(swept.saves > 0 && swept.loads > 0);
    if (!stay) CHECK(swept.untouched == swept.saves); /* a page that could not be saved is computed again */
}

TEST(faults_each_call_of_the_backend_fails_once) { sweep(false); }
TEST(faults_each_call_of_the_backend_fails_and_all_after_it) { sweep(true); }

/* ------------------------------------------------------------------ every allocation of open */

static struct engine *open_small(const struct engine_ops *o, const char *path, const char *script, struct err *err)
{
    return o->open(&(struct engine_config){.model = path, .script = script, .kern = {.threads = 2}, .kv_type = KT_F16,
                                           .ctx = CTX, .max_seqs = 2, .template = -1, .vram = 64 << 20,
                                           .park_bytes = 1 << 14},
                   err);
}

static void check_answers(const struct engine_ops *o, struct engine *e, struct outcome *out)
{
    int id;
    struct engine_event ev[16];
    struct err err = {0};
    struct request q = {.ids = prompt[0], .n_ids = prompt_len[0], .max_tokens = NEW, .sampling = SAMPLING_GREEDY,
                        .ignore_end = true};
    CHECK_EQ(o->submit(e, &q, &id, &err), 0);
    while (o->step(e, ev, 16, &err) > 0) continue;
    CHECK_STR(err.text, "");
    const struct answer *a = o->answer(e, id);
    *out = (struct outcome){.n = atomic_load(&a->n_tokens)};
    CHECK_EQ(out->n, NEW);
    for (int i = 0; i < NEW; i++) out->id[i] = a->token[i].id;
}

/* Refused in words and without a leak; or, where a library can do without (stdio's buffer), it opens and is whole. */
static void sweep_open(const struct engine_ops *o, const char *path, const char *script, bool stay)
{
    struct outcome whole, now;
    struct err err = {0};
    struct engine *e = open_small(o, path, script, &err); /* libraries take what they keep */
    CHECK_STR(err.text, "");
    check_answers(o, e, &whole);
    o->close(e);
    interpose_arm(0, false);
    o->close(open_small(o, path, script, &err));
    interpose_disarm();
    long all = atomic_load(&interpose.takes), refused = 0;
    CHECK(all > 20);
    CHECK_EQ(atomic_load(&interpose.live), 0);
    for (long n = 1; n <= all; n++) {
        err = (struct err){0};
        interpose_arm(n, stay);
        e = open_small(o, path, script, &err);
        interpose_disarm();
        if (!e) {
            CHECK(*err.text);
            CHECK(err.code == ENGINE_FAULT || err.code == ENGINE_NEVER_FITS);
            CHECK_EQ(atomic_load(&interpose.live), 0);
            refused++;
            continue;
        }
        CHECK_STR(err.text, "");
        CHECK(ledger_total(&o->info(e)->ledger) <= (uint64_t)64 << 20);
        check_answers(o, e, &now);
        CHECK_MEM(&now, &whole, sizeof now);
        o->close(e);
    }
    printf("    %ld allocations, %ld refusals\n", all, refused);
    CHECK(refused >= all - 3);
    err = (struct err){0};
    e = open_small(o, path, script, &err);
    CHECK_STR(err.text, "");
    check_answers(o, e, &now);
    CHECK_MEM(&now, &whole, sizeof now);
    o->close(e);
}

TEST(faults_each_allocation_of_open_fails_local)
{
    if (!INTERPOSE_WORKS) SKIP("allocations cannot be made to fail in this build");
    make_prompts();
    sweep_open(&engine_local, model_path(), NULL, false);
    sweep_open(&engine_local, model_path(), NULL, true);
}

TEST(faults_each_allocation_of_open_fails_scripted)
{
    if (!INTERPOSE_WORKS) SKIP("allocations cannot be made to fail in this build");
    /* Short words: jansson drops a letter, and says nothing, when it has no memory for a longer one. */
    const char *script = tiny_text_file("faults.jsonl", "{\"answer\": \"at a loss\", \"end\": false}\n");
    make_prompts();
    sweep_open(&engine_scripted, model_path(), script, false);
    sweep_open(&engine_scripted, model_path(), script, true);
}

/* ------------------------------------------------------------------ the room for requests */

static int try(struct engine *e, int n, int max_tokens, int *id, struct err *err)
{
    *err = (struct err){0};
    struct request q = {.ids = prompt[0], .n_ids = n, .max_tokens = max_tokens, .sampling = SAMPLING_GREEDY,
                        .ignore_end = true};
    return ops->submit(e, &q, id, err);
}

TEST(faults_a_full_room_for_requests_is_refused_with_its_figures)
{
    int id[16], n = 0, rc;
    struct err err = {0};
    struct engine_snapshot s;
    struct engine_event ev[32];
    make_prompts();
    struct engine *e = ops->open(&(struct engine_config){.model = model_path(), .kern = {.threads = 1},
                                                         .kv_type = KT_F16, .ctx = CTX, .max_seqs = 2, .template = -1,
                                                         .text_bytes = 12 << 10},
                                 &err);
    CHECK_STR(err.text, "");
    struct request large = {.ids = prompt[0], .n_ids = 8, .max_tokens = CTX - 8, .top_n = KERN_TOP,
                            .sampling = SAMPLING_GREEDY};
    CHECK_EQ(ops->submit(e, &large, id, &err), ENGINE_NEVER_FITS); /* by its answer alone: pages would do */
    CHECK(strstr(err.text, "all requests may take 12.0 KiB"));
    while ((rc = try(e, 8, NEW, &id[n], &err)) == 0) CHECK(++n < 16);
    CHECK(n >= 2);
    CHECK_EQ(rc, ENGINE_NO_MEMORY);
    char words[80];
    snprintf(words, sizeof words, "%d requests and answers hold", n);
    CHECK(strstr(err.text, words) && strstr(err.text, "of 12.0 KiB: drop some"));
    ops->snapshot(e, &s);
    CHECK_EQ(s.waiting, n);
    CHECK_EQ(s.text_requests, (uint64_t)n);
    while (ops->step(e, ev, 32, &err) > 0) continue;
    CHECK_EQ(try(e, 8, NEW, &id[n], &err), ENGINE_NO_MEMORY); /* answers that nobody dropped are kept, whole */
    for (int i = 0; i < n; i++) CHECK_EQ(atomic_load(&ops->answer(e, id[i])->n_tokens), NEW);
    for (int i = 0; i < n; i++) ops->drop(e, id[i]);
    CHECK_EQ(try(e, 8, NEW, &id[0], &err), 0);
    ops->drop(e, id[0]);
    ops->snapshot(e, &s);
    CHECK_EQ(s.text_used + s.text_requests, 0);
    CHECK_EQ(sched_check(e->sched, &err), 0);
    ops->close(e);
}

TEST(faults_what_can_never_be_served_is_refused_and_leaves_nothing)
{
    int id;
    struct err err = {0};
    struct engine_snapshot s;
    make_prompts();
    struct engine *e = ops->open(&(struct engine_config){.model = model_path(), .kern = {.threads = 1},
                                                         .kv_type = KT_F16, .ctx = CTX, .max_seqs = 2, .template = -1,
                                                         .pool_tokens = 3 * KERN_PAGE},
                                 &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(try(e, 20, CTX, &id, &err), ENGINE_NEVER_FITS);
    CHECK(strstr(err.text, "116 tokens") && strstr(err.text, "the context holds 96"));
    CHECK_EQ(try(e, 20, 40, &id, &err), ENGINE_NEVER_FITS);
    CHECK(strstr(err.text, "4 KV pages") && strstr(err.text, "the whole pool has 3"));
    ops->snapshot(e, &s);
    CHECK_EQ(s.text_used + s.reserved_tokens + (uint64_t)s.waiting, 0);
    CHECK_EQ(try(e, 20, 28, &id, &err), 0); /* to the last token of the last page */
    ops->close(e);
}

CHECK_MAIN
