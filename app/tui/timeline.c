/* timeline.c - two arrays that stay within their size.
 *
 * A sample stands for the time [k * each, (k + 1) * each) for a whole k.  `each` is a power of two, so that a float
 * holds such times exactly and a coarser time is made of two finer ones. */
#include "app/tui/timeline.h"
#include <math.h>

#define FINEST 0.125f   /* seconds: about as often as samples come */
#define LATEST 1e9      /* seconds: what is said to be later is of this time */

void timeline_open(struct timeline *t)
{
    *t = (struct timeline){.each = FINEST};
    t->sample = calloc(TIMELINE_SAMPLES, sizeof *t->sample);
    t->mark = calloc(TIMELINE_MARKS, sizeof *t->mark);
}

void timeline_close(struct timeline *t)
{
    free(t->sample);
    free(t->mark);
    *t = (struct timeline){0};
}

/* A time that is none counts as `last`. */
static float time_after(float last, float time)
{
    if (!(time > last)) return last;
    return time < (float)LATEST ? time : (float)LATEST;
}

/* ------------------------------------------------------------------ samples */

static float begin_of(const struct timeline *t, float time) { return floorf(time / t->each) * t->each; }

static float larger(float a, float b) { return a > b ? a : b; }

static void join(struct timeline_sample *a, const struct timeline_sample *b)
{
    a->filled = MAX(a->filled, b->filled);
    a->reserved = MAX(a->reserved, b->reserved);
    a->shared = MAX(a->shared, b->shared);
    a->cached = MAX(a->cached, b->cached);
    a->running = MAX(a->running, b->running);
    a->waiting = MAX(a->waiting, b->waiting);
    a->parked = MAX(a->parked, b->parked);
    a->prefill = larger(a->prefill, b->prefill);
    a->decode = larger(a->decode, b->decode);
    a->bytes = MAX(a->bytes, b->bytes);
}

/* Those that fall into the same, longer time become one. */
static void coarsen(struct timeline *t)
{
    int n = 0;
    t->each *= 2;
    for (int i = 0; i < t->samples; i++) {
        struct timeline_sample s = t->sample[i];
        s.time = begin_of(t, s.time);
        if (n > 0 && t->sample[n - 1].time >= s.time) join(&t->sample[n - 1], &s);
        else t->sample[n++] = s;
    }
    t->samples = n;
}

void timeline_sample(struct timeline *t, const struct timeline_sample *s)
{
    struct timeline_sample now = *s;
    if (!t->sample) return;
    now.prefill = isfinite(s->prefill) ? larger(s->prefill, 0) : 0;
    now.decode = isfinite(s->decode) ? larger(s->decode, 0) : 0;
    float last = t->samples > 0 ? t->sample[t->samples - 1].time : 0;
    now.time = begin_of(t, time_after(last, s->time));
    if (t->samples > 0 && now.time <= last) {
        join(&t->sample[t->samples - 1], &now);
        return;
    }
    if (t->samples == TIMELINE_SAMPLES) {
        while (t->samples > TIMELINE_SAMPLES / 4 * 3) coarsen(t); /* where times are apart, one is not enough */
        timeline_sample(t, &now);
        return;
    }
    t->sample[t->samples++] = now;
}

int timeline_at(const struct timeline *t, double time)
{
    int low = 0, high = t->samples; /* the first that is later lies in [low, high] */
    while (low < high) {
        int middle = low + (high - low) / 2;
        if ((double)t->sample[middle].time <= time) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

/* ------------------------------------------------------------------ marks */

/* The higher the longer it is kept. */
static int weight(uint8_t kind)
{
    switch ((enum event_kind)kind) {
    case EV_SESSION_OPEN:
    case EV_SESSION_CLOSE:
    case EV_REFUSAL:
    case EV_ERROR: return 3;
    case EV_SUMMARY:
    case EV_CONTEXT:
    case EV_STOPPED:
    case EV_RESUMED:
    case EV_UNDONE:
    case EV_HOLDING: return 2;
    case EV_TURN_END: return 1;
    default: return 0;
    }
}

static void forget_one(struct timeline *t)
{
    int gone = 0;
    for (int i = 1; i < t->marks; i++)
        if (weight(t->mark[i].kind) < weight(t->mark[gone].kind)) gone = i;
    memmove(&t->mark[gone], &t->mark[gone + 1], (size_t)(t->marks - gone - 1) * sizeof *t->mark);
    t->marks--;
    t->lost++;
}

void timeline_mark(struct timeline *t, const struct timeline_mark *m)
{
    if (!t->mark) return;
    float last = t->marks > 0 ? t->mark[t->marks - 1].time : 0;
    if (t->marks == TIMELINE_MARKS) forget_one(t);
    t->mark[t->marks] = *m;
    t->mark[t->marks].time = time_after(last, m->time);
    t->marks++;
}

int timeline_mark_at(const struct timeline *t, double time)
{
    int low = 0, high = t->marks;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if ((double)t->mark[middle].time <= time) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

const char *timeline_clock(char out[FIGURE], double seconds)
{
    double s = seconds > 0 ? MIN(seconds, LATEST) : 0;
    long long whole = (long long)s, tenth = (long long)(10 * (s - (double)whole));
    if (whole < 60) snprintf(out, FIGURE, "0:%02lld.%lld", whole, tenth);
    else if (whole < 3600) snprintf(out, FIGURE, "%lld:%02lld", whole / 60, whole % 60);
    else snprintf(out, FIGURE, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    return out;
}

double timeline_end(const struct timeline *t)
{
    double sample = t->samples > 0 ? (double)t->sample[t->samples - 1].time : 0;
    double mark = t->marks > 0 ? (double)t->mark[t->marks - 1].time : 0;
    return MAX(sample, mark);
}
