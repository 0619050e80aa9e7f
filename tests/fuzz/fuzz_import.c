/* fuzz_import.c - any bytes fed to an import, plain or compressed.
 *
 * covers: memory/import.c memory/import_line.c memory/import_write.c memory/base64.c
 *
 * An input: one byte, which makes the pieces that it is fed in, and the file.  What must hold: what is refused has a
 * line that says why, and the store has as many records as before; what is taken is, exported, imported and exported
 * again, the same text but for its first line. */
#include "memory/export.h"
#include "memory/import.h"
#include <ftw.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TAKEN = 200 }; /* sessions in a store, before another is begun */

static char dir[] = "/tmp/fuzz-import-XXXXXX";
static struct store *store;
static int taken;

static void must(bool holds)
{
    if (!holds) abort();
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void end_store(void)
{
    store_close(store);
    store = NULL;
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void begin_store(void)
{
    must(store_open(&store, dir, NULL, NULL) == 0);
    taken = 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    must(mkdtemp(dir) != NULL && atexit(end_store) == 0);
    begin_store();
    return 0;
}

static int import(const uint8_t *bytes, size_t n, size_t step, struct journal_head *h)
{
    struct import *im;
    struct err err = {0};
    int rc = import_open(&im, store, &err);
    for (size_t at = 0; at < n && rc == 0; at += step) rc = import_feed(im, bytes + at, MIN(step, n - at), &err);
    if (rc == 0) rc = import_end(im, h, &err);
    import_close(im);
    must(rc == 0 || (rc == IMPORT_BAD && err.text[0] && !strpbrk(err.text, "\n\r")));
    return rc;
}

static bool put(void *self, const char *bytes, size_t n)
{
    buf_put(self, bytes, n);
    return true;
}

static void missing(void *self, const char *line)
{
    (void)self;
    (void)line;
    abort(); /* what was just imported is whole */
}

static void export_to(const struct journal_head *h, struct buf *out)
{
    const struct export_sink sink = {put, missing, out};
    must(export_session(store, h, &(struct export_options){EXPORT_JSONL, true}, &sink, NULL) == 0);
}

static uint64_t records(void)
{
    struct store_stat st;
    must(store_stat(store, STORE_JOURNAL, &st, NULL) == 0);
    return st.records;
}

/* An artifact that is said to be lost is one that export finds lost again: those are not compared. */
static bool is_whole(const uint8_t *data, size_t size) { return !memmem(data, size, "lost", 4); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct journal_head h, copy;
    struct buf once = {0}, twice = {0};
    if (size == 0) return 0;
    uint64_t before = records();
    if (import(data + 1, size - 1, 1 + (size_t)data[0] * data[0], &h)) {
        must(records() == before);
        return 0;
    }
    if (is_whole(data, size)) {
        export_to(&h, &once);
        must(import((const uint8_t *)once.data, once.len, 4096, &copy) == 0);
        export_to(&copy, &twice);
        size_t a = strcspn(once.data, "\n"), b = strcspn(twice.data, "\n");
        must(once.len - a == twice.len - b && memcmp(once.data + a, twice.data + b, once.len - a) == 0);
    }
    buf_free(&once);
    buf_free(&twice);
    if (++taken < TAKEN) return 0;
    end_store();
    must(mkdir(dir, 0700) == 0);
    begin_store();
    return 0;
}
