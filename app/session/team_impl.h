/* team_impl.h - what team.c and team_flow.c share. */
#ifndef TEAM_IMPL_H
#define TEAM_IMPL_H
#include "app/session/team.h"

int team_member_open(struct team *t, int i, struct err *err); /* an exit status; the app's own voice is on after it */
void team_member_close(struct member *m);
int team_run_flow(struct team *t, const char *input, size_t n, struct err *err);
#endif
