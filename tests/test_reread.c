/* What left a conversation and is read again by the model: all of it, however much that is, in parts that are bounded,
 * and nothing of what was taken back. */
#include "app/session/session_result.h"
#include "tests/check.h"
#include "tests/session_rig.h"

static struct result got;

static const char *model_asks(json_t *args)
{
    CHECK(args);
    buf_free(&got.text);
    err = (struct err){0};
    if (session_tool_artifact(&s, args, &got, &err)) result_fail(&got, &err);
    json_decref(args);
    return got.text.data ? got.text.data : "";
}

/* As the model would, from an offset on; by lines; by a pattern. */
static const char *model_reads(const char *name, uint64_t offset)
{
    return model_asks(json_pack("{s:s,s:I}", "id", name, "offset", (json_int_t)offset));
}

static const char *model_reads_lines(const char *name, int from, int to)
{
    return model_asks(json_pack("{s:s,s:i,s:i}", "id", name, "from", from, "to", to));
}

static const char *model_looks_for(const char *name, const char *pattern, uint64_t offset)
{
    return model_asks(json_pack("{s:s,s:s,s:I}", "id", name, "pattern", pattern, "offset", (json_int_t)offset));
}

static const char *name_of(uint64_t first, uint64_t last)
{
    static char name[48];
    window_ref_name(&(struct window_ref){.first = first, .last = last}, name);
    return name;
}

/* ---------------------------------------------------------------- by lines, by a pattern */

static void attach_log(int lines)
{
    const struct session_tool t = {.by = "user", .name = "read", .arguments = "{\"path\":\"a\"}", .kind = CLIP_LOG};
    struct buf bytes = {0};
    for (int i = 1; i <= lines; i++) buf_printf(&bytes, "line %d%s\n", i, i % 100 ? "" : ": error");
    OK(session_result(&s, &t, &bytes, &err));
    OK(session_save(&s, &err));
}

TEST(an_artifact_is_read_on_by_lines_and_by_a_pattern)
{
    begin("be brief");
    attach_log(1000);
    for (int again = 0; again < 2; again++) {
        model_reads_lines("a1", 501, 503);
        CHECK(strncmp(got.text.data, "line 501\nline 502\nline 503\n[clipped: ", 37) == 0);
        CHECK(strstr(got.text.data, "the rest is artifact a1 from offset "));
        CHECK(strstr(model_reads_lines("a1", 999, 1000), "line 999\nline 1000: error\n[end of artifact a1]"));
        CHECK(strncmp(model_asks(json_pack("{s:s,s:i}", "id", "a1", "to", 2)), "line 1\nline 2\n[", 15) == 0);
        CHECK(strstr(model_reads_lines("a1", 1001, 0), "error: line 1001 lies behind the end"));
        CHECK(strstr(model_reads_lines("a1", 0, 0), "error: lines are counted from 1"));
        model_looks_for("a1", "[89]00: err", 0);
        CHECK(strstr(got.text.data, "line 800: error\n") && strstr(got.text.data, "line 900: error\n"));
        CHECK(!strstr(got.text.data, "700"));
        CHECK(strstr(got.text.data, "[end of artifact a1]"));
        CHECK(!strstr(model_looks_for("a1", "[89]00: err", 9000), "line 800"));
        CHECK(strstr(model_looks_for("a1", "zebra", 0), "no line matches\n[end of artifact a1]"));
        CHECK(strncmp(model_looks_for("a1", "(", 0), "error: ", 7) == 0);
        model_asks(json_pack("{s:s,s:s,s:i}", "id", "a1", "pattern", "x", "from", 3));
        CHECK(strstr(got.text.data, "error: lines (from, to), an offset or a pattern: one of them"));
        model_asks(json_pack("{s:s,s:i,s:i}", "id", "a1", "offset", 5, "to", 3));
        CHECK(strstr(got.text.data, "one of them"));
        leave_and_come_back();
    }
    buf_free(&got.text);
    end();
}

TEST(messages_are_read_on_by_lines_and_by_a_pattern)
{
    char all[48];
    begin("be brief");
    CHECK_EQ(say("the zebra has stripes\nthe horse has none"), 0);
    CHECK_EQ(say("and the okapi"), 0);
    const uint64_t first = number_of("the zebra has stripes\nthe horse has none");
    snprintf(all, sizeof all, "%s", name_of(first, s.keep.head.next - 1));
    CHECK(strstr(model_looks_for(all, "z[a-z]+a", 0), "user: the zebra has stripes\n[end of"));
    CHECK(!strstr(model_looks_for(all, "zebra", 40), "stripes"));
    CHECK(strstr(model_reads_lines(all, 2, 3), "the horse has none\nanswer: fine\n[clipped"));
    CHECK(strstr(model_reads_lines(all, 9, 9), "error: line 9 lies behind the end"));
    buf_free(&got.text);
    end();
}

/* ---------------------------------------------------------------- taken back */

static void check_untold(const char *all, uint64_t secret)
{
    model_reads(all, 0);
    CHECK(strstr(got.text.data, "user: one\nanswer: fine\n") && strstr(got.text.data, "user: three\nanswer: fine\n"));
    CHECK(!strstr(got.text.data, "SECRET"));
    CHECK(strstr(got.text.data, "[end of artifact m"));
    CHECK(!strstr(model_reads(name_of(secret, secret), 0), "SECRET"));
    CHECK(strstr(got.text.data, " was taken back"));
    check_text(secret, JOURNAL_USER, "the code is SECRET"); /* the person's: it is not gone */
}

static void take_back_a_secret(bool saved)
{
    char all[48];
    begin("be brief");
    struct session_role role = session_alone(&app);
    role.unsaved = !saved;
    opts.keep_unsaved = 1e6;
    CHECK_EQ(session_close(&s), 0);
    CHECK_EQ(session_new_as(&s, &app, &role, "be brief", &err), 0);
    CHECK_EQ(say("one"), 0);
    CHECK_EQ(say("the code is SECRET"), 0);
    const uint64_t secret = number_of("the code is SECRET");
    snprintf(all, sizeof all, "%s", name_of(number_of("one"), secret + 100));
    CHECK(strstr(model_reads(all, 0), "SECRET"));
    OK(session_undo(&s, NULL, &err));
    CHECK_EQ(say("three"), 0);
    check_untold(all, secret);
    if (saved) leave_and_come_back();
    check_untold(all, secret);
    buf_free(&got.text);
    end();
}

TEST(what_was_taken_back_is_not_read_by_the_model)
{
    take_back_a_secret(true);
    take_back_a_secret(false);
}

static void check_person_reads(uint64_t artifact)
{
    const struct clip_request all = {.by = CLIP_BY_OFFSET};
    struct clip_figures f;
    struct buf text = {0};
    OK(session_read_artifact(&s, artifact, &all, &text, &f, &err));
    CHECK(strstr(text.data, "SECRET"));
    buf_free(&text);
}

static void attach_secret(void)
{
    const struct session_tool t = {.by = "user", .name = "read", .arguments = "{\"path\":\"a\"}", .kind = CLIP_TEXT};
    struct buf bytes = {0};
    for (int i = 0; i < 500; i++) buf_puts(&bytes, "SECRET ");
    OK(session_result(&s, &t, &bytes, &err));
    OK(session_save(&s, &err));
}

TEST(the_whole_of_a_result_that_was_taken_back_is_the_persons_alone)
{
    begin("be brief");
    attach_secret(); /* before the turn: it stays */
    CHECK_EQ(say("one"), 0);
    attach_secret(); /* behind it: it goes with it */
    OK(session_undo(&s, NULL, &err));
    for (int again = 0; again < 3; again++) {
        CHECK(strstr(model_reads("a1", 0), "SECRET"));
        CHECK_STR(model_reads("a2", 0), "error: a2 was taken back");
        CHECK_STR(model_reads("a3", 0), "error: no such artifact: a3");
        check_person_reads(2);
        if (again == 0) session_settle(&s);
        else leave_and_come_back();
    }
    buf_free(&got.text);
    end();
}

/* ---------------------------------------------------------------- more than is held at once */

enum { MESSAGES = 40, EACH = 60000 };

/* "answer: 0017 ....\n" of two-byte characters. */
static void note_answer(int i)
{
    char head[16];
    struct buf text = {0};
    struct journal_message m = {.kind = JOURNAL_ANSWER};
    snprintf(head, sizeof head, "%04d ", i);
    buf_puts(&text, head);
    while (text.len < EACH) buf_puts(&text, "\xc3\xa9");
    m.text = text.data;
    m.len = text.len;
    CHECK(session_note(&s, &m, &err) > 0);
    buf_free(&text);
}

/* Where the text of the message ends, its newline too. */
static uint64_t end_of(int i) { return (uint64_t)(i + 1) * (8 + 5 + (EACH - 5 + 1) / 2 * 2 + 1); }

static void check_pages(const char *all)
{
    char mark[40];
    uint64_t at, end = end_of(MESSAGES - 1);
    for (int i = 0; i < MESSAGES; i += 3) {
        snprintf(mark, sizeof mark, "answer: %04d \xc3\xa9", i);
        model_reads(all, i ? end_of(i - 1) : 0);
        CHECK(strncmp(got.text.data, mark, strlen(mark)) == 0);
        CHECK(strstr(got.text.data, "; the rest is artifact m") && !strstr(got.text.data, "[end of"));
        model_reads(all, (i ? end_of(i - 1) : 0) + 1); /* a part that is held ends within a character, or after it */
        CHECK(!strstr(got.text.data, "\xef\xbf\xbd"));
        CHECK(!strstr(got.text.data, "left out")); /* read on, nothing of it is passed over */
    }
    for (at = end - 9001; !strstr(model_reads(all, at), "[end of artifact m");) {
        const char *next = strstr(got.text.data, " from offset ");
        for (const char *later; next && (later = strstr(next + 1, " from offset ")) != NULL;) next = later;
        CHECK(next);
        uint64_t was = at;
        at = strtoull(next + 13, NULL, 10);
        CHECK(at > was && at < end);
    }
    CHECK(strstr(model_reads_lines(all, 40, 40), "error: lines of the first 1048576 bytes of m"));
    CHECK(strstr(model_looks_for(all, "00(02|39)", 0), "answer: 0002"));
    CHECK(!strstr(got.text.data, "0039") && !strstr(got.text.data, "[end of")); /* to be read on for */
    CHECK(strstr(model_reads(all, end), "the offset is past the end of m"));
    model_reads(name_of(s.keep.head.next, s.keep.head.next + 9), 0);
    CHECK(strstr(got.text.data, "no messages are there by the name m"));
}

TEST(more_than_a_mebibyte_of_messages_is_read_to_its_end)
{
    char all[48];
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    const uint64_t first = s.keep.head.next;
    for (int i = 0; i < MESSAGES / 2; i++) note_answer(i);
    OK(session_save(&s, &err));
    session_settle(&s);
    for (int i = MESSAGES / 2; i < MESSAGES; i++) note_answer(i);
    snprintf(all, sizeof all, "%s", name_of(first, s.keep.head.next - 1));
    check_pages(all); /* in the store and in memory */
    OK(session_save(&s, &err));
    session_settle(&s);
    CHECK(texts_bytes(&s.texts) < EACH);
    check_pages(all);
    CHECK(texts_bytes(&s.texts) < EACH); /* what was read is not held */
    leave_and_come_back();
    check_pages(all);
    buf_free(&got.text);
    end();
}

CHECK_MAIN
