/* What a context is shared out by is what the flags say; and a session that is not saved stays bounded too: what left
 * the context long ago is gone, is said to be, and no call is ever made with a hole in it. */
#include "tests/check.h"
#include "app/session/session_result.h"
#include "tests/session_rig.h"

/* A session under the options as they are now, saved or not. */
static void begin_again(bool unsaved)
{
    struct session_role role;
    CHECK_EQ(session_close(&s), 0);
    role = session_alone(&app);
    role.unsaved = unsaved;
    err = (struct err){0};
    if (session_new_as(&s, &app, &role, "be brief", &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
}

static struct window_figures figures(void)
{
    struct window_figures f;
    window_figures(s.w, &f);
    return f;
}

/* ---------------------------------------------------------------- shares */

TEST(marks_are_where_the_flags_put_them)
{
    begin("be brief");
    struct window_figures usual = figures();
    int64_t front = usual.part[WINDOW_SYSTEM], room = usual.limit - front;
    CHECK(llabs(usual.high - front - room * 85 / 100) <= 1 && llabs(usual.low - front - room * 40 / 100) <= 1);
    opts.high_mark = 30;
    opts.low_mark = 10;
    begin_again(false);
    struct window_figures f = figures();
    CHECK_EQ(f.limit, usual.limit);
    CHECK(llabs(f.high - front - room * 30 / 100) <= 1 && llabs(f.low - front - room * 10 / 100) <= 1);
    for (int i = 0; i < 5; i++) OK(say(long_text('q', 400)));
    CHECK(figures().compactions > 0);
    opts.high_mark = opts.low_mark = 0;
    begin_again(false);
    for (int i = 0; i < 5; i++) OK(say(long_text('q', 400)));
    CHECK_EQ(figures().compactions, 0);
    end();
}

TEST(a_summary_has_as_many_tokens_as_the_flag_says_and_no_more_than_a_sixth)
{
    begin("be brief");
    int64_t usual = figures().compaction;
    opts.summary_tokens = 100;
    begin_again(false);
    CHECK_EQ(usual - figures().compaction, QUOTA_SUMMARY - 100);
    opts.summary_tokens = 100000;
    begin_again(false);
    CHECK_EQ(figures().compaction - usual, CTX / 6 - QUOTA_SUMMARY);
    end();
}

TEST(a_result_has_its_share_and_no_more_than_its_tokens)
{
    begin("be brief");
    struct window_figures f = figures();
    int64_t room = f.limit - f.part[WINDOW_SYSTEM] - f.part[WINDOW_TOOLS];
    CHECK_EQ(session_room(&s), room / 4);
    opts.result_share = 10;
    CHECK_EQ(session_room(&s), room / 10);
    opts.result_share = 1;
    CHECK_EQ(session_room(&s), MAX(room / 100, 32));
    opts.result_share = 10;
    opts.result_tokens = 40;
    CHECK_EQ(session_room(&s), 40);
    struct buf bytes = {0};
    for (int i = 0; i < 300; i++) buf_puts(&bytes, "many words ");
    const struct session_tool t = {.by = "user", .name = "read", .arguments = "{\"path\":\"a\"}", .kind = CLIP_TEXT};
    OK(session_result(&s, &t, &bytes, &err));
    CHECK(figures().part[WINDOW_RESULTS] < 40 + 400); /* and the notice, a byte a token here */
    CHECK_EQ(s.keep.head.artifacts, 2);               /* the whole is one */
    end();
}

/* ---------------------------------------------------------------- not saved */

enum { SPARE = 6000 };

static void talk(int turns)
{
    for (int i = 0; i < turns; i++) OK(say(long_text((char)('a' + i % 26), 100 + draw(500))));
}

static void begin_unsaved(double spare)
{
    begin("be brief");
    opts.keep_unsaved = spare;
    begin_again(true);
}

TEST(texts_of_a_session_that_is_not_saved_are_bounded_and_the_gone_are_counted)
{
    size_t most = 0;
    begin_unsaved(SPARE);
    OK(say("the first words"));
    uint64_t first = number_of("the first words");
    for (int i = 0; i < 150; i++) {
        talk(1);
        most = MAX(most, texts_bytes(&s.texts));
    }
    CHECK(most < 2 * CTX + SPARE + 64 * sizeof(struct text_entry) * 2);
    CHECK(!session_text(&s, first, &err));
    CHECK(strstr(err.text, "it is gone"));
    CHECK(s.texts.gone.n > 100 && s.texts.gone.bytes > 30000);
    CHECK_EQ(s.texts.gone.first, first);
    CHECK(count(events(), "\"change\":\"gone\"") > 5);
    CHECK_EQ(s.keep.head.turns, 151);
    end();
}

TEST(with_room_to_spare_nothing_is_gone)
{
    begin_unsaved(1e9);
    OK(say("the first words"));
    uint64_t first = number_of("the first words");
    talk(60);
    CHECK(figures().compactions > 0);
    check_text(first, JOURNAL_USER, "the first words");
    CHECK_EQ(s.texts.gone.n, 0);
    CHECK_EQ(count(events(), "\"change\":\"gone\""), 0);
    end();
}

TEST(a_session_that_is_saved_loses_nothing_by_it)
{
    begin("be brief");
    OK(say("the first words"));
    uint64_t first = number_of("the first words");
    talk(60);
    CHECK_EQ(s.texts.gone.n, 0);
    check_text(first, JOURNAL_USER, "the first words");
    end();
}

TEST(what_is_gone_cannot_be_gone_back_to_and_all_stays_as_it_is)
{
    struct buf before = {0}, after = {0};
    begin_unsaved(0);
    while (figures().compactions == 0) talk(1);
    next_prompt(&before);
    CHECK_EQ(session_undo_summary(&s, &err), -1);
    CHECK(strstr(err.text, "what was summed up is gone"));
    CHECK_EQ(session_undo(&s, NULL, &err), -1);
    CHECK(strstr(err.text, "what the context had then is gone"));
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    CHECK_EQ(count(events(), "\"change\":\"undone\""), 0);
    talk(1);
    OK(session_undo(&s, NULL, &err)); /* that one is there */
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    buf_free(&before);
    buf_free(&after);
    end();
}

/* Of 3,300 bytes. */
static void attach_words(void)
{
    struct buf bytes = {0};
    for (int i = 0; i < 300; i++) buf_puts(&bytes, "many words ");
    const struct session_tool t = {.by = "user", .name = "read", .arguments = "{\"path\":\"a\"}", .kind = CLIP_TEXT};
    OK(session_result(&s, &t, &bytes, &err));
}

TEST(what_is_clipped_and_not_saved_is_said_not_to_be_kept)
{
    struct buf prompt = {0};
    begin_unsaved(SPARE);
    attach_words();
    next_prompt(&prompt);
    CHECK(strstr(prompt.data, "[clipped: ") && strstr(prompt.data, " tokens shown; the other "));
    CHECK(strstr(prompt.data, " bytes are not kept]"));
    CHECK(!strstr(prompt.data, "artifact"));
    CHECK_EQ(count(events(), "\"artifact\":\"\",\"bytes\":3300,"), 1);
    CHECK_EQ(count(events(), "\"left_out\":"), 1);
    CHECK_EQ(count(events(), "\"left_out\":0,"), 0);
    CHECK_EQ(s.keep.head.artifacts, 0); /* none was promised */
    end();

    begin("be brief"); /* the form that the model has learned */
    attach_words();
    next_prompt(&prompt);
    CHECK(strstr(prompt.data, " tokens shown; the rest is artifact a1 from offset "));
    CHECK_EQ(count(events(), "\"artifact\":\"a1\",\"bytes\":3300,"), 1);
    CHECK_EQ(count(events(), "\"left_out\":"), 1);
    CHECK_EQ(count(events(), "\"left_out\":0,"), 0);
    end();
    buf_free(&prompt);
}

/* As the model would, from an offset on. */
static void model_reads(const char *name, uint64_t offset, struct result *r)
{
    json_t *args = json_pack("{s:s,s:I}", "id", name, "offset", (json_int_t)offset);
    buf_free(&r->text);
    err = (struct err){0};
    if (session_tool_artifact(&s, args, r, &err)) result_fail(r, &err);
    json_decref(args);
}

TEST(where_the_first_of_some_messages_are_gone_the_model_is_told)
{
    struct result r = {0};
    char name[48];
    begin_unsaved(SPARE);
    OK(say("the first words"));
    window_ref_name(&(struct window_ref){.first = number_of("the first words"), .last = 1000000}, name);
    model_reads(name, 0, &r);
    CHECK(strncmp(r.text.data, "user: the first words\nanswer: fine\n", 35) == 0);
    while (s.texts.gone.n == 0) talk(1);
    model_reads(name, 0, &r);
    CHECK(strncmp(r.text.data, "[messages that are lost are left out]\n", 38) == 0);
    CHECK(!strstr(r.text.data, "first words"));
    window_ref_name(&(struct window_ref){.first = s.texts.gone.first, .last = s.texts.gone.first}, name);
    model_reads(name, 0, &r);
    CHECK(strstr(r.text.data, "it is gone"));
    buf_free(&r.text);
    end();
}

/* Whatever is done, the next call has all its texts. */
TEST(no_call_has_a_hole_whatever_was_done)
{
    struct buf prompt = {0};
    const double spare[] = {0, 900, SPARE};
    int back = 0, not = 0;
    for (size_t k = 0; k < COUNT_OF(spare); k++) {
        begin_unsaved(spare[k]);
        for (int i = 0; i < 150; i++) {
            int rc = 0;
            switch (draw(8)) {
            case 0: rc = session_undo(&s, NULL, &err); break;
            case 1: rc = session_undo_summary(&s, &err); break;
            case 2: (void)session_compact(&s, &err); break;
            default: talk(1);
            }
            session_poll(&s);
            back += rc == 0;
            not += rc != 0;
            next_prompt(&prompt);
        }
        end();
    }
    CHECK(back > 20 && not > 20);
    buf_free(&prompt);
}

CHECK_MAIN
