#include "engine/hostmem.h"
#include "tests/check.h"
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

CHECK_MAIN
