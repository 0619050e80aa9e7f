/* fuzz_record.c - any bytes read as a stored record.
 *
 * covers: memory/record.c
 *
 * An input: the length of the key (one byte), the key, the record.  What must hold: what was believed is, encoded
 * again, the same bytes; and any bytes at all, encoded as a body, come back. */
#include "memory/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) abort();
}

static void round_trip(enum rec_kind kind, const uint8_t *key, size_t key_len, const uint8_t *body, size_t n,
                       struct buf *out)
{
    struct rec r;
    must(rec_encode(kind, key, key_len, body, n, out) == 0);
    must(rec_decode(out->data, out->len, kind, key, key_len, &r) == 0);
    must(r.len == n && (n == 0 || memcmp(r.body, body, n) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out = {0};
    struct rec r;
    if (size == 0) return 0;
    size_t key_len = MIN(data[0], size - 1), n = size - 1 - key_len;
    const uint8_t *key = data + 1, *bytes = key + key_len;
    int error = rec_decode(bytes, n, REC_ANY, key, key_len, &r);
    must(rec_why(error)[0] != '\0');
    if (error == 0) {
        round_trip(r.kind, key, key_len, r.body, r.len, &out);
        must(out.len == n && memcmp(out.data, bytes, n) == 0);
        buf_free(&out);
    }
    round_trip((enum rec_kind)(1 + size % (REC_KINDS - 1)), key, key_len, bytes, n, &out);
    buf_free(&out);
    must(rec_encode(REC_EVENT, key, key_len, NULL, (size_t)REC_BODY_MAX + 1, &out) == REC_TOO_BIG);
    must(rec_why(REC_TOO_BIG) != rec_why(REC_NO_MEMORY));
    return 0;
}
