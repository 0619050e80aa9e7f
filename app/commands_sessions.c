/* commands_sessions.c - saved sessions: listed, gone on with, copied, exported, deleted. */
#include "app/commands.h"
#include "app/say.h"
#include "app/sessions.h"
#include "app/signals.h"
#include <errno.h>
#include <inttypes.h>
#include <time.h>

/* ---------------------------------------------------------------- sessions */

struct listing {
    struct journal_head *head;
    size_t n;
};

enum { LISTED = 30 };

static int list(struct store *s, void *arg, struct err *err)
{
    struct listing *l = arg;
    return journal_heads(s, LISTED, &l->head, &l->n, NULL, err);
}

/* below: of a run of a crew, whose record is the line before. */
static void say_one(const struct console *c, const struct journal_head *h, bool below)
{
    char id[2 * STORE_SESSION_ID + 1], when[32];
    const uint8_t *here = journal_is_run(h) ? c->team.run.keep.head.id : c->s->keep.head.id;
    time_t t = (time_t)(h->updated_ms / 1000);
    struct tm tm;
    journal_id_text(h->id, id);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M", localtime_r(&t, &tm));
    say("%.8s  %s  %4u %s%-1s  %s%s%s", id, when, (unsigned)h->turns, journal_is_run(h) ? "line" : "turn",
        plural(h->turns), below ? "  " : "", h->title,
        memcmp(h->id, here, STORE_SESSION_ID) == 0 ? "  (this one)" : "");
}

static void say_list(const struct console *c, const struct listing *l)
{
    size_t order[LISTED];
    bool below[LISTED];
    if (journal_group(l->head, l->n, order, below)) say_error("no memory for a list of sessions");
    else
        for (size_t i = 0; i < l->n; i++) say_one(c, &l->head[order[i]], below[i]);
}

void command_sessions(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    struct listing l = {0};
    (void)arg, (void)n;
    if (!c->s->keep.keeper) {
        say_error("sessions are not saved here");
        return;
    }
    session_settle(c->s);
    if (keep_call(&c->s->keep, list, &l, &err)) command_complain(&err);
    say_list(c, &l);
    if (l.n == 0) say("none is saved yet");
    if (l.n == LISTED) say_dim("the newest %d; plimsoll sessions lists all", LISTED);
    free(l.head);
}

/* Of a crew the whole run. */
static void resume_crew(struct console *c, const char *name)
{
    struct err err = {0};
    if (!console_may_leave(c, true)) return;
    int status = team_resume(&c->team, name, &err);
    if (status) command_complain(&err);
    if (status <= 0) return;
    c->status = status;
    c->quit = true;
}

struct resuming {
    const char *name;
    const uint8_t *own; /* the session that is open here: its lock is held */
};

/* Would it open?  The one that is open here is closed for it. */
static int can_resume(struct store *s, void *arg, struct err *err)
{
    const struct resuming *r = arg;
    struct journal_head h;
    struct store_lock lock;
    int rc = journal_find(s, r->name, &h, err);
    if (rc || memcmp(h.id, r->own, sizeof h.id) == 0) return rc;
    rc = store_lock_session(s, h.id, &lock, err);
    if (rc == 0) store_unlock_session(&lock);
    return rc;
}

void command_resume(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    char name[64], old[2 * STORE_SESSION_ID + 1];
    if (n == 0 || n >= sizeof name) {
        say_error("/resume SESSION: the first letters of its id, or last; /sessions lists them");
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)n, arg);
    if (c->team.crew) {
        resume_crew(c, name);
        return;
    }
    if (!c->s->keep.keeper) {
        say_error("sessions are not saved here (--no-save): none can be resumed");
        return;
    }
    if (keep_call(&c->s->keep, can_resume, &(struct resuming){name, c->s->keep.head.id}, &err)) {
        command_complain(&err);
        return;
    }
    if (!console_may_leave(c, false)) return;
    journal_id_text(c->s->keep.head.id, old);
    bool said = c->s->keep.head.turns > 0;
    struct session_role role = c->s->role;
    struct buf system = {0};
    const struct text_entry *e = session_system_text(c->s);
    if (e) buf_put(&system, e->text, e->len);
    console_leave(c);
    if (session_resume_as(c->s, c->a, &role, name, NULL, &err) == EXIT_DONE) {
        buf_free(&system);
        say_dim("%.8s, %s: %u turn%s", name, c->s->keep.head.title, c->s->keep.head.turns,
                c->s->keep.head.turns == 1 ? "" : "s");
        return;
    }
    command_complain(&err);
    session_close(c->s);
    int status = said ? session_resume_as(c->s, c->a, &role, old, NULL, &err)
                      : session_new_as(c->s, c->a, &role, system.data, &err);
    buf_free(&system);
    if (status == EXIT_DONE) return;
    app_error(c->a, "open", err.text);
    c->status = status;
    c->quit = true;
}

void command_fork(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    uint64_t turn = c->s->keep.head.turns;
    if (n > 0 && !command_number(arg, n, UINT32_MAX, &turn)) {
        say_error("/fork TURN goes on in a copy of this session as it was after that turn (%u: now)",
                  c->s->keep.head.turns);
        return;
    }
    if (session_fork(c->s, (uint32_t)turn, &err)) {
        command_complain(&err);
        c->quit = c->s->w == NULL;
        c->status = c->quit ? EXIT_INTERNAL : c->status;
        return;
    }
    char id[2 * STORE_SESSION_ID + 1];
    journal_id_text(c->s->keep.head.id, id);
    say_dim("this is a copy now, %.8s, after turn %u", id, (unsigned)turn);
}

void command_rename(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    if (n == 0 && !*c->s->keep.head.title) say("it has no title yet; /rename TITLE gives one");
    else if (n == 0) say("%s", c->s->keep.head.title);
    else if (session_rename(c->s, arg, n, &err)) command_complain(&err);
    else say_dim("it is called %s", c->s->keep.head.title);
}

/* ---------------------------------------------------------------- sessions, as a whole */

static int write_file(struct store *s, void *arg, struct err *err) { return sessions_write(s, arg, err); }

static void export_to(struct console *c, struct sessions_file *f)
{
    struct err err = {0};
    session_settle(c->s); /* what waits is in it too */
    const int unsaved = c->s->keep.n_unsaved;
    if (unsaved == 1) say("the last turn could not be saved yet, and is not in it");
    else if (unsaved > 1) say("the last %d turns could not be saved yet, and are not in it", unsaved);
    if (c->s->acknowledged == 0) {
        say_error("nothing was said yet in this session");
        return;
    }
    if (keep_call(&c->s->keep, write_file, f, &err)) {
        command_complain(&err);
        if (err.code == SESSIONS_STOPPED) signals_forget_interrupt();
    } else {
        say_dim("written to %s", f->path);
        sessions_tell_size(&f->options, f->bytes);
    }
    if (f->missing.len > 0) command_text("not in it:", f->missing.data, f->missing.len);
    buf_free(&f->missing);
}

void command_export(struct console *c, const char *arg, size_t n)
{
    char path[1024];
    struct sessions_file f = {.path = path};
    if (n > 3 && memcmp(arg + n - 3, " md", 3) == 0) {
        f.options.format = EXPORT_MARKDOWN;
        for (n -= 3; n > 0 && arg[n - 1] == ' '; n--) {
        }
    }
    if (n == 0 || n >= sizeof path) {
        say_error("/export FILE writes this session as JSON Lines, /export FILE md as Markdown");
        return;
    }
    if (!c->s->keep.keeper) {
        say_error("sessions are not saved here");
        return;
    }
    snprintf(path, sizeof path, "%.*s", (int)n, arg);
    memcpy(f.session, c->s->keep.head.id, sizeof f.session);
    if (sessions_file_exists(path)) {
        f.over = sessions_ask(&c->in, "%s is there already; write over it?", path);
        signals_forget_interrupt();
        if (!f.over && sessions_nobody(&c->in))
            say("%s stays as it is: it is there already, and nobody can be asked here; name another file", path);
        else if (!f.over) say_dim("it stays as it is");
        if (!f.over) return;
    }
    export_to(c, &f);
}

struct deleting {
    const char *name;
    struct journal_head head;
    size_t members;
    bool waits;
};

static int find_one(struct store *s, void *arg, struct err *err)
{
    struct deleting *d = arg;
    int rc = journal_find(s, d->name, &d->head, err);
    return rc ? rc : sessions_members(s, &d->head, &d->members, err);
}

static int delete_one(struct store *s, void *arg, struct err *err)
{
    struct deleting *d = arg;
    return sessions_delete(s, d->head.id, &d->waits, err);
}

void command_delete(struct console *c, const char *arg, size_t n)
{
    struct err err = {0};
    char name[64], what[SESSIONS_WHAT];
    struct deleting d = {.name = name};
    if (n == 0 || n >= sizeof name) {
        say_error("/delete SESSION: the first letters of its id, or last; /sessions lists them");
        return;
    }
    if (!c->s->keep.keeper) {
        say_error("sessions are not saved here");
        return;
    }
    const bool now = n > 4 && memcmp(arg + n - 4, " now", 4) == 0;
    snprintf(name, sizeof name, "%.*s", (int)(now ? n - 4 : n), arg);
    if (keep_call(&c->s->keep, find_one, &d, &err)) {
        command_complain(&err);
        return;
    }
    const uint8_t *run = c->team.run.keep.head.id; /* zeros where there is no crew */
    if (memcmp(d.head.id, c->s->keep.head.id, sizeof d.head.id) == 0 || memcmp(d.head.id, run, sizeof d.head.id) == 0) {
        say_error("that is the one that is open here; /clear or /resume another first");
        return;
    }
    sessions_what(&d.head, d.members, what);
    bool yes = now || sessions_ask(&c->in, "delete %s, for good?", what);
    signals_forget_interrupt();
    if (!yes && sessions_nobody(&c->in))
        say("it stays: nobody can be asked here; /delete %s now deletes it unasked", name);
    else if (!yes) say_dim("it stays");
    else if (keep_call(&c->s->keep, delete_one, &d, &err)) command_complain(&err);
    else if (!d.waits) say_dim("%.8s is deleted", what);
    if (yes && err.code == 0) sessions_tell_deleted(d.waits);
}
