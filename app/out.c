/* out.c - writing that waits, can be interrupted, and remembers its failure. */
#include "app/out.h"
#include "app/signals.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* A pipe that poll() calls writable takes PIPE_BUF = 4096 bytes without a wait. */
enum { CHUNK = 4096, PATIENCE_MS = 1000 };

void out_init(struct out *o, int fd)
{
    *o = (struct out){.fd = fd, .terminal = isatty(fd) == 1};
    term_filter_init(&o->filter);
}

/* Wait for room.  false: a signal is pending and the reader did not move. */
static bool wait_for_room(int fd)
{
    for (;;) {
        bool pending = signals_pending() != 0;
        struct pollfd p[2] = {{.fd = fd, .events = POLLOUT}, {.fd = signals_fd(), .events = POLLIN}};
        int n = poll(p, pending ? 1 : 2, pending ? PATIENCE_MS : -1);
        if (n < 0 && errno != EINTR) return true; /* write() will say what is wrong */
        if (n > 0 && p[0].revents) return true;
        if (n == 0) return false;
    }
}

static void write_all(struct out *o, const char *bytes, size_t n)
{
    while (n > 0 && !o->failed) {
        if (!wait_for_room(o->fd)) return;
        ssize_t done = write(o->fd, bytes, MIN(n, CHUNK));
        if (done < 0 && errno != EINTR && errno != EAGAIN) o->failed = errno;
        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        }
    }
}

void out_put(struct out *o, const char *bytes, size_t n)
{
    if (n == 0 || o->failed) return;
    if (!o->terminal) {
        write_all(o, bytes, n);
        return;
    }
    struct buf shown = {0};
    term_filter_feed(&o->filter, bytes, n, &shown);
    if (shown.failed) o->failed = ENOMEM;
    write_all(o, shown.data, shown.len);
    buf_free(&shown);
}

void out_end(struct out *o)
{
    struct buf shown = {0};
    if (o->terminal) term_filter_end(&o->filter, &shown);
    write_all(o, shown.data, shown.len);
    buf_free(&shown);
}

int out_status(const struct out *o, const char *name, struct err *err)
{
    if (!o->failed) return 0;
    if (o->failed == EPIPE) return 141;
    return err_set(err, 1, "%s could not be written: %s", name, strerror(o->failed));
}
