/* tool.h - what a model may do: one table, and one file a tool (tools/tool_NAME.c).
 *
 *     call (name, arguments) --tool_find()--> row --run()--> text in the sink, and a verdict
 *
 * Names and arguments are those of assets/forms/tools.json.  The caller has checked the call against it; a tool looks
 * again at what it needs, since arguments are a model's words.  Every tool has its row, so that what it does to the
 * world is said in one place; where it is done differs (enum tool_place), and tools/run.h starts it there.
 *
 * The result is a stream of any length: the caller clips it (tools/clip.h).  A failure is one line "error: ..." at its
 * end.  Names of files that a tool speaks of are escaped (tools/escape.h); bytes out of files are given as they are. */
#ifndef TOOL_H
#define TOOL_H
#include "plimsoll.h"
#include <jansson.h>
#include <sys/stat.h>

enum { TOOL_ARGV = 5 };
enum { TOOL_READS = 1, TOOL_WRITES = 2, TOOL_RUNS = 4 }; /* what it does to the world; 0: nothing */

struct tool_limits {
    uint64_t file_bytes;    /* that write and edit take as a whole */
    uint64_t search_bytes;  /* that a search reads */
    int search_ms, matches; /* its time; the lines that it gives */
    int entries, depth;     /* names of one folder; folders in folders */
};
#define TOOL_LIMITS ((struct tool_limits){16 << 20, 1 << 30, 20000, 1000, 20000, 64})

struct tool_context {
    int workspace; /* a folder's descriptor: every path is resolved below it (tools/path.h) */
    struct tool_limits limits;
    bool git;      /* what is git's own may be written (tools/path.h) */
    int (*put)(void *self, const char *bytes, size_t n); /* the sink; not 0: enough, the tool is to end */
    void *self;
};

enum tool_place {
    TOOL_HERE,    /* run(), in the program: it touches nothing */
    TOOL_JAILED,  /* run(), in a jailed process of its own */
    TOOL_COMMAND, /* another program, which command() names, in jail */
    TOOL_APP,     /* the application, which has what it needs: the session's memory, the person */
    TOOL_SERVER   /* a server's (tools/mcp.h), which the application knows; in no jail */
};

enum tool_verdict { TOOL_DONE, TOOL_FAILED, TOOL_STOPPED /* the sink had enough */ };

struct tool {
    const char *name;
    unsigned effect;
    enum tool_place place;
    enum tool_verdict (*run)(const struct tool_context *c, const json_t *arguments);
    /* argv, which points into the arguments, NULL at its end.  0, or -1 and err. */
    int (*command)(const json_t *arguments, const char *argv[TOOL_ARGV], struct err *err);
};

/* The rows: those of the program, then those that servers have.  Added are they by the application, as it starts, and
 * forgotten as it ends: nothing else may be going on.  0, or -1: there is one of that name, or no room. */
enum { TOOLS_MAX = 80 };
int tools_count(void);
const struct tool *tool_at(int i);
const struct tool *tool_find(const char *name); /* NULL: not here */
int tool_add(const char *name);
void tools_forget(void);

enum tool_verdict tool_read(const struct tool_context *c, const json_t *arguments);
enum tool_verdict tool_write(const struct tool_context *c, const json_t *arguments);
enum tool_verdict tool_edit(const struct tool_context *c, const json_t *arguments);
enum tool_verdict tool_list(const struct tool_context *c, const json_t *arguments);
enum tool_verdict tool_search(const struct tool_context *c, const json_t *arguments);
enum tool_verdict tool_calculator(const struct tool_context *c, const json_t *arguments);
int tool_shell(const json_t *arguments, const char *argv[TOOL_ARGV], struct err *err);

/* ------------------------------------------------------------------ what tools share */

struct tool_text { const char *s; size_t n; }; /* NUL-terminated too, without a NUL in it */

/* 0, or -1: err says which is missing, of another type, or has a NUL in it. */
int tool_arg_text(const json_t *arguments, const char *name, struct tool_text *out, struct err *err);
int tool_arg_int(const json_t *arguments, const char *name, int64_t absent, int64_t *out, struct err *err);

enum tool_verdict tool_say(const struct tool_context *c, const char *bytes, size_t n); /* TOOL_DONE, TOOL_STOPPED */
/* "error: ..." into the sink, and TOOL_FAILED. */
enum tool_verdict tool_fail(const struct tool_context *c, const struct err *err);

struct tool_change { /* an edit that can be made; its texts point into the arguments */
    struct tool_text path, old, new;
    char *text;     /* of the file, len bytes, for free() */
    size_t len, at; /* where old stands */
    struct stat st; /* of the file */
};
/* 0, or -1 and nothing is to be freed: it cannot be made. */
int tool_edit_plan(const struct tool_context *c, const json_t *arguments, struct tool_change *e, struct err *err);

/* Where `old` stands in text: how often, counted up to 100, overlapping ones too; *at is the first. */
int tool_places(const char *text, size_t len, struct tool_text old, size_t *at);

/* The whole of a regular file of at most max bytes, for free(); NUL behind it.  NULL: err. */
char *tool_slurp(int workspace, const char *path, uint64_t max, size_t *len, struct stat *st, struct err *err);

uint64_t tool_lines(const char *text, size_t n); /* the last one counts without a newline too */
#endif
