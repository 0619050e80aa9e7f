/* flow_group.c - one agent, or several who hear each other: single, round_robin, selector, debate. */
#include "app/session/flow_impl.h"

enum { HEARD = 32 }; /* of what others said, at most the newest so many are handed over at once */

/* ------------------------------------------------------------------ speaking and hearing */

/* The last time before `at` that the agent spoke; -1: never. */
static int spoke(const struct flow *f, int agent, int at)
{
    while (--at >= 0 && (f->ask[at]->agent != agent || f->ask[at]->aside)) {}
    return at;
}

/* What others said since ask number `since` of the list. */
static int hear(struct flow *f, struct flow_ask *a, int since)
{
    int first = f->wave, n = 0;
    while (first > since + 1 && n < HEARD) {
        first--;
        n += !f->ask[first]->aside && f->ask[first]->agent != a->agent;
    }
    for (int i = first; i < f->wave; i++) {
        if (!f->ask[i]->aside && f->ask[i]->agent != a->agent) flow_hand_said(f, a, f->ask[i]);
    }
    return n;
}

static void speak(struct flow *f, int agent)
{
    int before = spoke(f, agent, f->n_asks);
    struct flow_ask *a = flow_put(f, agent);
    if (f->crew->prompt) flow_word(f, a, f->crew->prompt);
    if (before < 0) flow_hand_input(f, a);
    if (hear(f, a, before) == 0 && before >= 0 && !f->crew->prompt) flow_word(f, a, "Go on.");
    f->turn++;
}

/* How many speeches at the end, up to a round of them, say what their speaker said the time before. */
static int stale(const struct flow *f)
{
    int n = 0;
    for (int i = f->n_asks - 1; i >= 0 && n < f->crew->n_members; i--) {
        const struct flow_ask *a = f->ask[i];
        if (a->aside) continue;
        int before = spoke(f, a->agent, i);
        if (before < 0 || !flow_same(a, f->ask[before])) break;
        n++;
    }
    return n;
}

static bool is_stale(const struct flow *f) { return stale(f) >= f->crew->n_members; }

/* After a speech of a chat: is it the end? */
static bool ends(struct flow *f)
{
    const struct crew *c = f->crew;
    if (f->turn == 0) return false;
    const struct flow_ask *a = flow_last(f);
    if (c->stop && c->stop[0] && memmem(a->answer, a->n, c->stop, strlen(c->stop))) {
        flow_over(f, FLOW_DONE, "%s said the word that stops it", a->label);
    } else if (c->stop_on_accept && flow_verdict(a->answer, a->n) == VERDICT_ACCEPT) {
        flow_over(f, FLOW_DONE, "%s accepted", a->label);
    } else if (c->endless) {
        return false;
    } else if (c->rounds > 0 && f->turn >= (int64_t)c->rounds * c->n_members) {
        flow_over(f, FLOW_DONE, "%d rounds are over", c->rounds);
    } else if (is_stale(f)) {
        flow_over(f, FLOW_NO_PROGRESS, "all said again what they had said before");
    }
    return f->over;
}

/* ------------------------------------------------------------------ single */

static void single_next(struct flow *f)
{
    if (f->turn > 0) flow_over(f, FLOW_DONE, "%s has answered", flow_last(f)->label);
    else speak(f, f->crew->members[0]);
}
const struct flow_ops flow_single = {.next = single_next};

/* ------------------------------------------------------------------ round_robin */

static void round_robin_next(struct flow *f)
{
    if (!ends(f)) speak(f, f->crew->members[f->turn % f->crew->n_members]);
}
const struct flow_ops flow_round_robin = {.loops = true, .next = round_robin_next};

/* ------------------------------------------------------------------ selector */

static void select_ask(struct flow *f)
{
    const struct crew *c = f->crew;
    int before = f->n_asks;
    while (--before >= 0 && !f->ask[before]->aside) {}
    struct flow_ask *a = flow_put(f, c->lead);
    a->aside = true;
    buf_puts(&a->text, "Who speaks next? Answer with one name:");
    for (int i = 0; i < c->n_members; i++) {
        buf_printf(&a->text, "%s %s", i ? "," : "", flow_name(f, c->members[i]));
    }
    buf_puts(&a->text, ". Answer done if nothing is left to say.");
    if (before < 0) flow_hand_input(f, a);
    hear(f, a, before);
}

/* Whom the last speaker named, else who comes behind in the members' order. */
static int by_rule(const struct flow *f)
{
    int i = f->n_asks;
    while (--i >= 0 && f->ask[i]->aside) {}
    const struct flow_ask *a = i >= 0 ? f->ask[i] : NULL;
    int named = a ? flow_named(f->crew, a->answer, a->n, a->agent) : -1;
    return named >= 0 ? named : (f->speaker + 1) % f->crew->n_members;
}

static void selector_next(struct flow *f)
{
    bool chosen = f->n_asks > 0 && flow_last(f)->aside;
    if (!chosen && ends(f)) return;
    if (!chosen && f->crew->lead >= 0) {
        select_ask(f);
        return;
    }
    int next = -1;
    if (chosen) {
        const struct flow_ask *a = flow_last(f);
        if (flow_says_line(a->answer, a->n, "done")) {
            flow_over(f, FLOW_DONE, "%s says it is done", a->label);
            return;
        }
        next = flow_named(f->crew, a->answer, a->n, -1);
    }
    f->speaker = next >= 0 ? next : by_rule(f);
    speak(f, f->crew->members[f->speaker]);
}
const struct flow_ops flow_selector = {.loops = true, .next = selector_next};

/* ------------------------------------------------------------------ debate */

/* The judge hears the last words of each, in the members' order. */
static void judge(struct flow *f)
{
    const struct crew *c = f->crew;
    struct flow_ask *a = flow_put(f, c->lead);
    flow_word(f, a, c->reduce ? c->reduce : "Judge what was said. Give the final answer.");
    a->fresh = true;
    flow_hand_input(f, a);
    for (int i = 0; i < c->n_members; i++) {
        bool twice = false;
        for (int k = 0; k < i; k++) twice |= c->members[k] == c->members[i];
        int at = twice ? -1 : spoke(f, c->members[i], f->wave);
        if (at >= 0) flow_hand_said(f, a, f->ask[at]);
    }
    f->reduced = true;
}

static void debate_next(struct flow *f)
{
    const struct crew *c = f->crew;
    if (f->reduced) flow_over(f, FLOW_DONE, "%s has judged", flow_last(f)->label);
    else if (!c->endless && (f->turn >= (int64_t)MAX(c->rounds, 1) * c->n_members || is_stale(f))) judge(f);
    else speak(f, c->members[f->turn % c->n_members]);
}
const struct flow_ops flow_debate = {.next = debate_next};
