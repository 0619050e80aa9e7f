/* A device is asked once for all of an engine's memory, and the host for each part; what cannot be had leaves nothing
 * taken. */
#include "engine/slabs.h"
#include "tests/check.h"

enum { EACH = 512 };

/* A backend that takes nothing: it hands out addresses, and notes who has what. */
static struct {
    size_t taken[SLABS_PARTS];
    int asked, held, fail_at; /* fail_at: the time asked that fails, from 1 */
} there;
static char *const base = (char *)(uintptr_t)0x10000000;

static size_t slab_bytes(size_t bytes)
{
    return bytes > SIZE_MAX / 2 ? SIZE_MAX : (size_t)size_align(MAX(bytes, 1), EACH);
}

static void *take(struct kdev *d, size_t bytes, struct err *err)
{
    (void)d;
    if (++there.asked == there.fail_at) {
        err_set(err, -1, "no memory");
        return NULL;
    }
    CHECK(there.held < SLABS_PARTS);
    there.taken[there.held] = bytes;
    return base + ((size_t)there.held++ << 40);
}

static void give(struct kdev *d, void *slab, size_t bytes)
{
    (void)d;
    there.held--;
    CHECK_EQ(bytes, there.taken[there.held]);
    CHECK(slab == base + ((size_t)there.held << 40));
}

static int memory(struct kdev *d, uint64_t *free_bytes, uint64_t *all, struct err *err)
{
    (void)d, (void)err;
    *free_bytes = *all = UINT64_MAX;
    return 0;
}

static struct kern backend(bool device)
{
    memset(&there, 0, sizeof there);
    return (struct kern){.take = take, .give = give, .slab_bytes = slab_bytes, .memory = device ? memory : NULL};
}

static const size_t sizes[SLABS_PARTS] = {[SLABS_WEIGHTS] = 1000, [SLABS_WORK] = 1, [SLABS_KV] = 1024};

TEST(a_device_is_asked_once_for_what_the_parts_sum_up_to)
{
    const struct kern k = backend(true);
    struct slabs s;
    struct err err = {0};
    CHECK_EQ(slabs_take(&s, &k, NULL, sizes, &err), 0);
    CHECK_EQ(there.asked, 1);
    CHECK_EQ(there.taken[0], 1024 + 512 + 1024);
    CHECK(s.dev[SLABS_WEIGHTS] == base && s.dev[SLABS_WORK] == base + 1024 && s.dev[SLABS_KV] == base + 1536);
    slabs_give(&s, &k, NULL);
    CHECK_EQ(there.held, 0);
    slabs_give(&s, &k, NULL); /* there is nothing to give */
}

TEST(the_host_is_asked_for_each_part)
{
    const struct kern k = backend(false);
    struct slabs s;
    struct err err = {0};
    CHECK_EQ(slabs_take(&s, &k, NULL, sizes, &err), 0);
    CHECK_EQ(there.asked, SLABS_PARTS);
    for (int i = 0; i < SLABS_PARTS; i++) {
        CHECK_EQ(there.taken[i], sizes[i]);
        CHECK(s.dev[i] == base + ((size_t)i << 40));
    }
    slabs_give(&s, &k, NULL);
    CHECK_EQ(there.held, 0);
}

TEST(what_cannot_be_had_leaves_nothing_taken)
{
    for (int device = 0; device <= 1; device++)
        for (int at = 1; at <= (device ? 1 : SLABS_PARTS); at++) {
            const struct kern k = backend(device);
            struct slabs s;
            struct err err = {0};
            there.fail_at = at;
            CHECK_EQ(slabs_take(&s, &k, NULL, sizes, &err), -1);
            CHECK_STR(err.text, "no memory");
            CHECK_EQ(there.held, 0);
            for (int i = 0; i < SLABS_PARTS; i++) CHECK(!s.dev[i] && !s.taken[i].dev);
        }
}

TEST(sizes_that_overflow_are_refused_before_anything_is_asked)
{
    static const size_t huge[][SLABS_PARTS] = {
        {SIZE_MAX, 1, 1}, {1, SIZE_MAX, 1}, {1, 1, SIZE_MAX}, {SIZE_MAX / 2, SIZE_MAX / 2, SIZE_MAX / 2},
        {PTRDIFF_MAX - EACH, EACH, 1}};
    const struct kern k = backend(true);
    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        struct slabs s;
        struct err err = {0};
        CHECK_EQ(slabs_take(&s, &k, NULL, huge[i], &err), -1);
        CHECK(strstr(err.text, "overflow"));
    }
    CHECK_EQ(there.asked, 0);
}

CHECK_MAIN
