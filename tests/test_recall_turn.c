/* What leaves the context because of a question is found for that very question: the needle that was there a moment
 * ago is no miss. */
#include "tests/check.h"
#include "tests/session_rig.h"

#define FACT "the code of the garage door is 4711"
#define QUESTION "What is the code of the garage door?"

static struct window_figures figures(void)
{
    struct window_figures f;
    window_figures(s.w, &f);
    return f;
}

static void begin_recalling(void)
{
    begin("be brief");
    opts.recall = "auto";
    opts.summary = "off";
    CHECK_EQ(session_close(&s), 0);
    OK(session_new(&s, &app, "be brief", &err));
    CHECK(s.recalls);
    OK(say(FACT));
}

/* Other talk until so many tokens are free, a few more or less; nothing has left. */
static void fill_up_to(int64_t left)
{
    int64_t before = figures().used;
    OK(say("x"));
    int64_t around = figures().used - before; /* what a turn has beside its words, and one of these */
    for (int64_t room; (room = figures().limit - figures().used - left - around) > 0;)
        OK(say(long_text('w', (size_t)(room > 800 ? 400 : room))));
    CHECK(!session_has_left(&s));
}

TEST(what_leaves_for_a_question_is_looked_for_too)
{
    begin_recalling();
    fill_up_to(10);
    OK(say(QUESTION));
    CHECK(session_has_left(&s));
    CHECK(strstr(fake.heard.data, "4711"));
    CHECK_EQ(count(events(), "\"name\":\"recall\""), 1);
    end();
}

/* What is kept of it ends within a character, if it is cut by bytes. */
TEST(a_long_question_of_wide_characters_is_looked_for_too)
{
    char question[600] = "x " QUESTION " ";
    begin_recalling();
    fill_up_to(10);
    for (int i = 0; i < 120; i++) strcat(question, "\xd0\xb6"); /* from an odd offset on */
    CHECK_EQ(strlen("x " QUESTION " ") % 2, 1);
    OK(say(question));
    CHECK(strstr(fake.heard.data, "4711"));
    CHECK_EQ(count(events(), "\"name\":\"recall\""), 1);
    end();
}

TEST(a_question_that_fits_has_all_that_was_said_and_no_recall)
{
    begin_recalling();
    fill_up_to(400);
    OK(say(QUESTION));
    CHECK(!session_has_left(&s));
    CHECK_EQ(count(events(), "\"name\":\"recall\""), 0);
    CHECK_EQ(count(events(), "\"change\":\"left\""), 0);
    end();
}

/* A turn that is refused changes nothing, and nothing is said to have left for it. */
TEST(nothing_leaves_for_what_never_fits)
{
    static char much[2 * CTX];
    begin_recalling();
    fill_up_to(300);
    memset(much, 'm', sizeof much - 1);
    int64_t used = figures().used;
    CHECK_EQ(say(much), EXIT_REFUSED);
    CHECK_EQ(figures().used, used);
    CHECK(!session_has_left(&s));
    end();
}

CHECK_MAIN
