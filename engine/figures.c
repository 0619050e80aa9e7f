/* figures.c - what is going on: for readers in any thread, and for those who ask on the engine's own. */
#include "engine/sched_impl.h"

/* ------------------------------------------------------------------ snapshot */

/* A sequence lock (H. Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012): the writer
 * never waits; a reader that met a write takes the figures again.  Odd: a write is under way. */
enum { WORDS = sizeof(struct engine_snapshot) / sizeof(uint64_t) };
_Static_assert(sizeof(struct engine_snapshot) % sizeof(uint64_t) == 0, "a snapshot is whole words");

struct published {
    atomic_uint_fast64_t count;
    atomic_uint_fast64_t word[WORDS];
};

struct published *figures_open(void) { return calloc(1, sizeof(struct published)); }
void figures_close(struct published *p) { free(p); }

static void count_agents(const struct sched *s, struct engine_snapshot *out)
{
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        if (!s->slot[i]) continue;
        struct engine_agent *a = &out->agent[s->slot[i]->agent];
        struct kv_slot_count c = kv_slot_count(s->kv, i);
        uint64_t own = 0;
        for (int k = 0; k < SEGMENTS; k++) {
            a->tokens[k] += c.own[k];
            own += c.own[k];
        }
        a->shared_tokens += (uint64_t)c.tokens - own;
        a->running++;
    }
    for (int i = 0, left = s->waiting + s->parked; i < s->places && left > 0; i++) {
        const struct request_live *q = s->all[i];
        if (!q || (q->state != REQUEST_WAITING && q->state != REQUEST_PARKED)) continue;
        out->agent[q->agent].waiting += q->state == REQUEST_WAITING;
        out->agent[q->agent].parked += q->state == REQUEST_PARKED;
        left--;
    }
}

static void take_figures(const struct sched *s, struct engine_snapshot *out)
{
    _Static_assert((int)SEGMENTS == (int)KV_KINDS, "a token's kind is its segment");
    struct kv_count c = kv_count(s->kv);
    *out = (struct engine_snapshot){
        .pool_tokens = (uint64_t)c.pages * KERN_PAGE,
        .usable_tokens = (uint64_t)c.usable * KERN_PAGE,
        .reserved_tokens = (uint64_t)c.reserved * KERN_PAGE,
        .filled_tokens = c.tokens,
        .shared_tokens = (uint64_t)c.shared * KERN_PAGE,
        .cached_tokens = (uint64_t)c.cached * KERN_PAGE,
        .reused = c.reused, .evicted_pages = c.evicted, .adopted_pages = c.adopted,
        .running = s->running, .waiting = s->waiting, .parked = s->parked,
        .prefilled = s->prefilled, .generated = s->generated, .recomputed = s->recomputed,
        .parkings = s->parkings, .resumes = s->resumes, .passes = s->passes,
        .drafted = s->drafted, .drafts_right = s->drafts_right,
        .text_bytes = arena_bytes(&s->arena), .text_used = arena_used(&s->arena),
        .text_requests = (uint64_t)s->requests,
        .park_bytes = (uint64_t)s->park.places * s->park.page_bytes,
        .park_used = (uint64_t)s->park.used * s->park.page_bytes,
    };
    memcpy(out->shared_segment, c.shared_kind, sizeof out->shared_segment);
    count_agents(s, out);
    naive_figures(s, out);
}

/* Release and acquire on every word order it against the count; on x86 they cost nothing. */
void figures_publish(struct sched *s)
{
    struct engine_snapshot now;
    uint64_t word[WORDS];
    struct published *p = s->published;
    take_figures(s, &now);
    memcpy(word, &now, sizeof word);
    uint64_t n = atomic_load_explicit(&p->count, memory_order_relaxed);
    atomic_store_explicit(&p->count, n + 1, memory_order_relaxed);
    for (size_t i = 0; i < WORDS; i++) atomic_store_explicit(&p->word[i], word[i], memory_order_release);
    atomic_store_explicit(&p->count, n + 2, memory_order_release);
}

void sched_snapshot(const struct sched *s, struct engine_snapshot *out)
{
    const struct published *p = s->published;
    uint64_t word[WORDS], before, after;
    do {
        before = atomic_load_explicit(&p->count, memory_order_acquire);
        for (size_t i = 0; i < WORDS; i++) word[i] = atomic_load_explicit(&p->word[i], memory_order_acquire);
        after = atomic_load_explicit(&p->count, memory_order_relaxed);
    } while (before != after || before % 2 != 0);
    memcpy(out, word, sizeof *out);
}

/* ------------------------------------------------------------------ why a request waits */

static const struct request_live *next_admitted(const struct sched *s, uint64_t after)
{
    const struct request_live *next = NULL;
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        const struct request_live *q = s->slot[i];
        if (q && q->admitted > after && (!next || q->admitted < next->admitted)) next = q;
    }
    return next;
}

/* The running ones in order of admission, until what they would free is enough. */
static void who_makes_room(const struct sched *s, int group, struct engine_wait *w)
{
    int room = w->free, ends = 0;
    uint64_t last = 0;
    for (const struct request_live *q; room < w->pages && (q = next_admitted(s, last)); last = q->admitted) {
        room += kv_would_free(s->kv, q->slot, group);
        w->after = q->a.id;
        ends++;
    }
    w->others = MAX(ends - 1, 0);
}

/* The group that lacks most pages for it; what it needs there if nothing is shared, and what that has. */
static int scarcest(const struct sched *s, const struct request_live *q, struct engine_wait *w)
{
    struct kv_ask ask;
    int group = 0;
    admit_asks(s, q, &ask);
    for (int g = 0; g < s->cfg.groups; g++) {
        struct kv_count c = kv_group_count(s->kv, g);
        int pages = sched_need(s, g, ask.tokens) + ask.spare[g], left = c.usable - c.reserved;
        if (g > 0 && pages - left <= w->pages - w->free) continue;
        group = g;
        w->pages = pages;
        w->free = left;
    }
    return group;
}

void figures_wait(const struct sched *s, const struct request_live *q, struct engine_wait *out)
{
    *out = (struct engine_wait){.what = WAIT_NOTHING};
    if (!q || (q->state != REQUEST_WAITING && q->state != REQUEST_PARKED)) return;
    if (naive_waits(s, out)) return;
    const struct request_live *first = admit_first(s), *front = admit_front_of(s, q);
    int group = scarcest(s, q, out);
    if (first != q && admit_must_go_first(first)) {
        out->what = WAIT_TURN;
        out->after = first->a.id;
    } else if (s->running == s->cfg.max_seqs) {
        out->what = WAIT_SLOT;
        out->after = next_admitted(s, 0)->a.id; /* any end will do; the oldest's may come first */
    } else if (front) {
        out->what = WAIT_FRONT;
        out->after = front->a.id;
    } else if (first != q && s->look) {
        out->what = WAIT_TURN; /* the next step will see */
        out->after = first->a.id;
    } else {
        out->what = WAIT_PAGES;
        who_makes_room(s, group, out);
    }
}

void sched_waits(struct sched *s, int id, struct engine_wait *out) { figures_wait(s, sched_find(s, id), out); }

void figures_wait_words(const struct sched *s, const struct request_live *q, const struct engine_wait *w, char *out,
                        size_t n)
{
    char others[48] = "";
    (void)q;
    if (w->others > 0) snprintf(others, sizeof others, " and %d admitted before it", w->others);
    switch (w->what) {
    case WAIT_NOTHING: snprintf(out, n, "it does not"); break;
    case WAIT_SLOT: snprintf(out, n, "%d sequences run, no more may; request %d ends first", s->cfg.max_seqs, w->after);
        break;
    case WAIT_PAGES:
        if (w->after) snprintf(out, n, "it needs %d KV pages, %d are free; request %d%s must end first", w->pages,
                               w->free, w->after, others);
        else snprintf(out, n, "it needs %d KV pages, %d are free", w->pages, w->free);
        break;
    case WAIT_FRONT: snprintf(out, n, "request %d is computing what it begins with", w->after); break;
    case WAIT_TURN: snprintf(out, n, "request %d goes first", w->after); break;
    }
}

/* ------------------------------------------------------------------ page map */

static enum engine_cell_state state_of(const struct kv_page_info *p)
{
    if (p->refs > 1) return CELL_SHARED;
    if (p->refs == 1) return CELL_HELD;
    return p->cached ? CELL_CACHED : CELL_FREE;
}

/* The index of the largest; *several: more than one is not 0. */
static int largest(const int *n, int count, bool *several)
{
    int most = 0, used = 0;
    for (int i = 0; i < count; i++) {
        used += n[i] > 0;
        if (n[i] > n[most]) most = i;
    }
    *several = used > 1;
    return most;
}

static struct engine_cell make_cell(const struct sched *s, int from, int to)
{
    int states[CELL_SHARED + 1] = {0}, agents[ENGINE_AGENTS] = {0}, segments[SEGMENTS] = {0};
    bool many_states, many_agents, many_segments;
    for (int i = from; i < to; i++) states[state_of(&(struct kv_page_info[]){kv_page_info(s->kv, 0, i)}[0])]++;
    int state = largest(states, CELL_SHARED + 1, &many_states);
    for (int i = from; i < to; i++) {
        struct kv_page_info p = kv_page_info(s->kv, 0, i);
        if ((int)state_of(&p) != state) continue;
        if (p.agent >= 0) agents[p.agent]++;
        for (int k = 0; k < SEGMENTS; k++) segments[k] += p.kind[k];
    }
    int agent = largest(agents, ENGINE_AGENTS, &many_agents), segment = largest(segments, SEGMENTS, &many_segments);
    return (struct engine_cell){.state = (uint8_t)state, .agent = (uint8_t)agent, .segment = (uint8_t)segment,
                                .mixed = many_states || (state != CELL_FREE && many_agents)};
}

void sched_page_map(struct sched *s, struct engine_cell *cell, int n)
{
    int64_t pages = kv_count(s->kv).pages;
    for (int64_t i = 0; i < n; i++) {
        int from = (int)(i * pages / n), to = (int)((i + 1) * pages / n);
        cell[i] = make_cell(s, MIN(from, (int)pages - 1), MAX(to, MIN(from, (int)pages - 1) + 1));
    }
}

/* ------------------------------------------------------------------ check */

/* Its state in its grammar follows from its tokens. */
static int check_strict(const struct sched *s, const struct request_live *q, struct err *err)
{
    struct strict_state st = {0};
    size_t outside;
    if (q->carried && !s->cfg.heard) strict_begin(s->strict, q->carried, q->ids, (size_t)q->a.n_prompt, &st);
    for (int i = q->a.n_prompt; q->carried && i < q->n_ids; i++) {
        const char *bytes;
        size_t n = vocab_piece(s->cfg.vocab, q->ids[i], &bytes);
        if (!strict_accept(q->carried, &st, q->ids[i], bytes, n, &outside))
            return err_set(err, -1, "request %d: token %d is not of its grammar", q->a.id, i);
    }
    if (q->carried && !strict_same(&st, &q->strict))
        return err_set(err, -1, "request %d is elsewhere in its grammar than its tokens", q->a.id);
    return 0;
}

int sched_check(const struct sched *s, struct err *err)
{
    int count[REQUEST_ENDED + 1] = {0}, all = 0, parked_places = 0, carried = 0;
    uint64_t tokens = 0, shared = 0;
    struct engine_snapshot now;
    for (int i = 0; i < s->places; i++) { /* one behind them would lack in the sum */
        const struct request_live *q = s->all[i];
        if (!q) continue;
        all++;
        count[q->state]++;
        if (q->place != i || q->overtaken > SCHED_OVERTAKEN)
            return err_set(err, -1, "request %d: place %d of %d, overtaken %d times", q->a.id, q->place, i,
                           q->overtaken);
        if (q->state == REQUEST_RUNNING && s->slot[q->slot] != q)
            return err_set(err, -1, "request %d is not in its slot %d", q->a.id, q->slot);
        for (int p = q->park_first; p >= 0; p = s->park.next[p]) parked_places++;
        carried += q->carried != NULL;
        if (check_strict(s, q, err)) return -1;
    }
    if (carried != strict_holds(s->strict))
        return err_set(err, -1, "%d requests carry grammars, which are held %d times", carried,
                       strict_holds(s->strict));
    if (all != s->requests || count[REQUEST_WAITING] != s->waiting || count[REQUEST_RUNNING] != s->running ||
        count[REQUEST_PARKED] != s->parked || parked_places != s->park.used)
        return err_set(err, -1, "%d of %d requests: waiting %d %d, running %d %d, parked %d %d, places %d %d", all,
                       s->requests, count[REQUEST_WAITING], s->waiting, count[REQUEST_RUNNING], s->running,
                       count[REQUEST_PARKED], s->parked, parked_places, s->park.used);
    if ((size_t)all != arena_blocks(&s->arena))
        return err_set(err, -1, "%d requests in %zu blocks", all, arena_blocks(&s->arena));
    take_figures(s, &now);
    for (int k = 0; k < SEGMENTS; k++) shared += now.shared_segment[k];
    tokens = shared;
    for (int a = 0; a < ENGINE_AGENTS; a++)
        for (int k = 0; k < SEGMENTS; k++) tokens += now.agent[a].tokens[k];
    if (tokens != now.filled_tokens || shared != now.shared_tokens || now.filled_tokens > now.reserved_tokens ||
        now.reserved_tokens > now.usable_tokens)
        return err_set(err, -1, "tokens of all owners: %llu, filled %llu, reserved %llu", (unsigned long long)tokens,
                       (unsigned long long)now.filled_tokens, (unsigned long long)now.reserved_tokens);
    return arena_check(&s->arena, err) || naive_check(s, err) ? -1 : kv_check(s->kv, err);
}
