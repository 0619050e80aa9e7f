/* flow.c - sends asks, takes answers, repeats what failed, counts, ends; what is asked is each way's own matter. */
#include "app/session/flow_impl.h"

enum { REPEATS = 3 }; /* the same agent saying the same thing so often makes no progress */

static const struct flow_ops *const ways[FLOW_KINDS] = {
    [FLOW_SINGLE] = &flow_single,         [FLOW_ROUND_ROBIN] = &flow_round_robin, [FLOW_SELECTOR] = &flow_selector,
    [FLOW_SEQUENTIAL] = &flow_sequential, [FLOW_SUPERVISOR] = &flow_supervisor,   [FLOW_MAP] = &flow_map,
    [FLOW_DEBATE] = &flow_debate,         [FLOW_GRAPH] = &flow_graph,
};

const char *flow_end_name(enum flow_end e)
{
    static const char *const name[] = {[FLOW_DONE] = "done",
                                       [FLOW_STEPS] = "steps",
                                       [FLOW_NO_PROGRESS] = "no_progress",
                                       [FLOW_FAILED] = "failed",
                                       [FLOW_CANCELLED] = "cancelled"};
    return name[e];
}

/* ------------------------------------------------------------------ open and close */

static void ask_free(struct flow_ask *a)
{
    buf_free(&a->text);
    free(a->part);
    free(a->answer);
}

void flow_close(struct flow *f)
{
    if (!f) return;
    for (int i = 0; i < f->n_asks; i++) {
        ask_free(f->ask[i]);
        free(f->ask[i]);
    }
    ask_free(&f->scrap);
    free(f->ask);
    free(f->piece);
    buf_free(&f->joined);
    free((char *)f->input.text);
    free(f);
}

static char *copy_of(const char *text, size_t n)
{
    char *copy = n < SIZE_MAX ? malloc(n + 1) : NULL;
    if (!copy) return NULL;
    if (n > 0) memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

static void check_crew(const struct crew *c) /* crew_read() lets no other pass */
{
    bool tasks = c->flow == FLOW_SEQUENTIAL || c->flow == FLOW_GRAPH;
    assert(c->flow >= 0 && c->flow < FLOW_KINDS && c->steps >= 1 && c->retries >= 0 && c->lead < c->n_agents);
    assert(tasks ? c->n_tasks >= 1 : c->n_members >= 1);
    assert(c->lead >= 0 || (c->flow != FLOW_SUPERVISOR && c->flow != FLOW_DEBATE));
    (void)tasks;
    (void)c;
}

struct flow *flow_open(const struct crew *crew, const char *input, size_t n, int parallel, struct err *err)
{
    check_crew(crew);
    struct flow *f = calloc(1, sizeof *f);
    char *copy = copy_of(input, n);
    if (!f || !copy) {
        free(f);
        free(copy);
        err_set(err, -1, "no memory for an input of %zu bytes", n);
        return NULL;
    }
    f->crew = crew;
    f->ops = ways[crew->flow];
    f->input = (struct flow_span){copy, n};
    f->parallel = MAX(crew->parallel > 0 ? MIN(parallel, crew->parallel) : parallel, 1);
    f->speaker = -1;
    f->output = (struct flow_span){"", 0};
    if (f->ops->open && f->ops->open(f, err)) {
        flow_close(f);
        return NULL;
    }
    return f;
}

int flow_steps(const struct flow *f) { return f->made; }

const char *flow_output(const struct flow *f, size_t *n)
{
    *n = f->output.n;
    return f->output.text;
}

/* ------------------------------------------------------------------ the end */

void flow_over(struct flow *f, enum flow_end end, const char *fmt, ...)
{
    if (f->over) return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->why, sizeof f->why, fmt, ap);
    va_end(ap);
    for (char *p = f->why; *p; p++) { /* what failed may say it in any bytes; this is one line */
        if ((unsigned char)*p < ' ' || *p == 127) *p = ' ';
    }
    f->end = end;
    f->over = true;
}

void flow_cancel(struct flow *f) { flow_over(f, FLOW_CANCELLED, "it was cancelled"); }

/* ------------------------------------------------------------------ making an ask */

static bool room_for_ask(struct flow *f)
{
    if (f->n_asks < f->cap_asks) return true;
    int cap = f->cap_asks > INT32_MAX / 2 ? INT32_MAX : MAX(2 * f->cap_asks, 16);
    struct flow_ask **p = cap > f->cap_asks ? realloc(f->ask, (size_t)cap * sizeof(struct flow_ask *)) : NULL;
    if (!p) return false;
    f->ask = p;
    f->cap_asks = cap;
    return true;
}

struct flow_ask *flow_put(struct flow *f, int agent)
{
    struct flow_ask *a = room_for_ask(f) ? calloc(1, sizeof *a) : NULL;
    if (a) f->ask[f->n_asks++] = a;
    else f->no_memory = true;
    if (!a) a = &f->scrap;
    a->agent = agent;
    a->task = -1;
    snprintf(a->label, sizeof a->label, "%s", flow_name(f, agent));
    return a;
}

void flow_hand(struct flow *f, struct flow_ask *a, const struct flow_part *part)
{
    if (a->n_parts == a->cap_parts) {
        int cap = a->cap_parts ? 2 * a->cap_parts : 4;
        struct flow_part *p = realloc(a->part, (size_t)cap * sizeof *p);
        if (!p) {
            f->no_memory = true;
            return;
        }
        a->part = p;
        a->cap_parts = cap;
    }
    a->part[a->n_parts++] = *part;
}

void flow_hand_input(struct flow *f, struct flow_ask *a)
{
    flow_hand(f, a, &(struct flow_part){-1, 0, "input", f->input.text, f->input.n});
}

void flow_hand_said(struct flow *f, struct flow_ask *a, const struct flow_ask *of)
{
    flow_hand(f, a, &(struct flow_part){of->agent, of->number, of->label, of->answer, of->n});
}

/* The length of a name that stands in braces at text; 0: none does, or nobody has it. */
static size_t place(const struct crew *c, const char *text)
{
    const char *close = *text == '{' ? memchr(text, '}', strnlen(text, CREW_NAME + 2)) : NULL;
    if (!close) return 0;
    size_t n = (size_t)(close - text - 1);
    if (n == 5 && memcmp(text + 1, "input", n) == 0) return n;
    for (int i = 0; i < c->n_tasks; i++) {
        if (strlen(c->task[i].name) == n && memcmp(text + 1, c->task[i].name, n) == 0) return n;
    }
    return 0;
}

bool flow_word(const struct flow *f, struct flow_ask *a, const char *text)
{
    bool input = false;
    while (*text) {
        size_t plain = strcspn(text, "{"), n = place(f->crew, text + plain);
        buf_put(&a->text, text, plain);
        text += plain;
        if (n > 0) {
            input |= n == 5 && memcmp(text + 1, "input", n) == 0;
            buf_put(&a->text, text + 1, n);
            text += n + 2;
        } else if (*text) {
            buf_put(&a->text, text++, 1);
        }
    }
    return input;
}

/* ------------------------------------------------------------------ what was said */

uint64_t flow_hash(const char *text, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h;
}

bool flow_same(const struct flow_ask *a, const struct flow_ask *b)
{
    if (a->hash != b->hash || a->said.n != b->said.n) return false;
    return a->said.n == 0 || memcmp(a->said.text, b->said.text, a->said.n) == 0;
}

static int times_said(const struct flow *f, int at)
{
    const struct flow_ask *a = f->ask[at];
    int n = 1;
    for (int i = 0; i < at; i++) {
        const struct flow_ask *b = f->ask[i];
        bool alike = b->state == ASK_SAID && b->agent == a->agent && b->about == a->about && !b->aside;
        n += alike && flow_same(a, b);
    }
    return n;
}

/* All that could be asked of this wave is settled: in its order. */
static void settle(struct flow *f)
{
    bool unsent = false;
    for (int i = f->wave; i < f->n_asks && !f->over; i++) {
        struct flow_ask *a = f->ask[i];
        unsent |= a->state == ASK_WAITS;
        if (a->state == ASK_FAILED && !f->ops->goes_on) flow_over(f, FLOW_FAILED, "%s failed: %s", a->label, a->answer);
        if (a->state != ASK_SAID || a->aside) continue;
        f->output = (struct flow_span){a->answer, a->n};
        if (f->ops->loops && !f->crew->endless && times_said(f, i) >= REPEATS) {
            flow_over(f, FLOW_NO_PROGRESS, "%s said the same thing %d times", a->label, REPEATS);
        }
    }
    if (unsent) flow_over(f, FLOW_STEPS, "%d step%s made", f->made, f->made == 1 ? " was" : "s were");
}

/* ------------------------------------------------------------------ rounds */

/* Numbers for those that wait, as far as the steps reach.  False: to none of them. */
static bool number(struct flow *f)
{
    int before = f->numbered;
    for (int i = f->wave; i < f->n_asks; i++) {
        if (f->ask[i]->state != ASK_WAITS) continue;
        f->ask[i]->number = f->crew->endless || f->numbered < f->crew->steps ? ++f->numbered : 0;
    }
    return f->numbered > before;
}

/* Those that failed and may be asked again wait again. */
static int retry(struct flow *f)
{
    int n = 0;
    for (int i = f->wave; i < f->n_asks; i++) {
        struct flow_ask *a = f->ask[i];
        if (a->state != ASK_FAILED || a->again >= f->crew->retries) continue;
        a->state = ASK_WAITS;
        a->again++;
        free(a->answer);
        a->answer = NULL;
        n++;
    }
    return n;
}

/* Nothing is out and nothing can be sent: what failed again, or what comes next, or the end. */
static void next_round(struct flow *f)
{
    f->first = f->wave;
    if (retry(f) > 0 && number(f)) return;
    settle(f);
    if (f->over) return;
    f->wave = f->first = f->n_asks;
    f->ops->next(f);
    for (int i = f->wave; i < f->n_asks; i++) f->no_memory |= f->ask[i]->text.failed;
    if (f->no_memory) flow_over(f, FLOW_FAILED, "no memory for the next ask");
    assert(f->over || f->n_asks > f->wave);
    if (!f->over && !number(f)) flow_over(f, FLOW_STEPS, "%d step%s made", f->made, f->made == 1 ? " was" : "s were");
}

static bool is_settled(const struct flow_ask *a) { return a->state == ASK_SAID || a->state == ASK_FAILED; }

/* One context says one thing at a time.  What is out of the same context is before it: they are sent in their order. */
static bool busy(const struct flow *f, const struct flow_ask *a)
{
    for (int i = f->first; f->ask[i] != a; i++) {
        const struct flow_ask *b = f->ask[i];
        if (b->state == ASK_OUT && b->agent == a->agent && b->copy == a->copy) return true;
    }
    return false;
}

static struct flow_ask *sendable(const struct flow *f)
{
    for (int i = f->first; i < f->n_asks && f->out < f->parallel; i++) {
        struct flow_ask *a = f->ask[i];
        if (a->state == ASK_WAITS && a->number > 0 && !busy(f, a)) return a;
    }
    return NULL;
}

static void give_out(struct flow *f, struct flow_ask *a, struct flow_effect *out)
{
    a->state = ASK_OUT;
    f->made++;
    f->out++;
    *out = (struct flow_effect){.kind = FLOW_ASK,
                                .ask = a->number,
                                .agent = a->agent,
                                .copy = a->copy,
                                .fresh = a->fresh,
                                .again = a->again,
                                .text = a->text.data ? a->text.data : "",
                                .n = a->text.len,
                                .part = a->part,
                                .n_parts = a->n_parts};
}

bool flow_next(struct flow *f, struct flow_effect *out)
{
    while (!f->over) {
        struct flow_ask *a = sendable(f);
        if (a) {
            give_out(f, a, out);
            return true;
        }
        if (f->out > 0) return false;
        next_round(f);
    }
    if (f->told) return false;
    f->told = true;
    *out = (struct flow_effect){.kind = FLOW_OVER, .end = f->end, .why = f->why};
    return true;
}

int flow_answer(struct flow *f, int ask, enum flow_outcome how, const char *text, size_t n, struct err *err)
{
    struct flow_ask *a = NULL;
    for (int i = f->first; i < f->n_asks && !f->over && !a; i++) {
        if (f->ask[i]->state == ASK_OUT && f->ask[i]->number == ask) a = f->ask[i];
    }
    if (!a) return err_set(err, -1, "no ask %d is out", ask);
    f->out--;
    a->answer = copy_of(text, n);
    if (!a->answer) {
        flow_over(f, FLOW_FAILED, "no memory for an answer of %zu bytes", n);
        return err_set(err, -1, "no memory for an answer of %zu bytes", n);
    }
    a->n = n;
    a->state = how == FLOW_SAID ? ASK_SAID : ASK_FAILED;
    a->said = flow_trim((struct flow_span){a->answer, n});
    a->hash = flow_hash(a->said.text, a->said.n);
    while (f->first < f->n_asks && is_settled(f->ask[f->first])) f->first++;
    if (how == FLOW_ASK_CANCELLED) flow_over(f, FLOW_CANCELLED, "%s was cancelled", a->label);
    return 0;
}
