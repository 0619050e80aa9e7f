/* flow_rig.h - crews made in C, and a flow played from a table: what it must ask, and what it is told.
 *
 * An effect as text:  "1 ann: the text [input: Hello.][bob: Hi.]", "4 ann/2 fresh again 1: ...", "over done: why". */
#ifndef FLOW_RIG_H
#define FLOW_RIG_H
#include "app/session/flow.h"
#include "tests/check.h"

enum { ANN, BOB, CAT, DAN, EVE, LEAD, NAMES };

/* ann, bob, cat, dan, eve, lead; the first n of them are members, nobody leads; 20 steps. */
static inline struct crew crew_of(enum flow_kind kind, int n)
{
    static struct crew_agent agent[NAMES] = {{.name = "ann"}, {.name = "bob"}, {.name = "cat"},
                                             {.name = "dan"}, {.name = "eve"}, {.name = "lead"}};
    struct crew c = {.agent = agent, .n_agents = NAMES, .flow = kind, .n_members = n, .lead = -1, .steps = 20};
    for (int i = 0; i < n; i++) c.members[i] = i;
    return c;
}

static inline void show_effect(const struct crew *c, const struct flow_effect *e, struct buf *out)
{
    if (e->kind == FLOW_OVER) {
        buf_printf(out, "over %s: %s", flow_end_name(e->end), e->why);
        return;
    }
    buf_printf(out, "%d %s", e->ask, c->agent[e->agent].name);
    if (e->copy) buf_printf(out, "/%d", e->copy);
    if (e->fresh) buf_puts(out, " fresh");
    if (e->again) buf_printf(out, " again %d", e->again);
    buf_puts(out, ": ");
    buf_put(out, e->text, e->n);
    if (e->n > 0 && e->n_parts > 0) buf_puts(out, " ");
    for (int i = 0; i < e->n_parts; i++) {
        buf_printf(out, "[%s: ", e->part[i].label);
        buf_put(out, e->part[i].text, e->part[i].n);
        buf_puts(out, "]");
    }
}

struct turn {
    const char *ask;    /* as text */
    const char *answer; /* "!why": it fails; "^": it is cancelled; NULL: the person cancels the flow instead */
};

static inline void tell(struct flow *f, int ask, const char *answer)
{
    enum flow_outcome how = *answer == '!' ? FLOW_ASK_FAILED : *answer == '^' ? FLOW_ASK_CANCELLED : FLOW_SAID;
    const char *said = answer + (how != FLOW_SAID);
    CHECK_EQ(flow_answer(f, ask, how, said, strlen(said), NULL), 0);
}

/* Asks come as the turns say, and are answered, the oldest first, when no more come.  The last turn is the end. */
static inline void play_at(const struct crew *c, const char *input, int parallel, const struct turn *turn, int n,
                           const char *output)
{
    struct flow *f = flow_open(c, input, strlen(input), parallel, NULL);
    struct flow_effect e;
    struct buf text = {0};
    int asked = 0, answered = 0, number[64];
    CHECK(f != NULL);
    while (asked < n) {
        if (flow_next(f, &e)) {
            text.len = 0;
            show_effect(c, &e, &text);
            CHECK_STR(text.data, turn[asked].ask);
            number[asked++] = e.ask;
        } else {
            CHECK(answered < asked);
            if (turn[answered].answer) tell(f, number[answered], turn[answered].answer);
            else flow_cancel(f);
            answered++;
        }
    }
    CHECK_EQ(e.kind, FLOW_OVER);
    CHECK(!flow_next(f, &e)); /* nothing comes behind the end */
    CHECK_EQ(flow_answer(f, 1, FLOW_SAID, "late", 4, NULL), -1);
    size_t len;
    const char *out = flow_output(f, &len);
    CHECK_EQ(len, strlen(out));
    CHECK_STR(out, output);
    buf_free(&text);
    flow_close(f);
}

#define PLAY_AT(crew, input, parallel, output, ...)                                           \
    do {                                                                                      \
        static const struct turn turns_[] = {__VA_ARGS__};                                    \
        play_at(crew, input, parallel, turns_, (int)COUNT_OF(turns_), output);                \
    } while (0)
#define PLAY(crew, input, output, ...) PLAY_AT(crew, input, 1, output, __VA_ARGS__)
#endif
