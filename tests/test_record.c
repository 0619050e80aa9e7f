/* test_record.c - what is stored comes back as it was, or not at all. */
#include "memory/record.h"

#include "tests/check.h"

static const char key[] = "Mkey-of-the-record";
static const char body[] = "The pump was replaced on Tuesday; pressure is 4 bar.";

static struct buf encoded(enum rec_kind kind, const void *k, size_t k_len, const void *b, size_t n)
{
    struct buf out = {0};
    CHECK_EQ(rec_encode(kind, k, k_len, b, n, &out), 0);
    CHECK_EQ(out.len, n + REC_HEADER);
    return out;
}

static struct buf sample(void) { return encoded(REC_MESSAGE, key, sizeof key, body, sizeof body); }

static int decode(const struct buf *b, enum rec_kind kind)
{
    struct rec r;
    return rec_decode(b->data, b->len, kind, key, sizeof key, &r);
}

TEST(crc32c_gives_the_published_check_values)
{
    uint8_t zeros[32] = {0}, ones[32], up[32];
    memset(ones, 0xff, sizeof ones);
    for (size_t i = 0; i < sizeof up; i++) up[i] = (uint8_t)i;
    CHECK_EQ(crc32c(0, "123456789", 9), 0xe3069283);
    CHECK_EQ(crc32c(0, zeros, 32), 0x8a9136aa); /* these three: RFC 3720, B.4 */
    CHECK_EQ(crc32c(0, ones, 32), 0x62a8ab43);
    CHECK_EQ(crc32c(0, up, 32), 0x46dd794e);
    CHECK_EQ(crc32c(crc32c(0, up, 7), up + 7, 25), 0x46dd794e);
}

/* Whoever computes it, wherever the bytes lie, however they are parted. */
TEST(crc32c_is_the_same_by_table_and_by_processor)
{
    uint8_t bytes[300];
    uint32_t seed = 7;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
    for (size_t from = 0; from < 16; from++)
        for (size_t n = 0; n + from <= sizeof bytes; n += 1 + n / 9) {
            size_t part = n / 3;
            uint32_t whole = crc32c_plain(seed, bytes + from, n);
            CHECK_EQ(crc32c(seed, bytes + from, n), whole);
            CHECK_EQ(crc32c(crc32c(seed, bytes + from, part), bytes + from + part, n - part), whole);
        }
    CHECK_EQ(crc32c_plain(0, "123456789", 9), 0xe3069283);
}

TEST(a_record_has_the_bytes_that_the_header_file_says)
{
    struct buf out = encoded(REC_EVENT, "k", 1, "xyz", 3);
    const uint8_t *p = (const uint8_t *)out.data;
    const uint8_t front[12] = {'P', 'l', 's', 'R', 1, 0, 3, 0, 3, 0, 0, 0};
    uint8_t covered[16];
    CHECK_MEM(p, front, 12);
    memcpy(covered, front, 12);
    memcpy(covered + 12, "kxyz", 4);
    CHECK_EQ(get_le(p + 12, 4), crc32c(0, covered, 16));
    CHECK_MEM(p + 16, "xyz", 3);
    buf_free(&out);
}

TEST(what_was_encoded_is_decoded)
{
    struct buf out = sample();
    struct rec r;
    CHECK_EQ(rec_decode(out.data, out.len, REC_MESSAGE, key, sizeof key, &r), 0);
    CHECK_EQ(r.kind, REC_MESSAGE);
    CHECK_EQ(r.len, sizeof body);
    CHECK_MEM(r.body, body, sizeof body);
    CHECK_EQ(decode(&out, REC_ANY), 0);
    buf_free(&out);

    out = encoded(REC_PIECE, key, sizeof key, NULL, 0);
    CHECK_EQ(rec_decode(out.data, out.len, REC_PIECE, key, sizeof key, &r), 0);
    CHECK_EQ(r.len, 0);
    buf_free(&out);
}

TEST(each_way_to_be_damaged_has_its_name)
{
    struct buf out = sample();
    for (size_t n = 0; n < REC_HEADER; n++)
        CHECK_EQ(rec_decode(out.data, n, REC_ANY, key, sizeof key, NULL), REC_SHORT);
    for (size_t n = REC_HEADER; n < out.len; n++)
        CHECK_EQ(rec_decode(out.data, n, REC_ANY, key, sizeof key, NULL), REC_LENGTH);
    CHECK_EQ(decode(&out, REC_EVENT), REC_WRONG_KIND);
    out.data[0] ^= 1;
    CHECK_EQ(decode(&out, REC_ANY), REC_FOREIGN);
    out.data[0] ^= 1;
    out.data[4] ^= 2;
    CHECK_EQ(decode(&out, REC_ANY), REC_OTHER_VERSION);
    out.data[4] ^= 2;
    out.data[20] ^= 4;
    CHECK_EQ(decode(&out, REC_ANY), REC_CHECKSUM);
    out.data[20] ^= 4;
    buf_puts(&out, "more");
    CHECK_EQ(decode(&out, REC_ANY), REC_LENGTH);
    buf_free(&out);
    for (int e = REC_NO_MEMORY; e < 0; e++) CHECK(strcmp(rec_why(e), rec_why(0)) != 0);
}

TEST(a_length_of_four_gigabytes_is_not_believed)
{
    struct buf out = sample();
    memset(out.data + 8, 0xff, 4);
    CHECK_EQ(decode(&out, REC_ANY), REC_LENGTH);
    buf_free(&out);
}

/* Kinds and the spare byte are judged even where the checksum fits: a later version may have written them. */
TEST(a_kind_that_is_not_known_is_refused)
{
    static const struct { int at; uint8_t value; } odd[] = {{6, 0}, {6, REC_KINDS}, {6, 255}, {7, 1}};
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        struct buf out = encoded(REC_MESSAGE, "", 0, "", 0);
        out.data[odd[i].at] = (char)odd[i].value;
        put_le((uint8_t *)out.data + 12, crc32c(0, out.data, 12), 4);
        CHECK_EQ(rec_decode(out.data, out.len, REC_ANY, "", 0, NULL), REC_WRONG_KIND);
        buf_free(&out);
    }
}

TEST(no_single_or_double_flip_is_believed)
{
    struct buf out = sample();
    for (size_t bit = 0; bit < 8 * out.len; bit++) {
        out.data[bit / 8] ^= (char)(1 << bit % 8);
        CHECK(decode(&out, REC_ANY) < 0);
        size_t other = (bit * 7 + 13) % (8 * out.len);
        if (other != bit) {
            out.data[other / 8] ^= (char)(1 << other % 8);
            CHECK(decode(&out, REC_ANY) < 0);
            out.data[other / 8] ^= (char)(1 << other % 8);
        }
        out.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    CHECK_EQ(decode(&out, REC_ANY), 0);
    buf_free(&out);
}

TEST(a_record_under_another_key_is_damaged)
{
    struct buf out = sample();
    CHECK_EQ(rec_decode(out.data, out.len, REC_ANY, "Mkey-of-the-recorD", sizeof key, NULL), REC_CHECKSUM);
    CHECK_EQ(rec_decode(out.data, out.len, REC_ANY, key, sizeof key - 1, NULL), REC_CHECKSUM);
    CHECK_EQ(rec_decode(out.data, out.len, REC_ANY, "", 0, NULL), REC_CHECKSUM);
    buf_free(&out);
}

TEST(a_body_larger_than_the_limit_is_refused_before_it_is_read)
{
    struct buf out = {0};
    buf_puts(&out, "before");
    CHECK_EQ(rec_encode(REC_MESSAGE, key, sizeof key, body, (size_t)REC_BODY_MAX + 1, &out), REC_TOO_BIG);
    CHECK_STR(out.data, "before");
    buf_free(&out);
}

TEST(numbers_of_both_orders_come_back)
{
    uint8_t at[8], next[8];
    put_le(at, 0x0102030405060708, 8);
    CHECK_EQ(at[0], 8);
    CHECK_EQ(get_le(at, 8), 0x0102030405060708);
    put_be(at, 255, 8);
    put_be(next, 256, 8);
    CHECK(memcmp(at, next, 8) < 0); /* in a tree of bytes they stand in their order */
    CHECK_EQ(get_be(next, 8), 256);
}

CHECK_MAIN
