/* One session for a long time: thousands of turns with tools' results of 100 bytes to 10 MB.  Memory stays flat, a call
 * never passes its limit, the store grows by what is said, and the session is resumed at once.
 *
 * CI has 150 turns; PLIMSOLL_SOAK_TURNS=10000 (make soak) is the full count, with its figures on stdout. */
#include "app/session/session.h"
#include "engine/hostmem.h"
#include "tests/check.h"
#include "tests/fake_engine.h"
#include "tests/store_rig.h"
#include <dlfcn.h>
#include <malloc.h>
#include <math.h>
#include <stdatomic.h>
#include <time.h>

enum { CTX = 16384, RESULTS = 5, WARM = 500, GROWTH_KIB = 1024, PLAIN = 1 << 20 };

static struct opts opts;
static struct app app;
static struct session s;
static uint64_t seed = 77;

static double *commits; /* seconds of each turn's */
static size_t n_commits;
static uint64_t committed; /* bytes that LMDB was given for them, keys and compressed values */
static void (*tell)(void *self, const struct keep_saved *what);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Without what is free in the heap, which is chance. */
static long rss_anon(void)
{
    struct hostmem_process p;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    hostmem_process(&p);
    return (long)(p.anonymous / 1024);
}

/* ---------------------------------------------------------------- what a commit writes */

/* What LMDB is given in the journal's transactions, in a file (memory is measured here): a key's length, a value's, the
 * key; nought and nought at a transaction's end; at a turn's the same with TURN.  One thread writes at a time: while a
 * turn is noted nothing is being saved. */
enum { TURN = 1 };
static FILE *written;
static atomic_bool writes; /* they are noted */

static void *of_lmdb(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    CHECK(f != NULL);
    return f;
}

static void note_written(uint64_t key, uint64_t value, const void *bytes)
{
    uint64_t head[2] = {key, value};
    flockfile(written);
    CHECK(fwrite(head, sizeof head, 1, written) == 1 && (key == 0 || fwrite(bytes, key, 1, written) == 1));
    funlockfile(written);
}

static bool is_noted(MDB_txn *txn)
{
    unsigned flags = 0;
    return atomic_load(&writes) && mdb_env_get_flags(mdb_txn_env(txn), &flags) == 0 &&
           !(flags & (MDB_NOSYNC | MDB_RDONLY));
}

int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags)
{
    int (*next)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *, unsigned);
    *(void **)&next = of_lmdb("mdb_put");
    if (is_noted(txn)) note_written(key->mv_size, value->mv_size, key->mv_data);
    return next(txn, dbi, key, value, flags);
}

int mdb_txn_commit(MDB_txn *txn)
{
    int (*next)(MDB_txn *);
    *(void **)&next = of_lmdb("mdb_txn_commit");
    if (is_noted(txn)) note_written(0, 0, NULL);
    return next(txn);
}

static void on_saved(void *self, const struct keep_saved *what)
{
    CHECK_EQ(what->err.code, 0);
    commits[n_commits++] = what->seconds;
    note_written(0, TURN, NULL);
    tell(self, what);
}

/* An answer; to the request for a summary mostly a record, sometimes not. */
static const char *reply(const char *heard)
{
    static char text[200];
    bool summary = strstr(heard, "|user:Write the summary record") != NULL;
    if (summary && rig_draw(&seed, 8) > 0)
        snprintf(text, sizeof text, "Facts:\n- the port is %d\nDecisions:\nnone\nDone:\nnone\nOpen:\n- call %d",
                 (int)rig_draw(&seed, 65536), (int)rig_draw(&seed, 100));
    else snprintf(text, sizeof text, "That is number %d.", (int)rig_draw(&seed, 100000));
    return text;
}

/* Bytes like those of a log: half of them repeat. */
static void make_result(size_t n, struct buf *out)
{
    while (out->len < n)
        buf_printf(out, "2026-11-21 10:%02d:%02d INFO worker %d took %llu pages, %llx\n", (int)rig_draw(&seed, 60),
                   (int)rig_draw(&seed, 60), (int)rig_draw(&seed, 16), (unsigned long long)rig_draw(&seed, 100000),
                   (unsigned long long)rig_draw(&seed, UINT64_MAX));
    out->len = n;
    CHECK(!out->failed);
}

/* From 100 bytes to 500 KB, each order of magnitude as likely as another; and now and then 10 MB. */
static size_t draw_size(int turn, int i)
{
    if (turn % 100 == 50 && i == 0) return 10 << 20;
    return (size_t)(100 * pow(5000, (double)rig_draw(&seed, 1 << 20) / ((1 << 20) - 1)));
}

static uint64_t one_turn(int turn)
{
    struct err e = {0};
    char text[200];
    uint64_t given = 0;
    for (int i = 0; i < RESULTS; i++) {
        struct buf bytes = {0};
        const struct session_tool tool = {.by = "user", .name = "read", .arguments = "{\"path\":\"night.log\"}"};
        make_result(draw_size(turn, i), &bytes);
        given += bytes.len;
        if (session_result(&s, &tool, &bytes, &e)) check_fail(__FILE__, __LINE__, "turn %d: %s", turn, e.text);
        CHECK(!bytes.data);
    }
    snprintf(text, sizeof text, "What does turn %d say about the port?", turn);
    if (session_ask(&s, text, strlen(text), &e)) check_fail(__FILE__, __LINE__, "turn %d: %s", turn, e.text);
    CHECK(fake.a.n_prompt + fake.a.max_tokens <= CTX);
    session_settle(&s);
    return given;
}

static off_t file_bytes(const char *dir)
{
    struct stat st;
    CHECK(stat(under(dir, "journal/data.mdb"), &st) == 0);
    return st.st_size;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static double p99(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_size);
    return v[n - 1 - n / 100];
}

/* One turn's transactions by LMDB alone; false: there are no more. */
static bool plain_turn(MDB_env *env, char *bytes)
{
    MDB_txn *txn = NULL;
    MDB_dbi dbi;
    uint64_t head[2];
    char key[STORE_KEY_MAX];
    while (fread(head, sizeof head, 1, written) == 1 && (head[0] > 0 || head[1] != TURN)) {
        if (!txn) CHECK(mdb_txn_begin(env, NULL, 0, &txn) == 0 && mdb_dbi_open(txn, NULL, 0, &dbi) == 0);
        if (head[0] == 0) {
            CHECK_EQ(mdb_txn_commit(txn), 0);
            txn = NULL;
            continue;
        }
        CHECK(head[0] <= sizeof key && head[1] <= PLAIN && fread(key, head[0], 1, written) == 1);
        MDB_val k = {head[0], key}, value = {head[1], bytes};
        CHECK(mdb_put(txn, dbi, &k, &value, 0) == 0);
        committed += head[0] + head[1];
    }
    CHECK(!txn);
    return !feof(written);
}

/* Commits of the same records by LMDB alone, each synced. */
static double plain_commits(double *v)
{
    MDB_env *env;
    char *bytes = calloc(1, PLAIN);
    size_t n = 0;
    const char *dir = fresh_dir();
    CHECK(bytes && mdb_env_create(&env) == 0);
    CHECK(mkdir(dir, 0700) == 0 && mdb_env_set_mapsize(env, (size_t)64 << 30) == 0);
    CHECK(mdb_env_open(env, dir, 0, 0600) == 0);
    rewind(written);
    for (double start = now(); n < n_commits && plain_turn(env, bytes); start = now()) v[n++] = now() - start;
    CHECK_EQ(n, n_commits);
    mdb_env_close(env);
    free(bytes);
    return p99(v, n);
}

static void report(const char *dir, int turns, uint64_t given, double seconds, const long rss[2], double resume)
{
    double ours = p99(commits, n_commits), plain = plain_commits(commits);
    printf("%d turns, %d results, %.2f GB of them, in %.0f s: RssAnon %ld KiB after %d turns, %ld at the end\n", turns,
           turns * RESULTS, (double)given / 1e9, seconds, rss[0], MIN(WARM, turns / 2), rss[1]);
    double store = (double)file_bytes(dir);
    printf("store %.1f MB, %.1f KB a turn (%.2f of the bytes given); resumed in %.1f ms\n", store / 1e6,
           store / 1e3 / turns, store / (double)given, 1e3 * resume);
    printf("a turn's commit, p99: %.1f ms, compressing included; LMDB's own of the same records (%.1f KB a turn): "
           "%.1f ms\n", 1e3 * ours, (double)committed / 1e3 / (double)n_commits, 1e3 * plain);
}

static void begin(const char *dir)
{
    struct store *st;
    const struct store_options big = {.map_limit = {(size_t)64 << 30, 0}};
    OK(store_open(&st, dir, &big, &err));
    const struct engine_info *info = fake_begin(NULL, CTX);
    fake.reply = reply;
    app = (struct app){.o = &opts, .ops = &fake_ops, .engine = &fake, .info = info};
    opts = (struct opts){.recall_index = 1e9, .recall_index_session = 1e8, .max_tokens = 512};
    out_init(&app.answers, open("/dev/null", O_WRONLY | O_CLOEXEC));
    OK(keeper_open(&app.keeper, st, &err));
    CHECK_EQ(trace_open(&app.trace, NULL, NULL, NULL, 0, &err), 0);
}

TEST(a_long_session_is_bounded_in_memory_and_in_every_call)
{
    const char *asked = getenv("PLIMSOLL_SOAK_TURNS");
    int turns = asked ? atoi(asked) : 150, warm = MIN(WARM, turns / 2);
    int quiet = dup(STDERR_FILENO);
    char dir[256];
    long rss[2] = {0};
    uint64_t given = 0, given_half = 0;
    off_t half = 0;
    hostmem_return_large();
    CHECK(turns >= 20 && quiet >= 0 && freopen("/dev/null", "w", stderr));
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    commits = calloc((size_t)turns + 8, sizeof *commits);
    written = tmpfile();
    CHECK(commits && written);
    begin(dir);
    CHECK_EQ(session_new(&s, &app, "Be brief.", &err), 0);
    tell = s.keep.saved;
    s.keep.saved = on_saved;
    atomic_store(&writes, asked != NULL);
    double start = now();
    for (int turn = 1; turn <= turns; turn++) {
        given += one_turn(turn);
        if (turn <= warm) rss[0] = MAX(rss[0], rss_anon()); /* the most: a system may take idle pages back meanwhile */
        if (turn == turns / 2) half = file_bytes(dir), given_half = given;
    }
    double seconds = now() - start;
    rss[1] = rss_anon();
    atomic_store(&writes, false);
    struct window_figures f;
    window_figures(s.w, &f);
    CHECK(f.compactions > 0 && f.calls == (uint64_t)turns);
    CHECK_EQ(session_close(&s), 0);
    start = now();
    CHECK_EQ(session_resume(&s, &app, "last", NULL, &err), 0);
    double resume = now() - start;
    CHECK_EQ(s.keep.head.turns, turns);
    one_turn(turns + 1);
    session_close(&s);
    keeper_close(app.keeper);
    dup2(quiet, STDERR_FILENO);
    /* The second half of the store is as dense as the first, but for chance in what the bytes are. */
    double first = (double)half / (double)given_half;
    double second = (double)(file_bytes(dir) - half) / (double)(given - given_half);
    if (fabs(second / first - 1) > 0.02)
        check_fail(__FILE__, __LINE__, "bytes a byte given: %.4f, then %.4f", first, second);
    if (asked) printf("store bytes for each given: %.4f in the first half, %.4f in the second\n", first, second);
    if (asked) report(dir, turns, given, seconds, rss, resume);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (rss[1] - rss[0] > GROWTH_KIB)
        check_fail(__FILE__, __LINE__, "RssAnon: %ld KiB after %d turns, %ld after %d", rss[0], warm, rss[1], turns);
    CHECK(!asked || resume < 0.1);
#endif
    close(quiet);
    close(app.answers.fd);
    fclose(written);
    free(commits);
}

CHECK_MAIN
