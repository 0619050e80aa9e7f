/* schema.h - JSON Schemas from outside (a client's, a server's) as the engine's grammars read them (engine/grammar.h).
 *
 *     a schema --[schema_resolve.c]--> one without references, of words that a grammar knows
 *                [schema_merge.c]      of what it says in several places, one
 *
 * A definition that refers to itself is written out: inside itself so many times, and no more often.  What would be
 * behind that is `false`, a schema of no value, and what needs such a value is one as well: a list there is empty, a
 * property is not there, of several alternatives another is taken.
 *
 * Threads: any. */
#ifndef SCHEMA_H
#define SCHEMA_H
#include "plimsoll.h"
#include <jansson.h>

/* What may be left out of a schema: nothing that says what is valid; or, where nobody asked that it be held to, what no
 * grammar can say or what makes one large; or all that says more than which types there are; and all words besides that
 * no grammar knows. */
enum leaves { LEAVES_NOTHING, LEAVES_UNHELD, LEAVES_FINER, LEAVES_UNKNOWN };

enum { SCHEMA_OPEN = 128 };
struct resolving {
    const json_t *root; /* what "#/..." is looked up in */
    enum leaves leaves;
    int inside;     /* how many of a definition may be inside each other, from 1 on */
    bool recursive; /* one refers to itself */
    int nodes;
    const json_t *open[SCHEMA_OPEN]; /* the definitions that what is read is in */
    int n_open;
    const char *why; /* what is wrong, if something is */
};

/* schema_resolve.c.  What "#/$defs/Name" means; NULL: it is not there. */
const json_t *schema_look_up(const json_t *root, const char *ref);
/* A new schema, or false where it has no value; NULL: r->why. */
json_t *schema_resolve(struct resolving *r, const json_t *schema);
json_t *schema_any_value(int depth); /* of any JSON, nested so deep at most: a grammar has an end */
bool schema_counts(struct resolving *r, size_t text); /* a value more, and of text; false: it is too much */
bool schema_says_nothing(const char *key); /* a title, a description, ... */

static inline bool schema_is_among(const char *key, const char *const *list) /* NULL at its end */
{
    while (*list && strcmp(*list, key) != 0) list++;
    return *list != NULL;
}

/* schema_merge.c: $ref, allOf, and what stands beside them or beside anyOf or oneOf, as one schema that has them no
 * more; the definitions that it stands in are put at the end of r->open.  false: it has no value.  NULL: what it says
 * in two places is not known as one; or r->why. */
json_t *schema_merge(struct resolving *r, const json_t *v);
bool schema_wants_merging(const json_t *v);
#endif
