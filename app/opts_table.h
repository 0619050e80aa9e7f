/* opts_table.h - the one table of flags: what its rows hold, and how a value gets from its text into struct opts.
 *
 * Only app/opts*.c include it, and what is made from the table: app/manual.c and app/completion*.c. */
#ifndef OPTS_TABLE_H
#define OPTS_TABLE_H
#include "app/opts.h"

enum opts_kind { ON, TEXT, INT, REAL, SIZE, CHOICE, STOP, BIAS };

enum { LINE_ONLY = 64 };

struct opt {
    const char *letter, *name, *env; /* "-m", "--model", "PLIMSOLL_MODEL"; NULL: has none */
    unsigned kind;          /* an enum opts_kind; and LINE_ONLY: a configuration file must not set it */
    size_t at;              /* where in struct opts */
    const char *arg;        /* what help calls its value; the text of a FILE or DIR is not empty */
    double min, max;        /* INT, REAL: range allowed; SIZE: min under 0 allows percent, max over 0 allows 0 */
    const char *choices;    /* CHOICE: "a|b|c" */
    const char *initial;    /* default, in the flag's own spelling; NULL: none */
    const char *help;
};

extern const struct opt opts_table[];
extern const size_t opts_rows;

static inline enum opts_kind opts_kind(const struct opt *o) { return (enum opts_kind)(o->kind & ~(unsigned)LINE_ONLY); }

/* Several values of it count. */
static inline bool opts_collects(const struct opt *o) { return opts_kind(o) == STOP || opts_kind(o) == BIAS; }

/* Check `value` (NULL: an ON without one) against its row and put it into out; strings are pointed to, not copied.
 * who: the flag, variable or line, for the message.  0, or -1 and err. */
int opts_set(const struct opt *o, struct opts *out, const char *who, const char *value, struct err *err);

/* The name of a row that `name`, its first n bytes, may have meant, without the first `skip` bytes of both; NULL: none
 * is near. */
const char *opts_nearest(const char *name, size_t n, size_t skip);
#endif
