/* Thinking that is bounded: what is written for a model, when, and that all else is as if the model had written it. */
#include "engine/engine.h"
#include "engine/thinking.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { P = KERN_PAGE };

static const struct tiny model = {.arch = "llama", .layers = 2, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96,
                                  .type = KT_F32, .seed = 1};

static struct engine *scripted(const char *answer, enum template_kind kind)
{
    struct buf line = {0};
    struct err err = {0};
    buf_printf(&line, "{\"answer\":\"%s\"}\n", answer);
    const struct engine_config cfg = {.model = tiny_file(&model, NULL, "words.gguf"), .kv_type = KT_F16,
                                      .script = tiny_text_file("script", line.data), .template = (int)kind,
                                      .grammars = 2};
    struct engine *e = engine_scripted.open(&cfg, &err);
    CHECK_STR(err.text, "");
    buf_free(&line);
    return e;
}

static const struct answer *run(const struct engine_ops *ops, struct engine *e, const struct request *r)
{
    struct engine_event ev[64];
    struct err err = {0};
    int id = 0;
    CHECK_EQ(ops->submit(e, r, &id, &err), 0);
    while (ops->step(e, ev, 64, &err) > 0) continue;
    CHECK_STR(err.text, "");
    return ops->answer(e, id);
}

static struct request request_of(int thinking)
{
    static const struct msg msg = {.role = ROLE_USER, .text = "x", .len = 1};
    return (struct request){.msgs = &msg, .n_msgs = 1, .max_tokens = 100, .thinking = thinking,
                            .sampling = SAMPLING_GREEDY};
}

/* The vocabulary has a token for each byte. */
static void check_text(const char *script, int thinking, const char *text, int tokens)
{
    struct engine *e = scripted(script, TEMPLATE_CHATML);
    const struct request r = request_of(thinking);
    const struct answer *a = run(&engine_scripted, e, &r);
    CHECK_STR(a->text, text);
    CHECK_EQ(atomic_load(&a->n_tokens), tokens);
    CHECK_EQ(atomic_load(&a->end), END_STOP);
    engine_scripted.close(e);
}

TEST(thinking_ends_after_so_many_tokens)
{
    check_text("<think>abcdefgh</think>Yes.", 10, "<think>abc\n</think>\n\ndefgh</think>Yes.", 10 + 11 + 17);
    check_text("\\n <think>abcdefgh</think>Yes.", 12, "\n <think>abc\n</think>\n\ndefgh</think>Yes.", 12 + 11 + 17);
    check_text("<think>ab</think>Yes, <think> was it.", 18, "<think>ab</think>Yes, <think> was it.", 37);
    check_text("<think>ab</think>Yes, <think> was it.", 17, "<think>ab</think>Yes, <think> was it.", 37);
    check_text("Yes, at once, and at length.", 3, "Yes, at once, and at length.", 28);
    check_text("<think>abcdefgh</think>Yes.", THINKING_FREE, "<think>abcdefgh</think>Yes.", 27);
}

TEST(a_model_that_is_not_to_think_begins_behind_it)
{
    check_text("Yes.", THINKING_OFF, "<think>\n\n</think>\n\nYes.", 19 + 4);
    check_text("<think>a</think>Yes.", THINKING_OFF, "<think>\n\n</think>\n\n<think>a</think>Yes.", 19 + 20);
}

TEST(max_tokens_ends_it_wherever_it_is)
{
    struct engine *e = scripted("<think>abcdefgh</think>Yes.", TEMPLATE_CHATML);
    struct request r = request_of(8);
    r.max_tokens = 12;
    const struct answer *a = run(&engine_scripted, e, &r);
    CHECK_STR(a->text, "<think>a\n</t");
    CHECK_EQ(atomic_load(&a->end), END_LENGTH);
    engine_scripted.close(e);
}

TEST(no_stop_string_cuts_what_is_written_for_it)
{
    static const char *const stop[] = {"\n\n"};
    struct engine *e = scripted("<think>abcd</think>Yes.\\n\\nNo.", TEMPLATE_CHATML);
    struct request r = request_of(8);
    r.stop = stop;
    r.n_stop = 1;
    const struct answer *a = run(&engine_scripted, e, &r);
    CHECK_STR(a->text, "<think>a\n</think>\n\nbcd</think>Yes.");
    CHECK_EQ(atomic_load(&a->end), END_STOP);
    engine_scripted.close(e);
}

TEST(a_call_behind_it_is_held_to_its_grammar)
{
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},"
                                 "\"required\":[\"a\"],\"additionalProperties\":false}";
    const struct request_grammar g = {.open = "<tool_call>", .close = "</tool_call>", .schema = schema,
                                      .n_schema = sizeof schema - 1, .free_open = "<think>", .free_close = "</think>"};
    struct engine *e = scripted("<think>abcd<tool_call>{\\\"a\\\":1}</tool_call>", TEMPLATE_CHATML);
    struct request r = request_of(11);
    r.grammar = &g;
    CHECK_STR(run(&engine_scripted, e, &r)->text, "<think>abcd\n</think>\n\n<tool_call>{\"a\":1}</tool_call>");
    engine_scripted.close(e);
    e = scripted("<think>abcd<tool_call>[1]</tool_call>", TEMPLATE_CHATML);
    const struct answer *a = run(&engine_scripted, e, &r);
    CHECK_EQ(atomic_load(&a->end), END_NO_TOKEN);
    engine_scripted.close(e);
    e = scripted("<tool_call>{\\\"a\\\":1}</tool_call>", TEMPLATE_CHATML);
    r.thinking = THINKING_OFF;
    CHECK_STR(run(&engine_scripted, e, &r)->text, "<think>\n\n</think>\n\n<tool_call>{\"a\":1}</tool_call>");
    engine_scripted.close(e);
}

/* On a real model, parked and resumed: the tokens behind what was written are those of a prompt that ends with it. */
TEST(what_follows_is_what_would_follow_in_a_prompt)
{
    enum { PROMPT = P + 5, NEW = 60, WRITTEN = sizeof THINKING_SKIP - 1 };
    int32_t ids[PROMPT + WRITTEN];
    uint32_t seed = 3;
    struct err err = {0};
    const struct engine_config cfg = {.model = tiny_file(&model, NULL, "real.gguf"), .backend = "cpu", .ctx = 12 * P,
                                      .kern = {.threads = 2}, .kv_type = KT_F16, .template = -1, .max_seqs = 2};
    struct engine *e = engine_local.open(&cfg, &err);
    CHECK_STR(err.text, "");
    for (int i = 0; i < PROMPT; i++) ids[i] = TINY_BYTE0 + tiny_below(&seed, 256);
    struct request r = {.ids = ids, .n_ids = PROMPT, .max_tokens = WRITTEN + NEW, .ignore_end = true, .top_n = 3,
                        .thinking = THINKING_OFF, .sampling = SAMPLING_GREEDY};
    const struct answer *a = run(&engine_local, e, &r);
    CHECK_EQ(atomic_load(&a->n_tokens), WRITTEN + NEW);
    CHECK(strncmp(a->text, THINKING_SKIP, WRITTEN) == 0);
    for (int i = 0; i < WRITTEN; i++) ids[PROMPT + i] = a->token[i].id;
    r.n_ids = PROMPT + WRITTEN;
    r.max_tokens = NEW;
    r.thinking = THINKING_FREE;
    const struct answer *b = run(&engine_local, e, &r);
    for (int i = 0; i < NEW; i++) {
        CHECK_EQ(a->token[WRITTEN + i].id, b->token[i].id);
        CHECK_MEM(&a->token[WRITTEN + i].logprob, &b->token[i].logprob, sizeof(float));
        CHECK_MEM(&a->top[WRITTEN + i], &b->top[i], sizeof *a->top);
    }
    r = (struct request){.ids = ids, .n_ids = PROMPT + WRITTEN, .score = true, .sampling = SAMPLING_GREEDY};
    const struct answer *c = run(&engine_local, e, &r);
    for (int i = 0; i < WRITTEN; i++) /* the written have the probability that they had */
        CHECK_MEM(&a->token[i].logprob, &c->prompt_logprob[PROMPT + i], sizeof(float));
    engine_local.close(e);
}

static void refuse(enum template_kind kind, struct request r, const char *words)
{
    struct err err = {0};
    int id;
    struct engine *e = scripted("Yes.", kind);
    CHECK_EQ(engine_scripted.submit(e, &r, &id, &err), ENGINE_BAD_REQUEST);
    if (!strstr(err.text, words)) check_fail(__FILE__, __LINE__, "%s", err.text);
    engine_scripted.close(e);
}

TEST(what_cannot_be_bounded_is_refused)
{
    const struct request_grammar whole = {.schema = "{\"type\":\"integer\"}", .n_schema = 18, .whole = true};
    struct request r = request_of(5);
    r.grammar = &whole;
    refuse(TEMPLATE_CHATML, r, "no place for thinking");
    refuse(TEMPLATE_CHATML, request_of(-2), "thinking is -2; allowed is -1 to");
}

CHECK_MAIN
