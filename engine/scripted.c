/* scripted.c - engine_scripted: answers, timings and faults from a file; the scheduler, pages and text path of the real
 * engine.
 *
 * The file is JSON Lines, one object a line; blank lines and lines that begin with # are skipped:
 *
 *     {"answer": "text", "prefill_ms": 20, "token_ms": 5, "end": false}   one a request, in the order of their
 * admission; the last one is followed by the first
 *     {"fault": {"pass": 3, "text": "device lost"}}                       the third pass fails with this text
 *
 * prefill_ms is slept once, when the prompt is done, token_ms at each token; "end": false goes on with the same answer
 * again instead of ending the turn (an endless talker).  Tokens are those of the vocabulary of the GGUF file
 * config.model; with "marks": true what is spelled like a special one is one.  Nothing is drawn: where a request's
 * `allowed` or grammar does not have the script's next token, the answer ends with END_NO_TOKEN. */
#include "engine/maker.h"
#include <jansson.h>
#include <errno.h>
#include <math.h>
#include <time.h>

enum { MAX_FAULTS = 64, MAX_LINE = 1 << 20, MAX_ANSWERS = 4096 };

struct line { /* an answer of the file */
    struct ids ids;
    double prefill_ms, token_ms;
    bool ends;
};

struct turn { /* what a request is being told */
    const struct line *line;
    size_t next;
};

struct maker {
    struct line *line;
    int n_lines, next_line;
    struct fault { long long pass; char text[200]; } fault[MAX_FAULTS];
    int n_faults;
    long long passes;
    int32_t end_id;
    struct turn turn[SCHED_REQUESTS];
};

/* ------------------------------------------------------------------ the file */

static int bad_line(const char *path, int n, const char *what, struct err *err)
{
    return err_set(err, ENGINE_FAULT, "%s: line %d: %s", path, n, what);
}

static int read_ms(const json_t *o, const char *key, double *out)
{
    const json_t *v = json_object_get(o, key);
    *out = v ? json_number_value(v) : 0;
    return v && (!json_is_number(v) || !(*out >= 0 && *out <= 60000)) ? -1 : 0;
}

static int add_answer(struct maker *m, const struct vocab *v, const json_t *o, const char *path, int n, struct err *err)
{
    const json_t *text = json_object_get(o, "answer"), *end = json_object_get(o, "end");
    const unsigned flags = VOCAB_NO_PREFIX | (json_is_true(json_object_get(o, "marks")) ? VOCAB_SPECIAL : 0);
    struct line l = {.ends = !json_is_false(end)};
    if (!json_is_string(text)) return bad_line(path, n, "\"answer\" must be a text", err);
    if (end && !json_is_boolean(end)) return bad_line(path, n, "\"end\" must be true or false", err);
    if (read_ms(o, "prefill_ms", &l.prefill_ms) || read_ms(o, "token_ms", &l.token_ms))
        return bad_line(path, n, "\"prefill_ms\" and \"token_ms\" must be numbers from 0 to 60000", err);
    if (m->n_lines == MAX_ANSWERS) return bad_line(path, n, "more answers than 4096", err);
    struct line *more = realloc(m->line, ((size_t)m->n_lines + 1) * sizeof *more);
    if (!more) return bad_line(path, n, "no memory", err);
    m->line = more;
    if (vocab_encode(v, NULL, json_string_value(text), json_string_length(text), flags, &l.ids, err)) {
        if (err) err->code = ENGINE_FAULT;
        return ENGINE_FAULT;
    }
    if (!l.ends && l.ids.n == 0) return bad_line(path, n, "an answer that never ends must say something", err);
    m->line[m->n_lines++] = l;
    return 0;
}

static int add_fault(struct maker *m, const json_t *o, const char *path, int n, struct err *err)
{
    const json_t *pass = json_object_get(o, "pass"), *text = json_object_get(o, "text");
    if (!json_is_integer(pass) || json_integer_value(pass) < 1 || !json_is_string(text))
        return bad_line(path, n, "\"fault\" needs \"pass\" (a number from 1) and \"text\"", err);
    if (m->n_faults == MAX_FAULTS) return bad_line(path, n, "more faults than 64", err);
    struct fault *f = &m->fault[m->n_faults++];
    f->pass = json_integer_value(pass);
    snprintf(f->text, sizeof f->text, "%s", json_string_value(text));
    return 0;
}

static int read_line(struct maker *m, const struct vocab *v, const char *text, size_t len, const char *path, int n,
                     struct err *err)
{
    size_t blank = strspn(text, " \t\r\n");
    if (text[blank] == '\0' || text[blank] == '#') return 0;
    json_error_t why;
    json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (!o) return err_set(err, ENGINE_FAULT, "%s: line %d, column %d: %s", path, n, why.column, why.text);
    const json_t *fault = json_object_get(o, "fault");
    int rc;
    if (fault) rc = add_fault(m, fault, path, n, err);
    else if (json_object_get(o, "answer")) rc = add_answer(m, v, o, path, n, err);
    else rc = bad_line(path, n, "neither \"answer\" nor \"fault\"", err);
    json_decref(o);
    return rc;
}

static int read_script(struct maker *m, const struct vocab *v, const char *path, struct err *err)
{
    if (!path) return err_set(err, ENGINE_FAULT, "the scripted engine needs a file of answers");
    FILE *in = fopen(path, "r");
    if (!in) return err_set(err, ENGINE_FAULT, "%s: %s", path, strerror(errno));
    char *text = NULL;
    size_t cap = 0;
    int rc = 0;
    ssize_t len;
    for (int n = 1; rc == 0 && (len = getline(&text, &cap, in)) > 0; n++)
        rc = len > MAX_LINE ? bad_line(path, n, "longer than 1 MiB", err)
                            : read_line(m, v, text, (size_t)len, path, n, err);
    if (rc == 0 && ferror(in)) rc = err_set(err, ENGINE_FAULT, "%s: %s", path, strerror(errno));
    free(text);
    fclose(in);
    if (rc == 0 && m->n_lines == 0) rc = err_set(err, ENGINE_FAULT, "%s: no answers in it", path);
    return rc;
}

/* ------------------------------------------------------------------ the runner */

static void start(void *self, int place, const struct answer *a)
{
    struct maker *m = self;
    (void)a;
    m->turn[place] = (struct turn){.line = &m->line[m->next_line]};
    m->next_line = (m->next_line + 1) % m->n_lines;
}

static int32_t say(const struct maker *m, struct turn *t)
{
    if (t->next == t->line->ids.n && !t->line->ends) t->next = 0;
    return t->next < t->line->ids.n ? t->line->ids.id[t->next++] : m->end_id;
}

static void sleep_ms(double ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(fmod(ms, 1000) * 1e6)};
    while (ms > 0 && nanosleep(&t, &t) == -1 && errno == EINTR) continue;
}

static int run(void *self, const struct pass *p, struct err *err)
{
    struct maker *m = self;
    double ms = 0; /* the slowest row holds up the pass, as it would a batch */
    if (p->part + 1 < p->parts) return 0;
    m->passes++;
    for (int i = 0; i < m->n_faults; i++)
        if (m->fault[i].pass == m->passes) return err_set(err, ENGINE_FAULT, "%s", m->fault[i].text);
    for (int i = 0; i < p->batch.outs; i++) {
        const struct kern_sample *s = &p->sample[i];
        struct turn *t = &m->turn[p->place[i]];
        struct kern_choice *c = &p->choice[i];
        memset(c, 0, sizeof *c);
        for (int k = 0; k < KERN_TOP; k++) c->top_id[k] = -1;
        c->logprob = -1;
        c->id = s->target >= 0 ? s->target : say(m, t);
        if (s->allowed && !(s->allowed[c->id / 32] >> (c->id % 32) & 1)) c->id = -1;
        c->top_id[0] = c->id;
        c->top_logprob[0] = c->logprob;
        ms = MAX(ms, s->step == 0 ? t->line->prefill_ms + t->line->token_ms : t->line->token_ms);
    }
    sleep_ms(ms);
    return 0;
}

/* ------------------------------------------------------------------ open */

static void scripted_close(struct engine *e)
{
    if (!e) return;
    struct maker *m = e->own;
    for (int i = 0; m && i < m->n_lines; i++) ids_free(&m->line[i].ids);
    if (m) free(m->line);
    free(m);
    maker_free(e);
}

static int open_script(struct engine *e, const struct engine_config *cfg, const struct gguf *g, struct err *err)
{
    struct engine_info *i = &e->info;
    const struct maker_model sizes = {.ctx = 4096, .chunk = {.rows = 128, .step_rows = 128}};
    enum template_kind kind;
    int pages;
    struct maker *m = e->own = calloc(1, sizeof *m);
    if (!m) return err_set(err, ENGINE_FAULT, "no memory to open an engine");
    if (naive_check_config(cfg, false, err)) return ENGINE_FAULT;
    if (maker_vocab_open(e, cfg, g, &kind, err) || maker_end_token(e->vocab, cfg->model, &m->end_id, err))
        return ENGINE_FAULT;
    if (read_script(m, e->vocab, cfg->script, err) || maker_sizes(e, cfg, &sizes, &pages, err)) return ENGINE_FAULT;
    snprintf(i->maker, sizeof i->maker, "scripted");
    snprintf(i->arch, sizeof i->arch, "none");
    snprintf(i->name, sizeof i->name, "%d scripted answers", m->n_lines);
    snprintf(i->backend, sizeof i->backend, "none: answers come from a file");
    struct sched_config sched;
    maker_sched_plan(e, cfg, pages, &sched);
    sched.template = kind;
    sched.runner = (struct runner){.self = m, .start = start, .run = run};
    sched_ledger(&sched, &i->ledger);
    return maker_sched_open(e, &sched, err);
}

static struct engine *scripted_open(const struct engine_config *cfg, struct err *err)
{
    return maker_open(cfg, open_script, scripted_close, err);
}

const struct engine_ops engine_scripted = {
    .name = "scripted", .open = scripted_open, .close = scripted_close,
    .memory = maker_memory, MAKER_OPS};
