/* bench.c - `make bench`: pre-fill, decode, batched decode, ours and the peer's in turn, beside the machine's limits;
 * what known pages save, and what the ledger is worth.
 *
 * See SPEED.md for what the figures mean and for those that were taken.  Nothing here passes or fails by how fast it
 * was. */
#include "tests/bench/bench.h"
#include "tests/bench/limits.h"
#include "version.h"
#include <time.h>
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

/* What a figure needs beside it to be worth keeping. */
static void print_head(const struct options *o, int argc, char **argv, const struct buf *about,
                       const struct peer *peer, FILE *out)
{
    char cpu[128], date[32];
    time_t now = time(NULL);
    struct tm tm;
    strftime(date, sizeof date, "%Y-%m-%d %H:%M", localtime_r(&now, &tm));
    cpu_name(cpu, sizeof cpu);
    double gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1073741824.0;
    const char *item = o->markdown ? "* " : "";
    if (o->markdown) fprintf(out, "### %s\n\n", date);
    else fprintf(out, "Date: %s\n", date);
    fprintf(out, "%sMachine: %s, %ld cores, %.0f GiB; %d threads\n", item, cpu, sysconf(_SC_NPROCESSORS_ONLN), gib,
            o->threads);
    fprintf(out, "%sCommand: make bench", item);
    for (int i = 1; i < argc; i++) fprintf(out, "%s%s", i == 1 ? " ARGS=\"" : " ", argv[i]);
    fprintf(out, "%s\n%sOurs: %s, %s, %s\n", argc > 1 ? "\"" : "", item, PLIMSOLL_VERSION, PLIMSOLL_COMPILER,
            PLIMSOLL_CFLAGS);
    fprintf(out, "%sBackend: %s\n", item, about->data ? about->data : "none was opened");
    fprintf(out, "%sPeer: %s%s\n\n", item, peer ? "llama.cpp " : "none", peer ? peer->version : "");
}

static int failed(const struct subject *s, const struct err *err)
{
    fprintf(stderr, "bench: %s %s: %s\n", s->name, s->type, err->text);
    return 1;
}

/* All files, ours then the peer's; the number of measurements that failed. */
static int measure(const struct options *o, struct subject *s, int n, struct peer *peer, struct buf *about)
{
    int bad = 0;
    for (int i = 0; i < n; i++) {
        struct err err = {0};
        if (ours_measure(o, &s[i], about, &err)) bad += failed(&s[i], &err);
        if (o->weigh_seqs && weigh_measure(o, &s[i], &err)) bad += failed(&s[i], &err);
        if (peer && o->tests && peer_measure(peer, o, &s[i], &err)) bad += failed(&s[i], &err);
    }
    return bad;
}

int main(int argc, char **argv)
{
    static struct options o;
    static struct subject s[BENCH_LIST * BENCH_LIST];
    struct err err = {0};
    struct peer found, *peer = NULL;
    struct buf about = {0};
    if (argc > 1 && strcmp(argv[1], "weigh") == 0) return weigh_main(argc - 1, argv + 1);
    int rc = options_read(&o, argc, argv, &err);
    if (rc > 0) return 0;
    int n = rc < 0 ? -1 : files_ready(&o, s, (int)COUNT_OF(s), &err);
    if (n < 0) {
        fprintf(stderr, "bench: %s\n", err.text);
        return 1;
    }
    if (!o.no_peer && peer_find(&found, &o, &err)) peer = &found;
    else if (!o.no_peer) fprintf(stderr, "bench: %s: ours only\n", err.text);

    double begin = bench_now();
    int bad = measure(&o, s, n, peer, &about);
    print_head(&o, argc, argv, &about, peer, stdout);
    report_print(&o, s, n, peer != NULL, stdout);
    fprintf(stderr, "bench: %.0f s%s\n", bench_now() - begin, bad ? "; some of it failed, see above" : "");
    buf_free(&about);
    return bad ? 1 : 0;
}
