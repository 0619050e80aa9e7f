/* session_figures.c - the window's figures with what its texts really weigh in the prompt that would be sent.  The
 * window only plans: it adds up texts that were counted one by one, and takes a reference line for as long as one can
 * be. */
#include "app/session/session_carries.h"
#include "app/session/session_impl.h"

static void weigh(const struct session_carries *c, struct window_figures *f)
{
    memset(f->part, 0, sizeof f->part);
    memset(f->count, 0, sizeof f->count);
    f->used = (int64_t)c->ids.n;
    for (size_t i = 0; i < c->n; i++) {
        const struct carried *p = &c->part[i];
        const enum window_part part = p->opening ? WINDOW_HISTORY : p->item.part;
        f->part[part] += (int64_t)p->n_ids;
        f->count[part] += !p->opening;
    }
}

void session_figures(struct session *s, struct window_figures *out)
{
    struct session_carries c;
    window_figures(s->w, out);
    if (out->compaction > 0 && out->used > out->high) return;
    if (memcmp(out, &s->planned, sizeof *out) != 0) { /* eight-byte fields alone */
        s->planned = s->weighed = *out;
        if (session_carries(s, &c, NULL) == 0) weigh(&c, &s->weighed);
        session_carries_free(&c);
    }
    *out = s->weighed;
}
