/* test_clip_props.c - what must hold for every text, kind, limit and counter, on random and nasty inputs: tests/
 * clip_props.h says what. */
#include "tests/clip_props.h"

#include <jansson.h>

#include "tests/check.h"

/* ---------------------------------------------------------------- originals */

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 4) * below >> 28);
}

static void any_bytes(struct buf *b, size_t n)
{
    while (b->len < n) buf_put(b, (char[]){(char)draw(256)}, 1);
}

/* What filters and cuts trip over, in any order. */
static void nasty(struct buf *b, size_t n)
{
    static const char *const part[] = {
        "\n", "\r\n", "\r", "\x1b[31m", "\x1b[", "\x1b", "\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14m", "\xe4\xbd\xa0",
        "\xe4\xbd", "\xf0\x9f\xa6\x99", "\xf0\x9f", "\x80", "\xff", "\xed\xa0\x80", "\x01", "\x7f", "\xc2\x85",
        "\xe2\x80\xae", "\xf3\xa0\x80\xa1", "\"", ",", "[", "{", "word ", "error: ", "[...]", "\t", "     "};
    while (b->len < n) {
        if (draw(30) == 0)
            buf_put(b, "", 1);
        else
            buf_puts(b, part[draw(COUNT_OF(part))]);
    }
}

static void prose(struct buf *b, size_t n)
{
    static const char *const word[] = {"a ", "ship ", "load line ", "na\xc3\xafve ", "\xe6\xb0\xb4 ", "sea.\n"};
    while (b->len < n) buf_puts(b, word[draw(COUNT_OF(word))]);
}

static void log_lines(struct buf *b, size_t n)
{
    for (int i = 0; b->len < n; i++) {
        buf_printf(b, "2024-05-01 12:00:%02d %s request %d%s\n", i % 60, draw(40) ? "INFO" : "ERROR", i,
                   draw(25) ? "" : " connection refused by \xf0\x9f\x90\x99");
        if (draw(60) == 0)
            for (uint32_t k = draw(600); k > 0; k--) buf_puts(b, "\xc3\xa9x ");
    }
}

static void rows(struct buf *b, size_t n)
{
    buf_puts(b, "id,name,\"what, it\"\r\n");
    for (int i = 0; b->len < n; i++) buf_printf(b, "%d,\"n \"\"%d\"\"\n two lines\",%s\r\n", i, i, draw(2) ? "x" : "");
}

static void json_text(struct buf *b)
{
    static const char *const part[] = {"a", "\xe4\xbd\xa0", "\\n", "\\ud83e\\udd99", "\\\"", " long text ", "\x7f"};
    buf_puts(b, "\"");
    for (uint32_t k = draw(8) ? draw(6) : draw(500); k > 0; k--) buf_puts(b, part[draw(COUNT_OF(part))]);
    buf_puts(b, "\"");
}

static void json_value(struct buf *b, int depth, size_t n)
{
    uint32_t what = depth == 0 ? draw(2) : draw(depth > 6 ? 4 : 6) + (depth > 6 ? 2 : 0);
    if (what >= 2) {
        if (what == 2) buf_printf(b, "%d.5e-3", (int)draw(1000) - 500);
        if (what == 3) buf_puts(b, draw(2) ? "true" : "null");
        if (what >= 4) json_text(b);
        return;
    }
    buf_puts(b, what ? "{" : "[");
    for (uint32_t i = 0, items = depth ? draw(9) : 1u << 30; i < items && b->len < n; i++) {
        if (i) buf_puts(b, draw(5) ? "," : " ,\r\n  ");
        if (what) {
            json_text(b);
            buf_puts(b, draw(3) ? ":" : "\n: ");
        }
        json_value(b, depth + 1, n);
    }
    buf_puts(b, what ? "}" : "]");
}

static void json(struct buf *b, size_t n) { json_value(b, 0, n); }

static void broken_json(struct buf *b, size_t n)
{
    json_value(b, 0, n);
    if (draw(2))
        b->len -= 1;
    else
        b->data[draw((uint32_t)b->len)] = (char)draw(256);
}

static void only_newlines(struct buf *b, size_t n)
{
    while (b->len < n) buf_puts(b, "\n");
}

static void one_line(struct buf *b, size_t n)
{
    while (b->len < n) buf_puts(b, draw(2) ? "x" : "\xf0\x9f\xa6\x99");
    if (draw(2)) buf_puts(b, "\n");
}

static void (*const makers[])(struct buf *, size_t) = {any_bytes, nasty, prose, log_lines, rows, json, broken_json,
                                                       only_newlines, one_line};

/* ---------------------------------------------------------------- the properties */

static void in_pieces(const struct clip_config *cfg, const struct buf *b, uint32_t most, struct buf *out,
                      struct clip_figures *f)
{
    struct err err = {0};
    struct clip *c = clip_open(cfg, &err);
    CHECK(c != NULL);
    for (size_t at = 0; at < b->len;) {
        size_t n = 1 + (size_t)draw(most);
        n = MIN(n, b->len - at);
        clip_feed(c, b->data + at, n);
        at += n;
    }
    CHECK_EQ(clip_finish(c, out, f, &err), 0);
    clip_close(c);
}

/* JSON that another reader takes stays JSON. */
static void stays_json(const struct buf *b, const struct buf *out, const struct clip_figures *f)
{
    json_error_t e;
    json_t *before = f->kind == CLIP_JSON ? json_loadb(b->data, b->len, 0, &e) : NULL;
    json_t *after = before ? json_loadb(out->data, out->len, 0, &e) : NULL;
    if (before && !after) check_fail(__FILE__, __LINE__, "%s at %d in %s", e.text, e.position, out->data);
    json_decref(before);
    json_decref(after);
}

static void holds(const struct clip_config *cfg, const struct buf *b, uint32_t began)
{
    struct buf whole = {0}, cut = {0};
    struct clip_figures f, g;
    struct err err = {0};
    buf_puts(&whole, "before"); /* appended to, never looked at */
    CHECK_EQ(clip_whole(cfg, b->data, b->len, &whole, &f, &err), 0);
    const char *bad = clip_props(cfg, b->data, b->len, whole.data + 6, whole.len - 6, &f);
    in_pieces(cfg, b, draw(2) ? 7 : 9000, &cut, &g);
    bool same = same_figures(&f, &g) && cut.len == whole.len - 6;
    if (!bad && (!same || (cut.len && memcmp(cut.data, whole.data + 6, cut.len))))
        bad = "cuts of the stream show";
    if (bad)
        check_fail(__FILE__, __LINE__, "%s: seed %u, %zu bytes, kind %d -> %d, %zu tokens:\n%.2000s", bad, began,
                   b->len, cfg->kind, f.kind, cfg->max_tokens, whole.data);
    stays_json(b, &cut, &g);
    buf_free(&whole);
    buf_free(&cut);
}

static struct clip_config some_config(void)
{
    static size_t (*const counters[])(void *, const char *, size_t) = {count_bytes, count_words, count_rough};
    static const size_t limits[] = {0, 1, 2, 3, 5, 8, 13, 30, 63, 64, 100, 200, 500, 2000, 10000};
    return (struct clip_config){.counter = {counters[draw(3)], NULL},
                                .max_tokens = limits[draw(COUNT_OF(limits))],
                                .kind = draw(2) ? CLIP_AUTO : (enum clip_kind)draw(5)};
}

static void rounds(uint32_t from, uint32_t n, size_t most)
{
    for (uint32_t round = from; round < from + n; round++) {
        struct buf b = {0};
        seed = round;
        void (*make)(struct buf *, size_t) = makers[round % COUNT_OF(makers)];
        make(&b, draw(4) ? draw(2000) : draw((uint32_t)most));
        struct clip_config cfg = some_config();
        holds(&cfg, &b, round);
        buf_free(&b);
    }
}

TEST(short_originals_of_every_sort_keep_all_promises) { rounds(1, 3000, 3000); }

TEST(originals_longer_than_what_is_held_keep_all_promises) { rounds(100001, CHECK_SANITIZED ? 150 : 500, 120000); }

static size_t count_little(void *self, const char *text, size_t n)
{
    (void)self;
    (void)text;
    return n / 1000;
}

/* Then the ring's oldest byte is shown, which may lie in a character. */
TEST(where_all_that_is_held_fits_all_of_it_is_shown)
{
    for (uint32_t round = 0; round < 10 * COUNT_OF(makers); round++) {
        struct buf b = {0};
        struct clip_config cfg = {.counter = {count_little, NULL}, .max_tokens = 100, .kind = CLIP_TEXT};
        seed = round;
        makers[round % COUNT_OF(makers)](&b, CLIP_HOLD_MIN + draw(20000));
        holds(&cfg, &b, round);
        buf_free(&b);
    }
}

TEST(every_limit_from_nothing_on_is_kept)
{
    for (uint32_t m = 0; m < COUNT_OF(makers); m++) {
        struct buf b = {0};
        seed = m;
        makers[m](&b, 1500);
        for (size_t limit = 0; limit < 200; limit++) {
            struct clip_config cfg = {.counter = {count_words, NULL}, .max_tokens = limit};
            holds(&cfg, &b, m);
        }
        buf_free(&b);
    }
}

CHECK_MAIN
