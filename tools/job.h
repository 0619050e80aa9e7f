/* job.h - one tool at work: a process of this same program, in jail, watched to its end.
 *
 *     job_start() -- posix_spawn --> guard (this program with --jail) -- fork, jail_enter() --> tool -> ...
 *          ^                           |  every 20 ms: sums the tree, looks at the clock
 *          +---- output, then result --+  at the end: kills all that descends from it
 *
 * Why a guard between: it is the parent that processes get when theirs ends (PR_SET_CHILD_SUBREAPER), so that no
 * setsid and no double fork leaves the tree.  That is a setting of a whole process, and this one has other children.
 * A job ends when its first process does, or at a limit; whatever of it still runs is then killed, to the last one.
 * It ends too when this process does: the guard sees its socket close.
 *
 * Output is stdout and stderr in the order written.  Input is there whole from the start.
 * Where a control group is delegated to us (job_group.h) the kernel limits the memory of a job as a whole, and what of
 * it is shared counts once.  Else memory is the sum of what is resident in each process as the guard sees it.  A look
 * at the tree reads all of /proc: where that takes long, looks are rarer, so that they cost at most a fifth of a core.
 * Shared memory that is resident in none of them is taken for theirs where they have any and the whole system has got
 * more of it, since the start, than the limit.
 * A process that is over between two looks is not seen; the limits of jail.h hold besides.  Nor is one seen that is not
 * dumpable where /proc is mounted with hidepid: it is killed like the others, but not counted.
 *
 * Threads: a job belongs to one thread; jobs of several threads do not know of each other. */
#ifndef JOB_H
#define JOB_H
#include "tools/jail.h"

enum { JOB_REQUEST_MAX = 256 << 10, JOB_LOOK_MS = 20 };

struct job_limits {      /* 0: none */
    uint32_t wall_ms;
    uint64_t output_bytes;
    uint64_t tree_bytes; /* resident, all its processes together */
    uint32_t processes;  /* of the tree, threads counted */
    uint32_t cpu_seconds, open_files; /* of each process, as in jail.h */
    uint64_t file_bytes;
};

struct job_config {
    const char *const *argv; /* NULL ends it; [0] is a program (a path, or looked up in jail_env's PATH) ... */
    bool builtin;            /* ... or one of the names that this program gave to job_guard() */
    const char *workspace, *home; /* as in jail.h */
    bool hold_git;
    const void *in;          /* stdin; copied */
    size_t n_in;
    struct job_limits limits;
    void (*sink)(void *self, const char *bytes, size_t n); /* called by job_step(); at most output_bytes in all */
    void *self;
};

enum job_end {
    JOB_EXITED,    /* value: its exit status; 127 not found, 126 not to be run, as in a shell */
    JOB_SIGNALLED, /* value: the signal */
    JOB_TIMEOUT,
    JOB_OUTPUT,
    JOB_MEMORY,
    JOB_PROCESSES,
    JOB_CANCELLED,
    JOB_REFUSED,   /* value: an enum jail_error; nothing ran, and the text says why */
    JOB_UNWATCHED, /* the guard could read /proc no more, as the text says, and ended all of it */
    JOB_LOST       /* the guard was killed, or said nothing for JOB_GRACE_MS after its time: parts may run still */
};
enum { JOB_GRACE_MS = 5000 };

struct job_result {
    enum job_end end;
    int value;
    uint64_t bytes;      /* of output, given to the sink */
    double seconds;
    uint64_t peak_bytes; /* of the tree, as seen */
    uint32_t peak_processes;
    bool grouped;        /* it had a control group */
    char text[480];      /* JOB_REFUSED, JOB_UNWATCHED */
};

struct job;

/* NULL: err, its code an enum jail_error (no Landlock, a bad workspace: found here, before anything runs). */
struct job *job_start(const struct job_config *cfg, struct err *err);

/* Waits up to that long for something to happen; output goes to the sink.  True: it is over. */
bool job_step(struct job *j, int timeout_ms);

void job_cancel(struct job *j);                         /* returns at once; step on until it is over */
const struct job_result *job_result(const struct job *j); /* once it is over; lives with j */
void job_close(struct job *j);                          /* cancels, and waits, if it is not over; NULL is fine */

/* A tool that is part of this program, run in jail: stdin, stdout, an exit status. */
struct job_builtin {
    const char *name;
    int (*run)(int argc, char **argv);
};

/* What main() calls, first of all, when argv[1] is "--jail"; it does not return.  A NULL name ends the table. */
_Noreturn void job_guard(const struct job_builtin *table);

const char *job_end_name(enum job_end end);
#endif
