/* journal_strays.c - sessions without a head: halves of copies and imports, and those whose head was lost, or
 * is there and makes no sense. */
#include "memory/journal_impl.h"
#include <inttypes.h>

/* ------------------------------------------------------------------ what a head can be made of */

struct remains {
    struct journal_spans out; /* turns that were taken back */
    struct journal_head h;
    uint64_t messages;        /* that can be read */
    uint64_t artifact;        /* the largest number that one names */
};

static bool on_message(void *self, uint64_t number, const struct journal_message *m)
{
    struct remains *r = self;
    bool opens = m->kind == JOURNAL_USER || m->kind == JOURNAL_ANSWER; /* others may be before the turn they name */
    if (opens && !journal_span_has(&r->out, number)) r->h.turns = MAX(r->h.turns, m->turn);
    if (r->messages++ == 0) r->h.created_ms = r->h.updated_ms = MAX(m->time_ms, 0);
    r->h.created_ms = MIN(r->h.created_ms, MAX(m->time_ms, 0));
    r->h.updated_ms = MAX(r->h.updated_ms, m->time_ms);
    r->artifact = MAX(r->artifact, m->artifact);
    return true;
}

/* The last of a session's keys with this letter, damaged records too: no number may be given twice. */
static bool on_key(void *self, const uint8_t *key, size_t n, size_t value)
{
    (void)value;
    if (n == 1 + STORE_SESSION_ID + 8) *(uint64_t *)self = get_be(key + 1 + STORE_SESSION_ID, 8);
    return true;
}

static int last_number(struct store *s, const uint8_t *session, char letter, uint64_t *last, struct err *err)
{
    struct store_key front = store_key_session(session);
    front.byte[0] = (uint8_t)letter;
    *last = 0;
    return store_each_key(s, STORE_JOURNAL, &front, on_key, last, err);
}

static int look(struct store *s, const uint8_t *session, struct remains *r, struct err *err)
{
    const struct journal_visit v = {.message = on_message, .self = r};
    uint64_t number = 0, artifact = 0;
    *r = (struct remains){0};
    memcpy(r->h.id, session, sizeof r->h.id);
    snprintf(r->h.title, sizeof r->h.title, "recovered");
    int rc = journal_out(s, session, 0, UINT64_MAX, 1u << JOURNAL_UNDONE, &r->out, err);
    if (rc == 0) rc = journal_each(s, session, 0, &v, err);
    if (rc == 0) rc = last_number(s, session, 'M', &number, err);
    if (rc == 0) rc = last_number(s, session, 'a', &artifact, err);
    journal_span_free(&r->out);
    artifact = MAX(artifact, r->artifact);
    r->h.next = number < UINT64_MAX ? number + 1 : number;
    r->h.artifacts = artifact < UINT64_MAX ? artifact + 1 : artifact;
    return rc;
}

/* Numbers that no session of ours has would make a head that is refused when it is read. */
static bool head_of(const struct remains *r, struct journal_batch *b)
{
    struct journal_head again;
    memcpy(b->session, r->h.id, sizeof b->session);
    journal_add_head(b, &r->h);
    return r->messages > 0 && (b->failed || journal_read_head(r->h.id, b->head.data, b->head.len, &again) == 0);
}

/* ------------------------------------------------------------------ one by one */

struct strays {
    struct store *s;
    bool mend;
    const struct store_report *report;
    struct journal_strays n;
};

__attribute__((format(printf, 3, 4)))
static void tell(const struct strays *v, const uint8_t *session, const char *fmt, ...)
{
    char id[2 * STORE_SESSION_ID + 1], what[160], line[240];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    journal_id_text(session, id);
    snprintf(line, sizeof line, "session %s %s", id, what);
    if (v->report && v->report->line) v->report->line(v->report->user, line);
}

static int half(struct strays *v, const struct store_session_stat *one, struct err *err)
{
    int rc = v->mend ? store_drop_session(v->s, one->session, err) : 0;
    if (rc) return rc;
    v->n.halves++;
    tell(v, one->session, "is half of a copy or an import that did not end, %" PRIu64 " message%s: %s", one->messages,
         plural((int64_t)one->messages), v->mend ? "removed" : "compact removes it");
    return 0;
}

static int headless(struct strays *v, const struct store_session_stat *one, struct err *err)
{
    struct remains r;
    struct journal_batch b = {0};
    int rc = look(v->s, one->session, &r, err);
    bool can = rc == 0 && head_of(&r, &b);
    b.finishes = true; /* such a mark that is damaged goes too */
    if (can && v->mend) rc = journal_write(v->s, &b, NULL, err);
    journal_batch_free(&b);
    if (rc) return rc;
    if (can) v->n.headless++;
    else v->n.unreadable++;
    if (!can) tell(v, one->session, "has lost its head, and nothing of it can be read");
    else tell(v, one->session, "has lost its head: %s from %" PRIu64 " message%s, %" PRIu32 " turn%s",
              v->mend ? "made anew" : "compact makes it anew", r.messages, plural((int64_t)r.messages), r.h.turns,
              plural(r.h.turns));
    return 0;
}

/* A head that is there and is refused leaves the session as closed as none would.  One of another version is not ours
 * to judge, and one that is damaged is told by a check of the file. */
static int refused(struct strays *v, const struct store_session_stat *one, struct err *err)
{
    const struct store_key key = store_key_session(one->session);
    struct journal_head h;
    struct buf json = {0};
    int rc = store_get(v->s, STORE_JOURNAL, &key, REC_SESSION, &json, err);
    const bool is = rc == 0 && json.len > 0 && journal_is_head(json.data, json.len) &&
                    journal_read_head(one->session, json.data, json.len, &h) != 0;
    buf_free(&json);
    if (rc == STORE_DAMAGED) return 0;
    return is ? headless(v, one, err) : rc;
}

static int mend_one(struct strays *v, const struct store_session_stat *one, struct err *err)
{
    const struct store_key mark = store_key_piece(one->session, JOURNAL_UNFINISHED);
    struct buf none = {0};
    int rc = store_get(v->s, STORE_JOURNAL, &mark, REC_PIECE, &none, err);
    buf_free(&none);
    if (rc == STORE_NOT_FOUND || rc == STORE_DAMAGED) return headless(v, one, err);
    return rc ? rc : half(v, one, err);
}

int journal_strays(struct store *s, bool mend, const struct store_report *report, struct journal_strays *out,
                   struct err *err)
{
    struct strays v = {.s = s, .mend = mend, .report = report};
    struct store_session_stat *list;
    size_t n;
    int rc = store_stat_sessions(s, &list, &n, err);
    if (rc) return rc;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = list[i].head ? refused(&v, &list[i], err) : mend_one(&v, &list[i], err);
    free(list);
    *out = v.n;
    return rc;
}
