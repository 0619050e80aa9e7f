/* The line chat at a terminal of its own: typing, Ctrl-C, Ctrl-D, and text that would like to command the terminal. */
#include "tests/check.h"
#include "tests/child.h"
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL "tests/fixtures/llama-gqa.gguf"

static struct child c;

static const char *scratch(const char *name, const char *text)
{
    static char paths[2][512];
    static unsigned next;
    char *path = paths[next++ % 2];
    snprintf(path, sizeof paths[0], "%s/%s", check_tmpdir(), name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return path;
}

static void start(const char *script, const char *ctx, const char *trace)
{
    const char *path = scratch("script.jsonl", script);
    const char *const args[] = {"-m", MODEL, "--engine", "scripted", "--script-file", path, "--ctx", ctx,
                                trace ? "--trace" : NULL, trace, NULL};
    child_free(&c);
    child_start_at_terminal(&c, args);
    child_wait_for(&c, "Ctrl-D leaves");
    child_wait_for(&c, "> ");
}

static void type(const char *text) { child_type(&c, text, strlen(text)); }

static void turn(const char *line, const char *answer)
{
    type(line);
    child_wait_for(&c, answer);
    child_wait_for(&c, "> ");
}

static int leave(void)
{
    type("\x04");
    int status = child_end(&c);
    child_free(&c);
    return status;
}

static const char hello[] = "{\"answer\":\"Hello there\"}\n{\"answer\":\"Second answer\"}\n";
static const char singer[] = "{\"answer\":\"la \",\"token_ms\":5,\"end\":false}\n{\"answer\":\"Quiet now\"}\n";

TEST(terminal_chat_streams_answers_and_ctrl_d_leaves)
{
    start(hello, "512", NULL);
    type("one\n");
    child_wait_for(&c, "Hello there\r\n");
    child_wait_for(&c, "tokens, context ");
    child_wait_for(&c, " of 512");
    child_wait_for(&c, "> ");
    turn("two\n", "Second answer\r\n");
    CHECK_EQ(leave(), 0);
}

TEST(terminal_ctrl_c_interrupts_the_answer_and_the_next_prompt_works)
{
    start(singer, "4000", NULL);
    type("sing\n");
    child_wait_for(&c, "la la la");
    type("\x03");
    child_wait_for(&c, "interrupted, its memory was free after ");
    child_wait_for(&c, " ms]");
    child_wait_for(&c, "> ");
    turn("thanks\n", "Quiet now");
    CHECK_EQ(leave(), 0);
}

TEST(terminal_ctrl_c_at_the_prompt_warns_first_and_leaves_at_the_second)
{
    start(hello, "512", NULL);
    type("half a li\x03");
    child_wait_for(&c, "Ctrl-C again leaves");
    child_wait_for(&c, "> ");
    turn("one\n", "Hello there"); /* and a turn between makes the next one the first again */
    type("\x03");
    child_wait_for(&c, "Ctrl-C again leaves");
    child_wait_for(&c, "> ");
    type("\x03");
    CHECK_EQ(child_end(&c), 130);
    child_free(&c);
}

TEST(terminal_gets_no_control_character_of_the_model)
{
    start("{\"answer\":\"\\u001b[2J\\u009b31m\\u202egood\\u007f\\r\\ttab\\nline\"}\n", "512", NULL);
    type("go\n");
    child_wait_for(&c, "^[[2J\xef\xbf\xbd" "31m\xef\xbf\xbdgood^?^M");
    child_wait_for(&c, "tab\r\nline\r\n"); /* the terminal itself may show a tab as blanks */
    child_wait_for(&c, "> ");
    CHECK_EQ(leave(), 0);
}

TEST(terminal_commands_do_what_help_says)
{
    start(hello, "512", NULL);
    turn("/help\n", "/system");
    turn("/frobnicate now\n", "no such command: /frobnicate");
    turn("/exprot\n", "no such command: /exprot; did you mean /export?");
    turn("/system\n", "there is no system message");
    turn("/system be brief\n", "system message is set");
    turn("/system\n", "be brief");
    turn("one\n", "Hello there");
    turn("/stats\n", "turns    written as chatml");
    turn("/clear\n", "a new conversation; the system message stays");
    turn("/context\n", "marks    this context is too small for summaries: the oldest leave at ");
    turn("/summary\n", "nothing was summed up, nor will be: this context is too small for summaries");
    turn("/done 7\n", "there is no task 7: none is open");
    turn("/stats\n", "of 512 tokens are what the next call carries");
    turn("\n", "");
    type("/quit\n");
    CHECK_EQ(child_end(&c), 0);
    child_free(&c);
}

TEST(terminal_three_quotes_hold_a_turn_of_several_lines)
{
    char trace[512], text[1 << 15];
    snprintf(trace, sizeof trace, "%s/trace.jsonl", check_tmpdir());
    start(hello, "512", trace);
    type("\"\"\"first\n");
    child_wait_for(&c, ". ");
    type("/clear\n");
    child_wait_for(&c, ". ");
    turn("last\"\"\"\n", "Hello there");
    turn("\"\"\"/help\"\"\"\n", "Second answer");
    CHECK_EQ(leave(), 0);
    FILE *f = fopen(trace, "r");
    CHECK(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    CHECK(strstr(text, "\"text\":\"first\\n/clear\\nlast\""));
    CHECK(strstr(text, "\"text\":\"/help\""));
}

TEST(terminal_refused_turn_says_what_to_do_and_the_chat_goes_on)
{
    char line[202];
    memset(line, 'x', 200);
    strcpy(line + 200, "\n");
    start(hello, "128", NULL);
    type(line);
    child_wait_for(&c, "plimsoll: ");
    child_wait_for(&c, "128");
    child_wait_for(&c, "the conversation is as before; /clear");
    child_wait_for(&c, "> ");
    turn("short\n", "Hello there");
    CHECK_EQ(leave(), 0);
}

TEST(terminal_turn_whose_edit_is_refused_comes_back)
{
    char line[220] = "/edit ";
    memset(line + 6, 'x', 200);
    strcpy(line + 206, "\n");
    start(hello, "128", NULL);
    turn("one\n", "Hello there");
    turn(line, "turn 1 is back as it was");
    turn("/undo\n", "the last turn is taken back: 0 are left");
    CHECK_EQ(leave(), 0);
}

TEST(terminal_turn_whose_retry_is_interrupted_can_be_brought_back)
{
    start("{\"answer\":\"Hello there\"}\n{\"answer\":\"la \",\"token_ms\":5,\"end\":false}\n", "4000", NULL);
    turn("one\n", "Hello there");
    type("/retry\n");
    child_wait_for(&c, "la la la");
    type("\x03");
    child_wait_for(&c, "is turn 1 now; /undo brings the old one back (m");
    child_wait_for(&c, "> ");
    turn("/undo\n", "turn 1 is as it was before it was asked again");
    turn("/view\n", "Hello there");
    turn("/undo\n", "the last turn is taken back: 0 are left");
    CHECK_EQ(leave(), 0);
}

TEST(terminal_line_that_the_terminal_cut_is_refused)
{
    char *line = malloc(5002);
    CHECK(line);
    memset(line, 'x', 5000);
    strcpy(line + 5000, "\n");
    start(hello, "4096", NULL);
    turn(line, "a terminal hands over at most 4095 bytes");
    free(line);
    CHECK_EQ(leave(), 0);
}

TEST(terminal_fault_of_the_engine_is_told_and_the_chat_goes_on)
{
    start("{\"answer\":\"Hello\"}\n{\"fault\":{\"pass\":3,\"text\":\"device lost\"}}\n", "512", NULL);
    turn("one\n", "plimsoll: device lost");
    turn("two\n", "Hello");
    CHECK_EQ(leave(), 0);
}

TEST(terminal_commands_show_change_and_take_back_what_a_call_carries)
{
    char line[600];
    const char *file = scratch("notes.txt", "The port of the printer is 8080.\n");
    start(hello, "2048", NULL);
    turn("/pin Be brief.\n", "pinned as");
    turn("/task call Anna\n", "noted");
    turn("/resume zz\n", "\"zz\" is no session");
    turn("/task\n", "open 1  call Anna"); /* nothing of this one is gone, though nothing was said yet */
    turn("/done 1\n", "done");
    turn("/done 1\n", "there is no task 1: none is open");
    snprintf(line, sizeof line, "/attach %s\n", file);
    turn(line, "[read {\"path\":");
    turn("one\n", "Hello there");
    turn("/context\n", "pinned");
    turn("/recall printer\n", "The port of the printer is 8080.");
    snprintf(line, sizeof line, "/ingest %s\n", file);
    turn(line, "ingested");
    turn("/artifact a1\n", "The port of the printer is 8080.");
    file = scratch("my \"old\" notes.txt", "The gate code is 4711.\n");
    snprintf(line, sizeof line, "/ingest \"%.*smy \\\"old\\\" notes.txt\" /nowhere.txt\n",
             (int)(strrchr(file, '/') + 1 - file), file);
    type(line);
    child_wait_for(&c, "ingested ");
    child_wait_for(&c, "notes.txt as a2");
    child_wait_for(&c, "/nowhere.txt");
    child_wait_for(&c, "> ");
    turn("/recall gate code\n", "The gate code is 4711.");
    turn("/ingest \"my notes.txt\n", "is no name: quotes around it");
    turn("/artifact b1\n", "/artifact a3, or a3 OFFSET");
    turn("/compact\n", "nothing");
    turn("/summary\n", "nothing was summed up yet");
    turn("/context\n", "marks    summed up above");
    turn("/for plimsoll /agents\n", "* plimsoll");
    turn("/undo\n", "the last turn is taken back: 0 are left");
    turn("/undo\n", "no turn is there to be taken back");
    turn("two\n", "tokens, context");
    turn("/retry\n", "tokens, context");
    turn("/edit three\n", "tokens, context");
    turn("/read m1-400\n", "three");
    turn("/fork 1\n", "this is a copy now");
    turn("/rename A copy\n", "it is called A copy");
    turn("/sessions\n", "A copy  (this one)");
    turn("/unpin 99\n", "99 is no pin");
    turn("/resume zz\n", "\"zz\" is no session");
    turn("/clear\n", "a new conversation");
    turn("/resume last\n", "1 turn");
    CHECK_EQ(leave(), 0);
}

static void start_crew(void)
{
    const char *path = scratch("script.jsonl", hello);
    const char *const args[] = {"-m", MODEL, "--engine", "scripted", "--script-file", path, "--ctx", "512", "--crew",
                                "debate", NULL};
    child_free(&c);
    child_start_at_terminal(&c, args);
    child_wait_for(&c, "Ctrl-D leaves");
    child_wait_for(&c, "> ");
}

/* All agents would be asked by a slip. */
TEST(terminal_line_of_a_crew_for_nobody_is_asked_of_nobody)
{
    start_crew();
    turn("@nobody hi there\n", "there is no agent nobody (first, second, judge), nor a file: nobody was asked");
    turn("@second hi there\n", "Hello there"); /* the first answer that was given */
    CHECK_EQ(leave(), 0);
}

/* A folder whose name is longer than a line that is told. */
static const char *deep_folder(void)
{
    static char path[3000];
    size_t n = (size_t)snprintf(path, sizeof path, "%s", check_tmpdir());
    while (n < 2600) {
        for (int i = 0; i < 100; i++) memcpy(path + n + 1 + 2 * i, "\xc3\xa9", 2);
        path[n] = '/';
        n += 201;
        path[n] = '\0';
        CHECK_EQ(mkdir(path, 0700), 0);
    }
    return path;
}

/* What was asked, up to its prompt, as one line. */
static const char *asked(void)
{
    static const char indent[] = "\r\n  ";
    for (int ms = 0; !c.out_text.data || !strstr(c.out_text.data, "\r\n? "); ms += 20) {
        CHECK(ms < 1000 * CHILD_PATIENCE);
        child_look(&c, 20);
    }
    for (char *at; (at = strstr(c.out_text.data, indent)); c.out_text.len -= sizeof indent - 1)
        memmove(at, at + sizeof indent - 1, strlen(at + sizeof indent - 1) + 1);
    return c.out_text.data;
}

/* A model that wants to write, and then says so. */
static void start_writer(const char *folder)
{
    static const char answers[] =
        "{\"answer\":\"<tool_call>{\\\"name\\\":\\\"write\\\",\\\"arguments\\\":{\\\"path\\\":\\\"a\\\","
        "\\\"text\\\":\\\"b\\\"}}</tool_call>\"}\n{\"answer\":\"It was denied\"}\n{\"answer\":\"To the second\"}\n"
        "{\"answer\":\"To the third\"}\n";
    const char *path = scratch("script.jsonl", answers);
    const char *const args[] = {"-m", MODEL, "--engine", "scripted", "--script-file", path, "--ctx", "4000",
                                "--tools", "write", "--workspace", folder, NULL};
    child_free(&c);
    child_start_at_terminal(&c, args);
    child_wait_for(&c, "Ctrl-D leaves");
}

/* Else a text that was pasted would allow what it asks for: its lines are turns. */
TEST(terminal_what_was_typed_before_it_was_asked_allows_nothing)
{
    const char *folder = check_tmpdir();
    char written[512];
    snprintf(written, sizeof written, "%s/a", folder);
    start_writer(folder);
    type("go\no\nand then\n");
    child_wait_for(&c, "does not answer it: it follows behind");
    child_wait_for(&c, "? ");
    CHECK(access(written, F_OK) != 0);
    type("n\n");
    child_wait_for(&c, "It was denied");
    child_wait_for(&c, "To the second");
    turn("", "To the third");
    CHECK(access(written, F_OK) != 0);
    turn("/sessions\n", " go  (this one)"); /* its words, not those of the answer that was read meanwhile */
    CHECK_EQ(leave(), 0);
}

TEST(terminal_shows_all_of_what_is_to_be_allowed_for_the_session)
{
    const char *folder = deep_folder();
    start_writer(folder);
    type("go\n");
    child_wait_for(&c, "s for this session");
    CHECK(strstr(asked(), folder) != NULL);
    turn("n\n", "It was denied");
    CHECK_EQ(leave(), 0);
}

/* A file that is dragged into a terminal comes in as one of these, by which it is. */
TEST(terminal_takes_a_name_with_blanks_in_any_quotes)
{
    static const char *const name[] = {"it's my notes.txt", "\"%sit's my notes.txt\"", "'%sit'\\''s my notes.txt'",
                                       "%sit\\'s\\ my\\ notes.txt"};
    char line[700], folder[512], word[600];
    const char *file = scratch(name[0], "The gate code is 4711.\n");
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(file, '/') + 1 - file), file);
    start(hello, "2048", NULL);
    snprintf(line, sizeof line, "/attach %s\n", file);
    turn(line, "it's my notes.txt\"}");
    for (size_t i = 1; i < COUNT_OF(name); i++) {
        const char *percent = strstr(name[i], "%s");
        snprintf(word, sizeof word, "%.*s%s%s", (int)(percent - name[i]), name[i], folder, percent + 2);
        snprintf(line, sizeof line, "/attach %s\n", word);
        turn(line, "it's my notes.txt\"}");
        snprintf(line, sizeof line, "/ingest %s\n", word);
        turn(line, "it's my notes.txt as a");
    }
    turn("/attach \"no notes.txt\"\n", "plimsoll: no notes.txt: No such file");
    turn("/attach no notes.txt\n", "plimsoll: no notes.txt: No such file");
    turn("/attach 'tis\n", "plimsoll: 'tis: No such file");
    CHECK_EQ(leave(), 0);
}

static void files_of_at_most(rlim_t bytes)
{
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    CHECK_EQ(prlimit(c.pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

/* Neither what was said is given up, nor the program, because there is no room for what comes next. */
TEST(terminal_a_full_disk_is_no_signal_and_no_conversation_is_left_for_another_on_it)
{
    start(hello, "512", NULL);
    turn("first words\n", "Hello there");
    turn("/save\n", "saved");
    files_of_at_most(0);
    turn("/clear\n", ".lock: cannot write it");
    turn("second words\n", "turn 2 is not saved yet");
    turn("/clear\n", "1 turn is not saved yet, and would be lost");
    turn("/resume last\n", "1 turn is not saved yet, and would be lost");
    files_of_at_most(RLIM_INFINITY);
    turn("/clear\n", "a new conversation");
    turn("/resume last\n", "2 turns");
    files_of_at_most(0);
    turn("third words\n", "turn 3 is not saved yet");
    files_of_at_most(RLIM_INFINITY);
    turn("/save\n", "saved again, up to turn 3");
    CHECK_EQ(leave(), 0);
    start_crew();
    files_of_at_most(0);
    turn("first words\n", "turn 1 is not saved yet");
    turn("/resume last\n", "turns are not saved yet, and would be lost");
    files_of_at_most(RLIM_INFINITY);
    turn("/save\n", "is saved again, up to turn 1");
    CHECK_EQ(leave(), 0);
}

TEST(terminal_that_is_hung_up_ends_the_program)
{
    start(singer, "4000", NULL);
    type("sing\n");
    child_wait_for(&c, "la la la");
    child_stop_reading(&c);
    c.in = -1;
    int status = child_end(&c);
    CHECK(status == 129 || status == 1); /* the signal, or the write that failed before it */
    child_free(&c);
}

CHECK_MAIN
