/* The full screen at a terminal of its own, where it can be left, cut off, stopped or held up; and at terminals that
 * can little. */
#include "tests/check.h"
#include "tests/child.h"
#include "app/progress.h"
#include "engine/text.h"
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODEL "tests/fixtures/llama-gqa.gguf"

static struct child c;
static const char *folder; /* that it runs in */

static const char script[] =
    "{\"answer\":\"Hello there\"}\n"
    "{\"answer\":\"la \",\"token_ms\":5,\"end\":false}\n"
    "{\"answer\":\"Second answer\"}\n";

static const char *scratch(const char *name, const char *text, mode_t mode)
{
    static char paths[2][512];
    static unsigned next;
    char *path = paths[next++ % 2];
    snprintf(path, sizeof paths[0], "%s/%s", check_tmpdir(), name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0 && chmod(path, mode) == 0);
    return path;
}

static void put_env(const char *term, const char *lang)
{
    char data[512];
    snprintf(data, sizeof data, "%s/data", check_tmpdir());
    setenv("XDG_DATA_HOME", data, 1);
    setenv("XDG_CONFIG_HOME", data, 1);
    setenv("TERM", term, 1);
    setenv("LANG", lang, 1);
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
}

/* rows and columns, and the environment; resume: a session, or NULL.  It runs in a folder of its own. */
static void start_at(int columns, int rows, const char *term, const char *lang, const char *resume)
{
    static char program[PATH_MAX], model[PATH_MAX];
    const char *path = scratch("script.jsonl", script, 0600);
    const struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    int fd;
    child_free(&c);
    c = (struct child){.err = -1};
    put_env(term, lang);
    folder = check_tmpdir();
    CHECK(realpath(child_program(), program) && realpath(MODEL, model));
    c.pid = forkpty(&fd, NULL, NULL, &size);
    CHECK(c.pid >= 0);
    if (c.pid == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGXFSZ, SIG_IGN); /* a limit of a file's size is an error of write() */
        if (chdir(folder)) _exit(126);
        execl(program, program, "-m", model, "--engine", "scripted", "--script-file", path, "--ctx", "4000",
              resume ? "--resume" : (char *)NULL, resume, (char *)NULL);
        _exit(127);
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    c.in = c.out = fd;
}

static void start(void)
{
    start_at(100, 30, "xterm-256color", "C.UTF-8", NULL);
    child_wait_for(&c, "say something, or /command");
}

static void type(const char *text) { child_type(&c, text, strlen(text)); }

/* Its status, or -1: it has not ended. */
static int ended_within(double seconds)
{
    const double end = progress_clock() + seconds;
    int status;
    while (waitpid(c.pid, &status, WNOHANG) == 0) {
        if (progress_clock() > end) return -1;
        usleep(20000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* ------------------------------------------------------------------ left */

TEST(screen_a_line_and_ctrl_d_at_once_are_answered_before_it_leaves)
{
    start();
    type("one\r\x04");
    child_wait_for(&c, "Hello there");
    type("/quit\r");
    child_wait_for(&c, "\x1b[?1049l"); /* the terminal is as it was */
    child_wait_for(&c, " is saved: plimsoll --resume ");
    child_wait_for(&c, " --model "); /* without it another would answer */
    child_wait_for(&c, " goes on");
    CHECK_EQ(child_end(&c), 0);
    child_free(&c);
}

/* While the model is loaded the terminal edits lines itself. */
TEST(screen_what_was_typed_before_it_was_there_arrives_as_typed)
{
    start_at(100, 30, "xterm-256color", "C.UTF-8", NULL);
    type("one\rtw");
    child_wait_for(&c, "Hello there");
    type("o\r");
    child_wait_for(&c, "la la");
    type("\x03");
    child_wait_for(&c, "cancelled");
    type("/quit\r");
    CHECK_EQ(child_end(&c), 0);
    child_free(&c);
}

TEST(screen_quit_with_lines_behind_it_leaves)
{
    start();
    type("one\r/quit\rtwo\rthree\r");
    CHECK_EQ(child_end(&c), 0);
    CHECK(c.out_text.data && strstr(c.out_text.data, " is saved: plimsoll --resume "));
    child_free(&c);
}

TEST(screen_what_cannot_be_resumed_is_said_when_the_screen_is_gone)
{
    start_at(80, 24, "xterm", "C.UTF-8", "ffffffff");
    child_wait_for(&c, "\x1b[?1049l");
    child_wait_for(&c, "plimsoll: ");
    CHECK(child_end(&c) != 0);
    child_free(&c);
}

static void sing(void)
{
    start();
    type("one\rtwo\r");
    child_wait_for(&c, "la la");
}

TEST(screen_sigterm_amid_an_answer_saves_it)
{
    sing();
    kill(c.pid, SIGTERM);
    child_wait_for(&c, "\x1b[?1049l");
    child_wait_for(&c, " is saved: plimsoll --resume ");
    CHECK_EQ(child_end(&c), 128 + SIGTERM);
    child_free(&c);
}

TEST(screen_ends_when_its_terminal_goes_amid_an_answer)
{
    sing();
    child_stop_reading(&c);
    const int status = ended_within(CHILD_PATIENCE);
    CHECK(status == 128 + SIGHUP);
    child_free(&c);
}

/* Nobody reads what it draws, as when the terminal's program is stopped; it ends all the same. */
TEST(screen_sigterm_ends_it_though_the_terminal_takes_nothing)
{
    sing();
    for (int i = 0; i < 200; i++, usleep(5000))
        if (write(c.in, "\x0c", 1) != 1) break; /* draws all anew */
    kill(c.pid, SIGTERM);
    const int status = ended_within(20);
    if (status < 0) kill(c.pid, SIGKILL);
    CHECK_EQ(status, 128 + SIGTERM);
    close(c.in);
    child_free(&c);
}

/* ------------------------------------------------------------------ the editor */

/* What is pressed in the editor is the editor's, also three times. */
TEST(screen_ctrl_c_in_the_editor_ends_neither_the_program_nor_a_turn)
{
    const char *editor = scratch("editor", "#!/bin/sh\ntrap : INT\nfor i in 1 2 3 4; do kill -INT 0; done\n"
                                           "echo edited >\"$1\"\n", 0700);
    setenv("VISUAL", editor, 1);
    start();
    type("\x18");
    child_wait_for(&c, "edited");
    type("\r");
    child_wait_for(&c, "Hello there");
    type("/quit\r");
    CHECK_EQ(child_end(&c), 0);
    child_free(&c);
    unsetenv("VISUAL");
}

/* What is ignored here (SIGPIPE) would be so in all that it runs. */
TEST(screen_the_editor_is_started_with_the_usual_signals)
{
    const char *editor = scratch("editor", "#!/bin/sh\nis=usual\n"
                                           "grep -q 'SigIgn:.*[13579bdf]...$' /proc/self/status && is=ignored\n"
                                           "echo \"sigpipe is $is\" >\"$1\"\n", 0700);
    setenv("VISUAL", editor, 1);
    start();
    type("\x18");
    child_wait_for(&c, "sigpipe is usual");
    type("\x15/quit\r");
    CHECK_EQ(child_end(&c), 0);
    child_free(&c);
    unsetenv("VISUAL");
}

/* The first editor obeys, the second stays all the same. */
TEST(screen_sigterm_ends_the_editor_and_the_program)
{
    static const char *const editors[] = {"#!/bin/sh\necho editing\nexec sleep 600\n",
                                          "#!/bin/sh\ntrap '' TERM\necho editing\nexec sleep 600\n"};
    for (size_t i = 0; i < COUNT_OF(editors); i++) {
        setenv("VISUAL", scratch("editor", editors[i], 0700), 1);
        start();
        type("\x18");
        child_wait_for(&c, "editing");
        kill(c.pid, SIGTERM);
        const int status = ended_within(CHILD_PATIENCE);
        if (status < 0) kill(c.pid, SIGKILL);
        CHECK_EQ(status, 128 + SIGTERM);
        close(c.in);
        child_free(&c);
    }
    unsetenv("VISUAL");
}

/* ------------------------------------------------------------------ the card in a file */

static size_t verdicts(void)
{
    char pattern[512];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/plimsoll-verdict-*.txt", folder);
    glob(pattern, 0, NULL, &found);
    const size_t n = found.gl_pathc;
    globfree(&found);
    return n;
}

static void files_of_at_most(rlim_t bytes)
{
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    CHECK_EQ(prlimit(c.pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

/* Of a session that was never saved nothing can be resumed. */
TEST(screen_on_a_full_disk_it_does_not_say_that_the_session_is_saved)
{
    start_at(100, 30, "xterm-256color", "C.UTF-8", NULL);
    child_wait_for(&c, "new session"); /* its lock is written */
    files_of_at_most(0);
    type("one\r/quit\r");
    CHECK(child_end(&c) != 0);
    CHECK(c.out_text.data && strstr(c.out_text.data, "the last turn is not saved"));
    CHECK(strstr(c.out_text.data, " is saved: ") == NULL);
    child_free(&c);
}

TEST(screen_a_card_that_does_not_fit_on_the_disk_leaves_no_part_of_it)
{
    start();
    type("\x1b[200~torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity "
         "of 79.20 GiB of which 3.81 GiB is free.\x1b[201~\x1b[23~"); /* F11 */
    child_wait_for(&c, "Out of memory: ");
    files_of_at_most(16);
    type("e");
    child_wait_for(&c, "it could not be written: File too large");
    CHECK_EQ(verdicts(), 0);
    files_of_at_most(RLIM_INFINITY);
    type("e");
    child_wait_for(&c, "written: plimsoll-verdict-");
    CHECK_EQ(verdicts(), 1);
    type("\x1b");
    usleep(100000);
    type("\x15/quit\r");
    CHECK_EQ(child_end(&c), 0);
    child_free(&c);
}

/* ------------------------------------------------------------------ terminals that can little */

TEST(screen_any_terminal_and_size_begins_and_leaves)
{
    static const struct { const char *term, *lang; int columns, rows; } at[] = {
        {"linux", "C.UTF-8", 80, 25}, {"vt100", "C", 80, 24}, {"screen", "C.UTF-8", 40, 10}, {"xterm", "C", 20, 5},
        {"xterm-256color", "C.UTF-8", 1, 1}, {"vt220", "C", 300, 100}, {"ansi", "C", 3, 2},
    };
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        start_at(at[i].columns, at[i].rows, at[i].term, at[i].lang, NULL);
        child_wait_for(&c, "\x1b["); /* its terminal's modes are set */
        type("one\r/quit\r");
        CHECK_EQ(child_end(&c), 0);
        for (size_t k = 0; strcmp(at[i].lang, "C") == 0 && k < c.out_text.len; k++)
            CHECK((unsigned char)c.out_text.data[k] < 0x80);
        child_free(&c);
    }
}

CHECK_MAIN
