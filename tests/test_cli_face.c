/* test_cli_face.c - what opens the full screen, and what a chat line by line, or neither. */
#include "tests/term_rig.h"

#define MODEL "assets/plimsoll-tiny.gguf"
#define SCREEN "\033[?1049h"

static const char script[] = "{\"answer\":\"Ships float.\"}\n";
static char answers[300];

static const char *out(void) { return c.out_text.data ? c.out_text.data : ""; }

/* Starts with scripted answers and these flags more. */
static void start(const struct child_terminal *t, const char *const *more)
{
    const char *args[CHILD_ARGS] = {"-m", MODEL, "--engine", "scripted", "--script-file", answers, "--no-save"};
    int n = 7;
    if (!*answers) {
        snprintf(answers, sizeof answers, "%s/answers", check_tmpdir());
        FILE *f = fopen(answers, "w");
        CHECK(f && fputs(script, f) >= 0 && fclose(f) == 0);
    }
    for (int i = 0; more && more[i]; i++) args[n++] = more[i];
    child_free(&c);
    child_start_in(&c, args, t);
}

/* A line chat, that says this before it begins. */
static void check_lines(const struct child_terminal *t, const char *const *more, const char *why)
{
    start(t, more);
    for (int ms = 0; !strstr(out(), "Ctrl-D leaves") && ms < 1000 * CHILD_PATIENCE; ms += 20) child_look(&c, 20);
    child_type(&c, "\004", 1);
    CHECK_EQ(child_end(&c), 0);
    if (strstr(out(), SCREEN)) check_fail(__FILE__, __LINE__, "a screen: %s", out());
    if (!strstr(out(), why)) check_fail(__FILE__, __LINE__, "no \"%s\": %s", why, out());
    if (!*why && strstr(out(), "line by line")) check_fail(__FILE__, __LINE__, "%s", out());
}

TEST(face_in_a_terminal_is_the_screen)
{
    static const char *const terms[] = {"xterm-256color", "xterm", "screen-256color", "tmux-256color", "linux", "vt100"};
    for (size_t i = 0; i < COUNT_OF(terms); i++) {
        const struct child_terminal t = {.term = terms[i], .columns = 100, .rows = 30};
        start(&t, NULL);
        for (int ms = 0; !strstr(out(), "new session") && !strstr(out(), "not saved"); ms += 20) {
            if (ms > 1000 * CHILD_PATIENCE) check_fail(__FILE__, __LINE__, "TERM=%s: %s", terms[i], out());
            child_look(&c, 20);
        }
        CHECK(!strstr(out(), "Ctrl-D leaves")); /* the line chat's greeting */
        child_type(&c, "\004", 1);
        CHECK_EQ(child_end(&c), 0);
    }
}

TEST(face_is_lines_where_they_are_asked_for)
{
    const struct child_terminal asked = {.term = "xterm-256color", .columns = 80, .rows = 24,
                                         .variable = "PLIMSOLL_NO_TUI=1"};
    check_lines(&wide, (const char *const[]){"--no-tui", NULL}, "");
    check_lines(&asked, NULL, "");
}

TEST(face_is_lines_where_nothing_can_be_drawn_and_says_so)
{
    const struct child_terminal dumb = {.term = "dumb", .columns = 80, .rows = 24},
                                none = {.columns = 80, .rows = 24}, empty = {.term = "", .columns = 80, .rows = 24},
                                unknown = {.term = "no-such-terminal", .columns = 80, .rows = 24};
    check_lines(&dumb, NULL, ""); /* who says that needs no telling */
    CHECK(!strchr(out(), '\033'));
    check_lines(&none, NULL, "TERM is not set: a chat line by line");
    CHECK(!strchr(out(), '\033'));
    check_lines(&empty, NULL, "TERM is not set: a chat line by line");
    CHECK(!strchr(out(), '\033'));
    check_lines(&unknown, NULL, "\"no-such-terminal\" (TERM): a chat line by line");
}

TEST(face_of_one_answer_and_of_events_is_no_screen_in_a_terminal_either)
{
    start(&wide, (const char *const[]){"-p", "what floats?", NULL});
    CHECK_EQ(child_end(&c), 0);
    CHECK(strstr(out(), "Ships float.\r\n") && !strstr(out(), SCREEN));
    start(&wide, (const char *const[]){"-p", "what floats?", "--json", NULL});
    CHECK_EQ(child_end(&c), 0);
    CHECK(strstr(out(), "\"event\":\"turn_end\"") && !strstr(out(), SCREEN));
    start(&wide, (const char *const[]){"--json", NULL}); /* a line chat, with events for answers */
    child_type(&c, "what floats?\n\004", 14);
    CHECK_EQ(child_end(&c), 0);
    CHECK(strstr(out(), "\"event\":\"turn_end\"") && !strstr(out(), SCREEN));
}

TEST(face_without_a_terminal_reads_turns)
{
    static const char turn[] = "what floats?\n";
    const char *const args[] = {"-m", MODEL, "--engine", "scripted", "--script-file", answers, "--no-save", NULL};
    child_free(&c);
    CHECK_EQ(child_run(&c, args, turn, sizeof turn - 1), 0);
    CHECK_STR(out(), "Ships float.\n");
}

/* What would fit is read where it can be copied, and not gone with a screen. */
TEST(face_of_a_model_that_does_not_fit_is_its_table)
{
    child_free(&c);
    child_start_in(&c, (const char *const[]){"-m", MODEL, "--no-save", "--vram", "7M", NULL}, &wide);
    CHECK_EQ(child_end(&c), 3);
    CHECK(strstr(out(), "--vram allows 7.0 MiB") && strstr(out(), "what fits in 7.0 MiB") && strstr(out(), "Q4_K"));
    CHECK(!strstr(out(), SCREEN));
    child_free(&c);
    child_start_in(&c, (const char *const[]){"-m", "/nowhere.gguf", NULL}, &wide);
    CHECK_EQ(child_end(&c), 4);
    CHECK(strstr(out(), "/nowhere.gguf") && !strstr(out(), SCREEN));
    child_free(&c);
}

CHECK_MAIN
