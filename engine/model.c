/* model.c - keys to sizes, names to weights.  Their bytes go to the device in model_load.c. */
#include "engine/model_impl.h"

static const struct model_arch archs[] = {
    {.name = "llama", .window = true, .expert_ff = "feed_forward_length"},
    {.name = "qwen2", .neox = true, .qkv_bias = true},
    {.name = "qwen2moe", .neox = true, .qkv_bias = true, .expert_ff = "expert_feed_forward_length", .mixture = true,
     .shared = true, .of_all = true},
    {.name = "qwen3", .neox = true, .head_norm = true},
    {.name = "qwen3moe", .neox = true, .head_norm = true, .expert_ff = "expert_feed_forward_length", .mixture = true},
    {.name = "qwen35", .neox = true, .head_norm = true, .delta = true, .local = 4},
    {.name = "qwen35moe", .neox = true, .head_norm = true, .delta = true, .local = 4,
     .expert_ff = "expert_feed_forward_length", .mixture = true, .shared = true},
    {.name = "qwen3next", .neox = true, .head_norm = true, .delta = true, .by_key = true, .local = 4,
     .expert_ff = "expert_feed_forward_length", .mixture = true, .shared = true},
    {.name = "smollm3", .still = 4},
    {.name = "lfm2", .neox = true, .head_norm = true, .conv = true},
    {.name = "phi3", .neox = true, .window = true, .fused = true, .longrope = true},
    {.name = "gpt-oss", .neox = true, .qkv_bias = true, .oss = true, .local = 2, .window_else = 128,
     .expert_ff = "expert_feed_forward_length", .mixture = true},
    {.name = "granite", .scaled = true},
    {.name = "granitemoe", .scaled = true, .expert_ff = "feed_forward_length", .mixture = true},
    {.name = "mistral3", .window = true, .log_gain = true, .tempered = true},
    {.name = "olmo2", .neox = true, .late = true, .local = 4, .local_plain = true},
    {.name = "gemma2", .neox = true, .gemma = true, .local = 2, .window_else = 4096, .attn_cap = 50, .cap = 30,
     .big = 46},
    {.name = "gemma3", .neox = true, .gemma = true, .head_norm = true, .local = 6, .local_base = 10000, .big = 62},
};

/* ------------------------------------------------------------------ keys */

static int refuse_missing(const struct planner *p, const char *key)
{
    return err_set(p->err, -1, "%s: key %s is missing; architecture %s needs it", gguf_shown(p->g), key, p->m->arch);
}

static int refuse_int(const struct planner *p, const char *key, int64_t v, int64_t min, int64_t max)
{
    return err_set(p->err, -1, min < max ? "%s: key %s is %lld; allowed is %lld to %lld"
                                         : "%s: key %s is %lld; allowed is %lld", gguf_shown(p->g), key,
                   (long long)v, (long long)min, (long long)max);
}

int model_key_int(const struct planner *p, const char *suffix, int64_t absent, int64_t min, int64_t max, int *out)
{
    char key[96];
    uint64_t v = 0;
    snprintf(key, sizeof key, "%s.%s", p->m->arch, suffix);
    int rc = gguf_uint(p->g, key, UINT32_MAX, &v, p->err);
    if (rc == GGUF_WRONG) return -1;
    if (rc == GGUF_MISSING) {
        if (absent < 0) return refuse_missing(p, key);
        v = (uint64_t)absent;
    }
    if ((int64_t)v < min || (int64_t)v > max) return refuse_int(p, key, (int64_t)v, min, max);
    *out = (int)v;
    return 0;
}

int model_key_real(const struct planner *p, const char *suffix, double absent, double min, double max, double *out)
{
    char key[96];
    double v = absent;
    snprintf(key, sizeof key, "%s.%s", p->m->arch, suffix);
    const int rc = gguf_float(p->g, key, &v, p->err);
    if (rc == GGUF_WRONG) return -1;
    if (rc == GGUF_MISSING && absent < 0) return refuse_missing(p, key);
    if (!(min <= v && v <= max))
        return err_set(p->err, -1, "%s: key %s is %g; allowed is %g to %g", gguf_shown(p->g), key, v, min, max);
    *out = v;
    return 0;
}

static int read_arch(struct planner *p)
{
    struct gguf_str s;
    int rc = gguf_string(p->g, "general.architecture", &s, p->err);
    if (rc == GGUF_WRONG) return -1;
    if (rc == GGUF_MISSING)
        return err_set(p->err, -1, "%s: key general.architecture is missing: this file names no model",
                       gguf_shown(p->g));
    struct model *m = p->m;
    snprintf(m->arch, sizeof m->arch, "%.*s", (int)MIN(s.len, sizeof m->arch - 1), s.data);
    for (char *c = m->arch; *c; c++)
        if (*c < 0x21 || *c > 0x7e) *c = '?';
    for (size_t i = 0; i < COUNT_OF(archs); i++)
        if (strcmp(m->arch, archs[i].name) == 0) p->arch = &archs[i];
    if (!p->arch)
        return err_set(p->err, -1, "%s: architecture \"%s\" is not supported; llama, qwen2, qwen2moe, qwen3, qwen3moe, "
                       "qwen35, qwen35moe, qwen3next, smollm3, lfm2, phi3, gpt-oss, granite, granitemoe, mistral3, "
                       "olmo2, gemma2 and gemma3 are", gguf_shown(p->g), m->arch);
    if (gguf_string(p->g, "general.name", &s, NULL) == GGUF_OK) {
        snprintf(m->name, sizeof m->name, "%.*s", (int)MIN(s.len, sizeof m->name - 1), s.data);
        for (char *c = m->name; *c; c++)
            if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) *c = '?'; /* goes to screens */
    }
    return 0;
}

static int refuse_no_attention(const struct planner *p, int layers)
{
    return err_set(p->err, -1, "%s: none of its %d layers has attention: that is not supported", gguf_shown(p->g),
                   layers);
}

/* One number for all layers, or one for each, all the same, as llama.cpp's converter has Granite 4's; but where there
 * are convolutions: those have 0. */
static int read_kv_heads(struct planner *p)
{
    struct model *m = p->m;
    const int blocks = m->layers + p->skipped;
    const int32_t *each;
    char key[96];
    uint64_t n;
    int first = 0;
    snprintf(key, sizeof key, "%s.attention.head_count_kv", m->arch);
    if (gguf_int_array(p->g, key, &each, &n, NULL) != GGUF_OK)
        return model_key_int(p, "attention.head_count_kv", m->heads, 1, m->heads, &m->kv_heads);
    if (n != (uint64_t)blocks)
        return err_set(p->err, -1, "%s: key %s has %llu numbers for %d layers; one for each is needed",
                       gguf_shown(p->g), key, (unsigned long long)n, blocks);
    if (p->arch->conv) p->kv_each = each;
    while (p->arch->conv && first < blocks - 1 && each[first] == 0) first++;
    if (p->arch->conv && each[first] == 0) return refuse_no_attention(p, blocks);
    if (each[first] < 1 || each[first] > m->heads) return refuse_int(p, key, each[first], 1, m->heads);
    for (int i = first + 1; i < blocks; i++)
        if (each[i] != each[first] && !(p->arch->conv && each[i] == 0))
            return err_set(p->err, -1, "%s: key %s[%d] is %d and the first is %d; one number for all layers is "
                           "supported", gguf_shown(p->g), key, i, each[i], each[first]);
    m->kv_heads = each[first];
    return 0;
}

static int read_sizes(struct planner *p)
{
    struct model *m = p->m;
    int value_dim = 0;
    char key[96];
    double eps = 0;
    if (model_key_int(p, "block_count", -1, 1, MODEL_MAX_LAYERS, &m->layers)) return -1;
    if (p->arch->delta && model_key_int(p, "nextn_predict_layers", 0, 0, m->layers - 1, &p->skipped)) return -1;
    m->layers -= p->skipped;
    if (model_key_int(p, "embedding_length", -1, 1, MODEL_MAX_EMBD, &m->embd)) return -1;
    if (model_feed(p)) return -1;
    if (model_key_int(p, "attention.head_count", -1, 1, MODEL_MAX_HEADS, &m->heads)) return -1;
    if (read_kv_heads(p)) return -1;
    if (model_key_int(p, "context_length", -1, 1, MODEL_MAX_CTX, &m->ctx_trained)) return -1;
    if (m->heads % m->kv_heads)
        return err_set(p->err, -1, "%s: %d attention heads are not a multiple of %d key/value heads", gguf_shown(p->g),
                       m->heads, m->kv_heads);
    if (model_key_int(p, "attention.key_length", m->embd / m->heads, 2, KERN_HEAD_MAX, &m->head_dim)) return -1;
    if (model_key_int(p, "attention.value_length", m->head_dim, 2, KERN_HEAD_MAX, &value_dim)) return -1;
    if (value_dim != m->head_dim || m->head_dim % 2)
        return err_set(p->err, -1, "%s: heads have keys of %d and values of %d; equal and even ones are supported",
                       gguf_shown(p->g), m->head_dim, value_dim);
    snprintf(key, sizeof key, "%s.attention.key_length", m->arch);
    if (!gguf_has(p->g, key) && m->embd % m->heads)
        return err_set(p->err, -1, "%s: a width of %d does not divide into %d heads", gguf_shown(p->g), m->embd,
                       m->heads);
    if (model_key_real(p, "attention.layer_norm_rms_epsilon", -1, 1e-12, 1e-1, &eps)) return -1;
    m->eps = (float)eps;
    return 0;
}

static int read_caps(struct planner *p)
{
    double attn = 0, out = 0;
    if (!p->arch->gemma) return 0;
    if (model_key_real(p, "attn_logit_softcapping", p->arch->attn_cap, 0, 1e6, &attn)) return -1;
    if (model_key_real(p, "final_logit_softcapping", p->arch->cap, 0, 1e6, &out)) return -1;
    p->m->attn_cap = (float)attn;
    p->m->cap = (float)out;
    return 0;
}

/* Some that make vectors were trained to see what follows as well. */
static int read_causal(const struct planner *p)
{
    char key[96];
    bool causal = true;
    snprintf(key, sizeof key, "%s.attention.causal", p->m->arch);
    if (gguf_bool(p->g, key, &causal, p->err) == GGUF_WRONG) return -1;
    return causal ? 0 : err_set(p->err, -1, "%s: key %s is false: attention that sees what follows a token too is not "
                                "supported", gguf_shown(p->g), key);
}

/* How it was trained to make vectors of prompts, by llama.cpp's numbers; chat models say nothing. */
static int read_pool(struct planner *p)
{
    enum { NONE, MEAN, FIRST, LAST, RANK };
    int type;
    if (model_key_int(p, "pooling_type", NONE, NONE, RANK, &type)) return -1;
    p->m->mean = type == MEAN;
    if (type != FIRST && type != RANK) return read_causal(p);
    return err_set(p->err, -1, "%s: key %s.pooling_type is %d (%s); 1, the mean of all tokens, and 3, the last one, "
                   "are supported", gguf_shown(p->g), p->m->arch, type, type == RANK ? "a ranking" : "the first token");
}

/* ------------------------------------------------------------------ tensors */

static int refuse_shape(struct planner *p, const struct gguf_tensor *t, struct model_shape s)
{
    char deep[32] = "";
    const int64_t *d = t->dim;
    if (s.depth > 1) snprintf(deep, sizeof deep, " x %lld", (long long)s.depth);
    return err_set(p->err, -1, "%s: tensor %s is %lld x %lld x %lld x %lld; it must be %lld x %lld%s",
                   gguf_shown(p->g), t->name, (long long)d[0], (long long)d[1], (long long)d[2], (long long)d[3],
                   (long long)s.cols, (long long)s.rows, deep);
}

const struct gguf_tensor *model_find(struct planner *p, const char *name, struct model_shape s, bool optional, int *rc)
{
    *rc = 0;
    const struct gguf_tensor *t = gguf_tensor(p->g, name);
    if (!t) {
        if (!optional)
            *rc = err_set(p->err, -1, "%s: tensor %s is missing; architecture %s needs it", gguf_shown(p->g), name,
                          p->m->arch);
        return NULL;
    }
    const struct ktype_info *info = ktype_info(t->type);
    if (t->dim[0] != s.cols || t->dim[1] != s.rows || t->dim[2] != s.depth || t->dim[3] != 1)
        *rc = refuse_shape(p, t, s);
    else if (!info->usable)
        *rc = err_set(p->err, -1,
                      "%s: tensor %s has type %s, which is not supported; F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K "
                      "Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4 are",
                      gguf_shown(p->g), name, info->name);
    if (*rc) return NULL;
    p->used[t - gguf_tensor_at(p->g, 0)] = true;
    return t;
}

static int add_part(struct planner *p, struct model_part part)
{
    struct model *m = p->m;
    assert(m->n_parts < p->room);
    uint64_t end;
    if (part.bytes == 0)
        return err_set(p->err, -1, "%s: tensor %s cannot be held by backend %s", gguf_shown(p->g), part.t->name,
                       p->k->name);
    if (size_add(m->bytes, size_align(part.bytes, 64), &end))
        return err_set(p->err, -1, "%s: the weights' sizes overflow", gguf_shown(p->g));
    part.offset = m->bytes;
    m->bytes = end;
    m->part[m->n_parts++] = part;
    m->parameters += part.mat ? (uint64_t)part.mat->rows * (uint64_t)part.mat->cols : (uint64_t)model_values(part.t);
    return 0;
}

/* depth matrices are one, the rows of each below those of the one before. */
static int want_mat(struct planner *p, const char *name, const struct model_want *w, int depth)
{
    int rc;
    const struct model_shape shape = {w->cols, w->of ? w->of : w->rows, depth};
    const struct gguf_tensor *t = model_find(p, name, shape, w->optional, &rc);
    *w->mat = (struct kmat){0};
    if (!t) return rc;
    *w->mat = (struct kmat){.type = t->type, .rows = w->rows * depth, .cols = w->cols};
    return add_part(p, (struct model_part){.t = t, .mat = w->mat, .row = w->first, .turn = w->turn,
                                           .bytes = p->k->mat_bytes(t->type, w->mat->rows, w->cols)});
}

static int want_vec(struct planner *p, const char *name, const struct model_want *w)
{
    int rc;
    const struct gguf_tensor *t = model_find(p, name, (struct model_shape){w->rows, w->cols, 1}, w->optional, &rc);
    *w->vec = NULL;
    if (!t) return rc;
    return add_part(p, (struct model_part){.t = t, .vec = w->vec, .bytes = (size_t)model_values(t) * sizeof(float)});
}

static int want_one(struct planner *p, const char *name, const struct model_want *w, int depth)
{
    return w->mat ? want_mat(p, name, w, depth) : want_vec(p, name, w);
}

int model_want_all(struct planner *p, int layer, const struct model_want *want, size_t n, int depth)
{
    for (size_t k = 0; k < n; k++) {
        char name[64];
        if (!want[k].mat && !want[k].vec) continue;
        snprintf(name, sizeof name, "blk.%d.%s", layer, want[k].name);
        if (want_one(p, name, &want[k], depth)) return -1;
    }
    return 0;
}

static int plan_feed(struct planner *p, int i)
{
    struct model *m = p->m;
    struct model_layer *l = &m->layer[i];
    const int n = m->experts, ff = m->ff, both = p->arch->fused ? 2 * ff : 0;
    const bool oss = p->arch->oss;
    const char *gate = n ? "ffn_gate_exps.weight" : both ? "ffn_up.weight" : "ffn_gate.weight";
    const struct model_want router[] = {
        {"ffn_gate_inp.weight", &l->mix.router, NULL, n, m->embd, false, 0, 0, 0},
        {"ffn_gate_inp.bias", NULL, oss ? &l->mix.dev_bias : NULL, n, 1, false, 0, 0, 0},
        {"ffn_gate_exps.bias", NULL, oss ? &l->dev_bg : NULL, ff, n, false, 0, 0, 0},
        {"ffn_up_exps.bias", NULL, oss ? &l->dev_bu : NULL, ff, n, false, 0, 0, 0},
        {"ffn_down_exps.bias", NULL, oss ? &l->dev_bd : NULL, m->embd, n, false, 0, 0, 0},
    };
    const struct model_want want[] = {
        {gate, &l->gate, NULL, ff, m->embd, false, 0, both, 0},
        {n ? "ffn_up_exps.weight" : "ffn_up.weight", &l->up, NULL, ff, m->embd, false, both ? ff : 0, both, 0},
        {n ? "ffn_down_exps.weight" : "ffn_down.weight", &l->down, NULL, m->embd, ff, false, 0, 0, 0},
    };
    const struct model_want shared[] = {
        {"ffn_gate_inp_shexp.weight", NULL, &l->shared.dev_let, m->embd, 1, false, 0, 0, 0},
        {"ffn_gate_shexp.weight", &l->shared.gate, NULL, m->shared, m->embd, false, 0, 0, 0},
        {"ffn_up_shexp.weight", &l->shared.up, NULL, m->shared, m->embd, false, 0, 0, 0},
        {"ffn_down_shexp.weight", &l->shared.down, NULL, m->embd, m->shared, false, 0, 0, 0},
    };
    l->mix.n = n;
    l->mix.used = m->used;
    l->mix.of_all = p->arch->of_all;
    if (n && model_want_all(p, i, router, COUNT_OF(router), 1)) return -1;
    if (m->shared && model_want_all(p, i, shared, COUNT_OF(shared), 1)) return -1;
    return model_want_all(p, i, want, COUNT_OF(want), MAX(n, 1));
}

static int plan_attention(struct planner *p, int i)
{
    struct model *m = p->m;
    struct model_layer *l = &m->layer[i];
    const int q = m->heads * m->head_dim, kv = m->kv_heads * m->head_dim, all = p->arch->fused ? q + 2 * kv : 0;
    const bool bias = p->arch->qkv_bias, whole = p->arch->late, heads = p->arch->head_norm || whole;
    const bool added = p->arch->gemma || whole, oss = p->arch->oss, let = p->arch->delta, late = oss || let;
    const int turn = let ? m->head_dim : 0; /* of q's rows, then of the gate's */
    const char *qkv = all ? "attn_qkv.weight" : NULL;
    const struct model_want want[] = {
        {"attn_norm.weight", NULL, whole ? NULL : &l->attn.dev_norm, m->embd, 1, false, 0, 0, 0},
        {qkv ? qkv : "attn_q.weight", &l->attn.q, NULL, q, m->embd, false, 0, let ? 2 * q : all, turn},
        {"attn_q.weight", let ? &l->let : NULL, NULL, q, m->embd, false, turn, 2 * q, turn},
        {qkv ? qkv : "attn_k.weight", &l->attn.k, NULL, kv, m->embd, false, all ? q : 0, all, 0},
        {qkv ? qkv : "attn_v.weight", &l->attn.v, NULL, kv, m->embd, false, all ? q + kv : 0, all, 0},
        {"attn_q.bias", NULL, &l->attn.dev_bq, q, 1, !bias, 0, 0, 0},
        {"attn_k.bias", NULL, &l->attn.dev_bk, kv, 1, !bias, 0, 0, 0},
        {"attn_v.bias", NULL, &l->attn.dev_bv, kv, 1, !bias, 0, 0, 0},
        {"attn_output.weight", &l->wo, NULL, m->embd, q, false, 0, 0, 0},
        {"attn_output.bias", NULL, &l->dev_bo, m->embd, 1, !oss, 0, 0, 0},
        {"attn_sinks.weight", NULL, oss ? &l->dev_sinks : NULL, m->heads, 1, false, 0, 0, 0},
        {late ? "post_attention_norm.weight" : "ffn_norm.weight", NULL, whole ? NULL : &l->dev_ffn_norm, m->embd, 1,
         false, 0, 0, 0},
        {"attn_q_norm.weight", NULL, heads ? &l->attn.dev_q_norm : NULL, whole ? q : m->head_dim, 1, false, 0, 0, 0},
        {"attn_k_norm.weight", NULL, heads ? &l->attn.dev_k_norm : NULL, whole ? kv : m->head_dim, 1, false, 0, 0, 0},
        {"post_attention_norm.weight", NULL, added ? &l->dev_attn_post : NULL, m->embd, 1, false, 0, 0, 0},
        {"post_ffw_norm.weight", NULL, added ? &l->dev_ffn_post : NULL, m->embd, 1, false, 0, 0, 0},
    };
    if (model_want_all(p, i, want, COUNT_OF(want), 1)) return -1;
    l->attn.eps = m->eps;
    l->attn.heads = m->heads;
    l->attn.rope = l->local ? m->rope_local : m->rope;
    l->attn.temper = m->temper;
    l->attn.whole = whole;
    if (p->still > 0 && (i + 1) % p->still == 0) l->attn.rope.dims = 0;
    return 0;
}

static int plan_layer(struct planner *p, int i)
{
    struct model *m = p->m;
    struct model_layer *l = &m->layer[i];
    l->local = m->local_window != 0 && (p->kv_each ? p->kv_each[i] == 0 : (i + 1) % p->every > 0);
    l->nth = l->local ? m->locals++ : i - m->locals;
    const int rc = l->local && p->arch->delta ? model_plan_delta(p, i)
                   : l->local && p->arch->conv ? model_plan_conv(p, i) : plan_attention(p, i);
    return rc ? rc : plan_feed(p, i);
}

static int plan_tensors(struct planner *p, int n_vocab)
{
    struct model *m = p->m;
    const char *norm = p->arch->conv ? "token_embd_norm.weight" : "output_norm.weight"; /* so does llama.cpp call it */
    const struct model_want want[] = {
        {"token_embd.weight", &m->embed, NULL, n_vocab, m->embd, false, 0, 0, 0},
        {norm, NULL, &m->dev_norm, m->embd, 1, false, 0, 0, 0},
        {"output.weight", &m->output, NULL, n_vocab, m->embd, true, 0, 0, 0},
    };
    m->vocab = n_vocab;
    for (size_t i = 0; i < COUNT_OF(want); i++)
        if (want_one(p, want[i].name, &want[i], 1)) return -1;
    m->tied = m->output.cols == 0;
    for (int i = 0; i < m->layers; i++)
        if (plan_layer(p, i)) return -1;
    if (model_rope_factors(p)) return -1;
    for (int i = 0; i < p->skipped; i++) model_skip_block(p, m->layers + i);
    for (uint64_t i = 0; i < gguf_n_tensors(p->g); i++)
        if (!p->used[i])
            return err_set(
                p->err, -1,
                "%s: tensor %s is not part of architecture %s as plimsoll knows it; without it answers would be wrong",
                gguf_shown(p->g), gguf_tensor_at(p->g, i)->name, m->arch);
    return 0;
}

/* Parameters of one. */
static uint64_t of_expert(const struct planner *p)
{
    const uint64_t ff = (uint64_t)p->m->ff, embd = (uint64_t)p->m->embd;
    return 3 * ff * embd + (p->arch->oss ? 2 * ff + embd : 0);
}

/* Of a fused layer, q, k and v are one tensor, and gate and up another. */
static size_t most_parts(const struct model *m, const struct gguf *g)
{
    return (size_t)gguf_n_tensors(g) + 3 * (size_t)m->layers;
}

int model_plan(struct model *m, const struct gguf *g, int n_vocab, const struct kern *k, struct err *err)
{
    struct planner p = {.m = m, .g = g, .k = k, .err = err};
    *m = (struct model){0};
    if (read_arch(&p)) return -1;
    p.every = p.arch->local;
    if (read_sizes(&p) || model_window(&p) || read_caps(&p) || read_pool(&p) || model_rope(&p) ||
        model_scales(&p))
        return -1;
    m->act = p.arch->gemma ? KERN_GELU : p.arch->oss ? KERN_OSS : KERN_SILU;
    const size_t room = most_parts(m, g);
    p.room = (int)MIN(room, (size_t)INT32_MAX);
    m->layer = calloc((size_t)m->layers, sizeof *m->layer);
    m->part = calloc(room, sizeof *m->part);
    p.used = calloc(room, sizeof *p.used);
    int rc = m->layer && m->part && p.used ? plan_tensors(&p, n_vocab)
                                           : err_set(err, -1, "no memory for %d layers", m->layers);
    m->active = m->parameters - (uint64_t)m->layers * (uint64_t)(m->experts - m->used) * of_expert(&p);
    if (!rc && m->locals == m->layers && p.arch->delta) rc = refuse_no_attention(&p, m->layers);
    if (m->locals == m->layers) { /* too few for one that is not */
        m->window = m->local_window;
        m->local_window = m->locals = 0;
    }
    free(p.used);
    return rc;
}

uint64_t model_bytes_as(const struct model *m, const struct kern *k, enum ktype type)
{
    uint64_t sum = 0;
    for (int i = 0; i < m->n_parts; i++) {
        const struct kmat *mat = m->part[i].mat;
        uint64_t bytes = m->part[i].bytes;
        if (mat && mat->cols % ktype_info(type)->block == 0) bytes = k->mat_bytes(type, mat->rows, mat->cols);
        if (bytes == 0 || size_add(sum, size_align(bytes, 64), &sum)) return 0;
    }
    return sum;
}

void model_widen(struct model *m, const struct kern *k)
{
    m->bytes = 0;
    for (int i = 0; i < m->n_parts; i++) {
        struct model_part *p = &m->part[i];
        if (p->mat) {
            p->mat->type = KT_F32;
            p->bytes = k->mat_bytes(KT_F32, p->mat->rows, p->mat->cols);
        }
        p->offset = m->bytes;
        m->bytes += size_align(p->bytes, 64); /* model_bytes_as() has seen that it does not wrap */
    }
}

void model_free(struct model *m)
{
    free(m->layer);
    free(m->part);
    free(m->inv_freq);
    *m = (struct model){0};
}

uint64_t model_table_bytes(const struct model *m, const struct gguf *g)
{
    return (uint64_t)m->layers * sizeof *m->layer + most_parts(m, g) * sizeof *m->part +
           (uint64_t)m->n_freq * sizeof *m->inv_freq;
}

void model_types(const struct gguf *g, char *out, size_t n)
{
    int count[KT_END] = {0};
    for (uint64_t i = 0; i < gguf_n_tensors(g); i++) count[gguf_tensor_at(g, i)->type]++;
    size_t at = 0;
    out[0] = '\0';
    for (uint32_t t = 0; t < KT_END; t++)
        if (count[t] && at < n)
            at += (size_t)snprintf(out + at, n - at, "%s%s %d", at ? ", " : "", ktype_info(t)->name, count[t]);
}
