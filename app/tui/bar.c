/* bar.c - shares by the largest remainder, bars and sparklines of them, numbers, and words that fit. */
#include "app/tui/bar.h"

#include <math.h>

static const char *const glyph_of[GLYPHS_SETS][BAR_GLYPHS] = {
    [GLYPHS_ASCII] = {"#", "=", "~", "-", ".", "%", "\\", "+", "#", "=", "."},
    [GLYPHS_UTF8] = {"█", "▓", "▒", "░", "·", "▞", "▚", "▤", "━", "╍", "─"},
};
static const char *const edge_of[GLYPHS_SETS][2] = {[GLYPHS_ASCII] = {"[", "]"}, [GLYPHS_UTF8] = {"▕", "▏"}};

enum { STEPS = 8 };
static const char *const step_of[GLYPHS_SETS][STEPS] = {
    [GLYPHS_ASCII] = {"_", ".", ":", "-", "=", "+", "*", "#"},
    [GLYPHS_UTF8] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
};

const char *bar_glyph(enum bar_glyph which, enum glyphs glyphs) { return glyph_of[glyphs][which]; }

/* ------------------------------------------------------------------ shares */

/* Sizes may be any: sums and products of them are taken in 128 bits.  A product of two of 64 bits fits, so a size times
 * `whole` does; the sum of all has at most four bits more than one. */
void bar_shares(const uint64_t *size, int n, uint64_t whole, uint64_t *share)
{
    assert(n > 0 && n <= BAR_PARTS);
    unsigned __int128 sum = 0, rest[BAR_PARTS];
    uint64_t left = whole;
    for (int i = 0; i < n; i++) sum += size[i];
    for (int i = 0; i < n; i++) {
        unsigned __int128 exact = (unsigned __int128)size[i] * whole;
        share[i] = sum ? (uint64_t)(exact / sum) : 0;
        rest[i] = sum ? exact % sum : 0;
        left -= share[i];
    }
    if (sum == 0) share[n - 1] = whole;
    for (; sum && left; left--) { /* fewer than n */
        int most = 0;
        for (int i = 1; i < n; i++)
            if (rest[i] > rest[most]) most = i;
        share[most]++;
        rest[most] = 0;
    }
}

/* ------------------------------------------------------------------ bars */

void bar_draw(struct surface *s, struct box b, int column, int row, int columns, const struct bar_part *part, int n,
              enum glyphs glyphs)
{
    const struct look edge = {.hue = HUE_DIM};
    uint64_t size[BAR_PARTS], cells[BAR_PARTS];
    if (columns < 3) return;
    assert(n > 0 && n <= BAR_PARTS);
    for (int i = 0; i < n; i++) size[i] = part[i].size;
    bar_shares(size, n, (uint64_t)columns - 2, cells);
    surface_puts(s, b, column, row, edge_of[glyphs][0], edge);
    for (int i = 0, at = column + 1; i < n; at += (int)cells[i++])
        surface_fill(s, b, at, row, (int)cells[i], bar_glyph(part[i].glyph, glyphs), (struct look){.hue = part[i].hue});
    surface_puts(s, b, column + columns - 1, row, edge_of[glyphs][1], edge);
}

static bool shown(float v) { return isfinite(v) && v >= 0; }

void spark_draw(struct surface *s, struct box b, int column, int row, int columns, const float *value, int n,
                enum hue hue, enum glyphs glyphs)
{
    if (columns <= 0) return;
    int from = MAX(0, n - columns), at = column + MAX(0, columns - n); /* the newest is at the right */
    float top = 0;
    for (int i = from; i < n; i++)
        if (shown(value[i])) top = MAX(top, value[i]);
    for (int i = from; i < n; i++, at++) {
        if (!shown(value[i])) continue;
        int step = top > 0 ? (int)lrintf(value[i] / top * (STEPS - 1)) : 0;
        surface_puts(s, b, at, row, step_of[glyphs][step], (struct look){.hue = (uint8_t)hue});
    }
}

/* ------------------------------------------------------------------ numbers */

const char *figure(char out[FIGURE], uint64_t n)
{
    char digits[FIGURE];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

const char *figure_signed(char out[FIGURE], int64_t n)
{
    out[0] = '-';
    figure(out + (n < 0), n < 0 ? -(uint64_t)n : (uint64_t)n);
    return out;
}

enum { NO_FIGURE_ABOVE = 1000000000 }; /* a rate or a time that is no measurement */

const char *figure_rate(char out[FIGURE], double a_second)
{
    if (!(a_second >= 0 && a_second <= NO_FIGURE_ABOVE)) snprintf(out, FIGURE, "n/a");
    else if (a_second < 0.05) snprintf(out, FIGURE, "0");
    else if (a_second < 9.95) snprintf(out, FIGURE, "%.1f", a_second);
    else figure(out, (uint64_t)llrint(a_second));
    return out;
}

const char *figure_seconds(char out[FIGURE], double seconds)
{
    if (!(seconds >= 0 && seconds <= NO_FIGURE_ABOVE)) snprintf(out, FIGURE, "n/a");
    else if (seconds < 0.9995) snprintf(out, FIGURE, "%lld ms", llrint(seconds * 1e3));
    else if (seconds < 99.95) snprintf(out, FIGURE, "%.1f s", seconds);
    else snprintf(out, FIGURE, "%lld min", llrint(seconds / 60));
    return out;
}

struct bar_unit bar_unit(uint64_t total)
{
    static const struct bar_unit unit[] = {
        {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}};
    size_t i = total < 32ull << 20 ? 0 : total < 1ull << 40 ? 1 : total < 1ull << 50 ? 2 : 3;
    return unit[i];
}

uint64_t bar_units(uint64_t bytes, struct bar_unit u) { return bytes / u.bytes + (bytes % u.bytes >= u.bytes / 2); }

/* ------------------------------------------------------------------ words */

struct word *words_add(struct words *w, enum hue hue, int rank, const char *fmt, ...)
{
    struct word *word = &w->word[MIN(w->n, WORDS - 1)];
    va_list ap;
    *word = (struct word){.hue = (uint8_t)hue, .rank = (uint8_t)rank, .glyph = -1};
    va_start(ap, fmt);
    vsnprintf(word->text, sizeof word->text, fmt, ap);
    va_end(ap);
    w->n = MIN(w->n + 1, WORDS);
    return word;
}

static int word_columns(const struct word *w, int spark)
{
    return (w->past ? spark + 1 : 0) + (w->glyph >= 0 ? 2 : 0) + surface_columns(w->text, strlen(w->text));
}

int words_columns(const struct words *w, int spark)
{
    int columns = 0;
    for (int i = 0; i < w->n; i++) columns += word_columns(&w->word[i], spark) + (i > 0 ? 2 : 0);
    return columns;
}

/* The first of the lowest rank that is not decided yet; -1: all are. */
static int next_word(const struct words *w, const bool *decided)
{
    int best = -1;
    for (int i = 0; i < w->n; i++)
        if (!decided[i] && (best < 0 || w->word[i].rank < w->word[best].rank)) best = i;
    return best;
}

int words_fit(struct words *w, int columns, int spark)
{
    bool decided[WORDS] = {false}, stays[WORDS] = {false};
    int takes = 0, n = 0;
    for (int i; (i = next_word(w, decided)) >= 0; decided[i] = true) {
        int more = word_columns(&w->word[i], spark) + (takes > 0 ? 2 : 0);
        stays[i] = takes + more <= columns;
        if (stays[i]) takes += more;
    }
    for (int i = 0; i < w->n; i++)
        if (stays[i]) w->word[n++] = w->word[i];
    w->n = n;
    return takes;
}

void words_draw(struct surface *s, struct box b, int column, int row, const struct words *w, int spark,
                enum glyphs glyphs)
{
    for (int i = 0; i < w->n; i++) {
        const struct word *word = &w->word[i];
        const struct look look = {.hue = word->hue};
        if (word->past) {
            spark_draw(s, b, column, row, spark, word->past, word->n_past, word->hue, glyphs);
            column += spark + 1;
        }
        if (word->glyph >= 0) {
            surface_puts(s, b, column, row, bar_glyph((enum bar_glyph)word->glyph, glyphs), look);
            column += 2;
        }
        column += surface_puts(s, b, column, row, word->text, look) + 2;
    }
}
