/* model.c - keys to sizes, names to weights.  Their bytes go to the device in model_load.c. */
#include "engine/model_impl.h"
#include <math.h>

/* What sets one architecture apart from another. */
struct arch {
    const char *name;
    bool neox;      /* which pairs are rotated together: struct kern_rope */
    bool qkv_bias;  /* q, k and v must have biases; else they may */
    bool head_norm; /* each head of q and of k is normalised before it is rotated */
    bool window;    /* attention.sliding_window is in force (model.h) */
};

static const struct arch archs[] = {
    {"llama", false, false, false, true},
    {"qwen2", true, true, false, false},
    {"qwen3", true, false, true, false},
};

struct planner {
    struct model *m;
    const struct arch *arch;
    const struct gguf *g;
    const struct kern *k;
    struct err *err;
    bool *used; /* (tensors of the file) */
    int room;   /* of m->part */
};

/* ------------------------------------------------------------------ keys */

/* arch.suffix as an integer in [min, max]; a missing one is `absent`, or an error if absent < 0. */
static int key_int(const struct planner *p, const char *suffix, int64_t absent, int64_t min, int64_t max, int *out)
{
    char key[96];
    uint64_t v = 0;
    snprintf(key, sizeof key, "%s.%s", p->m->arch, suffix);
    int rc = gguf_uint(p->g, key, UINT32_MAX, &v, p->err);
    if (rc == GGUF_WRONG) return -1;
    if (rc == GGUF_MISSING) {
        if (absent < 0)
            return err_set(p->err, -1, "%s: key %s is missing; architecture %s needs it", gguf_shown(p->g), key,
                           p->m->arch);
        v = (uint64_t)absent;
    }
    if ((int64_t)v < min || (int64_t)v > max)
        return err_set(p->err, -1, "%s: key %s is %lld; allowed is %lld to %lld", gguf_shown(p->g), key, (long long)v,
                       (long long)min, (long long)max);
    *out = (int)v;
    return 0;
}

static int key_real(const struct planner *p, const char *suffix, double absent, double min, double max, double *out)
{
    char key[96];
    double v = absent;
    snprintf(key, sizeof key, "%s.%s", p->m->arch, suffix);
    if (gguf_float(p->g, key, &v, p->err) == GGUF_WRONG) return -1;
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
        return err_set(p->err, -1, "%s: architecture \"%s\" is not supported; llama, qwen2 and qwen3 are",
                       gguf_shown(p->g), m->arch);
    if (gguf_string(p->g, "general.name", &s, NULL) == GGUF_OK) {
        snprintf(m->name, sizeof m->name, "%.*s", (int)MIN(s.len, sizeof m->name - 1), s.data);
        for (char *c = m->name; *c; c++)
            if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) *c = '?'; /* goes to screens */
    }
    return 0;
}

static int read_sizes(struct planner *p)
{
    struct model *m = p->m;
    int experts = 0, value_dim = 0;
    char key[96];
    double eps = 0;
    if (key_int(p, "block_count", -1, 1, MODEL_MAX_LAYERS, &m->layers)) return -1;
    if (key_int(p, "embedding_length", -1, 1, MODEL_MAX_EMBD, &m->embd)) return -1;
    if (key_int(p, "feed_forward_length", -1, 1, MODEL_MAX_FF, &m->ff)) return -1;
    if (key_int(p, "attention.head_count", -1, 1, MODEL_MAX_HEADS, &m->heads)) return -1;
    if (key_int(p, "attention.head_count_kv", m->heads, 1, m->heads, &m->kv_heads)) return -1;
    if (key_int(p, "context_length", -1, 1, MODEL_MAX_CTX, &m->ctx_trained)) return -1;
    if (key_int(p, "expert_count", 0, 0, 0, &experts)) return -1;
    if (m->heads % m->kv_heads)
        return err_set(p->err, -1, "%s: %d attention heads are not a multiple of %d key/value heads", gguf_shown(p->g),
                       m->heads, m->kv_heads);
    if (key_int(p, "attention.key_length", m->embd / m->heads, 2, KERN_HEAD_MAX, &m->head_dim)) return -1;
    if (key_int(p, "attention.value_length", m->head_dim, 2, KERN_HEAD_MAX, &value_dim)) return -1;
    if (value_dim != m->head_dim || m->head_dim % 2)
        return err_set(p->err, -1, "%s: heads have keys of %d and values of %d; equal and even ones are supported",
                       gguf_shown(p->g), m->head_dim, value_dim);
    snprintf(key, sizeof key, "%s.attention.key_length", m->arch);
    if (!gguf_has(p->g, key) && m->embd % m->heads)
        return err_set(p->err, -1, "%s: a width of %d does not divide into %d heads", gguf_shown(p->g), m->embd,
                       m->heads);
    if (key_real(p, "attention.layer_norm_rms_epsilon", -1, 1e-12, 1e-1, &eps)) return -1;
    m->eps = (float)eps;
    return 0;
}

/* One window for all layers; a file that has others is another model. */
static int read_window(struct planner *p)
{
    struct model *m = p->m;
    char key[96];
    if (!p->arch->window) return 0;
    if (key_int(p, "attention.sliding_window", 0, 0, MODEL_MAX_CTX, &m->window)) return -1;
    snprintf(key, sizeof key, "%s.attention.sliding_window_pattern", m->arch);
    if (m->window > 0 && gguf_has(p->g, key))
        return err_set(p->err, -1, "%s: key %s is not supported; a window of %d for all layers is", gguf_shown(p->g),
                       key, m->window);
    return 0;
}

static bool is_text(const struct gguf_str *s, const char *text)
{
    return s->len == strlen(text) && memcmp(s->data, text, s->len) == 0;
}

/* What positions are divided by: the key of today, or that of files of before (llama.cpp reads both, and takes a factor
 * without a type for linear too).  0 stands for 1. */
static int read_linear(struct planner *p, double *factor)
{
    double old = 0, now = 0;
    if (key_real(p, "rope.scale_linear", 0, 0, 1e6, &old)) return -1;
    if (key_real(p, "rope.scaling.factor", old, 0, 1e6, &now)) return -1;
    if (now > 0 && now < 1e-3)
        return err_set(p->err, -1, "%s: key %s.rope.scaling.factor is %g; allowed is 0.001 to 1e+06", gguf_shown(p->g),
                       p->m->arch, now);
    *factor = now > 0 ? now : 1;
    return 0;
}

/* YaRN (Peng et al., 2023), as llama.cpp and HF transformers compute it: pairs that turn more than `fast` times over
 * the original context keep their angles, those that turn less than `slow` times are divided by the factor, and between
 * them it is a ramp; q and k are each multiplied by 1 + ln(factor) / 10. */
struct yarn { double factor, fast, slow; int original; };

static int read_yarn(struct planner *p, struct yarn *y)
{
    double whole = 1, none = 0;
    if (p->m->rope.dims != p->m->head_dim)
        return err_set(p->err, -1, "%s: key %s.rope.scaling.type is \"yarn\" where %d of %d dimensions of a head are "
                       "rotated; all of them are supported", gguf_shown(p->g), p->m->arch, p->m->rope.dims,
                       p->m->head_dim);
    if (key_real(p, "rope.scaling.factor", 1, 1, 1e6, &y->factor)) return -1;
    if (key_int(p, "rope.scaling.original_context_length", p->m->ctx_trained, 1, MODEL_MAX_CTX, &y->original))
        return -1;
    if (key_real(p, "rope.scaling.yarn_beta_fast", 32, 1e-3, 1e6, &y->fast)) return -1;
    if (key_real(p, "rope.scaling.yarn_beta_slow", 1, 1e-3, y->fast, &y->slow)) return -1;
    /* What the architectures here do not have. */
    if (key_real(p, "rope.scaling.yarn_ext_factor", 1, 1, 1, &whole)) return -1;
    if (key_real(p, "rope.scaling.yarn_attn_factor", 1, 1, 1, &whole)) return -1;
    return key_real(p, "rope.scaling.yarn_log_multiplier", 0, 0, 0, &none);
}

/* The pair that turns so many times over the original context; whole below and above only for the ramp's ends. */
static double yarn_pair(const struct yarn *y, double base, int dims, double turns)
{
    return dims * log(y->original / (turns * 2 * M_PI)) / (2 * log(base));
}

static void apply_yarn(struct model *m, const struct yarn *y, double base)
{
    const int dims = m->rope.dims;
    const double low = MAX(floor(yarn_pair(y, base, dims, y->fast)), 0.0),
                 high = MIN(ceil(yarn_pair(y, base, dims, y->slow)), dims - 1.0);
    for (int i = 0; i < dims / 2; i++) {
        const double ramp = MIN(MAX((i - low) / MAX(high - low, 0.001), 0.0), 1.0);
        m->inv_freq[i] *= 1 - ramp + ramp / y->factor;
    }
    const double each = 1 + 0.1 * log(y->factor);
    m->attn_gain = (float)(each * each);
}

/* Angles a position: base^(-2i/dims), divided by a linear scale and by Llama 3's factors where the file has them. */
static int read_rope(struct planner *p)
{
    struct model *m = p->m;
    char key[96];
    double base = 0, factor = 1, attn_factor = 1;
    struct gguf_str type;
    struct yarn yarn = {0};
    m->rope.neox = p->arch->neox;
    if (key_int(p, "rope.dimension_count", m->head_dim, 2, m->head_dim, &m->rope.dims)) return -1;
    if (m->rope.dims % 2)
        return err_set(p->err, -1, "%s: key %s.rope.dimension_count is %d; an even number is allowed", gguf_shown(p->g),
                       m->arch, m->rope.dims);
    if (key_real(p, "rope.freq_base", 10000, 1, 1e12, &base)) return -1;
    snprintf(key, sizeof key, "%s.rope.scaling.type", m->arch);
    const int rc = gguf_string(p->g, key, &type, p->err);
    if (rc == GGUF_WRONG) return -1;
    const bool named = rc == GGUF_OK && type.len > 0;
    if (!named || is_text(&type, "linear")) {
        if (read_linear(p, &factor)) return -1;
    } else if (is_text(&type, "yarn")) {
        if (base <= 1)
            return err_set(p->err, -1, "%s: key %s.rope.freq_base is %g; with yarn it must be above 1",
                           gguf_shown(p->g), m->arch, base);
        if (read_yarn(p, &yarn)) return -1;
    } else if (!is_text(&type, "none")) {
        char seen[GGUF_SHOWN];
        return err_set(p->err, -1, "%s: key %s is \"%s\"; none, linear and yarn are supported", gguf_shown(p->g), key,
                       gguf_show(seen, sizeof seen, type.data, type.len));
    }
    if (key_real(p, "rope.scaling.attn_factor", 1, 1, 1, &attn_factor)) return -1;
    int pairs = m->rope.dims / 2;
    m->inv_freq = malloc((size_t)pairs * sizeof *m->inv_freq);
    if (!m->inv_freq) return err_set(p->err, -1, "no memory for %d rope frequencies", pairs);
    for (int i = 0; i < pairs; i++) m->inv_freq[i] = pow(base, -2.0 * i / m->rope.dims) / factor;
    m->attn_gain = 1;
    if (yarn.factor > 0) apply_yarn(m, &yarn, base);
    m->rope.inv_freq = m->inv_freq;
    return 0;
}

/* ------------------------------------------------------------------ tensors */

/* The tensor of this name with exactly this shape; NULL and *rc 0: it is absent and may be; *rc -1: an error. */
static const struct gguf_tensor *find(struct planner *p, const char *name, int64_t cols, int64_t rows, bool optional,
                                      int *rc)
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
    if (t->dim[0] != cols || t->dim[1] != rows || t->dim[2] != 1 || t->dim[3] != 1)
        *rc = err_set(p->err, -1, "%s: tensor %s is %lld x %lld x %lld x %lld; it must be %lld x %lld",
                      gguf_shown(p->g), name, (long long)t->dim[0], (long long)t->dim[1], (long long)t->dim[2],
                      (long long)t->dim[3], (long long)cols, (long long)rows);
    else if (!info->usable)
        *rc = err_set(p->err, -1,
                      "%s: tensor %s has type %s, which is not supported; F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q4_K "
                      "Q5_K Q6_K are",
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
    m->parameters += (uint64_t)(part.t->dim[0] * part.t->dim[1]);
    return 0;
}

static int want_mat(struct planner *p, const char *name, struct kmat *out, int rows, int cols, bool optional)
{
    int rc;
    const struct gguf_tensor *t = find(p, name, cols, rows, optional, &rc);
    *out = (struct kmat){0};
    if (!t) return rc;
    *out = (struct kmat){.type = t->type, .rows = rows, .cols = cols};
    return add_part(p, (struct model_part){.t = t, .mat = out, .bytes = p->k->mat_bytes(t->type, rows, cols)});
}

static int want_vec(struct planner *p, const char *name, const float **out, int n, bool optional)
{
    int rc;
    const struct gguf_tensor *t = find(p, name, n, 1, optional, &rc);
    *out = NULL;
    if (!t) return rc;
    return add_part(p, (struct model_part){.t = t, .vec = out, .bytes = (size_t)n * sizeof(float)});
}

static int plan_layer(struct planner *p, int i)
{
    struct model *m = p->m;
    struct model_layer *l = &m->layer[i];
    int q = m->heads * m->head_dim, kv = m->kv_heads * m->head_dim;
    bool bias = p->arch->qkv_bias;
    struct want { const char *name; struct kmat *mat; const float **vec; int rows, cols; bool optional; };
    const struct want want[] = {
        {"attn_norm.weight", NULL, &l->attn.dev_norm, m->embd, 1, false},
        {"attn_q.weight", &l->attn.q, NULL, q, m->embd, false},
        {"attn_k.weight", &l->attn.k, NULL, kv, m->embd, false},
        {"attn_v.weight", &l->attn.v, NULL, kv, m->embd, false},
        {"attn_q.bias", NULL, &l->attn.dev_bq, q, 1, !bias},
        {"attn_k.bias", NULL, &l->attn.dev_bk, kv, 1, !bias},
        {"attn_v.bias", NULL, &l->attn.dev_bv, kv, 1, !bias},
        {"attn_output.weight", &l->wo, NULL, m->embd, q, false},
        {"attn_output.bias", NULL, &l->dev_bo, m->embd, 1, true},
        {"ffn_norm.weight", NULL, &l->dev_ffn_norm, m->embd, 1, false},
        {"ffn_gate.weight", &l->gate, NULL, m->ff, m->embd, false},
        {"ffn_up.weight", &l->up, NULL, m->ff, m->embd, false},
        {"ffn_down.weight", &l->down, NULL, m->embd, m->ff, false},
        {"attn_q_norm.weight", NULL, &l->attn.dev_q_norm, m->head_dim, 1, false}, /* these two: arch->head_norm */
        {"attn_k_norm.weight", NULL, &l->attn.dev_k_norm, m->head_dim, 1, false},
    };
    for (size_t k = 0; k < COUNT_OF(want) - (p->arch->head_norm ? 0 : 2); k++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.%s", i, want[k].name);
        int rc = want[k].mat ? want_mat(p, name, want[k].mat, want[k].rows, want[k].cols, want[k].optional)
                             : want_vec(p, name, want[k].vec, want[k].rows, want[k].optional);
        if (rc) return rc;
    }
    l->attn.eps = m->eps;
    l->attn.heads = m->heads;
    l->attn.rope = m->rope;
    return 0;
}

/* Llama 3's rope_freqs.weight: each pair's frequency is divided by its factor.  Read at once: it is small, and is used
 * on the host. */
static int apply_rope_factors(struct planner *p)
{
    struct model *m = p->m;
    int rc, pairs = m->rope.dims / 2;
    const struct gguf_tensor *t = find(p, "rope_freqs.weight", pairs, 1, true, &rc);
    if (!t) return rc;
    float factor[KERN_HEAD_MAX / 2];
    if (t->type != KT_F32)
        return err_set(p->err, -1, "%s: tensor rope_freqs.weight has type %s; F32 is allowed", gguf_shown(p->g),
                       ktype_info(t->type)->name);
    if (gguf_read(p->g, t, 0, factor, (size_t)pairs * sizeof *factor, p->err)) return -1;
    for (int i = 0; i < pairs; i++) {
        if (!(factor[i] >= 1e-6f && factor[i] <= 1e6f))
            return err_set(p->err, -1, "%s: rope_freqs.weight[%d] is %g; allowed is 1e-6 to 1e6", gguf_shown(p->g), i,
                           (double)factor[i]);
        m->inv_freq[i] /= (double)factor[i];
    }
    return 0;
}

static int plan_tensors(struct planner *p, int n_vocab)
{
    struct model *m = p->m;
    m->vocab = n_vocab;
    if (want_mat(p, "token_embd.weight", &m->embed, n_vocab, m->embd, false)) return -1;
    if (want_vec(p, "output_norm.weight", &m->dev_norm, m->embd, false)) return -1;
    if (want_mat(p, "output.weight", &m->output, n_vocab, m->embd, true)) return -1;
    m->tied = m->output.cols == 0;
    for (int i = 0; i < m->layers; i++)
        if (plan_layer(p, i)) return -1;
    if (apply_rope_factors(p)) return -1;
    for (uint64_t i = 0; i < gguf_n_tensors(p->g); i++)
        if (!p->used[i])
            return err_set(
                p->err, -1,
                "%s: tensor %s is not part of architecture %s as plimsoll knows it; without it answers would be wrong",
                gguf_shown(p->g), gguf_tensor_at(p->g, i)->name, m->arch);
    return 0;
}

int model_plan(struct model *m, const struct gguf *g, int n_vocab, const struct kern *k, struct err *err)
{
    struct planner p = {.m = m, .g = g, .k = k, .err = err};
    *m = (struct model){0};
    if (read_arch(&p) || read_sizes(&p) || read_window(&p) || read_rope(&p)) return -1;
    p.room = (int)MIN(gguf_n_tensors(g), (uint64_t)INT32_MAX);
    m->layer = calloc((size_t)m->layers, sizeof *m->layer);
    m->part = calloc((size_t)p.room + 1, sizeof *m->part);
    p.used = calloc((size_t)p.room + 1, sizeof *p.used);
    int rc = m->layer && m->part && p.used ? plan_tensors(&p, n_vocab)
                                           : err_set(err, -1, "no memory for %d layers", m->layers);
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
    return (uint64_t)m->layers * sizeof *m->layer + (gguf_n_tensors(g) + 1) * sizeof *m->part +
           (uint64_t)(m->rope.dims / 2) * sizeof *m->inv_freq;
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
