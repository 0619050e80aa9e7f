/* flow_map.c - the input in parts, each asked of a fresh copy; the lead makes one result of theirs, group by group. */
#include "app/session/flow_impl.h"

enum { GROUP = 8 }; /* results that the lead gets at once: more would leave each a few lines of its context */

/* ------------------------------------------------------------------ parts of the input */

/* The next part from *at on: a line, or lines up to a blank one. */
static bool next_piece(const struct flow *f, size_t *at, struct flow_span *piece)
{
    struct flow_span line;
    const char *from = NULL, *to = NULL;
    while (flow_line(f->input.text, f->input.n, at, &line)) {
        if (line.n == 0 && from) break;
        if (line.n == 0) continue;
        if (!from) from = line.text;
        to = line.text + line.n;
        if (f->crew->split == SPLIT_LINES) break;
    }
    if (from) *piece = (struct flow_span){from, (size_t)(to - from)};
    return from != NULL;
}

static int groups_of(int results) { return results / GROUP + (results % GROUP > 0); }

static int64_t reduces_of(int results) /* how many asks make one of them */
{
    int64_t sum = 0;
    do {
        results = groups_of(results);
        sum += results;
    } while (results > 1);
    return sum;
}

static int map_open(struct flow *f, struct err *err)
{
    const struct crew *c = f->crew;
    struct flow_span piece;
    int n = 0;
    size_t at = 0;
    while (n < c->steps && next_piece(f, &at, &piece)) n++;
    if (n == 0) return err_set(err, -1, "the input has no parts: there is nothing in it");
    if (n == c->steps && next_piece(f, &at, &piece)) {
        return err_set(err, -1, "the input has more than %d parts, and the crew makes %d steps at most", n, c->steps);
    }
    int64_t asks = n + (c->lead >= 0 ? reduces_of(n) : 0);
    if (asks > c->steps) {
        return err_set(err, -1, "the input has %d parts, which take %lld asks, and the crew makes %d steps at most", n,
                       (long long)asks, c->steps);
    }
    f->piece = calloc((size_t)n, sizeof *f->piece);
    if (!f->piece) return err_set(err, -1, "no memory for %d parts", n);
    f->n_pieces = n;
    at = 0;
    for (int i = 0; i < n; i++) next_piece(f, &at, &f->piece[i]);
    return 0;
}

/* ------------------------------------------------------------------ asks */

static void ask_copy(struct flow *f, int i)
{
    struct flow_ask *a = flow_put(f, f->crew->members[0]);
    a->copy = i;
    a->fresh = true;
    a->first = a->last = i + 1;
    snprintf(a->label, sizeof a->label, "part %d", i + 1);
    if (f->crew->prompt) flow_word(f, a, f->crew->prompt);
    flow_hand(f, a, &(struct flow_part){-1, 0, "input", f->piece[i].text, f->piece[i].n});
}

/* The lead reduces group `at` of `groups` of the n results that begin with `from`; they differ by one at most. */
static void ask_reduce(struct flow *f, int from, int n, int at, int groups)
{
    int first = from + (int)((int64_t)n * at / groups), end = from + (int)((int64_t)n * (at + 1) / groups);
    struct flow_ask *a = flow_put(f, f->crew->lead);
    a->copy = at;
    a->fresh = true;
    a->first = f->ask[first]->first;
    a->last = f->ask[end - 1]->last;
    snprintf(a->label, sizeof a->label, "parts %d-%d", a->first, a->last);
    if (flow_word(f, a, f->crew->reduce ? f->crew->reduce : "Make one answer of these.")) flow_hand_input(f, a);
    for (int i = first; i < end; i++) flow_hand_said(f, a, f->ask[i]);
}

static void join(struct flow *f)
{
    for (int i = 0; i < f->n_asks; i++) {
        if (i > 0) buf_puts(&f->joined, "\n");
        buf_put(&f->joined, f->ask[i]->answer, f->ask[i]->n);
    }
    f->no_memory |= f->joined.failed;
    if (f->joined.data) f->output = (struct flow_span){f->joined.data, f->joined.len};
}

static void map_next(struct flow *f)
{
    int from = f->level, n = f->n_asks - from;
    f->level = f->n_asks;
    if (n == 0) {
        for (int i = 0; i < f->n_pieces; i++) ask_copy(f, i);
    } else if (f->crew->lead < 0) {
        join(f);
        if (!f->no_memory) flow_over(f, FLOW_DONE, "all %d parts are answered", n);
    } else if (f->reduced) {
        flow_over(f, FLOW_DONE, "%s has made one result of %d parts", flow_name(f, f->crew->lead), f->n_pieces);
    } else {
        int groups = groups_of(n);
        for (int at = 0; at < groups; at++) ask_reduce(f, from, n, at, groups);
        f->reduced = groups == 1;
    }
}
const struct flow_ops flow_map = {.open = map_open, .next = map_next};
