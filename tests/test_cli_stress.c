/* `plimsoll stress`: many agents on little memory, and whether the figures at the end say what happened. */
#include "tests/check.h"
#include "tests/child.h"
#include <signal.h>

#define MODEL "tests/fixtures/llama-gqa.gguf" /* random numbers, ChatML, context 512 */

static struct child c;

static const char *file_with(const char *name, const char *text)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return path;
}

static size_t arguments(const char **all, const char *answers, const char *const *flag, size_t n_flags)
{
    const char *model[] = {"-m", MODEL, "--engine", "scripted", "--script-file", NULL};
    size_t k = 0;
    all[k++] = "stress";
    if (answers) model[5] = file_with("answers.jsonl", answers);
    for (size_t i = 0; answers && i < COUNT_OF(model); i++) all[k++] = model[i];
    for (size_t i = 0; i < n_flags; i++) all[k++] = flag[i];
    all[k] = NULL;
    return k;
}

static int run(const char *answers, const char *const *flag, size_t n_flags)
{
    const char *all[CHILD_ARGS];
    child_free(&c);
    arguments(all, answers, flag, n_flags);
    return child_run(&c, all, "", 0);
}

#define FLAGS(...) (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__}))
#define RUN(answers, ...) run(answers, FLAGS(__VA_ARGS__))

static const char *out(void) { return c.out_text.data ? c.out_text.data : ""; }
static const char *err(void) { return c.err_text.data ? c.err_text.data : ""; }

struct figures {
    long long agents, turns, refused, failed, stopped, calls, tokens, overtaken; /* of all; agents: lines of one */
    long long least, most;                                                      /* turns of one agent */
    long long ended, asked, running, waiting, promised, pool, filled, order;
    double p50, p99, ledger, ceiling;
};

static const char *line_of(const char *text, const char *begins)
{
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, begins, strlen(begins)) == 0) return at + strlen(begins);
    CHECK_STR(text, begins);
    return "";
}

static struct figures read_figures(const char *text)
{
    struct figures f = {.least = 1 << 30};
    for (;; f.agents++) {
        char name[24];
        long long turns;
        snprintf(name, sizeof name, "\na%lld ", f.agents + 1);
        const char *at = strstr(text, name);
        if (!at) break;
        CHECK_EQ(sscanf(at + strlen(name), "%lld", &turns), 1);
        f.least = MIN(f.least, turns);
        f.most = MAX(f.most, turns);
    }
    CHECK_EQ(sscanf(line_of(text, "all "), "%lld %lld %lld %lld %lld %lld %lld", &f.turns, &f.refused, &f.failed,
                    &f.stopped, &f.calls, &f.tokens, &f.overtaken), 7);
    CHECK_EQ(sscanf(line_of(text, "turns "), "%lld of %lld ended", &f.ended, &f.asked), 2);
    CHECK_EQ(sscanf(line_of(text, "first token "), " p50 %lf ms, p99 %lf ms", &f.p50, &f.p99), 2);
    CHECK_EQ(sscanf(line_of(text, "requests "), "%lld running, %lld waiting", &f.running, &f.waiting), 2);
    CHECK_EQ(sscanf(line_of(text, "pool "), "%lld of %lld tokens promised at most, %lld filled", &f.promised, &f.pool,
                    &f.filled), 3);
    CHECK_EQ(sscanf(line_of(text, "ledger "), "%lf MiB under a ceiling of %lf MiB", &f.ledger, &f.ceiling), 2);
    CHECK_EQ(sscanf(line_of(text, "order "), " an agent was overtaken %lld times", &f.order), 1);
    return f;
}

static const char answer[] = "{\"answer\":\"How deep she may lie.\"}\n"; /* 22 tokens and the end's */

TEST(stress_four_agents_on_the_memory_of_one)
{
    CHECK_EQ(RUN(answer, "--agents", "4", "--turns", "3", "--parallel", "1", "--ctx", "300", "-n", "30"), 0);
    struct figures f = read_figures(out());
    CHECK_EQ(f.agents, 4);
    CHECK(f.least == 3 && f.most == 3);
    CHECK(f.turns == 12 && f.ended == 12 && f.asked == 12 && f.refused == 0 && f.failed == 0);
    CHECK(f.running == 1 && f.waiting == 3);
    CHECK(f.pool >= 300 && f.pool < 400 && f.promised > 60 && f.promised <= f.pool && f.filled <= f.pool);
    CHECK(f.filled > 60); /* a turn and its answer */
    CHECK(f.tokens > 12 * 15 && f.tokens <= 12 * 30 && f.calls == 0);
    CHECK(f.p50 > 0 && f.p99 >= f.p50);
}

#ifdef __SANITIZE_ADDRESS__ /* a minute for two, on a busy machine */
enum { TOOL_TURNS = 1 };
#else
enum { TOOL_TURNS = 2 };
#endif

TEST(stress_32_agents_with_tools_on_a_pool_of_three_contexts)
{
    CHECK_EQ(RUN(NULL, "--agents", "32", "--turns", TOOL_TURNS == 1 ? "1" : "2", "--parallel", "3", "--ctx", "600",
                 "-n", "40", "--vram", "40M", "--tools", "calculator"), 0);
    struct figures f = read_figures(out());
    CHECK(f.agents == 32 && f.ended == 32 * TOOL_TURNS && f.least == TOOL_TURNS && f.most == TOOL_TURNS);
    CHECK_EQ(f.calls, 32 * TOOL_TURNS); /* the embedded model calls the calculator when it is asked to */
    CHECK(f.running == 3 && f.waiting > 20);
    CHECK(f.pool >= 1800 && f.pool < 2100 && f.promised > 400 && f.promised <= f.pool);
    CHECK_NEAR(f.ceiling, 40, 0.01);
    CHECK(f.ledger > 10 && f.ledger <= 40);
    CHECK(f.order <= 16);
}

/* The room for requests holds a few of them; who waits for it must not be passed by those who come again. */
TEST(stress_nobody_is_passed_by_where_not_even_waiting_has_room)
{
    CHECK_EQ(RUN("{\"answer\":\"Deep.\"}\n", "--agents", "24", "--turns", "4", "--parallel", "1", "--ctx", "8000", "-n",
                 "3500"), 0);
    struct figures f = read_figures(out());
    CHECK(f.ended == 96 && f.waiting < 20);
    CHECK(f.order <= 16);
    CHECK_EQ(f.order, f.overtaken);
}

/* Its own figures, which the general help has no room for. */
TEST(stress_help_says_what_holds_without_flags_and_the_limits)
{
    CHECK_EQ(RUN(NULL, "--help"), 0);
    CHECK(strstr(out(), "--agents N    1 to ") && strstr(out(), "; 8 by itself"));
    CHECK(strstr(out(), "1 to 10000; 4 by itself"));
}

TEST(stress_a_refused_turn_and_a_failed_one_have_their_status)
{
    CHECK_EQ(RUN(answer, "--agents", "3", "--turns", "4", "--parallel", "2", "--ctx", "96", "-n", "16"), 3);
    struct figures f = read_figures(out());
    CHECK(f.refused > 0 && f.failed == 0 && f.ended + f.refused == 12);
    static const char breaks[] = "{\"answer\":\"How deep\"}\n{\"fault\":{\"pass\":4,\"text\":\"device lost\"}}\n";
    CHECK_EQ(RUN(breaks, "--agents", "3", "--turns", "2", "--parallel", "2"), 4);
    f = read_figures(out());
    CHECK(f.failed > 0 && f.failed < 3 && f.ended + f.failed == 6 && f.refused == 0);
    CHECK(strstr(err(), "plimsoll: device lost"));
}

TEST(stress_with_json_has_events_on_stdout_and_figures_on_stderr)
{
    CHECK_EQ(RUN(answer, "--json", "--agents", "2", "--turns", "1"), 0);
    struct figures f = read_figures(err());
    CHECK(f.agents == 2 && f.ended == 2);
    CHECK(out()[0] == '{' && strstr(out(), "\"event\":\"turn_end\",\"agent\":\"a2\""));
    CHECK(strstr(out(), "\"event\":\"session_close\",\"turns\":2,"));
}

TEST(stress_reads_its_flags_or_says_which_is_wrong)
{
    CHECK_EQ(RUN(answer), 0);
    struct figures f = read_figures(out());
    CHECK(f.agents == 8 && f.asked == 32);
    static const char *const bad[][3] = {
        {"--agents", "0", "--agents: \"0\" is not a whole number from 1 to 64"},
        {"--agents", "65", "--agents: \"65\" is not"},
        {"--agents", "4x", "--agents: \"4x\" is not"},
        {"--turns", "-1", "--turns: \"-1\" is not a whole number from 1 to 10000"},
        {"-p", "Hello", "-p does not go with it"},
        {"--crew", "debate", "--crew does not go with it"},
        {"--resume", "last", "--resume does not go with it"},
        {"--speed", "1", "no such flag: --speed"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_EQ(RUN(answer, bad[i][0], bad[i][1]), 2);
        if (!strstr(err(), bad[i][2])) CHECK_STR(err(), bad[i][2]);
    }
    CHECK_EQ(RUN(answer, "--turns"), 2);
    char config[320]; /* a setting of it is for sessions */
    snprintf(config, sizeof config, "%s/settings", check_tmpdir());
    FILE *file = fopen(config, "w");
    CHECK(file && fputs("crew = debate\n", file) > 0 && fclose(file) == 0);
    CHECK_EQ(RUN(answer, "--agents", "1", "--turns", "1", "--config", config), 0);
}

TEST(stress_ends_by_a_signal)
{
    const char *all[CHILD_ARGS];
    child_free(&c);
    arguments(all, "{\"answer\":\"la \",\"token_ms\":5,\"end\":false}\n",
              FLAGS("--agents", "4", "--turns", "9", "--json"));
    child_start(&c, all);
    child_wait_for(&c, "turn_start");
    CHECK_EQ(kill(c.pid, SIGINT), 0);
    CHECK_EQ(child_end(&c), 130);
    struct figures f = read_figures(err());
    CHECK(f.ended < f.asked && f.asked == 36);
}

CHECK_MAIN
