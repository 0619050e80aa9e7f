/* plan_header.c - a GGUF header from a shape: keys, a tokenizer that is made up, tensor infos, and a hole as long as
 * the weights.  The format is drawn in engine/gguf_parse.c. */
#include "app/learn/plan_shape.h"
#include "engine/gguf.h"
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum { VERSION = 3, ALIGNMENT = 32 };

struct header {
    struct buf keys, infos;
    uint64_t n_keys, n_tensors, data; /* data: bytes of all tensors so far */
};

/* ------------------------------------------------------------------ the format's pieces */

/* Little-endian, as all machines are for which there are kernels. */
static void put_u32(struct buf *b, uint32_t v) { buf_put(b, &v, sizeof v); }
static void put_u64(struct buf *b, uint64_t v) { buf_put(b, &v, sizeof v); }

static void put_str(struct buf *b, const char *s, size_t n)
{
    put_u64(b, n);
    buf_put(b, s, n);
}

static void put_key(struct header *h, const char *name, enum gguf_type type)
{
    put_str(&h->keys, name, strlen(name));
    put_u32(&h->keys, (uint32_t)type);
    h->n_keys++;
}

static void key_str(struct header *h, const char *name, const char *value)
{
    put_key(h, name, GGUF_STR);
    put_str(&h->keys, value, strlen(value));
}

static void key_u32(struct header *h, const char *arch, const char *name, int value)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", arch, name);
    put_key(h, key, GGUF_U32);
    put_u32(&h->keys, (uint32_t)value);
}

static void key_f32(struct header *h, const char *arch, const char *name, float value)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", arch, name);
    put_key(h, key, GGUF_F32);
    buf_put(&h->keys, &value, sizeof value);
}

static void put_array(struct header *h, const char *name, enum gguf_type of, uint64_t n)
{
    put_key(h, name, GGUF_ARRAY);
    put_u32(&h->keys, (uint32_t)of);
    put_u64(&h->keys, n);
}

/* ------------------------------------------------------------------ a tokenizer of that size */

/* What sizes depend on.  spelled: bytes of all tokens' spellings, for each token 1/100 byte; longest: of a token's
 * text; shown: bytes of the longest text that a token can become on a screen (engine/request.c).  Measured on the
 * vocabularies of Llama 2, Llama 3 and Qwen2; the other three are taken to be like their kin. */
struct words {
    const char *model, *pre; /* pre NULL: SPM has none */
    int spelled, merges;     /* merges: for each token, 1/100 */
    int longest, shown;
};
static const struct words words_of[] = {
    [WORDS_SPM] = {"llama", NULL, 659, 0, 27, 79},
    [WORDS_LLAMA3] = {"gpt2", "llama-bpe", 837, 218, 128, 288},
    [WORDS_QWEN2] = {"gpt2", "qwen2", 903, 99, 128, 144},
    [WORDS_TEKKEN] = {"gpt2", "tekken", 837, 206, 128, 288},
    [WORDS_SMOLLM] = {"gpt2", "smollm", 710, 99, 128, 384},
    [WORDS_FALCON3] = {"gpt2", "llama-bpe", 710, 99, 128, 288},
};

enum { LETTERS = 16, PAD = 20, TOKEN_ROOM = 1024 };

/* Token k of those that are made of letters a to p, the shorter first: whatever one is cut into, both parts are tokens
 * too, which is what a merge must be. */
static size_t spell(int k, char out[TOKEN_ROOM])
{
    size_t n = 1;
    for (int first = LETTERS, count = LETTERS; k >= first; n++) {
        k -= first;
        first = count *= LETTERS;
    }
    for (size_t i = n; i-- > 0; k /= LETTERS) out[i] = (char)('a' + k % LETTERS);
    return n;
}

/* A text that shows as so many bytes: three for each that is no ASCII. */
static size_t spell_shown(const struct words *w, char out[TOKEN_ROOM])
{
    size_t n = 0;
    int each = w->pre ? 3 : 6; /* byte-level BPE spells one byte so; SPM two */
    for (int i = 0; i < w->shown / each; i++) n += (size_t)snprintf(out + n, TOKEN_ROOM - n, "\xc3\x83");
    for (int i = 0; i < w->shown % each; i++) out[n++] = 'z';
    return n;
}

static size_t spell_longest(const struct words *w, char out[TOKEN_ROOM])
{
    memset(out, 'z', (size_t)w->longest);
    return (size_t)w->longest;
}

/* The last tokens are longer than their letters need, so that all together are as long as they should be.  The first
 * of these. */
static int first_padded(const struct words *w, int vocab)
{
    char text[TOKEN_ROOM];
    int64_t left = (int64_t)vocab * w->spelled / 100;
    for (int k = 0; k < vocab; k++) left -= (int64_t)spell(k, text);
    return vocab - 2 - (int)MAX(MIN(left / PAD, vocab - 3), 0);
}

static void put_tokens(struct header *h, const struct words *w, int vocab, int padded)
{
    char text[TOKEN_ROOM];
    put_array(h, "tokenizer.ggml.tokens", GGUF_STR, (uint64_t)vocab);
    for (int k = 0; k < vocab; k++) {
        size_t n = spell(k, text);
        if (k == vocab - 1) n = spell_longest(w, text);
        else if (k == vocab - 2) n = spell_shown(w, text);
        else if (k >= padded) memset(text + n, 'q', PAD);
        put_str(&h->keys, text, n + (k >= padded && k < vocab - 2 ? PAD : 0));
    }
}

static void put_merges(struct header *h, const struct words *w, int vocab, int padded)
{
    struct buf all = {0};
    uint64_t n = 0, most = (uint64_t)vocab * (uint64_t)w->merges / 100;
    char text[TOKEN_ROOM];
    for (int k = LETTERS; k < padded && n < most; k++) {
        size_t len = spell(k, text);
        for (size_t cut = 1; cut < len && n < most; cut++, n++) {
            put_u64(&all, len + 1);
            buf_put(&all, text, cut);
            buf_puts(&all, " ");
            buf_put(&all, text + cut, len - cut);
        }
    }
    put_array(h, "tokenizer.ggml.merges", GGUF_STR, n);
    buf_put(&h->keys, all.data, all.len);
    h->keys.failed = h->keys.failed || all.failed;
    buf_free(&all);
}

static void put_scores(struct header *h, int vocab)
{
    put_array(h, "tokenizer.ggml.scores", GGUF_F32, (uint64_t)vocab);
    for (int k = 0; k < vocab; k++) {
        float score = (float)-k;
        buf_put(&h->keys, &score, sizeof score);
    }
}

static void put_tokenizer(struct header *h, const struct plan_shape *s)
{
    const struct words *w = &words_of[s->words];
    int padded = first_padded(w, s->vocab);
    key_str(h, "tokenizer.ggml.model", w->model);
    if (w->pre) key_str(h, "tokenizer.ggml.pre", w->pre);
    put_tokens(h, w, s->vocab, padded);
    if (w->pre) put_merges(h, w, s->vocab, padded);
    else put_scores(h, s->vocab);
}

/* ------------------------------------------------------------------ keys and tensors */

static void put_states(struct header *h, const struct plan_shape *s)
{
    key_u32(h, s->arch, "ssm.conv_kernel", s->states.taps);
    key_u32(h, s->arch, "ssm.state_size", s->states.dim);
    key_u32(h, s->arch, "ssm.group_count", s->states.keys);
    key_u32(h, s->arch, "ssm.time_step_rank", s->states.values);
    key_u32(h, s->arch, "ssm.inner_size", s->states.values * s->states.dim);
    key_u32(h, s->arch, "rope.dimension_count", s->states.rotated);
}

static bool has_convs(const struct plan_shape *s) { return s->states.keys == 0 && s->states.taps > 0; }

static bool convolves(const struct plan_shape *s, int layer)
{
    return has_convs(s) && !(s->states.attention >> layer & 1);
}

/* KV heads of each layer, where some have a convolution. */
static void put_convs(struct header *h, const struct plan_shape *s)
{
    char key[96];
    key_u32(h, s->arch, "shortconv.l_cache", s->states.taps);
    snprintf(key, sizeof key, "%s.attention.head_count_kv", s->arch);
    put_array(h, key, GGUF_I32, (uint64_t)s->layers);
    for (int i = 0; i < s->layers; i++) put_u32(&h->keys, convolves(s, i) ? 0 : (uint32_t)s->kv_heads);
}

static void put_sizes(struct header *h, const struct plan_shape *s)
{
    key_str(h, "general.architecture", s->arch);
    key_str(h, "general.name", s->name);
    key_u32(h, s->arch, "block_count", s->layers);
    key_u32(h, s->arch, "embedding_length", s->embd);
    key_u32(h, s->arch, "feed_forward_length", s->ff);
    if (s->experts > 0) {
        key_u32(h, s->arch, "expert_count", s->experts);
        key_u32(h, s->arch, "expert_used_count", s->used);
        key_u32(h, s->arch, "expert_feed_forward_length", s->ff);
    }
    if (s->shared > 0) key_u32(h, s->arch, "expert_shared_feed_forward_length", s->shared);
    if (s->states.keys > 0) put_states(h, s);
    key_u32(h, s->arch, "attention.head_count", s->heads);
    if (has_convs(s)) put_convs(h, s);
    else key_u32(h, s->arch, "attention.head_count_kv", s->kv_heads);
    key_u32(h, s->arch, "attention.key_length", s->head_dim);
    key_u32(h, s->arch, "attention.value_length", s->head_dim);
    key_u32(h, s->arch, "context_length", s->ctx);
    if (s->window > 0) key_u32(h, s->arch, "attention.sliding_window", s->window);
    if (strncmp(s->arch, "granite", 7) == 0) key_f32(h, s->arch, "logit_scale", 8); /* it must be there */
    key_f32(h, s->arch, "attention.layer_norm_rms_epsilon", 1e-5f);
}

/* deep: matrices, one for each expert; 1: it is one. */
static void put_tensor(struct header *h, const char *name, enum ktype type, int cols, int rows, int deep)
{
    const struct ktype_info *t = ktype_info(type);
    const uint64_t row = (uint64_t)cols / (uint64_t)t->block * (uint64_t)t->bytes;
    put_str(&h->infos, name, strlen(name));
    put_u32(&h->infos, deep > 1 ? 3 : rows > 1 ? 2 : 1);
    put_u64(&h->infos, (uint64_t)cols);
    if (rows > 1) put_u64(&h->infos, (uint64_t)rows);
    if (deep > 1) put_u64(&h->infos, (uint64_t)deep);
    put_u32(&h->infos, (uint32_t)type);
    put_u64(&h->infos, h->data);
    h->n_tensors++;
    h->data += size_align(row * (uint64_t)rows * (uint64_t)deep, ALIGNMENT);
}

/* The type of a matrix with so many columns. */
static enum ktype type_for(enum ktype type, int cols)
{
    enum ktype instead = KT_F16;
    if (cols % ktype_info(type)->block == 0) return type;
    switch (type) {
    case KT_Q6_K: instead = KT_Q8_0; break;
    case KT_Q5_K: instead = KT_Q5_1; break;
    case KT_Q4_K: instead = KT_Q5_0; break;
    case KT_Q3_K:
    case KT_Q2_K: instead = KT_Q4_0; break;
    case KT_IQ4_XS: instead = KT_IQ4_NL; break;
    default: break;
    }
    return cols % ktype_info(instead)->block == 0 ? instead : KT_F16;
}

/* The type of all that is no expert's. */
static enum ktype rest_of(struct plan_mix mix) { return mix.type == KT_MXFP4 ? KT_Q8_0 : mix.type; }

static bool is_arch(const struct plan_shape *s, const char *arch) { return strcmp(s->arch, arch) == 0; }

/* Norms are of what is added, and of q and k as whole rows. */
static bool norms_late(const struct plan_shape *s) { return is_arch(s, "olmo2"); }

/* llama.cpp's choice of Q4_K_M for the layers whose attn_v and ffn_down matter more. */
static bool has_more_bits(int layer, int layers)
{
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

/* A mix's type of attn_v: the more heads share one of K and V, the less it costs to give it more.  Layers are counted
 * that have one. */
static enum ktype type_of_v(const struct plan_shape *s, struct plan_mix mix, int layer)
{
    const bool shared = s->heads / s->kv_heads >= 4;
    int layers = s->layers;
    if (has_convs(s)) {
        layer = __builtin_popcountll(s->states.attention & ((UINT64_C(1) << layer) - 1));
        layers = __builtin_popcountll(s->states.attention);
    }
    switch (mix.how) {
    case PLAN_Q4_K_M: return has_more_bits(layer, layers) ? KT_Q6_K : KT_Q4_K;
    case PLAN_Q3_K_M: return layer < 2 ? KT_Q5_K : KT_Q4_K;
    case PLAN_Q2_K: return shared ? KT_Q4_K : KT_Q3_K;
    case PLAN_IQ4: return shared ? KT_Q5_K : mix.type;
    default: return rest_of(mix);
    }
}

static enum ktype type_of_down(const struct plan_shape *s, struct plan_mix mix, int layer)
{
    switch (mix.how) {
    case PLAN_Q4_K_M: return has_more_bits(layer, s->layers) ? KT_Q6_K : KT_Q4_K;
    case PLAN_Q3_K_M: return layer < s->layers / 16 ? KT_Q5_K : KT_Q4_K;
    case PLAN_Q2_K: return KT_Q3_K;
    case PLAN_IQ4: return layer < s->layers / 8 ? KT_Q5_K : mix.type;
    default: return s->experts > 1 ? mix.type : rest_of(mix);
    }
}

struct want { /* a layer's */
    const char *name;
    enum ktype type;
    int cols, rows, deep;
    bool there;
};

static void put_wanted(struct header *h, int layer, const struct want *want, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%d.%s", layer, want[k].name);
        if (!want[k].there) continue;
        put_tensor(h, name, type_for(want[k].type, want[k].cols), want[k].cols, want[k].rows, want[k].deep);
    }
}

static void put_attention(struct header *h, const struct plan_shape *s, struct plan_mix mix, int i)
{
    const int q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim, embd = s->embd;
    const bool eight = mix.how != PLAN_ONE && s->experts == 8; /* beside which attention is small */
    const bool oss = is_arch(s, "gpt-oss"), apart = !is_arch(s, "phi3");
    const bool bias = oss || strncmp(s->arch, "qwen2", 5) == 0;
    const bool whole = norms_late(s);
    const bool head_norm = whole || is_arch(s, "gemma3") || has_convs(s) || strncmp(s->arch, "qwen3", 5) == 0;
    const enum ktype t = rest_of(mix), keys = eight ? KT_Q8_0 : t, values = eight ? KT_Q8_0 : type_of_v(s, mix, i);
    const enum ktype out = eight ? KT_Q5_K : mix.how == PLAN_Q3_K_M ? KT_Q4_K : mix.how == PLAN_Q2_K ? KT_Q3_K : t;
    const bool gated = s->states.keys > 0; /* by what lies between q's rows */
    const enum ktype fused = mix.how == PLAN_Q4_K_M ? KT_Q5_K : mix.how == PLAN_Q3_K_M ? KT_Q4_K : t;
    const struct want want[] = {
        {"attn_norm.weight", KT_F32, embd, 1, 1, !whole},
        {"attn_q.weight", t, embd, gated ? 2 * q : q, 1, apart},
        {"attn_k.weight", keys, embd, kv, 1, apart},
        {"attn_v.weight", values, embd, kv, 1, apart},
        {"attn_qkv.weight", fused, embd, q + 2 * kv, 1, !apart},
        {"attn_q.bias", KT_F32, q, 1, 1, bias},
        {"attn_k.bias", KT_F32, kv, 1, 1, bias},
        {"attn_v.bias", KT_F32, kv, 1, 1, bias},
        {"attn_output.weight", out, q, embd, 1, true},
        {"attn_output.bias", KT_F32, embd, 1, 1, oss},
        {"attn_sinks.weight", KT_F32, s->heads, 1, 1, oss},
        {"attn_q_norm.weight", KT_F32, whole ? q : s->head_dim, 1, 1, head_norm},
        {"attn_k_norm.weight", KT_F32, whole ? kv : s->head_dim, 1, 1, head_norm},
    };
    put_wanted(h, i, want, COUNT_OF(want));
}

/* A layer that keeps a state instead.  llama.cpp's mixes give the first matrix what they give attn_v. */
static void put_delta(struct header *h, const struct plan_shape *s, struct plan_mix mix, int i)
{
    const struct plan_states *d = &s->states;
    const int inner = d->values * d->dim, channels = 2 * d->keys * d->dim + inner, embd = s->embd;
    const enum ktype t = rest_of(mix);
    const bool both = is_arch(s, "qwen3next");
    const struct want want[] = {
        {"attn_norm.weight", KT_F32, embd, 1, 1, true},
        {"attn_qkv.weight", type_of_v(s, mix, i), embd, channels, 1, true},
        {"attn_gate.weight", t, embd, inner, 1, true},
        {"ssm_beta.weight", t, embd, d->values, 1, !both},
        {"ssm_alpha.weight", t, embd, d->values, 1, !both},
        {"ssm_ba.weight", t, embd, 2 * d->values, 1, both},
        {"ssm_conv1d.weight", KT_F32, d->taps, channels, 1, true},
        {"ssm_dt.bias", KT_F32, d->values, 1, 1, true},
        {"ssm_a", KT_F32, d->values, 1, 1, true},
        {"ssm_norm.weight", KT_F32, d->dim, 1, 1, true},
        {"ssm_out.weight", t, inner, embd, 1, true},
    };
    put_wanted(h, i, want, COUNT_OF(want));
}

/* A layer with a short convolution.  llama.cpp's mixes know no matrix of it. */
static void put_conv(struct header *h, const struct plan_shape *s, struct plan_mix mix, int i)
{
    const int embd = s->embd;
    const enum ktype t = rest_of(mix);
    const struct want want[] = {
        {"attn_norm.weight", KT_F32, embd, 1, 1, true},
        {"shortconv.in_proj.weight", t, embd, 3 * embd, 1, true},
        {"shortconv.conv.weight", KT_F32, s->states.taps, embd, 1, true},
        {"shortconv.out_proj.weight", t, embd, embd, 1, true},
    };
    put_wanted(h, i, want, COUNT_OF(want));
}

static void put_feed(struct header *h, const struct plan_shape *s, struct plan_mix mix, int i)
{
    const int n = MAX(s->experts, 1), embd = s->embd, ff = s->ff;
    const bool many = n > 1, oss = is_arch(s, "gpt-oss"), fused = is_arch(s, "phi3");
    const bool added = norms_late(s) || is_arch(s, "gemma3") || is_arch(s, "gemma2");
    const bool late = oss || s->states.keys > 0, beside = s->shared > 0;
    const enum ktype t = many ? mix.type : rest_of(mix), down = type_of_down(s, mix, i), rest = rest_of(mix);
    const struct want want[] = {
        {"ffn_norm.weight", KT_F32, embd, 1, 1, !late && !norms_late(s)},
        {"post_attention_norm.weight", KT_F32, embd, 1, 1, added || late},
        {"post_ffw_norm.weight", KT_F32, embd, 1, 1, added},
        {"ffn_gate_inp.weight", KT_F32, embd, n, 1, many},
        {"ffn_gate_inp.bias", KT_F32, n, 1, 1, oss},
        {many ? "ffn_gate_exps.weight" : "ffn_gate.weight", t, embd, ff, n, !fused},
        {many ? "ffn_up_exps.weight" : "ffn_up.weight", t, embd, fused ? 2 * ff : ff, n, true},
        {many ? "ffn_down_exps.weight" : "ffn_down.weight", down, ff, embd, n, true},
        {"ffn_gate_exps.bias", KT_F32, ff, n, 1, oss},
        {"ffn_up_exps.bias", KT_F32, ff, n, 1, oss},
        {"ffn_down_exps.bias", KT_F32, embd, n, 1, oss},
        {"ffn_gate_inp_shexp.weight", KT_F32, embd, 1, 1, beside},
        {"ffn_gate_shexp.weight", rest, embd, s->shared, 1, beside},
        {"ffn_up_shexp.weight", rest, embd, s->shared, 1, beside},
        {"ffn_down_shexp.weight", mix.how == PLAN_ONE ? rest : down, s->shared, embd, 1, beside},
    };
    put_wanted(h, i, want, COUNT_OF(want));
}

static void put_tensors(struct header *h, const struct plan_shape *s, struct plan_mix mix)
{
    const enum ktype t = rest_of(mix), last = type_for(mix.how != PLAN_ONE ? KT_Q6_K : t, s->embd);
    put_tensor(h, "token_embd.weight", s->tied ? last : type_for(t, s->embd), s->embd, s->vocab, 1);
    put_tensor(h, has_convs(s) ? "token_embd_norm.weight" : "output_norm.weight", KT_F32, s->embd, 1, 1);
    if (!s->tied) put_tensor(h, "output.weight", last, s->embd, s->vocab, 1);
    for (int i = 0; i < s->layers; i++) {
        if (s->states.keys > 0 && (i + 1) % 4 > 0) put_delta(h, s, mix, i);
        else if (convolves(s, i)) put_conv(h, s, mix, i);
        else put_attention(h, s, mix, i);
        put_feed(h, s, mix, i);
    }
}

/* ------------------------------------------------------------------ the file */

static bool write_all(int fd, const struct buf *b)
{
    for (size_t done = 0; done < b->len;) {
        ssize_t n = write(fd, b->data + done, b->len - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static bool write_file(struct header *h, int fd)
{
    struct buf file = {0};
    buf_puts(&file, "GGUF");
    put_u32(&file, VERSION);
    put_u64(&file, h->n_tensors);
    put_u64(&file, h->n_keys);
    buf_put(&file, h->keys.data, h->keys.len);
    buf_put(&file, h->infos.data, h->infos.len);
    uint64_t end = size_align(file.len, ALIGNMENT) + h->data;
    bool ok = !file.failed && !h->keys.failed && !h->infos.failed && write_all(fd, &file) &&
              ftruncate(fd, (off_t)end) == 0;
    buf_free(&file);
    return ok;
}

int plan_header(const struct plan_shape *s, struct plan_mix mix, int *fd, char path[PLAN_PATH], struct err *err)
{
    struct header h = {0};
    put_sizes(&h, s);
    put_tokenizer(&h, s);
    put_tensors(&h, s, mix);
    *fd = memfd_create("shape.gguf", MFD_CLOEXEC);
    bool ok = *fd >= 0 && write_file(&h, *fd);
    buf_free(&h.keys);
    buf_free(&h.infos);
    snprintf(path, PLAN_PATH, "/proc/self/fd/%d", *fd);
    if (ok) return 0;
    err_set(err, -1, "no memory for the header of %s: %s", s->name, strerror(errno));
    if (*fd >= 0) close(*fd);
    *fd = -1;
    return -1;
}
