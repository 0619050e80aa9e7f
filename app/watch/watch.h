/* watch.h - other people's servers, asked for their load again and again: what each said last, and what came of it.
 *
 *     watch_open(...) ── watch_step() ──> GET /metrics of each, none of which waits for another ──> samples
 *                                         (Ollama has none: /api/ps)
 *     watch_rate(), watch_verdict() ── over the samples kept
 *
 * Only these two paths are asked for, and nothing is sent but the key.  What comes back is hostile: it is read by
 * load.h, and its texts are one line each.
 *
 * Threads: one.  Nothing waits. */
#ifndef WATCH_H
#define WATCH_H
#include "app/tui/bar.h"
#include "engine/remote/load.h"

enum { WATCH_SERVERS = 32, WATCH_KEPT = 180, WATCH_WINDOW_S = 10, WATCH_LONG_S = 60, WATCH_SILENCE_S = 5 };

enum watch_state {
    WATCH_NEW,   /* it was not heard yet */
    WATCH_TOLD,  /* it tells of its load */
    WATCH_MUTE,  /* it answers, and tells nothing: why */
    WATCH_DOWN,  /* it does not answer: why */
    WATCH_STATES
};

struct watch_sample {
    double time; /* watch_step()'s now */
    struct load load;
};

struct watched {
    char at[256];            /* its address, as it is used */
    enum watch_state state;
    double since;            /* when it came into it */
    double heard;            /* when it answered last; 0: never */
    char why[240];
    char model[160];
    enum server_kind kind;
    struct watch_sample *kept; /* a ring of WATCH_KEPT */
    uint64_t n_kept;           /* so many were put there */
    uint64_t rounds;           /* so often it was asked, and has answered or not */
    struct watch_call *call;   /* watch.c's */
};

struct watch {
    struct watched server[WATCH_SERVERS];
    int n;
    double every; /* seconds between two questions */
};

/* urls: n of them, http://HOST[:PORT]; key: sent to each, or NULL; every: seconds.  0, or -1: err says which is wrong;
 * watch_close() is due in each case. */
int watch_open(struct watch *w, char *const *urls, int n, const char *key, double every, struct err *err);
void watch_close(struct watch *w);
/* Asks whom it is time to ask, and takes what has come; true: something is new.  now: seconds, of a clock that only
 * goes on, above 0. */
bool watch_step(struct watch *w, double now);

/* What it said last, or `ago` samples before; NULL: nothing so long ago, or it tells nothing now. */
const struct watch_sample *watch_last(const struct watched *s, uint64_t ago);
struct load watch_load(const struct watched *s); /* that of the last; nothing is known where there is none */
/* By how much a counter grew in the last `seconds`, as far as samples go back, or since the one before where that is
 * longer ago; in *took what they span.  -1: it is not
 * told, there are no two samples, or the server has begun to count anew. */
double watch_grew(const struct watched *s, enum load_count which, double seconds, double *took);
double watch_rate(const struct watched *s, enum load_count which); /* a second, over WATCH_WINDOW_S; -1: not known */
/* Of two counters that grew: the one for each of the other, over WATCH_LONG_S; -1: not known. */
double watch_ratio(const struct watched *s, enum load_count of, enum load_count by);

/* ------------------------------------------------------------------ watch_say.c */

enum watch_grave { WATCH_IDLE, WATCH_FINE, WATCH_NEAR /* to what is bad */, WATCH_BAD };
/* How it is with its memory, in a line, and what helps. */
enum watch_grave watch_verdict(const struct watched *s, double now, char *out, size_t room);
/* The same of a load that was told once, by whomever. */
enum watch_grave watch_of_load(const struct load *l, char *out, size_t room);
/* "1,140", "2.5"; "43%": "-" for what is not told (below 0). */
const char *watch_count(char out[FIGURE], double n);
const char *watch_part(char out[FIGURE], double part);
const char *watch_state_name(enum watch_state s); /* "told", "mute", ... */
void watch_put_table(const struct watch *w, double now, struct buf *out);
/* A JSON object a server, a line each; time: of the wall, in seconds since 1970. */
void watch_put_json(const struct watch *w, double now, double time, struct buf *out);
#endif
