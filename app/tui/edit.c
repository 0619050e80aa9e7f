/* edit.c - see edit.h: what each key does. */
#include "app/tui/edit_impl.h"

struct edit *edit_open(struct err *err)
{
    struct edit *e = calloc(1, sizeof *e);
    if (e) buf_puts(&e->text, " ");
    if (!e || e->text.failed) {
        free(e);
        err_set(err, -1, "the input: no memory");
        return NULL;
    }
    e->text.len = 0;
    e->text.data[0] = '\0';
    e->found = SIZE_MAX;
    edit_width(e, 80);
    return e;
}

void edit_close(struct edit *e)
{
    if (!e) return;
    edit_forget_steps(&e->undo);
    edit_forget_steps(&e->redo);
    for (size_t i = 0; i < e->n_past; i++) free(e->past[i].text);
    buf_free(&e->text);
    buf_free(&e->cut);
    buf_free(&e->draft);
    free(e);
}

const char *edit_text(const struct edit *e, size_t *n)
{
    *n = e->text.len;
    return e->text.data;
}

size_t edit_cursor(const struct edit *e) { return e->cursor; }
bool edit_searching(const struct edit *e) { return e->searching; }

int edit_take(struct edit *e, struct buf *out)
{
    buf_put(out, e->text.data, e->text.len);
    if (out->failed) return -1;
    edit_remember(e, e->text.data, e->text.len); /* one that is too long is sent all the same */
    edit_forget_steps(&e->undo);
    edit_forget_steps(&e->redo);
    e->text.len = e->cursor = 0;
    e->text.data[0] = '\0';
    e->at_past = e->n_past;
    e->goal = -1;
    e->typing = e->cutting = e->searching = false;
    return 0;
}

/* ------------------------------------------------------------------ text that comes in */

/* CR LF and CR are newlines. */
static void put_lines(const char *text, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;) {
        const char *cr = memchr(text + i, '\r', n - i);
        size_t to = cr ? (size_t)(cr - text) : n;
        buf_put(out, text + i, to - i);
        if (cr) buf_puts(out, "\n");
        i = to + (cr != NULL);
        if (cr && i < n && text[i] == '\n') i++;
    }
}

static enum edit_result insert(struct edit *e, const char *text, size_t n)
{
    struct buf clean = {0};
    if (n > 0 && memchr(text, '\r', n)) {
        put_lines(text, n, &clean);
        text = clean.data;
        n = clean.len;
    }
    enum edit_result r = clean.failed || edit_change(e, e->cursor, 0, text, n) ? EDIT_FULL : EDIT_CHANGED;
    buf_free(&clean);
    return r;
}

enum edit_result edit_type(struct edit *e, const char *text, size_t n)
{
    if (n == 0) return EDIT_NOTHING;
    if (e->searching) return edit_search_type(e, text, n);
    e->cutting = false;
    enum edit_result r = insert(e, text, n);
    e->typing = r == EDIT_CHANGED;
    return r;
}

enum edit_result edit_paste(struct edit *e, const char *text, size_t n)
{
    if (e->searching && edit_search_accept(e) == EDIT_FULL) return EDIT_FULL;
    e->typing = e->cutting = false;
    return n == 0 ? EDIT_NOTHING : insert(e, text, n);
}

enum edit_result edit_replace(struct edit *e, size_t at, size_t cut, const char *text, size_t n)
{
    e->typing = e->cutting = e->searching = false;
    return edit_change(e, at, cut, text, n) ? EDIT_FULL : EDIT_CHANGED;
}

/* ------------------------------------------------------------------ motions: where a key would put the cursor */

static bool in_word(const struct edit *e, size_t at)
{
    unsigned char c = (unsigned char)e->text.data[at];
    return c >= 0x80 || c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static size_t word_left(const struct edit *e)
{
    struct page p = edit_page(e);
    size_t at = e->cursor, before;
    while (at > 0 && !in_word(e, edit_prev(&p, at))) at = edit_prev(&p, at);
    while (at > 0 && in_word(e, before = edit_prev(&p, at))) at = before;
    return at;
}

static size_t word_right(const struct edit *e)
{
    struct page p = edit_page(e);
    size_t at = e->cursor;
    while (at < p.n && !in_word(e, at)) at = edit_next(&p, at);
    while (at < p.n && in_word(e, at)) at = edit_next(&p, at);
    return at;
}

static size_t line_start(const struct edit *e)
{
    const char *newline = e->cursor > 0 ? memrchr(e->text.data, '\n', e->cursor) : NULL;
    return newline ? (size_t)(newline - e->text.data) + 1 : 0;
}

static size_t line_end(const struct edit *e)
{
    const char *newline = memchr(e->text.data + e->cursor, '\n', e->text.len - e->cursor);
    return newline ? (size_t)(newline - e->text.data) : e->text.len;
}

static enum edit_result move(struct edit *e, size_t to)
{
    e->goal = -1;
    if (to == e->cursor) return EDIT_NOTHING;
    e->cursor = to;
    return EDIT_MOVED;
}

static enum edit_result move_rows(struct edit *e, bool up)
{
    struct page p = edit_page(e);
    struct row r = edit_row(&p, e->cursor);
    int goal = e->goal >= 0 ? e->goal : surface_columns(p.text + r.from, e->cursor - r.from);
    if (!(up ? edit_row_prev(&p, &r) : edit_row_next(&p, &r))) return edit_past_go(e, up);
    enum edit_result result = move(e, edit_row_at(&p, &r, goal));
    e->goal = goal;
    return result;
}

static enum edit_result move_key(struct edit *e, enum edit_key key)
{
    struct page p = edit_page(e);
    switch (key) {
    case EDIT_LEFT: return move(e, edit_prev(&p, e->cursor));
    case EDIT_RIGHT: return move(e, edit_next(&p, e->cursor));
    case EDIT_WORD_LEFT: return move(e, word_left(e));
    case EDIT_WORD_RIGHT: return move(e, word_right(e));
    case EDIT_LINE_START: return move(e, line_start(e));
    case EDIT_LINE_END: return move(e, line_end(e));
    case EDIT_TEXT_START: return move(e, 0);
    case EDIT_TEXT_END: return move(e, p.n);
    case EDIT_UP: return move_rows(e, true);
    case EDIT_DOWN: return move_rows(e, false);
    case EDIT_OLDER: return edit_past_go(e, true);
    case EDIT_NEWER: return edit_past_go(e, false);
    default: return EDIT_NOTHING;
    }
}

/* ------------------------------------------------------------------ cuts */

static enum edit_result erase(struct edit *e, size_t from, size_t to)
{
    if (from == to) return EDIT_NOTHING;
    return edit_change(e, from, to - from, NULL, 0) ? EDIT_FULL : EDIT_CHANGED;
}

/* What is cut joins what the key before cut, in the order of the text. */
static enum edit_result cut(struct edit *e, size_t from, size_t to, bool joins)
{
    if (from == to) return EDIT_NOTHING;
    struct buf all = {0};
    if (joins && from == e->cursor) buf_put(&all, e->cut.data, e->cut.len);
    buf_put(&all, e->text.data + from, to - from);
    if (joins && from != e->cursor) buf_put(&all, e->cut.data, e->cut.len);
    if (all.failed || erase(e, from, to) == EDIT_FULL) {
        buf_free(&all);
        return EDIT_FULL;
    }
    buf_free(&e->cut);
    e->cut = all;
    e->cutting = true;
    return EDIT_CHANGED;
}

static enum edit_result change_key(struct edit *e, enum edit_key key, bool joins)
{
    struct page p = edit_page(e);
    size_t at = e->cursor;
    switch (key) {
    case EDIT_BACKSPACE: return erase(e, edit_prev(&p, at), at);
    case EDIT_DELETE: return erase(e, at, edit_next(&p, at));
    case EDIT_CUT_WORD_LEFT: return cut(e, word_left(e), at, joins);
    case EDIT_CUT_WORD_RIGHT: return cut(e, at, word_right(e), joins);
    case EDIT_CUT_TO_START: return cut(e, line_start(e), at, joins);
    case EDIT_CUT_TO_END: return cut(e, at, line_end(e) > at ? line_end(e) : edit_next(&p, at), joins);
    case EDIT_YANK: return e->cut.len == 0 ? EDIT_NOTHING : insert(e, e->cut.data, e->cut.len);
    case EDIT_NEWLINE: return insert(e, "\n", 1);
    default: return move_key(e, key);
    }
}

static enum edit_result step_key(struct edit *e, struct steps *from, struct steps *to)
{
    int rc = edit_step_back(e, from, to);
    return rc > 0 ? EDIT_NOTHING : rc < 0 ? EDIT_FULL : EDIT_CHANGED;
}

/* ------------------------------------------------------------------ keys */

static bool blank(const struct edit *e) { return strspn(e->text.data, " \t\n") == e->text.len; }

enum edit_result edit_key(struct edit *e, enum edit_key key)
{
    bool joins = e->cutting;
    e->typing = e->cutting = false;
    if (e->searching || key == EDIT_SEARCH) {
        bool own = key == EDIT_SEARCH || key == EDIT_BACKSPACE || key == EDIT_ESCAPE;
        if (own) return edit_search_key(e, key);
        enum edit_result r = edit_search_accept(e); /* any other key works on what was found */
        if (r == EDIT_FULL || key == EDIT_ENTER) return r;
        enum edit_result then = edit_key(e, key);
        return then == EDIT_NOTHING || then == EDIT_MOVED ? r : then;
    }
    switch (key) {
    case EDIT_UNDO_KEY: return step_key(e, &e->undo, &e->redo);
    case EDIT_REDO_KEY: return step_key(e, &e->redo, &e->undo);
    case EDIT_ENTER: return blank(e) ? EDIT_NOTHING : EDIT_SENT;
    case EDIT_ESCAPE: return EDIT_NOTHING;
    default: return change_key(e, key, joins);
    }
}
