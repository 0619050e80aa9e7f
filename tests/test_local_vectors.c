/* Real models against llama.cpp's greedy ids and log-probabilities (the shared vectors' README says what is demanded). */
#include "engine/engine.h"
#include "tests/check.h"
#include <jansson.h>
#include <math.h>

static const struct {
    const char *folder, *file;
    bool exact;
} models[] = {
    {"stories260K", "stories260K-f32.gguf", true},
    {"stories260K", "stories260K-f32-tied.gguf", true},
    {"stories260K", "stories260K-f32-align64.gguf", true},
    {"stories260K", "stories260K-f16.gguf", true},
    {"stories260K", "stories260K-peer-BF16.gguf", false},
    {"stories260K", "stories260K-q8_0.gguf", false},
    {"stories260K", "stories260K-q4_0.gguf", false},
    {"stories260K", "stories260K-peer-Q4_0.gguf", false},
    {"stories260K", "stories260K-peer-Q4_1.gguf", false},
    {"stories260K", "stories260K-peer-Q5_0.gguf", false},
    {"stories260K", "stories260K-peer-Q5_1.gguf", false},
    {"stories260K", "stories260K-peer-Q4_K_M.gguf", false},
    {"stories260K-wide", "stories260K-wide-F16.gguf", true},
    {"stories260K-wide", "stories260K-wide-Q8_0.gguf", false},
    {"stories260K-wide", "stories260K-wide-Q4_0.gguf", false},
    {"stories260K-wide", "stories260K-wide-Q4_1.gguf", false},
    {"stories260K-wide", "stories260K-wide-Q5_0.gguf", false},
    {"stories260K-wide", "stories260K-wide-Q5_1.gguf", false},
    {"stories260K-wide", "stories260K-wide-Q4_K_M.gguf", false},
    {"stories260K-wide", "stories260K-wide-Q5_K_M.gguf", false},
    {"stories260K-wide", "stories260K-wide-Q6_K.gguf", false},
    {"stories260K-qwen2", "stories260K-qwen2-F32.gguf", true},
    {"stories260K-qwen2", "stories260K-qwen2-wide-Q8_0.gguf", false},
    {"stories260K-qwen2", "stories260K-qwen2-wide-Q4_K_M.gguf", false},
};

/* One reference margin is wrong: refs.json gives Q5_K_M 0.31 at token 24 of its fifth prompt; llama.cpp asked again,
 * with this file and with its weights decoded to F32, gives 0.02 and the other token, as we do.  So there the ids are
 * safe up to 24 only. */
static const struct { const char *file; size_t prompt; int safe; } corrected = {"stories260K-wide-Q5_K_M.gguf", 4, 24};

static const struct engine_ops *const ops = &engine_local;

static struct engine *open_model(const char *folder, const char *file, const char *backend)
{
    char path[512];
    struct err err = {0};
    snprintf(path, sizeof path, "%s/models/%s/%s", check_vectors(), folder, file);
    struct engine_config cfg = {
        .model = path, .backend = backend, .kern = {.threads = 2}, .kv_type = KT_F16, .template = -1};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

static void run_all(struct engine *e)
{
    struct engine_event ev[64];
    struct err err = {0};
    while (ops->step(e, ev, 64, &err) > 0) continue;
    CHECK_STR(err.text, "");
}

/* All five prompts at once, as one batch; ids must equal the peer's for as long as `exact` or the margins say. */
static void check_greedy(struct engine *e, const char *file, const json_t *prompts, bool exact)
{
    int id[8] = {0};
    size_t n = json_array_size(prompts);
    CHECK(n == 5);
    for (size_t i = 0; i < n; i++) {
        const json_t *p = json_array_get(prompts, i);
        const json_t *text = json_object_get(p, "prompt"), *ids = json_object_get(p, "prompt_ids");
        struct msg msg = {.role = ROLE_USER, .text = json_string_value(text), .len = json_string_length(text)};
        struct request r = {.msgs = &msg,
                            .n_msgs = 1,
                            .max_tokens = (int)json_array_size(json_object_get(p, "peer_ids")),
                            .sampling = SAMPLING_GREEDY};
        CHECK_EQ(ops->submit(e, &r, &id[i], NULL), 0);
        const struct answer *a = ops->answer(e, id[i]);
        CHECK_EQ(a->n_prompt, json_array_size(ids));
        for (int k = 0; k < a->n_prompt; k++)
            CHECK_EQ(a->prompt[k], json_integer_value(json_array_get(ids, (size_t)k)));
    }
    run_all(e);
    for (size_t i = 0; i < n; i++) {
        const json_t *p = json_array_get(prompts, i), *ids = json_object_get(p, "peer_ids");
        const struct answer *a = ops->answer(e, id[i]);
        int all = (int)json_array_size(ids), safe = (int)json_integer_value(json_object_get(p, "safe_prefix"));
        if (i == corrected.prompt && strcmp(file, corrected.file) == 0) safe = corrected.safe;
        int want = exact ? all : MIN(safe, all), got = atomic_load(&a->n_tokens);
        CHECK(got >= want || atomic_load(&a->end) == END_STOP);
        for (int k = 0; k < want && k < got; k++) {
            long long peer = json_integer_value(json_array_get(ids, (size_t)k));
            if (a->token[k].id != peer)
                check_fail(__FILE__, __LINE__, "prompt %zu, token %d: %d, the peer says %lld", i, k, a->token[k].id,
                           peer);
        }
        if (got < want) CHECK_EQ(got, all - 1); /* only the peer's end-of-text id may be missing */
        ops->drop(e, id[i]);
    }
}

static double check_nll(struct engine *e, const json_t *ref, bool exact)
{
    int32_t ids[1024];
    const json_t *list = json_object_get(ref, "nll_ids");
    int n = (int)json_array_size(list), id;
    CHECK(n > 100 && n <= 1024);
    for (int i = 0; i < n; i++) ids[i] = (int32_t)json_integer_value(json_array_get(list, (size_t)i));
    struct request r = {.ids = ids, .n_ids = n, .score = true, .sampling = SAMPLING_GREEDY};
    CHECK_EQ(ops->submit(e, &r, &id, NULL), 0);
    run_all(e);
    const struct answer *a = ops->answer(e, id);
    double sum = 0;
    const json_t *peer = json_object_get(ref, "peer_logprobs"); /* of tokens 1 .. n - 1 */
    CHECK_EQ(json_array_size(peer), n - 1);
    for (int i = 1; i < n; i++) {
        sum -= (double)a->prompt_logprob[i];
        if (exact)
            CHECK_NEAR(a->prompt_logprob[i], json_number_value(json_array_get(peer, (size_t)i - 1)),
                       0.05); /* F16 K/V, times a steep softmax */
    }
    double nll = sum / (n - 1);
    CHECK_NEAR(nll, json_number_value(json_object_get(ref, "peer_mean_nll")), exact ? 0.002 : 0.02);
    ops->drop(e, id);
    return nll;
}

static void check_models(const char *backend, size_t step)
{
    if (!check_vectors()) SKIP("no shared vectors here");
    for (size_t i = 0; i < COUNT_OF(models); i += step) {
        char path[512];
        json_error_t why;
        snprintf(path, sizeof path, "%s/models/%s/refs.json", check_vectors(), models[i].folder);
        json_t *refs = json_load_file(path, 0, &why);
        CHECK(refs);
        const json_t *ref = json_object_get(refs, models[i].file);
        struct engine *e = open_model(models[i].folder, models[i].file, backend);
        check_greedy(e, models[i].file, json_object_get(ref, "prompts"), models[i].exact);
        double nll = check_nll(e, ref, models[i].exact);
        printf("  %-36s nll %.6f, peer %.6f\n", models[i].file, nll,
               json_number_value(json_object_get(ref, "peer_mean_nll")));
        ops->close(e);
        json_decref(refs);
    }
}

/* Sanitizers make this ten times slower and see the same code in fewer models. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CPU_STEP = 4, REF_STEP = 24 };
#else
enum { CPU_STEP = 1, REF_STEP = 5 };
#endif

TEST(every_model_says_what_llama_cpp_says) { check_models("cpu", CPU_STEP); }
TEST(the_reference_backend_says_it_too) { check_models("ref", REF_STEP); }

CHECK_MAIN
