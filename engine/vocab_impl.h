/* vocab_impl.h - what the vocabulary's files share.  No one else includes it, but template.c for vocab_fail().
 *
 *     file -> [vocab.c] -> struct vocab          (spm.c and bpe.c read their kind's keys)
 *
 *     text -> [encode.c: special tokens are cut out] -> runs of plain text -> [spm.c]               -> ids
 *                                                                          -> [pretok.c] -> [bpe.c] ->
 *
 * Both kinds merge neighbours, best first, in a linked list of symbols with a heap of possible merges: n log n, no
 * recursion.  A heap entry is not removed when a merge elsewhere takes one of its symbols: it is found stale when it
 * comes up. */
#ifndef VOCAB_IMPL_H
#define VOCAB_IMPL_H
#include "engine/vocab.h"

enum {
    TOKEN_MAX = 16384,          /* bytes of one token's spelling; the longest known has 256 */
    SPECIAL_MAX = 1024,         /* bytes of a special token's spelling: bounds the search at each byte of a text */
    ENCODE_MAX = 256 << 20      /* bytes of one text; positions in it are 32 bits wide */
};

struct token {
    const char *spelling, *piece;
    uint32_t n_spelling, n_piece;
    float score;                /* SPM: higher merges first */
    uint8_t attr;               /* enum vocab_attr */
    bool end;                   /* ends a turn */
    bool guarded;               /* user-defined, but never parsed from plain text */
};

struct merge { int32_t left, right, made; }; /* its index is its rank: lower merges first */

struct vocab {
    enum vocab_kind kind;
    const struct pretok_family *family;         /* BPE */
    struct pretok *pretok;                      /* BPE */
    char pre[64];
    int n;
    struct token *token;
    char *pool;                                 /* spellings and pieces */
    size_t max_spelling, max_piece;
    int32_t bos, eos, unknown;
    bool adds_bos, space_prefix;
    int32_t byte_id[256];                       /* the token that is this one byte; -1: none */
    uint64_t seed;                              /* of both hash tables: a file cannot choose its collisions */
    int32_t *by_text;                           /* open addressing: ids, -1 is free */
    uint32_t by_text_mask;
    struct merge *merge;                        /* BPE; merge[rank] */
    uint32_t n_merges;
    int32_t *by_pair;                           /* open addressing: ranks, -1 is free */
    uint32_t by_pair_mask;
    int32_t *special;                           /* ids of the tokens that may be parsed, sorted by spelling */
    int n_special;
    bool special_start[2][256];                 /* [with VOCAB_SPECIAL][first byte]: quick no */
};

/* A merge that might be done: at symbol `key & 0xffffffff`, low keys first.  `made`: the token it would make. */
struct heap_entry { uint64_t key; int32_t made; };
struct heap { struct heap_entry *e; size_t n, cap; };

struct symbol {
    uint32_t start, n;          /* its bytes in the run; n = 0: merged into its left neighbour */
    int32_t prev, next;         /* -1: none */
    int32_t id;                 /* -1: no token */
};

struct span { size_t n; bool fixed; };          /* the next n bytes; fixed: not UTF-8, no pattern looks at it */
struct spans { struct span *s; size_t n, cap; };

/* Scratch memory of one vocab_encode(): starts as zeros, grows, is freed by work_free(). */
struct work {
    struct symbol *sym;
    size_t sym_cap;
    struct heap heap;
    struct spans words, cut;
    struct buf text;
    struct pretok_match *match;
};
void work_free(struct work *w);
int work_symbols(struct work *w, size_t n);     /* room for n symbols; -1: out of memory */

/* The heap; push is -1 when out of memory. */
int heap_push(struct heap *h, uint64_t key, int32_t made);
bool heap_pop(struct heap *h, struct heap_entry *out);

/* Whether plain text may become this token by merging or as a whole word. */
bool vocab_is_plain(const struct vocab *v, int32_t id);

/* For the hash tables: well-mixed bits, and how many slots hold n entries (a power of two, half or more stay free). */
uint64_t vocab_mix(uint64_t a, uint64_t b);
uint32_t vocab_slots(uint64_t n);

/* Bytes of a file, for an error line: in quotes, cut to what fits, what is not printable ASCII as \xNN. */
enum { QUOTE_ROOM = 96 };
const char *vocab_quote(char out[QUOTE_ROOM], const char *bytes, size_t n);
/* err becomes "FILE: what ...".  -1. */
int vocab_fail(const struct gguf *g, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* One run of plain text to ids.  0, or -1 with err set. */
int spm_encode(const struct vocab *v, struct work *w, const char *text, size_t n, bool prefix, struct ids *out,
               struct err *err);
int bpe_encode(const struct vocab *v, struct work *w, const char *text, size_t n, struct ids *out, struct err *err);

/* The kind's own keys and pieces, after tokens, types and the table of spellings stand.  0, or -1 with err set. */
int spm_open(struct vocab *v, const struct gguf *g, struct err *err);
int bpe_open(struct vocab *v, const struct gguf *g, struct err *err);
/* The piece of a plain token: at most n_spelling bytes to out; how many. */
size_t spm_piece(const struct token *t, char *out);
size_t bpe_piece(const struct token *t, char *out);

/* pretok.c: the cut into words that merges do not cross. */
struct pretok_family {
    const char *names;          /* separated by spaces; the first is the family's */
    bool ignore_merges;         /* a whole word that is a token is taken as it is */
    bool adds_bos;
    const char *step[4];        /* patterns; each cuts the words that the one before left */
};
const struct pretok_family *pretok_find(const char *name, size_t n); /* NULL: not known */
const char *pretok_known(void);                                      /* the families' names, for an error */
struct pretok *pretok_open(const struct pretok_family *f, struct err *err);
void pretok_close(struct pretok *p);
int pretok_cut(const struct pretok *p, struct work *w, const char *text, size_t n, struct err *err); /* to w->words */
void pretok_match_free(struct pretok_match *m);
#endif
