/* gguf_refused.h - for the tests of broken GGUF files: that one is refused, and with which words. */
#ifndef GGUF_REFUSED_H
#define GGUF_REFUSED_H
#include "tests/check.h"
#include "tests/gguf_make.h"
#include "tests/gguf_walk.h"

static inline struct gguf_make begun(void)
{
    struct gguf_make m;
    gguf_make_begin(&m);
    return m;
}

/* The file at path is refused in one line that has every one of the parts (up to NULL). */
static inline void refused_path(const char *path, const char *const *parts)
{
    struct err err = {0};
    struct gguf *g = gguf_open(path, &err);
    CHECK(!g);
    CHECK_EQ(err.code, -1);
    walk_message(err.text);
    for (; *parts; parts++)
        if (!strstr(err.text, *parts)) check_fail(__FILE__, __LINE__, "\"%s\" is not in: %s", *parts, err.text);
}

static inline void refused_bytes(const char *name, const void *bytes, size_t n, const char *const *parts)
{
    refused_path(gguf_make_write(name, bytes, n), parts);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* refused(&m, "file name", part of the message, ...): makes the file, and an end to m. */
#define refused(m, name, ...) refused_made(m, name, PARTS(name ": ", __VA_ARGS__))

static inline void refused_made(struct gguf_make *m, const char *name, const char *const *parts)
{
    struct buf b = gguf_make_bytes(m);
    refused_bytes(name, b.data, b.len, parts);
    buf_free(&b);
}
#endif
