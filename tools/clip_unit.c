/* clip_unit.c - from any bytes to characters that may be shown, in units that a cut never goes through. */
#include "tools/clip_impl.h"

/* ------------------------------------------------------------------ characters */

/* How many bytes follow a lead byte, and what the first of them may be (Unicode Standard, table 3-7).  0: no lead. */
static size_t lead(unsigned char c, unsigned char *low, unsigned char *high)
{
    *low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    *high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (c >= 0xc2 && c <= 0xdf) return 1;
    if (c >= 0xe0 && c <= 0xef) return 2;
    return c >= 0xf0 && c <= 0xf4 ? 3 : 0;
}

/* Bytes of the character, or of the maximal part of one, that s begins with.  *whole: all of it is there. */
static size_t character(const char *s, size_t n, bool *whole)
{
    unsigned char low, high;
    size_t more = lead((unsigned char)s[0], &low, &high), i = 1;
    for (; i <= more && i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < (i == 1 ? low : 0x80) || c > (i == 1 ? high : 0xbf)) break;
    }
    *whole = (more > 0 || (unsigned char)s[0] < 0x80) && i == more + 1;
    return i;
}

static uint32_t code_point(const char *s, size_t n)
{
    static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)s[0] & mask[n];
    for (size_t i = 1; i < n; i++) code = code << 6 | ((unsigned char)s[i] & 0x3f);
    return code;
}

/* C1 controls, what turns the direction of writing, and tags, which no one sees. */
static bool hidden(uint32_t code)
{
    return (code >= 0x80 && code <= 0x9f) || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || (code >= 0xe0000 && code <= 0xe007f);
}

/* ------------------------------------------------------------------ units */

/* ESC [ parameters, intermediates, a final byte, within CLIP_UNIT.  0: it is not; more than n: bytes are missing. */
static size_t sequence(const char *s, size_t n)
{
    size_t i = 2;
    if (n < 2) return 2;
    if (s[1] != '[') return 0;
    while (i < n && i < CLIP_UNIT && s[i] >= 0x30 && s[i] <= 0x3f) i++;
    while (i < n && i < CLIP_UNIT && s[i] >= 0x20 && s[i] <= 0x2f) i++;
    if (i == CLIP_UNIT) return 0;
    if (i == n) return n + 1;
    return s[i] >= 0x40 && s[i] <= 0x7e ? i + 1 : 0;
}

/* Where more may follow and would decide, the unit reaches over the end: n + 1. */
size_t clip_unit(const char *s, size_t n, bool end)
{
    unsigned char low, high;
    if (s[0] == '\r') {
        if (n == 1) return end ? 1 : 2;
        return s[1] == '\n' ? 2 : 1;
    }
    if (s[0] == '\x1b') {
        size_t len = sequence(s, n);
        if (len > n) return end ? 1 : n + 1;
        return len ? len : 1;
    }
    bool whole;
    size_t len = character(s, n, &whole);
    if (!whole && !end && len == n && lead((unsigned char)s[0], &low, &high) >= n) return n + 1;
    return len;
}

/* Only these begin a unit of more than one byte, and nothing else they can be. */
static bool may_reach(unsigned char c) { return c == '\r' || c == 0x1b || (c >= 0xc2 && c <= 0xf4); }

bool clip_border(const char *s, size_t n, bool end, size_t p)
{
    for (size_t back = 1; back <= CLIP_UNIT && back <= p; back++) {
        size_t q = p - back;
        if (may_reach((unsigned char)s[q]) && q + clip_unit(s + q, n - q, end) > p) return false;
    }
    return true;
}

size_t clip_border_before(const char *s, size_t n, bool end, size_t p)
{
    while (p > 0 && !clip_border(s, n, end, p)) p--;
    return p;
}

size_t clip_border_after(const char *s, size_t n, bool end, size_t p)
{
    while (p < n && !clip_border(s, n, end, p)) p++;
    return p;
}

/* ------------------------------------------------------------------ cuts */

size_t clip_cut_end(const char *s, size_t n, bool end, size_t want)
{
    if (want >= n && end) return n;
    size_t p = clip_border_before(s, n, end, MIN(want, n));
    const char *line = p > 0 ? memrchr(s, '\n', p) : NULL;
    size_t behind = line ? (size_t)(line - s) + 1 : 0;
    return behind > p / 2 ? behind : p;
}

size_t clip_cut_start(const char *s, size_t n, bool end, size_t from)
{
    size_t p = clip_border_after(s, n, end, MIN(from, n));
    if (p == n || p == 0 || s[p - 1] == '\n') return p;
    const char *line = memchr(s + p, '\n', n - p);
    size_t behind = line ? (size_t)(line - s) + 1 : n;
    return behind - p < (n - p) / 2 ? behind : p;
}

uint64_t clip_newlines(const char *s, size_t n)
{
    uint64_t count = 0;
    const char *end = s + n;
    while (s < end && (s = memchr(s, '\n', (size_t)(end - s)))) {
        count++;
        s++;
    }
    return count;
}

/* ------------------------------------------------------------------ filter */

static bool plain(unsigned char c) { return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t'; }

static void put_picture(unsigned char c, struct buf *out)
{
    char picture[3] = {'\xe2', '\x90', (char)(c == 0x7f ? 0xa1 : 0x80 + c)};
    buf_put(out, picture, 3);
}

static void put_unit(const char *s, size_t n, struct buf *out)
{
    unsigned char c = (unsigned char)s[0];
    bool whole;
    if (c < 0x80) {
        if (n == 1)
            put_picture(c, out);
        else if (c == '\r')
            buf_put(out, "\n", 1);
        return; /* a sequence goes */
    }
    character(s, n, &whole);
    if (whole && !hidden(code_point(s, n)))
        buf_put(out, s, n);
    else
        buf_puts(out, "\xef\xbf\xbd");
}

void clip_filter(const char *s, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;) {
        size_t run = i;
        while (run < n && plain((unsigned char)s[run])) run++;
        buf_put(out, s + i, run - i);
        i = run;
        if (i == n) return;
        size_t len = clip_unit(s + i, n - i, true);
        put_unit(s + i, len, out);
        i += len;
    }
}
