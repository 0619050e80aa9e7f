/* stable.h - a stream of events without what two runs of one session may differ in, so that their streams are the same
 * to the byte:
 *
 *     SAMPLE events (memory)       left out
 *     saved                        left out: when it comes is the disk's affair, and who looks at the store's lists
 *                                  meanwhile waits for it
 *     volatile fields, and time    left out
 *     seq                          counted anew
 *     prefill                      of several in a row the last
 *     text                         of one answer in one piece, behind the tokens among which it stood
 *
 * The last two are LIVE events, which come as often as the reader is fast.  All else stays where it was, byte by byte.
 *
 * Owner: the caller, stable_free() at the end.  Threads: one. */
#ifndef STABLE_H
#define STABLE_H
#include "app/session/event.h"

struct stable {
    int64_t seq;      /* of the last line that was written */
    void *kept;       /* JSON of the prefill or text that may still be joined; NULL: none */
    struct buf text;  /* of it */
    enum event_kind kind;
};

/* Appends to out what stands before and in this event, which is e and has this line.  0, or -1: no memory. */
int stable_put(struct stable *s, const struct event *e, const char *line, size_t n, struct buf *out);
int stable_end(struct stable *s, struct buf *out); /* the stream is over: what was kept */
void stable_free(struct stable *s);
#endif
