/* grammar.h - which tokens may come next, so that what a model writes is a JSON value of a given schema.
 *
 *     schema text -> [grammar_schema.c, _string.c, _regex.c, _meet.c ...] -> nodes
 *                                                                             |
 *     vocabulary  -> [grammar_index.c]  -> trie of its pieces           [grammar_dfa.c] -> automaton over bytes
 *                                                    |                                           |
 *                                                    +---------------- [grammar.c] --------------+--> mask of tokens
 *
 *     struct grammar_words w = grammar_words(vocab);
 *     struct grammar_index *x = grammar_index_open(&w, mem, grammar_index_bytes(&w), &err);      // once a vocabulary
 *     struct grammar *g = grammar_compile(x, &limits, &source, mem2, grammar_bytes(x, &limits), &err);
 *     struct grammar_state s = grammar_begin(g);
 *     while (!grammar_is_ended(g, &s)) {
 *         grammar_mask(g, &s, allowed);              // request.allowed, kern_sample.allowed
 *         grammar_accept(g, &s, the token that was drawn);
 *     }
 *
 * Schemas.  Known are, each where its type has it:
 *     type        object, array, string, integer, number, boolean, null: one name
 *     pattern     of a string: grammar_regex.c says which; and format: date, time, date-time, duration, email,
 *                 hostname, ipv4, ipv6, uuid; and minLength, maxLength
 *     const, enum any values
 *     minimum, maximum, exclusiveMinimum, exclusiveMaximum of a number; multipleOf: 1, 2 ... 1000, and of a number 0.1,
 *                 0.01 ...
 *     properties, required; or additionalProperties (false, or, instead of them, a schema)
 *     items, minItems, maxItems, prefixItems (and without items, or with false, no more than these); uniqueItems, where
 *                 items are booleans, or a const or enum of few values
 *     anyOf       one of these, at least
 *     oneOf       one of these; refused if a text exists that two of them accept
 *     title, description, default, examples, $schema, $comment: passed over
 * Everything else is refused by its name and its place (a JSON pointer): $ref, not, if, ...
 * Without $ref no schema is recursive, so the automaton is finite and needs no stack (app/serve/api_schema.h writes out
 * so much of a client's recursive one as there is room for).
 *
 * Texts.  JSON without blanks, as assets/forms/ writes it; with source.blanks, one space may follow each ':' and ','
 * (but not inside a const or enum).
 * Properties come in the order of the schema, the optional ones or not, and no others; where additionalProperties is a
 * schema, any names, one perhaps twice.  Names, const and enum are
 * spelled in one way: UTF-8, escaped only where JSON needs it.  Strings are whole UTF-8, with every escape of JSON but
 * \u0000 and lone surrogates.  An integer has at most 18 digits; a number 15 before the point, 17 after it and 2 in the
 * exponent: so jansson reads all that is accepted.
 *
 * A call of one of several tools is a oneOf whose first property is the tool's name:
 *     {"oneOf": [
 *       {"type": "object", "required": ["name", "arguments"], "properties": {
 *         "name": {"const": "read"},
 *         "arguments": {"type": "object", "required": ["path"], "properties": {
 *           "path": {"type": "string"}, "from": {"type": "integer"}, "to": {"type": "integer"}}}}},
 *       ... ]}
 * with source.close "</tool_call>".  The texts differ at the name, so the model has chosen a tool when it has written
 * enough of that.  Where the family closes a call with a token of its own, close is empty and `after` has that token.
 *
 * Messages.  An answer in harmony's channels (harmony.h) is held as a whole, with its marks: for the automaton a mark
 * is one byte that no UTF-8 has.  Such a text begins with <|start|>, so what of the answer's first message a prompt
 * has is told to it first.  source.harmony says what may come, and what the schema is of:
 *     GRAMMAR_CALLS                   a call, of a tool {"name", "arguments"} as above or one of a oneOf of them
 *     GRAMMAR_ANSWER                  a final message with a value
 *     both                            one or the other; the schema is an anyOf of the two, in this order
 *     GRAMMAR_CALLS | GRAMMAR_TEXT    a call, or any final message; and words before it (a preamble)
 * Thoughts may come first, once; with GRAMMAR_TEXT as often as the model likes.
 *
 * Texts that are no JSON.  With source.plain the schema is a JSON text all the same: a list of strings to choose from,
 * or a string that is a pattern of the whole.
 *
 * Tokens.  Only normal and byte tokens are ever allowed inside, never a control, user-defined, unknown or unused one,
 * nor one that ends a turn.  A token may reach over the value's end into close, but not past close.  Behind it the
 * tokens of `after` alone are allowed, and one of them ends it.  (A bare number can also go on, where close is empty.)
 * A vocabulary without a token for some byte may leave an empty mask: then nothing can follow.
 *
 * Memory and time: all memory is the caller's, sized beforehand; only while an index is opened or a schema is read,
 * heap is taken and given back (32 bytes a piece; jansson's tree of a text of at most GRAMMAR_SCHEMA_MAX; 3 MiB for a
 * string of which several things are said).  Nothing is
 * allocated after that.  A compile is bounded by limits; a mask costs a walk over the pieces that can follow, but
 * inside a string, where nearly all can, a copy and a walk over those that leave it.
 * Threads: an index is read only; a grammar keeps masks, so one thread at a time may use it; states are values. */
#ifndef GRAMMAR_H
#define GRAMMAR_H
#include "engine/vocab.h"
#include "plimsoll.h"

struct grammar;
struct grammar_index;

enum grammar_error {
    GRAMMAR_REFUSED = -1,   /* the text is no schema, or one that is not known: err has what and where */
    GRAMMAR_TOO_LARGE = -2, /* limits are met: err has which */
    GRAMMAR_NO_MEMORY = -3  /* too few bytes handed in, or the heap is empty */
};
enum {
    GRAMMAR_SCHEMA_MAX = 256 << 10, /* bytes of a schema's text */
    GRAMMAR_PIECE_MAX = 1024,       /* longer pieces are never allowed */
    GRAMMAR_AFTER = 16,
    GRAMMAR_DEPTH = 32,
    GRAMMAR_ITEMS = 1024,           /* largest minItems and maxItems */
    GRAMMAR_UNIQUE = 8              /* values of which a list with uniqueItems may be made */
};

/* The vocabulary as a list of pieces: bytes of token id, 0 for one that is never allowed. */
struct grammar_words {
    const void *self;
    int n;
    size_t (*piece)(const void *self, int32_t id, const char **bytes);
};
/* v must outlive them and what is made of them. */
struct grammar_words grammar_words(const struct vocab *v);
struct grammar_words grammar_words_harmony(const struct vocab *v); /* with marks */

/* Pieces must stay where they are as long as the index.  mem: any alignment.  SIZE_MAX: too large.  NULL: err. */
size_t grammar_index_bytes(const struct grammar_words *w);
struct grammar_index *grammar_index_open(const struct grammar_words *w, void *mem, size_t bytes, struct err *err);

struct grammar_limits {
    int states; /* of the automaton, 2 to 65535: about 560 bytes each */
    int nodes;  /* of the schema written out, 1 to 1 << 20: 36 bytes each */
    int depth;  /* of values inside each other, up to GRAMMAR_DEPTH */
    int masks;  /* kept for states that come again: a bit a token each; 0: none */
};
#define GRAMMAR_LIMITS ((struct grammar_limits){.states = 4096, .nodes = 16384, .depth = 16, .masks = 32})

struct grammar_source {
    const char *schema;
    size_t n_schema;
    const char *close; /* text that must follow the value; may be empty */
    size_t n_close;
    const int32_t *after; /* at most GRAMMAR_AFTER tokens that may follow close */
    int n_after;
    bool blanks;
    bool plain; /* schema is no JSON Schema, but a list of texts of which one is to come as it stands, or a pattern */
    unsigned harmony; /* GRAMMAR_CALLS ...; 0: a bare value.  The index is of harmony's words; close is empty */
};
enum { GRAMMAR_CALLS = 1, GRAMMAR_ANSWER = 2, GRAMMAR_TEXT = 4 };

/* About how many nodes a string's pattern takes; -1: it cannot be held to, and *why (if not NULL) says what of it is
 * not known.  Whether a format is. */
long grammar_pattern_nodes(const char *pattern, size_t n, const char **why);
bool grammar_knows_format(const char *name);

/* About how many states a value of the schema takes; enum grammar_error: err.  Heap is taken meanwhile, 12 bytes a
 * node. */
long grammar_states_about(const char *schema, size_t n, const struct grammar_limits *limits, struct err *err);

/* What one grammar takes, compiling included; SIZE_MAX: limits are out of their range. */
size_t grammar_bytes(const struct grammar_index *x, const struct grammar_limits *limits);
size_t grammar_bytes_of(const struct grammar_words *w, const struct grammar_limits *limits); /* before there is one */

/* NULL: err, with enum grammar_error.  mem: any alignment; x must outlive it; source may go. */
struct grammar *grammar_compile(const struct grammar_index *x, const struct grammar_limits *limits,
                                const struct grammar_source *source, void *mem, size_t bytes, struct err *err);
int grammar_states(const struct grammar *g); /* that the automaton has */

struct grammar_state {
    uint32_t at; /* not to be read */
};
struct grammar_state grammar_begin(const struct grammar *g);

/* Bit id of word id / 32, for all words of the vocabulary; bits past its end are 0. */
void grammar_mask(struct grammar *g, const struct grammar_state *s, uint32_t *mask);

/* False: the token is not allowed, and s is as it was. */
bool grammar_accept(const struct grammar *g, struct grammar_state *s, int32_t token);

/* The same for bytes that came in a token with others before them. */
bool grammar_follow(const struct grammar *g, struct grammar_state *s, const char *bytes, size_t n);

/* Before a text of the grammar begins, where `head` (n bytes, 1 at least) is all that lacks: the tokens that are head
 * and more, and with whose rest none begins, leave the mask.  Returns how many. */
int grammar_bar(struct grammar *g, const char *head, size_t n, uint32_t *mask);

bool grammar_is_complete(const struct grammar *g, const struct grammar_state *s); /* value and close are written */
bool grammar_is_ended(const struct grammar *g, const struct grammar_state *s);    /* a token of `after` came too */
#endif
