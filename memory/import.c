/* import.c - bytes, unpacked as far as they may grow, become lines. */
#include "memory/import.h"
#include "memory/import_impl.h"
#include <inttypes.h>
#include <time.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { MAGIC = 4, UNPACKED = 1 << 16 };

struct import {
    struct import_write w;
    uint8_t magic[MAGIC]; /* the first bytes, until it is known what they begin */
    size_t n_magic;
    bool known;
    ZSTD_DCtx *z;         /* NULL: the bytes are the lines */
    bool in_frame;
    uint64_t packed, all; /* bytes that were fed, and the lines' */
    struct buf line;      /* so far */
    uint64_t number;      /* of lines that were taken */
    bool failed, ended;
};

int import_open(struct import **out, struct store *s, struct err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return err_set(err, STORE_NO_MEMORY, "no memory for an import");
    (*out)->w.s = s;
    return 0;
}

/* ------------------------------------------------------------------ lines */

static int take_line(struct import *im, struct err *err)
{
    struct import_line l;
    struct err why = {0};
    im->number++;
    int rc = import_line_read(im->line.data ? im->line.data : "", im->line.len, &l, &why);
    if (rc == 0) rc = import_write_line(&im->w, &l, &why);
    import_line_free(&l);
    im->line.len = 0;
    if (rc == IMPORT_BAD) return err_set(err, rc, "line %" PRIu64 ": %.400s", im->number, why.text);
    return rc ? err_set(err, rc, "%s", why.text) : 0;
}

static int take(struct import *im, const char *bytes, size_t n, struct err *err)
{
    int rc = 0;
    im->all += n;
    if (im->all > IMPORT_MOST)
        return err_set(err, IMPORT_BAD, "more than %" PRIu64 " GiB of lines", IMPORT_MOST >> 30);
    for (size_t at = 0; at < n && rc == 0;) {
        const char *end = memchr(bytes + at, '\n', n - at);
        size_t len = end ? (size_t)(end - bytes) - at : n - at;
        if (len > IMPORT_LINE - im->line.len)
            return err_set(err, IMPORT_BAD, "line %" PRIu64 " is longer than %d MiB", im->number + 1,
                           IMPORT_LINE >> 20);
        buf_put(&im->line, bytes + at, len);
        if (im->line.failed) return err_set(err, STORE_NO_MEMORY, "no memory for a line");
        if (end) rc = take_line(im, err);
        at += len + (end != NULL);
    }
    return rc;
}

/* ------------------------------------------------------------------ zstd */

static int unpack_failed(size_t got, struct err *err)
{
    if (ZSTD_getErrorCode(got) == ZSTD_error_frameParameter_windowTooLarge)
        return err_set(err, IMPORT_BAD, "its compression needs more than %d MiB of memory (zstd --ultra or --long): "
                       "unpack it first with zstd -d", 1 << (IMPORT_WINDOW_LOG - 20));
    return err_set(err, IMPORT_BAD, "its compression is damaged: %s", ZSTD_getErrorName(got));
}

/* What came out is looked at only if what went in accounts for it. */
static int unpack(struct import *im, const char *bytes, size_t n, struct err *err)
{
    char out_bytes[UNPACKED];
    ZSTD_inBuffer in = {bytes, n, 0};
    ZSTD_outBuffer out = {out_bytes, sizeof out_bytes, sizeof out_bytes};
    while (in.pos < in.size || out.pos == out.size) {
        size_t before = in.pos;
        out.pos = 0;
        size_t got = ZSTD_decompressStream(im->z, &out, &in);
        if (ZSTD_isError(got)) return unpack_failed(got, err);
        if (in.pos > before || out.pos > 0) im->in_frame = got != 0;
        im->packed += in.pos - before;
        if (im->all + out.pos > IMPORT_FREE + IMPORT_RATIO * im->packed)
            return err_set(err, IMPORT_BAD, "unpacked it is more than %d times as long, as a decompression bomb would "
                           "be: if you trust it, unpack it first with zstd -d", IMPORT_RATIO);
        int rc = take(im, out_bytes, out.pos, err);
        if (rc) return rc;
    }
    return 0;
}

static int begin_unpacking(struct import *im, struct err *err)
{
    im->z = ZSTD_createDCtx();
    if (!im->z || ZSTD_isError(ZSTD_DCtx_setParameter(im->z, ZSTD_d_windowLogMax, IMPORT_WINDOW_LOG)))
        return err_set(err, STORE_NO_MEMORY, "no memory to unpack an import");
    return 0;
}

/* ------------------------------------------------------------------ all of it */

static int feed(struct import *im, const char *bytes, size_t n, struct err *err)
{
    return im->z ? unpack(im, bytes, n, err) : take(im, bytes, n, err);
}

/* The first bytes say what it is. */
static int recognize(struct import *im, struct err *err)
{
    int rc = 0;
    im->known = true;
    if (im->n_magic == MAGIC && get_le(im->magic, MAGIC) == ZSTD_MAGICNUMBER) rc = begin_unpacking(im, err);
    return rc ? rc : feed(im, (const char *)im->magic, im->n_magic, err);
}

int import_feed(struct import *im, const void *bytes, size_t n, struct err *err)
{
    const char *at = bytes;
    int rc = 0;
    assert(!im->failed && !im->ended);
    while (!im->known && n > 0 && im->n_magic < MAGIC) {
        im->magic[im->n_magic++] = (uint8_t)*at++;
        n--;
    }
    if (!im->known && im->n_magic == MAGIC) rc = recognize(im, err);
    if (rc == 0 && n > 0) rc = feed(im, at, n, err);
    im->failed = rc != 0;
    return rc;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int import_end(struct import *im, struct journal_head *out, struct err *err)
{
    int rc = im->known ? 0 : recognize(im, err);
    assert(!im->failed && !im->ended);
    if (rc == 0 && im->in_frame) rc = err_set(err, IMPORT_BAD, "it ends within its compression: it was cut");
    if (rc == 0 && im->line.len > 0) rc = take_line(im, err);
    if (rc == 0 && !im->w.ended)
        rc = err_set(err, IMPORT_BAD, "it ends after line %" PRIu64 " without its last line: it was cut", im->number);
    im->w.head.updated_ms = now_ms(); /* it is the newest here */
    if (rc == 0) rc = import_write_end(&im->w, err);
    im->failed = rc != 0;
    im->ended = rc == 0;
    if (rc == 0) *out = im->w.head;
    if (rc == 0) out->run = im->w.run;
    return rc;
}

void import_close(struct import *im)
{
    if (!im) return;
    import_write_close(&im->w, im->ended);
    ZSTD_freeDCtx(im->z);
    buf_free(&im->line);
    free(im);
}
