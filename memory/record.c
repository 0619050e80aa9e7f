/* record.c - the header before every body that is stored, and the checksum in it. */
#include "memory/record.h"

static const uint8_t magic[4] = {'P', 'l', 's', 'R'};

/* Four bits at a time: a table that can be read (0x82f63b78 is the polynomial with its bits reversed, entry 8). */
uint32_t crc32c_plain(uint32_t crc, const void *bytes, size_t n)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
        0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75
    };
    const uint8_t *p = bytes;
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

#if defined(__x86_64__)
/* The processor has this polynomial: a hundred times as fast, which KV pages and artifacts of megabytes feel. */
__attribute__((target("sse4.2"))) static uint32_t crc_by_processor(uint32_t crc, const uint8_t *p, size_t n)
{
    uint64_t wide = crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; n > 0; n--, p++) crc = __builtin_ia32_crc32qi(crc, *p);
    return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return ~crc_by_processor(~crc, bytes, n);
#endif
    return crc32c_plain(crc, bytes, n);
}

static uint32_t checksum(const uint8_t *header, const void *key, size_t key_len, const void *body, size_t body_len)
{
    uint32_t crc = crc32c(0, header, REC_HEADER - 4);
    crc = crc32c(crc, key, key_len);
    return crc32c(crc, body, body_len);
}

int rec_encode(enum rec_kind kind, const void *key, size_t key_len, const void *body, size_t body_len, struct buf *out)
{
    uint8_t header[REC_HEADER] = {0};
    size_t before = out->len;
    assert(kind > REC_ANY && kind < REC_KINDS);
    if (body_len > REC_BODY_MAX) return REC_TOO_BIG;
    memcpy(header, magic, sizeof magic);
    put_le(header + 4, REC_VERSION, 2);
    header[6] = (uint8_t)kind;
    put_le(header + 8, body_len, 4);
    put_le(header + 12, checksum(header, key, key_len, body, body_len), 4);
    buf_put(out, header, sizeof header);
    buf_put(out, body, body_len);
    if (!out->failed) return 0;
    out->len = before;
    return REC_NO_MEMORY;
}

int rec_decode(const void *bytes, size_t n, enum rec_kind kind, const void *key, size_t key_len, struct rec *out)
{
    const uint8_t *header = bytes;
    if (n < REC_HEADER) return REC_SHORT;
    if (memcmp(header, magic, sizeof magic) != 0) return REC_FOREIGN;
    if (get_le(header + 4, 2) != REC_VERSION) return REC_OTHER_VERSION;
    size_t len = get_le(header + 8, 4);
    if (len > REC_BODY_MAX || len != n - REC_HEADER) return REC_LENGTH;
    if (get_le(header + 12, 4) != checksum(header, key, key_len, header + REC_HEADER, len)) return REC_CHECKSUM;
    if (header[6] == REC_ANY || header[6] >= REC_KINDS || header[7] != 0) return REC_WRONG_KIND;
    if (kind != REC_ANY && header[6] != kind) return REC_WRONG_KIND;
    *out = (struct rec){(enum rec_kind)header[6], header + REC_HEADER, len};
    return 0;
}

const char *rec_why(int error)
{
    switch (error) {
    case REC_SHORT:         return "it is shorter than a header";
    case REC_FOREIGN:       return "it does not begin as a record does";
    case REC_OTHER_VERSION: return "it is of another version of plimsoll's records";
    case REC_WRONG_KIND:    return "it is a record of another kind";
    case REC_LENGTH:        return "its length is not what its header says";
    case REC_CHECKSUM:      return "its checksum does not fit";
    case REC_TOO_BIG:       return "it is larger than a record may be";
    case REC_NO_MEMORY:     return "no memory";
    default:                return "nothing is wrong with it";
    }
}
