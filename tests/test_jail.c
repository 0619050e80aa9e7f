/* Attempts to leave the jail.  Each runs in a child of the test that has entered it. */
#include "tests/jail_rig.h"
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const struct jail_config plain = {.open_files = 64, .file_bytes = 1 << 20, .cpu_seconds = 5};

/* Runs probe() inside; a CHECK that fails there says so and fails this test too. */
static void inside(void (*probe)(void))
{
    need_jail();
    struct err err = {0};
    struct jail_config cfg = plain;
    cfg.workspace = workspace();
    struct jail *j = jail_prepare(&cfg, &err);
    CHECK_STR(err.text, "");
    CHECK(j);
    pid_t pid = fork();
    if (pid == 0) {
        if (jail_enter(j, -1, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
        probe();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    jail_free(j);
    CHECK_EQ(status, 0);
}

/* ---------------------------------------------------------------- files */

static const char *beside(const char *name)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", around(), name);
    return path;
}

/* The error of opening it, 0: it opened. */
static int opening(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    close(fd);
    return 0;
}

static void its_own_files(void)
{
    put_file("a", "text");
    CHECK_EQ(opening("a", O_RDONLY), 0);
    CHECK_EQ(mkdir("folder", 0700), 0);
    CHECK_EQ(rename("a", "folder/b"), 0);
    CHECK_EQ(link("folder/b", "c"), 0);
    CHECK_EQ(opening("c", O_WRONLY | O_TRUNC), 0);
    CHECK_EQ(unlink("c") + unlink("folder/b") + rmdir("folder"), 0);
    CHECK_EQ(opening("/usr/bin/env", O_RDONLY), 0);
    CHECK_EQ(opening("/etc/passwd", O_RDONLY), 0);
    CHECK_EQ(opening("/dev/null", O_RDWR), 0);
}
TEST(jail_lets_a_tool_work_in_its_folder) { inside(its_own_files); }

static void reading_outside(void)
{
    CHECK_EQ(opening(beside("secret"), O_RDONLY), EACCES);
    CHECK_EQ(opening("../secret", O_RDONLY), EACCES);
    CHECK_EQ(symlink("../secret", "link"), 0);
    CHECK_EQ(opening("link", O_RDONLY), EACCES);
    CHECK_EQ(unlink("link"), 0);
    char path[700];
    snprintf(path, sizeof path, "/proc/self/root%s", beside("secret"));
    CHECK_EQ(opening(path, O_RDONLY), EACCES);
    CHECK_EQ(opening("/proc/self/cwd/../secret", O_RDONLY), EACCES);
    snprintf(path, sizeof path, "/proc/%d/mem", getppid());
    CHECK_EQ(opening(path, O_RDONLY), EACCES);
    CHECK_EQ(opening("/proc/self/mem", O_RDWR), EACCES);
    CHECK_EQ(opening("/proc/self/environ", O_RDONLY), EACCES);
    static const char *const closed[] = {"/", "/etc", "/etc/shadow", "/etc/hostname", "/proc", "/tmp", "/root", ".."};
    for (size_t i = 0; i < COUNT_OF(closed); i++)
        if (access(closed[i], F_OK) == 0) CHECK_EQ(opening(closed[i], O_RDONLY), EACCES);
    CHECK_EQ(chdir(".."), 0); /* being there opens nothing */
    CHECK_EQ(opening("secret", O_RDONLY), EACCES);
}
TEST(jail_reads_nothing_outside) { inside(reading_outside); }

static void writing_outside(void)
{
    CHECK_EQ(opening("../new", O_WRONLY | O_CREAT), EACCES);
    CHECK_EQ(opening("../secret", O_WRONLY), EACCES);
    CHECK_EQ(opening("/usr/new", O_WRONLY | O_CREAT), EACCES);
    CHECK_EQ(opening("/usr/bin/env", O_WRONLY), EACCES);
    CHECK(mkdir("../folder", 0700) < 0 && errno == EACCES);
    CHECK(unlink("../secret") < 0 && errno == EACCES);
    CHECK(symlink("a", "../link") < 0 && errno == EACCES);
    CHECK(truncate("../secret", 0) < 0 && (errno == EACCES || errno == ENOSYS));
    CHECK(chmod("../secret", 0666) < 0 && errno == EPERM);
    CHECK(syscall(SYS_chown, "../secret", 1, 1) < 0 && errno == EPERM);
    put_file("a", "mine");
    CHECK(link("../secret", "taken") < 0 && (errno == EXDEV || errno == EACCES));
    CHECK(link("a", "../given") < 0 && (errno == EXDEV || errno == EACCES));
    CHECK(rename("../secret", "taken") < 0 && (errno == EXDEV || errno == EACCES));
    CHECK(rename("a", "../given") < 0 && (errno == EXDEV || errno == EACCES));
    /* a file that may only be read is not emptied either */
    CHECK_EQ(opening("a", O_RDONLY | O_TRUNC), ENOSYS);
    CHECK_EQ(opening("a", O_ACCMODE | O_TRUNC), ENOSYS);
    CHECK(mknod("sock", S_IFSOCK | 0600, 0) < 0 && errno == EACCES);
}

TEST(jail_changes_nothing_outside)
{
    inside(writing_outside);
    struct stat st;
    CHECK(stat(beside("secret"), &st) == 0 && st.st_size == 6 && (st.st_mode & 07777) == 0644);
    CHECK(access(beside("new"), F_OK) < 0 && access(beside("given"), F_OK) < 0);
}

/* ---------------------------------------------------------------- calls */

static void outside_talk(void)
{
    int two[2];
    CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);
    CHECK(socket(AF_UNIX, SOCK_DGRAM, 0) < 0 && errno == EPERM);
    CHECK(socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
    CHECK(socket(AF_INET6, SOCK_DGRAM, 0) < 0 && errno == EPERM);
    CHECK(socket(AF_NETLINK, SOCK_RAW, 0) < 0 && errno == EPERM);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, two) == 0);
    CHECK(connect(two[0], NULL, 0) < 0 && errno == EPERM);
    /* a datagram pair could send to any datagram socket that has a name */
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, two) < 0 && errno == ENOSYS);
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, two) < 0 && errno == ENOSYS);
}
TEST(jail_has_no_sockets_but_a_stream_pair) { inside(outside_talk); }

static void forbidden_calls(void)
{
    static const struct {
        long call, arg[4];
        int error;
    } row[] = {
        {SYS_ptrace, {0}, EPERM}, {SYS_process_vm_readv, {0}, EPERM}, {SYS_process_vm_writev, {0}, EPERM},
        {SYS_pidfd_getfd, {0}, EPERM}, {SYS_pidfd_send_signal, {0}, EPERM}, {SYS_kcmp, {0}, EPERM},
        {SYS_unshare, {CLONE_NEWUSER}, EPERM}, {SYS_unshare, {CLONE_NEWNS}, EPERM}, {SYS_setns, {0}, EPERM},
        {SYS_clone, {CLONE_NEWUSER | SIGCHLD}, ENOSYS}, {SYS_clone, {CLONE_NEWPID | SIGCHLD}, ENOSYS},
        {SYS_clone3, {0}, ENOSYS}, {SYS_io_uring_setup, {0}, ENOSYS}, {SYS_io_uring_enter, {0}, ENOSYS},
        {SYS_ioctl, {0, TIOCSTI}, ENOSYS}, {SYS_ioctl, {0, (long)(1ull << 32 | TIOCSTI)}, ENOSYS},
        {SYS_ioctl, {0, TIOCLINUX}, ENOSYS}, {SYS_ioctl, {0, TIOCSCTTY}, ENOSYS}, {SYS_ioctl, {0, FIOSETOWN}, ENOSYS},
        {SYS_fcntl, {0, F_SETOWN, 1}, ENOSYS}, {SYS_fcntl, {0, F_SETSIG, 9}, ENOSYS},
        {SYS_mount, {0}, EPERM}, {SYS_umount2, {0}, EPERM}, {SYS_pivot_root, {0}, EPERM}, {SYS_chroot, {0}, EPERM},
        {SYS_move_mount, {0}, EPERM}, {SYS_fsopen, {0}, EPERM}, {SYS_bpf, {0}, EPERM}, {SYS_keyctl, {0}, EPERM},
        {SYS_add_key, {0}, EPERM}, {SYS_perf_event_open, {0}, EPERM}, {SYS_userfaultfd, {0}, EPERM},
        {SYS_open_by_handle_at, {0}, EPERM}, {SYS_memfd_create, {0}, ENOSYS}, {SYS_openat2, {0}, ENOSYS},
        {SYS_prlimit64, {1}, ENOSYS}, {SYS_shmget, {0}, ENOSYS}, {SYS_inotify_add_watch, {0}, EPERM},
        {SYS_prctl, {PR_SET_SECCOMP}, ENOSYS}, {SYS_setresuid, {0}, EPERM},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        errno = 0;
        long rc = syscall(row[i].call, row[i].arg[0], row[i].arg[1], row[i].arg[2], row[i].arg[3]);
        if (rc != -1 || errno != row[i].error)
            check_fail(__FILE__, __LINE__, "row %zu: call %ld gave %ld, %s", i, row[i].call, rc, strerror(errno));
    }
}
TEST(jail_refuses_calls_as_stated) { inside(forbidden_calls); }

static void signals_out(void)
{
    CHECK(kill(getppid(), SIGCONT) < 0 && (errno == EPERM || errno == ENOSYS)); /* by Landlock's version */
    CHECK(kill(getppid(), 0) < 0);
    CHECK(syscall(SYS_tgkill, getppid(), getppid(), SIGCONT) < 0);
    CHECK(syscall(SYS_rt_sigqueueinfo, getppid(), SIGCONT, NULL) < 0 && errno == ENOSYS);
}
TEST(jail_signals_nobody_outside) { inside(signals_out); }

/* ---------------------------------------------------------------- the rest of what it gives up */

static void what_is_left(void)
{
    for (int fd = 3; fd < 200; fd++) CHECK(fcntl(fd, F_GETFD) < 0);
    CHECK(getsid(0) == getpid());
    CHECK(open("/dev/tty", O_RDWR) < 0);
    CHECK_EQ(umask(0), 077);
    CHECK_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct cap[_LINUX_CAPABILITY_U32S_3];
    CHECK(syscall(SYS_capget, &head, cap) == 0);
    CHECK_EQ(cap[0].effective | cap[0].permitted | cap[0].inheritable | cap[1].effective | cap[1].permitted, 0);
    CHECK_EQ(prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) * (geteuid() == 0), 0);
    struct rlimit r;
    CHECK(getrlimit(RLIMIT_CORE, &r) == 0 && r.rlim_max == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_max == 64);
    CHECK(getrlimit(RLIMIT_CPU, &r) == 0 && r.rlim_max == 5);
    CHECK(getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_max == 1 << 20);
}

TEST(jail_keeps_three_descriptors_and_no_rights)
{
    int p[2];
    CHECK(pipe(p) == 0); /* without CLOEXEC, and a high one */
    CHECK(dup2(p[0], 150) == 150);
    inside(what_is_left);
    close(p[0]), close(p[1]), close(150);
}

TEST(jail_environment_is_the_stated_list)
{
    need_jail();
    struct jail_config cfg = {.workspace = workspace()};
    struct jail *j = jail_prepare(&cfg, NULL);
    CHECK(j);
    static const char *const name[] = {"PATH=", "LANG=", "TERM=", "HOME=", "TMPDIR="};
    char *const *env = jail_env(j);
    for (size_t i = 0; i < COUNT_OF(name); i++) CHECK(env[i] && strncmp(env[i], name[i], strlen(name[i])) == 0);
    CHECK(!env[COUNT_OF(name)]);
    jail_free(j);
}

static int error_of(const char *space, const char *home)
{
    struct err err = {0};
    struct jail *j = jail_prepare(&(struct jail_config){.workspace = space, .home = home}, &err);
    jail_free(j);
    return j ? 0 : err.code;
}

TEST(jail_workspace_is_a_folder_and_never_home)
{
    need_jail();
    char file[600], link_to[600];
    const char *space = workspace(), *home = around();
    snprintf(file, sizeof file, "%s/secret", home);
    snprintf(link_to, sizeof link_to, "%s/link_home", home);
    CHECK(symlink(home, link_to) == 0);
    CHECK_EQ(error_of(space, home), 0);
    CHECK_EQ(error_of(home, home), JAIL_BAD_WORKSPACE);
    CHECK_EQ(error_of(link_to, home), JAIL_BAD_WORKSPACE);
    CHECK_EQ(error_of("/", home), JAIL_BAD_WORKSPACE);
    CHECK_EQ(error_of(space, "/usr/lib"), JAIL_BAD_WORKSPACE);
    CHECK_EQ(error_of(file, NULL), JAIL_BAD_WORKSPACE);
    CHECK_EQ(error_of("/nowhere/at/all", NULL), JAIL_BAD_WORKSPACE);
    CHECK_EQ(error_of(NULL, NULL), JAIL_BAD_WORKSPACE);
    CHECK_EQ(unlink(link_to), 0);
}

CHECK_MAIN
