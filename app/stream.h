/* stream.h - a recorded stream of events (--json, --trace), read back line by line; and the command lines of those who
 * do so, `plimsoll events` and `plimsoll replay`.
 *
 * A line that is no event is told on stderr with its number, counted, and passed over; of many the first are told.
 * Nothing in a stream is believed or obeyed: an event is text and figures.
 *
 * Owner: the stream keeps the line and the event that it gave until the next call.  Threads: one. */
#ifndef STREAM_H
#define STREAM_H
#include "app/input.h"
#include "app/session/event.h"

struct stream {
    struct input in;
    struct event event;
    const char *text; /* the event's line as it stands, n bytes, without its newline */
    size_t n;
    int64_t line;     /* that it has, 1, 2, ... */
    int64_t wrong;    /* lines told or only counted */
};

/* path: NULL or "-" is stdin.  0, or -1. */
int stream_open(struct stream *s, const char *path, struct err *err);

/* The next line that is an event, in s->event.  false: there is none, and what was in the way has been told. */
bool stream_next(struct stream *s);

/* The line that was read last, or a stream without lines, is wrong for another reason. */
void stream_wrong(struct stream *s, const char *why);

/* EXIT_DONE, or EXIT_USAGE and how many lines more were wrong has been told. */
int stream_close(struct stream *s);

/* ------------------------------------------------------------------ the command line: flags and at most one file */

struct stream_flag {
    const char *name;
    bool *on;
};

/* argv[0] is the command's name, for messages.  *file is NULL if none was named; *help: -h or --help was there.  0, or
 * -1: err says what is wrong. */
int stream_parse(int argc, char *const *argv, const struct stream_flag *flags, size_t n, const char **file, bool *help,
                 struct err *err);
#endif
