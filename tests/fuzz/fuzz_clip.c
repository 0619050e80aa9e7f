/* fuzz_clip.c - any bytes as a tool's result, clipped; and read on, as a whole that is stored.
 *
 * covers: tools/clip.c tools/clip_unit.c tools/clip_write.c tools/clip_log.c tools/clip_json.c tools/clip_csv.c
 * covers: tools/clip_kind.c tools/clip_read.c tools/clip_pattern.c
 *
 * An input: a letter for the kind (a t l j c: auto, text, log, JSON, CSV; o n p r: read by offset, line, text,
 * pattern), a letter for the limit, a byte for how it is cut or where reading begins; for p and r a line with the
 * pattern; then the original, in which "~" and a digit d repeat what is before it d * 40 times (to make it longer than
 * what is held).  What must hold is in tests/clip_props.h; and the stream cut in another way gives the same. */
#include "tests/clip_props.h"

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_hold(const char *bad)
{
    if (!bad) return;
    fprintf(stderr, "%s\n", bad);
    abort();
}

static const size_t limits[] = {0, 1, 2, 3, 5, 8, 13, 30, 64, 100, 200, 500, 1000, 2000, 5000, 20000};

/* ---------------------------------------------------------------- the original */

/* ~d repeats the line that it ends. */
static struct buf original(const uint8_t *data, size_t n)
{
    enum { MOST = 200000 };
    struct buf b = {0};
    size_t line = 0;
    for (size_t i = 0; i < n && b.len < MOST; i++) {
        if (data[i] == '~' && i + 1 < n && data[i + 1] >= '1' && data[i + 1] <= '9') {
            size_t len = b.len - line;
            char *again = len ? malloc(len) : NULL;
            if (again) memcpy(again, b.data + line, len);
            for (int k = 0; again && k < (data[i + 1] - '0') * 40 && b.len < MOST; k++) buf_put(&b, again, len);
            free(again);
            line = b.len;
            i++;
        } else {
            buf_put(&b, data + i, 1);
        }
    }
    char *exact = malloc(MAX(b.len, 1)); /* its own block: reading past the end is seen */
    must_hold(exact ? NULL : "memory");
    if (b.len) memcpy(exact, b.data, b.len);
    struct buf out = {exact, b.len, b.len, false};
    buf_free(&b);
    return out;
}

/* ---------------------------------------------------------------- clipped */

static void in_pieces(const struct clip_config *cfg, const struct buf *b, uint32_t cut, struct buf *out,
                      struct clip_figures *f)
{
    struct clip *c = clip_open(cfg, NULL);
    must_hold(c ? NULL : "memory");
    for (size_t at = 0; at < b->len;) {
        size_t n = 1 + (cut >> 8) % (cut & 1 ? 11 : 5000);
        n = MIN(n, b->len - at);
        clip_feed(c, b->data + at, n);
        at += n;
        cut = (cut * 1664525u + 1013904222u) | (cut & 1);
    }
    must_hold(clip_finish(c, out, f, NULL) ? "memory" : NULL);
    clip_close(c);
}

static void stays_json(const struct buf *b, const struct buf *out)
{
    json_t *before = json_loadb(b->data, b->len, 0, NULL);
    json_t *after = before ? json_loadb(out->data, out->len, 0, NULL) : NULL;
    must_hold(before && !after ? "it was JSON" : NULL);
    json_decref(before);
    json_decref(after);
}

static void clip_and_judge(const struct clip_config *cfg, const struct buf *b, uint8_t cut)
{
    struct buf whole = {0}, pieces = {0};
    static struct clip_figures f, g;
    must_hold(clip_whole(cfg, b->data, b->len, &whole, &f, NULL) ? "memory" : NULL);
    must_hold(clip_props(cfg, b->data, b->len, whole.data, whole.len, &f));
    in_pieces(cfg, b, cut, &pieces, &g);
    bool same = same_figures(&f, &g) && whole.len == pieces.len &&
                (whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
    must_hold(same ? NULL : "cuts of the stream show");
    if (f.kind == CLIP_JSON) stays_json(b, &whole);
    buf_free(&whole);
    buf_free(&pieces);
}

/* ---------------------------------------------------------------- read on */

static int get(void *self, uint64_t at, char *out, size_t n, struct err *err)
{
    const struct buf *b = self;
    must_hold(err && n > 0 && n <= b->len && at <= b->len - n ? NULL : "what is not there is asked for");
    memcpy(out, b->data + at, n);
    return 0;
}

static void read_and_judge(const struct clip_config *cfg, struct buf *b, struct clip_request r)
{
    struct clip_source s = {get, b, b->len};
    struct ref ref = ref_filter(b->data, b->len);
    static struct clip_figures f;
    for (int round = 0; round < 20; round++) {
        struct buf out = {0};
        struct err err = {0};
        if (clip_read(cfg, &s, &r, &out, &f, &err)) {
            must_hold(err.text[0] && out.len == 0 ? NULL : "refused without a word");
            break;
        }
        must_hold(bad_ranges(&ref, out.data, &f));
        size_t tokens = out.len ? cfg->counter.count(cfg->counter.self, out.data, out.len) : 0;
        must_hold(tokens <= cfg->max_tokens && tokens == f.tokens ? NULL : "tokens");
        must_hold(f.shown_bytes + f.left_bytes == b->len && f.shown_count <= f.count ? NULL : "figures");
        must_hold(f.next <= b->len && (r.by == CLIP_BY_LINES || f.next >= r.from) ? NULL : "next goes back");
        must_hold(f.shown_bytes && r.by != CLIP_BY_LINES && f.next <= r.from ? "next does not go on" : NULL);
        buf_free(&out);
        if (f.shown_bytes == 0 || r.by == CLIP_BY_LINES) break;
        r.from = f.next;
    }
    ref_free(&ref);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char kinds[] = "atljc", ways[] = "onpr";
    struct clip_config cfg = {.counter = {count_words, NULL}};
    if (size < 3 || !data[0]) return 0;
    const char *kind = strchr(kinds, data[0]), *way = strchr(ways, data[0]);
    cfg.max_tokens = limits[data[1] % COUNT_OF(limits)];
    if (data[1] & 0x10) cfg.counter.count = count_rough;
    if (kind) cfg.kind = (enum clip_kind)(kind - kinds);
    struct clip_request r = {.by = way ? (enum clip_by)(way - ways) : CLIP_BY_OFFSET, .from = data[2]};
    size_t head = 3;
    if (r.by >= CLIP_BY_TEXT) {
        const uint8_t *newline = memchr(data + head, '\n', size - head);
        r.pattern = (const char *)data + head;
        r.pattern_len = newline ? (size_t)(newline - data) - head : size - head;
        head += r.pattern_len + (newline != NULL);
    }
    struct buf b = original(data + head, size - head);
    if (kind) clip_and_judge(&cfg, &b, data[2]);
    if (way) read_and_judge(&cfg, &b, r);
    buf_free(&b);
    return 0;
}
