/* agent.c - see agent.h. */
#include "app/session/agent.h"

const char *agent_end_name(enum agent_end e)
{
    static const char *const name[] = {"running", "answered", "rounds", "repeats", "no_progress", "failures", "ended"};
    assert((size_t)e < COUNT_OF(name));
    return name[e];
}

/* FNV-1a with 64 bits: a model that makes two calls collide gains a call less. */
static uint64_t hash(uint64_t h, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3ull;
    return h;
}

static uint64_t hash_of(const char *a, size_t n, const char *b)
{
    uint64_t h = hash(0xcbf29ce484222325ull, a, n);
    return b ? hash(hash(h, "", 1), b, strlen(b)) : h;
}

void agent_begin(struct agent *g, const struct agent_limits *limits)
{
    *g = (struct agent){.limits = {.rounds = MIN(MAX(limits->rounds, 0), AGENT_ROUNDS_MAX),
                                   .repeats = MAX(limits->repeats, 1), .failures = MAX(limits->failures, 1),
                                   .endless = limits->endless}};
}

static enum agent_effect over(struct agent *g, enum agent_end why)
{
    g->end = why;
    return AGENT_OVER;
}

static enum agent_effect on_call(struct agent *g, const char *name, const char *arguments)
{
    uint64_t call = hash_of(name, strlen(name), arguments);
    int before = 0;
    if (g->limits.endless) {
        g->calls++;
        return AGENT_RUN_TOOL;
    }
    for (int i = 0; i < g->calls; i++) before += g->made[i] == call;
    if (before >= g->limits.repeats) return over(g, AGENT_STOPPED_REPEATS);
    if (g->same >= MAX(g->limits.repeats, 2)) return over(g, AGENT_STOPPED_PROGRESS);
    if (g->failures >= g->limits.failures) return over(g, AGENT_STOPPED_FAILURES);
    if (g->calls >= g->limits.rounds) return over(g, AGENT_STOPPED_ROUNDS);
    g->made[g->calls++] = call;
    return AGENT_RUN_TOOL;
}

static enum agent_effect on_result(struct agent *g, const struct agent_event *e)
{
    uint64_t result = hash_of(e->text, e->n, NULL);
    g->same = g->same > 0 && result == g->result ? g->same + 1 : 1;
    g->result = result;
    g->failures = e->failed ? g->failures + 1 : 0;
    return AGENT_CALL_MODEL;
}

enum agent_effect agent_on(struct agent *g, const struct agent_event *e)
{
    if (g->end != AGENT_RUNNING) return AGENT_OVER;
    switch (e->kind) {
    case AGENT_ASKED: return AGENT_CALL_MODEL;
    case AGENT_SAID: return e->call ? on_call(g, e->call, e->arguments) : over(g, AGENT_ANSWERED);
    case AGENT_GOT: return on_result(g, e);
    case AGENT_CUT:
    case AGENT_BROKE: return over(g, AGENT_ENDED);
    }
    return AGENT_OVER;
}
