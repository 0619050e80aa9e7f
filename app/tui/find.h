/* find.h - a text within a text, as a person searches: A to Z and a to z are the same; other bytes are themselves.
 *
 * Threads: pure. */
#ifndef TUI_FIND_H
#define TUI_FIND_H
#include "plimsoll.h"

static inline char find_fold(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* The first place at or behind `from` in n bytes where the m bytes of `what` stand; SIZE_MAX: none (or m is 0). */
static inline size_t find_text(const char *text, size_t n, size_t from, const char *what, size_t m)
{
    for (size_t i = from; m > 0 && m <= n && i <= n - m; i++) {
        size_t k = 0;
        while (k < m && find_fold(text[i + k]) == find_fold(what[k])) k++;
        if (k == m) return i;
    }
    return SIZE_MAX;
}
#endif
