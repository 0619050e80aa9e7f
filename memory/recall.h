/* recall.h - what was said, summed up, kept or ingested, found again by its words: BM25 over chunks of text.
 *
 *     text ── recall_chunk() ──> chunk ── recall_add() ──> table ── recall_flush() ──> segment ── merges ──> segment
 *     question ── recall_search() ──> hits: which chunk, its score, each word's share ── recall_window() ──> quotation
 *
 * An inverted index in the cache part of the store, apart for each session: a search in one session reads nothing of
 * another's, not even its figures, and forgetting one is the removal of its keys.  The text is not in it; the caller
 * keeps that, and reads what is to be quoted where a hit says.  All of it can be made again: recall_stat() tells up to
 * which message it goes.  No vector store, because every hit can say by which words it was found.
 *
 * Names of its records in the cache (store.h: each begins with 'K'); numbers in them are big-endian:
 *
 *     'R' 's' SESSION                            figures, and the list of the segments that count
 *     'R' 'd' SESSION last:8                     up to 64 chunks: which text they are; last: the highest number
 *     'R' 'b' SESSION segment:4 term 0 block:4   postings, sorted by term and chunk; term: the block's last
 *     'R' 'x' SESSION n:8                        chunks n * 8192 and on that were removed: a bit each
 *
 * Chunks are numbered in a session as they come.  A segment is written once; four of a size (to the power of four) are
 * merged to one, those of 1 MiB stay: so a posting is written six or seven times at most, and a call merges 4 MiB at
 * most.  A block fills a page of LMDB.  Chunks that were removed are never found again; their postings leave at the merge (call
 * recall_merge() until it says 0).
 *
 * Score: the sum over the question's terms of idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * terms / mean)), where
 * idf = ln(1 + (N - n + 0.5) / (n + 0.5)), k1 = 1.2, b = 0.75; N chunks are searched, n of them have the term, the mean
 * is of their terms (S. Robertson, H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; with 1
 * added below the logarithm, so that no term counts against a chunk).  A term that is everywhere weighs next to
 * nothing: there is no list of stop words.  A term that is asked twice counts once.
 *
 * Damage: a record that is damaged, or missing where another tells of it, is named and skipped.  Changes refuse to go
 * on (STORE_DAMAGED) and a search says so beside its hits: forget the session and add its texts anew.  A search cannot
 * know of the loss of a session's figures or of a block that it would begin in; a merge knows of every block.  (While
 * another process writes to that session a search may see half of a merge: look again under the session's lock.)
 * store_wipe() begins the cache anew, and so may store_delete_session() where the disk is full: clear the table, and
 * add every session anew.
 *
 * Memory: recall_room() bytes, taken at open, for feeding and searching; beside it only what the store holds until a
 * commit: of a flush or a merge at most about 8 MiB.  Thread: the store's, one at a time.  Errors: the store's. */
#ifndef RECALL_H
#define RECALL_H
#include "memory/fold.h"
#include "memory/store.h"

enum recall_kind { RECALL_MESSAGE, RECALL_SUMMARY, RECALL_ARTIFACT, RECALL_DOCUMENT, RECALL_KINDS }; /* stored */

enum {
    RECALL_CHUNK = 1600,   /* bytes of a text that are added at a time, at most */
    RECALL_OVERLAP = 160,  /* that a chunk has in common with the one before, at most */
    RECALL_K = 32,         /* hits */
    RECALL_TERMS = 32,     /* that a search goes by: the rarest of the question's */
    RECALL_ASKED = 128,    /* that are looked at: the first ones */
    RECALL_SEGMENTS = 512  /* of a session, most of them of 1 to 4 MiB */
};

enum { RECALL_FULL = 1 }; /* not an error: flush, commit, clear, and add again */

struct recall;

size_t recall_room(void);
struct recall *recall_open(struct store *s, struct err *err); /* NULL: no memory.  The store is the caller's */
void recall_close(struct recall *r);                          /* what was not flushed is gone; NULL is fine */

/* What the index may take, in bytes as recall_sizes() has them.  It is only noted here: who feeds keeps it (remember.h).
 * As it is opened there is no limit. */
struct recall_quota {
    uint64_t all, session; /* of all sessions, of one */
};
void recall_set_quota(struct recall *r, struct recall_quota q);
struct recall_quota recall_get_quota(const struct recall *r);

/* ------------------------------------------------------------------ feeding */

/* Where to cut a text: the bytes of the chunk that begins here; *next: where the one behind it begins (they overlap), n
 * when this was the last.  n: what is left of the text; of more than RECALL_CHUNK bytes only the first RECALL_CHUNK are
 * looked at, so that a stream need not be in memory.  Cut behind a line or a blank where there is one in the last
 * third, else before a character.  n = 0 is an empty chunk. */
size_t recall_chunk(const void *text, size_t n, size_t *next);

struct recall_doc { /* a chunk, as the caller knows it */
    uint8_t session[STORE_SESSION_ID]; /* what belongs to none is given one of its own */
    enum recall_kind kind;
    uint64_t id;    /* of the message, the artifact, ...; all chunks of one text share it */
    uint32_t chunk; /* its number in the text */
    uint32_t len;   /* bytes, from */
    uint64_t at;    /* here on, in the text */
    uint64_t when;  /* of equal hits the later comes first: any number that grows */
};

/* Into the table; found after flush and commit.  The same chunk given twice is there twice.  0; RECALL_FULL: there is
 * no room, or chunks of another session are in the table; STORE_TOO_BIG: more than RECALL_CHUNK bytes. */
int recall_add(struct recall *r, const struct recall_doc *doc, const void *text, size_t n, struct err *err);

/* Changes: each puts into the transaction that the caller began on STORE_CACHE, and commits; one change of a session in
 * a transaction.  On an error abort: the index and the table are as before. */

/* The table, which is the session's or empty, becomes a segment, and a merge is made if one is due.  next: all messages
 * below it are in the index, then; recall_stat() gives it back.  After the commit recall_clear() empties the table. */
int recall_flush(struct recall *r, const uint8_t session[STORE_SESSION_ID], uint64_t next, struct err *err);
void recall_clear(struct recall *r);

/* One merge.  1: one was put, call again; 0: there is none to make, and nothing removed is left in the index. */
int recall_merge(struct recall *r, const uint8_t session[STORE_SESSION_ID], struct err *err);

/* Every chunk of this text is found no more.  RECALL_FULL: chunks of the session are in the table. */
int recall_remove(struct recall *r, const uint8_t session[STORE_SESSION_ID], enum recall_kind kind, uint64_t id,
                  struct err *err);
/* The same of all chunks that gone() says so of, in one pass; gone() may not call recall. */
int recall_remove_all(struct recall *r, const uint8_t session[STORE_SESSION_ID],
                      bool (*gone)(void *self, const struct recall_doc *doc), void *self, struct err *err);

/* Every record of the session is removed, damaged or not, and what the table holds of it. */
int recall_forget(struct recall *r, const uint8_t session[STORE_SESSION_ID], struct err *err);

struct recall_stat { /* zeros: nothing is known of the session */
    uint64_t docs, terms; /* chunks that can be found, and all their terms */
    uint64_t next;        /* messages below it are in */
    uint64_t bytes;       /* of postings */
    uint64_t room;        /* bytes of it all, as a quota counts them */
    unsigned segments, unclean; /* unclean: with postings of removed chunks */
};
int recall_stat(struct recall *r, const uint8_t session[STORE_SESSION_ID], struct recall_stat *out, struct err *err);

/* What each session's index takes: postings, and what is known of each chunk.  Damaged figures are passed over.  *list
 * is for free(), NULL when there is none; in the order of their ids. */
struct recall_size {
    uint8_t session[STORE_SESSION_ID];
    uint64_t bytes;
};
int recall_sizes(struct store *s, struct recall_size **list, size_t *n, struct err *err);

/* ------------------------------------------------------------------ searching */

struct recall_query {
    const void *text; /* n bytes, any */
    size_t n;
    const uint8_t *session; /* NULL: all of them */
    unsigned kinds;         /* 1 << kind of those wanted; 0: all.  N, n and the mean count every kind */
    int k;                  /* brought between 1 and RECALL_K */
};

struct recall_term {
    uint8_t bytes[FOLD_TERM_MAX];
    size_t n;
    uint64_t docs; /* that have it */
    double idf;
};

struct recall_hit {
    struct recall_doc doc;
    double score;               /* the sum of */
    double share[RECALL_TERMS]; /* what each of the result's terms gives; 0: the chunk does not have it */
    uint32_t tf[RECALL_TERMS];  /* how often it does */
};

struct recall_result {
    int n_hits, n_terms;
    struct recall_hit hit[RECALL_K];      /* by score; equal ones by when, session, kind, id (the higher) and chunk */
    struct recall_term term[RECALL_TERMS]; /* in the order of the question */
    unsigned unknown, left_out; /* terms that no chunk has; that were too many */
    uint64_t docs;              /* N */
    double mean;                /* terms of a chunk */
    uint64_t damaged;           /* records that were skipped; of the first: */
    struct err damage;
    bool has_session;           /* whether its key tells of which session it is, */
    uint8_t session[STORE_SESSION_ID]; /* to forget and add anew */
};

/* 0, also with damage (look at out->damaged); or an error of the whole store's. */
int recall_search(struct recall *r, const struct recall_query *q, struct recall_result *out, struct err *err);

/* Of a chunk's text (n bytes, at most RECALL_CHUNK) the run of at most `most` bytes that has the heaviest of the
 * result's terms, each counted once: cut before characters, and between words where that is near.  *len is 0 only if n
 * or most is (or a character is longer than most). */
void recall_window(struct recall *r, const struct recall_result *res, const void *text, size_t n, size_t most,
                   size_t *at, size_t *len);
#endif
