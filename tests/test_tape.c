/* test_tape.c - a recorded stream as a tape: which events are due at a moment, however its times are. */
#include "app/tui/tape.h"
#include "tests/check.h"
#include <math.h>

static struct tape t;

/* Times, and the places where turns begin, -1 behind the last. */
static void record(const double *times, size_t n, const int *turns)
{
    tape_free(&t);
    tape_open(&t);
    for (size_t i = 0; i < n; i++) {
        bool turn = false;
        for (int k = 0; turns[k] >= 0; k++) turn = turn || turns[k] == (int)i;
        CHECK_EQ(tape_put(&t, 100 * i, 50, times[i], turn), 0);
    }
    t.whole = true;
}

#define TIMES(...) (const double[]){__VA_ARGS__}, COUNT_OF(((const double[]){__VA_ARGS__}))
#define TURNS(...) (const int[]){__VA_ARGS__, -1}

/* Time passes, and what is due is shown: how many. */
static size_t play(double seconds)
{
    tape_pass(&t, seconds);
    t.shown = t.due;
    return t.due;
}

static bool near(double a, double b) { return fabs(a - b) < 1e-9; }

TEST(tape_plays_by_the_times_of_events)
{
    record(TIMES(0, 0.5, 0.5, 0.9), TURNS(1));
    CHECK_EQ(play(0), 1);
    CHECK(near(tape_wait(&t), 0.5));
    CHECK_EQ(play(0.4), 1);
    CHECK(near(tape_wait(&t), 0.1));
    CHECK_EQ(play(0.1), 3);
    CHECK_EQ(play(0.39), 3);
    CHECK_EQ(play(100), 4);
    CHECK(isinf(tape_wait(&t)));
    CHECK(near(t.played, 0.9) && tape_part(&t) == 1);
}

TEST(tape_waits_a_second_at_most)
{
    record(TIMES(5, 8, 8.2, 1e9), TURNS(0));
    CHECK_EQ(play(0), 1); /* the first at once */
    CHECK(near(tape_wait(&t), 1));
    CHECK_EQ(play(0.99), 1);
    CHECK_EQ(play(0.02), 2);
    CHECK_EQ(play(0.19), 3);
    CHECK_EQ(play(0.99), 3);
    CHECK_EQ(play(0.02), 4);
}

TEST(tape_speed_is_1_2_4_or_8)
{
    record(TIMES(0, 0.8), TURNS(0));
    play(0);
    tape_faster(&t, false);
    CHECK_EQ(t.speed, 1);
    for (int i = 0; i < 5; i++) tape_faster(&t, true);
    CHECK_EQ(t.speed, 8);
    CHECK(near(tape_wait(&t), 0.1));
    CHECK_EQ(play(0.09), 1);
    CHECK_EQ(play(0.011), 2);
    tape_faster(&t, false);
    CHECK_EQ(t.speed, 4);
}

TEST(tape_stands_still_while_paused_and_while_what_is_due_is_not_shown)
{
    record(TIMES(0, 0.1, 0.2), TURNS(0));
    play(0);
    t.paused = true;
    CHECK_EQ(play(9), 1);
    CHECK(isinf(tape_wait(&t)));
    t.paused = false;
    tape_pass(&t, 0.1);
    CHECK_EQ(t.due, 2);
    CHECK(tape_wait(&t) == 0);
    tape_pass(&t, 9); /* only one is shown yet */
    CHECK_EQ(t.due, 2);
    t.shown = 2;
    tape_pass(&t, 0.1);
    CHECK_EQ(t.due, 3);
}

TEST(tape_goes_on_when_more_of_the_file_was_read)
{
    record(TIMES(0, 0.5), TURNS(0));
    t.whole = false;
    CHECK_EQ(play(60), 2);
    CHECK_EQ(tape_put(&t, 0, 1, 1, false), 0);
    CHECK(near(tape_wait(&t), 0.5)); /* from where it stood, not from long ago */
    CHECK_EQ(play(0.5), 3);
}

TEST(tape_steps_turn_by_turn)
{
    record(TIMES(0, 0.1, 0.2, 2, 2.1, 4, 4.1), TURNS(1, 3, 5));
    t.paused = true;
    static const size_t right[] = {2, 4, 6, 7, 7}, left[] = {6, 4, 2, 0, 0};
    for (size_t i = 0; i < COUNT_OF(right); i++) {
        tape_next_turn(&t);
        CHECK_EQ(t.due, right[i]);
        t.shown = t.due;
    }
    for (size_t i = 0; i < COUNT_OF(left); i++) {
        tape_turn_before(&t);
        CHECK_EQ(t.due, left[i]);
        CHECK(near(t.played, t.due > 0 ? t.mark[t.due - 1].due : 0));
    }
    tape_go(&t, true);
    CHECK_EQ(t.due, 7);
    tape_go(&t, false);
    CHECK_EQ(t.due, 0);
    CHECK(t.played == 0);
}

/* While it plays, a turn that has just begun is not in the way. */
TEST(tape_steps_back_behind_a_turn_that_has_just_begun)
{
    record(TIMES(0, 0.9, 1.8, 2.7, 3.6), TURNS(0, 3));
    CHECK_EQ(play(3), 4);
    tape_turn_before(&t);
    CHECK_EQ(t.due, 1);
    t.shown = t.due;
    CHECK_EQ(play(2.7), 4);
    tape_pass(&t, 0.9);
    t.shown = t.due;
    t.played = t.mark[3].due + 1.5;
    tape_turn_before(&t);
    CHECK_EQ(t.due, 4);
}

TEST(tape_of_times_that_are_none)
{
    record(TIMES(NAN, -5, INFINITY, 0.5, 0.2, -INFINITY, 1e308, 1), TURNS(0));
    double last = 0;
    for (size_t i = 0; i < t.n; i++) {
        const struct tape_mark *m = &t.mark[i];
        CHECK(isfinite(m->time) && isfinite(m->due) && m->due >= last && m->due - last <= TAPE_WAIT);
        last = m->due;
    }
    CHECK_EQ(play(0), 3);
    CHECK_EQ(play(0.5), 6);
    CHECK_EQ(play(1), 8);
    char words[80];
    tape_words(&t, words);
    CHECK_STR(words, "recorded, 999:59:59.0 of 999:59:59, the end");
}

TEST(tape_says_where_it_is)
{
    char words[80];
    record(TIMES(0, 12.34, 65.7, 4000), TURNS(0));
    tape_words(&t, words);
    CHECK_STR(words, "recorded, 0:00.0 of 1:06:40");
    play(0), play(1);
    t.paused = true;
    tape_faster(&t, true);
    tape_words(&t, words);
    CHECK_STR(words, "recorded, 0:12.3 of 1:06:40, x2, paused");
    CHECK(near(tape_part(&t), 1.0 / 3));
    t.whole = false;
    tape_words(&t, words);
    CHECK_STR(words, "recorded, 0:12.3 of 1:06:40..., x2, paused");
    tape_go(&t, true);
    tape_words(&t, words);
    CHECK_STR(words, "recorded, 0:12.3 of 1:06:40..., x2, winding");
}

TEST(tape_without_events_is_at_its_end)
{
    char words[80];
    record(NULL, 0, TURNS(-1));
    CHECK_EQ(play(5), 0);
    CHECK(isinf(tape_wait(&t)) && tape_part(&t) == 0);
    tape_next_turn(&t), tape_turn_before(&t), tape_go(&t, true);
    CHECK_EQ(t.due, 0);
    tape_words(&t, words);
    CHECK_STR(words, "recorded, 0:00.0 of 0:00.0, the end");
    tape_free(&t);
}

CHECK_MAIN
