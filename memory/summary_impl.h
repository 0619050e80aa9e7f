/* summary_impl.h - what the files of summary share: the candidates for a record.
 *
 *     records, tasks, what was said ──> struct items ── summary_once() ──> each once ── summary_finish() ──> text
 */
#ifndef SUMMARY_IMPL_H
#define SUMMARY_IMPL_H
#include "memory/summary.h"

enum item_from { /* who has it */
    ITEM_BEFORE, /* the record before */
    ITEM_SAID,   /* a person, since then */
    ITEM_MODEL   /* a model: an answer, or a record of what was said since then; or a tool's result */
};

struct item {
    struct form_text text;
    enum item_from from;
    size_t said;  /* of what persons said: the oldest is the lowest */
    size_t order; /* age: the oldest is 0 */
    int section;
    int looks;    /* of a fact: summary_looks() */
    int rank;     /* the lowest goes first, and of equal ones the oldest */
    bool left;    /* a record left it out */
    bool had;     /* a record has its value: it is here for what it takes the place of, and else goes */
    bool out;
};

struct items {
    struct item *v; /* SUMMARY_ITEMS of them */
    enum item_from from; /* of those that are added next */
    size_t n;
    size_t dropped; /* before they were candidates */
    char *room;     /* for lines that are not as they were said: SUMMARY_SAID of SUMMARY_LINE_BYTES; none moves */
    size_t used;
    bool too_many;
};

enum { SUMMARY_SAID = SUMMARY_ITEMS / 2 }; /* items out of what was said, at most */

int summary_take(struct items *it, struct err *err); /* room for them */
void summary_give(struct items *it);
void summary_add_fact(struct items *it, struct form_text t, bool user);
void summary_add_stated(struct items *it, struct form_text t, bool had); /* else left out */
void summary_add_tasks(struct items *it, struct form_list done, struct form_list open);
void summary_add_record(struct items *it, const struct form_record *r, bool tasks); /* r: may be NULL */

/* summary_once.c: those that stand there more than once leave, and those that a newer one takes the place of. */
int summary_once(struct items *it, struct err *err);

/* summary_newer.c: "the port is 8080" leaves, where "the port is 9090" was said since. */
struct summary_line { /* of an item */
    struct item *item;
    struct form_text words; /* by summary_words(); of a task: its text as it is */
    size_t n;               /* words */
    size_t key;             /* bytes of words: what it states the value of; summary_newer.c's, and so is: */
    int kind;               /* of value; 0: it is not looked at */
};
struct form_text summary_key(struct form_text line, char *room); /* line.len bytes of room; its words, or none */
void summary_drop_older(struct summary_line **sorted, struct summary_line *line, size_t n); /* sorted: room for n */

/* The words of a text, one blank between them: in lower case (ASCII's), without the marks around them, but for '?'.
 * out has room for t.len bytes.  How many bytes it has then. */
size_t summary_words(struct form_text t, char *out);

/* As many as fit, as a text.  marked: it begins with SUMMARY_MARK. */
int summary_finish(struct items *it, bool marked, const struct summary_limit *limit, struct buf *out,
                   struct summary_result *result, struct err *err);

/* summary_extract.c: what a person stated and neither record has: an item with its values, and of "the port of alba is
 * 17" with "port" and "alba" too. */
int summary_add_left_out(struct items *it, const struct form_record *before, const struct form_record *now,
                         const struct summary_source *said, size_t n, struct err *err);

/* summary_looks.c: 2: a figure, a path, an assignment, "is Ines"; 1: a name, or "the host is alba"; 0: nothing of the
 * kind.  A question is one less, and 0 if it has no figure and no path. */
int summary_looks(struct form_text t);
bool summary_is_statement(struct form_text t); /* that something is something, and no question */

/* "Note that the port is 8080" is "the port is 8080"; a line that states nothing behind such words stays. */
struct form_text summary_bare(struct form_text line);

struct form_text summary_without_label(struct form_text line); /* "Noted: the port is 8080" without its first word */

/* The next word, up to a blank; the next line, without its end.  false: there is none. */
bool summary_next_word(struct form_text *rest, struct form_text *word);
bool summary_next_line(struct form_text *rest, struct form_text *line);
#endif
