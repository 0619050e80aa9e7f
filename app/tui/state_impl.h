/* state_impl.h - what the files of the state share: state.c (agents), state_memory.c (memory, machine, rates), and
 * state_words.c (marks, forecast). */
#ifndef STATE_IMPL_H
#define STATE_IMPL_H
#include "app/tui/state.h"

/* A count of a stream, so small that sixteen of them can be added. */
static inline int64_t count_of(int64_t n) { return n < 0 ? 0 : MIN(n, INT64_C(1) << 56); }
static inline uint64_t size_of(int64_t n) { return (uint64_t)count_of(n); }

void state_rate_words(struct state_agent *a);               /* what it does, while an answer grows */

/* Memory and machine events into gauges and timeline. */
void state_memory(struct state *s, const struct event *e);
void state_machine(struct state *s, const struct event *e);
void state_server(struct state *s, const struct event_server *e);
void state_totals(struct state *s); /* the engine's, or what turns have told since */

void state_mark(struct state *s, const struct event *e, int agent); /* nothing for kinds that are no news */
void state_mark_parked(struct state *s, int agent, double time, bool parked);
#endif
