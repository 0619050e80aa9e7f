/* text.c - see text.h.  Byte by byte: the result is then the same however the stream was cut. */
#include "engine/text.h"

/* ---------------------------------------------------------------- UTF-8, the Unicode Standard's table 3-7
 *
 *     1st      2nd      3rd      4th
 *     00..7F
 *     C2..DF   80..BF
 *     E0       A0..BF   80..BF
 *     E1..EF   80..BF   80..BF             (ED: 2nd only to 9F, the rest are surrogates)
 *     F0       90..BF   80..BF   80..BF
 *     F1..F4   80..BF   80..BF   80..BF    (F4: 2nd only to 8F, above is no Unicode) */

/* Bytes of the character that b begins; 0: none. */
static int char_len(unsigned char b)
{
    if (b < 0x80) return 1;
    if (b < 0xc2) return 0;
    if (b < 0xe0) return 2;
    if (b < 0xf0) return 3;
    return b < 0xf5 ? 4 : 0;
}

/* Whether b may be byte number i (1..3) of the character that begins with first. */
static bool may_follow(unsigned char first, int i, unsigned char b)
{
    unsigned char low = 0x80, high = 0xbf;
    if (i == 1) {
        if (first == 0xe0) low = 0xa0;
        if (first == 0xed) high = 0x9f;
        if (first == 0xf0) low = 0x90;
        if (first == 0xf4) high = 0x8f;
    }
    return b >= low && b <= high;
}

size_t text_valid_utf8(const char *bytes, size_t n)
{
    const unsigned char *s = (const unsigned char *)bytes;
    size_t at = 0;
    while (at < n) {
        size_t len = (size_t)char_len(s[at]);
        if (len == 0 || len > n - at) break;
        size_t i = 1;
        while (i < len && may_follow(s[at], (int)i, s[at + i])) i++;
        if (i < len) break;
        at += len;
    }
    return at;
}

/* ---------------------------------------------------------------- stop strings */

int text_init(struct text *t, const char *const *stops, int n_stops, struct err *err)
{
    *t = (struct text){.stopped = -1};
    if (n_stops < 0 || n_stops > TEXT_STOPS)
        return err_set(err, -1, "%d stop strings; at most %d are possible", n_stops, TEXT_STOPS);
    for (int i = 0; i < n_stops; i++) {
        size_t n = strlen(stops[i]);
        if (n == 0) return err_set(err, -1, "stop string %d is empty; leave it out", i + 1);
        if (n > TEXT_STOP_LEN)
            return err_set(err, -1, "stop string %d has %zu bytes; at most %d are possible", i + 1, n, TEXT_STOP_LEN);
        size_t valid = text_valid_utf8(stops[i], n);
        if (valid < n) return err_set(err, -1, "stop string %d is not UTF-8 from byte %zu on", i + 1, valid);
        memcpy(t->stop[i], stops[i], n);
        t->stop_len[i] = (unsigned char)n;
    }
    t->n_stops = n_stops;
    return 0;
}

/* Does what is held from byte `from` on begin a stop string?  *whole: the one that it completes, or -1. */
static bool begins_stop(const struct text *t, int from, int *whole)
{
    int n = t->n_held - from;
    bool begins = false;
    *whole = -1;
    for (int i = 0; i < t->n_stops; i++) {
        if (n > t->stop_len[i] || memcmp(t->stop[i], t->held + from, (size_t)n) != 0) continue;
        begins = true;
        if (n == t->stop_len[i]) {
            *whole = i;
            break;
        }
    }
    return begins;
}

/* Add one whole character to what is held and write out what can no longer be part of a stop string.
 * A stop string that is complete ends the text at once, also when a longer one might still become so; of several that
 * end here the one that began first counts. */
static size_t put_char(struct text *t, const unsigned char *bytes, int n, char *out)
{
    memcpy(t->held + t->n_held, bytes, (size_t)n);
    t->n_held += n;
    int keep = t->n_held; /* the first byte that must stay held */
    for (int from = t->n_held - 1; from >= 0; from--) {
        int whole;
        if (!begins_stop(t, from, &whole)) continue;
        keep = from;
        if (whole >= 0) t->stopped = whole;
    }
    if (t->stopped >= 0) { /* keep may lie before the stop string: find where that began */
        keep = t->n_held - t->stop_len[t->stopped];
        memcpy(out, t->held, (size_t)keep);
        t->n_held = 0;
        t->n_part = 0;
        return (size_t)keep;
    }
    memcpy(out, t->held, (size_t)keep);
    t->n_held -= keep;
    memmove(t->held, t->held + keep, (size_t)t->n_held);
    return (size_t)keep;
}

/* ---------------------------------------------------------------- the stream */

static size_t put_bad(struct text *t, char *out)
{
    static const unsigned char replacement[3] = {0xef, 0xbf, 0xbd}; /* U+FFFD */
    t->n_part = 0;
    return put_char(t, replacement, 3, out);
}

static size_t put_byte(struct text *t, unsigned char b, char *out)
{
    size_t written = 0;
    if (t->n_part > 0 && !may_follow(t->part[0], t->n_part, b)) {
        written = put_bad(t, out);
        if (t->stopped >= 0) return written;
    }
    if (t->n_part == 0 && char_len(b) == 0) return written + put_bad(t, out + written);
    t->part[t->n_part++] = b;
    if (t->n_part < char_len(t->part[0])) return written;
    int n = t->n_part;
    t->n_part = 0;
    return written + put_char(t, t->part, n, out + written);
}

size_t text_feed(struct text *t, const char *bytes, size_t n, char *out)
{
    size_t written = 0;
    for (size_t i = 0; i < n && t->stopped < 0; i++)
        written += put_byte(t, (unsigned char)bytes[i], out + written);
    return written;
}

size_t text_finish(struct text *t, char *out)
{
    size_t written = 0;
    if (t->stopped < 0 && t->n_part > 0) written = put_bad(t, out);
    if (t->stopped >= 0) return written;
    memcpy(out + written, t->held, (size_t)t->n_held);
    written += (size_t)t->n_held;
    t->n_held = 0;
    return written;
}

/* ---------------------------------------------------------------- white space */

/* Bytes of the white space that s begins with; 0: none. */
static size_t space_len(const char *s, size_t n)
{
    static const char *const wide[] = {
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83",
        "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a",
        "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80",
    };
    unsigned char c = (unsigned char)s[0];
    if (c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f)) return 1;
    for (size_t i = 0; i < COUNT_OF(wide) && c >= 0x80; i++) {
        size_t len = strlen(wide[i]);
        if (len <= n && memcmp(s, wide[i], len) == 0) return len;
    }
    return 0;
}

size_t text_white(const char *bytes, size_t n)
{
    size_t at = 0;
    for (size_t len; at < n && (len = space_len(bytes + at, n - at)) > 0;) at += len;
    return at;
}

size_t text_strip(const char **bytes, size_t *n)
{
    const size_t lead = text_white(*bytes, *n);
    size_t end = 0;
    if (lead > 0) *bytes += lead; /* an empty text may be NULL */
    *n -= lead;
    for (bool more = true; more;) {
        more = false;
        for (size_t len = 1; len <= MIN(*n, 3) && !more; len++) {
            more = space_len(*bytes + *n - len, len) == len;
            *n -= more ? len : 0;
            end += more ? len : 0;
        }
    }
    return end;
}
