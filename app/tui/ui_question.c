/* ui_question.c - what an agent asks, over the conversation: the question, its keys, what they allow. */
#include "app/tui/table.h"
#include "app/tui/ui_impl.h"

static const struct look key_look = {.hue = HUE_KEY};

/* A box with a frame of its own over what is there; returns its inside. */
static struct box draw_frame(struct ui *ui, struct surface *s, struct box b, const char *title)
{
    const bool u = ui->setup.utf8;
    const struct look look = {.hue = HUE_WARN, .attr = LOOK_BOLD};
    surface_clear(s, b, (struct look){0});
    surface_fill(s, b, 0, 0, b.columns, u ? "─" : "-", look);
    surface_fill(s, b, 0, b.rows - 1, b.columns, u ? "─" : "-", look);
    surface_fill_down(s, b, 0, 0, b.rows, u ? "│" : "|", look);
    surface_fill_down(s, b, b.columns - 1, 0, b.rows, u ? "│" : "|", look);
    surface_puts(s, b, 0, 0, u ? "┌" : "+", look);
    surface_puts(s, b, b.columns - 1, 0, u ? "┐" : "+", look);
    surface_puts(s, b, 0, b.rows - 1, u ? "└" : "+", look);
    surface_puts(s, b, b.columns - 1, b.rows - 1, u ? "┘" : "+", look);
    table_text(s, b, 2, 0, b.columns - 4, title, strlen(title), look, ui->glyphs);
    return (struct box){b.column + 2, b.row + 1, MAX(b.columns - 4, 0), MAX(b.rows - 2, 0)};
}

enum { QUESTION_ROWS = 8, QUESTION_WHOLE = 60 /* columns under which it takes all of them */ };

/* Where a question lies: over the conversation, or over all that is above the input where that is too low. */
static struct box question_box(const struct ui *ui)
{
    const struct layout *l = &ui->layout;
    if (ui->view != VIEW_CHAT) return ui_view_box(ui);
    return l->chat.rows >= QUESTION_ROWS ? l->chat : (struct box){0, 0, ui->setup.columns, l->input.row};
}

static int rows_of(const char *text, size_t n, int columns)
{
    int rows = 0;
    for (size_t at = 0; at < n; rows++) at += surface_break(text + at, n - at, columns);
    return MAX(rows, 1);
}

/* The keys and what they allow, in at most so many rows: what has no room leaves the middle of what s is for, with a
 * mark, since both its ends say what is agreed to. */
static void put_keys(const struct question *q, int columns, int most, enum glyphs glyphs, struct buf *out)
{
    char scope[2 * sizeof q->scope];
    if (q->asks_text) buf_puts(out, "Enter answers with what is typed   Esc no answer");
    else if (!*q->scope) buf_puts(out, "y yes, once   n no");
    if (q->asks_text || !*q->scope) return;
    int room = surface_columns(q->scope, strlen(q->scope));
    const char *keys = "o once   n no   s for this session: ";
    if (most == 1 && (int)strlen(keys) + room > columns) keys = "o once  n no  s session: ";
    do {
        table_middle(q->scope, room--, glyphs, scope, sizeof scope);
        out->len = 0;
        buf_printf(out, "%s%s", keys, scope);
    } while (!out->failed && room > 0 && rows_of(out->data, out->len, columns) > most);
}

static void draw_keys(const struct buf *keys, struct surface *s, struct box in, int rows)
{
    const char *text = keys->data ? keys->data : "";
    for (size_t at = 0, part; at < keys->len && rows > 0; rows--, at += part) {
        part = surface_break(text + at, keys->len - at, in.columns);
        surface_text(s, in, 0, in.rows - rows, text + at, part, key_look, NULL);
    }
}

static void put_title(const struct question *q, char out[120])
{
    const char *who = *q->who ? q->who : *q->scope ? "the model" : "please confirm";
    const char *what = q->asks_text ? " asks" : *q->who || *q->scope ? " wants this to be done" : "";
    snprintf(out, 120, " %s%s ", who, what);
}

void ui_question_draw(struct ui *ui, struct surface *s)
{
    struct question *q = ui->question;
    const struct box over = question_box(ui);
    struct buf keys = {0};
    char title[120];
    if (!q || over.rows < 4 || over.columns < 12) return;
    if (q->quiet_since < 0) q->quiet_since = ui->now;
    const int columns = MIN(over.columns < QUESTION_WHOLE ? over.columns : over.columns - 2, 100);
    put_keys(q, columns - 4, MAX(over.rows - 3, 1), ui->glyphs, &keys);
    const int below = keys.failed ? 1 : MIN(rows_of(keys.data, keys.len, columns - 4), over.rows - 3);
    int lines = 0;
    for (size_t at = 0; at < q->text.len && lines < over.rows; lines++)
        at += surface_break(q->text.data + at, q->text.len - at, columns - 6);
    const int rows = MIN(over.rows, lines + below + 3);
    const struct box b = {over.column + (over.columns - columns) / 2, over.row + over.rows - rows, columns, rows};
    put_title(q, title);
    struct box in = draw_frame(ui, s, b, title);
    const int gap = in.rows > below + 3;
    const struct box text = {in.column, in.row, in.columns, MAX(in.rows - below - gap, 1)};
    pager_draw(&q->pager, s, text, q->text.data ? q->text.data : "", q->text.len, (struct look){0});
    draw_keys(&keys, s, in, below);
    buf_free(&keys);
}
