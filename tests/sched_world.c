/* sched_world.c - opening a world, its books, and answers. */
#include "tests/sched_world.h"

struct one *world_find(struct world *w, int id)
{
    for (int i = 0; i < LIVE; i++)
        if (w->one[i].at != FREE && w->one[i].id == id) return &w->one[i];
    return NULL;
}

int world_count(const struct world *w, enum at at, int agent)
{
    int n = 0;
    for (int i = 0; i < LIVE; i++) n += w->one[i].at == at && (agent < 0 || w->one[i].agent == agent);
    return n;
}

/* ------------------------------------------------------------------ open */

static struct vocab *open_vocab(void)
{
    struct gguf_make m;
    struct err err = {0};
    gguf_make_begin(&m);
    gguf_make_str(&m, "general.architecture", "llama");
    tiny_vocab(&m, NULL);
    struct gguf *g = gguf_open(gguf_make_file(&m, "vocab.gguf"), &err);
    struct vocab *v = g ? vocab_open(g, &err) : NULL;
    gguf_close(g);
    CHECK_STR(err.text, "");
    return v;
}

/* Whoever came before it and still waits was overtaken: the promise of engine.h, counted here. */
void world_admitted(void *self, int id)
{
    struct world *w = self;
    struct one *q = world_find(w, id);
    if (!q) return; /* no_wait: within submit(), which has not said yet how it is called */
    HOLDS(w, q->at == WAITS);
    q->at = IN;
    q->was_in = true;
    for (int i = 0; i < LIVE; i++) {
        struct one *r = &w->one[i];
        if (r->at != WAITS || r->order > q->order) continue;
        r->overtaken++;
        w->most_overtaken = MAX(w->most_overtaken, r->overtaken);
        HOLDS(w, r->overtaken <= SCHED_OVERTAKEN);
    }
}

static uint32_t seed_of(const char *name)
{
    const char *given = getenv("SEED");
    uint32_t seed = given ? (uint32_t)strtoul(given, NULL, 10) : 1;
    for (; *name; name++) seed = seed * 31 + (unsigned char)*name;
    return seed;
}

int world_usable(const struct world *w) { return w->f.group[0].there; }

struct world *world_open(const struct plan *plan, const char *name)
{
    struct err err = {0};
    struct world *w = calloc(1, sizeof *w);
    CHECK(w);
    w->plan = *plan;
    w->seed = seed_of(name);
    w->v = open_vocab();
    fake_open(&w->f, plan->group, plan->groups, vocab_eos(w->v), w->seed);
    w->f.started = world_admitted;
    w->f.started_self = w;
    w->f.fail_run = plan->fail_run;
    w->f.fail_save = plan->fail_save;
    w->f.fail_load = plan->fail_load;
    for (int g = 0; plan->limited && g < plan->groups; g++) w->f.group[g].there = below(w, 3);
    w->usable = world_usable(w);
    struct sched_config cfg = {.vocab = w->v, .token_text = sched_token_text(w->v),
                               .ctx = plan->ctx, .max_seqs = plan->slots, .max_rows = plan->rows,
                               .step_rows = plan->step_rows ? plan->step_rows : plan->rows,
                               .max_outs = plan->outs, .groups = plan->groups,
                               .text_bytes = (uint64_t)plan->text, .overcommit = plan->overcommit,
                               .drafts = plan->drafts,
                               .park_bytes = (uint64_t)plan->park_pages * sizeof(struct fake_page),
                               .runner = fake_runner(&w->f, plan->park_pages > 0, plan->limited)};
    memcpy(cfg.group, plan->group, sizeof cfg.group);
    w->s = w->f.s = sched_open(&cfg, &err);
    CHECK_STR(err.text, "");
    for (int i = 0; i < STORIES * STORY; i++) w->story[i / STORY][i % STORY] = TINY_BYTE0 + 'a' + below(w, 26);
    memset(w->letters, 0xff, sizeof w->letters);
    w->letters[(TINY_BYTE0 + 'c') / 32] &= ~(1u << (TINY_BYTE0 + 'c') % 32);
    sched_snapshot(w->s, &w->last);
    return w;
}

/* ------------------------------------------------------------------ is an answer what it has to be? */

static void check_scores(struct world *w, const struct one *q)
{
    uint64_t hash = 0;
    int known = atomic_load(&q->a->n_prefilled);
    for (int i = 0; i < q->n; i++) {
        if (i > 0 && i < known) HOLDS(w, q->a->prompt_logprob[i] == fake_logprob(hash, q->ids[i]));
        hash = fake_hash(hash, q->ids[i]);
    }
}

void world_check_answer(struct world *w, const struct one *q)
{
    static struct fake_answer want;
    const struct answer *a = q->a;
    int n = atomic_load(&a->n_tokens), end = atomic_load(&a->end), prefilled = atomic_load(&a->n_prefilled);
    size_t len = atomic_load(&a->text_len);
    fake_expect(&w->f, &q->ask, &want);
    HOLDS(w, a->id == q->id && a->n_prompt == q->n && n <= want.n && (n == 0 || prefilled == q->n));
    HOLDS(w, memcmp(a->prompt, q->ids, (size_t)q->n * sizeof *q->ids) == 0);
    HOLDS(w, len <= strlen(want.text) || (q->ask.stop && end >= END_CANCELLED));
    for (int i = 0; i < n; i++) {
        HOLDS(w, a->token[i].id == want.token[i] && a->token[i].text_end <= len);
        HOLDS(w, !a->top || a->top[i].id[0] == want.token[i]);
    }
    HOLDS(w, memcmp(a->text, want.text, MIN(len, strlen(want.text))) == 0);
    HOLDS(w, (end != END_NONE) == (q->at == OVER) && prefilled >= 0 && prefilled <= q->n);
    if (q->score) check_scores(w, q);
    if (end == END_NONE || end == END_CANCELLED) return;
    if (end == END_FAULT) {
        HOLDS(w, q->may_fail && strstr(a->fault, "the pa") == a->fault);
        return;
    }
    HOLDS(w, end == (int)want.end && n == want.n && len == strlen(want.text) && prefilled == q->n);
    HOLDS(w, (a->fault[0] == '\0'));
}

/* ------------------------------------------------------------------ the books */

/* Tokens in the first group's pages of a sequence that has come so far; with a window, in those that the next token
 * sees. */
static int tokens_held(const struct world *w, int known)
{
    int window = w->plan.group[0].window, gone = window ? MAX(known - window + 1, 0) / KERN_PAGE : 0;
    return known - gone * KERN_PAGE;
}

static void check_agents(struct world *w, const struct engine_snapshot *s)
{
    uint64_t tokens = 0, shared = 0, held = 0;
    int64_t running = 0, waiting = 0, parked = 0;
    for (int a = 0; a < ENGINE_AGENTS; a++) {
        const struct engine_agent *g = &s->agent[a];
        uint64_t own = 0;
        for (int k = 0; k < SEGMENTS; k++) own += g->tokens[k];
        tokens += own;
        held += own + g->shared_tokens;
        running += g->running;
        waiting += g->waiting;
        parked += g->parked;
        HOLDS(w, g->running > 0 || own + g->shared_tokens == 0); /* I7: it has given back what it took */
        if (a >= AGENTS) continue;
        HOLDS(w, g->waiting == world_count(w, WAITS, a) && g->running + g->parked == world_count(w, IN, a));
    }
    for (int k = 0; k < SEGMENTS; k++) shared += s->shared_segment[k];
    HOLDS(w, tokens + shared == s->filled_tokens && shared == s->shared_tokens);
    HOLDS(w, running == s->running && waiting == s->waiting && parked == s->parked);
    uint64_t known = 0; /* that the requests in it have come to */
    for (int i = 0; i < LIVE; i++) {
        const struct one *q = &w->one[i];
        if (q->at != IN) continue;
        known += (uint64_t)tokens_held(w, atomic_load(&q->a->n_prefilled) + MAX(atomic_load(&q->a->n_tokens) - 1, 0));
    }
    /* A half done pass, unless its request has left, has the pages of its rows, which count when it is whole. */
    const struct one *half = w->f.half_rows ? world_find(w, w->prefilled) : NULL;
    if (half && half->at == IN) known += (uint64_t)w->f.half_rows;
    HOLDS(w, w->plan.overcommit || held == known);
}

/* Requests that have begun and not been dropped: their part of the sums. */
static void check_sums(struct world *w, const struct engine_snapshot *s)
{
    uint64_t shared = w->shared, first = w->first_time;
    for (int i = 0; i < LIVE; i++) {
        const struct one *q = &w->one[i];
        if (q->at == FREE || q->at == WAITS) continue;
        shared += (uint64_t)q->a->n_shared;
        first += (uint64_t)(atomic_load(&q->a->n_prefilled) - q->a->n_shared);
    }
    if (w->plan.overcommit) {
        HOLDS(w, s->reused >= shared && s->prefilled <= first);
        HOLDS(w, s->parked <= (int64_t)(s->parkings - s->resumes));
    } else {
        HOLDS(w, s->reused == shared && s->prefilled == first);
        HOLDS(w, s->parkings + s->resumes + s->recomputed + (uint64_t)s->parked == 0);
    }
    HOLDS(w, s->drafts_right <= s->drafted && (s->drafted == 0 || w->plan.drafts > 0));
    HOLDS(w, s->generated + s->drafted - s->drafts_right == (uint64_t)w->f.chosen);
}

static void check_map(struct world *w, const struct engine_snapshot *s)
{
    struct engine_cell cell[128];
    int n[CELL_SHARED + 1] = {0}, pages = w->plan.group[0].pages;
    HOLDS(w, pages <= (int)COUNT_OF(cell));
    sched_page_map(w->s, cell, pages);
    for (int i = 0; i < pages; i++) n[cell[i].state]++;
    HOLDS(w, (uint64_t)n[CELL_SHARED] * KERN_PAGE == s->shared_tokens);
    HOLDS(w, (uint64_t)n[CELL_CACHED] * KERN_PAGE == s->cached_tokens);
    HOLDS(w, (uint64_t)(n[CELL_HELD] + n[CELL_SHARED]) * KERN_PAGE <= s->reserved_tokens);
    HOLDS(w, (uint64_t)(n[CELL_HELD] + n[CELL_SHARED]) * KERN_PAGE <
                 s->filled_tokens + (uint64_t)w->plan.slots * 16);
}

void world_check(struct world *w)
{
    struct err err = {0};
    struct engine_snapshot s, *last = &w->last;
    if (sched_check(w->s, &err)) check_fail(__FILE__, __LINE__, "op %lld: %s", (long long)w->op, err.text);
    sched_snapshot(w->s, &s);
    HOLDS(w, s.filled_tokens <= s.reserved_tokens && s.reserved_tokens <= s.usable_tokens);
    HOLDS(w, s.usable_tokens <= s.pool_tokens && s.pool_tokens == (uint64_t)w->plan.group[0].pages * KERN_PAGE);
    HOLDS(w, s.usable_tokens == (uint64_t)w->usable * KERN_PAGE);
    HOLDS(w, s.running <= w->plan.slots && s.waiting <= SCHED_QUEUE && (s.running > 0 || s.reserved_tokens == 0));
    HOLDS(w, s.text_requests == (uint64_t)(LIVE - world_count(w, FREE, -1)) && s.text_used <= s.text_bytes);
    HOLDS(w, s.park_used <= s.park_bytes && (s.parked > 0 || s.park_used == 0));
    HOLDS(w, s.prefilled >= last->prefilled && s.generated >= last->generated && s.passes >= last->passes);
    HOLDS(w, s.evicted_pages >= last->evicted_pages && s.parkings >= last->parkings && s.resumes >= last->resumes);
    check_agents(w, &s);
    check_sums(w, &s);
    if (w->op % 8 == 0) check_map(w, &s);
    *last = s;
}

void world_close(struct world *w)
{
    sched_close(w->s);
    fake_close(&w->f);
    vocab_close(w->v);
    free(w);
}
