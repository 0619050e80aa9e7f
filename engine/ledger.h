/* ledger.h - who holds which byte, and the ceiling that their sum may not pass.
 *
 *     ceiling >= weights + KV pool + activations + attention scratch + logits + context    on the device
 *                + requests' text + parked pages + tables + grammars + staging             on the host
 *
 * All of it is taken before the first request; nothing is taken after.  The figures are those of the size functions
 * that the memory is then taken by, byte for byte; a context's is measured.  On the CPU device and host are one.  A
 * device with memory of its own has the ceiling for itself, and the host's classes have another. */
#ifndef LEDGER_H
#define LEDGER_H
#include "plimsoll.h"

enum ledger_class {
    LEDGER_WEIGHTS, LEDGER_KV, LEDGER_ACTIVATIONS, LEDGER_SCRATCH, LEDGER_LOGITS,
    LEDGER_CONTEXT, /* what opening the device took: a driver's context, the kernels */
    LEDGER_TEXT,   /* requests: their tokens, their answers */
    LEDGER_PARK,   /* pages of parked sequences */
    LEDGER_TABLES, /* vocabulary, block tables, batches */
    LEDGER_GRAMMARS, /* strict.h: an index of the vocabulary, grammars and their masks, room to read a schema in */
    LEDGER_STAGING, /* where a device's copies go through, and what its sampling wants of the host */
    LEDGER_NAIVE,  /* tables of a policy of naive.h; what its requests take is charged on top, below the ceiling */
    LEDGER_CLASSES
};

struct ledger {
    uint64_t ceiling, bytes[LEDGER_CLASSES];
    uint64_t host; /* ceiling of the host's classes; 0: they are under the one with all others */
};

const char *ledger_name(enum ledger_class c);       /* "weights", "KV pool", ... */
uint64_t ledger_total(const struct ledger *l);      /* UINT64_MAX if the sum overflows */
/* What is under the ceiling: all of it, or without the host's classes where these have their own. */
uint64_t ledger_under(const struct ledger *l);
bool ledger_counts(const struct ledger *l, int c);      /* is this one? */
uint64_t ledger_host(const struct ledger *l);           /* the host's classes */
uint64_t ledger_process(const struct ledger *l);        /* what of it is this process's: all, or the host's classes */
bool ledger_fits(const struct ledger *l);               /* under all its ceilings */
void ledger_words(const struct ledger *l, struct buf *out); /* "weights 3.4 MiB, KV pool 24.0 MiB, ..." */
#endif
