/* explain_metrics.h - a server's /metrics that somebody pasted, alone or beside a log (see explain.h): Prometheus'
 * text, by the names that engine/remote/load.h knows, judged as `plimsoll watch` judges them.  Threads: pure. */
#ifndef EXPLAIN_METRICS_H
#define EXPLAIN_METRICS_H
#include "app/learn/verdict.h"
#include "engine/remote/load.h"

struct metrics_told {
    int scrapes;             /* behind each other in the text */
    uint32_t line;           /* where the last of them begins, from 1 */
    struct load first, last; /* the same where there is one */
};

/* Whether there are metrics in it that tell a server's load. */
bool metrics_read(const char *text, size_t n, struct metrics_told *out);

/* The text without them: their lines are empty, since their comments are no messages.  False: no memory for it. */
bool metrics_leave_out(const char *text, size_t n, struct buf *out);

/* A verdict on them; what they say beside another one. */
void say_metrics(const struct metrics_told *m, struct verdict *v);
void say_metrics_beside(const struct metrics_told *m, struct verdict *v);
#endif
