/* grammar_dfa.c - nodes to an automaton: a state is the set of all places in the nodes where a text may be.
 *
 * An element of such a set is a node (a range, a string or the end) and, of a string, where in it: node << 5 | place.
 * The sets that a byte leads to are mostly the same as the byte's before it, which is looked at first. */
#include "engine/grammar_impl.h"

_Static_assert(STR_PLACES <= 1 << PLACE_BITS, "a place has room in an element");

static int order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int grammar_closure(struct grammar_make *m, const uint32_t *raw, int n, struct err *err)
{
    int n_set = 0;
    m->stamp_now++;
    for (int i = 0; i < n; i++) {
        int n_todo = 0;
        m->todo[n_todo++] = raw[i];
        while (n_todo > 0) {
            uint32_t element = m->todo[--n_todo], at = element >> PLACE_BITS;
            const struct node *node = &m->node[at];
            m->work++;
            if (m->stamp[at] == m->stamp_now) {
                if (node->kind == NODE_ONE)
                    return err_set(err, GRAMMAR_REFUSED, "schema, at %s: two of oneOf accept the same text; use anyOf",
                                   m->one_place[node->alt]);
                continue;
            }
            m->stamp[at] = m->stamp_now;
            if (node->kind == NODE_RANGE || node->kind == NODE_STRING || node->kind == NODE_END) {
                m->set[n_set++] = element;
                continue;
            }
            if (node->kind == NODE_SPLIT) m->todo[n_todo++] = (uint32_t)node->alt << PLACE_BITS;
            m->todo[n_todo++] = (uint32_t)node->next << PLACE_BITS;
        }
    }
    if (n_set > 1) qsort(m->set, (size_t)n_set, sizeof *m->set, order);
    return n_set;
}

static uint32_t hash_of(const uint32_t *set, int n)
{
    uint32_t h = 2166136261u;
    for (int i = 0; i < n; i++) h = (h ^ set[i]) * 16777619u ^ h >> 15;
    return h;
}

int grammar_intern(struct grammar *g, int n, struct err *err)
{
    struct grammar_make *m = &g->make;
    uint32_t i = hash_of(m->set, n) & m->hash_mask;
    for (; m->hash[i]; i = (i + 1) & m->hash_mask) {
        uint32_t at = m->set_at[m->hash[i]], len = m->set_at[m->hash[i] + 1] - at;
        if (len == (uint32_t)n && memcmp(m->pool + at, m->set, (size_t)n * sizeof *m->set) == 0) return m->hash[i];
    }
    uint32_t at = m->set_at[g->n_states];
    if (g->n_states >= g->limits.states)
        return err_set(err, GRAMMAR_TOO_LARGE, "schema: its automaton has more than %d states", g->limits.states);
    if ((uint32_t)n > m->n_pool - at)
        return err_set(err, GRAMMAR_TOO_LARGE, "schema: too many of its parts may be meant at once");
    memcpy(m->pool + at, m->set, (size_t)n * sizeof *m->set);
    m->set_at[g->n_states + 1] = at + (uint32_t)n;
    m->hash[i] = (uint16_t)g->n_states;
    return g->n_states++;
}

int grammar_step(const struct grammar *g, const uint32_t *set, int n, int b, uint32_t *raw)
{
    int n_raw = 0;
    for (int i = 0; i < n; i++) {
        uint32_t at = set[i] >> PLACE_BITS, place = set[i] & ((1u << PLACE_BITS) - 1);
        const struct node *node = &g->make.node[at];
        if (node->kind == NODE_RANGE && b >= node->lo && b <= node->hi) {
            raw[n_raw++] = (uint32_t)node->next << PLACE_BITS;
        } else if (node->kind == NODE_STRING) {
            uint8_t to = g->x->step[place][b];
            if (to == STR_EXIT) raw[n_raw++] = (uint32_t)node->next << PLACE_BITS;
            else if (to != STR_DEAD) raw[n_raw++] = at << PLACE_BITS | to;
        }
    }
    return n_raw;
}

static int follow(struct grammar *g, const uint32_t *raw, int n, struct err *err)
{
    int n_set = grammar_closure(&g->make, raw, n, err);
    if (g->make.work > GRAMMAR_WORK)
        return err_set(err, GRAMMAR_TOO_LARGE, "schema: its automaton takes too long to make");
    return n_set < 0 ? n_set : grammar_intern(g, n_set, err);
}

/* Of a state that may be inside a string: what is behind that string's quote, and the state of all else it may be. */
static int split_string(struct grammar *g, int state, const uint32_t *set, int n, struct err *err)
{
    struct grammar_make *m = &g->make;
    int i = 0, rest = STATE_DEAD;
    while (i < n && m->node[set[i] >> PLACE_BITS].kind != NODE_STRING) i++;
    if (i == n) return 0;
    uint32_t behind = (uint32_t)m->node[set[i] >> PLACE_BITS].next << PLACE_BITS;
    int exit = follow(g, &behind, 1, err);
    if (exit < 0) return exit;
    memcpy(m->set, set, (size_t)i * sizeof *set);
    memcpy(m->set + i, set + i + 1, (size_t)(n - i - 1) * sizeof *set);
    if (n > 1) rest = grammar_intern(g, n - 1, err);
    if (rest < 0) return rest;
    g->exit[state] = (uint16_t)exit;
    g->place[state] = (uint8_t)(set[i] & ((1u << PLACE_BITS) - 1));
    g->rest[state] = (uint16_t)rest;
    return 0;
}

static int fill_state(struct grammar *g, int state, struct err *err)
{
    struct grammar_make *m = &g->make;
    const uint32_t *set = m->pool + m->set_at[state];
    int n = (int)(m->set_at[state + 1] - m->set_at[state]), n_last = 0, to = STATE_DEAD;
    for (int i = 0; i < n; i++)
        if (m->node[set[i] >> PLACE_BITS].kind == NODE_END) g->complete[state] = 1;
    for (int b = 0; b < 256; b++) {
        int n_raw = grammar_step(g, set, n, b, m->raw);
        m->work += (uint64_t)n;
        bool same = n_raw == n_last && memcmp(m->raw, m->last_raw, (size_t)n_raw * sizeof *m->raw) == 0;
        if (!same) to = n_raw ? follow(g, m->raw, n_raw, err) : STATE_DEAD;
        if (to < 0) return to;
        g->go[state][b] = (uint16_t)to;
        memcpy(m->last_raw, m->raw, (size_t)n_raw * sizeof *m->raw);
        n_last = n_raw;
    }
    return split_string(g, state, set, n, err);
}

int grammar_determine(struct grammar *g, struct err *err)
{
    struct grammar_make *m = &g->make;
    uint32_t root = (uint32_t)m->root << PLACE_BITS;
    g->n_states = STATE_START; /* the dead state has no set and is never looked up */
    int start = follow(g, &root, 1, err), bad = MIN(start, 0);
    for (int state = STATE_START; state < g->n_states && !bad; state++) bad = fill_state(g, state, err);
    return bad;
}
