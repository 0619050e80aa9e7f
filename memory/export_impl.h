/* export_impl.h - what the formats of export share, and sets of numbers, which import has too. */
#ifndef EXPORT_IMPL_H
#define EXPORT_IMPL_H
#include "memory/export.h"

struct export_item {
    uint64_t number;
    bool event;  /* m.text is its line of JSON, and m has nothing else */
    bool out;    /* it was taken back */
    struct journal_message m;
};

struct exporter {
    struct store *s;
    const struct journal_head *h;
    const struct export_options *o;
    const struct export_sink *sink;
    struct journal_spans out; /* what was taken back */
    struct journal_head *member; /* of its run, but for the run's own record */
    size_t n_members;
    struct buf text;          /* not yet given to the sink */
    bool ended;               /* the sink wants no more */
    bool failed;              /* no memory */
};

/* All that is to be exported, in order; outside of any transaction.  one() may call the store. */
int export_each(struct exporter *x, void (*one)(struct exporter *x, const struct export_item *i, void *self),
                void *self, struct err *err);
void export_put(struct exporter *x, const char *bytes, size_t n);
__attribute__((format(printf, 2, 3))) void export_printf(struct exporter *x, const char *fmt, ...);
void export_missing(struct exporter *x, const char *line);
bool export_goes_on(const struct exporter *x);

int export_jsonl(struct exporter *x, struct err *err);
int export_words(struct exporter *x, struct err *err); /* Markdown and plain */

/* ------------------------------------------------------------------ a set of numbers below EXPORT_NUMBERS */

struct number_set {
    struct buf bits;
    uint64_t n; /* members */
};

static inline bool number_set_has(const struct number_set *s, uint64_t number)
{
    return number / 8 < s->bits.len && ((uint8_t)s->bits.data[number / 8] >> number % 8 & 1);
}

/* false: no memory. */
static inline bool number_set_add(struct number_set *s, uint64_t number)
{
    static const char zeros[256];
    assert(number < EXPORT_NUMBERS);
    while (s->bits.len <= number / 8 && !s->bits.failed) buf_put(&s->bits, zeros, sizeof zeros);
    if (s->bits.failed) return false;
    s->n += !number_set_has(s, number);
    s->bits.data[number / 8] = (char)((uint8_t)s->bits.data[number / 8] | 1u << number % 8);
    return true;
}
#endif
