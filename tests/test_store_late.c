/* test_store_late.c - how long a store may take that is looked through after an unclean end: as long as it gets on, on
 * a clock on which every look at it is ten seconds; and what is said when it does not. */
#include "tests/store_rig.h"
#include <sys/syscall.h>
#include <time.h>

enum { MESSAGES = 64, BYTES = 256 << 10, STEP = 10 /* seconds */ };

static struct {
    bool on;
    int64_t looks;
} slow;

/* The library's, and this program's; a child that is forked has its own from then on. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, t);
    if (slow.on) t->tv_sec += STEP * ++slow.looks;
    return rc;
}

static const char *unclean_store(void)
{
    static char text[BYTES];
    const char *dir = fresh_dir();
    struct store_key key = store_key_session(ada);
    struct store *s = open_at(dir);
    memset(text, 'x', sizeof text - 1);
    for (uint64_t i = 0; i < MESSAGES; i++) commit_message(s, ada, i, text);
    store_begin(s, STORE_JOURNAL);
    OK(store_put(s, &key, REC_SESSION, "title", 5, &err));
    OK(store_commit(s, &err));
    key = store_key_cache("page", 4);
    store_begin(s, STORE_CACHE);
    OK(store_put(s, &key, REC_CACHE, "kept", 4, &err));
    OK(store_commit(s, &err));
    store_close(s);
    CHECK_EQ(unlink(under(dir, "clean")), 0);
    return dir;
}

struct told {
    uint64_t n[STORE_PARTS], last, all;
    bool wrong;
};

static void on_check(void *self, enum store_part part, uint64_t done, uint64_t all)
{
    struct told *t = self;
    t->wrong |= done > all || (part == STORE_JOURNAL && (done < t->last || (t->all > 0 && all != t->all)));
    t->n[part]++;
    if (part != STORE_JOURNAL) return;
    t->last = done;
    t->all = all;
}

TEST(a_large_store_has_the_time_that_it_needs_and_says_how_far_it_is)
{
    struct told told = {0};
    const struct store_options o = {.checking = on_check, .self = &told};
    const char *dir = unclean_store();
    struct store *s = NULL;
    slow.on = true;
    int rc = store_open(&s, dir, &o, &err);
    slow.on = false;
    OK(rc);
    CHECK(slow.looks * STEP > 600); /* a minute is long over */
    CHECK(told.n[STORE_JOURNAL] > 60 && !told.wrong);
    CHECK(told.all >= (uint64_t)MESSAGES * BYTES && told.last > told.all / 2);
    store_close(s);
    told = (struct told){0};
    const struct store_report report = {.checking = on_check, .self = &told};
    slow.on = true;
    rc = store_check(dir, STORE_JOURNAL, 0, &report, &err);
    slow.on = false;
    OK(rc);
    CHECK(told.n[STORE_JOURNAL] > 60 && told.n[STORE_CACHE] == 0 && !told.wrong && told.last > told.all / 2);
}

TEST(a_salvage_says_how_far_it_is)
{
    struct told told = {0};
    const struct store_report report = {.checking = on_check, .self = &told};
    const char *dir = unclean_store();
    char to[512];
    uint64_t records, missing;
    snprintf(to, sizeof to, "%s-new", dir);
    OK(store_salvage(dir, to, 0, &report, &records, &missing, &err));
    CHECK(records > MESSAGES && missing == 0);
    CHECK(told.n[STORE_JOURNAL] > 10 && told.n[STORE_CACHE] == 0 && !told.wrong && told.last > told.all / 2);
}

TEST(what_does_not_get_on_is_given_up_and_not_called_damaged)
{
    const struct store_options o = {.check_seconds = 1};
    const char *dir = unclean_store();
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct store_key key = store_key_cache("page", 4);
    struct buf out = {0};
    struct store *s = NULL;
    int fd = open(under(dir, "journal/lock.mdb"), O_RDWR);
    CHECK(fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0); /* the child's LMDB waits for this */
    CHECK_EQ(store_open(&s, dir, &o, &err), STORE_LATE);
    check_err(STORE_LATE, "could not be looked through in time");
    CHECK(!strstr(err.text, "salvage"));
    close(fd);
    s = open_at(dir);
    OK(store_get(s, STORE_CACHE, &key, REC_CACHE, &out, &err)); /* the cache was left as it was too */
    store_close(s);
    buf_free(&out);
}

CHECK_MAIN
