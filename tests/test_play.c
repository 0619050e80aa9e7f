/* Lessons played: each of the program's is a test, and a child that does not behave is ended. */
#include "app/learn/play.h"
#include "app/learn/play_child.h"
#include "app/progress.h"
#include "tests/check.h"
#include "tests/child.h"
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static struct err err;

/* From its stage on to another; every run to its end. */
static void go_to(struct play *p, enum play_stage s)
{
    while (p->stage < s) {
        play_next(p);
        while (play_runs(p) && p->stage < PLAY_OVER) {
            struct pollfd fd = {.fd = play_fd(p), .events = POLLIN};
            poll(&fd, 1, play_wait_ms(p));
            play_step(p);
        }
    }
}

static struct play_config config(void)
{
    static char path[PATH_MAX]; /* a run has a folder of its own */
    CHECK(realpath(child_program(), path));
    return (struct play_config){.program = path, .threads = 2};
}

/* ---------------------------------------------------------------- the lessons of the program */

static void text_of(const struct play *p, struct buf *out)
{
    out->len = 0;
    play_text(p, out);
    CHECK(!out->failed && out->len > 0);
}

/* No line of what a lesson says is too long for a terminal, whatever its figures: but command lines are copied. */
static void check_lines(const struct buf *text)
{
    size_t n;
    for (const char *at = text->data; *at; at += n + (at[n] == '\n')) {
        n = strcspn(at, "\n");
        if (n > 78 && (strspn(at, " ") == 0 || strspn(at, " ") == 3)) /* 3: why an answer is right */
            check_fail(__FILE__, __LINE__, "too long: %.*s", (int)n, at);
    }
}

static int questions_in(const char *text)
{
    int n = 0;
    for (; *text; text++) n += *text == '?';
    return n;
}

/* Every figure of its texts has a value. */
static void check_filled(const struct play *p, const char *text)
{
    struct figures f[RUNS] = {p->run[RUN_BROKEN].figures, p->run[RUN_FIXED].figures};
    struct buf out = {0};
    figures_fill(text, f, &out);
    if (questions_in(out.data ? out.data : "") != questions_in(text)) CHECK_STR(out.data, text);
    buf_free(&out);
}

/* Under a sanitizer a child takes so long that only the shortest are played; the plain build plays them all. */
static bool is_short(const char *number)
{
    static const char *const all[] = {"03", "04", "08", "11", "17"};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (strcmp(all[i], number) == 0) return true;
    return false;
}

static void play_lesson(const char *number)
{
    struct lesson l;
    struct buf text = {0};
    if (CHECK_SANITIZED && !is_short(number)) return;
    struct play_config cfg = config();
    CHECK_EQ(lesson_builtin(lesson_find(number), &l, &err), 0);
    struct play *p = play_open(&l, &cfg, &err);
    CHECK(p);
    for (enum play_stage s = PLAY_SEE; s < PLAY_OVER; s = p->stage) {
        text_of(p, &text);
        check_lines(&text);
        if (s == PLAY_VERDICT) check_filled(p, l.verdict);
        go_to(p, (enum play_stage)(s + 1));
    }
    CHECK_EQ(p->err.code, 0);
    if (play_check(p, &err)) CHECK_STR(err.text, "");
    check_filled(p, l.compare);
    check_filled(p, l.seed);
    for (int i = 0; i < l.asks; i++) check_filled(p, l.ask[i].why);
    CHECK(p->run[RUN_BROKEN].curve.n > 0 && p->run[RUN_FIXED].curve.n > 0);
    play_close(p);
    lesson_free(&l);
    buf_free(&text);
}

#define LESSON(number, path) TEST(lesson_##number) { play_lesson(#number); }
#include "lessons.h"
#undef LESSON

/* ---------------------------------------------------------------- a lesson of the test's own */

#define TEXTS                                                                                                  \
    "== see\ns\n== ask tokens\nHow many?\nanswer: 2 * 100\nwithin: 10%\n"                                       \
    "== ask choice\nWhich?\na) x\nb) y\nanswer: b\n"                                                           \
    "== verdict\nv\n== compare\nc\n== expect\n"
#define OWN "plimsoll lesson 1\nname: own\ntitle: t\ncovers: A1\ncause: kv\nfails: killed\n"

static struct lesson l;

static struct play *open_own(const char *text, const struct play_config *cfg)
{
    if (lesson_read(text, strlen(text), "own", &l, &err)) CHECK_STR(err.text, "");
    struct play *p = play_open(&l, cfg, &err);
    CHECK(p);
    return p;
}

static void close_own(struct play *p)
{
    play_close(p);
    lesson_free(&l);
}

static const char plain_lesson[] = OWN "run: stress\n" TEXTS "broken.end = killed\n";

/* A program that is this text for the shell. */
static const char *program_of(const char *text)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/program", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f && fprintf(f, "#!/bin/sh\n%s\n", text) > 0 && fclose(f) == 0 && chmod(path, 0700) == 0);
    return path;
}

TEST(a_child_that_hangs_is_ended)
{
    struct play_config cfg = {.program = program_of("trap '' TERM; while :; do sleep 0.1; done"), .patience = 0.2};
    struct play *p = open_own(plain_lesson, &cfg);
    double begun = progress_clock();
    go_to(p, PLAY_VERDICT);
    CHECK(progress_clock() - begun < 20);
    CHECK(p->run[RUN_BROKEN].figures.value[FIGURE_END] == RUN_KILLED);
    close_own(p);
}

TEST(a_child_that_talks_for_ever_is_ended)
{
    struct play_config cfg = {.program = program_of("while :; do echo no event; sleep 0.05; done"), .limit = 0.5};
    struct play *p = open_own(plain_lesson, &cfg);
    go_to(p, PLAY_VERDICT);
    CHECK(p->run[RUN_BROKEN].figures.value[FIGURE_END] == RUN_KILLED);
    CHECK(p->run[RUN_BROKEN].wrong > 1);
    go_to(p, PLAY_GRADE);
    CHECK(play_check(p, &err) != 0);
    CHECK(strstr(err.text, "no events"));
    close_own(p);
}

TEST(time_in_which_nobody_looks_is_not_the_runs)
{
    struct play_config cfg = {.program = program_of("sleep 1; exit 7"), .patience = 0.6, .limit = 0.8};
    struct play *p = open_own(plain_lesson, &cfg);
    while (p->stage != PLAY_BROKEN) play_next(p);
    pid_t child = p->child->pid;
    CHECK_EQ(kill(child, SIGSTOP), 0);
    usleep(1500000); /* Ctrl-Z stops both */
    CHECK_EQ(kill(child, SIGCONT), 0);
    play_step(p);
    CHECK(play_runs(p) && !p->child->late);
    close_own(p);
}

TEST(a_line_without_an_end_takes_no_memory_without_an_end)
{
    struct play_config cfg = {.program = program_of("head -c 30000000 /dev/zero; echo; echo x; echo said >&2; exit 7")};
    struct play *p = open_own(plain_lesson, &cfg);
    play_next(p);
    play_next(p);
    CHECK_EQ(p->stage, PLAY_BROKEN);
    size_t most = 0;
    while (play_runs(p)) {
        play_step(p);
        if (p->child) most = MAX(most, p->child->line.cap);
    }
    CHECK(most > 0 && most < 8 << 20);
    CHECK(p->run[RUN_BROKEN].wrong >= 2);
    CHECK_EQ(p->run[RUN_BROKEN].figures.value[FIGURE_STATUS] == 7, true);
    CHECK_STR(p->run[RUN_BROKEN].said, "said\n");
    close_own(p);
}

TEST(who_leaves_in_the_middle_leaves_nothing_behind)
{
    struct play_config cfg = {.program = program_of("exec sleep 1000")};
    struct play *p = open_own(plain_lesson, &cfg);
    char folder[256];
    play_next(p);
    play_next(p);
    CHECK(play_runs(p));
    pid_t pid = p->child->pid;
    snprintf(folder, sizeof folder, "%s", p->folder);
    CHECK(access(folder, F_OK) == 0);
    play_skip(p);
    CHECK_EQ(p->stage, PLAY_OVER);
    CHECK(kill(pid, 0) != 0);
    close_own(p);
    CHECK(access(folder, F_OK) != 0);
}

TEST(a_program_that_is_not_there)
{
    struct play_config cfg = {.program = "/nonexistent/program"};
    struct play *p = open_own(plain_lesson, &cfg);
    go_to(p, PLAY_VERDICT);
    CHECK(p->err.code != 0 && strstr(p->err.text, "cannot begin"));
    CHECK(p->run[RUN_BROKEN].figures.value[FIGURE_END] == RUN_FAILED);
    close_own(p);
}

/* What the child is given: no variable of ours, its files in its folder, our flags behind the lesson's. */
TEST(a_run_is_what_its_lesson_says)
{
    static const char text[] = OWN "flags: --ctx 256\n" TEXTS "broken.end = killed\n"
        "== file a.txt x2\nabc\n== script\nHello.\n";
    struct play_config cfg = {.program = program_of("cat; cat a.txt; env | grep PLIMSOLL_; echo \"$@\"; exit 5")};
    struct play *p = open_own(text, &cfg);
    setenv("PLIMSOLL_CTX", "64", 1);
    go_to(p, PLAY_VERDICT);
    unsetenv("PLIMSOLL_CTX");
    CHECK_EQ(p->run[RUN_BROKEN].wrong, 3); /* "Hello.abc", "abc" and the flags */
    CHECK_STR(p->run[RUN_BROKEN].command, "plimsoll --ctx 256 --no-config --seed 1 --json --all-samples --backend cpu "
              "--script --no-save");
    CHECK(p->run[RUN_BROKEN].figures.value[FIGURE_STATUS] == 5);
    close_own(p);
}

TEST(a_run_that_is_killed_goes_on_where_it_was_saved)
{
    static const char text[] = OWN "flags: --ctx 512 --vram 40M --max-tokens 16\nkill: turn 3\n" TEXTS
        "broken.end = killed\nbroken.turn = 3\nfixed.end = done\nfixed.resumed = 2\n"
        "== script broken\nOne, which is a title that is longer than a line of a lesson may be, and goes on and on.\n"
        "Two.\n/save\nThree.\nFour.\n== script fixed\nThree.\n";
    struct play_config cfg = config();
    struct play *p = open_own(text, &cfg);
    struct buf shown = {0};
    go_to(p, PLAY_VERDICT);
    text_of(p, &shown);
    CHECK(strstr(p->report.data, "\nbefore  ")); /* a table */
    CHECK(strncmp(shown.data, p->report.data, p->report.len) == 0); /* line by line */
    check_lines(&shown);
    buf_free(&shown);
    go_to(p, PLAY_GRADE);
    if (play_check(p, &err)) CHECK_STR(err.text, p->run[RUN_FIXED].said);
    CHECK(p->report.data && strstr(p->report.data, "It died: "));
    close_own(p);
}

/* ---------------------------------------------------------------- answers */

TEST(answers_are_graded)
{
    struct play_config cfg = {.program = program_of("exit 0")};
    struct play *p = open_own(plain_lesson, &cfg);
    struct buf right = {0};
    CHECK_EQ(play_score(p), 0);
    CHECK(play_answer(p, 0, "many", &err) != 0);
    CHECK(strstr(err.text, "a number of tokens"));
    CHECK(play_answer(p, 0, "-3", &err) != 0);
    CHECK(play_answer(p, 1, "c", &err) != 0);
    CHECK(play_answer(p, 1, "ab", &err) != 0);
    CHECK_STR(err.text, "a letter from a to b");
    CHECK_EQ(play_answer(p, 0, "221", &err), 0);
    CHECK(!play_is_right(p, 0));
    CHECK_EQ(play_answer(p, 0, "220", &err), 0);
    CHECK(play_is_right(p, 0));
    CHECK_EQ(play_answer(p, 0, "179", &err), 0);
    CHECK(!play_is_right(p, 0));
    CHECK_EQ(play_answer(p, 0, "200 tokens", &err), 0);
    CHECK(play_is_right(p, 0));
    CHECK_EQ(play_answer(p, 0, "1.5 MiB", &err), 0);
    CHECK(p->answer[0].value == 1.5 * 1024 * 1024);
    CHECK_EQ(play_answer(p, 0, "40 %", &err), 0);
    CHECK(p->answer[0].value == 40);
    CHECK_EQ(play_answer(p, 0, "0", &err), 0);
    CHECK(p->answer[0].given && p->answer[0].value == 0);
    CHECK(play_answer(p, 0, ".", &err) != 0);
    CHECK(play_answer(p, 0, "1.2.3", &err) != 0);
    CHECK(play_answer(p, 0, "3 turns", &err) != 0);
    CHECK_EQ(play_answer(p, 0, "0.2K", &err), 0);
    CHECK(play_is_right(p, 0));
    CHECK_EQ(play_answer(p, 1, "a", &err), 0);
    CHECK(!play_is_right(p, 1));
    CHECK_EQ(play_answer(p, 1, "B", &err), 0);
    CHECK_EQ(play_score(p), 2);
    CHECK_EQ(play_answer(p, 1, "", &err), 0);
    CHECK_EQ(play_score(p), 1);
    play_right(p, 0, &right);
    CHECK_STR(right.data, "200 tokens, give or take 10 %");
    buf_free(&right);
    close_own(p);
}

TEST(a_stage_that_has_nothing_is_passed_over)
{
    struct play_config cfg = {.program = program_of("exit 0")};
    struct play *p = open_own(plain_lesson, &cfg);
    go_to(p, PLAY_FRAMEWORKS);
    play_next(p);
    CHECK_EQ(p->stage, PLAY_GRADE);
    play_next(p);
    play_next(p);
    CHECK_EQ(p->stage, PLAY_OVER);
    close_own(p);
}

CHECK_MAIN
