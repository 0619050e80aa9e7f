/* The gauges as they look (golden screens, in UTF-8 and in ASCII), and that their digits are the figures: read back off
 * the screen they equal what was given, and the parts that are shown add up to the whole that is shown.
 *
 * Golden screens lie in tests/fixtures/screens; PLIMSOLL_WRITE_SCREENS=1 writes them anew: look at each before it is
 * committed. */
#include "app/tui/gauges.h"
#include "app/tui/layout.h"
#include "app/tui/pagemap.h"
#include "tests/check.h"

#include <math.h>

#define MIB (1ull << 20)

/* ------------------------------------------------------------------ a session, made up */

static const float prefill_past[] = {0, 210, 480, 1140, 1180, 900, 1020, 400, 880, 1200, 1140};
static const float decode_past[] = {120, 130, 180, 190, 170, 212, 220, 205, 212, 208, 212};

static const struct gauges session = {
    .device = {.label = "VRAM", .weights = 18 * MIB, .kv_filled = 132 * MIB, .kv_unfilled = 252 * MIB,
               .work = 52 * MIB, .tables = 12 * MIB, .context = 0, .outside = 6 * MIB, .free = 40 * MIB},
    .kv = {.own = 1192, .shared = 220, .cached = 31, .reserved = 310, .free = 2343, .parked = 12},
    .speed = {.prefill = 1140, .decode = 212, .prefill_past = prefill_past, .decode_past = decode_past, .past = 11,
              .streams = 3, .first_token = 0.084, .queue = 1, .queue_first = "writer", .queue_pages = 96,
              .tokens_in = 48211, .tokens_out = 6120, .reused = 31744,
              .gpu_load = 83, .gpu_celsius = 61, .gpu_watts = 240},
};

static const struct gauge_agent agents[] = {
    {"planner", 0, AGENT_RUNS, "31 t/s", {212, 40, 0, 300, 0, 60, 196, 1240}},
    {"researcher", 1, AGENT_TOOL, "search", {212, 0, 140, 530, 318, 118, 312, 418}},
    {"critic", 2, AGENT_IDLE, NULL, {212, 0, 0, 28, 0, 0, 0, 1808}},
    {"writer", 3, AGENT_QUEUED, NULL, {0, 0, 0, 0, 0, 0, 0, 2048}},
};

/* ------------------------------------------------------------------ golden screens */

static struct surface open_surface(int columns, int rows)
{
    struct surface s;
    struct err err;
    CHECK_EQ(surface_open(&s, columns, rows, &err), 0);
    return s;
}

static void draw_map(struct surface *s, struct box b, enum glyphs glyphs)
{
    static struct pagemap_cell cell[SURFACE_MAX * 8];
    static const struct pagemap_agent owner[] = {{"planner", 0}, {"researcher", 1}, {"critic", 2}};
    struct pagemap m = {.pages = 4096, .page_tokens = 16, .page_bytes = 96 << 10, .cell = cell, .agent = owner,
                        .agents = 3, .selected = 137, .about = "tool results, tokens 592-607, 1 holder",
                        .letters = true};
    m.cells = pagemap_cells(b, m.pages);
    CHECK(m.cells <= (int)COUNT_OF(cell));
    for (int i = 0; i < m.cells; i++) {
        uint64_t page = pagemap_first(&m, i);
        cell[i] = (struct pagemap_cell){.state = page < 220 ? PAGE_SHARED : page < 1412 ? PAGE_HELD
                                                : page < 1443 ? PAGE_CACHED : PAGE_FREE,
                                        .agent = (uint8_t)(page / 100 % 3), .mixed = page % 100 > 96};
    }
    pagemap_draw(s, b, &m, glyphs);
}

static void draw_screen(struct surface *s, bool machine, enum glyphs glyphs)
{
    struct layout l = layout_for((struct layout_wish){s->columns, s->rows, 1, machine});
    struct gauges g = session;
    const char *across = bar_glyph(BAR_THIN, glyphs);
    if (machine) {
        g.device.label = "budget";
        g.machine = (struct gauge_machine){true, 466 * MIB, 9000 * MIB, 6534 * MIB, 0};
    }
    gauges_draw(s, l.gauges, &g, glyphs);
    for (int i = 0; i < 2; i++) surface_fill(s, l.rule[i], 0, 0, l.rule[i].columns, across, (struct look){0});
    for (int i = 0; i < 2; i++) surface_fill_down(s, l.divide[i], 1, 0, l.divide[i].rows, "|", (struct look){0});
    draw_map(s, l.chat, glyphs);
    gauges_agents(s, l.side, agents, 4, glyphs);
    gauges_context(s, l.inspect, &agents[1], glyphs);
}

static void read_file(const char *path, struct buf *out)
{
    char block[4096];
    FILE *f = fopen(path, "rb");
    if (!f) check_fail(__FILE__, __LINE__, "%s is not there", path);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) buf_put(out, block, n);
    fclose(f);
}

static void check_golden(const char *name, const struct buf *screen)
{
    char path[200];
    struct buf want = {0};
    snprintf(path, sizeof path, "tests/fixtures/screens/%s.txt", name);
    if (getenv("PLIMSOLL_WRITE_SCREENS")) {
        FILE *f = fopen(path, "wb");
        CHECK(f && fwrite(screen->data, 1, screen->len, f) == screen->len && fclose(f) == 0);
    }
    read_file(path, &want);
    CHECK_STR(screen->data, want.data);
    buf_free(&want);
}

static void check_screen(int columns, int rows, bool machine, enum glyphs glyphs)
{
    char name[64];
    struct surface s = open_surface(columns, rows);
    struct buf out = {0};
    draw_screen(&s, machine, glyphs);
    surface_dump(&s, &out);
    snprintf(name, sizeof name, "gauges-%dx%d-%s", columns, rows, glyphs == GLYPHS_ASCII ? "ascii" : "mono");
    check_golden(name, &out);
    buf_free(&out);
    surface_close(&s);
}

TEST(golden_80x24_mono) { check_screen(80, 24, false, GLYPHS_UTF8); }
TEST(golden_80x24_ascii) { check_screen(80, 24, false, GLYPHS_ASCII); }
TEST(golden_120x36_mono) { check_screen(120, 36, false, GLYPHS_UTF8); }
TEST(golden_120x36_ascii) { check_screen(120, 36, false, GLYPHS_ASCII); }
TEST(golden_200x60_mono_with_the_machine) { check_screen(200, 60, true, GLYPHS_UTF8); }
TEST(golden_200x60_ascii_with_the_machine) { check_screen(200, 60, true, GLYPHS_ASCII); }
TEST(golden_120x36_hues)
{
    struct surface s = open_surface(120, 36);
    struct buf out = {0};
    draw_screen(&s, true, GLYPHS_ASCII);
    surface_dump_looks(&s, &out);
    check_golden("gauges-120x36-hues", &out);
    buf_free(&out);
    surface_close(&s);
}
TEST(golden_40x10_ascii) { check_screen(40, 10, true, GLYPHS_ASCII); }

/* ------------------------------------------------------------------ digits read back */

static uint64_t state = 88172645463325252u;
static uint64_t random_64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static struct buf row_of(const struct gauges *g, int columns, int row)
{
    struct surface s = open_surface(columns, 4), one;
    struct buf out = {0};
    gauges_draw(&s, surface_all(&s), g, GLYPHS_ASCII);
    one = s;
    one.cell += (size_t)row * (size_t)columns;
    one.rows = 1;
    surface_dump(&one, &out);
    surface_close(&s);
    return out;
}

/* The number behind a word; false: the word is not there. */
static bool number_after(const char *text, const char *word, int64_t *out)
{
    const char *at = strstr(text, word);
    bool minus = false;
    if (!at) return false;
    at += strlen(word);
    if (*at == '-') minus = *at++;
    CHECK(*at >= '0' && *at <= '9');
    for (*out = 0; (*at >= '0' && *at <= '9') || *at == ','; at++)
        if (*at != ',') *out = 10 * *out + (*at - '0');
    if (minus) *out = -*out;
    return true;
}

static const char *const device_words[] = {"weights ", "KV filled ", "KV unfilled ", "work ", "tables ", "context ",
                                           "outside ", "free "};

TEST(bytes_on_the_screen_are_the_bytes_given_and_add_up)
{
    for (int round = 0; round < 300; round++) {
        struct gauge_device d = {.label = "VRAM"};
        uint64_t *part[] = {&d.weights, &d.kv_filled, &d.kv_unfilled, &d.work, &d.tables, &d.context};
        for (size_t i = 0; i < COUNT_OF(part); i++) *part[i] = random_64() % 9000 * MIB;
        d.free = (3000 + random_64() % 9000) * MIB;
        d.outside = ((int64_t)(random_64() % 6000) - 2000) * (int64_t)MIB;
        struct gauges g = {.device = d};
        struct buf row = row_of(&g, 300, 0);
        int64_t n, sum = 0, whole;
        for (size_t i = 0; i < COUNT_OF(device_words); i++) {
            if (!number_after(row.data, device_words[i], &n)) n = 0; /* a small part of 0 is not told */
            const uint64_t given = i < 6 ? *part[i] : i == 7 ? d.free : 0;
            CHECK_EQ(n, i == 6 ? d.outside / (int64_t)MIB : (int64_t)(given / MIB));
            sum += n;
        }
        CHECK(number_after(row.data, " of ", &whole));
        CHECK_EQ(sum, whole);
        buf_free(&row);
    }
}

TEST(rounded_bytes_add_up_too)
{
    for (int round = 0; round < 300; round++) {
        int bits = (int)(random_64() % 40);
        struct gauges g = {.device = {.label = "VRAM", .weights = random_64() >> 4 >> bits,
                           .kv_filled = random_64() >> 8 >> bits, .kv_unfilled = random_64() >> 4 >> bits,
                           .work = random_64() >> 8 >> bits, .tables = random_64() >> 5 >> bits,
                           .outside = (int64_t)(random_64() >> 5 >> bits), .free = random_64() >> 4 >> bits}};
        struct buf row = row_of(&g, 300, 0);
        int64_t n, sum = 0, whole;
        for (size_t i = 0; i < COUNT_OF(device_words); i++)
            if (number_after(row.data, device_words[i], &n)) sum += n;
        CHECK(number_after(row.data, " of ", &whole));
        CHECK_EQ(sum, whole);
        buf_free(&row);
    }
}

/* The sum of the numbers of parts in a row, joined ones too; how many words there are. */
static int sum_of(const char *row, int64_t *sum)
{
    static const char *const words[] = {"weights ", "KV filled ", "KV unfilled ", "work ", "tables ", "context ",
                                        "outside ", "free ", "other "};
    int64_t n;
    int found = 0;
    *sum = 0;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (!number_after(row, words[i], &n)) continue;
        *sum += n;
        found++;
    }
    if (!strstr(row, "KV filled ") && number_after(row, "  KV ", &n)) *sum += n;
    return found;
}

TEST(numbers_add_up_at_every_width_or_the_whole_stands_alone)
{
    int forms[10] = {0};
    for (int columns = 100; columns <= 300; columns++) {
        struct buf row = row_of(&session, columns, 0);
        int64_t sum;
        int found = sum_of(row.data, &sum);
        CHECK(strstr(row.data, "472 of 512 MiB"));
        if (found) CHECK_EQ(sum, 512);
        forms[found]++;
        buf_free(&row);
    }
    CHECK(forms[3] && forms[5] && forms[7]); /* the pool joined, others joined, each (there is no context) */
}

TEST(a_device_without_numbers_that_fit_shows_no_part_of_them)
{
    struct gauges g = session;
    g.device.weights = g.device.free = UINT64_MAX / 4;
    for (int columns = 1; columns <= 130; columns++) {
        if (columns >= GAUGES_SHORT && columns < GAUGES_FULL) continue; /* the pages are in the same row */
        struct buf row = row_of(&g, columns, 0);
        int64_t sum, whole;
        if (columns < GAUGES_SHORT) CHECK_EQ(sum_of(row.data, &sum), 0);
        else if (sum_of(row.data, &sum)) CHECK(number_after(row.data, " of ", &whole) && sum == whole);
        buf_free(&row);
    }
}

TEST(pages_and_rates_on_the_screen_are_those_given)
{
    for (int round = 0; round < 300; round++) {
        uint64_t k[6];
        for (int i = 0; i < 6; i++) k[i] = random_64() % 100000;
        struct gauges g = {.kv = {k[0], k[1], k[2], k[3], k[4], k[5], 0},
                           .speed = {.prefill = (double)(10 + k[0]), .decode = (double)(10 + k[1]), .streams = 2,
                                     .queue = (int)k[2], .tokens_in = k[3], .tokens_out = k[4], .reused = k[5],
                                     .drafted = round % 3 == 0 ? 0 : k[0] + 1}};
        static const char *const words[] = {"own ", "shared ", "cached ", "reserved ", "free ", "parked "};
        struct buf row = row_of(&g, 200, 1), speed = row_of(&g, 200, 2);
        int64_t n;
        for (int i = 0; i < 6; i++) CHECK(number_after(row.data, words[i], &n) && n == (int64_t)k[i]);
        CHECK(number_after(row.data, " of ", &n) && n == (int64_t)(k[0] + k[1] + k[2] + k[3] + k[4]));
        CHECK(number_after(speed.data, "pre-fill ", &n) && n == (int64_t)(10 + k[0]));
        CHECK(number_after(speed.data, "decode ", &n) && n == (int64_t)(10 + k[1]));
        CHECK(number_after(speed.data, "queue ", &n) && n == (int64_t)k[2]);
        CHECK(number_after(speed.data, "in ", &n) && n == (int64_t)k[3]);
        CHECK(number_after(speed.data, "out ", &n) && n == (int64_t)k[4]);
        CHECK(number_after(speed.data, "reused ", &n) && n == (int64_t)k[5]);
        CHECK_EQ(number_after(speed.data, "drafted ", &n), round % 3 > 0);
        CHECK(round % 3 == 0 || n == (int64_t)k[0] + 1);
        buf_free(&row);
        buf_free(&speed);
    }
}

TEST(a_request_that_waits_for_no_pages_has_no_figure_of_them)
{
    struct gauges g = session;
    g.speed.queue_pages = 0;
    struct buf row = row_of(&g, 120, 2);
    CHECK(strstr(row.data, "queue 1 (writer)"));
    buf_free(&row);
}

static void check_server(int64_t kv, int64_t running, int64_t waiting, int64_t preempted, int columns,
                         const char *words, const char *not_there)
{
    struct gauges g = session;
    g.speed.server.there = true;
    g.speed.server.kv_permille = (int)kv;
    g.speed.server.running = running;
    g.speed.server.waiting = waiting;
    g.speed.server.preempted = preempted;
    struct buf row = row_of(&g, columns, columns < 100 ? 1 : 2);
    if (!strstr(row.data, words)) CHECK_STR(row.data, words);
    CHECK(!strstr(row.data, not_there));
    buf_free(&row);
}

TEST(a_server_is_told_by_what_it_says_and_by_its_pool_where_room_is_short)
{
    check_server(934, 61, 1400, 3, 240, "server KV 93 %  its run 61 wait 1,400 preempted 3", "nobody");
    check_server(934, 61, 1400, 3, 100, "server KV 93 %", "wait");
    check_server(0, 0, 0, 0, 240, "server KV 0 %  its run 0 wait 0 ", "preempted");
    check_server(-1, 2, 1, -1, 240, "server run 2 wait 1", "KV -");
    check_server(-1, -1, 7, -1, 240, "server wait 7", "run");
    check_server(-1, -1, -1, -1, 240, "queue 1", "server");
}

TEST(a_device_that_does_not_say_has_no_free_and_no_outside)
{
    struct gauges g = session;
    g.device.unknown = true;
    struct buf row = row_of(&g, 160, 0);
    CHECK(strstr(row.data, "466 MiB ours"));
    CHECK(!strstr(row.data, "free") && !strstr(row.data, "outside"));
    buf_free(&row);
}

/* Beside the parts, which add up without it; the first to go. */
TEST(what_is_resident_stands_last_in_the_machine_s_line)
{
    struct gauges g = session;
    g.machine = (struct gauge_machine){true, 466 * MIB, 9000 * MIB, 6534 * MIB, 0};
    struct buf without = row_of(&g, 120, 1);
    g.machine.resident = 481 * MIB;
    struct buf with = row_of(&g, 120, 1), narrow = row_of(&g, 100, 1);
    CHECK(!strstr(without.data, "resident"));
    CHECK(strstr(with.data, "9,466 of 16,000 MiB  plimsoll 466  others 9,000  free 6,534  resident 481"));
    CHECK(strstr(narrow.data, "free 6,534") && !strstr(narrow.data, "resident"));
    buf_free(&without);
    buf_free(&with);
    buf_free(&narrow);
}

/* ------------------------------------------------------------------ any figures, any size */

static void random_gauges(struct gauges *g)
{
    static const char *const name[] = {"a\x1b]0;x\x07", "\xff\xfe", "\xe5\x90\x8d\xe5\x89\x8d\xe5\x89\x8d", "", "w\nr"};
    for (size_t i = 0; i < sizeof *g; i++) ((unsigned char *)g)[i] = (unsigned char)random_64();
    g->device.label = name[random_64() % 5];
    g->device.unknown = random_64() % 2;
    g->machine.there = random_64() % 2;
    g->speed.server.there = random_64() % 2;
    g->speed.prefill_past = random_64() % 2 ? prefill_past : NULL;
    g->speed.decode_past = decode_past;
    g->speed.past = (int)(random_64() % 12);
    g->speed.queue_first = random_64() % 2 ? name[random_64() % 5] : NULL;
}

static bool within(struct box b, int column, int row)
{
    return column >= b.column && column < b.column + b.columns && row >= b.row && row < b.row + b.rows;
}

TEST(any_figures_at_any_size_stay_within_their_box)
{
    for (int round = 0; round < 600; round++) {
        struct surface s = open_surface(1 + (int)(random_64() % 300), 1 + (int)(random_64() % 20));
        struct box b = {(int)(random_64() % 8), (int)(random_64() % 3), (int)(random_64() % 300),
                        (int)(random_64() % 9)};
        struct gauges g;
        random_gauges(&g);
        for (int i = 0; i < s.rows; i++) surface_fill(&s, surface_all(&s), 0, i, s.columns, "Q", (struct look){0});
        gauges_draw(&s, b, &g, round % 2 ? GLYPHS_UTF8 : GLYPHS_ASCII);
        gauges_agents(&s, b, agents, (int)(random_64() % 5), GLYPHS_ASCII);
        gauges_context(&s, b, &agents[0], GLYPHS_UTF8);
        draw_map(&s, b, GLYPHS_UTF8);
        for (int i = 0; i < s.columns * s.rows; i++)
            if (!within(b, i % s.columns, i / s.columns)) CHECK_STR(s.cell[i].text, "Q");
        surface_close(&s);
    }
}

TEST(agents_without_room_are_counted)
{
    struct surface s = open_surface(40, 3);
    struct buf out = {0};
    gauges_agents(&s, surface_all(&s), agents, 4, GLYPHS_ASCII);
    surface_dump(&s, &out);
    CHECK(strstr(out.data, "planner") && strstr(out.data, "researcher") && strstr(out.data, "and 2 more"));
    CHECK(!strstr(out.data, "critic"));
    CHECK(strstr(out.data, "612 / 2,048") && strstr(out.data, "1,318 / 2,048"));
    buf_free(&out);
    surface_close(&s);
}

/* ------------------------------------------------------------------ the page map */

TEST(a_map_has_a_cell_a_page_or_cuts_the_pool_evenly)
{
    struct pagemap m = {.pages = 4096, .cells = 1000};
    CHECK_EQ(pagemap_cells((struct box){0, 0, 100, 13}, 4096), 1000);
    CHECK_EQ(pagemap_cells((struct box){0, 0, 100, 13}, 700), 700);
    CHECK_EQ(pagemap_cells((struct box){0, 0, 100, PAGEMAP_ROWS}, 700), 0);
    CHECK_EQ(pagemap_first(&m, 0), 0);
    CHECK_EQ(pagemap_first(&m, 1000), 4096);
    for (int i = 0; i < 1000; i++) CHECK_EQ(pagemap_first(&m, i), 4096 * i / 1000);
}

TEST(a_map_of_more_cells_than_have_room_leaves_the_last_row_alone)
{
    struct surface s = open_surface(10, 5);
    struct pagemap_cell cell[100] = {0};
    struct pagemap m = {.pages = 100, .cell = cell, .cells = 100, .selected = -1};
    pagemap_draw(&s, surface_all(&s), &m, GLYPHS_ASCII);
    CHECK_STR(s.cell[3 * 10 + 9].text, ".");
    for (int i = 0; i < 10; i++) CHECK_STR(s.cell[4 * 10 + i].text, "");
    surface_close(&s);
}

TEST(owners_are_hues_and_letters_where_there_are_no_colours)
{
    struct surface s = open_surface(30, 6);
    const struct pagemap_cell cell[] = {{PAGE_HELD, 1, false}, {PAGE_HELD, 2, true}, {PAGE_CACHED, 1, false},
                                        {PAGE_SHARED, 0, false}, {PAGE_FREE, 0, false}, {77, 0, false}};
    struct pagemap m = {.pages = 6, .page_tokens = 16, .page_bytes = 100, .cell = cell, .cells = 6, .selected = 2};
    const struct cell *row = s.cell + 2 * 30;
    pagemap_draw(&s, surface_all(&s), &m, GLYPHS_UTF8);
    CHECK_STR(row[0].text, "█");
    CHECK_EQ(row[0].look.hue, HUE_AGENT + 1);
    CHECK_EQ(row[1].look.hue, HUE_AGENT + 2);
    CHECK_EQ(row[1].look.attr, LOOK_UNDERLINE);
    CHECK_EQ(row[2].look.attr, LOOK_REVERSE);
    CHECK_STR(row[3].text, "▞");
    CHECK_STR(row[5].text, "·");
    m.letters = true;
    pagemap_draw(&s, surface_all(&s), &m, GLYPHS_UTF8);
    CHECK_STR(row[0].text, "B");
    CHECK_STR(row[1].text, "C");
    surface_close(&s);
}

CHECK_MAIN
