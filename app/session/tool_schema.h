/* tool_schema.h - the calls that an agent with some tools may write, as a JSON Schema for a request's grammar.
 *
 *     memory/forms: "read: path, from:int?"  ->  {"oneOf": [{... "name": {"const": "read"}, "arguments": {...}}, ...]}
 *
 * Of tools that servers have it is their own schema, as far as a grammar can say it; where all together would be too
 * large, or no grammar knows one of them, these may have any arguments.  Threads: any. */
#ifndef TOOL_SCHEMA_H
#define TOOL_SCHEMA_H
#include "engine/grammar.h"
#include "plimsoll.h"

/* All tools of assets/forms/ together take some 800 states; clients and servers have more of them, and schemas that
 * refer to themselves (app/serve/api_schema.c).  With the embedded vocabulary a grammar takes about 2.8 MiB. */
#define TOOL_SCHEMA_LIMITS \
    ((struct grammar_limits){.states = 4096, .nodes = 16384, .depth = GRAMMAR_DEPTH, .masks = 32})

/* The schema of one call of one of these tools, appended to out; n >= 1.  0, or -1: err names the one that is not in
 * forms_tools(), or is there twice, or says that there are none; out is unchanged.  (Memory that ran out shows in
 * out->failed.) */
int tool_schema(const char *const *names, int n, struct buf *out, struct err *err);
#endif
