/* Grammars of a whole answer: from its first token to its last it is what the schema says, whatever is drawn. */
#include "tests/strict_rig.h"
#include <jansson.h>

static const char *const tools[] = {"read", "calculator"};

static json_t *value_of(const struct answer *a, size_t from, size_t less)
{
    size_t n = atomic_load(&a->text_len);
    CHECK(n >= from + less);
    return json_loadb(a->text + from, n - from - less, JSON_DECODE_ANY, NULL);
}

/* Hot enough that a model says what it never would: every answer that ended is a call and nothing else. */
TEST(strict_whole_answers_are_calls_at_any_heat)
{
    static const float heat[] = {0, 1, 1.5f, 3, 6, 20};
    enum { SEEDS = CHECK_SANITIZED ? 6 : 90 };
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 1024, .max_seqs = 4, .grammars = 1});
    int ended = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
        struct talk t;
        int id;
        talk_begin(&t, tools, 2, seed % 2 ? "Hello!" : "Read notes.txt.");
        t.grammar.free_open = t.grammar.free_close = NULL;
        t.grammar.whole = true;
        t.grammar.blanks = seed % 3 == 0;
        t.r.sampling = (struct sampling){.temp = heat[seed % (int)COUNT_OF(heat)], .top_p = 1, .repeat = 1,
                                         .seed = (uint64_t)seed};
        t.r.stop = (const char *const[]){"tool", "name"}; /* cuts neither the opening nor the call */
        t.r.n_stop = 2;
        const struct answer *a = ask(&engine_local, e, &t.r, &id);
        size_t n = atomic_load(&a->text_len);
        CHECK(n >= strlen(OPEN) && memcmp(a->text, OPEN, strlen(OPEN)) == 0);
        if (atomic_load(&a->end) == END_STOP) {
            struct form_call call;
            if (forms_read_call(a->text, n, &call, &err)) check_fail(__FILE__, __LINE__, "%.*s", (int)n, a->text);
            CHECK_EQ(forms_check_call(&call, &err), 0);
            forms_call_free(&call);
            ended++;
        } else {
            CHECK_EQ(atomic_load(&a->end), END_LENGTH);
        }
        engine_local.drop(e, id);
        talk_end(&t);
    }
    CHECK(ended > SEEDS / 8);
    engine_local.close(e);
}

TEST(strict_whole_answers_may_be_any_value_without_marks)
{
    static const struct { const char *schema; json_type type; } cases[] = {
        {"{\"type\":\"integer\"}", JSON_INTEGER}, {"{\"type\":\"boolean\"}", JSON_TRUE},
        {"{\"enum\":[\"yes\",\"no\"]}", JSON_STRING}, {"{\"type\":\"null\"}", JSON_NULL},
        {"{\"type\":\"array\",\"items\":{\"type\":\"boolean\"},\"minItems\":2,\"maxItems\":3}", JSON_ARRAY},
    };
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 512, .max_seqs = 2, .grammars = 1});
    for (size_t i = 0; i < 4 * COUNT_OF(cases); i++) {
        struct talk t;
        int id;
        size_t k = i / 4;
        talk_begin(&t, tools, 1, "How many ships?");
        t.grammar = (struct request_grammar){.schema = cases[k].schema, .n_schema = strlen(cases[k].schema),
                                             .whole = true};
        t.r.sampling = (struct sampling){.temp = 2, .top_p = 1, .repeat = 1, .seed = i};
        const struct answer *a = ask(&engine_local, e, &t.r, &id);
        CHECK_EQ(atomic_load(&a->end), END_STOP);
        json_t *v = value_of(a, 0, 0);
        bool fits = v && (json_typeof(v) == cases[k].type || (cases[k].type == JSON_TRUE && json_is_false(v)));
        if (!fits) check_fail(__FILE__, __LINE__, "%s: %.*s", cases[k].schema, (int)atomic_load(&a->text_len), a->text);
        json_decref(v);
        engine_local.drop(e, id);
        talk_end(&t);
    }
    engine_local.close(e);
}

TEST(strict_whole_answers_obey_what_the_request_allows_too)
{
    static uint32_t allowed[1 << 12];
    static const char schema[] = "{\"enum\":[\"yes\",\"no\"]}";
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 512, .max_seqs = 1, .grammars = 1});
    const struct vocab *v = engine_local.vocab(e);
    struct talk t;
    int id;
    CHECK((size_t)vocab_size(v) <= 32 * COUNT_OF(allowed));
    for (int32_t i = 0; i < vocab_size(v); i++) { /* nothing with a y in it */
        const char *piece;
        size_t n = vocab_piece(v, i, &piece);
        if (!memchr(piece, 'y', n)) allowed[i / 32] |= 1u << (i % 32);
    }
    talk_begin(&t, tools, 1, "Say yes!");
    t.grammar = (struct request_grammar){.schema = schema, .n_schema = sizeof schema - 1, .whole = true};
    t.r.allowed = allowed;
    const struct answer *a = ask(&engine_local, e, &t.r, &id);
    CHECK_EQ(atomic_load(&a->text_len), 4);
    CHECK_MEM(a->text, "\"no\"", 4);
    engine_local.drop(e, id);
    t.grammar.open = "<yes>"; /* which cannot be written without one */
    a = ask(&engine_local, e, &t.r, &id);
    CHECK_EQ(atomic_load(&a->end), END_NO_TOKEN);
    engine_local.drop(e, id);
    talk_end(&t);
    engine_local.close(e);
}

TEST(strict_whole_answers_leave_no_free_text_and_are_not_taken_for_others)
{
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 512, .max_seqs = 1, .grammars = 2});
    struct talk t;
    int id;
    talk_begin(&t, tools, 2, "Hello!");
    t.grammar.whole = true;
    err = (struct err){0};
    CHECK_EQ(engine_local.submit(e, &t.r, &id, &err), ENGINE_BAD_REQUEST);
    CHECK_STR(err.text, "a grammar of the whole answer leaves no free text");
    t.grammar.free_open = t.grammar.free_close = NULL;
    for (int i = 0; i < 4; i++) { /* the same marks and schema: as a whole, and not */
        t.grammar.whole = i % 2 == 0;
        const struct answer *a = ask(&engine_local, e, &t.r, &id);
        CHECK_EQ(find(a->text, atomic_load(&a->text_len), OPEN) == a->text, t.grammar.whole);
        engine_local.drop(e, id);
    }
    talk_end(&t);
    engine_local.close(e);
}

/* The same text, once as a list of texts and once as a schema, which it is not. */
TEST(strict_whole_answers_may_be_plain_texts_and_are_not_taken_for_others)
{
    static const char texts[] = "[\"aye\",\"nay\"]";
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 512, .max_seqs = 1, .grammars = 2});
    struct talk t;
    int id;
    talk_begin(&t, tools, 2, "Hello!");
    t.grammar = (struct request_grammar){.schema = texts, .n_schema = sizeof texts - 1, .whole = true, .plain = true};
    const struct answer *a = ask(&engine_local, e, &t.r, &id);
    CHECK(atomic_load(&a->text_len) == 3 && (memcmp(a->text, "aye", 3) == 0 || memcmp(a->text, "nay", 3) == 0));
    engine_local.drop(e, id);
    t.grammar.plain = false;
    CHECK_EQ(engine_local.submit(e, &t.r, &id, &err), ENGINE_BAD_REQUEST);
    t.grammar = (struct request_grammar){.schema = texts, .n_schema = sizeof texts - 1, .plain = true, .open = OPEN,
                                         .close = CLOSE};
    CHECK_EQ(engine_local.submit(e, &t.r, &id, &err), ENGINE_BAD_REQUEST);
    CHECK_STR(err.text, "a grammar of texts is of the whole answer, without marks");
    talk_end(&t);
    engine_local.close(e);
}

CHECK_MAIN
