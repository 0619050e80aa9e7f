/* Thinking that is bounded: what is written for a model, when, and that all else is as if the model had written it. */
#include "engine/engine.h"
#include "engine/thinking.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include "tests/vocab_file.h"

enum { P = KERN_PAGE };

static const struct tiny model = {.arch = "llama", .layers = 2, .embd = 64, .heads = 4, .kv_heads = 2, .ff = 96,
                                  .type = KT_F32, .seed = 1};

/* kind: -1: the file's own. */
static struct engine *open_script(const char *file, const char *answer, int kind)
{
    struct buf line = {0};
    struct err err = {0};
    buf_printf(&line, "{\"marks\":%s,\"answer\":\"%s\"}\n", strstr(answer, "<|") ? "true" : "false", answer);
    const struct engine_config cfg = {.model = file, .kv_type = KT_F16, .template = kind, .grammars = 2,
                                      .script = tiny_text_file("script", line.data)};
    struct engine *e = engine_scripted.open(&cfg, &err);
    CHECK_STR(err.text, "");
    buf_free(&line);
    return e;
}

static struct engine *scripted(const char *answer, enum template_kind kind)
{
    return open_script(tiny_file(&model, NULL, "words.gguf"), answer, (int)kind);
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
static void check_answer(struct engine *e, const struct request *r, const char *text, int tokens)
{
    const struct answer *a = run(&engine_scripted, e, r);
    CHECK_STR(a->text, text);
    CHECK_EQ(atomic_load(&a->n_tokens), tokens);
    CHECK_EQ(atomic_load(&a->end), END_STOP);
    engine_scripted.close(e);
}

static void check_text(const char *script, int thinking, const char *text, int tokens)
{
    const struct request r = request_of(thinking);
    check_answer(scripted(script, TEMPLATE_CHATML), &r, text, tokens);
}

static void check_own(const char *file, const char *script, int thinking, const char *text, int tokens)
{
    const struct request r = request_of(thinking);
    check_answer(open_script(file, script, -1), &r, text, tokens);
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
    check_text("Yes.", THINKING_OFF, "Yes.", 19 + 4); /* the tags are no part of its text */
    check_text("<think>a</think>Yes.", THINKING_OFF, "<think>a</think>Yes.", 19 + 20);
    check_text("Yes.", THINKING_ON, "Yes.", 4);
}

TEST(a_turn_is_opened_as_the_template_has_it)
{
    const char *begun = vocab_file_thinks(false);
    check_own(begun, "abcdef</think>Yes.", THINKING_FREE, "<think>\nabcdef</think>Yes.", 8 + 18);
    check_own(begun, "abcdef</think>Yes.", THINKING_ON, "<think>\nabcdef</think>Yes.", 8 + 18);
    check_own(begun, "abcdef</think>Yes.", 10, "<think>\nab\n</think>\n\ncdef</think>Yes.", 10 + 11 + 16);
    check_own(begun, "Yes.", THINKING_OFF, "Yes.", 19 + 4);
    const char *asked = vocab_file_thinks(true);
    check_own(asked, "Yes.", THINKING_FREE, "Yes.", 19 + 4);
    check_own(asked, "abcdef</think>Yes.", THINKING_ON, "<think>\nabcdef</think>Yes.", 8 + 18);
    check_own(asked, "abcdef</think>Yes.", 10, "<think>\nab\n</think>\n\ncdef</think>Yes.", 10 + 11 + 16);
    const char *bare = vocab_file_thinks_bare();
    check_own(bare, "abcdef</think>Yes.", THINKING_FREE, "<think>abcdef</think>Yes.", 7 + 18);
    check_own(bare, "abcdef</think>Yes.", 9, "<think>ab\n</think>\n\ncdef</think>Yes.", 9 + 11 + 16);
    check_own(bare, "Yes.", THINKING_OFF, "Yes.", 19 + 4);
}

/* Neither a text that somebody else has made, nor an answer that is one value. */
TEST(what_is_no_turn_is_not_opened)
{
    static const struct request_grammar whole = {.schema = "{\"type\":\"integer\"}", .n_schema = 18, .whole = true};
    static const int32_t ids[] = {1, 2, 3};
    for (int asked = 0; asked < 2; asked++) {
        const char *file = vocab_file_thinks(asked);
        struct request r = {.ids = ids, .n_ids = 3, .max_tokens = 100, .sampling = SAMPLING_GREEDY};
        check_answer(open_script(file, "Yes.", -1), &r, "Yes.", 4);
        r = request_of(THINKING_FREE);
        r.grammar = &whole;
        check_answer(open_script(file, "17", -1), &r, "17", 2);
    }
}

TEST(gpt_oss_is_closed_where_a_thought_goes_on)
{
#define C "<|channel|>"
#define M "<|message|>"
#define E "<|end|><|start|>assistant"
    const char *file = vocab_file_harmony();
    const int marks = 4 + (int)strlen("assistant" "final");
    check_own(file, C "analysis" M "abcdefgh<|return|>", 13, "<think>\nabc\n</think>\n\ndefgh", 13 + marks + 5);
    const int head = 3 + (int)strlen("assistant"); /* up to its channel's name */
    check_own(file, C "analysis" M "abc" E C "analysis" M "de<|return|>", 14, "<think>\nabc\n</think>\n\nde",
              13 + head + 8 + 1 + marks + 2); /* a head that was begun comes to its end */
    check_own(file, C "analysis" M "abc" E C "final" M "de<|return|>", 14, "<think>\nabc\n</think>\n\nde",
              13 + head + 5 + 1 + 2);
    check_own(file, C "final" M "abcdefgh<|return|>", 3, "abcdefgh", 1 + 5 + 1 + 8);
#undef C
#undef M
#undef E
}

TEST(who_is_closed_says_so)
{
    for (int n = 10; n <= 22; n += 12) {
        struct engine *e = scripted("<think>abcdef</think>Yes.", TEMPLATE_CHATML);
        const struct request r = request_of(n);
        CHECK_EQ(atomic_load(&run(&engine_scripted, e, &r)->closed), n == 10);
        engine_scripted.close(e);
    }
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
    CHECK_STR(run(&engine_scripted, e, &r)->text, "<tool_call>{\"a\":1}</tool_call>");
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
    for (int i = 0; i < WRITTEN; i++) {
        CHECK_EQ(a->token[i].id, TINY_BYTE0 + (unsigned char)THINKING_SKIP[i]);
        CHECK_EQ(a->token[i].text_end, 0);
        ids[PROMPT + i] = a->token[i].id;
    }
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
    struct err err = {0};
    int id;
    struct engine *e = open_script(vocab_file_harmony(), "Yes.", -1);
    r = request_of(THINKING_OFF);
    CHECK_EQ(engine_scripted.submit(e, &r, &id, &err), ENGINE_BAD_REQUEST);
    CHECK(strstr(err.text, "for which the template harmony has no words"));
    engine_scripted.close(e);
}

CHECK_MAIN
