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

/* A message that left, as a text to read on in: its reference line names it like an artifact. */
static int read_messages(struct session *s, const char *name, size_t n, uint64_t offset, struct result *r,
                         struct err *err)
{
    uint64_t first, last;
    struct buf all = {0};
    struct err why = {0};
    if (!window_ref_read(name, n, &first, &last))
        return err_set(err, -1, "no such artifact: %.*s", (int)MIN(n, (size_t)40), name);
    for (uint64_t id = first; id <= last && id < s->keep.head.next && all.len < READ_MOST; id++) {
        const struct text_entry *e = texts_get(&s->texts, id, &why);
        if (!e || e->kind == JOURNAL_MARK) continue;
        buf_printf(&all, "%s: ", journal_kind_name(e->kind));
        buf_put(&all, e->text, e->len);
        buf_puts(&all, "\n");
    }
    if (all.len == 0 || offset >= all.len) {
        bool lost = all.len == 0 && why.code;
        buf_free(&all);
        if (lost) return err_set(err, -1, "%s", why.text);
        return err_set(err, -1, "the offset is past the end of %.*s", (int)MIN(n, (size_t)40), name);
    }
    struct clip_figures f;
    struct buf shown = {0};
    struct clip_config cfg = {.counter = {result_count, s}, .max_tokens = session_room(s), .kind = CLIP_TEXT};
    int rc = clip_whole(&cfg, all.data + offset, all.len - offset, &shown, &f, err);
    struct form_rest rest = {.id = {name, n}, .end = f.whole, .shown = (int64_t)f.tokens,
                             .total = result_tokens_about(s, &all), .offset = (int64_t)(offset + f.next)};
    r->bytes = all.len - offset;
    if (rc == 0) forms_result((struct form_text){shown.data ? shown.data : "", shown.len}, &rest, &r->text);
    buf_free(&shown);
    buf_free(&all);
    return rc;
}

int session_tool_artifact(struct session *s, const json_t *args, struct result *r, struct err *err)
{
    r->quote = true;
    const char *name = json_string_value(json_object_get(args, "id"));
    json_int_t offset = json_integer_value(json_object_get(args, "offset"));
    size_t n = json_string_length(json_object_get(args, "id"));
    struct clip_figures f;
    struct buf shown = {0};
    uint64_t id;
    if (offset < 0) return err_set(err, -1, "the offset is negative");
    if (n > 0 && name[0] == 'm') return read_messages(s, name, n, (uint64_t)offset, r, err);
    if (!session_artifact_name(name, n, &id)) return err_set(err, -1, "no such artifact: %.40s", name);
    struct clip_request ask = {.by = CLIP_BY_OFFSET, .from = (uint64_t)offset};
    int rc = session_read_artifact(s, id, &ask, &shown, &f, err);
    if (rc == 0) {
        uint64_t left = f.bytes - (uint64_t)offset, about = f.shown_bytes ? f.tokens * left / f.shown_bytes : 0;
        struct form_rest rest = {.id = {name, n}, .end = f.next >= f.bytes, .shown = (int64_t)f.tokens,
                                 .total = (int64_t)about, .offset = (int64_t)f.next};
        r->bytes = f.bytes;
        forms_result((struct form_text){shown.data ? shown.data : "", shown.len}, &rest, &r->text);
    }
    buf_free(&shown);
    return rc;
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

int session_recalled(struct session *s, const char *query, size_t n, const struct remember_found *found,
                     struct err *err)
{
    struct result r = {.by = "plimsoll", .name = "recall", .quote = true};
    json_t *o = json_pack("{s:s%}", "query", query, MIN(n, (size_t)QUERY_MOST));
    char *args = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    if (!args) return 0; /* a question that is no UTF-8, or cut within a character: without */
    put_quotes(s, found, session_room(s) / 2, &r);
    int rc = result_append_ours(s, args, &r, err);
    if (rc == 0) result_tell(s, &r, args);
    buf_free(&r.text);
    free(args);
    return rc ? -1 : 0;
}
