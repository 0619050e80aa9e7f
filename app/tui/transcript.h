/* transcript.h - the conversation as a person sees it: from events to entries, from entries to rows of a width.
 *
 *     event.h ──transcript_event()──> entries: what the user said, answers (several may grow at once), results of
 *                                     tools, quiet lines, errors
 *     entries ──transcript_fit()────> the rows that are in view; only entries near them are wrapped, once per width
 *     rows    ──transcript_draw()───> cells
 *
 * A row's place is an entry and a byte of what it shows, so a view stays where it is when the terminal changes its size
 * or when text comes in below; at the end it follows.
 *
 * Memory is bounded: when the texts pass `bytes`, those of the oldest entries are dropped and a line says where they
 * are; when there are more than `entries`, the oldest leave and the first line counts them.  An entry holds at most a
 * quarter of `bytes`; what comes behind that is counted, not kept.  Answers that still grow are dropped last.
 *
 * Owner: the transcript owns all its texts.  Threads: one.  Errors: -1 is "no memory"; then the text may be missing,
 * and all else is sound. */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H
#include "app/session/event.h"
#include "app/tui/surface.h"

enum { TRANSCRIPT_AGENTS = 64, TRANSCRIPT_QUERY = 200, TRANSCRIPT_FOLD = 4 /* lines of a folded result */ };

struct transcript_limits {
    size_t bytes, entries; /* of texts; entries: from 16 on */
    bool stored;           /* the session has a store, so what is dropped is there */
};

struct transcript;

struct transcript *transcript_open(struct transcript_limits limits, struct err *err); /* NULL: no memory */
void transcript_close(struct transcript *t);                                        /* NULL is fine */
int transcript_event(struct transcript *t, const struct event *e);                  /* of other kinds: nothing */

/* What no event says: that this person said something, before it is known what comes of it (who shows that passes no
 * turn_user events); a command that is obeyed, and the lines that it says.  name: of the next agent, in their order, so
 * that colours are the same everywhere. */
int transcript_said(struct transcript *t, const char *text, size_t n);
int transcript_command(struct transcript *t, const char *text, size_t n);
int transcript_line(struct transcript *t, bool error, const char *text, size_t n);
void transcript_name(struct transcript *t, const char *name);
/* This agent's call waits for the person, or not any more, at this time of any one clock: that is no time that it
 * took. */
void transcript_waits(struct transcript *t, const char *who, bool waits, double now);
void transcript_forget(struct transcript *t); /* all entries: the conversation is another now */

/* Make the rows of a view of this size: after any of the functions here that change something, and before
 * transcript_draw() and transcript_at(), which may show less otherwise. */
int transcript_fit(struct transcript *t, int columns, int rows, bool utf8);
void transcript_draw(struct surface *s, struct box b, const struct transcript *t);

void transcript_scroll(struct transcript *t, int rows); /* < 0: to older ones; by the view of the last fit */
void transcript_end(struct transcript *t);              /* to the newest, and follow them */
bool transcript_follows(const struct transcript *t);

/* The next place that has the text (A to Z as a to z), from the one found before or from the view on; the view goes
 * there, and what was folded there opens.  false: there is none.  n == 0 ends the search. */
bool transcript_search(struct transcript *t, const char *query, size_t n, bool older);
bool transcript_search_around(struct transcript *t, bool older); /* the same text, from the other end on */

uint64_t transcript_at(const struct transcript *t, int row);    /* the entry in this row of the view; 0: none */
void transcript_toggle(struct transcript *t, uint64_t entry);   /* fold a result or thinking, or open it */
int transcript_text(const struct transcript *t, uint64_t entry, struct buf *out); /* as it came; 1: not held */

struct transcript_figures { size_t entries, bytes, left; }; /* left: entries that were dropped */
struct transcript_figures transcript_figures(const struct transcript *t);
#endif
