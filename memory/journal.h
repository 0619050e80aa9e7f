/* journal.h - what a session is in the store: its head, and everything that was said and done in it, in order.
 *
 *     number   0  EVENT     the session was opened          every text is here once, under its number; the window
 *              1  SYSTEM    "You are ..."                   (window.h) knows it by that number
 *              2  USER      "Why does ..."      turn 1
 *              3  EVENT     turn_start          turn 1
 *              4  ANSWER    "Because ..."       turn 1
 *              5  MARK      turn 1 is taken back: 2 to 4 are out, and stay readable
 *
 *     head     title, model, when, how many numbers are taken, where it was forked from, of which crew's run: JSON
 *     piece "flight"   the last figures of memory, a line of JSON each: what was going on when it was saved last; behind
 *                      them "session_close", once it ended as it should
 *     piece "gaps"     of an import, or a copy of one: the numbers that were not in it (STORE_GAPS)
 *     piece "window.0" .. "window.15": the window after turn t, in slot t mod 16, with t before it
 *
 * A message's record is a fixed head and its text; an event's is its line of JSON.  What a turn adds, its window and
 * the head are written by one commit: all of a turn, or nothing.
 *
 * What is read comes from outside: each field is checked, and what is wrong is a STORE_DAMAGED that names the record.
 * Threads: all but the batch functions run where the store lives (keeper.h). */
#ifndef JOURNAL_H
#define JOURNAL_H
#include "memory/store.h"

enum journal_kind { /* stored: numbers are never given anew */
    JOURNAL_SYSTEM = 1, JOURNAL_USER = 2, JOURNAL_ANSWER = 3, JOURNAL_CALL = 4, JOURNAL_RESULT = 5,
    JOURNAL_NOTE = 6,    /* the task state */
    JOURNAL_SUMMARY = 7, /* first to last: the numbers that it stands for */
    JOURNAL_PIN = 8,
    JOURNAL_MARK = 9,    /* what (enum journal_mark) happened to first .. last */
    JOURNAL_TOOLS = 10,  /* the tools that the model was told of */
    JOURNAL_THINKING = 11, /* what the model thought before the answer, or the call, that follows */
    JOURNAL_DOCUMENT = 12, /* was ingested: its text is the path, its artifact the bytes */
    JOURNAL_KINDS
};
const char *journal_kind_name(enum journal_kind k); /* "user", ... */
static inline bool journal_has_artifact(enum journal_kind k) { return k == JOURNAL_RESULT || k == JOURNAL_DOCUMENT; }

enum journal_mark { JOURNAL_UNDONE = 1, JOURNAL_UNPINNED = 2, JOURNAL_UNCOMPACTED = 3, JOURNAL_MARKS }; /* stored */

enum { /* flags */
    JOURNAL_CUT = 1,     /* ANSWER: was interrupted or met its limit */
    JOURNAL_EXTRACT = 2, /* SUMMARY: no model summed it up */
    JOURNAL_QUOTE = 4,   /* RESULT: words that are in the store already: recalled, or read again */
    JOURNAL_FLAGS = 7
};

struct journal_message {
    enum journal_kind kind;
    unsigned flags;
    uint32_t turn;        /* 0: before the first */
    int64_t time_ms;      /* since 1970 */
    uint64_t first, last; /* SUMMARY, MARK */
    uint64_t artifact;    /* RESULT: where the whole of it is, 0: it is all here; DOCUMENT: its bytes */
    uint32_t results;     /* CALL: how many follow; SUMMARY: how many messages it stands for; MARK: enum journal_mark */
    const char *text;     /* any bytes */
    size_t len;
};

enum { JOURNAL_TITLE = 120, JOURNAL_SLOTS = 16, JOURNAL_PIECES = 4, JOURNAL_AGENT = 47 };

/* The run of a crew that a session is of.  The run has a record of its own, which is a session too: its id is the
 * run's, agent is "", and its messages are the person's lines and what came of them, its events the flow's. */
struct journal_run {
    uint8_t id[STORE_SESSION_ID];  /* all zero: of none */
    char crew[JOURNAL_TITLE + 1];  /* its name */
    char agent[JOURNAL_AGENT + 1]; /* "ann"; "ann/3": what was asked of a fresh one in ask 3 of a flow */
};

struct journal_head {
    uint8_t id[STORE_SESSION_ID];
    char title[JOURNAL_TITLE + 1], model[JOURNAL_TITLE + 1]; /* UTF-8, without control characters */
    int64_t created_ms, updated_ms;
    uint64_t next;           /* the first number that is free */
    uint64_t artifacts;      /* the first free number of an artifact; from 1 on */
    uint32_t turns;          /* that were answered and not taken back */
    uint8_t parent[STORE_SESSION_ID]; /* all zero: none */
    uint32_t parent_turn;
    struct journal_run run;
};
static inline bool journal_in_run(const struct journal_head *h)
{
    static const uint8_t none[STORE_SESSION_ID];
    return memcmp(h->run.id, none, sizeof none) != 0;
}
static inline bool journal_is_run(const struct journal_head *h) /* its own record */
{
    return journal_in_run(h) && memcmp(h->id, h->run.id, sizeof h->id) == 0;
}

/* ------------------------------------------------------------------ what one turn adds: any thread */

struct journal_batch {
    uint8_t session[STORE_SESSION_ID];
    struct buf records; /* kind:1 number:8 bytes:4 body, one after another */
    size_t n_records;
    struct buf head;
    struct journal_piece { char name[16]; struct buf bytes; } piece[JOURNAL_PIECES];
    size_t n_pieces;
    struct journal_artifact { uint64_t id; struct buf bytes; } *artifact;
    size_t n_artifacts;
    bool finishes; /* with its head, what was written in parts is a session */
    bool failed;   /* no memory */
};

/* Failures show when it is written: STORE_NO_MEMORY, and nothing of it is. */
void journal_add(struct journal_batch *b, uint64_t number, const struct journal_message *m);
void journal_add_event(struct journal_batch *b, uint64_t number, const char *json, size_t n);
void journal_add_head(struct journal_batch *b, const struct journal_head *h);
/* In place of what the batch has of this name; of at most JOURNAL_PIECES names. */
void journal_add_piece(struct journal_batch *b, const char *name, const void *bytes, size_t n); /* name: up to 15 */
/* The window after a turn. */
void journal_add_window(struct journal_batch *b, uint32_t turn, const void *bytes, size_t n);
/* The bytes become the batch's. */
void journal_add_artifact(struct journal_batch *b, uint64_t id, struct buf *bytes);
void journal_batch_free(struct journal_batch *b); /* as empty as one of all zeros */

/* ------------------------------------------------------------------ the store's thread */

/* One commit, durable when it returns 0; else nothing is pending and nothing is acknowledged.  *bytes: of records. */
int journal_write(struct store *s, const struct journal_batch *b, uint64_t *bytes, struct err *err);

int journal_head(struct store *s, const uint8_t id[STORE_SESSION_ID], struct journal_head *out, struct err *err);

/* All heads, newest first, at most `most` (the newest).  *out is for free(); damaged ones are lines of report. */
int journal_heads(struct store *s, size_t most, struct journal_head **out, size_t *n,
                  const struct store_report *report, struct err *err);

/* The sessions whose id in hex begins so, or the newest for "last".  0: exactly one; STORE_NOT_FOUND; STORE_BUSY: more
 * than one, err names some. */
int journal_find(struct store *s, const char *prefix, struct journal_head *out, struct err *err);
void journal_id_text(const uint8_t id[STORE_SESSION_ID], char text[2 * STORE_SESSION_ID + 1]);

/* The record of a run of this crew, by the beginning of its id or of a session's of it, or "last": the one that was
 * used last.  0; as journal_find(); STORE_NOT_FOUND also of a session that is of no run, or of another crew's. */
int journal_find_run(struct store *s, const char *prefix, const char *crew, struct journal_head *out, struct err *err);
/* All heads of a run, its own record's too, as journal_heads(). */
int journal_run_heads(struct store *s, const uint8_t run[STORE_SESSION_ID], size_t most, struct journal_head **out,
                      size_t *n, struct err *err);

/* A list of heads so that each run stands together, where its first was: its own record, if it is among them, then the
 * others as they were.  order: n numbers of heads; below: n, whether it stands below a record.  0, or -1: no memory. */
int journal_group(const struct journal_head *h, size_t n, size_t *order, bool *below);

/* One message; its text is appended to *text and m->text points into that.  STORE_NOT_FOUND: nothing has this number,
 * or an event has it. */
int journal_get(struct store *s, const uint8_t id[STORE_SESSION_ID], uint64_t number, struct journal_message *m,
                struct buf *text, struct err *err);

/* Messages and events from a number on, until visit() returns false. json: of an event, m is NULL then. */
struct journal_visit {
    bool (*message)(void *self, uint64_t number, const struct journal_message *m);
    bool (*event)(void *self, uint64_t number, const char *json, size_t n); /* NULL: passed over */
    bool (*damaged)(void *self, const char *line);                          /* NULL: passed over */
    void *self;
};
int journal_each(struct store *s, const uint8_t id[STORE_SESSION_ID], uint64_t from, const struct journal_visit *v,
                 struct err *err);

/* The window after a turn, if its slot still has it: else STORE_NOT_FOUND. */
int journal_window(struct store *s, const uint8_t id[STORE_SESSION_ID], uint32_t turn, struct buf *out,
                   struct err *err);

/* A copy of a session as it was after a turn: its records up to there under the same numbers, artifacts and the windows
 * that are kept, and a head that says where it comes from.  In commits of a few MiB; the head is in the last, so half a
 * copy is no session.  to: the new id is drawn. */
struct journal_fork {
    uint8_t from[STORE_SESSION_ID], to[STORE_SESSION_ID];
    uint32_t turn;
    int64_t time_ms; /* now: the copy is the newest session */
};
int journal_fork(struct store *s, struct journal_fork *f, struct err *err);

/* Sessions that have records and no head, or one that makes no sense, a line of report each.  Half of a copy or of an
 * import, which was killed, is removed: what it was made of is elsewhere.  Any other has lost its head, which is made
 * anew from its messages; where none can be read it stays as it is.  mend: false: they are only named.  Else nobody
 * else may have the store open. */
struct journal_strays { uint64_t halves, headless, unreadable; };
int journal_strays(struct store *s, bool mend, const struct store_report *report, struct journal_strays *out,
                   struct err *err);

/* Which numbers are out: taken back by a mark. */
struct journal_span { uint64_t first, last; };
struct journal_spans {
    struct journal_span *span; /* by first, apart */
    size_t n, cap;
    bool failed; /* no memory */
};
void journal_span_add(struct journal_spans *v, uint64_t first, uint64_t last);
bool journal_span_has(const struct journal_spans *v, uint64_t number);
void journal_span_free(struct journal_spans *v);

/* What the marks from a number up to another (both with it) have taken out is added to *out; marks: which kinds, as
 * bits 1 << enum journal_mark.  A mark that was itself taken back with its turn counts for nothing. */
int journal_out(struct store *s, const uint8_t id[STORE_SESSION_ID], uint64_t from, uint64_t upto, unsigned marks,
                struct journal_spans *out, struct err *err);
#endif
