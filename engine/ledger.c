/* ledger.c - names and sums. */
#include "engine/ledger.h"

const char *ledger_name(enum ledger_class c)
{
    static const char *const name[] = {"weights", "KV pool", "activations", "attention scratch", "logits",
                                       "text", "parked pages", "tables", "grammars", "teaching policy"};
    assert((size_t)c < LEDGER_CLASSES);
    return name[c];
}

uint64_t ledger_total(const struct ledger *l)
{
    uint64_t sum = 0;
    for (int c = 0; c < LEDGER_CLASSES; c++)
        if (size_add(sum, l->bytes[c], &sum)) return UINT64_MAX;
    return sum;
}

void ledger_words(const struct ledger *l, struct buf *out)
{
    for (int c = 0; c < LEDGER_CLASSES; c++)
        if ((c != LEDGER_NAIVE && c != LEDGER_GRAMMARS) || l->bytes[c] > 0)
            buf_printf(out, "%s%s %.1f MiB", c ? ", " : "", ledger_name((enum ledger_class)c),
                       (double)l->bytes[c] / 0x1p20);
}
