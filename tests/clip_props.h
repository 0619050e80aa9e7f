/* clip_props.h - what must hold for every clipped text, judged from the original alone.  For the tests and the fuzz
 * target: clip_props() gives NULL, or what does not hold.
 *
 * The filter is written here a second time, one unit after the other from the beginning of the original. */
#ifndef CLIP_PROPS_H
#define CLIP_PROPS_H
#include "tools/clip.h"

/* ---------------------------------------------------------------- counters */

static inline size_t count_bytes(void *self, const char *text, size_t n)
{
    (void)self;
    (void)text;
    return n;
}

/* A letter's run is a token, and so is any other byte. */
static inline size_t count_words(void *self, const char *text, size_t n)
{
    size_t tokens = 0;
    bool was = false;
    (void)self;
    for (size_t i = 0; i < n; i++) {
        bool letter = (text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z';
        tokens += !letter || !was;
        was = letter;
    }
    return tokens;
}

/* A quarter of the bytes, and up to 6 more as if by chance: a longer text may count less. */
static inline size_t count_rough(void *self, const char *text, size_t n)
{
    uint32_t hash = 2166136261u;
    (void)self;
    for (size_t i = 0; i < n; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return n / 4 + 1 + hash % 7;
}

/* ---------------------------------------------------------------- the filter again */

static inline size_t ref_utf8(const unsigned char *s, size_t n, uint32_t *code)
{
    static const struct { unsigned char from, to, low, high, len; } row[] = { /* the Unicode Standard, table 3-7 */
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    *code = 0xfffd;
    for (size_t r = 0; r < COUNT_OF(row); r++) {
        size_t i = 1;
        if (s[0] < row[r].from || s[0] > row[r].to) continue;
        if (i < row[r].len && i < n && s[i] >= row[r].low && s[i] <= row[r].high)
            for (i = 2; i < row[r].len && i < n && s[i] >= 0x80 && s[i] <= 0xbf; i++) {}
        if (i == row[r].len) {
            *code = i == 1 ? s[0] : s[0] & (0x7fu >> i);
            for (size_t k = 1; k < i; k++) *code = *code << 6 | (s[k] & 0x3fu);
        }
        return i;
    }
    return 1;
}

static inline size_t ref_sequence(const unsigned char *s, size_t n)
{
    size_t i = 2;
    if (n < 3 || s[0] != 0x1b || s[1] != '[') return 0;
    while (i < n && s[i] >= 0x30 && s[i] <= 0x3f) i++;
    while (i < n && s[i] >= 0x20 && s[i] <= 0x2f) i++;
    return i < n && i < CLIP_UNIT && s[i] >= 0x40 && s[i] <= 0x7e ? i + 1 : 0;
}

/* One unit: how long it is, and its text. */
static inline size_t ref_unit(const unsigned char *s, size_t n, char text[8])
{
    uint32_t c;
    size_t len = ref_utf8(s, n, &c), sequence = ref_sequence(s, n);
    text[0] = '\0';
    if (sequence) return sequence;
    if (c == '\r' && n > 1 && s[1] == '\n') {
        strcpy(text, "\n");
        return 2;
    }
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
        snprintf(text, 8, "\xe2\x90%c", (char)(c == 0x7f ? 0xa1 : 0x80 + c));
    else if ((c >= 0x80 && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
             (c >= 0xe0000 && c <= 0xe007f) || c == 0xfffd)
        strcpy(text, "\xef\xbf\xbd");
    else
        snprintf(text, 8, "%.*s", (int)len, (const char *)s);
    return len;
}

/* The filtered text of the whole, for each byte of the original where the unit that it is in begins there. */
struct ref {
    struct buf text;
    size_t *begins, n; /* [n + 1]: where in text; SIZE_MAX inside of a unit */
};

static inline struct ref ref_filter(const char *s, size_t n)
{
    struct ref r = {.begins = malloc((n + 1) * sizeof *r.begins), .n = n};
    for (size_t i = 0; i < n;) {
        char text[8];
        size_t len = ref_unit((const unsigned char *)s + i, n - i, text);
        for (size_t k = 0; k < len; k++) r.begins[i + k] = k ? SIZE_MAX : r.text.len;
        buf_puts(&r.text, text);
        i += len;
    }
    r.begins[n] = r.text.len;
    return r;
}

static inline void ref_free(struct ref *r)
{
    free(r->begins);
    buf_free(&r->text);
}

/* ---------------------------------------------------------------- marks */

static inline bool skip(const char **s, const char *end, const char *what)
{
    size_t n = strlen(what);
    if ((size_t)(end - *s) < n || memcmp(*s, what, n) != 0) return false;
    *s += n;
    return true;
}

static inline bool skip_number(const char **s, const char *end, uint64_t *n)
{
    const char *from = *s;
    for (*n = 0; *s < end && **s >= '0' && **s <= '9'; ++*s) *n = *n * 10 + (uint64_t)(**s - '0');
    return *s > from;
}

/* text[from..to) is one mark for these bytes and whole lines, and nothing else. */
static inline const char *not_a_mark(const char *text, size_t from, size_t to, uint64_t at, uint64_t bytes,
                                     uint64_t lines)
{
    const char *s = text + from, *end = text + to;
    uint64_t n;
    skip(&s, end, ", ");
    bool quoted = skip(&s, end, "\"");
    if (!skip(&s, end, "[...")) return "what is shown between two ranges is no mark";
    if (!skip(&s, end, "]")) {
        uint64_t first, offset;
        bool counted = false;
        if (!skip(&s, end, " ") || !skip_number(&s, end, &first)) return "a mark without figures";
        if (skip(&s, end, " lines")) {
            if (first != lines) return "a mark's lines are wrong";
            counted = true;
        }
        counted = counted || skip(&s, end, " rows") || skip(&s, end, " items") || skip(&s, end, " members");
        if (counted && skip(&s, end, " ...]")) {
            if (!quoted || bytes >= 512) return "a mark without bytes";
        } else {
            if (counted && (!skip(&s, end, ", ") || !skip_number(&s, end, &first))) return "a mark without bytes";
            if (!skip(&s, end, " bytes") || first != bytes) return "a mark's bytes are wrong";
            if (skip(&s, end, " from offset ")) {
                if (!skip_number(&s, end, &offset) || offset != at) return "a mark's offset is wrong";
                if (!skip(&s, end, " left out ...]")) return "a mark that does not end";
            } else if (counted || bytes >= 512 || !skip(&s, end, " ...]")) {
                return "a mark without offset";
            }
        }
    }
    if (quoted && !skip(&s, end, "\": \"\"") && !skip(&s, end, "\"")) return "a mark's quotes";
    for (n = 0; skip(&s, end, "\n"); n++) {}
    return s == end && n <= 1 ? NULL : "something behind a mark";
}

/* ---------------------------------------------------------------- all that must hold */

/* Lines of which nothing lies in a range, and all lines; to each gap its own in gap[0..n_ranges]. */
static inline uint64_t ref_lines(const char *s, size_t n, const struct clip_figures *f, uint64_t *left, uint64_t *gap)
{
    uint64_t lines = 0;
    int r = 0;
    *left = 0;
    memset(gap, 0, (CLIP_RANGES + 1) * sizeof *gap);
    for (size_t at = 0, end; at < n; at = end) {
        const char *newline = memchr(s + at, '\n', n - at);
        end = newline ? (size_t)(newline - s) + 1 : n;
        lines++;
        while (r < f->n_ranges && f->range[r].at + f->range[r].len <= at) r++;
        if (r < f->n_ranges && f->range[r].at < end) continue;
        ++*left;
        gap[r]++;
    }
    return lines;
}

/* Lines that lie wholly between two offsets. */
static inline uint64_t clip_props_lines(const char *s, uint64_t from, uint64_t to)
{
    uint64_t lines = 0;
    bool begun = from == 0 || s[from - 1] == '\n';
    for (uint64_t i = from; i < to; i++) {
        if (s[i] != '\n') continue;
        lines += begun;
        begun = true;
    }
    return lines;
}

static inline const char *bad_ranges(const struct ref *r, const char *text, const struct clip_figures *f)
{
    uint64_t pos = 0, shown = 0;
    for (int i = 0; i < f->n_ranges; i++) {
        const struct clip_range *g = &f->range[i];
        if (g->len == 0 || g->at < pos || (i > 0 && g->at == pos) || g->at + g->len > r->n) return "ranges in disorder";
        pos = g->at + g->len;
        shown += g->len;
        if (r->begins[g->at] == SIZE_MAX || r->begins[pos] == SIZE_MAX) return "a cut goes through a character";
        size_t len = r->begins[pos] - r->begins[g->at];
        if (g->out_len != len || (len && memcmp(text + g->out, r->text.data + r->begins[g->at], len) != 0))
            return "what is shown is not the original's";
    }
    return shown == f->shown_bytes ? NULL : "the ranges are not what is shown";
}

static inline const char *bad_gaps(const struct ref *r, const char *text, size_t n, const struct clip_figures *f,
                                   const uint64_t *lines)
{
    uint64_t pos = 0;
    size_t out = 0;
    for (int i = 0; i <= f->n_ranges; i++) {
        uint64_t at = i < f->n_ranges ? f->range[i].at : r->n;
        size_t to = i < f->n_ranges ? f->range[i].out : n;
        const char *bad = at == pos ? (out == to ? NULL : "something between nothing")
                                    : not_a_mark(text, out, to, pos, at - pos, lines[i]);
        if (bad) return bad;
        if (i == f->n_ranges) break;
        pos = at + f->range[i].len;
        out = to + f->range[i].out_len;
    }
    return NULL;
}

static inline const char *clip_props(const struct clip_config *cfg, const char *s, size_t n, const char *text,
                                     size_t len, const struct clip_figures *f)
{
    uint64_t left, gap[CLIP_RANGES + 1], lines = ref_lines(s, n, f, &left, gap);
    size_t tokens = len ? cfg->counter.count(cfg->counter.self, text, len) : 0;
    if (tokens > cfg->max_tokens) return "more tokens than allowed";
    if (tokens != f->tokens) return "the tokens are not those of the text";
    if (f->bytes != n || f->shown_bytes + f->left_bytes != n) return "bytes do not add up";
    if (f->lines != lines || f->left_lines != left || f->shown_lines + left != lines) return "lines do not add up";
    if (f->whole != (f->left_bytes == 0)) return "whole is wrong";
    if (f->shown_count > f->count) return "more shown than there are";
    if (f->next != (f->n_ranges && f->range[0].at == 0 ? f->range[0].len : 0)) return "next is wrong";
    struct ref r = ref_filter(s, n);
    const char *bad = bad_ranges(&r, text, f);
    if (!bad && len > 0) bad = bad_gaps(&r, text, len, f, gap);
    size_t all = r.text.len ? cfg->counter.count(cfg->counter.self, r.text.data, r.text.len) : 0;
    if (!bad && all <= cfg->max_tokens && n <= clip_room(cfg) - clip_room(&(struct clip_config){.hold = 1}) +
        CLIP_HOLD_MIN && !f->whole)
        bad = "it fits and is not whole";
    ref_free(&r);
    return bad;
}

/* Two clips said the same. */
static inline bool same_figures(const struct clip_figures *a, const struct clip_figures *b)
{
    bool same = a->kind == b->kind && a->whole == b->whole && a->bytes == b->bytes && a->next == b->next &&
                a->shown_bytes == b->shown_bytes && a->left_bytes == b->left_bytes && a->lines == b->lines &&
                a->shown_lines == b->shown_lines && a->left_lines == b->left_lines && a->count == b->count &&
                a->shown_count == b->shown_count && a->tokens == b->tokens && a->n_ranges == b->n_ranges;
    for (int i = 0; same && i < a->n_ranges; i++)
        same = a->range[i].at == b->range[i].at && a->range[i].len == b->range[i].len &&
               a->range[i].out == b->range[i].out && a->range[i].out_len == b->range[i].out_len;
    return same;
}
#endif
