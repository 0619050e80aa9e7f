/* fuzz_ui.c - any bytes as what a person and a session do to the screen: keys, events, lines, questions, docs, sizes.
 *
 * covers: app/tui/ui.c app/tui/ui_chat.c app/tui/ui_keys.c app/tui/plan.c
 *
 * A byte says what happens next, bytes behind it with what.  What must hold: nothing is read or written that is not
 * there, and after each step every cell is one that a terminal may be given (tests/surface_props.h) and the cursor lies
 * on the screen. */
#include "app/tui/ui_impl.h"
#include "app/tui/view_artifacts.h"
#include "app/tui/view_map.h"
#include "app/tui/view_sessions.h"
#include "tests/surface_props.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 300, ROWS = 12 };

static void must(bool holds)
{
    if (!holds) abort();
}

/* ------------------------------------------------------------------ bytes as figures and texts */

struct from { const uint8_t *at, *end; };

static unsigned byte(struct from *f) { return f->at < f->end ? *f->at++ : 0; }
static bool more(const struct from *f) { return f->at < f->end; }

/* Small, near a bound, or any. */
static int64_t number(struct from *f)
{
    static const int64_t edge[] = {0, -1, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, INT64_C(1) << 40, 1000000};
    const unsigned how = byte(f);
    uint64_t n = 0;
    if (how < 200) return how;
    if (how < 230) return edge[how % COUNT_OF(edge)];
    for (int i = 0; i < (how < 245 ? 2 : 8); i++) n = n << 8 | byte(f);
    return (int64_t)n;
}

/* Up to 63 bytes of the input, some of them again and again. */
static struct event_str text(struct from *f)
{
    static char many[1 << 14];
    const unsigned how = byte(f);
    const size_t n = MIN((size_t)(how & 63), (size_t)(f->end - f->at));
    struct event_str s = {(const char *)f->at, n};
    f->at += n;
    if ((how & 0xc0) != 0xc0 || n == 0) return s;
    for (size_t i = 0; i < sizeof many; i++) many[i] = s.data[i % n];
    return (struct event_str){many, (how & 32) ? sizeof many : sizeof many / 16};
}

static void into(struct from *f, char *out, size_t size)
{
    const struct event_str s = text(f);
    snprintf(out, size, "%.*s", (int)MIN(s.len, size - 1), s.data);
}

static struct event_str agent(struct from *f)
{
    static const char *const name[] = {"", "", "", "ann", "bob", "ann/2", "\xe6\x97\xa5\xe6\x9c\xac", "\x1b[31mred"};
    const unsigned i = byte(f);
    return i < 250 ? event_str(name[i % COUNT_OF(name)]) : text(f);
}

/* ------------------------------------------------------------------ the host */

struct rig {
    struct ui *ui;
    struct keys keys;
    struct from f;
    double now;
    int64_t questions;
    unsigned mood; /* of the host */
    struct surface was;
};

static bool host_order(void *self, const char *t, size_t n)
{
    struct rig *r = self;
    must(n == 0 || t);
    return r->mood++ % 5 != 0;
}
static bool host_take_back(void *self, struct buf *t)
{
    struct rig *r = self;
    if (r->mood++ % 2) return false;
    buf_puts(t, "taken back\nin two lines");
    return true;
}
static void host_cancel(void *self, const char *name) { ((struct rig *)self)->mood += (unsigned)strlen(name); }
static void host_ask(void *self, const struct doc_ask *a)
{
    (void)self;
    must(a->kind > DOC_NONE && a->kind < DOC_KINDS && memchr(a->what, '\0', sizeof a->what));
}
static void host_answer(void *self, int64_t q, int choice, const char *t, size_t n)
{
    must(q >= 1 && q <= ((struct rig *)self)->questions && choice >= 0 && choice <= 2 && (n == 0 || t));
}
static int64_t host_tokens(void *self, const char *t, size_t n, bool *exact)
{
    struct rig *r = self;
    must(n == 0 || t);
    *exact = r->mood % 2;
    return r->mood % 7 == 0 ? -1 : (int64_t)n / 3;
}
static void host_remember(void *self, const char *t, size_t n) { (void)self, must(n == 0 || t); }
static size_t host_copy(void *self, const char *t, size_t n) /* all, some, none */
{
    must(n == 0 || t);
    return n / (size_t)(1 + ((struct rig *)self)->mood++ % 3);
}
static void host_editor(void *self, struct buf *t)
{
    if (((struct rig *)self)->mood++ % 2) t->len = 0;
    buf_puts(t, "edited \xff\n\n");
}
static void host_nothing(void *self) { ((struct rig *)self)->mood++; }

static const struct complete_source *host_source(void *self)
{
    static const struct command_row command[] = {
        {"/context", NULL, COMMAND_NONE, NULL, NULL, "what is carried"},
        {"/compact", NULL, COMMAND_NONE, NULL, NULL, "sums up"},
        {"/use", "AGENT", COMMAND_AGENT, NULL, NULL, "speaks to"},
    };
    static const struct complete_name name[] = {{"ann", "plans"}, {"annabel", NULL}, {"b\x1b]0;", "bad"}};
    static const struct complete_source source = {
        .command = command, .commands = COUNT_OF(command), .names = {[COMMAND_AGENT] = {name, COUNT_OF(name)}}};
    return ((struct rig *)self)->mood % 3 ? &source : NULL;
}

/* ------------------------------------------------------------------ what happens */

static void type(struct rig *r)
{
    const unsigned most = (byte(&r->f) & 15) + 1;
    const size_t n = MIN((size_t)most, (size_t)(r->f.end - r->f.at));
    struct key k;
    keys_feed(&r->keys, (const char *)r->f.at, n, (int64_t)(r->now * 1e3));
    r->f.at += n;
    while (keys_next(&r->keys, (int64_t)(r->now * 1e3), &k)) ui_key(r->ui, &k, r->now);
}

/* A key as such: not all are easily found as bytes. */
static void press(struct rig *r)
{
    static const char letters[] = "cdzlfbxnruwkyaep1234567890?qjkGg";
    char letter[2] = {letters[byte(&r->f) % (sizeof letters - 1)], 0};
    const unsigned which = byte(&r->f), mods = byte(&r->f);
    struct key k = {.name = (enum key_name)(which % KEY_PASTE), .mods = mods & 1 ? 0 : mods >> 1 & 7};
    if (k.name == KEY_CHAR) k.rune = (uint32_t)letter[0], k.text = letter, k.n = 1;
    ui_key(r->ui, &k, r->now);
}

static void put(struct rig *r, struct news *n)
{
    ui_news(r->ui, n);
    buf_free(&n->text);
    doc_free(&n->doc);
}

static void event(struct rig *r)
{
    struct news n = {.kind = byte(&r->f) % 8 ? NEWS_EVENT : NEWS_PAST};
    struct event *e = &n.event;
    e->kind = (enum event_kind)(byte(&r->f) % EVENT_KINDS);
    e->agent = agent(&r->f);
    e->time = r->now;
    const struct event_info *info = event_info(e->kind);
    for (size_t i = 0; i < info->n_fields; i++) {
        void *at = (char *)e + info->fields[i].at;
        switch (info->fields[i].type) {
        case EVENT_INT: *(int64_t *)at = number(&r->f); break;
        case EVENT_REAL: *(double *)at = (double)number(&r->f) / 16; break;
        case EVENT_STR: *(struct event_str *)at = text(&r->f); break;
        case EVENT_BOOL: *(bool *)at = byte(&r->f) & 1; break;
        }
    }
    put(r, &n);
}

static void line(struct rig *r)
{
    static const enum news_kind kind[] = {NEWS_LINE, NEWS_BEGUN, NEWS_DONE, NEWS_SESSION, NEWS_AGENT, NEWS_PAST_BEGINS};
    struct news n = {.kind = kind[byte(&r->f) % COUNT_OF(kind)], .said = byte(&r->f) & 1};
    n.value = (int64_t)(byte(&r->f) % 6) - (n.kind == NEWS_SESSION);
    const struct event_str s = text(&r->f);
    buf_put(&n.text, s.data, s.len);
    put(r, &n);
}

static void question(struct rig *r)
{
    struct news n = {.kind = NEWS_QUESTION, .value = ++r->questions, .asks_text = byte(&r->f) & 1};
    into(&r->f, n.who, sizeof n.who);
    into(&r->f, n.scope, sizeof n.scope);
    const struct event_str s = text(&r->f);
    buf_put(&n.text, s.data, s.len);
    put(r, &n);
    if (byte(&r->f) % 4) return;
    n = (struct news){.kind = NEWS_WITHDRAWN, .value = byte(&r->f) % (r->questions + 2)};
    put(r, &n);
}

/* ------------------------------------------------------------------ docs */

static void free_text(void *data)
{
    buf_free(&((struct doc_text *)data)->text);
    free(data);
}
static void free_sessions(void *data)
{
    free(((struct doc_sessions *)data)->row);
    free(data);
}
static void free_artifacts(void *data)
{
    free(((struct doc_artifacts *)data)->row);
    free(data);
}
static void free_map(void *data)
{
    free(((struct map *)data)->cell);
    free(((struct map *)data)->segment);
    free(data);
}

static void *zeroed(size_t n)
{
    void *p = calloc(1, n);
    must(p != NULL);
    return p;
}

static void make_text(struct rig *r, struct doc *d)
{
    struct doc_text *t = d->data = zeroed(sizeof *t);
    const struct event_str s = text(&r->f);
    buf_put(&t->text, s.data, s.len);
    t->from = d->ask.from = byte(&r->f);
    t->next = t->from + s.len;
    t->bytes = t->next + byte(&r->f);
    into(&r->f, t->title, sizeof t->title);
    d->free = free_text;
}

static void make_sessions(struct rig *r, struct doc *d)
{
    struct doc_sessions *s = d->data = zeroed(sizeof *s);
    s->rows = (int)(byte(&r->f) % ROWS);
    s->row = zeroed(ROWS * sizeof *s->row);
    for (int i = 0; i < s->rows; i++) {
        struct sessions_row *w = &s->row[i];
        into(&r->f, w->id, sizeof w->id);
        into(&r->f, w->title, sizeof w->title);
        into(&r->f, w->model, sizeof w->model);
        w->created_ms = number(&r->f);
        w->updated_ms = number(&r->f);
        w->turns = (uint32_t)number(&r->f);
        w->bytes = (uint64_t)number(&r->f);
        w->of = (int)(byte(&r->f) % (unsigned)s->rows) - 1;
        w->open = byte(&r->f) & 1;
    }
    s->now_ms = number(&r->f);
    s->sized = byte(&r->f) & 1;
    d->free = free_sessions;
}

static void make_artifacts(struct rig *r, struct doc *d)
{
    struct doc_artifacts *a = d->data = zeroed(sizeof *a);
    a->rows = (int)(byte(&r->f) % ROWS);
    a->row = zeroed(ROWS * sizeof *a->row);
    for (int i = 0; i < a->rows; i++) {
        struct artifacts_row *w = &a->row[i];
        w->id = (uint64_t)number(&r->f);
        into(&r->f, w->tool, sizeof w->tool);
        into(&r->f, w->about, sizeof w->about);
        w->bytes = (uint64_t)number(&r->f);
        w->tokens = number(&r->f);
        w->turn = (uint32_t)number(&r->f);
        w->time_ms = number(&r->f);
    }
    a->left_out = byte(&r->f);
    into(&r->f, a->agent, sizeof a->agent);
    d->free = free_artifacts;
}

static void make_map(struct rig *r, struct doc *d)
{
    struct map *m = d->data = zeroed(sizeof *m);
    m->pages = byte(&r->f) * 16u + 1;
    m->page_tokens = 16;
    m->page_bytes = (uint64_t)byte(&r->f) << 10;
    const uint64_t cells = byte(&r->f) + 1;
    m->cells = (int)MIN(m->pages, cells);
    m->cell = zeroed((size_t)m->cells * sizeof *m->cell);
    m->segment = zeroed((size_t)m->cells);
    m->agents = (int)(byte(&r->f) % 4);
    for (int i = 0; i < m->agents; i++) into(&r->f, m->name[i], sizeof m->name[i]);
    for (int i = 0; i < m->cells; i++) {
        const unsigned b = byte(&r->f);
        m->cell[i] = (struct pagemap_cell){.state = (uint8_t)(b % PAGE_STATES), .agent = (uint8_t)(b >> 6),
                                           .mixed = b & 32};
    }
    m->state[0] = m->pages;
    d->free = free_map;
}

static void doc(struct rig *r)
{
    static const struct { enum doc_kind kind; void (*make)(struct rig *r, struct doc *d); } each[] = {
        {DOC_TEXT, make_text}, {DOC_SESSIONS, make_sessions}, {DOC_ARTIFACTS, make_artifacts}, {DOC_MAP, make_map},
        {DOC_INSPECT, NULL}, {DOC_FLIGHT, NULL}, {DOC_MODELS, NULL}};
    struct news n = {.kind = NEWS_DOC};
    const unsigned i = byte(&r->f) % COUNT_OF(each);
    n.doc.ask.kind = each[i].kind;
    into(&r->f, n.doc.ask.what, sizeof n.doc.ask.what);
    if (each[i].make && byte(&r->f) % 4) each[i].make(r, &n.doc);
    else into(&r->f, n.doc.error, sizeof n.doc.error);
    put(r, &n);
}

/* ------------------------------------------------------------------ a step */

static void step(struct rig *r)
{
    const unsigned what = byte(&r->f) % 16;
    if (what < 4) type(r);
    else if (what < 7) press(r);
    else if (what < 11) event(r);
    else if (what == 11) line(r);
    else if (what == 12) question(r);
    else if (what == 13) doc(r);
    else if (what == 14) {
        const int columns = 1 + (int)(byte(&r->f) % 220), rows = 1 + (int)(byte(&r->f) % 70);
        ui_resize(r->ui, columns, rows);
    } else {
        r->now += byte(&r->f) / 8.0;
        ui_tick(r->ui, r->now);
    }
}

/* Rows that are as they were have been looked at. */
static void row_must_be_sound(const struct surface *s, struct surface *was, int row)
{
    const size_t at = (size_t)row * (size_t)s->columns, bytes = (size_t)s->columns * sizeof *s->cell;
    if (memcmp(s->cell + at, was->cell + at, bytes) == 0) return;
    memcpy(was->cell + at, s->cell + at, bytes);
    for (int column = 0; column < s->columns; column++) {
        const char *bad = cell_props(s, column, row);
        if (bad) fprintf(stderr, "not so: %s\n", bad);
        must(!bad);
    }
}

static void must_be_sound(struct rig *r)
{
    const struct surface *s = ui_draw(r->ui);
    if (s->columns != r->was.columns || s->rows != r->was.rows)
        must(surface_resize(&r->was, s->columns, s->rows, NULL) == 0);
    for (int row = 0; row < s->rows; row++) row_must_be_sound(s, &r->was, row);
    must(s->cursor_column >= -1 && s->cursor_column < s->columns && s->cursor_row >= -1 && s->cursor_row < s->rows);
    must((s->cursor_column == -1) == (s->cursor_row == -1));
    char id[9];
    ui_session(r->ui, id);
    must(strlen(id) <= 8 && strlen(ui_last_error(r->ui)) < 240 && ui_edit(r->ui));
    must(ui_busy(r->ui) || !r->ui->is_command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rig r = {.f = {data, data + size}, .now = 1};
    const struct ui_host host = {
        .self = &r, .order = host_order, .take_back = host_take_back, .cancel = host_cancel, .ask = host_ask,
        .answer = host_answer, .tokens = host_tokens, .copy = host_copy, .editor = host_editor,
        .suspend = host_nothing, .redraw = host_nothing, .leave = host_nothing, .remember = host_remember,
        .source = host_source};
    const unsigned how = byte(&r.f);
    const struct ui_setup setup = {
        .columns = how & 1 ? 80 : 130, .rows = how & 1 ? 24 : 36, .utf8 = how & 2, .mono = how & 4, .live = how & 8,
        .stored = how & 16, .crew = how & 32 ? "a crew\x1b[0m" : NULL};
    r.ui = ui_open(&setup, &host, NULL);
    must(r.ui != NULL);
    must(surface_open(&r.was, setup.columns, setup.rows, NULL) == 0); /* all blank, which is sound */
    keys_open(&r.keys, 25);
    for (int i = 0; i < STEPS && more(&r.f); i++) {
        step(&r);
        must_be_sound(&r);
    }
    ui_close(r.ui);
    surface_close(&r.was);
    keys_close(&r.keys);
    return 0;
}
