/* Grammars by example: what is accepted, what is refused and with which words, limits and memory. */
#include "tests/grammar_rig.h"

#define OBJECT(properties) "{\"type\":\"object\",\"properties\":{" properties "}}"

#define MAP "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}"

static struct rig rig;

static void must_compile(const char *schema)
{
    if (!rig_schema(&rig, schema)) check_fail(__FILE__, __LINE__, "%s: %s", rig.err.text, schema);
}

static const char tools[] =
    "{\"oneOf\":["
    "{\"type\":\"object\",\"required\":[\"name\",\"arguments\"],\"properties\":{\"name\":{\"const\":\"read\"},"
    "\"arguments\":{\"type\":\"object\",\"required\":[\"path\"],\"properties\":{\"path\":{\"type\":\"string\"},"
    "\"from\":{\"type\":\"integer\"}}}}},"
    "{\"type\":\"object\",\"required\":[\"name\",\"arguments\"],\"properties\":{\"name\":{\"const\":\"recall\"},"
    "\"arguments\":{\"type\":\"object\",\"required\":[\"query\"],\"properties\":{\"query\":{\"type\":\"string\"}}}}}]}";

TEST(grammar_of_tool_calls)
{
    rig_open(&rig, 1);
    must_compile(tools);
    CHECK(rig_says(&rig, "{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}"));
    CHECK(rig_says(&rig, "{\"name\":\"read\",\"arguments\":{\"path\":\"a\",\"from\":12}}"));
    CHECK(rig_says(&rig, "{\"name\":\"recall\",\"arguments\":{\"query\":\"\\u00e9\"}}"));
    CHECK(!rig_says(&rig, "{\"name\":\"read\",\"arguments\":{\"query\":\"a\"}}"));
    CHECK(!rig_says(&rig, "{\"name\":\"write\",\"arguments\":{\"path\":\"a\"}}"));
    CHECK(!rig_says(&rig, "{\"name\":\"read\",\"arguments\":{\"from\":1,\"path\":\"a\"}}"));
    CHECK(!rig_says(&rig, "{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}"));
    CHECK(!rig_says(&rig, "{\"name\": \"read\",\"arguments\":{\"path\":\"a\"}}"));
    rig_close(&rig);
}

TEST(grammar_of_values)
{
#define TUPLE(more) "{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":2}]" more "}"
    static const struct { const char *schema, *yes, *no; } cases[] = {
        {"{\"type\":\"integer\"}", "-10", "01"},
        {"{\"type\":\"integer\"}", "123456789012345678", "1234567890123456789"},
        {"{\"type\":\"integer\"}", "0", "1.0"},
        {"{\"type\":\"number\"}", "-0.5e-10", "1e100"},
        {"{\"type\":\"number\"}", "3", "3."},
        {"{\"type\":\"boolean\"}", "false", "fals"},
        {"{\"type\":\"null\"}", "null", "nul"},
        {"{\"type\":\"string\"}", "\"\\ud800\\udc00\"", "\"\\ud800\""},
        {"{\"type\":\"string\"}", "\"\\udbff\\udfff\"", "\"\\udc00\""},
        {"{\"type\":\"string\"}", "\"\\u0001\"", "\"\\u0000\""},
        {"{\"type\":\"string\"}", "\"\xed\x9f\xbf\"", "\"\xed\xa0\x80\""},
        {"{\"type\":\"string\"}", "\"\xf4\x8f\xbf\xbf\"", "\"\xf4\x90\x80\x80\""},
        {"{\"type\":\"string\"}", "\"\xc2\x80\"", "\"\xc1\x80\""},
        {"{\"type\":\"string\"}", "\"\xe0\xa0\x80\"", "\"\xe0\x9f\xbf\""},
        {"{\"type\":\"string\"}", "\"\xf0\x90\x80\x80\"", "\"\xf0\x8f\xbf\xbf\""},
        {"{\"type\":\"string\"}", "\" \"", "\"\n\""},
        {"{\"const\":0.1}", "0.1", "0.10"},
        {"{\"const\":0.12345678901234566}", "0.12345678901234566", "0.123456789012346"},
        {"{\"enum\":[1,\"a\",null]}", "\"a\"", "a"},
        {"{\"type\":\"array\",\"maxItems\":0}", "[]", "[1]"},
        {"{\"type\":\"array\",\"items\":{\"const\":1},\"minItems\":2}", "[1,1,1,1,1]", "[1]"},
        {"{\"type\":\"array\",\"items\":{\"const\":1},\"minItems\":1,\"maxItems\":2}", "[1,1]", "[1,1,1]"},
        {"{\"type\":\"array\",\"items\":{\"const\":1},\"maxItems\":2}", "[]", "[1,]"},
        {TUPLE(""), "[1,2]", "[2,1]"},
        {TUPLE(""), "[1]", "[1,2,2]"},
        {TUPLE(",\"items\":false"), "[]", "[1,2,2]"},
        {TUPLE(",\"minItems\":2,\"maxItems\":2"), "[1,2]", "[1]"},
        {TUPLE(",\"maxItems\":1"), "[1]", "[1,2]"},
        {TUPLE(",\"items\":{\"const\":3}"), "[1,2,3,3,3]", "[1,3]"},
        {TUPLE(",\"items\":{\"const\":3},\"minItems\":3,\"maxItems\":4"), "[1,2,3,3]", "[1,2,3,3,3]"},
        {TUPLE(",\"items\":{\"const\":3},\"minItems\":3"), "[1,2,3,3,3]", "[1,2]"},
        {OBJECT("\"a\":{\"const\":1},\"b\":{\"const\":2}"), "{\"b\":2}", "{,\"b\":2}"},
        {OBJECT("\"a\":{\"const\":1},\"b\":{\"const\":2}"), "{\"a\":1,\"b\":2}", "{\"a\":1\"b\":2}"},
        {OBJECT("\"a\":{\"const\":1}"), "{}", "{\"a\":1,\"a\":1}"},
        {MAP, "{}", "{,}"},
        {MAP, "{\"\\u00e9\":1}", "{\"a\":\"1\"}"},
        {MAP, "{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":1,}"},
        {MAP, "{\"\":-3}", "{\"a\":1\"b\":2}"},
        {OBJECT("\"m\":" MAP ",\"n\":{\"const\":1}"), "{\"m\":{\"x\":1},\"n\":1}", "{\"m\":{\"n\":{}}}"},
        {"{\"oneOf\":[{\"const\":1},{\"const\":12}]}", "12", "2"},
        {"{\"oneOf\":[{\"type\":\"array\",\"items\":{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"null\"}]}},"
         "{\"type\":\"string\"}]}", "[1,null,2]", "[\"\"]"},
    };
    rig_open(&rig, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        must_compile(cases[i].schema);
        if (!rig_says(&rig, cases[i].yes)) check_fail(__FILE__, __LINE__, "%s", cases[i].yes);
        if (rig_says(&rig, cases[i].no)) check_fail(__FILE__, __LINE__, "%s", cases[i].no);
    }
    rig_close(&rig);
}

/* In the word, the text may still be the string of the other alternative, and each is followed by something else. */
TEST(grammar_masks_of_a_word_or_any_string)
{
    static const char *const schemas[] = {
        "{\"anyOf\":[" OBJECT("\"a\":{\"type\":\"string\"}") ","
                    OBJECT("\"a\":{\"const\":\"abcd\"},\"b\":{\"const\":1}") "]}",
        "{\"anyOf\":[" OBJECT("\"a\":{\"const\":\"abcd\"},\"b\":{\"const\":1}") ","
                    OBJECT("\"a\":{\"type\":\"string\"},\"c\":{\"const\":1}") ","
                    OBJECT("\"a\":{\"type\":\"string\"},\"d\":{\"const\":1}") "]}",
    };
    static const char text[] = "{\"a\":\"abcd\",\"b\":1}";
    uint32_t mask[RIG_MASK];
    rig_open(&rig, 1);
    strcpy(rig.words.text[300], "d\",\"b"); /* leave the string for each of the alternatives */
    strcpy(rig.words.text[301], "d\",\"c");
    strcpy(rig.words.text[302], "d\",\"d");
    rig.words.len[300] = rig.words.len[301] = rig.words.len[302] = 5;
    free(rig.index_mem);
    rig.index_mem = malloc(grammar_index_bytes(&rig.list));
    rig.x = grammar_index_open(&rig.list, rig.index_mem, grammar_index_bytes(&rig.list), &rig.err);
    for (size_t i = 0; i < COUNT_OF(schemas); i++) {
        must_compile(schemas[i]);
        struct grammar_state s = grammar_begin(rig.g);
        for (size_t at = 0; text[at]; at++) {
            grammar_mask(rig.g, &s, mask);
            for (int32_t id = 0; id < RIG_WORDS; id++) {
                struct grammar_state t = s;
                CHECK_EQ(mask[id / 32] >> id % 32 & 1, grammar_accept(rig.g, &t, id));
            }
            CHECK(grammar_accept(rig.g, &s, (unsigned char)text[at]));
        }
        CHECK(grammar_is_complete(rig.g, &s));
    }
    rig_close(&rig);
}

#define ONCE(more, items) "{\"type\":\"array\",\"uniqueItems\":true" more ",\"items\":{" items "}}"

/* All lists of up to four of four values, of which the schema says two twice. */
TEST(grammar_lists_may_have_each_value_once)
{
    static const char *const values[] = {"\"a\"", "\"ab\"", "3", "null"};
    static const struct { const char *more; int least, most; } cases[] = {
        {"", 0, 4}, {",\"minItems\":2", 2, 4}, {",\"maxItems\":2", 0, 2}, {",\"minItems\":3,\"maxItems\":3", 3, 3},
        {",\"minItems\":4,\"maxItems\":9", 4, 4},
    };
    char schema[200], text[80];
    int took = 0;
    rig_open(&rig, 1);
    rig.limits = GRAMMAR_LIMITS;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        snprintf(schema, sizeof schema, ONCE("%s", "\"enum\":[\"a\",\"ab\",3,null,3.0,\"a\"]"), cases[i].more);
        if (!rig_schema(&rig, schema)) check_fail(__FILE__, __LINE__, "%s: %s", schema, rig.err.text);
        CHECK(!rig_says(&rig, "[3,3.0]") && !rig_says(&rig, "[3,3.0,null]")); /* which are the same */
        for (int k = 0; k < 5 * 5 * 5 * 5; k++) {
            int n = snprintf(text, sizeof text, "["), count = 0;
            unsigned had = 0;
            bool once = true, ended = false;
            for (int rest = k; rest > 0; rest /= 5) {
                const int which = rest % 5 - 1;
                ended |= which < 0; /* one text for each list */
                if (which < 0) continue;
                once = once && !(had >> which & 1);
                had |= 1u << which;
                n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", count++ ? "," : "", values[which]);
            }
            if (ended) continue;
            snprintf(text + n, sizeof text - (size_t)n, "]");
            const bool want = once && count >= cases[i].least && count <= cases[i].most;
            if (rig_says(&rig, text) != want)
                check_fail(__FILE__, __LINE__, "%s: %s is %s", schema, text, want ? "one" : "none");
            took += want;
            text[strlen(text) - 1] = '\0';
            CHECK(!rig_says(&rig, text));
        }
    }
    CHECK(took > 100);
    CHECK(rig_schema(&rig, ONCE("", "\"type\":\"boolean\"")) != NULL);
    CHECK(rig_says(&rig, "[true,false]") && rig_says(&rig, "[false]") && !rig_says(&rig, "[true,true]"));
    CHECK(rig_schema(&rig, ONCE("", "\"enum\":[1,2,3,4,5,6,7,8]")) != NULL);
    CHECK(rig_says(&rig, "[8,7,6,5,4,3,2,1]") && !rig_says(&rig, "[8,7,6,5,4,3,2,8]"));
    CHECK(grammar_states(rig.g) < 600);
    CHECK(rig_schema(&rig, "{\"type\":\"array\",\"uniqueItems\":false,\"items\":{\"type\":\"null\"}}") != NULL);
    CHECK(rig_says(&rig, "[null,null]"));
    rig_close(&rig);
}

TEST(grammar_refuses_by_name_and_place)
{
#define ARRAY(once) "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"uniqueItems\":" once "}"
    static const struct { const char *schema, *says; } cases[] = {
        {OBJECT("\"a\":{\"type\":\"string\",\"pattern\":\"a**\"}"), "at /properties/a: pattern: a repetition is"},
        {"{\"$ref\":\"#\"}", "at /: $ref is not known"},
        {OBJECT("\"a\":{\"$ref\":\"#\"}"), "at /properties/a: $ref is not known"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":-3}}", "at /items: maxLength"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"string\",\"not\":{}}}", "at /items: not is not known"},
        {"{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"integer\",\"minimum\":{}}]}", "at /anyOf/1: minimum"},
        {"{\"type\":\"string\",\"items\":{}}", "items does not go with string"},
        {ARRAY("1"), "at /: uniqueItems must be true or false"},
        {ARRAY("true"), "at /: uniqueItems is not known, but of items that are"},
        {ARRAY("true,\"prefixItems\":[{\"const\":1}]"), "at /: uniqueItems is not known, but of items that are"},
        {ONCE("", "\"enum\":[1,2,3,4,5,6,7,8,9]"), "uniqueItems is not known, but of items that are"},
        {ONCE("", "\"enum\":[[1],[1.0]]"), "uniqueItems is not known, but of items that are"},
        {ONCE(",\"minItems\":3", "\"enum\":[1,2,2]"), "minItems is 3, and there are 2 items that differ"},
        {ONCE("", "\"type\":\"string\",\"enum\":[1,2]"), "is not of type string"},
        {"{\"oneOf\":[{\"type\":\"null\"}],\"type\":\"null\"}", "type does not go with oneOf"},
        {"{\"oneOf\":[{\"type\":\"null\"}],\"anyOf\":[]}", "anyOf does not go with oneOf"},
        {"{\"type\":[\"string\",\"null\"]}", "type must be one name"},
        {"{\"type\":\"text\"}", "type text is not known"},
        {"{\"type\":\"\\u001b[2J\"}", "type ?[2J is not known"},
        {"{}", "a type, const, enum, oneOf or anyOf is needed"},
        {"true", "a schema must be an object"},
        {OBJECT("\"a\":false"), "at /properties/a: a schema must be an object"},
        {"{\"type\":\"object\",\"properties\":[]}", "properties must be an object"},
        {"{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"b\":{\"const\":1}}}", "required has \"a\""},
        {"{\"type\":\"object\",\"required\":[\"a\",\"a\"],\"properties\":{\"a\":{\"const\":1}}}", "more names"},
        {"{\"type\":\"object\",\"required\":[1],\"properties\":{\"a\":{\"const\":1}}}", "a list of names"},
        {"{\"type\":\"object\",\"required\":\"a\"}", "a list of names"},
        {"{\"type\":\"object\",\"additionalProperties\":true}", "additionalProperties can only be false"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"const\":1}},\"additionalProperties\":{\"const\":1}}",
         "only be a schema where there are no properties"},
        {"{\"type\":\"array\"}", "items is needed"},
        {"{\"type\":\"array\",\"items\":{\"const\":1},\"minItems\":-1}", "minItems must be an integer"},
        {"{\"type\":\"array\",\"items\":{\"const\":1},\"maxItems\":1025}", "maxItems must be an integer"},
        {"{\"type\":\"array\",\"items\":{\"const\":1},\"minItems\":3,\"maxItems\":2}", "minItems 3 is more"},
        {"{\"type\":\"array\",\"prefixItems\":[]}", "prefixItems must be a list"},
        {"{\"type\":\"array\",\"prefixItems\":1}", "prefixItems must be a list"},
        {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{}]}", "at /prefixItems/1: a type"},
        {TUPLE(",\"minItems\":3"), "minItems 3 is more than maxItems 2"},
        {"{\"enum\":[]}", "enum must be a list"},
        {"{\"enum\":1}", "enum must be a list"},
        {"{\"enum\":[1],\"const\":1}", "together"},
        {"{\"type\":\"string\",\"enum\":[\"a\",1]}", "value 1 of const or enum is not of type string"},
        {"{\"type\":\"integer\",\"const\":1.5}", "not of type integer"},
        {"{\"oneOf\":[]}", "oneOf must be a list"},
        {"{\"anyOf\":{}}", "anyOf must be a list"},
        {OBJECT("\"a\":{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}"),
         "at /properties/a: two of oneOf accept the same text"},
        {"{\"oneOf\":[{\"const\":\"a\"},{\"type\":\"string\"}]}", "two of oneOf"},
        {"{\"type\":\"string\",\"type\":\"null\"}", "duplicate"},
        {"{\"type\":\"string\"", "line 1, column"},
        {"", "line"},
    };
    rig_open(&rig, 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK(!rig_schema(&rig, cases[i].schema));
        CHECK_EQ(rig.err.code, GRAMMAR_REFUSED);
        if (!strstr(rig.err.text, cases[i].says))
            check_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", rig.err.text, cases[i].says);
    }
    rig_close(&rig);
}

/* head, times times over, and the same of tail around a middle. */
static struct buf nested(const char *head, int times, const char *middle, const char *tail)
{
    struct buf out = {0};
    for (int i = 0; i < times; i++) buf_puts(&out, head);
    buf_puts(&out, middle);
    for (int i = 0; i < times; i++) buf_puts(&out, tail);
    return out;
}

static void check_too_large(const struct buf *schema, const char *says)
{
    struct grammar_source source = {.schema = schema->data, .n_schema = schema->len, .close = ""};
    CHECK(!rig_compile(&rig, &source));
    CHECK_EQ(rig.err.code, GRAMMAR_TOO_LARGE);
    if (!strstr(rig.err.text, says)) check_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", rig.err.text, says);
}

/* Arrays that differ in length alone: a text may be meant as any of them for long. */
static struct buf arrays_alike(int n)
{
    struct buf out = {0};
    buf_puts(&out, "{\"anyOf\":[");
    for (int i = 1; i <= n; i++) {
        buf_printf(&out, "%s{\"type\":\"array\",\"minItems\":%d,", i > 1 ? "," : "", i);
        buf_puts(&out, "\"items\":{\"type\":\"string\"}}");
    }
    buf_puts(&out, "]}");
    return out;
}

TEST(grammar_has_limits)
{
    static const char array[] = "{\"type\":\"array\",\"items\":", leaf[] = "{\"type\":\"null\"}";
    rig_open(&rig, 1);
    rig.limits = GRAMMAR_LIMITS;
    struct buf deep = nested(array, 15, leaf, "}"), deeper = nested(array, 16, leaf, "}");
    must_compile(deep.data);
    check_too_large(&deeper, "more than 16 values deep");
    struct buf wide = nested("{\"type\":\"array\",\"maxItems\":1000,\"items\":", 5, leaf, "}");
    check_too_large(&wide, "nodes");
    struct buf many = nested("{\"type\":\"array\",\"maxItems\":9,\"items\":", 3, "{\"type\":\"number\"}", "}");
    rig.limits.nodes = 1 << 20;
    check_too_large(&many, "states");
    struct buf alike = arrays_alike(400), few_alike = arrays_alike(90);
    check_too_large(&alike, "takes too long");
    rig.limits.nodes = GRAMMAR_LIMITS.nodes;
    check_too_large(&few_alike, "may be meant at once");
    struct buf long_text = nested(" ", GRAMMAR_SCHEMA_MAX, leaf, "");
    check_too_large(&long_text, "bytes");
    struct buf bottomless = nested("[", 5000, "", "]"); /* jansson's own limit */
    CHECK(!rig_schema(&rig, bottomless.data));
    CHECK_EQ(rig.err.code, GRAMMAR_REFUSED);
    buf_free(&deep), buf_free(&deeper), buf_free(&wide), buf_free(&many), buf_free(&alike);
    buf_free(&few_alike), buf_free(&long_text), buf_free(&bottomless);
    rig_close(&rig);
}

TEST(grammar_wants_the_memory_that_it_said)
{
    rig_open(&rig, 1);
    struct grammar_source source = {.schema = tools, .n_schema = strlen(tools), .close = ""};
    size_t n = grammar_bytes(rig.x, &rig.limits), index = grammar_index_bytes(&rig.list);
    char *mem = malloc(MAX(n, index) + 1);
    CHECK(!grammar_index_open(&rig.list, mem, index - 16, &rig.err));
    CHECK_EQ(rig.err.code, GRAMMAR_NO_MEMORY);
    CHECK(!grammar_compile(rig.x, &rig.limits, &source, mem, n - 16, &rig.err));
    CHECK_EQ(rig.err.code, GRAMMAR_NO_MEMORY);
    CHECK(grammar_compile(rig.x, &rig.limits, &source, mem + 1, n, &rig.err) != NULL);
    source.n_after = GRAMMAR_AFTER + 1;
    CHECK(!grammar_compile(rig.x, &rig.limits, &source, mem, n, &rig.err));
    CHECK_EQ(rig.err.code, GRAMMAR_TOO_LARGE);
    struct grammar_limits wrong = rig.limits;
    wrong.states = 1 << 16;
    CHECK(grammar_bytes(rig.x, &wrong) == SIZE_MAX);
    wrong = rig.limits, wrong.depth = GRAMMAR_DEPTH + 1;
    CHECK(grammar_bytes(rig.x, &wrong) == SIZE_MAX);
    wrong = rig.limits, wrong.masks = -1;
    CHECK(grammar_bytes(rig.x, &wrong) == SIZE_MAX);
    free(mem);
    rig_close(&rig);
}

/* tiny_vocab(), but its mark 260 is user-defined and <|im_end|> a normal token by the file's word. */
static struct vocab *vocab_with_marks(void)
{
    static char bytes[256][8];
    const char *token[TINY_VOCAB] = {"<unk>", "<s>", "</s>"};
    int32_t type[TINY_VOCAB] = {2, 3, 3};
    float score[TINY_VOCAB] = {0};
    for (int i = 0; i < 256; i++) {
        snprintf(bytes[i], sizeof bytes[i], "<0x%02X>", (unsigned)i);
        token[TINY_BYTE0 + i] = bytes[i];
        type[TINY_BYTE0 + i] = 6;
    }
    token[TINY_SPACE] = "\xe2\x96\x81", type[TINY_SPACE] = 1;
    token[TINY_SPACE + 1] = "<tool>", type[TINY_SPACE + 1] = 4;
    token[TINY_IM_END] = "<|im_end|>", type[TINY_IM_END] = 1;
    struct gguf_make m;
    struct err err = {0};
    gguf_make_begin(&m);
    gguf_make_str(&m, "tokenizer.ggml.model", "llama");
    gguf_make_strs(&m, "tokenizer.ggml.tokens", token, TINY_VOCAB);
    gguf_make_f32s(&m, "tokenizer.ggml.scores", score, TINY_VOCAB);
    gguf_make_i32s(&m, "tokenizer.ggml.token_type", type, TINY_VOCAB);
    gguf_make_u32(&m, "tokenizer.ggml.bos_token_id", 1);
    gguf_make_u32(&m, "tokenizer.ggml.eos_token_id", 2);
    struct gguf *file = gguf_open(gguf_make_file(&m, "vocab.gguf"), &err);
    struct vocab *v = file ? vocab_open(file, &err) : NULL;
    if (!v) check_fail(__FILE__, __LINE__, "%s", err.text);
    gguf_close(file);
    return v;
}

/* Of a real vocabulary: control tokens, the unknown one and those that end a turn are never allowed inside. */
TEST(grammar_allows_no_special_token_inside)
{
    struct err err = {0};
    struct vocab *v = vocab_with_marks();
    struct grammar_words w = grammar_words(v);
    size_t n = grammar_index_bytes(&w);
    void *index_mem = malloc(n);
    struct grammar_index *x = grammar_index_open(&w, index_mem, n, &err);
    CHECK(x != NULL);
    int32_t end = TINY_IM_END;
    struct grammar_source source = {.schema = "{\"type\":\"string\"}", .n_schema = 17, .close = "", .after = &end,
                                    .n_after = 1};
    struct grammar_limits limits = GRAMMAR_LIMITS;
    void *mem = malloc(n = grammar_bytes(x, &limits));
    struct grammar *g = grammar_compile(x, &limits, &source, mem, n, &err);
    CHECK(g != NULL);
    struct grammar_state s = grammar_begin(g);
    uint32_t mask[(TINY_VOCAB + 31) / 32];
    CHECK(grammar_accept(g, &s, TINY_BYTE0 + '"'));
    CHECK(grammar_accept(g, &s, TINY_SPACE));
    grammar_mask(g, &s, mask);
    static const int32_t special[] = {0, 1, 2, 260, TINY_IM_END};
    for (size_t i = 0; i < COUNT_OF(special); i++) {
        CHECK(!(mask[special[i] / 32] >> special[i] % 32 & 1));
        CHECK(!grammar_accept(g, &s, special[i]));
    }
    CHECK(!grammar_accept(g, &s, -1) && !grammar_accept(g, &s, TINY_VOCAB));
    CHECK(grammar_accept(g, &s, TINY_BYTE0 + '"') && grammar_is_complete(g, &s));
    grammar_mask(g, &s, mask);
    for (int32_t id = 0; id < TINY_VOCAB; id++) CHECK_EQ(mask[id / 32] >> id % 32 & 1, id == end);
    CHECK(grammar_accept(g, &s, end) && grammar_is_ended(g, &s) && !grammar_accept(g, &s, end));
    free(mem);
    free(index_mem);
    vocab_close(v);
}

/* Against each piece by itself: of those that have more behind the head, the ones with whose rest no value begins. */
TEST(grammar_bars_what_goes_on_wrongly_behind_a_head)
{
    static const char *const heads[] = {"<", "{", "\"", "e", "a", "\xc3", "}<", "},", "\",\"", "zz"};
    static const char *const schemas[] = {OBJECT("\"a\":{\"type\":\"string\"}"), "{\"type\":\"integer\"}",
                                          "{\"enum\":[\"abc\",\"}\",true]}"};
    int barred = 0, kept = 0;
    rig_open(&rig, 3);
    for (size_t i = 0; i < COUNT_OF(schemas) * COUNT_OF(heads); i++) {
        const char *head = heads[i / COUNT_OF(schemas)];
        size_t n = strlen(head);
        uint32_t mask[RIG_MASK];
        int count = 0;
        must_compile(schemas[i % COUNT_OF(schemas)]);
        memset(mask, 0xff, sizeof mask);
        int said = grammar_bar(rig.g, head, n, mask);
        for (int32_t id = 0; id < RIG_WORDS; id++) {
            const char *bytes;
            size_t len = rig_piece(&rig.words, id, &bytes);
            struct grammar_state s = grammar_begin(rig.g);
            bool more = len > n && memcmp(bytes, head, n) == 0;
            bool bad = more && !grammar_follow(rig.g, &s, bytes + n, len - n);
            if (bad == (mask[id / 32] >> id % 32 & 1)) check_fail(__FILE__, __LINE__, "head %s, token %d", head, id);
            count += bad;
            kept += more && !bad;
        }
        CHECK_EQ(said, count);
        barred += count;
    }
    CHECK(barred > 100 && kept > 10);
    rig_close(&rig);
}

CHECK_MAIN
