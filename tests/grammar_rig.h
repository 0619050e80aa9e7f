/* grammar_rig.h - for the tests of grammar.h: a vocabulary made up, and a grammar with its memory. */
#ifndef GRAMMAR_RIG_H
#define GRAMMAR_RIG_H
#include "engine/grammar.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { RIG_WORDS = 900, RIG_SPECIAL = 5, RIG_MASK = (RIG_WORDS + 31) / 32 };

/* id < 256: that byte; then pieces of JSON, then random ones; the last RIG_SPECIAL are never allowed inside. */
struct rig_words {
    char text[RIG_WORDS][24];
    size_t len[RIG_WORDS];
};

static inline size_t rig_piece(const void *self, int32_t id, const char **bytes)
{
    const struct rig_words *w = self;
    *bytes = w->text[id];
    return id < RIG_WORDS - RIG_SPECIAL ? w->len[id] : 0;
}

static inline void rig_words_fill(struct rig_words *w, uint32_t seed)
{
    static const char *const json[] = {
        "\"", "{\"", "\":", "\":\"", "\",\"", "\"}", "\"}}", "},{", "[", "]", "],", "true", "false", "null", "tru",
        "e,", "0,", "-1", "12", "345", ".5", "1e", "e+", "name", "{\"name\":\"", "arguments", "\\u", "\\u00", "\\\"",
        "\\ud83d\\u", "\\ud8", "00", "de00", "a\":", "\"a\":", "b\",", "\xc3", "\xa9", "\xc3\xa9\"", "\xf0\x9f", "}</",
        "</end>", "}</end>", "\"}</end>", " ", ": ", ", \"", "\"\"", "\"},\"", "\"\",", "],\"", "abc", "\"abc\"",
    };
    static const char letters[] = "\"\"\"\\\\{}[]:,,ab01-.eu \xc3\xa9";
    memset(w, 0, sizeof *w);
    for (int id = 0; id < RIG_WORDS; id++) {
        int from_json = id - 256;
        if (id < 256) w->len[id] = 1, w->text[id][0] = (char)id;
        else if (from_json < (int)COUNT_OF(json)) w->len[id] = strlen(json[from_json]);
        else w->len[id] = 1 + (size_t)tiny_below(&seed, 6);
        for (size_t i = 0; id >= 256 && i < w->len[id]; i++)
            w->text[id][i] = from_json < (int)COUNT_OF(json) ? json[from_json][i]
                                                             : letters[tiny_below(&seed, sizeof letters - 1)];
    }
}

struct rig {
    struct rig_words words;
    struct grammar_words list;
    struct grammar_index *x;
    struct grammar_limits limits;
    struct grammar *g;
    void *index_mem, *mem;
    struct err err;
};

static inline void rig_open(struct rig *r, uint32_t seed)
{
    memset(r, 0, sizeof *r);
    rig_words_fill(&r->words, seed);
    r->list = (struct grammar_words){&r->words, RIG_WORDS, rig_piece};
    size_t n = grammar_index_bytes(&r->list);
    r->index_mem = malloc(n);
    r->x = grammar_index_open(&r->list, r->index_mem, n, &r->err);
    CHECK(r->x != NULL);
    r->limits = GRAMMAR_LIMITS;
    r->limits.states = 20000;
    r->limits.nodes = 1 << 16;
}

/* In memory of exactly the size that was asked for. */
static inline struct grammar *rig_compile(struct rig *r, const struct grammar_source *source)
{
    size_t n = grammar_bytes(r->x, &r->limits);
    free(r->mem);
    r->mem = malloc(n);
    r->err = (struct err){0};
    r->g = grammar_compile(r->x, &r->limits, source, r->mem, n, &r->err);
    return r->g;
}

static inline struct grammar *rig_schema(struct rig *r, const char *schema)
{
    return rig_compile(r, &(struct grammar_source){.schema = schema, .n_schema = strlen(schema), .close = ""});
}

static inline void rig_close(struct rig *r)
{
    free(r->mem);
    free(r->index_mem);
}

/* Whether the text is accepted byte by byte and is whole then. */
static inline bool rig_takes(const struct rig *r, const char *text, size_t n)
{
    struct grammar_state s = grammar_begin(r->g);
    for (size_t i = 0; i < n; i++)
        if (!grammar_accept(r->g, &s, (unsigned char)text[i])) return false;
    return grammar_is_complete(r->g, &s);
}
static inline bool rig_says(const struct rig *r, const char *text) { return rig_takes(r, text, strlen(text)); }
#endif
