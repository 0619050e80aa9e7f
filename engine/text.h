/* text.h - from a stream of tokens' bytes to text that may be shown: whole UTF-8 characters, no stop string, no partial
 * one.
 *
 *     piece -> [ held: an unfinished character, or the start of a stop string ] -> out
 *
 * A byte that can begin or continue no character becomes U+FFFD (a maximal invalid part is one U+FFFD, as the Unicode
 * Standard, section 3.9, recommends).  Stop strings are looked for in the text, across token borders; the longest tail
 * that may still become one is held back, and what the stop string itself says is never emitted.  Fixed memory: nothing
 * is allocated after text_init(). */
#ifndef TEXT_H
#define TEXT_H
#include "plimsoll.h"

enum { TEXT_STOPS = 9, TEXT_STOP_LEN = 64, TEXT_HOLD = 128 };

struct text {
    char stop[TEXT_STOPS][TEXT_STOP_LEN];
    unsigned char stop_len[TEXT_STOPS];
    int n_stops;
    unsigned char part[4]; /* bytes of an unfinished character */
    int n_part;
    char held[TEXT_HOLD]; /* whole characters that may begin a stop string */
    int n_held;
    int stopped; /* which stop string ended the text; -1: none */
};

/* A request has up to ENGINE_STOPS, and its template may have one.  0, or -1: more than TEXT_STOPS, one empty or longer
 * than TEXT_STOP_LEN, or not UTF-8 (err says which). */
int text_init(struct text *t, const char *const *stops, int n_stops, struct err *err);

/* Feed n bytes; write what may be shown to out (room for text_room(n) bytes).  Returns the bytes written.  After a stop
 * string was met (t->stopped >= 0) further bytes are ignored. */
size_t text_feed(struct text *t, const char *bytes, size_t n, char *out);
/* the stream ends: what is held comes out, an unfinished character as U+FFFD */
size_t text_finish(struct text *t, char *out);

/* The most bytes that feeding n may write (also finish, for n = 0). */
static inline size_t text_room(size_t n) { return 3 * n + TEXT_HOLD + 16; }

/* Whole-buffer helpers: the length of the longest valid UTF-8 prefix of bytes; */
size_t text_valid_utf8(const char *bytes, size_t n);
/* of the white space that a text begins with, which is all that Unicode, and so Python, calls so; */
size_t text_white(const char *bytes, size_t n);
/* and a text without the white space around it.  Returns how many bytes went at its end. */
size_t text_strip(const char **bytes, size_t *n);
#endif
