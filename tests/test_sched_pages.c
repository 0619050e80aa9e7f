/* Pages that leave one scheduler and come into another, at any moment and in any order, while both serve from tiny
 * pools: nothing that was promised is touched, and no page ever holds what its tokens do not say.  The pages are fake
 * ones, which look back over all that a sequence reads (fake_pages.h).
 *
 *     test_sched_pages [part of a name]      SEED=n in the environment: another history */
#include "tests/check.h"
#include "tests/fake_pages.h"
#include "tests/tiny_model.h"

enum { P = KERN_PAGE, LIVE = 8, STORIES = 4, CTX = 160, KEPT = 48, SIDES = 2 };

struct one {
    int id;
    const struct answer *a;
    int32_t ids[CTX];
    struct fake_ask ask;
};

struct side {
    struct sched *s;
    struct fake f;
    struct one one[LIVE];
};

struct kept { /* a page that was taken out: the text up to its end */
    int n;
    int32_t ids[CTX];
    struct fake_page bytes;
};

struct world {
    uint32_t seed;
    int64_t op;
    struct vocab *v;
    struct side side[SIDES];
    int32_t story[STORIES][CTX];
    struct kept kept[KEPT];
    int64_t given_up, was_held;
    int64_t got, put, known, no_front, no_room, faults, unknown, answers, shared;
};

static int below(struct world *w, int n) { return tiny_below(&w->seed, n); }

static void sound(struct world *w, struct side *x)
{
    struct err err = {0};
    if (sched_check(x->s, &err)) check_fail(__FILE__, __LINE__, "op %lld: %s", (long long)w->op, err.text);
}

static void open_side(struct world *w, struct side *x, int pages, bool overcommit, bool limited)
{
    struct err err = {0};
    fake_open(&x->f, &(struct kv_group){.pages = pages}, 1, vocab_eos(w->v), 3);
    x->f.group[0].there = limited ? 1 : pages;
    x->f.fail_load = x->f.fail_save = 40;
    struct sched_config cfg = {.vocab = w->v, .token_text = sched_token_text(w->v), .ctx = CTX, .max_seqs = 3,
                               .max_rows = 20, .step_rows = 6, .max_outs = 4, .groups = 1, .group = {{.pages = pages}},
                               .text_bytes = 1 << 20, .overcommit = overcommit,
                               .park_bytes = 20 * sizeof(struct fake_page),
                               .keeps_pages = true, .identity = {7, 9},
                               .runner = fake_runner(&x->f, true, limited)};
    x->s = x->f.s = sched_open(&cfg, &err);
    CHECK_STR(err.text, "");
}

/* ------------------------------------------------------------------ what happens */

/* A story's front and sometimes words of its own.  Answers are mostly short: the long ones take over-commit by
 * surprise. */
static void ask(struct world *w, struct side *x, struct one *q)
{
    struct err err = {0};
    int n = 1 + below(w, 100);
    memcpy(q->ids, w->story[below(w, STORIES)], sizeof q->ids);
    for (int i = below(w, 3) ? n : below(w, n); i < n; i++) q->ids[i] = TINY_BYTE0 + 'a' + below(w, 3);
    q->ask = (struct fake_ask){.ids = q->ids, .n = n, .max_tokens = 1 + below(w, below(w, 4) ? 8 : 60),
                               .seed = (uint64_t)below(w, 2), .ignore_end = below(w, 2)};
    struct sampling sampling = SAMPLING_GREEDY;
    sampling.seed = q->ask.seed;
    struct request r = {.ids = q->ids, .n_ids = n, .max_tokens = q->ask.max_tokens, .ignore_end = q->ask.ignore_end,
                        .sampling = sampling, .agent = below(w, 5), .fresh = below(w, 8) == 0};
    if (sched_submit(x->s, &r, &q->id, &err)) q->id = 0;
    q->a = q->id ? sched_answer(x->s, q->id) : NULL;
}

static void look(struct world *w, struct side *x, struct one *q)
{
    static struct fake_answer expected;
    enum engine_end end = (enum engine_end)atomic_load(&q->a->end);
    if (end == END_NONE) return;
    if (end != END_FAULT) { /* a parked page that could not be loaded */
        fake_expect(&x->f, &q->ask, &expected);
        CHECK(end == expected.end && atomic_load(&q->a->n_tokens) == expected.n);
        for (int i = 0; i < expected.n; i++) CHECK_EQ(q->a->token[i].id, expected.token[i]);
        w->answers++;
        w->shared += q->a->n_shared;
    }
    sched_drop(x->s, q->id);
    q->id = 0;
}

/* Some page of what a request has come to, or of a story, known or not. */
static void take_out(struct world *w, struct side *x)
{
    struct err err = {0};
    struct kept *k = &w->kept[below(w, KEPT)], now = {0};
    const struct one *q = &x->one[below(w, LIVE)];
    memcpy(now.ids, w->story[below(w, STORIES)], sizeof now.ids);
    if (q->id) {
        int answered = atomic_load(&q->a->n_tokens);
        memcpy(now.ids, q->a->prompt, (size_t)q->a->n_prompt * sizeof *now.ids);
        for (int i = 0; i < answered; i++) now.ids[q->a->n_prompt + i] = q->a->token[i].id;
    }
    now.n = (1 + below(w, CTX / P)) * P;
    int rc = sched_page_get(x->s, now.ids, now.n, &now.bytes, &err);
    if (rc == 0) *k = now;
    w->got += rc == 0;
    w->unknown += rc == ENGINE_UNKNOWN;
    CHECK(rc == 0 || rc == ENGINE_UNKNOWN || rc == ENGINE_FAULT);
}

/* What was kept of one text, from its first page on, or only one page of it. */
static void bring_in(struct world *w, struct side *x)
{
    struct err err = {0};
    const struct kept *k = &w->kept[below(w, KEPT)];
    for (int n = below(w, 3) ? P : k->n; n <= k->n; n += P)
        for (int i = 0; i < KEPT; i++) {
            const struct kept *page = &w->kept[i];
            if (page->n != n || memcmp(page->ids, k->ids, (size_t)n * sizeof *k->ids) != 0) continue;
            bool known = sched_page_get(x->s, page->ids, n, NULL, &err) == 0;
            int rc = sched_page_put(x->s, page->ids, n, below(w, 5), &page->bytes, &err);
            bool now = sched_page_get(x->s, page->ids, n, NULL, &err) == 0;
            CHECK_EQ(now, rc == 0);
            if (known) CHECK_EQ(rc, 0);
            w->known += known;
            w->put += rc == 0 && !known;
            w->no_front += rc == ENGINE_UNKNOWN;
            w->no_room += rc == ENGINE_NOT_NOW;
            w->faults += rc == ENGINE_FAULT;
            sound(w, x);
            break;
        }
}

/* A page is given up, its own reader's or not. */
static void give_up(struct world *w, struct side *x)
{
    struct err err = {0};
    const struct kept *k = &w->kept[below(w, KEPT)];
    if (k->n == 0) return;
    struct engine_snapshot before, after;
    sched_snapshot(x->s, &before);
    bool known = sched_page_get(x->s, k->ids, k->n, NULL, &err) == 0;
    int rc = sched_page_drop(x->s, k->ids, k->n, &err);
    sched_snapshot(x->s, &after);
    CHECK_EQ(known, rc != ENGINE_UNKNOWN);
    CHECK_EQ(sched_page_get(x->s, k->ids, k->n, NULL, &err) == 0, rc == ENGINE_NOT_NOW);
    CHECK_EQ(before.cached_tokens - after.cached_tokens, rc == 0 ? P : 0);
    CHECK_EQ(before.reserved_tokens, after.reserved_tokens);
    w->given_up += rc == 0;
    w->was_held += rc == ENGINE_NOT_NOW;
}

static void one_op(struct world *w)
{
    struct side *x = &w->side[below(w, SIDES)];
    struct one *q = &x->one[below(w, LIVE)];
    struct engine_event ev[16];
    struct err err = {0};
    int what = below(w, 20);
    if (what < 3 && !q->id) ask(w, x, q);
    else if (what < 6 && q->id) look(w, x, q);
    else if (what == 6 && q->id && below(w, 4) == 0) sched_cancel(x->s, q->id);
    else if (what < 11) take_out(w, x);
    else if (what < 13) bring_in(w, x);
    else if (what == 13) give_up(w, x);
    else sched_step(x->s, ev, 16, &err);
    if (q->id && atomic_load(&q->a->end) == END_CANCELLED) {
        sched_drop(x->s, q->id);
        q->id = 0;
    }
    sound(w, x);
}

static void history(int ops)
{
    static struct world w;
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    const char *seed = getenv("SEED");
    struct gguf *g = gguf_open(tiny_file(&t, NULL, "pages.gguf"), &err);
    memset(&w, 0, sizeof w);
    w.seed = seed ? (uint32_t)strtoul(seed, NULL, 0) : 5;
    w.v = g ? vocab_open(g, &err) : NULL;
    CHECK_STR(err.text, "");
    gguf_close(g);
    for (int i = 0; i < STORIES * CTX; i++) w.story[i / CTX][i % CTX] = TINY_BYTE0 + 'a' + below(&w, 26);
    for (int i = 1; i < STORIES; i++) memcpy(w.story[i], w.story[0], (size_t)(i * 40) * sizeof(int32_t));
    open_side(&w, &w.side[0], 14, false, true);
    open_side(&w, &w.side[1], 11, true, false);
    for (w.op = 0; w.op < ops; w.op++) one_op(&w);
    struct engine_snapshot s[SIDES];
    for (int i = 0; i < SIDES; i++) {
        sched_snapshot(w.side[i].s, &s[i]);
        CHECK(s[i].adopted_pages > 0 && s[i].evicted_pages > 0);
        sched_close(w.side[i].s);
        fake_close(&w.side[i].f);
    }
    CHECK_EQ(s[0].adopted_pages + s[1].adopted_pages, (uint64_t)w.put);
    CHECK(s[1].parkings > 0 && s[0].usable_tokens == 14 * P);
    vocab_close(w.v);
    /* all that was meant to happen did */
    CHECK(w.got > ops / 50 && w.put > ops / 100 && w.known > 0 && w.no_front > 0 && w.no_room > 0 && w.faults > 0);
    CHECK(w.given_up > ops / 1000 && w.was_held > 0);
    CHECK(w.unknown > 0 && w.answers > ops / 100 && w.shared > w.answers);
}

TEST(sched_pages_wander_between_two_busy_pools) { history(200000); }

/* What the second of two requests is promised, after the first had one token and was dropped, or cancelled first. */
static int64_t promised_after(struct vocab *v, bool cancelled)
{
    static const int32_t ids[] = {TINY_BYTE0 + 'a', TINY_BYTE0 + 'b', TINY_BYTE0 + 'c'};
    struct world w = {.v = v, .seed = 5};
    struct side *x = &w.side[0];
    struct engine_event ev[64];
    struct engine_snapshot now;
    struct err err = {0};
    int id[2];
    struct request r = {.ids = ids, .n_ids = 3, .max_tokens = 150, .ignore_end = true, .sampling = SAMPLING_GREEDY};
    open_side(&w, x, 14, true, false);
    x->f.fail_load = x->f.fail_save = 0;
    CHECK_EQ(sched_submit(x->s, &r, &id[0], &err), 0);
    for (int i = 0; i < 9 && !atomic_load(&sched_answer(x->s, id[0])->n_tokens); i++) sched_step(x->s, ev, 64, &err);
    CHECK_EQ(atomic_load(&sched_answer(x->s, id[0])->n_tokens), 1);
    if (cancelled) CHECK_EQ(sched_cancel(x->s, id[0]), 0);
    sched_drop(x->s, id[0]);
    CHECK_EQ(sched_submit(x->s, &r, &id[1], &err), 0);
    sched_step(x->s, ev, 64, &err);
    sched_snapshot(x->s, &now);
    sched_close(x->s);
    fake_close(&x->f);
    CHECK_STR(err.text, "");
    return (int64_t)(now.reserved_tokens + now.filled_tokens);
}

TEST(sched_learns_nothing_from_an_answer_that_was_dropped_midway)
{
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    struct gguf *g = gguf_open(tiny_file(&t, NULL, "dropped.gguf"), &err);
    struct vocab *v = vocab_open(g, &err);
    gguf_close(g);
    CHECK(promised_after(v, true) > 2 * P);
    CHECK_EQ(promised_after(v, false), promised_after(v, true));
    vocab_close(v);
}

/* What was admitted is told of before its end, also where it ended before there was a step, or room for the event. */
static void check_told(struct vocab *v, bool cancelled, int cap)
{
    static const int32_t ids[] = {TINY_BYTE0 + 'a', TINY_BYTE0 + 'b', TINY_BYTE0 + 'c'};
    struct world w = {.v = v, .seed = 5};
    struct side *x = &w.side[0];
    struct engine_event ev[64];
    struct err err = {0};
    int id[3], told[3] = {0}, n;
    struct request r = {.ids = ids, .n_ids = 3, .max_tokens = 1, .no_wait = cancelled, .ignore_end = true,
                        .sampling = SAMPLING_GREEDY};
    open_side(&w, x, 14, false, false);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sched_submit(x->s, &r, &id[i], &err), 0);
        if (cancelled) CHECK_EQ(sched_cancel(x->s, id[i]), 0);
    }
    for (int steps = 0; (n = sched_step(x->s, ev, cap, &err)) > 0 && steps < 99; steps++)
        for (int k = 0; k < n; k++)
            for (int i = 0; i < 3; i++) {
                if (ev[k].id != id[i]) continue;
                if (ev[k].kind == ENGINE_ADMITTED) CHECK_EQ(told[i]++, 0);
                if (ev[k].kind == ENGINE_END) CHECK_EQ(told[i]++, 1);
            }
    for (int i = 0; i < 3; i++) CHECK_EQ(told[i], 2);
    sched_close(x->s);
    fake_close(&x->f);
    CHECK_STR(err.text, "");
}

TEST(sched_tells_of_each_admission_before_the_end)
{
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    struct gguf *g = gguf_open(tiny_file(&t, NULL, "told.gguf"), &err);
    struct vocab *v = vocab_open(g, &err);
    gguf_close(g);
    check_told(v, true, 64);
    check_told(v, false, 64);
    check_told(v, false, 1);
    vocab_close(v);
}

CHECK_MAIN
