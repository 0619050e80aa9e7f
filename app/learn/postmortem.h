/* postmortem.h - what a saved session's flight recorder says of its end: read from the store and brought into bounds,
 * for `plimsoll post-mortem` and for the screen's Post-mortem view.
 *
 * The figures are of the time up to the session's last save: what came behind it is nowhere. */
#ifndef POSTMORTEM_H
#define POSTMORTEM_H
#include "app/learn/verdict.h"
#include "memory/journal.h"

enum { FLIGHT_SAMPLES = 64, FLIGHT_OWNERS = 64, FLIGHT_ERRORS = 8, FLIGHT_NAME = 40 };
#define FLIGHT_FIGURE ((int64_t)1 << 50) /* the most that a figure is believed */

/* UNKNOWN: it has no recorder, since nothing was asked in it: a copy, or one that was imported. */
enum flight_end { FLIGHT_DIED, FLIGHT_ENDED, FLIGHT_OPEN_HERE, FLIGHT_OPEN_ELSEWHERE, FLIGHT_UNKNOWN };

struct flight_sample {
    double time;      /* seconds since its program began */
    int64_t pool, reserved, filled, shared, cached; /* tokens */
    int64_t running, waiting, parked;               /* requests */
    int64_t taken, ceiling;                         /* bytes under the ceiling; 0: it takes none */
    char most[FLIGHT_NAME];                         /* who held the most; "": the only one, or nobody */
    int64_t most_tokens;
};

struct flight_owner { /* of the last sample */
    char name[FLIGHT_NAME];
    int64_t running, waiting, parked;
    int64_t tokens, shared, bytes; /* of its own pages; that it read of others' */
};

struct flight_error {
    int64_t turn;     /* 0: not told */
    double time;
    char what[16];    /* "turn", "refused", "stopped", ... */
    char text[200];
};

struct doc_flight {
    char id[33], title[124], model[124];
    int64_t now_ms, created_ms, updated_ms;
    uint32_t turns;
    enum flight_end end;
    char end_reason[24];   /* "completed", "cancelled", ...; of one that ended */
    char where[200];       /* OPEN_ELSEWHERE: in which process */
    struct flight_sample sample[FLIGHT_SAMPLES]; /* the newest last */
    int samples;
    int64_t texts;         /* bytes of tables that the last has in `taken` */
    struct flight_owner owner[FLIGHT_OWNERS];    /* who holds the most first */
    int owners;
    char queue_first[FLIGHT_NAME]; /* whose request waited first; queue_pages 0: nobody says */
    int64_t queue_pages;
    struct flight_error error[FLIGHT_ERRORS];    /* the newest last */
    int errors;
    int unread;            /* lines that are none of these */
    bool judged;           /* it died, or failed last: verdict says why */
    struct verdict verdict;
};

struct postmortem_ask {
    const char *what; /* the beginning of a session's id, or "last"; "": the newest that died, else the newest.  Of a
                       * crew's run, which has no figures of its own, it is that of its sessions */
    const uint8_t (*here)[STORE_SESSION_ID]; /* sessions of this program, n_here of them: open, and passed over by "" */
    int n_here;
};

/* Into d, which is all zeros but for now_ms.  0, or an error of the store's.  Some 20 KiB of d are the verdict's. */
int postmortem_read(struct store *s, const struct postmortem_ask *ask, struct doc_flight *d, struct err *err);

/* "It died: its program ended without closing it. Saved last 5 minutes ago, after turn 12." */
void postmortem_end(const struct doc_flight *d, char out[240]);
/* What was going on, by the last figures: the worst first.  Appended. */
void postmortem_words(const struct doc_flight *d, struct buf *out);

/* What is written in a store may not add up: each part has what those before it leave. */
struct postmortem_pool { int64_t filled, reserved, cached, free, all; }; /* the first four are the last */
struct postmortem_pool postmortem_pool(const struct flight_sample *s);

/* For a person, wrapped at width columns; one JSON object, without a newline.  Appended. */
void postmortem_text(const struct doc_flight *d, int width, struct buf *out);
void postmortem_json(const struct doc_flight *d, struct buf *out);
#endif
