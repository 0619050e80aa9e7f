/* The tools on files: what each gives, each error, and random edits against a plain model. */
#include "memory/forms.h"
#include "tests/tool_rig.h"

static struct rig rig;

TEST(read_gives_a_file_or_lines_of_it)
{
    rig_open(&rig);
    rig_text(&rig, "a.txt", "one\ntwo\nthree\n");
    rig_text(&rig, "empty", "");
    rig_text(&rig, "blank", "\n");
    CALL_SAYS(&rig, "one\ntwo\nthree", "read", "{s:s}", "path", "a.txt");
    CALL_SAYS(&rig, "two", "read", "{s:s,s:i,s:i}", "path", "./a.txt", "from", 2, "to", 2);
    CALL_SAYS(&rig, "two\nthree", "read", "{s:s,s:i}", "path", "a.txt", "from", 2);
    CALL_SAYS(&rig, "one\ntwo", "read", "{s:s,s:i}", "path", "a.txt", "to", 2);
    CALL_SAYS(&rig, "three", "read", "{s:s,s:i,s:i}", "path", "a.txt", "from", 3, "to", 99);
    CALL_SAYS(&rig, "(empty)", "read", "{s:s}", "path", "empty");
    CALL_SAYS(&rig, "", "read", "{s:s}", "path", "blank");
    CALL_ERROR(&rig, "error: a.txt has no line 4", "read", "{s:s,s:i}", "path", "a.txt", "from", 4);
    CALL_ERROR(&rig, "error: lines are counted from 1, and from is not behind to", "read", "{s:s,s:i}", "path", "a.txt",
               "from", 0);
    CALL_ERROR(&rig, "error: lines are counted from 1, and from is not behind to", "read", "{s:s,s:i,s:i}", "path",
               "a.txt", "from", 3, "to", 2);
    CALL_ERROR(&rig, "error: from is not a whole number", "read", "{s:s,s:s}", "path", "a.txt", "from", "1");
    CALL_ERROR(&rig, "error: no such file: b.txt", "read", "{s:s}", "path", "b.txt");
    CALL_ERROR(&rig, "error: . is a folder", "read", "{s:s}", "path", ".");
    CALL_ERROR(&rig, "error: path is missing", "read", "{}");
    CALL_ERROR(&rig, "error: path has a NUL in it", "read", "{s:s%}", "path", "a.txt\0b", (size_t)7);
    rig_close(&rig);
}

/* The end of the last line is left out whichever it is, and wherever a block of the file ends. */
TEST(read_leaves_out_the_end_of_the_last_line)
{
    static const struct { const char *end, *shown; } ends[] = {
        {"", ""}, {"\n", ""}, {"\r\n", ""}, {"\r", "\r"}, {"\r\r\n", "\r"}, {"\n\n", "\n"}, {"\r\n\r\n", "\r\n"},
        {"\r\n\r", "\r\n\r"}, {"\n\r\n", "\n"}, {"\r\na", "\r\na"},
    };
    struct buf file = {0};
    rig_open(&rig);
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        for (size_t n = (64 << 10) - 4; n < (64 << 10) + 2; n++) {
            file.len = 0;
            for (size_t k = 0; k < n; k++) buf_put(&file, "x", 1);
            buf_puts(&file, ends[i].end);
            rig_file(&rig, "f", file.data, file.len);
            rig_call(&rig, "read", json_pack("{s:s}", "path", "f"));
            CHECK_EQ(rig.out.len, n + strlen(ends[i].shown));
            CHECK_MEM(rig.out.data + n, ends[i].shown, strlen(ends[i].shown));
        }
    buf_free(&file);
    rig_text(&rig, "w", "one\r\ntwo\r\nthree\r\n");
    CALL_SAYS(&rig, "one\r\ntwo", "read", "{s:s,s:i}", "path", "w", "to", 2);
    rig_close(&rig);
}

TEST(read_streams_what_is_large)
{
    enum { MIB = 1 << 20 };
    rig_open(&rig);
    char *big = malloc(3 * MIB);
    for (size_t i = 0; i < 3 * MIB; i++) big[i] = i % 1000 == 999 ? '\n' : (char)('a' + i % 26);
    rig_file(&rig, "big", big, 3 * MIB);
    rig_call(&rig, "read", json_pack("{s:s}", "path", "big"));
    CHECK_EQ(rig.out.len, 3 * MIB);
    CHECK_MEM(rig.out.data, big, 3 * MIB);
    for (int i = 0; i < 40; i++) {
        int from = 1 + i * 77, to = from + i * 5 % 30;
        size_t start = (size_t)(from - 1) * 1000, stop = MIN((size_t)to * 1000 - 1, (size_t)3 * MIB);
        rig_call(&rig, "read", json_pack("{s:s,s:i,s:i}", "path", "big", "from", from, "to", to));
        CHECK_EQ(rig.out.len, stop - start);
        CHECK_MEM(rig.out.data, big + start, stop - start);
    }
    int fd = openat(rig.c.workspace, "huge", O_WRONLY | O_CREAT, 0644);
    CHECK_EQ(ftruncate(fd, (off_t)1 << 40), 0); /* a hole of a terabyte: the sink ends it */
    close(fd);
    rig.enough = MIB;
    rig_call(&rig, "read", json_pack("{s:s}", "path", "huge"));
    CHECK_EQ(rig.verdict, TOOL_STOPPED);
    CHECK(rig.out.len < 2 * MIB);
    rig.enough = 0;
    CALL_ERROR(&rig, "error: huge is too large: 1099511627776 bytes, and 16777216 are allowed", "edit",
               "{s:s,s:s,s:s}", "path", "huge", "old", "a", "new", "b");
    free(big);
    rig_close(&rig);
}

TEST(write_makes_or_replaces_a_file_and_keeps_its_mode)
{
    struct stat st;
    rig_open(&rig);
    CHECK_EQ(mkdirat(rig.c.workspace, "d", 0777), 0);
    CALL_SAYS(&rig, "wrote 2 lines, 7 bytes to n.txt", "write", "{s:s,s:s}", "path", "n.txt", "text", "one\ntwo");
    CALL_SAYS(&rig, "one\ntwo", "read", "{s:s}", "path", "n.txt");
    CHECK_EQ(fchmodat(rig.c.workspace, "n.txt", 04751, 0), 0);
    CALL_SAYS(&rig, "wrote 1 line, 1 byte to n.txt", "write", "{s:s,s:s}", "path", "n.txt", "text", "x");
    CHECK_EQ(fstatat(rig.c.workspace, "n.txt", &st, 0), 0);
    CHECK_EQ(st.st_mode & 07777, 0751);
    CALL_SAYS(&rig, "wrote 0 lines, 0 bytes to d/e", "write", "{s:s,s:s}", "path", "d/e", "text", "");
    CALL_SAYS(&rig, "e", "list", "{s:s}", "path", "d"); /* nothing is left beside it */
    CALL_ERROR(&rig, "error: no such folder: no", "write", "{s:s,s:s}", "path", "no/f", "text", "");
    CALL_ERROR(&rig, "error: n.txt is not a folder", "write", "{s:s,s:s}", "path", "n.txt/f", "text", "");
    CALL_ERROR(&rig, "error: d is a folder", "write", "{s:s,s:s}", "path", "d", "text", "");
    CALL_ERROR(&rig, "error: d/ is a folder", "write", "{s:s,s:s}", "path", "d/", "text", "");
    CALL_ERROR(&rig, "error: d/.. is a folder", "write", "{s:s,s:s}", "path", "d/..", "text", "");
    CHECK_EQ(fchmodat(rig.c.workspace, "n.txt", 0444, 0), 0);
    CALL_ERROR(&rig, "error: n.txt is read only", "write", "{s:s,s:s}", "path", "n.txt", "text", "y");
    rig.c.limits.file_bytes = 3;
    CALL_ERROR(&rig, "error: the text is too large: 4 bytes, and 3 are allowed", "write", "{s:s,s:s}", "path", "f",
               "text", "1234");
    CALL_SAYS(&rig, "x", "read", "{s:s}", "path", "n.txt");
    CALL_SAYS(&rig, "d/\nn.txt", "list", "{s:s}", "path", ".");
    rig_close(&rig);
}

TEST(edit_changes_the_one_place)
{
    rig_open(&rig);
    rig_text(&rig, "f", "port = 1\nhost = a\naaa\n");
    CALL_SAYS(&rig, "replaced 1 place in f", "edit", "{s:s,s:s,s:s}", "path", "f", "old", "port = 1", "new",
              "port = 23");
    CALL_SAYS(&rig, "port = 23\nhost = a\naaa", "read", "{s:s}", "path", "f");
    CALL_ERROR(&rig, "error: the text is not in f", "edit", "{s:s,s:s,s:s}", "path", "f", "old", "zz", "new", "");
    CALL_ERROR(&rig, "error: the text is 2 times in f; old must be in it once", "edit", "{s:s,s:s,s:s}", "path", "f",
               "old", "aa", "new", "");
    CALL_ERROR(&rig, "error: old is empty", "edit", "{s:s,s:s,s:s}", "path", "f", "old", "", "new", "x");
    CALL_ERROR(&rig, "error: old and new are the same", "edit", "{s:s,s:s,s:s}", "path", "f", "old", "a", "new", "a");
    CALL_ERROR(&rig, "error: no such file: g", "edit", "{s:s,s:s,s:s}", "path", "g", "old", "a", "new", "b");
    CALL_ERROR(&rig, "error: new is missing", "edit", "{s:s,s:s}", "path", "f", "old", "a");
    CALL_SAYS(&rig, "port = 23\nhost = a\naaa", "read", "{s:s}", "path", "f");
    rig_text(&rig, "w", "one\r\ntwo\r\nthree\r\n");
    CALL_ERROR(&rig, "error: the text is not in w: its lines end with \\r\\n; write them so in old and new", "edit",
               "{s:s,s:s,s:s}", "path", "w", "old", "one\ntwo", "new", "");
    CALL_ERROR(&rig, "error: the text is not in w", "edit", "{s:s,s:s,s:s}", "path", "w", "old", "one\nthree", "new",
               "");
    CALL_SAYS(&rig, "replaced 1 place in w", "edit", "{s:s,s:s,s:s}", "path", "w", "old", "one\r\ntwo", "new",
              "1\r\n2");
    CALL_SAYS(&rig, "1\r\n2\r\nthree", "read", "{s:s}", "path", "w");
    char many[301];
    memset(many, 'a', 300);
    rig_file(&rig, "m", many, 300);
    CALL_ERROR(&rig, "error: the text is 100 times or more in m; old must be in it once", "edit", "{s:s,s:s,s:s}",
               "path",
               "m", "old", "a", "new", "");
    rig_close(&rig);
}

/* Random texts of few letters, so that parts of them occur once, often and never. */
TEST(random_edits_agree_with_a_plain_model)
{
    unsigned seed = 3;
    int done = 0;
    char text[64] = "abcabdabc";
    rig_open(&rig);
    for (int i = 0; i < 1500; i++) {
        char old[8] = {0}, new[8] = {0}, next[128];
        for (int j = 0; j < 7; j++) {
            seed = seed * 1664525u + 1013904223u;
            if (j <= (int)(seed >> 28) % 4) old[j] = (char)('a' + (seed >> 20) % 3);
            if (j < (int)(seed >> 12) % 6) new[strlen(new)] = (char)('a' + (seed >> 8) % 4);
        }
        int n = 0;
        for (const char *p = text; (p = strstr(p, old)); p++) n++;
        const char *at = strstr(text, old);
        if (at) snprintf(next, sizeof next, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
        rig_text(&rig, "f", text);
        rig_call(&rig, "edit", json_pack("{s:s,s:s,s:s}", "path", "f", "old", old, "new", new));
        CHECK_EQ(rig.verdict == TOOL_DONE, n == 1 && strcmp(old, new) != 0);
        done += rig.verdict == TOOL_DONE;
        if (rig.verdict == TOOL_DONE) snprintf(text, sizeof text, "%.50s", next);
        rig_call(&rig, "read", json_pack("{s:s}", "path", "f"));
        snprintf(next, sizeof next, "%.50s", rig.out.data ? rig.out.data : "");
        CHECK_STR(next, *text ? text : "(empty)");
        if (i % 8 == 0 || strlen(text) < 5) snprintf(text, sizeof text, "abcabdabc");
    }
    CHECK(done > 100);
    rig_close(&rig);
}

TEST(list_gives_names_by_their_bytes)
{
    rig_open(&rig);
    CALL_SAYS(&rig, "(empty)", "list", "{s:s}", "path", ".");
    rig_text(&rig, "b", "");
    rig_text(&rig, "B", "");
    rig_text(&rig, ".hidden", "");
    rig_text(&rig, "two\nlines", "");
    rig_text(&rig, "\xff\x1b[2J", "");
    CHECK_EQ(mkdirat(rig.c.workspace, "dir", 0777), 0);
    CHECK_EQ(symlinkat("dir", rig.c.workspace, "link"), 0);
    CALL_SAYS(&rig, ".hidden\nB\nb\ndir/\nlink\ntwo\\nlines\n\\xff\\x1b[2J", "list", "{s:s}", "path", "./");
    CALL_SAYS(&rig, "(empty)", "list", "{s:s}", "path", "link");
    CALL_ERROR(&rig, "error: no such folder: no", "list", "{s:s}", "path", "no");
    CALL_ERROR(&rig, "error: b is not a folder", "list", "{s:s}", "path", "b");
    rig.c.limits.entries = 5;
    rig_call(&rig, "list", json_pack("{s:s}", "path", "."));
    CHECK(strstr(rig.out.data, "\n(and 2 more)"));
    rig_close(&rig);
}

TEST(search_gives_the_lines_that_match)
{
    rig_open(&rig);
    CHECK_EQ(mkdirat(rig.c.workspace, "src", 0777), 0);
    CHECK_EQ(mkdirat(rig.c.workspace, ".git", 0777), 0);
    rig_text(&rig, "src/a.c", "int main(void)\r\n{\n  main();\n}");
    rig_text(&rig, "b.txt", "Main\nmain");
    rig_text(&rig, ".git/c", "main\n");
    rig_file(&rig, "bin", "main\0", 5);
    CALL_SAYS(&rig, "b.txt:2: main\nsrc/a.c:1: int main(void)\nsrc/a.c:3:   main();", "search", "{s:s,s:s}", "pattern",
              "main", "path", ".");
    CALL_SAYS(&rig, "src/a.c:1: int main(void)", "search", "{s:s,s:s}", "pattern", "\\)$", "path", "src/");
    CALL_SAYS(&rig, "b.txt:1: Main", "search", "{s:s,s:s}", "pattern", "^M", "path", "b.txt");
    CALL_SAYS(&rig, "no match", "search", "{s:s,s:s}", "pattern", "n\\nm", "path", "b.txt");
    CALL_SAYS(&rig, "no match", "search", "{s:s,s:s}", "pattern", "main", "path", "bin");
    CALL_ERROR(&rig, "error: no such folder: no", "search", "{s:s,s:s}", "pattern", "x", "path", "no");
    CALL_ERROR(&rig, "error: no pattern, at its byte 1: missing closing parenthesis", "search", "{s:s,s:s}", "pattern",
               "(", "path", ".");
    CALL_ERROR(&rig, "error: a pattern is one line of 1 to 1024 bytes", "search", "{s:s,s:s}", "pattern", "a\nb",
               "path",
               ".");
    CALL_ERROR(&rig, "error: a pattern is one line of 1 to 1024 bytes", "search", "{s:s,s:s}", "pattern", "", "path",
               ".");
    CALL_ERROR(&rig, "error: pattern has a NUL in it", "search", "{s:s%,s:s}", "pattern", "a\0b", (size_t)3, "path",
               ".");
    rig.c.limits.matches = 1;
    CALL_SAYS(&rig, "b.txt:2: main\n(there may be more matches)", "search", "{s:s,s:s}", "pattern", "main", "path",
              ".");
    rig_close(&rig);
}

TEST(search_is_bounded)
{
    static char text[200000];
    rig_open(&rig);
    memset(text, 'a', sizeof text);
    memcpy(text + 30000, "needle", 6);
    memcpy(text + 150000, "thread", 6);
    rig_file(&rig, "f", text, sizeof text);
    rig_call(&rig, "search", json_pack("{s:s,s:s}", "pattern", "needle", "path", "f"));
    CHECK(strncmp(rig.out.data, "f:1: ...aaa", 11) == 0 && strstr(rig.out.data, "needle"));
    CHECK(rig.out.len < 500);
    CALL_SAYS(&rig, "no match\n(of 1 long lines only the first 65536 bytes were searched)", "search", "{s:s,s:s}",
              "pattern", "thread", "path", ".");
    rig_call(&rig, "search", json_pack("{s:s,s:s}", "pattern", "(a|aa)+[xy]$", "path", "f"));
    CHECK_EQ(rig.verdict, TOOL_FAILED);
    CHECK(strstr(rig.out.data, "error: the pattern is too much work: "));
    rig.c.limits.search_bytes = 1000;
    CALL_SAYS(&rig, "no match\n(there is more than a search may read)", "search", "{s:s,s:s}", "pattern", "zz",
              "path", "f");
    rig.c.limits.depth = 0;
    CALL_SAYS(&rig, "no match\n(1 names could not be searched)", "search", "{s:s,s:s}", "pattern", "a", "path", ".");
    rig_close(&rig);
}

/* One match alone, of one line, may take longer than a search has. */
TEST(search_keeps_to_its_time_within_a_match)
{
    static char text[16384];
    rig_open(&rig);
    memset(text, 'a', sizeof text);
    rig_file(&rig, "f", text, sizeof text);
    static const char pattern[] = "[^x]{0,420}[^x]{0,420}[xy]";
    CALL_ERROR(&rig, "error: the pattern is too much work: match limit exceeded", "search", "{s:s,s:s}", "pattern",
               pattern, "path", "f");
    rig.c.limits.search_ms = 1;
    CALL_SAYS(&rig, "no match\n(the time for a search was over)", "search", "{s:s,s:s}", "pattern", pattern, "path",
              "f");
    rig_close(&rig);
}

TEST(the_table_is_what_it_says)
{
    for (int i = 0; i < tools_count(); i++) CHECK(tool_find(tool_at(i)->name) == tool_at(i));
    CHECK(!tool_find("") && !tool_find("reads") && !tool_find("rea"));
    for (int i = 0; i < tools_count(); i++) {
        const struct tool *t = tool_at(i);
        CHECK_EQ(t->run != NULL, t->place == TOOL_HERE || t->place == TOOL_JAILED);
        CHECK_EQ(t->command != NULL, t->place == TOOL_COMMAND);
        CHECK(t->effect == 0 || t->place == TOOL_JAILED || t->place == TOOL_COMMAND);
    }
    CHECK_EQ(tool_find("write")->effect, TOOL_WRITES);
    CHECK_EQ(tool_find("shell")->effect, TOOL_RUNS);
}

TEST(every_tool_of_the_forms_has_its_row)
{
    int n;
    const struct form_tool *form = forms_tools(&n);
    CHECK_EQ(n, tools_count());
    for (int i = 0; i < n; i++) CHECK(tool_find(form[i].name));
}

TEST(shell_hands_its_command_over_as_it_is)
{
    const char *argv[TOOL_ARGV];
    struct err err = {0};
    json_t *good = json_pack("{s:s}", "command", "a 'b' $(c)"), *bad = json_pack("{s:i}", "command", 3);
    CHECK_EQ(tool_find("shell")->command(good, argv, &err), 0);
    CHECK_STR(argv[0], "/bin/sh");
    CHECK_STR(argv[1], "-c");
    CHECK_STR(argv[2], "--");
    CHECK_STR(argv[3], "a 'b' $(c)");
    CHECK(!argv[4]);
    CHECK_EQ(tool_shell(bad, argv, &err), -1);
    CHECK_STR(err.text, "command is not a text");
    json_decref(good);
    json_decref(bad);
}

CHECK_MAIN
