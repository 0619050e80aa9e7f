/* trace.h - where events go: to stdout as JSON Lines (--json), to a file with a line a token more (--trace), or
 * nowhere. Each stream counts its own lines.  Threads: one. */
#ifndef TRACE_H
#define TRACE_H
#include "app/out.h"
#include "app/session/event.h"

/* Who is speaking: what a session adds to the events that it makes. */
struct voice {
    const char *name; /* of the agent among several; "": the only one */
    int agent;        /* its number, for the engine's figures */
    int turns;        /* admitted so far */
    bool cancelled;   /* its turn is to end: nobody waits for it any more */
    double cancelled_at; /* when that was said, by progress_clock() */
    void (*note)(void *self, struct event *e); /* who else wants the DURABLE ones and SAMPLEs, stamped; NULL: nobody */
    void *self;
};

struct trace {
    struct out *json; /* NULL: no --json */
    struct out file;
    bool has_file;
    int64_t json_seq, file_seq;
    double start, sampled; /* clock at the start, and at the last SAMPLE */
    struct voice *voice; /* never NULL; trace_open() takes `own` */
    struct voice own;
    void (*watch)(void *self, const struct event *e); /* who sees each, stamped; NULL: nobody */
    void *watcher;
    bool all_samples; /* none is too soon */
    bool idle;        /* nothing goes on: only who watches is told */
};

/* The trace stays where it is until trace_close().  json: where --json writes, or NULL.  path: a file to make anew
 * (readable by its owner only: conversations are in it), or NULL; not one of the files in `keep` (n of them, NULL
 * entries allowed), which would be lost.  0, or -1. */
int trace_open(struct trace *t, struct out *json, const char *path, const char *const *keep, int n, struct err *err);
void trace_close(struct trace *t);

bool trace_on(const struct trace *t); /* somebody wants events */
/* Stamps and writes it.  False: nobody wants it, or it is a memory event too soon after the last. */
bool trace_put(struct trace *t, struct event *e);
#endif
