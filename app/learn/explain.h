/* explain.h - whose OOM is it?  A log, a traceback or a table that somebody pasted, read to a verdict.
 *
 *     struct verdict v[EXPLAIN_MOST];
 *     int n = explain_text(text, len, v, EXPLAIN_MOST);   // 0: nothing in it is known
 *
 * In layers, each a pair of files:
 *     explain_read    lines to a run of letters and numbers: without wrapping, quotes, colours and log prefixes
 *     explain_prefix  (for it) what loggers write before a line
 *     explain_match   phrases found in that run, with the numbers that stand in them
 *     explain_words   the phrases: what failed, at which stage, in whose words, figures, what speaks for what
 *     explain_smi     (beside them) nvidia-smi's table and CSV: how full a device is, who holds it, and how that went
 *     explain_loads   (beside them) weights that one process loaded again between requests
 *     explain_cases   hits gathered to failures; the innermost is kept, its wrappers are not
 *     explain_judge   points for and against each cause: arithmetic first, then stage, then words
 *     explain_say     sentences, figures, fixes and next steps of a verdict
 *     explain_advice  (for it) next steps where no memory ran out
 *     explain_services (before all) a log of several services: each is read by itself
 *     explain_metrics (before all) a server's /metrics, which are no messages
 *     explain_server  (for it) what a server says of itself although nothing failed in the text
 *
 * No cause rests on one literal line: a phrase is words in their order, whatever stands between them, and a verdict is
 * the sum of all that speaks for it.  Pure: no file, no clock, no state.  Of a text of more than EXPLAIN_BYTES the
 * beginning and the end are read, and what lies between if these say nothing of a failure; else a verdict's `next` says
 * that it was not.  Time is linear in n, and memory too, at most some ten bytes a byte of EXPLAIN_BYTES, and a copy of
 * a text that has metrics or several services.  The text is
 * hostile: it is never obeyed, and what of it comes back (`what`, `where`) is cut to a line of printable ASCII.
 * Threads: any. */
#ifndef EXPLAIN_H
#define EXPLAIN_H
#include "app/learn/verdict.h"

enum { EXPLAIN_MOST = 4, EXPLAIN_BYTES = 16 << 20 };

/* What the text alone may not say, and whoever pasted it knows: the seeds' own checks. */
enum explain_question {
    ASK_WHEN,   /* at load, at the first request, after many, after hours */
    ASK_LOAD,   /* alone too, or only under load */
    ASK_LENGTH, /* short prompts too, or only long ones */
    ASK_DEVICE, /* is the device used by anybody else */
    ASK_GAP,    /* of one that fails after hours: is what is held in use, or held in pieces */
    QUESTIONS
};
struct explain_choice { const char *key, *words; };
enum { CHOICES = 5, WHEN_HOURS = 4 /* ASK_WHEN's answer of that name */ };
struct explain_ask {
    const char *words;
    struct explain_choice choice[CHOICES]; /* .key NULL: no more */
};
extern const struct explain_ask explain_ask[QUESTIONS];

/* The answers: 0 is not known, 1 the first choice, ... */
struct explain_answers { int of[QUESTIONS]; };

/* The verdicts on n bytes of text, the more basic failure first; how many, at most cap.  0: nothing in it says what
 * happened, or memory ran out in here.  Of CAUSE_UNKNOWN is one, alone, where the text says that something failed and
 * that another text has the cause: its `next` says which. */
int explain_text(const char *text, size_t n, struct verdict *v, int cap);
/* The same, with what is known beside the text (NULL: nothing).  Answers change points, not what was read. */
int explain_with(const char *text, size_t n, const struct explain_answers *known, struct verdict *v, int cap);

/* Whether it is worth asking of this verdict beside these answers. */
bool explain_asks(const struct verdict *v, int question, const struct explain_answers *known);

/* The question whose answer could change this verdict most and that is not answered yet; -1: none. */
int explain_next_question(const struct verdict *v, const struct explain_answers *known);
#endif
