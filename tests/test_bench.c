/* The bench, but for what it measures: its words for tests, goals read in two ways, the chart, SPEED.md's sections. */
#include "tests/bench/bench.h"
#include "tests/bench/chart.h"
#include "tests/bench/goals.h"
#include "tests/bench/section.h"
#include "tests/bench/limits.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <getopt.h>

/* --------------------------------------------------------------------- plan */

static struct plan planned(const char *list)
{
    struct plan p;
    struct err err = {0};
    CHECK_EQ(plan_read(&p, list, &err), 0);
    return p;
}

TEST(plan_reads_every_kind_of_test)
{
    struct plan p = planned("pp512,tg128,b8x32,d4096tg16,tg64t1,b16x8t12,agents8,resume,watch100,busy64,load,"
                            "ledger4x256");
    static const struct test want[] = {
        {"pp512", true, false, 1, 512, 0, 0}, {"tg128", false, false, 1, 128, 0, 0},
        {"b8x32", false, false, 8, 32, 0, 0}, {"d4096tg16", false, false, 1, 16, 4096, 0},
        {"tg64t1", false, false, 1, 64, 0, 1}, {"b16x8t12", false, false, 16, 8, 0, 12},
    };
    CHECK_EQ(p.tests, (int)COUNT_OF(want));
    for (int i = 0; i < p.tests; i++) {
        CHECK_STR(p.test[i].name, want[i].name);
        CHECK(p.test[i].prefill == want[i].prefill && !p.test[i].swept);
        CHECK_EQ(p.test[i].seqs, want[i].seqs);
        CHECK_EQ(p.test[i].n, want[i].n);
        CHECK_EQ(p.test[i].depth, want[i].depth);
        CHECK_EQ(p.test[i].threads, want[i].threads);
    }
    CHECK(p.resume && p.load);
    CHECK_EQ(p.agents, 8);
    CHECK_EQ(p.watch, 100);
    CHECK_EQ(p.busy, 64);
    CHECK_EQ(p.weigh_seqs, 4);
    CHECK_EQ(p.weigh_ctx, 256);
}

TEST(plan_says_which_limit_is_a_tests)
{
    struct plan p = planned("pp8,tg8,b8x8,b9x8,b16x8,d64tg8");
    static const bool want[] = {true, false, false, true, true, false};
    for (int i = 0; i < p.tests; i++) CHECK(test_multiplies(&p.test[i]) == want[i]);
}

TEST(plan_of_a_sweep_shares_the_tests_that_are_named)
{
    struct plan p = planned("sweep,b8x32,b8x32");
    CHECK_EQ(p.sweep, 32);
    CHECK_EQ(p.tests, BENCH_SWEEP);
    for (int i = 0; i < p.tests; i++) CHECK_EQ(p.test[i].swept, p.test[i].seqs != 8);
    p = planned("b8x32,sweep");
    CHECK(!p.test[0].swept && p.test[1].swept);
    p = planned("load");
    CHECK(p.load && !p.resume && p.tests == 0);
}

TEST(plan_refuses_what_is_no_test)
{
    static const char *const list[] = {"", ",", "pp", "pp0", "pp512,", "pp512x", "pp-5", "xpp5", "tg4294967297", "tg 5",
                                       "tg1048577", "b0x4", "b65x4", "b8", "b8x", "d31tg4", "d4096", "d4096tg",
                                       "d4096tg0", "tg5t0", "tg5t65", "tg5t", "d64tg5t1", "sweep0", "sweep8,sweep16",
                                       "agents0", "agents65", "watch", "busy", "busy0", "ledger0x64", "ledger4x63",
                                       "resumed", "loads", "a-word-that-is-longer-than-any-test-can-be"};
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        struct plan p;
        struct err err = {0};
        if (plan_read(&p, list[i], &err) == 0) CHECK_STR(list[i], "refused");
        CHECK(err.text[0]);
    }
}

TEST(plan_has_room_for_so_many)
{
    struct buf list = {0};
    struct plan p;
    struct err err = {0};
    for (int i = 1; i <= BENCH_TESTS; i++) buf_printf(&list, "%stg%d", i > 1 ? "," : "", i);
    CHECK_EQ(plan_read(&p, list.data, &err), 0);
    CHECK_EQ(p.tests, BENCH_TESTS);
    buf_puts(&list, ",tg999");
    CHECK_EQ(plan_read(&p, list.data, &err), -1);
    buf_free(&list);
}

/* ------------------------------------------------------------------ options */

#define OPTIONS(o, err, ...)                                                                                           \
    options((o), (err), (char *[]){"bench", __VA_ARGS__, NULL}, (int)COUNT_OF(((const char *[]){"bench", __VA_ARGS__})))

static int options(struct options *o, struct err *err, char **argv, int argc)
{
    optind = 1;
    *err = (struct err){0};
    return options_read(o, argc, argv, err);
}

TEST(options_name_the_type_of_pages_as_the_program_does)
{
    static struct options o;
    struct err err;
    CHECK_EQ(OPTIONS(&o, &err, "--quick"), 0);
    CHECK_EQ(o.kv_type, KT_F16);
    static const struct {
        const char *name;
        enum ktype type;
    } want[] = {{"f16", KT_F16}, {"q8_0", KT_Q8_0}, {"f32", KT_F32}};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        CHECK_EQ(OPTIONS(&o, &err, "--kv-type", (char *)want[i].name), 0);
        CHECK_EQ(o.kv_type, want[i].type);
    }
    CHECK_EQ(OPTIONS(&o, &err, "--kv-type", "q4_0"), -1);
    CHECK_STR(err.text, "--kv-type \"q4_0\": f16, q8_0 or f32");
}

/* -------------------------------------------------------------------- goals */

static struct reading reading(double rate, double share, double read, double int8)
{
    return (struct reading){.rate = rate, .share = share, .limits = {.read = read, .int8 = int8}};
}

static struct judgement one(const char *type, enum goal_kind kind, struct reading r)
{
    return goal_judge("llama3.2-1b", type, kind, &r, 1);
}

TEST(goal_of_a_prompt_is_scaled_by_the_int8_peak)
{
    struct judgement j = one("q8_0", GOAL_PREFILL, reading(450, 0.5, 40, 1582));
    CHECK(j.there && !j.share && !j.scaled.state);
    CHECK_NEAR(j.stated.must, 550, 1e-9);
    CHECK_NEAR(j.stated.good, 640, 1e-9);
    CHECK_NEAR(j.scaled.must, 385, 1e-9);
    CHECK_NEAR(j.scaled.good, 448, 1e-9);
    CHECK_EQ(j.stated.verdict, VERDICT_BELOW);
    CHECK_EQ(j.scaled.verdict, VERDICT_GOOD);
    CHECK_EQ(one("q8_0", GOAL_PREFILL, reading(447.9, 0.5, 40, 1582)).scaled.verdict, VERDICT_MUST);
    CHECK_EQ(one("q8_0", GOAL_PREFILL, reading(384.9, 0.5, 40, 1582)).scaled.verdict, VERDICT_BELOW);
    CHECK_EQ(one("q8_0", GOAL_PREFILL, reading(551, 0.5, 40, 2260)).stated.verdict, VERDICT_MUST);
    /* a faster machine is asked for more */
    CHECK_EQ(one("q8_0", GOAL_PREFILL, reading(640, 0.5, 40, 4520)).scaled.verdict, VERDICT_BELOW);
    CHECK_EQ(one("q8_0", GOAL_PREFILL, reading(640, 0.5, 40, 4520)).stated.verdict, VERDICT_GOOD);
}

TEST(goal_of_one_sequence_is_a_share_by_the_state_of_the_bandwidth)
{
    struct judgement slow = one("q8_0", GOAL_ONE, reading(30, 0.91, 51, 2260));
    struct judgement fast = one("q8_0", GOAL_ONE, reading(30, 0.91, 85, 2260));
    CHECK(slow.share && fast.share);
    CHECK_NEAR(slow.scaled.must, 0.92, 1e-9);
    CHECK_NEAR(slow.scaled.good, 0.97, 1e-9);
    CHECK_NEAR(fast.scaled.must, 0.85, 1e-9);
    CHECK_STR(slow.scaled.state, "slow");
    CHECK_STR(fast.stated.state, "fast");
    CHECK_EQ(slow.scaled.verdict, VERDICT_BELOW);
    CHECK_EQ(fast.scaled.verdict, VERDICT_GOOD);
    CHECK_EQ(fast.stated.verdict, VERDICT_GOOD);
    /* neither a slower clock nor a slower memory changes a share */
    CHECK_NEAR(one("q8_0", GOAL_ONE, reading(30, 0.91, 20, 500)).scaled.must, 0.92, 1e-9);
}

TEST(goal_of_eight_is_scaled_by_what_is_scarcer)
{
    struct judgement clock = one("q8_0", GOAL_EIGHT, reading(200, 0.8, 51, 1130));
    struct judgement memory = one("q8_0", GOAL_EIGHT, reading(200, 0.8, 25.5, 2260));
    struct judgement fast = one("q8_0", GOAL_EIGHT, reading(200, 0.8, 85, 2260));
    CHECK_NEAR(clock.scaled.must, 120, 1e-9);
    CHECK_NEAR(memory.scaled.good, 132.5, 1e-9);
    CHECK_NEAR(fast.scaled.must, 320, 1e-9);
    CHECK_NEAR(fast.stated.good, 370, 1e-9);
    CHECK_EQ(clock.stated.verdict, VERDICT_BELOW);
    CHECK_EQ(clock.scaled.verdict, VERDICT_GOOD);
    CHECK_EQ(fast.scaled.verdict, VERDICT_BELOW);
}

TEST(goal_of_sixteen_does_not_look_at_the_bandwidth)
{
    struct judgement j = one("q4_k", GOAL_SIXTEEN, reading(300, 0.3, 10, 1130));
    CHECK_NEAR(j.scaled.must, 180, 1e-9);
    CHECK_NEAR(j.scaled.good, 200, 1e-9);
    CHECK_NEAR(j.stated.must, 360, 1e-9);
}

/* The state changed between repetitions: each is held against the goal of its own. */
TEST(goal_is_judged_repetition_by_repetition)
{
    struct reading r[3] = {reading(330, 0.7, 85, 2260), reading(250, 0.7, 51, 2260), reading(100, 0.7, 51, 2260)};
    struct judgement j = goal_judge("llama3.2-1b", "q8_0", GOAL_EIGHT, r, 3);
    CHECK_NEAR(j.stated.must, 320, 1e-9); /* 330 / 320 lies between 250 / 240 and 100 / 240 */
    CHECK_EQ(j.stated.verdict, VERDICT_MUST);
    r[0].rate = 310;
    CHECK_EQ(goal_judge("llama3.2-1b", "q8_0", GOAL_EIGHT, r, 3).stated.verdict, VERDICT_BELOW);
    CHECK_EQ(goal_judge("llama3.2-1b", "q8_0", GOAL_EIGHT, r, 2).stated.verdict, VERDICT_BELOW); /* the lower of two */
}

TEST(goal_is_not_there_for_other_files)
{
    struct reading r = reading(1, 1, 50, 2000);
    CHECK(!goal_judge("llama3.2-1b", "f16", GOAL_ONE, &r, 1).there);
    CHECK(!goal_judge("smollm2-135m", "q8_0", GOAL_ONE, &r, 1).there);
    CHECK(!goal_judge("llama3.2-1b", "q8_0", GOAL_ONE, &r, 0).there);
    CHECK(!goal_has("llama3.2-1b", "q5_0"));
    for (int i = 0; i < goal_shapes(); i++) {
        const char *shape, *type;
        goal_shape(i, &shape, &type);
        CHECK(goal_has(shape, type));
        for (int kind = 0; kind < GOAL_KINDS; kind++) {
            struct judgement j = goal_judge(shape, type, (enum goal_kind)kind, &r, 1);
            CHECK(j.there && j.stated.must > 0 && j.stated.good > j.stated.must);
        }
    }
}

TEST(goal_without_a_table)
{
    CHECK_EQ(goal_of(0.59, 0.6, 0.7).verdict, VERDICT_BELOW);
    CHECK_EQ(goal_of(0.60, 0.6, 0.7).verdict, VERDICT_MUST);
    CHECK_EQ(goal_of(0.70, 0.6, 0.7).verdict, VERDICT_GOOD);
    CHECK_EQ(goal_of(5000, 1000, 0).verdict, VERDICT_MUST);
}

TEST(goal_beside_another_process_is_what_a_core_is_worth)
{
    struct goal two = goal_beside(0.6, 2, 2), many = goal_beside(0.97, 2, 8), one_core = goal_beside(0.5, 1, 1);
    CHECK_NEAR(two.must, 0.5, 1e-9);
    CHECK_NEAR(two.good, 2.0 / 3, 1e-9);
    CHECK_EQ(two.verdict, VERDICT_MUST);
    CHECK_NEAR(many.good, 1, 1e-9);
    CHECK_NEAR(one_core.must, 0.5, 1e-9);
    CHECK_EQ(one_core.verdict, VERDICT_GOOD);
}

/* -------------------------------------------------------------------- chart */

/* Elements closed in order, attributes quoted, "&" only as one of three entities: what a reader of XML insists on. */
static const char *well_formed(const char *s)
{
    const char *open[32];
    int depth = 0, roots = 0;
    while (*s) {
        if (*s == '&') {
            if (strncmp(s, "&amp;", 5) && strncmp(s, "&lt;", 4) && strncmp(s, "&gt;", 4)) return "a bare &";
            s++;
        } else if (*s == '<') {
            s++;
            const char *name = *s == '/' ? s + 1 : s;
            size_t n = strcspn(name, " />\n");
            const char *end = strchr(s, '>');
            if (!end || n == 0) return "a tag without an end or a name";
            if (*s == '/') {
                if (depth-- == 0 || strncmp(open[depth], name, n) || strcspn(open[depth], " />\n") != n)
                    return "another was open";
            } else {
                int quotes = 0;
                for (const char *c = s; c < end; c++) {
                    if (*c == '<') return "< in a tag";
                    if (*c == '=' && quotes % 2 == 0 && c[1] != '"') return "an attribute without quotes";
                    quotes += *c == '"';
                }
                if (quotes % 2) return "an open quote";
                if (depth == 0 && roots++) return "a second root";
                if (end[-1] != '/') open[depth++] = name;
                if (depth == 32) return "too deep";
            }
            s = end + 1;
        } else {
            if (depth == 0 && *s != '\n') return "text outside";
            s++;
        }
    }
    return depth ? "not closed" : "";
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what)) n++;
    return n;
}

static struct chart some_chart(void)
{
    struct chart c = {.title = "plimsoll <1> & \"llama.cpp\"", .line = {"limits: 38 GB/s"}, .lines = 1, .panels = 1};
    c.panel[0] = (struct chart_panel){.title = "Prompt", .rows = 2};
    c.panel[0].row[0] = (struct chart_row){.label = "llama q8_0", .note = "x 4", .ours = 400, .peer = 100, .must = 200,
                                           .good = 300};
    c.panel[0].row[1] = (struct chart_row){.label = "llama q4_0", .note = "", .ours = 200};
    return c;
}

TEST(chart_has_bars_and_marks_where_figures_are)
{
    struct chart c = some_chart();
    struct buf out = {0};
    chart_write(&c, &out);
    CHECK(!out.failed);
    CHECK_STR(well_formed(out.data), "");
    CHECK_EQ(count(out.data, "class=\"ours\""), 3); /* the legend's too */
    CHECK_EQ(count(out.data, "class=\"peer\""), 2);
    CHECK_EQ(count(out.data, "class=\"must\""), 2);
    CHECK_EQ(count(out.data, "class=\"good\""), 2);
    CHECK(strstr(out.data, "<rect x=\"150\" y=\"111\" width=\"480.0\" height=\"9\" class=\"ours\"/>"));
    CHECK(strstr(out.data, "<rect x=\"150\" y=\"121\" width=\"120.0\" height=\"9\" class=\"peer\"/>"));
    CHECK(strstr(out.data, "<line x1=\"390.0\" y1=\"108\" x2=\"390.0\" y2=\"122\" class=\"must\"/>"));
    CHECK(strstr(out.data, ">limits: 38 GB/s</text>"));
    CHECK(strstr(out.data, "plimsoll &lt;1&gt; &amp; \"llama.cpp\""));
    CHECK(strstr(out.data, "prefers-color-scheme: dark"));
    buf_free(&out);
}

TEST(chart_scale_ends_at_a_round_number_above_all)
{
    struct chart c = some_chart();
    struct buf out = {0};
    c.panel[0].row[0].good = 1201; /* the highest of all is a mark */
    chart_write(&c, &out);
    CHECK(strstr(out.data, ">1500</text>"));
    CHECK(strstr(out.data, "<rect x=\"150\" y=\"111\" width=\"128.0\""));
    buf_free(&out);
}

TEST(chart_leaves_out_what_is_no_number)
{
    struct chart c = some_chart();
    struct buf out = {0};
    c.panel[0].row[0].ours = NAN;
    c.panel[0].row[0].peer = INFINITY;
    c.panel[0].row[0].must = -5;
    c.panel[0].row[1].ours = 0;
    chart_write(&c, &out);
    CHECK_STR(well_formed(out.data), "");
    CHECK_EQ(count(out.data, "class=\"ours\""), 1);
    CHECK_EQ(count(out.data, "class=\"peer\""), 1);
    CHECK_EQ(count(out.data, "class=\"must\""), 1);
    CHECK(!strstr(out.data, "nan") && !strstr(out.data, "inf"));
    buf_free(&out);
}

TEST(chart_is_well_formed_whatever_its_texts_hold)
{
    static const char *const text[] = {"a\x01z", "cut \xe2\x82", "\xc0\x80", "\xed\xa0\x80", "\xef\xbf\xbf", "\xff\xfe",
                                       "]]><!--", "\xf0\x9f\x9a\xa2 \xc3\xa9", "\n\t\x7f"};
    static const char *const shown[] = {"a?z", "cut ??", "??", "???", "???", "??", "]]&gt;&lt;!--",
                                        "\xf0\x9f\x9a\xa2 \xc3\xa9", "???"};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        struct chart c = some_chart();
        struct buf out = {0};
        char want[80];
        snprintf(c.panel[0].row[0].label, sizeof c.panel[0].row[0].label, "%s", text[i]);
        snprintf(want, sizeof want, ">%s</text>", shown[i]);
        chart_write(&c, &out);
        CHECK_STR(well_formed(out.data), "");
        CHECK(strstr(out.data, want));
        buf_free(&out);
    }
}

/* ------------------------------------------------------------------ section */

static void inserts(const char *text, const char *section, const char *want)
{
    struct buf out = {0};
    struct err err = {0};
    CHECK_EQ(section_insert(text, section, &out, &err), 0);
    CHECK_STR(out.data, want);
    buf_free(&out);
}

TEST(section_is_put_before_the_newest)
{
    inserts("# Speed\n\n### not here\n\n## Figures\n\nNewest.\n\n### old\n\nrow\n\n### older\n", "### new\n\nrows\n",
            "# Speed\n\n### not here\n\n## Figures\n\nNewest.\n\n### new\n\nrows\n\n### old\n\nrow\n\n### older\n");
    inserts("## Figures\n\n### old\n", "### new\n\n", "## Figures\n\n### new\n\n### old\n");
    inserts("## Figures\n\n### old", "### new", "## Figures\n\n### new\n\n### old");
}

TEST(section_may_be_the_first)
{
    inserts("## Figures\n\nNewest first.\n", "### new\n", "## Figures\n\nNewest first.\n\n### new\n\n");
    inserts("## Figures", "### new\n", "## Figures\n\n### new\n\n");
}

TEST(section_takes_the_chart_from_the_older_ones)
{
    inserts(SECTION_CHART "\n## Figures\n\n### old\n\n" SECTION_CHART "\n\nrow\n",
            "### new\n\n" SECTION_CHART "\n\nrow\n",
            SECTION_CHART "\n## Figures\n\n### new\n\n" SECTION_CHART "\n\nrow\n\n### old\n\nrow\n");
    inserts("## Figures\n\n### old\n" SECTION_CHART "\nrow\n", "### new\n", "## Figures\n\n### new\n\n### old\nrow\n");
}

TEST(section_needs_the_heading)
{
    static const char *const text[] = {"", "# Speed\n\n### old\n", "## Figures of old\n\n### old\n", " ## Figures\n"};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        struct buf out = {0};
        struct err err = {0};
        CHECK_EQ(section_insert(text[i], "### new\n", &out, &err), -1);
        CHECK(strstr(err.text, SECTION_HEADING));
        buf_free(&out);
    }
}

/* ------------------------------------------------------------------------ what a token costs */

static const struct limits even = {.read = 1, .int8 = 1}; /* GB/s, GOP/s */

TEST(a_step_is_held_against_what_it_reads_or_multiplies)
{
    struct tiny shape = TINY_LLAMA;
    struct cost c, mix;
    struct err err = {0};
    shape.layers = 1;
    CHECK_EQ(cost_read(tiny_file(&shape, NULL, "dense.gguf"), &c, &err), 0);
    CHECK(c.chosen == 1 && c.experts == 0);
    CHECK(c.body == 64 * (64 + 32 + 32 + 64) + 3 * 64 * 96); /* q, k, v, o; gate, up, down */
    const struct test one = {.seqs = 1, .n = 10}, many = {.seqs = 16, .n = 10}, prompt = {.seqs = 1, .n = 7,
                                                                                          .prefill = true};
    CHECK(fabs(cost_share(&c, &one, 2, &even) - c.bytes * 10 / 2e9) < 1e-12);
    CHECK(fabs(cost_share(&c, &many, 2, &even) - 2 * 160 * (c.body + c.output) / 2e9) < 1e-12);
    CHECK(fabs(cost_share(&c, &prompt, 2, &even) - 2 * (7 * c.body + c.output) / 2e9) < 1e-12);

    shape.experts = 8, shape.used = 2;
    CHECK_EQ(cost_read(tiny_file(&shape, NULL, "mixture.gguf"), &mix, &err), 0);
    CHECK(mix.chosen == 0.25 && mix.output == c.output);
    CHECK(mix.body == c.body + 3 * 64 * 96 + 64 * 8); /* a token goes through two; the router */
    CHECK(mix.experts == 8 * 3 * 64 * 96 * sizeof(float));
    CHECK(mix.bytes == c.bytes - 3 * 64 * 96 * sizeof(float) + 64 * 8 * sizeof(float));
    const struct test two = {.seqs = 2, .n = 1}; /* two tokens meet 1 - (3/4)^2 of the experts */
    CHECK(fabs(cost_share(&mix, &two, 1, &even) - (mix.bytes + mix.experts * 0.4375) / 1e9) < 1e-12);
}

TEST(a_file_that_is_no_model_has_no_cost)
{
    struct cost c;
    struct err err = {0};
    CHECK_EQ(cost_read(tiny_text_file("none.gguf", "no model"), &c, &err), -1);
    CHECK(*err.text);
}

CHECK_MAIN
