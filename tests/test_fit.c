/* The ledger's figures are what is taken, and what is said to fit does. */
#include "engine/engine.h"
#include "engine/fit.h"
#include "engine/hostmem.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

static const struct engine_ops *const ops = &engine_local;

static int window; /* of the attention of the model that is made; 0: none */

static const char *tiny_path(void)
{
    struct tiny t = TINY_LLAMA;
    t.type = KT_Q8_0;
    t.window = window;
    return tiny_file(&t, NULL, "fit.gguf");
}

static struct engine *open_under(uint64_t vram, bool fit, int ctx, int seqs, struct buf *fits, struct err *err)
{
    return ops->open(&(struct engine_config){.model = tiny_path(), .kern = {.threads = 1}, .kv_type = KT_F16,
                                             .max_rows = 128, .ctx = ctx, .max_seqs = seqs, .template = -1,
                                             .vram = vram, .fit = fit, .fits = fits},
                     err);
}

static void plan(struct fit *f, struct model *m, struct gguf **g)
{
    struct err err = {0};
    *g = gguf_open(tiny_path(), &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(model_plan(m, *g, TINY_VOCAB, kern_cpu(), &err), 0);
    static struct vocab *v; /* the same file each time */
    if (!v) v = vocab_open(*g, &err);
    *f = (struct fit){.m = m, .k = kern_cpu(), .kv_type = KT_F16, .max_rows = 128, .vocab = v,
                      .token_text = sched_token_text(v)};
}

TEST(fit_says_byte_for_byte_what_the_engine_takes)
{
    struct model m;
    struct gguf *g;
    struct fit f;
    struct ledger l;
    struct err err = {0};
    uint32_t seed = 5;
    plan(&f, &m, &g);
    for (int round = 0; round < 24; round++) {
        if (round == 12) {
            model_free(&m);
            gguf_close(g);
            window = 100;
            plan(&f, &m, &g);
        }
        int ctx = 1 + tiny_below(&seed, 700), seqs = round == 0 ? 150 : 1 + tiny_below(&seed, 20);
        struct engine *e = open_under(1 << 30, false, ctx, seqs, NULL, &err);
        CHECK_STR(err.text, "");
        const struct engine_info *i = ops->info(e);
        f.ceiling = 1 << 30;
        CHECK_EQ(fit_ledger(&f, m.bytes, ctx, seqs, &l, &err), 0);
        CHECK_MEM(&l, &i->ledger, sizeof l);
        CHECK_EQ(l.bytes[LEDGER_WEIGHTS], i->weight_bytes);
        CHECK(i->weight_bytes >= m.bytes && i->weight_bytes < m.bytes + (4 << 20));
        CHECK_EQ(l.bytes[LEDGER_KV], i->kv_bytes);
        CHECK_EQ(ledger_total(&l), i->weight_bytes + i->kv_bytes + i->work_bytes + l.bytes[LEDGER_TEXT] +
                                       l.bytes[LEDGER_PARK] + l.bytes[LEDGER_TABLES]);
        CHECK_EQ(i->kv_bytes, f.k->slab_bytes((uint64_t)seqs * i->kv_seq_tokens * i->kv_bytes_per_token));
        if (window && ctx > 400) CHECK(i->window == 100 && i->kv_seq_tokens <= 100 + 128 + 2 * KERN_PAGE);
        ops->close(e);
    }
    window = 0;
    model_free(&m);
    gguf_close(g);
}

/* The same memory holds a far longer context of a model with a window, and the table says so. */
TEST(fit_a_window_lets_the_context_grow)
{
    int ctx[2];
    for (int i = 0; i < 2; i++) {
        struct err err = {0};
        window = i ? 200 : 0;
        struct engine *e = open_under(12 << 20, true, 1 << 16, 4, NULL, &err);
        CHECK_STR(err.text, "");
        ctx[i] = ops->info(e)->ctx;
        ops->close(e);
    }
    window = 0;
    printf("  without a window %d tokens, with one of 200 %d\n", ctx[0], ctx[1]);
    CHECK(ctx[1] > ctx[0] * 5 / 4);
}

TEST(fit_finds_the_largest_context_and_the_engine_opens_with_it)
{
    struct model m;
    struct gguf *g;
    struct fit f;
    struct ledger l;
    struct err err = {0};
    uint32_t seed = 6;
    plan(&f, &m, &g);
    for (int round = 0; round < 30; round++) {
        int seqs = 1 + tiny_below(&seed, 6), most = 16 + tiny_below(&seed, 2000);
        f.ceiling = m.bytes + (uint64_t)tiny_below(&seed, 6 << 20);
        int ctx = fit_ctx(&f, m.bytes, seqs, most);
        CHECK(ctx >= 0 && ctx <= most && (ctx == most || ctx % KERN_PAGE == 0));
        if (ctx > 0) {
            CHECK_EQ(fit_ledger(&f, m.bytes, ctx, seqs, &l, &err), 0);
            CHECK(ledger_total(&l) <= f.ceiling);
        }
        int next = MIN(ctx + KERN_PAGE, most);
        if (next > ctx) {
            CHECK_EQ(fit_ledger(&f, m.bytes, next, seqs, &l, &err), 0);
            CHECK(ledger_total(&l) > f.ceiling);
        }
        struct engine *e = open_under(f.ceiling, true, most, seqs, NULL, &err);
        CHECK_EQ(e != NULL, ctx > 0);
        if (e) CHECK_EQ(ops->info(e)->ctx, ctx);
        if (!e) CHECK_EQ(err.code, ENGINE_NEVER_FITS);
        if (e) ops->close(e);
        err = (struct err){0};
    }
    model_free(&m);
    gguf_close(g);
}

TEST(fit_refuses_with_figures_and_a_table)
{
    struct buf fits = {0};
    struct err err = {0};
    CHECK(!open_under(200 << 10, false, 4096, 4, &fits, &err));
    CHECK_EQ(err.code, ENGINE_NEVER_FITS);
    CHECK(strstr(err.text, "--vram allows 0.2 MiB") && strstr(err.text, "KV pool") && !strchr(err.text, '\n'));
    CHECK(strstr(fits.data, "what fits in 0.2 MiB") && strstr(fits.data, "as in the file"));
    CHECK(strstr(fits.data, "F16") && strstr(fits.data, "Q8_0"));
    buf_free(&fits);
    err = (struct err){0};
    CHECK(!open_under(1, true, 4096, 1, &fits, &err)); /* --fit makes contexts smaller, not weights */
    CHECK_EQ(err.code, ENGINE_NEVER_FITS);
    buf_free(&fits);
}

TEST(fit_the_ceiling_is_never_above_what_the_machine_has)
{
    struct err err = {0};
    struct engine_config cfg = {.model = tiny_path(), .kv_type = KT_F16, .template = -1, .vram = (uint64_t)1 << 60,
                                .pool_tokens = 1 << 30};
    uint64_t have = hostmem_available();
    CHECK(!ops->open(&cfg, &err));
    CHECK_EQ(err.code, ENGINE_NEVER_FITS);
    CHECK(strstr(err.text, "the machine has"));
    struct engine *e = open_under(0, false, 64, 1, NULL, &err); /* not named: half of it, give or take what others do */
    uint64_t ceiling = ops->info(e)->ledger.ceiling;
    CHECK(ceiling > have / 4 && ceiling < have / 4 * 3);
    ops->close(e);
}

TEST(fit_leaves_room_for_the_pages_of_the_parked)
{
    struct err err = {0};
    struct engine_config cfg = {.model = tiny_path(), .kern = {.threads = 1}, .kv_type = KT_F16, .max_rows = 128,
                                .ctx = 1 << 16, .max_seqs = 2, .template = -1, .vram = 12 << 20, .fit = true};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    int ctx = ops->info(e)->ctx;
    ops->close(e);
    cfg.park_bytes = 2 << 20;
    e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    CHECK(ops->info(e)->ctx < ctx);
    CHECK_EQ(ops->info(e)->ledger.bytes[LEDGER_PARK], 2 << 20);
    ops->close(e);
}

TEST(fit_the_machine_is_ours_others_and_free_to_the_byte)
{
    struct err err = {0};
    struct engine_memory m;
    struct engine *e = open_under(0, false, 64, 1, NULL, &err);
    ops->memory(e, &m);
    CHECK(m.total > 0 && m.free > 0 && m.free <= m.total);
    CHECK_EQ(m.ours, ledger_total(&ops->info(e)->ledger));
    CHECK_EQ((int64_t)m.total, (int64_t)(m.ours + m.context + m.free) + m.outside);
    ops->close(e);
}

TEST(fit_weights_in_the_type_of_the_file_are_the_files)
{
    struct model m;
    struct gguf *g;
    struct fit f;
    plan(&f, &m, &g);
    CHECK_EQ(model_bytes_as(&m, f.k, KT_Q8_0), m.bytes);
    CHECK(model_bytes_as(&m, f.k, KT_F16) > m.bytes);
    CHECK_EQ(model_bytes_as(&m, f.k, KT_Q4_K), m.bytes); /* no matrix has a whole number of its blocks in a row */
    model_free(&m);
    gguf_close(g);
}

TEST(ledger_sums_do_not_wrap)
{
    struct ledger l = {.bytes = {UINT64_MAX, 1}};
    CHECK(ledger_total(&l) == UINT64_MAX);
    l.bytes[LEDGER_WEIGHTS] = 5;
    CHECK_EQ(ledger_total(&l), 6);
}

CHECK_MAIN
