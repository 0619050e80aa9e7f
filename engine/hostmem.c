/* hostmem.c - /proc/meminfo and the control groups' limits. */
#include "engine/hostmem.h"
#include <inttypes.h>

/* The number after `key` at the start of a line of a file; false: no file or no such line ("max" is no number). */
static bool read_number(const char *path, const char *key, uint64_t *out)
{
    FILE *in = fopen(path, "r");
    if (!in) return false;
    char line[256];
    bool found = false;
    while (!found && fgets(line, sizeof line, in))
        found = strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%" SCNu64, out) == 1;
    fclose(in);
    return found;
}

static uint64_t group_room(const char *dir, const char *max, const char *current, const char *inactive)
{
    char path[768];
    uint64_t limit, used, cache = 0;
    snprintf(path, sizeof path, "%s/%s", dir, max);
    if (!read_number(path, "", &limit)) return UINT64_MAX;
    snprintf(path, sizeof path, "%s/%s", dir, current);
    if (!read_number(path, "", &used)) return UINT64_MAX;
    snprintf(path, sizeof path, "%s/memory.stat", dir);
    read_number(path, inactive, &cache);
    used -= MIN(cache, used);
    return limit > used ? limit - used : 0;
}

/* A limit counts wherever it stands between our group and the root. */
static uint64_t groups_room(const char *mount, char *group, const char *max, const char *current, const char *inactive)
{
    uint64_t room = UINT64_MAX;
    for (;;) {
        char dir[700];
        snprintf(dir, sizeof dir, "%s%s", mount, group);
        uint64_t here = group_room(dir, max, current, inactive);
        room = MIN(room, here);
        char *slash = strrchr(group, '/');
        if (!slash) return room;
        *slash = '\0';
    }
}

uint64_t hostmem_available_in(const char *root)
{
    char path[256], line[600], mount[300];
    uint64_t kib, room = UINT64_MAX;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (read_number(path, "MemAvailable:", &kib)) room = kib * 1024;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in)) { /* "0::/a/b" in version 2, "5:memory:/a/b" in version 1 */
        line[strcspn(line, "\n")] = '\0';
        char *group = strstr(line, ":/"), *v1 = strstr(line, ":memory:");
        if (!group) continue;
        uint64_t here = UINT64_MAX;
        if (strncmp(line, "0::", 3) == 0) {
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
            here = groups_room(mount, group + 1, "memory.max", "memory.current", "inactive_file");
        } else if (v1) {
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/memory", root);
            here =
                groups_room(mount, group + 1, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
        }
        room = MIN(room, here);
    }
    if (in) fclose(in);
    return room;
}

uint64_t hostmem_available(void) { return hostmem_available_in(""); }
