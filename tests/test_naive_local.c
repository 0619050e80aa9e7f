/* The policies that fail, with a real model on both backends: given memory enough each says the same to the bit as the
 * sound one; without, the request that asked dies with exact figures, and the next is served. */
#include "engine/engine.h"
#include "engine/forward.h"
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { SEQS = 4, REQUESTS = 7, MOST = 90, NEW = 12, CTX = 128, OPS = 4096 };

static const struct engine_ops *const ops = &engine_local;
static const uint64_t plenty = 64 << 20;

struct said { /* to the bit */
    float prompt_logprob[MOST];
    struct engine_token token[NEW];
    struct engine_top top[NEW];
};

static int32_t prompt[REQUESTS][MOST];
static int n_prompt[REQUESTS];

static const char *model_of(enum ktype type)
{
    struct tiny t = TINY_LLAMA;
    t.type = type;
    t.arch = type == KT_Q8_0 ? "qwen2" : "llama"; /* with biases; without */
    t.tied = type == KT_F16;
    return tiny_file(&t, NULL, "naive.gguf");
}

static void make_prompts(uint32_t seed)
{
    for (int i = 0; i < REQUESTS; i++) {
        n_prompt[i] = i == 0 ? 1 : i == 1 ? MOST : 1 + tiny_below(&seed, MOST);
        for (int k = 0; k < n_prompt[i]; k++) prompt[i][k] = TINY_BYTE0 + tiny_below(&seed, 256);
        if (i > 4) memcpy(prompt[i], prompt[1], (size_t)n_prompt[i] * sizeof(int32_t)); /* fronts, for the sound one */
    }
}

static struct engine *open_engine(struct engine_config cfg, struct err *err)
{
    cfg.kern.threads = 2;
    cfg.max_rows = 24;
    cfg.ctx = CTX;
    cfg.max_seqs = SEQS;
    cfg.template = -1;
    if (!cfg.vram) cfg.vram = plenty;
    return ops->open(&cfg, err);
}

static void sound(struct engine *e)
{
    struct err err = {0};
    if (sched_check(e->sched, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
}

static int submit(struct engine *e, int i)
{
    int id;
    struct err err = {0};
    struct request r = {.ids = prompt[i], .n_ids = n_prompt[i], .max_tokens = NEW, .top_n = KERN_TOP,
                        .ignore_end = true,
                        .score = i == 2 || i == 3, /* these want an out for each row */
                        .sampling = {.temp = i % 2 ? 0.9f : 0, .top_p = 0.95f, .repeat = 1.1f, .recent = 8,
                                     .seed = (uint64_t)i}};
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    return id;
}

static void run(struct engine *e)
{
    struct engine_event ev[64];
    struct err err = {0};
    while (ops->step(e, ev, 64, &err) > 0) sound(e);
    CHECK_STR(err.text, "");
}

static enum engine_end end_of(struct engine *e, int id)
{
    return (enum engine_end)atomic_load(&ops->answer(e, id)->end);
}

static struct engine_snapshot figures(struct engine *e)
{
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    return s;
}

static void take(struct engine *e, int id, struct said *out)
{
    const struct answer *a = ops->answer(e, id);
    CHECK_EQ(atomic_load(&a->n_tokens), NEW);
    memset(out, 0, sizeof *out);
    if (a->prompt_logprob) memcpy(out->prompt_logprob, a->prompt_logprob, (size_t)a->n_prompt * sizeof(float));
    memcpy(out->token, a->token, sizeof out->token);
    memcpy(out->top, a->top, sizeof out->top);
}

/* All prompts, some coming while others run; in the end nobody died and the policy is still the one that was chosen. */
static void say_all(struct engine_config cfg, struct said out[REQUESTS])
{
    struct err err = {0};
    struct engine_event ev[64];
    int id[REQUESTS];
    struct engine *e = open_engine(cfg, &err);
    CHECK_STR(err.text, "");
    for (int i = 0; i < REQUESTS; i++) {
        id[i] = submit(e, i);
        for (int k = 0; k < i % 3; k++) ops->step(e, ev, 64, &err);
    }
    run(e);
    for (int i = 0; i < REQUESTS; i++) take(e, id[i], &out[i]);
    CHECK(figures(e).naive_policy == (uint64_t)cfg.naive && figures(e).naive_failures == 0);
    ops->close(e);
}

static struct said sound_says[REQUESTS], naive_says[REQUESTS];

static void say_both(enum naive_policy policy, struct engine_config cfg)
{
    cfg.kv_type = KT_F16;
    make_prompts(5);
    say_all(cfg, sound_says);
    cfg.naive = policy;
    say_all(cfg, naive_says);
}

static void check_says_the_same(enum naive_policy policy, enum ktype type)
{
    static const char *const backend[] = {"ref", "cpu"};
    for (size_t b = CHECK_TSAN; b < COUNT_OF(backend); b++) { /* the reference has no threads */
        say_both(policy, (struct engine_config){.model = model_of(type), .backend = backend[b]});
        CHECK_MEM(sound_says, naive_says, sizeof sound_says);
    }
}

TEST(naive_reserve_says_the_same) { check_says_the_same(NAIVE_RESERVE, KT_Q8_0); }
TEST(naive_no_limit_says_the_same) { check_says_the_same(NAIVE_NO_LIMIT, KT_Q8_0); }
TEST(naive_first_fit_says_the_same) { check_says_the_same(NAIVE_FIRST_FIT, KT_Q8_0); }
TEST(naive_reload_says_the_same) { check_says_the_same(NAIVE_RELOAD, KT_Q8_0); }
TEST(naive_reload_rotates_as_the_context_asks)
{
    say_both(NAIVE_RELOAD, (struct engine_config){.model = "tests/fixtures/phi3-long.gguf", .backend = "cpu"});
    CHECK_MEM(sound_says, naive_says, sizeof sound_says);
}
TEST(naive_reload_has_granite_s_factors)
{
    say_both(NAIVE_RELOAD, (struct engine_config){.model = "tests/fixtures/granite.gguf", .backend = "cpu"});
    CHECK_MEM(sound_says, naive_says, sizeof sound_says);
}
TEST(naive_reload_norms_late)
{
    say_both(NAIVE_RELOAD, (struct engine_config){.model = "tests/fixtures/olmo3.gguf", .backend = "cpu"});
    CHECK_MEM(sound_says, naive_says, sizeof sound_says);
}
TEST(naive_reload_tempers_q)
{
    say_both(NAIVE_RELOAD, (struct engine_config){.model = "tests/fixtures/mistral3.gguf", .backend = "cpu"});
    CHECK_MEM(sound_says, naive_says, sizeof sound_says);
}
TEST(naive_whole_batch_says_the_same) { check_says_the_same(NAIVE_WHOLE_BATCH, KT_Q8_0); }
TEST(naive_f32_of_f32_says_the_same) { check_says_the_same(NAIVE_F32, KT_F32); }
TEST(naive_f32_of_f16_says_the_same) { check_says_the_same(NAIVE_F32, KT_F16); }

TEST(naive_f32_of_q8_0_says_the_same_where_activations_are_not_rounded)
{
    say_both(NAIVE_F32, (struct engine_config){.model = model_of(KT_Q8_0), .backend = "ref"});
    CHECK_MEM(sound_says, naive_says, sizeof sound_says);
}

/* Where they are: other logits, by as much as 8 bits round. */
static void check_says_nearly_the_same(struct engine_config cfg)
{
    double most = 0;
    cfg.model = model_of(KT_Q8_0);
    say_both(NAIVE_F32, cfg);
    for (int i = 2; i < 4; i++)
        for (int k = 1; k < n_prompt[i]; k++)
            most = MAX(most, fabs((double)sound_says[i].prompt_logprob[k] - (double)naive_says[i].prompt_logprob[k]));
    CHECK(most > 1e-5 && most < 0.1);
}

TEST(naive_f32_of_q8_0_says_nearly_the_same_where_activations_are_rounded)
{
    check_says_nearly_the_same((struct engine_config){.backend = "cpu"});
    check_says_nearly_the_same((struct engine_config){.backend = "ref", .kern.round_activations = true});
}

TEST(naive_no_limit_has_the_pool_that_the_ceiling_leaves)
{
    struct err err = {0};
    struct engine_config cfg = {.model = model_of(KT_F16), .backend = "cpu", .kv_type = KT_F16, .ctx = 1 << 16,
                                .max_seqs = 1, .template = -1, .naive = NAIVE_NO_LIMIT, .vram = 1 << 30};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    uint64_t all = ledger_total(&ops->info(e)->ledger), kv = ops->info(e)->kv_bytes;
    CHECK_EQ(figures(e).pool_tokens, 1 << 16);
    ops->close(e);
    cfg.vram = all - kv / 2;
    e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    const struct engine_info *i = ops->info(e);
    CHECK(i->ctx == 1 << 16 && i->kv_bytes <= kv / 2 && i->kv_bytes > kv / 4);
    CHECK_EQ(figures(e).pool_tokens, figures(e).kv_bytes / i->kv_bytes_per_token / KERN_PAGE * KERN_PAGE);
    CHECK(ledger_total(&i->ledger) <= cfg.vram && i->ledger.bytes[LEDGER_KV] == i->kv_bytes);
    ops->close(e);
    cfg.naive = NAIVE_NONE; /* what promises has to have it */
    CHECK(!ops->open(&cfg, &err) && err.code == ENGINE_NEVER_FITS);
    cfg.naive = NAIVE_NO_LIMIT; /* nor is there one without a page */
    cfg.vram = 1 << 20;
    CHECK(!ops->open(&cfg, &err) && err.code == ENGINE_NEVER_FITS);
}

/* ------------------------------------------------------------------ a backend that counts */

/* The CPU backend, and what the engine has of it. */
static struct {
    struct kern k;
    struct { char *at; size_t bytes; } slab[16];
    int slabs, at_open, rows, deny; /* rows: of the widest pass; deny: refuse the next take */
    uint64_t bytes, most, elsewhere; /* passes whose weights or rows lie in a slab taken after open */
    uint64_t of_engine;              /* weights that a step read and that lie in no such slab */
} back;

static void *count_take(struct kdev *d, size_t bytes, struct err *err)
{
    if (back.deny) {
        err_set(err, -1, "denied");
        return NULL;
    }
    void *p = kern_cpu()->take(d, bytes, err);
    CHECK(p && back.slabs < (int)COUNT_OF(back.slab));
    back.slab[back.slabs].at = p;
    back.slab[back.slabs++].bytes = bytes;
    back.bytes += kern_cpu()->slab_bytes(bytes);
    back.most = MAX(back.most, back.bytes);
    return p;
}

static void count_give(struct kdev *d, void *p, size_t bytes)
{
    int i = 0;
    while (i < back.slabs && back.slab[i].at != p) i++;
    CHECK(i < back.slabs && back.slab[i].bytes == bytes);
    for (back.slabs--; i < back.slabs; i++) back.slab[i] = back.slab[i + 1];
    back.bytes -= kern_cpu()->slab_bytes(bytes);
    kern_cpu()->give(d, p, bytes);
}

static bool is_own(const void *p)
{
    for (int i = back.at_open; i < back.slabs; i++)
        if ((const char *)p >= back.slab[i].at && (const char *)p < back.slab[i].at + back.slab[i].bytes) return true;
    return false;
}

static int count_embed(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kmat *table,
                       float scale, float *x, struct err *err)
{
    back.rows = MAX(back.rows, b->rows);
    back.elsewhere += is_own(table->dev_data) || is_own(x);
    return kern_cpu()->embed(d, st, b, table, scale, x, err);
}

static void see(const void *weights) { back.of_engine += weights && !is_own(weights); }

static int count_attn_in(struct kdev *d, struct kstream *st, const struct kern_batch *b, const struct kern_attn_in *w,
                         const struct kern_group *g, int group, int layer, const float *x, float *q, void *work,
                         struct err *err)
{
    const void *read[] = {w->q.dev_data, w->k.dev_data, w->v.dev_data, w->dev_norm, w->dev_bq, w->dev_bk, w->dev_bv};
    for (size_t i = 0; i < COUNT_OF(read); i++) see(read[i]);
    return kern_cpu()->attn_in(d, st, b, w, g, group, layer, x, q, work, err);
}

static int count_project(struct kdev *d, struct kstream *st, int rows, const struct kmat *w, const float *bias,
                         const float *post, float eps, const float *y, float *x, void *work, struct err *err)
{
    see(w->dev_data);
    see(bias);
    see(post);
    return kern_cpu()->project(d, st, rows, w, bias, post, eps, y, x, work, err);
}

static int count_ffn(struct kdev *d, struct kstream *st, int rows, const struct kern_ffn *w, float *x, void *work,
                     struct err *err)
{
    const void *read[] = {w->dev_norm, w->gate.dev_data, w->up.dev_data, w->down.dev_data, w->dev_post};
    for (size_t i = 0; i < COUNT_OF(read); i++) see(read[i]);
    return kern_cpu()->ffn(d, st, rows, w, x, work, err);
}

static int count_output(struct kdev *d, struct kstream *st, const struct kern_batch *b, const float *norm, float eps,
                        const struct kmat *w, float softcap, const float *x, float *logits, void *work, struct err *err)
{
    see(norm);
    see(w->dev_data);
    return kern_cpu()->output(d, st, b, norm, eps, w, softcap, x, logits, work, err);
}

static struct engine *open_counted(enum naive_policy policy, enum ktype type, uint64_t vram)
{
    struct err err = {0};
    memset(&back, 0, sizeof back);
    back.k = *kern_cpu();
    back.k.take = count_take;
    back.k.give = count_give;
    back.k.embed = count_embed;
    back.k.attn_in = count_attn_in;
    back.k.project = count_project;
    back.k.ffn = count_ffn;
    back.k.output = count_output;
    struct engine *e = open_engine((struct engine_config){.model = model_of(type), .kernels = &back.k, .vram = vram,
                                                          .kv_type = KT_F16, .naive = policy}, &err);
    CHECK_STR(err.text, "");
    back.at_open = back.slabs;
    make_prompts(5);
    return e;
}

static void close_counted(struct engine *e)
{
    ops->close(e);
    CHECK(back.slabs == 0 && back.bytes == 0);
}

static uint64_t total_of(struct engine *e) { return ledger_total(&ops->info(e)->ledger); }

/* What it takes at open. */
static uint64_t total_with(enum naive_policy policy, enum ktype type)
{
    struct engine *e = open_counted(policy, type, 0);
    uint64_t total = total_of(e);
    CHECK_EQ(back.bytes, ops->info(e)->weight_bytes + ops->info(e)->kv_bytes + ops->info(e)->work_bytes);
    close_counted(e);
    return total;
}

/* Take and give, replayed: the level of the ceiling, and what each request has; the last failure is the answer's. */
static void check_trace(struct engine *e, uint64_t level, int fails, const struct engine_oom *o)
{
    static struct naive_op op[OPS];
    uint64_t has[64] = {0}, base = level;
    int n = ops->naive_ops(e, 0, op, OPS);
    for (int i = 0; i < n; i++) {
        CHECK(op[i].id > 0 && op[i].id < 64 && op[i].what == o->what);
        if (op[i].kind == NAIVE_GIVE) level -= op[i].bytes;
        CHECK_EQ(op[i].at, level);
        if (op[i].kind == NAIVE_TAKE) level += has[op[i].id] = op[i].bytes;
        if (op[i].kind == NAIVE_GIVE) CHECK_EQ(has[op[i].id], op[i].bytes);
        if (op[i].kind == NAIVE_GIVE) has[op[i].id] = 0;
        if (op[i].kind != NAIVE_FAIL) continue;
        fails--;
        CHECK(op[i].id == o->id && op[i].bytes == o->wanted && level == o->at && o->at + o->wanted > o->size);
        CHECK(o->free == o->size - level && o->hole == o->free && o->hole_at == level);
        for (int k = 0; k < MIN(o->owners, OOM_OWNERS); k++) {
            uint64_t bytes = o->owner[k].id ? has[o->owner[k].id] : ops->info(e)->ledger.bytes[o->owner[k].what];
            CHECK_EQ(o->owner[k].bytes, bytes);
            CHECK(k == 0 || o->owner[k].bytes <= o->owner[k - 1].bytes);
        }
    }
    CHECK(fails == 0 && level == base); /* it balances */
}

/* The next requests are served by the sound policy: their pages are shared, and nothing is taken for them. */
static void check_sound_again(struct engine *e, enum ktype type)
{
    static struct said now;
    CHECK_EQ(figures(e).naive_policy, NAIVE_NONE);
    CHECK_EQ(back.slabs, back.at_open);
    back.rows = 0;
    back.elsewhere = 0;
    say_all((struct engine_config){.model = model_of(type), .kv_type = KT_F16}, sound_says);
    for (int i = 0; i < REQUESTS; i++) {
        int id = submit(e, i);
        run(e);
        take(e, id, &now);
        CHECK_MEM(&now, &sound_says[i], sizeof now);
    }
    CHECK(back.elsewhere == 0 && back.rows > 1 && back.rows <= 24 && back.slabs == back.at_open);
    CHECK_EQ(figures(e).naive_failures, 1);
}

/* ------------------------------------------------------------------ failures */

TEST(naive_f32_that_does_not_fit_kills_the_first_request_and_the_files_weights_serve_the_next)
{
    uint64_t total = total_with(NAIVE_F32, KT_Q8_0);
    struct engine *e = open_counted(NAIVE_F32, KT_Q8_0, total);
    uint64_t floats = ops->info(e)->weight_bytes;
    CHECK_EQ(figures(e).naive_reserved, total);
    close_counted(e);
    e = open_counted(NAIVE_F32, KT_Q8_0, total - 1);
    CHECK(ops->info(e)->weight_bytes < floats && total_of(e) < total - 1);
    int one = submit(e, 0), two = submit(e, 1);
    run(e);
    CHECK(end_of(e, one) == END_OOM && end_of(e, two) == END_LENGTH);
    const struct engine_oom *o = &ops->answer(e, one)->oom;
    uint64_t owned = 0;
    for (int i = 0; i < o->owners; i++) owned += o->owner[i].bytes;
    CHECK(o->policy == NAIVE_F32 && o->what == LEDGER_WEIGHTS && o->id == one && o->wanted == floats);
    CHECK(o->at == total - floats && o->size == total - 1 && o->free == floats - 1 && owned == o->at);
    check_trace(e, o->at, 1, o);
    check_sound_again(e, KT_Q8_0);
    close_counted(e);
}

TEST(naive_reload_takes_the_weights_again_for_each_request_and_fails_at_the_ceiling)
{
    uint64_t total = total_with(NAIVE_RELOAD, KT_Q8_0);
    struct engine *e = open_counted(NAIVE_RELOAD, KT_Q8_0, plenty);
    uint64_t weights = ops->info(e)->weight_bytes;
    struct engine_event ev[64];
    close_counted(e);
    e = open_counted(NAIVE_RELOAD, KT_Q8_0, total + 3 * weights - 1);
    int id[4];
    for (int i = 0; i < 4; i++) id[i] = submit(e, i);
    ops->step(e, ev, 64, NULL);
    sound(e);
    struct engine_snapshot s = figures(e);
    CHECK(s.naive_allocated == 2 * weights && s.naive_reserved == total + 2 * weights && s.naive_hole == weights - 1);
    CHECK(s.running == 2 && s.waiting == 1 && s.naive_policy == NAIVE_RELOAD && s.naive_failures == 1);
    CHECK(end_of(e, id[2]) == END_OOM && end_of(e, id[3]) == END_NONE && back.slabs == back.at_open + 2);
    while (figures(e).naive_policy) ops->step(e, ev, 64, NULL);
    CHECK(back.of_engine == 0 && back.elsewhere > NEW); /* nothing was computed with the engine's weights */
    run(e);
    CHECK(end_of(e, id[0]) == END_LENGTH && end_of(e, id[1]) == END_LENGTH && end_of(e, id[3]) == END_LENGTH);
    CHECK(back.of_engine > 0 && back.most <= total + 2 * weights);
    const struct engine_oom *o = &ops->answer(e, id[2])->oom;
    CHECK(o->policy == NAIVE_RELOAD && o->what == LEDGER_WEIGHTS && o->id == id[2] && o->wanted == weights);
    CHECK(o->size == total + 3 * weights - 1 && o->at == total + 2 * weights && o->free == weights - 1);
    int named = 0;
    for (int i = 0; i < OOM_OWNERS; i++)
        named += o->owner[i].what == LEDGER_WEIGHTS && o->owner[i].bytes == weights &&
                 (o->owner[i].id == 0 || o->owner[i].id == id[0] || o->owner[i].id == id[1]);
    CHECK_EQ(named, 3); /* the engine's own and two copies */
    check_trace(e, total, 1, o);
    check_sound_again(e, KT_Q8_0);
    close_counted(e);
}

TEST(naive_reload_fails_the_same_way_where_the_backend_has_less_than_the_ceiling)
{
    struct engine *e = open_counted(NAIVE_RELOAD, KT_Q8_0, plenty);
    back.deny = 1;
    int one = submit(e, 1), two = submit(e, 1);
    run(e);
    CHECK(end_of(e, one) == END_OOM && end_of(e, two) == END_LENGTH);
    CHECK(strstr(ops->answer(e, one)->fault, "wanted") && strstr(ops->answer(e, one)->fault, "denied"));
    back.deny = 0;
    check_sound_again(e, KT_Q8_0);
    close_counted(e);
}

TEST(naive_memory_of_ones_own_goes_back_with_a_cancel_and_a_close)
{
    static const enum naive_policy policy[] = {NAIVE_RELOAD, NAIVE_WHOLE_BATCH};
    struct engine_event ev[64];
    for (size_t i = 0; i < COUNT_OF(policy); i++) {
        struct engine *e = open_counted(policy[i], KT_F16, plenty);
        int one = submit(e, 1);
        submit(e, 2);
        ops->step(e, ev, 64, NULL);
        CHECK_EQ(back.slabs, back.at_open + 2);
        ops->cancel(e, one);
        sound(e);
        CHECK_EQ(back.slabs, back.at_open + 1);
        close_counted(e);
    }
}

static uint64_t work_of_rows(int rows)
{
    struct model m;
    struct forward f;
    struct err err = {0};
    struct gguf *g = gguf_open(model_of(KT_Q8_0), &err);
    CHECK_EQ(model_plan(&m, g, TINY_VOCAB, kern_cpu(), &err), 0);
    CHECK_EQ(forward_plan(&f, &m, kern_cpu(), CTX, SEQS, rows, 16, SEQS * CTX / KERN_PAGE, KT_F16, &err), 0);
    model_free(&m);
    gguf_close(g);
    return kern_cpu()->slab_bytes(f.work_bytes);
}

TEST(naive_whole_batch_takes_a_workspace_for_the_prompt_and_fails_at_the_ceiling)
{
    uint64_t total = total_with(NAIVE_WHOLE_BATCH, KT_Q8_0), need = work_of_rows(MOST), little = work_of_rows(1);
    struct engine *e = open_counted(NAIVE_WHOLE_BATCH, KT_Q8_0, total + need);
    int one = submit(e, 1);
    run(e);
    CHECK(end_of(e, one) == END_LENGTH && back.rows == MOST && back.elsewhere == 1); /* the prompt was one pass */
    CHECK_EQ(figures(e).passes, NEW); /* it chose the first token too */
    close_counted(e);
    e = open_counted(NAIVE_WHOLE_BATCH, KT_Q8_0, total + need + little - 1);
    one = submit(e, 0);
    int two = submit(e, 1), three = submit(e, 4);
    run(e);
    CHECK(end_of(e, one) == END_LENGTH && end_of(e, two) == END_OOM && end_of(e, three) == END_LENGTH);
    const struct engine_oom *o = &ops->answer(e, two)->oom;
    CHECK(o->policy == NAIVE_WHOLE_BATCH && o->what == LEDGER_ACTIVATIONS && o->id == two && o->wanted == need);
    CHECK(o->size == total + need + little - 1 && o->at == total + little && o->free == need - 1);
    check_trace(e, total, 1, o);
    check_sound_again(e, KT_Q8_0);
    close_counted(e);
}

CHECK_MAIN
