/* view_verdict.c - the card: rows below each other within a frame, scrolled where they are more than there is room. */
#include "app/tui/view_verdict.h"
#include "app/learn/remedy.h"
#include "app/term_filter.h"
#include "app/tui/table.h"

enum { LABEL = 11, FRAME = 2, WIDTH_MOST = 116, TEXT_WIDTH = 100, ELSEWHERE_ROWS = 2, SHORT_KEYS = 44 };

static const struct look plain, dim = {.hue = HUE_DIM}, head = {.hue = HUE_ERROR, .attr = LOOK_BOLD},
                                key_look = {.hue = HUE_KEY}, label_look = {.hue = HUE_HEAD};

void card_show(struct card *c, const struct verdict *v, bool own)
{
    *c = (struct card){.on = true, .own = own, .question = -1, .v = *v};
}

/* ------------------------------------------------------------------ rows */

struct sheet {
    struct surface *s; /* NULL: rows are counted alone */
    struct box b;
    int row;           /* the next, of the box: above it at first, when it is scrolled */
};

static void put_at(struct sheet *h, int column, const char *text, size_t n, struct look look)
{
    if (h->s && h->row >= 0 && h->row < h->b.rows) surface_text(h->s, h->b, column, h->row, text, n, look, NULL);
}

/* A text in as many rows as it needs, `label` before the first.  right: columns that the first row leaves free. */
static void put(struct sheet *h, const char *label, int indent, const char *text, struct look look, int right)
{
    const size_t n = strlen(text);
    size_t at = 0;
    put_at(h, 0, label, strlen(label), label_look);
    do {
        const int columns = MAX(h->b.columns - indent - (at == 0 ? right : 0), 8);
        const size_t part = n > at ? surface_break(text + at, n - at, columns) : 0;
        put_at(h, indent, text + at, part, look);
        h->row++;
        at += part;
    } while (at < n);
}

static void put_lines(struct sheet *h, const char *label, const char line[][VERDICT_TEXT], int n)
{
    for (int i = 0; i < n; i++) put(h, i == 0 ? label : "", LABEL, line[i], plain, 0);
}

static bool can_apply(const struct card *c, int i) { return c->own && c->v.fix[i].apply != APPLY_NOTHING; }

static void put_fix(struct sheet *h, const struct card *c, int i)
{
    const struct verdict_fix *f = &c->v.fix[i];
    char frees[VERDICT_BYTES + 16] = "", size[VERDICT_BYTES], number[16];
    if (f->frees >= 0)
        snprintf(frees, sizeof frees, "%s %s%s", f->demand ? "asks for" : "frees",
                 verdict_bytes((uint64_t)f->frees, size), f->demand ? " less" : "");
    const int right = (int)strlen(frees), row = h->row;
    snprintf(number, sizeof number, "%d", i + 1);
    put_at(h, LABEL, number, strlen(number), can_apply(c, i) ? key_look : dim);
    put(h, i == 0 ? "fixes" : "", LABEL + 3, f->what, plain, right > 0 ? right + 2 : 0);
    const int below = h->row;
    h->row = row;
    if (right > 0) put_at(h, MAX(h->b.columns - right, 0), frees, strlen(frees), (struct look){.hue = HUE_OK});
    h->row = below;
    if (*f->how) put(h, "", LABEL + 3, f->how, dim, 0);
}

static void put_figures(struct sheet *h, const struct verdict *v)
{
    struct buf all = {0};
    char one[VERDICT_TEXT];
    for (int i = 0; i < v->figures; i++)
        buf_printf(&all, "%s%s", i > 0 ? ", " : "", verdict_figure_text(&v->figure[i], one));
    if (all.len > 0 && !all.failed) put(h, "figures", LABEL, all.data, plain, 0);
    buf_free(&all);
}

static int choices(const struct explain_ask *q)
{
    int n = 0;
    while (n < CHOICES && q->choice[n].key) n++;
    return n;
}

/* What the text does not say, and whoever pasted it may know. */
static void put_question(struct sheet *h, const struct explain_ask *q)
{
    put(h, "ask", LABEL, q->words, plain, 0);
    for (int i = 0; i < choices(q); i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", i + 1);
        put_at(h, LABEL, number, strlen(number), key_look);
        put(h, "", LABEL + 3, q->choice[i].words, plain, 0);
    }
}

static void put_verdict(struct sheet *h, const struct card *c)
{
    const struct verdict *v = &c->v;
    char one[VERDICT_TEXT];
    if (*v->what) put(h, "", 0, v->what, (struct look){.attr = LOOK_BOLD}, 0);
    if (*v->where) put(h, "", 0, v->where, plain, 0);
    put(h, "", 0, verdict_about(v, one), dim, 0);
    put_lines(h, "evidence", v->evidence, v->evidences);
    put_lines(h, "not", v->not_it, v->nots);
    for (int i = 0; i < v->fixes; i++) put_fix(h, c, i);
    if (c->question >= 0) put_question(h, &explain_ask[c->question]);
    else put_lines(h, "next", v->next, v->nexts);
    put_figures(h, v);
}

static void put_elsewhere(struct sheet *h, const struct card *c)
{
    struct buf text = {0};
    remedy_text(c->v.cause, ELSEWHERE_ROWS, h->b.columns, &text);
    if (text.len == 0 || text.failed) put(h, "", 0, "no other program has a name for it", dim, 0);
    for (size_t at = 0; !text.failed && at < text.len;) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        const size_t n = end ? (size_t)(end - text.data) - at : text.len - at;
        put_at(h, 0, text.data + at, n, n > 0 && text.data[at] != ' ' ? label_look : plain);
        h->row++;
        at += n + 1;
    }
    buf_free(&text);
}

static int put_all(struct sheet *h, const struct card *c)
{
    const int from = h->row;
    if (c->elsewhere) put_elsewhere(h, c);
    else put_verdict(h, c);
    return h->row - from;
}

/* ------------------------------------------------------------------ the frame */

/* Keys as "KEY words", so far as there is room. */
static void put_keys(const struct card *c, struct surface *s, struct box b)
{
    char apply[40] = "", last = '\0', first = '\0';
    for (int i = 0; i < c->v.fixes && i < 9 && !c->elsewhere; i++)
        if (can_apply(c, i)) last = (char)('1' + i), first = first ? first : last;
    const int answers = c->question >= 0 && !c->elsewhere ? choices(&explain_ask[c->question]) : 0;
    if (answers > 0) first = '1', last = (char)('0' + answers);
    if (first && first == last) snprintf(apply, sizeof apply, "%c", first);
    else if (first) snprintf(apply, sizeof apply, "%c-%c", first, last);
    const bool more = c->rows > c->seen;
    const struct { const char *key, *words; } each[] = {
        {apply, answers > 0 ? "answer" : b.columns < SHORT_KEYS ? "apply" : "apply, ask again"}, {"Esc", "close"},
        {more ? "PgDn" : "", "more"}, {"f", c->elsewhere ? "back" : "elsewhere"}, {"e", "to a file"}, {"c", "copy"}};
    int x = 0;
    for (size_t i = 0; i < COUNT_OF(each); i++) {
        const int takes = (int)(strlen(each[i].key) + strlen(each[i].words)) + 1;
        if (!*each[i].key || x + takes > b.columns) continue;
        x += surface_puts(s, b, x, 0, each[i].key, key_look) + 1;
        x += surface_puts(s, b, x, 0, each[i].words, dim) + 2;
    }
}

static void frame(struct surface *s, struct box b, const char *title, bool utf8)
{
    surface_clear(s, b, plain);
    surface_fill(s, b, 0, 0, b.columns, utf8 ? "─" : "-", head);
    surface_fill(s, b, 0, b.rows - 1, b.columns, utf8 ? "─" : "-", head);
    surface_fill_down(s, b, 0, 0, b.rows, utf8 ? "│" : "|", head);
    surface_fill_down(s, b, b.columns - 1, 0, b.rows, utf8 ? "│" : "|", head);
    surface_puts(s, b, 0, 0, utf8 ? "┌" : "+", head);
    surface_puts(s, b, b.columns - 1, 0, utf8 ? "┐" : "+", head);
    surface_puts(s, b, 0, b.rows - 1, utf8 ? "└" : "+", head);
    surface_puts(s, b, b.columns - 1, b.rows - 1, utf8 ? "┘" : "+", head);
    surface_printf(s, (struct box){b.column + FRAME, b.row, MAX(b.columns - 2 * FRAME, 0), 1}, 0, 0, head, " %s ",
                   title);
}

void card_draw(struct card *c, struct surface *s, struct box b, enum glyphs glyphs)
{
    char title[VERDICT_TEXT];
    const int columns = b.columns < WIDTH_MOST + 8 ? b.columns : WIDTH_MOST, inside = columns - 2 * FRAME;
    if (!c->on || b.rows < 4 || inside < 8) return;
    struct sheet h = {.b = {0, 0, inside, INT32_MAX}};
    c->rows = put_all(&h, c);
    c->seen = MIN(c->rows, b.rows - 3);
    c->top = MAX(0, MIN(c->top, c->rows - c->seen));
    const int rows = c->seen + 3;
    const struct box all = {b.column + (b.columns - columns) / 2, b.row + b.rows - rows, columns, rows};
    const struct box in = {all.column + FRAME, all.row + 1, inside, c->seen};
    frame(s, all, verdict_title(&c->v, title), glyphs == GLYPHS_UTF8);
    h = (struct sheet){.s = s, .b = in, .row = -c->top};
    put_all(&h, c);
    put_keys(c, s, (struct box){in.column, in.row + in.rows, in.columns, 1});
}

/* ------------------------------------------------------------------ keys */

static bool scroll(struct card *c, const struct key *k)
{
    int by = 0;
    if (k->name == KEY_UP) by = -1;
    else if (k->name == KEY_DOWN) by = 1;
    else if (k->name == KEY_PAGE_UP) by = -MAX(c->seen - 1, 1);
    else if (k->name == KEY_PAGE_DOWN) by = MAX(c->seen - 1, 1);
    else if (k->name == KEY_HOME) by = -c->rows;
    else if (k->name == KEY_END) by = c->rows;
    else return false;
    c->top = MAX(0, MIN(c->top + by, c->rows - c->seen));
    return true;
}

enum card_wish card_key(struct card *c, const struct key *k, int *place)
{
    const bool letter = k->name == KEY_CHAR && !(k->mods & (KEY_CTRL | KEY_ALT));
    if (k->name == KEY_ESCAPE) return CARD_CLOSE;
    if (scroll(c, k)) return CARD_NOTHING;
    if (!letter) return CARD_NOT_ITS;
    if (k->rune == 'e') return CARD_FILE;
    if (k->rune == 'c') return CARD_COPY;
    if (k->rune == 'f') {
        c->elsewhere = !c->elsewhere;
        c->top = 0;
        return CARD_NOTHING;
    }
    if (k->rune < '1' || k->rune > '9') return CARD_NOT_ITS;
    if (c->elsewhere) return CARD_NOTHING; /* what it would choose is not in sight */
    *place = (int)(k->rune - '1');
    if (c->question >= 0) return *place < choices(&explain_ask[c->question]) ? CARD_ANSWER : CARD_NOTHING;
    return *place < c->v.fixes && can_apply(c, *place) ? CARD_APPLY : CARD_NOTHING;
}

void card_text(const struct card *c, struct buf *out)
{
    struct buf said = {0};
    verdict_text(&c->v, TEXT_WIDTH, &said);
    if (!said.failed) term_filter_text(said.data, said.len, false, out); /* a file is shown by whatever shows files */
    out->failed |= said.failed;
    buf_free(&said);
    buf_puts(out, "\nWhat that is called elsewhere:\n\n");
    remedy_text(c->v.cause, ELSEWHERE_ROWS, TEXT_WIDTH, out);
}
