/* Pages: promised, held, shared, cached; never lost, never in two hands by mistake. */
#include "tests/kv_rig.h"
#include "tests/tiny_model.h"

/* ------------------------------------------------------------------ promises */

TEST(kv_admit_promises_whole_pages_and_refuses_beyond_the_pool)
{
    struct kv *kv = open_kv(1, 4, 3, 4);
    CHECK(admit(kv, 0, 2 * P + 1, NULL, 0, 0)); /* three pages */
    CHECK(!admit(kv, 1, P + 1, NULL, 0, 0));    /* two more than are left */
    CHECK(admit(kv, 1, P, NULL, 0, 0));
    CHECK_EQ(kv_count(kv).reserved, 4);
    CHECK_EQ(kv_count(kv).held, 0);
    kv_drop(kv, 0);
    CHECK(admit(kv, 2, 3 * P, NULL, 0, 0));
    kv_close(kv);
}

TEST(kv_grow_takes_a_page_only_when_a_token_needs_it)
{
    struct kv *kv = open_kv(1, 4, 1, 4);
    CHECK(admit(kv, 0, 40, NULL, 0, 0));
    kv_grow(kv, 0, 16);
    CHECK_EQ(kv_count(kv).held, 1);
    kv_grow(kv, 0, 17);
    CHECK_EQ(kv_count(kv).held, 2);
    CHECK_EQ(kv_count(kv).tokens, 17);
    const int32_t *t = kv_table(kv, 0);
    CHECK(t[0] >= 0 && t[1] >= 0 && t[0] != t[1] && t[2] == -1);
    kv_drop(kv, 0);
    CHECK_EQ(kv_count(kv).held + kv_count(kv).reserved + (int)kv_count(kv).tokens, 0);
    kv_close(kv);
}

/* ------------------------------------------------------------------ sharing */

TEST(kv_a_prompt_that_begins_like_a_known_one_holds_its_pages)
{
    struct kv *kv = open_kv(1, 16, 3, 8);
    CHECK(admit(kv, 0, 5 * P, text(3 * P + 5, 0, 4 * P), 4 * P, 0));
    fill(kv, 0, text(3 * P + 5, 0, 4 * P), 4 * P);
    CHECK(admit(kv, 1, 5 * P, text(3 * P + 5, 1, 4 * P), 4 * P, 3 * P)); /* whole pages alone */
    const int32_t *t = kv_table(kv, 0), *u = t + kv_stride(kv);
    for (int i = 0; i < 3; i++) CHECK_EQ(t[i], u[i]);
    CHECK_EQ(u[3], -1);
    struct kv_count c = kv_count(kv);
    CHECK_EQ(c.held, 4);
    CHECK_EQ(c.shared, 3);
    CHECK_EQ(c.reserved, 4 + 1 + 2); /* the shared ones count once */
    CHECK_EQ(c.tokens, 4 * P);
    CHECK_EQ(c.reused, 3 * P);
    fill(kv, 1, text(3 * P + 5, 1, 4 * P), 4 * P);
    CHECK(t[3] != u[3]);
    kv_drop(kv, 0);
    sound(kv);
    CHECK_EQ(kv_count(kv).cached, 1); /* the fourth page of the first; three are held still */
    kv_close(kv);
}

TEST(kv_the_last_token_is_always_computed)
{
    struct kv *kv = open_kv(1, 16, 2, 8);
    const int32_t *ids = text(2 * P, 0, 2 * P);
    CHECK(admit(kv, 0, 2 * P, ids, 2 * P, 0));
    fill(kv, 0, ids, 2 * P);
    CHECK(admit(kv, 1, 3 * P, ids, 2 * P, P)); /* its logits are wanted, so its page is computed again */
    kv_drop(kv, 1);
    CHECK(admit(kv, 1, 3 * P, text(2 * P, 0, 2 * P + 1), 2 * P + 1, 2 * P));
    kv_close(kv);
}

/* The same page after another one is another page: the small pool has few buckets, so that they meet in one. */
TEST(kv_equal_pages_after_different_ones_are_not_shared)
{
    int32_t one[2 * P], two[2 * P + 1];
    for (int round = 0; round < 64; round++) {
        struct kv *kv = open_kv(1, 4, 3, 4);
        for (int i = 0; i < 2 * P; i++) {
            one[i] = i < P ? round * P + i : 7;
            two[i] = i < P ? 50000 + round * P + i : 7;
        }
        two[2 * P] = 8;
        CHECK(admit(kv, 0, 2 * P, one, 2 * P, 0));
        fill(kv, 0, one, 2 * P);
        kv_drop(kv, 0);
        CHECK(admit(kv, 1, P, two, P, 0));
        fill(kv, 1, two, P);
        CHECK(admit(kv, 2, 2 * P + 1, two, 2 * P + 1, P));
        kv_close(kv);
    }
}

TEST(kv_what_was_not_computed_is_not_known)
{
    struct kv *kv = open_kv(1, 16, 2, 8);
    const int32_t *ids = text(4 * P, 0, 4 * P);
    CHECK(admit(kv, 0, 4 * P, ids, 4 * P, 0));
    kv_grow(kv, 0, 3 * P);
    kv_know(kv, 0, ids, 2 * P); /* the pass over the third page failed, say */
    CHECK(admit(kv, 1, 4 * P, ids, 4 * P, 2 * P));
    kv_close(kv);
}

TEST(kv_a_turn_that_goes_on_finds_the_last_one_and_its_answer)
{
    struct kv *kv = open_kv(1, 16, 1, 8);
    const int32_t *ids = text(7 * P, 0, 7 * P);
    CHECK(admit(kv, 0, 4 * P, ids, 2 * P + 3, 0));
    fill(kv, 0, ids, 2 * P + 3);
    for (int n = 2 * P + 4; n <= 3 * P + 2; n++) fill(kv, 0, ids, n); /* its answer */
    kv_drop(kv, 0);
    CHECK_EQ(kv_count(kv).cached, 3);
    CHECK(admit(kv, 0, 7 * P, ids, 5 * P, 3 * P));
    kv_close(kv);
}

TEST(kv_two_that_compute_the_same_at_once_end_with_one_page)
{
    struct kv *kv = open_kv(1, 8, 2, 4);
    const int32_t *ids = text(3 * P, 0, 3 * P);
    CHECK(admit(kv, 0, 3 * P, ids, 3 * P, 0));
    CHECK(admit(kv, 1, 3 * P, ids, 3 * P, 0)); /* nothing is known yet */
    kv_grow(kv, 0, 2 * P);
    kv_grow(kv, 1, 2 * P);
    CHECK_EQ(kv_count(kv).held, 4);
    kv_know(kv, 0, ids, 2 * P);
    kv_know(kv, 1, ids, 2 * P);
    sound(kv);
    CHECK_EQ(kv_count(kv).held, 2);
    CHECK_EQ(kv_count(kv).shared, 2);
    CHECK_EQ(kv_table(kv, 0)[1], kv_table(kv, 0)[kv_stride(kv) + 1]);
    kv_close(kv);
}

TEST(kv_room_comes_from_the_longest_unused_and_from_the_end_of_a_sequence)
{
    struct kv *kv = open_kv(1, 6, 1, 6);
    for (int own = 0; own < 2; own++) { /* two sequences of three pages, one after the other: the pool is full */
        CHECK(admit(kv, 0, 3 * P, text(0, own, 3 * P), 3 * P, 0));
        fill(kv, 0, text(0, own, 3 * P), 3 * P);
        kv_drop(kv, 0);
    }
    CHECK_EQ(kv_count(kv).cached, 6);
    CHECK(admit(kv, 0, 2 * P, text(0, 9, 2 * P), 2 * P, 0)); /* the first one's last two pages go */
    fill(kv, 0, text(0, 9, 2 * P), 2 * P);
    kv_drop(kv, 0);
    CHECK_EQ(kv_count(kv).evicted, 2);
    CHECK(admit(kv, 0, 6 * P, text(0, 0, 3 * P), 3 * P, P));
    kv_drop(kv, 0);
    CHECK(admit(kv, 0, 6 * P, text(0, 1, 3 * P + 1), 3 * P + 1, 3 * P));
    kv_drop(kv, 0);
    kv_forget(kv);
    sound(kv);
    CHECK_EQ(kv_count(kv).cached, 0);
    CHECK(admit(kv, 0, 6 * P, text(0, 1, 3 * P + 1), 3 * P + 1, 0));
    kv_close(kv);
}

TEST(kv_pages_that_sleep_are_counted_when_they_are_woken)
{
    struct kv *kv = open_kv(1, 4, 2, 4);
    const int32_t *ids = text(3 * P + 1, 0, 3 * P + 1);
    CHECK(admit(kv, 0, 3 * P, ids, 3 * P, 0));
    fill(kv, 0, ids, 3 * P);
    kv_drop(kv, 0);
    CHECK(admit(kv, 0, 2 * P, NULL, 0, 0)); /* promised two of four, where three are cached */
    CHECK(!admit(kv, 1, 3 * P + 1, ids, 3 * P + 1, 0)); /* three to wake and one new: no */
    CHECK_EQ(kv_count(kv).cached, 3);
    kv_grow(kv, 0, 2 * P);
    sound(kv);
    CHECK_EQ(kv_count(kv).evicted, 1);
    kv_close(kv);
}

/* ------------------------------------------------------------------ chance */

/* A random life of a small pool.  Every sequence's text is one of a few that begin alike, so that pages are shared,
 * cached, woken and evicted all the time; after each step everything is counted anew. */
enum { PAGES = 19, SLOTS = 5, ROW = 9, PASS = 21 };

struct life {
    int promised, most, prompt, filled, computed, own, common;
    uint8_t kind[ROW * P];
};

struct world {
    struct kv_config cfg;
    struct kv *kv;
    struct life life[SLOTS];
    uint32_t seed;
    int usable;
    uint64_t shared, slid, restored, shrunk; /* tokens; pages given back on the way; times; times */
};

static struct kv_ask random_ask(struct world *w, struct life *q, int slot)
{
    uint32_t *seed = &w->seed;
    q->most = 1 + tiny_below(seed, ROW * P);
    q->prompt = 1 + tiny_below(seed, q->most);
    q->promised = tiny_below(seed, 2) ? q->most : q->prompt + tiny_below(seed, q->most - q->prompt + 1);
    q->common = tiny_below(seed, 3) * 2 * P;
    q->own = tiny_below(seed, 3);
    const int32_t *ids = text(q->common, q->own, ROW * P);
    for (int i = 0; i < ROW * P; i++) q->kind[i] = (uint8_t)(ids[i] % KV_KINDS);
    struct kv_ask ask = {.tokens = q->promised, .most = q->most, .ids = tiny_below(seed, 8) ? ids : NULL,
                         .n = q->prompt, .kind = q->kind, .agent = slot};
    for (int g = 0; g < w->cfg.groups; g++) ask.spare[g] = tiny_below(seed, 8) ? 0 : tiny_below(seed, 4);
    return ask;
}

/* Into an empty slot, if it goes in; sometimes as one that was parked. */
static void begin_life(struct world *w, int slot)
{
    struct life *q = &w->life[slot];
    struct kv_ask ask = random_ask(w, q, slot);
    struct kv_count before = kv_count(w->kv);
    int shared;
    if (!kv_admit(w->kv, slot, &ask, &shared)) {
        struct kv_count after = kv_count(w->kv);
        CHECK_MEM(&before, &after, sizeof before);
        q->promised = 0;
        return;
    }
    CHECK(shared < q->prompt && shared % P == 0);
    for (int g = 0; g < w->cfg.groups; g++) {
        struct kv_count c = kv_group_count(w->kv, g);
        CHECK(c.reserved + ask.spare[g] <= c.usable);
    }
    w->shared += (uint64_t)shared;
    q->filled = q->computed = shared;
    if (tiny_below(&w->seed, 4)) return;
    q->filled = q->computed = shared + tiny_below(&w->seed, q->promised - shared + 1);
    kv_restore(w->kv, slot, q->filled);
    w->restored++;
}

static bool has_states(const struct world *w) { return w->cfg.group[w->cfg.groups - 1].states; }

static void go_on_with_life(struct world *w, int slot)
{
    struct life *q = &w->life[slot];
    uint32_t *seed = &w->seed;
    if (tiny_below(seed, 4) == 0) {
        int wants = q->promised + tiny_below(seed, q->most - q->promised + 1);
        if (kv_promise(w->kv, slot, wants)) q->promised = wants;
    }
    q->filled += tiny_below(seed, MIN(q->promised, q->computed + PASS) - q->filled + 1);
    kv_grow(w->kv, slot, q->filled);
    if (!has_states(w) && tiny_below(seed, 3) == 0) {
        const int less = q->computed + tiny_below(seed, q->filled - q->computed + 1);
        w->shrunk += less < q->filled;
        q->filled = less;
        kv_shrink(w->kv, slot, less);
    }
    const int some = tiny_below(seed, 8);
    if (some == 0 && !has_states(w)) return;
    if (some == 1) kv_keep(w->kv, slot, q->filled);
    int held = kv_slot_count(w->kv, slot).held;
    kv_know(w->kv, slot, text(q->common, q->own, q->filled), q->filled);
    w->slid += (uint64_t)(held - kv_slot_count(w->kv, slot).held);
    q->computed = q->filled;
}

static void check_tables(const struct world *w)
{
    for (int g = 0; g < w->cfg.groups; g++) {
        int window = w->cfg.group[g].window;
        for (int i = 0; i < SLOTS; i++) {
            const struct life *q = &w->life[i];
            int first = window && q->computed >= window ? (q->computed - window + 1) / P : 0;
            int end = (q->filled + P - 1) / P, n = 0;
            for (int p = 0; p < ROW; p++) {
                bool there = kv_table(w->kv, g)[i * ROW + p] >= 0;
                const bool may = q->promised && p >= first && p < end;
                if (w->cfg.group[g].states) CHECK(may || !there);
                else CHECK_EQ(there, may);
                n += there;
            }
            if (w->cfg.group[g].states) {
                CHECK(n <= KV_STATE_PAGES && (end == 0 || !q->promised || kv_table(w->kv, g)[i * ROW + end - 1] >= 0));
                continue;
            }
            if (window) CHECK(n <= (window + PASS + P - 1) / P + 1);
        }
    }
}

static void live(struct kv_config cfg, const char *name)
{
    static struct world w;
    w = (struct world){.cfg = cfg, .seed = 7, .usable = 4, .kv = kv_open(&cfg, NULL)};
    for (int g = 0; g < cfg.groups; g++) kv_limit(w.kv, g, w.usable);
    for (int round = 0; round < 40000; round++) {
        int s = tiny_below(&w.seed, SLOTS);
        if (w.life[s].promised == 0) {
            begin_life(&w, s);
        } else if (tiny_below(&w.seed, 4) == 0) {
            kv_drop(w.kv, s);
            w.life[s].promised = 0;
        } else {
            go_on_with_life(&w, s);
        }
        if (tiny_below(&w.seed, 2000) == 0) kv_forget(w.kv);
        if (w.usable < PAGES && tiny_below(&w.seed, 500) == 0) {
            w.usable++;
            for (int g = 0; g < cfg.groups; g++) kv_limit(w.kv, g, MIN(w.usable, cfg.group[g].pages));
        }
        sound(w.kv);
        check_tables(&w);
    }
    struct kv_count c = kv_count(w.kv);
    printf("  %s: shared %llu tokens, evicted %llu, gave back %llu pages, restored %llu times\n", name,
           (unsigned long long)w.shared, (unsigned long long)c.evicted, (unsigned long long)w.slid,
           (unsigned long long)w.restored);
    CHECK(has_states(&w) || w.shrunk > 1000);
    CHECK(w.shared > 1000 && c.reused == w.shared && c.evicted > 1000 && w.usable == PAGES && w.restored > 100);
    kv_close(w.kv);
}

TEST(kv_is_sound_whatever_happens)
{
    static const struct { const char *name; int groups; struct kv_group group[KERN_GROUPS]; } shape[] = {
        {"all", 1, {{.pages = PAGES}}},
        {"all, twice", 2, {{.pages = PAGES}, {.pages = PAGES - 3}}},
        {"window 1", 1, {{.pages = PAGES, .window = 1}}},
        {"window 17", 1, {{.pages = PAGES, .window = 17}}},
        {"window 40", 1, {{.pages = PAGES, .window = 40}}},
        {"all and window 30", 2, {{.pages = PAGES}, {.pages = PAGES - 6, .window = 30}}},
        {"windows 16 and 50, and all", 3,
         {{.pages = PAGES - 9, .window = 16}, {.pages = PAGES, .window = 50}, {.pages = PAGES}}},
        {"all and states", 2, {{.pages = PAGES}, {.pages = PAGES - 3, .window = P + 1, .states = true}}},
        {"states and a window", 2, {{.pages = PAGES, .window = 40}, {.pages = PAGES, .window = P + 1, .states = true}}},
    };
    for (size_t i = 0; i < COUNT_OF(shape); i++) {
        struct kv_config cfg = {.groups = shape[i].groups, .rows = PASS, .slots = SLOTS, .ctx = ROW * P};
        memcpy(cfg.group, shape[i].group, sizeof cfg.group);
        live(cfg, shape[i].name);
    }
}

/* What a pass tried and nothing came of: its tokens count no more, and its pages are promised again. */
TEST(kv_shrink_gives_back_what_was_taken_and_keeps_the_promise)
{
    static const uint8_t kind[4 * P] = {[P + 2] = 3, [P + 3] = 3, [2 * P] = 2};
    struct kv *kv = open_kv(2, 6, 2, 6);
    int shared;
    CHECK(kv_admit(kv, 0, &(struct kv_ask){.tokens = 4 * P, .kind = kind}, &shared));
    CHECK(kv_admit(kv, 1, &(struct kv_ask){.tokens = 2 * P}, &shared));
    fill(kv, 0, text(0, 1, P + 3), P + 3);
    const struct kv_count before = kv_count(kv);
    const struct kv_slot_count slot = kv_slot_count(kv, 0);
    const int third = kv_table(kv, 0)[2];
    kv_grow(kv, 0, 3 * P + 1);
    const int page = kv_table(kv, 0)[2];
    CHECK(kv_count(kv).held == before.held + 2 && kv_slot_count(kv, 0).own[3] == 2 && third < 0 && page >= 0);
    kv_shrink(kv, 0, P + 3);
    sound(kv);
    const struct kv_count after = kv_count(kv);
    const struct kv_slot_count again = kv_slot_count(kv, 0);
    CHECK_MEM(&before, &after, sizeof before);
    CHECK_MEM(&slot, &again, sizeof slot);
    CHECK_EQ(kv_table(kv, 0)[2], -1);
    kv_shrink(kv, 0, P + 3); /* nothing was tried */
    fill(kv, 0, text(0, 1, 4 * P), 4 * P); /* all that was promised is still there to be taken */
    fill(kv, 1, text(0, 2, 2 * P), 2 * P);
    CHECK_EQ(kv_table(kv, 0)[2], page); /* runs stay runs */
    kv_close(kv);
}

/* ------------------------------------------------------------------ states */

static int shared_of(struct kv *kv, const int32_t *ids, int n)
{
    int shared = -1;
    const struct kv_ask ask = {.tokens = n, .ids = ids, .n = n};
    CHECK(kv_admit(kv, 1, &ask, &shared));
    kv_drop(kv, 1);
    return shared;
}

/* In passes of one page each. */
static void run_through(struct kv *kv, const int32_t *ids, int n, int keep)
{
    int shared;
    CHECK(kv_admit(kv, 0, &(struct kv_ask){.tokens = n, .ids = ids, .n = n}, &shared));
    for (int at = shared; at < n; at += P) {
        kv_grow(kv, 0, MIN(at + P, n));
        kv_know(kv, 0, ids, MIN(at + P, n));
        if (at + P == keep) kv_keep(kv, 0, keep);
        sound(kv);
    }
    kv_drop(kv, 0);
    sound(kv);
}

/* Eight states.  Of the first text five are left behind, of which one was to be kept, and one is its end; each of the
 * others leaves as many. */
TEST(states_that_were_left_behind_go_first)
{
    enum { N = 6 * P, TEXTS = 4 };
    struct err err = {0};
    const struct kv_config cfg = {.groups = 2, .rows = P, .slots = 2, .ctx = 10 * P,
                                  .group = {{.pages = 60}, {.pages = 8, .window = P + 1, .states = true}}};
    int32_t ids[TEXTS][N + 1];
    for (int texts = 1; texts <= TEXTS; texts++) {
        struct kv *kv = kv_open(&cfg, &err);
        CHECK_STR(err.text, "");
        for (int k = 0; k < texts; k++) {
            for (int i = 0; i <= N; i++) ids[k][i] = 1000 * k + i;
            run_through(kv, ids[k], N, k ? 0 : 2 * P);
        }
        if (texts > 1) CHECK_EQ(kv_group_count(kv, 1).cached, 8);
        for (int k = 0; k < texts; k++) CHECK_EQ(shared_of(kv, ids[k], N + 1), N);
        CHECK_EQ(shared_of(kv, ids[0], 2 * P + 3), 2 * P);
        if (texts == 1) CHECK_EQ(shared_of(kv, ids[0], 4 * P + 3), 4 * P); /* as long as there is room */
        kv_close(kv);
    }
}

/* ------------------------------------------------------------------ windows */

/* One group of a window of two pages and passes of one: a sequence holds 4 at most, as (31 + 16 + 14) / 16 + 1. */
static struct kv *open_window(int pages, int slots)
{
    struct err err = {0};
    const struct kv_config cfg = {.groups = 1, .group = {{.pages = pages, .window = 2 * P}}, .rows = P, .slots = slots,
                                  .ctx = 40 * P};
    struct kv *kv = kv_open(&cfg, &err);
    CHECK_STR(err.text, "");
    return kv;
}

/* As passes do, from n tokens to another number of them. */
static void pass(struct kv *kv, int slot, const int32_t *ids, int from, int to)
{
    for (int n = from; n < to;) {
        n = MIN(n + P, to);
        fill(kv, slot, ids, n);
    }
}

TEST(kv_a_window_costs_what_it_is_and_a_pass_however_long_the_sequence)
{
    struct kv *kv = open_window(4, 2);
    const int32_t *ids = text(0, 1, 40 * P);
    CHECK_EQ(kv_need(2 * P, P, 40 * P), 4);
    CHECK_EQ(kv_need(2 * P, P, 3 * P), 3);
    CHECK(admit(kv, 0, 40 * P, NULL, 0, 0));
    CHECK_EQ(kv_count(kv).reserved, 4);
    CHECK(!admit(kv, 1, 1, NULL, 0, 0));
    for (int n = 1; n <= 40 * P; n++) { /* the worst: a pass from anywhere in a page */
        pass(kv, 0, ids, n - 1, n);
        struct kv_count c = kv_count(kv);
        CHECK(c.held <= 3 && c.reserved == 4);
        CHECK_EQ(c.tokens, (uint64_t)(n - (n < 2 * P ? 0 : (n - 2 * P + 1) / P * P)));
    }
    CHECK_EQ(kv_table(kv, 0)[37], -1);
    CHECK(kv_table(kv, 0)[38] >= 0);
    kv_drop(kv, 0);
    CHECK_EQ(kv_count(kv).reserved + kv_count(kv).held, 0);
    CHECK(kv_count(kv).cached == 4 && kv_count(kv).evicted == 36);
    kv_close(kv);
}

TEST(kv_a_front_is_shared_if_the_window_before_its_end_is_known)
{
    struct kv *kv = open_window(12, 2);
    const int32_t *ids = text(0, 1, 12 * P);
    CHECK(admit(kv, 0, 10 * P, ids, 10 * P, 0));
    pass(kv, 0, ids, 0, 10 * P);
    kv_drop(kv, 0);
    CHECK_EQ(kv_count(kv).cached, 10); /* all of it */
    CHECK(admit(kv, 0, 4 * P, NULL, 0, 0));
    kv_grow(kv, 0, 4 * P); /* two free ones, and the two that left it first go: pages 0 and 1 */
    CHECK_EQ(kv_count(kv).evicted, 2);
    CHECK(admit(kv, 1, 12 * P, text(0, 1, 12 * P), 10 * P + 1, 10 * P));
    const int32_t *row = kv_table(kv, 0) + kv_stride(kv);
    for (int i = 0; i < 10; i++) CHECK_EQ(row[i] >= 0, i >= 8); /* it sees no others */
    kv_drop(kv, 1);
    CHECK(admit(kv, 1, 5 * P, text(0, 1, 12 * P), 4 * P + 1, 4 * P)); /* pages 2 and 3 are known */
    kv_drop(kv, 1);
    CHECK(admit(kv, 1, 4 * P, text(0, 1, 12 * P), 3 * P + 1, 0)); /* page 1 is not, and nor is page 0 */
    kv_close(kv);
}

/* Two that share pages and both slide: the first leaves them behind, and the second holds them still. */
TEST(kv_pages_that_are_shared_count_in_the_promise_of_each_that_slides)
{
    struct kv *kv = open_window(9, 3);
    const int32_t *ids = text(0, 1, 40 * P);
    CHECK(admit(kv, 0, 40 * P, ids, 3 * P, 0));
    pass(kv, 0, ids, 0, 2 * P);
    CHECK(admit(kv, 1, 40 * P, text(2 * P, 2, 40 * P), 3 * P, 0)); /* of another front */
    CHECK(!admit(kv, 2, 40 * P, text(0, 1, 40 * P), 3 * P, 0));    /* 4 + 4 of 9 are promised: no, though 2 are there */
    CHECK(admit(kv, 2, P, NULL, 0, 0));
    kv_drop(kv, 1);
    kv_drop(kv, 2);
    CHECK(admit(kv, 1, 40 * P, text(0, 1, 40 * P), 3 * P, 2 * P));
    CHECK_EQ(kv_count(kv).reserved, 8);
    CHECK_EQ(kv_count(kv).held, 2);
    CHECK_EQ(kv_would_free(kv, 0, 0), 4);
    pass(kv, 0, text(0, 1, 40 * P), 2 * P, 20 * P);
    CHECK_EQ(kv_count(kv).reserved, 8);
    pass(kv, 1, text(2 * P, 3, 40 * P), 2 * P, 20 * P);
    kv_drop(kv, 0);
    CHECK_EQ(kv_count(kv).reserved, 4);
    kv_close(kv);
}

/* One that will never need more than the bound shares for nothing while another like it holds the pages. */
TEST(kv_short_ones_share_as_without_a_window)
{
    struct kv *kv = open_window(6, 3);
    const int32_t *ids = text(4 * P, 1, 4 * P);
    CHECK(admit(kv, 0, 4 * P, ids, 4 * P, 0));
    pass(kv, 0, ids, 0, 2 * P);
    CHECK(admit(kv, 1, 4 * P, ids, 2 * P + 1, 2 * P));
    CHECK_EQ(kv_count(kv).reserved, 4 + 2);
    CHECK_EQ(kv_would_free(kv, 0, 0), 2);
    pass(kv, 0, ids, 2 * P, 4 * P); /* it leaves two pages behind, which the other holds still */
    CHECK_EQ(kv_count(kv).reserved, 6);
    kv_drop(kv, 1);
    CHECK_EQ(kv_count(kv).reserved, 2);
    kv_close(kv);
}

/* ------------------------------------------------------------------ promises in parts, owners */

TEST(kv_promise_adds_what_is_free_and_refuses_what_is_not)
{
    struct kv *kv = open_kv(1, 5, 2, 5);
    int shared;
    CHECK(kv_admit(kv, 0, &(struct kv_ask){.tokens = P, .most = 5 * P}, &shared));
    CHECK(admit(kv, 1, 2 * P, NULL, 0, 0));
    CHECK(kv_promise(kv, 0, 3 * P) && kv_promise(kv, 0, P)); /* the second asks for less than it has */
    sound(kv);
    CHECK_EQ(kv_count(kv).reserved, 5);
    CHECK(!kv_promise(kv, 0, 3 * P + 1));
    sound(kv);
    kv_drop(kv, 1);
    CHECK(kv_promise(kv, 0, 5 * P));
    kv_grow(kv, 0, 5 * P);
    sound(kv);
    kv_close(kv);
}

TEST(kv_pages_beyond_the_limit_are_not_there_yet)
{
    struct kv *kv = open_kv(1, 8, 2, 8);
    kv_limit(kv, 0, 2);
    CHECK_EQ(kv_count(kv).usable, 2);
    CHECK(!admit(kv, 0, 3 * P, NULL, 0, 0));
    CHECK(admit(kv, 0, 2 * P, NULL, 0, 0));
    kv_grow(kv, 0, 2 * P);
    CHECK(kv_table(kv, 0)[0] < 2 && kv_table(kv, 0)[1] < 2);
    kv_limit(kv, 0, 8);
    sound(kv);
    CHECK(admit(kv, 1, 6 * P, NULL, 0, 0));
    kv_close(kv);
}

/* Four pages in common and one of its own each; the kinds are counted where the pages are. */
TEST(kv_counts_tokens_for_who_holds_them_alone_and_once_where_several_do)
{
    struct kv *kv = open_kv(1, 16, 2, 8);
    uint8_t kind[5 * P];
    int shared;
    for (int i = 0; i < 5 * P; i++) kind[i] = i < 2 * P ? 0 : i < 4 * P ? 2 : 3;
    const struct kv_ask ask = {.tokens = 5 * P, .ids = text(4 * P, 0, 5 * P), .n = 4 * P + 1, .kind = kind, .agent = 7};
    CHECK(kv_admit(kv, 0, &ask, &shared));
    fill(kv, 0, text(4 * P, 0, 5 * P), 4 * P + 5);
    struct kv_slot_count one = kv_slot_count(kv, 0), two;
    CHECK(one.own[0] == 2 * P && one.own[2] == 2 * P && one.own[3] == 5 && one.tokens == 4 * P + 5);
    CHECK_EQ(kv_page_info(kv, 0, kv_table(kv, 0)[0]).agent, 7);
    struct kv_ask other = ask;
    other.ids = text(4 * P, 1, 5 * P);
    other.agent = 9;
    CHECK(kv_admit(kv, 1, &other, &shared));
    CHECK_EQ(shared, 4 * P);
    one = kv_slot_count(kv, 0);
    CHECK(one.own[0] == 0 && one.own[2] == 0 && one.own[3] == 5);
    CHECK(kv_count(kv).shared_kind[0] == 2 * P && kv_count(kv).shared_kind[2] == 2 * P);
    CHECK_EQ(kv_page_info(kv, 0, kv_table(kv, 0)[0]).agent, 9); /* the last to come */
    kv_drop(kv, 1);
    CHECK_EQ(kv_page_info(kv, 0, kv_table(kv, 0)[0]).agent, 7); /* who is left */
    CHECK(kv_admit(kv, 1, &other, &shared));
    kv_drop(kv, 0); /* what they shared is the other's alone now */
    two = kv_slot_count(kv, 1);
    CHECK(two.own[0] == 2 * P && two.own[2] == 2 * P && two.own[3] == 0);
    CHECK_EQ(kv_page_info(kv, 0, kv_table(kv, 0)[kv_stride(kv)]).agent, 9);
    sound(kv);
    kv_drop(kv, 1);
    CHECK_EQ(kv_count(kv).tokens, 0);
    struct kv_page_info kept = kv_page_info(kv, 0, 0); /* remembered for the page map */
    CHECK(kept.cached && kept.agent == 9 && kept.kind[0] == P);
    kv_close(kv);
}

/* However pages came to be free: the next of a sequence lies behind its last one, unless another has that. */
TEST(kv_a_sequence_goes_on_in_the_page_behind_its_last_one)
{
    struct kv *kv = open_kv(1, 12, 3, 8);
    for (int slot = 0; slot < 3; slot++) CHECK(admit(kv, slot, 4 * P, NULL, 0, 0));
    for (int n = 1; n <= 4; n++)
        for (int slot = 0; slot < 3; slot++) kv_grow(kv, slot, n * P);
    for (int i = 0; i < 4; i++) CHECK_EQ(kv_table(kv, 0)[i], 3 * i); /* 1 and 2 were taken */
    kv_drop(kv, 2);
    kv_drop(kv, 1); /* its pages come next, and behind each lies one of 2's */
    CHECK(admit(kv, 1, 8 * P, NULL, 0, 0));
    for (int n = 1; n <= 8; n++) kv_grow(kv, 1, n * P);
    sound(kv);
    const int32_t *t = kv_table(kv, 0) + kv_stride(kv);
    for (int i = 0; i < 8; i += 2) CHECK(t[i] % 3 == 1 && t[i + 1] == t[i] + 1);
    kv_close(kv);
}

TEST(kv_a_run_takes_the_pages_it_was_given_in_their_order)
{
    struct kv *kv = open_kv(1, 10, 2, 8);
    int first = 4, shared;
    CHECK(kv_admit(kv, 0, &(struct kv_ask){.tokens = 3 * P, .first = &first}, &shared));
    kv_grow(kv, 0, 3 * P);
    for (int i = 0; i < 3; i++) CHECK_EQ(kv_table(kv, 0)[i], 4 + i);
    sound(kv);
    kv_drop(kv, 0);
    sound(kv);
    CHECK_EQ(kv_count(kv).held, 0);
    kv_close(kv);
}

TEST(siphash_gives_its_authors_results)
{
    static const unsigned char want[2][16] = {
        {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93},
        {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45}};
    struct sip128 key = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    for (size_t n = 0; n < 2; n++) { /* of no bytes, and of the byte 0 */
        struct sip128 got = siphash128(key, "", n);
        CHECK_MEM(&got, want[n], 16);
    }
}

CHECK_MAIN
