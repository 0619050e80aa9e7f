/* rights.h - who may do what: each call of a tool is judged here, and what was judged is what runs.
 *
 *     tool, arguments --rights_check()--> ALLOWED ----------------------------> ticket --> tool_run_start()
 *                                         ASK --> rights_show() --> a person --rights_grant()--^
 *                                         DENIED, INVALID: no ticket, err says why    --rights_deny(): counted
 *
 * A ticket holds its own copy of the arguments and the workspace, and nothing else can be run: between what was shown
 * and what runs there is no second reading.
 *
 * Tools without an effect, and those that only read in the workspace, are allowed once they are on (--tools).  What
 * writes or runs is allowed if the command line lists it (--allow); else a person is asked; else it is denied.  A grant
 * binds the tool, for shell the program too, and the workspace: a struct rights has one, for good.
 *
 * A program is granted for commands alone that are one simple command: a plain first word and plain or quoted others,
 * nothing that a shell would expand, redirect or join (rights_program()).  Shells, and programs like env that run what
 * their arguments say, are all of shell by another name, and names with a slash may be files that the tools can write:
 * neither can be listed or granted for more than once.  What git, make or python start is theirs to say: the jail holds
 * it.
 *
 * What is git's own (tools/path.h) is written by nobody unless --allow lists .git, whoever else allows the call: what
 * stands there runs later, outside of the jail, when a person uses git.
 *
 * Rights only shrink from inside: a script, a crew, a replay or an import may call rights_drop() and nothing else that
 * changes them.  rights_open() is for the command line, rights_grant() for a key that a person pressed.
 *
 * Threads: one at a time, with its tickets. */
#ifndef RIGHTS_H
#define RIGHTS_H
#include "tools/tool.h"

enum { RIGHTS_CALL_MAX = 120 << 10 };     /* bytes of arguments: all of them are shown to whom is asked */
enum { RIGHTS_PROGRAMS = 64, RIGHTS_PROGRAM_MAX = 64, RIGHTS_DENIALS = 64, RIGHTS_SHOWN = 160 };

struct rights_config {
    const char *tools;     /* --tools: "read,list", "all", NULL: none */
    const char *allow;     /* --allow: "write,shell:git,shell:make,.git", NULL: none */
    const char *workspace; /* --workspace; NULL: the current folder */
    bool person;           /* at a terminal, who can be asked */
};

struct rights;
struct tool_ticket;

/* NULL: err names the flag that is wrong, in one line. */
struct rights *rights_open(const struct rights_config *cfg, struct err *err);
void rights_close(struct rights *r); /* after its tickets; NULL is fine */

enum rights_verdict {
    RIGHTS_ALLOWED,
    RIGHTS_ASK,
    RIGHTS_DENIED, /* counted; err names the flag that would allow it */
    RIGHTS_INVALID /* no call at all: no such tool, no JSON object, too long; or out of memory */
};

/* arguments: a JSON object as text.  *ticket is the caller's: NULL unless ALLOWED or ASK. */
enum rights_verdict rights_check(struct rights *r, const char *tool, const char *arguments,
                                 struct tool_ticket **ticket, struct err *err);

/* ------------------------------------------------------------------ asking a person */

/* All that the call would do, every byte of it escaped (tools/describe.h) and none left out, and what its result may
 * cost: at most `tokens`; 0: not known.  An edit shows the whole lines that it changes, however long.  0; or -1: err
 * says why the call would fail, so that there is nothing to ask. */
int rights_show(const struct tool_ticket *t, int64_t tokens, struct buf *out, struct err *err);

/* What "for this session" would grant, as one escaped line: "git by shell, in /work"; NULL: only "once" can be offered.
 * It lives with t. */
const char *rights_scope(const struct tool_ticket *t);

/* For a key that a person pressed at the terminal, and for nothing else: the ticket is good from now on; if session is
 * true so is every call in this scope, those included that wait with a ticket.  0, or -1: err; nothing has changed. */
int rights_grant(struct tool_ticket *t, bool session, struct err *err);

/* The person says no: counted, t is freed, err is what the model is told. */
void rights_deny(struct tool_ticket *t, struct err *err);

/* ------------------------------------------------------------------ shrinking, looking */

/* The tool is off for good, its tickets too that have not been used yet.  -1: no such tool. */
int rights_drop(struct rights *r, const char *tool, struct err *err);

bool rights_on(const struct rights *r, const char *tool); /* by --tools, and not dropped */
const char *rights_workspace(const struct rights *r);     /* without links */

struct rights_denial {
    const char *tool;
    char shown[4 * RIGHTS_SHOWN + 8]; /* the arguments' beginning, escaped */
    uint64_t times;
};
/* The first RIGHTS_DENIALS that differ in what is shown; *more: how often others were denied.  They live with r. */
int rights_denied(const struct rights *r, const struct rights_denial **list, uint64_t *more);

/* The program of a command that is one simple command, into name; false: it is not, or its program is never granted. */
bool rights_program(const char *command, char name[RIGHTS_PROGRAM_MAX]);

/* ------------------------------------------------------------------ tickets */

const struct tool *ticket_tool(const struct tool_ticket *t);
const json_t *ticket_arguments(const struct tool_ticket *t); /* lives with t; not to be changed */
const char *ticket_workspace(const struct tool_ticket *t);
bool ticket_git(const struct tool_ticket *t); /* what is git's own may be written */
int ticket_folder(const struct tool_ticket *t); /* the workspace, for tools/path.h; lives with the rights */

/* May it run now?  0, or -1 and err: it was not granted yet, its tool was dropped, or the workspace is another folder
 * than it was.  tool_run_start() asks this; so must the application, for the tools that it does itself. */
int ticket_check(const struct tool_ticket *t, struct err *err);
void ticket_free(struct tool_ticket *t); /* NULL is fine */
#endif
