/* tool_schema.h - the calls that an agent with some tools may write, as a JSON Schema for a request's grammar.
 *
 *     memory/forms: "read: path, from:int?"  ->  {"oneOf": [{... "name": {"const": "read"}, "arguments": {...}}, ...]}
 *
 * Threads: any. */
#ifndef TOOL_SCHEMA_H
#define TOOL_SCHEMA_H
#include "plimsoll.h"

/* The schema of one call of one of these tools, appended to out; n >= 1.  0, or -1: err names the one that is not in
 * forms_tools(), or is there twice, or says that there are none; out is unchanged.  (Memory that ran out shows in
 * out->failed.) */
int tool_schema(const char *const *names, int n, struct buf *out, struct err *err);
#endif
