/* view_sessions.h - the doc of the Sessions view: those that are saved, the newest first; a run of a crew in one piece,
 * its own record before its sessions.
 *
 * Texts are the store's own (journal.h) and of others: the surface filters them. */
#ifndef VIEW_SESSIONS_H
#define VIEW_SESSIONS_H
#include "plimsoll.h"

enum { SESSIONS_MOST = 5000, SESSIONS_ID = 33, SESSIONS_TEXT = 124 };

struct sessions_row {
    char id[SESSIONS_ID], parent[SESSIONS_ID]; /* in hex; parent "": it is no copy */
    char title[SESSIONS_TEXT], model[SESSIONS_TEXT];
    int64_t created_ms, updated_ms;            /* since 1970 */
    uint32_t turns, parent_turn;
    uint64_t bytes;                            /* keys and values under its id */
    int of;                                    /* the row of its parent, else of its run; -1: it is not in the list */
    bool run, below;                           /* a run of a crew: its own record; a session of the run before it */
    bool open, current;                        /* here: by one of the agents; by the one that commands are about */
};

struct doc_sessions {
    struct sessions_row *row; /* (rows) */
    int rows;
    bool more;                /* the oldest are left out: SESSIONS_MOST are there */
    bool sized;               /* bytes are known */
    int64_t now_ms;
    int damaged;              /* heads that could not be read */
    char damage[200];         /* the first of them */
};
#endif
