/* hog.h - another process that computes and nothing else, on whatever core the system gives it. */
#ifndef BENCH_HOG_H
#define BENCH_HOG_H
#include "plimsoll.h"
#include <sys/types.h>

struct hog {
    pid_t pid; /* 0: none runs */
};

int hog_start(struct hog *h, struct err *err); /* returns when it computes */

/* The CPU seconds that it used. */
double hog_stop(struct hog *h);

int hog_main(void); /* what runs there: never returns by itself, and ends with its parent */
#endif
