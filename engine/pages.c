/* pages.c - known pages copied out of the pool or given up, and pages that were computed elsewhere brought in. */
#include "engine/sched_impl.h"

static int check_page(const struct sched *s, const int32_t *ids, int n, struct err *err)
{
    int window = s->cfg.group[s->cfg.groups - 1].window;
    if (!s->cfg.keeps_pages && sched_has_states(s))
        return err_set(err, ENGINE_BAD_REQUEST, "some of the model's layers keep a state: its KV pages cannot be kept "
                       "elsewhere");
    if (!s->cfg.keeps_pages && window > 0)
        return err_set(err, ENGINE_BAD_REQUEST, "the model's attention has a window of %d tokens%s: its KV pages "
                       "cannot be kept elsewhere", window, s->cfg.groups > 1 ? " in some layers" : "");
    if (!s->cfg.keeps_pages)
        return err_set(err, ENGINE_BAD_REQUEST, "this engine's KV pages cannot be kept elsewhere");
    if (!ids || n <= 0 || n % KERN_PAGE || n > s->cfg.ctx)
        return err_set(err, ENGINE_BAD_REQUEST, "a KV page ends at a multiple of %d tokens, %d at most, not at %d",
                       KERN_PAGE, s->cfg.ctx / KERN_PAGE * KERN_PAGE, n);
    return 0;
}

int sched_page_get(struct sched *s, const int32_t *ids, int n, void *bytes, struct err *err)
{
    struct err why = {0};
    int rc = check_page(s, ids, n, err);
    if (rc) return rc;
    int page = kv_find(s->kv, ids, n);
    if (page < 0) return err_set(err, ENGINE_UNKNOWN, "the KV page of tokens %d to %d is not known", n - KERN_PAGE, n);
    if (!bytes || !s->cfg.runner.save_page(s->cfg.runner.self, 0, page, bytes, &why)) return 0;
    return err_set(err, ENGINE_FAULT, "%s", why.text);
}

/* The pool's memory may be still on its way, as for a request (sched.c). */
static int adopt(struct sched *s, const int32_t *ids, int n, int agent)
{
    int page;
    sched_find_pages(s, false);
    while ((page = kv_adopt(s->kv, ids, n, agent, SEGMENT_HISTORY)) == KV_NO_ROOM &&
           kv_count(s->kv).usable < s->cfg.group[0].pages)
        sched_find_pages(s, true);
    return page;
}

int sched_page_put(struct sched *s, const int32_t *ids, int n, int agent, const void *bytes, struct err *err)
{
    struct err why = {0};
    int rc = check_page(s, ids, n, err);
    if (rc) return rc;
    if (agent < 0 || agent >= ENGINE_AGENTS)
        return err_set(err, ENGINE_BAD_REQUEST, "agent is %d; allowed is 0 to %d", agent, ENGINE_AGENTS - 1);
    if (kv_find(s->kv, ids, n) >= 0) return 0;
    int page = adopt(s, ids, n, agent);
    if (page == KV_NO_FRONT)
        return err_set(err, ENGINE_UNKNOWN, "the KV page of tokens %d to %d goes on from one that is not known",
                       n - KERN_PAGE, n);
    if (page == KV_NO_ROOM)
        return err_set(err, ENGINE_NOT_NOW, "no KV page is free for tokens %d to %d of a kept text", n - KERN_PAGE, n);
    if (s->cfg.runner.load_page(s->cfg.runner.self, 0, page, bytes, &why)) {
        kv_disown(s->kv, page);
        rc = err_set(err, ENGINE_FAULT, "%s", why.text);
    }
    figures_publish(s);
    return rc;
}

int sched_page_drop(struct sched *s, const int32_t *ids, int n, struct err *err)
{
    int rc = check_page(s, ids, n, err);
    if (rc) return rc;
    rc = kv_release(s->kv, ids, n);
    if (rc == KV_UNKNOWN)
        return err_set(err, ENGINE_UNKNOWN, "the KV page of tokens %d to %d is not known", n - KERN_PAGE, n);
    if (rc == KV_HELD)
        return err_set(err, ENGINE_NOT_NOW, "a request holds the KV page of tokens %d to %d", n - KERN_PAGE, n);
    figures_publish(s);
    return 0;
}
