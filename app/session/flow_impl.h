/* flow_impl.h - what the files of a flow share: the asks so far, and how one of the eight ways says what comes next.
 *
 *     flow.c          sends asks, takes answers, repeats what failed, counts, ends
 *     flow_read.c     what an answer says: names, tasks, a verdict
 *     flow_group.c    single, round_robin, selector, debate
 *     flow_tasks.c    sequential, graph
 *     flow_supervisor.c  flow_map.c
 *
 * Asks come in waves.  A way's next() is called when all asks of the last wave are settled, and puts the next one; what
 * is asked and how it ends can so not depend on the order in which answers come.  What failed is asked again when the
 * rest of its wave is settled: a round.  The asks of a round have their numbers before the first of them is sent. */
#ifndef FLOW_IMPL_H
#define FLOW_IMPL_H
#include "app/session/flow.h"

struct flow_span {
    const char *text;
    size_t n;
};

enum ask_state { ASK_WAITS, ASK_OUT, ASK_SAID, ASK_FAILED };

struct flow_ask {
    enum ask_state state;
    int number;          /* of its last try; 0: the steps did not reach to it */
    int agent, copy, again;
    bool fresh;
    bool aside;          /* the choice of a speaker: no words for others, and not what came out */
    int task;            /* of the crew; -1: of none */
    uint64_t about;      /* what it was about, where one agent is asked different things: their answers may be alike */
    int first, last;     /* map: the parts of the input that are in it, from 1 */
    char label[CREW_NAME + 17];
    struct buf text;
    struct flow_part *part;
    int n_parts, cap_parts;
    char *answer;        /* n bytes, or why it failed */
    size_t n;
    struct flow_span said; /* the answer without blanks at its ends, */
    uint64_t hash;         /* and that in short */
};

struct flow_ops {
    bool loops;          /* agents are asked again and again: what they repeat is counted */
    bool goes_on;        /* an ask that failed does not end it */
    int (*open)(struct flow *f, struct err *err);
    void (*next)(struct flow *f); /* flow_put() at least once, or flow_over() */
};
extern const struct flow_ops flow_single, flow_round_robin, flow_selector, flow_sequential, flow_supervisor, flow_map,
    flow_debate, flow_graph;

struct flow {
    const struct crew *crew;
    const struct flow_ops *ops;
    struct flow_span input;
    int parallel;
    struct flow_ask **ask; /* all so far, in their order */
    int n_asks, cap_asks;
    int wave;              /* the first ask of this wave, */
    int first;             /* and of it the first that is not settled yet: a wave may be long */
    int made, numbered, out;
    struct flow_ask scrap; /* what is put where there was no memory */
    bool no_memory;
    bool over, told;
    enum flow_end end;
    char why[200];
    struct flow_span output;
    struct buf joined;     /* of a map without a reduce */

    /* what the ways remember */
    int turn;              /* groups: speeches so far; supervisor: asks of the lead */
    int speaker;           /* selector: which of the members spoke last; -1: nobody */
    int level;             /* supervisor, map: the first of the asks whose results are reported next */
    bool led;              /* supervisor: the last wave was the lead's */
    bool left_out;         /* supervisor: its last answer had more tasks than were given out */
    bool reduced;          /* map, debate: the last wave was of the one ask that makes the result */
    struct flow_span *piece; /* map: the input in parts, in the input's memory */
    int n_pieces;
};

/* ------------------------------------------------------------------ what a way does (flow.c) */

/* An ask for the next wave.  Never NULL: without memory it is a scrap, and the flow ends. */
struct flow_ask *flow_put(struct flow *f, int agent);
/* More of an ask's words: {input} and {NAME} of a task become the labels of their parts.  True: {input} is in it.
 * This and buf_puts(&a->text) may run out of memory; the core looks at a->text.failed. */
bool flow_word(const struct flow *f, struct flow_ask *a, const char *text);
void flow_hand(struct flow *f, struct flow_ask *a, const struct flow_part *part);
void flow_hand_input(struct flow *f, struct flow_ask *a);
void flow_hand_said(struct flow *f, struct flow_ask *a, const struct flow_ask *of);
__attribute__((format(printf, 3, 4))) void flow_over(struct flow *f, enum flow_end end, const char *fmt, ...);

bool flow_same(const struct flow_ask *a, const struct flow_ask *b); /* both said the same */
uint64_t flow_hash(const char *text, size_t n);
static inline struct flow_ask *flow_last(const struct flow *f) { return f->ask[f->n_asks - 1]; }
static inline const char *flow_name(const struct flow *f, int agent) { return f->crew->agent[agent].name; }

/* ------------------------------------------------------------------ what an answer says (flow_read.c) */

/* All read any bytes in one pass.  A word is a run of letters, digits, _, - and bytes beyond ASCII; names are compared
 * without regard to case. */

/* Which of the members the first name in the text is; -1: nobody.  not: an agent who is passed over, or -1. */
int flow_named(const struct crew *c, const char *text, size_t n, int not);

enum flow_verdict { VERDICT_NONE, VERDICT_ACCEPT, VERDICT_REVISE };
enum flow_verdict flow_verdict(const char *text, size_t n); /* the first line that is one, as in assets/forms */

/* The next line "NAME: task" with a member's name, behind marks of a list or none: from *at on, which moves behind it.
 * Which of the members, and the task (not empty, without blanks at its ends); -1: no more. */
int flow_task_line(const struct crew *c, const char *text, size_t n, size_t *at, struct flow_span *task);
/* The next step of an answer that is a plan (assets/forms/plan.txt) from *at on, 0 at first. */
bool flow_step_line(const char *text, size_t n, size_t *at, struct flow_span *step);

bool flow_says_line(const char *text, size_t n, const char *word); /* a line that is this word, a full stop or not */
struct flow_span flow_trim(struct flow_span s); /* without blanks at its ends */
bool flow_line(const char *text, size_t n, size_t *at, struct flow_span *line); /* the next, blanks at its ends gone */
#endif
