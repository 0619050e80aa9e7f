/* gguf.c - a GGUF file: opened, its tensor data read, closed.  See gguf.h; the header is read in gguf_parse.c. */
#include "engine/gguf_impl.h"

#include "engine/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- messages */

/* The bytes of the printable character at p, or 0.  C1 controls (U+0080..U+009F) steer a terminal as C0 ones do. */
static size_t printable_at(const char *p, size_t n)
{
    unsigned char c = (unsigned char)*p;
    if (c < 0x80) return c >= 0x20 && c != 0x7f;
    if (c == 0xc2 && n > 1 && (unsigned char)p[1] < 0xa0) return 0;
    size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    return want <= n && text_valid_utf8(p, want) == want ? want : 0;
}

bool gguf_printable(const char *bytes, size_t n)
{
    for (size_t i = 0, step; i < n; i += step) {
        step = printable_at(bytes + i, n - i);
        if (step == 0) return false;
    }
    return true;
}

const char *gguf_show(char *out, size_t room, const char *bytes, size_t n)
{
    size_t used = 0, i = 0;
    assert(room >= 8);
    while (i < n) {
        size_t step = printable_at(bytes + i, n - i), need = step ? step : 4;
        if (used + need + 4 > room) {
            strcpy(out + used, "...");
            return out;
        }
        if (step) {
            memcpy(out + used, bytes + i, step);
        } else {
            snprintf(out + used, 5, "\\x%02x", (unsigned)(unsigned char)bytes[i]);
            step = 1;
        }
        used += need;
        i += step;
    }
    out[used] = '\0';
    return out;
}

/* A path's end says more than its beginning, and a message has 480 bytes for all. */
static char *show_path(const char *path)
{
    enum { TAIL = 140 };
    char text[4 * TAIL + 16];
    size_t len = strlen(path), skip = len > TAIL ? len - TAIL : 0;
    while (skip > 0 && ((unsigned char)path[skip] & 0xc0) == 0x80) skip++; /* not the middle of a character */
    gguf_show(text, MIN(sizeof text, (size_t)TAIL + 40), path + skip, len - skip);
    char *shown;
    return asprintf(&shown, "%s%s", skip ? "..." : "", text) < 0 ? NULL : shown;
}

/* ----------------------------------------------------------------- opening */

static int check_kind(const struct gguf *g, const struct stat *st, struct err *err)
{
    const char *kind = S_ISDIR(st->st_mode)    ? "a folder"
                       : S_ISFIFO(st->st_mode) ? "a pipe"
                       : S_ISCHR(st->st_mode)  ? "a device"
                       : S_ISBLK(st->st_mode)  ? "a device"
                                               : "no regular file";
    if (S_ISREG(st->st_mode)) return 0;
    return err_set(err, -1, "%s: is %s; a model is a regular file (NAME.gguf)", g->shown, kind);
}

/* What people have in place of a model, known by its first bytes. */
static const char *known_mistake(const char *head, size_t n)
{
    static const struct {
        const char *start, *text;
    } known[] = {
        {"<", "is a web page, not a model: the download went wrong (a log-in page?); download it again"},
        {"{", "is JSON, not a model: the download went wrong (an error message?); download it again"},
        {"version https://git-lfs", "is a Git LFS pointer, not the model: fetch the model itself with `git lfs pull`"},
        {"lmgg", "is an old GGML file, from before GGUF: download the model as GGUF"},
        {"fmgg", "is an old GGML file, from before GGUF: download the model as GGUF"},
        {"tjgg", "is an old GGML file, from before GGUF: download the model as GGUF"},
        {"algg", "is a GGML adapter from before GGUF; adapters are not read"},
        {"PK\003\004", "is a zip archive or a PyTorch file, not GGUF: download the model as GGUF"},
    };
    size_t skip = 0;
    while (skip < n && memchr(" \t\r\n\xef\xbb\xbf", head[skip], 7)) skip++;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        size_t len = strlen(known[i].start);
        if (n - skip >= len && memcmp(head + skip, known[i].start, len) == 0) return known[i].text;
    }
    if (n > 9 && head[7] == '\0' && head[8] == '{') return "is a safetensors file: download the model as GGUF";
    return NULL;
}

static int check_magic(const struct gguf *g, struct err *err)
{
    char head[32] = {0}, shown[GGUF_SHOWN];
    ssize_t n = pread(g->fd, head, sizeof head, 0);
    if (n < 0) return err_set(err, -1, "%s: cannot be read: %s", g->shown, strerror(errno));
    if (n == 0) return err_set(err, -1, "%s: is empty (0 bytes): download it again", g->shown);
    if (memcmp(head, "GGUF", MIN((size_t)n, 4)) == 0) return 0;
    const char *mistake = known_mistake(head, (size_t)n);
    if (mistake) return err_set(err, -1, "%s: %s", g->shown, mistake);
    return err_set(err, -1, "%s: is no GGUF model: it starts with \"%s\" (byte 0), not with \"GGUF\"", g->shown,
                   gguf_show(shown, sizeof shown, head, (size_t)MIN(n, 4)));
}

static int open_file(struct gguf *g, struct err *err)
{
    struct stat st;
    /* O_NONBLOCK: opening a pipe that no one writes to must not hang; it changes nothing for a regular file. */
    g->fd = open(g->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (g->fd < 0) return err_set(err, -1, "%s: cannot be opened: %s", g->shown, strerror(errno));
    if (fstat(g->fd, &st)) return err_set(err, -1, "%s: cannot be looked at: %s", g->shown, strerror(errno));
    if (check_kind(g, &st, err)) return -1;
    g->device = (uint64_t)st.st_dev;
    g->inode = (uint64_t)st.st_ino;
    g->file_bytes = (uint64_t)st.st_size;
    g->mtime = st.st_mtim;
    return check_magic(g, err);
}

/* One shard of several holds a part of the tensors; both marks that the splitting tool leaves are looked at. */
static int check_shard(const struct gguf *g, struct err *err)
{
    enum { TAIL = sizeof "-00001-of-00003.gguf" - 1 };
    static const char cure[] = "join the parts first (llama-gguf-split --merge FIRST OUT) and open the result";
    uint64_t parts = 1;
    if (gguf_uint(g, "split.count", UINT64_MAX, &parts, err) < 0) return -1;
    if (parts > 1) {
        return err_set(err, -1, "%s: is one shard of %llu (key \"split.count\"); %s", g->shown,
                       (unsigned long long)parts, cure);
    }

    size_t len = strlen(g->path);
    unsigned part = 0, of = 0;
    int end = 0;
    if (len < TAIL) return 0;
    if (sscanf(g->path + len - TAIL, "-%5u-of-%5u.gguf%n", &part, &of, &end) != 2) return 0;
    if (end != TAIL || of < 2) return 0;
    return err_set(err, -1, "%s: is shard %u of %u by its name; %s", g->shown, part, of, cure);
}

struct gguf *gguf_open(const char *path, struct err *err)
{
    struct gguf *g = calloc(1, sizeof *g);
    if (g) {
        g->fd = -1;
        g->path = strdup(path);
        g->shown = show_path(path);
    }
    if (!g || !g->path || !g->shown) {
        err_set(err, -1, "out of memory while opening a model");
        gguf_close(g);
        return NULL;
    }
    if (open_file(g, err) || gguf_parse(g, err) || check_shard(g, err)) {
        gguf_close(g);
        return NULL;
    }
    return g;
}

void gguf_close(struct gguf *g)
{
    if (!g) return;
    while (g->arena) {
        struct gguf_block *b = g->arena;
        g->arena = b->next;
        free(b);
    }
    free(g->keys);
    free(g->keys_by_name);
    free(g->tensors);
    free(g->tensors_by_name);
    if (g->fd >= 0) close(g->fd);
    free(g->path);
    free(g->shown);
    free(g);
}

const char *gguf_path(const struct gguf *g) { return g->path; }
const char *gguf_shown(const struct gguf *g) { return g->shown; }
uint32_t gguf_version(const struct gguf *g) { return g->version; }
uint64_t gguf_file_bytes(const struct gguf *g) { return g->file_bytes; }

uint64_t gguf_bytes(const struct gguf *g)
{
    uint64_t sum = sizeof *g + strlen(g->path) + strlen(g->shown) + 2;
    for (const struct gguf_block *b = g->arena; b; b = b->next) sum += sizeof *b + b->cap;
    sum += (g->n_keys + 1) * (sizeof *g->keys + sizeof *g->keys_by_name);
    return sum + (g->n_tensors + 1) * (sizeof *g->tensors + sizeof *g->tensors_by_name);
}

/* ----------------------------------------------------------------- tensors */

uint64_t gguf_n_tensors(const struct gguf *g) { return g->n_tensors; }

const struct gguf_tensor *gguf_tensor_at(const struct gguf *g, uint64_t i)
{
    assert(i < g->n_tensors);
    return &g->tensors[i];
}

static int name_to_tensor(const void *name, const void *tensor)
{
    return strcmp(name, (*(const struct gguf_tensor *const *)tensor)->name);
}

const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name)
{
    const struct gguf_tensor **t =
        bsearch(name, g->tensors_by_name, (size_t)g->n_tensors, sizeof *g->tensors_by_name, name_to_tensor);
    return t ? *t : NULL;
}

/* n bytes from byte `at` of the file; what: "tensor NAME", for messages. */
static int read_at(const struct gguf *g, const char *what, uint64_t at, void *dst, size_t n, struct err *err)
{
    for (char *to = dst; n > 0;) {
        ssize_t got = pread(g->fd, to, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            return err_set(err, -1, "%s: %s: byte %llu cannot be read: %s", g->shown, what, (unsigned long long)at,
                           strerror(errno));
        }
        if (got == 0) {
            return err_set(err, -1, "%s: %s: the file now ends at or before byte %llu, %zu bytes short: it was cut or "
                           "written while open", g->shown, what, (unsigned long long)at, n);
        }
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

int gguf_read(const struct gguf *g, const struct gguf_tensor *t, uint64_t from, void *dst, size_t n, struct err *err)
{
    char what[GGUF_MAX_NAME_LEN + 16];
    uint64_t end;
    assert(!size_add(from, n, &end) && end <= t->bytes);
    snprintf(what, sizeof what, "tensor \"%s\"", t->name);
    return read_at(g, what, t->offset + from, dst, n, err);
}

uint64_t gguf_head_bytes(const struct gguf *g) { return g->n_tensors > 0 ? g->tensors[0].offset : g->file_bytes; }

int gguf_read_head(const struct gguf *g, uint64_t from, void *dst, size_t n, struct err *err)
{
    uint64_t end;
    assert(!size_add(from, n, &end) && end <= gguf_head_bytes(g));
    return read_at(g, "keys and tensor infos", from, dst, n, err);
}

int gguf_unchanged(const struct gguf *g, struct err *err)
{
    struct stat st;
    if (fstat(g->fd, &st)) return err_set(err, -1, "%s: cannot be looked at: %s", g->shown, strerror(errno));
    if ((uint64_t)st.st_size != g->file_bytes) {
        return err_set(err, -1, "%s: had %llu bytes when it was opened and has %lld now: it was written while being "
                       "read; open it again", g->shown, (unsigned long long)g->file_bytes, (long long)st.st_size);
    }
    if (st.st_mtim.tv_sec != g->mtime.tv_sec || st.st_mtim.tv_nsec != g->mtime.tv_nsec)
        return err_set(err, -1, "%s: was written while being read; open it again", g->shown);
    return 0;
}

struct gguf_stamp gguf_stamp(const struct gguf *g)
{
    return (struct gguf_stamp){g->device, g->inode, g->file_bytes, g->mtime};
}

int gguf_same(const struct gguf *g, const struct gguf_stamp *then, struct err *err)
{
    if (g->device != then->device || g->inode != then->inode)
        return err_set(err, -1, "%s: is another file than the one that was opened first", g->shown);
    if (g->file_bytes != then->bytes)
        return err_set(err, -1, "%s: had %llu bytes when it was opened first and has %llu now", g->shown,
                       (unsigned long long)then->bytes, (unsigned long long)g->file_bytes);
    if (g->mtime.tv_sec != then->mtime.tv_sec || g->mtime.tv_nsec != then->mtime.tv_nsec)
        return err_set(err, -1, "%s: was written since it was opened first", g->shown);
    return 0;
}
