/* model.h - what a GGUF file says a transformer is: its sizes, and which tensor is which weight of which layer.
 *
 * Two steps, so that a refusal costs nothing: model_plan() reads keys and tensor infos, checks every shape and type,
 * and knows how many bytes the weights take on a backend; model_load() reads the data into one slab that the caller
 * took.
 *
 * Architectures: llama (also Llama 3's rope factors), qwen2, qwen2moe, qwen3, which normalises each head of q and of k
 * before it rotates it, qwen3moe, smollm3, whose every fourth layer does not rotate, qwen35, qwen35moe, qwen3next,
 * lfm2, phi3, gpt-oss, granite, granitemoe, mistral3, olmo2, gemma2 and gemma3; metadata keys and tensor names are
 * those of the GGUF specification and of llama.cpp's converters.  A tensor that the architecture as we know it does not
 * use is refused by name: to leave it out would give plausible wrong answers.
 *
 * Mixtures of experts: qwen2moe, qwen3moe, qwen35moe, qwen3next, gpt-oss and granitemoe are, llama with expert_count
 * (Mixtral) too.
 * A token goes through the experts whose logits are largest, weighed by the softmax of these logits alone (in qwen2moe
 * of all); a key that says another way is refused.  In qwen2moe, qwen35moe and qwen3next each token goes through a
 * shared expert beside them (struct kern_shared).
 *
 * Gemma (its reports of 2024 and 2025): embeddings times sqrt(embd), the gate's GELU, norms of what attention and
 * feed-forward add.  Local layers have a sliding window, all others see all: gemma2 has them by turns and caps scores
 * and logits, of gemma3's six in a row five are local, rotate by a base of their own, and are not scaled with the
 * others.  The two that are named 27B, told by their layers, scale scores by sqrt(embd / heads).
 *
 * gpt-oss (its model card, 2025): layers by turns with a window of 128 and without, the first with; each head's sink, a
 * score without a value; biases on all matrices but embedding and output; an activation of its own (KERN_OSS); YaRN.
 *
 * granite (IBM's Granite 3, and 4's models without Mamba): llama with four factors that the file says.  Embeddings are
 * multiplied by one, scores by another in place of 1 / sqrt(head_dim), what attention and feed-forward give by a third
 * before it is added, and logits are divided by the fourth.  granitemoe is the same with a mixture (Granite 3's 1B and
 * 3B); one with a shared expert, and granitehybrid, are refused.
 *
 * mistral3 (Ministral 3, Devstral 2, and Mistral Small 3 of today's converters): llama whose q is tempered at positions
 * from the original context on (struct kern_temper), with YaRN whose gain the file takes away.  A mixture is refused.
 *
 * olmo2 (OLMo 2 and OLMo 3): norms of what attention and feed-forward add and none before them, and of q and k as whole
 * rows, before these are heads.  OLMo 3's layers have a window but for every fourth, which alone may have YaRN.
 *
 * phi3 (Phi-3, 3.5 and 4, their minis too): q, k and v are one tensor, gate and up another; a part of a head may stay
 * as it is, and what is rotated may have a gain.
 *
 * qwen35 and qwen35moe (Qwen3.5, as llama.cpp's converter writes it): of four layers in a row three keep a state
 * instead of keys and values (struct kern_delta), the others have gates on what attention gives; a part of a head is
 * rotated.  Of text all sections of its rotation are at the same position, so they make no difference.  A last block
 * that guesses at further tokens (nextn) is left where it is.  qwen3next (Qwen3-Next) is the same but for where things
 * lie: a state's value heads by their key head, beta and alpha by turns in one matrix.
 *
 * lfm2 (Liquid AI's LFM2 and LFM2.5 of text): layers without KV heads, which head_count_kv tells one by one, have a
 * short convolution, whose state is the last few values of each channel (struct kern_conv); the others have attention
 * with norms of heads.  The norm before the output is token_embd_norm.  One with a window, and lfm2moe, are refused.
 *
 * Rotation: plain, divided by a linear scale, by YaRN, or by Llama 3's factors; the same in short and in long contexts.
 * Only phi3's longrope (Ding et al., 2024) has a second set of factors, for contexts above the original: which is in
 * force is the context's size, as in llama.cpp, not how far a conversation has come, as in HF transformers, which then
 * computes all keys again.
 *
 * llama.attention.sliding_window (Mistral 7B v0.1) and phi3's are a window for all layers; llama.cpp ignores them.
 * Files of the architectures qwen2, qwen2moe and qwen3 may have such a key too, and it is ignored: their window is in
 * force only with use_sliding_window, and only in the layers from max_window_layers on; GGUF has no key for either, and
 * converters have written the size for models that never use it.
 *
 * Attention sees what is before a token; a file that says otherwise (attention.causal) is refused.
 *
 * Owner: struct model owns its arrays; the slab is the caller's.  Threads: one; read-only after load. */
#ifndef MODEL_H
#define MODEL_H
#include "engine/digest.h"
#include "engine/gguf.h"
#include "kernels/kernels.h"
#include "plimsoll.h"

enum {
    MODEL_MAX_LAYERS = 512, MODEL_MAX_EMBD = 65536, MODEL_MAX_FF = 1 << 20, MODEL_MAX_HEADS = 1024,
    MODEL_MAX_CTX = 1 << 24
};

struct model_layer {
    struct kern_attn_in attn; /* norm, q, k, v, biases, norms of heads, rope */
    struct kmat let;          /* (heads * head_dim, embd) the gate on what attention gives; cols 0: there is none */
    struct kern_delta delta;  /* qkv.cols > 0: it keeps a state, and has no attention */
    struct kern_conv conv;    /* in.cols > 0: it has a short convolution, and no attention */
    struct kmat wo;           /* (embd, heads * head_dim), or of a state's values, or of a convolution's channels */
    const float *dev_bo;      /* or NULL */
    const float *dev_ffn_norm;
    struct kmat gate, up, down; /* (ff, embd) twice, (embd, ff); of a mixture one expert's rows below the other's */
    const float *dev_bg, *dev_bu, *dev_bd; /* biases of these, or NULL */
    struct kern_mix mix;        /* n 0: no mixture */
    struct kern_shared shared;  /* gate.cols 0: no expert that all tokens go through */
    const float *dev_sinks;     /* (heads) of attention, or NULL */
    const float *dev_attn_post, *dev_ffn_post; /* norms of what attention and feed-forward add, or NULL */
    bool local; /* of those with a window of their own, or rotation */
    int nth;    /* among those that are local, or among those that are not */
};

struct model {
    char arch[32], name[64];
    int layers, embd, heads, kv_heads, head_dim, ff, vocab, ctx_trained;
    int experts, used; /* of a layer, and of these for one token; ff is one expert's.  0 and 0: no mixture */
    int shared;        /* width of the expert that all tokens go through; 0: there is none */
    int window; /* every layer: a token sees itself and the window - 1 before it; 0: all before it */
    int local_window, locals; /* that of the local layers, and how many they are; 0: there are none; KV_STATES (kv.h):
                                 they keep a state */
    int keys, values, state_dim, taps; /* of a state: struct kern_delta; keys 0: of a convolution of so many `values` */
    float eps;
    float attn_scale;     /* what q * k is multiplied by: 1 / sqrt(head_dim), but for Granite and the largest Gemmas */
    float attn_cap, cap;  /* softcaps of scores and of logits; 0: none */
    float embed_scale;
    float norm_scale;     /* what the weights of the output's norm are multiplied by when they are loaded */
    enum kern_act act;
    struct kern_rope rope, rope_local; /* inv_freq is the model's */
    struct kern_temper temper;
    struct model_layer *layer; /* (layers) */
    struct kmat embed;         /* (vocab, embd) */
    struct kmat output;        /* (vocab, embd); the same as embed where the file ties them */
    const float *dev_norm;
    bool tied;
    bool mean; /* a prompt's vector is the mean of its hidden states, as the file says; else the last one (pooling.h) */
    uint64_t parameters, active; /* active: without the experts that a token does not go through */

    struct model_part *part; /* what to load: every tensor once, with its place */
    int n_parts;
    /* Of all that the file says, when it is loaded: its head, every weight (matrices by the digests of their runs of
     * rows: model_load.c), and the rotation as computed here. */
    struct sip128 digest;
    size_t bytes; /* of the slab, for the backend of model_plan() */
    double *inv_freq; /* (n_freq) of all rotations */
    int long_from;    /* contexts of more tokens than this rotate by the factors for long ones; 0: there are none */
    int n_freq;
};

/* n_vocab: tokens in the tokenizer; the embedding must have as many rows.  0, or -1: err names key or tensor, found,
 * allowed. */
int model_plan(struct model *m, const struct gguf *g, int n_vocab, const struct kern *k, struct err *err);

/* Of a plan, before model_load(): sequences will have a context of ctx tokens. */
void model_for_ctx(struct model *m, int ctx);

/* Fill dev_slab (m->bytes, from k->take), on the backend's threads.  progress may be NULL; it is called in the caller's
 * thread, last with all done. */
int model_load(struct model *m, const struct gguf *g, const struct kern *k, struct kdev *d, void *dev_slab,
               void (*progress)(void *self, uint64_t done, uint64_t all), void *self, struct err *err);

/* What the weights would take if every matrix were of this type (one whose columns are no whole number of its blocks
 * stays as it is).  0: the backend cannot hold the type. */
uint64_t model_bytes_as(const struct model *m, const struct kern *k, enum ktype type);

/* Plan every matrix as floats, whatever the file has; before model_load().  The backend holds floats: all do. */
void model_widen(struct model *m, const struct kern *k);

void model_free(struct model *m); /* after a failed plan too */

/* Host memory: of a plan of g, until model_free(); and what model_load() takes beside it while it runs.  g is open. */
uint64_t model_table_bytes(const struct model *m, const struct gguf *g);
uint64_t model_stage_bytes(const struct model *m);

/* "Q4_K 120, F32 61": tensors by type. */
void model_types(const struct gguf *g, char *out, size_t n);
#endif
