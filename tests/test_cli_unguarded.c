/* --unguarded and --answers on the command line: where they are refused, what is said of them, and that the same
 * conversation fails without a guard and goes on with it. */
#include "tests/check.h"
#include "tests/child.h"
#include <unistd.h>

static struct child c;

static const char *out(void) { return c.out_text.data ? c.out_text.data : ""; }
static const char *err(void) { return c.err_text.data ? c.err_text.data : ""; }
static bool has(const char *text, const char *part) { return strstr(text, part) != NULL; }

static int run(const char *in, const char *const *args, size_t n)
{
    const char *all[CHILD_ARGS] = {"--no-config", "--backend", "cpu", "--threads", "1", "--seed", "1"};
    size_t k = 7;
    for (size_t i = 0; i < n; i++) all[k++] = args[i];
    all[k] = NULL;
    child_free(&c);
    return child_run(&c, all, in, strlen(in));
}

#define RUN(in, ...) run(in, (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__})))

/* The same question so many times, a line each. */
static const char *questions(int n)
{
    static struct buf b;
    b.len = 0;
    for (int i = 0; i < n; i++) buf_puts(&b, "What is a KV page?\n");
    return b.data;
}

/* ---------------------------------------------------------------- where they may stand */

TEST(unguarded_goes_with_no_save_alone)
{
    CHECK_EQ(RUN("hello\n", "--unguarded", "window"), 2);
    CHECK(has(err(), "--unguarded is for lessons: it goes with --no-save"));
    CHECK_EQ(RUN("hello\n", "--answers", "8"), 2);
    CHECK(has(err(), "--answers is for lessons"));
    CHECK_EQ(RUN("hello\n", "--no-save", "--nll", "README.md", "--unguarded", "window"), 2);
    CHECK_EQ(RUN("hello\n", "--no-save", "--dump-tokens", "--answers", "8"), 2);
    CHECK_EQ(RUN("hello\n", "--no-save", "--unguarded", "windows"), 2);
    CHECK(has(err(), "no such guard: \"windows\""));
}

TEST(answers_and_other_lengths_are_not_both_given)
{
    static const char *const other[][2] = {{"--max-tokens", "9"}, {"--thinking", "9"}, {"--stop", "."}};
    for (size_t i = 0; i < COUNT_OF(other); i++)
        CHECK_EQ(RUN("hello\n", "--no-save", "--answers", "8", other[i][0], other[i][1]), 2);
    CHECK_EQ(RUN("hello\n", "--no-save", "--answers", "8", "--strict-tools"), 2);
    CHECK_EQ(RUN("hello\n", "--no-save", "--answers", "0"), 2);
}

TEST(unguarded_is_no_setting)
{
    char file[512];
    snprintf(file, sizeof file, "%s/config", check_tmpdir());
    FILE *f = fopen(file, "w");
    CHECK(f && fputs("unguarded = window\nno-save = on\n", f) >= 0 && fclose(f) == 0);
    const char *const args[] = {"--config", file, NULL};
    child_free(&c);
    CHECK_EQ(child_run(&c, args, "hello\n", 6), 2);
    CHECK(has(err(), "--unguarded is for the command line: a file must not set it"));
    f = fopen(file, "w");
    CHECK(f && fputs("answers = 8\n", f) >= 0 && fclose(f) == 0);
    child_free(&c);
    CHECK_EQ(child_run(&c, args, "hello\n", 6), 2);
    CHECK(has(err(), "--answers is for the command line"));
}

TEST(unguarded_has_no_variable)
{
    setenv("PLIMSOLL_UNGUARDED", "window", 1);
    setenv("PLIMSOLL_ANSWERS", "8", 1);
    CHECK_EQ(RUN("hello\n", "--no-save", "--json"), 0);
    CHECK(!has(out(), "\"unguarded\"") && !has(err(), "for teaching"));
    unsetenv("PLIMSOLL_UNGUARDED");
    unsetenv("PLIMSOLL_ANSWERS");
}

TEST(unguarded_is_refused_at_a_terminal)
{
    const char *const args[] = {"--no-config", "--no-save", "--unguarded", "window", NULL};
    child_free(&c);
    child_start_at_terminal(&c, args);
    CHECK_EQ(child_end(&c), 2);
    CHECK(has(out(), "whose turns come on stdin"));
}

/* ---------------------------------------------------------------- what is said */

TEST(what_is_off_is_said_on_stderr_and_in_the_stream)
{
    CHECK_EQ(RUN("hello\n", "--no-save", "--json", "--unguarded", "slice,traces", "--answers", "8"), 0);
    CHECK(has(err(), "without slice, traces this session will fail"));
    CHECK(has(err(), "every answer has 8 tokens"));
    CHECK(has(out(), "\"event\":\"unguarded\",\"turn\":0,\"off\":\"slice, traces\",\"answers\":8,\"host_bytes\":0"));
    CHECK(has(out(), "\"prompt_tokens\":36,\"tokens\":8,"));
    CHECK_EQ(RUN("hello\n", "--no-save", "--json"), 0);
    CHECK(!has(out(), "unguarded") && !has(err(), "teaching"));
}

TEST(a_replay_says_what_was_off)
{
    char file[512];
    snprintf(file, sizeof file, "%s/stream", check_tmpdir());
    const char *const args[] = {"replay", "--text", file, NULL};
    CHECK_EQ(RUN("hello\n", "--no-save", "--trace", file, "--unguarded", "slice,traces"), 0);
    child_free(&c);
    CHECK_EQ(child_run(&c, args, "", 0), 0);
    CHECK(has(out(), "without these guards, for teaching: slice, traces"));
}

/* ---------------------------------------------------------------- the failing turn */

static int failing_turn(void)
{
    int n = -1, at = 0;
    for (const char *p = out(); (p = strstr(p, "\"event\":\"turn_end\"")) != NULL; p++)
        if (sscanf(p, "\"event\":\"turn_end\",\"turn\":%d,\"call\":1,\"end\":\"out_of_memory\"%n", &at, &n) == 1 &&
            n > 0)
            return at;
    return 0;
}

#define ENDLESS "--no-save", "--json", "--answers", "8"

TEST(without_window_a_chat_dies_at_a_turn_that_can_be_reckoned)
{
    /* 41 tokens with the first question, 24 more a turn: the fourth call is 113 + 8, and the next prompt is 137. */
    CHECK_EQ(RUN(questions(6), ENDLESS, "--unguarded", "window", "--naive", "no-limit", "--pool", "128"), 3);
    CHECK_EQ(failing_turn(), 5);
    CHECK(has(out(), "\"prompt_tokens\":113,") && has(out(), "\"prompt_tokens\":137,"));
    CHECK(has(out(), "\"termination_reason\":\"out_of_memory\""));
    /* With it there is no such turn.  (The context has room for the longest line that can stand for what left.) */
    CHECK_EQ(RUN(questions(10), ENDLESS, "--naive", "no-limit", "--ctx", "192"), 0);
    CHECK_EQ(failing_turn(), 0);
    CHECK(has(out(), "\"turn\":10,\"call\":1,\"end\":\"length\""));
}

TEST(without_window_and_with_the_sound_policy_the_engine_refuses_the_same)
{
    CHECK_EQ(RUN(questions(6), ENDLESS, "--unguarded", "window", "--ctx", "128"), 3);
    CHECK(has(out(), "\"event\":\"refusal\",\"turn\":5,\"termination_reason\":\"refused_kv\""));
}

TEST(what_slice_keeps_is_refused_by_the_host)
{
    CHECK_EQ(RUN(questions(40), ENDLESS, "--unguarded", "slice", "--keep-unsaved", "2200"), 3);
    CHECK(has(out(), "\"termination_reason\":\"refused_host\""));
    CHECK(!has(out(), "\"out_of_memory\""));
}

/* Of the second turn. */
static int shared(void)
{
    const char *p = strstr(out(), "\"event\":\"turn_start\",\"turn\":2");
    const char *at = p ? strstr(p, "\"shared_tokens\":") : NULL;
    CHECK(at);
    return atoi(at + 16);
}

TEST(without_share_a_turn_reads_all_of_its_prompt_again)
{
    CHECK_EQ(RUN(questions(2), "--no-save", "--json", "--unguarded", "share"), 0);
    CHECK_EQ(shared(), 0);
    CHECK_EQ(RUN(questions(2), "--no-save", "--json"), 0);
    CHECK(shared() >= 32);
}

static const char *crew_with(const char *line)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/crew.yaml", check_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f && fprintf(f, "crew: two\n%sagents:\n  - name: a\n    role: writer\n  - name: b\n    role: writer\n"
                       "  - name: c\n    role: critic\nflow:\n  kind: debate\n  members: [a, b]\n"
                       "  lead: c\n  rounds: 2\n", line) > 0);
    CHECK_EQ(fclose(f), 0);
    return path;
}

TEST(without_loop_a_debate_goes_on_until_memory_ends_it)
{
    const char *crew = crew_with("");
    CHECK_EQ(RUN("The bridge opens on 3 May.\n", ENDLESS, "--crew", crew, "--ctx", "1024"), 0);
    CHECK(has(out(), "\"flow\":\"debate\",\"change\":\"done\""));
    CHECK_EQ(RUN("The bridge opens on 3 May.\n", ENDLESS, "--crew", crew, "--ctx", "1024", "--pool", "176",
                 "--unguarded", "loop,window", "--naive", "no-limit"), 3);
    CHECK(has(out(), "\"end\":\"out_of_memory\"") && !has(out(), "\"change\":\"done\""));
}

TEST(a_crew_file_turns_no_guard_off)
{
    static const char *const key[] = {"endless", "unguarded", "answers"};
    for (size_t i = 0; i < COUNT_OF(key); i++) {
        char line[32];
        snprintf(line, sizeof line, "%s: 8\n", key[i]);
        CHECK_EQ(RUN("hello\n", "--no-save", "--crew", crew_with(line)), 2);
        CHECK(has(err(), "crew.yaml:2:") && has(err(), key[i]));
    }
}

TEST(a_script_turns_no_guard_off_and_no_length)
{
    CHECK_EQ(RUN("plimsoll 1\n/policy window off\n", "--no-save"), 2);
    CHECK_EQ(RUN("plimsoll 1\n/unguarded window\n", "--no-save"), 2);
    CHECK_EQ(RUN("plimsoll 1\n/limit answer 4\n", "--no-save", "--answers", "8"), 2);
    CHECK(has(err(), "--answers says how long every answer is"));
}

TEST(answers_have_as_many_tokens_as_the_flag_says_and_no_other)
{
    static const char *const asked = "What is a KV page?\nWho are you?\nTell me a story\n2+2?\nasdf qwer\n";
    CHECK_EQ(RUN(asked, "--no-save", "--json", "--answers", "24"), 0);
    int ends = 0, of_24 = 0;
    for (const char *p = out(); (p = strstr(p, "\"event\":\"turn_end\"")) != NULL; p++) {
        const char *tokens = strstr(p, "\"tokens\":");
        ends++;
        of_24 += tokens && strncmp(tokens, "\"tokens\":24,", 12) == 0;
    }
    CHECK(ends == 5 && of_24 == 5);
}

TEST(answers_hold_for_a_single_prompt_too)
{
    CHECK_EQ(RUN("", "--no-save", "--json", "--answers", "24", "-p", "What is a KV page?"), 0);
    CHECK(has(out(), "\"tokens\":24,"));
    CHECK_EQ(RUN("", "--no-save", "--ctx", "256", "--answers", "250", "-p", "What is a KV page?"), 3);
    CHECK_STR(out(), "");
}

CHECK_MAIN
