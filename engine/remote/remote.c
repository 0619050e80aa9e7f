/* remote.c - engine_remote: the scheduler, pages and text path of the real engine; what is said comes from another
 * server.
 *
 *     submit -> body -> admitted -> POST /v1/chat/completions -> stream -> text -> ids -> the scheduler's next tokens
 *
 * A vocabulary of our own counts and spells: that of a GGUF file with the server's model, or else the embedded model's,
 * which is small, so that its counts are above the server's.  Whatever counts, the server's own figures (usage) are
 * compared with it after each answer, and what it counted too little is added from then on: `more` tokens, and where
 * the difference is larger than what a template writes, a factor.
 *
 * The scheduler admits only what has room in a pool of our own size, so this client never asks for more at once than it
 * was told to; its pages are a mirror of what these requests take there.  A prompt's last row waits for the first token
 * of its answer. */
#include "engine/maker.h"
#include "engine/remote/ask.h"
#include "engine/remote/talk.h"

enum {
    CTX_MOST = 32768,      /* of a server that has more, where nobody asked */
    POLL_MS = 50,          /* a step waits so long at most: as a local one computes */
    TEMPLATE_TOKENS = 128, /* by so many what templates write may differ */
    FACTOR_MOST = 16000,   /* per mille */
    FIGURES_MOST = 4 << 20,
    FIGURES_FAILED = 3     /* times in a row: then the server is not asked any more */
};

/* A body whose request has not been admitted yet. */
struct body {
    int id; /* 0: none; -1: of the request that is being submitted */
    struct buf text;
};

struct maker {
    struct web *web;
    struct server server;
    struct sched *sched;
    const struct vocab *vocab;
    int32_t end_id;
    int ctx;
    bool no_system; /* its model's template has no such role */
    struct talk *talk[SCHED_REQUESTS]; /* by place */
    struct body body[SCHED_QUEUE + 1];
    _Atomic int more, permille; /* counts are raised to tokens * permille / 1000 + more */
    struct { /* looking at the server's figures */
        struct web_call *call;
        struct buf text;
        bool over;
        int failed;
        double at;
        _Atomic int64_t kv_permille, running, waiting, preempted;
    } look;
};

/* ---------------------------------------------------------------- what was counted */

static int raised(const struct maker *m, int tokens)
{
    const int64_t n = ((int64_t)tokens * atomic_load(&m->permille) + 999) / 1000 + atomic_load(&m->more);
    return (int)MIN(n, (int64_t)INT32_MAX);
}

/* An answer has ended whose prompt the server counted. */
static void compare(struct maker *m, const struct talk *t)
{
    const struct answer *a = sched_answer(m->sched, t->id);
    if (t->why.code == ENGINE_NEVER_FITS)
        atomic_store(&m->permille, MIN(atomic_load(&m->permille) * 5 / 4, FACTOR_MOST));
    if (!a || !t->hear.counted) return;
    const int64_t theirs = MIN(t->hear.prompt_tokens, INT32_MAX), lack = theirs - raised(m, a->n_prompt);
    if (lack <= 0 || theirs > m->ctx) return; /* more than its context it cannot have read */
    if (atomic_load(&m->more) + lack <= TEMPLATE_TOKENS) {
        atomic_fetch_add(&m->more, (int)lack);
        return;
    }
    const int64_t ours = MAX(a->n_prompt, 1), rest = theirs - atomic_load(&m->more);
    atomic_store(&m->permille, (int)MIN((rest * 1000 + ours - 1) / ours, (int64_t)FACTOR_MOST));
}

static void raise_count(const struct maker *m, bool own_vocab, struct engine_count *out)
{
    const int tokens = raised(m, out->tokens);
    out->exact = out->exact && own_vocab && tokens == out->tokens;
    out->tokens = tokens;
}

static int remote_count_tokens(struct engine *e, const struct msg *msgs, int n, struct engine_count *out,
                               struct err *err)
{
    int rc = sched_count_tokens(e->sched, msgs, n, out, err);
    if (!rc) raise_count(e->own, e->info.own_vocab, out);
    return rc;
}

static int remote_count_aside(const struct engine *e, const struct msg *msgs, int n, struct engine_count *out,
                              struct err *err)
{
    int rc = sched_count_aside(e->sched, msgs, n, out, err);
    if (!rc) raise_count(e->own, e->info.own_vocab, out);
    return rc;
}

/* ---------------------------------------------------------------- the server's figures */

static bool look_bytes(void *self, long status, const char *bytes, size_t n)
{
    struct maker *m = self;
    (void)status;
    if (n <= FIGURES_MOST - m->look.text.len) buf_put(&m->look.text, bytes, n);
    else m->look.text.failed = true;
    return !m->look.text.failed;
}

static void look_done(void *self, long status, int retry_s, const char *why)
{
    struct maker *m = self;
    struct engine_server s = ENGINE_SERVER_UNKNOWN;
    (void)retry_s;
    (void)why;
    if (status == 200 && !m->look.text.failed)
        server_read_metrics(m->look.text.data ? m->look.text.data : "", m->look.text.len, &s);
    const bool known = s.kv_permille >= 0 || s.running >= 0 || s.waiting >= 0;
    m->look.failed = known ? 0 : m->look.failed + 1;
    m->look.over = true;
    atomic_store(&m->look.kv_permille, s.kv_permille);
    atomic_store(&m->look.running, s.running);
    atomic_store(&m->look.waiting, s.waiting);
    atomic_store(&m->look.preempted, s.preempted);
}

static void look_again(struct maker *m)
{
    static const struct web_ops ops = {look_bytes, look_done};
    if (m->look.call && m->look.over) {
        web_end(m->look.call);
        m->look.call = NULL;
    }
    if (m->look.call || m->look.failed >= FIGURES_FAILED || web_clock() - m->look.at < 1) return;
    buf_free(&m->look.text);
    m->look.over = false;
    m->look.at = web_clock();
    m->look.call = web_begin(m->web, "/metrics", NULL, &ops, m, NULL);
}

static void remote_snapshot(const struct engine *e, struct engine_snapshot *out)
{
    const struct maker *m = e->own;
    maker_snapshot(e, out);
    out->server = (struct engine_server){atomic_load(&m->look.kv_permille), atomic_load(&m->look.running),
                                         atomic_load(&m->look.waiting), atomic_load(&m->look.preempted)};
}

/* ---------------------------------------------------------------- the runner */

static struct body *body_of(struct maker *m, int id)
{
    for (size_t i = 0; i < COUNT_OF(m->body); i++)
        if (m->body[i].id == id) return &m->body[i];
    return NULL;
}

static void forget_body(struct body *b)
{
    buf_free(&b->text);
    b->id = 0;
}

static void start(void *self, int place, const struct answer *a)
{
    struct maker *m = self;
    struct body *b = body_of(m, a->id);
    if (!b) b = body_of(m, -1); /* admitted while it is being submitted */
    talk_end(m->talk[place]);
    m->talk[place] = b ? talk_begin(m->web, m->vocab, &b->text, a->max_tokens, &m->no_system) : NULL;
    if (m->talk[place]) m->talk[place]->id = a->id;
    if (b) forget_body(b);
}

/* What ended in another way than by the model is told by look_at_talks(). */
static bool ready(void *self, int place)
{
    const struct talk *t = ((struct maker *)self)->talk[place];
    return t && (talk_has_next(t) || t->end == END_STOP);
}

static int run(void *self, const struct pass *p, struct err *err)
{
    struct maker *m = self;
    (void)err;
    for (int i = 0; i < p->batch.outs && p->part + 1 == p->parts; i++) {
        struct kern_choice *c = &p->choice[i];
        memset(c, 0, sizeof *c);
        for (int k = 0; k < KERN_TOP; k++) c->top_id[k] = -1;
        if (!talk_next(m->talk[p->place[i]], &c->id)) c->id = m->end_id;
        c->top_id[0] = c->id;
    }
    return 0;
}

/* ---------------------------------------------------------------- operations */

static bool has_ended(const struct maker *m, int id)
{
    const struct answer *a = sched_answer(m->sched, id);
    return !a || atomic_load_explicit(&a->end, memory_order_relaxed) != END_NONE;
}

/* Talks do what is due, and end with their requests, whoever ended these. */
static void look_at_talks(struct maker *m)
{
    for (int i = 0; i < SCHED_REQUESTS; i++) {
        struct talk *t = m->talk[i];
        if (!t) continue;
        talk_look(t);
        const bool over = t->end != END_NONE && t->end != END_STOP && !talk_has_next(t);
        if (over && !has_ended(m, t->id)) sched_end(m->sched, t->id, t->end, t->end == END_FAULT ? &t->why : NULL);
        if (!has_ended(m, t->id)) continue;
        compare(m, t);
        talk_end(t);
        m->talk[i] = NULL;
    }
    for (size_t i = 0; i < COUNT_OF(m->body); i++)
        if (m->body[i].id > 0 && has_ended(m, m->body[i].id)) forget_body(&m->body[i]);
}

/* By the counts of the server as far as they are known, where they are above ours. */
static int check_raised(struct engine *e, const struct request *r, struct err *err)
{
    struct engine_count ours = {0};
    const struct maker *m = e->own;
    if (r->max_tokens <= 0 || raised(m, 1000) == 1000) return 0;
    int rc = sched_count_tokens(e->sched, r->msgs, r->n_msgs, &ours, err);
    const int64_t need = (int64_t)raised(m, ours.tokens) + r->max_tokens;
    if (rc || need <= e->info.ctx) return rc;
    return err_set(err, ENGINE_NEVER_FITS,
                   "the request needs %lld tokens as the server counts (about %d in the prompt, up to %d in the "
                   "answer), the context holds %d: shorten the conversation or ask for a shorter answer (-n)",
                   (long long)need, raised(m, ours.tokens), r->max_tokens, e->info.ctx);
}

static int remote_submit(struct engine *e, const struct request *r, int *id, struct err *err)
{
    struct maker *m = e->own;
    look_at_talks(m);
    struct body *b = body_of(m, 0);
    if (!b) return err_set(err, ENGINE_QUEUE_FULL, "%d requests wait already: submit again when one has ended",
                           SCHED_QUEUE);
    int rc = remote_ask(&m->server, r, &b->text, err);
    if (!rc) rc = check_raised(e, r, err);
    b->id = -1;
    if (!rc) rc = sched_submit(e->sched, r, id, err);
    if (rc) forget_body(b);
    else if (b->id == -1) b->id = *id; /* it waits */
    return rc;
}

static int remote_cancel(struct engine *e, int id)
{
    int rc = sched_cancel(e->sched, id);
    look_at_talks(e->own);
    return rc;
}

static void remote_drop(struct engine *e, int id)
{
    sched_drop(e->sched, id);
    look_at_talks(e->own);
}

/* Something to tell of one that runs, where nothing new came: else nothing would seem to be left to do. */
static int still_there(struct maker *m, struct engine_event *ev)
{
    for (int i = 0; i < SCHED_REQUESTS; i++) {
        const struct answer *a = m->talk[i] ? sched_answer(m->sched, m->talk[i]->id) : NULL;
        if (!a) continue;
        const int tokens = atomic_load_explicit(&a->n_tokens, memory_order_relaxed);
        const int read = atomic_load_explicit(&a->n_prefilled, memory_order_relaxed);
        *ev = (struct engine_event){.kind = tokens > 0 ? ENGINE_ADVANCED : ENGINE_PREFILL, .id = a->id,
                                    .n = tokens > 0 ? tokens : read, .of = a->n_prompt};
        return 1;
    }
    return 0;
}

static int remote_step(struct engine *e, struct engine_event *ev, int cap, struct err *err)
{
    struct maker *m = e->own;
    look_again(m);
    web_pump(m->web, 0);
    look_at_talks(m);
    int n = sched_step(e->sched, ev, cap, err);
    if (n == 0 && cap > 0 && still_there(m, ev)) {
        web_pump(m->web, POLL_MS);
        look_at_talks(m);
        n = sched_step(e->sched, ev, cap, err);
        if (n == 0) n = still_there(m, ev);
    }
    look_at_talks(m); /* what has ended is compared before it can be dropped */
    return n;
}

/* ---------------------------------------------------------------- open */

static void remote_close(struct engine *e)
{
    if (!e) return;
    struct maker *m = e->own;
    for (int i = 0; m && i < SCHED_REQUESTS; i++) talk_end(m->talk[i]);
    for (size_t i = 0; m && i < COUNT_OF(m->body); i++) buf_free(&m->body[i].text);
    if (m) {
        web_close(m->web);
        buf_free(&m->look.text);
    }
    free(m);
    maker_free(e);
}

/* The context, from what the server has and what was asked for. */
static int choose_ctx(const struct maker *m, const struct engine_config *cfg, int *ctx, struct err *err)
{
    const int64_t has = m->server.ctx;
    if (has == 0 && cfg->ctx <= 0)
        return err_set(err, ENGINE_BAD_REQUEST, "%s does not say how many tokens the context of %.60s holds: give it "
                       "with --ctx", web_at(m->web), m->server.model);
    if (has > 0 && cfg->ctx > has)
        return err_set(err, ENGINE_BAD_REQUEST, "--ctx %d: the context of %.60s at %s holds %lld tokens%s", cfg->ctx,
                       m->server.model, web_at(m->web), (long long)has,
                       m->server.kind == SERVER_OLLAMA ? " (OLLAMA_CONTEXT_LENGTH sets it there)" : "");
    *ctx = cfg->ctx > 0 ? cfg->ctx : (int)MIN(has, CTX_MOST);
    return 0;
}

static void describe(struct engine *e, const struct engine_config *cfg)
{
    const struct maker *m = e->own;
    struct engine_info *i = &e->info;
    const enum server_kind k = m->server.kind;
    snprintf(i->maker, sizeof i->maker, "remote");
    snprintf(i->arch, sizeof i->arch, "remote");
    snprintf(i->name, sizeof i->name, "%.63s", m->server.model);
    snprintf(i->backend, sizeof i->backend, "%s at %.90s", server_name(k), web_at(m->web));
    i->remote = true;
    i->thinks = false; /* how its model is told to is the server's affair */
    i->own_vocab = cfg->remote.own_vocab;
    i->plain_sampling = k == SERVER_OTHER || k == SERVER_TGI || k == SERVER_OLLAMA;
    if (!i->own_vocab)
        snprintf(i->note, sizeof i->note, "tokens are counted with the embedded model's vocabulary, so above the "
                 "server's count: up to half of the context may stay unused; -m FILE.gguf of the server's model counts "
                 "as it does");
}

static int open_remote(struct engine *e, const struct engine_config *cfg, const struct gguf *g, struct err *err)
{
    struct engine_config own = *cfg;
    enum template_kind kind;
    int pages;
    struct maker *m = e->own = calloc(1, sizeof *m);
    if (!m) return err_set(err, ENGINE_FAULT, "no memory to open an engine");
    atomic_store(&m->permille, 1000);
    atomic_store(&m->look.kv_permille, -1);
    atomic_store(&m->look.running, -1);
    atomic_store(&m->look.waiting, -1);
    atomic_store(&m->look.preempted, -1);
    if (naive_check_config(cfg, false, err)) return ENGINE_FAULT;
    if (maker_vocab_open(e, cfg, g, &kind, err) || maker_end_token(e->vocab, cfg->model, &m->end_id, err))
        return ENGINE_FAULT;
    m->vocab = e->vocab;
    struct err why = {0};
    m->web = web_open(cfg->remote.at, cfg->remote.key, &why);
    if (!m->web) return err_set(err, why.code == ENGINE_BAD_REQUEST ? why.code : ENGINE_FAULT, "--remote: %s", why.text);
    if (server_look(m->web, cfg, &m->server, err) || choose_ctx(m, cfg, &own.ctx, err))
        return ENGINE_FAULT;
    if (m->server.at_once > 0) own.max_seqs = (int)MIN(m->server.at_once, cfg->max_seqs > 0 ? cfg->max_seqs : 8);
    const uint64_t most = (uint64_t)own.ctx * (uint64_t)MAX(own.max_seqs, 8);
    const int rows = MIN(own.ctx, 1 << 16); /* of a pass: they cost nothing, but places to write them down */
    const struct maker_model sizes = {.ctx = own.ctx, .chunk = {.rows = rows, .step_rows = rows}};
    own.pool_tokens = MIN(own.pool_tokens, most); /* 0 stays 0; more could not be held */
    own.kept_seqs = MIN(own.kept_seqs, MAX(own.max_seqs, 8));
    m->ctx = own.ctx;
    if (maker_sizes(e, &own, &sizes, &pages, err)) return ENGINE_FAULT;
    describe(e, cfg);
    struct sched_config sched;
    maker_sched_plan(e, &own, pages, &sched);
    sched.template = kind;
    sched.heard = true;
    sched.runner = (struct runner){.self = m, .start = start, .ready = ready, .run = run};
    sched_ledger(&sched, &e->info.ledger);
    if (maker_sched_open(e, &sched, err)) return ENGINE_FAULT;
    m->sched = e->sched;
    return 0;
}

static struct engine *remote_open(const struct engine_config *cfg, struct err *err)
{
    return maker_open(cfg, open_remote, remote_close, err);
}

const struct engine_ops engine_remote = {
    .name = "remote", .open = remote_open, .close = remote_close, .info = maker_info, .vocab = maker_vocab,
    .count_tokens = remote_count_tokens, .count_aside = remote_count_aside, .submit = remote_submit,
    .answer = maker_answer, .cancel = remote_cancel, .drop = remote_drop, .step = remote_step,
    .page_get = maker_page_get, .page_put = maker_page_put, .page_drop = maker_page_drop,
    .snapshot = remote_snapshot, .memory = maker_memory, .waits = maker_waits, .page_map = maker_page_map,
    .naive_ops = maker_naive_ops};
