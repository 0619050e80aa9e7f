/* stress_cmd.c - `plimsoll stress --agents N --turns N [flags]`: so many agents talk at once, with turns of plimsoll's
 * own, on whatever memory the flags give (--parallel: contexts in the pool); what does not fit waits.  At the end the
 * figures: did all turns end, was the pool or the ledger ever exceeded, in which order were they served.
 *
 * An agent is overtaken when another whose turn was asked for later is begun first. */
#include "app/faces.h"
#include "app/say.h"
#include "app/session/session_impl.h"
#include "app/session/strand.h"
#include "app/signals.h"

enum { AGENTS = 8, AGENTS_MOST = STRANDS, TURNS = 4, TURNS_MOST = 10000, BEGAN_MOST = 2 * STRANDS };

struct worker {
    struct stress *st;
    struct session s;
    struct session_role role;
    char name[16];
    uint64_t asked;                     /* the number of its ask that is not begun yet; 0: none */
    int overtaken, most;                /* by others: of this ask, of any */
    int done, refused, failed, stopped; /* turns; the stopped are among the done */
    int64_t tokens, calls;
};

struct stress {
    struct app *a;
    struct strands strands;
    struct worker *w; /* n */
    int n, turns;
    uint64_t asks;
    uint64_t began[BEGAN_MOST]; /* asks that were begun in this round */
    int n_began;
    double *first; /* seconds to the first token of each turn that had one */
    size_t n_first;
    uint64_t reserved, filled; /* tokens of the pool, at most */
    int64_t running, waiting;  /* requests, at most */
    bool exceeded;
    int status; /* of the turn that failed first */
    struct err err;
};

/* ---------------------------------------------------------------- options */

void stress_help(struct buf *out)
{
    buf_printf(out,
               "plimsoll stress: many agents talk at once, with turns of its own, on the memory that the flags give\n"
               "  plimsoll stress [--agents N] [--turns N] [FLAGS]\n"
               "\n"
               "  --agents N    1 to %d; %d by itself\n"
               "  --turns N     of each, 1 to %d; %d by itself\n"
               "\n"
               "What does not fit waits.  At the end there are figures: turns that were answered, refused and failed,\n"
               "what the pool held at most, whether it was ever exceeded, and in which order the agents were\n"
               "served.  Nothing is saved and nobody is asked.\n"
               "\n"
               "FLAGS are plimsoll's own (plimsoll --help): --pool, --parallel and --ctx say how much memory there\n"
               "is, --json is the stream of events.  Not with it: -p, --nll, --dump-tokens, --dump-logprobs, --crew,\n"
               "--resume, --script.\n", AGENTS_MOST, AGENTS, TURNS_MOST, TURNS);
}

static int take_number(const char *flag, const char *text, int most, int *out, struct err *err)
{
    char *end = NULL;
    long n = text && *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;
    if (!end || *end || n < 1 || n > most)
        return err_set(err, -1, "%s: \"%.60s\" is not a whole number from 1 to %d", flag, text ? text : "", most);
    *out = (int)n;
    return 0;
}

static int check_stress(struct opts *o, struct err *err)
{
    const bool crew = o->crew && !opts_yields(o, "--crew");
    const char *not_it = o->prompt ? "-p" : o->nll ? "--nll" : o->dump_tokens ? "--dump-tokens"
                         : o->top_logprobs >= 0 ? "--dump-logprobs" : crew ? "--crew" : o->resume ? "--resume"
                         : o->script ? "--script" : NULL;
    if (!not_it) return 0;
    return err_set(err, -1, "plimsoll stress has agents and turns of its own: %s does not go with it", not_it);
}

int stress_opts(struct opts *o, int argc, char *const *argv, struct err *err)
{
    char **rest = calloc((size_t)argc + 1, sizeof *rest);
    int n = 0, agents = AGENTS, turns = TURNS, bad = rest ? 0 : err_set(err, -1, "no memory for the options");
    for (int i = 0; i < argc && !bad; i++) {
        bool is_agents = strcmp(argv[i], "--agents") == 0, is_turns = strcmp(argv[i], "--turns") == 0;
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (is_agents) bad = take_number("--agents", value, AGENTS_MOST, &agents, err);
        else if (is_turns) bad = take_number("--turns", value, TURNS_MOST, &turns, err);
        else if (i != 1) rest[n++] = argv[i];
        i += is_agents || is_turns;
    }
    if (!bad) bad = opts_parse(o, n, rest, NULL, err);
    else *o = (struct opts){.plain = true};
    if (!bad && !o->help && !o->version && !o->help_events) bad = check_stress(o, err);
    free(rest);
    o->argc = argc;
    o->argv = argv;
    o->agents = agents;
    o->turns = turns;
    o->no_save = o->script = true; /* nothing of it is kept, and nobody is asked */
    return bad;
}

/* ---------------------------------------------------------------- an agent */

static void note(void *self, struct event *e)
{
    struct worker *w = self;
    struct stress *st = w->st;
    if (e->kind == EV_TURN_START && e->turn_start.call == 1 && w->asked && st->n_began < BEGAN_MOST) {
        st->began[st->n_began++] = w->asked;
        w->asked = 0;
    }
    if (e->kind == EV_TURN_END) {
        w->tokens += e->turn_end.tokens;
        bool first = e->turn_end.call == 1 && e->turn_end.first_token_s > 0;
        if (first) st->first[st->n_first++] = e->turn_end.first_token_s;
    }
    w->calls += e->kind == EV_TOOL;
    w->stopped += e->kind == EV_STOPPED;
}

static void take(struct worker *w, int status, const struct err *err)
{
    struct stress *st = w->st;
    w->done += status == EXIT_DONE;
    w->refused += status == EXIT_REFUSED;
    w->failed += status != EXIT_DONE && status != EXIT_REFUSED;
    w->asked = 0;
    if (status == EXIT_DONE || st->status != EXIT_DONE) return;
    st->status = status;
    st->err = *err;
}

static bool calculates(const struct app *a)
{
    for (int i = 0; i < a->toolbox.n_on; i++)
        if (strcmp(a->toolbox.on[i], "calculator") == 0) return true;
    return false;
}

static void work(void *self)
{
    struct worker *w = self;
    struct stress *st = w->st;
    char text[160];
    st->a->trace.voice = &w->s.voice;
    for (int t = 1; t <= st->turns && !signals_pending(); t++) {
        struct err err = {0};
        int number = w->role.agent + 1;
        if (calculates(st->a))
            snprintf(text, sizeof text, "What is %d * %d? Please use the calculator.", 16 + number, t);
        else
            snprintf(text, sizeof text, "This is turn %d of agent %d. What does a load line on a ship say?", t, number);
        w->asked = ++st->asks;
        w->overtaken = 0;
        int status = session_ask(&w->s, text, strlen(text), &err);
        take(w, status, &err);
    }
}

/* ---------------------------------------------------------------- all of them */

static int open_workers(struct stress *st, struct err *err)
{
    struct app *a = st->a;
    for (int i = 0; i < st->n; i++) {
        struct worker *w = &st->w[i];
        w->st = st;
        snprintf(w->name, sizeof w->name, "a%d", i + 1);
        w->role = session_alone(a);
        w->role.name = w->name;
        w->role.agent = i;
        int status = session_new_as(&w->s, a, &w->role, a->o->system, err);
        a->trace.voice = &a->trace.own;
        if (status != EXIT_DONE) return status;
        w->s.silent = true;
        w->s.voice.note = note;
        w->s.voice.self = w;
    }
    a->turns = 0;
    for (int i = 0; i < st->n; i++)
        if (strands_start(&st->strands, work, &st->w[i], err)) return EXIT_INTERNAL;
    return EXIT_DONE;
}

static void look_at_order(struct stress *st)
{
    for (int k = 0; k < st->n_began; k++)
        for (int i = 0; i < st->n; i++) {
            struct worker *w = &st->w[i];
            if (!w->asked || w->asked > st->began[k]) continue;
            w->most = MAX(w->most, ++w->overtaken);
        }
    st->n_began = 0;
}

static void look_at_memory(struct stress *st)
{
    struct engine_snapshot s;
    st->a->ops->snapshot(st->a->engine, &s);
    st->reserved = MAX(st->reserved, s.reserved_tokens);
    st->filled = MAX(st->filled, s.filled_tokens);
    st->running = MAX(st->running, s.running);
    st->waiting = MAX(st->waiting, s.waiting);
    st->exceeded |= s.reserved_tokens > s.pool_tokens || s.filled_tokens > s.pool_tokens;
}

/* ---------------------------------------------------------------- the figures */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The nearest rank, of sorted times, in milliseconds. */
static double percentile(const struct stress *st, int p)
{
    size_t rank = (st->n_first * (size_t)p + 99) / 100;
    return st->n_first > 0 ? 1e3 * st->first[rank - 1] : 0;
}

static void put_agents(const struct stress *st, struct worker *all, struct buf *out)
{
    buf_puts(out, "agent   turns  refused  failed  stopped    calls   tokens  overtaken\n");
    for (int i = 0; i <= st->n; i++) {
        const struct worker *w = i < st->n ? &st->w[i] : all;
        buf_printf(out, "%-6s %6d %8d %7d %8d %8lld %8lld %10d\n", w->name, w->done, w->refused, w->failed, w->stopped,
                   (long long)w->calls, (long long)w->tokens, w->most);
        all->done += i < st->n ? w->done : 0;
        all->refused += i < st->n ? w->refused : 0;
        all->failed += i < st->n ? w->failed : 0;
        all->stopped += i < st->n ? w->stopped : 0;
        all->calls += i < st->n ? w->calls : 0;
        all->tokens += i < st->n ? w->tokens : 0;
        all->most = MAX(all->most, w->most);
    }
}

static void put_figures(struct stress *st, struct worker *all, struct buf *out)
{
    const struct ledger *l = &st->a->info->ledger;
    struct engine_snapshot s;
    st->a->ops->snapshot(st->a->engine, &s);
    qsort(st->first, st->n_first, sizeof *st->first, by_size);
    put_agents(st, all, out);
    buf_printf(out, "turns        %d of %lld ended\n", all->done, (long long)st->n * st->turns);
    buf_printf(out, "first token  p50 %.1f ms, p99 %.1f ms, from asking on\n", percentile(st, 50), percentile(st, 99));
    buf_printf(out, "requests     %lld running, %lld waiting at most\n", (long long)st->running,
               (long long)st->waiting);
    buf_printf(out, "pool         %llu of %llu tokens promised at most, %llu filled\n",
               (unsigned long long)st->reserved, (unsigned long long)s.pool_tokens, (unsigned long long)st->filled);
    buf_printf(out, "ledger       %.1f MiB under a ceiling of %.1f MiB\n", (double)ledger_under(l) / 0x1p20,
               (double)l->ceiling / 0x1p20);
    buf_printf(out, "order        an agent was overtaken %d times at most\n", all->most);
}

/* Events have stdout with --json. */
static void print(struct app *a, const struct buf *text)
{
    if (!a->o->json) {
        out_put(&a->answers, text->data, text->len);
        return;
    }
    for (size_t at = 0; at < text->len; at += strcspn(text->data + at, "\n") + 1)
        say("%.*s", (int)strcspn(text->data + at, "\n"), text->data + at);
}

static int report(struct stress *st)
{
    const struct ledger *l = &st->a->info->ledger;
    struct worker all = {.name = "all"};
    struct buf text = {0};
    bool over = l->ceiling > 0 && ledger_under(l) > l->ceiling;
    put_figures(st, &all, &text);
    if (!text.failed) print(st->a, &text);
    buf_free(&text);
    if (signals_pending()) return 128 + signals_pending();
    if (st->exceeded || over) {
        app_error(st->a, "turn", st->exceeded ? "more was promised or filled than the pool has" :
                                                "the ledger is over its ceiling");
        return EXIT_INTERNAL;
    }
    face_complain(st->a, st->status, &st->err);
    return st->status;
}

int stress_run(struct app *a)
{
    struct stress st = {.a = a, .n = a->o->agents, .turns = a->o->turns};
    struct err err = {0};
    st.w = calloc((size_t)st.n, sizeof *st.w);
    st.first = calloc((size_t)st.n * (size_t)st.turns, sizeof *st.first);
    int status = st.w && st.first ? EXIT_DONE : err_set(&err, EXIT_INTERNAL, "no memory for so many agents");
    strands_open(&st.strands, a);
    if (status == EXIT_DONE) status = open_workers(&st, &err);
    while (strands_round(&st.strands)) {
        look_at_order(&st);
        look_at_memory(&st);
    }
    if (status == EXIT_DONE) status = report(&st);
    else app_error(a, "open", err.text);
    for (int i = 0; st.w && i < st.n; i++) session_close(&st.w[i].s);
    strands_close(&st.strands);
    free(st.first);
    free(st.w);
    return status;
}
