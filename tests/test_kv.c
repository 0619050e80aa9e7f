#include "engine/kv.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

TEST(kv_admit_promises_whole_pages_and_refuses_beyond_the_pool)
{
    struct kv *kv = kv_open(1, 4, 3, 4, NULL);
    CHECK(kv_admit(kv, 0, 2 * KERN_PAGE + 1)); /* three pages */
    CHECK(!kv_admit(kv, 1, KERN_PAGE + 1));    /* two more than are left */
    CHECK(kv_admit(kv, 1, KERN_PAGE));
    CHECK_EQ(kv_count(kv).reserved, 4);
    CHECK_EQ(kv_count(kv).taken, 0);
    kv_drop(kv, 0);
    CHECK(kv_admit(kv, 2, 3 * KERN_PAGE));
    kv_close(kv);
}

TEST(kv_grow_takes_a_page_only_when_a_token_needs_it)
{
    struct kv *kv = kv_open(1, 4, 1, 4, NULL);
    CHECK(kv_admit(kv, 0, 40));
    kv_grow(kv, 0, 16);
    CHECK_EQ(kv_count(kv).taken, 1);
    kv_grow(kv, 0, 17);
    CHECK_EQ(kv_count(kv).taken, 2);
    CHECK_EQ(kv_count(kv).tokens, 17);
    const int32_t *t = kv_table(kv, 0);
    CHECK(t[0] >= 0 && t[1] >= 0 && t[0] != t[1] && t[2] == -1);
    kv_drop(kv, 0);
    CHECK_EQ(kv_count(kv).taken + kv_count(kv).reserved + (int)kv_count(kv).tokens, 0);
    kv_close(kv);
}

/* Random admissions, growth and drops in two groups: no page is in two places, the counts are the sums. */
TEST(kv_pages_are_never_shared_by_mistake_nor_lost)
{
    enum { PAGES = 23, SLOTS = 5, ROW = 9 };
    uint32_t seed = 7;
    int promised[SLOTS] = {0}, filled[SLOTS] = {0};
    struct kv *kv = kv_open(2, PAGES, SLOTS, ROW, NULL);
    for (int round = 0; round < 20000; round++) {
        int s = tiny_below(&seed, SLOTS);
        if (promised[s] == 0) {
            int want = 1 + tiny_below(&seed, ROW * KERN_PAGE);
            if (kv_admit(kv, s, want)) promised[s] = want;
        } else if (tiny_below(&seed, 4) == 0) {
            kv_drop(kv, s);
            promised[s] = filled[s] = 0;
        } else {
            filled[s] += tiny_below(&seed, promised[s] - filled[s] + 1);
            kv_grow(kv, s, filled[s]);
        }
        int reserved = 0, taken = 0;
        uint64_t tokens = 0;
        bool seen[2][PAGES] = {{false}};
        for (int i = 0; i < SLOTS; i++) {
            reserved += kv_pages_for(promised[i]);
            taken += kv_pages_for(filled[i]);
            tokens += (uint64_t)filled[i];
            for (int g = 0; g < 2; g++)
                for (int p = 0; p < ROW; p++) {
                    int32_t page = kv_table(kv, g)[i * ROW + p];
                    CHECK_EQ(page >= 0, p < kv_pages_for(filled[i]));
                    if (page < 0) continue;
                    CHECK(page < PAGES && !seen[g][page]);
                    seen[g][page] = true;
                }
        }
        struct kv_count c = kv_count(kv);
        CHECK_EQ(c.reserved, reserved);
        CHECK_EQ(c.taken, taken);
        CHECK_EQ(c.tokens, tokens);
        CHECK(c.taken <= c.reserved && c.reserved <= c.pages);
    }
    kv_close(kv);
}

CHECK_MAIN
