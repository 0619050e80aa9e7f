/* doc_artifacts.c - what a session keeps whole, and any text of it to read. */
#include "app/console.h"
#include "app/tui/doc.h"
#include "app/tui/view_artifacts.h"
#include <inttypes.h>
#include <jansson.h>
#include <time.h>

enum { TEXT_PART = 256 << 10, ARGUMENTS_MOST = 64 << 10 };

/* The session that is asked about: of the agent, or the one that commands are about. */
static struct session *session_of(const struct console *c, int agent)
{
    const bool there = agent >= 0 && agent < c->team.n && c->team.member[agent].open;
    return there ? &c->team.member[agent].s : c->s;
}

/* Cut between characters; NUL is a blank. */
static void put_cut(char *out, size_t room, const char *text, size_t len)
{
    size_t n = MIN(len, room - 1);
    while (n > 0 && n < len && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
    for (size_t i = 0; i < n; i++) out[i] = text[i] ? text[i] : ' ';
    out[n] = '\0';
}

/* ------------------------------------------------------------------ the list */

struct collecting {
    const struct session *s;
    struct doc_artifacts *doc;
    uint64_t least;   /* older ones are left out */
    size_t cap;
    char tool[ARTIFACTS_TOOL], about[ARTIFACTS_ABOUT]; /* of the last call */
    struct artifacts_row told; /* by the last event of a result that is still to come; id 0: none */
    bool failed;
};

/* {"pattern":"alloc","path":"x"} as pattern=alloc path=x; what is no such object as it is. */
static void put_arguments(const char *json, size_t n, char out[ARTIFACTS_ABOUT])
{
    struct buf line = {0};
    json_t *o = n <= ARGUMENTS_MOST ? json_loadb(json, n, 0, NULL) : NULL, *value;
    const char *name;
    json_object_foreach(o, name, value) {
        char *other = json_is_string(value) ? NULL : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        buf_printf(&line, "%s%s=", line.len ? " " : "", name);
        buf_puts(&line, other ? other : json_is_string(value) ? json_string_value(value) : "");
        free(other);
    }
    if (json_is_object(o) && !line.failed) put_cut(out, ARTIFACTS_ABOUT, line.data ? line.data : "", line.len);
    else put_cut(out, ARTIFACTS_ABOUT, json, n);
    json_decref(o);
    buf_free(&line);
}

static void on_call(struct collecting *l, const struct journal_message *m)
{
    struct form_call call;
    l->tool[0] = l->about[0] = '\0';
    if (forms_read_call_as(FORM_CALLS_ANY, m->text, m->len, &call, NULL)) return;
    put_cut(l->tool, sizeof l->tool, call.name, strlen(call.name));
    put_arguments(call.arguments, strlen(call.arguments), l->about);
    forms_call_free(&call);
}

static bool room_for_one(struct collecting *l)
{
    if ((size_t)l->doc->rows < l->cap) return true;
    const size_t cap = l->cap ? 2 * l->cap : 64;
    struct artifacts_row *row = realloc(l->doc->row, cap * sizeof *row);
    l->failed = !row;
    if (!row) return false;
    l->doc->row = row;
    l->cap = cap;
    return true;
}

static void take_told(struct artifacts_row *r, const struct artifacts_row *told)
{
    r->tokens = told->tokens;
    memcpy(r->tool, told->tool, sizeof r->tool);
    memcpy(r->about, told->about, sizeof r->about);
}

static bool one_message(void *self, uint64_t number, const struct journal_message *m)
{
    struct collecting *l = self;
    (void)number;
    if (m->kind == JOURNAL_CALL) on_call(l, m);
    if (m->artifact == 0) return true;
    if (m->artifact < l->least || l->doc->rows >= 2 * ARTIFACTS_MOST) {
        l->doc->left_out++;
        return true;
    }
    if (!room_for_one(l)) return false;
    struct artifacts_row *r = &l->doc->row[l->doc->rows++];
    *r = (struct artifacts_row){.id = m->artifact, .tokens = -1, .turn = m->turn, .time_ms = m->time_ms};
    if (m->kind == JOURNAL_DOCUMENT) {
        snprintf(r->tool, sizeof r->tool, "document");
        put_cut(r->about, sizeof r->about, m->text, m->len);
    } else if (l->told.id == m->artifact) {
        take_told(r, &l->told);
    } else {
        memcpy(r->tool, *l->tool ? l->tool : "tool", *l->tool ? sizeof r->tool : 5);
        memcpy(r->about, l->about, sizeof r->about);
    }
    return true;
}

/* A result's event says more than it: it is behind one of ours, and before what a model's call gave. */
static bool one_event(void *self, uint64_t number, const char *json, size_t n)
{
    struct collecting *l = self;
    struct event e;
    struct artifacts_row told = {0};
    (void)number;
    if (!memmem(json, n, "\"event\":\"tool\"", 14) || event_read(json, n, &e, NULL)) return true;
    if (e.kind == EV_TOOL && session_artifact_name(e.tool.artifact.data, e.tool.artifact.len, &told.id)) {
        told.tokens = MAX(e.tool.tokens, 0);
        put_cut(told.tool, sizeof told.tool, e.tool.name.data, e.tool.name.len);
        put_arguments(e.tool.arguments.data, e.tool.arguments.len, told.about);
        int i = l->doc->rows;
        while (i > 0 && l->doc->row[i - 1].id != told.id) i--;
        if (i > 0) take_told(&l->doc->row[i - 1], &told);
        else l->told = told;
    }
    event_free(&e);
    return true;
}

static int by_newest(const void *a, const void *b)
{
    const struct artifacts_row *x = a, *y = b;
    return x->id < y->id ? 1 : x->id > y->id ? -1 : 0;
}

static int collect(struct store *st, void *arg, struct err *err)
{
    struct collecting *l = arg;
    struct doc_artifacts *d = l->doc;
    const struct journal_visit v = {.message = one_message, .event = one_event, .self = l};
    int rc = journal_each(st, l->s->keep.head.id, 0, &v, err);
    if (rc == 0 && l->failed) rc = err_set(err, STORE_NO_MEMORY, "no memory for a list of artifacts");
    if (rc) return rc;
    if (d->rows > 0) qsort(d->row, (size_t)d->rows, sizeof *d->row, by_newest);
    if (d->rows > ARTIFACTS_MOST) d->left_out += (uint64_t)(d->rows - ARTIFACTS_MOST);
    d->rows = MIN(d->rows, ARTIFACTS_MOST);
    for (int i = 0; i < d->rows; i++)
        d->row[i].damaged = store_artifact_size(st, l->s->keep.head.id, d->row[i].id, &d->row[i].bytes, NULL) != 0;
    return 0;
}

static void free_list(void *data)
{
    struct doc_artifacts *d = data;
    free(d->row);
    free(d);
}

void doc_artifacts(struct console *c, struct doc *d)
{
    struct err err = {0};
    struct timespec t;
    struct session *s = session_of(c, d->ask.agent);
    const uint64_t next = s->keep.head.artifacts;
    struct collecting l = {.s = s, .least = next > ARTIFACTS_MOST ? next - ARTIFACTS_MOST : 0};
    if (!s->keep.keeper) {
        snprintf(d->error, sizeof d->error, "this session is not saved, so nothing is kept whole");
        return;
    }
    l.doc = calloc(1, sizeof *l.doc);
    if (!l.doc) {
        snprintf(d->error, sizeof d->error, "no memory for a list of artifacts");
        return;
    }
    session_settle(s);
    clock_gettime(CLOCK_REALTIME, &t);
    l.doc->now_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    snprintf(l.doc->agent, sizeof l.doc->agent, "%s", s->role.name);
    d->data = l.doc;
    d->free = free_list;
    if (keep_call(&s->keep, collect, &l, &err) == 0) return;
    snprintf(d->error, sizeof d->error, "%.230s", err.text);
    free_list(l.doc);
    d->data = NULL;
}

/* ------------------------------------------------------------------ a text */

/* Bytes at the end of a part that begin a character which goes on behind it. */
static size_t begun(const char *text, size_t n)
{
    for (size_t k = 1; k <= MIN(n, (size_t)3); k++) {
        const unsigned char c = (unsigned char)text[n - k];
        if (c < 0x80) return 0;
        if (c >= 0xc0) return k < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? k : 0;
    }
    return 0;
}

/* What was read from `from` on becomes the doc's, less halves of characters at both ends. */
static void take_part(struct doc_text *t, struct buf *part, uint64_t from, uint64_t bytes)
{
    size_t skip = 0, n = part->len;
    while (from > 0 && skip < MIN(n, (size_t)3) && ((unsigned char)part->data[skip] & 0xc0) == 0x80) skip++;
    if (from + n < bytes) n -= begun(part->data + skip, n - skip);
    buf_put(&t->text, n > skip ? part->data + skip : "", n - skip);
    t->from = from + skip;
    t->next = from + n;
    t->bytes = bytes;
}

struct reading {
    const struct session *s;
    uint64_t id, from, bytes;
    struct buf part;
};

static int read_part(struct store *st, void *arg, struct err *err)
{
    struct reading *r = arg;
    const uint8_t *id = r->s->keep.head.id;
    const int rc = store_artifact_size(st, id, r->id, &r->bytes, err);
    return rc ? rc : store_read_artifact(st, id, r->id, r->from, TEXT_PART, &r->part, err);
}

/* One that is not in the store yet. */
static bool waits(const struct session *s, struct reading *r)
{
    const struct buf *b = keep_artifact(&s->keep, &s->batch, r->id);
    if (!b) return false;
    const size_t from = (size_t)MIN(r->from, (uint64_t)b->len);
    r->bytes = b->len;
    buf_put(&r->part, b->data ? b->data + from : "", MIN(b->len - from, (size_t)TEXT_PART));
    return true;
}

static int artifact_text(struct session *s, uint64_t id, uint64_t from, struct doc_text *t, struct err *err)
{
    struct reading r = {.s = s, .id = id, .from = from};
    int rc = 0;
    if (!s->keep.keeper) return err_set(err, -1, "this session is not saved: it has no artifacts");
    if (!waits(s, &r)) {
        session_settle(s);
        rc = keep_call(&s->keep, read_part, &r, err);
    }
    if (rc == STORE_NOT_FOUND) err_set(err, rc, "no such artifact: a%" PRIu64, id);
    if (rc == 0) take_part(t, &r.part, MIN(from, r.bytes), r.bytes);
    snprintf(t->title, sizeof t->title, "a%" PRIu64, id);
    buf_free(&r.part);
    return rc;
}

/* Its lines in which a pattern matches. */
static int artifact_lines(struct session *s, uint64_t id, const char *pattern, size_t n, uint64_t from,
                          struct doc_text *t, struct err *err)
{
    struct clip_figures f = {0};
    const struct clip_request ask = {.by = CLIP_BY_REGEX, .from = from, .pattern = pattern, .pattern_len = n};
    if (session_read_artifact(s, id, &ask, &t->text, &f, err)) return -1;
    t->from = from;
    t->next = f.next;
    t->bytes = f.bytes;
    snprintf(t->title, sizeof t->title, "a%" PRIu64 ": %" PRIu64 " line%s with /%.*s/%s", id, f.count,
             f.count == 1 ? "" : "s", (int)MIN(n, (size_t)100), pattern, from ? " from here on" : "");
    return 0;
}

static int message_text(struct session *s, uint64_t number, uint64_t from, struct doc_text *t, struct err *err)
{
    const struct text_entry *e = session_text(s, number, err);
    struct buf part = {0};
    if (!e) return -1;
    const size_t at = (size_t)MIN(from, (uint64_t)e->len);
    buf_put(&part, e->text + at, MIN(e->len - at, (size_t)TEXT_PART));
    take_part(t, &part, at, e->len);
    snprintf(t->title, sizeof t->title, "m%" PRIu64 ", %s", number, journal_kind_name(e->kind));
    buf_free(&part);
    session_poll(s); /* it leaves memory again */
    return 0;
}

/* "a3", "a3 /out of memory/", "m12" */
static int text_of(struct session *s, const struct doc_ask *ask, struct doc_text *t, struct err *err)
{
    const char *what = ask->what, *rest = strchrnul(what, ' ');
    const size_t name = (size_t)(rest - what), n = strlen(rest);
    const bool pattern = n >= 4 && rest[1] == '/' && rest[n - 1] == '/';
    uint64_t first, last;
    if (session_artifact_name(what, name, &first) && pattern)
        return artifact_lines(s, first, rest + 2, n - 3, ask->from, t, err);
    if (n == 0 && session_artifact_name(what, name, &first)) return artifact_text(s, first, ask->from, t, err);
    if (n == 0 && window_ref_read(what, name, &first, &last) && first == last)
        return message_text(s, first, ask->from, t, err);
    return err_set(err, -1, "no such text: %.60s", what);
}

static void free_text(void *data)
{
    struct doc_text *t = data;
    buf_free(&t->text);
    free(t);
}

void doc_text(struct console *c, struct doc *d)
{
    struct err err = {0};
    struct doc_text *t = calloc(1, sizeof *t);
    d->data = t;
    d->free = free_text;
    if (t && text_of(session_of(c, d->ask.agent), &d->ask, t, &err) == 0 && !t->text.failed) return;
    snprintf(d->error, sizeof d->error, "%.230s", !t || t->text.failed ? "no memory for this text" : err.text);
    if (t) free_text(t);
    d->data = NULL;
}
