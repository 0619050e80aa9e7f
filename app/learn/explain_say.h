/* explain_say.h - what was judged, in sentences: what happened, the figures, what speaks for it and against the rest,
 * fixes, and what to look at next (see explain.h). */
#ifndef EXPLAIN_SAY_H
#define EXPLAIN_SAY_H
#include "app/learn/explain_judge.h"

/* A verdict on a case of the text. */
void say_case(const struct findings *f, const struct fail_case *c, const struct judged *j, const char *text, size_t n,
              const struct explain_answers *known, struct verdict *v);

/* No memory failed: something else did (f->other), or nothing at all. */
void say_other(const struct findings *f, const char *text, size_t n, struct verdict *v);

/* What helps although no memory ran out, by the phrase that says what failed; NULL: nothing is known. */
const char *explain_advice(const char *phrase);

/* Killed because it did not answer, by the text; no word of memory but the guess of who killed it. */
void say_probe(const struct findings *f, const struct fail_case *c, const char *text, size_t n, struct verdict *v);

/* Nothing failed, and the server's own lines say that its pool is full and requests wait for it. */
bool pool_is_full(const struct findings *f);
void say_pool_load(const struct findings *f, struct verdict *v);

/* Nothing failed, and by the server's own lines requests wait although none runs. */
bool queue_is_stuck(const struct findings *f);
void say_stuck(const struct findings *f, struct verdict *v);

/* Who asked a server is told that its engine is dead, and why is told elsewhere: where. */
void say_dead(const struct findings *f, const char *text, size_t n, struct verdict *v);

/* llama.cpp's --fit gave up, or left the first layer to the CPU, and nothing failed in the text. */
bool fit_is_told(const struct findings *f);
void say_fit(const struct findings *f, const char *text, size_t n, struct verdict *v);
/* ... and then a device's memory ran out. */
void say_fit_before(const struct findings *f, const struct fail_case *c, struct verdict *v);

/* A table of a device, and nothing that failed: who holds it. */
void say_table(const struct findings *f, const char *text, size_t n, struct verdict *v);

/* How the memory of a device went, in a series that has a shape, and nothing that failed. */
void say_smi_series(const struct findings *f, struct verdict *v);

/* A line of f as the whole text counts it. */
uint32_t told_line(const struct findings *f, uint32_t line);

/* Who failed, and who told it; c: the case, or NULL. */
void say_stacks(const struct findings *f, const struct fail_case *c, struct verdict *v);
#endif
