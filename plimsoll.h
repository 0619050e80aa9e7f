/* plimsoll.h - the few words that every room of the house shares: an error, a growing buffer, and arithmetic
 * on sizes that come from outside.  All may include it; it includes no header of the project. */
#ifndef PLIMSOLL_H
#define PLIMSOLL_H
#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What went wrong, for a person: what, where, what to do.  One line.  code is the module's own (0: nothing wrong). */
struct err {
    int code;
    char text[480];
};

/* Fill err (NULL is fine: the caller does not care) and return code, so that a failing line reads
 *     return err_set(err, -1, "%s: bad magic", path);  */
__attribute__((format(printf, 3, 4))) static inline int err_set(struct err *err, int code, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err->code = code;
        vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
    }
    return code;
}

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* Size arithmetic that says when it overflows: true is overflow, and *out is then unspecified. */
static inline bool size_mul(uint64_t a, uint64_t b, uint64_t *out) { return __builtin_mul_overflow(a, b, out); }
static inline bool size_add(uint64_t a, uint64_t b, uint64_t *out) { return __builtin_add_overflow(a, b, out); }

/* n rounded up to a multiple of the power of two `to`.  The caller knows that n + to does not wrap. */
static inline uint64_t size_align(uint64_t n, uint64_t to) { return (n + to - 1) & ~(to - 1); }

/* The ending of a word behind a number: "1 turn", "2 turns". */
static inline const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

/* Zeroed memory that is there: a system that promises more than it has would else find out at the first use.  For
 * free(); NULL: none.  (Between malloc and memset the compiler must lose sight of the block: it would make calloc of
 * them, which touches nothing.) */
static inline void *take_touched(size_t n)
{
    void *mem = malloc(n);
    __asm__ volatile("" : "+r"(mem) : : "memory");
    return mem ? memset(mem, 0, n) : NULL;
}

/* A growing run of bytes.  Starts as all zeros; always NUL-terminated when data is not NULL; buf_free empties it.
 * A failed allocation sets `failed` and drops the new bytes, so that a writer may check once at its end. */
struct buf {
    char *data;
    size_t len, cap;
    bool failed;
};

static inline void buf_free(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}

static inline void buf_put(struct buf *b, const void *bytes, size_t n)
{
    if (b->failed || n == 0) return;
    if (n > SIZE_MAX / 2 - b->len - 1) {
        b->failed = true;
        return;
    }
    if (b->len + n + 1 > b->cap) {
        size_t cap = MAX(2 * b->cap, b->len + n + 1);
        char *data = realloc(b->data, cap);
        if (!data) {
            b->failed = true;
            return;
        }
        b->data = data;
        b->cap = cap;
    }
    if (n) memcpy(b->data + b->len, bytes, n); /* of nothing `bytes` may be NULL */
    b->len += n;
    b->data[b->len] = '\0';
}

static inline void buf_puts(struct buf *b, const char *s) { buf_put(b, s, strlen(s)); }

__attribute__((format(printf, 2, 3))) static inline void buf_printf(struct buf *b, const char *fmt, ...)
{
    char small[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
    } else if ((size_t)n < sizeof small) {
        buf_put(b, small, (size_t)n);
    } else {
        char *big = malloc((size_t)n + 1);
        if (!big) {
            b->failed = true;
            return;
        }
        va_start(ap, fmt);
        vsnprintf(big, (size_t)n + 1, fmt, ap);
        va_end(ap);
        buf_put(b, big, (size_t)n);
        free(big);
    }
}

/* A growing list of token ids; same habits as buf.  One made by ids_fixed() lies in the caller's memory and never
 * grows: what does not fit sets `failed` and is dropped, and nothing is allocated or freed. */
struct ids {
    int32_t *id;
    size_t n, cap;
    bool failed, fixed;
};

/* An empty list of at most cap ids, in mem, which the caller keeps. */
static inline struct ids ids_fixed(int32_t *mem, size_t cap)
{
    return (struct ids){.id = mem, .cap = cap, .fixed = true};
}

static inline void ids_free(struct ids *v)
{
    if (!v->fixed) free(v->id);
    *v = (struct ids){0};
}

/* 0, or -1 and `failed` is set: out of memory, or a fixed list is full. */
static inline int ids_put(struct ids *v, int32_t id)
{
    if (v->failed) return -1;
    if (v->n == v->cap) {
        size_t cap = v->cap ? 2 * v->cap : 64;
        int32_t *p = v->fixed || cap > SIZE_MAX / 2 / sizeof *p ? NULL : realloc(v->id, cap * sizeof *p);
        if (!p) {
            v->failed = true;
            return -1;
        }
        v->id = p;
        v->cap = cap;
    }
    v->id[v->n++] = id;
    return 0;
}
#endif
