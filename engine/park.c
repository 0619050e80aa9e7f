/* park.c - a free list through a slab. */
#include "engine/park.h"

int park_open(struct park *p, uint64_t bytes, size_t page_bytes, struct err *err)
{
    uint64_t places = page_bytes ? bytes / page_bytes : 0;
    *p = (struct park){.page_bytes = page_bytes, .free = -1};
    if (places == 0) return 0;
    if (places > INT32_MAX || bytes > PTRDIFF_MAX)
        return err_set(err, -1, "%llu bytes for parked pages are more than can be counted", (unsigned long long)bytes);
    p->mem = take_touched((size_t)places * page_bytes);
    p->next = malloc((size_t)places * sizeof *p->next);
    if (!p->mem || !p->next) {
        park_close(p);
        return err_set(err, -1, "no memory for %llu parked pages", (unsigned long long)places);
    }
    p->places = (int)places;
    for (int i = p->places - 1; i >= 0; i--) {
        p->next[i] = p->free;
        p->free = i;
    }
    return 0;
}

void park_close(struct park *p)
{
    free(p->mem);
    free(p->next);
    *p = (struct park){.free = -1};
}

int park_take(struct park *p, int n)
{
    int first = p->free, last = first;
    if (n <= 0 || p->places - p->used < n) return -1;
    for (int i = 1; i < n; i++) last = p->next[last];
    p->free = p->next[last];
    p->next[last] = -1;
    p->used += n;
    return first;
}

void park_give(struct park *p, int first)
{
    while (first >= 0) {
        int next = p->next[first];
        p->next[first] = p->free;
        p->free = first;
        p->used--;
        first = next;
    }
}

void *park_at(const struct park *p, int place)
{
    assert(place >= 0 && place < p->places);
    return p->mem + (size_t)place * p->page_bytes;
}
