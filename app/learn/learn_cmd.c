/* learn_cmd.c - `plimsoll learn`: lessons on a real engine, as text. */
#include "app/faces.h"
#include "app/learn/learn_face.h"
#include "app/learn/learned.h"
#include "app/opts.h"
#include "app/say.h"
#include "app/signals.h"
#include <errno.h>
#include <time.h>
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
    "leaves a question open.  stdin that is no terminal is taken as the answers, a line each.  What was\n"
    "played, and with what score, is kept in $XDG_DATA_HOME/plimsoll/learned (else ~/.local/share/...), but\n"
    "not with --auto or --trust.\n"
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

/* A flag that would do nothing is refused. */
static int check_together(const struct args *a, bool threads, struct err *err)
{
    bool one = a->name || a->trust, plays = one && !a->check;
    const char *of_a_play = a->automatic ? "--auto" : a->csv ? "--csv" : a->svg ? "--svg" : NULL;
    const char *of_a_run = a->backend ? "--backend" : threads ? "--threads" : NULL;
    if (a->figures && (one || a->check || of_a_play || of_a_run))
        return err_set(err, -1, "--figures lists names, and goes with nothing else");
    if (a->trust && a->name) return err_set(err, -1, "--trust names the file: \"%.40s\" is too much", a->name);
    if (of_a_play && !plays)
        return err_set(err, -1, "%s is for a lesson that is shown: plimsoll learn NAME%s", of_a_play,
                       a->check ? ", without --check" : "");
    if (of_a_run && !one && !a->check)
        return err_set(err, -1, "%s is for a lesson that is played: plimsoll learn NAME", of_a_run);
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
    return bad || a->help ? bad : check_together(a, threads, err);
}

/* ---------------------------------------------------------------- the list */

/* What is kept of earlier plays; none where it cannot be read, which is said. */
static struct learned read_learned(void)
{
    struct buf path = {0};
    struct learned l = {.n = 0};
    struct err err = {0};
    if (learned_path(&path, NULL) == 0 && learned_read(path.data, &l, &err)) say_error("%s", err.text);
    buf_free(&path);
    return l;
}

static void put_list(struct buf *out)
{
    struct learned learned = read_learned();
    for (int i = 0; i < lesson_count(); i++) {
        struct lesson l;
        if (lesson_builtin(i, &l, NULL)) {
            out->failed = true;
            return;
        }
        const struct learned_row *row = learned_of(&learned, l.name);
        char score[24] = "-";
        if (row) snprintf(score, sizeof score, "%d/%d", row->right, row->of);
        buf_printf(out, "L%-3d %-20s %5s  %s\n", lesson_number(i), l.name, score, l.title);
        lesson_free(&l);
    }
    buf_puts(out, "\nplimsoll learn NAME plays one (n/m: right answers of those that are asked); --help\n");
}

/* ---------------------------------------------------------------- its curves */

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

/* ---------------------------------------------------------------- one */

/* Not knowing where to keep it is no reason to fail. */
static void keep_score(const struct play *p)
{
    struct buf path = {0};
    struct err err = {0};
    int rc = learned_path(&path, &err);
    if (rc == 0)
        rc = learned_note(path.data, p->lesson->name, play_score(p), p->lesson->asks, (int64_t)time(NULL), &err);
    if (rc) say("that this lesson was played is not kept: %s", err.text);
    buf_free(&path);
}

static int after(const struct play *p, const struct args *a)
{
    struct err err = {0};
    if (write_curves(p, a, &err)) {
        say_error("%s", err.text);
        return EXIT_INTERNAL;
    }
    if (play_check(p, &err)) {
        say_error("%s: this lesson is not as it says: %s", p->lesson->name, err.text);
        return EXIT_UNMET;
    }
    if (!a->automatic && !a->trust) keep_score(p);
    return EXIT_DONE;
}

static bool shows_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *v = opts_getenv(names[i]);
        if (v && *v) return strcasestr(v, "UTF-8") || strcasestr(v, "utf8");
    }
    return false;
}

static int play_one(struct out *out, const struct lesson *l, const struct args *a)
{
    struct input in;
    struct err err = {0};
    struct learn_face f = {.out = out, .in = &in, .automatic = a->automatic, .ascii = !shows_utf8(),
                           .asks = !a->automatic && isatty(STDIN_FILENO) == 1 && say_on_terminal()};
    struct play_config cfg = {.backend = a->backend, .threads = a->threads, .on_event = learn_on_event, .self = &f};
    f.play = play_open(l, &cfg, &err);
    if (!f.play) {
        say_error("%s", err.text);
        return EXIT_INTERNAL;
    }
    input_open(&in, a->automatic ? -1 : STDIN_FILENO);
    int status = learn_show(&f);
    if (status == EXIT_DONE && !out->failed) status = after(f.play, a);
    input_close(&in);
    play_close(f.play);
    return status;
}

/* ---------------------------------------------------------------- without a word */

__attribute__((format(printf, 2, 3))) static void print(struct out *out, const char *fmt, ...)
{
    char line[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    out_put(out, line, strlen(line));
}

static void print_checked(struct out *out, const struct play *p, int number, bool good)
{
    const struct figures *b = &p->run[RUN_BROKEN].figures, *x = &p->run[RUN_FIXED].figures;
    char turn[16] = "-";
    if (b->value[FIGURE_TURN] > 0) snprintf(turn, sizeof turn, "%.0f", b->value[FIGURE_TURN]);
    print(out, "L%-3d %-20s %-9s %7s  %-9s %7.1f  %s\n", number, p->lesson->name,
          run_end_name((enum run_end)b->value[FIGURE_END]), turn, run_end_name((enum run_end)x->value[FIGURE_END]),
          p->run[RUN_BROKEN].seconds + p->run[RUN_FIXED].seconds, good ? "as it says" : "NOT AS IT SAYS");
}

static void check_one(struct out *out, const struct lesson *l, int number, const struct args *a, int *status)
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
        while (play_runs(p) && !signals_pending()) learn_step(p);
    bool bad = p->err.code || play_check(p, &err);
    if (!signals_pending()) print_checked(out, p, number, !bad);
    if (bad && !signals_pending()) say_error("%s: %s", l->name, p->err.code ? p->err.text : err.text);
    if (bad && *status == EXIT_DONE) *status = EXIT_UNMET;
    play_close(p);
}

static int check_all(struct out *out, const struct args *a)
{
    int status = EXIT_DONE, only = a->name ? lesson_find(a->name) : -1;
    print(out, "%-4s %-20s %-9s %7s  %-9s %7s\n", "", "lesson", "broken", "at turn", "fixed", "seconds");
    for (int i = 0; i < lesson_count() && !signals_pending(); i++) {
        struct lesson l;
        struct err err = {0};
        if (a->name && i != only) continue;
        if (lesson_builtin(i, &l, &err)) {
            say_error("%s", err.text);
            return EXIT_INTERNAL;
        }
        check_one(out, &l, lesson_number(i), a, &status);
        lesson_free(&l);
    }
    return status;
}

/* ---------------------------------------------------------------- the command */

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

static int run(const struct args *a)
{
    struct lesson l = {.mem = NULL};
    struct out out;
    struct err err = {0};
    int status = EXIT_DONE;
    if ((a->name || a->trust) && load(a, &l, &err)) {
        say_error("%s", err.text);
        return EXIT_USAGE;
    }
    if (signals_open(&err)) {
        say_error("%s", err.text);
        lesson_free(&l);
        return EXIT_INTERNAL;
    }
    out_init(&out, STDOUT_FILENO);
    if (!a->check) status = play_one(&out, &l, a);
    else if (a->trust) check_one(&out, &l, 0, a, &status);
    else status = check_all(&out, a);
    if (signals_pending()) status = 128 + signals_pending(); /* a run that is ended so is not the lesson's fault */
    lesson_free(&l);
    out_end(&out);
    return face_finish(&out, status);
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
