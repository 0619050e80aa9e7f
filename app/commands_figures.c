/* commands_figures.c - memory and tokens in numbers: for a person, and by name for /assert. */
#include "app/commands.h"
#include "app/say.h"
#include "engine/hostmem.h"
#include <math.h>

static double mib(uint64_t bytes) { return (double)bytes / 0x1p20; }

/* ---------------------------------------------------------------- the machine and this process */

static void say_process(const struct ledger *l)
{
    struct hostmem_process p;
    hostmem_process(&p);
    if (p.resident == 0) return;
    const double own = hostmem_tenths(p.anonymous), ledger = hostmem_tenths(ledger_process(l));
    say("process  %.1f MiB resident, %.1f at most: %.1f of files (program, libraries), %.1f anonymous, %.1f %s the "
        "ledger's %.1f (%s)",
        hostmem_tenths(p.resident), hostmem_tenths(p.peak), hostmem_tenths(p.resident) - own, own, fabs(own - ledger),
        own < ledger ? "less than" : "more than", ledger, own < ledger ? "not all touched yet" : "heap, stacks");
}

void command_say_machine(const struct console *c)
{
    struct engine_memory m;
    c->a->ops->memory(c->a->engine, &m);
    if (m.total)
        say("%s  %.1f MiB: %.1f ours, %.1f others, %.1f free", c->a->info->on_device ? "device " : "machine",
            mib(m.total), mib(m.ours + m.context), (double)m.outside / 0x1p20, mib(m.free));
    say_process(&c->a->info->ledger);
}

/* ---------------------------------------------------------------- /memory */

static uint64_t all_of(const struct engine_agent *a)
{
    uint64_t n = 0;
    for (int i = 0; i < SEGMENTS; i++) n += a->tokens[i];
    return n;
}

static void say_holder(const char *name, const struct engine_agent *a)
{
    struct buf parts = {0};
    for (int i = 0; i < SEGMENTS; i++)
        if (a->tokens[i] > 0)
            buf_printf(&parts, "%s%s %llu", parts.len ? ", " : ": ", segment_name((enum segment)i),
                       (unsigned long long)a->tokens[i]);
    say("  %-12s %llu tokens alone, %llu shared%s", name, (unsigned long long)all_of(a),
        (unsigned long long)a->shared_tokens, parts.data ? parts.data : "");
    if (a->running + a->waiting + a->parked > 0)
        say("  %-12s %lld run, %lld wait, %lld are parked", "", (long long)a->running, (long long)a->waiting,
            (long long)a->parked);
    buf_free(&parts);
}

void command_say_model(const struct engine_info *i)
{
    char mixture[64] = "";
    if (i->experts > 0)
        snprintf(mixture, sizeof mixture, ", %d of %d experts%s compute a token", i->experts_used, i->experts,
                 i->shared_expert ? " and a shared one" : "");
    say("model    %s, %s, %.1f M parameters%s, %s", *i->name ? i->name : "(no name)", i->arch,
        (double)i->parameters / 1e6, mixture, i->types);
}

void command_say_local(const struct engine_info *i)
{
    if (i->local_layers == 0) return;
    char what[48] = "keep a state";
    if (!i->states) snprintf(what, sizeof what, "see %d tokens", i->local_window);
    say("         and %.1f MiB for %d of %d layers, which %s: enough for all that can run at once",
        mib(i->kv_local_bytes), i->local_layers, i->layers, what);
}

static void say_pool(const struct console *c, const struct engine_snapshot *s)
{
    say("kv pool  %llu tokens, %.1f MiB: %llu reserved, %llu filled, %llu shared, %llu cached",
        (unsigned long long)s->pool_tokens, mib(s->kv_bytes), (unsigned long long)s->reserved_tokens,
        (unsigned long long)s->filled_tokens, (unsigned long long)s->shared_tokens,
        (unsigned long long)s->cached_tokens);
    command_say_local(c->a->info);
    for (int i = 0; c->team.n > 1 && i < MIN(c->team.n, ENGINE_AGENTS); i++)
        say_holder(team_name(&c->team, i), &s->agent[i]);
}

void command_memory(struct console *c, const char *arg, size_t n)
{
    const struct ledger *l = &c->a->info->ledger;
    struct engine_snapshot s;
    struct buf words = {0};
    (void)arg, (void)n;
    c->a->ops->snapshot(c->a->engine, &s);
    ledger_words(l, &words);
    command_say_machine(c);
    say("ceiling  %.1f MiB, of which %.1f are taken, all at the start", mib(l->ceiling), mib(ledger_under(l)));
    say("by use   %s", words.failed || !words.data ? "" : words.data);
    say_pool(c, &s);
    say("text     %.1f of %.1f MiB, by %llu request%s not forgotten yet", mib(s.text_used), mib(s.text_bytes),
        (unsigned long long)s.text_requests, plural((int64_t)s.text_requests));
    if (s.park_bytes > 0) say("parked   %.1f of %.1f MiB", mib(s.park_used), mib(s.park_bytes));
    buf_free(&words);
}

/* ---------------------------------------------------------------- /plan */

static void say_next(const struct console *c, const struct window_figures *f, const struct engine_snapshot *s)
{
    const struct engine_info *i = c->a->info;
    int64_t whole = MIN(f->used + f->answer + f->thinking, (int64_t)c->s->role.ctx);
    uint64_t need = engine_promised(i, whole), left = s->pool_tokens - MIN(s->reserved_tokens, s->pool_tokens);
    say("carries  %lld tokens before your words, of %lld that a call may have", (long long)f->used,
        (long long)f->limit);
    say("reserves %lld more for the answer: %lld of a context of %d, %.0f%%", (long long)(f->answer + f->thinking),
        (long long)whole, c->s->role.ctx, 100 * (double)whole / (double)c->s->role.ctx);
    say("pool     %llu of %llu tokens, %.0f%%; %llu are promised to nobody: %s", (unsigned long long)need,
        (unsigned long long)s->pool_tokens, 100 * (double)need / (double)MAX(s->pool_tokens, UINT64_C(1)),
        (unsigned long long)left,
        need > s->pool_tokens ? "it never fits" : need > left ? "it waits for others to end" : "it fits now");
}

void command_plan(struct console *c, const char *arg, size_t n)
{
    const struct engine_info *i = c->a->info;
    struct window_figures f;
    struct engine_snapshot s;
    char line[200];
    (void)arg, (void)n;
    session_figures(c->s, &f);
    c->a->ops->snapshot(c->a->engine, &s);
    say_next(c, &f, &s);
    uint64_t fit = s.pool_tokens / engine_promised(i, c->s->role.ctx);
    say("at once  %llu context%s as large as this one may be fit%s the pool; %d run at most", (unsigned long long)fit,
        fit == 1 ? "" : "s", fit == 1 ? "s" : "", i->max_seqs);
    if (window_due(c->s->w)) say("before   it the oldest is summed up: above %lld tokens", (long long)f.high);
    forecast_agent_words(&c->s->growth, "at this growth", line, sizeof line);
    say("ahead    %s", c->s->growth.noted ? line : "growth not known yet");
}

/* ---------------------------------------------------------------- /assert */

/* What a figure is taken from. */
struct scene {
    const struct console *c;
    const struct session *s; /* of the agent */
    bool named;              /* it was: @agent */
    struct window_figures w;
    struct engine_snapshot e;
};

static double turns(const struct scene *x) { return x->s->keep.head.turns; }
static double steps(const struct scene *x) { return x->c->team.steps; }
static double agents(const struct scene *x) { return x->c->team.n; }
static double context_tokens(const struct scene *x) { return (double)x->w.used; }
static double context_limit(const struct scene *x) { return x->s->role.ctx; }
static double context_share(const struct scene *x) { return (double)x->w.used / x->s->role.ctx; }
static double context_messages(const struct scene *x)
{
    return (double)(x->w.count[WINDOW_HISTORY] + x->w.count[WINDOW_RESULTS]);
}

/* Of what /expect looks at; of a named agent, of what that one said last. */
static double answer_bytes(const struct scene *x)
{
    const struct buf *text = x->named ? &x->s->answer : &x->c->team.last;
    return text->data ? (double)text->len : NAN;
}

static double answer_tokens(const struct scene *x) { return x->s->any ? (double)x->s->last.n_tokens : NAN; }
static double prompt_tokens(const struct scene *x) { return x->s->any ? (double)x->s->last.n_prompt : NAN; }
static double first_token_ms(const struct scene *x)
{
    return x->s->any && x->s->last.first_s > 0 ? 1e3 * x->s->last.first_s : NAN;
}

static double summaries(const struct scene *x) { return (double)x->w.compactions; }
static double artifacts(const struct scene *x)
{
    return x->s->keep.head.artifacts > 0 ? (double)(x->s->keep.head.artifacts - 1) : 0;
}
static double unsaved(const struct scene *x) { return x->s->keep.n_unsaved; }
static double tool_calls(const struct scene *x) { return (double)x->s->calls; }
static double denied(const struct scene *x)
{
    const struct rights_denial *list;
    uint64_t all;
    int n = rights_denied(x->c->a->toolbox.rights, &list, &all);
    for (int i = 0; i < n; i++) all += list[i].times;
    return (double)all;
}

static double pool_tokens(const struct scene *x) { return (double)x->e.pool_tokens; }
static double pool_reserved(const struct scene *x) { return (double)x->e.reserved_tokens; }
static double pool_filled(const struct scene *x) { return (double)x->e.filled_tokens; }
static double pool_shared(const struct scene *x) { return (double)x->e.shared_tokens; }
static double pool_cached(const struct scene *x) { return (double)x->e.cached_tokens; }
static double running(const struct scene *x) { return (double)x->e.running; }
static double waiting(const struct scene *x) { return (double)x->e.waiting; }
static double memory_weights(const struct scene *x) { return (double)x->e.weight_bytes; }
static double memory_kv(const struct scene *x) { return (double)x->e.kv_bytes; }
static double memory_work(const struct scene *x) { return (double)x->e.work_bytes; }
static double memory_ceiling(const struct scene *x) { return (double)x->c->a->info->ledger.ceiling; }
static double memory_ours(const struct scene *x) { return (double)ledger_under(&x->c->a->info->ledger); }

/* agent: it is of one, so that its name may have @agent behind it. */
static const struct figure {
    const char *name;
    double (*value)(const struct scene *x); /* NaN: there is none yet */
    bool agent;
} figures[] = {
    {"turns", turns, true},
    {"steps", steps, false},
    {"agents", agents, false},
    {"context.tokens", context_tokens, true},
    {"context.limit", context_limit, true},
    {"context.share", context_share, true},
    {"context.messages", context_messages, true},
    {"answer.tokens", answer_tokens, true},
    {"answer.bytes", answer_bytes, true},
    {"prompt.tokens", prompt_tokens, true},
    {"first_token_ms", first_token_ms, true},
    {"tools.calls", tool_calls, true},
    {"summaries", summaries, true},
    {"artifacts", artifacts, true},
    {"unsaved", unsaved, true},
    {"denied", denied, false},
    {"pool.tokens", pool_tokens, false},
    {"pool.reserved", pool_reserved, false},
    {"pool.filled", pool_filled, false},
    {"pool.shared", pool_shared, false},
    {"pool.cached", pool_cached, false},
    {"requests.running", running, false},
    {"requests.waiting", waiting, false},
    {"memory.weights", memory_weights, false},
    {"memory.kv", memory_kv, false},
    {"memory.work", memory_work, false},
    {"memory.ours", memory_ours, false},
    {"memory.ceiling", memory_ceiling, false},
};

const char *console_figure_name(void *console, size_t i)
{
    (void)console;
    return i < COUNT_OF(figures) ? figures[i].name : NULL;
}

bool console_figure(void *console, const char *name, double *value)
{
    const struct console *c = console;
    const char *at = strchr(name, '@');
    size_t n = at ? (size_t)(at - name) : strlen(name);
    int agent = !at ? c->team.current : at[1] ? team_find(&c->team, at + 1, strlen(at + 1)) : -1;
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        const struct figure *f = &figures[i];
        if (strlen(f->name) != n || memcmp(f->name, name, n) != 0) continue;
        if (agent < 0 || (at && !f->agent)) return false;
        struct scene x = {.c = c, .s = &c->team.member[agent].s, .named = at != NULL};
        session_figures(&c->team.member[agent].s, &x.w);
        c->a->ops->snapshot(c->a->engine, &x.e);
        *value = f->value(&x);
        return true;
    }
    return false;
}
