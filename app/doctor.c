/* doctor.c - `plimsoll doctor`: every check in a process of its own, a line each. */
#include "app/doctor.h"
#include "app/faces.h"
#include "app/say.h"
#include "app/term_filter.h"
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct row {
    const char *name;
    doctor_check *check;
} rows[] = {
    {"backend", doctor_backend},
    {"kernels", doctor_kernels},
    {"instructions", doctor_instructions},
    {"GPU driver", doctor_driver},
    {"cores", doctor_cores},
    {"bandwidth", doctor_bandwidth},
    {"memory", doctor_memory},
    {"model", doctor_model},
    {"embedded model", doctor_embedded},
    {"session", doctor_session},
    {"locale", doctor_locale},
    {"colours", doctor_colours},
    {"terminal", doctor_terminal},
    {"Landlock", doctor_landlock},
    {"seccomp", doctor_seccomp},
    {"control groups", doctor_groups},
    {"libraries", doctor_libraries},
    {"store", doctor_store},
    {"disk", doctor_disk},
    {"open files", doctor_files},
    {"locked memory", doctor_locked},
    {"address space", doctor_address},
    {"core file", doctor_core_file},
    {"configuration", doctor_config},
    {"tool servers", doctor_servers},
};

static const char *const verdict_name[] = {"ok", "warn", "FAIL"};

void doctor_say(struct doctor_finding *f, enum doctor_verdict verdict, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    f->verdict = verdict;
    vsnprintf(f->figure, sizeof f->figure, fmt, ap);
    va_end(ap);
}

void doctor_fix(struct doctor_finding *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->fix, sizeof f->fix, fmt, ap);
    va_end(ap);
}

/* ---------------------------------------------------------------- one check */

/* What the child says, which is one write; false: it said nothing in time, or ended before. */
static bool listen_to(int fd, int seconds, struct doctor_finding *f, bool *late)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n;
    do n = poll(&p, 1, 1000 * seconds);
    while (n < 0 && errno == EINTR);
    *late = n == 0;
    return n > 0 && read(fd, f, sizeof *f) == (ssize_t)sizeof *f;
}

void doctor_look(doctor_check *check, const struct doctor *d, struct doctor_finding *f)
{
    static_assert(sizeof *f <= 4096, "a write of PIPE_BUF is whole");
    int fd[2] = {-1, -1};
    bool late = false;
    pid_t pid = pipe(fd) ? -1 : fork();
    *f = (struct doctor_finding){0};
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(fd[0]);
        check(d, f);
        _exit(write(fd[1], f, sizeof *f) == (ssize_t)sizeof *f ? 0 : 1);
    }
    int error = errno;
    if (fd[1] >= 0) close(fd[1]);
    if (pid < 0) {
        doctor_say(f, DOCTOR_FAIL, "not checked: %s", strerror(error));
        doctor_fix(f, "no process could be started: look at ulimit -u and at the memory");
    } else if (!listen_to(fd[0], d->patience, f, &late)) {
        doctor_say(f, DOCTOR_FAIL, late ? "no answer in %d s" : "the check itself failed", d->patience);
        doctor_fix(f, late ? "what it looks at does not answer: a disk or a network that is away?"
                           : "this is a fault of plimsoll's: please report it");
    }
    if (fd[0] >= 0) close(fd[0]);
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

/* ---------------------------------------------------------------- what is printed */

static void put_text(const struct row *row, enum doctor_verdict verdict, const char *figure, const char *fix,
                     struct buf *out)
{
    buf_printf(out, "%-4s  %-15s %s\n", verdict_name[verdict], row->name, figure);
    if (*fix) buf_printf(out, "      %-15s %s\n", "", fix);
}

static void put_json(const struct row *row, enum doctor_verdict verdict, const char *figure, const char *fix,
                     struct buf *out)
{
    json_t *line = json_pack("{s:s, s:s, s:s, s:s*}", "check", row->name, "verdict", verdict_name[verdict], "figure",
                             figure, "fix", *fix ? fix : NULL);
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    if (text) buf_printf(out, "%s\n", text);
    else out->failed = true;
    free(text);
    json_decref(line);
}

/* Paths and variables are any bytes: what is shown of them is text of one line. */
static void put_finding(const struct row *row, const struct doctor_finding *f, bool json, struct buf *out)
{
    struct buf figure = {0}, fix = {0};
    term_filter_text(f->figure, strlen(f->figure), true, &figure);
    term_filter_text(f->fix, strlen(f->fix), true, &fix);
    (json ? put_json : put_text)(row, f->verdict, figure.data ? figure.data : "", fix.data ? fix.data : "", out);
    out->failed = out->failed || figure.failed || fix.failed;
    buf_free(&figure);
    buf_free(&fix);
}

/* Each line when its check is done, so that one sees what takes its time. */
static int run_all(const struct doctor *d)
{
    struct out out;
    int status = EXIT_DONE;
    out_init(&out, STDOUT_FILENO);
    for (size_t i = 0; i < COUNT_OF(rows) && !out.failed; i++) {
        struct doctor_finding f;
        struct buf line = {0};
        doctor_look(rows[i].check, d, &f);
        put_finding(&rows[i], &f, d->o->json, &line);
        if (f.verdict == DOCTOR_FAIL || line.failed) status = EXIT_INTERNAL;
        if (line.failed) say_error("out of memory");
        else out_put(&out, line.data, line.len);
        buf_free(&line);
    }
    out_end(&out);
    return face_finish(&out, status);
}

static void put_help(struct buf *out)
{
    buf_puts(out,
             "plimsoll doctor [FLAGS] - is this machine fit for a session with these flags?\n\n"
             "A line for each check: ok, warn (it works, and would better otherwise) or FAIL, what was\n"
             "looked at, its figure; where something is not ok, a second line with the fix.  Nothing is\n"
             "changed, and no check takes longer than 10 seconds.\n\n"
             "  --json           a JSON object a line: check, verdict, figure, and fix if there is one\n"
             "  --store DIR, -m FILE, --threads N, --isa NAME, ...: as a session has them (plimsoll --help)\n\n"
             "Exit status: 0 nothing failed; 1 something did, or stdout could not be written; 2 a flag or a\n"
             "variable is wrong.\n");
}

int doctor_run(int argc, char **argv)
{
    struct opts o;
    struct err err = {0};
    int status = EXIT_USAGE, bad = opts_parse(&o, argc, argv, NULL, &err);
    say_plainly(o.plain);
    const char *once = bad ? NULL : opts_asks_once(&o, "--mcp"); /* whose servers are looked at */
    if (once) bad = err_set(&err, OPTS_BAD, "plimsoll doctor takes no %s", once);
    const struct doctor d = {.o = &o, .env = opts_getenv, .root = "", .patience = DOCTOR_PATIENCE,
                             .config = bad == OPTS_BAD_FILE ? &err : NULL};
    if (bad == OPTS_BAD) say_error("%s", err.text);
    else status = o.help ? face_print(put_help) : run_all(&d);
    opts_free(&o);
    return status;
}
