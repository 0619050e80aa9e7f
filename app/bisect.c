/* bisect.c - see bisect.h. */
#include "app/bisect.h"
#include "app/guards.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/signals.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OFF_FLAGS = 2, BASE_FLAGS = 7, ADDED = 12, TAIL = 4096, LOOK_MS = 50, GRACE_S = 2, LEAST_S = 60, LONGER = 10,
       TIMED_OUT = -1 };

/* ---------------------------------------------------------------- what can be off */

static bool uses_tools(const struct app *a) { return a->o->tools != NULL; }
static bool recalls(const struct app *a) { return opts_recalls(a->o); }
static bool sums_up(const struct app *a) { return strcmp(a->o->summary, "off") != 0; }
static bool overcommits(const struct app *a) { return a->o->overcommit; }
static bool is_naive(const struct app *a) { return strcmp(a->o->naive, "none") != 0; }
static bool at_once(const struct app *a) { return a->o->crew && a->info->max_seqs > 1; }
static bool keeps_pages(const struct app *a) { return a->keeper && opts_snapshots_session(a->o) >= 1; }
static bool is_strict(const struct app *a) { return a->o->strict_tools; }
static bool thinks(const struct app *a) { return a->o->thinking > 0; }

static const struct suspect {
    const char *off;             /* in words: "without ..." */
    const char *flag[OFF_FLAGS]; /* these leave the command line, and their variables the environment ... */
    const char *value;           /* ... and the first of them comes back with this; NULL: it does not */
    bool (*on)(const struct app *a);
} suspects[] = {
    {"without tools", {"--tools", "--allow"}, NULL, uses_tools},
    {"without recall", {"--recall"}, "off", recalls},
    {"without summaries", {"--summary"}, "off", sums_up},
    {"without overcommitment", {"--overcommit"}, NULL, overcommits},
    {"with the sound memory policy", {"--naive"}, "none", is_naive},
    {"one agent at a time", {"--parallel"}, "1", at_once},
    {"without pages kept on disk", {"--snapshots"}, "0", keeps_pages},
    {"without thinking set aside", {"--thinking"}, NULL, thinks},
    {"without strict tools", {"--strict-tools"}, NULL, is_strict},
};

/* ---------------------------------------------------------------- the command line of a run */

extern char **environ;

/* A run in the making: what it is started with. */
struct trial {
    const struct app *a;
    const struct suspect *off; /* NULL: as it was */
    char **argv, **env;        /* of borrowed strings */
    int n_argv;
    char seed[24], vram[24], store[200]; /* store "": it is not saved */
};

static void add(struct trial *t, const char *flag, const char *value)
{
    t->argv[t->n_argv++] = (char *)(uintptr_t)flag; /* posix_spawn() changes none of them */
    if (value) t->argv[t->n_argv++] = (char *)(uintptr_t)value;
}

static bool is_variable(const char *entry, const char *name)
{
    size_t n = name ? strlen(name) : 0;
    return n > 0 && strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static int make_environment(struct trial *t, const char *const *gone, int n_gone, struct err *err)
{
    int n = 0, left = 0;
    while (environ[n]) n++;
    t->env = calloc((size_t)n + 1, sizeof *t->env);
    if (!t->env) return err_set(err, -1, "no memory for another run");
    for (int i = 0; i < n; i++) {
        bool leaves = false;
        for (int k = 0; k < n_gone; k++) leaves |= is_variable(environ[i], opts_variable(gone[k]));
        if (!leaves) t->env[left++] = environ[i];
    }
    return 0;
}

/* Where it would write, and what was chosen for this run, is said anew. */
static int make_arguments(struct trial *t, struct err *err)
{
    const struct app *a = t->a;
    const char *gone[BASE_FLAGS + OFF_FLAGS] = {"--trace", "--json", "--store", "--no-save", "--script", "--seed"};
    uint64_t ceiling = a->info->ledger.ceiling;
    bool chosen = a->o->vram <= 0 && ceiling > 0 && ceiling < (uint64_t)1 << 60;
    int n = BASE_FLAGS - 1;
    if (chosen) gone[n++] = "--vram";
    for (int i = 0; t->off && i < OFF_FLAGS && t->off->flag[i]; i++) gone[n++] = t->off->flag[i];
    t->argv = calloc((size_t)a->o->argc + ADDED, sizeof *t->argv);
    if (!t->argv) return err_set(err, -1, "no memory for another run");
    t->n_argv = opts_without(a->o->argc, a->o->argv, gone, n, t->argv);
    snprintf(t->seed, sizeof t->seed, "%llu", (unsigned long long)a->sampling.seed);
    snprintf(t->vram, sizeof t->vram, "%llu", (unsigned long long)ceiling);
    add(t, "--script", NULL);
    add(t, "--seed", t->seed);
    if (chosen) add(t, "--vram", t->vram);
    if (*t->store) add(t, "--store", t->store);
    else add(t, "--no-save", NULL);
    if (t->off && t->off->value) add(t, t->off->flag[0], t->off->value);
    return make_environment(t, gone, n, err);
}

/* ---------------------------------------------------------------- its store */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st, (void)type, (void)f;
    return remove(path);
}

/* One of its own, where this session has one: what is recalled and resumed is in a store. */
static int make_store(struct trial *t, struct err *err)
{
    const char *dir = opts_getenv("TMPDIR");
    if (!t->a->keeper) return 0;
    int n = snprintf(t->store, sizeof t->store, "%s/plimsoll-bisect-XXXXXX", dir && *dir ? dir : "/tmp");
    if (n > 0 && (size_t)n < sizeof t->store && mkdtemp(t->store)) return 0;
    err_set(err, -1, "no folder for another run's store: %s", n < (int)sizeof t->store ? strerror(errno) : dir);
    t->store[0] = '\0';
    return -1;
}

static void end_trial(struct trial *t)
{
    if (*t->store) nftw(t->store, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(t->argv);
    free(t->env);
}

/* ---------------------------------------------------------------- the run */

struct run {
    pid_t pid;
    int err;  /* what it says is read here; -1: no more */
    char tail[TAIL + 1]; /* the last of that */
    size_t n;
    int status;     /* exit status, 128 + a signal's number, or TIMED_OUT */
    double seconds;
};

static int script_file(const struct buf *script, struct err *err)
{
    int fd = memfd_create("script", MFD_CLOEXEC);
    size_t at = 0;
    while (fd >= 0 && at < script->len) {
        ssize_t n = write(fd, script->data + at, script->len - at);
        if (n < 0 && errno != EINTR) break;
        at += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0 && at == script->len && lseek(fd, 0, SEEK_SET) == 0) return fd;
    err_set(err, -1, "no room for the script of another run: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

/* stdin, stdout to nowhere, stderr; and nothing else of this process. */
static int spawn(struct run *r, const struct trial *t, int in, int err_end)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, ours;
    sigemptyset(&none);
    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    int rc = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (rc == 0) rc = posix_spawnattr_setsigmask(&attr, &none);
    if (rc == 0) rc = posix_spawnattr_setsigdefault(&attr, &ours);
    if (rc == 0) rc = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    if (rc == 0) rc = posix_spawn_file_actions_adddup2(&files, err_end, STDERR_FILENO);
    if (rc == 0) rc = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (rc == 0) rc = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    if (rc == 0) rc = posix_spawn(&r->pid, "/proc/self/exe", &files, &attr, t->argv, t->env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc;
}

static int start(struct run *r, const struct trial *t, const struct buf *script, struct err *err)
{
    int ends[2], in = script_file(script, err);
    *r = (struct run){.err = -1};
    if (in < 0) return -1;
    if (pipe2(ends, O_CLOEXEC)) {
        close(in);
        return err_set(err, -1, "no pipe for another run: %s", strerror(errno));
    }
    int rc = spawn(r, t, in, ends[1]);
    close(in);
    close(ends[1]);
    r->err = ends[0];
    if (rc == 0) return 0;
    close(r->err);
    return err_set(err, -1, "another run cannot begin: %s", strerror(rc));
}

/* More of what it says, waited for that long at most, or until a signal; the last TAIL bytes stay.  False: nothing. */
static bool listen(struct run *r, int wait_ms)
{
    char part[TAIL];
    struct pollfd p[2] = {{.fd = r->err, .events = POLLIN}, {.fd = signals_fd(), .events = POLLIN}};
    if (poll(p, 2, wait_ms) <= 0 || !p[0].revents) return false;
    ssize_t got = read(r->err, part, sizeof part);
    if (got < 0 && errno == EINTR) return false;
    if (got <= 0) {
        close(r->err);
        r->err = -1;
        return false;
    }
    size_t n = (size_t)got, keep = MIN(r->n, TAIL - n);
    memmove(r->tail, r->tail + r->n - keep, keep);
    memcpy(r->tail + keep, part, n);
    r->n = keep + n;
    r->tail[r->n] = '\0';
    return true;
}

/* To its end: its own, the limit's, or a signal's.  -1: a signal, or it cannot be waited for. */
static int watch(struct run *r, double limit, struct err *err)
{
    double begun = progress_clock(), told = 0;
    int status = 0;
    pid_t done = 0;
    while (done != r->pid) {
        listen(r, LOOK_MS);
        if (signals_pending()) poll(NULL, 0, LOOK_MS); /* listen() does not wait then */
        double now = progress_clock();
        bool ends = signals_pending() || now - begun > limit;
        if (ends && told == 0) kill(r->pid, SIGTERM), told = now;
        else if (ends && now - told > GRACE_S) kill(r->pid, SIGKILL);
        done = waitpid(r->pid, &status, WNOHANG);
        if (done < 0 && errno != EINTR) break;
    }
    r->seconds = progress_clock() - begun;
    while (r->err >= 0 && listen(r, 0)) {
    }
    if (r->err >= 0) close(r->err);
    if (signals_pending()) return err_set(err, -1, "interrupted: nothing was found out");
    if (done < 0) return err_set(err, -1, "another run cannot be waited for: %s", strerror(errno));
    r->status = told > 0 ? TIMED_OUT : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return 0;
}

/* ---------------------------------------------------------------- one after the other */

/* The last line that complains. */
static const char *complaint(const struct run *r)
{
    static const char name[] = "plimsoll: ";
    static char line[300];
    const char *last = NULL;
    for (const char *at = r->tail; (at = strstr(at, name)); at += sizeof name - 1)
        if (at == r->tail || at[-1] == '\n') last = at + sizeof name - 1;
    if (!last) return "";
    snprintf(line, sizeof line, ": %.*s", (int)MIN(strcspn(last, "\n"), (size_t)290), last);
    return line;
}

static int try(struct app *a, const struct suspect *off, const struct buf *script, double limit, struct run *r,
               struct err *err)
{
    struct trial t = {.a = a, .off = off};
    int rc = make_store(&t, err);
    if (rc == 0) rc = make_arguments(&t, err);
    if (rc == 0) rc = start(r, &t, script, err);
    if (rc == 0) rc = watch(r, limit, err);
    end_trial(&t);
    if (rc) return -1;
    const char *what = off ? off->off : "as it was";
    if (r->status == TIMED_OUT) say("  %-29s not over after %.0f s, and stopped", what, r->seconds);
    else say("  %-29s exit status %d after %.1f s%s", what, r->status, r->seconds, complaint(r));
    return 0;
}

/* What is looked for, and what was found. */
struct search {
    struct app *a;
    const struct buf *script;
    double limit;
    struct buf cures;
    int tried;
};

static int suspect(struct search *f, const struct suspect *off, struct err *err)
{
    struct run r;
    if (try(f->a, off, f->script, f->limit, &r, err)) return -1;
    f->tried++;
    if (r.status == EXIT_DONE) buf_printf(&f->cures, "%s%s", f->cures.len ? "; " : "", off->off);
    return 0;
}

/* The nth guard that --unguarded took away comes back, and the others stay away.  1: there is none. */
static int suspect_guard(struct search *f, int nth, struct err *err)
{
    struct guards left = f->a->o->off, back;
    struct buf rest = {0}, words = {0};
    if (!guards_put_back(&left, nth, &back)) return 1;
    buf_printf(&words, "with the guard%s ", back.window && back.loop ? "s" : "");
    guards_words(&back, &words);
    guards_words(&left, &rest);
    const struct suspect guard = {words.data, {"--unguarded"}, rest.len ? rest.data : NULL, NULL};
    const bool failed = words.failed || rest.failed;
    const int rc = failed ? err_set(err, -1, "no memory for another run") : suspect(f, &guard, err);
    buf_free(&words);
    buf_free(&rest);
    return rc;
}

static int find(struct search *f, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < COUNT_OF(suspects); i++)
        if (suspects[i].on(f->a)) rc = suspect(f, &suspects[i], err);
    for (int nth = 0; rc == 0; nth++) rc = suspect_guard(f, nth, err);
    if (rc < 0) return rc;
    return f->cures.failed ? err_set(err, -1, "no memory for what was found") : 0;
}

int bisect_run(struct app *a, const struct buf *script, double begun, int status, struct err *err)
{
    struct run r;
    struct search f = {.a = a, .script = script};
    const double limit = MAX(LEAST_S, LONGER * (progress_clock() - begun));
    if (script->failed) return err_set(err, -1, "the script is too long to be run again");
    if (a->o->resume) return err_set(err, -1, "the script goes on with a saved session, which another run has not");
    say_dim("the script is run again, at most %.0f s each time", limit);
    if (try(a, NULL, script, limit, &r, err)) return -1;
    if (r.status == EXIT_DONE) {
        say("nothing fails: run again as it was, the script passes");
        return 0;
    }
    if (status != EXIT_DONE && r.status != status)
        say("run again it does not end as it did: %d then", status);
    f.limit = MAX(LEAST_S, LONGER * r.seconds);
    const int rc = find(&f, err);
    if (rc == 0 && f.cures.len > 0) say("it passes %s", f.cures.data);
    else if (rc == 0) say("none of them alone: it fails with each of %d things off", f.tried);
    buf_free(&f.cures);
    return rc;
}
