/* grammar_impl.h - what the grammar's files share.  No one else includes it. */
#ifndef GRAMMAR_IMPL_H
#define GRAMMAR_IMPL_H
#include "engine/grammar.h"

/* Where in a string a text may be, between its quotes.  After an escape or a character comes STR_BODY again. */
enum {
    STR_BODY,
    STR_ESC,                            /* after a backslash */
    STR_U,                              /* after \u; the next names count hex digits that must follow */
    STR_HEX3, STR_HEX2, STR_HEX1,
    STR_ZERO1, STR_ZERO2, STR_ZERO3,    /* after \u0, \u00, \u000: not all four may be zero */
    STR_D,                              /* after \ud: perhaps a surrogate */
    STR_HIGH2, STR_HIGH1,               /* in a high surrogate, which another must follow: */
    STR_LOW_BACK, STR_LOW_U, STR_LOW_D, STR_LOW_C,
    STR_TAIL1, STR_TAIL2, STR_TAIL3,    /* bytes of a UTF-8 character to come */
    STR_E0, STR_ED, STR_F0, STR_F4,     /* after that byte, which limits the next */
    STR_PLACES,
    STR_EXIT = 254, STR_DEAD = 255      /* what a step may lead to beside the places */
};

/* Pieces in order, each byte of them once; nodes in the order of a walk, children right behind their parent. */
struct trie_node {
    uint32_t next;  /* the node after all its children */
    uint32_t first; /* the tokens that end here are id[first] up to the next node's first */
    uint16_t depth;
    uint8_t byte;
};
struct trie {
    struct trie_node *node; /* (n + 1), the last being a sentinel */
    uint32_t n;
    int32_t *id;            /* before node[0].first: those of no bytes */
};

struct grammar_index {
    struct grammar_words words;
    size_t mask_words;
    struct trie all;
    uint8_t step[STR_PLACES][256];
    uint32_t *inside[STR_PLACES];   /* tokens that stay in the string, from each place in it */
    struct trie leave[STR_PLACES];  /* of those that leave it, what they have behind the quote */
};

enum node_kind {
    NODE_RANGE,  /* a byte lo..hi, then next */
    NODE_STRING, /* a string's bytes and its closing quote, then next */
    NODE_SPLIT,  /* next or alt */
    NODE_JUMP,   /* next */
    NODE_ONE,    /* next; where the alternatives of a oneOf meet: no two may at once.  alt: which oneOf */
    NODE_END
};
struct node {
    int32_t next, alt;
    uint8_t kind, lo, hi;
};

enum { STATE_DEAD = 0, STATE_START = 1, MAX_ONE = 64, PLACE_MAX = 128 };

/* Memory of a compile: what the automaton is made from. */
struct grammar_make {
    struct node *node; /* (limits.nodes) */
    int n_node, root;
    uint32_t *stamp;   /* (nodes) the closure in which it was met last */
    uint32_t *todo, *set, *raw, *last_raw; /* (nodes) each */
    uint32_t *pool;    /* (n_pool) elements of all states' sets */
    uint32_t *set_at;  /* (states + 1) */
    uint16_t *hash;    /* (hash_mask + 1) states by their sets */
    uint32_t hash_mask, n_pool, stamp_now;
    uint64_t work;
    char one_place[MAX_ONE][PLACE_MAX];
    const void *one[MAX_ONE];
    int n_one;
};

struct grammar {
    const struct grammar_index *x;
    struct grammar_limits limits;
    int n_states;
    uint16_t (*go)[256];   /* (states) where a byte leads */
    uint16_t *exit;        /* (states) perhaps inside a string: the state behind its quote; else 0 */
    uint8_t *place;        /* (states) and where in it */
    uint16_t *rest;        /* (states) the state of all that it may be beside that; 0: nothing */
    uint8_t *complete;     /* (states) */
    uint16_t stack[GRAMMAR_PIECE_MAX + 1];
    int32_t after[GRAMMAR_AFTER];
    int n_after;
    uint32_t *masks;       /* (limits.masks, mask_words) */
    uint16_t *mask_of;     /* (limits.masks) whose it is; 0: nobody's */
    struct grammar_make make;
};

size_t grammar_piece(const struct grammar_words *w, int32_t id, const char **bytes); /* 0: never allowed */
size_t grammar_word_of(const void *vocab, int32_t id, const char **bytes);           /* of grammar_words() */

/* Schema to nodes; nodes to states.  0, or enum grammar_error and err. */
int grammar_read(struct grammar *g, const struct grammar_source *source, struct err *err);
int grammar_determine(struct grammar *g, struct err *err);

/* Parts of the second.  An element of a state's set is a node, and, of a string, where in it: node << PLACE_BITS |
 * place.  closure: what can be reached from the n elements of raw without a byte, in order, in m->set; how many, or -1.
 * intern: the state of the n in m->set, perhaps a new one; or enum grammar_error.  step: where the elements of a state
 * go with a byte, nothing followed yet; how many. */
enum { PLACE_BITS = 5, GRAMMAR_WORK = 1 << 27 /* elements and bytes looked at, at most */ };
int grammar_closure(struct grammar_make *m, const uint32_t *raw, int n, struct err *err);
int grammar_intern(struct grammar *g, int n, struct err *err);
int grammar_step(const struct grammar *g, const uint32_t *set, int n, int b, uint32_t *raw);

/* A grammar without a vocabulary, of the heap; NULL: there is no memory.  free() is due. */
struct grammar *grammar_bare(const struct grammar_limits *limits);

/* Pieces of memory from a caller's block, each 16-byte aligned; with base NULL it only counts. */
struct grammar_room {
    unsigned char *base;
    uint64_t used;
    bool overflow;
};
static inline void *grammar_take(struct grammar_room *r, uint64_t n, uint64_t size)
{
    uint64_t bytes, at = r->used;
    if (size_mul(n, size, &bytes) || bytes > SIZE_MAX / 4 || at > SIZE_MAX / 4) {
        r->overflow = true;
        return NULL;
    }
    r->used = size_align(at + bytes, 16);
    return r->base ? r->base + at : NULL;
}
#endif
