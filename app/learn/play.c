/* play.c - see play.h. */
#include "app/learn/play.h"
#include "app/learn/play_child.h"
#include "app/learn/verdict_own.h"
#include "app/opts.h"
#include "app/progress.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 100, PARTS = 64 };

static const double usual_limit = 120, usual_patience = 60;

const char *play_stage_words(enum play_stage s)
{
    static const char *const words[] = {"What you will see", "Your prediction", "The broken run", "Why it failed",
                                        "The fix switched on", "Both runs, on one scale", "What others call the fix",
                                        "What the advice got wrong", "Your answers", ""};
    assert((size_t)s < COUNT_OF(words));
    return words[s];
}

/* Weights and workspace are no part of the KV pool. */
static bool is_about_ceiling(const struct lesson *l)
{
    const struct lesson_words *const all[] = {&l->flags, &l->own[RUN_BROKEN]};
    bool is = false;
    for (size_t k = 0; k < COUNT_OF(all); k++)
        for (int i = 1; i < all[k]->n; i++) {
            const char *v = all[k]->word[i];
            if (strcmp(all[k]->word[i - 1], "--naive") == 0)
                is = strcmp(v, "f32") == 0 || strcmp(v, "reload") == 0 || strcmp(v, "whole-batch") == 0;
        }
    return is;
}

struct play *play_open(const struct lesson *l, const struct play_config *cfg, struct err *err)
{
    struct play *p = calloc(1, sizeof *p);
    if (!p) {
        err_set(err, -1, "no memory for a lesson");
        return NULL;
    }
    p->lesson = l;
    p->config = *cfg;
    if (!p->config.program) p->config.program = "/proc/self/exe";
    if (!p->config.backend) p->config.backend = "cpu";
    if (p->config.limit <= 0) p->config.limit = usual_limit;
    if (p->config.patience <= 0) p->config.patience = usual_patience;
    for (int k = 0; k < RUNS; k++) {
        figures_init(&p->run[k].figures);
        curve_init(&p->run[k].curve, is_about_ceiling(l));
        if ((p->run[k].judge = judge_open())) continue;
        err_set(err, -1, "no memory for a lesson");
        play_close(p);
        return NULL;
    }
    return p;
}

/* ---------------------------------------------------------------- its folder */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st, (void)type, (void)f;
    return remove(path);
}

static int write_file(const char *folder, const struct lesson_file *f, struct err *err)
{
    char path[320];
    snprintf(path, sizeof path, "%s/%s", folder, f->name);
    FILE *out = fopen(path, "wxe");
    bool bad = !out;
    for (int i = 0; i < f->times && !bad; i++) bad = fprintf(out, "%s\n", f->text) < 0;
    if (out) bad |= fclose(out) != 0;
    return bad ? err_set(err, -1, "%s: %s", path, strerror(errno)) : 0;
}

static int make_folder(struct play *p, struct err *err)
{
    const char *dir = opts_getenv("TMPDIR");
    if (*p->folder) return 0;
    int n = snprintf(p->folder, sizeof p->folder, "%s/plimsoll-learn-XXXXXX", dir && *dir ? dir : "/tmp");
    if (n < 0 || (size_t)n >= sizeof p->folder || !mkdtemp(p->folder)) {
        p->folder[0] = '\0';
        return err_set(err, -1, "no folder for the runs of a lesson: %s", strerror(errno));
    }
    int rc = 0;
    for (int i = 0; i < p->lesson->files && rc == 0; i++) rc = write_file(p->folder, &p->lesson->file[i], err);
    return rc;
}

/* ---------------------------------------------------------------- the command line */

static void add(struct play_command *c, const char *word)
{
    assert(c->argc + 1 < PLAY_ARGS);
    c->argv[c->argc++] = (char *)(uintptr_t)word; /* posix_spawn() changes none of them */
}

static void add_words(struct play_command *c, const struct lesson_words *w)
{
    for (int i = 0; i < w->n; i++) add(c, w->word[i]);
}

/* The lesson's words, then ours, which win. */
static void make_command(struct play *p, int which, struct play_command *c, char threads[16])
{
    const struct lesson *l = p->lesson;
    static const char *const ours[] = {"--no-config", "--seed", "1", "--json", "--all-samples"};
    bool resumes = l->kill_turn > 0 && which == RUN_FIXED;
    *c = (struct play_command){.program = p->config.program, .folder = p->folder, .input = l->script[which],
                               .held = l->kill_turn > 0 && which == RUN_BROKEN}; /* it is not to end before that */
    add(c, "plimsoll");
    add_words(c, &l->run);
    add_words(c, &l->flags);
    add_words(c, &l->own[which]);
    for (size_t i = 0; i < COUNT_OF(ours); i++) add(c, ours[i]);
    add(c, "--backend");
    add(c, p->config.backend);
    snprintf(threads, 16, "%d", p->config.threads);
    if (p->config.threads > 0) add(c, "--threads"), add(c, threads);
    if (l->run.n == 0) add(c, "--script");
    if (l->kill_turn > 0) add(c, "--store"), add(c, "store");
    else add(c, "--no-save");
    if (resumes) add(c, "--resume"), add(c, "last");
    struct play_run *r = &p->run[which];
    for (int i = 0, n = 0; i < c->argc && n < (int)sizeof r->command; i++)
        n += snprintf(r->command + n, sizeof r->command - (size_t)n, "%s%s", i ? " " : "", c->argv[i]);
}

/* ---------------------------------------------------------------- a run */

static int which_run(const struct play *p) { return p->stage == PLAY_FIXED ? RUN_FIXED : RUN_BROKEN; }

/* A child with this command; -1: p->err says why there is none. */
static int start_child(struct play *p, const struct play_command *c)
{
    p->child = calloc(1, sizeof *p->child);
    if (!p->child) return err_set(&p->err, -1, "no memory for a run");
    if (play_child_start(p->child, c, &p->err) == 0) return 0;
    free(p->child);
    p->child = NULL;
    return -1;
}

/* What the flight recorder says of a run that could not say anything itself. */
static void begin_report(struct play *p)
{
    struct play_command c = {.program = p->config.program, .folder = p->folder, .input = ""};
    static const char *const words[] = {"plimsoll", "post-mortem", "--store", "store"};
    for (size_t i = 0; i < COUNT_OF(words); i++) add(&c, words[i]);
    p->reporting = start_child(p, &c) == 0;
}

static void begin_run(struct play *p)
{
    struct play_command c;
    char threads[16];
    struct play_run *r = &p->run[which_run(p)];
    r->begun = true;
    int rc = make_folder(p, &p->err);
    if (rc == 0) {
        make_command(p, which_run(p), &c, threads);
        rc = start_child(p, &c);
    }
    if (rc == 0) return;
    r->ended = true;
    figures_end(&r->figures, 1, 0);
}

static void end_report(struct play *p)
{
    play_child_end(p->child, NULL, 0);
    free(p->child);
    p->child = NULL;
    p->reporting = false;
}

static void end_run(struct play *p)
{
    struct play_run *r = &p->run[which_run(p)];
    struct play_child *c = p->child;
    if (p->reporting) {
        end_report(p);
        return;
    }
    r->seconds = progress_clock() - c->begun;
    play_child_end(c, r->said, sizeof r->said);
    bool killed = WIFSIGNALED(c->status) || c->late;
    figures_end(&r->figures, killed ? 0 : WEXITSTATUS(c->status),
                WIFSIGNALED(c->status) ? WTERMSIG(c->status) : c->late ? SIGTERM : 0);
    r->ended = true;
    free(c);
    p->child = NULL;
}

bool play_runs(const struct play *p) { return p->child != NULL; }
int play_fd(const struct play *p) { return p->child ? p->child->out : -1; }
int play_wait_ms(const struct play *p) { return p->child && p->child->out < 0 ? WAIT_MS / 10 : WAIT_MS; }

static void take_event(struct play *p, struct play_run *r, const struct event *e)
{
    const struct lesson *l = p->lesson;
    r->events++;
    figures_add(&r->figures, e);
    curve_add(&r->curve, e);
    judge_feed(r->judge, e);
    if (p->config.on_event) p->config.on_event(p->config.self, which_run(p), e);
    bool dies = which_run(p) == RUN_BROKEN && l->kill_turn > 0 && e->kind == EV_TURN_START &&
                e->turn_start.turn == l->kill_turn;
    if (dies) play_child_kill(p->child);
}

static bool take_report(struct play *p, bool came)
{
    const char *line;
    size_t n;
    int wrong = 0;
    while ((line = play_child_line(p->child, PLAY_REPORT, &n, &wrong))) {
        if (p->report.len + n + 1 > PLAY_REPORT) continue;
        buf_put(&p->report, line, n);
        buf_puts(&p->report, "\n");
    }
    if (p->child->over && !came) end_report(p);
    return true;
}

bool play_step(struct play *p)
{
    struct play_run *r = &p->run[which_run(p)];
    struct play_child *c = p->child;
    if (!c) return false;
    bool came = play_child_look(c, p->config.limit, p->config.patience);
    const char *line;
    size_t n;
    if (p->reporting) return take_report(p, came);
    while ((line = play_child_line(c, PLAY_LINE, &n, &r->wrong))) {
        struct event e;
        if (event_read(line, n, &e, NULL)) {
            r->wrong++;
            continue;
        }
        take_event(p, r, &e);
        event_free(&e);
    }
    r->seconds = progress_clock() - c->begun;
    if (!c->over || came) return came;
    end_run(p);
    if (p->lesson->kill_turn > 0 && p->stage == PLAY_BROKEN) begin_report(p);
    return true;
}

void play_close(struct play *p)
{
    if (!p) return;
    if (p->child) end_run(p);
    for (int k = 0; k < RUNS; k++)
        if (p->run[k].judge) judge_close(p->run[k].judge);
    buf_free(&p->report);
    if (*p->folder) nftw(p->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(p);
}

/* ---------------------------------------------------------------- stages */

static bool is_empty(const struct play *p, enum play_stage s) { return s == PLAY_SEED && !*p->lesson->seed; }

void play_next(struct play *p)
{
    if (p->child) end_run(p);
    if (p->stage == PLAY_OVER) return;
    do p->stage++;
    while (is_empty(p, p->stage));
    if (p->stage == PLAY_BROKEN || p->stage == PLAY_FIXED) begin_run(p);
}

void play_skip(struct play *p)
{
    if (p->child) end_run(p);
    p->stage = PLAY_OVER;
}

bool play_verdict(const struct play *p, struct verdict *out)
{
    const struct play_run *r = &p->run[RUN_BROKEN];
    if (!r->ended) return false;
    if (judge_verdict(r->judge, JUDGE_FIRST, out)) return true;
    if (r->figures.value[FIGURE_END] != RUN_KILLED) return false;
    judge_death(r->judge, out);
    return true;
}

/* ---------------------------------------------------------------- answers */

static bool figures_of(const struct play *p, struct figures out[RUNS])
{
    for (int k = 0; k < RUNS; k++) out[k] = p->run[k].figures;
    return p->run[RUN_BROKEN].ended;
}

static int right_value(const struct play *p, const struct lesson_ask *q, double *value, enum figure_unit *unit)
{
    struct figures f[RUNS];
    figures_of(p, f);
    *value = figure_value(&q->answer, f, unit);
    return isnan(*value) ? -1 : 0;
}

/* "12", "0", "1.5G", "3 MiB", "40 %", "9 turns": as a person writes it, and as the right answer is shown. */
static bool read_typed(const char *text, const char *unit, double *out)
{
    static const char units[] = "KMG";
    char digits[24], *end;
    size_t n = strspn(text, "0123456789.");
    if (n == 0 || n >= sizeof digits) return false;
    memcpy(digits, text, n);
    digits[n] = '\0';
    *out = strtod(digits, &end);
    if (end == digits || *end) return false;
    const char *rest = text + n + strspn(text + n, " "), *u = *rest ? strchr(units, *rest) : NULL;
    if (!*rest || strcmp(rest, "%") == 0 || strcmp(rest, unit) == 0) return true;
    for (const char *at = units; u && at <= u; at++) *out *= 1024;
    return u && (!rest[1] || strcmp(rest + 1, "B") == 0 || strcmp(rest + 1, "iB") == 0);
}

int play_answer(struct play *p, int ask, const char *text, struct err *err)
{
    assert(ask >= 0 && ask < p->lesson->asks);
    const struct lesson_ask *q = &p->lesson->ask[ask];
    struct play_answer a = {.given = *text != '\0'};
    snprintf(a.text, sizeof a.text, "%s", text);
    int letter = tolower((unsigned char)text[0]);
    if (a.given && q->is_choice) {
        if (letter < 'a' || letter >= 'a' + q->choices || text[1])
            return err_set(err, -1, "a letter from a to %c", 'a' + q->choices - 1);
        a.text[0] = (char)letter;
    } else if (a.given && !read_typed(text, q->unit, &a.value)) {
        return err_set(err, -1, "a number of %s is wanted, such as 12, or 3M for bytes", q->unit);
    }
    p->answer[ask] = a;
    return 0;
}

bool play_is_right(const struct play *p, int i)
{
    const struct lesson_ask *q = &p->lesson->ask[i];
    const struct play_answer *a = &p->answer[i];
    double right;
    enum figure_unit unit;
    if (!a->given) return false;
    if (q->is_choice) return a->text[0] == q->letter;
    if (right_value(p, q, &right, &unit)) return false;
    double room = q->within_share ? q->within * fabs(right) : q->within;
    return fabs(a->value - right) <= room;
}

int play_score(const struct play *p)
{
    int n = 0;
    for (int i = 0; i < p->lesson->asks; i++) n += play_is_right(p, i);
    return n;
}

void play_right(const struct play *p, int ask, struct buf *out)
{
    const struct lesson_ask *q = &p->lesson->ask[ask];
    double value;
    enum figure_unit unit;
    if (q->is_choice) {
        buf_printf(out, "%c) %s", q->letter, q->choice[q->letter - 'a']);
        return;
    }
    bool known = right_value(p, q, &value, &unit) == 0;
    figure_show(known ? value : (double)NAN, unit, false, out);
    if (unit != UNIT_BYTES && unit != UNIT_PERCENT) buf_printf(out, " %s", q->unit);
    if (q->within_share) buf_printf(out, ", give or take %.0f %%", 100 * q->within);
    if (q->within_share || q->within <= 0) return;
    buf_puts(out, ", give or take ");
    figure_show(q->within, unit == UNIT_PERCENT ? UNIT_COUNT : unit, false, out);
}

/* ---------------------------------------------------------------- what must be so */

static bool holds(double a, const char *op, double b)
{
    if (isnan(a) || isnan(b)) return false;
    if (strcmp(op, "=") == 0) return a == b;
    if (strcmp(op, "!=") == 0) return a != b;
    if (strcmp(op, "<") == 0) return a < b;
    if (strcmp(op, "<=") == 0) return a <= b;
    return strcmp(op, ">") == 0 ? a > b : a >= b;
}

static int check_fails(const struct play *p, struct err *err)
{
    const struct lesson *l = p->lesson;
    const double *v = p->run[RUN_BROKEN].figures.value;
    enum run_end how = (enum run_end)v[FIGURE_END];
    if (how != l->fails)
        return err_set(err, -1, "the broken run ended: %s; the lesson says %s", run_end_name(how),
                       run_end_name(l->fails));
    if (l->fails_turn > 0 && v[FIGURE_TURN] != l->fails_turn)
        return err_set(err, -1, "the broken run failed in turn %.0f; the lesson says %d", v[FIGURE_TURN],
                       l->fails_turn);
    return 0;
}

/* Where the engine's own figures say why. */
static int check_cause(const struct play *p, struct err *err)
{
    struct verdict v;
    if (p->lesson->fails != RUN_OOM && p->lesson->fails != RUN_REFUSED) return 0;
    if (!play_verdict(p, &v)) return err_set(err, -1, "nothing says why the broken run failed");
    if (v.cause == p->lesson->cause) return 0;
    return err_set(err, -1, "the broken run is judged as %s; the lesson says %s", cause_name(v.cause),
                   cause_name(p->lesson->cause));
}

int play_check(const struct play *p, struct err *err)
{
    struct figures f[RUNS];
    const struct lesson *l = p->lesson;
    figures_of(p, f);
    for (int k = 0; k < RUNS; k++)
        if (p->run[k].wrong > 0)
            return err_set(err, -1, "the %s run wrote %d line%s that %s no event%s", k ? "fixed" : "broken",
                           p->run[k].wrong, plural(p->run[k].wrong), p->run[k].wrong == 1 ? "is" : "are",
                           plural(p->run[k].wrong));
    if (check_fails(p, err) || check_cause(p, err)) return -1;
    for (int i = 0; i < l->expects; i++) {
        const struct lesson_expect *e = &l->expect[i];
        enum figure_unit ua, ub;
        double a = figure_value(&e->left, f, &ua), b = figure_value(&e->right, f, &ub);
        if (!holds(a, e->op, b)) return err_set(err, -1, "%s: it is %.15g and %.15g", e->text, a, b);
    }
    return 0;
}
