/* tape.c - see tape.h. */
#include "app/tui/tape.h"
#include <math.h>

void tape_open(struct tape *t) { *t = (struct tape){.speed = 1}; }

void tape_free(struct tape *t)
{
    free(t->mark);
    *t = (struct tape){0};
}

int tape_put(struct tape *t, uint64_t at, uint32_t n, double time, bool turn)
{
    const struct tape_mark *last = t->n > 0 ? &t->mark[t->n - 1] : NULL;
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 1024;
        struct tape_mark *mark = cap > SIZE_MAX / 2 / sizeof *mark ? NULL : realloc(t->mark, cap * sizeof *mark);
        if (!mark) return -1;
        t->mark = mark;
        t->cap = cap;
        last = t->n > 0 ? &t->mark[t->n - 1] : NULL;
    }
    const double before = last ? last->time : 0, now = isfinite(time) && time > before ? time : before;
    const double due = last ? last->due + fmin(now - before, TAPE_WAIT) : 0; /* the first at once */
    t->mark[t->n++] = (struct tape_mark){at, n, turn, now, due};
    return 0;
}

/* ------------------------------------------------------------------ play */

void tape_pass(struct tape *t, double seconds)
{
    if (t->paused || t->shown != t->due) return;
    t->played += fmax(seconds, 0) * t->speed;
    while (t->due < t->n && t->mark[t->due].due <= t->played) t->due++;
    if (t->due == t->n) t->played = fmin(t->played, t->n > 0 ? t->mark[t->n - 1].due : 0);
}

double tape_wait(const struct tape *t)
{
    if (t->shown != t->due) return 0;
    if (t->paused || t->due == t->n) return INFINITY;
    return fmax(t->mark[t->due].due - t->played, 0) / t->speed;
}

void tape_faster(struct tape *t, bool faster)
{
    t->speed = faster ? MIN(2 * t->speed, (int)TAPE_SPEED_MAX) : MAX(t->speed / 2, 1);
}

/* ------------------------------------------------------------------ winding */

static void wind(struct tape *t, size_t due)
{
    t->due = due;
    t->played = due > 0 ? t->mark[due - 1].due : 0;
}

void tape_next_turn(struct tape *t)
{
    size_t i = t->due;
    while (i < t->n && !t->mark[i].turn) i++;
    wind(t, MIN(i + 1, t->n));
}

/* While it plays, a turn that began less than a second ago is passed over too: else nobody could get behind it. */
void tape_turn_before(struct tape *t)
{
    const double least = t->paused ? 0 : t->speed;
    size_t i = t->due;
    while (i > 0 && !(t->mark[i - 1].turn && i < t->due && t->played - t->mark[i - 1].due >= least)) i--;
    wind(t, i);
}

void tape_go(struct tape *t, bool end) { wind(t, end ? t->n : 0); }

/* ------------------------------------------------------------------ where it is */

static const char *clock_text(char out[24], double seconds, bool tenths)
{
    const int64_t n = (int64_t)(10 * fmin(seconds, 3599999));
    int at = n >= 36000 ? snprintf(out, 24, "%d:%02d", (int)(n / 36000), (int)(n / 600 % 60))
                        : snprintf(out, 24, "%d", (int)(n / 600));
    at += snprintf(out + at, (size_t)(24 - at), ":%02d", (int)(n / 10 % 60));
    if (tenths) snprintf(out + at, (size_t)(24 - at), ".%d", (int)(n % 10));
    return out;
}

void tape_words(const struct tape *t, char out[80])
{
    const double time = t->shown > 0 ? t->mark[t->shown - 1].time : 0, end = t->n > 0 ? t->mark[t->n - 1].time : 0;
    char now[24], all[24], speed[16] = "";
    const char *state = t->shown != t->due ? ", winding" : t->paused ? ", paused"
                        : t->whole && t->due == t->n ? ", the end" : "";
    if (t->speed > 1) snprintf(speed, sizeof speed, ", x%d", t->speed);
    snprintf(out, 80, "recorded, %s of %s%s%s%s", clock_text(now, time, true), clock_text(all, end, end < 60),
             t->whole ? "" : "...", speed, state);
}

double tape_part(const struct tape *t)
{
    const double all = t->n > 0 ? t->mark[t->n - 1].due : 0;
    return all > 0 ? fmin(t->played / all, 1) : 0;
}
