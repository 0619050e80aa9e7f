/* fuzz_fold.c - any bytes as text to be found again.
 *
 * covers: memory/fold.c
 *
 * What must hold: terms are UTF-8 without NUL and of the sizes that the header says, stand where they say, in the order
 * of their ends; a text between two borders gives what it gives alone. */
#include "memory/fold.h"
#include <utf8proc.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) abort();
}

struct seen { size_t n, bytes, end, size; uint64_t hash; };

static void see(void *self, const struct fold_term *t)
{
    struct seen *s = self;
    must(t->n > 0 && t->n <= FOLD_TERM_MAX && !memchr(t->bytes, 0, t->n));
    must(t->len > 0 && t->at < s->size && t->len <= s->size - t->at && t->at + t->len >= s->end);
    for (size_t i = 0; i < t->n;) {
        int32_t c;
        ptrdiff_t len = utf8proc_iterate(t->bytes + i, (ptrdiff_t)(t->n - i), &c);
        must(len > 0);
        i += (size_t)len;
    }
    for (size_t i = 0; i < t->n; i++) s->hash = (s->hash ^ t->bytes[i]) * 0x100000001b3;
    s->hash = (s->hash ^ t->n) * 0x100000001b3;
    s->end = t->at + t->len;
    s->bytes += t->n + 1;
    s->n++;
}

static struct seen fold(const uint8_t *bytes, size_t n)
{
    struct seen s = {.size = n};
    fold_text(bytes, n, see, &s);
    must(s.n <= n * FOLD_TERMS && s.bytes <= n * FOLD_GROWTH);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *framed = malloc(size + 4);
    must(framed != NULL);
    memcpy(framed, "x ", 2);
    memcpy(framed + 2, data, size);
    memcpy(framed + 2 + size, " y", 2);
    struct seen alone = fold(data, size), both = fold(framed, size + 4), first = fold(framed, 2);
    must(both.n == alone.n + 2);
    struct seen whole = {.size = size, .hash = first.hash};
    fold_text(data, size, see, &whole);
    whole.end = 0;
    whole.size = 2;
    fold_text(" y", 2, see, &whole);
    must(whole.hash == both.hash);
    free(framed);
    return 0;
}
