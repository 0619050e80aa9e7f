/* ledger.c - names and sums. */
#include "engine/ledger.h"

const char *ledger_name(enum ledger_class c)
{
    static const char *const name[] = {"weights", "KV pool", "activations", "attention scratch", "logits",
                                       "context", "text", "parked pages", "tables", "grammars", "staging",
                                       "teaching policy"};
    assert((size_t)c < LEDGER_CLASSES);
    return name[c];
}

static uint64_t sum(const struct ledger *l, int first, int end)
{
    uint64_t all = 0;
    for (int c = first; c < end; c++)
        if (size_add(all, l->bytes[c], &all)) return UINT64_MAX;
    return all;
}

uint64_t ledger_total(const struct ledger *l) { return sum(l, 0, LEDGER_CLASSES); }
uint64_t ledger_host(const struct ledger *l) { return sum(l, LEDGER_TEXT, LEDGER_CLASSES); }
uint64_t ledger_process(const struct ledger *l) { return l->host ? ledger_host(l) : ledger_total(l); }
uint64_t ledger_under(const struct ledger *l) { return sum(l, 0, l->host ? LEDGER_TEXT : LEDGER_CLASSES); }
bool ledger_counts(const struct ledger *l, int c) { return c < LEDGER_TEXT || !l->host; }

bool ledger_fits(const struct ledger *l)
{
    return ledger_under(l) <= l->ceiling && (!l->host || ledger_host(l) <= l->host);
}

void ledger_words(const struct ledger *l, struct buf *out)
{
    static const bool seldom[LEDGER_CLASSES] = {[LEDGER_CONTEXT] = true, [LEDGER_GRAMMARS] = true,
                                                [LEDGER_STAGING] = true, [LEDGER_NAIVE] = true};
    for (int c = 0; c < LEDGER_CLASSES; c++)
        if (!seldom[c] || l->bytes[c] > 0)
            buf_printf(out, "%s%s %.1f MiB", c ? ", " : "", ledger_name((enum ledger_class)c),
                       (double)l->bytes[c] / 0x1p20);
}
