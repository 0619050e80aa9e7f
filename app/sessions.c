/* sessions.c - see sessions.h. */
#include "app/sessions.h"
#include "app/out.h"
#include "app/say.h"
#include "app/signals.h"
#include "app/tui/history.h"
#include "memory/import.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- a file */

struct writing {
    struct out out;
    struct buf *missing;
    uint64_t bytes;
};

static bool put(void *self, const char *bytes, size_t n)
{
    struct writing *w = self;
    out_put(&w->out, bytes, n);
    w->bytes += n;
    return !w->out.failed && !signals_pending();
}

static void miss(void *self, const char *line)
{
    struct writing *w = self;
    buf_printf(w->missing, "%s\n", line);
}

bool sessions_file_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static int failed(struct err *err, const char *path, int error)
{
    return err_set(err, SESSIONS_FILE, "%.300s cannot be written: %s", path, strerror(error));
}

static int exists(struct err *err, const char *path)
{
    return err_set(err, SESSIONS_EXISTS, "%.300s is there already; --force writes over it", path);
}

/* What is no file of its own is left alone: a device, a folder, a link to somewhere. */
static int look(const struct sessions_file *f, struct err *err)
{
    struct stat st;
    if (lstat(f->path, &st)) return errno == ENOENT ? 0 : failed(err, f->path, errno);
    if (!S_ISREG(st.st_mode)) return err_set(err, SESSIONS_FILE, "%.300s is there, and is no file", f->path);
    return f->over ? 0 : exists(err, f->path);
}

/* File systems that cannot rename without replacing are few; there a look just before must do. */
static int place(const char *from, const struct sessions_file *f, struct err *err)
{
    char path[PATH_MAX];
    int bad = f->over ? rename(from, f->path)
                      : renameat2(AT_FDCWD, from, AT_FDCWD, f->path, RENAME_NOREPLACE);
    if (bad && !f->over && (errno == EINVAL || errno == ENOSYS)) {
        if (sessions_file_exists(f->path)) return exists(err, f->path);
        bad = rename(from, f->path);
    }
    if (bad) return errno == EEXIST ? exists(err, f->path) : failed(err, f->path, errno);
    snprintf(path, sizeof path, "%s", f->path);
    int folder = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        fsync(folder); /* the file is whole either way */
        close(folder);
    }
    return 0;
}

static int fill(struct store *s, struct sessions_file *f, int fd, struct err *err)
{
    struct writing w = {.missing = &f->missing};
    const struct export_sink sink = {put, miss, &w};
    struct journal_head head;
    int rc = journal_head(s, f->session, &head, err);
    out_init(&w.out, fd);
    if (rc == 0) rc = export_session(s, &head, &f->options, &sink, err);
    if (rc == 0 && signals_pending()) rc = err_set(err, SESSIONS_STOPPED, "interrupted: no file was written");
    if (rc == 0 && w.out.failed) rc = failed(err, f->path, w.out.failed);
    f->bytes = w.bytes;
    if (rc == 0 && (fchmod(fd, 0600) || fsync(fd))) rc = failed(err, f->path, errno);
    return rc;
}

bool sessions_too_large(const struct export_options *o, uint64_t bytes)
{
    return o->format == EXPORT_JSONL && bytes > IMPORT_MOST;
}

void sessions_tell_size(const struct export_options *o, uint64_t bytes)
{
    if (sessions_too_large(o, bytes))
        say("it has %.2f GiB and is whole, but import takes %.0f GiB of lines at most: keep the store too",
            (double)bytes / 0x1p30, (double)IMPORT_MOST / 0x1p30);
}

int sessions_write(struct store *s, struct sessions_file *f, struct err *err)
{
    char beside[PATH_MAX];
    int rc = look(f, err);
    if (rc) return rc;
    int n = snprintf(beside, sizeof beside, "%s.XXXXXX", f->path);
    if (n < 0 || n >= (int)sizeof beside) return failed(err, f->path, ENAMETOOLONG);
    int fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0) return failed(err, f->path, errno);
    rc = fill(s, f, fd, err);
    if (close(fd) && rc == 0) rc = failed(err, f->path, errno);
    if (rc == 0) rc = place(beside, f, err);
    if (rc) unlink(beside);
    return rc;
}

/* ---------------------------------------------------------------- deleting */

enum { MEMBERS = 1 << 20 };

/* The heads of a run but its record's; *head is for free(). */
static int members_of(struct store *s, const struct journal_head *h, struct journal_head **head, size_t *n,
                      struct err *err)
{
    size_t all = 0;
    *head = NULL;
    *n = 0;
    int rc = journal_is_run(h) ? journal_run_heads(s, h->run.id, MEMBERS, head, &all, err) : 0;
    for (size_t i = 0; i < all; i++)
        if (!journal_is_run(&(*head)[i])) (*head)[(*n)++] = (*head)[i];
    return rc;
}

int sessions_members(struct store *s, const struct journal_head *h, size_t *n, struct err *err)
{
    struct journal_head *head;
    int rc = members_of(s, h, &head, n, err);
    free(head);
    return rc;
}

void sessions_what(const struct journal_head *h, size_t members, char out[SESSIONS_WHAT])
{
    char id[2 * STORE_SESSION_ID + 1];
    journal_id_text(h->id, id);
    const char *many = h->turns == 1 ? "" : "s";
    if (!journal_is_run(h))
        snprintf(out, SESSIONS_WHAT, "%.8s, %s (%u turn%s)", id, h->title, (unsigned)h->turns, many);
    else
        snprintf(out, SESSIONS_WHAT, "%.8s, %s (%u line%s, and %zu session%s of its agents)", id, h->title,
                 (unsigned)h->turns, many, members, members == 1 ? "" : "s");
}

/* Each locked for that while.  drops: else it is only seen that nobody has one of them open. */
static int each_member(struct store *s, const struct journal_head *head, size_t n, bool drops, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct store_lock lock = {0};
        rc = store_lock_session(s, head[i].id, &lock, err);
        if (rc == 0 && drops) rc = store_drop_session(s, head[i].id, err);
        store_unlock_session(&lock);
    }
    return rc;
}

/* The record goes last: what was cut short can be done again. */
static int delete_all(struct store *s, const uint8_t session[STORE_SESSION_ID], bool *waits, struct err *err)
{
    struct journal_head head, *member = NULL;
    size_t n = 0;
    int rc = journal_head(s, session, &head, err); /* it may have gone meanwhile */
    if (rc == 0) rc = members_of(s, &head, &member, &n, err);
    if (rc == 0) rc = each_member(s, member, n, false, err);
    if (rc == 0) rc = each_member(s, member, n, true, err);
    free(member);
    if (rc) return rc;
    rc = store_delete_session(s, session, err);
    *waits = rc == STORE_BUSY;
    return *waits ? 0 : rc;
}

int sessions_delete(struct store *s, const uint8_t session[STORE_SESSION_ID], bool *waits, struct err *err)
{
    struct store_lock lock = {0};
    *waits = false;
    int rc = store_lock_session(s, session, &lock, err);
    if (rc) return rc;
    rc = delete_all(s, session, waits, err);
    store_unlock_session(&lock);
    return rc;
}

static const char *env(const char *name) { return getenv(name); }

void sessions_tell_deleted(bool waits)
{
    struct history h;
    if (waits) say("it is deleted; its bytes are wiped when the other processes that use the store have ended");
    if (history_open(&h, env, false, NULL)) return;
    if (access(h.path, F_OK) == 0)
        say_dim("what was typed on the full screen, whatever the session, stays in %s: delete that file to forget it",
                h.path);
    history_close(&h);
}

/* ---------------------------------------------------------------- a question */

bool sessions_nobody(const struct input *in) { return !in->confirm && in->fd < 0; }

bool sessions_ask(struct input *in, const char *fmt, ...)
{
    char question[512];
    struct buf shown = {0};
    struct err err = {0};
    const char *line = "";
    size_t n = 0;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(question, sizeof question, fmt, ap);
    va_end(ap);
    if (sessions_nobody(in)) return false;
    if (in->confirm) return in->confirm(in->confirm_self, question);
    term_filter_text(question, strlen(question), true, &shown);
    buf_puts(&shown, " [y/N] ");
    say_bytes(shown.data ? shown.data : "", shown.len);
    buf_free(&shown);
    enum input_result r = input_line(in, &line, &n, &err);
    if (r != INPUT_OK) say_bytes("\n", 1);
    if (r != INPUT_OK) return false;
    return (n == 1 && strncasecmp(line, "y", 1) == 0) || (n == 3 && strncasecmp(line, "yes", 3) == 0);
}
