/* job_tree.h - the processes that descend from one, read from /proc. */
#ifndef JOB_TREE_H
#define JOB_TREE_H
#include "plimsoll.h"
#include <sys/types.h>

struct job_process {
    pid_t pid, parent;
    uid_t user;
    uint32_t threads;
    uint64_t bytes; /* resident; what processes share counts in each */
    bool inside;    /* it descends from the root */
};

/* All processes of the system at about one moment.  Starts as all zeros; memory is kept from look to look. */
struct job_tree {
    struct job_process *all;
    size_t n, cap;
    size_t inside;  /* descendants of the root, without it */
    uint64_t bytes; /* of these */
};

/* 0, or -1 and errno: no /proc, or out of memory. */
int job_tree_look(struct job_tree *t, pid_t root);

/* Memory without a file that processes share (MAP_SHARED | MAP_ANONYMOUS) stays while it is mapped, and is resident in
 * none of them once they gave up its pages: it is in the system's sum alone.  Bytes of that sum, 0: not known; and may
 * some of it be the descendants' as of the last look? */
uint64_t job_tree_shared(void);
bool job_tree_has_shared(const struct job_tree *t);

void job_tree_kill(const struct job_tree *t); /* SIGKILL to each descendant */

/* SIGKILL to children of this thread, some hundreds at most: those too that a /proc mounted with hidepid does not show,
 * because they are not dumpable. */
void job_tree_kill_children(void);
void job_tree_free(struct job_tree *t);
#endif
