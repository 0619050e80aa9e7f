/* test_cli_replay.c - `plimsoll replay --screen`: a recorded stream on the full screen, without a model. */
#include "app/session/event.h"
#include "tests/term_rig.h"
#include <sys/stat.h>

static char path[300];
static struct buf stream;
static int64_t seq;

static void add(double time, struct event e)
{
    e.seq = ++seq;
    e.time = time;
    CHECK_EQ(event_write(&e, &stream), 0);
}

static struct event said(int64_t turn, const char *text)
{
    return (struct event){.kind = EV_TURN_USER, .turn_user = {.turn = turn, .text = event_str(text)}};
}

static struct event answer(int64_t turn, const char *text)
{
    return (struct event){.kind = EV_TEXT, .text = {.turn = turn, .text = event_str(text)}};
}

static struct event end(int64_t turn, const char *text)
{
    return (struct event){.kind = EV_TURN_END, .turn_end = {
        .turn = turn, .call = 1, .end = event_str("stop"), .termination_reason = event_str("completed"),
        .text = event_str(text), .prompt_tokens = 10, .tokens = 3}};
}

static void turn(double time, int64_t n, const char *text, const char *reply)
{
    add(time, said(n, text));
    add(time + 0.1, answer(n, reply));
    add(time + 0.2, end(n, reply));
}

static void begin(void)
{
    buf_free(&stream);
    seq = 0;
}

static const char *written(void)
{
    snprintf(path, sizeof path, "%s/stream.jsonl", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(stream.data, 1, stream.len, f) == stream.len && fclose(f) == 0);
    return path;
}

/* Three turns, an hour from one to the next. */
static const char *three_turns(void)
{
    begin();
    turn(0, 1, "first question", "first answer");
    turn(3600, 2, "second question", "second answer");
    turn(7200, 3, "third question", "third answer");
    return written();
}

static void open_replay(const char *file)
{
    open_screen((const char *const[]){"replay", "--screen", file, NULL}, &wide);
}

static int leave(const char *keys)
{
    press(keys);
    return close_screen();
}

TEST(replay_screen_plays_an_hour_in_a_second)
{
    open_replay(three_turns());
    look_for("first answer");
    look_for("third answer");
    look_for("recorded, 2:00:00.2 of 2:00:00, the end");
    CHECK_EQ(leave("q"), 0);
}

TEST(replay_screen_pauses_and_goes_turn_by_turn)
{
    open_replay(three_turns());
    press(" ");
    look_for("paused");
    press("g");
    look_for("0:00.0 of");
    look_until("question", false);
    press("\033[C");
    look_for("first question");
    CHECK(!screen_has("first answer") && !screen_has("second question"));
    press("\033[C\033[C");
    look_for("third question");
    CHECK(screen_has("first answer") && screen_has("second answer") && !screen_has("third answer"));
    press("\033[D");
    look_until("third question", false);
    CHECK(screen_has("second question") && !screen_has("second answer") && screen_has("1:00:00.0 of"));
    press("G");
    look_for("third answer");
    press("++++-");
    look_for("x4, paused");
    CHECK_EQ(leave("q"), 0);
}

TEST(replay_screen_types_nothing_and_says_what_no_stream_has)
{
    open_replay(three_turns());
    press("G");
    look_for("the end");
    press("hello\r/unpin\r\033[200~pasted\033[201~");
    press("\033[17~"); /* F6 */
    look_for("recorded: this is not in a stream");
    press("\0331");
    look_for("third answer");
    CHECK(!screen_has("hello") && !screen_has("unpin") && !screen_has("pasted"));
    press("?");
    look_for("to where the turn began");
    CHECK(!screen_has("Tab"));
    press("\033");
    look_for("third answer");
    press("\006first question\r"); /* Ctrl-F: q and g are of the text that is looked for */
    look_for("search: first question");
    press("\033");
    look_until("search:", false);
    press("\003");
    look_for("Ctrl-C again leaves");
    CHECK_EQ(leave("\003"), 0);
}

/* What a recording says is for the eyes alone. */
TEST(replay_screen_shows_what_a_terminal_would_obey)
{
    begin();
    turn(0, 1, "clear\033[2J\033]0;title\007it", "and \xc2\x9b" "31m this \xe2\x80\xae too");
    open_replay(written());
    look_for("31m this"); /* vt.c fails at commands that are not the screen's */
    CHECK_EQ(leave("q"), 0);
}

TEST(replay_screen_passes_over_lines_that_are_none)
{
    begin();
    buf_puts(&stream, "no event\n");
    turn(0, 1, "a question", "an answer");
    buf_puts(&stream, "{\"event\":\"nothing\"}\r\n\n");
    turn(1, 2, "b question", "b answer"); /* behind them its place in the file is right still */
    open_replay(written());
    look_for("b answer");
    press("gG");
    look_for("b answer");
    press("\033[19~"); /* F8 */
    look_for("line 1: ");
    CHECK_EQ(leave("q"), 2);
    CHECK(strstr(c.out_text.data, "3 lines were no events"));
}

TEST(replay_screen_of_a_large_file_obeys_at_once)
{
    begin();
    for (int i = 0; i < 20000; i++) {
        char text[40];
        snprintf(text, sizeof text, "question number %d", i);
        turn(i, i, text, "an answer, and some words more");
    }
    open_replay(written());
    look_for("question number 0");
    press(" ");
    look_for("paused");
    look_until("...", false); /* all of it was read */
    press("G");
    look_for("question number 19999");
    press("\033[D\033[D");
    press("g"); /* while it is wound back */
    look_until("question", false);
    press("\033[C");
    look_for("question number 0");
    CHECK_EQ(leave("q"), 0);
}

TEST(replay_screen_of_a_file_that_was_cut_meanwhile_ends_with_a_word)
{
    open_replay(three_turns());
    look_for("the end");
    CHECK_EQ(truncate(path, 10), 0);
    CHECK_EQ(leave("g"), 2); /* it plays on from there */
    CHECK(strstr(c.out_text.data, "the file has changed"));
}

TEST(replay_screen_wants_a_terminal_and_a_file)
{
    static const struct { const char *file, *term, *part; } bad[] = {
        {"-", "xterm-256color", "needs a FILE"},   {NULL, "xterm-256color", "needs a FILE"},
        {"/nowhere", "xterm-256color", "/nowhere could not be read"}, {"/dev/null", "xterm-256color", "no regular file"},
        {path, "no-such-terminal", "no-such-terminal"},
    };
    three_turns();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const struct child_terminal t = {.term = bad[i].term, .columns = 80, .rows = 24};
        const char *const args[] = {"replay", "--screen", bad[i].file, NULL};
        child_free(&c);
        child_start_in(&c, args, &t);
        const int status = child_end(&c);
        if (status != 2 || !strstr(c.out_text.data, bad[i].part)) check_fail(__FILE__, __LINE__, "%s", c.out_text.data);
    }
    child_free(&c);
    CHECK_EQ(child_run(&c, (const char *const[]){"replay", "--screen", path, NULL}, "", 0), 2);
    CHECK(strstr(c.err_text.data, "needs a terminal; without one: plimsoll replay --text"));
    child_free(&c);
    CHECK_EQ(child_run(&c, (const char *const[]){"replay", "--screen", "--json", path, NULL}, "", 0), 2);
    CHECK(strstr(c.err_text.data, "--screen and --json: one at a time"));
    child_free(&c);
}

TEST(replay_screen_ends_with_a_signal)
{
    open_replay(three_turns());
    look_for("first answer");
    kill(c.pid, SIGTERM);
    CHECK_EQ(close_screen(), 128 + SIGTERM);
    CHECK(strstr(c.out_text.data, "\033[?1049l")); /* the terminal is as it was */
    child_free(&c);
    buf_free(&stream);
}

CHECK_MAIN
