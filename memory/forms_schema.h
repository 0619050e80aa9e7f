/* forms_schema.h - arguments of a tool that come as a JSON Schema (a client's, a server's), as models of different
 * families are told of them, and what a call's may be.  Threads: any. */
#ifndef FORMS_SCHEMA_H
#define FORMS_SCHEMA_H
#include "memory/forms.h"
#include <jansson.h>

/* Of a tool that is from outside (forms_tools_add()); it lives as long. */
const json_t *forms_tool_schema(const struct form_tool *t);

/* As gpt-oss models know tools: fields of TypeScript, a line each, with what is said of them before it.  What has no
 * short type there (oneOf, $ref, an object in an object in ...) is "any". */
void forms_schema_fields(const json_t *parameters, struct buf *out);

/* "path, from:int?": as the embedded model knows arguments. */
void forms_schema_line(const json_t *parameters, struct buf *out);

/* Which kinds of JSON a schema allows, as far as it says: bits of enum form_type; 0: it does not.  look_up: what a
 * reference in root means; NULL: none is followed. */
unsigned forms_schema_types(const json_t *schema, const json_t *root,
                            const json_t *(*look_up)(const json_t *root, const char *ref));
#endif
