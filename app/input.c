/* input.c - see input.h. */
#include "app/input.h"
#include "app/say.h"
#include "app/signals.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum { CHUNK = 65536, SILENCE_MS = 2000, AHEAD_MS = 100 /* between two parts of what is pasted */ };

void input_open(struct input *in, int fd)
{
    *in = (struct input){.fd = fd, .what = "stdin", .limit = INPUT_LIMIT, .ended = fd < 0};
}

void input_close(struct input *in)
{
    buf_free(&in->bytes);
    buf_free(&in->aside);
}

/* Append what one read brings.  INPUT_END: nothing more will come.  say_waiting: told once, when it takes long; NULL:
 * never. */
static enum input_result more(int fd, const char *what, struct buf *b, const char **say_waiting, struct err *err)
{
    char chunk[CHUNK];
    for (;;) {
        struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = signals_fd(), .events = POLLIN}};
        if (signals_pending()) return INPUT_SIGNAL;
        int n = poll(p, 2, say_waiting && *say_waiting ? SILENCE_MS : -1);
        if (n == 0) {
            if (say_on_terminal()) say_dim("%s", *say_waiting);
            *say_waiting = NULL;
        }
        if (n <= 0 || !p[0].revents) continue;
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got < 0) return (void)err_set(err, -1, "%.200s could not be read: %s", what, strerror(errno)), INPUT_FAILED;
        if (got == 0) return INPUT_END;
        buf_put(b, chunk, (size_t)got);
        if (b->failed) return (void)err_set(err, -1, "no memory for %s", what), INPUT_FAILED;
        return INPUT_OK;
    }
}

static void drop_given(struct input *in)
{
    struct buf *b = &in->bytes;
    if (in->given > 0) memmove(b->data, b->data + in->given, b->len - in->given);
    b->len -= in->given;
    in->given = 0;
}

enum input_result input_put_aside(struct input *in, struct err *err)
{
    struct pollfd p = {.fd = in->fd, .events = POLLIN};
    struct buf *b = &in->bytes;
    assert(in->aside.len == 0); /* one question at a time */
    drop_given(in);
    while (!in->ended && b->len <= in->limit && poll(&p, 1, AHEAD_MS) > 0) {
        enum input_result r = more(in->fd, in->what, b, NULL, err);
        if (r == INPUT_END) in->ended = true;
        else if (r != INPUT_OK) return r;
    }
    if (b->len > in->limit)
        return (void)err_set(err, -1, "more than %zu MiB were typed ahead", in->limit >> 20), INPUT_FAILED;
    if (b->len == 0) return INPUT_OK;
    in->aside = *b;
    *b = (struct buf){0};
    return INPUT_OK;
}

void input_put_back(struct input *in)
{
    drop_given(in);
    if (in->aside.len == 0) return;
    buf_put(&in->aside, in->bytes.data, in->bytes.len);
    buf_free(&in->bytes);
    in->bytes = in->aside;
    in->aside = (struct buf){0};
}

enum input_result input_line(struct input *in, const char **line, size_t *n, struct err *err)
{
    struct buf *b = &in->bytes;
    drop_given(in);
    for (size_t seen = 0;;) {
        const char *newline = b->len > seen ? memchr(b->data + seen, '\n', b->len - seen) : NULL;
        size_t len = newline ? (size_t)(newline - b->data) : b->len;
        if (len > in->limit)
            return (void)err_set(err, -1, "a line of %.200s is longer than %zu MiB", in->what, in->limit >> 20),
                   INPUT_FAILED;
        if (newline || (in->ended && len > 0)) {
            in->given = len + (newline != NULL);
            *n = newline && len > 0 && b->data[len - 1] == '\r' ? len - 1 : len;
            *line = b->data;
            return INPUT_OK;
        }
        if (in->ended) return INPUT_END;
        seen = b->len;
        enum input_result r = more(in->fd, in->what, b, NULL, err);
        if (r == INPUT_END) in->ended = true;
        else if (r != INPUT_OK) return r;
    }
}

bool input_ready(const struct input *in)
{
    struct pollfd p = {.fd = in->fd, .events = POLLIN};
    return in->ended || in->bytes.len > in->given || poll(&p, 1, 0) > 0;
}

enum input_result input_all(int fd, size_t limit, const char *what, bool patient, struct buf *out, struct err *err)
{
    const char *waiting = "waiting for data on stdin (none to come? add </dev/null)";
    enum input_result r;
    while ((r = more(fd, what, out, patient ? &waiting : NULL, err)) == INPUT_OK) {
        waiting = NULL;
        if (out->len > limit)
            return (void)err_set(err, -1, "%s is longer than %zu MiB", what, limit >> 20), INPUT_FAILED;
    }
    return r == INPUT_END ? INPUT_OK : r;
}
