/* jail.c - what jail.h promises, put on in its order: folders, limits, rights, Landlock, descriptors, seccomp. */
#include "tools/jail.h"
#include "tools/jail_calls.h"
#include "tools/jail_git.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Later than some system headers: from the kernel's documentation of Landlock 2, 3, 4, 5 and 6. */
enum { FS_V1 = 13, FS_REFER = 13, FS_TRUNCATE = 14, FS_IOCTL_DEV = 15 }; /* numbers of bits */
enum { NET_BIND_TCP = 1, NET_CONNECT_TCP = 2, SCOPE_ABSTRACT_SOCKET = 1, SCOPE_SIGNAL = 2 };

struct rules { /* struct landlock_ruleset_attr as of version 6 */
    uint64_t fs, net, scoped;
};

enum {
    READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    RUN = READ | LANDLOCK_ACCESS_FS_EXECUTE,
    ON_FILE = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
              1 << FS_TRUNCATE, /* what can be said about a file that is no folder */
    DEVICE = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | 1 << FS_TRUNCATE,
    NOT_MADE = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK |
               1 << FS_IOCTL_DEV
};

static const struct {
    const char *path;
    uint64_t rights;
} opened[] = {
    {"/usr", RUN}, {"/bin", RUN}, {"/sbin", RUN}, {"/lib", RUN}, {"/lib32", RUN}, {"/lib64", RUN}, {"/libx32", RUN},
    {"/dev/null", DEVICE}, {"/dev/zero", DEVICE}, {"/dev/full", DEVICE}, {"/dev/random", DEVICE},
    {"/dev/urandom", DEVICE},
    {"/etc/ld.so.cache", READ}, {"/etc/ld.so.conf", READ}, {"/etc/ld.so.conf.d", READ}, {"/etc/alternatives", READ},
    {"/etc/passwd", READ}, {"/etc/group", READ}, {"/etc/nsswitch.conf", READ}, {"/etc/localtime", READ},
    {"/etc/timezone", READ}, {"/etc/locale.alias", READ}, {"/etc/services", READ}, {"/etc/protocols", READ},
    {"/etc/mime.types", READ}, {"/etc/magic", READ}, {"/etc/terminfo", READ}, {"/etc/os-release", READ},
    {"/etc/perl", READ}, {"/etc/python3", READ}, {"/etc/gitconfig", READ},
};

enum { ENV_VARS = 5 };

struct jail {
    int ruleset, folder;
    scmp_filter_ctx calls;
    struct jail_config cfg;
    char *env[ENV_VARS + 1];
    char path[PATH_MAX]; /* the workspace without links */
};

/* ---------------------------------------------------------------- Landlock */

int jail_landlock(struct err *err)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi >= 1) return (int)abi;
    return err_set(err, JAIL_NO_LANDLOCK, "no tool can run: %s", errno == EOPNOTSUPP
                       ? "Landlock is switched off on this system (add it to the kernel option lsm=)"
                       : "this kernel has no Landlock (Linux 5.13 or later, built with it)");
}

static struct rules handled(int abi)
{
    struct rules r = {.fs = (1ull << FS_V1) - 1};
    if (abi >= 2) r.fs |= 1ull << FS_REFER;
    if (abi >= 3) r.fs |= 1ull << FS_TRUNCATE;
    if (abi >= 4) r.net = NET_BIND_TCP | NET_CONNECT_TCP;
    if (abi >= 5) r.fs |= 1ull << FS_IOCTL_DEV;
    if (abi >= 6) r.scoped = SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL;
    return r;
}

static int open_beneath(const struct jail *j, int fd, uint64_t rights)
{
    struct landlock_path_beneath_attr a = {.allowed_access = rights, .parent_fd = fd};
    return (int)syscall(SYS_landlock_add_rule, j->ruleset, LANDLOCK_RULE_PATH_BENEATH, &a, 0);
}

/* One line of the table; what this system does not have is passed over. */
static int open_path(const struct jail *j, const char *path, uint64_t rights, struct err *err)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? 0 : err_set(err, JAIL_FAILED, "%s: %s", path, strerror(errno));
    struct stat st;
    int rc = fstat(fd, &st);
    if (rc == 0) rc = open_beneath(j, fd, S_ISDIR(st.st_mode) ? rights : rights & ON_FILE);
    if (rc) err_set(err, JAIL_FAILED, "Landlock: %s: %s", path, strerror(errno));
    close(fd);
    return rc;
}

static int make_rules(struct jail *j, int abi, struct err *err)
{
    struct rules r = handled(abi);
    size_t size = abi >= 6 ? sizeof r : abi >= 4 ? offsetof(struct rules, scoped) : offsetof(struct rules, net);
    j->ruleset = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
    if (j->ruleset < 0) return err_set(err, JAIL_FAILED, "Landlock: %s", strerror(errno));
    for (size_t i = 0; i < COUNT_OF(opened); i++)
        if (open_path(j, opened[i].path, opened[i].rights & r.fs, err)) return JAIL_FAILED;
    if (open_beneath(j, j->folder, r.fs & ~(uint64_t)NOT_MADE) == 0) return 0;
    return err_set(err, JAIL_FAILED, "Landlock: %s: %s", j->path, strerror(errno));
}

/* ---------------------------------------------------------------- the workspace */

/* Is path `in` itself or beneath it?  Both absolute and without links. */
static bool beneath(const char *path, const char *in)
{
    size_t n = strlen(in);
    if (n && in[n - 1] == '/') n--;
    return strncmp(path, in, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static int check_home(const struct jail *j, struct err *err)
{
    char home[PATH_MAX], root[PATH_MAX];
    if (!j->cfg.home || !realpath(j->cfg.home, home)) return 0; /* there is none to open */
    if (beneath(home, j->path))
        return err_set(err, JAIL_BAD_WORKSPACE, "the workspace %s would open all of %s to tools: choose a folder in it",
                       j->path, home);
    for (size_t i = 0; i < COUNT_OF(opened); i++)
        if (realpath(opened[i].path, root) && beneath(home, root))
            return err_set(err, JAIL_BAD_WORKSPACE, "%s lies in %s, which tools may read", home, root);
    return 0;
}

static int open_workspace(struct jail *j, struct err *err)
{
    const char *name = j->cfg.workspace;
    if (name && realpath(name, j->path)) j->folder = open(j->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (j->folder < 0)
        return err_set(err, JAIL_BAD_WORKSPACE, "the workspace %s: %s", name ? name : "(none)", strerror(errno));
    return check_home(j, err);
}

static int make_env(struct jail *j, struct err *err)
{
    const char *fixed[] = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C.UTF-8", "TERM=dumb"};
    int n = 0;
    for (; n < (int)COUNT_OF(fixed); n++) j->env[n] = strdup(fixed[n]);
    struct buf home = {0}, tmp = {0};
    buf_printf(&home, "HOME=%s", j->path);
    buf_printf(&tmp, "TMPDIR=%s", j->path);
    j->env[n++] = home.data;
    j->env[n++] = tmp.data;
    bool failed = home.failed || tmp.failed;
    for (int i = 0; i < n; i++) failed = failed || !j->env[i];
    return failed ? err_set(err, JAIL_FAILED, "out of memory") : 0;
}

struct jail *jail_prepare(const struct jail_config *cfg, struct err *err)
{
    int abi = jail_landlock(err);
    if (abi < 1) return NULL;
    struct jail *j = calloc(1, sizeof *j);
    if (!j) {
        err_set(err, JAIL_FAILED, "out of memory");
        return NULL;
    }
    j->ruleset = j->folder = -1;
    j->cfg = *cfg;
    if (open_workspace(j, err) == 0 && make_env(j, err) == 0 && make_rules(j, abi, err) == 0)
        j->calls = jail_calls(abi, err);
    if (j->calls) return j;
    jail_free(j);
    return NULL;
}

void jail_free(struct jail *j)
{
    if (!j) return;
    if (j->calls) seccomp_release(j->calls);
    if (j->ruleset >= 0) close(j->ruleset);
    if (j->folder >= 0) close(j->folder);
    for (int i = 0; i < ENV_VARS; i++) free(j->env[i]);
    free(j);
}

char *const *jail_env(const struct jail *j) { return j->env; }

/* ---------------------------------------------------------------- inside */

/* Limits only ever get less. */
static int shrink(int what, uint64_t to)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)what, &now)) return -1;
    rlim_t max = MIN((rlim_t)to, now.rlim_max);
    return setrlimit((__rlimit_resource_t)what, &(struct rlimit){max, max});
}

static int limit(const struct jail_config *cfg)
{
    if (shrink(RLIMIT_CORE, 0)) return -1;
    if (cfg->cpu_seconds && shrink(RLIMIT_CPU, cfg->cpu_seconds)) return -1;
    if (cfg->open_files && shrink(RLIMIT_NOFILE, cfg->open_files)) return -1;
    if (cfg->file_bytes && shrink(RLIMIT_FSIZE, cfg->file_bytes)) return -1;
    if (cfg->processes && shrink(RLIMIT_NPROC, cfg->processes)) return -1;
    return 0;
}

/* Root without capabilities is a user that owns much; the bounding set keeps exec from giving them back. */
static int drop_rights(void)
{
    for (unsigned long cap = 0; cap < 64; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno != EINVAL && errno != EPERM) return -1;
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    return (int)syscall(SYS_capset, &head, none);
}

static int close_others(int keep)
{
    if (keep >= 0 && keep != 3 && dup3(keep, 3, O_CLOEXEC) < 0) return -1;
    unsigned first = keep < 0 ? 3 : 4;
    return (int)syscall(SYS_close_range, first, ~0u, 0);
}

int jail_enter(struct jail *j, int keep, struct err *err)
{
    const char *step = "setsid";
    setsid(); /* fails only where the process leads a session already */
    umask(077);
    if (step = "the workspace", fchdir(j->folder)) goto failed;
    if (step = "limits", limit(&j->cfg)) goto failed;
    if (j->cfg.hold_git && jail_hold_git(err)) return JAIL_FAILED;
    if (step = "rights", drop_rights()) goto failed;
    if (step = "Landlock", syscall(SYS_landlock_restrict_self, j->ruleset, 0)) goto failed;
    if (step = "descriptors", close_others(keep)) goto failed;
    j->ruleset = j->folder = -1;
    int rc = seccomp_attr_set(j->calls, SCMP_FLTATR_CTL_NNP, 0); /* that is done */
    if (rc == 0) rc = seccomp_load(j->calls);
    if (rc == 0) return 0;
    return err_set(err, JAIL_NO_SECCOMP, "no tool can run: seccomp: %s", strerror(-rc));
failed:
    return err_set(err, JAIL_FAILED, "the jail: %s: %s", step, strerror(errno));
}
