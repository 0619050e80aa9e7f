/* gguf_walk.h - ask an open GGUF file everything that can be asked, as every type: for sanitizers to watch, by the fuzz
 * target and the sweeps of test_gguf_hostile.c.  What must hold of any file that was opened is checked with abort(). */
#ifndef GGUF_WALK_H
#define GGUF_WALK_H
#include "engine/gguf.h"

static uint64_t walk_sum; /* what was read goes here, so that reading it is not left out */

static inline void walk_must(bool holds)
{
    if (!holds) abort();
}

static inline void walk_bytes(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) walk_sum += p[i];
}

/* An answer's message is one line without control bytes. */
static inline void walk_message(const char *text)
{
    walk_must(text[0] != '\0');
    for (; *text; text++) walk_must((unsigned char)*text >= 0x20 && *text != 0x7f);
}

/* How a getter answered: 1 there is a value, 0 there is none. */
static inline int walk_answer(int rc, struct err *err)
{
    if (rc == GGUF_WRONG) walk_message(err->text);
    walk_must(rc == GGUF_OK || rc == GGUF_MISSING || rc == GGUF_WRONG);
    return rc == GGUF_OK;
}

static inline int walk_key(const struct gguf *g, const char *key)
{
    struct err err = {0};
    struct gguf_str s;
    const struct gguf_str *strings;
    const float *floats;
    const int32_t *ints;
    uint64_t u, n;
    double f;
    bool b;
    int given = 0;
    if (walk_answer(gguf_uint(g, key, 1000, &u, &err), &err)) given += u <= 1000;
    if (walk_answer(gguf_float(g, key, &f, &err), &err)) given += f - f == 0;
    if (walk_answer(gguf_bool(g, key, &b, &err), &err)) given += b == 0 || b == 1;
    if (walk_answer(gguf_string(g, key, &s, &err), &err)) {
        walk_bytes(s.data, s.len);
        walk_must(s.data[s.len] == '\0');
        given++;
    }
    if (walk_answer(gguf_string_array(g, key, &strings, &n, &err), &err)) {
        for (uint64_t i = 0; i < n; i++) walk_bytes(strings[i].data, strings[i].len + 1);
        given++;
    }
    if (walk_answer(gguf_float_array(g, key, &floats, &n, &err), &err)) {
        walk_bytes(floats, (size_t)n * sizeof *floats);
        given++;
    }
    if (walk_answer(gguf_int_array(g, key, &ints, &n, &err), &err)) {
        for (uint64_t i = 0; i < n; i++) walk_sum += (uint64_t)ints[i];
        given++;
    }
    return given;
}

static inline void walk_tensor(const struct gguf *g, const struct gguf_tensor *t)
{
    struct err err;
    unsigned char some[512];
    size_t n = (size_t)MIN(t->bytes, sizeof some);
    walk_must(t->name[0] && strlen(t->name) <= GGUF_MAX_NAME_LEN && gguf_tensor(g, t->name) == t);
    walk_must(t->n_dims >= 1 && t->n_dims <= 4 && ktype_info((uint32_t)t->type));
    for (int i = 0; i < 4; i++) walk_must(t->dim[i] >= 1 && (i < t->n_dims || t->dim[i] == 1));
    walk_must(t->offset <= gguf_file_bytes(g) && t->bytes <= gguf_file_bytes(g) - t->offset);
    walk_must(gguf_read(g, t, 0, some, n, &err) == 0 && gguf_read(g, t, t->bytes - n, some, n, &err) == 0);
    walk_bytes(some, n);
}

static inline void walk(const struct gguf *g)
{
    struct err err;
    uint64_t end = 0;
    walk_must(gguf_version(g) == 2 || gguf_version(g) == 3);
    for (uint64_t i = 0; i < gguf_n_keys(g); i++) {
        struct gguf_key k = gguf_key_at(g, i);
        walk_must(gguf_has(g, k.name) && k.name[0] != '\0');
        walk_must(walk_key(g, k.name) <= 1);
    }
    walk_must(walk_key(g, "\n") == 0); /* no file can have a key or a tensor of that name */
    for (uint64_t i = 0; i < gguf_n_tensors(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        walk_must(t->offset >= end); /* in order, none overlaps */
        end = t->offset + t->bytes;
        walk_tensor(g, t);
    }
    walk_must(gguf_tensor(g, "\n") == NULL);
    walk_must(gguf_unchanged(g, &err) == 0);
}
#endif
