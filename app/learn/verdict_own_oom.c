/* verdict_own_oom.c - the verdict on a policy of naive.h that failed. */
#include "app/learn/verdict_own_impl.h"

enum { HALF = 2 };

/* One failure, with what follows from its figures.  Bytes, but where a name says tokens. */
struct found {
    const struct judge *j;
    const struct judge_agent *a;
    const struct event_oom *o;
    struct verdict *v;
    uint64_t page, wanted, size, free, hole, own, others, alone; /* alone: what it may need in all, by itself */
    bool grew;
    struct judge_growth growth;
};

static bool is(struct event_str s, const char *word)
{
    return s.len == strlen(word) && memcmp(s.data, word, s.len) == 0;
}

static uint64_t whole_pages(const struct found *f, uint64_t bytes)
{
    return f->page > 0 ? (bytes + f->page - 1) / f->page * f->page : bytes;
}

static void reckon(struct found *f)
{
    const struct judge *j = f->j;
    const struct event_oom *o = f->o;
    const uint64_t token = judge_tokens_bytes(j, 1);
    f->page = token * (uint64_t)(j->page_tokens > 0 ? MIN(j->page_tokens, 1 << 16) : 16);
    f->wanted = (uint64_t)o->wanted_bytes;
    f->size = (uint64_t)o->size_bytes;
    f->free = (uint64_t)o->free_bytes;
    f->hole = (uint64_t)o->hole_bytes;
    f->own = MIN((uint64_t)o->page * f->page, f->size - f->free);
    f->others = f->size - f->free - f->own;
    f->alone = whole_pages(f, judge_tokens_bytes(j, judge_prompt(f->a) + f->a->max_tokens));
    f->grew = judge_growth_of(f->a, &f->growth);
}

/* ------------------------------------------------------------------ words */

static void say_pool(struct found *f, const char *as)
{
    char wanted[VERDICT_BYTES], size[VERDICT_BYTES], left[VERDICT_BYTES], hole[VERDICT_BYTES];
    snprintf(f->v->what, sizeof f->v->what, "wanted %s %s; of the pool of %s are %s free, %s in one piece",
             verdict_bytes(f->wanted, wanted), as, verdict_bytes(f->size, size), verdict_bytes(f->free, left),
             verdict_bytes(f->hole, hole));
}

static void say_ceiling(struct found *f, const char *as)
{
    char wanted[VERDICT_BYTES], size[VERDICT_BYTES], left[VERDICT_BYTES];
    snprintf(f->v->what, sizeof f->v->what, "wanted %s %s; %s of the ceiling of %s are free",
             verdict_bytes(f->wanted, wanted), as, verdict_bytes(f->free, left), verdict_bytes(f->size, size));
}

static void put_figures(struct found *f, const char *size)
{
    static const char tokens[] = "tokens";
    struct verdict_figure *x;
    verdict_figure(f->v, "wanted", f->wanted);
    verdict_figure(f->v, size, f->size);
    verdict_figure(f->v, "free", f->free);
    verdict_figure(f->v, "largest piece", f->hole);
    if (f->o->page > 0) verdict_figure(f->v, "held by it", f->own);
    if ((x = verdict_figure(f->v, "prompt", (uint64_t)judge_prompt(f->a)))) memcpy(x->unit, tokens, sizeof tokens);
    if ((x = verdict_figure(f->v, "answer at most", (uint64_t)f->a->max_tokens)))
        memcpy(x->unit, tokens, sizeof tokens);
    if (judge_tokens_bytes(f->j, 1) > 1) verdict_figure(f->v, "a token", judge_tokens_bytes(f->j, 1));
}

/* ---- what it is not, each with its figures */

static void not_fragmentation(struct found *f)
{
    char left[VERDICT_BYTES], wanted[VERDICT_BYTES];
    if (f->free < f->wanted)
        verdict_not(f->v, "fragmentation: %s are free in all, and %s are wanted", verdict_bytes(f->free, left),
                    verdict_bytes(f->wanted, wanted));
}

static void not_concurrency(struct found *f)
{
    const int together = judge_running(f->j);
    char others[VERDICT_BYTES];
    if (f->others == 0) verdict_not(f->v, "concurrency: no other request holds any of it");
    else if (f->j->together >= together)
        verdict_not(f->v, "concurrency: %d at once fitted before (others hold %s now)", together,
                    verdict_bytes(f->others, others));
}

static void not_weights(struct found *f)
{
    char weights[VERDICT_BYTES], work[VERDICT_BYTES], ceiling[VERDICT_BYTES];
    const struct event_memory *m = &f->j->memory;
    if (m->ceiling_bytes <= 0) return;
    verdict_not(f->v, "model size: weights %s and workspace %s of a ceiling of %s, the same since the start",
                verdict_bytes((uint64_t)m->weight_bytes, weights), verdict_bytes((uint64_t)m->work_bytes, work),
                verdict_bytes((uint64_t)m->ceiling_bytes, ceiling));
}

/* ---- fixes */

static struct verdict_fix *sound(struct found *f, uint64_t frees, const char *what)
{
    const int64_t bytes = frees > 0 ? (int64_t)MIN(frees, (uint64_t)JUDGE_FIGURE) : -1; /* 0: only told in time */
    struct verdict_fix *x = verdict_fix(f->v, bytes, "%s", what);
    if (!x) return NULL;
    snprintf(x->how, sizeof x->how, "without --naive %.*s: the sound policy, in force from now on; ask again",
             event_part(f->o->policy, 20), f->o->policy.data);
    x->apply = APPLY_SOUND_POLICY;
    return x;
}

/* Half of it; of one request no more than the pool has room for behind its prompt, where that is an answer at all. */
static void shorter_answer(struct found *f, uint64_t requests)
{
    int64_t to = f->a->max_tokens / HALF;
    if (requests == 1) {
        const int64_t room = (int64_t)(f->size / judge_tokens_bytes(f->j, 1)) - judge_prompt(f->a);
        if (room < MIN(to, (int64_t)ANSWER_LEAST)) return;
        to = MIN(to, room);
    }
    if (to < 1) return;
    const uint64_t each = judge_tokens_bytes(f->j, f->a->max_tokens - to);
    struct verdict_fix *x = verdict_fix(f->v, (int64_t)MIN(each * requests, (uint64_t)JUDGE_FIGURE),
                                        "max_tokens %lld to %lld%s", (long long)f->a->max_tokens, (long long)to,
                                        requests > 1 ? " for each" : "");
    if (!x) return;
    snprintf(x->how, sizeof x->how, "-n %lld", (long long)to);
    x->apply = APPLY_MAX_TOKENS;
    x->value = to;
}

/* ------------------------------------------------------------------ classes */

static void growth(struct found *f)
{
    f->v->cause = CAUSE_GROWTH;
    judge_say_growth(f->a, f->v);
    not_concurrency(f);
    not_fragmentation(f);
    not_weights(f);
    judge_fix_history(f->j, f->a, f->v);
    shorter_answer(f, 1);
    sound(f, 0, "reserve before it runs: it is summed up or refused in time");
}

static void long_sequence(struct found *f)
{
    char alone[VERDICT_BYTES], size[VERDICT_BYTES];
    f->v->cause = CAUSE_KV;
    verdict_evidence(f->v, "prompt %lld + up to %lld tokens of answer need %s by themselves; the pool has %s",
                     (long long)judge_prompt(f->a), (long long)f->a->max_tokens, verdict_bytes(f->alone, alone),
                     verdict_bytes(f->size, size));
    not_concurrency(f);
    judge_not_growth(f->a, f->v);
    not_fragmentation(f);
    not_weights(f);
    judge_fix_history(f->j, f->a, f->v);
    shorter_answer(f, 1);
    sound(f, 0, "reserve before it runs: it is refused before any work, with the figures");
}

static void concurrency(struct found *f)
{
    char alone[VERDICT_BYTES], size[VERDICT_BYTES], own[VERDICT_BYTES], others[VERDICT_BYTES];
    const uint64_t running = (uint64_t)MAX(judge_running(f->j), 1), fit = f->alone > 0 ? f->size / f->alone : 0;
    f->v->cause = CAUSE_CONCURRENCY;
    verdict_evidence(f->v, "it holds %s, others hold %s; %llu run at once", verdict_bytes(f->own, own),
                     verdict_bytes(f->others, others), (unsigned long long)running);
    verdict_evidence(f->v, "alone it needs %s at most, and the pool has %s: %llu such fit",
                     verdict_bytes(f->alone, alone), verdict_bytes(f->size, size), (unsigned long long)fit);
    if (f->grew && f->j->together < (int)running)
        verdict_not(f->v, "growth with turns: it grows by %.1f tokens a %s, but so many never ran at once before",
                    f->growth.slope, f->growth.calls ? "call" : "turn");
    else judge_not_growth(f->a, f->v);
    not_fragmentation(f);
    not_weights(f);
    struct verdict_fix *x = NULL;
    if (fit > 0 && fit < running)
        x = verdict_fix(f->v, (int64_t)MIN((running - fit) * f->alone, (uint64_t)JUDGE_FIGURE),
                        "%llu at once instead of %llu; the others wait", (unsigned long long)fit,
                        (unsigned long long)running);
    if (x) x->demand = true;
    sound(f, f->own, "reserve before it runs: who finds no room waits and holds nothing");
    shorter_answer(f, running);
}

static void static_batch(struct found *f)
{
    char run[VERDICT_BYTES], need[VERDICT_BYTES];
    const int64_t tokens = judge_prompt(f->a) + f->a->max_tokens;
    const uint64_t idle = f->wanted > f->alone ? f->wanted - f->alone : 0;
    f->v->cause = CAUSE_STATIC_BATCH;
    verdict_evidence(f->v, "each request reserves %s, a whole context; this one needs %s at most (%lld tokens)",
                     verdict_bytes(f->wanted, run), verdict_bytes(f->alone, need), (long long)tokens);
    if (f->wanted > 0)
        verdict_evidence(f->v, "%llu such runs fit the pool; by what it needs it would be %llu",
                         (unsigned long long)(f->size / f->wanted),
                         (unsigned long long)(f->alone > 0 ? f->size / f->alone : 0));
    if (f->alone <= f->free)
        verdict_not(f->v, "keys and values of long sequences: what it needs would fit into what is free");
    judge_not_growth(f->a, f->v);
    not_fragmentation(f);
    not_weights(f);
    sound(f, idle, "pages as tokens come, promised by prompt + max_tokens");
    if (idle == 0) return;
    struct verdict_fix *x = verdict_fix(f->v, (int64_t)MIN(idle, (uint64_t)JUDGE_FIGURE),
                                        "a context of %lld tokens instead", (long long)tokens);
    if (x) snprintf(x->how, sizeof x->how, "--ctx %lld", (long long)tokens);
}

static void fragmentation(struct found *f)
{
    char wanted[VERDICT_BYTES], hole[VERDICT_BYTES], left[VERDICT_BYTES];
    const double index = f->free > 0 ? 1 - (double)f->hole / (double)f->free : 0;
    f->v->cause = CAUSE_FRAGMENTATION;
    verdict_evidence(f->v, "free in all %s, wanted %s: enough; but the largest piece has %s",
                     verdict_bytes(f->free, left), verdict_bytes(f->wanted, wanted), verdict_bytes(f->hole, hole));
    verdict_evidence(f->v, "fragmentation index 1 - largest/free = %.2f", index);
    verdict_not(f->v, "too little memory: %s are free beside what is wanted",
                verdict_bytes(f->free - f->wanted, left));
    judge_not_growth(f->a, f->v);
    not_weights(f);
    sound(f, f->free, "pages of one size: every free one serves, wherever it lies");
    verdict_fix(f->v, (int64_t)MIN(f->free - f->hole, (uint64_t)JUDGE_FIGURE),
                "a restart, or all at rest at once: the pieces become one again, until they are split anew");
}

static void weights(struct found *f)
{
    const uint64_t loaded = (uint64_t)f->j->memory.weight_bytes;
    const bool reload = is(f->o->policy, "reload");
    char wanted[VERDICT_BYTES], have[VERDICT_BYTES];
    f->v->cause = CAUSE_WEIGHTS;
    verdict_bytes(f->wanted, wanted);
    verdict_bytes(loaded, have);
    if (reload)
        verdict_evidence(f->v, "the weights are there already (%s); each request loads %s more of them", have, wanted);
    else verdict_evidence(f->v, "as floats the weights take %s; as the file has them %s", wanted, have);
    verdict_not(f->v, "keys and values: the pool was taken at the start, and nothing was asked of it");
    judge_not_growth(f->a, f->v);
    if (reload) sound(f, f->wanted, "load the weights once, at the start");
    else sound(f, f->wanted > loaded ? f->wanted - loaded : 0, "the types that the file has, instead of floats");
}

static void activations(struct found *f)
{
    char wanted[VERDICT_BYTES], work[VERDICT_BYTES];
    f->v->cause = CAUSE_ACTIVATIONS;
    verdict_evidence(f->v, "a prompt of %lld tokens, what is not known of it in one pass: a workspace of %s",
                     (long long)judge_prompt(f->a), verdict_bytes(f->wanted, wanted));
    if (f->j->memory.work_bytes > 0)
        verdict_evidence(f->v, "in chunks the same prompt goes through the %s that are there since the start",
                         verdict_bytes((uint64_t)f->j->memory.work_bytes, work));
    verdict_not(f->v, "keys and values: the pool was taken at the start, and had room for it");
    judge_not_growth(f->a, f->v);
    not_weights(f);
    sound(f, f->wanted, "pre-fill in chunks of a fixed size");
}

/* ------------------------------------------------------------------ all */

static void pool(struct found *f)
{
    const bool needs_more = f->alone > f->size || f->own + f->wanted > f->size;
    if (is(f->o->policy, "reserve")) {
        say_pool(f, "for a whole context");
        static_batch(f);
        return;
    }
    say_pool(f, is(f->o->policy, "first-fit") ? "in one piece" : "more");
    if (is(f->o->policy, "first-fit") && f->free >= f->wanted) fragmentation(f);
    else if (f->others == 0 || needs_more) (f->grew ? growth : long_sequence)(f);
    else if (f->grew && f->j->together >= judge_running(f->j)) growth(f);
    else concurrency(f);
}

void judge_oom(const struct judge *j, const struct judge_agent *a, const struct event_oom *o, struct verdict *v)
{
    char policy[24];
    struct found f = {.j = j, .a = a, .o = o, .v = v};
    *v = (struct verdict){.sure = SURE_CERTAIN, .stack = STACK_PLIMSOLL};
    reckon(&f);
    snprintf(policy, sizeof policy, "%.*s", event_part(o->policy, sizeof policy - 1), o->policy.data);
    judge_where(a, o->turn, policy, v);
    put_figures(&f, is(o->what, "KV pool") ? "pool" : "ceiling");
    if (is(o->what, "KV pool")) {
        pool(&f);
    } else if (is(o->what, "weights")) {
        say_ceiling(&f, "for weights");
        weights(&f);
    } else {
        say_ceiling(&f, "for the workspace of one prompt");
        activations(&f);
    }
}
