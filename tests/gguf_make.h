/* gguf_make.h - GGUF files for tests, built byte by byte in memory: well-formed ones, and broken ones on purpose.
 *
 *     struct gguf_make m;
 *     gguf_make_begin(&m);
 *     gguf_make_str(&m, "general.architecture", "llama");
 *     gguf_make_u32(&m, "llama.block_count", 2);
 *     gguf_make_tensor(&m, "output.weight", KT_F32, 2, (int64_t[]){4, 3}, data);      (NULL: zeros)
 *     const char *path = gguf_make_file(&m, "tiny.gguf");
 *
 * To break it: the numbers in the struct are written as they stand when the file is made, gguf_make_raw_key() and
 * gguf_make_raw_tensor() write what they are given, and gguf_make_bytes() gives the whole file to cut or to change.
 * It shares no code with the loader but the table of tensor types.  Out of memory ends the test.
 *
 * With GGUF_CORPUS=folder each small file is also left in that folder: the fuzz target's seeds are from there. */
#ifndef GGUF_MAKE_H
#define GGUF_MAKE_H
#include "engine/gguf.h"

struct gguf_make {
    char magic[4];
    uint32_t version;            /* 3 */
    uint64_t n_tensors, n_keys;  /* counted by the calls below */
    uint64_t alignment;          /* 32; gguf_make_alignment() changes it and writes its key */
    struct buf keys, infos, data;
};

void gguf_make_begin(struct gguf_make *m);
void gguf_make_free(struct gguf_make *m); /* gguf_make_file() has done it */

/* Keys. */
void gguf_make_u32(struct gguf_make *m, const char *key, uint32_t v);
void gguf_make_u64(struct gguf_make *m, const char *key, uint64_t v);
void gguf_make_f32(struct gguf_make *m, const char *key, float v);
void gguf_make_bool(struct gguf_make *m, const char *key, bool v);
void gguf_make_str(struct gguf_make *m, const char *key, const char *v);
void gguf_make_strs(struct gguf_make *m, const char *key, const char *const *v, uint64_t n);
void gguf_make_f32s(struct gguf_make *m, const char *key, const float *v, uint64_t n);
void gguf_make_i32s(struct gguf_make *m, const char *key, const int32_t *v, uint64_t n);
void gguf_make_array(struct gguf_make *m, const char *key, uint32_t element, uint64_t count, const void *v,
                     size_t bytes);
void gguf_make_alignment(struct gguf_make *m, uint32_t alignment);

/* A key of any type number with any bytes as its value. */
void gguf_make_raw_key(struct gguf_make *m, const char *name, size_t name_len, uint32_t type, const void *v,
                       size_t bytes);

/* A tensor: its info, and its data (as many bytes as type and dims ask for) at the next aligned offset. */
void gguf_make_tensor(struct gguf_make *m, const char *name, enum ktype type, int n_dims, const int64_t *dim,
                      const void *data);
/* Only an info, of any numbers. */
void gguf_make_raw_tensor(struct gguf_make *m, const char *name, size_t name_len, uint32_t n_dims, const uint64_t *dim,
                          uint32_t type, uint64_t offset);

/* The file, and an end to m; the caller owns it (buf_free). */
struct buf gguf_make_bytes(struct gguf_make *m);
/* The same as a file of that name in a folder of the test's own; the path lives until seven more were made. */
const char *gguf_make_file(struct gguf_make *m, const char *name);
const char *gguf_make_write(const char *name, const void *bytes, size_t n);

/* Numbers in files, little-endian. */
void gguf_make_put32(struct buf *b, uint32_t v);
void gguf_make_put64(struct buf *b, uint64_t v);
void gguf_make_put_str(struct buf *b, const void *s, size_t n);
#endif
