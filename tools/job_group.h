/* job_group.h - a control group (version 2) for each job, where one is delegated to us: the kernel then limits memory
 * and processes of all that is in it at every moment, and counts what they share once.
 *
 *     systemd-run --user --scope -p Delegate=yes plimsoll
 *
 *     G                   the group that plimsoll was started in, alone
 *     G/plimsoll          it itself: a group that shares out memory holds no processes, but in groups below it
 *     G/job-1234          a job; its guard stays outside, in G/plimsoll
 *
 * Delegated is a group that this user may write; for root, who may write all of them, one that bears the mark of it
 * (the attribute user.delegate or trusted.delegate, which systemd sets).  A group that others are in, a terminal's for
 * one, is nobody's to rearrange, and is left as it is.
 *
 * root: put before /proc and /sys: "", or a test's folder.  Threads: any; prepare() once. */
#ifndef JOB_GROUP_H
#define JOB_GROUP_H
#include "plimsoll.h"

enum { JOB_GROUP_PATH = 700 };

struct job_group {
    char dir[JOB_GROUP_PATH]; /* "": there is none */
    int procs;                /* who writes "0" to it enters; -1 */
};

enum job_group_state {
    JOB_GROUP_READY,    /* jobs have groups, or will have from the first one on */
    JOB_GROUP_SHARED,   /* delegated, but others are in it */
    JOB_GROUP_NONE      /* no version 2, not delegated, or without its controller of memory */
};

/* What there is; nothing changes.  parent: the caller's parent is one of us. */
enum job_group_state job_group_look(const char *root, bool parent);
/* Moves this process to G/plimsoll, so that G can have groups with limits.  0; -1: it is as it was. */
int job_group_prepare(const char *root);

/* A new group beside the caller's, of so many bytes, and of twice as many processes (0: any number): at more than once
 * as many the guard ends the job and says so, and this holds it until the guard looks.  0, and job_group_end() is due;
 * -1: none can be made. */
int job_group_make(const char *root, uint64_t bytes, uint32_t processes, struct job_group *g);
bool job_group_has(const struct job_group *g, int pid);
/* After its last process has ended.  *peak: bytes at most, 0: not known.  True: the kernel ended it for its memory. */
bool job_group_end(struct job_group *g, uint64_t *peak);
#endif
