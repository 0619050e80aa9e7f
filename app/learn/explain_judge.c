/* explain_judge.c - see explain_judge.h.  What is reckoned counts most, then what the words state, then the stage, then
 * what a person says beside it; what a framework is known for only breaks a tie. */
#include "app/learn/explain_judge.h"

enum { HINT_MOST = 8, MANY_RUNNING = 16, LONG_CONTEXT = 32768 };
#define GIB 0x1p30

int cause_rank(enum cause c)
{
    static const enum cause order[] = {
        CAUSE_OTHER_PROCESS, CAUSE_ALLOCATOR, CAUSE_WEIGHTS, CAUSE_STATIC_BATCH, CAUSE_HOST, CAUSE_LEAK,
        CAUSE_FRAGMENTATION, CAUSE_KV, CAUSE_ACTIVATIONS, CAUSE_CONCURRENCY, CAUSE_GROWTH, CAUSE_CONTEXT,
        CAUSE_NOT_MEMORY, CAUSE_UNKNOWN};
    for (int i = 0; i < (int)COUNT_OF(order); i++)
        if (order[i] == c) return i;
    return CAUSES;
}

bool prefers_growth(enum stack s) { return s == STACK_LANGGRAPH || s == STACK_AUTOGEN || s == STACK_CREWAI; }

/* ------------------------------------------------------------------ arithmetic */

/* What this process holds by the message: its own word for it, or what its allocator has reserved. */
static double held_by_me(const struct fail_case *c, const struct device_sum *s)
{
    if (c->has[FIG_IN_USE]) return c->fig[FIG_IN_USE];
    double best = 0; /* "Process 4242 has ..." is this one if it is about as big as what the allocator holds */
    for (int i = 0; i < c->processes; i++) {
        bool fits = c->process[i] >= s->reserved * 0.98 && c->process[i] <= s->reserved + 2.5 * GIB;
        if (fits && (best == 0 || c->process[i] < best)) best = c->process[i];
    }
    return best > 0 ? best : s->reserved;
}

static void complete(const struct fail_case *c, struct device_sum *s)
{
    if (c->has[FIG_GAP]) {
        s->gap = c->fig[FIG_GAP];
        s->has_gap = true;
        if (!c->has[FIG_RESERVED]) s->reserved = s->allocated + s->gap;
    } else if (c->has[FIG_RESERVED] && c->has[FIG_ALLOCATED] && s->reserved >= s->allocated) {
        s->gap = s->reserved - s->allocated;
        s->has_gap = s->gap_reckoned = true;
    }
    if (!c->has[FIG_TOTAL] || !c->has[FIG_FREE] || !(c->has[FIG_RESERVED] || c->has[FIG_GAP])) return;
    double mine = held_by_me(c, s), outside = s->total - s->free - mine;
    for (int i = 0; i < c->processes; i++) /* what is listed beside this one is outside, whatever the sum says */
        if (c->process[i] != mine && c->processes > 1) outside = outside > c->process[i] ? outside : c->process[i];
    s->outside = outside > 0 ? outside : 0;
    s->has_outside = true;
}

struct device_sum device_sum(const struct fail_case *c)
{
    struct device_sum s = {.tried = c->fig[FIG_TRIED], .total = c->fig[FIG_TOTAL], .free = c->fig[FIG_FREE],
                           .allocated = c->fig[FIG_ALLOCATED], .reserved = c->fig[FIG_RESERVED],
                           .allowed = c->fig[FIG_ALLOWED]};
    s.known = c->has[FIG_TRIED] && c->has[FIG_FREE];
    complete(c, &s);
    s.gap_suffices = s.known && s.has_gap && s.free + s.gap >= s.tried;
    double much = s.total * 0.08 > 1.5 * GIB ? s.total * 0.08 : 1.5 * GIB;
    /* What is free is asked for after the failure: a little of it says nothing where others come and go. */
    bool lacked = s.free < s.tried || s.free < s.total * 0.05;
    s.other_holds = s.known && s.has_outside && s.outside >= much && lacked &&
                    s.free + s.outside >= s.tried && s.outside > s.gap;
    return s;
}

static bool allowed_less(const struct fail_case *c, const struct device_sum *s)
{
    return c->has[FIG_ALLOWED] && (s->total <= 0 || s->allowed < s->total * 0.98);
}

static void by_arithmetic(const struct fail_case *c, const struct device_sum *s, int *points)
{
    if (c->has[FIG_ALLOWED] && c->has[FIG_BESIDE]) points[CAUSE_ALLOCATOR] += 5; /* MPS: its own high-water mark */
    else if (allowed_less(c, s) && s->known && s->free >= s->tried) points[CAUSE_ALLOCATOR] += 9;
    if (c->has[FIG_TRIED] && c->has[FIG_TOTAL] && s->tried >= s->total) points[CAUSE_ACTIVATIONS] += 3;
    if (!c->has[FIG_TRIED] && s->has_gap && s->gap >= s->reserved * 0.15) points[CAUSE_FRAGMENTATION] += 4;
    if (!s->known) return;
    if (s->other_holds) points[CAUSE_OTHER_PROCESS] += s->outside >= s->total * 0.2 ? 9 : 5;
    if (s->free < s->tried && s->has_gap) {
        if (s->gap >= s->tried && s->gap >= s->total * 0.1) points[CAUSE_FRAGMENTATION] += 8;
        else if (s->gap_suffices && s->gap >= s->reserved * 0.08) points[CAUSE_FRAGMENTATION] += 5;
        else if (s->gap_suffices && s->gap >= GIB) points[CAUSE_FRAGMENTATION] += 4;
    }
    if (s->free >= s->tried && !s->other_holds && !allowed_less(c, s)) points[CAUSE_FRAGMENTATION] += 5;
    if (s->tried >= s->total * 0.08 && s->tried > s->free) points[CAUSE_ACTIVATIONS] += 2;
    if (c->has[FIG_ALLOCATED] && s->allocated >= s->total * 0.85 && s->tried < s->total * 0.03)
        points[CAUSE_WEIGHTS] += 2;
}

static void by_start_figures(const struct fail_case *c, int *points)
{
    if (c->said == CAUSE_KV && c->has[FIG_KV_NEEDED] && c->has[FIG_KV_HAVE] &&
        c->fig[FIG_KV_NEEDED] > c->fig[FIG_KV_HAVE])
        points[CAUSE_KV] += 3;
    if (c->has[FIG_START_FREE] && c->has[FIG_TOTAL]) {
        double held = c->fig[FIG_TOTAL] - c->fig[FIG_START_FREE];
        if (held < c->fig[FIG_TOTAL] * 0.03) points[CAUSE_STATIC_BATCH] += 9; /* nobody holds it */
    }
    if (c->said == CAUSE_WEIGHTS && c->has[FIG_KV_POOL] && c->has[FIG_WEIGHTS] && c->has[FIG_LIMIT] &&
        c->fig[FIG_WEIGHTS] < c->fig[FIG_LIMIT] && c->fig[FIG_KV_POOL] > c->fig[FIG_WEIGHTS])
        points[CAUSE_KV] += 9; /* our own refusal: the weights would fit, and the pool is the larger part */
    if (c->said == CAUSE_WEIGHTS && c->has[FIG_WEIGHTS] && c->has[FIG_TOTAL] &&
        c->fig[FIG_WEIGHTS] < c->fig[FIG_TOTAL] * 0.3)
        points[CAUSE_STATIC_BATCH] += 6; /* the weights are small: the share that the pool may take is */
}

/* ------------------------------------------------------------------ series, stage, words */

static void by_series(const struct fail_case *c, int *points)
{
    bool tokens = series_rising(&c->turn_tokens, 3, 1.4) || series_rising(&c->tokens_sent, 4, 1.5);
    bool messages = series_rising(&c->messages, 3, 1.4);
    bool bytes = series_rising(&c->turn_bytes, 3, 1.1) || series_rising(&c->bytes_now, 4, 1.2);
    if (tokens) points[CAUSE_GROWTH] += 9;
    if (messages) points[CAUSE_GROWTH] += tokens ? 1 : 7;
    if (bytes && !tokens && !messages) points[CAUSE_LEAK] += 8;
}

static const struct { enum cause cause; int points; } stage_row[STAGES] = {
    [STAGE_LOAD] = {CAUSE_WEIGHTS, 5},        [STAGE_KV_INIT] = {CAUSE_KV, 5},
    [STAGE_KV_GROWS] = {CAUSE_KV, 5},         [STAGE_PROFILE] = {CAUSE_ACTIVATIONS, 4},
    [STAGE_CAPTURE] = {CAUSE_ACTIVATIONS, 4}, [STAGE_PASS] = {CAUSE_ACTIVATIONS, 4},
    [STAGE_EMBED] = {CAUSE_ACTIVATIONS, 4},   [STAGE_INIT] = {CAUSE_OTHER_PROCESS, 4}};

enum cause stage_cause(enum word_stage s) { return stage_row[s].cause; }

static void by_stage(const struct fail_case *c, int *points)
{
    const bool device = c->family == FAMILY_DEVICE || c->family == FAMILY_ANY;
    if (device) points[stage_row[c->stage].cause] += stage_row[c->stage].points;
}

static void by_words(const struct fail_case *c, int *points)
{
    bool device = c->family == FAMILY_DEVICE || c->family == FAMILY_ANY;
    for (int cause = 0; cause < CAUSES; cause++) {
        int said = MIN(c->hint[cause], HINT_MOST);
        if (c->family == FAMILY_TOKENS && cause != CAUSE_CONTEXT) said = cause == CAUSE_GROWTH ? said / 2 : 0;
        if (c->family == FAMILY_HOST && cause != CAUSE_LEAK && cause != CAUSE_ALLOCATOR && cause != CAUSE_HOST)
            said = cause == CAUSE_CONCURRENCY || cause == CAUSE_GROWTH ? said * 2 / 3 : said / 3;
        if (said > 0 || device || cause == CAUSE_HOST) points[cause] += said;
    }
    if (c->said != CAUSE_UNKNOWN) points[c->said] += c->said_points + (c->said_by > 1);
    if (device && c->note[NOTE_HOURS]) points[c->fig[FIG_GAP] >= c->fig[FIG_TOTAL] * 0.1 && c->has[FIG_GAP]
                                                  ? CAUSE_FRAGMENTATION : CAUSE_LEAK] += 3;
    if (c->family == FAMILY_HOST && c->note[NOTE_HOURS]) points[CAUSE_LEAK] += 2;
    if (device && c->note[NOTE_FIRST]) points[CAUSE_WEIGHTS] += 1;
}

static void by_length(const struct fail_case *c, int *points)
{
    double longest = MAX(c->fig[FIG_LONG], c->fig[FIG_TOKENS_MOST]); /* 0: not said */
    if (c->family == FAMILY_DEVICE && c->stage == STAGE_NONE && longest >= LONG_CONTEXT)
        points[CAUSE_KV] += longest >= 3 * LONG_CONTEXT ? 3 : 2;
}

static void by_load(const struct fail_case *c, int *points)
{
    if (c->family != FAMILY_DEVICE || !c->has[FIG_RUNNING] || c->fig[FIG_RUNNING] < MANY_RUNNING) return;
    bool queue = c->has[FIG_WAITING] && c->fig[FIG_WAITING] >= 1;
    points[CAUSE_CONCURRENCY] += !queue ? 2 : c->fig[FIG_RUNNING] >= 2 * MANY_RUNNING ? 5 : 3;
}

/* What an answer alone says is likely, not certain: it is a person's word, about when and not about what. */
int judge_answered(enum explain_question q, int choice, enum cause cause)
{
    static const struct { int question, choice; enum cause cause; int points; } row[] = {
        {ASK_WHEN, 1, CAUSE_WEIGHTS, 8},      {ASK_WHEN, 2, CAUSE_WEIGHTS, 4},
        {ASK_WHEN, 2, CAUSE_ACTIVATIONS, 4},  {ASK_WHEN, 2, CAUSE_STATIC_BATCH, 3},
        {ASK_WHEN, 3, CAUSE_GROWTH, 5},       {ASK_WHEN, WHEN_HOURS, CAUSE_LEAK, 5},
        {ASK_WHEN, WHEN_HOURS, CAUSE_FRAGMENTATION, 4}, {ASK_LOAD, 1, CAUSE_CONCURRENCY, -6},
        {ASK_LOAD, 2, CAUSE_CONCURRENCY, 9},  {ASK_LENGTH, 1, CAUSE_KV, -4},
        {ASK_LENGTH, 2, CAUSE_KV, 8},         {ASK_DEVICE, 1, CAUSE_OTHER_PROCESS, -6},
        {ASK_DEVICE, 2, CAUSE_OTHER_PROCESS, 7}, {ASK_GAP, 1, CAUSE_LEAK, 4},
        {ASK_GAP, 2, CAUSE_FRAGMENTATION, 6}};
    for (size_t i = 0; i < COUNT_OF(row); i++)
        if (row[i].question == (int)q && row[i].choice == choice && row[i].cause == cause) return row[i].points;
    return 0;
}

/* What the machine's own memory does not know. */
static bool of_device_alone(enum cause c)
{
    return c == CAUSE_FRAGMENTATION || c == CAUSE_KV || c == CAUSE_OTHER_PROCESS || c == CAUSE_STATIC_BATCH;
}

static void by_answers(const struct explain_answers *known, const struct fail_case *c, int *points)
{
    if (!known || c->family == FAMILY_TOKENS) return;
    for (int q = 0; q < QUESTIONS; q++)
        for (int cause = 1; cause < CAUSES; cause++)
            if (c->family != FAMILY_HOST || !of_device_alone((enum cause)cause))
                points[cause] += judge_answered((enum explain_question)q, known->of[q], (enum cause)cause);
}

static void by_habit(const struct findings *f, const struct fail_case *c, int *points)
{
    enum stack wrapper = judge_wrapper(f);
    if (c->family != FAMILY_DEVICE && c->family != FAMILY_ANY) return;
    points[CAUSE_WEIGHTS] += 1; /* of a bare "out of memory" the likeliest by a little */
    if (c->family == FAMILY_ANY && !f->note[NOTE_DEVICE]) points[CAUSE_HOST] += 5;
    if (prefers_growth(wrapper)) points[CAUSE_GROWTH] += 3;
    else if (wrapper == STACK_LANGCHAIN) points[CAUSE_CONCURRENCY] += 3;
}

/* What was loaded before, and again, is not too big: it is held more than once. */
static void by_loads(const struct fail_case *c, int *points)
{
    if (!c->loads.n || c->family == FAMILY_TOKENS) return;
    points[CAUSE_LEAK] += 9;
    points[CAUSE_WEIGHTS] = 0;
}

static void by_smi(const struct findings *f, const struct fail_case *c, int *points)
{
    if (c->family == FAMILY_DEVICE && smi_shape(&f->smi, NULL) == SMI_CLIMBS) points[CAUSE_LEAK] += 6;
}

void judge_case(const struct findings *f, const struct fail_case *c, const struct explain_answers *known,
                struct judged *j)
{
    *j = (struct judged){.sum = device_sum(c)};
    int *p = j->points, second = 0;
    if (c->family == FAMILY_DEVICE) by_arithmetic(c, &j->sum, p);
    by_start_figures(c, p);
    by_series(c, p);
    by_stage(c, p);
    by_words(c, p);
    by_length(c, p);
    by_load(c, p);
    by_habit(f, c, p);
    by_loads(c, p);
    by_smi(f, c, p);
    by_answers(known, c, p);
    p[CAUSE_UNKNOWN] = 0;
    p[CAUSE_NOT_MEMORY] = 0;
    for (int cause = 1; cause < CAUSES; cause++) {
        bool better = p[cause] > p[j->cause] || (p[cause] == p[j->cause] && p[cause] > 0 &&
                      (cause == (int)c->said || ((int)j->cause != (int)c->said &&
                       cause_rank((enum cause)cause) < cause_rank(j->cause))));
        if (better) j->cause = (enum cause)cause;
    }
    for (int cause = 1; cause < CAUSES; cause++)
        if (cause != (int)j->cause) second = MAX(second, p[cause]);
    int best = p[j->cause];
    j->sure = best >= 6 && best - second >= 3 ? SURE_CERTAIN : best >= 4 && best > second ? SURE_LIKELY : SURE_GUESS;
    if (c->ended && j->cause == CAUSE_HOST) j->sure = MIN(j->sure, SURE_LIKELY);
}

/* ------------------------------------------------------------------ whose words */

static enum stack strongest(const struct findings *f, const enum stack *of, size_t n, int least)
{
    enum stack best = STACK_UNKNOWN;
    for (size_t i = 0; i < n; i++)
        if (f->stack[of[i]] >= least && f->stack[of[i]] > f->stack[best]) best = of[i];
    return best;
}

enum stack judge_stack(const struct findings *f, const struct fail_case *c)
{
    static const enum stack server[] = {STACK_PLIMSOLL, STACK_OLLAMA, STACK_VLLM,
                                        STACK_SGLANG,   STACK_TGI,    STACK_LLAMA_CPP};
    static const enum stack machine[] = {STACK_KUBERNETES, STACK_LINUX, STACK_PYTHON, STACK_PYTORCH};
    static const enum stack library[] = {STACK_TRANSFORMERS, STACK_PYTORCH};
    bool host = c && c->family == FAMILY_HOST;
    enum stack s = host ? strongest(f, machine, COUNT_OF(machine), 2) : STACK_UNKNOWN;
    if (host && (s == STACK_KUBERNETES || s == STACK_LINUX)) return s;
    enum stack by_server = strongest(f, server, COUNT_OF(server), 3);
    if (by_server != STACK_UNKNOWN) return by_server;
    if (s != STACK_UNKNOWN) return s;
    s = strongest(f, library, COUNT_OF(library), 2);
    if (f->stack[STACK_TRANSFORMERS] >= 3) s = STACK_TRANSFORMERS;
    if (s == STACK_UNKNOWN && c && c->family == FAMILY_TOKENS) return judge_wrapper(f);
    if (s == STACK_UNKNOWN && f->stack[STACK_CUDA]) s = STACK_CUDA;
    if (s == STACK_UNKNOWN && f->stack[STACK_KUBERNETES] >= 4) s = STACK_KUBERNETES;
    if (s != STACK_UNKNOWN || !f->stack[STACK_PYTHON]) return s;
    const bool answered = c && c->family == FAMILY_DEVICE && f->stack[STACK_OPENAI] >= 2; /* the client is in Python */
    return answered ? STACK_OPENAI : STACK_PYTHON;
}

enum stack judge_wrapper(const struct findings *f)
{
    static const enum stack outermost[] = {STACK_CREWAI, STACK_AUTOGEN, STACK_LANGGRAPH, STACK_LANGCHAIN,
                                           STACK_LITELLM, STACK_OPENAI};
    for (size_t i = 0; i < COUNT_OF(outermost); i++)
        if (f->stack[outermost[i]] >= 2) return outermost[i];
    return STACK_UNKNOWN;
}
