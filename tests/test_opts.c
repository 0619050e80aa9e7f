/* The command line and the environment: every value is taken whole or refused in one line that says where. */
#include "app/opts.h"
#include "tests/check.h"
#include <math.h>

static const char *variable, *value; /* the one variable that is set */

static const char *fake_env(const char *name)
{
    return variable && strcmp(name, variable) == 0 ? value : NULL;
}

static struct opts o;
static struct err err;

static int parse_list(const char *const *args, int n)
{
    char *argv[40] = {(char[]){"plimsoll"}};
    for (int i = 0; i < n; i++) argv[i + 1] = (char *)(uintptr_t)args[i];
    err = (struct err){0};
    return opts_parse(&o, n + 1, argv, fake_env, &err);
}

#define PARSE(...) parse_list((const char *const[]){__VA_ARGS__}, (int)COUNT_OF(((const char *const[]){__VA_ARGS__})))
#define REFUSED(part, ...)                            \
    do {                                              \
        CHECK_EQ(PARSE(__VA_ARGS__), -1);             \
        CHECK(!strchr(err.text, '\n'));               \
        if (!strstr(err.text, part)) CHECK_STR(err.text, part); \
    } while (0)

TEST(opts_defaults_are_those_of_the_table)
{
    CHECK_EQ(parse_list(NULL, 0), 0);
    CHECK(!o.model && !o.prompt && !o.system && !o.template_name && !o.trace && !o.nll);
    CHECK_NEAR(TEMPERATURE(&o), 0.7, 0);
    o.embedded = true;
    CHECK_NEAR(TEMPERATURE(&o), 0, 0);
    CHECK_NEAR(o.top_p, 0.95, 0);
    CHECK_NEAR(o.min_p, 0.05, 0);
    CHECK_NEAR(o.repeat, 1, 0);
    CHECK_EQ(o.top_k, 40);
    CHECK_EQ(o.seed, -1);
    CHECK_EQ(o.top_logprobs, -1);
    CHECK_EQ(o.max_tokens, 0);
    CHECK_STR(o.isa, "auto");
    CHECK_STR(o.kv_type, "f16");
    CHECK_STR(o.engine, "local");
    CHECK(o.plain); /* no TERM */
}

TEST(opts_take_each_flag_in_both_spellings)
{
    CHECK_EQ(PARSE("-m", "a.gguf", "-p", "-n is text here", "-n", "7", "--ctx=64", "--temp=0", "--top-k", "5"), 0);
    CHECK_STR(o.model, "a.gguf");
    CHECK_STR(o.prompt, "-n is text here");
    CHECK_EQ(o.max_tokens, 7);
    CHECK_EQ(o.ctx, 64);
    CHECK_NEAR(o.temp, 0, 0);
    CHECK_EQ(o.top_k, 5);
    CHECK_EQ(PARSE("--model=b=c", "--seed", "9007199254740991", "--isa", "avx2", "--no-pin", "--json", "-p", ""), 0);
    CHECK_STR(o.model, "b=c");
    CHECK_EQ(o.seed, 9007199254740991);
    CHECK_STR(o.isa, "avx2");
    CHECK(o.no_pin && o.json && o.prompt && !*o.prompt);
    CHECK_EQ(PARSE("--temp", "1e-1", "--temp", "2"), 0);
    CHECK_NEAR(o.temp, 2, 0);
}

TEST(opts_name_the_type_of_the_attention_memory_by_flag_or_variable)
{
    static const char *const types[] = {"f16", "q8_0", "f32"};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        CHECK_EQ(PARSE("--kv-type", types[i]), 0);
        CHECK_STR(o.kv_type, types[i]);
        variable = "PLIMSOLL_KV_TYPE", value = types[i];
        CHECK_EQ(parse_list(NULL, 0), 0);
        CHECK_STR(o.kv_type, types[i]);
        variable = NULL;
    }
}

TEST(opts_refuse_numbers_that_are_none_or_out_of_range)
{
    static const char *const bad[] = {"",   "nan", "NaN",   "inf",  "-inf",  "1e999", "0x1p3",
                                      " 1", "1 ",  "1.5.2", "-0.1", "100.5", "1,5",   "e"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) REFUSED("--temp", "--temp", bad[i]);
    static const char *const bad_int[] = {"",    "0",    "-1", "1.0", "1e3", "99999999999999999999", "1000001",
                                          "0x10", "-", "1-2"};
    for (size_t i = 0; i < COUNT_OF(bad_int); i++) REFUSED("-n", "-n", bad_int[i]);
    REFUSED("0 to 1", "--top-p", "1.01");
    REFUSED("--seed", "--seed", "-1");
    REFUSED("from 0 to 20", "--dump-logprobs", "21");
}

TEST(opts_name_the_nearest_flag_for_an_unknown_one)
{
    REFUSED("did you mean --temp?", "--tmp", "1");
    REFUSED("did you mean --threads?", "--thread=2");
    REFUSED("did you mean --dump-tokens?", "--dump_tokens");
    REFUSED("no such flag: --frobnicate (", "--frobnicate");
    REFUSED("no such flag: --bogus (", "--bogus"); /* --tools has three other letters of five */
    REFUSED("no such flag: -q", "-q");
    char many[500];
    memset(many, 'x', sizeof many - 1);
    many[0] = many[1] = '-';
    many[sizeof many - 1] = '\0';
    REFUSED("no such flag", many);
    REFUSED("unexpected \"model.gguf\"", "model.gguf");
    REFUSED("unexpected \"-\"", "-");
}

TEST(opts_a_flag_without_its_value_or_with_one_too_many_is_refused)
{
    REFUSED("--ctx needs a value (N)", "--ctx");
    REFUSED("--json: \"maybe\" is neither on nor off", "--json=maybe");
    REFUSED("one of chatml|qwen3.5|qwen3-coder|llama2|llama3|mistral-v1|mistral-v3|mistral-v7|mistral-v11|mistral-v13|"
            "deepseek|gemma|phi3|phi4|zephyr|tulu|olmo2|olmo3|falcon3|granite3.0|granite3|granite4|lfm2|lfm2.5|harmony|"
            "raw",
            "--template", "gemma2");
    REFUSED("one of low|medium|high", "--reasoning", "minimal");
    REFUSED("one of auto|portable|avx2|avxvnni|avx512", "--isa", "avx");
    REFUSED("one of f16|q8_0|f32", "--kv-type", "q8");
    REFUSED("one of", "--isa", "auto|portable");
    REFUSED("one of", "--isa", "");
    REFUSED("-m needs a FILE, not an empty name", "-m", "");
    REFUSED("--crew needs a FILE, not an empty name", "--crew=");
    REFUSED("--workspace needs a DIR, not an empty name", "--workspace", "");
    CHECK_EQ(PARSE("--system", "", "-p", ""), 0); /* a text may be empty */
}

TEST(opts_quotas_have_ranges_and_the_marks_stay_apart)
{
    CHECK_EQ(PARSE("--json"), 0);
    CHECK(o.high_mark == QUOTA_HIGH && o.low_mark == QUOTA_LOW && o.summary_tokens == QUOTA_SUMMARY);
    CHECK(o.result_share == QUOTA_RESULT_SHARE && o.result_tokens == QUOTA_RESULT_TOKENS && o.handover == 0);
    CHECK_NEAR(o.keep_unsaved, 64 << 20, 0);
    CHECK_EQ(PARSE("--high-mark", "50", "--low-mark", "40", "--keep-unsaved", "0", "--handover=99"), 0);
    CHECK(o.high_mark == 50 && o.low_mark == 40 && o.handover == 99 && o.keep_unsaved < 1);
    REFUSED("--low-mark 40 must be 10 or more under --high-mark 49", "--high-mark", "49");
    REFUSED("--low-mark 80 must be 10 or more under --high-mark 85", "--low-mark", "80");
    REFUSED("--high-mark: \"101\" is not a whole number from 20 to 100", "--high-mark", "101");
    REFUSED("from 5 to 90", "--low-mark", "4");
    REFUSED("from 32 to 100000", "--summary-tokens", "31");
    REFUSED("from 1 to 50", "--result-share", "51");
    REFUSED("from 32 to 1000000", "--result-tokens", "0");
    REFUSED("from 16 to 1048576", "--handover", "0");
    REFUSED("is not a size", "--keep-unsaved", "-1");
}

TEST(opts_quotas_of_what_can_be_made_again)
{
    CHECK_EQ(PARSE("--json"), 0);
    CHECK(o.snapshots == 0x1p30 && opts_snapshots_session(&o) == 0x1p30);
    CHECK(o.recall_index == 0x1p31 && o.recall_index_session == 0x1p28 && opts_recalls(&o));
    CHECK_EQ(PARSE("--snapshots", "4G", "--snapshots-session", "25%", "--recall-index", "0"), 0);
    CHECK(opts_snapshots_session(&o) == 0x1p30 && !opts_recalls(&o));
    CHECK_EQ(PARSE("--snapshots-session=1", "--recall-index-session", "0", "--recall-index=4096"), 0);
    CHECK(opts_snapshots_session(&o) == 1 && o.recall_index_session == 0 && opts_recalls(&o));
    CHECK_EQ(PARSE("--snapshots-session", "0", "--recall", "off"), 0);
    CHECK(opts_snapshots_session(&o) == 0 && !opts_recalls(&o));
    REFUSED("--snapshots-session: \"101%\" is not a size", "--snapshots-session", "101%");
    REFUSED("--recall-index: \"10%\" is not a size", "--recall-index", "10%");
    REFUSED("--recall-index-session: \"much\" is not a size", "--recall-index-session", "much");
}

TEST(opts_biases_and_stops_collect_up_to_their_limits)
{
    CHECK_EQ(PARSE("--logit-bias", "5=1.5", "--logit-bias", "0=-inf", "--stop", "END", "--stop=\n"), 0);
    CHECK_EQ(o.n_bias, 2);
    CHECK_EQ(o.bias[0].id, 5);
    CHECK_NEAR((double)o.bias[0].add, 1.5, 0);
    CHECK(isinf(o.bias[1].add) && o.bias[1].add < 0);
    CHECK_EQ(o.n_stop, 2);
    CHECK_STR(o.stop[1], "\n");
    static const char *const bad[] = {"5", "=1", "x=1", "-1=1", "5=", "5=nan", "5=inf", "5=1e9", "99999999999=1",
                                      "5=1=2", "000000000000000000000000000000005=1"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) REFUSED("--logit-bias", "--logit-bias", bad[i]);
    const char *stops[2 * (ENGINE_STOPS + 1)];
    for (size_t i = 0; i < COUNT_OF(stops); i += 2) stops[i] = "--stop", stops[i + 1] = "x";
    CHECK_EQ(parse_list(stops, 2 * ENGINE_STOPS), 0);
    CHECK_EQ(parse_list(stops, COUNT_OF(stops)), -1);
    CHECK(strstr(err.text, "at most 8"));
    REFUSED("--stop", "--stop", "");
    REFUSED("--stop", "--stop", "\xff");
    REFUSED("--stop", "--stop", "0123456789012345678901234567890123456789012345678901234567890123456789");
}

TEST(opts_a_variable_is_a_default_that_a_flag_overrides)
{
    variable = "PLIMSOLL_MODEL", value = "env.gguf";
    CHECK_EQ(parse_list(NULL, 0), 0);
    CHECK_STR(o.model, "env.gguf");
    CHECK_EQ(PARSE("-m", "flag.gguf"), 0);
    CHECK_STR(o.model, "flag.gguf");
    variable = "PLIMSOLL_THREADS", value = "many";
    REFUSED("PLIMSOLL_THREADS: \"many\"", "-n", "1");
    value = "";
    CHECK_EQ(parse_list(NULL, 0), 0);
    CHECK_EQ(o.threads, 0);
    variable = "TERM", value = "xterm";
    CHECK_EQ(parse_list(NULL, 0), 0);
    CHECK(!o.plain);
    variable = NULL;
}

TEST(opts_that_do_not_go_together_are_refused)
{
    REFUSED("one at a time", "--dump-tokens", "--nll", "f");
    REFUSED("one at a time", "--dump-tokens", "--dump-logprobs", "0");
    REFUSED("-p does not go with it", "--nll", "f", "-p", "x");
    REFUSED("--json does not go", "--json", "--dump-tokens");
    REFUSED("--script reads turns from stdin", "--script", "-p", "x");
    REFUSED("--script reads turns from stdin", "--dump-tokens", "--script");
    REFUSED("--engine scripted", "--script-file", "f");
    REFUSED("needs --script-file", "--engine", "scripted");
    REFUSED("--exact and --fast do not go together", "--exact", "--fast");
    CHECK_EQ(PARSE("--engine", "scripted", "--script-file", "f"), 0);
    CHECK_EQ(PARSE("--engine", "scripted", "--help"), 0);
    CHECK(o.help);
}

TEST(opts_take_sizes_and_shares)
{
    static const struct { const char *text; double want; } good[] = {
        {"512M", 512 * 0x1p20}, {"1.5G", 1.5 * 0x1p30}, {"64K", 65536}, {"2GiB", 0x1p31}, {"3MB", 3 * 0x1p20},
        {"1000000", 1e6}, {"60%", -60}, {"100%", -100}, {"0.5%", -0.5}};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        CHECK_EQ(PARSE("--vram", good[i].text), 0);
        CHECK_NEAR(o.vram, good[i].want, 0);
    }
    static const char *const bad[] = {"", "0", "-1M", "M", "5x", "5Mx", "101%", "0%", "1e3", "0x10", " 5M", "5 M",
                                      "1..5M", "99999999999999999999T", "0.1"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) REFUSED("is not a size", "--vram", bad[i]);
    CHECK_EQ(PARSE("--fit"), 0);
    CHECK(o.fit && o.vram == 0);
    CHECK_EQ(PARSE("--overcommit", "--park", "64M"), 0);
    CHECK(o.overcommit && o.park == 0x1p26);
    CHECK(!o.strict_tools);
    CHECK_EQ(PARSE("--strict-tools"), 0);
    CHECK(o.strict_tools);
    REFUSED("is not a size: 512M, 1.5G, a number of bytes", "--park", "10%"); /* of what? */
    CHECK_EQ(PARSE("--naive", "first-fit"), 0);
    CHECK_STR(o.naive, "first-fit");
    REFUSED("does not go with --overcommit or --fit", "--naive", "first-fit", "--overcommit");
    REFUSED("does not go with --overcommit or --fit", "--fit", "--naive", "f32");
    CHECK_EQ(PARSE("--fit", "--naive", "none"), 0);
    REFUSED("is not one of none|reserve", "--naive", "hope");
}

/* Rights come from the command line alone: no variable that a parent left behind gives any. */
TEST(opts_of_tools_are_flags_without_variables)
{
    CHECK_EQ(PARSE("--workspace", "/work", "--tools=read,shell", "--allow", "shell:git"), 0);
    CHECK_STR(o.workspace, "/work");
    CHECK_STR(o.tools, "read,shell");
    CHECK_STR(o.allow, "shell:git");
    static const char *const name[] = {"PLIMSOLL_WORKSPACE", "PLIMSOLL_TOOLS", "PLIMSOLL_ALLOW"};
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        variable = name[i], value = "all";
        CHECK_EQ(PARSE("--tools", "read"), 0);
        CHECK(!o.workspace && !o.allow);
        CHECK_STR(o.tools, "read");
        CHECK_EQ(parse_list(NULL, 0), 0);
        CHECK(!o.tools);
    }
    variable = NULL;
}

TEST(opts_help_shows_every_flag_variable_and_default)
{
    struct buf b = {0};
    opts_help(&b);
    static const char *const parts[] = {"-m, --model FILE", "[PLIMSOLL_MODEL]", "--temp T", "(0.7, ", "(0.95)",
                                        "auto|portable|avx2|avxvnni|avx512", "f16|q8_0|f32", "--nll FILE", "--help-events",
                                        "Exit status"};
    for (size_t i = 0; i < COUNT_OF(parts); i++) CHECK(strstr(b.data, parts[i]));
    buf_free(&b);
}

CHECK_MAIN
