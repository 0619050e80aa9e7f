/* typed.c - see typed.h. */
#include "app/tui/typed.h"

void typed_begin(struct typed *t, const char *text)
{
    t->on = true;
    if (text != t->text) snprintf(t->text, sizeof t->text, "%s", text);
}

static void put(struct typed *t, const char *text, size_t n)
{
    const char *end = memchr(text, '\n', n);
    size_t len = strlen(t->text), most = sizeof t->text - 1 - len, take = MIN(end ? (size_t)(end - text) : n, most);
    while (take > 0 && take < n && ((unsigned char)text[take] & 0xc0) == 0x80) take--; /* not through a character */
    memcpy(t->text + len, text, take);
    t->text[len + take] = '\0';
}

static void take_back(struct typed *t)
{
    size_t len = strlen(t->text);
    while (len > 0 && ((unsigned char)t->text[len - 1] & 0xc0) == 0x80) len--;
    if (len > 0) len--;
    t->text[len] = '\0';
}

static enum typed_key end(struct typed *t, enum typed_key how)
{
    t->on = false;
    return how;
}

enum typed_key typed_key(struct typed *t, const struct key *k)
{
    const bool plain = (k->mods & (KEY_CTRL | KEY_ALT)) == 0;
    if (k->name == KEY_ENTER) return end(t, TYPED_TAKEN);
    if (k->name == KEY_ESCAPE) return end(t, TYPED_LEFT);
    if (k->name == KEY_BACKSPACE) take_back(t);
    else if (k->name == KEY_CHAR && k->mods == KEY_CTRL && k->rune == 'u') t->text[0] = '\0';
    else if (k->name == KEY_PASTE || (k->name == KEY_CHAR && plain)) put(t, k->text, k->n);
    else return k->name >= KEY_F1 && k->name <= KEY_F12 ? TYPED_NOT : plain ? TYPED_CHANGED : TYPED_NOT;
    return TYPED_CHANGED;
}

void typed_draw(const struct typed *t, struct surface *s, struct box b, int row, const char *label, const char *hint)
{
    const char *text = t->text;
    int at = surface_puts(s, b, 0, row, label, (struct look){.hue = HUE_KEY}) + 1;
    while (*text && at + surface_columns(text, strlen(text)) >= b.columns)
        text += surface_cluster(text, strlen(text), 0).bytes;
    at += surface_puts(s, b, at, row, text, (struct look){.attr = LOOK_BOLD});
    if (row < b.rows && at < b.columns) {
        s->cursor_column = b.column + at;
        s->cursor_row = b.row + row;
    }
    if (at + 3 + surface_columns(hint, strlen(hint)) < b.columns)
        surface_puts(s, b, at + 3, row, hint, (struct look){.hue = HUE_DIM});
}
