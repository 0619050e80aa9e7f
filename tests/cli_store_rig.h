/* cli_store_rig.h - a store with something of every kind in it, and the program run on it.  Header only, as store_rig.h
 * is. */
#ifndef CLI_STORE_RIG_H
#define CLI_STORE_RIG_H
#include "tests/child.h"
#include "tests/store_rig.h"
#include <jansson.h>
#include <signal.h>
#include <sys/prctl.h>

enum { PAGE = 4096, BINARY = 100000 };

RIG struct child c;

static inline int run(const char *const *args, size_t n)
{
    const char *all[CHILD_ARGS] = {"store"};
    for (size_t i = 0; i < n; i++) all[1 + i] = args[i];
    all[1 + n] = NULL;
    child_free(&c);
    return child_run(&c, all, "", 0);
}

#define STORE(...) run((const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__})))

static inline const char *said(void) { return c.out_text.data ? c.out_text.data : ""; }
static inline const char *complained(void) { return c.err_text.data ? c.err_text.data : ""; }

static inline void check_has(const char *text, const char *part)
{
    if (!strstr(text, part)) CHECK_STR(text, part);
}

/* One line on stderr that has the words of part. */
static inline void check_complaint(const char *part)
{
    check_has(complained(), part);
    CHECK(strncmp(complained(), "plimsoll: ", 10) == 0);
    CHECK(strchr(complained(), '\n') == complained() + strlen(complained()) - 1);
}

/* Text that has characters of one to four bytes, so that pieces end inside of some. */
static inline void long_text(struct buf *out)
{
    while (out->len < 120000) buf_printf(out, "%zu a \xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\xa2;", out->len);
}

static inline void binary(struct buf *out)
{
    for (uint64_t i = 0; i < BINARY; i++) {
        uint8_t byte = (uint8_t)(i * i * 2654435761u >> 13);
        buf_put(out, &byte, 1);
    }
}

#define HOSTILE "esc \033[2J csi \xc2\x9b"    "31m bidi \xe2\x80\xae quote \" end"

/* Ada has all kinds, bob a message and no head. */
static inline void fill_store(struct store *s)
{
    struct buf text = {0}, bytes = {0};
    struct store_key key = store_key_session(ada);
    long_text(&text);
    binary(&bytes);
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, &key, REC_SESSION, "title", 5, &err));
    put_message(s, ada, 0, "hello");
    put_message(s, ada, 1, HOSTILE);
    put_message(s, bob, 0, "an orphan");
    key = store_key_message(ada, 2);
    OK(store_put(s, &key, REC_EVENT, "\0\xff\x80", 3, &err));
    key = store_key_piece(ada, "summary");
    OK(store_put(s, &key, REC_PIECE, "short", 5, &err));
    OK(store_put_artifact(s, ada, 7, text.data, text.len, &err));
    OK(store_put_artifact(s, ada, 8, bytes.data, bytes.len, &err));
    OK(store_commit(s, &err));
    store_begin(s, STORE_CACHE);
    key = store_key_cache("k\0page", 6);
    OK(store_put(s, &key, REC_CACHE, bytes.data, 9000, &err));
    key = store_key_cache("Recall", 6);
    OK(store_put(s, &key, REC_CACHE, "index", 5, &err));
    OK(store_commit(s, &err));
    buf_free(&text);
    buf_free(&bytes);
}

/* A new folder with such a store. */
static inline const char *a_store(void)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    fill_store(s);
    store_close(s);
    return dir;
}

/* The whole of a file; for buf_free(). */
static inline struct buf contents(const char *path)
{
    struct buf out = {0};
    char part[1 << 14];
    ssize_t n;
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    while ((n = read(fd, part, sizeof part)) > 0) buf_put(&out, part, (size_t)n);
    CHECK(n == 0 && !out.failed);
    close(fd);
    return out;
}

/* Each page of the file that has this text in it struck out. */
static inline void strike_pages_with(const char *dir, const char *file, const char *text)
{
    struct buf bytes = contents(under(dir, file));
    char wild[PAGE];
    int struck = 0, fd = open(under(dir, file), O_WRONLY);
    CHECK(fd >= 0);
    memset(wild, 0xa5, sizeof wild);
    for (size_t at = 0; at + PAGE <= bytes.len; at += PAGE) {
        if (!memmem(bytes.data + at, PAGE, text, strlen(text))) continue;
        CHECK_EQ(pwrite(fd, wild, PAGE, (off_t)at), PAGE);
        struck++;
    }
    CHECK(struck > 0);
    close(fd);
    buf_free(&bytes);
}

static inline void plant_damaged_message(const char *dir)
{
    struct store_key key = store_key_message(ada, 1);
    plant(dir, "journal", &key, "no record", 9);
}

RIG int ready[2];

/* Another process that has the store open until it is killed. */
static inline pid_t stays_open(const char *dir)
{
    struct store *s;
    char byte = 'x';
    CHECK_EQ(pipe(ready), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (store_open(&s, dir, NULL, &err) || write(ready[1], &byte, 1) != 1) _exit(1);
        for (;;) pause();
    }
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static inline void goes(pid_t pid)
{
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}
#endif
