/* What a job's guard sees and does at moments that a tool or the system can choose: this program is caller, guard and
 * tool, and what it has of the C library's own is bent here. */
#include "tests/job_rig.h"
#include <dirent.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---------------------------------------------------------------- bent */

static time_t ahead; /* seconds; in the caller alone */

/* The library's, and this program's. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, t);
    t->tv_sec += ahead;
    return rc;
}

#define ENDLESS "endless"

/* Who looks for repositories among names with this one gets no further. */
struct dirent *readdir(DIR *d)
{
    struct dirent *(*next)(DIR *);
    *(void **)&next = dlsym(RTLD_NEXT, "readdir");
    struct dirent *e = next(d);
    while (e && strcmp(e->d_name, ENDLESS) == 0) pause();
    return e;
}

/* ---------------------------------------------------------------- nobody looks */

TEST(job_output_is_read_however_late)
{
    struct job *j = begin((struct job_config){.argv = SHELL("head -c 60000 /dev/zero")});
    siginfo_t info;
    CHECK_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0); /* the guard, who has answered */
    ahead = 3600;
    struct job_result r = end(j);
    ahead = 0;
    CHECK_EQ(r.end, JOB_EXITED);
    CHECK_EQ(r.bytes, 60000);
}

/* ---------------------------------------------------------------- the way into jail takes long */

static struct job *begin_endless(struct job_limits limits)
{
    char path[600];
    snprintf(path, sizeof path, "%s/" ENDLESS, workspace());
    put_file(path, "");
    return begin((struct job_config){.argv = ARGV("true"), .hold_git = true, .limits = limits});
}

TEST(job_is_cancelled_on_its_way_into_jail)
{
    struct job *j = begin_endless((struct job_limits){0});
    job_cancel(j);
    CHECK_EQ(end(j).end, JOB_CANCELLED);
    forget(ENDLESS);
}

TEST(job_times_out_on_its_way_into_jail)
{
    struct job *j = begin_endless((struct job_limits){.wall_ms = 50});
    CHECK_EQ(end(j).end, JOB_TIMEOUT);
    forget(ENDLESS);
}

int main(int argc, char **argv)
{
    static const struct job_builtin table[] = {{0}};
    if (argc > 1 && strcmp(argv[1], "--jail") == 0) job_guard(table);
    return check_main(argc, argv);
}
