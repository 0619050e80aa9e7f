/* The timeline keeps the whole of a session in its fixed memory: coarser, but no peak is lost; and of its marks the
 * important ones. */
#include "app/tui/timeline.h"
#include "tests/check.h"

#include <math.h>

static struct timeline opened(void)
{
    struct timeline t;
    timeline_open(&t);
    CHECK(t.sample && t.mark);
    return t;
}

static void put(struct timeline *t, double time, uint32_t filled)
{
    timeline_sample(t, &(struct timeline_sample){.time = (float)time, .filled = filled, .decode = (float)filled});
}

/* Samples are in order, each at the beginning of a time of its own. */
static void check_order(const struct timeline *t)
{
    for (int i = 0; i < t->samples; i++) {
        float k = t->sample[i].time / t->each;
        CHECK(k >= 0 && floorf(k) == k);
        if (i > 0) CHECK(t->sample[i].time > t->sample[i - 1].time);
    }
    for (int i = 1; i < t->marks; i++) CHECK(t->mark[i].time >= t->mark[i - 1].time);
}

TEST(nothing_yet)
{
    struct timeline t = opened();
    CHECK_EQ(timeline_at(&t, 5), -1);
    CHECK_EQ(timeline_mark_at(&t, 5), -1);
    CHECK(timeline_end(&t) == 0);
    timeline_close(&t);
    put(&t, 1, 1); /* as where there was no memory */
    timeline_mark(&t, &(struct timeline_mark){.time = 1});
    CHECK_EQ(t.samples + t.marks, 0);
}

/* An hour, ten a second: far more than there is room for.  A peak of one sample is still there. */
TEST(a_long_session)
{
    struct timeline t = opened();
    for (int i = 0; i < 36000; i++) put(&t, i / 10.0, i == 777 ? 5000 : (uint32_t)(i / 36));
    check_order(&t);
    CHECK(t.samples <= TIMELINE_SAMPLES && t.samples > TIMELINE_SAMPLES / 4);
    CHECK(t.sample[0].time == 0);
    CHECK(timeline_end(&t) >= 3599.9 - (double)t.each);
    int peak = timeline_at(&t, 77.7);
    CHECK(peak >= 0 && t.sample[peak].time <= 77.7f && t.sample[peak].time + t.each > 77.7f);
    CHECK_EQ(t.sample[peak].filled, 5000);
    CHECK_EQ(t.sample[timeline_at(&t, 3600)].filled, 999);
    timeline_close(&t);
}

/* Times that are far apart need more than one step until there is room. */
TEST(far_apart)
{
    struct timeline t = opened();
    for (int i = 0; i < 3 * TIMELINE_SAMPLES; i++) put(&t, i * 1000.0, 1 + (uint32_t)i);
    check_order(&t);
    CHECK(t.samples <= TIMELINE_SAMPLES && t.samples > TIMELINE_SAMPLES / 4);
    CHECK_EQ(t.sample[t.samples - 1].filled, 3 * TIMELINE_SAMPLES);
    timeline_close(&t);
}

TEST(hostile_times)
{
    const double time[] = {-5, NAN, INFINITY, 3, 1e300, -INFINITY, 0, 1e9, 2e9};
    struct timeline t = opened();
    put(&t, 2, 7);
    for (size_t i = 0; i < COUNT_OF(time); i++) {
        put(&t, time[i], 9);
        timeline_mark(&t, &(struct timeline_mark){.time = (float)time[i]});
    }
    check_order(&t);
    CHECK(timeline_end(&t) <= 1e9);
    timeline_sample(&t, &(struct timeline_sample){.time = 5, .decode = NAN, .prefill = -3});
    for (int i = 0; i < t.samples; i++) CHECK(isfinite(t.sample[i].decode) && t.sample[i].prefill >= 0);
    timeline_close(&t);
}

TEST(found_by_time)
{
    struct timeline t = opened();
    for (int i = 1; i <= 10; i++) {
        put(&t, i, (uint32_t)i);
        timeline_mark(&t, &(struct timeline_mark){.time = (float)i, .agent = (int8_t)i});
    }
    CHECK_EQ(timeline_at(&t, 0.9), -1);
    CHECK_EQ(t.sample[timeline_at(&t, 4)].filled, 4);
    CHECK_EQ(t.sample[timeline_at(&t, 4.99)].filled, 4);
    CHECK_EQ(t.sample[timeline_at(&t, 1e12)].filled, 10);
    CHECK_EQ(timeline_mark_at(&t, 0.5), -1);
    CHECK_EQ(t.mark[timeline_mark_at(&t, 7.5)].agent, 7);
    timeline_close(&t);
}

TEST(clock)
{
    char out[FIGURE];
    CHECK_STR(timeline_clock(out, 5.27), "0:05.2");
    CHECK_STR(timeline_clock(out, 725), "12:05");
    CHECK_STR(timeline_clock(out, 11525), "3:12:05");
    CHECK_STR(timeline_clock(out, NAN), "0:00.0");
    CHECK_STR(timeline_clock(out, 1e300), "277777:46:40");
}

/* Refusals stay, however many turns come after them; among turns the oldest go. */
TEST(marks_that_stay)
{
    struct timeline t = opened();
    for (int i = 0; i < 5 * TIMELINE_MARKS; i++) {
        struct timeline_mark m = {.time = (float)i, .kind = (uint8_t)(i % 100 == 50 ? EV_REFUSAL : i % 2 ? EV_TURN_END
                                                                                                 : EV_TURN_START)};
        timeline_mark(&t, &m);
    }
    int refusals = 0;
    for (int i = 0; i < t.marks; i++) refusals += t.mark[i].kind == EV_REFUSAL;
    check_order(&t);
    CHECK_EQ(t.marks, TIMELINE_MARKS);
    CHECK_EQ(t.lost, 4 * TIMELINE_MARKS);
    CHECK_EQ(refusals, 51); /* 50, 150 ... 5050 */
    CHECK(t.mark[t.marks - 1].time == 5 * TIMELINE_MARKS - 1);
    timeline_close(&t);
}

CHECK_MAIN
