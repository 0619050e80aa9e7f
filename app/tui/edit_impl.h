/* edit_impl.h - what edit.c (keys), edit_text.c (changes, undo), edit_past.c (history, search) and edit_rows.c
 * (clusters, rows, drawing) share. */
#ifndef EDIT_IMPL_H
#define EDIT_IMPL_H
#include "app/tui/edit.h"

struct step { /* replaces `cut` bytes at `at` by n bytes of text; then the cursor stands at `cursor` */
    size_t at, cut, n, cursor;
    char *text;
};
struct steps {
    struct step step[EDIT_UNDO];
    int n;
    size_t bytes; /* of their texts */
};
struct past {
    char *text; /* NUL behind it */
    size_t n;
};

struct edit {
    struct buf text; /* has memory from the beginning */
    size_t cursor;
    int columns; /* of a row */
    int goal;    /* the column that up and down try to keep; -1: the cursor's */
    struct steps undo, redo;
    bool typing; /* the last key was typed text: more of it joins its step */
    struct buf cut;
    bool cutting; /* the last key was a cut: the next joins it */
    struct past past[EDIT_HISTORY];
    size_t n_past, past_bytes, at_past; /* at_past == n_past: the draft */
    struct buf draft;
    bool searching;
    char query[EDIT_QUERY + 1];
    size_t n_query, found; /* SIZE_MAX: nothing */
};

/* ------------------------------------------------------------------ edit_text.c */

/* One step for undo.  0, or -1: no memory or too long, and all is as before. */
int edit_change(struct edit *e, size_t at, size_t cut, const char *text, size_t n);
int edit_step_back(struct edit *e, struct steps *from, struct steps *to); /* 1: there is none */
void edit_forget_steps(struct steps *s);

/* ------------------------------------------------------------------ edit_past.c */

enum edit_result edit_past_go(struct edit *e, bool older);
enum edit_result edit_search_key(struct edit *e, enum edit_key key); /* one that begins a search, or while one is on */
enum edit_result edit_search_type(struct edit *e, const char *text, size_t n);
enum edit_result edit_search_accept(struct edit *e);

/* ------------------------------------------------------------------ edit_rows.c */

/* A text that is looked at in rows. */
struct page {
    const char *text;
    size_t n;
    int columns;
};
struct row { size_t from, to, piece_to; }; /* bytes; the piece that it is of ends at piece_to */

size_t edit_next(const struct page *p, size_t at); /* the border of clusters behind `at`; n at the end */
size_t edit_prev(const struct page *p, size_t at);
size_t edit_snap(const struct page *p, size_t at); /* the first border at or behind `at` */
struct row edit_row(const struct page *p, size_t at);
bool edit_row_next(const struct page *p, struct row *r);
bool edit_row_prev(const struct page *p, struct row *r);
size_t edit_row_at(const struct page *p, const struct row *r, int column); /* the byte at, or before, that column */

static inline struct page edit_page(const struct edit *e)
{
    return (struct page){e->text.data, e->text.len, e->columns};
}
#endif
