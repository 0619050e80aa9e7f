/* thinking.c - see thinking.h. */
#include "app/thinking.h"

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

size_t thinking_end(const char *text, size_t n)
{
    static const char open[] = "<think>", close[] = "</think>";
    size_t at = 0;
    while (at < n && blank(text[at])) at++;
    if (n - at < sizeof open - 1 || memcmp(text + at, open, sizeof open - 1) != 0) return 0;
    const char *end = memmem(text + at, n - at, close, sizeof close - 1);
    if (!end) return n;
    for (at = (size_t)(end - text) + sizeof close - 1; at < n && blank(text[at]);) at++;
    return at;
}
