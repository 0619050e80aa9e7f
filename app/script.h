/* script.h - the reader of scripts: a session as a text, turn by turn.  It knows the form of a script and nothing of
 * agents or commands; who calls it obeys the items, or refuses them with their line.
 *
 *     plimsoll 1                      the header: this, or a line that begins with #!, or first that and then this
 *     # a comment
 *     What floats?                    a turn to the current agent
 *     @mate What floats?              a turn to another
 *     <<END                           a turn of several lines, up to the line that is exactly this word;
 *     @mate <<END                     letters, digits, '_' and '-' make a word; inside nothing has a meaning
 *     /expect ship                    a command: what follows its name, without the blanks around it
 *     \/usr is what?                  a turn that begins with '/', '@', '#', '<<' or '\' has a '\' before it, which is
 *     @mate \<<END                    dropped; behind a name too
 *
 * Lines that are empty or blank are passed over.  What means something does so at the beginning of a line alone: a line
 * that begins with a blank is a turn as it stands.  Lines end in \n or \r\n.  A line or a turn of more than INPUT_LIMIT
 * bytes, a NUL, a byte that is not UTF-8, a turn without text, and a turn of several lines without its end are errors;
 * every error is one line that names its line: "line 7: ...".
 *
 *     struct script s;
 *     struct script_item item;
 *     script_open(&s, &input);
 *     while ((r = script_next(&s, &item, &err)) == SCRIPT_ITEM) ...
 *     script_close(&s);
 *
 * Owner: the reader borrows its source; an item lies in reader and source until the next call.  Threads: one. */
#ifndef SCRIPT_H
#define SCRIPT_H
#include "app/input.h"
#include "plimsoll.h"

enum { SCRIPT_VERSION = 1, SCRIPT_NAME = 40 }; /* SCRIPT_NAME: bytes of a name or a word at most */

enum script_kind { SCRIPT_TURN, SCRIPT_COMMAND };

struct script_item {
    enum script_kind kind;
    int64_t line;     /* of the script, 1, 2, ...: where it begins */
    const char *name; /* a turn's: the agent, "" being the current one; a command's: what it is called, without '/' */
    const char *text; /* the turn, or the command's arguments */
    size_t n;         /* its bytes, all UTF-8; a turn has some */
};

enum script_result { SCRIPT_ITEM, SCRIPT_END, SCRIPT_SIGNAL, SCRIPT_BAD };

struct script {
    struct input *in; /* NULL: the text */
    const char *text;
    size_t n, at;   /* of the text: its bytes, and those read */
    int64_t line;   /* that was read last */
    struct buf doc; /* a turn of several lines */
    char name[SCRIPT_NAME + 1];
    struct buf *record; /* gets every line that is read, while it is not over INPUT_LIMIT: then `failed` is set; NULL:
                         * not wanted.  Set after opening, the caller's */
};

void script_open(struct script *s, struct input *in);
void script_open_text(struct script *s, const char *text, size_t n);
void script_close(struct script *s);

/* The next item.  SCRIPT_BAD: err says why; behind it and behind SCRIPT_END nothing more is to be asked.
 * SCRIPT_SIGNAL: a signal is pending (signals.h). */
enum script_result script_next(struct script *s, struct script_item *item, struct err *err);

/* Does a text with this first line say of itself that it is a script?  Of any version. */
bool script_is(const char *first_line, size_t n);
#endif
