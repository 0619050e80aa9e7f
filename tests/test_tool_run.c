/* Calls of tools from start to end: real jobs of this program, in jail, and what stops them. */
#include "tests/blind_rig.h"
#include "tests/tool_run_rig.h"
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---------------------------------------------------------------- how they end */

TEST(run_of_the_calculator_is_over_at_once)
{
    struct tool_run_config cfg = config();
    struct tool_run *r = begin(&cfg, "calculator", json_pack("{s:s}", "expression", "6*7"));
    CHECK(tool_run_step(r, 0));
    tool_run_cancel(r);
    SAYS(end(r), "42", false);
    SAYS(end(begin(&cfg, "calculator", json_pack("{s:s}", "expression", "1/0"))), "error: division by zero", true);
    cfg.limits.output_bytes = 5;
    SAYS(end(begin(&cfg, "calculator", json_pack("{s:s}", "expression", "10**9"))),
         "10000\nerror: stopped at 5 bytes of output", true);
}

TEST(run_of_file_tools_in_jail)
{
    SAYS(call("write", json_pack("{s:s,s:s}", "path", "f", "text", "one\ntwo")), "wrote 2 lines, 7 bytes to f", false);
    SAYS(call("read", json_pack("{s:s}", "path", "f")), "one\ntwo", false);
    SAYS(call("read", json_pack("{s:s,s:i}", "path", "f", "from", 2)), "two", false);
    SAYS(call("edit", json_pack("{s:s,s:s,s:s}", "path", "f", "old", "two", "new", "2")),
         "replaced 1 place in f", false);
    SAYS(call("search", json_pack("{s:s,s:s}", "pattern", "^2", "path", ".")), "f:2: 2", false);
    SAYS(call("list", json_pack("{s:s}", "path", ".")), "f", false);
    const struct tool_run_result *r = call("read", json_pack("{s:s}", "path", "g"));
    SAYS(r, "error: no such file: g", true);
    CHECK_EQ(r->end, JOB_EXITED);
    CHECK_EQ(r->status, 1);
    CHECK(r->seconds > 0 && r->seconds < 20);
    SAYS(call("read", json_pack("{s:i}", "path", 3)), "error: path is not a text", true);
    unlink(in_workspace("f"));
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    CHECK_EQ(stat(in_workspace(name), &st), 0);
    return st.st_mode & 0777;
}

TEST(run_keeps_modes_of_files)
{
    CHECK_EQ(chmod(workspace(), 0755), 0);
    CHECK(!call("write", json_pack("{s:s,s:s}", "path", "new", "text", "a"))->failed);
    CHECK_EQ(mode_of("new"), 0644);
    CHECK_EQ(chmod(in_workspace("new"), 0750), 0);
    CHECK(!call("edit", json_pack("{s:s,s:s,s:s}", "path", "new", "old", "a", "new", "b"))->failed);
    CHECK_EQ(mode_of("new"), 0750);
    CHECK_EQ(chmod(workspace(), 0700), 0);
    CHECK(!call("write", json_pack("{s:s,s:s}", "path", "own", "text", "a"))->failed);
    CHECK_EQ(mode_of("own"), 0600);
    CHECK_EQ(chmod(in_workspace("own"), 0644), 0); /* root may change no mode there, so others lose what is theirs */
    CHECK(!call("write", json_pack("{s:s,s:s}", "path", "own", "text", "b"))->failed);
    CHECK_EQ(mode_of("own"), geteuid() == 0 ? 0600 : 0644);
    CHECK_EQ(chmod(workspace(), 0755), 0);
    unlink(in_workspace("new")), unlink(in_workspace("own"));
}

TEST(run_of_shell_gives_output_and_status)
{
    SAYS(shell("echo out; echo err >&2", (struct job_limits){0}), "out\nerr\n", false);
    SAYS(shell("echo out; exit 3", (struct job_limits){0}), "out\nexit status 3", true);
    SAYS(shell("printf out; exit 4", (struct job_limits){0}), "out\nexit status 4", true);
    SAYS(shell("exit 5", (struct job_limits){0}), "exit status 5", true);
    SAYS(shell("true", (struct job_limits){0}), "", false);
    SAYS(shell("cat", (struct job_limits){0}), "", false); /* its stdin is empty */
    CHECK(strstr(shell("-v; exit 6", (struct job_limits){0})->text.data, "not found\nexit status 6"));
    const struct tool_run_result *r = shell("kill -9 $$; ulimit -t 1; while :; do :; done", (struct job_limits){0});
    CHECK_EQ(r->end, JOB_SIGNALLED);
    CHECK(r->failed && strstr(r->text.data, "error: ended by signal "));
}

TEST(run_has_none_of_our_environment)
{
    CHECK_EQ(setenv("PLIMSOLL_SECRET", "secret words", 1), 0);
    const struct tool_run_result *r = shell("env", (struct job_limits){0});
    CHECK(!r->failed && strstr(r->text.data, "PATH=") && !strstr(r->text.data, "secret"));
}

/* ---------------------------------------------------------------- what is approved is what runs */

TEST(run_needs_a_ticket_that_is_good)
{
    struct tool_run_config cfg = config();
    static const char text[] = "{\"expression\":\"1\"}", command[] = "{\"command\":\"touch ran\"}";
    struct rights *r = rights_open(&(struct rights_config){"all", NULL, workspace(), true}, &err);
    struct tool_ticket *t, *off;
    CHECK_EQ(rights_check(r, "shell", command, &t, &err), RIGHTS_ASK);
    CHECK_EQ(rights_check(r, "calculator", text, &off, &err), RIGHTS_ALLOWED);
    CHECK(!tool_run_start(&cfg, t, &err));
    CHECK_STR(err.text, "shell was not allowed");
    CHECK_EQ(rights_drop(r, "calculator", &err), 0);
    CHECK(!tool_run_start(&cfg, off, &err));
    CHECK_STR(err.text, "calculator is off");
    CHECK(access(in_workspace("ran"), F_OK) < 0);
    CHECK_EQ(rights_check(r, "ask", "{\"question\":\"a\"}", &t, &err), RIGHTS_ALLOWED);
    CHECK(!tool_run_start(&cfg, t, &err));
    CHECK_STR(err.text, "ask is no tool that runs by itself");
    rights_close(r);
}

/* Bytes that a terminal would obey, quotes, a line that looks like the protocol's: they arrive as they are. */
TEST(run_takes_arguments_as_they_are)
{
    static const char text[] = "\x1b[2J\x01\"'\\ $(touch ran) `touch ran`\n\xe2\x80\xae\r\n{\"path\":\"x\"}";
    CHECK(!call("write", json_pack("{s:s,s:s}", "path", "$(touch ran)", "text", text))->failed);
    SAYS(call("read", json_pack("{s:s}", "path", "$(touch ran)")), text, false);
    unlink(in_workspace("$(touch ran)"));
    SAYS(call("read", json_pack("{s:s}", "path", "a\x1b[2J")), "error: a\\x1b[2J is not allowed", true);
    SAYS(shell("printf '%s' '\x1b\x01\"\n\xe2\x80\xae'", (struct job_limits){0}), "\x1b\x01\"\n\xe2\x80\xae", false);
    CHECK(access(in_workspace("ran"), F_OK) < 0);
}

TEST(run_stays_in_the_workspace)
{
    workspace();
    CHECK(symlink("../secret", in_workspace("link")) == 0 && symlink("/etc", in_workspace("etc")) == 0);
    SAYS(call("read", json_pack("{s:s}", "path", "link")), "error: link is not allowed", true);
    SAYS(call("read", json_pack("{s:s}", "path", "etc/passwd")), "error: etc/passwd is not allowed", true);
    SAYS(call("read", json_pack("{s:s}", "path", "../secret")), "error: ../secret is not allowed", true);
    CHECK(call("write", json_pack("{s:s,s:s}", "path", "link", "text", "x"))->failed);
    const struct tool_run_result *r = shell("cat link ../secret; echo x >link; echo x >../new", (struct job_limits){0});
    CHECK(strstr(r->text.data, "Permission denied") && !strstr(r->text.data, "secretsecret"));
    char path[600], now[16] = "";
    snprintf(path, sizeof path, "%s/secret", around());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(read(fd, now, sizeof now - 1) == 6);
    close(fd);
    CHECK_STR(now, "secret");
    snprintf(path, sizeof path, "%s/new", around());
    CHECK(access(path, F_OK) < 0);
    unlink(in_workspace("link")), unlink(in_workspace("etc"));
}

TEST(run_is_refused_where_the_jail_would_open_home)
{
    need_jail();
    struct tool_run_config cfg = config();
    CHECK_EQ(tool_run_check(&cfg, workspace(), &err), 0);
    cfg.home = workspace();
    CHECK_EQ(tool_run_check(&cfg, workspace(), &err), JAIL_BAD_WORKSPACE);
    cfg.unjailed = true; /* that is for kernels without Landlock alone */
    CHECK(!tool_run_start(&cfg, ticket("read", json_pack("{s:s}", "path", "f")), &err));
    CHECK_EQ(err.code, JAIL_BAD_WORKSPACE);
}

/* ---------------------------------------------------------------- limits */

TEST(run_of_a_hung_tool_is_stopped)
{
    const struct tool_run_result *r = shell("echo here; setsid sleep 1000 & sleep 1000",
                                            (struct job_limits){.wall_ms = 1500});
    SAYS(r, "here\nerror: stopped after 1.5 s", true);
    CHECK_EQ(r->end, JOB_TIMEOUT);
    CHECK(r->seconds < 10);
}

TEST(run_does_not_wait_unless_told_and_can_be_cancelled)
{
    need_jail();
    struct tool_run_config cfg = config();
    for (int how = 0; how < 2; how++) {
        struct tool_run *r = begin(&cfg, "shell", json_pack("{s:s}", "command", "echo $$ >pid; sleep 1000"));
        CHECK(!tool_run_step(r, 0));
        struct stat st;
        while (stat(in_workspace("pid"), &st) || st.st_size == 0) CHECK(!tool_run_step(r, 20));
        int fd = open(in_workspace("pid"), O_RDONLY | O_CLOEXEC);
        char text[32] = "";
        CHECK(read(fd, text, sizeof text - 1) > 0);
        close(fd);
        if (how == 0) {
            tool_run_cancel(r);
            SAYS(end(r), "error: cancelled", true);
        } else {
            tool_run_close(r);
        }
        CHECK(kill(atoi(text), 0) < 0 && errno == ESRCH);
        unlink(in_workspace("pid"));
    }
}

TEST(run_keeps_only_so_much_output)
{
    struct job_limits limits = TOOL_RUN_LIMITS;
    const struct tool_run_result *r = shell("head -c 10000000 /dev/zero | tr '\\0' x", limits);
    static const char line[] = "\nerror: stopped at 8 MiB of output";
    CHECK_EQ(r->end, JOB_OUTPUT);
    CHECK(r->failed);
    CHECK_EQ(r->text.len, limits.output_bytes + sizeof line - 1);
    CHECK_STR(r->text.data + limits.output_bytes, line);
    limits.output_bytes = 70000;
    r = shell("yes", limits);
    CHECK_EQ(r->text.len, 70000 + strlen("error: stopped at 70000 bytes of output")); /* its last byte is a newline */
    CHECK(r->seconds < 10);
    shell("head -c 100000 /dev/zero | tr '\\0' x >big", (struct job_limits){0});
    struct tool_run_config cfg = {.limits = limits};
    r = end(begin(&cfg, "read", json_pack("{s:s}", "path", "big")));
    CHECK_EQ(r->end, JOB_OUTPUT);
    CHECK_STR(r->text.data + 70000, "\nerror: stopped at 70000 bytes of output");
    unlink(in_workspace("big"));
}

TEST(run_is_stopped_at_its_memory)
{
    const struct tool_run_result *r = shell("head -c 1000000000 /dev/zero | tail",
                                            (struct job_limits){.tree_bytes = 48 << 20});
    SAYS(r, "error: stopped at 48 MiB of memory", true);
    CHECK_EQ(r->end, JOB_MEMORY);
    CHECK(r->peak_bytes > 48 << 20 && r->peak_bytes < 1000000000);
}

/* As a user without rights, under a hard limit of its own that stands whatever this code does. */
static void bomb_as_nobody(void)
{
    enum { NOBODY = 65534, OUTER = 400 };
    if (geteuid() == 0) CHECK(chown(workspace(), NOBODY, NOBODY) == 0 && chmod(around(), 0755) == 0);
    CHECK(setrlimit(RLIMIT_NPROC, &(struct rlimit){OUTER, OUTER}) == 0);
    if (geteuid() == 0) CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    char work[600];
    snprintf(work, sizeof work, "%s/work", around());
    struct rights *r = rights_open(&(struct rights_config){"shell", NULL, work, true}, &err);
    struct tool_ticket *t;
    CHECK(r);
    CHECK_EQ(rights_check(r, "shell", "{\"command\":\"b() { b & b & wait; }; b\"}", &t, &err), RIGHTS_ASK);
    CHECK_EQ(rights_grant(t, false, &err), 0);
    struct tool_run_config cfg = {.limits = {.processes = 40, .wall_ms = 5000}};
    struct tool_run *run = tool_run_start(&cfg, t, &err);
    CHECK(run);
    const struct tool_run_result *res = end(run);
    /* The kernel's own count may hold it before its guard looks: then its shells give up. */
    bool held = res->text.data && strstr(res->text.data, "annot fork");
    CHECK(res->end == JOB_PROCESSES || res->end == JOB_TIMEOUT || held);
    CHECK(res->peak_processes > 0 && res->peak_processes < OUTER);
    if (res->end == JOB_PROCESSES) CHECK(strstr(res->text.data, "error: stopped at 40 processes"));
}

static pid_t only_child(void)
{
    int pid = 0;
    FILE *f = fopen("/proc/thread-self/children", "re");
    CHECK(f && fscanf(f, "%d", &pid) == 1 && pid > 0);
    fclose(f);
    return pid;
}

/* Whether any of it may run still is told apart. */
TEST(run_that_is_not_watched_any_more_says_what_is_left_of_it)
{
    need_jail();
    const int was = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(was >= 0 && chdir(workspace()) == 0); /* where the guard begins too */
    SAYS(shell("echo here; echo >" BLIND "; sleep 1000", (struct job_limits){0}),
         "here\nerror: stopped, as it could not be watched any more: /proc: Cannot allocate memory; nothing of it "
         "runs, try again", true);
    unlink(BLIND);
    CHECK(fchdir(was) == 0 && close(was) == 0);
    struct tool_run_config cfg = config();
    static const char waits[] = "echo >begun; while [ -e begun ]; do sleep 0.1; done"; /* nothing is left of it */
    struct tool_run *r = begin(&cfg, "shell", json_pack("{s:s}", "command", waits));
    while (access(in_workspace("begun"), F_OK)) CHECK(!tool_run_step(r, 10));
    kill(only_child(), SIGKILL);
    SAYS(end(r), "error: its guard was killed or hung, and parts of it may still run: look with ps, and end them",
         true);
    unlink(in_workspace("begun"));
}

TEST(run_survives_a_fork_bomb)
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

TEST(run_is_one_of_many)
{
    need_jail();
    enum { MANY = 8 };
    struct tool_run_config cfg = config();
    struct rights *r = rights_open(&(struct rights_config){"shell", "shell:seq", workspace(), false}, &err);
    struct tool_run *run[MANY];
    for (int i = 0; i < MANY; i++) {
        char text[64];
        struct tool_ticket *t;
        snprintf(text, sizeof text, "{\"command\":\"seq %d %d\"}", i, i + 1);
        CHECK_EQ(rights_check(r, "shell", text, &t, &err), RIGHTS_ALLOWED);
        CHECK(run[i] = tool_run_start(&cfg, t, &err));
    }
    for (int left = MANY; left > 0;) {
        left = 0;
        for (int i = 0; i < MANY; i++) left += !tool_run_step(run[i], 5);
    }
    for (int i = 0; i < MANY; i++) {
        char text[32];
        snprintf(text, sizeof text, "%d\n%d\n", i, i + 1);
        SAYS(tool_run_result(run[i]), text, false);
        tool_run_close(run[i]);
    }
    rights_close(r);
}

/* ---------------------------------------------------------------- without a jail */

/* In a child, which from here on has a kernel without Landlock. */
static void no_landlock(void)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    CHECK(ctx && seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), (int)SYS_landlock_create_ruleset, 0) == 0);
    CHECK_EQ(seccomp_load(ctx), 0);
    seccomp_release(ctx);
    CHECK_EQ(jail_landlock(&err), JAIL_NO_LANDLOCK);
}

static void refuse_and_lift(void)
{
    struct tool_run_config cfg = config();
    put_file(in_workspace("f"), "text");
    no_landlock();
    for (int lifted = 0; lifted < 2; lifted++) {
        cfg.unjailed = lifted;
        CHECK(!tool_run_start(&cfg, ticket("shell", json_pack("{s:s}", "command", "touch ran")), &err));
        CHECK_EQ(err.code, JAIL_NO_LANDLOCK);
        CHECK(strncmp(err.text, "shell is refused, since nothing would hold it: ", 47) == 0);
        CHECK_EQ(tool_run_check(&cfg, workspace(), &err), JAIL_NO_LANDLOCK);
        SAYS(end(begin(&cfg, "calculator", json_pack("{s:s}", "expression", "1"))), "1", false);
    }
    CHECK(access(in_workspace("ran"), F_OK) < 0);
    cfg.unjailed = false;
    CHECK(!tool_run_start(&cfg, ticket("read", json_pack("{s:s}", "path", "f")), &err));
    CHECK_EQ(err.code, JAIL_NO_LANDLOCK);
    cfg.unjailed = true;
    SAYS(end(begin(&cfg, "read", json_pack("{s:s}", "path", "f"))), "text", false);
    SAYS(end(begin(&cfg, "read", json_pack("{s:s}", "path", "../secret"))), "error: ../secret is not allowed", true);
    cfg.limits.output_bytes = 2;
    SAYS(end(begin(&cfg, "read", json_pack("{s:s}", "path", "f"))), "te\nerror: stopped at 2 bytes of output", true);
}

TEST(run_without_landlock_is_refused_unless_lifted_and_shell_always)
{
    workspace();
    pid_t pid = fork();
    if (pid == 0) {
        refuse_and_lift();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--jail") == 0) job_guard(tool_run_jobs);
    int rc = check_main(argc, argv);
    forget();
    return rc;
}
