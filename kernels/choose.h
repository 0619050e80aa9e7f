/* choose.h - the two loops of the sampler that go over a whole row of logits, 150,000 floats and more.  A row is cut
 * into runs, and each loop leaves one figure a run; all else (choose.c) looks at these first, and at the logits of few
 * runs only.
 *
 * scan.h is their one source.  choose.c compiles it plainly, for kern_choose(); each instruction set of the CPU backend
 * compiles it again.  All give the same bits.  Pure functions, any thread. */
#ifndef CHOOSE_H
#define CHOOSE_H
#include "kernels/kernels.h"

enum { CHOOSE_RUN = 128 }; /* logits of a run; the last one of a row may be shorter */

struct choose_scans {
    void *self; /* their first argument: NULL but where a row's runs are shared out (kernels/cpu/steps.c) */
    /* peak[r] = the largest of run r, not counting what is no number; -inf where nothing is left. */
    void (*peaks)(void *self, const float *v, int n, float *peak);
    /* mass[r] = the sum over run r of e^x, x = (v - top) * sharp: 1 where v is top, 0 where v is -inf or no number
     * (2^-1000 at least, which is nothing beside that 1).  No v is above top, which is finite; sharp >= 0.  A mass is
     * within (4 + |x|) * 2^-52 of the true e^x, in relation to it; their sum rounds as well. */
    void (*masses)(void *self, const float *v, int n, float top, double sharp, double *mass);
};

/* kern_choose() by these loops. */
void choose_by(const struct choose_scans *scans, const struct kern_sample *s, const float *logits, int vocab,
               void *scratch, struct kern_choice *out);
#endif
