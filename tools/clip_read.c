/* clip_read.c - the model reads on in a result that was clipped: from an offset, or lines. */
#include "tools/clip_read.h"

/* ------------------------------------------------------------------ a stretch of the original */

struct stretch {
    const struct clip_source *s;
    uint64_t at;        /* of the first byte in bytes */
    const char *bytes;
    size_t n, from, to; /* bytes that are there; the borders within which may be shown */
    bool end;
};

static void stretch_draw(void *self, uint64_t level, struct clip_writer *w)
{
    const struct stretch *t = self;
    size_t len = t->to - t->from;
    if (level < len) len = clip_cut_end(t->bytes + t->from, t->n - t->from, t->end, (size_t)level);
    clip_put(w, (struct clip_run){.at = t->at + t->from, .bytes = t->bytes + t->from, .len = len});
    clip_put_end(w, t->s->bytes, 0, '\n', PLACE_LINES, 0);
    w->f->next = t->at + t->from + len;
}

void clip_read_end(const struct clip_config *cfg, const struct clip_drawing *d, const struct clip_source *s,
                   uint64_t begin, struct buf *out, struct clip_figures *f)
{
    size_t from = out->len;
    if (!clip_best(cfg, d, false, out, f) || (f->shown_bytes == 0 && f->next < s->bytes)) {
        uint64_t count = f->count;
        out->len = from;
        *f = (struct clip_figures){.next = begin, .bytes = s->bytes, .left_bytes = s->bytes, .count = count};
    }
    f->lines = f->shown_lines = f->left_lines = 0;
    f->kind = CLIP_TEXT;
}

/* The bytes from..to, as many as hold takes, with CLIP_UNIT before and behind that tell where the borders are. */
static int read_bytes(const struct clip_config *cfg, const struct clip_source *s, uint64_t from, uint64_t to,
                      struct buf *out, struct clip_figures *f, struct err *err)
{
    struct stretch t = {.s = s, .at = from - MIN(from, (uint64_t)CLIP_UNIT)};
    size_t hold = clip_hold(cfg);
    t.n = (size_t)MIN(s->bytes - t.at, (uint64_t)hold);
    char *bytes = malloc(MAX(t.n, 1));
    if (!bytes) return err_set(err, -1, "out of memory: %zu bytes to read on", t.n);
    if (t.n > 0 && s->get(s->self, t.at, bytes, t.n, err)) {
        free(bytes);
        return -1;
    }
    t.bytes = bytes;
    t.end = t.at + t.n == s->bytes;
    t.from = clip_border_after(bytes, t.n, t.end, (size_t)(from - t.at));
    t.to = clip_border_before(bytes, t.n, t.end, (size_t)MIN(to - t.at, (uint64_t)t.n));
    t.to = MAX(t.to, t.from);
    struct clip_drawing d = {.draw = stretch_draw, .self = &t, .max = t.to - t.from, .inner = true};
    clip_read_end(cfg, &d, s, t.at + t.from, out, f);
    free(bytes);
    return 0;
}

static int read_offset(const struct clip_config *cfg, const struct clip_source *s, const struct clip_request *r,
                       struct buf *out, struct clip_figures *f, struct err *err)
{
    uint64_t to = r->to ? MIN(r->to, s->bytes) : s->bytes;
    if (r->from > s->bytes)
        return err_set(err, -1, "offset %llu lies behind the end: there are %llu bytes", (unsigned long long)r->from,
                       (unsigned long long)s->bytes);
    if (r->from > to)
        return err_set(err, -1, "from offset %llu to %llu is no range", (unsigned long long)r->from,
                       (unsigned long long)to);
    return read_bytes(cfg, s, r->from, to, out, f, err);
}

/* ------------------------------------------------------------------ lines */

/* Where the line after `lines` newlines begins, counted from *at, which has *seen before it; the end if there are
 * fewer.  The block is CLIP_READ bytes. */
static int seek_line(const struct clip_source *s, uint64_t lines, char *block, uint64_t *at, uint64_t *seen,
                     struct err *err)
{
    while (*seen < lines && *at < s->bytes) {
        size_t n = (size_t)MIN(s->bytes - *at, (uint64_t)CLIP_READ);
        if (s->get(s->self, *at, block, n, err)) return -1;
        const char *p = block, *end = block + n, *newline;
        while (*seen < lines && (newline = memchr(p, '\n', (size_t)(end - p)))) {
            ++*seen;
            p = newline + 1;
        }
        *at += *seen < lines ? n : (size_t)(p - block);
    }
    return 0;
}

static int find_lines(const struct clip_source *s, const struct clip_request *r, char *block, uint64_t *from,
                      uint64_t *to, struct err *err)
{
    uint64_t at = 0, seen = 0;
    if (seek_line(s, r->from - 1, block, &at, &seen, err)) return -1;
    if (seen < r->from - 1 || (at == s->bytes && at > 0))
        return err_set(err, -1, "line %llu lies behind the end: there are not so many", (unsigned long long)r->from);
    *from = at;
    if (r->to && seek_line(s, r->to, block, &at, &seen, err)) return -1;
    *to = r->to ? at : s->bytes;
    return 0;
}

static int read_lines(const struct clip_config *cfg, const struct clip_source *s, const struct clip_request *r,
                      struct buf *out, struct clip_figures *f, struct err *err)
{
    uint64_t from = 0, to = 0;
    if (r->from == 0 || (r->to && r->to < r->from))
        return err_set(err, -1, "lines %llu to %llu are no range: the first line is 1", (unsigned long long)r->from,
                       (unsigned long long)r->to);
    char *block = malloc(CLIP_READ);
    if (!block) return err_set(err, -1, "out of memory: %d bytes to read on", CLIP_READ);
    int rc = find_lines(s, r, block, &from, &to, err);
    free(block);
    return rc ? -1 : read_bytes(cfg, s, from, to, out, f, err);
}

/* ------------------------------------------------------------------ either */

int clip_read(const struct clip_config *cfg, const struct clip_source *s, const struct clip_request *r,
              struct buf *out, struct clip_figures *f, struct err *err)
{
    int (*const read[])(const struct clip_config *, const struct clip_source *, const struct clip_request *,
                        struct buf *, struct clip_figures *, struct err *) = {
        [CLIP_BY_OFFSET] = read_offset, [CLIP_BY_LINES] = read_lines,
        [CLIP_BY_TEXT] = clip_read_pattern, [CLIP_BY_REGEX] = clip_read_pattern};
    size_t from = out->len;
    *f = (struct clip_figures){0};
    if (read[r->by](cfg, s, r, out, f, err)) return -1;
    if (!out->failed) return 0;
    out->len = from;
    return err_set(err, -1, "out of memory to read on");
}
