/* The window, case by case: what a call carries, references, compaction and its undoing. */
#include "tests/test_window_cases.h"

/* ------------------------------------------------------------------ a call */

TEST(window_a_call_has_its_parts_in_order_and_is_counted_exactly)
{
    struct window *w = window(&usual);
    mock.seam = 3;
    CHECK_EQ(window_add(w, WINDOW_PINNED, PIN, NULL), 0);
    talk(w, 1, 3, 10);
    struct window_call c = call(w);
    static const uint64_t want[] = {SYSTEM, TOOLS, PIN, 1, 2, 3};
    int64_t exact;
    CHECK_EQ(c.n, COUNT_OF(want));
    for (size_t i = 0; i < c.n; i++) CHECK_EQ(c.items[i].id, want[i]);
    mock_tokens(&mock, c.items, c.n, &exact);
    CHECK_EQ(c.tokens, exact);
    window_close(w);
}

TEST(window_a_list_that_weighs_more_than_its_parts_is_never_sent_over_its_limit)
{
    struct window *w = window(&usual);
    mock.seam = 40; /* far more than a message weighs more alone */
    for (uint64_t id = 1; id <= 400; id++) {
        say(w, id % 2 ? WINDOW_USER : WINDOW_ANSWER, id, 30);
        (void)call(w);
    }
    window_close(w);
}

TEST(window_refuses_what_can_never_fit_and_names_the_largest_part)
{
    struct window *w = window(&usual);
    mock.size[PIN] = 1790;
    CHECK_EQ(window_add(w, WINDOW_PINNED, PIN, NULL), 0);
    talk(w, 1, 9, 50);
    struct window_figures before = figures(w), after;
    struct window_call c;
    struct window_event e;
    CHECK_EQ(window_build(w, &c, &err), WINDOW_NEVER_FITS);
    CHECK(strstr(err.text, "the largest part is pinned, 1790"));
    CHECK(strstr(err.text, "1800 is the limit (context 2000 - 200)"));
    after = figures(w);
    CHECK_MEM(&before, &after, sizeof before);
    CHECK(strstr(err.text, "the largest text of the front is 10003 with 1790"));
    CHECK(event(w, WINDOW_REFUSED, &e));
    CHECK_EQ(e.id, PIN);
    CHECK_EQ(window_remove(w, WINDOW_PINNED, PIN, NULL), 0); /* and it goes on */
    CHECK_EQ(call(w).n, 2 + 9);
    window_close(w);
}

TEST(window_the_summary_goes_last_of_all_and_is_told)
{
    struct window *w = window(&usual);
    struct window_event e;
    talk(w, 1, 40, 50);
    propose(w);
    CHECK_EQ(window_commit(w, SUMMARY, 1, false, NULL), 0);
    mock.size[PIN] = 1640;
    CHECK_EQ(window_add(w, WINDOW_PINNED, PIN, NULL), 0);
    struct window_call c = call(w);
    CHECK(!item(&c, WINDOW_SUMMARY, SUMMARY));
    CHECK(event(w, WINDOW_SUMMARY_LEFT, &e));
    CHECK_EQ(e.id, SUMMARY);
    const struct window_item *line = item(&c, WINDOW_REFERENCE, 0);
    CHECK(line && line->ref.first == 1); /* what it summed up is in the line now */
    window_close(w);
}

TEST(window_a_message_that_is_dropped_is_a_line_in_its_place)
{
    struct window *w = window(&usual);
    struct window_event e;
    int64_t freed;
    talk(w, 1, 2, 50);
    say(w, WINDOW_CALL, 3, 10);
    say(w, WINDOW_RESULT, 4, 300);
    say(w, WINDOW_ANSWER, 5, 50);
    say(w, WINDOW_USER, 7, 50);
    struct window_call c = call(w);
    int64_t before = c.tokens;
    CHECK_EQ(window_drop(w, 4, &freed, &err), 0);
    c = call(w);
    CHECK_EQ(before - c.tokens, 300 - MOCK_LINE);
    CHECK(freed > 0 && freed <= 300 - MOCK_LINE); /* of the longest line */
    const struct window_item *it = item(&c, WINDOW_RESULTS, 4);
    CHECK(it && it->ref.messages == 1 && it->ref.first == 4 && it->ref.tokens == 300);
    CHECK(item(&c, WINDOW_RESULTS, 3)->ref.messages == 0); /* its call stays */
    CHECK(event(w, WINDOW_DROPPED, &e));
    CHECK(e.ref.first == 4 && e.ref.last == 4 && e.tokens == freed);
    CHECK_EQ(window_drop(w, 4, NULL, &err), WINDOW_BAD);
    CHECK(strstr(err.text, "stands as a line already"));
    window_close(w);
}

TEST(window_a_call_is_dropped_with_its_results)
{
    struct window *w = window(&usual);
    talk(w, 1, 2, 50);
    say(w, WINDOW_CALL, 3, 40);
    say(w, WINDOW_RESULT, 4, 300);
    say(w, WINDOW_USER, 5, 50);
    CHECK_EQ(window_drop(w, 3, NULL, &err), 0);
    struct window_call c = call(w);
    const struct window_item *line = item(&c, WINDOW_REFERENCE, 0);
    CHECK(line && line->ref.first == 3 && line->ref.last == 4 && line->ref.messages == 2);
    CHECK(!item(&c, WINDOW_RESULTS, 4));
    CHECK_EQ(window_drop(w, 4, NULL, &err), WINDOW_BAD); /* there is nothing of it left to drop */
    window_close(w);
}

/* What was thought before it is not told any more, say. */
TEST(window_a_call_of_another_weight_is_counted_again)
{
    struct window *w = window(&usual);
    talk(w, 1, 1, 50);
    say(w, WINDOW_USER, 3, 50);
    for (uint64_t id = 4; id < 8; id += 2) {
        say(w, WINDOW_CALL, id, 200);
        say(w, WINDOW_RESULT, id + 1, 30);
    }
    struct window_call c = call(w);
    const size_t n = c.n;
    const struct window_figures before = figures(w);
    mock.size[3] = mock.size[4] = mock.size[6] = 20;
    CHECK_EQ(window_recount(w, 8, &err), 0); /* none is so new */
    CHECK_EQ(call(w).kept, n);
    CHECK_EQ(window_recount(w, 5, &err), 0);
    CHECK_EQ(before.used - figures(w).used, 180);
    c = call(w);
    CHECK(c.broke && c.kept == n - 2);
    CHECK_EQ(window_recount(w, 3, &err), 0);
    CHECK_EQ(before.used - figures(w).used, 360); /* of 3, which is no call, nothing */
    c = call(w);
    CHECK(c.broke && c.kept == n - 4);
    CHECK_EQ(figures(w).breaks, before.breaks + 2);
    CHECK(!call(w).broke);
    window_close(w);
}

TEST(window_a_call_that_a_summary_took_in_is_counted_again_too)
{
    struct window *w = window(&usual);
    talk(w, 1, 6, 60);
    say(w, WINDOW_CALL, 20, 200);
    say(w, WINDOW_RESULT, 21, 30);
    say(w, WINDOW_USER, 22, 50);
    call(w);
    const int64_t used = figures(w).used;
    propose(w);
    CHECK_EQ(window_commit(w, SUMMARY, 3, false, &err), 0);
    mock.size[20] = 50;
    CHECK_EQ(window_recount(w, 20, &err), 0);
    CHECK_EQ(window_undo(w, &err), 0);
    CHECK_EQ(figures(w).used, used - 150);
    propose(w);
    CHECK_EQ(window_recount(w, 20, &err), 0); /* a proposal is stale with it */
    CHECK_EQ(window_commit(w, SUMMARY, 3, false, &err), WINDOW_STALE);
    mock.fails = true;
    CHECK_EQ(window_recount(w, 20, &err), WINDOW_COUNT_FAILED);
    mock.fails = false;
    window_close(w);
}

TEST(window_drops_no_more_than_it_should)
{
    struct window *w = window(&usual);
    struct window_figures before = figures(w), after;
    struct window_event e;
    talk(w, 1, 2, 50);
    say(w, WINDOW_NOTE, 3, 80);
    say(w, WINDOW_ANSWER, 4, 5);
    say(w, WINDOW_USER, 5, 300);
    before = figures(w);
    while (window_next_event(w, &e)) {}
    CHECK_EQ(window_drop(w, SYSTEM, NULL, &err), WINDOW_BAD);
    CHECK_EQ(window_drop(w, 9, NULL, &err), WINDOW_BAD);
    CHECK(strstr(err.text, "m9 is no message"));
    CHECK_EQ(window_drop(w, 3, NULL, &err), WINDOW_BAD);
    CHECK(strstr(err.text, "list of tasks"));
    CHECK_EQ(window_drop(w, 5, NULL, &err), WINDOW_BAD);
    CHECK(strstr(err.text, "opened the present turn"));
    CHECK_EQ(window_drop(w, 4, NULL, &err), WINDOW_NO_GAIN);
    CHECK(strstr(err.text, "m4 has 5 tokens"));
    after = figures(w);
    CHECK_MEM(&before, &after, sizeof before);
    CHECK(!window_next_event(w, &e));
    window_close(w);
}

TEST(window_a_result_whose_call_is_too_large_stands_as_a_line_with_it)
{
    struct window *w = window(&usual);
    int64_t freed = 0, used;
    say(w, WINDOW_USER, 1, 50);
    say(w, WINDOW_CALL, 2, 3000);
    say(w, WINDOW_RESULT, 3, 200);
    used = figures(w).used;
    CHECK_EQ(window_drop(w, 3, &freed, &err), WINDOW_BAD); /* there is nothing to free */
    CHECK(strstr(err.text, "stands as a line already"));
    CHECK_EQ(freed, 0);
    CHECK_EQ(figures(w).used, used);
    window_close(w);
}

TEST(window_what_was_dropped_stays_so_when_a_summary_is_taken_back)
{
    struct window *w = window(&usual);
    talk(w, 1, 40, 50);
    propose(w);
    CHECK_EQ(window_commit(w, SUMMARY, 1, false, NULL), 0);
    struct window_call c = call(w);
    uint64_t id = c.items[c.n - 1].id; /* an answer that is there still */
    CHECK_EQ(window_drop(w, id, NULL, &err), 0);
    CHECK_EQ(window_undo(w, &err), 0);
    CHECK_EQ(window_drop(w, id, NULL, &err), WINDOW_BAD);
    CHECK(strstr(err.text, "stands as a line already"));
    window_close(w);
}

TEST(window_a_summary_that_was_proposed_before_a_drop_is_stale)
{
    struct window *w = window(&usual);
    talk(w, 1, 40, 50);
    propose(w);
    CHECK_EQ(window_drop(w, 2, NULL, &err), 0);
    CHECK_EQ(window_commit(w, SUMMARY, 1, false, NULL), WINDOW_STALE);
    window_close(w);
}

TEST(window_the_message_that_opened_the_turn_stays_while_its_tools_are_called)
{
    struct window *w = window(&usual);
    say(w, WINDOW_USER, 1, 40);
    for (uint64_t id = 2; id < 600; id += 2) {
        say(w, WINDOW_CALL, id, 10);
        say(w, WINDOW_RESULT, id + 1, 60);
        struct window_call c = call(w);
        CHECK(item(&c, WINDOW_HISTORY, 1));
        CHECK(item(&c, WINDOW_RESULTS, id + 1));
    }
    window_close(w);
}

TEST(window_a_result_too_large_stands_as_a_line_behind_its_call)
{
    struct window *w = window(&usual);
    struct window_event e;
    talk(w, 1, 5, 50);
    (void)call(w);
    say(w, WINDOW_CALL, 6, 10);
    say(w, WINDOW_RESULT, 7, 600000);
    struct window_call c = call(w);
    const struct window_item *r = item(&c, WINDOW_RESULTS, 7);
    CHECK(r && r->ref.messages == 1);
    CHECK_EQ(r->ref.tokens, 600000);
    CHECK_EQ(item(&c, WINDOW_RESULTS, 6)->ref.messages, 0);
    CHECK(item(&c, WINDOW_HISTORY, 1)); /* nothing had to leave for it */
    CHECK(!c.broke);
    CHECK(event(w, WINDOW_STOOD_IN, &e));
    CHECK_EQ(e.ref.first, 7);
    window_close(w);
}

TEST(window_many_results_of_one_call_shrink_before_all_else_leaves)
{
    struct window *w = window(&usual);
    struct window_call c;
    talk(w, 1, 5, 50);
    CHECK_EQ(window_append(w, WINDOW_CALL, 6, 20, NULL), 0);
    for (uint64_t id = 7; id < 27; id++) say(w, WINDOW_RESULT, id, id == 7 ? 1500 : 60);
    c = call(w);
    CHECK_EQ(item(&c, WINDOW_RESULTS, 7)->ref.messages, 1);
    CHECK_EQ(item(&c, WINDOW_RESULTS, 8)->ref.messages, 0);
    CHECK(item(&c, WINDOW_HISTORY, 5));
    window_close(w);
}

TEST(window_a_call_with_more_results_than_lines_have_room_is_one_line)
{
    struct window *w = window(&usual);
    talk(w, 1, 3, 50);
    CHECK_EQ(window_append(w, WINDOW_CALL, 4, 300, NULL), 0);
    for (uint64_t id = 5; id < 305; id++) say(w, WINDOW_RESULT, id, 60);
    struct window_call c = call(w);
    const struct window_item *last = &c.items[c.n - 1];
    CHECK_EQ(last->part, WINDOW_REFERENCE);
    CHECK_EQ(last->ref.first, 4);
    CHECK_EQ(last->ref.last, 304);
    CHECK_EQ(last->ref.messages, 301);
    window_close(w);
}

TEST(window_clear_leaves_the_newest_and_says_what_left)
{
    struct window *w = window(&usual);
    struct window_event e;
    talk(w, 1, 9, 50);
    int64_t promised = figures(w).by_clear, before = figures(w).used;
    CHECK_EQ(window_clear(w, NULL), 0);
    CHECK_EQ(before - figures(w).used, promised);
    CHECK(event(w, WINDOW_LEFT, &e));
    CHECK_EQ(e.ref.first, 1);
    CHECK_EQ(e.ref.messages, 8);
    CHECK_EQ(window_clear(w, NULL), WINDOW_NO_GAIN);
    CHECK_EQ(call(w).n, 2 + 1 + 1);
    window_close(w);
}

TEST(window_a_note_takes_the_place_of_the_note_before_when_something_leaves)
{
    struct window *w = window(&usual);
    say(w, WINDOW_NOTE, 1, 10);
    talk(w, 2, 11, 50);
    say(w, WINDOW_NOTE, 12, 11);
    talk(w, 13, 14, 50);
    struct window_call c = call(w);
    CHECK_EQ(c.items[2].id, 1); /* where it was said: the front stays */
    CHECK(item(&c, WINDOW_TASK, 12) != NULL);
    CHECK_EQ(window_clear(w, NULL), 0);
    c = call(w);
    CHECK_EQ(c.items[2].part, WINDOW_TASK);
    CHECK_EQ(c.items[2].id, 12);
    CHECK(!item(&c, WINDOW_TASK, 1));
    CHECK_EQ(figures(w).cut.messages, 10 + 1); /* all said but the newest two, and the old note */
    window_close(w);
}

/* ------------------------------------------------------------------ references */

TEST(window_a_reference_line_says_how_much_left_and_by_which_name_it_is_read)
{
    struct buf b = {0};
    uint64_t first, last;
    window_reference(&(struct window_ref){12, 57, 40, 34567}, &b);
    CHECK_STR(b.data, "[clipped: 0 of 34567 tokens shown; the rest is artifact m12-57 from offset 0]");
    CHECK(!b.failed);
    buf_free(&b);
    CHECK(window_ref_read("m12-57", 6, &first, &last) && first == 12 && last == 57);
    CHECK(window_ref_read("m18446744073709551615", 21, &first, &last) && first == UINT64_MAX && last == first);
    static const char *const bad[] = {"", "m", "12", "m12-", "m-5", "m12-5", "m1-2-3", "m1x", "m1-2x",
                                      "m18446744073709551616", "m1-99999999999999999999"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) CHECK(!window_ref_read(bad[i], strlen(bad[i]), &first, &last));
    char name[48];
    window_ref_name(&(struct window_ref){7, 7, 1, 5}, name);
    CHECK_STR(name, "m7");
    window_ref_name(&(struct window_ref){UINT64_MAX - 1, UINT64_MAX, 2, 5}, name);
    CHECK(window_ref_read(name, strlen(name), &first, &last) && first == UINT64_MAX - 1);
}

/* ------------------------------------------------------------------ compaction */

TEST(window_undo_brings_back_what_was_before_and_keeps_what_came_since)
{
    struct window *w = window(&usual);
    struct window_event e;
    talk(w, 1, 30, 50);
    struct window_call c = call(w);
    static struct window_item before[64];
    size_t n = c.n;
    memcpy(before, c.items, n * sizeof *before);
    propose(w);
    CHECK_EQ(window_commit(w, SUMMARY, 3, false, NULL), 0);
    CHECK(event(w, WINDOW_COMPACTED, &e));
    CHECK_EQ(e.id, SUMMARY);
    say(w, WINDOW_USER, 31, 7);
    c = call(w);
    CHECK(c.n < n && c.broke);
    CHECK(figures(w).can_undo);
    CHECK_EQ(window_undo(w, NULL), 0);
    c = call(w);
    CHECK_EQ(c.n, n + 1);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(c.items[i].part, before[i].part);
        CHECK_EQ(c.items[i].id, before[i].id);
        CHECK_MEM(&c.items[i].ref, &before[i].ref, sizeof before[i].ref);
    }
    CHECK_EQ(c.items[n].id, 31);
    CHECK(event(w, WINDOW_UNDONE, &e));
    CHECK_EQ(window_undo(w, NULL), WINDOW_STALE);
    window_close(w);
}

TEST(window_a_second_summary_stands_for_the_first_too)
{
    struct window *w = window(&usual);
    talk(w, 1, 30, 50);
    struct window_proposal p = propose(w);
    CHECK_EQ(p.summary, 0);
    CHECK_EQ(window_commit(w, SUMMARY, 3, false, NULL), 0);
    uint64_t summed = p.range.last;
    talk(w, 31, 50, 50);
    p = propose(w);
    CHECK_EQ(p.summary, SUMMARY);
    CHECK_EQ(p.items[2].part, WINDOW_SUMMARY); /* the model sees it */
    CHECK_EQ(p.range.first, summed + 1);
    CHECK_EQ(window_commit(w, SUMMARY2, 3, true, NULL), 0);
    struct window_call c = call(w);
    CHECK(!item(&c, WINDOW_SUMMARY, SUMMARY));
    CHECK_EQ(item(&c, WINDOW_SUMMARY, SUMMARY2)->ref.first, 1);
    CHECK_EQ(item(&c, WINDOW_SUMMARY, SUMMARY2)->ref.last, p.range.last);
    CHECK(figures(w).extractive);
    window_close(w);
}

TEST(window_figures_say_what_a_compaction_frees_before_it_is_made)
{
    struct window *w = window(&usual);
    CHECK_EQ(window_add(w, WINDOW_PINNED, PIN, NULL), 0);
    talk(w, 1, 30, 50);
    struct window_figures f = figures(w);
    struct window_proposal p = propose(w);
    CHECK_EQ(f.by_compact, p.frees);
    CHECK_EQ(f.by_unpin, 20);
    mock.size[SUMMARY] = usual.summary + MOCK_LINE + 3; /* as large as one may be */
    CHECK_EQ(window_commit(w, SUMMARY, 1, false, &err), 0);
    CHECK(f.used - figures(w).used >= p.frees);
    CHECK(f.used - figures(w).used < p.frees + 10);
    CHECK(figures(w).used <= figures(w).low); /* deeply */
    window_close(w);
}

TEST(window_what_is_said_during_a_compaction_stays)
{
    struct window *w = window(&usual);
    talk(w, 1, 30, 50);
    struct window_proposal p = propose(w);
    struct window_ref range = p.range;
    say(w, WINDOW_USER, 31, 50); /* another newest, another turn */
    say(w, WINDOW_ANSWER, 32, 50);
    CHECK_EQ(window_commit(w, SUMMARY, 1, false, NULL), 0);
    CHECK_EQ(figures(w).summed.messages, range.messages);
    struct window_call c = call(w);
    CHECK(item(&c, WINDOW_HISTORY, 29) && item(&c, WINDOW_HISTORY, 31) && item(&c, WINDOW_HISTORY, 32));
    window_close(w);
}

TEST(window_a_proposal_is_stale_once_its_list_has_changed)
{
    struct window *w = window(&usual);
    talk(w, 1, 30, 50);
    propose(w);
    CHECK_EQ(window_add(w, WINDOW_PINNED, PIN, NULL), 0);
    CHECK_EQ(window_commit(w, SUMMARY, 1, false, &err), WINDOW_STALE);
    propose(w);
    CHECK_EQ(window_clear(w, NULL), 0);
    CHECK_EQ(window_commit(w, SUMMARY, 1, false, &err), WINDOW_STALE);
    window_close(w);
}

CHECK_MAIN
