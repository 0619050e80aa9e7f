/* remember.h - what of a session goes into the recall index, and quotations in answer to a question.
 *
 *     journal: USER, ANSWER, RESULT*, SUMMARY, PIN, NOTE ─> chunks of the message          (named m12)
 *              (* but not those that are quotations themselves)
 *              RESULT's artifact, its first 256 KiB     ──> chunks of the artifact         (a3)
 *              DOCUMENT, its artifact, up to 64 MiB     ──> chunks of the document         (a4, with its path)
 *              MARK undone                              ──> those messages are found no more, unless the mark was
 *                                                           itself taken back: where that comes later than the mark
 *                                                           was read, all of the session is fed again
 *
 * The index is the cache's: it may be gone, and is then made again from the journal, from the first message on.
 *
 * Its quotas are those of recall_set_quota().  Of one session's: when it is passed, no artifact and no document is begun
 * any more, and only what is said goes in.  Of all sessions': when it is passed, the index of those that were used the
 * longest time ago and that nobody has open is removed, until an eighth is free; where that is not enough, nothing goes
 * in.  It is passed by one text at most, or 256 KiB of a file.  What is left out is told, in struct remember_at.
 *
 * Thread: the store's.  Nothing may be pending in the store.  Errors: the store's. */
#ifndef REMEMBER_H
#define REMEMBER_H
#include "memory/journal.h"
#include "memory/recall.h"

enum { REMEMBER_ARTIFACT = 256 << 10, REMEMBER_DOCUMENT = 64 << 20, REMEMBER_QUOTE = 400 };

/* Brings the index up to what the journal has.  Damaged records are passed over; of a damaged index the session's part
 * is made anew, once. */
int remember_session(struct recall *r, struct store *s, const uint8_t session[STORE_SESSION_ID], struct err *err);

/* The same in slices, so that others have the store between them. */
struct remember_at {   /* where it is; zeros: at the beginning of what is not in the index yet */
    uint64_t number;   /* the message whose artifact or document is in as far as */
    uint64_t bytes, of; /* of it; of 0: none is */
    uint32_t chunk;
    uint64_t known;    /* what marks below this number take back was known to all that went in from then on */
    uint64_t skip;     /* the caller's: no more of this message's goes in */
    char path[80];     /* of a document, its end; else empty */
    bool more;         /* not all is in yet */
    bool full;         /* of all sessions' index: not all is in, and goes in when there is room again */
    bool stay;         /* the caller's: no other session's index is removed for this one's */
    unsigned over;     /* texts that this call left out: the session's own index is full */
    char over_path[80]; /* of the last of them, as path */
};
/* About so many bytes of text go in, and are committed.  A part of a text that is in already when `at` is lost (the
 * program was killed) is found no more, and all of it goes in again. */
int remember_slice(struct recall *r, struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t most,
                   struct remember_at *at, struct err *err);

/* All saved sessions but this one, the newest first: imported ones, those whose index was lost.  One that another
 * process has open, or another agent, is theirs to bring up. */
struct remember_others { /* zeros at the beginning; what a call has begun the next one ends */
    uint8_t session[STORE_SESSION_ID];
    struct remember_at at;
    bool full; /* the last call ended because the index is */
};
/* At most about so many bytes of text go in, and only as far as the quota of all has room: nothing is removed for them.
 * *left: sessions of which something is not in yet. */
int remember_others(struct recall *r, struct store *s, const uint8_t own[STORE_SESSION_ID], uint64_t most,
                    struct remember_others *o, unsigned *left, struct err *err);

struct remember_quote {
    uint8_t session[STORE_SESSION_ID];
    enum recall_kind kind;
    uint64_t id;       /* of the message, or of the artifact */
    char name[24];     /* "m12", "a3" */
    char path[200];    /* of a document; else empty */
    double score;
    char why[160];     /* "port 3.1, alba 2.2": words and their shares, the heaviest first */
    double matched;    /* of the weight of all words that are known, the share that is in it: 0 .. 1 */
    double rarest;     /* of all that was searched, the share that has the rarest of its words: 0 .. 1 */
    size_t at, len;    /* of the quotation, in struct remember_found's text */
};
struct remember_found {
    struct remember_quote quote[RECALL_K];
    int n;
    unsigned unknown;  /* words that nothing has */
    struct buf text;
    char damage[200];  /* a line, or empty */
    unsigned left;     /* sessions that are not wholly in the index, if that was asked */
    bool full;         /* and will not be, by its quota */
    uint64_t unread;   /* bytes that were too many to be looked at: the oldest, where there is no index */
};
struct remember_query {
    const char *text;
    size_t n;
    const uint8_t *session; /* NULL: all of them */
    int k;                  /* quotations, 1 .. RECALL_K */
    bool (*wanted)(void *self, const struct recall_doc *doc); /* NULL: all */
    void *self;
};
/* The best k of the 32 best hits that are wanted; of a message or an artifact one, of a document as many as there are.
 * out: for remember_free(). */
int remember_search(struct recall *r, struct store *s, const struct remember_query *q, struct remember_found *out,
                    struct err *err);
void remember_free(struct remember_found *f);

/* The same where there is no index and no store: of texts in memory (remember_scan.c). */
struct remember_text {
    enum recall_kind kind; /* RECALL_SUMMARY: one line of it; of a message one quotation is given, of lines all */
    uint64_t id;           /* of the message */
    const char *text;      /* n bytes, the caller's */
    size_t n;
};
/* q->session: whose texts they are.  The oldest first.  Thread: any. */
int remember_scan(const struct remember_text *text, size_t n, const struct remember_query *q,
                  struct remember_found *out, struct err *err);
#endif
