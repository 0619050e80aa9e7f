/* Memory that is said to be there is there. */
#define _DEFAULT_SOURCE
#include "engine/touch.h"
#include "tests/check.h"
#include <sys/mman.h>
#include <unistd.h>

static bool resident(unsigned char *slab, size_t bytes)
{
    static unsigned char is[(256 << 20) / 4096];
    CHECK(bytes / 4096 <= sizeof is);
    CHECK_EQ(mincore(slab, bytes, is), 0);
    for (size_t i = 0; i < bytes / 4096; i++)
        if (!(is[i] & 1)) return false;
    return true;
}

static unsigned char *map(size_t bytes)
{
    unsigned char *slab = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(slab != MAP_FAILED);
    return slab;
}

TEST(touch_says_only_what_is_there_and_ends_with_all_of_it)
{
    const size_t bytes = 256 << 20;
    unsigned char *slab = map(bytes);
    struct touch t;
    size_t done = 0;
    int steps = 0;
    CHECK(!resident(slab, bytes));
    CHECK_EQ(touch_open(&t, slab, bytes, NULL), 0);
    while (done < bytes) {
        size_t before = done;
        done = touch_wait(&t, done);
        CHECK(done > before && done <= bytes && resident(slab, done));
        steps++;
    }
    CHECK(steps > 1 && touch_wait(&t, bytes) == bytes); /* all are: it does not wait for more */
    touch_close(&t);
    munmap(slab, bytes);
}

TEST(touch_stops_when_it_is_closed)
{
    const size_t bytes = 64 << 20;
    unsigned char *slab = map(bytes);
    struct touch t;
    CHECK_EQ(touch_open(&t, slab, bytes, NULL), 0);
    touch_close(&t);
    touch_close(&t); /* fine */
    munmap(slab, bytes); /* nobody writes to it any more */
    struct touch none = {0};
    touch_close(&none);
}

CHECK_MAIN
