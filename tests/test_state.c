/* Events folded into figures: what was said is there, and parts are the whole. */
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
    .gpu_load = -1, .gpu_celsius = -1, .gpu_watts = -1, .resident_bytes = 70 * MIB, .drafted = 60, .drafts_right = 41};

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
    CHECK_EQ(g->machine.resident, 70 * MIB);
    CHECK_EQ(g->speed.streams, 2);
    CHECK_EQ(g->speed.queue, 1);
    CHECK(strcmp(g->speed.queue_first, "writer") == 0);
    CHECK_EQ(g->speed.queue_pages, 96);
    CHECK_EQ(g->speed.tokens_in, 1500);
    CHECK_EQ(g->speed.tokens_out, 100);
    CHECK_EQ(g->speed.reused, 500);
    CHECK_EQ(g->speed.drafted, 41);
    closed(t);
}

/* What was promised may lie in pages that are cached still: each page is counted once. */
TEST(no_page_is_counted_twice)
{
    struct stream *t = opened();
    const struct gauge_kv *kv = &t->state.gauges.kv;
    struct event_memory m = {.pool_tokens = 1600, .filled_tokens = 800, .cached_tokens = 640, .reserved_tokens = 1600,
                             .kv_bytes = 1600 * 6 * KIB};
    put_memory(t, m, machine);
    CHECK_EQ(kv->own, 50);
    CHECK_EQ(kv->reserved, 50); /* as it was promised */
    CHECK_EQ(kv->cached, 0);
    CHECK_EQ(kv->both, 40);
    CHECK_EQ(kv->free, 0);
    CHECK_EQ(t->state.gauges.device.kv_filled, 90 * 16 * 6 * KIB); /* they hold something all the same */
    m.reserved_tokens = 960;
    put_memory(t, m, machine);
    CHECK_EQ(kv->reserved, 10);
    CHECK_EQ(kv->cached, 40);
    CHECK_EQ(kv->both, 0);
    m.reserved_tokens = 1120;
    put_memory(t, m, machine);
    CHECK_EQ(kv->reserved, 20);
    CHECK_EQ(kv->cached, 30);
    CHECK_EQ(kv->both, 10);
    m.cached_tokens = 10000; /* a stream that is wrong */
    put_memory(t, m, machine);
    CHECK_EQ(kv->own, 50);
    CHECK_EQ(kv->reserved, 20);
    CHECK_EQ(kv->cached, 30);
    CHECK_EQ(kv->both, 20);
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
    PUT(t, "", EV_TURN_START, turn_start, .turn = 2, .call = 1, .prompt_tokens = 640, .max_tokens = 100);
    PUT(t, "", EV_TURN_END, turn_end, .turn = 2, .call = 1, .end = S("cancelled"), .prompt_tokens = 640);
    CHECK(g->speed.first_token == 0.25 && a->first_token == 0.25); /* it had none, and no quicker one */
    closed(t);
}

/* A stream whose one sample is of its start, as short ones were. */
TEST(turns_are_counted_behind_the_last_sample)
{
    struct stream *t = opened();
    const struct gauge_speed *p = &t->state.gauges.speed;
    struct event_machine m = {.backend = S("cpu"), .page_tokens = 16, .token_bytes = 6 << 10};
    put_memory(t, (struct event_memory){.pool_tokens = 4096}, m);
    PUT(t, "", EV_TURN_START, turn_start, .turn = 1, .call = 1, .prompt_tokens = 119, .shared_tokens = 32);
    PUT(t, "", EV_TURN_END, turn_end, .turn = 1, .call = 1, .end = S("stop"), .prompt_tokens = 119, .tokens = 47);
    CHECK_EQ(p->tokens_in, 119);
    CHECK_EQ(p->tokens_out, 47);
    CHECK_EQ(p->reused, 32);
    m.prefilled = 87, m.reused = 32, m.generated = 49; /* the end tokens, too */
    put_memory(t, (struct event_memory){.pool_tokens = 4096}, m);
    CHECK_EQ(p->tokens_in, 119);
    CHECK_EQ(p->tokens_out, 49);
    CHECK_EQ(p->reused, 32);
    closed(t);
}

/* ------------------------------------------------------------------ agents */

static void put_carries(struct stream *t, const char *name, int64_t turn, int64_t history, int64_t high)
{
    PUT(t, name, EV_CARRIES, carries, .turn = turn, .ctx = 2048, .system_tokens = 200, .pinned_tokens = 20,
        .summary_tokens = 80, .history_tokens = history, .tool_tokens = 100, .reserve_tokens = 300,
        .high_tokens = high, .frees_tokens = 420, .answer_tokens = 256, .rounds = 8);
}

static void put_holding(struct stream *t, const char *name, int64_t running, int64_t waiting, int64_t parked,
                        int64_t tokens)
{
    PUT(t, name, EV_HOLDING, holding, .owner = S(name), .running = running, .waiting = waiting, .parked = parked,
        .system_tokens = tokens / 2, .shared_tokens = tokens - tokens / 2);
}

TEST(a_turn_of_an_agent)
{
    struct stream *t = opened();
    state_name(&t->state, "planner");
    put_carries(t, "planner", 0, 300, 1600);
    const struct state_agent *a = agent(t, "planner");
    CHECK_EQ(t->state.agents, 1);
    CHECK_EQ(a->gauge.state, AGENT_IDLE);
    CHECK_EQ(a->carried, 700);
    CHECK_EQ(a->ctx, 2048);
    CHECK_EQ(a->answer_max, 256);
    CHECK_EQ(a->rounds, 8);
    CHECK_EQ(a->gauge.part[CONTEXT_FREE], 2048 - 700 - 300);

    PUT(t, "planner", EV_TURN_USER, turn_user, .turn = 1, .text = S("go"));
    put_memory(t, memory, machine);
    put_holding(t, "planner", 0, 1, 0, 0);
    CHECK_EQ(a->gauge.state, AGENT_QUEUED);
    PUT(t, "planner", EV_TURN_START, turn_start, .turn = 1, .call = 1, .prompt_tokens = 700, .max_tokens = 256);
    PUT(t, "planner", EV_PREFILL, prefill, .turn = 1, .done = 512, .of = 700);
    CHECK_STR(a->gauge.doing, "reads 512 of 700");
    for (int i = 0; i <= 10; i++, t->now += 0.1) { /* 40 tokens a second */
        put_memory(t, memory, machine);
        put_holding(t, "planner", 1, 0, 0, 700 + 20 + 4 * i);
    }
    CHECK_EQ(a->gauge.state, AGENT_RUNS);
    CHECK_NEAR(a->rate, 40, 0.01);
    CHECK_STR(a->gauge.doing, "40 t/s");
    CHECK_EQ(a->gauge.part[CONTEXT_ANSWER], 60);
    CHECK_EQ(a->gauge.part[CONTEXT_RESERVED], 240);
    CHECK_EQ(a->shared, 380);

    PUT(t, "planner", EV_TURN_END, turn_end, .turn = 1, .call = 1, .end = S("stop"), .prompt_tokens = 700, .tokens = 66,
        .first_token_s = 0.1, .decode_rate = 41);
    CHECK_EQ(a->gauge.part[CONTEXT_ANSWER], 0);
    PUT(t, "planner", EV_CALL, call, .turn = 1, .name = S("search"));
    CHECK_EQ(a->gauge.state, AGENT_TOOL);
    CHECK_STR(a->gauge.doing, "search");
    PUT(t, "planner", EV_TOOL, tool, .turn = 1, .by = S("model"), .name = S("search"), .tokens = 40);
    CHECK_EQ(a->gauge.state, AGENT_RUNS);
    PUT(t, "planner", EV_TURN_START, turn_start, .turn = 1, .call = 2, .prompt_tokens = 810, .max_tokens = 256);
    PUT(t, "planner", EV_TURN_END, turn_end, .turn = 1, .call = 2, .end = S("stop"), .prompt_tokens = 810, .tokens = 10,
        .first_token_s = NAN, .decode_rate = NAN);
    CHECK_EQ(a->gauge.state, AGENT_IDLE);
    CHECK(a->gauge.doing == NULL);
    CHECK_EQ(a->turns, 1);
    CHECK_EQ(a->calls, 1);
    CHECK_EQ(a->tokens_in, 1510);
    CHECK_EQ(a->tokens_out, 76);
    CHECK_NEAR(a->rate, 41, 0);
    CHECK_NEAR(a->first_token, 0.1, 0);
    CHECK_EQ(t->state.turn, 1);
    closed(t);
}

TEST(an_agent_that_fails_is_parked_or_stops)
{
    struct stream *t = opened();
    put_carries(t, "a", 0, 300, 1600);
    const struct state_agent *a = agent(t, "a");
    PUT(t, "a", EV_TURN_START, turn_start, .turn = 1, .call = 1, .prompt_tokens = 700);
    PUT(t, "a", EV_TURN_END, turn_end, .turn = 1, .call = 1, .end = S("out_of_memory"), .prompt_tokens = 700);
    CHECK(a->failed && a->gauge.state == AGENT_FAILED);
    PUT(t, "a", EV_TURN_START, turn_start, .turn = 2, .call = 1, .prompt_tokens = 700);
    CHECK(!a->failed && a->gauge.state == AGENT_RUNS);
    put_memory(t, memory, machine);
    put_holding(t, "a", 0, 0, 1, 0);
    CHECK_EQ(a->gauge.state, AGENT_PARKED);
    CHECK_EQ(t->state.timeline.mark[t->state.timeline.marks - 1].kind, EV_HOLDING);
    put_memory(t, memory, machine);
    put_holding(t, "a", 1, 0, 0, 710);
    CHECK_EQ(a->gauge.state, AGENT_RUNS);
    CHECK(strstr(t->state.timeline.mark[t->state.timeline.marks - 1].text, "no longer parked"));
    put_memory(t, memory, machine); /* it holds nothing now, and nobody said that its turn ended */
    CHECK_EQ(a->running, 0);
    CHECK_EQ(a->gauge.state, AGENT_RUNS);
    put_memory(t, memory, machine);
    CHECK_EQ(a->gauge.state, AGENT_IDLE);
    PUT(t, "a", EV_PARKED, parked, .turn = 2, .change = S("parked"), .tokens = 64); /* by /park: until it is asked */
    put_memory(t, memory, machine);
    put_memory(t, memory, machine);
    CHECK_EQ(a->gauge.state, AGENT_PARKED);
    PUT(t, "a", EV_TURN_START, turn_start, .turn = 3, .call = 1, .prompt_tokens = 700);
    PUT(t, "a", EV_TURN_END, turn_end, .turn = 3, .call = 1, .end = S("stop"), .prompt_tokens = 700);
    CHECK_EQ(a->gauge.state, AGENT_IDLE);
    PUT(t, "a", EV_REFUSAL, refusal, .turn = 3, .text = S("too much"));
    CHECK_EQ(a->gauge.state, AGENT_FAILED);
    CHECK_STR(a->end, "refused");
    PUT(t, "a", EV_CALL, call, .turn = 3, .name = S("search"));
    PUT(t, "a", EV_STOPPED, stopped, .turn = 3, .reason = S("rounds"));
    CHECK_EQ(a->gauge.state, AGENT_IDLE);
    closed(t);
}

/* Of a map: figures are of all copies, its context that of one. */
TEST(copies_are_one_agent)
{
    struct stream *t = opened();
    put_carries(t, "reader", 0, 300, 0);
    const struct state_agent *a = agent(t, "reader");
    for (int i = 1; i <= 3; i++) {
        char name[STATE_NAME];
        snprintf(name, sizeof name, "reader/%d", i);
        PUT(t, name, EV_TURN_START, turn_start, .turn = 1, .call = 1, .prompt_tokens = 500);
    }
    put_memory(t, memory, machine);
    put_holding(t, "reader", 3, 0, 0, 1500 + 90);
    CHECK_EQ(t->state.agents, 1);
    CHECK_EQ(a->running, 3);
    CHECK_EQ(a->gauge.part[CONTEXT_ANSWER], 30);
    PUT(t, "reader/2", EV_TURN_END, turn_end, .turn = 1, .call = 1, .end = S("stop"), .prompt_tokens = 500,
        .tokens = 30);
    CHECK_EQ(a->gauge.state, AGENT_RUNS);
    put_memory(t, memory, machine);
    put_holding(t, "reader", 2, 0, 0, 1000 + 80);
    CHECK_EQ(a->gauge.part[CONTEXT_ANSWER], 40);
    for (int i = 1; i <= 3; i += 2)
        PUT(t, i == 1 ? "reader/1" : "reader/3", EV_TURN_END, turn_end, .turn = 1, .call = 1, .end = S("stop"),
            .prompt_tokens = 500, .tokens = 50);
    CHECK_EQ(a->gauge.state, AGENT_IDLE);
    CHECK_EQ(a->turns, 3);
    CHECK_EQ(a->tokens_out, 130);
    closed(t);
}

TEST(names_are_cut_between_characters)
{
    struct stream *t = opened();
    const char *name[] = {
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa9tail", /* 38 bytes, then one of two */
        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\xe6\x97\xa5tail",
        "cccccccccccccccccccccccccccccccccccc\xf0\x9f\x98\x80tail",
        "ddddddddddddddddddddddddddddddddddddddddddddddddddddd",
    };
    const int kept[] = {38, 37, 36, 39};
    for (int i = 0; i < 4; i++) {
        PUT(t, name[i], EV_TEXT, text, .turn = 1, .text = S("x"));
        PUT(t, name[i], EV_TEXT, text, .turn = 1, .text = S("x"));
        CHECK_EQ(t->state.agents, i + 1);
        CHECK_EQ(strlen(t->state.agent[i].name), kept[i]);
        CHECK_EQ(state_agent(&t->state, name[i], strlen(name[i])), i);
    }
    for (int i = 0; i < 2 * STATE_AGENTS; i++) {
        char other[STATE_NAME];
        snprintf(other, sizeof other, "agent %d", i);
        PUT(t, other, EV_TEXT, text, .turn = 1, .text = S("x"));
    }
    CHECK_EQ(t->state.agents, STATE_AGENTS);
    CHECK_EQ(state_agent(&t->state, "nobody", 6), -1);
    PUT(t, "", EV_TEXT, text, .turn = 1); /* where others have names, nobody */
    CHECK_EQ(state_agent(&t->state, "", 0), -1);
    closed(t);
}

TEST(the_session_itself)
{
    struct stream *t = opened();
    struct state *s = &t->state;
    PUT(t, "", EV_SESSION_OPEN, session_open, .version = S("1"), .model = S("tiny"), .ctx = 2048, .seed = 7,
        .backend = S("CPU"), .parameters = -3);
    CHECK(s->opened.there && s->opened.ctx == 2048 && s->opened.parameters == 0);
    CHECK_STR(s->opened.model, "tiny");
    PUT(t, "", EV_RESUMED, resumed, .session = S("4f2"), .title = S("ships"), .turns = 3, .tokens = 10);
    CHECK_STR(s->session, "4f2");
    CHECK_STR(s->title, "ships");
    CHECK_EQ(s->saved_turn, 3);
    PUT(t, "", EV_TURN_USER, turn_user, .turn = 4);
    PUT(t, "", EV_SAVED, saved, .turn = 4);
    CHECK_EQ(s->turn, 4);
    CHECK_EQ(s->saved_turn, 4);
    PUT(t, "", EV_UNDONE, undone, .turn = 4);
    CHECK_EQ(s->turn, 3);
    CHECK_EQ(s->saved_turn, 3);
    PUT(t, "", EV_RESUMED, resumed, .session = S("5f3"), .title = S("masts"), .turns = 1, .tokens = 10);
    CHECK_EQ(s->turn, 1); /* another session, and all of it is saved */
    CHECK_EQ(s->saved_turn, 1);
    CHECK(!s->over);
    PUT(t, "", EV_SESSION_CLOSE, session_close, .turns = 4, .termination_reason = S("completed"));
    CHECK(s->over);
    closed(t);
}

/* Turns are counted in each session by itself. */
TEST(saved_is_what_each_agent_has_saved)
{
    struct stream *t = opened();
    CHECK(state_saved(&t->state));
    for (int turn = 1; turn <= 3; turn++) {
        PUT(t, "ann", EV_TURN_USER, turn_user, .turn = turn);
        CHECK(!state_saved(&t->state));
        PUT(t, "ann", EV_SAVED, saved, .turn = turn);
        CHECK(state_saved(&t->state));
    }
    PUT(t, "bob", EV_TURN_USER, turn_user, .turn = 1);
    CHECK(!state_saved(&t->state)); /* ann's third is no help */
    PUT(t, "bob", EV_SAVED, saved, .turn = 1);
    CHECK(state_saved(&t->state));
    PUT(t, "bob/7", EV_TURN_USER, turn_user, .turn = 1); /* a copy, in a session of its own */
    CHECK(!state_saved(&t->state));
    PUT(t, "bob/7", EV_SAVED, saved, .turn = 1);
    CHECK(state_saved(&t->state));
    PUT(t, "ann", EV_TURN_USER, turn_user, .turn = 4);
    PUT(t, "ann", EV_UNDONE, undone, .turn = 4);
    CHECK(state_saved(&t->state));
    PUT(t, "ann", EV_TURN_USER, turn_user, .turn = 4);
    PUT(t, "ann", EV_RESUMED, resumed, .session = S("5f3"), .title = S("masts"), .turns = 1, .tokens = 10);
    CHECK(state_saved(&t->state));
    closed(t);
}

/* ------------------------------------------------------------------ forecast, marks */

TEST(forecast_in_words)
{
    struct stream *t = opened();
    char words[200];
    put_carries(t, "researcher", 0, 300, 1600); /* 700 carried, 900 left */
    state_forecast(&t->state, 0, words);
    CHECK_STR(words, "");
    put_carries(t, "researcher", 1, 500, 1600);
    put_carries(t, "researcher", 1, 550, 1600); /* within the turn */
    state_forecast(&t->state, 0, words);
    CHECK_STR(words, "");
    put_carries(t, "researcher", 2, 700, 1600); /* 1,100; +200 a turn: over 1,600 after three more */
    state_forecast(&t->state, 0, words);
    CHECK_STR(words, "researcher fills its context in about 3 turns; the oldest are summed up then, "
                     "which frees 420 tokens and costs about 460 of pre-fill"); /* 1,100 less 420 and the front's 220 */
    put_carries(t, "researcher", 3, 1300, 1600);
    state_forecast(&t->state, 0, words);
    CHECK(strstr(words, "at its next turn"));
    put_carries(t, "researcher", 4, 1400, 0); /* nothing is summed up: prompt and answer together fill it */
    state_forecast(&t->state, 0, words);
    CHECK_STR(words, "researcher fills its context at its next turn; then its turn is refused");
    state_forecast(&t->state, -1, words);
    CHECK_STR(words, "");
    state_forecast(&t->state, 1, words);
    CHECK_STR(words, "");
    closed(t);
}

/* No summary can be made where the mark is all that a prompt may have: ctx less the reserve. */
TEST(forecast_knows_who_cannot_sum_up)
{
    struct stream *t = opened();
    char words[200];
    for (int64_t turn = 1; turn <= 2; turn++)
        PUT(t, "a", EV_CARRIES, carries, .turn = turn, .ctx = 768, .system_tokens = 100, .history_tokens = 100 * turn,
            .reserve_tokens = 128, .high_tokens = 640, .answer_tokens = 128);
    state_forecast(&t->state, 0, words);
    CHECK_STR(words, "a fills its context in about 4 turns; the oldest leave it then, without a summary");
    PUT(t, "a", EV_CARRIES, carries, .turn = 3, .ctx = 768, .system_tokens = 100, .history_tokens = 300,
        .reserve_tokens = 128, .high_tokens = 768, .answer_tokens = 128); /* --unguarded window */
    state_forecast(&t->state, 0, words);
    CHECK_STR(words, "a fills its context in about 4 turns; then its turn is refused");
    closed(t);
}

/* Each turn is a question of 74 tokens, told amid it, and an answer of 7. */
TEST(forecast_counts_questions_and_answers)
{
    struct stream *t = opened();
    for (int64_t turn = 1; turn <= 3; turn++) {
        put_carries(t, "a", turn - 1, 81 * turn - 7, 1600);
        put_carries(t, "a", turn, 81 * turn, 1600);
        CHECK_EQ(forecast_turn(&t->state.agent[0].growth), /* carried: 400 and what was said */
                 turn < 2 ? FORECAST_UNKNOWN : (1600 - 400 - 81 * turn) / 81 + 2);
    }
    closed(t);
}

static const char *last_mark(const struct stream *t)
{
    CHECK(t->state.timeline.marks > 0);
    return t->state.timeline.mark[t->state.timeline.marks - 1].text;
}

TEST(marks_say_what_happened)
{
    struct stream *t = opened();
    t->now = 2.5;
    PUT(t, "a", EV_TURN_START, turn_start, .turn = 3, .call = 1, .prompt_tokens = 1612, .shared_tokens = 512,
        .max_tokens = 128);
    CHECK_STR(last_mark(t), "turn 3 began: 1,612 tokens of prompt (512 known), up to 128 more");
    CHECK_EQ(t->state.timeline.mark[0].agent, 0);
    CHECK(t->state.timeline.mark[0].time == 2.5f);
    PUT(t, "a", EV_TURN_END, turn_end, .turn = 3, .call = 1, .end = S("stop"), .tokens = 87, .decode_rate = 31);
    CHECK_STR(last_mark(t), "turn 3 ended (stop): 87 tokens, 31 t/s");
    PUT(t, "a", EV_TOOL, tool, .turn = 3, .by = S("model"), .name = S("search"), .bytes = 41388, .tokens = 318,
        .artifact = S("a7"));
    CHECK_STR(last_mark(t), "search gave 318 tokens of 41,388 bytes, the whole is a7");
    PUT(t, "a", EV_SUMMARY, summary, .by = S("extract"), .what = S("m2-m41"), .tokens = 140);
    CHECK_STR(last_mark(t), "m2-m41 summed up in 140 tokens by lines out of them");
    PUT(t, "a", EV_CONTEXT, context, .change = S("left"), .what = S("m2-m5"), .tokens = 420);
    CHECK_STR(last_mark(t), "m2-m5 left the context without a summary: 420 tokens");
    PUT(t, "a", EV_CONTEXT, context, .change = S("something new"), .what = S("m2"));
    CHECK_STR(last_mark(t), "something new m2");
    PUT(t, "", EV_FLOW, flow, .flow = S("debate"), .change = S("asked"), .ask = 2, .to = S("judge"));
    CHECK_STR(last_mark(t), "debate: judge is asked");
    int marks = t->state.timeline.marks;
    PUT(t, "a", EV_TEXT, text, .turn = 3, .text = S("x"));
    PUT(t, "a", EV_PREFILL, prefill, .turn = 3, .done = 1, .of = 2);
    PUT(t, "b", EV_CONTEXT, context, .turn = 0, .change = S("front_changed"), .tokens = 30); /* as it begins */
    put_memory(t, memory, machine);
    CHECK_EQ(t->state.timeline.marks, marks);
    PUT(t, "b", EV_CONTEXT, context, .turn = 2, .change = S("front_changed"), .tokens = 30);
    CHECK_STR(last_mark(t), "the front changed and is read again: 30 tokens");
    CHECK_EQ(t->state.timeline.mark[marks].agent, 1);
    closed(t);
}

CHECK_MAIN
