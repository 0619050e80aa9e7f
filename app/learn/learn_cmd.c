/* learn_cmd.c - `plimsoll learn`: lessons on a real engine, as text. */
#include "app/faces.h"
#include "app/input.h"
#include "app/learn/play.h"
#include "app/opts.h"
#include "app/say.h"
#include "app/signals.h"
#include "app/term_filter.h"
#include "tools/escape.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>

static const char help[] =
    "plimsoll learn - lessons on running out of memory, on a real engine with a small budget of its own\n"
    "\n"
    "  plimsoll learn                  the lessons\n"
    "  plimsoll learn NAME             play one (its name, or its number: static-batch, L11, 11)\n"
    "  plimsoll learn --trust FILE     play one from a file of somebody's\n"
    "  plimsoll learn --check [NAME]   play all, or one, without a word; is everything as it says?\n"
    "  plimsoll learn --figures        the names of figures, for who writes a lesson\n"
    "\n"
    "  --auto            for a teacher: nothing is asked and nothing waited for, the answers are shown\n"
    "  --csv FILE        the memory of both runs over time, as a table\n"
    "  --svg FILE        ... as a picture\n"
    "  --backend NAME    what computes: cpu (the default), cuda\n"
    "  --threads N       CPU threads (one a core)\n"
    "\n"
    "A lesson says what you will see and asks for a prediction.  Then it makes the failing run as a child\n"
    "process, says from the run's own figures why it failed, makes the same run again with the fix, and\n"
    "grades the prediction.  Answers are a number (12, 40%, 3M) or the letter of a choice; an empty line\n"
    "leaves a question open.  stdin that is no terminal is taken as the answers, a line each.\n"
    "\n"
    "A lesson of somebody's may give the child these flags and no others, and nobody may give more:\n";

static const char help_end[] =
    "\n"
    "Exit status: 0 played to its end; 1 a run could not be made, or stdout not be written; 2 usage, or\n"
    "a file that is no lesson; 6 a lesson is not as it says; 130 interrupted.\n";

static void put_help(struct buf *out)
{
    buf_puts(out, help);
    lesson_allowed(out);
    buf_puts(out, help_end);
}

struct args {
    const char *name, *trust, *backend, *csv, *svg;
    int threads;
    bool automatic, check, figures, help;
};

/* ---------------------------------------------------------------- the command line */

static int take_value(int argc, char **argv, int *i, const char **out, struct err *err)
{
    if (*i + 1 >= argc) return err_set(err, -1, "%s needs a value (plimsoll learn --help)", argv[*i]);
    *out = argv[++*i];
    return 0;
}

static int take_threads(const char *text, int *out, struct err *err)
{
    char *end = NULL;
    long n = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;
    if (!end || *end || n < 1 || n > 1024)
        return err_set(err, -1, "--threads: \"%.40s\" is no number of threads", text);
    *out = (int)n;
    return 0;
}

static int parse(int argc, char **argv, struct args *a, struct err *err)
{
    const char *threads = NULL;
    int bad = 0;
    for (int i = 1; i < argc && !bad; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0) a->help = true;
        else if (strcmp(arg, "--auto") == 0) a->automatic = true;
        else if (strcmp(arg, "--check") == 0) a->check = true;
        else if (strcmp(arg, "--figures") == 0) a->figures = true;
        else if (strcmp(arg, "--trust") == 0) bad = take_value(argc, argv, &i, &a->trust, err);
        else if (strcmp(arg, "--csv") == 0) bad = take_value(argc, argv, &i, &a->csv, err);
        else if (strcmp(arg, "--svg") == 0) bad = take_value(argc, argv, &i, &a->svg, err);
        else if (strcmp(arg, "--backend") == 0) bad = take_value(argc, argv, &i, &a->backend, err);
        else if (strcmp(arg, "--threads") == 0) bad = take_value(argc, argv, &i, &threads, err);
        else if (arg[0] == '-') bad = err_set(err, -1, "no such flag: %.60s (plimsoll learn --help)", arg);
        else if (a->name) bad = err_set(err, -1, "one lesson at a time: %.40s, not also %.40s", a->name, arg);
        else a->name = arg;
    }
    if (!bad && threads) bad = take_threads(threads, &a->threads, err);
    bool cuda = a->backend && strcmp(a->backend, "cuda") == 0;
    if (!bad && a->backend && !cuda && strcmp(a->backend, "cpu") != 0)
        bad = err_set(err, -1, "--backend: \"%.40s\" is neither cpu nor cuda", a->backend);
    if (!bad && a->trust && a->name) bad = err_set(err, -1, "--trust names the file: \"%.40s\" is too much", a->name);
    return bad;
}

/* ---------------------------------------------------------------- what is shown */

struct face {
    struct out out;
    struct input in;
    struct play *play;
    bool automatic, asks;   /* asks: a person is there, who is waited for */
    bool drawn, ascii, quiet;
};

__attribute__((format(printf, 2, 3))) static void put(struct face *f, const char *fmt, ...)
{
    struct buf text = {0}, shown = {0};
    char small[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    buf_puts(&text, small);
    term_filter_text(text.data ? text.data : "", text.len, false, &shown);
    if (!f->quiet) out_put(&f->out, shown.data, shown.len);
    buf_free(&text);
    buf_free(&shown);
}

static void put_charts(struct face *f);

static void put_stage(struct face *f)
{
    struct buf text = {0}, shown = {0};
    play_text(f->play, &text);
    put(f, "\n== %s\n\n", play_stage_words(f->play->stage));
    if (f->play->stage == PLAY_COMPARE) put_charts(f);
    term_filter_text(text.data ? text.data : "", text.len, false, &shown);
    if (!f->quiet) out_put(&f->out, shown.data, shown.len);
    buf_free(&text);
    buf_free(&shown);
}

/* ---------------------------------------------------------------- a run goes on */

static void wipe(struct face *f)
{
    if (f->drawn) say_bytes("\r\033[K", 4);
    f->drawn = false;
}

/* On a terminal one line that is drawn over. */
static void draw(struct face *f)
{
    struct buf line = {0};
    const struct curve *c = &f->play->run[f->play->stage == PLAY_FIXED].curve;
    if (f->quiet || !say_on_terminal()) return;
    buf_puts(&line, "\r\033[K  ");
    curve_bar(c, 32, f->ascii, &line);
    buf_printf(&line, ", %d turns", c->turns);
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

static void tell_end(struct face *f, const struct event *e, const struct curve *c)
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

static void tell_failure(struct face *f, const char *what, const struct event *e, struct event_str text)
{
    struct buf who = plain(e->agent), why = plain(text);
    wipe(f);
    put(f, "  %s%s%s: %s\n", what, who.len ? ", " : "", who.data ? who.data : "", why.data ? why.data : "");
    buf_free(&who);
    buf_free(&why);
}

static void on_event(void *self, int run, const struct event *e)
{
    struct face *f = self;
    if (e->kind == EV_TURN_END && !say_on_terminal()) tell_end(f, e, &f->play->run[run].curve);
    if (e->kind == EV_ERROR) tell_failure(f, "error", e, e->error.text);
    if (e->kind == EV_REFUSAL) tell_failure(f, "refused", e, e->refusal.text);
    if (e->kind == EV_STOPPED) tell_failure(f, "stopped", e, e->stopped.reason);
}

static void tell_run(struct face *f)
{
    const struct play_run *r = &f->play->run[f->play->stage == PLAY_FIXED];
    struct buf end = {0};
    wipe(f);
    figure_show(r->figures.value[FIGURE_END], UNIT_END, false, &end);
    put(f, "  ended: %s, %d turns, %.1f s\n", end.data ? end.data : "", r->curve.turns, r->seconds);
    if (r->events == 0 && *r->said) put(f, "  it said: %.500s", r->said);
    buf_free(&end);
}

/* To the run's end.  false: a signal. */
static bool watch(struct face *f)
{
    struct play *p = f->play;
    while (play_runs(p)) {
        struct pollfd fds[2] = {{.fd = play_fd(p), .events = POLLIN}, {.fd = signals_fd(), .events = POLLIN}};
        poll(fds, 2, play_wait_ms(p));
        if (signals_pending()) {
            wipe(f);
            return false;
        }
        if (play_step(p)) draw(f);
    }
    return true;
}

/* ---------------------------------------------------------------- both runs */

enum { CHART_COLUMNS = 34, CHART_ROWS = 8 };

static void put_row(const char **left, const char **right, struct buf *out)
{
    size_t a = strcspn(*left, "\n"), b = strcspn(*right, "\n");
    buf_printf(out, "  |%.*s|  |%.*s|\n", (int)a, *left, (int)b, *right);
    *left += a + ((*left)[a] == '\n');
    *right += b + ((*right)[b] == '\n');
}

/* Side by side, on one scale. */
static void put_charts(struct face *f)
{
    const struct curve *a = &f->play->run[RUN_BROKEN].curve, *b = &f->play->run[RUN_FIXED].curve;
    int64_t size = MAX(a->size, b->size);
    struct buf left = {0}, right = {0}, text = {0};
    curve_chart(a, CHART_COLUMNS, CHART_ROWS, size, f->ascii, &left);
    curve_chart(b, CHART_COLUMNS, CHART_ROWS, size, f->ascii, &right);
    const char *l = left.data ? left.data : "", *r = right.data ? right.data : "";
    buf_printf(&text, "  %-*s  %s\n", CHART_COLUMNS + 2, "broken", "fixed");
    for (int row = 0; row < CHART_ROWS; row++) put_row(&l, &r, &text);
    buf_printf(&text, "  %s of %.1f MiB; %s: holds tokens, %s: taken and empty%s\n\n",
               a->ceiling ? "all under the ceiling" : "the KV pool", (double)size / 0x1p20, f->ascii ? "#" : "█",
               f->ascii ? ":" : "░", a->failed_at >= 0 ? f->ascii ? ", !: out of memory" : ", ✗: out of memory" : "");
    if (!f->quiet) out_put(&f->out, text.data, text.len);
    buf_free(&left);
    buf_free(&right);
    buf_free(&text);
}

/* A file of the learner's choice. */
static int write_text(const char *path, const struct buf *text, struct err *err)
{
    FILE *out = fopen(path, "we");
    bool bad = !out || text->failed || fwrite(text->data, 1, text->len, out) != text->len;
    if (out) bad |= fclose(out) != 0;
    return bad ? err_set(err, -1, "%.200s could not be written: %s", path, strerror(errno)) : 0;
}

static int write_curves(const struct play *p, const struct args *a, struct err *err)
{
    static const char *const names[] = {"broken", "fixed"};
    const struct curve *const runs[] = {&p->run[RUN_BROKEN].curve, &p->run[RUN_FIXED].curve};
    struct buf text = {0};
    int rc = 0;
    if (a->csv) {
        curves_csv(runs, names, RUNS, &text);
        rc = write_text(a->csv, &text, err);
        buf_free(&text);
    }
    if (a->svg && rc == 0) {
        curves_svg(runs, names, RUNS, p->lesson->title, &text);
        rc = write_text(a->svg, &text, err);
        buf_free(&text);
    }
    return rc;
}

/* ---------------------------------------------------------------- the learner */

/* A line; false: a signal, or there will be none. */
static bool read_line(struct face *f, const char *prompt, char *line, size_t room)
{
    const char *at;
    size_t n;
    struct err err;
    if (f->asks) say_bytes(prompt, strlen(prompt));
    line[0] = '\0';
    if (input_line(&f->in, &at, &n, &err) != INPUT_OK) return false;
    struct buf clean = {0};
    term_filter_text(at, MIN(n, room), true, &clean);
    const char *text = clean.data ? clean.data : "";
    text += strspn(text, " ");
    snprintf(line, room, "%s", text);
    for (size_t end = strlen(line); end > 0 && line[end - 1] == ' '; end--) line[end - 1] = '\0';
    buf_free(&clean);
    return true;
}

static void ask_all(struct face *f)
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

static void pause_here(struct face *f)
{
    char line[8];
    if (f->asks) read_line(f, "\n[Enter goes on] ", line, sizeof line);
}

static int stages(struct face *f)
{
    struct play *p = f->play;
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
        if (signals_pending()) return 128 + signals_pending();
    }
    return EXIT_DONE;
}

static int play_one(struct face *f, const struct lesson *l, const struct args *a)
{
    struct err err = {0};
    struct play_config cfg = {.backend = a->backend, .threads = a->threads, .on_event = on_event, .self = f};
    f->play = play_open(l, &cfg, &err);
    if (!f->play) {
        say_error("%s", err.text);
        return EXIT_INTERNAL;
    }
    put(f, "%s\n", l->title);
    int status = stages(f);
    if (status == EXIT_DONE && write_curves(f->play, a, &err)) {
        say_error("%s", err.text);
        status = EXIT_INTERNAL;
    }
    if (status == EXIT_DONE && play_check(f->play, &err)) {
        say_error("%s: this lesson is not as it says: %s", l->name, err.text);
        status = EXIT_UNMET;
    }
    play_close(f->play);
    return status;
}

/* ---------------------------------------------------------------- all of them */

static void put_list(struct buf *out)
{
    for (int i = 0; i < lesson_count(); i++) {
        struct lesson l;
        if (lesson_builtin(i, &l, NULL)) {
            out->failed = true;
            return;
        }
        buf_printf(out, "L%-3d %-20s %s\n", lesson_number(i), l.name, l.title);
        lesson_free(&l);
    }
    buf_puts(out, "\nplimsoll learn NAME plays one; plimsoll learn --help\n");
}

static void check_one(struct face *f, const struct lesson *l, int number, const struct args *a, int *status)
{
    struct err err = {0};
    struct play_config cfg = {.backend = a->backend, .threads = a->threads};
    struct play *p = play_open(l, &cfg, &err);
    if (!p) {
        say_error("%s", err.text);
        *status = EXIT_INTERNAL;
        return;
    }
    for (; p->stage != PLAY_OVER && !signals_pending(); play_next(p))
        while (play_runs(p) && !signals_pending()) {
            struct pollfd fds[2] = {{.fd = play_fd(p), .events = POLLIN}, {.fd = signals_fd(), .events = POLLIN}};
            poll(fds, 2, play_wait_ms(p));
            play_step(p);
        }
    const struct figures *b = &p->run[RUN_BROKEN].figures, *x = &p->run[RUN_FIXED].figures;
    bool bad = p->err.code || play_check(p, &err);
    char turn[16] = "-";
    if (b->value[FIGURE_TURN] > 0) snprintf(turn, sizeof turn, "%.0f", b->value[FIGURE_TURN]);
    put(f, "L%-3d %-20s %-9s %7s  %-9s %7.1f  %s\n", number, l->name, run_end_name((enum run_end)b->value[FIGURE_END]),
        turn, run_end_name((enum run_end)x->value[FIGURE_END]), p->run[RUN_BROKEN].seconds + p->run[RUN_FIXED].seconds,
        bad ? "NOT AS IT SAYS" : "as it says");
    if (bad && !signals_pending()) say_error("%s: %s", l->name, p->err.code ? p->err.text : err.text);
    if (bad && *status == EXIT_DONE) *status = EXIT_UNMET;
    play_close(p);
}

static int check_all(struct face *f, const struct args *a)
{
    int status = EXIT_DONE, only = a->name ? lesson_find(a->name) : -1;
    put(f, "%-4s %-20s %-9s %7s  %-9s %7s\n", "", "lesson", "broken", "at turn", "fixed", "seconds");
    for (int i = 0; i < lesson_count() && !signals_pending(); i++) {
        struct lesson l;
        struct err err = {0};
        if (a->name && i != only) continue;
        if (lesson_builtin(i, &l, &err)) {
            say_error("%s", err.text);
            return EXIT_INTERNAL;
        }
        check_one(f, &l, lesson_number(i), a, &status);
        lesson_free(&l);
    }
    return signals_pending() ? 128 + signals_pending() : status;
}

static int load(const struct args *a, struct lesson *l, struct err *err)
{
    if (a->trust) return lesson_load(a->trust, l, err);
    int i = lesson_find(a->name);
    if (i >= 0) return lesson_builtin(i, l, err);
    if (strchr(a->name, '/') || strchr(a->name, '.'))
        return err_set(err, -1, "%.200s is no lesson of the program; a file of somebody's is played by --trust FILE",
                       a->name);
    return err_set(err, -1, "there is no lesson \"%.40s\" (plimsoll learn lists them)", a->name);
}

static bool shows_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *v = opts_getenv(names[i]);
        if (v && *v) return strstr(v, "UTF-8") || strstr(v, "utf8") || strstr(v, "UTF8") || strstr(v, "utf-8");
    }
    return false;
}

static int run(const struct args *a)
{
    struct face f = {.automatic = a->automatic, .ascii = !shows_utf8()};
    struct lesson l = {0};
    struct err err = {0};
    int status = EXIT_DONE;
    if ((a->name || a->trust) && (!a->check || a->trust) && load(a, &l, &err)) {
        say_error("%s", err.text);
        return EXIT_USAGE;
    }
    if (a->check && a->name && lesson_find(a->name) < 0) {
        say_error("there is no lesson \"%.40s\" (plimsoll learn lists them)", a->name);
        return EXIT_USAGE;
    }
    if (signals_open(&err)) {
        say_error("%s", err.text);
        return EXIT_INTERNAL;
    }
    out_init(&f.out, STDOUT_FILENO);
    input_open(&f.in, a->automatic ? -1 : STDIN_FILENO);
    f.asks = !a->automatic && isatty(STDIN_FILENO) && say_on_terminal();
    if (a->check && !a->trust) status = check_all(&f, a);
    else if (a->check) check_one(&f, &l, 0, a, &status);
    else status = play_one(&f, &l, a);
    input_close(&f.in);
    lesson_free(&l);
    out_end(&f.out);
    return face_finish(&f.out, status);
}

int learn_run(int argc, char **argv)
{
    struct args a = {.name = NULL};
    struct err err = {0};
    const char *term = opts_getenv("TERM"), *no_color = opts_getenv("NO_COLOR");
    say_plainly((no_color && *no_color) || !term || !*term || strcmp(term, "dumb") == 0);
    if (parse(argc, argv, &a, &err)) {
        say_error("%s", err.text);
        return EXIT_USAGE;
    }
    if (a.help) return face_print(put_help);
    if (a.figures) return face_print(figures_doc);
    if (!a.name && !a.trust && !a.check) return face_print(put_list);
    return run(&a);
}
