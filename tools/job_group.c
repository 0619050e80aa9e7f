/* job_group.c - control groups of version 2, through their files. */
#include "tools/job_group.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { TEXT = 4096, ENDS = 100 };
#define LEAF "plimsoll"

/* ---------------------------------------------------------------- files */

static bool read_file(const char *dir, const char *name, char text[TEXT])
{
    char path[JOB_GROUP_PATH + 40];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, TEXT - 1) : -1;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static int write_file(const char *dir, const char *name, const char *text)
{
    char path[JOB_GROUP_PATH + 40];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? write(fd, text, strlen(text)) : -1;
    if (fd >= 0) close(fd);
    return n == (ssize_t)strlen(text) ? 0 : -1;
}

static int write_number(const char *dir, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return write_file(dir, name, text);
}

static bool may_write(const char *dir, const char *name)
{
    char path[JOB_GROUP_PATH + 40];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, W_OK) == 0;
}

/* Is it one of the words of this file? */
static bool lists(const char *dir, const char *name, const char *word)
{
    char text[TEXT], *rest = text, *one;
    read_file(dir, name, text);
    while ((one = strsep(&rest, " \n")))
        if (strcmp(one, word) == 0) return true;
    return false;
}

static bool lists_pid(const char *dir, int pid)
{
    char word[24];
    snprintf(word, sizeof word, "%d", pid);
    return lists(dir, "cgroup.procs", word);
}

/* ---------------------------------------------------------------- the group we are in */

static bool own_group(const char *root, char dir[JOB_GROUP_PATH])
{
    char text[TEXT], proc[JOB_GROUP_PATH], *rest = text, *line;
    snprintf(proc, sizeof proc, "%.200s/proc/self", root);
    read_file(proc, "cgroup", text);
    while ((line = strsep(&rest, "\n"))) {
        if (strncmp(line, "0::/", 4) != 0 || strlen(line) > 400 || strstr(line, "/..")) continue;
        snprintf(dir, JOB_GROUP_PATH, "%.200s/sys/fs/cgroup%s", root, strcmp(line, "0::/") == 0 ? "" : line + 3);
        return true;
    }
    return false;
}

static bool is_leaf(const char *dir) { return strcmp(strrchr(dir, '/') + 1, LEAF) == 0; }

/* dir becomes the group above it. */
static void go_up(char *dir) { *strrchr(dir, '/') = '\0'; }

static bool is_delegated(const char *dir)
{
    static const char *const marks[] = {"user.delegate", "trusted.delegate"};
    char value[8];
    if (!may_write(dir, "") || !may_write(dir, "cgroup.procs") || !may_write(dir, "cgroup.subtree_control"))
        return false;
    bool marked = geteuid() != 0;
    for (size_t i = 0; i < COUNT_OF(marks) && !marked; i++)
        marked = getxattr(dir, marks[i], value, sizeof value) == 1 && *value == '1';
    return marked && lists(dir, "cgroup.controllers", "memory");
}

static bool is_alone(const char *dir, bool parent)
{
    char text[TEXT], *rest = text, *one;
    if (!read_file(dir, "cgroup.procs", text) || strlen(text) == TEXT - 1) return false;
    while ((one = strsep(&rest, "\n")))
        if (*one && atoi(one) != getpid() && !(parent && atoi(one) == getppid())) return false;
    return true;
}

enum job_group_state job_group_look(const char *root, bool parent)
{
    char dir[JOB_GROUP_PATH];
    if (!own_group(root, dir)) return JOB_GROUP_NONE;
    if (is_leaf(dir)) {
        go_up(dir);
        return lists(dir, "cgroup.subtree_control", "memory") && may_write(dir, "") ? JOB_GROUP_READY : JOB_GROUP_NONE;
    }
    if (!is_delegated(dir)) return JOB_GROUP_NONE;
    return is_alone(dir, parent) ? JOB_GROUP_READY : JOB_GROUP_SHARED;
}

int job_group_prepare(const char *root)
{
    char dir[JOB_GROUP_PATH], leaf[JOB_GROUP_PATH + sizeof LEAF];
    if (job_group_look(root, false) != JOB_GROUP_READY || !own_group(root, dir)) return -1;
    if (is_leaf(dir)) return 0;
    snprintf(leaf, sizeof leaf, "%s/" LEAF, dir);
    if (strlen(leaf) >= JOB_GROUP_PATH || (mkdir(leaf, 0755) && errno != EEXIST)) return -1;
    if (write_number(leaf, "cgroup.procs", (uint64_t)getpid()) == 0) {
        write_file(dir, "cgroup.subtree_control", "+pids"); /* processes are counted by the guard besides */
        if (write_file(dir, "cgroup.subtree_control", "+memory") == 0) return 0;
        write_file(dir, "cgroup.subtree_control", "-pids");
        write_number(dir, "cgroup.procs", (uint64_t)getpid());
    }
    rmdir(leaf);
    return -1;
}

/* ---------------------------------------------------------------- the group of a job */

int job_group_make(const char *root, uint64_t bytes, uint32_t processes, struct job_group *g)
{
    char dir[JOB_GROUP_PATH], path[JOB_GROUP_PATH + 40];
    *g = (struct job_group){.procs = -1};
    if (bytes == 0 || !own_group(root, dir) || !is_leaf(dir)) return -1;
    go_up(dir);
    if (!lists(dir, "cgroup.subtree_control", "memory") || strlen(dir) + 32 > sizeof g->dir) return -1;
    snprintf(g->dir, sizeof g->dir, "%.660s/job-%d", dir, (int)getpid());
    bool stale = rmdir(g->dir) && errno == EBUSY; /* of a guard of this number that was lost: something runs in it */
    if (stale || (mkdir(g->dir, 0755) && errno != EEXIST)) g->dir[0] = '\0';
    if (!*g->dir) return -1;
    write_file(g->dir, "memory.swap.max", "0"); /* not there without swap */
    if (processes) write_number(g->dir, "pids.max", 2 * (uint64_t)processes);
    snprintf(path, sizeof path, "%s/cgroup.procs", g->dir);
    /* One of them ended and the others going on would be a result that is not one. */
    if (write_file(g->dir, "memory.oom.group", "1") == 0 && write_number(g->dir, "memory.max", bytes) == 0)
        g->procs = open(path, O_WRONLY | O_CLOEXEC);
    if (g->procs >= 0) return 0;
    rmdir(g->dir);
    g->dir[0] = '\0';
    return -1;
}

bool job_group_has(const struct job_group *g, int pid) { return *g->dir && lists_pid(g->dir, pid); }

static uint64_t number_in(const char *dir, const char *name, const char *behind)
{
    char text[TEXT];
    read_file(dir, name, text);
    const char *at = strstr(text, behind);
    return at ? strtoull(at + strlen(behind), NULL, 10) : 0;
}

bool job_group_end(struct job_group *g, uint64_t *peak)
{
    *peak = 0;
    if (!*g->dir) return false;
    *peak = number_in(g->dir, "memory.peak", "");
    bool killed = number_in(g->dir, "memory.events", "oom_kill ") > 0;
    if (g->procs >= 0) close(g->procs);
    for (int i = 0; i < ENDS && rmdir(g->dir) && errno == EBUSY; i++) poll(NULL, 0, 1); /* the last is on its way out */
    *g = (struct job_group){.procs = -1};
    return killed;
}
