/* ask.c - every case to the engine, some at a time. */
#include "tests/eval/eval.h"
#include <time.h>
#include <unistd.h>

struct flight {
    struct eval_case *c;
    const struct answer *ans;
};

struct asker {
    const struct engine_ops *ops;
    struct engine *e;
    struct asking *a;
    struct flight fly[EVAL_SEQS];
    int flying, done, refused;
    long long tokens;
    double start, told;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---------------------------------------------------------------- asking */

static enum role role_of(const char *name)
{
    int r = 0;
    while (r < ROLE_COUNT - 1 && strcmp(name, role_name((enum role)r)) != 0) r++;
    return (enum role)r;
}

static struct msg *messages_of(const struct eval_case *c, int *n)
{
    size_t i;
    json_t *m;
    struct msg *msgs = calloc(json_array_size(c->messages), sizeof *msgs);
    *n = (int)json_array_size(c->messages);
    if (!msgs) return NULL;
    json_array_foreach(c->messages, i, m) {
        const json_t *content = json_object_get(m, "content");
        msgs[i] = (struct msg){.role = role_of(json_string_value(json_object_get(m, "role"))),
                               .text = json_string_value(content), .len = json_string_length(content)};
    }
    return msgs;
}

/* With all the tokens that may be asked for, or with what the context leaves.  An enum engine_error. */
static int submit(struct asker *s, struct request *q, int *id, struct err *err)
{
    struct engine_count count;
    int code = s->ops->submit(s->e, q, id, err);
    if (code != ENGINE_NEVER_FITS) return code;
    int counted = s->ops->count_tokens(s->e, q->msgs, q->n_msgs, &count, err);
    if (counted) return counted;
    int left = s->ops->info(s->e)->ctx - count.tokens;
    if (left < 1 || left >= q->max_tokens) return code;
    q->max_tokens = left;
    return s->ops->submit(s->e, q, id, err);
}

static void refuse(struct asker *s, struct eval_case *c, const struct err *why)
{
    enum { NAMED = 5 }; /* the table has their number */
    if (s->refused++ < NAMED)
        fprintf(stderr, "eval: %s:%d (%s) is refused: %s\n", c->file, c->line, c->row, why->text);
    c->refused = true;
    c->judged = judge_answer(c->check, c->turn, "", 0); /* a record's lines are counted: they were not kept */
    c->judged.ok = false;
    snprintf(c->judged.why, sizeof c->judged.why, "was not asked: the prompt leaves no room in the context");
    s->done++;
}

static int ask(struct asker *s, struct eval_case *c, struct err *err)
{
    struct request q = {.max_tokens = s->a->max_tokens, .sampling = SAMPLING_GREEDY};
    int id;
    struct msg *msgs = messages_of(c, &q.n_msgs);
    if (!msgs) return err_set(err, -1, "no memory for a conversation");
    q.msgs = msgs;
    int code = submit(s, &q, &id, err);
    free(msgs);
    if (code == ENGINE_NEVER_FITS) refuse(s, c, err);
    else if (!code) s->fly[s->flying++] = (struct flight){c, s->ops->answer(s->e, id)};
    return code == ENGINE_NEVER_FITS ? 0 : code;
}

/* ---------------------------------------------------------------- answers */

/* The bytes that the tokens stand for, which need not be UTF-8; and their ids. */
static int look_at_tokens(struct asker *s, struct eval_case *c, const struct answer *ans, struct err *err)
{
    const struct vocab *v = s->ops->vocab(s->e);
    struct buf bytes = {0};
    struct ids ids = {0};
    for (int i = 0; i < c->n_tokens; i++) {
        const char *piece;
        size_t n = vocab_piece(v, ans->token[i].id, &piece);
        buf_put(&bytes, piece, n);
        ids_put(&ids, ans->token[i].id);
    }
    bool failed = bytes.failed || ids.failed || c->answer.failed;
    c->utf8 = judge_utf8(bytes.len ? bytes.data : "", bytes.len);
    c->loops = judge_loops(ids.id, (int)ids.n);
    buf_free(&bytes);
    ids_free(&ids);
    return failed ? err_set(err, -1, "no memory for an answer") : 0;
}

static int take(struct asker *s, const struct flight *f, struct err *err)
{
    struct eval_case *c = f->c;
    c->end = (enum engine_end)atomic_load(&f->ans->end);
    if (c->end == END_FAULT) return err_set(err, -1, "%s:%d: %s", c->file, c->line, f->ans->fault);
    c->n_prompt = f->ans->n_prompt;
    c->n_tokens = atomic_load(&f->ans->n_tokens);
    buf_put(&c->answer, f->ans->text, atomic_load(&f->ans->text_len));
    int rc = look_at_tokens(s, c, f->ans, err);
    c->judged = judge_answer(c->check, c->turn, c->answer.data, c->answer.len);
    s->tokens += c->n_tokens;
    s->done++;
    s->ops->drop(s->e, f->ans->id);
    return rc;
}

static int take_ended(struct asker *s, struct err *err)
{
    int left = 0, rc = 0;
    for (int i = 0; i < s->flying; i++) {
        struct flight f = s->fly[i];
        bool ended = atomic_load(&f.ans->end) != END_NONE;
        if (ended && !rc) rc = take(s, &f, err);
        else s->fly[left++] = f;
    }
    s->flying = left;
    return rc;
}

/* A line now and then, for who waits. */
static void tell(struct asker *s, int of)
{
    double t = now();
    if (t - s->told < (isatty(STDERR_FILENO) ? 5 : 60)) return;
    fprintf(stderr, "eval: %d of %d cases, %.0f tokens/s\n", s->done, of, (double)s->tokens / (t - s->start));
    s->told = t;
}

int ask_all(const struct engine_ops *ops, struct engine *e, struct cases *c, struct asking *a, struct err *err)
{
    static struct engine_event ev[3 * EVAL_SEQS + 8];
    struct asker s = {.ops = ops, .e = e, .a = a, .start = now(), .told = now()};
    int next = 0, rc = 0;
    while (!rc && (next < c->n || s.flying > 0)) {
        while (!rc && next < c->n && s.flying < a->seqs) rc = ask(&s, &c->at[next++], err);
        if (rc || s.flying == 0) continue;
        int n = ops->step(e, ev, (int)COUNT_OF(ev), err);
        int before = s.flying;
        rc = take_ended(&s, err);
        if (!rc && n <= 0 && s.flying == before) rc = err_set(err, -1, "the engine stopped before all was answered");
        tell(&s, c->n);
    }
    struct engine_snapshot end;
    ops->snapshot(e, &end);
    a->passes = end.passes;
    a->drafted = end.drafted;
    a->right = end.drafts_right;
    a->seconds = now() - s.start;
    return rc;
}
