/* test_store_power.c - after a power loss what was acknowledged is there: turns, some with artifacts, while the map
 * grows and a deletion writes the file anew.  Three tests are turned round: a drive that lies, MDB_NOSYNC, and a store
 * that acknowledges before its commit are caught by the same means.
 *
 * CI builds a hundred disks; PLIMSOLL_FULL=1 (make soak) a thousand, of ten logs. */
#include "tests/durable_rig.h"

enum { POWER_CUTS = 100, TURNS = 40, BOBS = 30, SECTOR = 512 };

static uint64_t seed = 20240612;

static uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

/* ---------------------------------------------------------------- power loss */

enum fault { NO_FAULT, DRIVE_LIES, WITH_NOSYNC, ACK_BEFORE_COMMIT };

/* The journal's folder when the power went: the file that is there, and one that was to take its place. */
struct disk {
    ino_t number[2];
    struct buf file[2];
    int named;              /* which of them is data.mdb */
    int64_t turns;          /* acknowledged by then */
    bool gone;              /* and that bob's session is */
};

struct entry {
    const uint8_t *p;
    size_t n, next; /* bytes that it carries; where the one behind it begins */
    char what;
    bool past;      /* the power went before it ended */
};

static struct entry entry_at(size_t at, size_t cut)
{
    const uint8_t *p = (uint8_t *)io.log.data + at;
    size_t n = get_le(p + 18, 8), next = at + LOG_HEAD + n;
    return (struct entry){p, n, next, (char)p[0], next > cut};
}

static int file_of(struct disk *d, const struct entry *e)
{
    ino_t number = (ino_t)get_le(e->p + 2, 8);
    if (number == d->number[0]) return 0;
    CHECK(d->number[1] == 0 || d->number[1] == number); /* one wipe a log */
    d->number[1] = number;
    return 1;
}

/* A write by sectors of the disk, each there or not unless it is durable. */
static void write_sectors(struct buf *to, const struct entry *e, bool durable)
{
    size_t at = get_le(e->p + 10, 8);
    for (size_t i = 0; i < e->n;) {
        size_t take = MIN(e->n - i, SECTOR - (at + i) % SECTOR);
        if (durable || draw(2)) {
            while (to->len < at + i + take) buf_put(to, "\0", 1);
            memcpy(to->data + at + i, e->p + LOG_HEAD + i, take);
        }
        i += take;
    }
}

/* The disk when the power goes at byte `cut` of the log: what was synced is there, of the rest each sector or not, and
 * a rename before its folder was synced or not.  lies: the drive forgets what it was told to sync. */
static void disk_at(size_t cut, bool lies, struct disk *d)
{
    size_t synced[2] = {0}, renamed = 0, at;
    struct entry e;
    for (at = 0; at < cut; at = e.next) {
        e = entry_at(at, cut);
        d->turns += e.what == CALL_ACK;
        d->gone |= e.what == CALL_GONE;
        if (e.what == CALL_SYNC && !e.past) synced[file_of(d, &e)] = e.next;
        if (e.what == CALL_FOLDER && !e.past) renamed = e.next;
    }
    for (at = 0; at < cut; at = e.next) {
        e = entry_at(at, cut);
        if (e.what == CALL_RENAME && !e.past && ((!lies && at < renamed) || draw(2))) d->named = file_of(d, &e);
        if (e.what != CALL_WRITE) continue;
        int f = file_of(d, &e);
        write_sectors(&d->file[f], &e, !lies && !e.past && (at < synced[f] || e.p[1]));
    }
}

static struct buf read_file(const char *path)
{
    struct buf out = {0};
    char part[1 << 16];
    ssize_t n;
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    while ((n = read(fd, part, sizeof part)) > 0) buf_put(&out, part, (size_t)n);
    close(fd);
    return out;
}

static void write_file(const char *path, const struct buf *bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, bytes->data, bytes->len) == (ssize_t)bytes->len);
    close(fd);
}

/* What the power loss leaves: what there is to see is right, or not. */
static bool is_lost(const char *dir, size_t cut, const struct buf *start, ino_t number, bool lies)
{
    struct disk d = {.number = {number}};
    char path[300], other[300];
    int bobs = 0;
    snprintf(path, sizeof path, "%s/journal/data.mdb", dir);
    snprintf(other, sizeof other, "%s/journal/new.mdb", dir);
    buf_put(&d.file[0], start->data, start->len);
    disk_at(cut, lies, &d);
    unlink(other);
    write_file(path, &d.file[d.named]);
    if (!d.named && d.number[1]) write_file(other, &d.file[1]);
    int64_t there = look_into(dir, &bobs);
    for (int f = 0; f < 2; f++) buf_free(&d.file[f]);
    if (there < d.turns || there > d.turns + 1 || (bobs > 0 && bobs < BOBS)) return true;
    return d.gone && (bobs > 0 || occurrences(dir, "bob says") > 0);
}

static void begin_log(const char *dir)
{
    static char folder[300];
    snprintf(folder, sizeof folder, "%s/journal", dir);
    io.folder = folder;
    io.log.len = 0;
    io.logged = 0;
    io.mode = LOG;
}

/* Turns with every write on record; among them bob's session is deleted, for which the file is written anew. */
static void work_on_record(struct store *s, bool too_early)
{
    uint64_t goes = 5 + draw(TURNS - 10);
    for (uint64_t i = 0; i < TURNS; i++) {
        if (too_early) log_ack(CALL_ACK);
        OK(commit_turn(s, i));
        if (!too_early) log_ack(CALL_ACK);
        if (i != goes) continue;
        OK(store_delete_session(s, bob, &err));
        log_ack(CALL_GONE);
    }
}

/* Half of the moments at any byte, half between two calls. */
static size_t draw_cut(void)
{
    size_t at = 0;
    if (draw(2)) return (size_t)draw(io.log.len);
    for (uint64_t n = draw((uint64_t)io.logged); n > 0; n--) at = entry_at(at, io.log.len).next;
    return at;
}

/* The power goes at `cuts` moments.  Losses: disks on which an acknowledged turn or deletion is not, or half of
 * anything is, or that are damaged. */
static int losses(int cuts, enum fault fault)
{
    char dir[256], path[300];
    struct store *s = NULL;
    struct stat st;
    struct store_stat grown;
    int lost = 0;
    snprintf(dir, sizeof dir, "%s", fresh_dir());
    snprintf(path, sizeof path, "%s/journal/data.mdb", dir);
    io.nosync = fault == WITH_NOSYNC;
    OK(store_open(&s, dir, &small, &err));
    for (uint64_t i = 0; i < BOBS; i++) commit_message(s, bob, i, "bob says what nobody shall read");
    OK(store_stat(s, STORE_JOURNAL, &grown, &err));
    uint64_t map = grown.map_bytes;
    struct buf start = read_file(path);
    CHECK_EQ(stat(path, &st), 0);
    begin_log(dir);
    work_on_record(s, fault == ACK_BEFORE_COMMIT);
    io.mode = PASS;
    OK(store_stat(s, STORE_JOURNAL, &grown, &err));
    CHECK(grown.map_bytes > map); /* the map grew meanwhile */
    store_close(s);
    io.nosync = false;
    CHECK_EQ(turns_in(dir), TURNS);
    for (int i = 0; i < cuts; i++) lost += is_lost(dir, draw_cut(), &start, st.st_ino, fault == DRIVE_LIES);
    buf_free(&start);
    buf_free(&io.log);
    return lost;
}

TEST(after_a_power_loss_every_acknowledged_turn_is_there)
{
    for (int r = 0; r < rounds(); r++) CHECK_EQ(losses(POWER_CUTS, NO_FAULT), 0); /* each has a log of its own */
    printf("# %d disks\n", rounds() * POWER_CUTS);
}

TEST(syncs_that_do_nothing_are_caught_by_the_power_loss)
{
    CHECK(losses(20, DRIVE_LIES) > 5);
}

TEST(mdb_nosync_is_caught_by_the_power_loss)
{
    CHECK(losses(20, WITH_NOSYNC) > 5);
}

TEST(acknowledging_before_the_commit_is_caught_by_the_power_loss)
{
    CHECK(losses(20, ACK_BEFORE_COMMIT) > 5);
}

CHECK_MAIN
