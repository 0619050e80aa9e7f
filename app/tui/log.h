/* log.h - lines that were said beside the conversation, and errors: the newest, in fixed memory.
 *
 * Threads: one. */
#ifndef LOG_H
#define LOG_H
#include "plimsoll.h"

enum { LOG_LINES = 2000, LOG_LINE = 400 /* bytes, cut between characters */ };
enum log_kind { LOG_PLAIN, LOG_DIM, LOG_ERROR };

struct log_line {
    double time;   /* seconds since the program began */
    uint8_t kind;  /* enum log_kind */
    char text[LOG_LINE];
};

struct log {
    struct log_line *line; /* (LOG_LINES) a ring */
    uint64_t lines;        /* so far: the newest is at (lines - 1) % LOG_LINES */
};

int log_open(struct log *l, struct err *err);
void log_close(struct log *l);
void log_put(struct log *l, double time, enum log_kind kind, const char *text, size_t n); /* a line each, of a text */
const struct log_line *log_at(const struct log *l, uint64_t i); /* the i-th so far; NULL: it has gone */
#endif
