/* cpu.c - the CPU backend: its table, opening and closing, memory, weights. */
#include "kernels/cpu/cpu.h"
#include <errno.h>
#include <sys/mman.h>

enum { HUGE = 2 << 20 };

/* ----------------------------------------------------------------------- memory */

/* Pages of the system: aligned, zeroed when first touched, and given back whole.  From one huge page on, the slab
 * begins at a huge page's boundary, so that the system may use huge pages for all of it: weights are read from end
 * to end, and small pages cost a walk of the page table every 4 KiB. */
static size_t mapped_bytes(size_t bytes)
{
    if (bytes > SIZE_MAX / 2) return SIZE_MAX;
    return bytes >= HUGE ? (size_t)size_align(bytes, HUGE) : (size_t)size_align(MAX(bytes, 1), 4096);
}

static void *map_pages(size_t bytes)
{
    if (bytes > SIZE_MAX / 2) {
        errno = ENOMEM;
        return NULL;
    }
    size_t size = mapped_bytes(bytes), spare = size >= HUGE ? HUGE : 0;
    uint8_t *p = mmap(NULL, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (!spare) return p;
    uint8_t *slab = (uint8_t *)(uintptr_t)size_align((uintptr_t)p, HUGE);
    if (slab > p) munmap(p, (size_t)(slab - p));
    if (p + spare > slab) munmap(slab + size, (size_t)(p + spare - slab));
    madvise(slab, size, MADV_HUGEPAGE); /* a system without them works too */
    return slab;
}

static void *cpu_take(struct kdev *d, size_t bytes, struct err *err)
{
    (void)d;
    void *slab = map_pages(bytes);
    if (!slab)
        err_set(err, -1, "cannot take %zu bytes (%.1f MiB) of memory: %s; use a smaller model, context or budget",
                bytes, (double)bytes / (1 << 20), strerror(errno));
    return slab;
}

static void cpu_give(struct kdev *d, void *slab, size_t bytes)
{
    (void)d;
    if (slab) munmap(slab, mapped_bytes(bytes));
}

/* Steps are done when they return, so copies need not wait. */
static int cpu_upload(struct kdev *d, struct kstream *st, void *dst, const void *src, size_t bytes, struct err *err)
{
    (void)d, (void)st, (void)err;
    if (bytes) memcpy(dst, src, bytes);
    return 0;
}

static int cpu_fetch(struct kdev *d, struct kstream *st, void *dst, const void *src, size_t bytes, struct err *err)
{
    return cpu_upload(d, st, dst, src, bytes, err);
}

/* --------------------------------------------------------------- opening, closing */

enum { NUMERICS = 3 }; /* raised when a kernel of some set gives other bits, or a page other bytes on the host */

/* By the functions that there are, not by what ought to be: a type without those for a whole tile of tokens says it. */
static void name_kernels(struct kdev *d)
{
    const struct cpu_isa *isa = d->isa;
    for (int type = 0; type < KT_END; type++) {
        int tokens = 0;
        while (tokens < ISA_TILE && isa->mul[type][tokens + 1]) tokens++;
        if (tokens == 0) continue;
        snprintf(d->kernel[type], sizeof d->kernel[type], "%s (%d rows x %d tokens)",
                 cpu_is_int((enum ktype)type) ? isa->int_name : isa->float_name, ISA_GROUP, tokens);
    }
}

static void cpu_close(struct kdev *d)
{
    if (!d) return;
    crew_close(d->crew);
    cpu_give(d, d->scratch, d->scratch_bytes);
    free(d->turns);
    free(d);
}

static struct kdev *cpu_open(const struct kern_config *cfg, struct err *err)
{
    static const struct kern_config plain = {.pin = true};
    if (!cfg) cfg = &plain;
    const struct cpu_isa *isa = isa_choose(cfg->isa, err);
    if (!isa) return NULL;

    struct kdev *d = calloc(1, sizeof *d);
    if (d) d->turns = calloc(1, sizeof *d->turns);
    if (!d || !d->turns) {
        free(d);
        err_set(err, -1, "out of memory at opening the CPU backend");
        return NULL;
    }
    d->isa = isa;
    d->fetch = isa_fetches();
    d->reads_ahead = isa_reads_ahead();
    d->opens = isa->opens || isa_opens();
    d->lean = isa_lean();
    name_kernels(d);
    d->crew = crew_open(cfg->threads, cfg->pin, err);
    if (d->crew) {
        d->scratch_bytes = (size_t)crew_threads(d->crew) * sizeof *d->scratch;
        d->scratch = cpu_take(d, d->scratch_bytes, err);
    }
    if (!d->crew || !d->scratch) {
        cpu_close(d);
        return NULL;
    }
    int at = snprintf(d->said, sizeof d->said, "%s, ", isa->said);
    crew_describe(d->crew, d->said + at, sizeof d->said - (size_t)at);
    snprintf(d->numerics, sizeof d->numerics, "cpu %d %s", NUMERICS, isa->name);
    return d;
}

static const char *cpu_describe(const struct kdev *d)
{
    return d->said;
}

static const char *cpu_numerics(const struct kdev *d)
{
    return d->numerics;
}

static const uint8_t *cpu_row_costs(const struct kdev *d) { return d->isa->row_costs; }

static const char *cpu_mat_kernel(const struct kdev *d, enum ktype type)
{
    return type >= 0 && type < KT_END && d->kernel[type][0] ? d->kernel[type] : "none";
}

/* ------------------------------------------------------------------------- sizes */

/* SIZE_MAX where sizes overflow: nobody can take that. */
static size_t cpu_work_bytes(const struct kern_dims *n)
{
    const int rows = MAX(n->max_rows, n->max_outs), samplers = MIN(n->max_outs, CPU_SAMPLERS);
    const uint64_t inner = (uint64_t)n->values * (uint64_t)n->state_dim;
    const uint64_t wide = MAX((uint64_t)n->heads * (uint64_t)n->head_dim, inner);
    const uint64_t kv_wide = (uint64_t)n->kv_heads * (uint64_t)n->head_dim;
    uint64_t cols = MAX(MAX((uint64_t)n->embd, (uint64_t)n->ff), wide), input, kv, mid, sample, attn, mix, delta;

    if (cols > INT32_MAX || kv_wide > INT32_MAX) return SIZE_MAX;
    if (cpu_input_bytes(rows, n->embd, (int)cols, &input)) return SIZE_MAX;
    if (size_mul((uint64_t)rows * kv_wide, 2 * sizeof(float), &kv) || size_add(kv, 2 * 64, &kv)) return SIZE_MAX;
    if (size_mul((uint64_t)rows * (uint64_t)n->ff, sizeof(float), &mid) || size_add(mid, 64, &mid)) return SIZE_MAX;
    if (size_mul((uint64_t)samplers, kern_choose_bytes(n->vocab), &sample)) return SIZE_MAX;
    if (cpu_mix_bytes(n, &mix) || cpu_delta_bytes(n, &delta)) return SIZE_MAX;
    if (cpu_attn_bytes(n, &attn) || size_add(input, MAX(kv, mid), &input)) return SIZE_MAX;
    uint64_t most = MAX(MAX(MAX(input, sample), attn), MAX(mix, delta));
    return most > SIZE_MAX - 64 ? SIZE_MAX : (size_t)size_align(most, 64);
}

/* ----------------------------------------------------------------------- weights */

static void cpu_share(struct kdev *d, int n, void (*work)(void *job, int first, int end, int who), void *job)
{
    crew_run(d->crew, n, work, job);
}

static int cpu_mat_load(struct kdev *d, const struct kmat *m, int row0, int n, const void *src, struct err *err)
{
    (void)d, (void)err;
    const size_t group = pack_group_bytes(m->type, m->cols), row = group / ISA_GROUP;
    uint8_t *to = (uint8_t *)m->dev_data + (size_t)(row0 / ISA_GROUP) * group;
    assert(group && m->dev_data && row0 >= 0 && row0 % ISA_GROUP == 0 && n >= 0 && n <= m->rows - row0);
    assert(n % ISA_GROUP == 0 || row0 + n == m->rows);
    for (int r = 0; r < n; r += ISA_GROUP, to += group)
        pack_group(m->type, MIN(ISA_GROUP, n - r), m->cols, (const uint8_t *)src + (size_t)r * row, row, to);
    return 0;
}

/* ------------------------------------------------------------------------- table */

const struct kern *kern_cpu(void)
{
    static const struct kern cpu = {
        .name = "cpu",
        .open = cpu_open,
        .close = cpu_close,
        .describe = cpu_describe,
        .numerics = cpu_numerics,
        .mat_kernel = cpu_mat_kernel,
        .row_costs = cpu_row_costs,
        .take = cpu_take,
        .give = cpu_give,
        .lazy = true,
        .upload = cpu_upload,
        .fetch = cpu_fetch,
        .slab_bytes = mapped_bytes,
        .mat_bytes = pack_bytes,
        .kv_page_bytes = cpu_kv_page_bytes,
        .page_run = ISA_RUN,
        .page_fetch = cpu_page_fetch,
        .page_upload = cpu_page_upload,
        .work_bytes = cpu_work_bytes,
        .share = cpu_share,
        .mat_load = cpu_mat_load,
        .embed = cpu_embed,
        .attn_in = cpu_attn_in,
        .attn = cpu_attn,
        .delta = cpu_delta,
        .conv = cpu_conv,
        .gate = cpu_let,
        .project = cpu_project,
        .ffn = cpu_ffn,
        .output = cpu_output,
        .sample = cpu_sample,
    };
    return &cpu;
}
