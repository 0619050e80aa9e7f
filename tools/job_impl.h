/* job_impl.h - what goes between job.c and its guard, over one socket: a request, and in the end a result. */
#ifndef JOB_IMPL_H
#define JOB_IMPL_H
#include "tools/job.h"

/* In the guard: stdin and stdout are the tool's; the socket lies where the tool's stderr will be. */
enum { JOB_SOCKET = 2 };

struct job_request { /* then `size` bytes of strings, each with its NUL: workspace, home ("": none), argv */
    uint32_t size, argc;
    bool builtin, hold_git;
    struct job_limits limits;
};

struct job_answer {
    enum job_end end;
    int value;
    uint64_t peak_bytes;
    uint32_t peak_processes;
    bool grouped;
    char text[480];
};

double job_now(void); /* seconds of the clock that only goes forward */
#endif
