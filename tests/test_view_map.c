/* The memory map as it looks (golden screens), its digits read back, its cursor, and where Enter goes.
 *
 * Golden screens lie in tests/fixtures/screens; PLIMSOLL_WRITE_SCREENS=1 writes them anew: look at each before it is
 * committed. */
#include "app/tui/view.h"
#include "app/tui/view_map.h"
#include "engine/template.h"
#include "tests/check.h"

/* ------------------------------------------------------------------ a pool, made up */

enum { PAGES = 4096, MOST = 300 * 100 };

static struct pagemap_cell cell[MOST];
static uint8_t segment[MOST];
static struct map map;
static struct state state;
static struct doc doc;
static struct view_in in;
static struct surface s;
static void *view;

static void free_nothing(void *data) { (void)data; }

static struct pagemap_cell cell_of(uint64_t page)
{
    return (struct pagemap_cell){.state = page < 220    ? PAGE_SHARED
                                          : page < 1412 ? PAGE_HELD
                                          : page < 1443 ? PAGE_CACHED
                                                        : PAGE_FREE,
                                 .agent = (uint8_t)(page / 300 % 3), .mixed = page < 1443 && page % 300 > 296};
}

static void fill_map(int cells, uint64_t pages)
{
    map = (struct map){.pages = pages, .page_tokens = 16, .page_bytes = 96 << 10, .cell = cell, .segment = segment,
                       .cells = cells, .promised = 310, .agents = 3, .name = {"planner", "researcher", "critic"}};
    CHECK(cells <= MOST);
    for (uint64_t i = 0; i < pages; i++) {
        map.state[cell_of(i).state]++;
        if (cell_of(i).state == PAGE_HELD) map.own[cell_of(i).agent]++;
    }
    for (int i = 0; i < cells; i++) {
        const uint64_t page = pages * (uint64_t)i / (uint64_t)cells;
        cell[i] = cell_of(page);
        segment[i] = (uint8_t)(page / 60 % SEGMENTS);
    }
}

static void begin(int columns, int rows, enum glyphs glyphs)
{
    struct err err;
    struct doc_ask ask = {0};
    CHECK_EQ(surface_open(&s, columns, rows, &err), 0);
    memset(&state, 0, sizeof state);
    state.agents = 3;
    in = (struct view_in){.state = &state, .glyphs = glyphs, .mono = glyphs == GLYPHS_ASCII};
    view = view_map.open();
    CHECK(view != NULL);
    view_map.ask(view, surface_all(&s), &in, &ask);
    fill_map((int)MIN((uint64_t)ask.cells, (uint64_t)PAGES), PAGES);
    doc = (struct doc){.ask = ask, .data = &map, .free = free_nothing};
    in.doc = &doc;
}

static void end(void)
{
    view_map.close(view);
    surface_close(&s);
}

static const char *screen(void)
{
    static struct buf b;
    b.len = 0;
    view_map.draw(view, &s, surface_all(&s), &in);
    surface_dump(&s, &b);
    return b.data;
}

static struct view_out press(enum key_name name, uint32_t rune)
{
    struct view_out out = {.agent = -1};
    struct key k = {.name = name, .rune = rune};
    (void)view_map.key(view, &k, &in, &out);
    return out;
}

static void move(enum key_name name, int times)
{
    while (times-- > 0) (void)press(name, 0);
}

static void check_golden(const char *name, const char *text)
{
    char path[200], block[4096];
    struct buf want = {0};
    snprintf(path, sizeof path, "tests/fixtures/screens/%s.txt", name);
    if (getenv("PLIMSOLL_WRITE_SCREENS")) {
        FILE *f = fopen(path, "wb");
        CHECK(f && fwrite(text, 1, strlen(text), f) == strlen(text) && fclose(f) == 0);
    }
    FILE *f = fopen(path, "rb");
    if (!f) check_fail(__FILE__, __LINE__, "%s is not there", path);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) buf_put(&want, block, n);
    fclose(f);
    CHECK_STR(text, want.data);
    buf_free(&want);
}

static void check_screen(int columns, int rows, enum glyphs glyphs, bool looks)
{
    char name[80];
    struct buf out = {0};
    begin(columns, rows, glyphs);
    (void)screen();
    move(KEY_DOWN, 2);
    move(KEY_RIGHT, 7);
    (void)screen();
    if (looks) surface_dump_looks(&s, &out);
    else surface_dump(&s, &out);
    snprintf(name, sizeof name, "map-%dx%d-%s", columns, rows,
             looks ? "hues" : glyphs == GLYPHS_ASCII ? "ascii" : "utf8");
    check_golden(name, out.data);
    buf_free(&out);
    end();
}

TEST(map_golden_80x24) { check_screen(80, 24, GLYPHS_UTF8, false); }
TEST(map_golden_80x24_ascii) { check_screen(80, 24, GLYPHS_ASCII, false); }
TEST(map_golden_120x36_hues) { check_screen(120, 36, GLYPHS_UTF8, true); }
TEST(map_golden_200x60) { check_screen(200, 60, GLYPHS_UTF8, false); }
TEST(map_golden_of_a_small_pool)
{
    begin(100, 24, GLYPHS_UTF8);
    fill_map(600, 600);
    check_golden("map-100x24-small", screen());
    end();
}
TEST(map_golden_40x10) { check_screen(40, 10, GLYPHS_ASCII, false); }

/* ------------------------------------------------------------------ digits read back */

/* The number before this word; -1: the word is not there. */
static int64_t number_before(const char *text, const char *word)
{
    const char *at = strstr(text, word), *end = at;
    int64_t n = 0;
    if (!at || at == text) return -1;
    while (at > text && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == ',')) at--;
    for (; at < end; at++)
        if (*at != ',') n = n * 10 + (*at - '0');
    return n;
}

TEST(map_totals_are_the_pool)
{
    begin(120, 36, GLYPHS_UTF8);
    const char *text = screen();
    const char *totals = strstr(text, " held by one");
    const int64_t held = number_before(text, " held by one"), shared = number_before(totals, " shared");
    CHECK_EQ(held, map.state[PAGE_HELD]);
    CHECK_EQ(shared, map.state[PAGE_SHARED]);
    CHECK_EQ(number_before(totals, " cached"), map.state[PAGE_CACHED]);
    CHECK_EQ(number_before(totals, " free"), map.state[PAGE_FREE]);
    CHECK_EQ(number_before(totals, " of those promised"), 310);
    CHECK_EQ(number_before(text, " x 16 tokens"), PAGES);
    CHECK_EQ(held + shared + number_before(totals, " cached") + number_before(totals, " free"), PAGES);
    end();
}

/* A small pool leaves room for a table: its columns add up, agents and states to the pool. */
TEST(map_table_is_the_pool_by_owner)
{
    static const char *const row[] = {"planner  ", "researcher  ", "critic  ", "shared  ", "cached  ", "free  "};
    begin(100, 30, GLYPHS_UTF8);
    fill_map(600, 600);
    const char *text = strstr(screen(), "owner            pages"); /* below the legend */
    int64_t pages = 0, tokens = 0, kib = 0;
    CHECK(text != NULL);
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const char *at = strstr(text, row[i]);
        if (i == 2) { /* it holds none */
            CHECK(!at);
            continue;
        }
        CHECK(at != NULL);
        long long n[3] = {-1, -1, -1};
        char plain[200];
        size_t k = 0;
        for (at += strcspn(at, " "); *at != '\n' && *at != '\0' && k + 1 < sizeof plain; at++)
            if (*at != ',') plain[k++] = *at;
        plain[k] = '\0';
        CHECK_EQ(sscanf(plain, "%lld %lld %lld", &n[0], &n[1], &n[2]), 3);
        CHECK(n[1] == n[0] * 16 && n[2] == n[0] * 96);
        pages += n[0];
        tokens += n[1];
        kib += n[2];
    }
    CHECK(pages == 600 && tokens == 9600 && kib == 57600);
    CHECK(strstr(text, "the pool           600       9,600       57,600"));
    CHECK(!strstr(text, "held by one request  "));
    end();
}

/* As many cells of a state on the screen as in the doc. */
TEST(map_draws_every_page_once)
{
    begin(120, 48, GLYPHS_UTF8);
    CHECK_EQ(map.cells, PAGES);
    (void)screen();
    int seen[PAGE_STATES] = {0};
    for (int i = 0; i < PAGES; i++) {
        const struct cell *c = &s.cell[(2 + i / 120) * s.columns + i % 120];
        seen[PAGE_FREE] += strcmp(c->text, bar_glyph(BAR_DOT, GLYPHS_UTF8)) == 0;
        seen[PAGE_CACHED] += strcmp(c->text, bar_glyph(BAR_MEDIUM, GLYPHS_UTF8)) == 0;
        seen[PAGE_HELD] += strcmp(c->text, bar_glyph(BAR_FULL, GLYPHS_UTF8)) == 0;
        seen[PAGE_SHARED] += strcmp(c->text, bar_glyph(BAR_SLASH, GLYPHS_UTF8)) == 0;
        if (c->look.hue >= HUE_AGENT) CHECK_EQ(c->look.hue, HUE_AGENT + cell[i].agent);
    }
    for (int i = 0; i < PAGE_STATES; i++) CHECK_EQ(seen[i], map.state[i]);
    end();
}

/* The row is the process's while a table is above it, and says nothing of what no event told. */
TEST(map_says_what_of_the_process_is_resident)
{
    begin(100, 24, GLYPHS_UTF8);
    fill_map(600, 600);
    CHECK(!strstr(screen(), "resident"));
    state.machine = (struct event_machine){.resident_bytes = 480 << 20, .anonymous_bytes = 362 << 20,
                                           .peak_bytes = 500 << 20, .ledger_bytes = (360 << 20) + (90 << 10)};
    CHECK(strstr(screen(), " process 480.0 MiB resident  362.0 anonymous  1.9 more than the ledger's 360.1  "
                           "500.0 at most"));
    state.machine.ledger_bytes = 400 << 20;
    CHECK(strstr(screen(), "38.0 less than the ledger's 400.0, not all touched yet"));
    state.machine.resident_bytes = state.machine.anonymous_bytes = INT64_MAX;
    CHECK(strstr(screen(), " process 8796093022208.0 MiB resident"));
    state.machine.resident_bytes = -1;
    CHECK(!strstr(screen(), "resident"));
    end();
    begin(100, 24, GLYPHS_UTF8); /* no room for a table */
    state.machine.resident_bytes = 1;
    CHECK(strstr(screen(), "held by one request") && !strstr(screen(), "resident"));
    end();
}

/* ------------------------------------------------------------------ keys */

TEST(map_says_what_layers_with_a_window_keep_beside_its_pages)
{
    begin(120, 36, GLYPHS_UTF8);
    CHECK(!strstr(screen(), "with a window"));
    map.local_layers = 22;
    map.local_bytes = 13 << 20;
    CHECK(strstr(screen(), "x 96 KiB  and 13.0 MiB for 22 layers with a window"));
    end();
}

TEST(map_the_cursor_says_what_a_page_is_for)
{
    begin(120, 48, GLYPHS_UTF8);
    CHECK(strstr(screen(), "page 0: shared, system message, tokens 0-15 of the pool"));
    move(KEY_RIGHT, 1);
    move(KEY_DOWN, 2);
    CHECK(strstr(screen(), "page 241: planner, answers, tokens 3,856-3,871 of the pool"));
    move(KEY_LEFT, 300);
    move(KEY_UP, 300);
    CHECK(strstr(screen(), "page 0: shared"));
    (void)press(KEY_CHAR, 'n');
    CHECK(strstr(screen(), "page 220: planner"));
    (void)press(KEY_CHAR, 'n');
    CHECK(strstr(screen(), "page 300: researcher"));
    (void)press(KEY_END, 0);
    CHECK(strstr(screen(), "page 4,095: free"));
    (void)press(KEY_CHAR, 'n'); /* round the end */
    CHECK(strstr(screen(), "page 0: shared"));
    end();
}

TEST(map_enter_inspects_whose_page_it_is)
{
    begin(120, 48, GLYPHS_UTF8);
    (void)screen();
    struct view_out out = press(KEY_ENTER, 0); /* shared: whom one looks at stays */
    CHECK(out.go == VIEW_INSPECT && out.agent == -1);
    (void)press(KEY_CHAR, 'n');
    (void)press(KEY_CHAR, 'n');
    out = press(KEY_ENTER, 0);
    CHECK(out.go == VIEW_INSPECT && out.agent == 1);
    (void)press(KEY_END, 0);
    out = press(KEY_ENTER, 0);
    CHECK(out.go == VIEW_CHAT && out.agent == -1);
    CHECK(strstr(screen(), "nobody has this page"));
    (void)press(KEY_HOME, 0);
    CHECK(!strstr(screen(), "nobody has this page"));
    CHECK(!view_map.key(view, &(struct key){.name = KEY_CHAR, .rune = 'z'}, &in, &out));
    CHECK(!view_map.key(view, &(struct key){.name = KEY_ESCAPE}, &in, &out));
    end();
}

TEST(map_asks_for_as_many_cells_as_there_is_room)
{
    struct doc_ask ask = {0};
    begin(100, 30, GLYPHS_UTF8);
    CHECK_EQ(doc.ask.kind, DOC_MAP);
    CHECK_EQ(doc.ask.cells, 100 * (30 - PAGEMAP_ROWS - 1)); /* a row for the totals */
    view_map.ask(view, (struct box){0, 0, 100, 2}, &in, &ask);
    CHECK_EQ(ask.kind, DOC_NONE);
    end();
}

/* ------------------------------------------------------------------ what is not as it should be */

TEST(map_says_why_there_is_nothing)
{
    begin(80, 24, GLYPHS_ASCII);
    doc.data = NULL;
    snprintf(doc.error, sizeof doc.error, "the KV pool has no pages");
    CHECK(strstr(screen(), "the KV pool has no pages"));
    struct view_out out = press(KEY_ENTER, 0);
    CHECK_EQ(out.go, VIEW_CHAT);
    in.doc = NULL;
    CHECK(strstr(screen(), "looking ..."));
    end();
}

/* A doc of another size than the box, numbers and names that no room has: nothing is drawn beyond the box. */
TEST(map_keeps_within_its_box)
{
    for (int columns = 1; columns <= 160; columns += columns < 10 ? 1 : 23)
        for (int rows = 1; rows <= 60; rows += rows < 12 ? 1 : 11) {
            begin(columns + 4, rows + 4, rows % 2 ? GLYPHS_UTF8 : GLYPHS_ASCII);
            const int cells = 1 + (columns * 37 + rows * 11) % 900;
            fill_map(cells, 900);
            for (int i = 0; i < cells; i += 3)
                cell[i] = (struct pagemap_cell){.state = (uint8_t)i, .agent = (uint8_t)i};
            for (int i = 0; i < cells; i += 5) segment[i] = (uint8_t)i;
            memset(map.name[1], 'W', MAP_NAME - 1);
            snprintf(map.name[0], MAP_NAME, "\x1b[2J\xe2\x80\xae\xe6\xbc\xa2\xe5\xad\x97");
            const struct look mark = {.hue = HUE_OK};
            for (int i = 0; i < rows + 4; i++) surface_fill(&s, surface_all(&s), 0, i, columns + 4, "#", mark);
            for (int i = 0; i < 4; i++) {
                view_map.draw(view, &s, (struct box){2, 2, columns, rows}, &in);
                (void)press(i == 1 ? KEY_END : KEY_DOWN, 0);
                (void)press(KEY_ENTER, 0);
            }
            for (int i = 0; i < (rows + 4) * (columns + 4); i++) {
                const int r = i / (columns + 4), c = i % (columns + 4);
                const bool inside = r >= 2 && r < rows + 2 && c >= 2 && c < columns + 2;
                if (!inside) CHECK(s.cell[i].text[0] == '#' && s.cell[i].look.hue == HUE_OK);
                if (inside) CHECK((unsigned char)s.cell[i].text[0] >= ' ' || s.cell[i].text[0] == '\0');
            }
            end();
        }
}

CHECK_MAIN
