/* A session's KV pages leave one engine and come back to another, as after a restart: it pre-fills only what is new,
 * and not a bit of what it says shows where the pages were.  Each engine draws a key of its own for its table of pages,
 * so two engines here are as strange to each other as two processes. */
#include "engine/maker.h"
#include "memory/snapshot.h"
#include "tests/kern_shim.h"
#include "tests/store_rig.h"
#include "tests/tiny_model.h"

#define EMBEDDED "assets/plimsoll-tiny.gguf"

enum { P = KERN_PAGE, NEW = 40, MOST = 4096 };

static const struct engine_ops *const ops = &engine_local;

static void sound(struct engine *e)
{
    struct err why = {0};
    if (sched_check(e->sched, &why)) check_fail(__FILE__, __LINE__, "%s", why.text);
}

static struct engine *open_with(struct engine_config cfg)
{
    struct err why = {0};
    if (!cfg.model) cfg.model = EMBEDDED;
    cfg.template = -1;
    cfg.kern.threads = 2;
    if (!cfg.max_seqs) cfg.max_seqs = 2;
    if (!cfg.ctx) cfg.ctx = 1024;
    struct engine *e = ops->open(&cfg, &why);
    CHECK_STR(why.text, "");
    return e;
}

static struct engine *open_plain(void) { return open_with((struct engine_config){.kv_type = KT_F16}); }

/* ------------------------------------------------------------------ a conversation */

struct said { /* to the bit */
    struct engine_token token[NEW];
    struct engine_top top[NEW];
    int shared;
};

struct talk { /* the tokens so far: what was said, and what the next turn asks */
    int32_t ids[MOST];
    int n, computed; /* computed: whose K and V the engine has made */
};

static void ask(struct talk *t, uint32_t seed, int n)
{
    for (int i = 0; i < n; i++) t->ids[t->n++] = TINY_BYTE0 + tiny_below(&seed, 256);
}

static void run(struct engine *e)
{
    struct engine_event ev[64];
    struct err why = {0};
    while (ops->step(e, ev, 64, &why) > 0) continue;
    CHECK_STR(why.text, "");
}

/* The next turn: its answer becomes part of the talk. */
static void turn(struct engine *e, struct talk *t, struct said *out)
{
    struct err why = {0};
    struct request r = {.ids = t->ids, .n_ids = t->n, .max_tokens = NEW, .top_n = KERN_TOP, .ignore_end = true,
                        .sampling = {.temp = 0.8f, .top_p = 0.9f, .repeat = 1.1f, .recent = 16, .seed = 5}};
    int id;
    CHECK_EQ(ops->submit(e, &r, &id, &why), 0);
    run(e);
    const struct answer *a = ops->answer(e, id);
    CHECK_EQ(atomic_load(&a->n_tokens), NEW);
    memset(out, 0, sizeof *out);
    memcpy(out->token, a->token, sizeof out->token);
    memcpy(out->top, a->top, sizeof out->top);
    out->shared = a->n_shared;
    CHECK_MEM(a->prompt, t->ids, (size_t)t->n * sizeof *t->ids);
    for (int i = 0; i < NEW; i++) t->ids[t->n++] = a->token[i].id;
    t->computed = t->n - 1; /* the last was chosen, and not looked at yet */
    ops->drop(e, id);
    sound(e);
}

static void same_words(const struct said *x, const struct said *y)
{
    CHECK_MEM(x->token, y->token, sizeof x->token);
    CHECK_MEM(x->top, y->top, sizeof x->top);
}

/* ------------------------------------------------------------------ pages by hand */

struct pages { /* of a text */
    int n;
    size_t bytes;
    char *mem;
};

static struct pages take_out(struct engine *e, const struct talk *t)
{
    struct err why = {0};
    struct pages p = {.n = t->computed / P, .bytes = ops->info(e)->page_bytes};
    CHECK(p.bytes > 0);
    p.mem = malloc((size_t)p.n * p.bytes);
    CHECK(p.mem != NULL);
    for (int i = 0; i < p.n; i++) CHECK_EQ(ops->page_get(e, t->ids, (i + 1) * P, p.mem + (size_t)i * p.bytes, &why), 0);
    CHECK_EQ(ops->page_get(e, t->ids, (p.n + 1) * P, NULL, &why), ENGINE_UNKNOWN); /* not whole */
    return p;
}

/* How many went in. */
static int bring_in(struct engine *e, const struct talk *t, const struct pages *p, int *rc)
{
    struct err why = {0};
    CHECK_EQ(ops->info(e)->page_bytes, p->bytes);
    for (int i = 0; i < p->n; i++) {
        *rc = ops->page_put(e, t->ids, (i + 1) * P, 3, p->mem + (size_t)i * p->bytes, &why);
        sound(e);
        if (*rc) return i;
    }
    return p->n;
}

static struct engine_snapshot figures(struct engine *e)
{
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    return s;
}

/* Two turns, a restart, a third: beside an engine that was never restarted. */
static void resume_with(struct engine_config cfg)
{
    static struct talk t, twin;
    static struct said first, second, third, alike;
    int rc = 0;
    struct engine *e = open_with(cfg);
    t = (struct talk){0};
    ask(&t, 1, 75);
    turn(e, &t, &first);
    ask(&t, 2, 20);
    turn(e, &t, &second);
    CHECK(first.shared == 0 && second.shared > 0);
    struct pages p = take_out(e, &t);
    ask(&t, 3, 21);
    twin = t;
    turn(e, &t, &third);
    ops->close(e);

    e = open_with(cfg);
    CHECK_EQ(bring_in(e, &twin, &p, &rc), p.n);
    CHECK_EQ(bring_in(e, &twin, &p, &rc), p.n); /* again: they are known */
    struct engine_snapshot s = figures(e);
    CHECK(s.adopted_pages == (uint64_t)p.n && s.cached_tokens == (uint64_t)(p.n * P) && s.filled_tokens == 0);
    turn(e, &twin, &alike);
    CHECK(alike.shared == p.n * P && third.shared == alike.shared);
    same_words(&alike, &third);
    s = figures(e);
    CHECK_EQ(s.reused, (uint64_t)(p.n * P));
    /* What it computed itself goes on from what it was given, and both can leave again. */
    struct pages again = take_out(e, &twin);
    CHECK(again.n > p.n);
    CHECK_MEM(again.mem, p.mem, (size_t)p.n * p.bytes);
    ops->close(e);
    free(p.mem);
    free(again.mem);
}

TEST(snapshot_resumed_session_says_the_same_f16) { resume_with((struct engine_config){.kv_type = KT_F16}); }

static void resume_again(struct engine_config cfg)
{
    if (CHECK_TSAN) SKIP("the threads do with other bits what they did with F16 pages");
    resume_with(cfg);
}

TEST(snapshot_resumed_session_says_the_same_f32) { resume_again((struct engine_config){.kv_type = KT_F32}); }
TEST(snapshot_resumed_session_says_the_same_q8_0) { resume_again((struct engine_config){.kv_type = KT_Q8_0}); }

static void resume_on(const char *isa)
{
    struct err why = {0};
    struct kdev *d = kern_cpu()->open(&(struct kern_config){.isa = isa, .threads = 1}, &why);
    if (!d) SKIP("this machine cannot: %s", why.text);
    kern_cpu()->close(d);
    if (CHECK_SANITIZED && strcmp(isa, "avx2") != 0) SKIP("pages lie the same for all instruction sets: avx2 alone");
    resume_again((struct engine_config){.kern = {.isa = isa}, .kv_type = KT_F16});
}

TEST(snapshot_resumed_session_says_the_same_portable) { resume_on("portable"); }
TEST(snapshot_resumed_session_says_the_same_avx2) { resume_on("avx2"); }
TEST(snapshot_resumed_session_says_the_same_avx512) { resume_on("avx512"); }

TEST(snapshot_resumed_session_says_the_same_ref)
{
    struct tiny t = TINY_LLAMA;
    if (CHECK_TSAN) SKIP("the reference has no threads");
    resume_with((struct engine_config){.model = tiny_file(&t, NULL, "kept.gguf"), .backend = "ref", .kv_type = KT_F16});
}

/* ------------------------------------------------------------------ room */

TEST(snapshot_pool_without_room_takes_what_fits_and_is_unharmed)
{
    static struct talk t, other, twin;
    static struct said a, b, calm;
    int rc = 0;
    struct err why = {0};
    if (CHECK_TSAN) SKIP("the threads do what they did when a session was resumed");
    struct engine *e = open_plain();
    t = other = (struct talk){0};
    ask(&t, 1, 200);
    ask(&other, 9, 120);
    twin = other;
    turn(e, &t, &a);
    struct pages p = take_out(e, &t);
    turn(e, &twin, &calm);
    ops->close(e);
    CHECK_EQ(p.n, 14);

    /* Someone runs, with room promised that the pages may not have: 120 + 40 tokens of 20 pages. */
    e = open_with((struct engine_config){.kv_type = KT_F16, .pool_tokens = 20 * P});
    struct engine_event ev[16];
    struct request r = {.ids = other.ids, .n_ids = other.n, .max_tokens = NEW, .top_n = KERN_TOP, .ignore_end = true,
                        .sampling = {.temp = 0.8f, .top_p = 0.9f, .repeat = 1.1f, .recent = 16, .seed = 5}};
    int id;
    CHECK_EQ(ops->submit(e, &r, &id, &why), 0);
    CHECK(ops->step(e, ev, 16, &why) > 0);
    CHECK_EQ(bring_in(e, &t, &p, &rc), 10);
    CHECK_EQ(rc, ENGINE_NOT_NOW);
    CHECK_EQ(bring_in(e, &t, &p, &rc), 10); /* and none made way for another of the same text */
    run(e);
    const struct answer *said = ops->answer(e, id);
    memset(&b, 0, sizeof b);
    memcpy(b.token, said->token, sizeof b.token);
    memcpy(b.top, said->top, sizeof b.top);
    same_words(&b, &calm);
    ops->drop(e, id);
    sound(e);
    CHECK_EQ(bring_in(e, &t, &p, &rc), p.n); /* its pages are cache now, and make way */
    CHECK_EQ(rc, 0);
    ops->close(e);
    free(p.mem);
}

/* A request that waits, and pages that come in meanwhile: it shares them. */
TEST(snapshot_pages_serve_a_request_that_was_submitted_before_them)
{
    static struct talk t, twin;
    static struct said a, b;
    int rc = 0;
    struct err why = {0};
    if (CHECK_TSAN) SKIP("the threads do what they did when a session was resumed");
    struct engine *e = open_plain();
    t = (struct talk){0};
    ask(&t, 1, 200);
    twin = t;
    turn(e, &t, &a);
    struct pages p = take_out(e, &t);
    ops->close(e);
    e = open_plain();
    struct request r = {.ids = twin.ids, .n_ids = twin.n, .max_tokens = NEW, .top_n = KERN_TOP, .ignore_end = true,
                        .sampling = {.temp = 0.8f, .top_p = 0.9f, .repeat = 1.1f, .recent = 16, .seed = 5}};
    int id;
    CHECK_EQ(ops->submit(e, &r, &id, &why), 0);
    CHECK_EQ(bring_in(e, &t, &p, &rc), p.n);
    run(e);
    const struct answer *said = ops->answer(e, id);
    CHECK_EQ(said->n_shared, 12 * P);
    memset(&b, 0, sizeof b);
    memcpy(b.token, said->token, sizeof b.token);
    memcpy(b.top, said->top, sizeof b.top);
    same_words(&a, &b);
    ops->close(e);
    free(p.mem);
}

/* ------------------------------------------------------------------ refusals */

TEST(snapshot_operations_say_what_they_will_not_do)
{
    static struct talk t;
    static struct said a;
    struct err why = {0};
    struct engine *e = open_plain();
    size_t bytes = ops->info(e)->page_bytes;
    char *page = calloc(1, bytes);
    t = (struct talk){0};
    ask(&t, 1, 70);
    turn(e, &t, &a);
    CHECK(page != NULL);
    static const int bad[] = {0, -P, 1, P - 1, P + 1, 1024 + P, INT32_MAX / P * P};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_EQ(ops->page_get(e, t.ids, bad[i], page, &why), ENGINE_BAD_REQUEST);
        CHECK_EQ(ops->page_put(e, t.ids, bad[i], 0, page, &why), ENGINE_BAD_REQUEST);
    }
    CHECK_EQ(ops->page_put(e, t.ids, P, -1, page, &why), ENGINE_BAD_REQUEST);
    CHECK_EQ(ops->page_put(e, t.ids, P, ENGINE_AGENTS, page, &why), ENGINE_BAD_REQUEST);
    CHECK_EQ(ops->page_get(e, t.ids, P, NULL, &why), 0);
    CHECK_EQ(ops->page_get(e, t.ids, 1024, page, &why), ENGINE_UNKNOWN);
    t.ids[3]++; /* another text from its first page on */
    CHECK_EQ(ops->page_get(e, t.ids, P, page, &why), ENGINE_UNKNOWN);
    CHECK_EQ(ops->page_get(e, t.ids, 2 * P, page, &why), ENGINE_UNKNOWN);
    CHECK_EQ(ops->page_put(e, t.ids, 2 * P, 0, page, &why), ENGINE_UNKNOWN);
    CHECK_EQ(figures(e).adopted_pages, 0);
    sound(e);
    ops->close(e);
    free(page);
}

/* Bytes that are no floats at all are the caller's mistake: answers are nonsense then, and nothing else. */
TEST(snapshot_nonsense_in_a_page_harms_only_the_answer)
{
    static struct talk t;
    struct err why = {0};
    static const enum ktype types[] = {KT_F16, KT_F32, KT_Q8_0};
    for (size_t k = 0; k < COUNT_OF(types); k++) {
        struct engine *e = open_with((struct engine_config){.kv_type = types[k]});
        size_t bytes = ops->info(e)->page_bytes;
        char *page = malloc(bytes);
        CHECK(page != NULL);
        memset(page, 0xff, bytes);
        t = (struct talk){0};
        ask(&t, 1, 70);
        for (int n = P; n <= 4 * P; n += P) CHECK_EQ(ops->page_put(e, t.ids, n, 0, page, &why), 0);
        struct request r = {.ids = t.ids, .n_ids = t.n, .max_tokens = NEW, .ignore_end = true, .top_n = KERN_TOP,
                            .sampling = {.temp = 0.8f, .top_p = 0.9f, .repeat = 1.1f, .recent = 16, .seed = 5}};
        int id;
        CHECK_EQ(ops->submit(e, &r, &id, &why), 0);
        run(e);
        const struct answer *a = ops->answer(e, id);
        CHECK(a->n_shared == 4 * P && atomic_load(&a->end) != END_NONE);
        for (int i = 0; i < atomic_load(&a->n_tokens); i++)
            CHECK(a->token[i].id >= 0 && a->token[i].id < ops->info(e)->vocab);
        sound(e);
        ops->close(e);
        free(page);
    }
}

TEST(snapshot_engines_without_pages_to_keep_say_so)
{
    struct err why = {0};
    struct tiny t = TINY_LLAMA;
    static const int32_t ids[P];
    char page[8];
    struct engine_config cfg = {.model = tiny_file(&t, NULL, "kept.gguf"), .template = -1, .ctx = 64,
                                .script = tiny_text_file("kept.jsonl", "{\"answer\": \"aye\"}\n")};
    struct engine *e = engine_scripted.open(&cfg, &why);
    CHECK_STR(why.text, "");
    CHECK_EQ(engine_scripted.info(e)->page_bytes, 0);
    CHECK_EQ(engine_scripted.page_get(e, ids, P, page, &why), ENGINE_BAD_REQUEST);
    CHECK_EQ(engine_scripted.page_put(e, ids, P, 0, page, &why), ENGINE_BAD_REQUEST);
    engine_scripted.close(e);
    e = open_with((struct engine_config){.model = cfg.model, .ctx = 64, .naive = NAIVE_NO_LIMIT, .kv_type = KT_F16});
    CHECK_EQ(ops->info(e)->page_bytes, 0);
    CHECK_EQ(ops->page_put(e, ids, P, 0, page, &why), ENGINE_BAD_REQUEST);
    ops->close(e);
    struct kern unnamed = *kern_cpu(); /* a backend that does not say what its bits depend on */
    unnamed.numerics = NULL;
    e = open_with((struct engine_config){.model = cfg.model, .ctx = 64, .kernels = &unnamed, .kv_type = KT_F16});
    CHECK_EQ(ops->info(e)->page_bytes, 0);
    ops->close(e);
}

/* ------------------------------------------------------------------ a backend that fails */

TEST(snapshot_copy_that_fails_leaves_no_page_behind)
{
    static struct talk t;
    static struct said a;
    int rc = 0;
    struct err why = {0};
    struct tiny tiny = TINY_LLAMA;
    struct engine_config cfg = {.model = tiny_file(&tiny, NULL, "kept.gguf"), .kv_type = KT_F16,
                                .kernels = shim_kern(kern_cpu())};
    shim = (struct shim){0};
    struct engine *e = open_with(cfg);
    t = (struct talk){0};
    ask(&t, 1, 70);
    turn(e, &t, &a);
    struct pages p = take_out(e, &t);
    shim = (struct shim){.fail_at = 1};
    CHECK_EQ(ops->page_get(e, t.ids, P, p.mem, &why), ENGINE_FAULT);
    CHECK(strstr(why.text, "fetch"));
    ops->close(e);
    e = open_with(cfg);
    shim = (struct shim){.fail_at = 3};
    CHECK_EQ(bring_in(e, &t, &p, &rc), 2);
    CHECK_EQ(rc, ENGINE_FAULT);
    CHECK(shim.of[SHIM_UPLOAD] == 3 && figures(e).adopted_pages == 2 && figures(e).cached_tokens == 2 * P);
    CHECK_EQ(ops->page_get(e, t.ids, 3 * P, NULL, &why), ENGINE_UNKNOWN);
    CHECK_EQ(bring_in(e, &t, &p, &rc), p.n); /* the next try serves */
    ops->close(e);
    free(p.mem);
}

/* ------------------------------------------------------------------ by way of the disk */

enum { NAMES = 64 };

static int names_of(struct engine *e, const struct talk *t, int n, uint8_t (*out)[SNAP_NAME])
{
    struct engine_name name = ops->info(e)->identity;
    CHECK(n / P <= NAMES);
    for (int i = 0; i < n / P; i++) {
        name = engine_page_name(name, t->ids + i * P);
        memcpy(out[i], name.byte, SNAP_NAME);
    }
    return n / P;
}

static struct snap_page kept(struct engine *e, const struct talk *t, uint8_t (*name)[SNAP_NAME], int i, void *bytes)
{
    return (struct snap_page){.name = name[i], .before = i ? name[i - 1] : ops->info(e)->identity.byte,
                              .ids = t->ids + i * P, .bytes = bytes};
}

static struct snap snap_of(struct engine *e, struct store *store)
{
    struct snap s;
    const struct engine_info *i = ops->info(e);
    OK(snap_open(&s, store, i->identity.byte, P, i->page_bytes, UINT64_MAX, UINT64_MAX, &err));
    return s;
}

/* All that the engine has of the talk. */
static void keep(struct engine *e, struct store *store, const uint8_t *session, const struct talk *t)
{
    struct snap s = snap_of(e, store);
    uint8_t name[NAMES][SNAP_NAME];
    int n = names_of(e, t, t->computed, name);
    char *bytes = malloc(s.bytes);
    CHECK(bytes != NULL);
    for (int i = 0; i < n; i++) {
        struct snap_page page = kept(e, t, name, i, bytes);
        CHECK_EQ(ops->page_get(e, t->ids, (i + 1) * P, bytes, &err), 0);
        OK(snap_put(&s, &page, 1, &err));
    }
    OK(snap_use(&s, session, name, n, &err));
    snap_close(&s);
    free(bytes);
}

/* As many pages of the talk's front as the store has. */
static int bring_back(struct engine *e, struct store *store, const struct talk *t, int *rc)
{
    struct snap s = snap_of(e, store);
    uint8_t name[NAMES][SNAP_NAME];
    int i = 0, n = names_of(e, t, t->n, name);
    char *bytes = malloc(s.bytes);
    CHECK(bytes != NULL);
    for (*rc = 0; i < n; i++) {
        struct snap_page page = kept(e, t, name, i, NULL);
        *rc = snap_get(&s, &page, bytes, &err);
        if (*rc) break;
        CHECK_EQ(ops->page_put(e, t->ids, (i + 1) * P, 0, bytes, &err), 0);
    }
    snap_close(&s);
    free(bytes);
    return i;
}

/* Bytes of the file of pages, flipped as a disk would. */
static void flip_in_file(const char *dir, const void *what, size_t n)
{
    int fd = open(under(dir, "cache/data.mdb"), O_RDWR);
    struct stat st;
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    char *all = malloc((size_t)st.st_size);
    CHECK(all && pread(fd, all, (size_t)st.st_size, 0) == st.st_size);
    char *hit = memmem(all, (size_t)st.st_size, what, n);
    CHECK(hit != NULL);
    hit[n / 2] ^= 4;
    CHECK_EQ(pwrite(fd, hit + n / 2, 1, hit + n / 2 - all), 1);
    close(fd);
    free(all);
}

TEST(snapshot_session_goes_on_from_the_store_in_a_new_engine)
{
    static struct talk t, twin;
    static struct said a, third, alike;
    int rc;
    const char *dir = fresh_dir();
    struct store *store = open_at(dir);
    struct engine *e = open_plain();
    t = (struct talk){0};
    ask(&t, 1, 150);
    turn(e, &t, &a);
    keep(e, store, ada, &t);
    ask(&t, 2, 30);
    turn(e, &t, &a);
    keep(e, store, ada, &t); /* only what is new is written: see below */
    int n = t.computed / P;
    struct pages p = take_out(e, &t);
    ask(&t, 3, 21);
    twin = t;
    turn(e, &t, &third);
    ops->close(e);
    store_close(store);

    store = open_at(dir);
    e = open_plain();
    struct snap s = snap_of(e, store);
    struct snap_stat st;
    OK(snap_stat(&s, &st, &err));
    CHECK(st.pages == (uint64_t)n && st.sessions == 1);
    snap_close(&s);
    CHECK_EQ(bring_back(e, store, &twin, &rc), n);
    CHECK_EQ(rc, STORE_NOT_FOUND);
    t = twin;
    turn(e, &twin, &alike);
    CHECK_EQ(alike.shared, n * P);
    same_words(&alike, &third);
    ops->close(e);

    /* Another engine has other names for the same text. */
    e = open_with((struct engine_config){.kv_type = KT_Q8_0});
    CHECK_EQ(bring_back(e, store, &t, &rc), 0);
    CHECK_EQ(rc, STORE_NOT_FOUND);
    ops->close(e);
    store_close(store);

    /* A disk that forgot a bit of the fourth page: three are used, the rest is computed. */
    flip_in_file(dir, p.mem + 3 * p.bytes + p.bytes / 2, 32);
    store = open_at(dir);
    e = open_plain();
    CHECK_EQ(bring_back(e, store, &t, &rc), 3);
    CHECK_EQ(rc, STORE_DAMAGED);
    turn(e, &t, &alike);
    CHECK_EQ(alike.shared, 3 * P);
    same_words(&alike, &third);
    keep(e, store, ada, &t); /* and what was refused is written anew */
    ops->close(e);
    e = open_plain();
    CHECK_EQ(bring_back(e, store, &t, &rc), t.computed / P);
    ops->close(e);
    store_close(store);
    free(p.mem);
}

CHECK_MAIN
