/* batch.c - a pass: which rows of which requests, and what its results mean to them. */
#include "engine/sched_impl.h"

bool batch_generates(const struct request_live *q)
{
    return q->n_ids - q->computed == 1 && q->n_ids > q->a.n_prompt;
}

/* Of its rows in the pass those whose states are wanted, and are not had from before it was parked. */
static void add_pool(struct sched *s, const struct request_live *q, int row, int n)
{
    const int known = MAX(q->pooled - q->computed, 0);
    if (q->pool && known < n) s->pool[s->pass.pools++] = (struct pass_pool){row + known, n - known, q->vector};
}

/* An out for the pass's next row, number `at` of q: what comes behind it is to be scored, or chosen, where the answer
 * is at `strict` in q's grammar. */
static void add_out(struct sched *s, struct request_live *q, int at, const struct strict_state *strict)
{
    struct kern_batch *b = &s->pass.batch;
    struct kern_sample *sample = &s->sample[b->outs];
    s->out_row[b->outs] = b->rows;
    s->out_of[b->outs] = q;
    s->out_place[b->outs] = q->place;
    *sample = request_sample(q, MAX(at + 1 - q->n_ids, 0));
    if (at + 1 < q->a.n_prompt) sample->target = q->ids[at + 1];
    else if (q->carried && sample->target < 0)
        sample->allowed = strict_mask(s->strict, q->carried, strict, q->allowed, b->outs);
    b->outs++;
}

static bool accept_draft(const struct sched *s, const struct request_live *q, int32_t id, struct strict_state *at)
{
    const char *piece;
    size_t n = vocab_piece(s->cfg.vocab, id, &piece), outside;
    return !q->carried || strict_accept(q->carried, at, id, piece, n, &outside);
}

/* Rows ids[computed .. computed + n) of q, and those of its drafts behind them, with an out where a choice or a score
 * is wanted. */
static void add_rows(struct sched *s, struct request_live *q, int n)
{
    struct kern_batch *b = &s->pass.batch;
    struct strict_state strict = q->strict;
    const int end = q->computed + n + q->drafts;
    if (!naive_room(s, q, end)) return;
    for (int at = q->computed; at < end; at++) {
        const bool scored = q->score && at + 1 < q->a.n_prompt;
        const bool chosen = at + 1 >= q->n_ids && q->a.max_tokens > 0;
        if (at >= q->n_ids) accept_draft(s, q, q->ids[at], &strict);
        if (scored || chosen) add_out(s, q, at, &strict);
        s->token[b->rows] = q->ids[at];
        s->pos[b->rows] = at;
        s->seq[b->rows] = q->slot;
        b->rows++;
    }
    add_pool(s, q, b->rows - n, n);
    kv_grow(s->kv, q->slot, end);
}

/* Its next token is to be chosen by a runner who does not know it yet. */
static bool held(const struct sched *s, const struct request_live *q)
{
    return s->cfg.runner.ready && q->a.max_tokens > 0 && !s->cfg.runner.ready(s->cfg.runner.self, q->place);
}

/* How many rows of q still go into a pass of so many: scoring wants an out for each. */
static int room_for(const struct sched *s, const struct request_live *q, int most)
{
    const struct kern_batch *b = &s->pass.batch;
    int whole = naive_rows(s, q, b->rows);
    int room = whole >= 0 ? whole : MIN(most - b->rows, q->n_ids - q->computed - held(s, q));
    if (q->cut > q->computed) room = MIN(room, q->cut - q->computed);
    if (b->outs == s->cfg.max_outs) return 0;
    return q->score ? MIN(room, s->cfg.max_outs - b->outs) : room;
}

static struct request_live *next_prefill(struct sched *s, uint64_t after)
{
    struct request_live *next = NULL;
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        struct request_live *q = s->slot[i];
        if (q && !batch_generates(q) && q->admitted > after && (!next || q->admitted < next->admitted)) next = q;
    }
    return next;
}

/* A pass of more rows than a step has, of the first in pre-fill alone.  false: not now. */
static bool make_long(struct sched *s)
{
    struct request_live *q = s->pass.batch.rows == 0 ? next_prefill(s, 0) : NULL;
    if (!q || s->cfg.naive.policy != NAIVE_NONE) return false;
    int n = room_for(s, q, s->cfg.max_rows);
    if (n <= s->cfg.step_rows) return false;
    add_rows(s, q, n);
    s->pass.parts = (n + s->cfg.step_rows - 1) / s->cfg.step_rows;
    return true;
}

/* May q try this token?  It ends nothing, and q's grammar has a place for it. */
static bool may_draft(const struct sched *s, const struct request_live *q, int32_t id, struct strict_state *at)
{
    return (q->ignore_end || !vocab_is_end(s->cfg.vocab, id)) && accept_draft(s, q, id, at);
}

/* The draft number n of q: what is decided comes for certain; else what came where the text said the same before, if
 * that is worth its row.  -1: none. */
static int32_t next_draft(struct request_live *q, int from, int match, int n, struct draft_pass *p)
{
    if (n < q->n_decided) {
        draft_sure(&q->draft, p);
        return q->decided[n];
    }
    if (q->n_decided > 0 || from == 0 || !draft_worth(&q->draft, match, n, p)) return -1;
    return q->ids[from + n];
}

/* What may come behind q's last token, `left` rows at most.  Its last token is in no pass, drafts or not. */
static int make_drafts(struct sched *s, struct request_live *q, struct draft_pass *p, int left)
{
    int match = 0, tokens = atomic_load_explicit(&q->a.n_tokens, memory_order_relaxed);
    const int most = MIN(MIN(s->cfg.drafts, left), q->a.max_tokens - tokens - 1);
    const int from = most > 0 && q->n_decided == 0 ? draft_find(q->ids, q->n_ids, &match) : 0;
    struct strict_state at = q->strict;
    for (int32_t id; q->drafts < most && (id = next_draft(q, from, match, q->drafts, p)) >= 0;) {
        if (!may_draft(s, q, id, &at)) break;
        q->ids[q->n_ids + q->drafts++] = id;
    }
    while (q->drafts > 0 && !kv_promise(s->kv, q->slot, q->n_ids + q->drafts)) q->drafts--;
    return q->drafts;
}

/* A row of every sequence that generates, and drafts, where nobody's prompt waits for the rows. */
static void add_generating(struct sched *s)
{
    struct request_live *out[DRAFT_ROWS];
    int n = 0, left;
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        struct request_live *q = s->slot[i];
        if (!q) continue;
        q->drafts = q->right = 0;
        if (!batch_generates(q) || held(s, q)) continue;
        if (n < DRAFT_ROWS) out[n] = q;
        n++;
    }
    left = MIN(MIN(DRAFT_ROWS, s->cfg.step_rows), s->cfg.max_outs) - n;
    if (s->cfg.drafts == 0 || next_prefill(s, 0)) left = 0;
    struct draft_pass p = draft_pass_of(MIN(n, DRAFT_ROWS), s->cfg.row_cost);
    for (int i = 0; i < n && left > 0; i++) left -= make_drafts(s, out[i], &p, left);
    for (int i = 0; i < s->cfg.max_seqs; i++)
        if (s->slot[i] && batch_generates(s->slot[i]) && !held(s, s->slot[i])) add_rows(s, s->slot[i], 1);
}

void batch_make(struct sched *s)
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
    s->pass.place = s->out_place;
    s->pass.sample = s->sample;
    s->pass.choice = s->choice;
    s->pass.pool = s->pool;
    s->pass.pools = 0;
    s->pass.parts = 1;
    add_generating(s);
    if (make_long(s)) return;
    uint64_t after = 0;
    for (struct request_live *q; (q = next_prefill(s, after)); after = q->admitted) {
        int n = room_for(s, q, s->cfg.step_rows);
        if (n == 0 && held(s, q)) continue; /* it is no reason for others to wait */
        if (n == 0) break;
        add_rows(s, q, n);
    }
}

/* Is out number i what q's answer goes on with?  Not, if the row's token was a draft that was not chosen, or came
 * behind the end, or if what comes was decided since. */
static bool goes_on(const struct sched *s, const struct request_live *q, int i)
{
    const int row = s->out_row[i], at = s->pos[row];
    const bool ended = atomic_load_explicit(&q->a.end, memory_order_relaxed) != END_NONE;
    const bool decided = q->n_decided > 0 && s->sample[i].target < 0;
    return at + 1 == q->n_ids && q->ids[at] == s->token[row] && !ended && !decided;
}

static void take_choices(struct sched *s)
{
    const struct kern_batch *b = &s->pass.batch;
    for (int i = 0; i < b->outs; i++) {
        struct request_live *q = s->out_of[i];
        const int at = s->pos[s->out_row[i]];
        if (at + 1 < q->a.n_prompt) {
            request_score(q, at + 1, &s->choice[i]);
        } else if (goes_on(s, q, i)) {
            q->right += at > q->computed;
            request_add(q, &s->choice[i], s->cfg.vocab);
            s->generated++;
        }
    }
}

/* Rows of drafts that were not chosen never were. */
static int drop_drafts(struct sched *s, struct request_live *q, int rows)
{
    if (q->drafts == 0) return rows;
    rows -= q->drafts - q->right;
    s->drafted += (uint64_t)q->drafts;
    s->drafts_right += (uint64_t)q->right;
    draft_learn(&q->draft, q->drafts, q->right);
    kv_shrink(s->kv, q->slot, q->computed + rows);
    return rows;
}

/* `rows` of q were computed, drafts among them, its choice among them if there was one. */
static void take_rows(struct sched *s, struct request_live *q, int rows, struct events *e)
{
    rows = drop_drafts(s, q, rows);
    int from = q->computed, again = MIN(rows, MAX(q->high - from, 0)), prompt = q->a.n_prompt;
    q->computed += rows;
    q->pooled = MAX(q->pooled, q->computed);
    if (!naive_pages(s)) kv_know(s->kv, q->slot, q->ids, q->computed);
    if (q->computed == q->cut || (from < prompt && q->computed >= prompt)) kv_keep(s->kv, q->slot, q->computed);
    s->recomputed += (uint64_t)again;
    if (from < prompt) {
        s->prefilled += (uint64_t)MAX(MIN(q->computed, prompt) - MAX(from, q->high), 0);
        s->look = true; /* who waits for this front may have it now */
        if (q->computed > q->high)
            atomic_store_explicit(&q->a.n_prefilled, MIN(q->computed, prompt), memory_order_release);
        sched_tell(e, ENGINE_PREFILL, q); /* also of what is computed again: no event would say that all is done */
    }
    q->high = MAX(q->high, q->computed);
    if (q->n_ids > prompt && q->n_ids > q->computed) sched_tell(e, ENGINE_ADVANCED, q);
    if (q->a.max_tokens == 0 && q->computed == prompt) request_end_prompt(q, s->cfg.embd);
    if (atomic_load_explicit(&q->a.end, memory_order_relaxed) != END_NONE) sched_leave(s, q);
}

void batch_take_results(struct sched *s, struct events *e)
{
    const struct kern_batch *b = &s->pass.batch;
    take_choices(s);
    for (int i = 0; i < s->cfg.max_seqs; i++) {
        int rows = 0;
        for (int r = 0; s->slot[i] && r < b->rows; r++) rows += s->seq[r] == i;
        if (rows > 0) take_rows(s, s->slot[i], rows, e);
    }
}

void batch_leave(struct sched *s, const struct request_live *q)
{
    if (s->pass.part > 0 && s->seq[0] == q->slot) s->pass.part = 0;
}

void batch_fail(struct sched *s, const struct err *why)
{
    const struct kern_batch *b = &s->pass.batch;
    for (int r = 0; r < b->rows; r++) {
        struct request_live *q = s->slot[s->seq[r]];
        if (!q) continue;
        request_end(q, END_FAULT, why->text);
        sched_leave(s, q);
    }
}
