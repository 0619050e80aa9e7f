/* Calls of tools from start to end: real jobs of this program, in jail, and what stops them. */
#include "tests/jail_rig.h"
#include "tools/jail_git.h"
#include "tools/run.h"
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct err err;
static struct rights *rights; /* all tools, write and edit allowed, a person there */
static const char *allowed = "write,edit";
static struct tool_run *last; /* the run that is looked at; closed by the next */

static void forget(void)
{
    tool_run_close(last);
    rights_close(rights);
    last = NULL;
    rights = NULL;
}

static struct tool_run_config config(void) { return (struct tool_run_config){.limits = TOOL_RUN_LIMITS}; }

/* A ticket that is good; the run before it, and its rights, are gone. */
static struct tool_ticket *ticket(const char *tool, json_t *arguments)
{
    struct tool_ticket *t;
    char *text = json_dumps(arguments, 0);
    CHECK(text);
    forget();
    rights = rights_open(&(struct rights_config){"all", allowed, workspace(), true}, &err);
    CHECK(rights);
    enum rights_verdict v = rights_check(rights, tool, text, &t, &err);
    CHECK(v == RIGHTS_ALLOWED || v == RIGHTS_ASK);
    if (v == RIGHTS_ASK) CHECK_EQ(rights_grant(t, false, &err), 0);
    free(text);
    json_decref(arguments);
    return t;
}

static struct tool_run *begin(const struct tool_run_config *cfg, const char *tool, json_t *arguments)
{
    err = (struct err){0};
    struct tool_run *r = tool_run_start(cfg, ticket(tool, arguments), &err);
    CHECK_STR(err.text, "");
    CHECK(r);
    return r;
}

static const struct tool_run_result *end(struct tool_run *r)
{
    while (!tool_run_step(r, 1000)) {}
    last = r;
    return tool_run_result(r);
}

static const struct tool_run_result *call(const char *tool, json_t *arguments)
{
    need_jail();
    struct tool_run_config cfg = config();
    return end(begin(&cfg, tool, arguments));
}

static const struct tool_run_result *shell(const char *command, struct job_limits limits)
{
    need_jail();
    struct tool_run_config cfg = {.limits = limits};
    if (!cfg.limits.wall_ms) cfg.limits.wall_ms = 30000;
    return end(begin(&cfg, "shell", json_pack("{s:s}", "command", command)));
}

#define SAYS(result, text_, failed_)                          \
    do {                                                      \
        const struct tool_run_result *r_ = (result);          \
        CHECK_STR(r_->text.data ? r_->text.data : "", text_); \
        CHECK_EQ(r_->failed, failed_);                        \
        CHECK(!r_->text.failed);                              \
    } while (0)

static const char *in_workspace(const char *name)
{
    static char path[700];
    snprintf(path, sizeof path, "%s/%s", workspace(), name);
    return path;
}

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

/* ---------------------------------------------------------------- git's own */

enum { OTHER = 4242 }; /* a user */

static void make_git(void)
{
    workspace();
    CHECK(mkdir(in_workspace(".git"), 0777) == 0 && mkdir(in_workspace(".git/hooks"), 0777) == 0);
    put_file(in_workspace(".git/config"), "old");
    put_file(in_workspace("hook"), "evil");
}

static void drop_git(void)
{
    unlink(in_workspace(".git/config")), unlink(in_workspace(".git/new")), unlink(in_workspace("hook"));
    unlink(in_workspace("made")), unlink(in_workspace("sub/made")), rmdir(in_workspace("sub"));
    CHECK(rmdir(in_workspace(".git/hooks")) == 0 && rmdir(in_workspace(".git")) == 0);
}

/* Every way to change it that a shell has; the last line shows what there is then. */
static const char attack[] =
    "exec 2>&1; echo new >.git/config && echo written; echo new >.git/new && echo made; mv hook .git/hooks/pre-commit;"
    "ln hook .git/hooks/h; ln -s ../../hook .git/hooks/s; ln .git/config made; rm -rf .git; mv .git away;"
    "chmod 777 .git/config; umount .git; mount -o remount,rw .git 2>/dev/null; cd .git && echo new >config; cd ..;"
    "echo x >made && mkdir sub && mv made sub/ && echo free; cat .git/config; ls -a .git .git/hooks; id -u";

static const char *without_errors(const char *text)
{
    static char out[2000];
    size_t n = 0;
    for (const char *at = text, *end; *at; at = end) {
        end = at + strcspn(at, "\n") + (strchr(at, '\n') != NULL);
        size_t len = (size_t)(end - at);
        if (memmem(at, len, ": ", 2) || n + len >= sizeof out) continue;
        memcpy(out + n, at, len);
        n += len;
    }
    out[n] = '\0';
    return out;
}

/* It stayed as it was, and the command was who it is. */
static void check_attack(const struct tool_run_result *r, unsigned user)
{
    char want[200];
    snprintf(want, sizeof want, "free\nold.git:\n.\n..\nconfig\nhooks\n\n.git/hooks:\n.\n..\n%u\n", user);
    CHECK_STR(without_errors(r->text.data), want);
}

static void need_mounts(bool as_other)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (as_other && (setgid(OTHER) || setuid(OTHER))) _exit(1);
        _exit(unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS));
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    if (status) SKIP("this system lets nobody have mounts of his own here");
}

TEST(run_of_a_command_cannot_write_what_is_gits_own)
{
    need_jail();
    need_mounts(false);
    make_git();
    const struct tool_run_result *r = shell(attack, (struct job_limits){0});
    check_attack(r, geteuid());
    CHECK(strstr(r->text.data, "Read-only file system"));
    put_file(in_workspace(".git/config"), "mine"); /* of the person's, nothing is mounted */
    SAYS(shell("cat .git/config", (struct job_limits){0}), "mine", false);
    SAYS(call("write", json_pack("{s:s,s:s}", "path", ".git/config", "text", "x")),
         "error: .git/config is not allowed: it is git's own (--allow .git)", true);
    drop_git();
}

/* Of a worktree or a submodule: it says where the rest is. */
TEST(run_of_a_command_cannot_write_a_git_that_is_a_file)
{
    need_jail();
    need_mounts(false);
    workspace();
    put_file(in_workspace(".git"), "gitdir: ../x\n");
    SAYS(shell("{ echo y >.git; rm -f .git; mv .git z; } 2>/dev/null; cat .git", (struct job_limits){0}),
         "gitdir: ../x\n", false);
    CHECK(unlink(in_workspace(".git")) == 0);
}

TEST(run_of_a_command_writes_what_is_gits_own_where_that_is_allowed)
{
    make_git();
    allowed = "write,edit,.git";
    SAYS(shell("echo new >.git/config; cat .git/config", (struct job_limits){0}), "new\n", false);
    SAYS(call("write", json_pack("{s:s,s:s}", "path", ".git/config", "text", "x")), "wrote 1 line, 1 byte to "
         ".git/config", false);
    allowed = "write,edit";
    drop_git();
}

static void attack_as_other(void)
{
    struct tool_ticket *t;
    char work[600];
    snprintf(work, sizeof work, "%s/work", around());
    if (geteuid() == 0) CHECK(setgid(OTHER) == 0 && setuid(OTHER) == 0);
    struct rights *r = rights_open(&(struct rights_config){"shell", NULL, work, true}, &err);
    json_t *arguments = json_pack("{s:s}", "command", attack);
    char *text = json_dumps(arguments, 0);
    CHECK(r && text);
    CHECK_EQ(rights_check(r, "shell", text, &t, &err), RIGHTS_ASK);
    CHECK_EQ(rights_grant(t, false, &err), 0);
    struct tool_run_config cfg = config();
    struct tool_run *run = tool_run_start(&cfg, t, &err);
    CHECK(run);
    check_attack(end(run), geteuid());
    free(text);
    json_decref(arguments);
}

TEST(run_of_a_command_of_a_plain_user_cannot_either)
{
    need_jail();
    need_mounts(true);
    make_git();
    CHECK(chmod(around(), 0755) == 0 && chmod(workspace(), 0777) == 0);
    if (geteuid() == 0) {
        static const char *const theirs[] = {".git", ".git/hooks", ".git/config", "hook"};
        for (size_t i = 0; i < COUNT_OF(theirs); i++) CHECK(chown(in_workspace(theirs[i]), OTHER, OTHER) == 0);
    }
    pid_t pid = fork();
    if (pid == 0) {
        attack_as_other();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQ(status, 0);
    drop_git();
}

/* ---------------------------------------------------------------- repositories in folders of the workspace */

static const char *const repository_folders[] = {
    "lib", "lib/x", "lib/x/.git", "lib/x/.git/hooks", "lib/y", "lib/y/.git", "bare", "bare/objects", "bare/refs",
    "bare/hooks", "bare/work", "bare/work/one", "bare/.git", "wt", "plain", "plain/refs", "plain/objects"};
static const char *const repository_files[][2] = {
    {"lib/x/.git/config", "old"}, {"lib/y/.git/config", "old"}, {"bare/HEAD", "ref: refs/heads/main"},
    {"bare/config", "old"}, {"bare/work/one/HEAD", "x"}, {"bare/work/one/commondir", "../.."},
    {"wt/.git", "gitdir: ../bare/work/one"}, {"hook", "evil"}};

static void make_repositories(void)
{
    workspace();
    for (size_t i = 0; i < COUNT_OF(repository_folders); i++)
        CHECK_EQ(mkdir(in_workspace(repository_folders[i]), 0777), 0);
    for (size_t i = 0; i < COUNT_OF(repository_files); i++)
        put_file(in_workspace(repository_files[i][0]), repository_files[i][1]);
}

static void drop_all(void)
{
    char command[700];
    snprintf(command, sizeof command, "cd '%s' && find . -mindepth 1 -delete", workspace());
    CHECK_EQ(system(command), 0);
}

/* What is git's own stays, by whatever name and in whatever place, and so does each repository's place; what is beside
 * can be changed, moved out and made. */
static const char attack_nested[] =
    "exec 2>/dev/null; for d in lib/x/.git lib/y/.git bare; do echo new >$d/config; cp hook $d/hooks/pre-commit;"
    "rm -rf $d; mv $d away; umount $d; done; echo x >bare/work/one/HEAD; echo gitdir: ../evil >wt/.git; mv wt wt2;"
    "rm wt/.git;"
    "cp -r lib evil; echo new >evil/x/.git/config; mv lib gone; mv lib/x lib/z; mv evil/x lib/x; rm -rf lib;"
    "mkdir lib lib/x; for d in lib/x/.git lib/y/.git bare; do cat $d/config; echo; done; cat wt/.git; echo;"
    "echo free >lib/x/a; mv lib/x/a lib/x/b; mv lib/x/b c; cat c; echo free >plain/refs/b; cat plain/refs/b;"
    "ls -R lib | tr '\n' ' '";

TEST(run_of_a_command_cannot_write_what_is_gits_own_in_folders)
{
    need_jail();
    need_mounts(false);
    make_repositories();
    SAYS(shell(attack_nested, (struct job_limits){0}),
         "old\nold\nold\ngitdir: ../bare/work/one\nfree\nfree\nlib: x y  lib/x:  lib/y: ", false);
    allowed = "write,edit,.git";
    SAYS(shell("echo new >lib/x/.git/config; cat lib/x/.git/config; mv lib gone && echo moved", (struct job_limits){0}),
         "new\nmoved\n", false);
    allowed = "write,edit";
    drop_all();
}

static void attack_folders(void)
{
    char work[600];
    snprintf(work, sizeof work, "%s/work", around());
    CHECK(geteuid() != 0 || (setgid(OTHER) == 0 && setuid(OTHER) == 0));
    struct rights *r = rights_open(&(struct rights_config){"shell", "shell:cp,shell:mv", work, true}, &err);
    static const char *const command[] = {"{\"command\":\"cp hook lib/x/.git/config\"}",
                                          "{\"command\":\"mv lib gone\"}"};
    for (size_t i = 0; i < COUNT_OF(command); i++) {
        struct tool_ticket *t;
        CHECK_EQ(rights_check(r, "shell", command[i], &t, &err), RIGHTS_ALLOWED);
        struct tool_run_config cfg = config();
        struct tool_run *run = tool_run_start(&cfg, t, &err);
        CHECK(run && end(run)->failed);
        CHECK(strstr(end(run)->text.data, i ? "Device or resource busy" : "Read-only file system"));
        tool_run_close(run);
    }
    rights_close(r);
}

TEST(run_of_a_command_of_a_plain_user_cannot_write_it_in_folders_either)
{
    need_jail();
    need_mounts(true);
    make_repositories();
    char command[700];
    snprintf(command, sizeof command, "chmod 755 '%s' && chmod -R a+rwX '%s'", around(), workspace());
    CHECK_EQ(system(command), 0);
    pid_t pid = fork();
    if (pid == 0) {
        attack_folders();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQ(status, 0);
    drop_all();
}

/* A link cannot be moved away, nor led elsewhere; what it leads to is held by its marks. */
TEST(run_of_a_command_cannot_write_a_git_that_is_a_link)
{
    need_jail();
    need_mounts(false);
    make_repositories();
    CHECK_EQ(symlink("../bare", in_workspace("plain/.git")), 0);
    SAYS(shell("exec 2>/dev/null; rm plain/.git; ln -sf ../evil plain/.git; mv plain/.git x; mv plain y;"
               "readlink plain/.git; echo new >plain/.git/config; cat plain/.git/config", (struct job_limits){0}), "../bare\nold", false);
    drop_all();
}

/* More than the limit: nothing runs, rather than that some are not held. */
TEST(run_of_a_command_is_refused_where_there_are_more_repositories_than_are_held)
{
    need_jail();
    workspace();
    char name[64];
    for (int i = 0; i <= JAIL_GIT_MOST; i++) {
        snprintf(name, sizeof name, "r%d", i);
        CHECK(mkdir(in_workspace(name), 0777) == 0);
        snprintf(name, sizeof name, "r%d/.git", i);
        put_file(in_workspace(name), "x");
    }
    const struct tool_run_result *r = shell("echo ran", (struct job_limits){0});
    CHECK(r->failed && strstr(r->text.data, "more than 1000 repositories") && !strstr(r->text.data, "ran\n"));
    allowed = "write,edit,.git";
    SAYS(shell("echo ran", (struct job_limits){0}), "ran\n", false);
    allowed = "write,edit";
    drop_all();
}

/* In a child whose mounts show in those that are copied from them, and theirs in them. */
static void share_mounts(void)
{
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_SHARED, NULL)) _exit(77);
    SAYS(shell("cat .git/config; echo x >.git/config || echo held", (struct job_limits){0}),
         "old/bin/sh: 1: cannot create .git/config: Read-only file system\nheld\n", false);
    put_file(in_workspace(".git/config"), "mine");
}

TEST(run_of_a_command_leaves_no_mount_behind)
{
    need_jail();
    make_git();
    pid_t pid = fork();
    if (pid == 0) {
        share_mounts();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    drop_git();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) SKIP("no mounts can be shared here");
    CHECK_EQ(status, 0);
}

/* In a child that may have no namespaces: nothing runs, and the line says what would let it. */
static void no_namespaces(void)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    CHECK(ctx && seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), (int)SYS_unshare, 0) == 0);
    CHECK_EQ(seccomp_load(ctx), 0);
    seccomp_release(ctx);
    const struct tool_run_result *r = shell("echo ran", (struct job_limits){0});
    CHECK_EQ(r->end, JOB_REFUSED);
    SAYS(r, "error: not started: this system cannot hold .git read only for commands (mount namespaces: Operation not "
         "permitted); --allow .git opens it to them", true);
    allowed = "write,edit,.git";
    SAYS(shell("echo ran", (struct job_limits){0}), "ran\n", false);
}

TEST(run_of_a_command_is_refused_where_git_cannot_be_held)
{
    need_jail();
    make_git();
    pid_t pid = fork();
    if (pid == 0) {
        no_namespaces();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQ(status, 0);
    drop_git();
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
