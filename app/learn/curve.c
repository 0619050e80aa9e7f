/* curve.c - see curve.h. */
#include "app/learn/curve.h"

void curve_init(struct curve *c, bool ceiling)
{
    *c = (struct curve){.join = 1, .failed_at = -1, .ceiling = ceiling};
}

/* ---------------------------------------------------------------- folding */

static void join(struct curve_point *into, const struct curve_point *p)
{
    into->taken = MAX(into->taken, p->taken);
    into->filled = MAX(into->filled, p->filled);
    into->hole = into->hole < 0 ? p->hole : p->hole < 0 ? into->hole : MIN(into->hole, p->hole);
    into->running = MAX(into->running, p->running);
    into->waiting = MAX(into->waiting, p->waiting);
    into->turns = p->turns;
    into->time = p->time;
}

static void halve(struct curve *c)
{
    for (int i = 0; i < c->n / 2; i++) {
        c->point[i] = c->point[2 * i];
        join(&c->point[i], &c->point[2 * i + 1]);
    }
    c->n /= 2;
    c->join *= 2;
    c->joined = c->join;
    if (c->failed_at >= 0) c->failed_at /= 2;
}

/* A sample: a point of its own, or a part of the last one. */
static void put(struct curve *c, const struct curve_point *p)
{
    if (c->n > 0 && c->joined < c->join) {
        join(&c->point[c->n - 1], p);
        c->joined++;
        return;
    }
    if (c->n == CURVE_POINTS) halve(c);
    c->point[c->n++] = *p;
    c->joined = 1;
}

/* Behind a memory event, with the size of a token. */
static void add_machine(struct curve *c, double time, const struct event_machine *e)
{
    const struct event_memory *m = &c->seen;
    struct curve_point p = {.time = time, .hole = -1, .turns = c->turns, .running = (int32_t)m->running,
                            .waiting = (int32_t)m->waiting};
    c->size = c->ceiling ? m->ceiling_bytes : m->pool_tokens * e->token_bytes;
    p.taken = c->ceiling ? m->weight_bytes + m->kv_bytes + m->work_bytes + e->table_bytes
                         : m->reserved_tokens * e->token_bytes;
    p.filled = c->ceiling ? p.taken : m->filled_tokens * e->token_bytes;
    put(c, &p);
}

/* Behind that: what a policy has given is what was taken. */
static void add_naive(struct curve *c, const struct event_naive *e)
{
    if (c->n == 0) return;
    struct curve_point *p = &c->point[c->n - 1];
    if (c->joined == 1) *p = (struct curve_point){.time = p->time, .hole = -1, .turns = p->turns,
                                                  .running = p->running, .waiting = p->waiting};
    p->taken = MAX(p->taken, e->taken_bytes);
    p->filled = MAX(p->filled, c->ceiling ? e->taken_bytes : e->filled_bytes);
    p->hole = p->hole < 0 ? e->hole_bytes : MIN(p->hole, e->hole_bytes);
}

static int agent_of(struct curve *c, struct event_str name)
{
    char shown[sizeof c->agent[0].name];
    snprintf(shown, sizeof shown, "%.*s", event_part(name, sizeof shown - 1), name.data ? name.data : "");
    for (int i = 0; i < c->agents; i++)
        if (strcmp(c->agent[i].name, shown) == 0) return i;
    if (c->agents == CURVE_AGENTS) return -1;
    memcpy(c->agent[c->agents].name, shown, sizeof shown);
    return c->agents++;
}

static void add_agent(struct curve *c, const struct event *e)
{
    int i = agent_of(c, e->agent);
    if (i < 0) return;
    if (e->kind == EV_TURN_START) c->agent[i].tokens = e->turn_start.prompt_tokens;
    if (e->kind == EV_TURN_END) c->agent[i].tokens = e->turn_end.prompt_tokens + e->turn_end.tokens;
    if (e->kind == EV_OOM || e->kind == EV_REFUSAL) c->agent[i].failed = true;
}

static void add_oom(struct curve *c, const struct event *e)
{
    const struct event_oom *o = &e->oom;
    if (c->failed_at >= 0) return;
    struct curve_point p = {.time = e->time, .turns = c->turns, .hole = o->hole_bytes,
                            .taken = o->size_bytes - o->free_bytes, .filled = o->size_bytes - o->free_bytes};
    if (c->n > 0) {
        p.running = c->point[c->n - 1].running;
        p.waiting = c->point[c->n - 1].waiting;
        if (!c->ceiling) p.filled = MIN(p.taken, c->point[c->n - 1].filled);
    }
    put(c, &p);
    c->failed_at = c->n - 1;
    c->failed_wanted = o->wanted_bytes;
}

void curve_add(struct curve *c, const struct event *e)
{
    switch (e->kind) {
    case EV_SESSION_OPEN: c->ctx = e->session_open.ctx; return;
    case EV_MEMORY: c->seen = e->memory; return;
    case EV_MACHINE: add_machine(c, e->time, &e->machine); return;
    case EV_NAIVE: add_naive(c, &e->naive); return;
    case EV_OOM:
        add_oom(c, e);
        add_agent(c, e);
        return;
    case EV_TURN_END:
        c->turns++;
        add_agent(c, e);
        return;
    case EV_TURN_START:
    case EV_REFUSAL: add_agent(c, e); return;
    default: return;
    }
}

/* ---------------------------------------------------------------- shown as text */

static int64_t share(int64_t v, int64_t size, int64_t of)
{
    if (size <= 0 || v <= 0) return 0;
    return v >= size ? of : (int64_t)((double)v * (double)of / (double)size + 0.5);
}

/* The highest of the points that a column stands for. */
static struct curve_point column(const struct curve *c, int i, int columns)
{
    int from = (int)((int64_t)i * c->n / columns), to = (int)((int64_t)(i + 1) * c->n / columns);
    struct curve_point p = c->point[MIN(from, c->n - 1)];
    for (int k = from + 1; k < to; k++) join(&p, &c->point[k]);
    return p;
}

static const char *cell(const struct curve_point *p, int64_t size, int row, int rows, bool failed, bool ascii)
{
    /* Rounded up: what holds anything is seen. */
    int64_t level = (int64_t)rows - row;
    int64_t taken = share(p->taken, size, rows * 8), filled = share(p->filled, size, rows * 8);
    if (failed && row == 0) return ascii ? "!" : "✗";
    if (filled > (level - 1) * 8) return ascii ? "#" : "█";
    if (taken > (level - 1) * 8) return ascii ? ":" : "░";
    return failed ? (ascii ? "|" : "│") : " ";
}

void curve_chart(const struct curve *c, int columns, int rows, int64_t size, bool ascii, struct buf *out)
{
    int64_t top = size > 0 ? size : c->size;
    int used = MIN(columns, c->n);
    for (int row = 0; row < rows; row++) {
        for (int i = 0; i < used; i++) {
            struct curve_point p = column(c, i, used);
            int from = (int)((int64_t)i * c->n / used), to = (int)((int64_t)(i + 1) * c->n / used);
            bool failed = c->failed_at >= from && c->failed_at < to;
            buf_puts(out, cell(&p, top, row, rows, failed, ascii));
        }
        buf_printf(out, "%*s\n", columns - used, "");
    }
}

void curve_bar(const struct curve *c, int columns, bool ascii, struct buf *out)
{
    struct curve_point p = c->n ? c->point[c->n - 1] : (struct curve_point){.hole = -1};
    int64_t taken = share(p.taken, c->size, columns), filled = share(p.filled, c->size, columns);
    buf_puts(out, c->ceiling ? "all " : "KV ");
    buf_puts(out, ascii ? "[" : "▕");
    for (int i = 0; i < columns; i++)
        buf_puts(out, i < filled ? (ascii ? "#" : "█") : i < taken ? (ascii ? ":" : "░") : " ");
    buf_puts(out, ascii ? "]" : "▏");
    buf_printf(out, " %.1f of %.1f MiB  %d running, %d waiting", (double)p.taken / 0x1p20, (double)c->size / 0x1p20,
               p.running, p.waiting);
}

void curve_agents(const struct curve *c, bool ascii, struct buf *out)
{
    static const char *const high[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    buf_puts(out, ascii ? "agents [" : "agents ▕");
    for (int i = 0; i < c->agents; i++) {
        int64_t tenths = share(c->agent[i].tokens, c->ctx, 9), eighths = share(c->agent[i].tokens, c->ctx, 7);
        if (c->agent[i].failed) buf_puts(out, ascii ? "!" : "✗");
        else if (ascii) buf_printf(out, "%d", (int)tenths);
        else buf_puts(out, high[eighths]);
    }
    buf_puts(out, ascii ? "]" : "▏");
}
