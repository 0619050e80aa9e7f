/* session_pages.c - the KV pages of a session on disk: handed to the store behind each turn, brought back before the
 * first call after a resume, so that what was said before is not read again.  All of it can be computed anew, so what
 * fails here costs time and nothing else. */
#include "app/say.h"
#include "app/session/session_impl.h"
#include "engine/template.h"

enum { BROUGHT = 32, TASKS = 2 }; /* pages read at a time; tasks that may wait at once */

bool session_keeps_pages(const struct session *s)
{
    return session_saves(s) && s->a->info->page_bytes > 0 && opts_snapshots_session(s->a->o) >= 1;
}

/* ---------------------------------------------------------------- on the store's thread */

static int open_snap(struct session *s, struct store *st, struct err *err)
{
    if (s->pages.open) return 0;
    int rc = snap_open(&s->pages.snap, st, s->a->info->identity.byte, KERN_PAGE, s->a->info->page_bytes,
                       (uint64_t)s->a->o->snapshots, (uint64_t)opts_snapshots_session(s->a->o), err);
    s->pages.open = rc == 0;
    return rc;
}

struct page_task {
    struct keep_task task;
    struct session *s;
    uint8_t session[STORE_SESSION_ID];
    int first, n, all;         /* pages that are handed over; of the whole text */
    struct engine_name *name;  /* (all) */
    int32_t *ids;              /* (n * KERN_PAGE) */
    char *bytes;               /* (n * page_bytes) */
};

static int run_save(struct keeper_job *base, struct store *st, struct err *err)
{
    struct page_task *t = (struct page_task *)base;
    struct snap_page *page = calloc((size_t)MAX(t->n, 1), sizeof *page);
    bool front = t->first == 0;
    int rc = page ? open_snap(t->s, st, err) : err_set(err, STORE_NO_MEMORY, "no memory for pages");
    if (rc == 0 && !front) rc = snap_has(&t->s->pages.snap, t->name[0].byte, &front, err);
    if (rc == 0 && !front) rc = err_set(err, STORE_NOT_FOUND, "the pages that were handed over before are gone");
    for (int i = 0; i < t->n && rc == 0; i++) {
        int at = t->first + i;
        page[i] = (struct snap_page){
            .name = t->name[at].byte, .before = at > 0 ? t->name[at - 1].byte : t->s->a->info->identity.byte,
            .ids = t->ids + (size_t)i * KERN_PAGE, .bytes = t->bytes + (size_t)i * t->s->a->info->page_bytes};
    }
    if (rc == 0 && t->n > 0) rc = snap_put(&t->s->pages.snap, page, t->n, err);
    if (rc == 0)
        rc = snap_use(&t->s->pages.snap, t->session, (const uint8_t(*)[SNAP_NAME])(const void *)t->name, t->all, err);
    free(page);
    return rc;
}

static void free_task(struct page_task *t)
{
    free(t->name);
    free(t->ids);
    free(t->bytes);
    free(t);
}

static void saved(struct keep *k, struct keep_task *task)
{
    struct page_task *t = (struct page_task *)task;
    (void)k;
    t->s->pages.tasks--;
    const bool gone = task->base.code == STORE_NOT_FOUND && t->first > 0;
    if (task->base.code) t->s->pages.n = 0; /* all of them are handed over again; those that are there stay */
    if (gone) session_keep_pages(t->s, &t->s->pages.last);
    free_task(t);
}

/* ---------------------------------------------------------------- behind a turn */

static struct engine_name *names_of(const struct session *s, const struct ids *ids, int pages)
{
    struct engine_name *name = malloc((size_t)MAX(pages, 1) * sizeof *name), before = s->a->info->identity;
    for (int i = 0; name && i < pages; i++)
        name[i] = before = engine_page_name(before, ids->id + (size_t)i * KERN_PAGE);
    return name;
}

/* The pages from `first` on that the engine still knows, as many as a task may have.  false: no memory. */
static bool copy_pages(struct session *s, const struct ids *ids, struct page_task *t)
{
    size_t bytes = s->a->info->page_bytes, most = MAX(SNAP_BATCH_MAX / bytes, (size_t)1);
    int pages = MIN(t->all - t->first, (int)MIN(most, (size_t)INT32_MAX));
    t->bytes = malloc((size_t)MAX(pages, 1) * bytes);
    t->ids = malloc((size_t)MAX(pages, 1) * KERN_PAGE * sizeof *t->ids);
    if (!t->bytes || !t->ids) return false;
    for (; t->n < pages; t->n++) {
        int upto = (t->first + t->n + 1) * KERN_PAGE;
        if (s->a->ops->page_get(s->a->engine, ids->id, upto, t->bytes + (size_t)t->n * bytes, NULL)) break;
    }
    memcpy(t->ids, ids->id + (size_t)t->first * KERN_PAGE, (size_t)t->n * KERN_PAGE * sizeof *t->ids);
    t->all = t->first + t->n;
    return true;
}

static int same_front(const struct session *s, const struct engine_name *name, int n)
{
    int same = 0;
    while (same < MIN(n, s->pages.n) && memcmp(&s->pages.name[same], &name[same], sizeof *name) == 0) same++;
    return same;
}

static bool remember_names(struct session *s, const struct engine_name *name, int n)
{
    struct engine_name *p = realloc(s->pages.name, (size_t)MAX(n, 1) * sizeof *p);
    if (!p) return false;
    s->pages.name = p;
    s->pages.n = n;
    memcpy(p, name, (size_t)n * sizeof *p);
    return true;
}

void session_keep_pages(struct session *s, const struct ids *ids)
{
    int pages = (int)((ids->n > 0 ? ids->n - 1 : 0) / KERN_PAGE);
    if (!session_keeps_pages(s) || ids->failed || pages == 0 || s->pages.tasks == TASKS) return;
    struct page_task *t = calloc(1, sizeof *t);
    if (!t) return;
    *t = (struct page_task){.task = {.base = {.run = run_save}, .done = saved}, .s = s, .all = pages,
                            .name = names_of(s, ids, pages)};
    memcpy(t->session, s->keep.head.id, sizeof t->session);
    if (t->name) t->first = same_front(s, t->name, pages);
    bool ok = t->name && copy_pages(s, ids, t) && remember_names(s, t->name, t->all);
    if (ok && t->all > 0 && keep_later(&s->keep, &t->task, NULL) == 0) {
        s->pages.tasks++;
        return;
    }
    s->pages.n = 0; /* nothing was handed over: the next turn does it, from the first page on */
    free_task(t);
}

void session_last_ids(struct session *s, struct ids *ids)
{
    ids_free(&s->pages.last);
    if (!ids->failed) s->pages.last = *ids;
    else ids_free(ids);
    *ids = (struct ids){0};
}

/* ---------------------------------------------------------------- before the first call */

struct bring {
    struct session *s;
    const struct ids *ids;
    const struct engine_name *name;
    int first, n;  /* asked for; then, how many are there */
    char *bytes;
};

static int run_bring(struct store *st, void *arg, struct err *err)
{
    struct bring *b = arg;
    int got = 0, rc = open_snap(b->s, st, err);
    for (; rc == 0 && got < b->n; got++) {
        int at = b->first + got;
        const struct snap_page page = {
            .name = b->name[at].byte, .before = at > 0 ? b->name[at - 1].byte : b->s->a->info->identity.byte,
            .ids = b->ids->id + (size_t)at * KERN_PAGE};
        if (snap_get(&b->s->pages.snap, &page, b->bytes + (size_t)got * b->s->a->info->page_bytes, NULL)) break;
    }
    b->n = got;
    return rc;
}

/* How many pages came back: from the first that the engine does not know, until one is not there or has no room. */
static int bring_all(struct session *s, struct bring *b, int pages)
{
    const struct app *a = s->a;
    int came = 0, at = 0;
    while (at < pages && a->ops->page_get(a->engine, b->ids->id, (at + 1) * KERN_PAGE, NULL, NULL) == 0) at++;
    for (bool more = true; more && at < pages;) {
        int asked = MIN(BROUGHT, pages - at);
        b->first = at;
        b->n = asked;
        if (keep_call(&s->keep, run_bring, b, NULL)) break;
        more = b->n == asked;
        for (int i = 0; i < b->n; i++, at++, came++) {
            const char *bytes = b->bytes + (size_t)i * a->info->page_bytes;
            if (a->ops->page_put(a->engine, b->ids->id, (at + 1) * KERN_PAGE, 0, bytes, NULL)) return came;
        }
    }
    return came;
}

void session_bring_pages(struct session *s)
{
    enum template_kind kind;
    struct ids ids = {0};
    if (!s->pages.wanted || !session_keeps_pages(s)) return;
    s->pages.wanted = false;
    if (template_by_name(s->a->info->template, &kind)) return;
    if (template_render(kind, s->a->ops->vocab(s->a->engine), NULL, s->prompt.msgs, s->prompt.n, true, &ids, NULL, 0,
                        NULL) == 0 && !ids.failed) {
        int pages = (int)(ids.n / KERN_PAGE);
        struct bring b = {.s = s, .ids = &ids, .name = names_of(s, &ids, pages),
                          .bytes = malloc(BROUGHT * s->a->info->page_bytes)};
        int came = b.name && b.bytes ? bring_all(s, &b, pages) : 0;
        if (came > 0) say_dim("[%d tokens of what was said before came from the store: they are not read again]",
                              came * KERN_PAGE);
        free((void *)(uintptr_t)b.name);
        free(b.bytes);
    }
    ids_free(&ids);
}

/* ---------------------------------------------------------------- /park */

struct count {
    struct session *s;
    const struct engine_name *name;
    int first, pages, there; /* there: of the pages from the first on, up to the first that is not */
};

static int run_count(struct store *st, void *arg, struct err *err)
{
    struct count *c = arg;
    bool has = true;
    int rc = open_snap(c->s, st, err);
    c->there = 0;
    while (rc == 0 && has && c->first + c->there < c->pages) {
        rc = snap_has(&c->s->pages.snap, c->name[c->first + c->there].byte, &has, err);
        c->there += rc == 0 && has;
    }
    return rc;
}

/* What is on disk already is not written again; a task has a part of a long text.  How many pages are there then: a
 * quota may be too small for them. */
static int store_pages(struct session *s, const struct ids *ids, int first)
{
    struct count c = {.s = s, .first = first, .pages = (int)((ids->n > 0 ? ids->n - 1 : 0) / KERN_PAGE)};
    struct engine_name *name = session_keeps_pages(s) ? names_of(s, ids, c.pages) : NULL;
    int before = -1;
    for (c.name = name; name && c.there > before && c.first + c.there < c.pages;) {
        before = c.there;
        session_keep_pages(s, ids);
        if (keep_call(&s->keep, run_count, &c, NULL)) c.there = 0;
    }
    free(name);
    return c.there;
}

static bool drop_page(struct session *s, int upto, struct err *err)
{
    return s->a->ops->page_drop(s->a->engine, s->pages.last.id, upto, err) == 0;
}

/* Not those of the system message: other agents may begin with it. */
int session_park(struct session *s, int64_t *tokens, int64_t *kept, struct err *err)
{
    struct window_figures f;
    struct err why = {0};
    const struct ids *ids = &s->pages.last;
    int pages = (int)(ids->n / KERN_PAGE), first, there, gone = 0;
    window_figures(s->w, &f);
    first = (int)((f.part[WINDOW_SYSTEM] + f.part[WINDOW_TOOLS] + KERN_PAGE - 1) / KERN_PAGE);
    if (s->a->info->page_bytes == 0) return err_set(err, -1, "this engine's KV pages cannot be put aside");
    there = store_pages(s, ids, first);
    for (int i = pages; i > first; i--) gone += drop_page(s, i * KERN_PAGE, &why);
    *tokens = (int64_t)gone * KERN_PAGE;
    *kept = (int64_t)MIN(there, gone) * KERN_PAGE;
    if (gone == 0)
        return err_set(err, -1, "nothing of its text is in the KV pool but what others may begin with: there is "
                       "nothing to park");
    s->pages.wanted = session_keeps_pages(s);
    struct event e = {.kind = EV_PARKED, .parked = {
        .turn = s->keep.head.turns, .change = event_str("parked"), .tokens = *tokens}};
    trace_put(&s->a->trace, &e);
    return 0;
}

/* On the store's thread, as session_close_index(). */
void session_close_snap(struct session *s)
{
    if (s->pages.open) snap_close(&s->pages.snap);
    s->pages.open = false;
}
