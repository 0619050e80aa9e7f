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
 * included, and leaves the id order as it is.  The result depends on the arguments alone: on other machines it is the
 * same as far as their log() rounds the same (a last bit may differ between C libraries).
 *
 * A vocabulary is large and the candidates are few, so whole rows are gone over by the loops of choose.h alone.  Their
 * figures for each run of logits say which runs are worth a look:
 *     top-k    some logit is at least as large as each of the k largest peaks, so none below these is among the k best
 *     top-p    logits so low that all of them together could not fill the part that is left out are left out
 *     draw     the number falls into one run
 * Sums of a whole row are those of its runs, in their order; sums over fewer candidates are made one by one, in id
 * order (in a top-p the higher bins first). */
#include "kernels/choose.h"
#include "kernels/philox.h"
#include "kernels/scan.h"

/* --------------------------------------------------------------------- the row */

/* Logits, or what became of them, and the largest of each run. */
struct row {
    const float *value, *peak;
    int n, runs;
    float top; /* -inf: nothing is possible */
};

/* The scratch, cut up. */
struct room {
    double *mass;           /* (runs) */
    float *peak, *own_peak; /* (runs) of the logits; of value */
    float *value;           /* (vocab) logits after bias, mask and penalties, if there are any */
    int32_t *id;            /* (vocab) candidates, in id order */
};

static int runs_of(int vocab)
{
    return vocab / CHOOSE_RUN + (vocab % CHOOSE_RUN > 0);
}

size_t kern_choose_bytes(int vocab)
{
    size_t runs = (size_t)runs_of(vocab), each = sizeof(double) + 2 * sizeof(float);
    return (size_t)size_align(runs * each + (size_t)vocab * (sizeof(float) + sizeof(int32_t)), 64);
}

static struct room room_of(void *scratch, int vocab)
{
    const size_t runs = (size_t)runs_of(vocab);
    struct room r = {.mass = scratch};
    r.peak = (float *)(r.mass + runs);
    r.own_peak = r.peak + runs;
    r.value = r.own_peak + runs;
    r.id = (int32_t *)(void *)(r.value + vocab);
    return r;
}

static struct row row_of(const struct choose_scans *scans, const float *value, int n, float *peak)
{
    struct row r = {.value = value, .peak = peak, .n = n, .runs = runs_of(n), .top = -INFINITY};
    scans->peaks(scans->self, value, n, peak);
    for (int i = 0; i < r.runs; i++) r.top = peak[i] > r.top ? peak[i] : r.top;
    return r;
}

static int run_end(const struct row *r, int run)
{
    return MIN(run * CHOOSE_RUN, r->n - CHOOSE_RUN) + CHOOSE_RUN;
}

/* -------------------------------------------------------------- probabilities */

/* e^((v - top) * sharp), where top is the largest: 1 at the top, infinite or not. */
static double mass(float v, float top, double sharp)
{
    return v == top ? 1.0 : scan_exp(((double)v - (double)top) * sharp);
}

/* The masses of each run, and their sum.  Some value is possible. */
static double weigh(const struct choose_scans *scans, const struct row *r, double sharp, double *runs)
{
    double sum = 0;
    if (r->top < INFINITY) {
        scans->masses(scans->self, r->value, r->n, r->top, sharp, runs);
    } else {
        for (int k = 0; k < r->runs; k++) {
            runs[k] = 0;
            for (int i = k * CHOOSE_RUN; i < run_end(r, k); i++) runs[k] += r->value[i] == r->top;
        }
    }
    for (int k = 0; k < r->runs; k++) sum += runs[k];
    return sum;
}

static float raw_logprob(float logit, float top, double log_sum)
{
    if (!(logit > -INFINITY)) return -INFINITY;
    double below = logit == top ? 0.0 : (double)logit - (double)top;
    return (float)(below - log_sum);
}

/* The best n of the raw logits; places that no possible token fills stay -1 and -inf. */
static void report_top(const struct row *raw, double log_sum, int n, struct kern_choice *out)
{
    float value[KERN_TOP], least = -INFINITY;
    int have = 0;
    for (int run = 0; run < raw->runs && n > 0; run++) {
        if (!(raw->peak[run] > least)) continue;
        for (int id = run * CHOOSE_RUN; id < run_end(raw, run); id++) {
            float v = raw->value[id];
            if (!(v > least)) continue;
            int at = have < n ? have++ : n - 1;
            for (; at > 0 && value[at - 1] < v; at--) {
                value[at] = value[at - 1];
                out->top_id[at] = out->top_id[at - 1];
            }
            value[at] = v;
            out->top_id[at] = id;
            if (have == n) least = value[n - 1];
        }
    }
    for (int i = 0; i < have; i++) out->top_logprob[i] = raw_logprob(value[i], raw->top, log_sum);
}

/* --------------------------------------------------- each id's logit on its own */

static bool penalises(const struct kern_sample *s)
{
    return s->n_recent > 0 && ((s->repeat > 0 && s->repeat != 1) || s->frequency != 0 || s->presence != 0);
}

/* count: (vocab) anything; of those in `recent` it is how often they are there and not yet penalised. */
static void penalise(const struct kern_sample *s, int vocab, float *value, int32_t *count)
{
    float repeat = s->repeat > 0 ? s->repeat : 1.0f, frequency = s->frequency == s->frequency ? s->frequency : 0.0f;
    float presence = s->presence == s->presence ? s->presence : 0.0f;

    for (int i = 0; i < s->n_recent; i++)
        if (s->recent[i] >= 0 && s->recent[i] < vocab) count[s->recent[i]] = 0;
    for (int i = 0; i < s->n_recent; i++)
        if (s->recent[i] >= 0 && s->recent[i] < vocab) count[s->recent[i]]++;
    for (int i = 0; i < s->n_recent; i++) {
        int32_t id = s->recent[i];
        if (id < 0 || id >= vocab || count[id] == 0) continue;
        value[id] = value[id] > 0 ? value[id] / repeat : value[id] * repeat;
        value[id] -= (float)count[id] * frequency + presence;
        count[id] = 0;
    }
}

/* Without a branch a logit, and by bits in their places: the compiler makes vectors of it. */
static void copy_allowed(const uint32_t *allowed, const float *restrict logits, int vocab, float *restrict value)
{
    uint32_t bit[32];
    for (int i = 0; i < 32; i++) bit[i] = (uint32_t)1 << i;
    for (int word = 0; word < vocab / 32; word++, logits += 32, value += 32) {
        const uint32_t mask = allowed[word];
        for (int i = 0; i < 32; i++) {
            const float v = logits[i];
            value[i] = mask & bit[i] ? v : -INFINITY;
        }
    }
    for (int i = 0; i < vocab % 32; i++) value[i] = allowed[vocab / 32] & bit[i] ? logits[i] : -INFINITY;
}

/* The row that is chosen from: the raw one where nothing changes it.  (The mask comes first here: what it shuts out no
 * bias can bring back, -inf or not a number.) */
static struct row change(const struct choose_scans *scans, const struct kern_sample *s, const struct row *raw,
                         const struct room *room)
{
    if (!s->n_bias && !s->allowed && !penalises(s)) return *raw;
    if (s->allowed) copy_allowed(s->allowed, raw->value, raw->n, room->value);
    else memcpy(room->value, raw->value, (size_t)raw->n * sizeof *room->value);
    for (int i = 0; i < s->n_bias; i++) {
        const struct kern_bias *b = &s->bias[i];
        if (b->id >= 0 && b->id < raw->n && b->add == b->add) room->value[b->id] += b->add;
    }
    if (penalises(s)) penalise(s, raw->n, room->value, room->id);
    return row_of(scans, room->value, raw->n, room->own_peak);
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

/* What is kept of candidates: so many of them (top-k), or so much of their masses (top-p). */
struct share {
    bool by_mass;
    double need;
    float top;
};

static double weight(const struct share *s, float v)
{
    return s->by_mass ? mass(v, s->top, 1) : 1.0;
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

/* Keep the fewest best of n ids whose weights reach the share; returns how many.  Three rounds look at 11, 11 and 10
 * bits of the keys, each only at keys that agree with the bits found before, and find the key of the last one kept. */
static int keep_best(const float *value, int32_t *id, int n, struct share share)
{
    static const int shift[3] = {21, 10, 0}, bits[3] = {11, 11, 10};
    double bin[1 << 11], above = 0;
    uint32_t last = 0;
    int kept = 0;

    for (int round = 0; round < 3; round++) {
        uint32_t bins = 1u << bits[round];
        memset(bin, 0, bins * sizeof *bin);
        for (int i = 0; i < n; i++) {
            uint32_t k = key(value[id[i]]);
            if (round > 0 && k >> (shift[round] + bits[round]) != last) continue;
            bin[k >> shift[round] & (bins - 1)] += weight(&share, value[id[i]]);
        }
        last = last << bits[round] | reach(bin, bins, share.need, &above);
    }
    for (int i = 0; i < n; i++) { /* of equals at the last key, as many as still needed, lowest ids first */
        uint32_t k = key(value[id[i]]);
        if (k < last || (k == last && above >= share.need && kept > 0)) continue;
        if (k == last) above += weight(&share, value[id[i]]);
        id[kept++] = id[i];
    }
    return kept;
}

/* The ids of values that are possible and not below `least`; returns how many. */
static int collect(const struct row *r, double least, int32_t *id)
{
    int n = 0;
    for (int run = 0; run < r->runs; run++) {
        if (!(r->peak[run] > -INFINITY && (double)r->peak[run] >= least)) continue;
        for (int i = run * CHOOSE_RUN; i < run_end(r, run); i++)
            if (r->value[i] > -INFINITY && (double)r->value[i] >= least) id[n++] = i;
    }
    return n;
}

/* The k-th largest peak: at least k values are not below it.  -inf where there are not so many. */
static double least_of(const struct row *r, int k, int32_t *id)
{
    float least = INFINITY;
    int n = 0;
    for (int i = 0; i < r->runs; i++)
        if (r->peak[i] > -INFINITY) id[n++] = i;
    if (n < k) return -INFINITY;
    n = keep_best(r->peak, id, n, (struct share){false, k, r->top});
    for (int i = 0; i < n; i++) least = MIN(least, r->peak[id[i]]);
    return (double)least;
}

static int keep_top_k(const struct row *r, int k, int32_t *id)
{
    int n = collect(r, least_of(r, k, id), id);
    return k < n ? keep_best(r->value, id, n, (struct share){false, k, r->top}) : n;
}

/* n < 0: of the whole row. */
static int keep_top_p(const struct choose_scans *scans, const struct row *r, double p, double *runs, int32_t *id, int n)
{
    double whole = 0;
    if (n < 0) {
        whole = weigh(scans, r, 1, runs);
        double left_out = (1 - MAX(p, 0.0)) * whole / r->n; /* of each, were they all alike; half of it to be sure */
        n = collect(r, (double)r->top + log(left_out / 2), id);
    } else {
        for (int i = 0; i < n; i++) whole += mass(r->value[id[i]], r->top, 1);
    }
    return keep_best(r->value, id, n, (struct share){true, p * whole, r->top});
}

/* n < 0: of the whole row. */
static int keep_min_p(const struct row *r, double min_p, int32_t *id, int n)
{
    double least = (double)r->top + log(MIN(min_p, 1.0));
    int kept = 0;
    if (n < 0) return collect(r, least, id);
    for (int i = 0; i < n; i++)
        if ((double)r->value[id[i]] >= least) id[kept++] = id[i];
    return kept;
}

/* ---------------------------------------------------------------------- the draw */

static int32_t first_at_top(const struct row *r)
{
    int run = 0;
    while (r->peak[run] != r->top) run++;
    int id = run * CHOOSE_RUN;
    while (r->value[id] != r->top) id++;
    return id;
}

/* In both draws: should rounding carry the number past the end, the last possible one stands. */
static int32_t draw_of(const struct row *r, const int32_t *ids, int n, double sharp, double uniform)
{
    double sum = 0, at = 0;
    int32_t id = -1;
    for (int i = 0; i < n; i++) sum += mass(r->value[ids[i]], r->top, sharp);
    for (int i = 0; i < n && at <= uniform * sum; i++) {
        double m = mass(r->value[ids[i]], r->top, sharp);
        if (m > 0) id = ids[i];
        at += m;
    }
    return id;
}

static int32_t draw_of_all(const struct choose_scans *scans, const struct row *r, double sharp, double uniform,
                           double *runs)
{
    double sum = weigh(scans, r, sharp, runs), at = 0;
    int32_t id = -1;
    int run = 0;
    for (; run < r->runs - 1 && at + runs[run] <= uniform * sum; run++) at += runs[run];
    for (int i = run * CHOOSE_RUN; i < r->n && at <= uniform * sum; i++) {
        double m = mass(r->value[i], r->top, sharp);
        if (m > 0) id = i;
        at += m;
    }
    return id >= 0 ? id : first_at_top(r);
}

static int32_t choose(const struct choose_scans *scans, const struct kern_sample *s, const struct row *raw,
                      const struct room *room)
{
    struct row row = change(scans, s, raw, room);
    if (row.top == -INFINITY) return -1;
    if (!(s->temp > 0)) return first_at_top(&row);

    const double sharp = 1 / (double)s->temp, uniform = philox_uniform(s->seed, s->step);
    int n = -1;
    if (s->top_k > 0 && s->top_k < row.n) n = keep_top_k(&row, s->top_k, room->id);
    if (s->top_p < 1) n = keep_top_p(scans, &row, (double)s->top_p, room->mass, room->id, n);
    if (s->min_p > 0) n = keep_min_p(&row, (double)s->min_p, room->id, n);
    return n < 0 ? draw_of_all(scans, &row, sharp, uniform, room->mass) : draw_of(&row, room->id, n, sharp, uniform);
}

void choose_by(const struct choose_scans *scans, const struct kern_sample *s, const float *logits, int vocab,
               void *scratch, struct kern_choice *out)
{
    const struct room room = room_of(scratch, vocab);
    const struct row raw = row_of(scans, logits, vocab, room.peak);
    const bool wanted = !s->no_logprob || s->top_n > 0 || s->target >= 0;
    double log_sum = wanted && raw.top > -INFINITY ? log(weigh(scans, &raw, 1, room.mass)) : 0;

    for (int i = 0; i < KERN_TOP; i++) {
        out->top_id[i] = -1;
        out->top_logprob[i] = -INFINITY;
    }
    report_top(&raw, log_sum, MIN(s->top_n, KERN_TOP), out);
    if (s->target >= 0) out->id = s->target < vocab ? s->target : -1;
    else out->id = choose(scans, s, &raw, &room);
    if (!wanted) out->logprob = 0;
    else out->logprob = out->id >= 0 ? raw_logprob(logits[out->id], raw.top, log_sum) : -INFINITY;
}

void kern_choose(const struct kern_sample *s, const float *logits, int vocab, void *scratch, struct kern_choice *out)
{
    static const struct choose_scans plain = SCAN_FUNCTIONS;
    choose_by(&plain, s, logits, vocab, scratch, out);
}
