/* maker.h - what the makers of engines that run in this process have in common: an engine is a vocabulary, a scheduler,
 * and a runner of its own.  A maker writes open and close; all other operations are these. */
#ifndef MAKER_H
#define MAKER_H
#include "engine/chunk.h"
#include "engine/engine.h"
#include "engine/naive_impl.h"
#include "engine/sched.h"

struct engine {
    struct engine_info info; /* whole when open() returns */
    struct vocab *vocab;
    struct sched *sched;
    struct strict_config strict; /* sizes of the grammars that it is to hold */
    struct template_thoughts thoughts;
    struct maker *own; /* the maker's part */
};

/* Allocate an engine; open(e, g) fills it from the GGUF file, and close() takes back what it took, also when it failed
 * half way (e->own may be NULL then).  vocabulary and scheduler are freed here. */
struct engine *maker_open(const struct engine_config *cfg, int (*open)(struct engine *, const struct engine_config *,
    const struct gguf *, struct err *),
                          void (*close)(struct engine *), struct err *err);
void maker_free(struct engine *e);

/* Open e->vocab, and decide on the template and on e->strict. */
int maker_vocab_open(struct engine *e, const struct engine_config *cfg, const struct gguf *g, enum template_kind *kind,
                     struct err *err);

/* What the model says of sizes. */
struct maker_model {
    int ctx;    /* that it was trained for */
    int window; /* of its attention; 0: none */
    int local;  /* of that in some layers; 0: none */
    struct chunk chunk; /* rows of a pass and of a step, when the configuration does not say */
};

/* The sizes that the configuration leaves open, into e->info; and the KV pool's pages (again, after ctx changed). */
int maker_sizes(struct engine *e, const struct engine_config *cfg, const struct maker_model *m, int *pages,
                struct err *err);
int maker_outs(const struct engine *e); /* rows of a pass that may want logits */
/* What the scheduler will be, by e->info and cfg; runner and template are left. */
void maker_sched_plan(const struct engine *e, const struct engine_config *cfg, int pages, struct sched_config *out);
/* How many drafts, by cfg; known: the backend says what rows cost.  0, or ENGINE_FAULT: cfg wants some where none can
 * be. */
int maker_drafts(struct engine *e, const struct engine_config *cfg, bool fast, bool known, struct err *err);
/* What a row costs them: by struct kern's row_costs() (NULL: not known), and struct chunk's. */
void maker_row_costs(struct sched_config *out, const uint8_t *costs, int least);
int maker_sched_open(struct engine *e, const struct sched_config *cfg, struct err *err);
/* A token that ends a turn, for makers whose answers are texts.  0, or ENGINE_FAULT: the vocabulary has none. */
int maker_end_token(const struct vocab *v, const char *path, int32_t *out, struct err *err);

/* The operations of struct engine_ops. */
const struct engine_info *maker_info(const struct engine *e);
const struct vocab *maker_vocab(const struct engine *e);
int maker_count_tokens(struct engine *e, const struct msg *msgs, int n, struct engine_count *out, struct err *err);
int maker_count_aside(const struct engine *e, const struct msg *msgs, int n, struct engine_count *out,
                      struct err *err);
int maker_submit(struct engine *e, const struct request *r, int *id, struct err *err);
const struct answer *maker_answer(struct engine *e, int id);
int maker_cancel(struct engine *e, int id);
void maker_drop(struct engine *e, int id);
int maker_step(struct engine *e, struct engine_event *ev, int cap, struct err *err);
int maker_page_get(struct engine *e, const int32_t *ids, int n, void *bytes, struct err *err);
int maker_page_put(struct engine *e, const int32_t *ids, int n, int agent, const void *bytes, struct err *err);
int maker_page_drop(struct engine *e, const int32_t *ids, int n, struct err *err);
void maker_snapshot(const struct engine *e, struct engine_snapshot *out);
void maker_memory(const struct engine *e, struct engine_memory *out);
void maker_waits(struct engine *e, int id, struct engine_wait *out);
void maker_page_map(struct engine *e, struct engine_cell *cell, int n);
int maker_naive_ops(const struct engine *e, uint64_t from, struct naive_op *out, int n);

/* All but name, open, close and memory. */
#define MAKER_OPS                                                                                            \
    .info = maker_info, .vocab = maker_vocab, .count_tokens = maker_count_tokens,                             \
    .count_aside = maker_count_aside, .submit = maker_submit,                                                \
    .answer = maker_answer, .cancel = maker_cancel, .drop = maker_drop, .step = maker_step,                  \
    .page_get = maker_page_get, .page_put = maker_page_put, .page_drop = maker_page_drop,                    \
    .snapshot = maker_snapshot, .waits = maker_waits, .page_map = maker_page_map, .naive_ops = maker_naive_ops
#endif
