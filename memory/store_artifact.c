/* store_artifact.c - big texts in compressed chunks, so that any part of one is read without the rest. */
#include "memory/store_impl.h"
#include <zstd.h>

enum { HEAD = 12, LEVEL = 3 };

/* The size and checksum of an artifact as its head says; its chunks are counted from the size. */
struct head {
    uint64_t bytes;
    uint32_t crc;
};

static uint32_t n_chunks(uint64_t bytes) { return (uint32_t)((bytes + STORE_CHUNK - 1) / STORE_CHUNK); }

static size_t chunk_bytes(uint64_t all, uint32_t chunk)
{
    return (size_t)MIN(all - (uint64_t)chunk * STORE_CHUNK, (uint64_t)STORE_CHUNK);
}

int store_put_artifact_chunk(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t artifact,
                             uint32_t chunk, const void *bytes, size_t n, struct err *err)
{
    char packed[STORE_CHUNK + STORE_CHUNK / 8];
    struct store_key key = store_key_chunk(session, artifact, chunk);
    assert(s->pending_part == STORE_JOURNAL && n > 0 && n <= STORE_CHUNK);
    size_t got = ZSTD_compress(packed, sizeof packed, bytes, n, LEVEL);
    if (ZSTD_isError(got))
        return err_set(err, STORE_NO_MEMORY, "cannot compress an artifact: %s", ZSTD_getErrorName(got));
    return store_put(s, &key, REC_CHUNK, packed, got, err);
}

int store_put_artifact_head(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t artifact, uint64_t n,
                            uint32_t crc, struct err *err)
{
    uint8_t head[HEAD];
    struct store_key key = store_key_artifact(session, artifact);
    assert(s->pending_part == STORE_JOURNAL);
    if (n > STORE_ARTIFACT_MAX)
        return err_set(err, STORE_TOO_BIG, "an artifact of %llu bytes; 1 GiB is the most", (unsigned long long)n);
    put_le(head, n, 8);
    put_le(head + 8, crc, 4);
    return store_put(s, &key, REC_ARTIFACT, head, sizeof head, err);
}

int store_put_artifact(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t artifact, const void *bytes,
                       size_t n, struct err *err)
{
    size_t before = s->pending.len;
    int rc = store_put_artifact_head(s, session, artifact, n, n > STORE_ARTIFACT_MAX ? 0 : crc32c(0, bytes, n), err);
    for (uint32_t i = 0; !rc && i < n_chunks(n); i++)
        rc = store_put_artifact_chunk(s, session, artifact, i, (const char *)bytes + (size_t)i * STORE_CHUNK,
                                      chunk_bytes(n, i), err);
    if (rc) s->pending.len = before; /* all of it or nothing */
    return rc;
}

static int damaged(uint64_t artifact, const char *why, struct err *err)
{
    return err_set(err, STORE_DAMAGED, "artifact %llu is damaged: %s", (unsigned long long)artifact, why);
}

static int get_head(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t artifact, struct head *h,
                    struct err *err)
{
    struct store_key key = store_key_artifact(session, artifact);
    struct buf body = {0};
    int rc = store_get(s, STORE_JOURNAL, &key, REC_ARTIFACT, &body, err);
    if (!rc && body.len != HEAD) rc = damaged(artifact, "its head is not as long as one", err);
    if (!rc) {
        *h = (struct head){get_le((uint8_t *)body.data, 8), (uint32_t)get_le((uint8_t *)body.data + 8, 4)};
        if (h->bytes > STORE_ARTIFACT_MAX) rc = damaged(artifact, "it claims more than 1 GiB", err);
    }
    buf_free(&body);
    return rc;
}

int store_artifact_size(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t artifact, uint64_t *n,
                        struct err *err)
{
    struct head h;
    int rc = get_head(s, session, artifact, &h, err);
    if (!rc) *n = h.bytes;
    return rc;
}

/* Exactly `want` bytes at raw, whatever the chunk claims to become: zstd is given no room for more, and takes no
 * memory by what a frame says. */
static int unpack(struct store *s, const struct store_key *key, uint64_t artifact, char *raw, size_t want,
                  struct buf *packed, struct err *err)
{
    packed->len = 0;
    int rc = store_get(s, STORE_JOURNAL, key, REC_CHUNK, packed, err);
    if (rc == STORE_NOT_FOUND) return damaged(artifact, "a chunk of it is missing", err);
    if (rc) return rc;
    size_t got = ZSTD_decompress(raw, want, packed->data, packed->len);
    if (ZSTD_isError(got)) return damaged(artifact, ZSTD_getErrorName(got), err);
    return got == want ? 0 : damaged(artifact, "a chunk is shorter than it should be", err);
}

int store_read_artifact(struct store *s, const uint8_t session[STORE_SESSION_ID], uint64_t artifact, uint64_t offset,
                        size_t n, struct buf *out, struct err *err)
{
    char raw[STORE_CHUNK];
    struct buf packed = {0};
    struct head h;
    size_t before = out->len;
    int rc = get_head(s, session, artifact, &h, err);
    if (rc) return rc;
    offset = MIN(offset, h.bytes);
    uint64_t end = offset + MIN((uint64_t)n, h.bytes - offset);
    for (uint64_t at = offset; !rc && at < end;) {
        uint32_t chunk = (uint32_t)(at / STORE_CHUNK);
        size_t from = (size_t)(at % STORE_CHUNK), have = chunk_bytes(h.bytes, chunk);
        struct store_key key = store_key_chunk(session, artifact, chunk);
        rc = unpack(s, &key, artifact, raw, have, &packed, err);
        if (rc) break;
        size_t take = (size_t)MIN((uint64_t)(have - from), end - at);
        buf_put(out, raw + from, take);
        at += take;
    }
    buf_free(&packed);
    if (!rc && out->failed) rc = err_set(err, STORE_NO_MEMORY, "no memory for %zu bytes of an artifact", n);
    if (!rc && end - offset == h.bytes && crc32c(0, out->data ? out->data + before : "", (size_t)h.bytes) != h.crc)
        rc = damaged(artifact, "the checksum of all of it does not fit", err);
    if (rc) out->len = before;
    return rc;
}

/* ------------------------------------------------------------------ a copy */

enum { COPY_PART = 4 << 20 };

static int copy_record(struct store *s, const struct store_key *from, const struct store_key *to, enum rec_kind kind,
                       struct err *err)
{
    struct buf body = {0};
    int rc = store_get(s, STORE_JOURNAL, from, kind, &body, err);
    if (!rc) rc = store_put(s, to, kind, body.len ? body.data : "", body.len, err);
    buf_free(&body);
    return rc;
}

int store_copy_artifact(struct store *s, const uint8_t from[STORE_SESSION_ID], const uint8_t to[STORE_SESSION_ID],
                        uint64_t artifact, struct err *err)
{
    struct head h;
    int rc = get_head(s, from, artifact, &h, err);
    if (rc) return rc;
    store_begin(s, STORE_JOURNAL);
    for (uint32_t i = 0; !rc && i < n_chunks(h.bytes); i++) {
        struct store_key a = store_key_chunk(from, artifact, i), b = store_key_chunk(to, artifact, i);
        rc = copy_record(s, &a, &b, REC_CHUNK, err);
        if (rc || s->pending.len < COPY_PART) continue;
        rc = store_commit(s, err);
        if (!rc) store_begin(s, STORE_JOURNAL);
    }
    struct store_key a = store_key_artifact(from, artifact), b = store_key_artifact(to, artifact);
    if (!rc) rc = copy_record(s, &a, &b, REC_ARTIFACT, err);
    if (!rc) rc = store_commit(s, err);
    if (rc) store_abort(s);
    return rc;
}
