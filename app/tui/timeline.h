/* timeline.h - the session so far: figures over time, and what happened when.
 *
 * Memory is fixed, however long the session is: when a ring is full, every second sample goes and the rest stand for
 * twice the time (each the largest of the two), so the whole session is always there, coarser; marks are kept, the
 * oldest of the least important go first.
 *
 * Threads: one. */
#ifndef TIMELINE_H
#define TIMELINE_H
#include "app/session/event.h"
#include "app/tui/bar.h"

enum { TIMELINE_SAMPLES = 2048, TIMELINE_MARKS = 1024, TIMELINE_TEXT = 96 };

struct timeline_sample { /* the largest in its time */
    float time;          /* seconds since the stream began, of its beginning */
    uint32_t filled, reserved, shared, cached; /* tokens of the pool; reserved: promised and not filled yet; shared: of
                                                  the filled */
    uint32_t running, waiting, parked;
    float prefill, decode;                     /* tokens a second */
    uint64_t bytes;                            /* that are held under the ceiling: weights, filled KV, work, tables */
};

struct timeline_mark {
    float time;
    uint8_t kind;  /* enum event_kind */
    int8_t agent;  /* of struct state; -1: nobody's */
    char text[TIMELINE_TEXT]; /* "turn 3 began: 612 of 2,048 tokens" */
};

struct timeline {
    struct timeline_sample *sample; /* (TIMELINE_SAMPLES) owned */
    struct timeline_mark *mark;     /* (TIMELINE_MARKS) owned */
    int samples, marks;
    float each;                     /* seconds that a sample stands for */
    uint64_t pool;                  /* tokens */
    uint64_t ceiling;               /* bytes; 0: none */
    uint64_t lost;                  /* marks that have gone */
};

void timeline_open(struct timeline *t); /* without memory for it, it keeps nothing */
void timeline_close(struct timeline *t);
/* Time does not go back: what is said to be earlier than the last is taken to be of its time. */
void timeline_sample(struct timeline *t, const struct timeline_sample *s);
void timeline_mark(struct timeline *t, const struct timeline_mark *m);

/* The last sample that began, the last mark that was, at this time or before; -1: none. */
int timeline_at(const struct timeline *t, double time);
int timeline_mark_at(const struct timeline *t, double time);
const char *timeline_clock(char out[FIGURE], double seconds); /* 0:05.2, 12:05, 3:12:05: since the stream began */
double timeline_end(const struct timeline *t); /* the time of the newest of all; 0: nothing is there */
#endif
