/* out.h - a stream of bytes to a descriptor: through the terminal's filter if it is a terminal, as they are otherwise.
 *
 * The first failure is kept and ends all later writing, so that a writer may look once at its end.  While the reader is
 * slow, a pending signal (signals.h) ends the wait after a second; what was to be written then is dropped. */
#ifndef OUT_H
#define OUT_H
#include "app/term_filter.h"
#include "plimsoll.h"

struct out {
    int fd;
    bool terminal;
    struct term_filter filter;
    int failed; /* errno of the write that failed; 0: none */
};

void out_init(struct out *o, int fd);
void out_put(struct out *o, const char *bytes, size_t n);
void out_end(struct out *o); /* a text ends: an unfinished character comes out as U+FFFD (to a terminal) */

/* What the program's exit status owes to this stream: 0; 141: its reader left (said by nobody: that is what `| head`
 * does); 1: err says why. */
int out_status(const struct out *o, const char *name, struct err *err);
#endif
