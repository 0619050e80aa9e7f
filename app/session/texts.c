/* texts.c - see texts.h. */
#include "app/session/texts.h"
#include "memory/window.h"

static size_t place(const struct texts *t, uint64_t id) /* of the first with this id or a larger one */
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (t->entry[mid].id < id) low = mid + 1;
        else high = mid;
    }
    return low;
}

static struct text_entry *find(const struct texts *t, uint64_t id)
{
    size_t at = place(t, id);
    return at < t->n && t->entry[at].id == id ? &t->entry[at] : NULL;
}

void texts_close(struct texts *t)
{
    texts_cut(t, 0);
    free(t->entry);
    *t = (struct texts){0};
}

void texts_cut(struct texts *t, uint64_t from)
{
    for (size_t at = place(t, from); t->n > at; t->n--) free(t->entry[t->n - 1].text);
}

int texts_put(struct texts *t, uint64_t id, const struct journal_message *m, struct err *err)
{
    size_t at = place(t, id);
    char *copy = malloc(m->len + 1);
    if (t->n == t->cap && copy) {
        size_t cap = t->cap ? 2 * t->cap : 32;
        struct text_entry *p = realloc(t->entry, cap * sizeof *p);
        if (p) {
            t->entry = p;
            t->cap = cap;
        } else {
            free(copy);
            copy = NULL;
        }
    }
    if (!copy) return err_set(err, -1, "no memory for a message of %zu bytes", m->len);
    if (m->len > 0) memcpy(copy, m->text, m->len);
    copy[m->len] = '\0';
    memmove(t->entry + at + 1, t->entry + at, (t->n - at) * sizeof *t->entry);
    t->entry[at] = (struct text_entry){.id = id, .kind = m->kind, .turn = m->turn, .artifact = m->artifact,
                                       .text = copy, .len = m->len};
    t->n++;
    return 0;
}

void texts_tell(struct texts *t, uint64_t id)
{
    struct text_entry *e = find(t, id);
    if (e) e->told = true;
}

bool texts_untell(struct texts *t)
{
    bool any = false;
    for (size_t i = 0; i < t->n; i++) {
        any |= t->entry[i].told;
        t->entry[i].told = false;
    }
    return any;
}

const struct text_entry *texts_thought(const struct texts *t, uint64_t call)
{
    const struct text_entry *e = call > 1 ? find(t, call - 1) : NULL;
    return e && e->told ? e : NULL;
}

const struct text_entry *texts_get(struct texts *t, uint64_t id, struct err *err)
{
    struct journal_message m;
    struct buf body = {0};
    const struct text_entry *e = find(t, id);
    if (e) return e;
    if (!t->keep || !t->keep->keeper) {
        bool gone = t->gone.n > 0 && id >= t->gone.first && id <= t->gone.last;
        err_set(err, -1, "message %llu %s, and this session is not saved", (unsigned long long)id,
                gone ? "has left the context and memory (--keep-unsaved): it is gone" : "is not in the context");
        return NULL;
    }
    int rc = keep_message(t->keep, id, &m, &body, err);
    if (rc == 0) rc = texts_put(t, id, &m, err);
    buf_free(&body);
    return rc == 0 ? find(t, id) : NULL;
}

/* ---------------------------------------------------------------- out of memory, on purpose */

static bool mark(void *self, uint64_t id)
{
    struct text_entry *e = find(self, id);
    if (e) e->used = true;
    return true;
}

static size_t bytes_of(const struct text_entry *e) { return sizeof *e + e->len + 1; }

/* Bytes that must go where there is no store. */
static size_t too_many(const struct texts *t)
{
    size_t sum = 0;
    if (t->keep && t->keep->keeper) return 0;
    for (size_t i = 0; i < t->n; i++)
        if (!t->entry[i].used) sum += bytes_of(&t->entry[i]);
    return sum > t->spare ? sum - t->spare : 0;
}

static void note_gone(struct texts *t, const struct text_entry *e)
{
    struct texts_gone *g = &t->gone;
    g->first = g->n ? MIN(g->first, e->id) : e->id;
    g->last = MAX(g->last, e->id);
    g->n++;
    g->bytes += e->len;
}

void texts_sweep(struct texts *t, const struct window *w, uint64_t saved)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++) t->entry[i].used = t->entry[i].told;
    window_each(w, mark, t);
    size_t over = too_many(t);
    for (size_t i = 0; i < t->n; i++) {
        struct text_entry *e = &t->entry[i];
        bool goes = !e->used && e->id > saved && over > 0;
        if (goes) note_gone(t, e);
        if (goes) over -= MIN(over, bytes_of(e));
        if (e->used || (e->id > saved && !goes)) t->entry[kept++] = *e;
        else free(e->text);
    }
    t->n = kept;
}

size_t texts_bytes(const struct texts *t)
{
    size_t sum = t->cap * sizeof *t->entry;
    for (size_t i = 0; i < t->n; i++) sum += t->entry[i].len + 1;
    return sum;
}
