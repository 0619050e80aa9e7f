/* gguf_keys.c - the keys of a GGUF file by name and type.  A getter gives what was asked for or says what is there. */
#include "engine/gguf_impl.h"

#include <inttypes.h>
#include <math.h>

const struct gguf_type_info *gguf_type_info(uint32_t type)
{
    static const struct gguf_type_info types[] = {
        [GGUF_U8] = {"u8", 1},   [GGUF_I8] = {"i8", 1},         [GGUF_U16] = {"u16", 2},
        [GGUF_I16] = {"i16", 2}, [GGUF_U32] = {"u32", 4},       [GGUF_I32] = {"i32", 4},
        [GGUF_F32] = {"f32", 4}, [GGUF_BOOL] = {"bool", 1},     [GGUF_STR] = {"string", 8},
        [GGUF_ARRAY] = {"array", 12}, [GGUF_U64] = {"u64", 8},  [GGUF_I64] = {"i64", 8},
        [GGUF_F64] = {"f64", 8},
    };
    return type < COUNT_OF(types) ? &types[type] : NULL;
}

static int name_to_key(const void *name, const void *key)
{
    return strcmp(name, (*(const struct gguf_entry *const *)key)->name);
}

const struct gguf_entry *gguf_find(const struct gguf *g, const char *key)
{
    const struct gguf_entry **e =
        bsearch(key, g->keys_by_name, (size_t)g->n_keys, sizeof *g->keys_by_name, name_to_key);
    return e ? *e : NULL;
}

/* ----------------------------------------------------------------- refusing */

static void describe(const struct gguf_entry *e, char *out, size_t room)
{
    const char *type = gguf_type_info(e->type)->name;
    char text[64];
    switch (e->type) {
    case GGUF_I8: case GGUF_I16: case GGUF_I32: case GGUF_I64:
        snprintf(out, room, "%s %" PRId64, type, e->v.i);
        break;
    case GGUF_F32: case GGUF_F64:
        snprintf(out, room, "%s %g", type, e->v.f);
        break;
    case GGUF_BOOL:
        snprintf(out, room, "%s %s", type, e->v.b ? "true" : "false");
        break;
    case GGUF_STR:
        snprintf(out, room, "%s \"%s\"", type, gguf_show(text, sizeof text, e->v.s.data, e->v.s.len));
        break;
    case GGUF_ARRAY:
        snprintf(out, room, "an array of %" PRIu64 " %s", e->count, gguf_type_info(e->element)->name);
        break;
    default:
        snprintf(out, room, "%s %" PRIu64, type, e->v.u);
        break;
    }
}

int gguf_wrong(const struct gguf *g, const struct gguf_entry *e, struct err *err, const char *fmt, ...)
{
    char found[96], name[GGUF_SHOWN], allowed[128];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(allowed, sizeof allowed, fmt, ap);
    va_end(ap);
    describe(e, found, sizeof found);
    return err_set(err, GGUF_WRONG, "%s: key \"%s\" (byte %" PRIu64 ") is %s; %s", g->shown,
                   gguf_show(name, sizeof name, e->name, strlen(e->name)), e->at, found, allowed);
}

/* ------------------------------------------------------------------ scalars */

bool gguf_has(const struct gguf *g, const char *key) { return gguf_find(g, key) != NULL; }

int gguf_uint(const struct gguf *g, const char *key, uint64_t max, uint64_t *out, struct err *err)
{
    const struct gguf_entry *e = gguf_find(g, key);
    uint64_t value;
    if (!e) return GGUF_MISSING;
    switch (e->type) {
    case GGUF_U8: case GGUF_U16: case GGUF_U32: case GGUF_U64:
        value = e->v.u;
        break;
    case GGUF_I8: case GGUF_I16: case GGUF_I32: case GGUF_I64:
        if (e->v.i < 0) return gguf_wrong(g, e, err, "it must be from 0 to %" PRIu64, max);
        value = (uint64_t)e->v.i;
        break;
    default:
        return gguf_wrong(g, e, err, "an integer is needed");
    }
    if (value > max) return gguf_wrong(g, e, err, "it must be from 0 to %" PRIu64, max);
    *out = value;
    return GGUF_OK;
}

int gguf_float(const struct gguf *g, const char *key, double *out, struct err *err)
{
    const struct gguf_entry *e = gguf_find(g, key);
    if (!e) return GGUF_MISSING;
    if (e->type != GGUF_F32 && e->type != GGUF_F64) return gguf_wrong(g, e, err, "f32 or f64 is needed");
    if (!isfinite(e->v.f)) return gguf_wrong(g, e, err, "a finite number is needed");
    *out = e->v.f;
    return GGUF_OK;
}

int gguf_bool(const struct gguf *g, const char *key, bool *out, struct err *err)
{
    const struct gguf_entry *e = gguf_find(g, key);
    if (!e) return GGUF_MISSING;
    if (e->type != GGUF_BOOL) return gguf_wrong(g, e, err, "a bool is needed");
    *out = e->v.b;
    return GGUF_OK;
}

int gguf_string(const struct gguf *g, const char *key, struct gguf_str *out, struct err *err)
{
    const struct gguf_entry *e = gguf_find(g, key);
    if (!e) return GGUF_MISSING;
    if (e->type != GGUF_STR) return gguf_wrong(g, e, err, "a string is needed");
    *out = e->v.s;
    return GGUF_OK;
}

/* ------------------------------------------------------------------- arrays */

int gguf_string_array(const struct gguf *g, const char *key, const struct gguf_str **out, uint64_t *n, struct err *err)
{
    const struct gguf_entry *e = gguf_find(g, key);
    if (!e) return GGUF_MISSING;
    if (e->type != GGUF_ARRAY || e->element != GGUF_STR) return gguf_wrong(g, e, err, "an array of string is needed");
    *out = e->v.array;
    *n = e->count;
    return GGUF_OK;
}

int gguf_float_array(const struct gguf *g, const char *key, const float **out, uint64_t *n, struct err *err)
{
    const struct gguf_entry *e = gguf_find(g, key);
    if (!e) return GGUF_MISSING;
    if (e->type != GGUF_ARRAY || e->element != GGUF_F32) return gguf_wrong(g, e, err, "an array of f32 is needed");
    *out = e->v.array;
    *n = e->count;
    return GGUF_OK;
}

int gguf_int_array(const struct gguf *g, const char *key, const int32_t **out, uint64_t *n, struct err *err)
{
    const struct gguf_entry *e = gguf_find(g, key);
    if (!e) return GGUF_MISSING;
    if (e->type != GGUF_ARRAY || (e->element != GGUF_I32 && e->element != GGUF_U32))
        return gguf_wrong(g, e, err, "an array of i32 or u32 is needed");
    const int32_t *value = e->v.array;
    for (uint64_t i = 0; e->element == GGUF_U32 && i < e->count; i++) {
        if (value[i] < 0) {
            return gguf_wrong(g, e, err, "element %" PRIu64 " is %" PRIu32 ", at most %d is allowed", i,
                              (uint32_t)value[i], INT32_MAX);
        }
    }
    *out = value;
    *n = e->count;
    return GGUF_OK;
}

int gguf_bool_array(const struct gguf *g, const char *key, const uint8_t **out, uint64_t *n, struct err *err)
{
    const struct gguf_entry *e = gguf_find(g, key);
    if (!e) return GGUF_MISSING;
    if (e->type != GGUF_ARRAY || e->element != GGUF_BOOL) return gguf_wrong(g, e, err, "an array of bool is needed");
    *out = e->v.array;
    *n = e->count;
    return GGUF_OK;
}

/* ------------------------------------------------------------------ listing */

uint64_t gguf_n_keys(const struct gguf *g) { return g->n_keys; }

struct gguf_key gguf_key_at(const struct gguf *g, uint64_t i)
{
    assert(i < g->n_keys);
    const struct gguf_entry *e = &g->keys[i];
    return (struct gguf_key){e->name, e->type, e->element, e->count};
}
