/* What a job's guard sees and does at moments that a tool or the system can choose: this program is caller, guard and
 * tool, and what it has of the C library's own is bent here. */
#include "tests/blind_rig.h"
#include "tests/job_rig.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
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

/* ---------------------------------------------------------------- /proc does not show all */

static void *eat(void *first)
{
    enum { MUCH = 200 << 20 };
    pthread_join(*(pthread_t *)first, NULL);
    char *mem = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mem != MAP_FAILED) memset(mem, 1, MUCH);
    for (;;) pause();
    return NULL;
}

/* The first thread ends, and its /proc/PID/stat has no memory from then on; another takes much. */
static int outlive_first(int argc, char **argv)
{
    (void)argc, (void)argv;
    static pthread_t first;
    pthread_t other;
    first = pthread_self();
    if (pthread_create(&other, NULL, eat, &first)) return 1;
    pthread_exit(NULL);
}

TEST(job_memory_counts_where_the_first_thread_has_ended)
{
    struct job_config cfg = {.argv = ARGV("outlive_first"), .builtin = true, .limits = {.tree_bytes = 100 << 20}};
    struct job_result r = end(begin(cfg));
    CHECK_EQ(r.end, JOB_MEMORY);
}

/* Much that is shared and of which never more than a piece is resident. */
static int eat_shared(int argc, char **argv)
{
    enum { PIECE = 8 << 20, PIECES = 25 };
    (void)argc, (void)argv;
    char *mem = mmap(NULL, (size_t)PIECES * PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mem == MAP_FAILED) return 1;
    for (char *p = mem; p < mem + (size_t)PIECES * PIECE; p += PIECE) {
        memset(p, 1, PIECE);
        if (madvise(p, PIECE, MADV_DONTNEED)) return 1;
    }
    for (;;) pause();
}

TEST(job_memory_counts_that_is_shared_and_resident_nowhere)
{
    struct job_config cfg = {.argv = ARGV("eat_shared"), .builtin = true, .limits = {.tree_bytes = 100 << 20}};
    struct job_result r = end(begin(cfg));
    CHECK_EQ(r.end, JOB_MEMORY);
    CHECK(r.grouped || r.peak_bytes < 100 << 20);
}

/* Leaves a process in a session of its own that a /proc with hidepid=2 does not show, and says its number. */
static int hide(int argc, char **argv)
{
    (void)argc, (void)argv;
    int ends[2];
    char byte;
    if (pipe(ends) || prctl(PR_SET_DUMPABLE, 0)) return 1;
    pid_t pid = fork();
    if (pid) return printf("%d\n", pid) < 0 || read(ends[0], &byte, 1) != 1; /* it is in its own session then */
    if (setsid() < 0 || write(ends[1], "", 1) != 1) return 1;
    for (;;) pause();
}

static void run_hidden(void)
{
    enum { NOBODY = 65534 };
    const char *space = workspace();
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("proc", "/proc", "proc", 0, "hidepid=2")) _exit(77);
    CHECK(chown(space, NOBODY, NOBODY) == 0 && chmod(around(), 0755) == 0);
    CHECK(setgid(NOBODY) == 0 && setuid(NOBODY) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
    struct job_result r = end(begin((struct job_config){.argv = ARGV("hide"), .builtin = true, .workspace = space}));
    CHECK_EQ(r.end, JOB_EXITED);
    CHECK_EQ(r.value, 0);
    CHECK(shown.len > 0 && kill(atoi(shown.data), 0) < 0 && errno == ESRCH);
    _exit(0);
}

/* In namespaces of their own, so that nothing else sees that /proc. */
TEST(job_end_kills_who_is_hidden)
{
    need_jail();
    workspace();
    pid_t pid = fork(), inner;
    int status = 77 << 8;
    if (pid == 0) {
        if (unshare(CLONE_NEWNS | CLONE_NEWPID) || (inner = fork()) < 0) _exit(77);
        if (inner == 0) run_hidden();
        waitpid(inner, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQ(chown(workspace(), geteuid(), getegid()), 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) SKIP("no /proc of one's own can be mounted here");
    CHECK_EQ(status, 0);
}

TEST(job_that_cannot_be_watched_is_ended)
{
    forget(BLIND);
    int was = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(was >= 0 && chdir(workspace()) == 0); /* where the guard begins too */
    static const char hides[] = "setsid sh -c 'echo $$ >one; echo >" BLIND "; exec sleep 1000'";
    struct job_result r = shell(hides, (struct job_limits){0});
    CHECK_EQ(r.end, JOB_UNWATCHED);
    CHECK_STR(r.text, "/proc: Cannot allocate memory");
    CHECK(named("one") > 0 && kill(named("one"), 0) < 0 && errno == ESRCH);
    r = shell("echo here", (struct job_limits){0});
    CHECK_EQ(r.end, JOB_REFUSED);
    CHECK(strstr(r.text, "/proc") && r.bytes == 0);
    CHECK(fchdir(was) == 0 && close(was) == 0);
    forget(BLIND);
}

int main(int argc, char **argv)
{
    static const struct job_builtin table[] = {{"hide", hide}, {"outlive_first", outlive_first},
                                              {"eat_shared", eat_shared}, {0}};
    if (argc > 1 && strcmp(argv[1], "--jail") == 0) job_guard(table);
    return check_main(argc, argv);
}
