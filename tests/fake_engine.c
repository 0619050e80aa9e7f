/* fake_engine.c - see fake_engine.h. */
#include "tests/fake_engine.h"
#include "tests/check.h"
#include <signal.h>

struct engine fake;
static struct engine_info info;

static const struct engine_info *fake_info(const struct engine *e) { return e == &fake ? &info : NULL; }
static const struct vocab *fake_vocab(const struct engine *e) { return (void)e, NULL; }
static const struct answer *fake_answer(struct engine *e, int id) { return id == 7 ? &e->a : NULL; }

static int fake_count(struct engine *e, const struct msg *msgs, int n, struct engine_count *out, struct err *err)
{
    (void)e, (void)err;
    *out = (struct engine_count){.exact = true};
    for (int i = 0; i < n; i++) out->tokens += (int)msgs[i].len + 1;
    return 0;
}

static int fake_count_aside(const struct engine *e, const struct msg *msgs, int n, struct engine_count *out,
                            struct err *err)
{
    return fake_count((struct engine *)(uintptr_t)e, msgs, n, out, err);
}

static int fake_submit(struct engine *e, const struct request *r, int *id, struct err *err)
{
    struct engine_count count;
    CHECK(!e->open);
    if (e->refuse) return e->refuse(err);
    fake_count(e, r->msgs, r->n_msgs, &count, err);
    if (count.tokens + r->max_tokens > e->ctx)
        return err_set(err, ENGINE_NEVER_FITS, "%d + %d tokens, context %d", count.tokens, r->max_tokens, e->ctx);
    e->asked = *r;
    e->open = true;
    e->steps = 0;
    e->cancelled = false;
    e->a = (struct answer){.id = 7, .n_prompt = count.tokens, .max_tokens = r->max_tokens, .text = e->text,
                           .token = e->token};
    buf_free(&e->heard);
    for (int i = 0; i < r->n_msgs; i++)
        buf_printf(&e->heard, "%s:%.*s|", role_name(r->msgs[i].role), (int)r->msgs[i].len, r->msgs[i].text);
    const char *last = e->heard.data ? strrchr(e->heard.data, '|') : NULL;
    e->asides += last && strstr(e->heard.data, "|user:Write the summary record") != NULL;
    if (e->reply) e->says = e->reply(e->heard.data);
    *id = 7;
    return 0;
}

static int fake_cancel(struct engine *e, int id)
{
    CHECK_EQ(id, 7);
    e->cancelled = true;
    return 0;
}

static void fake_drop(struct engine *e, int id)
{
    CHECK_EQ(id, 7);
    e->open = false;
    e->dropped++;
}

static int end_with(struct engine *e, struct engine_event *ev, enum engine_end end)
{
    e->a.end = (int)end;
    ev[0] = (struct engine_event){.kind = ENGINE_END, .id = 7, .n = e->a.n_tokens, .end = end};
    return 1;
}

static int fake_step(struct engine *e, struct engine_event *ev, int cap, struct err *err)
{
    CHECK(cap >= 1 && e->open);
    size_t n = (size_t)e->a.n_tokens, len = strlen(e->says);
    e->steps++;
    if (e->steps == e->interrupt_at) raise(SIGINT);
    if (e->cancelled) return end_with(e, ev, END_CANCELLED);
    if (e->steps == e->fault_at) {
        e->a.end = END_FAULT;
        snprintf(e->a.fault, sizeof e->a.fault, "device lost");
        return err_set(err, ENGINE_FAULT, "device lost");
    }
    const int last = e->amid ? 2 * (e->amid + 1) : 1;
    if (e->steps <= last) {
        const int done = e->steps == last ? e->a.n_prompt : e->steps / (e->amid + 1) * (e->a.n_prompt / 2);
        ev[0] = (struct engine_event){.kind = ENGINE_PREFILL, .id = 7, .n = done, .of = e->a.n_prompt};
        return 1;
    }
    if (e->mute) return 0;
    if (e->no_token) return end_with(e, ev, END_NO_TOKEN);
    if (n == len && !e->endless) return end_with(e, ev, END_STOP);
    if ((int)n == e->a.max_tokens) return end_with(e, ev, END_LENGTH);
    e->text[n] = e->says[n % len];
    e->a.text_len = n + 1;
    e->a.n_tokens = (int)n + 1;
    ev[0] = (struct engine_event){.kind = ENGINE_ADVANCED, .id = 7, .n = (int)n + 1};
    return 1;
}

static void fake_snapshot(const struct engine *e, struct engine_snapshot *out)
{
    *out = (struct engine_snapshot){.pool_tokens = (uint64_t)e->ctx, .running = e->open};
}

static void fake_memory(const struct engine *e, struct engine_memory *out)
{
    (void)e;
    *out = (struct engine_memory){0};
}

static void fake_waits(struct engine *e, int id, struct engine_wait *out)
{
    (void)e, (void)id;
    *out = (struct engine_wait){.what = WAIT_NOTHING};
}

const struct engine_ops fake_ops = {
    .name = "fake", .info = fake_info, .vocab = fake_vocab, .count_tokens = fake_count,
    .count_aside = fake_count_aside, .submit = fake_submit,
    .answer = fake_answer, .cancel = fake_cancel, .drop = fake_drop, .step = fake_step, .snapshot = fake_snapshot,
    .memory = fake_memory, .waits = fake_waits,
};


const struct engine_info *fake_begin(const char *says, int ctx)
{
    buf_free(&fake.heard);
    memset(&fake, 0, sizeof fake);
    fake.says = says;
    fake.ctx = ctx;
    info = (struct engine_info){.maker = "fake", .name = "fake model", .template = "chatml", .ctx = ctx};
    return &info;
}
