/* explain_say.c - see explain_say.h. */
#include "app/learn/explain_say.h"
#include <math.h>

enum { DEVICES = 1024, PIDS = 1 << 30 /* more is no number of one */ };

#define B(x) verdict_bytes((uint64_t)(x), (char[VERDICT_BYTES]){0})

uint32_t told_line(const struct findings *f, uint32_t line) { return line_in_text(f->map, f->before + line); }

/* ------------------------------------------------------------------ figures */

static void put(struct verdict *v, const char *name, double value, bool reckoned)
{
    if (value < 0) return;
    struct verdict_figure *f = verdict_figure(v, name, (uint64_t)value);
    if (f) f->reckoned = reckoned;
}

static void put_count(struct verdict *v, const struct fail_case *c, enum word_figure figure, const char *name,
                      const char *unit)
{
    if (!c->has[figure] || c->fig[figure] <= 0) return;
    struct verdict_figure *f = verdict_figure(v, name, (uint64_t)c->fig[figure]);
    if (f) snprintf(f->unit, sizeof f->unit, "%s", unit);
}

static void say_figures(const struct fail_case *c, const struct judged *j, struct verdict *v)
{
    static const struct { enum word_figure of; const char *name; } row[] = {
        {FIG_TRIED, "tried"}, {FIG_TOTAL, "total"}, {FIG_FREE, "free"}, {FIG_ALLOCATED, "allocated"},
        {FIG_RESERVED, "reserved"}, {FIG_ALLOWED, "allowed"}, {FIG_BESIDE, "beside"}, {FIG_START_FREE, "free at start"},
        {FIG_DESIRED, "wanted"}, {FIG_KV_NEEDED, "KV needed"}, {FIG_KV_HAVE, "KV there"}, {FIG_WEIGHTS, "weights"},
        {FIG_KV_POOL, "KV pool"}, {FIG_HOST_NEEDED, "needed"}, {FIG_HOST_HAVE, "available"}, {FIG_RSS, "resident"},
        {FIG_LIMIT, "limit"}};
    const bool host_told = c->has[FIG_HOST_NEEDED] && c->has[FIG_HOST_HAVE]; /* then these are not a device's */
    for (size_t i = 0; i < COUNT_OF(row); i++)
        if (c->has[row[i].of] && !(host_told && row[i].of <= FIG_FREE)) put(v, row[i].name, c->fig[row[i].of], false);
    if (j->sum.has_gap) put(v, "gap", j->sum.gap, j->sum.gap_reckoned);
    if (!c->has[FIG_RESERVED] && j->sum.reserved > 0 && j->sum.has_gap) put(v, "reserved", j->sum.reserved, true);
    if (j->sum.has_outside) put(v, "outside", j->sum.outside, true);
    if (c->family == FAMILY_TOKENS || c->said == CAUSE_KV) {
        put_count(v, c, FIG_TOKENS_ASKED, "asked", "tokens");
        put_count(v, c, FIG_ANSWER, "answer", "tokens");
        put_count(v, c, FIG_TOKENS_MOST, "limit", "tokens");
    }
    if (c->has[FIG_RAM_NEEDED]) put(v, "RAM needed", c->fig[FIG_RAM_NEEDED], false);
    if (c->said == CAUSE_KV) put_count(v, c, FIG_BATCH, "no room for", "tokens");
    if (j->cause == CAUSE_CONCURRENCY) put_count(v, c, FIG_RUNNING, "running", "requests");
}

/* ------------------------------------------------------------------ evidence: the sums */

static double held_with(const struct fail_case *c, const struct device_sum *s)
{
    return s->allocated + c->fig[FIG_BESIDE] + s->tried;
}

static void say_device(const struct fail_case *c, const struct device_sum *s, enum cause cause, struct verdict *v)
{
    if (!s->known) {
        if (c->has[FIG_TRIED] && c->has[FIG_TOTAL] && s->tried >= s->total)
            verdict_evidence(v, "%s in one piece is more than the whole device has (%s)", B(s->tried), B(s->total));
        if (c->has[FIG_TRIED] && c->has[FIG_ALLOWED] && c->has[FIG_BESIDE]) /* MPS: its own high-water mark */
            verdict_evidence(v, "allocated %s, %s by others and the %s that were tried are %s: %s more than allowed",
                             B(s->allocated), B(c->fig[FIG_BESIDE]), B(s->tried), B(held_with(c, s)),
                             B(MAX(held_with(c, s) - s->allowed, 0)));
        if (!c->has[FIG_TRIED] && s->has_gap && cause == CAUSE_FRAGMENTATION)
            verdict_evidence(v, "reserved - allocated = %s of %s lie unused; how much was asked for is not in the text",
                             B(s->gap), B(s->reserved));
        return;
    }
    if (s->free < s->tried)
        verdict_evidence(v, "tried %s, free %s: %s are missing", B(s->tried), B(s->free), B(s->tried - s->free));
    else
        verdict_evidence(v, "tried %s although %s were free: what was free was not in one piece, or not allowed to it",
                         B(s->tried), B(s->free));
    if (c->has[FIG_ALLOWED] && cause == CAUSE_ALLOCATOR)
        verdict_evidence(v, "allowed %s: the limit is the process's own, not the device's", B(s->allowed));
    if (s->has_gap && s->free < s->tried) {
        if (cause == CAUSE_FRAGMENTATION)
            verdict_evidence(v, "reserved - allocated = %s lie unused; with %s free that is %s, enough for %s",
                             B(s->gap), B(s->free), B(s->gap + s->free), B(s->tried));
        else if (!s->gap_suffices)
            verdict_not(v, "fragmentation: reserved - allocated = %s; with %s free that is %s, not %s, however it lies",
                        B(s->gap), B(s->free), B(s->gap + s->free), B(s->tried));
        else
            verdict_not(v, "fragmentation, mainly: the gap of %s would do for %s, but only a few per cent are unused",
                        B(s->gap), B(s->tried));
    }
    if (!s->has_outside || s->total <= 0) return;
    if (cause == CAUSE_OTHER_PROCESS)
        verdict_evidence(v, "%s of %s are held outside this process: without them it would fit", B(s->outside),
                         B(s->total));
    else if (s->free + s->outside < s->tried)
        verdict_not(v, "another process: total - free - reserved = %s are outside; with %s free still not %s",
                    B(s->outside), B(s->free), B(s->tried));
}

/* Who names prompt and answer apart, names neither as the whole. */
static void say_tokens(const struct fail_case *c, struct verdict *v)
{
    const double asked = c->fig[FIG_TOKENS_ASKED], most = c->fig[FIG_TOKENS_MOST], answer = c->fig[FIG_ANSWER];
    if (!c->has[FIG_TOKENS_MOST] || (asked <= 0 && answer <= 0)) return;
    if (asked <= 0)
        verdict_evidence(v, "an answer of up to %.0f tokens was asked for, and %.0f are the limit", answer, most);
    else if (answer > 0)
        verdict_evidence(v, "%.0f tokens of the prompt and %.0f for the answer are %.0f, and %.0f are the limit", asked,
                         answer, asked + answer, most);
    else if (asked <= most)
        verdict_evidence(v, "the prompt's %.0f tokens are within the limit of %.0f: it was met by the answer behind "
                         "them", asked, most);
    else
        verdict_evidence(v, "%.0f tokens were asked for and %.0f are the limit", asked, most);
}

/* A pool that was there, and is full. */
static void say_full(const struct fail_case *c, struct verdict *v)
{
    if (c->said != CAUSE_KV || !c->has[FIG_BATCH]) return;
    if (c->has[FIG_ROOM] && c->fig[FIG_ROOM] < c->fig[FIG_BATCH]) /* else another pool than the one it tells of */
        verdict_evidence(v, "room for %.0f tokens was looked for in the pool of keys and values, and it had %.0f",
                         c->fig[FIG_BATCH], c->fig[FIG_ROOM]);
    else
        verdict_evidence(v, "the pool of keys and values was there, and had no room for %.0f tokens more",
                         c->fig[FIG_BATCH]);
}

static void say_pools(const struct fail_case *c, enum cause cause, struct verdict *v)
{
    if (c->has[FIG_KV_NEEDED] && c->has[FIG_KV_HAVE])
        verdict_evidence(v, "keys and values of one longest request: %s, and the pool has %s", B(c->fig[FIG_KV_NEEDED]),
                         B(MAX(c->fig[FIG_KV_HAVE], 0)));
    if (c->has[FIG_START_FREE] && c->has[FIG_TOTAL]) {
        double held = c->fig[FIG_TOTAL] - c->fig[FIG_START_FREE];
        verdict_evidence(v, "at the start %s of %s were free: %s held before anything was loaded",
                         B(c->fig[FIG_START_FREE]), B(c->fig[FIG_TOTAL]), B(MAX(held, 0)));
        if (c->has[FIG_DESIRED]) verdict_evidence(v, "its share was to be %s", B(c->fig[FIG_DESIRED]));
    }
    if (cause == CAUSE_WEIGHTS && c->has[FIG_WEIGHTS] && c->has[FIG_TOTAL] && c->fig[FIG_TOTAL] > 0)
        verdict_evidence(v, "the weights are %s of %s: %.0f %%", B(c->fig[FIG_WEIGHTS]), B(c->fig[FIG_TOTAL]),
                         100 * c->fig[FIG_WEIGHTS] / c->fig[FIG_TOTAL]);
    if (c->has[FIG_WEIGHTS] && c->has[FIG_KV_POOL] && c->has[FIG_LIMIT])
        verdict_evidence(v, "the weights are %s and the pool of keys and values %s; %s are allowed",
                         B(c->fig[FIG_WEIGHTS]), B(c->fig[FIG_KV_POOL]), B(c->fig[FIG_LIMIT]));
    if (c->has[FIG_RAM_NEEDED])
        verdict_evidence(v, "%s of the machine's own memory were asked for, not of a device's",
                         B(c->fig[FIG_RAM_NEEDED]));
    if (c->has[FIG_HOST_NEEDED] && c->has[FIG_HOST_HAVE])
        verdict_evidence(v, "the model needs %s of the machine's memory and %s are available: %s too few",
                         B(c->fig[FIG_HOST_NEEDED]), B(c->fig[FIG_HOST_HAVE]),
                         B(MAX(c->fig[FIG_HOST_NEEDED] - c->fig[FIG_HOST_HAVE], 0)));
    if (c->has[FIG_RSS] && c->family == FAMILY_HOST)
        verdict_evidence(v, "the process held %s of RAM when it was killed", B(c->fig[FIG_RSS]));
    if (c->family == FAMILY_TOKENS) say_tokens(c, v);
    if (c->family != FAMILY_TOKENS && c->said == CAUSE_KV && c->has[FIG_TOKENS_ASKED] && c->has[FIG_TOKENS_MOST] &&
        c->fig[FIG_TOKENS_ASKED] > c->fig[FIG_TOKENS_MOST])
        verdict_evidence(v, "one longest request: %.0f tokens, and the pool holds %.0f: %.0f too few",
                         c->fig[FIG_TOKENS_ASKED], c->fig[FIG_TOKENS_MOST],
                         c->fig[FIG_TOKENS_ASKED] - c->fig[FIG_TOKENS_MOST]);
}

static void say_series(const struct fail_case *c, enum cause cause, struct verdict *v)
{
    const struct series *tokens = series_rising(&c->turn_tokens, 3, 1.4);
    const struct series *bytes = series_rising(&c->turn_bytes, 3, 1.1);
    const struct series *messages = series_rising(&c->messages, 3, 1.4);
    if (!tokens) tokens = series_rising(&c->tokens_sent, 3, 1.4);
    if (!bytes) bytes = series_rising(&c->bytes_now, 3, 1.1);
    if (cause == CAUSE_GROWTH && tokens)
        verdict_evidence(v, "the prompt rises from %.0f to %.0f tokens in %d steps", tokens->first, tokens->last,
                         tokens->n);
    if (cause == CAUSE_GROWTH && messages)
        verdict_evidence(v, "what is sent rises from %.0f to %.0f messages", messages->first, messages->last);
    if (cause == CAUSE_LEAK && bytes)
        verdict_evidence(v, "memory rises from %s to %s in %d steps while the work stays the same", B(bytes->first),
                         B(bytes->last), bytes->n);
}

static void say_loads(const struct findings *f, const struct fail_case *c, struct verdict *v)
{
    const struct loads *l = &c->loads;
    char lines[VERDICT_TEXT / 2] = "";
    size_t n = 0;
    if (!l->n || v->cause != CAUSE_LEAK) return;
    for (int i = 0; i < MIN(l->n, LOADS_LINES); i++)
        n += (size_t)snprintf(lines + n, sizeof lines - n, "%s%u", i ? ", " : "", told_line(f, l->line[i]));
    struct verdict_figure *loads = verdict_figure(v, "loads", (uint64_t)l->n);
    if (loads) snprintf(loads->unit, sizeof loads->unit, "times");
    verdict_evidence(v, "the weights were loaded %d times without a new process, with requests between: lines %s%s",
                     l->n, lines, l->n > LOADS_LINES ? ", ..." : "");
}

/* ------------------------------------------------------------------ evidence: the words */

static void say_stage(const struct fail_case *c, const struct judged *j, struct verdict *v)
{
    static const char *const words[STAGES] = {
        [STAGE_LOAD] = "it failed while the model was being loaded",
        [STAGE_KV_INIT] = "it failed where the pool of keys and values is made",
        [STAGE_KV_GROWS] = "it failed where keys and values of a sequence grow",
        [STAGE_PROFILE] = "it failed in the trial pass before serving",
        [STAGE_CAPTURE] = "it failed while graphs were being captured",
        [STAGE_PASS] = "it failed within a pass over the model",
        [STAGE_EMBED] = "it failed while texts were being embedded",
        [STAGE_INIT] = "it failed when the device was opened, before it held anything"};
    if (words[c->stage] && stage_cause(c->stage) == j->cause) verdict_evidence(v, "%s", words[c->stage]);
    if (c->hint_word[j->cause] && c->hint_best[j->cause] >= 2) {
        char plain[VERDICT_TEXT];
        size_t n = 0;
        for (const char *p = c->hint_word[j->cause]; *p && n + 1 < sizeof plain; p++)
            if (!strchr("|^", *p)) plain[n++] = (char)(*p == '#' ? 'N' : *p == '*' ? ' ' : *p);
        plain[n] = '\0';
        verdict_evidence(v, "the text speaks of \"%s\"", plain + strspn(plain, " "));
    }
    if (j->cause == CAUSE_CONCURRENCY && c->has[FIG_RUNNING])
        verdict_evidence(v, "%.0f requests were running%s", c->fig[FIG_RUNNING],
                         c->has[FIG_WAITING] && c->fig[FIG_WAITING] > 0 ? ", and more were waiting" : "");
}

static void say_answers(const struct explain_answers *known, enum cause cause, struct verdict *v)
{
    for (int q = 0; known && q < QUESTIONS; q++)
        if (judge_answered((enum explain_question)q, known->of[q], cause) > 0)
            verdict_evidence(v, "it was answered: %s", explain_ask[q].choice[known->of[q] - 1].words);
}

static const char kernels_log[] =
    "Does the kernel's log (dmesg) or the pod's reason speak of an OOM kill at that time?";

static void say_habit(const struct findings *f, const struct fail_case *c, const struct judged *j, struct verdict *v)
{
    enum stack wrapper = judge_wrapper(f);
    bool own = j->cause == CAUSE_GROWTH ? prefers_growth(wrapper)
                                        : j->cause == CAUSE_CONCURRENCY && wrapper == STACK_LANGCHAIN;
    if (own && v->evidences == 0 && c->family != FAMILY_TOKENS)
        verdict_evidence(v, "nothing in the text decides; behind %s this is the usual cause", stack_words(wrapper));
    if (v->evidences == 0 && j->cause == CAUSE_HOST && c->ended)
        verdict_evidence(v, "it was ended from outside: signal 9, exit code 137 = 128 + 9, is what the OOM killer "
                         "sends, and what timeouts, docker stop and people send too");
    if (v->evidences == 0 && j->cause == CAUSE_HOST)
        verdict_evidence(v, "the failure is one of the machine's own memory, not of a device");
    if (v->evidences == 0 && c->said != CAUSE_UNKNOWN) verdict_evidence(v, "the message itself says so");
    if (v->evidences == 0) verdict_evidence(v, "the text has no figures; of such messages this is the likeliest cause");
}

static void say_second(const struct judged *j, struct verdict *v)
{
    int second = 0;
    for (int cause = 1; cause < CAUSES; cause++)
        if (cause != (int)j->cause && cause != CAUSE_UNKNOWN && j->points[cause] > j->points[second]) second = cause;
    if (second && j->points[second] >= 3)
        verdict_not(v, "%s: less speaks for it (%d points, against %d)", cause_words((enum cause)second),
                    j->points[second], j->points[j->cause]);
}

/* ------------------------------------------------------------------ what to look at next */

/* A client's report of what a server answered: no figure, no place in a program. */
static bool is_report(const struct findings *f, const struct fail_case *c)
{
    const bool client = f->stack[STACK_OPENAI] >= 2 || f->stack[STACK_LITELLM] >= 2 || f->note[NOTE_WRAPPER] ||
                        f->note[NOTE_DEAD];
    return client && c->family != FAMILY_TOKENS && c->family != FAMILY_HOST && !c->has[FIG_FREE] &&
           c->stage == STAGE_NONE;
}

static void say_next(const struct findings *f, const struct fail_case *c, const struct judged *j,
                     const struct explain_answers *known, struct verdict *v)
{
    if (j->sure == SURE_CERTAIN) return;
    if (is_report(f, c))
        verdict_next(v, "This is a client's report: the figures are in the log of the server that answered it, at that "
                     "time.  Explain that one.");
    if (c->ended && j->cause == CAUSE_HOST) verdict_next(v, "%s", kernels_log);
    for (int q = 0; q < QUESTIONS; q++)
        if (explain_asks(v, q, known)) verdict_next(v, "%s", explain_ask[q].words);
}

static void say_climb(const struct smi_series *s, struct verdict *v)
{
    const double step = (s->last - s->first) / (s->rows - 1);
    verdict_evidence(v, "nvidia-smi: %s at first, %s at last, in %d rows; between them it fell by %s at most",
                     B(s->first), B(s->last), s->rows, B(s->fall));
    if (s->total > s->last && step > 0)
        verdict_evidence(v, "that is %s a row: of %s, %s are left, so that it is full %.0f rows later", B(step),
                         B(s->total), B(s->total - s->last), ceil((s->total - s->last) / step));
}

/* Who holds the device, by nvidia-smi: evidence if it was another, else a question, whose answer the text has not. */
static void say_smi(const struct findings *f, const char *text, size_t n, struct verdict *v)
{
    const struct smi *s = &f->smi;
    const struct smi_series *series;
    char row[VERDICT_TEXT / 2];
    if (v->cause == CAUSE_LEAK && smi_shape(s, &series) == SMI_CLIMBS) say_climb(series, v);
    if (!smi_is_full(s)) return;
    if (v->cause == CAUSE_OTHER_PROCESS) {
        if (!verdict_has(v, "used")) put(v, "used", s->used, false);
        if (!verdict_has(v, "total")) put(v, "total", s->total, false);
        if (!verdict_has(v, "outside")) put(v, "outside", s->biggest, false);
        verdict_evidence(v, "nvidia-smi: %s of %s are used; of %d process%s the biggest has %s", B(s->used),
                         B(s->total), s->processes, s->processes == 1 ? "" : "es", B(s->biggest));
        run_quote(text, n, s->biggest_line, row, sizeof row);
        verdict_evidence(v, "the biggest is in line %u: %s", told_line(f, s->biggest_line), row);
    }
    verdict_next(v, "nvidia-smi: a process holds %s of a device that is full (line %u).  Is it the one that failed?",
                 B(s->biggest), told_line(f, s->biggest_line));
}

/* ------------------------------------------------------------------ a fix that the text itself names */

/* "the estimated maximum model length is 44304" */
static void say_longest(const struct fail_case *c, struct verdict *v)
{
    const double most = c->fig[FIG_TOKENS_MOST];
    if (v->cause != CAUSE_KV || v->stack != STACK_VLLM || c->family == FAMILY_TOKENS) return;
    if (!c->has[FIG_TOKENS_ASKED] || !c->has[FIG_TOKENS_MOST] || most < 1 || most >= c->fig[FIG_TOKENS_ASKED]) return;
    const bool sum = c->has[FIG_KV_NEEDED] && c->has[FIG_KV_HAVE];
    const double frees = sum ? c->fig[FIG_KV_NEEDED] - c->fig[FIG_KV_HAVE] : -1;
    struct verdict_fix *fix = verdict_fix(v, (int64_t)frees, "the longest sequence that this pool holds");
    if (!fix) return;
    fix->demand = true;
    snprintf(fix->how, sizeof fix->how, "vllm serve --max-model-len %.0f", most);
}

/* ------------------------------------------------------------------ a verdict */

static void say_what(const struct fail_case *c, const char *text, size_t n, struct verdict *v)
{
    run_quote(text, n, c->line, v->what, sizeof v->what);
}

/* A wrapper alone is taken for both. */
void say_stacks(const struct findings *f, const struct fail_case *c, struct verdict *v)
{
    enum stack wrapper = judge_wrapper(f);
    v->stack = judge_stack(f, c);
    if (v->stack == STACK_UNKNOWN) v->stack = wrapper;
    if (wrapper != v->stack) v->wrapped_by = wrapper;
}

/* "on device 1"; "Free memory on device (19.77/22.05 GiB)" names none. */
static bool names_device(const struct fail_case *c)
{
    const double d = c->fig[FIG_DEVICE];
    const bool is_free = c->has[FIG_START_FREE] && fabs(d * 0x1p30 - c->fig[FIG_START_FREE]) < 1;
    return c->has[FIG_DEVICE] && d >= 0 && d < DEVICES && d == floor(d) && !is_free;
}

static void say_where(const struct fail_case *c, struct verdict *v)
{
    bool device = names_device(c);
    bool process = c->has[FIG_PID] && c->fig[FIG_PID] > 0 && c->fig[FIG_PID] < PIDS;
    if (c->family == FAMILY_DEVICE && device) snprintf(v->where, sizeof v->where, "GPU %.0f", c->fig[FIG_DEVICE]);
    if (c->family == FAMILY_HOST && process) snprintf(v->where, sizeof v->where, "process %.0f", c->fig[FIG_PID]);
}

void say_case(const struct findings *f, const struct fail_case *c, const struct judged *j, const char *text, size_t n,
              const struct explain_answers *known, struct verdict *v)
{
    *v = (struct verdict){.cause = j->cause, .sure = j->sure, .line = told_line(f, c->line)};
    say_stacks(f, c, v);
    say_what(c, text, n, v);
    say_where(c, v);
    say_figures(c, j, v);
    if (c->family == FAMILY_DEVICE) say_device(c, &j->sum, j->cause, v);
    say_pools(c, j->cause, v);
    say_full(c, v);
    say_series(c, j->cause, v);
    say_loads(f, c, v);
    if (c->family != FAMILY_TOKENS && c->family != FAMILY_HOST) say_stage(c, j, v);
    if (c->family == FAMILY_DEVICE || c->family == FAMILY_ANY) say_smi(f, text, n, v);
    if (c->family != FAMILY_TOKENS) say_answers(known, j->cause, v);
    say_habit(f, c, j, v);
    say_second(j, v);
    say_next(f, c, j, known, v);
    say_fit_before(f, c, v);
    say_longest(c, v);
}

bool pool_is_full(const struct findings *f) { return f->pool.used >= 0.95; }

static void put_pool(const struct findings *f, char out[VERDICT_TEXT])
{
    snprintf(out, VERDICT_TEXT, "line %u: the pool of keys and values is %.1f %% full, %.0f requests run and %.0f wait",
             told_line(f, f->pool.line), 100 * f->pool.used, f->pool.running, f->pool.waiting);
}

void say_pool_load(const struct findings *f, struct verdict *v)
{
    char line[VERDICT_TEXT];
    *v = (struct verdict){.cause = f->pool.running >= 2 ? CAUSE_CONCURRENCY : CAUSE_KV, .sure = SURE_LIKELY,
                          .line = told_line(f, f->pool.line)};
    say_stacks(f, NULL, v);
    snprintf(v->what, sizeof v->what, "nothing failed in this text; the pool is full, and requests wait for it");
    put_pool(f, line);
    verdict_evidence(v, "%s", line);
    verdict_next(v, "How often do requests lose their pages to each other, and for how long do they wait?  plimsoll "
                 "watch URL says both, while it goes on.");
}

void say_other(const struct findings *f, const char *text, size_t n, struct verdict *v)
{
    *v = (struct verdict){.cause = CAUSE_NOT_MEMORY};
    say_stacks(f, NULL, v);
    if (!f->other) {
        v->sure = SURE_LIKELY;
        snprintf(v->what, sizeof v->what, "nothing failed in this text: a server came up or answered");
        verdict_evidence(v, "memory is spoken of, but nowhere as missing");
        return;
    }
    v->sure = f->other_points >= 6 ? SURE_CERTAIN : f->other_points >= 4 ? SURE_LIKELY : SURE_GUESS;
    v->line = told_line(f, f->other->line);
    run_quote(text, n, f->other->line, v->what, sizeof v->what);
    verdict_evidence(v, "what failed is in line %u, and it is no want of memory", told_line(f, f->other->line));
    const char *advice = explain_advice(word_phrase(f->other->word));
    if (advice) verdict_next(v, "%s", advice);
    if (!pool_is_full(f)) return;
    char line[VERDICT_TEXT];
    put_pool(f, line);
    verdict_next(v, "Is it the wait?  %s", line);
}

void say_probe(const struct findings *f, const struct fail_case *c, const char *text, size_t n, struct verdict *v)
{
    *v = (struct verdict){.cause = CAUSE_NOT_MEMORY, .sure = SURE_LIKELY, .stack = judge_stack(f, c),
                          .line = told_line(f, c->line)};
    say_what(c, text, n, v);
    verdict_evidence(v, "it was killed because it did not answer in time: the probe or the timeout is in the text");
    verdict_not(v, "the machine's memory: nobody counted it; signal 9 and exit code 137 only say that it was killed");
    verdict_next(v, "%s", kernels_log);
}

/* What a server reserves when it starts is held whether it is used or not. */
static void say_look_into_pool(struct verdict *v)
{
    verdict_next(v, "A server that takes its pool at start is flat from then on, whatever runs in it.  How full the "
                 "pool is say its metrics (vllm:kv_cache_usage_perc, sglang:token_usage): plimsoll watch URL");
}

static bool takes_pool_at_start(const char *row)
{
    static const char *const name[] = {"vllm", "sglang", "text-generation", "trtllm", "tritonserver"};
    for (size_t i = 0; i < COUNT_OF(name); i++)
        if (strcasestr(row, name[i])) return true;
    return false;
}

void say_table(const struct findings *f, const char *text, size_t n, struct verdict *v)
{
    char row[VERDICT_TEXT];
    *v = (struct verdict){.cause = CAUSE_OTHER_PROCESS, .sure = SURE_GUESS, .stack = STACK_CUDA};
    snprintf(v->what, sizeof v->what, "the device is nearly full, and nothing in the text failed");
    run_quote(text, n, f->smi.biggest_line, row, sizeof row);
    if (!takes_pool_at_start(row)) {
        say_smi(f, text, n, v);
        return;
    }
    v->cause = CAUSE_NOT_MEMORY;
    v->sure = SURE_LIKELY;
    verdict_evidence(v, "nvidia-smi: %s of %s are used, and a server that takes its share at start has %s (line %u)",
                     B(f->smi.used), B(f->smi.total), B(f->smi.biggest), told_line(f, f->smi.biggest_line));
    say_look_into_pool(v);
}

void say_smi_series(const struct findings *f, struct verdict *v)
{
    const struct smi_series *s;
    const enum smi_shape shape = smi_shape(&f->smi, &s);
    *v = (struct verdict){.cause = CAUSE_NOT_MEMORY, .sure = SURE_LIKELY, .stack = STACK_CUDA};
    if (shape == SMI_FLAT) {
        snprintf(v->what, sizeof v->what, "nothing failed in this text, and the device's memory is as full as it was");
        verdict_evidence(v, "nvidia-smi: between %s and %s in %d rows", B(s->least), B(s->most), s->rows);
        say_look_into_pool(v);
    } else if (shape == SMI_CLIMBS) {
        v->cause = CAUSE_LEAK;
        snprintf(v->what, sizeof v->what, "the device fills more and more, and nothing in the text failed");
        say_climb(s, v);
        verdict_not(v, "keys and values, or a batch: these come and go with requests, and a pool that is taken at "
                    "start is flat");
        verdict_next(v, "%s", explain_ask[ASK_GAP].words);
        verdict_next(v, "Is a model still being loaded in these rows?  Then those behind them tell.");
    } else {
        v->cause = CAUSE_KV;
        v->sure = SURE_GUESS;
        snprintf(v->what, sizeof v->what, "the device's memory goes up and comes back, and nothing in the text failed");
        verdict_evidence(v, "nvidia-smi: between %s and %s in %d rows, and back by %s", B(s->least), B(s->most),
                         s->rows, B(s->fall));
        verdict_not(v, "%s: it comes back", cause_words(CAUSE_LEAK));
        verdict_next(v, "%s", explain_ask[ASK_LENGTH].words);
        verdict_next(v, "%s", explain_ask[ASK_LOAD].words);
    }
    if (s->total > 0) put(v, "total", s->total, false);
    put(v, "used", s->last, false);
}
