/* The window, case by case.  F1 to F19 are classes of failure that other programs' compaction has had.
 *
 * Not of this file: F14 (a path without a terminal behaves otherwise: no face is seen here; every caller has the same
 * functions) and F20 (a store that grows).  F10, F12 are also of test_summary.c. */
#include "memory/window.h"
#include "memory/forms.h"
#include "tests/check.h"
#include "tests/test_window_mock.h"

/* limit = 2000 - max(100 + 100, 30 + 100 + 16) = 1800 */
static const struct window_limits usual = {
    .ctx = 2000, .answer = 100, .thinking = 100, .closing = 3, .summary = 100, .high = 800, .low = 400, .gain = 200};

enum { SYSTEM = 10001, TOOLS, PIN, SUMMARY, SUMMARY2, OTHER };

static struct mock mock;
static struct err err;

static struct window *window(const struct window_limits *l)
{
    struct window *w;
    mock = (struct mock){0};
    mock.size[SYSTEM] = 50;
    mock.size[TOOLS] = 30;
    mock.size[PIN] = 20;
    mock.size[SUMMARY] = mock.size[SUMMARY2] = 60;
    CHECK_EQ(window_open(&w, l, mock_count(&mock), &err), 0);
    CHECK_EQ(window_add(w, WINDOW_TOOLS, TOOLS, NULL), 0);
    CHECK_EQ(window_add(w, WINDOW_SYSTEM, SYSTEM, NULL), 0);
    return w;
}

static void say(struct window *w, enum window_kind kind, uint64_t id, int64_t tokens)
{
    mock.size[id] = tokens;
    CHECK_EQ(window_append(w, kind, id, kind == WINDOW_CALL ? 1 : 0, NULL), 0);
}

/* User and answer by turns, ids from .. to. */
static void talk(struct window *w, uint64_t from, uint64_t to, int64_t tokens)
{
    for (uint64_t id = from; id <= to; id++) say(w, id % 2 ? WINDOW_USER : WINDOW_ANSWER, id, tokens);
}

static struct window_call call(struct window *w)
{
    struct window_call c;
    if (window_build(w, &c, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    CHECK(c.tokens <= c.limit);
    CHECK(c.tokens + c.answer + c.thinking <= usual.ctx);
    return c;
}

static const struct window_item *item(const struct window_call *c, enum window_part part, uint64_t id)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->items[i].part == part && c->items[i].id == id) return &c->items[i];
    return NULL;
}

static struct window_figures figures(const struct window *w)
{
    struct window_figures f;
    window_figures(w, &f);
    return f;
}

static bool event(struct window *w, enum window_event_kind kind, struct window_event *out)
{
    while (window_next_event(w, out))
        if (out->kind == kind) return true;
    return false;
}

static struct window_proposal propose(struct window *w)
{
    struct window_proposal p;
    if (window_propose(w, &p, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    return p;
}

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
    CHECK_MEM(c.items, before, n * sizeof *before);
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

/* ------------------------------------------------------------------ the classes */

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

TEST(window_f7_answer_and_thinking_are_reserved_and_the_closing_tag_is_forced_in_time)
{
    struct window *w = window(&usual);
    struct window_event e;
    talk(w, 1, 3, 5000);
    struct window_call c = call(w);
    CHECK_EQ(c.answer, 100);
    CHECK_EQ(c.thinking, 100);
    CHECK(!window_thinking(w, 96).close);
    CHECK_EQ(window_thinking(w, 96).left, 4);
    CHECK(!event(w, WINDOW_THINKING_CLOSED, &e));
    CHECK(window_thinking(w, 97).close); /* room for the tag of three tokens */
    CHECK(window_thinking(w, 98).close);
    CHECK(event(w, WINDOW_THINKING_CLOSED, &e));
    CHECK_EQ(e.tokens, 97);
    CHECK(!event(w, WINDOW_THINKING_CLOSED, &e)); /* once a call */
    (void)call(w);
    CHECK(window_thinking(w, 99).close);
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
