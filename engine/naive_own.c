/* naive_own.c - weights read again, workspaces for whole prompts, and passes cut into pieces. */
#include "engine/naive_own.h"
#include "engine/naive_impl.h"

struct naive_slot {
    void *slab; /* NULL: none */
    size_t bytes;
    int prompt;         /* WHOLE_BATCH: rows at positions below are computed in it */
    struct model model; /* RELOAD: with its weights in the slab */
    struct forward forward;
};

static bool has_own(enum naive_policy p) { return p == NAIVE_RELOAD || p == NAIVE_WHOLE_BATCH; }

/* One request at a time is admitted, so the file is read by one. */
uint64_t naive_own_bytes(enum naive_policy policy, const struct forward *f, const struct gguf *g, int slots)
{
    if (!has_own(policy)) return 0;
    uint64_t bytes = (uint64_t)slots * sizeof(struct naive_slot) + (uint64_t)f->dims.max_outs * sizeof(int32_t);
    if (policy == NAIVE_WHOLE_BATCH) return bytes;
    return bytes + strlen(gguf_path(g)) + 1 + (uint64_t)slots * model_table_bytes(f->m, g) + gguf_bytes(g) +
           model_stage_bytes(f->m);
}

int naive_own_open(struct naive_own *o, enum naive_policy policy, struct forward *f, const struct gguf *g, int slots,
                   struct err *err)
{
    *o = (struct naive_own){.policy = policy, .base = f, .file = gguf_stamp(g), .slots = slots};
    if (!has_own(policy)) return 0;
    o->slot = calloc((size_t)slots, sizeof *o->slot);
    o->out_row = calloc((size_t)f->dims.max_outs, sizeof *o->out_row);
    if (policy == NAIVE_RELOAD) o->path = strdup(gguf_path(g));
    if (!o->slot || !o->out_row || (policy == NAIVE_RELOAD && !o->path))
        return err_set(err, -1, "no memory for the tables of a memory policy");
    return 0;
}

void naive_own_close(struct naive_own *o)
{
    for (int i = 0; o->slot && i < o->slots; i++) naive_own_give(o, i);
    free(o->slot);
    free(o->out_row);
    free(o->path);
    *o = (struct naive_own){0};
}

/* ------------------------------------------------------------------ taking */

/* The engine's forward pass, but for so many rows. */
static int plan_rows(const struct naive_own *o, int rows, struct forward *out, struct err *err)
{
    const struct forward *f = o->base;
    return forward_plan(out, f->m, f->k, f->dims.max_ctx, f->dims.max_seqs, rows, f->dims.max_outs, f->group[0].pages,
                        f->group[0].kv_type, err);
}

uint64_t naive_own_need(const struct naive_own *o, int rows)
{
    struct forward plan;
    const struct kern *k = o->base->k;
    if (o->policy == NAIVE_RELOAD) return k->slab_bytes(o->base->m->bytes);
    return plan_rows(o, rows, &plan, NULL) ? UINT64_MAX : k->slab_bytes(plan.work_bytes);
}

/* Passes of m go through the engine's workspace and pages. */
static bool suits(const struct model *m, const struct model *base)
{
    return m->bytes == base->bytes && m->layers == base->layers && m->embd == base->embd && m->heads == base->heads &&
           m->kv_heads == base->kv_heads && m->head_dim == base->head_dim && m->ff == base->ff &&
           m->experts == base->experts && m->used == base->used && m->shared == base->shared &&
           m->local_window == base->local_window && m->keys == base->keys && m->values == base->values &&
           m->state_dim == base->state_dim && m->taps == base->taps;
}

/* The way that open went: the file's header, a plan, and the tensors into memory that is taken for them.  After a
 * failure the slot may be half filled. */
static int load_again(const struct naive_own *o, struct naive_slot *s, const struct gguf *g, struct err *err)
{
    const struct forward *f = o->base;
    if (gguf_same(g, &o->file, err) || model_plan(&s->model, g, f->m->vocab, f->k, err)) return OWN_FAULT;
    if (!suits(&s->model, f->m)) {
        err_set(err, -1, "%s: has a model of other sizes than when it was opened first", gguf_shown(g));
        return OWN_FAULT;
    }
    model_for_ctx(&s->model, f->dims.max_ctx);
    s->slab = f->k->take(f->d, s->bytes, err);
    if (!s->slab) return OWN_NO_MEMORY;
    s->forward.m = &s->model;
    return model_load(&s->model, g, f->k, f->d, s->slab, NULL, NULL, err) ? OWN_FAULT : 0;
}

static int take_weights(struct naive_own *o, struct naive_slot *s, struct err *err)
{
    struct gguf *g = gguf_open(o->path, err);
    int rc = g ? load_again(o, s, g, err) : OWN_FAULT;
    gguf_close(g);
    return rc;
}

static int take_workspace(const struct naive_own *o, struct naive_slot *s, struct err *err)
{
    const struct forward *f = o->base;
    s->slab = f->k->take(f->d, s->bytes, err);
    if (!s->slab) return OWN_NO_MEMORY;
    if (f->k->lazy) memset(s->slab, 0, s->bytes); /* there before it is used; weights are, by being loaded */
    forward_attach_work(&s->forward, f, s->slab);
    return 0;
}

int naive_own_take(struct naive_own *o, int slot, int n_prompt, int rows, struct err *err)
{
    struct naive_slot *s = &o->slot[slot];
    const struct forward *f = o->base;
    *s = (struct naive_slot){.prompt = n_prompt, .forward = *f};
    if (o->policy == NAIVE_WHOLE_BATCH && plan_rows(o, rows, &s->forward, err)) return OWN_NO_MEMORY;
    s->bytes = o->policy == NAIVE_RELOAD ? f->m->bytes : s->forward.work_bytes;
    int rc = o->policy == NAIVE_RELOAD ? take_weights(o, s, err) : take_workspace(o, s, err);
    if (rc) naive_own_give(o, slot);
    return rc;
}

void naive_own_give(struct naive_own *o, int slot)
{
    struct naive_slot *s = &o->slot[slot];
    if (s->slab) o->base->k->give(o->base->d, s->slab, s->bytes);
    model_free(&s->model);
    *s = (struct naive_slot){0};
}

/* ------------------------------------------------------------------ computing */

static struct forward *forward_of(const struct naive_own *o, const struct kern_batch *b, int row)
{
    struct naive_slot *s = &o->slot[b->seq[row]];
    bool own = s->slab && (o->policy == NAIVE_RELOAD || b->pos[row] < s->prompt);
    return own ? &s->forward : o->base;
}

int naive_own_run(struct naive_own *o, const struct pass *p, struct err *err)
{
    const struct kern_batch *b = &p->batch;
    for (int from = 0, to, out = 0; from < b->rows; from = to) {
        struct forward *f = forward_of(o, b, from);
        struct pass piece = *p;
        struct kern_batch *c = &piece.batch;
        for (to = from + 1; to < b->rows && forward_of(o, b, to) == f;) to++;
        *c = *b;
        c->rows = to - from;
        c->token += from;
        c->pos += from;
        c->seq += from;
        c->out_row = o->out_row;
        for (c->outs = 0; out + c->outs < b->outs && b->out_row[out + c->outs] < to; c->outs++)
            o->out_row[c->outs] = b->out_row[out + c->outs] - from;
        piece.place += out;
        piece.sample += out;
        piece.choice += out;
        out += c->outs;
        if (forward_run(f, &piece, err)) return -1;
    }
    return 0;
}

/* ------------------------------------------------------------------ floats */

uint64_t naive_widen(struct model *m, const struct kern *k, struct ledger *l)
{
    uint64_t floats = model_bytes_as(m, k, KT_F32), total = ledger_under(l), own = l->bytes[LEDGER_WEIGHTS];
    if (floats == 0) return UINT64_MAX;
    floats = k->slab_bytes(floats);
    if (size_add(total - own, floats, &total) || total > l->ceiling) return floats;
    model_widen(m, k);
    l->bytes[LEDGER_WEIGHTS] = floats;
    return 0;
}
