/* summary_once.c - what is said twice in almost the same words is kept once. */
#include "memory/summary_impl.h"

enum {
    RUN_LEAST = 3,  /* words: fewer may stand in any line by chance */
    RUN_MOST = 64   /* words of a line that are looked at for others within it */
};

struct once {
    struct items *it;
    struct summary_line *line, **sorted;
    uint32_t *table; /* by the hash of all words: the number of a line, and 1; 0: empty */
    size_t slots;
    char *bytes;
};

/* ------------------------------------------------------------------ words */

static bool is_blank(char c) { return (unsigned char)c <= ' '; }
static bool is_mark(char c) { return strchr(".,;:!\"'()[]`*", c) != NULL && c != '\0'; }

size_t summary_words(struct form_text t, char *out)
{
    size_t used = 0;
    for (size_t i = 0, end; i < t.len; i = end) {
        while (i < t.len && is_blank(t.text[i])) i++;
        for (end = i; end < t.len && !is_blank(t.text[end]);) end++;
        size_t from = i, to = end;
        while (from < to && is_mark(t.text[from])) from++;
        while (to > from && is_mark(t.text[to - 1])) to--;
        if (from == to) continue;
        if (used > 0) out[used++] = ' ';
        for (; from < to; from++) {
            char c = t.text[from];
            out[used++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
    }
    return used;
}

static size_t count_words(struct form_text words)
{
    size_t n = words.len > 0;
    for (size_t i = 0; i < words.len; i++) n += words.text[i] == ' ';
    return n;
}

/* ------------------------------------------------------------------ equal ones */

static bool is_task(const struct item *i) { return i->section == RECORD_DONE || i->section == RECORD_OPEN; }

/* Done and open are one group: a task is either. */
static int group(const struct item *i) { return MIN(i->section, RECORD_DONE); }

static int compare_text(struct form_text a, struct form_text b)
{
    size_t n = MIN(a.len, b.len);
    int c = n > 0 ? memcmp(a.text, b.text, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

static int compare_lines(const struct summary_line *a, const struct summary_line *b)
{
    if (group(a->item) != group(b->item)) return group(a->item) - group(b->item);
    return compare_text(a->words, b->words);
}

static int by_words(const void *pa, const void *pb)
{
    const struct summary_line *a = *(struct summary_line *const *)pa, *b = *(struct summary_line *const *)pb;
    int c = compare_lines(a, b);
    return c ? c : (a->item->order > b->item->order) - (a->item->order < b->item->order);
}

/* The last stays: what was said again is not old; but a model that says again what it read says nothing new. */
static void drop_equal(struct once *o)
{
    size_t n = o->it->n;
    for (size_t i = 0; i < n; i++) o->sorted[i] = &o->line[i];
    qsort(o->sorted, n, sizeof *o->sorted, by_words);
    for (size_t i = 1; i < n; i++)
        if (compare_lines(o->sorted[i - 1], o->sorted[i]) == 0) {
            struct item *older = o->sorted[i - 1]->item, *last = o->sorted[i]->item;
            older->out = true;
            last->had &= older->had;
            if (last->from != ITEM_MODEL) continue;
            last->from = older->from;
            last->said = older->said;
        }
}

/* ------------------------------------------------------------------ one within another */

static uint64_t hash_on(uint64_t h, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3u; /* FNV-1a */
    return h;
}

static uint64_t hash_begin(int section) { return 0xcbf29ce484222325u + (uint64_t)section; }

static size_t slot(const struct once *o, uint64_t h) { return (size_t)(h ^ h >> 32) & (o->slots - 1); }

static bool may_be_within(const struct summary_line *l)
{
    return !l->item->out && !is_task(l->item) && l->n >= RUN_LEAST && l->n < RUN_MOST;
}

static void fill_table(struct once *o)
{
    for (size_t i = 0; i < o->it->n; i++) {
        const struct summary_line *l = &o->line[i];
        if (!may_be_within(l)) continue;
        size_t at = slot(o, hash_on(hash_begin(l->item->section), l->words.text, l->words.len));
        while (o->table[at]) at = (at + 1) & (o->slots - 1);
        o->table[at] = (uint32_t)i + 1;
    }
}

/* An older line of just these words, which looks no more like a fact than l, is said by l too. */
static void drop_older(struct once *o, const struct summary_line *l, struct form_text run, uint64_t h)
{
    for (size_t at = slot(o, h); o->table[at]; at = (at + 1) & (o->slots - 1)) {
        struct summary_line *other = &o->line[o->table[at] - 1];
        if (other->item->section != l->item->section || compare_text(other->words, run) != 0) continue;
        if (other->item->order < l->item->order && other->item->looks <= l->item->looks) other->item->out = true;
        return; /* equal ones are there once */
    }
}

/* Every run of l's words but the whole. */
static void drop_within(struct once *o, const struct summary_line *l)
{
    const char *text = l->words.text, *end = text + l->words.len;
    size_t words = MIN(l->n, (size_t)RUN_MOST);
    for (size_t first = 0; first + RUN_LEAST <= words; first++) {
        uint64_t h = hash_begin(l->item->section);
        const char *at = text;
        for (size_t last = first; last < words; last++) {
            const char *blank = memchr(at, ' ', (size_t)(end - at)), *to = blank ? blank : end;
            h = hash_on(h, at - (last > first), (size_t)(to - at) + (last > first));
            bool run = last - first + 1 >= RUN_LEAST && last - first + 1 < l->n;
            if (run) drop_older(o, l, (struct form_text){text, (size_t)(to - text)}, h);
            at = to + 1;
        }
        text = (const char *)memchr(text, ' ', (size_t)(end - text)) + 1;
    }
}

/* ------------------------------------------------------------------ both */

static int take_room(struct once *o, struct err *err)
{
    size_t n = o->it->n, bytes = 1;
    for (size_t i = 0; i < n; i++) bytes += o->it->v[i].text.len;
    for (o->slots = 16; o->slots < 2 * n; o->slots *= 2) continue;
    o->line = malloc((n + 1) * sizeof *o->line);
    o->sorted = malloc((n + 1) * sizeof *o->sorted);
    o->table = calloc(o->slots, sizeof *o->table);
    o->bytes = malloc(bytes);
    if (o->line && o->sorted && o->table && o->bytes) return 0;
    return err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
}

static void read_words(struct once *o)
{
    char *at = o->bytes;
    for (size_t i = 0; i < o->it->n; i++) {
        struct item *item = &o->it->v[i];
        struct summary_line *l = &o->line[i];
        *l = (struct summary_line){.item = item, .words = item->text};
        if (!is_task(item)) l->words = (struct form_text){at, summary_words(item->text, at)};
        at += l->words.text == at ? l->words.len : 0;
        if (l->words.len == 0) l->words = item->text; /* marks alone */
        l->n = count_words(l->words);
    }
}

int summary_once(struct items *it, struct err *err)
{
    struct once o = {.it = it};
    int rc = take_room(&o, err);
    if (rc == 0) {
        read_words(&o);
        drop_equal(&o);
        summary_drop_older(o.sorted, o.line, it->n);
        fill_table(&o);
        for (size_t i = 0; i < it->n; i++)
            if (!o.line[i].item->out && !is_task(o.line[i].item)) drop_within(&o, &o.line[i]);
        size_t n = 0;
        for (size_t i = 0; i < it->n; i++)
            if (!it->v[i].out) it->v[n++] = it->v[i];
        it->n = n;
    }
    free(o.line);
    free(o.sorted);
    free(o.table);
    free(o.bytes);
    return rc;
}
