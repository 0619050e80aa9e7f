/* test_cli_events.c - `plimsoll events` and `plimsoll replay` as a person types them; two runs that are the same. */
#include "app/session/event.h"
#include "tests/check.h"
#include "tests/child.h"
#include <unistd.h>

/* ---------------------------------------------------------------- helpers */

static struct child c;

static int run(const char *in, size_t n_in, const char *const *args, size_t n)
{
    const char *all[CHILD_ARGS];
    CHECK(n < COUNT_OF(all));
    for (size_t i = 0; i < n; i++) all[i] = args[i];
    all[n] = NULL;
    child_free(&c);
    return child_run(&c, all, in, n_in);
}

#define ARGS(...) (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__}))
#define RUN(in, ...) run((in)->data, (in)->len, ARGS(__VA_ARGS__))

static const char *said(void) { return c.out_text.data ? c.out_text.data : ""; }
static const char *complained(void) { return c.err_text.data ? c.err_text.data : ""; }

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

static void check_complaint(const char *part)
{
    check_has(complained(), part);
    CHECK(strncmp(complained(), "plimsoll: ", 10) == 0);
    CHECK(strchr(complained(), '\n') == complained() + strlen(complained()) - 1);
}

static const char *file_with(const struct buf *bytes)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/stream.jsonl", check_tmpdir());
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes->data, 1, bytes->len, f) == bytes->len && fclose(f) == 0);
    return path;
}

static struct buf taken(void)
{
    struct buf b = c.out_text;
    c.out_text = (struct buf){0};
    return b;
}

static struct buf stream; /* lines of events, numbered as they are added */
static int64_t seq;

static void begin(void)
{
    buf_free(&stream);
    seq = 0;
}

static void add(struct event e)
{
    e.seq = ++seq;
    e.time = (double)seq / 4;
    CHECK_EQ(event_write(&e, &stream), 0);
}

#define S(s) event_str(s)

static struct event user(int64_t turn, const char *text)
{
    return (struct event){.kind = EV_TURN_USER, .turn_user = {.turn = turn, .text = S(text)}};
}

static struct event text(const char *s)
{
    return (struct event){.kind = EV_TEXT, .text = {.turn = 1, .text = S(s)}};
}

static struct event answered(const char *how, const char *s)
{
    return (struct event){.kind = EV_TURN_END, .turn_end = {
        .turn = 1, .call = 1, .end = S(how), .termination_reason = S("completed"), .text = S(s)}};
}

static struct event opened(void)
{
    return (struct event){.kind = EV_SESSION_OPEN, .session_open = {
        .version = S("1"), .engine = S("local"), .file = S("f"), .model = S("ship"), .arch = S("llama"),
        .types = S("F32"), .template = S("raw"), .ctx = 64, .seed = 7, .backend = S("cpu"), .kernels = S("k")}};
}

static struct event closed(void)
{
    return (struct event){.kind = EV_SESSION_CLOSE, .session_close = {
        .turns = 1, .termination_reason = S("completed")}};
}

/* Of six events. */
static void a_stream(void)
{
    begin();
    add(opened()), add(user(1, "What floats?")), add(text("A sh")), add(text("ip.")), add(answered("stop", "A ship."));
    add(closed());
}

/* ---------------------------------------------------------------- the command line */

TEST(cli_events_each_bad_command_line_is_one_line_and_status_2)
{
    static const struct { const char *args[4], *part; } bad[] = {
        {{"events", "--stabel"}, "no such flag: --stabel; did you mean --stable? (plimsoll events --help)"},
        {{"events", "--frobnicate"}, "no such flag: --frobnicate (plimsoll events --help)"},
        {{"events", "--stable", "--check"}, "--stable and --check: one at a time"},
        {{"events", "a", "b"}, "events takes one FILE, not also \"b\""},
        {{"events", ""}, "events needs a FILE, not an empty name"},
        {{"events", "/nowhere"}, "/nowhere could not be read: No such file"},
        {{"events", "/"}, "/: line 1: / could not be read: Is a directory"},
        {{"replay", "--text", "--json"}, "--text and --json: one at a time"},
        {{"replay", "--check"}, "no such flag: --check"},
        {{"replay", "/nowhere"}, "/nowhere could not be read: No such file"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        size_t n = 0;
        while (n < COUNT_OF(bad[i].args) && bad[i].args[n]) n++;
        CHECK_EQ(run("", 0, bad[i].args, n), 2);
        check_complaint(bad[i].part);
        CHECK_STR(said(), "");
    }
}

TEST(cli_events_and_replay_have_help)
{
    begin();
    CHECK_EQ(RUN(&stream, "events", "--help"), 0);
    check_has(said(), "plimsoll events [--stable | --check] [FILE]");
    CHECK_EQ(RUN(&stream, "replay", "-h", "/nowhere"), 0);
    check_has(said(), "plimsoll replay [--screen | --text | --json] FILE");
    CHECK_EQ(RUN(&stream, "--help"), 0);
    check_has(said(), "plimsoll events ");
    check_has(said(), "plimsoll replay ");
}

TEST(cli_events_at_a_terminal_a_stream_must_be_named)
{
    static const char *const names[] = {"events", "replay"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        child_free(&c);
        child_start_at_terminal(&c, (const char *const[]){names[i], NULL});
        child_wait_for(&c, " needs a FILE, or a stream on stdin");
        CHECK_EQ(child_end(&c), 2);
    }
}

/* ---------------------------------------------------------------- events */

TEST(cli_events_gives_the_lines_as_they_are)
{
    a_stream();
    CHECK_EQ(RUN(&stream, "events"), 0);
    CHECK_STR(said(), stream.data);
    CHECK_STR(complained(), "");
    struct buf nothing = {0};
    CHECK_EQ(RUN(&nothing, "events", file_with(&stream)), 0);
    CHECK_STR(said(), stream.data);
    CHECK_EQ(RUN(&stream, "events", "-"), 0);
    CHECK_STR(said(), stream.data);
    CHECK_EQ(RUN(&nothing, "events"), 0);
    CHECK_STR(said(), "");
}

TEST(cli_events_names_each_wrong_line_and_passes_it_over)
{
    struct buf bad = {0};
    a_stream();
    buf_puts(&bad, "no JSON\n");
    buf_put(&bad, stream.data, stream.len);
    buf_puts(&bad, "\n{\"event\":\"turn_user\"}\n");
    CHECK_EQ(RUN(&bad, "events"), 2);
    CHECK_STR(said(), stream.data);
    check_has(complained(), "plimsoll: stdin: line 1: an event is not JSON");
    check_has(complained(), "plimsoll: stdin: line 8: an event is not JSON");
    check_has(complained(), "plimsoll: stdin: line 9: an event's \"schema_version\" must be 1\n");
    CHECK_EQ(RUN(&bad, "events", "--stable"), 2);
    CHECK_EQ(RUN(&bad, "replay", "-"), 2);
    check_has(said(), "A ship.\n");
    CHECK_EQ(RUN(&bad, "events", "--check"), 2);
    CHECK_STR(said(), "6 events, 1 turn, 3 lines wrong\n");
    buf_free(&bad);
}

TEST(cli_events_of_many_wrong_lines_the_first_are_told)
{
    struct buf bad = {0};
    int lines = 0;
    for (int i = 0; i < 1000; i++) buf_puts(&bad, "\033[2J\n");
    CHECK_EQ(RUN(&bad, "events", file_with(&bad)), 2);
    for (const char *at = complained(); (at = strchr(at, '\n')); at++) lines++;
    CHECK_EQ(lines, 21);
    check_has(complained(), "stream.jsonl: 980 lines more are wrong\n");
    CHECK(!strchr(complained(), '\033'));
    buf_free(&bad);
}

TEST(cli_events_check_says_how_much_there_is)
{
    a_stream();
    CHECK_EQ(RUN(&stream, "events", "--check"), 0);
    CHECK_STR(said(), "6 events, 1 turn, 0 lines wrong\n");
    CHECK_STR(complained(), "");
    seq = 0;
    add(opened()), add(user(1, "x"));
    CHECK_EQ(RUN(&stream, "events", "--check"), 0); /* another stream behind the first */
    CHECK_STR(said(), "8 events, 2 turns, 0 lines wrong; its end is missing\n");
}

TEST(cli_events_check_finds_what_is_missing)
{
    a_stream();
    char *second = strchr(stream.data, '\n') + 1, *third = strchr(second, '\n') + 1;
    struct buf cut = {0};
    buf_put(&cut, stream.data, (size_t)(second - stream.data));
    buf_puts(&cut, third);
    CHECK_EQ(RUN(&cut, "events", "--check"), 2);
    check_complaint("stdin: line 2: its seq is 3, and the one before it has 1");
    CHECK_EQ(RUN(&cut, "events"), 0); /* each line is an event */
    cut.len = 0;
    buf_put(&cut, stream.data, (size_t)(second - stream.data));
    buf_printf(&cut, "no event\n%s", third);
    CHECK_EQ(RUN(&cut, "events", "--check"), 2);
    check_complaint("stdin: line 2: an event is not JSON"); /* and no gap beside it */
    cut.len = 0;
    buf_puts(&cut, second);
    CHECK_EQ(RUN(&cut, "events", "--check"), 2);
    check_complaint("stdin: line 1: its seq is 2, and the one before it has 0");
    cut.len = 0;
    CHECK_EQ(RUN(&cut, "events", "--check"), 2);
    check_complaint("stdin: there is no event");
    begin();
    seq = INT64_MAX - 1;
    add(closed()), seq = 0;
    add(closed());
    CHECK_EQ(RUN(&stream, "events", "--check"), 2);
    check_has(complained(), "line 2: its seq is 1, and the one before it has 9223372036854775807");
    buf_free(&cut);
}

/* A line of plimsoll's own may be longer than one that it takes from a person. */
TEST(cli_events_takes_long_lines)
{
    size_t n = 17 << 20;
    char *long_text = malloc(n + 1);
    CHECK(long_text != NULL);
    memset(long_text, 'a', n);
    long_text[n] = '\0';
    begin();
    add(user(1, long_text));
    CHECK_EQ(RUN(&(struct buf){0}, "events", file_with(&stream)), 0);
    CHECK(c.out_text.len == stream.len);
    free(long_text);
}

/* ---------------------------------------------------------------- replay */

TEST(cli_replay_shows_what_was_said_without_a_model)
{
    a_stream();
    CHECK_EQ(RUN(&stream, "replay", "-"), 0);
    CHECK_STR(said(), "[model ship (llama), context 64 tokens, seed 7]\n\n> What floats?\nA ship.\n"
                      "[1 turn, exit status 0, completed]\n");
    CHECK_STR(complained(), "");
    CHECK_EQ(RUN(&stream, "replay", "--json", "-"), 0);
    CHECK_STR(said(), stream.data);
}

TEST(cli_replay_shows_each_event_that_a_person_would_want_to_see)
{
    begin();
    add(user(1, "two\nlines")), add(answered("length", "whole"));
    add((struct event){.kind = EV_TOOL, .tool = {
        .turn = 1, .by = S("model"), .name = S("read"), .arguments = S("{\"path\":\"a\"}"), .artifact = S("a3"),
        .bytes = 9000, .tokens = 12, .text = S("t")}});
    add((struct event){.kind = EV_TOOL, .tool = {
        .turn = 1, .by = S("user"), .name = S("recall"), .arguments = S("{}"), .failed = true, .artifact = S(""),
        .bytes = 3, .tokens = 1, .text = S("t")}});
    add((struct event){.kind = EV_TOOL, .tool = {
        .turn = 1, .by = S("user"), .name = S("read"), .arguments = S("{}"), .artifact = S(""), .bytes = 900,
        .tokens = 9, .left_out = 800, .text = S("t")}});
    add((struct event){.kind = EV_STOPPED, .stopped = {
        .turn = 1, .reason = S("rounds"), .calls = 3, .name = S("read"), .arguments = S("{}"), .more = 2}});
    add((struct event){.kind = EV_CONTEXT, .context = {
        .turn = 1, .change = S("left"), .what = S("m1-m4"), .messages = 4, .tokens = 99, .times = 1}});
    add((struct event){.kind = EV_SUMMARY, .summary = {
        .turn = 1, .by = S("extract"), .reason = S("it was empty"), .what = S("m1-m4"), .tokens = 20, .items = 2,
        .text = S("s")}});
    add((struct event){.kind = EV_REFUSAL, .refusal = {
        .turn = 2, .termination_reason = S("refused_kv"), .text = S("too much")}});
    add((struct event){.kind = EV_UNDONE, .undone = {.turn = 1, .what = S("m1-m2")}});
    add((struct event){.kind = EV_RESUMED, .resumed = {
        .session = S("1"), .title = S("Ships"), .turns = 3, .tokens = 9, .parent = S("")}});
    add((struct event){.kind = EV_ERROR, .error = {.where = S("turn"), .text = S("it broke")}});
    add((struct event){.kind = EV_SAVED, .saved = {.turn = 1}});
    add((struct event){.kind = EV_MEMORY});
    CHECK_EQ(RUN(&stream, "replay", "--text", "-"), 0);
    CHECK_STR(said(), "\n> two\n> lines\nwhole\n[the answer ended: length]\n"
                      "[read, by model: {\"path\":\"a\"}: 9000 bytes, 12 tokens, clipped; the whole was artifact a3]\n"
                      "[recall, by user: {}: failed, 3 bytes, 1 token]\n"
                      "[read, by user: {}: 900 bytes, 9 tokens, clipped; 800 bytes were not kept]\n"
                      "[stopped after 3 calls of tools (rounds): read and 2 more]\n"
                      "[context: left m1-m4, 4 messages, 99 tokens]\n"
                      "[summary of m1-m4 by extract: 2 items, 20 tokens; it was empty]\n"
                      "[refused: too much]\n[why: keys and values of long sequences; too much]\n"
                      "[turn 1 was taken back]\n[Ships goes on after 3 turns]\n"
                      "[error, turn: it broke]\n");
}

TEST(cli_replay_of_a_stream_that_was_cut_shows_as_much_as_there_was)
{
    begin();
    add(user(1, "x")), add(text("half of"));
    CHECK_EQ(RUN(&stream, "replay", "-"), 0);
    CHECK_STR(said(), "\n> x\nhalf of\n");
    begin();
    add(text("one\n")), add(answered("stop", "one\n")), add(answered("stop", "two"));
    CHECK_EQ(RUN(&stream, "replay", "-"), 0);
    CHECK_STR(said(), "one\ntwo\n");
}

/* To a pipe too: a recording is what others wrote. */
TEST(cli_replay_shows_what_a_terminal_would_obey)
{
    begin();
    add(user(1, "\033]0;x\007\xe2\x80\xae")), add(text("a\033[2")), add(text("Jb\rc")), add(answered("stop", "x"));
    add((struct event){.kind = EV_TOOL, .tool = {
        .turn = 1, .by = S("\n"), .name = S("\033[2J"), .arguments = S("\xc2\x9b" "1m\r"), .artifact = S("\n]"),
        .text = S("")}});
    add((struct event){.kind = EV_ERROR, .error = {.where = S("\t"), .text = S("\xe2\x80\xae")}});
    CHECK_EQ(RUN(&stream, "replay", "-"), 0);
    CHECK_STR(said(), "\n> ^[]0;x^G\xef\xbf\xbd\na^[[2Jb^Mc\n"
                      "[\\x1b[2J, by \\n: \\u{9b}1m\\r: 0 bytes, 0 tokens, clipped; the whole was artifact \\n]]\n"
                      "[error, \\t: \\u{202e}]\n");
}

/* ---------------------------------------------------------------- stdout */

TEST(cli_events_a_full_disk_behind_stdout_is_status_1)
{
    static const char *const args[][4] = {
        {"events", NULL}, {"events", "--stable", NULL}, {"events", "--check", NULL},
        {"replay", NULL}, {"replay", "--json", NULL}};
    if (access("/dev/full", W_OK)) SKIP("no /dev/full here");
    a_stream();
    for (size_t i = 0; i < COUNT_OF(args); i++) {
        child_free(&c);
        child_start_into(&c, args[i], "/dev/full");
        child_type(&c, stream.data, stream.len);
        child_close_input(&c);
        CHECK_EQ(child_end(&c), 1);
        check_complaint("No space left");
    }
}

/* ---------------------------------------------------------------- two runs */

static const char three[] = "Hello.\nWhat is plimsoll?\nWhy does memory run out?\n";

/* The stable stream of one run, of stdout or of the trace. */
static struct buf stable_run(const char *seed, bool of_trace)
{
    char trace[300];
    snprintf(trace, sizeof trace, "%s/trace.jsonl", check_tmpdir());
    CHECK_EQ(run(three, strlen(three), ARGS("--seed", seed, "--temp", "3", "--json", "--trace", trace)), 0);
    struct buf all = taken();
    int status = of_trace ? RUN(&(struct buf){0}, "events", "--stable", trace) : RUN(&all, "events", "--stable");
    CHECK_EQ(status, 0);
    CHECK_STR(complained(), "");
    buf_free(&all);
    return taken();
}

TEST(cli_two_runs_with_one_seed_are_the_same_stable_stream)
{
    for (int of_trace = 0; of_trace < 2; of_trace++) {
        struct buf a = stable_run("1", of_trace), b = stable_run("1", of_trace), other = stable_run("2", of_trace);
        CHECK_EQ(a.len, b.len);
        CHECK_STR(a.data, b.data);
        CHECK(strcmp(strstr(a.data, "\"turn_user\""), strstr(other.data, "\"turn_user\"")) != 0); /* behind the seed */
        check_has(a.data, "\"event\":\"turn_end\",\"turn\":3,");
        check_has(a.data, "\"event\":\"session_close\"");
        CHECK_EQ(strstr(a.data, "\"event\":\"token\"") != NULL, of_trace);
        CHECK(!strstr(a.data, "\"time\":") && !strstr(a.data, "\"event\":\"memory\""));
        buf_free(&a), buf_free(&b), buf_free(&other);
    }
}

TEST(cli_a_run_is_a_stream_without_a_fault_and_replays)
{
    CHECK_EQ(run(three, strlen(three), ARGS("--seed", "1", "--json")), 0);
    struct buf all = taken();
    CHECK_EQ(RUN(&all, "events", "--check"), 0);
    check_has(said(), " events, 3 turns, 0 lines wrong\n");
    CHECK_EQ(RUN(&all, "replay", "-"), 0);
    check_has(said(), "\n> Hello.\n");
    check_has(said(), "\n> Why does memory run out?\n");
    CHECK_EQ(RUN(&all, "replay", "--json", "-"), 0);
    CHECK_STR(said(), all.data);
    buf_free(&all);
}

CHECK_MAIN
