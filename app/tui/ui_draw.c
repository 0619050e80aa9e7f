/* ui_draw.c - the state of the screen as cells. */
#include "app/tui/table.h"
#include "app/tui/ui_impl.h"
#include "app/tui/view_lessons.h"
#include "app/about.h"

static const struct look plain, dim = {.hue = HUE_DIM}, head = {.hue = HUE_HEAD, .attr = LOOK_BOLD},
                                key_look = {.hue = HUE_KEY}, warn = {.hue = HUE_WARN}, bad_look = {.hue = HUE_ERROR};

static struct look agent_look(int agent)
{
    return (struct look){.hue = (uint8_t)(HUE_AGENT + MAX(agent, 0) % HUE_AGENTS), .attr = LOOK_BOLD};
}

static const char *agent_name(const struct ui *ui, int i)
{
    if (i < 0 || i >= ui->state.agents || !*ui->state.agent[i].name) return "plimsoll";
    return ui->state.agent[i].name;
}

/* A text in as many rows as it needs; returns the row behind it. */
static int draw_wrapped(struct surface *s, struct box b, int row, const char *text, struct look look)
{
    size_t at = 0, n = strlen(text), part;
    do {
        part = n > at ? surface_break(text + at, n - at, b.columns) : 0;
        surface_text(s, b, 0, row++, text + at, part, look, NULL);
        at += part;
    } while (at < n && row < b.rows);
    return row;
}

/* The model that is part of the program; scripted answers take its vocabulary alone. */
static bool is_demo(const struct ui *ui)
{
    return strcmp(ui->state.opened.file, "embedded") == 0 && strcmp(ui->state.opened.engine, "local") == 0;
}

/* ------------------------------------------------------------------ head */

enum { TITLE_MOST = 40 };

/* A part of the head, with a mark where it is cut; returns the column of the next. */
static int draw_part(const struct ui *ui, struct surface *s, struct box b, int x, int most, const char *text,
                     struct look look)
{
    const int takes = MIN(surface_columns(text, strlen(text)), most);
    table_text(s, b, x, 0, most, text, strlen(text), look, ui->glyphs);
    return x + takes + 2;
}

static void draw_head(struct ui *ui, struct surface *s, struct box b)
{
    const struct state *st = &ui->state;
    char right[120] = "", model[sizeof st->opened.model + sizeof st->opened.file + 24];
    if (b.rows < 1) return;
    surface_clear(s, b, plain);
    const bool saved = state_saved(st) && !ui->busy;
    if (*ui->session && ui->turns == 0) snprintf(right, sizeof right, "new session ");
    else if (*ui->session) snprintf(right, sizeof right, "session %.8s %s ", ui->session, saved ? "saved" : "open");
    else if (ui->setup.live) snprintf(right, sizeof right, "not saved ");
    else snprintf(right, sizeof right, "%s ", ui->recorded.words);
    const int at = b.columns - surface_columns(right, strlen(right));
    struct box left = b;
    left.columns = MAX(at - 2, 0);
    int x = 1 + surface_puts(s, left, 1, 0, "plimsoll", head) + 2;
    /* a device has two modes, the CPU has one */
    if (!st->on_cpu && *st->opened.mode) x += surface_printf(s, left, x, 0, plain, "%s  ", st->opened.mode);
    if (ui->setup.crew) x += surface_printf(s, left, x, 0, plain, "crew %s  ", ui->setup.crew);
    if (*ui->title && !ui->setup.crew) x = draw_part(ui, s, left, x, TITLE_MOST, ui->title, plain);
    if (st->opened.there) {
        snprintf(model, sizeof model, "%s%s", *st->opened.model ? st->opened.model : st->opened.file,
                 is_demo(ui) ? " (a tiny demo model)" : "");
        x = draw_part(ui, s, left, x, left.columns, model, dim);
    }
    draw_part(ui, s, left, x, left.columns, st->opened.backend, dim);
    if (at > 12) surface_puts(s, b, at, 0, right, dim);
}

static void draw_rule(struct ui *ui, struct surface *s, struct box b)
{
    if (b.rows > 0) surface_fill(s, b, 0, 0, b.columns, ui->setup.utf8 ? "─" : "-", dim);
}

static void draw_divide(struct ui *ui, struct surface *s, struct box b)
{
    if (b.columns > 0) surface_fill_down(s, b, 1, 0, b.rows, ui->setup.utf8 ? "│" : "|", dim);
}

/* ------------------------------------------------------------------ the sides */

static void draw_side(struct ui *ui, struct surface *s, struct box b)
{
    struct gauge_agent list[STATE_AGENTS];
    const int n = ui->state.agents;
    if (b.columns < 1 || b.rows < 1) return;
    for (int i = 0; i < n; i++) {
        list[i] = ui->state.agent[i].gauge;
        list[i].name = agent_name(ui, i);
    }
    const int rows = MIN(2 * n, b.rows), left = b.rows - rows;
    gauges_agents(s, (struct box){b.column, b.row, b.columns, rows}, list, n, ui->glyphs);
    if (n == 0 || left < CONTEXT_PARTS + 3 || ui->agent >= n) return;
    struct box below = {b.column, b.row + rows + 1, b.columns, left - 1};
    draw_rule(ui, s, below);
    int x = surface_puts(s, below, 0, 1, "context of ", dim);
    surface_puts(s, below, x, 1, agent_name(ui, ui->agent), agent_look(ui->agent));
    below.row += 2;
    below.rows = MIN(below.rows - 2, (int)CONTEXT_PARTS);
    gauges_context(s, below, &ui->state.agent[ui->agent].gauge, ui->glyphs);
}

/* From 180 columns on: the figures of the agent that is looked at, and what will happen next. */
static void draw_inspect(struct ui *ui, struct surface *s, struct box b)
{
    const struct state *st = &ui->state;
    if (view_lessons_runs(ui->of_view[VIEW_LESSONS])) {
        view_lessons_beside(ui->of_view[VIEW_LESSONS], s, b, ui->glyphs);
        return;
    }
    if (b.columns < 1 || b.rows < 1 || ui->agent >= st->agents) return;
    const struct state_agent *a = &st->agent[ui->agent];
    char words[200], x[FIGURE], y[FIGURE];
    int row = 0;
    surface_puts(s, b, 0, row, agent_name(ui, ui->agent), agent_look(ui->agent));
    row += 2;
    surface_printf(s, b, 0, row++, plain, "turns      %s", figure(x, (uint64_t)MAX(a->turns, 0)));
    surface_printf(s, b, 0, row++, plain, "tokens     %s in, %s out", figure(x, (uint64_t)MAX(a->tokens_in, 0)),
                   figure(y, (uint64_t)MAX(a->tokens_out, 0)));
    surface_printf(s, b, 0, row++, plain, "speed      %s t/s, first token %s", figure_rate(x, a->rate),
                   figure_seconds(y, a->first_token));
    static const char *const then[] = {[HIGH_REFUSES] = "", [HIGH_LEAVE] = ", then the oldest leave",
                                       [HIGH_SUMS_UP] = ", then summed up"};
    surface_printf(s, b, 0, row++, plain, "carries    %s of %s%s", figure(x, (uint64_t)MAX(a->carried, 0)),
                   figure(y, (uint64_t)MAX(a->high > 0 ? a->high : a->ctx, 0)), then[a->at_high]);
    surface_printf(s, b, 0, row++, plain, "set aside  %s for an answer", figure(x, (uint64_t)MAX(a->reserve, 0)));
    surface_printf(s, b, 0, row++, plain, "shared     %s tokens with others", figure(x, (uint64_t)MAX(a->shared, 0)));
    row++;
    state_forecast(st, ui->agent, words);
    row = draw_wrapped(s, b, row, words, dim) + 1;
    const struct box below = {b.column, b.row + row, b.columns, b.rows - row};
    if (below.rows < 6 || !ui->of_view[VIEW_INSPECT]) return;
    draw_rule(ui, s, (struct box){b.column, below.row - 1, b.columns, 1});
    const struct view_in in = ui_view_in(ui);
    view_inspect.draw(ui->of_view[VIEW_INSPECT], s, below, &in);
}

/* ------------------------------------------------------------------ the conversation */

static void welcome(struct ui *ui, struct surface *s, struct box b)
{
    static const char *const line[] = {
        "A Plimsoll line is painted on a ship's hull: load her past it and she sinks.",
        "The bars above show where every token and every byte is, before it hurts.",
        "",
        "Type, and press Enter.   /help lists commands, ? the keys, F2 to F10 what is behind the bars.",
    };
    static const char *const tiny[] = {
        "", "This is a tiny demonstration model, part of the program: it knows plimsoll and little else.",
        "For real work give it one of yours: plimsoll -m model.gguf   (F10 lists those that are here)",
    };
    const struct box in = {b.column + 2, b.row, MAX(b.columns - 3, 1), b.rows};
    const bool demo = is_demo(ui);
    int row = MAX((b.rows - 7) / 2, 0);
    for (size_t i = 0; i < COUNT_OF(line); i++) row = draw_wrapped(s, in, row, line[i], dim);
    for (size_t i = 0; demo && i < COUNT_OF(tiny); i++) row = draw_wrapped(s, in, row, tiny[i], dim);
}

static void draw_marked(struct ui *ui, struct surface *s, struct box b)
{
    if (ui->mode != MODE_BROWSE || ui->marked < 0 || ui->marked >= b.rows) return;
    struct cell *c = &s->cell[(size_t)(b.row + ui->marked) * (size_t)s->columns + (size_t)b.column];
    for (int i = 0; i < b.columns && b.column + i < s->columns; i++) c[i].look.attr |= LOOK_REVERSE;
}

static void draw_chat(struct ui *ui, struct surface *s, struct box b)
{
    if (b.rows < 1) return;
    b.column += b.columns > 40;
    b.columns -= b.columns > 40;
    transcript_fit(ui->transcript, b.columns, b.rows, ui->setup.utf8);
    transcript_draw(s, b, ui->transcript);
    const struct transcript_figures f = transcript_figures(ui->transcript);
    if (f.entries == 0 && f.left == 0 && ui->setup.live) welcome(ui, s, b);
    draw_marked(ui, s, b);
    static const char more[] = " more below: PgDn, Ctrl-End goes there ";
    if (!transcript_follows(ui->transcript) && ui->mode == MODE_TYPE)
        surface_puts(s, b, MAX(b.columns - (int)sizeof more + 1, 0), b.rows - 1, more,
                     (struct look){.hue = HUE_WARN, .attr = LOOK_REVERSE});
}

/* ------------------------------------------------------------------ the input and what is around it */

enum { PROMPT_NAME = 20, PROMPT_CREW = 60 /* columns from which on it says for whom a line is */ };

/* For whom a line is; "": there is only one. */
static const char *prompt_name(const struct ui *ui)
{
    if (!ui->crew || ui->setup.columns < PROMPT_CREW) return "";
    return ui->current < 0 ? "crew" : agent_name(ui, ui->current);
}

static struct box prompt_box(struct box b) { return (struct box){b.column + 1, b.row, PROMPT_NAME, b.rows}; }

int ui_prompt_columns(const struct ui *ui)
{
    const char *name = prompt_name(ui);
    return 3 + (*name ? MIN(surface_columns(name, strlen(name)), (int)PROMPT_NAME) + 1 : 0);
}

static void draw_prompt(struct ui *ui, struct surface *s, struct box b)
{
    surface_puts(s, prompt_box(b), 0, 0, prompt_name(ui), ui->current < 0 ? dim : agent_look(ui->current));
    surface_puts(s, b, ui_prompt_columns(ui) - 2, 0, ui->setup.utf8 ? "› " : "> ", key_look);
}

/* How far a recorded stream has been played. */
static void draw_recorded(struct ui *ui, struct surface *s, struct box b)
{
    const int columns = MAX(b.columns - 2, 0), done = (int)(ui->recorded.part * columns);
    surface_fill(s, b, 1, 0, done, bar_glyph(BAR_THICK, ui->glyphs), key_look);
    surface_fill(s, b, 1 + done, 0, columns - done, bar_glyph(BAR_THIN, ui->glyphs), dim);
}

static void draw_input(struct ui *ui, struct surface *s, struct box b)
{
    size_t n;
    s->cursor_column = s->cursor_row = -1;
    if (b.rows < 1) return;
    surface_clear(s, b, plain);
    if (ui->mode == MODE_SEARCH) {
        int x = surface_puts(s, b, 1, 0, "search: ", key_look) + 1;
        x += surface_text(s, b, x, 0, ui->query, ui->n_query, ui->not_found ? bad_look : plain, NULL);
        if (x < b.columns) s->cursor_column = b.column + x, s->cursor_row = b.row;
        surface_puts(s, b, x + 2, 0, ui->not_found ? "nothing found" : ui->around, ui->not_found ? warn : dim);
        return;
    }
    if (!ui->setup.live) {
        draw_recorded(ui, s, b);
        return;
    }
    const int x = ui_prompt_columns(ui);
    draw_prompt(ui, s, b);
    edit_text(ui->edit, &n);
    const struct box text = {b.column + x, b.row, MAX(b.columns - x - 1, 2), b.rows};
    edit_draw(s, text, ui->edit);
    if (n == 0 && ui->mode == MODE_TYPE && !edit_searching(ui->edit))
        surface_puts(s, text, 0, 0, ui->busy ? "type on: it waits its turn" : "say something, or /command", dim);
    const bool outside = s->cursor_column >= s->columns || s->cursor_row >= s->rows; /* of a tiny terminal */
    if (ui->mode == MODE_BROWSE || outside) s->cursor_column = s->cursor_row = -1;
}

/* Columns under which the row above the input says less of lines that wait: how to take them back, what for. */
enum { COUNT_WHOLE = 60, WAITS_WHOLE = 64 };

/* What the person is to know first: what is asked of him; how far what takes long is; else what will happen. */
static struct look put_count(const struct ui *ui, int columns, struct buf *out)
{
    const struct question *q = ui->question;
    char forecast[200] = "";
    bool bad = false;
    if (*ui->notice) buf_puts(out, ui->notice);
    else if (q)
        buf_printf(out, "%s waits for your answer",
                   *q->who ? q->who : *q->scope || q->asks_text ? "the model" : "this");
    if (out->len > 0) return warn;
    ui_plan(ui, columns, out, &bad);
    if (out->len == 0) view_lessons_line(ui->of_view[VIEW_LESSONS], ui->glyphs, out);
    if (out->len > 0) return bad ? bad_look : dim;
    if (*ui->progress) buf_puts(out, ui->progress);
    else if (ui->busy && ui->now - ui->busy_since >= 1)
        buf_printf(out, "%s for %.0f s%s", ui->is_command ? "a command runs" : "an answer is on its way",
                   ui->now - ui->busy_since,
                   ui->waiting > 0 && columns >= WAITS_WHOLE ? "; what waits begins behind it" : "");
    else if (!ui->busy) state_forecast(&ui->state, ui->agent, forecast);
    buf_puts(out, forecast);
    return dim;
}

static void draw_count(struct ui *ui, struct surface *s, struct box b)
{
    struct buf words = {0};
    char waits[80] = "";
    if (b.rows < 1) return;
    surface_clear(s, b, plain);
    if (ui->waiting > 0)
        snprintf(waits, sizeof waits, b.columns < COUNT_WHOLE ? " %d wait: Alt-Up "
                                                              : " %d waiting: Alt-Up takes one back ", ui->waiting);
    const struct box left = {b.column, b.row, b.columns - (int)strlen(waits), 1};
    ui_count_typed(ui);
    const struct look look = put_count(ui, left.columns - 2, &words);
    if (words.len > 0 && !words.failed)
        table_text(s, left, 1, 0, left.columns - 1, words.data, words.len, look, ui->glyphs);
    surface_puts(s, b, MAX(left.columns, 0), 0, waits, key_look);
    buf_free(&words);
}

/* Keys stand out from the words behind them: each part is "KEY words", two blanks between parts. */
static void draw_footer(struct ui *ui, struct surface *s, struct box b)
{
    struct buf text = {0};
    if (b.rows < 1) return;
    surface_clear(s, b, plain);
    ui_footer(ui, &text);
    const char *at = text.data ? text.data : "", *end = at + text.len;
    for (int x = 1; at < end;) {
        const char *gap = strstr(at, "  "), *stop = gap ? gap : end;
        const char *blank = memchr(at, ' ', (size_t)(stop - at));
        const size_t key = blank ? (size_t)(blank - at) : (size_t)(stop - at), all = (size_t)(stop - at);
        if (x + surface_columns(at, all) >= b.columns) break; /* whole or not at all */
        x += surface_text(s, b, x, 0, at, key, key_look, NULL);
        x += surface_text(s, b, x, 0, at + key, all - key, dim, NULL) + 2;
        for (at = stop; at < end && *at == ' ';) at++;
    }
    buf_free(&text);
}

/* ------------------------------------------------------------------ above the others */

static void draw_candidates(struct ui *ui, struct surface *s)
{
    const struct complete *c = &ui->candidates;
    const struct layout *l = &ui->layout;
    const int n = MIN((int)c->n, MIN(UI_CANDIDATES, MAX(l->input.row - 1, 0)));
    if (c->n == 0 || n == 0) return;
    struct list at = {.selected = MAX(ui->candidate, 0)};
    list_fit(&at, (int)c->n, n);
    const struct box b = {0, l->input.row - n, ui->setup.columns, n};
    surface_clear(s, b, plain);
    for (int i = 0; i < n; i++) {
        const struct complete_choice *o = &c->choice[at.top + i];
        const bool is = at.top + i == ui->candidate;
        struct box row = {b.column, b.row + i, b.columns, 1};
        surface_clear(s, row, list_look(is, plain));
        int x = 1 + surface_puts(s, row, 1, 0, o->shown, list_look(is, key_look));
        if (o->takes) x += surface_printf(s, row, x + 1, 0, list_look(is, plain), "%s", o->takes) + 1;
        if (o->about) surface_puts(s, row, MAX(x + 2, 26), 0, o->about, list_look(is, dim));
    }
    list_bar(s, b, (int)c->n, at.top);
}

enum { HELP_KEYS = 34, HELP_BESIDE = 70 /* columns from which on words are beside the keys, else below them */ };

static struct box help_box(const struct ui *ui)
{
    const struct box b = ui_view_box(ui);
    return (struct box){b.column + 1, b.row + 2, MAX(b.columns - 3, 1), MAX(b.rows - 2, 0)};
}

/* A key and its words in so many rows, from `row` on; s NULL: they are counted alone. */
static int help_entry(const struct ui *ui, struct surface *s, struct box in, int row, int i)
{
    const char *keys, *help;
    const int beside = in.columns >= HELP_BESIDE - 3, left = beside ? HELP_KEYS : 2;
    const struct box words = {in.column + left, in.row, MAX(in.columns - left, 1), in.rows};
    int rows = !beside;
    ui_key_row(ui, i, &keys, &help);
    if (s) surface_puts(s, in, 0, row, keys, key_look);
    for (size_t at = 0, n = strlen(help); at < n; rows++) {
        const size_t part = surface_break(help + at, n - at, words.columns);
        if (s) surface_text(s, words, 0, row + rows, help + at, part, plain, NULL);
        at += part;
    }
    return rows;
}

int ui_help_last(const struct ui *ui)
{
    const struct box in = help_box(ui);
    int top = ui_key_rows(ui), rows = 0;
    while (top > 0 && (rows += help_entry(ui, NULL, in, 0, top - 1)) <= in.rows) top--;
    return MIN(top, ui_key_rows(ui) - 1);
}

static void draw_help(struct ui *ui, struct surface *s, struct box b)
{
    const int n = ui_key_rows(ui), last = ui_help_last(ui);
    const struct box in = help_box(ui);
    surface_clear(s, b, plain);
    surface_puts(s, b, 1, 0, "Keys", head);
    static const char also[] = "/help lists commands, Tab completes them";
    if (ui->setup.live) table_text(s, b, 8, 0, b.columns - 9, also, sizeof also - 1, dim, ui->glyphs);
    ui->help_top = MIN(ui->help_top, last);
    int row = 0;
    for (int i = ui->help_top; i < n && row < in.rows; i++) row += help_entry(ui, s, in, row, i);
    const struct box bar = {b.column, in.row, b.columns, in.rows};
    list_bar(s, bar, last + in.rows, ui->help_top);
}

static void draw_view(struct ui *ui, struct surface *s)
{
    const struct box b = ui_view_box(ui);
    const struct view_ops *v = ui_view(ui->view);
    s->cursor_column = s->cursor_row = -1;
    if (ui->view == VIEW_HELP) {
        draw_help(ui, s, b);
    } else if (v && b.rows > 0) {
        const struct view_in in = ui_view_in(ui);
        v->draw(ui->of_view[ui->view], s, b, &in);
    }
}

const struct surface *ui_draw(struct ui *ui)
{
    struct surface *s = &ui->surface;
    const struct layout *l = &ui->layout;
    ui_relayout(ui);
    surface_clear(s, surface_all(s), plain);
    draw_head(ui, s, l->head);
    if (l->gauges.rows > 0) gauges_draw(s, l->gauges, &ui->state.gauges, ui->glyphs);
    draw_rule(ui, s, l->rule[0]);
    if (ui->view == VIEW_CHAT) {
        draw_chat(ui, s, l->chat);
        draw_divide(ui, s, l->divide[0]);
        draw_divide(ui, s, l->divide[1]);
        draw_side(ui, s, l->side);
        draw_inspect(ui, s, l->inspect);
        draw_rule(ui, s, l->rule[1]);
        draw_input(ui, s, l->input);
        draw_count(ui, s, l->count);
        draw_candidates(ui, s);
    } else {
        draw_view(ui, s);
    }
    ui_card_draw(ui, s);
    if (ui->mode == MODE_QUESTION) ui_question_draw(ui, s);
    draw_footer(ui, s, l->footer);
    if (*ui->notice && ui->view != VIEW_CHAT && l->footer.rows > 0) {
        surface_clear(s, l->footer, plain);
        table_text(s, l->footer, 1, 0, l->footer.columns - 1, ui->notice, strlen(ui->notice), warn, ui->glyphs);
    }
    return s;
}
