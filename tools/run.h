/* run.h - one call of a tool from start to end, without waiting for it.
 *
 *     ticket (rights.h) --tool_run_start()--> calculator: over at once
 *                                             files, search: a job, this program's builtin "tool" (tool_run_jobs)
 *                                             shell: a job, /bin/sh -c command
 *     tool_run_step() ... true --> tool_run_result()
 *
 * The result is what the tool wrote (of a command stdout and stderr), at most limits.output_bytes, and where it did not
 * end by itself one line more: "error: stopped after 20 s", "exit status 3".
 *
 * Without Landlock or seccomp nothing that needs a jail is started.  `unjailed` lifts that for the file tools, which
 * then run in this process, where path.h alone holds them and no limit of time but a search's; a call then waits for
 * them.  It never lifts it for a command.
 *
 * Memory: the result's bytes, taken as they come.  Threads: a run belongs to one. */
#ifndef RUN_H
#define RUN_H
#include "tools/job.h"
#include "tools/rights.h"

struct tool_run_config {
    const char *home;         /* a folder that no job may open, as in jail.h; NULL: none */
    struct job_limits limits; /* TOOL_RUN_LIMITS */
    bool unjailed;
};
#define TOOL_RUN_LIMITS                                                                                      \
    ((struct job_limits){.wall_ms = 20000, .output_bytes = 8 << 20, .tree_bytes = 512 << 20, .processes = 64, \
                         .cpu_seconds = 20, .open_files = 256, .file_bytes = 256 << 20})

struct tool_run_result {
    struct buf text;     /* data NULL: nothing; failed: memory ran out, and this is not all */
    bool failed;         /* the tool says so, an exit status that is not 0, or it was stopped */
    enum job_end end;    /* JOB_EXITED for what ran in this process too */
    int status;          /* as struct job_result's value */
    double seconds;
    uint64_t peak_bytes; /* of its processes together; 0: it ran in this one */
    uint32_t peak_processes;
};

struct tool_run;

/* What main() gives to job_guard(): the tools that run in jail. */
extern const struct job_builtin tool_run_jobs[];

/* 0 if a tool that needs the jail could be started there; else an enum jail_error, and err. */
int tool_run_check(const struct tool_run_config *cfg, const char *workspace, struct err *err);

/* Takes the ticket, also on failure.  NULL: nothing ran, err says why in words that a model may be told. */
struct tool_run *tool_run_start(const struct tool_run_config *cfg, struct tool_ticket *ticket, struct err *err);

/* Waits up to that long (-1: any time) for something to happen.  True: it is over. */
bool tool_run_step(struct tool_run *r, int timeout_ms);

void tool_run_cancel(struct tool_run *r);                               /* returns at once; step on until it is over */
const struct tool_run_result *tool_run_result(const struct tool_run *r); /* once it is over; lives with r */
void tool_run_close(struct tool_run *r); /* kills what still runs, and waits for that; NULL is fine */
#endif
