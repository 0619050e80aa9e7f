/* vocab_impl.h - what the vocabulary's files share.  No one else includes it, but template_impl.h for runs of text.
 *
 *     file -> [vocab.c] -> struct vocab          (spm.c and bpe.c read their kind's keys)
 *
 *     text -> [encode.c: special tokens are cut out] -> runs of plain text -> [spm.c]               -> ids
 *                                                                          -> [pretok.c] -> [bpe.c] ->
 *             (count.c goes the same way through texts of any length, for the number of ids alone)
 *
 * Both kinds merge neighbours, best first, until none is left.  A symbol is known by the position of its first byte, so
 * that its neighbours need no links: its length stands at its first and at its last position.
 *
 *     text     l o w e r            key[0]   how early the symbol that begins here merges with its right neighbour
 *     len      2 2 1 2 2            key[1]   the lowest of 16 of key[0]
 *     symbol   lo  w er             key[2]   the lowest of 16 of key[1], ...
 *
 * The next merge is found from the top down and a change of a key goes from the bottom up: n log n in all, with no
 * recursion, in memory that depends on the text's length alone. */
#ifndef VOCAB_IMPL_H
#define VOCAB_IMPL_H
#include "engine/vocab.h"

enum {
    TOKEN_MAX = 16384,          /* bytes of one token's spelling; the longest known has 256 */
    SPECIAL_MAX = 1024          /* bytes of a special token's spelling: bounds the search at each byte of a text */
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
    size_t n_pool;                              /* its bytes */
    size_t max_spelling, max_piece;
    int32_t bos, eos, unknown;
    bool adds_bos, adds_eos, space_prefix;
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

enum {
    KEY_FAN = 16,
    KEY_LEVELS = 8,             /* KEY_FAN to the power of it is more than VOCAB_TEXT_MAX */
};
#define KEY_NONE UINT32_MAX

/* The symbols of one word (BPE) or of one run (SPM).  What stands at positions inside a symbol is not read, but for
 * key[0], which is KEY_NONE there. */
struct symbols {
    uint16_t *len;              /* in positions */
    int32_t *id;                /* BPE: the token at a symbol's first position; -1: none */
    uint32_t *key[KEY_LEVELS];  /* low keys merge first, of equal ones the leftmost; rows are padded to KEY_FAN */
    size_t n;                   /* positions */
    int levels;
};

struct vocab_scratch {
    const struct vocab *v;
    size_t text_bytes;          /* the longest text that it was made for */
    struct symbols sym;         /* room for text_bytes + 1 positions */
    struct pretok_match *match; /* BPE */
    char *spelled;              /* one token's spelling as it would be: vocab_spelled_room() bytes */
    char *run;                  /* (text_bytes): for template.c; encoding does not touch it */
    const char *text;           /* SPM: the run that is being encoded, and whether a space is put before it */
    bool prefix;
};
size_t vocab_spelled_room(const struct vocab *v);

/* All symbols start apart: the caller says how many positions there are, sets len (and id) of each symbol, and merges.
 * key() is of the symbol that begins at `at` with its right neighbour, which exists. */
typedef uint32_t symbol_key(const struct vocab *v, struct vocab_scratch *s, size_t at);
void symbols_begin(struct symbols *y, size_t n);
void symbols_merge(const struct vocab *v, struct vocab_scratch *s, symbol_key *key);

/* Where ids go, and who wants to know at which byte of the text each of them begins (told in order; NULL: nobody). */
struct sink {
    struct ids *ids;            /* NULL: they are only counted */
    uint64_t n;                 /* how many went in */
    void (*began)(void *self, size_t at);
    void *self;
    size_t base;                /* where the run that is being encoded begins in the text */
};
void sink_put(struct sink *out, int32_t id, size_t at); /* at: in the run */
static inline bool sink_full(const struct sink *out) { return out->ids && out->ids->failed; }

/* vocab_encode() to a sink. */
int vocab_encode_to(const struct vocab *v, struct vocab_scratch *scratch, const char *text, size_t n, unsigned flags,
                    struct sink *out, struct err *err);
/* A scratch in a block of the heap's; free() it.  text_bytes <= VOCAB_TEXT_MAX.  NULL: VOCAB_NO_MEMORY with err set. */
struct vocab_scratch *vocab_scratch_new(const struct vocab *v, size_t text_bytes, struct err *err);
/* The error of a list that took no more. */
int vocab_no_room(const struct ids *out, struct err *err);

/* How many tokens runs of text have that may be longer than the scratch (count.c): as many as vocab_encode() without
 * flags would make of each run at once, or more.
 *
 *     counter_begin(&c, v, s);
 *     counter_feed(&c, "user\n", 5, err);          a run in parts; each stays where it is until the run has ended
 *     counter_feed(&c, text, n, err);
 *     counter_end_run(&c, err);
 *     c.out.n, c.exact
 *
 * Nothing is allocated; s->run is used; s was made for one byte at least.  0, or VOCAB_PATTERN_LIMIT with err set. */
struct counter {
    const struct vocab *v;
    struct vocab_scratch *s;
    struct sink out;            /* only counts; exact but for lost runs */
    bool exact;
    uint32_t longest;           /* bytes of a special token that plain text may have */
    size_t n_kept;              /* bytes at s->run that are not counted yet, and ... */
    const char *text;           /* ... behind these what was fed last, where it lies: n_text bytes */
    size_t n_text;
    uint64_t before, bytes;     /* tokens before this run; bytes that were fed of it */
    bool lost;                  /* it cannot be counted */
    bool begun;                 /* what follows continues what was merged before, and ... */
    uint16_t expected;          /* ... begins with a token of so many positions */
};
void counter_begin(struct counter *c, const struct vocab *v, struct vocab_scratch *s);
int counter_feed(struct counter *c, const char *text, size_t n, struct err *err);
int counter_end_run(struct counter *c, struct err *err);

/* Whether plain text may become this token by merging or as a whole word. */
bool vocab_is_plain(const struct vocab *v, int32_t id);

/* vocab_find() of n <= FIND_MANY spellings, whose waits for memory overlap: a file has hundreds of thousands. */
enum { FIND_MANY = 48 };
struct spelled {
    const char *text;
    size_t n;
    uint32_t hash; /* set here, as is ... */
    int32_t id;    /* ... -1: none */
};
void vocab_find_many(const struct vocab *v, struct spelled *s, int n);

/* For the hash tables: well-mixed bits, and how many slots hold n entries (a power of two, half or more stay free). */
uint64_t vocab_mix(uint64_t a, uint64_t b);
uint32_t vocab_slots(uint64_t n);

/* Bytes of a file, for an error line: in quotes, cut to what fits, what is not printable ASCII as \xNN. */
enum { QUOTE_ROOM = 96 };
const char *vocab_quote(char out[QUOTE_ROOM], const char *bytes, size_t n);
/* err becomes "FILE: what ...".  -1. */
int vocab_fail(const struct gguf *g, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The longest special token that text begins with, of those that flags allow (VOCAB_SPECIAL); -1: none. */
int32_t vocab_special_at(const struct vocab *v, const char *text, size_t n, unsigned flags);

/* One run of plain text, not empty, to ids.  0, or an error with err set; whether out took all is for the caller. */
void spm_encode(const struct vocab *v, struct vocab_scratch *s, const char *text, size_t n, bool prefix,
                struct sink *out);
int bpe_encode(const struct vocab *v, struct vocab_scratch *s, const char *text, size_t n, struct sink *out,
               struct err *err);
/* The two halves of both: the symbols of a run (SPM) or word (BPE) in s, merged; the ids of those that begin at
 * positions from .. to - 1.  The text is still there then. */
void spm_merge(const struct vocab *v, struct vocab_scratch *s, const char *text, size_t n, bool prefix);
void spm_put(const struct vocab *v, struct vocab_scratch *s, size_t from, size_t to, struct sink *out);
void bpe_merge(const struct vocab *v, struct vocab_scratch *s, const char *word, size_t n);
void bpe_put(const struct vocab *v, const struct vocab_scratch *s, size_t from, size_t to, size_t base,
             struct sink *out);
/* BPE: the token that a whole word is without being merged; -1: none. */
int32_t bpe_whole(const struct vocab *v, struct vocab_scratch *s, const char *word, size_t n);

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
size_t pretok_bytes(const struct pretok *p); /* host memory; NULL: 0 */

/* What matching needs, in memory of the caller's that is aligned for anything; NULL: PCRE2 found no place in it. */
size_t pretok_match_bytes(void);
struct pretok_match *pretok_match_open(void *mem);
/* Each word in turn goes to word(), which ends the cutting with what it returns, unless that is 0.  more: text will go
 * on; the cut ends before the first word that this may change.  *done (NULL: not wanted): bytes in the words that went
 * to word().  0, that, or VOCAB_PATTERN_LIMIT with err set. */
typedef int pretok_word(void *self, const char *word, size_t n);
int pretok_cut(const struct pretok *p, struct pretok_match *m, const char *text, size_t n, bool more, pretok_word *word,
               void *self, size_t *done, struct err *err);
#endif
