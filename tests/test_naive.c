/* The page policies that fail, on the scheduler without a model: who dies, of what, with which figures, and what the
 * trace says of it. */
#include "engine/engine.h"
#include "engine/maker.h"
#include "engine/naive_runs.h"
#include "engine/sched_impl.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

static const struct engine_ops *const ops = &engine_scripted;
enum { P = KERN_PAGE, OPS = NAIVE_TRACE };

static const char *const forever = "{\"answer\": \"again and again \", \"end\": false}\n";
static const char *const faulty = "{\"fault\": {\"pass\": 9, \"text\": \"lost\"}}\n"
                                  "{\"answer\": \"again and again \", \"end\": false}\n";

static struct engine *open_with(const char *answers, struct engine_config cfg)
{
    struct gguf_make m;
    struct err err = {0};
    gguf_make_begin(&m);
    gguf_make_str(&m, "general.architecture", "llama");
    tiny_vocab(&m, NULL);
    cfg.model = gguf_make_file(&m, "vocab.gguf");
    cfg.script = tiny_text_file("answers.jsonl", answers);
    cfg.template = TEMPLATE_CHATML;
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

static void sound(struct engine *e)
{
    struct err err = {0};
    if (sched_check(e->sched, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
}

/* A request of n prompt tokens, `first` the first of them. */
static int submit(struct engine *e, int first, int n, int max_tokens)
{
    static int32_t ids[4096];
    struct err err = {0};
    int id;
    for (int i = 0; i < n; i++) ids[i] = TINY_BYTE0 + (i ? 7 : first % 256);
    struct request r = {.ids = ids, .n_ids = n, .max_tokens = max_tokens, .sampling = SAMPLING_GREEDY};
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    return id;
}

static int step(struct engine *e)
{
    struct engine_event ev[64];
    int n = ops->step(e, ev, 64, NULL);
    sound(e);
    return n;
}

static void run(struct engine *e)
{
    while (step(e) > 0) continue;
}

static enum engine_end end_of(struct engine *e, int id)
{
    return (enum engine_end)atomic_load(&ops->answer(e, id)->end);
}

static struct engine_snapshot figures(struct engine *e)
{
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    return s;
}

static bool runs(struct engine *e, int id)
{
    return end_of(e, id) == END_NONE && atomic_load(&ops->answer(e, id)->n_prefilled) > 0;
}

/* ------------------------------------------------------------------ the allocator alone */

/* First fit as a picture of the pool: whose each page is. */
struct picture {
    int pages, id[512];
};

static int picture_find(const struct picture *p, int n)
{
    for (int at = 0, free = 0; at < p->pages; at++) {
        free = p->id[at] ? 0 : free + 1;
        if (free == n) return at + 1 - n;
    }
    return -1;
}

static int picture_hole(const struct picture *p, int *at)
{
    int most = 0;
    *at = p->pages;
    for (int i = 0, free = 0; i < p->pages; i++) {
        free = p->id[i] ? 0 : free + 1;
        if (free > most) {
            most = free;
            *at = i + 1 - free;
        }
    }
    return most;
}

static int picture_free(const struct picture *p)
{
    int n = 0;
    for (int i = 0; i < p->pages; i++) n += p->id[i] == 0;
    return n;
}

static void paint(struct picture *p, int at, int n, int from, int to)
{
    for (int i = at; i < at + n; i++) {
        CHECK_EQ(p->id[i], from);
        p->id[i] = to;
    }
}

TEST(naive_runs_are_where_a_picture_of_the_pool_has_them)
{
    enum { CAP = 12 };
    struct picture p = {.pages = 97};
    struct naive_runs r;
    uint32_t seed = 3;
    int alive[CAP] = {0}, next = 1, refused = 0, torn = 0;
    CHECK(naive_runs_open(&r, p.pages, CAP));
    for (int round = 0; round < 60000; round++) {
        int k = tiny_below(&seed, CAP), at;
        if (alive[k]) {
            struct naive_run was = naive_runs_give(&r, alive[k]);
            CHECK(was.id == alive[k] && was.n > 0);
            paint(&p, was.first, was.n, alive[k], 0);
            alive[k] = 0;
        } else {
            int n = 1 + tiny_below(&seed, 30), first = naive_runs_find(&r, n);
            CHECK_EQ(first, picture_find(&p, n));
            refused += first < 0;
            torn += first < 0 && picture_free(&p) >= n; /* room enough, and none in one piece */
            if (first < 0) continue;
            alive[k] = next++;
            naive_runs_take(&r, first, n, alive[k]);
            paint(&p, first, n, 0, alive[k]);
        }
        int hole_at, hole = picture_hole(&p, &hole_at), end = p.pages;
        while (end > 0 && !p.id[end - 1]) end--;
        CHECK_EQ(naive_runs_hole(&r, &at), hole);
        CHECK_EQ(at, hole_at);
        CHECK_EQ(naive_runs_free(&r), picture_free(&p));
        CHECK_EQ(naive_runs_end(&r), end);
    }
    CHECK(refused > 1000 && torn > 500);
    naive_runs_close(&r);
}

TEST(naive_trace_keeps_the_last_operations_in_their_order)
{
    struct naive_trace t;
    static struct naive_op op[OPS];
    CHECK(naive_trace_open(&t));
    CHECK_EQ(naive_trace_read(&t, 0, op, OPS), 0);
    for (int i = 0; i < OPS + 10; i++) naive_trace_put(&t, (struct naive_op){.number = 99, .id = i});
    CHECK_EQ(naive_trace_read(&t, 0, op, OPS), OPS);
    for (int i = 0; i < OPS; i++) CHECK(op[i].number == (uint64_t)i + 10 && op[i].id == i + 10);
    CHECK_EQ(naive_trace_read(&t, OPS + 7, op, OPS), 3);
    CHECK_EQ(op[0].id, OPS + 7);
    CHECK_EQ(naive_trace_read(&t, 20, op, 2), 2);
    CHECK_EQ(op[1].id, 21);
    CHECK_EQ(naive_trace_read(&t, OPS + 10, op, OPS), 0);
    naive_trace_close(&t);
}

/* ------------------------------------------------------------------ a reader of the trace */

/* All that the trace says happened to the pool, in pages. */
struct reader {
    struct picture p;
    uint64_t seen;
    int fails;
    struct naive_op fail; /* the last one ... */
    struct picture then;  /* ... and the pool at that moment */
};

/* An end gives what one has, page by page or as a run; so does it who died, after the FAIL. */
static void read_trace(struct engine *e, struct reader *r)
{
    static struct naive_op op[OPS];
    int n = ops->naive_ops(e, r->seen, op, OPS);
    for (int i = 0; i < n; i++) {
        int at = (int)(op[i].at / P), pages = (int)(op[i].bytes / P); /* a scripted engine's bytes are tokens */
        CHECK_EQ(op[i].number, r->seen + (uint64_t)i);
        CHECK(op[i].what == LEDGER_KV && op[i].at % P == 0 && op[i].bytes % P == 0);
        if (op[i].kind == NAIVE_TAKE) paint(&r->p, at, pages, 0, op[i].id);
        if (op[i].kind == NAIVE_GIVE) paint(&r->p, at, pages, op[i].id, 0);
        if (op[i].kind != NAIVE_FAIL) continue;
        r->fails++;
        r->fail = op[i];
        r->then = r->p;
    }
    r->seen += (uint64_t)n;
}

/* The failure of a request, made anew from the trace. */
static void check_oom(const struct engine_oom *o, const struct reader *r, enum naive_policy policy)
{
    int at, hole = picture_hole(&r->then, &at), owners = 0, end = r->then.pages, last = INT32_MAX;
    CHECK(o->policy == policy && o->what == LEDGER_KV && o->id == r->fail.id);
    CHECK_EQ(o->wanted, r->fail.bytes);
    CHECK_EQ(o->size, r->then.pages * P);
    CHECK_EQ(o->free, picture_free(&r->then) * P);
    CHECK_EQ(o->hole, hole * P);
    CHECK_EQ(o->hole_at, at * P);
    while (end > 0 && !r->then.id[end - 1]) end--;
    CHECK_EQ(o->at, policy == NAIVE_NO_LIMIT ? o->size - o->free : (uint64_t)end * P);
    CHECK(o->at == r->fail.at && o->at + o->wanted > o->size);
    if (policy == NAIVE_NO_LIMIT) CHECK(o->wanted > o->free);
    else CHECK(o->wanted > o->hole);
    for (int i = 0; i < r->then.pages; i++) { /* each is counted at its first page */
        int id = r->then.id[i], pages = 0, before = 0;
        for (int k = 0; k < i; k++) before += r->then.id[k] == id;
        if (!id || before) continue;
        for (int k = i; k < r->then.pages; k++) pages += r->then.id[k] == id;
        owners++;
        bool named = false;
        for (int k = 0; k < MIN(o->owners, OOM_OWNERS); k++)
            named = named || (o->owner[k].id == id && o->owner[k].bytes == (uint64_t)pages * P);
        if (!named) CHECK(o->owners > OOM_OWNERS && o->owner[OOM_OWNERS - 1].bytes >= (uint64_t)pages * P);
    }
    CHECK_EQ(o->owners, owners);
    for (int k = 0; k < MIN(owners, OOM_OWNERS); k++) {
        CHECK(o->owner[k].bytes <= (uint64_t)last && o->owner[k].what == LEDGER_KV);
        CHECK(k == 0 || o->owner[k].bytes < (uint64_t)last || o->owner[k].id > o->owner[k - 1].id);
        last = (int)o->owner[k].bytes;
    }
}

/* The pool is empty again, and the sound policy serves what the naive one would not. */
static void check_sound_again(struct engine *e, struct reader *r, int pages)
{
    read_trace(e, r);
    CHECK_EQ(picture_free(&r->p), r->p.pages);
    struct engine_snapshot s = figures(e);
    CHECK(s.naive_policy == NAIVE_NONE && s.naive_reserved == 0 && s.reserved_tokens == 0 && s.filled_tokens == 0);
    int one = submit(e, 200, (pages - 1) * P, P), two = submit(e, 200, (pages - 1) * P, P);
    run(e);
    CHECK(end_of(e, one) == END_LENGTH && end_of(e, two) == END_LENGTH);
    CHECK_EQ(ops->answer(e, two)->n_shared, (pages - 2) * P); /* all but the page of its last token */
    CHECK_EQ(figures(e).naive_failures, s.naive_failures);
}

/* ------------------------------------------------------------------ one by one */

TEST(naive_reserve_admits_a_batch_and_nobody_until_all_of_it_have_ended)
{
    struct engine_wait w;
    struct engine *e = open_with(forever, (struct engine_config){.ctx = 6 * P, .max_seqs = 3, .pool_tokens = 12 * P,
                                                                 .naive = NAIVE_RESERVE});
    int one = submit(e, 1, 5, 30), two = submit(e, 2, 5, 3);
    step(e);
    struct engine_snapshot s = figures(e);
    CHECK(s.naive_policy == NAIVE_RESERVE && s.naive_size == 12 * P && s.naive_reserved == 12 * P && s.naive_hole == 0);
    CHECK_EQ(s.naive_allocated, 10); /* two prompts of five tokens in two whole contexts */
    int late = submit(e, 3, 5, 3);
    while (end_of(e, two) == END_NONE) step(e);
    step(e);
    CHECK(end_of(e, one) == END_NONE && !runs(e, late)); /* a slot and half of the pool are free, and it waits */
    CHECK_EQ(figures(e).naive_hole, 6 * P);
    ops->waits(e, late, &w);
    CHECK(w.what == WAIT_TURN && w.after == one && w.others == 0);
    run(e);
    CHECK(end_of(e, one) == END_LENGTH && end_of(e, late) == END_LENGTH);
    CHECK(figures(e).naive_policy == NAIVE_RESERVE && figures(e).naive_failures == 0);
    ops->close(e);
}

TEST(naive_reserve_fails_on_a_pool_that_the_sound_policy_would_share)
{
    struct engine_wait w;
    static struct reader r;
    r = (struct reader){.p.pages = 15};
    struct engine *e = open_with(forever, (struct engine_config){.ctx = 6 * P, .max_seqs = 4, .pool_tokens = 15 * P,
                                                                 .naive = NAIVE_RESERVE});
    int id[4];
    for (int i = 0; i < 4; i++) id[i] = submit(e, i, 5, 9);
    step(e);
    read_trace(e, &r);
    CHECK(runs(e, id[0]) && runs(e, id[1]) && end_of(e, id[2]) == END_OOM && end_of(e, id[3]) == END_NONE);
    const struct engine_oom *o = &ops->answer(e, id[2])->oom;
    CHECK(o->wanted == 6 * P && o->free == 3 * P && o->hole == 3 * P && o->hole_at == 12 * P && o->at == 12 * P);
    CHECK(o->owners == 2 && o->owner[0].id == id[0] && o->owner[1].id == id[1] && o->owner[1].bytes == 6 * P);
    check_oom(o, &r, NAIVE_RESERVE);
    CHECK_STR(ops->answer(e, id[2])->fault, "out of memory (reserve): request 3 wanted 96 bytes of KV pool; of 240 "
                                            "bytes in the pool 48 are free, 48 in one piece");
    CHECK_STR(engine_end_name(END_OOM), "out_of_memory");
    ops->waits(e, id[3], &w); /* for the sound policy, which comes when the naive ones have ended */
    CHECK(w.what == WAIT_TURN && w.after == id[0] && w.others == 1);
    CHECK_EQ(figures(e).naive_policy, NAIVE_RESERVE);
    run(e);
    CHECK(end_of(e, id[0]) == END_LENGTH && end_of(e, id[1]) == END_LENGTH && end_of(e, id[3]) == END_LENGTH);
    check_sound_again(e, &r, 6);
    ops->close(e);
}

TEST(naive_no_limit_lets_everyone_in_and_kills_who_asks_when_there_is_none)
{
    static struct reader r;
    r = (struct reader){.p.pages = 7};
    struct engine *e = open_with(forever, (struct engine_config){.ctx = 6 * P, .max_seqs = 3, .pool_tokens = 7 * P,
                                                                 .naive = NAIVE_NO_LIMIT});
    int one = submit(e, 1, 2 * P, 3 * P), two = submit(e, 2, 2 * P, 3 * P), three = submit(e, 3, 2 * P - 8, 3 * P);
    step(e);
    struct engine_snapshot s = figures(e);
    CHECK(s.running == 3 && s.naive_reserved == 6 * P && s.naive_allocated == 6 * P - 8 && s.naive_hole == P);
    step(e); /* the first takes the seventh page, the second finds none */
    read_trace(e, &r);
    CHECK(end_of(e, one) == END_NONE && end_of(e, two) == END_OOM && end_of(e, three) == END_NONE);
    const struct engine_oom *o = &ops->answer(e, two)->oom;
    CHECK(o->wanted == P && o->free == 0 && o->hole == 0 && o->page == 2 && o->at == 7 * P && o->size == 7 * P);
    CHECK(o->owners == 3 && o->owner[0].id == one && o->owner[0].bytes == 3 * P && o->owner[1].id == two &&
          o->owner[2].id == three && o->owner[2].bytes == 2 * P);
    check_oom(o, &r, NAIVE_NO_LIMIT);
    int late = submit(e, 4, P, P);
    step(e);
    CHECK(!runs(e, late) && figures(e).naive_policy == NAIVE_NO_LIMIT); /* the policy lets nobody in any more */
    /* Five pages for the first and five for the third are more than seven: one of them dies too, by the same rule. */
    run(e);
    read_trace(e, &r);
    CHECK(end_of(e, one) == END_LENGTH && end_of(e, three) == END_OOM && end_of(e, late) == END_LENGTH);
    check_oom(&ops->answer(e, three)->oom, &r, NAIVE_NO_LIMIT);
    CHECK_EQ(ops->answer(e, three)->oom.page, 3);
    CHECK_EQ(figures(e).naive_failures, 2);
    check_sound_again(e, &r, 6);
    ops->close(e);
}

TEST(naive_no_limit_asks_for_all_the_pages_of_a_piece_of_the_prompt)
{
    struct engine *e = open_with(forever, (struct engine_config){.ctx = 6 * P, .max_seqs = 2, .pool_tokens = 6 * P,
                                                                 .naive = NAIVE_NO_LIMIT});
    int one = submit(e, 1, 4 * P, P), two = submit(e, 2, 3 * P - 2, P);
    CHECK(step(e) > 0);
    const struct engine_oom *o = &ops->answer(e, two)->oom;
    CHECK(end_of(e, two) == END_OOM && o->wanted == 3 * P && o->free == 2 * P && o->hole == 2 * P && o->page == 0);
    CHECK(o->at == 4 * P && o->hole_at == 4 * P && o->owners == 1 && o->owner[0].id == one);
    run(e);
    CHECK_EQ(end_of(e, one), END_LENGTH);
    ops->close(e);
}

TEST(naive_no_limit_lets_in_what_the_whole_pool_cannot_hold)
{
    struct engine *e = open_with(forever, (struct engine_config){.ctx = 8 * P, .max_seqs = 1, .pool_tokens = 3 * P,
                                                                 .naive = NAIVE_NO_LIMIT});
    struct request large = {.ids = (int32_t[]){TINY_BYTE0}, .n_ids = 1, .max_tokens = 4 * P,
                            .sampling = SAMPLING_GREEDY};
    struct err err = {0};
    int one = submit(e, 1, P, 4 * P), two = submit(e, 2, P, 4 * P), three = submit(e, 3, P, P), id;
    run(e);
    CHECK_EQ(end_of(e, one), END_OOM);
    CHECK(ops->answer(e, one)->oom.size == 3 * P && ops->answer(e, one)->oom.page == 3);
    /* By the sound policy the second could never be let in; the third can. */
    CHECK_EQ(end_of(e, two), END_FAULT);
    CHECK_STR(ops->answer(e, two)->fault, "the policy that promised nothing is over: this request needs 5 KV pages, "
                                          "and the whole pool has 3");
    CHECK_EQ(end_of(e, three), END_LENGTH);
    CHECK_EQ(ops->submit(e, &large, &id, &err), ENGINE_NEVER_FITS);
    ops->close(e);
}

TEST(naive_first_fit_fails_with_room_enough_and_no_hole_large_enough)
{
    static struct reader r;
    r = (struct reader){.p.pages = 16};
    struct engine *e = open_with(forever, (struct engine_config){.ctx = 8 * P, .max_seqs = 8, .pool_tokens = 16 * P,
                                                                 .naive = NAIVE_FIRST_FIT});
    int id[5];
    for (int i = 0; i < 5; i++) id[i] = submit(e, i, P, 2 * P); /* 15 of 16 pages */
    step(e);
    CHECK_EQ(figures(e).naive_hole, P);
    ops->cancel(e, id[1]);
    ops->cancel(e, id[3]); /* holes of 3, 3 and 1: seven pages, and no five of them together */
    CHECK_EQ(figures(e).naive_hole, 3 * P);
    int big = submit(e, 9, 4 * P, P);
    step(e);
    read_trace(e, &r);
    CHECK_EQ(end_of(e, big), END_OOM);
    const struct engine_oom *o = &ops->answer(e, big)->oom;
    CHECK(o->wanted == 5 * P && o->free == 7 * P && o->hole == 3 * P && o->hole_at == 3 * P && o->at == 15 * P);
    CHECK(o->owners == 3 && o->owner[0].id == id[0] && o->owner[1].id == id[2] && o->owner[2].id == id[4]);
    check_oom(o, &r, NAIVE_FIRST_FIT);
    run(e);
    CHECK(end_of(e, id[0]) == END_LENGTH && end_of(e, id[4]) == END_LENGTH);
    check_sound_again(e, &r, 8);
    ops->close(e);
}

TEST(naive_a_failure_with_nobody_running_is_followed_by_the_sound_policy_at_once)
{
    static struct reader r;
    r = (struct reader){.p.pages = 4};
    struct engine *e = open_with(forever, (struct engine_config){.ctx = 6 * P, .max_seqs = 2, .pool_tokens = 4 * P,
                                                                 .naive = NAIVE_RESERVE});
    int one = submit(e, 1, 5, 9), two = submit(e, 2, 5, 9);
    CHECK(step(e) > 0);
    CHECK(end_of(e, one) == END_OOM && runs(e, two) && figures(e).naive_policy == NAIVE_NONE);
    CHECK_EQ(ops->answer(e, one)->oom.owners, 0);
    run(e);
    check_sound_again(e, &r, 4);
    ops->close(e);
}

TEST(naive_a_request_that_would_not_wait_dies_where_a_queued_one_does)
{
    struct engine *e = open_with(forever, (struct engine_config){.ctx = 8 * P, .max_seqs = 4, .pool_tokens = 8 * P,
                                                                 .naive = NAIVE_FIRST_FIT});
    int32_t ids[8] = {TINY_BYTE0};
    struct err err = {0};
    struct request r = {.ids = ids, .n_ids = 8, .max_tokens = 5 * P, .sampling = SAMPLING_GREEDY, .no_wait = true};
    int one, two, three;
    for (int i = 0; i < 8; i++) ids[i] = TINY_BYTE0;
    CHECK_EQ(ops->submit(e, &r, &one, &err), 0);
    CHECK_EQ(ops->submit(e, &r, &two, &err), 0);
    sound(e);
    CHECK_EQ(end_of(e, two), END_OOM);
    CHECK_EQ(ops->submit(e, &r, &three, &err), ENGINE_NOT_NOW);
    CHECK(strstr(err.text, "request 1 goes first"));
    run(e);
    CHECK_EQ(end_of(e, one), END_LENGTH);
    CHECK_EQ(ops->submit(e, &r, &three, &err), 0);
    run(e);
    CHECK_EQ(end_of(e, three), END_LENGTH);
    ops->close(e);
}

TEST(naive_policies_are_chosen_with_care)
{
    struct engine_config cfg = {.ctx = 64, .template = TEMPLATE_CHATML};
    struct gguf_make m;
    struct err err = {0};
    gguf_make_begin(&m);
    gguf_make_str(&m, "general.architecture", "llama");
    tiny_vocab(&m, NULL);
    cfg.model = gguf_make_file(&m, "vocab.gguf");
    cfg.script = tiny_text_file("answers.jsonl", forever);
    cfg.naive = NAIVE_F32;
    CHECK(!ops->open(&cfg, &err) && strstr(err.text, "f32") && strstr(err.text, "needs a model"));
    cfg.naive = NAIVE_RESERVE;
    cfg.overcommit = true;
    CHECK(!ops->open(&cfg, &err) && strstr(err.text, "not with overcommit"));
    cfg.overcommit = false;
    cfg.naive = NAIVE_POLICIES;
    CHECK(!ops->open(&cfg, &err) && strstr(err.text, "not known"));
    cfg.naive = NAIVE_FIRST_FIT;
    struct engine *e = ops->open(&cfg, &err), *plain;
    cfg.naive = NAIVE_NONE;
    plain = ops->open(&cfg, &err);
    CHECK(ops->info(e)->ledger.bytes[LEDGER_NAIVE] > naive_trace_bytes());
    CHECK_EQ(ops->info(plain)->ledger.bytes[LEDGER_NAIVE], 0);
    CHECK_EQ(ops->naive_ops(plain, 0, &(struct naive_op){0}, 1), 0);
    ops->close(e);
    ops->close(plain);
}

/* Nobody waits for a front that another one computes: nothing of it would be shared. */
TEST(naive_page_policies_let_equal_prompts_in_together_and_share_nothing)
{
    static const enum naive_policy policy[] = {NAIVE_RESERVE, NAIVE_NO_LIMIT, NAIVE_FIRST_FIT};
    for (size_t i = 0; i < COUNT_OF(policy); i++) {
        struct engine *e = open_with(forever, (struct engine_config){.ctx = 8 * P, .max_seqs = 2, .max_rows = 20,
                                                                     .naive = policy[i]});
        int one = submit(e, 1, 3 * P, P), two = submit(e, 1, 3 * P, P);
        step(e);
        CHECK_EQ(figures(e).running, 2);
        run(e);
        int three = submit(e, 1, 3 * P, P);
        run(e);
        CHECK(end_of(e, one) == END_LENGTH && end_of(e, two) == END_LENGTH && end_of(e, three) == END_LENGTH);
        CHECK_EQ(ops->answer(e, two)->n_shared + ops->answer(e, three)->n_shared, 0);
        ops->close(e);
    }
}

/* Pages that the system has not given yet are no reason to die. */
static int one_more_page(void *self, int group, bool wait, int more)
{
    (void)self, (void)group;
    return more + wait;
}

TEST(naive_policies_wait_for_the_whole_pool_to_be_there)
{
    static const enum naive_policy policy[] = {NAIVE_RESERVE, NAIVE_NO_LIMIT, NAIVE_FIRST_FIT};
    for (size_t i = 0; i < COUNT_OF(policy); i++) {
        struct engine *e = open_with(forever, (struct engine_config){.ctx = 8 * P, .max_seqs = 4, .pool_tokens = 8 * P,
                                                                     .naive = policy[i]});
        e->sched->cfg.runner.usable_pages = one_more_page;
        kv_limit(e->sched->kv, 0, 5); /* enough for the sound one */
        int one = submit(e, 1, 3 * P, 2 * P);
        step(e);
        CHECK_EQ(figures(e).usable_tokens, 8 * P);
        run(e);
        CHECK_EQ(end_of(e, one), END_LENGTH);
        ops->close(e);
    }
}

/* ------------------------------------------------------------------ chance */

/* A random life of an engine until somebody has died and the sound policy has come: true, if that happened.  After each
 * step the trace's picture of the pool is what the snapshot says, and each run lies where first fit has it. */
static bool live(enum naive_policy policy, uint32_t *seed, int *torn)
{
    enum { SEQS = 6, MOST = 40 };
    static struct reader r;
    r = (struct reader){.p.pages = 24};
    int id[MOST], n = 0, died = 0;
    struct engine *e = open_with(faulty, (struct engine_config){.ctx = 8 * P, .max_seqs = SEQS, .max_rows = 20,
                                                                 .pool_tokens = 24 * P, .naive = policy});
    while (n < MOST) {
        if (tiny_below(seed, 3) == 0)
            id[n++] = submit(e, tiny_below(seed, 256), 1 + tiny_below(seed, 60), 1 + tiny_below(seed, 60));
        if (n > 0 && tiny_below(seed, 12) == 0) ops->cancel(e, id[tiny_below(seed, n)]);
        step(e);
        int before = r.fails;
        read_trace(e, &r);
        struct engine_snapshot s = figures(e);
        int at, hole = picture_hole(&r.p, &at);
        if (s.naive_policy) {
            CHECK(s.naive_reserved == (uint64_t)(24 - picture_free(&r.p)) * P && s.naive_hole == (uint64_t)hole * P);
            CHECK(s.naive_allocated == s.filled_tokens && s.naive_policy == (uint64_t)policy);
        } else {
            CHECK(r.fails > 0 && picture_free(&r.p) == 24);
        }
        CHECK_EQ(s.naive_failures, r.fails);
        if (r.fails == before + 1) {
            const struct engine_oom *o = &ops->answer(e, r.fail.id)->oom;
            check_oom(o, &r, policy);
            *torn += o->free >= o->wanted;
        }
    }
    run(e);
    for (int i = 0; i < n; i++) {
        enum engine_end end = end_of(e, id[i]);
        CHECK(end == END_LENGTH || end == END_CANCELLED || end == END_FAULT || end == END_OOM);
        died += end == END_OOM;
    }
    read_trace(e, &r);
    CHECK_EQ(died, r.fails);
    CHECK_EQ(picture_free(&r.p), 24);
    bool over = figures(e).naive_policy == NAIVE_NONE;
    ops->close(e);
    return over;
}

static int lives(enum naive_policy policy, int *torn)
{
    uint32_t seed = 17;
    int over = 0;
    for (int i = 0; i < 60; i++) over += live(policy, &seed, torn);
    return over;
}

TEST(naive_reserve_is_what_its_trace_says)
{
    int torn = 0;
    CHECK(lives(NAIVE_RESERVE, &torn) > 20 && torn == 0); /* runs that are all alike do not fragment */
}

TEST(naive_no_limit_is_what_its_trace_says)
{
    int torn = 0;
    CHECK(lives(NAIVE_NO_LIMIT, &torn) > 20 && torn == 0);
}

TEST(naive_first_fit_is_what_its_trace_says)
{
    int torn = 0;
    CHECK(lives(NAIVE_FIRST_FIT, &torn) > 20 && torn > 5);
}

/* The trace's runs are where a plain first fit puts them: replayed, each TAKE has but one place. */
TEST(naive_first_fit_takes_the_lowest_hole_that_is_large_enough)
{
    static struct naive_op op[OPS];
    static struct picture p;
    p = (struct picture){.pages = 64};
    uint32_t seed = 23;
    int id[200], splits = 0;
    struct engine *e = open_with(forever, (struct engine_config){.ctx = 8 * P, .max_seqs = 6, .pool_tokens = 64 * P,
                                                                 .naive = NAIVE_FIRST_FIT});
    for (int n = 0; n < 200; n++) { /* six of eight pages at most: it never fails, and queues on slots alone */
        while (figures(e).waiting > 8) step(e);
        id[n] = submit(e, n, 1 + tiny_below(&seed, 60), 1 + tiny_below(&seed, 60));
        if (tiny_below(&seed, 3) == 0) ops->cancel(e, id[tiny_below(&seed, n + 1)]);
        step(e);
        if (n >= 40) ops->drop(e, id[n - 40]);
    }
    int n = ops->naive_ops(e, 0, op, OPS);
    CHECK(n > 200 && op[0].number == 0);
    for (int i = 0; i < n; i++) {
        int at = (int)op[i].at / P, pages = (int)op[i].bytes / P;
        CHECK(op[i].kind != NAIVE_FAIL);
        if (op[i].kind == NAIVE_TAKE) CHECK_EQ(at, picture_find(&p, pages));
        splits += op[i].kind == NAIVE_TAKE && at + pages < 64 && !p.id[at + pages];
        paint(&p, at, pages, op[i].kind == NAIVE_TAKE ? 0 : op[i].id, op[i].kind == NAIVE_TAKE ? op[i].id : 0);
    }
    CHECK(splits > 50);
    ops->close(e);
}

CHECK_MAIN
