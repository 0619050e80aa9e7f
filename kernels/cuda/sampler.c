/* sampler.c - sampling's part on the host: which rows the device chooses from, and the others.
 *
 * The device does greedy rows, rows that are scored, and draws from a whole row: 1.6 KiB go there for each and 168
 * bytes come back, with a mask a bit a token more.  Top-k, top-p and min-p look for the best few of a row and sum up
 * over these one by one, in the order of their ids: that is work for one thread, and for the host.  Its rows come over
 * whole, 4 bytes a token: 0.5 MB of a vocabulary of 128,000, which at 20 GB/s is 25 microseconds. */
#include "kernels/cuda/impl.h"
#include "kernels/philox.h"

_Static_assert(sizeof(struct gpu_choice) == sizeof(struct kern_choice) && (int)GPU_TOP == (int)KERN_TOP &&
               offsetof(struct gpu_choice, logprob) == offsetof(struct kern_choice, logprob) &&
               offsetof(struct gpu_choice, top_id) == offsetof(struct kern_choice, top_id) &&
               offsetof(struct gpu_choice, top_logprob) == offsetof(struct kern_choice, top_logprob),
               "what the device writes is a choice");

/* -------------------------------------------------------------------------- sizes */

static uint64_t words_of(int vocab) { return ((uint64_t)vocab + 31) / 32; }

bool sampler_lay(int outs, int vocab, struct sampler_layout *l)
{
    const uint64_t n = (uint64_t)MAX(outs, 0), runs = ((uint64_t)vocab + 127) / 128;
    uint64_t at = 0;
    bool fits = gpu_cut(&at, n, 1, sizeof(struct gpu_pick), &l->pick) &&
                gpu_cut(&at, n, words_of(vocab), sizeof(uint32_t), &l->mask) &&
                gpu_cut(&at, n, (uint64_t)vocab, sizeof(float), &l->value) &&
                gpu_cut(&at, n, 2 * runs, sizeof(float), &l->peak) &&
                gpu_cut(&at, n, 2 * runs, sizeof(double), &l->mass);
    l->end = at;
    return fits;
}

size_t sampler_host_bytes(const struct kern_dims *n)
{
    return (size_t)GPU_STAGING + kern_choose_bytes(n->vocab) + (size_t)n->vocab * sizeof(float) +
           (size_t)n->max_outs * sizeof(struct gpu_pick);
}

int sampler_ready(struct kdev *d, const struct kern_dims *n, struct err *err)
{
    struct sampler *s = &d->sampler;
    assert(!s->logits && n->vocab > 0 && n->max_outs > 0);
    s->pick = calloc((size_t)n->max_outs, sizeof *s->pick);
    s->logits = malloc((size_t)n->vocab * sizeof *s->logits);
    s->scratch = aligned_alloc(64, kern_choose_bytes(n->vocab));
    s->vocab = n->vocab, s->outs = n->max_outs;
    if (s->pick && s->logits && s->scratch) return 0;
    return err_set(err, -1, "out of memory at taking a row of %d logits", n->vocab);
}

void sampler_close(struct sampler *s)
{
    free(s->pick);
    free(s->logits);
    free(s->scratch);
}

/* --------------------------------------------------------------- what the device can */

/* The ids that penalties look at; false: more than there is room for.  A parameter that is not a number is off. */
static bool take_recent(const struct kern_sample *s, int vocab, struct gpu_pick *p)
{
    p->repeat = s->repeat > 0 ? s->repeat : 1;
    p->frequency = s->frequency == s->frequency ? s->frequency : 0;
    p->presence = s->presence == s->presence ? s->presence : 0;
    if (p->repeat == 1 && p->frequency == 0 && p->presence == 0) return true;
    for (int i = 0; i < s->n_recent; i++) {
        if (s->recent[i] < 0 || s->recent[i] >= vocab) continue;
        if (p->n_recent == GPU_RECENT) return false;
        p->recent[p->n_recent++] = s->recent[i];
    }
    return true;
}

static bool take_bias(const struct kern_sample *s, int vocab, struct gpu_pick *p)
{
    for (int i = 0; i < s->n_bias; i++) {
        const struct kern_bias *b = &s->bias[i];
        if (b->id < 0 || b->id >= vocab || b->add != b->add) continue;
        if (p->n_bias == GPU_BIAS) return false;
        p->bias[p->n_bias].id = b->id;
        p->bias[p->n_bias++].add = b->add;
    }
    return true;
}

/* As choose.c understands the words: false, where only the host can. */
static bool take(const struct kern_sample *s, int vocab, struct gpu_pick *p)
{
    p->sharp = p->uniform = 0;
    p->target = s->target, p->top_n = MIN(s->top_n, GPU_TOP);
    p->n_bias = p->n_recent = 0;
    p->host = p->draws = p->masked = p->changed = false;
    if (s->target >= 0) return true;
    if (s->temp > 0) {
        if ((s->top_k > 0 && s->top_k < vocab) || s->top_p < 1 || s->min_p > 0) return false;
        p->draws = true;
        p->sharp = 1 / (double)s->temp;
        p->uniform = philox_uniform(s->seed, s->step);
    }
    p->masked = s->allowed != NULL;
    if (!take_bias(s, vocab, p) || !take_recent(s, vocab, p)) return false;
    p->changed = p->masked || p->n_bias > 0 || p->n_recent > 0;
    return true;
}

/* ---------------------------------------------------------------------------- sample */

/* A row of logits comes over, and the choice goes back, so that fetch() finds it with the others. */
static int choose_here(struct kdev *d, const struct kern_sample *s, const float *dev_logits,
                       struct kern_choice *dev_choice)
{
    struct sampler *own = &d->sampler;
    struct kern_choice chosen;
    int code = d->face->fetch(d->gpu, own->logits, dev_logits, (size_t)own->vocab * sizeof *own->logits);
    if (code) return code;
    memset(&chosen, 0, sizeof chosen);
    kern_choose(s, own->logits, own->vocab, own->scratch, &chosen);
    return d->face->upload(d->gpu, dev_choice, &chosen, sizeof chosen);
}

/* All rows that are the device's: what is to be done with them goes there, and the kernels do it. */
static int choose_there(struct kdev *d, int outs, const struct kern_sample *params, struct gpu_sample *g,
                        const struct sampler_layout *l)
{
    const uint64_t words = words_of(g->vocab);
    const struct gpu_pick *pick = d->sampler.pick;
    uint32_t *mask = (uint32_t *)(void *)(d->dev_scratch + l->mask);
    int code = d->face->upload(d->gpu, d->dev_scratch + l->pick, pick, (size_t)outs * sizeof *pick);
    for (int o = 0; o < outs && !code; o++) {
        g->changed |= pick[o].changed;
        if (!pick[o].masked || pick[o].host) continue;
        code = d->face->upload(d->gpu, mask + (size_t)o * words, params[o].allowed, words * sizeof *mask);
    }
    return code ? code : d->face->sample(d->gpu, g);
}

int sampler_run(struct kdev *d, struct kstream *st, int outs, int vocab, const struct kern_sample *params,
                const float *dev_logits, struct kern_choice *dev_choice, void *dev_work, struct err *err)
{
    struct sampler_layout l = {0};
    uint8_t *at = d->dev_scratch;
    int there = 0, code = 0;
    (void)st, (void)dev_work;
    assert(vocab == d->sampler.vocab && outs <= d->sampler.outs);
    if (!sampler_lay(outs, vocab, &l)) return err_set(err, -1, "a pass is too large");
    for (int o = 0; o < outs; o++) {
        d->sampler.pick[o].host = !take(&params[o], vocab, &d->sampler.pick[o]);
        there += !d->sampler.pick[o].host;
    }
    struct gpu_sample g = {.outs = outs, .vocab = vocab, .dev_logits = dev_logits,
                           .dev_pick = (struct gpu_pick *)(void *)(at + l.pick),
                           .dev_mask = (uint32_t *)(void *)(at + l.mask), .dev_value = (float *)(void *)(at + l.value),
                           .dev_peak = (float *)(void *)(at + l.peak), .dev_mass = (double *)(void *)(at + l.mass),
                           .dev_choice = (struct gpu_choice *)(void *)dev_choice};
    if (there) code = choose_there(d, outs, params, &g, &l);
    for (int o = 0; o < outs && !code; o++)
        if (d->sampler.pick[o].host)
            code = choose_here(d, &params[o], dev_logits + (size_t)o * (size_t)vocab, &dev_choice[o]);
    return cuda_fail(d, code, "sampling", err);
}
