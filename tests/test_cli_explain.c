/* test_cli_explain.c - `plimsoll explain` as a person types it. */
#include "tests/check.h"
#include "tests/child.h"
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KV "tests/fixtures/oom/vllm-kv-needed.txt"
#define BARE "RuntimeError: CUDA out of memory.\n"

static struct child c;

static int run(const char *in, const char *const *args, size_t n)
{
    const char *all[CHILD_ARGS];
    CHECK(n < COUNT_OF(all));
    for (size_t i = 0; i < n; i++) all[i] = args[i];
    all[n] = NULL;
    child_free(&c);
    return child_run(&c, all, in, in ? strlen(in) : 0);
}

#define ARGS(...) (const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__}))
#define RUN(in, ...) run(in, ARGS("explain", __VA_ARGS__))

static const char *said(void) { return c.out_text.data ? c.out_text.data : ""; }
static const char *complained(void) { return c.err_text.data ? c.err_text.data : ""; }

static void check_has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

TEST(a_file_and_stdin_give_the_same_verdict)
{
    CHECK_EQ(RUN(NULL, KV), 0);
    check_has(said(), "Out of memory: keys and values");
    check_has(said(), "--max-model-len");
    struct buf first = c.out_text;
    c.out_text = (struct buf){0};
    struct buf log = {0};
    FILE *f = fopen(KV, "rb");
    CHECK(f != NULL);
    for (int ch; (ch = getc(f)) != EOF;) buf_put(&log, &(char){(char)ch}, 1);
    fclose(f);
    CHECK_EQ(run(log.data, ARGS("explain")), 0);
    CHECK_STR(said(), first.data);
    CHECK_EQ(run(log.data, ARGS("explain", "-")), 0);
    CHECK_STR(said(), first.data);
    buf_free(&first);
    buf_free(&log);
}

TEST(json_is_an_object_a_verdict_a_line)
{
    CHECK_EQ(RUN("MemoryError\n\n\n\nstep\nstep\nValueError: Requested tokens (9) exceed context window of 8\n",
                 "--json"), 0);
    const char *const want[] = {"host", "context"};
    char *at = c.out_text.data;
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        char *end = strchr(at, '\n');
        CHECK(end != NULL);
        json_t *o = json_loadb(at, (size_t)(end - at), 0, NULL);
        CHECK(json_is_object(o));
        CHECK_STR(json_string_value(json_object_get(o, "cause")), want[i]);
        json_decref(o);
        at = end + 1;
    }
    CHECK_EQ(*at, '\0');
}

TEST(the_exit_status_says_whether_a_cause_was_found)
{
    CHECK_EQ(RUN("openai.RateLimitError: Rate limit reached\n", "--json"), 0);
    check_has(said(), "\"not-memory\"");
    CHECK_EQ(run("a letter about the weather\n", ARGS("explain")), 1);
    check_has(said(), "Nothing in this text says");
    CHECK_EQ(RUN("a letter about the weather\n", "--json"), 1);
    CHECK_STR(said(), "");
    CHECK_EQ(run("", ARGS("explain")), 1);
    CHECK_EQ(RUN("EngineDeadError: EngineCore encountered an issue.\n", "--json"), 1); /* it says where one is */
    check_has(said(), "\"unknown\"");
}

TEST(what_is_wrong_with_the_command_line_is_said_in_a_line)
{
    CHECK_EQ(RUN(NULL, "--loud"), 2);
    check_has(complained(), "plimsoll: explain has no flag --loud");
    CHECK_EQ(RUN(NULL, "a", "b"), 2);
    CHECK_EQ(RUN(NULL, "no-such-file.log"), 2);
    check_has(complained(), "no-such-file.log");
    CHECK_STR(said(), "");
    CHECK_EQ(RUN(NULL, "--help"), 0);
    check_has(said(), "Exit status");
}

static const char *file_with(const char *text)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/log", check_tmpdir());
    FILE *f = fopen(path, "wb");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return path;
}

TEST(answers_of_the_dialogue_change_the_verdict)
{
    const char *log = file_with(BARE);
    CHECK_EQ(RUN("t\n", "--ask", log), 0);
    check_has(said(), "Out of memory: growth with turns");
    check_has(complained(), "When does it happen");
    CHECK_EQ(RUN("\nm\n", "--ask", "--json", log), 0);
    check_has(said(), "\"concurrency\"");
    check_has(complained(), "Does one request alone fail too");
    CHECK_EQ(RUN("\n\n\n\n", "--ask", "--json", log), 0);
    check_has(said(), "\"guess\"");
    CHECK_EQ(RUN("", "--ask", "--json", log), 0);
}

TEST(without_a_terminal_nobody_is_asked_and_that_is_said)
{
    setsid(); /* no terminal is ours from now on; a leader of a group keeps his */
    const int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return;
    }
    CHECK_EQ(run(BARE, ARGS("explain", "--ask")), 0);
    check_has(said(), "a guess");
    check_has(complained(), "no terminal to ask at");
    CHECK(!strstr(complained(), "When does it happen"));
    CHECK_EQ(run("hello\n", ARGS("explain", "--ask")), 1); /* nothing is to be asked */
    CHECK_STR(complained(), "");
}

TEST(what_a_log_would_have_a_terminal_do_is_not_passed_on)
{
    CHECK_EQ(run("MemoryError \033]0;owned\007\033[2J\n", ARGS("explain")), 0);
    CHECK(strchr(said(), 033) == NULL && strchr(said(), 007) == NULL);
}

CHECK_MAIN
