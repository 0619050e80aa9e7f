/* doc.h - what a view shows that no event says: lists and texts that the sessions' thread collects when a view asks.
 *
 *     view: doc_ask ──bridge──> sessions' thread: doc_collect(), between two passes ──bridge──> view: doc
 *
 * A doc is made by one thread and given away whole; who has it frees it.  What it says is of the moment when it was
 * collected.  Texts in it are of others: only a surface shows them. */
#ifndef DOC_H
#define DOC_H
#include "plimsoll.h"

enum doc_kind {
    DOC_NONE,
    DOC_MAP,       /* view_map.h: the pool's pages as cells */
    DOC_INSPECT,   /* view_inspect.h: what the next call of an agent carries */
    DOC_SESSIONS,  /* view_sessions.h: those that are saved */
    DOC_ARTIFACTS, /* view_artifacts.h: of this session */
    DOC_TEXT,      /* a text to read: an artifact, a message */
    DOC_FLIGHT,    /* view_flight.h: the last figures of a saved session */
    DOC_MODELS,    /* view_models.h: model files on this machine */
    DOC_KINDS
};

struct doc_ask {
    enum doc_kind kind;
    int agent;       /* of the team */
    int cells;       /* MAP */
    uint64_t from;   /* TEXT: byte */
    char what[300];  /* TEXT: "a3", "m12"; FLIGHT: a session's id */
};

struct doc {
    struct doc_ask ask;
    void *data;                /* of the kind's header; NULL: it failed, or DOC_NONE */
    void (*free)(void *data);
    char error[240];           /* why there is none; "": there is */
};

static inline void doc_free(struct doc *d)
{
    if (d->data) d->free(d->data);
    *d = (struct doc){0};
}

struct console;
/* On the sessions' thread, while no session is in the middle of anything: fills d->data and d->free, or d->error.
 * (doc_models takes up to 2 s, asks no session anything, and has a thread of its own.) */
typedef void doc_collect(struct console *c, struct doc *d);
doc_collect doc_map, doc_inspect, doc_sessions, doc_artifacts, doc_text, doc_flight, doc_models;

struct doc_text { /* DOC_TEXT */
    struct buf text;     /* at most 256 KiB from ask.from on */
    uint64_t from, next, bytes; /* next: where to read on; bytes: of the whole */
    char title[200];
};
#endif
