/* leave.c - what may be done in a handler, and handlers that do it. */
#include "app/tui/leave.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { STACK = 64 << 10, PATIENCE_MS = 200 };

static int in = -1, out = -1;
static struct termios found;
static char text[LEAVE_TEXT_MAX];
static size_t text_n;
static atomic_bool armed;
static atomic_uint woken;
static int wake = -1; /* an eventfd: it is never full, and to write to it takes no memory */
static bool own_stack;
static char stack[STACK]; /* for a handler after the thread's own stack overflowed */

static const int handled[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGHUP, SIGQUIT,
                              SIGTSTP, SIGWINCH, SIGCONT};
enum { FAULTS = 5, ENDS = 8 }; /* so many of them are faults; so many end the program */
static struct sigaction before[COUNT_OF(handled)];

bool leave_armed(void) { return atomic_load(&armed); }

void leave_now(void)
{
    int saved = errno;
    if (!atomic_exchange(&armed, false)) return;
    struct pollfd room = {.fd = out, .events = POLLOUT};
    if (poll(&room, 1, PATIENCE_MS) > 0) { /* a terminal that takes nothing must not hold up the end */
        for (size_t at = 0; at < text_n;) {
            ssize_t n = write(out, text + at, text_n - at);
            if (n <= 0 && errno != EINTR) break;
            at += n > 0 ? (size_t)n : 0;
        }
    }
    tcsetattr(in, TCSANOW, &found);
    errno = saved;
}

static void tell(unsigned what)
{
    int saved = errno;
    atomic_fetch_or(&woken, what);
    if (write(wake, &(uint64_t){1}, 8) < 0) { /* as often as 2^64 times: then it is readable already */
    }
    errno = saved;
}

static size_t place_of(int sig)
{
    size_t i = 0;
    while (i + 1 < COUNT_OF(handled) && handled[i] != sig) i++;
    return i;
}

/* It goes on as it would have without us, by who handled it before; where an instruction was the cause, by doing that
 * again, so that it is seen where it was. */
static void on_end(int sig, siginfo_t *info, void *context)
{
    size_t i = place_of(sig);
    (void)context;
    leave_now();
    sigaction(sig, &before[i], NULL);
    if (i >= FAULTS || info->si_code <= 0 || sig == SIGABRT) raise(sig);
}

/* By the signal's own default, not by SIGSTOP: the kernel then stops nobody whom no shell could continue. */
static void on_stop(int sig)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction ours;
    sigset_t only, was;
    leave_now();
    sigemptyset(&only);
    sigaddset(&only, sig);
    sigaction(sig, &usual, &ours);
    raise(sig); /* it waits, as its handler runs */
    pthread_sigmask(SIG_UNBLOCK, &only, &was);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    sigaction(sig, &ours, NULL);
    tell(LEAVE_CONTINUED);
}

static void on_news(int sig)
{
    tell(sig == SIGWINCH ? LEAVE_RESIZED : LEAVE_CONTINUED);
}

static void install(void)
{
    stack_t now = {.ss_sp = stack, .ss_size = sizeof stack}, old;
    own_stack = sigaltstack(NULL, &old) == 0 && (old.ss_flags & SS_DISABLE) && sigaltstack(&now, NULL) == 0;
    for (size_t i = 0; i < COUNT_OF(handled); i++) {
        struct sigaction action = {.sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        if (i < ENDS) {
            action.sa_sigaction = on_end;
            action.sa_flags |= SA_SIGINFO | SA_ONSTACK;
        } else {
            action.sa_handler = handled[i] == SIGTSTP ? on_stop : on_news;
        }
        sigaction(handled[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN || handled[i] == SIGWINCH) sigaction(handled[i], &action, NULL);
    }
}

int leave_open(int in_fd, int out_fd, const struct termios *was, const char *bytes, size_t n, struct err *err)
{
    assert(wake < 0);
    if (n > sizeof text) return err_set(err, -1, "this terminal's commands are too long");
    wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake < 0) return err_set(err, -1, "no eventfd: %s", strerror(errno));
    in = in_fd;
    out = out_fd;
    found = *was;
    memcpy(text, bytes, n);
    text_n = n;
    atomic_store(&woken, 0);
    install();
    return 0;
}

void leave_arm(void) { atomic_store(&armed, true); }

void leave_close(void)
{
    leave_now();
    if (wake < 0) return;
    for (size_t i = 0; i < COUNT_OF(handled); i++) sigaction(handled[i], &before[i], NULL);
    if (own_stack) sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    close(wake);
    wake = -1;
}

int leave_wake_fd(void) { return wake; }

unsigned leave_woken(void)
{
    eventfd_t times;
    if (eventfd_read(wake, &times)) { /* nobody woke us */
    }
    return atomic_exchange(&woken, 0);
}
