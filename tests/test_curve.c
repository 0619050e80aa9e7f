/* Curves: what they keep of many samples, and how they are shown. */
#include "app/learn/curve.h"
#include "tests/check.h"

static struct curve c;

static void sample(struct curve *to, double time, int64_t reserved, int64_t filled)
{
    curve_add(to, &(struct event){.kind = EV_MEMORY, .time = time, .memory = {.pool_tokens = 100,
        .reserved_tokens = reserved, .filled_tokens = filled, .weight_bytes = 1000, .kv_bytes = 900, .work_bytes = 50,
        .ceiling_bytes = 4000, .running = 2, .waiting = 3}});
    curve_add(to, &(struct event){.kind = EV_MACHINE, .time = time, .machine = {.token_bytes = 10, .table_bytes = 50}});
}

static void fail_wanting(struct curve *to, int64_t wanted)
{
    curve_add(to, &(struct event){.kind = EV_OOM, .time = 1, .oom = {.turn = 1, .wanted_bytes = wanted,
        .size_bytes = 1000, .free_bytes = 100, .hole_bytes = 40}});
}

static const char *shown(const struct curve *of, int columns, int rows, int64_t size)
{
    static struct buf out;
    out.len = 0;
    curve_chart(of, columns, rows, size, true, &out);
    return out.data;
}

TEST(points_are_bytes_of_the_pool)
{
    curve_init(&c, false);
    sample(&c, 0.5, 60, 20);
    CHECK_EQ(c.n, 1);
    CHECK_EQ(c.size, 1000);
    CHECK_EQ(c.point[0].taken, 600);
    CHECK_EQ(c.point[0].filled, 200);
    CHECK_EQ(c.point[0].hole, -1);
    CHECK_EQ(c.point[0].running, 2);
    curve_add(&c, &(struct event){.kind = EV_NAIVE, .naive = {.taken_bytes = 700, .filled_bytes = 300,
        .hole_bytes = 150, .size_bytes = 1000}});
    CHECK_EQ(c.n, 1);
    CHECK_EQ(c.point[0].taken, 700);
    CHECK_EQ(c.point[0].filled, 300);
    CHECK_EQ(c.point[0].hole, 150);
}

TEST(or_of_all_under_the_ceiling)
{
    curve_init(&c, true);
    sample(&c, 0.5, 60, 20);
    CHECK_EQ(c.size, 4000);
    CHECK_EQ(c.point[0].taken, 2000);
    curve_add(&c, &(struct event){.kind = EV_NAIVE, .naive = {.taken_bytes = 3500, .size_bytes = 4000}});
    CHECK_EQ(c.point[0].taken, 3500);
    CHECK_EQ(c.point[0].filled, 3500);
}

TEST(where_it_failed_is_a_point)
{
    curve_init(&c, false);
    sample(&c, 0.1, 10, 5);
    fail_wanting(&c, 300);
    fail_wanting(&c, 999);
    sample(&c, 0.2, 20, 5);
    CHECK_EQ(c.n, 3);
    CHECK_EQ(c.failed_at, 1);
    CHECK_EQ(c.failed_wanted, 300);
    CHECK_EQ(c.point[1].taken, 900);
    CHECK_EQ(c.point[1].hole, 40);
}

TEST(of_many_samples_the_highest_stay)
{
    curve_init(&c, false);
    for (int i = 0; i < 10 * CURVE_POINTS; i++) {
        sample(&c, i, i == 7000 ? 99 : 50, i == 300 ? 44 : 10);
        if (i == 5000) fail_wanting(&c, 300);
    }
    int64_t taken = 0, filled = 0;
    int at = -1;
    CHECK(c.n > CURVE_POINTS / 2 && c.n <= CURVE_POINTS);
    for (int i = 0; i < c.n; i++) {
        if (c.point[i].taken > taken && i > c.n * 6 / 10) at = i;
        if (i > c.n * 6 / 10) taken = MAX(taken, c.point[i].taken);
        filled = MAX(filled, i < c.n / 10 ? c.point[i].filled : 0);
        CHECK(i == 0 || c.point[i].time >= c.point[i - 1].time);
    }
    CHECK_EQ(taken, 990);
    CHECK_EQ(filled, 440);
    CHECK(at * 10 / c.n == 6 || at * 10 / c.n == 7);
    CHECK(c.failed_at * 100 / c.n >= 48 && c.failed_at * 100 / c.n <= 50);
    CHECK_EQ(c.point[c.failed_at].taken, 900);
}

TEST(agents_are_known_by_their_turns)
{
    curve_init(&c, false);
    for (int i = 0; i < CURVE_AGENTS + 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "a%d", i % (CURVE_AGENTS + 2));
        curve_add(&c, &(struct event){.kind = EV_TURN_START, .agent = event_str(name),
                                      .turn_start = {.prompt_tokens = 100 + i}});
    }
    curve_add(&c, &(struct event){.kind = EV_TURN_END, .agent = event_str("a3"),
                                  .turn_end = {.prompt_tokens = 103, .tokens = 20}});
    curve_add(&c, &(struct event){.kind = EV_REFUSAL, .agent = event_str("a4")});
    CHECK_EQ(c.agents, CURVE_AGENTS);
    CHECK_STR(c.agent[3].name, "a3");
    CHECK_EQ(c.agent[3].tokens, 123);
    CHECK_EQ(c.agent[0].tokens, 118); /* it asked twice */
    CHECK(c.agent[4].failed && !c.agent[3].failed);
    CHECK_EQ(c.turns, 1);
}

TEST(a_chart)
{
    curve_init(&c, false);
    CHECK_STR(shown(&c, 3, 2, 0), "   \n   \n");
    sample(&c, 0, 0, 0);
    sample(&c, 1, 50, 0);
    sample(&c, 2, 100, 50);
    sample(&c, 3, 100, 100);
    CHECK_STR(shown(&c, 6, 2, 0), "  :#  \n :##  \n");
    CHECK_STR(shown(&c, 4, 2, 2000), "    \n :##\n");
    CHECK_STR(shown(&c, 2, 2, 0), " #\n:#\n");
    fail_wanting(&c, 300);
    CHECK_STR(shown(&c, 5, 2, 0), "  :#!\n :###\n");
}

TEST(a_bar)
{
    struct buf out = {0};
    curve_init(&c, false);
    curve_bar(&c, 8, true, &out);
    CHECK_STR(out.data, "KV [        ] 0.0 of 0.0 MiB  0 running, 0 waiting");
    sample(&c, 1, 50, 25);
    out.len = 0;
    curve_bar(&c, 8, true, &out);
    CHECK_STR(out.data, "KV [##::    ] 0.0 of 0.0 MiB  2 running, 3 waiting");
    buf_free(&out);
}

TEST(agents_side_by_side)
{
    struct buf out = {0};
    static const int64_t tokens[] = {0, 100, 256, 400, 512, 5000};
    curve_init(&c, false);
    curve_add(&c, &(struct event){.kind = EV_SESSION_OPEN, .session_open = {.ctx = 512}});
    for (size_t i = 0; i < COUNT_OF(tokens); i++) {
        char name[2] = {(char)('a' + i), '\0'};
        curve_add(&c, &(struct event){.kind = EV_TURN_START, .agent = event_str(name),
                                      .turn_start = {.prompt_tokens = tokens[i]}});
    }
    curve_add(&c, &(struct event){.kind = EV_OOM, .agent = event_str("d")});
    curve_agents(&c, true, &out);
    CHECK_STR(out.data, "agents [025!99]");
    out.len = 0;
    curve_agents(&c, false, &out);
    CHECK_STR(out.data, "agents ▕▁▂▅✗██▏");
    buf_free(&out);
}

TEST(a_table)
{
    struct buf out = {0};
    struct curve b;
    const struct curve *const runs[] = {&c, &b};
    static const char *const names[] = {"broken", "fixed"};
    curve_init(&c, false);
    curve_init(&b, false);
    sample(&c, 0.25, 50, 25);
    fail_wanting(&c, 300);
    sample(&b, 0.5, 10, 5);
    curves_csv(runs, names, 2, &out);
    CHECK_STR(out.data, "run,point,time_s,turns,running,waiting,taken_bytes,filled_bytes,hole_bytes,size_bytes,failed\n"
              "broken,0,0.250000,0,2,3,500,250,,1000,0\n"
              "broken,1,1.000000,0,2,3,900,250,40,1000,1\n"
              "fixed,0,0.500000,0,2,3,100,50,,1000,0\n");
    buf_free(&out);
}

/* Every element that is begun is ended, and no text becomes one. */
static void check_picture(const char *svg)
{
    int depth = 0;
    for (const char *at = strchr(svg, '<'); at; at = strchr(at + 1, '<')) {
        const char *end = strchr(at, '>');
        CHECK(end);
        if (at[1] == '/') depth--;
        else if (end[-1] != '/') depth++;
        CHECK(depth >= 0);
    }
    CHECK_EQ(depth, 0);
}

TEST(a_picture)
{
    struct buf out = {0};
    const struct curve *const runs[] = {&c, &c};
    static const char *const names[] = {"broken", "fixed"};
    curve_init(&c, false);
    curves_svg(runs, names, 2, "empty", &out);
    check_picture(out.data);
    out.len = 0;
    sample(&c, 1, 50, 25);
    fail_wanting(&c, 2 << 20);
    curves_svg(runs, names, 2, "a < b & \"c\"</svg>", &out);
    check_picture(out.data);
    CHECK(strstr(out.data, "a &lt; b &amp; &quot;c&quot;&lt;/svg&gt;"));
    CHECK(strstr(out.data, "broken: out of memory") && strstr(out.data, "wanted 2.0 MiB more"));
    CHECK(strstr(out.data, "V120.0"));
    buf_free(&out);
}

CHECK_MAIN
