/* choose.c - one row's next token from its logits, in the order that kernels.h fixes.
 *
 *     bias -> allowed -> penalties        each id's logit changes on its own          (scratch[id])
 *     top-k -> top-p -> min-p             the candidates shrink, and stay in id order (scratch[0..n))
 *     temperature -> draw                 one uniform number falls on one of them
 *
 * What the words mean exactly, where the field is loose:
 *   - A logit that is not a number counts as -inf.  A token at -inf cannot be chosen; if all are, the choice is -1.
 *     Tokens at +inf share all probability equally.
 *   - Better means larger, then lower id.  Top-k keeps the k best.  Top-p keeps the smallest number of best candidates
 *     whose probabilities sum to top_p or more, but one at least.  Min-p keeps candidates that are at least min_p times
 *     as probable as the best.  Probabilities are those of the candidates still there, at temperature 1.
 *   - The draw lays the probabilities side by side in id order and takes the candidate that the number falls on.
 *   - A parameter that is not a number, and a repeat that is not above 0, is off.  In bias and recent, ids outside the
 *     vocabulary do nothing; as a target they give the choice -1.
 *
 * Nothing is sorted: the k-th best is found by counting keys bit by bit, which is linear for any logits, hostile ones
 * included, and leaves the id order as it is.  The result depends on the arguments alone, and on other machines it is
 * the same as far as their exp() and log() round the same (a last bit may differ between C libraries or processors). */
#include "kernels/kernels.h"
#include "kernels/philox.h"
#include <math.h>

/* -------------------------------------------------------------- probabilities */

/* exp(v - top), where top is the largest: 1 at the top, infinite or not. */
static double mass(float v, float top)
{
    return v == top ? 1.0 : exp((double)v - (double)top);
}

/* All of a row's raw logits: the largest and the log of the sum of masses.  top is -inf where no token is possible. */
struct raw {
    float top;
    double log_sum;
};

static struct raw raw_sum(const float *logits, int vocab)
{
    struct raw r = {-INFINITY, 0};
    double sum = 0;
    for (int i = 0; i < vocab; i++)
        if (logits[i] > r.top) r.top = logits[i];
    if (r.top == -INFINITY) return r;
    for (int i = 0; i < vocab; i++)
        if (logits[i] > -INFINITY) sum += mass(logits[i], r.top);
    r.log_sum = log(sum);
    return r;
}

static float raw_logprob(const struct raw *r, float logit)
{
    if (!(logit > -INFINITY)) return -INFINITY;
    double below = logit == r->top ? 0.0 : (double)logit - (double)r->top;
    return (float)(below - r->log_sum);
}

/* The best n of the raw logits; places that no possible token fills stay -1 and -inf. */
static void report_top(const struct raw *raw, const float *logits, int vocab, int n, struct kern_choice *out)
{
    float value[KERN_TOP];
    int have = 0;
    for (int id = 0; id < vocab && n > 0; id++) {
        float v = logits[id];
        if (!(v > -INFINITY) || (have == n && v <= value[n - 1])) continue;
        int at = have < n ? have++ : n - 1;
        for (; at > 0 && value[at - 1] < v; at--) {
            value[at] = value[at - 1];
            out->top_id[at] = out->top_id[at - 1];
        }
        value[at] = v;
        out->top_id[at] = id;
    }
    for (int i = 0; i < have; i++) out->top_logprob[i] = raw_logprob(raw, value[i]);
}

/* --------------------------------------------------- each id's logit on its own */

/* The scratch entry of an id holds its value, and as its id how often it is in `recent` and not yet penalised. */
static void penalise(const struct kern_sample *s, struct kern_scratch *c, int vocab)
{
    float repeat = s->repeat > 0 ? s->repeat : 1.0f, frequency = s->frequency == s->frequency ? s->frequency : 0.0f;
    float presence = s->presence == s->presence ? s->presence : 0.0f;
    if (repeat == 1.0f && frequency == 0.0f && presence == 0.0f) return;

    for (int i = 0; i < s->n_recent; i++)
        if (s->recent[i] >= 0 && s->recent[i] < vocab) c[s->recent[i]].id++;
    for (int i = 0; i < s->n_recent; i++) {
        if (s->recent[i] < 0 || s->recent[i] >= vocab) continue;
        struct kern_scratch *t = &c[s->recent[i]];
        if (t->id == 0) continue;
        t->value = t->value > 0 ? t->value / repeat : t->value * repeat;
        t->value -= (float)t->id * frequency + presence;
        t->id = 0;
    }
}

/* Fill the scratch with what may be chosen, in id order; returns how many. */
static int candidates(const struct kern_sample *s, const float *logits, int vocab, struct kern_scratch *c)
{
    int n = 0;
    for (int id = 0; id < vocab; id++) c[id] = (struct kern_scratch){logits[id], 0};
    for (int i = 0; i < s->n_bias; i++) {
        const struct kern_bias *b = &s->bias[i];
        if (b->id >= 0 && b->id < vocab && b->add == b->add) c[b->id].value += b->add;
    }
    if (s->allowed) {
        for (int id = 0; id < vocab; id++)
            if (!(s->allowed[id / 32] >> (id % 32) & 1u)) c[id].value = -INFINITY;
    }
    penalise(s, c, vocab);
    for (int id = 0; id < vocab; id++)
        if (c[id].value > -INFINITY) c[n++] = (struct kern_scratch){c[id].value, id};
    return n;
}

static struct kern_scratch best(const struct kern_scratch *c, int n)
{
    struct kern_scratch top = c[0];
    for (int i = 1; i < n; i++)
        if (c[i].value > top.value) top = c[i];
    return top;
}

/* ---------------------------------------------------------- the best few of them */

/* An integer that orders as the float does; both zeros give the same. */
static uint32_t key(float v)
{
    uint32_t u;
    v += 0.0f;
    memcpy(&u, &v, sizeof u);
    return u >> 31 ? ~u : u | 0x80000000u;
}

/* What is kept of a sum: whole units of candidates (top-k), or a part of their masses (top-p). */
struct share {
    bool by_mass;
    double need; /* candidates, or the part of the whole mass */
    float top;
};

static double weight(const struct share *s, float v)
{
    return s->by_mass ? mass(v, s->top) : 1.0;
}

/* Of the bins, the one at which the sum from the highest down reaches need, or else the last that is not empty.
 * *above is what lies in the bins above it, and in keys above them all. */
static uint32_t reach(const double *bin, uint32_t bins, double need, double *above)
{
    uint32_t at = 0;
    double sum = *above;
    for (uint32_t b = bins; b-- > 0;) {
        if (!(bin[b] > 0)) continue;
        at = b;
        *above = sum;
        sum += bin[b];
        if (sum >= need) break;
    }
    return at;
}

/* Keep the fewest best candidates whose weights reach the share; returns how many.  Three rounds look at 11, 11 and 10
 * bits of the keys, each only at keys that agree with the bits found before, and find the key of the last one kept. */
static int keep_best(struct kern_scratch *c, int n, struct share share)
{
    static const int shift[3] = {21, 10, 0}, bits[3] = {11, 11, 10};
    double bin[1 << 11], above = 0, need = share.need;
    uint32_t last = 0;
    int kept = 0;

    for (int round = 0; round < 3; round++) {
        uint32_t bins = 1u << bits[round];
        memset(bin, 0, bins * sizeof *bin);
        for (int i = 0; i < n; i++) {
            uint32_t k = key(c[i].value);
            if (round > 0 && k >> (shift[round] + bits[round]) != last) continue;
            bin[k >> shift[round] & (bins - 1)] += weight(&share, c[i].value);
        }
        if (round == 0 && share.by_mass) {
            double whole = 0;
            for (uint32_t b = bins; b-- > 0;) whole += bin[b];
            need *= whole;
        }
        last = last << bits[round] | reach(bin, bins, need, &above);
    }
    for (int i = 0; i < n; i++) { /* of equals at the last key, as many as still needed, lowest ids first */
        uint32_t k = key(c[i].value);
        if (k < last || (k == last && above >= need && kept > 0)) continue;
        if (k == last) above += weight(&share, c[i].value);
        c[kept++] = c[i];
    }
    return kept;
}

static int keep_min_p(struct kern_scratch *c, int n, float top, float min_p)
{
    double least = (double)top + log(MIN((double)min_p, 1.0));
    int kept = 0;
    for (int i = 0; i < n; i++)
        if ((double)c[i].value >= least) c[kept++] = c[i];
    return kept;
}

/* ---------------------------------------------------------------------- the draw */

static double hot_mass(float v, float top, double temp)
{
    return v == top ? 1.0 : exp(((double)v - (double)top) / temp);
}

static int32_t draw(const struct kern_scratch *c, int n, float top, double temp, double uniform)
{
    double sum = 0, at = 0;
    int32_t id = -1;
    for (int i = 0; i < n; i++) sum += hot_mass(c[i].value, top, temp);
    for (int i = 0; i < n && at <= uniform * sum; i++) {
        double m = hot_mass(c[i].value, top, temp);
        if (m > 0) id = c[i].id; /* should rounding carry the number past the end, the last possible one stands */
        at += m;
    }
    return id;
}

static int32_t choose(const struct kern_sample *s, const float *logits, int vocab, struct kern_scratch *c)
{
    int n = candidates(s, logits, vocab, c);
    if (n == 0) return -1;
    struct kern_scratch top = best(c, n);
    if (!(s->temp > 0)) return top.id;

    if (s->top_k > 0 && s->top_k < n) n = keep_best(c, n, (struct share){false, s->top_k, top.value});
    if (s->top_p < 1) n = keep_best(c, n, (struct share){true, s->top_p, top.value});
    if (s->min_p > 0) n = keep_min_p(c, n, top.value, s->min_p);
    return draw(c, n, top.value, s->temp, philox_uniform(s->seed, s->step));
}

void kern_choose(const struct kern_sample *s, const float *logits, int vocab, struct kern_scratch *scratch,
                 struct kern_choice *out)
{
    struct raw raw = raw_sum(logits, vocab);
    for (int i = 0; i < KERN_TOP; i++) {
        out->top_id[i] = -1;
        out->top_logprob[i] = -INFINITY;
    }
    report_top(&raw, logits, vocab, MIN(s->top_n, KERN_TOP), out);
    if (s->target >= 0) out->id = s->target < vocab ? s->target : -1;
    else out->id = choose(s, logits, vocab, scratch);
    out->logprob = out->id >= 0 ? raw_logprob(&raw, logits[out->id]) : -INFINITY;
}
