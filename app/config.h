/* config.h - the configuration file: where it lies, whether it may be believed, and its lines.
 *
 *     # a comment
 *     temp = 0.5            # a comment after a value
 *     system = "two\nlines" # \n \t \" \\ and \xHH, in quotes alone
 *     json = on
 *
 * A name and a value a line; a value without quotes ends at the line's end or at a blank and #.  What the names mean
 * is the business of opts.c.
 *
 * A file that others may write is not believed: it could name another model, or a folder for all that is said. */
#ifndef CONFIG_H
#define CONFIG_H
#include "app/opts.h"

enum { CONFIG_MAX = 64 << 10 }; /* bytes of a file */

struct config {
    char *path, *text; /* owned; path NULL: no file was read */
    char *at;          /* where the next line begins */
    int line;          /* number of the last one */
};

struct config_line {
    int number;              /* from 1 */
    const char *name, *value; /* in the file's text, as long as struct config */
};

/* The file that is read when none is named: $XDG_CONFIG_HOME/plimsoll/config, else $HOME/.config/plimsoll/config.
 * 0, or -1: neither is an absolute path, or no memory, and out is empty. */
int config_default_path(opts_env *env, struct buf *out);

/* Read path, a regular file.  must: its absence is an error; else it is as an empty file, and c->path stays NULL.
 * 0, or -1 with err, and c is empty. */
int config_read(struct config *c, const char *path, bool must, struct err *err);

/* The next line that has a name, quotes and escapes taken off, no control bytes but those that were escaped.
 * 1, 0 at the end, or -1 with "FILE:LINE: ..." in err. */
int config_next(struct config *c, struct config_line *out, struct err *err);

void config_free(struct config *c);

/* `value` as it stands in a file: in quotes where it must. */
void config_put(struct buf *out, const char *value);
#endif
