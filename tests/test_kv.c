/* Pages: promised, held, shared, cached; never lost, never in two hands by mistake. */
#include "engine/kv.h"
#include "engine/siphash.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { P = KERN_PAGE };

static void sound(const struct kv *kv)
{
    struct err err = {0};
    if (kv_check(kv, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
}

/* n tokens that begin with `common` equal ones and go on in a way of their own. */
static const int32_t *text(int common, int own, int n)
{
    static int32_t ids[64 * P];
    for (int i = 0; i < n; i++) ids[i] = i < common ? 1000 + i : 5000 + own * 31 + i;
    return ids;
}

static bool admit(struct kv *kv, int slot, int tokens, const int32_t *ids, int n, int want_shared)
{
    int shared = -1;
    bool ok = kv_admit(kv, slot, &(struct kv_ask){.tokens = tokens, .ids = ids, .n = n}, &shared);
    CHECK_EQ(shared, want_shared);
    sound(kv);
    return ok;
}

/* As a pass does: room, then the tokens are there. */
static void fill(struct kv *kv, int slot, const int32_t *ids, int n)
{
    kv_grow(kv, slot, n);
    kv_know(kv, slot, ids, n);
    sound(kv);
}

/* ------------------------------------------------------------------ promises */

TEST(kv_admit_promises_whole_pages_and_refuses_beyond_the_pool)
{
    struct kv *kv = kv_open(1, 4, 3, 4, NULL);
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
    struct kv *kv = kv_open(1, 4, 1, 4, NULL);
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
    struct kv *kv = kv_open(1, 16, 3, 8, NULL);
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
    struct kv *kv = kv_open(1, 16, 2, 8, NULL);
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
        struct kv *kv = kv_open(1, 4, 3, 4, NULL);
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
    struct kv *kv = kv_open(1, 16, 2, 8, NULL);
    const int32_t *ids = text(4 * P, 0, 4 * P);
    CHECK(admit(kv, 0, 4 * P, ids, 4 * P, 0));
    kv_grow(kv, 0, 3 * P);
    kv_know(kv, 0, ids, 2 * P); /* the pass over the third page failed, say */
    CHECK(admit(kv, 1, 4 * P, ids, 4 * P, 2 * P));
    kv_close(kv);
}

TEST(kv_a_turn_that_goes_on_finds_the_last_one_and_its_answer)
{
    struct kv *kv = kv_open(2, 16, 1, 8, NULL);
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
    struct kv *kv = kv_open(1, 8, 2, 4, NULL);
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
    struct kv *kv = kv_open(1, 6, 1, 6, NULL);
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
    struct kv *kv = kv_open(1, 4, 2, 4, NULL);
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
enum { PAGES = 19, SLOTS = 5, ROW = 9 };

struct life {
    int promised, most, prompt, filled, own, common;
    uint8_t kind[ROW * P];
};

/* Into an empty slot: true, if it went in. */
static bool begin_life(struct kv *kv, int slot, struct life *q, uint32_t *seed, uint64_t *shared_ever)
{
    int shared;
    q->most = 1 + tiny_below(seed, ROW * P);
    q->prompt = 1 + tiny_below(seed, q->most);
    q->promised = tiny_below(seed, 2) ? q->most : q->prompt + tiny_below(seed, q->most - q->prompt + 1);
    q->common = tiny_below(seed, 3) * 2 * P;
    q->own = tiny_below(seed, 3);
    const int32_t *ids = text(q->common, q->own, ROW * P);
    for (int i = 0; i < ROW * P; i++) q->kind[i] = (uint8_t)(ids[i] % KV_KINDS);
    struct kv_ask ask = {.tokens = q->promised, .most = q->most,
                         .ids = tiny_below(seed, 8) ? ids : NULL, .n = q->prompt, .kind = q->kind,
                         .agent = slot, .spare = tiny_below(seed, 8) ? 0 : tiny_below(seed, 4)};
    struct kv_count before = kv_count(kv);
    if (!kv_admit(kv, slot, &ask, &shared)) {
        struct kv_count after = kv_count(kv);
        CHECK_MEM(&before, &after, sizeof before);
        q->promised = 0;
        return false;
    }
    CHECK(shared < q->prompt && shared % P == 0 && kv_count(kv).reserved + ask.spare <= kv_count(kv).usable);
    *shared_ever += (uint64_t)shared;
    q->filled = shared;
    return true;
}

static void go_on_with_life(struct kv *kv, int slot, struct life *q, uint32_t *seed)
{
    if (tiny_below(seed, 4) == 0) {
        int wants = q->promised + tiny_below(seed, q->most - q->promised + 1);
        if (kv_promise(kv, slot, wants)) q->promised = wants;
    }
    q->filled += tiny_below(seed, q->promised - q->filled + 1);
    kv_grow(kv, slot, q->filled);
    if (tiny_below(seed, 8)) kv_know(kv, slot, text(q->common, q->own, q->filled), q->filled);
}

TEST(kv_is_sound_whatever_happens)
{
    uint32_t seed = 7;
    static struct life q[SLOTS];
    uint64_t shared_ever = 0;
    int usable = 4;
    struct kv *kv = kv_open(2, PAGES, SLOTS, ROW, NULL);
    kv_limit(kv, usable);
    for (int round = 0; round < 40000; round++) {
        int s = tiny_below(&seed, SLOTS);
        if (q[s].promised == 0) {
            if (!begin_life(kv, s, &q[s], &seed, &shared_ever)) continue;
        } else if (tiny_below(&seed, 4) == 0) {
            kv_drop(kv, s);
            q[s].promised = 0;
        } else {
            go_on_with_life(kv, s, &q[s], &seed);
        }
        if (tiny_below(&seed, 2000) == 0) kv_forget(kv);
        if (usable < PAGES && tiny_below(&seed, 500) == 0) kv_limit(kv, ++usable);
        sound(kv);
        for (int i = 0; i < SLOTS; i++)
            for (int p = 0; p < ROW; p++)
                CHECK_EQ(kv_table(kv, 1)[i * ROW + p] >= 0, q[i].promised && p < kv_pages_for(q[i].filled));
    }
    struct kv_count c = kv_count(kv);
    CHECK(shared_ever > 1000 && c.reused == shared_ever && c.evicted > 1000 && usable == PAGES);
    kv_close(kv);
}

/* ------------------------------------------------------------------ promises in parts, owners */

TEST(kv_promise_adds_what_is_free_and_refuses_what_is_not)
{
    struct kv *kv = kv_open(1, 5, 2, 5, NULL);
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
    struct kv *kv = kv_open(1, 8, 2, 8, NULL);
    kv_limit(kv, 2);
    CHECK_EQ(kv_count(kv).usable, 2);
    CHECK(!admit(kv, 0, 3 * P, NULL, 0, 0));
    CHECK(admit(kv, 0, 2 * P, NULL, 0, 0));
    kv_grow(kv, 0, 2 * P);
    CHECK(kv_table(kv, 0)[0] < 2 && kv_table(kv, 0)[1] < 2);
    kv_limit(kv, 8);
    sound(kv);
    CHECK(admit(kv, 1, 6 * P, NULL, 0, 0));
    kv_close(kv);
}

/* Four pages in common and one of its own each; the kinds are counted where the pages are. */
TEST(kv_counts_tokens_for_who_holds_them_alone_and_once_where_several_do)
{
    struct kv *kv = kv_open(1, 16, 2, 8, NULL);
    uint8_t kind[5 * P];
    int shared;
    for (int i = 0; i < 5 * P; i++) kind[i] = i < 2 * P ? 0 : i < 4 * P ? 2 : 3;
    const struct kv_ask ask = {.tokens = 5 * P, .ids = text(4 * P, 0, 5 * P), .n = 4 * P + 1, .kind = kind, .agent = 7};
    CHECK(kv_admit(kv, 0, &ask, &shared));
    fill(kv, 0, text(4 * P, 0, 5 * P), 4 * P + 5);
    struct kv_slot_count one = kv_slot_count(kv, 0), two;
    CHECK(one.own[0] == 2 * P && one.own[2] == 2 * P && one.own[3] == 5 && one.tokens == 4 * P + 5);
    CHECK_EQ(kv_page_info(kv, kv_table(kv, 0)[0]).agent, 7);
    struct kv_ask other = ask;
    other.ids = text(4 * P, 1, 5 * P);
    other.agent = 9;
    CHECK(kv_admit(kv, 1, &other, &shared));
    CHECK_EQ(shared, 4 * P);
    one = kv_slot_count(kv, 0);
    CHECK(one.own[0] == 0 && one.own[2] == 0 && one.own[3] == 5);
    CHECK(kv_count(kv).shared_kind[0] == 2 * P && kv_count(kv).shared_kind[2] == 2 * P);
    CHECK_EQ(kv_page_info(kv, kv_table(kv, 0)[0]).agent, 9); /* the last to come */
    kv_drop(kv, 1);
    CHECK_EQ(kv_page_info(kv, kv_table(kv, 0)[0]).agent, 7); /* who is left */
    CHECK(kv_admit(kv, 1, &other, &shared));
    kv_drop(kv, 0); /* what they shared is the other's alone now */
    two = kv_slot_count(kv, 1);
    CHECK(two.own[0] == 2 * P && two.own[2] == 2 * P && two.own[3] == 0);
    CHECK_EQ(kv_page_info(kv, kv_table(kv, 0)[kv_stride(kv)]).agent, 9);
    sound(kv);
    kv_drop(kv, 1);
    CHECK_EQ(kv_count(kv).tokens, 0);
    struct kv_page_info kept = kv_page_info(kv, 0); /* remembered for the page map */
    CHECK(kept.cached && kept.agent == 9 && kept.kind[0] == P);
    kv_close(kv);
}

TEST(kv_a_run_takes_the_pages_it_was_given_in_their_order)
{
    struct kv *kv = kv_open(1, 10, 2, 8, NULL);
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

/* ------------------------------------------------------------------ pages from elsewhere */

/* All pages of a text of n tokens, or as many as there is room for. */
static int adopt_all(struct kv *kv, const int32_t *ids, int n)
{
    int got = 0;
    for (int at = P; at <= n; at += P) {
        if (kv_find(kv, ids, at) >= 0) continue;
        if (kv_adopt(kv, ids, at, 7, 1) < 0) break;
        got++;
        sound(kv);
    }
    return got;
}

TEST(kv_adopted_pages_are_shared_like_computed_ones)
{
    struct kv *kv = kv_open(1, 8, 2, 8, NULL);
    static const uint8_t kind[5 * P] = {[0] = 2, [P] = 3, [P + 1] = 3};
    const int32_t *ids = text(3 * P, 0, 3 * P + 1);
    int shared;
    CHECK_EQ(adopt_all(kv, ids, 3 * P), 3);
    struct kv_count c = kv_count(kv);
    CHECK(c.cached == 3 && c.adopted == 3 && c.held == 0 && c.tokens == 0);
    struct kv_page_info i = kv_page_info(kv, kv_find(kv, ids, 2 * P));
    CHECK(i.cached && i.agent == 7 && i.kind[1] == P);
    struct kv_ask ask = {.tokens = 5 * P, .ids = ids, .n = 3 * P + 1, .kind = kind, .agent = 4};
    CHECK(kv_admit(kv, 0, &ask, &shared));
    sound(kv);
    CHECK_EQ(shared, 3 * P);
    struct kv_slot_count own = kv_slot_count(kv, 0);
    CHECK(own.own[0] == 3 * P - 3 && own.own[2] == 1 && own.own[3] == 2); /* the holder's kinds, not kind 1 */
    CHECK_EQ(kv_page_info(kv, kv_find(kv, ids, P)).agent, 4);
    kv_drop(kv, 0);
    sound(kv);
    CHECK_EQ(kv_count(kv).cached, 3);
    kv_close(kv);
}

TEST(kv_adopts_only_after_a_known_front_and_can_take_it_back)
{
    struct kv *kv = kv_open(1, 8, 2, 8, NULL);
    const int32_t *ids = text(3 * P, 0, 3 * P);
    CHECK_EQ(kv_adopt(kv, ids, 2 * P, 0, 0), KV_NO_FRONT);
    int first = kv_adopt(kv, ids, P, 0, 0);
    CHECK(first >= 0 && kv_find(kv, ids, P) == first && kv_find(kv, ids, 2 * P) == -1);
    CHECK_EQ(kv_adopt(kv, ids, 3 * P, 0, 0), KV_NO_FRONT);
    kv_disown(kv, first);
    sound(kv);
    CHECK(kv_find(kv, ids, P) == -1 && kv_count(kv).cached == 0 && kv_count(kv).adopted == 0);
    kv_close(kv);
}

TEST(kv_adoption_takes_no_promised_room_and_never_its_own_front)
{
    struct kv *kv = kv_open(1, 6, 2, 8, NULL);
    static int32_t ids[8 * P];
    memcpy(ids, text(8 * P, 0, 8 * P), sizeof ids);
    CHECK(admit(kv, 0, 2 * P, NULL, 0, 0)); /* two are promised, none is taken */
    CHECK_EQ(adopt_all(kv, ids, 8 * P), 4);
    CHECK_EQ(kv_adopt(kv, ids, 5 * P, 0, 0), KV_NO_ROOM);
    CHECK_EQ(kv_count(kv).evicted, 0);
    kv_grow(kv, 0, 2 * P); /* takes the two that are free */
    sound(kv);
    CHECK_EQ(kv_adopt(kv, ids, 5 * P, 0, 0), KV_NO_ROOM); /* all others are its own front */
    kv_drop(kv, 0);
    CHECK_EQ(adopt_all(kv, ids, 8 * P), 2);
    kv_close(kv);
}

TEST(kv_adoption_makes_way_by_age_and_its_last_pages_go_first)
{
    struct kv *kv = kv_open(1, 6, 2, 8, NULL);
    static int32_t old[4 * P], ids[4 * P];
    memcpy(old, text(0, 1, 4 * P), sizeof old);
    memcpy(ids, text(0, 2, 4 * P), sizeof ids);
    CHECK(admit(kv, 0, 4 * P, old, 4 * P, 0));
    fill(kv, 0, old, 4 * P);
    kv_drop(kv, 0);
    CHECK_EQ(adopt_all(kv, ids, 4 * P), 4);
    CHECK_EQ(kv_count(kv).evicted, 2);
    CHECK(kv_find(kv, old, 2 * P) >= 0 && kv_find(kv, old, 3 * P) == -1);
    CHECK(admit(kv, 0, 3 * P, NULL, 0, 0)); /* three pages: the two old ones, then the adopted text's last */
    kv_grow(kv, 0, 3 * P);
    sound(kv);
    CHECK(kv_find(kv, old, P) == -1);
    CHECK(kv_find(kv, ids, 3 * P) >= 0 && kv_find(kv, ids, 4 * P) == -1);
    kv_close(kv);
}

/* Asking for a page of a known front is a use of that front: it gets young again, first page last. */
TEST(kv_adoption_keeps_the_front_it_goes_on_from)
{
    struct kv *kv = kv_open(1, 4, 2, 8, NULL);
    static int32_t ids[3 * P], other[2 * P];
    memcpy(ids, text(0, 1, 3 * P), sizeof ids);
    memcpy(other, text(0, 2, 2 * P), sizeof other);
    CHECK_EQ(adopt_all(kv, ids, 2 * P), 2);
    CHECK_EQ(adopt_all(kv, other, 2 * P), 2);
    CHECK(kv_adopt(kv, ids, 3 * P, 0, 0) >= 0); /* no page is free, and its front was the oldest */
    sound(kv);
    CHECK(kv_find(kv, ids, 3 * P) >= 0 && kv_find(kv, other, P) >= 0 && kv_find(kv, other, 2 * P) == -1);
    kv_close(kv);
}

/* A sequence that computes what was adopted meanwhile ends up holding it. */
TEST(kv_a_computed_twin_gives_way_to_an_adopted_page)
{
    struct kv *kv = kv_open(1, 6, 2, 8, NULL);
    const int32_t *ids = text(2 * P, 0, 2 * P);
    CHECK(admit(kv, 0, 2 * P, NULL, 0, 0));
    kv_grow(kv, 0, 2 * P);
    CHECK_EQ(adopt_all(kv, ids, 2 * P), 2);
    kv_know(kv, 0, ids, 2 * P);
    sound(kv);
    CHECK_EQ(kv_table(kv, 0)[0], kv_find(kv, ids, P));
    CHECK_EQ(kv_count(kv).held, 2);
    CHECK_EQ(kv_count(kv).tokens, 2 * P);
    kv_drop(kv, 0);
    kv_close(kv);
}

TEST(kv_pages_of_another_identity_are_other_pages)
{
    struct kv *kv = kv_open(1, 6, 2, 8, NULL);
    const int32_t *ids = text(P, 0, P);
    kv_identify(kv, (struct sip128){1, 2});
    CHECK_EQ(adopt_all(kv, ids, P), 1);
    CHECK(kv_find(kv, ids, P) >= 0);
    kv_identify(kv, (struct sip128){1, 3}); /* against the rules, to see the two meet in one table */
    CHECK_EQ(kv_find(kv, ids, P), -1);
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
