/* many_engine.h - an engine of the tests' own for several agents: as many requests at once as it has seats, in the
 * order in which they came; a byte a token, one a pass; what it answers is made of what it hears.  Header only, like
 * session_rig.h: it is a `struct engine` of its own, beside that of fake_engine.h. */
#ifndef MANY_ENGINE_H
#define MANY_ENGINE_H
#include "engine/engine.h"
#include "tests/check.h"
#include <signal.h>

enum { MANY_REQUESTS = 80, MANY_TEXT = 4096 };

struct many_request {
    int id;                 /* 0: none */
    bool cancelled, told;   /* its end was */
    struct buf heard;       /* "role:text|" each */
    struct request asked;   /* its figures; pointers are not to be followed later */
    struct answer a;
    char text[MANY_TEXT];
    struct engine_token token[MANY_TEXT];
    char says[MANY_TEXT];
};

struct engine {
    struct engine_info info;
    int seats, room;        /* requests that run at once; that may be there at once, until they are dropped */
    bool room_is_memory;    /* beyond that: ENGINE_NO_MEMORY, else ENGINE_QUEUE_FULL */
    void (*reply)(const char *heard, char *out); /* the answer; "" with `endless`: it never ends by itself */
    bool endless;
    int fault_at, faults;   /* the pass that fails, and how many after it; 0: none */
    int interrupt_at;       /* the pass in which Ctrl-C comes */

    int passes, next_id, most, refused; /* most: requests that ran at once */
    struct many_request r[MANY_REQUESTS];
};

__attribute__((unused)) static struct engine many;

static inline struct many_request *many_at(struct engine *e, int id)
{
    for (int i = 0; i < MANY_REQUESTS; i++)
        if (e->r[i].id == id) return &e->r[i];
    return NULL;
}

static inline const struct engine_info *many_info(const struct engine *e) { return &e->info; }
static inline const struct vocab *many_vocab(const struct engine *e) { return (void)e, NULL; }

static inline const struct answer *many_answer(struct engine *e, int id)
{
    struct many_request *r = id > 0 ? many_at(e, id) : NULL;
    return r ? &r->a : NULL;
}

static inline int many_count(struct engine *e, const struct msg *msgs, int n, struct engine_count *out, struct err *err)
{
    (void)e, (void)err;
    *out = (struct engine_count){.exact = true};
    for (int i = 0; i < n; i++) out->tokens += (int)msgs[i].len + 1;
    return 0;
}

static inline int many_count_aside(const struct engine *e, const struct msg *msgs, int n, struct engine_count *out,
                                   struct err *err)
{
    return many_count((struct engine *)(uintptr_t)e, msgs, n, out, err);
}

static inline int many_submit(struct engine *e, const struct request *q, int *id, struct err *err)
{
    struct engine_count count;
    struct many_request *r = NULL;
    int there = 0;
    for (int i = 0; i < MANY_REQUESTS; i++) {
        there += e->r[i].id > 0;
        if (!r && e->r[i].id == 0) r = &e->r[i];
    }
    many_count(e, q->msgs, q->n_msgs, &count, err);
    if (count.tokens + q->max_tokens > e->info.ctx)
        return err_set(err, ENGINE_NEVER_FITS, "%d + %d tokens, context %d", count.tokens, q->max_tokens, e->info.ctx);
    e->refused += there >= e->room;
    if (there >= e->room)
        return err_set(err, e->room_is_memory ? ENGINE_NO_MEMORY : ENGINE_QUEUE_FULL, "%d requests are there", there);
    CHECK(r != NULL);
    struct buf heard = r->heard;
    memset(r, 0, sizeof *r);
    r->heard = heard;
    r->heard.len = 0;
    *id = r->id = ++e->next_id;
    r->asked = *q;
    r->a = (struct answer){.id = r->id, .n_prompt = count.tokens, .max_tokens = MIN(q->max_tokens, MANY_TEXT - 1),
                           .text = r->text, .token = r->token};
    for (int i = 0; i < q->n_msgs; i++)
        buf_printf(&r->heard, "%s:%.*s|", role_name(q->msgs[i].role), (int)q->msgs[i].len, q->msgs[i].text);
    CHECK(!r->heard.failed);
    e->reply(r->heard.data, r->says);
    return 0;
}

static inline int many_cancel(struct engine *e, int id)
{
    struct many_request *r = many_at(e, id);
    CHECK(r != NULL);
    r->cancelled = true;
    return 0;
}

static inline void many_drop(struct engine *e, int id)
{
    struct many_request *r = many_at(e, id);
    CHECK(r != NULL);
    r->id = 0;
}

/* Those that run: the oldest, as many as there are seats. */
static inline int many_running(struct engine *e, struct many_request **out)
{
    int n = 0, last = 0;
    while (n < e->seats) {
        struct many_request *next = NULL;
        for (int i = 0; i < MANY_REQUESTS; i++) {
            struct many_request *r = &e->r[i];
            if (r->id > last && r->a.end == END_NONE && (!next || r->id < next->id)) next = r;
        }
        if (!next) break;
        last = next->id;
        out[n++] = next;
    }
    return n;
}

static inline bool many_go_on(struct engine *e, struct many_request *r)
{
    size_t n = (size_t)r->a.n_tokens, len = strlen(r->says);
    bool ends = n == len && !e->endless;
    if (r->cancelled) r->a.end = END_CANCELLED;
    else if (ends || (int)n == r->a.max_tokens) r->a.end = ends ? END_STOP : END_LENGTH;
    if (r->a.end != END_NONE) return true;
    r->text[n] = len ? r->says[n % len] : 'x';
    r->a.text_len = n + 1;
    r->a.n_tokens = (int)n + 1;
    return false;
}

static inline int many_step(struct engine *e, struct engine_event *ev, int cap, struct err *err)
{
    struct many_request *running[MANY_REQUESTS];
    int n = many_running(e, running);
    CHECK(cap >= n);
    e->passes++;
    e->most = MAX(e->most, n);
    if (e->passes == e->interrupt_at) raise(SIGINT);
    bool fails = e->fault_at && n > 0 && e->passes >= e->fault_at && e->faults > 0;
    e->faults -= fails;
    for (int i = 0; i < n && fails; i++) {
        running[i]->a.end = END_FAULT;
        snprintf(running[i]->a.fault, sizeof running[i]->a.fault, "device lost");
    }
    if (fails) return err_set(err, ENGINE_FAULT, "device lost");
    for (int i = 0; i < n; i++) {
        bool ended = many_go_on(e, running[i]);
        ev[i] = (struct engine_event){.kind = ended ? ENGINE_END : ENGINE_ADVANCED, .id = running[i]->id,
                                      .n = running[i]->a.n_tokens, .end = (enum engine_end)running[i]->a.end};
    }
    return n;
}

static inline void many_snapshot(const struct engine *e, struct engine_snapshot *out)
{
    *out = (struct engine_snapshot){.pool_tokens = (uint64_t)e->info.ctx * (uint64_t)e->seats};
}

static inline void many_memory(const struct engine *e, struct engine_memory *out)
{
    (void)e;
    *out = (struct engine_memory){0};
}

static inline void many_waits(struct engine *e, int id, struct engine_wait *out)
{
    (void)e, (void)id;
    *out = (struct engine_wait){.what = WAIT_NOTHING};
}

__attribute__((unused)) static const struct engine_ops many_ops = {
    .name = "many", .info = many_info, .vocab = many_vocab, .count_tokens = many_count,
    .count_aside = many_count_aside, .submit = many_submit,
    .answer = many_answer, .cancel = many_cancel, .drop = many_drop, .step = many_step, .snapshot = many_snapshot,
    .memory = many_memory, .waits = many_waits,
};

static inline void many_end(void)
{
    for (int i = 0; i < MANY_REQUESTS; i++) {
        CHECK_EQ(many.r[i].id, 0); /* every request was dropped */
        buf_free(&many.r[i].heard);
    }
}

/* All as new. */
static inline const struct engine_info *many_begin(void (*reply)(const char *heard, char *out), int ctx, int seats)
{
    memset(&many, 0, sizeof many);
    many.reply = reply;
    many.seats = seats;
    many.room = MANY_REQUESTS;
    many.info = (struct engine_info){.maker = "many", .name = "fake model", .template = "chatml", .ctx = ctx,
                                     .max_seqs = seats};
    return &many.info;
}
#endif
