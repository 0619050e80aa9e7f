/* state_words.c - marks of the timeline, and what will happen next. */
#include "app/tui/state_impl.h"
#include "kernels/kernels.h"
#include <math.h>

/* ------------------------------------------------------------------ marks */

#define STR(s) event_part((s), TIMELINE_TEXT), (s).len > 0 ? (s).data : ""

static bool is(struct event_str s, const char *word)
{
    return s.len == strlen(word) && memcmp(s.data, word, s.len) == 0;
}

static void put_end(struct buf *b, const struct event_turn_end *e)
{
    char n[FIGURE], rate[FIGURE];
    buf_printf(b, "turn %lld ended (%.*s): %s token%s", (long long)e->turn, STR(e->end), figure(n, size_of(e->tokens)),
               plural(e->tokens));
    if (isfinite(e->decode_rate) && e->decode_rate >= 0) buf_printf(b, ", %s t/s", figure_rate(rate, e->decode_rate));
}

static void put_start(struct buf *b, const struct event_turn_start *e)
{
    char n[FIGURE], shared[FIGURE], most[FIGURE];
    buf_printf(b, "turn %lld began: %s tokens of prompt", (long long)e->turn, figure(n, size_of(e->prompt_tokens)));
    if (e->call > 1) buf_printf(b, ", call %lld", (long long)e->call);
    if (e->shared_tokens > 0) buf_printf(b, " (%s known)", figure(shared, size_of(e->shared_tokens)));
    buf_printf(b, ", up to %s more", figure(most, size_of(e->max_tokens)));
}

static void put_tool(struct buf *b, const struct event_tool *e)
{
    char n[FIGURE], bytes[FIGURE];
    buf_printf(b, "%.*s %s%s token%s", STR(e->name), e->failed ? "failed: " : "gave ", figure(n, size_of(e->tokens)),
               plural(e->tokens));
    if (e->artifact.len > 0)
        buf_printf(b, " of %s bytes, the whole is %.*s", figure(bytes, size_of(e->bytes)), STR(e->artifact));
    else if (e->left_out > 0)
        buf_printf(b, ", clipped; %s bytes are not kept", figure(bytes, size_of(e->left_out)));
}

static void put_summary(struct buf *b, const struct event_summary *e)
{
    char n[FIGURE];
    const struct event_str why = e->reason.len > 0 ? e->reason : event_str("it was cancelled");
    if (is(e->by, "nobody")) buf_printf(b, "nothing was summed up: %.*s", STR(why));
    else buf_printf(b, "%.*s summed up in %s token%s by %s", STR(e->what), figure(n, size_of(e->tokens)),
                    plural(e->tokens), is(e->by, "model") ? "the model" : "lines out of them");
}

static void put_context(struct buf *b, const struct event_context *e)
{
    static const struct { const char *change, *before, *behind; } known[] = {
        {"left", "", " left the context without a summary"},
        {"stood_in", "", " is too large and stands as a line"},
        {"summary_left", "the summary of ", " found no room"},
        {"compacted", "", " left for a summary"},
        {"extracted", "", " left for lines out of them"},
        {"undone", "the summary of ", " was taken back"},
        {"in_vain", "", "a compaction was in vain"},
        {"front_changed", "", "the front changed and is read again"},
        {"thinking_closed", "", "thinking was closed"},
        {"refused", "", "a call cannot fit"},
    };
    char n[FIGURE];
    size_t i = 0;
    if (e->turn == 0 && is(e->change, "front_changed")) return; /* it came into being */
    while (i < COUNT_OF(known) && !is(e->change, known[i].change)) i++;
    if (i == COUNT_OF(known)) {
        buf_printf(b, "%.*s%s%.*s", STR(e->change), e->what.len ? " " : "", STR(e->what));
    } else {
        buf_puts(b, known[i].before);
        if (*known[i].behind == ' ') buf_printf(b, "%.*s", STR(e->what)); /* else the words say all */
        buf_puts(b, known[i].behind);
    }
    if (e->tokens > 0) buf_printf(b, ": %s token%s", figure(n, size_of(e->tokens)), plural(e->tokens));
}

static void put_flow(struct buf *b, const struct event_flow *e)
{
    const bool bad = is(e->change, "failed") || is(e->change, "cancelled");
    const struct event_str how = bad ? e->change : event_str("ended");
    if (e->ask == 0) buf_printf(b, "%.*s %.*s: %.*s", STR(e->flow), STR(how), STR(e->why));
    else buf_printf(b, "%.*s: %.*s is asked%s", STR(e->flow), STR(e->to), is(e->change, "again") ? " again" : "");
}

static void put_open(struct buf *b, const struct event_session_open *e)
{
    char n[FIGURE];
    buf_printf(b, "plimsoll opened %.*s: %s tokens of context", STR(e->model), figure(n, size_of(e->ctx)));
}

static void put_resumed(struct buf *b, const struct event_resumed *e)
{
    buf_printf(b, "session goes on after turn %lld: %.*s", (long long)e->turns, STR(e->title));
}

static void put_close(struct buf *b, const struct event_session_close *e)
{
    buf_printf(b, "plimsoll leaves (%.*s): %lld turn%s", STR(e->termination_reason), (long long)e->turns,
               plural(e->turns));
}

static void put_event(struct buf *b, const struct event *e)
{
    switch (e->kind) {
    case EV_SESSION_OPEN: put_open(b, &e->session_open); break;
    case EV_TURN_START: put_start(b, &e->turn_start); break;
    case EV_TURN_END: put_end(b, &e->turn_end); break;
    case EV_TOOL: put_tool(b, &e->tool); break;
    case EV_SUMMARY: put_summary(b, &e->summary); break;
    case EV_CONTEXT: put_context(b, &e->context); break;
    case EV_FLOW: put_flow(b, &e->flow); break;
    case EV_RESUMED: put_resumed(b, &e->resumed); break;
    case EV_REFUSAL: buf_printf(b, "refused: %.*s", STR(e->refusal.text)); break;
    case EV_STOPPED: buf_printf(b, "stopped: %.*s", STR(e->stopped.reason)); break;
    case EV_UNDONE: buf_printf(b, "turn %lld was taken back", (long long)e->undone.turn); break;
    case EV_ERROR: buf_printf(b, "%.*s: %.*s", STR(e->error.where), STR(e->error.text)); break;
    case EV_SESSION_CLOSE: put_close(b, &e->session_close); break;
    default: break;
    }
}

void state_mark(struct state *s, const struct event *e, int agent)
{
    struct timeline_mark m = {.time = (float)s->time, .kind = (uint8_t)e->kind, .agent = (int8_t)agent};
    struct buf words = {0};
    put_event(&words, e);
    if (words.len > 0) {
        state_text(m.text, sizeof m.text, (struct event_str){words.data, words.len});
        timeline_mark(&s->timeline, &m);
    }
    buf_free(&words);
}

void state_mark_parked(struct state *s, int agent, double time, bool parked)
{
    struct timeline_mark m = {.time = (float)time, .kind = EV_HOLDING, .agent = (int8_t)agent};
    snprintf(m.text, sizeof m.text, "%s",
             parked ? "parked: its pages are needed by others" : "goes on, no longer parked");
    timeline_mark(&s->timeline, &m);
}

/* ------------------------------------------------------------------ forecast */

/* Behind a summary nothing is as it was: of the call that follows all is read anew but for whole pages of its front.
 * The figure is as cautious as what is freed: of a summary of the largest size. */
static uint64_t read_anew(const struct state *s, const struct state_agent *a)
{
    const uint64_t page = s->page_tokens > 0 ? (uint64_t)s->page_tokens : KERN_PAGE;
    const uint64_t front = a->gauge.part[CONTEXT_SYSTEM] + a->gauge.part[CONTEXT_PINNED];
    const uint64_t carried = size_of(a->carried), left = carried - MIN(size_of(a->frees), carried);
    return left - MIN(front / page * page, left);
}

void state_forecast(const struct state *s, int agent, char out[200])
{
    char frees[FIGURE], costs[FIGURE], when[48] = "at its next turn";
    *out = '\0';
    if (agent < 0 || agent >= s->agents) return;
    const struct state_agent *a = &s->agent[agent];
    const int turn = forecast_turn(&a->growth);
    if (a->ctx <= 0 || !a->growth.noted || turn == FORECAST_UNKNOWN || turn == FORECAST_NEVER) return;
    if (turn > 2) snprintf(when, sizeof when, "in about %d turns", turn - 1);
    else if (turn == 2) snprintf(when, sizeof when, "in about a turn");
    if (a->at_high == HIGH_REFUSES)
        snprintf(out, 200, "%s fills its context %s; then its turn is refused", a->gauge.name, when);
    else if (a->at_high == HIGH_LEAVE)
        snprintf(out, 200, "%s fills its context %s; the oldest leave it then, without a summary", a->gauge.name, when);
    else if (a->frees > 0)
        snprintf(out, 200, "%s fills its context %s; the oldest are summed up then, which frees %s token%s and costs "
                 "about %s of pre-fill", a->gauge.name, when, figure(frees, size_of(a->frees)), plural(a->frees),
                 figure(costs, read_anew(s, a)));
    else snprintf(out, 200, "%s fills its context %s; the oldest are summed up then", a->gauge.name, when);
}
