/* team.c - the agents: opened, asked one by one, closed.  team_flow.c has the flow. */
#include "app/session/team.h"
#include "app/say.h"
#include "app/session/session_impl.h"
#include "app/session/team_impl.h"

/* ---------------------------------------------------------------- opening */

static struct session_role role_of(const struct team *t, int i)
{
    const struct crew_agent *c = &t->crew->agent[i];
    struct session_role r = session_alone(t->a);
    r.name = c->name;
    r.agent = MIN(i, ENGINE_AGENTS - 1);
    if (c->context > 0) r.ctx = MIN(r.ctx, c->context);
    if (c->pages > 0) r.ctx = (int)MIN((int64_t)r.ctx, (int64_t)c->pages * KERN_PAGE);
    if (c->answer > 0) r.answer = c->answer;
    if (c->rounds > 0) r.rounds = c->rounds;
    if (c->repeats > 0) r.repeats = c->repeats;
    if (c->has_temp) r.sampling.temp = (float)c->temp;
    if (c->has_top_k) r.sampling.top_k = c->top_k;
    if (c->has_top_p) r.sampling.top_p = (float)c->top_p;
    if (c->has_min_p) r.sampling.min_p = (float)c->min_p;
    r.tools = (const char *const *)c->tools;
    r.n_tools = c->n_tools;
    return r;
}

static int system_of(const struct crew_agent *c, struct buf *out, struct err *err)
{
    if (c->role && forms_system(&(struct form_system){.role = c->role}, out, err)) return -1;
    if (c->role && c->system) buf_puts(out, "\n\n");
    if (c->system) buf_puts(out, c->system);
    return out->failed ? err_set(err, -1, "no memory for the agent %s", c->name) : 0;
}

static int open_new(struct team *t, int i, struct err *err)
{
    struct member *m = &t->member[i];
    int status = session_new_as(&m->s, t->a, &m->role, m->system.data ? m->system.data : "", err);
    if (status == EXIT_DONE && *m->role.name) memcpy(m->s.keep.head.title, m->role.name, strlen(m->role.name) + 1);
    return status;
}

/* What the crew file says of it now counts, if it is not what it said then. */
static int renew_system(struct team *t, int i, uint32_t then, struct err *err)
{
    struct member *m = &t->member[i];
    const char *text = m->system.data ? m->system.data : "";
    if (then == team_run_system(t, i)) return EXIT_DONE;
    say("%s is told what the crew file says now: it has changed", m->role.name);
    return session_system(&m->s, text, strlen(text), err) ? EXIT_REFUSED : EXIT_DONE;
}

static int open_member(struct team *t, int i, struct err *err)
{
    struct member *m = &t->member[i];
    struct err why = {0};
    uint32_t system;
    const char *id = team_run_session(t, m->role.name, &system);
    int status = EXIT_DONE;
    m->open = true;
    if (!id) {
        if (t->run.begun) say("%s is new in this run, and begins", m->role.name);
        return open_new(t, i, err);
    }
    status = session_resume_as(&m->s, t->a, &m->role, id, NULL, &why);
    if (status == EXIT_DONE) return renew_system(t, i, system, err);
    session_close(&m->s);
    if (why.code == STORE_NOT_FOUND) {
        if (team_run_said(t, m->role.name)) /* else only fresh ones were asked, and it is as new as it was */
            say("%s begins anew: nothing of its session %.8s is there", m->role.name, id);
        return open_new(t, i, err);
    }
    err_set(err, status, "%s cannot go on, and so the run does not: session %.8s: %.300s", m->role.name, id, why.text);
    return status;
}

int team_member_open(struct team *t, int i, struct err *err)
{
    if (t->member[i].open) return EXIT_DONE;
    int status = open_member(t, i, err);
    if (status == EXIT_DONE) team_run_name(t, t->member[i].role.name, &t->member[i].s.keep.head);
    t->a->trace.voice = &t->a->trace.own;
    return status;
}

void team_member_close(struct member *m)
{
    if (m->open) m->lost += session_close(&m->s);
    m->open = false;
}

static int status_of(int rc)
{
    return rc == 0 ? EXIT_DONE : rc == STORE_NOT_FOUND || rc == STORE_BUSY ? EXIT_USAGE : EXIT_INTERNAL;
}

/* Its record and its members: of the run h, or of a new one. */
static int open_run(struct team *t, const struct journal_head *h, struct err *err)
{
    int status = status_of(h ? team_run_open(t, h, err) : team_run_new(t, err));
    for (int i = 0; i < t->n && status == EXIT_DONE; i++) status = team_member_open(t, i, err);
    if (status == EXIT_DONE && h) team_run_tell(t);
    return status;
}

static int close_run(struct team *t)
{
    team_poll(t, true);
    for (int i = 0; i < t->n; i++) team_member_close(&t->member[i]);
    return team_run_close(t);
}

static int open_crew(struct team *t, struct err *err)
{
    const char *name = t->a->o->resume;
    struct journal_head h;
    t->crew = &t->a->crew;
    t->member = calloc((size_t)t->crew->n_agents, sizeof *t->member);
    if (!t->member) return err_set(err, EXIT_INTERNAL, "no memory for a crew");
    t->n = t->crew->n_agents;
    for (int i = 0; i < t->n; i++) {
        t->member[i].role = role_of(t, i);
        const struct session_role *r = &t->member[i].role;
        if (toolbox_check(&t->a->toolbox, r->name, r->tools, r->n_tools, err)) return EXIT_USAGE;
        if (system_of(&t->crew->agent[i], &t->member[i].system, err)) return EXIT_USAGE;
    }
    int status = name ? status_of(team_run_find(t, name, &h, err)) : EXIT_DONE;
    return status == EXIT_DONE ? open_run(t, name ? &h : NULL, err) : status;
}

int team_resume(struct team *t, const char *name, struct err *err)
{
    struct journal_head h, before = t->run.keep.head;
    const bool begun = t->run.begun;
    struct err again = {0};
    if (team_run_find(t, name, &h, err)) return -1;
    if (memcmp(h.id, before.id, sizeof h.id) == 0) return err_set(err, -1, "this is the run that is open here");
    t->member[0].lost += close_run(t);
    t->failure.any = false;
    if (open_run(t, &h, err) == EXIT_DONE) return 0;
    close_run(t);
    int status = open_run(t, begun ? &before : NULL, &again);
    if (status == EXIT_DONE) return -1;
    if (err) *err = again;
    return status;
}

static int open_one(struct team *t, struct err *err)
{
    const struct opts *o = t->a->o;
    t->member = calloc(1, sizeof *t->member);
    if (!t->member) return err_set(err, EXIT_INTERNAL, "no memory for a session");
    t->n = 1;
    struct member *m = &t->member[0];
    m->role = session_alone(t->a);
    m->open = true;
    return o->resume ? session_resume_as(&m->s, t->a, &m->role, o->resume, o->own_system ? o->system : NULL, err)
                     : session_new_as(&m->s, t->a, &m->role, o->system, err);
}

int team_open(struct team *t, struct app *a, struct err *err)
{
    *t = (struct team){.a = a};
    strands_open(&t->strands, a);
    return a->o->crew ? open_crew(t, err) : open_one(t, err);
}

int team_close(struct team *t)
{
    int lost = 0;
    team_poll(t, true);
    for (int i = 0; i < t->n; i++) {
        team_member_close(&t->member[i]);
        lost += t->member[i].lost;
        buf_free(&t->member[i].system);
    }
    if (t->crew) lost += team_run_close(t);
    strands_close(&t->strands);
    buf_free(&t->last);
    buf_free(&t->failure.text);
    free(t->member);
    *t = (struct team){.a = t->a};
    return lost;
}

/* ---------------------------------------------------------------- a tool less */

static bool has(const struct session_role *r, const char *name)
{
    for (int i = 0; i < r->n_tools; i++)
        if (strcmp(r->tools[i], name) == 0) return true;
    return false;
}

/* It goes behind the others, so that who owns the names finds it still. */
static void put_last(const char **names, int n, const char *name)
{
    for (int i = 0; i + 1 < n; i++) {
        if (strcmp(names[i], name) != 0) continue;
        const char *next = names[i + 1];
        names[i + 1] = names[i];
        names[i] = next;
    }
}

int team_drop_tool(struct team *t, const char *name, struct err *err)
{
    struct toolbox *b = &t->a->toolbox;
    int rc = 0;
    if (strcmp(name, "recall") == 0 || strcmp(name, "artifact") == 0)
        return err_set(err, -1, "%s reads the session's own memory, and stays with it (--recall off: without)", name);
    if (!rights_on(b->rights, name)) return err_set(err, -1, "the tool %.40s is not on", name);
    if (rights_drop(b->rights, name, err)) return -1;
    put_last(b->on, b->n_on, name);
    if (b->n_on > 0 && strcmp(b->on[b->n_on - 1], name) == 0) b->n_on--;
    for (int i = 0; i < t->n; i++) {
        struct member *m = &t->member[i];
        if (t->crew) put_last((const char **)t->a->crew.agent[i].tools, m->role.n_tools, name);
        if (!has(&m->role, name)) continue;
        m->role.n_tools--;
        if (m->open && session_set_tools(&m->s, m->role.n_tools, err)) rc = -1;
    }
    return rc;
}

/* ---------------------------------------------------------------- one agent */

struct session *team_session(struct team *t) { return &t->member[t->current].s; }

void team_use(struct team *t, int i)
{
    t->chosen = i >= 0;
    if (i < 0) return;
    t->current = i;
    t->a->trace.voice = &t->member[i].s.voice;
}

const char *team_name(const struct team *t, int i) { return t->member[i].role.name; }

int team_find(const struct team *t, const char *name, size_t n)
{
    for (int i = 0; i < t->n; i++)
        if (strlen(team_name(t, i)) == n && memcmp(team_name(t, i), name, n) == 0) return i;
    return -1;
}

void team_names(const struct team *t, struct buf *out)
{
    for (int i = 0; i < t->n; i++) buf_printf(out, "%s%s", i ? ", " : "", team_name(t, i));
}

int team_find_shown(const struct team *t, const char *name, size_t n)
{
    const bool alone = t->n == 1 && !*team_name(t, 0);
    const bool is_it = alone && n == strlen(TEAM_ALONE) && memcmp(name, TEAM_ALONE, n) == 0;
    return is_it ? 0 : team_find(t, name, n);
}

void team_settle(struct team *t, struct session *s)
{
    if (t->a->between) session_poll(s);
    else session_settle(s);
}

int team_ask_agent(struct team *t, int i, const char *text, size_t n, struct err *err)
{
    struct session *s = &t->member[i].s;
    struct voice *before = t->a->trace.voice;
    struct team_try y;
    int turns = s->voice.turns;
    t->a->trace.voice = &s->voice;
    s->voice.cancelled = false;
    team_try_begin(t, &y);
    if (t->crew) team_run_begin(t, i, text, n);
    int status = session_ask(s, text, n, err);
    team_settle(t, s);
    team_try_end(&y, s, status, err);
    if (!session_cancelled(s)) team_remember(t, i, turns, text, n, &y);
    if (t->crew) team_run_end(t, status == EXIT_DONE, NULL, 0);
    t->a->trace.voice = before;
    t->last.len = 0;
    if (status == EXIT_DONE) buf_put(&t->last, s->answer.data ? s->answer.data : "", s->answer.len);
    return status;
}

int team_ask(struct team *t, const char *text, size_t n, struct err *err)
{
    if (!t->crew || t->chosen) return team_ask_agent(t, t->current, text, n, err);
    return team_run_flow(t, text, n, err);
}
