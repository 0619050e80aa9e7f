/* memory.c - does the ledger tell the truth?  A process of its own opens the model and fills every context, and looks
 * into /proc/self/status before and after: the same program, nothing else in it, so that what is added is the engine's.
 *
 *     the bench:    starts itself with the word "weigh" and the same options, and reads one line
 *     that child:   RssAnon -> open -> B sequences of N tokens, all at once -> RssAnon
 *
 * Slabs are mapped at open and count when they are touched, hence the full contexts. */
#include "engine/hostmem.h"
#include "tests/bench/child.h"
#include "tests/bench/ours.h"
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>

/* ---------------------------------------------------------------- the child */

static uint64_t rss_anon(void)
{
    struct hostmem_process p;
    hostmem_process(&p);
    return p.anonymous;
}

/* What malloc has taken from the system and not given back, whether it is in use or not. */
static uint64_t heap_bytes(void)
{
#if defined(__GLIBC__)
    struct mallinfo2 m = mallinfo2();
    return (uint64_t)m.arena + (uint64_t)m.hblkhd;
#else
    return 0;
#endif
}

/* Every sequence to the end of its context.  The prompts end early enough that the last of them has been read before
 * the first answer is over: then a pass holds a row of each, and all rows of logits have been used. */
static int fill(struct bench *b, struct err *err)
{
    const struct engine_info *i = b->ops->info(b->e);
    int passes = i->ctx * i->max_seqs / (i->step_rows - i->max_seqs) + 1;
    int answer = MIN(passes + i->max_seqs, i->ctx / 2), sent = 0, rc = 0;
    while (!rc && sent < i->max_seqs) {
        ours_random(b, 0, i->ctx - answer);
        rc = ours_submit(b, i->ctx - answer, answer, true, &b->id[sent], err);
        if (!rc) sent++;
    }
    if (!rc) rc = ours_finish(b, sent, err);
    return rc; /* the requests stay: what they hold is part of what is weighed */
}

static int weigh(const struct options *o, struct weight *w, struct err *err)
{
    struct engine_config cfg = ours_config(o, o->model[0], o->threads, o->plan.weigh_ctx, o->plan.weigh_seqs);
    struct bench b = {.o = o, .ops = &engine_local, .random = 1};
    b.ids = calloc((size_t)cfg.ctx, sizeof *b.ids);
    if (!b.ids) return err_set(err, -1, "no memory for a prompt of %d tokens", cfg.ctx);
    memset(b.ids, 1, (size_t)cfg.ctx * sizeof *b.ids); /* touched: part of what was there before */
    uint64_t before = rss_anon(), heap = heap_bytes();
    int rc = before ? 0 : err_set(err, -1, "/proc/self/status does not tell RssAnon");
    if (!rc) b.e = b.ops->open(&cfg, err);
    if (b.e) {
        w->ledger = b.ops->info(b.e)->ledger;
        rc = fill(&b, err);
        w->full = rss_anon() - before;
        w->heap = heap_bytes() - heap;
        b.ops->close(b.e);
    } else {
        rc = -1;
    }
    free(b.ids);
    return rc;
}

int weigh_main(int argc, char **argv)
{
    static struct options o;
    struct weight w = {0};
    struct err err = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a bench that is stopped measures no more */
    if (options_read(&o, argc, argv, &err) || weigh(&o, &w, &err)) {
        fprintf(stderr, "bench: %s\n", err.text);
        return 1;
    }
    printf("WEIGHED %" PRIu64 " %" PRIu64 " %" PRIu64, w.full, w.heap, w.ledger.ceiling);
    for (int c = 0; c < LEDGER_CLASSES; c++) printf(" %" PRIu64, w.ledger.bytes[c]);
    printf("\n");
    return 0;
}

/* --------------------------------------------------------------- the parent */

static void read_weight(void *self, char *text)
{
    struct weight *w = self;
    uint64_t *into[3 + LEDGER_CLASSES] = {&w->full, &w->heap, &w->ledger.ceiling};
    int n = 0, at = 0, used;
    for (int c = 0; c < LEDGER_CLASSES; c++) into[3 + c] = &w->ledger.bytes[c];
    if (strncmp(text, "WEIGHED", 7) != 0) return;
    for (at = 7; n < 3 + LEDGER_CLASSES && sscanf(text + at, " %" SCNu64 "%n", into[n], &used) == 1; n++) at += used;
    w->there = n == 3 + LEDGER_CLASSES;
}

int weigh_measure(const struct options *o, struct subject *s, struct err *err)
{
    char test[48], threads[16], *argv[16] = {"/proc/self/exe", "weigh", "--models", s->path, "--tests", test,
                                             "--threads", threads};
    int n = 8;
    snprintf(test, sizeof test, "ledger%dx%d", s->plan->weigh_seqs, s->plan->weigh_ctx);
    snprintf(threads, sizeof threads, "%d", o->threads);
    if (o->backend) {
        argv[n++] = "--backend";
        argv[n++] = (char *)o->backend;
    }
    if (o->isa) {
        argv[n++] = "--isa";
        argv[n++] = (char *)o->isa;
    }
    if (o->kv_type != KT_F16) {
        argv[n++] = "--kv-type";
        argv[n++] = o->kv_type == KT_Q8_0 ? "q8_0" : "f32";
    }
    int code = child_lines(argv, read_weight, &s->weight, err);
    if (code == 0 && !s->weight.there) return err_set(err, -1, "the process that was weighed said nothing");
    if (code > 0) err_set(err, -1, "the process that was weighed ended with %d", code);
    if (code == 0) report_weight(s, test, &s->weight);
    return code ? -1 : 0;
}
