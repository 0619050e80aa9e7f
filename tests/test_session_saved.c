/* Conversations in a real store, over an engine of the tests' own: what is acknowledged, what a resumed one sends, what
 * is taken back, copied and summed up. */
#include "memory/summary.h"
#include "tests/session_rig.h"

/* ---------------------------------------------------------------- turns */

TEST(saved_is_said_after_the_commit_and_only_then)
{
    begin("be brief");
    CHECK_EQ(session_ask(&s, "one", 3, &err), 0);
    uint64_t last = s.keep.head.next - 1;
    CHECK(last > 4);
    while (s.keep.n_unsaved) { /* in the keeper's hands: it is not said yet */
        CHECK_EQ(count(events(), "\"event\":\"saved\""), 0);
        CHECK(s.acknowledged < last);
        session_poll(&s);
    }
    CHECK_EQ(count(events(), "\"event\":\"saved\",\"turn\":1,"), 1);
    CHECK_EQ(s.acknowledged, last);
    CHECK(is_saved(number_of("one")) && is_saved(number_of("fine")) && is_saved(number_of("be brief")));
    end();
}

TEST(a_session_of_which_nothing_was_said_is_not_saved)
{
    struct journal_head h;
    begin("be brief");
    end();
    struct store *store = open_at(folder);
    CHECK_EQ(journal_find(store, "last", &h, &err), STORE_NOT_FOUND);
    store_close(store);
}

/* What was handed over first begins the session, whether it has arrived yet or not. */
TEST(a_system_message_right_behind_a_pin_is_saved_with_it)
{
    uint64_t pin;
    begin("be brief");
    CHECK_EQ(session_pin(&s, "the ship is Ada", 15, &pin, &err), 0);
    CHECK(s.acknowledged == 0 && s.keep.n_unsaved == 1);
    CHECK_EQ(session_system(&s, "be long", 7, &err), 0);
    leave_and_come_back();
    CHECK_EQ(say("one"), 0);
    CHECK(strstr(fake.heard.data, "be long") && strstr(fake.heard.data, "the ship is Ada"));
    CHECK(!strstr(fake.heard.data, "be brief"));
    end();
}

TEST(a_resumed_session_sends_what_the_one_that_was_left_would_have)
{
    struct buf prompt = {0};
    begin("be brief");
    CHECK_EQ(say("one"), 0);
    CHECK_EQ(say("two"), 0);
    leave_and_come_back();
    CHECK_STR(s.keep.head.title, "one");
    CHECK(strstr(events(), "\"event\":\"resumed\""));
    CHECK_EQ(app.turns, 2);
    CHECK_EQ(say("three"), 0);
    CHECK_STR(fake.heard.data, "system:be brief|user:one|assistant:fine|user:two|assistant:fine|user:three|");
    CHECK_EQ(fake.asked.sampling.seed, 1002); /* the third turn's */
    CHECK_EQ(s.keep.head.turns, 3);
    buf_free(&prompt);
    end();
}

TEST(a_resumed_session_may_have_another_system_message_which_stays)
{
    begin("be brief");
    CHECK_EQ(say("one"), 0);
    session_close(&s);
    CHECK_EQ(session_resume(&s, &app, "last", "be long", &err), 0);
    leave_and_come_back(); /* nothing was asked under it */
    CHECK_EQ(say("two"), 0);
    CHECK_STR(fake.heard.data, "system:be long|user:one|assistant:fine|user:two|");
    CHECK_STR(session_system_text(&s)->text, "be long");
    CHECK_EQ(session_system(&s, "", 0, &err), 0);
    leave_and_come_back();
    CHECK_EQ(say("three"), 0);
    CHECK(strncmp(fake.heard.data, "user:one|", 9) == 0);
    end();
}

/* ---------------------------------------------------------------- turns that do not stay */

static int broken(struct err *e) { return err_set(e, ENGINE_FAULT, "broken"); }

static void check_withdrawn(const char *text)
{
    struct buf prompt = {0};
    uint64_t number = number_of(text);
    CHECK(is_saved(number));
    check_text(number, JOURNAL_USER, text);
    next_prompt(&prompt);
    CHECK(!strstr(prompt.data, text));
    CHECK_EQ(s.keep.head.turns, 1);
    leave_and_come_back();
    next_prompt(&prompt);
    CHECK(!strstr(prompt.data, text));
    check_text(number, JOURNAL_USER, text);
    buf_free(&prompt);
}

TEST(refused_failed_and_cancelled_turns_are_not_in_the_prompt_and_can_be_read)
{
    static char huge[CTX + 100];
    begin(NULL);
    fake.refuse = broken; /* the first: it gives the session no title */
    CHECK_EQ(say("nobody hears"), EXIT_ENGINE);
    CHECK_STR(s.keep.head.title, "");
    fake.refuse = NULL;
    CHECK_EQ(say("one"), 0);
    CHECK_STR(s.keep.head.title, "one");
    memset(huge, 'x', sizeof huge - 1);
    CHECK_EQ(say(huge), EXIT_REFUSED);
    check_withdrawn(huge);
    CHECK_EQ(count(events(), "\"stood_in\""), 0); /* what came of it is taken back before it is told */
    fake.refuse = broken;
    CHECK_EQ(say("refused by the engine"), EXIT_ENGINE);
    check_withdrawn("refused by the engine");
    fake.refuse = NULL;
    fake.fault_at = 3;
    CHECK_EQ(say("device lost"), EXIT_ENGINE);
    check_withdrawn("device lost");
    fake.fault_at = 0;
    fake.interrupt_at = 1;
    CHECK_EQ(say("never begun"), 128 + SIGINT);
    signals_forget_interrupt();
    fake.interrupt_at = 0;
    check_withdrawn("never begun");
    fake.interrupt_at = 4;
    CHECK_EQ(say("half an answer"), 128 + SIGINT);
    signals_forget_interrupt();
    fake.interrupt_at = 0;
    CHECK_EQ(s.keep.head.turns, 2);
    CHECK_EQ(say("two"), 0);
    CHECK_STR(fake.heard.data, "user:one|assistant:fine|user:half an answer|assistant:fin|user:two|");
    end();
}

/* ---------------------------------------------------------------- undo, retry, fork */

TEST(an_undone_turn_is_out_and_can_be_read)
{
    struct buf said = {0};
    begin("be brief");
    CHECK_EQ(session_undo(&s, NULL, &err), -1);
    CHECK_EQ(say("one"), 0);
    say_what("two it is");
    CHECK_EQ(say("two"), 0);
    uint64_t two = number_of("two"), it_is = number_of("two it is");
    OK(session_undo(&s, &said, &err));
    CHECK_STR(said.data, "two");
    CHECK(strstr(events(), "\"event\":\"undone\""));
    CHECK_EQ(say("three"), 0);
    CHECK_STR(fake.heard.data, "system:be brief|user:one|assistant:fine|user:three|");
    check_text(two, JOURNAL_USER, "two");
    check_text(it_is, JOURNAL_ANSWER, "two it is");
    leave_and_come_back();
    check_text(two, JOURNAL_USER, "two");
    OK(session_undo(&s, NULL, &err)); /* also of what was said before it was left */
    OK(session_undo(&s, NULL, &err));
    CHECK_EQ(session_undo(&s, NULL, &err), -1);
    CHECK_EQ(say("four"), 0);
    CHECK_STR(fake.heard.data, "system:be brief|user:four|");
    buf_free(&said);
    end();
}

TEST(an_undone_first_turn_takes_the_title_that_it_gave_with_it)
{
    struct session_place was;
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    CHECK_EQ(say("two"), 0);
    OK(session_undo(&s, NULL, &err));
    CHECK_STR(s.keep.head.title, "one");
    leave_and_come_back();
    OK(session_undo(&s, NULL, &err));
    CHECK_STR(s.keep.head.title, "");
    CHECK_EQ(say("three"), 0);
    CHECK_STR(s.keep.head.title, "three");
    OK(session_hold(&s, &was, &err)); /* what is asked again and refused leaves it as it was */
    OK(session_undo(&s, NULL, &err));
    fake.refuse = broken;
    CHECK_EQ(say("never"), EXIT_ENGINE);
    fake.refuse = NULL;
    OK(session_return(&s, &was, &err));
    CHECK_STR(s.keep.head.title, "three");
    OK(session_undo(&s, NULL, &err)); /* and what was answered otherwise goes with its own */
    CHECK_EQ(say("four"), 0);
    CHECK_STR(s.keep.head.title, "four");
    OK(session_return(&s, &was, &err));
    CHECK_STR(s.keep.head.title, "three");
    session_place_free(&was);
    OK(session_rename(&s, "mine", 4, &err)); /* a person's stays */
    OK(session_undo(&s, NULL, &err));
    leave_and_come_back();
    CHECK_STR(s.keep.head.title, "mine");
    end();
}

TEST(no_more_turns_are_taken_back_than_windows_are_kept)
{
    begin(NULL);
    for (int i = 0; i < 20; i++) CHECK_EQ(say("x"), 0);
    leave_and_come_back();
    for (int i = 0; i < JOURNAL_SLOTS - 1; i++) OK(session_undo(&s, NULL, &err));
    CHECK_EQ(session_undo(&s, NULL, &err), -1);
    CHECK(strstr(err.text, "last 15 turns") && strstr(err.text, "/fork 4"));
    CHECK_EQ(s.keep.head.turns, 5);
    end();
}

TEST(a_fork_goes_on_from_its_turn_and_leaves_the_session_as_it_is)
{
    char old[2 * STORE_SESSION_ID + 1];
    begin("be brief");
    CHECK_EQ(session_fork(&s, 0, &err), -1); /* nothing is saved yet */
    CHECK(s.w != NULL);
    CHECK_EQ(say("one"), 0);
    CHECK_EQ(say("two"), 0);
    CHECK_EQ(say("three"), 0);
    CHECK_EQ(session_fork(&s, 4, &err), -1);
    journal_id_text(s.keep.head.id, old);
    OK(session_fork(&s, 2, &err));
    CHECK_EQ(s.keep.head.turns, 2);
    CHECK(strstr(events(), old)); /* as the parent */
    CHECK_EQ(say("other"), 0);
    CHECK_STR(fake.heard.data, "system:be brief|user:one|assistant:fine|user:two|assistant:fine|user:other|");
    OK(session_undo(&s, NULL, &err));
    OK(session_undo(&s, NULL, &err)); /* its turns can be taken back too */
    CHECK_EQ(say("x"), 0);
    CHECK_STR(fake.heard.data, "system:be brief|user:one|assistant:fine|user:x|");
    session_close(&s);
    resume(old);
    CHECK_EQ(say("four"), 0);
    CHECK(strstr(fake.heard.data, "|user:three|assistant:fine|user:four|"));
    OK(session_fork(&s, 0, &err));
    CHECK_EQ(say("anew"), 0);
    CHECK_STR(fake.heard.data, "system:be brief|user:anew|");
    end();
}

/* Pinned after turn 1 and taken out after turn 2: a fork at 1 has it, and can speak. */
TEST(a_fork_has_the_pins_of_its_turn)
{
    uint64_t pin;
    begin(NULL);
    CHECK_EQ(say("one"), 0);
    OK(session_pin(&s, "the pin", 7, &pin, &err));
    CHECK_EQ(say("two"), 0);
    OK(session_unpin(&s, pin, &err));
    CHECK_EQ(session_unpin(&s, pin, &err), -1);
    OK(session_fork(&s, 1, &err));
    CHECK_EQ(say("three"), 0);
    CHECK_STR(fake.heard.data, "system:the pin|user:one|assistant:fine|user:three|");
    end();
}

/* ---------------------------------------------------------------- summing up */

/* Turns until the model was asked to sum up. */
static void fill(void)
{
    int before = fake.asides;
    for (int i = 0; fake.asides == before; i++) {
        char text[900];
        CHECK(i < 20);
        snprintf(text, sizeof text, "Pier %d costs %d crowns. %s", i, 100 + i, long_text((char)('a' + i), 500));
        CHECK_EQ(say(text), 0);
    }
}

static const char *summary(void)
{
    const struct text_entry *e = session_summary(&s, &(struct buf){0}, &err);
    return e ? e->text : "";
}

TEST(the_models_record_takes_the_place_of_what_it_sums_up)
{
    struct buf before = {0}, after = {0};
    begin("be brief");
    uint64_t first = s.keep.head.next;
    fill();
    CHECK(strstr(summary(), "nine piers"));
    CHECK(strstr(events(), "\"by\":\"model\""));
    CHECK_EQ(say("what now?"), 0);
    CHECK(strstr(fake.heard.data, "nine piers") && !strstr(fake.heard.data, "Pier 0 costs"));
    CHECK(session_text(&s, first, &err)->kind == JOURNAL_USER); /* it is not lost */
    next_prompt(&before);
    leave_and_come_back();
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    CHECK(strstr(summary(), "nine piers"));
    buf_free(&before);
    buf_free(&after);
    end();
}

/* A model that thinks is not to think here; what it thinks all the same is no part of its record. */
static int asked_thinking;

static const char *thought_record(void)
{
    static char text[512];
    asked_thinking = fake.asked.thinking;
    snprintf(text, sizeof text, "<think>\nHm. Facts:\n- none\n</think>\n\n%s", good_record());
    return text;
}

TEST(what_a_model_thinks_before_its_record_is_no_part_of_it)
{
    for (int thinks = 0; thinks < 2; thinks++) {
        begin("be brief");
        ((struct engine_info *)(uintptr_t)app.info)->thinks = thinks;
        record = thought_record;
        CHECK_EQ(say("hello"), 0);
        CHECK_EQ(fake.asked.thinking, THINKING_FREE);
        fill();
        CHECK_EQ(asked_thinking, thinks ? THINKING_OFF : THINKING_FREE);
        CHECK(strstr(summary(), "nine piers") && !strstr(summary(), "Hm."));
        CHECK(strstr(events(), "\"by\":\"model\""));
        end();
    }
}

static void check_extract(const char *(*answers)(void), const char *why)
{
    begin("be brief");
    record = answers;
    fill();
    CHECK(strstr(summary(), SUMMARY_MARK) && strstr(summary(), "crowns"));
    CHECK(strstr(events(), "\"by\":\"extract\""));
    if (!strstr(events(), why)) CHECK_STR(events(), why);
    CHECK_EQ(say("what now?"), 0);
    CHECK(strstr(fake.heard.data, SUMMARY_MARK));
    end();
}

TEST(where_the_models_record_is_of_no_use_an_extract_takes_its_place)
{
    check_extract(garbage, "\"reason\":\"");
    check_extract(NULL, "did not come to its end: length");
    check_extract(too_long, "did not come to its end: length");
}

TEST(an_interrupted_summary_changes_nothing)
{
    struct window_figures a, b;
    begin("be brief");
    for (int i = 0; i < 4; i++) CHECK_EQ(say(long_text('a', 500)), 0);
    window_figures(s.w, &a);
    fake.interrupt_at = 5;
    CHECK_EQ(session_compact(&s, &err), -1);
    CHECK(strstr(err.text, "interrupted"));
    signals_forget_interrupt();
    fake.interrupt_at = 0;
    window_figures(s.w, &b);
    CHECK_MEM(a.part, b.part, sizeof a.part);
    CHECK_EQ(b.summary, 0);
    end();
}

TEST(a_summary_taken_back_brings_what_it_summed_up_back)
{
    struct buf before = {0}, after = {0};
    begin("be brief");
    for (int i = 0; i < 4; i++) CHECK_EQ(say(long_text('a', 500)), 0);
    next_prompt(&before);
    OK(session_compact(&s, &err));
    OK(session_save(&s, &err));
    next_prompt(&after);
    CHECK(strstr(after.data, "nine piers"));
    OK(session_undo_summary(&s, &err));
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    CHECK_EQ(session_undo_summary(&s, &err), -1);
    leave_and_come_back();
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    CHECK_STR(summary(), "");
    leave();
    lose_windows();
    come_back();
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    buf_free(&before);
    buf_free(&after);
    end();
}

static const char *other_record(void)
{
    return "Facts:\n- the ferry costs eleven crowns\nDecisions:\nnone\nDone:\nnone\nOpen:\n- count the ships";
}

static void check_diff(const char *part)
{
    struct buf diff = {0};
    CHECK(session_summary(&s, &diff, &err) != NULL);
    CHECK(diff.data && strstr(diff.data, part));
    buf_free(&diff);
}

/* What can be taken back, and what a summary is compared with, is saved with the window. */
TEST(a_resumed_session_has_the_summary_before_and_what_it_summed_up)
{
    struct buf before = {0}, after = {0};
    begin("be brief");
    for (int i = 0; i < 4; i++) CHECK_EQ(say(long_text('a', 500)), 0);
    OK(session_compact(&s, &err));
    for (int i = 0; i < 5; i++) CHECK_EQ(say(long_text('b', 600)), 0);
    next_prompt(&before);
    record = other_record;
    OK(session_compact(&s, &err));
    OK(session_save(&s, &err));
    check_diff("eleven crowns");
    leave();
    come_back();
    check_diff("eleven crowns");
    OK(session_undo_summary(&s, &err));
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    OK(session_compact(&s, &err));
    OK(session_save(&s, &err));
    leave();
    lose_windows(); /* then the journal tells what was before, and no more */
    come_back();
    check_diff("eleven crowns");
    CHECK_EQ(session_undo_summary(&s, &err), -1);
    CHECK(strstr(err.text, "not kept"));
    buf_free(&before);
    buf_free(&after);
    end();
}

/* The turn that was to be asked again is there again, where the new one came to nothing. */
TEST(a_place_that_was_held_can_be_returned_to)
{
    struct session_place was;
    struct buf before = {0}, after = {0};
    begin("be brief");
    CHECK_EQ(say("one"), 0);
    CHECK_EQ(say("two"), 0);
    uint64_t two = number_of("two");
    next_prompt(&before);
    OK(session_hold(&s, &was, &err));
    CHECK_EQ(was.user, two);
    OK(session_undo(&s, NULL, &err));
    fake.refuse = broken;
    CHECK_EQ(say("never"), EXIT_ENGINE);
    fake.refuse = NULL;
    OK(session_return(&s, &was, &err));
    session_place_free(&was);
    CHECK_EQ(s.keep.head.turns, 2);
    CHECK(!journal_span_has(&s.undone, two) && journal_span_has(&s.undone, number_of("never")));
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    leave();
    lose_windows(); /* the marks say the same */
    come_back();
    next_prompt(&after);
    CHECK_STR(after.data, before.data);
    buf_free(&before);
    buf_free(&after);
    end();
}

TEST(what_was_taken_back_is_not_in_an_extract)
{
    for (int again = 0; again < 2; again++) {
        begin("be brief");
        record = garbage;
        CHECK_EQ(say("The ferry costs 11 crowns."), 0);
        CHECK_EQ(say("The SECRET is 4711."), 0);
        OK(session_undo(&s, NULL, &err));
        fake.refuse = broken;
        CHECK_EQ(say("The SECRET is 4712."), EXIT_ENGINE);
        fake.refuse = NULL;
        for (int i = 0; i < 3; i++) CHECK_EQ(say(long_text('a', 500)), 0);
        if (again) leave_and_come_back();
        OK(session_compact(&s, &err));
        CHECK(strstr(summary(), "ferry costs 11"));
        CHECK(!strstr(summary(), "SECRET"));
        end();
    }
}

/* ---------------------------------------------------------------- a random life */

static void random_turn(void)
{
    char text[900];
    size_t n = draw(4) ? 1 + draw(80) : 1 + draw(800);
    for (size_t i = 0; i < n; i++) text[i] = (char)(draw(6) ? 'a' + (int)draw(26) : ' ');
    text[n] = '\0';
    say_what(text);
    if (draw(12) == 0) fake.fault_at = 1 + (int)draw(4);
    record = draw(3) ? good_record : draw(2) ? garbage : NULL;
    (void)session_ask(&s, text + n / 2, n - n / 2, &err);
    fake.fault_at = 0;
}

static uint64_t pins[70];
static size_t n_pins;

static void something(void)
{
    uint32_t turns = s.keep.head.turns;
    char text[40];
    snprintf(text, sizeof text, "note %" PRIu64, draw(1000));
    switch (draw(14)) {
    case 0: n_pins += n_pins < 60 && session_pin(&s, text, strlen(text), &pins[n_pins], &err) == 0; break;
    case 1:
        if (n_pins > 0) (void)session_unpin(&s, pins[draw(n_pins)], &err); /* perhaps taken back since */
        break;
    case 2: OK(session_system(&s, text, draw(4) ? strlen(text) : 0, &err)); break;
    case 3:
        if (session_compact(&s, &err) == 0) OK(session_save(&s, &err));
        break;
    case 4: (void)session_undo_summary(&s, &err); break;
    case 5:
    case 6: {
        struct buf said = {0};
        if (session_undo(&s, &said, &err) == 0 && draw(2)) (void)session_ask(&s, said.data, said.len, &err);
        buf_free(&said);
        break;
    }
    case 7:
        if (draw(3) == 0 && turns > 0 && session_fork(&s, turns - (uint32_t)draw(MIN(turns, 20u)), &err))
            check_fail(__FILE__, __LINE__, "fork: %s", err.text);
        break;
    default: random_turn(); break;
    }
}

/* With its windows lost: what is said again from the messages has the same front and stands under the same summary. */
static void check_made_anew(void)
{
    struct window_figures a, b;
    session_settle(&s);
    window_figures(s.w, &a);
    uint32_t turns = s.keep.head.turns;
    leave();
    lose_windows();
    come_back();
    window_figures(s.w, &b);
    CHECK_EQ(s.keep.head.turns, turns);
    for (enum window_part p = WINDOW_SYSTEM; p <= WINDOW_PINNED; p++) {
        CHECK_EQ(a.count[p], b.count[p]);
        CHECK_EQ(a.part[p], b.part[p]);
    }
    if (a.summary) CHECK_EQ(b.summary, a.summary);
    CHECK_EQ(say("and now?"), 0);
}

TEST(a_random_session_sends_the_same_after_being_left_at_any_point)
{
    struct buf before = {0}, after = {0};
    int resumed = 0, asides = 0;
    for (int round = 0; round < 8; round++) {
        begin(round % 2 ? "be brief" : NULL);
        n_pins = 0;
        CHECK_EQ(say("hello"), 0);
        for (int i = 0; i < 70; i++) {
            something();
            if (draw(3)) continue;
            session_settle(&s);
            next_prompt(&before);
            uint32_t turns = s.keep.head.turns;
            leave_and_come_back();
            next_prompt(&after);
            CHECK_STR(after.data, before.data);
            CHECK_EQ(s.keep.head.turns, turns);
        }
        asides += fake.asides;
        resumed += count(events(), "\"event\":\"resumed\"");
        check_made_anew();
        end();
    }
    CHECK(asides > 6 && resumed > 50);
    buf_free(&before);
    buf_free(&after);
}

CHECK_MAIN
