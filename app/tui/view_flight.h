/* view_flight.h - the doc of the Post-mortem view: the flight recorder of a saved session, read and brought into
 * bounds.
 *
 * The figures are of the time up to the session's last save: what came behind it is nowhere. */
#ifndef VIEW_FLIGHT_H
#define VIEW_FLIGHT_H
#include "plimsoll.h"

enum { FLIGHT_SAMPLES = 64, FLIGHT_OWNERS = 64, FLIGHT_ERRORS = 8, FLIGHT_NAME = 40 };
#define FLIGHT_FIGURE ((int64_t)1 << 50) /* the most that a figure is believed */

enum flight_end { FLIGHT_DIED, FLIGHT_ENDED, FLIGHT_OPEN_HERE, FLIGHT_OPEN_ELSEWHERE };

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
    struct flight_owner owner[FLIGHT_OWNERS];    /* who holds the most first */
    int owners;
    char queue_first[FLIGHT_NAME]; /* whose request waited first; queue_pages 0: nobody says */
    int64_t queue_pages;
    struct flight_error error[FLIGHT_ERRORS];    /* the newest last */
    int errors;
    int unread;            /* lines that are none of these */
};
#endif
