/* import.h - a session out of JSON Lines (export.h), plain or compressed with zstd.
 *
 *     import_open() -> import_feed() as the bytes come, cut anywhere -> import_end(): it is in the store
 *                                                                   -> import_close() alone: nothing of it is
 *
 * The session gets a new id; its title and turns are kept, and nothing in it is run again.  Its window is not imported:
 * session_resume() makes it anew.  The head is written last, so what an import that was killed leaves is no session.
 *
 * Numbers are kept, also where an export left some out: those are noted (STORE_GAPS), so that salvage calls no message
 * lost that was never in it.
 *
 * All that is fed comes from outside.  Each line is checked whole before anything of it is taken: its fields, its
 * numbers, and that nothing is there that is not known.  Memory is bounded by IMPORT_LINE, IMPORT_TEXT and a commit's
 * part, whatever is fed.  A stream of zstd may have a window of 8 MiB and grow to IMPORT_RATIO times its bytes (but for
 * its first IMPORT_FREE): that is looked at before what comes out of it is.
 * Threads: the store's.  Errors are IMPORT_BAD or the store's; after one, only import_close() may follow. */
#ifndef IMPORT_H
#define IMPORT_H
#include "memory/export.h"

enum { IMPORT_BAD = -200 }; /* what was fed: err says which line and why */

enum {
    IMPORT_LINE = 16 << 20,            /* bytes of a line */
    IMPORT_VALUES = 4096,              /* of JSON in a line */
    IMPORT_DEPTH = 32,
    IMPORT_TEXT = REC_BODY_MAX - 48,   /* bytes of one message */
    IMPORT_TURNS = 1 << 30,
    IMPORT_RESULTS = 1 << 20,          /* of one call */
    IMPORT_MARKS = 1 << 16,
    IMPORT_GAPS = 1 << 16,             /* that are told apart: what is between further ones counts as left out too */
    IMPORT_RATIO = 200,
    IMPORT_FREE = 2 << 20,
    IMPORT_WINDOW_LOG = 23
};
#define IMPORT_MOST ((uint64_t)2 << 30) /* bytes in all, unpacked */

struct import; /* opaque */

int import_open(struct import **out, struct store *s, struct err *err); /* nothing is written yet */
int import_feed(struct import *im, const void *bytes, size_t n, struct err *err);
/* All was fed.  0: the session is there, durable, and *out is its head; but out->run is what it was of where it comes
 * from.  Here it is of no run: that is not kept, since the others of it are not in the file. */
int import_end(struct import *im, struct journal_head *out, struct err *err);
/* Without import_end(): what was written is deleted again.  NULL is fine. */
void import_close(struct import *im);
#endif
