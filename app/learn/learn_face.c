/* learn_face.c - see learn_face.h. */
#include "app/learn/learn_face.h"
#include "app/app.h"
#include "app/say.h"
#include "app/signals.h"
#include "tools/escape.h"
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---------------------------------------------------------------- what is shown */

/* Ours and the lesson's, cleared of what a terminal would obey. */
static void put_text(struct learn_face *f, const struct buf *text)
{
    struct buf shown = {0};
    term_filter_text(text->data ? text->data : "", text->len, false, &shown);
    out_put(f->out, shown.data, shown.len);
    buf_free(&shown);
}

__attribute__((format(printf, 2, 3))) static void put(struct learn_face *f, const char *fmt, ...)
{
    struct buf text = {0};
    char line[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    buf_puts(&text, line);
    put_text(f, &text);
    buf_free(&text);
}

/* ---------------------------------------------------------------- both runs */

enum { CHART_COLUMNS = 34, CHART_ROWS = 8 };
enum { USUAL_COLUMNS = 80, BAR_LEAST = 4, BAR_MOST = 40, BAR_FIGURES = 56 /* beside the bar */, AGENT_WORDS = 11 };

static void put_row(const char **left, const char **right, struct buf *out)
{
    size_t a = strcspn(*left, "\n"), b = strcspn(*right, "\n");
    buf_printf(out, "  |%.*s|  |%.*s|\n", (int)a, *left, (int)b, *right);
    *left += a + ((*left)[a] == '\n');
    *right += b + ((*right)[b] == '\n');
}

/* Side by side, on one scale. */
static void put_charts(struct learn_face *f)
{
    const struct curve *a = &f->play->run[RUN_BROKEN].curve, *b = &f->play->run[RUN_FIXED].curve;
    int64_t size = MAX(a->size, b->size);
    struct buf left = {0}, right = {0}, text = {0};
    curve_chart(a, CHART_COLUMNS, CHART_ROWS, size, f->ascii, &left);
    curve_chart(b, CHART_COLUMNS, CHART_ROWS, size, f->ascii, &right);
    const char *l = left.data ? left.data : "", *r = right.data ? right.data : "";
    buf_printf(&text, "  %-*s  %s\n", CHART_COLUMNS + 2, "broken", "fixed");
    for (int row = 0; row < CHART_ROWS; row++) put_row(&l, &r, &text);
    buf_printf(&text, "  %s of %.1f MiB; %s: %s%s%s%s\n\n", a->ceiling ? "all under the ceiling" : "the KV pool",
               (double)size / 0x1p20, f->ascii ? "#" : "█", a->ceiling ? "taken" : "holds tokens",
               a->ceiling ? "" : f->ascii ? ", :" : ", ░", a->ceiling ? "" : ": taken and empty",
               a->failed_at < 0 ? "" : f->ascii ? ", !: out of memory" : ", ✗: out of memory");
    put_text(f, &text);
    buf_free(&left);
    buf_free(&right);
    buf_free(&text);
}

/* ---------------------------------------------------------------- a stage */

static void put_stage(struct learn_face *f)
{
    struct buf text = {0};
    play_text(f->play, &text);
    put(f, "\n== %s\n\n", play_stage_words(f->play->stage));
    if (f->play->stage == PLAY_COMPARE) put_charts(f);
    put_text(f, &text);
    buf_free(&text);
}

/* ---------------------------------------------------------------- a run goes on */

static void wipe(struct learn_face *f)
{
    if (f->drawn) say_bytes("\r\033[K", 4);
    f->drawn = false;
}

static int terminal_columns(void)
{
    struct winsize w;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : USUAL_COLUMNS;
}

/* On a terminal one line that is drawn over, so it must not be wider than that: the bar has what its figures leave, and
 * where that is nothing the agents are left out. */
static void draw(struct learn_face *f)
{
    struct buf line = {0};
    const struct curve *c = &f->play->run[f->play->stage == PLAY_FIXED].curve;
    if (!say_on_terminal()) return;
    int left = terminal_columns() - BAR_FIGURES, agents = AGENT_WORDS + c->agents;
    bool shows_agents = left - agents >= BAR_LEAST;
    buf_puts(&line, "\r\033[K  ");
    curve_bar(c, MIN(MAX(left - (shows_agents ? agents : 0), BAR_LEAST), BAR_MOST), f->ascii, &line);
    if (shows_agents) buf_puts(&line, "  "), curve_agents(c, f->ascii, &line);
    if (!line.failed) say_bytes(line.data, line.len);
    buf_free(&line);
    f->drawn = true;
}

/* Of an event's texts: in one line, and not all of them. */
static struct buf plain(struct event_str s)
{
    struct buf b = {0};
    escape_start(s.data, s.len, 160, &b);
    return b;
}

static void tell_end(struct learn_face *f, const struct event *e, const struct curve *c)
{
    struct buf who = plain(e->agent), how = plain(e->turn_end.end);
    int64_t taken = c->n ? c->point[c->n - 1].taken : 0;
    put(f, "  turn %lld%s%s: %lld tokens read, %lld written (%s); %.1f of %.1f MiB taken\n",
        (long long)e->turn_end.turn, who.len ? " of " : "", who.data ? who.data : "",
        (long long)e->turn_end.prompt_tokens, (long long)e->turn_end.tokens, how.data ? how.data : "",
        (double)taken / 0x1p20, (double)c->size / 0x1p20);
    buf_free(&who);
    buf_free(&how);
}

static void tell_failure(struct learn_face *f, const char *what, const struct event *e, struct event_str text)
{
    struct buf who = plain(e->agent), why = plain(text);
    wipe(f);
    put(f, "  %s%s%s: %s\n", what, who.len ? ", " : "", who.data ? who.data : "", why.data ? why.data : "");
    buf_free(&who);
    buf_free(&why);
}

void learn_on_event(void *self, int run, const struct event *e)
{
    struct learn_face *f = self;
    if (e->kind == EV_TURN_END && !say_on_terminal()) tell_end(f, e, &f->play->run[run].curve);
    if (e->kind == EV_ERROR) tell_failure(f, "error", e, e->error.text);
    if (e->kind == EV_REFUSAL) tell_failure(f, "refused", e, e->refusal.text);
    if (e->kind == EV_STOPPED) tell_failure(f, "stopped", e, e->stopped.reason);
}

static void tell_run(struct learn_face *f)
{
    const struct play_run *r = &f->play->run[f->play->stage == PLAY_FIXED];
    struct buf end = {0};
    wipe(f);
    figure_show(r->figures.value[FIGURE_END], UNIT_END, false, &end);
    put(f, "  ended: %s, %d turn%s, %.1f s\n", end.data ? end.data : "", r->curve.turns,
        r->curve.turns == 1 ? "" : "s", r->seconds);
    if (r->events == 0 && *r->said) put(f, "  it said: %.500s", r->said);
    buf_free(&end);
}

bool learn_step(struct play *p)
{
    struct pollfd fds[2] = {{.fd = play_fd(p), .events = POLLIN}, {.fd = signals_fd(), .events = POLLIN}};
    poll(fds, 2, play_wait_ms(p));
    return !signals_pending() && play_step(p);
}

/* To the run's end.  false: a signal. */
static bool watch(struct learn_face *f)
{
    while (play_runs(f->play) && !signals_pending())
        if (learn_step(f->play)) draw(f);
    wipe(f);
    return !signals_pending();
}

/* ---------------------------------------------------------------- the learner */

/* A line; false: a signal, or there will be none. */
static bool read_line(struct learn_face *f, const char *prompt, char *line, size_t room)
{
    const char *at;
    size_t n;
    struct err err;
    if (f->asks) say_bytes(prompt, strlen(prompt));
    line[0] = '\0';
    if (input_line(f->in, &at, &n, &err) != INPUT_OK) return false;
    struct buf clean = {0};
    term_filter_text(at, MIN(n, room), true, &clean);
    const char *text = clean.data ? clean.data : "";
    text += strspn(text, " ");
    snprintf(line, room, "%s", text);
    for (size_t end = strlen(line); end > 0 && line[end - 1] == ' '; end--) line[end - 1] = '\0';
    buf_free(&clean);
    return true;
}

static void ask_all(struct learn_face *f)
{
    struct play *p = f->play;
    for (int i = 0; i < p->lesson->asks && !f->automatic; i++) {
        char prompt[64], line[64];
        struct err err = {0};
        snprintf(prompt, sizeof prompt, "%d. your answer (%s): ", i + 1, p->lesson->ask[i].unit);
        do {
            if (!read_line(f, prompt, line, sizeof line)) return;
            if (play_answer(p, i, line, &err) == 0) break;
            say("%s", err.text);
        } while (f->asks);
    }
}

static void pause_here(struct learn_face *f)
{
    char line[8];
    if (f->asks) read_line(f, "\n[Enter goes on] ", line, sizeof line);
}

int learn_show(struct learn_face *f)
{
    struct play *p = f->play;
    put(f, "%s\n", p->lesson->title);
    for (; p->stage != PLAY_OVER; play_next(p)) {
        put_stage(f);
        if (p->stage == PLAY_ASK) ask_all(f);
        bool runs = play_runs(p);
        if (!watch(f)) return 128 + signals_pending();
        if (runs) tell_run(f);
        if (p->err.code) {
            say_error("%s", p->err.text);
            return EXIT_INTERNAL;
        }
        bool paused = p->stage == PLAY_SEE || p->stage == PLAY_VERDICT || p->stage == PLAY_COMPARE ||
                      p->stage == PLAY_FRAMEWORKS;
        if (paused) pause_here(f);
        if (f->out->failed) return EXIT_DONE; /* who reads has left: face_finish() says so */
        if (signals_pending()) return 128 + signals_pending();
    }
    return EXIT_DONE;
}
