/* team.h - the agents of this run of the program: one, or a crew with its flow.
 *
 *     a line of the person's ──> team_ask() ── one agent ──> session_ask()
 *                                        └──── a crew ───> flow.h says who is asked what ──> a strand each ──> ...
 *
 * Each agent has a session of its own: its own window, its own journal in the store.  What passes from one to another
 * is clipped to the hand-over quota; where something is left out, the whole is an artifact of the one who gets it.
 * A fresh ask (of a task, a judge, a part of a map) is a session of its own, saved as NAME/ASK; of one flow the first
 * TEAM_COPIES are.  A map's copies speak under that name too.
 * All sessions of a crew, from its opening on, are one run: team_run.h has its record, by which they are resumed as a
 * whole.  An agent without a session there (new in the crew file, deleted, nothing said yet) begins anew, which is
 * said; one whose session is damaged, or open in another process, lets none of them go on, and is named.
 * Asks run at once as far as the flow, --parallel and the KV pool allow; what a pool holds no more, waits in the
 * engine.
 * Threads: the app's. */
#ifndef TEAM_H
#define TEAM_H
#include "app/session/crew.h"
#include "app/session/flow.h"
#include "app/session/session.h"
#include "app/session/strand.h"
#include "app/session/team_run.h"

struct member {
    struct session s;
    struct session_role role;
    struct buf system; /* role and text of its own */
    bool open;         /* s is */
    bool busy;         /* it answers at this moment */
    int lost;          /* turns of sessions that were closed which could not be saved */
};

/* One attempt at an ask, in figures. */
struct team_try {
    int status;                /* exit status */
    struct session_outcome of; /* of its session */
    int64_t running, waiting;  /* requests, the most at any moment while it was out, it among them */
    int64_t reserved;          /* tokens of the pool that were promised, the most likewise */
    uint64_t policy;           /* of memory, in force when it began (naive.h) */
    char why[256];             /* in words; "": it did not fail */
};

/* The ask that failed last: what /isolate asks again. */
struct team_failure {
    bool any;
    int agent;
    struct buf text; /* the whole message, what was handed over with it too */
    int turns;       /* that its session had; its random numbers follow from that */
    struct team_try was;
};

struct team {
    struct app *a;
    const struct crew *crew; /* NULL: none, there is one agent */
    struct member *member; /* n of them: the crew's agents, or the one */
    int n;
    int current;           /* whom commands are about, and lines of the person's where no flow takes them */
    bool chosen;           /* by team_use(): lines go to the current one, and not to the flow */
    struct strands strands;
    struct buf last;       /* what came of the last turn or flow */
    int steps;             /* asks of the last flow */
    struct running *out;   /* the flow that is carried out (team_flow.c); NULL: none is */
    struct task *leaving;  /* fresh asks that are over, whose sessions are not saved yet */
    int n_leaving;
    struct team_run run;   /* of a crew; else all zeros */
    struct team_failure failure; /* refused, a fault, an agent that was stopped; what a person cancelled is none */
};

/* As the options say.  An exit status, with err; team_close() is due in both cases: how many turns are not saved. */
int team_open(struct team *t, struct app *a, struct err *err);
int team_close(struct team *t);
/* Another run of this crew, as journal_find_run() finds it, in place of the one that is open.  0; -1: the one that was
 * open still is; an exit status: neither could be opened.  err in both. */
int team_resume(struct team *t, const char *name, struct err *err);

struct session *team_session(struct team *t);        /* of the current agent */
void team_use(struct team *t, int i);                /* it is the current one; -1: lines go to the flow again */
int team_find(const struct team *t, const char *name, size_t n); /* -1 */
#define TEAM_ALONE "plimsoll" /* what the one without a name is called where a name is shown */
int team_find_shown(const struct team *t, const char *name, size_t n); /* that name too; -1 */
const char *team_name(const struct team *t, int i);  /* "" where there is one */
void team_names(const struct team *t, struct buf *out); /* "ann, bob", appended */

/* The tool is off for all of them, for good, and no agent is told of it any more.  -1: err says why not. */
int team_drop_tool(struct team *t, const char *name, struct err *err);

/* A turn: of the crew's flow, or of the agent that was chosen, or of the one.  As session_ask(). */
int team_ask(struct team *t, const char *text, size_t n, struct err *err);
/* ... of one agent alone, whatever the flow is. */
int team_ask_agent(struct team *t, int i, const char *text, size_t n, struct err *err);

/* Hands over to the store what found no room in its queue before, of all agents.  Closes the sessions of fresh asks
 * that are saved by now (a screen waits for none of them).  wait: all. */
void team_poll(struct team *t, bool wait);

/* What agent i answers at this moment ends, and what copies of it do.  In a flow the others go on: they hear what it
 * had said so far, and that it was cancelled. */
void team_cancel(struct team *t, int i);

/* The ask that failed last, once more: the same message to the same agent, in a fresh session that is not saved, with
 * nothing beside it.  The conversations are as before.  0, or -1: it could not be asked, or a person cancelled it. */
int team_isolate(struct team *t, struct team_try *alone, struct err *err);
bool team_failed(const struct team_try *y);
#endif
