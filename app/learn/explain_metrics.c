/* explain_metrics.c - see explain_metrics.h. */
#include "app/learn/explain_metrics.h"
#include "app/learn/explain_read.h"
#include "app/watch/watch.h"
#include "engine/remote/metrics.h"

/* ------------------------------------------------------------------ found in a text */

static bool is_servers(const char *line, size_t n)
{
    struct load l;
    load_read(line, n, &l);
    return l.kind != SERVER_OTHER;
}

/* The same name with the same labels. */
static bool is_same(const struct metric *a, const struct metric *b)
{
    return a->n_name == b->n_name && a->n_labels == b->n_labels && memcmp(a->name, b->name, a->n_name) == 0 &&
           memcmp(a->labels, b->labels, a->n_labels) == 0;
}

bool metrics_read(const char *text, size_t n, struct metrics_told *out)
{
    struct metric m, key = {0};
    size_t second = n, last = n;
    *out = (struct metrics_told){0};
    for (size_t at = 0; metrics_next(text, n, &at, &m);) {
        const size_t from = (size_t)(m.name - text);
        if (!key.name && is_servers(m.name, at - from)) key = m;
        if (!key.name || !is_same(&m, &key)) continue;
        if (++out->scrapes == 2) second = from;
        last = from;
    }
    if (!out->scrapes) return false;
    load_read(text, second, &out->first);
    load_read(text + last, n - last, &out->last);
    out->line = run_ends(text, last) + 1;
    return out->last.running >= 0 || out->last.waiting >= 0 || out->last.kv_permille >= 0;
}

static bool is_comment(const char *line, size_t n)
{
    return n > 7 && (memcmp(line, "# HELP ", 7) == 0 || memcmp(line, "# TYPE ", 7) == 0);
}

bool metrics_leave_out(const char *text, size_t n, struct buf *out)
{
    for (size_t at = 0, end; at < n; at = end) {
        const char *line = text + at, *stop = memchr(line, '\n', n - at);
        end = stop ? (size_t)(stop - text) + 1 : n;
        if (!is_comment(line, end - at) && !is_servers(line, end - at)) buf_put(out, line, end - at);
        else if (stop) buf_puts(out, "\n");
    }
    return !out->failed;
}

/* ------------------------------------------------------------------ what they mean */

static enum stack stack_of(enum server_kind k)
{
    static const enum stack of[SERVER_KINDS] = {
        [SERVER_PLIMSOLL] = STACK_PLIMSOLL, [SERVER_VLLM] = STACK_VLLM, [SERVER_SGLANG] = STACK_SGLANG,
        [SERVER_LLAMA] = STACK_LLAMA_CPP,   [SERVER_TGI] = STACK_TGI,   [SERVER_OLLAMA] = STACK_OLLAMA};
    return of[k];
}

static void put_load(const struct metrics_told *m, char out[VERDICT_TEXT])
{
    const struct load *l = &m->last;
    char kv[48] = "", run[48] = "", wait[48] = "";
    if (l->kv_permille >= 0)
        snprintf(kv, sizeof kv, "%.1f %% of the pool of keys and values are taken", (double)l->kv_permille / 10);
    else snprintf(kv, sizeof kv, "how full its pool is it does not tell");
    if (l->running >= 0) snprintf(run, sizeof run, ", %lld run", (long long)l->running);
    if (l->waiting >= 0) snprintf(wait, sizeof wait, ", %lld wait", (long long)l->waiting);
    snprintf(out, VERDICT_TEXT, "%s%s%s", kv, run, wait);
}

/* Requests that lost their pages between the first and the last scrape; -1: that is not told. */
static double lost_since(const struct metrics_told *m)
{
    const double from = m->first.count[LOAD_LOST], to = m->last.count[LOAD_LOST];
    return m->scrapes < 2 || from < 0 || to < from ? -1 : to - from;
}

static void say_lost(const struct metrics_told *m, struct verdict *v)
{
    const double lost = m->last.count[LOAD_LOST], now = lost_since(m);
    if (now > 0)
        verdict_evidence(v, "requests lost their pages to others, to be computed again, %.0f time%s between the first "
                         "scrape and the last: all that run need more than the pool", now, plural((int64_t)now));
    else if (lost > 0)
        verdict_evidence(v, "requests lost their pages to others, to be computed again, %.0f time%s since the server "
                         "was started%s: then all that ran needed more than the pool", lost, plural((int64_t)lost),
                         now == 0 ? ", none of them between these scrapes" : "");
}

void say_metrics(const struct metrics_told *m, struct verdict *v)
{
    char load[VERDICT_TEXT], said[400];
    const enum watch_grave grave = watch_of_load(&m->last, said, sizeof said);
    const double now = lost_since(m);
    const bool lost = m->last.count[LOAD_LOST] > 0 && now != 0;
    *v = (struct verdict){.cause = CAUSE_NOT_MEMORY, .sure = SURE_LIKELY, .stack = stack_of(m->last.kind),
                          .line = m->line};
    put_load(m, load);
    snprintf(v->what, sizeof v->what, "nothing failed in these metrics: %.150s", load);
    if (grave == WATCH_BAD || lost) {
        v->cause = m->last.running == 1 ? CAUSE_KV : CAUSE_CONCURRENCY;
        v->sure = grave == WATCH_BAD || now > 0 ? SURE_LIKELY : SURE_GUESS;
    }
    if (*m->last.model) snprintf(v->where, sizeof v->where, "model %.150s", m->last.model);
    verdict_evidence(v, "%s", said);
    say_lost(m, v);
    verdict_next(v, "%sHow it goes on, and by how much each counter grows, says plimsoll watch http://HOST:PORT",
                 m->scrapes < 2 ? "One scrape is one moment.  " : "");
}

void say_metrics_beside(const struct metrics_told *m, struct verdict *v)
{
    char load[VERDICT_TEXT];
    put_load(m, load);
    verdict_evidence(v, "the metrics (line %u): %.150s", m->line, load);
    say_lost(m, v);
}
