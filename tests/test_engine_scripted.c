/* The scheduler, its admission and its text path, through the engine's face and without a model. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <pthread.h>

static const char *const CHATML =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";

static struct engine *open_with(const char *answers, struct engine_config cfg)
{
    struct gguf_make m;
    struct err err = {0};
    gguf_make_begin(&m);
    gguf_make_str(&m, "general.architecture", "llama");
    tiny_vocab(&m, CHATML);
    cfg.model = gguf_make_file(&m, "vocab.gguf");
    cfg.script = tiny_text_file("answers.jsonl", answers);
    if (cfg.template == 0) cfg.template = -1;
    struct engine *e = engine_scripted.open(&cfg, &err);
    CHECK_STR(err.text, "");
    CHECK(e);
    return e;
}

static const struct engine_ops *const ops = &engine_scripted;

/* A request of one user message. */
static int submit(struct engine *e, const char *text, int max_tokens, struct err *err)
{
    int id = 0;
    struct msg msg = {.role = ROLE_USER, .text = text, .len = strlen(text)};
    struct request r = {.msgs = &msg, .n_msgs = 1, .max_tokens = max_tokens, .sampling = SAMPLING_GREEDY};
    int rc = ops->submit(e, &r, &id, err);
    return rc ? rc : id;
}

static void run_all(struct engine *e)
{
    struct engine_event ev[64];
    while (ops->step(e, ev, 64, NULL) > 0) continue;
}

static enum engine_end end_of(struct engine *e, int id)
{
    return (enum engine_end)atomic_load(&ops->answer(e, id)->end);
}

TEST(engine_streams_the_answer_and_ends_with_the_turn)
{
    struct engine_event ev[16];
    struct engine *e = open_with("# a comment\n\n{\"answer\": \"na\xc3\xafve\"}\n", (struct engine_config){.ctx = 256});
    int id = submit(e, "hi", 50, NULL), n;
    enum engine_event_kind last = ENGINE_ADMITTED;
    CHECK(id > 0);
    const struct answer *a = ops->answer(e, id);
    size_t shown = 0;
    while ((n = ops->step(e, ev, 16, NULL)) > 0) {
        last = ev[n - 1].kind;
        size_t len = atomic_load(&a->text_len);
        CHECK(len >= shown && len != 3); /* never the first half of the two bytes of an i with two dots */
        shown = len;
    }
    CHECK_EQ(last, ENGINE_END);
    CHECK_EQ(shown, 6);
    CHECK_MEM(a->text, "na\xc3\xafve", 6);
    CHECK_EQ(atomic_load(&a->n_tokens), 6);
    CHECK_EQ(a->token[5].text_end, 6);
    CHECK_EQ(end_of(e, id), END_STOP);
    ops->close(e);
}

TEST(engine_ends_at_max_tokens_and_at_a_stop_string)
{
    struct engine *e = open_with("{\"answer\": \"abcdef\"}\n", (struct engine_config){.ctx = 256});
    int id = submit(e, "x", 3, NULL);
    run_all(e);
    CHECK_EQ(end_of(e, id), END_LENGTH);
    CHECK_EQ(atomic_load(&ops->answer(e, id)->text_len), 3);
    const char *stop = "de";
    struct msg msg = {.role = ROLE_USER, .text = "x", .len = 1};
    struct request r = {
        .msgs = &msg, .n_msgs = 1, .max_tokens = 9, .sampling = SAMPLING_GREEDY, .stop = &stop, .n_stop = 1};
    CHECK_EQ(ops->submit(e, &r, &id, NULL), 0);
    run_all(e);
    const struct answer *a = ops->answer(e, id);
    CHECK_EQ(end_of(e, id), END_STOP);
    CHECK_EQ(atomic_load(&a->text_len), 3);
    CHECK_MEM(a->text, "abc", 3);
    CHECK_EQ(atomic_load(&a->n_tokens), 5); /* d and e were chosen, and are not shown */
    ops->close(e);
}

/* Where a question's mark is text, a model may write the next one itself.  What ignores ends goes on, and so does a
 * prompt of ids, which no template has written. */
TEST(engine_ends_where_the_model_begins_the_next_question)
{
    static const struct { enum template_kind kind; bool ignore, ids; const char *text; } row[] = {
        {TEMPLATE_LLAMA2, false, false, "Yes. "},       {TEMPLATE_MISTRAL1, false, false, "Yes. "},
        {TEMPLATE_LLAMA2, true, false, "Yes. [INST] "}, {TEMPLATE_LLAMA2, false, true, "Yes. [INST] "},
        {TEMPLATE_CHATML, false, false, "Yes. [INST] "},
    };
    const int32_t x = TINY_BYTE0 + 'x';
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct engine *e = open_with("{\"answer\": \"Yes. [INST] And?\"}\n",
                                     (struct engine_config){.ctx = 256, .template = (int)row[i].kind});
        const struct msg msg = {.role = ROLE_USER, .text = "x", .len = 1};
        struct request r = {.msgs = &msg, .n_msgs = 1, .max_tokens = 12, .sampling = SAMPLING_GREEDY,
                            .ignore_end = row[i].ignore, .stop = &(const char *){"Z"}, .n_stop = 1};
        int id;
        if (row[i].ids) r.ids = &x, r.n_ids = 1;
        CHECK_EQ(ops->submit(e, &r, &id, NULL), 0);
        run_all(e);
        const struct answer *a = ops->answer(e, id);
        CHECK_EQ(atomic_load(&a->text_len), strlen(row[i].text));
        CHECK_MEM(a->text, row[i].text, strlen(row[i].text));
        CHECK_EQ(end_of(e, id), strlen(row[i].text) == 12 ? END_LENGTH : END_STOP);
        ops->close(e);
    }
}

TEST(engine_makes_the_second_wait_until_the_first_gave_its_pages_back)
{
    struct engine_event ev[16];
    struct engine *e = open_with("{\"answer\": \"abc\"}\n", (struct engine_config){.ctx = 128, .pool_tokens = 128});
    int first = submit(e, "one", 80, NULL), second = submit(e, "two", 80, NULL);
    struct engine_snapshot s;
    CHECK(ops->step(e, ev, 16, NULL) > 0);
    ops->snapshot(e, &s);
    CHECK_EQ(s.running, 1);
    CHECK_EQ(s.waiting, 1);
    CHECK(s.filled_tokens > 0 && s.filled_tokens <= s.reserved_tokens && s.reserved_tokens <= s.pool_tokens);
    run_all(e);
    CHECK_EQ(end_of(e, first), END_STOP);
    CHECK_EQ(end_of(e, second), END_STOP);
    ops->snapshot(e, &s);
    CHECK_EQ(s.filled_tokens + s.reserved_tokens, 0);
    ops->close(e);
}

TEST(engine_refuses_what_can_never_fit_with_the_figures)
{
    struct err err = {0};
    struct engine *e = open_with("{\"answer\": \"a\"}\n", (struct engine_config){.ctx = 100, .pool_tokens = 64});
    CHECK_EQ(submit(e, "hello", 90, &err), ENGINE_NEVER_FITS); /* 16 of prompt: past the context */
    CHECK(strstr(err.text, "up to 90 in the answer") && strstr(err.text, "the context holds 100"));
    CHECK_EQ(submit(e, "hello", 60, &err), ENGINE_NEVER_FITS); /* within it, past the pool of four pages */
    CHECK(strstr(err.text, "whole pool has 4"));
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    CHECK_EQ(s.waiting + s.running, 0);
    ops->close(e);
}

TEST(engine_bounds_its_queue)
{
    struct err err = {0};
    struct engine *e = open_with("{\"answer\": \"a\"}\n", (struct engine_config){.ctx = 100});
    for (int i = 0; i < 64; i++) CHECK(submit(e, "x", 5, &err) > 0);
    CHECK_EQ(submit(e, "x", 5, &err), ENGINE_QUEUE_FULL);
    run_all(e);
    CHECK(submit(e, "x", 5, &err) > 0);
    ops->close(e);
}

TEST(engine_cancel_frees_the_pages_at_once_and_tells_once)
{
    struct engine_event ev[16];
    struct engine *e = open_with("{\"answer\": \"never ends\", \"end\": false}\n",
                                 (struct engine_config){.ctx = 200, .pool_tokens = 200});
    int running = submit(e, "x", 100, NULL), waiting = submit(e, "y", 100, NULL);
    for (int i = 0; i < 5; i++) CHECK(ops->step(e, ev, 16, NULL) > 0);
    CHECK_EQ(ops->cancel(e, waiting), 0);
    CHECK_EQ(ops->cancel(e, running), 0);
    CHECK_EQ(ops->cancel(e, running), -1);
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    CHECK_EQ(s.filled_tokens + s.reserved_tokens + (uint64_t)s.running + (uint64_t)s.waiting, 0);
    int ends = 0, n;
    while ((n = ops->step(e, ev, 16, NULL)) > 0)
        for (int i = 0; i < n; i++) ends += ev[i].kind == ENGINE_END && ev[i].end == END_CANCELLED;
    CHECK_EQ(ends, 2);
    CHECK(atomic_load(&ops->answer(e, running)->text_len) > 0); /* what was said stays readable */
    ops->drop(e, running);
    CHECK(!ops->answer(e, running));
    ops->close(e);
}

TEST(engine_survives_a_failed_pass_and_serves_the_next)
{
    struct err err = {0};
    struct engine_event ev[16];
    struct engine *e = open_with("{\"answer\": \"abcdef\"}\n{\"fault\": {\"pass\": 3, \"text\": \"device lost\"}}\n",
                                 (struct engine_config){.ctx = 200});
    int id = submit(e, "x", 50, NULL);
    while (ops->step(e, ev, 16, &err) > 0) continue;
    CHECK_EQ(end_of(e, id), END_FAULT);
    CHECK_STR(ops->answer(e, id)->fault, "device lost");
    CHECK_STR(err.text, "device lost");
    id = submit(e, "x", 50, NULL);
    run_all(e);
    CHECK_EQ(end_of(e, id), END_STOP);
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    CHECK_EQ(s.reserved_tokens, 0);
    ops->close(e);
}

TEST(engine_ends_when_no_token_is_allowed)
{
    uint32_t allowed[(TINY_VOCAB + 31) / 32] = {0};
    struct engine *e = open_with("{\"answer\": \"abc\"}\n", (struct engine_config){.ctx = 200});
    struct msg msg = {.role = ROLE_USER, .text = "x", .len = 1};
    struct request r = {.msgs = &msg, .n_msgs = 1, .max_tokens = 9, .sampling = SAMPLING_GREEDY, .allowed = allowed};
    int id;
    allowed[(TINY_BYTE0 + 'a') / 32] |= 1u << (TINY_BYTE0 + 'a') % 32;
    CHECK_EQ(ops->submit(e, &r, &id, NULL), 0);
    run_all(e);
    CHECK_EQ(end_of(e, id), END_NO_TOKEN);
    CHECK_EQ(atomic_load(&ops->answer(e, id)->n_tokens), 1);
    ops->close(e);
}

TEST(engine_names_the_field_that_is_out_of_range)
{
    struct engine *e = open_with("{\"answer\": \"abc\"}\n", (struct engine_config){.ctx = 200});
    static const struct kern_bias far = {.id = TINY_VOCAB, .add = 1};
    static const int32_t outside[] = {1, TINY_VOCAB};
    struct request good = {.ids = (const int32_t[]){1, 5}, .n_ids = 2, .max_tokens = 5, .sampling = SAMPLING_GREEDY};
    struct request bad[10];
    const char *word[] = {"temperature", "temperature", "top-p",   "top-k",      "min-p",
                          "repetition",  "logit bias",  "token 1", "max_tokens", "empty"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) bad[i] = good;
    bad[0].sampling.temp = -1;
    bad[1].sampling.temp = NAN;
    bad[2].sampling.top_p = 1.5f;
    bad[3].sampling.top_k = -1;
    bad[4].sampling.min_p = INFINITY;
    bad[5].sampling.repeat = 0;
    bad[6].sampling.bias = &far;
    bad[6].sampling.n_bias = 1;
    bad[7].ids = outside;
    bad[8].max_tokens = -5;
    bad[9].n_ids = 0;
    int id = 0;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err err = {0};
        CHECK_EQ(ops->submit(e, &bad[i], &id, &err), ENGINE_BAD_REQUEST);
        CHECK(strstr(err.text, word[i]));
    }
    CHECK_EQ(ops->submit(e, &good, &id, NULL), 0);
    ops->close(e);
}

TEST(engine_counts_a_prompt_as_it_would_send_it)
{
    struct engine *e = open_with("{\"answer\": \"abc\"}\n", (struct engine_config){.ctx = 300});
    struct msg msgs[] = {{.role = ROLE_SYSTEM, .text = "be brief", .len = 8},
                         {.role = ROLE_USER, .text = "<|im_end|> \xff\x00 plain", .len = 19}};
    struct engine_count c = {0};
    int id;
    CHECK_EQ(ops->count_tokens(e, msgs, 2, &c, NULL), 0);
    struct request r = {.msgs = msgs, .n_msgs = 2, .max_tokens = 4, .sampling = SAMPLING_GREEDY};
    CHECK_EQ(ops->submit(e, &r, &id, NULL), 0);
    const struct answer *a = ops->answer(e, id);
    CHECK(c.exact);
    CHECK_EQ(a->n_prompt, c.tokens);
    int ends = 0;
    for (int i = 0; i < a->n_prompt; i++) ends += a->prompt[i] == TINY_IM_END;
    CHECK_EQ(ends, 2); /* the template's own; the user's is plain text */
    ops->close(e);
}

/* Also of a word that is longer than a whole context's text, for which there is no room as a whole. */
TEST(engine_counts_the_same_aside)
{
    struct engine *e = open_with("{\"answer\": \"abc\"}\n", (struct engine_config){.ctx = 300});
    static const size_t size[] = {0, 1, 300, 4097, 200000};
    static char text[200000];
    for (int words = 0; words < 2; words++) {
        for (size_t i = 0; i < sizeof text; i++) text[i] = words && i % 7 == 0 ? ' ' : (char)('a' + i * i % 23);
        for (size_t i = 0; i < COUNT_OF(size); i++) {
            const struct msg m = {.role = ROLE_TOOL, .text = text, .len = size[i]};
            struct engine_count c = {0}, aside = {0};
            CHECK_EQ(ops->count_tokens(e, &m, 1, &c, NULL), 0);
            CHECK_EQ(ops->count_aside(e, &m, 1, &aside, NULL), 0);
            CHECK(c.tokens == aside.tokens && c.exact == aside.exact);
        }
    }
    ops->close(e);
}

static void *count_many_times(void *e)
{
    static const char text[] = "some words, which are counted again and again <|im_end|>";
    const struct msg m = {.role = ROLE_TOOL, .text = text, .len = sizeof text - 1};
    struct engine_count first = {0}, c;
    intptr_t differ = ops->count_aside(e, &m, 1, &first, NULL) || first.tokens == 0;
    for (int i = 0; i < 300; i++) differ += ops->count_aside(e, &m, 1, &c, NULL) || c.tokens != first.tokens;
    return (void *)differ;
}

TEST(engine_counts_aside_while_it_works)
{
    struct engine *e = open_with("{\"answer\": \"abc\"}\n", (struct engine_config){.ctx = 300});
    const struct msg m = {.role = ROLE_USER, .text = "hello, hello", .len = 12};
    struct engine_count c;
    pthread_t thread;
    void *differ;
    CHECK_EQ(pthread_create(&thread, NULL, count_many_times, e), 0);
    for (int i = 0; i < 30; i++) {
        CHECK_EQ(ops->count_tokens(e, &m, 1, &c, NULL), 0);
        int id = submit(e, "hello", 3, NULL);
        CHECK(id > 0);
        run_all(e);
        ops->drop(e, id);
    }
    CHECK_EQ(pthread_join(thread, &differ), 0);
    CHECK(!differ);
    ops->close(e);
}

TEST(engine_fills_a_context_to_the_last_token)
{
    struct engine *e = open_with("{\"answer\": \"x\", \"end\": false}\n", (struct engine_config){.ctx = 100});
    struct msg msg = {.role = ROLE_USER, .text = "hello", .len = 5};
    struct engine_count c = {0};
    CHECK_EQ(ops->count_tokens(e, &msg, 1, &c, NULL), 0);
    CHECK_EQ(submit(e, "hello", 101 - c.tokens, NULL), ENGINE_NEVER_FITS); /* the pool would hold it, the context not */
    int id = submit(e, "hello", 100 - c.tokens, NULL);
    CHECK(id > 0);
    run_all(e);
    CHECK_EQ(end_of(e, id), END_LENGTH);
    CHECK_EQ(ops->answer(e, id)->n_prompt + atomic_load(&ops->answer(e, id)->n_tokens), 100);
    ops->close(e);
}

/* Random submissions, cancels and drops against a tiny pool: the words keep their order, every request ends once. */
TEST(engine_keeps_its_books_under_random_use)
{
    enum { LIVE = 40 };
    uint32_t seed = 11;
    int id[LIVE] = {0}, ended[LIVE] = {0};
    struct engine_event ev[64];
    struct engine_snapshot s;
    struct engine *e = open_with(
        "{\"answer\": \"abc\"}\n{\"answer\": \"a much longer answer than that\", \"end\": false}\n{\"answer\": \"\"}\n",
        (struct engine_config){.ctx = 120, .max_seqs = 4, .pool_tokens = 200, .max_rows = 9});
    for (int round = 0; round < 20000; round++) {
        int i = tiny_below(&seed, LIVE), what = tiny_below(&seed, 8);
        if (what < 3 && !id[i]) {
            int got = submit(e, "some words to pre-fill", 1 + tiny_below(&seed, 100), NULL);
            CHECK(got > 0 || got == ENGINE_NEVER_FITS || got == ENGINE_QUEUE_FULL);
            id[i] = MAX(got, 0);
            ended[i] = 0;
        } else if (what == 3 && id[i]) {
            ops->cancel(e, id[i]);
        } else if (what == 4 && id[i]) {
            ops->drop(e, id[i]);
            id[i] = 0;
        } else if (what > 4) {
            int n = ops->step(e, ev, 64, NULL);
            for (int k = 0; k < n; k++)
                for (int j = 0; ev[k].kind == ENGINE_END && j < LIVE; j++)
                    if (id[j] == ev[k].id) CHECK_EQ(ended[j]++, 0);
        }
        ops->snapshot(e, &s);
        CHECK(s.filled_tokens <= s.reserved_tokens && s.reserved_tokens <= s.pool_tokens);
        CHECK(s.running <= 4 && (s.running > 0 || s.reserved_tokens == 0));
    }
    run_all(e);
    for (int i = 0; i < LIVE; i++)
        if (id[i]) CHECK(end_of(e, id[i]) != END_NONE);
    ops->snapshot(e, &s);
    CHECK_EQ(s.reserved_tokens + s.filled_tokens, 0);
    ops->close(e);
}

TEST(scripted_engine_says_what_is_wrong_with_its_file)
{
    static const struct { const char *text, *word;
    } bad[] = {
        {"{\"answer\": 3}\n", "line 1: \"answer\" must be a text"},
        {"\n{\"anser\": \"x\"}\n", "line 2: neither"},
        {"{\"answer\": \n", "line 1, column"},
        {"{\"answer\": \"x\", \"token_ms\": -1}\n", "token_ms"},
        {"", "no answers"},
        {"{\"fault\": {\"pass\": 0}}\n", "pass"},
        {"{\"answer\": \"\", \"end\": false}\n", "must say something"},
    };
    struct gguf_make m;
    gguf_make_begin(&m);
    tiny_vocab(&m, CHATML);
    const char *vocab = gguf_make_file(&m, "vocab.gguf");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err err = {0};
        struct engine_config cfg = {.model = vocab, .script = tiny_text_file("bad.jsonl", bad[i].text), .template = -1};
        CHECK(!ops->open(&cfg, &err));
        if (!strstr(err.text, bad[i].word)) CHECK_STR(err.text, bad[i].word);
    }
}

CHECK_MAIN
