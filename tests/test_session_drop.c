/* /drop: a message stands as a line from the next call on; the whole is kept, and is there again when the turn is taken
 * back. */
#include "tests/check.h"
#include "tests/session_rig.h"

/* A tool's result of about 600 tokens, between two turns; its number. */
static uint64_t with_a_result(void)
{
    struct buf bytes = {0};
    OK(say("first"));
    buf_puts(&bytes, long_text('r', 600));
    const struct session_tool t = {.by = "user", .name = "read", .arguments = "{\"path\":\"a.log\"}",
                                   .kind = CLIP_TEXT};
    OK(session_result(&s, &t, &bytes, &err));
    OK(say("second"));
    return number_of(long_text('r', 600));
}

static int64_t used(void)
{
    struct window_figures f;
    window_figures(s.w, &f);
    return f.used;
}

TEST(a_dropped_result_is_a_line_that_names_it_and_can_be_read)
{
    struct buf prompt = {0};
    char name[24];
    begin("You help.");
    uint64_t result = with_a_result();
    int64_t before = used();
    snprintf(name, sizeof name, "m%" PRIu64, result);
    OK(session_drop(&s, result, &err));
    CHECK(used() < before - 400);
    next_prompt(&prompt);
    CHECK(!strstr(prompt.data, "rrrrrrr"));
    CHECK(strstr(prompt.data, name));
    CHECK(strstr(prompt.data, "a.log")); /* its call stays */
    check_text(result, JOURNAL_RESULT, long_text('r', 600));
    CHECK_EQ(count(events(), "\"change\":\"dropped\""), 1);
    CHECK_EQ(session_drop(&s, result, &err), -1);
    CHECK_EQ(session_drop(&s, s.system, &err), -1);
    buf_free(&prompt);
    end();
}

TEST(a_drop_is_saved)
{
    begin(NULL);
    uint64_t result = with_a_result();
    OK(session_drop(&s, result, &err));
    int64_t before = used();
    leave_and_come_back();
    CHECK_EQ(used(), before);
    CHECK_EQ(session_drop(&s, result, &err), -1);
    CHECK(strstr(err.text, "stands as a line already"));
    check_text(result, JOURNAL_RESULT, long_text('r', 600));
    end();
}

TEST(a_drop_is_taken_back_with_its_turn)
{
    struct buf prompt = {0};
    begin(NULL);
    uint64_t result = with_a_result();
    OK(say("third"));
    OK(session_drop(&s, result, &err)); /* in the third turn */
    OK(session_undo(&s, NULL, &err));
    next_prompt(&prompt);
    CHECK(strstr(prompt.data, "rrrrrrr"));
    OK(session_drop(&s, result, &err)); /* in the second: the turn that comes does not bring it back */
    OK(say("third"));
    OK(session_undo(&s, NULL, &err));
    next_prompt(&prompt);
    CHECK(!strstr(prompt.data, "rrrrrrr"));
    buf_free(&prompt);
    end();
}

TEST(what_opened_the_last_turn_is_not_dropped_so_that_it_can_be_taken_back)
{
    begin(NULL);
    OK(say("first"));
    OK(say(long_text('u', 700)));
    CHECK_EQ(session_drop(&s, number_of(long_text('u', 700)), &err), -1);
    OK(session_undo(&s, NULL, &err));
    end();
}

TEST(the_system_message_is_not_dropped_and_what_changes_it_is_said)
{
    begin(NULL);
    OK(session_system(&s, "Be brief.", 9, &err));
    CHECK_EQ(session_drop(&s, s.system, &err), -1);
    CHECK(strstr(err.text, "is the system message: it cannot be dropped; /system TEXT changes it"));
    end();
}

CHECK_MAIN
