/* verdict_own_refusal.c - the verdict on a refusal, on a stream that breaks off, and the sentences that all share. */
#include "app/learn/verdict_own_impl.h"

enum { FULL = 90 /* percent of a pool */, SCARCE = 50 /* of a machine's memory, a fiftieth */ };

/* ------------------------------------------------------------------ shared sentences */

uint64_t judge_tokens_bytes(const struct judge *j, int64_t tokens)
{
    int64_t each = j->token_bytes;
    uint64_t bytes;
    if (each <= 0 && j->memory.pool_tokens > 0) each = j->memory.kv_bytes / j->memory.pool_tokens;
    if (tokens <= 0 || size_mul((uint64_t)tokens, (uint64_t)MAX(each, 1), &bytes)) return 0;
    return MIN(bytes, (uint64_t)JUDGE_FIGURE);
}

void judge_where(const struct judge_agent *a, int64_t turn, const char *policy, struct verdict *v)
{
    int n = 0;
    if (turn > 0) n = snprintf(v->where, sizeof v->where, "turn %lld", (long long)turn);
    if (*a->name) n += snprintf(v->where + n, sizeof v->where - (size_t)n, "%s%s", n > 0 ? " of " : "", a->name);
    if (*policy) snprintf(v->where + n, sizeof v->where - (size_t)n, "%spolicy %s", n > 0 ? ", " : "", policy);
}

void judge_say_growth(const struct judge_agent *a, struct verdict *v)
{
    struct judge_growth g;
    if (!judge_growth_of(a, &g)) return;
    const char *unit = g.calls ? "call" : "turn";
    struct verdict_figure *f = verdict_figure(v, g.calls ? "a call" : "a turn", (uint64_t)(g.slope + 0.5));
    if (f) snprintf(f->unit, sizeof f->unit, "tokens");
    if (f) f->reckoned = true;
    verdict_evidence(v, "prompts grow by %.1f tokens a %s since %s %lld (r2 %.2f over %d)", g.slope, unit, unit,
                     (long long)g.first, g.r2, g.points);
    verdict_evidence(v, "%s %lld sent %lld tokens, %s %lld sent %lld", unit, (long long)g.first, (long long)g.from,
                     unit, (long long)g.last, (long long)g.to);
}

void judge_not_growth(const struct judge_agent *a, struct verdict *v)
{
    struct judge_growth g;
    if (judge_growth_of(a, &g)) return;
    if (a->points <= 1) verdict_not(v, "growth with turns: it is the first call");
    else if (a->point[a->points - 1].prompt <= a->point[a->points - 2].prompt)
        verdict_not(v, "growth with turns: the prompts of the last calls do not grow");
}

/* What comes free of so many tokens: what was asked for may have been more than the whole pool. */
static int64_t bytes_of(const struct judge *j, int64_t tokens)
{
    const int64_t bytes = (int64_t)judge_tokens_bytes(j, tokens);
    return j->memory.kv_bytes > 0 ? MIN(bytes, j->memory.kv_bytes) : bytes;
}

/* What of the history may leave. */
void judge_fix_history(const struct judge *j, const struct judge_agent *a, struct verdict *v)
{
    struct judge_growth g;
    struct verdict_fix *f;
    const bool grew = judge_growth_of(a, &g);
    const int64_t leaves = MAX(a->frees_tokens, grew ? g.to - g.from : 0);
    if (leaves > 0 && (f = verdict_fix(v, bytes_of(j, leaves), "window and summary: %lld tokens leave the prompt",
                                       (long long)leaves))) {
        const int64_t asks = judge_prompt(a) + a->reserve; /* to sum up is a request too */
        const bool now = a->frees_tokens > 0 && asks <= j->memory.pool_tokens;
        snprintf(f->how, sizeof f->how, "--summary, --high-mark%s", now ? "; /compact does it now" : "");
        f->apply = now ? APPLY_COMPACT : APPLY_NOTHING;
    }
    if (a->tool_tokens > 0 && (f = verdict_fix(v, bytes_of(j, a->tool_tokens), "drop results of tools: %lld tokens",
                                               (long long)a->tool_tokens))) {
        snprintf(f->how, sizeof f->how, "--result-tokens clips them at the boundary; /drop takes one out");
        f->apply = APPLY_DROP_RESULT;
    }
    if (grew && !g.calls && a->points >= 2) {
        const int64_t last = a->point[a->points - 1].prompt - a->point[a->points - 2].prompt;
        if (last > 0 && (f = verdict_fix(v, bytes_of(j, last), "take the last turn back: %lld tokens",
                                         (long long)last))) {
            snprintf(f->how, sizeof f->how, "/undo");
            f->apply = APPLY_UNDO;
        }
    }
}

/* ------------------------------------------------------------------ refusals */

static void tokens_figure(struct verdict *v, const char *name, int64_t n)
{
    struct verdict_figure *f = verdict_figure(v, name, (uint64_t)MAX(n, 0));
    if (f) snprintf(f->unit, sizeof f->unit, "tokens");
}

/* Where the prompt leaves room for a shorter one. */
static void shorter_answer(const struct judge *j, struct verdict *v)
{
    const struct event_shortage *s = &j->shortage;
    const int64_t room = s->has_tokens - s->prompt_tokens;
    if (room < ANSWER_LEAST || room >= s->answer_tokens) return;
    struct verdict_fix *f = verdict_fix(v, bytes_of(j, s->answer_tokens - room), "max_tokens %lld to %lld",
                                        (long long)s->answer_tokens, (long long)room);
    if (!f) return;
    snprintf(f->how, sizeof f->how, "-n %lld", (long long)room);
    f->apply = APPLY_MAX_TOKENS;
    f->value = room;
}

static void refused_tokens(const struct judge *j, const struct judge_agent *a, bool pool, struct verdict *v)
{
    const struct event_shortage *s = &j->shortage;
    char lack[VERDICT_BYTES];
    v->cause = pool ? CAUSE_KV : CAUSE_CONTEXT;
    snprintf(v->what, sizeof v->what, "needs %lld tokens; %s holds %lld", (long long)s->needs_tokens,
             pool ? "the whole pool" : "the context", (long long)s->has_tokens);
    tokens_figure(v, "needs", s->needs_tokens);
    tokens_figure(v, "has", s->has_tokens);
    tokens_figure(v, "prompt", s->prompt_tokens);
    tokens_figure(v, "answer at most", s->answer_tokens);
    verdict_evidence(v, "prompt %lld + answer %lld = %lld: %lld more than there is room for (%s)",
                     (long long)s->prompt_tokens, (long long)s->answer_tokens, (long long)s->needs_tokens,
                     (long long)(s->needs_tokens - s->has_tokens),
                     verdict_bytes(judge_tokens_bytes(j, s->needs_tokens - s->has_tokens), lack));
    judge_say_growth(a, v);
    judge_not_growth(a, v);
    verdict_not(v, "%s: nobody waits for anybody; alone it would be refused too", cause_name(CAUSE_CONCURRENCY));
    shorter_answer(j, v);
    judge_fix_history(j, a, v);
    struct verdict_fix *f = verdict_fix(v, -1, "a larger %s, which takes %s more", pool ? "pool" : "context", lack);
    if (f) snprintf(f->how, sizeof f->how, "%s %lld", pool ? "--pool" : "--ctx", (long long)s->needs_tokens);
}

/* The user's own words, which nobody cuts.  Nothing was taken for them, so no fix frees anything. */
static void refused_turn(const struct judge *j, struct verdict *v)
{
    const struct event_shortage *s = &j->shortage;
    v->cause = CAUSE_CONTEXT;
    snprintf(v->what, sizeof v->what, "this turn's own text has %lld tokens; a prompt has room for %lld of them",
             (long long)s->needs_tokens, (long long)s->has_tokens);
    tokens_figure(v, "needs", s->needs_tokens);
    tokens_figure(v, "has", s->has_tokens);
    verdict_evidence(v, "%lld tokens too many, and %lld are set aside for the answer",
                     (long long)(s->needs_tokens - s->has_tokens), (long long)s->answer_tokens);
    verdict_not(v, "growth with turns: the rest of the conversation could leave, and that would not be enough");
    verdict_fix(v, -1, "say it in parts of at most %lld tokens, or attach the text as a file",
                (long long)MAX(s->has_tokens, 1));
}

/* The window refused before there were figures of a request. */
static void refused_window(const struct judge *j, const struct judge_agent *a, struct verdict *v)
{
    const int64_t limit = a->ctx - a->reserve;
    v->cause = CAUSE_CONTEXT;
    snprintf(v->what, sizeof v->what, "the prompt needs %lld tokens with all out that may leave; %lld is the limit",
             (long long)a->refused, (long long)limit);
    tokens_figure(v, "needs", a->refused);
    tokens_figure(v, "has", limit);
    verdict_evidence(v, "context %lld - %lld set aside for what is written = %lld", (long long)a->ctx,
                     (long long)a->reserve, (long long)limit);
    judge_fix_history(j, a, v);
}

static void refused_open(const struct judge *j, struct verdict *v)
{
    const struct event_shortage *s = &j->shortage;
    const int64_t rest = s->needs_bytes - s->weight_bytes - s->kv_bytes - s->work_bytes;
    char n[5][VERDICT_BYTES];
    verdict_bytes((uint64_t)s->needs_bytes, n[0]);
    verdict_bytes((uint64_t)s->has_bytes, n[1]);
    verdict_bytes((uint64_t)s->weight_bytes, n[2]);
    verdict_bytes((uint64_t)s->work_bytes, n[3]);
    verdict_bytes((uint64_t)s->kv_bytes, n[4]);
    v->cause = s->weight_bytes > s->has_bytes                        ? CAUSE_WEIGHTS
               : s->needs_bytes - s->kv_bytes > s->has_bytes         ? CAUSE_ACTIVATIONS
                                                                     : CAUSE_KV;
    snprintf(v->what, sizeof v->what, "needs %s before the first word; the ceiling is %s", n[0], n[1]);
    verdict_figure(v, "needs", (uint64_t)s->needs_bytes);
    verdict_figure(v, "ceiling", (uint64_t)s->has_bytes);
    verdict_figure(v, "weights", (uint64_t)s->weight_bytes);
    verdict_figure(v, "workspace", (uint64_t)s->work_bytes);
    verdict_figure(v, "KV pool", (uint64_t)s->kv_bytes);
    verdict_figure(v, "tables and texts", (uint64_t)MAX(rest, 0));
    if (v->cause == CAUSE_WEIGHTS) verdict_evidence(v, "the weights alone have %s, of %s allowed", n[2], n[1]);
    else verdict_not(v, "model size: weights %s of %s", n[2], n[1]);
    if (v->cause == CAUSE_ACTIVATIONS)
        verdict_evidence(v, "weights %s and workspace %s leave nothing for a pool", n[2], n[3]);
    if (v->cause == CAUSE_KV)
        verdict_evidence(v, "the pool is to have %s; without it all would fit", n[4]);
    verdict_not(v, "growth, fragmentation, concurrency: nothing has run yet");
    const int64_t over = s->needs_bytes - s->has_bytes;
    struct verdict_fix *f = NULL;
    const bool room = s->weight_bytes + s->work_bytes < s->has_bytes; /* for a pool, of some size */
    if (room) f = verdict_fix(v, over, "the largest context that fits");
    if (f) snprintf(f->how, sizeof f->how, "--fit, or a smaller --ctx");
    f = verdict_fix(v, room ? -1 : over, "a smaller type of the same weights, or a smaller model");
    if (f) snprintf(f->how, sizeof f->how, "plimsoll models --within SIZE lists what is here and fits");
}

static void refused_bytes(const struct judge *j, const char *what, struct verdict *v)
{
    const struct event_shortage *s = &j->shortage;
    char needs[VERDICT_BYTES], has[VERDICT_BYTES];
    v->cause = CAUSE_HOST;
    verdict_bytes((uint64_t)s->needs_bytes, needs);
    verdict_bytes((uint64_t)s->has_bytes, has);
    if (s->needs_bytes > 0) snprintf(v->what, sizeof v->what, "%s: needs %s, and %s are left", what, needs, has);
    else snprintf(v->what, sizeof v->what, "%s: %s are left, too little for it", what, has);
    if (s->needs_bytes > 0) verdict_figure(v, "needs", (uint64_t)s->needs_bytes);
    verdict_figure(v, "left", (uint64_t)s->has_bytes);
    verdict_evidence(v, "it is host memory that lacks; the KV pool holds %lld of %lld tokens",
                     (long long)j->memory.filled_tokens, (long long)j->memory.pool_tokens);
}

static bool is(struct event_str s, const char *word)
{
    return s.len == strlen(word) && memcmp(s.data, word, s.len) == 0;
}

/* Nobody told figures. */
static void refused_plainly(const struct judge_agent *a, const struct event_refusal *r, struct verdict *v)
{
    const struct event_str reason = r->termination_reason;
    snprintf(v->what, sizeof v->what, "%.*s", event_part(r->text, sizeof v->what - 1), r->text.data);
    if (is(reason, "refused_host")) v->cause = CAUSE_HOST;
    else if (is(reason, "refused_kv")) v->cause = a->refused > 0 ? CAUSE_CONTEXT : CAUSE_KV;
    else v->cause = CAUSE_NOT_MEMORY;
    if (is(reason, "refused_store")) verdict_evidence(v, "what lacks is room in the store, on disk");
    else if (v->cause == CAUSE_NOT_MEMORY)
        verdict_evidence(v, "it was refused as %.*s, before any memory was asked for", event_part(reason, 40),
                         reason.data);
}

void judge_refusal(const struct judge *j, const struct judge_agent *a, const struct event_refusal *r,
                   struct verdict *v)
{
    *v = (struct verdict){.sure = SURE_CERTAIN, .stack = STACK_PLIMSOLL};
    judge_where(a, MAX(0, MIN(r->turn, JUDGE_FIGURE)), "", v);
    if (strcmp(j->reason, "open") == 0) refused_open(j, v);
    else if (strcmp(j->reason, "context") == 0) refused_tokens(j, a, false, v);
    else if (strcmp(j->reason, "pool") == 0) refused_tokens(j, a, true, v);
    else if (strcmp(j->reason, "turn") == 0) refused_turn(j, v);
    else if (strcmp(j->reason, "requests") == 0) refused_bytes(j, "the room for requests and their answers", v);
    else if (strcmp(j->reason, "host") == 0) refused_bytes(j, "what is kept on the host", v);
    else if (a->refused > 0 && is(r->termination_reason, "refused_kv")) refused_window(j, a, v);
    else refused_plainly(a, r, v);
    if (strcmp(j->reason, "queue") == 0) v->cause = CAUSE_CONCURRENCY;
}

/* ------------------------------------------------------------------ a stream that breaks off */

/* Who grew the most of those who ran. */
static const struct judge_agent *grows_most(const struct judge *j, struct judge_growth *g)
{
    const struct judge_agent *most = NULL;
    for (int i = 0; i < j->agents; i++) {
        struct judge_growth one;
        if (!judge_growth_of(&j->agent[i], &one) || (most && one.slope <= g->slope)) continue;
        most = &j->agent[i];
        *g = one;
    }
    return most;
}

static void say_fill(const struct event_memory *m, const char *more, struct verdict *v)
{
    tokens_figure(v, "pool", m->pool_tokens);
    tokens_figure(v, "reserved", m->reserved_tokens);
    tokens_figure(v, "filled", m->filled_tokens);
    snprintf(v->what, sizeof v->what, "%lld %% of the pool of %lld tokens was filled when it was last seen%s",
             (long long)(m->filled_tokens * 100 / m->pool_tokens), (long long)m->pool_tokens, more);
    verdict_evidence(v, "%lld ran, %lld waited, %lld were parked", (long long)m->running, (long long)m->waiting,
                     (long long)m->parked);
}

/* A pool is taken at the start: full, it makes requests wait, and ends no program.  Who may is the machine. */
static void died_full(const struct judge *j, const struct event_memory *m, struct verdict *v)
{
    struct judge_growth g = {0};
    const struct judge_agent *a = grows_most(j, &g);
    v->sure = SURE_GUESS;
    v->cause = a ? CAUSE_GROWTH : m->running > 1 ? CAUSE_CONCURRENCY : CAUSE_KV;
    say_fill(m, "", v);
    if (a) {
        judge_where(a, 0, "", v);
        judge_say_growth(a, v);
        judge_fix_history(j, a, v);
    }
    verdict_next(v, "a full pool makes requests wait; what ended the program is not in its figures (dmesg | grep -i "
                    "kill)");
}

static void died_of_host(const struct judge *j, struct verdict *v)
{
    char left[VERDICT_BYTES], total[VERDICT_BYTES];
    v->cause = CAUSE_HOST;
    verdict_bytes((uint64_t)j->host_free, left);
    verdict_bytes((uint64_t)j->host_total, total);
    snprintf(v->what, sizeof v->what, "the machine or device had %s of %s free when it was last seen", left, total);
    verdict_figure(v, "total", (uint64_t)j->host_total);
    verdict_figure(v, "free", (uint64_t)j->host_free);
    verdict_next(v, "the kernel's OOM killer would have said so: dmesg | grep -i kill");
}

void judge_death(const struct judge *j, struct verdict *v)
{
    const struct event_memory *m = &j->fullest;
    char weights[VERDICT_BYTES], ceiling[VERDICT_BYTES], left[VERDICT_BYTES];
    *v = (struct verdict){.stack = STACK_PLIMSOLL, .sure = SURE_LIKELY};
    if (m->pool_tokens <= 0) {
        snprintf(v->what, sizeof v->what, "it died before it told any figure of its memory");
        v->sure = SURE_GUESS;
        return;
    }
    const bool scarce = j->host_total > 0 && j->host_free < j->host_total / SCARCE;
    if (scarce) {
        died_of_host(j, v);
    } else if (m->filled_tokens * 100 / m->pool_tokens >= FULL) {
        died_full(j, m, v);
    } else {
        v->cause = CAUSE_NOT_MEMORY;
        say_fill(m, ": nothing in its figures points to memory", v);
        verdict_next(v, "a signal ends a program like this: kill, a closed terminal, or the kernel's OOM killer "
                        "(dmesg | grep -i kill)");
    }
    if (m->ceiling_bytes > 0)
        verdict_not(v, "model size: weights %s of a ceiling of %s", verdict_bytes((uint64_t)m->weight_bytes, weights),
                    verdict_bytes((uint64_t)m->ceiling_bytes, ceiling));
    if (j->host_total > 0 && !scarce)
        verdict_not(v, "the machine's own memory: %s were free", verdict_bytes((uint64_t)j->host_free, left));
    verdict_rank(v);
}
