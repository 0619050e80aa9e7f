/* One session for a long time: thousands of turns with tools' results of 100 bytes to 10 MB.  Memory stays flat, a call
 * never passes its limit, the store grows by what is said, and the session is resumed at once.
 *
 * CI has 150 turns; PLIMSOLL_SOAK_TURNS=10000 (make soak) is the full count, with its figures on stdout. */
#include "app/session/session.h"
#include "engine/hostmem.h"
#include "tests/check.h"
#include "tests/fake_engine.h"
#include "tests/store_rig.h"
#include <time.h>

enum { CTX = 16384, RESULTS = 5, FULL = 10000, WARM = 500, GROWTH_KIB = 1024 };

static struct opts opts;
static struct app app;
static struct session s;
static uint64_t seed = 77;

struct commit {
    double seconds;
    uint64_t bytes;
};
static struct commit *commits;
static size_t n_commits;
static void (*tell)(void *self, const struct keep_saved *what);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long rss_anon(void)
{
    char line[256];
    long kib = 0;
    FILE *in = fopen("/proc/self/status", "r");
    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, "RssAnon: %ld kB", &kib) == 1) break;
    if (in) fclose(in);
    return kib;
}

static void on_saved(void *self, const struct keep_saved *what)
{
    CHECK_EQ(what->err.code, 0);
    commits[n_commits++] = (struct commit){what->seconds, what->bytes};
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

/* From 100 bytes to 500 KB, as many in each octave; and now and then 10 MB. */
static size_t draw_size(int turn, int i)
{
    if (turn % 100 == 50 && i == 0) return 10 << 20;
    size_t n = (size_t)100 << rig_draw(&seed, 12);
    return MIN(n + (size_t)rig_draw(&seed, n), (size_t)500000);
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

/* Commits of the same sizes by LMDB alone, each synced. */
static double plain_commits(double *v)
{
    MDB_env *env;
    MDB_dbi dbi;
    char *bytes = calloc(1, 64 << 20);
    CHECK(bytes && mdb_env_create(&env) == 0);
    const char *dir = fresh_dir();
    CHECK(mkdir(dir, 0700) == 0 && mdb_env_set_mapsize(env, (size_t)64 << 30) == 0);
    CHECK(mdb_env_open(env, dir, 0, 0600) == 0);
    for (size_t i = 0; i < n_commits; i++) {
        double start = now();
        MDB_txn *txn;
        CHECK(mdb_txn_begin(env, NULL, 0, &txn) == 0 && mdb_dbi_open(txn, NULL, 0, &dbi) == 0);
        uint64_t left = MIN(commits[i].bytes, (uint64_t)64 << 20), chunk = 0;
        for (; left > 0; chunk++) { /* chunks as large as an artifact's become */
            uint64_t key[2] = {i, chunk};
            size_t n = (size_t)MIN(left, (uint64_t)STORE_CHUNK);
            MDB_val k = {sizeof key, key}, value = {n / 3 + 1, bytes};
            CHECK(mdb_put(txn, dbi, &k, &value, 0) == 0);
            left -= n;
        }
        CHECK(mdb_txn_commit(txn) == 0);
        v[i] = now() - start;
    }
    mdb_env_close(env);
    free(bytes);
    return p99(v, n_commits);
}

static void report(const char *dir, int turns, uint64_t given, double seconds, const long rss[2], double resume)
{
    double *v = malloc(n_commits * sizeof *v);
    CHECK(v);
    for (size_t i = 0; i < n_commits; i++) v[i] = commits[i].seconds;
    double ours = p99(v, n_commits), plain = plain_commits(v);
    printf("%d turns, %d results, %.2f GB of them, in %.0f s: RssAnon %ld KiB after %d turns, %ld at the end\n", turns,
           turns * RESULTS, (double)given / 1e9, seconds, rss[0], MIN(WARM, turns / 2), rss[1]);
    printf("store %.1f MB, %.1f KB a turn (%.2f of the bytes given); resumed in %.1f ms\n",
           (double)file_bytes(dir) / 1e6, (double)file_bytes(dir) / 1e3 / turns, (double)file_bytes(dir) / (double)given, 1e3 * resume);
    printf("a turn's commit, p99: %.1f ms, compressing included; LMDB's own of a third of the bytes: %.1f ms\n",
           1e3 * ours, 1e3 * plain);
    free(v);
}

static void begin(const char *dir)
{
    struct store *st;
    const struct store_options big = {.map_limit = {(size_t)64 << 30, 0}};
    OK(store_open(&st, dir, &big, &err));
    const struct engine_info *info = fake_begin(NULL, CTX);
    fake.reply = reply;
    app = (struct app){.o = &opts, .ops = &fake_ops, .engine = &fake, .info = info};
    opts = (struct opts){.max_tokens = 512};
    out_init(&app.answers, open("/dev/null", O_WRONLY | O_CLOEXEC));
    OK(keeper_open(&app.keeper, st, &err));
    CHECK_EQ(trace_open(&app.trace, NULL, NULL, NULL, 0, &err), 0);
}

TEST(a_long_session_is_bounded_in_memory_and_in_every_call)
{
    const char *asked = getenv("PLIMSOLL_SOAK_TURNS");
    int turns = asked ? atoi(asked) : 150, warm = MIN(WARM, turns / 2), quiet = dup(STDERR_FILENO);
    char dir[256];
    long rss[2] = {0};
    uint64_t given = 0, given_half = 0;
    off_t half = 0;
    hostmem_return_large();
    CHECK(turns >= 20 && quiet >= 0 && freopen("/dev/null", "w", stderr));
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    commits = calloc((size_t)turns + 8, sizeof *commits);
    begin(dir);
    CHECK_EQ(session_new(&s, &app, "Be brief.", &err), 0);
    tell = s.keep.saved;
    s.keep.saved = on_saved;
    double start = now();
    for (int turn = 1; turn <= turns; turn++) {
        given += one_turn(turn);
        if (turn <= warm) rss[0] = MAX(rss[0], rss_anon()); /* the most: a system may take idle pages back meanwhile */
        if (turn == turns / 2) half = file_bytes(dir), given_half = given;
    }
    double seconds = now() - start;
    rss[1] = rss_anon();
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
    /* The second half of the store is as dense as the first. */
    double first = (double)half / (double)given_half;
    double second = (double)(file_bytes(dir) - half) / (double)(given - given_half);
    if (second > 1.3 * first) check_fail(__FILE__, __LINE__, "bytes a byte given: %.3f, then %.3f", first, second);
    if (asked) report(dir, turns, given, seconds, rss, resume);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (rss[1] - rss[0] > GROWTH_KIB)
        check_fail(__FILE__, __LINE__, "RssAnon: %ld KiB after %d turns, %ld after %d", rss[0], warm, rss[1], turns);
    CHECK(!asked || resume < 0.1);
#endif
    close(quiet);
    close(app.answers.fd);
    free(commits);
}

CHECK_MAIN
