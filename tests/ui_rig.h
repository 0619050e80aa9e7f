/* ui_rig.h - a screen without a terminal: keys as the bytes that a terminal sends, news by hand or from a recorded
 * stream, a host that writes down what was asked of it, and what the screen shows.
 *
 * Every look at the screen checks its cells (surface_props.h) and that the cursor lies on it.  Header only. */
#ifndef UI_RIG_H
#define UI_RIG_H
#include "app/say.h"
#include "app/session/toolbox.h"
#include "app/tui/ui.h"
#include "tests/check.h"
#include "tests/surface_props.h"

#define UI_RIG __attribute__((unused)) static

UI_RIG struct ui *ui;
UI_RIG struct keys decoder;
UI_RIG double now;            /* seconds */
UI_RIG struct buf asked;      /* of the host: a line each */
UI_RIG bool full;             /* it takes no orders */
UI_RIG const char *waits;     /* the order that take_back() gives; NULL: none */
UI_RIG const char *edited;    /* what the editor makes of any text; NULL: nothing happens to it */
UI_RIG size_t copies;         /* bytes that the clipboard takes */
UI_RIG int64_t token_count;   /* of any text; -1: as many as it has words */
UI_RIG int64_t token_frame;   /* around it */
UI_RIG bool token_exact;
UI_RIG const struct complete_source *source;

/* ------------------------------------------------------------------ the host */

static inline bool rig_order(void *self, const char *text, size_t n)
{
    (void)self;
    if (full) return false;
    buf_printf(&asked, "order %.*s\n", (int)n, text);
    return true;
}
static inline bool rig_take_back(void *self, struct buf *text)
{
    (void)self;
    buf_puts(&asked, "take back\n");
    if (!waits) return false;
    buf_puts(text, waits);
    waits = NULL;
    return true;
}
static inline void rig_cancel(void *self, const char *agent) { (void)self, buf_printf(&asked, "cancel [%s]\n", agent); }
static inline void rig_ask(void *self, const struct doc_ask *a)
{
    (void)self, buf_printf(&asked, "ask %d [%s]\n", (int)a->kind, a->what);
}
static inline void rig_answer(void *self, int64_t question, int choice, const char *text, size_t n)
{
    (void)self, buf_printf(&asked, "answer %d: %d [%.*s]\n", (int)question, choice, (int)n, text);
}
static inline int64_t rig_frame(void *self, const char *text, size_t n)
{
    (void)self, (void)text, (void)n;
    return token_frame;
}

static inline int64_t rig_tokens(void *self, const char *text, size_t n, bool *exact)
{
    int64_t words = 0;
    (void)self;
    *exact = token_exact;
    if (token_count != -1) return token_count;
    for (size_t i = 0; i < n; i++) words += text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
    return words;
}
static inline size_t rig_copy(void *self, const char *text, size_t n)
{
    (void)self, buf_printf(&asked, "copy [%.*s]\n", (int)n, text);
    return MIN(n, copies);
}
static inline void rig_editor(void *self, struct buf *text)
{
    (void)self, buf_printf(&asked, "editor [%.*s]\n", (int)text->len, text->data ? text->data : "");
    if (!edited) return;
    text->len = 0;
    buf_puts(text, edited);
}
static inline void rig_suspend(void *self) { (void)self, buf_puts(&asked, "suspend\n"); }
static inline void rig_redraw(void *self) { (void)self, buf_puts(&asked, "redraw\n"); }
static inline void rig_leave(void *self) { (void)self, buf_puts(&asked, "leave\n"); }
static inline void rig_remember(void *self, const char *text, size_t n)
{
    (void)self, buf_printf(&asked, "remember %.*s\n", (int)n, text);
}
static inline const struct complete_source *rig_source(void *self) { return (void)self, source; }

/* What the host was asked for since the last time. */
static inline const char *told(void)
{
    static char text[1 << 16];
    snprintf(text, sizeof text, "%.*s", (int)asked.len, asked.data ? asked.data : "");
    asked.len = 0;
    return text;
}

/* ------------------------------------------------------------------ open and close */

static inline void open_ui(struct ui_setup setup)
{
    static const struct ui_host host = {
        .order = rig_order, .take_back = rig_take_back, .cancel = rig_cancel, .ask = rig_ask, .answer = rig_answer,
        .tokens = rig_tokens, .frame = rig_frame, .copy = rig_copy, .editor = rig_editor,
        .suspend = rig_suspend, .redraw = rig_redraw, .leave = rig_leave, .remember = rig_remember,
        .source = rig_source};
    struct err err = {0};
    now = 1000;
    asked.len = 0;
    full = false;
    waits = edited = NULL;
    copies = SIZE_MAX;
    token_count = -1;
    token_frame = 8;
    token_exact = true;
    source = NULL;
    keys_open(&decoder, 25);
    ui = ui_open(&setup, &host, &err);
    CHECK(ui != NULL);
    ui_tick(ui, now);
}

static inline void open_live(int columns, int rows)
{
    open_ui((struct ui_setup){.columns = columns, .rows = rows, .utf8 = true, .live = true, .stored = true});
}

static inline void close_ui(void)
{
    ui_close(ui);
    ui = NULL;
    keys_close(&decoder);
    buf_free(&asked);
}

/* ------------------------------------------------------------------ keys and news */

#define CTRL_A "\x01"
#define CTRL_B "\x02"
#define CTRL_C "\x03"
#define CTRL_D "\x04"
#define CTRL_E "\x05"
#define CTRL_F "\x06"
#define CTRL_K "\x0b"
#define CTRL_L "\x0c"
#define CTRL_N "\x0e"
#define CTRL_R "\x12"
#define CTRL_T "\x14"
#define CTRL_U "\x15"
#define CTRL_W "\x17"
#define CTRL_X "\x18"
#define CTRL_Y "\x19"
#define CTRL_Z "\x1a"
#define ESC "\x1b"
#define UP ESC "[A"
#define DOWN ESC "[B"
#define ALT_UP ESC "[1;3A"
#define PAGE_UP ESC "[5~"
#define PAGE_DOWN ESC "[6~"
#define CTRL_HOME ESC "[1;5H"
#define CTRL_END ESC "[1;5F"
#define SHIFT_TAB ESC "[Z"
#define F1 ESC "OP"
#define F2 ESC "OQ"
#define F4 ESC "OS"

/* As typed: a second passes behind it, so that ESC alone is Escape. */
static inline void press(const char *bytes)
{
    struct key k;
    keys_feed(&decoder, bytes, strlen(bytes), (int64_t)(now * 1e3));
    for (int i = 0; i < 2; i++, now += 0.5)
        while (keys_next(&decoder, (int64_t)(now * 1e3), &k)) ui_key(ui, &k, now);
    ui_tick(ui, now);
}

static inline void pass(double seconds)
{
    now += seconds;
    ui_tick(ui, now);
}

static inline void put_news(enum news_kind kind, int64_t value, const char *text)
{
    struct news n = {.kind = kind, .value = value};
    buf_puts(&n.text, text);
    ui_news(ui, &n);
    buf_free(&n.text);
}

static inline void put_line(enum say_kind kind, bool said, const char *text)
{
    struct news n = {.kind = NEWS_LINE, .value = kind, .said = said};
    buf_puts(&n.text, text);
    ui_news(ui, &n);
    buf_free(&n.text);
}

static inline void put_event(const struct event *e)
{
    struct news n = {.kind = NEWS_EVENT, .event = *e};
    ui_news(ui, &n);
}

static inline void put_question(int64_t number, const char *who, const char *text, const char *scope, bool asks_text)
{
    struct news n = {.kind = NEWS_QUESTION, .value = number, .asks_text = asks_text};
    snprintf(n.who, sizeof n.who, "%s", who);
    snprintf(n.scope, sizeof n.scope, "%s", scope);
    buf_puts(&n.text, text);
    ui_news(ui, &n);
    buf_free(&n.text);
}

/* ------------------------------------------------------------------ recorded streams */

struct stream {
    struct event *event;
    int n;
};

static inline struct stream read_stream(const char *name)
{
    struct stream s = {0};
    char path[200], *line = NULL;
    size_t cap = 0;
    snprintf(path, sizeof path, "tests/fixtures/streams/%s.jsonl", name);
    FILE *f = fopen(path, "r");
    if (!f) check_fail(__FILE__, __LINE__, "%s is not there", path);
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0; s.n++) {
        struct err err = {0};
        s.event = realloc(s.event, (size_t)(s.n + 1) * sizeof *s.event);
        CHECK(s.event != NULL);
        if (event_read(line, (size_t)n - 1, &s.event[s.n], &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    }
    free(line);
    fclose(f);
    return s;
}

static inline void free_stream(struct stream *s)
{
    for (int i = 0; i < s->n; i++) event_free(&s->event[i]);
    free(s->event);
}

/* One event as the desk tells of it: what a person says to the only agent is an order that begins; when it is saved it
 * is done. */
static inline void play_one(const struct event *e)
{
    now = 1000 + e->time;
    if (e->kind == EV_TURN_USER && e->agent.len == 0) put_news(NEWS_BEGUN, 0, e->turn_user.text.data);
    put_event(e);
    if (e->kind == EV_SAVED && e->agent.len == 0) put_news(NEWS_DONE, 0, "");
    ui_tick(ui, now);
}

/* The first events, up to the one with this seq. */
static inline void play(const struct stream *s, int seq)
{
    for (int i = 0; i < s->n && s->event[i].seq <= seq; i++) play_one(&s->event[i]);
}

/* ------------------------------------------------------------------ the screen */

static inline const struct surface *look(void)
{
    const struct surface *s = ui_draw(ui);
    const char *bad = surface_props(s);
    if (bad) check_fail(__FILE__, __LINE__, "%s", bad);
    CHECK((s->cursor_column == -1) == (s->cursor_row == -1));
    CHECK(s->cursor_column >= -1 && s->cursor_column < s->columns);
    CHECK(s->cursor_row >= -1 && s->cursor_row < s->rows);
    return s;
}

static inline const char *screen(void)
{
    static struct buf text;
    text.len = 0;
    surface_dump(look(), &text);
    CHECK(!text.failed);
    return text.data;
}

static inline bool shows(const char *part) { return strstr(screen(), part) != NULL; }

#define SHOWS(part) (shows(part) ? (void)0 : check_fail(__FILE__, __LINE__, "\"%s\" is not shown:\n%s", part, screen()))
#define SHOWS_NO(part) \
    (!shows(part) ? (void)0 : check_fail(__FILE__, __LINE__, "\"%s\" is shown:\n%s", part, screen()))

/* The first row that has this in it; NULL: none. */
static inline const char *row_with(const char *part)
{
    static char row[SURFACE_MAX * CELL_BYTES];
    const char *all = screen(), *at = strstr(all, part), *end;
    if (!at) return NULL;
    while (at > all && at[-1] != '\n') at--;
    end = strchr(at, '\n');
    snprintf(row, sizeof row, "%.*s", (int)(end - at), at);
    return row;
}

/* The number behind a word of a text, with its commas; -1: the word is not there. */
static inline int64_t number_behind(const char *text, const char *word)
{
    const char *at = text ? strstr(text, word) : NULL;
    int64_t n = 0;
    if (!at) return -1;
    for (at += strlen(word); *at == ' ';) at++;
    if (*at < '0' || *at > '9') check_fail(__FILE__, __LINE__, "no number behind \"%s\": %s", word, text);
    for (; (*at >= '0' && *at <= '9') || *at == ','; at++)
        if (*at != ',') n = 10 * n + (*at - '0');
    return n;
}

/* tests/fixtures/screens/NAME.txt; PLIMSOLL_WRITE_SCREENS=1 writes it anew. */
static inline void check_golden(const char *name)
{
    char path[200], block[4096];
    struct buf want = {0}, is = {0};
    surface_dump_looks(look(), &is);
    snprintf(path, sizeof path, "tests/fixtures/screens/%s.txt", name);
    if (getenv("PLIMSOLL_WRITE_SCREENS")) {
        FILE *f = fopen(path, "wb");
        CHECK(f && fwrite(is.data, 1, is.len, f) == is.len && fclose(f) == 0);
    }
    FILE *f = fopen(path, "rb");
    if (!f) check_fail(__FILE__, __LINE__, "%s is not there", path);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;) buf_put(&want, block, n);
    fclose(f);
    if (want.len != is.len || memcmp(want.data, is.data, is.len) != 0)
        check_fail(__FILE__, __LINE__, "not as in %s:\n%s", path, screen());
    buf_free(&want);
    buf_free(&is);
}
#endif
