/* view_watch.c - see view_watch.h. */
#include "app/tui/view_watch.h"
#include "app/tui/table.h"
#include <math.h>

enum { HEAD_ROWS = 3, DETAIL_LEAST = 5, DETAIL_MOST = 13, LABEL = 9, GAP = 2, WORDS_ROWS = 3 };

static const struct look plain = {0}, dim = {.hue = HUE_DIM}, head = {.hue = HUE_HEAD, .attr = LOOK_BOLD};

static const struct { const char *mark; struct look look; } grave_of[] = {
    [WATCH_IDLE] = {" ", {.hue = HUE_DIM}},
    [WATCH_FINE] = {" ", {.hue = HUE_OK}},
    [WATCH_NEAR] = {"~", {.hue = HUE_WARN}},
    [WATCH_BAD] = {"!", {.hue = HUE_ERROR, .attr = LOOK_BOLD}},
};

static double kv_of(const struct load *l) { return l->kv_permille < 0 ? -1 : (double)l->kv_permille / 1000; }

/* ------------------------------------------------------------------ the list */

/* Its address without what most of them begin with. */
static const char *short_of(const struct watched *s)
{
    static const char usual[] = "http://";
    return strncmp(s->at, usual, sizeof usual - 1) == 0 ? s->at + sizeof usual - 1 : s->at;
}

enum column { SERVER, KIND, KV, RUN, WAIT, IN, OUT, FIRST, HIT, LOST, VERDICT, COLUMNS };
static const struct { const char *name; int columns, from; } column_of[COLUMNS] = {
    [SERVER] = {"server", 0, 0}, [KIND] = {"kind", 14, 76},  [KV] = {"KV", 18, 36},     [RUN] = {"run", 5, 50},
    [WAIT] = {"wait", 5, 50},    [IN] = {"in/s", 7, 92},     [OUT] = {"out/s", 7, 64},  [FIRST] = {"first", 8, 112},
    [HIT] = {"hit", 5, 112},     [LOST] = {"lost", 6, 92},   [VERDICT] = {"how it is", 0, 150},
};
enum { SERVER_LEAST = 12, VERDICT_LEAST = 30, MARK = 3 };

static void widths(const struct watch *w, int all, int out[COLUMNS])
{
    int rest = all - MARK, wants = SERVER_LEAST;
    for (int i = 0; i < COLUMNS; i++) {
        out[i] = all >= column_of[i].from ? column_of[i].columns : 0;
        if (out[i] > 0) rest -= out[i] + GAP;
    }
    for (int i = 0; i < w->n; i++) {
        const char *name = short_of(&w->server[i]);
        wants = MAX(wants, surface_columns(name, strlen(name)));
    }
    const bool says = all >= column_of[VERDICT].from;
    out[SERVER] = MAX(MIN(wants, rest - (says ? VERDICT_LEAST + GAP : 0)), 0);
    out[VERDICT] = says ? MAX(rest - GAP - out[SERVER], 0) : 0;
}

/* What is taken of its pool, and how: filled, promised, kept for prompts to come; of others taken alone. */
static int kv_parts(const struct load *l, struct bar_part p[BAR_PARTS])
{
    const int64_t *t = l->tokens;
    if (t[LOAD_RESERVED] >= 0 && t[LOAD_FILLED] >= 0 && t[LOAD_POOL] > 0) {
        const int64_t pool = t[LOAD_POOL], filled = MIN(t[LOAD_FILLED], pool);
        const int64_t promised = MIN(MAX(t[LOAD_RESERVED] - filled, 0), pool - filled);
        const int64_t cached = MIN(MAX(t[LOAD_CACHED], 0), pool - filled - promised);
        p[0] = (struct bar_part){(uint64_t)filled, HUE_KV, BAR_FULL};
        p[1] = (struct bar_part){(uint64_t)promised, HUE_RESERVED, BAR_LIGHT};
        p[2] = (struct bar_part){(uint64_t)cached, HUE_SHARED, BAR_MEDIUM};
        p[3] = (struct bar_part){(uint64_t)(pool - filled - promised - cached), HUE_FREE, BAR_DOT};
        return 4;
    }
    p[0] = (struct bar_part){(uint64_t)l->kv_permille, HUE_KV, BAR_FULL};
    p[1] = (struct bar_part){(uint64_t)(1000 - l->kv_permille), HUE_FREE, BAR_DOT};
    return 2;
}

static void draw_kv(struct surface *s, struct box b, int column, int row, int columns, const struct load *l,
                    enum glyphs glyphs)
{
    struct bar_part p[BAR_PARTS];
    char text[FIGURE];
    enum { PERCENT = 5 };
    if (l->kv_permille >= 0) bar_draw(s, b, column, row, columns - PERCENT, p, kv_parts(l, p), glyphs);
    table_right(s, b, column + columns - PERCENT, row, PERCENT, watch_part(text, kv_of(l)), plain);
}

static const char *cell(const struct watched *s, const struct load *l, enum column c, char out[FIGURE])
{
    const double first = watch_ratio(s, LOAD_FIRST_S, LOAD_FIRST_N);
    switch (c) {
    case KIND: return s->kind == SERVER_OTHER ? "-" : server_name(s->kind);
    case RUN: return watch_count(out, (double)l->running);
    case WAIT: return watch_count(out, (double)l->waiting);
    case IN: return watch_count(out, watch_rate(s, LOAD_PROMPT));
    case OUT: return watch_count(out, watch_rate(s, LOAD_GENERATED));
    case FIRST: return first < 0 ? "-" : figure_seconds(out, first);
    case HIT: return watch_part(out, watch_ratio(s, LOAD_HITS, LOAD_ASKED));
    case LOST: return watch_count(out, l->count[LOAD_LOST]);
    default: return "";
    }
}

static void draw_row(struct surface *s, struct box b, int row, const struct watched *w, const int wide[COLUMNS],
                     bool selected, double now, enum glyphs glyphs)
{
    char verdict[400], text[FIGURE];
    const struct load l = watch_load(w);
    const enum watch_grave g = watch_verdict(w, now, verdict, sizeof verdict);
    const struct look grave = grave_of[g].look;
    int column = MARK;
    if (selected) surface_puts(s, b, 0, row, ">", head);
    surface_puts(s, b, 1, row, grave_of[g].mark, grave);
    for (int c = 0; c < COLUMNS; c++) {
        if (wide[c] == 0) continue;
        const struct look name = selected ? head : plain;
        if (c == SERVER) table_text(s, b, column, row, wide[c], short_of(w), strlen(short_of(w)), name, glyphs);
        else if (c == VERDICT) table_text(s, b, column, row, wide[c], verdict, strlen(verdict), grave, glyphs);
        else if (c == KV) draw_kv(s, b, column, row, wide[c], &l, glyphs);
        else if (c == KIND) surface_puts(s, table_row(b, row), column, 0, cell(w, &l, KIND, text), dim);
        else table_right(s, b, column, row, wide[c], cell(w, &l, (enum column)c, text), plain);
        column += wide[c] + GAP;
    }
}

static void draw_names(struct surface *s, struct box b, int row, const int wide[COLUMNS])
{
    int column = MARK;
    for (int c = 0; c < COLUMNS; c++) {
        if (wide[c] == 0) continue;
        const bool left = c == SERVER || c == KIND || c == KV || c == VERDICT;
        if (left) surface_puts(s, b, column, row, column_of[c].name, dim);
        else table_right(s, b, column, row, wide[c], column_of[c].name, dim);
        column += wide[c] + GAP;
    }
}

/* ------------------------------------------------------------------ the selected one */

enum past { PAST_KV, PAST_RUN, PAST_WAIT, PAST_IN, PAST_OUT, PASTS };

static double grown(const struct watch_sample *a, const struct watch_sample *b, enum load_count which)
{
    const double grew = b->load.count[which] - a->load.count[which], took = b->time - a->time;
    return a->load.count[which] < 0 || grew < 0 || took <= 0 ? -1 : grew / took;
}

/* From the oldest on; how many. */
static int past_of(const struct watched *s, enum past what, float out[WATCH_KEPT])
{
    int n = 0;
    for (uint64_t ago = MIN(s->n_kept, (uint64_t)WATCH_KEPT); ago-- > 0;) {
        const struct watch_sample *at = watch_last(s, ago), *before = watch_last(s, ago + 1);
        double v = -1;
        if (!at) continue;
        switch (what) {
        case PAST_KV: v = kv_of(&at->load); break;
        case PAST_RUN: v = (double)at->load.running; break;
        case PAST_WAIT: v = (double)at->load.waiting; break;
        case PAST_IN: v = before ? grown(before, at, LOAD_PROMPT) : -1; break;
        case PAST_OUT: v = before ? grown(before, at, LOAD_GENERATED) : -1; break;
        case PASTS: break;
        }
        out[n++] = (float)v;
    }
    return n;
}

static bool draw_past(struct surface *s, struct box b, int row, const struct watched *w, enum past what,
                      enum glyphs glyphs)
{
    static const struct { const char *name; enum hue hue; } of[PASTS] = {
        {"KV", HUE_KV}, {"running", HUE_ANSWER}, {"waiting", HUE_WARN}, {"in/s", HUE_HISTORY}, {"out/s", HUE_ANSWER}};
    float value[WATCH_KEPT], most = -1;
    char now[FIGURE], top[FIGURE];
    enum { FIGURES = 26 };
    const int n = past_of(w, what, value), columns = b.columns - LABEL - FIGURES;
    for (int i = 0; i < n; i++) most = MAX(most, value[i]);
    if (n == 0 || most < 0) return false;
    surface_puts(s, b, 0, row, of[what].name, dim);
    if (columns > 4) spark_draw(s, b, LABEL, row, MIN(columns, WATCH_KEPT), value, n, of[what].hue, glyphs);
    const double last = (double)value[n - 1];
    const char *(*const words)(char out[FIGURE], double) = what == PAST_KV ? watch_part : watch_count;
    surface_printf(s, b, LABEL + (columns > 4 ? MIN(columns, WATCH_KEPT) + 1 : 0), row, plain, "%s, at most %s",
                   words(now, last), words(top, (double)most));
    return true;
}

/* By what it is for, where it tells. */
static bool draw_memory(struct surface *s, struct box b, int row, const struct load *l, enum glyphs glyphs)
{
    static const struct { enum ledger_class c; const char *name; uint8_t hue, glyph; } of[] = {
        {LEDGER_WEIGHTS, "weights", HUE_WEIGHTS, BAR_FULL}, {LEDGER_KV, "KV", HUE_KV, BAR_DARK},
        {LEDGER_ACTIVATIONS, "work", HUE_WORK, BAR_MEDIUM}, {LEDGER_TEXT, "text", HUE_HISTORY, BAR_SLASH},
        {LEDGER_TABLES, "tables", HUE_CONTEXT, BAR_LINES}};
    enum { OTHER = COUNT_OF(of), FREE, PARTS };
    struct bar_part p[PARTS];
    struct words words = {0};
    uint64_t sum = 0, shown = 0;
    char all[FIGURE], most[FIGURE];
    const int bar = MIN(40, b.columns / 3);
    if (l->ceiling <= 0) return false;
    for (int c = 0; c < LEDGER_CLASSES; c++) sum += l->bytes[c] > 0 ? (uint64_t)l->bytes[c] : 0;
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        const uint64_t n = l->bytes[of[i].c] > 0 ? (uint64_t)l->bytes[of[i].c] : 0;
        shown += n;
        p[i] = (struct bar_part){n, of[i].hue, of[i].glyph};
        struct word *word = words_add(&words, (enum hue)of[i].hue, 2, "%s %s", of[i].name, table_bytes(all, n));
        word->glyph = (int8_t)of[i].glyph;
    }
    p[OTHER] = (struct bar_part){sum - shown, HUE_OUTSIDE, BAR_BACKSLASH};
    p[FREE] = (struct bar_part){(uint64_t)l->ceiling > sum ? (uint64_t)l->ceiling - sum : 0, HUE_FREE, BAR_DOT};
    if (sum > shown)
        words_add(&words, HUE_OUTSIDE, 3, "other %s", table_bytes(all, sum - shown))->glyph = BAR_BACKSLASH;
    words_add(&words, HUE_TEXT, 1, "%s of %s", table_bytes(all, sum), table_bytes(most, (uint64_t)l->ceiling));
    words_fit(&words, b.columns - LABEL - bar - 1, 0);
    surface_puts(s, b, 0, row, "memory", dim);
    bar_draw(s, b, LABEL, row, bar, p, PARTS, glyphs);
    words_draw(s, b, LABEL + bar + 1, row, &words, 0, glyphs);
    return true;
}

static int draw_wrapped(struct surface *s, struct box b, int row, const char *text, struct look look)
{
    int rows = 0;
    for (size_t n = strlen(text); n > 0 && rows < WORDS_ROWS; rows++) {
        const size_t line = surface_break(text, n, b.columns);
        surface_text(s, b, 0, row + rows, text, line, look, NULL);
        text += line;
        n -= line;
    }
    return rows;
}

static void draw_details(struct surface *s, struct box b, const struct watched *w, double now, enum glyphs glyphs)
{
    char verdict[400];
    const struct load l = watch_load(w);
    const enum watch_grave g = watch_verdict(w, now, verdict, sizeof verdict);
    int column = surface_puts(s, b, 0, 0, w->at, head) + GAP, row = 1;
    if (w->kind != SERVER_OTHER) column += surface_puts(s, b, column, 0, server_name(w->kind), plain) + GAP;
    surface_puts(s, b, column, 0, w->model, dim);
    row += draw_wrapped(s, b, row, verdict, grave_of[g].look);
    for (int what = 0; what < PASTS; what++) row += draw_past(s, b, row, w, (enum past)what, glyphs);
    draw_memory(s, b, row, &l, glyphs);
}

/* ------------------------------------------------------------------ the whole */

static void draw_head(struct surface *s, struct box b, const struct watch *w, double now)
{
    int of[WATCH_BAD + 1] = {0};
    char verdict[400];
    for (int i = 0; i < w->n; i++) of[watch_verdict(&w->server[i], now, verdict, sizeof verdict)]++;
    int column = surface_puts(s, b, 1, 0, "plimsoll watch", head) + 3;
    column += surface_printf(s, b, column, 0, plain, "%d server%s", w->n, w->n == 1 ? "" : "s") + GAP;
    for (int g = WATCH_BAD; g >= WATCH_NEAR; g--) {
        const char *words = g == WATCH_BAD ? "in trouble" : "near it";
        const struct look look = grave_of[g].look;
        if (of[g]) column += surface_printf(s, b, column, 0, look, "%s %d %s", grave_of[g].mark, of[g], words) + GAP;
    }
    surface_printf(s, b, column, 0, dim, "asked every %g s", w->every);
}

static const char help_text[] =
    "KV       part of its KV pool that is taken; where it tells: filled, promised, kept for prompts to come\n"
    "run      requests that it computes\n"
    "wait     requests that wait for room\n"
    "in/s     tokens of prompts a second\n"
    "out/s    tokens of answers a second\n"
    "first    seconds to the first token; the last minute\n"
    "hit      part of the prompts that was known; the last minute\n"
    "lost     requests whose KV pages were taken away, since it began\n"
    "\n"
    "Up Down  another server\n"
    "q        leaves";

static void draw_help(struct view_watch *v, struct surface *s, struct box b)
{
    const struct box in = {1, 1, MAX(b.columns - 2, 1), MAX(b.rows - 2, 0)};
    pager_draw(&v->pager, s, in, help_text, sizeof help_text - 1, plain);
    v->help_rows = in.rows;
    const bool more = v->pager.top + in.rows < v->pager.rows;
    surface_puts(s, b, 1, b.rows - 1, more ? "? Esc back  PgDn more" : "? Esc back", dim);
}

void view_watch_close(struct view_watch *v) { pager_close(&v->pager); }

void view_watch_draw(struct view_watch *v, const struct watch *w, double now, struct surface *s)
{
    const struct box all = surface_all(s);
    int wide[COLUMNS];
    surface_clear(s, all, plain);
    s->cursor_column = s->cursor_row = -1;
    if (v->help) {
        draw_help(v, s, all);
        return;
    }
    const int room = all.rows - HEAD_ROWS - 1, listed = MIN(w->n, MAX(room - DETAIL_MOST, 1));
    const int below = MIN(room - listed - 1, DETAIL_MOST);
    const int details = below >= DETAIL_LEAST ? below : 0;
    v->seen = MAX(room - details - (details > 0), 0);
    list_fit(&v->list, w->n, v->seen);
    widths(w, all.columns, wide);
    draw_head(s, all, w, now);
    draw_names(s, all, HEAD_ROWS - 1, wide);
    for (int i = v->list.top; i < w->n && i - v->list.top < v->seen; i++)
        draw_row(s, all, HEAD_ROWS + i - v->list.top, &w->server[i], wide, i == v->list.selected, now, v->glyphs);
    const int rule = HEAD_ROWS + MIN(v->seen, w->n);
    if (details) {
        const struct box b = {1, rule + 1, all.columns - 2, MIN(all.rows - rule - 2, DETAIL_MOST)};
        surface_fill(s, all, 0, rule, all.columns, bar_glyph(BAR_THIN, v->glyphs), dim);
        draw_details(s, b, &w->server[v->list.selected], now, v->glyphs);
    }
    surface_puts(s, all, 1, all.rows - 1, "Up Down server  ? help  q leave", dim);
}

bool view_watch_key(struct view_watch *v, const struct watch *w, const struct key *k)
{
    const bool letter = k->name == KEY_CHAR && !(k->mods & (KEY_CTRL | KEY_ALT));
    if (v->help) {
        v->help = !(k->name == KEY_ESCAPE || (letter && k->rune == '?'));
        if (v->help) pager_key(&v->pager, k, MAX(v->help_rows, 1));
        return !(letter && k->rune == 'q');
    }
    if (letter && k->rune == '?') return v->help = true;
    return list_key(&v->list, k, w->n, MAX(v->seen, 1));
}
