/* bench.c - `make bench`: pre-fill, decode, batched decode, ours and the peer's in turn, beside the machine's limits;
 * what known pages save, and what the ledger is worth.
 *
 * See SPEED.md for what the figures mean and for those that were taken.  Nothing here passes or fails by how fast it
 * was. */
#include "tests/bench/bench.h"
#include "tests/bench/hog.h"
#include "tests/bench/limits.h"
#include "tests/bench/section.h"
#include "tests/bench/table.h"
#include "kernels/kernels.h"
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

/* What the figures are of. */
struct setting {
    const struct options *o;
    int argc;
    char **argv;
    const char *about; /* the backend, in words */
    const struct peer *peer;
    char cpu[128], date[32];
};

static void print_command(const struct setting *g, FILE *out)
{
    bool plain = g->argc == 1 || (g->argc == 2 && strcmp(g->argv[1], "--keep") == 0);
    fputs("make bench", out);
    for (int i = 1; !plain && i < g->argc; i++) fprintf(out, "%s%s", i == 1 ? " ARGS=\"" : " ", g->argv[i]);
    fputs(plain ? "\n" : "\"\n", out);
}

/* Which kernel multiplies matrices of which type, a line each: no type is served by a slow one unseen. */
static void print_kernels(const struct options *o, bool markdown, FILE *out)
{
    const struct kern *k = kern_named(o->backend);
    struct kern_config cfg = {.threads = 1, .isa = o->isa};
    struct table table = {.head = {"weights of type", "are multiplied by"}};
    struct err err = {0};
    if (k == kern_cuda() && o->fast) k = kern_cuda_fast();
    struct kdev *d = k ? k->open(&cfg, &err) : NULL;
    if (!d) {
        fprintf(stderr, "bench: %s\n", k ? err.text : "no backend of that name: no table of its kernels");
        return;
    }
    if (table_open(&table, KT_END)) {
        for (int t = 0; t < KT_END; t++) {
            const struct ktype_info *info = ktype_info((uint32_t)t);
            if (!info || !info->usable) continue;
            cells *row = table_row(&table);
            snprintf((*row)[0], CELL, "%s", info->name);
            snprintf((*row)[1], CELL, "%s", k->mat_kernel(d, (enum ktype)t));
        }
        table_close(&table, markdown, out);
    }
    k->close(d);
}

/* What a figure needs beside it to be worth keeping. */
static void print_head(const struct setting *g, bool markdown, FILE *out)
{
    double gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1073741824.0;
    const char *item = markdown ? "* " : "";
    const char *why = g->o->kv_type == KT_F16 ? "" : ", ours only: its driver has F16 pages";
    if (markdown) fprintf(out, "### %s, make bench\n\n", g->date);
    else fprintf(out, "Date: %s\n", g->date);
    if (markdown && g->o->keep) fputs(SECTION_CHART "\n\n", out);
    fprintf(out, "%sMachine: %s, %ld cores, %.0f GiB; %d threads\n", item, g->cpu, sysconf(_SC_NPROCESSORS_ONLN), gib,
            g->o->threads);
    fprintf(out, "%sCommand: ", item);
    print_command(g, out);
    fprintf(out, "%sOurs: %s, %s, %s\n", item, PLIMSOLL_VERSION, PLIMSOLL_COMPILER, PLIMSOLL_CFLAGS);
    fprintf(out, "%sBackend: %s\n", item, g->about ? g->about : "none was opened");
    fprintf(out, "%sKeys and values: %s pages\n", item, ktype_info(g->o->kv_type)->name);
    fprintf(out, "%sPeer: %s%s\n\n", item, g->peer ? "llama.cpp " : "none", g->peer ? g->peer->version : why);
    print_kernels(g->o, markdown, out);
}

static void print_all(const struct setting *g, const struct subject *s, int n, bool markdown, FILE *out)
{
    print_head(g, markdown, out);
    report_print(g->o, s, n, g->peer != NULL, markdown, out);
}

static int keep(const struct setting *g, const struct subject *s, int n, int failed, struct err *err)
{
    char *section = NULL, head[160];
    size_t size = 0;
    FILE *out = open_memstream(&section, &size);
    if (!out) return err_set(err, -1, "no memory for a section");
    print_all(g, s, n, true, out);
    bool whole = fclose(out) == 0;
    snprintf(head, sizeof head, "%.40s, %d threads; ours %.24s, peer %s%.24s; %s", g->cpu, g->o->threads,
             PLIMSOLL_VERSION, g->peer ? "llama.cpp " : "none", g->peer ? g->peer->version : "", g->date);
    int rc = whole ? keep_figures(g->o, s, n, head, section, failed, err) : err_set(err, -1, "no memory for a section");
    free(section);
    return rc;
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
        if (s[i].plan->weigh_seqs && weigh_measure(o, &s[i], &err)) bad += failed(&s[i], &err);
        if (peer && peer_measure(peer, o, &s[i], &err)) bad += failed(&s[i], &err);
        if (load_measure(o, &s[i], peer, &err)) bad += failed(&s[i], &err);
    }
    return bad;
}

int main(int argc, char **argv)
{
    static struct options o;
    static struct subject s[BENCH_LIST * BENCH_LIST];
    struct err err = {0};
    struct peer peer;
    struct buf about = {0};
    if (argc > 1 && strcmp(argv[1], "weigh") == 0) return weigh_main(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "hog") == 0) return hog_main();
    int rc = options_read(&o, argc, argv, &err);
    if (rc > 0) return 0;
    int n = rc < 0 ? -1 : files_ready(&o, s, (int)COUNT_OF(s), &err);
    if (n < 0) {
        fprintf(stderr, "bench: %s\n", err.text);
        return 1;
    }
    struct setting g = {.o = &o, .argc = argc, .argv = argv};
    if (o.kv_type != KT_F16) fputs("bench: the peer's driver has F16 pages only: ours only\n", stderr);
    else if (!o.no_peer && peer_find(&peer, &o, &err)) g.peer = &peer;
    else if (!o.no_peer) fprintf(stderr, "bench: %s: ours only\n", err.text);
    cpu_name(g.cpu, sizeof g.cpu);
    time_t now = time(NULL);
    struct tm tm;
    strftime(g.date, sizeof g.date, "%Y-%m-%d %H:%M", localtime_r(&now, &tm));

    double begin = bench_now();
    int bad = measure(&o, s, n, g.peer ? &peer : NULL, &about);
    g.about = about.data;
    print_all(&g, s, n, o.markdown, stdout);
    fflush(stdout);
    if (o.keep && keep(&g, s, n, bad, &err)) {
        fprintf(stderr, "bench: %s\n", err.text);
        bad++;
    }
    fprintf(stderr, "bench: %.0f s%s\n", bench_now() - begin, bad ? "; some of it failed, see above" : "");
    buf_free(&about);
    return bad ? 1 : 0;
}
