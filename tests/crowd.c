/* crowd.c - clients without manners, and a stdout that may be stopped. */
#include "tests/crowd.h"
#include "tests/tiny_model.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 512, MOST = 4096, AT_ONCE = 6, PIPE = 4096, CHUNK = 512 };

struct client {
    int id; /* 0: it asks for nothing */
    bool waits, ended;
    uint64_t before, passes; /* admissions and passes when it was submitted */
    const struct answer *a;
    size_t read;
};

struct crowd {
    struct crowd_plan plan;
    struct crowd_sum sum;
    struct client client[CROWD_CLIENTS];
    uint32_t seed;
    uint64_t admissions;
    char wrong[600];
    pthread_mutex_t lock; /* a client's answer is dropped under it, and read by the writer; it may grow meanwhile */
    pthread_t writer, reader;
    int pipe[2];
    atomic_bool stalled, over;
    atomic_ullong written;
};

static int below(struct crowd *c, int n) { return tiny_below(&c->seed, n); }
static bool one_in(struct crowd *c, int n) { return below(c, n) == 0; }

__attribute__((format(printf, 2, 3))) static bool wrong(struct crowd *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!c->wrong[0]) vsnprintf(c->wrong, sizeof c->wrong, fmt, ap);
    va_end(ap);
    return false;
}

/* ------------------------------------------------------------------ stdout, and who reads it */

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

/* What is new of one client's answer, copied: whoever sleeps in write() holds nothing of the engine's. */
static size_t take_news(struct crowd *c, struct client *q, char *out)
{
    pthread_mutex_lock(&c->lock);
    size_t len = q->a ? atomic_load_explicit(&q->a->text_len, memory_order_acquire) : 0, n = 0;
    if (q->a && len > q->read) {
        n = MIN(len - q->read, (size_t)CHUNK);
        memcpy(out, q->a->text + q->read, n);
        q->read += n;
    }
    pthread_mutex_unlock(&c->lock);
    return n;
}

static void *write_answers(void *self)
{
    struct crowd *c = self;
    char text[CHUNK];
    while (!atomic_load(&c->over)) {
        bool any = false;
        for (int i = 0; i < CROWD_CLIENTS; i++) {
            size_t n = take_news(c, &c->client[i], text), done = 0;
            any = any || n > 0;
            while (done < n) {
                ssize_t got = write(c->pipe[1], text + done, n - done);
                if (got < 0 && errno != EINTR) return NULL;
                done += got > 0 ? (size_t)got : 0;
            }
            atomic_fetch_add(&c->written, n);
        }
        if (!any) rest();
    }
    close(c->pipe[1]);
    return NULL;
}

static void *read_pipe(void *self)
{
    struct crowd *c = self;
    char text[CHUNK];
    for (;;) {
        if (atomic_load(&c->stalled) && !atomic_load(&c->over)) {
            rest();
            continue;
        }
        ssize_t n = read(c->pipe[0], text, sizeof text);
        if (n == 0 || (n < 0 && errno != EINTR)) break;
    }
    close(c->pipe[0]);
    return NULL;
}

static void need(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "crowd: no %s\n", what);
    exit(1);
}

struct crowd *crowd_open(const struct crowd_plan *plan)
{
    struct crowd *c = calloc(1, sizeof *c);
    need(c != NULL, "memory");
    c->plan = *plan;
    c->seed = plan->seed;
    pthread_mutex_init(&c->lock, NULL);
    need(pipe(c->pipe) == 0, "pipe");
    (void)fcntl(c->pipe[1], F_SETPIPE_SZ, PIPE); /* if it can be smaller it is full sooner */
    need(pthread_create(&c->writer, NULL, write_answers, c) == 0, "thread");
    need(pthread_create(&c->reader, NULL, read_pipe, c) == 0, "thread");
    return c;
}

void crowd_stall(struct crowd *c, bool stalled) { atomic_store(&c->stalled, stalled); }
const struct crowd_sum *crowd_sum(const struct crowd *c) { return &c->sum; }
uint64_t crowd_written(const struct crowd *c) { return atomic_load(&c->written); }

void crowd_close(struct crowd *c)
{
    atomic_store(&c->over, true);
    pthread_join(c->writer, NULL);
    pthread_join(c->reader, NULL);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ------------------------------------------------------------------ what clients do */

/* Lengths at every limit and past it: the context, the pool, the room for answers. */
static void lengths(struct crowd *c, int *prompt, int *answer)
{
    int ctx = c->plan.ops->info(c->plan.e)->ctx, pool = (int)c->plan.pool_tokens;
    *answer = 1 + below(c, one_in(c, 8) ? ctx : 24);
    *prompt = 1 + below(c, one_in(c, 4) ? ctx : 60);
    switch (below(c, 24)) {
    case 0: *prompt = MAX(ctx - *answer, 1); break;
    case 1: *prompt = ctx - *answer + 1; break;
    case 2: *prompt = MAX(MIN(pool, ctx) - *answer, 1); break;
    case 3: *prompt = pool - *answer + 1; break;
    case 4: *prompt = ctx; break;
    case 5: *answer = ctx; break;
    case 6: *answer = INT32_MAX; break;
    case 7: *prompt = MOST; break;
    case 8: *answer = one_in(c, 2) ? 0 : -1; break;
    }
    *prompt = MAX(0, MIN(*prompt, MOST));
}

/* A few fronts that many begin with, then tokens of the client's own. */
static void make_prompt(struct crowd *c, int32_t *ids, int n)
{
    int front = below(c, 5), common = below(c, n + 1);
    for (int i = 0; i < n; i++) ids[i] = i < common ? (front * 31 + i * 7) % c->plan.vocab : below(c, c->plan.vocab);
    if (n > 0 && one_in(c, 60)) ids[below(c, n)] = c->plan.vocab;
}

static bool figures_same(struct crowd *c, const struct engine_snapshot *before)
{
    struct engine_snapshot now;
    c->plan.ops->snapshot(c->plan.e, &now);
    return memcmp(before, &now, sizeof now) == 0;
}

static bool refused(struct crowd *c, int rc, const struct engine_snapshot *before, const struct err *err)
{
    if (rc > ENGINE_BAD_REQUEST || rc < ENGINE_NOT_NOW || !err->text[0])
        return wrong(c, "submit said %d: %s", rc, err->text);
    c->sum.refused[-rc]++;
    return figures_same(c, before) || wrong(c, "a refusal changed the figures: %s", err->text);
}

static bool submit(struct crowd *c, struct client *q)
{
    static int32_t ids[MOST];
    static const char *const stop[] = {"e", "th", "\n"};
    static const char words[] = "what does a request weigh that is words and not tokens?";
    struct msg msg = {.role = ROLE_USER, .text = words, .len = (size_t)below(c, (int)sizeof words)};
    struct engine_snapshot before;
    struct err err = {0};
    int n, most, id = 0;
    lengths(c, &n, &most);
    make_prompt(c, ids, n);
    bool plain = one_in(c, 10);
    struct request r = {.ids = plain ? NULL : ids, .n_ids = n, .msgs = plain ? &msg : NULL, .n_msgs = plain,
                        .agent = (int)(q - c->client), .priority = one_in(c, 3) ? below(c, 9) - 4 : 0,
                        .no_wait = one_in(c, 8), .max_tokens = most, .score = one_in(c, 10), .fresh = one_in(c, 10),
                        .stop = &stop[below(c, 3)], .n_stop = one_in(c, 5), .top_n = one_in(c, 9) ? 2 : 0,
                        .ignore_end = one_in(c, 2),
                        .sampling = {.temp = one_in(c, 2) ? 0 : 1, .top_p = 1, .repeat = 1, .seed = c->seed}};
    c->plan.ops->snapshot(c->plan.e, &before);
    int rc = c->plan.ops->submit(c->plan.e, &r, &id, &err);
    if (rc) return refused(c, rc, &before, &err);
    pthread_mutex_lock(&c->lock);
    *q = (struct client){.id = id, .waits = !r.no_wait, .before = c->admissions, .passes = before.passes,
                         .a = c->plan.ops->answer(c->plan.e, id)};
    pthread_mutex_unlock(&c->lock);
    c->sum.submitted++;
    c->admissions += r.no_wait; /* in at once */
    return q->a != NULL || wrong(c, "request %d has no answer", id);
}

static void drop(struct crowd *c, struct client *q)
{
    c->sum.dropped += !q->ended;
    pthread_mutex_lock(&c->lock);
    c->plan.ops->drop(c->plan.e, q->id);
    *q = (struct client){0};
    pthread_mutex_unlock(&c->lock);
}

static bool act(struct crowd *c)
{
    struct client *q = &c->client[below(c, CROWD_CLIENTS)];
    if (q->id == 0) return submit(c, q);
    if (q->ended || one_in(c, 200)) drop(c, q);
    else if (one_in(c, 100)) c->plan.ops->cancel(c->plan.e, q->id);
    return true;
}

/* ------------------------------------------------------------------ what the engine says */

static struct client *client_of(struct crowd *c, int id)
{
    for (int i = 0; i < CROWD_CLIENTS; i++)
        if (c->client[i].id == id) return &c->client[i];
    return NULL;
}

static bool was_admitted(struct crowd *c, struct client *q)
{
    const struct engine_info *i = c->plan.ops->info(c->plan.e);
    if (!q->waits) return true; /* no_wait: counted when it was submitted */
    uint64_t before = c->admissions++ - q->before, passes = c->sum.passes - q->passes;
    q->waits = false;
    c->sum.most_before = MAX(c->sum.most_before, before);
    c->sum.most_passes = MAX(c->sum.most_passes, passes);
    if (before > CROWD_BEFORE) return wrong(c, "request %d waited for %llu others", q->id, (unsigned long long)before);
    return c->plan.overcommit || passes <= (uint64_t)(CROWD_BEFORE + i->max_seqs) * (uint64_t)i->ctx ||
           wrong(c, "request %d waited for %llu passes", q->id, (unsigned long long)passes);
}

static bool has_ended(struct crowd *c, struct client *q, enum engine_end end)
{
    if (q->ended) return wrong(c, "request %d ended twice", q->id);
    if ((int)end != atomic_load(&q->a->end)) return wrong(c, "request %d: two words for its end", q->id);
    q->ended = true;
    if (end == END_CANCELLED) c->sum.cancelled++;
    else if (end == END_STOP || end == END_LENGTH) c->sum.finished++;
    else return wrong(c, "request %d ended with %s: %s", q->id, engine_end_name(end), q->a->fault);
    return true;
}

static bool check_figures(struct crowd *c)
{
    struct engine_snapshot s;
    uint64_t tokens = 0;
    c->plan.ops->snapshot(c->plan.e, &s);
    for (int k = 0; k < SEGMENTS; k++) tokens += s.shared_segment[k];
    for (int a = 0; a < ENGINE_AGENTS; a++)
        for (int k = 0; k < SEGMENTS; k++) tokens += s.agent[a].tokens[k];
    c->sum.passes = s.passes;
    return (tokens == s.filled_tokens && s.filled_tokens <= s.reserved_tokens &&
            s.reserved_tokens <= s.usable_tokens && s.usable_tokens <= s.pool_tokens &&
            s.text_used <= s.text_bytes && s.park_used <= s.park_bytes && (s.running > 0 || s.reserved_tokens == 0)) ||
           wrong(c, "figures: owners %llu, filled %llu, reserved %llu, pool %llu", (unsigned long long)tokens,
                 (unsigned long long)s.filled_tokens, (unsigned long long)s.reserved_tokens,
                 (unsigned long long)s.pool_tokens);
}

static int step(struct crowd *c)
{
    struct engine_event ev[EVENTS];
    struct err err = {0};
    int n = c->plan.ops->step(c->plan.e, ev, EVENTS, &err);
    if (err.text[0]) wrong(c, "step: %s", err.text);
    for (int i = 0; i < n; i++) {
        struct client *q = client_of(c, ev[i].id);
        if (!q) wrong(c, "an event of request %d, which nobody has", ev[i].id);
        else if (ev[i].kind == ENGINE_ADMITTED) was_admitted(c, q);
        else if (ev[i].kind == ENGINE_END) has_ended(c, q, ev[i].end);
    }
    check_figures(c);
    return n;
}

const char *crowd_round(struct crowd *c)
{
    for (int n = below(c, AT_ONCE); n > 0 && !c->wrong[0]; n--) act(c);
    if (!c->wrong[0]) step(c);
    c->sum.rounds++;
    return c->wrong[0] ? c->wrong : NULL;
}

const char *crowd_drain(struct crowd *c)
{
    struct engine_snapshot s;
    while (!c->wrong[0] && step(c) > 0) continue;
    for (int i = 0; i < CROWD_CLIENTS; i++) {
        struct client *q = &c->client[i];
        if (q->id && !q->ended) wrong(c, "request %d never ended", q->id);
        if (q->id) drop(c, q);
    }
    c->plan.ops->snapshot(c->plan.e, &s);
    if (s.reserved_tokens || s.filled_tokens || s.text_used || s.park_used || s.waiting || s.running || s.parked)
        wrong(c, "not given back: %llu tokens reserved, %llu bytes of answers, %llu of parked pages",
              (unsigned long long)s.reserved_tokens, (unsigned long long)s.text_used, (unsigned long long)s.park_used);
    if (c->sum.finished + c->sum.cancelled + c->sum.dropped != c->sum.submitted)
        wrong(c, "%llu requests, %llu ends", (unsigned long long)c->sum.submitted,
              (unsigned long long)(c->sum.finished + c->sum.cancelled + c->sum.dropped));
    return c->wrong[0] ? c->wrong : NULL;
}
