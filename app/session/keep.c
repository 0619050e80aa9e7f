/* keep.c - see keep.h. */
#include "app/session/keep.h"
#include "app/progress.h"
#include <errno.h>
#include <poll.h>
#include <sys/random.h>
#include <time.h>

struct keep_job {
    struct keep_task task;
    struct keep_job *next;
    struct journal_batch batch;
    struct keep_saved result;
    double since;
    uint64_t bytes; /* that it holds */
    bool submitted;
};

/* ---------------------------------------------------------------- saving */

static void saved(struct keep *k, struct keep_task *task);

static int write_batch(struct keeper_job *base, struct store *s, struct err *err)
{
    struct keep_job *job = (struct keep_job *)base;
    return journal_write(s, &job->batch, &job->result.bytes, err);
}

static void tell(struct keep *k, struct keep_job *job)
{
    job->result.err = job->task.base.err;
    job->result.err.code = job->task.base.code;
    job->result.seconds = progress_clock() - job->since;
    if (k->saved) k->saved(k->self, &job->result);
}

/* They are committed in their order: one whose predecessor failed waits, and fails with it. */
static void took_back(struct keep *k, struct keep_job *job)
{
    tell(k, job);
    job->submitted = false;
    if (job->task.base.code) return;
    assert(job == k->unsaved);
    k->unsaved = job->next;
    k->n_unsaved--;
    k->unsaved_bytes -= job->bytes;
    journal_batch_free(&job->batch);
    free(job);
}

/* The oldest is in the keeper's hands; the others follow one by one. */
static void go_on(struct keep *k)
{
    k->waits = false;
    if (!k->unsaved || k->unsaved->submitted) return;
    k->unsaved->submitted = keep_later(k, &k->unsaved->task, NULL) == 0;
    k->waits = !k->unsaved->submitted;
}

bool keep_is_full(const struct keep *k)
{
    return k->n_unsaved >= KEEP_UNSAVED || k->unsaved_bytes >= KEEP_UNSAVED_BYTES;
}

static uint64_t bytes_of(const struct journal_batch *b)
{
    uint64_t sum = b->records.len + b->head.len;
    for (size_t i = 0; i < b->n_pieces; i++) sum += b->piece[i].bytes.len;
    for (size_t i = 0; i < b->n_artifacts; i++) sum += b->artifact[i].bytes.len;
    return sum;
}

int keep_save(struct keep *k, struct journal_batch *b, uint32_t turn, struct err *err)
{
    struct keep_job *job = keep_is_full(k) ? NULL : calloc(1, sizeof *job), **end = &k->unsaved;
    if (keep_is_full(k)) return err_set(err, STORE_BUSY, "%d turns could not be saved yet", k->n_unsaved);
    if (!job) return err_set(err, STORE_NO_MEMORY, "no memory to save a turn");
    memcpy(b->session, k->head.id, sizeof b->session);
    journal_add_head(b, &k->head);
    if (b->failed) {
        free(job);
        return err_set(err, STORE_NO_MEMORY, "no memory to save a turn");
    }
    *job = (struct keep_job){.task = {.base = {.run = write_batch}, .done = saved}, .batch = *b,
                             .since = progress_clock(), .bytes = bytes_of(b),
                             .result = {.turn = turn, .records = b->n_records, .upto = k->head.next - 1}};
    *b = (struct journal_batch){0};
    while (*end) end = &(*end)->next;
    *end = job;
    k->n_unsaved++;
    k->unsaved_bytes += job->bytes;
    go_on(k);
    return 0;
}

/* One was taken back: it is told, and the next is begun, unless it failed: that waits for the next keep_save(). */
static void saved(struct keep *k, struct keep_task *task)
{
    bool failed = task->base.code != 0;
    took_back(k, (struct keep_job *)task);
    if (!failed) go_on(k);
}

/* The sessions of several agents share a keeper: it may be another's. */
static void finish(struct keeper_job *base)
{
    struct keep_task *task = (struct keep_task *)base;
    task->done(task->keep, task);
}

int keep_later(struct keep *k, struct keep_task *task, struct err *err)
{
    task->keep = k;
    return keeper_submit(k->keeper, &task->base, err);
}

void keep_poll(struct keep *k)
{
    for (struct keeper_job *job; k->keeper && (job = keeper_done(k->keeper)) != NULL;) finish(job);
    if (k->waits) go_on(k);
}

void keep_wait(struct keep *k)
{
    struct keeper_job *job = k->keeper ? keeper_wait(k->keeper, NULL, NULL) : NULL;
    if (job) finish(job);
}

void keep_wait_for(struct keep *k, int ms)
{
    struct pollfd p = {.fd = k->keeper ? keeper_fd(k->keeper) : -1, .events = POLLIN};
    if (k->keeper && keeper_pending(k->keeper) > 0) poll(&p, 1, ms);
    keep_poll(k);
}

static bool is_stuck(void *keeper) { return keeper_stuck(keeper); }

bool keep_settle(struct keep *k)
{
    if (!k->keeper) return true;
    keep_poll(k);
    while (keeper_pending(k->keeper) > 0) {
        struct keeper_job *job = keeper_wait(k->keeper, is_stuck, k->keeper);
        if (!job && keeper_stuck(k->keeper)) return false;
        if (job) finish(job);
        if (k->waits) go_on(k); /* there is room now */
    }
    return true;
}

void keep_again(struct keep *k)
{
    if (!k->keeper) return;
    keep_poll(k);
    go_on(k);
    keep_settle(k);
}

/* ---------------------------------------------------------------- calls */

struct call {
    struct keeper_job base;
    int (*fn)(struct store *s, void *arg, struct err *err);
    void *arg;
};

static int run_call(struct keeper_job *base, struct store *s, struct err *err)
{
    struct call *c = (struct call *)base;
    return c->fn(s, c->arg, err);
}

int keep_call(struct keep *k, int (*fn)(struct store *s, void *arg, struct err *err), void *arg, struct err *err)
{
    struct call c = {.base = {.run = run_call}, .fn = fn, .arg = arg};
    if (!keep_settle(k)) /* once it is submitted it cannot be given up */
        return err_set(err, STORE_BUSY, "the store does not answer: its disk is slow, or another process writes in it");
    int rc = keeper_submit(k->keeper, &c.base, err);
    if (rc) return rc;
    for (;;) {
        struct keeper_job *job = keeper_wait(k->keeper, NULL, NULL);
        if (job == &c.base) break;
        if (job) finish(job);
    }
    if (c.base.code && err) {
        *err = c.base.err;
        err->code = c.base.code;
    }
    return c.base.code;
}

/* ---------------------------------------------------------------- open and close */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int keep_new(struct keep *k, struct keeper *keeper, const char *model, struct err *err)
{
    *k = (struct keep){.keeper = keeper};
    k->head.created_ms = k->head.updated_ms = now_ms();
    k->head.artifacts = 1;
    snprintf(k->head.model, sizeof k->head.model, "%s", model);
    if (getrandom(k->head.id, sizeof k->head.id, 0) != (ssize_t)sizeof k->head.id)
        return err_set(err, STORE_FAILED, "no random number for a session: %s", strerror(errno));
    return keeper_lock_session(keeper, k->head.id, &k->lock, err);
}

struct found {
    struct keep *k;
    const char *name;
};

static bool see(void *self, uint64_t number, const struct journal_message *m)
{
    (void)m;
    *(uint64_t *)self = number;
    return false;
}

static bool see_event(void *self, uint64_t number, const char *json, size_t n)
{
    (void)json, (void)n;
    return see(self, number, NULL);
}

/* What is saved next would be written over what is there. */
static int check_end(struct store *s, const struct journal_head *h, struct err *err)
{
    uint64_t beyond = 0;
    char id[2 * STORE_SESSION_ID + 1];
    int rc = journal_each(s, h->id, h->next, &(struct journal_visit){see, see_event, NULL, &beyond}, err);
    if (rc || beyond == 0) return rc;
    journal_id_text(h->id, id);
    return err_set(err, STORE_DAMAGED, "session %s is damaged: its end is said to be before message %llu", id,
                   (unsigned long long)beyond);
}

static int find(struct store *s, void *arg, struct err *err)
{
    struct found *f = arg;
    struct keep *k = f->k;
    int rc = journal_find(s, f->name, &k->head, err);
    if (rc == 0) rc = store_lock_session(s, k->head.id, &k->lock, err);
    if (rc == 0) rc = journal_head(s, k->head.id, &k->head, err); /* as its last writer left it */
    if (rc == 0) rc = check_end(s, &k->head, err);
    if (rc) store_unlock_session(&k->lock);
    return rc;
}

int keep_open(struct keep *k, struct keeper *keeper, const char *name, struct err *err)
{
    *k = (struct keep){.keeper = keeper};
    return keep_call(k, find, &(struct found){k, name}, err);
}

bool keep_leave(struct keep *k)
{
    if (!k->keeper) return true;
    keep_poll(k);
    if (!k->leaving) go_on(k);
    k->leaving = true;
    return !k->unsaved || !(k->unsaved->submitted || k->waits);
}

int keep_close(struct keep *k)
{
    if (!k->keeper) return 0;
    while (!keep_leave(k)) keep_wait(k);
    int lost = k->n_unsaved;
    for (struct keep_job *job = k->unsaved, *next; job; job = next) {
        next = job->next;
        journal_batch_free(&job->batch);
        free(job);
    }
    store_unlock_session(&k->lock);
    *k = (struct keep){0};
    return lost;
}

/* ---------------------------------------------------------------- texts and artifacts */

struct wanted {
    const uint8_t *id;
    uint64_t number;
    struct journal_message *m;
    struct buf *text;
};

static int get(struct store *s, void *arg, struct err *err)
{
    struct wanted *w = arg;
    return journal_get(s, w->id, w->number, w->m, w->text, err);
}

int keep_message(struct keep *k, uint64_t number, struct journal_message *m, struct buf *text, struct err *err)
{
    return keep_call(k, get, &(struct wanted){k->head.id, number, m, text}, err);
}

static const struct buf *artifact_of(const struct journal_batch *b, uint64_t id)
{
    for (size_t i = 0; i < b->n_artifacts; i++)
        if (b->artifact[i].id == id) return &b->artifact[i].bytes;
    return NULL;
}

const struct buf *keep_artifact(const struct keep *k, const struct journal_batch *next, uint64_t id)
{
    const struct buf *found = artifact_of(next, id);
    for (const struct keep_job *job = k->unsaved; job && !found; job = job->next) found = artifact_of(&job->batch, id);
    return found;
}
