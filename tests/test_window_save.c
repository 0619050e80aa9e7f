/* A window as bytes: what is loaded goes on as what was saved would have; another vocabulary is counted again; bytes
 * that are no window are refused, or make one that stands. */
#include "memory/record.h"
#include "memory/window.h"
#include "tests/check.h"
#include "tests/test_window_mock.h"
#include <inttypes.h>

enum { MESSAGES = 700, VOCABULARY = 17 };

/* Where the fields lie: see window_save.c. */
enum { AT_VOCABULARY = 8, AT_FRONT = 16, AT_LAST_ID = 24, AT_AWAITED = 32, AT_FLAGS = 36, AT_TASK = 88,
       AT_SUMMARY = 104, AT_SUMMED = 120, AT_CUT = 152, AT_REST = 184 };

struct world {
    uint64_t seed;
    struct mock mock;
    struct window_limits l;
    struct window *w;
    uint64_t n_said, n_texts;
    uint64_t pins[8];
    int n_pins;
};

static uint64_t loads;

static int64_t below(struct world *x, int64_t n)
{
    x->seed ^= x->seed << 13;
    x->seed ^= x->seed >> 7;
    x->seed ^= x->seed << 17;
    return (int64_t)(x->seed % (uint64_t)n);
}

static int64_t log_uniform(struct world *x, int64_t most)
{
    int64_t v = 1;
    while (v < most && below(x, 4)) v = v * 2 + below(x, 2);
    return v;
}

static uint64_t new_text(struct world *x, int64_t tokens)
{
    uint64_t id = MOCK_IDS - 1 - x->n_texts++;
    CHECK(id > MESSAGES);
    x->mock.size[id] = tokens;
    return id;
}

/* ------------------------------------------------------------------ two windows that do the same */

/* b may be NULL: then it happens to a alone. */
struct pair { struct window *a, *b; };

static void say(struct world *x, struct pair p, enum window_kind kind, int results, int64_t tokens)
{
    uint64_t id = ++x->n_said;
    x->mock.size[id] = tokens;
    CHECK_EQ(window_append(p.a, kind, id, results, NULL), 0);
    if (p.b) CHECK_EQ(window_append(p.b, kind, id, results, NULL), 0);
}

static void say_something(struct world *x, struct pair p)
{
    int64_t size = log_uniform(x, below(x, 30) ? x->l.ctx / 4 : 4 * x->l.ctx);
    int results = 1 + (int)below(x, 4);
    switch (below(x, 5)) {
    case 0: say(x, p, WINDOW_USER, 0, size); return;
    case 1: say(x, p, WINDOW_ANSWER, 0, size); return;
    case 2: say(x, p, WINDOW_NOTE, 0, 1 + below(x, 6)); return;
    default: break;
    }
    say(x, p, WINDOW_CALL, results, 1 + below(x, 9));
    while (results-- > 0) say(x, p, WINDOW_RESULT, 0, below(x, 9) ? size : log_uniform(x, 4 * x->l.ctx));
}

static void pin(struct world *x, struct pair p)
{
    bool out = x->n_pins == 8 || (x->n_pins > 0 && below(x, 3));
    uint64_t id = out ? x->pins[--x->n_pins] : new_text(x, log_uniform(x, x->l.ctx / 8));
    if (!out) x->pins[x->n_pins++] = id;
    CHECK_EQ(out ? window_remove(p.a, WINDOW_PINNED, id, NULL) : window_add(p.a, WINDOW_PINNED, id, NULL), 0);
    if (!p.b) return;
    CHECK_EQ(out ? window_remove(p.b, WINDOW_PINNED, id, NULL) : window_add(p.b, WINDOW_PINNED, id, NULL), 0);
}

static void compact(struct world *x, struct pair p)
{
    struct window_proposal a, b;
    int rc = window_propose(p.a, &a, NULL);
    uint64_t id = new_text(x, 1 + below(x, 2 * x->l.summary));
    size_t items = (size_t)below(x, 5);
    bool extract = below(x, 2);
    if (p.b) {
        CHECK_EQ(window_propose(p.b, &b, NULL), rc);
        if (rc == 0) {
            CHECK_MEM(&a.range, &b.range, sizeof a.range);
            CHECK_MEM(&a.cut, &b.cut, sizeof a.cut);
            CHECK(a.summary == b.summary && a.n == b.n && a.tokens == b.tokens && a.frees == b.frees);
        }
    }
    if (rc) return;
    rc = window_commit(p.a, id, items, extract, NULL);
    if (p.b) CHECK_EQ(window_commit(p.b, id, items, extract, NULL), rc);
    if (rc == 0) return;
    window_abandon(p.a);
    if (p.b) window_abandon(p.b);
}

static bool same(const struct window_item *a, const struct window_item *b)
{
    return a->part == b->part && a->id == b->id && a->tokens == b->tokens &&
           memcmp(&a->ref, &b->ref, sizeof a->ref) == 0;
}

static void call(struct pair p)
{
    struct window_call a, b;
    int rc = window_build(p.a, &a, NULL);
    if (!p.b) return;
    CHECK_EQ(window_build(p.b, &b, NULL), rc);
    if (rc) return;
    CHECK_EQ(a.n, b.n);
    CHECK(a.tokens == b.tokens && a.limit == b.limit && a.answer == b.answer && a.thinking == b.thinking);
    for (size_t i = 0; i < a.n; i++) CHECK(same(&a.items[i], &b.items[i]));
}

/* What a window is, but for what it sent last. */
static struct window_figures figures(const struct window *w)
{
    struct window_figures f;
    window_figures(w, &f);
    f.breaks = f.kept_tokens = 0;
    return f;
}

static void check_same(const struct window *a, const struct window *b)
{
    struct window_figures f = figures(a), g = figures(b);
    CHECK_MEM(&f, &g, sizeof f);
    CHECK_EQ(window_due(a), window_due(b));
    CHECK_EQ(window_last_id(a), window_last_id(b));
}

static void check_events(struct pair p)
{
    struct window_event a, b;
    for (;;) {
        bool any = window_next_event(p.a, &a);
        if (p.b) CHECK_EQ(window_next_event(p.b, &b), any);
        if (!any) return;
        if (p.b) CHECK(a.kind == b.kind && a.times == b.times && a.id == b.id && a.tokens == b.tokens);
        if (p.b) CHECK_MEM(&a.ref, &b.ref, sizeof a.ref);
    }
}

static void step(struct world *x, struct pair p)
{
    say_something(x, p);
    if (window_due(p.a) ? below(x, 2) : below(x, 40) == 0) compact(x, p);
    if (below(x, 15) == 0) pin(x, p);
    if (below(x, 60) == 0) {
        int rc = window_clear(p.a, NULL);
        if (p.b) CHECK_EQ(window_clear(p.b, NULL), rc);
    }
    if (below(x, 30) == 0) {
        int rc = window_undo(p.a, NULL);
        if (p.b) CHECK_EQ(window_undo(p.b, NULL), rc);
    }
    if (below(x, 3)) call(p);
    check_events(p);
    if (p.b) check_same(p.a, p.b);
}

/* ------------------------------------------------------------------ worlds */

static bool open_world(struct world *x, uint64_t seed)
{
    memset(x, 0, sizeof *x);
    x->seed = seed * 0x9e3779b97f4a7c15u | 1;
    for (int i = 0; i < 8; i++) below(x, 2);
    x->mock.seam = (int)below(x, 4);
    int64_t ctx = 150 + log_uniform(x, 8000);
    x->l = (struct window_limits){.ctx = ctx, .closing = 3, .gain = 1 + (int)below(x, 500)};
    x->l.answer = 1 + below(x, ctx / 4);
    x->l.summary = 1 + below(x, ctx / 6);
    x->l.low = 1 + (int)below(x, 800);
    x->l.high = x->l.low + 1 + (int)below(x, 1000 - x->l.low);
    if (window_open(&x->w, &x->l, mock_count(&x->mock), NULL)) return false;
    CHECK_EQ(window_add(x->w, WINDOW_SYSTEM, new_text(x, log_uniform(x, ctx / 6)), NULL), 0);
    if (below(x, 2)) CHECK_EQ(window_add(x->w, WINDOW_TOOLS, new_text(x, log_uniform(x, ctx / 6)), NULL), 0);
    return true;
}

static struct window *loaded(struct world *x, const struct buf *bytes)
{
    struct window *w;
    CHECK_EQ(window_open(&w, &x->l, mock_count(&x->mock), NULL), 0);
    CHECK_EQ(window_load(w, bytes->data, bytes->len, VOCABULARY, NULL), 0);
    loads++;
    return w;
}

static struct buf saved(const struct window *w, uint64_t vocabulary)
{
    struct buf b = {0};
    window_save(w, vocabulary, &b);
    CHECK(!b.failed && b.len > 0);
    return b;
}

/* At random moments: saved, loaded elsewhere, and both go on side by side; then one or the other stays. */
static void session(struct world *x, uint64_t seed)
{
    if (!open_world(x, seed)) return;
    while (x->n_said + 100 < MESSAGES) {
        for (int64_t n = below(x, 12); n-- > 0;) step(x, (struct pair){x->w, NULL});
        check_events((struct pair){x->w, NULL});
        struct buf a = saved(x->w, VOCABULARY);
        struct window *w = loaded(x, &a);
        struct buf b = saved(w, VOCABULARY);
        CHECK_EQ(a.len, b.len);
        CHECK_MEM(a.data, b.data, a.len);
        check_same(x->w, w);
        for (int i = 0; i < 8; i++) step(x, (struct pair){x->w, w});
        bool stays = below(x, 2);
        window_close(stays ? w : x->w);
        if (!stays) x->w = w;
        buf_free(&a);
        buf_free(&b);
    }
    window_close(x->w);
}

TEST(a_loaded_window_goes_on_as_the_saved_one_does)
{
    static struct world x;
#ifdef __SANITIZE_ADDRESS__
    enum { SESSIONS = 300 };
#else
    enum { SESSIONS = 1500 };
#endif
    for (uint64_t seed = 1; seed <= SESSIONS; seed++) session(&x, seed);
    CHECK(loads > 8 * SESSIONS);
}

TEST(loading_in_place_goes_back_to_the_state_of_then)
{
    static struct world x;
    uint64_t undone = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        if (!open_world(&x, 7000 + seed)) continue;
        for (int64_t n = 1 + below(&x, 40); n-- > 0;) step(&x, (struct pair){x.w, NULL});
        struct buf then = saved(x.w, VOCABULARY);
        struct window_figures f = figures(x.w), g;
        uint64_t last = window_last_id(x.w);
        for (int64_t n = 1 + below(&x, 40); n-- > 0;) step(&x, (struct pair){x.w, NULL});
        CHECK_EQ(window_load(x.w, then.data, then.len, VOCABULARY, NULL), 0);
        g = figures(x.w);
        CHECK_MEM(&f, &g, sizeof f);
        CHECK_EQ(window_last_id(x.w), last);
        CHECK_EQ(window_undo(x.w, NULL), f.can_undo ? 0 : WINDOW_STALE);
        undone += f.can_undo;
        buf_free(&then);
        window_close(x.w);
    }
    CHECK(undone > 10);
}

/* ------------------------------------------------------------------ another vocabulary */

static void check_weighed_anew(const struct window_call *c, const struct mock *m)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct window_item *it = &c->items[i];
        bool line = it->part == WINDOW_REFERENCE || (it->part != WINDOW_SUMMARY && it->ref.messages > 0);
        if (!line) CHECK_EQ(it->tokens, m->size[it->id]);
    }
}

TEST(under_another_vocabulary_each_text_is_counted_again)
{
    static struct world x;
    static struct mock other;
    int built = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct window *w;
        struct window_call c;
        if (!open_world(&x, 9000 + seed)) continue;
        for (int64_t n = 1 + below(&x, 60); n-- > 0;) step(&x, (struct pair){x.w, NULL});
        struct buf b = saved(x.w, VOCABULARY);
        other = x.mock;
        for (size_t i = 0; i < MOCK_IDS; i++) other.size[i] = x.mock.size[i] * 2 + 1;
        CHECK_EQ(window_open(&w, &x.l, mock_count(&other), NULL), 0);
        uint64_t before = other.counted;
        CHECK_EQ(window_load(w, b.data, b.len, VOCABULARY, NULL), 0);
        CHECK_EQ(other.counted, before); /* the same one: believed */
        CHECK_EQ(window_load(w, b.data, b.len, VOCABULARY + 1, NULL), 0);
        CHECK(other.counted > before);
        if (window_build(w, &c, NULL) == 0) {
            check_weighed_anew(&c, &other);
            built++;
        }
        struct buf again = saved(w, VOCABULARY + 1);
        CHECK(get_le((uint8_t *)again.data + AT_VOCABULARY, 8) == VOCABULARY + 1);
        other.fails = true;
        struct window_figures f = figures(w), g;
        CHECK_EQ(window_load(w, b.data, b.len, VOCABULARY + 2, NULL), WINDOW_COUNT_FAILED);
        g = figures(w);
        CHECK_MEM(&f, &g, sizeof f); /* it is as it was */
        window_close(w);
        window_close(x.w);
        buf_free(&b);
        buf_free(&again);
    }
    CHECK(built > 100);
}

/* ------------------------------------------------------------------ bytes that are no window */

/* Whatever was loaded stands: figures, a call, a compaction, going on, and saving are all possible or refused. */
static void use(struct world *x, struct window *w)
{
    struct window_figures f;
    struct window_proposal p;
    struct window_call c;
    struct window_event e;
    struct err err = {0};
    window_figures(w, &f);
    if (window_propose(w, &p, NULL) == 0 && window_commit(w, MOCK_IDS - 1, 3, true, NULL)) window_abandon(w);
    if (window_append(w, WINDOW_USER, window_last_id(w) + 1, 0, &err)) CHECK(*err.text);
    if (window_build(w, &c, &err) == 0) {
        CHECK(c.tokens <= c.limit);
        CHECK(c.tokens + x->l.answer <= x->l.ctx);
    }
    (void)window_clear(w, NULL);
    (void)window_undo(w, NULL);
    (void)window_remove(w, WINDOW_PINNED, x->n_pins ? x->pins[0] : 1, NULL);
    while (window_next_event(w, &e)) {}
    (void)window_build(w, &c, &err);
}

static int n_taken, n_refused;

/* Into a window that had something: refused, it has that still. */
static void try_bytes(struct world *x, const struct buf *was, const char *bytes, size_t n)
{
    struct window *w = loaded(x, was);
    struct window_figures f = figures(w), g;
    struct err err = {0};
    int rc = window_load(w, bytes, n, VOCABULARY, &err);
    if (rc) {
        CHECK_EQ(rc, WINDOW_BAD);
        CHECK(strstr(err.text, "damaged"));
        g = figures(w);
        CHECK_MEM(&f, &g, sizeof f);
        n_refused++;
    } else {
        struct buf b = saved(w, VOCABULARY);
        struct window *again = loaded(x, &b); /* what was believed once is believed again */
        window_close(again);
        buf_free(&b);
        use(x, w);
        n_taken++;
    }
    window_close(w);
}

/* A window with everything in it: front, task, summary, calls, stubs; and cut, or what can be undone. */
static struct buf rich(struct world *x, uint64_t seed, bool undo)
{
    for (;; seed += 1000) {
        struct window_figures f;
        if (!open_world(x, seed)) continue;
        for (int i = 0; i < 60; i++) step(x, (struct pair){x->w, NULL});
        window_figures(x->w, &f);
        bool full = f.summary && (undo ? f.can_undo && f.before > 0 : f.cut.messages > 0) && f.count[WINDOW_TASK] > 0 &&
                    f.count[WINDOW_RESULTS] > 2;
        struct buf b = saved(x->w, VOCABULARY);
        window_close(x->w);
        if (full && b.len < 2500) return b;
        buf_free(&b);
    }
}

static void truncate_all(bool undo)
{
    static struct world x;
    struct buf b = rich(&x, 1, undo);
    n_taken = 0;
    for (size_t n = 0; n < b.len; n++) {
        char *part = malloc(n + 1); /* a copy with nothing behind it, for ASan */
        CHECK(part);
        memcpy(part, b.data, n);
        try_bytes(&x, &b, part, n);
        free(part);
    }
    CHECK_EQ(n_taken, 0);
    buf_put(&b, "", 1);
    struct window *w;
    CHECK_EQ(window_open(&w, &x.l, mock_count(&x.mock), NULL), 0);
    CHECK_EQ(window_load(w, b.data, b.len, VOCABULARY, NULL), WINDOW_BAD); /* nothing follows it */
    window_close(w);
    buf_free(&b);
}

TEST(every_truncated_window_is_refused)
{
    truncate_all(false);
    truncate_all(true);
}

TEST(each_flipped_bit_is_refused_or_makes_a_window_that_stands)
{
    static struct world x;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct buf b = rich(&x, seed, seed % 2 == 0), bent = {0};
        n_taken = n_refused = 0;
        buf_put(&bent, b.data, b.len);
        for (size_t bit = 0; bit < 8 * b.len; bit++) {
            bent.data[bit / 8] ^= (char)(1 << bit % 8);
            try_bytes(&x, &b, bent.data, bent.len);
            bent.data[bit / 8] ^= (char)(1 << bit % 8);
        }
        CHECK(n_taken > 100 && n_refused > 100);
        buf_free(&b);
        buf_free(&bent);
    }
}

static void bend_figures(bool undo)
{
    static const uint64_t extreme[] = {0, 1, 2, UINT32_MAX, (uint64_t)1 << 40, ((uint64_t)1 << 40) + 1, INT64_MAX / 4,
                                       INT64_MAX / 2, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 1, UINT64_MAX};
    static struct world x;
    struct buf b = rich(&x, 5, undo), bent = {0};
    n_taken = n_refused = 0;
    for (int i = 0; i < 20000; i++) {
        bent.len = 0;
        buf_put(&bent, b.data, b.len);
        for (int64_t n = 1 + below(&x, 4); n-- > 0;) {
            size_t at = AT_LAST_ID + 4 * (size_t)below(&x, (int64_t)(b.len - AT_LAST_ID - 8) / 4);
            put_le((uint8_t *)bent.data + at, extreme[below(&x, COUNT_OF(extreme))], 8);
        }
        try_bytes(&x, &b, bent.data, bent.len);
    }
    CHECK(n_taken > 500 && n_refused > 500);
    buf_free(&b);
    buf_free(&bent);
}

TEST(extreme_figures_are_refused_or_make_a_window_that_stands)
{
    bend_figures(false);
    bend_figures(true);
}

/* One field at a time that cannot be so. */
TEST(what_does_not_fit_together_is_refused)
{
    static struct world x;
    struct buf b = rich(&x, 9, false);
    const uint64_t last = get_le((uint8_t *)b.data + AT_LAST_ID, 8), n_front = get_le((uint8_t *)b.data + AT_FRONT, 4);
    const struct { size_t at; int bytes; uint64_t value; } bad[] = {
        {0, 4, 0},                            /* magic */
        {4, 4, 4},                            /* version */
        {4, 4, 2},
        {4, 4, 3},
        {AT_FRONT, 4, n_front + 1},           /* not so long */
        {AT_FRONT, 4, UINT32_MAX},
        {AT_FRONT + 4, 4, UINT32_MAX},
        {AT_LAST_ID, 8, 1},                   /* messages behind the last */
        {AT_AWAITED, 4, UINT32_MAX},
        {AT_FLAGS, 4, 2},
        {AT_FLAGS + 4, 8, UINT64_MAX},        /* hold */
        {AT_TASK, 8, 0},                      /* a task without an id that has tokens */
        {AT_TASK, 8, last + 1},               /* one that was not said yet */
        {AT_TASK + 8, 8, UINT64_MAX},
        {AT_SUMMARY, 16, 0},                  /* messages summed up by nothing */
        {AT_SUMMED + 16, 8, 0},               /* a summary of nothing */
        {AT_SUMMED, 8, 0},
        {AT_SUMMED + 8, 8, last + 1},
        {AT_SUMMED + 16, 8, INT64_MAX},
        {AT_SUMMED + 24, 8, INT64_MAX / 2},
        {AT_CUT + 8, 8, 0},                   /* first > last */
        {AT_CUT + 8, 8, last + 1},
        {AT_CUT + 24, 8, INT64_MAX / 2},
        {AT_REST, 8, WINDOW_TASK},            /* a part that is not of the front */
        {AT_REST, 8, WINDOW_PINNED},          /* out of order: a system message follows, or nothing does */
        {AT_REST + 8, 8, 0},
        {AT_REST + 24 * n_front, 8, 0},       /* a message without an id */
        {AT_REST + 24 * n_front, 8, last},    /* ids that do not grow */
        {AT_REST + 24 * n_front + 16, 8, WINDOW_RESULT}, /* a result that nobody called for */
        {AT_REST + 24 * n_front + 16, 8, WINDOW_NOTE + 1},
        {AT_REST + 24 * n_front + 16, 8, 1 << 9},
    };
    CHECK(n_front >= 2);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct buf bent = {0};
        struct window *w = loaded(&x, &b);
        uint8_t bytes[16] = {0};
        buf_put(&bent, b.data, b.len);
        if (bad[i].bytes <= 8) put_le(bytes, bad[i].value, bad[i].bytes);
        memcpy(bent.data + bad[i].at, bytes, (size_t)bad[i].bytes);
        if (window_load(w, bent.data, bent.len, VOCABULARY, NULL) != WINDOW_BAD)
            check_fail(__FILE__, __LINE__, "case %zu was believed", i);
        window_close(w);
        buf_free(&bent);
    }
    buf_free(&b);
}

/* The same of what an undo would bring back. */
TEST(an_undo_that_does_not_fit_is_refused)
{
    static struct world x;
    struct buf b = rich(&x, 9, true);
    const uint64_t last = get_le((uint8_t *)b.data + AT_LAST_ID, 8);
    const size_t before = AT_REST + 24 * ((size_t)get_le((uint8_t *)b.data + AT_FRONT, 4) +
                                          (size_t)get_le((uint8_t *)b.data + AT_FRONT + 4, 4));
    const size_t then = before + 8, n = (size_t)get_le((uint8_t *)b.data + then + 8, 4), rest = then + 120;
    const struct { size_t at; int bytes; uint64_t value; } bad[] = {
        {then, 8, last + 1},           /* said later than all */
        {then, 8, 1},                  /* messages behind the last of then */
        {then + 8, 4, n + 1},          /* not so long */
        {then + 8, 4, UINT32_MAX},
        {then + 12, 4, 2},
        {then + 24, 8, last + 1},      /* a task that was not noted yet */
        {then + 40, 16, 0},            /* messages summed up by nothing */
        {then + 72, 8, 0},             /* a summary of nothing */
        {rest, 8, 0},                  /* a message without an id */
        {rest, 8, last},               /* ids that do not grow */
        {rest + 8, 8, UINT64_MAX},
        {rest + 16, 8, WINDOW_RESULT}, /* a result that nobody called for */
    };
    CHECK(get_le((uint8_t *)b.data + 4, 4) == 3 && n > 1 && rest + 24 * n == b.len);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct buf bent = {0};
        struct window *w = loaded(&x, &b);
        uint8_t bytes[16] = {0};
        buf_put(&bent, b.data, b.len);
        if (bad[i].bytes <= 8) put_le(bytes, bad[i].value, bad[i].bytes);
        memcpy(bent.data + bad[i].at, bytes, (size_t)bad[i].bytes);
        if (window_load(w, bent.data, bent.len, VOCABULARY, NULL) != WINDOW_BAD)
            check_fail(__FILE__, __LINE__, "case %zu was believed", i);
        window_close(w);
        buf_free(&bent);
    }
    struct window *w = loaded(&x, &b); /* and one that was saved before there was such a thing */
    put_le((uint8_t *)b.data + 4, 1, 4);
    CHECK_EQ(window_load(w, b.data, before, VOCABULARY, NULL), 0);
    CHECK(!figures(w).can_undo && figures(w).before == 0);
    window_close(w);
    buf_free(&b);
}

/* ------------------------------------------------------------------ a window that begins with a summary */

TEST(an_empty_window_may_begin_with_a_summary_and_no_other)
{
    static struct world x;
    const struct window_ref summed = {.first = 3, .last = 41, .messages = 12, .tokens = 900};
    struct window_ref bad[] = {{0}, {0, 41, 12, 900}, {42, 41, 12, 900}, {3, 41, 0, 900}, {3, 41, -1, 900}};
    struct window_figures f;
    struct window_call c;
    CHECK(open_world(&x, 3));
    x.mock.size[50] = 25;
    for (size_t i = 0; i < COUNT_OF(bad); i++) CHECK_EQ(window_begin(x.w, 50, 0, &bad[i], false, NULL), WINDOW_BAD);
    CHECK_EQ(window_begin(x.w, 0, 0, &summed, false, NULL), WINDOW_BAD);
    CHECK_EQ(window_begin(x.w, 50, 0, &summed, true, NULL), 0);
    window_figures(x.w, &f);
    CHECK_EQ(f.summary, 50);
    CHECK_EQ(f.part[WINDOW_SUMMARY], 25);
    CHECK_EQ(f.extractive, 1);
    CHECK_MEM(&f.summed, &summed, sizeof summed);
    CHECK_EQ(window_last_id(x.w), 41);
    CHECK_EQ(window_begin(x.w, 51, 0, &summed, true, NULL), WINDOW_BAD);
    CHECK_EQ(window_append(x.w, WINDOW_USER, 41, 0, NULL), WINDOW_BAD);
    CHECK_EQ(window_append(x.w, WINDOW_USER, 42, 0, NULL), 0);
    CHECK_EQ(window_build(x.w, &c, NULL), 0);
    bool there = false;
    for (size_t i = 0; i < c.n; i++) there |= c.items[i].part == WINDOW_SUMMARY && c.items[i].ref.last == 41;
    CHECK(there);
    struct buf b = saved(x.w, VOCABULARY);
    struct window *w = loaded(&x, &b);
    check_same(x.w, w);
    window_close(w);
    window_close(x.w);
    buf_free(&b);
    CHECK(open_world(&x, 3));
    CHECK_EQ(window_append(x.w, WINDOW_USER, 1, 0, NULL), 0);
    CHECK_EQ(window_begin(x.w, 50, 0, &summed, false, NULL), WINDOW_BAD);
    window_close(x.w);
}

CHECK_MAIN
