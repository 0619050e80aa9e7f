/* state_memory.c - a memory event and the machine event behind it, as parts that add up.
 *
 * A stream may be made of events that do not fit together (older ones, or written by hand).  Parts are taken one after
 * the other from what is left of the whole, so that they add up all the same. */
#include "app/tui/state_impl.h"
#include "engine/engine.h"
#include <math.h>

#define BETWEEN_RATES 0.05 /* seconds: samples that come closer are counted together, a single token would be a peak */

static uint64_t take(uint64_t wanted, uint64_t *left)
{
    uint64_t part = MIN(wanted, *left);
    *left -= part;
    return part;
}

/* ------------------------------------------------------------------ the pool */

/* Tokens: own, shared, cached, reserved, free.  A promise is shown whole, as the ledger has it; of the cached pages
 * those that would make way for it are in `both`, and not among the cached. */
struct pool { uint64_t part[5], both; };

static struct pool pool_of(const struct event_memory *m)
{
    uint64_t left = size_of(m->pool_tokens), filled = take(size_of(m->filled_tokens), &left);
    uint64_t shared = MIN(size_of(m->shared_tokens), filled), promised = size_of(m->reserved_tokens);
    struct pool p = {.part = {filled - shared, shared}};
    const uint64_t cached = MIN(size_of(m->cached_tokens), left);
    p.part[3] = take(promised - MIN(filled, promised), &left);
    p.part[2] = take(cached, &left);
    p.both = cached - p.part[2];
    p.part[4] = left;
    return p;
}

static void pool_pages(struct state *s)
{
    struct gauge_kv *kv = &s->gauges.kv;
    uint64_t page = (uint64_t)s->page_tokens, share[5], bytes = 0;
    struct pool p = pool_of(&s->memory);
    bar_shares(p.part, COUNT_OF(share), size_of(s->memory.pool_tokens) / page, share);
    *kv = (struct gauge_kv){.own = share[0], .shared = share[1], .cached = share[2], .reserved = share[3],
                            .free = share[4], .both = MIN(p.both / page + (p.both % page > 0), share[3])};
    if (!size_mul(page, size_of(s->token_bytes), &bytes) && bytes > 0)
        kv->parked = size_of(s->machine.parked_bytes) / bytes + (size_of(s->machine.parked_bytes) % bytes > 0);
}

/* ------------------------------------------------------------------ bytes */

/* Of the pool's bytes, those of pages that hold something. */
static uint64_t filled_bytes(const struct state *s)
{
    uint64_t all = size_of(s->memory.kv_bytes), pool = size_of(s->memory.pool_tokens), bytes;
    struct pool p = pool_of(&s->memory);
    uint64_t filled = p.part[0] + p.part[1] + p.part[2] + p.both;
    if (s->token_bytes > 0) return size_mul(filled, (uint64_t)s->token_bytes, &bytes) ? all : MIN(bytes, all);
    return pool ? MIN((uint64_t)((double)all * ((double)filled / (double)pool)), all) : 0;
}

static bool has_ceiling(int64_t bytes) { return bytes > 0 && bytes < INT64_MAX; }

static uint64_t ours(const struct gauge_device *d)
{
    return d->weights + d->kv_filled + d->kv_unfilled + d->work + d->tables;
}

static void device_budget(struct state *s)
{
    struct gauge_device *d = &s->gauges.device;
    const struct event_machine *m = &s->machine;
    uint64_t ceiling = size_of(s->memory.ceiling_bytes), total = size_of(m->total_bytes);
    d->label = "budget";
    d->unknown = !has_ceiling(s->memory.ceiling_bytes);
    d->free = d->unknown ? 0 : ceiling - MIN(ours(d), ceiling);
    s->gauges.machine = (struct gauge_machine){.there = total > 0};
    s->gauges.machine.ours = take(size_of(m->ours_bytes), &total);
    s->gauges.machine.free = take(size_of(m->free_bytes), &total);
    s->gauges.machine.outside = total;
    s->gauges.machine.resident = size_of(m->resident_bytes);
}

/* What others have is what is left, below 0 while ours is not all taken: so the parts are the device's whole. */
static void device_own(struct state *s)
{
    struct gauge_device *d = &s->gauges.device;
    const struct event_machine *m = &s->machine;
    d->label = "VRAM";
    d->unknown = m->total_bytes <= 0;
    d->context = size_of(m->context_bytes);
    d->free = MIN(size_of(m->free_bytes), size_of(m->total_bytes));
    d->outside = d->unknown ? 0 : (int64_t)size_of(m->total_bytes) - (int64_t)(ours(d) + d->context + d->free);
    s->gauges.machine = (struct gauge_machine){0};
}

static void device_bytes(struct state *s)
{
    const struct event_memory *m = &s->memory;
    struct gauge_device *d = &s->gauges.device;
    *d = (struct gauge_device){
        .weights = size_of(m->weight_bytes), .work = size_of(m->work_bytes), .kv_filled = filled_bytes(s),
        .tables = size_of(s->has_machine ? s->machine.table_bytes : m->text_bytes)};
    d->kv_unfilled = size_of(m->kv_bytes) - d->kv_filled;
    if (s->on_cpu) device_budget(s);
    else device_own(s);
}

/* ------------------------------------------------------------------ speed */

static void push(float *past, int *n, float value)
{
    if (*n == STATE_PAST) memmove(past, past + 1, (STATE_PAST - 1) * sizeof *past);
    past[*n < STATE_PAST ? (*n)++ : STATE_PAST - 1] = value;
}

/* True: there is a new rate. */
static bool rates(struct state *s, double time)
{
    struct gauge_speed *p = &s->gauges.speed;
    const int64_t prefilled = count_of(s->machine.prefilled), generated = count_of(s->machine.generated);
    const bool first = s->rated.time < 0, again = prefilled < s->rated.prefilled || generated < s->rated.generated;
    double passed = time - s->rated.time;
    int n = p->past;
    if (!first && !again && !(passed >= BETWEEN_RATES)) return false;
    p->prefill = first || again ? (double)NAN : (double)(prefilled - s->rated.prefilled) / passed;
    p->decode = first || again ? (double)NAN : (double)(generated - s->rated.generated) / passed;
    push(s->prefill_past, &n, (float)p->prefill);
    push(s->decode_past, &p->past, (float)p->decode);
    s->rated.time = time;
    s->rated.prefilled = prefilled;
    s->rated.generated = generated;
    return true;
}

/* ------------------------------------------------------------------ the two events */

static uint32_t small(uint64_t n) { return (uint32_t)MIN(n, UINT32_MAX); }

static void sample(struct state *s, double time, bool rated)
{
    const struct gauge_device *d = &s->gauges.device;
    const struct event_memory *m = &s->memory;
    struct pool p = pool_of(m);
    s->timeline.pool = size_of(m->pool_tokens);
    s->timeline.ceiling = has_ceiling(m->ceiling_bytes) ? size_of(m->ceiling_bytes) : 0;
    timeline_sample(&s->timeline, &(struct timeline_sample){
        .time = (float)time, .filled = small(p.part[0] + p.part[1]), .reserved = small(p.part[3]),
        .shared = small(p.part[1]), .cached = small(p.part[2]), .running = small(size_of(m->running)),
        .waiting = small(size_of(m->waiting)), .parked = small(size_of(m->parked)),
        .prefill = rated ? (float)s->gauges.speed.prefill : 0, .decode = rated ? (float)s->gauges.speed.decode : 0,
        .bytes = ours(d) - d->kv_unfilled});
}

void state_memory(struct state *s, const struct event *e)
{
    struct gauge_speed *p = &s->gauges.speed;
    s->memory = e->memory;
    s->sampled = s->time;
    if (!s->has_machine) s->page_tokens = KERN_PAGE;
    p->streams = (int)MIN(count_of(e->memory.running), INT_MAX);
    p->queue = (int)MIN(count_of(e->memory.waiting), INT_MAX);
    if (p->queue == 0) p->queue_first = NULL;
    pool_pages(s);
    device_bytes(s);
    if (!s->has_machine) sample(s, s->time, false);
}

void state_totals(struct state *s)
{
    struct gauge_speed *p = &s->gauges.speed;
    const struct event_machine *m = &s->machine;
    p->tokens_in = MAX(size_of(m->prefilled) + size_of(m->reused), size_of(s->told.in));
    p->tokens_out = MAX(size_of(m->generated), size_of(s->told.out));
    p->reused = MAX(size_of(m->reused), size_of(s->told.reused));
    p->drafted = size_of(m->drafts_right);
}

static void gpu(struct gauge_speed *p, const struct event_machine *m)
{
    p->gpu_load = (int)MAX(MIN(m->gpu_load, INT16_MAX), -1);
    p->gpu_celsius = (int)MAX(MIN(m->gpu_celsius, INT16_MAX), -1);
    p->gpu_watts = (int)MAX(MIN(m->gpu_watts, INT16_MAX), -1);
}

void state_server(struct state *s, const struct event_server *e)
{
    struct gauge_speed *p = &s->gauges.speed;
    p->server.there = true;
    p->server.kv_permille = (int)MAX(MIN(e->kv_permille, 1000), -1);
    p->server.running = MAX(e->running, -1);
    p->server.waiting = MAX(e->waiting, -1);
    p->server.preempted = MAX(e->preempted, -1);
}

void state_machine(struct state *s, const struct event *e)
{
    struct gauge_speed *p = &s->gauges.speed;
    s->on_cpu = e->machine.backend.len == 3 && memcmp(e->machine.backend.data, "cpu", 3) == 0;
    s->machine = e->machine;
    s->machine.backend = s->machine.queue_first = (struct event_str){0};
    s->has_machine = true;
    s->page_tokens = e->machine.page_tokens > 0 ? count_of(e->machine.page_tokens) : KERN_PAGE;
    s->token_bytes = count_of(e->machine.token_bytes);
    state_text(s->queue_first, sizeof s->queue_first, e->machine.queue_first);
    p->queue_first = p->queue > 0 && *s->queue_first ? s->queue_first : NULL;
    p->queue_pages = size_of(e->machine.queue_pages);
    state_totals(s);
    gpu(p, &e->machine);
    pool_pages(s);
    device_bytes(s);
    sample(s, s->time, rates(s, s->time));
}
