/* test_gguf_bent.c - a good GGUF file cut at every byte, changed at random, and changed while it is open: an error or a
 * harmless file, never a crash. */
#include "engine/gguf.h"
#include "tests/gguf_refused.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* A small file with a key of every kind and three tensors, to be cut and bent. */
static struct buf sample(void)
{
    struct gguf_make m = begun();
    gguf_make_str(&m, "general.architecture", "llama");
    gguf_make_alignment(&m, 64);
    gguf_make_u32(&m, "llama.block_count", 2);
    gguf_make_u64(&m, "llama.context_length", 512);
    gguf_make_f32(&m, "llama.eps", 1e-5f);
    gguf_make_bool(&m, "tokenizer.ggml.add_bos_token", true);
    gguf_make_raw_key(&m, "i8", 2, GGUF_I8, "\xff", 1);
    gguf_make_raw_key(&m, "u16", 3, GGUF_U16, "\x01\x02", 2);
    gguf_make_raw_key(&m, "i64", 3, GGUF_I64, "\x01\0\0\0\0\0\0\x80", 8);
    gguf_make_raw_key(&m, "f64", 3, GGUF_F64, "\0\0\0\0\0\0\xf0\x3f", 8);
    gguf_make_strs(&m, "tokenizer.ggml.tokens", (const char *const[]){"<unk>", "<s>", "\xe2\x96\x81", "a"}, 4);
    gguf_make_f32s(&m, "tokenizer.ggml.scores", (float[]){0, -1, -2, -3}, 4);
    gguf_make_i32s(&m, "tokenizer.ggml.token_type", (int32_t[]){2, 3, 1, 1}, 4);
    gguf_make_array(&m, "bools", GGUF_BOOL, 3, "\0\1\0", 3);
    gguf_make_tensor(&m, "token_embd.weight", KT_F32, 2, (int64_t[]){4, 4}, NULL);
    gguf_make_tensor(&m, "blk.0.attn_q.weight", KT_Q8_0, 2, (int64_t[]){32, 2}, NULL);
    gguf_make_tensor(&m, "output_norm.weight", KT_F16, 1, (int64_t[]){5}, "0123456789");
    return gguf_make_bytes(&m);
}

/* ------------------------------------------------------------ cut and bent */

TEST(a_file_cut_at_any_byte_fails_cleanly)
{
    struct buf b = sample();
    struct gguf *g = gguf_open(gguf_make_write("whole.gguf", b.data, b.len), NULL);
    CHECK(g);
    walk(g);
    const struct gguf_tensor *last = gguf_tensor_at(g, 2);
    size_t end = (size_t)(last->offset + last->bytes);
    size_t first = (size_t)gguf_tensor_at(g, 0)->offset;
    uint64_t start[3];
    for (uint64_t i = 0; i < 3; i++) start[i] = gguf_tensor_at(g, i)->offset + gguf_tensor_at(g, i)->bytes;
    gguf_close(g);

    static const char *const names[] = {"token_embd.weight", "blk.0.attn_q.weight", "output_norm.weight"};
    for (size_t n = 0; n < b.len; n++) {
        const char *path = gguf_make_write("cut.gguf", b.data, n);
        if (n >= end) { /* only padding is missing */
            g = gguf_open(path, NULL);
            CHECK(g);
            gguf_close(g);
        } else if (n >= first) {
            const char *name = names[n < start[0] ? 0 : n < start[1] ? 1 : 2];
            refused_path(path, PARTS("cut.gguf: tensor \"", name, "download it again"));
        } else {
            refused_path(path, PARTS("cut.gguf: ", n == 0 ? "is empty" : "download it again"));
        }
    }
    buf_free(&b);
}

/* Numbers that break arithmetic, in place of the file's own. */
static const uint64_t wild[] = {0, 1, 2, 3, 8, 9, 12, 13, 31, 32, 33, 63, 64, 65, 255, 256, 65535, 65536, INT32_MAX,
                                1ull << 31, UINT32_MAX, 1ull << 32, 1ull << 40, INT64_MAX, 1ull << 63, UINT64_MAX};

static uint64_t dice;

static uint64_t roll(uint64_t n)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return dice % n;
}

static void open_whatever(const char *name, const void *bytes, size_t n, uint64_t *n_opened)
{
    struct err err = {0};
    struct gguf *g = gguf_open(gguf_make_write(name, bytes, n), &err);
    if (g) {
        walk(g);
        *n_opened += 1;
        gguf_close(g);
    } else {
        walk_message(err.text);
        CHECK_EQ(err.code, -1);
    }
}

TEST(every_number_of_a_file_may_be_any_other)
{
    struct buf b = sample();
    uint64_t n_opened = 0, n = 0;
    for (size_t at = 4; at + 8 <= 600; at++) {
        for (size_t i = 0; i < COUNT_OF(wild); i += 1 + at % 3, n++) {
            char old[8];
            memcpy(old, b.data + at, 8);
            memcpy(b.data + at, &wild[i], 8);
            open_whatever("number.gguf", b.data, b.len, &n_opened);
            memcpy(b.data + at, old, 8);
        }
    }
    CHECK(n_opened > 0 && n_opened < n);
    buf_free(&b);
}

TEST(thousands_of_random_changes_never_crash)
{
    struct buf b = sample();
    char *bent = malloc(b.len);
    uint64_t n_opened = 0;
    enum { N = 5000 };
    CHECK(bent);
    dice = 0x9e3779b97f4a7c15;
    for (int i = 0; i < N; i++) {
        size_t n = b.len;
        memcpy(bent, b.data, n);
        for (uint64_t change = 1 + roll(4); change > 0; change--) {
            size_t at = 4 + (size_t)roll(n - 12), from = 4 + (size_t)roll(n - 12);
            switch (roll(4)) {
            case 0: bent[at] = (char)(bent[at] ^ (1 << roll(8))); break;
            case 1: bent[at] = (char)roll(256); break;
            case 2: memcpy(bent + at, &wild[roll(COUNT_OF(wild))], roll(2) ? 8 : 4); break;
            default: memmove(bent + at, bent + from, (size_t)roll(n - MAX(at, from))); break;
            }
        }
        if (roll(8) == 0) n = (size_t)roll(n);
        open_whatever("bent.gguf", bent, n, &n_opened);
    }
    CHECK(n_opened > N / 100 && n_opened < N);
    free(bent);
    buf_free(&b);
}

TEST(random_bytes_are_no_model)
{
    char bytes[512];
    uint64_t n_opened = 0;
    dice = 20;
    for (int i = 0; i < 1000; i++) {
        for (size_t j = 0; j < sizeof bytes; j++) bytes[j] = (char)roll(256);
        if (i % 2) memcpy(bytes, "GGUF\3\0\0\0", 8);
        if (i % 4 == 3) { /* small counts, so that keys are looked at */
            memset(bytes + 8, 0, 16);
            bytes[8] = (char)roll(3);
            bytes[16] = (char)roll(4);
        }
        open_whatever("random.gguf", bytes, (size_t)roll(sizeof bytes), &n_opened);
    }
    CHECK(n_opened < 1000);
}

/* ------------------------------------------------------ changed while open */

static struct gguf *open_sample(const char *name, char path[4096])
{
    struct buf b = sample();
    snprintf(path, 4096, "%s", gguf_make_write(name, b.data, b.len));
    buf_free(&b);
    struct gguf *g = gguf_open(path, NULL);
    CHECK(g);
    CHECK_EQ(gguf_unchanged(g, NULL), 0);
    return g;
}

TEST(a_file_that_shrinks_while_open_is_an_error_and_no_crash)
{
    char path[4096], data[64];
    struct gguf *g = open_sample("shrinks.gguf", path);
    const struct gguf_tensor *first = gguf_tensor(g, "token_embd.weight"), *t = gguf_tensor(g, "blk.0.attn_q.weight");
    struct err err = {0};
    CHECK_EQ(truncate(path, (off_t)t->offset + 3), 0);
    CHECK_EQ(gguf_read(g, first, 0, data, 64, &err), 0);
    CHECK_EQ(gguf_read(g, t, 0, data, 3, &err), 0);
    CHECK_EQ(gguf_read(g, t, 0, data, 64, &err), -1);
    CHECK(strstr(err.text, "shrinks.gguf: tensor \"blk.0.attn_q.weight\": the file now ends at or before byte"));
    CHECK_EQ(gguf_unchanged(g, &err), -1);
    CHECK(strstr(err.text, "shrinks.gguf: had ") && strstr(err.text, "open it again"));
    gguf_close(g);
}

TEST(a_file_that_is_written_while_open_is_noticed)
{
    char path[4096];
    struct err err = {0};
    struct gguf *g = open_sample("written.gguf", path);
    struct timespec then[2] = {{.tv_sec = 1000000000, .tv_nsec = 5}, {.tv_sec = 1000000000, .tv_nsec = 5}};
    CHECK_EQ(utimensat(AT_FDCWD, path, then, 0), 0);
    CHECK_EQ(gguf_unchanged(g, &err), -1);
    CHECK(strstr(err.text, "written.gguf: was written while being read"));
    gguf_close(g);

    g = gguf_open(path, NULL);
    CHECK(g);
    then[1].tv_nsec++; /* within the same second */
    CHECK_EQ(utimensat(AT_FDCWD, path, then, 0), 0);
    CHECK_EQ(gguf_unchanged(g, NULL), -1);
    gguf_close(g);

    g = open_sample("written.gguf", path);
    CHECK_EQ(truncate(path, 1 << 20), 0);
    CHECK_EQ(gguf_unchanged(g, &err), -1);
    CHECK(strstr(err.text, "has 1048576 now"));
    gguf_close(g);
}

TEST(a_file_that_is_replaced_while_open_goes_on_as_it_was)
{
    char path[4096], other[4200], data[10];
    struct gguf *g = open_sample("replaced.gguf", path);
    snprintf(other, sizeof other, "%s", gguf_make_write("other.gguf", "something else", 14));
    CHECK_EQ(rename(other, path), 0);
    CHECK_EQ(gguf_read(g, gguf_tensor(g, "output_norm.weight"), 0, data, 10, NULL), 0);
    CHECK_MEM(data, "0123456789", 10);
    CHECK_EQ(gguf_unchanged(g, NULL), 0);
    gguf_close(g);
}

/* ------------------------------------------------------ opened again */

/* Opens the path again and compares it with what it was. */
static int same_as(const struct gguf_stamp *then, const char *path, struct err *err)
{
    struct gguf *g = gguf_open(path, err);
    CHECK(g);
    int rc = gguf_same(g, then, err);
    gguf_close(g);
    return rc;
}

TEST(a_file_that_is_opened_again_is_the_same_until_it_is_changed_or_replaced)
{
    char path[4096], copy[4096];
    struct err err = {0};
    struct gguf *g = open_sample("again.gguf", path);
    struct gguf_stamp then = gguf_stamp(g);
    gguf_close(g);
    CHECK_EQ(same_as(&then, path, &err), 0);
    CHECK_EQ(truncate(path, (off_t)then.bytes + 64), 0);
    CHECK_EQ(same_as(&then, path, &err), -1);
    CHECK(strstr(err.text, "again.gguf: had ") && strstr(err.text, "when it was opened first"));
    CHECK_EQ(truncate(path, (off_t)then.bytes), 0); /* as long as before */
    then.mtime.tv_nsec ^= 1;
    CHECK_EQ(same_as(&then, path, &err), -1);
    CHECK(strstr(err.text, "was written since"));
    gguf_close(open_sample("copy.gguf", copy));
    CHECK_EQ(utimensat(AT_FDCWD, copy, (struct timespec[2]){then.mtime, then.mtime}, 0), 0);
    CHECK_EQ(rename(copy, path), 0);
    CHECK_EQ(same_as(&then, path, &err), -1);
    CHECK(strstr(err.text, "another file"));
}

/* Against what malloc says that it gave: each block has some bytes of malloc's own. */
TEST(gguf_bytes_are_those_that_a_handle_holds)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    enum { BLOCKS = 12, OVERHEAD = 32 };
    char path[4096];
    gguf_close(open_sample("held.gguf", path));
    size_t before = mallinfo2().uordblks;
    struct gguf *g = gguf_open(path, NULL);
    size_t after = mallinfo2().uordblks, says = (size_t)gguf_bytes(g);
    CHECK(after - before >= says && after - before <= says + BLOCKS * OVERHEAD);
    gguf_close(g);
#else
    SKIP("this allocator does not say what it gave");
#endif
}

CHECK_MAIN
