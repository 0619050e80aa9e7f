/* team_run.h - the record of a crew's run in the store: a session of its own (journal.h), which no agent speaks in.
 *
 *     number   0  EVENT    session_open
 *              1  USER     a line of the person's to the crew     turn 1
 *              2  EVENT    flow: ask 1 is asked of ann            all events that are no agent's
 *              5  EVENT    flow: done
 *              6  ANSWER   what came out                          turn 1; a flow that failed or was cancelled has none
 *              7  USER     "@ann ..."                             turn 2; to ann alone: her answer is in her session
 *     piece "run"          {"ann":{"session":"0af3..","system":CRC-32C,"said":true},...}: whose session is which, which
 *                          text of the crew file the agent was opened with, and whether there was anything to save of
 *                          it: only fresh ones may have been asked; agents that were in it once stay in it
 *
 * It is saved before the first turn of any agent, and behind each ask that is over; so a run whose program was killed
 * has all its agents.  Who holds its lock has the run.
 *
 * Owner: struct team.  Threads: the app's. */
#ifndef TEAM_RUN_H
#define TEAM_RUN_H
#include "app/session/keep.h"
#include <jansson.h>

struct app;
struct team;

enum { TEAM_COPIES = 64 }; /* fresh asks of one flow that are saved */

struct team_run {
    struct app *a;
    struct keep keep;           /* keep.keeper NULL: nothing is saved */
    struct journal_batch batch; /* since the last save */
    json_t *roster;
    struct buf saved;           /* the roster as it was handed over last */
    bool begun;                 /* it is in the store, or on its way */
    bool changed;               /* the head is another than was handed over */
    bool told;                  /* that saving fails was said */
    int copies;                 /* fresh asks of this flow */
};

/* A new one, of which nothing is written yet.  0, or an error of the store's. */
int team_run_new(struct team *t, struct err *err);
/* The record that `name` means (journal_find_run()): nothing is opened yet. */
int team_run_find(struct team *t, const char *name, struct journal_head *out, struct err *err);
int team_run_open(struct team *t, const struct journal_head *h, struct err *err); /* STORE_BUSY: another has the run */
int team_run_close(struct team *t); /* how many of its commits are lost */

/* Whose session is this agent's in the run that was opened: its id in hex, or NULL.  *system: see above. */
const char *team_run_session(const struct team *t, const char *agent, uint32_t *system);
/* Was there ever anything of that session to save?  Also of one of which the record does not say it. */
bool team_run_said(const struct team *t, const char *agent);
uint32_t team_run_system(const struct team *t, int agent); /* of the text that the crew file has now */
void team_run_tell(const struct team *t); /* for a person: how it goes on, and who is not in the crew any more */

/* Before a turn: a line of the person's to the crew, or (agent: of the team, else -1) to an agent alone. */
void team_run_begin(struct team *t, int agent, const char *text, size_t n);
/* Behind a command, which may have saved an agent's session, or put another in its place. */
void team_run_keep_up(struct team *t);
void team_run_save(struct team *t);                            /* what was noted since */
/* text: what came of the flow; NULL: of an agent alone, whose words are in its own session, or it did not end well. */
void team_run_end(struct team *t, bool well, const char *text, size_t n);
/* For the session of a fresh ask, called NAME/ASK; false: it is not to be saved any more, which was said. */
bool team_run_copy(struct team *t);
void team_run_name(const struct team *t, const char *agent, struct journal_head *h);
#endif
