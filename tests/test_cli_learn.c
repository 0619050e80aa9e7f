/* `plimsoll learn`: lessons as a person, a pipe and a teacher have them. */
#include "tests/check.h"
#include "tests/child.h"
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static struct child c;

/* In one folder for all of this program's tests. */
static const char *at(const char *name)
{
    static const char *folder;
    static char path[4][512];
    static int next;
    char *p = path[next++ % 4];
    if (!folder) folder = check_tmpdir();
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static const char *out(void) { return c.out_text.data ? c.out_text.data : ""; }
static const char *err(void) { return c.err_text.data ? c.err_text.data : ""; }

/* What is kept and what is made goes into that folder: the program is a script that says so and becomes it. */
static void own_places(void)
{
    static bool made;
    char program[PATH_MAX];
    if (made) return;
    made = true;
    CHECK(realpath(child_program(), program));
    mkdir(at("tmp"), 0700);
    FILE *f = fopen(at("program"), "w");
    CHECK(f && fprintf(f, "#!/bin/sh\nXDG_DATA_HOME=%s TMPDIR=%s exec %s \"$@\"\n", at("data"), at("tmp"),
                       program) > 0);
    CHECK(fclose(f) == 0 && chmod(at("program"), 0700) == 0);
    setenv("PLIMSOLL_BIN", at("program"), 1);
}

static int run(const char *in, const char *const *args)
{
    own_places();
    child_free(&c);
    return child_run(&c, args, in, strlen(in));
}
#define RUN(in, ...) run(in, (const char *const[]){"learn", __VA_ARGS__, NULL})

static void has(const char *text, const char *words)
{
    if (!strstr(text, words)) CHECK_STR(text, words);
}

static int entries(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

static const char *lesson_file(const char *head, const char *body)
{
    static char path[512];
    snprintf(path, sizeof path, "%s", at("own.lesson"));
    FILE *f = fopen(path, "w");
    CHECK(f && fprintf(f, "plimsoll lesson 1\nname: own\ntitle: Own\ncovers: A1\ncause: static-batch\n%s\n== see\n"
                          "See.\n== ask requests\nHow many?\nanswer: broken.oom.owners\n== verdict\n"
                          "{broken.lost} died.\n== compare\n{fixed.turns} answered.\n== expect\n%s\n", head, body) > 0);
    CHECK(fclose(f) == 0);
    return path;
}

#define GOOD                                                                                        \
    "run: stress --agents 4 --turns 1\nflags: --ctx 256 --pool 512 --parallel 4 --vram 30M\n"       \
    "broken: --naive reserve\nfails: turn 1 oom"

TEST(the_list)
{
    own_places();
    CHECK_EQ(child_run(&c, (const char *const[]){"learn", NULL}, "", 0), 0);
    has(out(), "L11  static-batch             -  Reserved in full");
    CHECK(strstr(out(), "L3 ") < strstr(out(), "L11 "));
    CHECK_EQ(RUN("", "--help"), 0);
    has(out(), "--vram            at most 1024M");
    CHECK_EQ(RUN("", "--figures"), 0);
    has(out(), "  oom.wanted ");
}

TEST(a_lesson_with_answers_on_stdin)
{
    CHECK_EQ(RUN("3\n90%\n", "static-batch"), 0);
    has(out(), "== What you will see");
    has(out(), "(requests; exactly)");
    has(out(), "(percent; give or take 10)");
    has(out(), "turn 1 of a4: 55 tokens read, 0 written (out_of_memory)");
    has(out(), "ended: oom, 16 turns");
    has(out(), "certain; in plimsoll");
    has(out(), "ended: done, 16 turns");
    has(out(), "broken                                fixed");
    has(out(), "vLLM ");
    has(out(), "1. right: you said 3; it is 3 requests");
    has(out(), "2. not so: you said 90%; it is ");
    has(out(), "1 of 2 right");
    CHECK(!strchr(out(), '\033') && !strchr(out(), '\r'));
    CHECK_STR(err(), "");
    CHECK_EQ(RUN("", "fan-out", "--auto"), 0);
    has(out(), "not answered: it is 12 requests");
    child_free(&c);
    CHECK_EQ(child_run(&c, (const char *const[]){"learn", NULL}, "", 0), 0);
    has(out(), "static-batch           1/2  ");
    has(out(), "fan-out                  -  ");
    CHECK_EQ(entries(at("data/plimsoll")), 1);
    CHECK_EQ(entries(at("tmp")), 0);
}

TEST(what_is_kept_and_cannot_be_read_is_said)
{
    own_places();
    mkdir(at("data"), 0700);
    mkdir(at("data/plimsoll"), 0700);
    FILE *f = fopen(at("data/plimsoll/learned"), "w");
    CHECK(f && fputs("\033[2J\n", f) >= 0 && fclose(f) == 0);
    child_free(&c);
    CHECK_EQ(child_run(&c, (const char *const[]){"learn", NULL}, "", 0), 0);
    has(err(), "learned: line 1 is none of a list of lessons");
    has(out(), "L11 ");
    CHECK_EQ(RUN("", "reload"), 0);
    has(err(), "that this lesson was played is not kept");
    CHECK(unlink(at("data/plimsoll/learned")) == 0);
}

TEST(curves_in_files)
{
    CHECK_EQ(RUN("", "4", "--auto", "--csv", at("a.csv"), "--svg", at("a.svg")), 0);
    struct stat st;
    CHECK(stat(at("a.csv"), &st) == 0 && st.st_size > 200);
    CHECK(stat(at("a.svg"), &st) == 0 && st.st_size > 1000);
    CHECK_EQ(RUN("", "4", "--auto", "--csv", at("none/a.csv")), 1);
    has(err(), "could not be written");
}

TEST(a_flag_that_would_do_nothing_is_refused)
{
    CHECK_EQ(RUN("", "--check", "does-it-fit", "--csv", at("b.csv")), 2);
    has(err(), "--csv is for a lesson that is shown: plimsoll learn NAME, without --check");
    CHECK_EQ(RUN("", "--svg", at("b.svg")), 2);
    CHECK_EQ(RUN("", "--auto"), 2);
    CHECK_EQ(RUN("", "--threads", "2"), 2);
    has(err(), "--threads is for a lesson that is played");
    CHECK_EQ(RUN("", "--figures", "does-it-fit"), 2);
    CHECK_EQ(RUN("", "--help", "--auto"), 0);
}

TEST(all_without_a_word)
{
    CHECK_EQ(RUN("", "--check", "does-it-fit"), 0);
    has(out(), "lesson               broken    at turn  fixed     seconds");
    has(out(), "L4   does-it-fit          oom             1  done  ");
    has(out(), "as it says\n");
    CHECK(!strstr(out(), "L3 "));
    CHECK_EQ(entries(at("tmp")), 0);
}

TEST(lessons_of_others)
{
    const char *file = lesson_file(GOOD, "broken.end = oom\nbroken.oom.owners = 2\nfixed.turns = 4");
    CHECK_EQ(RUN("2\n", "--trust", file), 0);
    has(out(), "1. right: you said 2; it is 2 requests");
    has(out(), "1 died.");
    has(out(), "4 answered.");
    CHECK_EQ(RUN("2\n", file), 2);
    has(err(), "--trust FILE");
    CHECK_EQ(RUN("", "--trust", lesson_file(GOOD "\nflags: --allow shell", "broken.end = oom")), 2);
    has(err(), "a lesson may not give \"--allow\"");
    CHECK_EQ(RUN("", "--trust", at("not.lesson")), 2);
    CHECK_EQ(RUN("", "--trust", check_tmpdir()), 2);
    CHECK_EQ(RUN("", "--trust"), 2);
}

TEST(a_lesson_that_is_not_as_it_says)
{
    CHECK_EQ(RUN("", "--auto", "--trust", lesson_file(GOOD, "fixed.turns = 5")), 6);
    has(err(), "own: this lesson is not as it says: fixed.turns = 5: it is 4 and 5");
    CHECK_EQ(RUN("", "--check", "--trust", lesson_file(GOOD, "fixed.turns = 5")), 6);
    has(out(), "NOT AS IT SAYS");
    static const char wrong_turn[] = "run: stress --agents 4 --turns 1\nbroken: --naive reserve\nfails: turn 2 oom\n"
                                     "flags: --ctx 256 --pool 512 --parallel 4 --vram 30M";
    CHECK_EQ(RUN("", "--check", "--trust", lesson_file(wrong_turn, "fixed.turns = 4")), 6);
    has(err(), "failed in turn 1; the lesson says 2");
    static const char no_vram[] = "run: stress --agents 4 --turns 1\nflags: --ctx 256 --vram 1M\nfails: oom";
    CHECK_EQ(RUN("", "--check", "--trust", lesson_file(no_vram, "fixed.turns = 4")), 6);
    has(err(), "the broken run ended: refused; the lesson says oom");
    CHECK_EQ(RUN("", "--check", "--trust", lesson_file(GOOD "\ncause: growth", "fixed.turns = 4")), 6);
    has(err(), "the broken run is judged as static-batch; the lesson says growth");
}

TEST(a_reader_who_leaves)
{
    own_places();
    child_free(&c);
    child_start(&c, (const char *const[]){"learn", "static-batch", "--auto", NULL});
    child_stop_reading(&c);
    CHECK_EQ(child_end(&c), 141);
    CHECK_STR(err(), "");
    CHECK_EQ(entries(at("tmp")), 0);
}

TEST(wrong_command_lines)
{
    CHECK_EQ(RUN("", "none"), 2);
    has(err(), "there is no lesson \"none\"");
    CHECK_EQ(RUN("", "--chekc"), 2);
    CHECK_EQ(RUN("", "3", "4"), 2);
    CHECK_EQ(RUN("", "3", "--backend", "tpu"), 2);
    CHECK_EQ(RUN("", "3", "--threads", "0"), 2);
    CHECK_EQ(RUN("", "--check", "none"), 2);
}

/* ---------------------------------------------------------------- a person */

static const struct child_terminal terminal = {.term = "xterm", .columns = 100, .rows = 40};

static void begin(const char *const *args)
{
    own_places();
    child_free(&c);
    child_start_in(&c, args, &terminal);
}

static void type(const char *text) { child_type(&c, text, strlen(text)); }

TEST(at_a_terminal)
{
    begin((const char *const[]){"learn", "static-batch", NULL});
    child_wait_for(&c, "[Enter goes on]");
    type("\r");
    child_wait_for(&c, "1. your answer (requests): ");
    type("many\r");
    child_wait_for(&c, "a number of requests is wanted");
    child_wait_for(&c, "1. your answer (requests): ");
    type("3\r");
    child_wait_for(&c, "2. your answer (percent): ");
    type("\r");
    child_wait_for(&c, "\r\033[K  KV ");
    child_wait_for(&c, "Why it failed");
    child_wait_for(&c, "[Enter goes on]");
    type("\r");
    child_wait_for(&c, "on one scale");
    child_wait_for(&c, "[Enter goes on]");
    type("\r");
    child_wait_for(&c, "[Enter goes on]");
    type("\r");
    child_wait_for(&c, "1 of 2 right");
    CHECK_EQ(child_end(&c), 0);
}

TEST(ctrl_c_ends_the_run_and_the_lesson)
{
    static const char endless[] = "run: stress --agents 8 --turns 1000\nflags: --ctx 256 --vram 30M\nfails: oom";
    begin((const char *const[]){"learn", "--auto", "--trust", lesson_file(endless, "fixed.turns = 4"), NULL});
    child_wait_for(&c, "\r\033[K  KV ");
    CHECK_EQ(entries(at("tmp")), 1);
    type("\003");
    CHECK_EQ(child_end(&c), 130);
    CHECK_EQ(entries(at("tmp")), 0);
    begin((const char *const[]){"learn", "static-batch", NULL});
    child_wait_for(&c, "[Enter goes on]");
    type("\003");
    CHECK_EQ(child_end(&c), 130);
}

TEST(a_check_that_is_ended_says_so)
{
    static const char long_one[] = "run: stress --agents 4 --turns 1000\nflags: --ctx 256 --pool 512 --parallel 4 "
                                   "--vram 30M\nbroken: --naive reserve\nfails: turn 1 oom";
    own_places();
    const char *const args[] = {"learn", "--check", "--trust", lesson_file(long_one, "broken.end = oom"), NULL};
    child_free(&c);
    child_start(&c, args);
    for (int i = 0; i < 1000 && entries(at("tmp")) == 0; i++) child_look(&c, 20);
    CHECK_EQ(kill(c.pid, SIGTERM), 0);
    CHECK_EQ(child_end(&c), 143);
    CHECK_STR(err(), "");
    CHECK_EQ(entries(at("tmp")), 0);
}

CHECK_MAIN
