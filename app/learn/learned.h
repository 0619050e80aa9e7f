/* learned.h - which lessons were played to their end, and with what score: a small file beside the store.
 *
 *     plimsoll learned 1
 *     static-batch 2 2 3 1790000000        name, right answers at best, questions, times played, when last (seconds)
 *
 * It is written anew and moved into its place, so that it is whole or as it was.  What is read is not believed: a file
 * that is too long, not ours or has a line of another form is said to be so, and is not written over.
 *
 * Threads: any, one process at a time is not asked for: of two that write at once the later one's row counts. */
#ifndef LEARNED_H
#define LEARNED_H
#include "plimsoll.h"

enum { LEARNED_FILE = 16 << 10, LEARNED_ROWS = 128, LEARNED_NAME = 40 };

struct learned_row {
    char name[LEARNED_NAME];
    int right, of, times;
    int64_t last;
};

struct learned {
    struct learned_row row[LEARNED_ROWS];
    int n;
};

/* Where it is: $XDG_DATA_HOME/plimsoll/learned, else ~/.local/share/plimsoll/learned.  0, or -1. */
int learned_path(struct buf *out, struct err *err);

/* n bytes of a file in that form.  0, or -1: err names the line. */
int learned_parse(const char *text, size_t n, struct learned *out, struct err *err);

/* No file: nothing was learned.  0, or -1 with *out empty. */
int learned_read(const char *path, struct learned *out, struct err *err);
const struct learned_row *learned_of(const struct learned *l, const char *name); /* NULL: not played yet */

/* Played once more, at `now`: read, changed, written.  The best score stays; where a lesson has other questions than
 * then, the new one.  0, or -1: err says why, and the file is as it was. */
int learned_note(const char *path, const char *name, int right, int of, int64_t now, struct err *err);
#endif
