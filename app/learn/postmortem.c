/* postmortem.c - a session's flight recorder and its last errors, read from the store, and judged. */
#include "app/learn/postmortem.h"
#include "app/learn/verdict_own.h"
#include "app/session/event.h"
#include <math.h>

enum {
    READ_MOST = 256 << 10, /* bytes of the recorder, its end */
    LOOKED_BACK = 2000,    /* messages and events, for errors */
    CANDIDATES = 40,       /* sessions that are looked at for one that died */
    MEMBERS = 4096         /* ... for those of a run */
};

struct reading {
    const struct postmortem_ask *ask;
    struct journal_head head;
    struct doc_flight *doc;
    struct judge *judge; /* NULL: no memory for one */
};

/* ------------------------------------------------------------------ the recorder */

static int64_t figure_of(int64_t n) { return MAX(0, MIN(n, FLIGHT_FIGURE)); }

/* At most size - 1 bytes, whole characters, in one line: what a line says is ours to say. */
static void text_of(struct event_str s, char *out, size_t size)
{
    size_t n = MIN(s.len, size - 1);
    while (n > 0 && n < s.len && ((unsigned char)s.data[n] & 0xc0) == 0x80) n--;
    for (size_t i = 0; i < n; i++) out[i] = (unsigned char)s.data[i] < ' ' ? ' ' : s.data[i];
    out[n] = '\0';
}

static void on_memory(struct doc_flight *d, const struct event *e)
{
    const struct event_memory *m = &e->memory;
    if (d->samples == FLIGHT_SAMPLES) memmove(d->sample, d->sample + 1, (size_t)--d->samples * sizeof *d->sample);
    d->sample[d->samples++] = (struct flight_sample){
        .time = isfinite(e->time) ? e->time : 0, .pool = figure_of(m->pool_tokens),
        .reserved = figure_of(m->reserved_tokens), .filled = figure_of(m->filled_tokens),
        .shared = figure_of(m->shared_tokens), .cached = figure_of(m->cached_tokens),
        .running = figure_of(m->running), .waiting = figure_of(m->waiting), .parked = figure_of(m->parked),
        .ceiling = figure_of(m->ceiling_bytes),
        .taken = figure_of(m->weight_bytes) + figure_of(m->kv_bytes) + figure_of(m->work_bytes) +
                 figure_of(m->text_bytes)};
    d->texts = figure_of(m->text_bytes);
    d->owners = 0;
    d->queue_pages = 0;
}

/* The machine event behind a memory event has all tables, the texts among them. */
static void take_tables(struct doc_flight *d, int64_t bytes)
{
    if (d->samples == 0 || d->texts > bytes) return;
    d->sample[d->samples - 1].taken += bytes - d->texts;
    d->texts = bytes;
}

static void on_holding(struct doc_flight *d, const struct event *e)
{
    const struct event_holding *h = &e->holding;
    const int64_t own = figure_of(h->system_tokens) + figure_of(h->summary_tokens) + figure_of(h->history_tokens) +
                        figure_of(h->tool_tokens) + figure_of(h->answer_tokens);
    struct flight_owner o = {.running = figure_of(h->running), .waiting = figure_of(h->waiting),
                             .parked = figure_of(h->parked), .tokens = own, .shared = figure_of(h->shared_tokens),
                             .bytes = figure_of(h->kv_bytes)};
    int at = d->owners;
    if (d->samples == 0) return;
    text_of(h->owner, o.name, sizeof o.name);
    while (at > 0 && d->owner[at - 1].tokens < own) at--;
    if (at == FLIGHT_OWNERS) return;
    const int behind = MIN(d->owners, FLIGHT_OWNERS - 1) - at;
    memmove(&d->owner[at + 1], &d->owner[at], (size_t)behind * sizeof o);
    d->owner[at] = o;
    d->owners = MIN(d->owners + 1, FLIGHT_OWNERS);
    struct flight_sample *s = &d->sample[d->samples - 1];
    memcpy(s->most, d->owner[0].name, sizeof s->most);
    s->most_tokens = d->owner[0].tokens;
}

static void on_line(struct doc_flight *d, const struct event *e)
{
    d->end = FLIGHT_DIED; /* something is behind its end: it went on */
    d->end_reason[0] = '\0';
    switch (e->kind) {
    case EV_MEMORY: on_memory(d, e); break;
    case EV_HOLDING: on_holding(d, e); break;
    case EV_MACHINE:
        text_of(e->machine.queue_first, d->queue_first, sizeof d->queue_first);
        d->queue_pages = figure_of(e->machine.queue_pages);
        take_tables(d, figure_of(e->machine.table_bytes));
        break;
    case EV_SESSION_CLOSE:
        d->end = FLIGHT_ENDED;
        text_of(e->session_close.termination_reason, d->end_reason, sizeof d->end_reason);
        break;
    default: d->unread += event_info(e->kind)->class != EVENT_SAMPLE; /* figures of something else */
    }
}

static void read_lines(struct doc_flight *d, struct judge *judge, const char *text, size_t n)
{
    size_t at = n > READ_MOST ? n - READ_MOST : 0;
    while (at < n) {
        const char *end = memchr(text + at, '\n', n - at);
        const size_t len = end ? (size_t)(end - text) - at : n - at;
        struct event e;
        if (event_read(text + at, len, &e, NULL) == 0) {
            on_line(d, &e);
            if (judge) judge_feed(judge, &e);
            event_free(&e);
        } else {
            d->unread++;
        }
        at += len + 1;
    }
}

/* judge: NULL while one is only looked for. */
static int read_flight(struct store *s, const uint8_t id[STORE_SESSION_ID], struct doc_flight *d, struct judge *judge,
                       struct err *err)
{
    const struct store_key key = store_key_piece(id, "flight");
    struct buf text = {0};
    d->samples = d->owners = d->unread = 0; /* of the one that was looked at before */
    d->queue_pages = 0;
    d->queue_first[0] = d->end_reason[0] = '\0';
    d->end = FLIGHT_DIED;
    const int rc = store_get(s, STORE_JOURNAL, &key, REC_PIECE, &text, err);
    if (rc == 0 && text.len > 0) read_lines(d, judge, text.data, text.len);
    else if (rc == STORE_NOT_FOUND) d->end = FLIGHT_UNKNOWN;
    buf_free(&text);
    return rc == STORE_NOT_FOUND ? 0 : rc;
}

/* ------------------------------------------------------------------ which one */

static bool is_here(const struct reading *l, const uint8_t id[STORE_SESSION_ID])
{
    for (int i = 0; i < l->ask->n_here; i++)
        if (memcmp(l->ask->here[i], id, STORE_SESSION_ID) == 0) return true;
    return false;
}

static bool is_elsewhere(struct store *s, const uint8_t id[STORE_SESSION_ID], char where[200])
{
    struct store_lock lock;
    struct err err = {0};
    const int rc = store_lock_session(s, id, &lock, &err);
    if (rc == 0) store_unlock_session(&lock);
    if (rc != STORE_BUSY) return false;
    const size_t n = strcspn(err.text, ";"); /* what to do about it is for who wants to write there */
    snprintf(where, 200, "%.*s", (int)MIN(n, 199u), err.text);
    return true;
}

/* The record of a crew's run has no figures: its sessions have.  run: of no other are they to be; or NULL. */
static bool is_passed_over(const struct reading *l, const uint8_t *run, const struct journal_head *h)
{
    if (run && memcmp(h->run.id, run, sizeof h->run.id) != 0) return true;
    return journal_is_run(h) || (!run && is_here(l, h->id));
}

/* The newest that died, or else the newest: of those that are not open here, or of a run. */
static int find_newest(struct store *s, struct reading *l, const uint8_t *run, struct err *err)
{
    struct journal_head *head = NULL;
    size_t n = 0;
    int found = -1;
    const int rc = journal_heads(s, run ? MEMBERS : CANDIDATES, &head, &n, NULL, err);
    if (rc) return rc;
    for (size_t i = n; i-- > 0;)
        if (!is_passed_over(l, run, &head[i])) found = (int)i;
    for (size_t i = n; i-- > 0;) {
        if (is_passed_over(l, run, &head[i]) || read_flight(s, head[i].id, l->doc, NULL, NULL)) continue;
        const bool died = l->doc->end == FLIGHT_DIED && !is_here(l, head[i].id);
        if (died && !is_elsewhere(s, head[i].id, l->doc->where)) found = (int)i;
    }
    *l->doc->where = '\0';
    if (found >= 0) l->head = head[found];
    free(head);
    if (found >= 0) return 0;
    if (run) return err_set(err, STORE_NOT_FOUND, "no session of this run is saved: there is none to look at");
    return err_set(err, STORE_NOT_FOUND, "no session%s is saved: there is none to look at",
                   l->ask->n_here > 0 ? " but this one" : "");
}

static int find_one(struct store *s, struct reading *l, struct err *err)
{
    if (!*l->ask->what) return find_newest(s, l, NULL, err);
    const int rc = journal_find(s, l->ask->what, &l->head, err);
    if (rc || !journal_is_run(&l->head)) return rc;
    uint8_t run[STORE_SESSION_ID];
    memcpy(run, l->head.run.id, sizeof run);
    return find_newest(s, l, run, err);
}

/* ------------------------------------------------------------------ its errors, and why */

static bool pass_message(void *self, uint64_t number, const struct journal_message *m)
{
    (void)self, (void)number, (void)m;
    return true;
}

static void put_error(struct doc_flight *d, const struct event *e, int64_t turn, const char *what,
                      struct event_str text)
{
    if (d->errors == FLIGHT_ERRORS) memmove(d->error, d->error + 1, (size_t)--d->errors * sizeof *d->error);
    struct flight_error *x = &d->error[d->errors++];
    *x = (struct flight_error){.turn = figure_of(turn), .time = isfinite(e->time) ? e->time : 0};
    snprintf(x->what, sizeof x->what, "%s", what);
    text_of(text, x->text, sizeof x->text);
}

static bool one_event(void *self, uint64_t number, const char *json, size_t n)
{
    struct reading *l = self;
    struct doc_flight *d = l->doc;
    struct event e;
    (void)number;
    if (event_read(json, n, &e, NULL)) return true;
    if (l->judge) judge_feed(l->judge, &e);
    if (e.kind == EV_ERROR) put_error(d, &e, 0, "error", e.error.text);
    if (e.kind == EV_REFUSAL) put_error(d, &e, e.refusal.turn, "refused", e.refusal.text);
    if (e.kind == EV_STOPPED) put_error(d, &e, e.stopped.turn, "stopped", e.stopped.reason);
    event_free(&e);
    return true;
}

/* ------------------------------------------------------------------ all */

/* A failure that nothing has come after is why it ended, however it did; else a death is judged by its figures. */
static void judge_it(struct reading *l)
{
    struct doc_flight *d = l->doc;
    if (!l->judge) return;
    d->judged = judge_failing(l->judge) && judge_verdict(l->judge, JUDGE_LAST, &d->verdict);
    if (d->judged || d->end != FLIGHT_DIED) return;
    judge_death(l->judge, &d->verdict);
    d->judged = true;
}

static int read_one(struct store *s, struct reading *l, struct err *err)
{
    struct doc_flight *d = l->doc;
    const struct journal_head *h = &l->head;
    int rc = read_flight(s, h->id, d, l->judge, err);
    if (rc) return rc;
    journal_id_text(h->id, d->id);
    snprintf(d->title, sizeof d->title, "%s", h->title);
    snprintf(d->model, sizeof d->model, "%s", h->model);
    d->created_ms = h->created_ms;
    d->updated_ms = h->updated_ms;
    d->turns = h->turns;
    if (is_here(l, h->id)) d->end = FLIGHT_OPEN_HERE;
    else if (is_elsewhere(s, h->id, d->where)) d->end = FLIGHT_OPEN_ELSEWHERE;
    const struct journal_visit v = {.message = pass_message, .event = one_event, .self = l};
    rc = journal_each(s, h->id, h->next > LOOKED_BACK ? h->next - LOOKED_BACK : 0, &v, err);
    if (rc == 0) judge_it(l);
    return rc;
}

int postmortem_read(struct store *s, const struct postmortem_ask *ask, struct doc_flight *d, struct err *err)
{
    struct reading l = {.ask = ask, .doc = d, .judge = judge_open()};
    int rc = find_one(s, &l, err);
    if (rc == 0) rc = read_one(s, &l, err);
    judge_close(l.judge);
    return rc;
}
