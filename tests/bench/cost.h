/* cost.h - what a token costs at least, and what part of a limit that is. */
#ifndef BENCH_COST_H
#define BENCH_COST_H
#include "plimsoll.h"

struct limits;
struct test;

/* What one token costs at least, counted from the file: a step reads every weight once (the embedding table only where
 * it is the output matrix too), and multiplies with every matrix; of a mixture of experts each row with those it goes
 * through, and a step reads as many as its rows meet where each expert is as likely as the others. */
struct cost {
    double bytes;   /* a step must read */
    double experts; /* ... and those of all experts beside, of which a token meets the part `chosen` */
    double chosen;
    double body;    /* multiply-adds of a token in the layers */
    double output;  /* ... and of a row of logits */
};

/* Of a model's file.  0, or -1. */
int cost_read(const char *path, struct cost *c, struct err *err);

/* Of the int8 peak or of the read bandwidth (test_multiplies()): what a repetition of t in so many seconds used. */
double cost_share(const struct cost *c, const struct test *t, double seconds, const struct limits *l);
#endif
