/* gguf_impl.h - what the files of the GGUF loader share; for engine/gguf*.c alone.
 *
 *     gguf.c         opens, reads data, closes
 *     gguf_parse.c   the header: keys and tensor infos, each checked as it is read
 *     gguf_keys.c    what callers ask: keys by name and type
 */
#ifndef GGUF_IMPL_H
#define GGUF_IMPL_H
#include "engine/gguf.h"

#include <time.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers of a GGUF file are used as they lie in it");

/* All strings, arrays and names of one file together.  The file's size alone is no bound: a sparse file costs its
 * author nothing, and what is taken here no one has planned for.  Real headers take some 30 MiB. */
#define GGUF_MAX_HEADER_BYTES (2ull << 30)

/* A key with its value.  Scalars are widened: unsigned integers to u, signed ones to i, floats to f. */
struct gguf_entry {
    const char *name;
    enum gguf_type type, element; /* element: of an array; else the type itself */
    uint64_t count;               /* of an array; else 1 */
    uint64_t at;                  /* where the key begins in the file: for messages */
    union {
        uint64_t u;
        int64_t i;
        double f;
        bool b;
        struct gguf_str s;
        const void *array; /* elements as in the file (struct gguf_str for strings), aligned for their type */
    } v;
};

struct gguf_block { /* of the arena: strings and arrays live and die with the handle */
    struct gguf_block *next;
    size_t used, cap;
    _Alignas(16) char data[];
};

struct gguf {
    char *path, *shown; /* shown: the path as messages print it */
    int fd;
    uint64_t device, inode, file_bytes;
    struct timespec mtime;
    uint32_t version;
    uint64_t n_keys, n_tensors;
    struct gguf_entry *keys;
    struct gguf_tensor *tensors;
    /* Sorted by name, for look-up and to find doubles.  Not a hash table: the names are hostile, and names that collide
     * cost a hash table quadratic time, but a sorted list nothing. */
    const struct gguf_entry **keys_by_name;
    const struct gguf_tensor **tensors_by_name;
    struct gguf_block *arena;
    uint64_t arena_bytes;
};

/* Reads and checks all before the tensor data; fills g.  0, or -1: err says why, g may be half filled. */
int gguf_parse(struct gguf *g, struct err *err);

/* NULL: no such key.  keys_by_name is filled. */
const struct gguf_entry *gguf_find(const struct gguf *g, const char *key);

/* GGUF_WRONG, with err: the key, where it is, what it holds, and what is allowed ("a string is needed"). */
int gguf_wrong(const struct gguf *g, const struct gguf_entry *e, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A value type's name ("u32") and the least that a value of it takes in a file; NULL: no such type. */
struct gguf_type_info {
    const char *name;
    unsigned bytes; /* exact but for strings and arrays */
};
const struct gguf_type_info *gguf_type_info(uint32_t type);

bool gguf_printable(const char *bytes, size_t n); /* whether gguf_show would escape nothing */
#endif
