/* loop.c - see loop.h. */
#include "app/tui/loop.h"
#include "app/progress.h"
#include "app/signals.h"
#include "app/tui/screen.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

enum { ESCAPE_MS = 40, DRAW_MS = 40, CHUNK = 65536 };

static int64_t now_ms(void) { return (int64_t)(1e3 * progress_clock()); }

/* ------------------------------------------------------------------ what is ready */

static void go(struct loop *l)
{
    l->gone = true;
    l->ops->leave(l->self);
}

static void read_keys(struct loop *l)
{
    char bytes[CHUNK];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) go(l);
    else keys_feed(&l->keys, bytes, (size_t)n, now_ms());
}

static void obey_keys(struct loop *l)
{
    struct key k;
    while (keys_next(&l->keys, now_ms(), &k)) {
        l->ops->key(l->self, &k);
        l->dirty = l->at_once = true;
    }
}

static void look_at_terminal(struct loop *l)
{
    struct err err = {0};
    const unsigned woken = screen_woken();
    int columns, rows;
    if (woken & SCREEN_CONTINUED && screen_resume(&err)) go(l);
    if (!woken) return;
    screen_size(&columns, &rows);
    l->ops->resize(l->self, columns, rows);
    l->dirty = l->at_once = true;
}

static void look_at_signals(struct loop *l)
{
    const int sig = signals_pending();
    if (sig == SIGINT) {
        l->ops->interrupt(l->self);
        l->dirty = true;
    } else if (sig) {
        l->ending = sig;
        l->ops->leave(l->self);
    }
}

/* ------------------------------------------------------------------ the loop */

static int wait_ms(const struct loop *l)
{
    int ms = l->ops->wait_ms(l->self);
    const int keys = keys_wait_ms(&l->keys, now_ms());
    if (keys >= 0) ms = MIN(ms, keys);
    if (l->dirty) ms = MIN(ms, (int)MAX(l->drawn_ms + DRAW_MS - now_ms(), 0));
    return ms;
}

static void wait_for_something(struct loop *l)
{
    struct pollfd p[4] = {{.fd = l->gone ? -1 : STDIN_FILENO, .events = POLLIN},
                          {.fd = l->fd, .events = POLLIN},
                          {.fd = screen_wake_fd(), .events = POLLIN},
                          {.fd = signals_pending() ? -1 : signals_fd(), .events = POLLIN}};
    if (poll(p, COUNT_OF(p), wait_ms(l)) <= 0) return;
    if (p[3].revents && !signals_pending()) signals_settle();
    if (p[0].revents) read_keys(l);
    if (p[2].revents) look_at_terminal(l);
}

static void draw(struct loop *l)
{
    struct err err = {0};
    const int64_t now = now_ms();
    if (l->gone || l->ending || !l->dirty) return;
    if (!l->at_once && now - l->drawn_ms < DRAW_MS) return;
    l->dirty = l->at_once = false;
    l->drawn_ms = now;
    if (screen_draw(l->ops->draw(l->self), &err)) go(l);
}

void loop_run(struct loop *l, const struct loop_ops *ops, void *self, int fd)
{
    *l = (struct loop){.ops = ops, .self = self, .fd = fd, .dirty = true};
    size_t n;
    const char *typed = screen_typed(&n);
    keys_open(&l->keys, ESCAPE_MS);
    if (n > 0) keys_feed(&l->keys, typed, n, now_ms());
    while (!ops->over(self)) {
        obey_keys(l);
        if (ops->step(self)) l->dirty = true;
        look_at_signals(l);
        if (ops->tick(self) && now_ms() - l->drawn_ms >= LOOP_TICK_MS) l->dirty = true;
        draw(l);
        if (!ops->over(self)) wait_for_something(l);
    }
    keys_close(&l->keys);
}
