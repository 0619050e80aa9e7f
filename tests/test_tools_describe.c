/* What a person is shown before a call runs: every byte, and nothing that a terminal would obey or hide. */
#include "tests/tool_rig.h"
#include "tools/describe.h"
#include "tools/escape.h"

static struct rig rig;
static struct buf out;

static const char *escaped(const char *s, size_t n)
{
    out.len = 0;
    escape_text(s, n, &out);
    return out.data;
}

static int describe(const char *name, json_t *arguments, size_t max, struct err *err)
{
    buf_free(&out);
    int rc = tool_describe(&rig.c, name, arguments, max, &out, err);
    json_decref(arguments);
    return rc;
}

#define SHOWS(text, max, name, ...)                                       \
    do {                                                                  \
        struct err err_ = {0};                                            \
        CHECK_EQ(describe(name, json_pack(__VA_ARGS__), max, &err_), 0);  \
        CHECK_STR(out.data, text);                                        \
    } while (0)

TEST(what_would_be_hidden_is_marked)
{
    CHECK_STR(escaped("plain \xc3\xa4 \xe6\x97\xa5 \\", 14), "plain \xc3\xa4 \xe6\x97\xa5 \\\\");
    CHECK_STR(escaped("a\tb\nc\rd\x1b[0m\x7f", 12), "a\\tb\\nc\\rd\\x1b[0m\\x7f");
    CHECK_STR(escaped("\0x", 2), "\\x00x");
    CHECK_STR(escaped("\xe2\x80\xae", 3), "\\u{202e}");     /* right to left */
    CHECK_STR(escaped("\xe2\x81\xa6", 3), "\\u{2066}");
    CHECK_STR(escaped("\xe2\x80\x8b", 3), "\\u{200b}");     /* zero width */
    CHECK_STR(escaped("\xef\xbb\xbf", 3), "\\u{feff}");
    CHECK_STR(escaped("\xc2\xa0", 2), "\\u{a0}");           /* a blank that is none */
    CHECK_STR(escaped("\xc2\x9b", 2), "\\u{9b}");           /* ESC [ in one character */
    CHECK_STR(escaped("\xe3\x85\xa4", 3), "\\u{3164}");     /* a letter without a shape */
    CHECK_STR(escaped("\xf3\xa0\x81\x81", 4), "\\u{e0041}"); /* a tag */
    CHECK_STR(escaped("\xff\xc3", 2), "\\xff\\xc3");
    CHECK_STR(escaped("\xed\xa0\x80", 3), "\\xed\\xa0\\x80"); /* half a pair */
    buf_free(&out);
}

TEST(a_write_is_shown_with_its_bytes)
{
    struct err err;
    rig_open(&rig);
    SHOWS("write n (a new file): 2 lines, 7 bytes\n  + one\n  + two\n    (no newline at the end)\n", 100, "write",
          "{s:s,s:s}", "path", "n", "text", "one\ntwo");
    CHECK(faccessat(rig.c.workspace, "n", F_OK, 0) != 0); /* nothing was done */
    rig_text(&rig, "n", "12345");
    SHOWS("write n (in place of 5 bytes): 1 line, 6 bytes\n  + \\x1b[2J\\\\\n", 100, "write", "{s:s,s:s}", "path", "n",
          "text", "\x1b[2J\\\n");
    SHOWS("write n (in place of 5 bytes): 2 lines, 8 bytes\n  + one\n  + t\n    (3 bytes more are not shown)\n", 5,
          "write", "{s:s,s:s}", "path", "n", "text", "one\ntwo\n");
    SHOWS("write n (in place of 5 bytes): 0 lines, 0 bytes\n", 5, "write", "{s:s,s:s}", "path", "n", "text", "");
    CHECK_EQ(describe("write", json_pack("{s:s,s:s}", "path", "../n", "text", ""), 9, &err), -1);
    CHECK_STR(err.text, "../n is not allowed");
    buf_free(&out);
    rig_close(&rig);
}

TEST(an_edit_is_shown_as_the_lines_it_changes)
{
    struct err err;
    rig_open(&rig);
    rig_text(&rig, "f", "host\nport = 80 # web\nend");
    SHOWS("edit f, line 2: 2 bytes become 3\n  - port = 80 # web\n  + port = 443 # web\n", 100, "edit",
          "{s:s,s:s,s:s}", "path", "f", "old", "80", "new", "443");
    SHOWS("edit f, line 1: 5 bytes become 0\n  - host\n", 100, "edit", "{s:s,s:s,s:s}", "path", "f", "old", "host\n",
          "new", "");
    SHOWS("edit f, line 1: 5 bytes become 1\n  - host\n  - port = 80 # web\n  + xport = 80 # web\n", 100, "edit",
          "{s:s,s:s,s:s}", "path", "f", "old", "host\n", "new", "x"); /* the next line changes too */
    SHOWS("edit f, line 3: 3 bytes become 4\n  - end\n    (no newline at the end)\n  + END\n", 100, "edit",
          "{s:s,s:s,s:s}", "path", "f", "old", "end", "new", "END\n");
    CHECK_EQ(describe("edit", json_pack("{s:s,s:s,s:s}", "path", "f", "old", "o", "new", "0"), 9, &err), -1);
    CHECK_STR(err.text, "the text is 2 times in f; old must be in it once");
    buf_free(&out);
    rig_close(&rig);
}

TEST(other_calls_are_shown_with_their_arguments)
{
    SHOWS("shell\n  command: rm -r x\\n\\u{202e}y\n", 100, "shell", "{s:s}", "command", "rm -r x\n\xe2\x80\xaey");
    SHOWS("read\n  path: a\n  from: 3\n", 100, "read", "{s:s,s:i}", "path", "a", "from", 3);
    SHOWS("shell\n  command: 12\n    (2 bytes more are not shown)\n", 3, "shell", "{s:s}", "command", "12\xc3\xa4");
    buf_free(&out);
}

CHECK_MAIN
