/* base64.h - any bytes as text, in the alphabet of RFC 4648 with its padding.  No state: any thread. */
#ifndef BASE64_H
#define BASE64_H
#include "plimsoll.h"

void base64_put(const void *bytes, size_t n, struct buf *out); /* appended */

/* Appends the bytes that a text stands for.  0, or -1: it is not what base64_put() writes; out is then as long as
 * before.  A lack of memory shows in out->failed. */
int base64_read(const char *text, size_t n, struct buf *out);
#endif
