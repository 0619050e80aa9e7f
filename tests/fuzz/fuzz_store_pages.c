/* fuzz_store_pages.c - a store's file with any of its bytes changed, walked page by page.
 *
 * covers: memory/store_pages.c
 *
 * An input: changes of five bytes each, where:4 (little-endian, modulo the file's length) and the new byte; where
 * 0xffffffff cuts the file at so many 255ths of its length.  What must hold: the walk ends, each complaint is one line,
 * and every record that is believed is the one that was written. */
#include "memory/store_impl.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORDS = 400 };
static struct buf base;

static void must(bool holds)
{
    if (!holds) abort();
}

/* The one body that this key has; some lie on overflow pages. */
static void body_of(const uint8_t *key, size_t n, struct buf *out)
{
    uint32_t crc = crc32c(0, key, n);
    size_t len = crc % 50 == 0 ? 5000 : crc % 90;
    out->len = 0;
    while (out->len < len) buf_printf(out, "%08x ", crc);
}

static void put_all(MDB_env *env, bool removes)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    struct buf body = {0}, value = {0};
    must(mdb_txn_begin(env, NULL, 0, &txn) == 0 && mdb_dbi_open(txn, NULL, 0, &dbi) == 0);
    for (uint64_t i = 0; i < RECORDS; i += removes ? 7 : 1) {
        struct store_key key = store_key_message((const uint8_t *)"sixteen bytes id", i);
        MDB_val k = {key.n, key.byte};
        body_of(key.byte, key.n, &body);
        value.len = 0;
        must(rec_encode(REC_MESSAGE, key.byte, key.n, body.data, body.len, &value) == 0);
        MDB_val v = {value.len, value.data};
        must((removes ? mdb_del(txn, dbi, &k, NULL) : mdb_put(txn, dbi, &k, &v, 0)) == 0);
    }
    must(mdb_txn_commit(txn) == 0);
    buf_free(&body);
    buf_free(&value);
}

/* The file as LMDB makes it, with free pages in it. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[] = "/tmp/fuzz-pages-XXXXXX", part[4096];
    MDB_env *env = NULL;
    ssize_t n;
    int fd = mkstemp(path);
    (void)argc;
    (void)argv;
    must(fd >= 0 && mdb_env_create(&env) == 0);
    must(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0600) == 0);
    put_all(env, false);
    put_all(env, true);
    mdb_env_close(env);
    while ((n = read(fd, part, sizeof part)) > 0) buf_put(&base, part, (size_t)n);
    close(fd);
    unlink(path);
    return 0;
}

static bool see(void *user, const uint8_t *key, size_t key_len, const uint8_t *value, size_t n)
{
    struct rec r;
    struct buf *body = user;
    if (rec_decode(value, n, REC_MESSAGE, key, key_len, &r)) return true;
    body_of(key, key_len, body);
    must(r.len == body->len && (r.len == 0 || memcmp(r.body, body->data, r.len) == 0));
    return key[key_len - 1] != 0xff; /* a visitor may have enough */
}

static void complain(void *user, const char *line)
{
    (void)user;
    must(line[0] != '\0');
    for (const char *c = line; *c; c++) must(*c >= 0x20 && *c < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf body = {0};
    const struct pages_visit visit = {.record = see, .damaged = complain, .user = &body};
    char *file = malloc(base.len);
    size_t len = base.len;
    int fd = memfd_create("pages", MFD_CLOEXEC);
    must(file && fd >= 0);
    memcpy(file, base.data, base.len);
    size_t changes = size / 5;
    for (; size >= 5; data += 5, size -= 5) {
        size_t where = get_le(data, 4);
        if (where == UINT32_MAX) len = base.len * data[4] / 255;
        else file[where % base.len] = (char)data[4];
    }
    must(len == 0 || write(fd, file, len) == (ssize_t)len);
    int faults = pages_walk(fd, PAGES_NEWEST, &visit);
    must(faults >= 0 && (faults == 0 || changes > 0) && (faults > 0 || len > base.len / 2));
    pages_walk(fd, 2, &visit);
    close(fd);
    free(file);
    buf_free(&body);
    return 0;
}
