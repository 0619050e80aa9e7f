/* session_clip.c - big texts are clipped and counted beside the conversation, by the keeper's thread:
 *
 *     the turn:     session_aside(part) ──> app_pause() ... others go on ... ──> done ──> the next part
 *     the keeper's: one part, between what others have for the store
 *
 * A part is RESULT_PART bytes that flow past the clip; the last is the choice of what is shown, with its counts. */
#include "app/progress.h"
#include "app/say.h"
#include "app/session/session_impl.h"
#include "app/session/session_result.h"

/* ---------------------------------------------------------------- one piece of work */

struct aside {
    struct keep_task task;
    void (*fn)(void *arg);
    void *arg;
    atomic_bool taken; /* by whoever calls fn, or sees to it that nobody does */
    bool done, left;   /* left: nobody waits for it */
};

static int run_aside(struct keeper_job *base, struct store *st, struct err *err)
{
    struct aside *t = (struct aside *)base;
    (void)st, (void)err;
    if (!atomic_exchange(&t->taken, true)) t->fn(t->arg);
    return 0;
}

static void ran_aside(struct keep *k, struct keep_task *task)
{
    struct aside *t = (struct aside *)task;
    (void)k;
    t->done = true;
    if (t->left) free(t);
}

/* NULL: nobody can take it. */
static struct aside *hand_over(struct session *s, void (*fn)(void *arg), void *arg)
{
    struct aside *t = session_saves(s) ? calloc(1, sizeof *t) : NULL;
    if (!t) return NULL;
    *t = (struct aside){.task = {.base = {.run = run_aside}, .done = ran_aside}, .fn = fn, .arg = arg};
    if (keep_later(&s->keep, &t->task, NULL) == 0) return t;
    free(t);
    return NULL;
}

static bool is_stopped(struct session *s, atomic_bool *stop)
{
    if (stop && session_cancelled(s)) atomic_store(stop, true);
    return stop && atomic_load(stop);
}

/* What has begun is waited for, since it reads what is the caller's; what has not is taken back. */
void session_aside(struct session *s, void (*fn)(void *arg), void *arg, atomic_bool *stop)
{
    struct aside *t = hand_over(s, fn, arg);
    bool here = !t;
    if (here) app_pause(s->a);
    while (!here && !t->done) {
        int ms = app_pause(s->a);
        bool wanted_back = is_stopped(s, stop) || keeper_stuck(s->keep.keeper);
        if (wanted_back && !atomic_exchange(&t->taken, true)) here = t->left = true;
        else if (!t->done) keep_wait_for(&s->keep, ms);
    }
    if (!here) free(t);
    else if (!is_stopped(s, stop)) fn(arg);
}

/* ---------------------------------------------------------------- clipping */

/* All that the other thread is given.  What is pointed to lives until session_aside() has returned. */
struct clipping {
    struct result_scale scale;
    struct clip *clip;
    const char *text;
    size_t n, at;
    struct buf *shown;
    struct clip_figures *f;
    int64_t total;
    atomic_bool stop;
    int rc;
    struct err err;
};

/* What is stopped counts nothing any more: then nothing fits, and the search for what does ends. */
static size_t count(void *self, const char *text, size_t n)
{
    struct clipping *j = self;
    return atomic_load(&j->stop) ? SIZE_MAX : result_weigh(&j->scale, text, n);
}

static void clip_one(void *arg)
{
    struct clipping *j = arg;
    if (j->at < j->n) {
        size_t part = MIN(j->n - j->at, (size_t)RESULT_PART);
        clip_feed(j->clip, j->text + j->at, part);
        j->at += part;
        return;
    }
    j->rc = clip_finish(j->clip, j->shown, j->f, &j->err);
    if (j->rc == 0 && !j->f->whole) j->total = result_about(&(struct clip_counter){count, j}, j->text, j->n);
}

int result_clip_big(struct session *s, const struct result_clipping *what, struct buf *shown, struct clip_figures *f,
                    int64_t *total, struct err *err)
{
    struct progress bar;
    struct clipping j = {.scale = result_scale(s), .text = what->text, .n = what->n, .shown = shown, .f = f};
    struct clip_config cfg = {.counter = {count, &j}, .max_tokens = what->tokens, .kind = what->kind};
    atomic_bool *stop = what->may_stop ? &j.stop : NULL;
    j.scale.aside = session_saves(s);
    j.clip = clip_open(&cfg, err);
    if (!j.clip) return -1;
    progress_start(&bar, "clipping it", say_on_terminal(), progress_clock());
    bar.bytes = true;
    while (j.at < j.n && !atomic_load(&j.stop)) {
        session_aside(s, clip_one, &j, stop);
        progress_update(&bar, j.at, j.n, progress_clock());
    }
    if (!atomic_load(&j.stop)) session_aside(s, clip_one, &j, stop);
    progress_end(&bar);
    clip_close(j.clip);
    *total = j.total;
    if (atomic_load(&j.stop)) return err_set(err, -1, "clipping it was stopped: nothing of it was taken");
    if (j.scale.no_memory) return err_set(err, -1, "no memory to count the tokens of %zu bytes", j.n);
    if (j.rc && err) *err = j.err;
    return j.rc;
}
