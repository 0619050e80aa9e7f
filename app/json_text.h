/* json_text.h - strings of others as JSON: JSON has only UTF-8, and a path or a record may be any bytes. */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H
#include <jansson.h>

/* A new JSON string: s, or where it is no UTF-8 what is shown of it (term_filter.h), in one line.  NULL: no memory. */
json_t *json_text(const char *s);
#endif
