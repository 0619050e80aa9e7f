/* Whole streams folded: whatever is in them, parts add up to the whole they are of; and a session that was. */
#include "app/tui/state.h"
#include "tests/check.h"

#include <math.h>

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

static struct state *opened(void)
{
    struct state *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    state_open(s);
    return s;
}

static void closed(struct state *s)
{
    state_close(s);
    free(s);
}

static const struct state_agent *agent(const struct state *s, const char *name)
{
    int i = state_agent(s, name, strlen(name));
    CHECK(i >= 0);
    return &s->agent[i];
}

/* ------------------------------------------------------------------ whatever comes */

static bool is_text(const char *s, size_t n) { return memchr(s, '\0', n) != NULL; }

/* What holds of every state: parts are the whole they are of, texts end, pointers are its own. */
static void check_state(const struct state *s)
{
    const struct gauges *g = &s->gauges;
    int64_t pool = MAX(s->memory.pool_tokens, 0);
    if (s->sampled >= 0) CHECK_EQ(pages(&g->kv), MIN(pool, INT64_C(1) << 56) / s->page_tokens);
    if (!g->device.unknown && strcmp(g->device.label, "budget") == 0)
        CHECK_EQ(ours(&g->device) + g->device.free,
                 MAX(ours(&g->device), MIN((uint64_t)s->memory.ceiling_bytes, UINT64_C(1) << 56)));
    if (!g->device.unknown && strcmp(g->device.label, "VRAM") == 0)
        CHECK_EQ((int64_t)(ours(&g->device) + g->device.context + g->device.free) + g->device.outside,
                 MIN(s->machine.total_bytes, INT64_C(1) << 56));
    CHECK(g->speed.streams >= 0 && g->speed.queue >= 0 && g->speed.past <= STATE_PAST);
    CHECK(s->agents >= 0 && s->agents <= STATE_AGENTS);
    for (int i = 0; i < s->agents; i++) {
        const struct state_agent *a = &s->agent[i];
        CHECK_EQ(sum(a->gauge.part, CONTEXT_PARTS), a->ctx);
        CHECK(is_text(a->name, sizeof a->name) && is_text(a->doing, sizeof a->doing) && is_text(a->end, sizeof a->end));
        CHECK(a->gauge.doing == NULL || a->gauge.doing == a->doing);
        CHECK(a->carried >= 0 && a->tokens_in >= 0 && a->tokens_out >= 0 && a->running >= 0);
        CHECK(a->gauge.state < AGENT_STATES);
        char words[200];
        state_forecast(s, i, words);
        CHECK(is_text(words, sizeof words));
    }
    for (int i = 0; i < s->timeline.marks; i++)
        CHECK(s->timeline.mark[i].agent < s->agents && is_text(s->timeline.mark[i].text, TIMELINE_TEXT));
}

static uint64_t drawn(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static int64_t any_number(uint64_t *seed)
{
    static const int64_t edge[] = {INT64_MIN, INT64_MAX, -1, 0, 1, INT32_MAX, INT64_MAX - 1};
    switch (drawn(seed) % 8) {
    case 0: return edge[drawn(seed) % COUNT_OF(edge)];
    case 1: return (int64_t)drawn(seed);
    default: return (int64_t)(drawn(seed) % 4096);
    }
}

static double any_real(uint64_t *seed)
{
    static const double edge[] = {NAN, INFINITY, -INFINITY, -1, 0, 1e308};
    return drawn(seed) % 4 ? (double)(drawn(seed) % 10000) / 100 : edge[drawn(seed) % COUNT_OF(edge)];
}

static struct event_str any_text(uint64_t *seed)
{
    static const char *const text[] = {
        "", "planner", "critic", "critic/1", "/", "//", "cpu", "cuda", "model", "stop", "fault", "out_of_memory",
        "left",
        "\xff\xfe\x80", "a name that is so long that no field of the state could ever have room for all of it \xc3\xa9",
        "\x1b[31m\xe2\x80\xae\xf0\x9f\x98\x80",
    };
    if (drawn(seed) % 16 == 0) return (struct event_str){"a\0b", 3};
    if (drawn(seed) % 16 == 0) return (struct event_str){0};
    return event_str(text[drawn(seed) % COUNT_OF(text)]);
}

static struct event any_event(uint64_t *seed, double time)
{
    struct event e = {.kind = (enum event_kind)(drawn(seed) % EVENT_KINDS), .agent = any_text(seed)};
    const struct event_info *info = event_info(e.kind);
    for (size_t i = 0; i < info->n_fields; i++) {
        void *p = (char *)&e + info->fields[i].at;
        switch (info->fields[i].type) {
        case EVENT_INT: *(int64_t *)p = any_number(seed); break;
        case EVENT_REAL: *(double *)p = any_real(seed); break;
        case EVENT_STR: *(struct event_str *)p = any_text(seed); break;
        case EVENT_BOOL: *(bool *)p = drawn(seed) % 2; break;
        }
    }
    e.time = drawn(seed) % 32 ? time : any_real(seed);
    return e;
}

TEST(any_stream_leaves_figures_that_add_up)
{
    for (uint64_t round = 1; round <= (CHECK_SANITIZED ? 20 : 100); round++) {
        struct state *s = opened();
        uint64_t seed = round * 0x9e3779b97f4a7c15u;
        for (int i = 0; i < 2000; i++) {
            struct event e = any_event(&seed, i * 0.05);
            state_event(s, &e);
            if (i % 16 == 0) check_state(s);
        }
        closed(s);
    }
}

/* ------------------------------------------------------------------ a session that was */

/* A debate of the embedded model, two inputs, as --trace wrote it, without texts and tokens. */
TEST(a_recorded_debate)
{
    struct state *s = opened();
    FILE *f = fopen("tests/fixtures/streams/debate.jsonl", "r");
    char *line = NULL;
    size_t cap = 0;
    int events = 0;
    CHECK(f != NULL);
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0; events++) {
        struct event e;
        struct err err = {0};
        CHECK_EQ(event_read(line, (size_t)n - 1, &e, &err), 0);
        state_event(s, &e);
        event_free(&e);
        check_state(s);
    }
    fclose(f);
    free(line);
    CHECK_EQ(events, 66);
    CHECK_STR(s->opened.model, "plimsoll-tiny");
    CHECK_EQ(s->agents, 3);
    const struct state_agent *first = agent(s, "first"), *judge = agent(s, "judge");
    CHECK_EQ(first->turns, 4);
    CHECK_EQ(first->tokens_in, 45 + 92 + 116 + 402);
    CHECK_EQ(judge->turns, 2);
    CHECK_EQ(judge->tokens_out, 26);
    CHECK_EQ(judge->carried, 238 + 13);
    CHECK_EQ(s->gauges.speed.tokens_out, 571);
    CHECK_EQ(first->gauge.state, AGENT_IDLE);
    CHECK(s->over);
    closed(s);
}

CHECK_MAIN
