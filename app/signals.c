/* signals.c - flags and a wake pipe. */
#include "app/signals.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { LAST_INTERRUPT = 3 };

static atomic_int interrupts, ending;
static atomic_llong since; /* nanoseconds, of the first that is pending; 0: nothing is */
static int wake[2] = {-1, -1};
static void (*before_exit)(void);

void signals_before_exit(void (*fn)(void)) { before_exit = fn; }

static void note_time(void)
{
    struct timespec now;
    long long none = 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_compare_exchange_strong(&since, &none, now.tv_sec * 1000000000LL + now.tv_nsec);
}

void signals_exit(void)
{
    if (before_exit) before_exit();
    _exit(128 + SIGINT);
}

static void on_signal(int sig)
{
    int saved = errno;
    note_time();
    if (sig != SIGINT) atomic_store(&ending, sig);
    else if (atomic_fetch_add(&interrupts, 1) + 1 >= LAST_INTERRUPT) signals_exit();
    if (write(wake[1], "!", 1) < 0) { /* full: then it is readable already */
    }
    errno = saved;
}

void signals_interrupt(void)
{
    note_time();
    atomic_store(&interrupts, 1);
    if (write(wake[1], "!", 1) < 0) { /* as above */
    }
}

static void install(int sig)
{
    struct sigaction was, now = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&now.sa_mask);
    sigaction(sig, NULL, &was);
    if (was.sa_handler != SIG_IGN) sigaction(sig, &now, NULL);
}

int signals_open(struct err *err)
{
    if (wake[0] < 0 && pipe2(wake, O_CLOEXEC | O_NONBLOCK)) return err_set(err, -1, "no pipe: %s", strerror(errno));
    install(SIGINT);
    install(SIGTERM);
    install(SIGHUP);
    return 0;
}

void signals_of_writes(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

int signals_fd(void)
{
    return wake[0];
}

int signals_pending(void)
{
    int end = atomic_load(&ending);
    return end ? end : atomic_load(&interrupts) ? SIGINT : 0;
}

double signals_since(void) { return (double)atomic_load(&since) * 1e-9; }

void signals_forget_interrupt(void)
{
    char drop[64];
    atomic_store(&interrupts, 0);
    if (!atomic_load(&ending)) atomic_store(&since, 0);
    while (!atomic_load(&ending) && wake[0] >= 0 && read(wake[0], drop, sizeof drop) > 0) {
    }
}

/* One thread may forget an interrupt while it comes in another, between its flag and its byte in the pipe. */
void signals_settle(void)
{
    char drop[64];
    while (wake[0] >= 0 && read(wake[0], drop, sizeof drop) > 0) {
    }
    if (signals_pending() && write(wake[1], "!", 1) < 0) { /* as above */
    }
}
