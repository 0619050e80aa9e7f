/* test_strict_harmony.c - answers in harmony's messages held to what was asked for: which ones may be written, which
 * not and from where on; walks of a model that draws from all that it may; a thought that is ended; an answer that the
 * prompt began. */
#include "engine/engine.h"
#include "engine/harmony.h"
#include "engine/maker.h"
#include "engine/sched.h"
#include "engine/strict.h"
#include "tests/check.h"
#include "tests/template_rig.h"
#include "tests/tiny_model.h"
#include "tests/vocab_file.h"
#include <jansson.h>

static const char *const marks[] = {"<|start|>",     "<|end|>",    "<|message|>", "<|channel|>",
                                    "<|constrain|>", "<|return|>", "<|call|>"};

/* Tokens of several bytes lie across the ends of words and values. */
static struct vocab *open_vocab(void)
{
    static const char *const merge[][2] = {{"f", "u"}, {"{", "\""}, {"\"", "}"}, {"}", "}"}, {"s", "o"}, {"a", "d"},
                                           {"c", "o"}, {"1", "}"}, {"so", "n"}, {"e", "d"}};
    struct vocab_make m;
    vocab_make_bpe(&m, "gpt-4o");
    for (size_t i = 0; i < COUNT_OF(merge); i++) vocab_make_merge(&m, merge[i][0], merge[i][1]);
    for (size_t i = 0; i < COUNT_OF(marks); i++) m.eos = vocab_make_add(&m, marks[i], VOCAB_CONTROL, 0);
    return tpl_made(&m);
}

#define TOOL(name, args) "{\"type\":\"object\",\"required\":[\"name\",\"arguments\"],\"properties\":{\"name\":" name \
                         ",\"arguments\":" args "}}"
#define READ TOOL("{\"const\":\"read\"}", "{\"type\":\"object\",\"required\":[\"path\"],\"properties\":{\"path\":" \
                  "{\"type\":\"string\"},\"n\":{\"type\":\"integer\"}}}")
#define ADD TOOL("{\"const\":\"add\"}", "{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":" \
                 "\"array\",\"items\":{\"type\":\"boolean\"}}}}")
#define LOOSE TOOL("{\"enum\":[\"read\",\"add\"]}", "{\"type\":\"object\"}")
#define CALLS "{\"oneOf\":[" READ "," ADD "]}"
#define VALUE "{\"type\":\"object\",\"required\":[\"ok\"],\"properties\":{\"ok\":{\"type\":\"boolean\"}}}"

/* What is asked for, as the server does. */
enum { OPTIONAL, REQUIRED, ANSWER, EITHER, NAMES, KINDS };
static struct request_grammar asked(int kind)
{
    static const char *const schema[KINDS] = {CALLS, CALLS, VALUE, "{\"anyOf\":[" CALLS "," VALUE "]}", LOOSE};
    const bool calls = kind != ANSWER && kind != EITHER;
    return (struct request_grammar){.open = calls ? "<tool_call>" : NULL, .close = calls ? "</tool_call>" : NULL,
                                    .free_open = kind == OPTIONAL ? "<think>" : NULL,
                                    .free_close = kind == OPTIONAL ? "</think>" : NULL, .schema = schema[kind],
                                    .n_schema = strlen(schema[kind]), .whole = kind != OPTIONAL,
                                    .either = kind == EITHER};
}

static struct err err;
static struct vocab *v;
static struct strict *s;
static struct carried *held[KINDS];

static void open_all(void)
{
    struct strict_config cfg;
    v = open_vocab();
    CHECK_EQ(strict_plan(v, KINDS, true, &(struct grammar_limits){0}, &cfg, &err), 0);
    s = strict_open(&cfg, v, 1, &err);
    CHECK(s != NULL);
    for (int k = 0; k < KINDS; k++) {
        const struct request_grammar g = asked(k);
        if (strict_take(s, &g, &held[k], &err)) check_fail(__FILE__, __LINE__, "%d: %s", k, err.text);
        for (int i = 0; i < k; i++) CHECK(held[i] != held[k]); /* one schema, asked for in two ways, is two */
    }
}

static void close_all(void)
{
    for (int k = 0; k < KINDS; k++) strict_give(held[k]);
    CHECK_EQ(strict_holds(s), 0);
    strict_close(s);
    vocab_close(v);
}

static size_t encode(const char *text, int32_t *ids, size_t room)
{
    struct ids to = ids_fixed(ids, room);
    const size_t bytes = vocab_scratch_bytes(v, strlen(text));
    void *mem = malloc(bytes);
    struct vocab_scratch *scratch = vocab_scratch_open(v, mem, bytes, &err);
    CHECK_EQ(vocab_encode(v, scratch, text, strlen(text), VOCAB_SPECIAL | VOCAB_NO_PREFIX, &to, &err), 0);
    free(mem);
    return to.n;
}

/* ---------------------------------------------------------------- what may be written */

#define A "<|start|>assistant"
#define C "<|channel|>"
#define M "<|message|>"
#define J " <|constrain|>json<|message|>"
#define E "<|end|>"
#define R "<|return|>"
#define K "<|call|>"
#define THOUGHT C "analysis" M "hm, <b>é" E A
#define WORDS C "commentary" M "I look." E A
#define FINAL C "final" M "It is so." R

/* Behind <|start|>assistant; by whom it may be written. */
static const struct { const char *answer; unsigned by; } whole[] = {
#define BY(kind) (1u << kind)
#define CALLERS (BY(OPTIONAL) | BY(REQUIRED) | BY(EITHER))
    {C "commentary to=functions.read" J "{\"path\":\"a\"}" K, CALLERS},
    {C "commentary to=functions.read" M "{\"path\":\"a\",\"n\":1}" K, CALLERS},
    {C "commentary to=functions.read json" M "{\"path\":\"}}\"}" K, CALLERS},
    {" to=functions.add" C "commentary json" M "{\"a\":[true,false]}" K, CALLERS},
    {" to=functions.read" C "analysis" M "{\"path\":\"\"}" K, CALLERS},
    {" to=functions.add" C "commentary" J "{\"a\":[]}" K, CALLERS},
    {THOUGHT C "commentary to=functions.add" J "{\"a\":[]}" K, CALLERS},
    {C "analysis to=functions.add" J "{\"a\":[]}" K, CALLERS},
    {THOUGHT THOUGHT WORDS WORDS THOUGHT C "commentary to=functions.add" J "{\"a\":[]}" K, BY(OPTIONAL)},
    {WORDS FINAL, BY(OPTIONAL)},
    {THOUGHT FINAL, BY(OPTIONAL)},
    {FINAL, BY(OPTIONAL)},
    {C "final" M "{\"ok\":true}" R, BY(OPTIONAL) | BY(ANSWER) | BY(EITHER)},
    {THOUGHT C "final" J "{\"ok\":false}" R, BY(ANSWER) | BY(EITHER)},
    {C "final" M "{\"ok\":1}" R, BY(OPTIONAL)},
    {C "commentary to=functions.read" J "{\"path\":\"a\"}}" K, 0},      /* more than its arguments */
    {C "commentary to=functions.read" J "{\"path\":\"a\"" K, 0},        /* less */
    {C "commentary to=functions.read" J "{\"path\":\"a\"}" R, 0},       /* ended as something else */
    {C "commentary to=functions.read" J "{\"a\":[]}" K, 0},             /* another's */
    {C "commentary to=functions.readd" J "{\"path\":\"a\"}" K, 0},      /* of no tool */
    {C "commentary to=functions.rea" J "{\"path\":\"a\"}" K, 0},
    {C "commentary to=functions.readjson" M "{\"path\":\"a\"}" K, 0},
    {C "commentary to=read" J "{\"path\":\"a\"}" K, 0},
    {C "commentary to=functions.read" J "{\"path\":\"a" M "\"}" K, 0},  /* a mark in a text */
    {C "analysis" M "hm" R, 0},                                         /* nothing but a thought */
    {C "other" M "hm" E A FINAL, 0},
    {"<|start|>assistant" FINAL, 0},
    {"x" FINAL, 0},
};

/* How many tokens of it may be written; each is in the mask exactly if it may. */
static size_t follow(int kind, const int32_t *ids, size_t n)
{
    struct strict_state st;
    int32_t prompt[16];
    const size_t n_prompt = encode("x" A, prompt, COUNT_OF(prompt));
    CHECK(strict_begin(s, held[kind], prompt, n_prompt, &st));
    for (size_t i = 0; i < n; i++) {
        const uint32_t *mask = strict_mask(s, held[kind], &st, NULL, 0);
        const char *piece;
        size_t outside, len = vocab_piece(v, ids[i], &piece);
        const bool may = mask[ids[i] / 32] >> ids[i] % 32 & 1;
        CHECK_EQ(strict_accept(held[kind], &st, ids[i], piece, len, &outside), may);
        if (!may) return i;
    }
    return n;
}

TEST(strict_harmony_holds_an_answer_to_what_was_asked_for)
{
    open_all();
    for (size_t i = 0; i < COUNT_OF(whole); i++) {
        int32_t ids[400];
        const size_t n = encode(whole[i].answer, ids, COUNT_OF(ids));
        for (int k = 0; k < NAMES; k++) {
            const bool may = follow(k, ids, n) == n;
            if (may != (whole[i].by >> k & 1)) check_fail(__FILE__, __LINE__, "%d: %s", k, whole[i].answer);
        }
    }
    close_all();
}

/* A byte that stands for a mark in the automaton is a token too, and no mark. */
TEST(strict_harmony_takes_no_byte_for_a_mark)
{
    open_all();
    for (int b = 0xf8; b <= 0xff; b++) {
        int32_t ids[40];
        const char raw[] = {(char)b, '\0'}, *piece;
        size_t n = encode(C "final" M, ids, COUNT_OF(ids));
        for (int32_t id = 0; id < vocab_size(v); id++)
            if (vocab_piece(v, id, &piece) == 1 && *piece == *raw) ids[n++] = id;
        CHECK_EQ(follow(OPTIONAL, ids, n), n - 1);
        CHECK_EQ(follow(OPTIONAL, ids + n - 1, 1), 0);
    }
    close_all();
}

/* ---------------------------------------------------------------- walks */

static uint32_t seed = 1;
static uint32_t draw(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

/* Any token that may come; one in four times a mark where one may, so that it comes to an end. */
static int32_t draw_token(const uint32_t *mask)
{
    int32_t all[1024], n = 0, n_marks = 0;
    const int32_t first_mark = vocab_size(v) - (int32_t)COUNT_OF(marks);
    for (int32_t id = 0; id < vocab_size(v); id++)
        if (mask[id / 32] >> id % 32 & 1) all[n++] = id, n_marks += id >= first_mark;
    CHECK(n > 0 && n < (int32_t)COUNT_OF(all));
    const bool mark = n_marks > 0 && (n_marks == n || draw(4) == 0);
    return mark ? all[n - 1 - (int32_t)draw((uint32_t)n_marks)] : all[draw((uint32_t)n)];
}

static void take(void *self, const char *bytes, size_t n, bool apart)
{
    (void)apart;
    buf_put(self, bytes, n);
}

/* What is told of it to the end; false: it came to none in time. */
static bool walk(int kind, struct buf *told)
{
    struct strict_state st;
    struct harmony h;
    const struct harmony_out out = {take, told};
    int32_t prompt[16];
    const size_t n = encode(A, prompt, COUNT_OF(prompt));
    CHECK(strict_begin(s, held[kind], prompt, n, &st));
    harmony_begin(&h, v, prompt, n);
    told->len = 0;
    for (int i = 0; i < 600; i++) {
        const int32_t id = draw_token(strict_mask(s, held[kind], &st, NULL, 0));
        const char *piece;
        size_t outside, len = vocab_piece(v, id, &piece);
        CHECK(strict_accept(held[kind], &st, id, piece, len, &outside));
        if (vocab_is_end(v, id)) {
            harmony_end(&h, true, &out);
            buf_put(told, "", 1);
            return true;
        }
        harmony_token(&h, v, id, piece, len, &out);
    }
    return false;
}

static void check_call(const char *text, size_t n)
{
    json_t *call = json_loadb(text, n, JSON_DECODE_ANY, NULL), *args = json_object_get(call, "arguments");
    const char *name = json_string_value(json_object_get(call, "name"));
    if (!name) check_fail(__FILE__, __LINE__, "no call: %.*s", (int)n, text);
    const bool read = strcmp(name, "read") == 0 && json_is_string(json_object_get(args, "path"));
    if (!read && (strcmp(name, "add") != 0 || !json_is_array(json_object_get(args, "a"))))
        check_fail(__FILE__, __LINE__, "%.*s", (int)n, text);
    json_decref(call);
}

TEST(strict_harmony_lets_nothing_else_be_drawn)
{
    int calls[KINDS] = {0}, answers[KINDS] = {0};
    struct buf told = {0};
    open_all();
    for (int i = 0; i < 400; i++) {
        const int kind = i % NAMES;
        if (!walk(kind, &told)) continue;
        static const char over[] = "</think>\n\n";
        const char *text = strncmp(told.data, "<think>", 7) ? NULL : memmem(told.data, told.len, over, strlen(over));
        text = text ? text + strlen(over) : told.data;
        const char *call;
        call = memmem(text, told.len - (size_t)(text - told.data), "<tool_call>", 11);
        if (call) {
            const char *end = told.data + told.len - 1 - strlen("</tool_call>");
            CHECK_STR(end, "</tool_call>");
            check_call(call + 11, (size_t)(end - call) - 11);
            CHECK(kind != ANSWER && (kind == OPTIONAL || call == text)); /* no words where it must come */
            calls[kind]++;
            continue;
        }
        CHECK(kind != REQUIRED);
        answers[kind]++;
        json_t *value = kind == OPTIONAL ? NULL : json_loads(text, 0, NULL);
        CHECK(kind == OPTIONAL || json_is_boolean(json_object_get(value, "ok")));
        json_decref(value);
    }
    CHECK(calls[OPTIONAL] > 3 && calls[REQUIRED] > 3 && calls[EITHER] > 3);
    CHECK(answers[OPTIONAL] > 3 && answers[ANSWER] > 3 && answers[EITHER] > 3);
    buf_free(&told);
    close_all();
}

/* ---------------------------------------------------------------- beginnings and ends */

TEST(strict_harmony_goes_on_where_the_prompt_ends)
{
    static const struct { const char *prompt; unsigned by; } prompts[] = {
        {A, BY(OPTIONAL) | BY(REQUIRED) | BY(ANSWER) | BY(EITHER)},
        {A C "final" M "I will", BY(OPTIONAL)},
        {A C "final" M "{\"ok\":", BY(OPTIONAL) | BY(ANSWER) | BY(EITHER)},
        {A C "analysis" M "x" E A, BY(OPTIONAL)}, /* the last message is what counts: an answer may begin so */
        {"<|start|>user" M "x", 0},
        {"no marks", 0},
        {"", 0},
    };
    open_all();
    for (size_t i = 0; i < COUNT_OF(prompts); i++)
        for (int k = 0; k < NAMES; k++) {
            int32_t ids[60];
            struct strict_state st;
            const unsigned by = i == 3 ? prompts[0].by : prompts[i].by;
            const size_t n = encode(prompts[i].prompt, ids, COUNT_OF(ids));
            CHECK_EQ(strict_begin(s, held[k], ids, n, &st), by >> k & 1);
        }
    close_all();
}

/* A thought's end is written for the model: as much of it as leaves what was asked for. */
TEST(strict_harmony_says_how_much_of_an_end_may_come)
{
    static const struct { int kind; const char *may; } ends[] = {
        {OPTIONAL, E A C "final" M}, {REQUIRED, E A C}, {ANSWER, E A C "final" M}, {EITHER, E A C "final" M}};
    open_all();
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct strict_state st;
        int32_t ids[60];
        size_t n = encode(A C "analysis" M "h", ids, COUNT_OF(ids));
        CHECK(strict_begin(s, held[ends[i].kind], ids, n, &st));
        const int all = (int)encode(E A C "final" M, ids, COUNT_OF(ids));
        const int may = strict_may(held[ends[i].kind], &st, ids, all);
        CHECK_EQ(may, (int)encode(ends[i].may, ids, COUNT_OF(ids)));
    }
    close_all();
}

TEST(strict_harmony_refuses_what_is_no_call)
{
    static const struct { const char *schema, *says; bool either; } bad[] = {
        {"{\"type\":\"integer\"}", "schema, at /: a call has a name", false},
        {"{\"oneOf\":[]}", "schema, at /: oneOf must be a list", false},
        {"{\"oneOf\":[" READ ",3]}", "schema, at /oneOf/1: a call has a name", false},
        {TOOL("{\"type\":\"string\"}", "{\"type\":\"object\"}"), "a call has a name", false},
        {TOOL("{\"enum\":[]}", "{\"type\":\"object\"}"), "a call has a name", false},
        {TOOL("{\"const\":\"a b\"}", "{\"type\":\"object\"}"), "name is to be one word", false},
        {TOOL("{\"const\":3}", "{\"type\":\"object\"}"), "name is to be one word", false},
        {TOOL("{\"const\":\"\"}", "{\"type\":\"object\"}"), "name is to be one word", false},
        {TOOL("{\"const\":\"f\"}", "{\"$ref\":\"x\"}"), "/arguments: $ref is not known", false},
        {VALUE, "schema, at /: a call has a name", true},
    };
    open_all();
    strict_give(held[NAMES]);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct request_grammar g = {.open = bad[i].either ? NULL : "<tool_call>",
                                    .close = bad[i].either ? NULL : "</tool_call>", .schema = bad[i].schema,
                                    .n_schema = strlen(bad[i].schema), .whole = true, .either = bad[i].either};
        struct carried *c = NULL;
        err = (struct err){0};
        CHECK(strict_take(s, &g, &c, &err) != 0 && !c);
        if (!strstr(err.text, bad[i].says)) check_fail(__FILE__, __LINE__, "%zu: %s", i, err.text);
    }
    const struct request_grammar again = asked(NAMES);
    CHECK_EQ(strict_take(s, &again, &held[NAMES], &err), 0);
    close_all();
}

/* The engine refuses it, and holds nothing for it. */
TEST(strict_harmony_s_engine_wants_a_prompt_that_an_answer_follows)
{
    const struct engine_config cfg = {.model = vocab_file_harmony(), .kv_type = KT_F16, .template = -1, .grammars = 1,
                                      .script = tiny_text_file("script", "{\"answer\":\"x\"}\n")};
    err = (struct err){0};
    struct engine *e = engine_scripted.open(&cfg, &err);
    CHECK_STR(err.text, "");
    const struct msg msg = tpl_say(ROLE_USER, "x");
    const struct request_grammar g = asked(REQUIRED), other = asked(ANSWER);
    const int32_t ids[] = {'a'};
    struct request r = {.ids = ids, .n_ids = 1, .max_tokens = 4, .grammar = &g, .sampling = SAMPLING_GREEDY};
    int id;
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(engine_scripted.submit(e, &r, &id, &err), ENGINE_BAD_REQUEST);
        CHECK(strncmp(err.text, "the prompt ends in no message of the assistant's", 48) == 0);
    }
    r = (struct request){.msgs = &msg, .n_msgs = 1, .max_tokens = 4, .grammar = &other, .sampling = SAMPLING_GREEDY};
    CHECK_EQ(engine_scripted.submit(e, &r, &id, &err), 0); /* in the one place that there is */
    engine_scripted.close(e);
}

/* Where an answer is follows from its tokens and the prompt's. */
TEST(strict_harmony_s_engine_keeps_its_books)
{
    const struct engine_config cfg = {.model = vocab_file_harmony(), .kv_type = KT_F16, .template = -1, .grammars = 1,
                                      .script = tiny_text_file("script", "{\"marks\":true,\"answer\":\"<|channel|>final"
                                                               "<|message|>{\\\"ok\\\":true}<|return|>\"}\n")};
    struct engine_event ev[16];
    err = (struct err){0};
    struct engine *e = engine_scripted.open(&cfg, &err);
    CHECK_STR(err.text, "");
    const struct msg msg = tpl_say(ROLE_USER, "x");
    const struct request_grammar g = asked(ANSWER);
    const struct request r = {.msgs = &msg, .n_msgs = 1, .max_tokens = 64, .grammar = &g, .sampling = SAMPLING_GREEDY};
    int id, steps = 0;
    CHECK_EQ(engine_scripted.submit(e, &r, &id, &err), 0);
    for (; engine_scripted.step(e, ev, 16, &err) > 0; steps++)
        if (sched_check(e->sched, &err)) check_fail(__FILE__, __LINE__, "step %d: %s", steps, err.text);
    CHECK(steps > 10);
    CHECK_STR(engine_scripted.answer(e, id)->text, "{\"ok\":true}");
    engine_scripted.close(e);
}

CHECK_MAIN
