/* hog.c - see hog.h.  It is this program again, started with a word. */
#include "tests/bench/hog.h"
#include "tests/bench/child.h"
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int hog_main(void)
{
    cpu_set_t all;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The mask is inherited, and who started this may be pinned: any core that there is. */
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    puts("computing");
    fflush(stdout);
    for (volatile unsigned n = 0;; n++) continue;
}

int hog_start(struct hog *h, struct err *err)
{
    char *const argv[] = {"/proc/self/exe", "hog", NULL};
    char line[32];
    FILE *out;
    h->pid = child_start(argv, &out, err);
    if (h->pid < 0) {
        h->pid = 0;
        return -1;
    }
    bool there = fgets(line, sizeof line, out);
    fclose(out);
    if (there) return 0;
    hog_stop(h);
    return err_set(err, -1, "the process that only computes did not start");
}

double hog_stop(struct hog *h)
{
    struct rusage u;
    int status;
    if (h->pid <= 0) return 0;
    kill(h->pid, SIGKILL);
    pid_t got = wait4(h->pid, &status, 0, &u);
    h->pid = 0;
    if (got < 0) return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}
