/* quoted.h - JSON in a test that can be read. */
#ifndef QUOTED_H
#define QUOTED_H
#include "plimsoll.h"

/* Text of a test with ' for each ", which it becomes here.  Good until the eighth after it. */
static inline const char *quoted(const char *text)
{
    static struct buf made[8];
    static unsigned next;
    struct buf *b = &made[next++ % 8];
    b->len = 0;
    buf_put(b, text, strlen(text) + 1); /* with its NUL: an empty text has nothing else */
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] == '\'') b->data[i] = '"';
    return b->data ? b->data : "";
}
#endif
