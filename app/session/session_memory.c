/* session_memory.c - the tools that a conversation's own memory is read with: artifacts, messages that left, recall. */
#include "app/session/session_result.h"
#include "memory/forms.h"
#include "tools/clip.h"
#include <inttypes.h>

enum { READ_MOST = 1 << 20, QUERY_MOST = 200 };

/* ---------------------------------------------------------------- artifacts */

struct piece {
    const uint8_t *session;
    uint64_t id, at;
    size_t n;
    struct buf *out;
    uint64_t bytes;
};

static int read_piece(struct store *st, void *arg, struct err *err)
{
    struct piece *p = arg;
    p->out->len = 0;
    return store_read_artifact(st, p->session, p->id, p->at, p->n, p->out, err);
}

static int read_size(struct store *st, void *arg, struct err *err)
{
    struct piece *p = arg;
    return store_artifact_size(st, p->session, p->id, &p->bytes, err);
}

struct artifact_source {
    struct session *s;
    struct piece p;
    struct buf bytes;
    const struct buf *waits;
};

static int get_bytes(void *self, uint64_t at, char *out, size_t n, struct err *err)
{
    struct artifact_source *a = self;
    if (a->waits) {
        memcpy(out, a->waits->data + at, n);
        return 0;
    }
    a->p.at = at;
    a->p.n = n;
    if (keep_call(&a->s->keep, read_piece, &a->p, err)) return -1;
    if (a->bytes.len != n) return err_set(err, -1, "artifact a%" PRIu64 " ends early", a->p.id);
    memcpy(out, a->bytes.data, n);
    return 0;
}

int session_read_artifact(struct session *s, uint64_t id, const struct clip_request *ask, struct buf *out,
                          struct clip_figures *f, struct err *err)
{
    struct artifact_source a = {.s = s, .p = {.session = s->keep.head.id, .id = id},
                                .waits = keep_artifact(&s->keep, &s->batch, id)};
    if (!session_saves(s)) return err_set(err, -1, "this session is not saved: it has no artifacts");
    a.p.out = &a.bytes;
    a.p.bytes = a.waits ? a.waits->len : 0;
    int rc = a.waits ? 0 : keep_call(&s->keep, read_size, &a.p, err);
    if (rc) return rc == STORE_NOT_FOUND ? err_set(err, -1, "no such artifact: a%" PRIu64, id) : rc;
    struct clip_source source = {get_bytes, &a, a.p.bytes};
    struct clip_config cfg = {.counter = {result_count, s}, .max_tokens = session_room(s), .kind = CLIP_TEXT};
    rc = clip_read(&cfg, &source, ask, out, f, err);
    buf_free(&a.bytes);
    return rc;
}

bool session_artifact_name(const char *name, size_t n, uint64_t *id)
{
    *id = 0;
    if (n < 2 || n > 12 || name[0] != 'a') return false;
    for (size_t i = 1; i < n; i++) {
        if (name[i] < '0' || name[i] > '9') return false;
        *id = *id * 10 + (uint64_t)(name[i] - '0');
    }
    return true;
}

static void tell_no_match(const struct clip_request *ask, const struct clip_figures *f, struct buf *shown)
{
    if (ask->by == CLIP_BY_REGEX && f->count == 0) buf_puts(shown, "no line matches\n");
}

/* ---------------------------------------------------------------- messages that left */

struct said { /* messages as one text, of which a part is held; on the store's thread, then on the app's */
    const uint8_t *session;
    const struct journal_spans *undone;
    uint64_t first, last, from, bytes; /* numbers; of the text: where the part begins, and all of it */
    struct buf part;                   /* at most READ_MOST bytes */
    bool undoes;                       /* some of them were taken back: they are left out */
    bool lost;                         /* some cannot be had: */
    struct err why;                    /* the first of these */
};

static void put_said(struct said *t, const char *text, size_t n)
{
    uint64_t skip = t->from > t->bytes ? MIN(t->from - t->bytes, (uint64_t)n) : 0;
    buf_put(&t->part, text + skip, MIN(n - (size_t)skip, READ_MOST - t->part.len));
    t->bytes += n;
}

static void put_message(struct said *t, uint64_t id, enum journal_kind kind, const char *text, size_t n)
{
    const char *name = journal_kind_name(kind);
    bool out = journal_span_has(t->undone, id);
    t->undoes |= out;
    if (out || kind == JOURNAL_MARK) return;
    put_said(t, name, strlen(name));
    put_said(t, ": ", 2);
    put_said(t, text, n);
    put_said(t, "\n", 1);
}

static bool on_message(void *self, uint64_t number, const struct journal_message *m)
{
    struct said *t = self;
    if (number <= t->last) put_message(t, number, m->kind, m->text ? m->text : "", m->len);
    return number < t->last;
}

static bool on_damaged(void *self, const char *line)
{
    struct said *t = self;
    if (!t->lost) err_set(&t->why, -1, "%s", line);
    return t->lost = true;
}

/* Passing over what is not held takes no memory and no trip to another thread for each of them. */
static int read_said(struct store *st, void *arg, struct err *err)
{
    struct said *t = arg;
    return journal_each(st, t->session, t->first,
                        &(struct journal_visit){.message = on_message, .damaged = on_damaged, .self = t}, err);
}

/* Of the messages from first to last: what the store has, then what waits in memory to be saved. */
static int find_said(struct session *s, uint64_t first, uint64_t last, struct said *t, struct err *err)
{
    const uint64_t end = MIN(last, s->keep.head.next - 1), saved = session_saves(s) ? s->acknowledged : 0;
    t->session = s->keep.head.id;
    t->undone = &s->undone;
    if (session_find_undone(s, first, err)) return -1;
    t->first = first;
    t->last = MIN(end, saved);
    if (session_saves(s) && first <= t->last && keep_call(&s->keep, read_said, t, err)) return -1;
    for (uint64_t id = session_saves(s) ? MAX(first, saved + 1) : first; id <= end; id++) {
        struct err why = {0};
        const struct text_entry *e = texts_get(&s->texts, id, &why);
        const struct texts_gone *gone = &s->texts.gone; /* others that are not there are marks and events */
        if (e) put_message(t, id, e->kind, e->text, e->len);
        if (e || gone->n == 0 || id < gone->first || id > gone->last) continue;
        if (!t->lost) t->why = why;
        t->lost = true;
    }
    return t->part.failed ? err_set(err, -1, "no memory for what was said") : 0;
}

/* Where more follows, the last character may be half there. */
static size_t whole_characters(const char *text, size_t n)
{
    size_t lead = n;
    while (lead > 0 && n - lead < 3 && ((unsigned char)text[lead - 1] & 0xc0) == 0x80) lead--;
    return lead > 0 && (unsigned char)text[lead - 1] >= 0xc0 ? lead - 1 : n;
}

/* As of a clipped result: of all of it, estimated from what is held. */
static int64_t said_tokens(struct session *s, const struct said *t)
{
    double about = (double)result_tokens_about(s, &t->part) * ((double)t->bytes / (double)t->part.len);
    return about < 1e15 ? (int64_t)about : (int64_t)1e15;
}

static int get_held(void *self, uint64_t at, char *out, size_t n, struct err *err)
{
    (void)err;
    memcpy(out, ((const struct said *)self)->part.data + at, n);
    return 0;
}

/* From its beginning head and tail; further on as much as there is room for from there: marks between would name
 * offsets of the part. */
static int clip_part(const struct clip_config *cfg, struct said *t, const struct clip_request *ask, struct buf *shown,
                     struct clip_figures *f, struct err *err)
{
    const struct clip_source source = {get_held, t, t->part.len};
    struct clip_request in_part = *ask;
    if (ask->by == CLIP_BY_OFFSET && t->from == 0)
        return clip_whole(cfg, t->part.data, t->part.len, shown, f, err);
    if (ask->by != CLIP_BY_LINES) in_part.from = 0; /* the part begins there */
    return clip_read(cfg, &source, &in_part, shown, f, err);
}

static int put_part(struct session *s, struct said *t, struct form_text name, const struct clip_request *ask,
                    struct result *r, struct err *err)
{
    struct clip_figures f;
    struct buf shown = {0};
    struct clip_config cfg = {.counter = {result_count, s}, .max_tokens = session_room(s), .kind = CLIP_TEXT};
    const bool more = t->from + t->part.len < t->bytes;
    if (more) t->part.len = whole_characters(t->part.data, t->part.len);
    int rc = clip_part(&cfg, t, ask, &shown, &f, err);
    if (rc && more && ask->by == CLIP_BY_LINES)
        err_set(err, -1, "lines of the first %d bytes of %.*s can be asked for: take an offset", READ_MOST,
                (int)MIN(name.len, (size_t)40), name.text);
    if (rc == 0) tell_no_match(ask, &f, &shown);
    struct form_rest rest = {.id = name, .end = f.next >= t->part.len && !more, .shown = (int64_t)f.tokens,
                             .total = said_tokens(s, t), .offset = (int64_t)(t->from + f.next)};
    r->bytes = t->bytes - t->from;
    if (t->lost) buf_puts(&r->text, "[messages that are lost are left out]\n");
    if (rc == 0) forms_result((struct form_text){shown.data ? shown.data : "", shown.len}, &rest, &r->text);
    buf_free(&shown);
    return rc;
}

/* A message that left, as a text to read on in: its reference line names it like an artifact.  What was taken back is
 * left out: it is not to be spoken of again.  (For the person /read shows it all the same.) */
static int read_messages(struct session *s, const char *name, size_t n, const struct clip_request *ask,
                         struct result *r, struct err *err)
{
    uint64_t first, last;
    struct said t = {.from = ask->by == CLIP_BY_LINES ? 0 : ask->from};
    const int shown = (int)MIN(n, (size_t)40);
    if (!window_ref_read(name, n, &first, &last)) return err_set(err, -1, "no such artifact: %.*s", shown, name);
    int rc = find_said(s, first, last, &t, err);
    if (rc == 0 && t.part.len > 0) rc = put_part(s, &t, (struct form_text){name, n}, ask, r, err);
    else if (rc == 0 && t.bytes == 0 && t.lost) rc = err_set(err, -1, "%s", t.why.text);
    else if (rc == 0 && t.bytes == 0 && t.undoes) rc = err_set(err, -1, "%.*s was taken back", shown, name);
    else if (rc == 0 && t.bytes == 0) rc = err_set(err, -1, "no messages are there by the name %.*s", shown, name);
    else if (rc == 0) rc = err_set(err, -1, "the offset is past the end of %.*s", shown, name);
    buf_free(&t.part);
    return rc;
}

struct owner { /* on the store's thread: of an artifact */
    const uint8_t *session;
    const struct journal_spans *undone;
    uint64_t artifact, last;
    bool found;
};

static bool is_owner(void *self, uint64_t number, const struct journal_message *m)
{
    struct owner *o = self;
    if (number > o->last) return false;
    o->found |= m->kind == JOURNAL_RESULT && m->artifact == o->artifact;
    return !o->found;
}

static int find_owner(struct store *st, void *arg, struct err *err)
{
    struct owner *o = arg;
    int rc = 0;
    for (size_t i = 0; i < o->undone->n && rc == 0 && !o->found; i++) {
        o->last = o->undone->span[i].last;
        rc = journal_each(st, o->session, o->undone->span[i].first,
                          &(struct journal_visit){.message = is_owner, .self = o}, err);
    }
    return rc;
}

/* The whole of a result that was taken back.  (What was ingested or piped in is no turn's, and stays.) */
static int check_artifact(struct session *s, uint64_t id, struct err *err)
{
    struct owner o = {.session = s->keep.head.id, .undone = &s->undone, .artifact = id};
    if (!session_saves(s)) return 0; /* there is none */
    if (session_find_undone(s, 0, err)) return -1;
    for (size_t i = 0; i < s->texts.n; i++) {
        const struct text_entry *e = &s->texts.entry[i];
        o.found |= e->kind == JOURNAL_RESULT && e->artifact == id && journal_span_has(&s->undone, e->id);
    }
    if (!o.found && s->undone.n > 0 && keep_call(&s->keep, find_owner, &o, err)) return -1;
    return o.found ? err_set(err, -1, "a%" PRIu64 " was taken back", id) : 0;
}

static int read_asked(const json_t *args, struct clip_request *ask, struct err *err)
{
    const json_t *pattern = json_object_get(args, "pattern"), *from = json_object_get(args, "from");
    const json_t *to = json_object_get(args, "to");
    json_int_t offset = json_integer_value(json_object_get(args, "offset"));
    if (offset < 0) return err_set(err, -1, "the offset is negative");
    if (pattern ? from || to : (from || to) && offset > 0)
        return err_set(err, -1, "lines (from, to), an offset or a pattern: one of them");
    *ask = (struct clip_request){.by = CLIP_BY_OFFSET, .from = (uint64_t)offset};
    if (pattern) {
        ask->by = CLIP_BY_REGEX;
        ask->pattern = json_string_value(pattern);
        ask->pattern_len = json_string_length(pattern);
    } else if (from || to) {
        json_int_t first = from ? json_integer_value(from) : 1, last = json_integer_value(to);
        if (first < 1 || last < 0) return err_set(err, -1, "lines are counted from 1");
        *ask = (struct clip_request){.by = CLIP_BY_LINES, .from = (uint64_t)first, .to = (uint64_t)last};
    }
    return 0;
}

static int put_artifact(struct session *s, uint64_t id, struct form_text name, const struct clip_request *ask,
                        struct result *r, struct err *err)
{
    struct clip_figures f;
    struct buf shown = {0};
    int rc = check_artifact(s, id, err) ? -1 : session_read_artifact(s, id, ask, &shown, &f, err);
    if (rc == 0) {
        uint64_t left = f.bytes - (ask->by == CLIP_BY_OFFSET ? ask->from : 0);
        uint64_t about = f.shown_bytes ? f.tokens * left / f.shown_bytes : 0;
        struct form_rest rest = {.id = name, .end = f.next >= f.bytes, .shown = (int64_t)f.tokens,
                                 .total = (int64_t)about, .offset = (int64_t)f.next};
        tell_no_match(ask, &f, &shown);
        r->bytes = f.bytes;
        forms_result((struct form_text){shown.data ? shown.data : "", shown.len}, &rest, &r->text);
    }
    buf_free(&shown);
    return rc;
}

int session_tool_artifact(struct session *s, const json_t *args, struct result *r, struct err *err)
{
    const json_t *id = json_object_get(args, "id");
    struct form_text name = {json_string_value(id), json_string_length(id)};
    struct clip_request ask;
    uint64_t number;
    r->quote = true;
    if (read_asked(args, &ask, err)) return -1;
    if (name.len > 0 && name.text[0] == 'm') return read_messages(s, name.text, name.len, &ask, r, err);
    if (session_artifact_name(name.text, name.len, &number)) return put_artifact(s, number, name, &ask, r, err);
    return err_set(err, -1, "no such artifact: %.40s", name.text);
}

/* ---------------------------------------------------------------- recall */

enum { HITS = 5 };

/* The best of what was found, as many as a result has room for: a line each, "user: ..." if it is all that was said,
 * else "m12: ...", by which it is read on.  names: of all of them, for the person. */
static void put_quotes(struct session *s, const struct remember_found *f, size_t room, struct result *r)
{
    struct buf *out = &r->text;
    size_t names = 0;
    for (int i = 0; i < f->n; i++) {
        const struct remember_quote *q = &f->quote[i];
        const char *text = f->text.data + q->at, *speaker = session_quote_speaker(s, q);
        size_t before = out->len;
        buf_printf(out, "%s%s: ", i ? "\n" : "", speaker ? speaker : q->name);
        for (size_t k = 0; k < q->len; k++) buf_put(out, text[k] == '\n' || text[k] == '\r' ? " " : text + k, 1);
        if (!out->failed && result_count(s, out->data, out->len) > room) {
            out->len = before;
            break;
        }
        int len = snprintf(r->names + names, sizeof r->names - names, "%s%s", i ? ", " : "", q->name);
        names = MIN(names + (size_t)MAX(len, 0), sizeof r->names - 1);
    }
    if (out->len == 0) buf_puts(out, "nothing found");
    r->bytes = out->len;
}

int session_tool_recall(struct session *s, const json_t *args, struct result *r, struct err *err)
{
    struct remember_found found;
    const json_t *query = json_object_get(args, "query");
    const struct session_question q = {.text = json_string_value(query), .n = json_string_length(query), .k = RECALL_K};
    int rc = session_recall(s, &q, &found, err);
    r->quote = true;
    if (rc == 0) {
        session_choose_quotes(s, q.text, q.n, &found);
        found.n = MIN(found.n, HITS);
        put_quotes(s, &found, session_room(s), r);
    }
    remember_free(&found);
    return rc;
}

/* The bytes of its beginning in whole characters, at most so many. */
static size_t beginning(const char *text, size_t n, size_t most)
{
    if (n <= most) return n;
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80) most--;
    return most;
}

int session_recalled(struct session *s, const char *query, size_t n, const struct remember_found *found,
                     struct err *err)
{
    struct result r = {.by = "plimsoll", .name = "recall", .quote = true};
    json_t *o = json_pack("{s:s%}", "query", query, beginning(query, n, QUERY_MOST));
    char *args = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    if (!args) return 0; /* a question that is no UTF-8: without */
    put_quotes(s, found, session_room(s) / 2, &r);
    int rc = result_append_ours(s, args, &r, err);
    if (rc == 0) result_tell(s, &r, args);
    buf_free(&r.text);
    free(args);
    return rc ? -1 : 0;
}
