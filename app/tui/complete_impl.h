/* complete_impl.h - what complete.c (choices) and complete_mention.c (names in a text) share. */
#ifndef COMPLETE_IMPL_H
#define COMPLETE_IMPL_H
#include "app/tui/complete.h"

struct mention {
    size_t at, end;      /* of the text, from the @ on */
    bool quoted, closed; /* closed: its ending quote is there */
    bool bad;            /* an escape that is none, a NUL, or too long: it names nothing */
    struct buf path;
};

/* The first mention at or behind `from`.  false: there is none.  The path is for buf_free(). */
bool mention_next(const char *text, size_t n, size_t from, struct mention *m);

/* The name as a mention, in quotes where it must be, or is to be; open: the ending quote is left out. */
void mention_put(struct buf *out, const char *path, size_t n, bool quoted, bool open);

/* Somebody at the beginning of a text. */
bool mention_is_agent(const struct complete_source *s, const char *name, size_t n);
#endif
