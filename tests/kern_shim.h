/* kern_shim.h - a backend around a real one, for tests: it counts what the engine asks of it, and can be told to fail.
 *
 *     shim = (struct shim){.fail_at = 7};             // the seventh call from now fails, once
 *     cfg.kernels = shim_kern(kern_cpu());
 *     ... open, serve, close ...
 *     CHECK_EQ(shim.taken, 0);
 *
 * A call that is told to fail does nothing and fills err.  Calls that cannot fail (close, give, the sizes) are not
 * counted.  One shim a process; what is counted is read between the calls. */
#ifndef KERN_SHIM_H
#define KERN_SHIM_H
#include "kernels/kernels.h"

enum shim_call {
    SHIM_OPEN, SHIM_TAKE, SHIM_UPLOAD, SHIM_FETCH, SHIM_MAT_LOAD, SHIM_EMBED, SHIM_ATTN_IN, SHIM_ATTN, SHIM_PROJECT,
    SHIM_FFN, SHIM_OUTPUT, SHIM_SAMPLE, SHIM_CALLS
};

struct shim {
    long fail_at; /* the call that fails, from 1; 0: none */
    bool stay;    /* and all after it */
    void (*pass)(const struct kern_batch *b); /* hears of every forward pass before it is computed; NULL: nobody does */
    size_t watch; /* bytes: uploads and fetches of just this size are counted in `watched` */

    long calls, of[SHIM_CALLS], watched;
    long failed; /* calls */
    enum shim_call what;  /* the first that failed ... */
    bool what_watched;    /* ... was one that is watched */
    int devices, slabs;   /* open, taken and not given back */
    uint64_t taken, most; /* bytes that the slabs take now; at most so far */
    int most_rows, most_outs; /* in one batch */
};
extern struct shim shim;

const struct kern *shim_kern(const struct kern *real);
const char *shim_name(enum shim_call c);
#endif
