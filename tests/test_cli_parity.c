/* test_cli_parity.c - one session three ways: typed on the full screen, typed in the line chat, and as a script on
 * stdin.  What happened is the same: `plimsoll events --stable` of the three traces, byte by byte.  Who looks at the
 * screen's views meanwhile changes nothing. */
#include "tests/term_rig.h"
#include <sys/stat.h>

enum way { SCRIPT, LINES, SCREEN, SCREEN_LOOKING, WAYS };
static const char *const way_name[WAYS] = {"script", "lines", "screen", "screen, looked at"};

#define MODEL "assets/plimsoll-tiny.gguf" /* its vocabulary and its form of turns; the answers are scripted */

struct step {
    const char *text;   /* a turn or a command; a turn of several lines has newlines */
    const char *answer; /* the key for a question that it leads to; NULL: none.  A script has nobody, and --allow */
};

struct session {
    const char *answers;  /* of the scripted engine; NULL: the embedded model */
    const char *args[12]; /* for all ways */
    const char *allow;    /* for the script alone; NULL: nothing */
    struct step step[14]; /* ends with a text of NULL */
};

/* ------------------------------------------------------------------ one way */

static char trace[WAYS][300], store[300], answers[300];
static int n_stores;

static const char *folder(void) /* of all ways: what is named in a session is the same for each */
{
    static const char *made;
    if (!made) made = check_tmpdir();
    return made;
}

static int arguments(const struct session *s, enum way w, const char *args[CHILD_ARGS])
{
    int n = 0;
    snprintf(trace[w], sizeof trace[w], "%s/trace%d", folder(), (int)w);
    snprintf(store, sizeof store, "%s/store%d", folder(), n_stores++);
    const char *const ours[] = {"--seed", "1", "--trace", trace[w], "--store", store};
    for (size_t i = 0; i < COUNT_OF(ours); i++) args[n++] = ours[i];
    if (s->answers) {
        const char *const scripted[] = {"-m", MODEL, "--engine", "scripted", "--script-file", answers};
        for (size_t i = 0; i < COUNT_OF(scripted); i++) args[n++] = scripted[i];
    }
    for (size_t i = 0; i < COUNT_OF(s->args) && s->args[i]; i++) args[n++] = s->args[i];
    if (w == SCRIPT && s->allow) args[n++] = "--allow", args[n++] = s->allow;
    if (w == LINES) args[n++] = "--no-tui";
    args[n] = NULL;
    return n;
}

static void as_script(const struct session *s, const char *const *args)
{
    struct buf in = {0};
    buf_puts(&in, "plimsoll 1\n");
    for (const struct step *p = s->step; p->text; p++) {
        const bool many = strchr(p->text, '\n');
        buf_printf(&in, "%s%s\n%s", many ? "<<END\n" : "", p->text, many ? "END\n" : "");
    }
    const int status = child_run(&c, args, in.data, in.len);
    if (status != 0) check_fail(__FILE__, __LINE__, "status %d: %s", status, c.err_text.data ? c.err_text.data : "");
    buf_free(&in);
    child_free(&c);
}

static void as_lines(const struct session *s, const char *const *args)
{
    child_start_in(&c, args, &wide);
    child_wait_for(&c, "Ctrl-D leaves");
    for (const struct step *p = s->step; p->text; p++) {
        const char *quotes = strchr(p->text, '\n') ? "\"\"\"" : "";
        struct buf line = {0};
        child_wait_for(&c, "> ");
        buf_printf(&line, "%s%s%s\n", quotes, p->text, quotes);
        child_type(&c, line.data, line.len);
        buf_free(&line);
        if (!p->answer) continue;
        child_wait_for(&c, "o once");
        child_wait_for(&c, "? ");
        child_type(&c, p->answer, 1);
        child_type(&c, "\n", 1);
    }
    child_wait_for(&c, "> ");
    child_type(&c, "\004", 1);
    CHECK_EQ(child_end(&c), 0);
    child_free(&c);
}

/* All views, by what their footer has alone, and back to the chat; Esc would cancel what runs. */
static void look_around(void)
{
    static const struct { const char *key, *footer; } views[] = {
        {"\033OQ", "n next owner"}, {"\033OR", "t tokens"}, {"\033OS", "c cancel its turn"}, {"\033[15~", "zoom"},
        {"\033[17~", "t tree"}, {"\033[18~", "Enter read"}, {"\033[19~", "N newer"}, {"\033[21~", "c copy command"},
        {"\033[24~", "Enter resume it"}, {"\033OP", "this help"}};
    for (size_t i = 0; i < COUNT_OF(views); i++) {
        press(views[i].key);
        look_for(views[i].footer);
    }
    press("\0331");
}

/* Lines are typed ahead: they wait their turn, as those of a script do. */
static void as_keys(const struct session *s, const char *const *args, bool looking)
{
    open_screen(args, &wide);
    for (const struct step *p = s->step; p->text; p++) {
        if (looking) look_around();
        for (const char *at = p->text; *at; at++)
            child_type(&c, *at == '\n' ? "\033\r" : at, *at == '\n' ? 2 : 1);
        press("\r");
        if (looking) look_around();
        if (!p->answer) continue;
        look_for("wants this to be done");
        if (looking) look_around();
        usleep(1000 * 1000); /* it was read: letters that come at once do not answer */
        press(p->answer);
        look_until("wants this to be done", false);
    }
    press("/quit\r");
    CHECK_EQ(close_screen(), 0);
    child_free(&c);
}

static void run(const struct session *s, enum way w)
{
    const char *args[CHILD_ARGS];
    arguments(s, w, args);
    if (w == SCRIPT) as_script(s, args);
    else if (w == LINES) as_lines(s, args);
    else as_keys(s, args, w == SCREEN_LOOKING);
}

/* ------------------------------------------------------------------ what happened */

/* The name of a store stands in no event; what a person reads of it in the screen's way would show here. */
static struct buf stable(enum way w)
{
    const char *const args[] = {"events", "--stable", trace[w], NULL};
    const int status = child_run(&c, args, "", 0);
    if (status != 0) check_fail(__FILE__, __LINE__, "status %d: %s", status, c.err_text.data ? c.err_text.data : "");
    struct buf text = c.out_text;
    c.out_text = (struct buf){0};
    child_free(&c);
    return text;
}

static void check_same(const struct buf *a, const struct buf *b, enum way w)
{
    const char *x = a->data, *y = b->data;
    while (*x || *y) {
        const int n = (int)strcspn(x, "\n"), m = (int)strcspn(y, "\n");
        if (n != m || memcmp(x, y, (size_t)n) != 0)
            check_fail(__FILE__, __LINE__, "as a script:\n%.*s\nas %s:\n%.*s", n, x, way_name[w], m, y);
        x += n + (x[n] == '\n');
        y += m + (y[m] == '\n');
    }
}

/* It stands in no stable stream, since it is the disk's affair when it comes. */
static int saves(enum way w)
{
    char *line = NULL;
    size_t cap = 0;
    int n = 0;
    FILE *f = fopen(trace[w], "r");
    CHECK(f);
    while (getline(&line, &cap, f) > 0) n += strstr(line, "\"event\":\"saved\"") != NULL;
    free(line);
    fclose(f);
    return n;
}

/* has: what the events must tell of, so that the session is what it is meant to be. */
static void all_ways(const struct session *s, const char *const *has)
{
    if (s->answers) {
        snprintf(answers, sizeof answers, "%s/answers", folder());
        FILE *f = fopen(answers, "w");
        CHECK(f && fputs(s->answers, f) >= 0 && fclose(f) == 0);
    }
    run(s, SCRIPT);
    struct buf want = stable(SCRIPT);
    for (; *has; has++)
        if (!strstr(want.data, *has)) check_fail(__FILE__, __LINE__, "no %s in\n%s", *has, want.data);
    CHECK(saves(SCRIPT) > 0);
    for (enum way w = LINES; w < WAYS; w++) {
        if (CHECK_SANITIZED && w == SCREEN) continue; /* SCREEN_LOOKING has all of it */
        run(s, w);
        struct buf is = stable(w);
        check_same(&want, &is, w);
        CHECK_EQ(saves(w), saves(SCRIPT));
        buf_free(&is);
    }
    buf_free(&want);
}

#define HAS(...) (const char *const[]){__VA_ARGS__, NULL}

#define CALL(tool, arguments) \
    "{\"answer\":\"<tool_call>{\\\"name\\\":\\\"" tool "\\\",\\\"arguments\\\":" arguments "}</tool_call>\"}\n"

#define WRITE(path, text) CALL("write", "{\\\"path\\\":\\\"" path "\\\",\\\"text\\\":\\\"" text "\\\"}")

/* ------------------------------------------------------------------ sessions */

static void file_of_words(const char *name, int words)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    FILE *f = fopen(path, "w");
    CHECK(f);
    for (int i = 0; i < words; i++) fprintf(f, "crate %d%s", i, i % 10 == 9 ? "\n" : " ");
    CHECK(fclose(f) == 0);
}

TEST(parity_of_turns_and_commands_with_scripted_answers)
{
    char attach[300];
    file_of_words("cargo.txt", 150);
    snprintf(attach, sizeof attach, "/attach %s/cargo.txt", folder());
    const struct session s = {
        .answers = "{\"answer\":\"Ships float.\",\"token_ms\":5}\n{\"answer\":\"Stones sink.\",\"token_ms\":5}\n",
        .args = {"--ctx", "2048"},
        .step = {{"what floats?", NULL}, {"/pin Be brief.", NULL}, {"and what sinks?\nsay it in a word", NULL},
                 {attach, NULL}, {"so?", NULL}, {"/drop m15", NULL}, {"/context", NULL}, {"/undo", NULL},
                 {"what sinks?", NULL}, {"/system You are a pilot.", NULL}, {"/retry", NULL}, {"/rename Ships", NULL}}};
    all_ways(&s, HAS("\"turn_end\"", "say it in a word", "\"undone\"", "\"dropped\"", "cargo.txt"));
}

/* What writes is asked for: "o" once, "s" for the session; the script has it allowed beforehand. */
TEST(parity_of_calls_that_a_person_allows_and_a_script_has_allowed)
{
    static char workspace[300];
    snprintf(workspace, sizeof workspace, "%s/work", folder()); /* the stores lie beside it */
    CHECK_EQ(mkdir(workspace, 0700), 0);
    const struct session s = {
        .answers = WRITE("one.txt", "a ship") "{\"answer\":\"Written.\"}\n"
                   CALL("read", "{\\\"path\\\":\\\"one.txt\\\"}") "{\"answer\":\"A ship.\"}\n"
                   WRITE("two.txt", "a stone") "{\"answer\":\"That too.\"}\n",
        .args = {"--ctx", "4096", "--tools", "read,write", "--workspace", workspace},
        .allow = "write",
        .step = {{"write it down", "o"}, {"read it", NULL}, {"and another", "s"}}};
    all_ways(&s, HAS("\"event\":\"call\"", "\"name\":\"write\"", "\"failed\":false", "a ship", "That too."));
}

/* F14 of other programs: without a terminal the context is not summed up, or otherwise. */
TEST(window_f14_what_is_summed_up_without_a_terminal_is_so_on_the_screen)
{
    char attach[300];
    file_of_words("long.txt", 150);
    snprintf(attach, sizeof attach, "/attach %s/long.txt", folder());
    const struct session s = {
        .args = {"--ctx", "1024"},
        .step = {{"What is a token?", NULL}, {attach, NULL}, {"What is a KV cache?", NULL},
                 {"And why does it run out of memory?", NULL}, {"/compact", NULL}, {"What is a KV cache?", NULL},
                 {"/summary", NULL}, {"/task call Anna", NULL}, {"What is a page?", NULL}}};
    all_ways(&s, HAS("\"event\":\"summary\"", "\"extracted\"", "\"prefill\""));
}

TEST(parity_of_a_crew_and_of_its_agents_by_name)
{
    static const struct session s = {
        .args = {"--crew", "round_robin"},
        .step = {{"write a note to Anna that names the date 3 May", NULL}, {"@critic is it short?", NULL},
                 {"/for writer /pin The bridge opens on 3 May.", NULL}, {"/use writer", NULL},
                 {"say it in other words", NULL}, {"@critic and now?", NULL}}};
    all_ways(&s, HAS("\"event\":\"flow\"", "\"agent\":\"critic\"", "is it short?"));
}

TEST(parity_of_a_crew_whose_agents_answer_at_once)
{
    static const struct session s = {
        .args = {"--crew", "map"},
        .step = {{"The bridge opens on 3 May.\nThe ferry leaves at nine.", NULL}, {"@writer thank you", NULL}}};
    all_ways(&s, HAS("\"agent\":\"researcher/1\"", "\"agent\":\"researcher/2\"", "thank you"));
}

CHECK_MAIN
