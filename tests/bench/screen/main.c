/* The full screen, measured from outside: the program in a pty of 120x36 while eight agents stream 500 tokens a second
 * in total (the scripted engine), as it is, on a disk that is slow, and while another process holds the store's lock.
 *
 *     bench-screen FOLDER [SECONDS [TURNS]]
 *
 * FOLDER: where plimsoll and tests/slow-sync.so are.  SECONDS of each case (10).  TURNS: short turns of one session,
 * over which memory must not grow (10000; 0: not measured).
 *
 * UI thread: processor time of the program's first thread.  key: from the write of a letter into the pty till a byte of
 * it comes back.  late: of that time, how long threads that could run waited for a processor at most; where others use
 * the machine, it is theirs. */
#include "plimsoll.h"
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AGENTS = 8, TOKEN_MS = 16 /* of each: 500 a second in total */, KEYS_A_SECOND = 10, MOST_KEYS = 1000 };

struct run {
    pid_t pid;
    int pty;
    uint64_t bytes;
    char folder[200];
};

_Noreturn static void give_up(const char *what)
{
    fprintf(stderr, "bench-screen: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What comes until then; true: `wanted` was in it. */
static bool drain(struct run *r, double until, char wanted)
{
    char bytes[65536];
    for (double left; (left = until - clock_now()) > 0;) {
        struct pollfd p = {.fd = r->pty, .events = POLLIN};
        if (poll(&p, 1, (int)(1e3 * left) + 1) <= 0) continue;
        const ssize_t n = read(r->pty, bytes, sizeof bytes);
        if (n <= 0) give_up("the program has left");
        r->bytes += (uint64_t)n;
        if (wanted && memchr(bytes, wanted, (size_t)n)) return true;
    }
    return false;
}

static void wait_some(struct run *r, double seconds) { drain(r, clock_now() + seconds, 0); }

static void send_text(struct run *r, const char *text)
{
    if (write(r->pty, text, strlen(text)) != (ssize_t)strlen(text)) give_up("the pty");
}

/* ------------------------------------------------------------------ the program */

static void put_file(const struct run *r, const char *name, const char *text, int times)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", r->folder, name);
    FILE *f = fopen(path, "w");
    if (!f) give_up(path);
    for (int i = 0; i < times; i++) fputs(text, f);
    if (fclose(f)) give_up(path);
}

static void put_files(const struct run *r)
{
    char line[8000];
    int n = snprintf(line, sizeof line, "{\"token_ms\": %d, \"answer\": \"", TOKEN_MS);
    while (n < 7000)
        n += snprintf(line + n, sizeof line - (size_t)n, "The harbour has nine piers, each with its **story**. ");
    snprintf(line + n, sizeof line - (size_t)n, "\"}\n");
    put_file(r, "long.jsonl", line, 1);
    put_file(r, "short.jsonl", "{\"answer\": \"Yes, it is.\"}\n", 1);
    put_file(r, "crew.yaml", "crew: eight\nagents:\n  - name: worker\n    role: researcher\n    context: 4096\n"
             "    answer: 3000\n  - name: lead\n    role: writer\n    context: 4096\nflow:\n  kind: map\n"
             "  members: [worker]\n  lead: lead\n  split: lines\n", 1);
}

static void start(struct run *r, const char *build, bool crew, bool slow)
{
    const struct winsize size = {.ws_row = 36, .ws_col = 120};
    char program[300], store[300], script[300], file[300], shim[300], trace[300];
    snprintf(program, sizeof program, "%s/plimsoll", build);
    snprintf(shim, sizeof shim, "%s/tests/slow-sync.so", build);
    snprintf(store, sizeof store, "%s/store", r->folder);
    snprintf(script, sizeof script, "%s/%s", r->folder, crew ? "long.jsonl" : "short.jsonl");
    snprintf(file, sizeof file, "%s/crew.yaml", r->folder);
    snprintf(trace, sizeof trace, "%s/trace", r->folder);
    r->bytes = 0;
    r->pid = forkpty(&r->pty, NULL, NULL, &size);
    if (r->pid < 0) give_up("forkpty");
    if (r->pid > 0) return;
    setenv("TERM", "xterm-256color", 1);
    setenv("LANG", "C.UTF-8", 1);
    setenv("HOME", r->folder, 1);
    if (slow) setenv("LD_PRELOAD", shim, 1);
    if (crew)
        execl(program, program, "--no-config", "--store", store, "--engine", "scripted", "--script-file", script,
              "--crew", file, "--parallel", "8", (char *)NULL);
    execl(program, program, "--no-config", "--store", store, "--engine", "scripted", "--script-file", script, "--trace",
          trace, (char *)NULL);
    _exit(127);
}

static void stop(struct run *r)
{
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
    close(r->pty);
}

/* A figure of /proc/PID/NAME behind a word; or its n-th number. */
static double figure_of(const struct run *r, const char *name, const char *word, int nth)
{
    char path[100], text[8192];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)r->pid, name);
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    const char *at = word ? strstr(text, word) : text;
    if (!at) return 0;
    if (word) return strtod(at + strlen(word), NULL);
    for (char *end = text; nth > 0; nth--) strtod(at, &end), at = end;
    return strtod(at, NULL);
}

/* ------------------------------------------------------------------ eight agents */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A letter that nothing else writes, till it comes back. */
static double press(struct run *r, int i)
{
    const char letter[] = {"QZXJVK"[i % 6], '\0'};
    const double from = clock_now();
    send_text(r, letter);
    drain(r, from + 2, *letter);
    return clock_now() - from;
}

static void measure(struct run *r, const char *what, int seconds)
{
    static double took[MOST_KEYS];
    const int keys = MIN(seconds * KEYS_A_SECOND, (int)MOST_KEYS);
    send_text(r, "\x1b[200~");
    for (int i = 0; i < AGENTS; i++) send_text(r, i ? "\npart" : "part");
    send_text(r, "\x1b[201~\r");
    wait_some(r, 2);
    const double from = clock_now();
    char task[60];
    snprintf(task, sizeof task, "task/%d/schedstat", (int)r->pid);
    const double ns = figure_of(r, task, NULL, 0), waited = figure_of(r, task, NULL, 1);
    r->bytes = 0;
    for (int i = 0; i < keys; i++) {
        took[i] = press(r, i);
        drain(r, from + (i + 1) * (double)seconds / keys, 0);
    }
    const double passed = clock_now() - from;
    const double cpu = 1e-9 * (figure_of(r, task, NULL, 0) - ns), late = 1e-9 * (figure_of(r, task, NULL, 1) - waited);
    qsort(took, (size_t)keys, sizeof *took, by_size);
    printf("  %-28s UI thread %4.1f %%   %6.1f KB/s   key p50 %5.1f ms  p99 %5.1f ms   late %4.1f %%\n", what,
           100 * cpu / passed, (double)r->bytes / passed / 1024, 1e3 * took[keys / 2], 1e3 * took[keys * 99 / 100],
           100 * late / passed);
    fflush(stdout);
}

/* A process that begins to write in the journal, and does not end. */
static pid_t hold_lock(const struct run *r)
{
    char path[300];
    MDB_env *env;
    MDB_txn *txn;
    pid_t pid = fork();
    if (pid != 0) return pid;
    snprintf(path, sizeof path, "%s/store/journal", r->folder);
    if (mdb_env_create(&env) || mdb_env_open(env, path, 0, 0600) || mdb_txn_begin(env, NULL, 0, &txn)) _exit(1);
    for (;;) pause();
}

/* ------------------------------------------------------------------ many turns */

static int turns_so_far(const struct run *r)
{
    static FILE *f;
    static char line[1 << 16];
    static int n;
    char path[300];
    snprintf(path, sizeof path, "%s/trace", r->folder);
    if (!f) f = fopen(path, "r");
    if (!f) return 0;
    clearerr(f);
    while (fgets(line, sizeof line, f)) n += strstr(line, "\"event\":\"turn_end\"") != NULL;
    return n;
}

static void measure_turns(struct run *r, int turns)
{
    double begun = 0, most = 0;
    for (int sent = 0, ended = 0; ended < turns; ended = turns_so_far(r)) {
        for (; sent < turns && sent < ended + 8; sent++) send_text(r, "is it so?\r");
        wait_some(r, 0.005);
        const double kib = figure_of(r, "status", "RssAnon:", 0);
        if (ended >= turns / 10 && begun <= 0) begun = kib;
        most = MAX(most, kib);
    }
    printf("  %-28s RssAnon %.1f MiB after %d of them, %.1f MiB after %d, %.1f MiB at most\n", "short turns",
           begun / 1024, turns / 10, figure_of(r, "status", "RssAnon:", 0) / 1024, turns, most / 1024);
}

int main(int argc, char **argv)
{
    static const struct { const char *what; bool slow, locked; } each[] = {
        {"eight agents stream", false, false},
        {"... each fsync 200 ms longer", true, false},
        {"... the store's lock is held", false, true}};
    const int seconds = argc > 2 ? MAX(atoi(argv[2]), 1) : 10, turns = argc > 3 ? atoi(argv[3]) : 10000;
    struct run r = {.folder = "/tmp/bench-screen-XXXXXX"};
    if (argc < 2 || !mkdtemp(r.folder)) give_up("bench-screen FOLDER [SECONDS [TURNS]]");
    put_files(&r);
    printf("the full screen, 120x36, %d agents, %d tokens a second in total\n", AGENTS, AGENTS * 1000 / TOKEN_MS);
    for (size_t i = 0; i < COUNT_OF(each); i++) {
        start(&r, argv[1], true, each[i].slow);
        wait_some(&r, 1.5);
        const pid_t holder = each[i].locked ? hold_lock(&r) : 0;
        measure(&r, each[i].what, seconds);
        if (holder > 0) kill(holder, SIGKILL), waitpid(holder, NULL, 0);
        stop(&r);
    }
    if (turns > 0) {
        start(&r, argv[1], false, false);
        wait_some(&r, 1.5);
        measure_turns(&r, turns);
        stop(&r);
    }
    char rm[300];
    snprintf(rm, sizeof rm, "rm -rf '%s'", r.folder);
    return system(rm) != 0;
}
