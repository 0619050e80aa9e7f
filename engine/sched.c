/* sched.c - the table of requests, and the operations on it. */
#include "engine/sched_impl.h"

/* The template's word becomes ours; its text stays. */
static int render_failed(int rc, struct err *err)
{
    int code = rc == VOCAB_PATTERN_LIMIT ? ENGINE_BAD_REQUEST : ENGINE_NO_MEMORY;
    if (err) err->code = code;
    return code;
}

int sched_count_tokens(struct sched *s, const struct msg *msgs, int n, struct engine_count *out, struct err *err)
{
    uint64_t tokens;
    int rc = template_count(s->cfg.template, s->cfg.vocab, s->scratch, msgs, n, true, &tokens, &out->exact, err);
    if (rc) return render_failed(rc, err);
    out->tokens = (int)MIN(tokens, (uint64_t)INT32_MAX);
    return 0;
}

/* A scratch in which all of it has room, but no larger than the other: so the figures are the same. */
int sched_count_aside(const struct sched *s, const struct msg *msgs, int n, struct engine_count *out, struct err *err)
{
    const struct sched_config *cfg = &s->cfg;
    uint64_t text = 0, tokens;
    for (int i = 0; i < n; i++)
        if (size_add(text, msgs[i].len, &text)) text = SIZE_MAX;
    size_t bytes = MIN(vocab_scratch_bytes(cfg->vocab, template_text_bytes((size_t)text, n)), sched_scratch_bytes(cfg));
    void *mem = malloc(bytes);
    if (!mem) return err_set(err, ENGINE_NO_MEMORY, "no memory to count the tokens of %llu bytes",
                             (unsigned long long)text);
    struct vocab_scratch *scratch = vocab_scratch_open(cfg->vocab, mem, bytes, err);
    int rc = scratch ? template_count(cfg->template, cfg->vocab, scratch, msgs, n, true, &tokens, &out->exact, err)
                     : VOCAB_NO_MEMORY;
    free(mem);
    if (rc) return render_failed(rc, err);
    out->tokens = (int)MIN(tokens, (uint64_t)INT32_MAX);
    return 0;
}

static struct request_live **find(const struct sched *s, int id)
{
    for (int i = 0; i < s->places; i++)
        if (s->all[i] && s->all[i]->a.id == id) return (struct request_live **)&s->all[i];
    return NULL;
}

struct request_live *sched_find(const struct sched *s, int id)
{
    struct request_live **q = find(s, id);
    return q ? *q : NULL;
}

int sched_need(const struct sched *s, int group, int tokens)
{
    return kv_group_need(&s->cfg.group[group], naive_pass_rows(&s->cfg), tokens);
}

/* Can this ever be served?  The figures, if not. */
static int check_fits(const struct sched *s, int prompt, int max_tokens, struct err *err)
{
    int64_t need = (int64_t)prompt + max_tokens;
    if (need > s->cfg.ctx)
        return err_set(
            err, ENGINE_NEVER_FITS,
            "the request needs %lld tokens (%d in the prompt, up to %d in the answer), the context holds %d: "
            "shorten the conversation, ask for a shorter answer (-n) or open a larger context (--ctx)",
            (long long)need, prompt, max_tokens, s->cfg.ctx);
    for (int g = 0; g < s->cfg.groups && naive_promises(s); g++) {
        int pages = sched_need(s, g, (int)need), pool = s->cfg.group[g].pages;
        if (pages > pool)
            return err_set(
                err, ENGINE_NEVER_FITS,
                "the request needs %d KV pages of %d tokens (%d in the prompt, up to %d in the answer), the whole pool "
                "has %d (%lld tokens): shorten it or open a larger pool",
                pages, KERN_PAGE, prompt, max_tokens, pool, (long long)pool * KERN_PAGE);
    }
    return 0;
}

/* Room for the request and its answer, or a refusal with the figures. */
static int take_room(struct sched *s, const struct request *r, size_t n, void **mem, struct err *err)
{
    size_t bytes = request_bytes(r, n, s->cfg.token_text, s->cfg.embd);
    if (bytes == SIZE_MAX || arena_need(bytes) > s->cfg.text_bytes)
        return err_set(err, ENGINE_NEVER_FITS,
                       "the request and its answer take %.1f KiB, all requests may take %.1f KiB: ask for a shorter "
                       "answer or for fewer likeliest tokens", (double)bytes / 1024, (double)s->cfg.text_bytes / 1024);
    *mem = arena_take(&s->arena, bytes);
    if (*mem) return 0;
    return err_set(err, ENGINE_NO_MEMORY,
                   "the request and its answer take %.1f KiB; %d requests and answers hold %.1f of %.1f KiB: drop some "
                   "that have ended, or try again when one has", (double)bytes / 1024, s->requests,
                   (double)arena_used(&s->arena) / 1024, (double)s->cfg.text_bytes / 1024);
}

static struct request_live **free_place(struct sched *s)
{
    for (int i = 0; i < SCHED_REQUESTS; i++)
        if (!s->all[i]) return &s->all[i];
    return NULL;
}

static void give_grammar(struct request_live *q)
{
    strict_give(q->carried);
    q->carried = NULL;
}

static void forget(struct sched *s, struct request_live **q)
{
    give_grammar(*q);
    arena_give(&s->arena, *q);
    *q = NULL;
    s->requests--;
    while (s->places > 0 && !s->all[s->places - 1]) s->places--;
}

/* A request that would not wait goes in now or not at all. */
static int refuse_waiting(struct sched *s, struct request_live **place, struct err *err)
{
    struct engine_wait w;
    char why[200];
    s->waiting++;
    (*place)->state = REQUEST_WAITING;
    if (admit_now(s, *place) || (*place)->state == REQUEST_ENDED) return 0; /* ended: END_OOM */
    figures_wait(s, *place, &w);
    figures_wait_words(s, *place, &w, why, sizeof why);
    s->waiting--;
    forget(s, place);
    return err_set(err, ENGINE_NOT_NOW, "the request would have to wait: %s", why);
}

static bool has_marks(const struct sched *s, int thinking)
{
    return !s->cfg.heard && (thinking == THINKING_OFF ? s->marks.n_skip : s->marks.n_close) > 0;
}

static int check_thinking(const struct sched *s, const struct request *r, struct err *err)
{
    if (r->thinking == THINKING_FREE) return 0;
    if (r->grammar && r->grammar->whole && s->cfg.template != TEMPLATE_HARMONY) /* which has its channel */
        return err_set(err, ENGINE_BAD_REQUEST, "an answer that is one value has no place for thinking: leave its "
                       "bound out");
    if (has_marks(s, r->thinking)) return 0;
    return err_set(err, ENGINE_BAD_REQUEST, "the request bounds its thinking, for which the template %s has no words",
                   template_name(s->cfg.template));
}

/* A prompt of messages is opened as the model's template has it, where thinking has a place in the answer: none where
 * that was begun already. */
static void say_thinking(struct sched *s, const struct request *r, struct request_live *q)
{
    const struct template_thoughts *t = &s->cfg.thoughts;
    const bool goes_on = r->n_msgs > 0 && r->msgs && r->msgs[r->n_msgs - 1].begun;
    const bool opened = !r->ids && !goes_on && !s->cfg.heard && !(r->grammar && r->grammar->whole);
    const bool skip = opened && t->skips && r->thinking == THINKING_FREE;
    const bool begun = opened && (r->thinking > 0 ? t->asked : t->begun);
    request_bound(q, skip ? THINKING_OFF : r->thinking, begun, &s->marks);
}

/* The request's grammar, and where its answer is in that. */
static int take_grammar(struct sched *s, const struct request *r, const int32_t *prompt, size_t n,
                        struct carried **carried, struct strict_state *at, struct err *err)
{
    *carried = NULL;
    *at = (struct strict_state){0};
    if (!r->grammar) return 0;
    int rc = strict_take(s->strict, r->grammar, carried, err);
    if (rc || s->cfg.heard || strict_begin(s->strict, *carried, prompt, n, at)) return rc;
    strict_give(*carried);
    return err_set(err, ENGINE_BAD_REQUEST, "the prompt ends in no message of the assistant's with which an answer of "
                   "the request's grammar begins");
}

static int enqueue(struct sched *s, const struct request *r, const int32_t *prompt, const uint8_t *segment, size_t n,
                   int *id, struct err *err)
{
    void *mem;
    struct carried *carried;
    struct strict_state begun;
    if (s->waiting >= SCHED_QUEUE && !r->no_wait)
        return err_set(err, ENGINE_QUEUE_FULL, "%d requests wait already: submit again when one has ended", s->waiting);
    struct request_live **place = free_place(s);
    if (!place) return err_set(err, ENGINE_QUEUE_FULL, "%d answers are kept: drop some", SCHED_REQUESTS);
    if (n > INT32_MAX / 2)
        return err_set(err, ENGINE_NEVER_FITS, "the prompt has %zu tokens, the context holds %d", n, s->cfg.ctx);
    int rc = 0;
    if (r->max_tokens >= 0) rc = check_fits(s, (int)n, r->max_tokens, err); /* below 0: request_check() says so */
    if (!rc) rc = request_check(r, prompt, (int)n, s->cfg.vocab, s->cfg.embd, err);
    if (!rc) rc = check_thinking(s, r, err);
    if (!rc) rc = take_room(s, r, n, &mem, err);
    if (rc) return rc;
    rc = take_grammar(s, r, prompt, n, &carried, &begun, err);
    if (rc) {
        arena_give(&s->arena, mem);
        return rc;
    }
    const char *stop = r->ids ? NULL : template_stop(s->cfg.template); /* ids may be any text */
    *place = request_make(r, prompt, segment, (int)n, s->cfg.token_text, s->cfg.embd, stop, mem);
    (*place)->carried = carried;
    (*place)->strict = begun;
    say_thinking(s, r, *place);
    const bool harmony = s->cfg.template == TEMPLATE_HARMONY;
    const bool mistral = template_marks_calls(s->cfg.template) && !r->grammar; /* whose calls are text */
    if ((mistral || harmony) && !s->cfg.heard) request_channels(*place, s->cfg.vocab, mistral);
    s->requests++;
    s->next_id = s->next_id == INT32_MAX ? 1 : s->next_id + 1;
    (*place)->a.id = s->next_id;
    (*place)->place = (int)(place - s->all);
    s->places = MAX(s->places, (*place)->place + 1);
    (*place)->submitted = ++s->submissions;
    if (r->no_wait) {
        rc = refuse_waiting(s, place, err);
        if (rc) return rc;
    } else {
        s->waiting++;
        s->look = true;
    }
    *id = (*place)->a.id;
    figures_publish(s);
    return 0;
}

int sched_submit(struct sched *s, const struct request *r, int *id, struct err *err)
{
    if (s->cfg.runner.lost && s->cfg.runner.lost(s->cfg.runner.self, err)) return ENGINE_FAULT;
    if (r->ids) {
        if (r->n_ids < 0) return err_set(err, ENGINE_BAD_REQUEST, "the prompt has %d tokens", r->n_ids);
        return enqueue(s, r, r->ids, r->segment, (size_t)r->n_ids, id, err);
    }
    size_t room = sched_prompt_room(s->cfg.ctx);
    struct ids ids = ids_fixed(s->prompt, room);
    int rc = template_render(s->cfg.template, s->cfg.vocab, s->scratch, r->msgs, r->n_msgs, true, &ids, s->segment,
                             room, err);
    if (rc == VOCAB_TOO_LONG && sched_longest_text(&s->cfg) == VOCAB_TEXT_MAX)
        return err_set(err, ENGINE_NEVER_FITS, "the prompt has a text of more than %d MiB, the most that can be "
                       "encoded at once: shorten it", VOCAB_TEXT_MAX >> 20);
    if (rc == VOCAB_FULL || rc == VOCAB_TOO_LONG)
        return err_set(err, ENGINE_NEVER_FITS,
                       "the prompt has more than %zu tokens, the context holds %d: shorten the conversation or open a "
                       "larger context (--ctx)", rc == VOCAB_FULL ? room : (size_t)s->cfg.ctx, s->cfg.ctx);
    return rc ? render_failed(rc, err) : enqueue(s, r, ids.id, s->segment, ids.n, id, err);
}

const struct answer *sched_answer(struct sched *s, int id)
{
    struct request_live *q = sched_find(s, id);
    return q ? &q->a : NULL;
}

/* What over-commit expects of an answer: a mean that follows slowly. */
static void learn_length(struct sched *s, const struct request_live *q)
{
    int n = atomic_load_explicit(&q->a.n_tokens, memory_order_relaxed);
    const int end = atomic_load_explicit(&q->a.end, memory_order_relaxed);
    if (end == END_NONE || end == END_CANCELLED || end == END_FAULT || end == END_OOM) return; /* it was not over */
    s->answer_mean = s->answer_mean < 0 ? n : s->answer_mean + (n - s->answer_mean) / 8;
}

void sched_leave(struct sched *s, struct request_live *q)
{
    if (q->state == REQUEST_WAITING) s->waiting--;
    if (q->state == REQUEST_PARKED) {
        s->parked--;
        park_give(&s->park, q->park_first);
        q->park_first = -1;
    }
    if (q->state == REQUEST_RUNNING) {
        learn_length(s, q);
        naive_leave(s, q);
        batch_leave(s, q);
        kv_drop(s->kv, q->slot);
        s->slot[q->slot] = NULL;
        s->running--;
    }
    give_grammar(q);
    q->state = REQUEST_ENDED;
    s->look = true;
}

int sched_end(struct sched *s, int id, enum engine_end why, const struct err *fault)
{
    struct request_live *q = sched_find(s, id);
    if (!q || q->state == REQUEST_ENDED) return -1;
    q->a.too_long = fault && fault->code == ENGINE_NEVER_FITS;
    request_end(q, why, fault ? fault->text : NULL);
    sched_leave(s, q);
    figures_publish(s);
    return 0;
}

int sched_cancel(struct sched *s, int id) { return sched_end(s, id, END_CANCELLED, NULL); }

void sched_drop(struct sched *s, int id)
{
    struct request_live **q = find(s, id);
    if (!q) return;
    sched_leave(s, *q);
    forget(s, q);
    figures_publish(s);
}

/* ------------------------------------------------------------------ events */

bool sched_tell(struct events *e, enum engine_event_kind kind, const struct request_live *q)
{
    if (e->n == e->cap) return false;
    e->ev[e->n++] = (struct engine_event){
        .kind = kind,
        .id = q->a.id,
        .of = q->a.n_prompt,
        .n = kind == ENGINE_PREFILL ? MIN(q->computed, q->a.n_prompt)
                                    : atomic_load_explicit(&q->a.n_tokens, memory_order_relaxed),
        .end = (enum engine_end)atomic_load_explicit(&q->a.end, memory_order_relaxed),
    };
    return true;
}

/* What happened outside a step, or found no room in the last one's events. */
static void tell_rest(struct sched *s, struct events *e)
{
    for (int i = 0; i < s->places; i++) {
        struct request_live *q = s->all[i];
        if (!q) continue;
        if (q->admitted && !q->told_admitted) q->told_admitted = sched_tell(e, ENGINE_ADMITTED, q);
        const bool all_before = !q->admitted || q->told_admitted;
        if (q->state == REQUEST_ENDED && !q->told_end && all_before) q->told_end = sched_tell(e, ENGINE_END, q);
    }
}

void sched_find_pages(struct sched *s, bool wait)
{
    for (int g = 0; s->cfg.runner.usable_pages && g < s->cfg.groups; g++) {
        int usable = kv_group_count(s->kv, g).usable;
        if (usable == s->cfg.group[g].pages) continue;
        int now = s->cfg.runner.usable_pages(s->cfg.runner.self, g, wait, usable);
        if (now == usable) continue;
        wait = false;
        kv_limit(s->kv, g, now);
        s->look = true;
    }
}

static bool pages_to_come(const struct sched *s)
{
    for (int g = 0; g < s->cfg.groups; g++)
        if (kv_group_count(s->kv, g).usable < s->cfg.group[g].pages) return true;
    return false;
}

/* Who can be let in is; when nobody runs and someone wants to, that may need memory that is still on its way. */
static void let_in(struct sched *s, struct events *e)
{
    sched_find_pages(s, false);
    admit_all(s, e);
    while (s->running == 0 && s->waiting + s->parked > 0 && pages_to_come(s)) {
        sched_find_pages(s, true);
        admit_all(s, e);
    }
}

/* A new pass, or none. */
static void begin_pass(struct sched *s, struct events *e)
{
    let_in(s, e);
    admit_make_room(s, e);
    batch_make(s);
    s->passes += s->pass.batch.rows > 0;
}

static void run_part(struct sched *s, struct events *e, struct err *err)
{
    struct err why = {0};
    struct pass *p = &s->pass;
    int rc = s->cfg.runner.run(s->cfg.runner.self, p, &why);
    if (!rc && ++p->part < p->parts) {
        sched_tell(e, ENGINE_PREFILL, s->slot[s->seq[0]]); /* no events would say that nothing is left to do */
        return;
    }
    p->part = 0;
    if (!rc) {
        batch_take_results(s, e);
    } else {
        batch_fail(s, &why);
        err_set(err, ENGINE_FAULT, "%s", why.text);
    }
}

int sched_step(struct sched *s, struct engine_event *ev, int cap, struct err *err)
{
    struct events e = {.ev = ev, .cap = cap};
    tell_rest(s, &e);
    if (s->pass.part == 0) begin_pass(s, &e);
    if (s->pass.batch.rows > 0) run_part(s, &e, err);
    if (s->trouble.code) err_set(err, ENGINE_FAULT, "%s", s->trouble.text);
    s->trouble.code = 0;
    tell_rest(s, &e);
    figures_publish(s);
    return e.n;
}
