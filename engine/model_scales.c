/* model_scales.c - factors: of embeddings, of q at far positions, and Granite's on all that is added. */
#include "engine/model_impl.h"

/* Where a key is missing a factor is what llama.cpp takes: none, but that of the logits must be there.
 *
 * A sum x + r * f(norm(x)) is r times x / r + f(norm(x / r)), since a norm does not see the size of its input but for
 * its eps.  So all that lies between embedding and output is divided by r, eps by its square, and no step has to know
 * of it.  The logits' factor is in the weights of the output's norm, which are floats in the device's memory. */
static int read_factors(struct planner *p)
{
    struct model *m = p->m;
    const double least = 1e-6, most = 1e6;
    double embed = 1, added = 1, score = (double)m->attn_scale, logits = 1;
    if (model_key_real(p, "embedding_scale", embed, least, most, &embed)) return -1;
    if (model_key_real(p, "residual_scale", added, 1e-3, 1e3, &added)) return -1;
    if (model_key_real(p, "attention.scale", score, least, most, &score)) return -1;
    if (model_key_real(p, "logit_scale", -1, least, most, &logits)) return -1;
    m->embed_scale = (float)(embed / added);
    m->eps = (float)((double)m->eps / (added * added));
    m->attn_scale = (float)score;
    m->norm_scale = (float)(1 / logits);
    return 0;
}

/* Whether anything rotates at all, by a key that means another thing in other architectures. */
static int read_still(struct planner *p)
{
    char key[96];
    bool rotates = true;
    snprintf(key, sizeof key, "%s.rope.scaling.finetuned", p->m->arch);
    if (gguf_bool(p->g, key, &rotates, p->err) == GGUF_WRONG) return -1;
    if (!rotates) p->still = 1;
    return 0;
}

/* From each multiple of the original context on: llama.cpp has no key for another length in the architectures here. */
static int read_temper(struct planner *p)
{
    struct kern_temper *t = &p->m->temper;
    int each = 0;
    if (model_key_real(p, "attention.temperature_scale", 0, 0, 100, &t->beta)) return -1;
    if (!(t->beta > 0)) return 0;
    if (model_key_int(p, "rope.scaling.original_context_length", p->m->ctx_trained, 1, MODEL_MAX_CTX, &each)) return -1;
    return model_key_int(p, "attention.temperature_length", each, each, each, &t->each);
}

int model_scales(struct planner *p)
{
    struct model *m = p->m;
    m->embed_scale = p->arch->gemma ? __builtin_sqrtf((float)m->embd) : 1;
    m->norm_scale = 1;
    p->still = p->arch->still;
    if (p->arch->tempered && read_temper(p)) return -1;
    return p->arch->scaled && (read_factors(p) || read_still(p)) ? -1 : 0;
}
