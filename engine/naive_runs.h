/* naive_runs.h - a first-fit allocator over a pool of pages, and the trace of what an allocator did.
 *
 *     [ 3: run of 5 ][ hole ][ 1: run of 2 ][ 7: run of 4 ][ hole .......... ]
 *
 * The lowest hole that is large enough is split: the run comes first, the rest stays a hole.  What is given back joins
 * the holes beside it.  Nothing moves, so holes stay where ends left them: it fragments (D. Knuth, TAOCP 1, 2.5).
 * Owner: the struct owns its arrays, taken at open.  One thread. */
#ifndef NAIVE_RUNS_H
#define NAIVE_RUNS_H
#include "engine/naive.h"
#include "plimsoll.h"

struct naive_runs {
    int pages, n, cap;
    struct naive_run { int first, n, id; } *run; /* (cap) those taken, by address */
};

size_t naive_runs_bytes(int cap); /* host memory that open takes */
bool naive_runs_open(struct naive_runs *r, int pages, int cap);
void naive_runs_close(struct naive_runs *r);

int naive_runs_find(const struct naive_runs *r, int n);                 /* where n pages would go; -1: nowhere */
void naive_runs_take(struct naive_runs *r, int first, int n, int id);   /* in a hole, n <= what it has */
struct naive_run naive_runs_give(struct naive_runs *r, int id);         /* what it had */
int naive_runs_free(const struct naive_runs *r);                        /* pages in all holes */
int naive_runs_hole(const struct naive_runs *r, int *at);              /* the largest (of equals the lowest); 0: none */
int naive_runs_end(const struct naive_runs *r);                         /* after the last run */

/* The last NAIVE_TRACE operations. */
enum { NAIVE_TRACE = 4096 };
struct naive_trace {
    struct naive_op *op; /* (NAIVE_TRACE) number % NAIVE_TRACE */
    uint64_t n;          /* so far */
};

size_t naive_trace_bytes(void);
bool naive_trace_open(struct naive_trace *t);
void naive_trace_close(struct naive_trace *t);
void naive_trace_put(struct naive_trace *t, struct naive_op op); /* its number is set here */
/* Up to n operations from number `from` on, or from the oldest that is kept; how many. */
int naive_trace_read(const struct naive_trace *t, uint64_t from, struct naive_op *out, int n);
#endif
