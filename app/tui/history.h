/* history.h - what was typed, kept from one run to the next in $XDG_STATE_HOME/plimsoll/history, else
 * ~/.local/state/plimsoll/history.
 *
 *     what is a\ncache?     a text a line, the newest last: \n is a newline, \\ a backslash, \xHH another control byte
 *     /context
 *
 * Several programs may have it open: each appends under a lock, and none loses what another wrote.  A file that has
 * grown to `most` bytes is written anew beside it, with the newest texts alone, and takes its place at once.
 * A line that is no such record, and a last one that was never ended, are passed over.
 *
 * The file is for its owner alone (0600).  One that is no regular file, belongs to somebody else or may be written by
 * others is neither read nor written: what is in it comes up under a person's fingers.
 *
 * Threads: one.  A call may wait HISTORY_PATIENCE_MS for another program's lock. */
#ifndef HISTORY_H
#define HISTORY_H
#include "app/opts.h"
#include "app/tui/edit.h"

enum {
    HISTORY_TEXT = 64 << 10,  /* bytes of a text; a longer one is not kept */
    HISTORY_MOST = 4 << 20,   /* bytes of the file */
    HISTORY_PATIENCE_MS = 2000
};

struct history {
    char *path;  /* owned; NULL: there is no place for it */
    size_t most; /* HISTORY_MOST */
    bool saves;
};

/* saves: false with --no-save: history_add() does nothing.  0, or -1 and err: no memory, or neither variable is an
 * absolute path; then there is no history, and the calls below do nothing.  Nothing is read or made yet. */
int history_open(struct history *h, opts_env *env, bool saves, struct err *err);
void history_close(struct history *h);

/* The newest texts, at most EDIT_HISTORY, into e.  No file is as an empty one.  0, or -1: err says why not. */
int history_load(const struct history *h, struct edit *e, struct err *err);

/* Keep a text that was sent.  0 (also of one that is empty or too long), or -1: it is not kept, err says why. */
int history_add(const struct history *h, const char *text, size_t n, struct err *err);
#endif
