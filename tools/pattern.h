/* pattern.h - a PCRE2 pattern whose matching comes to an end.
 *
 * PCRE2's own limit on work begins anew at each place where a match may begin, so that one line may cost it times the
 * line's length.  Here steps are counted besides (callouts, one before each item of the pattern, and the characters
 * that an item passes over), over all places and all calls since pattern_allow().
 *
 * Threads: one pattern, one thread at a time. */
#ifndef PATTERN_H
#define PATTERN_H
#include "plimsoll.h"

/* About a second of steps, and for each byte of the text more than searching for what is ordinary takes. */
enum { PATTERN_STEPS = 20000000, PATTERN_BYTE = 8, PATTERN_KIB = 1024 /* of PCRE2's memory for a match */ };

struct pattern;

/* UTF-8; bytes of the text that are none match nothing.  NULL: err, the pattern is none or memory is out. */
struct pattern *pattern_open(const char *text, size_t n, struct err *err);
void pattern_close(struct pattern *p); /* NULL is fine */

/* Steps for searching a text of that many bytes, in any number of calls; what was left is forgotten.  Before the first
 * call there are none. */
void pattern_allow(struct pattern *p, uint64_t bytes);

/* From when on a match is broken off, by CLOCK_MONOTONIC.  0, as at the beginning: never. */
void pattern_until(struct pattern *p, int64_t ms);

struct pattern_subject {
    const char *text;
    size_t n, from;       /* what is before `from` may be looked back at */
    bool no_head, no_tail; /* the text begins, ends within a line */
};

enum { PATTERN_FAILED = -1, PATTERN_LATE = -2 };

/* 1 and *at, the first match's offset; 0: there is none; PATTERN_FAILED: err, it is too much work or memory is out;
 * PATTERN_LATE. */
int pattern_find(struct pattern *p, const struct pattern_subject *s, size_t *at, struct err *err);
#endif
