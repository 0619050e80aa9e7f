#include "engine/hostmem.h"
#include "tests/check.h"
#include <sys/mman.h>
#include <sys/stat.h>

static char root[512];

static void put(const char *path, const char *text)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *c = full + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            mkdir(full, 0700);
            *c = '/';
        }
    FILE *out = fopen(full, "w");
    CHECK(out);
    fputs(text, out);
    fclose(out);
}

static void fresh_root(void) { snprintf(root, sizeof root, "%s", check_tmpdir()); }

TEST(hostmem_reads_what_the_kernel_calls_available)
{
    fresh_root();
    put("proc/meminfo", "MemTotal: 4000 kB\nMemFree: 10 kB\nMemAvailable:    3000 kB\n");
    CHECK_EQ(hostmem_available_in(root), 3000 * 1024);
}

TEST(hostmem_takes_the_smallest_limit_of_all_groups_above_us)
{
    fresh_root();
    put("proc/meminfo", "MemAvailable: 3000 kB\n");
    put("proc/self/cgroup", "0::/user/job\n");
    put("sys/fs/cgroup/user/memory.max", "1000000\n");
    put("sys/fs/cgroup/user/memory.current", "700000\n");
    put("sys/fs/cgroup/user/memory.stat", "anon 1\ninactive_file 100000\n");
    put("sys/fs/cgroup/user/job/memory.max", "max\n");
    put("sys/fs/cgroup/user/job/memory.current", "500000\n");
    CHECK_EQ(hostmem_available_in(root), 1000000 - 600000);
    put("sys/fs/cgroup/user/job/memory.max", "400000\n"); /* already past it: nothing is left */
    CHECK_EQ(hostmem_available_in(root), 0);
}

TEST(hostmem_knows_version_1_groups)
{
    fresh_root();
    put("proc/meminfo", "MemAvailable: 3000 kB\n");
    put("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/box\n");
    put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "50000\n");
    put("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "20000\n");
    put("sys/fs/cgroup/memory/box/memory.stat", "total_inactive_file 5000\n");
    CHECK_EQ(hostmem_available_in(root), 35000);
}

TEST(hostmem_says_unlimited_where_nothing_is_known)
{
    fresh_root();
    CHECK(hostmem_available_in(root) == UINT64_MAX);
    CHECK(hostmem_available() > 0);
}

TEST(hostmem_total_is_the_machine_or_the_smallest_limit)
{
    fresh_root();
    CHECK_EQ(hostmem_total_in(root), 0);
    put("proc/meminfo", "MemTotal:  4000 kB\nMemAvailable: 3000 kB\n");
    CHECK_EQ(hostmem_total_in(root), 4000 * 1024);
    put("proc/self/cgroup", "0::/job\n");
    put("sys/fs/cgroup/job/memory.max", "1000000\n");
    put("sys/fs/cgroup/job/memory.current", "700000\n");
    CHECK_EQ(hostmem_total_in(root), 1000000);
    CHECK(hostmem_total() >= hostmem_available());
}

static struct hostmem_process process_in(const char *status)
{
    struct hostmem_process p = {1, 2, 3};
    if (status) put("proc/self/status", status);
    hostmem_process_in(root, &p);
    return p;
}

TEST(hostmem_tells_the_process_from_the_files_it_maps)
{
    fresh_root();
    struct hostmem_process p = process_in(
        "Name:\tVmRSS: 9 kB\nVmPeak:\t  9000 kB\nVmHWM:\t  500 kB\nVmRSS:\t  400 kB\nRssAnon:\t  300 kB\n"
        "RssFile:\t  100 kB\n");
    CHECK_EQ(p.resident, 400 * 1024);
    CHECK_EQ(p.anonymous, 300 * 1024);
    CHECK_EQ(p.peak, 500 * 1024);
    p = process_in("VmHWM: 300 kB\nVmRSS: 400 kB\nRssAnon: 500 kB\n"); /* counted at different moments */
    CHECK(p.resident == 400 * 1024 && p.anonymous == p.resident && p.peak == p.resident);
}

TEST(hostmem_says_nothing_of_a_process_that_nobody_tells_of)
{
    static const char *const status[] = {NULL, "", "VmRSS: 400 kB\nVmHWM: 400 kB\n", "RssAnon: 1 kB\nVmHWM: 1 kB\n",
                                         "VmRSS: 4 kB\nVmHWM: 18446744073709551615 kB\nRssAnon: 1 kB\n"};
    fresh_root();
    for (size_t i = 0; i < COUNT_OF(status); i++) {
        struct hostmem_process p = process_in(status[i]);
        CHECK(p.resident == 0 && p.anonymous == 0 && p.peak == 0);
    }
}

TEST(hostmem_sees_what_this_process_touches)
{
    enum { BYTES = 16 << 20 };
    struct hostmem_process before, after;
    hostmem_process(&before);
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    memset(memory, 1, BYTES);
    hostmem_process(&after);
    munmap(memory, BYTES);
    CHECK(before.anonymous > 0 && after.resident > after.anonymous && after.peak >= after.resident);
    CHECK(after.anonymous >= before.anonymous + BYTES * 3 / 4); /* the system counts in lots of pages */
}

CHECK_MAIN
