/* test_gguf_hostile.c - GGUF files with broken or malicious headers and keys: each is refused with one clear line, or
 * is harmless.
 *
 * Where a test names a CVE, an advisory or a pull request, the file is made after what broke other readers there. */
#include "engine/gguf.h"
#include "tests/gguf_refused.h"

#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------- not a model at all */

TEST(what_is_no_regular_file_is_named_and_not_read)
{
    const char *folder = check_tmpdir();
    char fifo[4096];
    snprintf(fifo, sizeof fifo, "%s/pipe.gguf", folder);
    CHECK_EQ(mkfifo(fifo, 0600), 0);
    refused_path(fifo, PARTS("pipe.gguf: is a pipe", "regular file")); /* and does not wait for a writer */
    refused_path(folder, PARTS(": is a folder"));
    refused_path("/dev/null", PARTS("/dev/null: is a device"));
    refused_path("/no/such/model.gguf", PARTS("/no/such/model.gguf: cannot be opened", "No such file"));
    refused_path("", PARTS("cannot be opened"));
    refused_path("/proc/self/mem", PARTS("/proc/self/mem: cannot be read: Input/output error"));
}

TEST(common_mistakes_are_recognised)
{
    static const struct {
        const char *name, *bytes, *part;
    } cases[] = {
        {"page.gguf", "<!DOCTYPE html><html><head><title>Sign in</title>", "is a web page"},
        {"page2.gguf", "\xef\xbb\xbf\r\n  <html>", "is a web page"},
        {"message.gguf", "{\"error\":\"Repository not found\"}", "is JSON"},
        {"lfs.gguf", "version https://git-lfs.github.com/spec/v1\noid sha256:", "Git LFS pointer"},
        {"old.gguf", "tjgg\1", "old GGML file"},
        {"zip.gguf", "PK\003\004....", "zip archive"},
        {"text.gguf", "GGML is not GGUF", "is no GGUF model: it starts with \"GGML\""},
        {"binary.gguf", "\x1b[2J\x07", "it starts with \"\\x1b[2J\" (byte 0)"},
        {"spaces.gguf", "                                          ", "is no GGUF model"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        refused_bytes(cases[i].name, cases[i].bytes, strlen(cases[i].bytes), PARTS(cases[i].name, cases[i].part));
    refused_bytes("safetensors.gguf", "\x40\0\0\0\0\0\0\0{\"__metadata__\":{}}", 27, PARTS("is a safetensors file"));
    refused_bytes("nothing.gguf", "", 0, PARTS("nothing.gguf: is empty (0 bytes)"));
}

TEST(versions_that_are_not_read_have_their_own_line)
{
    static const struct {
        uint32_t version;
        const char *name, *part;
    } cases[] = {
        {0, "v0.gguf", "big-endian"},
        {1, "v1.gguf", "is GGUF version 1 (byte 4) of 2023; 2 and 3 are read"},
        {4, "v4.gguf", "GGUF version 4 (byte 4); this program reads 2 and 3"},
        {0x03000000, "big-endian.gguf", "big-endian GGUF (version 0x03000000 at byte 4)"},
        {0xffffffff, "v-1.gguf", "GGUF version 4294967295"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct gguf_make m = begun();
        m.version = cases[i].version;
        refused_made(&m, cases[i].name, PARTS(cases[i].name, cases[i].part));
    }
}

TEST(shards_are_refused_by_name_and_by_key)
{
    struct gguf_make m = begun();
    gguf_make_raw_key(&m, "split.count", 11, GGUF_U16, "\3", 2);
    refused(&m, "split.gguf", "is one shard of 3", "join");
    m = begun();
    gguf_make_str(&m, "split.count", "three");
    refused(&m, "split-type.gguf", "key \"split.count\" (byte 24) is string \"three\"; an integer is needed");
    m = begun();
    refused(&m, "model-00002-of-00003.gguf", "is shard 2 of 3 by its name");

    m = begun();
    gguf_make_u32(&m, "split.count", 1);
    struct gguf *g = gguf_open(gguf_make_file(&m, "model-00001-of-00001.gguf"), NULL);
    CHECK(g);
    gguf_close(g);
}

TEST(a_path_may_be_shorter_than_a_shards_ending)
{
    char *home = getcwd(NULL, 0);
    CHECK(home);
    CHECK_EQ(chdir(check_tmpdir()), 0);
    struct gguf_make m = begun();
    struct buf b = gguf_make_bytes(&m);
    FILE *f = fopen("a", "wb");
    CHECK(f && fwrite(b.data, 1, b.len, f) == b.len && fclose(f) == 0);
    struct gguf *g = gguf_open("a", NULL);
    CHECK(g);
    gguf_close(g);
    CHECK_EQ(chdir(home), 0);
    buf_free(&b);
    free(home);
}

/* ------------------------------------------------------------------- counts */

TEST(counts_that_the_file_cannot_hold_are_refused) /* CVE-2026-27940, CVE-2024-23496 and others of that row */
{
    static const struct {
        const char *name;
        uint64_t tensors, keys;
        const char *part;
    } cases[] = {
        {"tensors-max.gguf", UINT64_MAX, 0, "18446744073709551615 tensors (byte 8); at most 65536"},
        {"tensors-wrap.gguf", UINT64_MAX / 33 + 1, 0, "tensors (byte 8); at most 65536"},
        {"tensors-60.gguf", 1ull << 60, 0, "tensors (byte 8); at most 65536"},
        {"tensors-limit.gguf", 65537, 0, "65537 tensors (byte 8); at most 65536"},
        {"tensors-few.gguf", 65536, 0, "65536 tensors and 0 keys (byte 8), too many for its 24 bytes"},
        {"tensors-one.gguf", 1, 0, "1 tensors and 0 keys (byte 8), too many for its 24 bytes"},
        {"keys-max.gguf", 0, UINT64_MAX, "18446744073709551615 keys (byte 16); at most 65536"},
        {"keys-60.gguf", 0, 1ull << 60, "keys (byte 16); at most 65536"},
        {"keys-limit.gguf", 0, 65537, "65537 keys (byte 16); at most 65536"},
        {"keys-few.gguf", 0, 65536, "0 tensors and 65536 keys (byte 8), too many for its 24 bytes"},
        {"keys-one.gguf", 0, 1, "0 tensors and 1 keys (byte 8), too many for its 24 bytes"},
        {"both.gguf", UINT64_MAX, UINT64_MAX, "tensors (byte 8); at most 65536"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct gguf_make m = begun();
        m.n_tensors = cases[i].tensors;
        m.n_keys = cases[i].keys;
        refused_made(&m, cases[i].name, PARTS(cases[i].name, cases[i].part));
    }
}

TEST(a_count_larger_by_one_than_the_items_is_refused)
{
    struct gguf_make m = begun();
    gguf_make_str(&m, "general.name", "a name that is long enough to make room for one more key");
    m.n_keys++;
    refused(&m, "one-key-more.gguf", "key 2 of 2 (byte 112)", "cut short");
    m = begun();
    gguf_make_tensor(&m, "a", KT_F32, 1, (int64_t[]){16}, NULL);
    m.n_tensors++;
    refused(&m, "one-tensor-more.gguf", "tensor 2 of 2 (byte 57): its name is empty");
}

/* --------------------------------------------------------------------- keys */

TEST(an_empty_key_is_refused) /* llama.cpp issue 24884: 37 bytes that ended the process */
{
    struct gguf_make m = begun();
    gguf_make_raw_key(&m, "", 0, GGUF_U8, "\1", 1);
    struct buf b = gguf_make_bytes(&m);
    CHECK_EQ(b.len, 37);
    refused_bytes("empty-key.gguf", b.data, b.len, PARTS("too many for its 37 bytes"));
    buf_free(&b);
    m = begun();
    gguf_make_raw_key(&m, "", 0, GGUF_U32, "\1\0\0", 4);
    refused(&m, "empty-key-2.gguf", "key 1 of 1 (byte 24): its name is empty");
}

TEST(names_that_could_not_be_printed_are_refused_and_shown_escaped)
{
    static const struct {
        const char *file, *name;
        size_t len;
        const char *shown;
    } cases[] = {
        {"escape.gguf", "\x1b[31mred", 8, "\\x1b[31mred"},
        {"nul.gguf", "a\0b", 3, "a\\x00b"},
        {"newline.gguf", "a\nb", 3, "a\\x0ab"},
        {"del.gguf", "a\x7f", 2, "a\\x7f"},
        {"latin1.gguf", "caf\xe9", 4, "caf\\xe9"},
        {"c1.gguf", "\xc2\x9b", 2, "\\xc2\\x9b"},
        {"overlong.gguf", "\xc0\xaf", 2, "\\xc0\\xaf"},
        {"surrogate.gguf", "\xed\xa0\x80", 3, "\\xed\\xa0\\x80"},
        {"half.gguf", "a\xe2\x96", 3, "a\\xe2\\x96"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct gguf_make m = begun();
        gguf_make_raw_key(&m, cases[i].name, cases[i].len, GGUF_U32, "\1\0\0", 4);
        refused_made(&m, cases[i].file, PARTS("key 1 of 1 (byte 24): its name \"", cases[i].shown));
        m = begun();
        gguf_make_raw_tensor(&m, cases[i].name, cases[i].len, 1, (uint64_t[]){1}, KT_F32, 0);
        refused_made(&m, cases[i].file, PARTS("tensor 1 of 1 (byte 24): its name \"", cases[i].shown));
    }
}

TEST(a_path_that_could_not_be_printed_is_shown_escaped)
{
    struct gguf_make m = begun();
    m.version = 9;
    struct buf b = gguf_make_bytes(&m), name = {0};
    refused_bytes("\x1b[31m caf\xc3\xa9.gguf", b.data, b.len, PARTS("\\x1b[31m caf\xc3\xa9.gguf: is GGUF version 9"));
    for (int i = 0; i < 100; i++) buf_puts(&name, "\xc3\xa9");
    refused_bytes(name.data, b.data, b.len, PARTS("\xc3\xa9: is GGUF version 9"));
    buf_free(&name);
    for (int i = 0; i < 200; i++) buf_puts(&name, "\x01");
    refused_bytes(name.data, b.data, b.len, PARTS("\\x01...: is GGUF version 9"));
    buf_free(&name);
    buf_free(&b);
}

TEST(a_name_in_another_script_is_a_name)
{
    struct gguf_make m = begun();
    gguf_make_u32(&m, "sch\xc3\xb6n.\xf0\x9f\x98\x80", 1);
    gguf_make_tensor(&m, "\xe6\x9d\x83\xe9\x87\x8d", KT_F32, 1, (int64_t[]){1}, NULL);
    struct gguf *g = gguf_open(gguf_make_file(&m, "script.gguf"), NULL);
    CHECK(g);
    CHECK(gguf_has(g, "sch\xc3\xb6n.\xf0\x9f\x98\x80"));
    CHECK(gguf_tensor(g, "\xe6\x9d\x83\xe9\x87\x8d"));
    gguf_close(g);
}

TEST(a_key_name_of_65535_bytes_is_the_longest)
{
    char *name = malloc(65536);
    CHECK(name);
    memset(name, 'k', 65536);
    struct gguf_make m = begun();
    gguf_make_raw_key(&m, name, 65535, GGUF_U32, "\1\0\0", 4);
    struct gguf *g = gguf_open(gguf_make_file(&m, "long.gguf"), NULL);
    CHECK(g);
    walk(g); /* its messages shorten the name */
    gguf_close(g);
    m = begun();
    gguf_make_raw_key(&m, name, 65536, GGUF_U32, "\1\0\0", 4);
    refused(&m, "longer.gguf", "key 1 of 1 (byte 24): its name has a length of 65536 (byte 24); at most 65535");
    free(name);
}

TEST(duplicate_keys_are_refused)
{
    struct gguf_make m = begun();
    gguf_make_u32(&m, "a", 1);
    gguf_make_u32(&m, "b", 1);
    gguf_make_str(&m, "a", "again");
    refused(&m, "twice.gguf", "key \"a\" (byte 58): it was already at byte 24");
}

TEST(types_that_do_not_exist_are_refused)
{
    static const uint32_t types[] = {13, 255, 0x7fffffff, 0x80000000, 0xffffffff}; /* PR 19856: negative ones */
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        char part[64], file[32];
        snprintf(part, sizeof part, "type is %u, which does not exist", types[i]);
        snprintf(file, sizeof file, "key-type-%zu.gguf", i);
        struct gguf_make m = begun();
        gguf_make_raw_key(&m, "k", 1, types[i], "12345678", 8);
        refused_made(&m, file, PARTS("key \"k\" (byte 24)", part));
        snprintf(part, sizeof part, "elements are of type %u, which", types[i]);
        snprintf(file, sizeof file, "element-type-%zu.gguf", i);
        m = begun();
        gguf_make_array(&m, "k", types[i], 1, "12345678", 8);
        refused_made(&m, file, PARTS("key \"k\" (byte 24)", part));
        snprintf(part, sizeof part, "type is number %u, which", types[i] == 13 ? 4 : types[i]);
        snprintf(file, sizeof file, "tensor-type-%zu.gguf", i);
        m = begun();
        gguf_make_raw_tensor(&m, "t", 1, 1, (uint64_t[]){256}, types[i] == 13 ? 4 : types[i], 0);
        refused_made(&m, file, PARTS("tensor \"t\" (byte 24)", part));
    }
}

TEST(withdrawn_tensor_types_are_refused_by_number)
{
    static const uint32_t gone[] = {4, 5, 31, 32, 33, 36, 37, 38, KT_END};
    for (size_t i = 0; i < COUNT_OF(gone); i++) {
        char part[64];
        snprintf(part, sizeof part, "its type is number %u, which is withdrawn or newer", gone[i]);
        struct gguf_make m = begun();
        gguf_make_raw_tensor(&m, "t", 1, 1, (uint64_t[]){256}, gone[i], 0);
        refused_made(&m, "withdrawn.gguf", PARTS("tensor \"t\" (byte 24)", part));
    }
}

TEST(a_bool_is_0_or_1)
{
    struct gguf_make m = begun();
    gguf_make_raw_key(&m, "flag", 4, GGUF_BOOL, "\2", 1);
    refused(&m, "bool.gguf", "key \"flag\" (byte 24): a bool is 2 (byte 40); 0 or 1");
    m = begun();
    gguf_make_array(&m, "flags", GGUF_BOOL, 3, "\0\1\377", 3);
    refused(&m, "bools.gguf", "key \"flags\" (byte 24): bool 2 of it is 255; 0 or 1");
}

TEST(nested_arrays_are_refused_at_the_first)
{
    struct buf deep = {0};
    for (int i = 0; i < 1000000; i++) { /* element type, count */
        gguf_make_put32(&deep, GGUF_ARRAY);
        gguf_make_put64(&deep, 1);
    }
    struct gguf_make m = begun();
    gguf_make_raw_key(&m, "deep", 4, GGUF_ARRAY, deep.data, deep.len);
    refused(&m, "deep.gguf", "key \"deep\" (byte 24): it is an array of arrays");
    m = begun();
    gguf_make_raw_key(&m, "deep", 4, GGUF_ARRAY, deep.data, 24);
    refused(&m, "nested.gguf", "key \"deep\" (byte 24): it is an array of arrays");
    buf_free(&deep);
}

/* The most address space that this process has had, in bytes: it shows an allocation that was never touched. */
static uint64_t vm_peak(void)
{
    char line[256];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    CHECK(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "VmPeak:", 7) == 0) kib = strtoull(line + 7, NULL, 10);
    fclose(f);
    CHECK(kib > 0);
    return kib << 10;
}

/* Lengths that others allocated before they looked: ollama issue 17042, CVE-2024-21836 and -23605, PR 19856. */
TEST(strings_longer_than_the_file_are_refused_before_any_allocation)
{
    uint64_t peak = vm_peak();
    static const uint64_t lengths[] = {100, 1 << 20, 1u << 30};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        char file[32];
        snprintf(file, sizeof file, "string-%zu.gguf", i);
        struct gguf_make m = begun();
        gguf_make_raw_key(&m, "key", 3, GGUF_STR, &lengths[i], 8);
        refused_made(&m, file, PARTS("key \"key\" (byte 24)", "bytes are needed at byte 47", "ends at byte 47"));
    }
    static const uint64_t limits[] = {(1ull << 30) + 1, 1ull << 40, INT64_MAX, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        char file[32], part[96];
        snprintf(part, sizeof part, "its string has a length of %ju (byte 39); at most 1073741824",
                 (uintmax_t)limits[i]);
        snprintf(file, sizeof file, "string-limit-%zu.gguf", i);
        struct gguf_make m = begun();
        gguf_make_raw_key(&m, "key", 3, GGUF_STR, &limits[i], 8);
        refused_made(&m, file, PARTS("key \"key\" (byte 24)", part));

        m = begun();
        gguf_make_put64(&m.keys, limits[i]); /* the name's length */
        buf_puts(&m.keys, "0123456789");
        m.n_keys++;
        snprintf(file, sizeof file, "name-limit-%zu.gguf", i);
        refused_made(&m, file, PARTS("key 1 of 1 (byte 24): its name has a length of", "at most 65535"));
    }
    CHECK(vm_peak() - peak < 64 << 20);
}

TEST(arrays_longer_than_the_file_are_refused_before_any_allocation)
{
    uint64_t peak = vm_peak();
    static const struct {
        uint32_t element;
        uint64_t count;
        const char *part;
    } cases[] = {
        {GGUF_U8, 1024, "1024 bytes are needed"},
        {GGUF_U8, 1u << 30, "1073741824 bytes are needed"},
        {GGUF_F64, 1u << 30, "8589934592 bytes are needed"},
        {GGUF_STR, 1u << 29, "4294967296 bytes are needed"},
        {GGUF_STR, 126, "1008 bytes are needed"},
        {GGUF_STR, 1ull << 40, "it has 1099511627776 elements; at most 1073741824"},
        {GGUF_U8, 1ull << 40, "it has 1099511627776 elements; at most 1073741824"},
        {GGUF_F64, (1ull << 61) + 1, "elements; at most 1073741824"}, /* times 8 wraps to 8 */
        {GGUF_U32, UINT64_MAX, "it has 18446744073709551615 elements; at most 1073741824"},
    };
    static const char rest[1000];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char file[32];
        struct gguf_make m = begun();
        gguf_make_array(&m, "key", cases[i].element, cases[i].count, rest, sizeof rest);
        snprintf(file, sizeof file, "array-%zu.gguf", i);
        refused_made(&m, file, PARTS("key \"key\" (byte 24)", cases[i].part));
    }
    struct gguf_make m = begun();
    gguf_make_array(&m, "key", GGUF_STR, 2, "\1\0\0\0\0\0\0\0a\xff\xff\xff\x3f\0\0\0\0bcd", 20);
    refused(&m, "array-string.gguf", "key \"key\" (byte 24): 1073741823 bytes are needed at byte 68");
    CHECK(vm_peak() - peak < 64 << 20);
}

/* A sparse file costs its author nothing: lengths that fit in the file may still be beyond what a header may take. */
TEST(a_sparse_file_cannot_make_us_take_gigabytes)
{
    uint64_t peak = vm_peak();
    struct gguf_make m = begun();
    gguf_make_array(&m, "tokens", GGUF_STR, 1u << 28, "", 0);
    const char *path = gguf_make_file(&m, "sparse.gguf");
    CHECK_EQ(truncate(path, 3ll << 30), 0);
    refused_path(path, PARTS("key \"tokens\" (byte 24): 4294967296 bytes are too many", "may hold 2147483648"));
    m = begun();
    gguf_make_raw_key(&m, "s", 1, GGUF_STR, "\1\0\0\x40\0\0\0\0", 8);
    path = gguf_make_file(&m, "sparse.gguf");
    CHECK_EQ(truncate(path, 3ll << 30), 0);
    refused_path(path, PARTS("its string has a length of 1073741825 (byte 37); at most 1073741824"));
    CHECK(vm_peak() - peak < 64 << 20);
}

TEST(names_made_to_collide_cost_no_more_than_others)
{
    enum { N = 65536 }; /* as many keys as are allowed, alike but for their ends */
    struct gguf_make m = begun();
    char name[64];
    for (unsigned i = 0; i < N; i++) {
        snprintf(name, sizeof name, "the.same.beginning.for.all.of.them.%08x", i * 2654435761u);
        gguf_make_bool(&m, name, i & 1);
    }
    struct gguf *g = gguf_open(gguf_make_file(&m, "alike.gguf"), NULL);
    CHECK(g);
    CHECK_EQ(gguf_n_keys(g), N);
    CHECK(gguf_has(g, name));
    gguf_close(g);
}

/* ---------------------------------------------- keys that others misread */

TEST(an_alignment_is_a_power_of_two_as_u32) /* PR 19856, PR 26318: 0, not 2^n, another type */
{
    static const uint32_t bad[] = {0, 3, 24, 33, 0x7fffffff, 0x80000001, 0xffffffff};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char file[32], part[96];
        struct gguf_make m = begun();
        gguf_make_u32(&m, "general.alignment", bad[i]);
        snprintf(file, sizeof file, "alignment-%zu.gguf", i);
        snprintf(part, sizeof part, "key \"general.alignment\" (byte 24) is u32 %u; a power of two is needed", bad[i]);
        refused_made(&m, file, PARTS(file, part));
    }
    struct gguf_make m = begun();
    gguf_make_str(&m, "general.alignment", "32");
    refused(&m, "alignment-string.gguf", "is string \"32\"; a power of two is needed, as u32");
    m = begun();
    gguf_make_raw_key(&m, "general.alignment", 17, GGUF_I32, "\x20\0\0", 4);
    refused(&m, "alignment-i32.gguf", "is i32 32; a power of two is needed, as u32");
    m = begun();
    gguf_make_u64(&m, "general.alignment", 32);
    refused(&m, "alignment-u64.gguf", "is u64 32; a power of two is needed, as u32");
    m = begun();
    gguf_make_array(&m, "general.alignment", GGUF_U32, 1, "\x20\0\0", 4);
    refused(&m, "alignment-array.gguf", "is an array of 1 u32; a power of two is needed, as u32");
    m = begun();
    gguf_make_f32(&m, "general.alignment", 32);
    refused(&m, "alignment-f32.gguf", "is f32 32; a power of two is needed, as u32");
    m = begun();
    gguf_make_bool(&m, "general.alignment", true);
    refused(&m, "alignment-bool.gguf", "is bool true; a power of two is needed, as u32");
}

TEST(the_largest_alignment_does_not_wrap)
{
    struct gguf_make m = begun();
    gguf_make_u32(&m, "general.alignment", 0x80000000);
    gguf_make_raw_tensor(&m, "t", 1, 1, (uint64_t[]){4}, KT_F32, 0);
    refused(&m, "alignment-2-31.gguf", "tensor \"t\" has 16 bytes at byte 2147483648", "cut short");
    m = begun();
    gguf_make_u32(&m, "general.alignment", 0x80000000);
    struct gguf *g = gguf_open(gguf_make_file(&m, "no-tensor.gguf"), NULL); /* no data: nothing is out of the file */
    CHECK(g);
    gguf_close(g);
}

TEST(narrow_tokenizer_arrays_are_never_read_as_wide_ones) /* PR 26690: scores and token_type declared as u8 */
{
    struct gguf_make m = begun();
    gguf_make_array(&m, "tokenizer.ggml.tokens", GGUF_U8, 3, "abc", 3);
    gguf_make_array(&m, "tokenizer.ggml.scores", GGUF_U8, 3, "abc", 3);
    gguf_make_array(&m, "tokenizer.ggml.token_type", GGUF_U8, 3, "abc", 3);
    gguf_make_array(&m, "large", GGUF_U32, 2, "\0\0\0\0\0\0\0\x80", 8);
    struct gguf *g = gguf_open(gguf_make_file(&m, "narrow.gguf"), NULL);
    struct err err = {0};
    const struct gguf_str *s;
    const float *f;
    const int32_t *v;
    uint64_t n;
    CHECK(g);
    CHECK_EQ(gguf_string_array(g, "tokenizer.ggml.tokens", &s, &n, &err), GGUF_WRONG);
    CHECK(strstr(err.text, "narrow.gguf: key \"tokenizer.ggml.tokens\" (byte 24) is an array of 3 u8; an array"));
    CHECK_EQ(gguf_float_array(g, "tokenizer.ggml.scores", &f, &n, &err), GGUF_WRONG);
    CHECK(strstr(err.text, "is an array of 3 u8; an array of f32 is needed"));
    CHECK_EQ(gguf_int_array(g, "tokenizer.ggml.token_type", &v, &n, &err), GGUF_WRONG);
    CHECK(strstr(err.text, "is an array of 3 u8; an array of i32 or u32 is needed"));
    CHECK_EQ(gguf_int_array(g, "large", &v, &n, &err), GGUF_WRONG);
    CHECK(strstr(err.text, "element 1 is 2147483648, at most 2147483647 is allowed"));
    gguf_close(g);
}

TEST(a_layer_count_beyond_the_callers_bound_is_refused) /* PR 25821, PR 26051: 513 and 2^31 layers into fixed arrays */
{
    static const uint64_t counts[] = {513, 1u << 31, UINT32_MAX, 1ull << 32, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        struct gguf_make m = begun();
        struct err err = {0};
        char part[96];
        uint64_t v = 77;
        gguf_make_u64(&m, "llama.block_count", counts[i]);
        struct gguf *g = gguf_open(gguf_make_file(&m, "layers.gguf"), NULL);
        CHECK(g);
        CHECK_EQ(gguf_uint(g, "llama.block_count", 512, &v, &err), GGUF_WRONG);
        CHECK_EQ(v, 77);
        snprintf(part, sizeof part, "\"llama.block_count\" (byte 24) is u64 %ju; it must be from 0 to 512",
                 (uintmax_t)counts[i]);
        CHECK(strstr(err.text, part));
        gguf_close(g);
    }
}

TEST(a_getters_message_shows_a_hostile_value_escaped_and_short)
{
    struct gguf_make m = begun();
    struct buf v = {0};
    for (int i = 0; i < 1000; i++) buf_puts(&v, "\x1b]0;x\x07");
    gguf_make_str(&m, "llama.block_count", v.data);
    buf_free(&v);
    struct gguf *g = gguf_open(gguf_make_file(&m, "value.gguf"), NULL);
    struct err err = {0};
    uint64_t u;
    CHECK(g);
    CHECK_EQ(gguf_uint(g, "llama.block_count", 1, &u, &err), GGUF_WRONG);
    walk_message(err.text);
    CHECK(strstr(err.text, "is string \"\\x1b]0;x\\x07") && strstr(err.text, "...\"; an integer is needed"));
    gguf_close(g);
}

CHECK_MAIN
