/* test_job_group.c - control groups of jobs, on files in a folder that look like those of a kernel.  What a kernel
 * makes of them is seen in test_job.c, where one is delegated. */
#include "tests/check.h"
#include "tools/job_group.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define G "/sys/fs/cgroup/user/scope"

static char root[300];

static const char *at(const char *name)
{
    static char path[700];
    snprintf(path, sizeof path, "%s%s", root, name);
    return path;
}

static void put(const char *name, const char *text)
{
    char path[700];
    snprintf(path, sizeof path, "%s", at(name));
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static const char *got(const char *name)
{
    static char text[200];
    FILE *f = fopen(at(name), "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    return text;
}

static const char *pid_line(int pid)
{
    static char line[40];
    snprintf(line, sizeof line, "%d\n", pid);
    return line;
}

/* A scope that this user may write and is alone in.  false: root needs a mark, and this file system takes none. */
static bool delegate(void)
{
    snprintf(root, sizeof root, "%s", check_tmpdir());
    put("/proc/self/cgroup", "12:cpu:/x\n0::/user/scope\n");
    put(G "/cgroup.procs", pid_line(getpid()));
    put(G "/cgroup.controllers", "cpu memory pids\n");
    put(G "/cgroup.subtree_control", "\n");
    put(G "/plimsoll/cgroup.procs", "");
    return geteuid() != 0 || setxattr(at(G), "user.delegate", "1", 1, 0) == 0;
}

#define DELEGATE() if (!delegate()) SKIP("no extended attributes here, and this is root")

TEST(group_is_ready_where_it_is_delegated_and_ours_alone)
{
    DELEGATE();
    CHECK_EQ(job_group_look(root, false), JOB_GROUP_READY);
    put(G "/cgroup.procs", pid_line(getppid()));
    CHECK_EQ(job_group_look(root, true), JOB_GROUP_READY);
    CHECK_EQ(job_group_look(root, false), JOB_GROUP_SHARED);
    put(G "/cgroup.procs", "1\n");
    CHECK_EQ(job_group_look(root, true), JOB_GROUP_SHARED);
    CHECK_EQ(job_group_prepare(root), -1);
    CHECK_STR(got(G "/plimsoll/cgroup.procs"), ""); /* nobody was moved */
    CHECK_STR(got(G "/cgroup.subtree_control"), "\n");
}

TEST(group_that_is_not_delegated_is_left_alone)
{
    DELEGATE();
    put(G "/cgroup.controllers", "cpu pids\n");
    CHECK_EQ(job_group_look(root, false), JOB_GROUP_NONE);
    put(G "/cgroup.controllers", "cpu memorypids\n");
    CHECK_EQ(job_group_look(root, false), JOB_GROUP_NONE);
    put(G "/cgroup.controllers", "memory\n");
    CHECK_EQ(job_group_look(root, false), JOB_GROUP_READY);
    put("/proc/self/cgroup", "4:memory:/user/scope\n0::/nowhere\n"); /* version 1 has memory */
    CHECK_EQ(job_group_look(root, false), JOB_GROUP_NONE);
    put("/sys/fs/cgroup/x/cgroup.procs", "");
    put("/proc/self/cgroup", "0::/x/../user/scope\n"); /* beyond what of the tree is shown to us */
    CHECK_EQ(job_group_look(root, false), JOB_GROUP_NONE);
    put("/proc/self/cgroup", "0::/user/scope\n");
    if (geteuid() == 0) CHECK(setxattr(at(G), "user.delegate", "0", 1, 0) == 0);
    else CHECK(unlink(at(G "/cgroup.subtree_control")) == 0);
    CHECK_EQ(job_group_look(root, false), JOB_GROUP_NONE);
    CHECK_EQ(job_group_prepare(root), -1);
    CHECK_STR(got(G "/plimsoll/cgroup.procs"), "");
}

TEST(group_is_prepared_by_moving_out_of_it)
{
    char mine[40];
    DELEGATE();
    snprintf(mine, sizeof mine, "%d", getpid());
    CHECK_EQ(job_group_prepare(root), 0);
    CHECK_STR(got(G "/plimsoll/cgroup.procs"), mine);
    CHECK_STR(got(G "/cgroup.subtree_control"), "+memory");
    put("/proc/self/cgroup", "0::/user/scope/plimsoll\n");
    CHECK_EQ(job_group_look(root, false), JOB_GROUP_NONE);
    put(G "/cgroup.subtree_control", "memory pids\n");
    CHECK_EQ(job_group_look(root, false), JOB_GROUP_READY);
    CHECK_EQ(job_group_prepare(root), 0); /* it is done */
}

/* A kernel that refuses the controller, or the way in. */
TEST(group_that_cannot_be_prepared_is_as_it_was)
{
    char mine[40];
    DELEGATE();
    snprintf(mine, sizeof mine, "%d", getpid());
    put(G "/cgroup.procs", "");
    CHECK(unlink(at(G "/cgroup.subtree_control")) == 0 && mkdir(at(G "/cgroup.subtree_control"), 0700) == 0);
    put(G "/cgroup.procs", pid_line(getpid()));
    CHECK_EQ(job_group_prepare(root), -1);
    CHECK_STR(got(G "/cgroup.procs"), pid_line(getpid()));
    DELEGATE();
    CHECK(unlink(at(G "/plimsoll/cgroup.procs")) == 0);
    CHECK_EQ(job_group_prepare(root), -1);
    CHECK(access(at(G "/plimsoll"), F_OK) < 0); /* nor is an empty group left */
    CHECK_STR(got(G "/cgroup.subtree_control"), "\n");
}

/* ---------------------------------------------------------------- a job's */

static const char *of_job(const char *name)
{
    static char path[2][100];
    static unsigned next;
    snprintf(path[next % 2], sizeof path[0], G "/job-%d/%s", getpid(), name);
    return path[next++ % 2];
}

static void make_ready(void)
{
    static const char *const files[] = {"memory.max", "memory.oom.group", "pids.max", "cgroup.procs"};
    put("/proc/self/cgroup", "0::/user/scope/plimsoll\n");
    put(G "/cgroup.subtree_control", "memory pids\n");
    for (size_t i = 0; i < COUNT_OF(files); i++) put(of_job(files[i]), "");
}

TEST(group_of_a_job_has_its_limits)
{
    struct job_group g;
    uint64_t peak = 1;
    DELEGATE();
    make_ready();
    CHECK_EQ(job_group_make(root, 1 << 20, 8, &g), 0);
    CHECK_STR(got(of_job("memory.max")), "1048576");
    CHECK_STR(got(of_job("memory.oom.group")), "1");
    CHECK_STR(got(of_job("pids.max")), "16"); /* the guard says it when there are more than 8 */
    CHECK_EQ(write(g.procs, "4711\n", 5), 5);
    CHECK(job_group_has(&g, 4711) && !job_group_has(&g, 471) && !job_group_has(&g, 47110));
    CHECK(!job_group_end(&g, &peak));
    CHECK_EQ(peak, 0);
    CHECK(!job_group_has(&g, 4711));
    CHECK(!job_group_end(&g, &peak)); /* there is none any more */
}

TEST(group_says_what_the_kernel_saw)
{
    struct job_group g;
    uint64_t peak;
    DELEGATE();
    make_ready();
    put(of_job("memory.peak"), "123456789\n");
    put(of_job("memory.events"), "low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\noom_group_kill 0\n");
    CHECK_EQ(job_group_make(root, 1 << 20, 0, &g), 0);
    CHECK_STR(got(of_job("pids.max")), ""); /* no limit was asked for */
    CHECK(!job_group_end(&g, &peak));
    CHECK_EQ(peak, 123456789);
    put(of_job("memory.events"), "oom 1\noom_kill 2\n");
    CHECK_EQ(job_group_make(root, 1 << 20, 0, &g), 0);
    CHECK(job_group_end(&g, &peak));
}

TEST(group_is_not_made_where_it_would_limit_nothing)
{
    struct job_group g;
    uint64_t peak;
    DELEGATE();
    CHECK_EQ(job_group_make(root, 1 << 20, 8, &g), -1); /* we are in it ourselves */
    make_ready();
    CHECK_EQ(job_group_make(root, 0, 8, &g), -1);
    CHECK(unlink(at(of_job("memory.oom.group"))) == 0);
    CHECK_EQ(job_group_make(root, 1 << 20, 8, &g), -1);
    CHECK(!job_group_has(&g, getpid()) && g.procs == -1 && !job_group_end(&g, &peak));
    make_ready();
    put(G "/cgroup.subtree_control", "pids\n");
    CHECK_EQ(job_group_make(root, 1 << 20, 8, &g), -1);
}

CHECK_MAIN
