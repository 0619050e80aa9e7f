/* session_attach.c - files into a conversation, or into its recall index; results from outside. */
#include "app/progress.h"
#include "app/say.h"
#include "app/session/session_impl.h"
#include "app/session/session_result.h"
#include "memory/forms.h"
#include "tools/clip.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTACH_MOST = 64 << 20, LOOK = 4096 };

/* It may be long on its way, from another machine's disk: how far it is is shown, and Esc or Ctrl-C ends it. */
static int read_file(struct session *s, const char *path, struct buf *out, struct err *err)
{
    char part[1 << 16], what[100];
    const char *slash = strrchr(path, '/');
    struct progress bar;
    struct stat st;
    ssize_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return err_set(err, -1, "%.200s: %s", path, strerror(errno));
    int rc = fstat(fd, &st) || !S_ISREG(st.st_mode) ? err_set(err, -1, "%.200s is no regular file", path) : 0;
    snprintf(what, sizeof what, "reading %.80s", slash ? slash + 1 : path);
    progress_start(&bar, what, say_on_terminal(), progress_clock());
    bar.bytes = true;
    while (rc == 0 && (n = read(fd, part, sizeof part)) > 0) {
        buf_put(out, part, (size_t)n);
        progress_update(&bar, out->len, (uint64_t)MAX(st.st_size, 1), progress_clock());
        if (session_cancelled(s)) rc = err_set(err, -1, "%.200s: stopped, nothing of it was taken", path);
        if (out->len > ATTACH_MOST) rc = err_set(err, -1, "%.200s is over %d MiB", path, ATTACH_MOST >> 20);
        if (out->failed) rc = err_set(err, -1, "%.200s: no memory for it", path);
    }
    if (rc == 0 && n < 0) rc = err_set(err, -1, "%.200s: %s", path, strerror(errno));
    progress_end(&bar);
    close(fd);
    return rc;
}

/* A document of an office, an archive, UTF-16: it is taken, as any bytes are, but few will read or find words in it. */
static void say_if_no_text(const char *path, const struct buf *bytes)
{
    const char *b = bytes->len ? bytes->data : "";
    const bool pdf = strncmp(b, "%PDF-", 5) == 0;
    const bool wide = strncmp(b, "\xff\xfe", 2) == 0 || strncmp(b, "\xfe\xff", 2) == 0;
    if (!pdf && !wide && !memchr(b, 0, MIN(bytes->len, (size_t)LOOK))) return;
    say("%.200s is no plain text: what it says may be neither read nor found; %s", path,
        wide  ? "it is UTF-16: iconv -f UTF-16 -t UTF-8 makes text of it"
        : pdf ? "pdftotext makes text of a PDF"
              : "give its text in a file of its own");
}

/* Its name tells more than a look at its first lines. */
static enum clip_kind kind_of(const char *path)
{
    static const struct { const char *end; enum clip_kind kind; } known[] = {
        {".log", CLIP_LOG}, {".json", CLIP_JSON}, {".csv", CLIP_CSV}, {".tsv", CLIP_CSV}, {".md", CLIP_TEXT},
    };
    size_t n = strlen(path);
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        size_t end = strlen(known[i].end);
        if (n > end && strcmp(path + n - end, known[i].end) == 0) return known[i].kind;
    }
    return CLIP_AUTO;
}

static char *path_argument(const char *path)
{
    json_t *o = json_pack("{s:s}", "path", path);
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    return text;
}

int session_result(struct session *s, const struct session_tool *t, struct buf *bytes, struct err *err)
{
    struct result r = {.by = t->by, .name = t->name};
    int rc = result_clip(s, bytes, t->kind, &r, err);
    if (rc == 0 && r.artifact) rc = session_offer_tools(s, err);
    if (rc == 0) rc = result_append_ours(s, t->arguments, &r, err);
    if (rc == 0) result_tell(s, &r, t->arguments);
    buf_free(&r.text);
    return rc ? -1 : 0;
}

/* Files wait in memory until they are saved: not without end. */
static bool has_room(struct session *s, const char *path, struct err *err)
{
    if (session_check_host(s, err)) {
        turn_refuse(s->a, ENGINE_NO_MEMORY, "refused_host", err);
        return false;
    }
    if (!session_saves(s)) return true;
    if (keep_is_full(&s->keep)) keep_again(&s->keep);
    if (!keep_is_full(&s->keep)) return true;
    err_set(err, -1, "%.200s: not now, %d turns wait for the store already", path, s->keep.n_unsaved);
    return false;
}

int session_attach_file(struct session *s, const char *path, struct err *err)
{
    struct buf bytes = {0}, before = {0};
    uint64_t first = s->keep.head.next;
    char *args = path_argument(path);
    int rc = args ? 0 : err_set(err, -1, "%.200s is no name in UTF-8", path);
    if (rc == 0) rc = !has_room(s, path, err) ? -1 : read_file(s, path, &bytes, err);
    if (rc == 0) say_if_no_text(path, &bytes);
    window_save(s->w, s->vocabulary, &before);
    if (before.failed) rc = err_set(err, -1, "no memory for %.200s", path);
    const struct session_tool read = {.by = "user", .name = "read", .arguments = args, .kind = kind_of(path)};
    if (rc == 0 && s->a->o->off.docs) rc = session_keep_document(s, &read, path, &bytes, err);
    else if (rc == 0) rc = session_result(s, &read, &bytes, err);
    if (rc && !before.failed) session_withdraw(s, &before, first);
    session_tell(s);
    struct err save = {0};
    if (session_save(s, &save)) app_error(s->a, "store", save.text);
    buf_free(&before);
    buf_free(&bytes);
    free(args);
    return rc;
}

int session_ingest(struct session *s, const char *path, struct err *err)
{
    struct buf bytes = {0};
    if (!session_saves(s)) return err_set(err, -1, "this session is not saved: nothing can be ingested");
    char *args = path_argument(path); /* a name that JSON can say can be shown */
    int rc = args ? 0 : err_set(err, -1, "%.200s is no name in UTF-8", path);
    if (rc == 0) rc = !has_room(s, path, err) ? -1 : read_file(s, path, &bytes, err);
    if (rc == 0) say_if_no_text(path, &bytes);
    if (rc == 0) {
        struct journal_message m = {.kind = JOURNAL_DOCUMENT, .turn = s->keep.head.turns, .text = path,
                                    .len = strlen(path), .artifact = s->keep.head.artifacts};
        journal_add_artifact(&s->batch, s->keep.head.artifacts, &bytes);
        rc = session_note(s, &m, err) ? 0 : -1;
        s->keep.head.artifacts++;
    }
    if (rc == 0) rc = session_offer_tools(s, err);
    session_tell(s);
    if (rc == 0) rc = session_save(s, err);
    session_index(s);
    buf_free(&bytes);
    free(args);
    return rc;
}
