/* recall_impl.h - what the files of recall know of each other. */
#ifndef RECALL_IMPL_H
#define RECALL_IMPL_H
#include "memory/recall.h"

enum {
    BLOCK = 4064,            /* bytes of a block or a pack: with its header a page of LMDB's */
    PACK = 64,               /* chunks in a pack */
    DOC_BYTES = 48,          /* of one in it */
    DEAD = 8192,             /* chunks in a record of removed ones */
    FAN = 4,                 /* segments that are merged */
    TIER_BYTES = 1 << 10,    /* a segment of fewer is in tier 0; each next one is four times as large */
    TIERS = 6,               /* from TIER_BYTES << 2 * (TIERS - 1) on segments stay */
    CHUNK_TERMS = RECALL_CHUNK * FOLD_TERMS,
    CHUNK_GROWTH = RECALL_CHUNK * FOLD_GROWTH
};

/* ---- recall_codec.c: what is in the records. */

struct segment {
    uint32_t number, blocks;
    uint64_t bytes, first, last; /* of its blocks' bodies; chunks */
    bool unclean;                /* it may have postings of removed chunks */
};

struct index { /* 'R' 's' */
    uint8_t session[STORE_SESSION_ID];
    uint64_t next_doc, docs, terms, next;
    uint32_t next_segment, n;
    struct segment segment[RECALL_SEGMENTS];
};
enum { INDEX_HEAD = 40, SEGMENT_BYTES = 33, INDEX_BYTES = INDEX_HEAD + RECALL_SEGMENTS * SEGMENT_BYTES };

struct doc { uint64_t number; uint32_t terms; struct recall_doc doc; };
struct pack { size_t n; struct doc doc[PACK]; };

struct posting { uint64_t doc; uint32_t tf, terms; enum recall_kind kind; }; /* terms: of the whole chunk */

/* 's', 'd' or 'x' and so on, with the session behind; then numbers may be added. */
struct store_key recall_key(char letter, const uint8_t session[STORE_SESSION_ID]);
void recall_key_add(struct store_key *key, uint64_t number, int bytes);
struct store_key recall_block_key(const uint8_t session[STORE_SESSION_ID], uint32_t segment, const uint8_t *term,
                                  size_t n, uint32_t block);
bool recall_key_session(const struct store_key *key, uint8_t session[STORE_SESSION_ID]); /* false: not ours */

/* 0, or STORE_DAMAGED: the bytes are none of ours, whatever their checksum says. */
int recall_index_decode(const uint8_t *bytes, size_t n, const struct store_key *key, struct index *out,
                        struct err *err);
int recall_index_put(struct store *s, const struct index *ix, uint8_t bytes[INDEX_BYTES], struct err *err);
int recall_pack_decode(const uint8_t *bytes, size_t n, const struct store_key *key, struct pack *out, struct err *err);
int recall_pack_put(struct store *s, const uint8_t session[STORE_SESSION_ID], const struct pack *p, struct err *err);

struct writer { /* of one segment: terms in order, of each its chunks in order */
    struct store *store;
    const uint8_t *session;
    struct segment segment;
    uint8_t term[FOLD_TERM_MAX]; /* that is being written */
    size_t term_len;
    uint8_t body[BLOCK];
    size_t n;
    size_t entry; /* where the count of the open entry is; 0: none is open */
    unsigned count;
    uint64_t before; /* the chunk before in the entry */
};
void recall_writer_open(struct writer *w, struct store *s, struct index *ix);
int recall_write_term(struct writer *w, const uint8_t *term, size_t n, struct err *err);
int recall_write(struct writer *w, const struct posting *p, struct err *err);
int recall_writer_close(struct writer *w, struct err *err);

struct reader { /* of one segment */
    struct store *store;
    struct segment segment;
    struct store_place place;
    uint8_t body[BLOCK];
    size_t n, at, end;  /* of the block; where reading stands; where the entry ends */
    uint32_t block;     /* the number of the next one, */
    bool known;         /* if it is known */
    uint8_t term[FOLD_TERM_MAX];
    size_t term_len;
    unsigned left;      /* of the entry */
    uint64_t floor;     /* the next posting's chunk is not below */
    struct posting now;
};
/* All postings in order: the first, or the next one, into rd->term and rd->now.  1, 0: there is none, or an error. */
int recall_read_first(struct reader *rd, struct store *s, const uint8_t *session, const struct segment *g,
                      struct err *err);
int recall_read_on(struct reader *rd, struct err *err);
/* One term's: before the first, then the next one into rd->now.  1, 0: there is none, or an error. */
int recall_seek(struct reader *rd, struct store *s, const uint8_t *session, const struct segment *g,
                const uint8_t *term, size_t n, struct err *err);
int recall_read(struct reader *rd, struct err *err);

/* ---- recall.c */

struct table_term { uint32_t at, first, last, hash; uint8_t n; }; /* bytes; postings */
struct table_posting { uint32_t next; uint16_t doc, tf; };
enum { TABLE_TERMS = 1 << 15, TABLE_POSTINGS = 1 << 16, TABLE_BYTES = 1 << 19, TABLE_DOCS = 512 };

struct table { /* chunks that wait for a flush, all of one session */
    uint64_t seed[2];
    uint32_t n_docs, n_terms, n_postings, n_bytes;
    struct doc doc[TABLE_DOCS];
    struct table_term term[TABLE_TERMS];
    struct table_posting posting[TABLE_POSTINGS];
    uint32_t slot[2 * TABLE_TERMS]; /* hash to term + 1 */
    uint32_t order[TABLE_TERMS];
    uint8_t bytes[TABLE_BYTES];
};

struct dead { /* the record of removed chunks that this call last looked at */
    uint64_t n; /* + 1; 0: none */
    uint8_t session[STORE_SESSION_ID], bit[DEAD / 8];
};

struct asked { uint8_t bytes[FOLD_TERM_MAX]; size_t n; uint64_t docs; int at; /* among the result's; -1: not */ };

struct question { /* its terms, each once */
    struct asked asked[RECALL_ASKED];
    int n;
};

struct places { /* of terms in a chunk, by their ends */
    struct place { size_t at, end; int term; } at[CHUNK_TERMS];
    size_t n;
};

struct recall {
    struct store *store;
    struct recall_quota quota;
    struct table table;
    struct index ix;
    uint8_t bytes[INDEX_BYTES]; /* a record read or to be written: figures, the largest, or a pack */
    struct pack pack; /* that this call last looked at; n is 0: none */
    struct dead dead;
    struct writer writer;
    struct reader reader[RECALL_TERMS]; /* for a merge the first FAN */
    struct question question;
    struct places places;
};

/* The session's figures into r->ix: zeros if there are none. */
int recall_load(struct recall *r, const uint8_t session[STORE_SESSION_ID], struct err *err);
/* Whether the chunk was removed, into *dead. */
int recall_is_dead(struct recall *r, const uint8_t session[STORE_SESSION_ID], uint64_t doc, bool *dead,
                   struct err *err);
/* Removes every record with these first bytes. */
int recall_sweep(struct recall *r, const struct store_key *front, struct err *err);

/* ---- recall_score.c: what each search does, over an index or over texts. */

bool recall_ask(struct question *q, const struct fold_term *t); /* false: it is one too many */
/* When asked.docs and out->docs are known, and all chunks' terms: the terms that are searched for, the rarest that
 * there are; of equally rare ones the first. */
void recall_choose(struct question *q, uint64_t terms, struct recall_result *out);
/* A chunk of so many terms has the result's term i so often. */
void recall_weigh(const struct recall_result *out, int i, uint32_t tf, uint32_t terms, struct recall_hit *hit);
/* Among the best k, if it is one of them. */
void recall_offer(struct recall_result *out, int k, const struct recall_hit *hit);

/* ---- recall_text.c */

void recall_find_window(struct places *p, const struct recall_result *res, const void *text, size_t n, size_t most,
                        size_t *at, size_t *len); /* as recall_window() */

/* ---- recall_merge.c: one merge of r->ix, which then is as it will be.  1, 0: none is due, or an error. */
int recall_merge_step(struct recall *r, struct err *err);
#endif
