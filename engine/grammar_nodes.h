/* grammar_nodes.h - how a grammar is written out as nodes: for grammar_schema.c, which reads values of a schema (with
 * grammar_string.c and grammar_regex.c), and grammar_harmony.c, which puts them into messages.
 *
 * Nodes are made from the back: whatever is written is given the node that follows it.  Every maker returns the first
 * of its nodes, or enum grammar_error; and passes on an error that it is given as what follows. */
#ifndef GRAMMAR_NODES_H
#define GRAMMAR_NODES_H
#include "engine/grammar_impl.h"
#include <jansson.h>

struct reader {
    struct grammar_make *make;
    struct err *err;
    int max_nodes, max_depth;
    bool blanks, plain;
    char place[PLACE_MAX];
    size_t n_place;
};

/* Returns code; what is wrong is said with the place where it is. */
__attribute__((format(printf, 3, 4))) int32_t grammar_refuse(struct reader *r, int code, const char *fmt, ...);

/* Into what is under a key of the schema, and perhaps a name or number under that: r->place says so until
 * grammar_leave() is given what this returned. */
size_t grammar_enter(struct reader *r, const char *key, const char *name);
void grammar_leave(struct reader *r, size_t before);

/* A value of the schema s, which is `depth` values deep (1: the outermost). */
int32_t grammar_value(struct reader *r, json_t *s, int depth, int32_t next);

/* All that is asked for: a value of the schema s, or (r->plain) a text that is no JSON. */
int32_t grammar_root(struct reader *r, json_t *s, int32_t next);

/* A number of the schema s. */
int32_t grammar_number(struct reader *r, const json_t *s, bool integer, int32_t next);

/* A string of the schema s; a text that the pattern describes, and nothing around it. */
int32_t grammar_string(struct reader *r, const json_t *s, int32_t next);
enum { REGEX_SEARCH = 1, /* it may stand anywhere in the text */
       REGEX_QUOTED = 2  /* the text is inside a string of JSON, and spelled so */ };
int32_t grammar_regex(struct reader *r, const char *pattern, size_t n, unsigned how, int32_t next);

/* A text inside a string of JSON that n patterns (NUL-terminated, as with REGEX_QUOTED | REGEX_SEARCH) describe, all of
 * them, and that has `least` to `most` characters (-1: any number).  Heap is taken meanwhile, 3 MiB at most. */
enum { MEET_PATTERNS = 2 };
int32_t grammar_meet(struct reader *r, const char *const *pattern, int n, int least, int most, int32_t next);

/* An answer in messages of harmony's, by the parts that it may have (grammar.h); s says what they hold. */
int32_t grammar_harmony(struct reader *r, json_t *s, unsigned parts, int32_t end);

static inline int32_t add(struct reader *r, enum node_kind kind, int lo, int hi, int32_t next, int32_t alt)
{
    struct grammar_make *m = r->make;
    if (next < 0) return next;
    if (alt < 0) return alt;
    if (m->n_node >= r->max_nodes)
        return grammar_refuse(r, GRAMMAR_TOO_LARGE, "written out it has more than %d nodes", r->max_nodes);
    m->node[m->n_node] = (struct node){next, alt, (uint8_t)kind, (uint8_t)lo, (uint8_t)hi};
    return m->n_node++;
}

static inline int32_t range(struct reader *r, int lo, int hi, int32_t next)
{
    return add(r, NODE_RANGE, lo, hi, next, 0);
}
static inline int32_t byte(struct reader *r, int b, int32_t next) { return range(r, b, b, next); }
static inline int32_t split(struct reader *r, int32_t a, int32_t b) { return add(r, NODE_SPLIT, 0, 0, a, b); }

static inline int32_t literal(struct reader *r, const char *text, size_t n, int32_t next)
{
    while (n > 0 && next >= 0) next = byte(r, (unsigned char)text[--n], next);
    return next;
}
#endif
