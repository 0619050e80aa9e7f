/* subcommands.h - the words that may stand in place of the first flag, in one table: --help, the manual page and
 * completion for shells are made from it. */
#ifndef SUBCOMMANDS_H
#define SUBCOMMANDS_H
#include "plimsoll.h"

struct subcommand {
    const char *name;
    const char *takes; /* for a person: "stat|check|..."; NULL: nothing */
    /* What may stand behind it, with a blank between two: a word, or WORD=WHAT where something follows it; likewise its
     * own flags.  WHAT is DIR, FILE, SESSION, the words of a choice ("jsonl|md"), or what it is called (N).  words is
     * "FILE" where that is all there can be. */
    const char *words, *flags; /* NULL: none */
    bool all_flags;            /* it takes plimsoll's flags too */
    int (*run)(int argc, char **argv); /* argv[0] is its name; NULL: main.c runs it, as a session */
    const char *help;
};

extern const struct subcommand subcommand_table[];
extern const size_t subcommands;

void subcommands_help(struct buf *out); /* the text of --help */
#endif
