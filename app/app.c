/* app.c - opening and closing. */
#include "app/app.h"
#include "app/key_file.h"
#include "app/nvml.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/session/tool_schema.h"
#include "app/signals.h"
#include "app/store_cmd.h"
#include "engine/hostmem.h"
#include "kernels/cuda/cuda.h"
#include "version.h"
#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

enum { AT_ONCE = 8 }; /* sequences of a crew, where nobody says how many */

/* ---------------------------------------------------------------- words for outcomes */

int app_exit(int engine_error)
{
    switch (engine_error) {
    case ENGINE_OK: return EXIT_DONE;
    case ENGINE_BAD_REQUEST: return EXIT_USAGE;
    case ENGINE_NEVER_FITS:
    case ENGINE_QUEUE_FULL:
    case ENGINE_NO_MEMORY: return EXIT_REFUSED;
    default: return EXIT_ENGINE;
    }
}

const char *app_refusal(int engine_error)
{
    switch (engine_error) {
    case ENGINE_BAD_REQUEST: return "input_error";
    case ENGINE_NEVER_FITS:
    case ENGINE_QUEUE_FULL: return "refused_kv";
    case ENGINE_NO_MEMORY: return "refused_host";
    default: return "internal";
    }
}

static const char *reason_of(int code)
{
    if (code == EXIT_DONE) return "completed";
    if (code == EXIT_USAGE) return "input_error";
    if (code == EXIT_DENIED) return "tool_error";
    if (code == EXIT_UNMET) return "unmet";
    if (code == EXIT_REFUSED) return "refused_kv";
    return code > 128 ? "cancelled" : "internal";
}

/* ---------------------------------------------------------------- opening */

struct loading {
    struct progress bar;
};

static void on_load(void *self, uint64_t done, uint64_t all)
{
    progress_update(&((struct loading *)self)->bar, done, all, progress_clock());
}

static int random_seed(int64_t *seed, struct err *err)
{
    uint64_t r;
    if (getrandom(&r, sizeof r, 0) != (ssize_t)sizeof r)
        return err_set(err, -1, "no random seed: %s; give one with --seed", strerror(errno));
    *seed = (int64_t)(r >> 11); /* 53 bits: every reader of JSON can hold it exactly */
    return 0;
}

static int set_sampling(struct app *a, struct err *err)
{
    const struct opts *o = a->o;
    int64_t seed = o->seed;
    if (seed < 0 && random_seed(&seed, err)) return -1;
    a->sampling = (struct sampling){
        .temp = (float)TEMPERATURE(o), .top_k = (int)o->top_k, .top_p = (float)o->top_p, .min_p = (float)o->min_p,
        .repeat = (float)o->repeat, .frequency = (float)o->frequency, .presence = (float)o->presence, .recent = 64,
        .bias = o->bias, .n_bias = o->n_bias, .seed = (uint64_t)seed,
    };
    return 0;
}

static enum ktype kv_type(const struct opts *o)
{
    if (strcmp(o->kv_type, "q8_0") == 0) return KT_Q8_0;
    return strcmp(o->kv_type, "f32") == 0 ? KT_F32 : KT_F16;
}

/* What would have fitted, under the line that says what did not. */
static int refuse(struct app *a, const struct buf *fits, const struct ledger *needs, const struct err *err)
{
    a->advice = fits->data;
    if (a->o->remote && err->code == ENGINE_BAD_REQUEST) return EXIT_USAGE;
    if (err->code != ENGINE_NEVER_FITS) return EXIT_ENGINE;
    a->reason = "refused_weights";
    struct event e = {.kind = EV_SHORTAGE, .shortage = {
        .reason = event_str("open"), .needs_bytes = (int64_t)ledger_under(needs),
        .has_bytes = (int64_t)needs->ceiling, .weight_bytes = (int64_t)needs->bytes[LEDGER_WEIGHTS],
        .kv_bytes = (int64_t)needs->bytes[LEDGER_KV],
        .work_bytes = (int64_t)(needs->bytes[LEDGER_ACTIVATIONS] + needs->bytes[LEDGER_SCRATCH] +
                                needs->bytes[LEDGER_LOGITS])}};
    if (needs->ceiling > 0) trace_put(&a->trace, &e);
    return EXIT_REFUSED;
}

static enum naive_policy naive_policy(const struct opts *o)
{
    int p = 0;
    while (strcmp(naive_name((enum naive_policy)p), o->naive) != 0) p++; /* opts.c lets no other name in */
    return (enum naive_policy)p;
}

/* Sequences at once; of a crew, all the agents' contexts are kept where there is room, so that one's pages are still
 * there when its turn comes again. */
void app_engine_sizes(const struct opts *o, const struct crew *c, struct engine_config *cfg)
{
    bool at_once = c->flow == FLOW_MAP || c->flow == FLOW_SUPERVISOR;
    int seqs = o->parallel > 0 ? (int)o->parallel : c->parallel > 0 ? c->parallel : AT_ONCE;
    int ctx = 0;
    if (o->agents > 0) cfg->max_seqs = MIN(seqs, o->agents);
    if (o->serve) cfg->max_seqs = seqs;
    cfg->pool_tokens = (uint64_t)o->pool;
    if (c->n_agents == 0) return;
    for (int i = 0; i < c->n_agents; i++) {
        int own = c->agent[i].context; /* 0: as large as the model's */
        ctx = own > 0 && ctx >= 0 ? MAX(ctx, own) : -1;
    }
    cfg->max_seqs = at_once ? seqs : 1;
    if (cfg->ctx == 0 && ctx > 0) cfg->ctx = ctx;
    if (cfg->ctx > 0) cfg->kept_seqs = MIN(c->n_agents, AT_ONCE);
}

enum { GRAMMARS = 4 }; /* so many agents that differ in their tools may ask at once */

/* A chat by hand is fast once a device has shown that right; what others will compare is exact unless asked. */
static bool wants_fast(const struct opts *o)
{
    const bool by_hand = !o->prompt && !o->nll && !o->dump_tokens && !o->script && o->seed < 0 && isatty(STDIN_FILENO);
    return o->fast || (!o->exact && by_hand && cuda_shown(CUDA_BLAS));
}

int app_engine_config(const struct opts *o, struct engine_config *cfg, struct err *err)
{
    enum template_kind kind;
    *cfg = (struct engine_config){
        .model = o->model, .script = o->script_file, .backend = o->backend, .fast = wants_fast(o),
        .kern = {.device = (int)o->device, .threads = (int)o->threads, .isa = o->isa, .pin = !o->no_pin},
        .ctx = (int)o->ctx, .max_seqs = 1, .template = -1,
        .kv_type = kv_type(o),
        .vram = (uint64_t)MAX(o->vram, 0), .vram_part = MAX(-o->vram, 0) / 100, .fit = o->fit,
        .grammars = o->strict_tools || o->serve ? GRAMMARS : 0, .grammar_limits = TOOL_SCHEMA_LIMITS,
        .naive = naive_policy(o), .drafts = o->no_draft ? DRAFTS_NONE : (int)o->draft,
        .overcommit = o->overcommit, .park_bytes = (uint64_t)o->park,
    };
    if (!o->template_name) return EXIT_DONE;
    if (template_by_name(o->template_name, &kind))
        return err_set(err, EXIT_USAGE, "--template: no such form: %.60s", o->template_name);
    cfg->template = (int)kind;
    return EXIT_DONE;
}

/* What --remote asks for; and what the flags ask of a server that it does not have. */
static int set_remote(struct app *a, struct engine_config *cfg, struct err *err)
{
    const struct opts *o = a->o;
    if (!o->remote) return EXIT_DONE;
    if (o->remote_key_file && key_file_read("--remote-key-file", o->remote_key_file, &a->key, err)) return err->code;
    cfg->remote = (struct engine_remote){.at = o->remote, .model = o->remote_model, .key = a->key.data,
                                         .own_vocab = !o->embedded_vocab};
    return EXIT_DONE;
}

static int check_sampling(const struct app *a, struct err *err)
{
    static const char *const more[] = {"--top-k", "--min-p", "--repeat-penalty"};
    const char *flag = a->info->plain_sampling ? opts_by_flag(a->o, more, COUNT_OF(more)) : NULL;
    return flag ? err_set(err, EXIT_USAGE, "%s: %s does not know it", flag, a->info->backend) : EXIT_DONE;
}

/* From the settings it is for the models that know it. */
static int check_reasoning(struct app *a, struct err *err)
{
    static const char *const flag[] = {"--reasoning"}, *const off[] = {"--no-thinking"};
    const bool harmony = strcmp(a->info->template, "harmony") == 0, known = a->info->remote || harmony;
    if (harmony && opts_by_flag(a->o, off, 1))
        return err_set(err, EXIT_USAGE, "--no-thinking: a gpt-oss model cannot be kept from it; --reasoning low is the "
                       "least, and --thinking N ends it");
    if (a->o->reasoning && known) return effort_by_name(a->o->reasoning, &a->effort);
    if (!opts_by_flag(a->o, flag, 1)) return EXIT_DONE;
    return err_set(err, EXIT_USAGE, "--reasoning: a model with the %s template is not told how much to think; those "
                   "with harmony's are (gpt-oss)", a->info->template);
}

static int open_engine(struct app *a, struct err *err)
{
    struct loading loading;
    struct buf fits = {0};
    struct ledger needs = {0};
    struct engine_config cfg;
    if (app_engine_config(a->o, &cfg, err)) return EXIT_USAGE;
    cfg.fits = &fits;
    cfg.needs = &needs;
    cfg.progress = on_load;
    cfg.progress_self = &loading;
    app_engine_sizes(a->o, &a->crew, &cfg);
    int bad = set_remote(a, &cfg, err);
    if (bad) return bad;
    const char *what = a->o->remote ? "asking the server" : "loading the model";
    progress_start(&loading.bar, what, say_on_terminal(), progress_clock());
    loading.bar.waits = a->o->remote != NULL;
    a->engine = a->ops->open(&cfg, err);
    progress_end(&loading.bar);
    if (!a->engine) return refuse(a, &fits, &needs, err);
    a->info = a->ops->info(a->engine);
    if (*a->info->note) say("%s", a->info->note);
    if (check_reasoning(a, err)) return EXIT_USAGE;
    return check_sampling(a, err);
}

/* A conversation is saved unless that was not wanted.  Before the engine: opening the store forks. */
static int open_store(struct app *a, struct err *err)
{
    const struct opts *o = a->o;
    bool dumps = o->nll || o->dump_tokens || o->top_logprobs >= 0, asked = o->store || o->resume;
    bool chat = !dumps && (!o->prompt || !isatty(STDIN_FILENO)); /* data on stdin may be an artifact */
    struct store_options options = {0};
    struct store_watch watch;
    struct buf dir = {0};
    struct store *s = NULL;
    if (!chat || o->no_save) return EXIT_DONE;
    store_watch_begin(&watch, &options);
    int rc = 0;
    if (o->store) buf_puts(&dir, o->store);
    else rc = store_default_dir(opts_getenv, &dir, err);
    if (!rc) rc = store_open(&s, dir.data ? dir.data : "", &options, err);
    store_watch_end(&watch);
    if (!rc && toolbox_keep_off(&a->toolbox, dir.data, err)) {
        store_close(s);
        buf_free(&dir);
        return EXIT_USAGE;
    }
    if (!rc) rc = keeper_open(&a->keeper, s, err);
    buf_free(&dir);
    if (!rc) return EXIT_DONE;
    if (asked) return rc == STORE_FOREIGN ? EXIT_USAGE : EXIT_INTERNAL;
    say("this session is not saved: %s", err->text);
    *err = (struct err){0};
    return EXIT_DONE;
}

struct event app_opened(const struct app *a)
{
    const struct engine_info *i = a->info;
    return (struct event){.kind = EV_SESSION_OPEN, .session_open = {
        .version = event_str(PLIMSOLL_VERSION), .engine = event_str(i->maker),
        .file = event_str(a->o->embedded ? "embedded" : a->o->remote ? a->o->remote : a->o->model),
        .model = event_str(i->name), .arch = event_str(i->arch), .types = event_str(i->types),
        .template = event_str(i->template), .parameters = (int64_t)i->parameters, .vocab = i->vocab, .ctx = i->ctx,
        .seed = (int64_t)a->sampling.seed, .temperature = TEMPERATURE(a->o),
        .backend = event_str(i->backend), .kernels = event_str(i->kernels),
        .mode = event_str(i->fast ? "fast" : "exact"),
    }};
}

/* Of answers that go on to their length: a control token in their middle would be lost in the text, and the text would
 * have fewer tokens than were written.  (It may still have one or two fewer when it is read again: what a model writes
 * behind its own end may be two tokens where a tokenizer takes one.) */
static int allow_text_alone(struct app *a, struct err *err)
{
    const struct vocab *v = a->ops->vocab(a->engine);
    if (a->o->answers == 0 || !v) return 0;
    a->plain = calloc(((size_t)vocab_size(v) + 31) / 32, sizeof *a->plain);
    if (!a->plain) return err_set(err, -1, "no memory for --answers");
    for (int32_t id = 0; id < vocab_size(v); id++)
        if (vocab_attr(v, id) != VOCAB_CONTROL) a->plain[id / 32] |= 1u << (id % 32);
    return 0;
}

/* Always: in a log, and in the stream before anything of the session. */
static void tell_unguarded(struct app *a)
{
    const struct opts *o = a->o;
    struct buf words = {0};
    guards_words(&o->off, &words);
    struct event e = {.kind = EV_UNGUARDED, .unguarded = {
        .off = {words.data ? words.data : "", words.len}, .answers = o->answers,
        .host_limit_bytes = (int64_t)o->keep_unsaved}};
    if (words.len > 0)
        say("--unguarded, for teaching: without %s this session will fail; nothing of it is saved", words.data);
    if (o->answers > 0)
        say("--answers, for teaching: every answer has %lld tokens, whatever it says", (long long)o->answers);
    if (words.len > 0 || o->answers > 0) trace_put(&a->trace, &e);
    buf_free(&words);
}

int app_open(struct app *a, const struct opts *o, const struct engine_ops *ops, struct err *err)
{
    *a = (struct app){.o = o, .ops = ops, .lockstep = o->lockstep || o->seed >= 0};
    out_init(&a->answers, STDOUT_FILENO);
    const char *keep[] = {o->model, o->script_file, o->nll, o->crew, o->file, o->remote_key_file, "/dev/stdin"};
    if (trace_open(&a->trace, o->json ? &a->answers : NULL, o->trace, keep, COUNT_OF(keep), err)) return EXIT_USAGE;
    a->trace.all_samples = o->all_samples;
    int code = set_sampling(a, err) ? EXIT_INTERNAL : EXIT_DONE;
    if (code == EXIT_DONE && toolbox_servers(&a->toolbox, o, MCP_LIMITS.start_ms, err)) code = EXIT_USAGE;
    if (code == EXIT_DONE && o->crew && crew_load(o->crew, &a->crew, err)) code = EXIT_USAGE;
    a->crew.endless = o->off.loop;
    bool person = !o->prompt && !o->script && isatty(STDIN_FILENO) && (isatty(STDERR_FILENO) || isatty(STDOUT_FILENO));
    if (code == EXIT_DONE && toolbox_open(&a->toolbox, a, person, err)) code = EXIT_USAGE;
    if (code == EXIT_DONE) code = open_store(a, err);
    if (code == EXIT_DONE) code = open_engine(a, err);
    if (code == EXIT_DONE && allow_text_alone(a, err)) code = EXIT_INTERNAL;
    if (code == EXIT_DONE && signals_open(err)) code = EXIT_INTERNAL;
    if (code == EXIT_DONE && a->info->ctx_trained > 0 && a->info->ctx > a->info->ctx_trained)
        say("--ctx %d is more than the %d tokens that the model was trained on: beyond them it may talk nonsense",
            a->info->ctx, a->info->ctx_trained);
    if (code != EXIT_DONE) return code;
    struct event e = app_opened(a);
    trace_put(&a->trace, &e);
    tell_unguarded(a);
    app_memory(a);
    return EXIT_DONE;
}

/* ---------------------------------------------------------------- while it runs */

static void tell_holding(struct app *a, const struct engine_snapshot *s, int i)
{
    const struct engine_agent *g = &s->agent[i];
    uint64_t own = 0;
    for (int k = 0; k < SEGMENTS; k++) own += g->tokens[k];
    if (g->running + g->waiting + g->parked == 0) return;
    struct event e = {.kind = EV_HOLDING, .holding = {
        .owner = event_str(i < a->crew.n_agents ? a->crew.agent[i].name : ""),
        .running = g->running, .waiting = g->waiting, .parked = g->parked,
        .system_tokens = (int64_t)g->tokens[SEGMENT_SYSTEM], .summary_tokens = (int64_t)g->tokens[SEGMENT_SUMMARY],
        .history_tokens = (int64_t)g->tokens[SEGMENT_HISTORY], .tool_tokens = (int64_t)g->tokens[SEGMENT_TOOL],
        .answer_tokens = (int64_t)g->tokens[SEGMENT_ANSWER], .shared_tokens = (int64_t)g->shared_tokens,
        .pages = (int64_t)((own + KERN_PAGE - 1) / KERN_PAGE),
        .kv_bytes = (int64_t)(own * a->info->kv_bytes_per_token)}};
    trace_put(&a->trace, &e);
}

static void tell_machine(struct app *a, const struct engine_snapshot *s)
{
    const struct ledger *l = &a->info->ledger;
    struct engine_memory m;
    struct nvml_figures gpu;
    struct hostmem_process p;
    uint64_t tables = 0;
    nvml_read(&gpu);
    hostmem_process(&p);
    a->ops->memory(a->engine, &m);
    for (int c = LEDGER_TEXT; c < LEDGER_CLASSES; c++) tables += ledger_counts(l, c) ? l->bytes[c] : 0;
    struct event e = {.kind = EV_MACHINE, .machine = {
        .backend = event_str(a->info->on_device ? "cuda" : "cpu"),
        .page_tokens = KERN_PAGE, .token_bytes = (int64_t)a->info->kv_bytes_per_token, .table_bytes = (int64_t)tables,
        .total_bytes = (int64_t)m.total, .ours_bytes = (int64_t)m.ours, .context_bytes = (int64_t)m.context,
        .outside_bytes = m.outside, .free_bytes = (int64_t)m.free, .parked_bytes = (int64_t)s->park_used,
        .prefilled = (int64_t)s->prefilled, .generated = (int64_t)s->generated, .reused = (int64_t)s->reused,
        .queue_first = event_str(s->waiting > 0 ? a->queue.who : ""),
        .queue_pages = s->waiting > 0 ? a->queue.pages : 0,
        .gpu_load = gpu.load, .gpu_celsius = gpu.celsius, .gpu_watts = gpu.watts,
        .resident_bytes = (int64_t)p.resident, .anonymous_bytes = (int64_t)p.anonymous, .peak_bytes = (int64_t)p.peak,
        .ledger_bytes = (int64_t)ledger_process(l),
        .drafted = (int64_t)s->drafted, .drafts_right = (int64_t)s->drafts_right}};
    trace_put(&a->trace, &e);
}

static void tell_naive(struct app *a, const struct engine_snapshot *s)
{
    if (s->naive_policy == NAIVE_NONE) return;
    struct event e = {.kind = EV_NAIVE, .naive = {
        .policy = event_str(naive_name((enum naive_policy)s->naive_policy)), .size_bytes = (int64_t)s->naive_size,
        .taken_bytes = (int64_t)s->naive_reserved, .filled_bytes = (int64_t)s->naive_allocated,
        .hole_bytes = (int64_t)s->naive_hole}};
    trace_put(&a->trace, &e);
}

static void tell_server(struct app *a, const struct engine_snapshot *s)
{
    const struct engine_server *v = &s->server;
    if (v->kv_permille < 0 && v->running < 0 && v->waiting < 0) return;
    struct event e = {.kind = EV_SERVER, .server = {
        .kv_permille = v->kv_permille, .running = v->running, .waiting = v->waiting, .preempted = v->preempted}};
    trace_put(&a->trace, &e);
}

void app_memory(struct app *a)
{
    struct engine_snapshot s;
    if (!trace_on(&a->trace)) return;
    a->ops->snapshot(a->engine, &s);
    struct event e = {.kind = EV_MEMORY, .memory = {
        .pool_tokens = (int64_t)s.pool_tokens, .reserved_tokens = (int64_t)s.reserved_tokens,
        .filled_tokens = (int64_t)s.filled_tokens, .shared_tokens = (int64_t)s.shared_tokens,
        .cached_tokens = (int64_t)s.cached_tokens,
        .ceiling_bytes = (int64_t)MIN(a->info->ledger.ceiling, (uint64_t)INT64_MAX),
        .running = s.running, .waiting = s.waiting, .parked = s.parked,
        .text_bytes = (int64_t)s.text_bytes, .text_used_bytes = (int64_t)s.text_used,
        .weight_bytes = (int64_t)s.weight_bytes, .kv_bytes = (int64_t)s.kv_bytes, .work_bytes = (int64_t)s.work_bytes,
    }};
    if (!trace_put(&a->trace, &e)) return;
    tell_machine(a, &s);
    tell_server(a, &s);
    tell_naive(a, &s);
    for (int i = 0; i < ENGINE_AGENTS; i++) tell_holding(a, &s, i);
}

void app_error(struct app *a, const char *where, const char *text)
{
    struct event e = {.kind = EV_ERROR, .error = {.where = event_str(where), .text = event_str(text)}};
    trace_put(&a->trace, &e);
    say_error("%s", text);
}

/* ---------------------------------------------------------------- closing */

/* What the exit status owes to a stream; *told: its failure was spoken of. */
static int stream_status(struct app *a, const struct out *o, const char *name, int code, bool *told)
{
    struct err err = {0};
    int status = out_status(o, name, &err);
    if (!status || *told) return code;
    *told = true;
    if (status != EXIT_INTERNAL && o != &a->answers) status = err_set(&err, EXIT_INTERNAL, "%s lost its reader", name);
    if (status == EXIT_INTERNAL) app_error(a, "output", err.text);
    return code < 128 ? status : code;
}

/* However soon after the last: so a stream ends with the figures of its end. */
static void tell_last(struct app *a)
{
    if (!a->engine || a->trace.sampled < 0) return;
    a->trace.sampled = -1;
    app_memory(a);
}

int app_close(struct app *a, int code)
{
    bool told_answers = false, told_trace = false;
    if (a->toolbox.rights) toolbox_say_denied(&a->toolbox);
    if (code == EXIT_DONE && toolbox_denied(&a->toolbox) > 0 && !a->toolbox.approve) code = EXIT_DENIED;
    toolbox_close(&a->toolbox);
    code = stream_status(a, &a->answers, "stdout", code, &told_answers);
    code = stream_status(a, &a->trace.file, "the --trace file", code, &told_trace);
    tell_last(a);
    const char *reason = a->reason ? a->reason : reason_of(code);
    struct event e = {.kind = EV_SESSION_CLOSE, .session_close = {
        .turns = a->turns, .exit_code = code, .termination_reason = event_str(reason)}};
    trace_put(&a->trace, &e);
    trace_close(&a->trace);
    keeper_close(a->keeper);
    if (a->engine) a->ops->close(a->engine);
    free(a->advice);
    free(a->plain);
    if (a->key.data) explicit_bzero(a->key.data, a->key.len);
    buf_free(&a->key);
    crew_free(&a->crew);
    code = stream_status(a, &a->answers, "stdout", code, &told_answers);
    return stream_status(a, &a->trace.file, "the --trace file", code, &told_trace);
}
