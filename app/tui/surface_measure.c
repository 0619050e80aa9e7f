/* surface_measure.c - from bytes to clusters: where one ends, what is shown of it, and how many columns that takes.
 * Borders are those of Unicode (UAX 29, by utf8proc); what is shown is the table at the top of surface.h. */
#include "app/tui/surface.h"
#include "engine/text.h"
#include <limits.h>
#include <utf8proc.h>

enum { TAB = 4, MARKS_SEEN = 2 * CELL_MARKS };

static const int32_t replacement = 0xfffd;

struct character { int32_t code; size_t bytes; const utf8proc_property_t *is; };

static bool between(int32_t c, int32_t first, int32_t last) { return c >= first && c <= last; }

/* How many of the n > 0 bytes, which begin no character, could have become one: they are shown as one U+FFFD (the
 * Unicode Standard, section 3.9).  With any continuation behind it such a beginning is valid. */
static size_t broken_bytes(const char *text, size_t n)
{
    for (size_t part = MIN(n, 3); part > 1; part--)
        for (size_t whole = part + 1; whole <= 4; whole++) {
            char padded[4] = {'\x80', '\x80', '\x80', '\x80'};
            memcpy(padded, text, part);
            if (text_valid_utf8(padded, whole) == whole) return part;
        }
    return 1;
}

/* The character at text; code is -1 where bytes are no UTF-8. */
static struct character character_at(const char *text, size_t n)
{
    struct character c;
    ptrdiff_t len = utf8proc_iterate((const utf8proc_uint8_t *)text, (ptrdiff_t)MIN(n, 4), &c.code);
    bool good = len > 0;
    c.bytes = good ? (size_t)len : broken_bytes(text, n);
    c.code = good ? c.code : -1;
    c.is = utf8proc_get_property(c.code); /* of an unassigned one for -1 */
    return c;
}

static bool is_mark(const struct character *c)
{
    return c->is->category == UTF8PROC_CATEGORY_MN || c->is->category == UTF8PROC_CATEGORY_MC ||
           c->is->category == UTF8PROC_CATEGORY_ME;
}

static bool is_tag(int32_t c) { return between(c, 0xe0000, 0xe007f); }

/* Those that show nothing and change nothing that a cell could show. */
static bool is_silent(int32_t c)
{
    return c == 0xad || c == 0x61c || between(c, 0x200b, 0x200f) || between(c, 0x2060, 0x2064) || c == 0xfeff;
}

/* Old tables against new ones, or tables against what terminals draw. */
static bool is_disputed(int32_t c)
{
    static const int32_t range[][2] = {
        {0x1160, 0x11ff},   /* Hangul vowels and finals: 0 or 1 */
        {0x2630, 0x2637},   /* trigrams: wide since Unicode 16; so the digrams, hexagrams, Tai Xuan Jing, rods */
        {0x268a, 0x268f},
        {0x3248, 0x324f},   /* numbers on black squares: ambiguous */
        {0x4dc0, 0x4dff},
        {0xd7b0, 0xd7ff},   /* more Hangul vowels and finals */
        {0x1d300, 0x1d356},
        {0x1d360, 0x1d376},
        {0x1f1e6, 0x1f1ff}, /* flags are made of these */
        {0x1f3fb, 0x1f3ff}, /* skin tones */
    };
    for (size_t i = 0; i < COUNT_OF(range); i++)
        if (between(c, range[i][0], range[i][1])) return true;
    return false;
}

/* Columns of a character that begins a cluster; -1: it may not be shown. */
static int base_columns(const struct character *c)
{
    if (c->code == replacement) return 1;
    if (c->code < 0 || c->is->category == UTF8PROC_CATEGORY_CN || is_mark(c) || is_disputed(c->code)) return -1;
    return c->is->charwidth == 1 || c->is->charwidth == 2 ? (int)c->is->charwidth : -1;
}

/* Whether b belongs to the cluster that a, the character before it, belongs to.  Beside Unicode's rules: tags come in
 * runs of their own, so that they are seen; a sign that stands before others is alone; a letter that is no mark (Thai
 * and Lao AM) begins a cluster, as it has a column of its own. */
static bool joins(const struct character *a, const struct character *b, utf8proc_int32_t *state)
{
    if (a->code < 0 || b->code < 0) return false;
    bool breaks = utf8proc_grapheme_break_stateful(a->code, b->code, state);
    if (is_tag(a->code) || is_tag(b->code)) return is_tag(a->code) && is_tag(b->code);
    if (a->is->boundclass == UTF8PROC_BOUNDCLASS_PREPEND) return false;
    if (b->is->boundclass == UTF8PROC_BOUNDCLASS_SPACINGMARK && !is_mark(b)) return false;
    return !breaks;
}

/* A character, then the next of its cluster. */
struct glyph { int32_t code[1 + MARKS_SEEN]; int n; };

static void take(struct glyph *g, const struct character *c)
{
    if (!c->is->ignorable && g->n <= MARKS_SEEN) g->code[g->n++] = c->code;
}

/* What composes (letters of Hangul too), then marks up to the first character of another kind. */
static void write_glyph(struct glyph *g, struct cluster *out)
{
    g->n = (int)utf8proc_normalize_utf32(g->code, g->n, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    size_t len = 0;
    for (int i = 0; i < g->n && i <= CELL_MARKS; i++) {
        utf8proc_uint8_t bytes[4];
        size_t n = (size_t)utf8proc_encode_char(g->code[i], bytes);
        if (len + n > CELL_BYTES || (i > 0 && utf8proc_category(g->code[i]) != UTF8PROC_CATEGORY_MN)) break;
        memcpy(out->text + len, bytes, n);
        len += n;
    }
}

static struct cluster plain(size_t bytes, int columns, const char *shown)
{
    struct cluster c = {.bytes = bytes, .columns = columns};
    memcpy(c.text, shown, strlen(shown));
    return c;
}

/* A cluster that does not begin with printable ASCII or a newline or tab. */
static struct cluster gather(const char *text, size_t n)
{
    struct character c = character_at(text, n), before = c;
    struct cluster out = {.bytes = c.bytes, .columns = base_columns(&c)};
    struct glyph g = {.code = {c.code}, .n = 1};
    bool silent = is_silent(c.code);
    utf8proc_int32_t state = 0;
    while (out.bytes < n) {
        c = character_at(text + out.bytes, n - out.bytes);
        if (!joins(&before, &c, &state)) break;
        silent = silent && is_silent(c.code);
        take(&g, &c);
        out.bytes += c.bytes;
        before = c;
    }
    if (silent) return plain(out.bytes, 0, "");
    if (out.columns < 0) return plain(out.bytes, 1, "\xef\xbf\xbd");
    write_glyph(&g, &out);
    return out;
}

struct cluster surface_cluster(const char *text, size_t n, int column)
{
    unsigned char c = (unsigned char)text[0], next = n > 1 ? (unsigned char)text[1] : 0;
    if (c == '\n') return plain(1, 0, "");
    if (c == '\r' && next == '\n') return plain(2, 0, "");
    if (c == '\t') return plain(1, TAB - (int)((unsigned)column % TAB), "");
    if (c >= 0x20 && c < 0x7f && next < 0x80) return plain(1, 1, (char[]){(char)c, '\0'});
    return gather(text, n);
}

static bool is_newline(const char *text, const struct cluster *c)
{
    return text[c->bytes - 1] == '\n';
}

/* More columns than any surface has are all the same. */
static int add_columns(int a, int b) { return MIN(a, INT_MAX - 2 * TAB) + b; }

int surface_columns(const char *text, size_t n)
{
    int columns = 0;
    for (size_t at = 0; at < n;) {
        struct cluster c = surface_cluster(text + at, n - at, columns);
        if (is_newline(text + at, &c)) break;
        columns = add_columns(columns, c.columns);
        at += c.bytes;
    }
    return columns;
}

size_t surface_break(const char *text, size_t n, int columns)
{
    size_t at = 0, may_end = 0;
    int column = 0, before = 0;
    while (at < n) {
        struct cluster c = surface_cluster(text + at, n - at, column);
        bool blank = c.bytes == 1 && (text[at] == ' ' || text[at] == '\t');
        if (is_newline(text + at, &c)) return at + c.bytes;
        if (at == 0) columns = MAX(columns, c.columns); /* one cluster is the least that a line has */
        if (before == 2 && c.columns == 2 && !blank) may_end = at;
        if (!blank && at > 0 && column > columns - c.columns) return may_end ? may_end : at;
        column = add_columns(column, c.columns);
        before = blank ? 0 : c.columns;
        at += c.bytes;
        if (blank) may_end = at;
    }
    return n;
}
