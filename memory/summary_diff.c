/* summary_diff.c - what came and what went from one text to the next, line by line. */
#include "memory/summary.h"

struct line {
    struct form_text text;
    size_t order;
    bool changed;
};

static int by_text(const void *pa, const void *pb)
{
    const struct line *a = pa, *b = pb;
    size_t n = MIN(a->text.len, b->text.len);
    int c = n > 0 ? memcmp(a->text.text, b->text.text, n) : 0;
    if (c == 0) c = (a->text.len > b->text.len) - (a->text.len < b->text.len);
    return c ? c : (a->order > b->order) - (a->order < b->order);
}

static int by_order(const void *pa, const void *pb)
{
    const struct line *a = pa, *b = pb;
    return (a->order > b->order) - (a->order < b->order);
}

/* Those lines of the text that have something on them; false: too many. */
static bool split(struct form_text rest, struct line *line, size_t *n)
{
    *n = 0;
    while (rest.len > 0) {
        const char *end = memchr(rest.text, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.text) : rest.len, used = len + (end != NULL), i = 0;
        struct form_text t = {rest.text, len};
        rest = (struct form_text){rest.text + used, rest.len - used};
        while (i < t.len && (unsigned char)t.text[i] <= ' ') i++;
        if (i == t.len) continue;
        if (*n == SUMMARY_ITEMS) return false;
        line[*n] = (struct line){.text = t, .order = *n, .changed = true};
        (*n)++;
    }
    return true;
}

static int same_text(const struct line *a, const struct line *b)
{
    struct line x = *a, y = *b;
    x.order = y.order = 0;
    return by_text(&x, &y);
}

/* Equal lines are matched one to one. */
static void match(struct line *a, size_t na, struct line *b, size_t nb)
{
    qsort(a, na, sizeof *a, by_text);
    qsort(b, nb, sizeof *b, by_text);
    for (size_t i = 0, k = 0; i < na && k < nb;) {
        int c = same_text(&a[i], &b[k]);
        if (c == 0) a[i].changed = b[k].changed = false;
        i += c <= 0;
        k += c >= 0;
    }
    qsort(a, na, sizeof *a, by_order);
    qsort(b, nb, sizeof *b, by_order);
}

static size_t put_changed(const struct line *line, size_t n, const char *sign, struct buf *out)
{
    size_t changed = 0;
    for (size_t i = 0; i < n; i++) {
        if (!line[i].changed) continue;
        buf_puts(out, sign);
        buf_put(out, line[i].text.text, line[i].text.len);
        buf_puts(out, "\n");
        changed++;
    }
    return changed;
}

int summary_diff(struct form_text before, struct form_text after, struct buf *out, struct summary_change *change,
                 struct err *err)
{
    struct line *line = malloc(2 * (size_t)SUMMARY_ITEMS * sizeof *line);
    size_t n_before, n_after;
    if (!line) return err_set(err, SUMMARY_NO_MEMORY, "no memory to compare two summaries");
    if (!split(before, line, &n_before) || !split(after, line + SUMMARY_ITEMS, &n_after)) {
        free(line);
        return err_set(err, SUMMARY_TOO_MANY, "a summary of more than %d lines", SUMMARY_ITEMS);
    }
    size_t was = out->len;
    match(line, n_before, line + SUMMARY_ITEMS, n_after);
    change->removed = put_changed(line, n_before, "- ", out);
    change->added = put_changed(line + SUMMARY_ITEMS, n_after, "+ ", out);
    free(line);
    if (!out->failed) return 0;
    out->len = was;
    return err_set(err, SUMMARY_NO_MEMORY, "no memory to compare two summaries");
}
