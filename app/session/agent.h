/* agent.h - an agent in one turn, as a state machine: what happened goes in, what is to be done comes out.
 *
 *     AGENT_ASKED ──> call the model ──> AGENT_SAID ── an answer ──────────────────> over: AGENT_ANSWERED
 *                         ^                  └──────── a call ──> run the tool ──> AGENT_GOT
 *                         └────────────────────────────────────────────────────────┘
 *
 * A turn is bounded whatever the model says: calls are counted; the same call again and again, results that are all
 * the same, and failures in a row end it, and say so.  The call that was one too many is not made.
 * It owns nothing and looks at no clock; texts are only compared, by 64-bit hashes.  Threads: one. */
#ifndef AGENT_H
#define AGENT_H
#include "plimsoll.h"

enum { AGENT_ROUNDS_MAX = 64 };

struct agent_limits {
    int rounds;   /* calls of tools in a turn, at most AGENT_ROUNDS_MAX; 0: none is made */
    int repeats;  /* times that the same call is made, 1 or more; and that the same result comes in a row, 2 or more */
    int failures; /* calls in a row that fail; 1 or more */
    bool endless; /* for teaching: none of the three counts */
};

enum agent_event_kind {
    AGENT_ASKED,     /* a turn begins */
    AGENT_SAID,      /* the model's text, whole; of several calls in it one, and the next behind its result */
    AGENT_GOT,       /* the tool's result, of which the model will see text */
    AGENT_CUT,       /* the model's text ended at its length, or was cancelled: no call in it is made */
    AGENT_BROKE      /* refused, or a fault */
};
struct agent_event {
    enum agent_event_kind kind;
    const char *call, *arguments; /* SAID: the call that the text is; NULL: it is none */
    bool failed;                  /* GOT */
    const char *text;             /* GOT: n bytes */
    size_t n;
};

enum agent_effect { AGENT_CALL_MODEL, AGENT_RUN_TOOL, AGENT_OVER };
enum agent_end {
    AGENT_RUNNING,
    AGENT_ANSWERED,
    AGENT_STOPPED_ROUNDS,   /* it made limits.rounds calls and wants another */
    AGENT_STOPPED_REPEATS,  /* it wants a call that it made limits.repeats times */
    AGENT_STOPPED_PROGRESS, /* the same result came so often in a row, and it calls again */
    AGENT_STOPPED_FAILURES, /* limits.failures calls in a row failed, and it calls again */
    AGENT_ENDED             /* cut, cancelled, refused, or a fault */
};
const char *agent_end_name(enum agent_end e); /* "answered", "rounds", "repeats", "no_progress", "failures", "ended" */

struct agent { /* not to be looked into, but for end and calls */
    struct agent_limits limits;
    enum agent_end end;
    int calls; /* made in this turn */
    int failures, same;
    uint64_t made[AGENT_ROUNDS_MAX], result;
};

void agent_begin(struct agent *g, const struct agent_limits *limits); /* limits out of range are brought into it */
enum agent_effect agent_on(struct agent *g, const struct agent_event *e);
#endif
