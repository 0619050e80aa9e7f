/* summary.h - the text of a summary: what a model wrote, merged with the summary before; or, where the model failed, an
 * extract of what was said; and what changed from one to the next.
 *
 *     record before ─┐
 *     record now    ─┼─> summary_merge() ──> text, at most so many tokens ──> window_commit()
 *     task state    ─┘        the task state is data: its done and open are taken as they are, whatever a model wrote
 *
 *     what was said ───> summary_extract() ──> the same form, its first fact is SUMMARY_MARK
 *
 * A merge loses nothing that fits: facts and decisions before, then new ones, each once.  Without a task state an open
 * task stays open until a record says that it is done.  Where the whole is too large the oldest facts go first, then
 * the oldest decisions, then done tasks; open ones never go by themselves.  How many went is told: they are in the
 * summary before, which the caller keeps.
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

#define SUMMARY_MARK "Extract: lines copied from what was said; no model summed it up."

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
    int64_t tokens;
};

/* before: may be NULL.  tasks: NULL: there is no task state, and the records' own done and open are merged. */
int summary_merge(const struct form_record *before, const struct form_record *now, const struct summary_tasks *tasks,
                  const struct summary_limit *limit, struct buf *out, struct summary_result *result, struct err *err);

/* Of each message the first sentence, and lines with facts: figures, names, paths, assignments.  When they are too many
 * those that look least like facts go first, and of equal ones the older.  before: merged, as by summary_merge(). */
struct summary_source { struct form_text text; bool user; /* what a person says counts more */ };
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
