/* gguf_parse.c - the header of a GGUF file: magic, counts, keys, tensor infos.  Layout as in gguf.h:
 *
 *     key     u64 length, name | u32 type | value
 *     value   a scalar | u64 length, bytes (string) | u32 element type, u64 count, elements (array)
 *     tensor  u64 length, name | u32 dimensions n | u64 each, n times | u32 type | u64 offset from the data's start
 *
 * Rules that the format's own tools keep are kept as strictly here: names are unique, a bool is 0 or 1, arrays do not
 * nest, the alignment is a power of two, and tensors lie in the order of their infos, each at exactly the padded end of
 * the one before (so none can overlap).  A number is used only after it was compared with what is left of the file. */
#include "engine/gguf_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

enum {
    BUFFER = 32 * 1024,
    BLOCK = 64 * 1024,         /* of the arena */
    KEY_LEAST = 8 + 1 + 4 + 1, /* bytes that the smallest key takes: a name of one byte, one byte of value */
    TENSOR_LEAST = 8 + 1 + 4 + 8 + 4 + 8,
    DEFAULT_ALIGNMENT = 32
};

struct parse {
    struct gguf *g;
    struct err *err;
    uint64_t pos; /* of the next byte, in the file */
    /* What is being read, for messages. */
    const char *what; /* "key", "tensor"; NULL: the header's first numbers */
    uint64_t index, n;
    uint64_t at;
    const char *name; /* NULL: not read yet */
    /* buffer[from .. to) are the file's bytes at pos. */
    size_t from, to;
    unsigned char buffer[BUFFER];
};

/* ------------------------------------------------------------------ failing */

__attribute__((format(printf, 2, 3))) static int fail(const struct parse *p, const char *fmt, ...)
{
    char text[256], name[GGUF_SHOWN];
    const char *path = p->g->shown;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!p->what) return err_set(p->err, -1, "%s: %s", path, text);
    if (!p->name)
        return err_set(p->err, -1, "%s: %s %" PRIu64 " of %" PRIu64 " (byte %" PRIu64 "): %s", path, p->what,
                       p->index + 1, p->n, p->at, text);
    return err_set(p->err, -1, "%s: %s \"%s\" (byte %" PRIu64 "): %s", path, p->what,
                   gguf_show(name, sizeof name, p->name, strlen(p->name)), p->at, text);
}

static int cut_short(const struct parse *p, uint64_t need)
{
    return fail(p, "%" PRIu64 " bytes are needed at byte %" PRIu64 " and the file ends at byte %" PRIu64
                ": it is damaged or cut short; download it again", need, p->pos, p->g->file_bytes);
}

/* ------------------------------------------------------------------ reading */

static uint64_t left(const struct parse *p) { return p->g->file_bytes - p->pos; }

/* One pread of up to n bytes at the file's byte `at`; at least one, or -1. */
static ssize_t read_some(const struct parse *p, void *dst, size_t n, uint64_t at)
{
    ssize_t got;
    do got = pread(p->g->fd, dst, n, (off_t)at);
    while (got < 0 && errno == EINTR);
    if (got < 0) return fail(p, "byte %" PRIu64 " cannot be read: %s", at, strerror(errno));
    if (got == 0) return fail(p, "the file was cut at or before byte %" PRIu64 " while it was read", at);
    return got;
}

static int take(struct parse *p, void *dst, size_t n)
{
    if (n > left(p)) return cut_short(p, n);
    for (char *to = dst; n > 0;) {
        size_t have = MIN(p->to - p->from, n);
        ssize_t got = 0;
        if (have > 0) {
            memcpy(to, p->buffer + p->from, have);
            p->from += have;
        } else if (n >= BUFFER) {
            if ((got = read_some(p, to, n, p->pos)) < 0) return -1;
            have = (size_t)got;
        } else {
            if ((got = read_some(p, p->buffer, BUFFER, p->pos)) < 0) return -1;
            p->from = 0;
            p->to = (size_t)got;
        }
        to += have;
        n -= have;
        p->pos += have;
    }
    return 0;
}

/* n bytes that live as long as the handle; NULL: err is set.  The caller compared n with what is left of the file. */
static void *keep(struct parse *p, uint64_t n, size_t align)
{
    struct gguf *g = p->g;
    struct gguf_block *b = g->arena;
    if (n > GGUF_MAX_HEADER_BYTES - g->arena_bytes) {
        fail(p, "%" PRIu64 " bytes are too many: keys and names of a file may hold %llu bytes together", n,
             GGUF_MAX_HEADER_BYTES);
        return NULL;
    }
    g->arena_bytes += n;
    if (b) b->used = (size_t)size_align(b->used, align);
    if (!b || b->used > b->cap || n > b->cap - b->used) {
        size_t cap = n > BLOCK / 2 ? (size_t)n : BLOCK;
        struct gguf_block *fresh = malloc(sizeof *fresh + cap);
        if (!fresh) {
            fail(p, "out of memory for %" PRIu64 " bytes", n);
            return NULL;
        }
        fresh->used = 0;
        fresh->cap = cap;
        if (b && n > BLOCK / 2) { /* a block of its own; what is left of the open one stays in use */
            fresh->next = b->next;
            b->next = fresh;
        } else {
            fresh->next = b;
            g->arena = fresh;
        }
        b = fresh;
    }
    void *out = b->data + b->used;
    b->used += (size_t)n;
    return out;
}

static int take_u32(struct parse *p, uint32_t *out) { return take(p, out, sizeof *out); }
static int take_u64(struct parse *p, uint64_t *out) { return take(p, out, sizeof *out); }

/* what: "name", "string", for the message. */
static int take_str(struct parse *p, const char *what, uint64_t max, struct gguf_str *out)
{
    uint64_t len;
    if (take_u64(p, &len)) return -1;
    if (len > max) {
        return fail(p, "its %s has a length of %" PRIu64 " (byte %" PRIu64 "); at most %" PRIu64 " is allowed", what,
                    len, p->pos - 8, max);
    }
    if (len > left(p)) return cut_short(p, len);
    char *data = keep(p, len + 1, 1);
    if (!data || take(p, data, (size_t)len)) return -1;
    data[len] = '\0';
    *out = (struct gguf_str){data, (size_t)len};
    return 0;
}

/* A name that a message or a listing could not print as it is would be a trap for whoever prints it; none is real. */
static int take_name(struct parse *p, uint64_t max, const char **out)
{
    struct gguf_str name;
    char shown[GGUF_SHOWN];
    if (take_str(p, "name", max, &name)) return -1;
    if (name.len == 0) return fail(p, "its name is empty");
    if (!gguf_printable(name.data, name.len)) {
        return fail(p, "its name \"%s\" has a control character or is not UTF-8",
                    gguf_show(shown, sizeof shown, name.data, name.len));
    }
    *out = p->name = name.data;
    return 0;
}

/* --------------------------------------------------------------------- keys */

static int take_scalar(struct parse *p, struct gguf_entry *e)
{
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        float f32;
        uint64_t u64;
        int64_t i64;
        double f64;
    } raw;
    if (take(p, &raw, gguf_type_info(e->type)->bytes)) return -1;
    switch (e->type) {
    case GGUF_U8: e->v.u = raw.u8; break;
    case GGUF_I8: e->v.i = raw.i8; break;
    case GGUF_U16: e->v.u = raw.u16; break;
    case GGUF_I16: e->v.i = raw.i16; break;
    case GGUF_U32: e->v.u = raw.u32; break;
    case GGUF_I32: e->v.i = raw.i32; break;
    case GGUF_F32: e->v.f = (double)raw.f32; break;
    case GGUF_U64: e->v.u = raw.u64; break;
    case GGUF_I64: e->v.i = raw.i64; break;
    case GGUF_F64: e->v.f = raw.f64; break;
    default:
        assert(e->type == GGUF_BOOL);
        if (raw.u8 > 1) return fail(p, "a bool is %u (byte %" PRIu64 "); 0 or 1 is allowed", raw.u8, p->pos - 1);
        e->v.b = raw.u8;
        break;
    }
    return 0;
}

static int take_strings(struct parse *p, struct gguf_entry *e)
{
    /* Each string takes at least 8 bytes of the file, so this list is at most twice what is left of it. */
    struct gguf_str *s = keep(p, e->count * sizeof *s, _Alignof(struct gguf_str));
    if (!s) return -1;
    for (uint64_t i = 0; i < e->count; i++)
        if (take_str(p, "string", GGUF_MAX_STRING, &s[i])) return -1;
    e->v.array = s;
    return 0;
}

static int take_array(struct parse *p, struct gguf_entry *e)
{
    uint32_t element;
    if (take_u32(p, &element) || take_u64(p, &e->count)) return -1;
    const struct gguf_type_info *info = gguf_type_info(element);
    if (!info) return fail(p, "its elements are of type %" PRIu32 ", which does not exist (0 to 12 do)", element);
    if (element == GGUF_ARRAY) return fail(p, "it is an array of arrays, which is not read");
    e->element = (enum gguf_type)element;
    if (e->count > GGUF_MAX_ARRAY)
        return fail(p, "it has %" PRIu64 " elements; at most %u are allowed", e->count, GGUF_MAX_ARRAY);
    uint64_t bytes = e->count * info->bytes; /* at most 2^30 * 8 */
    if (bytes > left(p)) return cut_short(p, bytes);
    if (element == GGUF_STR) return take_strings(p, e);

    uint8_t *data = keep(p, bytes, 8);
    if (!data || take(p, data, (size_t)bytes)) return -1;
    for (uint64_t i = 0; element == GGUF_BOOL && i < e->count; i++)
        if (data[i] > 1) return fail(p, "bool %" PRIu64 " of it is %u; 0 or 1 is allowed", i, data[i]);
    e->v.array = data;
    return 0;
}

static int take_key(struct parse *p, struct gguf_entry *e)
{
    uint32_t type;
    e->at = p->pos;
    if (take_name(p, GGUF_MAX_KEY_LEN, &e->name) || take_u32(p, &type)) return -1;
    if (!gguf_type_info(type)) return fail(p, "its type is %" PRIu32 ", which does not exist (0 to 12 do)", type);
    e->type = e->element = (enum gguf_type)type;
    e->count = 1;
    if (type == GGUF_STR) return take_str(p, "string", GGUF_MAX_STRING, &e->v.s);
    if (type == GGUF_ARRAY) return take_array(p, e);
    return take_scalar(p, e);
}

static int key_order(const void *a, const void *b)
{
    const struct gguf_entry *x = *(const struct gguf_entry *const *)a, *y = *(const struct gguf_entry *const *)b;
    return strcmp(x->name, y->name);
}

/* What is being read is now item i of n; its name is not known yet. */
static void begin(struct parse *p, const char *what, uint64_t i, uint64_t n)
{
    p->what = what;
    p->index = i;
    p->n = n;
    p->at = p->pos;
    p->name = NULL;
}

static int take_keys(struct parse *p, uint64_t n)
{
    struct gguf *g = p->g;
    g->keys = calloc((size_t)n + 1, sizeof *g->keys);
    g->keys_by_name = calloc((size_t)n + 1, sizeof *g->keys_by_name);
    if (!g->keys || !g->keys_by_name) return fail(p, "out of memory for %" PRIu64 " keys", n);
    for (uint64_t i = 0; i < n; i++) {
        begin(p, "key", i, n);
        if (take_key(p, &g->keys[i])) return -1;
        g->keys_by_name[i] = &g->keys[i];
    }
    g->n_keys = n;
    qsort(g->keys_by_name, (size_t)n, sizeof *g->keys_by_name, key_order);
    for (uint64_t i = 1; i < n; i++) {
        const struct gguf_entry *x = g->keys_by_name[i - 1], *y = g->keys_by_name[i];
        if (strcmp(x->name, y->name) != 0) continue;
        p->name = x->name;
        p->at = MAX(x->at, y->at);
        return fail(p, "it was already at byte %" PRIu64 "; a key may be there once", MIN(x->at, y->at));
    }
    return 0;
}

/* Only u32, as the format says: readers that took another type for it read four bytes of something else. */
static int find_alignment(const struct parse *p, uint64_t *out)
{
    const struct gguf_entry *e = gguf_find(p->g, "general.alignment");
    *out = DEFAULT_ALIGNMENT;
    if (!e) return 0;
    if (e->type != GGUF_U32 || e->v.u == 0 || (e->v.u & (e->v.u - 1)) != 0)
        return gguf_wrong(p->g, e, p->err, "a power of two is needed, as u32");
    *out = e->v.u;
    return 0;
}

/* ------------------------------------------------------------------ tensors */

static int take_shape(struct parse *p, struct gguf_tensor *t)
{
    uint32_t n_dims;
    uint64_t product = 1;
    if (take_u32(p, &n_dims)) return -1;
    if (n_dims < 1 || n_dims > 4) return fail(p, "it has %" PRIu32 " dimensions; 1 to 4 are allowed", n_dims);
    t->n_dims = (int)n_dims;
    for (int i = 0; i < 4; i++) {
        uint64_t dim = 1;
        if (i < t->n_dims && take_u64(p, &dim)) return -1;
        if (dim < 1 || dim > INT64_MAX)
            return fail(p, "dimension %d is %" PRIu64 "; 1 to %" PRId64 " is allowed", i, dim, INT64_MAX);
        if (size_mul(product, dim, &product) || product > INT64_MAX)
            return fail(p, "its dimensions' product does not fit in 63 bits (dimension %d is %" PRIu64 ")", i, dim);
        t->dim[i] = (int64_t)dim;
    }
    return 0;
}

static int take_type(struct parse *p, struct gguf_tensor *t)
{
    uint32_t type;
    if (take_u32(p, &type)) return -1;
    const struct ktype_info *info = ktype_info(type);
    if (!info) return fail(p, "its type is number %" PRIu32 ", which is withdrawn or newer than this program", type);
    t->type = (enum ktype)type;
    if (t->dim[0] % info->block != 0) {
        return fail(p, "its rows have %" PRId64 " values; %s needs a multiple of %d", t->dim[0], info->name,
                    info->block);
    }
    uint64_t n = (uint64_t)(t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3]);
    if (size_mul(n / (uint64_t)info->block, (uint64_t)info->bytes, &t->bytes) || t->bytes > INT64_MAX)
        return fail(p, "%" PRIu64 " values of %s do not fit in 63 bits of bytes", n, info->name);
    return 0;
}

/* *end: where the data of the tensors before ends, padded, counted from the data's start; moved past this one. */
static int take_tensor(struct parse *p, struct gguf_tensor *t, uint64_t alignment, uint64_t *end)
{
    if (take_name(p, GGUF_MAX_NAME_LEN, &t->name) || take_shape(p, t) || take_type(p, t)) return -1;
    if (take_u64(p, &t->offset)) return -1;
    if (t->offset != *end) {
        return fail(p, "its offset is %" PRIu64 "; %" PRIu64 " is needed, the end of the tensors before it", t->offset,
                    *end);
    }
    if (size_add(*end, size_align(t->bytes, alignment), end) || *end > INT64_MAX)
        return fail(p, "the sizes of the tensors up to this one do not fit in 63 bits");
    return 0;
}

static int tensor_order(const void *a, const void *b)
{
    const struct gguf_tensor *x = *(const struct gguf_tensor *const *)a, *y = *(const struct gguf_tensor *const *)b;
    return strcmp(x->name, y->name);
}

static int take_tensors(struct parse *p, uint64_t n)
{
    struct gguf *g = p->g;
    uint64_t alignment, end = 0;
    if (find_alignment(p, &alignment)) return -1;
    g->tensors = calloc((size_t)n + 1, sizeof *g->tensors);
    g->tensors_by_name = calloc((size_t)n + 1, sizeof *g->tensors_by_name);
    if (!g->tensors || !g->tensors_by_name) return fail(p, "out of memory for %" PRIu64 " tensors", n);
    for (uint64_t i = 0; i < n; i++) {
        begin(p, "tensor", i, n);
        if (take_tensor(p, &g->tensors[i], alignment, &end)) return -1;
        g->tensors_by_name[i] = &g->tensors[i];
    }
    g->n_tensors = n;

    uint64_t start = size_align(p->pos, alignment); /* both far below 2^63 */
    p->what = NULL;
    for (uint64_t i = 0; i < n; i++) {
        struct gguf_tensor *t = &g->tensors[i];
        uint64_t stop;
        if (size_add(start, t->offset, &t->offset) || size_add(t->offset, t->bytes, &stop) || stop > g->file_bytes) {
            return fail(p, "tensor \"%s\" has %" PRIu64 " bytes at byte %" PRIu64 " and the file ends at byte %" PRIu64
                        ": it is damaged or cut short; download it again", t->name, t->bytes, t->offset, g->file_bytes);
        }
    }
    qsort(g->tensors_by_name, (size_t)n, sizeof *g->tensors_by_name, tensor_order);
    for (uint64_t i = 1; i < n; i++)
        if (strcmp(g->tensors_by_name[i - 1]->name, g->tensors_by_name[i]->name) == 0)
            return fail(p, "tensor \"%s\" is there twice", g->tensors_by_name[i]->name);
    return 0;
}

/* ------------------------------------------------------------------- header */

static int check_version(const struct parse *p, uint32_t version)
{
    if ((version & 0xffff) == 0) {
        return fail(p, "is a big-endian GGUF (version 0x%08" PRIx32 " at byte 4); little-endian is read: download it "
                    "as that", version);
    }
    if (version == 1) return fail(p, "is GGUF version 1 (byte 4) of 2023; 2 and 3 are read: download a newer file");
    if (version != 2 && version != 3)
        return fail(p, "is GGUF version %" PRIu32 " (byte 4); this program reads 2 and 3", version);
    return 0;
}

static int check_counts(const struct parse *p, uint64_t n_tensors, uint64_t n_keys)
{
    if (n_tensors > GGUF_MAX_TENSORS)
        return fail(p, "says it has %" PRIu64 " tensors (byte 8); at most %d are allowed", n_tensors, GGUF_MAX_TENSORS);
    if (n_keys > GGUF_MAX_KEYS)
        return fail(p, "says it has %" PRIu64 " keys (byte 16); at most %d are allowed", n_keys, GGUF_MAX_KEYS);
    if (n_tensors * TENSOR_LEAST + n_keys * KEY_LEAST > left(p)) {
        return fail(p, "says it has %" PRIu64 " tensors and %" PRIu64 " keys (byte 8), too many for its %" PRIu64
                    " bytes: it is damaged or cut short; download it again", n_tensors, n_keys, p->g->file_bytes);
    }
    return 0;
}

int gguf_parse(struct gguf *g, struct err *err)
{
    struct parse p;
    memset(&p, 0, offsetof(struct parse, buffer));
    p.g = g;
    p.err = err;

    uint32_t magic; /* checked by the caller */
    uint64_t n_tensors, n_keys;
    if (take_u32(&p, &magic) || take_u32(&p, &g->version) || check_version(&p, g->version)) return -1;
    if (take_u64(&p, &n_tensors) || take_u64(&p, &n_keys) || check_counts(&p, n_tensors, n_keys)) return -1;
    if (take_keys(&p, n_keys)) return -1;
    return take_tensors(&p, n_tensors);
}
