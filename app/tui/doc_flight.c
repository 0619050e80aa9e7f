/* doc_flight.c - a session's flight recorder and its last errors, from the store's thread. */
#include "app/console.h"
#include "app/tui/doc.h"
#include "app/tui/view_flight.h"
#include <math.h>
#include <time.h>

enum {
    READ_MOST = 256 << 10, /* bytes of the recorder, its end */
    LOOKED_BACK = 2000,    /* messages and events, for errors */
    CANDIDATES = 40        /* sessions that are looked at for one that died */
};

struct collecting {
    const struct doc_ask *ask;
    uint8_t here[CREW_AGENTS][STORE_SESSION_ID]; /* of this program's agents */
    int n_here;
    struct journal_head head;
    struct doc_flight *doc;
};

/* ------------------------------------------------------------------ the recorder */

static int64_t figure_of(int64_t n) { return MAX(0, MIN(n, FLIGHT_FIGURE)); }

static void name_of(struct event_str s, char out[FLIGHT_NAME])
{
    size_t n = MIN(s.len, (size_t)FLIGHT_NAME - 1);
    while (n > 0 && n < s.len && ((unsigned char)s.data[n] & 0xc0) == 0x80) n--;
    for (size_t i = 0; i < n; i++) out[i] = s.data[i] ? s.data[i] : ' ';
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
    d->owners = 0;
    d->queue_pages = 0;
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
    name_of(h->owner, o.name);
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
    switch (e->kind) {
    case EV_MEMORY: on_memory(d, e); break;
    case EV_HOLDING: on_holding(d, e); break;
    case EV_MACHINE:
        name_of(e->machine.queue_first, d->queue_first);
        d->queue_pages = figure_of(e->machine.queue_pages);
        break;
    case EV_SESSION_CLOSE: {
        const struct event_str reason = e->session_close.termination_reason;
        d->end = FLIGHT_ENDED;
        snprintf(d->end_reason, sizeof d->end_reason, "%.*s", (int)MIN(reason.len, sizeof d->end_reason), reason.data);
        break;
    }
    default: d->unread++;
    }
}

static void read_lines(struct doc_flight *d, const char *text, size_t n)
{
    size_t at = n > READ_MOST ? n - READ_MOST : 0;
    while (at < n) {
        const char *end = memchr(text + at, '\n', n - at);
        const size_t len = end ? (size_t)(end - text) - at : n - at;
        struct event e;
        if (event_read(text + at, len, &e, NULL) == 0) {
            on_line(d, &e);
            event_free(&e);
        } else {
            d->unread++;
        }
        at += len + 1;
    }
}

static int read_flight(struct store *s, const uint8_t id[STORE_SESSION_ID], struct doc_flight *d, struct err *err)
{
    const struct store_key key = store_key_piece(id, "flight");
    struct buf text = {0};
    d->samples = d->owners = d->unread = 0;
    d->end = FLIGHT_DIED;
    const int rc = store_get(s, STORE_JOURNAL, &key, REC_PIECE, &text, err);
    if (rc == 0 && text.len > 0) read_lines(d, text.data, text.len);
    buf_free(&text);
    return rc == STORE_NOT_FOUND ? 0 : rc;
}

/* ------------------------------------------------------------------ which one */

static bool is_here(const struct collecting *l, const uint8_t id[STORE_SESSION_ID])
{
    for (int i = 0; i < l->n_here; i++)
        if (memcmp(l->here[i], id, STORE_SESSION_ID) == 0) return true;
    return false;
}

static bool is_elsewhere(struct store *s, const uint8_t id[STORE_SESSION_ID], char where[200])
{
    struct store_lock lock;
    struct err err = {0};
    const int rc = store_lock_session(s, id, &lock, &err);
    if (rc == 0) store_unlock_session(&lock);
    if (rc == STORE_BUSY) snprintf(where, 200, "%.199s", err.text);
    return rc == STORE_BUSY;
}

/* The record of a crew's run has no figures: its sessions have. */
static bool is_passed_over(const struct collecting *l, const struct journal_head *h)
{
    return journal_is_run(h) || is_here(l, h->id);
}

/* The newest that died, or else the newest that is not open here. */
static int find_one(struct store *s, struct collecting *l, struct err *err)
{
    struct journal_head *head = NULL;
    size_t n = 0;
    int found = -1;
    if (*l->ask->what) return journal_find(s, l->ask->what, &l->head, err);
    const int rc = journal_heads(s, CANDIDATES, &head, &n, NULL, err);
    if (rc) return rc;
    for (size_t i = n; i-- > 0;)
        if (!is_passed_over(l, &head[i])) found = (int)i;
    for (size_t i = n; i-- > 0;) {
        if (is_passed_over(l, &head[i]) || read_flight(s, head[i].id, l->doc, NULL)) continue;
        if (l->doc->end == FLIGHT_DIED && !is_elsewhere(s, head[i].id, l->doc->where)) found = (int)i;
    }
    *l->doc->where = '\0';
    if (found >= 0) l->head = head[found];
    free(head);
    return found >= 0 ? 0 : err_set(err, STORE_NOT_FOUND, "no session but this one is saved: there is none to look at");
}

/* ------------------------------------------------------------------ its errors */

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
    size_t n = MIN(text.len, sizeof x->text - 1);
    while (n > 0 && n < text.len && ((unsigned char)text.data[n] & 0xc0) == 0x80) n--;
    for (size_t i = 0; i < n; i++) x->text[i] = text.data[i] ? text.data[i] : ' ';
}

static bool one_event(void *self, uint64_t number, const char *json, size_t n)
{
    struct doc_flight *d = self;
    struct event e;
    (void)number;
    if (event_read(json, n, &e, NULL)) return true;
    if (e.kind == EV_ERROR) put_error(d, &e, 0, "error", e.error.text);
    if (e.kind == EV_REFUSAL) put_error(d, &e, e.refusal.turn, "refused", e.refusal.text);
    if (e.kind == EV_STOPPED) put_error(d, &e, e.stopped.turn, "stopped", e.stopped.reason);
    event_free(&e);
    return true;
}

/* ------------------------------------------------------------------ all */

static int collect(struct store *s, void *arg, struct err *err)
{
    struct collecting *l = arg;
    struct doc_flight *d = l->doc;
    int rc = find_one(s, l, err);
    if (rc == 0) rc = read_flight(s, l->head.id, d, err);
    if (rc) return rc;
    const struct journal_head *h = &l->head;
    journal_id_text(h->id, d->id);
    snprintf(d->title, sizeof d->title, "%s", h->title);
    snprintf(d->model, sizeof d->model, "%s", h->model);
    d->created_ms = h->created_ms;
    d->updated_ms = h->updated_ms;
    d->turns = h->turns;
    if (is_here(l, h->id)) d->end = FLIGHT_OPEN_HERE;
    else if (is_elsewhere(s, h->id, d->where)) d->end = FLIGHT_OPEN_ELSEWHERE;
    const struct journal_visit v = {.message = pass_message, .event = one_event, .self = d};
    return journal_each(s, h->id, h->next > LOOKED_BACK ? h->next - LOOKED_BACK : 0, &v, err);
}

static void here(const struct console *c, struct collecting *l)
{
    for (int i = 0; i < c->team.n && l->n_here < CREW_AGENTS; i++)
        if (c->team.member[i].open)
            memcpy(l->here[l->n_here++], c->team.member[i].s.keep.head.id, STORE_SESSION_ID);
}

void doc_flight(struct console *c, struct doc *d)
{
    struct err err = {0};
    struct timespec t;
    struct collecting l = {.ask = &d->ask};
    if (!c->s->keep.keeper) {
        snprintf(d->error, sizeof d->error, "sessions are not saved in this run (--no-save): there is none to look at");
        return;
    }
    l.doc = calloc(1, sizeof *l.doc);
    if (!l.doc) {
        snprintf(d->error, sizeof d->error, "no memory for a post-mortem");
        return;
    }
    here(c, &l);
    clock_gettime(CLOCK_REALTIME, &t);
    l.doc->now_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    if (keep_call(&c->s->keep, collect, &l, &err)) {
        snprintf(d->error, sizeof d->error, "%.230s", err.text);
        free(l.doc);
        return;
    }
    d->data = l.doc;
    d->free = free;
}
