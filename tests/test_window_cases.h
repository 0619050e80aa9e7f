/* A window of usual limits over the mock tokenizer, and the few words that its tests have in common. */
#ifndef TEST_WINDOW_CASES_H
#define TEST_WINDOW_CASES_H
#include "memory/window.h"
#include "tests/check.h"
#include "tests/test_window_mock.h"

/* limit = 2000 - max(100 + 100, 30 + 100 + 16) = 1800 */
static const struct window_limits usual = {
    .ctx = 2000, .answer = 100, .thinking = 100, .closing = 3, .summary = 100, .high = 800, .low = 400, .gain = 200};

enum { SYSTEM = 10001, TOOLS, PIN, SUMMARY, SUMMARY2, OTHER };

static struct mock mock;
static struct err err;

static inline struct window *window(const struct window_limits *l)
{
    struct window *w;
    mock = (struct mock){0};
    mock.size[SYSTEM] = 50;
    mock.size[TOOLS] = 30;
    mock.size[PIN] = 20;
    mock.size[SUMMARY] = mock.size[SUMMARY2] = 60;
    CHECK_EQ(window_open(&w, l, mock_count(&mock), &err), 0);
    CHECK_EQ(window_add(w, WINDOW_TOOLS, TOOLS, NULL), 0);
    CHECK_EQ(window_add(w, WINDOW_SYSTEM, SYSTEM, NULL), 0);
    return w;
}

static inline void say(struct window *w, enum window_kind kind, uint64_t id, int64_t tokens)
{
    mock.size[id] = tokens;
    CHECK_EQ(window_append(w, kind, id, kind == WINDOW_CALL ? 1 : 0, NULL), 0);
}

/* User and answer by turns, ids from .. to. */
static inline void talk(struct window *w, uint64_t from, uint64_t to, int64_t tokens)
{
    for (uint64_t id = from; id <= to; id++) say(w, id % 2 ? WINDOW_USER : WINDOW_ANSWER, id, tokens);
}

static inline struct window_call call(struct window *w)
{
    struct window_call c;
    if (window_build(w, &c, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    CHECK(c.tokens <= c.limit);
    CHECK(c.tokens + c.answer + c.thinking <= usual.ctx);
    return c;
}

static inline const struct window_item *item(const struct window_call *c, enum window_part part, uint64_t id)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].part == part && c->items[i].id == id) return &c->items[i];
    return NULL;
}

static inline struct window_figures figures(const struct window *w)
{
    struct window_figures f;
    window_figures(w, &f);
    return f;
}

static inline bool event(struct window *w, enum window_event_kind kind, struct window_event *out)
{
    while (window_next_event(w, out))
        if (out->kind == kind) return true;
    return false;
}

static inline struct window_proposal propose(struct window *w)
{
    struct window_proposal p;
    if (window_propose(w, &p, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    return p;
}
#endif
