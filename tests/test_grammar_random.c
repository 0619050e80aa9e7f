/* Random schemas and texts: what a grammar accepts is JSON and fits the schema, what fits is accepted however it is
 * cut, and its masks are what trying every token says.  The judge here is jansson and a plain walk over the schema. */
#include "tests/grammar_rig.h"
#include <jansson.h>

static uint32_t seed = 7;
static int below(int n) { return tiny_below(&seed, n); }
static bool one_in(int n) { return below(n) == 0; }

static const char *const names[] = {"a", "b", "name", "x y", "q\\\"", "\xc3\xa9", "arguments"};
static const char *const texts[] = {"", "abc", "a b", "\\\"", "\\\\", "\\/", "\\n\\t\\b\\f\\r", "\\u0001", "\\u00e9",
    "\\uD83d\\udE00", "\\u0d00", "\\ud7ff", "\\uE000", "\\u1000", "\\u0100", "\\u0010",
    "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf",
    "\xf4\x8f\xbf\xbf", "\xe0\xa0\x80", "\xf0\x90\x80\x80",
    "\x7f", "{", "</end>"};
static const char *const integers[] = {"0", "-0", "7", "-12", "345", "999999999999999999", "-100000000000000000"};
static const char *const reals[] = {"0.5", "-0.25", "1e9", "1E-7", "2e+05", "10.010", "999999999999999.5e99", "0e0"};

static const char *pick(const char *const *list, size_t n) { return list[below((int)n)]; }
#define PICK(list) pick(list, COUNT_OF(list))

static void random_schema(struct buf *out, int depth);

static void random_object(struct buf *out, int depth)
{
    unsigned used = 0;
    struct buf required = {0};
    buf_puts(out, "{\"type\":\"object\",\"properties\":{");
    for (int n = below(5); n > 0; n--) {
        int name = below(COUNT_OF(names));
        if (used & 1u << name) continue;
        if (used) buf_puts(out, ",");
        used |= 1u << name;
        buf_printf(out, "\"%s\":", names[name]);
        random_schema(out, depth - 1);
        if (one_in(2)) buf_printf(&required, "%s\"%s\"", required.len ? "," : "", names[name]);
    }
    buf_printf(out, "},\"required\":[%s]%s}", required.len ? required.data : "",
               one_in(2) ? ",\"additionalProperties\":false" : "");
    buf_free(&required);
}

static void random_schema(struct buf *out, int depth)
{
    static const char *const plain[] = {
        "{\"type\":\"string\"}", "{\"type\":\"integer\"}", "{\"type\":\"number\",\"description\":\"pattern\"}",
        "{\"type\":\"boolean\"}", "{\"type\":\"null\"}", "{\"enum\":[\"abc\",\"ab\",1,true,null,{\"a\":[1.5]}]}",
        "{\"const\":\"\xc3\xa9\\n\"}", "{\"type\":\"string\",\"enum\":[\"one\",\"on\",\"\"]}", "{\"const\":0.1}",
    };
    int least = below(3);
    switch (depth > 0 ? below(6) : 0) {
    case 1:
    case 2: random_object(out, depth); break;
    case 3:
        buf_puts(out, "{\"type\":\"array\",\"items\":");
        random_schema(out, depth - 1);
        if (one_in(2)) buf_printf(out, ",\"minItems\":%d", least);
        if (one_in(2)) buf_printf(out, ",\"maxItems\":%d", least + below(3));
        buf_puts(out, "}");
        break;
    case 4:
        buf_puts(out, "{\"anyOf\":[");
        random_schema(out, depth - 1);
        buf_puts(out, ",");
        random_schema(out, depth - 1);
        buf_puts(out, "]}");
        break;
    default: buf_puts(out, PICK(plain)); break;
    }
}

/* ---- the plain judge */

static bool has(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), name) == 0) return true;
    return false;
}

static bool fits(const json_t *s, json_t *v);

static bool object_fits(const json_t *s, json_t *v)
{
    json_t *properties = json_object_get(s, "properties"), *given;
    const char *name;
    if (!json_is_object(v)) return false;
    size_t met = 0;
    void *next = json_object_iter(v); /* in the schema's order */
    json_t *schema;
    json_object_foreach(properties, name, schema) {
        given = json_object_get(v, name);
        if (!given && has(json_object_get(s, "required"), name)) return false;
        if (!given) continue;
        if (!next || strcmp(json_object_iter_key(next), name) != 0 || !fits(schema, given)) return false;
        next = json_object_iter_next(v, next);
        met++;
    }
    return met == json_object_size(v);
}

static bool array_fits(const json_t *s, const json_t *v)
{
    const json_t *most = json_object_get(s, "maxItems");
    json_int_t n = (json_int_t)json_array_size(v);
    if (!json_is_array(v) || n < json_integer_value(json_object_get(s, "minItems"))) return false;
    if (most && n > json_integer_value(most)) return false;
    for (json_int_t i = 0; i < n; i++)
        if (!fits(json_object_get(s, "items"), json_array_get(v, (size_t)i))) return false;
    return true;
}

static bool fits(const json_t *s, json_t *v)
{
    const json_t *any = json_object_get(s, "anyOf"), *list = json_object_get(s, "enum");
    const char *type = json_string_value(json_object_get(s, "type"));
    for (size_t i = 0; i < json_array_size(any); i++)
        if (fits(json_array_get(any, i), v)) return true;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), v)) return true;
    if (any || list) return false;
    if (!type) return json_equal(json_object_get(s, "const"), v);
    if (strcmp(type, "object") == 0) return object_fits(s, v);
    if (strcmp(type, "array") == 0) return array_fits(s, v);
    if (strcmp(type, "string") == 0) return json_is_string(v);
    if (strcmp(type, "integer") == 0) return json_is_integer(v);
    if (strcmp(type, "number") == 0) return json_is_number(v);
    return strcmp(type, "boolean") == 0 ? json_is_boolean(v) : json_is_null(v);
}

/* ---- texts that fit */

static void colon(struct buf *out, const char *mark, bool blanks)
{
    buf_puts(out, mark);
    if (blanks && one_in(2)) buf_puts(out, " ");
}

static void random_text(const json_t *s, struct buf *out, bool blanks);

static void random_object_text(const json_t *s, struct buf *out, bool blanks)
{
    const char *name;
    json_t *schema;
    bool some = false;
    buf_puts(out, "{");
    json_object_foreach(json_object_get(s, "properties"), name, schema) {
        if (!has(json_object_get(s, "required"), name) && one_in(2)) continue;
        if (some) colon(out, ",", blanks);
        some = true;
        buf_puts(out, strcmp(name, "q\"") == 0 ? "\"q\\\"" : "\"");
        colon(out, strcmp(name, "q\"") == 0 ? "\":" : (buf_puts(out, name), "\":"), blanks);
        random_text(schema, out, blanks);
    }
    buf_puts(out, "}");
}

static void random_array_text(const json_t *s, struct buf *out, bool blanks)
{
    const json_t *max = json_object_get(s, "maxItems");
    int least = (int)json_integer_value(json_object_get(s, "minItems"));
    int most = max ? (int)json_integer_value(max) : least + 4;
    buf_puts(out, "[");
    for (int i = 0, n = least + below(most - least + 1); i < n; i++) {
        if (i) colon(out, ",", blanks);
        random_text(json_object_get(s, "items"), out, blanks);
    }
    buf_puts(out, "]");
}

static void random_text(const json_t *s, struct buf *out, bool blanks)
{
    const json_t *any = json_object_get(s, "anyOf"), *list = json_object_get(s, "enum");
    const char *type = json_string_value(json_object_get(s, "type"));
    if (any) {
        random_text(json_array_get(any, (size_t)below((int)json_array_size(any))), out, blanks);
    } else if (list || !type) {
        const json_t *v = list ? json_array_get(list, (size_t)below((int)json_array_size(list)))
                               : json_object_get(s, "const");
        char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        buf_puts(out, text);
        free(text);
    } else if (strcmp(type, "object") == 0) {
        random_object_text(s, out, blanks);
    } else if (strcmp(type, "array") == 0) {
        random_array_text(s, out, blanks);
    } else if (strcmp(type, "string") == 0) {
        buf_puts(out, "\"");
        for (int n = below(4); n > 0; n--) buf_puts(out, PICK(texts));
        buf_puts(out, "\"");
    } else if (strcmp(type, "null") == 0) {
        buf_puts(out, "null");
    } else if (strcmp(type, "boolean") == 0) {
        buf_puts(out, one_in(2) ? "true" : "false");
    } else if (strcmp(type, "number") == 0) {
        buf_puts(out, one_in(2) ? PICK(reals) : pick(integers, 5)); /* without the longest */
    } else {
        buf_puts(out, PICK(integers));
    }
}

/* ---- what is checked of each schema */

static const int32_t after[] = {RIG_WORDS - 1, 3};

static void check_mask(struct rig *r, const struct grammar_state *s, uint32_t mask[RIG_MASK])
{
    memset(mask, 0xa5, RIG_MASK * sizeof *mask);
    grammar_mask(r->g, s, mask);
    for (int32_t id = 0; id < RIG_MASK * 32; id++) {
        struct grammar_state t = *s;
        bool allowed = id < RIG_WORDS && grammar_accept(r->g, &t, id);
        if (allowed != (mask[id / 32] >> id % 32 & 1)) check_fail(__FILE__, __LINE__, "token %d", id);
    }
}

/* A token that is allowed, of those that lead to an end more often than by chance. */
static int32_t draw(const uint32_t mask[RIG_MASK])
{
    static const char ends[] = "\"}],:0e";
    for (int i = 0; i < 4; i++) {
        int32_t id = (unsigned char)ends[below(sizeof ends - 1)];
        if (mask[id / 32] >> id % 32 & 1) return id;
    }
    for (int32_t at = below(RIG_WORDS), i = 0; i < RIG_WORDS; i++, at = (at + 1) % RIG_WORDS)
        if (mask[at / 32] >> at % 32 & 1) return at;
    return -1;
}

static void check_drawn(struct rig *r, const json_t *schema, const char *close, int *ended)
{
    struct grammar_state s = grammar_begin(r->g);
    struct buf text = {0};
    uint32_t mask[RIG_MASK];
    const char *piece;
    for (int n = 0; n < 400 && !grammar_is_ended(r->g, &s); n++) {
        check_mask(r, &s, mask);
        bool complete = grammar_is_complete(r->g, &s);
        int32_t id = complete && one_in(2) ? after[below(2)] : draw(mask);
        CHECK(id >= 0); /* with all bytes in the vocabulary there is no way into a place without a way out */
        CHECK(grammar_accept(r->g, &s, id));
        if (grammar_is_ended(r->g, &s)) {
            CHECK(complete && (id == after[0] || id == after[1]));
            break;
        }
        const size_t bytes = rig_piece(&r->words, id, &piece);
        buf_put(&text, piece, bytes);
    }
    if (grammar_is_ended(r->g, &s)) {
        CHECK(text.len >= strlen(close));
        size_t n = text.len - strlen(close);
        json_t *v = json_loadb(text.data, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        if (!v || !fits(schema, v)) check_fail(__FILE__, __LINE__, "accepted: %.*s", (int)n, text.data);
        CHECK_STR(text.data + n, close);
        json_decref(v);
        check_mask(r, &s, mask);
        for (int i = 0; i < RIG_MASK; i++) CHECK_EQ(mask[i], 0);
        ++*ended;
    }
    buf_free(&text);
}

/* The text, cut into any tokens that make it up, is accepted. */
static void check_cut(struct rig *r, const struct buf *text)
{
    struct grammar_state s = grammar_begin(r->g);
    uint32_t mask[RIG_MASK];
    for (size_t at = 0; at < text->len;) {
        int32_t id = (unsigned char)text->data[at];
        const char *piece;
        for (int tries = 0; tries < 200; tries++) {
            int32_t other = below(RIG_WORDS - RIG_SPECIAL);
            size_t n = rig_piece(&r->words, other, &piece);
            if (n > 1 && n <= text->len - at && memcmp(piece, text->data + at, n) == 0) id = other;
        }
        grammar_mask(r->g, &s, mask);
        if (!(mask[id / 32] >> id % 32 & 1) || !grammar_accept(r->g, &s, id))
            check_fail(__FILE__, __LINE__, "refused at byte %zu: %s", at, text->data);
        at += rig_piece(&r->words, id, &piece);
    }
    CHECK(grammar_is_complete(r->g, &s));
    CHECK(!grammar_is_ended(r->g, &s));
}

/* A text with an error or two: if it is accepted nevertheless, it is another one that fits. */
static void check_bent(struct rig *r, const json_t *schema, struct buf *text, size_t n_close)
{
    static const char bytes[] = "\"\\{}[]:, 019-.eutfna\x80\xc3\xed\xf4\x1f";
    for (int i = below(2); i >= 0; i--) text->data[below((int)text->len)] = bytes[below(sizeof bytes - 1)];
    if (!rig_takes(r, text->data, text->len)) return;
    json_t *v = json_loadb(text->data, text->len - n_close, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    if (!v || !fits(schema, v)) check_fail(__FILE__, __LINE__, "accepted: %s", text->data);
    json_decref(v);
}

TEST(grammar_of_random_schemas)
{
    static struct rig r;
    int ended = 0;
    rig_open(&r, 11);
    for (int round = 0; round < 150; round++) {
        struct buf schema = {0};
        random_schema(&schema, 3);
        bool blanks = one_in(2);
        const char *close = one_in(2) ? "</end>" : "";
        r.limits.masks = below(3) * 5;
        struct grammar_source source = {.schema = schema.data, .n_schema = schema.len, .close = close,
                                        .n_close = strlen(close), .after = after, .n_after = 2, .blanks = blanks};
        if (!rig_compile(&r, &source)) check_fail(__FILE__, __LINE__, "%s: %s", r.err.text, schema.data);
        json_t *s = json_loads(schema.data, 0, NULL);
        for (int i = 0; i < 2; i++) check_drawn(&r, s, close, &ended);
        for (int i = 0; i < 25; i++) {
            struct buf text = {0};
            random_text(s, &text, blanks);
            buf_puts(&text, close);
            check_cut(&r, &text);
            for (int k = 0; k < 10; k++) check_bent(&r, s, &text, strlen(close));
            buf_free(&text);
        }
        json_decref(s);
        buf_free(&schema);
    }
    CHECK(ended > 150); /* of 300 walks */
    rig_close(&r);
}

CHECK_MAIN
