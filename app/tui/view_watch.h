/* view_watch.h - watched servers on a surface: a row each, and below them the past minutes of the selected one.
 *
 *     plimsoll watch   3 servers: 1 in trouble, 1 near it
 *        server                  kind        KV                    run  wait   out/s
 *      ! 127.0.0.1:8000          vLLM        ▕██████████▏ 100%      24     9     312
 *     ────────────────────────────────────
 *     http://127.0.0.1:8000  vLLM  llama-3.1-8b
 *     12 requests lost their KV pages in the last 60 s, to be computed again: ...
 *     KV       ▁▂▃▅▇▇█ 100%, at most 100%
 *
 * All zeros is one that is open.  Threads: the screen's. */
#ifndef VIEW_WATCH_H
#define VIEW_WATCH_H
#include "app/tui/bar.h"
#include "app/tui/list.h"
#include "app/watch/watch.h"

struct view_watch {
    struct list list;
    enum glyphs glyphs;
    bool help;   /* its keys are shown in place of all */
    int seen;    /* rows of the list in the last draw */
    struct pager pager; /* of the help */
    int help_rows;      /* that it had in the last draw */
};

void view_watch_draw(struct view_watch *v, const struct watch *w, double now, struct surface *s);
void view_watch_close(struct view_watch *v);
bool view_watch_key(struct view_watch *v, const struct watch *w, const struct key *k); /* false: another key */
#endif
