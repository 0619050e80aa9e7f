/* faces.c - what several faces say in the same way. */
#include "app/faces.h"
#include "app/say.h"
#include <unistd.h>

void face_complain(struct app *a, int status, const struct err *err)
{
    if (status == EXIT_DONE || status > 128 || !*err->text) return;
    if (status == EXIT_INTERNAL) app_error(a, "turn", err->text);
    else say_error("%s", err->text); /* an event of the turn's own has it */
}

int face_finish(const struct out *out, int status)
{
    struct err err = {0};
    int bad = out_status(out, "stdout", &err);
    if (bad == EXIT_INTERNAL) say_error("%s", err.text);
    return bad && status == EXIT_DONE ? bad : status;
}

int face_print(void (*write_to)(struct buf *))
{
    struct out out;
    struct buf text = {0};
    write_to(&text);
    out_init(&out, STDOUT_FILENO);
    out_put(&out, text.data, text.len);
    buf_free(&text);
    return face_finish(&out, EXIT_DONE);
}
