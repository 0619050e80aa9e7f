/* Pages that were computed elsewhere: known by their text, shared, and of no promised room. */
#include "tests/kv_rig.h"

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
    struct kv *kv = open_kv(1, 8, 2, 8);
    static const uint8_t kind[5 * P] = {[0] = 2, [P] = 3, [P + 1] = 3};
    const int32_t *ids = text(3 * P, 0, 3 * P + 1);
    int shared;
    CHECK_EQ(adopt_all(kv, ids, 3 * P), 3);
    struct kv_count c = kv_count(kv);
    CHECK(c.cached == 3 && c.adopted == 3 && c.held == 0 && c.tokens == 0);
    struct kv_page_info i = kv_page_info(kv, 0, kv_find(kv, ids, 2 * P));
    CHECK(i.cached && i.agent == 7 && i.kind[1] == P);
    struct kv_ask ask = {.tokens = 5 * P, .ids = ids, .n = 3 * P + 1, .kind = kind, .agent = 4};
    CHECK(kv_admit(kv, 0, &ask, &shared));
    sound(kv);
    CHECK_EQ(shared, 3 * P);
    struct kv_slot_count own = kv_slot_count(kv, 0);
    CHECK(own.own[0] == 3 * P - 3 && own.own[2] == 1 && own.own[3] == 2); /* the holder's kinds, not kind 1 */
    CHECK_EQ(kv_page_info(kv, 0, kv_find(kv, ids, P)).agent, 4);
    kv_drop(kv, 0);
    sound(kv);
    CHECK_EQ(kv_count(kv).cached, 3);
    kv_close(kv);
}

TEST(kv_adopts_only_after_a_known_front_and_can_take_it_back)
{
    struct kv *kv = open_kv(1, 8, 2, 8);
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
    struct kv *kv = open_kv(1, 6, 2, 8);
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
    struct kv *kv = open_kv(1, 6, 2, 8);
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
    struct kv *kv = open_kv(1, 4, 2, 8);
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
    struct kv *kv = open_kv(1, 6, 2, 8);
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
    struct kv *kv = open_kv(1, 6, 2, 8);
    const int32_t *ids = text(P, 0, P);
    kv_identify(kv, (struct sip128){1, 2});
    CHECK_EQ(adopt_all(kv, ids, P), 1);
    CHECK(kv_find(kv, ids, P) >= 0);
    kv_identify(kv, (struct sip128){1, 3}); /* against the rules, to see the two meet in one table */
    CHECK_EQ(kv_find(kv, ids, P), -1);
    kv_close(kv);
}

/* What goes on from a page that is given up is found again when that one is known again. */
TEST(kv_gives_up_known_pages_that_nobody_holds)
{
    struct kv *kv = open_kv(1, 6, 2, 8);
    const int32_t *ids = text(3 * P, 0, 3 * P + 1);
    int shared;
    CHECK_EQ(kv_release(kv, ids, P), KV_UNKNOWN);
    CHECK_EQ(adopt_all(kv, ids, 3 * P), 3);
    struct kv_ask ask = {.tokens = 2 * P, .ids = ids, .n = P + 1};
    CHECK(kv_admit(kv, 0, &ask, &shared) && shared == P);
    CHECK_EQ(kv_release(kv, ids, P), KV_HELD);
    CHECK_EQ(kv_release(kv, ids, 3 * P), 0);
    sound(kv);
    CHECK_EQ(kv_release(kv, ids, 3 * P), KV_UNKNOWN);
    CHECK(kv_count(kv).cached == 1 && kv_count(kv).evicted == 0);
    kv_drop(kv, 0);
    CHECK_EQ(kv_release(kv, ids, P), 0);
    sound(kv);
    CHECK_EQ(kv_find(kv, ids, 2 * P), -1);
    CHECK(kv_adopt(kv, ids, P, 0, 0) >= 0);
    CHECK(kv_find(kv, ids, 2 * P) >= 0);
    CHECK_EQ(kv_release(kv, ids, 2 * P), 0);
    CHECK_EQ(kv_count(kv).cached, 1);
    sound(kv);
    kv_close(kv);
}

CHECK_MAIN
