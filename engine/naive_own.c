/* naive_own.c - copies of weights, workspaces for whole prompts, and passes cut into pieces. */
#include "engine/naive_own.h"

enum { STAGE = 1 << 20 };

struct naive_slot {
    void *slab; /* NULL: none */
    size_t bytes;
    int prompt;            /* WHOLE_BATCH: rows at positions below are computed in it */
    struct model model;    /* RELOAD: the engine's, with weights in the slab */
    struct forward forward;
};

static bool has_own(enum naive_policy p) { return p == NAIVE_RELOAD || p == NAIVE_WHOLE_BATCH; }

uint64_t naive_own_bytes(enum naive_policy policy, const struct forward *f, int slots)
{
    if (!has_own(policy)) return 0;
    uint64_t each = sizeof(struct naive_slot) + (uint64_t)f->m->layers * sizeof(struct model_layer);
    return (uint64_t)slots * each + (uint64_t)f->dims.max_outs * sizeof(int32_t) + STAGE;
}

int naive_own_open(struct naive_own *o, enum naive_policy policy, struct forward *f, const void *weights, int slots,
                   struct err *err)
{
    *o = (struct naive_own){.policy = policy, .base = f, .weights = weights, .slots = slots};
    if (!has_own(policy)) return 0;
    o->slot = calloc((size_t)slots, sizeof *o->slot);
    o->layer = calloc((size_t)slots * (size_t)f->m->layers, sizeof *o->layer);
    o->out_row = calloc((size_t)f->dims.max_outs, sizeof *o->out_row);
    o->stage = take_touched(STAGE);
    if (!o->slot || !o->layer || !o->out_row || !o->stage)
        return err_set(err, -1, "no memory for the tables of a memory policy");
    return 0;
}

void naive_own_close(struct naive_own *o)
{
    for (int i = 0; o->slot && i < o->slots; i++) naive_own_give(o, i);
    free(o->slot);
    free(o->layer);
    free(o->out_row);
    free(o->stage);
    *o = (struct naive_own){0};
}

/* ------------------------------------------------------------------ taking */

/* The engine's forward pass, but for so many rows. */
static int plan_rows(const struct naive_own *o, int rows, struct forward *out, struct err *err)
{
    const struct forward *f = o->base;
    return forward_plan(out, f->m, f->k, f->dims.max_ctx, rows, f->dims.max_outs, f->group.pages, f->group.kv_type,
                        err);
}

uint64_t naive_own_need(const struct naive_own *o, int rows)
{
    struct forward plan;
    const struct kern *k = o->base->k;
    if (o->policy == NAIVE_RELOAD) return k->slab_bytes(o->base->m->bytes);
    return plan_rows(o, rows, &plan, NULL) ? UINT64_MAX : k->slab_bytes(plan.work_bytes);
}

/* All that points into the slab at `from` points to the same place in the one at `to`. */
struct move {
    const char *from;
    char *to;
};

static void move_vec(const struct move *m, const float **v)
{
    if (*v) *v = (const float *)(void *)(m->to + ((const char *)(const void *)*v - m->from));
}

static void move_mat(const struct move *m, struct kmat *w)
{
    if (w->dev_data) w->dev_data = m->to + ((const char *)w->dev_data - m->from);
}

static void move_layer(const struct move *m, struct model_layer *l)
{
    struct kern_attn_in *a = &l->attn;
    struct kmat *mat[] = {&a->q, &a->k, &a->v, &l->wo, &l->gate, &l->up, &l->down};
    const float **vec[] = {&a->dev_norm, &a->dev_bq, &a->dev_bk, &a->dev_bv, &a->dev_q_norm, &a->dev_k_norm,
                           &l->dev_bo, &l->dev_ffn_norm};
    for (size_t i = 0; i < COUNT_OF(mat); i++) move_mat(m, mat[i]);
    for (size_t i = 0; i < COUNT_OF(vec); i++) move_vec(m, vec[i]);
}

static void move_model(const struct move *m, const struct model *base, struct model_layer *layer, struct model *out)
{
    *out = *base;
    out->layer = layer;
    for (int i = 0; i < base->layers; i++) {
        layer[i] = base->layer[i];
        move_layer(m, &layer[i]);
    }
    move_mat(m, &out->embed);
    move_mat(m, &out->output);
    move_vec(m, &out->dev_norm);
}

/* Device memory is copied through the host: no backend has a shorter way. */
static int copy_weights(struct naive_own *o, char *to, struct err *err)
{
    const struct forward *f = o->base;
    const char *from = o->weights;
    for (size_t at = 0; at < f->m->bytes; at += STAGE) {
        size_t n = MIN(f->m->bytes - at, (size_t)STAGE);
        if (f->k->fetch(f->d, NULL, o->stage, from + at, n, err)) return -1;
        if (f->k->upload(f->d, NULL, to + at, o->stage, n, err)) return -1;
    }
    return 0;
}

int naive_own_take(struct naive_own *o, int slot, int n_prompt, int rows, struct err *err)
{
    struct naive_slot *s = &o->slot[slot];
    const struct forward *f = o->base;
    *s = (struct naive_slot){.prompt = n_prompt, .forward = *f};
    if (o->policy == NAIVE_WHOLE_BATCH && plan_rows(o, rows, &s->forward, err)) return -1;
    s->bytes = o->policy == NAIVE_RELOAD ? f->m->bytes : s->forward.work_bytes;
    s->slab = f->k->take(f->d, s->bytes, err);
    if (!s->slab) return -1;
    if (o->policy == NAIVE_WHOLE_BATCH) {
        if (f->k->lazy) memset(s->slab, 0, s->bytes); /* there before it is used; a copy is, by being made */
        forward_attach(&s->forward, f->d, s->slab, f->group.dev_slab);
        return 0;
    }
    struct move m = {.from = o->weights, .to = s->slab};
    move_model(&m, f->m, o->layer + (size_t)slot * (size_t)f->m->layers, &s->model);
    s->forward.m = &s->model;
    if (copy_weights(o, s->slab, err) == 0) return 0;
    naive_own_give(o, slot);
    return -1;
}

void naive_own_give(struct naive_own *o, int slot)
{
    struct naive_slot *s = &o->slot[slot];
    if (s->slab) o->base->k->give(o->base->d, s->slab, s->bytes);
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
    uint64_t floats = model_bytes_as(m, k, KT_F32), total = ledger_total(l), own = l->bytes[LEDGER_WEIGHTS];
    if (floats == 0) return UINT64_MAX;
    floats = k->slab_bytes(floats);
    if (size_add(total - own, floats, &total) || total > l->ceiling) return floats;
    model_widen(m, k);
    l->bytes[LEDGER_WEIGHTS] = floats;
    return 0;
}
