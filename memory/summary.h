/* summary.h - the text of a summary: what a model wrote, merged with the summary before; or, where the model failed, an
 * extract of what was said; and what changed from one to the next.
 *
 *     record before ─┐                 as far as it was said: summary_check()
 *     record now    ─┼─> summary_merge() ──> text, at most so many tokens ──> window_commit()
 *     what was said ─┤        what a person stated and both leave out ("the port is 8080") is added
 *     task state    ─┘        the task state is data: its done and open are taken as they are, whatever a model wrote
 *
 *     what was said ───> summary_extract() ──> the same form, its first fact is SUMMARY_MARK
 *
 * A merge loses nothing that fits: facts and decisions before, then new ones, each once.  Without a task state an open
 * task stays open until a record says that it is done.
 *
 * Each once: facts, and decisions, are compared by their words, whatever their case and the marks around them, and the
 * last stays; an older one whose words, three or more, run through in a younger one goes too, unless it looks more like
 * a fact.  Tasks are the same only byte by byte.
 *
 * "the port is 9090", which a person said, takes the place of "the port is 8080", which the record before has or a
 * person said earlier: where both state one value of one kind (a figure, a path, a name) of the same thing in the same
 * words.  What a model has takes the place of nothing, and stays beside it.  summary_diff() shows what went.
 *
 * Where the whole is too large, facts go first: questions and what has nothing of a fact; then what has a name, or says
 * in two words what something is; last what has a figure, a path or an assignment ("x = y", "is Ines").  That is read
 * off the text, whatever record it comes from, so an old fact outlives a young nothing; of the same kind what a person
 * just said goes last, and else the oldest go first.  Then the oldest decisions go, then done tasks; open ones never go
 * by themselves.  How many went is told: they are in the summary before, which the caller keeps.
 *
 * Everything in a record is outside text: forms.h flattens it when it is written.
 *
 * Threads: any.  Errors: 0, or one of enum summary_error with err filled, and out is unchanged. */
#ifndef SUMMARY_H
#define SUMMARY_H
#include "memory/forms.h"
#include "plimsoll.h"

enum summary_error {
    SUMMARY_OK = 0,
    SUMMARY_EMPTY = -1,     /* no item in any section */
    SUMMARY_NO_ROOM = -2,   /* what must stay is more than the tokens allowed */
    SUMMARY_NO_MEMORY = -3,
    SUMMARY_TOO_MANY = -4,  /* items, messages or lines: err says how many are allowed */
    SUMMARY_NOT_COUNTED = -5
};

#define SUMMARY_MARK "Extract: said so, not summed up"

enum {
    SUMMARY_ITEMS = 1 << 14,   /* of a record; lines of a text that is compared */
    SUMMARY_LINE_BYTES = 240   /* of a line in an extract: longer ones are cut before a character, and end in "..." */
};

struct summary_limit { /* Tokens of a text, exactly.  0, or not: it failed. */
    int (*tokens)(void *self, const char *text, size_t len, int64_t *out);
    void *self;
    int64_t most;
};

struct summary_tasks { struct form_list done, open; };

struct summary_result {
    size_t items;   /* in the text; SUMMARY_MARK is none */
    size_t dropped; /* that found no room */
    size_t added;   /* of the items: said, left out by the record, and added */
    int64_t tokens;
};

struct summary_source { struct form_text text; bool user; /* what a person says counts more */ };

/* What a model added to its record leaves it: an item with a figure or a name that none of the n texts shown to it has;
 * and one that gives a figure or a name to something ("the colour of the door is 8080") where every line that has it
 * states it of something else ("the port is 8080"); and one that says the same four times, as nobody did.
 * What it says in its own words stays, but for a value that it gives to another word for the same thing; so does a
 * figure of one digit, which may be a count, and a name that begins a sentence or not in A to Z.
 * now: by forms_read_record().  *left: how many items.  SUMMARY_EMPTY: all of them. */
int summary_check(struct form_record *now, const struct form_text *shown, size_t n, size_t *left, struct err *err);

/* before: may be NULL.  said: the n messages that `now` sums up, the oldest first; 0: they are not to be had.
 * tasks: NULL: there is no task state, and the records' own done and open are merged. */
int summary_merge(const struct form_record *before, const struct form_record *now, const struct summary_source *said,
                  size_t n, const struct summary_tasks *tasks, const struct summary_limit *limit, struct buf *out,
                  struct summary_result *result, struct err *err);

/* Of each message the first sentence, and lines with facts, less a full stop at the end.  "Note that the port is 8080."
 * is "the port is 8080": what asks to remember a statement is no part of it, and costs room.  A line of an answer that
 * only says again what it answers ("Noted: the port is 8080.") is left out.  before: merged, as by summary_merge(). */
int summary_extract(const struct form_record *before, const struct summary_source *said, size_t n,
                    const struct summary_tasks *tasks, const struct summary_limit *limit, struct buf *out,
                    struct summary_result *result, struct err *err);
bool summary_is_extract(const struct form_record *r);

/* "- line" for each that went, "+ line" for each that came, in the order of the texts; lines are compared as they are,
 * blank ones passed over. */
struct summary_change { size_t added, removed; };
int summary_diff(struct form_text before, struct form_text after, struct buf *out, struct summary_change *change,
                 struct err *err);
#endif
