/* fit.h - what fits under a ceiling, from sizes alone: nothing is opened and nothing is taken. */
#ifndef FIT_H
#define FIT_H
#include "engine/forward.h"
#include "engine/ledger.h"
#include "engine/strict.h"

struct fit {
    const struct model *m; /* planned for k */
    const struct kern *k;
    enum ktype kv_type;
    int max_rows;
    uint64_t ceiling, host; /* of struct ledger */
    uint64_t context;       /* bytes that opening the device took */
    const struct vocab *vocab;
    size_t token_text; /* of it: sched_token_text() */
    struct strict_config strict;
    uint64_t text_bytes, park_bytes; /* text_bytes 0: by the number of sequences */
};

/* The ledger of seqs sequences of ctx tokens in passes of at most max_rows rows (more, if a pass of all sequences needs
 * it), weights being that many bytes.  0, or -1: as forward_plan(). */
int fit_ledger(const struct fit *f, uint64_t weights, int ctx, int seqs, struct ledger *out, struct err *err);

/* The largest context of at most `most` tokens, in whole pages (or `most` itself), that seqs sequences can have each;
 * 0: not even one page. */
int fit_ctx(const struct fit *f, uint64_t weights, int seqs, int most);

/* The most sequences, at most `most`, that can have a context of ctx tokens each; 0: not even one. */
int fit_seqs(const struct fit *f, uint64_t weights, int ctx, int most);

struct fit_asked {
    const struct ledger *needs; /* more than is under f's ceiling */
    int ctx, seqs;
    bool fit;      /* the context was to be chosen */
    bool can_fit;  /* it was not, and can be */
    bool pool;     /* its size was named: no context changes it */
    uint64_t most; /* that a ceiling can be */
};

/* For a person: "; the weights alone are 6.0 MiB: a --vram of 36.1M (of 11.2M with --fit) or ...": what it lies at
 * where no context is small enough, and of the ways out those that help. */
void fit_advice(const struct fit *f, const struct fit_asked *a, struct buf *out);

/* For a person: the largest context for some numbers of sequences, with the weights as they are and in other types, and
 * with KV pages of Q8_0 where those are not what was asked and the model's heads allow them; of a device the lines for
 * engines that split a model over several. */
void fit_table(const struct fit *f, struct buf *out);
#endif
