/* oneshot.c - one prompt, one answer. */
#include "app/faces.h"
#include "app/input.h"
#include "app/say.h"
#include "app/signals.h"
#include <unistd.h>

int oneshot_prompt(struct app *a, struct buf *prompt)
{
    struct err err = {0};
    struct buf data = {0};
    if (a->o->prompt) buf_puts(prompt, a->o->prompt);
    if (isatty(STDIN_FILENO)) return EXIT_DONE;
    enum input_result r = input_all(STDIN_FILENO, INPUT_LIMIT, "the data on stdin", a->o->prompt != NULL, &data, &err);
    if (r == INPUT_OK) {
        if (data.len > 0 && data.data[data.len - 1] == '\n') data.len--;
        if (prompt->len > 0 && data.len > 0) buf_puts(prompt, "\n\n");
        buf_put(prompt, data.data, data.len);
    }
    buf_free(&data);
    if (r == INPUT_SIGNAL) return 128 + signals_pending();
    if (r == INPUT_OK && !prompt->failed) return EXIT_DONE;
    app_error(a, "input", prompt->failed ? "no memory for the prompt" : err.text);
    return EXIT_USAGE;
}

int oneshot_messages(const struct app *a, const struct buf *prompt, struct msg msgs[ONESHOT_MESSAGES])
{
    int n = 0;
    const char *system = a->o->system;
    if (system && *system) msgs[n++] = (struct msg){.role = ROLE_SYSTEM, .text = system, .len = strlen(system)};
    msgs[n++] = (struct msg){.role = ROLE_USER, .text = prompt->data ? prompt->data : "", .len = prompt->len};
    return n;
}

int oneshot_run(struct app *a)
{
    struct err err = {0};
    struct buf prompt = {0};
    struct msg msgs[ONESHOT_MESSAGES];
    struct turn_result r = {0};
    int status = oneshot_prompt(a, &prompt);
    if (status == EXIT_DONE) {
        struct turn_ask ask = {.msgs = msgs, .n_msgs = oneshot_messages(a, &prompt, msgs)};
        int code = turn_run(a, &ask, &r, &err);
        status = turn_exit(code, &r);
        if (!code && r.end == END_NO_TOKEN) err_set(&err, -1, "the rules (--logit-bias) left no token to choose");
        face_complain(a, status, &err);
    }
    buf_free(&r.text);
    buf_free(&prompt);
    return status;
}
