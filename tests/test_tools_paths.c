/* Names that try to leave the workspace, by both ways of opening them, and against a second process. */
#include "tests/tool_rig.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

static struct rig rig;

/* outer/{secret,other/secret}, and in work/: a, d/b, links, a pipe, a socket, a second name of secret. */
static void make_world(void)
{
    rig_open(&rig);
    int w = rig.c.workspace;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[512];
    rig_text(&rig, "a", "inside a");
    CHECK_EQ(mkdirat(w, "d", 0777), 0);
    rig_text(&rig, "d/b", "inside b");
    CHECK_EQ(mkdirat(w, "../other", 0777), 0);
    rig_text(&rig, "../secret", "SECRET");
    rig_text(&rig, "../other/secret", "SECRET");
    CHECK_EQ(symlinkat("../secret", w, "out"), 0);
    CHECK_EQ(symlinkat("../other", w, "outdir"), 0);
    snprintf(path, sizeof path, "%s/secret", rig.outer);
    CHECK_EQ(symlinkat(path, w, "absolute"), 0);
    CHECK_EQ(symlinkat("d/b", w, "in"), 0);
    CHECK_EQ(symlinkat("/d/b", w, "rooted"), 0); /* the workspace is nobody's root */
    CHECK_EQ(symlinkat("loop", w, "loop"), 0);
    CHECK_EQ(symlinkat("..", w, "d/up"), 0);
    CHECK_EQ(symlinkat("../d/.//", w, "d/again"), 0);
    CHECK_EQ(symlinkat("none", w, "nowhere"), 0);
    for (int i = 0; i <= 40; i++) { /* l0 is one link to d, l39 forty, and l40 one more than are followed */
        char name[8], to[8];
        snprintf(name, sizeof name, "l%d", i);
        snprintf(to, sizeof to, i ? "l%d" : "d", i - 1);
        CHECK_EQ(symlinkat(to, w, name), 0);
    }
    CHECK_EQ(symlinkat("/proc/self/cwd", w, "magic"), 0);
    CHECK_EQ(linkat(w, "../secret", w, "hard", 0), 0);
    CHECK_EQ(mkfifoat(w, "pipe", 0666), 0);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/work/sock", rig.outer);
    CHECK_EQ(bind(s, (struct sockaddr *)&address, sizeof address), 0);
    close(s);
}

static void outside_is_as_it_was(void)
{
    char text[16] = {0};
    int fd = openat(rig.c.workspace, "../secret", O_RDONLY);
    CHECK_EQ(read(fd, text, sizeof text - 1), 6);
    CHECK_STR(text, "SECRET");
    close(fd);
    CHECK(faccessat(rig.c.workspace, "../new", F_OK, 0) != 0);
    CHECK(faccessat(rig.c.workspace, "../other/new", F_OK, 0) != 0);
}

static void try_to_escape(void)
{
    static const char *const names[] = {
        "../secret", "../other/secret", "d/../../secret", "out", "outdir/secret", "./out", "absolute", "rooted",
        "magic/secret",
        "loop", "d/../outdir/secret", "/etc/passwd", "/", "/proc/self/fd/0", "//etc/passwd", "../work/../secret",
        "a\x01", "\x7f", "x\ny"};
    make_world();
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        static const char *const tools[] = {"read", "write", "edit", "search", "list"};
        for (size_t t = 0; t < COUNT_OF(tools); t++) {
            rig_call(&rig, tools[t], json_pack("{s:s,s:s,s:s,s:s,s:s}", "path", names[i], "text", "X", "old",
                                               "SECRET", "new", "X", "pattern", "."));
            CHECK_EQ(rig.verdict, TOOL_FAILED);
            CHECK(strncmp(rig.out.data, "error: ", 7) == 0 && !strstr(rig.out.data, "SECRET"));
            CHECK(!strpbrk(rig.out.data, "\n\x01\x7f"));
        }
    }
    CALL_ERROR(&rig, "error: ../new is not allowed", "write", "{s:s,s:s}", "path", "../new", "text", "");
    CALL_ERROR(&rig, "error: outdir/new is not allowed", "write", "{s:s,s:s}", "path", "outdir/new", "text", "");
    outside_is_as_it_was();
}

static void try_the_rest(void)
{
    static const char *const none[] = {"pipe", "sock"};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        rig_call(&rig, "read", json_pack("{s:s}", "path", none[i]));
        CHECK_EQ(rig.verdict, TOOL_FAILED);
        CHECK(strstr(rig.out.data, " is not a file"));
    }
    CALL_SAYS(&rig, "inside b", "read", "{s:s}", "path", "d//./b");
    CALL_ERROR(&rig, "error: no such file: a/", "read", "{s:s}", "path", "a/");
    CALL_ERROR(&rig, "error: no such file: a/.", "read", "{s:s}", "path", "a/.");
    CALL_ERROR(&rig, "error: no such file: in/.", "read", "{s:s}", "path", "in/.");
    CALL_ERROR(&rig, "error: no such file: a/b", "read", "{s:s}", "path", "a/b");
    CALL_ERROR(&rig, "error: the path is empty", "read", "{s:s}", "path", "");
    CALL_SAYS(&rig, "inside b", "read", "{s:s}", "path", "in");
    CALL_SAYS(&rig, "inside a", "read", "{s:s}", "path", "d/../a");
    CALL_SAYS(&rig, "inside b", "read", "{s:s}", "path", "d/up/./d//again/b");
    CALL_ERROR(&rig, "error: no such file: a/../a", "read", "{s:s}", "path", "a/../a");
    CALL_ERROR(&rig, "error: no such file: d/../a/../a", "read", "{s:s}", "path", "d/../a/../a");
    CALL_ERROR(&rig, "error: no such file: none/../a", "read", "{s:s}", "path", "none/../a");
    CALL_ERROR(&rig, "error: no such file: in/", "read", "{s:s}", "path", "in/");
    CALL_ERROR(&rig, "error: no such file: in/b", "read", "{s:s}", "path", "in/b");
    CALL_ERROR(&rig, "error: no such file: nowhere", "read", "{s:s}", "path", "nowhere");
    CALL_SAYS(&rig, "inside b", "read", "{s:s}", "path", "l39/b");
    CALL_ERROR(&rig, "error: l40/b is not allowed", "read", "{s:s}", "path", "l40/b");
    CALL_ERROR(&rig, "error: d/up/.. is not allowed", "list", "{s:s}", "path", "d/up/..");
    CALL_ERROR(&rig, "error: d/up/../secret is not allowed", "read", "{s:s}", "path", "d/up/../secret");
    CALL_SAYS(&rig, "wrote 1 line, 1 byte to d/again/c", "write", "{s:s,s:s}", "path", "d/again/c", "text", "x");
    CALL_SAYS(&rig, "x", "read", "{s:s}", "path", "d/c");
    CALL_ERROR(&rig, "error: in is a link, and is not written through", "write", "{s:s,s:s}", "path", "in", "text", "");
    CALL_SAYS(&rig, "wrote 1 line, 3 bytes to hard", "write", "{s:s,s:s}", "path", "hard", "text", "new");
    outside_is_as_it_was(); /* its other name too */
    char deep[5000];
    memset(deep, 'x', sizeof deep);
    deep[300] = '\0';
    rig_call(&rig, "read", json_pack("{s:s}", "path", deep));
    CHECK(strncmp(rig.out.data, "error: cannot open xxx", 22) == 0 && rig.out.len < 300);
    deep[300] = 'x';
    deep[4999] = '\0';
    rig_call(&rig, "write", json_pack("{s:s,s:s}", "path", deep, "text", ""));
    CHECK(strstr(rig.out.data, " is not allowed"));
    CALL_SAYS(&rig, "a:1: inside a\nd/b:1: inside b", "search", "{s:s,s:s}", "pattern", "inside", "path", ".");
}

TEST(no_name_leads_out)
{
    try_to_escape();
    try_the_rest();
    rig_close(&rig);
}

static void forbid_openat2(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {COUNT_OF(code), code};
    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void in_a_child(void (*what)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        what();
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void without_openat2(void)
{
    forbid_openat2();
    try_to_escape();
    try_the_rest();
}

TEST(nor_where_there_is_no_openat2) { in_a_child(without_openat2); }

/* ------------------------------------------------------------------ git's own */

static void make_repositories(void)
{
    static const char *const folders[] = {".git", ".git/hooks", "sub", "sub/.git", "sub/.git/x", "x.git", ".github",
                                          "kept", "kept/hooks"};
    rig_open(&rig);
    for (size_t i = 0; i < COUNT_OF(folders); i++) CHECK_EQ(mkdirat(rig.c.workspace, folders[i], 0777), 0);
    rig_text(&rig, ".git/config", "old");
    CHECK_EQ(symlinkat(".git", rig.c.workspace, "link"), 0);
}

static void check_git_is_as_it_was(const char *path)
{
    char want[200];
    snprintf(want, sizeof want, "error: %s is not allowed: it is git's own (--allow .git)", path);
    CALL_ERROR(&rig, want, "write", "{s:s,s:s}", "path", path, "text", "new");
}

static void try_git(void)
{
    static const char *const names[] = {".git/config", ".git/hooks/pre-commit", ".git/new", "./.git//config", ".git",
                                        "sub/.git/x/y", "sub/.GIT", "sub/.Git", "sub/.git/x/.git"};
    static const char *const by_link[] = {"link/hooks/x", "sub/../.git/config", "link/../.git/config"};
    make_repositories();
    for (size_t i = 0; i < COUNT_OF(names); i++) check_git_is_as_it_was(names[i]);
    for (size_t i = 0; i < COUNT_OF(by_link); i++) check_git_is_as_it_was(by_link[i]);
    CALL_ERROR(&rig, "error: .git/config is not allowed: it is git's own (--allow .git)", "edit", "{s:s,s:s,s:s}",
               "path", ".git/config", "old", "old", "new", "new");
    CALL_SAYS(&rig, "old", "read", "{s:s}", "path", ".git/config");
    CALL_SAYS(&rig, "wrote 0 lines, 0 bytes to x.git/config", "write", "{s:s,s:s}", "path", "x.git/config", "text", "");
    CALL_SAYS(&rig, "wrote 0 lines, 0 bytes to .github/a", "write", "{s:s,s:s}", "path", ".github/a", "text", "");
    CALL_SAYS(&rig, "wrote 0 lines, 0 bytes to .gitignore", "write", "{s:s,s:s}", "path", ".gitignore", "text", "");
    rig.c.git = true;
    CALL_SAYS(&rig, "replaced 1 place in .git/config", "edit", "{s:s,s:s,s:s}", "path", ".git/config", "old", "old",
              "new", "new");
    CALL_SAYS(&rig, "wrote 0 lines, 0 bytes to .git/hooks/a", "write", "{s:s,s:s}", "path", ".git/hooks/a", "text", "");
    rig_close(&rig);
}

static void git_without_openat2(void)
{
    forbid_openat2();
    try_git();
}

TEST(gits_own_is_written_only_where_that_is_allowed) { try_git(); }
TEST(nor_where_there_is_no_openat2_is_gits_own_written) { in_a_child(git_without_openat2); }

/* A repository whose folder has another name: its .git is a link to it. */
TEST(gits_own_by_another_name_beside_a_link_is_not_written)
{
    make_repositories();
    CHECK_EQ(symlinkat("kept", rig.c.workspace, "x"), 0);
    CALL_SAYS(&rig, "wrote 0 lines, 0 bytes to kept/a", "write", "{s:s,s:s}", "path", "kept/a", "text", "");
    CHECK_EQ(renameat(rig.c.workspace, ".git", rig.c.workspace, "gone"), 0);
    CHECK_EQ(renameat(rig.c.workspace, "x", rig.c.workspace, ".git"), 0);
    check_git_is_as_it_was("kept/hooks/pre-commit");
    check_git_is_as_it_was(".git/config");
    rig_close(&rig);
}

/* Bare ones, those that --separate-git-dir made, and what a worktree has in one: by what lies in them. */
TEST(gits_own_in_a_folder_of_any_name_is_not_written)
{
    static const char *const folders[] = {"b", "b/objects", "b/refs", "b/hooks", "w", "w/sub", "no", "no/refs"};
    rig_open(&rig);
    for (size_t i = 0; i < COUNT_OF(folders); i++) CHECK_EQ(mkdirat(rig.c.workspace, folders[i], 0777), 0);
    CALL_SAYS(&rig, "wrote 0 lines, 0 bytes to b/config", "write", "{s:s,s:s}", "path", "b/config", "text", "");
    rig_text(&rig, "b/HEAD", "ref: refs/heads/main");
    rig_text(&rig, "w/HEAD", "ref: refs/heads/side");
    rig_text(&rig, "w/commondir", "../b");
    rig_text(&rig, "no/HEAD", "x");
    check_git_is_as_it_was("b/config");
    check_git_is_as_it_was("b/hooks/pre-commit");
    check_git_is_as_it_was("w/commondir");
    check_git_is_as_it_was("w/sub/x");
    CALL_SAYS(&rig, "wrote 0 lines, 0 bytes to no/a", "write", "{s:s,s:s}", "path", "no/a", "text", "");
    rig.c.git = true;
    CALL_SAYS(&rig, "wrote 0 lines, 0 bytes to b/config", "write", "{s:s,s:s}", "path", "b/config", "text", "");
    rig_close(&rig);
}

/* ------------------------------------------------------------------ races */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* "d" is a folder, then a link to the folder outside, then the folder again. */
static pid_t start_swapping(void)
{
    CHECK_EQ(symlinkat("../other", rig.c.workspace, "evil"), 0);
    pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int64_t until = now_ms() + 30000; now_ms() < until;)
        syscall(SYS_renameat2, rig.c.workspace, "d", rig.c.workspace, "evil", 2 /* RENAME_EXCHANGE */);
    _exit(0);
}

static void race(void)
{
    make_world();
    rig_text(&rig, "d/secret", "inside");
    pid_t pid = start_swapping();
    int read = 0, refused = 0;
    for (int64_t until = now_ms() + 800; now_ms() < until;) {
        rig_call(&rig, "read", json_pack("{s:s}", "path", "d/secret"));
        CHECK(!strstr(rig.out.data, "SECRET"));
        read += rig.verdict == TOOL_DONE;
        refused += rig.verdict == TOOL_FAILED;
        rig_call(&rig, "write", json_pack("{s:s,s:s}", "path", "d/new", "text", "x"));
        rig_call(&rig, "search", json_pack("{s:s,s:s}", "pattern", "SECRET", "path", "."));
        CHECK(!rig.out.data || !strstr(rig.out.data, "d/secret"));
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CHECK(read > 0 && refused > 0);
    outside_is_as_it_was();
}

static void race_without_openat2(void)
{
    forbid_openat2();
    race();
}

TEST(a_folder_swapped_for_a_link_in_between) { in_a_child(race); }
TEST(a_folder_swapped_without_openat2) { in_a_child(race_without_openat2); }

CHECK_MAIN
