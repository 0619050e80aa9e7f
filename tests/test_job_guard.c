/* What a job's guard sees and does at moments that a tool or the system can choose: this program is caller, guard and
 * tool, and what it has of the C library's own is bent here. */
#include "tests/job_rig.h"
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

int main(int argc, char **argv)
{
    static const struct job_builtin table[] = {{0}};
    if (argc > 1 && strcmp(argv[1], "--jail") == 0) job_guard(table);
    return check_main(argc, argv);
}
