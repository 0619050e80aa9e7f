/* forward_keep.c - see forward_keep.h. */
#include "tests/forward_keep.h"

void forward_keep_all(struct forward *f, int pages)
{
    size_t at = 0;
    for (int g = f->groups - 1; g >= 0; g--) {
        f->group[g].pages = pages;
        f->at_kv[g] = at;
        at = size_align(at + f->group[g].page_bytes * (size_t)pages, 64);
    }
    f->kv_bytes = at;
}
