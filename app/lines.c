/* lines.c - stdin is no terminal and there is no -p: each line is a turn of one conversation.  A line that begins
 * with '/' is text like any other.  Empty lines are passed over.  The first turn that is refused or fails ends it: what
 * follows was written for a conversation that has that turn.  Each turn is saved before the next is asked. */
#include "app/faces.h"
#include "app/input.h"
#include "app/say.h"
#include "app/session/session.h"
#include "app/signals.h"
#include <unistd.h>

static int one_line(struct session *s, int64_t number, const char *line, size_t n)
{
    struct err err = {0};
    int status = session_ask(s, line, n, &err);
    session_settle(s);
    face_complain(s->a, status, &err);
    if (status != EXIT_DONE && status < 128 && *err.text) say("stopped at line %lld of stdin", (long long)number);
    return status;
}

int lines_run(struct app *a)
{
    struct session s;
    struct input in;
    struct err err = {0};
    int status = face_session(a, &s);
    enum input_result r = INPUT_OK;
    input_open(&in, STDIN_FILENO);
    for (int64_t number = 1; status == EXIT_DONE && !a->answers.failed; number++) {
        const char *line;
        size_t n;
        r = input_line(&in, &line, &n, &err);
        if (r != INPUT_OK) break;
        if (n > 0) status = one_line(&s, number, line, n);
    }
    if (r == INPUT_SIGNAL) status = 128 + signals_pending();
    if (r == INPUT_FAILED) {
        app_error(a, "input", err.text);
        status = EXIT_USAGE;
    }
    input_close(&in);
    return face_leave(a, &s, status);
}
