/* model_delta.c - what a file says of layers that keep a state: sizes, weights, and a block behind them; the same of
 * short convolutions. */
#include "engine/kv.h"
#include "engine/model_impl.h"

/* Which layers have attention: every so many-th.  A file may name each by itself; one that has them otherwise is
 * another model. */
static int read_pattern(struct planner *p)
{
    const struct model *m = p->m;
    const uint8_t *recurrent;
    uint64_t n;
    char key[96];
    if (model_key_int(p, "full_attention_interval", p->arch->local, 1, MODEL_MAX_LAYERS, &p->every)) return -1;
    snprintf(key, sizeof key, "%s.attention.recurrent_layers", m->arch);
    const int rc = gguf_bool_array(p->g, key, &recurrent, &n, p->err);
    if (rc == GGUF_MISSING) return 0;
    if (rc == GGUF_WRONG) return -1;
    if (n != (uint64_t)(m->layers + p->skipped))
        return err_set(p->err, -1, "%s: key %s has %llu elements for %d layers", gguf_shown(p->g), key,
                       (unsigned long long)n, m->layers + p->skipped);
    for (int i = 0; i < m->layers; i++)
        if (recurrent[i] != ((i + 1) % p->every > 0))
            return err_set(p->err, -1, "%s: key %s says that layer %d %s a state; every %d. layer without one is "
                           "supported", gguf_shown(p->g), key, i, recurrent[i] ? "keeps" : "does not keep", p->every);
    return 0;
}

int model_states(struct planner *p)
{
    struct model *m = p->m;
    int inner = 0;
    if (read_pattern(p)) return -1;
    if (p->every == 1)
        return err_set(p->err, -1, "%s: key %s.full_attention_interval is 1: a model without states is of another "
                       "architecture", gguf_shown(p->g), m->arch);
    if (model_key_int(p, "ssm.conv_kernel", -1, 2, KERN_TAPS, &m->taps)) return -1;
    if (model_key_int(p, "ssm.state_size", -1, 1, KERN_HEAD_MAX, &m->state_dim)) return -1;
    if (model_key_int(p, "ssm.group_count", -1, 1, KERN_VALUES, &m->keys)) return -1;
    if (model_key_int(p, "ssm.time_step_rank", -1, m->keys, KERN_VALUES, &m->values)) return -1;
    if (model_key_int(p, "ssm.inner_size", -1, m->values * m->state_dim, m->values * m->state_dim, &inner)) return -1;
    if (m->values % m->keys)
        return err_set(p->err, -1, "%s: %d value heads of a state are not a multiple of %d key heads", gguf_shown(p->g),
                       m->values, m->keys);
    if (m->head_dim % 32)
        return err_set(p->err, -1, "%s: heads of %d values, between which gates lie: multiples of 32 are supported",
                       gguf_shown(p->g), m->head_dim);
    m->local_window = KV_STATES;
    return 0;
}

int model_plan_delta(struct planner *p, int i)
{
    struct model *m = p->m;
    struct model_layer *l = &m->layer[i];
    struct kern_delta *d = &l->delta;
    const int values = m->values, inner = values * m->state_dim, channels = 2 * m->keys * m->state_dim + inner;
    const bool by_key = p->arch->by_key;
    const int both = by_key ? 2 * values : 0, turn = both / 2 / m->keys; /* of beta's rows, then of alpha's */
    const struct model_want want[] = {
        {"attn_norm.weight", NULL, &d->dev_norm, m->embd, 1, false, 0, 0, 0},
        {"attn_qkv.weight", &d->qkv, NULL, channels, m->embd, false, 0, 0, 0},
        {"attn_gate.weight", &d->z, NULL, inner, m->embd, false, 0, 0, 0},
        {by_key ? "ssm_ba.weight" : "ssm_beta.weight", &d->beta, NULL, values, m->embd, false, 0, both, turn},
        {by_key ? "ssm_ba.weight" : "ssm_alpha.weight", &d->alpha, NULL, values, m->embd, false, turn, both, turn},
        {"ssm_conv1d.weight", NULL, &d->dev_conv, m->taps, channels, false, 0, 0, 0},
        {"ssm_dt.bias", NULL, &d->dev_dt, values, 1, false, 0, 0, 0},
        {"ssm_a", NULL, &d->dev_a, values, 1, false, 0, 0, 0},
        {"ssm_norm.weight", NULL, &d->dev_head_norm, m->state_dim, 1, false, 0, 0, 0},
        {"ssm_out.weight", &l->wo, NULL, m->embd, inner, false, 0, 0, 0},
        {"post_attention_norm.weight", NULL, &l->dev_ffn_norm, m->embd, 1, false, 0, 0, 0},
    };
    char old[32];
    snprintf(old, sizeof old, "blk.%d.ssm_in.weight", i);
    if (by_key && gguf_tensor(p->g, old))
        return err_set(p->err, -1, "%s: tensor %s has q, k, v and z of a key head each after the other: this file is "
                       "of an old converter; convert the model anew, into attn_qkv and attn_gate", gguf_shown(p->g),
                       old);
    d->eps = m->eps;
    d->by_key = by_key;
    return model_want_all(p, i, want, COUNT_OF(want), 1);
}

int model_convs(struct planner *p)
{
    struct model *m = p->m;
    bool some = false;
    char key[96];
    if (model_key_int(p, "shortconv.l_cache", -1, 2, KERN_TAPS, &m->taps)) return -1;
    if (model_key_int(p, "attention.sliding_window", 0, 0, 0, &(int){0})) return -1; /* no published one has any */
    for (int i = 0; p->kv_each && i < m->layers; i++) some |= p->kv_each[i] == 0;
    snprintf(key, sizeof key, "%s.attention.head_count_kv", m->arch);
    if (!some)
        return err_set(p->err, -1, "%s: key %s names no layer without KV heads: a model without convolutions is of "
                       "another architecture", gguf_shown(p->g), key);
    m->values = m->embd;
    m->state_dim = 1;
    m->local_window = KV_STATES;
    return 0;
}

int model_plan_conv(struct planner *p, int i)
{
    struct model *m = p->m;
    struct model_layer *l = &m->layer[i];
    const struct model_want want[] = {
        {"attn_norm.weight", NULL, &l->conv.dev_norm, m->embd, 1, false, 0, 0, 0},
        {"shortconv.in_proj.weight", &l->conv.in, NULL, 3 * m->embd, m->embd, false, 0, 0, 0},
        {"shortconv.conv.weight", NULL, &l->conv.dev_conv, m->taps, m->embd, false, 0, 0, 0},
        {"shortconv.out_proj.weight", &l->wo, NULL, m->embd, m->embd, false, 0, 0, 0},
        {"ffn_norm.weight", NULL, &l->dev_ffn_norm, m->embd, 1, false, 0, 0, 0},
    };
    l->conv.eps = m->eps;
    return model_want_all(p, i, want, COUNT_OF(want), 1);
}

void model_skip_block(struct planner *p, int block)
{
    char front[32];
    const int n = snprintf(front, sizeof front, "blk.%d.", block);
    for (uint64_t i = 0; i < gguf_n_tensors(p->g); i++)
        if (strncmp(gguf_tensor_at(p->g, i)->name, front, (size_t)n) == 0) p->used[i] = true;
}
