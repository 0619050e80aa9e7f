/* test_cli_script.c - scripts on stdin: what they say, what they may, and how they fail. */
#include "tests/check.h"
#include "tests/child.h"
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL "assets/plimsoll-tiny.gguf" /* its vocabulary and its form of turns; the answers are scripted */

static struct child c;
static int n_stores;

static const char *out(void) { return c.out_text.data ? c.out_text.data : ""; }
static const char *err(void) { return c.err_text.data ? c.err_text.data : ""; }

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

static void check_hasnt(const char *text, const char *part)
{
    if (strstr(text, part)) CHECK_STR(text, part);
}

/* A name in the test's folder, with this text in it if there is one; four are kept. */
static const char *file(const char *name, const char *text)
{
    static char path[4][512];
    static unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", check_tmpdir(), name);
    if (!text) return p;
    FILE *f = fopen(p, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return p;
}

static const char answers[] = "{\"answer\":\"Ships float.\"}\n{\"answer\":\"Stones sink.\"}\n{\"answer\":\"Third\"}\n";
static const char *answered = answers; /* by the engine; each TEST that has others puts these back */

#define CALL(tool, arguments) \
    "{\"answer\":\"<tool_call>{\\\"name\\\":\\\"" tool "\\\",\\\"arguments\\\":" arguments "}</tool_call>\"}\n"

/* A store that is not there yet; until the next. */
static const char *new_store(void)
{
    static char store[512];
    snprintf(store, sizeof store, "%s/store%d", check_tmpdir(), n_stores++);
    return store;
}

static int run(const char *in, const char *const *args, size_t n)
{
    const char *all[CHILD_ARGS] = {"-m", MODEL, "--engine", "scripted", "--script-file", file("answers", answered),
                                   "--ctx", "1024"};
    size_t k = 8;
    for (size_t i = 0; i < n; i++) all[k++] = args[i];
    all[k] = NULL;
    child_free(&c);
    return child_run(&c, all, in, strlen(in));
}

#define RUN(in, ...) run(in, (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__})))
#define SCRIPT(in, ...) RUN("plimsoll 1\n" in, __VA_ARGS__)

/* ---------------------------------------------------------------- what is a script */

TEST(script_header_makes_commands_of_lines)
{
    CHECK_EQ(SCRIPT("What floats?\n/expect Ships\n/quit\nnever asked\n", "--no-save"), 0);
    CHECK_STR(out(), "Ships float.\n");
    CHECK_EQ(RUN("#!/usr/bin/plimsoll --script\nWhat floats?\n/quit\nnever asked\n", "--no-save"), 0);
    CHECK_STR(out(), "Ships float.\n");
    CHECK_EQ(RUN("What floats?\n/quit\nnever asked\n", "--no-save", "--script"), 0);
    CHECK_STR(out(), "Ships float.\n");
}

TEST(script_without_a_header_is_plain_lines)
{
    CHECK_EQ(RUN("/quit\n@mate hello\n/expect nothing of this\n", "--no-save"), 0);
    CHECK_STR(out(), "Ships float.\nStones sink.\nThird\n");
}

TEST(script_as_data_of_a_prompt_is_never_obeyed)
{
    CHECK_EQ(SCRIPT("/expect nothing of this\n/nonsense\n", "-p", "look at", "--json"), 0);
    check_has(out(), "look at\\n\\nplimsoll 1\\n/expect nothing of this\\n/nonsense");
    check_has(out(), "Ships float.");
}

TEST(script_turn_of_several_lines_is_one)
{
    CHECK_EQ(SCRIPT("<<END\nfirst\n/quit\n# no comment\nEND\n/assert turns = 1\n/view\n", "--no-save"), 0);
    check_has(err(), "  first\\n\n  /quit\\n\n  # no comment\\{<|im_end|>}");
}

TEST(script_of_a_turn_without_its_end_names_its_line)
{
    CHECK_EQ(SCRIPT("hello\n<<END\nnever ends\n", "--no-save"), 2);
    check_has(err(), "line 3: ");
    CHECK_STR(out(), "Ships float.\n");
}

/* ---------------------------------------------------------------- each command */

static const struct { const char *line; int status; const char *part; } obeyed[] = {
    {"/help", 0, "/bisect"},
    {"/clear", 0, "a new conversation"},
    {"/system", 0, "no system message"},
    {"/system Be brief.", 0, "the system message is set"},
    {"/context", 0, "a call   "},
    {"/compact", 2, "line 3: the command failed"},
    {"/summary", 2, "line 3: the command failed"},
    {"/undo", 0, "taken back: 0 are left"},
    {"/retry", 0, "tokens, context"},
    {"/edit What sinks?", 0, "tokens, context"},
    {"/edit", 2, "/edit TEXT takes"},
    {"/pin keep me", 0, "pinned as"},
    {"/pin m1", 0, "pinned as"},
    {"/pin m77", 2, "message 77"},
    {"/pin m1-2", 2, "one message at a time"},
    {"/unpin 4000", 2, "4000 is no pin"},
    {"/drop m1", 2, "m1 opened the present turn"},
    {"/drop m2", 2, "m2 has "},
    {"/drop it", 2, "/drop m12"},
    {"/for mate /stats", 2, "there is no agent mate"},
    {"/for", 2, "/for AGENT /COMMAND"},
    {"/task caulk", 0, "noted"},
    {"/done 1", 2, "line 3: "},
    {"/read m1", 0, "hello"},
    {"/read everything", 2, "/read m12 or"},
    {"/attach /nowhere/to/be/found", 2, "/nowhere/to/be/found"},
    {"/artifact a3", 2, "no artifact"},
    {"/recall", 2, "/recall WORDS"},
    {"/ingest /nowhere/to/be/found", 2, "nothing can be ingested"},
    {"/sessions", 2, "not saved here"},
    {"/resume", 2, "/resume SESSION"},
    {"/resume last", 2, "sessions are not saved here (--no-save): none can be resumed"},
    {"/fork 1", 2, "line 3: "},
    {"/rename Ships", 0, "it is called Ships"},
    {"/export", 2, "/export FILE"},
    {"/delete", 2, "/delete SESSION"},
    {"/stats", 0, "kv pool"},
    {"/agents", 0, "* plimsoll"},
    {"/use mate", 2, "there is no agent mate"},
    {"/use", 2, "/use AGENT"},
    {"/tools", 0, "nobody can be asked"},
    {"/tools off shell", 2, "the tool shell is not on"},
    {"/tools off recall", 2, "the session's own memory"},
    {"/tools off", 2, "/tools off NAME"},
    {"/tools nonsense", 2, "/tools lists them"},
    {"/tokens hello there", 0, "2 tokens, 11 bytes"},
    {"/tokens x", 0, "1 token, 1 byte\n"},
    {"/tokens", 0, "the last call had "},
    {"/memory", 0, "kv pool  1024 tokens"},
    {"/view", 0, "hello\\{<|im_end|>}"},
    {"/view mate", 2, "there is no agent mate"},
    {"/limit", 0, "calls of tools in a turn"},
    {"/limit rounds 1", 0, "rounds: 1 call of a tool in a turn"},
    {"/limit repeats 0", 2, "from 1 to "},
    {"/limit answer many", 2, "from 1 to "},
    {"/limit context 9", 2, "--ctx"},
    {"/policy", 0, "recall      auto"},
    {"/policy recall ask", 0, "when it is asked for"},
    {"/policy recall never", 2, "auto or ask"},
    {"/policy nonsense", 2, "/policy lists"},
    {"/model", 0, "scripted"},
    {"/model other.gguf", 2, "-m names another model"},
    {"/plan", 0, "it fits now"},
    {"/save", 2, "--no-save was given"},
    {"/wait", 0, "nothing goes on any more"},
    {"/expect Ships", 0, ""},
    {"/assert turns = 1", 0, ""},
    {"/quit", 0, ""},
};

TEST(script_each_command_does_what_it_says_or_fails_with_its_line)
{
    for (size_t i = 0; i < COUNT_OF(obeyed); i++) {
        char text[200];
        snprintf(text, sizeof text, "plimsoll 1\nhello\n%s\n", obeyed[i].line);
        int status = RUN(text, "--no-save");
        if (status != obeyed[i].status || !strstr(err(), obeyed[i].part))
            check_fail(__FILE__, __LINE__, "%s: status %d, %s", obeyed[i].line, status, err());
        if (status == 2) check_has(err(), "line 3: the command failed");
    }
}

/* Both say it in the same words, and the numbers add up as they are shown. */
TEST(script_figures_say_what_of_the_process_is_resident)
{
    static const char *const command[] = {"/stats", "/memory"};
    for (size_t i = 0; i < COUNT_OF(command); i++) {
        char text[60], than[8];
        double resident, most, files, own, differ, ledger;
        snprintf(text, sizeof text, "plimsoll 1\n%s\n", command[i]);
        CHECK_EQ(RUN(text, "--no-save"), 0);
        const char *line = strstr(err(), "\nprocess  ");
        CHECK(line != NULL);
        CHECK_EQ(sscanf(line, " process %lf MiB resident, %lf at most: %lf of files (program, libraries), %lf "
                        "anonymous, %lf %7s than the ledger's %lf", &resident, &most, &files, &own, &differ, than,
                        &ledger), 7);
        const bool less = strcmp(than, "less") == 0;
        CHECK(most >= resident && files > 0 && own > 0 && (less || strcmp(than, "more") == 0));
        CHECK(fabs(files + own - resident) < 0.01 && fabs((less ? own + differ : own - differ) - ledger) < 0.01);
    }
}

/* Beside the pool's tokens, which the seventh layer keeps, the six others keep a window. */
TEST(script_figures_name_what_layers_with_a_window_keep)
{
    const char *const args[] = {"-m", "tests/fixtures/gemma3-windows.gguf", "--ctx", "400", "--backend", "cpu", "-n",
                                "1", "--no-save", NULL};
    const char *in = "plimsoll 1\n/stats\n/memory\n";
    child_free(&c);
    CHECK_EQ(child_run(&c, args, in, strlen(in)), 0);
    const char *part = " MiB for 6 of 7 layers, which see 24 tokens: enough for all that can run at once\n";
    const char *first = strstr(err(), part);
    if (!first) CHECK_STR(err(), part);
    check_has(first + 1, part);
}

TEST(script_figures_say_which_experts_compute_a_token)
{
    static const struct { const char *file, *part; } rows[] = {
        {"tests/fixtures/qwen3moe.gguf", " parameters, 3 of 8 experts compute a token, F32 27\n"},
        {"tests/fixtures/qwen2moe.gguf", " experts and a shared one compute a token, F32 "}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *const args[] = {"-m", rows[i].file, "--ctx", "64", "--backend", "ref", "-n", "1", "--no-save",
                                    NULL};
        const char *in = "plimsoll 1\n/stats\n/model\n";
        child_free(&c);
        CHECK_EQ(child_run(&c, args, in, strlen(in)), 0);
        const char *first = strstr(err(), rows[i].part);
        if (!first) CHECK_STR(err(), rows[i].part);
        check_has(first + 1, rows[i].part);
    }
}

TEST(script_commands_about_saved_sessions)
{
    const char *store = new_store();
    CHECK_EQ(SCRIPT("hello\n/save\n/wait\n/sessions\n/fork 1\nagain\n/assert turns = 2\n/save\n/assert unsaved = 0\n",
                    "--store", store), 0);
    check_has(err(), "saved\n");
    check_has(err(), "(this one)");
    CHECK_EQ(SCRIPT("/save\n", "--store", new_store()), 0);
    check_has(err(), "nothing was said yet");
    CHECK_EQ(SCRIPT("/pin the ship is Ada\n/save\n", "--store", new_store()), 0);
    check_has(err(), "saved\n");
}

TEST(script_an_artifact_without_a_match_says_so)
{
    struct buf text = {0}, script = {0};
    for (int i = 0; i < 2000; i++) buf_printf(&text, "line %d of the hull\n", i);
    const char *path = file("hull", text.data);
    buf_printf(&script, "plimsoll 1\n/attach %s\n/artifact a1 /line 77 /\n/artifact a1 /mast/\n", path);
    CHECK_EQ(RUN(script.data, "--store", new_store()), 0);
    check_has(err(), "  line 77 of the hull\n");
    check_has(err(), "no line of a1 matches\n");
    check_hasnt(err(), ", 0 of ");
    buf_free(&text);
    buf_free(&script);
}

/* Who hands over a PDF is told why nothing of it will be found. */
TEST(script_a_file_that_is_no_text_is_taken_and_said_to_be_none)
{
    static const struct { const char *name, *bytes, *said; } files[] = {
        {"a.pdf", "%PDF-1.7 stream", "a.pdf is no plain text: what it says may be neither read nor found; pdftotext"},
        {"b.txt", "\xff\xfeh", "b.txt is no plain text: what it says may be neither read nor found; it is UTF-16"},
        {"c.zip", "PK", "c.zip is no plain text: what it says may be neither read nor found; give its text in a file"},
        {"d.txt", "h\xc3\xa9 \xff\xfe %PDF-", NULL}, {"empty", "", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const char *path = file(files[i].name, files[i].bytes);
        struct buf script = {0};
        if (i == 2) CHECK_EQ(truncate(path, 100), 0); /* NULs */
        for (int attach = 0; attach < 2; attach++) {
            script.len = 0;
            buf_printf(&script, "plimsoll 1\n/%s %s\n", attach ? "attach" : "ingest", path);
            CHECK_EQ(RUN(script.data, "--store", new_store()), 0);
            if (files[i].said) check_has(err(), files[i].said);
            else check_hasnt(err(), "no plain text");
        }
        buf_free(&script);
    }
}

TEST(script_unknown_command_fails_with_its_line)
{
    CHECK_EQ(SCRIPT("hello\n/frobnicate now\nnever asked\n", "--no-save"), 2);
    check_has(err(), "no such command: /frobnicate");
    check_has(err(), "\\/ begins a turn with /)");
    check_has(err(), "line 3: ");
    CHECK_STR(out(), "Ships float.\n");
}

/* ---------------------------------------------------------------- questions that nobody can answer */

TEST(script_questions_find_nobody_and_do_not_wait)
{
    const char *store = new_store();
    char text[600], path[512], line[8] = "";
    snprintf(path, sizeof path, "%s", file("exported", "mine\n"));
    snprintf(text, sizeof text, "plimsoll 1\nhello\n/export %s\nagain\n", path);
    CHECK_EQ(RUN(text, "--store", store), 0);
    CHECK_STR(out(), "Ships float.\nStones sink.\n");
    FILE *f = fopen(path, "r");
    CHECK(f && fgets(line, sizeof line, f));
    fclose(f);
    CHECK_STR(line, "mine\n");
    check_has(err(), " stays as it is: it is there already, and nobody can be asked here; name another file");
    check_hasnt(err(), "[y/N]");
    CHECK_EQ(SCRIPT("hello\n/delete last\n/sessions\n", "--store", store, "--resume", "last"), 2);
    check_has(err(), "open here");
    CHECK_EQ(SCRIPT("/delete last\n/sessions\n", "--store", store), 0);
    check_has(err(), "it stays: nobody can be asked here; /delete last now deletes it unasked");
    check_hasnt(err(), "[y/N]");
    check_has(err(), " 3 turns ");
}

/* What comes of a turn that a command asks again is what would come of the line itself. */
TEST(script_retry_and_edit_end_it_as_the_turn_would)
{
    struct buf text = {0};
    buf_puts(&text, "plimsoll 1\nWhat floats?\n/edit");
    for (int i = 0; i < 2000; i++) buf_puts(&text, " boat");
    buf_puts(&text, "\nnever asked\n");
    CHECK_EQ(RUN(text.data, "--no-save"), 3);
    check_has(err(), "stopped at line 3 of the script");
    check_hasnt(err(), "the command failed");
    CHECK_STR(out(), "Ships float.\n");
    CHECK_EQ(RUN(text.data, "--no-save", "--json"), 3);
    check_has(out(), "\"exit_code\":3,\"termination_reason\":\"refused_");
    buf_free(&text);
    answered = "{\"answer\":\"Ships float.\"}\n{\"fault\":{\"pass\":10,\"text\":\"device lost\"}}\n";
    CHECK_EQ(SCRIPT("What floats?\n/retry\nnever asked\n", "--no-save"), 4);
    check_has(err(), "device lost");
    check_has(err(), "stopped at line 3 of the script");
    CHECK_EQ(SCRIPT("What floats?\n/retry\n/isolate\n", "--no-save"), 4);
    check_has(err(), "the turn that failed last: What floats?");
    answered = answers;
    CHECK_EQ(SCRIPT("/retry\n", "--no-save"), 2); /* nothing was asked */
}

/* ---------------------------------------------------------------- expectations */

TEST(script_what_was_expected_and_is_not_is_status_6_with_its_line)
{
    static const struct { const char *line, *part; } bad[] = {
        {"/expect Stones", "line 4: "},
        {"/expect /^float/", "line 4: "},
        {"/expect /(/", "line 4: "},
        {"/assert turns = 2", "line 4: /assert: turns = 2 was expected; it is 1"},
        {"/assert turns", "line 4: /assert needs FIGURE OP VALUE"},
        {"/assert context.token < 1", "no such figure: context.token; did you mean context.tokens?"},
        {"/assert turns@nobody = 1", "line 4: /assert: no such figure: turns@nobody"},
        {"/assert turns@ = 1", "no such figure: turns@"},
        {"/assert turns = turns@nobody", "line 4: /assert: no such figure: turns@nobody"},
        {"/assert turns > agents", "line 4: /assert: turns > agents was expected; they are 1 and 1"},
        {"/assert pool.tokens@ = 1024", "no such figure: pool.tokens@"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char text[200];
        snprintf(text, sizeof text, "plimsoll 1\n# a comment\nWhat floats?\n%s\nnever asked\n", bad[i].line);
        CHECK_EQ(RUN(text, "--no-save"), 6);
        check_has(err(), bad[i].part);
        CHECK_STR(out(), "Ships float.\n");
    }
    CHECK_EQ(SCRIPT("/assert answer.tokens = 0\n", "--no-save"), 6);
    check_has(err(), "answer.tokens has no value now");
    CHECK_EQ(SCRIPT("/assert turns = 1\n", "--no-save", "--json"), 6);
    check_has(out(), "\"exit_code\":6,\"termination_reason\":\"unmet\"");
}

TEST(script_each_figure_has_its_value)
{
    CHECK_EQ(SCRIPT("What floats?\nWhat sinks?\n"
                    "/assert turns = 2\n/assert steps = 0\n/assert agents = 1\n/assert context.tokens > 20\n"
                    "/assert context.tokens < context.limit\n/assert context.tokens < context\n", "--no-save"), 6);
    check_has(err(), "line 9: /assert: no such figure: context");
    CHECK_EQ(SCRIPT("What floats?\nWhat sinks?\n"
                    "/assert context.limit = 1K\n/assert context.share < 20%\n/assert context.share > 1%\n"
                    "/assert context.messages = 4\n/assert answer.tokens > 1\n/assert answer.bytes = 12\n"
                    "/assert prompt.tokens > 20\n/assert first_token_ms >= 0\n/assert tools.calls = 0\n"
                    "/assert summaries = 0\n/assert artifacts = 0\n/assert unsaved = 0\n/assert denied = 0\n"
                    "/assert pool.tokens = 1024\n/assert pool.reserved = 0\n/assert pool.filled = 0\n"
                    "/assert pool.shared = 0\n/assert pool.cached > 16\n/assert requests.running = 0\n"
                    "/assert requests.waiting = 0\n/assert memory.weights >= 0\n/assert memory.kv >= 0\n"
                    "/assert memory.work >= 0\n/assert memory.ours >= 0\n/assert memory.ceiling >= 0\n"
                    "/undo\n/assert turns = 1\n/assert context.messages = 2\n", "--no-save"), 0);
}

TEST(script_plan_knows_the_growth_of_the_turns_before)
{
    CHECK_EQ(SCRIPT("one\n/plan\n", "--no-save"), 0);
    check_has(err(), "growth not known yet");
    CHECK_EQ(SCRIPT("one\ntwo\nthree\n/plan\n", "--no-save"), 0);
    check_has(err(), "turns until its context");
    check_has(err(), "at once  1 context as large");
}

/* ---------------------------------------------------------------- the next call */

TEST(script_view_is_the_exact_text_and_tells_tokens_from_their_look)
{
    CHECK_EQ(SCRIPT("say <|im_end|> and \\{x}\n/view\n", "--no-save", "--system", "Be brief."), 0);
    check_has(err(), "\n  \\{<|im_start|>}system\\n\n  Be brief.\\{<|im_end|>}\\n\n"
                     "  \\{<|im_start|>}user\\n\n  say <|im_end|> and \\\\{x}\\{<|im_end|>}\\n\n"
                     "  \\{<|im_start|>}assistant\\n\n  Ships float.\\{<|im_end|>}\\n\n"
                     "  \\{<|im_start|>}assistant\\n\n");
}

/* The figures of the window count calls, and its events are told: neither knows of a look. */
TEST(script_view_leaves_no_trace)
{
    static char with[8192], without[8192];
    CHECK_EQ(SCRIPT("one\ntwo\n/view\n/view\nthree\n/context\n", "--no-save"), 0);
    const char *figures = strstr(err(), "a call   ");
    CHECK(figures != NULL);
    snprintf(with, sizeof with, "%s", figures);
    CHECK_EQ(SCRIPT("one\ntwo\nthree\n/context\n", "--no-save"), 0);
    snprintf(without, sizeof without, "%s", err());
    CHECK_STR(with, without);
}

TEST(script_view_of_what_does_not_fit_any_more_is_what_will_be_sent)
{
    static char text[16384];
    size_t n = (size_t)snprintf(text, sizeof text, "plimsoll 1\n");
    for (int i = 0; i < 12; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "turn %d:", i);
        for (int k = 0; k < 60; k++) n += (size_t)snprintf(text + n, sizeof text - n, " ship");
        n += (size_t)snprintf(text + n, sizeof text - n, "\n");
    }
    snprintf(text + n, sizeof text - n, "/view\n");
    CHECK_EQ(RUN(text, "--no-save", "--summary", "off"), 0);
    check_has(err(), "turn 11: ship");
    check_hasnt(strstr(err(), "the next call,"), "turn 0: ship");
}

TEST(script_summaries_that_are_off_are_called_so)
{
    CHECK_EQ(RUN("plimsoll 1\nhello\n/context\n", "--no-save", "--summary", "off", "--ctx", "2048"), 0);
    check_has(err(), "marks    summaries are off (--summary off): the oldest leave at ");
    CHECK_EQ(RUN("plimsoll 1\nhello\n/compact\n", "--no-save", "--summary", "off", "--ctx", "2048"), 2);
    check_has(err(), "summaries are off (--summary off)\n");
    CHECK_EQ(RUN("plimsoll 1\nhello\n/summary\n", "--no-save", "--summary", "off", "--ctx", "2048"), 2);
    check_has(err(), "nothing was summed up, nor will be: summaries are off (--summary off)\n");
}

/* Numbers are given to events and marks as well. */
TEST(script_read_says_why_there_is_no_message)
{
    char line[80];
    int events = 0, messages = 0;
    for (int m = 1; m < 10; m++) {
        snprintf(line, sizeof line, "plimsoll 1\nWhat floats?\n/undo\nWhat sinks?\n/read m%d\n", m);
        const int status = RUN(line, "--store", new_store());
        check_hasnt(err(), "damaged");
        messages += status == 0;
        if (status == 0) continue;
        snprintf(line, sizeof line, "m%d is no message: it is ", m);
        check_has(err(), line);
        events++;
    }
    CHECK(events > 0 && messages > 0);
    for (int saved = 0; saved < 2; saved++) {
        const char *how = saved ? "--store" : "--no-save", *where = saved ? new_store() : NULL;
        CHECK_EQ(SCRIPT("What floats?\n/read m999\n", how, where), 2);
        check_has(err(), "there is no message m999: the last is m");
        CHECK_EQ(SCRIPT("/read m900-999\n", how, where), 2);
        check_has(err(), "there is no message m900-999");
    }
}

TEST(script_a_turn_that_is_refused_was_not_said_to_stand_as_a_line)
{
    static char text[8000] = "plimsoll 1\nhello\n";
    size_t n = strlen(text);
    while (n + 20 < 7000) n += (size_t)snprintf(text + n, sizeof text - n, "a ship ");
    snprintf(text + n, sizeof text - n, "\n");
    CHECK_EQ(RUN(text, "--no-save"), 3);
    check_has(err(), "this turn has ");
    check_hasnt(err(), "stands as a line");
}

/* ---------------------------------------------------------------- rights only shrink */

TEST(script_cannot_widen_what_it_may)
{
    static const struct { const char *line, *part; } bad[] = {
        {"/tools on shell", "--tools"},
        {"/limit rounds 5", "rounds: in the crew file"},
        {"/limit repeats 4", "repeats: in the crew file"},
        {"/limit answer 21", "-n"},
        {"/policy overcommit on", "--overcommit"},
        {"/policy naive reserve", "--naive"},
        {"/policy lockstep off", "--lockstep"},
        {"/policy summary off", "--summary"},
        {"/policy thinking 9", "--thinking"},
        {"/policy snapshots 1G", "--snapshots"},
        {"/policy index 1G", "--recall-index"},
        {"/policy store /elsewhere", "--store"},
        {"/policy recall auto", "--recall off"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char text[200];
        snprintf(text, sizeof text, "plimsoll 1\n%s\nnever asked\n", bad[i].line);
        CHECK_EQ(RUN(text, "--no-save", "-n", "20", "--recall", "off"), 2);
        check_has(err(), bad[i].part);
        check_has(err(), "line 2: the command failed");
        CHECK_STR(out(), "");
    }
    CHECK_EQ(SCRIPT("/limit answer 257\n", "--no-save"), 2); /* of 1024, 256 are set aside */
    CHECK_EQ(SCRIPT("/limit answer 256\n", "--no-save"), 0);
}

TEST(script_limits_are_raised_by_who_is_at_a_terminal)
{
    const char *args[] = {"-m", MODEL, "--engine", "scripted", "--script-file", file("answers", answers), "--ctx",
                          "1024", "--no-save", "-n", "20", NULL};
    child_free(&c);
    child_start_at_terminal(&c, args);
    child_wait_for(&c, "> ");
    child_type(&c, "/limit rounds 9\n", 16);
    child_wait_for(&c, "rounds: 9 calls");
    child_type(&c, "/limit answer 300\n", 18);
    child_wait_for(&c, "answer: 300 tokens");
    child_type(&c, "/plan\n", 6);
    child_wait_for(&c, "reserves 300 more");
    child_type(&c, "/limit answer 5000\n", 19);
    child_wait_for(&c, "plimsoll: ");
    child_type(&c, "/limit\n", 7);
    child_wait_for(&c, "answer   300 tokens");
    child_type(&c, "/quit\n", 6);
    CHECK_EQ(child_end(&c), 0);
}

TEST(script_limit_that_was_lowered_holds_and_stays)
{
    CHECK_EQ(SCRIPT("/limit answer 2\nWhat floats?\n/assert answer.tokens = 2\n/limit answer 3\n", "--no-save"), 2);
    check_has(err(), "answer 3 is more than 2");
    CHECK_EQ(SCRIPT("/limit answer 2\n/clear\nWhat floats?\n/assert answer.tokens = 2\n/plan\n", "--no-save"), 0);
    check_has(err(), "reserves 2 more for the answer");
}

TEST(script_limit_of_rounds_ends_calls)
{
    answered = CALL("calculator", "{\\\"expression\\\":\\\"6*7\\\"}");
    CHECK_EQ(SCRIPT("/limit rounds 1\nWhat is it?\n/assert tools.calls = 1\n", "--no-save", "--tools", "calculator"),
             0);
    CHECK_EQ(SCRIPT("/limit repeats 2\nWhat is it?\n/assert tools.calls = 2\n", "--no-save", "--tools", "calculator"),
             0);
    answered = answers;
}

/* Who reads stdout alone sees why there is no answer, and so does what a script expects. */
TEST(script_an_agent_that_was_stopped_says_so_where_its_answer_would_stand)
{
    static const char said[] = "[stopped after 1 call of tools (rounds): calculator {\"expression\":\"6*7\"} was not "
                               "called]\n";
    answered = CALL("calculator", "{\\\"expression\\\":\\\"6*7\\\"}");
    CHECK_EQ(SCRIPT("/limit rounds 1\nWhat is it?\n/expect [stopped after 1 call\n/assert answer.bytes = 88\n",
                    "--no-save", "--tools", "calculator"), 0);
    CHECK_STR(out(), said);
    check_hasnt(err(), "[stopped");
    CHECK_EQ(SCRIPT("/limit rounds 1\nWhat is it?\n", "--no-save", "--tools", "calculator", "--json"), 0);
    check_has(out(), "\"event\":\"stopped\"");
    check_hasnt(out(), "[stopped");
    check_has(err(), said);
    answered = "{\"answer\":\"<think>hm</think> <tool_call>{\\\"name\\\":\\\"calculator\\\",\\\"arguments\\\":{}}\\n"
               "</tool_call>\"}\n";
    CHECK_EQ(RUN("What is it?\n", "--no-save", "--tools", "calculator"), 0);
    check_has(out(), "<think>hm</think> \n[stopped after 3 calls of tools (repeats): calculator {} was not called]\n");
    answered = answers;
}

/* Of a call below words the words are shown, and it is made; one in a line is words. */
TEST(script_a_call_may_stand_below_words)
{
    static const char calls[] = "<tool_call>{\\\"name\\\":\\\"calculator\\\",\\\"arguments\\\":{\\\"expression\\\":"
                                "\\\"6*7\\\"}}</tool_call>";
    char text[600];
    for (int pause = 0; pause < 2; pause++) {
        snprintf(text, sizeof text, "{\"answer\":\"<think>hm</think> I reckon <tool.%s%s\"}\n{\"answer\":\"It is "
                 "42.\"}\n", pause ? "\\n\\n" : "\\n", calls);
        answered = text;
        CHECK_EQ(RUN("What is it?\n", "--no-save", "--tools", "calculator"), 0);
        CHECK_STR(out(), pause ? "<think>hm</think> I reckon <tool.\n\nIt is 42.\n"
                               : "<think>hm</think> I reckon <tool.\nIt is 42.\n");
        check_has(err(), "[calculator {\"expression\":\"6*7\"}: ");
    }
    snprintf(text, sizeof text, "{\"answer\":\"So: %s\"}\n", calls);
    answered = text;
    CHECK_EQ(RUN("What is it?\n", "--no-save", "--tools", "calculator"), 0);
    check_has(out(), "So: <tool_call>{\"name\":");
    answered = answers;
}

/* What a part of a map says goes to stdout in one piece, when it has ended. */
TEST(script_an_agent_of_a_map_that_was_stopped_says_so_too)
{
    const char *crew = file("crew.yaml", "crew: test\nagents:\n  - {name: ann, tools: [calculator], rounds: 1}\n"
                                         "  - {name: lea}\nflow: {kind: map, members: [ann], lead: lea}\n");
    answered = CALL("calculator", "{\\\"expression\\\":\\\"1\\\"}") CALL("calculator", "{\\\"expression\\\":\\\"2\\\"}")
               "{\"answer\":\"fine\"}\n";
    CHECK_EQ(RUN("one\n", "--no-save", "--tools", "calculator", "--crew", crew, "--ctx", "2048"), 0);
    CHECK_STR(out(), "ann/1: [stopped after 1 call of tools (rounds): calculator {\"expression\":\"2\"} was not "
                     "called]\nlea: fine\n");
    check_hasnt(err(), "stopped after"); /* once is enough */
    answered = answers;
}

/* A long question and long results: the question itself stands in the context as a line when the turn ends. */
TEST(script_a_turn_whose_question_stands_as_a_line_is_taken_back_and_asked_again)
{
    char dir[512];
    struct buf text = {0}, script = {0};
    for (int i = 0; i < 200; i++) buf_printf(&text, "line %d of the hull\n", i);
    snprintf(dir, sizeof dir, "%s", file("hull", text.data));
    *strrchr(dir, '/') = '\0';
    buf_puts(&script, "plimsoll 1\nfirst\nlook:");
    for (int i = 0; i < 330; i++) buf_puts(&script, " ship");
    buf_puts(&script, "\n/retry\n/undo\n/assert turns = 1\n/retry\n/assert turns = 1\n");
    answered = "{\"answer\":\"Well.\"}\n" CALL("read", "{\\\"path\\\":\\\"hull\\\"}")
               CALL("read", "{\\\"path\\\":\\\"hull\\\",\\\"from\\\":2}") "{\"answer\":\"Seen.\"}\n"
               CALL("read", "{\\\"path\\\":\\\"hull\\\"}")
               CALL("read", "{\\\"path\\\":\\\"hull\\\",\\\"from\\\":2}") "{\"answer\":\"Seen again.\"}\n";
    CHECK_EQ(RUN(script.data, "--tools", "read", "--workspace", dir, "--store", new_store(), "--result-share", "40"),
             0);
    check_has(err(), "is too large for the context and stands as a line");
    check_has(out(), "Seen again.");
    answered = answers;
    buf_free(&text);
    buf_free(&script);
}

/* Of all that a tool may write over, what was said is the last. */
TEST(script_no_tool_reaches_the_store)
{
    char dir[512], store[600];
    snprintf(dir, sizeof dir, "%s", file("workshop", NULL));
    snprintf(store, sizeof store, "%s/store", dir);
    CHECK(mkdir(dir, 0700) == 0);
    CHECK_EQ(SCRIPT("hello\n", "--tools", "read", "--workspace", dir, "--store", store), 2);
    check_has(err(), "lies where tools could read and change it");
    check_has(err(), "name another --store or --workspace");
    CHECK_STR(out(), "");
    CHECK_EQ(SCRIPT("hello\n", "--tools", "calculator", "--workspace", dir, "--store", store), 0);
    CHECK_EQ(SCRIPT("hello\n", "--tools", "all", "--workspace", dir, "--store", new_store()), 0);
}

TEST(script_tools_that_are_off_are_off)
{
    char dir[512];
    snprintf(dir, sizeof dir, "%s", file("workspace", NULL));
    CHECK(mkdir(dir, 0700) == 0);
    answered = CALL("write", "{\\\"path\\\":\\\"f\\\",\\\"text\\\":\\\"x\\\"}") "{\"answer\":\"Done.\"}\n";
    CHECK_EQ(SCRIPT("write it\n/assert denied = 1\n/tools\n", "--no-save", "--tools", "write", "--workspace", dir), 5);
    check_has(err(), "  write        writes");
    check_has(err(), "denied: write {\"path\":\"f\"");
    CHECK_EQ(SCRIPT("/view\n/tools off write\n/tools\nwrite it\n/assert denied = 0\n/view\n", "--no-save", "--tools",
                    "write", "--allow", "write", "--workspace", dir), 0);
    check_has(err(), "write is off, and stays off");
    const char *after = strstr(err(), "stays off");
    check_has(err(), "write(path, text)");
    check_hasnt(after, "write(path, text)");
    check_hasnt(after, "  write   ");
    check_has(after, "no such tool: write");
    CHECK_EQ(rmdir(dir), 0); /* nothing was written in it */
    answered = answers;
}

/* What is saved of a session are the tools of then; the model is told of those that there are now. */
TEST(script_tells_the_model_of_the_tools_that_there_are)
{
    const char *store = new_store();
    CHECK_EQ(SCRIPT("hello\n", "--store", store), 0);
    CHECK_EQ(SCRIPT("/view\nagain\n", "--store", store, "--resume", "last", "--tools", "calculator"), 0);
    check_has(err(), "calculator(expression)");
    CHECK_EQ(SCRIPT("/view\n", "--store", store, "--resume", "last", "--tools", "calculator,list"), 0);
    check_has(err(), "list(path)");
    CHECK_EQ(SCRIPT("/view\nonce more\n", "--store", store, "--resume", "last"), 0);
    check_has(err(), "hello\\{<|im_end|>}");
    check_hasnt(err(), "calculator(");
}

TEST(script_tool_that_is_off_does_not_come_back_with_what_is_taken_back)
{
    CHECK_EQ(SCRIPT("hello\nagain\n/tools off calculator\n/undo\n/view\n", "--no-save", "--tools",
                    "calculator,list"), 0);
    const char *after = strstr(err(), "stays off");
    check_has(after, "list(path)");
    check_hasnt(after, "calculator(");
}

/* ---------------------------------------------------------------- a crew */

static const char *crew(void)
{
    return file("crew.yaml", "crew: pair\nagents:\n"
                             "  - name: writer\n    system: You write.\n    tools: [calculator]\n    answer: 30\n"
                             "  - name: critic\n    system: You judge.\n    tools: [calculator]\n    context: 512\n"
                             "flow:\n  kind: round_robin\n  members: [writer, critic]\n  steps: 3\n");
}

TEST(script_names_the_agents_that_there_are)
{
    CHECK_EQ(SCRIPT("@nobody hello\n", "--no-save", "--crew", crew()), 2);
    check_has(err(), "line 2: there is no agent nobody (writer, critic)");
    CHECK_EQ(SCRIPT("@nobody hello\n", "--no-save"), 2);
    check_has(err(), "--crew gives several");
    CHECK_EQ(SCRIPT("/use nobody\n", "--no-save", "--crew", crew()), 2);
    check_has(err(), "there is no agent nobody (writer, critic)");
}

/* They are saved in turns by one store: each gets its own back. */
TEST(script_asks_agents_one_by_one)
{
    CHECK_EQ(SCRIPT("@writer What floats?\n@critic What sinks?\n/expect Stones\n@writer And?\n"
                    "/assert turns@writer = 2\n/assert turns@critic = 1\n/assert turns = 2\n"
                    "/assert answer.bytes@critic = 12\n/assert context.limit@critic = 512\n"
                    "/use critic\n/assert turns = 1\n/assert context.limit = 512\n/save\n/assert unsaved@writer = 0\n"
                    "/agents\n/memory\n/view\n/view writer\n", "--crew", crew(), "--store", new_store()), 0);
    check_has(out(), "writer: Ships float.\ncritic: Stones sink.\nwriter: Third\n");
    check_has(err(), "  writer       2 turns");
    check_has(err(), "* critic       1 turn,");
    check_has(err(), "of 512 tokens; tools calculator");
    check_has(err(), "round_robin, at most 3 asks");
    check_has(err(), "tokens alone");
    const char *own = strstr(err(), "the next call,"), *other = strstr(err(), "the next call of writer,");
    CHECK(own && other && own < other);
    check_has(own, "You judge.");
    check_has(other, "You write.");
    check_hasnt(other, "You judge.");
}

TEST(script_runs_the_flow_and_counts_its_steps)
{
    CHECK_EQ(SCRIPT("What floats?\n/assert steps = 3\n/assert agents = 2\n/assert turns@writer = 2\n"
                    "/assert turns@critic = 1\n/assert steps <= 2\n", "--crew", crew(), "--store", new_store()), 6);
    check_has(err(), "line 7: /assert: steps <= 2 was expected; it is 3");
}

TEST(script_drops_a_tool_for_all_agents)
{
    CHECK_EQ(SCRIPT("/tools off calculator\n/agents\n/view writer\n/view critic\n", "--no-save", "--crew", crew()), 0);
    check_hasnt(strstr(err(), "stays off"), "calculator(");
    check_hasnt(err(), "tools calculator");
}

TEST(script_cannot_raise_what_the_crew_file_limits)
{
    CHECK_EQ(SCRIPT("/limit answer 31\n", "--no-save", "--crew", crew()), 2);
    check_has(err(), "answer 31 is more than 30: -n, or answer: in the crew file");
    CHECK_EQ(SCRIPT("/limit answer 2\nWhat floats?\n/assert answer.tokens = 2\n", "--no-save", "--crew", crew()), 0);
}

/* A flow's copies of an agent are opened anew. */
TEST(script_limit_holds_for_the_copies_of_an_agent)
{
    const char *many = file("many.yaml", "crew: many\nagents:\n  - name: worker\n  - name: chief\n"
                                         "flow:\n  kind: map\n  lead: chief\n  members: [worker]\n");
    CHECK_EQ(SCRIPT("/limit answer 2\n<<END\none\ntwo\nEND\n/assert steps = 3\n/assert turns = 0\n", "--no-save",
                    "--crew", many), 0);
    check_has(out(), "worker/1: ");
    check_hasnt(out(), "worker/1: Ships float.");
    check_hasnt(out(), "worker/2: Stones sink.");
    CHECK_EQ(SCRIPT("<<END\none\ntwo\nEND\n", "--no-save", "--crew", many), 0);
    check_has(out(), "worker/1: Ships float.\nworker/2: Stones sink.\n");
}

CHECK_MAIN
