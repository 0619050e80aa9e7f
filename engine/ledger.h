/* ledger.h - who holds which byte of the device, and the ceiling that their sum may not pass.
 *
 *     ceiling >= weights + KV pool + activations + attention scratch + logits      all taken before the first request
 *
 * The figures are those of the size functions that the slabs are then taken by, byte for byte. */
#ifndef LEDGER_H
#define LEDGER_H
#include "plimsoll.h"

enum ledger_class { LEDGER_WEIGHTS, LEDGER_KV, LEDGER_ACTIVATIONS, LEDGER_SCRATCH, LEDGER_LOGITS, LEDGER_CLASSES };

struct ledger {
    uint64_t ceiling, bytes[LEDGER_CLASSES];
};

const char *ledger_name(enum ledger_class c);       /* "weights", "KV pool", ... */
uint64_t ledger_total(const struct ledger *l);      /* UINT64_MAX if the sum overflows */
void ledger_words(const struct ledger *l, struct buf *out); /* "weights 3.4 MiB, KV pool 24.0 MiB, ..." */
#endif
