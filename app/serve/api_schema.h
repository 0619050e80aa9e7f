/* api_schema.h - what the files that read clients' schemas share: api_schema.c, api_resolve.c and api_merge.c.  No one
 * else includes it.
 *
 *     a client's schema --[api_resolve.c]--> one as the engine's grammars read them (engine/grammar.h)
 *                          [api_merge.c]     of what it says in several places, one
 *
 * A definition that refers to itself is written out: inside itself so many times, and no more often.  What would be
 * behind that is `false`, a schema of no value, and what needs such a value is one as well: a list there is empty, a
 * property is not there, of several alternatives another is taken. */
#ifndef API_SCHEMA_H
#define API_SCHEMA_H
#include "app/serve/api.h"

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

/* api_resolve.c: a new schema, or false where it has no value; NULL: r->why. */
json_t *api_resolve(struct resolving *r, const json_t *schema);
json_t *api_any_value(int depth); /* of any JSON, nested so deep at most: a grammar has an end */
bool api_schema_counts(struct resolving *r, size_t text); /* a value more, and of text; false: it is too much */
bool api_says_nothing_of_values(const char *key); /* a title, a description, ... */

/* api_merge.c: $ref, allOf, and what stands beside them or beside anyOf or oneOf, as one schema that has them no more;
 * the definitions that it stands in are put at the end of r->open.  false: it has no value.  NULL: what it says in two
 * places is not known as one; or r->why. */
json_t *api_merge(struct resolving *r, const json_t *v);
bool api_wants_merging(const json_t *v);
#endif
