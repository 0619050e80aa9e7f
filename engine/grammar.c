/* grammar.c - a grammar's memory, its states and their masks. */
#include "engine/grammar_impl.h"

enum { STATE_ENDED = UINT16_MAX, SETS_PER_STATE = 8 };

static void place_make(struct grammar_room *room, struct grammar_make *m, const struct grammar_limits *l)
{
    uint64_t nodes = (uint64_t)l->nodes, states = (uint64_t)l->states;
    m->hash_mask = 1;
    while (m->hash_mask < 2 * states) m->hash_mask *= 2;
    m->n_pool = (uint32_t)(SETS_PER_STATE * states + nodes);
    m->node = grammar_take(room, nodes, sizeof *m->node);
    m->stamp = grammar_take(room, nodes, sizeof *m->stamp);
    m->todo = grammar_take(room, nodes + 1, sizeof *m->todo);
    m->set = grammar_take(room, nodes, sizeof *m->set);
    m->raw = grammar_take(room, nodes, sizeof *m->raw);
    m->last_raw = grammar_take(room, nodes, sizeof *m->last_raw);
    m->pool = grammar_take(room, m->n_pool, sizeof *m->pool);
    m->set_at = grammar_take(room, states + 1, sizeof *m->set_at);
    m->hash = grammar_take(room, m->hash_mask, sizeof *m->hash);
    m->hash_mask--;
}

/* The memory of everything; to NULL: only how much that is. */
static size_t place_all(size_t mask_words, const struct grammar_limits *l, struct grammar *to)
{
    struct grammar_room room = {.base = (unsigned char *)to};
    struct grammar none;
    struct grammar *g = to ? to : &none;
    uint64_t states = (uint64_t)l->states, masks = (uint64_t)l->masks;
    if (l->states < 2 || l->states > UINT16_MAX || l->nodes < 1 || l->nodes > 1 << 20 || l->depth < 1 ||
        l->depth > GRAMMAR_DEPTH || l->masks < 0)
        return SIZE_MAX;
    grammar_take(&room, 1, sizeof *g);
    g->go = grammar_take(&room, states, sizeof *g->go);
    g->exit = grammar_take(&room, states, sizeof *g->exit);
    g->place = grammar_take(&room, states, sizeof *g->place);
    g->rest = grammar_take(&room, states, sizeof *g->rest);
    g->complete = grammar_take(&room, states, sizeof *g->complete);
    g->masks = grammar_take(&room, masks, mask_words * sizeof *g->masks);
    g->mask_of = grammar_take(&room, masks, sizeof *g->mask_of);
    place_make(&room, &g->make, l);
    return room.overflow ? SIZE_MAX : room.used;
}

static size_t bytes_for(size_t mask_words, const struct grammar_limits *limits)
{
    size_t n = place_all(mask_words, limits, NULL);
    return n > SIZE_MAX - 15 ? SIZE_MAX : n + 15;
}

size_t grammar_bytes(const struct grammar_index *x, const struct grammar_limits *limits)
{
    return bytes_for(x->mask_words, limits);
}

size_t grammar_bytes_of(const struct grammar_words *w, const struct grammar_limits *limits)
{
    return bytes_for(((size_t)w->n + 31) / 32, limits);
}

struct grammar *grammar_compile(const struct grammar_index *x, const struct grammar_limits *limits,
                                const struct grammar_source *source, void *mem, size_t bytes, struct err *err)
{
    struct grammar *g = (void *)size_align((uintptr_t)mem, 16);
    size_t need = place_all(x->mask_words, limits, NULL);
    if (need > SIZE_MAX - 15 || bytes < need + 15) {
        err_set(err, GRAMMAR_NO_MEMORY, "a grammar of these limits takes %zu bytes, %zu are there", need, bytes);
        return NULL;
    }
    if (source->n_after < 0 || source->n_after > GRAMMAR_AFTER) {
        err_set(err, GRAMMAR_TOO_LARGE, "%d tokens behind a grammar; it has room for %d", source->n_after,
                GRAMMAR_AFTER);
        return NULL;
    }
    memset(g, 0, need);
    place_all(x->mask_words, limits, g);
    g->x = x;
    g->limits = *limits;
    for (int i = 0; i < source->n_after; i++)
        if (source->after[i] >= 0 && source->after[i] < x->words.n) g->after[g->n_after++] = source->after[i];
    return grammar_read(g, source, err) || grammar_determine(g, err) ? NULL : g;
}

struct grammar *grammar_bare(const struct grammar_limits *limits)
{
    struct grammar *g = calloc(1, place_all(0, limits, NULL));
    if (!g) return NULL;
    place_all(0, limits, g);
    g->limits = *limits;
    return g;
}

long grammar_states_about(const char *schema, size_t n, const struct grammar_limits *limits, struct err *err)
{
    const struct grammar_source source = {.schema = schema, .n_schema = n};
    struct grammar *g = calloc(1, sizeof *g);
    struct node *nodes = calloc((size_t)limits->nodes, sizeof *nodes);
    if (!g || !nodes) {
        free(g);
        free(nodes);
        return err_set(err, GRAMMAR_NO_MEMORY, "no memory for %d nodes", limits->nodes);
    }
    g->limits = *limits;
    g->make.node = nodes;
    long states = grammar_read(g, &source, err);
    for (int i = 0; states >= 0 && i < g->make.n_node; i++)
        states += nodes[i].kind == NODE_STRING ? STR_PLACES : nodes[i].kind == NODE_RANGE;
    free(g);
    free(nodes);
    return states;
}

int grammar_states(const struct grammar *g) { return g->n_states; }

struct grammar_state grammar_begin(const struct grammar *g)
{
    (void)g;
    return (struct grammar_state){STATE_START};
}

static void allow(uint32_t *mask, int32_t id) { mask[(uint32_t)id / 32] |= 1u << (uint32_t)id % 32; }

/* Every token of the trie whose bytes lead somewhere from a state. */
static void walk(struct grammar *g, const struct trie *t, uint16_t from, uint32_t *mask)
{
    g->stack[0] = from;
    for (uint32_t k = 0; k < t->node[0].first; k++) allow(mask, t->id[k]);
    for (uint32_t i = 0; i < t->n;) {
        const struct trie_node *node = &t->node[i];
        uint16_t to = g->go[g->stack[node->depth]][node->byte];
        if (to == STATE_DEAD) {
            i = node->next;
            continue;
        }
        g->stack[node->depth + 1] = to;
        for (uint32_t k = node->first; k < node[1].first; k++) allow(mask, t->id[k]);
        i++;
    }
}

/* What can follow is what can follow in a string that it may be, or in the rest. */
static void make_mask(struct grammar *g, uint16_t at, uint32_t *mask)
{
    const struct grammar_index *x = g->x;
    uint16_t rest = at;
    memset(mask, 0, x->mask_words * sizeof *mask);
    for (; g->exit[rest]; rest = g->rest[rest]) {
        const uint32_t *inside = x->inside[g->place[rest]];
        for (size_t i = 0; i < x->mask_words; i++) mask[i] |= inside[i];
        walk(g, &x->leave[g->place[rest]], g->exit[rest], mask);
    }
    if (rest != STATE_DEAD) walk(g, &x->all, rest, mask);
    for (int i = 0; g->complete[at] && i < g->n_after; i++) allow(mask, g->after[i]);
}

void grammar_mask(struct grammar *g, const struct grammar_state *s, uint32_t *mask)
{
    size_t words = g->x->mask_words;
    if (s->at == STATE_ENDED) {
        memset(mask, 0, words * sizeof *mask);
        return;
    }
    if (g->limits.masks == 0) {
        make_mask(g, (uint16_t)s->at, mask);
        return;
    }
    size_t slot = s->at % (uint32_t)g->limits.masks;
    uint32_t *kept = g->masks + slot * words;
    if (g->mask_of[slot] != s->at) make_mask(g, (uint16_t)s->at, kept);
    g->mask_of[slot] = (uint16_t)s->at;
    memcpy(mask, kept, words * sizeof *mask);
}

/* The node of head's last byte; t->n: no piece begins with it. */
static uint32_t find_head(const struct trie *t, const char *head, size_t n)
{
    uint32_t i = 0, end = t->n;
    for (size_t at = 0;; i++) {
        while (i < end && t->node[i].byte != (uint8_t)head[at]) i = t->node[i].next;
        if (i >= end) return t->n;
        if (++at == n) return i;
        end = t->node[i].next;
    }
}

int grammar_bar(struct grammar *g, const char *head, size_t n, uint32_t *mask)
{
    const struct trie *t = &g->x->all;
    uint32_t from = find_head(t, head, n), end = t->node[from].next;
    int barred = 0;
    g->stack[0] = STATE_START;
    for (uint32_t i = from + 1; i < end;) {
        const struct trie_node *node = &t->node[i];
        size_t depth = node->depth - n;
        uint16_t to = g->go[g->stack[depth]][node->byte];
        if (to != STATE_DEAD) {
            g->stack[depth + 1] = to;
            i++;
            continue;
        }
        for (uint32_t k = node->first; k < t->node[node->next].first; k++, barred++)
            mask[(uint32_t)t->id[k] / 32] &= ~(1u << (uint32_t)t->id[k] % 32);
        i = node->next;
    }
    return barred;
}

bool grammar_follow(const struct grammar *g, struct grammar_state *s, const char *bytes, size_t n)
{
    uint32_t at = s->at;
    if (at == STATE_ENDED) return false;
    for (size_t i = 0; i < n && at != STATE_DEAD; i++) at = g->go[at][(unsigned char)bytes[i]];
    if (at == STATE_DEAD) return false;
    s->at = at;
    return true;
}

bool grammar_accept(const struct grammar *g, struct grammar_state *s, int32_t token)
{
    const char *bytes = NULL;
    if (s->at == STATE_ENDED) return false;
    for (int i = 0; g->complete[s->at] && i < g->n_after; i++)
        if (g->after[i] == token) {
            s->at = STATE_ENDED;
            return true;
        }
    size_t n = grammar_piece(&g->x->words, token, &bytes);
    return n > 0 && grammar_follow(g, s, bytes, n);
}

bool grammar_is_complete(const struct grammar *g, const struct grammar_state *s)
{
    return s->at == STATE_ENDED || g->complete[s->at];
}

bool grammar_is_ended(const struct grammar *g, const struct grammar_state *s)
{
    (void)g;
    return s->at == STATE_ENDED;
}
