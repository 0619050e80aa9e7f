/* gguf_make.c - GGUF files for tests; see gguf_make.h. */
#include "tests/gguf_make.h"

#include "tests/check.h"

#include <errno.h>
#include <unistd.h>

void gguf_make_put32(struct buf *b, uint32_t v)
{
    for (int i = 0; i < 4; i++, v >>= 8) buf_put(b, &(uint8_t){(uint8_t)v}, 1);
}

void gguf_make_put64(struct buf *b, uint64_t v)
{
    gguf_make_put32(b, (uint32_t)v);
    gguf_make_put32(b, (uint32_t)(v >> 32));
}

void gguf_make_put_str(struct buf *b, const void *s, size_t n)
{
    gguf_make_put64(b, n);
    buf_put(b, s, n);
}

static void put_f32(struct buf *b, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    gguf_make_put32(b, bits);
}

static void pad(struct buf *b, uint64_t to)
{
    while (b->len % to != 0 && !b->failed) buf_put(b, "", 1);
}

void gguf_make_begin(struct gguf_make *m)
{
    *m = (struct gguf_make){.magic = {'G', 'G', 'U', 'F'}, .version = 3, .alignment = 32};
}

void gguf_make_free(struct gguf_make *m)
{
    buf_free(&m->keys);
    buf_free(&m->infos);
    buf_free(&m->data);
}

/* --------------------------------------------------------------------- keys */

void gguf_make_raw_key(struct gguf_make *m, const char *name, size_t name_len, uint32_t type, const void *v,
                       size_t bytes)
{
    gguf_make_put_str(&m->keys, name, name_len);
    gguf_make_put32(&m->keys, type);
    buf_put(&m->keys, v, bytes);
    m->n_keys++;
}

static void key(struct gguf_make *m, const char *name, enum gguf_type type)
{
    gguf_make_raw_key(m, name, strlen(name), type, "", 0);
}

void gguf_make_u32(struct gguf_make *m, const char *name, uint32_t v)
{
    key(m, name, GGUF_U32);
    gguf_make_put32(&m->keys, v);
}

void gguf_make_u64(struct gguf_make *m, const char *name, uint64_t v)
{
    key(m, name, GGUF_U64);
    gguf_make_put64(&m->keys, v);
}

void gguf_make_f32(struct gguf_make *m, const char *name, float v)
{
    key(m, name, GGUF_F32);
    put_f32(&m->keys, v);
}

void gguf_make_bool(struct gguf_make *m, const char *name, bool v)
{
    gguf_make_raw_key(m, name, strlen(name), GGUF_BOOL, &(uint8_t){v}, 1);
}

void gguf_make_str(struct gguf_make *m, const char *name, const char *v)
{
    key(m, name, GGUF_STR);
    gguf_make_put_str(&m->keys, v, strlen(v));
}

void gguf_make_array(struct gguf_make *m, const char *name, uint32_t element, uint64_t count, const void *v,
                     size_t bytes)
{
    key(m, name, GGUF_ARRAY);
    gguf_make_put32(&m->keys, element);
    gguf_make_put64(&m->keys, count);
    buf_put(&m->keys, v, bytes);
}

void gguf_make_strs(struct gguf_make *m, const char *name, const char *const *v, uint64_t n)
{
    gguf_make_array(m, name, GGUF_STR, n, "", 0);
    for (uint64_t i = 0; i < n; i++) gguf_make_put_str(&m->keys, v[i], strlen(v[i]));
}

void gguf_make_f32s(struct gguf_make *m, const char *name, const float *v, uint64_t n)
{
    gguf_make_array(m, name, GGUF_F32, n, "", 0);
    for (uint64_t i = 0; i < n; i++) put_f32(&m->keys, v[i]);
}

void gguf_make_i32s(struct gguf_make *m, const char *name, const int32_t *v, uint64_t n)
{
    gguf_make_array(m, name, GGUF_I32, n, "", 0);
    for (uint64_t i = 0; i < n; i++) gguf_make_put32(&m->keys, (uint32_t)v[i]);
}

void gguf_make_alignment(struct gguf_make *m, uint32_t alignment)
{
    gguf_make_u32(m, "general.alignment", alignment);
    m->alignment = alignment;
}

/* ------------------------------------------------------------------ tensors */

void gguf_make_raw_tensor(struct gguf_make *m, const char *name, size_t name_len, uint32_t n_dims, const uint64_t *dim,
                          uint32_t type, uint64_t offset)
{
    gguf_make_put_str(&m->infos, name, name_len);
    gguf_make_put32(&m->infos, n_dims);
    for (uint32_t i = 0; i < n_dims; i++) gguf_make_put64(&m->infos, dim[i]);
    gguf_make_put32(&m->infos, type);
    gguf_make_put64(&m->infos, offset);
    m->n_tensors++;
}

void gguf_make_tensor(struct gguf_make *m, const char *name, enum ktype type, int n_dims, const int64_t *dim,
                      const void *data)
{
    const struct ktype_info *info = ktype_info((uint32_t)type);
    uint64_t raw[4] = {1, 1, 1, 1}, n = 1;
    assert(info && n_dims >= 1 && n_dims <= 4);
    for (int i = 0; i < n_dims; i++) n *= raw[i] = (uint64_t)dim[i];
    assert(raw[0] % (uint64_t)info->block == 0);
    pad(&m->data, m->alignment);
    gguf_make_raw_tensor(m, name, strlen(name), (uint32_t)n_dims, raw, (uint32_t)type, m->data.len);
    size_t bytes = (size_t)(n / (uint64_t)info->block * (uint64_t)info->bytes);
    if (data) {
        buf_put(&m->data, data, bytes);
    } else {
        for (size_t i = 0; i < bytes; i++) buf_put(&m->data, "", 1);
    }
    pad(&m->data, m->alignment);
}

/* --------------------------------------------------------------------- file */

struct buf gguf_make_bytes(struct gguf_make *m)
{
    struct buf b = {0};
    buf_put(&b, m->magic, 4);
    gguf_make_put32(&b, m->version);
    gguf_make_put64(&b, m->n_tensors);
    gguf_make_put64(&b, m->n_keys);
    buf_put(&b, m->keys.data, m->keys.len);
    buf_put(&b, m->infos.data, m->infos.len);
    if (m->data.len > 0) pad(&b, m->alignment);
    buf_put(&b, m->data.data, m->data.len);
    bool failed = b.failed || m->keys.failed || m->infos.failed || m->data.failed;
    if (failed) check_fail(__FILE__, __LINE__, "out of memory");
    gguf_make_free(m);
    return b;
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    unlink(path); /* a new file each time: some filesystems wait for the disk when an old one is emptied */
    FILE *f = fopen(path, "wb");
    size_t wrote = f ? fwrite(bytes, 1, n, f) : 0;
    if (!f || fclose(f) || wrote != n) check_fail(__FILE__, __LINE__, "%s: %s", path, strerror(errno));
}

const char *gguf_make_write(const char *name, const void *bytes, size_t n)
{
    enum { SEED = 80 * 1024 };
    const char *seeds = getenv("GGUF_CORPUS");
    char kept[4096];
    if (seeds && n <= SEED) {
        snprintf(kept, sizeof kept, "%s/%s", seeds, name);
        write_file(kept, bytes, n);
    }

    static const char *folder;
    static struct buf paths[8]; /* a few at a time suffice a test; the ninth takes the first one's place */
    static unsigned next;
    if (!folder) folder = check_tmpdir();
    struct buf *path = &paths[next++ % COUNT_OF(paths)];
    buf_free(path);
    buf_printf(path, "%s/%s", folder, name);
    if (path->failed) check_fail(__FILE__, __LINE__, "out of memory");
    write_file(path->data, bytes, n);
    return path->data;
}

const char *gguf_make_file(struct gguf_make *m, const char *name)
{
    struct buf b = gguf_make_bytes(m);
    const char *path = gguf_make_write(name, b.data, b.len);
    buf_free(&b);
    return path;
}
