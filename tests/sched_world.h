/* sched_world.h - a scheduler on fake pages, and books of its own beside it: for tests that do anything to it.
 *
 * The test says what it does (the `at` of a request), the world hears who is admitted, and world_check() compares the
 * scheduler's books, made anew, with these.  What is wrong fails the test, with the number of the operation. */
#ifndef SCHED_WORLD_H
#define SCHED_WORLD_H
#include "tests/check.h"
#include "tests/fake_pages.h"
#include "tests/tiny_model.h"
#include <pthread.h>

enum { LIVE = 96, STORIES = 6, STORY = 256, AGENTS = 5, MOST = FAKE_MOST };

struct plan {
    int groups; /* of layers; a window is 0, or 2 at least and below ctx */
    struct kv_group group[KERN_GROUPS];
    int slots, rows, step_rows, outs, ctx, park_pages, text, cap, fail_run, fail_save, fail_load;
    int drafts; /* most a pass */
    bool overcommit, limited; /* limited: the pool's pages come one by one; step_rows 0: rows */
};

/* What is known of a request.  IN: running or parked. */
enum at { FREE, WAITS, IN, OVER };
struct one {
    enum at at;
    int id, agent, overtaken, n, told_admitted, told_end;
    uint64_t order;
    bool score, may_fail, was_in;
    const struct answer *a;
    struct fake_ask ask;
    int32_t ids[MOST];
    uint8_t segment[MOST];
};

struct world {
    struct plan plan;
    uint32_t seed;
    struct vocab *v;
    struct sched *s;
    struct fake f;
    struct one one[LIVE];
    struct engine_snapshot last;
    uint64_t submitted;
    uint64_t shared, first_time; /* of the dropped: n_shared, and prompt tokens computed for the first time */
    int prefilled; /* who was told of last */
    int64_t op, ends, refused[7], usable, most_overtaken;
    int32_t story[STORIES][STORY];
    uint32_t letters[(TINY_VOCAB + 31) / 32]; /* all tokens but 'c' */
    pthread_mutex_t *reading;                 /* not NULL: held while an answer is dropped */
    const struct answer **shown;
};

static inline int below(struct world *w, int n) { return tiny_below(&w->seed, n); }
static inline bool one_in(struct world *w, int n) { return below(w, n) == 0; }

/* CHECK with the place in the history, so that it can be gone to again. */
#define HOLDS(w, ...) ((__VA_ARGS__) ? (void)0 : check_fail(__FILE__, __LINE__, "op %lld: not so: %s", \
                                                            (long long)(w)->op, #__VA_ARGS__))

struct world *world_open(const struct plan *plan, const char *name); /* name: a part of the seed; SEED=n another */
void world_close(struct world *w);
int world_usable(const struct world *w); /* pages of the first group that are there */
struct one *world_find(struct world *w, int id);                      /* NULL: no such */
int world_count(const struct world *w, enum at at, int agent);        /* agent -1: of all */
void world_admitted(void *self, int id);           /* the runner says it; of a no_wait request the test does */
void world_check_answer(struct world *w, const struct one *q); /* what there is of it is what it has to be */
void world_check(struct world *w);                 /* everything; then `last` is the snapshot of now */
#endif
