/* Blocks inside one slab: where the model says, as long as it says, never over another, and nothing is ever lost. */
#include "engine/arena.h"
#include "tests/check.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#endif
#ifdef UNDER_ASAN
#include <sanitizer/asan_interface.h>
enum { OPERATIONS = 100000 };
#else
enum { OPERATIONS = 1000000 };
#endif

enum { G = ARENA_ALIGN, GUARD = 256, MOST_UNITS = 8192 };

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t n) { return (size_t)(next_random(state) % n); }

/* ------------------------------------------------------------------ a slab between guards */

struct slab {
    unsigned char *raw, *mem; /* GUARD bytes on either side of mem */
    size_t bytes;
    struct arena a;
};

static struct slab slab_open(size_t skip, size_t bytes)
{
    struct slab s = {.bytes = bytes};
    s.raw = aligned_alloc(G, size_align(GUARD + skip + bytes + GUARD, G));
    CHECK(s.raw != NULL);
    memset(s.raw, 0xa5, GUARD + skip + bytes + GUARD);
    s.mem = s.raw + GUARD + skip;
    arena_open(&s.a, s.mem, bytes);
    return s;
}

static void sound(const struct slab *s)
{
    struct err err = {0};
    if (arena_check(&s->a, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    for (const unsigned char *p = s->raw; p < s->mem; p++) CHECK_EQ(*p, 0xa5);
    for (int i = 0; i < GUARD; i++) CHECK_EQ(s->mem[s->bytes + (size_t)i], 0xa5);
}

static void one_hole(const struct slab *s)
{
    sound(s);
    CHECK_EQ(arena_used(&s->a), 0);
    CHECK_EQ(arena_blocks(&s->a), 0);
    CHECK_EQ(arena_largest(&s->a), arena_bytes(&s->a) - G);
}

static void slab_close(struct slab *s)
{
    one_hole(s);
    free(s->raw);
}

/* ------------------------------------------------------------------ by hand */

TEST(arena_of_the_sum_of_needs_holds_these_blocks_and_not_a_byte_more)
{
    static const size_t size[] = {0, 1, 63, 64, 65, 128, 1000, 4096};
    void *p[COUNT_OF(size)];
    size_t sum = 0;
    CHECK_EQ(arena_need(0), 128);
    CHECK_EQ(arena_need(64), 128);
    CHECK_EQ(arena_need(65), 192);
    for (size_t i = 0; i < COUNT_OF(size); i++) sum += arena_need(size[i]);
    struct slab s = slab_open(0, sum);
    CHECK_EQ(arena_bytes(&s.a), sum);
    for (size_t i = 0; i < COUNT_OF(size); i++) CHECK((p[i] = arena_take(&s.a, size[i])) != NULL);
    CHECK_EQ(arena_used(&s.a), sum);
    CHECK_EQ(arena_blocks(&s.a), COUNT_OF(size));
    CHECK_EQ(arena_largest(&s.a), 0);
    CHECK(arena_take(&s.a, 0) == NULL);
    sound(&s);
    for (size_t i = 0; i < COUNT_OF(size); i++) arena_give(&s.a, p[i]);
    slab_close(&s);
}

TEST(arena_takes_from_the_lowest_hole_that_is_large_enough)
{
    struct slab s = slab_open(0, 64 * G);
    void *a = arena_take(&s.a, 2 * G), *b = arena_take(&s.a, 1), *c = arena_take(&s.a, 4 * G), *d = arena_take(&s.a, 1);
    CHECK((unsigned char *)a == s.mem + G);
    CHECK((unsigned char *)b == s.mem + 4 * G);
    arena_give(&s.a, c);
    arena_give(&s.a, a);
    CHECK(arena_take(&s.a, 3 * G) == c); /* 3 fit not where a was; the first 4 of c's 5 go */
    CHECK(arena_take(&s.a, 1) == a);     /* 2 of 3, and a header alone is left */
    sound(&s);
    CHECK(arena_take(&s.a, 1) > d);
    arena_give(&s.a, a);
    CHECK(arena_take(&s.a, 2 * G) == a); /* what was left has come back */
    arena_open(&s.a, s.mem, s.bytes);    /* all forgotten */
    slab_close(&s);
}

static void give_in_order(const int *order, int n)
{
    void *p[8];
    struct slab s = slab_open(0, 64 * G);
    for (int i = 0; i < n; i++) p[i] = arena_take(&s.a, (size_t)(i + 1) * 50);
    for (int i = 0; i < n; i++) {
        arena_give(&s.a, p[order[i]]);
        sound(&s);
    }
    slab_close(&s);
}

static void every_order(int *order, int fixed, int n)
{
    if (fixed == n) give_in_order(order, n);
    for (int i = fixed; i < n; i++) {
        int was = order[fixed];
        order[fixed] = order[i];
        order[i] = was;
        every_order(order, fixed + 1, n);
        order[i] = order[fixed];
        order[fixed] = was;
    }
}

TEST(arena_is_one_hole_again_whatever_the_order_of_giving_back)
{
    int order[] = {0, 1, 2, 3, 4};
    every_order(order, 0, 5);
}

TEST(arena_with_every_other_block_given_back_still_loses_nothing)
{
    enum { N = 4096 };
    static void *p[N];
    struct slab s = slab_open(0, N * 2 * G);
    for (int i = 0; i < N; i++) CHECK((p[i] = arena_take(&s.a, G)) != NULL);
    CHECK_EQ(arena_largest(&s.a), 0);
    for (int i = 0; i < N; i += 2) arena_give(&s.a, p[i]);
    CHECK_EQ(arena_used(&s.a), N * G);
    CHECK_EQ(arena_largest(&s.a), G); /* half is free, and none of it in one piece */
    CHECK(arena_take(&s.a, G + 1) == NULL);
    sound(&s);
    for (int i = 0; i < N; i += 2) CHECK(arena_take(&s.a, G) == p[i]);
    for (int i = N; i-- > 0;) arena_give(&s.a, p[i]);
    slab_close(&s);
}

/* ------------------------------------------------------------------ hostile sizes */

TEST(arena_refuses_sizes_that_no_slab_can_have)
{
    static const size_t size[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 63, SIZE_MAX - 64, SIZE_MAX - 127, SIZE_MAX - 128,
                                  SIZE_MAX - 129, SIZE_MAX / 2, 64 * G - G + 1};
    struct slab s = slab_open(0, 64 * G);
    for (size_t i = 0; i < COUNT_OF(size); i++) {
        CHECK(arena_need(size[i]) > MIN(size[i], SIZE_MAX - 1));
        CHECK(arena_take(&s.a, size[i]) == NULL);
        one_hole(&s);
    }
    arena_give(&s.a, NULL);
    void *all = arena_take(&s.a, 63 * G);
    CHECK(all != NULL);
    arena_give(&s.a, all);
    slab_close(&s);
}

TEST(arena_of_every_small_size_and_alignment_stays_inside)
{
    for (size_t skip = 0; skip < G; skip++) {
        for (size_t bytes = 0; bytes < 5 * G; bytes++) {
            struct slab s = slab_open(skip, bytes);
            size_t lost = (G - skip) % G, whole = bytes >= lost + 2 * G ? (bytes - lost) / G * G : 0;
            CHECK_EQ(arena_bytes(&s.a), whole);
            CHECK_EQ(arena_largest(&s.a), whole ? whole - G : 0);
            unsigned char *p = arena_take(&s.a, whole ? whole - G : 1);
            CHECK((p != NULL) == (whole != 0));
            if (p) memset(p, 0x11, whole - G);
            CHECK(arena_take(&s.a, 1) == NULL);
            sound(&s);
            free(s.raw);
        }
    }
    struct arena none;
    arena_open(&none, NULL, 0);
    CHECK(arena_take(&none, 1) == NULL);
    CHECK_EQ(arena_bytes(&none) + arena_used(&none) + arena_largest(&none) + arena_blocks(&none), 0);
    CHECK_EQ(arena_check(&none, NULL), 0);
}

/* ------------------------------------------------------------------ a caller's bugs */

/* Does giving p end the process? */
static bool dies(struct arena *a, void *p)
{
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        arena_give(a, p);
        _exit(0);
    }
    int status = 0;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

TEST(arena_give_of_what_was_not_taken_is_an_assertion)
{
    struct slab s = slab_open(0, 64 * G);
    struct slab other = slab_open(0, 64 * G);
    unsigned char *a = arena_take(&s.a, 4 * G), *b = arena_take(&s.a, G), *c = arena_take(&s.a, G);
    unsigned char *foreign = arena_take(&other.a, G);
    int here;
    CHECK(!dies(&s.a, a) && !dies(&s.a, b) && !dies(&s.a, NULL));
    memcpy(a, b - G, G); /* headers as they were elsewhere: b's, and after its 128 bytes c's */
    memcpy(a + 2 * G, c - G, G);
    CHECK(dies(&s.a, a + G) && dies(&s.a, a + 2 * G) && dies(&s.a, a + 1));
    CHECK(dies(&s.a, s.mem) && dies(&s.a, s.mem + s.bytes) && dies(&s.a, s.mem - G) && dies(&s.a, &here));
    CHECK(dies(&s.a, foreign));
    arena_give(&s.a, b);
    CHECK(dies(&s.a, b)); /* a hole by itself */
    arena_give(&s.a, a);
    CHECK(dies(&s.a, a) && dies(&s.a, b)); /* b is in the midst of a hole */
    arena_give(&s.a, c);
    CHECK(dies(&s.a, c));
    arena_give(&other.a, foreign);
    slab_close(&other);
    slab_close(&s);
}

TEST(arena_check_finds_a_header_that_was_overwritten)
{
    struct slab s = slab_open(0, 64 * G);
    unsigned char *a = arena_take(&s.a, G), *b = arena_take(&s.a, G);
    struct err err = {0};
    for (size_t i = 0; i < 24; i++) { /* tag, length, the length before */
        unsigned char *byte = b - G + i, was = *byte;
        *byte ^= 0x40;
        if (!arena_check(&s.a, &err)) check_fail(__FILE__, __LINE__, "byte %zu of a header is not looked at", i);
        *byte = was;
    }
    s.a.used++;
    CHECK_EQ(arena_check(&s.a, &err), -1);
    s.a.used--;
    s.a.blocks++;
    CHECK_EQ(arena_check(&s.a, &err), -1);
    s.a.blocks--;
    arena_give(&s.a, a);
    arena_give(&s.a, b);
    slab_close(&s);
}

#ifdef UNDER_ASAN
TEST(arena_memory_that_no_one_holds_is_poisoned)
{
    struct slab s = slab_open(0, 64 * G);
    unsigned char *a = arena_take(&s.a, 100), *b = arena_take(&s.a, 64);
    CHECK(!__asan_region_is_poisoned(a, 100));
    CHECK(__asan_address_is_poisoned(a + 100) && __asan_address_is_poisoned(a + 127));
    CHECK(__asan_address_is_poisoned(b + 64 + G)); /* after the header of the hole above */
    arena_give(&s.a, a);
    CHECK(__asan_address_is_poisoned(a) && __asan_address_is_poisoned(a + 99) && !__asan_address_is_poisoned(b));
    arena_give(&s.a, b);
    CHECK(__asan_address_is_poisoned(b - G)); /* a header no more */
    slab_close(&s);
}
#endif

/* ------------------------------------------------------------------ against a plain model */

/* The slab as units of 64 bytes, each with the number of the block it is in, header included; 0: in none. */
struct model {
    uint16_t owner[MOST_UNITS];
    size_t units, used, blocks;
    struct model_block { unsigned char *p; size_t bytes, unit, units; } block[MOST_UNITS / 2 + 1]; /* [0] is unused */
};

/* The first of the lowest run of at least `want` free units; units if there is none.  *longest: of all runs. */
static size_t model_find(const struct model *m, size_t want, size_t *longest)
{
    size_t found = m->units, run = 0;
    *longest = 0;
    for (size_t u = 0; u < m->units; u++) {
        run = m->owner[u] ? 0 : run + 1;
        if (run > *longest) *longest = run;
        if (run == want && found == m->units) found = u + 1 - run;
    }
    return found;
}

static unsigned char pattern(size_t number, size_t i) { return (unsigned char)(number * 31 + i * 7 + (i >> 8)); }

static void model_own(struct model *m, size_t number, size_t owner)
{
    const struct model_block *b = &m->block[number];
    for (size_t u = b->unit; u < b->unit + b->units; u++) {
        if (m->owner[u] != (owner ? 0 : number)) check_fail(__FILE__, __LINE__, "unit %zu is another's", u);
        m->owner[u] = (uint16_t)owner;
    }
}

static void take_both(struct model *m, struct slab *s, size_t number, size_t bytes)
{
    struct model_block *b = &m->block[number];
    size_t units = 1 + (bytes == 0 ? 1 : bytes / G + (bytes % G != 0)), longest;
    size_t unit = model_find(m, units, &longest);
    CHECK_EQ(arena_largest(&s->a), longest ? (longest - 1) * G : 0);
    unsigned char *p = arena_take(&s->a, bytes);
    if (unit == m->units) {
        CHECK(p == NULL);
        return;
    }
    CHECK(p == s->a.slab + (unit + 1) * G);
    CHECK_EQ((uintptr_t)p % G, 0);
    *b = (struct model_block){.p = p, .bytes = bytes, .unit = unit, .units = units};
    model_own(m, number, number);
    m->used += units * G;
    m->blocks++;
    for (size_t i = 0; i < bytes; i++) p[i] = pattern(number, i);
}

static void give_both(struct model *m, struct slab *s, size_t number)
{
    struct model_block *b = &m->block[number];
    size_t wrong = 0;
    for (size_t i = 0; i < b->bytes; i++) wrong += b->p[i] != pattern(number, i);
    CHECK_EQ(wrong, 0);
    arena_give(&s->a, b->p);
    model_own(m, number, 0);
    m->used -= b->units * G;
    m->blocks--;
    b->p = NULL;
}

static void figures_agree(const struct model *m, const struct slab *s)
{
    CHECK_EQ(arena_used(&s->a), m->used);
    CHECK_EQ(arena_blocks(&s->a), m->blocks);
    CHECK_EQ(arena_bytes(&s->a), m->units * G);
}

/* `slots` blocks at most at once, of up to `most` bytes; a slot drawn at random is taken or given. */
static void random_walk(int operations, size_t units, size_t slots, size_t most, uint64_t seed)
{
    static struct model m;
    size_t skip = below(&seed, G), tail = below(&seed, G);
    m = (struct model){.units = units};
    struct slab s = slab_open(skip, (G - skip) % G + units * G + tail);
    CHECK(units <= MOST_UNITS && slots < COUNT_OF(m.block));
    for (int i = 0; i < operations; i++) {
        size_t number = 1 + below(&seed, slots);
        if (m.block[number].p) give_both(&m, &s, number);
        else take_both(&m, &s, number, below(&seed, 4) ? below(&seed, most / 8 + 1) : below(&seed, most + 1));
        figures_agree(&m, &s);
        if (i % 256 == 0) sound(&s);
    }
    for (size_t number = 1; number <= slots; number++)
        if (m.block[number].p) give_both(&m, &s, number);
    slab_close(&s);
}

TEST(arena_does_as_a_plain_model_for_a_million_takes_and_gives)
{
    random_walk(OPERATIONS / 2, 512, 60, 3000, 1);      /* as requests are: half full */
    random_walk(OPERATIONS / 4, 256, 100, 1500, 2);     /* mostly too full */
    random_walk(OPERATIONS / 5, 64, 20, 200, 3);        /* small and dense */
    random_walk(OPERATIONS / 20, 8192, 3000, 400, 4);   /* thousands of blocks */
}

CHECK_MAIN
