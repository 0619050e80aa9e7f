/* lines.c - stdin is no terminal and there is no -p: each line is a turn of one conversation, and one that begins with
 * '/' is text like any other; unless stdin says of itself, in its first line or by --script, that it is a script.
 * Empty lines are passed over.  The first turn that is refused or fails ends it: what follows was written for a
 * conversation that has that turn.  Each turn is saved before the next is asked. */
#include "app/console.h"
#include "app/say.h"
#include "app/script.h"
#include "app/signals.h"
#include <unistd.h>

static int one_line(struct console *c, int64_t number, const char *line, size_t n)
{
    struct err err = {0};
    int status = team_ask(&c->team, line, n, &err);
    session_settle(c->s);
    face_complain(c->a, status, &err);
    if (status != EXIT_DONE && status < 128 && *err.text) say("stopped at line %lld of stdin", (long long)number);
    return status;
}

/* A look at the first line, which is given again. */
static bool is_script(struct console *c, struct input *in)
{
    const char *line;
    size_t n;
    struct err err = {0};
    if (c->a->o->script) return true;
    if (input_line(in, &line, &n, &err) != INPUT_OK) return false;
    input_again(in);
    return script_is(line, n);
}

static void obey_lines(struct console *c, struct input *in)
{
    struct err err = {0};
    enum input_result r = INPUT_OK;
    for (int64_t number = 1; c->status == EXIT_DONE && !c->a->answers.failed; number++) {
        const char *line;
        size_t n;
        r = input_line(in, &line, &n, &err);
        if (r != INPUT_OK) break;
        if (n > 0) c->status = one_line(c, number, line, n);
    }
    if (r == INPUT_SIGNAL) c->status = 128 + signals_pending();
    if (r != INPUT_FAILED) return;
    app_error(c->a, "input", err.text);
    c->status = EXIT_USAGE;
}

int lines_run(struct app *a)
{
    struct console c;
    struct input in;
    console_open(&c, a);
    input_open(&c.in, -1); /* a question of a command's finds nobody */
    input_open(&in, STDIN_FILENO);
    if (c.status == EXIT_DONE && is_script(&c, &in)) script_obey(&c, &in);
    else if (c.status == EXIT_DONE) obey_lines(&c, &in);
    input_close(&in);
    input_close(&c.in);
    return console_close(&c);
}
