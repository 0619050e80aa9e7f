/* clip.c - the stream: its first bytes and its last are kept, and each kind looks at all that flows past. */
#include "tools/clip_impl.h"

/* ------------------------------------------------------------------ open and feed */

size_t clip_hold(const struct clip_config *cfg)
{
    uint64_t hold = cfg->hold;
    if (hold == 0 && size_mul(cfg->max_tokens, 16, &hold)) hold = CLIP_HOLD_MAX;
    return (size_t)(MIN(MAX(hold, CLIP_HOLD_MIN), CLIP_HOLD_MAX) & ~(uint64_t)1);
}

size_t clip_room(const struct clip_config *cfg) { return sizeof(struct clip) + clip_hold(cfg); }

struct clip *clip_open(const struct clip_config *cfg, struct err *err)
{
    assert(cfg->counter.count);
    struct clip *c = malloc(clip_room(cfg));
    if (!c) {
        err_set(err, -1, "out of memory: %zu bytes to clip a tool's result", clip_room(cfg));
        return NULL;
    }
    memset(c, 0, sizeof *c);
    c->cfg = *cfg;
    c->head = c->ring = clip_hold(cfg) / 2;
    return c;
}

void clip_close(struct clip *c) { free(c); }

/* Into the head until that is full, then round the ring. */
static void keep(struct clip *c, const char *s, size_t n)
{
    uint64_t at = c->bytes;
    c->bytes += n;
    c->newlines += clip_newlines(s, n);
    c->ends = s[n - 1];
    if (at < c->head) {
        size_t part = (size_t)MIN(c->head - at, (uint64_t)n);
        memcpy(c->store + at, s, part);
        at += part;
        s += part;
        n -= part;
    }
    if (n > c->ring) {
        size_t past = n - c->ring;
        at += past;
        s += past;
        n -= past;
    }
    while (n > 0) {
        size_t place = (size_t)((at - c->head) % c->ring), part = MIN(n, c->ring - place);
        memcpy(c->store + c->head + place, s, part);
        at += part;
        s += part;
        n -= part;
    }
}

static void scan(struct clip *c, const char *s, size_t n)
{
    if (c->kind == CLIP_LOG) clip_log_feed(&c->log, s, n);
    if (c->kind == CLIP_JSON) clip_json_feed(&c->json, s, n);
    if (c->kind == CLIP_CSV) clip_csv_feed(&c->csv, s, n);
}

/* The kind is decided on the same bytes however they come: the first CLIP_LOOK, which the head has. */
static void look(struct clip *c, bool end)
{
    size_t n = (size_t)c->bytes;
    c->looked = true;
    c->kind = clip_look(c, c->store, n, end);
    if (n > 0) scan(c, c->store, n);
}

void clip_feed(struct clip *c, const void *bytes, size_t n)
{
    const char *s = bytes;
    assert(!c->finished);
    if (n > 0 && !c->looked) {
        size_t part = MIN(n, (size_t)(CLIP_LOOK - c->bytes));
        keep(c, s, part);
        s += part;
        n -= part;
        if (c->bytes == CLIP_LOOK) look(c, false);
    }
    if (n == 0) return;
    keep(c, s, n);
    scan(c, s, n);
}

/* ------------------------------------------------------------------ what was kept */

static void reverse(char *s, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        char c = s[i];
        s[i] = s[n - 1 - i];
        s[n - 1 - i] = c;
    }
}

/* The oldest byte of the ring to its front.  A stream that never filled it then lies in one piece. */
static void turn_ring(struct clip *c)
{
    if (c->bytes <= c->head + c->ring) return;
    size_t place = (size_t)((c->bytes - c->head) % c->ring);
    char *ring = c->store + c->head;
    reverse(ring, place);
    reverse(ring + place, c->ring - place);
    reverse(ring, c->ring);
}

struct clip_part clip_head(const struct clip *c)
{
    bool all = c->bytes <= c->head + c->ring;
    return (struct clip_part){0, 0, c->store, all ? (size_t)c->bytes : c->head, all};
}

struct clip_part clip_tail(const struct clip *c)
{
    if (c->bytes <= c->head + c->ring) return clip_head(c);
    const char *ring = c->store + c->head;
    return (struct clip_part){c->bytes - c->ring, c->newlines - clip_newlines(ring, c->ring), ring, c->ring, true};
}

void clip_put_head(const struct clip *c, uint64_t len, struct clip_writer *w)
{
    struct clip_part p = clip_head(c);
    size_t n = clip_cut_end(p.bytes, p.len, p.end, (size_t)MIN(len, (uint64_t)p.len));
    clip_put(w, (struct clip_run){.bytes = p.bytes, .len = n});
}

/* Where the tail's part begins in the middle of the original, its first bytes only say where its borders are. */
struct clip_run clip_tail_run(const struct clip *c, uint64_t len)
{
    struct clip_part p = clip_tail(c);
    size_t first = p.at ? CLIP_UNIT : 0;
    size_t from = p.len - (size_t)MIN(len, (uint64_t)p.len);
    size_t cut = clip_cut_start(p.bytes, p.len, true, MAX(from, first));
    return (struct clip_run){.at = p.at + cut,
                             .newlines = p.newlines + clip_newlines(p.bytes, cut),
                             .bytes = p.bytes + cut,
                             .len = p.len - cut,
                             .fresh = cut > 0 && p.bytes[cut - 1] == '\n'};
}

/* ------------------------------------------------------------------ finish */

static void text_draw(void *self, uint64_t level, struct clip_writer *w)
{
    const struct clip *c = self;
    clip_put_head(c, level / 2, w);
    clip_put(w, clip_tail_run(c, level - level / 2));
    clip_put_end(w, c->bytes, c->newlines, c->ends, PLACE_LINES, 0);
}

static void whole_draw(void *self, uint64_t level, struct clip_writer *w)
{
    const struct clip *c = self;
    (void)level;
    clip_put(w, (struct clip_run){.bytes = c->store, .len = (size_t)c->bytes});
    clip_put_end(w, c->bytes, c->newlines, c->ends, PLACE_LINES, 0);
}

static bool best(struct clip *c, enum clip_kind kind, uint64_t max, bool brief, struct buf *out, struct clip_figures *f)
{
    static void (*const draw[])(void *, uint64_t, struct clip_writer *) = {
        [CLIP_TEXT] = text_draw, [CLIP_LOG] = clip_log_draw, [CLIP_JSON] = clip_json_draw, [CLIP_CSV] = clip_csv_draw};
    struct clip_drawing d = {.draw = draw[kind], .self = c, .max = max};
    size_t from = out->len;
    if (clip_best(&c->cfg, &d, brief, out, f) && f->shown_bytes > 0 && (kind != CLIP_JSON || f->shown_count > 0))
        return true;
    out->len = from; /* marks alone, or two brackets round one, are not it */
    return false;
}

/* With marks that say how much, or where that takes too much of the room, brief ones. */
static bool best_marks(struct clip *c, enum clip_kind kind, uint64_t max, struct buf *out, struct clip_figures *f)
{
    enum { BRIEF_BELOW = 64 }; /* tokens; a long mark is 20 to 30 of them */
    if (c->cfg.max_tokens >= BRIEF_BELOW && best(c, kind, max, false, out, f)) return true;
    return best(c, kind, max, true, out, f);
}

/* What its kind has counted, where all of it is shown. */
static void count_whole(const struct clip *c, struct clip_figures *f)
{
    if (c->kind == CLIP_LOG) f->count = c->log.errors;
    if (c->kind == CLIP_JSON) f->count = c->json.members;
    if (c->kind == CLIP_CSV) f->count = c->csv.rows;
    f->shown_count = f->count;
}

/* Nothing of it fits: a mark if that does, or nothing. */
static void say_least(struct clip *c, struct buf *out, struct clip_figures *f)
{
    struct clip_drawing d = {.draw = text_draw, .self = c};
    if (clip_best(&c->cfg, &d, false, out, f) || clip_best(&c->cfg, &d, true, out, f)) return;
    struct clip_writer w = {.out = out, .f = f, .from = out->len, .inner = true};
    *f = (struct clip_figures){0};
    clip_put_end(&w, c->bytes, c->newlines, c->ends, PLACE_LINES, 0);
}

/* A kind that does not hold what its beginning promised, or of whose form nothing fits, is text. */
static void clip_it(struct clip *c, struct buf *out, struct clip_figures *f)
{
    uint64_t kept = c->head + c->ring, levels = kept;
    if (c->kind == CLIP_JSON) levels = (uint64_t)c->json.max_rank;
    if (c->kind == CLIP_LOG) levels = 2 * kept + 2 * sizeof c->log;
    if (c->kind != CLIP_TEXT && best_marks(c, c->kind, levels, out, f)) return;
    c->kind = CLIP_TEXT;
    if (!best_marks(c, CLIP_TEXT, kept, out, f)) say_least(c, out, f);
}

static void end_of_kind(struct clip *c)
{
    if (!c->looked) look(c, true);
    if (c->kind == CLIP_LOG) clip_log_end(&c->log);
    if (c->kind == CLIP_JSON && !clip_json_end(&c->json)) c->kind = CLIP_TEXT;
    if (c->kind == CLIP_CSV && c->csv.quoted) c->kind = CLIP_TEXT;
    if (c->kind == CLIP_CSV) c->csv.rows += c->csv.in_row;
}

int clip_finish(struct clip *c, struct buf *out, struct clip_figures *f, struct err *err)
{
    size_t from = out->len;
    struct clip_drawing whole = {.draw = whole_draw, .self = c};
    assert(!c->finished);
    c->finished = true;
    end_of_kind(c);
    turn_ring(c);
    if (c->bytes <= c->head + c->ring && clip_best(&c->cfg, &whole, false, out, f))
        count_whole(c, f);
    else
        clip_it(c, out, f);
    f->kind = c->kind;
    if (!out->failed) return 0;
    out->len = from;
    return err_set(err, -1, "out of memory for a clipped result of %llu bytes", (unsigned long long)c->bytes);
}

int clip_whole(const struct clip_config *cfg, const void *bytes, size_t n, struct buf *out, struct clip_figures *f,
               struct err *err)
{
    struct clip *c = clip_open(cfg, err);
    if (!c) return -1;
    clip_feed(c, bytes, n);
    int rc = clip_finish(c, out, f, err);
    clip_close(c);
    return rc;
}
