/* command_row.h - a row of the one table of the chat's commands (commands.c): what it is called, what it takes, what
 * it does.  /help, completion and the manual page are made from it. */
#ifndef COMMAND_ROW_H
#define COMMAND_ROW_H
#include <stddef.h>

enum command_arg { /* what can be said of its argument */
    COMMAND_NONE, COMMAND_TEXT, COMMAND_NUMBER,
    COMMAND_FILE,  /* one name, as it is: blanks are part of it */
    COMMAND_FILES, /* names, and blanks between them */
    COMMAND_AGENT, COMMAND_TOOL, COMMAND_SESSION, COMMAND_ARTIFACT, COMMAND_MESSAGE,
    COMMAND_ARGS
};

struct console;

struct command_row {
    const char *name;     /* "/attach" */
    const char *takes;    /* for a person: "FILE"; in brackets what may be left out; NULL: nothing */
    enum command_arg arg; /* of the whole argument, or of what follows one of the words */
    const char *words;    /* "recall auto|recall ask": what the argument may begin with; NULL: no such words */
    void (*run)(struct console *c, const char *arg, size_t n); /* arg: what follows the name */
    const char *help;
};

extern const struct command_row command_table[];
extern const size_t command_rows;
#endif
