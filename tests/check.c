/* check.c - registers, runs and counts the tests of one program; see check.h. */
#include "tests/check.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SHOWN = 160 };                                   /* bytes of a string that a failure shows */

static struct check_test *first, **last = &first;
static int n_passed, n_skipped;
static pthread_t main_thread;
static pid_t main_process;

/* cmocka turns these signals into a failed test.  That hides the sanitizers' report and a handler that the code under
 * test installed once, so each test runs with the handlers that stood before. */
static const int crash_signal[] = { SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS };
enum { N_CRASH = sizeof crash_signal / sizeof crash_signal[0] };
static struct sigaction crash_action[N_CRASH];

/* ---------------------------------------------------------------- running */

void check_register(struct check_test *test)
{
    *last = test;
    last = &test->next;
}

static void save_handlers(void)
{
    for (int i = 0; i < N_CRASH; i++) sigaction(crash_signal[i], NULL, &crash_action[i]);
}

static void restore_handlers(void)
{
    for (int i = 0; i < N_CRASH; i++) sigaction(crash_signal[i], &crash_action[i], NULL);
}

static void run_one(void **state)
{
    const struct check_test *test = *state;
    restore_handlers();
    test->run();
    save_handlers();                                    /* a handler the test's code installed for good stays */
    n_passed++;
}

static int usage(const char *program, const char *filter)
{
    fprintf(stderr, "%s: no test has \"%s\" in its name; there are:\n", program, filter);
    for (const struct check_test *t = first; t; t = t->next) fprintf(stderr, "  %s\n", t->name);
    return 2;
}

int check_main(int argc, char **argv)
{
    const char *filter = argc > 1 ? argv[1] : "";
    size_t n = 0, all = 0;
    main_thread = pthread_self();
    main_process = getpid();
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);              /* a crash must not take the log with it */
    save_handlers();

    for (struct check_test *t = first; t; t = t->next) all++;
    struct CMUnitTest *list = calloc(all + 1, sizeof *list);
    assert_non_null(list);
    for (struct check_test *t = first; t; t = t->next) {
        if (!strstr(t->name, filter)) continue;
        list[n++] = (struct CMUnitTest){ t->name, run_one, NULL, NULL, t };
    }
    if (n == 0) {
        free(list);
        return usage(argv[0], filter);
    }
    _cmocka_run_group_tests("tests", list, n, NULL, NULL);
    free(list);
    int n_failed = (int)n - n_passed - n_skipped;
    fflush(stderr);
    printf("%d passed, %d failed, %d skipped\n", n_passed, n_failed, n_skipped);
    return n_failed > 0;
}

/* ---------------------------------------------------------------- failing */

_Noreturn static void leave(const char *file, int line, bool skipped)
{
    if (getpid() != main_process) _exit(1);
    if (!pthread_equal(pthread_self(), main_thread)) {
        fflush(NULL);
        _exit(1);                                       /* not abort: a core of it says no more than the line above */
    }
    if (skipped) {
        n_skipped++;
        _skip(file, line);
    }
    _fail(file, line);
    abort();                                            /* not reached: cmocka jumps */
}

_Noreturn void check_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fflush(stdout);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    leave(file, line, false);
}

_Noreturn void check_skip(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("skipped: ");
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
    leave(file, line, true);
}

void check_eq(const char *file, int line, const char *a_text, intmax_t a, const char *b_text, intmax_t b)
{
    if (a == b) return;
    check_fail(file, line, "%s is %jd (%#jx), %s is %jd (%#jx)", a_text, a, (uintmax_t)a, b_text, b, (uintmax_t)b);
}

void check_near(const char *file, int line, const char *a_text, double a, const char *b_text, double b, double tol)
{
    if (a == b || fabs(a - b) <= tol) return;
    check_fail(file, line, "%s is %.9g, %s is %.9g: apart by %.3g, allowed %.3g", a_text, a, b_text, b, fabs(a - b),
               tol);
}

/* Strings under test hold anything: what a terminal would obey is shown as \xNN. */
static void show(char out[4 * SHOWN + 8], const char *s)
{
    size_t n = 0;
    if (!s) {
        strcpy(out, "NULL");
        return;
    }
    out[n++] = '"';
    for (size_t i = 0; s[i] && i < SHOWN; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x20 && c < 0x7f) out[n++] = (char)c;
        else if (c == '\n') n += (size_t)sprintf(out + n, "\\n");
        else n += (size_t)sprintf(out + n, "\\x%02x", c);
    }
    strcpy(out + n, strlen(s) > SHOWN ? "...\"" : "\"");
}

void check_str(const char *file, int line, const char *a_text, const char *a, const char *b_text, const char *b)
{
    char a_shown[4 * SHOWN + 8], b_shown[4 * SHOWN + 8];
    size_t same = 0;
    if (a == b || (a && b && strcmp(a, b) == 0)) return;
    if (a && b)
        while (a[same] == b[same]) same++;
    size_t skip = same < SHOWN / 2 ? 0 : same - SHOWN / 2;   /* begin the excerpt a little before the difference */
    show(a_shown, a ? a + skip : a);
    show(b_shown, b ? b + skip : b);
    check_fail(file, line, "first different at byte %zu (shown from byte %zu)\n  %s is %s\n  %s is %s", same, skip,
               a_text, a_shown, b_text, b_shown);
}

void check_mem(const char *file, int line, const char *a_text, const void *a, const char *b_text, const void *b,
               size_t n)
{
    const unsigned char *p = a, *q = b;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == q[i]) continue;
        check_fail(file, line, "byte %zu of %zu: %s has %02x, %s has %02x", i, n, a_text, p[i], b_text, q[i]);
    }
}

/* ---------------------------------------------------------------- folders */

const char *check_vectors(void)
{
    const char *path = getenv("PLIMSOLL_VECTORS"), *ci = getenv("CI");
    if (!path || !*path) path = "../shared/vectors";
    if (access(path, R_OK | X_OK) == 0) return path;
    if (ci && strcmp(ci, "true") == 0)
        check_fail(__FILE__, __LINE__, "no shared vectors at %s (%s); CI=true demands them", path, strerror(errno));
    return NULL;
}

struct tmpdir { struct tmpdir *next; char path[]; };
static struct tmpdir *tmpdirs;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void remove_tmpdirs(void)
{
    if (getpid() != main_process) return;               /* a forked child's exit must not take its parent's files */
    while (tmpdirs) {
        struct tmpdir *t = tmpdirs;
        tmpdirs = t->next;
        nftw(t->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        free(t);
    }
}

const char *check_tmpdir(void)
{
    static bool registered;
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = "/tmp";
    size_t size = strlen(base) + sizeof "/plimsoll-XXXXXX";
    struct tmpdir *t = malloc(sizeof *t + size);
    if (!t) check_fail(__FILE__, __LINE__, "out of memory");
    snprintf(t->path, size, "%s/plimsoll-XXXXXX", base);
    if (!mkdtemp(t->path)) {
        int why = errno;
        free(t);
        check_fail(__FILE__, __LINE__, "no temporary folder in %s: %s", base, strerror(why));
    }
    t->next = tmpdirs;
    tmpdirs = t;
    if (!registered) registered = atexit(remove_tmpdirs) == 0;
    return t->path;
}
