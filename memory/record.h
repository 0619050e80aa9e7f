/* record.h - the one encoding of everything that plimsoll stores: sixteen bytes before each body.
 *
 *     byte  0   4   magic "PlsR"
 *           4   2   version of this layout, 1
 *           6   1   kind: what the body is (enum rec_kind; the store's keys say where it lies)
 *           7   1   zero
 *           8   4   bytes of the body
 *          12   4   checksum
 *          16   .   the body; nothing follows it
 *
 * Numbers are little-endian.  The checksum is CRC-32C (Castagnoli's polynomial, as in RFC 3720) of the bytes 0 to 11,
 * the key and the body: a record that lies under another key than its own is as damaged as one with a bit flipped.
 *
 * Why a checksum of our own: LMDB has none on its pages, and a damaged file opens without a word.
 *
 * No state: any thread. */
#ifndef RECORD_H
#define RECORD_H
#include "plimsoll.h"

enum { REC_HEADER = 16, REC_VERSION = 1, REC_BODY_MAX = 64 << 20 };

enum rec_kind { /* stored: numbers are never given anew */
    REC_ANY = 0, /* for rec_decode(): whatever it is */
    REC_SESSION = 1,
    REC_MESSAGE = 2,
    REC_EVENT = 3,
    REC_PIECE = 4,          /* a summary, a pinned block, the task state */
    REC_ARTIFACT = 5,       /* the head of one */
    REC_CHUNK = 6,          /* a part of one */
    REC_CACHE = 7,
    REC_WIPE = 8,           /* a session was deleted and its bytes are still to be wiped */
    REC_KINDS
};

enum rec_error {
    REC_SHORT = -1,    /* fewer bytes than a header */
    REC_FOREIGN = -2,  /* no magic: not a record, or its first bytes are damaged */
    REC_OTHER_VERSION = -3,
    REC_WRONG_KIND = -4,
    REC_LENGTH = -5,   /* the body is not as long as the header says: truncated, or more follows */
    REC_CHECKSUM = -6,
    REC_TOO_BIG = -7,  /* to be written: more than REC_BODY_MAX */
    REC_NO_MEMORY = -8
};

/* Appends the record to out.  0, REC_TOO_BIG or REC_NO_MEMORY; out is then as long as before. */
int rec_encode(enum rec_kind kind, const void *key, size_t key_len, const void *body, size_t body_len, struct buf *out);

struct rec { /* points into the bytes that were decoded */
    enum rec_kind kind;
    const uint8_t *body;
    size_t len;
};

/* Any n bytes at all.  0, or an error: out is then untouched.  kind: what it must be, or REC_ANY. */
int rec_decode(const void *bytes, size_t n, enum rec_kind kind, const void *key, size_t key_len, struct rec *out);

const char *rec_why(int error); /* "its checksum does not fit": for a line that names the record */

/* The CRC-32C of these bytes after those that gave crc (0: none). */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);
uint32_t crc32c_plain(uint32_t crc, const void *bytes, size_t n); /* the same on any processor, and slowly */

/* Little-endian and, where order in a tree matters, big-endian numbers at any address. */
static inline void put_le(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t get_le(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

static inline void put_be(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static inline uint64_t get_be(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value = value << 8 | at[i];
    return value;
}
#endif
