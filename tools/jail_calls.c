/* jail_calls.c - the allow-list of system calls, as jail.h describes it. */
#include "tools/jail_calls.h"
#include "tools/jail.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CALL(name) SCMP_SYS(name)

/* clang-format off */
static const int allowed[] = {
    /* files that are open */
    CALL(read), CALL(write), CALL(readv), CALL(writev), CALL(pread64), CALL(pwrite64), CALL(preadv), CALL(pwritev),
    CALL(preadv2), CALL(pwritev2), CALL(lseek), CALL(close), CALL(close_range), CALL(dup), CALL(dup2), CALL(dup3),
    CALL(pipe), CALL(pipe2), CALL(fstat), CALL(fstatfs), CALL(ftruncate), CALL(fallocate), CALL(fsync),
    CALL(fdatasync), CALL(flock), CALL(fadvise64), CALL(copy_file_range), CALL(sendfile), CALL(splice), CALL(tee),
    CALL(getdents), CALL(getdents64), CALL(fchdir), CALL(fgetxattr), CALL(flistxattr),
    /* files by path: Landlock decides */
    CALL(creat), CALL(mkdir), CALL(mkdirat), CALL(rmdir), CALL(unlink), CALL(unlinkat), CALL(rename), CALL(renameat),
    CALL(renameat2), CALL(link), CALL(linkat), CALL(symlink), CALL(symlinkat), CALL(mknod), CALL(mknodat),
    /* what a path looks like */
    CALL(stat), CALL(lstat), CALL(newfstatat), CALL(statx), CALL(statfs), CALL(access), CALL(faccessat),
    CALL(faccessat2), CALL(readlink), CALL(readlinkat), CALL(getcwd), CALL(chdir), CALL(getxattr), CALL(lgetxattr),
    CALL(listxattr), CALL(llistxattr), CALL(umask),
    /* waiting */
    CALL(poll), CALL(ppoll), CALL(select), CALL(pselect6), CALL(epoll_create), CALL(epoll_create1), CALL(epoll_ctl),
    CALL(epoll_wait), CALL(epoll_pwait), CALL(eventfd), CALL(eventfd2), CALL(timerfd_create), CALL(timerfd_settime),
    CALL(timerfd_gettime), CALL(signalfd), CALL(signalfd4), CALL(pause), CALL(nanosleep), CALL(clock_nanosleep),
    CALL(restart_syscall),
    /* the two ends of a socketpair */
    CALL(sendto), CALL(recvfrom), CALL(sendmsg), CALL(recvmsg), CALL(shutdown), CALL(getsockopt), CALL(setsockopt),
    CALL(getsockname), CALL(getpeername),
    /* memory and threads */
    CALL(brk), CALL(mmap), CALL(munmap), CALL(mprotect), CALL(mremap), CALL(madvise), CALL(msync), CALL(mincore),
    CALL(futex), CALL(membarrier), CALL(rseq), CALL(set_robust_list), CALL(get_robust_list), CALL(set_tid_address),
    CALL(arch_prctl), CALL(sched_yield), CALL(sched_getaffinity), CALL(sched_getparam), CALL(sched_getscheduler),
    CALL(sched_get_priority_max), CALL(sched_get_priority_min), CALL(getcpu),
    /* processes */
    CALL(fork), CALL(vfork), CALL(execve), CALL(execveat), CALL(exit), CALL(exit_group), CALL(wait4), CALL(waitid),
    CALL(getpid), CALL(getppid), CALL(gettid), CALL(getpgid), CALL(getpgrp), CALL(setpgid), CALL(getsid),
    CALL(setsid), CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid), CALL(getresuid), CALL(getresgid),
    CALL(getgroups), CALL(capget), CALL(getpriority), CALL(getrlimit), CALL(setrlimit), CALL(getrusage), CALL(times),
    CALL(uname), CALL(sysinfo),
    /* signals received, clocks, chance */
    CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(rt_sigpending), CALL(rt_sigsuspend),
    CALL(rt_sigtimedwait), CALL(sigaltstack), CALL(alarm), CALL(setitimer), CALL(getitimer), CALL(timer_create),
    CALL(timer_settime), CALL(timer_gettime), CALL(timer_getoverrun), CALL(timer_delete), CALL(clock_gettime),
    CALL(clock_getres), CALL(gettimeofday), CALL(time), CALL(getrandom),
};

/* EPERM: a program that tries these should hear no, not "unknown". */
static const int refused[] = {
    CALL(socket), CALL(connect), CALL(bind), CALL(listen), CALL(accept), CALL(accept4),
    CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev), CALL(pidfd_getfd), CALL(pidfd_send_signal),
    CALL(kcmp), CALL(unshare), CALL(setns), CALL(chroot), CALL(pivot_root),
    CALL(mount), CALL(umount2), CALL(move_mount), CALL(open_tree), CALL(fsopen), CALL(fspick), CALL(fsconfig),
    CALL(fsmount), CALL(mount_setattr), CALL(swapon), CALL(swapoff),
    CALL(bpf), CALL(perf_event_open), CALL(userfaultfd), CALL(keyctl), CALL(add_key), CALL(request_key),
    CALL(open_by_handle_at), CALL(name_to_handle_at), CALL(fanotify_init), CALL(inotify_add_watch),
    CALL(chmod), CALL(fchmodat), CALL(chown), CALL(lchown), CALL(fchown), CALL(fchownat), CALL(utime), CALL(utimes),
    CALL(futimesat), CALL(setxattr), CALL(lsetxattr), CALL(fsetxattr), CALL(removexattr), CALL(lremovexattr),
    CALL(fremovexattr), CALL(setuid), CALL(setgid), CALL(setreuid), CALL(setregid), CALL(setresuid), CALL(setresgid),
    CALL(setgroups), CALL(setfsuid), CALL(setfsgid), CALL(capset), CALL(setpriority), CALL(sched_setscheduler),
    CALL(sched_setparam), CALL(sched_setattr), CALL(sched_setaffinity), CALL(reboot), CALL(kexec_load),
    CALL(init_module), CALL(finit_module), CALL(delete_module), CALL(syslog), CALL(acct), CALL(quotactl),
    CALL(settimeofday), CALL(clock_settime), CALL(adjtimex), CALL(sethostname), CALL(setdomainname), CALL(vhangup),
};

/* Calls whose second argument says what they do.  None here sets the process that a descriptor's signals go to. */
static const unsigned ioctls[] = { TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX };
static const unsigned fcntls[] = {
    F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW,
    F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_GETPIPE_SZ, F_SETPIPE_SZ,
};
static const unsigned prctls[] = {
    PR_SET_NAME, PR_GET_NAME, PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_CAPBSET_READ,
    PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS,
};
/* clang-format on */

enum { NAMESPACES = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
                    CLONE_NEWCGROUP };

/* The kernel reads 32 bits of most of these arguments, and whatever stands above them must not change the answer. */
#define LOW_IS(arg, mask, value) SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, (mask), (value))

struct maker {
    scmp_filter_ctx ctx;
    int failed; /* the first error */
};

static void allow_if(struct maker *m, int call, unsigned n, const struct scmp_arg_cmp *cmp)
{
    int rc = seccomp_rule_add_array(m->ctx, SCMP_ACT_ALLOW, call, n, cmp);
    if (rc && !m->failed) m->failed = rc;
}

static void allow_values(struct maker *m, int call, unsigned arg, const unsigned *value, size_t n)
{
    for (size_t i = 0; i < n; i++) allow_if(m, call, 1, &LOW_IS(arg, UINT32_MAX, value[i]));
}

/* O_TRUNC only with O_WRONLY or O_RDWR: before Landlock 3 a file that may be read could else be emptied. */
static void allow_open(struct maker *m, int call, unsigned flags)
{
    uint64_t mask = O_TRUNC | O_ACCMODE;
    allow_if(m, call, 1, &LOW_IS(flags, O_TRUNC, 0));
    allow_if(m, call, 1, &LOW_IS(flags, mask, O_TRUNC | O_WRONLY));
    allow_if(m, call, 1, &LOW_IS(flags, mask, O_TRUNC | O_RDWR));
}

static void allow_by_argument(struct maker *m)
{
    allow_open(m, CALL(open), 1);
    allow_open(m, CALL(openat), 2);
    allow_values(m, CALL(ioctl), 1, ioctls, COUNT_OF(ioctls));
    allow_values(m, CALL(fcntl), 1, fcntls, COUNT_OF(fcntls));
    allow_values(m, CALL(prctl), 0, prctls, COUNT_OF(prctls));
    allow_if(m, CALL(clone), 1, &LOW_IS(0, NAMESPACES, 0));
    allow_if(m, CALL(prlimit64), 1, &LOW_IS(0, UINT32_MAX, 0)); /* of itself */
    const struct scmp_arg_cmp stream[] = {LOW_IS(0, UINT32_MAX, AF_UNIX), LOW_IS(1, 0xf, SOCK_STREAM)};
    allow_if(m, CALL(socketpair), COUNT_OF(stream), stream);
}

/* Landlock says nothing about modes and times.  By descriptor they reach what can be opened: for a user the own files
 * in the workspace, for root all that may be read.  No set-user-id bits. */
static void allow_own_files(struct maker *m)
{
    if (geteuid() == 0) return;
    allow_if(m, CALL(fchmod), 1, &LOW_IS(1, 07000, 0));
    allow_if(m, CALL(utimensat), 1, &SCMP_CMP64(1, SCMP_CMP_EQ, 0, 0));
}

scmp_filter_ctx jail_calls(int landlock, struct err *err)
{
    struct maker m = {.ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS))};
    if (!m.ctx) {
        err_set(err, JAIL_NO_SECCOMP, "no tool can run: this system has no seccomp filters");
        return NULL;
    }
    m.failed = seccomp_attr_set(m.ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    for (size_t i = 0; i < COUNT_OF(allowed); i++) allow_if(&m, allowed[i], 0, NULL);
    allow_by_argument(&m);
    allow_own_files(&m);
    if (landlock >= 3) allow_if(&m, CALL(truncate), 0, NULL);
    if (landlock >= 6) {
        allow_if(&m, CALL(kill), 0, NULL);
        allow_if(&m, CALL(tkill), 0, NULL);
        allow_if(&m, CALL(tgkill), 0, NULL);
    }
    for (size_t i = 0; i < COUNT_OF(refused) && !m.failed; i++)
        m.failed = seccomp_rule_add_array(m.ctx, SCMP_ACT_ERRNO(EPERM), refused[i], 0, NULL);
    if (!m.failed) return m.ctx;
    seccomp_release(m.ctx);
    err_set(err, JAIL_FAILED, "the filter of system calls cannot be made: %s", strerror(-m.failed));
    return NULL;
}
