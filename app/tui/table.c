/* table.c - see table.h. */
#include "app/tui/table.h"
#include <inttypes.h>
#include <time.h>

void table_text(struct surface *s, struct box b, int column, int row, int columns, const char *text, size_t n,
                struct look look, enum glyphs glyphs)
{
    columns = MIN(columns, b.columns - column);
    if (columns <= 0 || row < 0 || row >= b.rows) return;
    const struct box cell = {b.column + column, b.row + row, columns, 1};
    size_t used = 0;
    surface_text(s, cell, 0, 0, text, n, look, &used);
    if (used == n || text[used] == '\n') return;
    if (!(look.attr & LOOK_REVERSE)) look.hue = HUE_DIM;
    surface_puts(s, cell, columns - 1, 0, glyphs == GLYPHS_ASCII ? "~" : "…", look);
}

void table_middle(const char *text, int columns, enum glyphs glyphs, char *out, size_t size)
{
    const size_t n = strlen(text);
    const int all = surface_columns(text, n);
    size_t head = 0, tail = 0;
    if (all <= columns) {
        snprintf(out, size, "%s", text);
        return;
    }
    for (int x = 0; head < n;) { /* the smaller half before the mark: a path's last name says most */
        const struct cluster c = surface_cluster(text + head, n - head, x);
        if ((x += c.columns) > (columns - 1) / 2) break;
        head += c.bytes;
    }
    for (int x = 0; tail < n && all - x > columns - 1 - (columns - 1) / 2;) {
        const struct cluster c = surface_cluster(text + tail, n - tail, x);
        x += c.columns;
        tail += c.bytes;
    }
    snprintf(out, size, "%.*s%s%s", (int)head, text, glyphs == GLYPHS_ASCII ? "~" : "…", text + tail);
}

void table_right(struct surface *s, struct box b, int column, int row, int columns, const char *text, struct look look)
{
    const int takes = surface_columns(text, strlen(text));
    if (takes <= columns && column + columns <= b.columns) /* whole or not at all: a part of a number is another */
        surface_puts(s, b, column + columns - takes, row, text, look);
}

const char *table_age(char out[FIGURE], int64_t now_ms, int64_t then_ms)
{
    static const struct { int64_t ms; const char *name; } unit[] = {
        {60000, "minute"}, {3600000, "hour"}, {86400000, "day"}, {7 * 86400000ll, "week"}, {365 * 86400000ll, "year"},
    };
    int64_t ms;
    if (__builtin_sub_overflow(now_ms, then_ms, &ms)) ms = then_ms > now_ms ? -INT64_MAX : INT64_MAX;
    size_t i = COUNT_OF(unit);
    while (i > 0 && ms < unit[i - 1].ms) i--;
    const int64_t n = i > 0 ? ms / unit[i - 1].ms : 0;
    if (ms < -60000) snprintf(out, FIGURE, "in the future");
    else if (i == 0) snprintf(out, FIGURE, "just now");
    else if (i == 3 && n == 1) snprintf(out, FIGURE, "yesterday");
    else snprintf(out, FIGURE, "%" PRId64 " %s%s ago", MIN(n, 9999), unit[i - 1].name, n == 1 ? "" : "s");
    return out;
}

const char *table_time(char out[FIGURE], int64_t ms)
{
    const time_t t = (time_t)(ms / 1000);
    struct tm tm;
    if (!localtime_r(&t, &tm) || strftime(out, FIGURE, "%Y-%m-%d %H:%M", &tm) == 0) snprintf(out, FIGURE, "unknown");
    return out;
}

const char *table_bytes(char out[FIGURE], uint64_t bytes)
{
    static const char *const name[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t i = 0;
    double n = (double)bytes;
    while (n >= 999.5 && i + 1 < COUNT_OF(name)) {
        n /= 1024;
        i++;
    }
    snprintf(out, FIGURE, i > 0 && n < 9.95 ? "%.1f %s" : "%.0f %s", n, name[i]);
    return out;
}
