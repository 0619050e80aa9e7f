/* Tens of thousands of random sessions (PLIMSOLL_FULL=1: ten times as many): no list is ever over its limit, nothing is
 * lost, units leave whole, the front stays between compactions.  Texts are sizes here; test_window_texts.c has real
 * ones, and a real tokenizer. */
#include "memory/window.h"
#include "tests/check.h"
#include "tests/test_window_mock.h"
#include <inttypes.h>

enum { MESSAGES = 1500, LIST = 4096 };

struct said { enum window_kind kind; int results; int64_t tokens; };

struct world {
    uint64_t seed;
    struct mock mock;
    struct window_limits l;
    struct window *w;
    struct said said[MESSAGES];
    uint64_t n_said, n_texts;  /* ids 1 .. n_said are messages; texts count down from the top */
    struct window_item last[LIST]; /* the call before */
    size_t n_last;
    bool excused; /* something happened since that may change the front */
    uint64_t pins[8];
    int n_pins;
};

static uint64_t calls, refused, cuts, stubs, commits, undone, exchanges, drops;

static uint64_t next(struct world *x)
{
    x->seed ^= x->seed << 13;
    x->seed ^= x->seed >> 7;
    x->seed ^= x->seed << 17;
    return x->seed;
}
static int64_t below(struct world *x, int64_t n) { return (int64_t)(next(x) % (uint64_t)n); }

/* 1 .. about most, each order of magnitude as likely as another. */
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

/* ------------------------------------------------------------------ what must be so */

static bool by_id(const struct window_item *it)
{
    return it->part == WINDOW_HISTORY || it->part == WINDOW_RESULTS || it->part == WINDOW_TASK;
}

/* Each message is in the list by its id, or in the count of exactly one range; and so are its tokens. */
static void nothing_is_lost(const struct world *x, const struct window_call *c)
{
    int64_t messages = 0, tokens = 0, all = 0;
    static bool seen[MESSAGES + 1];
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < c->n; i++) {
        const struct window_item *it = &c->items[i];
        bool whole = by_id(it) && it->ref.messages == 0;
        messages += whole ? 1 : it->ref.messages;
        tokens += whole ? x->said[it->id - 1].tokens : it->ref.tokens;
        if (by_id(it)) {
            CHECK(it->id >= 1 && it->id <= x->n_said && !seen[it->id]);
            seen[it->id] = true;
        }
    }
    for (uint64_t id = 1; id <= x->n_said; id++) {
        all += x->said[id - 1].tokens;
        bool found = seen[id];
        for (size_t i = 0; i < c->n && !found; i++)
            found = c->items[i].ref.messages > 0 && c->items[i].ref.first <= id && id <= c->items[i].ref.last;
        CHECK(found);
    }
    CHECK_EQ(messages, x->n_said);
    CHECK_EQ(tokens, all);
}

static void units_are_whole(const struct world *x, const struct window_call *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct window_item *it = &c->items[i];
        if (it->part != WINDOW_RESULTS) continue;
        CHECK(x->said[it->id - 1].kind == WINDOW_CALL);
        int results = x->said[it->id - 1].results;
        for (int k = 1; k <= results; k++) {
            CHECK(i + (size_t)k < c->n);
            CHECK_EQ(c->items[i + (size_t)k].part, WINDOW_RESULTS);
            CHECK_EQ(c->items[i + (size_t)k].id, it->id + (uint64_t)k);
        }
        i += (size_t)results;
    }
}

static bool same(const struct window_item *a, const struct window_item *b)
{
    return a->part == b->part && a->id == b->id && memcmp(&a->ref, &b->ref, sizeof a->ref) == 0;
}

static void front_is_in_order(const struct world *x, const struct window_call *c)
{
    int pins = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (i > 0 && c->items[i - 1].part < WINDOW_TASK) CHECK(c->items[i].part >= c->items[i - 1].part);
        if (c->items[i].part != WINDOW_PINNED) continue;
        CHECK(pins < x->n_pins);
        CHECK_EQ(c->items[i].id, x->pins[pins++]); /* each pin, as it is, in its order */
        CHECK_EQ(c->items[i].ref.messages, 0);
    }
    CHECK_EQ(pins, x->n_pins);
}

static void newest_is_there(const struct world *x, const struct window_call *c)
{
    uint64_t newest = x->n_said;
    while (newest > 0 && x->said[newest - 1].kind == WINDOW_NOTE) newest--;
    if (newest == 0) return;
    bool found = false;
    for (size_t i = 0; i < c->n && !found; i++)
        found = c->items[i].id == newest || (c->items[i].part == WINDOW_REFERENCE && c->items[i].ref.last == newest &&
                                             c->items[i].ref.first + (uint64_t)c->items[i].ref.messages == newest + 1);
    CHECK(found);
}

static void drain(struct world *x)
{
    struct window_event e;
    while (window_next_event(x->w, &e)) {
        bool known = false; /* a message that stands in was in the call before */
        for (size_t i = 0; i < x->n_last; i++)
            known |= by_id(&x->last[i]) && x->last[i].id >= e.ref.first && x->last[i].id <= e.ref.last;
        if (e.kind == WINDOW_STOOD_IN ? known : e.kind <= WINDOW_UNDONE || e.kind == WINDOW_FRONT_CHANGED)
            x->excused = true;
        cuts += e.kind == WINDOW_LEFT;
        stubs += e.kind == WINDOW_STOOD_IN;
    }
}

static void refusal_is_true(struct world *x, const struct window_figures *before)
{
    struct window_figures after;
    struct window_event e;
    window_figures(x->w, &after);
    CHECK_MEM(before, &after, sizeof after); /* as it was */
    int64_t front = after.part[WINDOW_SYSTEM] + after.part[WINDOW_TOOLS] + after.part[WINDOW_PINNED];
    int64_t task = 0;
    for (uint64_t i = 0; i < x->n_said; i++)
        if (x->said[i].kind == WINDOW_NOTE) task = MAX(task, x->said[i].tokens);
    int64_t seams = x->mock.seam * (x->n_pins + 8);
    CHECK(front + task + 4 * (MOCK_LINE + MOCK_HEAD + 3) + seams > after.limit); /* only front and lines are too much */
    bool told = false;
    while (window_next_event(x->w, &e)) told |= e.kind == WINDOW_REFUSED;
    CHECK(told);
    refused++;
}

static void call(struct world *x)
{
    struct window_call c;
    struct window_figures before;
    struct err err = {0};
    drain(x);
    window_figures(x->w, &before);
    int rc = window_build(x->w, &c, &err);
    if (rc) {
        CHECK_EQ(rc, WINDOW_NEVER_FITS);
        refusal_is_true(x, &before);
        return;
    }
    drain(x);
    calls++;
    int64_t exact;
    CHECK_EQ(mock_tokens(&x->mock, c.items, c.n, &exact), 0);
    CHECK_EQ(c.tokens, exact);
    CHECK(exact + x->l.answer + x->l.thinking <= x->l.ctx); /* the bound */
    CHECK(exact <= c.limit);
    nothing_is_lost(x, &c);
    units_are_whole(x, &c);
    front_is_in_order(x, &c);
    newest_is_there(x, &c);
    size_t kept = 0;
    while (kept < c.n && kept < x->n_last && same(&c.items[kept], &x->last[kept])) kept++;
    CHECK_EQ(c.kept, kept);
    CHECK_EQ(c.broke, kept < x->n_last);
    if (!x->excused) CHECK(!c.broke);
    CHECK(c.n <= LIST);
    memcpy(x->last, c.items, c.n * sizeof *c.items);
    x->n_last = c.n;
    x->excused = false;
}

/* ------------------------------------------------------------------ what happens */

static void say(struct world *x, enum window_kind kind, int results, int64_t tokens)
{
    uint64_t id = x->n_said + 1;
    x->mock.size[id] = tokens;
    CHECK_EQ(window_append(x->w, kind, id, results, NULL), 0);
    x->said[x->n_said++] = (struct said){kind, results, tokens};
}

static void say_something(struct world *x)
{
    int64_t size = below(x, 30) ? log_uniform(x, x->l.ctx / 4) : log_uniform(x, 20 * x->l.ctx);
    int results = (int)(below(x, 20) ? 1 + below(x, 3) : 1 + below(x, 60));
    switch (below(x, 6)) {
    case 0: say(x, WINDOW_USER, 0, size); return;
    case 1: say(x, WINDOW_ANSWER, 0, size); return;
    case 2: say(x, WINDOW_NOTE, 0, 1 + below(x, 6)); return;
    default: break;
    }
    say(x, WINDOW_CALL, results, below(x, 40) ? 1 + below(x, 9) : size);
    while (results-- > 0) say(x, WINDOW_RESULT, 0, below(x, 9) ? size : log_uniform(x, 4 * x->l.ctx));
}

static void undo(struct world *x)
{
    struct window_figures f;
    window_figures(x->w, &f);
    CHECK_EQ(window_undo(x->w, NULL), f.can_undo ? 0 : WINDOW_STALE);
    undone += f.can_undo;
}

static void undo_at_once(struct world *x, const struct window_figures *before)
{
    struct window_figures f;
    CHECK_EQ(window_undo(x->w, NULL), 0);
    undone++;
    window_figures(x->w, &f);
    CHECK_MEM(before->part, f.part, sizeof f.part);
    CHECK_MEM(&before->summed, &f.summed, sizeof f.summed);
    CHECK_MEM(&before->cut, &f.cut, sizeof f.cut);
    CHECK_EQ(f.summary, before->summary);
    CHECK(!window_due(x->w));
}

static void compact(struct world *x)
{
    struct window_proposal p;
    struct window_figures a, b;
    struct err err = {0};
    int rc = window_propose(x->w, &p, &err);
    if (rc) {
        CHECK_EQ(rc, WINDOW_NO_GAIN);
        CHECK(!window_due(x->w)); /* no loop */
        return;
    }
    CHECK(p.range.messages > 0);
    if (p.n > 0) {
        int64_t exact;
        mock_tokens(&x->mock, p.items, p.n, &exact);
        CHECK_EQ(exact, p.tokens);
        CHECK(exact + p.max_tokens <= x->l.ctx); /* the exchange fits too */
        CHECK_EQ(p.items[p.n - 1].part, WINDOW_REQUEST);
        CHECK(p.prefill >= 0 && p.prefill <= p.tokens);
        exchanges++;
    }
    if (below(x, 4) == 0) say(x, WINDOW_ANSWER, 0, 5); /* somebody spoke meanwhile */
    window_figures(x->w, &a);
    rc = window_commit(x->w, new_text(x, 1 + below(x, 2 * x->l.summary)), (size_t)below(x, 5), below(x, 2), &err);
    window_figures(x->w, &b);
    if (rc == 0) {
        commits++;
        CHECK(b.used < a.used);
        CHECK(!window_due(x->w));
        CHECK_EQ(b.cut.messages, 0);
        CHECK_EQ(b.part[WINDOW_PINNED], a.part[WINDOW_PINNED]);
        if (below(x, 8) == 0) undo_at_once(x, &a);
        return;
    }
    CHECK_EQ(rc, WINDOW_NO_GAIN);
    CHECK_MEM(&a, &b, sizeof a);
    window_abandon(x->w);
    CHECK(!window_due(x->w));
}

static void pin(struct world *x)
{
    if (x->n_pins == 8 || (x->n_pins > 0 && below(x, 3))) {
        int i = (int)below(x, x->n_pins);
        CHECK_EQ(window_remove(x->w, WINDOW_PINNED, x->pins[i], NULL), 0);
        for (x->n_pins--; i < x->n_pins; i++) x->pins[i] = x->pins[i + 1];
    } else {
        x->pins[x->n_pins] = new_text(x, log_uniform(x, x->l.ctx / 8));
        CHECK_EQ(window_add(x->w, WINDOW_PINNED, x->pins[x->n_pins], NULL), 0);
        x->n_pins++;
    }
}

/* Somebody wants a message out: it is a line then, and what it was is counted in that. */
static void drop(struct world *x)
{
    struct window_figures a, b;
    int64_t freed = 0;
    uint64_t id = x->n_said + 1 - (uint64_t)below(x, (int64_t)MIN(x->n_said + 1, 12u)); /* mostly there */
    window_figures(x->w, &a);
    int rc = window_drop(x->w, id, &freed, NULL);
    window_figures(x->w, &b);
    if (rc) CHECK(rc == WINDOW_BAD || rc == WINDOW_NO_GAIN);
    if (rc) CHECK_MEM(&a, &b, sizeof a);
    if (rc) return;
    drops++;
    CHECK(freed > 0);
    CHECK_EQ(a.used - b.used, freed);
    CHECK_EQ(window_drop(x->w, id, NULL, NULL), WINDOW_BAD); /* it is a line already */
}

static bool open_world(struct world *x, uint64_t seed)
{
    memset(x, 0, sizeof *x);
    x->seed = seed * 0x9e3779b97f4a7c15u | 1;
    for (int i = 0; i < 8; i++) next(x);
    x->mock.seam = (int)below(x, 4);
    int64_t ctx = 150 + log_uniform(x, 20000);
    x->l = (struct window_limits){.ctx = ctx, .closing = 3, .gain = 1 + (int)below(x, 500)};
    x->l.answer = 1 + below(x, ctx / 4);
    x->l.thinking = below(x, 2) * (8 + below(x, ctx / 6));
    x->l.summary = 1 + below(x, ctx / 6);
    x->l.low = 1 + (int)below(x, 800);
    x->l.high = x->l.low + 1 + (int)below(x, 1000 - x->l.low);
    return window_open(&x->w, &x->l, mock_count(&x->mock), NULL) == 0;
}

static void session(struct world *x, uint64_t seed, int steps)
{
    if (!open_world(x, seed)) return; /* reserves leave nothing: refused, and that is right */
    CHECK_EQ(window_add(x->w, WINDOW_SYSTEM, new_text(x, log_uniform(x, x->l.ctx / 6)), NULL), 0);
    if (below(x, 2)) CHECK_EQ(window_add(x->w, WINDOW_TOOLS, new_text(x, log_uniform(x, x->l.ctx / 6)), NULL), 0);
    int manners = (int)below(x, 3); /* 0: never compacts */
    while (steps-- > 0 && x->n_said + 70 < MESSAGES) {
        for (int64_t n = 1 + (below(x, 10) ? 0 : below(x, 8)); n-- > 0 && x->n_said + 70 < MESSAGES;) say_something(x);
        if (manners && window_due(x->w)) compact(x);
        else if (below(x, 60) == 0) compact(x);
        if (below(x, 50) == 0) pin(x);
        if (below(x, 80) == 0) (void)window_clear(x->w, NULL);
        if (below(x, 30) == 0) undo(x);
        if (below(x, 8) == 0 && x->n_said > 0) drop(x);
        call(x);
    }
    window_close(x->w);
}

static uint64_t rounds(void) { return getenv("PLIMSOLL_FULL") ? 10 : 1; }

TEST(window_never_breaks_its_bound_in_random_sessions)
{
    static struct world x;
#ifdef __SANITIZE_ADDRESS__
    enum { SESSIONS = 6000 };
#else
    enum { SESSIONS = 30000 };
#endif
    uint64_t n = SESSIONS * rounds();
    for (uint64_t seed = 1; seed <= n; seed++) session(&x, seed, 40);
    printf("# %" PRIu64 " calls, %" PRIu64 " refused, %" PRIu64 " cuts, %" PRIu64 " stand-ins, %" PRIu64
           " exchanges, %" PRIu64 " commits, %" PRIu64 " drops, %" PRIu64 " undone\n",
           calls, refused, cuts, stubs, exchanges, commits, drops, undone);
    CHECK(calls > 20 * n && refused > n / 50 && cuts > n && stubs > n); /* all happened */
    CHECK(exchanges > n && commits > n / 2 && undone > n / 4 && drops > n / 4);
}

TEST(window_never_breaks_its_bound_in_long_sessions)
{
    static struct world x;
    for (uint64_t seed = 1; seed <= 40 * rounds(); seed++) session(&x, 1000000 + seed, 1000);
}

CHECK_MAIN
