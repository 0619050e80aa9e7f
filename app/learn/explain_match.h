/* explain_match.h - phrases found in a run (explain_read.h), with the numbers that stand in them.
 *
 * A phrase is written in lower case, as words; what it may have beside letters:
 *     blank   nothing: words may be joined, wrapped, quoted
 *     |       here something else stood, or a line ended: a word begins or ends
 *     ^       here a line begins or ends               ~   here nothing but a line's end may stand
 *     #       a number, with its unit if it has one      $   a number of bytes with its unit
 *     @       at the phrase's beginning: a number of bytes stands right before it
 *     *       up to MATCH_GAP characters of anything     /   a slash; one that a phrase does not have is passed over
 * It begins with two letters (behind @ | ^).  Units: KiB, MB, bytes, Gi, ...; those of these programs count by 1024
 * whatever they are called. */
#ifndef EXPLAIN_MATCH_H
#define EXPLAIN_MATCH_H
#include "app/learn/explain_read.h"

enum { MATCH_GAP = 48, MATCH_NUMBERS = 2, HITS_A_WORD = 48 /* the first, and as many of the last */ };

struct match_number {
    double value; /* bytes where is_bytes */
    bool is_bytes;
};

struct hit {
    uint32_t at, end; /* in the run */
    uint32_t line;
    int word;         /* which phrase */
    int numbers;
    struct match_number number[MATCH_NUMBERS];
};

struct hits {
    struct hit *hit; /* in the order of their places */
    size_t n;
};

/* The phrases: phrase_of(i) for i < words.  0, or -1: out of memory. */
int match_all(const struct run *r, const char *(*phrase_of)(int i), int words, struct hits *out);
void hits_free(struct hits *h);

/* A number at this place of the run; 0: none, else its length. */
size_t match_number_at(const struct run *r, size_t at, struct match_number *n);

/* All n characters are one number, with its unit if it has one. */
bool match_whole(const char *s, size_t n, struct match_number *out);

/* The number that ends right before this place. */
bool match_number_before(const struct run *r, size_t at, struct match_number *n);
#endif
