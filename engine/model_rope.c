/* model_rope.c - the frequencies that keys of a file ask for. */
#include "engine/model_impl.h"
#include <math.h>

static bool is_text(const struct gguf_str *s, const char *text)
{
    return s->len == strlen(text) && memcmp(s->data, text, s->len) == 0;
}

/* What positions are divided by: the key of today, or that of files of before (llama.cpp reads both, and takes a factor
 * without a type for linear too).  0 stands for 1. */
static int read_linear(struct planner *p, double *factor)
{
    double old = 0, now = 0;
    if (model_key_real(p, "rope.scale_linear", 0, 0, 1e6, &old)) return -1;
    if (model_key_real(p, "rope.scaling.factor", old, 0, 1e6, &now)) return -1;
    if (now > 0 && now < 1e-3)
        return err_set(p->err, -1, "%s: key %s.rope.scaling.factor is %g; allowed is 0.001 to 1e+06", gguf_shown(p->g),
                       p->m->arch, now);
    *factor = now > 0 ? now : 1;
    return 0;
}

/* YaRN (Peng et al., 2023), as llama.cpp and HF transformers compute it: pairs that turn more than `fast` times over
 * the original context keep their angles, those that turn less than `slow` times are divided by the factor, and between
 * them it is a ramp; q and k are each multiplied by 1 + ln(factor) / 10, the gain, or by that over 1 + m ln(factor) /
 * 10 for a log multiplier m (mscale_all_dim; Mistral's files have 1).  The ramp goes from pair to pair; of gpt-oss it
 * begins and ends between them, as it was trained and HF transformers has it ("truncate": false), and llama.cpp not. */
struct yarn { double factor, fast, slow, gain; int original; bool between; };

/* A file may also name the gain (transformers' attention_factor), which llama.cpp computes whatever the file says: so
 * it is to be the one that is computed, or 1 as ever. */
static int read_gain(struct planner *p, struct yarn *y)
{
    const double least = 1e-3, most = 1e3, far = log(y->factor) / 10;
    double times = 0, named = 1;
    if (model_key_real(p, "rope.scaling.yarn_log_multiplier", 0, 0, p->arch->log_gain ? 10 : 0, &times)) return -1;
    y->gain = (1 + far) / (1 + times * far);
    if (model_key_real(p, "rope.scaling.yarn_attn_factor", 1, least, most, &named)) return -1;
    if (fabs(named - 1) < 1e-6 || fabs(named / y->gain - 1) < 1e-5) return 0;
    return err_set(p->err, -1, "%s: key %s.rope.scaling.yarn_attn_factor is %g; allowed is 1, and %g, what a factor of "
                   "%g comes to", gguf_shown(p->g), p->m->arch, named, y->gain, y->factor);
}

static int read_yarn(struct planner *p, struct yarn *y)
{
    double whole = 1;
    y->between = p->arch->oss;
    if (p->m->rope.dims != p->m->head_dim)
        return err_set(p->err, -1, "%s: key %s.rope.scaling.type is \"yarn\" where %d of %d dimensions of a head are "
                       "rotated; all of them are supported", gguf_shown(p->g), p->m->arch, p->m->rope.dims,
                       p->m->head_dim);
    if (model_key_real(p, "rope.scaling.factor", 1, 1, 1e6, &y->factor)) return -1;
    if (model_key_int(p, "rope.scaling.original_context_length", p->m->ctx_trained, 1, MODEL_MAX_CTX, &y->original))
        return -1;
    if (model_key_real(p, "rope.scaling.yarn_beta_fast", 32, 1e-3, 1e6, &y->fast)) return -1;
    if (model_key_real(p, "rope.scaling.yarn_beta_slow", 1, 1e-3, y->fast, &y->slow)) return -1;
    /* What the architectures here do not have; then what they may have in other words. */
    if (model_key_real(p, "rope.scaling.yarn_ext_factor", 1, 1, 1, &whole)) return -1;
    return read_gain(p, y);
}

/* The pair that turns so many times over the original context; whole below and above only for the ramp's ends. */
static double yarn_pair(const struct yarn *y, double base, int dims, double turns)
{
    return dims * log(y->original / (turns * 2 * M_PI)) / (2 * log(base));
}

static void apply_yarn(struct model *m, const struct yarn *y, double base)
{
    const int dims = m->rope.dims;
    const double fast = yarn_pair(y, base, dims, y->fast), slow = yarn_pair(y, base, dims, y->slow);
    const double low = MAX(y->between ? fast : floor(fast), 0.0),
                 high = MIN(y->between ? slow : ceil(slow), dims - 1.0);
    for (int i = 0; i < dims / 2; i++) {
        const double ramp = MIN(MAX((i - low) / MAX(high - low, 0.001), 0.0), 1.0);
        m->inv_freq[i] *= 1 - ramp + ramp / y->factor;
    }
    m->rope.gain *= y->gain;
}

static void put_freqs(double *to, int dims, double base, double factor)
{
    for (int i = 0; i < dims / 2; i++) to[i] = pow(base, -2.0 * i / dims) / factor;
}

static int read_base(struct planner *p, const char *suffix, double absent, double *out)
{
    return model_key_real(p, suffix, absent, 1, 1e12, out);
}

static bool rotates_apart(const struct model_arch *a) { return a->local_base > 0 || a->local_plain; }

/* Layers with a window of their own have a base of their own, or that of the others, and are never scaled. */
static int put_local(struct planner *p, double base, double *freq)
{
    struct model *m = p->m;
    m->rope_local = m->rope;
    if (!rotates_apart(p->arch)) return 0;
    if (read_base(p, "rope.freq_base_swa", p->arch->local_plain ? base : p->arch->local_base, &base)) return -1;
    put_freqs(freq, m->rope.dims, base, 1);
    m->rope_local.inv_freq = freq;
    m->rope_local.gain = 1;
    return 0;
}

/* What is rotated how far apart: "linear", "yarn" or "none". */
static int read_scaling(struct planner *p, double base, double *factor, struct yarn *yarn)
{
    char key[96], seen[GGUF_SHOWN];
    const bool gains = p->arch->longrope;
    struct gguf_str type;
    snprintf(key, sizeof key, "%s.rope.scaling.type", p->m->arch);
    const int rc = gguf_string(p->g, key, &type, p->err);
    if (rc == GGUF_WRONG) return -1;
    const bool named = rc == GGUF_OK && type.len > 0;
    if (!named || is_text(&type, "linear")) {
        if (read_linear(p, factor)) return -1;
    } else if (is_text(&type, "yarn")) {
        if (base <= 1)
            return err_set(p->err, -1, "%s: key %s.rope.freq_base is %g; with yarn it must be above 1",
                           gguf_shown(p->g), p->m->arch, base);
        if (read_yarn(p, yarn)) return -1;
    } else if (!is_text(&type, "none") && !(gains && is_text(&type, "longrope"))) {
        return err_set(p->err, -1, "%s: key %s is \"%s\"; none, linear%s and yarn are supported", gguf_shown(p->g), key,
                       gguf_show(seen, sizeof seen, type.data, type.len), gains ? ", longrope" : "");
    }
    return model_key_real(p, "rope.scaling.attn_factor", 1, gains ? 1e-3 : 1, gains ? 1e3 : 1, &p->m->rope.gain);
}

/* Angles a position: base^(-2i/dims), divided by a linear scale, or as YaRN has them. */
int model_rope(struct planner *p)
{
    struct model *m = p->m;
    double base = 0, factor = 1;
    struct yarn yarn = {0};
    m->rope.neox = p->arch->neox;
    if (model_key_int(p, "rope.dimension_count", m->head_dim, 2, m->head_dim, &m->rope.dims)) return -1;
    if (m->rope.dims % 2)
        return err_set(p->err, -1, "%s: key %s.rope.dimension_count is %d; an even number is allowed", gguf_shown(p->g),
                       m->arch, m->rope.dims);
    if (read_base(p, "rope.freq_base", 10000, &base) || read_scaling(p, base, &factor, &yarn)) return -1;
    const int pairs = m->rope.dims / 2;
    m->n_freq = rotates_apart(p->arch) || p->arch->longrope ? 2 * pairs : pairs;
    m->inv_freq = malloc((size_t)m->n_freq * sizeof *m->inv_freq);
    if (!m->inv_freq) return err_set(p->err, -1, "no memory for %d rope frequencies", m->n_freq);
    put_freqs(m->inv_freq, m->rope.dims, base, factor);
    m->rope.inv_freq = m->inv_freq;
    if (yarn.factor > 0) apply_yarn(m, &yarn, base);
    if (p->arch->longrope) memcpy(m->inv_freq + pairs, m->inv_freq, (size_t)pairs * sizeof *m->inv_freq);
    const int part = m->layers == p->arch->big ? m->embd / m->heads : m->head_dim;
    m->attn_scale = 1 / __builtin_sqrtf((float)part);
    return put_local(p, base, m->inv_freq + pairs);
}

/* Each pair's frequency divided by its factor.  Read at once: they are few, and are used on the host. */
static int divide(struct planner *p, const char *name, bool optional, double *freq, bool *there)
{
    int rc, pairs = p->m->rope.dims / 2;
    const struct gguf_tensor *t = model_find(p, name, (struct model_shape){pairs, 1, 1}, optional, &rc);
    *there = t != NULL;
    if (!t) return rc;
    float factor[KERN_HEAD_MAX / 2];
    if (t->type != KT_F32)
        return err_set(p->err, -1, "%s: tensor %s has type %s; F32 is allowed", gguf_shown(p->g), name,
                       ktype_info(t->type)->name);
    if (gguf_read(p->g, t, 0, factor, (size_t)pairs * sizeof *factor, p->err)) return -1;
    for (int i = 0; i < pairs; i++) {
        if (!(factor[i] >= 1e-6f && factor[i] <= 1e6f))
            return err_set(p->err, -1, "%s: %s[%d] is %g; allowed is 1e-6 to 1e6", gguf_shown(p->g), name, i,
                           (double)factor[i]);
        freq[i] /= (double)factor[i];
    }
    return 0;
}

/* Llama 3 has one set, longrope two or none. */
int model_rope_factors(struct planner *p)
{
    struct model *m = p->m;
    double *near = m->inv_freq, *far = near + m->rope.dims / 2;
    const char *second = "rope_factors_long.weight";
    bool has_near, has_far;
    if (!p->arch->longrope) return divide(p, "rope_freqs.weight", true, near, &has_near);
    if (divide(p, second, true, far, &has_far)) return -1;
    if (divide(p, "rope_factors_short.weight", !has_far, near, &has_near)) return -1;
    if (!has_far) return has_near ? divide(p, second, false, far, &has_far) : 0;
    return model_key_int(p, "rope.scaling.original_context_length", m->ctx_trained, 1, MODEL_MAX_CTX, &m->long_from);
}

void model_for_ctx(struct model *m, int ctx)
{
    const size_t pairs = (size_t)m->rope.dims / 2;
    if (m->long_from > 0 && ctx > m->long_from) memcpy(m->inv_freq, m->inv_freq + pairs, pairs * sizeof *m->inv_freq);
}
