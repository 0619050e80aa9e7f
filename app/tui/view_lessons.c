/* view_lessons.c - the list of lessons, and one of them being played: its stages, its questions, its runs' curves. */
#include "app/tui/view_lessons.h"
#include "app/learn/learned.h"
#include "app/tui/list.h"
#include "app/tui/table.h"
#include "app/tui/typed.h"
#include <time.h>

enum { ROWS = 64, HEAD_ROWS = 2, SECONDS_FROM = 48, TEXT = 78 /* columns that lessons are written for */,
       BESIDE = TEXT + 33 /* from which on curves stand beside the text */, STEPS = 64, BAR = 24,
       LOW = 16 /* rows under which the one run that there is has all of them */,
       FEW = 6 /* rows of which a run that goes on leaves none to the text */ };

struct row {
    int number, right, of; /* of 0: not played yet */
    char name[LESSON_NAME], title[160], covers[60];
};

struct view {
    struct list list;
    struct row row[ROWS];
    int rows, seen;        /* seen: of the list, of the last draw */
    char trouble[200];     /* what was learned cannot be read or kept */
    struct lesson lesson;  /* that is played */
    struct play *play;     /* NULL: the list is shown */
    struct play_config config;
    int number;            /* of it */
    struct buf text;       /* of the stage that it is at */
    struct pager pager;
    struct typed typed;    /* an answer */
    int ask;               /* the question that is asked */
    char wrong[160];       /* an answer that is none */
};

static const struct look plain, dim = {.hue = HUE_DIM}, head = {.hue = HUE_HEAD}, key_look = {.hue = HUE_KEY},
                                warn = {.hue = HUE_WARN}, bad_look = {.hue = HUE_ERROR};

/* ------------------------------------------------------------------ what there is */

static void read_learned(struct view *v, struct learned *out)
{
    struct buf path = {0};
    struct err err = {0};
    *out = (struct learned){.n = 0};
    *v->trouble = '\0';
    if (learned_path(&path, &err) || learned_read(path.data, out, &err))
        snprintf(v->trouble, sizeof v->trouble, "%.190s", err.text);
    buf_free(&path);
}

static void read_rows(struct view *v)
{
    struct learned *learned = calloc(1, sizeof *learned);
    if (learned) read_learned(v, learned);
    v->rows = 0;
    for (int i = 0; i < MIN(lesson_count(), (int)ROWS); i++) {
        struct lesson l;
        if (lesson_builtin(i, &l, NULL)) break;
        struct row *r = &v->row[v->rows++];
        const struct learned_row *known = learned ? learned_of(learned, l.name) : NULL;
        *r = (struct row){.number = lesson_number(i), .right = known ? known->right : 0, .of = known ? known->of : 0};
        snprintf(r->name, sizeof r->name, "%s", l.name);
        snprintf(r->title, sizeof r->title, "%s", l.title);
        snprintf(r->covers, sizeof r->covers, "%s", l.covers);
        lesson_free(&l);
    }
    free(learned);
}

static void *open_view(void)
{
    struct view *v = calloc(1, sizeof *v);
    if (v) read_rows(v);
    return v;
}

static void end_play(struct view *v)
{
    if (!v->play) return;
    play_close(v->play);
    lesson_free(&v->lesson);
    v->play = NULL;
    v->typed.on = false;
}

void view_lessons_config(void *self, const struct play_config *cfg) { ((struct view *)self)->config = *cfg; }

static void close_view(void *self)
{
    struct view *v = self;
    end_play(v);
    buf_free(&v->text);
    pager_close(&v->pager);
    free(v);
}

/* ------------------------------------------------------------------ the play */

/* A run that could not be begun, or that ended without an event. */
static void tell_failed(struct view *v)
{
    const struct play *p = v->play;
    const struct play_run *r = &p->run[p->stage == PLAY_FIXED ? RUN_FIXED : RUN_BROKEN];
    if (p->stage != PLAY_BROKEN && p->stage != PLAY_FIXED) return;
    if (p->err.code) buf_printf(&v->text, "\nThis run could not be begun: %s\n", p->err.text);
    else if (r->ended && r->events == 0) buf_printf(&v->text, "\nThis run failed. It said: %s\n", r->said);
}

static void show_stage(struct view *v)
{
    v->text.len = 0;
    play_text(v->play, &v->text);
    tell_failed(v);
    pager_anew(&v->pager);
    *v->wrong = '\0';
    v->ask = 0;
    v->typed.on = false;
    if (v->play->stage == PLAY_ASK && v->lesson.asks > 0) typed_begin(&v->typed, "");
}

static void begin_play(struct view *v, int i)
{
    struct err err = {0};
    if (lesson_builtin(lesson_find(v->row[i].name), &v->lesson, &err)) {
        snprintf(v->trouble, sizeof v->trouble, "%.190s", err.text);
        return;
    }
    v->play = play_open(&v->lesson, &v->config, &err);
    v->number = v->row[i].number;
    if (v->play) {
        show_stage(v);
    } else {
        snprintf(v->trouble, sizeof v->trouble, "%.190s", err.text);
        lesson_free(&v->lesson);
    }
}

static void keep_score(struct view *v)
{
    struct buf path = {0};
    struct err err = {0};
    if (v->play->err.code || play_check(v->play, &err)) { /* what was answered could not be graded by it */
        snprintf(v->trouble, sizeof v->trouble, "that %s was played is not kept: %.120s", v->lesson.name,
                 v->play->err.code ? v->play->err.text : err.text);
        return;
    }
    int rc = learned_path(&path, &err);
    if (rc == 0)
        rc = learned_note(path.data, v->lesson.name, play_score(v->play), v->lesson.asks, (int64_t)time(NULL), &err);
    read_rows(v);
    if (rc) snprintf(v->trouble, sizeof v->trouble, "that it was played is not kept: %.150s", err.text);
    buf_free(&path);
}

/* Behind the last stage there is the list again. */
static void next_stage(struct view *v)
{
    play_next(v->play);
    if (v->play->stage != PLAY_OVER) {
        show_stage(v);
        return;
    }
    keep_score(v);
    end_play(v);
}

static void take_answer(struct view *v)
{
    struct err err = {0};
    *v->wrong = '\0';
    if (play_answer(v->play, v->ask, v->typed.text, &err)) {
        snprintf(v->wrong, sizeof v->wrong, "%.150s", err.text);
        typed_begin(&v->typed, "");
        return;
    }
    if (++v->ask < v->lesson.asks) typed_begin(&v->typed, "");
    else next_stage(v);
}

static enum view_tick tick(void *self)
{
    struct view *v = self;
    bool came = false;
    if (!v->play || !play_runs(v->play)) return VIEW_RESTS;
    for (int i = 0; i < STEPS && play_step(v->play); i++) came = true;
    if (!play_runs(v->play)) show_stage(v); /* its text knows how the run ended */
    return came ? VIEW_CHANGED : VIEW_GOES_ON;
}

bool view_lessons_runs(const void *self)
{
    const struct view *v = self;
    return v && v->play && play_runs(v->play);
}

/* ------------------------------------------------------------------ curves */

static struct look cell_look(const char *glyph)
{
    if (strcmp(glyph, "░") == 0 || strcmp(glyph, ":") == 0) return (struct look){.hue = HUE_RESERVED};
    if (strcmp(glyph, "█") == 0 || strcmp(glyph, "#") == 0) return (struct look){.hue = HUE_KV};
    return (struct look){.hue = HUE_ERROR};
}

static void draw_chart(const struct curve *c, int64_t size, struct surface *s, struct box b, enum glyphs glyphs)
{
    struct buf text = {0};
    int row = 0, column = 0;
    if (b.columns < 1 || b.rows < 1) return;
    curve_chart(c, b.columns, b.rows, size, glyphs == GLYPHS_ASCII, &text);
    for (size_t at = 0; !text.failed && at < text.len;) {
        const struct cluster one = surface_cluster(text.data + at, text.len - at, column);
        if (text.data[at] == '\n') row++, column = 0;
        else if (text.data[at] != ' ') surface_puts(s, b, column, row, one.text, cell_look(one.text));
        if (text.data[at] != '\n') column += one.columns;
        at += one.bytes;
    }
    buf_free(&text);
}

/* Of a run that goes on what it has now, else the most that it had. */
static uint64_t shown_of(const struct play_run *r)
{
    int64_t most = 0;
    for (int i = r->ended ? 0 : MAX(r->curve.n - 1, 0); i < r->curve.n; i++) most = MAX(most, r->curve.point[i].taken);
    return (uint64_t)most;
}

static void draw_run(const struct play *p, int which, struct surface *s, struct box b, enum glyphs glyphs)
{
    static const char *const name[RUNS] = {[RUN_BROKEN] = "broken", [RUN_FIXED] = "fixed"};
    const struct play_run *r = &p->run[which];
    const int64_t size = MAX(p->run[RUN_BROKEN].curve.size, p->run[RUN_FIXED].curve.size);
    char f[FIGURE], g[FIGURE];
    if (b.rows < 3) return;
    int x = surface_puts(s, b, 0, 0, name[which], head) + 2;
    if (!r->begun) {
        surface_puts(s, b, x, 0, "not run yet", dim);
        return;
    }
    const enum run_end end = r->ended ? (enum run_end)r->figures.value[FIGURE_END] : RUN_UNKNOWN;
    const bool bad = r->ended && end != RUN_DONE;
    x += surface_puts(s, b, x, 0, r->ended ? run_end_name(end) : "goes on", bad ? bad_look : plain);
    if (b.columns >= SECONDS_FROM) x += surface_printf(s, b, x + 2, 0, dim, "%.1f s,", r->seconds) + 1;
    surface_printf(s, b, x + 2, 0, dim, "%s %s%s of %s", r->curve.ceiling ? "all" : "KV", r->ended ? "to " : "",
                   table_bytes(f, shown_of(r)), table_bytes(g, (uint64_t)MAX(r->curve.size, 0)));
    draw_chart(&r->curve, size, s, (struct box){b.column, b.row + 1, b.columns, b.rows - 2}, glyphs);
}

static void draw_curves(const struct play *p, struct surface *s, struct box b, enum glyphs glyphs)
{
    const bool alone = b.rows < LOW && !p->run[RUN_FIXED].begun;
    const int rows = alone ? b.rows : b.rows / 2;
    draw_run(p, RUN_BROKEN, s, (struct box){b.column, b.row, b.columns, rows}, glyphs);
    draw_run(p, RUN_FIXED, s, (struct box){b.column, b.row + rows, b.columns, b.rows - rows}, glyphs);
}

void view_lessons_beside(const void *self, struct surface *s, struct box b, enum glyphs glyphs)
{
    const struct view *v = self;
    if (!v || !v->play || b.rows < 4) return;
    surface_clear(s, b, plain);
    surface_printf(s, b, 0, 0, head, "L%d %s", v->number, v->lesson.name);
    draw_curves(v->play, s, (struct box){b.column, b.row + 2, b.columns, b.rows - 2}, glyphs);
}

void view_lessons_line(const void *self, enum glyphs glyphs, struct buf *out)
{
    const struct view *v = self;
    if (!view_lessons_runs(self)) return;
    const int which = v->play->stage == PLAY_FIXED ? RUN_FIXED : RUN_BROKEN;
    buf_printf(out, "lesson %s, %s  ", v->lesson.name, which == RUN_FIXED ? "fixed" : "broken");
    curve_bar(&v->play->run[which].curve, BAR, glyphs == GLYPHS_ASCII, out);
}

/* ------------------------------------------------------------------ drawing */

static const char *key_words(const struct view *v, struct box b)
{
    if (v->typed.on || b.columns < 30) return "";
    return play_runs(v->play) ? "q ends it" : "Enter goes on";
}

static void draw_head(const struct view *v, struct surface *s, struct box b, enum glyphs glyphs)
{
    int x = 1, played = 0;
    for (int i = 0; i < v->rows; i++) played += v->row[i].of > 0;
    if (v->play) {
        x += surface_printf(s, b, x, 0, head, "L%d ", v->number);
        x += surface_puts(s, b, x, 0, v->lesson.title, (struct look){.attr = LOOK_BOLD}) + 3;
        const char *key = key_words(v, b);
        const int keys = (int)strlen(key);
        surface_printf(s, (struct box){b.column, b.row, MAX(b.columns - keys - 3, 0), b.rows}, 1, 1, dim,
                       "%d of %d: %s%s", (int)v->play->stage + 1, (int)PLAY_OVER, play_stage_words(v->play->stage),
                       play_runs(v->play) ? ", it goes on" : "");
        if (keys > 0) table_right(s, b, 0, 1, b.columns - 1, key, key_look);
        return;
    }
    x += surface_puts(s, b, x, 0, "Lessons", head) + 3;
    x += surface_printf(s, b, x, 0, plain, "%d of %d played", played, v->rows) + 3;
    const char *words = *v->trouble ? v->trouble : "on small engines of their own";
    table_text(s, b, x, 0, b.columns - x, words, strlen(words), *v->trouble ? warn : dim, glyphs);
}

static void draw_list(struct view *v, struct surface *s, struct box b, const struct view_in *in)
{
    const struct box body = {b.column, b.row + HEAD_ROWS, b.columns, MAX(b.rows - HEAD_ROWS, 0)};
    const bool covers = b.columns >= 100;
    v->seen = MAX(body.rows, 1);
    list_fit(&v->list, v->rows, v->seen);
    for (int i = 0; i < body.rows && v->list.top + i < v->rows; i++) {
        const struct row *r = &v->row[v->list.top + i];
        const bool is = v->list.top + i == v->list.selected;
        const int end = b.columns - (covers ? 20 : 2), title = b.columns < 60 ? 22 : 32;
        char text[24];
        surface_clear(s, table_row(body, i), table_look(is, plain));
        surface_printf(s, body, 2, i, table_look(is, head), "L%d", r->number);
        table_text(s, body, 7, i, title - 8 - (b.columns < 60 ? 0 : 6), r->name, strlen(r->name), table_look(is, plain),
                   in->glyphs);
        snprintf(text, sizeof text, r->of > 0 ? "%d/%d" : "-", r->right, r->of);
        if (b.columns >= 60)
            table_right(s, body, title - 7, i, 5, text,
                        table_look(is, (struct look){.hue = r->of > 0 ? HUE_OK : HUE_DIM}));
        table_text(s, body, title, i, MAX(end - title, 0), r->title, strlen(r->title), table_look(is, plain),
                   in->glyphs);
        if (covers) table_text(s, body, end + 2, i, 16, r->covers, strlen(r->covers), table_look(is, dim), in->glyphs);
    }
    list_bar(s, body, v->rows, v->list.top);
}

/* The text, with the curves beside or below it where there is something to see. */
static void draw_play(struct view *v, struct surface *s, struct box b, const struct view_in *in)
{
    const struct play *p = v->play;
    const bool asks = v->typed.on, curves = p->run[RUN_BROKEN].begun, beside = b.columns >= BESIDE;
    const bool of_run = p->stage == PLAY_BROKEN || p->stage == PLAY_FIXED;
    struct box text = {b.column + 1, b.row + HEAD_ROWS + 1, MAX(b.columns - 2, 1),
                       MAX(b.rows - HEAD_ROWS - 1 - 2 * asks, 0)};
    if (curves && beside) {
        const int columns = b.columns - TEXT - 5;
        const struct box right = {b.column + b.columns - columns - 1, text.row, columns, text.rows};
        text.columns -= columns + 3;
        surface_fill_down(s, b, right.column - b.column - 2, text.row - b.row, text.rows,
                          in->glyphs == GLYPHS_UTF8 ? "│" : "|", dim);
        draw_curves(p, s, right, in->glyphs);
    } else if (curves && (of_run || p->stage == PLAY_COMPARE)) { /* how a run ended is what one waited for */
        const int most = of_run && !play_runs(p) ? text.rows / 2 : text.rows * 2 / 3;
        const int rows = text.rows < FEW && of_run ? text.rows : most;
        draw_curves(p, s, (struct box){text.column, text.row + text.rows - rows, text.columns, rows}, in->glyphs);
        text.rows = MAX(text.rows - rows - 1, 0);
    }
    v->seen = MAX(text.rows, 1);
    pager_draw(&v->pager, s, text, v->text.data ? v->text.data : "", v->text.len, plain);
    if (!asks) return;
    char label[40];
    snprintf(label, sizeof label, "your answer to %d:", v->ask + 1);
    if (*v->wrong) surface_puts(s, b, 1, b.rows - 2, v->wrong, warn);
    typed_draw(&v->typed, s, (struct box){b.column + 1, b.row + b.rows - 1, MAX(b.columns - 2, 0), 1}, 0, label,
               "Enter takes it; empty: it stays open");
}

static void draw(void *self, struct surface *s, struct box b, const struct view_in *in)
{
    struct view *v = self;
    surface_clear(s, b, plain);
    draw_head(v, s, b, in->glyphs);
    if (!v->play) {
        draw_list(v, s, b, in);
        return;
    }
    if (b.rows < HEAD_ROWS + 2 || b.columns < 8) return;
    draw_play(v, s, b, in);
}

/* ------------------------------------------------------------------ keys */

static bool key_play(struct view *v, const struct key *k, struct view_out *out)
{
    const bool plain_key = k->name == KEY_CHAR && !(k->mods & (KEY_CTRL | KEY_ALT));
    if (v->typed.on) {
        switch (typed_key(&v->typed, k)) {
        case TYPED_TAKEN: take_answer(v); return true;
        case TYPED_LEFT: /* the lesson waits */
            typed_begin(&v->typed, v->typed.text);
            out->leave = true;
            return true;
        case TYPED_CHANGED: return true;
        case TYPED_NOT: break;
        }
    }
    if (k->name == KEY_ENTER && !k->mods) {
        if (!play_runs(v->play)) next_stage(v);
        return true;
    }
    if (plain_key && k->rune == 'q') {
        end_play(v);
        return true;
    }
    return pager_key(&v->pager, k, v->seen);
}

static bool key(void *self, const struct key *k, const struct view_in *in, struct view_out *out)
{
    struct view *v = self;
    (void)in;
    if (v->play) return key_play(v, k, out);
    if (k->name == KEY_ENTER && !k->mods && v->rows > 0) {
        begin_play(v, v->list.selected);
        return true;
    }
    return list_key(&v->list, k, v->rows, v->seen);
}

const struct view_ops view_lessons = {
    .title = "Lessons",
    .keys = "Enter plays, goes on  q ends a lesson  PgUp PgDn",
    .open = open_view,
    .close = close_view,
    .draw = draw,
    .key = key,
    .tick = tick,
};
