/* What was planned is what the engine then takes; what is said to fit does, and one more does not; shapes are their
 * models; the usual formula is reckoned as it is told. */
#include "app/models.h"
#include "engine/sched.h"
#include "engine/vocab.h"
#include "tests/kern_shim.h"
#include "tests/plan_rig.h"
#include <sys/stat.h>
#include <unistd.h>

static struct plan_ask ask_for(const char *model, int ctx, int agents, uint64_t vram)
{
    return (struct plan_ask){.engine = {.model = model, .backend = "cpu", .kern = {.threads = 1}, .ctx = ctx,
                                        .max_seqs = agents, .template = -1, .kv_type = KT_F16, .vram = vram}};
}

static struct plan plan_of(const struct plan_ask *ask)
{
    struct plan p;
    struct err err = {0};
    int rc = plan_make(ask, &p, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(rc, 0);
    return p;
}

/* ------------------------------------------------------------------ beside the engine */

static void compare(const struct kern *real, const char *backend, int rounds, uint32_t seed)
{
    int opened = 0, refused = 0;
    for (int m = 0; m < plan_models(); m++) {
        for (int round = 0; round < rounds; round++) {
            struct engine_config cfg = plan_options(&seed);
            struct plan p;
            cfg.model = plan_model[m];
            cfg.backend = backend;
            cfg.kernels = shim_kern(real);
            shim = (struct shim){0};
            struct engine *e = plan_and_open(&cfg, &p);
            opened += e != NULL;
            refused += e == NULL;
            if (e) CHECK_EQ(shim.taken, plan_device_bytes(&p));
            if (e) engine_local.close(e);
            CHECK_EQ(shim.taken, 0);
        }
    }
    printf("  %d opened, %d refused as foretold\n", opened, refused);
    CHECK(opened > refused && refused > 0);
}

TEST(plan_says_byte_for_byte_what_the_cpu_takes) { compare(kern_cpu(), "cpu", CHECK_SANITIZED ? 8 : 24, 5); }
TEST(plan_says_byte_for_byte_what_ref_takes) { compare(kern_ref(), "ref", CHECK_SANITIZED ? 8 : 24, 6); }

/* The rows of other types, and of other numbers, are not of the engine's one plan: they are asked of it anew. */
TEST(plan_rows_are_what_the_engine_takes_then)
{
    for (int m = 0; m < plan_models(); m += 3) {
        struct plan_ask ask = ask_for(plan_model[m], 200, 3, 0);
        struct plan p = plan_of(&ask), q;
        CHECK_EQ(p.row[0].needs, p.needs);
        CHECK_EQ(p.row[0].weights, p.ledger.bytes[LEDGER_WEIGHTS]);
        ask.engine.kv_type = KT_Q8_0;
        if (strcmp(p.row[1].name, "KV in Q8_0") == 0) {
            struct engine *e = plan_and_open(&ask.engine, &q);
            CHECK(e);
            CHECK_EQ(p.row[1].needs, q.needs);
            engine_local.close(e);
        } else CHECK(p.head_dim % 32 != 0);
    }
}

static bool opens(struct engine_config cfg, uint64_t vram)
{
    struct err err = {0};
    cfg.vram = vram;
    struct engine *e = engine_local.open(&cfg, &err);
    if (!e) CHECK_EQ(err.code, ENGINE_NEVER_FITS);
    if (e) engine_local.close(e);
    return e != NULL;
}

TEST(plan_largest_context_and_most_agents_open_and_one_more_does_not)
{
    uint32_t seed = 9;
    int memory = 0;
    for (int round = 0; round < (CHECK_SANITIZED ? 12 : 40); round++) {
        const char *model = plan_model[tiny_below(&seed, plan_models())];
        int ctx = 64 + tiny_below(&seed, 400), agents = 1 + tiny_below(&seed, 12);
        struct plan_ask ask = ask_for(model, ctx, agents, 1 << 30);
        struct plan p = plan_of(&ask);
        ask.engine.vram = p.least + (p.needs - p.least) * (uint64_t)tiny_below(&seed, 130) / 100;
        p = plan_of(&ask);
        struct engine_config cfg = ask.engine;
        CHECK_EQ(p.fits, opens(cfg, cfg.vram));
        cfg.ctx = p.most_ctx;
        if (p.most_ctx > 0) CHECK(opens(cfg, cfg.vram));
        cfg.ctx = p.most_ctx + KERN_PAGE;
        if (p.ctx_limit == PLAN_MEMORY) CHECK(!opens(cfg, cfg.vram));
        else CHECK_EQ(p.most_ctx, p.ctx_trained);
        cfg = ask.engine;
        cfg.max_seqs = p.most_agents;
        if (p.most_agents > 0) CHECK(opens(cfg, cfg.vram));
        cfg.max_seqs = p.most_agents + 1;
        if (p.agents_limit == PLAN_MEMORY) CHECK(!opens(cfg, cfg.vram) && p.one_more > cfg.vram);
        memory += p.ctx_limit == PLAN_MEMORY && p.most_ctx > 0;
        CHECK(p.fits == (p.cause == CAUSE_UNKNOWN));
    }
    printf("  memory was the limit of contexts %d times\n", memory);
    CHECK(memory > 5);
}

/* With exactly the memory of k agents k fit, whatever number was asked for: fewer of them need fewer rows of a pass. */
TEST(plan_most_agents_are_as_many_as_the_memory_is_for)
{
    for (int k = 1; k < 40; k += 3) {
        struct plan_ask ask = ask_for(plan_model[plan_models() - 1], 64, k, 1 << 30);
        ask.engine.max_rows = 1;
        uint64_t all = plan_of(&ask).needs;
        ask.engine.max_seqs = 50;
        ask.engine.vram = all;
        CHECK_EQ(plan_of(&ask).most_agents, k);
        ask.engine.vram = all - 1;
        CHECK_EQ(plan_of(&ask).most_agents, k - 1);
    }
    struct plan_ask ask = ask_for(plan_model[0], 64, 1, (uint64_t)1 << 50);
    struct plan p = plan_of(&ask);
    CHECK_EQ(p.most_agents, 1024);
    CHECK_EQ(p.agents_limit, PLAN_SLOTS);
    ask.engine.max_seqs = 1024;
    CHECK(plan_of(&ask).fits);
}

/* ------------------------------------------------------------------ what is in the way */

TEST(plan_names_what_is_in_the_way)
{
    const char *model = plan_model[plan_models() - 1];
    struct plan_ask ask = ask_for(model, 1024, 4, 1 << 30);
    struct plan p = plan_of(&ask);
    uint64_t weights = p.ledger.bytes[LEDGER_WEIGHTS], all = p.needs, least = p.least;
    CHECK(p.fits && p.cause == CAUSE_UNKNOWN);
    const struct { uint64_t vram; int agents; enum cause cause; } want[] = {
        {weights - 1, 4, CAUSE_WEIGHTS}, {weights + 1, 4, CAUSE_ACTIVATIONS}, {least - 1, 4, CAUSE_ACTIVATIONS},
        {least, 1, CAUSE_KV},            {least, 4, CAUSE_KV},                {all - 1, 4, CAUSE_CONCURRENCY},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        ask = ask_for(model, 1024, want[i].agents, want[i].vram);
        p = plan_of(&ask);
        CHECK(!p.fits);
        CHECK_STR(cause_name(p.cause), cause_name(want[i].cause));
    }
    ask = ask_for(model, 1024, 4, all);
    CHECK(plan_of(&ask).fits);
}

TEST(plan_refuses_what_is_no_plan)
{
    struct plan p;
    struct err err = {0};
    struct plan_ask ask = ask_for(plan_model[plan_models() - 1], 64, 1, 0);
    ask.engine.naive = NAIVE_NO_LIMIT;
    CHECK(plan_make(&ask, &p, &err) != 0 && strstr(err.text, "sound memory policy"));
    ask.engine.naive = NAIVE_NONE;
    ask.engine.pool_tokens = 64;
    CHECK(plan_make(&ask, &p, &err) != 0);
    ask.engine.pool_tokens = 0;
    ask.engine.max_seqs = 1025;
    CHECK(plan_make(&ask, &p, &err) != 0 && strstr(err.text, "more than can be counted"));
}

/* One line, the engine's own, for each place where the file may end. */
TEST(plan_refuses_a_header_that_is_cut_short_by_a_line)
{
    char head[4096];
    FILE *f = fopen("tests/fixtures/llama-gqa.gguf", "rb");
    CHECK(f && fread(head, 1, sizeof head, f) == sizeof head);
    fclose(f);
    for (size_t n = 0; n < sizeof head; n += 97) {
        struct plan p;
        struct err err = {0}, opened = {0};
        struct plan_ask ask = ask_for(gguf_make_write("cut.gguf", head, n), 64, 1, 0);
        CHECK(plan_make(&ask, &p, &err) != 0);
        CHECK(*err.text && !strchr(err.text, '\n'));
        CHECK(!engine_local.open(&ask.engine, &opened));
        CHECK_STR(err.text, opened.text);
    }
}

/* ------------------------------------------------------------------ beside `plimsoll models` */

TEST(plan_and_models_agree)
{
    for (int m = 0; m < plan_models() - 1; m++) {
        for (uint64_t within = 256 << 10; within <= 64 << 20; within *= 4) {
            struct models_row r = {0};
            struct stat st;
            snprintf(r.path, sizeof r.path, "%.79s", plan_model[m]);
            CHECK_EQ(stat(r.path, &st), 0);
            r.inode = st.st_ino;
            r.device = st.st_dev;
            models_judge_row(&r, within);
            struct plan_ask ask = ask_for(plan_model[m], 0, 1, within);
            struct plan p = plan_of(&ask);
            CHECK_EQ(p.most_ctx, r.ctx_fits);
            CHECK_EQ(p.ctx, r.ctx_usual);
            CHECK_EQ(p.needs, r.needs_usual);
            CHECK_EQ(p.least, r.needs_least);
            CHECK_EQ(p.most_ctx > 0, r.state == MODEL_FITS);
        }
    }
}

/* ------------------------------------------------------------------ shapes */

/* A shape with the sizes of a test model takes what that takes, but for its tokenizer. */
TEST(plan_of_a_shape_is_the_plan_of_its_file)
{
    static const struct { const char *file, *type; } models[] = {
        {"tests/fixtures/llama-gqa.gguf", NULL},    {"tests/fixtures/llama-window.gguf", NULL},
        {"tests/fixtures/llama-f16.gguf", "f16"},   {"tests/fixtures/llama-q8_0.gguf", "q8_0"},
        {"tests/fixtures/qwen2-bf16.gguf", "bf16"}, {"tests/fixtures/qwen2-tied.gguf", NULL},
        {"tests/fixtures/qwen2-q8_0.gguf", "q8_0"}, {"tests/fixtures/qwen3-gqa.gguf", NULL},
        {"tests/fixtures/qwen3-q8_0.gguf", "q8_0"}, {"tests/fixtures/mixtral.gguf", NULL},
        {"tests/fixtures/qwen3moe.gguf", NULL},     {"tests/fixtures/qwen3moe-q8_0.gguf", "q8_0"},
        {"tests/fixtures/gpt-oss.gguf", NULL},      {"tests/fixtures/gpt-oss-mxfp4.gguf", "mxfp4"},
        {"tests/fixtures/llama-q3_k.gguf", "q3_k"}, {"tests/fixtures/qwen35.gguf", NULL},
        {"tests/fixtures/qwen35-q8_0.gguf", "q8_0"}, {"tests/fixtures/qwen35moe.gguf", NULL},
        {"tests/fixtures/qwen35moe-q8_0.gguf", "q8_0"}, {"tests/fixtures/qwen3next.gguf", NULL},
        {"tests/fixtures/qwen3next-q8_0.gguf", "q8_0"}, {"tests/fixtures/qwen2moe.gguf", NULL},
        {"tests/fixtures/granite.gguf", NULL},      {"tests/fixtures/granite-q8_0.gguf", "q8_0"},
        {"tests/fixtures/granitemoe.gguf", NULL},   {"tests/fixtures/lfm2.gguf", NULL},
        {"tests/fixtures/lfm2-q8_0.gguf", "q8_0"},  {"tests/fixtures/mistral3.gguf", NULL},
        {"tests/fixtures/olmo2.gguf", NULL},        {"tests/fixtures/olmo3.gguf", NULL},
        {"tests/fixtures/olmo3-q8_0.gguf", "q8_0"}};
    static const struct { const char *file; int shared; struct plan_states states; } more[] = {
        {"tests/fixtures/qwen35.gguf", 0, {2, 6, 16, 4, 8, 0}},
        {"tests/fixtures/qwen35-q8_0.gguf", 0, {4, 4, 32, 3, 16, 0}},
        {"tests/fixtures/qwen35moe.gguf", 40, {2, 4, 16, 4, 8, 0}},
        {"tests/fixtures/qwen35moe-q8_0.gguf", 64, {2, 2, 32, 4, 16, 0}},
        {"tests/fixtures/qwen3next.gguf", 48, {2, 6, 16, 4, 16, 0}}, {"tests/fixtures/qwen2moe.gguf", 72, {0}},
        {"tests/fixtures/qwen3next-q8_0.gguf", 32, {2, 4, 32, 3, 24, 0}},
        {"tests/fixtures/lfm2.gguf", 0, {.taps = 3, .attention = 0x0c}},
        {"tests/fixtures/lfm2-q8_0.gguf", 0, {.taps = 4, .attention = 0x05}}};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        struct plan_ask ask = ask_for(models[i].file, 300, 3, 1 << 30);
        struct plan p = plan_of(&ask);
        uint64_t matrices = (uint64_t)p.vocab * (uint64_t)p.embd;
        struct plan_shape s = {.name = "mine", .arch = p.arch, .layers = p.layers, .embd = p.embd, .heads = p.heads,
                               .kv_heads = p.kv_heads, .head_dim = p.head_dim, .ff = p.ff, .vocab = p.vocab,
                               .ctx = p.ctx_trained, .window = p.local_layers ? p.local_window : p.window, .words = WORDS_SPM,
                               .experts = p.experts, .used = p.used};
        for (size_t k = 0; k < COUNT_OF(more); k++)
            if (strcmp(more[k].file, models[i].file) == 0) s.shared = more[k].shared, s.states = more[k].states;
        ask.engine.model = NULL;
        ask.shape = &s;
        CHECK_EQ(plan_mix_find(models[i].type ? models[i].type : "f32", &ask.mix), 0);
        struct plan q = plan_of(&ask);
        s.tied = q.parameters == p.parameters + matrices;
        q = plan_of(&ask);
        CHECK(q.by_shape && !p.by_shape);
        CHECK_EQ(q.parameters, p.parameters);
        CHECK_EQ(q.active, p.active);
        CHECK_STR(q.types, p.types);
        for (int c = LEDGER_WEIGHTS; c <= LEDGER_LOGITS; c++) CHECK_EQ(q.ledger.bytes[c], p.ledger.bytes[c]);
        CHECK_EQ(q.token_bytes, p.token_bytes);
        CHECK(q.local_layers == p.local_layers && q.local_bytes == p.local_bytes && q.states == p.states);
    }
}

TEST(plan_shapes_have_as_many_parameters_as_their_publishers_say)
{
    int run = 0, no = 0;
    for (int i = 0; i < plan_shapes_n; i += CHECK_SANITIZED ? 5 : 1) {
        const struct plan_shape *s = &plan_shapes[i];
        struct err err = {0};
        if (!s->arch) {
            CHECK(!plan_shape_find(s->name, &err));
            CHECK_EQ(err.code, PLAN_NOT_RUN);
            CHECK(strstr(err.text, s->name) && strstr(err.text, s->why));
            no++;
            continue;
        }
        CHECK(plan_shape_find(s->name, &err) == s);
        struct plan_ask ask = ask_for(NULL, 0, 1, (uint64_t)1 << 50);
        ask.shape = s;
        ask.mix = (struct plan_mix){.type = KT_Q4_K, .how = PLAN_Q4_K_M};
        struct plan p = plan_of(&ask);
        if (p.parameters != s->parameters) printf("  %s\n", s->name);
        CHECK_EQ(p.parameters, s->parameters);
        CHECK_EQ(p.ctx_trained, s->ctx);
        CHECK_EQ(p.vocab, s->vocab);
        const int whole = s->layers - p.local_layers;
        CHECK_EQ(p.token_bytes, (uint64_t)(2 * 2 * whole * s->kv_heads * s->head_dim));
        CHECK(p.local_window == (p.local_layers > 0 ? s->window : 0));
        CHECK_EQ(p.states, s->states.taps > 0);
        run++;
    }
    printf("  %d that it runs, %d that it does not\n", run, no);
    CHECK(CHECK_SANITIZED || (run >= 20 && no >= 8));
}

/* The file that llama.cpp's users know: 4,920,739,232 bytes with a header of 7.8 MB. */
TEST(plan_of_q4_k_m_is_as_large_as_the_file_of_that_name)
{
    struct plan_ask ask = ask_for(NULL, 0, 1, (uint64_t)1 << 40);
    struct err err = {0};
    ask.engine.backend = "cuda"; /* whose slabs are rounded up to 512 bytes */
    ask.shape = plan_shape_find("meta-llama/Llama-3.1-8B", &err);
    CHECK(ask.shape);
    CHECK_EQ(plan_mix_find("Q4_K_M", &ask.mix), 0);
    struct plan p = plan_of(&ask);
    CHECK_EQ(p.ledger.bytes[LEDGER_WEIGHTS], 4912898048);
    CHECK_STR(p.types, "F32 65, Q4_K 193, Q6_K 33");
}

/* What llama-server says of files of that name: "n_params" 26895998464, "size" 16536406016. */
TEST(plan_of_a_shape_with_states_is_as_large_as_its_file)
{
    struct plan_ask ask = ask_for(NULL, 0, 1, (uint64_t)1 << 40);
    ask.engine.backend = "ref"; /* whose weights lie as the file's do */
    ask.shape = plan_shape_find("Qwen/Qwen3.6-27B", NULL);
    CHECK(ask.shape && plan_mix_find("Q4_K_M", &ask.mix) == 0);
    struct plan p = plan_of(&ask);
    CHECK_EQ(p.ledger.bytes[LEDGER_WEIGHTS], 16536406016);
    CHECK_EQ(p.parameters, 26895998464);
    CHECK(p.states && p.local_layers == 48);
}

/* The same model's others, which are told apart by what has more bits.  3.18 and 4.02 GB are what the files' pages say,
 * and of IQ4_XS 4.45 GB with a matrix of importance, without which an eighth of ffn_down is Q5_K: 36.7 MB more. */
TEST(plan_of_other_mixes_is_as_large_as_the_files_of_their_names)
{
    static const struct { const char *name; uint64_t bytes; const char *types; } of[] = {
        {"Q2_K", 3171295232, "F32 65, Q2_K 129, Q3_K 64, Q4_K 32, Q6_K 1"},
        {"Q3_K_M", 4011081728, "F32 65, Q3_K 129, Q4_K 92, Q5_K 4, Q6_K 1"},
        {"IQ4_XS", 4476526592, "F32 65, Q5_K 36, Q6_K 1, IQ4_XS 189"},
        {"iq4_nl", 4699512832, "F32 65, Q5_K 36, Q6_K 1, IQ4_NL 189"},
        {"q3_k", 3451453440, "F32 65, Q3_K 226"}};
    struct plan_ask ask = ask_for(NULL, 0, 1, (uint64_t)1 << 40);
    ask.engine.backend = "cuda";
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        ask.shape = plan_shape_find("llama3.1-8b", NULL);
        CHECK_EQ(plan_mix_find(of[i].name, &ask.mix), 0);
        struct plan p = plan_of(&ask);
        CHECK_EQ(p.ledger.bytes[LEDGER_WEIGHTS], of[i].bytes);
        CHECK_STR(p.types, of[i].types);
    }
}

/* Rows that K types do not divide get what has blocks of 32; where each head has a V of its own less is spent on it;
 * one matrix for q, k and v, and 8 experts. */
TEST(plan_of_a_mix_has_the_types_that_llama_cpp_gives_to_such_shapes)
{
    static const struct { const char *shape, *name, *types; } of[] = {
        {"qwen2.5-0.5b", "q2_k", "F32 121, Q4_0 120, Q5_0 24, Q8_0 1, Q3_K 24"},
        {"qwen2.5-0.5b", "iq4_xs", "F32 121, Q5_1 24, Q8_0 1, Q5_K 3, IQ4_NL 120, IQ4_XS 21"},
        {"llama2-7b", "q2_k", "F32 65, Q2_K 129, Q3_K 96, Q6_K 1"},
        {"phi3.5-mini", "q3_k_m", "F32 65, Q3_K 33, Q4_K 94, Q5_K 2, Q6_K 1"},
        {"mixtral-8x7b", "iq4_xs", "F32 97, Q8_0 64, Q5_K 36, Q6_K 1, IQ4_XS 125"},
        {"qwen3.5-35b-a3b", "mxfp4", "F32 301, Q8_0 312, MXFP4 120"}};
    struct plan_ask ask = ask_for(NULL, 0, 1, (uint64_t)1 << 40);
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        ask.shape = plan_shape_find(of[i].shape, NULL);
        CHECK(ask.shape);
        CHECK_EQ(plan_mix_find(of[i].name, &ask.mix), 0);
        struct plan p = plan_of(&ask);
        CHECK_STR(p.types, of[i].types);
    }
}

/* All experts count: 18,556,686,912 bytes with a header of 6.0 MB.  Of those 3.35 B parameters compute a token. */
TEST(plan_of_a_mixture_has_all_its_experts)
{
    struct plan_ask ask = ask_for(NULL, 0, 1, (uint64_t)1 << 40);
    struct err err = {0};
    struct buf text = {0};
    ask.engine.backend = "cuda";
    ask.shape = plan_shape_find("Qwen/Qwen3-30B-A3B", &err);
    CHECK(ask.shape);
    CHECK_EQ(plan_mix_find("q4_k_m", &ask.mix), 0);
    struct plan p = plan_of(&ask);
    CHECK_EQ(p.ledger.bytes[LEDGER_WEIGHTS], 18550716416);
    CHECK_EQ(p.active, 3353032704);
    plan_text(&ask, &p, &text);
    CHECK(strstr(text.data, "\na mixture: all 128 experts of a layer must be in memory, 8 of them compute a token, "
                            "with 3.4 B parameters in all\n"));
    buf_free(&text);
    ask.engine.backend = "cpu";
    CHECK_EQ(plan_of(&ask).rows, 256); /* by what is active */
    ask.shape = plan_shape_find("mixtral 8x7b", &err);
    p = plan_of(&ask);
    CHECK_STR(p.types, "F32 97, Q8_0 64, Q4_K 113, Q5_K 32, Q6_K 17");
    CHECK_EQ(p.rows, 128);
}

TEST(plan_shapes_are_found_by_the_names_that_people_type)
{
    struct err err = {0};
    static const char *const same[] = {"meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct-GGUF",
                                       "llama3.1-8b", "Llama-3.1-8B", "meta-llama/Llama-3.1-8B", "llama3.1:8b",
                                       "LLAMA 3.1 8B"};
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        const struct plan_shape *s = plan_shape_find(same[i], &err);
        if (!s) CHECK_STR(same[i], err.text);
        CHECK_STR(s->name, "llama3.1-8b");
    }
    CHECK(!plan_shape_find("llama3.1-9b", &err) && strstr(err.text, "llama3.1-8b") && err.code == -1);
    CHECK(!plan_shape_find("gpt", &err) && strstr(err.text, "gpt-oss-20b, gpt-oss-120b") && err.code == -1);
    CHECK(!plan_shape_find("llama4", &err) && strstr(err.text, "not supported") && err.code == PLAN_NOT_RUN);
    CHECK(!plan_shape_find("qwen3", &err) && strstr(err.text, "qwen3-0.6b, qwen3-1.7b") && err.code == -1);
    CHECK_STR(plan_shape_find("Qwen/Qwen3-8B", &err)->name, "qwen3-8b");
    CHECK_STR(plan_shape_find("Qwen/Qwen3-30B-A3B", &err)->name, "qwen3-30b-a3b");
    CHECK_STR(plan_shape_find("openai/gpt-oss-20b", &err)->name, "gpt-oss-20b");
    CHECK_STR(plan_shape_find("ibm-granite/granite-3.3-8b-instruct", &err)->name, "granite3.3-8b");
    CHECK_STR(plan_shape_find("ibm-granite/granite-4.0-micro", &err)->name, "granite4.0-micro");
    CHECK_STR(plan_shape_find("mistralai/Ministral-3-8B-Instruct", &err)->name, "ministral3-8b");
    CHECK_STR(plan_shape_find("allenai/Olmo-3-7B-Instruct", &err)->name, "olmo3-7b");
    CHECK_STR(plan_shape_find("ministral3:3b", &err)->name, "ministral3-3b");
    CHECK(!plan_shape_find("granite-4.0-h-tiny", &err) && strstr(err.text, "granitehybrid is not supported"));
    CHECK(!plan_shape_find("DeepSeek R1", &err) && strstr(err.text, "deepseek2 is not supported"));
    CHECK(!plan_shape_find("", &err) && err.code == -1);
    CHECK(!plan_shape_find("///", &err) && err.code == -1);
    struct plan_mix mix;
    CHECK(plan_mix_find("iq3_s", &mix) && plan_mix_find("", &mix) && plan_mix_find("q8", &mix));
    CHECK(!plan_mix_find("BF16", &mix) && mix.type == KT_BF16 && mix.how == PLAN_ONE);
}

/* Tokenizers that are made up beside the real ones. */
TEST(plan_tokenizers_are_near_the_real_ones)
{
    static const struct { const char *file, *shape; } pair[] = {
        {"llama-spm", "llama2-7b"}, {"llama3", "llama3.1-8b"}, {"qwen2", "qwen2.5-0.5b"}};
    if (!check_vectors()) SKIP("the shared vectors are not here");
    for (size_t i = 0; i < COUNT_OF(pair); i++) {
        char path[400], made[PLAN_PATH];
        struct err err = {0};
        int fd;
        snprintf(path, sizeof path, "%s/tokenizers/%s.gguf", check_vectors(), pair[i].file);
        const struct plan_mix mix = {.type = KT_F16, .how = PLAN_ONE};
        CHECK_EQ(plan_header(plan_shape_find(pair[i].shape, &err), mix, &fd, made, &err), 0);
        struct gguf *g = gguf_open(path, &err), *h = gguf_open(made, &err);
        struct vocab *v = g ? vocab_open(g, &err) : NULL, *w = h ? vocab_open(h, &err) : NULL;
        CHECK_STR(err.text, "");
        CHECK_EQ(vocab_size(v), vocab_size(w));
        CHECK_EQ(vocab_max_piece(v), vocab_max_piece(w));
        CHECK_NEAR(vocab_bytes(w), vocab_bytes(v), 0.01 * (double)vocab_bytes(v));
        CHECK_EQ(sched_token_text(v), sched_token_text(w));
        vocab_close(v);
        vocab_close(w);
        gguf_close(g);
        gguf_close(h);
        close(fd);
    }
}

/* ------------------------------------------------------------------ GPUs */

TEST(plan_gpus_are_found_by_the_names_that_people_type)
{
    struct err err = {0};
    for (int i = 0; i < plan_gpus_n; i++) {
        CHECK(plan_gpu_find(plan_gpus[i].name, &err) == &plan_gpus[i]);
        CHECK(plan_gpus[i].mib > 4096 && plan_gpus[i].mib < 1 << 20 && *plan_gpus[i].source && *plan_gpus[i].words);
        CHECK((uint64_t)plan_gpus[i].mib << 20 > 2 * PLAN_DRIVER);
    }
    CHECK(plan_gpu_find("RTX 4090", &err) == plan_gpu_find("rtx_4090", &err) && plan_gpu_find("rtx-4090", &err));
    CHECK(plan_gpu_find("rtx4090", &err) && plan_gpu_find("rtx4090", &err) == plan_gpu_find("rtx-4090", &err));
    CHECK(plan_gpu_find("NVIDIA GeForce RTX 4060 Ti 16GB", &err) == plan_gpu_find("rtx-4060-ti-16gb", &err));
    CHECK(plan_gpu_find("NVIDIA A100-SXM4-80GB", &err) == plan_gpu_find("a100-80gb", &err));
    CHECK(plan_gpu_find("NVIDIA H100 80GB HBM3", &err) == plan_gpu_find("h100-80gb", &err));
    CHECK(plan_gpu_find("Tesla T4", &err) == plan_gpu_find("t4", &err));
    CHECK(!plan_gpu_find("NVIDIA", &err) && !plan_gpu_find("nvidiat4", &err) && !plan_gpu_find("--- ", &err));
    CHECK(!plan_gpu_find("a100", &err) && strstr(err.text, "a100-40gb") && strstr(err.text, "a100-80gb"));
    CHECK(!plan_gpu_find("4090", &err) && strstr(err.text, "rtx-4090"));
    CHECK(!plan_gpu_find("RTX4060TI", &err) && strstr(err.text, "these are: rtx-4060-ti-8gb, rtx-4060-ti-16gb;"));
    CHECK(!plan_gpu_find("", &err) && !plan_gpu_find("voodoo", &err) && strstr(err.text, "--list"));
}

/* ------------------------------------------------------------------ the usual formula */

TEST(plan_reckons_the_usual_formula_as_it_is_told)
{
    struct err err = {0};
    struct plan_ask ask = ask_for(NULL, 8192, 4, (uint64_t)1 << 40);
    ask.shape = plan_shape_find("llama3.1-8b", &err);
    CHECK_EQ(plan_mix_find("f16", &ask.mix), 0);
    struct plan p = plan_of(&ask);
    const struct plan_formula *u = &p.formula;
    CHECK_EQ(u->token, 2 * 32 * 4096 * 2); /* 512 KiB; 8 heads of 128 of its own are 128 KiB */
    CHECK_EQ(p.token_bytes, 128 << 10);
    CHECK_NEAR(u->token_times, 4, 1e-9);
    CHECK_NEAR(u->weights, 1.2 * 2 * 8030261248.0, 2e6);
    CHECK_EQ(u->all, u->weights + (uint64_t)4 * 8192 * u->token);
    CHECK_NEAR(u->weights_wrong, 100 * ((double)u->weights / (double)p.needs - 1), 1e-6);
    CHECK_NEAR(u->all_wrong, 100 * ((double)u->all / (double)p.needs - 1), 1e-6);
    CHECK(u->weights_wrong < -1 && u->all_wrong > 50);
}

/* ------------------------------------------------------------------ what is shown */

static struct buf text_of(const struct plan_ask *ask)
{
    struct buf b = {0};
    struct plan p = plan_of(ask);
    plan_text(ask, &p, &b);
    CHECK(!b.failed && b.len > 0);
    return b;
}

static void has(const struct buf *b, const char *part)
{
    if (!strstr(b->data, part)) CHECK_STR(b->data, part);
}

TEST(plan_text_says_what_is_near_and_what_is_exact)
{
    struct err err = {0};
    struct plan_ask ask = ask_for(plan_model[plan_models() - 1], 0, 1, 64 << 20);
    struct buf b = text_of(&ask);
    CHECK(!strchr(b.data, '~'));
    has(&b, "\nstart it: plimsoll --ctx 4096 --vram 64M\n");
    has(&b, "for 1 agent with 4,096 tokens, on cpu, keys and values in F16\n");
    buf_free(&b);
    ask = ask_for(NULL, 4096, 2, 0);
    ask.engine.backend = "cuda";
    ask.shape = plan_shape_find("llama3.1-70b", &err);
    ask.gpu = plan_gpu_find("rtx-4090", &err);
    CHECK_EQ(plan_mix_find("q4_k_m", &ask.mix), 0);
    b = text_of(&ask);
    has(&b, "  text            ~");
    has(&b, "  tables          ~");
    has(&b, "  needs           ~");
    has(&b, "  driver          ~");
    has(&b, "  weights            39.6 GiB      42,470,588,416\n");
    has(&b, "24564 MiB, nvidia-smi's table in vllm-project/vllm issue 7553");
    has(&b, "first limit: the weights alone pass the ceiling");
    has(&b, "8.00 times the 320.0 KiB that one takes: 64 heads share the keys of 8");
    has(&b, "\nit does not fit\n");
    buf_free(&b);
}

/* What a GPU has is the driver's, the reserve, and what may be taken; whatever the ceiling is. */
TEST(plan_of_a_gpu_adds_up)
{
    static const struct { uint64_t vram; double part; } ceilings[] = {{0, 0}, {(uint64_t)900 << 30, 0}, {0, 1},
                                                                      {(uint64_t)2 << 30, 0}, {0, 0.5}};
    struct err err = {0};
    struct plan_ask ask = ask_for(NULL, 4096, 1, 0);
    ask.engine.backend = "cuda";
    ask.shape = plan_shape_find("llama3.1-8b", &err);
    ask.gpu = plan_gpu_find("rtx-4060", &err);
    CHECK_EQ(plan_mix_find("q4_k_m", &ask.mix), 0);
    for (size_t i = 0; i < COUNT_OF(ceilings); i++) {
        ask.engine.vram = ceilings[i].vram;
        ask.engine.vram_part = ceilings[i].part;
        struct plan p = plan_of(&ask);
        CHECK_EQ(p.total, p.driver + p.have);
        CHECK_EQ(p.have, p.ledger.ceiling + p.reserve);
        CHECK(p.reserve < p.have);
    }
    ask.gpu = NULL; /* no machine is named: the ceiling is all that there is */
    ask.engine.vram_part = 0;
    ask.engine.vram = (uint64_t)8 << 30;
    struct plan p = plan_of(&ask);
    CHECK_EQ(p.have, p.ledger.ceiling);
    CHECK_EQ(p.reserve, 0);
}

/* The device has room; the machine around it has none. */
TEST(plan_says_when_the_machines_own_memory_is_what_is_missing)
{
    struct err err = {0};
    struct plan_ask ask = ask_for(NULL, 4096, 1, 0);
    ask.engine.backend = "cuda";
    ask.engine.park_bytes = (uint64_t)1 << 42;
    ask.shape = plan_shape_find("llama3.1-8b", &err);
    ask.gpu = plan_gpu_find("a100-40gb", &err);
    CHECK_EQ(plan_mix_find("q4_k_m", &ask.mix), 0);
    struct plan p = plan_of(&ask);
    CHECK(!p.fits && p.needs < p.ledger.ceiling);
    CHECK_STR(cause_name(p.cause), "host");
    struct buf b = text_of(&ask);
    has(&b, "\nfirst limit: the machine's own memory");
    CHECK(!strstr(b.data, "EiB") && !strstr(b.data, "--vram 100%") && !strstr(b.data, "with the weights in"));
    buf_free(&b);
    p.fits = true; /* one agent more would not, for that reason */
    p.cause = CAUSE_UNKNOWN;
    p.agents_limit = PLAN_MEMORY;
    p.one_more = p.ledger.ceiling;
    plan_text(&ask, &p, &b);
    has(&b, "\nfirst limit: the machine's own memory");
    CHECK(!strstr(b.data, "EiB"));
    buf_free(&b);
}

TEST(plan_command_lines_carry_what_was_asked)
{
    struct plan_ask ask = ask_for("it's a model.gguf", 512, 3, 0);
    struct buf b = {0};
    struct plan p = {.fits = true, .ctx = 512, .agents = 3, .kv_type = KT_Q8_0, .backend = "cuda"};
    ask.engine.park_bytes = 4096;
    ask.engine.overcommit = true;
    ask.engine.grammars = 4;
    ask.engine.vram = (uint64_t)3 << 29;
    plan_command(&ask, &p, &b);
    CHECK_STR(b.data, "plimsoll stress --agents 3 --parallel 3 -m 'it'\\''s a model.gguf' --ctx 512 --vram 1536M "
                      "--kv-type q8_0 --backend cuda --park 4096 --overcommit --strict-tools");
    buf_free(&b);
    p.on_device = true; /* fast's workspace is larger, and a chat by hand is fast */
    for (int fast = 0; fast < 2; fast++) {
        ask.engine.fast = fast;
        plan_command(&ask, &p, &b);
        has(&b, fast ? " --backend cuda --fast --park" : " --backend cuda --exact --park");
        buf_free(&b);
    }
    p.agents = 65; /* more than any face runs at once */
    plan_command(&ask, &p, &b);
    CHECK_EQ(b.len, 0);
    buf_free(&b);
}

/* A name in a file may hold what a terminal obeys. */
TEST(plan_shows_nothing_that_a_terminal_obeys)
{
    struct gguf_make m;
    struct tiny t = TINY_LLAMA;
    gguf_make_begin(&m);
    tiny_keys(&m, &t);
    tiny_vocab(&m, NULL);
    tiny_tensors(&m, &t);
    struct buf file = gguf_make_bytes(&m);
    char *name = memmem(file.data, file.len, "tiny", 4);
    CHECK(name);
    memcpy(name, "\033[2J", 4);
    struct plan_ask ask = ask_for(gguf_make_write("evil\033[2J\xe2\x80\xae.gguf", file.data, file.len), 0, 1, 0);
    buf_free(&file);
    struct buf b = text_of(&ask);
    CHECK(!strchr(b.data, '\033') && !strstr(b.data, "\xe2\x80\xae"));
    has(&b, "^[[2J");
    buf_free(&b);
    struct plan p = plan_of(&ask);
    plan_json(&ask, &p, &b);
    CHECK(!b.failed && !strchr(b.data, '\033') && strchr(b.data, '\n') == b.data + b.len - 1);
    buf_free(&b);
}

CHECK_MAIN
