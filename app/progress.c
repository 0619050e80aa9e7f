/* progress.c - see progress.h. */
#include "app/progress.h"
#include "app/say.h"
#include <time.h>

enum { CELLS = 30 };
static const double silence = 1.0, between_bars = 0.1, between_lines = 3.0;

void progress_start(struct progress *p, const char *what, bool terminal, double now)
{
    *p = (struct progress){.what = what, .start = now, .shown = now, .terminal = terminal};
}

/* "": it does not count bytes. */
static const char *figures(const struct progress *p, uint64_t done, uint64_t all, char out[48])
{
    *out = '\0';
    if (p->bytes) snprintf(out, 48, "%.1f of %.1f MiB, ", (double)done / 0x1p20, (double)all / 0x1p20);
    return out;
}

/* "12.0 of 57.2 MiB, 20 %", "12 s" */
static const char *measure(const struct progress *p, uint64_t done, uint64_t all, double now, char out[64])
{
    char bytes[48];
    if (p->waits) snprintf(out, 64, "%.0f s", now - p->start);
    else snprintf(out, 64, "%s%d %%", figures(p, done, all, bytes), (int)(100 * MIN((double)done / (double)all, 1.0)));
    return out;
}

void progress_text(struct progress *p, uint64_t done, uint64_t all, double now, struct buf *out)
{
    double wait = p->terminal ? between_bars : between_lines;
    if (all == 0 || now - p->start < silence || now - p->shown < wait) return;
    double part = MIN((double)done / (double)all, 1.0), left = part > 0 ? (now - p->start) * (1 / part - 1) : 0;
    char bytes[48], far[64];
    p->shown = now;
    if (!p->terminal) {
        buf_printf(out, "%s: %s\n", p->what, measure(p, done, all, now, far));
        return;
    }
    p->drawn = true;
    if (p->waits) {
        buf_printf(out, "\r\033[K%s: %s", p->what, measure(p, done, all, now, far));
        return;
    }
    int full = (int)(part * CELLS);
    buf_printf(out, "\r\033[K%s [%.*s%.*s] %s%3d %%", p->what, full, "##############################", CELLS - full,
               "..............................", figures(p, done, all, bytes), (int)(100 * part));
    if (part > 0 && part < 1) buf_printf(out, "  about %.0f s left", left);
}

/* Whose screen it is draws bars of its own. */
static void tell_elsewhere(struct progress *p, uint64_t done, uint64_t all, double now)
{
    char text[130], far[64];
    if (all == 0 || now - p->start < silence || now - p->shown < between_bars) return;
    p->shown = now;
    p->drawn = true;
    snprintf(text, sizeof text, "%.60s: %s", p->what, measure(p, done, all, now, far));
    say_progress(text);
}

void progress_update(struct progress *p, uint64_t done, uint64_t all, double now)
{
    struct buf b = {0};
    if (say_diverted()) {
        tell_elsewhere(p, done, all, now);
        return;
    }
    progress_text(p, done, all, now, &b);
    say_bytes(b.data, b.len);
    buf_free(&b);
}

void progress_end(struct progress *p)
{
    if (p->drawn && say_diverted()) say_progress("");
    else if (p->drawn) say_bytes("\r\033[K", 4);
    p->drawn = false;
}

double progress_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
