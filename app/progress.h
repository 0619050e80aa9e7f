/* progress.h - what takes long says how far it is, on stderr: nothing in the first second; then on a terminal a bar
 * that is drawn over, elsewhere a line every few seconds.  Times are handed in, in seconds on any clock that only
 * rises. */
#ifndef PROGRESS_H
#define PROGRESS_H
#include "plimsoll.h"

struct progress {
    const char *what; /* "loading", "reading the prompt" */
    double start, shown;
    bool terminal, drawn;
    bool bytes; /* what is done and all are, and are said: "12.0 of 57.2 MiB" */
    bool waits; /* nobody knows how far it is: the seconds are said, "asking the server: 12 s" */
};

void progress_start(struct progress *p, const char *what, bool terminal, double now);
void progress_update(struct progress *p, uint64_t done, uint64_t all, double now);
void progress_end(struct progress *p); /* a bar that was drawn is wiped */

/* What update() writes: appended to out, nothing if it is too early. */
void progress_text(struct progress *p, uint64_t done, uint64_t all, double now, struct buf *out);

double progress_clock(void); /* the clock to hand in: monotonic seconds */
#endif
