/* store_rig.h - the words of the store's tests: two sessions, an error, a folder that is new, numbers by chance.  Header
 * only: programs that do not test the store are not linked to it. */
#ifndef STORE_RIG_H
#define STORE_RIG_H
#include "memory/store.h"
#include "tests/check.h"
#include <dirent.h>
#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RIG __attribute__((unused)) static

RIG struct err err;
RIG const uint8_t ada[STORE_SESSION_ID] = "ada's session..", bob[STORE_SESSION_ID] = "bob's session..";

#define OK(call)                                                                                        \
    do {                                                                                                \
        int ok_rc = (call);                                                                             \
        if (ok_rc) check_fail(__FILE__, __LINE__, "%s: %d, %s", #call, ok_rc, err.text);                \
    } while (0)

/* Numbers by chance (xorshift64), below `below`; the seed is each program's own. */
static inline uint64_t rig_draw(uint64_t *seed, uint64_t below)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % below;
}

static inline void check_err(int code, const char *part)
{
    CHECK_EQ(err.code, code);
    if (!strstr(err.text, part)) CHECK_STR(err.text, part);
    CHECK(!strpbrk(err.text, "\n\r\033"));
}

/* A folder that is not there yet. */
static inline const char *fresh_dir(void)
{
    static char dir[256];
    static int n;
    snprintf(dir, sizeof dir, "%s/store%d", check_tmpdir(), n++);
    return dir;
}

static inline const char *under(const char *dir, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static inline struct store *open_at(const char *dir)
{
    struct store *s = NULL;
    OK(store_open(&s, dir, NULL, &err));
    return s;
}

static inline void put_message(struct store *s, const uint8_t *session, uint64_t number, const char *text)
{
    struct store_key key = store_key_message(session, number);
    OK(store_put(s, &key, REC_MESSAGE, text, strlen(text), &err));
}

static inline void commit_message(struct store *s, const uint8_t *session, uint64_t number, const char *text)
{
    store_begin(s, STORE_JOURNAL);
    put_message(s, session, number, text);
    OK(store_commit(s, &err));
}

static inline void check_message(struct store *s, const uint8_t *session, uint64_t number, const char *text)
{
    struct store_key key = store_key_message(session, number);
    struct buf out = {0};
    OK(store_get(s, STORE_JOURNAL, &key, REC_MESSAGE, &out, &err));
    CHECK_STR(out.data, text);
    buf_free(&out);
}

/* Every record that a cursor gave, and every complaint, a line each. */
static inline bool note_record(void *user, const uint8_t *session, uint64_t number, const struct rec *r)
{
    buf_printf(user, "%c%llu:%.*s\n", session[0], (unsigned long long)number, (int)r->len, (const char *)r->body);
    return true;
}

static inline bool note_damage(void *user, const char *line)
{
    buf_printf(user, "! %s\n", line);
    return true;
}

static inline void check_messages(struct store *s, const uint8_t *session, uint64_t from, const char *expected)
{
    struct buf seen = {0};
    const struct store_visit visit = {note_record, note_damage, &seen};
    OK(store_each_message(s, session, from, &visit, &err));
    CHECK_STR(seen.data ? seen.data : "", expected);
    buf_free(&seen);
}

/* Bytes put under a key past the store, as damage would. */
static inline void plant(const char *dir, const char *part, const struct store_key *key, const void *bytes, size_t n)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val k = {key->n, (void *)key->byte}, v = {n, (void *)bytes};
    CHECK_EQ(mdb_env_create(&env), 0);
    CHECK_EQ(mdb_env_open(env, under(dir, part), 0, 0600), 0);
    CHECK_EQ(mdb_txn_begin(env, NULL, 0, &txn), 0);
    CHECK_EQ(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    CHECK_EQ(mdb_put(txn, dbi, &k, &v, 0), 0);
    CHECK_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static inline int in_child(int (*what)(const char *dir), const char *dir)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) _exit(what(dir));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* How many times the text occurs in an open file. */
static inline int occurrences_in(int fd, const char *text)
{
    struct stat st;
    int n = 0;
    CHECK_EQ(fstat(fd, &st), 0);
    size_t left = (size_t)st.st_size;
    char *bytes = malloc(left + 1);
    CHECK(bytes && pread(fd, bytes, left, 0) == st.st_size);
    for (char *at = bytes, *hit; (hit = memmem(at, left, text, strlen(text))); n++) {
        left -= (size_t)(hit + 1 - at);
        at = hit + 1;
    }
    free(bytes);
    return n;
}

/* How many times the text occurs in the files below dir. */
static inline int occurrences(const char *dir, const char *text)
{
    struct dirent *e;
    int n = 0;
    DIR *d = opendir(dir);
    CHECK(d != NULL);
    while ((e = readdir(d))) {
        char path[1024];
        struct stat st;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        CHECK_EQ(lstat(path, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            n += occurrences(path, text);
            continue;
        }
        int fd = open(path, O_RDONLY);
        CHECK(fd >= 0);
        n += occurrences_in(fd, text);
        close(fd);
    }
    closedir(d);
    return n;
}
#endif
