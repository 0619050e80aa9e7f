/* journal_read.c - what the store has of a session, checked and in order. */
#include "memory/journal_impl.h"
#include <inttypes.h>

static int damaged(const struct store_key *key, struct err *err)
{
    char name[160];
    store_key_text(key->byte, key->n, name);
    return err_set(err, STORE_DAMAGED, "%s is damaged: its fields make no sense", name);
}

int journal_head(struct store *s, const uint8_t id[STORE_SESSION_ID], struct journal_head *out, struct err *err)
{
    struct store_key key = store_key_session(id);
    struct buf body = {0};
    int rc = store_get(s, STORE_JOURNAL, &key, REC_SESSION, &body, err);
    if (rc == 0 && journal_read_head(id, body.len ? body.data : "", body.len, out)) rc = damaged(&key, err);
    buf_free(&body);
    return rc;
}

/* ------------------------------------------------------------------ all heads */

struct heads {
    struct journal_head *head; /* a heap: the oldest of the `most` newest is first */
    size_t n, most;
    const uint8_t *run; /* NULL: all; else those of this run alone */
    const struct store_report *report;
    bool failed;
};

static void tell(const struct heads *l, const char *line)
{
    if (l->report && l->report->line) l->report->line(l->report->user, line);
}

static bool newer(const struct journal_head *a, const struct journal_head *b)
{
    if (a->updated_ms != b->updated_ms) return a->updated_ms > b->updated_ms;
    return memcmp(a->id, b->id, sizeof a->id) < 0;
}

static void swap(struct journal_head *a, struct journal_head *b)
{
    struct journal_head t = *a;
    *a = *b;
    *b = t;
}

static void sink(struct heads *l)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < l->n; i = child) {
        if (child + 1 < l->n && newer(&l->head[child], &l->head[child + 1])) child++;
        if (!newer(&l->head[i], &l->head[child])) return;
        swap(&l->head[i], &l->head[child]);
    }
}

static void rise(struct heads *l)
{
    for (size_t i = l->n - 1; i > 0 && newer(&l->head[(i - 1) / 2], &l->head[i]); i = (i - 1) / 2)
        swap(&l->head[i], &l->head[(i - 1) / 2]);
}

static bool one_head(void *user, const uint8_t session[STORE_SESSION_ID], uint64_t number, const struct rec *r)
{
    struct heads *l = user;
    struct journal_head h;
    (void)number;
    if (journal_read_head(session, (const char *)r->body, r->len, &h)) {
        struct store_key key = store_key_session(session);
        struct err err;
        damaged(&key, &err);
        tell(l, err.text);
        return true;
    }
    if (l->run && memcmp(h.run.id, l->run, sizeof h.run.id) != 0) return true;
    if (l->n == l->most && !newer(&h, &l->head[0])) return true;
    if (l->n == l->most) {
        l->head[0] = h;
        sink(l);
        return true;
    }
    struct journal_head *p = realloc(l->head, (l->n + 1) * sizeof *p);
    l->failed = !p;
    if (!p) return false;
    l->head = p;
    l->head[l->n++] = h;
    rise(l);
    return true;
}

static bool one_damaged(void *user, const char *line)
{
    tell(user, line);
    return true;
}

static int by_age(const void *a, const void *b)
{
    return newer(a, b) ? -1 : newer(b, a);
}

static int list_heads(struct store *s, struct heads *l, struct journal_head **out, size_t *n, struct err *err)
{
    struct store_visit v = {one_head, one_damaged, l};
    assert(l->most > 0);
    int rc = store_each_session(s, &v, err);
    if (rc == 0 && l->failed) rc = err_set(err, STORE_NO_MEMORY, "no memory for a list of %zu sessions", l->n);
    if (rc) {
        free(l->head);
        return rc;
    }
    if (l->n > 0) qsort(l->head, l->n, sizeof *l->head, by_age);
    *out = l->head;
    *n = l->n;
    return 0;
}

int journal_heads(struct store *s, size_t most, struct journal_head **out, size_t *n,
                  const struct store_report *report, struct err *err)
{
    return list_heads(s, &(struct heads){.most = most, .report = report}, out, n, err);
}

int journal_run_heads(struct store *s, const uint8_t run[STORE_SESSION_ID], size_t most, struct journal_head **out,
                      size_t *n, struct err *err)
{
    return list_heads(s, &(struct heads){.most = most, .run = run}, out, n, err);
}

/* ------------------------------------------------------------------ by name */

struct search {
    const char *prefix;
    size_t len, found;
    struct journal_head head;
    char names[5][2 * STORE_SESSION_ID + 1];
};

static bool match(void *user, const uint8_t session[STORE_SESSION_ID], uint64_t number, const struct rec *r)
{
    struct search *f = user;
    char id[2 * STORE_SESSION_ID + 1];
    struct journal_head h;
    (void)number;
    journal_id_text(session, id);
    if (strncmp(id, f->prefix, f->len) != 0) return true;
    if (journal_read_head(session, (const char *)r->body, r->len, &h)) return true;
    if (f->found < COUNT_OF(f->names)) memcpy(f->names[f->found], id, sizeof id);
    f->found++;
    f->head = h;
    return true;
}

static int find_last(struct store *s, struct journal_head *out, struct err *err)
{
    struct journal_head *list;
    size_t n;
    int rc = journal_heads(s, 1, &list, &n, NULL, err);
    if (rc) return rc;
    if (n > 0) *out = list[0];
    free(list);
    return n > 0 ? 0 : err_set(err, STORE_NOT_FOUND, "no session is saved yet");
}

/* A whole id is looked up, so that one that is damaged is not said to be missing. */
static int find_whole(struct store *s, const char *hex, struct journal_head *out, struct err *err)
{
    uint8_t id[STORE_SESSION_ID];
    for (int i = 0; i < STORE_SESSION_ID; i++) {
        const char two[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        id[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    int rc = journal_head(s, id, out, err);
    return rc == STORE_NOT_FOUND ? err_set(err, rc, "no session begins with %s", hex) : rc;
}

int journal_find(struct store *s, const char *prefix, struct journal_head *out, struct err *err)
{
    struct search f = {.prefix = prefix, .len = strlen(prefix)};
    struct store_visit v = {match, NULL, &f};
    if (strcmp(prefix, "last") == 0) return find_last(s, out, err);
    if (f.len == 0 || f.len > 2 * STORE_SESSION_ID || strspn(prefix, "0123456789abcdef") != f.len)
        return err_set(err, STORE_NOT_FOUND, "\"%.40s\" is no session: its first letters (0-9 a-f), or last", prefix);
    if (f.len == 2 * STORE_SESSION_ID) return find_whole(s, prefix, out, err);
    int rc = store_each_session(s, &v, err);
    if (rc) return rc;
    if (f.found == 1) {
        *out = f.head;
        return 0;
    }
    if (f.found == 0) return err_set(err, STORE_NOT_FOUND, "no session begins with %s", prefix);
    return err_set(err, STORE_BUSY, "%zu sessions begin with %s: %.12s, %.12s%s; give more letters", f.found, prefix,
                   f.names[0], f.names[1], f.found > 2 ? ", ..." : "");
}

/* ------------------------------------------------------------------ messages */

int journal_get(struct store *s, const uint8_t id[STORE_SESSION_ID], uint64_t number, struct journal_message *m,
                struct buf *text, struct err *err)
{
    struct store_key key = store_key_message(id, number);
    size_t from = text->len;
    int rc = store_get(s, STORE_JOURNAL, &key, REC_MESSAGE, text, err);
    if (rc == STORE_DAMAGED && store_get(s, STORE_JOURNAL, &key, REC_EVENT, text, NULL) == 0) {
        text->len = from;
        return err_set(err, STORE_NOT_FOUND, "m%" PRIu64 " is no message: it is an event", number);
    }
    if (rc) return rc;
    const uint8_t *body = (const uint8_t *)text->data;
    if (text->len > from && journal_decode(body + from, text->len - from, number, m) == 0) return 0;
    text->len = from;
    return damaged(&key, err);
}

struct reading {
    const struct journal_visit *v;
};

static bool one_message(void *user, const uint8_t session[STORE_SESSION_ID], uint64_t number, const struct rec *r)
{
    const struct journal_visit *v = ((struct reading *)user)->v;
    struct journal_message m;
    if (r->kind == REC_EVENT) return !v->event || v->event(v->self, number, (const char *)r->body, r->len);
    if (journal_decode(r->body, r->len, number, &m) == 0) return !v->message || v->message(v->self, number, &m);
    struct store_key key = store_key_message(session, number);
    struct err err;
    damaged(&key, &err);
    return !v->damaged || v->damaged(v->self, err.text);
}

static bool skipped(void *user, const char *line)
{
    const struct journal_visit *v = ((struct reading *)user)->v;
    return !v->damaged || v->damaged(v->self, line);
}

int journal_each(struct store *s, const uint8_t id[STORE_SESSION_ID], uint64_t from, const struct journal_visit *v,
                 struct err *err)
{
    struct reading r = {v};
    return store_each_message(s, id, from, &(struct store_visit){one_message, skipped, &r}, err);
}

int journal_window(struct store *s, const uint8_t id[STORE_SESSION_ID], uint32_t turn, struct buf *out,
                   struct err *err)
{
    char slot[16];
    journal_slot(turn, slot);
    struct store_key key = store_key_piece(id, slot);
    size_t from = out->len;
    int rc = store_get(s, STORE_JOURNAL, &key, REC_PIECE, out, err);
    if (rc) return rc;
    if (out->len - from < 4 || get_le((const uint8_t *)out->data + from, 4) != turn) {
        out->len = from;
        return err_set(err, STORE_NOT_FOUND, "the window after turn %" PRIu32 " is not kept any more", turn);
    }
    out->len -= 4;
    memmove(out->data + from, out->data + from + 4, out->len - from);
    return 0;
}
