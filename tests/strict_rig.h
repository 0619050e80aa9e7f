/* strict_rig.h - for the tests of strict.h: agents with tools on the embedded model, and answers from a script. */
#ifndef STRICT_RIG_H
#define STRICT_RIG_H
#include "app/session/tool_schema.h"
#include "engine/maker.h"
#include "engine/sched_impl.h"
#include "engine/strict.h"
#include "memory/forms.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

#define MODEL "assets/plimsoll-tiny.gguf"
#define OPEN "<tool_call>"
#define CLOSE "</tool_call>"

static struct err err;

/* ------------------------------------------------------------------ what is asked */

/* An agent with tools, and what it is asked. */
struct talk {
    struct buf system, schema;
    struct msg msgs[2];
    struct request_grammar grammar;
    struct request r;
};

static inline void talk_begin(struct talk *t, const char *const *tools, int n, const char *question)
{
    *t = (struct talk){0};
    struct form_system system = {.role = "assistant", .tools = tools, .n_tools = n};
    CHECK_EQ(forms_system(&system, &t->system, &err), 0);
    CHECK_EQ(tool_schema(tools, n, &t->schema, &err), 0);
    t->msgs[0] = (struct msg){.role = ROLE_SYSTEM, .text = t->system.data, .len = t->system.len};
    t->msgs[1] = (struct msg){.role = ROLE_USER, .text = question, .len = strlen(question)};
    t->grammar = (struct request_grammar){.open = OPEN, .close = CLOSE, .schema = t->schema.data,
                                          .n_schema = t->schema.len, .free_open = "<think>", .free_close = "</think>"};
    t->r = (struct request){.msgs = t->msgs, .n_msgs = 2, .max_tokens = 160, .sampling = SAMPLING_GREEDY,
                            .grammar = &t->grammar};
}

static inline void talk_end(struct talk *t)
{
    buf_free(&t->system);
    buf_free(&t->schema);
}

static inline struct engine *open_with(const struct engine_ops *ops, struct engine_config cfg)
{
    cfg.template = -1;
    cfg.kern.threads = 1;
    cfg.kv_type = KT_F16;
    if (!cfg.model) cfg.model = MODEL;
    err = (struct err){0};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

static inline int submit(const struct engine_ops *ops, struct engine *e, const struct request *r)
{
    int id = 0;
    err = (struct err){0};
    ops->submit(e, r, &id, &err);
    CHECK_STR(err.text, "");
    return id;
}

static inline void check_books(const struct engine *e)
{
    if (sched_check(e->sched, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
}

static inline void run_all(const struct engine_ops *ops, struct engine *e)
{
    struct engine_event ev[16];
    for (int i = 0; ops->step(e, ev, 16, &err) > 0; i++)
        if (i % 8 == 0) check_books(e);
    check_books(e);
    CHECK_STR(err.text, "");
}

static inline const struct answer *ask(const struct engine_ops *ops, struct engine *e, const struct request *r, int *id)
{
    *id = submit(ops, e, r);
    run_all(ops, e);
    return ops->answer(e, *id);
}

/* ------------------------------------------------------------------ what was said */

static inline const char *find(const char *text, size_t n, const char *what)
{
    return memmem(text, n, what, strlen(what));
}

/* What was said of calls: whole ones, each of one of `tools`, and one that was cut off where the answer was. */
struct calls {
    int whole, cut;
};

/* The call's length behind its opening, with its closing; 0: it has none.  A string in it may hold a closing too. */
static inline size_t read_call(const char *at, size_t n, const char *const *tools, int n_tools)
{
    const char *close = at;
    while ((close = find(close, n - (size_t)(close - at), CLOSE))) {
        struct form_call call;
        struct buf text = {0};
        buf_printf(&text, OPEN "%.*s" CLOSE, (int)(close - at), at);
        close += strlen(CLOSE);
        int rc = forms_read_call(text.data, text.len, &call, &err);
        if (!rc && forms_check_call(&call, &err)) check_fail(__FILE__, __LINE__, "%s: %s", err.text, text.data);
        buf_free(&text);
        if (rc) continue;
        int k = 0;
        while (k < n_tools && strcmp(tools[k], call.name) != 0) k++;
        CHECK(k < n_tools);
        forms_call_free(&call);
        return (size_t)(close - at);
    }
    return 0;
}

static inline void check_calls(const struct answer *a, const char *opening, const char *const *tools, int n_tools,
                        struct calls *c)
{
    const char *at = a->text, *end = at + atomic_load(&a->text_len);
    while ((at = find(at, (size_t)(end - at), opening))) {
        at += strlen(opening);
        size_t n = read_call(at, (size_t)(end - at), tools, n_tools);
        if (n == 0 && atomic_load(&a->end) != END_LENGTH)
            check_fail(__FILE__, __LINE__, "%s: %.*s", err.text, (int)(end - at), at);
        c->cut += n == 0;
        c->whole += n > 0;
        if (n == 0) return;
        at += n;
    }
}

/* Its text, which is not a C string. */
static inline void check_text(const struct answer *a, const char *text)
{
    struct buf said = {0};
    buf_put(&said, a->text, atomic_load(&a->text_len));
    CHECK_STR(said.data, text);
    buf_free(&said);
}

static inline bool same_answer(const struct answer *a, const struct answer *b)
{
    int n = atomic_load(&a->n_tokens);
    if (n != atomic_load(&b->n_tokens) || atomic_load(&a->end) != atomic_load(&b->end)) return false;
    return memcmp(a->token, b->token, (size_t)n * sizeof *a->token) == 0;
}

/* ------------------------------------------------------------------ what it is about */

static const char *const all_tools[] = {"read", "write", "edit", "list", "search", "shell", "calculator", "recall",
                                        "artifact", "ask"};
static const char *const questions[] = {"What is 17 * 23?", "Read notes.txt.", "List the folder src.",
                                        "Search for TODO in src.", "What did we say about the budget?"};

/* Few tokens are sure at this heat. */
static inline void hot(struct talk *t, float temp, int seed)
{
    t->r.sampling = (struct sampling){.temp = temp, .top_p = 1, .repeat = 1, .seed = (uint64_t)seed};
}

static inline void talk_any(struct talk *t, int seed)
{
    talk_begin(t, all_tools, (int)COUNT_OF(all_tools), questions[seed % (int)COUNT_OF(questions)]);
}

/* The byte vocabulary, so that every byte of a text is a token. */
static inline struct engine *open_script(const char *answers, struct engine_config cfg)
{
    struct gguf_make m;
    gguf_make_begin(&m);
    gguf_make_str(&m, "general.architecture", "llama");
    tiny_vocab(&m, "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}");
    cfg.model = gguf_make_file(&m, "vocab.gguf");
    cfg.script = tiny_text_file("answers.jsonl", answers);
    return open_with(&engine_scripted, cfg);
}

#define READ "{\\\"name\\\":\\\"read\\\",\\\"arguments\\\":{\\\"path\\\":\\\"a\\\"}}"
#endif
