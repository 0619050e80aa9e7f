/* input.h - lines and whole texts from a descriptor: any bytes, NUL and invalid UTF-8 too, with a limit on each.
 * A signal (signals.h) ends a wait. */
#ifndef INPUT_H
#define INPUT_H
#include "plimsoll.h"

enum { INPUT_LIMIT = 16 << 20 }; /* bytes of a line, or of data for a prompt */

enum input_result { INPUT_OK = 0, INPUT_END = 1, INPUT_SIGNAL = 2, INPUT_FAILED = -1 };

struct input {
    int fd;
    const char *what;  /* it is, for messages: "stdin", or a file's name, which the caller keeps */
    size_t limit;      /* bytes of a line */
    struct buf bytes; /* read and not yet given */
    size_t given;     /* of them, the front that the last line used */
    struct buf aside; /* what came before something was asked */
    bool ended;
    bool (*confirm)(void *self, const char *question); /* who is asked for a yes instead (sessions_ask()); NULL */
    void *confirm_self;
};

/* As stdin, with INPUT_LIMIT: a caller may set others before it reads.  -1: nothing comes. */
void input_open(struct input *in, int fd);
void input_close(struct input *in);

/* The next line without its newline (and without a carriage return before that); a last one needs none.  *line is
 * valid until the next call.  INPUT_FAILED: err says why (a line over the limit, a read that failed). */
enum input_result input_line(struct input *in, const char **line, size_t *n, struct err *err);

/* Would input_line() give something, or the end, at once?  (Of a line that is not whole yet this is believed.) */
bool input_ready(const struct input *in);

/* What has come by now (up to a pause of a tenth of a second) does not answer what is about to be asked: the next line
 * is one that comes later.  input_put_back(), due then, lets the others follow; a line that was given is not valid any
 * more.  INPUT_FAILED: err says why. */
enum input_result input_put_aside(struct input *in, struct err *err);
void input_put_back(struct input *in);

/* The line that was just given will be given again. */
static inline void input_again(struct input *in) { in->given = 0; }

/* All bytes up to the end.  patient: a terminal on stderr is told what is waited for, after two seconds
 * without a byte. */
enum input_result input_all(int fd, size_t limit, const char *what, bool patient, struct buf *out, struct err *err);
#endif
