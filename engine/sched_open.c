/* sched_open.c - a scheduler opened and closed: what memory it will have, all of it taken before the first request. */
#include "engine/sched_impl.h"

size_t sched_token_text(const struct vocab *v) { return request_token_text(v); }

uint64_t sched_text_bytes(size_t token_text, int ctx, int max_seqs)
{
    enum { SMALL = 8 << 10 };
    struct request r = {.max_tokens = ctx};
    uint64_t bytes;
    bool over = size_mul(arena_need(request_bytes(&r, 1, token_text, 0)), 2 * (uint64_t)max_seqs, &bytes) ||
                size_add(bytes, SCHED_QUEUE * SMALL, &bytes);
    return over ? UINT64_MAX : bytes;
}

size_t sched_prompt_room(int ctx) { return 4 * (size_t)ctx; }

size_t sched_longest_text(const struct sched_config *cfg)
{
    enum { MESSAGES = 512 };
    const size_t full = template_text_bytes((size_t)cfg->ctx * MAX(vocab_max_piece(cfg->vocab), 4), MESSAGES);
    return MIN(full, (size_t)VOCAB_TEXT_MAX);
}

size_t sched_scratch_bytes(const struct sched_config *cfg)
{
    return (size_t)size_align(vocab_scratch_bytes(cfg->vocab, sched_longest_text(cfg)), 64);
}

static uint64_t prompt_bytes(const struct sched_config *cfg)
{
    return sched_scratch_bytes(cfg) + sched_prompt_room(cfg->ctx) * (sizeof(int32_t) + 1);
}

static struct kv_config kv_of(const struct sched_config *cfg)
{
    struct kv_config kv = {.groups = cfg->groups, .rows = naive_pass_rows(cfg), .slots = cfg->max_seqs,
                           .ctx = cfg->ctx};
    memcpy(kv.group, cfg->group, sizeof kv.group);
    return kv;
}

void sched_ledger(const struct sched_config *cfg, struct ledger *out)
{
    uint64_t rows = (uint64_t)naive_pass_rows(cfg), outs = (uint64_t)cfg->max_outs;
    struct kv_config kv = kv_of(cfg);
    out->bytes[LEDGER_TEXT] = cfg->text_bytes;
    out->bytes[LEDGER_PARK] = cfg->park_bytes;
    out->bytes[LEDGER_GRAMMARS] = strict_bytes(&cfg->strict, cfg->max_outs);
    out->bytes[LEDGER_NAIVE] = naive_bytes(cfg);
    out->bytes[LEDGER_TABLES] =
        sizeof(struct sched) + sizeof(struct engine_snapshot) + vocab_bytes(cfg->vocab) + prompt_bytes(cfg) +
        kv_bytes(&kv) +
        (uint64_t)cfg->max_seqs * (sizeof(struct request_live *) + sizeof(struct pass_pool)) +
        rows * 3 * sizeof(int32_t) +
        outs * (sizeof(int32_t) + sizeof(int) + sizeof(struct kern_sample) + sizeof(struct kern_choice) +
                sizeof(struct request_live *));
}

static bool allocate(struct sched *s)
{
    size_t rows = (size_t)naive_pass_rows(&s->cfg), outs = (size_t)s->cfg.max_outs, seqs = (size_t)s->cfg.max_seqs;
    s->slot = calloc(seqs, sizeof *s->slot);
    s->token = calloc(rows, sizeof *s->token);
    s->pos = calloc(rows, sizeof *s->pos);
    s->seq = calloc(rows, sizeof *s->seq);
    s->out_row = calloc(outs, sizeof *s->out_row);
    s->out_place = calloc(outs, sizeof *s->out_place);
    s->sample = calloc(outs, sizeof *s->sample);
    s->choice = calloc(outs, sizeof *s->choice);
    s->out_of = calloc(outs, sizeof *s->out_of);
    s->pool = calloc(seqs, sizeof *s->pool);
    s->published = figures_open();
    return s->slot && s->token && s->pos && s->seq && s->out_row && s->out_place && s->sample && s->choice &&
           s->out_of && s->pool && s->published;
}

/* The room for requests: touched here, so that the system cannot refuse it later. */
static bool take_text(struct sched *s)
{
    size_t bytes = (size_t)s->cfg.text_bytes;
    if (s->cfg.text_bytes > PTRDIFF_MAX || !(s->text_mem = take_touched(bytes))) return false;
    arena_open(&s->arena, s->text_mem, bytes);
    return true;
}

static bool take_grammars(struct sched *s, struct err *err)
{
    if (s->cfg.strict.grammars == 0) return true;
    s->strict = strict_open(&s->cfg.strict, s->cfg.vocab, s->cfg.max_outs, err);
    return s->strict != NULL;
}

/* Where prompts are made: the scratch, their ids, the segments of these. */
static bool take_prompt(struct sched *s, struct err *err)
{
    size_t scratch = sched_scratch_bytes(&s->cfg), room = sched_prompt_room(s->cfg.ctx);
    char *mem = s->prompt_mem = take_touched(prompt_bytes(&s->cfg));
    if (!mem) return false;
    s->scratch = vocab_scratch_open(s->cfg.vocab, mem, scratch, err);
    s->prompt = (int32_t *)(void *)(mem + scratch);
    s->segment = (uint8_t *)(s->prompt + room);
    return s->scratch != NULL;
}

static int encode_mark(struct sched *s, const char *text, int32_t *to)
{
    struct ids ids = ids_fixed(to, THINKING_IDS);
    const unsigned flags = VOCAB_SPECIAL | VOCAB_NO_PREFIX;
    return vocab_encode(s->cfg.vocab, s->scratch, text, strlen(text), flags, &ids, NULL) ? 0 : (int)ids.n;
}

/* Harmony's thinking is in a channel: a model that is to answer at once could not call a tool either. */
static void encode_marks(struct sched *s)
{
    struct request_marks *m = &s->marks;
    const bool harmony = s->cfg.template == TEMPLATE_HARMONY;
    m->n_close = encode_mark(s, harmony ? THINKING_HARMONY : THINKING_CLOSE, m->close);
    if (harmony) return;
    m->n_skip = encode_mark(s, THINKING_SKIP, m->skip);
    m->n_open = encode_mark(s, s->cfg.thoughts.bare ? THINKING_TAG : THINKING_OPEN, m->open);
}

static void *no_memory(int max_seqs, struct err *err)
{
    err_set(err, ENGINE_FAULT, "no host memory for a scheduler of %d sequences", max_seqs);
    return NULL;
}

struct sched *sched_open(const struct sched_config *cfg, struct err *err)
{
    assert(cfg->max_rows >= cfg->step_rows && cfg->step_rows > cfg->max_seqs && cfg->max_outs >= cfg->max_seqs);
    assert(cfg->ctx > 0 && cfg->text_bytes > 0);
    struct sched *s = calloc(1, sizeof *s);
    if (!s) return no_memory(cfg->max_seqs, err);
    s->cfg = *cfg;
    s->answer_mean = -1; /* nothing known */
    struct kv_config kv = kv_of(cfg);
    s->kv = kv_open(&kv, err);
    if (!s->kv || park_open(&s->park, cfg->park_bytes, cfg->runner.page_bytes, err)) {
        sched_close(s);
        return NULL;
    }
    if (cfg->keeps_pages) kv_identify(s->kv, cfg->identity);
    for (int g = 0; cfg->runner.usable_pages && g < cfg->groups; g++)
        kv_limit(s->kv, g, cfg->runner.usable_pages(cfg->runner.self, g, false, 0));
    const bool room = allocate(s) && take_text(s);
    if (room && take_prompt(s, err) && take_grammars(s, err) && !naive_open(s, err)) {
        encode_marks(s);
        figures_publish(s);
        return s;
    }
    if (!room || !s->prompt_mem) no_memory(cfg->max_seqs, err); /* the others have said why */
    sched_close(s);
    return NULL;
}

void sched_close(struct sched *s)
{
    if (!s) return;
    kv_close(s->kv);
    park_close(&s->park);
    strict_close(s->strict);
    free(s->text_mem);
    free(s->prompt_mem);
    free(s->slot);
    free(s->token);
    free(s->pos);
    free(s->seq);
    free(s->out_row);
    free(s->out_place);
    free(s->sample);
    free(s->choice);
    free(s->out_of);
    free(s->pool);
    figures_close(s->published);
    naive_close(s);
    free(s);
}
