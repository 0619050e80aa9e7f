/* explain_services.h - a log of several services, each line of which says whose it is: "vllm-1  | ..." as docker
 * compose writes it, "[pod/vllm-0/server] ..." as kubectl logs --prefix does (see explain.h).  What one of them wrote
 * is no part of another's story.
 *
 * Lines without a name that one of them ended are that one's ("vllm-1 exited with code 137"), and so is the rest of a
 * long line that was wrapped; others are nobody's.  Threads: pure. */
#ifndef EXPLAIN_SERVICES_H
#define EXPLAIN_SERVICES_H
#include "plimsoll.h"

enum { SERVICES_MOST = 32 /* lines of more are nobody's */, SERVICE_NAME = 128, SERVICE_NOBODY = -1 };

struct services {
    char name[SERVICES_MOST][SERVICE_NAME]; /* in the order of their first lines */
    int n;
};

/* The numbers, in the whole text, of a part's lines; ascending. */
struct line_map {
    uint32_t *of;
    size_t n, cap;
};

/* Whether the text is such a log, of two services at least. */
bool services_find(const char *text, size_t n, struct services *s);

/* The lines of one of them (or SERVICE_NOBODY), without what says whose they are; of a service with its name in a line
 * before, which may be a program's.  Appended to both, which the caller frees.  False: no memory for them. */
bool services_lines(const char *text, size_t n, const struct services *s, int which, struct buf *out,
                    struct line_map *map);

/* Line `own` of a part, from 1, as the whole text counts it; and which of the part it is.  map NULL: the same. */
uint32_t line_in_text(const struct line_map *map, uint32_t own);
uint32_t line_in_part(const struct line_map *map, uint32_t line);
#endif
