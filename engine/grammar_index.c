/* grammar_index.c - a vocabulary's pieces as a trie, and for each place in a string which of them stay in it.
 *
 * In a string nearly every piece can follow, so a walk over the trie would take milliseconds.  But which of them end in
 * the string does not depend on the schema: that is a mask, made here once.  Those that leave it are few, and only what
 * they have behind the quote matters: that is a trie of its own. */
#include "engine/grammar_impl.h"

struct item {
    const char *bytes;
    uint32_t len;
    int32_t id;
};

size_t grammar_word_of(const void *self, int32_t id, const char **bytes)
{
    enum vocab_attr attr = vocab_attr(self, id);
    if ((attr != VOCAB_NORMAL && attr != VOCAB_BYTE) || vocab_is_end(self, id)) return 0;
    return vocab_piece(self, id, bytes);
}

struct grammar_words grammar_words(const struct vocab *v)
{
    return (struct grammar_words){v, vocab_size(v), grammar_word_of};
}

size_t grammar_piece(const struct grammar_words *w, int32_t id, const char **bytes)
{
    size_t n = id >= 0 && id < w->n ? w->piece(w->self, id, bytes) : 0;
    return n <= GRAMMAR_PIECE_MAX ? n : 0;
}

static bool is_hex(int b) { return (b >= '0' && b <= '9') || (b >= 'a' && b <= 'f') || (b >= 'A' && b <= 'F'); }
static bool is_tail(int b, int lo, int hi) { return b >= lo && b <= hi; }

static uint8_t body_step(int b)
{
    if (b == '"') return STR_EXIT;
    if (b == '\\') return STR_ESC;
    if (b < 0x80) return b < 0x20 ? STR_DEAD : STR_BODY;
    if (b < 0xc2 || b > 0xf4) return STR_DEAD;
    if (b < 0xe0) return STR_TAIL1;
    if (b < 0xf0) return b == 0xe0 ? STR_E0 : b == 0xed ? STR_ED : STR_TAIL2;
    return b == 0xf0 ? STR_F0 : b == 0xf4 ? STR_F4 : STR_TAIL3;
}

static uint8_t string_step(int place, int b)
{
    int low = b | 0x20; /* a letter in lower case */
    if (place > STR_ESC && place <= STR_HIGH1 && !is_hex(b)) return STR_DEAD;
    switch (place) {
    case STR_BODY: return body_step(b);
    case STR_ESC: return b == 'u' ? STR_U : b && strchr("\"\\/bfnrt", b) ? STR_BODY : STR_DEAD;
    case STR_U: return b == '0' ? STR_ZERO1 : low == 'd' ? STR_D : STR_HEX3;
    case STR_HEX3: return STR_HEX2;
    case STR_HEX2: return STR_HEX1;
    case STR_HEX1: return STR_BODY;
    case STR_ZERO1: return b == '0' ? STR_ZERO2 : STR_HEX2;
    case STR_ZERO2: return b == '0' ? STR_ZERO3 : STR_HEX1;
    case STR_ZERO3: return b == '0' ? STR_DEAD : STR_BODY;
    case STR_D: return b <= '7' ? STR_HEX2 : b <= '9' || low <= 'b' ? STR_HIGH2 : STR_DEAD;
    case STR_HIGH2: return STR_HIGH1;
    case STR_HIGH1: return STR_LOW_BACK;
    case STR_LOW_BACK: return b == '\\' ? STR_LOW_U : STR_DEAD;
    case STR_LOW_U: return b == 'u' ? STR_LOW_D : STR_DEAD;
    case STR_LOW_D: return low == 'd' ? STR_LOW_C : STR_DEAD;
    case STR_LOW_C: return low >= 'c' && low <= 'f' ? STR_HEX2 : STR_DEAD;
    case STR_TAIL1: return is_tail(b, 0x80, 0xbf) ? STR_BODY : STR_DEAD;
    case STR_TAIL2: return is_tail(b, 0x80, 0xbf) ? STR_TAIL1 : STR_DEAD;
    case STR_TAIL3: return is_tail(b, 0x80, 0xbf) ? STR_TAIL2 : STR_DEAD;
    case STR_E0: return is_tail(b, 0xa0, 0xbf) ? STR_TAIL1 : STR_DEAD;
    case STR_ED: return is_tail(b, 0x80, 0x9f) ? STR_TAIL1 : STR_DEAD;
    case STR_F0: return is_tail(b, 0x90, 0xbf) ? STR_TAIL2 : STR_DEAD;
    default: return is_tail(b, 0x80, 0x8f) ? STR_TAIL2 : STR_DEAD; /* STR_F4 */
    }
}

/* Where a piece leads from a place; with STR_EXIT, *used says how many of its bytes the string takes. */
static uint8_t string_walk(const uint8_t step[STR_PLACES][256], uint8_t place, const struct item *p, uint32_t *used)
{
    uint32_t i = 0;
    while (i < p->len && place < STR_PLACES) place = step[place][(unsigned char)p->bytes[i++]];
    *used = i;
    return place;
}

static int by_bytes(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int c = memcmp(x->bytes, y->bytes, MIN(x->len, y->len));
    if (c) return c;
    if (x->len != y->len) return x->len < y->len ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* How many pieces leave or are there, and how many bytes they have. */
struct sums {
    uint64_t n, bytes;
};

static void place_trie(struct grammar_room *room, struct trie *t, const struct sums *s)
{
    t->node = grammar_take(room, s->bytes + 1, sizeof *t->node);
    t->id = grammar_take(room, s->n, sizeof *t->id);
}

static void trie_build(struct trie *t, struct item *item, int n)
{
    uint32_t path[GRAMMAR_PIECE_MAX], depth = 0;
    if (n > 1) qsort(item, (size_t)n, sizeof *item, by_bytes);
    for (int k = 0; k < n; k++) {
        uint32_t same = 0, most = MIN(depth, item[k].len);
        while (same < most && t->node[path[same]].byte == (uint8_t)item[k].bytes[same]) same++;
        while (depth > same) t->node[path[--depth]].next = t->n;
        for (; depth < item[k].len; depth++) {
            path[depth] = t->n;
            t->node[t->n++] = (struct trie_node){.first = (uint32_t)k, .depth = (uint16_t)depth,
                                                 .byte = (uint8_t)item[k].bytes[depth]};
        }
        t->id[k] = item[k].id;
    }
    while (depth > 0) t->node[path[--depth]].next = t->n;
    t->node[t->n] = (struct trie_node){.next = t->n, .first = (uint32_t)n};
}

/* With all pieces counted, the memory of everything; x NULL: only how much that is. */
static size_t place_all(const struct grammar_words *w, const struct sums *all, const struct sums *leave, void *base,
                        struct grammar_index *x)
{
    struct grammar_room room = {.base = base};
    struct grammar_index none;
    size_t words = ((size_t)w->n + 31) / 32;
    struct grammar_index *to = x ? x : &none;
    grammar_take(&room, 1, sizeof *x);
    place_trie(&room, &to->all, all);
    for (int p = 0; p < STR_PLACES; p++) {
        to->inside[p] = grammar_take(&room, words, sizeof(uint32_t));
        place_trie(&room, &to->leave[p], &leave[p]);
    }
    return room.overflow || all->bytes >= UINT32_MAX ? SIZE_MAX : room.used;
}

static void count(const struct grammar_words *w, uint8_t step[STR_PLACES][256], struct sums *all, struct sums *leave)
{
    for (int p = 0; p < STR_PLACES; p++)
        for (int b = 0; b < 256; b++) step[p][b] = string_step(p, b);
    for (int32_t id = 0; id < w->n; id++) {
        struct item it = {.id = id};
        it.len = (uint32_t)grammar_piece(w, id, &it.bytes);
        if (it.len == 0) continue;
        all->n++;
        all->bytes += it.len;
        if (!memchr(it.bytes, '"', it.len)) continue;
        for (uint8_t p = 0; p < STR_PLACES; p++) {
            uint32_t used;
            if (string_walk(step, p, &it, &used) != STR_EXIT) continue;
            leave[p].n++;
            leave[p].bytes += it.len - used;
        }
    }
}

size_t grammar_index_bytes(const struct grammar_words *w)
{
    uint8_t step[STR_PLACES][256];
    struct sums all = {0}, leave[STR_PLACES] = {0};
    count(w, step, &all, leave);
    size_t n = place_all(w, &all, leave, NULL, NULL);
    return n > SIZE_MAX - 15 ? SIZE_MAX : n + 15;
}

/* All pieces into the trie, then for each place those that stay and those that leave. */
static void fill(struct grammar_index *x, struct item *item, struct item *leaving, int n)
{
    trie_build(&x->all, item, n);
    for (uint8_t p = 0; p < STR_PLACES; p++) {
        int n_leaving = 0;
        for (int i = 0; i < n; i++) {
            uint32_t used, id = (uint32_t)item[i].id;
            uint8_t to = string_walk(x->step, p, &item[i], &used);
            if (to < STR_PLACES) x->inside[p][id / 32] |= 1u << id % 32;
            if (to == STR_EXIT)
                leaving[n_leaving++] = (struct item){item[i].bytes + used, item[i].len - used, item[i].id};
        }
        trie_build(&x->leave[p], leaving, n_leaving);
    }
}

struct grammar_index *grammar_index_open(const struct grammar_words *w, void *mem, size_t bytes, struct err *err)
{
    struct grammar_index *x = (void *)size_align((uintptr_t)mem, 16);
    struct sums all = {0}, leave[STR_PLACES] = {0};
    uint8_t step[STR_PLACES][256];
    count(w, step, &all, leave);
    size_t need = place_all(w, &all, leave, NULL, NULL);
    struct item *item = need < SIZE_MAX - 15 && bytes >= need + 15 ? malloc((2 * all.n + 1) * sizeof *item) : NULL;
    if (!item) {
        err_set(err, GRAMMAR_NO_MEMORY, "no memory for an index of %d tokens (%zu bytes)", w->n, need);
        return NULL;
    }
    memset(x, 0, need);
    place_all(w, &all, leave, x, x);
    x->words = *w;
    x->mask_words = ((size_t)w->n + 31) / 32;
    memcpy(x->step, step, sizeof step);
    int n = 0;
    for (int32_t id = 0; id < w->n; id++) {
        item[n].id = id;
        item[n].len = (uint32_t)grammar_piece(w, id, &item[n].bytes);
        if (item[n].len) n++;
    }
    fill(x, item, item + all.n, n);
    free(item);
    return x;
}
