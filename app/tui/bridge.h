/* bridge.h - between the thread that draws and the thread that has the sessions.
 *
 *     screen's thread ── orders, cancels, asks for docs, answers to questions ──> sessions' thread (desk.h)
 *                     <── news: events, lines, docs, questions ─────────────────
 *
 * Neither waits for the other, but: the sessions' thread waits while BRIDGE_BYTES of news are not taken (a stopped
 * screen), and while a question of it has no answer.
 *
 * News keep their order.  While they are not taken, pieces of one answer are joined, of pre-fill the newest counts, and
 * samples beyond BRIDGE_SAMPLES are dropped: what is lost is only what nobody would have seen.
 *
 * Owner: the bridge, of all that lies in it; who takes news frees it.  Threads: as said at each function. */
#ifndef BRIDGE_H
#define BRIDGE_H
#include "app/session/event.h"
#include "app/tui/doc.h"

enum { BRIDGE_ORDERS = 32, BRIDGE_BYTES = 32 << 20, BRIDGE_SAMPLES = 2000 };

enum news_kind {
    NEWS_EVENT,    /* event */
    NEWS_PAST_BEGINS, /* the conversation that is shown is another now; text: its title; value: its turns */
    NEWS_PAST,     /* event: of what was said in it before; for the conversation, not for figures */
    NEWS_AGENT,    /* text: the name of the next agent, in their order; value 1: a crew's */
    NEWS_BEGUN,    /* text: an order that is obeyed now; value: its number, 1, 2, ... */
    NEWS_DONE,     /* it has been; value: orders that are left, -1: none is obeyed any more, the sessions are closed */
    NEWS_LINE,     /* text, value: enum say_kind */
    NEWS_DOC,      /* doc */
    NEWS_QUESTION, /* text, who, scope, value: the question's number */
    NEWS_WITHDRAWN, /* value: nobody wants an answer to this question any more */
    NEWS_SESSION,  /* text: id, turns and title, a line each; value: the agent that lines go to, -1: the crew */
    NEWS_OVER      /* the sessions are closed; value: the exit status */
};

struct news {
    struct news *next;
    enum news_kind kind;
    struct event event;  /* its strings point into `block`; of EV_TEXT the text is `text` */
    char *block;
    size_t block_bytes;
    struct buf text;
    char who[40], scope[400];
    bool asks_text;      /* QUESTION: the answer is a text; else a choice */
    struct doc doc;
    int64_t value;
    bool said;           /* LINE: beside a turn; events say the same */
};

struct bridge;
struct bridge *bridge_open(struct err *err); /* NULL */
void bridge_close(struct bridge *b);         /* when the other thread has ended; NULL is fine */

/* ------------------------------------------------------------------ the screen's thread */

int bridge_fd(const struct bridge *b);        /* readable when there may be news */
struct news *bridge_take(struct bridge *b);   /* all there is, linked in order; NULL: none */
void news_free(struct news *n);               /* this one */
int64_t bridge_seen(struct bridge *b);        /* the order that is obeyed, by the news that were taken; 0: none */

bool bridge_order(struct bridge *b, const char *text, size_t n); /* false: BRIDGE_ORDERS wait, or no memory */
bool bridge_drop_order(struct bridge *b, struct buf *text);      /* the newest that waits is taken back */
void bridge_ask(struct bridge *b, const struct doc_ask *ask);    /* in place of one of the same kind that waits */
/* of the question with this number; choice: enum toolbox_choice, or of a text whether there is one. */
void bridge_answer(struct bridge *b, int64_t question, int choice, const char *text, size_t n);
void bridge_leave(struct bridge *b);          /* orders that wait are not obeyed any more */
int bridge_waiting(struct bridge *b);         /* orders */

/* ------------------------------------------------------------------ the sessions' thread, and its strands */

void bridge_event(struct bridge *b, enum news_kind kind, const struct event *e);
void bridge_put(struct bridge *b, enum news_kind kind, int64_t value, const char *text, size_t n);
void bridge_line(struct bridge *b, int kind, bool said, const char *text, size_t n);
void bridge_doc(struct bridge *b, struct doc *d); /* becomes the bridge's */
int64_t bridge_question(struct bridge *b, const char *who, const char *text, size_t n, const char *scope,
                        bool asks_text);
/* 1: it is answered, and forgotten; 0: not yet, after at most so many ms. */
int bridge_answered(struct bridge *b, int64_t question, int ms, int *choice, struct buf *text);

/* The next order (1), or nothing for so many ms (0), or it is to leave (-1). */
int bridge_next(struct bridge *b, int ms, struct buf *text);
bool bridge_asked(struct bridge *b, struct doc_ask *ask); /* the next doc that is wanted */
bool bridge_leaving(struct bridge *b);
#endif
