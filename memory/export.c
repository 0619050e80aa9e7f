/* export.c - what is to be written, part by part, and JSON Lines of it. */
#include "memory/export_impl.h"
#include "memory/base64.h"
#include <inttypes.h>
#include <jansson.h>

enum { PENDING = 1 << 16, PART = 1 << 20, PART_ITEMS = 256 };

/* ------------------------------------------------------------------ towards the sink */

bool export_goes_on(const struct exporter *x) { return !x->ended && !x->failed; }

static void flush(struct exporter *x)
{
    x->failed |= x->text.failed;
    if (export_goes_on(x) && x->text.len > 0) x->ended = !x->sink->write(x->sink->self, x->text.data, x->text.len);
    x->text.len = 0;
}

void export_put(struct exporter *x, const char *bytes, size_t n)
{
    for (size_t at = 0, part; at < n && export_goes_on(x); at += part) { /* text stays small, however long this is */
        part = MIN(n - at, (size_t)PENDING);
        buf_put(&x->text, bytes + at, part);
        if (x->text.len >= PENDING || x->text.failed) flush(x);
    }
}

void export_printf(struct exporter *x, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    export_put(x, line, n > 0 ? MIN((size_t)n, sizeof line - 1) : 0);
}

void export_missing(struct exporter *x, const char *line)
{
    if (x->sink->missing) x->sink->missing(x->sink->self, line);
}

/* ------------------------------------------------------------------ from the store */

struct part { /* of the session's records: a copy, so that nothing of the store is open while they are written */
    const struct exporter *x;
    struct export_item item[PART_ITEMS];
    size_t at[PART_ITEMS]; /* of its text in: */
    struct buf text;
    struct buf missing; /* lines, each with its NUL */
    size_t n;
    uint64_t next;
    bool more;
};

static bool take(struct part *p, const struct export_item *i)
{
    p->next = i->number + 1;
    if (i->out && !p->x->o->all) return true;
    p->item[p->n] = *i;
    p->at[p->n++] = p->text.len;
    buf_put(&p->text, i->m.text, i->m.len);
    p->more = p->n == PART_ITEMS || p->text.len >= PART;
    return !p->more && !p->text.failed;
}

static bool take_message(void *self, uint64_t number, const struct journal_message *m)
{
    struct part *p = self;
    const struct export_item i = {
        .number = number, .m = *m, .out = m->kind == JOURNAL_MARK || journal_span_has(&p->x->out, number)};
    return number < p->x->h->next && take(p, &i); /* what another process adds meanwhile is not of this head */
}

static bool take_event(void *self, uint64_t number, const char *json, size_t n)
{
    struct part *p = self;
    const struct export_item i = {.number = number, .event = true, .out = journal_span_has(&p->x->out, number),
                                  .m = {.text = json, .len = n}};
    return number < p->x->h->next && take(p, &i);
}

static bool take_missing(void *self, const char *line)
{
    struct part *p = self;
    buf_put(&p->missing, line, strlen(line) + 1);
    return true;
}

int export_each(struct exporter *x, void (*one)(struct exporter *x, const struct export_item *i, void *self),
                void *self, struct err *err)
{
    struct part *p = calloc(1, sizeof *p);
    struct journal_visit v = {take_message, take_event, take_missing, p};
    int rc = p ? 0 : err_set(err, STORE_NO_MEMORY, "no memory for an export");
    if (!p) return rc;
    *p = (struct part){.x = x, .more = true};
    while (rc == 0 && p->more && export_goes_on(x)) {
        p->more = false;
        p->n = p->text.len = p->missing.len = 0;
        rc = journal_each(x->s, x->h->id, p->next, &v, err);
        x->failed |= p->text.failed || p->missing.failed;
        for (size_t i = 0; i < p->n && rc == 0 && export_goes_on(x); i++) {
            p->item[i].m.text = p->text.data ? p->text.data + p->at[i] : "";
            one(x, &p->item[i], self);
        }
        for (size_t at = 0; at < p->missing.len && !x->failed; at += strlen(p->missing.data + at) + 1)
            export_missing(x, p->missing.data + at);
    }
    buf_free(&p->text);
    buf_free(&p->missing);
    free(p);
    return rc;
}

/* ------------------------------------------------------------------ JSON Lines */

struct lines {
    struct number_set artifacts; /* that messages name */
    uint64_t records;
};

/* The object becomes a line, and is gone. */
static void put_line(struct exporter *x, json_t *o)
{
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(o);
    x->failed |= !text;
    if (text) {
        export_put(x, text, strlen(text));
        export_put(x, "\n", 1);
    }
    free(text);
}

static void put_number(struct exporter *x, json_t *o, const char *key, uint64_t n)
{
    if (json_object_set_new(o, key, json_integer((json_int_t)n))) x->failed = true;
}

static void put_text(struct exporter *x, json_t *o, const char *text, size_t n)
{
    json_t *string = json_stringn(text, n); /* NULL: not UTF-8 */
    struct buf coded = {0};
    if (!string) base64_put(text, n, &coded);
    if (json_object_set_new(o, string ? "text" : "base64", string ? string : json_stringn(coded.data, coded.len)))
        x->failed = true;
    buf_free(&coded);
}

/* How many of n bytes make a piece: all but a character that is not whole at its end. */
static size_t piece_of(const char *text, size_t n, size_t most)
{
    if (n <= most) return n;
    for (size_t back = 1; back <= 3; back++) {
        uint8_t c = (uint8_t)text[most - back];
        if ((c & 0xc0) == 0x80) continue;
        size_t needs = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return needs > back ? most - back : most;
    }
    return most;
}

static void put_id(struct exporter *x, json_t *o, const char *key, const uint8_t id[STORE_SESSION_ID])
{
    char text[2 * STORE_SESSION_ID + 1];
    journal_id_text(id, text);
    if (json_object_set_new(o, key, json_string(text))) x->failed = true;
}

static void put_run(struct exporter *x, json_t *o)
{
    const struct journal_run *r = &x->h->run;
    json_t *members = json_array();
    json_t *run = json_pack("{s:s, s:s}", "crew", r->crew, "agent", r->agent);
    put_id(x, run, "id", r->id);
    for (size_t i = 0; i < x->n_members; i++) {
        json_t *m = json_pack("{s:s}", "agent", x->member[i].run.agent);
        put_id(x, m, "session", x->member[i].id);
        if (json_array_append_new(members, m)) x->failed = true;
    }
    if (json_object_set_new(run, "members", members) || json_object_set_new(o, "run", run)) x->failed = true;
}

static void put_head(struct exporter *x)
{
    static const uint8_t none[STORE_SESSION_ID];
    const struct journal_head *h = x->h;
    char id[2 * STORE_SESSION_ID + 1];
    journal_id_text(h->id, id);
    json_t *o = json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I}", "plimsoll_session", EXPORT_VERSION, "id", id, "title",
                          h->title, "model", h->model, "created", (json_int_t)h->created_ms, "updated",
                          (json_int_t)h->updated_ms, "turns", (json_int_t)h->turns);
    if (o && memcmp(h->parent, none, sizeof none) != 0) {
        put_id(x, o, "parent", h->parent);
        put_number(x, o, "parent_turn", h->parent_turn);
    }
    if (o && journal_in_run(h)) put_run(x, o);
    put_line(x, o);
}

static json_t *numbered(struct exporter *x, uint64_t number)
{
    json_t *o = json_object();
    put_number(x, o, "number", number);
    return o;
}

static void put_message(struct exporter *x, uint64_t number, const struct journal_message *m)
{
    const struct { const char *key; uint64_t n; } field[] = {
        {"flags", m->flags}, {"first", m->first}, {"last", m->last}, {"results", m->results},
        {"artifact", m->artifact}, {"bytes", m->len > EXPORT_PIECE ? m->len : 0}};
    json_t *o = numbered(x, number);
    if (json_object_set_new(o, "kind", json_string(journal_kind_name(m->kind)))) x->failed = true;
    put_number(x, o, "turn", m->turn);
    put_number(x, o, "time", (uint64_t)MAX(m->time_ms, 0));
    for (size_t i = 0; i < COUNT_OF(field); i++)
        if (field[i].n) put_number(x, o, field[i].key, field[i].n);
    size_t n = piece_of(m->text, m->len, EXPORT_PIECE);
    put_text(x, o, m->text, n);
    put_line(x, o);
    for (size_t at = n; at < m->len && export_goes_on(x); at += n) {
        o = numbered(x, number);
        put_number(x, o, "offset", at);
        n = piece_of(m->text + at, m->len - at, EXPORT_PIECE);
        put_text(x, o, m->text + at, n);
        put_line(x, o);
    }
}

static void put_damaged(struct exporter *x, uint64_t number, const char *why)
{
    char name[160], line[240];
    struct store_key key = store_key_message(x->h->id, number);
    store_key_text(key.byte, key.n, name);
    snprintf(line, sizeof line, "%s is damaged: %s", name, why);
    export_missing(x, line);
}

/* false: left out. */
static bool put_event(struct exporter *x, uint64_t number, const char *json, size_t n)
{
    json_t *event = n <= EXPORT_EVENT ? json_loadb(json, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL) : NULL;
    if (!json_is_object(event)) {
        json_decref(event);
        put_damaged(x, number, n <= EXPORT_EVENT ? "its JSON is none" : "an event of more than 4 MiB");
        return false;
    }
    json_t *o = numbered(x, number);
    if (json_object_set_new(o, "kind", json_string("event")) || json_object_set_new(o, "event", event))
        x->failed = true;
    put_line(x, o);
    return true;
}

static void one_line(struct exporter *x, const struct export_item *i, void *self)
{
    struct lines *l = self;
    if (i->number >= EXPORT_NUMBERS || i->m.artifact >= EXPORT_NUMBERS) {
        put_damaged(x, i->number, "its number, or its artifact's, is beyond those that an export has");
        return;
    }
    if (i->event && !put_event(x, i->number, i->m.text, i->m.len)) return;
    if (!i->event) put_message(x, i->number, &i->m);
    if (!i->event && i->m.artifact && !number_set_add(&l->artifacts, i->m.artifact)) x->failed = true;
    l->records++;
}

/* ------------------------------------------------------------------ artifacts */

/* Whether all of it can be read; *bytes is its size. */
static int look_at(struct exporter *x, uint64_t artifact, uint64_t *bytes, struct err *err)
{
    struct buf piece = {0};
    int rc = store_artifact_size(x->s, x->h->id, artifact, bytes, err);
    for (uint64_t at = 0; rc == 0 && at < *bytes; at += PART) {
        piece.len = 0;
        rc = store_read_artifact(x->s, x->h->id, artifact, at, PART, &piece, err);
    }
    buf_free(&piece);
    return rc;
}

static int put_pieces(struct exporter *x, uint64_t artifact, uint64_t bytes, struct err *err)
{
    struct buf piece = {0};
    uint64_t at = 0;
    int rc = 0;
    do { /* one of no bytes has one line too */
        piece.len = 0;
        rc = store_read_artifact(x->s, x->h->id, artifact, at, STORE_CHUNK, &piece, err);
        if (rc) break;
        size_t n = at + piece.len < bytes ? piece_of(piece.data, piece.len + 1, piece.len) : piece.len;
        json_t *o = json_object();
        put_number(x, o, "artifact", artifact);
        put_number(x, o, "offset", at);
        put_number(x, o, "bytes", bytes);
        put_text(x, o, piece.data ? piece.data : "", n);
        put_line(x, o);
        at += n;
    } while (at < bytes && export_goes_on(x));
    buf_free(&piece);
    return rc;
}

static int put_artifact(struct exporter *x, uint64_t artifact, struct err *err)
{
    struct err why = {0};
    uint64_t bytes;
    int rc = look_at(x, artifact, &bytes, &why);
    if (rc == 0) return put_pieces(x, artifact, bytes, err);
    if (rc != STORE_NOT_FOUND && rc != STORE_DAMAGED) {
        if (err) *err = why;
        return rc;
    }
    export_missing(x, why.text);
    json_t *o = json_object();
    put_number(x, o, "artifact", artifact);
    if (json_object_set_new(o, "lost", json_true())) x->failed = true;
    put_line(x, o);
    return 0;
}

int export_jsonl(struct exporter *x, struct err *err)
{
    struct lines l = {0};
    put_head(x);
    int rc = export_each(x, one_line, &l, err);
    for (uint64_t a = 1; a < 8 * l.artifacts.bits.len && rc == 0 && export_goes_on(x); a++)
        if (number_set_has(&l.artifacts, a)) rc = put_artifact(x, a, err);
    if (rc == 0)
        put_line(x, json_pack("{s:{s:I, s:I}}", "end", "records", (json_int_t)l.records, "artifacts",
                              (json_int_t)l.artifacts.n));
    buf_free(&l.artifacts.bits);
    return rc;
}

/* ------------------------------------------------------------------ all formats */

/* Newest first, as they are listed. */
static int find_members(struct exporter *x, struct err *err)
{
    struct journal_head *h;
    size_t n;
    if (!journal_in_run(x->h)) return 0;
    int rc = journal_run_heads(x->s, x->h->run.id, EXPORT_MEMBERS + 1, &h, &n, err);
    if (rc) return rc;
    for (size_t i = 0; i < n; i++)
        if (!journal_is_run(&h[i]) && x->n_members < EXPORT_MEMBERS) h[x->n_members++] = h[i];
    x->member = h;
    return 0;
}

int export_session(struct store *s, const struct journal_head *h, const struct export_options *o,
                   const struct export_sink *sink, struct err *err)
{
    struct exporter x = {.s = s, .h = h, .o = o, .sink = sink};
    int rc = journal_out(s, h->id, 0, MAX(h->next, (uint64_t)1) - 1, ~0u, &x.out, err);
    if (rc == 0) rc = find_members(&x, err);
    if (rc == 0) rc = o->format == EXPORT_JSONL ? export_jsonl(&x, err) : export_words(&x, err);
    if (rc == 0) flush(&x);
    if (rc == 0 && (x.failed || x.out.failed)) rc = err_set(err, STORE_NO_MEMORY, "no memory for an export");
    journal_span_free(&x.out);
    free(x.member);
    buf_free(&x.text);
    return rc;
}
