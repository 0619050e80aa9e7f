/* curve_file.c - curves as tables and pictures. */
#include "app/learn/curve.h"

/* ---------------------------------------------------------------- CSV */

/* Names are the caller's own, without commas or quotes. */
void curves_csv(const struct curve *const run[], const char *const name[], int runs, struct buf *out)
{
    buf_puts(out, "run,point,time_s,turns,running,waiting,taken_bytes,filled_bytes,hole_bytes,size_bytes,failed\n");
    for (int k = 0; k < runs; k++)
        for (int i = 0; i < run[k]->n; i++) {
            const struct curve_point *p = &run[k]->point[i];
            buf_printf(out, "%s,%d,%.6f,%d,%d,%d,%lld,%lld,", name[k], i, p->time, p->turns, p->running, p->waiting,
                       (long long)p->taken, (long long)p->filled);
            if (p->hole >= 0) buf_printf(out, "%lld", (long long)p->hole);
            buf_printf(out, ",%lld,%d\n", (long long)run[k]->size, i == run[k]->failed_at);
        }
}

/* ---------------------------------------------------------------- SVG */

enum { PANEL = 420, HIGH = 240, LEFT = 70, TOP = 60, GAP = 40, BELOW = 90 };

static void put_escaped(const char *text, struct buf *out)
{
    for (const char *s = text; *s; s++) {
        if (*s == '&') buf_puts(out, "&amp;");
        else if (*s == '<') buf_puts(out, "&lt;");
        else if (*s == '>') buf_puts(out, "&gt;");
        else if (*s == '"') buf_puts(out, "&quot;");
        else if ((unsigned char)*s >= ' ') buf_put(out, s, 1);
    }
}

static double across(const struct curve *c, int i) { return c->n > 1 ? (double)i * PANEL / (c->n - 1) : 0; }

static double down(int64_t v, int64_t size)
{
    return size > 0 ? HIGH * (1 - MIN((double)v / (double)size, 1.0)) : HIGH;
}

/* An area from the axis up to one figure of each point; what is measured holds until the next is. */
static void put_area(const struct curve *c, int64_t size, bool filled, const char *class, struct buf *out)
{
    buf_printf(out, "<path class=\"%s\" d=\"M0 %d", class, HIGH);
    for (int i = 0; i < c->n; i++) {
        int64_t v = filled ? c->point[i].filled : c->point[i].taken;
        buf_printf(out, " H%.1f V%.1f", across(c, i), down(v, size));
    }
    buf_printf(out, " H%d V%d Z\"/>\n", PANEL, HIGH);
}

static void put_axis(const struct curve *c, int64_t size, struct buf *out)
{
    buf_printf(out, "<path class=\"axis\" d=\"M0 0 V%d H%d\"/>\n", HIGH, PANEL);
    for (int i = 0; i <= 4; i++)
        buf_printf(out, "<text x=\"-8\" y=\"%.1f\" class=\"side\">%.1f</text>\n", HIGH * (1 - i / 4.0) + 4,
                   (double)size * i / 4 / 0x1p20);
    buf_printf(out, "<path class=\"limit\" d=\"M0 %.1f H%d\"/>\n", down(c->size, size), PANEL);
}

static void put_panel(const struct curve *c, const char *name, int at, int64_t size, struct buf *out)
{
    buf_printf(out, "<g transform=\"translate(%d %d)\">\n<text x=\"0\" y=\"-12\" class=\"name\">", at, TOP);
    put_escaped(name, out);
    buf_printf(out, "%s</text>\n", c->failed_at >= 0 ? ": out of memory" : "");
    if (c->n > 0) {
        put_area(c, size, false, "taken", out);
        put_area(c, size, true, "filled", out);
    }
    put_axis(c, size, out);
    if (c->failed_at >= 0) {
        double x = across(c, c->failed_at);
        buf_printf(out, "<path class=\"failed\" d=\"M%.1f 0 V%d\"/>\n<text x=\"%.1f\" y=\"%d\" class=\"failed\">wanted "
                   "%.1f MiB more</text>\n", x, HIGH, x > PANEL / 2.0 ? x - 6 : x + 6, HIGH / 2,
                   (double)c->failed_wanted / 0x1p20);
    }
    buf_printf(out, "<text x=\"0\" y=\"%d\" class=\"below\">%d turn%s, %.2f s</text>\n</g>\n", HIGH + 20, c->turns,
               plural(c->turns), c->n ? c->point[c->n - 1].time : 0);
}

static const char style[] =
    "<style>text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}.name{font-weight:bold}"
    ".side{text-anchor:end}.taken{fill:#c9d7e8}.filled{fill:#3b6ea5}.axis{fill:none;stroke:#222}"
    ".limit{stroke:#222;stroke-dasharray:4 3}path.failed{stroke:#b3261e;stroke-width:2}"
    "text.failed{fill:#b3261e}</style>\n";

void curves_svg(const struct curve *const run[], const char *const name[], int runs, const char *title,
                struct buf *out)
{
    int64_t size = 0;
    int wide = LEFT + runs * (PANEL + GAP + LEFT) - LEFT, high = TOP + HIGH + BELOW;
    for (int k = 0; k < runs; k++) size = MAX(size, run[k]->size);
    buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n",
               wide, high, wide, high);
    buf_puts(out, style);
    buf_printf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"24\" class=\"title\">", wide,
               high, LEFT);
    put_escaped(title, out);
    buf_puts(out, "</text>\n");
    for (int k = 0; k < runs; k++) put_panel(run[k], name[k], LEFT + k * (PANEL + GAP + LEFT), size, out);
    buf_printf(out, "<text x=\"%d\" y=\"%d\">MiB of %s: dark holds something, light is taken and empty, dashed is all "
               "there is</text>\n</svg>\n", LEFT, high - 24, run[0]->ceiling ? "all memory under the ceiling" :
               "the KV pool");
}
