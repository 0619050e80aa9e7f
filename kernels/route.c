/* route.c - which experts of a mixture a row goes through. */
#include "kernels/kernels.h"
#include <math.h>

/* The largest logit that is not taken yet; of equals the first.  A row of NaNs has its first experts. */
static int best_of(const float *logits, int n, const uint64_t *taken)
{
    int best = -1;
    for (int i = 0; i < n; i++)
        if (!(taken[i / 64] >> i % 64 & 1) && (best < 0 || logits[i] > logits[best])) best = i;
    return best;
}

void kern_route(const float *logits, int n, int used, bool of_all, int32_t *expert, float *weight)
{
    uint64_t taken[KERN_EXPERTS / 64] = {0};
    float top = 0;
    double sum = 0;
    assert(0 < used && used <= n && n <= KERN_EXPERTS && used <= KERN_USED);
    for (int i = 0; i < used; i++) {
        const int best = best_of(logits, n, taken);
        if (i == 0) top = logits[best];
        taken[best / 64] |= (uint64_t)1 << best % 64;
    }
    for (int i = 0, at = 0; at < used; i++)
        if (taken[i / 64] >> i % 64 & 1) expert[at++] = i;
    for (int i = 0; i < (of_all ? n : used); i++) sum += exp((double)logits[of_all ? i : expert[i]] - (double)top);
    for (int i = 0; i < used; i++) weight[i] = (float)(exp((double)logits[expert[i]] - (double)top) / sum);
}
