/* tape.h - a recorded stream of events as a tape: which of them are due at a moment, at what speed, and where turns
 * begin.
 *
 * It plays by the times that the events have, but for waits: more than TAPE_WAIT seconds between two count as so many.
 * What is due is a number of events, from the first on; who shows them makes `shown` follow, and while it does not the
 * tape stands still.  When `due` is less than `shown` it was wound back: there is nothing for it but the beginning.
 *
 * Pure: no file, no clock.  Times may be anything.  Owner: the caller, tape_free() at the end.  Threads: one. */
#ifndef TAPE_H
#define TAPE_H
#include "plimsoll.h"

#define TAPE_WAIT 1.0
enum { TAPE_SPEED_MAX = 8 };

struct tape_mark { /* an event */
    uint64_t at;   /* where it stands in the file, and its bytes */
    uint32_t n;
    bool turn;     /* a turn begins with it */
    double time;   /* as it says, but never less than the one before */
    double due;    /* seconds of play until it */
};

struct tape {
    struct tape_mark *mark;
    size_t n, cap;
    bool whole;    /* no more events come */
    size_t due, shown;
    double played; /* seconds of play so far */
    int speed;     /* 1, 2, 4 or 8 */
    bool paused;
};

void tape_open(struct tape *t);
void tape_free(struct tape *t);
int tape_put(struct tape *t, uint64_t at, uint32_t n, double time, bool turn); /* the next event; -1: no memory */

void tape_pass(struct tape *t, double seconds); /* by the clock on the wall */
double tape_wait(const struct tape *t);         /* by that clock, until another is due; INFINITY: not by itself */
void tape_faster(struct tape *t, bool faster);

void tape_next_turn(struct tape *t);
void tape_turn_before(struct tape *t); /* within a turn: where it began */
void tape_go(struct tape *t, bool end);

/* "recorded, 0:12.3 of 1:05, x4, paused" (or winding, the end): where it is by the events' own times. */
void tape_words(const struct tape *t, char out[80]);
double tape_part(const struct tape *t); /* of the play, 0 to 1 */
#endif
