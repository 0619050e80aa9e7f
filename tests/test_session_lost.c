/* Saved conversations when something goes wrong: windows that are lost, messages that are damaged, numbers that lie,
 * two who want one session, a disk without room; and memory that stays bounded. */
#include "tests/session_rig.h"
#include <sys/resource.h>

/* ---------------------------------------------------------------- what is lost or damaged */

TEST(a_lost_window_is_made_anew_from_what_was_said)
{
    struct buf before = {0}, after = {0};
    uint64_t pin, gone;
    begin("be brief");
    OK(session_pin(&s, "never forget", 12, &pin, &err));
    OK(session_pin(&s, "forget", 6, &gone, &err));
    for (int i = 0; i < 4; i++) CHECK_EQ(say(long_text((char)('a' + i), 500)), 0);
    OK(session_compact(&s, &err));
    CHECK_EQ(say("after the summary"), 0);
    CHECK_EQ(say("taken back"), 0);
    OK(session_undo(&s, NULL, &err));
    OK(session_unpin(&s, gone, &err));
    CHECK_EQ(say("last"), 0);
    OK(session_system(&s, "be kind", 7, &err));
    session_settle(&s);
    next_prompt(&before);
    leave();
    lose_windows();
    come_back();
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    CHECK(strstr(after.data, "never forget") && strstr(after.data, "nine piers") && strstr(after.data, "be kind"));
    CHECK_STR(session_system_text(&s)->text, "be kind");
    buf_free(&before);
    buf_free(&after);
    end();
}

/* A pin taken out after a turn, and that turn taken back: it is in again, also in a window that is made anew. */
TEST(a_window_made_anew_has_what_came_back_with_an_undo)
{
    struct buf before = {0}, after = {0};
    uint64_t pin;
    begin(NULL);
    OK(session_pin(&s, "never forget", 12, &pin, &err));
    CHECK_EQ(say("one"), 0);
    CHECK_EQ(say("two"), 0);
    OK(session_unpin(&s, pin, &err));
    OK(session_undo(&s, NULL, &err));
    next_prompt(&before);
    CHECK_STR(before.data, "system:never forget|user:one|assistant:fine|");
    leave();
    lose_windows();
    come_back();
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    buf_free(&before);
    buf_free(&after);
    end();
}

TEST(a_damaged_message_is_named_and_the_session_goes_on_without_it)
{
    char name[64];
    begin("be brief");
    say_what("first answer");
    CHECK_EQ(say("one"), 0);
    say_what("second answer");
    CHECK_EQ(say("two"), 0);
    uint64_t number = number_of("first answer");
    leave();
    struct store_key key = store_key_message(id, number);
    damage(&key);
    come_back();
    snprintf(name, sizeof name, "message %" PRIu64 " of session", number);
    CHECK_EQ(count(events(), name), 1);
    CHECK_EQ(say("three"), 0);
    CHECK_STR(fake.heard.data, "system:be brief|user:one|user:two|assistant:second answer|user:three|");
    CHECK(!session_text(&s, number, &err));
    CHECK(strstr(err.text, name));
    leave();
    come_back(); /* now the window is one without it */
    CHECK_EQ(count(events(), name), 0);
    CHECK_EQ(say("four"), 0);
    end();
}

TEST(with_the_last_turns_words_lost_undo_does_not_take_another_turn)
{
    struct buf said = {0};
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    CHECK_EQ(say("two"), 0);
    uint64_t number = number_of("two");
    leave();
    struct store_key key = store_key_message(id, number);
    damage(&key);
    come_back();
    CHECK_EQ(session_undo(&s, &said, &err), -1);
    CHECK(strstr(err.text, "turn 2 is lost"));
    CHECK_EQ(s.keep.head.turns, 2);
    CHECK_EQ(said.len, 0);
    OK(session_fork(&s, 1, &err));
    CHECK_EQ(say("three"), 0);
    CHECK_STR(fake.heard.data, "user:one|assistant:fine|user:three|");
    end();
}

/* Calls and their results are in the store's language, though nothing here makes them yet. */
TEST(a_call_whose_result_is_damaged_does_not_hold_up_what_follows)
{
    struct journal_message call = {.kind = JOURNAL_CALL, .turn = 1, .results = 2, .text = "call", .len = 4};
    struct journal_message result = {.kind = JOURNAL_RESULT, .turn = 1, .text = "result", .len = 6};
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    CHECK(session_note(&s, &call, &err) && session_note(&s, &result, &err));
    uint64_t second = session_note(&s, &result, &err), lonely = session_note(&s, &call, &err);
    CHECK_EQ(say("two"), 0);
    CHECK(lonely);
    leave();
    lose_windows();
    struct store_key key = store_key_message(id, second);
    damage(&key);
    come_back();
    CHECK_EQ(say("three"), 0);
    CHECK_STR(fake.heard.data,
              "user:one|assistant:fine|assistant:call|tool:result|user:two|assistant:fine|user:three|");
    end();
}

/* A head that lies about its end, or a window about its own: nothing is written over, no turn is refused for ever. */
TEST(numbers_that_are_there_are_never_given_again)
{
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    struct journal_head h = s.keep.head;
    leave();
    struct store *store = open_at(folder);
    struct journal_batch b = {0};
    memcpy(b.session, id, sizeof id);
    h.next -= 2;
    journal_add_head(&b, &h);
    OK(journal_write(store, &b, NULL, &err));
    store_close(store);
    open_app();
    CHECK_EQ(session_resume(&s, &app, "last", NULL, &err), EXIT_INTERNAL);
    CHECK(strstr(err.text, "its end is said to be before message"));
    session_close(&s);
    close_app();

    store = open_at(folder);
    struct buf w = {0};
    h.next += 2;
    journal_add_head(&b, &h);
    OK(journal_window(store, id, 1, &w, &err));
    put_le((uint8_t *)w.data + 24, UINT64_MAX - 1, 8); /* last_id, see window_save.c */
    journal_add_window(&b, 1, w.data, w.len);
    OK(journal_write(store, &b, NULL, &err));
    store_close(store);
    journal_batch_free(&b);
    buf_free(&w);
    come_back();
    CHECK_EQ(say("two"), 0);
    CHECK_STR(fake.heard.data, "user:one|assistant:fine|user:two|");
    end();
}

TEST(two_on_one_session_is_said_clearly)
{
    struct session other;
    char name[2 * STORE_SESSION_ID + 1];
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    journal_id_text(s.keep.head.id, name);
    CHECK_EQ(session_resume(&other, &app, "last", NULL, &err), EXIT_USAGE);
    CHECK(strstr(err.text, name) && strstr(err.text, "is open in process"));
    CHECK_EQ(session_close(&other), 0);
    session_attach(&s);
    CHECK_EQ(session_resume(&other, &app, "nosuch", NULL, &err), EXIT_USAGE);
    session_close(&other);
    session_attach(&s);
    CHECK_EQ(say("two"), 0);
    end();
    open_app();
    app.keeper = (keeper_close(app.keeper), NULL);
    CHECK_EQ(session_resume(&s, &app, "last", NULL, &err), EXIT_USAGE);
    CHECK(strstr(err.text, "--no-save"));
    session_close(&s);
    close_app();
}

TEST(a_title_is_changed_or_stays)
{
    begin(NULL);
    CHECK_EQ(say("\n\n  \t first \033[2J line\nsecond"), 0);
    CHECK_STR(s.keep.head.title, "first ^[[2J line");
    CHECK_EQ(session_rename(&s, " \n ", 3, &err), -1);
    CHECK_STR(s.keep.head.title, "first ^[[2J line");
    OK(session_rename(&s, "Gr\xc3\xbc\xc3\x9f""e \xff", 9, &err));
    leave_and_come_back();
    CHECK_STR(s.keep.head.title, "Gr\xc3\xbc\xc3\x9f""e \xef\xbf\xbd");
    end();
}

/* ---------------------------------------------------------------- saving fails for a while */

static struct rlimit all;

/* No file may grow: what is committed needs new pages. */
static void no_room(bool yes)
{
    struct rlimit now = all;
    if (yes) now.rlim_cur = 4096;
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &now), 0);
}

static void go_without_room(int turns)
{
    signal(SIGXFSZ, SIG_IGN);
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &all), 0);
    fflush(told);
    app.trace.json = NULL; /* that file could not grow either */
    no_room(true);
    for (int i = 0; i < turns; i++) {
        char text[40];
        snprintf(text, sizeof text, "turn %d without room", i);
        CHECK_EQ(say(text), 0);
        CHECK_EQ(s.keep.n_unsaved, i + 1);
    }
}

static void check_all_there(int turns)
{
    struct buf prompt = {0};
    next_prompt(&prompt);
    for (int i = 0; i < turns; i++) {
        char text[40];
        snprintf(text, sizeof text, "turn %d without room", i);
        if (turns < 10) CHECK(strstr(prompt.data, text));
        CHECK(is_saved(number_of(text)));
    }
    buf_free(&prompt);
}

TEST(turns_go_on_while_saving_fails_and_are_saved_later_in_order)
{
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    go_without_room(5);
    CHECK_EQ(session_fork(&s, 1, &err), -1);
    CHECK(strstr(err.text, "wait to be saved"));
    uint64_t acknowledged = s.acknowledged;
    CHECK(session_text(&s, number_of("turn 4 without room"), &err)); /* in memory */
    no_room(false);
    CHECK_EQ(say("there is room"), 0);
    CHECK_EQ(s.keep.n_unsaved, 0);
    CHECK(s.acknowledged > acknowledged);
    CHECK_EQ(s.acknowledged, s.keep.head.next - 1);
    leave_and_come_back();
    CHECK_EQ(s.keep.head.turns, 7);
    check_all_there(5);
    end();
}

TEST(what_was_taken_back_and_is_not_saved_yet_can_be_read)
{
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    go_without_room(2);
    uint64_t number = number_of("turn 1 without room");
    OK(session_undo(&s, NULL, &err));
    session_settle(&s);
    check_text(number, JOURNAL_USER, "turn 1 without room");
    no_room(false);
    CHECK_EQ(say("two"), 0);
    leave_and_come_back();
    check_text(number, JOURNAL_USER, "turn 1 without room");
    CHECK_EQ(s.keep.head.turns, 3);
    end();
}

TEST(an_artifact_that_waits_to_be_saved_can_be_read)
{
    const struct session_tool t = {.by = "user", .name = "read", .arguments = "{\"path\":\"a\"}", .kind = CLIP_TEXT};
    const struct clip_request start = {.by = CLIP_BY_OFFSET, .from = 4090, .to = 4097};
    struct buf bytes = {0}, text = {0};
    struct clip_figures f;
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    go_without_room(1);
    for (int i = 0; i < 1000; i++) buf_puts(&bytes, "0123456");
    OK(session_result(&s, &t, &bytes, &err));
    OK(session_save(&s, &err));
    for (int turn = 0; turn < 3; turn++) { /* in the batch that failed; behind a later one; in the store */
        session_settle(&s);
        text.len = 0;
        OK(session_read_artifact(&s, 1, &start, &text, &f, &err));
        CHECK(text.len == 7 && memcmp(text.data, "2345601", 7) == 0);
        CHECK_EQ(f.bytes, 7000);
        no_room(turn == 0);
        CHECK_EQ(say("and so on"), 0);
    }
    CHECK_EQ(s.keep.n_unsaved, 0);
    CHECK_EQ(session_read_artifact(&s, 2, &start, &text, &f, &err), -1);
    CHECK_STR(err.text, "no such artifact: a2");
    buf_free(&text);
    end();
}

TEST(at_the_end_what_could_not_be_saved_is_tried_once_more)
{
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    go_without_room(3);
    no_room(false);
    leave_and_come_back();
    CHECK_EQ(s.keep.head.turns, 4);
    check_all_there(3);
    go_without_room(2);
    CHECK_EQ(session_close(&s), 2); /* and there was none: so many are lost, and that is said */
    no_room(false);
    close_app();
}

static void until_there_is_room(bool by_turn)
{
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    go_without_room(KEEP_UNSAVED);
    CHECK_EQ(say("one too many"), EXIT_REFUSED);
    CHECK_STR(app.reason, "refused_store");
    CHECK(strstr(err.text, "32 turns could not be saved"));
    CHECK_EQ(s.keep.head.turns, 1 + KEEP_UNSAVED);
    CHECK_EQ(session_rename(&s, "no room", 7, &err), STORE_BUSY);
    no_room(false);
    if (by_turn) CHECK_EQ(say("there is room"), 0);
    else OK(session_rename(&s, "room", 4, &err));
    session_settle(&s);
    CHECK_EQ(s.keep.n_unsaved, 0);
    leave_and_come_back();
    CHECK_EQ(s.keep.head.turns, 1 + KEEP_UNSAVED + by_turn);
    check_all_there(KEEP_UNSAVED);
    end();
}

TEST(when_too_many_wait_a_turn_is_refused_until_there_is_room)
{
    until_there_is_room(true);
    until_there_is_room(false);
}

/* ---------------------------------------------------------------- memory */

TEST(texts_stay_bounded_however_long_it_goes_on)
{
    size_t most = 0;
    begin("be brief");
    opts.max_tokens = 900;
    session_close(&s);
    CHECK_EQ(session_new(&s, &app, "be brief", &err), 0);
    for (int i = 0; i < 300; i++) {
        char text[900];
        snprintf(text, sizeof text, "%s", long_text((char)('a' + i % 26), 200 + draw(600)));
        say_what(text);
        record = i % 50 == 7 ? garbage : good_record;
        CHECK_EQ(say(long_text('q', 1 + draw(300))), 0);
        most = MAX(most, texts_bytes(&s.texts));
    }
    CHECK(most < 8 * CTX);
    CHECK_EQ(count(events(), "\"event\":\"saved\""), 300);
    CHECK(s.texts.n < 100);
    CHECK_EQ(s.keep.head.turns, 300);
    end();
}

CHECK_MAIN
