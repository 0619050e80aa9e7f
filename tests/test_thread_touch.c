/* Memory that is said to be there is there. */
#define _DEFAULT_SOURCE
#include "engine/maker.h"
#include "engine/sched_impl.h"
#include "engine/touch.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
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

/* What touches memory writes to it, and what is in a page of a run lies anywhere among the run's bytes. */
TEST(pages_of_a_run_are_there_only_when_all_of_it_is)
{
    enum { PAGE_BYTES = 3 * 2 * 2 * KERN_PAGE * 16 * 2, PAGES = (96 << 20) / PAGE_BYTES / 16 * 16 + 5 };
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    t.layers = 3; /* so that the stretches in which memory is touched do not end with runs */
    const struct engine_config cfg = {.model = tiny_file(&t, NULL, "runs.gguf"), .kern = {.threads = 1},
                                      .kv_type = KT_F16, .ctx = 512, .max_seqs = 2, .template = -1,
                                      .pool_tokens = PAGES * KERN_PAGE, .vram = 256 << 20};
    struct engine *e = engine_local.open(&cfg, &err);
    CHECK_STR(err.text, "");
    const struct runner *r = &e->sched->cfg.runner;
    const int all = e->sched->cfg.group[0].pages, run = kern_cpu()->page_run;
    CHECK_EQ(r->page_bytes, PAGE_BYTES);
    CHECK_EQ(all, PAGES);
    CHECK(run > 1 && all % run);
    for (int there = 0; there < all;) {
        const int now = r->usable_pages(r->self, 0, true, there);
        CHECK(now > there && now <= all);
        CHECK(now == all || now % run == 0);
        there = now;
    }
    engine_local.close(e);
}

/* Pages of layers with a window of their own lie in front of the pool's, in one slab. */
TEST(pages_of_the_pool_are_there_only_when_those_of_local_layers_are)
{
    const struct tiny t = {.arch = "gemma3", .layers = 30, .embd = 64, .heads = 4, .kv_heads = 4, .ff = 96,
                           .type = KT_F32, .tied = true, .seed = 1, .window = 400};
    struct err err = {0};
    const struct engine_config cfg = {.model = tiny_file(&t, NULL, "local.gguf"), .kern = {.threads = 1},
                                      .kv_type = KT_F16, .ctx = 512, .max_seqs = 32, .template = -1,
                                      .vram = 512 << 20};
    struct engine *e = engine_local.open(&cfg, &err);
    CHECK_STR(err.text, "");
    const struct runner *r = &e->sched->cfg.runner;
    const struct kv_group *g = e->sched->cfg.group;
    CHECK(engine_local.info(e)->kv_local_bytes > 64 << 20); /* some stretches */
    CHECK(r->usable_pages(r->self, 0, true, 0) > 0);
    CHECK_EQ(r->usable_pages(r->self, 1, false, 0), g[1].pages);
    for (int there = 0; there < g[0].pages;) {
        const int now = r->usable_pages(r->self, 0, true, there);
        CHECK(now > there && now <= g[0].pages);
        there = now;
    }
    engine_local.close(e);
}

CHECK_MAIN
