/* F1 to F19: the classes of failure that other programs' compaction has had, each by its name.
 *
 * Not of this file: F14 (a path without a terminal behaves otherwise) is window_f14_... in test_cli_parity.c, which has
 * all faces, and F20 (a store that grows) is store_f20_... in test_store_grows.c.  F10 and F12 are in test_summary.c
 * too. */
#include "tests/test_window_cases.h"

TEST(window_f1_is_checked_before_every_call_in_a_tool_loop)
{
    struct window *w = window(&usual);
    say(w, WINDOW_USER, 1, 40);
    uint64_t due = 0;
    for (uint64_t id = 2; id < 4000; id += 2) {
        say(w, WINDOW_CALL, id, 20);
        say(w, WINDOW_RESULT, id + 1, 100 + (int64_t)(id % 700));
        due += window_due(w);
        (void)call(w); /* checks the bound */
    }
    CHECK(due > 100);
    window_close(w);
}

TEST(window_f2_a_message_counts_from_when_it_is_there)
{
    struct window *w = window(&usual);
    talk(w, 1, 24, 50);
    (void)call(w);
    CHECK(!window_due(w));
    say(w, WINDOW_ANSWER, 25, 90);
    say(w, WINDOW_USER, 26, 200); /* no call told a figure of it yet */
    CHECK(window_due(w));
    window_close(w);
}

TEST(window_f3_system_and_tools_are_counted)
{
    struct window *w = window(&usual);
    CHECK_EQ(figures(w).used, 50 + 30 + MOCK_HEAD);
    CHECK_EQ(figures(w).part[WINDOW_SYSTEM], 50 + MOCK_HEAD);
    CHECK_EQ(figures(w).part[WINDOW_TOOLS], 30);
    mock.size[OTHER] = 1500; /* many tools: less room for the rest */
    CHECK_EQ(window_add(w, WINDOW_TOOLS, OTHER, NULL), 0);
    talk(w, 1, 3, 400);
    struct window_call c = call(w);
    CHECK_EQ(item(&c, WINDOW_HISTORY, 3)->ref.messages, 1);
    window_close(w);
}

TEST(window_f4_nothing_is_a_token_but_what_the_counter_says)
{
    struct window *w = window(&usual);
    talk(w, 1, 3, 10);
    mock.fails = true;
    struct window_call c;
    CHECK_EQ(window_build(w, &c, &err), WINDOW_COUNT_FAILED); /* no guess in its place */
    CHECK_EQ(window_append(w, WINDOW_ANSWER, 4, 0, &err), WINDOW_COUNT_FAILED);
    mock.fails = false;
    mock.size[4] = WINDOW_MOST_TOKENS + 1;
    CHECK_EQ(window_append(w, WINDOW_ANSWER, 4, 0, &err), WINDOW_COUNT_FAILED);
    CHECK_EQ(call(w).n, 2 + 3);
    window_close(w);
}

TEST(window_f5_a_context_of_unknown_size_is_refused_at_once)
{
    struct window *w;
    struct window_limits l = usual;
    mock = (struct mock){0};
    l.ctx = 0;
    CHECK_EQ(window_open(&w, &l, mock_count(&mock), &err), WINDOW_BAD);
    CHECK(strstr(err.text, "the context's size is 0"));
    l.ctx = 200;
    CHECK_EQ(window_open(&w, &l, mock_count(&mock), &err), WINDOW_NEVER_FITS);
    CHECK(strstr(err.text, "a context of 200 tokens leaves none for a prompt: answer 100 + thinking 100"));
    l = usual;
    l.low = l.high;
    CHECK_EQ(window_open(&w, &l, mock_count(&mock), &err), WINDOW_BAD);
    l = usual;
    l.closing = l.thinking;
    CHECK_EQ(window_open(&w, &l, mock_count(&mock), &err), WINDOW_BAD);
}

TEST(window_f6_the_exchange_for_a_summary_fits_however_much_is_there)
{
    struct window *w = window(&usual);
    mock.seam = 30;
    for (uint64_t id = 1; id <= 4000; id++) { /* no call in between */
        say(w, id % 2 ? WINDOW_USER : WINDOW_ANSWER, id, 50 + (int64_t)(id % 7));
        struct window_proposal p;
        if (id < 60 || id % 3 || window_propose(w, &p, NULL)) continue;
        int64_t exact;
        CHECK(p.n > 0);
        CHECK_EQ(p.items[p.n - 1].part, WINDOW_REQUEST);
        mock_tokens(&mock, p.items, p.n, &exact);
        CHECK_EQ(exact, p.tokens);
        CHECK(p.tokens + p.max_tokens <= usual.ctx);
        window_abandon(w);
    }
    window_close(w);
}

TEST(window_f6_the_exchange_is_the_front_of_the_last_call_and_its_cost_is_known)
{
    struct window *w = window(&usual);
    talk(w, 1, 29, 50);
    struct window_call c = call(w);
    struct window_proposal p = propose(w);
    for (size_t i = 0; i + 1 < p.n; i++) CHECK_EQ(p.items[i].id, c.items[i].id);
    CHECK(p.n < c.n);
    CHECK_EQ(p.prefill, MOCK_REQUEST); /* all else is known to the engine */
    window_close(w);
}

TEST(window_f7_answer_and_thinking_are_reserved_and_there_is_room_for_the_closing_tag)
{
    struct window *w = window(&usual);
    struct window_event e;
    talk(w, 1, 3, 5000);
    struct window_call c = call(w);
    CHECK_EQ(c.answer, 100);
    CHECK_EQ(c.thinking, 100);
    CHECK_EQ(c.closes, 97); /* room for the tag of three tokens */
    CHECK(!event(w, WINDOW_THINKING_CLOSED, &e));
    window_thinking_closed(w);
    window_thinking_closed(w);
    CHECK(event(w, WINDOW_THINKING_CLOSED, &e));
    CHECK_EQ(e.tokens, 97);
    CHECK(!event(w, WINDOW_THINKING_CLOSED, &e)); /* once a call */
    (void)call(w);
    window_thinking_closed(w);
    CHECK(event(w, WINDOW_THINKING_CLOSED, &e));
    window_close(w);
}

TEST(window_f8_one_oversized_message_stands_as_a_line)
{
    struct window *w = window(&usual);
    talk(w, 1, 4, 50);
    say(w, WINDOW_USER, 5, 167000);
    struct window_call c = call(w);
    CHECK_EQ(item(&c, WINDOW_HISTORY, 5)->ref.messages, 1);
    CHECK_EQ(item(&c, WINDOW_HISTORY, 5)->ref.tokens, 167000);
    for (uint64_t id = 1; id <= 4; id++) CHECK_EQ(item(&c, WINDOW_HISTORY, id)->ref.messages, 0);
    window_close(w);
}

TEST(window_f9_a_call_and_its_results_are_never_apart)
{
    struct window *w = window(&usual);
    struct window_call c;
    struct window_proposal p;
    say(w, WINDOW_USER, 1, 10);
    CHECK_EQ(window_append(w, WINDOW_RESULT, 2, 0, &err), WINDOW_BAD);
    CHECK_EQ(window_append(w, WINDOW_CALL, 2, 2, &err), 0);
    CHECK_EQ(window_append(w, WINDOW_RESULT, 3, 0, &err), 0);
    CHECK_EQ(window_append(w, WINDOW_USER, 4, 0, &err), WINDOW_UNANSWERED);
    CHECK_EQ(window_build(w, &c, &err), WINDOW_UNANSWERED);
    CHECK_EQ(window_propose(w, &p, &err), WINDOW_UNANSWERED);
    CHECK_EQ(window_append(w, WINDOW_RESULT, 4, 0, &err), 0);
    CHECK_EQ(window_append(w, WINDOW_RESULT, 5, 0, &err), WINDOW_BAD);
    talk(w, 5, 60, 60);
    c = call(w); /* what was cut are the first; the call left with both of its results */
    CHECK(!item(&c, WINDOW_RESULTS, 2) && !item(&c, WINDOW_RESULTS, 3) && !item(&c, WINDOW_RESULTS, 4));
    window_close(w);
}

TEST(window_f10_a_summary_that_failed_deletes_nothing)
{
    struct window *w = window(&usual);
    talk(w, 1, 30, 50);
    struct window_figures before = figures(w), after;
    propose(w);
    CHECK_EQ(window_commit(w, SUMMARY, 0, false, &err), WINDOW_NO_GAIN); /* nothing was read in it */
    CHECK(strstr(err.text, "empty"));
    mock.size[SUMMARY] = 500;
    CHECK_EQ(window_commit(w, SUMMARY, 4, false, &err), WINDOW_NO_GAIN);
    mock.fails = true;
    CHECK_EQ(window_commit(w, SUMMARY, 4, false, &err), WINDOW_COUNT_FAILED);
    mock.fails = false;
    after = figures(w);
    CHECK_MEM(&before, &after, sizeof before);
    CHECK_EQ(window_commit(w, SUMMARY2, 4, true, &err), 0); /* an extract in its place */
    CHECK(figures(w).extractive);
    window_close(w);
}

TEST(window_f11_a_compaction_that_does_not_shrink_is_refused_and_does_not_loop)
{
    struct window_limits l = usual;
    l.summary = 900;
    l.high = 600;
    l.gain = 500;
    struct window *w = window(&l);
    struct window_event e;
    int attempts = 0;
    for (uint64_t id = 1; id <= 200; id++) {
        say(w, id % 2 ? WINDOW_USER : WINDOW_ANSWER, id, 20);
        for (; window_due(w); attempts++) {
            struct window_proposal p;
            CHECK_EQ(window_propose(w, &p, &err), 0);
            mock.size[SUMMARY] = p.range.tokens; /* as long as what it sums up */
            CHECK_EQ(window_commit(w, SUMMARY, 9, false, &err), WINDOW_NO_GAIN);
            CHECK(strstr(err.text, "not smaller by 500 thousandths") || strstr(err.text, "the most is"));
            window_abandon(w);
        }
        struct window_call c;
        CHECK_EQ(window_build(w, &c, &err), 0);
    }
    CHECK(attempts >= 2 && attempts < 40);
    CHECK(event(w, WINDOW_IN_VAIN, &e));
    window_close(w);
}

TEST(window_f11_nothing_to_leave_is_said_once)
{
    struct window *w = window(&usual);
    struct window_proposal p;
    struct window_event e;
    say(w, WINDOW_USER, 1, 1600);
    CHECK(window_due(w));
    CHECK_EQ(window_propose(w, &p, &err), WINDOW_NO_GAIN);
    CHECK(!window_due(w));
    CHECK(event(w, WINDOW_IN_VAIN, &e));
    window_close(w);
}

TEST(window_f12_pins_policy_and_task_are_never_summed_up)
{
    struct window *w = window(&usual);
    CHECK_EQ(window_add(w, WINDOW_PINNED, PIN, NULL), 0);
    say(w, WINDOW_NOTE, 1, 15);
    for (uint64_t id = 2; id <= 900; id++) {
        say(w, id % 2 ? WINDOW_USER : WINDOW_ANSWER, id, 40);
        if (window_due(w)) {
            propose(w);
            CHECK_EQ(window_commit(w, SUMMARY, 3, false, NULL), 0);
        }
        struct window_call c = call(w);
        CHECK_EQ(c.items[0].id, SYSTEM);
        CHECK_EQ(c.items[1].id, TOOLS);
        CHECK_EQ(c.items[2].id, PIN);
        CHECK(item(&c, WINDOW_TASK, 1)); /* in the tail, then in the front: always there */
    }
    CHECK(figures(w).compactions > 10);
    window_close(w);
}

TEST(window_f13_the_marks_that_a_person_set_are_kept)
{
    for (int high = 100; high <= 1000; high += 100) {
        struct window_limits l = usual;
        l.high = high;
        l.low = high / 2;
        struct window *w = window(&l);
        int64_t mark = 84 + (1800 - 84) * high / 1000;
        CHECK_EQ(figures(w).high, mark);
        uint64_t id = 0;
        while (figures(w).used + 10 <= mark) {
            say(w, WINDOW_ANSWER, ++id, 10);
            CHECK(!window_due(w));
        }
        say(w, WINDOW_ANSWER, ++id, 10);
        CHECK(window_due(w));
        window_close(w);
    }
}

TEST(window_f15_memory_does_not_grow_with_the_session)
{
    struct window *w = window(&usual);
    size_t after_500 = 0;
    for (uint64_t id = 1; id <= 9000; id++) {
        say(w, id % 2 ? WINDOW_USER : WINDOW_ANSWER, id, 50);
        (void)call(w);
        if (id == 500) after_500 = window_bytes(w);
    }
    CHECK_EQ(window_bytes(w), after_500);
    CHECK(after_500 < 64 << 10);
    window_close(w);
}

TEST(window_f16_every_cut_is_an_event_with_where_the_whole_is)
{
    struct window *w = window(&usual);
    struct window_event e;
    int64_t left = 0;
    for (uint64_t id = 1; id <= 3000; id++) { /* nobody takes events: none is lost */
        say(w, id % 2 ? WINDOW_USER : WINDOW_ANSWER, id, id % 50 ? 40 : 9000);
        (void)call(w);
    }
    int64_t stood_in = 0, n = 0;
    struct window_ref all = {0};
    while (window_next_event(w, &e)) {
        n++;
        if (e.kind == WINDOW_LEFT) left += e.ref.messages;
        if (e.kind == WINDOW_STOOD_IN) stood_in += e.ref.messages;
        if (e.kind == WINDOW_LEFT) all = e.ref;
    }
    CHECK(n <= WINDOW_EVENTS);
    CHECK_EQ(stood_in, 3000 / 50);
    CHECK_EQ(left, figures(w).cut.messages);
    CHECK_EQ(all.last, figures(w).cut.last);
    window_close(w);
}

TEST(window_f17_one_compaction_at_a_time)
{
    struct window *w = window(&usual);
    struct window_proposal p;
    talk(w, 1, 30, 50);
    propose(w);
    CHECK_EQ(window_propose(w, &p, &err), WINDOW_BUSY);
    CHECK(!window_due(w));
    window_abandon(w);
    window_close(w);
}

TEST(window_f18_refusals_are_codes_and_not_texts)
{
    struct window *w = window(&usual);
    CHECK_EQ(window_append(w, WINDOW_USER, 0, 0, NULL), WINDOW_BAD); /* without an err: the code is all */
    CHECK_EQ(window_append(w, WINDOW_CALL, 1, 0, NULL), WINDOW_BAD);
    CHECK_EQ(window_append(w, WINDOW_USER, 1, 1, NULL), WINDOW_BAD);
    CHECK_EQ(window_add(w, WINDOW_SUMMARY, SUMMARY, NULL), WINDOW_BAD);
    CHECK_EQ(window_add(w, WINDOW_SYSTEM, SYSTEM, NULL), WINDOW_BAD);
    CHECK_EQ(window_remove(w, WINDOW_PINNED, PIN, NULL), WINDOW_BAD);
    CHECK_EQ(window_commit(w, SUMMARY, 1, false, NULL), WINDOW_STALE);
    CHECK_EQ(window_undo(w, NULL), WINDOW_STALE);
    window_close(w);
}

TEST(window_f19_the_front_stays_between_compactions)
{
    struct window *w = window(&usual);
    int64_t known = 0;
    for (uint64_t id = 1; id <= 2000; id++) {
        say(w, id % 2 ? WINDOW_USER : WINDOW_ANSWER, id, 40);
        bool compacted = window_due(w);
        if (compacted) {
            propose(w);
            CHECK_EQ(window_commit(w, SUMMARY, 3, false, NULL), 0);
        }
        struct window_call c = call(w);
        if (compacted) {
            CHECK(c.broke);
            CHECK_EQ(c.kept, 2); /* system and tools */
        } else {
            CHECK(!c.broke);
            CHECK_EQ(c.kept_tokens, known); /* all of the call before */
        }
        known = c.tokens;
    }
    struct window_figures f = figures(w);
    CHECK_EQ(f.breaks, f.compactions);
    CHECK(f.compactions < 2000 / 12); /* rarely */
    CHECK(f.kept_tokens * 100 > f.sent_tokens * 85);
    window_close(w);
}

CHECK_MAIN
