/* naive.c - the policies of naive.h inside the scheduler: who gets what, how one dies, and what is told of it. */
#include "engine/naive_impl.h"
#include "engine/naive_runs.h"
#include "engine/sched_impl.h"

struct naive {
    enum naive_policy policy; /* in force */
    bool failed, closed;      /* somebody died of it; it lets nobody in now */
    bool over;                /* the sound policy has looked at those who waited */
    uint64_t failures;
    uint64_t unit;            /* bytes of a page */
    int first;                /* of the run that kv_admit() is given */
    struct naive_runs runs;   /* RESERVE, FIRST_FIT */
    uint64_t *own, taken;     /* RELOAD, WHOLE_BATCH: (max_seqs) bytes of each slot's request, and of all */
    struct naive_trace trace;
};

const char *naive_name(enum naive_policy p)
{
    static const char *const name[] = {"none", "reserve", "no-limit", "first-fit", "f32", "reload", "whole-batch"};
    _Static_assert(COUNT_OF(name) == NAIVE_POLICIES, "each has a name");
    assert((size_t)p < COUNT_OF(name));
    return name[p];
}

/* ------------------------------------------------------------------ open */

int naive_check_config(const struct engine_config *cfg, bool has_model, struct err *err)
{
    if (cfg->naive < NAIVE_NONE || cfg->naive >= NAIVE_POLICIES)
        return err_set(err, ENGINE_FAULT, "memory policy %d is not known; there are %d", (int)cfg->naive,
                       NAIVE_POLICIES);
    if (cfg->naive != NAIVE_NONE && (cfg->overcommit || cfg->fit))
        return err_set(err, ENGINE_FAULT, "memory policy %s fails on purpose: not with overcommit or fit",
                       naive_name(cfg->naive));
    if (cfg->naive >= NAIVE_F32 && !has_model)
        return err_set(err, ENGINE_FAULT, "memory policy %s is about weights and workspace: it needs a model",
                       naive_name(cfg->naive));
    return 0;
}

/* Policies of pages and of whole prompts keep whole sequences. */
int naive_check_window(enum naive_policy p, int window, struct err *err)
{
    if (window == 0 || p == NAIVE_NONE || p == NAIVE_F32 || p == NAIVE_RELOAD) return 0;
    return err_set(err, ENGINE_FAULT, "memory policy %s keeps whole sequences, and this model's attention has a window "
                   "of %d tokens: open a context of at most as many (--ctx)", naive_name(p), window);
}

int naive_check_states(enum naive_policy p, struct err *err)
{
    if (p == NAIVE_NONE) return 0;
    return err_set(err, ENGINE_FAULT, "memory policy %s knows keys and values only, and some layers of this model "
                   "keep a state: take a model with attention in all layers", naive_name(p));
}

int naive_pass_rows(const struct sched_config *cfg)
{
    /* A whole prompt beside a row of everyone else. */
    return cfg->naive.policy == NAIVE_WHOLE_BATCH ? MAX(cfg->max_rows, cfg->ctx + cfg->max_seqs) : cfg->max_rows;
}

uint64_t naive_bytes(const struct sched_config *cfg)
{
    if (cfg->naive.policy == NAIVE_NONE) return 0;
    return sizeof(struct naive) + naive_runs_bytes(cfg->max_seqs) + (uint64_t)cfg->max_seqs * sizeof(uint64_t) +
           naive_trace_bytes();
}

int naive_open(struct sched *s, struct err *err)
{
    const struct sched_config *cfg = &s->cfg;
    if (cfg->naive.policy == NAIVE_NONE) return 0;
    struct naive *n = s->naive = calloc(1, sizeof *n);
    bool ok = n && naive_runs_open(&n->runs, cfg->group[0].pages, cfg->max_seqs) && naive_trace_open(&n->trace) &&
              (n->own = calloc((size_t)cfg->max_seqs, sizeof *n->own));
    if (!ok) return err_set(err, ENGINE_FAULT, "no memory for the tables of a memory policy");
    n->policy = cfg->naive.policy;
    n->unit = cfg->runner.page_bytes ? cfg->runner.page_bytes : KERN_PAGE;
    return 0;
}

void naive_close(struct sched *s)
{
    if (!s->naive) return;
    naive_runs_close(&s->naive->runs);
    naive_trace_close(&s->naive->trace);
    free(s->naive->own);
    free(s->naive);
}

/* ------------------------------------------------------------------ which policy */

static enum naive_policy policy_of(const struct sched *s) { return s->naive ? s->naive->policy : NAIVE_NONE; }

static bool in_runs(enum naive_policy p) { return p == NAIVE_RESERVE || p == NAIVE_FIRST_FIT; }

bool naive_on(const struct sched *s) { return policy_of(s) != NAIVE_NONE; }

bool naive_pages(const struct sched *s) { return in_runs(policy_of(s)) || policy_of(s) == NAIVE_NO_LIMIT; }

bool naive_promises(const struct sched *s) { return policy_of(s) != NAIVE_NO_LIMIT || s->naive->failed; }

/* NO_LIMIT lets in what the whole pool could not hold; the sound policy would have it wait for ever. */
static void refuse_the_endless(struct sched *s)
{
    char words[160];
    s->naive->over = true;
    for (int i = 0; i < s->places; i++) {
        struct request_live *q = s->all[i];
        int need = q ? kv_pages_for(q->a.n_prompt + q->a.max_tokens) : 0, pool = s->cfg.group[0].pages;
        if (!q || q->state != REQUEST_WAITING || need <= pool) continue;
        snprintf(words, sizeof words, "the policy that promised nothing is over: this request needs %d KV pages, and "
                 "the whole pool has %d", need, pool);
        err_set(&s->trouble, ENGINE_FAULT, "%s", words);
        request_end(q, END_FAULT, words);
        sched_leave(s, q);
    }
}

/* A pool whose last pages are not there yet would make it fail for a reason that is not its own. */
bool naive_look(struct sched *s)
{
    struct naive *n = s->naive;
    if (n && !naive_on(s) && !n->over) refuse_the_endless(s);
    if (!naive_on(s)) return true;
    struct kv_count c = kv_count(s->kv);
    n->closed = n->failed || (n->policy == NAIVE_RESERVE && s->running > 0) || (naive_pages(s) && c.usable < c.pages);
    return !n->closed;
}

bool naive_closed(const struct sched *s) { return naive_on(s) && s->naive->closed; }

int naive_rows(const struct sched *s, const struct request_live *q, int rows)
{
    int all = q->n_ids - q->computed;
    if (policy_of(s) != NAIVE_WHOLE_BATCH) return -1;
    return rows + all <= naive_pass_rows(&s->cfg) ? all : 0;
}

/* ------------------------------------------------------------------ figures */

/* What a policy has to give: the pool, or all under the ceiling. */
struct room {
    uint64_t size, taken, filled, hole, hole_at, end; /* end: after the last piece that is taken */
};

/* NO_LIMIT: the longest stretch of pages that nobody holds. */
static int free_stretch(const struct sched *s, int *at)
{
    int most = 0, now = 0;
    *at = s->cfg.group[0].pages;
    for (int i = 0; i < s->cfg.group[0].pages; i++) {
        now = kv_page_info(s->kv, 0, i).refs ? 0 : now + 1;
        if (now <= most) continue;
        most = now;
        *at = i + 1 - now;
    }
    return most;
}

static struct room pool_room(const struct sched *s)
{
    const struct naive *n = s->naive;
    struct kv_count c = kv_count(s->kv);
    int at, hole = in_runs(n->policy) ? naive_runs_hole(&n->runs, &at) : free_stretch(s, &at);
    struct room r = {.size = (uint64_t)c.pages * n->unit, .taken = (uint64_t)c.reserved * n->unit,
                     .filled = c.tokens * n->unit / KERN_PAGE,
                     .hole = (uint64_t)hole * n->unit, .hole_at = (uint64_t)at * n->unit};
    /* Pages that are taken one by one may lie anywhere: only their number counts. */
    r.end = in_runs(n->policy) ? (uint64_t)naive_runs_end(&n->runs) * n->unit : r.taken;
    return r;
}

/* Under the ceiling nothing has an address: what is left is one piece, after all that was taken. */
static struct room ceiling_room(const struct sched *s)
{
    const struct naive *n = s->naive;
    const struct ledger *l = &s->cfg.naive.ledger;
    uint64_t total = ledger_under(l) + n->taken, filled = n->taken;
    if (n->policy == NAIVE_F32) { /* instead of the weights that were loaded when the floats did not fit */
        if (s->cfg.naive.f32_refused) total -= l->bytes[LEDGER_WEIGHTS];
        else filled = l->bytes[LEDGER_WEIGHTS];
    }
    return (struct room){.size = l->ceiling, .taken = total, .filled = filled, .hole = l->ceiling - total,
                         .hole_at = total, .end = total};
}

static struct room room_of(const struct sched *s) { return naive_pages(s) ? pool_room(s) : ceiling_room(s); }

void naive_figures(const struct sched *s, struct engine_snapshot *out)
{
    if (!s->naive) return;
    out->naive_failures = s->naive->failures;
    if (!naive_on(s)) return;
    struct room r = room_of(s);
    out->naive_policy = (uint64_t)s->naive->policy;
    out->naive_size = r.size;
    out->naive_reserved = r.taken;
    out->naive_allocated = r.filled;
    out->naive_hole = r.hole;
}

static const struct request_live *oldest_running(const struct sched *s)
{
    const struct request_live *first = NULL;
    for (int i = 0; i < s->cfg.max_seqs; i++)
        if (s->slot[i] && (!first || s->slot[i]->admitted < first->admitted)) first = s->slot[i];
    return first;
}

bool naive_waits(const struct sched *s, struct engine_wait *out)
{
    const struct request_live *first = oldest_running(s);
    bool shut = naive_on(s) && (s->naive->failed || s->naive->policy == NAIVE_RESERVE);
    if (!shut || !first) return false;
    *out = (struct engine_wait){.what = WAIT_TURN, .after = first->a.id, .others = s->running - 1};
    return true;
}

int sched_naive_ops(const struct sched *s, uint64_t from, struct naive_op *out, int n)
{
    return s->naive ? naive_trace_read(&s->naive->trace, from, out, n) : 0;
}

/* ------------------------------------------------------------------ dying */

static void put_op(struct sched *s, enum naive_op_kind kind, enum ledger_class what, uint64_t at, uint64_t bytes,
                   int id)
{
    naive_trace_put(&s->naive->trace, (struct naive_op){.at = at, .bytes = bytes, .id = id, .kind = (uint8_t)kind,
                                                        .what = (uint8_t)what});
}

/* The largest stay, by size, then by id, then by class. */
static void add_owner(struct engine_oom *o, struct engine_owner who)
{
    if (who.bytes == 0) return;
    int i = MIN(o->owners, OOM_OWNERS);
    o->owners++;
    for (; i > 0; i--) {
        const struct engine_owner *p = &o->owner[i - 1];
        if (p->bytes > who.bytes || (p->bytes == who.bytes && p->id <= who.id)) break;
        if (i < OOM_OWNERS) o->owner[i] = *p;
    }
    if (i < OOM_OWNERS) o->owner[i] = who;
}

static void add_owners(const struct sched *s, struct engine_oom *o)
{
    const struct naive *n = s->naive;
    const struct ledger *l = &s->cfg.naive.ledger;
    for (int i = 0; in_runs(n->policy) && i < n->runs.n; i++)
        add_owner(o, (struct engine_owner){n->runs.run[i].id, LEDGER_KV, (uint64_t)n->runs.run[i].n * n->unit});
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        if (!s->slot[i]) continue;
        uint64_t bytes = n->own[i];
        if (n->policy == NAIVE_NO_LIMIT) bytes = (uint64_t)kv_slot_count(s->kv, i).held * n->unit;
        add_owner(o, (struct engine_owner){s->slot[i]->a.id, o->what, bytes});
    }
    if (naive_pages(s)) return;
    for (int c = 0; c < LEDGER_CLASSES; c++) /* weights that floats would have replaced would not have been there */
        if (ledger_counts(l, c) && (n->policy != NAIVE_F32 || c != LEDGER_WEIGHTS))
            add_owner(o, (struct engine_owner){0, (enum ledger_class)c, l->bytes[c]});
}

/* backend: what it said when it had none, or "". */
static void put_words(const struct engine_oom *o, const char *backend, char *out, size_t n)
{
    bool pool = o->what == LEDGER_KV;
    snprintf(out, n, "out of memory (%s): request %d wanted %llu bytes of %s; of %llu bytes %s %llu are free, "
             "%llu in one piece%s%s", naive_name(o->policy), o->id, (unsigned long long)o->wanted,
             ledger_name(o->what), (unsigned long long)o->size, pool ? "in the pool" : "under the ceiling",
             (unsigned long long)o->free, (unsigned long long)o->hole, *backend ? ": " : "", backend);
}

/* q ends, and with it the policy: nobody is let in by it any more, and if nobody else runs by it, the sound one is in
 * force when this returns.  Returns false. */
static bool end_policy(struct sched *s, struct request_live *q, enum engine_end why, const char *words)
{
    struct naive *n = s->naive;
    n->failed = n->closed = true;
    request_end(q, why, words);
    sched_leave(s, q);
    if (s->running == 0) n->policy = NAIVE_NONE;
    return false;
}

/* q dies for want of memory. */
static bool die_of(struct sched *s, struct request_live *q, enum ledger_class what, uint64_t wanted, int page,
                   const char *backend)
{
    struct naive *n = s->naive;
    struct room r = room_of(s);
    char words[sizeof q->a.fault];
    q->a.oom = (struct engine_oom){.policy = n->policy, .what = what, .id = q->a.id, .page = page, .wanted = wanted,
                                   .at = r.end, .size = r.size, .free = r.size - r.taken, .hole = r.hole,
                                   .hole_at = r.hole_at};
    add_owners(s, &q->a.oom);
    put_op(s, NAIVE_FAIL, what, r.end, wanted, q->a.id);
    put_words(&q->a.oom, backend, words, sizeof words);
    n->failures++;
    return end_policy(s, q, END_OOM, words);
}

static bool die(struct sched *s, struct request_live *q, enum ledger_class what, uint64_t wanted, int page)
{
    return die_of(s, q, what, wanted, page, "");
}

/* ------------------------------------------------------------------ runs */

/* The pages of the pool themselves are promised as ever: the run is free, so there is room. */
static bool admit_run(struct sched *s, struct request_live *q, int slot, struct kv_ask *ask, int *shared)
{
    struct naive *n = s->naive;
    if (n->policy == NAIVE_RESERVE) ask->tokens = ask->most = s->cfg.ctx;
    int pages = kv_pages_for(ask->tokens);
    n->first = naive_runs_find(&n->runs, pages);
    if (n->first < 0) return die(s, q, LEDGER_KV, (uint64_t)pages * n->unit, 0);
    ask->first = &n->first;
    bool ok = kv_admit(s->kv, slot, ask, shared);
    assert(ok);
    naive_runs_take(&n->runs, n->first, pages, q->a.id);
    put_op(s, NAIVE_TAKE, LEDGER_KV, (uint64_t)n->first * n->unit, (uint64_t)pages * n->unit, q->a.id);
    return ok;
}

static void give_run(struct sched *s, const struct request_live *q)
{
    struct naive *n = s->naive;
    struct naive_run r = naive_runs_give(&n->runs, q->a.id);
    put_op(s, NAIVE_GIVE, LEDGER_KV, (uint64_t)r.first * n->unit, (uint64_t)r.n * n->unit, q->a.id);
}

/* ------------------------------------------------------------------ pages one by one */

static void put_pages(struct sched *s, enum naive_op_kind kind, const struct request_live *q, int from, int to)
{
    const int32_t *row = kv_table(s->kv, 0) + (size_t)q->slot * (size_t)kv_stride(s->kv);
    for (int i = from; i < to; i++)
        put_op(s, kind, LEDGER_KV, (uint64_t)row[i] * s->naive->unit, s->naive->unit, q->a.id);
}

bool naive_room(struct sched *s, struct request_live *q, int tokens)
{
    if (policy_of(s) != NAIVE_NO_LIMIT) return true;
    int had = kv_slot_count(s->kv, q->slot).held, need = kv_pages_for(tokens), shared;
    struct kv_ask ask = {.tokens = tokens, .most = q->a.n_prompt + q->a.max_tokens, .kind = q->kind, .agent = q->agent};
    if (need > had) {
        bool ok = had ? kv_promise(s->kv, q->slot, tokens) : kv_admit(s->kv, q->slot, &ask, &shared);
        if (!ok) return die(s, q, LEDGER_KV, (uint64_t)(need - had) * s->naive->unit, had);
    }
    kv_grow(s->kv, q->slot, tokens);
    put_pages(s, NAIVE_TAKE, q, had, need);
    return true;
}

/* ------------------------------------------------------------------ memory of a request's own */

/* RELOAD: the weights cannot be had again, though there is memory for them. */
static bool lose_file(struct sched *s, struct request_live *q, const char *why)
{
    err_set(&s->trouble, ENGINE_FAULT, "the weights were not loaded again: %s", why);
    return end_policy(s, q, END_FAULT, s->trouble.text);
}

/* Charged, then taken.  Where the backend has less than the ceiling says, that is the same failure. */
static bool take_own(struct sched *s, struct request_live *q, int slot, int shared)
{
    struct naive *n = s->naive;
    const struct runner *r = &s->cfg.runner;
    int prompt = q->a.n_prompt, rows = prompt - shared;
    uint64_t bytes = r->own_bytes(r->self, rows);
    enum ledger_class what = n->policy == NAIVE_RELOAD ? LEDGER_WEIGHTS : LEDGER_ACTIVATIONS;
    struct room room = ceiling_room(s);
    struct err why = {0};
    bool fits = bytes <= room.size - room.taken;
    int rc = fits ? r->own_take(r->self, slot, prompt, rows, &why) : OWN_NO_MEMORY;
    if (rc) {
        kv_drop(s->kv, slot);
        return rc == OWN_FAULT ? lose_file(s, q, why.text) : die_of(s, q, what, bytes, 0, why.text);
    }
    put_op(s, NAIVE_TAKE, what, room.taken, bytes, q->a.id);
    n->own[slot] = bytes;
    n->taken += bytes;
    return true;
}

static void give_own(struct sched *s, const struct request_live *q)
{
    struct naive *n = s->naive;
    uint64_t bytes = n->own[q->slot];
    enum ledger_class what = n->policy == NAIVE_RELOAD ? LEDGER_WEIGHTS : LEDGER_ACTIVATIONS;
    s->cfg.runner.own_give(s->cfg.runner.self, q->slot);
    n->own[q->slot] = 0;
    n->taken -= bytes;
    put_op(s, NAIVE_GIVE, what, ceiling_room(s).taken, bytes, q->a.id);
}

/* ------------------------------------------------------------------ in and out */

bool naive_admit(struct sched *s, struct request_live *q, int slot, struct kv_ask *ask, int *shared)
{
    switch (policy_of(s)) {
    case NAIVE_RESERVE:
    case NAIVE_FIRST_FIT: return admit_run(s, q, slot, ask, shared);
    case NAIVE_NO_LIMIT: *shared = 0; return true;
    case NAIVE_F32:
        if (s->cfg.naive.f32_refused) return die(s, q, LEDGER_WEIGHTS, s->cfg.naive.f32_refused, 0);
        break;
    case NAIVE_RELOAD:
    case NAIVE_WHOLE_BATCH: return kv_admit(s->kv, slot, ask, shared) && take_own(s, q, slot, *shared);
    default: break;
    }
    return kv_admit(s->kv, slot, ask, shared);
}

void naive_leave(struct sched *s, const struct request_live *q)
{
    enum naive_policy p = policy_of(s);
    if (p == NAIVE_NONE) return;
    if (in_runs(p)) give_run(s, q);
    if (p == NAIVE_NO_LIMIT) put_pages(s, NAIVE_GIVE, q, 0, kv_slot_count(s->kv, q->slot).held);
    if (p == NAIVE_RELOAD || p == NAIVE_WHOLE_BATCH) give_own(s, q);
    if (s->naive->failed && s->running == 1) s->naive->policy = NAIVE_NONE;
}

/* ------------------------------------------------------------------ check */

static const struct naive_run *run_of(const struct naive_runs *r, int id)
{
    for (int i = 0; i < r->n; i++)
        if (r->run[i].id == id) return &r->run[i];
    return NULL;
}

/* A slot's pages are those of its run, in order; its promise is the run. */
static int check_slot_run(const struct sched *s, int slot, struct err *err)
{
    const int32_t *row = kv_table(s->kv, 0) + (size_t)slot * (size_t)kv_stride(s->kv);
    struct kv_slot_count c = kv_slot_count(s->kv, slot);
    const struct naive_run *r = run_of(&s->naive->runs, s->slot[slot]->a.id);
    if (!r || r->n != c.promised)
        return err_set(err, -1, "request %d has %d pages promised and a run of %d", s->slot[slot]->a.id, c.promised,
                       r ? r->n : 0);
    for (int i = 0; i < c.held; i++)
        if (row[i] != r->first + i)
            return err_set(err, -1, "request %d: page %d is %d, its run begins at %d", r->id, i, row[i], r->first);
    return 0;
}

static int check_runs(const struct sched *s, struct err *err)
{
    const struct naive_runs *r = &s->naive->runs;
    for (int i = 0; i < s->cfg.max_seqs; i++)
        if (s->slot[i] && check_slot_run(s, i, err)) return -1;
    for (int i = 1; i < r->n; i++)
        if (r->run[i - 1].first + r->run[i - 1].n > r->run[i].first)
            return err_set(err, -1, "runs %d and %d meet", i - 1, i);
    if (r->n != s->running || naive_runs_end(r) > r->pages)
        return err_set(err, -1, "%d runs for %d requests, to page %d", r->n, s->running, naive_runs_end(r));
    return 0;
}

int naive_check(const struct sched *s, struct err *err)
{
    const struct naive *n = s->naive;
    uint64_t own = 0;
    if (!n) return 0;
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        own += n->own[i];
        if (n->own[i] && !s->slot[i]) return err_set(err, -1, "slot %d is empty and has memory of its own", i);
    }
    if (own != n->taken || (own && !naive_on(s))) return err_set(err, -1, "requests' own memory does not add up");
    if (n->runs.n && !in_runs(n->policy)) return err_set(err, -1, "%d runs are left", n->runs.n);
    struct kv_count c = kv_count(s->kv);
    if (naive_pages(s) && (c.shared || c.cached || (n->policy == NAIVE_NO_LIMIT && c.reserved != c.held)))
        return err_set(err, -1, "%d pages shared, %d known, %d promised, %d held", c.shared, c.cached, c.reserved,
                       c.held);
    struct room r = naive_on(s) ? room_of(s) : (struct room){0};
    if (r.taken > r.size || r.filled > r.taken || r.hole > r.size - r.taken)
        return err_set(err, -1, "a policy that takes more than there is");
    return in_runs(n->policy) ? check_runs(s, err) : 0;
}
