/* desk_impl.h - what desk.c, desk_past.c and desk_attach.c share. */
#ifndef DESK_IMPL_H
#define DESK_IMPL_H
#include "app/console.h"
#include "app/session/session_impl.h"
#include "app/tui/bridge.h"
#include "app/tui/complete.h"

/* What the conversation that is shown is in the store: the one agent's session, or the record of the crew's run.  NULL:
 * it is not saved. */
const struct journal_head *desk_head(const struct console *c);
/* What was said before in it, as news, if it is another than `shown` (its id) or has fewer turns than it had: resumed,
 * forked, taken back.  The newest of it; of a crew the newest PAST_MESSAGES of all sessions of the run, by the time of
 * each message. */
enum { PAST_MESSAGES = 1000 };
void desk_tell_past(struct console *c, struct bridge *b, char shown[2 * STORE_SESSION_ID + 1], uint32_t *turns);

struct desk_files { /* where names behind an @ are looked up; it stays where it was opened */
    int root;       /* the workspace's folder; -1: it cannot be opened, and nothing is attached */
    struct complete_files files;
    struct complete_source source;
    struct complete_name agent[CREW_AGENTS];
};
void desk_files_open(struct desk_files *f, const struct app *a);
void desk_files_close(struct desk_files *f);
/* The files that the message names enter the session; what cannot is said, and the others enter all the same. */
void desk_attach(const struct desk_files *f, struct session *s, const char *text, size_t n);
#endif
