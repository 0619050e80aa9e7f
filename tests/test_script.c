/* test_script.c - the reader of scripts: what each line means, where it stands, and what is refused. */
#include "app/script.h"
#include "tests/check.h"
#include <unistd.h>

/* ---------------------------------------------------------------- helpers */

static struct buf shown; /* of the last script: "line kind name|text\n" each, then "end" or the error */

static void show(struct script *s)
{
    struct script_item item;
    struct err err = {0};
    enum script_result r;
    buf_free(&shown);
    while ((r = script_next(s, &item, &err)) == SCRIPT_ITEM) {
        buf_printf(&shown, "%lld %s%s|", (long long)item.line, item.kind == SCRIPT_COMMAND ? "/" : "@", item.name);
        buf_put(&shown, item.text, item.n);
        buf_puts(&shown, "\n");
    }
    CHECK(r == SCRIPT_END || r == SCRIPT_BAD);
    CHECK_EQ(r == SCRIPT_BAD, err.code != 0);
    buf_puts(&shown, r == SCRIPT_END ? "end" : err.text);
    script_close(s);
}

static const char *read_bytes(const char *text, size_t n)
{
    struct script s;
    script_open_text(&s, text, n);
    show(&s);
    return shown.data;
}

static const char *read_script(const char *text) { return read_bytes(text, strlen(text)); }

static const char *read_stdin(const char *text)
{
    struct script s;
    struct input in;
    int fd[2];
    CHECK_EQ(pipe(fd), 0);
    CHECK_EQ(write(fd[1], text, strlen(text)), (ssize_t)strlen(text));
    close(fd[1]);
    input_open(&in, fd[0]);
    script_open(&s, &in);
    show(&s);
    input_close(&in);
    close(fd[0]);
    return shown.data;
}

static void check_bad(const char *script, const char *line, const char *part)
{
    const char *last = strrchr(read_script(script), '\n');
    last = last ? last + 1 : shown.data;
    if (strncmp(last, line, strlen(line)) || !strstr(last, part)) CHECK_STR(last, part);
}

/* ---------------------------------------------------------------- items */

static const char all[] =
    "plimsoll 1\n"
    "# all of it\n"
    "\n"
    "What floats?\n"
    " \t\n"
    "@mate And what sinks?  \n"
    "<<END\n"
    "first\n"
    "\n"
    "# no comment\n"
    " END\n"
    "/quit\n"
    "END\n"
    "@mate  <<a-B_9 \n"
    "\\one\n"
    "a-B_9\n"
    "/expect  a  ship \t\n"
    "/quit\n";

static const char all_items[] =
    "4 @|What floats?\n"
    "6 @mate|And what sinks?\n"
    "7 @|first\n\n# no comment\n END\n/quit\n"
    "14 @mate|\\one\n"
    "17 /expect|a  ship\n"
    "18 /quit|\n"
    "end";

TEST(script_each_kind_of_line_with_its_number)
{
    CHECK_STR(read_script(all), all_items);
}

TEST(script_from_a_descriptor_is_the_same_as_from_a_text)
{
    CHECK_STR(read_stdin(all), all_items);
    CHECK_STR(read_stdin("one\n@two"), "1 @|one\nline 2: @two has no text");
}

TEST(script_lines_may_end_as_on_other_systems_and_the_last_needs_no_end)
{
    struct buf other = {0};
    for (const char *c = all; *c; c++) buf_puts(&other, (char[]){*c == '\n' ? '\r' : *c, *c == '\n' ? '\n' : '\0', 0});
    CHECK_STR(read_script(other.data), all_items);
    buf_free(&other);
    CHECK_STR(read_script("plimsoll 1\r\none"), "2 @|one\nend");
    CHECK_STR(read_script("<<E\none\nE"), "1 @|one\nend");
    CHECK_STR(read_script("a\rb\n"), "1 @|a\rb\nend");
}

TEST(script_a_backslash_in_front_makes_a_turn_of_any_text)
{
    CHECK_STR(read_script("\\/usr\n\\@mate\n\\#1\n\\<<END\n\\\\x\n\\plain\n"),
              "1 @|/usr\n2 @|@mate\n3 @|#1\n4 @|<<END\n5 @|\\x\n6 @|plain\nend");
    CHECK_STR(read_script("@a /quit\n@a \\<<END\n@a \\\\\n@a #1\n@a @b\n"),
              "1 @a|/quit\n2 @a|<<END\n3 @a|\\\n4 @a|#1\n5 @a|@b\nend");
}

TEST(script_what_is_not_at_the_beginning_of_a_line_means_nothing)
{
    CHECK_STR(read_script(" /quit\n\t@mate x\n # y\n <<END\nx # y\na /quit\n"),
              "1 @| /quit\n2 @|\t@mate x\n3 @| # y\n4 @| <<END\n5 @|x # y\n6 @|a /quit\nend");
}

TEST(script_nothing_is_a_script_too)
{
    CHECK_STR(read_script(""), "end");
    CHECK_STR(read_script("\n\n# nothing\n"), "end");
    CHECK_STR(read_stdin(""), "end");
}

/* ---------------------------------------------------------------- the header */

TEST(script_a_header_is_one_line_or_two_at_the_beginning)
{
    CHECK_STR(read_script("#!/usr/bin/env plimsoll\nx\n"), "2 @|x\nend");
    CHECK_STR(read_script("#!/usr/bin/env plimsoll\nplimsoll 1\nx\n"), "3 @|x\nend");
    CHECK_STR(read_script("plimsoll \t 1  \nx\n"), "2 @|x\nend");
    CHECK_STR(read_script("plimsoll 1\nplimsoll 1\n"), "2 @|plimsoll 1\nend");
    CHECK_STR(read_script("# first\nplimsoll 2\n"), "2 @|plimsoll 2\nend");
    CHECK_STR(read_script("plimsoll 1 is a line\n"), "1 @|plimsoll 1 is a line\nend");
    CHECK_STR(read_script("plimsolls 1\nplimsoll1\n"), "1 @|plimsolls 1\n2 @|plimsoll1\nend");
}

TEST(script_of_another_version_is_refused_with_the_one_that_is_known)
{
    check_bad("plimsoll 2\nx\n", "line 1: ", "(\"plimsoll 2\"); this program knows version 1");
    check_bad("#!x\nplimsoll 10\n", "line 2: ", "this program knows version 1");
    check_bad("plimsoll 01\n", "line 1: ", "this program knows version 1");
    check_bad("plimsoll 99999999999999999999\n", "line 1: ", "this program knows version 1");
}

static bool is(const char *line) { return script_is(line, strlen(line)); }

TEST(script_is_what_its_first_line_says)
{
    CHECK(is("#!/usr/bin/env -S plimsoll --script") && is("#!") && is("plimsoll 1") && is("plimsoll 2") &&
          is("plimsoll\t1 "));
    CHECK(!is("") && !is("#") && !is("# plimsoll 1") && !is("plimsoll") && !is("plimsoll ") && !is("plimsoll 1a") &&
          !is("plimsoll 1 2") && !is(" plimsoll 1") && !is("Plimsoll 1") && !is("plimsoll1") && !is("/quit"));
}

TEST(script_a_first_line_that_was_looked_at_is_read_again)
{
    struct script s;
    struct input in;
    struct err err = {0};
    const char *line;
    size_t n;
    int fd[2];
    CHECK_EQ(pipe(fd), 0);
    CHECK_EQ(write(fd[1], "plimsoll 2\nx", 12), 12);
    close(fd[1]);
    input_open(&in, fd[0]);
    CHECK_EQ(input_line(&in, &line, &n, &err), INPUT_OK);
    CHECK(script_is(line, n));
    input_again(&in);
    script_open(&s, &in);
    show(&s);
    CHECK(strstr(shown.data, "line 1: ") == shown.data);
    CHECK_EQ(input_line(&in, &line, &n, &err), INPUT_OK);
    CHECK_EQ(n, 1);
    input_close(&in);
    close(fd[0]);
}

/* ---------------------------------------------------------------- refused */

TEST(script_a_missing_end_names_the_line_where_the_turn_began)
{
    check_bad("x\n\n<<END\na\nb\nEND \nend\n", "line 3: ", "has no end: a line that is only END");
    check_bad("@mate <<X", "line 1: ", "has no end: a line that is only X");
}

TEST(script_what_is_no_item_is_refused_with_its_line)
{
    static const struct { const char *text, *part; } bad[] = {
        {"@", "@ needs an agent's name"},
        {"@ mate x", "@ needs an agent's name"},
        {"@ma/te x", "@ needs an agent's name"},
        {"@mate: x", "@ needs an agent's name"},
        {"@mate", "@mate has no text"},
        {"@mate \t", "@mate has no text"},
        {"@mate \\", "a turn without text"},
        {"@aaaaaaaaaabbbbbbbbbbccccccccccddddddddddX x", "at most 40 letters"},
        {"/", "/ needs a command's name"},
        {"//x", "/ needs a command's name"},
        {"/ quit", "/ needs a command's name"},
        {"/usr/bin", "/ needs a command's name"},
        {"\\", "a turn without text"},
        {"<<", "<< is for a turn of several lines"},
        {"<< END", "<< is for a turn of several lines"},
        {"<<END x", "<< is for a turn of several lines"},
        {"<<'END'", "<< is for a turn of several lines"},
        {"@mate <<END x", "<< is for a turn of several lines"},
        {"<<END\nEND", "has no text"},
        {"<<END\n\nEND", "has no text"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char script[200];
        snprintf(script, sizeof script, "# one\n\nx\n%s\nEND\n", bad[i].text);
        check_bad(script, "line 4: ", bad[i].part);
    }
}

TEST(script_names_of_the_most_letters_are_taken)
{
    CHECK_STR(read_script("@aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd x\n"),
              "1 @aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd|x\nend");
}

TEST(script_bytes_that_are_no_text_are_refused_with_their_place)
{
    CHECK_STR(read_bytes("x\na\0b\n", 6), "1 @|x\nline 2: a NUL, at byte 2 of the line: this is no text");
    check_bad("x\nab\xff\n", "line 2: ", "byte 3 of the line is not UTF-8");
    check_bad("# \xc3\n", "line 1: ", "byte 3 of the line is not UTF-8");
    check_bad("<<E\nx\n\xed\xa0\x80\nE\n", "line 3: ", "byte 1 of the line is not UTF-8");
    CHECK_STR(read_script("\xc3\xa4\xf0\x9f\x9a\xa2\n"), "1 @|\xc3\xa4\xf0\x9f\x9a\xa2\nend");
}

TEST(script_a_line_or_a_turn_over_the_limit_is_refused)
{
    size_t n = INPUT_LIMIT;
    char *text = malloc(n + 64);
    CHECK(text != NULL);
    memset(text, 'a', n + 64);
    memcpy(text, "x\n", 2);
    text[n + 2] = '\n';
    CHECK(strncmp(read_bytes(text, n + 3), "1 @|x\n2 @|aaa", 13) == 0);
    CHECK_STR(shown.data + shown.len - 5, "a\nend");
    text[n + 2] = 'a';
    CHECK_STR(read_bytes(text, n + 4), "1 @|x\nline 2: longer than 16 MiB");
    memcpy(text, "x\n<<E\n", 6);
    text[n / 2] = '\n';
    memcpy(text + n + 10, "\nE\n", 3);
    CHECK_STR(read_bytes(text, n + 13), "1 @|x\nline 2: the turn that begins here is longer than 16 MiB");
    free(text);
}

TEST(script_a_source_that_cannot_be_read_is_an_error_with_its_line)
{
    struct script s;
    struct input in;
    int fd[2];
    CHECK_EQ(pipe(fd), 0);
    close(fd[0]);
    input_open(&in, fd[1]); /* the end for writing */
    script_open(&s, &in);
    show(&s);
    CHECK(strstr(shown.data, "line 1: stdin could not be read") == shown.data);
    input_close(&in);
    close(fd[1]);
}

CHECK_MAIN
