/* device.c - the machine and its CUDA device 0 in lines for a result file.  Exit: 0, or 3: there is none, why is on
 * stderr. */
#include "kernels/kernels.h"
#include "tests/cuda_on_cpu/shim.h"
#include <sys/utsname.h>
#include <unistd.h>

static void cpu_name(char *out, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(out, size, "unknown CPU");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (f) fclose(f);
}

int main(void)
{
    struct err err = {0};
    struct utsname u;
    char cpu[128];
    uint64_t free_bytes = 0, all = 0;
    const struct kern *k = kern_cuda();
    struct kdev *d = k->open(NULL, &err);
    if (!d || k->memory(d, &free_bytes, &all, &err)) {
        fprintf(stderr, "%s\n", err.text);
        if (d) k->close(d);
        return 3;
    }
    cpu_name(cpu, sizeof cpu);
    uname(&u);
    printf("machine: %s %s %s, %s, %ld cores\n", u.sysname, u.release, u.machine, cpu, sysconf(_SC_NPROCESSORS_ONLN));
    printf("device: %s%s\n", k->describe(d), shim_made_up() ? " (made up: no device)" : "");
    printf("memory: %.1f of %.1f GiB free\n", (double)free_bytes / (1 << 30), (double)all / (1 << 30));
    k->close(d);
    return 0;
}
