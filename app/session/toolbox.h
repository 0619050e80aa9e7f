/* toolbox.h - the tools of this run of the program: which are on, who is asked, how a call is made.
 *
 *     --tools, --allow, --workspace ──> rights (tools/rights.h) ──> each call: allowed, or a person is asked, or denied
 *     --mcp: servers' tools are more                                   ├──> a jailed job (tools/run.h) ──> bytes
 *                                                                      └──> a server (tools/mcp.h) ────────^
 *
 * A crew's agents have of the tools that their file names those that the command line turned on; a file grants nothing.
 * The calculator needs no word from anybody.  Threads: the app's, and turns among several (strand.h). */
#ifndef TOOLBOX_H
#define TOOLBOX_H
#include "tools/clip.h"
#include "tools/mcp.h"
#include "tools/run.h"

struct app;
struct opts;

enum toolbox_choice { TOOLBOX_DENY, TOOLBOX_ONCE, TOOLBOX_SESSION };

enum { TOOLBOX_TOOLS = TOOLS_MAX };

struct toolbox {
    struct rights *rights;
    struct tool_run_config run;
    const char *on[TOOLBOX_TOOLS]; /* names, in the order of assets/forms/tools.json */
    int n_on;
    bool jailed; /* some of these read, write or run in the workspace */
    struct mcp_list list; /* of --mcp, and what runs of it */
    struct mcp *server[MCP_SERVERS];
    int n_servers;
    /* Set by a face with a person at it; NULL: nobody can be asked.  approve: shown is what the call would do, scope
     * what "for this session" would grant (NULL: only once can be offered).  ask: false: no answer. */
    enum toolbox_choice (*approve)(void *self, const char *shown, size_t n, const char *scope);
    bool (*ask)(void *self, const char *question, size_t n, struct buf *answer);
    void *self;
};

/* The servers that --mcp names are started, and their tools are known from then on; before a crew is read that has
 * them, and before toolbox_open(); toolbox_close() ends them also where that was never called.  patience: the
 * milliseconds that each may take.  0, or -1: err. */
int toolbox_servers(struct toolbox *b, const struct opts *o, int patience, struct err *err);

/* As the options say; person: somebody can be asked.  0, or -1: err names the flag. */
int toolbox_open(struct toolbox *b, struct app *a, bool person, struct err *err);
/* Could the tools that are on reach this folder, which is not for them?  0, or -1: err says so, and what to do. */
int toolbox_keep_off(const struct toolbox *b, const char *store, struct err *err);
void toolbox_close(struct toolbox *b);

/* The agent `who` may have these: 0, or -1: err names the one that is not on, and the flag for it. */
int toolbox_check(const struct toolbox *b, const char *who, const char *const *tools, int n, struct err *err);

/* A call is made: others go on meanwhile, and a signal or a cancel ends it.  *tokens: what its result may cost.  0: out
 * has what came of it, *failed: the tool says it failed, kind: of the bytes.  -1: err, in words for the model. */
int toolbox_call(struct app *a, const char *name, const char *arguments, int64_t tokens, struct buf *out,
                 bool *failed, enum clip_kind *kind, struct err *err);

/* toolbox_mcp.c: the call of a server's tool; the ticket is taken. */
int toolbox_serve(struct app *a, struct tool_ticket *t, struct buf *out, bool *failed, struct err *err);

int toolbox_denied(const struct toolbox *b); /* calls that were denied, of different kinds */
void toolbox_say_denied(const struct toolbox *b); /* a line each, on stderr */
#endif
