/* flow.h - who is asked what, and when it is over: the eight ways of a crew, as one state machine without a model.
 *
 *     flow_open(crew, input) ──> flow_next(): ask agent A this ... ──> flow_answer(ask, text) ──> flow_next() ...
 *                                             end: why, and what came out
 *
 *     single       the first member, one ask
 *     round_robin  members speak in turn; each is told the input, later what the others said since it spoke last
 *     selector     the lead is asked who speaks next (the first member's name in its answer), or without a lead and
 *                  where it names nobody a rule: the member whom the last speaker named, else the next; "done" (alone
 *                  on a line) of the lead ends it
 *     sequential   tasks in their order, each of a fresh agent that gets what it needs of the others
 *     supervisor   the lead plans: lines "member: task" in its answer are asked, at once, the first 32; it is told the
 *                  results and may give tasks again; an answer without such a line is the result, but for a plan in
 *                  the form of assets/forms/plan.txt as its first: the steps go to the members in turn
 *     map          the input split into parts, each asked of a fresh copy of the first member; at the end a fresh lead
 *                  reduces them, in groups of at most 8, whose results it reduces again; no lead: they are joined
 *     debate       members answer in turn for `rounds` rounds, knowing the others' last words; a fresh lead judges the
 *                  last words of all
 *     graph        from the first task along the edges; agents keep what they said before; of a task that failed only
 *                  an edge WHEN_FAILED leads on
 *
 * An ask is a text, which is the crew's or ours and may be empty, and parts behind it: (whose, words), which whoever
 * executes it brings under the hand-over quota.  No answer and no input is ever put into a text: {input} and {NAME} of
 * a task become "input" and NAME there, the labels of parts.  The input is a part where {input} is in the text, and
 * always of a task without needs, of the lead's first ask and of the judge's; in a group it comes with a member's first
 * turn, then and only then.  The other parts: what each of a task's needs has given last, what others said (at most
 * their last 32), a worker's task, the results that are to be reduced.
 *
 * `stop` and `stop_on_accept` look at what members say in round_robin and selector.  A verdict is read as in
 * assets/forms/verdict.txt.
 *
 * Waves: asks that do not need each other are out at once, and what comes next is decided when all of them are settled.
 * So nothing but time depends on the order in which answers come, or on `parallel`.  Of one (agent, copy) only one ask
 * is out.  What failed is asked again when the rest of its wave is settled, up to `retries` times.
 *
 * Always ends: every ask counts as a step, a repeated one too.  The same agent saying the same thing about the same
 * task a third time ends it as FLOW_NO_PROGRESS, and so does a whole round of a chat in which each says what it said
 * the time before; in a debate the judge is then asked at once.
 *
 * Owner: the crew outlives the flow; texts given to flow_open() and flow_answer() are copied.  What flow_next() gives
 * lives until flow_close().  Memory: bounded by steps times the texts given.  Threads: one. */
#ifndef FLOW_H
#define FLOW_H
#include "app/session/crew.h"

struct flow;

struct flow_part {     /* what is handed over with an ask */
    int agent;         /* whose words; -1: the person's */
    int ask;           /* in which ask they were said; 0: the person's */
    const char *label; /* "input", a task's name, an agent's; "task" of a supervisor; "part 3", "parts 1-8" of a map */
    const char *text;  /* n bytes, any; not always NUL-terminated */
    size_t n;
};

enum flow_end {
    FLOW_DONE,         /* as the flow is meant to end: last word, judge, reduce, stop, accept, no edge left */
    FLOW_STEPS,        /* `steps` asks were made */
    FLOW_NO_PROGRESS,
    FLOW_FAILED,       /* an ask failed, and its retries too; or no memory */
    FLOW_CANCELLED
};
const char *flow_end_name(enum flow_end e); /* "done", "steps", "no_progress", "failed", "cancelled" */

struct flow_effect {
    enum { FLOW_ASK, FLOW_OVER } kind;
    int ask;           /* its number, for flow_answer(): 1, 2, ... in the order in which they were decided; a repeated
                          one has a new number */
    int agent;         /* of the crew */
    int copy;          /* which copy of it, 0, 1, ...: the context of copies is not shared */
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

/* crew: as crew_read() gives it.  parallel: asks that may be out at once, 1 or more; the crew may have fewer.
 * NULL: err (no memory; an input without parts, or with more than the steps can take, for map). */
struct flow *flow_open(const struct crew *crew, const char *input, size_t n, int parallel, struct err *err);
void flow_close(struct flow *f); /* NULL is fine */

/* The next effect.  False: answers must come first, or FLOW_OVER was given: nothing comes any more then, and asks that
 * are still out are of no use, and are to be cancelled. */
bool flow_next(struct flow *f, struct flow_effect *out);

/* text: what came of an ask, or for FLOW_ASK_FAILED why; NULL is fine for n 0.  FLOW_ASK_CANCELLED ends the flow.
 * 0, or -1: no such ask is out, or it is over; or no memory (it ends as FLOW_FAILED). */
int flow_answer(struct flow *f, int ask, enum flow_outcome how, const char *text, size_t n, struct err *err);
void flow_cancel(struct flow *f); /* ends it as FLOW_CANCELLED; nothing where it is over */

int flow_steps(const struct flow *f);                       /* asks made so far */
/* What came out: the last word of a settled wave, the judge's, the reduced; may be "".  n bytes, NUL behind them.
 * Lives until flow_close(). */
const char *flow_output(const struct flow *f, size_t *n);
#endif
