/* team_impl.h - what team.c and team_flow.c share. */
#ifndef TEAM_IMPL_H
#define TEAM_IMPL_H
#include "app/session/team.h"

int team_member_open(struct team *t, int i, struct err *err); /* an exit status; the app's own voice is on after it */
void team_member_close(struct member *m);
/* team_again.c: an ask begins; a look at what is beside it; it has ended, and is remembered if it failed. */
void team_try_begin(const struct team *t, struct team_try *y);
void team_try_look(const struct engine_snapshot *now, struct team_try *y);
void team_try_end(struct team_try *y, const struct session *s, int status, const struct err *err);
void team_remember(struct team *t, int agent, int turns, const char *text, size_t n, const struct team_try *y);
/* A turn is over: its saving is waited for, but where others go on meanwhile on a screen. */
void team_settle(struct team *t, struct session *s);
int team_run_flow(struct team *t, const char *input, size_t n, struct err *err);
#endif
