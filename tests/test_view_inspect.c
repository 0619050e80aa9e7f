/* The inspector as it looks (golden screens), its digits read back, its keys and what they order, hostile texts.
 *
 * Golden screens lie in tests/fixtures/screens; PLIMSOLL_WRITE_SCREENS=1 writes them anew: look at each before it is
 * committed. */
#include "app/tui/view.h"
#include "app/tui/view_inspect.h"
#include "tests/check.h"

/* ------------------------------------------------------------------ a call, made up */

struct said { enum context_part part; const char *kind, *name, *whole, *who; unsigned can; int turn; size_t tokens;
              const char *text; };

static const struct said talk[] = {
    {CONTEXT_SYSTEM, "system", "m1", "", "user", 0, 0, 31,
     "You are a researcher. You look for causes, and say how sure you are.\nNever guess a number that a tool can give "
     "you."},
    {CONTEXT_SYSTEM, "tools", "m2", "", "plimsoll", 0, 0, 181,
     "\n\nYou may call these tools:\nsearch(pattern, path)\nartifact(id, offset)\nrecall(query)"},
    {CONTEXT_PINNED, "pinned", "m9", "", "user", INSPECT_UNPIN, 2, 40,
     "\n\nThe log is in build/night.log, and it is never to be changed."},
    {CONTEXT_SUMMARY, "summary", "m3-20", "", "plimsoll", 0, 0, 140,
     "\n\nFacts:\n- the nightly job dies after an hour\nDecisions:\nnone\nDone:\n- read the log\nOpen:\n- find the "
     "turn"},
    {CONTEXT_SUMMARY, "left out", "m21-24", "", "plimsoll", 0, 0, 24,
     "\n\n[0 of 612 tokens shown; the rest is m21-24]"},
    {CONTEXT_HISTORY, "question", "m25", "", "user", INSPECT_PIN | INSPECT_DROP, 7, 61,
     "Why does the nightly job die after an hour?"},
    {CONTEXT_TOOL, "tool call", "m26", "", "model", INSPECT_PIN | INSPECT_DROP, 7, 29,
     "<tool_call>{\"name\":\"search\",\"arguments\":{\"pattern\":\"alloc|OOM\",\"path\":\"build/night.log\"}}"
     "</tool_call>"},
    {CONTEXT_TOOL, "tool result", "m27", "a7", "search", INSPECT_PIN | INSPECT_DROP, 7, 318,
     "  211: kv: reserve 96 pages (turn 14)\n 1,402: kv: reserve 286 pages (turn 15)\n40,902: kv: refused, needs 4,310 "
     "pages, pool has 4,096\n[318 of 48,211 tokens shown; the rest is a7]"},
    {CONTEXT_HISTORY, "answer", "m28", "", "model", INSPECT_PIN | INSPECT_DROP, 7, 118,
     "The context grows by 190 pages a turn from turn 14 on; at turn 36 it passes the pool. It is growth, not a leak."},
    {CONTEXT_TOOL, "tool result", "m30", "", "plimsoll", 0, 8, 22, "[0 of 402 tokens shown; the rest is m30]"},
    {CONTEXT_HISTORY, "question", "m31", "", "user", INSPECT_PIN, 8, 1390,
     "Check whether turn 14 is when the tool output stopped being clipped."},
    {CONTEXT_HISTORY, "opening", "", "", "plimsoll", 0, 0, 4, ""},
};

static void free_nothing(void *data) { (void)data; }

static void put_row(struct inspect *x, const struct said *t)
{
    struct inspect_row *r = &x->row[x->rows++];
    *r = (struct inspect_row){.part = (uint8_t)t->part, .can = t->can, .turn = (uint32_t)t->turn,
                              .number = (uint64_t)atoi(*t->name ? t->name + 1 : ""),
                              .frees = (int64_t)t->tokens - 22, .text = x->texts.len, .len = strlen(t->text),
                              .id = x->ids.n, .n_ids = t->tokens,
                              .line = strncmp(t->text, "[0 of", 5) == 0 || strcmp(t->kind, "left out") == 0};
    snprintf(r->name, sizeof r->name, "%s", t->name);
    snprintf(r->kind, sizeof r->kind, "%s", t->kind);
    snprintf(r->who, sizeof r->who, "%s", t->who);
    snprintf(r->whole, sizeof r->whole, "%s", t->whole);
    buf_puts(&x->texts, t->text);
    for (size_t i = 0; i < t->tokens; i++) ids_put(&x->ids, (int32_t)(1000 + 7 * i));
}

static struct inspect made(const struct said *t, int n)
{
    struct inspect x = {.ctx = 4096, .limit = 3072, .reserve = 1024, .answer = 512, .high = 2700, .compact = 530,
                        .leaves = true};
    x.row = calloc((size_t)n, sizeof *x.row);
    for (int i = 0; i < n; i++) put_row(&x, &t[i]);
    x.spell = calloc(x.ids.n + 1, sizeof *x.spell);
    for (size_t i = 0; i < x.ids.n; i++) {
        buf_printf(&x.spelled, "w%zu", i);
        x.spell[i + 1] = (uint32_t)x.spelled.len;
    }
    snprintf(x.agent, sizeof x.agent, "researcher");
    buf_puts(&x.diff, "+ - read the log\n- - read the notes\n");
    return x;
}

static void unmake(struct inspect *x)
{
    free(x->row);
    free(x->spell);
    buf_free(&x->texts);
    buf_free(&x->diff);
    buf_free(&x->spelled);
    ids_free(&x->ids);
}

/* ------------------------------------------------------------------ the view on a surface */

static struct state state;
static struct inspect doc_data;
static struct doc doc;
static struct view_in in;
static struct surface s;
static void *view;

static void begin(int columns, int rows, enum glyphs glyphs)
{
    struct err err;
    CHECK_EQ(surface_open(&s, columns, rows, &err), 0);
    memset(&state, 0, sizeof state);
    state.agents = 3;
    state.agent[1].running = 1;
    doc_data = made(talk, (int)COUNT_OF(talk));
    doc = (struct doc){.ask = {.kind = DOC_INSPECT, .agent = 1}, .data = &doc_data, .free = free_nothing};
    in = (struct view_in){.state = &state, .doc = &doc, .glyphs = glyphs, .agent = 1};
    view = view_inspect.open();
    CHECK(view != NULL);
}

static void end(void)
{
    view_inspect.close(view);
    surface_close(&s);
    unmake(&doc_data);
}

static const char *screen(void)
{
    static struct buf b;
    b.len = 0;
    view_inspect.draw(view, &s, surface_all(&s), &in);
    surface_dump(&s, &b);
    return b.data;
}

static struct view_out press(enum key_name name, uint32_t rune)
{
    struct view_out out = {.agent = -1};
    struct key k = {.name = name, .rune = rune};
    (void)view_inspect.key(view, &k, &in, &out);
    return out;
}

/* The line that is ordered by a key; "" none. */
static const char *ordered(uint32_t rune)
{
    static char line[200];
    struct view_out out = press(KEY_CHAR, rune);
    snprintf(line, sizeof line, "%s", out.order.data ? out.order.data : "");
    buf_free(&out.order);
    return line;
}

static void select_row(int i)
{
    (void)press(KEY_HOME, 0);
    while (i-- > 0) (void)press(KEY_DOWN, 0);
    (void)screen();
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
    select_row(7); /* the tool's result */
    view_inspect.draw(view, &s, surface_all(&s), &in);
    if (looks) surface_dump_looks(&s, &out);
    else surface_dump(&s, &out);
    snprintf(name, sizeof name, "inspect-%dx%d-%s", columns, rows,
             looks ? "hues" : glyphs == GLYPHS_ASCII ? "ascii" : "utf8");
    check_golden(name, out.data);
    buf_free(&out);
    end();
}

TEST(inspect_golden_80x24) { check_screen(80, 24, GLYPHS_UTF8, false); }
TEST(inspect_golden_80x24_ascii) { check_screen(80, 24, GLYPHS_ASCII, false); }
TEST(inspect_golden_120x36) { check_screen(120, 36, GLYPHS_UTF8, false); }
TEST(inspect_golden_120x36_hues) { check_screen(120, 36, GLYPHS_ASCII, true); }
TEST(inspect_golden_200x60) { check_screen(200, 60, GLYPHS_UTF8, false); }
TEST(inspect_golden_40x10) { check_screen(40, 10, GLYPHS_ASCII, false); }

/* ------------------------------------------------------------------ digits read back */

/* The number that ends at this column (and blank behind it); -1: there is none. */
static int64_t number_to(const char *line, const char *end)
{
    int64_t n = -1;
    const char *at = end;
    while (at > line && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == ',')) at--;
    for (; at < end; at++)
        if (*at != ',') n = MAX(n, 0) * 10 + (*at - '0');
    return n;
}

static const char *line_at(const char *text, int row)
{
    static char line[2000];
    while (row-- > 0) text = strchr(text, '\n') + 1;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    return line;
}

TEST(inspect_digits_are_the_calls_and_add_up)
{
    static const int sizes[][2] = {{80, 40}, {200, 60}, {60, 40}};
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        begin(sizes[k][0], sizes[k][1], GLYPHS_ASCII);
        const char *text = screen(), *head = line_at(text, 0);
        int64_t sum = 0;
        CHECK_EQ(number_to(head, strstr(head, " of 3,072")), (int64_t)doc_data.ids.n);
        const char *bar = line_at(text, 1);
        CHECK_EQ(number_to(bar, strstr(bar, " / 4,096")), (int64_t)doc_data.ids.n);
        const char *heads = line_at(text, 3);
        const long last = strstr(heads, "tokens") - heads + 6;
        for (int i = 0; i < doc_data.rows; i++) {
            const char *row = line_at(text, 4 + i);
            int64_t n = number_to(row, row + last);
            CHECK_EQ(n, (int64_t)doc_data.row[i].n_ids);
            sum += n;
        }
        CHECK_EQ(sum, (int64_t)doc_data.ids.n);
        end();
    }
}

TEST(inspect_says_when_the_oldest_are_summed_up)
{
    begin(120, 36, GLYPHS_ASCII);
    CHECK(strstr(screen(), "the oldest are summed up above 2,700 tokens  342 to go  c now: frees 530"));
    doc_data.due = true;
    CHECK(strstr(screen(), "before this call the oldest are summed up, which frees 530"));
    doc_data.no_summaries = "summaries are off";
    CHECK(strstr(screen(), "\n summaries are off  the oldest leave at 3,072 tokens\n"));
    CHECK_STR(ordered('c'), "");
    CHECK(strstr(screen(), "\n summaries are off\n")); /* the note */
    end();
    begin(120, 36, GLYPHS_ASCII);
    doc_data.no_summaries = "nothing is summed up, nothing leaves";
    doc_data.leaves = false;
    CHECK(strstr(screen(), "\n nothing is summed up, nothing leaves\n"));
    end();
    begin(44, 36, GLYPHS_ASCII);
    doc_data.no_summaries = "this context is too small for summaries";
    CHECK(strstr(screen(), "\n this context is too small for summaries\n"));
    end();
}

/* ------------------------------------------------------------------ keys */

TEST(inspect_keys_order_what_the_row_says)
{
    begin(120, 36, GLYPHS_ASCII);
    select_row(7);
    CHECK_STR(ordered('x'), "/drop m27");
    CHECK_STR(ordered('p'), "/pin m27");
    CHECK_STR(ordered('u'), "");
    CHECK(strstr(screen(), "only what is pinned can be unpinned"));
    CHECK_STR(ordered('c'), "/compact");
    CHECK(!strstr(screen(), "only what is pinned")); /* the next key takes the note away */
    select_row(2);
    CHECK_STR(ordered('u'), "/unpin 9");
    CHECK_STR(ordered('x'), "");
    CHECK(strstr(screen(), "m9 is pinned: u takes it out"));
    select_row(0);
    CHECK_STR(ordered('x'), "");
    CHECK(strstr(screen(), "system is no message: it cannot be dropped"));
    CHECK_STR(ordered('p'), "");
    select_row(9);
    CHECK_STR(ordered('x'), "");
    CHECK(strstr(screen(), "m30 stands as a line already"));
    select_row(10);
    CHECK_STR(ordered('x'), "");
    CHECK(strstr(screen(), "m31 opened the last turn"));
    CHECK_STR(ordered('p'), "/pin m31");
    doc_data.aside = true; /* commands are about another one */
    CHECK_STR(ordered('p'), "/for researcher /pin m31");
    CHECK_STR(ordered('z'), "");
    end();
}

TEST(inspect_tab_goes_round_the_agents)
{
    begin(80, 24, GLYPHS_ASCII);
    CHECK_EQ(press(KEY_TAB, 0).agent, 2);
    in.agent = 2;
    CHECK_EQ(press(KEY_TAB, 0).agent, 0);
    CHECK(strstr(screen(), "looking ...")); /* the doc is of another one */
    CHECK_STR(ordered('x'), "");
    CHECK(!view_inspect.key(view, &(struct key){.name = KEY_DOWN}, &in, &(struct view_out){.agent = -1}));
    struct doc_ask ask = {0};
    view_inspect.ask(view, surface_all(&s), &in, &ask);
    CHECK(ask.kind == DOC_INSPECT && ask.agent == 2);
    end();
}

TEST(inspect_shows_text_tokens_and_the_difference)
{
    begin(120, 36, GLYPHS_ASCII);
    select_row(8);
    CHECK(strstr(screen(), "growth, not a leak"));
    (void)press(KEY_CHAR, 't');
    CHECK(strstr(screen(), "tokens of answer m28"));
    CHECK(strstr(screen(), "    1000  \"w824\"")); /* its first token */
    (void)press(KEY_DOWN, 0);
    CHECK(strstr(screen(), "1000  \"w942\""));
    CHECK(!strstr(screen(), "w824"));
    (void)press(KEY_CHAR, 'd');
    CHECK(strstr(screen(), "+ - read the log"));
    (void)press(KEY_CHAR, 'd');
    CHECK(!strstr(screen(), "+ - read the log"));
    doc_data.diff.len = 0;
    (void)press(KEY_CHAR, 'd');
    CHECK(strstr(screen(), "no summary was followed by another one yet"));
    end();
}

static bool asks(void)
{
    struct doc_ask ask = {0};
    view_inspect.ask(view, surface_all(&s), &in, &ask);
    return ask.kind == DOC_INSPECT;
}

/* As another doc would: it is made before the one there was is freed. */
static void doc_comes(void)
{
    static struct inspect other;
    other = doc_data;
    doc.data = doc.data == &other ? &doc_data : &other;
}

TEST(inspect_asks_when_the_call_may_have_changed)
{
    begin(80, 24, GLYPHS_ASCII);
    in.doc = NULL;
    CHECK(asks() && asks()); /* as long as there is none */
    in.doc = &doc;
    CHECK(!asks() && !asks());
    state.agent[1].carried = 12;
    CHECK(asks() && asks()); /* till it comes */
    doc_comes();
    CHECK(!asks());
    state.agent[0].carried = 12; /* another one's */
    CHECK(!asks());
    state.agent[1].running = 0;
    CHECK(asks());
    doc_comes();
    select_row(7);
    CHECK(!asks());
    CHECK_STR(ordered('x'), "/drop m27");
    CHECK(asks());
    doc_comes();
    CHECK(!asks());
    state.time = 15; /* now and then in any case */
    CHECK(asks());
    doc_comes();
    CHECK(!asks());
    in.agent = 2; /* the doc that is there is of another one */
    CHECK(asks());
    doc.data = &doc_data;
    end();
}

/* The text is scrolled with Enter; another doc of the same does not move it, nor the selection. */
TEST(inspect_reads_on_while_docs_come_and_go)
{
    begin(60, 20, GLYPHS_ASCII);
    select_row(7);
    (void)press(KEY_CHAR, 't');
    (void)screen();
    (void)press(KEY_ENTER, 0);
    (void)press(KEY_DOWN, 0);
    (void)press(KEY_DOWN, 0);
    CHECK(strstr(screen(), "w508"));
    CHECK(!strstr(screen(), "w507") && !strstr(screen(), "w506"));
    struct said more[COUNT_OF(talk) + 1];
    more[0] = (struct said){CONTEXT_SYSTEM, "system", "m40", "", "user", 0, 0, 11, "Be kind."};
    memcpy(more + 1, talk, sizeof talk);
    unmake(&doc_data);
    doc_data = made(more, (int)COUNT_OF(more));
    CHECK(strstr(screen(), "tool result m27")); /* it is one row further down now */
    CHECK(strstr(screen(), "w508") && !strstr(screen(), "w507"));
    CHECK(view_inspect.key(view, &(struct key){.name = KEY_ESCAPE}, &in, &(struct view_out){.agent = -1}));
    CHECK(!view_inspect.key(view, &(struct key){.name = KEY_ESCAPE}, &in, &(struct view_out){.agent = -1}));
    end();
}

TEST(inspect_enter_shows_the_text_where_there_is_no_room_for_both)
{
    begin(40, 10, GLYPHS_ASCII);
    select_row(8);
    CHECK(!strstr(screen(), "answer m28  118 tokens"));
    (void)press(KEY_ENTER, 0);
    CHECK(strstr(screen(), "answer m28"));
    CHECK(strstr(screen(), "grows by 190 pages"));
    (void)press(KEY_ENTER, 0);
    CHECK(strstr(screen(), "   part        name    tokens"));
    end();
}

/* ------------------------------------------------------------------ what is not as it should be */

TEST(inspect_says_why_there_is_nothing)
{
    begin(80, 24, GLYPHS_ASCII);
    doc.data = NULL;
    snprintf(doc.error, sizeof doc.error, "it keeps no conversation of its own");
    CHECK(strstr(screen(), "it keeps no conversation"));
    CHECK(strstr(screen(), "Tab looks at the next agent"));
    in.doc = NULL;
    CHECK(strstr(screen(), "looking ..."));
    end();
}

/* Whatever stands in the texts, and however small the box is: nothing is drawn beyond it. */
TEST(inspect_keeps_hostile_texts_in_its_box)
{
    static char huge[10240];
    memset(huge, 'W', sizeof huge - 1);
    struct said bad[] = {
        {CONTEXT_SYSTEM, "system", "m1", "", "\x1b]0;x\x07\xe2\x80\xae", 0, 0, 9999999 % 1000, huge},
        {CONTEXT_TOOL, "tool result", "m18446744073709551615", "a9223372036854775807",
         "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", INSPECT_DROP, 2000000000, 3,
         "\x1b[2J\xff\xfe\xe6\xbc\xa2\xe5\xad\x97\r\n\xe2\x80\xae\xcc\x81\xcc\x81\xcc\x81"},
        {CONTEXT_HISTORY, "opening", "", "", "", 0, 0, 0, "\n\n\n"},
    };
    for (int columns = 1; columns <= 210; columns += columns < 12 ? 1 : 19)
        for (int rows = 1; rows <= 60; rows += rows < 12 ? 1 : 11) {
            begin(columns + 4, rows + 4, rows % 2 ? GLYPHS_UTF8 : GLYPHS_ASCII);
            unmake(&doc_data);
            doc_data = made(bad, (int)COUNT_OF(bad));
            const struct look mark = {.hue = HUE_OK};
            for (int i = 0; i < rows + 4; i++) surface_fill(&s, surface_all(&s), 0, i, columns + 4, "#", mark);
            const struct box b = {2, 2, columns, rows};
            for (int i = 0; i < 3; i++) {
                view_inspect.draw(view, &s, b, &in);
                (void)press(i == 1 ? KEY_ENTER : KEY_DOWN, 0);
                if (i == 1) (void)press(KEY_CHAR, 't');
            }
            for (int r = 0; r < rows + 4; r++)
                for (int c = 0; c < columns + 4; c++) {
                    const bool inside = r >= 2 && r < rows + 2 && c >= 2 && c < columns + 2;
                    const struct cell *cell = &s.cell[r * s.columns + c];
                    if (!inside) CHECK(cell->text[0] == '#' && cell->look.hue == HUE_OK);
                    if (inside) CHECK((unsigned char)cell->text[0] >= ' ' || cell->text[0] == '\0');
                }
            end();
        }
}

CHECK_MAIN
