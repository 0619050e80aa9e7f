/* fuzz_grammar.c - a schema from anywhere, and a text that a model may have written under it.
 *
 * covers: engine/grammar.c engine/grammar_schema.c engine/grammar_dfa.c engine/grammar_index.c engine/grammar_harmony.c
 * covers: engine/grammar_regex.c engine/grammar_string.c engine/grammar_meet.c engine/grammar_number.c
 *
 * An input: the schema, a NUL, the text; '~' as the first byte of the text allows blanks, 8 makes the schema a pattern
 * or a list of texts, and 1, 2, 3 or 5 asks for these parts of an answer in messages, whose marks are bytes from 0xf8
 * on.  What must hold: a refusal has a message of one line; the text is accepted byte by byte as the masks say; what is
 * whole then parses, or ends as a message does; a state that is reached always has a token that may follow, or has
 * ended. */
#include "engine/grammar.h"
#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TOKENS = 256 + 6, AFTER = 0 }; /* AFTER: NUL, which no JSON has */

static void must(bool holds)
{
    if (!holds) abort();
}

static size_t piece(const void *self, int32_t id, const char **bytes)
{
    static const char *const more[TOKENS - 256] = {"{\"", "\":\"", "\",\"", "\"}", "\"\xc3", "\\u00"};
    const char *single = self;
    *bytes = id < 256 ? single + id : more[id - 256];
    return id < 256 ? 1 : strlen(*bytes);
}

static void must_be_one_line(const struct err *err)
{
    must(err->text[0] != '\0');
    for (const char *c = err->text; *c; c++) must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static void check_mask(struct grammar *g, const struct grammar_state *s)
{
    uint32_t mask[(TOKENS + 31) / 32];
    bool any = grammar_is_ended(g, s);
    grammar_mask(g, s, mask);
    for (int32_t id = 0; id < TOKENS; id++) {
        struct grammar_state t = *s;
        bool allowed = mask[id / 32] >> id % 32 & 1;
        must(allowed == grammar_accept(g, &t, id));
        any = any || allowed;
    }
    must(any);
}

static void follow(struct grammar *g, const char *text, size_t n, unsigned messages, bool plain)
{
    static const char front[] = "\xf8" "assistant";
    struct grammar_state s = grammar_begin(g);
    size_t at = 0;
    if (messages) must(grammar_follow(g, &s, front, sizeof front - 1));
    check_mask(g, &s);
    while (at < n && grammar_accept(g, &s, (unsigned char)text[at])) {
        at++;
        if (at < 64) check_mask(g, &s);
    }
    if (at < n || !grammar_is_complete(g, &s)) return;
    if (plain) return;
    if (messages) {
        must(n > 0 && (unsigned char)text[n - 1] >= 0xfd); /* <|return|>, <|call|> */
        return;
    }
    json_t *v = json_loadb(text, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    must(v != NULL);
    json_decref(v);
    must(grammar_accept(g, &s, AFTER) && grammar_is_ended(g, &s));
    check_mask(g, &s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char single[256];
    for (int i = 0; i < 256; i++) single[i] = (char)i;
    struct grammar_words w = {single, TOKENS, piece};
    struct grammar_limits limits = {.states = 600, .nodes = 3000, .depth = 8, .masks = (int)(size % 3)};
    struct err err = {0};
    int32_t after = AFTER;
    char *input = malloc(size + 1); /* its own block: reading past the end is seen */
    must(input != NULL);
    if (size) memcpy(input, data, size);
    input[size] = '\0';
    size_t n = strnlen(input, size), text = MIN(n + 1, size);
    bool blanks = input[text] == '~';
    unsigned char parts = (unsigned char)input[text];
    const bool plain = parts == 8;
    if (parts != 1 && parts != 2 && parts != 3 && parts != 5) parts = 0;
    text += (blanks || parts || plain) && text < size;
    size_t index_bytes = grammar_index_bytes(&w);
    void *index_mem = malloc(index_bytes), *mem = NULL;
    struct grammar_index *x = grammar_index_open(&w, index_mem, index_bytes, &err);
    must(x != NULL && (mem = malloc(grammar_bytes(x, &limits))) != NULL);
    struct grammar_source source = {.schema = input, .n_schema = n, .close = "", .after = &after, .n_after = 1,
                                    .blanks = blanks, .plain = plain, .harmony = parts};
    struct grammar *g = grammar_compile(x, &limits, &source, mem, grammar_bytes(x, &limits), &err);
    if (g) follow(g, input + text, size - text, parts, plain);
    else must_be_one_line(&err);
    free(mem);
    free(index_mem);
    free(input);
    return 0;
}
