/* ledger.h - who holds which byte, and the ceiling that their sum may not pass.
 *
 *     ceiling >= weights + KV pool + activations + attention scratch + logits       on the device
 *                + requests' text + parked pages + tables + grammars                on the host
 *
 * All of it is taken before the first request; nothing is taken after.  The figures are those of the size functions
 * that the memory is then taken by, byte for byte.  On the CPU device and host are one. */
#ifndef LEDGER_H
#define LEDGER_H
#include "plimsoll.h"

enum ledger_class {
    LEDGER_WEIGHTS, LEDGER_KV, LEDGER_ACTIVATIONS, LEDGER_SCRATCH, LEDGER_LOGITS,
    LEDGER_TEXT,   /* requests: their tokens, their answers */
    LEDGER_PARK,   /* pages of parked sequences */
    LEDGER_TABLES, /* vocabulary, block tables, batches */
    LEDGER_GRAMMARS, /* strict.h: an index of the vocabulary, grammars and their masks, room to read a schema in */
    LEDGER_NAIVE,  /* tables of a policy of naive.h; what its requests take is charged on top, below the ceiling */
    LEDGER_CLASSES
};

struct ledger {
    uint64_t ceiling, bytes[LEDGER_CLASSES];
};

const char *ledger_name(enum ledger_class c);       /* "weights", "KV pool", ... */
uint64_t ledger_total(const struct ledger *l);      /* UINT64_MAX if the sum overflows */
void ledger_words(const struct ledger *l, struct buf *out); /* "weights 3.4 MiB, KV pool 24.0 MiB, ..." */
#endif
