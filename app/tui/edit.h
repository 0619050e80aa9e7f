/* edit.h - the input: a text of several lines that a person types, with its cursor, what was cut, what can be undone,
 * and the turns that were sent before.
 *
 *     keys ──> edit_key(), edit_type(), edit_paste() ──> text, cursor ──> edit_draw()
 *                                                   └──> EDIT_SENT: edit_take() gives the text, and history has it
 *
 * The cursor stands between clusters (surface.h), never within one.  Lines are wrapped to rows of a width that
 * edit_width() sets, and up and down go by these rows.  Undo goes back by what was done at once: a run of typed
 * characters, a paste of any size, a cut.  The bytes are kept as they came; only line ends of a paste (CR LF, CR)
 * become newlines.
 *
 * A line of more than EDIT_PIECE bytes is wrapped in pieces, so that a key costs what is near the cursor and not the
 * whole of a paste.
 *
 * Owner: the editor owns all its texts.  Threads: one.  Errors: what needs memory that is not there, or more than
 * EDIT_LIMIT bytes of text, is not done (EDIT_FULL) and all is as before. */
#ifndef EDIT_H
#define EDIT_H
#include "app/tui/surface.h"

enum {
    EDIT_LIMIT = 16 << 20,         /* bytes of the text */
    EDIT_PIECE = 16 << 10,         /* bytes of a line that are wrapped together */
    EDIT_UNDO = 200,               /* steps */
    EDIT_UNDO_BYTES = 4 << 20,     /* of them, but the last one is kept whatever its size */
    EDIT_HISTORY = 1000,           /* turns */
    EDIT_HISTORY_BYTES = 1 << 20,  /* of them all; a longer one is not remembered */
    EDIT_QUERY = 200               /* bytes of a search */
};

enum edit_key {
    EDIT_LEFT, EDIT_RIGHT, EDIT_UP, EDIT_DOWN,     /* up in the first row, down in the last: history */
    EDIT_WORD_LEFT, EDIT_WORD_RIGHT,
    EDIT_LINE_START, EDIT_LINE_END, EDIT_TEXT_START, EDIT_TEXT_END,
    EDIT_OLDER, EDIT_NEWER,                        /* history, wherever the cursor is */
    EDIT_BACKSPACE, EDIT_DELETE,
    EDIT_CUT_WORD_LEFT, EDIT_CUT_WORD_RIGHT, EDIT_CUT_TO_START,
    EDIT_CUT_TO_END,                               /* of the line; at its end: the newline */
    EDIT_YANK,                                     /* what was cut last; cuts in a row are one */
    EDIT_UNDO_KEY, EDIT_REDO_KEY,
    EDIT_NEWLINE,
    EDIT_SEARCH,                                   /* Ctrl-R: begins, or goes to the next older */
    EDIT_ENTER,                                    /* send; in a search: take what was found into the text */
    EDIT_ESCAPE                                    /* in a search: as before it; else EDIT_NOTHING */
};

enum edit_result {
    EDIT_NOTHING, /* all is as it was */
    EDIT_MOVED,   /* the cursor, or what a search shows */
    EDIT_CHANGED, /* the text */
    EDIT_SENT,    /* Enter, and the text is not blank: edit_take() */
    EDIT_FULL     /* no memory, or EDIT_LIMIT */
};

struct edit;

struct edit *edit_open(struct err *err); /* NULL: no memory */
void edit_close(struct edit *e);         /* NULL is fine */

enum edit_result edit_key(struct edit *e, enum edit_key key);
enum edit_result edit_type(struct edit *e, const char *text, size_t n);  /* a character or some; or of a search */
enum edit_result edit_paste(struct edit *e, const char *text, size_t n); /* ends a search */

/* n bytes of text from `at` on are replaced, as one step that can be undone, and the cursor is behind: completion, an
 * external editor.  Beyond the text it is cut. */
enum edit_result edit_replace(struct edit *e, size_t at, size_t cut, const char *text, size_t n);

/* The text so far (NUL behind it), and the byte where the cursor is; valid until the next key. */
const char *edit_text(const struct edit *e, size_t *n);
size_t edit_cursor(const struct edit *e);
bool edit_searching(const struct edit *e); /* its history: the text is not what is drawn */

/* Append the text to out, remember it in history, and begin an empty one.  0, or -1: no memory, all as before. */
int edit_take(struct edit *e, struct buf *out);

/* History, oldest first: a caller loads it, and saves what is new.  A text equal to the newest is not remembered twice;
 * the oldest leave.  0, or -1: no memory, or longer than EDIT_HISTORY_BYTES. */
int edit_remember(struct edit *e, const char *text, size_t n);
size_t edit_history(const struct edit *e);
const char *edit_history_text(const struct edit *e, size_t i, size_t *n);

void edit_width(struct edit *e, int columns); /* of the rows, from 2 on; before the first draw, and on resize */
int edit_rows(const struct edit *e, int most); /* rows that the text needs, with the cursor's; counted up to `most` */

/* The rows around the cursor, and the surface's cursor; while searching the last row is the search's. */
void edit_draw(struct surface *s, struct box b, const struct edit *e);
#endif
