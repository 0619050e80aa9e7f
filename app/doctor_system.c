/* doctor_system.c - `plimsoll doctor`: cores, control groups, what jails stand on, limits of a process. */
#include "app/doctor.h"
#include "app/serve/mhd.h"
#include "engine/remote/curl.h"
#include "app/store_cmd.h"
#include "tools/job.h"
#include "tools/job_group.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <math.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TEXT_MAX = 4096 };

/* ---------------------------------------------------------------- control groups */

static bool read_text(const char *path, char text[TEXT_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, text, TEXT_MAX - 1) : -1;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* "150000 100000", or "max 100000": cores of version 2. */
static double quota_two(const char *dir)
{
    char path[600], text[TEXT_MAX];
    double quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", dir);
    bool said = read_text(path, text) && sscanf(text, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0;
    return said ? quota / period : INFINITY;
}

/* The same of version 1; a quota of -1 is none. */
static double quota_one(const char *dir)
{
    char path[600], quota_text[TEXT_MAX], period_text[TEXT_MAX];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
    if (!read_text(path, quota_text)) return INFINITY;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    if (!read_text(path, period_text)) return INFINITY;
    double quota = strtod(quota_text, NULL), period = strtod(period_text, NULL);
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* The least from this group up to the mount.  In a container the group's path may not be there under the mount. */
static double quota_up(const char *mount, char *group, double (*quota)(const char *dir))
{
    double least = INFINITY;
    for (;;) {
        char dir[560];
        snprintf(dir, sizeof dir, "%s%s", mount, group);
        least = fmin(least, quota(dir));
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

/* Is this one of the words of "cpu,cpuacct"? */
static bool lists_cpu(const char *list, const char *end)
{
    while (list < end) {
        size_t n = strcspn(list, ",:");
        if (n == 3 && memcmp(list, "cpu", 3) == 0) return true;
        list += n + 1;
    }
    return false;
}

double doctor_group_cores(const char *root)
{
    char path[300], text[TEXT_MAX], mount[300];
    double least = INFINITY;
    snprintf(path, sizeof path, "%.200s/proc/self/cgroup", root);
    if (!read_text(path, text)) return INFINITY;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) { /* "0::/a/b" in version 2, "5:cpu,cpuacct:/a/b" in version 1 */
        char *list = strchr(line, ':'), *group = strstr(line, ":/");
        if (!list || !group || strlen(group) > 240) continue;
        bool two = strncmp(line, "0::", 3) == 0;
        if (!two && !lists_cpu(list + 1, group)) continue;
        snprintf(mount, sizeof mount, "%.200s/sys/fs/cgroup%s", root, two ? "" : "/cpu");
        least = fmin(least, quota_up(mount, group + 1, two ? quota_two : quota_one));
    }
    return least;
}

/* Is /proc mounted so that it does not show all processes, of the same user too?  The last mount there counts. */
static bool hides_processes(const char *root)
{
    char path[300], *line = NULL;
    size_t room = 0;
    bool hides = false;
    snprintf(path, sizeof path, "%.200s/proc/self/mounts", root);
    FILE *f = fopen(path, "re");
    while (f && getline(&line, &room, f) > 0)
        if (strstr(line, " /proc proc ")) hides = strstr(line, "hidepid=") != NULL;
    if (f) fclose(f);
    free(line);
    return hides;
}

/* Who limits a tool's memory: the kernel, by a group of its own, or its guard. */
void doctor_groups(const struct doctor *d, struct doctor_finding *f)
{
    enum job_group_state state = job_group_look(d->root, true); /* this is a child of plimsoll's */
    if (state == JOB_GROUP_READY)
        doctor_say(f, DOCTOR_OK, "delegated: a tool gets one of its own, which limits its memory");
    else
        doctor_say(f, DOCTOR_OK, "%s; the processes of a tool are counted every %d ms%s",
                   state == JOB_GROUP_SHARED ? "delegated, but others are in it" : "not delegated", JOB_LOOK_MS,
                   hides_processes(d->root) ? ", but for those that hidepid of /proc hides" : "");
}

void doctor_cores(const struct doctor *d, struct doctor_finding *f)
{
    cpu_set_t set;
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)MAX(all, 1);
    int threads = d->o->threads ? (int)d->o->threads : cores;
    double granted = doctor_group_cores(d->root);
    if (granted + 0.01 < threads) {
        doctor_say(f, DOCTOR_WARN, "%d thread%s on %d of %ld cores, of which the control group grants %.3g", threads,
                   plural(threads), cores, all, granted);
        doctor_fix(f, "--threads %d, or PLIMSOLL_THREADS=%d, or threads = %d in the configuration file",
                   (int)fmax(granted, 1), (int)fmax(granted, 1), (int)fmax(granted, 1));
    } else if (threads > cores) {
        doctor_say(f, DOCTOR_WARN, "%d threads on %d of %ld cores", threads, cores, all);
        doctor_fix(f, "--threads %d: more than one on a core wait for each other", cores);
    } else {
        char grant[60] = "no limit by a control group";
        if (!isinf(granted)) snprintf(grant, sizeof grant, "the control group grants %.3g", granted);
        doctor_say(f, DOCTOR_OK, "%d thread%s on %d of %ld cores, %s", threads, threads == 1 ? "" : "s", cores, all,
                   grant);
    }
}

/* ---------------------------------------------------------------- jails */

void doctor_landlock(const struct doctor *d, struct doctor_finding *f)
{
    struct err err = {0};
    int version = jail_landlock(&err);
    (void)d;
    if (version >= 1) {
        doctor_say(f, DOCTOR_OK, "version %d", version);
        return;
    }
    doctor_say(f, DOCTOR_WARN, "none");
    doctor_fix(f, "%s", err.text);
}

/* Those that are opened by who needs them. */
void doctor_libraries(const struct doctor *d, struct doctor_finding *f)
{
    struct err server = {0}, client = {0};
    const bool serves = mhd_open(&server) != NULL, asks = curl_open(&client) != NULL;
    (void)d;
    doctor_say(f, serves && asks ? DOCTOR_OK : DOCTOR_WARN,
               "libmicrohttpd (plimsoll serve): %s; libcurl (--remote, watch): %s", serves ? "there" : "not there",
               asks ? "there" : "not there");
    if (!serves) doctor_fix(f, "%s", server.text);
    else if (!asks) doctor_fix(f, "%s", client.text);
}

void doctor_seccomp(const struct doctor *d, struct doctor_finding *f)
{
    static const uint32_t needed[] = {SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW};
    (void)d;
    for (size_t i = 0; i < COUNT_OF(needed); i++) {
        if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &needed[i]) == 0) continue;
        doctor_say(f, DOCTOR_WARN, "no filters (%s)", strerror(errno));
        doctor_fix(f, "no tool can run: use a kernel with CONFIG_SECCOMP_FILTER, or ask who runs this container");
        return;
    }
    doctor_say(f, DOCTOR_OK, "filters can be set");
}

/* ---------------------------------------------------------------- limits of a process */

/* What getrlimit(), which returned rc, filled in. */
static rlim_t limit_of(int rc, const struct rlimit *r)
{
    return rc ? RLIM_INFINITY : r->rlim_cur;
}

static void say_bytes(struct doctor_finding *f, enum doctor_verdict verdict, rlim_t limit)
{
    if (limit == RLIM_INFINITY) doctor_say(f, verdict, "no limit");
    else doctor_say(f, verdict, "%s", store_cmd_size(limit).text);
}

void doctor_files(const struct doctor *d, struct doctor_finding *f)
{
    enum { ENOUGH = 256 };
    struct rlimit r;
    rlim_t limit = limit_of(getrlimit(RLIMIT_NOFILE, &r), &r);
    (void)d;
    if (limit == RLIM_INFINITY) doctor_say(f, DOCTOR_OK, "no limit");
    else doctor_say(f, limit < ENOUGH ? DOCTOR_WARN : DOCTOR_OK, "%llu", (unsigned long long)limit);
    if (f->verdict != DOCTOR_OK) doctor_fix(f, "ulimit -n 1024: store, tools and their pipes need some");
}

/* Nothing is locked by plimsoll; the figure helps where a driver does. */
void doctor_locked(const struct doctor *d, struct doctor_finding *f)
{
    struct rlimit r;
    (void)d;
    say_bytes(f, DOCTOR_OK, limit_of(getrlimit(RLIMIT_MEMLOCK, &r), &r));
}

/* The store maps up to 80 GiB of addresses beside what a model takes. */
void doctor_address(const struct doctor *d, struct doctor_finding *f)
{
    static const rlim_t enough = (rlim_t)128 << 30;
    struct rlimit r;
    rlim_t limit = limit_of(getrlimit(RLIMIT_AS, &r), &r);
    (void)d;
    say_bytes(f, limit < enough ? DOCTOR_WARN : DOCTOR_OK, limit);
    if (limit < enough)
        doctor_fix(f, "ulimit -v unlimited: the store maps its files, which takes addresses and no memory");
}

void doctor_core_file(const struct doctor *d, struct doctor_finding *f)
{
    struct rlimit r;
    rlim_t limit = limit_of(getrlimit(RLIMIT_CORE, &r), &r);
    (void)d;
    say_bytes(f, limit ? DOCTOR_WARN : DOCTOR_OK, limit);
    if (limit) doctor_fix(f, "ulimit -c 0: else the file that a crash leaves has what was said in it");
}
