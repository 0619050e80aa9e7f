/* ui.h - the screen as a whole, without a terminal: news and keys go in, a surface and wishes come out.
 *
 *     news (bridge.h) ──ui_news()──┐
 *     keys (keys.h) ────ui_key()───┼──> struct ui ──ui_draw()──> surface
 *     time ─────────────ui_tick()──┘         └──> struct ui_host: orders, cancels, docs, answers ...
 *
 * The same keys and the same news give the same cells, so screens are tested from recorded streams.
 *
 * Threads: one.  Errors: what there is no memory for is not shown; the session goes on. */
#ifndef UI_H
#define UI_H
#include "app/tui/bridge.h"
#include "app/tui/complete.h"
#include "app/tui/edit.h"
#include "app/tui/theme.h"
#include "app/tui/view.h"

struct ui_own_key {
    const char *keys, *help, *footer; /* a word for the footer; NULL: it is not in it */
};

struct ui_setup {
    int columns, rows;
    bool utf8, mono;
    bool live;        /* news are of a session: what the person says is shown when it is begun */
    bool stored;      /* the session is saved */
    const char *crew; /* NULL: none */
    const struct ui_own_key *own; /* keys of ui_host.key(), in place of those of an input; owns of them */
    int owns;
};

/* Who does what keys ask for.  Functions may be NULL: then the key does nothing. */
struct ui_host {
    void *self;
    bool (*order)(void *self, const char *text, size_t n);  /* false: too many wait */
    bool (*take_back)(void *self, struct buf *text);        /* the newest order that waits */
    void (*cancel)(void *self, const char *agent);          /* "": all that runs */
    void (*ask)(void *self, const struct doc_ask *ask);
    void (*answer)(void *self, int64_t question, int choice, const char *text, size_t n);
    int64_t (*tokens)(void *self, const char *text, size_t n, bool *exact); /* of a text; -1: not known */
    /* Of what the template writes around a text that is asked; -1: not known. */
    int64_t (*frame)(void *self, const char *text, size_t n);
    size_t (*copy)(void *self, const char *text, size_t n); /* to the clipboard; how many bytes of it */
    void (*editor)(void *self, struct buf *text);           /* in place of the text what an editor makes of it */
    bool (*save)(void *self, const char *text, size_t n, char path[200]); /* to a new file; path: its, or why not */
    void (*suspend)(void *self);
    void (*redraw)(void *self);
    void (*leave)(void *self);
    void (*end)(void *self);                                /* at once, whatever is lost */
    void (*remember)(void *self, const char *text, size_t n); /* for the history of other sessions */
    const struct complete_source *(*source)(void *self);      /* what can be completed */
    bool (*key)(void *self, const struct key *k); /* before an input would have it, behind views; false: not its own */
};

struct ui;
struct ui *ui_open(const struct ui_setup *setup, const struct ui_host *host, struct err *err);
void ui_close(struct ui *ui); /* NULL is fine */
struct edit *ui_edit(struct ui *ui); /* for a history that is loaded */

void ui_news(struct ui *ui, struct news *n); /* a doc in it becomes the screen's */
void ui_key(struct ui *ui, const struct key *k, double now);
void ui_resize(struct ui *ui, int columns, int rows);
void ui_leave(struct ui *ui); /* the sessions are being closed: keys do nothing more, but for a way out (Ctrl-C) */
/* seconds of any clock that does not go back; true: something that is drawn has changed by it. */
bool ui_tick(struct ui *ui, double now);
bool ui_goes_on(const struct ui *ui); /* a lesson runs: a tick is due in a few ms */
const struct surface *ui_draw(struct ui *ui);
const char *ui_last_error(const struct ui *ui); /* that was said; "": none */
void ui_session(const struct ui *ui, char id[9]); /* the beginning of its id; "": nothing of it was saved */
bool ui_busy(const struct ui *ui);      /* a turn or a command is on its way */

/* Of a recorded stream: where it is, in words for the head, and from 0 to 1, in the input's place. */
void ui_recorded(struct ui *ui, const char *words, double part);
void ui_begin_again(struct ui *ui); /* nothing has happened yet; what is looked at stays */
#endif
