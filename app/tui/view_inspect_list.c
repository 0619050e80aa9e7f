/* view_inspect_list.c - the inspector's list: a row a part of the call, with the keys that free or pin it. */
#include "app/tui/view_inspect_impl.h"

enum { WIDE = 92, LEAST = 8 /* columns that first words are worth showing in */ };

struct box inspect_part(struct box b, int column, int row, int columns, int rows)
{
    column = MIN(MAX(column, 0), MAX(b.columns, 0));
    row = MIN(MAX(row, 0), MAX(b.rows, 0));
    return (struct box){b.column + column, b.row + row, MAX(MIN(columns, b.columns - column), 0),
                        MAX(MIN(rows, b.rows - row), 0)};
}

/* Where each begins, in columns; 0: it is left out. */
struct columns { int name, who, turn, tokens, bytes, words, keys, end; };

static struct columns columns_of(int columns)
{
    struct columns c = {.name = 15, .end = columns};
    const bool narrow = columns < INSPECT_NARROW, wide = columns >= WIDE;
    c.who = narrow ? 0 : 25;
    c.turn = wide ? 36 : 0;
    c.tokens = narrow ? 22 : wide ? 41 : 36;
    c.bytes = wide ? 49 : 0;
    c.words = narrow ? 31 : wide ? 60 : 45;
    c.keys = columns - (wide ? 14 : 4);
    if (c.keys - c.words - 1 < LEAST) c.words = 0;
    if (c.keys < c.tokens + 8) c.keys = columns;
    return c;
}

static const char *keys_of(const struct inspect *x, const struct inspect_row *r, bool wide)
{
    if (r->can & INSPECT_UNPIN) return wide ? "u unpin" : "u";
    if (r->can & INSPECT_DROP) return wide ? "x drop  p pin" : "x p";
    if (r->can & INSPECT_PIN) return wide ? "        p pin" : "  p";
    const bool summary = strcmp(r->kind, "summary") == 0;
    if (summary && x->diff.len > 0) return wide ? "d diff" : "d";
    return strcmp(r->kind, "left out") == 0 && x->compact > 0 ? wide ? "c compact" : "c" : "";
}

static void draw_heads(struct surface *s, struct box b, const struct columns *c)
{
    const struct look look = {.hue = HUE_DIM};
    const int room = c->end - c->keys;
    surface_puts(s, b, 3, 0, "part", look);
    surface_puts(s, b, c->name, 0, "name", look);
    if (c->who) surface_puts(s, b, c->who, 0, "said by", look);
    if (c->turn) surface_puts(s, b, c->turn, 0, "turn", look);
    surface_puts(s, b, c->tokens + 1, 0, "tokens", look);
    if (c->bytes) surface_puts(s, b, c->bytes + 4, 0, "bytes", look);
    if (c->words) surface_puts(s, inspect_part(b, c->words, 0, c->keys - 1 - c->words, 1), 0, 0, "first words", look);
    surface_puts(s, inspect_part(b, c->keys, 0, room, 1), 0, 0, room > 4 ? "keys" : "key", look);
}

/* A field of its own box: what is longer does not run into the next. */
static void field(struct surface *s, struct box b, int column, int end, const char *text, size_t n, struct look look)
{
    surface_text(s, inspect_part(b, column, 0, MAX(end - column - 1, 0), 1), 0, 0, text, n, look, NULL);
}

static void draw_words(struct surface *s, struct box b, const struct columns *c, const struct inspect *x,
                       const struct inspect_row *r, struct look look)
{
    if (!c->words) return;
    if (r->len == 0) {
        field(s, b, c->words, c->keys, "here the model goes on", 22, look);
        return;
    }
    const char *text = x->texts.data + r->text, *end = text + r->len;
    while (text < end && (*text == '\n' || *text == ' ' || *text == '\r' || *text == '\t')) text++;
    field(s, b, c->words, c->keys, text, (size_t)MIN(end - text, 4096), look);
}

/* The selected row is one bar: colours of its fields would make patches of its ground. */
static struct look row_look(bool selected, enum hue hue)
{
    return list_look(selected, (struct look){.hue = (uint8_t)(selected ? HUE_TEXT : hue)});
}

static void draw_row(struct surface *s, struct box b, const struct columns *c, const struct inspect *x, int i,
                     bool selected, enum glyphs glyphs)
{
    const struct inspect_row *r = &x->row[i];
    const enum context_part part = (enum context_part)(r->part % CONTEXT_PARTS);
    const struct look plain = row_look(selected, r->line ? HUE_DIM : HUE_TEXT), dim = row_look(selected, HUE_DIM);
    const struct look hue = row_look(selected, context_part_hue(part));
    char number[FIGURE], name[80];
    surface_clear(s, b, list_look(selected, (struct look){0}));
    surface_puts(s, b, 1, 0, context_part_glyph(part, glyphs), hue);
    field(s, b, 3, c->name, r->kind, strlen(r->kind), hue);
    snprintf(name, sizeof name, "%s%s%s", r->name, *r->whole ? " " : "", r->whole);
    field(s, b, c->name, c->who ? c->who : c->tokens + 1, name, strlen(name), plain);
    if (c->who) field(s, b, c->who, c->turn ? c->turn : c->tokens + 1, r->who, strlen(r->who), plain);
    if (c->turn && r->turn) surface_printf(s, b, c->turn, 0, dim, "%4u", (unsigned)r->turn);
    surface_printf(s, b, c->tokens, 0, plain, "%7s", figure(number, r->n_ids));
    if (c->bytes) surface_printf(s, b, c->bytes, 0, dim, "%9s", figure(number, r->len));
    draw_words(s, b, c, x, r, r->len == 0 ? dim : plain);
    const char *keys = keys_of(x, r, c->end - c->keys > 4);
    surface_puts(s, inspect_part(b, c->keys, 0, c->end - c->keys, 1), 0, 0, keys, row_look(selected, HUE_KEY));
}

void inspect_list(struct surface *s, struct box b, struct inspect_view *v, const struct inspect *x, enum glyphs glyphs)
{
    const int rows = MAX(b.rows - 1, 0);
    const bool bar = x->rows > rows;
    const struct columns c = columns_of(b.columns - 1 - bar);
    v->rows = rows;
    list_fit(&v->list, x->rows, rows);
    if (b.rows < 1) return;
    draw_heads(s, inspect_part(b, 0, 0, b.columns - 1 - bar, 1), &c);
    for (int i = 0; i < rows && v->list.top + i < x->rows; i++)
        draw_row(s, inspect_part(b, 0, 1 + i, b.columns - bar, 1), &c, x, v->list.top + i,
                 v->list.top + i == v->list.selected, glyphs);
    list_bar(s, inspect_part(b, 0, 1, b.columns, rows), x->rows, v->list.top);
}
