/* team_run.c - see team_run.h. */
#include "app/session/team_run.h"
#include "app/say.h"
#include "app/session/session_impl.h"
#include "app/session/team.h"

enum { ROSTER_MOST = 1 << 20, HEX = 2 * STORE_SESSION_ID };

/* ---------------------------------------------------------------- its journal */

/* As a session does: events between the messages, figures not. */
static void on_event(void *self, struct event *e)
{
    struct team_run *r = self;
    struct buf line = {0};
    struct event copy = *e;
    if (event_info(e->kind)->class == EVENT_SAMPLE) return;
    copy.seq = (int64_t)r->keep.head.next;
    if (event_write(&copy, &line)) r->batch.failed = true;
    else journal_add_event(&r->batch, r->keep.head.next++, line.data, line.len - 1);
    buf_free(&line);
}

static void note(struct team_run *r, enum journal_kind kind, const char *text, size_t n)
{
    const struct journal_message m = {.kind = kind, .turn = r->keep.head.turns + 1, .time_ms = session_now_ms(),
                                      .text = text, .len = n};
    journal_add(&r->batch, r->keep.head.next++, &m);
}

static void on_saved(void *self, const struct keep_saved *what)
{
    struct team_run *r = self;
    if (what->err.code && !r->told) app_error(r->a, "store", what->err.text);
    r->told = what->err.code != 0;
}

static void attach(struct team *t)
{
    struct team_run *r = &t->run;
    r->a = t->a;
    r->keep.saved = on_saved;
    r->keep.self = r;
    t->a->trace.own.note = on_event;
    t->a->trace.own.self = r;
}

static int failed(struct team_run *r, int rc)
{
    r->keep = (struct keep){0};
    return rc;
}

int team_run_new(struct team *t, struct err *err)
{
    struct team_run *r = &t->run;
    char model[JOURNAL_TITLE + 1];
    *r = (struct team_run){.a = t->a, .roster = json_object()};
    if (!r->roster) return err_set(err, STORE_NO_MEMORY, "no memory for a crew's run");
    if (!t->a->keeper) return 0;
    session_title(t->a->info->name, strlen(t->a->info->name), JOURNAL_TITLE, model);
    int rc = keep_new(&r->keep, t->a->keeper, model, err);
    if (rc) return failed(r, rc);
    team_run_name(t, "", &r->keep.head);
    attach(t);
    const struct session_role none = session_alone(t->a);
    struct event e = session_opened(t->a, &none);
    on_event(r, &e);
    return 0;
}

/* ---------------------------------------------------------------- found and opened */

struct finding {
    const char *name, *crew;
    struct journal_head *out;
};

static int find(struct store *s, void *arg, struct err *err)
{
    const struct finding *f = arg;
    return journal_find_run(s, f->name, f->crew, f->out, err);
}

int team_run_find(struct team *t, const char *name, struct journal_head *out, struct err *err)
{
    struct keep any = {.keeper = t->a->keeper};
    if (!t->a->keeper)
        return err_set(err, STORE_NOT_FOUND, "sessions are not saved here (--no-save): none can be resumed");
    return keep_call(&any, find, &(struct finding){name, t->crew->name, out}, err);
}

static int read_roster(struct store *s, void *arg, struct err *err)
{
    struct team_run *r = arg;
    const struct store_key key = store_key_piece(r->keep.head.id, "run");
    r->saved.len = 0;
    return store_get(s, STORE_JOURNAL, &key, REC_PIECE, &r->saved, err);
}

/* A record is believed to be ours, and no more: each entry is looked at again where it is used. */
static int parse_roster(struct team_run *r, struct err *err)
{
    char id[HEX + 1];
    bool fits = r->saved.len > 0 && r->saved.len <= ROSTER_MOST && !r->saved.failed;
    r->roster = fits ? json_loadb(r->saved.data, r->saved.len, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (json_is_object(r->roster)) return 0;
    journal_id_text(r->keep.head.id, id);
    return err_set(err, STORE_DAMAGED, "the record of run %.8s is damaged: it does not say whose sessions are of it; "
                   "--resume ID without --crew goes on with one of them", id);
}

int team_run_open(struct team *t, const struct journal_head *h, struct err *err)
{
    struct team_run *r = &t->run;
    char id[HEX + 1];
    *r = (struct team_run){.a = t->a, .begun = true};
    journal_id_text(h->id, id);
    int rc = keep_open(&r->keep, t->a->keeper, id, err);
    if (rc) return failed(r, rc);
    attach(t);
    rc = keep_call(&r->keep, read_roster, r, err);
    return rc ? rc : parse_roster(r, err);
}

int team_run_close(struct team *t)
{
    struct team_run *r = &t->run;
    int lost = 0;
    if (r->keep.keeper && r->begun) team_run_save(t);
    if (r->begun && r->batch.n_records > 0) lost++;
    t->a->trace.own.note = NULL;
    t->a->trace.own.self = NULL;
    lost += keep_close(&r->keep);
    journal_batch_free(&r->batch);
    json_decref(r->roster);
    buf_free(&r->saved);
    *r = (struct team_run){0};
    return lost;
}

/* ---------------------------------------------------------------- whose session is which */

uint32_t team_run_system(const struct team *t, int agent)
{
    const struct buf *system = &t->member[agent].system;
    return crc32c(0, system->data ? system->data : "", system->len);
}

const char *team_run_session(const struct team *t, const char *agent, uint32_t *system)
{
    const json_t *o = json_object_get(t->run.roster, agent);
    const char *id = json_string_value(json_object_get(o, "session"));
    *system = (uint32_t)json_integer_value(json_object_get(o, "system"));
    return id && strlen(id) == HEX ? id : NULL; /* anything else is no session of anybody's */
}

bool team_run_said(const struct team *t, const char *agent)
{
    return !json_is_false(json_object_get(json_object_get(t->run.roster, agent), "said"));
}

void team_run_tell(const struct team *t)
{
    const struct journal_head *h = &t->run.keep.head;
    char id[HEX + 1];
    const char *name;
    json_t *value;
    uint32_t system;
    journal_id_text(h->id, id);
    say_dim("[run %.8s of the crew %s goes on after %u line%s]", id, t->crew->name, (unsigned)h->turns,
            h->turns == 1 ? "" : "s");
    json_object_foreach(t->run.roster, name, value) {
        const char *session = team_run_session(t, name, &system);
        if (team_find(t, name, strlen(name)) >= 0 || !session || !team_run_said(t, name)) continue;
        say("%.40s is not in the crew file any more: its session %.8s stays as it is", name, session);
    }
}

void team_run_name(const struct team *t, const char *agent, struct journal_head *h)
{
    memcpy(h->run.id, t->run.keep.head.id, sizeof h->run.id);
    snprintf(h->run.crew, sizeof h->run.crew, "%s", t->crew->name);
    snprintf(h->run.agent, sizeof h->run.agent, "%s", agent);
}

/* ---------------------------------------------------------------- saving */

/* Sessions may have changed since: by /fork, by /clear.  false: no memory. */
static bool call_the_roll(struct team *t)
{
    bool ok = true;
    for (int i = 0; i < t->n; i++) {
        const struct session *s = &t->member[i].s;
        struct journal_head *h = &t->member[i].s.keep.head;
        char id[HEX + 1];
        team_run_name(t, team_name(t, i), h);
        journal_id_text(h->id, id);
        json_t *entry = json_pack("{s:s, s:I, s:b}", "session", id, "system", (json_int_t)team_run_system(t, i),
                                  "said", session_begun(s));
        if (json_object_set_new(t->run.roster, team_name(t, i), entry)) ok = false;
    }
    return ok;
}

/* The roster becomes a piece of the batch where it is another than the last. */
static void put_roster(struct team_run *r)
{
    char *text = json_dumps(r->roster, JSON_COMPACT);
    size_t n = text ? strlen(text) : 0;
    const bool same = n == r->saved.len && n > 0 && memcmp(text, r->saved.data, n) == 0;
    if (!text) r->batch.failed = true;
    if (text && !same) {
        journal_add_piece(&r->batch, "run", text, n);
        r->saved.len = 0;
        buf_put(&r->saved, text, n);
    }
    free(text);
}

void team_run_save(struct team *t)
{
    struct team_run *r = &t->run;
    struct err err = {0};
    if (!r->keep.keeper || (r->batch.n_records == 0 && r->batch.n_pieces == 0 && !r->changed)) return;
    r->keep.head.updated_ms = session_now_ms();
    if (keep_is_full(&r->keep)) keep_again(&r->keep);
    if (!keep_is_full(&r->keep) && keep_save(&r->keep, &r->batch, r->keep.head.turns, &err) == 0) {
        r->begun = true;
        r->changed = false;
        return;
    }
    if (!r->told) app_error(r->a, "store", *err.text ? err.text : "the record of the crew's run cannot be saved");
    r->told = true;
}

static void entitle(struct team *t, const char *text, size_t n)
{
    struct buf title = {0};
    buf_printf(&title, "%s", t->crew->name);
    if (n > 0) buf_puts(&title, ": ");
    buf_put(&title, text, n);
    if (!title.failed) session_title(title.data, title.len, 80, t->run.keep.head.title);
    buf_free(&title);
}

/* The members bear the run's name, and the record is in the store before anything of theirs. */
static void begin(struct team *t)
{
    struct team_run *r = &t->run;
    if (!call_the_roll(t)) r->batch.failed = true;
    put_roster(r);
    if (!*r->keep.head.title) entitle(t, "", 0);
}

void team_run_begin(struct team *t, int agent, const char *text, size_t n)
{
    struct team_run *r = &t->run;
    struct buf line = {0};
    r->copies = 0;
    if (!r->keep.keeper) return;
    if (agent >= 0) buf_printf(&line, "@%s ", team_name(t, agent));
    buf_put(&line, text, n);
    r->batch.failed |= line.failed;
    if (r->keep.head.turns == 0) entitle(t, text, n);
    begin(t);
    if (!line.failed) note(r, JOURNAL_USER, line.len > 0 ? line.data : "", line.len);
    buf_free(&line);
    team_run_save(t);
}

void team_run_end(struct team *t, bool well, const char *text, size_t n)
{
    struct team_run *r = &t->run;
    if (!r->keep.keeper) return;
    if (well && text) note(r, JOURNAL_ANSWER, text, n);
    if (well) r->keep.head.turns++;
    r->changed = true;
    begin(t); /* who spoke for the first time has a session now */
    team_run_save(t);
}

bool team_run_copy(struct team *t)
{
    const bool full = t->n_leaving >= TEAM_COPIES;
    if (!t->run.keep.keeper || (t->run.copies++ < TEAM_COPIES && !full)) return true;
    if (full) say_dim("[what this fresh agent says is not saved apart: %d wait for the store already]", t->n_leaving);
    else if (t->run.copies == TEAM_COPIES + 1)
        say("more than %d asks of fresh agents in this flow: what further ones say is not saved apart", TEAM_COPIES);
    return false;
}

void team_run_keep_up(struct team *t)
{
    bool any = t->run.begun;
    for (int i = 0; i < t->n; i++) any = any || session_begun(&t->member[i].s);
    if (!t->run.keep.keeper || !any) return;
    begin(t);
    team_run_save(t);
}
