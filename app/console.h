/* console.h - what the line chat (console.c), scripts (script_run.c) and the table of commands (commands.c) share. */
#ifndef CONSOLE_H
#define CONSOLE_H
#include "app/faces.h"
#include "app/input.h"
#include "app/session/team.h"

struct console {
    struct app *a;
    struct team team;
    struct session *s; /* of the agent that commands are about */
    struct input in;
    bool warned; /* the last thing that happened was a first Ctrl-C at the prompt */
    bool quit;
    bool script; /* nobody is there: what widens rights is refused */
    int64_t line; /* of the script, that is obeyed now */
    struct buf record;   /* the script up to there, but for lines that ask why it failed: those are comments */
    double begun;        /* when the script did, by progress_clock() */
    int status;
    struct session_place replaced; /* before /edit or /retry, whose answer was interrupted: /undo goes back there */
    uint64_t replaced_by;          /* the number of what was said instead */
};

void console_command(struct console *c, const char *line, size_t n); /* a line that begins with '/' */
int console_ask(struct console *c, const char *text, size_t n); /* a turn and what is said behind it; its status */
/* Of a crew the agent whose name stands in front ("@ann text"), and where its text begins; -1: nobody by name. */
int console_addressed(const struct console *c, const char *text, size_t n, size_t *rest);
/* In a crew a line that begins with "@" and a name that is no agent's and no file's: all would be asked. It is said. */
bool console_names_nobody(const struct console *c, const char *text, size_t n);
void console_turn(struct console *c, const char *text, size_t n);    /* as typed: "@agent text", in a crew */
int console_open(struct console *c, struct app *a); /* an exit status, told; console_close() is due in both cases */
int console_close(struct console *c);               /* the exit status */
/* Before another session takes the place of the current agent's, or (all) another run that of this one: is all of it
 * saved, after one more try?  false: told. */
bool console_may_leave(struct console *c, bool all);
void console_leave(struct console *c); /* the current agent's session is closed, and what is lost of it is said */
bool console_use(struct console *c, const char *agent, size_t n); /* false: nobody of that name */
void script_obey(struct console *c, struct input *in); /* script_run.c */
/* The figures that /assert knows, and their names. */
bool console_figure(void *console, const char *name, double *value);
const char *console_figure_name(void *console, size_t i);
#endif
