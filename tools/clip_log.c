/* clip_log.c - lines that look like errors, found as a log flows past, each with the line before and after it.  Of very
 * many the first and the last are kept. */
#include "tools/clip_impl.h"
#include <strings.h>

/* ------------------------------------------------------------------ what an error looks like */

/* Beginnings of words, but for what begins with a star: that may be anywhere ("NullPointerException", "SIGSEGV"). */
static const char *const signs[] = {
    "*error", "fail", "fatal", "*exception", "panic", "traceback", "critical", "abort", "assert", "segfault",
    "segmentation fault", "core dumped", "*sigsegv", "*sigabrt", "cannot", "can't", "could not", "unable to",
    "no such file", "not found", "undefined", "denied", "refused", "timed out", "out of memory", "killed", "warning",
};

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool sign_at(const char *s, size_t n, bool begins)
{
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        bool anywhere = signs[i][0] == '*';
        const char *sign = signs[i] + anywhere;
        if (*sign != (*s | 0x20) || (!anywhere && !begins)) continue; /* nearly all end here: s begins with a letter */
        size_t len = strlen(sign);
        if (len <= n && strncasecmp(s, sign, len) == 0) return true;
    }
    return false;
}

bool clip_log_bad(const char *s, size_t n)
{
    static const char may_begin[] = "efptcasundrokw";
    for (size_t i = 0; i < n; i++) {
        if (!letter(s[i]) || !strchr(may_begin, s[i] | 0x20)) continue;
        if (sign_at(s + i, n - i, i == 0 || !letter(s[i - 1]))) return true;
    }
    return false;
}

/* ------------------------------------------------------------------ the stream of lines */

static void keep_line(struct clip_log *l, const struct clip_line *line)
{
    if (l->n < CLIP_FIRST)
        l->first[l->n] = *line;
    else
        l->last[(l->n - CLIP_FIRST) % CLIP_LAST] = *line;
    l->n++;
}

/* The current line is there; it is judged by what is kept of it. */
static void end_line(struct clip_log *l)
{
    struct clip_line *line = &l->line[l->now], *before = &l->line[!l->now];
    line->bad = clip_log_bad(line->bytes, line->len);
    if (line->bad && !l->before_kept && before->len > 0) keep_line(l, before);
    bool kept = line->bad || l->after;
    if (kept) keep_line(l, line);
    l->errors += line->bad;
    l->after = line->bad;
    l->before_kept = kept;
    l->now = !l->now;
    l->in_line = false;
}

void clip_log_feed(struct clip_log *l, const char *s, size_t n)
{
    while (n > 0) {
        struct clip_line *line = &l->line[l->now];
        if (!l->in_line) {
            line->at = l->at;
            line->newlines = l->newlines;
            line->len = 0;
            line->cut = false;
            l->in_line = true;
        }
        const char *newline = memchr(s, '\n', n);
        size_t len = newline ? (size_t)(newline - s) + 1 : n, room = CLIP_LINE - line->len;
        memcpy(line->bytes + line->len, s, MIN(len, room));
        line->len += (uint32_t)MIN(len, room);
        line->cut = line->cut || len > room;
        l->at += len;
        l->newlines += newline != NULL;
        s += len;
        n -= len;
        if (newline) end_line(l);
    }
}

void clip_log_end(struct clip_log *l)
{
    if (l->in_line) end_line(l);
}

/* ------------------------------------------------------------------ which are shown */

static size_t n_lines(const struct clip_log *l) { return (size_t)MIN(l->n, (uint64_t)(CLIP_FIRST + CLIP_LAST)); }

/* The i-th that was kept, by offset. */
static const struct clip_line *line_at(const struct clip_log *l, size_t i)
{
    if (i < CLIP_FIRST) return &l->first[i];
    uint64_t oldest = l->n > CLIP_FIRST + CLIP_LAST ? l->n - CLIP_FIRST - CLIP_LAST : 0;
    return &l->last[(oldest + i - CLIP_FIRST) % CLIP_LAST];
}

enum { MARK = 64 }; /* bytes of a mark, about */

/* Chooses lines of one sort from both ends in turn as long as they fit into *bytes. */
static void choose(const struct clip_log *l, bool bad, uint64_t *bytes, bool *chosen)
{
    size_t front = 0, back = n_lines(l);
    for (bool from_front = true; front < back; from_front = !from_front) {
        while (front < back && line_at(l, front)->bad != bad) front++;
        while (front < back && line_at(l, back - 1)->bad != bad) back--;
        if (front == back) return;
        size_t i = from_front ? front++ : --back;
        uint32_t len = line_at(l, i)->len + (bad ? MARK : 0);
        if (len > *bytes) return;
        *bytes -= len;
        chosen[i] = true;
    }
}

/* A mark would be longer than the few lines between two that are chosen: these are shown too, if they are known. */
static void close_small_gaps(const struct clip_log *l, bool *chosen)
{
    size_t n = n_lines(l), last = n;
    for (size_t i = 0; i < n; i++) {
        const struct clip_line *line = line_at(l, i), *before = i ? line_at(l, i - 1) : NULL;
        if (!before || before->cut || before->at + before->len != line->at) last = n;
        if (!chosen[i]) continue;
        if (last < n && line->at - line_at(l, last)->at - line_at(l, last)->len <= MARK)
            for (size_t k = last + 1; k < i; k++) chosen[k] = true;
        last = i;
    }
}

static void put_lines(const struct clip *c, const bool *chosen, uint64_t tail_at, struct clip_writer *w)
{
    const struct clip_log *l = &c->log;
    for (size_t i = 0; i < n_lines(l); i++) {
        const struct clip_line *line = line_at(l, i);
        if (!chosen[i] || line->at >= tail_at) continue;
        size_t len = clip_border_before(line->bytes, line->len, !line->cut, line->len);
        clip_put(w, (struct clip_run){line->at, line->newlines, line->bytes, len, true, PLACE_LINES, 0});
    }
}

/* Of the errors that are remembered, those that are shown: chosen, or in the head or the tail. */
static uint64_t count_shown(const struct clip *c, const struct clip_figures *f)
{
    uint64_t n = 0;
    int r = 0;
    for (size_t i = 0; i < n_lines(&c->log); i++) {
        const struct clip_line *line = line_at(&c->log, i);
        while (r < f->n_ranges && f->range[r].at + f->range[r].len <= line->at) r++;
        n += line->bad && r < f->n_ranges && f->range[r].at < line->at + line->len;
    }
    return n;
}

/* Half for the errors, first without and then with their neighbours; of what is left a third for the head. */
void clip_log_draw(void *self, uint64_t level, struct clip_writer *w)
{
    const struct clip *c = self;
    bool chosen[CLIP_FIRST + CLIP_LAST] = {0};
    uint64_t left = level / 2;
    choose(&c->log, true, &left, chosen);
    choose(&c->log, false, &left, chosen);
    close_small_gaps(&c->log, chosen);
    uint64_t rest = level - level / 2 + left;
    struct clip_run tail = clip_tail_run(c, rest - rest / 3);
    clip_put_head(c, rest / 3, w);
    put_lines(c, chosen, tail.at, w);
    clip_put(w, tail);
    clip_put_end(w, c->bytes, c->newlines, c->ends, PLACE_LINES, 0);
    w->f->count = c->log.errors;
    w->f->shown_count = count_shown(c, w->f);
}
