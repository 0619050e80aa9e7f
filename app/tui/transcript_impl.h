/* transcript_impl.h - what transcript.c (events, bounds) and transcript_view.c (rows, scrolling, search) share. */
#ifndef TRANSCRIPT_IMPL_H
#define TRANSCRIPT_IMPL_H
#include "engine/thinking.h"
#include "app/tui/markdown.h"
#include "app/tui/transcript.h"

enum entry_kind { ENTRY_USER, ENTRY_ANSWER, ENTRY_TOOL, ENTRY_NOTE, ENTRY_ERROR, ENTRY_OUTPUT /* of a command */ };
enum { STYLE_WARN = 32, STYLE_ERROR = 64, STYLE_TOOL = 128 }; /* beside MD_* */

struct row {
    size_t at, n; /* of the shape's text */
    int indent;
};

/* An entry's text as it is shown, and its rows.  Of an answer that grows the part up to `settled` is made once. */
struct shape {
    struct md_out out;
    struct row *row;
    size_t n_rows, cap_rows;
    int columns; /* 0: not made */
    bool utf8;
    struct { struct md md; size_t source, text, lines, rows; } settled;
};

struct entry {
    uint64_t id;
    enum entry_kind kind;
    int agent; /* of t->name; -1: nobody's.  USER: who was told it by others; -1: the person said it */
    int64_t turn, done, of; /* pre-fill */
    double began;           /* TOOL: when it was called, later by what it waited for the person */
    double asked;           /* and since when it does, where `waits`: by the person's clock */
    bool waits;
    struct buf head, text;  /* head: of a tool's card */
    size_t beyond;          /* bytes that came and are not held */
    char end[160];          /* a line below it; or nothing */
    bool open, failed, unfolded, dropped;
    bool call;              /* ANSWER: it was a call of a tool, whose card stands below */
    struct thinking thinking;
    struct shape shape;
};

struct place { uint64_t id; size_t at; int head; }; /* head: rows of the entry above its text that are shown still */
struct shown { size_t entry, row; };                /* row: from the entry's first, its blank one and its name too */

struct transcript {
    struct transcript_limits limits;
    struct entry *entry;
    size_t n, cap, bytes, left;
    uint64_t ids;
    char name[TRANSCRIPT_AGENTS][40];
    uint8_t hue[TRANSCRIPT_AGENTS]; /* of a name: its number, but a map's copies have their agent's */
    bool told[TRANSCRIPT_AGENTS]; /* what it hears next is what others handed over to it */
    int agents;
    int columns, rows; /* of the view */
    bool utf8, follows, failed;
    struct place top;
    struct shown *view;
    size_t n_view, cap_view;
    char query[TRANSCRIPT_QUERY];
    size_t n_query;
    struct place match; /* id 0: none yet */
};

struct entry *transcript_find(const struct transcript *t, uint64_t id);
bool transcript_is_call(const struct entry *e, size_t from); /* its text from there on is a call, or may become one */
void shape_free(struct shape *s);
void shape_stale(struct entry *e); /* its text has changed otherwise than by growing */
#endif
