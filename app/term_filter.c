/* term_filter.c - makes whole characters, then judges each. */
#include "app/term_filter.h"

enum { CHUNK = 256 };

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* The character at s (valid UTF-8); *len is its length. */
static uint32_t decode(const char *s, size_t *len)
{
    const unsigned char *u = (const unsigned char *)s;
    if (u[0] < 0x80) return *len = 1, u[0];
    if (u[0] < 0xe0) return *len = 2, (uint32_t)(u[0] & 0x1f) << 6 | (u[1] & 0x3f);
    if (u[0] < 0xf0) return *len = 3, (uint32_t)(u[0] & 0x0f) << 12 | (uint32_t)(u[1] & 0x3f) << 6 | (u[2] & 0x3f);
    return *len = 4, (uint32_t)(u[0] & 0x07) << 18 | (uint32_t)(u[1] & 0x3f) << 12 | (uint32_t)(u[2] & 0x3f) << 6 |
                         (u[3] & 0x3f);
}

static void judge(const char *s, size_t n, struct buf *out)
{
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c = decode(s + i, &len);
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            buf_put(out, (char[]){'^', (char)(c ^ 0x40)}, 2);
        else if ((c >= 0x80 && c <= 0x9f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
            buf_put(out, replacement, 3);
        else
            buf_put(out, s + i, len);
    }
}

void term_filter_init(struct term_filter *f)
{
    text_init(&f->utf8, NULL, 0, NULL);
}

void term_filter_feed(struct term_filter *f, const char *bytes, size_t n, struct buf *out)
{
    char whole[3 * CHUNK + TEXT_HOLD + 16];
    for (size_t i = 0; i < n; i += CHUNK) judge(whole, text_feed(&f->utf8, bytes + i, MIN(CHUNK, n - i), whole), out);
}

void term_filter_end(struct term_filter *f, struct buf *out)
{
    char whole[TEXT_HOLD + 16];
    judge(whole, text_finish(&f->utf8, whole), out);
    term_filter_init(f);
}

void term_filter_text(const char *bytes, size_t n, bool one_line, struct buf *out)
{
    struct term_filter f;
    size_t from = out->len;
    term_filter_init(&f);
    term_filter_feed(&f, bytes, n, out);
    term_filter_end(&f, out);
    for (size_t i = from; one_line && i < out->len; i++)
        if (out->data[i] == '\n' || out->data[i] == '\t') out->data[i] = ' ';
}
