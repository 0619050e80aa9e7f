/* gguf.h - a GGUF file (version 2 or 3, little-endian), read as if its author wished us harm.
 *
 *     magic "GGUF" | version | tensor count | key count | keys ... | tensor infos ... | pad | tensor data ...
 *
 * Format: the GGUF specification in the ggml project's docs/gguf.md.  Every count, length and offset is compared with
 * what the file can hold before a byte is allocated for it; after gguf_open() succeeded, every key is well-formed,
 * every tensor lies inside the file, overlaps no other, and its dimensions' product fits.
 *
 * Nothing is mapped: a file that shrinks under a mapping kills the process.  Data is read with pread() from the
 * descriptor that was checked, and gguf_unchanged() tells after loading whether size or modification time moved
 * meanwhile.
 *
 * Owner: the handle owns all strings, arrays and tensor infos that it returns; they live until gguf_close().
 * Threads: any number may read one handle.  Errors: one line that names file, key or tensor, byte offset, what was
 * found, what is allowed. */
#ifndef GGUF_H
#define GGUF_H
#include "kernels/quant.h"
#include "plimsoll.h"
#include <time.h>

struct gguf; /* opaque */

struct gguf_str { /* not NUL-terminated in meaning (may hold NUL bytes), but data[len] is 0 */
    const char *data;
    size_t len;
};

struct gguf_tensor {
    const char *name; /* no NUL inside, 1..63 bytes */
    int n_dims;       /* 1..4 */
    int64_t dim[4];   /* dim[0] is the contiguous one; unused ones are 1; each >= 1, product fits in int64_t */
    enum ktype type;  /* any type that ktype_info() knows, also ones that we cannot compute with */
    uint64_t offset;  /* from the start of the file */
    uint64_t bytes;
};

enum gguf_type { /* value types, numbers of the format */
    GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL, GGUF_STR, GGUF_ARRAY,
    GGUF_U64, GGUF_I64, GGUF_F64
};

/* Limits of ours, each far above what real files hold.  Exceeding one is an error that names it. */
enum {
    GGUF_MAX_KEYS = 65536,
    GGUF_MAX_TENSORS = 65536,
    GGUF_MAX_KEY_LEN = 65535,
    GGUF_MAX_NAME_LEN = 63
};
#define GGUF_MAX_STRING (1u << 30)
#define GGUF_MAX_ARRAY (1u << 30)

/* NULL: err says why.  Shards ("-00001-of-00003", split.count > 1) are refused by name. */
struct gguf *gguf_open(const char *path, struct err *err);
void gguf_close(struct gguf *g); /* NULL is fine */

const char *gguf_path(const struct gguf *g);
const char *gguf_shown(const struct gguf *g); /* its path, or the end of it, as a message may print it */
uint32_t gguf_version(const struct gguf *g);
uint64_t gguf_file_bytes(const struct gguf *g);
uint64_t gguf_bytes(const struct gguf *g); /* host memory that the handle holds */

/* Bytes of a file as a message may print them: printable UTF-8 as it is, all else as \xNN, so that a name cannot steer
 * the terminal.  What does not fit in room ends in "...".  Returns out.  GGUF_SHOWN is enough for a name. */
enum { GGUF_SHOWN = 112 };
const char *gguf_show(char *out, size_t room, const char *bytes, size_t n);

/* Keys.  0: *out set.  GGUF_MISSING: no such key, *out untouched, err untouched.  GGUF_WRONG: another type, or not
 * representable in *out (a negative count, say); err says what was found and what is allowed.
 * gguf_uint takes any integer type, gguf_float F32 and F64; a NaN or an infinity is GGUF_WRONG. */
enum { GGUF_OK = 0, GGUF_MISSING = 1, GGUF_WRONG = -1 };
bool gguf_has(const struct gguf *g, const char *key);
int gguf_uint(const struct gguf *g, const char *key, uint64_t max, uint64_t *out, struct err *err);
int gguf_float(const struct gguf *g, const char *key, double *out, struct err *err);
int gguf_bool(const struct gguf *g, const char *key, bool *out, struct err *err);
int gguf_string(const struct gguf *g, const char *key, struct gguf_str *out, struct err *err);

/* Arrays: *out points into the handle.  The element type must be exactly the one named: a narrower one, read wider, is
 * a known way to read past the end.  Values are as the file has them: gguf_float_array may hand out NaN. */
int gguf_string_array(const struct gguf *g, const char *key, const struct gguf_str **out, uint64_t *n, struct err *err);
int gguf_float_array(const struct gguf *g, const char *key, const float **out, uint64_t *n, struct err *err);
/* Elements I32, or U32 that fit. */
int gguf_int_array(const struct gguf *g, const char *key, const int32_t **out, uint64_t *n, struct err *err);

int gguf_bool_array(const struct gguf *g, const char *key, const uint8_t **out, uint64_t *n, struct err *err);

/* The i-th key, for listing: name, type, and (arrays) element type and count.  i < gguf_n_keys(). */
struct gguf_key {
    const char *name;
    enum gguf_type type, element;
    uint64_t count;
};
uint64_t gguf_n_keys(const struct gguf *g);
struct gguf_key gguf_key_at(const struct gguf *g, uint64_t i);

/* Tensors, in the file's order; they are consecutive in memory, so that t - gguf_tensor_at(g, 0) is t's index. */
uint64_t gguf_n_tensors(const struct gguf *g);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *g, uint64_t i);
const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name); /* NULL: no such */

/* Read n bytes of t's data from byte `from` of it into dst.  0, or -1 (the file ended early, an I/O error: err says
 * which). from + n <= t->bytes is the caller's duty. */
int gguf_read(const struct gguf *g, const struct gguf_tensor *t, uint64_t from, void *dst, size_t n, struct err *err);

/* What lies before the tensors' data: keys and tensor infos, as bytes.  Read like a tensor. */
uint64_t gguf_head_bytes(const struct gguf *g);
int gguf_read_head(const struct gguf *g, uint64_t from, void *dst, size_t n, struct err *err);

/* 0, or -1 when the file's size or modification time is no longer what it was at gguf_open(). */
int gguf_unchanged(const struct gguf *g, struct err *err);

/* For those who close a file and open its path again later: is it the same, as it was then? */
struct gguf_stamp {
    uint64_t device, inode, bytes;
    struct timespec mtime;
};
struct gguf_stamp gguf_stamp(const struct gguf *g);
/* 0, or -1: another file lies there now, or it was written since (err says which). */
int gguf_same(const struct gguf *g, const struct gguf_stamp *then, struct err *err);
#endif
