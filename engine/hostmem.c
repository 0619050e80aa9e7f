/* hostmem.c - /proc/meminfo, the control groups' limits, /proc/self/status. */
#include "engine/hostmem.h"
#include <malloc.h>
#include <math.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

enum { MOST = 8 << 10 }; /* bytes of a file that are read; what is wanted stands well before that */

/* Without stdio, which allocates: where that failed, a machine without memory would seem to have no limit. */
static bool read_text(const char *path, char text[MOST])
{
    size_t len = 0;
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    while (len < MOST - 1 && (got = read(fd, text + len, MOST - 1 - len)) > 0) len += (size_t)got;
    close(fd);
    text[len] = '\0';
    return got >= 0;
}

/* The number after `key` at the start of a line; false: there is no such line ("max" is no number). */
static bool number_of(const char *text, const char *key, uint64_t *out)
{
    bool found = false;
    for (const char *line = text; !found && line; line = strchr(line, '\n')) {
        line += *line == '\n';
        found = strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%" SCNu64, out) == 1;
    }
    return found;
}

static bool read_number(const char *path, const char *key, uint64_t *out)
{
    char text[MOST];
    return read_text(path, text) && number_of(text, key, out);
}

/* What a group's limit leaves, or with `whole` the limit itself. */
struct ask { bool whole; const char *max, *current, *inactive; };

static uint64_t group_room(const char *dir, const struct ask *ask)
{
    char path[768];
    uint64_t limit, used, cache = 0;
    snprintf(path, sizeof path, "%s/%s", dir, ask->max);
    if (!read_number(path, "", &limit)) return UINT64_MAX;
    if (ask->whole) return limit;
    snprintf(path, sizeof path, "%s/%s", dir, ask->current);
    if (!read_number(path, "", &used)) return UINT64_MAX;
    snprintf(path, sizeof path, "%s/memory.stat", dir);
    read_number(path, ask->inactive, &cache);
    used -= MIN(cache, used);
    return limit > used ? limit - used : 0;
}

/* A limit counts wherever it stands between our group and the root. */
static uint64_t groups_room(const char *mount, char *group, const struct ask *ask)
{
    uint64_t room = UINT64_MAX;
    for (;;) {
        char dir[700];
        snprintf(dir, sizeof dir, "%s%s", mount, group);
        uint64_t here = group_room(dir, ask);
        room = MIN(room, here);
        char *slash = strrchr(group, '/');
        if (!slash) return room;
        *slash = '\0';
    }
}

static uint64_t room_in(const char *root, const char *key, bool whole)
{
    const struct ask two = {whole, "memory.max", "memory.current", "inactive_file"},
                     one = {whole, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
    char path[256], text[MOST], mount[300];
    uint64_t kib, room = UINT64_MAX;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (read_number(path, key, &kib)) room = kib * 1024;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    char *rest = text;
    if (!read_text(path, text)) return room;
    for (char *line; (line = strsep(&rest, "\n"));) { /* "0::/a/b" in version 2, "5:memory:/a/b" in version 1 */
        char *group = strstr(line, ":/");
        uint64_t here = UINT64_MAX;
        if (!group) continue;
        if (strncmp(line, "0::", 3) == 0) {
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
            here = groups_room(mount, group + 1, &two);
        } else if (strstr(line, ":memory:")) {
            snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/memory", root);
            here = groups_room(mount, group + 1, &one);
        }
        room = MIN(room, here);
    }
    return room;
}

uint64_t hostmem_available_in(const char *root) { return room_in(root, "MemAvailable:", false); }
uint64_t hostmem_available(void) { return hostmem_available_in(""); }

uint64_t hostmem_total_in(const char *root)
{
    uint64_t room = room_in(root, "MemTotal:", true);
    return room == UINT64_MAX ? 0 : room;
}

uint64_t hostmem_total(void) { return hostmem_total_in(""); }

void hostmem_process_in(const char *root, struct hostmem_process *out)
{
    char path[256], text[MOST];
    uint64_t resident, anonymous, peak;
    *out = (struct hostmem_process){0};
    snprintf(path, sizeof path, "%s/proc/self/status", root);
    if (!read_text(path, text) || !number_of(text, "VmRSS:", &resident) || !number_of(text, "RssAnon:", &anonymous) ||
        !number_of(text, "VmHWM:", &peak) || MAX(resident, peak) > INT64_MAX / 1024)
        return;
    out->resident = resident * 1024;
    out->anonymous = MIN(anonymous, resident) * 1024;
    out->peak = MAX(peak, resident) * 1024;
}

void hostmem_process(struct hostmem_process *out) { hostmem_process_in("", out); }

double hostmem_tenths(uint64_t bytes) { return round(10 * ((double)bytes / 0x1p20)) / 10; }

void hostmem_return_large(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
    mallopt(M_ARENA_MAX, 1);
#endif
}
