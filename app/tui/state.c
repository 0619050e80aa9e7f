/* state.c - events folded: who there is, what each does and carries.
 *
 * What an agent does is told by two: turns and calls begin and end at once, and behind each memory event a holding
 * event says of who has requests whether they run, wait or are parked.
 *
 *     turn_start ──> runs <──> queued, parked (holding)      turn_end ──> idle, failed
 *     call ──> tool ──tool──> runs, till the next turn_start
 *
 * Who runs and was in none of the holding events of a whole sample is idle: what ended it was not told. */
#include "app/tui/state_impl.h"
#include "engine/text.h"
#include <math.h>

#define RATE_TIME 0.5 /* seconds that a rate is made of, so that its digits can be read */

/* ------------------------------------------------------------------ texts */

void state_text(char *out, size_t size, struct event_str s)
{
    const char *end = s.len > 0 ? memchr(s.data, '\0', s.len) : NULL;
    size_t n = end ? (size_t)(end - s.data) : s.len;
    if (n >= size) {
        n = size - 1;
        for (size_t back = 1; back <= 4 && back < n; back++) { /* n may be amid a character: up to its first byte */
            unsigned char c = (unsigned char)s.data[n - back];
            if (c < 0x80) break;
            if (c < 0xc0) continue;
            if (text_valid_utf8(s.data + n - back, back) < back) n -= back;
            break;
        }
    }
    if (n > 0) memcpy(out, s.data, n);
    out[n] = '\0';
}

/* ------------------------------------------------------------------ agents */

static int known(const struct state *s, const char *name, size_t n)
{
    char cut[STATE_NAME];
    state_text(cut, sizeof cut, (struct event_str){name, n});
    for (int i = 0; i < s->agents; i++)
        if (strcmp(s->agent[i].name, cut) == 0) return i;
    return -1;
}

/* How much of a name is the agent's own: NAME of NAME/ASK. */
static size_t without_ask(const char *name, size_t n)
{
    const char *slash = n > 0 ? memchr(name, '/', n) : NULL;
    return slash && slash > name ? (size_t)(slash - name) : n;
}

int state_agent(const struct state *s, const char *name, size_t n)
{
    int i = known(s, name, n);
    return i >= 0 ? i : known(s, name, without_ask(name, n));
}

static int add_agent(struct state *s, const char *name, size_t n)
{
    if (s->agents == STATE_AGENTS) return -1;
    struct state_agent *a = &s->agent[s->agents];
    *a = (struct state_agent){.rate = (double)NAN, .first_token = (double)NAN, .own.since = (double)NAN};
    state_text(a->name, sizeof a->name, (struct event_str){name, n});
    a->gauge.name = *a->name ? a->name : "plimsoll";
    a->gauge.number = s->agents;
    return s->agents++;
}

/* Where others have names, what has none is the program's. */
static int agent_of(struct state *s, struct event_str name)
{
    int i = state_agent(s, name.data, name.len);
    if (i >= 0 || (name.len == 0 && s->agents > 0)) return i;
    return add_agent(s, name.data, without_ask(name.data, name.len));
}

void state_name(struct state *s, const char *name)
{
    if (known(s, name, strlen(name)) < 0) add_agent(s, name, strlen(name));
}

/* ------------------------------------------------------------------ what one does */

static bool has_requests(const struct state_agent *a)
{
    enum agent_state t = a->gauge.state;
    return t == AGENT_RUNS || t == AGENT_QUEUED || t == AGENT_PARKED;
}

static void does(struct state_agent *a, enum agent_state state, const char *what)
{
    a->gauge.state = state;
    snprintf(a->doing, sizeof a->doing, "%s", what);
    a->gauge.doing = *a->doing ? a->doing : NULL;
    a->own.heard |= has_requests(a);
}

void state_rate_words(struct state_agent *a)
{
    char rate[FIGURE], words[STATE_NAME];
    snprintf(words, sizeof words, "%s t/s", figure_rate(rate, a->rate));
    does(a, AGENT_RUNS, isfinite(a->rate) ? words : "answers");
}

static uint64_t part_of(int64_t wanted, uint64_t *left)
{
    uint64_t part = MIN(size_of(wanted), *left);
    *left -= part;
    return part;
}

/* The answer grows into what is reserved for it; the rest of the context is free.  Whatever was said, all parts are
 * the context. */
static void share_context(struct state_agent *a)
{
    uint64_t *p = a->gauge.part, left = size_of(a->ctx);
    for (int i = CONTEXT_SYSTEM; i <= CONTEXT_TOOL; i++) p[i] = part_of((int64_t)p[i], &left);
    p[CONTEXT_ANSWER] = part_of(a->own.answer / MAX(a->own.answering, 1), &left); /* of copies, what one has */
    p[CONTEXT_RESERVED] = part_of(count_of(a->reserve) - (int64_t)p[CONTEXT_ANSWER], &left);
    p[CONTEXT_FREE] = left;
}

/* What is held beyond the prompts is what was written.  (Its tokens of answers have those of turns before, too.) */
static int64_t written(const struct state_agent *a, const struct event_holding *h)
{
    int64_t all = count_of(h->system_tokens) + count_of(h->summary_tokens) + count_of(h->history_tokens) +
                  count_of(h->tool_tokens) + count_of(h->answer_tokens) + count_of(h->shared_tokens);
    return a->own.answering > 0 && a->running > 0 ? MAX(all - a->own.prompts, 0) : 0;
}

static void grows(struct state_agent *a, int64_t tokens, double time)
{
    double passed = time - a->own.since;
    a->own.answer = tokens;
    if (tokens <= 0) return;
    if (!isfinite(passed) || passed < 0 || tokens < a->own.from) {
        a->own.since = time;
        a->own.from = tokens;
    } else if (passed >= RATE_TIME) {
        a->rate = (double)(tokens - a->own.from) / passed;
        a->own.since = time;
        a->own.from = tokens;
    }
}

static void ends(struct state_agent *a, bool failed)
{
    a->failed = failed;
    a->own.answering = a->own.prompts = a->own.answer = 0;
    a->own.since = (double)NAN;
    does(a, failed ? AGENT_FAILED : AGENT_IDLE, "");
    share_context(a);
}

/* ------------------------------------------------------------------ turns */

static int32_t small(int64_t n) { return (int32_t)MIN(count_of(n), INT32_MAX); }

/* What the next call carries, after so many turns: as the session follows it (tell_carries()). */
static void note_growth(struct state_agent *a, int64_t turns)
{
    bool compacts = a->high > 0;
    forecast_follow(&a->growth, count_of(turns), small(a->carried));
    a->growth.ctx = small(compacts ? a->high : a->ctx);
    a->growth.max_tokens = compacts ? 0 : small(a->reserve);
}

/* Where no summary can be made, the mark is all that a prompt may have; of a window without a limit, the context. */
static void find_at_high(struct state_agent *a)
{
    if (a->high > 0 && (a->frees > 0 || a->high < a->ctx - a->reserve)) a->at_high = HIGH_SUMS_UP;
    else a->at_high = a->high > 0 && a->high < a->ctx ? HIGH_LEAVE : HIGH_REFUSES;
}

static void on_carries(struct state_agent *a, const struct event_carries *e)
{
    const int64_t part[] = {e->system_tokens, e->pinned_tokens, e->summary_tokens, e->history_tokens, e->tool_tokens};
    if (!a->own.carries) a->growth = (struct forecast_agent){0}; /* what turns have told is another measure */
    a->own.carries = true;
    a->carried = 0;
    for (int i = CONTEXT_SYSTEM; i <= CONTEXT_TOOL; i++) {
        a->gauge.part[i] = size_of(part[i]);
        a->carried += count_of(part[i]);
    }
    a->ctx = count_of(e->ctx);
    a->high = count_of(e->high_tokens);
    a->reserve = count_of(e->reserve_tokens);
    a->frees = count_of(e->frees_tokens);
    a->answer_max = count_of(e->answer_tokens);
    a->rounds = count_of(e->rounds);
    find_at_high(a);
    share_context(a);
    note_growth(a, e->turn);
}

/* In a stream without carries events, what a turn says of itself. */
static void carries_by_turn(struct state *s, struct state_agent *a, int64_t tokens, int64_t reserve)
{
    if (a->own.carries) return;
    a->ctx = count_of(s->opened.ctx);
    a->carried = count_of(tokens);
    a->reserve = count_of(reserve);
    a->gauge.part[CONTEXT_HISTORY] = size_of(tokens);
    share_context(a);
}

static void on_turn_start(struct state *s, struct state_agent *a, const struct event_turn_start *e)
{
    a->failed = a->own.put_aside = false;
    a->own.answering = count_of(a->own.answering + 1);
    a->own.prompts = count_of(a->own.prompts + count_of(e->prompt_tokens));
    s->told.reused = count_of(s->told.reused + count_of(e->shared_tokens));
    does(a, AGENT_RUNS, "begins");
    carries_by_turn(s, a, e->prompt_tokens, e->max_tokens);
}

/* With a turn in work it is the engine that says so, in its figures. */
static void on_parked(struct state_agent *a, const struct event_parked *e)
{
    if (a->own.answering > 0 || e->change.len != 6 || memcmp(e->change.data, "parked", 6) != 0) return;
    a->own.put_aside = true;
    does(a, AGENT_PARKED, "");
}

static void on_prefill(struct state_agent *a, const struct event_prefill *e)
{
    char done[FIGURE], of[FIGURE], words[STATE_NAME];
    if (e->done >= e->of) return;
    snprintf(words, sizeof words, "reads %s of %s", figure(done, size_of(e->done)), figure(of, size_of(e->of)));
    does(a, AGENT_RUNS, words);
}

/* One that was cancelled before any has no first token, though it says 0. */
static bool had_first(const struct event_turn_end *e)
{
    return e->tokens > 0 && e->first_token_s >= 0 && isfinite(e->first_token_s);
}

static void totals_by_turn(struct state *s, const struct event_turn_end *e)
{
    if (had_first(e)) s->gauges.speed.first_token = e->first_token_s;
    s->told.in = count_of(s->told.in + count_of(e->prompt_tokens));
    s->told.out = count_of(s->told.out + count_of(e->tokens));
    state_totals(s);
}

static void on_turn_end(struct state *s, struct state_agent *a, const struct event_turn_end *e)
{
    state_text(a->end, sizeof a->end, e->end);
    a->own.answering = MAX(a->own.answering - 1, 0);
    a->own.prompts = MAX(a->own.prompts - count_of(e->prompt_tokens), 0);
    a->turns += e->call <= 1; /* later calls of a turn, after tools, belong to the one that was counted */
    a->tokens_in = count_of(a->tokens_in + count_of(e->prompt_tokens));
    a->tokens_out = count_of(a->tokens_out + count_of(e->tokens));
    if (e->decode_rate >= 0 && isfinite(e->decode_rate)) a->rate = e->decode_rate;
    if (had_first(e)) a->first_token = e->first_token_s;
    if (a->own.answering == 0) ends(a, strcmp(a->end, "fault") == 0 || strcmp(a->end, "out_of_memory") == 0);
    totals_by_turn(s, e);
    carries_by_turn(s, a, count_of(e->prompt_tokens) + count_of(e->tokens), 0);
    if (!a->own.carries) note_growth(a, e->turn);
}

static void on_tool(struct state_agent *a, const struct event_tool *e)
{
    bool by_model = e->by.len == 5 && memcmp(e->by.data, "model", 5) == 0;
    a->calls += by_model;
    if (a->gauge.state == AGENT_TOOL) does(a, by_model ? AGENT_RUNS : AGENT_IDLE, by_model ? "goes on" : "");
}

static void on_call(struct state_agent *a, const struct event_call *e)
{
    char name[STATE_NAME];
    state_text(name, sizeof name, e->name);
    does(a, AGENT_TOOL, name);
}

/* ------------------------------------------------------------------ what one holds */

/* The holding events behind this one say who has requests; who was in none of the last either has none. */
static void before_holdings(struct state *s)
{
    for (int i = 0; i < s->agents; i++) {
        struct state_agent *a = &s->agent[i];
        if (!a->own.heard && !a->own.put_aside && has_requests(a)) ends(a, a->failed);
        a->own.was_parked = a->parked;
        a->running = a->waiting = a->parked = a->shared = 0;
        a->own.heard = false;
    }
}

static void on_holding(struct state *s, const struct event *e)
{
    const struct event_holding *h = &e->holding;
    int i = agent_of(s, h->owner);
    if (i < 0) return;
    struct state_agent *a = &s->agent[i];
    a->own.heard = true;
    a->running = count_of(h->running);
    a->waiting = count_of(h->waiting);
    a->parked = count_of(h->parked);
    a->shared = count_of(h->shared_tokens);
    if ((a->parked > 0) != (a->own.was_parked > 0)) state_mark_parked(s, i, s->time, a->parked > 0);
    grows(a, written(a, h), s->time);
    if (a->gauge.state != AGENT_TOOL) {
        if (a->running == 0 && a->parked > 0) does(a, AGENT_PARKED, "");
        else if (a->running == 0 && a->waiting > 0) does(a, AGENT_QUEUED, "");
        else if (a->running > 0 && a->own.answer > 0) state_rate_words(a);
        else if (a->running > 0 && a->gauge.state != AGENT_RUNS) does(a, AGENT_RUNS, "begins");
    }
    share_context(a);
}

/* ------------------------------------------------------------------ the session */

static void on_open(struct state *s, const struct event_session_open *e)
{
    state_text(s->opened.version, sizeof s->opened.version, e->version);
    state_text(s->opened.engine, sizeof s->opened.engine, e->engine);
    state_text(s->opened.file, sizeof s->opened.file, e->file);
    state_text(s->opened.model, sizeof s->opened.model, e->model);
    state_text(s->opened.arch, sizeof s->opened.arch, e->arch);
    state_text(s->opened.types, sizeof s->opened.types, e->types);
    state_text(s->opened.template, sizeof s->opened.template, e->template);
    state_text(s->opened.backend, sizeof s->opened.backend, e->backend);
    state_text(s->opened.mode, sizeof s->opened.mode, e->mode);
    s->opened.parameters = count_of(e->parameters);
    s->opened.vocab = count_of(e->vocab);
    s->opened.ctx = count_of(e->ctx);
    s->opened.seed = e->seed;
    s->opened.there = true;
}

static void on_resumed(struct state *s, struct state_agent *a, const struct event_resumed *e)
{
    state_text(s->session, sizeof s->session, e->session);
    state_text(s->title, sizeof s->title, e->title);
    s->turn = s->saved_turn = count_of(e->turns); /* what was asked before it was another session's */
    if (!a) return;
    a->turn = a->saved_turn = s->turn;
    a->growth = (struct forecast_agent){0};
    ends(a, false);
}

static void on_refusal(struct state_agent *a)
{
    state_text(a->end, sizeof a->end, event_str("refused"));
    ends(a, true);
}

static void all_idle(struct state *s)
{
    for (int i = 0; i < s->agents; i++) ends(&s->agent[i], s->agent[i].failed);
}

static void on_saved(struct state *s, struct state_agent *a, const struct event_saved *e)
{
    s->saved_turn = count_of(e->turn);
    if (a) a->saved_turn = s->saved_turn;
    if (a && a->own.answering == 0 && a->gauge.state == AGENT_TOOL) ends(a, a->failed);
}

/* Of these it is certain that an agent did them. */
static bool is_agents(enum event_kind kind)
{
    return kind == EV_TURN_USER || kind == EV_TURN_START || kind == EV_PREFILL || kind == EV_TEXT || kind == EV_TOKEN ||
           kind == EV_TURN_END || kind == EV_CALL || kind == EV_TOOL || kind == EV_CARRIES || kind == EV_STOPPED ||
           kind == EV_CONTEXT || kind == EV_SUMMARY || kind == EV_REFUSAL;
}

static void on_agent(struct state *s, struct state_agent *a, const struct event *e)
{
    switch (e->kind) {
    case EV_TURN_USER:
        s->turn = a->turn = count_of(e->turn_user.turn);
        a->saved_turn = MIN(a->saved_turn, MAX(a->turn - 1, 0)); /* a copy's are counted from 1 on again */
        break;
    case EV_TURN_START: on_turn_start(s, a, &e->turn_start); break;
    case EV_PREFILL: on_prefill(a, &e->prefill); break;
    case EV_PARKED: on_parked(a, &e->parked); break;
    case EV_TEXT: state_rate_words(a); break;
    case EV_TURN_END: on_turn_end(s, a, &e->turn_end); break;
    case EV_CARRIES: on_carries(a, &e->carries); break;
    case EV_CALL: on_call(a, &e->call); break;
    case EV_TOOL: on_tool(a, &e->tool); break;
    case EV_STOPPED: ends(a, false); break;
    default: break;
    }
}

static void on_any(struct state *s, struct state_agent *a, const struct event *e)
{
    switch (e->kind) {
    case EV_SESSION_OPEN: on_open(s, &e->session_open); break;
    case EV_MEMORY: before_holdings(s), state_memory(s, e); break;
    case EV_MACHINE: state_machine(s, e); break;
    case EV_SERVER: state_server(s, &e->server); break;
    case EV_HOLDING: on_holding(s, e); break;
    case EV_REFUSAL: if (a) on_refusal(a); break;
    case EV_FLOW: if (e->flow.ask == 0) all_idle(s); break;
    case EV_RESUMED: on_resumed(s, a, &e->resumed); break;
    case EV_SAVED: on_saved(s, a, &e->saved); break;
    case EV_UNDONE:
        s->turn = MAX(count_of(e->undone.turn) - 1, 0);
        s->saved_turn = MIN(s->saved_turn, s->turn);
        if (a) a->turn = s->turn;
        break;
    case EV_SESSION_CLOSE: s->over = true, all_idle(s); break;
    default: if (a) on_agent(s, a, e); break;
    }
}

void state_event(struct state *s, const struct event *e)
{
    int i = is_agents(e->kind) ? agent_of(s, e->agent) : state_agent(s, e->agent.data, e->agent.len);
    if (e->time >= 0 && isfinite(e->time)) s->time = MIN(e->time, 1e9);
    on_any(s, i >= 0 ? &s->agent[i] : NULL, e);
    state_mark(s, e, i);
}

bool state_saved(const struct state *s)
{
    for (int i = 0; i < s->agents; i++)
        if (s->agent[i].saved_turn < s->agent[i].turn) return false;
    return true;
}

void state_open(struct state *s)
{
    *s = (struct state){.sampled = -1, .page_tokens = 1, .rated.time = -1, .on_cpu = true};
    s->gauges.device = (struct gauge_device){.label = "budget", .unknown = true};
    s->gauges.speed = (struct gauge_speed){
        .prefill = (double)NAN, .decode = (double)NAN, .first_token = (double)NAN, .prefill_past = s->prefill_past,
        .decode_past = s->decode_past, .gpu_load = -1, .gpu_celsius = -1, .gpu_watts = -1};
    timeline_open(&s->timeline);
}

void state_close(struct state *s)
{
    timeline_close(&s->timeline);
    *s = (struct state){0};
}
