/* The program as its users meet it over pipes: what goes in, what comes out on which stream, with which status. */
#include "app/session/event.h"
#include "tests/check.h"
#include "tests/child.h"
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL "tests/fixtures/llama-gqa.gguf" /* random numbers, ChatML, context 512 */

static struct child c;

static const char *file_with(const char *name, const char *text)
{
    static char path[4][512];
    static unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", check_tmpdir(), name);
    FILE *f = fopen(p, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return p;
}

static const char hello[] = "{\"answer\":\"Hello there\"}\n{\"answer\":\"Second\\n\"}\n{\"answer\":\"Third\"}\n";
static const char endless[] = "{\"answer\":\"la \",\"token_ms\":5,\"end\":false}\n";

/* Arguments, with the scripted engine before them if script is not NULL; then NULL. */
static void collect(const char **out, const char *script, const char *const *args, size_t n)
{
    size_t k = 0;
    if (script) {
        const char *path = file_with("script.jsonl", script);
        const char *const front[] = {"-m", MODEL, "--engine", "scripted", "--script-file", path};
        for (size_t i = 0; i < COUNT_OF(front); i++) out[k++] = front[i];
    }
    for (size_t i = 0; i < n; i++) out[k++] = args[i];
    out[k] = NULL;
}

static int run(const char *script, const char *in, size_t n_in, const char *const *args, size_t n)
{
    const char *all[CHILD_ARGS];
    child_free(&c);
    collect(all, script, args, n);
    return child_run(&c, all, in, n_in);
}

static void start(const char *script, const char *const *args, size_t n)
{
    const char *all[CHILD_ARGS];
    child_free(&c);
    collect(all, script, args, n);
    child_start(&c, all);
}

#define ARGS(...) (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__}))
#define RUN(script, in, ...) run(script, in, strlen(in), ARGS(__VA_ARGS__))

static const char *out(void) { return c.out_text.data ? c.out_text.data : ""; }
static const char *err(void) { return c.err_text.data ? c.err_text.data : ""; }

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

/* One line that has all the words of part. */
static void check_complaint(const char *part)
{
    check_has(err(), part);
    CHECK(strncmp(err(), "plimsoll: ", 10) == 0);
    CHECK(strchr(err(), '\n') == err() + strlen(err()) - 1);
}

/* ---------------------------------------------------------------- without a model */

TEST(cli_without_a_model_the_embedded_one_answers)
{
    CHECK_EQ(RUN(NULL, "", "-p", "Hello"), 0);
    check_has(out(), "Hello");
    CHECK_EQ(RUN(NULL, "Hello\nThank you\n", "-n", "40"), 0);
    check_has(out(), "You are welcome");
    CHECK_EQ(RUN(NULL, "", "--json", "-p", "Hello"), 0); /* its own temperature: it says what it learned */
    check_has(out(), "\"temperature\":0");
    CHECK_EQ(RUN(NULL, "", "--temp", "0.5", "--json", "-p", "Hello"), 0);
    check_has(out(), "\"temperature\":0.5");
    CHECK_EQ(RUN(NULL, "", "--help"), 0);
    check_has(out(), "a tiny demonstration model");
}

TEST(cli_a_model_over_the_ceiling_is_refused_with_what_would_fit)
{
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "x", "--json", "--vram", "64K"), 3);
    check_has(out(), "\"termination_reason\":\"refused_weights\"");
    check_has(err(), "--vram allows 0.1 MiB");
    check_has(err(), "what fits in 0.1 MiB");
    check_has(err(), "as in the file");
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "x", "-n", "2", "--json", "--vram", "4M", "--ctx", "100000", "--fit"), 0);
    check_has(out(), "\"ceiling_bytes\":4194304");
}

/* The request dies with the figures, and the process says how; 24 MiB hold the model, but not its weights as floats. */
TEST(cli_a_policy_that_fails_ends_with_its_figures_and_status_3)
{
    CHECK_EQ(RUN(NULL, "", "-p", "Hello.", "-n", "9", "--json", "--ctx", "2048", "--vram", "24M", "--naive", "f32"), 3);
    check_has(out(), "\"end\":\"out_of_memory\",\"termination_reason\":\"out_of_memory\"");
    check_has(err(), "out of memory (f32): request 1 wanted");
    check_has(err(), "bytes of weights; of 25165824 bytes under the ceiling");
    CHECK_EQ(RUN(NULL, "Hello.\nHello.\n", "--ctx", "2048", "--vram", "24M", "--naive", "no-limit"), 0);
}

TEST(cli_the_kv_type_is_what_the_pool_is_made_of)
{
    static const char *const types[] = {"f16", "q8_0", "f32"};
    long long bytes[3];
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(RUN(NULL, "", "-p", "Hello", "-n", "1", "--json", "--kv-type", types[i]), 0);
        const char *at = strstr(out(), "\"kv_bytes\":");
        CHECK(at && sscanf(at, "\"kv_bytes\":%lld", &bytes[i]) == 1);
    }
    const long long huge = 2 << 20; /* slabs are whole huge pages */
    CHECK(llabs(bytes[1] * 64 - bytes[0] * 34) < 64 * huge);
    CHECK(llabs(bytes[2] - bytes[0] * 2) < 3 * huge);
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "x", "--kv-type", "q8_0"), 4);
    check_complaint("KV pages of Q8_0 take a whole number of 32 values a head");
}

TEST(cli_tells_about_itself_on_stdout)
{
    CHECK_EQ(RUN(NULL, "", "--help"), 0);
    check_has(out(), "--logit-bias ID=ADD");
    CHECK_STR(err(), "");
    CHECK_EQ(RUN(NULL, "", "--version"), 0);
    static const char *const facts[] = {"plimsoll ", "compiler ", "flags ", "pcre2 ", "jansson ", "portable", "avx512",
                                        "auto"};
    for (size_t i = 0; i < COUNT_OF(facts); i++) check_has(out(), facts[i]);
    CHECK_EQ(RUN(NULL, "", "--help-events"), 0);
    check_has(out(), "turn_end (durable)");
}

TEST(cli_each_bad_input_is_one_line_and_status_2)
{
    CHECK_EQ(RUN(NULL, "", "--tempp", "1"), 2);
    check_complaint("did you mean --temp?");
    CHECK_EQ(RUN(NULL, "", "sesions"), 2);
    check_complaint("no such command: sesions; did you mean sessions? (--help lists all)");
    CHECK_EQ(RUN(NULL, "", "some.gguf"), 2);
    check_complaint("unexpected \"some.gguf\": a model is given with -m, a prompt with -p; --help lists the commands");
    CHECK_EQ(RUN(NULL, "", "forms", "--help"), 0);
    check_has(out(), "plimsoll forms --render");
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "x", "--temp", "nan"), 2);
    check_complaint("--temp: \"nan\"");
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "x", "--logit-bias", "283=1"), 2);
    check_complaint("logit bias");
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "x", "--logit-bias", "99999999=1"), 2);
    check_complaint("token id of a logit bias is 99999999; allowed is 0 to 282");
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "x", "--trace", "/nowhere/at/all"), 2);
    check_complaint("/nowhere/at/all");
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "--nll", "/nowhere/at/all"), 2);
    check_complaint("/nowhere/at/all");
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "--nll", "/"), 2);
    check_complaint("--nll /");
    CHECK_STR(out(), "");
}

TEST(cli_file_that_is_no_model_is_status_4)
{
    CHECK_EQ(RUN(NULL, "", "-m", "/nowhere.gguf", "-p", "x"), 4);
    check_complaint("/nowhere.gguf");
    CHECK_EQ(RUN(NULL, "", "-m", file_with("x.gguf", "no magic here"), "-p", "x"), 4);
    check_complaint("x.gguf");
    CHECK_EQ(RUN("{\"answer\":7}", "", "-p", "x"), 4);
    check_complaint("script.jsonl: line 1");
    CHECK_STR(out(), "");
}

/* ---------------------------------------------------------------- -p */

TEST(cli_one_answer_and_nothing_else_on_stdout)
{
    CHECK_EQ(RUN(hello, "", "-p", "hi"), 0);
    CHECK_STR(out(), "Hello there\n");
    CHECK_STR(err(), "");
    CHECK_EQ(RUN(hello, "", "-p", "hi", "--stop", "there"), 0);
    CHECK_STR(out(), "Hello \n");
    CHECK_EQ(RUN(hello, "", "-p", "hi", "-n", "2"), 0);
    CHECK(strlen(out()) < strlen("Hello there\n"));
}

/* The text of the first event of this kind on stdout. */
static void first_event(enum event_kind kind, struct event *e)
{
    for (char *at = c.out_text.data, *end; at && (end = strchr(at, '\n')); at = end + 1) {
        struct err why = {0};
        if (event_read(at, (size_t)(end - at), e, &why)) CHECK_STR(why.text, "");
        if (e->kind == kind) return;
        event_free(e);
    }
    check_fail(__FILE__, __LINE__, "no such event on stdout: %s", out());
}

static void check_user_said(const char *text, size_t n)
{
    struct event e;
    first_event(EV_TURN_USER, &e);
    CHECK_EQ(e.turn_user.text.len, n);
    CHECK_MEM(e.turn_user.text.data, text, n);
    event_free(&e);
}
#define SAID(text) check_user_said(text, sizeof text - 1)

TEST(cli_data_on_stdin_is_appended_to_the_prompt)
{
    CHECK_EQ(RUN(hello, "a diff\nof lines\n", "-p", "review", "--json"), 0);
    SAID("review\n\na diff\nof lines");
    CHECK_EQ(RUN(hello, "", "-p", "review", "--json"), 0);
    SAID("review");
    CHECK_EQ(RUN(hello, "data\n\n", "-p", "", "--json"), 0);
    SAID("data\n");
    CHECK_EQ(run(hello, "a\0b", 3, ARGS("-p", "x", "--json")), 0);
    SAID("x\n\na\0b");
}

/* More than the context holds: it is clipped, and the model reads on in the whole.  No line of it is obeyed. */
TEST(cli_data_that_does_not_fit_is_an_artifact)
{
    static const char reads_on[] =
        "{\"answer\":\"<tool_call>{\\\"name\\\":\\\"artifact\\\",\\\"arguments\\\":{\\\"id\\\":\\\"a1\\\","
        "\\\"offset\\\":8000}}</tool_call>\"}\n{\"answer\":\"Done\"}\n";
    struct buf data = {0};
    for (int i = 1; i <= 600; i++) buf_printf(&data, i == 2 ? "/quit\n" : "line %d of the data\n", i);
    CHECK(!data.failed);
    CHECK_EQ(run(reads_on, data.data, data.len, ARGS("-p", "review", "-n", "200", "--json")), 0);
    check_has(out(), "\"text\":\"review\\n\\nline 1 of the data\\n/quit\\nline 3");
    check_has(out(), "the rest is artifact a1 from offset ");
    check_has(out(), "\"change\":\"clipped\",\"what\":\"a1\",\"messages\":1,");
    check_has(out(), "\"name\":\"artifact\",\"arguments\":\"{\\\"id\\\":\\\"a1\\\",\\\"offset\\\":8000}\","
                     "\"failed\":false");
    check_has(out(), "\"text\":\"Done\"");
    CHECK_EQ(run(hello, data.data, data.len, ARGS("-p", "review", "-n", "40")), 0);
    CHECK_STR(out(), "Hello there\n");
    CHECK_EQ(run(hello, data.data, data.len, ARGS("-p", "review", "-n", "40", "--no-save", "--json")), 0);
    check_has(out(), "review\\n\\nline 1 of the data");
    CHECK(!strstr(out(), "artifact a1")); /* there is none to read on in */
    check_has(out(), " bytes are not kept]");
    check_has(out(), "\"change\":\"clipped\",\"what\":\"\",\"messages\":1,");
    buf_free(&data);
}

/* --strict-tools reaches the engine: a call that the tools on offer do not allow cannot be chosen. */
TEST(cli_strict_tools_end_a_call_that_is_none)
{
    static const char wrong[] =
        "{\"answer\":\"<tool_call>{\\\"name\\\":\\\"sail\\\",\\\"arguments\\\":{}}</tool_call>\"}\n{\"answer\":\"Done\"}\n";
    CHECK_EQ(RUN(wrong, "hi\n", "--tools", "calculator", "--json"), 0);
    check_has(out(), "no such tool: sail");
    CHECK_EQ(RUN(wrong, "hi\n", "--tools", "calculator", "--strict-tools", "--json"), 2);
    check_has(out(), "\"end\":\"no_token\"");
    CHECK(!strstr(out(), "no such tool"));
}

/* What an agent's requests hold is told behind each memory event, and adds up to what is filled. */
TEST(cli_memory_is_told_by_owner)
{
    CHECK_EQ(RUN(endless, "", "-p", "hi", "-n", "60", "--json"), 0);
    const char *holding = strstr(out(), "\"event\":\"holding\""), *memory = holding;
    CHECK(holding != NULL);
    while (memory > out() && strncmp(memory, "\"filled_tokens\":", 16)) memory--;
    static const char *const part[] = {"system", "summary", "history", "tool", "answer"};
    int sum = 0;
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        char name[32];
        snprintf(name, sizeof name, "\"%s_tokens\":", part[i]);
        const char *value = strstr(holding, name);
        CHECK(value != NULL);
        sum += atoi(value + strlen(name));
    }
    CHECK(sum > 0);
    CHECK_EQ(sum, atoi(memory + 16));
}

TEST(cli_too_much_data_is_refused)
{
    size_t n = (16 << 20) + 1;
    char *big = malloc(n);
    CHECK(big);
    memset(big, 'a', n);
    CHECK_EQ(run(hello, big, n, ARGS("-p", "x")), 2);
    check_complaint("16 MiB");
    CHECK_EQ(run(hello, big, n, ARGS("--json")), 2);
    check_complaint("16 MiB");
    free(big);
}

TEST(cli_refusal_has_its_figures_and_status_3)
{
    CHECK_EQ(RUN(hello, "", "-p", "hi", "-n", "5000", "--ctx", "100"), 3);
    CHECK_STR(out(), "");
    check_complaint("5000");
    check_has(err(), "100");
    CHECK_EQ(RUN(hello, "", "-p", "hi", "-n", "5000", "--ctx", "100", "--json"), 3);
    struct event e;
    first_event(EV_REFUSAL, &e);
    CHECK_STR(e.refusal.termination_reason.data, "refused_kv");
    event_free(&e);
    first_event(EV_SESSION_CLOSE, &e);
    CHECK_EQ(e.session_close.exit_code, 3);
    CHECK_STR(e.session_close.termination_reason.data, "refused_kv");
    event_free(&e);
}

TEST(cli_fault_of_the_engine_is_status_4_and_what_was_said_is_out)
{
    static const char script[] = "{\"answer\":\"Hello there\"}\n{\"fault\":{\"pass\":4,\"text\":\"device lost\"}}\n";
    CHECK_EQ(RUN(script, "", "-p", "hi"), 4);
    check_complaint("device lost");
    CHECK(strlen(out()) > 1 && strlen(out()) < strlen("Hello there\n"));
    CHECK(strncmp(out(), "Hello there", strlen(out()) - 1) == 0);
    CHECK_EQ(RUN(script, "", "-p", "hi", "--json"), 4);
    const char *first = strstr(out(), "\"event\":\"error\"");
    CHECK(first && !strstr(first + 1, "\"event\":\"error\""));
    check_has(out(), "\"end\":\"fault\",\"termination_reason\":\"internal\"");
}

/* ---------------------------------------------------------------- lines */

TEST(cli_each_line_of_stdin_is_a_turn)
{
    CHECK_EQ(RUN(hello, "one\n\ntwo\r\n/help\nlast without newline", "--temp", "0"), 0);
    CHECK_STR(out(), "Hello there\nSecond\nThird\nHello there\n");
    CHECK_STR(err(), "");
    CHECK_EQ(RUN(hello, "", "--temp", "0"), 0);
    CHECK_STR(out(), "");
}

TEST(cli_lines_are_bytes)
{
    CHECK_EQ(run(hello, "a\0\xff\r\n", 5, ARGS("--json")), 0);
    SAID("a\0\xef\xbf\xbd");
    CHECK_EQ(RUN(hello, "/clear is no command here\n", "--json"), 0);
    SAID("/clear is no command here");
}

TEST(cli_lines_stop_at_the_first_turn_that_is_refused)
{
    char lines[400] = "short\n";
    memset(lines + 6, 'x', 300);
    strcpy(lines + 306, "\nnever asked\n");
    CHECK_EQ(RUN(hello, lines, "--ctx", "128"), 3);
    CHECK_STR(out(), "Hello there\n");
    check_has(err(), "stopped at line 2 of stdin");
}

TEST(cli_thinking_is_closed_at_its_cap_and_not_carried_on)
{
    /* of 30 tokens the tag may have eight: after 22 it is closed */
    static const char script[] = "{\"answer\":\"<think>\\nla la la la la..It is 42.\"}\n"
                                 "{\"answer\":\"<think>\\nshort\\n</think>\\n\\nYes.\"}\n";
    CHECK_EQ(RUN(script, "why\nreally\n", "--thinking", "30", "--ctx", "512"), 0);
    check_has(out(), "<think>\nla la la la la..\n</think>\n\nIt is 42.\n");
    check_has(out(), "<think>\nshort\n</think>\n\nYes.\n");
    CHECK_EQ(RUN(script, "why\nreally\n", "--thinking", "30", "--ctx", "512", "--json"), 0);
    check_has(out(), "\"change\":\"thinking_closed\"");
    struct event e;
    size_t closed = (size_t)(strstr(out(), "thinking_closed") - out());
    CHECK(!strstr(out() + closed + 20, "thinking_closed"));
    first_event(EV_TURN_END, &e);
    CHECK(strstr(e.turn_end.text.data, "</think>\n\nIt is 42."));
    CHECK_EQ(e.turn_end.tokens, 22 + 17); /* the tag, and what was left */
    event_free(&e);
    CHECK_EQ(RUN(script, "why\n", "-n", "60", "--ctx", "512"), 0); /* no cap: part of the answer */
    CHECK(!strstr(out(), "</think>"));
}

/* On stderr, in every form of text; a stream has it as the turn's end, and --answers asked for it. */
TEST(cli_says_that_an_answer_was_cut_and_what_allows_more)
{
    static const char thinks[] = "{\"answer\":\"<think>\\nla la \",\"end\":false}\n";
    CHECK_EQ(RUN(endless, "", "-p", "sing", "-n", "7"), 0);
    CHECK_STR(err(), "the answer was cut at 7 tokens: -n allows more\n");
    CHECK_EQ(RUN(endless, "", "-p", "sing", "-n", "1"), 0);
    CHECK_STR(err(), "the answer was cut at 1 token: -n allows more\n");
    CHECK_EQ(RUN(endless, "sing\n", "-n", "7"), 0);
    check_has(err(), "the answer was cut at 7 tokens: -n allows more\n");
    CHECK_EQ(RUN(thinks, "sing\n", "-n", "20"), 0);
    check_has(err(), "cut at 20 tokens, while the model was thinking: -n allows more, --thinking N sets more aside\n");
    CHECK_EQ(RUN(thinks, "", "-p", "sing", "-n", "20"), 0); /* --thinking is for chats */
    CHECK_STR(err(), "the answer was cut at 20 tokens, while the model was thinking: -n allows more\n");
    CHECK_EQ(RUN(endless, "", "-p", "sing", "--ctx", "64"), 0);
    check_has(err(), " tokens: the context is full\n");
    CHECK_EQ(RUN(endless, "sing\n", "--crew", "single"), 0);
    check_has(err(), " tokens: the crew's \"answer\" allows more\n");
    CHECK_EQ(RUN(hello, "", "-p", "sing"), 0);
    CHECK_STR(err(), "");
    CHECK_EQ(RUN(endless, "sing\n", "-n", "7", "--json"), 0);
    check_has(out(), "\"end\":\"length\"");
    CHECK(!strstr(err(), "was cut"));
    CHECK_EQ(RUN(endless, "sing\n", "--answers", "7", "--no-save"), 0);
    CHECK(!strstr(err(), "was cut"));
}

/* ---------------------------------------------------------------- ends from outside */

TEST(cli_interrupt_flushes_what_was_said)
{
    static const struct { int sig, status; } ends[] = {{SIGINT, 130}, {SIGTERM, 143}, {SIGHUP, 129}};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        start(endless, ARGS("-p", "sing", "-n", "3000"));
        child_close_input(&c);
        child_wait_for(&c, "la la la");
        CHECK_EQ(kill(c.pid, ends[i].sig), 0);
        CHECK_EQ(child_end(&c), ends[i].status);
        CHECK(c.out_text.len > 0 && c.out_text.data[c.out_text.len - 1] == '\n');
        CHECK_STR(err(), "");
    }
}

TEST(cli_interrupt_ends_a_wait_for_input)
{
    start(hello, ARGS("--temp", "0"));
    child_type(&c, "one\n", 4);
    child_wait_for(&c, "Hello there\n");
    CHECK_EQ(kill(c.pid, SIGINT), 0);
    CHECK_EQ(child_end(&c), 130);
}

TEST(cli_reader_that_leaves_ends_it_quietly)
{
    start(endless, ARGS("-p", "sing", "-n", "3000"));
    child_close_input(&c);
    child_wait_for(&c, "la la la");
    child_stop_reading(&c);
    CHECK_EQ(child_end(&c), 141);
    CHECK_STR(err(), "");
}

TEST(cli_full_disk_is_an_error)
{
    const char *all[CHILD_ARGS];
    if (access("/dev/full", W_OK)) SKIP("no /dev/full here");
    child_free(&c);
    collect(all, hello, ARGS("-p", "hi"));
    child_start_into(&c, all, "/dev/full");
    child_close_input(&c);
    CHECK_EQ(child_end(&c), 1);
    check_complaint("No space left");
    CHECK_EQ(RUN(hello, "", "-p", "hi", "--trace", "/dev/full"), 1);
    CHECK_STR(out(), "Hello there\n");
    check_complaint("--trace");
}

/* ---------------------------------------------------------------- events */

/* Every line of text is an event; returns how many, and how many were tokens. */
static int count_events(char *text, int *tokens, int *exit_code)
{
    int n = 0;
    *tokens = 0;
    for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1, n++) {
        struct event e;
        struct err why = {0};
        if (event_read(at, (size_t)(end - at), &e, &why)) CHECK_STR(why.text, "");
        CHECK((n == 0) == (e.kind == EV_SESSION_OPEN));
        CHECK_EQ(e.seq, n + 1);
        if (e.kind == EV_SESSION_CLOSE) *exit_code = (int)e.session_close.exit_code;
        CHECK((e.kind == EV_SESSION_CLOSE) == !end[1]);
        *tokens += e.kind == EV_TOKEN;
        event_free(&e);
    }
    return n;
}

TEST(cli_json_and_trace_are_streams_of_events)
{
    int tokens, code = -1;
    char trace[512], text[1 << 16];
    struct stat st;
    snprintf(trace, sizeof trace, "%s/trace.jsonl", check_tmpdir());
    CHECK_EQ(RUN(hello, "one\ntwo\n", "--json", "--trace", trace), 0);
    CHECK(count_events(c.out_text.data, &tokens, &code) > 6);
    CHECK_EQ(tokens, 0);
    CHECK_EQ(code, 0);
    FILE *f = fopen(trace, "r");
    CHECK(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    CHECK(count_events(text, &tokens, &code) > 6);
    CHECK(tokens >= 8); /* of "Hello there" and "Second\n" */
    CHECK_EQ(stat(trace, &st), 0);
    CHECK_EQ(st.st_mode & 0777, 0600);
}

/* A run is shorter than what samples are apart, and yet its figures are in it. */
TEST(cli_json_ends_with_the_figures_of_its_end)
{
    int64_t read = 0, written = 0, in = -1, generated = -1;
    bool closing = false;
    CHECK_EQ(RUN(NULL, "one\ntwo\n", "--json", "--no-save", "-n", "3"), 0);
    for (char *at = c.out_text.data, *end; (end = strchr(at, '\n')); at = end + 1) {
        struct event e;
        struct err why = {0};
        if (event_read(at, (size_t)(end - at), &e, &why)) CHECK_STR(why.text, "");
        if (e.kind == EV_TURN_END) read += e.turn_end.prompt_tokens, written += e.turn_end.tokens, closing = false;
        if (e.kind == EV_MEMORY) closing = true;
        if (e.kind == EV_MACHINE) in = e.machine.prefilled + e.machine.reused, generated = e.machine.generated;
        event_free(&e);
    }
    CHECK(closing); /* behind the last turn */
    CHECK(written > 0 && generated >= written);
    CHECK_EQ(in, read);
}

/* What the system counts of the process stands beside the ledger, in samples alone. */
TEST(cli_json_says_what_of_the_process_is_resident)
{
    int samples = 0;
    CHECK_EQ(RUN(NULL, "one\n", "--json", "--no-save", "-n", "3"), 0);
    for (char *at = c.out_text.data, *end; (end = strchr(at, '\n')); at = end + 1) {
        struct event e;
        struct err why = {0};
        if (event_read(at, (size_t)(end - at), &e, &why)) CHECK_STR(why.text, "");
        if (e.kind == EV_MACHINE) {
            const struct event_machine *m = &e.machine;
            CHECK(m->anonymous_bytes > 0 && m->resident_bytes > m->anonymous_bytes);
            CHECK(m->peak_bytes >= m->resident_bytes && m->ledger_bytes > 0);
            samples++;
        }
        event_free(&e);
    }
    CHECK(samples > 0);
}

/* What a session of the embedded model, asked the same twice, says of its drafts at its end. */
static void drafted_with(const char *flag, const char *n, int64_t *drafted, int64_t *right)
{
    *drafted = *right = -1;
    CHECK_EQ(RUN(NULL, "What is a KV page?\nWhat is a KV page?\n", "--json", "--no-save", flag, n), 0);
    for (char *at = c.out_text.data, *end; (end = strchr(at, '\n')); at = end + 1) {
        struct event e;
        struct err why = {0};
        if (event_read(at, (size_t)(end - at), &e, &why)) CHECK_STR(why.text, "");
        if (e.kind == EV_MACHINE) *drafted = e.machine.drafted, *right = e.machine.drafts_right;
        event_free(&e);
    }
}

TEST(cli_drafts_change_no_answer)
{
    static const char twice[] = "What is a KV page?\nWhat is a KV page?\n";
    int64_t drafted, right;
    CHECK_EQ(RUN(NULL, twice, "--no-save", "--no-draft"), 0);
    char *without = strdup(c.out_text.data);
    CHECK_EQ(RUN(NULL, twice, "--no-save"), 0);
    CHECK_STR(c.out_text.data, without);
    CHECK_EQ(RUN(NULL, twice, "--no-save", "--draft", "2"), 0);
    CHECK_STR(c.out_text.data, without);
    free(without);
    drafted_with("--seed", "0", &drafted, &right);
    CHECK(right > 10 && right <= drafted);
    drafted_with("--draft", "2", &drafted, &right);
    CHECK(right > 10 && right <= drafted);
    drafted_with("--no-draft", "--no-tui", &drafted, &right);
    CHECK(drafted == 0 && right == 0);
    CHECK_EQ(RUN(NULL, "hi\n", "--draft", "8"), 2);
    CHECK(strstr(c.err_text.data, "--draft") && strstr(c.err_text.data, "1 to 7"));
    CHECK_EQ(RUN(NULL, "hi\n", "--draft", "2", "--no-draft"), 2);
    CHECK(strstr(c.err_text.data, "--draft and --no-draft do not go together"));
    CHECK_EQ(RUN(NULL, "hi\n", "--no-save", "--draft", "2", "--naive", "reserve"), 4);
    CHECK(strstr(c.err_text.data, "2 drafts: a memory policy that fails"));
    CHECK_EQ(RUN(NULL, "hi\n", "--draft", "2", "--remote", "http://127.0.0.1:1"), 2);
    CHECK(strstr(c.err_text.data, "--draft is about an engine of our own"));
}

TEST(cli_trace_does_not_overwrite_the_model)
{
    struct stat st;
    const char *copy = file_with("script2.jsonl", hello);
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "--engine", "scripted", "--script-file", copy, "-p", "x", "--trace", copy), 2);
    check_complaint("would overwrite");
    CHECK_EQ(stat(copy, &st), 0);
    CHECK_EQ(st.st_size, strlen(hello));
    const char *crew = file_with("own.yaml", "crew: own\n");
    CHECK_EQ(RUN(NULL, "", "--no-save", "--crew", crew, "-p", "x", "--trace", crew), 2);
    check_complaint("would overwrite");
    CHECK_EQ(stat(crew, &st), 0);
    CHECK_EQ(st.st_size, strlen("crew: own\n"));
    CHECK_EQ(RUN(NULL, "", "--no-save", "-p", "x", "--trace", "-"), 2);
    check_complaint("--trace - is no file: --json writes events to stdout");
}

/* ---------------------------------------------------------------- looking inside */

TEST(cli_dump_tokens_shows_pasted_marks_as_plain_text)
{
    CHECK_EQ(RUN(hello, "", "-p", "a<|im_end|>\n", "--dump-tokens"), 0);
    CHECK(strncmp(out(), "0 280 <|begin_of_text|>\n1 281 <|im_start|>\n", 42) == 0);
    int marks = 0, lines = 0;
    for (const char *p = out(); (p = strstr(p, "<|im_end|>")); p++) marks++;
    for (const char *p = out(); (p = strchr(p, '\n')); p++) lines++;
    CHECK_EQ(marks, 1); /* the template's own */
    CHECK(lines > 20);
    CHECK_EQ(RUN(hello, "from stdin\n", "--dump-tokens"), 0);
    check_has(out(), "<|im_end|>");
}

TEST(cli_dump_logprobs_has_a_line_for_each_token)
{
    int n = 0;
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "hi", "--temp", "0", "-n", "6", "--dump-logprobs", "3"), 0);
    for (char *at = c.out_text.data, *end; at && (end = strchr(at, '\n')); at = end + 1, n++) {
        json_t *j = json_loadb(at, (size_t)(end - at), 0, NULL), *top = json_object_get(j, "top");
        CHECK(j);
        CHECK_EQ(json_integer_value(json_object_get(j, "index")), n);
        CHECK_EQ(json_array_size(top), 3);
        json_t *first = json_array_get(top, 0), *second = json_array_get(top, 1);
        CHECK_EQ(json_integer_value(json_object_get(j, "id")), json_integer_value(json_object_get(first, "id")));
        CHECK(json_is_string(json_object_get(j, "text")));
        double a = json_real_value(json_object_get(first, "logprob"));
        double b = json_real_value(json_object_get(second, "logprob"));
        CHECK(a >= b && a < 0);
        json_decref(j);
    }
    CHECK(n > 0 && n <= 6);
}

/* Nobody computes it where nobody sees it: here somebody does. */
TEST(cli_a_trace_and_a_dump_tell_the_same_log_probabilities)
{
    double said[8] = {0};
    int n = 0, traced = 0;
    const char *trace = file_with("logprobs.jsonl", "");
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "hi", "--temp", "0", "-n", "6", "--dump-logprobs", "0"), 0);
    for (char *at = c.out_text.data, *end; at && (end = strchr(at, '\n')) && n < 8; at = end + 1, n++) {
        json_t *j = json_loadb(at, (size_t)(end - at), 0, NULL);
        said[n] = json_real_value(json_object_get(j, "logprob"));
        CHECK(said[n] < 0);
        json_decref(j);
    }
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "hi", "--temp", "0", "-n", "6", "--trace", trace), 0);
    FILE *f = fopen(trace, "r");
    CHECK(f);
    for (json_t *j; (j = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL)); json_decref(j)) {
        const char *event = json_string_value(json_object_get(j, "event"));
        if (!event || strcmp(event, "token") != 0) continue;
        CHECK(traced < n);
        CHECK_NEAR(json_real_value(json_object_get(j, "logprob")), said[traced++], 1e-6);
    }
    fclose(f);
    CHECK(n > 0 && traced == n);
}

TEST(cli_same_seed_same_text)
{
    char first[4096];
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "hi", "--seed", "5", "-n", "40"), 0);
    snprintf(first, sizeof first, "%s", out());
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "hi", "--seed", "5", "-n", "40", "--threads", "1"), 0);
    CHECK_STR(out(), first);
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "-p", "hi", "--seed", "6", "-n", "40"), 0);
    CHECK(strcmp(out(), first) != 0);
}

TEST(cli_nll_of_nothing_is_refused_and_a_long_text_is_cut_in_windows)
{
    double mean;
    int tokens;
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "--nll", file_with("empty.txt", "")), 2);
    check_complaint("no token to score");
    const char *text = file_with("text.txt", "the hand and the thing and another thing, again and again; the end.");
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "--nll", text), 0);
    CHECK_EQ(sscanf(out(), "nll %lf tokens %d", &mean, &tokens), 2);
    CHECK(isfinite(mean) && mean > 0 && tokens > 17);
    CHECK_STR(err(), "");
    int whole = tokens;
    CHECK_EQ(RUN(NULL, "", "-m", MODEL, "--nll", text, "--ctx", "16"), 0);
    CHECK_EQ(sscanf(out(), "nll %lf tokens %d", &mean, &tokens), 2);
    CHECK_EQ(tokens, whole);
    check_has(err(), "windows of 16 tokens");
}

/* ---------------------------------------------------------------- real models */

static json_t *load_refs(char *folder, size_t n, const char *family)
{
    char path[600];
    const char *vectors = check_vectors();
    if (!vectors) SKIP("no shared vectors");
    snprintf(folder, n, "%s/models", vectors);
    snprintf(path, sizeof path, "%s/%s/refs.json", folder, family);
    json_t *refs = json_load_file(path, 0, NULL);
    CHECK(refs);
    return refs;
}

static void check_story(const char *model, const json_t *prompt)
{
    const char *text = json_string_value(json_object_get(prompt, "prompt"));
    json_t *ids = json_object_get(prompt, "peer_ids");
    char n[16];
    size_t i = 0;
    snprintf(n, sizeof n, "%zu", json_array_size(ids));
    CHECK_EQ(RUN(NULL, "", "-m", model, "-p", text, "--temp", "0", "-n", n, "--dump-logprobs", "0"), 0);
    for (char *at = c.out_text.data, *end; at && (end = strchr(at, '\n')); at = end + 1, i++) {
        json_t *j = json_loadb(at, (size_t)(end - at), 0, NULL);
        CHECK_EQ(json_integer_value(json_object_get(j, "id")), json_integer_value(json_array_get(ids, i)));
        json_decref(j);
    }
    CHECK(i == json_array_size(ids));
}

TEST(cli_tells_the_stories_that_the_reference_tells)
{
    char folder[512], model[600];
    json_t *refs = load_refs(folder, sizeof folder, "stories260K"), *prompt;
    size_t i;
    snprintf(model, sizeof model, "%s/stories260K/stories260K-f32.gguf", folder);
    json_t *prompts = json_object_get(json_object_get(refs, "stories260K-f32.gguf"), "prompts");
    CHECK(json_array_size(prompts) >= 5);
    json_array_foreach(prompts, i, prompt) check_story(model, prompt);
    json_decref(refs);
}

TEST(cli_nll_is_that_of_the_reference)
{
    static const struct { const char *family, *name; double tolerance; } files[] = {
        {"stories260K", "stories260K-f32.gguf", 0.002}, {"stories260K", "stories260K-f16.gguf", 0.002},
        {"stories260K-wide", "stories260K-wide-Q4_K_M.gguf", 0.02},
        {"stories260K-qwen2", "stories260K-qwen2-F32.gguf", 0.002},
    };
    char folder[512], model[600], text[600];
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        double mean;
        int tokens;
        json_t *refs = load_refs(folder, sizeof folder, files[i].family), *ref = json_object_get(refs, files[i].name);
        snprintf(model, sizeof model, "%s/%s/%s", folder, files[i].family, files[i].name);
        snprintf(text, sizeof text, "%s/nll-text.txt", folder);
        CHECK_EQ(RUN(NULL, "", "-m", model, "--nll", text), 0);
        CHECK_EQ(sscanf(out(), "nll %lf tokens %d\n", &mean, &tokens), 2);
        CHECK_EQ(tokens, json_array_size(json_object_get(ref, "nll_ids")));
        CHECK_NEAR(mean, json_real_value(json_object_get(ref, "peer_mean_nll")), files[i].tolerance);
        json_decref(refs);
    }
}

/* F32 weights and K/V against the double-precision judge: near enough that a token left out would show. */
TEST(cli_nll_scores_every_token_once)
{
    char folder[512], model[600], text[600];
    double mean;
    json_t *refs = load_refs(folder, sizeof folder, "stories260K"), *ref = json_object_get(refs, "stories260K-f32.gguf");
    snprintf(model, sizeof model, "%s/stories260K/stories260K-f32.gguf", folder);
    snprintf(text, sizeof text, "%s/nll-text.txt", folder);
    CHECK_EQ(RUN(NULL, "", "-m", model, "--nll", text, "--kv-type", "f32"), 0);
    CHECK_EQ(sscanf(out(), "nll %lf", &mean), 1);
    CHECK_NEAR(mean, json_real_value(json_object_get(ref, "numpy_f64_mean_nll")), 1e-5);
    json_decref(refs);
}

CHECK_MAIN
