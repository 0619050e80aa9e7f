/* curve.h - the memory of a run over its time, folded from its events: a point for each sample, and the one at which it
 * failed.  It is of the KV pool, what is promised or given of it and what is filled; or of all memory under the
 * ceiling, where a lesson is about weights or workspace.
 *
 * However long a run is, a curve has at most CURVE_POINTS points: when they are full, two by two become one, with
 * the higher of each figure.  Shown, a curve is as wide as there is room, and a column shows the highest in it.
 *
 * Owner: plain data.  Threads: one at a time. */
#ifndef CURVE_H
#define CURVE_H
#include "app/session/event.h"

enum { CURVE_POINTS = 1024, CURVE_AGENTS = 16 };

struct curve_point {
    double time;            /* seconds since the run began */
    int64_t taken, filled;  /* bytes, at once; taken: promised or given */
    int64_t hole;           /* bytes, the largest free piece; -1: nobody says */
    int32_t running, waiting;
    int32_t turns;          /* that have ended */
};

struct curve {
    struct curve_point point[CURVE_POINTS];
    int n, join;            /* join: samples that make a point */
    int joined;             /* samples in the last point; it is full at `join` */
    int64_t size;           /* bytes of the pool, or under the ceiling: the line that nothing may pass */
    struct event_memory seen; /* the last; it has no strings */
    bool ceiling;           /* it is all under the ceiling, not the pool */
    int64_t failed_wanted;  /* bytes that were wanted when it failed; 0: it did not */
    int failed_at;          /* the point; -1: none */
    int32_t turns;          /* that have ended so far */
    struct {
        char name[40];      /* "": the only one */
        int64_t tokens;     /* that its last prompt, and what it has answered, have */
        bool failed;
    } agent[CURVE_AGENTS];  /* the first ones that asked */
    int agents;
    int64_t ctx;            /* tokens that each of them may have at most */
};

void curve_init(struct curve *c, bool ceiling); /* of all under the ceiling, or of the pool */
void curve_add(struct curve *c, const struct event *e);

/* A chart of columns x rows characters without its frame, a line each, scaled to `size` (0: to c->size) and to so many
 * points (0: to its own), so that two stand beside each other on the same scale.  ascii: of '#', ':' and '!' alone. */
void curve_chart(const struct curve *c, int columns, int rows, int64_t size, bool ascii, struct buf *out);
/* One line, for a terminal: "KV  [######::::    ] 3.0 of 9.0 MiB   2 running, 6 waiting". */
void curve_bar(const struct curve *c, int columns, bool ascii, struct buf *out);

/* A column for each agent, as high as its part of its context: "agents [▂▃▅✗]"; ascii: in tenths, "[235!]". */
void curve_agents(const struct curve *c, bool ascii, struct buf *out);

/* Both curves of a lesson: run,point,time_s,turns,running,waiting,taken_bytes,filled_bytes,hole_bytes,size_bytes,
 * failed (1: at this point) */
void curves_csv(const struct curve *const run[], const char *const name[], int runs, struct buf *out);
/* A picture of both, side by side on one scale; title is escaped. */
void curves_svg(const struct curve *const run[], const char *const name[], int runs, const char *title,
                struct buf *out);
#endif
