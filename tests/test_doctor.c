/* test_doctor.c - checks of `plimsoll doctor` on systems that are not this one: files of /proc and /sys in a folder,
 * and variables. */
#include "app/doctor.h"
#include "tests/check.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static char root[300];
static struct opts o;
static const char *term, *depth, *no_color;

static const char *fake_env(const char *name)
{
    if (strcmp(name, "TERM") == 0) return term;
    if (strcmp(name, "COLORTERM") == 0) return depth;
    if (strcmp(name, "NO_COLOR") == 0) return no_color;
    return NULL;
}

static void fresh_root(void) { snprintf(root, sizeof root, "%s", check_tmpdir()); }

/* A file below root, and the folders above it. */
static void put(const char *name, const char *text)
{
    char path[700];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static struct doctor_finding look(doctor_check *check)
{
    struct doctor_finding f = {0};
    const struct doctor d = {.o = &o, .env = fake_env, .root = root};
    check(&d, &f);
    CHECK(*f.figure && (f.verdict == DOCTOR_OK) == !*f.fix);
    return f;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

TEST(doctor_reads_the_cores_that_control_groups_grant)
{
    fresh_root();
    CHECK(isinf(doctor_group_cores(root)));
    put("/proc/self/cgroup", "0::/a/b\n");
    CHECK(isinf(doctor_group_cores(root)));
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    CHECK(isinf(doctor_group_cores(root)));
    put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    CHECK_NEAR(doctor_group_cores(root), 1.5, 0);
    put("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
    CHECK_NEAR(doctor_group_cores(root), 0.5, 0);
    put("/sys/fs/cgroup/cpu.max", "25000 100000\n"); /* a container's own group is the mount */
    CHECK_NEAR(doctor_group_cores(root), 0.25, 0);
}

TEST(doctor_reads_control_groups_of_version_1)
{
    fresh_root();
    put("/proc/self/cgroup", "7:cpuset:/x\n4:cpuacct,cpu:/box\n0::/\n");
    put("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    CHECK(isinf(doctor_group_cores(root)));
    put("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "300000\n");
    CHECK_NEAR(doctor_group_cores(root), 3, 0);
    put("/proc/self/cgroup", "7:cpuset:/box\n");
    CHECK(isinf(doctor_group_cores(root)));
}

TEST(doctor_does_not_believe_files_that_say_nonsense)
{
    static const char *const bad[] = {"", "\n", "0 0", "-5 100000", "100000", "nan nan", "100000 0", "x"};
    char deep[3000] = "0::";
    fresh_root();
    put("/proc/self/cgroup", "0::/\n");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        put("/sys/fs/cgroup/cpu.max", bad[i]);
        CHECK(isinf(doctor_group_cores(root)));
    }
    put("/sys/fs/cgroup/cpu.max", "100000 100000");
    for (int i = 0; i < 400; i++) strcat(deep, "/abcde");
    put("/proc/self/cgroup", deep); /* longer than any path that we ask for */
    CHECK(isinf(doctor_group_cores(root)));
    put("/proc/self/cgroup", "0::/no/such/group\n");
    CHECK_NEAR(doctor_group_cores(root), 1, 0);
    put("/proc/self/cgroup", "::::\n:\n/\n0::/\n");
    CHECK_NEAR(doctor_group_cores(root), 1, 0);
}

TEST(doctor_warns_when_the_group_grants_less_than_the_threads)
{
    fresh_root();
    o = (struct opts){.threads = 4};
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "250000 100000\n");
    struct doctor_finding f = look(doctor_cores);
    CHECK_EQ(f.verdict, DOCTOR_WARN);
    has(f.figure, "4 threads on ");
    has(f.figure, "grants 2.5");
    has(f.fix, "--threads 2,");
    o.threads = 1;
    CHECK_EQ(look(doctor_cores).verdict, DOCTOR_OK);
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    has(look(doctor_cores).fix, "--threads 1,");
}

TEST(doctor_says_whether_a_control_group_is_delegated)
{
    fresh_root();
    has(look(doctor_groups).figure, "not delegated; ");
    has(look(doctor_groups).figure, "every 20 ms");
    put("/proc/self/mounts", "tmpfs / tmpfs rw 0 0\nproc /proc proc rw,nosuid 0 0\n");
    CHECK(!strstr(look(doctor_groups).figure, "hidepid"));
    put("/proc/self/mounts", "proc /proc proc rw,nosuid,hidepid=invisible 0 0\n");
    has(look(doctor_groups).figure, "every 20 ms, but for those that hidepid of /proc hides");
    put("/proc/self/mounts", "");
    put("/proc/self/cgroup", "0::/user\n");
    put("/sys/fs/cgroup/user/cgroup.controllers", "memory pids\n");
    put("/sys/fs/cgroup/user/cgroup.procs", "1\n");
    has(look(doctor_groups).figure, "not delegated; ");
    put("/sys/fs/cgroup/user/cgroup.subtree_control", "\n");
    char group[400], mine[40];
    snprintf(group, sizeof group, "%s/sys/fs/cgroup/user", root);
    snprintf(mine, sizeof mine, "%d\n", getpid());
    if (geteuid() == 0 && setxattr(group, "user.delegate", "1", 1, 0)) SKIP("no extended attributes here");
    has(look(doctor_groups).figure, "delegated, but others are in it; the processes of a tool are counted every 20 ms");
    put("/sys/fs/cgroup/user/cgroup.procs", mine);
    has(look(doctor_groups).figure, "delegated: a tool gets one of its own");
    CHECK(!strstr(look(doctor_groups).figure, "counted"));
}

TEST(doctor_names_a_driver_and_what_serves)
{
    fresh_root();
    CHECK_STR(look(doctor_driver).figure, "no GPU driver: the CPU backend serves");
    put("/proc/driver/nvidia/version", "NVRM version: some 1.2.3\nGCC version: x\n");
    CHECK_STR(look(doctor_driver).figure,
              "NVRM version: some 1.2.3; the CPU backend serves: there is no plimsoll-cuda.so beside the program: make builds it "
              "where nvcc is; or use --backend cpu");
}

TEST(doctor_warns_of_little_memory)
{
    fresh_root();
    CHECK_EQ(look(doctor_memory).verdict, DOCTOR_WARN);
    put("/proc/meminfo", "MemTotal:  4194304 kB\nMemAvailable:  2097152 kB\n");
    CHECK_EQ(look(doctor_memory).verdict, DOCTOR_OK);
    CHECK_STR(look(doctor_memory).figure, "2.0 GiB free of 4.0 GiB");
    put("/proc/meminfo", "MemTotal:  4194304 kB\nMemAvailable:  131072 kB\n");
    CHECK_EQ(look(doctor_memory).verdict, DOCTOR_WARN);
}

TEST(doctor_reads_colours_from_the_variables)
{
    static const struct { const char *term, *depth, *no_color, *part; enum doctor_verdict verdict; } rows[] = {
        {NULL, NULL, NULL, "TERM is not set", DOCTOR_WARN},
        {"dumb", "truecolor", NULL, "TERM=dumb", DOCTOR_WARN},
        {"xterm", NULL, NULL, "8 or 16: TERM=xterm", DOCTOR_OK},
        {"xterm-256color", NULL, NULL, "256: ", DOCTOR_OK},
        {"xterm-256color", "24bit", NULL, "16 million: ", DOCTOR_OK},
        {"xterm-256color", "24bit", "1", "none, as NO_COLOR asks", DOCTOR_OK},
        {"xterm", NULL, "", "8 or 16", DOCTOR_OK},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        term = rows[i].term, depth = rows[i].depth, no_color = rows[i].no_color;
        struct doctor_finding f = look(doctor_colours);
        has(f.figure, rows[i].part);
        CHECK_EQ(f.verdict, rows[i].verdict);
    }
}

TEST(doctor_measures_how_fast_memory_is_read)
{
    static const int64_t threads[] = {1, 2, 9};
    root[0] = '\0';
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        char by[40];
        o = (struct opts){.threads = threads[i]};
        const struct doctor d = {.o = &o, .env = fake_env, .root = root};
        struct doctor_finding f = {0};
        doctor_bandwidth(&d, &f);
        snprintf(by, sizeof by, " GB/s by %d thread", (int)threads[i]);
        has(f.figure, by);
        CHECK(strtod(f.figure, NULL) > 0.01 && strtod(f.figure, NULL) < 20000);
    }
}

static void crash(const struct doctor *d, struct doctor_finding *f)
{
    doctor_say(f, DOCTOR_OK, "%d", d->patience);
    raise(SIGKILL);
}

static void hang(const struct doctor *d, struct doctor_finding *f)
{
    doctor_say(f, DOCTOR_OK, "%d", d->patience);
    for (;;) pause();
}

static void answer(const struct doctor *d, struct doctor_finding *f)
{
    doctor_say(f, DOCTOR_WARN, "%d", d->patience);
    doctor_fix(f, "none");
}

TEST(doctor_outlives_a_check_that_crashes_or_hangs)
{
    const struct doctor d = {.o = &o, .env = fake_env, .root = root, .patience = 1};
    struct doctor_finding f;
    doctor_look(answer, &d, &f);
    CHECK(f.verdict == DOCTOR_WARN && strcmp(f.figure, "1") == 0 && strcmp(f.fix, "none") == 0);
    doctor_look(crash, &d, &f);
    CHECK(f.verdict == DOCTOR_FAIL && strcmp(f.figure, "the check itself failed") == 0 && *f.fix);
    doctor_look(hang, &d, &f);
    CHECK(f.verdict == DOCTOR_FAIL && strcmp(f.figure, "no answer in 1 s") == 0 && *f.fix);
    CHECK_EQ(waitpid(-1, NULL, 0), -1); /* no child is left */
}

TEST(doctor_looks_at_the_limits_of_a_process)
{
    struct rlimit files, core, space;
    CHECK(getrlimit(RLIMIT_NOFILE, &files) == 0 && getrlimit(RLIMIT_CORE, &core) == 0);
    CHECK_EQ(getrlimit(RLIMIT_AS, &space), 0);
    struct rlimit few = {64, files.rlim_max}, none = {0, core.rlim_max}, one = {1, core.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct doctor_finding f = look(doctor_files);
    CHECK(f.verdict == DOCTOR_WARN && strcmp(f.figure, "64") == 0);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    CHECK_EQ(setrlimit(RLIMIT_CORE, &none), 0);
    CHECK_EQ(look(doctor_core_file).verdict, DOCTOR_OK);
    CHECK_EQ(look(doctor_address).verdict, space.rlim_cur < (rlim_t)128 << 30 ? DOCTOR_WARN : DOCTOR_OK);
    if (core.rlim_max == 0) SKIP("core files are forbidden here");
    CHECK_EQ(setrlimit(RLIMIT_CORE, &one), 0);
    f = look(doctor_core_file);
    CHECK_EQ(setrlimit(RLIMIT_CORE, &core), 0);
    CHECK_EQ(f.verdict, DOCTOR_WARN);
}

CHECK_MAIN
