/* test_store_stat.c - figures by kind and by session, every record in order, whether there is a store and who is in
 * it. */
#include "tests/store_rig.h"
#include <signal.h>
#include <sys/prctl.h>

static void put_cache(struct store *s, const char *name, size_t bytes)
{
    static const char body[1 << 16];
    struct store_key key = store_key_cache(name, strlen(name));
    OK(store_put(s, &key, REC_CACHE, body, bytes, &err));
}

static void put_piece(struct store *s, const uint8_t *session, const char *name, const char *text)
{
    struct store_key key = store_key_piece(session, name);
    OK(store_put(s, &key, REC_PIECE, text, strlen(text), &err));
}

/* Ada has all kinds, bob messages and no head. */
static void fill(struct store *s)
{
    static char big[40000];
    struct store_key key = store_key_session(ada);
    for (size_t i = 0; i < sizeof big; i++) big[i] = (char)(i * i >> 5);
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, &key, REC_SESSION, "title", 5, &err));
    put_message(s, ada, 0, "hello");
    put_message(s, ada, 1, "there");
    put_message(s, bob, 0, "an orphan");
    put_piece(s, ada, "summary", "short");
    OK(store_put_artifact(s, ada, 7, big, sizeof big, &err));
    OK(store_commit(s, &err));
    store_begin(s, STORE_CACHE);
    put_cache(s, "k1", 10000);
    put_cache(s, "k2", 20000);
    put_cache(s, "r", 300);
    OK(store_commit(s, &err));
}

static void check_sum(const struct store_stat *st, char kind, uint64_t records, uint64_t bytes)
{
    CHECK_EQ(st->kind[(uint8_t)kind].records, records);
    CHECK_EQ(st->kind[(uint8_t)kind].bytes, bytes);
}

TEST(bytes_are_counted_by_kind_in_both_parts)
{
    const struct store_key odd = {{'K'}, 1};
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct store_stat st;
    fill(s);
    OK(store_stat(s, STORE_JOURNAL, &st, &err));
    check_sum(&st, 'S', 1, 17 + 16 + 5);
    check_sum(&st, 'M', 3, 3 * (25 + 16) + 5 + 5 + 9);
    check_sum(&st, 'P', 1, 17 + 7 + 16 + 5);
    check_sum(&st, 'a', 1, 25 + 16 + 12);
    CHECK_EQ(st.kind['c'].records, 3);
    CHECK(st.kind['c'].bytes > 3 * (29 + 16) && st.kind['c'].bytes < 42000);
    check_sum(&st, 'K', 0, 0);
    OK(store_stat(s, STORE_CACHE, &st, &err));
    check_sum(&st, 'k', 2, 2 * (3 + 16) + 30000);
    check_sum(&st, 'r', 1, 2 + 16 + 300);
    check_sum(&st, 'K', 0, 0);
    store_close(s);
    plant(dir, "cache", &odd, "x", 1);
    s = open_at(dir);
    OK(store_stat(s, STORE_CACHE, &st, &err));
    check_sum(&st, 0, 1, 2);
    store_close(s);
}

TEST(each_session_that_a_key_names_has_its_figures)
{
    struct store_session_stat *list = NULL;
    struct store_stat st;
    struct store *s = open_at(fresh_dir());
    size_t n = 7;
    uint64_t all = 0;
    OK(store_stat_sessions(s, &list, &n, &err));
    CHECK(n == 0 && !list);
    fill(s);
    OK(store_stat_sessions(s, &list, &n, &err));
    CHECK_EQ(n, 2);
    CHECK_MEM(list[0].session, ada, STORE_SESSION_ID);
    CHECK_MEM(list[1].session, bob, STORE_SESSION_ID);
    CHECK(list[0].head && !list[1].head);
    CHECK_EQ(list[0].messages, 2);
    CHECK_EQ(list[1].messages, 1);
    CHECK_EQ(list[1].bytes, 25 + 16 + 9);
    OK(store_stat(s, STORE_JOURNAL, &st, &err));
    for (int i = 0; i < 256; i++) all += st.kind[i].bytes;
    CHECK_EQ(list[0].bytes + list[1].bytes, all);
    free(list);
    store_close(s);
}

TEST(the_figures_of_many_sessions_are_each_ones_own)
{
    struct store_session_stat *list = NULL;
    struct store *s = open_at(fresh_dir());
    size_t n;
    uint8_t id[STORE_SESSION_ID] = {0};
    store_begin(s, STORE_JOURNAL);
    for (unsigned i = 0; i < 300; i++) { /* ids in another order than they were made in */
        put_be(id, i * 7919 % 300, 2);
        for (unsigned k = 0; k <= i % 3; k++) put_message(s, id, k, "m");
        put_piece(s, id, "task", "p");
    }
    OK(store_commit(s, &err));
    OK(store_stat_sessions(s, &list, &n, &err));
    CHECK_EQ(n, 300);
    for (unsigned i = 0; i < 300; i++) {
        unsigned at = i * 7919 % 300;
        CHECK_EQ(get_be(list[at].session, 2), at);
        CHECK_EQ(list[at].messages, 1 + i % 3);
        CHECK_EQ(list[at].bytes, (1 + i % 3) * (25 + 16 + 1) + 17 + 4 + 16 + 1);
    }
    free(list);
    store_close(s);
}

/* ---------------------------------------------------------------- every record */

struct reader {
    struct buf seen;
    int most;
    struct store_from next;
};

/* Its first byte, and how it is; after `most` of them it wants no more and remembers where. */
static bool note(void *user, const struct store_entry *e)
{
    struct reader *r = user;
    if (r->most-- == 0) {
        memcpy(r->next.byte, e->key, e->key_len);
        r->next.n = e->key_len;
        return false;
    }
    buf_printf(&r->seen, "%c%zu%s ", e->key[0], e->rec.len, e->why ? "!" : "");
    return true;
}

TEST(every_record_is_met_whatever_its_key_and_reading_goes_on_where_it_stopped)
{
    const char *dir = fresh_dir();
    struct store *s = open_at(dir);
    struct store_key key = store_key_message(bob, 5);
    struct store_from place = {.n = STORE_ANY_KEY};
    struct reader whole = {.most = -1}, parts = {0};
    fill(s);
    store_close(s);
    plant(dir, "journal", &key, "no record", 9);
    key = (struct store_key){{'z', 0, 0xff}, 3};
    plant(dir, "journal", &key, "", 0);
    s = open_at(dir);
    OK(store_each_record(s, STORE_JOURNAL, &(struct store_from){0}, note, &whole, &err));
    CHECK(strncmp(whole.seen.data, "M5 M5 M9 M0! P5 S5 a12 c", 24) == 0);
    CHECK(strstr(whole.seen.data, " z0! ") && !strstr(whole.seen.data, "z0! z"));
    for (int turns = 0; turns == 0 || parts.next.n; turns++) {
        struct store_from from = parts.next;
        CHECK(turns < 20);
        parts.next.n = 0;
        parts.most = 2;
        OK(store_each_record(s, STORE_JOURNAL, &from, note, &parts, &err));
    }
    CHECK_STR(parts.seen.data, whole.seen.data);
    parts.seen.len = whole.seen.len = 0;
    memset(place.byte, 'X', sizeof place.byte); /* a place need not be a key that is there */
    parts.most = 1;
    OK(store_each_record(s, STORE_JOURNAL, &place, note, &parts, &err));
    CHECK_STR(parts.seen.data, "a12 ");
    whole.most = -1;
    OK(store_each_record(s, STORE_CACHE, &(struct store_from){0}, note, &whole, &err));
    CHECK_STR(whole.seen.data, "K10000 K20000 K300 ");
    buf_free(&whole.seen);
    buf_free(&parts.seen);
    store_close(s);
}

/* ---------------------------------------------------------------- from outside */

TEST(to_ask_whether_there_is_a_store_makes_none)
{
    const char *dir = fresh_dir();
    struct store *s;
    CHECK_EQ(store_exists(dir, &err), STORE_NOT_FOUND);
    CHECK(access(dir, F_OK) != 0);
    CHECK_EQ(mkdir(dir, 0700), 0);
    CHECK_EQ(store_exists(dir, &err), STORE_NOT_FOUND);
    CHECK(access(under(dir, "FORMAT"), F_OK) != 0);
    CHECK_EQ(mkdir(under(dir, "things"), 0700), 0);
    CHECK_EQ(store_exists(dir, &err), STORE_FOREIGN);
    CHECK_EQ(rmdir(under(dir, "things")), 0);
    s = open_at(dir);
    store_close(s);
    OK(store_exists(dir, &err));
}

static int ready[2];

static pid_t stays_open(const char *dir)
{
    struct store *s;
    char c = 'x';
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (store_open(&s, dir, NULL, &err) || write(ready[1], &c, 1) != 1) _exit(1);
        for (;;) pause();
    }
    CHECK_EQ(read(ready[0], &c, 1), 1);
    return pid;
}

TEST(the_processes_that_have_it_open_are_named)
{
    const char *dir = fresh_dir();
    long pid[8] = {0};
    pid_t child[3];
    struct store *s = open_at(dir);
    store_close(s);
    CHECK_EQ(store_users(dir, pid, 8), 0);
    CHECK_EQ(store_users("/nowhere", pid, 8), 0);
    CHECK_EQ(pipe(ready), 0);
    for (int i = 0; i < 3; i++) child[i] = stays_open(dir);
    CHECK_EQ(store_users(dir, pid, 8), 3);
    for (int i = 0; i < 3; i++) CHECK(pid[0] == child[i] || pid[1] == child[i] || pid[2] == child[i]);
    CHECK(pid[0] != pid[1] && pid[1] != pid[2] && pid[0] != pid[2]);
    CHECK_EQ(store_users(dir, pid, 2), 2);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(kill(child[i], SIGKILL), 0);
        CHECK_EQ(waitpid(child[i], NULL, 0), child[i]);
    }
    CHECK_EQ(store_users(dir, pid, 8), 0);
    close(ready[0]);
    close(ready[1]);
}

CHECK_MAIN
