/* run.c - one call of a tool from start to end. */
#include "tools/run.h"
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

struct tool_run {
    struct tool_ticket *ticket; /* a job's input and words are copied, but the folder is its rights' */
    const struct tool *tool;
    struct job *job;            /* NULL: it ran here, and is over */
    struct job_limits limits;
    char *in;                   /* the arguments, for the builtin; for free() */
    bool over;
    struct tool_run_result result;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ------------------------------------------------------------------ the builtin, in jail */

static int put_out(void *self, const char *bytes, size_t n)
{
    (void)self;
    while (n > 0) {
        ssize_t k = write(STDOUT_FILENO, bytes, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return -1;
        bytes += k;
        n -= (size_t)k;
    }
    return 0;
}

/* A search ends by itself before the job is stopped, so that what it found is not all that is said. */
static struct tool_limits limits_within(uint32_t wall_ms)
{
    struct tool_limits l = TOOL_LIMITS;
    if (wall_ms) l.search_ms = (int)MIN((uint32_t)l.search_ms, wall_ms / 4 * 3);
    return l;
}

/* New files are as open as their workspace: the jail's own umask would close them to all but this user. */
static void set_umask(int folder)
{
    struct stat st;
    if (fstat(folder, &st) == 0) umask(~st.st_mode & 077);
}

/* tool NAME WALL_MS GIT, with the arguments on stdin.  0: done, 1: failed and it has said why, 2: not a call. */
static int run_jailed(int argc, char **argv)
{
    const struct tool *t = argc == 4 ? tool_find(argv[1]) : NULL;
    json_t *arguments = json_loadfd(STDIN_FILENO, JSON_REJECT_DUPLICATES, NULL);
    int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), status = 2;
    if (t && t->place == TOOL_JAILED && json_is_object(arguments) && folder >= 0) {
        struct tool_context c = {.workspace = folder, .limits = limits_within((uint32_t)strtoul(argv[2], NULL, 10)),
                                 .git = strcmp(argv[3], "git") == 0, .put = put_out};
        set_umask(folder);
        status = t->run(&c, arguments) == TOOL_DONE ? 0 : 1;
    }
    json_decref(arguments);
    if (folder >= 0) close(folder);
    return status;
}

const struct job_builtin tool_run_jobs[] = {{"tool", run_jailed}, {NULL, NULL}};

/* ------------------------------------------------------------------ the last line */

static void put_size(struct buf *b, uint64_t bytes)
{
    if (bytes >> 20 && bytes % (1 << 20) == 0) buf_printf(b, "%llu MiB", (unsigned long long)(bytes >> 20));
    else buf_printf(b, "%llu bytes", (unsigned long long)bytes);
}

static void put_stop(const struct tool_run *r, const struct job_result *j, struct buf *b)
{
    switch (j->end) {
    case JOB_EXITED:
        if (r->tool->place == TOOL_COMMAND) buf_printf(b, "exit status %d", j->value);
        else if (j->value != 1) buf_printf(b, "error: the tool failed (status %d)", j->value);
        break;
    case JOB_SIGNALLED: buf_printf(b, "error: ended by signal %d, %s", j->value, strsignal(j->value)); break;
    case JOB_TIMEOUT: buf_printf(b, "error: stopped after %g s", r->limits.wall_ms / 1e3); break;
    case JOB_OUTPUT:
        buf_puts(b, "error: stopped at ");
        put_size(b, r->limits.output_bytes);
        buf_puts(b, " of output");
        break;
    case JOB_MEMORY:
        buf_puts(b, "error: stopped at ");
        put_size(b, r->limits.tree_bytes);
        buf_puts(b, " of memory");
        break;
    case JOB_PROCESSES: buf_printf(b, "error: stopped at %u processes", r->limits.processes); break;
    case JOB_CANCELLED: buf_puts(b, "error: cancelled"); break;
    case JOB_REFUSED: buf_printf(b, "error: not started: %s", j->text); break;
    case JOB_UNWATCHED:
        buf_printf(b, "error: stopped, as it could not be watched any more: %s; nothing of it runs, try again",
                   j->text);
        break;
    case JOB_LOST:
        buf_puts(b, "error: its guard was killed or hung, and parts of it may still run: look with ps, and end them");
        break;
    }
}

/* A line of its own, whatever the output ended with. */
static void say_stop(struct tool_run *r, const struct job_result *j)
{
    struct buf line = {0}, *text = &r->result.text;
    put_stop(r, j, &line);
    if (line.len && text->len && text->data[text->len - 1] != '\n') buf_puts(text, "\n");
    buf_put(text, line.data, line.len);
    text->failed |= line.failed;
    buf_free(&line);
}

static void finish(struct tool_run *r)
{
    const struct job_result *j = job_result(r->job);
    struct tool_run_result *res = &r->result;
    res->end = j->end;
    res->status = j->value;
    res->seconds = j->seconds;
    res->peak_bytes = j->peak_bytes;
    res->peak_processes = j->peak_processes;
    res->failed = j->end != JOB_EXITED || j->value != 0;
    if (res->failed) say_stop(r, j);
    r->over = true;
}

/* ------------------------------------------------------------------ starting */

static void sink(void *self, const char *bytes, size_t n)
{
    struct tool_run *r = self;
    buf_put(&r->result.text, bytes, n);
}

static bool no_jail(const struct err *err) { return err->code == JAIL_NO_LANDLOCK || err->code == JAIL_NO_SECCOMP; }

int tool_run_check(const struct tool_run_config *cfg, const char *workspace, struct err *err)
{
    struct jail_config c = {.workspace = workspace, .home = cfg->home};
    struct jail *j = jail_prepare(&c, err);
    jail_free(j);
    return j ? 0 : err->code;
}

static int start_job(struct tool_run *r, const struct tool_run_config *cfg, struct err *err)
{
    const json_t *arguments = ticket_arguments(r->ticket);
    const char *argv[TOOL_ARGV] = {NULL};
    char wall[16];
    bool command = r->tool->place == TOOL_COMMAND;
    snprintf(wall, sizeof wall, "%u", cfg->limits.wall_ms);
    if (command) {
        if (r->tool->command(arguments, argv, err)) return -1;
    } else {
        r->in = json_dumps(arguments, JSON_COMPACT);
        if (!r->in) return err_set(err, -1, "out of memory");
        argv[0] = "tool", argv[1] = r->tool->name, argv[2] = wall, argv[3] = ticket_git(r->ticket) ? "git" : "";
    }
    struct job_config c = {.argv = argv, .builtin = !command, .workspace = ticket_workspace(r->ticket),
                           .home = cfg->home, .hold_git = command && !ticket_git(r->ticket), .in = r->in,
                           .n_in = r->in ? strlen(r->in) : 0, .limits = cfg->limits, .sink = sink, .self = r};
    r->job = job_start(&c, err);
    return r->job ? 0 : -1;
}

/* The output ceiling holds here too; a tool that meets it is told that it was enough. */
static int put_here(void *self, const char *bytes, size_t n)
{
    struct tool_run *r = self;
    uint64_t max = r->limits.output_bytes;
    size_t take = max ? (size_t)MIN(n, max - r->result.text.len) : n;
    buf_put(&r->result.text, bytes, take);
    return take < n || r->result.text.failed;
}

static void run_here(struct tool_run *r)
{
    double began = now();
    struct tool_context c = {.workspace = ticket_folder(r->ticket), .limits = limits_within(r->limits.wall_ms),
                             .git = ticket_git(r->ticket), .put = put_here, .self = r};
    enum tool_verdict v = r->tool->run(&c, ticket_arguments(r->ticket));
    struct job_result j = {.end = v == TOOL_STOPPED ? JOB_OUTPUT : JOB_EXITED, .value = v != TOOL_DONE};
    r->result.end = j.end;
    r->result.status = j.value;
    r->result.failed = v != TOOL_DONE;
    if (v == TOOL_STOPPED) say_stop(r, &j);
    r->result.seconds = now() - began;
    r->over = true;
}

static int start(struct tool_run *r, const struct tool_run_config *cfg, struct err *err)
{
    struct err why = {0};
    if (ticket_check(r->ticket, err)) return -1;
    if (r->tool->place == TOOL_APP) return err_set(err, -1, "%s is no tool that runs by itself", r->tool->name);
    if (r->tool->place == TOOL_HERE) {
        run_here(r);
        return 0;
    }
    if (start_job(r, cfg, &why) == 0) return 0;
    if (!no_jail(&why)) return err_set(err, why.code, "%s", why.text);
    if (r->tool->place == TOOL_COMMAND || !cfg->unjailed)
        return err_set(err, why.code, "%s is refused, since nothing would hold it: %s", r->tool->name, why.text);
    run_here(r);
    return 0;
}

struct tool_run *tool_run_start(const struct tool_run_config *cfg, struct tool_ticket *ticket, struct err *err)
{
    struct tool_run *r = calloc(1, sizeof *r);
    if (!r) {
        err_set(err, -1, "out of memory");
        ticket_free(ticket);
        return NULL;
    }
    *r = (struct tool_run){.ticket = ticket, .tool = ticket_tool(ticket), .limits = cfg->limits};
    if (start(r, cfg, err) == 0) return r;
    tool_run_close(r);
    return NULL;
}

/* ------------------------------------------------------------------ running */

bool tool_run_step(struct tool_run *r, int timeout_ms)
{
    if (!r->over && job_step(r->job, timeout_ms)) finish(r);
    return r->over;
}

void tool_run_cancel(struct tool_run *r)
{
    if (!r->over) job_cancel(r->job);
}

const struct tool_run_result *tool_run_result(const struct tool_run *r) { return &r->result; }

void tool_run_close(struct tool_run *r)
{
    if (!r) return;
    job_close(r->job);
    ticket_free(r->ticket);
    free(r->in);
    buf_free(&r->result.text);
    free(r);
}
