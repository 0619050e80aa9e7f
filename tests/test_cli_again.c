/* /isolate and /bisect as a script's author meets them: what failed is done again, and why is said. */
#include "app/opts.h"
#include "tests/check.h"
#include "tests/child.h"
#include <dirent.h>
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

/* The scripted engine, if answers is not NULL, obeys the script; n_flags flags behind. */
static int run(const char *answers, const char *script, const char *const *flag, size_t n_flags)
{
    const char *all[CHILD_ARGS], *model[] = {"-m", MODEL, "--engine", "scripted", "--script-file", NULL};
    size_t k = 0;
    child_free(&c);
    if (answers) model[5] = file_with("answers.jsonl", answers);
    for (size_t i = 0; answers && i < COUNT_OF(model); i++) all[k++] = model[i];
    all[k++] = "--script";
    for (size_t i = 0; i < n_flags; i++) all[k++] = flag[i];
    all[k] = NULL;
    return child_run(&c, all, script, strlen(script));
}

#define FLAGS(...) (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__}))
#define RUN(answers, script, ...) run(answers, script, FLAGS(__VA_ARGS__))

static const char *out(void) { return c.out_text.data ? c.out_text.data : ""; }
static const char *err(void) { return c.err_text.data ? c.err_text.data : ""; }

static void check_has(const char *part)
{
    if (!strstr(err(), part)) CHECK_STR(err(), part);
}

/* The line of stderr that begins with this (blanks before it aside), in words with one blank between. */
static const char *row(const char *begins)
{
    static char words[300];
    size_t n = 0;
    for (const char *at = err(); *at; at += strcspn(at, "\n"), at += *at == '\n') {
        at += strspn(at, " ");
        if (strncmp(at, begins, strlen(begins))) continue;
        for (size_t i = 0; at[i] && at[i] != '\n' && n + 1 < sizeof words; i++)
            if (at[i] != ' ' || at[i + 1] != ' ') words[n++] = at[i];
        break;
    }
    words[n] = '\0';
    return words;
}

static int times(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

/* ---------------------------------------------------------------- /isolate */

static const char breaks_once[] =
    "{\"answer\":\"One two three\"}\n{\"fault\":{\"pass\":16,\"text\":\"device lost\"}}\n";

static const char breaks_first[] = "{\"answer\":\"One two\"}\n{\"fault\":{\"pass\":2,\"text\":\"x\"}}\n";

TEST(isolate_a_fault_behind_a_conversation_does_not_come_again_without_it)
{
    CHECK_EQ(RUN(breaks_once, "Hello\nAnd now?\n/isolate\nnever asked\n", "--no-save", "-n", "16"), 4);
    check_has("stopped at line 2 of the script");
    check_has("the turn that failed last: And now?\n");
    CHECK_STR(row("ended"), "ended fault answered");
    int then = 0, alone = 0;
    CHECK_EQ(sscanf(row("prompt tokens"), "prompt tokens %d %d", &then, &alone), 2);
    CHECK(then > alone && alone > 0);
    CHECK_STR(row("requests running"), "requests running 1 1");
    CHECK_EQ(sscanf(row("pool tokens promised"), "pool tokens promised %d %d", &then, &alone), 2);
    CHECK(then > alone && alone > 16);
    check_has("then:  device lost");
    check_has("alone it works: it failed for what its context carried\n");
    CHECK_EQ(times(out(), "One two three"), 1); /* the answer of the second time is not the conversation's */
    CHECK_EQ(times(err(), "never asked"), 0);
}

TEST(isolate_of_the_first_turn_says_that_it_does_not_fail_always)
{
    CHECK_EQ(RUN(breaks_first, "Hello\n/isolate\n", "--no-save"), 4);
    check_has("alone it works, from the same prompt and with nothing beside it then either: it does not fail always");
}

TEST(isolate_a_turn_that_never_fits_fails_alone_too)
{
    struct buf script = {0};
    for (int i = 0; i < 900; i++) buf_puts(&script, "word ");
    buf_puts(&script, "\n# why?\n\n/isolate\n");
    CHECK_EQ(RUN("{\"answer\":\"no\"}\n", script.data, "--no-save"), 3);
    CHECK_STR(row("ended"), "ended refused refused");
    CHECK_STR(row("requests running"), "requests running 0 0");
    check_has("alone: this turn has ");
    check_has("alone it fails too: the turn itself, not the company\n");
    buf_free(&script);
}

TEST(isolate_without_a_failure_says_so_and_the_script_goes_on)
{
    CHECK_EQ(RUN("{\"answer\":\"fine\"}\n", "/isolate\nHello\n/isolate\nHello\n", "--no-save"), 0);
    CHECK_EQ(times(err(), "no turn has failed"), 2);
    CHECK_EQ(times(out(), "fine"), 2);
    CHECK_EQ(RUN("{\"answer\":\"fine\"}\n", "/isolate now\n", "--no-save"), 2);
}

/* Not directly behind the failure: what is between was written for a session in which it did not fail. */
TEST(isolate_behind_another_line_is_not_obeyed)
{
    CHECK_EQ(RUN(breaks_once, "Hello\nAnd now?\n/stats\n/isolate\n", "--no-save"), 4);
    CHECK_EQ(times(err(), "the turn that failed"), 0);
}

TEST(isolate_an_agent_that_was_stopped_and_the_figures_are_without_it)
{
    static const char endless[] =
        "{\"answer\":\"<tool_call>{\\\"name\\\":\\\"calculator\\\",\\\"arguments\\\":{\\\"expression\\\":\\\"1+1\\\"}}"
        "</tool_call>\"}\n";
    CHECK_EQ(RUN(endless, "Compute\n/isolate\n", "--no-save", "--tools", "calculator", "--json", "--ctx",
                 "4096"), 0);
    CHECK_STR(row("ended"), "ended stopped: repeats stopped: repeats");
    CHECK_STR(row("calls of tools"), "calls of tools 3 3");
    check_has("alone it fails too");
    CHECK_EQ(times(out(), "\"event\":\"stopped\",\"agent\":\"(alone)\""), 1);
    CHECK(strstr(out(), "\"event\":\"session_close\",\"turns\":1,")); /* the program's figures are without it */
}

TEST(isolate_a_policy_that_failed_is_not_in_force_any_more)
{
    CHECK_EQ(RUN(NULL, "Hello.\n/isolate\n", "-n", "9", "--no-save", "--ctx", "2048", "--vram", "24M", "--naive",
                 "f32"), 3);
    CHECK_STR(row("ended"), "ended out_of_memory answered");
    check_has("alone it works: the memory policy that failed then has been replaced since");
}

static const char three_at_once[] =
    "crew: parts\n"
    "agents:\n"
    "  - name: reader\n"
    "    system: Read.\n"
    "    context: 128\n"
    "    answer: 16\n"
    "  - name: writer\n"
    "    system: Write.\n"
    "    context: 512\n"
    "    answer: 16\n"
    "flow:\n"
    "  kind: map\n"
    "  members: [reader]\n"
    "  lead: writer\n"
    "  retries: 0\n"
    "  split: lines\n";

TEST(isolate_an_ask_of_a_flow_is_rid_of_what_stood_beside_it)
{
    const char *crew = file_with("crew.yaml", three_at_once);
    CHECK_EQ(RUN("{\"answer\":\"One two\"}\n{\"fault\":{\"pass\":3,\"text\":\"device lost\"}}\n",
                 "<<END\nfirst line\nsecond line\nthird line\nEND\n/isolate\n", "--no-save", "--crew", crew), 4);
    check_has("the turn that failed last, of reader: ");
    CHECK_STR(row("requests running"), "requests running 3 1");
    check_has("alone it works: it failed for what stood beside it\n");
}

/* ---------------------------------------------------------------- /bisect */

static const char calls_once[] =
    "{\"answer\":\"<tool_call>{\\\"name\\\":\\\"calculator\\\",\\\"arguments\\\":"
    "{\\\"expression\\\":\\\"1+1\\\"}}</tool_call>\"}\n{\"answer\":\"hello\"}\n";

/* A folder for what runs would leave. */
static const char *runs_folder(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/runs", check_tmpdir());
    mkdir(path, 0700);
    setenv("TMPDIR", path, 1);
    return path;
}

static int left_in(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    CHECK(d);
    for (struct dirent *e; (e = readdir(d));) n += strncmp(e->d_name, "plimsoll-bisect", 15) == 0;
    closedir(d);
    return n;
}

/* The trace is of one run of the program, and whole; part: in it. */
static void check_one_run(const char *trace, int status, const char *part)
{
    char *line = NULL, last[40];
    size_t cap = 0;
    int opened = 0, closed = 0, parts = 0;
    FILE *f = fopen(trace, "r");
    CHECK(f);
    snprintf(last, sizeof last, "\"exit_code\":%d,", status);
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0;) {
        CHECK_EQ(strlen(line), n); /* no hole where another has cut it */
        opened += strstr(line, "\"event\":\"session_open\"") != NULL;
        closed += strstr(line, last) != NULL;
        parts += strstr(line, part) != NULL;
    }
    fclose(f);
    free(line);
    CHECK_EQ(opened, 1);
    CHECK_EQ(closed, 1);
    CHECK(parts > 0);
}

TEST(bisect_names_the_one_thing_that_cures_a_script)
{
    const char *runs = runs_folder();
    char store[512], trace[512];
    snprintf(store, sizeof store, "%s/store", check_tmpdir());
    snprintf(trace, sizeof trace, "%s/trace.jsonl", check_tmpdir());
    CHECK_EQ(RUN(calls_once, "plimsoll 1\nCompute\n/expect tool_call\n# why?\n/bisect\n", "--tools=calculator", "--ctx",
                 "1024", "--store", store, "--trace", trace), 6);
    CHECK(strncmp(row("as it was"), "as it was exit status 6 ", 24) == 0);
    check_has(": line 3: /expect: the answer has no \"tool_call\"; it is \"hello\"\n"); /* the line of this script */
    CHECK(strncmp(row("without tools"), "without tools exit status 0 ", 28) == 0);
    CHECK(strncmp(row("without recall"), "without recall exit status 6 ", 29) == 0);
    CHECK(strncmp(row("without summaries"), "without summaries exit status 6 ", 32) == 0);
    CHECK(strncmp(row("without pages kept on disk"), "without pages kept on disk exit status 6 ", 41) == 0);
    CHECK_STR(row("it passes"), "it passes without tools");
    CHECK_EQ(times(err(), "exit status"), 5); /* what is not on is not tried */
    CHECK_EQ(times(out(), "hello"), 1);
    CHECK_EQ(left_in(runs), 0);
    const char *const list[] = {"sessions", "list", "--store", store, NULL};
    child_free(&c);
    CHECK_EQ(child_run(&c, list, "", 0), 0);
    CHECK_EQ(times(out(), "Compute"), 1);
    check_one_run(trace, 6, "\"event\":\"tool\"");
}

TEST(bisect_a_script_that_passes_or_that_nothing_cures)
{
    CHECK_EQ(RUN("{\"answer\":\"fine\"}\n", "Hello\n/bisect\nHello\n/bisect\n", "--no-save"), 0);
    CHECK_EQ(times(err(), "nothing fails: run again as it was, the script passes"), 2);
    CHECK_EQ(times(out(), "fine"), 2);
    CHECK_EQ(times(err(), "run again, at most"), 2); /* the second does not run the first again */
    CHECK_EQ(RUN("{\"answer\":\"fine\"}\n", "Hello\n/bisect\n/expect gone\n/bisect\n", "--no-save"), 6);
    CHECK_EQ(times(err(), "line 3: /expect"), 4); /* said here, and by three runs: lines keep their numbers */
    CHECK_EQ(RUN("{\"answer\":\"fine\"}\n", "Hello\n/expect gone\n/bisect\n", "--no-save", "--overcommit", "--thinking",
                 "32", "--recall", "off"), 6);
    CHECK(strncmp(row("without overcommitment"), "without overcommitment exit status 6 ", 37) == 0);
    CHECK(strncmp(row("without thinking set aside"), "without thinking set aside exit status 6 ", 41) == 0);
    CHECK_STR(row("without recall"), "");
    CHECK_STR(row("none of them"), "none of them alone: it fails with each of 3 things off");
}

/* A variable is as good as a flag: the program is started by a script that sets two.  The trace is a descriptor that
 * other runs do not have: they would say that it cannot be opened. */
TEST(bisect_takes_variables_away_too)
{
    char *real = realpath(child_program(), NULL), text[2048], trace[512];
    CHECK(real);
    snprintf(trace, sizeof trace, "%s/trace.jsonl", check_tmpdir());
    snprintf(text, sizeof text, "#!/bin/sh\nexec 9>'%s'\n"
             "PLIMSOLL_TRACE=/dev/fd/9 PLIMSOLL_THINKING=9 exec '%s' \"$@\"\n", trace, real);
    const char *wrapper = file_with("thinks", text), *was = getenv("PLIMSOLL_BIN");
    char *before = was ? strdup(was) : NULL;
    CHECK_EQ(chmod(wrapper, 0700), 0);
    setenv("PLIMSOLL_BIN", wrapper, 1);
    int status = RUN(breaks_first, "Hello\n/bisect\n/isolate\n", "--no-save");
    if (before) setenv("PLIMSOLL_BIN", before, 1);
    else unsetenv("PLIMSOLL_BIN");
    free(before);
    free(real);
    CHECK_EQ(status, 4);
    CHECK(strncmp(row("without thinking set aside"), "without thinking set aside exit status 4 ", 41) == 0);
    check_one_run(trace, 4, "\"agent\":\"(alone)\""); /* which comes after the other runs, and in none of them */
}

/* Answers are given in the order of admission: how many break, and are asked again, decides which one the lead gets. */
TEST(bisect_agents_that_fail_at_once_but_not_one_by_one)
{
    static const char answers[] =
        "{\"answer\":\"first\"}\n{\"answer\":\"second\"}\n{\"answer\":\"third\"}\n"
        "{\"answer\":\"fourth\"}\n"
        "{\"answer\":\"cured\"}\n{\"answer\":\"sixth\"}\n{\"answer\":\"seventh\"}\n"
        "{\"fault\":{\"pass\":3,\"text\":\"device lost\"}}\n";
    char retried[sizeof three_at_once];
    size_t n = (size_t)(strstr(three_at_once, "  retries") - three_at_once);
    snprintf(retried, sizeof retried, "%.*s", (int)n, three_at_once);
    const char *crew = file_with("crew.yaml", retried);
    CHECK_EQ(RUN(answers, "<<END\nfirst line\nsecond line\nthird line\nEND\n/expect cured\n/bisect\n",
                 "--no-save", "--crew", crew), 6);
    CHECK_STR(row("it passes"), "it passes one agent at a time");
}

TEST(bisect_a_memory_policy_that_fails)
{
    CHECK_EQ(RUN(NULL, "Hello.\n/bisect\n", "-n", "9", "--no-save", "--ctx", "2048", "--vram", "24M", "--naive",
                 "f32"), 3);
    CHECK_STR(row("it passes"), "it passes with the sound memory policy");
}

/* Lesson 9 in small: traces fill what the host may keep.  Each guard comes back alone, loop with the window that it
 * cannot go without. */
TEST(bisect_a_guard_that_was_taken_away)
{
    struct buf script = {0};
    buf_puts(&script, "plimsoll 1\n");
    for (int i = 0; i < 9; i++) buf_printf(&script, "What is a KV page, in short, and why is it number %d?\n", i);
    buf_puts(&script, "/bisect\n");
    CHECK_EQ(RUN(NULL, script.data, "--no-save", "--ctx", "4096", "--answers", "16", "--vram", "64M", "--keep-unsaved",
                 "8K", "--summary", "off", "--recall", "off", "--unguarded", "loop,traces, window"), 3);
    buf_free(&script);
    check_has("the host's memory for this conversation is used up");
    CHECK(strncmp(row("with the guards window, loop"), "with the guards window, loop exit status 3 ", 43) == 0);
    CHECK(strncmp(row("with the guard loop"), "with the guard loop exit status 3 ", 34) == 0);
    CHECK(strncmp(row("with the guard traces"), "with the guard traces exit status 0 ", 36) == 0);
    CHECK_STR(row("it passes"), "it passes with the guard traces");
    CHECK_EQ(times(err(), "exit status"), 4);
}

TEST(bisect_ends_by_a_signal_and_leaves_nothing)
{
    const char *runs = runs_folder();
    const char *answers = file_with("slow.jsonl", "{\"answer\":\"one two\",\"token_ms\":250}\n");
    char store[512];
    snprintf(store, sizeof store, "%s/store", check_tmpdir());
    const char *const all[] = {"-m", MODEL, "--engine", "scripted", "--script-file", answers, "--script",
                               "--store", store, NULL};
    static const char script[] = "Hello\n/expect gone\n/bisect\n/isolate\n";
    child_free(&c);
    child_start(&c, all);
    child_type(&c, script, strlen(script));
    child_wait_for(&c, "one two"); /* what follows at once is the first run, which takes more than a second */
    usleep(500 * 1000);
    CHECK_EQ(kill(c.pid, SIGINT), 0);
    CHECK_EQ(child_end(&c), 130);
    check_has("interrupted: nothing was found out");
    CHECK_EQ(left_in(runs), 0);
}

TEST(bisect_leaves_flags_out_with_their_values_and_no_others)
{
    char *const argv[] = {"--json", "-m", "--json", "--tools=a", "-p", "--tools", "--tools", "b",
                          "--json", "--seed", NULL};
    const char *const gone[] = {"--tools", "--json", "--model"};
    char *left[COUNT_OF(argv)];
    CHECK_EQ(opts_without(10, argv, gone, 3, left), 4); /* the first is the program; the last has lost its value */
    CHECK(left[0] == argv[0] && left[1] == argv[4] && left[2] == argv[5] && left[3] == argv[9]);
    CHECK_EQ(opts_without(10, argv, gone, 2, left), 6);
    CHECK_STR(opts_variable("--thinking"), "PLIMSOLL_THINKING");
    CHECK_STR(opts_variable("--tools"), NULL);
}

TEST(bisect_where_there_is_no_script_to_run)
{
    CHECK_EQ(RUN("{\"answer\":\"fine\"}\n", "/bisect all\n", "--no-save"), 2);
    check_has("/bisect takes nothing");
}

CHECK_MAIN
