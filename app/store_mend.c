/* store_mend.c - `plimsoll store check`, `salvage` and `compact`. */
#include "app/say.h"
#include "app/signals.h"
#include "app/store_cmd.h"
#include "memory/journal.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 10000 }; /* that are kept of what a file says is wrong with it */

/* What a child found.  It is written out when the child has ended: a reader that is slow must not look like a file that
 * takes too long. */
struct findings {
    struct buf text;
    uint64_t n;
};

static void note(void *user, const char *line)
{
    struct findings *f = user;
    if (f->n++ < LINES) buf_printf(&f->text, "  %s\n", line);
}

static void put_findings(struct findings *f, struct buf *out)
{
    buf_put(out, f->text.data, f->text.len);
    if (f->text.failed) out->failed = true;
    if (f->n > LINES) buf_printf(out, "  and %llu more\n", (unsigned long long)(f->n - LINES));
    buf_free(&f->text);
}

/* A path as a shell takes it. */
static void put_path(const char *path, struct buf *out)
{
    bool plain = path[0] && path[0] != '-' && path[0] != '~';
    for (const char *c = path; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        plain = plain && (letter || strchr("/._-+,:@%", *c));
    }
    if (!plain) buf_puts(out, "'");
    for (const char *c = path; *c; c++) {
        if (*c == '\'') buf_puts(out, "'\\''");
        else buf_put(out, c, 1);
    }
    if (!plain) buf_puts(out, "'");
}

/* ------------------------------------------------------------------ check */

/* EXIT_DONE: looked at, and *damaged says how it is. */
static int check_part(const char *dir, enum store_part part, bool *damaged, struct buf *out)
{
    static const char *const name[STORE_PARTS] = {"journal", "cache"};
    struct findings found = {0};
    struct store_report report = {.line = note, .user = &found};
    struct store_watch watch;
    struct err err = {0};
    store_watch_report(&watch, false, &report);
    int rc = store_check(dir, part, 0, &report, &err);
    store_watch_end(&watch);
    *damaged = rc == STORE_DAMAGED;
    if (rc && !*damaged) {
        buf_free(&found.text);
        return store_cmd_error(dir, rc, &err);
    }
    buf_printf(out, "%-8s %s\n", name[part], *damaged ? "damaged:" : "clean");
    put_findings(&found, out);
    return EXIT_DONE;
}

/* Sessions without a head, in files that are good. */
static int check_sessions(const char *dir, struct buf *out)
{
    struct store *s = NULL;
    struct findings found = {0};
    const struct store_report report = {.line = note, .user = &found};
    struct journal_strays n;
    struct err err = {0};
    int status = store_cmd_open(&s, dir, true);
    int rc = status == EXIT_DONE ? journal_strays(s, false, &report, &n, &err) : 0;
    store_close(s);
    put_findings(&found, out);
    return rc ? store_cmd_error(dir, rc, &err) : status;
}

int store_check_run(const struct store_args *a)
{
    bool damaged[STORE_PARTS] = {false};
    struct buf text = {0}, path = {0};
    int status = store_cmd_exists(a->dir);
    for (int p = 0; status == EXIT_DONE && p < STORE_PARTS; p++)
        status = check_part(a->dir, (enum store_part)p, &damaged[p], &text);
    if (status == EXIT_DONE && !damaged[STORE_JOURNAL] && !damaged[STORE_CACHE]) status = check_sessions(a->dir, &text);
    int printed = store_cmd_print(&text);
    if (status == EXIT_DONE) status = printed;
    put_path(a->dir, &path);
    if (damaged[STORE_JOURNAL])
        say_error("the journal is damaged; recover with: plimsoll store salvage --store %s --to NEWDIR",
                  path.failed ? "DIR" : path.data);
    if (damaged[STORE_CACHE])
        say_error("the cache is damaged; nothing is lost by that: what it holds is made again");
    buf_free(&path);
    return status == EXIT_DONE && (damaged[STORE_JOURNAL] || damaged[STORE_CACHE]) ? EXIT_INTERNAL : status;
}

/* ------------------------------------------------------------------ salvage */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

/* The folder that a salvage made, with what is in it; no link is followed. */
static void remove_tree(const char *path)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) && errno != ENOENT)
        say_error("%s: could not be removed: %s; remove it", path, strerror(errno));
}

/* Whether there is something to read, and room for what is written; said if not. */
static bool may_salvage(const char *from, const char *to, const char *partial)
{
    struct buf journal = {0};
    struct stat st;
    buf_printf(&journal, "%s/journal/data.mdb", from);
    bool there = !journal.failed && lstat(journal.data, &st) == 0 && S_ISREG(st.st_mode);
    buf_free(&journal);
    if (!there) {
        say_error("%s: there is no journal/data.mdb to salvage; --store DIR names another folder", from);
    } else if (lstat(partial, &st) == 0) {
        say_error("%s: is left over from a salvage that did not end; remove it first", partial);
    } else if (rmdir(to) && errno != ENOENT) {
        if (errno == ENOTEMPTY || errno == EEXIST)
            say_error("--to %s: is not empty; name a folder that is not there yet", to);
        else
            say_error("--to %s: cannot be the new store's folder: %s", to, strerror(errno));
    } else {
        return true;
    }
    return false;
}

/* The new store gets its name when it is whole, so that no other is ever taken for one. */
static int move_in_place(const char *partial, const char *to)
{
    struct buf above = {0};
    const char *slash = strrchr(to, '/');
    if (rename(partial, to)) {
        say_error("%s: cannot be renamed to %s: %s", partial, to, strerror(errno));
        return EXIT_INTERNAL;
    }
    if (!slash) buf_puts(&above, ".");
    else buf_put(&above, to, slash == to ? 1 : (size_t)(slash - to));
    int fd = above.failed ? -1 : open(above.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    if (!synced) say_error("%s: could not be synced; its name may not survive a power loss", to);
    if (fd >= 0) close(fd);
    buf_free(&above);
    return EXIT_DONE;
}

static int mend_alone(struct store *s, void *arg, struct err *err)
{
    struct findings *found = arg;
    const struct store_report report = {.line = note, .user = found};
    struct journal_strays n;
    return journal_strays(s, true, &report, &n, err);
}

/* Sessions that have lost their head get one, and halves of copies go: the new store is nobody's yet. */
static int mend_salvaged(const char *partial, struct findings *found)
{
    struct store *s = NULL;
    struct err err = {0};
    int status = store_cmd_open(&s, partial, false);
    int rc = status == EXIT_DONE ? store_alone(s, mend_alone, found, &err) : 0;
    store_close(s);
    return rc ? store_cmd_error(partial, rc, &err) : status;
}

static int salvage_into(const char *from, const char *to, const char *partial, struct buf *text)
{
    struct findings found = {0}, mended = {0};
    struct store_report report = {.line = note, .user = &found};
    struct store_watch watch;
    struct err err = {0};
    uint64_t records = 0, missing = 0;
    store_watch_report(&watch, true, &report);
    int rc = store_salvage(from, partial, 0, &report, &records, &missing, &err), status = EXIT_DONE;
    store_watch_end(&watch);
    if (signals_pending()) { /* the child may have met it too, and ended early */
        say_error("interrupted: nothing was salvaged");
        status = 128 + signals_pending();
    } else if (rc) {
        status = store_cmd_error(from, rc, &err);
    } else {
        status = mend_salvaged(partial, &mended);
    }
    if (status == EXIT_DONE) status = move_in_place(partial, to);
    if (status != EXIT_DONE) {
        remove_tree(partial);
        buf_free(&found.text);
        buf_free(&mended.text);
        return status;
    }
    if (found.n) buf_puts(text, "missing or damaged:\n");
    put_findings(&found, text);
    if (mended.n) buf_puts(text, "without a head:\n");
    put_findings(&mended, text);
    buf_printf(text, "%llu record%s copied to ", (unsigned long long)records, plural((int64_t)records));
    put_path(to, text);
    if (missing) buf_printf(text, "; %llu finding%s, above", (unsigned long long)missing, missing == 1 ? "" : "s");
    else buf_puts(text, "; nothing is missing");
    buf_puts(text, "\nnext: look at it with plimsoll store stat --store ");
    put_path(to, text);
    buf_puts(text, "\n      then put it in the place of ");
    put_path(from, text);
    buf_puts(text, ", which is as it was\n");
    return EXIT_DONE;
}

int store_salvage_run(const struct store_args *a)
{
    struct buf to = {0}, partial = {0}, text = {0};
    struct err err = {0};
    int status = EXIT_INTERNAL;
    buf_puts(&to, a->to);
    while (to.len > 1 && to.data[to.len - 1] == '/') to.data[--to.len] = '\0';
    buf_printf(&partial, "%s.partial", to.failed ? "" : to.data);
    if (to.failed || partial.failed) say_error("out of memory");
    else if (signals_open(&err)) say_error("%s", err.text);
    else if (!may_salvage(a->dir, to.data, partial.data)) status = EXIT_USAGE;
    else status = salvage_into(a->dir, to.data, partial.data, &text);
    buf_free(&to);
    buf_free(&partial);
    return status == EXIT_DONE ? store_cmd_print(&text) : status;
}

/* ------------------------------------------------------------------ compact */

static int sizes(struct store *s, uint64_t bytes[STORE_PARTS], struct err *err)
{
    struct store_stat st;
    int rc = 0;
    for (int p = 0; !rc && p < STORE_PARTS; p++) {
        rc = store_stat(s, (enum store_part)p, &st, err);
        bytes[p] = rc ? 0 : st.file_bytes;
    }
    return rc;
}

static void put_change(const char *part, uint64_t before, uint64_t after, const char *remark, struct buf *out)
{
    buf_printf(out, "%-8s%11s -> %s%s\n", part, store_cmd_size(before).text, store_cmd_size(after).text, remark);
}

/* Signals that come now wait: the files are put in place one after the other, and each at once. */
int store_compact_run(const struct store_args *a)
{
    uint64_t before[STORE_PARTS], after[STORE_PARTS];
    struct store *s = NULL;
    struct findings mended = {0};
    struct buf text = {0};
    struct err err = {0};
    int status = store_cmd_open(&s, a->dir, false);
    if (status != EXIT_DONE) return status;
    int rc = signals_open(&err) ? STORE_FAILED : sizes(s, before, &err);
    if (!rc) rc = store_alone(s, mend_alone, &mended, &err);
    if (!rc) rc = store_wipe(s, &err);
    if (!rc) rc = sizes(s, after, &err);
    store_close(s);
    put_findings(&mended, &text);
    if (rc) {
        store_cmd_print(&text); /* what was mended is so, whatever came after it */
        return store_cmd_error(a->dir, rc, &err);
    }
    put_change("journal", before[STORE_JOURNAL], after[STORE_JOURNAL], "", &text);
    put_change("cache", before[STORE_CACHE], after[STORE_CACHE], " (emptied: what was in it is made again)", &text);
    status = store_cmd_print(&text);
    return status == EXIT_DONE && signals_pending() ? 128 + signals_pending() : status;
}
