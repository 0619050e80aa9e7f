/* escape.c - bytes of others as one line of plain text. */
#include "tools/escape.h"
#include <utf8proc.h>

enum { BRAILLE_BLANK = 0x2800 };

static bool hidden(utf8proc_int32_t c)
{
    const utf8proc_property_t *p = utf8proc_get_property(c);
    if (p->ignorable || c == BRAILLE_BLANK) return true;
    switch (p->category) {
    case UTF8PROC_CATEGORY_CC: case UTF8PROC_CATEGORY_CF: case UTF8PROC_CATEGORY_CS: case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN: case UTF8PROC_CATEGORY_ZL: case UTF8PROC_CATEGORY_ZP: return true;
    case UTF8PROC_CATEGORY_ZS: return c != ' ';
    default: return false;
    }
}

static void put_ascii(unsigned char c, struct buf *out)
{
    switch (c) {
    case '\n': buf_puts(out, "\\n"); return;
    case '\t': buf_puts(out, "\\t"); return;
    case '\r': buf_puts(out, "\\r"); return;
    case '\\': buf_puts(out, "\\\\"); return;
    default: break;
    }
    if (c < 0x20 || c == 0x7f)
        buf_printf(out, "\\x%02x", c);
    else
        buf_put(out, &c, 1);
}

/* One character or one bad byte; how long it was. */
static size_t put_one(const char *s, size_t n, struct buf *out)
{
    utf8proc_int32_t c;
    if ((unsigned char)*s < 0x80) {
        put_ascii((unsigned char)*s, out);
        return 1;
    }
    utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)MIN(n, (size_t)4), &c);
    if (len <= 0) {
        buf_printf(out, "\\x%02x", (unsigned char)*s);
        return 1;
    }
    if (hidden(c))
        buf_printf(out, "\\u{%x}", (unsigned)c);
    else
        buf_put(out, s, (size_t)len);
    return (size_t)len;
}

void escape_text(const char *bytes, size_t n, struct buf *out)
{
    for (size_t at = 0; at < n;) at += put_one(bytes + at, n - at, out);
}

void escape_start(const char *bytes, size_t n, size_t max, struct buf *out)
{
    size_t end = MIN(n, max);
    /* Not through a character: back over at most three bytes that go on one. */
    for (int i = 0; i < 3 && end < n && end > 0 && ((unsigned char)bytes[end] & 0xc0) == 0x80; i++) end--;
    escape_text(bytes, end, out);
    if (end < n) buf_puts(out, "...");
}
