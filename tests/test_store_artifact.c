/* test_store_artifact.c - big texts in chunks: any part of them back, and nothing of one that is damaged or a bomb. */
#include "tests/store_rig.h"
#include <zstd.h>


static struct store *fresh(void) { return open_at(fresh_dir()); }

static char *noise(size_t n)
{
    uint64_t x = 88172645463325252u;
    char *bytes = malloc(n + 1);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bytes[i] = (char)x;
    }
    return bytes;
}

static void put(struct store *s, uint64_t id, const void *bytes, size_t n)
{
    store_begin(s, STORE_JOURNAL);
    OK(store_put_artifact(s, ada, id, bytes, n, &err));
    OK(store_commit(s, &err));
}

static void put_record(struct store *s, const struct store_key *key, enum rec_kind kind, const void *bytes, size_t n)
{
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, key, kind, bytes, n, &err));
    OK(store_commit(s, &err));
}

/* Nothing is given, and err says why. */
static void check_damaged(struct store *s, uint64_t id, uint64_t offset, size_t n, const char *part)
{
    struct buf out = {0};
    buf_puts(&out, "kept");
    CHECK_EQ(store_read_artifact(s, ada, id, offset, n, &out, &err), STORE_DAMAGED);
    if (!strstr(err.text, part)) CHECK_STR(err.text, part);
    CHECK_EQ(out.len, 4);
    CHECK(out.cap < 100000);
    buf_free(&out);
}

TEST(artifacts_of_any_size_come_back_whole)
{
    static const size_t sizes[] = {0, 1, STORE_CHUNK - 1, STORE_CHUNK, STORE_CHUNK + 1, 3 * STORE_CHUNK, 200001};
    struct store *s = fresh();
    char *bytes = noise(200001);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct buf out = {0};
        uint64_t n;
        put(s, i, bytes, sizes[i]);
        OK(store_artifact_size(s, ada, i, &n, &err));
        CHECK_EQ(n, sizes[i]);
        OK(store_read_artifact(s, ada, i, 0, SIZE_MAX, &out, &err));
        CHECK_EQ(out.len, sizes[i]);
        if (out.len) CHECK_MEM(out.data, bytes, out.len);
        buf_free(&out);
    }
    free(bytes);
    store_close(s);
}

TEST(any_part_of_an_artifact_is_read)
{
    enum { ALL = 100000 };
    static const struct { uint64_t offset; size_t n; } part[] = {
        {0, 0}, {0, 10}, {15999, 2}, {16000, 16000}, {1, 99998}, {99999, 1}, {99999, 50}, {100000, 5}, {UINT64_MAX, 5}};
    struct store *s = fresh();
    char *bytes = noise(ALL);
    put(s, 1, bytes, ALL);
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        struct buf out = {0};
        uint64_t from = MIN(part[i].offset, ALL);
        OK(store_read_artifact(s, ada, 1, part[i].offset, part[i].n, &out, &err));
        CHECK_EQ(out.len, MIN(part[i].n, ALL - from));
        if (out.len) CHECK_MEM(out.data, bytes + from, out.len);
        buf_free(&out);
    }
    free(bytes);
    store_close(s);
}

TEST(texts_take_less_room_than_they_are_long)
{
    struct store *s = fresh();
    struct store_stat before, after;
    struct buf text = {0};
    for (int i = 0; i < 20000; i++) buf_printf(&text, "line %d: the pump at station %d is well\n", i, i % 7);
    put(s, 0, "x", 1);
    OK(store_stat(s, STORE_JOURNAL, &before, &err));
    put(s, 1, text.data, text.len);
    OK(store_stat(s, STORE_JOURNAL, &after, &err));
    CHECK(after.used_bytes - before.used_bytes < text.len / 2);
    buf_free(&text);
    store_close(s);
}

/* A chunk of a few kilobytes that would become 100 MB. */
TEST(a_decompression_bomb_is_refused)
{
    size_t huge = 100 << 20, cap = ZSTD_compressBound(huge);
    char *zeros = calloc(1, huge), *bomb = malloc(cap);
    CHECK(zeros && bomb);
    size_t n = ZSTD_compress(bomb, cap, zeros, huge, 1);
    CHECK(!ZSTD_isError(n) && n < 100000);
    struct store *s = fresh();
    struct store_key key = store_key_chunk(ada, 1, 0);
    put(s, 1, zeros, 20000);
    put_record(s, &key, REC_CHUNK, bomb, n);
    check_damaged(s, 1, 0, 20000, "artifact 1 is damaged");
    check_damaged(s, 1, 5, 10, "artifact 1 is damaged");
    free(zeros);
    free(bomb);
    store_close(s);
}

TEST(a_head_that_claims_exabytes_is_refused)
{
    struct store *s = fresh();
    struct store_key key = store_key_artifact(ada, 1);
    uint8_t head[12];
    uint64_t n;
    memset(head, 0xff, sizeof head);
    put_record(s, &key, REC_ARTIFACT, head, sizeof head);
    check_damaged(s, 1, 0, 10, "1 GiB");
    CHECK_EQ(store_artifact_size(s, ada, 1, &n, &err), STORE_DAMAGED);
    put_record(s, &key, REC_ARTIFACT, head, 5);
    check_damaged(s, 1, 0, 10, "head");
    store_close(s);
}

TEST(a_chunk_that_is_missing_short_or_of_another_artifact_is_noticed)
{
    struct store *s = fresh();
    struct store_key key = store_key_chunk(ada, 1, 1);
    char *bytes = noise(50000), packed[20000];
    struct buf out = {0};
    put(s, 1, bytes, 50000);
    store_begin(s, STORE_JOURNAL);
    OK(store_remove(s, &key, &err));
    OK(store_commit(s, &err));
    check_damaged(s, 1, 0, 50000, "missing");
    OK(store_read_artifact(s, ada, 1, 32000, 100, &out, &err)); /* the parts that are there are read */
    CHECK_MEM(out.data, bytes + 32000, 100);
    buf_free(&out);

    size_t n = ZSTD_compress(packed, sizeof packed, bytes, 100, 1);
    put_record(s, &key, REC_CHUNK, packed, n);
    check_damaged(s, 1, 0, 50000, "shorter");
    put_record(s, &key, REC_CHUNK, "not zstd at all", 15);
    check_damaged(s, 1, 0, 50000, "artifact 1 is damaged");

    n = ZSTD_compress(packed, sizeof packed, bytes, STORE_CHUNK, 1); /* chunk 0 in the place of chunk 1 */
    CHECK(!ZSTD_isError(n));
    put_record(s, &key, REC_CHUNK, packed, n);
    check_damaged(s, 1, 0, 50000, "all of it");
    free(bytes);
    store_close(s);
}

CHECK_MAIN
