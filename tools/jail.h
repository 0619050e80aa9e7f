/* jail.h - what a process gives up before it runs a tool: afterwards it reads little, writes in one folder, and talks
 * to nobody.
 *
 *     jail_prepare()   opens the folders and compiles the filter; changes nothing in the caller
 *     fork()
 *     jail_enter()     in the child; for good, and for all that it starts
 *
 * Files (Landlock; the first version, Linux 5.13, is enough and later ones add to it):
 *     read, write    beneath the workspace; no devices and no sockets are made there
 *     read, run      /usr /bin /sbin /lib /lib32 /lib64 /libx32, and the files of /etc that jail.c names
 *     devices        /dev/null /dev/zero /dev/full /dev/random /dev/urandom
 * All else can be neither opened, listed nor changed: no /proc, no /tmp, no home.  Landlock does not hide that a path
 * exists (stat), and a hard link that lay in the workspace before is a file of the workspace.
 *
 * System calls (seccomp, an allow-list; jail_calls.c): what is not on it fails with ENOSYS, as on a kernel that lacks
 * it, so that a C library falls back; so do arguments that are not allowed (namespaces in clone, TIOCSTI in ioctl,
 * socketpairs other than unix streams: with a datagram one any datagram socket could be reached by its path).  What a
 * program is likely to try, and should be told no, fails with EPERM: sockets, ptrace, mounts, keys, changes of mode and
 * owner by path.  Calls of another architecture kill the process.
 * Signals reach only processes of the jail; before Landlock 6 (Linux 6.12) none can be sent at all.
 *
 * Also: no capabilities and no new ones, own session without a terminal, descriptors 0 to 2 alone, umask 077, the
 * environment jail_env() alone, limits of struct jail_config.
 *
 * Where the caller asks for it, .git in the workspace can be read and not written (jail_git.h, which has what that does
 * not hold).
 *
 * What it does not bound: the disk that a workspace takes (a file is bounded, their number is not).
 * Threads: prepare from any; enter only in a process of one thread. */
#ifndef JAIL_H
#define JAIL_H
#include "plimsoll.h"

enum jail_error {
    JAIL_FAILED = -1,       /* a call failed; the text says which */
    JAIL_NO_LANDLOCK = -2,  /* this kernel has none, or it is switched off */
    JAIL_NO_SECCOMP = -3,
    JAIL_BAD_WORKSPACE = -4 /* no folder, or the jail would open `home` */
};

struct jail_config {
    const char *workspace;     /* a folder */
    const char *home;          /* a folder that the jail must not open, with all in it but the workspace; NULL: none */
    uint32_t cpu_seconds;      /* of one process; 0 here and below: as the caller has it */
    uint32_t open_files;
    uint32_t processes;        /* threads of this user, all of them together; the kernel does not count root's */
    uint64_t file_bytes;       /* the size of one file */
    bool hold_git;             /* .git in the workspace is read alone (jail_git.h), or nothing runs */
};

struct jail;

/* The version of Landlock, 1 or more; else an enum jail_error and err. */
int jail_landlock(struct err *err);

/* NULL: err, its code an enum jail_error. */
struct jail *jail_prepare(const struct jail_config *cfg, struct err *err);
void jail_free(struct jail *j); /* NULL is fine */

/* 0, or an enum jail_error: then the process must end, for it may be half inside.  Descriptors 0 to 2 stay, and `keep`
 * as number 3 (-1: none) closed by exec.  The current folder is the workspace. */
int jail_enter(struct jail *j, int keep, struct err *err);

/* PATH, HOME and TMPDIR (the workspace), LANG, TERM; NULL ends it.  It lives with j. */
char *const *jail_env(const struct jail *j);
#endif
