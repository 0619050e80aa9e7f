/* arena.c - blocks that know their neighbours, and the holes among them in a list by address. */
#include "engine/arena.h"

/* Under AddressSanitizer what no one holds is poisoned, so that a use after give is found as one after free is. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#endif
#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
static void poison(void *p, size_t n) { __asan_poison_memory_region(p, n); }
static void unpoison(void *p, size_t n) { __asan_unpoison_memory_region(p, n); }
#else
static void poison(void *p, size_t n) { (void)p, (void)n; }
static void unpoison(void *p, size_t n) { (void)p, (void)n; }
#endif

enum { HEADER = ARENA_ALIGN };
#define TAKEN UINT64_C(0x74616b656e0a1b2c)
#define HOLE UINT64_C(0x686f6c650a1b2c3d)

/* lower and higher are a hole's neighbours in the list; in a taken block they mean nothing. */
struct arena_block {
    _Alignas(ARENA_ALIGN) uint64_t tag; /* mixed with its own address: a copy of a header is none */
    size_t bytes;                       /* header included; a multiple of 64, and a hole may be a header alone */
    size_t before;                      /* bytes of the block that ends here; 0: this is the first */
    struct arena_block *lower, *higher;
};
_Static_assert(sizeof(struct arena_block) == HEADER, "a header keeps what follows it aligned");

/* ------------------------------------------------------------------ neighbours */

static uint64_t tag_of(const struct arena_block *b, uint64_t word) { return word ^ (uintptr_t)b; }
static bool is_hole(const struct arena_block *b) { return b && b->tag == tag_of(b, HOLE); }

static struct arena_block *at(const struct arena *a, size_t offset)
{
    return (struct arena_block *)(void *)(a->slab + offset);
}

static size_t offset_of(const struct arena *a, const struct arena_block *b)
{
    return (size_t)((const unsigned char *)b - a->slab);
}

static struct arena_block *block_after(const struct arena *a, const struct arena_block *b)
{
    size_t end = offset_of(a, b) + b->bytes;
    return end < a->bytes ? at(a, end) : NULL;
}

static struct arena_block *block_before(const struct arena *a, const struct arena_block *b)
{
    return b->before ? at(a, offset_of(a, b) - b->before) : NULL;
}

/* b is that long from now on. */
static void resize(const struct arena *a, struct arena_block *b, size_t bytes)
{
    b->bytes = bytes;
    struct arena_block *next = block_after(a, b);
    if (next) next->before = bytes;
}

/* ------------------------------------------------------------------ the list of holes */

/* The list has b after lower (NULL: as the first). */
static void link_hole(struct arena *a, struct arena_block *b, struct arena_block *lower)
{
    b->tag = tag_of(b, HOLE);
    b->lower = lower;
    b->higher = lower ? lower->higher : a->holes;
    if (b->higher) b->higher->lower = b;
    if (lower) lower->higher = b;
    else a->holes = b;
}

static void unlink_hole(struct arena *a, struct arena_block *b)
{
    if (b->higher) b->higher->lower = b->lower;
    if (b->lower) b->lower->higher = b->higher;
    else a->holes = b->higher;
}

/* The hole next below b, or NULL: a neighbour knows; else the list is walked. */
static struct arena_block *hole_below(const struct arena *a, const struct arena_block *b)
{
    struct arena_block *before = block_before(a, b), *after = block_after(a, b), *lower = NULL;
    if (is_hole(before)) return before;
    if (is_hole(after)) return after->lower;
    for (struct arena_block *h = a->holes; h && h < b; h = h->higher) lower = h;
    return lower;
}

/* The hole `next`, which follows the hole b in memory, becomes a part of it.  Its tag stays a hole's until a caller
 * writes there, so giving it once more is seen. */
static void absorb(struct arena *a, struct arena_block *b, struct arena_block *next)
{
    unlink_hole(a, next);
    resize(a, b, b->bytes + next->bytes);
    poison(next, HEADER);
}

/* ------------------------------------------------------------------ take and give */

void arena_open(struct arena *a, void *mem, size_t bytes)
{
    size_t skip = (size_t)(-(uintptr_t)mem % ARENA_ALIGN);
    *a = (struct arena){0};
    if (!mem || bytes < skip + 2 * HEADER) return;
    a->slab = (unsigned char *)mem + skip;
    a->bytes = (bytes - skip) / ARENA_ALIGN * ARENA_ALIGN;
    poison(a->slab, a->bytes);
    struct arena_block *all = at(a, 0);
    unpoison(all, HEADER);
    *all = (struct arena_block){.bytes = a->bytes};
    link_hole(a, all, NULL);
}

size_t arena_need(size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * HEADER) return SIZE_MAX;
    return HEADER + (size_t)size_align(MAX(bytes, 1), ARENA_ALIGN);
}

void *arena_take(struct arena *a, size_t bytes)
{
    size_t need = arena_need(bytes);
    struct arena_block *b = a->holes;
    while (b && b->bytes < need) b = b->higher;
    if (!b) return NULL;
    if (b->bytes > need) {
        struct arena_block *rest = at(a, offset_of(a, b) + need);
        unpoison(rest, HEADER);
        *rest = (struct arena_block){.bytes = b->bytes - need};
        resize(a, rest, rest->bytes);
        resize(a, b, need);
        link_hole(a, rest, b);
    }
    unlink_hole(a, b);
    b->tag = tag_of(b, TAKEN);
    a->used += need;
    a->blocks++;
    unpoison(b + 1, MAX(bytes, 1));
    return b + 1;
}

void arena_give(struct arena *a, void *p)
{
    if (!p) return;
    uintptr_t offset = (uintptr_t)p - (uintptr_t)a->slab;
    assert(a->slab && offset >= HEADER && offset < a->bytes && offset % ARENA_ALIGN == 0 && "not of this arena");
    struct arena_block *b = at(a, offset - HEADER);
    assert(b->tag == tag_of(b, TAKEN) && "given twice, or never taken, or its header was overwritten");
    struct arena_block *next = block_after(a, b), *before = block_before(a, b);
    assert((!next || next->before == b->bytes) && "written past its end");
    a->used -= b->bytes;
    a->blocks--;
    poison(p, b->bytes - HEADER);
    link_hole(a, b, hole_below(a, b));
    if (is_hole(next)) absorb(a, b, next);
    if (is_hole(before)) absorb(a, before, b);
}

/* ------------------------------------------------------------------ figures */

size_t arena_bytes(const struct arena *a) { return a->bytes; }
size_t arena_used(const struct arena *a) { return a->used; }
size_t arena_blocks(const struct arena *a) { return a->blocks; }

size_t arena_largest(const struct arena *a)
{
    size_t most = HEADER;
    for (const struct arena_block *h = a->holes; h; h = h->higher) most = MAX(most, h->bytes);
    return most - HEADER;
}

/* A length that was overwritten may lead into poisoned memory: that shall be reported, not crash. */
__attribute__((no_sanitize("address"))) int arena_check(const struct arena *a, struct err *err)
{
    const struct arena_block *hole = a->holes, *last_hole = NULL, *last = NULL;
    size_t used = 0, blocks = 0, o = 0;
    for (; o < a->bytes; o += last->bytes) {
        const struct arena_block *b = at(a, o);
        if (b->bytes < HEADER || b->bytes % ARENA_ALIGN || b->bytes > a->bytes - o)
            return err_set(err, -1, "the block at %zu cannot be %zu bytes long", o, b->bytes);
        if (b->before != (last ? last->bytes : 0))
            return err_set(err, -1, "the block at %zu has %zu bytes before it", o, b->before);
        if (is_hole(b)) {
            if (last_hole && last == last_hole) return err_set(err, -1, "two holes touch at %zu", o);
            if (b != hole || b->lower != last_hole) return err_set(err, -1, "the list misses the hole at %zu", o);
            last_hole = b;
            hole = b->higher;
        } else {
            if (b->tag != tag_of(b, TAKEN)) return err_set(err, -1, "the block at %zu has no tag", o);
            used += b->bytes;
            blocks++;
        }
        last = b;
    }
    if (hole) return err_set(err, -1, "the list goes on after the last hole");
    if (used != a->used || blocks != a->blocks)
        return err_set(err, -1, "counted %zu bytes in %zu blocks; said %zu in %zu", used, blocks, a->used, a->blocks);
    return 0;
}
