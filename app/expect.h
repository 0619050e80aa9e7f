/* expect.h - what a script expects: /expect of the last answer, /assert of a figure.
 *
 *     /expect ship                      the answer has these bytes somewhere
 *     /expect /^ship( of .*)?$/i        a PCRE2 pattern matches it; ^ and $ are for each line, i: in either case
 *     /expect \/usr                     a '\' in front is dropped: for a plain text that begins with '/' or '\'
 *     /assert context.tokens <= 4K      OP is = != < <= > >=; VALUE a number, with K, M or G of 1024 or with %, which
 *                                       is hundredths: a share of one half is 50%.  = compares exactly
 *     /assert turns@a < turns@b         VALUE may be another figure: both as they are now
 *
 * What does not hold and what cannot be judged are told alike in one line: its number in the script, what was expected,
 * what there was.  A pattern has at most EXPECT_PATTERN bytes; the work and memory of a match are limited, so that a
 * pattern that would never end is an error.
 *
 * Owner: nothing is kept.  Threads: any. */
#ifndef EXPECT_H
#define EXPECT_H
#include "plimsoll.h"

enum { EXPECT_PATTERN = 1024 };

enum expect_result {
    EXPECT_HOLDS = 0,
    EXPECT_FAILED = 1, /* what was expected is not so */
    EXPECT_BAD = -1    /* it is no pattern, no comparison, or cannot be judged */
};

/* The figures that can be asserted, as their owner knows them. */
struct expect_figures {
    void *self;
    bool (*figure)(void *self, const char *name, double *value); /* false: none has this name; NaN: no value now */
    const char *(*name)(void *self, size_t i); /* of the i-th, shorter than OPTS_NAME_MAX; NULL: there are no more */
};

/* line: of the script.  answer NULL: there was none yet. */
enum expect_result expect_answer(int64_t line, const char *pattern, size_t n, const char *answer, size_t len,
                                 struct err *err);

/* args: "FIGURE OP VALUE", blanks between them or none; VALUE a number or a FIGURE. */
enum expect_result expect_figure(int64_t line, const char *args, size_t n, const struct expect_figures *f,
                                 struct err *err);
#endif
