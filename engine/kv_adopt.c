/* kv_adopt.c - pages that were computed elsewhere: known by their text, and held by nobody. */
#include "engine/kv_impl.h"

enum { NONE = KV_NONE };

void kv_identify(struct kv *kv, struct sip128 identity) { prefix_identify(kv->group[0].prefix, identity); }

/* With a window, or other groups beside it, one page of a text is not all that its tokens see of it. */
static void check_groups(const struct kv *kv) { assert(kv->groups == 1 && kv->group[0].window == 0); }

int kv_find(const struct kv *kv, const int32_t *ids, int n)
{
    struct sip128 hash = kv_root(kv);
    int number = NONE;
    check_groups(kv);
    assert(n > 0 && n % KERN_PAGE == 0);
    for (int at = 0; at < n; at += KERN_PAGE) {
        hash = kv_chain(kv, hash, ids + at);
        number = prefix_find(kv->group[0].prefix, hash, ids + at);
        if (number == NONE) break;
    }
    return number;
}

/* One of a text's pages shall rest, `before` being the one before it: as if a sequence had dropped the text now, which
 * makes its last page the oldest. */
static void rest_after(struct kv_pool *g, int number, int before)
{
    if (before != NONE && g->page[before].refs == 0) prefix_rest_before(g->prefix, number, before);
    else prefix_rest(g->prefix, number);
}

int kv_adopt(struct kv *kv, const int32_t *ids, int n, int agent, int kind)
{
    struct kv_pool *g = &kv->group[0];
    struct sip128 hash = kv_root(kv);
    int before = NONE, resting = 0, last = n - KERN_PAGE;
    check_groups(kv);
    assert(n > 0 && n % KERN_PAGE == 0);
    for (int at = 0; at < last; at += KERN_PAGE) {
        hash = kv_chain(kv, hash, ids + at);
        int number = prefix_find(g->prefix, hash, ids + at);
        if (number == NONE) return KV_NO_FRONT;
        if (g->page[number].refs == 0) {
            prefix_wake(g->prefix, number);
            rest_after(g, number, before);
            resting++;
        }
        before = number;
    }
    /* Whoever rests and is not of this front is older than it now: so when no page is free, the oldest is another's. */
    if (kv_reserved(g) + resting + 1 > g->usable) return KV_NO_ROOM;
    kv_need_free(g);
    int number = g->free_page[g->free - 1];
    struct kv_page *p = kv_take_empty(g, number);
    p->agent = agent;
    p->kind[kind] = KERN_PAGE;
    prefix_learn(g->prefix, number, kv_chain(kv, hash, ids + last), ids + last);
    rest_after(g, number, before);
    g->adopted++;
    return number;
}

void kv_disown(struct kv *kv, int page)
{
    struct kv_pool *g = &kv->group[0];
    check_groups(kv);
    assert(g->page[page].refs == 0);
    kv_forget_page(g, page);
    g->adopted--;
}

int kv_release(struct kv *kv, const int32_t *ids, int n)
{
    struct kv_pool *g = &kv->group[0];
    int page = kv_find(kv, ids, n);
    if (page == NONE) return KV_UNKNOWN;
    if (g->page[page].refs > 0) return KV_HELD;
    kv_forget_page(g, page);
    return 0;
}
