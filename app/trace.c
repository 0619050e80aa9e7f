/* trace.c - see trace.h. */
#include "app/trace.h"
#include "app/progress.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static const double between_samples = 0.1;

static bool is_one_of(const char *path, const char *const *keep, int n)
{
    struct stat a, b;
    if (stat(path, &a) || !S_ISREG(a.st_mode)) return false;
    for (int i = 0; i < n; i++)
        if (keep[i] && stat(keep[i], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino) return true;
    return false;
}

int trace_open(struct trace *t, struct out *json, const char *path, const char *const *keep, int n, struct err *err)
{
    *t = (struct trace){.json = json, .start = progress_clock(), .sampled = -1, .own.name = ""};
    t->voice = &t->own;
    if (!path) return 0;
    if (strcmp(path, "-") == 0)
        return err_set(err, -1, "--trace - is no file: --json writes events to stdout (./- is a file of that name)");
    if (is_one_of(path, keep, n)) return err_set(err, -1, "--trace %.200s would overwrite a file that is in use", path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return err_set(err, -1, "--trace %.200s could not be opened: %s", path, strerror(errno));
    out_init(&t->file, fd);
    t->has_file = true;
    return 0;
}

void trace_close(struct trace *t)
{
    if (t->has_file && close(t->file.fd) && !t->file.failed) t->file.failed = errno;
}

bool trace_on(const struct trace *t)
{
    return t->json || t->has_file || t->voice->note || t->watch;
}

static void put(struct out *o, struct event *e, int64_t *seq)
{
    struct buf line = {0};
    if (o->failed) return;
    e->seq = ++*seq;
    if (event_write(e, &line)) o->failed = ENOMEM;
    else out_put(o, line.data, line.len);
    buf_free(&line);
}

bool trace_put(struct trace *t, struct event *e)
{
    enum event_class class = event_info(e->kind)->class;
    if (!trace_on(t)) return false;
    e->time = round((progress_clock() - t->start) * 1e6) / 1e6;
    if (e->kind == EV_MEMORY) {
        if (!t->all_samples && t->sampled >= 0 && e->time - t->sampled < between_samples) return false;
        t->sampled = e->time;
    }
    e->agent = event_str(t->voice->name);
    if (t->idle) {
        if (t->watch) t->watch(t->watcher, e);
        return true;
    }
    if (t->json && e->kind != EV_TOKEN) put(t->json, e, &t->json_seq);
    if (t->has_file) put(&t->file, e, &t->file_seq);
    if (t->watch) t->watch(t->watcher, e);
    if (t->voice->note && class != EVENT_LIVE) t->voice->note(t->voice->self, e);
    return true;
}
