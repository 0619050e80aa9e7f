/* test_gguf_tensors.c - GGUF files with broken or malicious tensor infos: each is refused with one clear line.
 *
 * Where a test names a CVE, an advisory or a pull request, the file is made after what broke other readers there. */
#include "engine/gguf.h"
#include "tests/gguf_refused.h"

TEST(dimensions_are_1_to_4_in_number) /* CVE-2024-21802: n_dims written past an array of 4 */
{
    static const uint32_t bad[] = {0, 5, 255, 0x7fffffff, 0xffffffff};
    uint64_t dim[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char file[32], part[64];
        struct gguf_make m = begun();
        gguf_make_put_str(&m.infos, "t", 1);
        gguf_make_put32(&m.infos, bad[i]);
        buf_put(&m.infos, dim, sizeof dim);
        m.n_tensors = 1;
        snprintf(file, sizeof file, "dims-%zu.gguf", i);
        snprintf(part, sizeof part, "tensor \"t\" (byte 24): it has %u dimensions; 1 to 4 are", bad[i]);
        refused_made(&m, file, PARTS(file, part));
    }
}

TEST(dimensions_whose_product_wraps_are_refused) /* CVE-2026-33298 / GHSA-96jg-mvhq-q7q7, PR 18674 */
{
    static const struct {
        const char *file;
        uint64_t dim[4];
        uint32_t type;
        const char *part;
    } cases[] = {
        {"pr18674.gguf", {1024 * 1024, (1ull << 42) + 1, 1, 1}, KT_F32, "values of F32 do not fit in 63 bits of bytes"},
        {"product-0.gguf", {1ull << 32, 1ull << 32, 1, 1}, KT_F32, "product does not fit in 63 bits (dimension 1"},
        {"product-3.gguf", {1ull << 16, 1ull << 16, 1ull << 16, 1ull << 16}, KT_F32, "63 bits (dimension 3"},
        {"product-63.gguf", {1ull << 32, 1ull << 31, 1, 1}, KT_I8, "63 bits (dimension 1"},
        {"bytes.gguf", {1ull << 61, 1, 1, 1}, KT_F32, "do not fit in 63 bits of bytes"},
        {"bytes-62.gguf", {1ull << 62, 1, 1, 1}, KT_F64, "do not fit in 63 bits of bytes"},
        {"negative.gguf", {UINT64_MAX, 1, 1, 1}, KT_F32, "dimension 0 is 18446744073709551615; 1 to 92"},
        {"dim-63.gguf", {1, 1ull << 63, 1, 1}, KT_F32, "dimension 1 is 9223372036854775808; 1 to 92"},
        {"zero.gguf", {0, 1, 1, 1}, KT_F32, "dimension 0 is 0; 1 to 92"},
        {"zero-3.gguf", {1, 1, 1, 0}, KT_F32, "dimension 3 is 0; 1 to 92"},
        {"block.gguf", {33, 1, 1, 1}, KT_Q8_0, "rows have 33 values; Q8_0 needs a multiple of 32"},
        {"block-k.gguf", {32, 8, 1, 1}, KT_Q4_K, "rows have 32 values; Q4_K needs a multiple of 256"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct gguf_make m = begun();
        gguf_make_raw_tensor(&m, "t", 1, 4, cases[i].dim, cases[i].type, 0);
        refused_made(&m, cases[i].file, PARTS(cases[i].file, "tensor \"t\" (byte 24): ", cases[i].part));
    }
}

TEST(a_sum_of_sizes_that_wraps_is_refused) /* CVE-2025-53630 */
{
    struct gguf_make m = begun();
    uint64_t offset = 0, size = 1ull << 61; /* the fourth one's end is beyond 2^63, the eighth one's is 0 again */
    for (int i = 0; i < 9; i++, offset += size) {
        char name[8];
        int len = snprintf(name, sizeof name, "t%d", i);
        gguf_make_raw_tensor(&m, name, (size_t)len, 1, &size, KT_I8, offset);
    }
    refused(&m, "sum.gguf", "tensor \"t3\"", "sizes of the tensors up to this one do not fit");
    m = begun();
    gguf_make_raw_tensor(&m, "pad", 3, 1, (uint64_t[]){INT64_MAX}, KT_I8, 0); /* padding alone reaches 2^63 */
    refused(&m, "pad.gguf", "tensor \"pad\" (byte 24): the sizes of the tensors up to this one do not fit");
}

TEST(an_offset_is_exactly_the_padded_end_of_the_tensor_before) /* CVE-2026-7482 */
{
    static const uint64_t bad[] = {0, 1, 16, 31, 33, 48, 64, 4096, 1ull << 40, INT64_MAX, UINT64_MAX - 31, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char file[32], part[96];
        struct gguf_make m = begun();
        gguf_make_tensor(&m, "a", KT_F32, 1, (int64_t[]){4}, NULL);
        gguf_make_raw_tensor(&m, "b", 1, 1, (uint64_t[]){4}, KT_F32, bad[i]);
        for (int j = 0; j < 8192; j++) buf_put(&m.data, "", 1); /* even where the data would be in the file */
        snprintf(file, sizeof file, "offset-%zu.gguf", i);
        snprintf(part, sizeof part, "tensor \"b\" (byte 57): its offset is %ju; 32 is needed", (uintmax_t)bad[i]);
        refused_made(&m, file, PARTS(file, part));
    }
    struct gguf_make m = begun();
    gguf_make_raw_tensor(&m, "first", 5, 1, (uint64_t[]){4}, KT_F32, 32);
    for (int j = 0; j < 256; j++) buf_put(&m.data, "", 1);
    refused(&m, "offset-first.gguf", "tensor \"first\" (byte 24): its offset is 32; 0 is needed");
}

TEST(data_past_the_end_of_the_file_names_its_tensor)
{
    struct gguf_make m = begun();
    gguf_make_tensor(&m, "a", KT_F32, 1, (int64_t[]){4}, NULL);
    gguf_make_raw_tensor(&m, "b", 1, 1, (uint64_t[]){1 << 20}, KT_F32, 32);
    refused(&m, "past.gguf", "tensor \"b\" has 4194304 bytes at byte 128 and the file ends at byte 128",
            "download it again");
    m = begun();
    gguf_make_raw_tensor(&m, "far", 3, 1, (uint64_t[]){1ull << 62}, KT_I8, 0);
    refused(&m, "far.gguf", "tensor \"far\" has 4611686018427387904 bytes at byte 64 and the file ends at byte 59");
}

TEST(tensor_names_are_1_to_63_bytes_and_unique)
{
    char name[65];
    memset(name, 'n', sizeof name);
    struct gguf_make m = begun();
    gguf_make_raw_tensor(&m, name, 64, 1, (uint64_t[]){4}, KT_F32, 0);
    refused(&m, "name-64.gguf", "tensor 1 of 1 (byte 24): its name has a length of 64 (byte 24); at most 63");
    m = begun();
    gguf_make_raw_tensor(&m, "", 0, 1, (uint64_t[]){1}, KT_F32, 0);
    buf_puts(&m.data, "1234");
    refused(&m, "name-0.gguf", "tensor 1 of 1 (byte 24): its name is empty");
    m = begun();
    gguf_make_tensor(&m, "same", KT_F32, 1, (int64_t[]){4}, NULL);
    gguf_make_tensor(&m, "other", KT_F32, 1, (int64_t[]){4}, NULL);
    gguf_make_tensor(&m, "same", KT_F16, 1, (int64_t[]){4}, NULL);
    refused(&m, "same.gguf", "tensor \"same\" is there twice");

    m = begun();
    name[63] = '\0';
    gguf_make_tensor(&m, name, KT_F32, 1, (int64_t[]){4}, NULL);
    struct gguf *g = gguf_open(gguf_make_file(&m, "name-63.gguf"), NULL);
    CHECK(g);
    CHECK(gguf_tensor(g, name));
    gguf_close(g);
}

CHECK_MAIN
