/* oneshot.c - one prompt, one answer. */
#include "app/chat.h"
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

int oneshot_run(struct app *a)
{
    struct chat c;
    struct err err = {0};
    struct buf prompt = {0};
    int status = oneshot_prompt(a, &prompt);
    if (status == EXIT_DONE) {
        if (chat_open(&c, a, a->o->system, &err)) status = EXIT_INTERNAL;
        else status = chat_ask(&c, prompt.data ? prompt.data : "", prompt.len, &err);
        face_complain(a, status, &err);
        chat_close(&c);
    }
    buf_free(&prompt);
    return status;
}
