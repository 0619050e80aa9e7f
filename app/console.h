/* console.h - what the line chat's two files share: the prompt (console.c) and the table of commands (commands.c). */
#ifndef CONSOLE_H
#define CONSOLE_H
#include "app/faces.h"
#include "app/input.h"
#include "engine/forecast.h"

struct console {
    struct app *a;
    struct session s;
    struct input in;
    struct forecast_agent growth; /* of the conversation, turn by turn, until something leaves its context */
    bool warned; /* the last thing that happened was a first Ctrl-C at the prompt */
    bool quit;
    int status;
};

void console_command(struct console *c, const char *line, size_t n); /* a line that begins with '/' */
void console_ask(struct console *c, const char *text, size_t n);     /* a turn, and what is said behind it */
void console_anew(struct console *c);   /* another session is open: nothing of it is known yet */
#endif
