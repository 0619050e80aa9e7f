/* Every model call was reserved for: random operations on the whole engine, and a backend that looks at each row of
 * each forward pass.  The row's request was admitted, as the event log has it by then, and has not ended since; the row
 * lies in what was promised to it, in a page that nobody else holds. */
#include "engine/sched_impl.h"
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/kern_shim.h"
#include "tests/tiny_model.h"

enum { LIVE = 16, IDS = 8192, CAP = 256, CTX = 96, PAGES = 10, SEQS = 4, MOST = 80, FRONTS = 3, OPS = 8000 };

static const struct engine_ops *const ops = &engine_local;

enum state { UNKNOWN, ADMITTED, PARKED, OVER };

static struct {
    struct engine *e;
    bool overcommit;
    uint32_t seed;
    struct engine_event ev[CAP]; /* of the step that runs; an id of 0: no event yet */
    int taken;                   /* of ev, into state[] */
    enum state state[IDS];       /* by id */
    int need[IDS];               /* prompt + max_tokens */
    int rows[IDS];               /* that were computed, drafts which were not chosen once */
    int sure[IDS];               /* up to where it was computed with tokens that were known */
    int live[LIVE];              /* ids; 0: free */
    long passes, seen, ends[END_OOM + 1], parkings, cancels;
} t;

static int below(int n) { return tiny_below(&t.seed, n); }

/* What the log says by now. */
static void read_log(void)
{
    for (; t.taken < CAP && t.ev[t.taken].id; t.taken++) {
        const struct engine_event *ev = &t.ev[t.taken];
        enum state *now = &t.state[ev->id];
        switch (ev->kind) {
        case ENGINE_ADMITTED:
            CHECK(*now == UNKNOWN || *now == OVER); /* over: cancelled before it could be told */
            if (*now == UNKNOWN) *now = ADMITTED;
            break;
        case ENGINE_PARKED: CHECK_EQ(*now, ADMITTED); *now = PARKED; t.parkings++; break;
        case ENGINE_RESUMED: CHECK_EQ(*now, PARKED); *now = ADMITTED; break;
        case ENGINE_END: *now = OVER; t.ends[ev->end]++; break;
        default: CHECK(*now == ADMITTED || *now == OVER); break;
        }
    }
}

/* Nobody else may see what is written there. */
static void check_page(const struct kern_batch *b, int slot, int pos)
{
    const struct sched *s = t.e->sched;
    int32_t page = b->table[0][slot * b->stride + pos / KERN_PAGE];
    CHECK(page >= 0 && page < PAGES);
    for (int other = 0; other < SEQS; other++)
        for (int i = 0; other != slot && s->slot[other] && i < kv_slot_count(s->kv, other).held; i++)
            CHECK(b->table[0][other * b->stride + i] != page);
}

static void look_at_pass(const struct kern_batch *b)
{
    const struct sched *s = t.e->sched;
    read_log();
    t.passes++;
    for (int r = 0; r < b->rows; r++) {
        int slot = b->seq[r], pos = b->pos[r];
        const struct request_live *q = slot >= 0 && slot < SEQS ? s->slot[slot] : NULL;
        CHECK(q && q->a.id > 0 && q->a.id < IDS);
        int id = q->a.id;
        if (t.state[id] != ADMITTED) check_fail(__FILE__, __LINE__, "request %d computes in state %d", id, t.state[id]);
        CHECK(pos >= 0 && pos < t.need[id] && pos < kv_slot_count(s->kv, slot).promised * KERN_PAGE);
        if (!t.overcommit) CHECK(kv_slot_count(s->kv, slot).promised >= kv_pages_for(t.need[id]));
        const int known = q->a.n_prompt + atomic_load(&q->a.n_tokens);
        if (pos < q->a.n_prompt) CHECK_EQ(b->token[r], q->a.prompt[pos]);
        else if (pos < known) CHECK_EQ(b->token[r], q->a.token[pos - q->a.n_prompt].id);
        else CHECK(pos < known + q->drafts);
        check_page(b, slot, pos);
        CHECK(t.overcommit || pos >= t.sure[id]);
        if (pos < known) t.sure[id] = pos + 1;
        t.rows[id] = MAX(t.rows[id], pos + 1 - q->a.n_shared);
        t.seen++;
    }
}

/* ------------------------------------------------------------------ operations */

static void submit(int at)
{
    static int32_t ids[MOST];
    struct err err;
    int n = 1 + below(MOST), id = 0;
    uint32_t front = (uint32_t)below(FRONTS) + 1;
    for (int i = 0; i < n; i++) ids[i] = TINY_BYTE0 + (i < 40 ? tiny_below(&front, 256) : below(256));
    struct request r = {.ids = ids, .n_ids = n, .max_tokens = 1 + below(below(2) ? 6 : CTX - 20), .agent = below(5),
                        .priority = below(3), .no_wait = below(5) == 0, .fresh = below(6) == 0, .score = below(6) == 0,
                        .ignore_end = below(4) > 0, .sampling = SAMPLING_GREEDY};
    if (ops->submit(t.e, &r, &id, &err)) return;
    CHECK(id > 0 && id < IDS);
    t.live[at] = id;
    t.need[id] = n + r.max_tokens;
}

static void step(void)
{
    struct err err = {0};
    memset(t.ev, 0, sizeof t.ev);
    t.taken = 0;
    int n = ops->step(t.e, t.ev, CAP, &err);
    read_log();
    CHECK_EQ(t.taken, n);
}

static void one_operation(void)
{
    int at = below(LIVE), what = below(16);
    if (what < 6 && t.live[at] && t.state[t.live[at]] >= (below(20) ? OVER : ADMITTED)) {
        t.state[t.live[at]] = OVER;
        ops->drop(t.e, t.live[at]);
        t.live[at] = 0;
    }
    if (what < 4 && !t.live[at]) submit(at);
    if (what == 4 && t.live[at] && below(3) == 0 && ops->cancel(t.e, t.live[at]) == 0) {
        t.state[t.live[at]] = OVER;
        t.cancels++;
    }
    if (what == 6 && below(50) == 0) shim.fail_at = shim.calls + 1 + below(40); /* a pass breaks off in its middle */
    if (what > 6) step();
}

/* Where nothing is parked each row is computed once: all of the prompt that was not known, all of the answer but its
 * last token. */
static void check_rows(void)
{
    for (int i = 0; i < LIVE; i++) {
        const struct answer *a = t.live[i] ? ops->answer(t.e, t.live[i]) : NULL;
        if (!a || atomic_load(&a->end) != END_LENGTH) continue;
        CHECK_EQ(t.rows[a->id], a->n_prompt - a->n_shared + atomic_load(&a->n_tokens) - 1);
    }
}

static void check_history(bool overcommit, uint32_t seed)
{
    struct tiny model = TINY_LLAMA;
    struct err err = {0};
    memset(&t, 0, sizeof t);
    t.overcommit = overcommit;
    t.seed = seed;
    shim = (struct shim){0};
    t.e = ops->open(&(struct engine_config){.model = tiny_file(&model, NULL, "admitted.gguf"), .ctx = CTX,
                                            .template = -1, .kernels = shim_kern(kern_cpu()),
                                            .kern = {.threads = 1}, .max_seqs = SEQS, .max_rows = 20,
                                            .pool_tokens = PAGES * KERN_PAGE, .kv_type = KT_F16,
                                            .overcommit = overcommit, .park_bytes = overcommit ? 16 << 10 : 0}, &err);
    CHECK_STR(err.text, "");
    shim.pass = look_at_pass;
    for (int i = 0; i < OPS; i++) {
        one_operation();
        if (!overcommit) check_rows();
    }
    CHECK(t.passes > OPS / 3 && t.seen > 2 * t.passes);
    CHECK(t.ends[END_LENGTH] > 200 && t.cancels > 20 && t.ends[END_FAULT] > 2);
    CHECK_EQ(t.parkings > 0, overcommit);
    shim.pass = NULL;
    ops->close(t.e);
}

TEST(admitted_before_it_computes_and_only_in_what_was_promised) { check_history(false, 4); }
TEST(admitted_and_not_parked_before_it_computes_with_overcommit) { check_history(true, 5); }

CHECK_MAIN
