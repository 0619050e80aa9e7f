/* Phi-3's files: tensors of which q, k, v, gate and up are rows, a window, and two sets of rope factors with a gain.
 * (tests/fixtures has models that were judged whole.) */
#include "engine/local.h"
#include "engine/model.h"
#include "kernels/cpu/pack.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <math.h>

enum { DIMS = 12, PAIRS = DIMS / 2, ORIGINAL = 64 }; /* heads of 16, of which so many dimensions rotate */

/* ---------------------------------------------------------------- files */

static const char original[] = "phi3.rope.scaling.original_context_length";

/* Which tensor of factors is there, how many it has, and its second one. */
struct factors {
    bool there;
    int n;
    float second;
    enum ktype type;
};

struct phi {
    struct tiny t;
    struct factors near, far;
    float gain;         /* 0: no such key */
    const char *key;    /* one more integer; or NULL */
    uint32_t value;
    const char *scaling;
};

static struct phi phi_of(enum ktype type)
{
    struct phi p = {.t = TINY_LLAMA, .gain = 1.25f};
    p.t.arch = "phi3";
    p.t.type = type;
    if (ktype_info(type)->block == 256) p.t.embd = p.t.ff = 256, p.t.heads = 16;
    p.near = (struct factors){true, PAIRS, 1.5f, KT_F32};
    p.far = (struct factors){true, PAIRS, 4, KT_F32};
    return p;
}

static void put_factors(struct gguf_make *m, const char *name, const struct factors *f)
{
    float all[KERN_HEAD_MAX] = {1, f->second};
    for (int i = 2; i < f->n; i++) all[i] = f->second * (float)i;
    if (f->there) gguf_make_tensor(m, name, f->type, 1, (int64_t[]){f->n}, all);
}

static const char *phi_file(const struct phi *p)
{
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, &p->t);
    gguf_make_u32(&m, "phi3.rope.dimension_count", DIMS);
    if (!p->key || strcmp(p->key, original) != 0) gguf_make_u32(&m, original, ORIGINAL);
    if (p->key) gguf_make_u32(&m, p->key, p->value);
    if (p->gain != 0) gguf_make_f32(&m, "phi3.rope.scaling.attn_factor", p->gain);
    if (p->scaling) gguf_make_str(&m, "phi3.rope.scaling.type", p->scaling);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &p->t);
    put_factors(&m, "rope_factors_long.weight", &p->far);
    put_factors(&m, "rope_factors_short.weight", &p->near);
    return gguf_make_file(&m, "phi.gguf");
}

static int plan(struct model *m, const struct phi *p, struct err *err)
{
    struct gguf *g = gguf_open(phi_file(p), err);
    CHECK(g);
    const int rc = model_plan(m, g, TINY_VOCAB, kern_ref(), err);
    gguf_close(g);
    return rc;
}

static void refuse(const struct phi *p, const char *why)
{
    struct model m;
    struct err err = {0};
    CHECK_EQ(plan(&m, p, &err), -1);
    if (!strstr(err.text, why)) CHECK_STR(why, err.text);
    model_free(&m);
}

/* ---------------------------------------------------------------- rows of fused tensors */

/* m is the tensor's rows from `first` on. */
static void check_rows(const struct gguf *g, const char *name, int layer, int first, const struct kern *k,
                       const struct kmat *m)
{
    char full[64];
    snprintf(full, sizeof full, "blk.%d.%s", layer, name);
    const struct gguf_tensor *t = gguf_tensor(g, full);
    const size_t group = pack_group_bytes(t->type, m->cols), row = group / 32;
    uint8_t *bytes = malloc(row);
    float *want = malloc((size_t)m->cols * sizeof *want), *have = malloc((size_t)m->cols * sizeof *have);
    CHECK(bytes && want && have && m->rows > 0);
    for (int r = 0; r < m->rows; r++) {
        CHECK_EQ(gguf_read(g, t, (uint64_t)(first + r) * row, bytes, row, NULL), 0);
        quant_decode(t->type, bytes, want, m->cols);
        const uint8_t *there = (const uint8_t *)m->dev_data + (size_t)(r / 32) * group;
        if (k == kern_cpu()) pack_row(m->type, m->cols, there, r % 32, have);
        else quant_decode(m->type, there + (size_t)(r % 32) * row, have, m->cols);
        CHECK_MEM(have, want, (size_t)m->cols * sizeof *want);
    }
    free(bytes), free(want), free(have);
}

static void note_progress(void *self, uint64_t done, uint64_t all)
{
    uint64_t *last = self;
    CHECK(done >= last[0] && done <= all);
    last[0] = done, last[1] = all;
}

static void check_load(const struct phi *p, const struct kern *k)
{
    struct model m;
    struct err err = {0};
    uint64_t told[2] = {0}, tensors = 0;
    struct gguf *g = gguf_open(phi_file(p), &err);
    CHECK_EQ(model_plan(&m, g, TINY_VOCAB, k, &err), 0);
    struct kdev *d = k->open(&(struct kern_config){.threads = 2}, &err);
    void *slab = k->take(d, m.bytes, &err);
    CHECK(d && slab);
    CHECK_EQ(model_load(&m, g, k, d, slab, note_progress, told, &err), 0);
    const int q = m.heads * m.head_dim, kv = m.kv_heads * m.head_dim;
    CHECK(m.heads == p->t.heads && m.kv_heads == 2 && q == p->t.embd);
    uint64_t numbers = 0;
    for (uint64_t i = 0; i < gguf_n_tensors(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        if (strncmp(t->name, "rope", 4) == 0) continue;
        numbers += (uint64_t)(t->dim[0] * t->dim[1]);
        tensors += t->bytes;
    }
    CHECK(m.parameters == numbers && told[0] == told[1] && told[1] == tensors);
    for (int i = 0; i < m.layers; i++) {
        const struct model_layer *l = &m.layer[i];
        CHECK(l->attn.q.rows == q && l->attn.k.rows == kv && l->attn.v.rows == kv && l->gate.rows == m.ff);
        check_rows(g, "attn_qkv.weight", i, 0, k, &l->attn.q);
        check_rows(g, "attn_qkv.weight", i, q, k, &l->attn.k);
        check_rows(g, "attn_qkv.weight", i, q + kv, k, &l->attn.v);
        check_rows(g, "ffn_up.weight", i, 0, k, &l->gate);
        check_rows(g, "ffn_up.weight", i, m.ff, k, &l->up);
        check_rows(g, "ffn_down.weight", i, 0, k, &l->down);
        check_rows(g, "attn_output.weight", i, 0, k, &l->wo);
    }
    k->give(d, slab, m.bytes);
    k->close(d);
    model_free(&m);
    gguf_close(g);
}

TEST(phi_q_k_v_gate_and_up_are_rows_of_the_files_tensors)
{
    static const enum ktype types[] = {KT_F32, KT_F16, KT_Q8_0, KT_Q5_1, KT_Q4_K, KT_Q6_K};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        const struct phi p = phi_of(types[i]);
        check_load(&p, kern_ref());
        check_load(&p, kern_cpu());
    }
}

TEST(phi_refuses_tensors_that_do_not_hold_what_they_should)
{
    struct phi p = phi_of(KT_F32);
    p.key = "phi3.attention.key_length", p.value = 20; /* q, k, v of 4 + 2 * 2 heads */
    refuse(&p, "tensor blk.0.attn_qkv.weight is 64 x 128 x 1 x 1; it must be 64 x 160");
    p = phi_of(KT_F32);
    p.t.arch = "llama";
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, &p.t);
    p.t.arch = "phi3";
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &p.t);
    struct err err = {0};
    struct model got;
    struct gguf *g = gguf_open(gguf_make_file(&m, "fused.gguf"), &err);
    CHECK_EQ(model_plan(&got, g, TINY_VOCAB, kern_ref(), &err), -1);
    CHECK(strstr(err.text, "tensor blk.0.attn_q.weight is missing"));
    model_free(&got);
    gguf_close(g);
}

/* ---------------------------------------------------------------- rotation */

static void check_freqs(const struct model *m, const struct factors *f)
{
    for (int i = 0; i < PAIRS; i++) {
        const double by = i == 0 ? 1 : i == 1 ? (double)f->second : (double)(f->second * (float)i);
        CHECK_NEAR(m->layer[1].attn.rope.inv_freq[i], pow(10000, -2.0 * i / DIMS) / by, 1e-12);
    }
}

TEST(phi_longrope_has_one_set_of_factors_up_to_the_original_context_and_another_above)
{
    const struct phi p = phi_of(KT_F32);
    struct model m;
    struct err err = {0};
    for (int ctx = ORIGINAL - 1; ctx <= ORIGINAL + 1; ctx++) {
        CHECK_EQ(plan(&m, &p, &err), 0);
        CHECK(m.rope.neox && m.rope.dims == DIMS && m.rope.gain == 1.25 && m.attn_scale == 0.25f);
        model_for_ctx(&m, ctx);
        check_freqs(&m, ctx > ORIGINAL ? &p.far : &p.near);
        CHECK(m.layer[1].attn.rope.gain == 1.25);
        model_free(&m);
    }
}

TEST(phi_without_factors_rotates_alike_in_all_contexts)
{
    struct phi p = phi_of(KT_F32);
    struct model m;
    struct err err = {0};
    p.near.there = p.far.there = false;
    p.gain = 0;
    p.t.window = 24;
    CHECK_EQ(plan(&m, &p, &err), 0);
    model_for_ctx(&m, 512);
    for (int i = 0; i < PAIRS; i++) CHECK_NEAR(m.rope.inv_freq[i], pow(10000, -2.0 * i / DIMS), 1e-12);
    CHECK(m.rope.gain == 1 && m.window == 24);
    model_free(&m);
}

TEST(phi_refuses_factors_that_are_not_whole_or_no_numbers)
{
    struct phi p = phi_of(KT_F32);
    p.near.there = false;
    refuse(&p, "tensor rope_factors_short.weight is missing");
    p = phi_of(KT_F32);
    p.far.there = false;
    refuse(&p, "tensor rope_factors_long.weight is missing");
    p = phi_of(KT_F32);
    p.far.n = PAIRS + 1;
    refuse(&p, "tensor rope_factors_long.weight is 7 x 1 x 1 x 1; it must be 6 x 1");
    p = phi_of(KT_F32);
    p.near.second = 0;
    refuse(&p, "rope_factors_short.weight[1] is 0; allowed is 1e-6 to 1e6");
    p.near.second = NAN;
    refuse(&p, "rope_factors_short.weight[1] is");
    p = phi_of(KT_F32);
    p.far.type = KT_F16;
    refuse(&p, "tensor rope_factors_long.weight has type F16; F32 is allowed");
    p = phi_of(KT_F32);
    p.gain = -1;
    refuse(&p, "phi3.rope.scaling.attn_factor is -1; allowed is 0.001 to 1000");
    p = phi_of(KT_F32);
    p.key = original, p.value = 0;
    refuse(&p, "original_context_length is 0");
    p = phi_of(KT_F32);
    p.scaling = "dynamic";
    refuse(&p, "is \"dynamic\"; none, linear, longrope and yarn are supported");
    p.scaling = "longrope";
    struct model m;
    struct err err = {0};
    CHECK_EQ(plan(&m, &p, &err), 0);
    model_free(&m);
}

/* Keys that are kept have the gain in them. */
TEST(phi_gain_is_part_of_what_a_model_is_known_by)
{
    const struct phi p = phi_of(KT_F32);
    const struct kern *k = kern_ref();
    struct sip128 digest[3];
    struct err err = {0};
    for (int i = 0; i < 3; i++) {
        struct model m;
        struct gguf *g = gguf_open(phi_file(&p), &err);
        CHECK_EQ(model_plan(&m, g, TINY_VOCAB, k, &err), 0);
        if (i) m.rope.gain = i;
        struct kdev *d = k->open(&(struct kern_config){.threads = 1}, &err);
        void *slab = k->take(d, m.bytes, &err);
        CHECK_EQ(model_load(&m, g, k, d, slab, NULL, NULL, &err), 0);
        digest[i] = m.digest;
        k->give(d, slab, m.bytes);
        k->close(d);
        model_free(&m);
        gguf_close(g);
    }
    for (int i = 0; i < 3; i++) CHECK(memcmp(&digest[i], &digest[(i + 1) % 3], sizeof digest[i]) != 0);
}

/* ---------------------------------------------------------------- in an engine */

static struct engine_name identity_at(const char *path, int ctx)
{
    struct err err = {0};
    struct engine_config cfg = {.model = path, .backend = "cpu", .template = -1, .kv_type = KT_F16, .ctx = ctx,
                                .max_seqs = 1};
    struct engine *e = engine_local.open(&cfg, &err);
    if (!e) CHECK_STR(err.text, "");
    const struct engine_name identity = engine_local.info(e)->identity;
    engine_local.close(e);
    return identity;
}

/* Kept pages of a short context are nothing to a long one: their keys were rotated otherwise. */
TEST(phi_pages_of_short_and_of_long_contexts_have_names_of_their_own)
{
    const struct phi p = phi_of(KT_F32);
    const char *path = phi_file(&p);
    static const int ctx[] = {48, 64, 80, 256};
    struct engine_name name[4];
    for (int i = 0; i < 4; i++) name[i] = identity_at(path, ctx[i]);
    CHECK_MEM(&name[0], &name[1], sizeof name[0]);
    CHECK_MEM(&name[2], &name[3], sizeof name[0]);
    CHECK(memcmp(&name[1], &name[2], sizeof name[0]) != 0);
}

CHECK_MAIN
