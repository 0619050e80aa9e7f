/* doc_sessions.c - the saved sessions, from the store's thread. */
#include "app/console.h"
#include "app/tui/doc.h"
#include "app/tui/view_sessions.h"
#include <time.h>

enum { KEYS_LOOKED_AT = 1 << 20 }; /* of the store, for sizes: a second or so of the largest */

struct collecting {
    struct journal_head *head; /* as they are shown */
    size_t n;
    bool *below; /* (n) */
    struct doc_sessions *doc;
    size_t *by_id; /* (n) numbers of heads in the order of their ids */
    size_t keys;
};

static void one_damaged(void *user, const char *line)
{
    struct doc_sessions *d = user;
    if (d->damaged++ == 0) snprintf(d->damage, sizeof d->damage, "%s", line);
}

/* ------------------------------------------------------------------ by id */

static int compare(const void *a, const void *b, void *self)
{
    const struct collecting *l = self;
    return memcmp(l->head[*(const size_t *)a].id, l->head[*(const size_t *)b].id, STORE_SESSION_ID);
}

static int row_of(const struct collecting *l, const uint8_t id[STORE_SESSION_ID])
{
    size_t from = 0, to = l->n;
    while (from < to) {
        const size_t mid = from + (to - from) / 2;
        const int order = memcmp(l->head[l->by_id[mid]].id, id, STORE_SESSION_ID);
        if (order == 0) return (int)l->by_id[mid];
        if (order < 0) from = mid + 1;
        else to = mid;
    }
    return -1;
}

/* ------------------------------------------------------------------ what they take */

static bool one_key(void *user, const uint8_t *key, size_t n, size_t value)
{
    struct collecting *l = user;
    if (++l->keys > KEYS_LOOKED_AT) return false;
    if (n <= STORE_SESSION_ID) return true;
    const int i = row_of(l, key + 1);
    if (i >= 0 && size_add(l->doc->row[i].bytes, n + value, &l->doc->row[i].bytes)) l->doc->row[i].bytes = UINT64_MAX;
    return true;
}

/* All keys of a session begin with a letter and its id. */
static int measure(struct store *s, struct collecting *l, struct err *err)
{
    static const char kinds[] = "SMPac";
    for (const char *k = kinds; *k; k++) {
        const struct store_key front = {.byte = {(uint8_t)*k}, .n = 1};
        const int rc = store_each_key(s, STORE_JOURNAL, &front, one_key, l, err);
        if (rc) return rc;
    }
    l->doc->sized = l->keys <= KEYS_LOOKED_AT;
    return 0;
}

/* ------------------------------------------------------------------ rows */

static void fill_row(const struct collecting *l, const struct journal_head *h, struct sessions_row *r)
{
    static const uint8_t none[STORE_SESSION_ID];
    *r = (struct sessions_row){.created_ms = h->created_ms, .updated_ms = h->updated_ms, .turns = h->turns,
                               .parent_turn = h->parent_turn, .of = -1};
    journal_id_text(h->id, r->id);
    snprintf(r->title, sizeof r->title, "%s", h->title);
    snprintf(r->model, sizeof r->model, "%s", h->model);
    r->run = journal_is_run(h);
    r->below = l->below[h - l->head];
    if (r->below) r->of = row_of(l, h->run.id);
    if (memcmp(h->parent, none, sizeof none) == 0) return;
    journal_id_text(h->parent, r->parent);
    const int parent = row_of(l, h->parent);
    if (parent >= 0) r->of = parent;
}

/* The heads in the order in which they are shown. */
static bool group(struct collecting *l)
{
    size_t *order = calloc(l->n + 1, sizeof *order);
    struct journal_head *head = calloc(l->n + 1, sizeof *head);
    l->below = calloc(l->n + 1, sizeof *l->below);
    const bool ok = order && head && l->below && journal_group(l->head, l->n, order, l->below) == 0;
    for (size_t i = 0; i < l->n && ok; i++) head[i] = l->head[order[i]];
    free(order);
    if (!ok) {
        free(head);
        return false;
    }
    free(l->head);
    l->head = head;
    return true;
}

static int collect(struct store *s, void *arg, struct err *err)
{
    struct collecting *l = arg;
    const struct store_report report = {.line = one_damaged, .user = l->doc};
    int rc = journal_heads(s, SESSIONS_MOST, &l->head, &l->n, &report, err);
    if (rc) return rc;
    l->by_id = calloc(l->n + 1, sizeof *l->by_id);
    l->doc->row = calloc(l->n + 1, sizeof *l->doc->row);
    if (!l->by_id || !l->doc->row || !group(l))
        return err_set(err, STORE_NO_MEMORY, "no memory for a list of %zu sessions", l->n);
    for (size_t i = 0; i < l->n; i++) l->by_id[i] = i;
    qsort_r(l->by_id, l->n, sizeof *l->by_id, compare, l);
    for (size_t i = 0; i < l->n; i++) fill_row(l, &l->head[i], &l->doc->row[i]);
    l->doc->rows = (int)l->n;
    l->doc->more = l->n == SESSIONS_MOST;
    return measure(s, l, err);
}

static void mark_open(const struct console *c, struct doc_sessions *d)
{
    char id[2 * STORE_SESSION_ID + 1];
    journal_id_text(c->team.run.keep.head.id, id);
    for (int i = 0; i < d->rows; i++) d->row[i].open = d->row[i].run && strcmp(d->row[i].id, id) == 0;
    for (int m = 0; m < c->team.n; m++) {
        const struct member *who = &c->team.member[m];
        if (!who->open) continue;
        journal_id_text(who->s.keep.head.id, id);
        for (int i = 0; i < d->rows; i++) {
            if (strcmp(d->row[i].id, id) != 0) continue;
            d->row[i].open = true;
            d->row[i].current = c->s == &who->s;
        }
    }
}

static void free_doc(void *data)
{
    struct doc_sessions *d = data;
    free(d->row);
    free(d);
}

void doc_sessions(struct console *c, struct doc *d)
{
    struct err err = {0};
    struct timespec t;
    struct collecting l = {0};
    if (!c->s->keep.keeper) {
        snprintf(d->error, sizeof d->error, "sessions are not saved in this run (--no-save), so none can be listed");
        return;
    }
    l.doc = calloc(1, sizeof *l.doc);
    if (!l.doc) {
        snprintf(d->error, sizeof d->error, "no memory for the list of sessions");
        return;
    }
    clock_gettime(CLOCK_REALTIME, &t);
    l.doc->now_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    d->data = l.doc;
    d->free = free_doc;
    if (keep_call(&c->s->keep, collect, &l, &err)) {
        snprintf(d->error, sizeof d->error, "%.230s", err.text);
        free_doc(l.doc);
        d->data = NULL;
    } else {
        mark_open(c, l.doc);
    }
    free(l.head);
    free(l.below);
    free(l.by_id);
}
