/* fold.h - any text becomes the terms that it is found by.
 *
 *     "The Pumps' log: build/Night.log, Zürich 3.5"
 *     the pump log build night log build/night.log zurich 3 5 3.5
 *
 * A word is a run of letters and digits.  Each of its characters is decomposed (Unicode's NFKD) and case-folded, by
 * utf8proc; accents are stripped, ligatures and full-width forms become plain, what is never seen (soft hyphens,
 * joiners) is dropped.  So "Straße" is "strasse" and "café" is "cafe", however they were written.  Marks that are parts
 * of letters stay: the vowel signs of Indic scripts and Thai, the voicing of kana.  Turkish dotless i is i: folding
 * gives that to its capital too.
 *
 * Words joined by one of . _ - / \ : @ are terms each and, as written, one more: "3.5" finds 3.5 before it finds 5.3.
 *
 * Scripts that do not part their words by blanks (Han, kana, Hangul, Thai, Lao, Khmer, Burmese) become pairs of
 * neighbouring characters: 東京都 is 東京 and 京都.  One such character that stands alone is a term; one within a run is
 * found in its pairs only.
 *
 * Stemming is the plural -s of English words and no more (the S stemmer in D. Harman, "How effective is suffixing?",
 * 1991): of few documents a person remembers "the pump" where "pumps" was said, and -s is safe where the language is
 * another, because query and document are folded alike.
 *
 * Symbols, emoji, blanks and bytes that are no UTF-8 are borders.  Digits of other scripts stay what they are.
 *
 * No state: any thread.  Time is linear in n; memory is a few hundred bytes of stack. */
#ifndef FOLD_H
#define FOLD_H
#include "plimsoll.h"

enum {
    FOLD_TERM_MAX = 64, /* bytes: a longer word is cut before a character, a longer joined one left out */
    FOLD_TERMS = 2,     /* the terms of n bytes are at most n * FOLD_TERMS, */
    FOLD_GROWTH = 16    /* and their bytes, with one for each term, n * FOLD_GROWTH */
};

struct fold_term {
    const uint8_t *bytes; /* n of them, 1 to FOLD_TERM_MAX: valid UTF-8, no NUL; gone when the sink returns */
    size_t n;
    size_t at, len;       /* where it stood in the text */
};

typedef void fold_sink(void *self, const struct fold_term *t);

/* Calls sink for each term, in the order of their ends. */
void fold_text(const void *text, size_t n, fold_sink *sink, void *self);
#endif
