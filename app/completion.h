/* completion.h - what `plimsoll completion` writes for shells: completion.c says what may follow a flag, and
 * completion_bash.c and completion_zsh.c say it in a shell's words.  All of it comes from the tables of flags
 * (opts_table.h) and subcommands. */
#ifndef COMPLETION_H
#define COMPLETION_H
#include "app/opts_table.h"
#include "app/subcommands.h"

enum completion_kind {
    VALUE_NONE,     /* nothing may follow */
    VALUE_ANY,      /* a text or a number: nothing can be offered */
    VALUE_WORDS,
    VALUE_LIST,     /* of words, with commas between them */
    VALUE_FILES,    /* or one of the words, if there are any */
    VALUE_FOLDERS,
    VALUE_SESSIONS  /* or "last" */
};

struct completion_value {
    enum completion_kind kind;
    const char *words; /* blanks between them; in `mem`, or for ever */
    struct buf mem;
};

void completion_of_flag(const struct opt *o, struct completion_value *out);

/* One of the items of subcommand.words or .flags: *at goes on behind it.  false: there are no more. */
struct completion_item { char name[OPTS_NAME_MAX]; struct completion_value value; char what[OPTS_NAME_MAX]; };
bool completion_item(const char **at, struct completion_item *out);
bool completion_items_take(const char *items); /* something may follow one of them */
/* What stands behind a subcommand where its words are one in capitals, FILE say, which is its name and no word to type.
 * false: they are words, or there are none.  out->mem is the caller's. */
bool completion_operand(const struct subcommand *s, struct completion_value *out);

void completion_bash(struct buf *out);
void completion_zsh(struct buf *out);
#endif
