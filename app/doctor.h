/* doctor.h - what `plimsoll doctor` looks at: a row each, a function each.
 *
 * A check runs in a process of its own for at most DOCTOR_PATIENCE seconds, so that none can hang, and none changes
 * anything here; nor on disk.  What it says may hold bytes of others (paths, variables): the printer filters. */
#ifndef DOCTOR_H
#define DOCTOR_H
#include "app/opts.h"

enum { DOCTOR_PATIENCE = 10 };

struct doctor {
    const struct opts *o;
    opts_env *env;
    const char *root;         /* put before /proc and /sys: "", or a test's folder */
    const struct err *config; /* why the configuration file was refused; NULL: it was not */
    int patience;             /* seconds for a check */
};

enum doctor_verdict { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL }; /* warn: plimsoll works, and would better otherwise */

struct doctor_finding {
    enum doctor_verdict verdict;
    char figure[320];
    char fix[480]; /* "" where all is well */
};

/* Fill f; for the checks. */
__attribute__((format(printf, 3, 4)))
void doctor_say(struct doctor_finding *f, enum doctor_verdict verdict, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void doctor_fix(struct doctor_finding *f, const char *fmt, ...);

typedef void doctor_check(const struct doctor *d, struct doctor_finding *f);

/* doctor.c: run a check in a child.  One that crashes or says nothing in time is a FAIL. */
void doctor_look(doctor_check *check, const struct doctor *d, struct doctor_finding *f);

/* doctor_machine.c: what computes */
doctor_check doctor_backend, doctor_kernels, doctor_instructions, doctor_driver, doctor_bandwidth, doctor_memory, doctor_model,
    doctor_embedded, doctor_session;
/* doctor_system.c: what the system lets us do */
doctor_check doctor_cores, doctor_landlock, doctor_seccomp, doctor_groups, doctor_files, doctor_locked, doctor_address,
    doctor_core_file, doctor_libraries;
/* doctor_place.c: where it runs */
doctor_check doctor_locale, doctor_colours, doctor_terminal, doctor_config, doctor_store, doctor_disk,
    doctor_servers;

/* Cores that the control groups above this process grant; INFINITY: no limit. */
double doctor_group_cores(const char *root);
#endif
