/* window_rig.h - tests of models whose attention has a window: what is true, by a forward pass that keeps every page,
 * and the engine, which does not. */
#ifndef WINDOW_RIG_H
#define WINDOW_RIG_H
#include "engine/forward.h"
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { P = KERN_PAGE, WINDOW = 40, LONG = 10 * WINDOW, SEQS = 4, FRONT = 5 * P + 3, CTX = LONG + 8 };

struct win_truth {
    int n, prompt;
    int32_t ids[CTX];            /* prompt, then what greedy choice made of it */
    struct kern_choice at[CTX];  /* after ids[i] */
};

struct win_lab {
    struct gguf *g;
    struct model m;
    struct forward f;
    const struct kern *k;
    struct kdev *d;
    void *weights, *work, *kv;
    int32_t table[CTX / P + 1]; /* of all groups */
};

const char *win_file(const struct tiny *t);
bool win_same(const struct kern_choice *a, const struct kern_choice *b); /* to the bit */

/* No scheduler, one thread; window: in place of the model's, 0: none. */
void win_lab_open(struct win_lab *l, const struct tiny *t, const char *backend, enum ktype kv, int window);
void win_lab_close(struct win_lab *l);
void win_lab_tell(struct win_lab *l, struct win_truth *t, int n); /* n tokens, one after the other */
void win_tell(const struct tiny *m, const char *backend, enum ktype kv, struct win_truth *t, int seqs, int n);
void win_prompt(uint32_t *seed, struct win_truth *t, int n); /* random */

struct engine *win_open(const struct tiny *m, const char *backend, enum ktype kv, struct engine_config cfg);
/* Greedy, from the first n of t's tokens to its end. */
int win_submit(struct engine *e, const struct win_truth *t, int n, int priority);
/* Until nothing is left to do; after each pass the books are right and nobody has more than it was promised. */
void win_run(struct engine *e);
/* What it said, and how sure it was of each, is the truth; how many prompt tokens needed no pre-fill. */
int win_check(struct engine *e, int id, const struct win_truth *t);
#endif
