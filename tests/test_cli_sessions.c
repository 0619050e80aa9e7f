/* `plimsoll sessions` as its users meet it, and the same in a chat: what is printed, written, asked and refused. */
#include "tests/check.h"
#include "tests/child.h"
#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODEL "tests/fixtures/llama-gqa.gguf"

static struct child c;
static const char *folder; /* of all that is written here */
static char store[512], path[512];
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

/* A name in the test's folder; four are kept. */
static const char *name(const char *file)
{
    static char text[4][512];
    static unsigned next;
    char *p = text[next++ % 4];
    snprintf(p, sizeof text[0], "%s/%s", folder, file);
    return p;
}

static void write_text(const char *at, const char *text)
{
    FILE *f = fopen(at, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static const char *text_at(const char *at)
{
    static char text[1 << 16];
    FILE *f = fopen(at, "r");
    CHECK(f != NULL);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

/* A store that is not there yet, and a script of answers. */
static void begin(void)
{
    if (!folder) folder = check_tmpdir();
    snprintf(store, sizeof store, "%s/store%d", folder, n_stores++);
    snprintf(path, sizeof path, "%s/script", folder);
    write_text(path, "{\"answer\":\"Fine\"}\n{\"answer\":\"Well\\u001b[31m\"}\n{\"answer\":\"Third\"}\n");
}

static const char *const *chat_args(const char *resume)
{
    static const char *args[12];
    const char *const all[] = {"-m", MODEL, "--engine", "scripted", "--script-file", path, "--store", store,
                               resume ? "--resume" : NULL, resume, NULL};
    memcpy(args, all, sizeof all);
    return args;
}

static void chat(const char *lines, const char *resume)
{
    child_free(&c);
    CHECK_EQ(child_run(&c, chat_args(resume), lines, strlen(lines)), 0);
}

#define SESSIONS(...) run(NULL, (const char *const[]){"sessions", "--store", store, ##__VA_ARGS__, NULL})
#define SESSIONS_IN(in, ...) run(in, (const char *const[]){"sessions", "--store", store, ##__VA_ARGS__, NULL})

static int run(const char *in, const char *const *args)
{
    child_free(&c);
    return child_run(&c, args, in ? in : "", in ? strlen(in) : 0);
}

static void check_complaint(const char *part)
{
    check_has(err(), part);
    CHECK(strncmp(err(), "plimsoll: ", 10) == 0);
    CHECK(strchr(err(), '\n') == err() + strlen(err()) - 1);
}

/* The id of the row of `list --json` with this number. */
static const char *id_of(int row)
{
    static char id[64];
    CHECK_EQ(SESSIONS("list", "--json"), 0);
    const char *line = out();
    while (row-- > 0) line = strchr(line, '\n') + 1;
    const char *at = strstr(line, "\"session\":\"");
    CHECK(at && sscanf(at, "\"session\":\"%32[0-9a-f]\"", id) == 1);
    return id;
}

/* ---------------------------------------------------------------- list, show */

TEST(sessions_of_no_store_are_none_and_none_is_made)
{
    struct stat st;
    begin();
    CHECK_EQ(SESSIONS(), 0);
    CHECK_STR(out(), "");
    check_has(err(), "no session is saved yet");
    CHECK_EQ(SESSIONS("list", "--json"), 0);
    CHECK_STR(out(), "");
    CHECK_EQ(SESSIONS("show", "last"), 2);
    check_complaint("no session is saved yet");
    CHECK_EQ(SESSIONS("delete", "last", "--yes"), 2);
    CHECK(stat(store, &st) != 0);
}

TEST(sessions_are_listed_the_newest_first)
{
    begin();
    chat("old one\n", NULL);
    chat("new \"one\"\nmore\n", NULL);
    CHECK_EQ(SESSIONS(), 0);
    const char *newer = strstr(out(), "  2 turns  new \"one\"  ["), *older = strstr(out(), "  1 turn   old one");
    CHECK(newer && older && newer < older);
    CHECK_EQ(SESSIONS("list", "--json"), 0);
    json_t *o = json_loadb(out(), strcspn(out(), "\n"), 0, NULL);
    CHECK_EQ(json_integer_value(json_object_get(o, "schema_version")), 1);
    CHECK_STR(json_string_value(json_object_get(o, "title")), "new \"one\"");
    CHECK_EQ(json_integer_value(json_object_get(o, "turns")), 2);
    CHECK(!json_object_get(o, "parent"));
    json_decref(o);
    CHECK_EQ(SESSIONS("--help"), 0);
    check_has(out(), "sessions import FILE");
}

TEST(sessions_are_found_where_the_variable_says)
{
    char command[1100], line[256] = "";
    begin();
    chat("hello\n", NULL);
    snprintf(command, sizeof command, "PLIMSOLL_STORE='%s' '%s' sessions", store, child_program());
    FILE *f = popen(command, "r");
    CHECK(f && fgets(line, sizeof line, f));
    check_has(line, "  1 turn   hello");
    CHECK_EQ(pclose(f), 0);
    child_free(&c);
    CHECK_EQ(child_run(&c, (const char *const[]){"sessions", NULL}, "", 0), 0); /* the default is another folder */
    check_has(err(), "no session is saved yet");
}

TEST(sessions_show_what_was_said_and_not_what_was_taken_back)
{
    begin();
    chat("first words\nsecond words\n", NULL);
    CHECK_EQ(SESSIONS("show", "last"), 0);
    check_has(out(), "--- turn 1\n\nuser (m");
    check_has(out(), "\n  first words\n\nanswer (m");
    check_has(out(), "\n  Well\033[31m\n"); /* a pipe gets it as it is */
    char id[9];
    snprintf(id, sizeof id, "%.8s", id_of(0));
    CHECK_EQ(SESSIONS("show", id), 0);
    CHECK_EQ(SESSIONS("show", "0123456789"), 2);
    check_complaint("no session begins with 0123456789");
    child_free(&c);
    child_start_at_terminal(&c, (const char *const[]){"sessions", "--store", store, "show", "last", NULL});
    child_wait_for(&c, "Well^[[31m");
    CHECK_EQ(child_end(&c), 0);
}

TEST(sessions_command_line_is_checked)
{
    static const struct { const char *args[5], *why; } bad[] = {
        {{"frob"}, "no such command: frob"}, {{"show"}, "show needs SESSION"},
        {{"list", "x"}, "list takes nothing more"}, {{"show", "last", "--json"}, "show does not take --json"},
        {{"--frob"}, "no such flag: --frob"},
        {{"export", "last", "--format"}, "--format needs a value"}, {{"list", "--json=1"}, "--json takes no value"},
        {{"export", "last", "--format=x"}, "\"x\" is not one of jsonl|md"},
        {{"rename", "last"}, "rename needs SESSION and TITLE"},
        {{"show", "last", "6261"}, "show takes one SESSION, not also \"6261\""},
        {{"import", "a", "b"}, "import takes one FILE, not also \"b\""},
        {{"rename", "last", "a", "b"}, "a title of several words needs quotes"},
        {{"rename", "last", " "}, "a title needs a letter"}, {{"import"}, "import needs FILE"},
        {{"rename", "last", "a\nb"}, "a title is one line: this one has 2"},
        {{"import", "/nonexistent"}, "/nonexistent could not be read"},
    };
    begin();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const char *const *a = bad[i].args;
        if (i == 0) chat("hello\n", NULL);
        CHECK_EQ(SESSIONS(a[0], a[1], a[2], a[3]), 2);
        check_complaint(bad[i].why);
    }
}

/* ---------------------------------------------------------------- export, import */

TEST(sessions_exported_and_imported_go_on)
{
    begin();
    chat("first words\n", NULL);
    CHECK_EQ(SESSIONS("export", "last"), 0);
    char *text = strdup(out());
    check_has(text, "{\"plimsoll_session\":1,");
    check_has(text, "\"text\":\"first words\"}");
    snprintf(store, sizeof store, "%s/store%d", folder, n_stores++); /* on another machine, say */
    CHECK_EQ(SESSIONS_IN(text, "import", "-"), 0);
    char id[33];
    CHECK_EQ(sscanf(out(), "%32[0-9a-f]\n", id), 1);
    CHECK_EQ(strlen(out()), 33);
    check_has(err(), "first words: 1 turn\n");
    check_hasnt(text, id);
    chat("and then\n", id);
    CHECK_STR(out(), "Fine\n"); /* the script begins anew: the model was asked once, and nothing was run again */
    CHECK_EQ(SESSIONS("show", id), 0);
    check_has(out(), "  first words\n");
    check_has(out(), "--- turn 2\n\nuser (m");
    free(text);
}

/* What was written beside a name has left it: nothing is called x.XXXXXX. */
static void check_none_beside(void)
{
    DIR *d = opendir(folder);
    CHECK(d != NULL);
    for (struct dirent *e; (e = readdir(d));) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot && strlen(dot) == 7) CHECK_STR(e->d_name, "no file beside another");
    }
    closedir(d);
}

TEST(sessions_export_writes_a_file_for_its_owner_alone)
{
    struct stat st;
    begin();
    chat("first words\n", NULL);
    umask(0);
    CHECK_EQ(SESSIONS("export", "last", "-o", name("a.md"), "--format", "md"), 0);
    CHECK_STR(out(), "");
    CHECK_EQ(stat(name("a.md"), &st), 0);
    CHECK_EQ(st.st_mode & 07777, 0600);
    check_has(text_at(name("a.md")), "# ` first words `");
    umask(022);
    write_text(name("b"), "mine");
    CHECK_EQ(SESSIONS("export", "last", "-o", name("b")), 2);
    check_complaint("is there already; --force writes over it");
    CHECK_STR(text_at(name("b")), "mine");
    CHECK_EQ(SESSIONS("export", "last", "-o", name("b"), "--force"), 0);
    check_has(text_at(name("b")), "plimsoll_session");
    CHECK_EQ(SESSIONS("export", "last", "-o", name("no/where")), 1);
    check_complaint("cannot be written: No such file or directory");
    CHECK_EQ(symlink(name("b"), name("link")), 0);
    CHECK_EQ(SESSIONS("export", "last", "-o", name("link"), "--force"), 1);
    check_complaint("is there, and is no file");
    check_none_beside();
}

TEST(sessions_export_to_a_full_disk_leaves_no_file)
{
    char command[1600];
    struct stat st;
    begin();
    chat("first words\n", NULL);
    snprintf(command, sizeof command,
             "trap '' XFSZ; ulimit -f 1; exec '%s' sessions --store '%s' export last -o '%s' 2>'%s'",
             child_program(), store, name("big"), name("why"));
    CHECK_EQ(WEXITSTATUS(system(command)), 1);
    check_has(text_at(name("why")), "big cannot be written: File too large");
    CHECK(stat(name("big"), &st) != 0);
    check_none_beside();
    child_free(&c);
    child_start_into(&c, (const char *const[]){"sessions", "--store", store, "export", "last", NULL}, "/dev/full");
    CHECK_EQ(child_end(&c), 1);
    check_has(err(), "stdout could not be written: No space left");
}

static int at_terminal(const char *const *args, const char *question, const char *answer)
{
    child_free(&c);
    child_start_at_terminal(&c, args);
    child_wait_for(&c, question);
    child_wait_for(&c, "[y/N] ");
    child_type(&c, answer, strlen(answer));
    return child_end(&c);
}

TEST(sessions_export_asks_before_it_writes_over_a_file)
{
    begin();
    chat("first words\n", NULL);
    write_text(name("kept"), "mine");
    const char *const args[] = {"sessions", "--store", store, "export", "last", "-o", name("kept"), NULL};
    CHECK_EQ(at_terminal(args, "kept is there already; write over it?", "n\n"), 2);
    CHECK_EQ(at_terminal(args, "write over it?", "\n"), 2);
    CHECK_EQ(at_terminal(args, "write over it?", "\x04"), 2);
    CHECK_EQ(at_terminal(args, "write over it?", "\x03"), 130);
    CHECK_STR(text_at(name("kept")), "mine");
    CHECK_EQ(at_terminal(args, "write over it?", "y\n"), 0);
    check_has(text_at(name("kept")), "plimsoll_session");
}

/* That it was of a crew's run is not kept, and said. */
TEST(sessions_import_says_what_it_drops)
{
#define OF_RUN(agent) "{\"plimsoll_session\":1,\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"\"," \
    "\"model\":\"\",\"created\":1,\"updated\":1,\"turns\":0,\"run\":{\"id\":\"ff112233445566778899aabbccddeeff\"," \
    "\"crew\":\"notes\",\"agent\":\"" agent "\",\"members\":[]}}\n{\"end\":{\"records\":0,\"artifacts\":0}}\n"
    begin();
    CHECK_EQ(SESSIONS_IN(OF_RUN("ann"), "import", "-"), 0);
    check_has(err(), "it was ann's in run ff112233 of the crew notes; here it is of no run");
    CHECK_EQ(SESSIONS_IN(OF_RUN(""), "import", "-"), 0);
    check_has(err(), "it was the record of run ff112233 of the crew notes; here it is a session like others");
    CHECK_EQ(SESSIONS(), 0);
    check_hasnt(out(), "notes");
}

TEST(sessions_import_refuses_what_is_none)
{
    begin();
    write_text(name("bad.jsonl"), "{\"plimsoll_session\":7}\n");
    CHECK_EQ(SESSIONS("import", name("bad.jsonl")), 2);
    check_complaint("bad.jsonl was not imported: line 1: version 7 of an export");
    CHECK_STR(out(), "");
    CHECK_EQ(SESSIONS("import", folder), 1);
    check_complaint("could not be read: Is a directory");
    CHECK_EQ(SESSIONS("import", "/dev/zero"), 2);
    check_complaint("line 1 is longer than 16 MiB");
    CHECK_EQ(SESSIONS(), 0);
    check_has(err(), "no session is saved yet");
}

TEST(sessions_import_that_is_interrupted_imports_nothing)
{
    struct buf in = {0};
    begin();
    buf_puts(&in, "{\"plimsoll_session\":1,");
    while (in.len < 1 << 18) buf_puts(&in, "                "); /* more than a pipe holds: it is being read then */
    child_free(&c);
    child_start(&c, (const char *const[]){"sessions", "--store", store, "import", "-", NULL});
    child_type(&c, in.data, in.len);
    kill(c.pid, SIGINT);
    CHECK_EQ(child_end(&c), 130);
    CHECK_EQ(SESSIONS(), 0);
    check_has(err(), "no session is saved yet");
    buf_free(&in);
}

/* ---------------------------------------------------------------- rename, delete */

TEST(sessions_are_renamed_and_deleted)
{
    begin();
    chat("first words\n", NULL);
    chat("other words\n", NULL);
    CHECK_EQ(SESSIONS("rename", "last", "Ships and\033 ports"), 0);
    CHECK_EQ(SESSIONS(), 0);
    check_has(out(), "  1 turn   Ships and^[ ports  [");
    CHECK_EQ(SESSIONS("delete", "last"), 2);
    check_complaint("nobody can be asked; --yes deletes it unasked");
    const char *const args[] = {"sessions", "--store", store, "delete", "last", NULL};
    CHECK_EQ(at_terminal(args, "(1 turn), for good?", "no\n"), 2);
    CHECK_EQ(at_terminal(args, "(1 turn), for good?", "yes\n"), 0);
    CHECK_EQ(SESSIONS("list"), 0);
    check_hasnt(out(), "Ships");
    check_has(out(), "first words");
    CHECK_EQ(mkdir(name("plimsoll"), 0700), 0);
    write_text(name("plimsoll/history"), "first words\n");
    CHECK_EQ(setenv("XDG_STATE_HOME", folder, 1), 0);
    CHECK_EQ(SESSIONS("delete", "last", "--yes"), 0);
    unsetenv("XDG_STATE_HOME");
    check_has(err(), "what was typed on the full screen, whatever the session, stays in ");
    CHECK_EQ(SESSIONS("list"), 0);
    CHECK_STR(out(), "");
}

TEST(sessions_that_are_open_elsewhere_stay_as_they_are)
{
    struct child chatting;
    begin();
    chat("first words\n", NULL);
    chat("other words\n", NULL);
    char older[64];
    snprintf(older, sizeof older, "%s", id_of(1));
    child_start_at_terminal(&chatting, chat_args("last"));
    child_wait_for(&chatting, "goes on after 1 turn: other words");
    child_wait_for(&chatting, "> ");
    CHECK_EQ(SESSIONS("delete", "last", "--yes"), 2);
    check_complaint("process");
    CHECK_EQ(SESSIONS("rename", "last", "x"), 2);
    check_complaint("process");
    CHECK_EQ(SESSIONS("show", "last"), 0); /* reading is fine */
    check_has(out(), "other words");
    CHECK_EQ(SESSIONS("delete", older, "--yes"), 0);
    check_has(err(), "its bytes are wiped when the other processes");
    child_type(&chatting, "\x04", 1);
    CHECK_EQ(child_end(&chatting), 0);
    child_free(&chatting);
    CHECK_EQ(SESSIONS("list"), 0);
    check_hasnt(out(), "first words");
    check_has(out(), "other words");
}

/* ---------------------------------------------------------------- in a chat */

static void type(const char *line, const char *answer)
{
    child_type(&c, line, strlen(line));
    child_wait_for(&c, answer);
}

TEST(sessions_are_exported_and_deleted_in_a_chat)
{
    char line[600], older[64];
    begin();
    chat("first words\n", NULL);
    snprintf(older, sizeof older, "%s", id_of(0));
    child_free(&c);
    child_start_at_terminal(&c, chat_args(NULL));
    child_wait_for(&c, "> ");
    snprintf(line, sizeof line, "/export %s\n", name("none"));
    type(line, "nothing was said yet");
    child_wait_for(&c, "> ");
    type("other words\n", "Fine");
    child_wait_for(&c, "> ");
    snprintf(line, sizeof line, "/export %s\n", name("chat.jsonl"));
    type(line, "written to ");
    check_has(text_at(name("chat.jsonl")), "\"text\":\"other words\"");
    snprintf(line, sizeof line, "/export %s md\n", name("chat.jsonl"));
    child_wait_for(&c, "> ");
    type(line, "write over it? [y/N] ");
    type("n\n", "> ");
    check_has(text_at(name("chat.jsonl")), "plimsoll_session");
    type(line, "write over it? [y/N] ");
    type("y\n", "written to ");
    check_has(text_at(name("chat.jsonl")), "# ` other words `");
    type("/export\n", "/export FILE writes");
    type("/delete\n", "/delete SESSION");
    type("/delete last\n", "that is the one that is open here");
    snprintf(line, sizeof line, "/delete %s\n", older);
    type(line, "(1 turn), for good? [y/N] ");
    type("\n", "it stays");
    type(line, "for good? [y/N] ");
    type("y\n", " is deleted");
    child_wait_for(&c, "> ");
    type("still here\n", "Well");
    child_wait_for(&c, "> ");
    child_type(&c, "\x04", 1);
    CHECK_EQ(child_end(&c), 0);
    CHECK_EQ(SESSIONS("list"), 0);
    check_hasnt(out(), "first words");
    check_has(out(), "  2 turns  other words");
}

TEST(sessions_that_were_undone_are_shown_with_all_alone)
{
    begin();
    child_free(&c);
    child_start_at_terminal(&c, chat_args(NULL));
    child_wait_for(&c, "> ");
    type("first words\n", "Fine");
    child_wait_for(&c, "> ");
    type("secret words\n", "Well");
    child_wait_for(&c, "> ");
    type("/undo\n", "is taken back");
    type("/pin never forget\n", "pinned as");
    child_type(&c, "\x04", 1);
    CHECK_EQ(child_end(&c), 0);
    CHECK_EQ(SESSIONS("show", "last"), 0);
    check_has(out(), "first words");
    check_hasnt(out(), "secret words");
    check_has(out(), "\npin (m");
    CHECK_EQ(SESSIONS("export", "last"), 0);
    check_hasnt(out(), "secret words");
    CHECK_EQ(SESSIONS("show", "last", "--all"), 0);
    check_has(out(), ", taken back)\n  secret words\n");
    CHECK_EQ(SESSIONS("export", "last", "--all"), 0);
    char *text = strdup(out());
    CHECK_EQ(SESSIONS_IN(text, "import", "-"), 0);
    free(text);
    chat("goes on\n", "last");
    CHECK_EQ(SESSIONS("show", "last"), 0);
    check_hasnt(out(), "secret words");
    check_has(out(), "--- turn 2\n\nuser (m");
}

CHECK_MAIN
