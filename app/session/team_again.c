/* team_again.c - what is known of an ask that failed, and the same ask again, alone. */
#include "app/session/session_impl.h"
#include "app/session/team_impl.h"
#include "app/signals.h"

bool team_failed(const struct team_try *y) { return y->status != EXIT_DONE || y->of.stopped; }

void team_try_begin(const struct team *t, struct team_try *y)
{
    struct engine_snapshot now;
    t->a->ops->snapshot(t->a->engine, &now);
    *y = (struct team_try){.policy = now.naive_policy};
}

void team_try_look(const struct engine_snapshot *now, struct team_try *y)
{
    y->running = MAX(y->running, now->running);
    y->waiting = MAX(y->waiting, now->waiting);
    y->reserved = MAX(y->reserved, (int64_t)now->reserved_tokens);
}

void team_try_end(struct team_try *y, const struct session *s, int status, const struct err *err)
{
    y->status = status;
    y->of = s->outcome;
    if (s->outcome.reserved > 0) y->running = MAX(y->running, 1); /* itself, if nobody looked */
    y->reserved = MAX(y->reserved, s->outcome.reserved);
    if (status != EXIT_DONE) snprintf(y->why, sizeof y->why, "%.255s", err ? err->text : "");
    else if (s->outcome.stopped)
        snprintf(y->why, sizeof y->why, "stopped after %d call%s of tools: %s", s->outcome.calls,
                 plural(s->outcome.calls), s->outcome.stopped);
}

void team_remember(struct team *t, int agent, int turns, const char *text, size_t n, const struct team_try *y)
{
    struct team_failure *f = &t->failure;
    if (!team_failed(y)) return;
    f->text.len = 0;
    f->text.failed = false;
    buf_put(&f->text, text, n);
    f->any = !f->text.failed;
    f->agent = agent;
    f->turns = turns;
    f->was = *y;
}

/* Streams tell of it under a name that no agent has; what they count of the program's own turns goes on behind it. */
int team_isolate(struct team *t, struct team_try *alone, struct err *err)
{
    const struct team_failure *f = &t->failure;
    struct app *a = t->a;
    struct voice *voice = a->trace.voice;
    const char *reason = a->reason;
    int turns = a->turns;
    struct session s;
    struct session_role role = t->member[f->agent].role;
    const struct text_entry *e = session_system_text(&t->member[f->agent].s);
    struct buf system = {0};
    if (e) buf_put(&system, e->text, e->len);
    role.name = "(alone)";
    role.unsaved = true;
    role.sampling.seed += (uint64_t)f->turns; /* it draws what it drew */
    team_try_begin(t, alone);
    int status = session_new_as(&s, a, &role, system.data, err), rc = status == EXIT_DONE ? 0 : -1;
    if (rc == 0) {
        s.silent = true;
        status = session_ask(&s, f->text.data ? f->text.data : "", f->text.len, err);
        team_try_end(alone, &s, status, err);
        if (session_cancelled(&s)) rc = err_set(err, -1, "cancelled");
    }
    session_close(&s);
    buf_free(&system);
    a->trace.voice = voice;
    a->reason = reason;
    a->turns = turns;
    return rc;
}
