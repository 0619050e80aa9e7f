/* clip_write.c - runs become text, the gaps between them marks, and figures are kept of both; and of all texts that
 * could be written, the best that fits. */
#include "tools/clip_impl.h"

/* ------------------------------------------------------------------ marks */

/* What lies in a gap. */
struct gap { uint64_t at, bytes, lines, items; };

/* What was left out, in the place's own unit, as far as there is one and it counts anything. */
static bool put_items(struct buf *out, const struct gap *g, enum clip_place place)
{
    static const char *const noun[] = {[PLACE_LINES] = "lines", [PLACE_ROWS] = "rows", [PLACE_ARRAY] = "items",
                                       [PLACE_OBJECT] = "members", [PLACE_STRING] = NULL};
    uint64_t n = place == PLACE_LINES ? g->lines : g->items;
    if (!noun[place] || n == 0) return false;
    buf_printf(out, "%llu %s", (unsigned long long)n, noun[place]);
    return true;
}

/* JSON may have many gaps: what is small is said shortly there. */
static void put_mark_text(struct clip_writer *w, const struct gap *g, enum clip_place place)
{
    enum { SMALL = 512 };
    unsigned long long bytes = g->bytes, at = g->at;
    bool json = place != PLACE_LINES && place != PLACE_ROWS;
    if (w->brief) {
        buf_puts(w->out, "[...]");
        return;
    }
    buf_puts(w->out, "[... ");
    bool items = put_items(w->out, g, place);
    if (json && bytes < SMALL && items)
        buf_puts(w->out, " ...]");
    else if (json && bytes < SMALL)
        buf_printf(w->out, "%llu bytes ...]", bytes);
    else
        buf_printf(w->out, "%s%llu bytes from offset %llu left out ...]", items ? ", " : "", bytes, at);
}

/* In JSON a mark is an item that is a string, or a member whose key is one, so that the text stays JSON. */
static void put_mark(struct clip_writer *w, const struct gap *g, enum clip_place place, bool more)
{
    bool line = place == PLACE_LINES || place == PLACE_ROWS;
    if (line || place == PLACE_STRING) {
        put_mark_text(w, g, place);
        if (line && more) buf_puts(w->out, "\n");
        return;
    }
    if (w->last != '[' && w->last != '{') buf_puts(w->out, ", ");
    buf_puts(w->out, "\"");
    put_mark_text(w, g, place);
    buf_puts(w->out, place == PLACE_OBJECT ? "\": \"\"" : "\"");
}

/* Lines that lie wholly between pos and `at`: nothing of them is shown. */
static uint64_t lines_between(const struct clip_writer *w, uint64_t newlines, bool to_open_end)
{
    bool fresh = w->pos == 0 || w->last == '\n';
    uint64_t ends = newlines - w->newlines;
    if (fresh) return ends + to_open_end;
    return ends ? ends - 1 + to_open_end : 0;
}

/* ------------------------------------------------------------------ runs */

static void note_run(struct clip_writer *w, const struct clip_run *run, size_t out)
{
    struct clip_figures *f = w->f;
    struct clip_range *last = f->n_ranges ? &f->range[f->n_ranges - 1] : NULL;
    size_t out_len = w->out->len - w->from - out;
    f->shown_bytes += run->len;
    if (last && last->at + last->len == run->at) {
        last->len += run->len;
        last->out_len += out_len;
    } else if (f->n_ranges == CLIP_RANGES) {
        w->full = true;
    } else {
        f->range[f->n_ranges++] = (struct clip_range){run->at, run->len, out, out_len};
    }
}

static void put_gap(struct clip_writer *w, const struct clip_run *run)
{
    struct gap g = {w->pos, run->at - w->pos, lines_between(w, run->newlines, false), run->items};
    w->f->left_lines += g.lines;
    if (w->inner && w->f->n_ranges == 0) return;
    put_mark(w, &g, run->place, run->fresh);
}

void clip_put(struct clip_writer *w, struct clip_run run)
{
    if (run.at < w->pos) {
        size_t seen = (size_t)MIN(w->pos - run.at, (uint64_t)run.len);
        run.newlines += clip_newlines(run.bytes, seen);
        run.at += seen;
        run.bytes += seen;
        run.len -= seen;
    }
    if (run.len == 0 || w->full) return;
    if (run.at > w->pos) put_gap(w, &run);
    size_t out = w->out->len - w->from;
    clip_filter(run.bytes, run.len, w->out);
    note_run(w, &run, out);
    w->pos = run.at + run.len;
    w->newlines = run.newlines + clip_newlines(run.bytes, run.len);
    w->last = run.bytes[run.len - 1];
}

void clip_put_end(struct clip_writer *w, uint64_t bytes, uint64_t newlines, char ends, enum clip_place place,
                  uint64_t items)
{
    struct clip_figures *f = w->f;
    bool open = bytes > 0 && ends != '\n';
    f->bytes = bytes;
    f->lines = newlines + open;
    if (w->pos < bytes) {
        struct gap g = {w->pos, bytes - w->pos, lines_between(w, newlines, open), items};
        f->left_lines += g.lines;
        if (!w->inner) put_mark(w, &g, place, false);
    }
    f->left_bytes = bytes - f->shown_bytes;
    f->shown_lines = f->lines - f->left_lines;
    f->whole = f->left_bytes == 0;
    f->next = f->n_ranges && (w->inner || f->range[0].at == 0) ? f->range[0].at + f->range[0].len : 0;
}

/* ------------------------------------------------------------------ the best that fits */

struct search {
    const struct clip_config *cfg;
    const struct clip_drawing *d;
    struct buf *out;
    struct clip_figures *f;
    size_t from, tokens; /* tokens: of the last text tried */
    bool brief;
};

static bool fits(struct search *s, uint64_t level)
{
    s->out->len = s->from;
    *s->f = (struct clip_figures){0};
    struct clip_writer w = {.out = s->out, .f = s->f, .from = s->from, .brief = s->brief, .inner = s->d->inner};
    s->d->draw(s->d->self, level, &w);
    if (s->out->failed) return false;
    size_t n = s->out->len - s->from;
    s->tokens = n ? s->cfg->counter.count(s->cfg->counter.self, s->out->data + s->from, n) : 0;
    s->f->tokens = s->tokens;
    if (w.full) s->tokens = SIZE_MAX;
    return s->tokens <= s->cfg->max_tokens;
}

/* A level between two: where a straight line says that it will just fit, not too near to either; or the middle, which
 * bounds the steps. */
static uint64_t between(const struct search *s, uint64_t low, uint64_t low_tokens, uint64_t high, uint64_t high_tokens,
                        bool middle)
{
    uint64_t width = high - low, edge = MAX(width / 32, 1);
    uint64_t want = width / 2;
    if (!middle && high_tokens > low_tokens && high_tokens != SIZE_MAX)
        want = (uint64_t)((double)width * (double)(s->cfg->max_tokens - low_tokens) /
                          (double)(high_tokens - low_tokens));
    return low + MIN(MAX(want, edge), width - edge);
}

bool clip_best(const struct clip_config *cfg, const struct clip_drawing *d, bool brief, struct buf *out,
               struct clip_figures *f)
{
    struct search s = {cfg, d, out, f, out->len, 0, brief};
    uint64_t low = 0, high = d->max, drawn = 0;
    bool ok = fits(&s, 0);
    uint64_t low_tokens = s.tokens, high_tokens;
    if (ok && high > 0 && !fits(&s, drawn = high)) {
        high_tokens = s.tokens;
        /* As near as a sixty-fourth is near enough. */
        for (bool middle = false; high - low > MAX(low / 64, 1); middle = !middle) {
            drawn = between(&s, low, low_tokens, high, high_tokens, middle);
            if (fits(&s, drawn)) {
                low = drawn;
                low_tokens = s.tokens;
            } else {
                high = drawn;
                high_tokens = s.tokens;
            }
        }
        ok = drawn == low || fits(&s, low);
    }
    if (ok && !out->failed) return true;
    out->len = s.from;
    if (out->data) out->data[s.from] = '\0';
    return false;
}
