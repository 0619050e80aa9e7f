/* test_complete.c - what completes the word at the cursor: each choice put in its place is what was meant, hostile
 * names are shown harmless and read back as they are, and the files that a message mentions are found. */
#include "app/tui/complete.h"
#include "tests/check.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ a workspace of words */

/* A name that ends in / is a folder. */
static const char *const *paths;
static bool asked_mention;

static int fake_list(void *arg, bool mention, const char *folder, const char *prefix, struct folder *out)
{
    size_t n = strlen(folder), len = strlen(prefix);
    (void)arg;
    asked_mention = mention;
    *out = (struct folder){.entry = calloc(COMPLETE_LISTED, sizeof *out->entry)};
    for (const char *const *p = paths; *p; p++) {
        const char *name = *p + n;
        if (strncmp(*p, folder, n) != 0 || strncmp(name, prefix, len) != 0 || !*name) continue;
        if (name[0] == '.' && prefix[0] != '.') continue;
        size_t end = strcspn(name, "/");
        if (name[end] == '/' && name[end + 1]) continue; /* of a folder below */
        out->entry[out->n++] = (struct folder_entry){strndup(name, end), name[end] == '/', name[end] != '/'};
    }
    return 0;
}

static int64_t fake_size(void *arg, const char *path)
{
    (void)arg;
    for (const char *const *p = paths; *p; p++)
        if (strcmp(*p, path) == 0 && path[strlen(path) - 1] != '/') return (int64_t)strlen(path);
    return -1;
}

static const struct complete_files fake_files = {fake_list, fake_size, NULL};
static const struct complete_name agents[] = {{"researcher", "reads and finds"}, {"reviewer", NULL}, {"writer", NULL}};
static const struct complete_name tools[] = {{"read", NULL}, {"calculator", NULL}};
static const struct complete_name sessions[] = {{"4f21", "a talk"}, {"4f9a", "another"}};
static const struct command_row rows[] = {
    {"/context", NULL, COMMAND_NONE, NULL, NULL, "what a call carries"},
    {"/compact", NULL, COMMAND_NONE, NULL, NULL, "sum up now"},
    {"/attach", "FILE", COMMAND_FILE, NULL, NULL, "into the conversation"},
    {"/ingest", "FILE...", COMMAND_FILES, NULL, NULL, "for /recall"},
    {"/use", "[AGENT]", COMMAND_AGENT, NULL, NULL, "lines are for this one"},
    {"/tools", "[off TOOL]", COMMAND_TOOL, "off", NULL, "those that are on"},
    {"/policy", "[recall auto or ask]", COMMAND_NONE, "recall auto|recall ask", NULL, "change it"},
    {"/recall", "[all] WORDS", COMMAND_TEXT, "all", NULL, "what was said"},
    {"/limit", "[answer N]", COMMAND_NUMBER, "answer|rounds", NULL, "set a limit"},
    {"/edit", "TEXT", COMMAND_TEXT, NULL, NULL, "ask TEXT"},
    {"/done", "NUMBER", COMMAND_NUMBER, NULL, NULL, "a task is done"},
    {"/resume", "SESSION", COMMAND_SESSION, NULL, NULL, "go on"},
    {"/quit", NULL, COMMAND_NONE, NULL, NULL, "leave"},
};
static struct complete c;

static struct complete_source source(void)
{
    static const char *const some[] = {"README.md", "src/", "src/main.c", "src/map.c", "src/deep/", "src/deep/x.c",
                                       ".hidden", "notes a.txt", "notes b.txt", NULL};
    paths = some;
    struct complete_source s = {.command = rows, .commands = COUNT_OF(rows), .files = &fake_files};
    s.names[COMMAND_AGENT] = (struct complete_names){agents, COUNT_OF(agents)};
    s.names[COMMAND_TOOL] = (struct complete_names){tools, COUNT_OF(tools)};
    s.names[COMMAND_SESSION] = (struct complete_names){sessions, COUNT_OF(sessions)};
    return s;
}

/* What completes a text at the mark |. */
static void at(const char *text)
{
    struct complete_source s = source();
    struct buf line = {0};
    size_t cursor = strcspn(text, "|");
    buf_put(&line, text, cursor);
    buf_puts(&line, text + cursor + 1);
    complete_free(&c);
    CHECK_EQ(complete(&s, line.data ? line.data : "", line.len, cursor, &c), 0);
    CHECK(c.at + c.cut == cursor || c.n == 0);
    buf_free(&line);
}

/* The choices as lists show them, and what each puts in: "shown=text;..." */
static const char *choices(void)
{
    static char all[4000];
    size_t n = 0;
    all[0] = '\0';
    for (size_t i = 0; i < c.n; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s=%s", i ? ";" : "", c.choice[i].shown, c.choice[i].text);
    return all;
}

/* ------------------------------------------------------------------ commands */

TEST(complete_gives_commands_with_what_they_take_and_do)
{
    at("/co|");
    CHECK_STR(choices(), "/context=/context;/compact=/compact");
    CHECK(c.common == NULL && c.takes == NULL && !c.more);
    CHECK_EQ(c.at, 0);
    CHECK_EQ(c.cut, 3);
    at("/c|");
    CHECK_STR(c.common, "/co");
    at("/att|");
    CHECK_STR(choices(), "/attach=/attach ");
    CHECK_STR(c.common, "/attach ");
    CHECK_STR(c.choice[0].takes, "FILE");
    CHECK_STR(c.choice[0].about, "into the conversation");
    at("/att| x"); /* a blank is there */
    CHECK_STR(c.common, "/attach");
    at("/|");
    CHECK_EQ(c.n, COUNT_OF(rows));
    CHECK(c.common == NULL);
    at("/quit|");
    CHECK_EQ(c.n, 1);
    CHECK(c.common == NULL);
    at("/nonsense|");
    CHECK_EQ(c.n, 0);
    at("/nonsense @|");
    CHECK_EQ(c.n, 0);
    at("a turn\n/co|"); /* only where a text begins */
    CHECK_EQ(c.n, 0);
    at("|/co");
    CHECK_EQ(c.n, 0);
}

TEST(complete_gives_a_command_what_it_takes)
{
    at("/use re|");
    CHECK_STR(choices(), "researcher=researcher;reviewer=reviewer");
    CHECK_STR(c.choice[0].about, "reads and finds");
    CHECK(c.common == NULL);
    CHECK_EQ(c.at, 5);
    CHECK_STR(c.takes, "[AGENT]");
    at("/use   res|");
    CHECK_STR(c.common, "researcher");
    CHECK_EQ(c.at, 7);
    at("/use researcher x|");
    CHECK_EQ(c.n, 0);
    at("/resume |");
    CHECK_STR(choices(), "4f21=4f21;4f9a=4f9a");
    CHECK_STR(c.common, "4f");
    at("/done 1|");
    CHECK_EQ(c.n, 0);
    CHECK_STR(c.takes, "NUMBER");
    at("/context |");
    CHECK_EQ(c.n, 0);
    CHECK(c.takes == NULL);
}

TEST(complete_gives_the_words_that_an_argument_begins_with_and_then_what_follows_them)
{
    at("/tools |");
    CHECK_STR(choices(), "off=off ");
    at("/tools off |");
    CHECK_STR(choices(), "read=read;calculator=calculator");
    at("/tools off ca|");
    CHECK_STR(c.common, "calculator");
    CHECK_EQ(c.at, 11);
    at("/policy |");
    CHECK_STR(choices(), "recall auto=recall auto;recall ask=recall ask");
    CHECK_STR(c.common, "recall a");
    at("/policy recall au|");
    CHECK_STR(c.common, "recall auto");
    at("/policy recall auto |");
    CHECK_EQ(c.n, 0);
    at("/limit r|");
    CHECK_STR(c.common, "rounds ");
    at("/limit rounds 3|");
    CHECK_EQ(c.n, 0);
    at("/recall a|");
    CHECK_STR(choices(), "all=all ");
    at("/recall @src/ma|"); /* a text, as any other */
    CHECK_STR(choices(), "main.c=@src/main.c ;map.c=@src/map.c ");
}

TEST(complete_offers_each_row_of_the_chats_own_table_and_what_the_rows_say_goes_together)
{
    struct complete_source s = source();
    s.command = command_table, s.commands = command_rows;
    CHECK(command_rows > 40);
    for (const struct command_row *r = command_table; r < command_table + command_rows; r++) {
        bool found = false;
        complete_free(&c);
        CHECK_EQ(complete(&s, r->name, strlen(r->name), strlen(r->name), &c), 0);
        for (size_t i = 0; i < c.n; i++) found |= strncmp(c.choice[i].text, r->name, strlen(r->name)) == 0;
        CHECK(found);
        CHECK(r->name[0] == '/' && r->run && *r->help && r->arg < COMMAND_ARGS);
        CHECK((r->takes == NULL) == (r->arg == COMMAND_NONE && r->words == NULL));
        CHECK(!r->words || (*r->words && !strstr(r->words, "||") && r->words[strlen(r->words) - 1] != '|'));
    }
}

/* ------------------------------------------------------------------ files */

TEST(complete_gives_files_to_a_command_as_they_are_named)
{
    at("/attach |");
    CHECK_STR(choices(), "README.md=README.md;src/=src/;notes a.txt=notes a.txt;notes b.txt=notes b.txt");
    CHECK(!asked_mention);
    CHECK_STR(c.takes, "FILE");
    at("/attach src/|");
    CHECK_STR(choices(), "main.c=src/main.c;map.c=src/map.c;deep/=src/deep/");
    CHECK_STR(c.choice[2].about, "folder");
    at("/attach src/m|");
    CHECK_STR(c.common, "src/ma");
    at("/attach notes |"); /* a blank is part of the name */
    CHECK_STR(choices(), "notes a.txt=notes a.txt;notes b.txt=notes b.txt");
    at("/ingest |"); /* here it is not, and such names stand in quotes */
    CHECK_STR(choices(), "README.md=README.md ;src/=src/;notes a.txt=\"notes a.txt\" ;notes b.txt=\"notes b.txt\" ");
    at("/ingest n|");
    CHECK_STR(c.common, "\"notes ");
    at("/ingest \"notes |");
    CHECK_STR(choices(), "notes a.txt=\"notes a.txt\" ;notes b.txt=\"notes b.txt\" ");
    at("/ingest \"notes a.txt\" \"notes b|");
    CHECK_STR(c.common, "\"notes b.txt\" ");
    CHECK_EQ(c.at, 22);
    at("/ingest \"notes a.txt\"|");
    CHECK_EQ(c.n, 0);
    at("/ingest 'notes|"); /* a quote without its like is part of a name, and no file has that one: it is open */
    CHECK_STR(choices(), "notes a.txt=\"notes a.txt\" ;notes b.txt=\"notes b.txt\" ");
    CHECK_EQ(c.at, 8);
    at("/ingest README.md 'notes b|");
    CHECK_STR(c.common, "\"notes b.txt\" ");
    CHECK_EQ(c.at, 18);
    at("/ingest 'notes |");
    CHECK_STR(choices(), "notes a.txt=\"notes a.txt\" ;notes b.txt=\"notes b.txt\" ");
    CHECK_EQ(c.at, 8);
    at("/ingest 'src/|");
    CHECK_STR(choices(), "main.c=\"src/main.c\" ;map.c=\"src/map.c\" ;deep/=\"src/deep/");
    at("/ingest 'tis R|"); /* the last is a word of its own if a file begins so */
    CHECK_STR(c.common, "README.md ");
    CHECK_EQ(c.at, 13);
    at("/ingest 'nothing is|");
    CHECK_EQ(c.n, 0);
    at("/ingest 'notes a.txt'|");
    CHECK_EQ(c.n, 0);
    at("/ingest 'notes a.txt' 'notes b|");
    CHECK_EQ(c.at, 22);
    CHECK_STR(c.common, "\"notes b.txt\" ");
    at("/ingest it's|");
    CHECK_EQ(c.n, 0);
    at("/ingest src/main.c notes\\ b|");
    CHECK_STR(c.common, "\"notes b.txt\" ");
    CHECK_EQ(c.at, 19);
    at("/ingest README.md sr|");
    CHECK_STR(c.common, "src/");
    CHECK_EQ(c.at, 18);
}

TEST(complete_gives_agents_then_files_to_an_at_where_a_text_begins_and_files_elsewhere)
{
    at("@re|");
    CHECK_STR(choices(), "researcher=@researcher ;reviewer=@reviewer ");
    CHECK_EQ(c.at, 0);
    at("@res|");
    CHECK_STR(c.common, "@researcher ");
    at("@|");
    CHECK_STR(choices(), "researcher=@researcher ;reviewer=@reviewer ;writer=@writer ;README.md=@README.md ;src/=@src/"
                         ";notes a.txt=@\"notes a.txt\" ;notes b.txt=@\"notes b.txt\" ");
    CHECK(asked_mention);
    at("look at @|");
    CHECK_EQ(c.n, 4);
    at("look at (@src/mai|)");
    CHECK_STR(c.common, "@src/main.c ");
    CHECK_EQ(c.at, 9);
    CHECK_EQ(c.cut, 8);
    at("one\ntwo @src/d|\nthree");
    CHECK_STR(c.common, "@src/deep/"); /* a folder: no blank, the name goes on */
    at("me@src/ma|"); /* an address is no mention */
    CHECK_EQ(c.n, 0);
    at("@src/main.c and|");
    CHECK_EQ(c.n, 0);
    at("/edit say @src/mai|");
    CHECK_STR(c.common, "@src/main.c ");
}

TEST(complete_gives_hidden_files_when_a_dot_was_typed)
{
    at("see @|");
    CHECK(!strstr(choices(), "hidden"));
    at("see @.|");
    CHECK_STR(choices(), ".hidden=@.hidden ");
}

TEST(complete_quotes_names_with_blanks_and_goes_on_within_quotes)
{
    at("@no|");
    CHECK_STR(c.common, "@\"notes ");
    at("@\"notes |");
    CHECK_STR(choices(), "notes a.txt=@\"notes a.txt\" ;notes b.txt=@\"notes b.txt\" ");
    CHECK(c.common == NULL);
    at("@\"notes a|");
    CHECK_STR(c.common, "@\"notes a.txt\" ");
    CHECK_EQ(c.at, 0);
    at("@\"src/de|"); /* quotes that were typed stay, open behind a folder */
    CHECK_STR(c.common, "@\"src/deep/");
    at("@\"notes a.txt\"|");
    CHECK_EQ(c.n, 0);
    at("@\"src/\\q|"); /* an escape that is none */
    CHECK_EQ(c.n, 0);
}

/* ------------------------------------------------------------------ hostile names */

static const char *const hostile[] = {
    "line\nbreak", "esc\x1b[2J", "bad\xff\xfe", "half\xc3", "over\xe2\x80\xaeride", "quo\"te", "back\\slash", "tab\tx",
    " lead", "trail ", "x\\n", "nbsp\xc2\xa0.", "\x01", "del\x7f", "@at", "gr\xc3\xbc\xc3\x9f", "{brace}", "'", NULL
};

/* Completed, the mention names exactly that file again, and what a list shows of it is harmless. */
TEST(complete_writes_every_name_so_that_it_is_read_back_as_it_is)
{
    struct complete_source s = source();
    struct complete_mentions m;
    for (const char *const *name = hostile; *name; name++) {
        const char *one[] = {*name, NULL};
        paths = one;
        complete_free(&c);
        CHECK_EQ(complete(&s, "see @", 5, 5, &c), 0);
        CHECK_EQ(c.n, 1);
        for (const char *p = c.choice[0].shown; *p; p++) CHECK((unsigned char)*p >= ' ' && *p != 0x7f);
        for (const char *p = c.choice[0].text; *p; p++) CHECK((unsigned char)*p >= ' ' && *p != 0x7f);
        CHECK(!strstr(c.choice[0].shown, "\xe2\x80\xae"));
        CHECK_EQ(complete_attachments(&s, c.choice[0].text, strlen(c.choice[0].text), &m), 0);
        CHECK_EQ(m.n, 1);
        CHECK_STR(m.mention[0].path, *name);
        CHECK_EQ(m.mention[0].bytes, strlen(*name));
        CHECK_EQ(m.mention[0].n + 1, strlen(c.choice[0].text));
        complete_mentions_free(&m);
    }
}

TEST(complete_offers_no_name_to_a_command_that_its_line_cannot_say)
{
    struct complete_source s = source();
    paths = hostile;
    complete_free(&c);
    CHECK_EQ(complete(&s, "/attach ", 8, 8, &c), 0);
    CHECK_STR(choices(), "over\\u{202e}ride=over\xe2\x80\xaeride;quo\"te=quo\"te;"
                         "back\\\\slash=back\\slash;x\\\\n=x\\n;nbsp\\u{a0}.=nbsp\xc2\xa0.;"
                         "@at=@at;gr\xc3\xbc\xc3\x9f=gr\xc3\xbc\xc3\x9f;{brace}={brace};'='");
}

TEST(complete_cuts_what_names_share_between_characters)
{
    const char *const two[] = {"\xc3\xa4x", "\xc3\xb6x", NULL};
    const char *const more[] = {"a\xc3\xa4x", "a\xc3\xb6x", NULL};
    struct complete_source s = source();
    paths = two;
    complete_free(&c);
    CHECK_EQ(complete(&s, "see @", 5, 5, &c), 0);
    CHECK_EQ(c.n, 2);
    CHECK(c.common == NULL);
    paths = more;
    complete_free(&c);
    CHECK_EQ(complete(&s, "see @", 5, 5, &c), 0);
    CHECK_STR(c.common, "@a");
}

/* Any bytes with the cursor anywhere: what is given lies within the text, and each choice begins as the word does. */
TEST(complete_of_random_texts_stays_within_them)
{
    static const char letters[] = "@@@\"\\/ \nsrcmanote.x{u41}\x1b\xc3\xff";
    struct complete_source s = source();
    struct complete_mentions m;
    unsigned x = 7;
    const int rounds = CHECK_SANITIZED ? 5000 : 50000;
    size_t given = 0, mentioned = 0;
    for (int round = 0; round < rounds; round++) {
        size_t n = (x = x * 1103515245u + 12345u) >> 16 & 15, cursor;
        char *text = malloc(MAX(n, (size_t)1)); /* nothing behind it may be read */
        CHECK(text != NULL);
        for (size_t i = 0; i < n; i++) text[i] = letters[((x = x * 1103515245u + 12345u) >> 16) % (sizeof letters - 1)];
        cursor = ((x = x * 1103515245u + 12345u) >> 16) % (n + 1);
        complete_free(&c);
        CHECK_EQ(complete(&s, text, n, cursor, &c), 0);
        CHECK(c.at + c.cut == cursor);
        given += c.n;
        CHECK_EQ(complete_attachments(&s, text, n, &m), 0);
        for (size_t i = 0; i < m.n; i++) CHECK(m.mention[i].at + m.mention[i].n <= n && text[m.mention[i].at] == '@');
        mentioned += m.n;
        complete_mentions_free(&m);
        free(text);
    }
    CHECK((int)given > rounds / 10 && (int)mentioned > rounds / 10);
    complete_free(&c);
}

TEST(complete_of_a_folder_with_more_names_than_are_looked_at_does_not_say_what_they_share)
{
    static char name[COMPLETE_CHOICES + 1][16];
    static const char *many[COMPLETE_CHOICES + 2];
    struct complete_source s = source();
    for (int i = 0; i <= COMPLETE_CHOICES; i++) {
        snprintf(name[i], sizeof name[i], "file%04d", i);
        many[i] = name[i];
    }
    paths = many;
    complete_free(&c);
    CHECK_EQ(complete(&s, "see @", 5, 5, &c), 0);
    CHECK_EQ(c.n, COMPLETE_CHOICES);
    CHECK(c.more);
    CHECK_STR(c.common, "@file0"); /* of these all were looked at */
}

/* ------------------------------------------------------------------ attachments */

/* "path:bytes@at+n;..." */
static const char *mentions(const char *text)
{
    static char all[2000];
    struct complete_source s = source();
    struct complete_mentions m;
    size_t n = 0;
    all[0] = '\0';
    CHECK_EQ(complete_attachments(&s, text, strlen(text), &m), 0);
    for (size_t i = 0; i < m.n; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s:%d@%zu+%zu", i ? ";" : "", m.mention[i].path,
                              (int)m.mention[i].bytes, m.mention[i].at, m.mention[i].n);
    complete_mentions_free(&m);
    return all;
}

TEST(attachments_are_the_mentions_that_name_files)
{
    CHECK_STR(mentions("read @src/main.c and @README.md"), "src/main.c:10@5+11;README.md:9@21+10");
    CHECK_STR(mentions("@\"notes a.txt\" please"), "notes a.txt:11@0+14");
    CHECK_STR(mentions("@\"notes\\x20a.txt\" @\"notes\\u{20}b.txt\""), "notes a.txt:11@0+17;notes b.txt:11@18+19");
    CHECK_STR(mentions("nothing here, me@src/main.c, @ @"), "");
    CHECK_STR(mentions("@src/main.c @src/main.c"), "src/main.c:10@0+11");
    CHECK_STR(mentions("see @src/ and @gone.c"), "src/:-1@4+5;gone.c:-1@14+7");
    CHECK_STR(mentions("@\"notes a.txt"), "notes a.txt:11@0+13"); /* the message ends it */
    CHECK_STR(mentions("@\"no\\x00\" @\"\\q\" @\"\""), "");
}

TEST(attachments_leave_out_the_agent_that_a_text_is_for)
{
    CHECK_STR(mentions("@writer see @README.md"), "README.md:9@12+10");
    CHECK_STR(mentions("@writer: see @README.md"), "README.md:9@13+10");
    CHECK_STR(mentions("see @writer"), "writer:-1@4+7");
    CHECK_STR(mentions("@\"writer\""), "writer:-1@0+9");
}

TEST(attachments_are_read_without_what_ends_a_sentence)
{
    CHECK_STR(mentions("(see @README.md)."), "README.md:9@5+10");
    CHECK_STR(mentions("is it @src/main.c?!"), "src/main.c:10@6+11");
    CHECK_STR(mentions("and so @... on"), "");
    CHECK_STR(mentions("no @gone.c."), "gone.c:-1@3+7");
}

TEST(attachments_have_an_end)
{
    struct buf text = {0};
    struct complete_source s = source();
    struct complete_mentions m;
    for (int i = 0; i < COMPLETE_MENTIONS; i++) buf_printf(&text, "@file%d ", i);
    CHECK_EQ(complete_attachments(&s, text.data, text.len, &m), 0);
    CHECK_EQ(m.n, COMPLETE_MENTIONS);
    CHECK(!m.more);
    complete_mentions_free(&m);
    buf_puts(&text, "@README.md");
    CHECK_EQ(complete_attachments(&s, text.data, text.len, &m), 0);
    CHECK_EQ(m.n, COMPLETE_MENTIONS);
    CHECK(m.more);
    complete_mentions_free(&m);
    buf_free(&text);
    text = (struct buf){0};
    buf_puts(&text, "@");
    for (int i = 0; i < 10000; i++) buf_puts(&text, "a");
    CHECK_EQ(complete_attachments(&s, text.data, text.len, &m), 0);
    CHECK_EQ(m.n, 0);
    complete_mentions_free(&m);
    complete_free(&c);
    CHECK_EQ(complete(&s, text.data, text.len, text.len, &c), 0); /* longer than is looked at */
    CHECK_EQ(c.n, 0);
    buf_free(&text);
}

/* ------------------------------------------------------------------ the system's files */

static void make(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

static const char *around; /* the folder that the workspace lies in */

static int make_workspace(void)
{
    around = check_tmpdir();
    int root = open(around, O_RDONLY | O_DIRECTORY);
    CHECK(root >= 0 && mkdirat(root, "ws", 0700) == 0 && mkdirat(root, "ws/src", 0700) == 0);
    make(root, "secret.txt", "outside");
    make(root, "ws/a.txt", "12345");
    make(root, "ws/.dot", "");
    make(root, "ws/new\nline", "is refused, and so not offered");
    make(root, "ws/src/main.c", "int main;");
    CHECK(symlinkat("../secret.txt", root, "ws/out") == 0 && symlinkat("src", root, "ws/link") == 0);
    CHECK(mkfifoat(root, "ws/pipe", 0600) == 0);
    int ws = openat(root, "ws", O_RDONLY | O_DIRECTORY);
    close(root);
    CHECK(ws >= 0);
    return ws;
}

TEST(complete_finds_the_workspaces_files_and_no_others)
{
    int root = make_workspace();
    struct complete_files files = complete_workspace(&root);
    struct complete_source s = {.command = rows, .commands = COUNT_OF(rows), .files = &files};
    struct complete_mentions m;
    static const char text[] = "@a.txt @src/main.c @out @../secret.txt @/etc/passwd @src @pipe @link/main.c";
    complete_free(&c);
    CHECK_EQ(complete(&s, "see @", 5, 5, &c), 0);
    CHECK_STR(choices(), "a.txt=@a.txt ;link/=@link/;out=@out ;src/=@src/");
    complete_free(&c);
    CHECK_EQ(complete(&s, "see @src/", 9, 9, &c), 0);
    CHECK_STR(choices(), "main.c=@src/main.c ");
    complete_free(&c);
    CHECK_EQ(complete(&s, "see @../", 8, 8, &c), 0);
    CHECK_EQ(c.n, 0);
    CHECK_EQ(complete(&s, "see @/", 6, 6, &c), 0);
    CHECK_EQ(c.n, 0);
    CHECK_EQ(complete_attachments(&s, text, sizeof text - 1, &m), 0);
    CHECK_EQ(m.n, 8);
    CHECK_EQ(m.mention[0].bytes, 5);
    CHECK_EQ(m.mention[1].bytes, 9);
    for (int i = 2; i < 7; i++) CHECK_EQ(m.mention[i].bytes, -1);
    complete_mentions_free(&m);
    close(root);
}

TEST(complete_of_a_commands_file_goes_wherever_the_program_may)
{
    int root = -1;
    close(make_workspace());
    struct complete_files files = complete_workspace(&root);
    struct complete_source s = {.command = rows, .commands = COUNT_OF(rows), .files = &files};
    struct buf line = {0}, whole = {0};
    buf_printf(&line, "/attach %s/ws/a", around);
    buf_printf(&whole, "%s/ws/a.txt", around);
    complete_free(&c);
    CHECK_EQ(complete(&s, line.data, line.len, line.len, &c), 0);
    CHECK_STR(c.common, whole.data);
    complete_free(&c);
    CHECK_EQ(complete(&s, "see @", 5, 5, &c), 0); /* no workspace */
    CHECK_EQ(c.n, 0);
    complete_free(&c);
    buf_free(&line);
    buf_free(&whole);
}

CHECK_MAIN
