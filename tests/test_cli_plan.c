/* `plimsoll plan` as a person runs it: its figures beside those of a session, exit statuses, names, command lines. */
#include "tests/check.h"
#include "tests/child.h"
#include "tests/gguf_make.h"
#include <jansson.h>
#include <unistd.h>

#define MODEL "tests/fixtures/llama-gqa.gguf"
static struct child c;

static const char *out(void) { return c.out_text.data ? c.out_text.data : ""; }
static const char *err(void) { return c.err_text.data ? c.err_text.data : ""; }

static void has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})
#define PLAN(...) RUN("plan", "--no-config", ##__VA_ARGS__)
static int run(const char *const *args)
{
    child_free(&c);
    return child_run(&c, args, "", 0);
}

/* A line on stderr, and nothing on stdout. */
static void refused(int status, int want, const char *part)
{
    if (status != want) CHECK_STR(out(), err());
    CHECK_EQ(status, want);
    CHECK_STR(out(), "");
    has(err(), part);
    CHECK(strchr(err(), '\n') == err() + strlen(err()) - 1);
}

static json_t *object(void)
{
    json_t *o = json_loads(out(), JSON_REJECT_DUPLICATES, NULL);
    if (!o) CHECK_STR(out(), err());
    CHECK_EQ(json_integer_value(json_object_get(o, "schema_version")), 1);
    return o;
}

static json_int_t integer(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v)) CHECK_STR("no integer", key);
    return json_integer_value(v);
}

/* ------------------------------------------------------------------ beside a session */

/* The field of the last event of this kind in a session's stream. */
static json_int_t figure_of(const char *kind, const char *key)
{
    json_int_t n = -1;
    for (const char *at = out(), *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        json_t *o = json_loadb(at, (size_t)(end - at), 0, NULL);
        CHECK(o);
        if (strcmp(json_string_value(json_object_get(o, "event")), kind) == 0) n = integer(o, key);
        json_decref(o);
    }
    CHECK(n >= 0);
    return n;
}

static void compare(const char *const *flags)
{
    enum { MOST = 30 };
    const char *plan[MOST] = {"plan", "--json"}, *session[MOST] = {"--json", "--no-save", "--seed", "1", "-n", "1", "-p",
                                                                   "hi"};
    int p = 2, s = 8;
    for (const char *const *f = flags; *f; f++) plan[p++] = session[s++] = *f;
    CHECK_EQ(run(plan), 0);
    json_t *o = object(), *l = json_object_get(o, "ledger");
    CHECK_EQ(run(session), 0);
    CHECK_EQ(integer(l, "weights"), figure_of("memory", "weight_bytes"));
    CHECK_EQ(integer(l, "kv_pool"), figure_of("memory", "kv_bytes"));
    CHECK_EQ(integer(l, "activations") + integer(l, "scratch") + integer(l, "logits"),
             figure_of("memory", "work_bytes"));
    CHECK_EQ(integer(l, "text") + integer(l, "parked") + integer(l, "tables") + integer(l, "grammars") +
                 integer(l, "policy"), figure_of("machine", "table_bytes"));
    CHECK_EQ(integer(o, "context"), figure_of("session_open", "ctx"));
    CHECK_EQ(integer(o, "kv_token"), figure_of("machine", "token_bytes"));
    CHECK_EQ(integer(o, "ceiling"), figure_of("memory", "ceiling_bytes"));
    json_decref(o);
}

TEST(plan_says_what_a_session_with_the_same_flags_takes)
{
    compare((const char *const[]){"--vram", "200M", NULL});
    compare((const char *const[]){"--vram", "200M", "--kv-type", "q8_0", "--strict-tools", NULL});
    compare((const char *const[]){"--vram", "200M", "-m", MODEL, "--ctx", "333", "--park", "1M", "--overcommit", NULL});
    compare((const char *const[]){"--vram", "200M", "-m", "tests/fixtures/gemma3-windows.gguf", "--ctx", "300", NULL});
    compare((const char *const[]){"--vram", "9M", "-m", MODEL, "--fit", "--backend", "ref", "--threads", "1", NULL});
}

/* What the file and variables say holds for a plan too, but for what is a session's alone. */
TEST(plan_follows_the_settings)
{
    char path[600];
    snprintf(path, sizeof path, "%s/config", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f && fputs("ctx = 640\nkv-type = q8_0\ncrew = debate\npool = 64\nnaive = reserve\nparallel = 3\n", f) > 0);
    CHECK_EQ(fclose(f), 0);
    CHECK_EQ(RUN("plan", "--json", "--config", path), 0);
    json_t *o = object();
    CHECK_EQ(integer(o, "context"), 640);
    CHECK_STR(json_string_value(json_object_get(o, "kv_type")), "Q8_0");
    json_decref(o);
    CHECK_EQ(RUN("plan", "--json", "--config", path, "--kv", "f32", "--ctx=128"), 0);
    o = object();
    CHECK_EQ(integer(o, "context"), 128);
    CHECK_STR(json_string_value(json_object_get(o, "kv_type")), "F32");
    json_decref(o);
}

/* ------------------------------------------------------------------ command lines */

/* The line behind `lead` in what was printed, run by a shell with these flags behind it. */
static void start(const char *lead, const char *more)
{
    char line[2000];
    char *program = realpath(child_program(), NULL);
    const char *at = strstr(out(), lead);
    if (!at) CHECK_STR(out(), lead);
    at += strlen(lead);
    CHECK(strncmp(at, "plimsoll ", 9) == 0 && program);
    CHECK_EQ(setenv("PLAN_BIN", program, 1), 0);
    free(program);
    snprintf(line, sizeof line, "\"$PLAN_BIN\" %.*s %s >/dev/null 2>&1 </dev/null", (int)strcspn(at + 9, "\n"), at + 9,
             more);
    int status = system(line);
    if (status) CHECK_STR(line, "");
}

TEST(plan_shows_a_command_line_that_starts_it)
{
    CHECK_EQ(PLAN("-m", MODEL, "--vram", "100M", "--ctx", "200"), 0);
    CHECK_STR(err(), "");
    start("\nstart it: ", "--no-config --no-save -n 2 -p hi");
    CHECK_EQ(PLAN("--vram", "300M", "--agents", "3", "--ctx", "512"), 0);
    start("\nstart it: ", "--no-config --turns 1 -n 2");
}

TEST(plan_that_does_not_fit_shows_one_that_does)
{
    CHECK_EQ(PLAN("--vram", "24M"), 3);
    CHECK_STR(err(), "");
    has(out(), "  missing  ");
    has(out(), "first limit: the contexts");
    start("this would: ", "--no-config --no-save -n 2 -p hi");
    CHECK_EQ(PLAN("--vram", "40M", "--agents", "9", "--ctx", "4096"), 3);
    has(out(), "first limit: so many at once: one agent with this context fits, 9 need ");
    start("this would: ", "--no-config --turns 1 -n 2");
    CHECK_EQ(PLAN("--vram", "1M", "--json"), 3);
    json_t *o = object();
    CHECK(json_is_false(json_object_get(o, "fits")) && !json_object_get(o, "command"));
    CHECK_STR(json_string_value(json_object_get(o, "cause")), "weights");
    json_decref(o);
}

/* ------------------------------------------------------------------ names and refusals */

TEST(plan_by_shape_and_by_gpu)
{
    CHECK_EQ(PLAN("--shape=Llama-3.1-8B", "--gpu=RTX 4090", "--agents=4", "--ctx=8192"), 0);
    has(out(), "on cuda");
    has(out(), "4 x 8,192 tokens, 131,072 bytes a token\n");
    has(out(), "start it: plimsoll stress --agents 4 --parallel 4 -m FILE --ctx 8192 --backend cuda --exact\n");
    CHECK_EQ(PLAN("--shape", "llama3.1-70b", "--type", "f16", "--gpu", "h100-80gb"), 3);
    CHECK_EQ(PLAN("--shape", "llama3.1-70b", "--gpu", "h200", "--json"), 0);
    json_t *o = object();
    CHECK_EQ(integer(o, "gpu_total"), (json_int_t)143771 << 20);
    CHECK(json_is_true(json_object_get(json_object_get(o, "model"), "by_shape")));
    CHECK_EQ(json_array_size(json_object_get(o, "other_types")), 9);
    json_decref(o);
    CHECK_EQ(PLAN("--list"), 0);
    has(out(), "\n  rtx-4090             24564 MiB  nvidia-smi's table in ");
    has(out(), "\n  llama3.1-8b                      32   4096   32   8  128  14336  128256  131072    8.0 B\n");
    has(out(), "\n  mixtral-8x7b                     32   4096   32   8  128  14336   32000   32768   46.7 B, "
               "2 of 8 experts\n");
    has(out(), "\n  deepseek-v3                    no: its architecture deepseek2 is not supported (latent ");
}

TEST(plan_says_of_a_mixture_what_must_be_in_memory)
{
    CHECK_EQ(PLAN("--shape", "qwen3-235b-a22b", "--vram", "200G", "--json"), 0);
    json_t *o = object(), *model = json_object_get(o, "model");
    CHECK(integer(model, "experts") == 128 && integer(model, "experts_used") == 8);
    CHECK_EQ(integer(model, "parameters"), 235093634560);
    CHECK_EQ(integer(model, "parameters_active"), 22190763520);
    json_decref(o);
    CHECK_EQ(PLAN("--shape", "llama3.1-8b", "--vram", "64G", "--json"), 0);
    o = object();
    CHECK(!json_object_get(json_object_get(o, "model"), "experts"));
    json_decref(o);
}

/* 4 layers of 26 keep every token: 2 x 256 values of 2 bytes each; 22 the window of 512 and a pass. */
TEST(plan_tells_pages_of_local_layers_from_the_pool_of_tokens)
{
    CHECK_EQ(PLAN("--shape", "gemma3-1b", "--vram", "4G", "--ctx", "8192", "--agents", "4"), 0);
    has(out(), "4 x 8,192 tokens, 4,096 bytes a token, ");
    has(out(), " MiB for 22 layers with a window of 512\n");
    has(out(), "that one takes beyond the windows");
    CHECK_EQ(PLAN("--json", "--shape", "gemma3-1b", "--vram", "4G", "--ctx", "8192", "--agents", "4"), 0);
    json_t *o = object();
    CHECK(integer(o, "local_layers") == 22 && integer(o, "local_window") == 512 && integer(o, "kv_token") == 4096);
    const int64_t local = integer(o, "kv_local"), pool = integer(json_object_get(o, "ledger"), "kv_pool");
    CHECK(local % (4 * 22 * 1024 * 16) == 0); /* whole pages of four agents */
    CHECK(pool - local >= 4 * 8192 * 4096 && pool - local <= 4 * 8192 * 4096 + (2 << 20));
    json_decref(o);
    CHECK_EQ(PLAN("--json", "--shape", "gemma3-1b", "--vram", "4G", "--ctx", "512"), 0); /* nobody outgrows it */
    o = object();
    CHECK(!json_object_get(o, "local_layers") && integer(o, "kv_token") == 26 * 1024);
    json_decref(o);
}

TEST(plan_refuses_by_a_line)
{
    refused(PLAN("--shape", "deepseek-v3"), 4, "deepseek-v3: its architecture deepseek2 is not supported (latent");
    refused(PLAN("--shape", "llama9"), 2, "--shape: \"llama9\" is not known; these are: llama2-7b");
    refused(PLAN("--gpu", "a100"), 2, "a100-40gb, a100-80gb");
    refused(PLAN("--gpu", "rtx-4090", "--backend", "cpu"), 2, "not --backend cpu");
    refused(PLAN("--agents", "0"), 2, "--agents: \"0\" is not a whole number from 1 to 1024");
    refused(PLAN("--agents", "3x"), 2, "--agents");
    refused(PLAN("--agents"), 2, "--agents needs a value");
    refused(PLAN("--kv", "q4_0"), 2, "--kv: \"q4_0\" is not one of f16, q8_0, f32");
    refused(PLAN("--type", "q8_0"), 2, "--type goes with --shape");
    refused(PLAN("--shape", "llama2-7b", "--type", "iq3_s"), 2, "--type: \"iq3_s\" is not one of f32");
    refused(PLAN("--shape", "llama2-7b", "--type", "mxfp4"), 2, "mxfp4 is of experts, and llama2-7b has none");
    refused(PLAN("--shape", "llama2-7b", "-m", MODEL), 2, "two models");
    refused(PLAN("--naive", "reserve"), 2, "plimsoll plan takes no --naive");
    refused(PLAN("--pool", "4096"), 2, "plimsoll plan takes no --pool");
    refused(PLAN("--parallel", "3"), 2, "plimsoll plan takes no --parallel");
    refused(PLAN("--crew", "debate"), 2, "plimsoll plan takes no --crew");
    refused(PLAN("-p", "hi"), 2, "plimsoll plan takes no --prompt");
    refused(PLAN("--bogus"), 2, "--bogus");
    refused(PLAN("-m", "no-such-file.gguf"), 4, "no-such-file.gguf");
    refused(PLAN("-m", gguf_make_write("no.gguf", "this is no model", 16)), 4, "no.gguf: ");
    refused(PLAN("--vram", "64M", "--kv", "q8_0", "-m", MODEL), 4, "use --kv-type f16");
}

TEST(plan_helps)
{
    CHECK_EQ(RUN("plan", "--help"), 0);
    has(out(), "plimsoll plan [-m MODEL | --shape NAME]");
    CHECK_EQ(RUN("--help"), 0);
    has(out(), "plimsoll plan [--gpu NAME] [--agents N]");
}

CHECK_MAIN
