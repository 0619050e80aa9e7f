/* What an import is fed comes from outside: what is no session is refused with a line that says why, nothing of it is
 * left in the store, and no memory or disk is taken by what it claims. */
#include "tests/export_rig.h"
#include <malloc.h>
#include <sys/mman.h>

#define HEAD_OF(turns) "{\"plimsoll_session\":1,\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"t\"," \
                       "\"model\":\"\",\"created\":1,\"updated\":1,\"turns\":" turns "}\n"
#define HEAD HEAD_OF("0")
#define USER(n) "{\"number\":" #n ",\"kind\":\"user\",\"turn\":1,\"time\":1,\"text\":\"x\"}\n"
#define END(n, a) "{\"end\":{\"records\":" #n ",\"artifacts\":" #a "}}\n"

/* Two frames one behind the other are one stream. */
TEST(import_takes_frames_that_were_joined)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = small(s), copy;
    struct buf out = {0}, half, rest, joined = {0}, again = {0};
    export_to(s, &h, EXPORT_JSONL, true, &out);
    half = pack(&(struct buf){.data = out.data, .len = out.len / 2}, 3);
    rest = pack(&(struct buf){.data = out.data + out.len / 2, .len = out.len - out.len / 2}, 9);
    buf_put(&joined, half.data, half.len);
    buf_put(&joined, rest.data, rest.len);
    OK(import(s, joined.data, joined.len, 64, &copy));
    export_to(s, &copy, EXPORT_JSONL, true, &again);
    check_same(&out, &again);
    CHECK_EQ(import(s, joined.data, half.len, 64, &copy), IMPORT_BAD); /* a line is cut there */
    CHECK_EQ(import(s, joined.data, joined.len - 1, 64, &copy), IMPORT_BAD);
    check_err(IMPORT_BAD, "it ends within its compression");
    buf_free(&out);
    buf_free(&half);
    buf_free(&rest);
    buf_free(&joined);
    buf_free(&again);
    store_close(s);
}

/* ---------------------------------------------------------------- numbers that an export left out */

static void say_line(void *self, const char *line) { buf_printf(self, "%s\n", line); }

/* How much is missing of what is salvaged of the store in dir; *said: the lines that say so. */
static uint64_t salvaged(const char *dir, struct buf *said)
{
    uint64_t n, gone;
    char to[256];
    snprintf(to, sizeof to, "%s", fresh_dir());
    said->len = 0;
    OK(store_salvage(dir, to, 0, &(struct store_report){.line = say_line, .user = said}, &n, &gone, &err));
    buf_put(said, "", 1);
    return gone;
}

static void take_out(const char *dir, const uint8_t *session, uint64_t number)
{
    struct store *s = open_at(dir);
    const struct store_key key = store_key_message(session, number);
    store_begin(s, STORE_JOURNAL);
    OK(store_remove(s, &key, &err));
    OK(store_commit(s, &err));
    store_close(s);
}

/* Nothing was lost of what an export left out, nor in a copy; what is lost beside it is. */
TEST(import_notes_what_was_left_out_so_that_salvage_calls_it_no_loss)
{
    char dir[256];
    struct buf out = {0}, said = {0};
    struct journal_head copy;
    struct store *s = open_at(fresh_dir());
    const struct journal_head h = small(s);
    export_to(s, &h, EXPORT_JSONL, false, &out);
    store_close(s);
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    s = open_at(dir);
    OK(import(s, out.data, out.len, 64, &copy));
    struct journal_fork whole = {.turn = 2}, part = {.turn = 1};
    memcpy(whole.from, copy.id, sizeof whole.from);
    OK(journal_fork(s, &whole, &err));
    memcpy(part.from, whole.to, sizeof part.from);
    OK(journal_fork(s, &part, &err));
    store_close(s);
    CHECK_EQ(salvaged(dir, &said), 0);
    CHECK_STR(said.data, "");
    take_out(dir, copy.id, 9);
    CHECK_EQ(salvaged(dir, &said), 1);
    CHECK(strncmp(said.data, "1 messages before message 10 of session ", 40) == 0);
    take_out(dir, whole.to, 3);
    CHECK_EQ(salvaged(dir, &said), 2);
    CHECK(strstr(said.data, "1 messages before message 4 of session "));
    buf_free(&out);
    buf_free(&said);
}

/* A copy that ends before a number has no say about it: it is given to something else. */
TEST(import_s_gaps_end_where_a_copy_of_it_does)
{
    static const char text[] = HEAD_OF("1") USER(1) "{\"number\":2,\"kind\":\"answer\",\"turn\":1,\"time\":1,"
                               "\"text\":\"y\"}\n{\"number\":9,\"kind\":\"user\",\"turn\":2,\"time\":1,"
                               "\"text\":\"z\"}\n" END(3, 0);
    char dir[256];
    struct buf said = {0};
    struct journal_head copy, cut;
    struct journal_batch b = {0};
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    struct store *s = open_at(dir);
    OK(import(s, text, sizeof text - 1, 64, &copy));
    struct journal_fork f = {.turn = 1};
    memcpy(f.from, copy.id, sizeof f.from);
    OK(journal_fork(s, &f, &err));
    OK(journal_head(s, f.to, &cut, &err));
    CHECK_EQ(cut.next, 3);
    add(&b, 5, (struct journal_message){.kind = JOURNAL_USER, .turn = 2}, "3 and 4 are lost");
    cut.next = 6;
    write_all(s, &b, &cut);
    store_close(s);
    CHECK_EQ(salvaged(dir, &said), 1);
    CHECK(strncmp(said.data, "2 messages before message 5 of session ", 39) == 0);
    buf_free(&said);
}

/* ---------------------------------------------------------------- what is refused */

#define RESULT "{\"number\":2,\"kind\":\"result\",\"turn\":1,\"time\":1,\"artifact\":3,\"text\":\"x\"}\n"
#define SAID "{\"number\":1,\"kind\":\"user\",\"turn\":1,\"time\":1,"
#define CALLED "{\"number\":1,\"kind\":\"call\",\"turn\":1,\"time\":1,"
#define MARKED "{\"number\":5,\"kind\":\"mark\",\"turn\":1,\"time\":1,\"text\":\"\","

#define RUN_ID "\"id\":\"00112233445566778899aabbccddeeff\","
#define IN_RUN(run) "{\"plimsoll_session\":1," RUN_ID "\"title\":\"\",\"model\":\"\",\"created\":1,\"updated\":1," \
                    "\"turns\":0,\"run\":" run "}\n" END(0, 0)

static const struct { const char *text, *why; } refused[] = {
    {"", "it ends after line 0"},
    {"hello\n", "line 1: it is no JSON object: "},
    {"[]\n", "line 1: it is no JSON object"},
    {"{}\n", "line 1: it is no line of an export"},
    {USER(1), "line 1: it does not begin with the head"},
    {HEAD HEAD, "line 2: a second head"},
    {HEAD USER(1), "it ends after line 2 without its last line"},
    {HEAD USER(1) END(1, 0) "\n", "line 4: it is no JSON object"},
    {HEAD USER(1) END(1, 0) USER(2), "line 4: something follows the end"},
    {HEAD USER(1) END(2, 0), "there should be 2 records and 0 artifacts, and are 1 and 0"},
    {HEAD USER(2) USER(2) END(2, 0), "line 3: its number is not greater"},
    {HEAD USER(2) USER(1) END(2, 0), "line 3: its number is not greater"},
    {HEAD USER(0) END(1, 0), "number 0 is an event's"},
    {HEAD USER(16777216) END(1, 0), "\"number\" must be a whole number from 0 to 16777215"},
    {HEAD USER(-1) END(1, 0), "\"number\" must be"},
    {HEAD USER(1.5) END(1, 0), "\"number\" must be"},
    {HEAD USER(99999999999999999999), "too big integer"},
    {HEAD "{\"number\":1,\"kind\":\"king\",\"turn\":1,\"time\":1,\"text\":\"x\"}\n", "\"kind\" is none"},
    {HEAD "{\"number\":1,\"kind\":7,\"turn\":1,\"time\":1,\"text\":\"x\"}\n", "\"kind\" is none"},
    {HEAD "{\"number\":1,\"kind\":\"user\",\"time\":1,\"text\":\"x\"}\n", "\"turn\" is missing"},
    {HEAD "{\"number\":1,\"kind\":\"user\",\"turn\":4294967296,\"time\":1,\"text\":\"x\"}\n", "\"turn\" must be"},
    {HEAD "{\"number\":1,\"kind\":\"user\",\"turn\":1,\"time\":-1,\"text\":\"x\"}\n", "\"time\" must be"},
    {HEAD "{\"number\":1,\"kind\":\"user\",\"turn\":1,\"time\":1}\n", "one string is needed"},
    {HEAD SAID "\"text\":7}\n", "one string is needed"},
    {HEAD SAID "\"text\":\"\",\"base64\":\"\"}\n", "one string is needed"},
    {HEAD SAID "\"base64\":\"AAA\"}\n", "\"base64\" is none"},
    {HEAD SAID "\"base64\":\"A=AA\"}\n", "\"base64\" is none"},
    {HEAD SAID "\"base64\":\"AB==\"}\n", "\"base64\" is none"},
    {HEAD SAID "\"base64\":\"A===\"}\n", "\"base64\" is none"},
    {HEAD SAID "\"text\":\"\xff\"}\n", "no JSON object"},
    {HEAD "{\"number\":1,\"kind\":\"user\",\"turn\":1,\"turn\":2,\"time\":1,\"text\":\"\"}\n", "duplicate object key"},
    {HEAD SAID "\"text\":\"\",\"more\":1}\n", "a field is not known"},
    {HEAD SAID "\"text\":\"\",\"flags\":8}\n", "\"flags\" must be"},
    {HEAD SAID "\"text\":\"\",\"first\":1}\n", "a field is not known"},
    {HEAD SAID "\"text\":\"\",\"artifact\":1}\n", "a field is not known"},
    {HEAD CALLED "\"text\":\"\"}\n", "\"results\" is missing"},
    {HEAD CALLED "\"text\":\"\",\"results\":0}\n", "\"results\" must be"},
    {HEAD CALLED "\"text\":\"\",\"results\":1048577}\n", "\"results\" must be"},
    {HEAD MARKED "\"first\":1,\"last\":2,\"results\":4}\n",
     "\"results\" must be a whole number from 1 to 3"},
    {HEAD MARKED "\"first\":1,\"last\":5,\"results\":1}\n",
     "\"last\" must be a whole number from 1 to 4"},
    {HEAD MARKED "\"first\":3,\"last\":2,\"results\":1}\n",
     "\"first\" must be a whole number from 1 to 2"},
    {HEAD "{\"number\":5,\"kind\":\"summary\",\"turn\":1,\"time\":1,\"text\":\"\"}\n", "\"last\" is missing"},
    {HEAD "{\"number\":1,\"kind\":\"event\",\"event\":[]}\n", "\"event\" must be an object"},
    {HEAD "{\"number\":1,\"kind\":\"event\"}\n", "\"event\" is missing"},
    {HEAD "{\"number\":1,\"kind\":\"event\",\"event\":{},\"turn\":1}\n", "a field is not known"},
    {HEAD "{\"number\":1,\"offset\":1,\"text\":\"x\"}\n", "no text of this number is open"},
    {HEAD SAID "\"text\":\"x\",\"bytes\":3}\n" USER(2),
     "line 3: the text before it is not complete"},
    {HEAD SAID "\"text\":\"x\",\"bytes\":3}\n"
          "{\"number\":1,\"offset\":1,\"text\":\"xyz\"}\n", "this piece does not follow"},
    {HEAD SAID "\"text\":\"x\",\"bytes\":3}\n"
          "{\"number\":1,\"offset\":2,\"text\":\"y\"}\n", "this piece does not follow"},
    {HEAD SAID "\"text\":\"x\",\"bytes\":3}\n"
          "{\"number\":1,\"offset\":1,\"text\":\"\"}\n", "this piece does not follow"},
    {HEAD SAID "\"text\":\"x\",\"bytes\":1}\n", "\"bytes\" must be"},
    {HEAD SAID "\"text\":\"x\",\"bytes\":67108817}\n", "\"bytes\" must be"},
    {HEAD USER(1) "{\"artifact\":1,\"offset\":0,\"bytes\":0,\"text\":\"\"}\n", "no message names this artifact"},
    {HEAD USER(1) RESULT END(2, 0), "an artifact that a message names is not there"},
    {HEAD USER(1) RESULT "{\"artifact\":3,\"offset\":0,\"bytes\":2,\"text\":\"a\"}\n" END(2, 1), "is not complete"},
    {HEAD USER(1) RESULT "{\"artifact\":3,\"offset\":0,\"bytes\":2,\"text\":\"abc\"}\n", "this piece does not follow"},
    {HEAD USER(1) RESULT "{\"artifact\":3,\"offset\":1,\"bytes\":2,\"text\":\"a\"}\n", "this piece does not follow"},
    {HEAD USER(1) RESULT "{\"artifact\":3,\"offset\":0,\"bytes\":2,\"text\":\"a\"}\n"
                         "{\"artifact\":3,\"offset\":1,\"bytes\":3,\"text\":\"b\"}\n", "this piece does not follow"},
    {HEAD USER(1) RESULT "{\"artifact\":3,\"offset\":0,\"bytes\":2,\"text\":\"\"}\n", "this piece does not follow"},
    {HEAD USER(1) RESULT "{\"artifact\":3,\"offset\":0,\"bytes\":1073741825,\"text\":\"a\"}\n", "\"bytes\" must be"},
    {HEAD USER(1) RESULT "{\"artifact\":3,\"lost\":true}\n{\"artifact\":3,\"lost\":true}\n" END(2, 2), "not greater"},
    {HEAD USER(1) RESULT "{\"artifact\":3,\"lost\":false}\n", "\"lost\" can only be true"},
    {HEAD USER(1) RESULT "{\"artifact\":3,\"lost\":true}\n" USER(4), "a message comes after artifacts"},
    {HEAD "{\"end\":{\"records\":0,\"artifacts\":0,\"x\":1}}\n", "a field of \"end\" is not known"},
    {HEAD "{\"end\":7}\n", "\"records\" is missing"},
    {"{\"plimsoll_session\":2}\n", "version 2 of an export; 1 is known here"},
    {"{\"plimsoll_session\":1,\"id\":\"0011\",\"title\":\"\",\"model\":\"\",\"created\":1,\"updated\":1,\"turns\":0}\n",
     "\"id\" must be a session's id"},
    {"{\"plimsoll_session\":1,\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"a\\u001bb\",\"model\":\"\","
     "\"created\":1,\"updated\":1,\"turns\":0}\n", "\"title\" must be a text"},
    {"{\"plimsoll_session\":1,\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"a\\u0000b\",\"model\":\"\","
     "\"created\":1,\"updated\":1,\"turns\":0}\n", "\"title\" must be a text"},
    {"{\"plimsoll_session\":1,\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"\",\"model\":\"\","
     "\"created\":1,\"updated\":1,\"turns\":9}\n" USER(1) END(1, 0), "more turns than it has messages"},
    {HEAD_OF("2") USER(1) END(1, 0), "more turns than it has messages"}, /* its head could not be read */
    {HEAD_OF("1") END(0, 0), "more turns than it has messages"},
    {"{\"plimsoll_session\":1,\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"\",\"model\":\"\","
     "\"created\":1,\"updated\":1,\"turns\":0,\"parent\":\"00112233445566778899aabbccddeeff\"}\n",
     "\"parent_turn\" is missing"},
    {IN_RUN("7"), "\"id\" is missing"},
    {IN_RUN("{\"id\":\"0011\",\"crew\":\"c\",\"agent\":\"a\",\"members\":[]}"), "\"id\" must be a session's id"},
    {IN_RUN("{" RUN_ID "\"crew\":\"c\",\"agent\":\"a\"}"), "\"members\" is missing"},
    {IN_RUN("{" RUN_ID "\"crew\":\"c\",\"agent\":\"a\",\"members\":{}}"), "\"members\" must be a list"},
    {IN_RUN("{" RUN_ID "\"crew\":\"c\\u001b\",\"agent\":\"a\",\"members\":[]}"), "\"crew\" must be a text"},
    {IN_RUN("{" RUN_ID "\"crew\":\"c\",\"agent\":\"a23456789012345678901234567890123456789012345678\",\"members\":[]}"),
     "\"agent\" must be a text of at most 47 bytes"},
    {IN_RUN("{" RUN_ID "\"crew\":\"c\",\"agent\":\"a\",\"members\":[7]}"), "\"session\" is missing"},
    {IN_RUN("{" RUN_ID "\"crew\":\"c\",\"agent\":\"a\",\"members\":[{\"session\":\"00\",\"agent\":\"a\"}]}"),
     "\"session\" must be a session's id"},
    {IN_RUN("{" RUN_ID "\"crew\":\"c\",\"agent\":\"a\",\"members\":[],\"x\":1}"), "a field of \"run\" is not known"},
};

TEST(import_refuses_what_is_no_session_and_leaves_nothing)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h;
    static const char fine[] = HEAD USER(1) RESULT
                               "{\"artifact\":3,\"offset\":0,\"bytes\":2,\"text\":\"ab\"}\n" END(2, 1);
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        int rc = import(s, refused[i].text, strlen(refused[i].text), 1 + i % 40, &h);
        if (rc != IMPORT_BAD) check_fail(__FILE__, __LINE__, "%d for %s", rc, refused[i].text);
        check_err(IMPORT_BAD, refused[i].why);
        CHECK_EQ(records(s), 0);
    }
    OK(import(s, fine, strlen(fine) - 1, 7, &h)); /* what they are made of is fine, and a last newline is not needed */
    CHECK_EQ(h.next, 3);
    CHECK_EQ(h.artifacts, 4);
    store_close(s);
}

/* Deep ones, ones that a parser would take a hundred times their memory for, and long ones. */
TEST(import_refuses_lines_that_would_take_memory)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h;
    static const struct { const char *part, *why; size_t times; } lines[] = {
        {"[", "its JSON is deeper than 32", 200000}, {"{\"a\":", "its JSON is deeper than 32", 200000},
        {"{},", "more than 4096 values in a line", 200000}, {"1,", "more than 4096 values in a line", 200000},
        {"        ", "line 2 is longer than 16 MiB", IMPORT_LINE / 8 + 1}};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct buf b = {0};
        buf_puts(&b, HEAD "{\"number\":1,\"kind\":\"event\",\"event\":{\"a\":[");
        for (size_t k = 0; k < lines[i].times; k++) buf_puts(&b, lines[i].part);
        buf_puts(&b, "\n");
        CHECK_EQ(import(s, b.data, b.len, 1 << 16, &h), IMPORT_BAD);
        check_err(IMPORT_BAD, lines[i].why);
        buf_free(&b);
    }
    CHECK_EQ(records(s), 0);
    store_close(s);
}

TEST(import_takes_no_more_than_two_gibibytes)
{
    struct store *s = open_at(fresh_dir());
    struct import *im;
    size_t n = IMPORT_MOST + 1;
    char *much = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(much != MAP_FAILED);
    OK(import_open(&im, s, &err));
    CHECK_EQ(import_feed(im, much, n, &err), IMPORT_BAD); /* before any of it is looked at */
    check_err(IMPORT_BAD, "more than 2 GiB of lines");
    import_close(im);
    munmap(much, n);
    store_close(s);
}

/* Each mark is a span that every reader of the session has to look up. */
TEST(import_takes_so_many_marks)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h;
    for (int more = 0; more < 2; more++) {
        struct buf b = {0};
        buf_puts(&b, HEAD);
        for (int i = 2; i < IMPORT_MARKS + 2 + more; i++)
            buf_printf(&b, "{\"number\":%d,\"kind\":\"mark\",\"turn\":1,\"time\":1,\"text\":\"\",\"first\":1,\"last\":1,"
                           "\"results\":1}\n", i);
        buf_printf(&b, "{\"end\":{\"records\":%d,\"artifacts\":0}}\n", IMPORT_MARKS + more);
        uint64_t before = records(s);
        CHECK_EQ(import(s, b.data, b.len, 1 << 16, &h), more ? IMPORT_BAD : 0);
        if (more) check_err(IMPORT_BAD, "more than 65536 marks of what was taken back");
        CHECK_EQ(records(s) - before, more ? 0 : IMPORT_MARKS + 2); /* the head, and that there is no 0 */
        buf_free(&b);
    }
    store_close(s);
}

/* ---------------------------------------------------------------- bombs */

static void check_bomb(struct store *s, const struct buf *lines, int level, const char *why)
{
    struct buf packed = pack(lines, level);
    struct journal_head h;
    size_t before = mallinfo2().uordblks;
    CHECK_EQ(import(s, packed.data, packed.len, 4096, &h), IMPORT_BAD);
    check_err(IMPORT_BAD, why);
    CHECK(mallinfo2().uordblks <= before + 4096);
    CHECK_EQ(records(s), 0);
    buf_free(&packed);
}

TEST(import_refuses_decompression_bombs)
{
    struct store *s = open_at(fresh_dir());
    struct buf zeros = {0}, lines = {0};
    static char none[1 << 16];
    for (int i = 0; i < 1024; i++) buf_put(&zeros, none, sizeof none); /* 64 MiB in 6 KiB */
    check_bomb(s, &zeros, 3, "unpacked it is more than 200 times as long");
    buf_puts(&lines, HEAD RESULT);
    for (int i = 0; i < 500000; i++) { /* each line could be one */
        buf_printf(&lines, "{\"number\":%d,\"kind\":\"user\",\"turn\":1,\"time\":1,\"text\":\"", 3 + i / 2000);
        for (int k = 0; k < 300; k++) buf_puts(&lines, "aaaaaaaaaa");
        buf_puts(&lines, "\"}\n");
        if (lines.len > 64 << 20) break;
    }
    check_bomb(s, &lines, 9, "");
    buf_free(&zeros);
    buf_free(&lines);
    store_close(s);
}

/* A session that is nothing but repetition is as suspect as any; unpacked it is taken. */
TEST(import_takes_unpacked_what_it_refuses_as_a_bomb)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = head_of(ada, 200, 1), copy;
    struct journal_batch b = {0};
    struct buf out = {0}, text = {0};
    while (text.len < 100000) buf_puts(&text, "all work and no play ");
    for (uint64_t i = 1; i < 200; i++) add(&b, i, (struct journal_message){.kind = JOURNAL_USER}, text.data);
    write_all(s, &b, &h);
    export_to(s, &h, EXPORT_JSONL, false, &out);
    uint64_t before = records(s);
    struct buf packed = pack(&out, 3);
    CHECK(out.len > IMPORT_FREE + IMPORT_RATIO * packed.len);
    CHECK_EQ(import(s, packed.data, packed.len, 4096, &copy), IMPORT_BAD);
    check_err(IMPORT_BAD, "if you trust it, unpack it first with zstd -d");
    CHECK_EQ(records(s), before);
    OK(import(s, out.data, out.len, 1 << 16, &copy));
    buf_free(&out);
    buf_free(&text);
    buf_free(&packed);
    store_close(s);
}

TEST(import_refuses_a_compression_that_needs_much_memory)
{
    struct store *s = open_at(fresh_dir());
    struct buf text = {0};
    struct journal_head h;
    while (text.len < 1 << 16) buf_puts(&text, HEAD);
    ZSTD_CCtx *z = ZSTD_createCCtx();
    size_t room = ZSTD_compressBound(text.len);
    char *packed = malloc(room);
    ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, IMPORT_WINDOW_LOG + 1);
    ZSTD_CCtx_setParameter(z, ZSTD_c_contentSizeFlag, 0);
    ZSTD_inBuffer in = {text.data, text.len, 0};
    ZSTD_outBuffer out = {packed, room, 0};
    while (ZSTD_compressStream2(z, &out, &in, in.pos < in.size ? ZSTD_e_continue : ZSTD_e_end) > 0) continue;
    CHECK_EQ(ZSTD_compressStream2(z, &out, &in, ZSTD_e_end), 0);
    CHECK_EQ(import(s, packed, out.pos, 100, &h), IMPORT_BAD);
    check_err(IMPORT_BAD, "its compression needs more than 8 MiB of memory");
    ZSTD_freeCCtx(z);
    free(packed);
    buf_free(&text);
    store_close(s);
}

/* ---------------------------------------------------------------- all or nothing */

TEST(import_of_a_file_that_was_cut_anywhere_leaves_nothing)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = small(s), copy;
    struct buf out = {0};
    h.artifacts = 1;
    export_to(s, &h, EXPORT_JSONL, true, &out);
    uint64_t before = records(s);
    struct buf packed = pack(&out, 3);
    for (size_t n = 0; n + 1 < out.len; n += 1 + n / 100) {
        CHECK_EQ(import(s, out.data, n, 5000, &copy), IMPORT_BAD);
        CHECK_EQ(records(s), before);
    }
    for (size_t n = 0; n < packed.len; n++) {
        CHECK_EQ(import(s, packed.data, n, 5000, &copy), IMPORT_BAD);
        CHECK_EQ(records(s), before);
    }
    buf_free(&out);
    buf_free(&packed);
    store_close(s);
}

TEST(import_of_a_file_with_a_bit_flipped_is_a_whole_session_or_none)
{
    struct store *s = open_at(fresh_dir());
    struct journal_head h = small(s), copy;
    struct buf out = {0}, again = {0};
    export_to(s, &h, EXPORT_JSONL, true, &out);
    struct buf packed = pack(&out, 3);
    int taken = 0;
    for (int i = 0; i < 600; i++) {
        struct buf *b = i % 3 ? &out : &packed;
        uint64_t before = records(s);
        size_t front_bytes = MIN(b->len, (size_t)1800), at = draw(i % 2 ? b->len : front_bytes);
        b->data[at] = (char)(b->data[at] ^ 1 << draw(8));
        int rc = import(s, b->data, b->len, 5000, &copy);
        b->data[at] = (char)0;
        struct buf anew = {0};
        export_to(s, &h, EXPORT_JSONL, true, &anew);
        if (b == &packed) buf_free(&packed), packed = pack(&anew, 3);
        else buf_free(&out), out = anew, anew = (struct buf){0};
        buf_free(&anew);
        if (rc) {
            CHECK(rc == IMPORT_BAD);
            CHECK_EQ(records(s), before);
            continue;
        }
        taken++;
        export_to(s, &copy, EXPORT_JSONL, true, &again);
        CHECK_EQ(lost.len, 0);
        CHECK_EQ(records(s) - before, 1 + 12 + 1 + 3);
    }
    CHECK(taken > 50 && taken < 550);
    buf_free(&out);
    buf_free(&packed);
    buf_free(&again);
    store_close(s);
}

/* Lines for some MiB, then one that is wrong: what was committed is deleted again. */
TEST(import_that_fails_late_removes_what_it_wrote)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct journal_head h;
    struct buf b = {0};
    char text[100001];
    memset(text, 'w', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    buf_puts(&b, HEAD "{\"number\":1,\"kind\":\"result\",\"turn\":1,\"time\":1,\"artifact\":3,"
                      "\"text\":\"remember me\"}\n");
    for (int i = 2; i < 100; i++)
        buf_printf(&b, "{\"number\":%d,\"kind\":\"user\",\"turn\":1,\"time\":1,\"text\":\"%s\"}\n", i, text);
    text[STORE_CHUNK] = '\0';
    for (int i = 0; i < 400; i++)
        buf_printf(&b, "{\"artifact\":3,\"offset\":%d,\"bytes\":%d,\"text\":\"%s\"}\n", i * STORE_CHUNK,
                   400 * STORE_CHUNK, text);
    size_t whole = b.len;
    buf_puts(&b, END(98, 1));
    CHECK_EQ(import(s, b.data, b.len, 1 << 16, &h), IMPORT_BAD);
    check_err(IMPORT_BAD, "there should be 98 records");
    CHECK_EQ(records(s), 0);
    store_close(s);
    CHECK_EQ(occurrences(dir, "remember me"), 0);
    s = open_at(dir);
    b.len = whole;
    buf_puts(&b, END(99, 1));
    OK(import(s, b.data, b.len, 1 << 16, &h));
    CHECK_EQ(records(s), 1 + 1 + 99 + 1 + 400); /* the head, and that there is no 0 */
    struct buf back = {0};
    OK(store_read_artifact(s, h.id, 3, 0, SIZE_MAX, &back, &err)); /* its checksum is that of all */
    CHECK_EQ(back.len, 400 * STORE_CHUNK);
    buf_free(&back);
    buf_free(&b);
    store_close(s);
}

TEST(import_into_a_store_that_is_full_says_so_and_leaves_nothing)
{
    const char *dir = fresh_dir();
    struct store *s = NULL;
    const struct store_options tight = {.map_start = {1 << 20, 1 << 20}, .map_limit = {4 << 20, 4 << 20}};
    OK(store_open(&s, dir, &tight, &err));
    struct journal_head h;
    struct buf b = {0};
    buf_puts(&b, HEAD);
    for (int i = 1; i < 100; i++) {
        buf_printf(&b, "{\"number\":%d,\"kind\":\"user\",\"turn\":1,\"time\":1,\"text\":\"", i);
        for (int k = 0; k < 10000; k++) buf_puts(&b, "0123456789");
        buf_puts(&b, "\"}\n");
    }
    buf_puts(&b, END(99, 0));
    CHECK_EQ(import(s, b.data, b.len, 1 << 16, &h), STORE_MAP_FULL);
    check_err(STORE_MAP_FULL, "size limit is reached");
    CHECK_EQ(records(s), 0);
    buf_free(&b);
    store_close(s);
}

CHECK_MAIN
