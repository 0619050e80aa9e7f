/* The forecast against a simulator that does nothing but add tokens and pages, turn by turn, until it happens. */
#include "engine/forecast.h"
#include "tests/check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CREWS = 300, DRAWS = 20000 };
#else
enum { CREWS = 2000, DRAWS = 200000 };
#endif

enum { MOST_AGENTS = 12, HORIZON = 320 };

static uint64_t random_state;

static int below(int n)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

static int between(int low, int high) { return low + below(high - low + 1); }

/* ------------------------------------------------------------------ the simulator */

/* Turns count from 1.  wanted: what the next prompt would be if nothing ever stopped it; held: what is kept of it. */
struct sim {
    int n, page, front, seqs, pool_pages, most; /* most: pages of one sequence, which has a window; 0: none has */
    struct sim_agent { int max_tokens, ctx, held, wanted[HORIZON + 2], growth[HORIZON + 1]; } a[MOST_AGENTS];
    int own_first[MOST_AGENTS];   /* the turn of the agent's first refusal; 0: none within the horizon */
    int first[FORECAST_LIMITS];   /* the same of the whole */
    int agent[FORECAST_LIMITS];   /* who was it */
};

static int count_pages(int tokens, int page)
{
    int pages = 0;
    for (int held = 0; held < tokens; held += page) pages++;
    return pages;
}

/* Whole pages of the front that come before the last token. */
static int count_shared(int tokens, const struct sim *s)
{
    int pages = 0;
    for (int end = s->page; end <= s->front && end < tokens; end += s->page) pages++;
    return pages;
}

static int at_most(const struct sim *s, int pages) { return s->most ? MIN(pages, s->most) : pages; }

static void meets(struct sim *s, int turn, enum forecast_limit limit, int agent)
{
    if (s->first[limit]) return;
    s->first[limit] = turn;
    s->agent[limit] = agent;
}

/* The largest calls first, by moving each up to its place. */
static void insert(int *largest, int n, int pages)
{
    int i = n;
    for (; i > 0 && largest[i - 1] < pages; i--) largest[i] = largest[i - 1];
    largest[i] = pages;
}

/* A context takes tokens one by one until a call would not go any more. */
static void fill(struct sim_agent *a, int tokens)
{
    for (int i = 0; i < tokens && a->held + a->max_tokens < a->ctx; i++) a->held++;
}

static void sim_turn(struct sim *s, int turn)
{
    int front = 0, cache = 0, calls = 0, own[MOST_AGENTS];
    for (int i = 0; i < s->n; i++) {
        const struct sim_agent *a = &s->a[i];
        if (a->wanted[turn] + a->max_tokens > a->ctx) {
            if (!s->own_first[i]) s->own_first[i] = turn;
            meets(s, turn, FORECAST_CONTEXT, i);
        }
        int shared = count_shared(a->held, s), call = count_pages(MIN(a->held + a->max_tokens, a->ctx), s->page);
        if (at_most(s, call) > s->pool_pages) meets(s, turn, FORECAST_ALONE, i);
        front = MAX(front, shared);
        cache += at_most(s, count_pages(a->held, s->page) - shared);
        insert(own, i, at_most(s, call - shared));
    }
    for (int i = 0; i < MIN(s->seqs, s->n); i++) calls += own[i];
    if (front + cache > s->pool_pages) meets(s, turn, FORECAST_CACHE, -1);
    if (front + calls > s->pool_pages) meets(s, turn, FORECAST_CALLS, -1);
}

static void sim_run(struct sim *s)
{
    for (int i = 0; i < s->n; i++) fill(&s->a[i], s->a[i].wanted[1]);
    for (int turn = 1; turn <= HORIZON; turn++) {
        sim_turn(s, turn);
        for (int i = 0; i < s->n; i++) {
            struct sim_agent *a = &s->a[i];
            a->wanted[turn + 1] = a->wanted[turn] + a->growth[turn];
            fill(a, a->growth[turn]);
        }
    }
}

/* As seen from the turn `now`: what is already so is so at the next turn. */
static int as_of(int first, int now) { return first == 0 ? FORECAST_NEVER : MAX(first - now + 1, 1); }

/* ------------------------------------------------------------------ random crews */

/* Contexts full well within the horizon, or not growing; pools from much too small to large enough for ever. */
static void sim_draw(struct sim *s, int jitter_of)
{
    static const int pages[] = {1, 5, 16, 16, 16, 64};
    *s = (struct sim){.n = between(1, MOST_AGENTS), .page = pages[below(6)], .seqs = between(1, MOST_AGENTS)};
    s->front = below(3) ? below(200) : 0;
    int sum = 0;
    for (int i = 0; i < s->n; i++) {
        struct sim_agent *a = &s->a[i];
        a->ctx = between(300, 2000);
        a->max_tokens = below(200);
        a->wanted[1] = s->front + 1 + below(below(4) ? 150 : a->ctx);
        int growth = below(6) ? between(a->ctx / 128 + 1, a->ctx / (below(2) ? 4 : 32)) : 0;
        int jitter = jitter_of && growth ? growth / jitter_of : 0, period = between(1, HORIZON);
        if (below(2)) period = between(1, FORECAST_TURNS);
        for (int t = 1; t <= HORIZON; t++)
            a->growth[t] = t > period ? a->growth[t - period] : between(growth - jitter, growth + jitter);
        sum += a->ctx;
    }
    s->pool_pages = below(sum + sum / 4) / s->page;
    if (below(4) == 0) s->most = between(1, 600 / s->page + 2);
    sim_run(s);
}

static struct forecast_pool pool_of(const struct sim *s)
{
    return (struct forecast_pool){.tokens = (uint64_t)(s->pool_pages * s->page + below(s->page)), .page = s->page,
                                  .front = s->front, .seqs = s->seqs, .most = s->most * s->page};
}

static void start(const struct sim *s, struct forecast_agent *a, bool planned)
{
    for (int i = 0; i < s->n; i++) {
        a[i] = (struct forecast_agent){.max_tokens = s->a[i].max_tokens, .ctx = s->a[i].ctx};
        if (planned) forecast_assume(&a[i], s->a[i].growth[1]);
    }
}

/* ------------------------------------------------------------------ constant growth: exact */

static void exactly(const struct sim *s, const struct forecast_agent *a, const struct forecast *f, int now)
{
    int first = 0;
    for (int i = 0; i < s->n; i++) {
        CHECK_EQ(forecast_turn(&a[i]), as_of(s->own_first[i], now));
        CHECK_EQ(forecast_left(&a[i]), s->a[i].ctx - s->a[i].max_tokens - s->a[i].wanted[now]);
    }
    CHECK_EQ(f->unknown, 0);
    for (int l = 0; l < FORECAST_LIMITS; l++) {
        int turn = as_of(s->first[l], now);
        CHECK_EQ(f->at[l].turn, turn);
        if (turn > 1) CHECK_EQ(f->at[l].agent, s->first[l] ? s->agent[l] : -1);
        if (turn < as_of(s->first[first], now)) first = l;
    }
    CHECK_EQ(f->first, first);
}

TEST(forecast_of_constant_growth_is_exact_at_every_turn)
{
    static struct sim s;
    int seen[FORECAST_LIMITS] = {0}, never[FORECAST_LIMITS] = {0};
    struct forecast_agent a[MOST_AGENTS];
    random_state = 1;
    for (int round = 0; round < CREWS; round++) {
        sim_draw(&s, 0);
        struct forecast_pool pool = pool_of(&s);
        bool planned = below(2);
        start(&s, a, planned);
        for (int now = 1; now <= 40; now++) {
            for (int i = 0; i < s.n; i++) forecast_note(&a[i], s.a[i].wanted[now]);
            struct forecast f = forecast_make(a, s.n, &pool);
            if (now > 1 || planned) exactly(&s, a, &f, now);
        }
        for (int l = 0; l < FORECAST_LIMITS; l++) {
            seen[l] += s.first[l] > 2;
            never[l] += s.first[l] == 0;
        }
    }
    for (int l = 0; l < FORECAST_LIMITS; l++) {
        printf("  limit %d: met in %d crews, never in %d\n", l, seen[l], never[l]);
        CHECK(seen[l] > CREWS / 20 && never[l] > CREWS / 200);
    }
}

/* ------------------------------------------------------------------ jitter: never later, and how early at most */

/* What is true of the growths around `now`, counted from the simulator's own. */
struct around { int seen_largest, to_come_largest, to_come_smallest; };

static struct around look_around(const struct sim_agent *a, int now)
{
    struct around r = {.to_come_smallest = INT_MAX};
    for (int t = MAX(now - FORECAST_TURNS, 1); t < now; t++) r.seen_largest = MAX(r.seen_largest, a->growth[t]);
    for (int t = now; t <= HORIZON; t++) {
        r.to_come_largest = MAX(r.to_come_largest, a->growth[t]);
        r.to_come_smallest = MIN(r.to_come_smallest, a->growth[t]);
    }
    return r;
}

struct tally { int late, kept, near, exact; };

/* One named turn against the truth; calm: no growth to come is above what was seen; tight: nor far below. */
static void judge(int turn, int truth, bool calm, bool tight, struct tally *tally)
{
    CHECK(turn >= 1);
    bool ahead = truth > 1 && truth < FORECAST_NEVER; /* the others are too easy to count */
    tally->late += turn > truth;
    if (!calm) return;
    tally->kept += ahead;
    if (turn > truth) check_fail(__FILE__, __LINE__, "said turn %d, it was %d", turn, truth);
    if (!tight) return;
    tally->near += ahead;
    tally->exact += ahead && turn == truth;
    if (turn < truth - 1) check_fail(__FILE__, __LINE__, "said turn %d, it was as late as %d", turn, truth);
}

/* turn * (largest - smallest to come) <= largest. */
static bool is_tight(int turn, const struct around *r)
{
    return (int64_t)turn * (r->seen_largest - r->to_come_smallest) <= r->seen_largest;
}

static void judge_all(const struct sim *s, const struct forecast_agent *a, const struct forecast *f, int now,
                      struct tally *own, struct tally *whole)
{
    struct around r[MOST_AGENTS];
    bool all_calm = true;
    for (int i = 0; i < s->n; i++) {
        r[i] = look_around(&s->a[i], now);
        int turn = forecast_turn(&a[i]);
        bool calm = r[i].to_come_largest <= r[i].seen_largest;
        judge(turn, as_of(s->own_first[i], now), calm, is_tight(turn, &r[i]), own);
        all_calm = all_calm && calm;
    }
    for (int l = 0; l < FORECAST_LIMITS; l++) {
        bool tight = true;
        for (int i = 0; i < s->n; i++) tight = tight && is_tight(f->at[l].turn, &r[i]);
        judge(f->at[l].turn, as_of(s->first[l], now), all_calm, tight, whole);
    }
}

/* jitter is a part of growth: 1 / jitter_of either way. */
static void jitter(int jitter_of, struct tally *own, struct tally *whole)
{
    static struct sim s;
    struct forecast_agent a[MOST_AGENTS];
    for (int round = 0; round < CREWS; round++) {
        sim_draw(&s, jitter_of);
        struct forecast_pool pool = pool_of(&s);
        start(&s, a, false);
        for (int now = 1; now <= 30; now++) {
            for (int i = 0; i < s.n; i++) forecast_note(&a[i], s.a[i].wanted[now]);
            struct forecast f = forecast_make(a, s.n, &pool);
            if (now > 1) judge_all(&s, a, &f, now, own, whole);
        }
    }
}

TEST(forecast_of_growth_with_jitter_is_never_later_and_at_most_one_turn_early)
{
    static const int part[] = {50, 10, 2};
    random_state = 2;
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        struct tally own = {0}, whole = {0};
        jitter(part[i], &own, &whole);
        printf("  growth +- 1/%d: %d + %d named ahead, of them %d + %d within one turn (%d + %d exact); "
               "later than the truth when growth outgrew the last eight: %d + %d\n",
               part[i], own.kept, whole.kept, own.near, whole.near,
               own.exact, whole.exact, own.late, whole.late);
        CHECK(own.kept > CREWS && whole.kept > CREWS / 2 && own.near > CREWS && whole.near > CREWS / 10);
    }
}

/* ------------------------------------------------------------------ by hand */

static struct forecast_agent grown(int prompt, int growth, int max_tokens, int ctx)
{
    struct forecast_agent a = {.max_tokens = max_tokens, .ctx = ctx};
    forecast_note(&a, prompt - growth);
    forecast_note(&a, prompt);
    return a;
}

TEST(forecast_names_the_picture_in_the_header)
{
    struct forecast_agent a = grown(8, 2, 4, 20);
    CHECK_EQ(forecast_left(&a), 8);
    CHECK_EQ(forecast_turn(&a), 6);
    a.prompt = 9;
    CHECK_EQ(forecast_turn(&a), 5);
    a.prompt = 16;
    CHECK_EQ(forecast_turn(&a), 2);
    a.prompt = 17;
    CHECK_EQ(forecast_left(&a), -1);
    CHECK_EQ(forecast_turn(&a), 1);
}

TEST(forecast_knows_nothing_of_growth_before_the_second_note)
{
    struct forecast_agent a[2] = {{.max_tokens = 10, .ctx = 100}, grown(50, 10, 10, 100)};
    struct forecast_pool pool = {.tokens = 1000, .page = 16, .seqs = 2};
    forecast_note(&a[0], 50);
    CHECK_EQ(forecast_turn(&a[0]), FORECAST_UNKNOWN);
    struct forecast f = forecast_make(a, 2, &pool);
    CHECK_EQ(f.unknown, 1);
    CHECK_EQ(f.at[FORECAST_CONTEXT].turn, 6); /* of the one who is known */
    CHECK_EQ(f.at[FORECAST_CONTEXT].agent, 1);
    CHECK_EQ(f.at[FORECAST_ALONE].turn, FORECAST_NEVER); /* however it grows */
    CHECK_EQ(f.at[FORECAST_CALLS].turn, FORECAST_UNKNOWN);
    CHECK_EQ(f.at[FORECAST_CACHE].turn, FORECAST_UNKNOWN);
    pool.tokens = 90;
    CHECK_EQ(forecast_make(a, 1, &pool).at[FORECAST_ALONE].turn, FORECAST_UNKNOWN);
    forecast_note(&a[0], 50);
    CHECK_EQ(forecast_turn(&a[0]), FORECAST_NEVER);
    forecast_note(&a[0], 91);
    CHECK_EQ(forecast_turn(&a[0]), 1); /* too long, whatever it grew by */
}

/* As test_state.c's forecasts, at any time: only whole turns count. */
TEST(forecast_follows_turns_and_not_what_is_amid_them)
{
    struct forecast_agent a = {.ctx = 1000};
    forecast_follow(&a, 0, 3);
    forecast_follow(&a, 0, 93); /* a question */
    CHECK(!a.noted);
    forecast_follow(&a, 1, 103);
    CHECK(a.noted);
    CHECK_EQ(forecast_turn(&a), FORECAST_UNKNOWN);
    forecast_follow(&a, 1, 193);
    CHECK_EQ(forecast_left(&a), 897); /* as before it */
    forecast_follow(&a, 2, 203);
    CHECK_EQ(a.largest, 100);
    CHECK_EQ(forecast_turn(&a), 9);
    forecast_follow(&a, 2, 203);
    CHECK_EQ(a.turns, 1);
    forecast_follow(&a, 2, 150); /* something left, amid a turn that adds 300 */
    CHECK_EQ(forecast_left(&a), 850);
    forecast_follow(&a, 3, 420);
    CHECK_EQ(a.turns, 1);
    CHECK_EQ(a.prompt, 420);
    forecast_follow(&a, 4, 620);
    CHECK_EQ(a.largest, 200);
    forecast_follow(&a, 3, 420); /* taken back */
    CHECK_EQ(forecast_turn(&a), FORECAST_UNKNOWN);
    forecast_follow(&a, 4, 470);
    CHECK_EQ(forecast_turn(&a), 12);
    forecast_follow(&a, 0, 3); /* another conversation */
    CHECK(!a.noted);
    CHECK_EQ(a.ctx, 1000);
}

TEST(forecast_of_shrinking_or_standing_is_never)
{
    struct forecast_agent a = {.max_tokens = 10, .ctx = 100};
    for (int i = 0; i < 12; i++) {
        forecast_note(&a, 90 - MIN(i, 6) * 10);
        if (i > 0) CHECK_EQ(forecast_turn(&a), FORECAST_NEVER);
    }
    struct forecast_pool pool = {.tokens = 48, .page = 16, .seqs = 1};
    struct forecast f = forecast_make(&a, 1, &pool);
    for (int l = 0; l < FORECAST_LIMITS; l++) CHECK_EQ(f.at[l].turn, FORECAST_NEVER);
}

TEST(forecast_remembers_the_largest_growth_for_eight_turns)
{
    struct forecast_agent a = {.max_tokens = 0, .ctx = 10000};
    forecast_note(&a, 0);
    forecast_note(&a, 1000);
    forecast_note(&a, 500); /* summed up */
    for (int i = 1; i <= 6; i++) {
        forecast_note(&a, 500 + i * 10);
        CHECK_EQ(forecast_turn(&a), (9500 - i * 10) / 1000 + 2);
    }
    forecast_note(&a, 570);
    CHECK_EQ(forecast_turn(&a), (10000 - 570) / 10 + 2);
}

TEST(forecast_of_the_whole_says_who_and_what_is_first)
{
    struct forecast_agent a[3] = {grown(100, 10, 20, 200), grown(100, 20, 20, 200), grown(100, 20, 20, 200)};
    struct forecast_pool pool = {.tokens = 31 * 16, .page = 16, .front = 0, .seqs = 3};
    struct forecast f = forecast_make(a, 3, &pool);
    CHECK_EQ(f.at[FORECAST_CONTEXT].turn, 6);
    CHECK_EQ(f.at[FORECAST_CONTEXT].agent, 1); /* of two, the first */
    CHECK_EQ(f.at[FORECAST_CALLS].turn, 4);    /* 150 180 180: 10 12 12 pages; before 140 160 160: 9 10 10 */
    CHECK_EQ(f.at[FORECAST_CACHE].turn, 5);    /* 140 180 180: 9 12 12 pages; before 130 160 160: 9 10 10 */
    CHECK_EQ(f.at[FORECAST_ALONE].turn, FORECAST_NEVER);
    CHECK_EQ(f.first, FORECAST_CALLS);
    pool.seqs = 2;
    CHECK_EQ(forecast_make(a, 3, &pool).at[FORECAST_CALLS].turn, FORECAST_NEVER); /* 2 * 13 pages */
    pool.front = 99; /* 6 pages, once instead of three times */
    pool.seqs = 3;
    CHECK_EQ(forecast_make(a, 3, &pool).at[FORECAST_CALLS].turn, FORECAST_NEVER);
    pool.tokens = 11 * 16 + 15;
    f = forecast_make(a, 3, &pool);
    CHECK_EQ(f.at[FORECAST_ALONE].turn, 4); /* 180 tokens are 12 pages */
    CHECK_EQ(f.at[FORECAST_ALONE].agent, 1);
}

TEST(forecast_of_one_agent_waits_for_no_one)
{
    struct forecast_agent a = grown(100, 10, 20, 500);
    struct forecast_pool pool = {.tokens = 160, .page = 16, .seqs = 4};
    struct forecast f = forecast_make(&a, 1, &pool);
    CHECK_EQ(f.at[FORECAST_ALONE].turn, 6);
    CHECK_EQ(f.at[FORECAST_CALLS].turn, 6);
    CHECK_EQ(f.first, FORECAST_ALONE); /* the graver of the two */
}

TEST(forecast_counts_a_call_at_most_as_long_as_a_context)
{
    struct forecast_agent a[2] = {grown(50, 10, 500, 100), grown(50, 0, 0, 100)};
    struct forecast_pool pool = {.tokens = 11 * 16, .page = 16, .seqs = 2};
    CHECK_EQ(forecast_turn(&a[0]), 1);
    struct forecast f = forecast_make(a, 2, &pool);
    CHECK_EQ(f.at[FORECAST_CALLS].turn, FORECAST_NEVER); /* 100 and 50 tokens: 7 and 4 pages */
    CHECK_EQ(f.at[FORECAST_ALONE].turn, FORECAST_NEVER);
    pool.tokens = 10 * 16;
    CHECK_EQ(forecast_make(a, 2, &pool).at[FORECAST_CALLS].turn, 1);
    pool.tokens = 4 * 16;
    CHECK_EQ(forecast_make(a, 2, &pool).at[FORECAST_CACHE].turn, FORECAST_NEVER); /* the first never was computed */
    pool.tokens = 3 * 16;
    CHECK_EQ(forecast_make(a, 2, &pool).at[FORECAST_CACHE].turn, 1);
}

/* ------------------------------------------------------------------ hostile numbers */

/* Everything that is counted in tokens times k: every turn stays as it was. */
TEST(forecast_is_the_same_for_tokens_of_any_size)
{
    static struct sim s;
    struct forecast_agent a[MOST_AGENTS];
    random_state = 3;
    for (int round = 0; round < CREWS / 4; round++) {
        sim_draw(&s, 4);
        const int k = INT_MAX / 4096;
        struct forecast_pool pool = pool_of(&s);
        start(&s, a, false);
        for (int now = 1; now <= 3; now++)
            for (int i = 0; i < s.n; i++) forecast_note(&a[i], MIN(s.a[i].wanted[now], 4000));
        struct forecast f = forecast_make(a, s.n, &pool);
        for (int i = 0; i < s.n; i++) {
            a[i].prompt *= k;
            a[i].max_tokens *= k;
            a[i].ctx *= k;
            a[i].largest *= k;
        }
        pool = (struct forecast_pool){.tokens = pool.tokens * (uint64_t)k, .page = pool.page * k,
                                      .front = pool.front * k, .seqs = pool.seqs, .most = pool.most * k};
        struct forecast g = forecast_make(a, s.n, &pool);
        CHECK_MEM(&f, &g, sizeof f);
    }
}

static int hostile(void)
{
    static const int odd[] = {0, 0, 1, -1, INT_MIN, INT_MIN + 1, INT_MAX, INT_MAX - 1, 15, 16, 17, 4096, INT_MAX / 2};
    return odd[below(COUNT_OF(odd))];
}

static void hostile_agent(struct forecast_agent *a)
{
    *a = (struct forecast_agent){.max_tokens = hostile(), .ctx = hostile()};
    for (int i = below(12); i > 0; i--) below(2) ? forecast_note(a, hostile()) : forecast_assume(a, hostile());
    if (below(4) == 0) a->prompt = hostile();
    int64_t prompt = MAX(a->prompt, 0), max_tokens = MAX(a->max_tokens, 0), ctx = MAX(a->ctx, 0), growth = 0;
    for (int i = 0; i < FORECAST_TURNS; i++) growth = MAX(growth, a->growth[i]);
    int turn = forecast_turn(a);
    CHECK_EQ(forecast_left(a), ctx - prompt - max_tokens);
    if (turn == FORECAST_UNKNOWN) CHECK_EQ(a->turns, 0);
    if (turn > 1) CHECK(prompt + (turn - 2) * growth + max_tokens <= ctx);
    if (turn == FORECAST_NEVER) CHECK_EQ(growth, 0);
    else if (turn > 0 && turn < FORECAST_NEVER - 1) CHECK(prompt + (turn - 1) * growth + max_tokens > ctx);
}

TEST(forecast_of_hostile_numbers_keeps_its_order)
{
    static const uint64_t tokens[] = {0, 1, 15, 16, 4096, INT_MAX, UINT64_C(1) << 62, INT64_MAX, UINT64_MAX};
    struct forecast_agent a[3];
    char out[400];
    random_state = 4;
    for (int round = 0; round < DRAWS; round++) {
        int n = below(4);
        for (int i = 0; i < n; i++) hostile_agent(&a[i]);
        struct forecast_pool pool = {.tokens = tokens[below(COUNT_OF(tokens))], .page = hostile(), .front = hostile(),
                                     .seqs = hostile(), .most = hostile()};
        struct forecast f = forecast_make(a, n, &pool);
        for (int l = 0; l < FORECAST_LIMITS; l++) {
            CHECK(f.at[l].turn >= 0 && f.at[l].agent >= -1 && f.at[l].agent < n);
            if (f.at[l].turn == FORECAST_UNKNOWN) CHECK(f.unknown > 0);
            if (f.at[l].turn > 0 && f.at[f.first].turn > 0) CHECK(f.at[f.first].turn <= f.at[l].turn);
        }
        if (f.at[FORECAST_ALONE].turn > 0 && f.at[FORECAST_ALONE].turn < FORECAST_NEVER)
            CHECK(f.at[FORECAST_CALLS].turn > 0 && f.at[FORECAST_CALLS].turn <= f.at[FORECAST_ALONE].turn);
        if (n == 0) CHECK(f.at[FORECAST_CALLS].turn == FORECAST_NEVER && f.at[FORECAST_CONTEXT].agent == -1);
        forecast_words(&f, NULL, out, sizeof out);
        CHECK(strlen(out) > 0 && strlen(out) < sizeof out - 1);
    }
    struct forecast_pool pool = {.tokens = 16, .page = 16, .seqs = 1};
    CHECK_EQ(forecast_make(NULL, INT_MIN, &pool).at[FORECAST_CACHE].turn, FORECAST_NEVER);
}

TEST(forecast_beyond_what_an_int_counts_is_the_last_turn_and_not_never)
{
    struct forecast_agent a = grown(1, 1, 0, INT_MAX);
    struct forecast_pool pool = {.tokens = INT_MAX - 1, .page = 1, .seqs = 1};
    CHECK_EQ(forecast_turn(&a), FORECAST_NEVER - 1);
    struct forecast f = forecast_make(&a, 1, &pool);
    CHECK_EQ(f.at[FORECAST_CACHE].turn, FORECAST_NEVER - 1);
    CHECK_EQ(f.at[FORECAST_ALONE].turn, FORECAST_NEVER - 1);
}

/* ------------------------------------------------------------------ words */

static const char *agent_words(struct forecast_agent a)
{
    static char out[200];
    forecast_agent_words(&a, "researcher", out, sizeof out);
    return out;
}

TEST(forecast_words_of_an_agent)
{
    struct forecast_agent fresh = {.max_tokens = 100, .ctx = 4096};
    forecast_note(&fresh, 3000);
    CHECK_STR(agent_words(grown(3584, 200, 100, 4096)),
              "researcher: 412 tokens, 3 turns until its context (4096) is full");
    CHECK_STR(agent_words(grown(3995, 2, 100, 4096)), "researcher: 1 token, 1 turn until its context (4096) is full");
    CHECK_STR(agent_words(grown(4000, 2, 100, 4096)),
              "researcher: 4 tokens too many for its context (4096): its next call is refused");
    CHECK_STR(agent_words(grown(3584, 0, 100, 4096)), "researcher: 412 tokens left in its context (4096), not growing");
    CHECK_STR(agent_words(fresh), "researcher: 996 tokens left in its context (4096), growth not known yet");
    CHECK_STR(agent_words((struct forecast_agent){.prompt = INT_MAX, .max_tokens = INT_MAX, .ctx = INT_MIN}),
              "researcher: 4294967294 tokens too many for its context (0): its next call is refused");
}

TEST(forecast_words_of_the_whole)
{
    static const char *const names[] = {"writer", NULL};
    struct forecast_agent a[2] = {grown(100, 10, 20, 200), grown(100, 20, 20, 200)};
    struct forecast_pool pool = {.tokens = 1000, .page = 16, .seqs = 2};
    char out[300];
    struct forecast f = forecast_make(a, 2, &pool);
    forecast_words(&f, names, out, sizeof out);
    CHECK_STR(out, "after 5 turns agent 2's context is full: its call is refused");
    pool.tokens = 320;
    f = forecast_make(a, 2, &pool);
    forecast_words(&f, names, out, sizeof out);
    CHECK_STR(out, "after 3 turns the pool does not hold all calls at once: some wait; "
                   "after 5 turns agent 2's context is full: its call is refused");
    pool.seqs = 1;
    f = forecast_make(a, 2, &pool);
    forecast_words(&f, names, out, sizeof out);
    CHECK_STR(out, "after 4 turns the pool does not keep all contexts: some are computed again; "
                   "after 5 turns agent 2's context is full: its call is refused");
    pool.tokens = 112;
    f = forecast_make(a, 1, &pool);
    forecast_words(&f, names, out, sizeof out);
    CHECK_STR(out, "now writer's call needs more than the whole pool: it is refused");
    f = forecast_make(a, 0, &pool);
    forecast_words(&f, names, out, sizeof out);
    CHECK_STR(out, "at this growth nothing runs full");
}

TEST(forecast_words_are_cut_where_their_room_ends)
{
    struct forecast_agent a[2] = {grown(100, 10, 20, 200), grown(100, 20, 20, 200)};
    struct forecast_pool pool = {.tokens = 320, .page = 16, .seqs = 2};
    struct forecast f = forecast_make(a, 2, &pool);
    char all[300], cut[300];
    forecast_words(&f, NULL, all, sizeof all);
    for (size_t n = 0; n < strlen(all) + 8; n++) {
        memset(cut, '#', sizeof cut);
        forecast_words(&f, NULL, cut, n);
        CHECK_EQ(cut[n], '#');
        if (n == 0) continue;
        CHECK(strlen(cut) < n && strlen(cut) + 3 >= MIN(n, strlen(all)));
        CHECK_MEM(cut, all, strlen(cut));
    }
    forecast_agent_words(a, "writer", cut, 9);
    CHECK_STR(cut, "writer: ");
}

TEST(forecast_words_say_when_growth_is_not_known)
{
    struct forecast_agent a[2] = {{.prompt = 100, .max_tokens = 20, .ctx = 200}, grown(100, 20, 20, 200)};
    struct forecast_pool pool = {.tokens = 1000, .page = 16, .seqs = 2};
    char out[300];
    struct forecast f = forecast_make(a, 1, &pool);
    forecast_words(&f, NULL, out, sizeof out);
    CHECK_STR(out, "growth is not known yet");
    f = forecast_make(a, 2, &pool);
    forecast_words(&f, NULL, out, sizeof out);
    CHECK_STR(out, "after at most 5 turns agent 2's context is full: its call is refused");
}

CHECK_MAIN
