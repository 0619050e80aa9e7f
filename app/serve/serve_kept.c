/* serve_kept.c - the last calls that models wrote, by id, in a ring: the oldest makes room. */
#include "app/serve/serve_impl.h"

void serve_keep(struct serve *s, const char *id, const char *text, size_t n)
{
    struct serve_kept *k = &s->kept[s->kept_next];
    char *copy = n <= SERVE_KEPT_TEXT ? malloc(MAX(n, 1u)) : NULL;
    if (!copy) return; /* it is written anew then */
    memcpy(copy, text, n);
    free(k->text);
    *k = (struct serve_kept){.text = copy, .n = n};
    snprintf(k->id, sizeof k->id, "%s", id);
    s->kept_next = (s->kept_next + 1) % SERVE_KEPT;
}

const char *serve_kept(void *self, const char *id, size_t *n)
{
    const struct serve *s = self;
    for (size_t i = 0; i < SERVE_KEPT; i++) {
        if (!s->kept[i].text || strcmp(s->kept[i].id, id) != 0) continue;
        *n = s->kept[i].n;
        return s->kept[i].text;
    }
    return NULL;
}

void serve_kept_free(struct serve *s)
{
    for (size_t i = 0; i < SERVE_KEPT; i++) free(s->kept[i].text);
}
