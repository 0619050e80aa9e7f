/* serve_kept.c - the last calls that models wrote, by id, in a ring: the oldest makes room. */
#include "app/serve/serve_impl.h"

static void forget(struct serve_kept *k)
{
    json_decref(k->calls);
    free(k->text);
    *k = (struct serve_kept){0};
}

void serve_keep(struct serve *s, const struct api_call *calls, int n_calls, const char *text, size_t n)
{
    struct serve_kept *k = &s->kept[s->kept_next];
    char *copy = n <= SERVE_KEPT_TEXT ? malloc(MAX(n, 1u)) : NULL;
    json_t *list = copy ? json_array() : NULL;
    for (int i = 0; i < n_calls && list; i++)
        json_array_append_new(list, json_pack("[O, O]", calls[i].name, calls[i].arguments));
    if (json_array_size(list) != (size_t)n_calls) { /* it is written anew then */
        free(copy);
        json_decref(list);
        return;
    }
    memcpy(copy, text, n);
    forget(k);
    *k = (struct serve_kept){.text = copy, .n = n, .calls = list};
    snprintf(k->id, sizeof k->id, "%s", calls[0].id);
    s->kept_next = (s->kept_next + 1) % SERVE_KEPT;
}

/* Two texts that are the same JSON, or the same. */
static bool are_same(const json_t *a, const json_t *b)
{
    if (json_equal(a, b)) return true;
    json_t *x = json_loadb(json_string_value(a), json_string_length(a), JSON_ALLOW_NUL, NULL);
    json_t *y = json_loadb(json_string_value(b), json_string_length(b), JSON_ALLOW_NUL, NULL);
    const bool same = x && y && json_equal(x, y);
    json_decref(x);
    json_decref(y);
    return same;
}

/* A client may have changed a call, or left one out: what it sends is what counts. */
static bool are_these(const struct serve_kept *k, const json_t *calls)
{
    const json_t *c;
    size_t i;
    if (json_array_size(calls) != json_array_size(k->calls)) return false;
    json_array_foreach(calls, i, c) {
        const json_t *f = json_object_get(c, "function"), *was = json_array_get(k->calls, i);
        if (!json_equal(json_object_get(f, "name"), json_array_get(was, 0)) ||
            !are_same(json_object_get(f, "arguments"), json_array_get(was, 1)))
            return false;
    }
    return true;
}

const char *serve_kept(void *self, const char *id, const json_t *calls, size_t *n)
{
    const struct serve *s = self;
    for (size_t i = 0; i < SERVE_KEPT; i++) {
        const struct serve_kept *k = &s->kept[i];
        if (!k->text || strcmp(k->id, id) != 0) continue;
        *n = k->n;
        return are_these(k, calls) ? k->text : NULL;
    }
    return NULL;
}

void serve_kept_free(struct serve *s)
{
    for (size_t i = 0; i < SERVE_KEPT; i++) forget(&s->kept[i]);
}
