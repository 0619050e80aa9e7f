/* doctor_machine.c - `plimsoll doctor`: backend, instruction sets, driver, memory, models. */
#include "app/app.h"
#include "app/bandwidth.h"
#include "app/doctor.h"
#include "app/embedded.h"
#include "app/models.h"
#include "app/nvml.h"
#include "app/progress.h"
#include "app/store_cmd.h"
#include "kernels/cuda/cuda.h"
#include "engine/gguf.h"
#include "engine/hostmem.h"
#include "engine/local.h"
#include "memory/forms.h"
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

/* As an engine would: where auto chose a device that cannot serve, the CPU does, and err says why. */
static struct kdev *open_backend(const struct doctor *d, const struct kern **k, struct err *err)
{
    const struct kern_config cfg = {.device = (int)d->o->device, .threads = (int)d->o->threads, .isa = d->o->isa,
                                    .pin = !d->o->no_pin};
    *k = kern_named(d->o->backend);
    if (d->o->fast && *k == kern_cuda()) *k = kern_cuda_fast();
    struct kdev *dev = (*k)->open(&cfg, err);
    if (dev || !(*k)->memory || strcmp(d->o->backend, "auto") != 0) return dev;
    *k = kern_cpu();
    return (*k)->open(&cfg, NULL);
}

void doctor_backend(const struct doctor *d, struct doctor_finding *f)
{
    const struct kern *k;
    struct err err = {0};
    struct kdev *dev = open_backend(d, &k, &err);
    if (!dev) {
        doctor_say(f, DOCTOR_FAIL, "%s does not start", k->name);
        doctor_fix(f, "%s", err.text);
        return;
    }
    const char *said = k->describe(dev);
    doctor_say(f, DOCTOR_OK, "%s: %s", k->name, said);
    if (err.code && err.code != CUDA_NOTHING_THERE) {
        f->verdict = DOCTOR_WARN;
        doctor_fix(f, "the GPU cannot serve: %s", err.text);
    }
    if (k == kern_ref()) {
        f->verdict = DOCTOR_WARN;
        doctor_fix(f, "ref is slow, it is there to judge the others: --backend cpu");
    } else if (strncmp(said, "portable", 8) == 0) {
        f->verdict = DOCTOR_WARN;
        doctor_fix(f, "the portable kernels are slow: --isa auto, on a processor with AVX2 or AVX-512");
    }
    k->close(dev);
}

/* "F32 F16 BF16 by avx512 fp32 fma (32 rows x 8 tokens); Q4_0 ... by ...": every type that a model may have. */
void doctor_kernels(const struct doctor *d, struct doctor_finding *f)
{
    const struct kern *k;
    const char *of[KT_END] = {NULL};
    struct kdev *dev = open_backend(d, &k, NULL);
    for (uint32_t t = 0; dev && t < KT_END; t++)
        if (ktype_info(t) && ktype_info(t)->usable) of[t] = k->mat_kernel(dev, (enum ktype)t);
    doctor_say(f, dev ? DOCTOR_OK : DOCTOR_WARN, "%s", dev ? "" : "none: the backend does not start");
    if (!dev) doctor_fix(f, "see the line above");
    for (uint32_t first = 0; first < KT_END; first++) {
        size_t n = strlen(f->figure);
        if (!of[first]) continue;
        const char *by = of[first], *before = n ? "; " : "";
        for (uint32_t t = first; t < KT_END && n < sizeof f->figure; t++) {
            if (!of[t] || strcmp(of[t], by) != 0) continue;
            n += (size_t)snprintf(f->figure + n, sizeof f->figure - n, "%s%s", before, ktype_info(t)->name);
            before = " ";
            of[t] = NULL;
        }
        n = strlen(f->figure);
        snprintf(f->figure + n, sizeof f->figure - n, " by %s", by);
    }
    if (dev) k->close(dev);
}

/* As the CPU backend finds them by CPUID. */
void doctor_instructions(const struct doctor *d, struct doctor_finding *f)
{
    static const char *const sets[] = {"avx512", "avxvnni", "avx2", "portable"};
    (void)d;
    doctor_say(f, DOCTOR_OK, "%s", "");
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        const struct kern_config cfg = {.threads = 1, .isa = sets[i]};
        struct kdev *dev = kern_cpu()->open(&cfg, NULL);
        size_t n = strlen(f->figure);
        if (!dev) continue;
        snprintf(f->figure + n, sizeof f->figure - n, "%s%s", n ? ", " : "", sets[i]);
        kern_cpu()->close(dev);
    }
}

/* What the driver's library says of this machine's; a test's folder has none. */
static void add_figures(const struct doctor *d, struct doctor_finding *f)
{
    struct nvml_figures g;
    size_t n = strlen(f->figure);
    if (*d->root) return;
    nvml_read(&g);
    if (g.load >= 0 && g.celsius >= 0 && g.watts >= 0)
        snprintf(f->figure + n, sizeof f->figure - n, "; now %d %% busy, %d degrees, %d W", g.load, g.celsius, g.watts);
}

/* What serves, where a GPU is: its kernels are used when they are asked for, until a device has shown them right. */
void doctor_driver(const struct doctor *d, struct doctor_finding *f)
{
    char path[300], line[120] = "";
    struct err err = {0};
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/version", d->root);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (fd >= 0) close(fd);
    if (*line && cuda_shown(CUDA_KERNELS) && cuda_face(&err)) doctor_say(f, DOCTOR_OK, "%s", line);
    else if (*line && cuda_face(&err))
        doctor_say(f, DOCTOR_OK, "%s; --backend cuda uses it, though no device has shown its kernels right yet%s", line,
                   strcmp(d->o->backend, "cuda") == 0 ? "" : ": the CPU serves");
    else if (*line) doctor_say(f, DOCTOR_OK, "%s; the CPU backend serves: %s", line, err.text);
    else doctor_say(f, DOCTOR_OK, "no GPU driver: the CPU backend serves");
    if (*line && !cuda_shown(CUDA_BLAS) && cuda_face(NULL)) {
        size_t at = strlen(f->figure);
        snprintf(f->figure + at, sizeof f->figure - at, "; --fast is exact: no device has shown cuBLASLt right");
    }
    if (*line) add_figures(d, f);
}

void doctor_bandwidth(const struct doctor *d, struct doctor_finding *f)
{
    static const double slow = 4e9;
    cpu_set_t set;
    struct err err = {0};
    int threads = (int)MIN(d->o->threads, BANDWIDTH_THREADS);
    if (threads == 0 && sched_getaffinity(0, sizeof set, &set) == 0) threads = MIN(CPU_COUNT(&set), BANDWIDTH_THREADS);
    threads = MAX(threads, 1);
    double rate = bandwidth_read(threads, &err);
    if (rate <= 0) {
        doctor_say(f, DOCTOR_WARN, "not measured");
        doctor_fix(f, "%s: end other programs and try again", err.text);
        return;
    }
    doctor_say(f, rate < slow ? DOCTOR_WARN : DOCTOR_OK, "%.1f GB/s by %d thread%s: at most %.3g tokens/s for a GiB "
               "of weights", rate * 1e-9, threads, threads == 1 ? "" : "s", rate / 0x1p30);
    if (rate < slow)
        doctor_fix(f, "this is slow: look for other programs that are busy, and for a limit on this machine's cores");
}

void doctor_memory(const struct doctor *d, struct doctor_finding *f)
{
    static const uint64_t little = (uint64_t)256 << 20;
    uint64_t room = hostmem_available_in(d->root), all = hostmem_total_in(d->root);
    if (room == UINT64_MAX || !all) {
        doctor_say(f, DOCTOR_WARN, "the system does not say");
        doctor_fix(f, "name a ceiling: --vram SIZE");
        return;
    }
    doctor_say(f, room < little ? DOCTOR_WARN : DOCTOR_OK, "%s free of %s", store_cmd_size(room).text,
               store_cmd_size(all).text);
    if (room < little) doctor_fix(f, "end other programs, or raise the control group's limit");
}

/* By their names alone: `plimsoll models` looks into them. */
static int count_models(const struct doctor *d)
{
    const struct models_ask ask = {.env = d->env, .end = progress_clock() + DOCTOR_PATIENCE / 5.0};
    struct models *m = calloc(1, sizeof *m);
    if (m) models_find(&ask, m);
    int n = m ? m->n : 0;
    free(m);
    return n;
}

void doctor_model(const struct doctor *d, struct doctor_finding *f)
{
    struct err err = {0};
    if (!d->o->model) {
        int n = count_models(d);
        doctor_say(f, DOCTOR_OK, "none named: the embedded one serves");
        if (n > 0) doctor_say(f, DOCTOR_OK, "none named: the embedded one serves; %d file%s found (plimsoll models)", n,
                              n == 1 ? " was" : "s were");
        return;
    }
    struct gguf *g = gguf_open(d->o->model, &err);
    if (g) {
        doctor_say(f, DOCTOR_OK, "%.200s: %s, %llu tensors", d->o->model, store_cmd_size(gguf_file_bytes(g)).text,
                   (unsigned long long)gguf_n_tensors(g));
    } else {
        doctor_say(f, DOCTOR_FAIL, "%.200s cannot be used", d->o->model);
        doctor_fix(f, "%s", err.text);
    }
    gguf_close(g);
}

void doctor_embedded(const struct doctor *d, struct doctor_finding *f)
{
    struct err err = {0};
    struct gguf_str learned = {"", 0};
    struct gguf *g = NULL;
    char forms[17];
    int fd;
    (void)d;
    const char *path = embedded_open(&fd, &err);
    if (path) g = gguf_open(path, &err);
    forms_hash(forms);
    if (g && gguf_string(g, "plimsoll.forms", &learned, &err) == GGUF_OK && strcmp(learned.data, forms) == 0) {
        doctor_say(f, DOCTOR_OK, "%s; it learned the forms of this program, %s",
                   store_cmd_size(gguf_file_bytes(g)).text, forms);
    } else if (g) {
        doctor_say(f, DOCTOR_FAIL, "it learned the forms %.40s, this program has %s", learned.data, forms);
        doctor_fix(f, "build the program again (make clean; make build); what is under assets/ is not of one piece");
    } else {
        doctor_say(f, DOCTOR_FAIL, "it cannot be opened");
        doctor_fix(f, "%s", err.text);
    }
    gguf_close(g);
    if (path) close(fd);
}

/* What a session would take, as local_plan() tells it. */
struct would {
    struct ledger ledger;
    int ctx, seqs;
};

static int keep_plan(void *self, const struct engine_info *info, const struct fit *fit, uint64_t have, struct err *err)
{
    (void)fit, (void)have, (void)err;
    *(struct would *)self = (struct would){.ledger = info->ledger, .ctx = info->ctx, .seqs = info->max_seqs};
    return 0;
}

/* By what open() runs, up to where it would take the first byte.  0, or why it would not come so far. */
static int plan_session(const struct opts *o, const char *model, struct would *w, struct err *err)
{
    struct engine_config cfg;
    struct crew crew = {0};
    int bad = o->crew ? crew_load(o->crew, &crew, err) : 0;
    if (!bad) bad = app_engine_config(o, &cfg, err);
    if (!bad) {
        cfg.model = model;
        app_engine_sizes(o, &crew, &cfg);
        bad = local_plan(&cfg, 0, 0, keep_plan, w, err);
    }
    crew_free(&crew);
    return bad;
}

void doctor_session(const struct doctor *d, struct doctor_finding *f)
{
    struct would w = {0};
    struct err err = {0};
    int fd = -1;
    if (strcmp(d->o->engine, "local") != 0) {
        doctor_say(f, DOCTOR_OK, "its answers come from a file: it takes no memory for weights and pages");
        return;
    }
    const char *model = d->o->model ? d->o->model : embedded_open(&fd, &err);
    if (!model || plan_session(d->o, model, &w, &err)) {
        doctor_say(f, DOCTOR_FAIL, "one with these flags would not begin");
        doctor_fix(f, "%s", err.text);
    } else {
        const bool fits = ledger_fits(&w.ledger);
        const struct store_size needs = store_cmd_size(ledger_under(&w.ledger)),
                                allowed = store_cmd_size(w.ledger.ceiling);
        doctor_say(f, fits ? DOCTOR_OK : DOCTOR_FAIL, "a context of %d tokens, %d at once: %s %s of %s that %s", w.ctx,
                   w.seqs, fits ? "takes" : "needs", needs.text, allowed.text,
                   d->o->vram != 0 ? "--vram allows" : "it may take, half of what is free");
        if (!fits) doctor_fix(f, "%splimsoll plan shows what would fit",
                              d->o->fit ? "" : "--fit takes the largest context that does; ");
    }
    if (fd >= 0) close(fd);
}
