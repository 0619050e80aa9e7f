/* model_mix.c - what a file says of its feed-forward: its width, or the experts that it is a mixture of. */
#include "engine/model_impl.h"

enum { EXPERT_ROWS = 32 }; /* struct kern_mix: an expert is whole groups of so many rows */

/* Keys of mixtures that choose or weigh experts otherwise, or have some beside.  What each may say is what happens here
 * without it. */
static int refuse_other_ways(const struct planner *p)
{
    const int softmax = p->arch->oss ? 3 : 1; /* of all logits, or of the chosen ones: scaled to 1 it is the same */
    const int shared = p->arch->shared;
    const struct model *m = p->m;
    const struct { const char *suffix; int least, most; } number[] = {
        {"expert_gating_func", softmax, softmax},
        {"expert_group_count", 0, 1},
        {"expert_group_used_count", 0, 1},
        {"expert_shared_count", shared, shared},
        {"expert_shared_feed_forward_length", m->shared, m->shared},
        {"leading_dense_block_count", 0, 0},
    };
    char key[96];
    const bool to_one = !p->arch->of_all;
    bool norm = to_one;
    for (size_t i = 0; i < COUNT_OF(number); i++)
        if (model_key_int(p, number[i].suffix, number[i].least, number[i].least, number[i].most, &(int){0})) return -1;
    if (model_key_real(p, "expert_weights_scale", 1, 1, 1, &(double){0})) return -1;
    snprintf(key, sizeof key, "%s.expert_weights_norm", m->arch);
    if (gguf_bool(p->g, key, &norm, p->err) == GGUF_WRONG) return -1;
    if (norm != to_one)
        return err_set(p->err, -1, "%s: key %s is %s; weights of the chosen experts that %s are supported",
                       gguf_shown(p->g), key, norm ? "true" : "false",
                       to_one ? "sum to 1" : "are parts of all experts'");
    const char *single = "blk.0.ffn_gate.0.weight";
    if (gguf_tensor(p->g, single))
        return err_set(p->err, -1, "%s: tensor %s is one expert's: this file is of an old converter; convert the model "
                       "anew, into one tensor for all experts of a layer", gguf_shown(p->g), single);
    return 0;
}

static int read_experts(const struct planner *p)
{
    struct model *m = p->m;
    const bool must = p->arch->mixture;
    if (model_key_int(p, "expert_count", must ? -1 : 0, must, KERN_EXPERTS, &m->experts)) return -1;
    const bool mix = m->experts > 0;
    if (mix && !p->arch->expert_ff)
        return err_set(p->err, -1, "%s: key %s.expert_count is %d: a mixture of experts is supported in the "
                       "architectures llama, qwen2moe, qwen3moe, qwen35moe, qwen3next, gpt-oss and granitemoe",
                       gguf_shown(p->g), m->arch, m->experts);
    return model_key_int(p, "expert_used_count", mix ? -1 : 0, mix, MIN(m->experts, KERN_USED), &m->used);
}

int model_feed(struct planner *p)
{
    struct model *m = p->m;
    if (read_experts(p)) return -1;
    const char *ff = m->experts ? p->arch->expert_ff : "feed_forward_length";
    if (model_key_int(p, ff, -1, 1, MODEL_MAX_FF, &m->ff)) return -1;
    if (m->experts == 0) return 0;
    if (m->ff % EXPERT_ROWS || m->embd % EXPERT_ROWS)
        return err_set(p->err, -1, "%s: experts of %d (key %s.%s) on a width of %d: multiples of %d are supported",
                       gguf_shown(p->g), m->ff, m->arch, ff, m->embd, EXPERT_ROWS);
    if (p->arch->shared &&
        model_key_int(p, "expert_shared_feed_forward_length", -1, 1, MODEL_MAX_FF, &m->shared)) return -1;
    return refuse_other_ways(p);
}
