/* naive_impl.h - the places where the scheduler asks a policy of naive.h; its files and the makers include it.
 *
 * All of it does nothing, and says "as ever", where no policy was chosen or the sound one is in force again. */
#ifndef NAIVE_IMPL_H
#define NAIVE_IMPL_H
#include "engine/naive.h"
#include "plimsoll.h"

/* What a runner's own_take() returns beside 0. */
enum own_error {
    OWN_NO_MEMORY = -1, /* the backend has not so much */
    OWN_FAULT = -2      /* the model file cannot be read again, or is not what it was */
};

struct sched;
struct sched_config;
struct request_live;
struct kv_ask;
struct engine_config;
struct engine_snapshot;
struct engine_wait;

/* May this be opened with the policy it names?  has_model: there are weights and a workspace.  0, or ENGINE_FAULT. */
int naive_check_config(const struct engine_config *cfg, bool has_model, struct err *err);

/* And with a model whose attention has this window below the context (0: none)?  0, or ENGINE_FAULT. */
int naive_check_window(enum naive_policy p, int window, struct err *err);
/* And with one some of whose layers keep a state? */
int naive_check_states(enum naive_policy p, struct err *err);

int naive_open(struct sched *s, struct err *err); /* into s->naive, NULL without a policy; 0 or ENGINE_FAULT */
void naive_close(struct sched *s);
uint64_t naive_bytes(const struct sched_config *cfg);    /* host memory that open takes */
int naive_pass_rows(const struct sched_config *cfg);     /* rows that a pass may ever have */

bool naive_on(const struct sched *s);
bool naive_pages(const struct sched *s); /* a policy of pages: none is shared, none becomes known */

bool naive_promises(const struct sched *s); /* false: what is larger than the whole pool is let in all the same */

/* Admission begins: false: the policy lets nobody in now. */
bool naive_look(struct sched *s);
bool naive_closed(const struct sched *s); /* it does not since */
/* What q is to have from admission on: true, and *shared; false: not now, or q has ended for want of memory. */
bool naive_admit(struct sched *s, struct request_live *q, int slot, struct kv_ask *ask, int *shared);
/* Pages for the first `tokens` of q.  false: q has ended for want of memory. */
bool naive_room(struct sched *s, struct request_live *q, int tokens);
/* Rows that go into a pass that has `rows` so far; -1: as many as ever. */
int naive_rows(const struct sched *s, const struct request_live *q, int rows);
void naive_leave(struct sched *s, const struct request_live *q); /* before it gives its slot and pages back */

void naive_figures(const struct sched *s, struct engine_snapshot *out);
bool naive_waits(const struct sched *s, struct engine_wait *out); /* true: the policy is why nobody is let in */
int naive_check(const struct sched *s, struct err *err);
#endif
