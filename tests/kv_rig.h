/* kv_rig.h - a table of KV pages whose books are looked over after each step.
 * Header only: programs that do not test it are not linked to it. */
#ifndef KV_RIG_H
#define KV_RIG_H
#include "engine/kv.h"
#include "tests/check.h"

enum { P = KERN_PAGE };

/* Groups alike, without windows. */
static inline struct kv *open_kv(int groups, int pages, int slots, int row)
{
    struct err err = {0};
    struct kv_config cfg = {.groups = groups, .slots = slots, .ctx = row * P};
    for (int g = 0; g < groups; g++) cfg.group[g].pages = pages;
    struct kv *kv = kv_open(&cfg, &err);
    CHECK_STR(err.text, "");
    return kv;
}

static inline void sound(const struct kv *kv)
{
    struct err err = {0};
    if (kv_check(kv, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
}

/* n tokens that begin with `common` equal ones and go on in a way of their own. */
static inline const int32_t *text(int common, int own, int n)
{
    static int32_t ids[64 * P];
    for (int i = 0; i < n; i++) ids[i] = i < common ? 1000 + i : 5000 + own * 31 + i;
    return ids;
}

static inline bool admit(struct kv *kv, int slot, int tokens, const int32_t *ids, int n, int want_shared)
{
    int shared = -1;
    bool ok = kv_admit(kv, slot, &(struct kv_ask){.tokens = tokens, .ids = ids, .n = n}, &shared);
    CHECK_EQ(shared, want_shared);
    sound(kv);
    return ok;
}

/* As a pass does: room, then the tokens are there. */
static inline void fill(struct kv *kv, int slot, const int32_t *ids, int n)
{
    kv_grow(kv, slot, n);
    kv_know(kv, slot, ids, n);
    sound(kv);
}
#endif
