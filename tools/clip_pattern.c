/* clip_pattern.c - the lines of a stored result in which a pattern is found, read through one block.
 *
 *     block  [ line | line | line | part of a li ]      whole lines are searched, the part moves to the front
 *            [ CLIP_READ bytes of one line       ]      searched as it is; its last quarter moves to the front
 */
#include "tools/clip_read.h"
#include "tools/pattern.h"

enum { BEFORE = CLIP_EXCERPT / 4, OVERLAP = CLIP_READ / 4 };

struct excerpt {
    uint64_t at, newlines;
    size_t len;
    char bytes[CLIP_EXCERPT];
};

struct finder {
    const struct clip_source *s;
    const struct clip_request *r;
    struct pattern *pattern; /* NULL: plain text */
    uint64_t at, newlines; /* of block[0]; newlines from r->from to there */
    size_t n;              /* bytes in block */
    bool end;              /* they are the last */
    uint64_t count, begin; /* matches; what is before this offset is done */
    int n_kept;
    char block[CLIP_READ];
    struct excerpt kept[CLIP_MATCHES];
};

struct piece { /* of the block: a line, or what is there of one */
    size_t subject, from, to, ends; /* where matching may look back to; where a match may begin and end; with newline */
    bool head, tail;                /* it begins, ends the line */
};

/* ------------------------------------------------------------------ one piece */

/* Finds a match at or after `from`: 1 and its offset, 0, or -1. */
static int find(struct finder *d, const struct piece *p, size_t from, size_t *found, struct err *err)
{
    if (!d->pattern) {
        const char *at = memmem(d->block + from, p->to - from, d->r->pattern, d->r->pattern_len);
        *found = at ? (size_t)(at - d->block) : 0;
        return at != NULL;
    }
    struct err why;
    const struct pattern_subject s = {.text = d->block + p->subject, .n = p->to - p->subject,
                                      .from = from - p->subject, .no_head = !p->head, .no_tail = !p->tail};
    int rc = pattern_find(d->pattern, &s, found, &why);
    if (rc < 0)
        return err_set(err, -1, "the pattern cannot be matched at offset %llu: %s",
                       (unsigned long long)(d->at + from), why.text);
    *found = p->subject + MAX(*found, s.from);
    return rc;
}

/* Keeps the line, or a part round the match; where the search goes on. */
static size_t keep_excerpt(struct finder *d, const struct piece *p, size_t from, size_t found)
{
    size_t start = from, stop = p->ends;
    if (stop - start > CLIP_EXCERPT) {
        if (found - start > BEFORE) start = clip_border_after(d->block, d->n, d->end, found - BEFORE);
        stop = clip_border_before(d->block, d->n, d->end, MIN(start + CLIP_EXCERPT, p->ends));
    }
    d->count += stop > start;
    if (d->n_kept < CLIP_MATCHES && stop > start) {
        struct excerpt *e = &d->kept[d->n_kept++];
        e->at = d->at + start;
        e->newlines = d->newlines;
        e->len = stop - start;
        memcpy(e->bytes, d->block + start, e->len);
    }
    return p->head && p->tail ? p->ends : MAX(stop, found + 1);
}

/* A line counts once, however often it matches; a piece of an endless one for each excerpt. */
static int search(struct finder *d, const struct piece *p, struct err *err)
{
    for (size_t from = p->from, found = 0; from <= p->to;) {
        int rc = find(d, p, from, &found, err);
        if (rc <= 0) return rc;
        if (!p->tail && found + CLIP_EXCERPT > p->to) return 0; /* the next block has more of what is behind it */
        from = keep_excerpt(d, p, from, found);
        d->begin = d->at + from;
        if (p->head && p->tail) return 0;
    }
    return 0;
}

/* ------------------------------------------------------------------ the stream */

static int fill(struct finder *d, struct err *err)
{
    uint64_t next = d->at + d->n;
    size_t n = (size_t)MIN(d->s->bytes - next, (uint64_t)(CLIP_READ - d->n));
    if (n > 0 && d->s->get(d->s->self, next, d->block + d->n, n, err)) return -1;
    d->n += n;
    d->end = next + n == d->s->bytes;
    return 0;
}

static void drop(struct finder *d, size_t n)
{
    memmove(d->block, d->block + n, d->n - n);
    d->at += n;
    d->n -= n;
}

/* The piece that begins at `at` in the block: false when more must be read to see its end. */
static bool next_piece(struct finder *d, size_t at, bool head, struct piece *p)
{
    const char *newline = memchr(d->block + at, '\n', d->n - at);
    bool full = at == 0 && d->n == CLIP_READ;
    if (!newline && !d->end && !full) return false;
    size_t to = newline ? (size_t)(newline - d->block) : d->n;
    uint64_t begin = MAX(d->begin, d->at + at);
    *p = (struct piece){.subject = at, .to = to, .ends = to + (newline != NULL), .head = head,
                        .tail = newline || d->end};
    if (newline && to > at && d->block[to - 1] == '\r') p->to--;
    if (!p->tail) p->to = p->ends = clip_border_before(d->block, d->n, d->end, to);
    p->from = clip_border_after(d->block, d->n, d->end, (size_t)MIN(begin - d->at, (uint64_t)d->n));
    return true;
}

static int search_all(struct finder *d, struct err *err)
{
    struct piece p;
    bool head = true; /* a line in whose middle the reading begins, begins there */
    if (fill(d, err)) return -1;
    size_t at = clip_border_after(d->block, d->n, d->end, (size_t)(d->r->from - d->at));
    for (;;) {
        if (at == d->n && d->end) return 0;
        if (!next_piece(d, at, head, &p)) {
            drop(d, at);
            at = 0;
            if (fill(d, err)) return -1;
            continue;
        }
        if (p.from <= p.to && search(d, &p, err)) return -1;
        head = p.tail;
        at = p.ends;
        d->newlines += p.tail && p.ends > p.to;
        if (p.tail) continue;
        at = CLIP_READ - OVERLAP; /* what begins here is found again, if no excerpt covers it */
        d->begin = MAX(d->begin, d->at + at + CLIP_UNIT);
        drop(d, at);
        at = 0;
        if (fill(d, err)) return -1;
    }
}

/* ------------------------------------------------------------------ what is shown */

static void excerpts_draw(void *self, uint64_t level, struct clip_writer *w)
{
    const struct finder *d = self;
    uint64_t left = level, shown = 0, next = d->r->from;
    int i = 0;
    for (; i < d->n_kept && left > 0; i++) {
        const struct excerpt *e = &d->kept[i];
        if (i > 0 && left < e->len) break; /* only the first may be shown in part */
        size_t len = clip_border_before(e->bytes, e->len, true, (size_t)MIN(left, (uint64_t)e->len));
        clip_put(w, (struct clip_run){e->at, e->newlines, e->bytes, len, true, PLACE_LINES, 0});
        shown += len > 0;
        if (len > 0) next = e->at + len;
        left -= MIN(left, (uint64_t)e->len);
    }
    bool all = i == d->n_kept && shown == d->count && (i == 0 || next == d->kept[i - 1].at + d->kept[i - 1].len);
    clip_put_end(w, d->s->bytes, w->newlines, '\n', PLACE_LINES, 0);
    w->f->count = d->count;
    w->f->shown_count = shown;
    w->f->next = all ? d->s->bytes : next;
}

/* ------------------------------------------------------------------ begin and end */

static int compile(struct finder *d, struct err *err)
{
    if (d->r->by == CLIP_BY_TEXT) return 0;
    d->pattern = pattern_open(d->r->pattern, d->r->pattern_len, err);
    if (!d->pattern) return -1;
    pattern_allow(d->pattern, d->s->bytes - d->r->from);
    return 0;
}

static void close_finder(struct finder *d)
{
    pattern_close(d->pattern);
    free(d);
}

int clip_read_pattern(const struct clip_config *cfg, const struct clip_source *s, const struct clip_request *r,
                      struct buf *out, struct clip_figures *f, struct err *err)
{
    if (r->pattern_len == 0 || r->pattern_len > CLIP_PATTERN)
        return err_set(err, -1, "a pattern has 1 to %d bytes, not %zu", CLIP_PATTERN, r->pattern_len);
    if (r->from > s->bytes)
        return err_set(err, -1, "offset %llu lies behind the end: there are %llu bytes", (unsigned long long)r->from,
                       (unsigned long long)s->bytes);
    struct finder *d = calloc(1, sizeof *d);
    if (!d) return err_set(err, -1, "out of memory: %zu bytes to look for a pattern", sizeof *d);
    d->s = s;
    d->r = r;
    d->at = r->from - MIN(r->from, (uint64_t)CLIP_UNIT);
    int rc = compile(d, err) || search_all(d, err) ? -1 : 0;
    uint64_t most = 0;
    for (int i = 0; i < d->n_kept; i++) most += d->kept[i].len;
    struct clip_drawing draw = {.draw = excerpts_draw, .self = d, .max = most, .inner = true};
    if (rc == 0) clip_read_end(cfg, &draw, s, r->from, out, f);
    close_finder(d);
    return rc;
}
