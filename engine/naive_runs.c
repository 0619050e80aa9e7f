/* naive_runs.c - runs in a sorted array; holes are what lies between them. */
#include "engine/naive_runs.h"

size_t naive_runs_bytes(int cap) { return (size_t)cap * sizeof(struct naive_run); }

bool naive_runs_open(struct naive_runs *r, int pages, int cap)
{
    *r = (struct naive_runs){.pages = pages, .cap = cap, .run = malloc(naive_runs_bytes(cap))};
    return r->run != NULL;
}

void naive_runs_close(struct naive_runs *r)
{
    free(r->run);
    *r = (struct naive_runs){0};
}

/* Where hole i begins and ends: before run i, the last one after all of them. */
static int hole_from(const struct naive_runs *r, int i) { return i ? r->run[i - 1].first + r->run[i - 1].n : 0; }
static int hole_to(const struct naive_runs *r, int i) { return i < r->n ? r->run[i].first : r->pages; }

int naive_runs_find(const struct naive_runs *r, int n)
{
    for (int i = 0; i <= r->n; i++)
        if (hole_to(r, i) - hole_from(r, i) >= n) return hole_from(r, i);
    return -1;
}

void naive_runs_take(struct naive_runs *r, int first, int n, int id)
{
    int i = 0;
    while (i < r->n && r->run[i].first < first) i++;
    assert(r->n < r->cap && n > 0 && hole_from(r, i) <= first && first + n <= hole_to(r, i));
    memmove(&r->run[i + 1], &r->run[i], (size_t)(r->n - i) * sizeof *r->run);
    r->run[i] = (struct naive_run){.first = first, .n = n, .id = id};
    r->n++;
}

struct naive_run naive_runs_give(struct naive_runs *r, int id)
{
    int i = 0;
    while (i < r->n && r->run[i].id != id) i++;
    assert(i < r->n);
    struct naive_run run = r->run[i];
    r->n--;
    memmove(&r->run[i], &r->run[i + 1], (size_t)(r->n - i) * sizeof *r->run);
    return run;
}

int naive_runs_free(const struct naive_runs *r)
{
    int n = r->pages;
    for (int i = 0; i < r->n; i++) n -= r->run[i].n;
    return n;
}

int naive_runs_hole(const struct naive_runs *r, int *at)
{
    int most = 0;
    *at = r->pages;
    for (int i = 0; i <= r->n; i++) {
        int n = hole_to(r, i) - hole_from(r, i);
        if (n <= most) continue;
        most = n;
        *at = hole_from(r, i);
    }
    return most;
}

int naive_runs_end(const struct naive_runs *r) { return hole_from(r, r->n); }

/* ------------------------------------------------------------------ trace */

size_t naive_trace_bytes(void) { return NAIVE_TRACE * sizeof(struct naive_op); }

bool naive_trace_open(struct naive_trace *t)
{
    *t = (struct naive_trace){.op = take_touched(naive_trace_bytes())};
    return t->op != NULL;
}

void naive_trace_close(struct naive_trace *t)
{
    free(t->op);
    *t = (struct naive_trace){0};
}

void naive_trace_put(struct naive_trace *t, struct naive_op op)
{
    op.number = t->n++;
    t->op[op.number % NAIVE_TRACE] = op;
}

int naive_trace_read(const struct naive_trace *t, uint64_t from, struct naive_op *out, int n)
{
    int got = 0;
    from = MAX(from, t->n - MIN(t->n, (uint64_t)NAIVE_TRACE));
    for (; got < n && from < t->n; from++) out[got++] = t->op[from % NAIVE_TRACE];
    return got;
}
