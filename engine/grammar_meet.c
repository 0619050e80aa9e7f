/* grammar_meet.c - texts of which several things are said at once: patterns (a format is one), and how long they are.
 *
 *     each pattern's nodes -> [all of them step by step] -> states -> those that lead to an end -> nodes
 *
 * A state is where a text may be in each pattern, and how many characters it has: so only that is made which all of
 * them have.  What can come to no end is left out, or a text could begin that has none.  Lengths are counted in
 * characters as they are spelled: an escape is one, and so is a sequence of UTF-8. */
#include "engine/grammar_nodes.h"

/* The last element of a state's set: COUNT, characters, and the bytes that the last of these lacks. */
enum { STATES = 4096, REST_BITS = 2 };
static const uint32_t COUNT = UINT32_C(1) << 31;

struct meeting {
    struct reader *r;
    struct grammar *g;   /* its nodes are the reader's */
    int32_t first[MEET_PATTERNS + 1]; /* of each pattern, and behind the last */
    int patterns, least, most;
    int32_t *entry;      /* (STATES) a state's first node; 0: it leads to no end */
};

static unsigned rest_of(uint32_t count) { return count & ((1u << REST_BITS) - 1); }
static int characters(uint32_t count) { return (int)((count & ~COUNT) >> REST_BITS); }

/* With one byte more; 0: it would be too long. */
static uint32_t count_byte(const struct meeting *m, uint32_t count, int b)
{
    const int n = characters(count), most = m->most < 0 ? m->least : m->most;
    if (rest_of(count) > 0) return count - 1;
    if (m->most >= 0 && n == m->most) return 0;
    const unsigned rest = b == '\\' ? 1 : b < 0x80 ? 0 : b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
    return COUNT | (uint32_t)MIN(n + 1, most) << REST_BITS | rest;
}

/* Whether the set of n has something of each pattern (ends: its end). */
static bool has_each(const struct meeting *m, const uint32_t *set, int n, bool ends)
{
    bool each = true;
    for (int p = 0, i = 0; p < m->patterns && each; p++) {
        bool any = false;
        for (; i < n && set[i] >> PLACE_BITS < (uint32_t)m->first[p + 1]; i++)
            any |= !ends || m->g->make.node[set[i] >> PLACE_BITS].kind == NODE_END;
        each = any;
    }
    return each;
}

/* The state of what the n of raw lead to, with that count; or enum grammar_error. */
static int enter(struct meeting *m, const uint32_t *raw, int n, uint32_t count)
{
    struct grammar_make *make = &m->g->make;
    const int n_set = count == 0 ? 0 : grammar_closure(make, raw, n, m->r->err);
    if (make->work > GRAMMAR_WORK)
        return grammar_refuse(m->r, GRAMMAR_TOO_LARGE, "what it says of a text takes too long to put together");
    if (n_set <= 0 || !has_each(m, make->set, n_set, false)) return MIN(n_set, STATE_DEAD);
    make->set[n_set] = count;
    return grammar_intern(m->g, n_set + 1, m->r->err);
}

static int fill_state(struct meeting *m, int state)
{
    struct grammar *g = m->g;
    struct grammar_make *make = &g->make;
    const uint32_t *set = make->pool + make->set_at[state];
    const int n = (int)(make->set_at[state + 1] - make->set_at[state]) - 1;
    const uint32_t count = set[n];
    uint32_t last_count = 0;
    int n_last = 0, to = STATE_DEAD;
    g->complete[state] = rest_of(count) == 0 && characters(count) >= m->least && has_each(m, set, n, true);
    for (int b = 0; b < 256; b++) {
        const uint32_t more = count_byte(m, count, b);
        const int n_raw = grammar_step(g, set, n, b, make->raw);
        make->work += (uint64_t)n;
        if (n_raw != n_last || more != last_count ||
            memcmp(make->raw, make->last_raw, (size_t)n_raw * sizeof *make->raw) != 0)
            to = n_raw ? enter(m, make->raw, n_raw, more) : STATE_DEAD;
        if (to < 0) return to;
        g->go[state][b] = (uint16_t)to;
        memcpy(make->last_raw, make->raw, (size_t)n_raw * sizeof *make->raw);
        n_last = n_raw;
        last_count = more;
    }
    return 0;
}

/* All that a text can come to from the patterns' starts. */
static int fill(struct meeting *m, const int32_t *start)
{
    uint32_t raw[MEET_PATTERNS];
    for (int p = 0; p < m->patterns; p++) raw[p] = (uint32_t)start[p] << PLACE_BITS;
    m->g->n_states = STATE_START;
    int bad = MIN(enter(m, raw, m->patterns, COUNT), 0);
    for (int s = STATE_START; s < m->g->n_states && !bad; s++) bad = fill_state(m, s);
    return bad;
}

/* Marks those that lead to an end, until no more are found: from the back, as states mostly lead on to later ones. */
static int mark_living(struct meeting *m)
{
    struct grammar *g = m->g;
    for (bool more = true; more;) {
        more = false;
        g->make.work += (uint64_t)g->n_states * 256;
        if (g->make.work > GRAMMAR_WORK)
            return grammar_refuse(m->r, GRAMMAR_TOO_LARGE, "what it says of a text takes too long to put together");
        for (int s = g->n_states - 1; s >= STATE_START; s--) {
            bool lives = g->complete[s];
            for (int b = 0; b < 256 && !lives; b++) lives = m->entry[g->go[s][b]] != 0;
            more |= lives && !m->entry[s];
            m->entry[s] = lives;
        }
    }
    return 0;
}

/* A living state's nodes behind its first: its bytes, those that lead to the same in one. */
static int32_t write_state(const struct meeting *m, int s, int32_t next)
{
    const uint16_t *go = m->g->go[s];
    int32_t all = m->g->complete[s] ? next : 0;
    for (int b = 0, to; b < 256 && all >= 0; b = to + 1) {
        for (to = b; to < 255 && go[to + 1] == go[b];) to++;
        if (!m->entry[go[b]]) continue;
        const int32_t these = range(m->r, b, to, m->entry[go[b]]);
        all = all ? split(m->r, these, all) : these;
    }
    return all;
}

static int32_t write_all(struct meeting *m, int32_t next)
{
    struct node *node = m->r->make->node;
    if (!m->entry[STATE_START])
        return grammar_refuse(m->r, GRAMMAR_REFUSED, "no text is what pattern, format and lengths say together");
    for (int s = STATE_START; s < m->g->n_states; s++) {
        if (m->entry[s]) m->entry[s] = add(m->r, NODE_JUMP, 0, 0, next, 0);
        if (m->entry[s] < 0) return m->entry[s];
    }
    for (int s = STATE_START; s < m->g->n_states; s++) {
        const int32_t all = m->entry[s] ? write_state(m, s, next) : 0;
        if (all < 0) return all;
        if (m->entry[s]) node[m->entry[s]].next = all;
    }
    return m->entry[STATE_START];
}

int32_t grammar_meet(struct reader *r, const char *const *pattern, int n, int least, int most, int32_t next)
{
    struct meeting m = {.r = r, .patterns = n, .least = least, .most = most};
    const int before = r->make->n_node;
    int32_t start[MEET_PATTERNS], made = 0;
    if (next < 0) return next;
    for (int p = 0; p < n && made >= 0; p++) {
        m.first[p] = r->make->n_node;
        made = start[p] = grammar_regex(r, pattern[p], strlen(pattern[p]), REGEX_QUOTED | REGEX_SEARCH,
                                        add(r, NODE_END, 0, 0, 0, 0));
    }
    m.first[n] = r->make->n_node;
    if (made < 0) return made;
    m.g = grammar_bare(&(struct grammar_limits){.states = STATES, .nodes = r->make->n_node + 1, .depth = 1});
    m.entry = calloc(STATES, sizeof *m.entry);
    if (!m.g || !m.entry) made = grammar_refuse(r, GRAMMAR_NO_MEMORY, "no memory for what it says of a text");
    if (m.g) m.g->make.node = r->make->node;
    if (m.g) m.g->make.work = r->make->work; /* all of a schema have one bound: they may be many */
    if (made >= 0) made = fill(&m, start);
    if (made >= 0) made = mark_living(&m);
    if (m.g) r->make->work = m.g->make.work;
    r->make->n_node = before; /* the patterns' own are not needed any more */
    if (made >= 0) made = write_all(&m, next);
    free(m.entry);
    free(m.g);
    return made;
}
