/* test_store_wipe.c - a session is deleted on a disk that has no room for the journal written anew. */
#include "memory/store_impl.h"
#include "tests/store_rig.h"
#include <errno.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define SECRET "the vault opens at nine"

static struct {
    bool on;     /* nothing can be written to a file that is made anew */
    bool cut;    /* a write is cut short there, as LMDB meets it first */
    int refused;
} full;

static bool is_refused(int fd)
{
    char link[64], path[512];
    if (!full.on) return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    bool is = strstr(path, "journal/new.mdb") != NULL;
    full.refused += is;
    return is;
}

static ssize_t no_room(void)
{
    errno = ENOSPC;
    return full.cut ? 1 : -1;
}

/* This program's, and LMDB's. */
ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at);
ssize_t pwritev64(int fd, const struct iovec *v, int n, off64_t at);

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    return is_refused(fd) ? no_room() : (ssize_t)syscall(SYS_pwrite64, fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) { return pwrite(fd, bytes, n, at); }

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    return is_refused(fd) ? no_room() : (ssize_t)syscall(SYS_pwritev, fd, v, n, at, 0);
}

ssize_t pwritev64(int fd, const struct iovec *v, int n, off64_t at) { return pwritev(fd, v, n, at); }

int statvfs(const char *path, struct statvfs *out)
{
    (void)path;
    *out = (struct statvfs){.f_frsize = 4096, .f_bavail = full.on ? 1 : 1 << 30};
    return 0;
}

static struct store *filled(const char *dir)
{
    struct store *s = open_at(dir);
    for (uint64_t i = 0; i < 40; i++) commit_message(s, ada, i, SECRET);
    for (uint64_t i = 0; i < 40; i++) commit_message(s, bob, i, "an open matter");
    return s;
}

static int sweep(struct store *s, void *none, struct err *why)
{
    (void)none;
    return store_cache_sweep(s, why);
}

static void delete_without_room(bool cut)
{
    const char *dir = fresh_dir();
    struct store *s = filled(dir);
    full.cut = cut;
    full.on = true;
    CHECK_EQ(store_delete_session(s, ada, &err), STORE_DISK_FULL);
    check_err(STORE_DISK_FULL, "the session is deleted, but its bytes stay");
    CHECK(full.refused > 0);
    check_messages(s, ada, 0, "");
    check_message(s, bob, 39, "an open matter");
    commit_message(s, bob, 40, "life goes on");
    CHECK(occurrences(dir, SECRET) > 0);
    store_close(s);
    s = open_at(dir); /* still no room: it opens all the same */
    check_message(s, bob, 40, "life goes on");
    store_close(s);
    full.on = false;
    s = open_at(dir);
    CHECK_EQ(occurrences(dir, SECRET), 0);
    check_message(s, bob, 40, "life goes on");
    store_close(s);
}

/* A map that is opened has no more room than the file's pages, and a file written anew has no free ones. */
TEST(a_file_without_a_free_page_is_wiped_again_and_again)
{
    const struct store_options small = {.map_start = {64 << 10, 64 << 10}};
    const struct store_key key = store_key_cache("Rs" "ada's session..", 2 + STORE_SESSION_ID);
    const char *dir = fresh_dir();
    struct store *s = filled(dir);
    struct buf out = {0};
    struct store_key head = store_key_session(ada);
    static char long_text[200 << 10];
    memset(long_text, 'x', sizeof long_text - 1);
    commit_message(s, ada, 50, long_text);
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, &head, REC_SESSION, "title", 5, &err));
    OK(store_commit(s, &err));
    store_begin(s, STORE_CACHE);
    OK(store_put(s, &key, REC_CACHE, long_text, sizeof long_text, &err));
    OK(store_commit(s, &err));
    for (int i = 0; i < 3; i++) {
        OK(store_drop_session(s, bob, &err)); /* the wipe is due at the next open */
        store_close(s);
        OK(store_open(&s, dir, &small, &err));
        check_message(s, ada, 50, long_text);
        OK(store_get(s, STORE_CACHE, &key, REC_CACHE, &out, &err)); /* it was copied, and not begun anew */
        store_close(s);
        OK(store_open(&s, dir, &small, &err));
        OK(store_alone(s, sweep, NULL, &err));
    }
    OK(store_wipe(s, &err));
    store_close(s);
    OK(store_open(&s, dir, &small, &err));
    OK(store_wipe(s, &err));
    store_close(s);
    buf_free(&out);
}

TEST(without_room_for_the_wipe_the_session_is_deleted_and_that_is_said) { delete_without_room(false); }
TEST(a_write_that_is_cut_short_is_a_full_disk_too) { delete_without_room(true); }

CHECK_MAIN
