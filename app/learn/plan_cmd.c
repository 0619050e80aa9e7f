/* plan_cmd.c - `plimsoll plan`: what fits, before the start. */
#include "app/embedded.h"
#include "app/faces.h"
#include "app/learn/plan.h"
#include "app/opts.h"
#include "app/say.h"
#include "app/store_cmd.h"
#include <unistd.h>

static const char help[] =
    "plimsoll plan - what a model would take, and what would fit, before anything is started\n"
    "\n"
    "  plimsoll plan [-m MODEL | --shape NAME] [--vram SIZE | --gpu NAME] [--agents N] [FLAGS]\n"
    "\n"
    "  -m MODEL      a GGUF file, of which the header alone is read (the embedded model)\n"
    "  --shape NAME  a well-known model that is not here, by its layers, heads and widths\n"
    "  --type TYPE   ... with its matrices in this type (q4_k_m, llama.cpp's mix of Q4_K and Q6_K; of gpt-oss mxfp4)\n"
    "  --gpu NAME    as on this GPU, with nobody else on it, by --backend cuda\n"
    "  --vram SIZE   a ceiling, as a session has it; of another machine too\n"
    "  --agents N    so many conversations at once, each with a context of its own (1)\n"
    "  --ctx N       tokens of each (the model's own, at most 4096)\n"
    "  --kv TYPE     f16, q8_0 or f32: the same as --kv-type\n"
    "  --json        one JSON object\n"
    "  --list        the names of GPUs and shapes\n"
    "  --backend, --fit, --park, --strict-tools, --config ...: as a session has them (plimsoll --help)\n"
    "\n"
    "The figures are those of the functions by which a session takes its memory, to the byte.  Of a\n"
    "shape, text and tables are near (~): its tokenizer is made up, with the size of the real one.  What\n"
    "a GPU's driver takes is an allowance (~).\n"
    "\n"
    "Exit status: 0 it fits; 3 it does not, and what would is shown; 2 a flag or a name is wrong; 4 the\n"
    "model's file, or a model that plimsoll does not run; 1 stdout could not be written.\n";

/* What is not a session's flag. */
struct args {
    const char *gpu, *shape, *type, *kv; /* NULL: not given */
    const char *agents;
    bool list, model; /* model: -m stands on the command line */
};

enum { AGENTS_MOST = 1024 };

/* ------------------------------------------------------------------ --list */

static void put_gpus(struct buf *out)
{
    buf_puts(out, "GPUs, and their memory as nvidia-smi shows it:\n");
    for (int i = 0; i < plan_gpus_n; i++)
        buf_printf(out, "  %-18s %7u MiB  %s\n", plan_gpus[i].name, plan_gpus[i].mib, plan_gpus[i].source);
}

static void put_shape(const struct plan_shape *s, struct buf *out)
{
    if (!s->arch) {
        buf_printf(out, "  %-30s no: %s\n", s->name, s->why);
        return;
    }
    buf_printf(out, "  %-30s %4d %6d %4d %3d %4d %6d %7d %7d", s->name, s->layers, s->embd, s->heads, s->kv_heads,
               s->head_dim, s->ff, s->vocab, s->ctx);
    buf_printf(out, " %6.1f B", (double)s->parameters * 1e-9);
    if (s->experts > 0) buf_printf(out, ", %d of %d experts%s", s->used, s->experts, s->shared ? " and one more" : "");
    buf_puts(out, "\n");
}

static void put_list(struct buf *out)
{
    put_gpus(out);
    buf_puts(out, "\nshapes:                         layers  width heads kv  dim    ffn   vocab context parameters\n");
    for (int i = 0; i < plan_shapes_n; i++) put_shape(&plan_shapes[i], out);
    buf_puts(out, "\ntypes for --type: " PLAN_MIXES "\n");
}

/* ------------------------------------------------------------------ the command line */

/* Where the value of this flag of ours goes; NULL: it is none. */
static const char **place_of(struct args *a, const char *name, size_t n)
{
    const struct { const char *name; const char **place; } own[] = {
        {"--gpu", &a->gpu}, {"--shape", &a->shape}, {"--type", &a->type}, {"--kv", &a->kv}, {"--agents", &a->agents}};
    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (strlen(own[i].name) == n && memcmp(own[i].name, name, n) == 0) return own[i].place;
    return NULL;
}

/* Ours into a, all others into rest (room for argc): how many, or -1. */
static int take_own(struct args *a, int argc, char **argv, char **rest, struct err *err)
{
    int left = 0;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i];
        size_t n = strcspn(arg, "=");
        const char **place = i > 0 ? place_of(a, arg, n) : NULL;
        if (place && !arg[n] && i + 1 == argc) return err_set(err, -1, "%s needs a value", arg);
        if (place) *place = arg[n] ? arg + n + 1 : argv[++i];
        else if (i > 0 && strcmp(arg, "--list") == 0) a->list = true;
        else rest[left++] = argv[i];
        a->model |= i > 0 && !place && (strcmp(arg, "-m") == 0 || (n == 7 && strncmp(arg, "--model", n) == 0));
    }
    return left;
}

/* A flag that a plan has no use for, and that stands there; NULL: none.  Settings that are for sessions give way. */
static const char *of_no_use(struct opts *o)
{
    if (o->crew && !opts_yields(o, "--crew")) return "--crew: --agents says how many there are";
    if (strcmp(o->naive, "none") != 0 && !opts_yields(o, "--naive"))
        return "--naive: a plan is of the sound memory policy";
    if (o->pool > 0 && !opts_yields(o, "--pool")) return "--pool: a plan is of whole contexts";
    if (o->parallel > 0 && !opts_yields(o, "--parallel")) return "--parallel: --agents says how many there are";
    if (strcmp(o->engine, "local") != 0) return "--engine: a scripted one has no weights";
    return opts_asks_once(o, NULL);
}

static int take_agents(const struct args *a, struct engine_config *cfg, struct err *err)
{
    char *end = NULL;
    long n = 1;
    if (a->agents) n = *a->agents >= '0' && *a->agents <= '9' ? strtol(a->agents, &end, 10) : 0;
    if (n < 1 || n > AGENTS_MOST || (end && *end))
        return err_set(err, -1, "--agents: \"%.60s\" is not a whole number from 1 to %d", a->agents, AGENTS_MOST);
    cfg->max_seqs = (int)n;
    return 0;
}

static int take_kv(const struct args *a, struct engine_config *cfg, struct err *err)
{
    static const enum ktype types[] = {KT_F16, KT_Q8_0, KT_F32};
    static const char *const names[] = {"f16", "q8-0", "f32"};
    for (size_t i = 0; a->kv && i < COUNT_OF(types); i++) {
        if (!plan_same_name(a->kv, names[i])) continue;
        cfg->kv_type = types[i];
        return 0;
    }
    return a->kv ? err_set(err, -1, "--kv: \"%.60s\" is not one of f16, q8_0, f32", a->kv) : 0;
}

static int take_shape(const struct args *a, struct plan_ask *ask, struct err *err)
{
    if (a->shape && a->model) return err_set(err, -1, "-m and --shape are two models; one is planned at a time");
    if (a->type && !a->shape) return err_set(err, -1, "--type goes with --shape; a file's types are in it");
    if (a->type && plan_mix_find(a->type, &ask->mix))
        return err_set(err, -1, "--type: \"%.60s\" is not one of %s", a->type, PLAN_MIXES);
    ask->shape = a->shape ? plan_shape_find(a->shape, err) : NULL;
    if (a->shape && !ask->shape) return -1;
    if (a->type && ask->mix.type == KT_MXFP4 && ask->shape->experts == 0)
        return err_set(err, -1, "--type: mxfp4 is of experts, and %s has none: all of it would be q8_0",
                       ask->shape->name);
    return a->type ? 0 : plan_mix_find(plan_mix_usual(ask->shape), &ask->mix);
}

static int take_gpu(const struct args *a, const struct opts *o, struct plan_ask *ask, struct err *err)
{
    if (!a->gpu) return 0;
    if (strcmp(o->backend, "auto") == 0) ask->engine.backend = "cuda";
    else if (strcmp(o->backend, "cuda") != 0)
        return err_set(err, -1, "--gpu says how much memory --backend cuda has, not --backend %s", o->backend);
    ask->gpu = plan_gpu_find(a->gpu, err);
    return ask->gpu ? 0 : -1;
}

/* The exit status. */
static int take_all(const struct args *a, struct opts *o, struct plan_ask *ask, struct err *err)
{
    const char *no = of_no_use(o);
    if (no) err_set(err, -1, "plimsoll plan takes no %s", no);
    if (no || app_engine_config(o, &ask->engine, err)) return EXIT_USAGE;
    if (take_agents(a, &ask->engine, err) || take_kv(a, &ask->engine, err) || take_gpu(a, o, ask, err))
        return EXIT_USAGE;
    if (take_shape(a, ask, err)) return err->code == PLAN_NOT_RUN ? EXIT_ENGINE : EXIT_USAGE;
    return EXIT_DONE;
}

/* ------------------------------------------------------------------ the plan */

static int show(const struct plan_ask *ask, bool json, struct err *err)
{
    struct plan p;
    struct buf text = {0};
    if (plan_make(ask, &p, err)) return EXIT_ENGINE;
    (json ? plan_json : plan_text)(ask, &p, &text);
    int status = store_cmd_print(&text);
    return status == EXIT_DONE && !p.fits ? EXIT_REFUSED : status;
}

static int make(const struct args *a, struct opts *o, struct err *err)
{
    struct plan_ask ask = {0};
    int fd = -1, status = take_all(a, o, &ask, err);
    if (status == EXIT_DONE && !ask.shape && !ask.engine.model) {
        ask.engine.model = embedded_open(&fd, err);
        if (!ask.engine.model) status = EXIT_ENGINE;
    }
    if (status == EXIT_DONE) status = show(&ask, o->json, err);
    if (fd >= 0) close(fd);
    return status;
}

static void put_help(struct buf *out) { buf_puts(out, help); }

int plan_run(int argc, char **argv)
{
    struct opts o;
    struct args a = {0};
    struct err err = {0};
    char **rest = calloc((size_t)argc + 1, sizeof *rest);
    int n = rest ? take_own(&a, argc, argv, rest, &err) : err_set(&err, -1, "no memory for the options");
    int status = EXIT_USAGE, bad = n < 0 ? n : opts_parse(&o, n, rest, NULL, &err);
    if (n < 0) o = (struct opts){.plain = true};
    say_plainly(o.plain);
    if (!bad && o.help) status = face_print(put_help);
    else if (!bad && a.list) status = face_print(put_list);
    else if (!bad) status = make(&a, &o, &err);
    if (status != EXIT_DONE && *err.text) say_error("%s", err.text);
    opts_free(&o);
    free(rest);
    return status;
}
