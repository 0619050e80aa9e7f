/* Events folded into figures: what was said is there, parts are the whole, and nothing that a stream may hold breaks
 * it. */
#include "app/tui/state.h"
#include "tests/check.h"

#include <math.h>

#define S(text) event_str(text)
#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)

/* ------------------------------------------------------------------ a stream by hand */

struct stream {
    struct state state;
    double now;
};

static struct stream *opened(void)
{
    struct stream *t = calloc(1, sizeof *t);
    CHECK(t != NULL);
    state_open(&t->state);
    return t;
}

static void closed(struct stream *t)
{
    state_close(&t->state);
    free(t);
}

static void put(struct stream *t, const char *agent, struct event e)
{
    e.agent = S(agent);
    e.time = t->now;
    state_event(&t->state, &e);
}

#define PUT(t, agent, KIND, member, ...) \
    put(t, agent, (struct event){.kind = KIND, .member = (struct event_##member){__VA_ARGS__}})

static const struct event_memory memory = {
    .pool_tokens = 4096, .reserved_tokens = 1600, .filled_tokens = 1000, .shared_tokens = 160, .cached_tokens = 320,
    .running = 2, .waiting = 1, .text_bytes = 512 * KIB, .weight_bytes = 18 * MIB, .kv_bytes = 24 * MIB,
    .work_bytes = 6 * MIB, .ceiling_bytes = 64 * MIB};
static const struct event_machine machine = {
    .backend = {"cpu", 3}, .page_tokens = 16, .token_bytes = 6 * KIB, .table_bytes = 2 * MIB, .total_bytes = 1000 * MIB,
    .ours_bytes = 50 * MIB, .outside_bytes = 300 * MIB, .free_bytes = 650 * MIB, .parked_bytes = 200 * KIB,
    .prefilled = 1000, .generated = 100, .reused = 500, .queue_first = {"writer", 6}, .queue_pages = 96,
    .gpu_load = -1, .gpu_celsius = -1, .gpu_watts = -1};

static void put_memory(struct stream *t, struct event_memory m, struct event_machine h)
{
    put(t, "", (struct event){.kind = EV_MEMORY, .memory = m});
    put(t, "", (struct event){.kind = EV_MACHINE, .machine = h});
}

static const struct state_agent *agent(const struct stream *t, const char *name)
{
    int i = state_agent(&t->state, name, strlen(name));
    CHECK(i >= 0);
    return &t->state.agent[i];
}

static uint64_t sum(const uint64_t *part, int n)
{
    uint64_t all = 0;
    for (int i = 0; i < n; i++) all += part[i];
    return all;
}

static uint64_t pages(const struct gauge_kv *k) { return k->own + k->shared + k->cached + k->reserved + k->free; }

static uint64_t ours(const struct gauge_device *d)
{
    return d->weights + d->kv_filled + d->kv_unfilled + d->work + d->tables;
}

/* ------------------------------------------------------------------ memory */

TEST(a_budget_within_the_machine)
{
    struct stream *t = opened();
    put_memory(t, memory, machine);
    const struct gauges *g = &t->state.gauges;
    CHECK_EQ(pages(&g->kv), 256);
    CHECK_EQ(g->kv.shared, 10);
    CHECK_EQ(g->kv.cached, 20);
    CHECK(g->kv.own == 52 || g->kv.own == 53); /* 840 tokens are 52.5 pages */
    CHECK(g->kv.reserved == 37 || g->kv.reserved == 38);
    CHECK_EQ(g->kv.own + g->kv.reserved, 90);
    CHECK_EQ(g->kv.parked, 3); /* 200 KiB, 96 a page */
    CHECK(strcmp(g->device.label, "budget") == 0 && !g->device.unknown);
    CHECK_EQ(g->device.kv_filled, 1320 * 6 * KIB);
    CHECK_EQ(g->device.tables, 2 * MIB);
    CHECK_EQ(ours(&g->device) + g->device.free, 64 * MIB);
    CHECK(g->machine.there);
    CHECK_EQ(g->machine.ours + g->machine.outside + g->machine.free, 1000 * MIB);
    CHECK_EQ(g->machine.outside, 300 * MIB);
    CHECK_EQ(g->speed.streams, 2);
    CHECK_EQ(g->speed.queue, 1);
    CHECK(strcmp(g->speed.queue_first, "writer") == 0);
    CHECK_EQ(g->speed.queue_pages, 96);
    CHECK_EQ(g->speed.tokens_in, 1500);
    CHECK_EQ(g->speed.tokens_out, 100);
    CHECK_EQ(g->speed.reused, 500);
    closed(t);
}

TEST(without_a_ceiling_only_ours_is_known)
{
    struct stream *t = opened();
    struct event_memory m = memory;
    struct event_machine h = machine;
    const int64_t none[] = {0, INT64_MAX};
    h.total_bytes = 0;
    for (int i = 0; i < 2; i++) {
        m.ceiling_bytes = none[i];
        put_memory(t, m, h);
        CHECK(t->state.gauges.device.unknown && t->state.gauges.device.free == 0);
        CHECK(!t->state.gauges.machine.there);
        CHECK_EQ(t->state.timeline.ceiling, 0);
    }
    closed(t);
}

TEST(a_device_of_its_own)
{
    struct stream *t = opened();
    struct event_machine h = machine;
    h.backend = S("cuda");
    h.context_bytes = 100 * MIB;
    h.outside_bytes = 200 * MIB;
    put_memory(t, memory, h);
    const struct gauge_device *d = &t->state.gauges.device;
    CHECK(strcmp(d->label, "VRAM") == 0 && !t->state.gauges.machine.there);
    CHECK_EQ(d->outside, 200 * MIB);
    CHECK_EQ(ours(d) + d->context + (uint64_t)d->outside + d->free, 1000 * MIB);
    h.free_bytes = 900 * MIB; /* ours is not all taken yet */
    h.outside_bytes = -50 * MIB;
    put_memory(t, memory, h);
    CHECK_EQ(d->outside, -50 * MIB);
    CHECK_EQ((int64_t)(ours(d) + d->context + d->free) + d->outside, 1000 * MIB);
    h.total_bytes = 0;
    put_memory(t, memory, h);
    CHECK(d->unknown && d->outside == 0);
    closed(t);
}

TEST(rates_are_differences)
{
    struct stream *t = opened();
    const struct gauge_speed *p = &t->state.gauges.speed;
    struct event_machine h = machine;
    t->now = 1;
    put_memory(t, memory, h);
    CHECK(isnan(p->prefill) && isnan(p->decode));
    CHECK_EQ(p->past, 1);
    t->now = 1.5;
    h.prefilled += 600;
    h.generated += 30;
    put_memory(t, memory, h);
    CHECK(fabs(p->prefill - 1200) < 1e-6 && fabs(p->decode - 60) < 1e-6);
    CHECK_EQ(p->past, 2);
    CHECK(fabsf(p->decode_past[1] - 60) < 1e-3f);
    h.generated++;
    t->now = 1.50001; /* at once: no peak of a hundred thousand */
    put_memory(t, memory, h);
    CHECK(fabs(p->decode - 60) < 1e-6);
    CHECK_EQ(p->past, 2);
    for (int i = 0; i < 2 * STATE_PAST; i++) {
        t->now += 0.1;
        h.generated += 2;
        put_memory(t, memory, h);
    }
    CHECK_EQ(p->past, STATE_PAST);
    for (int i = 0; i < STATE_PAST; i++) CHECK(fabsf(p->decode_past[i] - 20) < 0.1f);
    h.generated = 0; /* another engine */
    t->now += 0.1;
    put_memory(t, memory, h);
    CHECK(isnan(p->decode));
    closed(t);
}

TEST(an_older_stream_without_machine_events)
{
    struct stream *t = opened();
    put(t, "", (struct event){.kind = EV_MEMORY, .memory = memory});
    const struct gauges *g = &t->state.gauges;
    CHECK_EQ(pages(&g->kv), 256);
    CHECK_EQ(g->device.tables, 512 * KIB);
    CHECK_EQ(g->device.kv_filled, 24 * MIB * 1320 / 4096);
    CHECK_EQ(ours(&g->device) + g->device.free, 64 * MIB);
    CHECK(!g->machine.there && isnan(g->speed.decode));
    CHECK_EQ(t->state.timeline.samples, 1);
    PUT(t, "", EV_SESSION_OPEN, session_open, .ctx = 2048, .model = S("tiny"));
    PUT(t, "", EV_TURN_START, turn_start, .turn = 1, .call = 1, .prompt_tokens = 600, .shared_tokens = 64,
        .max_tokens = 100);
    const struct state_agent *a = agent(t, "");
    CHECK_EQ(sum(a->gauge.part, CONTEXT_PARTS), 2048);
    CHECK_EQ(a->gauge.part[CONTEXT_HISTORY], 600);
    CHECK_EQ(a->gauge.part[CONTEXT_RESERVED], 100);
    PUT(t, "", EV_TURN_END, turn_end, .turn = 1, .call = 1, .end = S("stop"), .prompt_tokens = 600, .tokens = 30,
        .first_token_s = 0.25, .decode_rate = 31);
    CHECK_EQ(a->carried, 630);
    CHECK_EQ(g->speed.tokens_in, 600);
    CHECK_EQ(g->speed.tokens_out, 30);
    CHECK_EQ(g->speed.reused, 64);
    CHECK(g->speed.first_token == 0.25);
    closed(t);
}

CHECK_MAIN
