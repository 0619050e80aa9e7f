/* doc_flight.c - a post-mortem for the screen, from the store's thread. */
#include "app/console.h"
#include "app/tui/doc.h"
#include "app/tui/view_flight.h"
#include <time.h>

struct collecting {
    uint8_t here[CREW_AGENTS][STORE_SESSION_ID]; /* of this program's agents */
    struct postmortem_ask ask;
    struct doc_flight *doc;
};

static int collect(struct store *s, void *arg, struct err *err)
{
    struct collecting *l = arg;
    return postmortem_read(s, &l->ask, l->doc, err);
}

static void here(const struct console *c, struct collecting *l)
{
    for (int i = 0; i < c->team.n && l->ask.n_here < CREW_AGENTS; i++)
        if (c->team.member[i].open)
            memcpy(l->here[l->ask.n_here++], c->team.member[i].s.keep.head.id, STORE_SESSION_ID);
}

void doc_flight(struct console *c, struct doc *d)
{
    struct err err = {0};
    struct timespec t;
    struct collecting l = {.ask = {.what = d->ask.what}};
    if (!c->s->keep.keeper) {
        snprintf(d->error, sizeof d->error, "sessions are not saved in this run (--no-save): there is none to look at");
        return;
    }
    l.doc = calloc(1, sizeof *l.doc);
    if (!l.doc) {
        snprintf(d->error, sizeof d->error, "no memory for a post-mortem");
        return;
    }
    here(c, &l);
    l.ask.here = (const uint8_t(*)[STORE_SESSION_ID])l.here;
    clock_gettime(CLOCK_REALTIME, &t);
    l.doc->now_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    if (keep_call(&c->s->keep, collect, &l, &err)) {
        snprintf(d->error, sizeof d->error, "%.230s", err.text);
        free(l.doc);
        return;
    }
    d->data = l.doc;
    d->free = free;
}
