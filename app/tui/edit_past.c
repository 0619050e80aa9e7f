/* edit_past.c - see edit.h: the turns that were sent before, and the search in them. */
#include "app/tui/edit_impl.h"
#include "app/tui/find.h"

/* ------------------------------------------------------------------ the list */

static void drop_oldest(struct edit *e)
{
    e->past_bytes -= e->past[0].n;
    free(e->past[0].text);
    e->n_past--;
    memmove(e->past, e->past + 1, e->n_past * sizeof *e->past);
}

int edit_remember(struct edit *e, const char *text, size_t n)
{
    if (n > EDIT_HISTORY_BYTES) return -1;
    const struct past *last = e->n_past > 0 ? &e->past[e->n_past - 1] : NULL;
    if (n > 0 && !(last && last->n == n && memcmp(last->text, text, n) == 0)) {
        char *copy = malloc(n + 1);
        if (!copy) return -1;
        memcpy(copy, text, n);
        copy[n] = '\0';
        while (e->n_past == EDIT_HISTORY || e->past_bytes + n > EDIT_HISTORY_BYTES) drop_oldest(e);
        e->past[e->n_past++] = (struct past){copy, n};
        e->past_bytes += n;
    }
    e->at_past = e->n_past;
    e->found = SIZE_MAX; /* numbers may have moved */
    return 0;
}

size_t edit_history(const struct edit *e) { return e->n_past; }

const char *edit_history_text(const struct edit *e, size_t i, size_t *n)
{
    *n = e->past[i].n;
    return e->past[i].text;
}

static enum edit_result show(struct edit *e, const char *text, size_t n)
{
    return edit_change(e, 0, e->text.len, text, n) ? EDIT_FULL : EDIT_CHANGED;
}

enum edit_result edit_past_go(struct edit *e, bool older)
{
    if (older ? e->at_past == 0 : e->at_past >= e->n_past) return EDIT_NOTHING;
    if (e->at_past == e->n_past) {
        struct buf draft = {0};
        buf_put(&draft, e->text.data, e->text.len);
        if (draft.failed) return EDIT_FULL;
        buf_free(&e->draft);
        e->draft = draft;
    }
    size_t to = older ? e->at_past - 1 : e->at_past + 1;
    bool draft = to == e->n_past;
    enum edit_result r = draft ? show(e, e->draft.data, e->draft.len) : show(e, e->past[to].text, e->past[to].n);
    if (r == EDIT_CHANGED) e->at_past = to;
    return r;
}

/* ------------------------------------------------------------------ search */

/* The newest turn before number `below` that has the query. */
static void look(struct edit *e, size_t below)
{
    for (size_t i = below; i-- > 0;) {
        if (find_text(e->past[i].text, e->past[i].n, 0, e->query, e->n_query) == SIZE_MAX) continue;
        e->found = i;
        return;
    }
    if (below == e->n_past) e->found = SIZE_MAX; /* of an older one asked in vain, the one that is shown stays */
}

enum edit_result edit_search_accept(struct edit *e)
{
    size_t found = e->found;
    e->searching = false;
    if (found == SIZE_MAX) return EDIT_MOVED;
    enum edit_result r = show(e, e->past[found].text, e->past[found].n);
    if (r == EDIT_CHANGED) e->at_past = e->n_past;
    return r;
}

static void shorten(struct edit *e)
{
    while (e->n_query > 0 && ((unsigned char)e->query[--e->n_query] & 0xc0) == 0x80) {}
    look(e, e->n_past);
}

enum edit_result edit_search_key(struct edit *e, enum edit_key key)
{
    if (!e->searching) {
        e->searching = true;
        e->n_query = 0;
        e->found = SIZE_MAX;
    } else if (key == EDIT_SEARCH) {
        look(e, e->found == SIZE_MAX ? e->n_past : e->found);
    } else if (key == EDIT_BACKSPACE) {
        shorten(e);
    } else {
        e->searching = false; /* EDIT_ESCAPE: the text was not touched */
    }
    return EDIT_MOVED;
}

enum edit_result edit_search_type(struct edit *e, const char *text, size_t n)
{
    if (n > EDIT_QUERY - e->n_query) return EDIT_NOTHING;
    memcpy(e->query + e->n_query, text, n);
    e->n_query += n;
    look(e, e->n_past);
    return EDIT_MOVED;
}
