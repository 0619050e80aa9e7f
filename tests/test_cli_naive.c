/* The events of a memory policy that fails, in a stream of --json; the pool's size; memory at every pass. */
#include "app/session/event.h"
#include "tests/check.h"
#include "tests/child.h"

static struct child c;

/* What a stream has of each. */
static struct seen {
    int count[EVENT_KINDS];
    struct event_oom oom;       /* the first; its strings are gone */
    struct event_memory memory; /* the last */
    int64_t taken, size;        /* of a policy: most, last */
    bool alone;                 /* a sample of a policy that stood behind no machine event */
    char policy[32], what[32];
} seen;

static void see(const struct event *e, enum event_kind before)
{
    seen.count[e->kind]++;
    if (e->kind == EV_MEMORY) seen.memory = e->memory;
    if (e->kind == EV_NAIVE) {
        seen.alone |= before != EV_MACHINE;
        seen.taken = MAX(seen.taken, e->naive.taken_bytes);
        seen.size = e->naive.size_bytes;
    }
    if (e->kind != EV_OOM || seen.count[EV_OOM] > 1) return;
    seen.oom = e->oom;
    snprintf(seen.policy, sizeof seen.policy, "%.*s", (int)e->oom.policy.len, e->oom.policy.data);
    snprintf(seen.what, sizeof seen.what, "%.*s", (int)e->oom.what.len, e->oom.what.data);
}

static int run(const char *const *flag)
{
    static const char *const base[] = {"stress", "--agents", "4", "--turns", "1", "--ctx", "256", "--seed", "1",
                                       "--backend", "cpu", "--json", "--no-config"};
    const char *all[CHILD_ARGS];
    size_t n = 0;
    for (; n < COUNT_OF(base); n++) all[n] = base[n];
    while (*flag) all[n++] = *flag++;
    all[n] = NULL;
    child_free(&c);
    seen = (struct seen){.alone = false};
    int status = child_run(&c, all, "", 0);
    enum event_kind before = EVENT_KINDS;
    for (const char *at = c.out_text.data; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
        struct event e;
        struct err err = {0};
        if (event_read(at, strcspn(at, "\n"), &e, &err)) CHECK_STR(err.text, "");
        see(&e, before);
        before = e.kind;
        event_free(&e);
    }
    return status;
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

TEST(an_oom_event_has_the_figures_of_the_words)
{
    char words[200];
    CHECK_EQ(RUN("--pool", "512", "--parallel", "4", "--vram", "30M", "--naive", "reserve"), 3);
    CHECK_EQ(seen.count[EV_OOM], 1);
    CHECK_STR(seen.policy, "reserve");
    CHECK_STR(seen.what, "KV pool");
    CHECK_EQ(seen.oom.turn, 1);
    CHECK_EQ(seen.oom.request, 3);
    CHECK_EQ(seen.oom.size_bytes, 2 * seen.oom.wanted_bytes);
    CHECK_EQ(seen.oom.free_bytes, 0);
    CHECK_EQ(seen.oom.owners, 2);
    CHECK_EQ(seen.oom.largest_bytes, seen.oom.wanted_bytes);
    snprintf(words, sizeof words, "request 3 wanted %lld bytes of KV pool; of %lld bytes in the pool 0 are free",
             (long long)seen.oom.wanted_bytes, (long long)seen.oom.size_bytes);
    CHECK(strstr(c.err_text.data, words));
}

TEST(a_policy_that_takes_weights_is_measured_by_the_ceiling)
{
    CHECK_EQ(RUN("--pool", "1024", "--parallel", "4", "--vram", "36M", "--naive", "reload", "--all-samples"), 3);
    CHECK_STR(seen.what, "weights");
    CHECK_EQ(seen.oom.size_bytes, 36 << 20);
    CHECK_EQ(seen.size, 36 << 20);
    CHECK(seen.oom.wanted_bytes > seen.oom.free_bytes);
    CHECK_EQ(seen.taken, seen.oom.size_bytes - seen.oom.free_bytes);
    CHECK(!seen.alone);
}

TEST(without_a_policy_there_are_no_such_events)
{
    CHECK_EQ(RUN("--vram", "36M"), 0);
    CHECK_EQ(seen.count[EV_OOM] + seen.count[EV_NAIVE], 0);
    CHECK_EQ(seen.count[EV_TURN_END], 4);
}

TEST(the_pool_is_as_large_as_was_asked_for)
{
    CHECK_EQ(RUN("--pool", "600", "--vram", "36M"), 0);
    CHECK_EQ(seen.memory.pool_tokens, 608); /* whole pages */
    CHECK_EQ(RUN("--vram", "36M"), 0);
    CHECK_EQ(seen.memory.pool_tokens, 4 * 256);
    CHECK_EQ(RUN("--pool", "600", "--fit", "--vram", "36M"), 2);
    CHECK(strstr(c.err_text.data, "--pool does not go with it"));
    CHECK_EQ(RUN("--pool", "16", "--vram", "36M"), 3); /* no request fits it */
}

TEST(memory_at_every_pass)
{
    CHECK_EQ(RUN("--vram", "36M"), 0);
    int few = seen.count[EV_MEMORY];
    CHECK_EQ(RUN("--vram", "36M", "--all-samples"), 0);
    CHECK(seen.count[EV_MEMORY] >= 20 && seen.count[EV_MEMORY] > few);
    CHECK_EQ(seen.count[EV_MACHINE], seen.count[EV_MEMORY]);
}

CHECK_MAIN
