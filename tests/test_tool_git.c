/* Commands beside repositories: what is git's own stays as it is, by whatever name and in whatever folder. */
#include "tests/tool_run_rig.h"
#include "tools/jail_git.h"
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---------------------------------------------------------------- of the workspace */

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

static void give_to_other(void)
{
    static const char *const theirs[] = {".git", ".git/hooks", ".git/config", "hook"};
    CHECK(chmod(around(), 0755) == 0 && chmod(workspace(), 0777) == 0);
    for (size_t i = 0; geteuid() == 0 && i < COUNT_OF(theirs); i++)
        CHECK(chown(in_workspace(theirs[i]), OTHER, OTHER) == 0);
}

TEST(run_of_a_command_of_a_plain_user_cannot_either)
{
    need_jail();
    need_mounts(true);
    make_git();
    give_to_other();
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

/* What a command may have left behind: fchmod() is a user's. */
static void hold_as_other(const char *folder, mode_t mode)
{
    CHECK_EQ(chdir(workspace()), 0);
    CHECK(geteuid() != 0 || (setgid(OTHER) == 0 && setuid(OTHER) == 0));
    CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0); /* as a program that was just started */
    CHECK_EQ(chmod(folder, mode), 0);
    const int rc = jail_hold_git(&err);
    if (strcmp(folder, ".") == 0) {
        CHECK_EQ(rc, -1);
        CHECK(strstr(err.text, "Permission denied"));
        return;
    }
    CHECK_EQ(rc, 0);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY);
    CHECK(fd < 0 ? !(mode & 0400) : fchmod(fd, 0700) == -1 && errno == EROFS);
    CHECK(open("lib/x/.git/config", O_WRONLY) == -1 && errno == (mode & 0100 ? EROFS : EACCES));
    CHECK(rename("lib", "gone") == -1 && errno == EBUSY);
}

TEST(what_lies_in_a_folder_that_may_not_be_listed_or_not_be_entered_is_held_too)
{
    static const struct { const char *folder; mode_t mode; } c[] = {{"lib", 0300}, {"lib", 0600}, {".", 0300}};
    char command[900];
    need_mounts(true);
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        make_repositories();
        snprintf(command, sizeof command, "chmod 755 '%s' && { test $(id -u) != 0 || chown -R %d '%s'; }", around(),
                 OTHER, workspace());
        CHECK_EQ(system(command), 0);
        pid_t pid = fork();
        if (pid == 0) {
            hold_as_other(c[i].folder, c[i].mode);
            _exit(0);
        }
        int status = -1;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK_EQ(status, 0);
        CHECK(chmod(workspace(), 0755) == 0 && chmod(in_workspace("lib"), 0755) == 0);
        drop_all();
    }
}

/* A link cannot be moved away, nor led elsewhere; what it leads to is held by its marks. */
TEST(run_of_a_command_cannot_write_a_git_that_is_a_link)
{
    need_jail();
    need_mounts(false);
    make_repositories();
    CHECK_EQ(symlink("../bare", in_workspace("plain/.git")), 0);
    SAYS(shell("exec 2>/dev/null; rm plain/.git; ln -sf ../evil plain/.git; mv plain/.git x; mv plain y;"
               "readlink plain/.git; echo new >plain/.git/config; cat plain/.git/config", (struct job_limits){0}),
         "../bare\nold", false);
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

/* In a child whose mounts show the workspace a second time, and a part of its .git in itself. */
static void mount_again(void)
{
    static const char by_other_ways[] =
        "exec 2>/dev/null; echo x >../other/.git/config || echo held; mv ../other/.git ../other/away || echo held;"
        "echo x >part/pre-commit || echo held; echo x >made && echo x >part2/a && echo free; rm -f made;"
        "cat .git/config";
    char other[600];
    snprintf(other, sizeof other, "%s/other", around());
    mkdir(other, 0755);
    mkdir(in_workspace("part"), 0755);
    mkdir(in_workspace("part2"), 0755);
    char part[700], hooks[700];
    snprintf(part, sizeof part, "%s", in_workspace("part"));
    snprintf(hooks, sizeof hooks, "%s", in_workspace(".git/hooks"));
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount(workspace(), other, NULL, MS_BIND, NULL) || mount(hooks, part, NULL, MS_BIND, NULL))
        _exit(77);
    SAYS(shell(by_other_ways, (struct job_limits){0}), "held\nheld\nheld\nfree\nold", false);
    CHECK_EQ(unlink(in_workspace("part2/a")), 0);
    put_file(in_workspace(".git/config"), "old"); /* and the person's mounts are as they were */
    snprintf(part, sizeof part, "%s/.git/config", other);
    put_file(part, "old");
    give_to_other();
    attack_as_other(); /* in a namespace of users too, where mounts of the one before may only be limited */
}

TEST(run_of_a_command_cannot_write_what_is_gits_own_by_another_mount)
{
    need_jail();
    need_mounts(true);
    make_git();
    if (geteuid() == 0) CHECK_EQ(chown(workspace(), 0, 0), 0);
    pid_t pid = fork();
    if (pid == 0) {
        mount_again();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    rmdir(in_workspace("part")), rmdir(in_workspace("part2"));
    drop_git();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) SKIP("nothing can be mounted here");
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

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--jail") == 0) job_guard(tool_run_jobs);
    int rc = check_main(argc, argv);
    forget();
    return rc;
}
