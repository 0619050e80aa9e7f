/* chart.c - see chart.h. */
#include "tests/bench/chart.h"
#include <math.h>

enum { WIDTH = 940, LEFT = 150, BAR = 480, NOTE = LEFT + BAR + 14, EDGE = 16, THICK = 9, ROW = 30, LINE = 17 };

static const char style[] =
    "<style>\n"
    "text { font-family: system-ui, sans-serif; font-size: 12px; fill: #1f2328 }\n"
    ".title { font-size: 17px; font-weight: 600 }\n"
    ".panel { font-size: 13px; font-weight: 600 }\n"
    ".small { font-size: 11px; fill: #59636e }\n"
    ".end { text-anchor: end }\n"
    ".page { fill: #ffffff }\n"
    ".ours { fill: #0969da }\n"
    ".peer { fill: #9aa4af }\n"
    ".axis { stroke: #d1d9e0 }\n"
    ".must { stroke: #bc4c00; stroke-width: 2 }\n"
    ".good { stroke: #1a7f37; stroke-width: 2 }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e6edf3 }\n"
    ".small { fill: #9198a1 }\n"
    ".page { fill: #0d1117 }\n"
    ".ours { fill: #4493f8 }\n"
    ".peer { fill: #656c76 }\n"
    ".axis { stroke: #3d444d }\n"
    ".must { stroke: #f0883e }\n"
    ".good { stroke: #3fb950 }\n"
    "}\n"
    "</style>\n";

/* How many bytes a character of UTF-8 that XML allows has here; 0: it is none. */
static size_t character(const unsigned char *s)
{
    if (*s < 0x80) return *s >= 0x20 && *s != 0x7f;
    size_t n = *s >= 0xf0 && *s < 0xf5 ? 4 : *s >= 0xe0 && *s < 0xf0 ? 3 : *s >= 0xc2 && *s < 0xe0 ? 2 : 0;
    uint32_t code = n ? *s & (0xffu >> (n + 1)) : 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    bool shortest = n == 2 || (n == 3 && code >= 0x800) || (n == 4 && code >= 0x10000 && code <= 0x10ffff);
    bool surrogate = code >= 0xd800 && code < 0xe000, none = code == 0xfffe || code == 0xffff;
    return shortest && !surrogate && !none ? n : 0;
}

static void put_text(struct buf *out, const char *text)
{
    for (const char *at = text; *at;) {
        size_t n = character((const unsigned char *)at);
        if (*at == '&') buf_puts(out, "&amp;");
        else if (*at == '<') buf_puts(out, "&lt;");
        else if (*at == '>') buf_puts(out, "&gt;");
        else if (n == 0) buf_puts(out, "?");
        else buf_put(out, at, n);
        at += MAX(n, 1);
    }
}

static void put_label(struct buf *out, int x, int y, const char *class, const char *text)
{
    buf_printf(out, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, class);
    put_text(out, text);
    buf_puts(out, "</text>\n");
}

/* ------------------------------------------------------------------- a row */

static double known(double v) { return isfinite(v) && v > 0 ? v : 0; }

/* A round number at or above the most of a panel. */
static double top_of(const struct chart_panel *p)
{
    static const double step[] = {1, 1.5, 2, 3, 4, 5, 6, 8, 10};
    double most = 0;
    for (int i = 0; i < p->rows; i++) {
        const struct chart_row *r = &p->row[i];
        most = MAX(most, MAX(MAX(known(r->ours), known(r->peer)), MAX(known(r->must), known(r->good))));
    }
    if (most <= 0) return 1;
    double unit = pow(10, floor(log10(most)));
    for (size_t i = 0; i < COUNT_OF(step); i++)
        if (step[i] * unit >= most) return step[i] * unit;
    return 10 * unit;
}

static void put_bar(struct buf *out, int y, double v, double top, const char *class)
{
    if (known(v) <= 0) return;
    buf_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" class=\"%s\"/>\n", LEFT, y, BAR * v / top,
               THICK, class);
}

static void put_mark(struct buf *out, int y, double v, double top, const char *class)
{
    if (known(v) <= 0) return;
    double x = LEFT + BAR * v / top;
    buf_printf(out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" class=\"%s\"/>\n", x, y - 3, x, y + THICK + 2,
               class);
}

static void put_row(struct buf *out, const struct chart_row *r, double top, int y)
{
    put_label(out, LEFT - 8, y + THICK + 1, "end", r->label);
    put_bar(out, y, r->ours, top, "ours");
    put_bar(out, y + THICK + 1, r->peer, top, "peer");
    put_mark(out, y, r->must, top, "must");
    put_mark(out, y, r->good, top, "good");
    put_label(out, NOTE, y + THICK + 1, "small", r->note);
}

/* Returns where the next one begins. */
static int put_panel(struct buf *out, const struct chart_panel *p, int y)
{
    enum { TICKS = 4 };
    double top = top_of(p);
    int first = y + 30, last = first + p->rows * ROW;
    put_label(out, EDGE, y + 14, "panel", p->title);
    for (int i = 0; i <= TICKS; i++) {
        int x = LEFT + BAR * i / TICKS;
        buf_printf(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" class=\"axis\"/>\n", x, first - 6, x, last - 4);
        buf_printf(out, "<text x=\"%d\" y=\"%d\" class=\"small\" text-anchor=\"middle\">%g</text>\n", x, last + 10,
                   top * i / TICKS);
    }
    for (int i = 0; i < p->rows; i++) put_row(out, &p->row[i], top, first + i * ROW);
    return last + 26;
}

/* ------------------------------------------------------------------ the file */

static int put_legend(struct buf *out, int y)
{
    static const char *const bar[] = {"ours", "peer"}, *const mark[] = {"must", "good"};
    int x = LEFT;
    for (int i = 0; i < 2; i++, x += 80) {
        buf_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"18\" height=\"%d\" class=\"%s\"/>\n", x, y, THICK, bar[i]);
        put_label(out, x + 24, y + THICK, "small", bar[i]);
    }
    for (int i = 0; i < 2; i++, x += 80) {
        buf_printf(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" class=\"%s\"/>\n", x + 8, y - 3, x + 8,
                   y + THICK + 2, mark[i]);
        put_label(out, x + 16, y + THICK, "small", mark[i]);
    }
    return y + 24;
}

static int height_of(const struct chart *c)
{
    int y = 34 + c->lines * LINE + 6 + 24;
    for (int i = 0; i < c->panels; i++) y += 56 + c->panel[i].rows * ROW;
    return y + 4;
}

void chart_write(const struct chart *c, struct buf *out)
{
    int height = height_of(c), y = 34;
    buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                    "role=\"img\">\n<title>", WIDTH, height, WIDTH, height);
    put_text(out, c->title);
    buf_printf(out, "</title>\n%s<rect width=\"%d\" height=\"%d\" class=\"page\"/>\n", style, WIDTH, height);
    put_label(out, EDGE, 26, "title", c->title);
    for (int i = 0; i < c->lines; i++, y += LINE) put_label(out, EDGE, y + 12, "small", c->line[i]);
    y = put_legend(out, y + 6);
    for (int i = 0; i < c->panels; i++) y = put_panel(out, &c->panel[i], y);
    buf_puts(out, "</svg>\n");
}
