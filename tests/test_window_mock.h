/* A tokenizer for the tests of the window: sizes by id, and a prompt that weighs more or less than its parts. */
#ifndef TEST_WINDOW_MOCK_H
#define TEST_WINDOW_MOCK_H
#include "memory/window.h"
#include "tests/check.h"

enum { MOCK_IDS = 1 << 14, MOCK_HEAD = 4, MOCK_LINE = 20, MOCK_REQUEST = 30 };

struct mock {
    int64_t size[MOCK_IDS]; /* of each text, in tokens; an empty prompt has MOCK_HEAD */
    int seam;               /* at each seam of two texts the prompt has up to so many tokens more or less */
    bool fails;
    uint64_t counted;       /* calls */
};

static int64_t mock_seam(const struct mock *m, uint64_t a, uint64_t b)
{
    uint64_t h = (a * 0x9e3779b97f4a7c15u) ^ (b * 0xc2b2ae3d27d4eb4fu);
    return m->seam ? (int64_t)((h >> 33) % (uint64_t)(2 * m->seam + 1)) - m->seam : 0;
}

static int64_t mock_text(const struct mock *m, const struct window_item *it)
{
    if (it->part == WINDOW_REQUEST) return MOCK_REQUEST;
    if (it->part != WINDOW_SUMMARY && it->ref.messages > 0)
        return MOCK_LINE + (it->ref.first > 99) + (it->ref.last > 99) + (it->ref.tokens > 999);
    return m->size[it->id % MOCK_IDS];
}

static int mock_tokens(void *self, const struct window_item *items, size_t n, int64_t *out)
{
    struct mock *m = self;
    int64_t t = MOCK_HEAD;
    m->counted++;
    for (size_t i = 0; i < n; i++) t += mock_text(m, &items[i]);
    for (size_t i = 1; i < n; i++) t += mock_seam(m, items[i - 1].id + (uint64_t)items[i - 1].part, items[i].id);
    *out = MAX(0, t);
    return m->fails;
}

static inline struct window_count mock_count(struct mock *m) { return (struct window_count){mock_tokens, m}; }
#endif
