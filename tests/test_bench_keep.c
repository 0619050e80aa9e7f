/* What the bench makes of its figures: the one table, and whether they are kept, where, and why not. */
#include "tests/bench/bench.h"
#include "tests/bench/section.h"
#include "tests/check.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 6 };

static const char before[] = "# Speed\n\n## Figures\n\n### old\n\n" SECTION_CHART "\n\nrow\n";
static const char section[] = "### new\n\n" SECTION_CHART "\n\nrows\n";

/* A run with all rows that have goals, each of which reaches what it must. */
struct run {
    struct options o;
    struct subject s[FILES];
};

static struct figure figure(const struct subject *s, enum goal_kind kind)
{
    struct reading r = {.rate = 1, .share = 0.934, .limits = {.read = 51, .int8 = 1130}};
    struct judgement j = goal_judge(s->name, s->type, kind, &r, 1);
    if (kind != GOAL_ONE) r.rate = j.scaled.must + 1;
    else r.rate = 40;
    return (struct figure){.there = true, .rate = {r.rate, r.rate - 1, r.rate + 1}, .share = r.share,
                           .limit = kind == GOAL_ONE || kind == GOAL_EIGHT ? 51 : 1130, .limits = r.limits,
                           .goal = goal_judge(s->name, s->type, kind, &r, 1)};
}

static struct run *whole_run(void)
{
    static struct run r;
    struct err err;
    r = (struct run){.o = {.threads = 2, .reps = 3, .kv_type = KT_F16}};
    snprintf(r.o.folder, sizeof r.o.folder, "made");
    CHECK_EQ(plan_read(&r.o.plan, "pp512,tg128,b8x32,b16x32", &err), 0);
    CHECK_EQ(goal_shapes(), FILES);
    for (int i = 0; i < FILES; i++) {
        struct subject *s = &r.s[i];
        const char *shape, *type;
        goal_shape(i, &shape, &type);
        snprintf(s->name, sizeof s->name, "%s", shape);
        snprintf(s->type, sizeof s->type, "%s", type);
        s->plan = &r.o.plan;
        for (int kind = 0; kind < GOAL_KINDS; kind++) {
            s->ours.figure[kind] = figure(s, (enum goal_kind)kind);
            s->peer.figure[kind] = (struct figure){.there = true, .rate = {20, 19, 21}, .share = 0.1, .limit = 51};
        }
    }
    return &r;
}

/* ------------------------------------------------------------------- keeping */

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* The text of a file, until the next call; NULL: there is none. */
static const char *text_of(const char *path)
{
    static char text[1 << 17];
    FILE *f = fopen(path, "r");
    if (!f) return NULL;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    return text;
}

/* An empty place with a SPEED.md, where the test goes on. */
static void place(void)
{
    CHECK_EQ(chdir(check_tmpdir()), 0);
    CHECK_EQ(system("rm -rf tests made && mkdir -p tests/bench made"), 0);
    put("tests/bench/SPEED.md", before);
}

static int keep(struct run *r, int n, int failed, struct err *err)
{
    *err = (struct err){0};
    return keep_figures(&r->o, r->s, n, "a machine", section, failed, err);
}

TEST(keep_puts_the_section_and_the_chart_into_their_places)
{
    struct err err;
    place();
    put("tests/bench/speed.svg", "old");
    CHECK_EQ(keep(whole_run(), FILES, 0, &err), 0);
    CHECK_STR(text_of("tests/bench/SPEED.md"),
              "# Speed\n\n## Figures\n\n### new\n\n" SECTION_CHART "\n\nrows\n\n### old\n\nrow\n");
    const char *svg = text_of("tests/bench/speed.svg");
    CHECK(strncmp(svg, "<svg ", 5) == 0);
    CHECK(strstr(svg, ">a machine</text>"));
    CHECK(strstr(svg, "read bandwidth 51 to 51 GB/s, int8 peak 1130 to 1130 GOP/s"));
    CHECK(strstr(svg, ">276 tok/s, 13.8 x peer, 93 % of 1130 GOP/s: must</text>")); /* 550 of half the peak, and 1 */
    CHECK(strstr(svg, ">40 tok/s, 2.0 x peer, 93 % of 51 GB/s: must</text>"));
    CHECK_STR(text_of("made/section.md"), section);
    CHECK(access("tests/bench/SPEED.md.new", F_OK) && access("tests/bench/speed.svg.new", F_OK));
}

static void is_refused(struct run *r, int n, int failed)
{
    struct err err;
    place();
    CHECK_EQ(keep(r, n, failed, &err), 0);
    CHECK_STR(text_of("tests/bench/SPEED.md"), before);
    CHECK(access("tests/bench/speed.svg", F_OK));
    CHECK_STR(text_of("made/section.md"), section);
    CHECK(strncmp(text_of("made/speed.svg"), "<svg ", 5) == 0);
}

TEST(keep_refuses_a_quick_look)
{
    struct run *r = whole_run();
    r->o.quick = true;
    is_refused(r, FILES, 0);
}

TEST(keep_refuses_what_was_asked_for_without_the_peer)
{
    struct run *r = whole_run();
    r->o.no_peer = true;
    is_refused(r, FILES, 0);
}

TEST(keep_refuses_a_run_with_other_pages)
{
    struct run *r = whole_run();
    r->o.kv_type = KT_Q8_0;
    is_refused(r, FILES, 0);
}

TEST(keep_refuses_a_run_that_failed_somewhere) { is_refused(whole_run(), FILES, 1); }

TEST(keep_refuses_a_run_without_all_rows)
{
    is_refused(whole_run(), FILES - 1, 0);
    for (int kind = 0; kind < GOAL_KINDS; kind++) {
        struct run *r = whole_run();
        r->s[3].ours.figure[kind].there = false;
        is_refused(r, FILES, 0);
    }
    struct run *r = whole_run();
    r->o.plan.test[2].swept = true; /* it is in the sweep's table only */
    is_refused(r, FILES, 0);
}

TEST(keep_refuses_a_run_that_others_disturbed)
{
    struct run *r = whole_run();
    r->s[2].ours.figure[1].noise = 0.09;
    is_refused(r, FILES, 0);
    r = whole_run();
    r->s[5].peer.figure[3].noise = 0.5;
    is_refused(r, FILES, 0);
}

/* Where its library is not installed there is none to ask. */
TEST(keep_takes_a_run_without_a_peer)
{
    struct err err;
    struct run *r = whole_run();
    place();
    for (int i = 0; i < FILES; i++) r->s[i].peer = (struct side){0};
    CHECK_EQ(keep(r, FILES, 0, &err), 0);
    CHECK(strstr(text_of("tests/bench/SPEED.md"), "### new"));
    CHECK(!strstr(text_of("tests/bench/speed.svg"), "x peer"));
}

TEST(keep_says_when_there_is_no_place)
{
    struct err err;
    place();
    CHECK_EQ(unlink("tests/bench/SPEED.md"), 0);
    CHECK_EQ(keep(whole_run(), FILES, 0, &err), -1);
    CHECK(strstr(err.text, "SPEED.md"));
    CHECK(access("tests/bench/speed.svg", F_OK));
    put("tests/bench/SPEED.md", "# Speed\n");
    CHECK_EQ(keep(whole_run(), FILES, 0, &err), -1);
    CHECK(strstr(err.text, SECTION_HEADING));
    CHECK_STR(text_of("tests/bench/SPEED.md"), "# Speed\n");
    CHECK(access("tests/bench/speed.svg", F_OK));
}

/* ----------------------------------------------------------------- the table */

static const char *table(const struct run *r, int n)
{
    static char *text;
    size_t size;
    free(text);
    FILE *f = open_memstream(&text, &size);
    rows_print(&r->o, r->s, n, true, f);
    CHECK_EQ(fclose(f), 0);
    return text;
}

static struct run *other_run(const char *tests)
{
    struct run *r = whole_run();
    struct err err;
    CHECK_EQ(plan_read(&r->o.plan, tests, &err), 0);
    memset(&r->s[0].ours, 0, sizeof r->s[0].ours);
    memset(&r->s[0].peer, 0, sizeof r->s[0].peer);
    r->s[0].smallest = true;
    return r;
}

TEST(rows_have_shares_ratios_and_goals)
{
    const char *text = table(whole_run(), FILES);
    CHECK(strstr(text, "| llama3.2-1b | q8_0 | pp512 | 276.0 (275.0-277.0) | 93 % of 1130 GOP/s | 20.0 (19.0-21.0) | "
                       "10 % of 51 GOP/s | 13.80 | 275 / 320: must | 550 / 640: below |"));
    CHECK(strstr(text, "| 40.0 (39.0-41.0) | 93 % of 51 GB/s | 20.0 (19.0-21.0) | 10 % of 51 GB/s | 2.00 | "
                       "92 / 97 %, slow: must | 92 / 97 %, slow: must |"));
    CHECK(strstr(text, "beside each repetition: 4 good, 20 must, 0 below."));
    CHECK(strstr(text, "85 GB/s: 4 good, 2 must, 18 below."));
}

TEST(rows_of_one_thread_are_held_against_all)
{
    struct run *r = other_run("tg128,tg64t1,pp512,pp512t1,b8x8t1,tg8t3");
    static const double rate[] = {40, 21, 300, 149, 7, 30};
    for (int i = 0; i < 6; i++) r->s[0].ours.figure[i] = (struct figure){.there = true, .rate = {rate[i], 1, 99}};
    const char *text = table(r, 1);
    CHECK(strstr(text, "tg64t1 | 21.0 (1.0-99.0) | 0 % of 0 GB/s; 52 % of all threads | - | - | - | 50 %: must |"));
    CHECK(strstr(text, "pp512t1 | 149.0 (1.0-99.0) | 0 % of 0 GOP/s; 50 % of all threads | - | - | - | 50 %: below |"));
    CHECK(strstr(text, "b8x8t1 | 7.0 (1.0-99.0) | 0 % of 0 GB/s | - | - | - | - | - |"));
    CHECK(strstr(text, "tg8t3 | 30.0 (1.0-99.0) | 0 % of 0 GB/s; 75 % of all threads | - | - | - | - | - |"));
}

TEST(rows_of_depth_and_of_a_neighbour_are_the_smallest_files)
{
    struct run *r = other_run("d4096tg16,busy64");
    r->s[0].ours.figure[0] = (struct figure){.there = true, .rate = {30, 29, 31}, .share = 0.55, .limit = 50};
    r->s[0].ours.beside = (struct beside){.there = true, .alone = {40, 40, 40}, .busy = {22, 21, 23}, .part = 0.55};
    r->s[0].peer.beside = (struct beside){.there = true, .alone = {30, 30, 30}, .busy = {11, 11, 11}, .part = 0.37};
    const char *text = table(r, 1);
    CHECK(strstr(text, "d4096tg16 | 30.0 (29.0-31.0) | attention 55 % of 50 GB/s |"));
    CHECK(strstr(text, "busy64 | 22.0 (21.0-23.0) | 55 % of 40.0 alone | 11.0 (11.0-11.0) | 37 % of 30.0 alone | "
                       "2.00 |"));
    r->s[0].ours.figure[0].share = 0;
    CHECK(strstr(table(r, 1), "| attention: too little to tell |"));
    r->s[0].ours.figure[0].unsteady = true;
    r->s[0].ours.figure[0].noise = 0.2;
    CHECK(strstr(table(r, 1), "| 30.0*~ (29.0-31.0) |"));
    r->s[0].smallest = false;
    text = table(r, 1);
    CHECK(!strstr(text, "d4096tg16") && !strstr(text, "busy64"));
}

TEST(rows_of_loads_are_held_against_the_peer)
{
    struct run *r = other_run("load");
    r->s[0].file_bytes = 1300000000;
    struct loading *ours = &r->s[0].ours.load, *peer = &r->s[0].peer.load;
    *ours = (struct loading){.there = true, .s = {{0.5, 0.4, 0.6}, {0.2, 0.1, 0.3}}, .memory_s = 0.41};
    *peer = (struct loading){.there = true, .s = {{1.0, 0.9, 1.1}, {0.8, 0.7, 0.9}}};
    const char *text = table(r, 1);
    CHECK(strstr(text, "load | 0.50 s (0.40-0.60) | 2.6 GB/s; its memory alone 0.41 s | 1.00 s (0.90-1.10) | 1.3 GB/s "
                       "| 2.00 | 1.00 s: must | 1.00 s: must |"));
    CHECK(strstr(text, "load again | 0.20 s (0.10-0.30) | 6.5 GB/s | 0.80 s (0.70-0.90) | 1.6 GB/s | 4.00 | "
                       "0.80 s: must | 0.80 s: must |"));
    ours->s[LOAD_FRESH].median = 1.01;
    text = table(r, 1);
    CHECK(strstr(text, "| 1.00 s: below |") && strstr(text, "| 0.80 s: must |"));
    peer->there = false;
    ours->memory_s = 0;
    CHECK(strstr(table(r, 1), "load | 1.01 s (0.40-0.60) | 1.3 GB/s | - | - | - | - | - |"));
}

static void add_row(void *self, const char *row)
{
    buf_printf(self, "%s;", row);
}

TEST(rows_of_loads_say_where_others_took_part_of_the_machine)
{
    struct run *r = other_run("load");
    struct loading *ours = &r->s[0].ours.load, *peer = &r->s[0].peer.load;
    *ours = (struct loading){.there = true, .s = {{0.5, 0.4, 0.6}, {0.2, 0.1, 0.3}}, .noise = NOISE_MOST};
    *peer = (struct loading){.there = true, .s = {{1.0, 0.9, 1.1}, {0.8, 0.7, 0.9}}};
    CHECK_EQ(rows_disturbed(&r->o, r->s, 1, add_row, &(struct buf){0}), 0); /* so much is allowed */
    CHECK(!strchr(table(r, 1), '*'));
    peer->noise = NOISE_MOST + 0.01;
    const char *text = table(r, 1);
    CHECK(strstr(text, "load | 0.50 s (0.40-0.60) | 0.0 GB/s | 1.00* s (0.90-1.10) | 0.0 GB/s | 2.00* |"));
    CHECK(strstr(text, "load again | 0.20 s (0.10-0.30) | 0.0 GB/s | 0.80* s (0.70-0.90) | 0.0 GB/s | 4.00* |"));
    peer->there = false;
    peer->noise = 0;
    ours->noise = NOISE_MOST + 0.01;
    CHECK(strstr(table(r, 1), "load | 0.50* s (0.40-0.60) | 0.0 GB/s | - | - | - |"));
    struct buf rows = {0};
    CHECK_EQ(rows_disturbed(&r->o, r->s, 1, add_row, &rows), 2);
    CHECK_STR(rows.data, "llama3.2-1b q8_0 load;llama3.2-1b q8_0 load again;");
    buf_free(&rows);
}

CHECK_MAIN
