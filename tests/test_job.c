/* Jobs from start to end: what they write, how they end, and that nothing of them stays.  The tools are this program
 * again, or a shell. */
#include "tests/job_rig.h"
#include "tools/job_group.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

/* ---------------------------------------------------------------- tools that are part of this program */

static int say_arguments(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) printf("[%s]", argv[i]);
    return 7;
}

/* Four processes of 48 MiB each, in sessions of their own. */
static int eat(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (int i = 0; i < 4; i++) {
        if (fork()) continue;
        setsid();
        char *mem = mmap(NULL, 48 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mem != MAP_FAILED) memset(mem, 1, 48 << 20);
        break;
    }
    while (pause()) {}
    return 1;
}

/* Forks for ever, in new sessions; under the outer limit that the test has set. */
static int bomb(int argc, char **argv)
{
    (void)argc, (void)argv;
    while (fork() >= 0 || errno == EAGAIN) setsid();
    return 1;
}

static const struct job_builtin table[] = {{"arguments", say_arguments}, {"eat", eat}, {"bomb", bomb}, {0}};

/* ---------------------------------------------------------------- how they end */

TEST(job_gives_input_output_and_status)
{
    struct job_config cfg = {.argv = SHELL("cat; echo err >&2; exit 3"), .in = "in\n", .n_in = 3};
    struct job_result r = end(begin(cfg));
    CHECK_EQ(r.end, JOB_EXITED);
    CHECK_EQ(r.value, 3);
    CHECK_STR(shown.data, "in\nerr\n");
    CHECK_EQ(r.bytes, 7);
    CHECK(r.seconds > 0 && r.seconds < 30);
    r = shell("cat; pwd", (struct job_limits){0});
    CHECK_EQ(r.value, 0);
    CHECK(strncmp(shown.data, workspace(), strlen(workspace())) == 0);
}

TEST(job_runs_a_built_in_tool_by_name)
{
    struct job_result r = end(begin((struct job_config){.argv = ARGV("arguments", "a b", ""), .builtin = true}));
    CHECK_EQ(r.end, JOB_EXITED);
    CHECK_EQ(r.value, 7);
    CHECK_STR(shown.data, "[arguments][a b][]");
    r = end(begin((struct job_config){.argv = ARGV("nothing"), .builtin = true}));
    CHECK_EQ(r.value, 127);
}

TEST(job_says_what_a_shell_would)
{
    CHECK_EQ(end(begin((struct job_config){.argv = ARGV("no-such-program")})).value, 127);
    CHECK_EQ(end(begin((struct job_config){.argv = ARGV("/usr")})).value, 126);
    struct job_result r = shell("ulimit -c; exec sh -c 'ulimit -t 1; while :; do :; done'", (struct job_limits){0});
    CHECK_EQ(r.end, JOB_SIGNALLED);
    CHECK(r.value == SIGXCPU || r.value == SIGKILL);
}

TEST(job_is_refused_before_it_starts)
{
    need_jail();
    struct err err = {0};
    struct job_config cfg = {.argv = ARGV("true"), .workspace = around(), .home = around()};
    CHECK(!job_start(&cfg, &err));
    CHECK_EQ(err.code, JAIL_BAD_WORKSPACE);
    cfg.workspace = workspace();
    cfg.argv = (const char *const[]){NULL};
    CHECK(!job_start(&cfg, &err));
    CHECK_EQ(err.code, JAIL_FAILED);
}

TEST(job_takes_much_input_while_it_writes)
{
    enum { MUCH = 3 << 20 };
    char *in = calloc(1, MUCH);
    memset(in, 'x', MUCH);
    struct job_result r = end(begin((struct job_config){.argv = ARGV("cat"), .in = in, .n_in = MUCH}));
    CHECK_EQ(r.value, 0);
    CHECK_EQ(r.bytes, MUCH);
    CHECK_MEM(shown.data, in, MUCH);
    free(in);
}

/* ---------------------------------------------------------------- limits */

TEST(job_is_killed_at_its_output_ceiling)
{
    struct job_result r = shell("yes", (struct job_limits){.output_bytes = 100001});
    CHECK_EQ(r.end, JOB_OUTPUT);
    CHECK_EQ(r.bytes, 100001);
    CHECK_EQ(shown.len, 100001);
    r = shell("printf 12345", (struct job_limits){.output_bytes = 5}); /* just full is not over */
    CHECK_EQ(r.end, JOB_EXITED);
    CHECK_EQ(r.bytes, 5);
}

#define DAEMONS "setsid sh -c 'echo $$ >one; exec sleep 1000' & " \
                "(setsid sh -c '(setsid sh -c \"echo \\$\\$ >two; exec sleep 1000\" &) &' &) ; "

TEST(job_timeout_kills_daemons_too)
{
    forget("one"), forget("two");
    struct job_result r = shell(DAEMONS "sleep 1000", (struct job_limits){.wall_ms = 1500});
    CHECK_EQ(r.end, JOB_TIMEOUT);
    CHECK(r.seconds > 1.4 && r.seconds < 10);
    CHECK(named("one") > 1 && named("two") > 1);
    CHECK(kill(named("one"), 0) < 0 && errno == ESRCH);
    CHECK(kill(named("two"), 0) < 0 && errno == ESRCH);
}

TEST(job_end_leaves_nothing_behind)
{
    forget("one"), forget("two");
    struct job_result r = shell(DAEMONS "while ! [ -s one ] || ! [ -s two ]; do sleep 0.05; done; exit 5",
                                (struct job_limits){0});
    CHECK_EQ(r.end, JOB_EXITED);
    CHECK_EQ(r.value, 5);
    CHECK(kill(named("one"), 0) < 0 && kill(named("two"), 0) < 0);
}

TEST(job_cancel_and_close_kill_all)
{
    for (int how = 0; how < 2; how++) {
        forget("one"), forget("two");
        struct job *j = begin((struct job_config){.argv = SHELL(DAEMONS "sleep 1000")});
        while (!(named("one") && named("two"))) CHECK(!job_step(j, 20));
        if (how == 0) {
            job_cancel(j);
            CHECK_EQ(end(j).end, JOB_CANCELLED);
        } else {
            job_close(j);
        }
        CHECK(kill(named("one"), 0) < 0 && kill(named("two"), 0) < 0);
    }
}

TEST(job_ends_with_the_program_that_started_it)
{
    need_jail();
    forget("one"), forget("two");
    pid_t pid = fork();
    if (pid == 0) {
        struct job *j = begin((struct job_config){.argv = SHELL(DAEMONS "sleep 1000")});
        while (!(named("one") && named("two"))) job_step(j, 20);
        kill(getpid(), SIGKILL);
    }
    CHECK(waitpid(pid, NULL, 0) == pid);
    CHECK(named("one") > 1 && gone(named("one")) && gone(named("two")));
}

TEST(job_memory_is_summed_over_the_tree)
{
    struct job_config cfg = {.argv = ARGV("eat"), .builtin = true, .limits = {.tree_bytes = 160 << 20}};
    struct job_result r = end(begin(cfg));
    CHECK_EQ(r.end, JOB_MEMORY);
    CHECK(r.grouped || r.peak_bytes > 160 << 20);
    CHECK(r.seconds < 20);
}

TEST(job_memory_is_limited_by_a_group_where_one_is_delegated)
{
    if (job_group_look("", false) != JOB_GROUP_READY)
        SKIP("no control group is delegated here (systemd-run --user --scope -p Delegate=yes)");
    struct job_config cfg = {.argv = ARGV("eat"), .builtin = true, .limits = {.tree_bytes = 160 << 20}};
    struct job_result r = end(begin(cfg));
    CHECK(r.grouped);
    CHECK_EQ(r.end, JOB_MEMORY);
    CHECK(r.peak_bytes <= 160 << 20);
    r = shell("echo here; sleep 0.2", (struct job_limits){.tree_bytes = 160 << 20});
    CHECK(r.grouped);
    CHECK_EQ(r.end, JOB_EXITED);
}

TEST(job_cannot_kill_its_guard)
{
    struct job_result r = shell("kill -9 $PPID; sleep 0.2; echo here", (struct job_limits){0});
    CHECK_EQ(r.end, JOB_EXITED);
    CHECK(shown.data && strstr(shown.data, "here\n"));
}

/* Root's processes the kernel does not count; a user's forks fail instead, about as early. */
TEST(job_has_only_so_many_processes)
{
    struct job_result r = shell("i=0; while [ $i -lt 30 ]; do sleep 3 & i=$((i + 1)); done; wait",
                                (struct job_limits){.processes = 10});
    if (geteuid() == 0) CHECK_EQ(r.end, JOB_PROCESSES);
    else CHECK(r.peak_processes <= 11);
}

/* As a user without rights, under a hard limit of its own that stands whatever this code does. */
static void bomb_as_nobody(void)
{
    enum { NOBODY = 65534, OUTER = 400 };
    if (geteuid() == 0) CHECK(chown(workspace(), NOBODY, NOBODY) == 0 && chmod(around(), 0755) == 0);
    CHECK(setrlimit(RLIMIT_NPROC, &(struct rlimit){OUTER, OUTER}) == 0);
    if (geteuid() == 0) CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    const char *space = around();
    char path[600];
    snprintf(path, sizeof path, "%s/work", space);
    struct job_config cfg = {.argv = ARGV("bomb"), .builtin = true, .workspace = path,
                             .limits = {.processes = 40, .wall_ms = 2500}};
    struct job_result r = end(begin(cfg));
    CHECK(r.end == JOB_PROCESSES || r.end == JOB_TIMEOUT); /* the kernel's count may hold it at its limit */
    CHECK(r.peak_processes >= 20 && r.peak_processes < OUTER);
    CHECK(r.seconds < 25);
}

TEST(job_survives_a_fork_bomb)
{
    need_jail();
    workspace();
    pid_t pid = fork();
    if (pid == 0) {
        bomb_as_nobody();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQ(status, 0);
}

/* ---------------------------------------------------------------- threads */

static const char *their_workspace; /* named once: workspace() writes the name anew */

static void *some_jobs(void *self)
{
    struct err err = {0};
    for (int i = 0; i < 5; i++) {
        struct buf text = {0};
        struct job_config cfg = {.argv = SHELL("cat; sleep 0.05"), .workspace = their_workspace, .in = self, .n_in = 1,
                                 .sink = sink, .self = &text, .limits = {.wall_ms = 30000}};
        struct job *j = job_start(&cfg, &err);
        CHECK_STR(err.text, "");
        CHECK(j);
        struct job_result r = end(j);
        CHECK_EQ(r.end, JOB_EXITED);
        CHECK(text.len == 1 && text.data[0] == *(const char *)self);
        buf_free(&text);
    }
    return NULL;
}

TEST(job_of_one_thread_knows_nothing_of_anothers)
{
    need_jail();
    their_workspace = workspace();
    pthread_t t[3];
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&t[i], NULL, some_jobs, (char *[]){"a", "b", "c"}[i]) == 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    buf_free(&shown);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--jail") == 0) job_guard(table);
    return check_main(argc, argv);
}
