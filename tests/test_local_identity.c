/* Which engines may exchange KV pages: the identity differs wherever a page would, and nowhere else; names follow. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

static struct engine_name identity(struct engine_config cfg)
{
    struct err why = {0};
    cfg.ctx = 64;
    cfg.template = -1;
    if (!cfg.kern.threads) cfg.kern.threads = 2;
    struct engine *e = engine_local.open(&cfg, &why);
    CHECK_STR(why.text, "");
    struct engine_name name = engine_local.info(e)->identity;
    engine_local.close(e);
    return name;
}

static bool same_name(struct engine_name x, struct engine_name y) { return memcmp(&x, &y, sizeof x) == 0; }

/* A file that differs from the plain tiny one in one key. */
static const char *with_key(const char *key, float v, const char *name)
{
    struct tiny t = TINY_LLAMA;
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    if (key) gguf_make_f32(&m, key, v);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    return gguf_make_file(&m, name);
}

TEST(identity_differs_where_pages_do)
{
    struct tiny other = TINY_LLAMA, tied = TINY_LLAMA;
    char path[6][300];
    other.seed = 2;
    tied.tied = true;
    snprintf(path[0], sizeof path[0], "%s", with_key(NULL, 0, "plain.gguf"));
    snprintf(path[1], sizeof path[1], "%s", with_key("llama.rope.freq_base", 10001, "rope.gguf"));
    snprintf(path[2], sizeof path[2], "%s", tiny_file(&other, NULL, "other.gguf"));
    snprintf(path[3], sizeof path[3], "%s", tiny_file(&tied, NULL, "tied.gguf"));
    const struct engine_config cfg[] = {
        {.model = path[0], .kv_type = KT_F16, .kern.isa = "portable"},
        {.model = path[0], .kv_type = KT_F32, .kern.isa = "portable"},
        {.model = path[0], .kv_type = KT_F16, .backend = "ref"},
        {.model = path[0], .kv_type = KT_F16, .backend = "ref", .kern.round_activations = true},
        {.model = path[1], .kv_type = KT_F16, .kern.isa = "portable"},
        {.model = path[2], .kv_type = KT_F16, .kern.isa = "portable"},
        {.model = path[3], .kv_type = KT_F16, .kern.isa = "portable"},
        {.model = path[0], .kv_type = KT_F16, .kern.isa = "avx2"},
        {.model = path[0], .kv_type = KT_F16, .kern.isa = "avxvnni"},
        {.model = path[0], .kv_type = KT_F16, .kern.isa = "avx512"},
    };
    struct engine_name name[COUNT_OF(cfg)];
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(cfg); i++) {
        struct err why = {0};
        struct kdev *d = cfg[i].backend ? NULL : kern_cpu()->open(&cfg[i].kern, &why);
        if (!d && !cfg[i].backend) continue; /* this machine cannot */
        kern_cpu()->close(d);
        name[n] = identity(cfg[i]);
        for (size_t k = 0; k < n; k++) CHECK(!same_name(name[n], name[k]));
        n++;
    }
    CHECK(n >= 7);
}

TEST(identity_is_the_same_where_pages_are)
{
    char path[2][300];
    snprintf(path[0], sizeof path[0], "%s", with_key(NULL, 0, "plain.gguf"));
    snprintf(path[1], sizeof path[1], "%s", with_key(NULL, 0, "copy.gguf")); /* a name is no part of a model */
    struct engine_config cfg = {.model = path[0], .kv_type = KT_F16}, copy = cfg, sizes = cfg, one = cfg;
    copy.model = path[1];
    sizes.max_seqs = 5;
    sizes.max_rows = 33;
    sizes.pool_tokens = 999;
    sizes.overcommit = true;
    sizes.park_bytes = 1 << 16;
    one.kern.threads = 1;
    struct engine_name name = identity(cfg);
    CHECK(same_name(identity(copy), name) && same_name(identity(sizes), name) && same_name(identity(one), name));
}

static struct engine_name identity_of_file(const struct buf *file)
{
    return identity((struct engine_config){.model = gguf_make_write("bits.gguf", file->data, file->len),
                                           .kv_type = KT_F16, .kern.isa = "portable"});
}

static void poke(struct buf *file, size_t at, struct engine_name plain)
{
    file->data[at] ^= 1;
    CHECK(!same_name(identity_of_file(file), plain));
    file->data[at] ^= 1;
}

/* The smallest change: of some weights of every tensor, and of a setting that is in the file's head alone. */
TEST(identity_sees_every_tensor_and_the_head)
{
    struct tiny t = TINY_LLAMA;
    struct gguf_make m;
    struct err why = {0};
    uint32_t seed = 7;
    const float eps = 1e-5f;
    t.layers = 1;
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    struct buf file = gguf_make_bytes(&m);
    struct engine_name plain = identity_of_file(&file);
    struct gguf *g = gguf_open(gguf_make_write("bits.gguf", file.data, file.len), &why);
    CHECK_STR(why.text, "");
    for (uint64_t i = 0; i < gguf_n_tensors(g); i++) {
        const struct gguf_tensor *w = gguf_tensor_at(g, i);
        poke(&file, w->offset, plain);
        poke(&file, w->offset + w->bytes - 4, plain);
        for (int k = 0; k < 5; k++) poke(&file, w->offset + 4 * (size_t)tiny_below(&seed, (int)w->bytes / 4), plain);
    }
    gguf_close(g);
    const char *setting = memmem(file.data, file.len, &eps, sizeof eps);
    CHECK(setting != NULL);
    poke(&file, (size_t)(setting - file.data), plain);
    CHECK(same_name(identity_of_file(&file), plain));
    buf_free(&file);
}

/* Names are on disk: they must be what they were.  (The expected one is from another implementation of SipHash.) */
TEST(names_of_pages_depend_on_every_token_and_never_change)
{
    struct engine_name before = {{1, 2, 3}}, name, more;
    int32_t ids[KERN_PAGE];
    char hex[2 * sizeof name.byte + 1];
    for (int i = 0; i < KERN_PAGE; i++) ids[i] = i * i - 3;
    name = engine_page_name(before, ids);
    for (size_t i = 0; i < sizeof name.byte; i++) snprintf(hex + 2 * i, 3, "%02x", name.byte[i]);
    CHECK_STR(hex, "7c2058ae02cb228001aecef7fdc2dee4");
    for (int i = 0; i < 32 * KERN_PAGE; i++) {
        ids[i / 32] ^= (int32_t)(1u << i % 32);
        more = engine_page_name(before, ids);
        CHECK(!same_name(more, name));
        ids[i / 32] ^= (int32_t)(1u << i % 32);
    }
    for (int i = 0; i < 128; i++) {
        before.byte[i / 8] ^= (uint8_t)(1 << i % 8);
        more = engine_page_name(before, ids);
        CHECK(!same_name(more, name));
        before.byte[i / 8] ^= (uint8_t)(1 << i % 8);
    }
}

CHECK_MAIN
