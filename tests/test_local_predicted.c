/* What a turn will hold is known before it is asked for: its tokens and pages, what of them is known already, and so
 * what the figures say while it runs and after; and what the ledger says of an engine is what opening it takes. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/kern_shim.h"
#include "tests/tiny_model.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { AGENTS = 4, CTX = 400, PAST = 64, TURNS = 12, TEXT = 1 << 16, LONGEST = 40, ROUNDS = CHECK_TSAN ? 1 : 6 };

static const struct engine_ops *const ops = &engine_local;
static const char *const CHATML =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";

/* ------------------------------------------------------------------ conversations */

struct talk {
    struct msg msgs[2 * TURNS + 3];
    int n;
};

static struct {
    struct engine *e;
    uint32_t seed;
    char text[TEXT]; /* of all messages */
    size_t used;
    struct talk talk[AGENTS];
    int32_t past[PAST][CTX]; /* sequences that were computed, and how far */
    int n_past[PAST], pasts;
    bool page[CTX];          /* pages of the pool that the rows of a pass read or wrote since it was cleared */
} t;

static int below(int n) { return tiny_below(&t.seed, n); }

static void say(struct talk *k, enum role role, const char *text, size_t n)
{
    CHECK(t.used + n <= TEXT && k->n < (int)COUNT_OF(k->msgs));
    memcpy(t.text + t.used, text, n);
    k->msgs[k->n++] = (struct msg){.role = role, .text = t.text + t.used, .len = n};
    t.used += n;
}

static void begin(struct talk *k)
{
    static const char system[] = "You are one of a crew, all of whom begin with these very words.";
    *k = (struct talk){0};
    say(k, ROLE_SYSTEM, system, sizeof system - 1);
}

static void ask(struct talk *k)
{
    char words[LONGEST];
    int n = 8 + below(LONGEST - 8);
    for (int i = 0; i < n; i++) words[i] = (char)('a' + below(26));
    say(k, ROLE_USER, words, (size_t)n);
}

/* ------------------------------------------------------------------ what will be */

struct turn {
    int tokens, shared, max_tokens, pages, held; /* held: by the end; the last token is not looked at any more */
    int32_t ids[CTX];
};

/* Tokens of the front that somebody computed before, in whole pages; one token at least is computed anew. */
static int known(const int32_t *ids, int n)
{
    int most = 0;
    for (int p = 0; p < t.pasts; p++) {
        int same = 0;
        while (same < MIN(n, t.n_past[p]) && ids[same] == t.past[p][same]) same++;
        most = MAX(most, same);
    }
    return MIN(most, n - 1) / KERN_PAGE * KERN_PAGE;
}

/* false: it never fits. */
static bool predict(struct talk *k, int max_tokens, struct turn *out)
{
    struct engine_count count;
    struct err err = {0};
    struct ids ids = ids_fixed(out->ids, CTX);
    CHECK_EQ(ops->count_tokens(t.e, k->msgs, k->n, &count, &err), 0);
    CHECK(count.exact);
    out->tokens = count.tokens;
    out->max_tokens = max_tokens;
    if (count.tokens + max_tokens > CTX) return false;
    CHECK_EQ(template_render(TEMPLATE_CHATML, ops->vocab(t.e), NULL, k->msgs, k->n, true, &ids, NULL, 0, &err), 0);
    out->shared = known(out->ids, out->tokens);
    out->pages = (count.tokens + max_tokens + KERN_PAGE - 1) / KERN_PAGE;
    out->held = (count.tokens + max_tokens - 1 + KERN_PAGE - 1) / KERN_PAGE;
    return true;
}

/* ------------------------------------------------------------------ what is */

static struct engine_snapshot figures(void)
{
    struct engine_snapshot s;
    ops->snapshot(t.e, &s);
    return s;
}

static int submit(struct talk *k, int max_tokens, int agent)
{
    static uint32_t letters[(TINY_VOCAB + 31) / 32]; /* so that an answer is the same tokens when it is read again */
    struct err err = {0};
    int id = 0;
    for (int c = 'a'; c <= 'z'; c++) letters[(TINY_BYTE0 + c) / 32] |= 1u << (TINY_BYTE0 + c) % 32;
    struct request r = {.msgs = k->msgs, .n_msgs = k->n, .max_tokens = max_tokens, .agent = agent, .allowed = letters,
                        .ignore_end = true,
                        .sampling = {.temp = 1, .top_p = 1, .repeat = 1, .seed = (uint64_t)t.pasts}};
    int rc = ops->submit(t.e, &r, &id, &err);
    CHECK(rc == 0 || rc == ENGINE_NEVER_FITS);
    return id;
}

static void look_at_pass(const struct kern_batch *b)
{
    for (int r = 0; r < b->rows; r++)
        for (int i = 0; i <= b->pos[r] / KERN_PAGE; i++) t.page[b->table[0][b->seq[r] * b->stride + i]] = true;
}

static int pages_seen(void)
{
    int n = 0;
    for (int i = 0; i < CTX; i++) n += t.page[i];
    memset(t.page, 0, sizeof t.page);
    return n;
}

static bool step(void)
{
    struct engine_event ev[64];
    struct err err = {0};
    int n = ops->step(t.e, ev, 64, &err);
    CHECK_STR(err.text, "");
    return n > 0;
}

/* The turn is over: its answer joins the conversation, its tokens the past. */
static void finish(struct talk *k, const struct turn *p, int id)
{
    const struct answer *a = ops->answer(t.e, id);
    CHECK_EQ(atomic_load(&a->end), END_LENGTH);
    CHECK_EQ(a->n_prompt, p->tokens);
    CHECK_MEM(a->prompt, p->ids, (size_t)p->tokens * sizeof(int32_t));
    CHECK_EQ(a->n_shared, p->shared);
    CHECK_EQ(atomic_load(&a->text_len), p->max_tokens);
    int32_t *past = t.past[t.pasts % PAST];
    CHECK(t.pasts < PAST);
    t.n_past[t.pasts++] = p->tokens + p->max_tokens - 1;
    memcpy(past, p->ids, (size_t)p->tokens * sizeof *past);
    for (int i = 0; i + 1 < p->max_tokens; i++) past[p->tokens + i] = a->token[i].id;
    say(k, ROLE_ASSISTANT, a->text, (size_t)p->max_tokens);
    ops->drop(t.e, id);
}

/* Alone: each figure of each moment. */
static void one_turn(int agent)
{
    struct talk *k = &t.talk[agent];
    struct turn p;
    struct engine_snapshot was = figures(), now;
    uint64_t most = 0;
    ask(k);
    int max_tokens = 1 + below(30), id;
    if (!predict(k, max_tokens, &p)) {
        CHECK_EQ(submit(k, max_tokens, agent), 0);
        begin(k);
        return;
    }
    id = submit(k, max_tokens, agent);
    CHECK(id > 0 && was.reserved_tokens == 0);
    while (step()) {
        now = figures();
        bool over = atomic_load(&ops->answer(t.e, id)->end) != END_NONE;
        CHECK_EQ(now.reserved_tokens, over ? 0 : p.pages * KERN_PAGE);
        most = MAX(most, now.filled_tokens);
        if (over) continue;
        CHECK_EQ(now.agent[agent].running, 1);
    }
    CHECK_EQ(pages_seen(), p.held);
    if (max_tokens > 1) CHECK_EQ(most, p.tokens + max_tokens - 2); /* the pass of the last one ends it */
    CHECK_EQ(now.prefilled - was.prefilled, p.tokens - p.shared);
    CHECK_EQ(now.reused - was.reused, p.shared);
    CHECK_EQ(now.generated - was.generated, max_tokens);
    CHECK_EQ(now.cached_tokens - was.cached_tokens,
             (p.tokens + max_tokens - 1) / KERN_PAGE * KERN_PAGE - p.shared);
    CHECK_EQ(now.evicted_pages, 0);
    finish(k, &p, id);
}

/* All at once: what they begin with is held once. */
static void turns_together(void)
{
    struct turn p[AGENTS];
    int id[AGENTS], pages = 0, common = CTX, live = 0;
    for (int i = 0; i < AGENTS; i++) {
        ask(&t.talk[i]);
        id[i] = 0;
        if (!predict(&t.talk[i], 2 + below(20), &p[i])) {
            begin(&t.talk[i]);
            continue;
        }
        id[i] = submit(&t.talk[i], p[i].max_tokens, i);
        CHECK(id[i] > 0);
        pages += p[i].pages;
        live++;
        for (int k = 0; k < i; k++) {
            int same = 0;
            if (!id[k]) continue;
            while (same < MIN(p[i].shared, p[k].shared) && p[i].ids[same] == p[k].ids[same]) same++;
            common = MIN(common, same / KERN_PAGE);
        }
    }
    if (live > 1) pages -= (live - 1) * common;
    if (live > 0) step();
    struct engine_snapshot now = figures();
    CHECK_EQ(now.running, live);
    CHECK_EQ(now.reserved_tokens, pages * KERN_PAGE);
    if (live > 1) CHECK_EQ(now.shared_tokens, common * KERN_PAGE);
    CHECK(live < 2 || common > 0);
    while (step()) continue;
    pages_seen(); /* one that ended leaves pages to those who go on: no number of them is known before */
    CHECK_EQ(figures().reserved_tokens, 0);
    for (int i = 0; i < AGENTS; i++)
        if (id[i]) finish(&t.talk[i], &p[i], id[i]);
}

TEST(predicted_tokens_and_pages_of_a_turn_are_those_that_it_holds)
{
    for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
        struct tiny model = TINY_LLAMA;
        struct err err = {0};
        memset(&t, 0, sizeof t);
        t.seed = seed;
        shim = (struct shim){0};
        t.e = ops->open(&(struct engine_config){.model = tiny_file(&model, CHATML, "predicted.gguf"), .ctx = CTX,
                                                .template = -1, .kernels = shim_kern(kern_cpu()), .max_seqs = AGENTS,
                                                .kern = {.threads = 1}, .max_rows = 64, .kv_type = KT_F16,
                                                .pool_tokens = CTX * KERN_PAGE, .drafts = DRAFTS_NONE}, &err);
        CHECK_STR(err.text, "");
        shim.pass = look_at_pass;
        const struct engine_info *info = ops->info(t.e); /* a page of the figures is a page of the device */
        CHECK_EQ(kern_cpu()->slab_bytes(info->kv_bytes_per_token * CTX * KERN_PAGE), info->kv_bytes);
        for (int i = 0; i < AGENTS; i++) begin(&t.talk[i]);
        for (int i = 0; i < AGENTS; i++) one_turn(i);
        for (int i = 0; i < 24; i++) one_turn(below(AGENTS));
        for (int i = 0; i < 6; i++) turns_together();
        shim.pass = NULL;
        ops->close(t.e);
    }
}

/* ------------------------------------------------------------------ the ledger */

static uint64_t heap_now(void)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

struct taken { uint64_t device, host, ledger_device, ledger_host; };

static struct taken open_and_see(struct engine_config cfg)
{
    struct err err = {0};
    struct taken out;
    shim = (struct shim){0};
    cfg.kernels = shim_kern(kern_cpu());
    uint64_t before = heap_now();
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    const struct ledger *l = &ops->info(e)->ledger;
    out = (struct taken){.device = shim.taken, .host = heap_now() - before};
    for (int c = LEDGER_WEIGHTS; c <= LEDGER_LOGITS; c++) out.ledger_device += l->bytes[c];
    out.ledger_host = ledger_total(l) - out.ledger_device;
    ops->close(e);
    CHECK_EQ(shim.taken, 0);
    return out;
}

/* Device classes byte for byte; of the host's, what more an engine takes than another one, to a page: malloc rounds
 * each block, a part of a page cannot be parked, and the list of places to park is in no class. */
TEST(predicted_ledger_is_what_open_takes)
{
    enum { SLACK = 4096 };
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* else large blocks would be rounded to pages */
#endif
    struct tiny model = TINY_LLAMA;
    struct engine_config cfg = {.model = tiny_file(&model, NULL, "ledger.gguf"), .ctx = 64, .max_seqs = 2,
                                .max_rows = 16, .template = -1, .kern = {.threads = 1}, .kv_type = KT_F16,
                                .text_bytes = 64 << 10};
    open_and_see(cfg); /* what a library takes once */
    struct taken first = open_and_see(cfg);
    for (uint32_t i = 0, seed = 9; i < 30; i++) {
        struct engine_config other = cfg;
        other.ctx = 64 + tiny_below(&seed, 3000);
        other.max_seqs = 1 + tiny_below(&seed, 12);
        other.max_rows = 16 + tiny_below(&seed, 3000);
        other.text_bytes = (uint64_t)(64 + tiny_below(&seed, 8000)) << 10;
        other.overcommit = i % 2;
        other.park_bytes = i % 2 ? (uint64_t)tiny_below(&seed, 2000) << 10 : 0;
        if (i % 3 == 2 && !other.overcommit) other.naive = NAIVE_FIRST_FIT;
        struct taken now = open_and_see(other);
        CHECK_EQ(now.device, now.ledger_device);
        if (!now.host) continue; /* this allocator does not say */
        int64_t off = (int64_t)(now.host - first.host) - (int64_t)(now.ledger_host - first.ledger_host);
        if (off < -SLACK || off > SLACK)
            check_fail(__FILE__, __LINE__, "%u: the heap grew by %lld bytes more than the ledger", i, (long long)off);
    }
}

CHECK_MAIN
