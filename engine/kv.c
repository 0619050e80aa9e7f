/* kv.c - a stack of free pages a group, and a row of page numbers a slot. */
#include "engine/kv.h"

struct kv_slot {
    int reserved, taken, tokens;
};

struct kv {
    int groups, pages, slots, stride;
    int reserved, taken;
    uint64_t tokens;
    int32_t *free_page[KERN_GROUPS]; /* (pages) the first pages - taken are free */
    int32_t *table[KERN_GROUPS];     /* (slots, stride); -1: none, so that a wrong read is seen */
    struct kv_slot *slot;
};

struct kv *kv_open(int groups, int pages, int slots, int slot_pages, struct err *err)
{
    assert(groups > 0 && groups <= KERN_GROUPS && pages > 0 && slots > 0 && slot_pages > 0);
    struct kv *kv = calloc(1, sizeof *kv);
    if (kv) {
        *kv = (struct kv){.groups = groups, .pages = pages, .slots = slots, .stride = slot_pages};
        kv->slot = calloc((size_t)slots, sizeof *kv->slot);
    }
    bool ok = kv && kv->slot;
    for (int g = 0; ok && g < groups; g++) {
        size_t cells = (size_t)slots * (size_t)slot_pages;
        kv->free_page[g] = malloc((size_t)pages * sizeof(int32_t));
        kv->table[g] = malloc(cells * sizeof(int32_t));
        ok = kv->free_page[g] && kv->table[g];
        if (!ok) break;
        for (int i = 0; i < pages; i++) kv->free_page[g][i] = pages - 1 - i; /* page 0 is handed out first */
        memset(kv->table[g], 0xff, cells * sizeof(int32_t));
    }
    if (ok) return kv;
    err_set(err, -1, "no memory for the tables of %d KV pages and %d sequences", pages, slots);
    kv_close(kv);
    return NULL;
}

void kv_close(struct kv *kv)
{
    if (!kv) return;
    for (int g = 0; g < KERN_GROUPS; g++) {
        free(kv->free_page[g]);
        free(kv->table[g]);
    }
    free(kv->slot);
    free(kv);
}

bool kv_admit(struct kv *kv, int slot, int tokens)
{
    assert(slot >= 0 && slot < kv->slots && tokens > 0);
    struct kv_slot *s = &kv->slot[slot];
    int need = kv_pages_for(tokens);
    assert(s->reserved == 0 && need <= kv->stride);
    if (need > kv->pages - kv->reserved) return false;
    s->reserved = need;
    kv->reserved += need;
    return true;
}

void kv_grow(struct kv *kv, int slot, int tokens)
{
    struct kv_slot *s = &kv->slot[slot];
    int need = kv_pages_for(tokens);
    assert(tokens >= s->tokens && need <= s->reserved);
    for (; s->taken < need; s->taken++) {
        int left = kv->pages - kv->taken++;
        for (int g = 0; g < kv->groups; g++)
            kv->table[g][(size_t)slot * (size_t)kv->stride + (size_t)s->taken] = kv->free_page[g][left - 1];
    }
    kv->tokens += (uint64_t)(tokens - s->tokens);
    s->tokens = tokens;
}

void kv_drop(struct kv *kv, int slot)
{
    struct kv_slot *s = &kv->slot[slot];
    while (s->taken > 0) {
        s->taken--;
        int left = kv->pages - kv->taken--;
        for (int g = 0; g < kv->groups; g++) {
            int32_t *cell = &kv->table[g][(size_t)slot * (size_t)kv->stride + (size_t)s->taken];
            kv->free_page[g][left] = *cell;
            *cell = -1;
        }
    }
    kv->reserved -= s->reserved;
    kv->tokens -= (uint64_t)s->tokens;
    *s = (struct kv_slot){0};
}

const int32_t *kv_table(const struct kv *kv, int group)
{
    assert(group >= 0 && group < kv->groups);
    return kv->table[group];
}

int kv_stride(const struct kv *kv) { return kv->stride; }

struct kv_count kv_count(const struct kv *kv)
{
    return (struct kv_count){.pages = kv->pages, .reserved = kv->reserved, .taken = kv->taken, .tokens = kv->tokens};
}
