/* sched.c - the table of requests and the making of passes. */
#include "engine/sched.h"
#include "engine/request.h"

struct sched {
    struct sched_config cfg;
    struct kv *kv;
    struct request_live *all[SCHED_REQUESTS]; /* until dropped; NULL: free */
    struct request_live **slot;               /* (max_seqs) running */
    int next_id, waiting, running;
    uint64_t next_order, prefilled, generated, passes;
    uint64_t pass_order; /* of the last admission: earlier ones pre-fill first */

    /* The pass being made; (max_rows) and (max_outs). */
    int32_t *token, *pos, *seq, *out_row;
    struct kern_sample *sample;
    struct kern_choice *choice;
    struct request_live **out_of; /* whose choice it is */
    struct pass pass;
};

/* ------------------------------------------------------------------ open */

static bool allocate(struct sched *s)
{
    size_t rows = (size_t)s->cfg.max_rows, outs = (size_t)s->cfg.max_outs, seqs = (size_t)s->cfg.max_seqs;
    s->slot = calloc(seqs, sizeof *s->slot);
    s->token = calloc(rows, sizeof *s->token);
    s->pos = calloc(rows, sizeof *s->pos);
    s->seq = calloc(rows, sizeof *s->seq);
    s->out_row = calloc(outs, sizeof *s->out_row);
    s->sample = calloc(outs, sizeof *s->sample);
    s->choice = calloc(outs, sizeof *s->choice);
    s->out_of = calloc(outs, sizeof *s->out_of);
    return s->slot && s->token && s->pos && s->seq && s->out_row && s->sample && s->choice && s->out_of;
}

struct sched *sched_open(const struct sched_config *cfg, struct err *err)
{
    assert(cfg->max_rows > cfg->max_seqs && cfg->max_outs >= cfg->max_seqs && cfg->ctx > 0);
    struct sched *s = calloc(1, sizeof *s);
    if (s) {
        s->cfg = *cfg;
        s->kv = kv_open(cfg->groups, cfg->pages, cfg->max_seqs, kv_pages_for(cfg->ctx), err);
        if (s->kv && allocate(s)) return s;
    }
    if (!s || s->kv) err_set(err, ENGINE_FAULT, "no host memory for a scheduler of %d sequences", cfg->max_seqs);
    sched_close(s);
    return NULL;
}

void sched_close(struct sched *s)
{
    if (!s) return;
    for (int i = 0; i < SCHED_REQUESTS; i++) request_free(s->all[i]);
    kv_close(s->kv);
    free(s->slot);
    free(s->token);
    free(s->pos);
    free(s->seq);
    free(s->out_row);
    free(s->sample);
    free(s->choice);
    free(s->out_of);
    free(s);
}

/* ------------------------------------------------------------------ requests */

int sched_count_tokens(struct sched *s, const struct msg *msgs, int n, struct engine_count *out, struct err *err)
{
    struct ids ids = {0};
    int rc = template_render(s->cfg.template, s->cfg.vocab, msgs, n, true, &ids, err) ? ENGINE_NO_MEMORY : 0;
    *out = (struct engine_count){.tokens = (int)MIN(ids.n, (size_t)INT32_MAX), .exact = true};
    ids_free(&ids);
    return rc;
}

static struct request_live **find(struct sched *s, int id)
{
    for (int i = 0; i < SCHED_REQUESTS; i++)
        if (s->all[i] && s->all[i]->a.id == id) return &s->all[i];
    return NULL;
}

/* Can this ever be served?  The figures, if not. */
static int check_fits(const struct sched *s, int prompt, int max_tokens, struct err *err)
{
    int64_t need = (int64_t)prompt + max_tokens;
    if (need > s->cfg.ctx)
        return err_set(
            err, ENGINE_NEVER_FITS,
            "the request needs %lld tokens (%d in the prompt, up to %d in the answer), the context holds %d: "
            "shorten the conversation, ask for a shorter answer (-n) or open a larger context (--ctx)",
            (long long)need, prompt, max_tokens, s->cfg.ctx);
    int64_t pool = (int64_t)s->cfg.pages * KERN_PAGE;
    if (kv_pages_for((int)need) > s->cfg.pages)
        return err_set(
            err, ENGINE_NEVER_FITS,
            "the request needs %d KV pages of %d tokens (%d in the prompt, up to %d in the answer), the whole pool "
            "has %d (%lld tokens): shorten it or open a larger pool",
            kv_pages_for((int)need), KERN_PAGE, prompt, max_tokens, s->cfg.pages, (long long)pool);
    return 0;
}

static int enqueue(struct sched *s, const struct request *r, const int32_t *prompt, size_t n, int *id, struct err *err)
{
    if (s->waiting >= SCHED_QUEUE)
        return err_set(err, ENGINE_QUEUE_FULL, "%d requests wait already: submit again when one has ended", s->waiting);
    struct request_live **place = NULL;
    for (int i = 0; i < SCHED_REQUESTS && !place; i++)
        if (!s->all[i]) place = &s->all[i];
    if (!place) return err_set(err, ENGINE_QUEUE_FULL, "%d answers are kept: drop some", SCHED_REQUESTS);
    if (n > INT32_MAX / 2)
        return err_set(err, ENGINE_NEVER_FITS, "the prompt has %zu tokens, the context holds %d", n, s->cfg.ctx);
    if (r->max_tokens >= 0) { /* a negative one is a bad request: request_make says so */
        int rc = check_fits(s, (int)n, r->max_tokens, err);
        if (rc) return rc;
    }
    int code;
    struct request_live *q = request_make(r, prompt, (int)n, s->cfg.vocab, &code, err);
    if (!q) return code;
    s->next_id = s->next_id == INT32_MAX ? 1 : s->next_id + 1;
    q->a.id = *id = s->next_id;
    q->order = ++s->next_order;
    *place = q;
    s->waiting++;
    return 0;
}

int sched_submit(struct sched *s, const struct request *r, int *id, struct err *err)
{
    if (r->ids) {
        if (r->n_ids < 0) return err_set(err, ENGINE_BAD_REQUEST, "the prompt has %d tokens", r->n_ids);
        return enqueue(s, r, r->ids, (size_t)r->n_ids, id, err);
    }
    struct ids ids = {0};
    int rc = template_render(s->cfg.template, s->cfg.vocab, r->msgs, r->n_msgs, true, &ids, err)
                 ? ENGINE_NO_MEMORY
                 : enqueue(s, r, ids.id, ids.n, id, err);
    ids_free(&ids);
    return rc;
}

const struct answer *sched_answer(struct sched *s, int id)
{
    struct request_live **q = find(s, id);
    return q ? &(*q)->a : NULL;
}

/* q has ended: its slot and pages are free from now on. */
static void leave(struct sched *s, struct request_live *q)
{
    if (q->state == REQUEST_WAITING) s->waiting--;
    if (q->state == REQUEST_RUNNING) {
        kv_drop(s->kv, q->slot);
        s->slot[q->slot] = NULL;
        s->running--;
    }
    q->state = REQUEST_ENDED;
}

int sched_cancel(struct sched *s, int id)
{
    struct request_live **q = find(s, id);
    if (!q || (*q)->state == REQUEST_ENDED) return -1;
    request_end(*q, END_CANCELLED, NULL);
    leave(s, *q);
    return 0;
}

void sched_drop(struct sched *s, int id)
{
    struct request_live **q = find(s, id);
    if (!q) return;
    leave(s, *q);
    request_free(*q);
    *q = NULL;
}

/* ------------------------------------------------------------------ events */

struct events {
    struct engine_event *ev;
    int n, cap;
};

static bool tell(struct events *e, enum engine_event_kind kind, const struct request_live *q)
{
    if (e->n == e->cap) return false;
    e->ev[e->n++] = (struct engine_event){
        .kind = kind,
        .id = q->a.id,
        .of = q->a.n_prompt,
        .n = kind == ENGINE_PREFILL ? MIN(q->computed, q->a.n_prompt)
                                    : atomic_load_explicit(&q->a.n_tokens, memory_order_relaxed),
        .end = (enum engine_end)atomic_load_explicit(&q->a.end, memory_order_relaxed),
    };
    return true;
}

static void tell_ends(struct sched *s, struct events *e)
{
    for (int i = 0; i < SCHED_REQUESTS; i++) {
        struct request_live *q = s->all[i];
        if (q && q->state == REQUEST_ENDED && !q->told_end) q->told_end = tell(e, ENGINE_END, q);
    }
}

/* ------------------------------------------------------------------ admission */

static struct request_live *next_waiting(struct sched *s, uint64_t after)
{
    struct request_live *next = NULL;
    for (int i = 0; i < SCHED_REQUESTS; i++) {
        struct request_live *q = s->all[i];
        if (q && q->state == REQUEST_WAITING && q->order > after && (!next || q->order < next->order)) next = q;
    }
    return next;
}

static bool may_share(const struct request_live *q) { return !q->score && !q->fresh; } /* scores want every row */

/* Is a running request computing pages that q begins with?  Then q waits for them: computing them twice in the same
 * passes would take as long, and twice the room. */
static bool front_is_coming(const struct sched *s, const struct request_live *q)
{
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        const struct request_live *r = s->slot[i];
        if (!r || r->computed >= r->a.n_prompt) continue;
        int most = MIN(r->a.n_prompt, q->a.n_prompt - 1), same = 0;
        while (same < most && r->ids[same] == q->ids[same]) same++;
        if (same / KERN_PAGE > r->computed / KERN_PAGE) return true;
    }
    return false;
}

/* false: there is no room for it now. */
static bool admit_one(struct sched *s, struct request_live *q)
{
    int slot = 0, shared;
    while (s->slot[slot]) slot++;
    if (!kv_admit(s->kv, slot, q->a.n_prompt + q->a.max_tokens, may_share(q) ? q->ids : NULL, q->a.n_prompt, &shared))
        return false;
    s->slot[slot] = q;
    s->waiting--;
    s->running++;
    q->state = REQUEST_RUNNING;
    q->slot = slot;
    q->order = ++s->pass_order;
    q->computed = q->a.n_shared = shared;
    atomic_store_explicit(&q->a.n_prefilled, shared, memory_order_release);
    if (s->cfg.runner.start) s->cfg.runner.start(s->cfg.runner.self, slot, &q->a);
    return true;
}

/* In order of submission: who lacks room holds up those behind it; who waits for a front that is coming does not. */
static void admit(struct sched *s, struct events *e)
{
    uint64_t after = 0;
    for (struct request_live *q; s->running < s->cfg.max_seqs && (q = next_waiting(s, after));) {
        after = q->order;
        if (may_share(q) && front_is_coming(s, q)) continue;
        if (!admit_one(s, q)) return;
        tell(e, ENGINE_ADMITTED, q);
    }
}

/* ------------------------------------------------------------------ a pass */

static bool generates(const struct request_live *q) { return q->n_ids - q->computed == 1 && q->n_ids > q->a.n_prompt; }

/* Rows ids[computed .. computed + n) of q, with an out where a choice or a score is wanted. */
static void add_rows(struct sched *s, struct request_live *q, int n)
{
    struct kern_batch *b = &s->pass.batch;
    for (int i = 0; i < n; i++) {
        int at = q->computed + i;
        bool scored = q->score && at + 1 < q->a.n_prompt;
        bool chosen = at + 1 == q->n_ids && q->a.max_tokens > 0;
        if (scored || chosen) {
            s->out_row[b->outs] = b->rows;
            s->out_of[b->outs] = q;
            s->sample[b->outs] = request_sample(q);
            if (scored) s->sample[b->outs].target = q->ids[at + 1];
            b->outs++;
        }
        s->token[b->rows] = q->ids[at];
        s->pos[b->rows] = at;
        s->seq[b->rows] = q->slot;
        b->rows++;
    }
    kv_grow(s->kv, q->slot, q->computed + n);
}

/* How many rows of q still go into the pass: scoring wants an out for each. */
static int room_for(const struct sched *s, const struct request_live *q)
{
    const struct kern_batch *b = &s->pass.batch;
    int room = MIN(s->cfg.max_rows - b->rows, q->n_ids - q->computed);
    if (b->outs == s->cfg.max_outs) return 0;
    return q->score ? MIN(room, s->cfg.max_outs - b->outs) : room;
}

static struct request_live *next_prefill(struct sched *s, uint64_t after)
{
    struct request_live *next = NULL;
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        struct request_live *q = s->slot[i];
        if (q && !generates(q) && q->order > after && (!next || q->order < next->order)) next = q;
    }
    return next;
}

static void make_pass(struct sched *s)
{
    struct kern_batch *b = &s->pass.batch;
    *b = (struct kern_batch){.token = s->token,
                             .pos = s->pos,
                             .seq = s->seq,
                             .out_row = s->out_row,
                             .seqs = s->cfg.max_seqs,
                             .groups = s->cfg.groups,
                             .stride = kv_stride(s->kv)};
    for (int g = 0; g < b->groups; g++) b->table[g] = kv_table(s->kv, g);
    s->pass.sample = s->sample;
    s->pass.choice = s->choice;
    for (int i = 0; i < s->cfg.max_seqs; i++)
        if (s->slot[i] && generates(s->slot[i])) add_rows(s, s->slot[i], 1);
    uint64_t after = 0;
    for (struct request_live *q; (q = next_prefill(s, after)); after = q->order) {
        int n = room_for(s, q);
        if (n == 0) break;
        add_rows(s, q, n);
    }
}

/* The pass was computed: give every request its choices and scores. */
static void take_results(struct sched *s, struct events *e)
{
    const struct kern_batch *b = &s->pass.batch;
    for (int i = 0; i < b->outs; i++) {
        struct request_live *q = s->out_of[i];
        int at = s->pos[s->out_row[i]];
        if (s->sample[i].target >= 0) {
            q->prompt_logprob[at + 1] = s->choice[i].logprob;
        } else {
            request_add(q, &s->choice[i], s->cfg.vocab);
            s->generated++;
        }
    }
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        struct request_live *q = s->slot[i];
        int rows = 0;
        for (int r = 0; q && r < b->rows; r++) rows += s->seq[r] == i;
        if (rows == 0) continue;
        bool was_prefill = q->computed < q->a.n_prompt;
        q->computed += rows;
        kv_know(s->kv, i, q->ids, q->computed);
        if (was_prefill) {
            s->prefilled += (uint64_t)rows;
            atomic_store_explicit(&q->a.n_prefilled, MIN(q->computed, q->a.n_prompt), memory_order_release);
            tell(e, ENGINE_PREFILL, q);
        }
        if (q->n_ids > q->a.n_prompt && q->n_ids > q->computed) tell(e, ENGINE_ADVANCED, q);
        if (q->a.max_tokens == 0 && q->computed == q->a.n_prompt) request_end(q, END_LENGTH, NULL);
        if (atomic_load_explicit(&q->a.end, memory_order_relaxed) != END_NONE) leave(s, q);
    }
}

static void fail_pass(struct sched *s, const struct err *why)
{
    const struct kern_batch *b = &s->pass.batch;
    for (int r = 0; r < b->rows; r++) {
        struct request_live *q = s->slot[s->seq[r]];
        if (!q) continue;
        request_end(q, END_FAULT, why->text);
        leave(s, q);
    }
}

int sched_step(struct sched *s, struct engine_event *ev, int cap, struct err *err)
{
    struct events e = {.ev = ev, .cap = cap};
    tell_ends(s, &e);
    admit(s, &e);
    make_pass(s);
    if (s->pass.batch.rows == 0) return e.n;
    struct err why = {0};
    s->passes++;
    if (s->cfg.runner.run(s->cfg.runner.self, &s->pass, &why)) {
        fail_pass(s, &why);
        err_set(err, ENGINE_FAULT, "%s", why.text);
    } else {
        take_results(s, &e);
    }
    tell_ends(s, &e);
    return e.n;
}

void sched_snapshot(const struct sched *s, struct engine_snapshot *out)
{
    struct kv_count c = kv_count(s->kv);
    out->pool_tokens = (uint64_t)c.pages * KERN_PAGE;
    out->reserved_tokens = (uint64_t)c.reserved * KERN_PAGE;
    out->filled_tokens = c.tokens;
    out->shared_tokens = (uint64_t)c.shared * KERN_PAGE;
    out->cached_tokens = (uint64_t)c.cached * KERN_PAGE;
    out->reused = c.reused;
    out->running = s->running;
    out->waiting = s->waiting;
    out->prefilled = s->prefilled;
    out->generated = s->generated;
    out->passes = s->passes;
}
