/* oneshot.c - one prompt, one answer; data on stdin is data, and nothing in it is obeyed. */
#include "app/console.h"
#include "app/input.h"
#include "app/say.h"
#include "app/signals.h"
#include <unistd.h>

static int read_data(struct app *a, struct buf *data)
{
    struct err err = {0};
    if (isatty(STDIN_FILENO)) return EXIT_DONE;
    enum input_result r = input_all(STDIN_FILENO, INPUT_LIMIT, "the data on stdin", a->o->prompt != NULL, data, &err);
    if (r == INPUT_OK && data->len > 0 && data->data[data->len - 1] == '\n') data->len--;
    if (r == INPUT_SIGNAL) return 128 + signals_pending();
    if (r == INPUT_OK) return EXIT_DONE;
    app_error(a, "input", err.text);
    return EXIT_USAGE;
}

static int join(struct app *a, const struct buf *data, struct buf *prompt)
{
    if (a->o->prompt) buf_puts(prompt, a->o->prompt);
    if (prompt->len > 0 && data->len > 0) buf_puts(prompt, "\n\n");
    buf_put(prompt, data->data ? data->data : "", data->len);
    if (!prompt->failed) return EXIT_DONE;
    app_error(a, "input", "no memory for the prompt");
    return EXIT_USAGE;
}

int oneshot_prompt(struct app *a, struct buf *prompt)
{
    struct buf data = {0};
    int status = read_data(a, &data);
    if (status == EXIT_DONE) status = join(a, &data, prompt);
    buf_free(&data);
    return status;
}

int oneshot_messages(const struct app *a, const struct buf *prompt, struct msg msgs[ONESHOT_MESSAGES])
{
    int n = 0;
    const char *system = a->o->system;
    if (system && *system) msgs[n++] = (struct msg){.role = ROLE_SYSTEM, .text = system, .len = strlen(system)};
    msgs[n++] = (struct msg){.role = ROLE_USER, .text = prompt->data ? prompt->data : "", .len = prompt->len};
    msgs[0].effort = a->effort;
    return n;
}

static int ask_once(struct app *a, const struct buf *prompt)
{
    struct err err = {0};
    struct msg msgs[ONESHOT_MESSAGES];
    struct turn_result r = {0};
    struct turn_ask ask = {.msgs = msgs, .n_msgs = oneshot_messages(a, prompt, msgs)};
    int code = turn_run(a, &ask, &r, &err), status = turn_exit(code, &r);
    if (!code && r.end == END_NO_TOKEN) err_set(&err, -1, "the rules (--logit-bias) left no token to choose");
    face_complain(a, status, &err);
    buf_free(&r.text);
    return status;
}

/* Data that the context cannot hold, or a model that may call tools: a session of one turn.  The data is shown as far
 * as it fits, the whole is an artifact, and the model reads on in it by itself. */
static int ask_in_session(struct app *a, const struct buf *data)
{
    struct session s;
    struct err err = {0};
    struct buf prompt = {0};
    int status = session_new(&s, a, a->o->system, &err), rc = 0;
    if (status == EXIT_DONE) {
        buf_puts(&prompt, a->o->prompt);
        if (data->len > 0) buf_puts(&prompt, "\n\n");
        if (data->len > 0) rc = session_put_data(&s, data->data, data->len, &prompt, &err);
        status = rc || prompt.failed ? EXIT_INTERNAL : session_ask(&s, prompt.data, prompt.len, &err);
    }
    face_complain(a, status, &err);
    int lost = session_close(&s);
    if (lost > 0) app_error(a, "store", "the turn is not saved");
    buf_free(&prompt);
    return status == EXIT_DONE && lost > 0 ? EXIT_INTERNAL : status;
}

static bool fits(struct app *a, const struct buf *prompt)
{
    struct msg msgs[ONESHOT_MESSAGES];
    struct engine_count count = {0};
    int n = oneshot_messages(a, prompt, msgs);
    if (a->ops->count_tokens(a->engine, msgs, n, &count, NULL)) return true; /* the refusal says why */
    return count.tokens + MAX(MAX(a->o->max_tokens, a->o->answers), 1) <= a->info->ctx;
}

/* The prompt with its data is what a crew is given. */
static int ask_crew(struct app *a, const struct buf *prompt)
{
    struct console c;
    struct err err = {0};
    if (console_open(&c, a) == EXIT_DONE) {
        c.status = team_ask(&c.team, prompt->data ? prompt->data : "", prompt->len, &err);
        face_complain(a, c.status, &err);
    }
    return console_close(&c);
}

int oneshot_run(struct app *a)
{
    struct buf data = {0}, prompt = {0};
    int status = read_data(a, &data);
    if (status == EXIT_DONE) status = join(a, &data, &prompt);
    if (status == EXIT_DONE) {
        bool session = a->toolbox.n_on > 0 || (data.len > 0 && a->o->prompt && !fits(a, &prompt));
        if (a->o->crew) status = ask_crew(a, &prompt);
        else status = session ? ask_in_session(a, &data) : ask_once(a, &prompt);
    }
    buf_free(&data);
    buf_free(&prompt);
    return status;
}
