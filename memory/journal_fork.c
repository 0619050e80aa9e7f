/* journal_fork.c - a copy of a session up to the end of a turn. */
#include "memory/journal_impl.h"
#include <errno.h>
#include <inttypes.h>
#include <sys/random.h>

/* ------------------------------------------------------------------ where the turn ends */

struct ends {
    uint32_t turn;
    struct journal_spans out; /* turns that were taken back; other marks are about what is the turn's */
    uint64_t upto;            /* the last number before the next turn begins */
};

static bool look(void *self, uint64_t number, const struct journal_message *m)
{
    struct ends *e = self;
    if (journal_span_has(&e->out, number)) return true;
    if (m->turn > e->turn) return false;
    e->upto = number;
    return true;
}

static int find_end(struct store *s, const struct journal_fork *f, const struct journal_head *h, uint64_t *upto,
                    struct err *err)
{
    struct ends e = {.turn = f->turn};
    struct journal_visit texts = {.message = look, .self = &e};
    if (f->turn > h->turns) return err_set(err, STORE_NOT_FOUND, "turn %" PRIu32 " is not in the session", f->turn);
    int rc = journal_out(s, f->from, 0, h->next, 1u << JOURNAL_UNDONE, &e.out, err);
    if (rc == 0) rc = journal_each(s, f->from, 0, &texts, err);
    journal_span_free(&e.out);
    *upto = e.upto;
    return rc;
}

/* ------------------------------------------------------------------ records */

struct part {
    struct journal_batch b;
    uint64_t next, upto;
    uint64_t artifact[256];
    size_t n_artifacts;
    bool more;
};

static bool enough(struct part *p, uint64_t number)
{
    p->more = p->b.records.len >= JOURNAL_PART || p->n_artifacts == COUNT_OF(p->artifact);
    p->next = number + 1;
    return p->more;
}

static bool take_message(void *self, uint64_t number, const struct journal_message *m)
{
    struct part *p = self;
    if (number > p->upto) return false;
    journal_add(&p->b, number, m);
    if (m->artifact) p->artifact[p->n_artifacts++] = m->artifact;
    return !enough(p, number);
}

static bool take_event(void *self, uint64_t number, const char *json, size_t n)
{
    struct part *p = self;
    if (number > p->upto) return false;
    journal_add_event(&p->b, number, json, n);
    return !enough(p, number);
}

/* What is damaged in the one is not there in the other. */
static int copy_records(struct store *s, const struct journal_fork *f, uint64_t upto, struct err *err)
{
    struct part p = {.upto = upto, .more = true};
    struct journal_visit v = {.message = take_message, .event = take_event, .self = &p};
    int rc = 0;
    while (rc == 0 && p.more) {
        p.more = false;
        p.n_artifacts = 0;
        memcpy(p.b.session, f->to, sizeof p.b.session);
        journal_add_piece(&p.b, JOURNAL_UNFINISHED, "", 0);
        rc = journal_each(s, f->from, p.next, &v, err);
        if (rc == 0 && p.b.n_records > 0) rc = journal_write(s, &p.b, NULL, err);
        for (size_t i = 0; i < p.n_artifacts && rc == 0; i++) {
            rc = store_copy_artifact(s, f->from, f->to, p.artifact[i], err);
            if (rc == STORE_NOT_FOUND || rc == STORE_DAMAGED) rc = 0;
        }
        journal_batch_free(&p.b);
    }
    return rc;
}

/* ------------------------------------------------------------------ windows and the head */

/* A window as it is in its slot; where that has another by now, it is made anew when it is needed. */
static int put_window(struct store *s, const struct journal_fork *f, uint32_t turn, struct err *err)
{
    struct journal_batch b = {0};
    struct buf w = {0};
    char slot[16];
    int rc = 0;
    journal_slot(turn, slot);
    struct store_key key = store_key_piece(f->to, slot);
    if (journal_window(s, f->from, turn, &w, NULL) == 0) {
        journal_add_window(&b, turn, w.len ? w.data : "", w.len);
        rc = b.failed ? err_set(err, STORE_NO_MEMORY, "no memory for a copy")
                      : store_put(s, &key, REC_PIECE, b.piece[0].bytes.data, b.piece[0].bytes.len, err);
    }
    journal_batch_free(&b);
    buf_free(&w);
    return rc;
}

/* Numbers that an import passed over are not there in its copy either; those behind the copy's end are free. */
static int put_gaps(struct store *s, const struct journal_fork *f, uint64_t upto, struct err *err)
{
    const struct store_key from = store_key_piece(f->from, STORE_GAPS), to = store_key_piece(f->to, STORE_GAPS);
    struct buf gaps = {0};
    size_t n = 0;
    int rc = store_get(s, STORE_JOURNAL, &from, REC_PIECE, &gaps, err);
    uint8_t *at = (uint8_t *)gaps.data;
    while (rc == 0 && n + STORE_GAP <= gaps.len && get_le(at + n, 8) <= upto) n += STORE_GAP;
    if (n > 0) {
        put_le(at + n - 8, MIN(get_le(at + n - 8, 8), upto), 8);
        rc = store_put(s, &to, REC_PIECE, at, n, err);
    }
    buf_free(&gaps);
    return rc == STORE_NOT_FOUND || rc == STORE_DAMAGED ? 0 : rc;
}

static int put_head(struct store *s, const struct journal_head *h, struct err *err)
{
    struct journal_batch b = {0};
    struct store_key key = store_key_session(h->id);
    journal_add_head(&b, h);
    int rc = b.failed ? err_set(err, STORE_NO_MEMORY, "no memory for a copy")
                      : store_put(s, &key, REC_SESSION, b.head.data, b.head.len, err);
    journal_batch_free(&b);
    return rc;
}

/* The last commit, which makes it a session. */
static int write_end(struct store *s, const struct journal_fork *f, const struct journal_head *h, struct err *err)
{
    const struct store_key mark = store_key_piece(f->to, JOURNAL_UNFINISHED);
    uint32_t turn = f->turn >= JOURNAL_SLOTS ? f->turn - JOURNAL_SLOTS + 1 : 0; /* its turns can be taken back too */
    store_begin(s, STORE_JOURNAL);
    int rc = put_gaps(s, f, h->next - 1, err);
    for (; turn <= f->turn && rc == 0; turn++) rc = put_window(s, f, turn, err);
    if (rc == 0) rc = put_head(s, h, err);
    if (rc == 0) rc = store_remove(s, &mark, err);
    if (rc == 0) rc = store_commit(s, err);
    if (rc) store_abort(s);
    return rc;
}

int journal_fork(struct store *s, struct journal_fork *f, struct err *err)
{
    struct journal_head h;
    uint64_t upto = 0;
    int rc = journal_head(s, f->from, &h, err);
    if (rc == 0) rc = find_end(s, f, &h, &upto, err);
    if (rc) return rc;
    if (getrandom(f->to, sizeof f->to, 0) != (ssize_t)sizeof f->to)
        return err_set(err, STORE_FAILED, "no random number for a session: %s", strerror(errno));
    rc = copy_records(s, f, upto, err);
    if (rc) return rc;
    memcpy(h.parent, h.id, sizeof h.parent);
    memcpy(h.id, f->to, sizeof h.id);
    h.parent_turn = h.turns = f->turn;
    h.next = upto + 1;
    h.updated_ms = f->time_ms;
    return write_end(s, f, &h, err);
}
