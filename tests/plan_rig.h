/* plan_rig.h - a plan beside the engine that is opened with the same: every class of the ledger, to the byte.  Header
 * only. */
#ifndef PLAN_RIG_H
#define PLAN_RIG_H
#include "app/embedded.h"
#include "app/learn/plan.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <glob.h>

#ifndef RIG
#define RIG static __attribute__((unused))
#endif

enum { PLAN_MODELS = 64, PLAN_ROOM = 1 << 30 };

static uint64_t plan_context; /* what opening the device takes; 0: not asked */

/* The test models, and the one that is part of the program. */
RIG char plan_model[PLAN_MODELS][80];

static inline int plan_models(void)
{
    static int fd = -1, n;
    struct err err = {0};
    glob_t found;
    if (n > 0) return n;
    CHECK_EQ(glob("tests/fixtures/*.gguf", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc && n < PLAN_MODELS - 1; i++)
        snprintf(plan_model[n++], sizeof *plan_model, "%s", found.gl_pathv[i]);
    globfree(&found);
    CHECK(n >= 13);
    snprintf(plan_model[n++], sizeof *plan_model, "%s", embedded_open(&fd, &err));
    CHECK_STR(err.text, "");
    return n;
}

/* Some options of a session, by chance. */
static inline struct engine_config plan_options(uint32_t *seed)
{
    static const enum ktype kv[] = {KT_F16, KT_Q8_0, KT_F32};
    static const int ctx[] = {0, 1, 15, 16, 17, 100, 333, 512, 1000, 4096}, seqs[] = {0, 1, 2, 3, 8, 17, 40};
    struct engine_config cfg = {
        .kern = {.threads = 1 + tiny_below(seed, 2)}, .template = tiny_below(seed, 4) ? -1 : TEMPLATE_RAW,
        .ctx = ctx[tiny_below(seed, COUNT_OF(ctx))], .max_seqs = seqs[tiny_below(seed, COUNT_OF(seqs))],
        .kv_type = kv[tiny_below(seed, COUNT_OF(kv))], .overcommit = tiny_below(seed, 2)};
    if (tiny_below(seed, 3) == 0) cfg.max_rows = 1 + tiny_below(seed, 300);
    if (tiny_below(seed, 3) == 0) cfg.park_bytes = (uint64_t)tiny_below(seed, 1 << 20);
    if (tiny_below(seed, 4) == 0) cfg.text_bytes = (1 << 20) + (uint64_t)tiny_below(seed, 1 << 20);
    if (tiny_below(seed, 3) == 0) cfg.grammars = 1 + tiny_below(seed, 3);
    if (tiny_below(seed, 3) == 0) cfg.grammar_limits = (struct grammar_limits){512, 2048, 8, 8};
    if (tiny_below(seed, 3) == 0) cfg.vram = (uint64_t)(1 + tiny_below(seed, 256)) << 20;
    cfg.fit = cfg.vram > 0 && tiny_below(seed, 2);
    return cfg;
}

/* Plan and open; what the engine says it has must be what was planned, and it is refused where that was foretold.  The
 * engine: the caller closes it; NULL: it was refused. */
static inline struct engine *plan_and_open(const struct engine_config *cfg, struct plan *p)
{
    const struct plan_ask ask = {.engine = *cfg, .have = cfg->vram > 0 ? 0 : PLAN_ROOM,
                                 .context = plan_context};
    struct err planned = {0}, opened = {0};
    int rc = plan_make(&ask, p, &planned);
    struct engine *e = engine_local.open(cfg, &opened);
    if (rc) {
        CHECK(!e);
        CHECK_STR(planned.text, opened.text);
        return NULL;
    }
    if (!p->fits && cfg->vram > 0) {
        CHECK(!e);
        CHECK_EQ(opened.code, ENGINE_NEVER_FITS);
        return NULL;
    }
    CHECK_STR(opened.text, "");
    const struct engine_info *i = engine_local.info(e);
    for (int c = 0; c < LEDGER_CLASSES; c++) {
        if (p->ledger.bytes[c] != i->ledger.bytes[c])
            printf("  %s: %s\n", cfg->model, ledger_name((enum ledger_class)c));
        CHECK_EQ(p->ledger.bytes[c], i->ledger.bytes[c]);
    }
    CHECK_EQ(p->needs, ledger_under(&i->ledger));
    if (cfg->vram > 0) CHECK_EQ(p->ledger.ceiling, i->ledger.ceiling);
    CHECK_EQ(p->ctx, i->ctx);
    CHECK_EQ(p->agents, i->max_seqs);
    CHECK_EQ(p->rows, i->max_rows);
    CHECK_EQ(p->token_bytes, i->kv_bytes_per_token);
    CHECK_EQ(p->agent_tokens, i->kv_seq_tokens);
    CHECK_EQ(p->parameters, i->parameters);
    CHECK_STR(p->types, i->types);
    if (i->page_bytes) CHECK_EQ(p->page_bytes, i->page_bytes);
    return e;
}

static inline uint64_t plan_device_bytes(const struct plan *p)
{
    uint64_t sum = 0;
    for (int c = LEDGER_WEIGHTS; c <= LEDGER_LOGITS; c++) sum += p->ledger.bytes[c];
    return sum;
}
#endif
