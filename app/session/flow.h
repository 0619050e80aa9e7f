/* flow.h - who is asked what, and when it is over: the eight ways of a crew, as one state machine without a model.
 *
 *     flow_open(crew, input) ──> flow_next(): ask agent A this text ... ──> flow_answer(ask, text) ──> flow_next() ...
 *                                             end: why, and what came out
 *
 *     single       one agent, one ask
 *     round_robin  members speak in turn; each is told what the others said since it spoke last
 *     selector     the lead is asked who speaks next (the first member's name in its answer), or without a lead a rule:
 *                  the member whom the last speaker named, else the next; "done" (alone on a line) of the lead ends it
 *     sequential   tasks in their order; each gets the input and what it needs of the others
 *     supervisor   the lead plans: lines "member: task" in its answer are asked, at once; it is told the results and may
 *                  give tasks again; an answer without such a line is the result
 *     map          the input split into parts, each asked of a fresh copy of the first member; at the end the lead
 *                  reduces them, in groups where they are too many for one ask
 *     debate       members answer in turn for `rounds` rounds, knowing the others' last words; the lead judges
 *     graph        from the first task along the edges
 *
 * What passes on is parts: (agent, text) pairs that whoever executes an ask brings under the hand-over quota; a flow
 * never puts an answer into another's text.  {input} and {NAME} in a task's text: parts too.
 *
 * Always ends: steps are counted, a failed ask is repeated at most `retries` times in a run, and the same agent saying
 * the same thing a third time, or a cycle of the whole group saying what it said before, ends it as FLOW_NO_PROGRESS.
 *
 * Texts given to flow_open() and flow_answer() are copied.  What flow_next() gives lives until the next call of
 * flow_answer() or flow_close().  Memory: bounded by steps times the texts given.  Threads: one. */
#ifndef FLOW_H
#define FLOW_H
#include "app/session/crew.h"

struct flow;

struct flow_part {     /* what is handed over with an ask */
    int agent;         /* whose words; -1: the person's */
    int ask;           /* in which ask they were said; 0: the person's */
    const char *label; /* "plan": the task's name, or the agent's */
    const char *text;
    size_t n;
};

enum flow_end {
    FLOW_DONE,         /* as the flow is meant to end: last word, judge, reduce, stop, accept, no edge left */
    FLOW_STEPS,        /* `steps` asks were made */
    FLOW_NO_PROGRESS,
    FLOW_FAILED,       /* an ask failed, and its retries too */
    FLOW_CANCELLED
};
const char *flow_end_name(enum flow_end e); /* "done", "steps", "no_progress", "failed", "cancelled" */

struct flow_effect {
    enum { FLOW_ASK, FLOW_OVER } kind;
    int ask;           /* its number, 1, 2, ...: for flow_answer() */
    int agent;         /* of the crew */
    int copy;          /* map: which copy of it, 0, 1, ...: the context of copies is not shared; else 0 */
    bool fresh;        /* it begins without what it said before */
    int again;         /* 1, 2, ...: the same ask for this time again, after it failed; roll its context back first */
    const char *text;  /* the ask, n bytes, NUL behind it: goes before the parts */
    size_t n;
    const struct flow_part *part;
    int n_parts;
    enum flow_end end; /* FLOW_OVER */
    const char *why;   /* a line for a person: "the judge has spoken", "40 steps were made" */
};

enum flow_outcome { FLOW_SAID, FLOW_ASK_FAILED, FLOW_ASK_CANCELLED };

/* parallel: asks that may be out at once, 1 or more.  NULL: err (no memory; an input that has no parts). */
struct flow *flow_open(const struct crew *crew, const char *input, size_t n, int parallel, struct err *err);
void flow_close(struct flow *f);

/* The next effect.  False: answers must come first.  After FLOW_OVER nothing comes any more; asks that are still out
 * then are of no use, and are to be cancelled. */
bool flow_next(struct flow *f, struct flow_effect *out);

/* text: what came of an ask, or for FLOW_ASK_FAILED why. 0, or -1: no such ask is out, or no memory (err; it ends). */
int flow_answer(struct flow *f, int ask, enum flow_outcome how, const char *text, size_t n, struct err *err);
void flow_cancel(struct flow *f); /* ends it as FLOW_CANCELLED */

int flow_steps(const struct flow *f);                       /* asks made so far */
const char *flow_output(const struct flow *f, size_t *n);   /* what came out: the last word, or the reduced; may be "" */
#endif
