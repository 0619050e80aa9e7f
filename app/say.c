/* say.c - see say.h. */
#include "app/say.h"
#include "app/term_filter.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>

static bool is_plain = true, never_waits;
static unsigned left_out; /* lines */
static unsigned errors;
static void (*divert)(void *self, enum say_kind kind, const char *text, size_t n);
static void *diverter;

void say_divert(void (*line)(void *self, enum say_kind kind, const char *text, size_t n), void *self)
{
    divert = line;
    diverter = self;
}

bool say_diverted(void) { return divert != NULL; }

void say_progress(const char *text)
{
    if (divert) divert(diverter, SAY_PROGRESS, text, strlen(text));
}

unsigned say_errors(void) { return errors; }

void say_plainly(bool plain)
{
    is_plain = plain;
}

void say_never_waits(void) { never_waits = true; }

bool say_on_terminal(void)
{
    return !is_plain && !divert && isatty(STDERR_FILENO) == 1;
}

void say_bytes(const char *bytes, size_t n)
{
    if (divert) return;
    while (n > 0) { /* nobody can be told that stderr failed */
        ssize_t done = write(STDERR_FILENO, bytes, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return;
        bytes += done;
        n -= (size_t)done;
    }
}

/* A pipe that is ready has a page free, which is more than a line. */
static bool has_room(void)
{
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (!never_waits) return true;
    return poll(&fd, 1, 0) > 0 && (fd.revents & POLLOUT);
}

static void put_line(const char *line, size_t n)
{
    char text[64];
    if (left_out > 0 && has_room()) {
        int words = snprintf(text, sizeof text, "(%u line%s found no reader)\n", left_out, plural(left_out));
        left_out = 0;
        say_bytes(text, (size_t)words);
    }
    if (has_room()) say_bytes(line, n);
    else left_out++;
}

__attribute__((format(printf, 4, 0)))
static void put(enum say_kind kind, const char *before, const char *after, const char *fmt, va_list ap)
{
    char text[2048];
    struct buf line = {0};
    vsnprintf(text, sizeof text, fmt, ap);
    if (divert) {
        divert(diverter, kind, text, strlen(text));
        return;
    }
    buf_puts(&line, before);
    term_filter_text(text, strlen(text), true, &line);
    buf_puts(&line, after);
    put_line(line.data, line.len); /* one write: lines of two writers do not mix */
    buf_free(&line);
}

void say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put(SAY_PLAIN, "", "\n", fmt, ap);
    va_end(ap);
}

void say_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    errors++;
    put(SAY_ERROR, "plimsoll: ", "\n", fmt, ap);
    va_end(ap);
}

void say_dim(const char *fmt, ...)
{
    bool colour = say_on_terminal();
    va_list ap;
    va_start(ap, fmt);
    put(SAY_DIM, colour ? "\033[2m" : "", colour ? "\033[0m\n" : "\n", fmt, ap);
    va_end(ap);
}
