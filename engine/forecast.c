/* forecast.c - straight lines, and the first turn at which their sum is too much.
 *
 * All ints are below 2^31, so a context after 2^31 turns is below 2^63, and so are the pages of 2^31 agents. */
#include "engine/forecast.h"

/* ------------------------------------------------------------------ one agent */

void forecast_assume(struct forecast_agent *a, int growth)
{
    a->growth[a->turns++ % FORECAST_TURNS] = growth;
    a->largest = 0; /* which is also what fills a ring that is not full */
    for (int i = 0; i < FORECAST_TURNS; i++) a->largest = MAX(a->largest, a->growth[i]);
}

void forecast_note(struct forecast_agent *a, int prompt_now)
{
    prompt_now = MAX(prompt_now, 0);
    if (a->noted) forecast_assume(a, prompt_now - MAX(a->prompt, 0));
    a->prompt = prompt_now;
    a->noted = true;
}

void forecast_follow(struct forecast_agent *a, int64_t turns, int prompt_now)
{
    prompt_now = MAX(prompt_now, 0);
    turns = MAX(turns, 0);
    if (turns < a->followed) *a = (struct forecast_agent){.max_tokens = a->max_tokens, .ctx = a->ctx};
    const bool ended = turns > a->followed, falls = prompt_now < a->prompt;
    if (a->noted && falls) a->left = true;
    if (ended && !a->left) forecast_note(a, prompt_now);
    if (falls || ended || !a->noted) a->prompt = prompt_now;
    if (ended) a->noted = true, a->left = false;
    a->followed = turns;
}

static int64_t left_under(const struct forecast_agent *a, int64_t limit)
{
    return limit - MAX(a->max_tokens, 0) - MAX(a->prompt, 0);
}

int64_t forecast_left(const struct forecast_agent *a) { return left_under(a, MAX(a->ctx, 0)); }

/* The first turn at which a call exceeds `limit` tokens, however late. */
static int64_t first_over(const struct forecast_agent *a, int64_t limit)
{
    int64_t left = left_under(a, limit);
    if (left < 0) return 1;
    if (a->turns == 0) return FORECAST_UNKNOWN;
    return a->largest > 0 ? left / a->largest + 2 : INT64_MAX;
}

static int named(int64_t turn) { return turn == INT64_MAX ? FORECAST_NEVER : (int)MIN(turn, FORECAST_NEVER - 1); }

int forecast_turn(const struct forecast_agent *a) { return named(first_over(a, MAX(a->ctx, 0))); }

/* ------------------------------------------------------------------ all of them */

struct crew {
    const struct forecast_agent *a;
    int n, unknown;
    int64_t page, front, seqs, pages, most; /* pages: of the pool; most: of it for one sequence */
};

static struct crew crew_of(const struct forecast_agent *a, int n, const struct forecast_pool *pool)
{
    struct crew c = {.a = a, .n = MAX(n, 0), .page = MAX(pool->page, 1), .front = MAX(pool->front, 0),
                     .seqs = MAX(pool->seqs, 1)};
    c.pages = (int64_t)(MIN(pool->tokens, INT64_MAX) / (uint64_t)c.page);
    c.most = pool->most > 0 ? ((int64_t)pool->most + c.page - 1) / c.page : INT64_MAX;
    for (int i = 0; i < c.n; i++) c.unknown += forecast_turn(&a[i]) == FORECAST_UNKNOWN;
    return c;
}

/* Tokens of an agent's context at a turn: it grows until no call would go any more. */
static int64_t context_at(const struct forecast_agent *a, int64_t turn)
{
    int64_t most = MAX(MAX(a->ctx, 0) - MAX(a->max_tokens, 0), 0);
    return MIN(MAX(a->prompt, 0) + (turn - 1) * a->largest, most);
}

/* Whole pages of the front that it shares, as it is now: its last token is never shared, for its logits are wanted. */
static int64_t shared_pages(const struct crew *c, const struct forecast_agent *a)
{
    return MIN(c->front, MAX(context_at(a, 1) - 1, 0)) / c->page;
}

/* Pages of an agent's own at a turn: of its context, or of its whole call. */
static int64_t own_pages(const struct crew *c, int i, int64_t turn, bool call)
{
    const struct forecast_agent *a = &c->a[i];
    int64_t tokens = context_at(a, turn);
    if (call) tokens = MIN(tokens + MAX(a->max_tokens, 0), MAX(a->ctx, 0));
    return MIN((tokens + c->page - 1) / c->page - shared_pages(c, a), c->most);
}

/* The pages of those agents that have more than `floor` of their own; *count: how many they are. */
static int64_t sum_above(const struct crew *c, int64_t turn, bool call, int64_t floor, int64_t *count)
{
    int64_t sum = 0;
    *count = 0;
    for (int i = 0; i < c->n; i++) {
        int64_t own = own_pages(c, i, turn, call);
        if (own <= floor) continue;
        sum += own;
        ++*count;
    }
    return sum;
}

/* All contexts at a turn, or the seqs largest calls.  There is no room to sort in, so the size is sought that at most
 * seqs calls exceed; the places that are left go to calls of just that size. */
static int64_t pages_at(const struct crew *c, int64_t turn, bool call)
{
    int64_t front = 0, low = -1, high = 0, count;
    for (int i = 0; i < c->n; i++) {
        front = MAX(front, shared_pages(c, &c->a[i]));
        high = MAX(high, own_pages(c, i, turn, call));
    }
    if (!call || c->n <= c->seqs) return front + sum_above(c, turn, call, -1, &count);
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        sum_above(c, turn, call, middle, &count);
        if (count <= c->seqs) high = middle;
        else low = middle;
    }
    int64_t sum = sum_above(c, turn, call, high, &count);
    return front + sum + (c->seqs - count) * high;
}

/* Pages only rise with turns, and do so no more once the last agent that grows is full. */
static int64_t first_overfull(const struct crew *c, bool call)
{
    int64_t fits = 0, over = 1;
    for (int i = 0; i < c->n; i++) {
        int64_t full = first_over(&c->a[i], MAX(c->a[i].ctx, 0));
        if (full != INT64_MAX) over = MAX(over, full);
    }
    if (pages_at(c, over, call) <= c->pages) return c->unknown ? FORECAST_UNKNOWN : INT64_MAX;
    while (over - fits > 1) {
        int64_t middle = fits + (over - fits) / 2;
        if (pages_at(c, middle, call) > c->pages) over = middle;
        else fits = middle;
    }
    return over;
}

/* The agent that is first over its context, or over the pool if that is smaller. */
static struct forecast_at first_refused(const struct crew *c, bool alone)
{
    struct forecast_at at = {.turn = FORECAST_NEVER, .agent = -1};
    bool unknown = false;
    for (int i = 0; i < c->n; i++) {
        int64_t ctx = MAX(c->a[i].ctx, 0), limit = ctx;
        if (alone) {
            if (c->pages >= MIN((ctx + c->page - 1) / c->page, c->most)) continue;
            limit = c->pages * c->page;
        }
        int turn = named(first_over(&c->a[i], limit));
        if (turn == FORECAST_UNKNOWN) unknown = true;
        else if (turn < at.turn) at = (struct forecast_at){.turn = turn, .agent = i};
    }
    if (unknown && at.turn == FORECAST_NEVER) at.turn = FORECAST_UNKNOWN;
    return at;
}

static bool is_turn(int turn) { return turn != FORECAST_UNKNOWN && turn != FORECAST_NEVER; }

static enum forecast_limit earlier(const struct forecast *f, enum forecast_limit a, enum forecast_limit b)
{
    int at_a = f->at[a].turn, at_b = f->at[b].turn;
    return is_turn(at_b) && (!is_turn(at_a) || at_b < at_a) ? b : a;
}

struct forecast forecast_make(const struct forecast_agent *a, int n, const struct forecast_pool *pool)
{
    struct crew c = crew_of(a, n, pool);
    struct forecast f = {.unknown = c.unknown};
    f.at[FORECAST_CONTEXT] = first_refused(&c, false);
    f.at[FORECAST_ALONE] = first_refused(&c, true);
    f.at[FORECAST_CALLS] = (struct forecast_at){.turn = named(first_overfull(&c, true)), .agent = -1};
    f.at[FORECAST_CACHE] = (struct forecast_at){.turn = named(first_overfull(&c, false)), .agent = -1};
    for (int l = 0; l < FORECAST_LIMITS; l++) f.first = earlier(&f, f.first, (enum forecast_limit)l);
    return f;
}

/* ------------------------------------------------------------------ words */

void forecast_agent_words(const struct forecast_agent *a, const char *name, char *out, size_t n)
{
    int64_t left = forecast_left(a);
    int ctx = MAX(a->ctx, 0), turn = forecast_turn(a);
    if (left < 0)
        snprintf(out, n, "%s: %lld token%s too many for its context (%d): its next call is refused", name,
                 (long long)-left, plural(-left), ctx);
    else if (!is_turn(turn))
        snprintf(out, n, "%s: %lld token%s left in its context (%d), %s", name, (long long)left, plural(left), ctx,
                 turn == FORECAST_NEVER ? "not growing" : "growth not known yet");
    else
        snprintf(out, n, "%s: %lld token%s, %d turn%s until its context (%d) is full", name, (long long)left,
                 plural(left), turn - 1, plural(turn - 1), ctx);
}

/* "after 3 turns researcher's context is full: its call is refused"; returns as snprintf does. */
static int limit_words(const struct forecast *f, enum forecast_limit limit, const char *const *names, char *out,
                       size_t n)
{
    static const char *const what[] = {
        [FORECAST_CONTEXT] = "'s context is full: its call is refused",
        [FORECAST_ALONE] = "'s call needs more than the whole pool: it is refused",
        [FORECAST_CALLS] = "the pool does not hold all calls at once: some wait",
        [FORECAST_CACHE] = "the pool does not keep all contexts: some are computed again",
    };
    int turn = f->at[limit].turn, agent = f->at[limit].agent;
    char when[48] = "now", number[24] = "";
    if (turn > 1)
        snprintf(when, sizeof when, "after %s%d turn%s", f->unknown ? "at most " : "", turn - 1, plural(turn - 1));
    if (agent >= 0) snprintf(number, sizeof number, "agent %d", agent + 1);
    return snprintf(out, n, "%s %s%s", when, agent >= 0 && names && names[agent] ? names[agent] : number, what[limit]);
}

void forecast_words(const struct forecast *f, const char *const *names, char *out, size_t n)
{
    enum forecast_limit refusal = earlier(f, FORECAST_CONTEXT, FORECAST_ALONE);
    if (!is_turn(f->at[f->first].turn)) {
        snprintf(out, n, "%s", f->unknown ? "growth is not known yet" : "at this growth nothing runs full");
        return;
    }
    int used = limit_words(f, f->first, names, out, n);
    if (f->first == refusal || !is_turn(f->at[refusal].turn)) return;
    if (used < 0 || (size_t)used + 2 >= n) return;
    memcpy(out + used, "; ", 3);
    limit_words(f, refusal, names, out + used + 2, n - (size_t)used - 2);
}
