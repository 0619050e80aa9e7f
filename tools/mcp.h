/* mcp.h - servers of the Model Context Protocol (2025-11-25, stdio): programs that have tools for a model.
 *
 *     a file of servers --mcp_read_list()--> struct mcp_config, each
 *     mcp_open() --> it runs, and says which tools it has --> mcp_tools()
 *     mcp_call_start() ... mcp_call_step() ... true --> its result, as a text
 *     mcp_close()
 *
 * A server is a program that its user chose: it runs with the rights of this one, and in no jail.  What it says is
 * hostile all the same: a message has a most of bytes, a call a most of time and of text, a name is made of letters
 * that every model's form knows, and what is no message is passed over.  Nothing that it asks of us is done; "ping" is
 * answered.
 *
 * A server that ended is started again by the next call; which tools it has is not asked again.
 *
 * Memory: the heap, within those bounds.  Threads: one at a time, with its calls.  From mcp_open() on SIGPIPE is
 * ignored.
 * Source: modelcontextprotocol.io/specification/2025-11-25, base protocol and server/tools. */
#ifndef MCP_H
#define MCP_H
#include "plimsoll.h"
#include <jansson.h>

enum { MCP_SERVERS = 16, MCP_TOOLS = 64, MCP_NAME = 64, MCP_SERVER_NAME = 24, MCP_ABOUT = 4096 };

struct mcp_limits {
    int start_ms, call_ms;
    size_t message_bytes, text_bytes; /* of a line of its; of a call's result */
};
#define MCP_LIMITS ((struct mcp_limits){60000, 60000, 16 << 20, 8 << 20})

/* ------------------------------------------------------------------ a file of servers */

struct mcp_config {
    char name[MCP_SERVER_NAME + 1];
    char **argv; /* NULL at its end; the program is looked up in PATH */
    char **env;  /* "NAME=VALUE", NULL at its end: of its own beside ours */
    char *cwd;   /* NULL: ours */
    char **tools; /* NULL: all it has; else these alone, NULL at its end */
};
struct mcp_list {
    struct mcp_config server[MCP_SERVERS];
    int n;
};

/* What clients write: {"mcpServers": {NAME: {"command": TEXT, "args": [...], "env": {...}, "cwd": TEXT, "disabled":
 * true, "tools": [NAME, ...]}}}, or "servers".  ${VAR} and ${VAR:-OTHERWISE} in a text become what get(VAR) says.
 * Other keys are passed over: none of them grants anything here.  0, or -1: err says which server and what. */
int mcp_read_list(const char *text, size_t n, const char *(*get)(const char *name), struct mcp_list *out,
                  struct err *err);
void mcp_list_free(struct mcp_list *l);

/* ------------------------------------------------------------------ a server */

struct mcp_tool {
    char name[MCP_NAME + 1]; /* SERVER__TOOL, of [A-Za-z0-9_-] */
    char *theirs, *about;    /* its name there; what it says of it, at most MCP_ABOUT bytes */
    json_t *schema;          /* of its arguments: an object */
};

struct mcp;

/* Starts it and asks for its tools; waits for that, limits->start_ms at most.  c must outlive it.  NULL: err says what
 * the server said. */
struct mcp *mcp_open(const struct mcp_config *c, const struct mcp_limits *limits, struct err *err);
const struct mcp_tool *mcp_tools(const struct mcp *m, int *n); /* they live with m */
const char *mcp_name(const struct mcp *m);
void mcp_close(struct mcp *m); /* after its calls: ends the program, gently first.  NULL is fine */

/* ------------------------------------------------------------------ a call */

struct mcp_call;

/* NULL: err, in words that a model may be told.  arguments: an object, read before this returns. */
struct mcp_call *mcp_call_start(struct mcp *m, const char *theirs, const json_t *arguments, struct err *err);

/* Waits up to that long for something to happen on the server's pipes.  True: it is over. */
bool mcp_call_step(struct mcp_call *c, int timeout_ms);
void mcp_call_cancel(struct mcp_call *c); /* it is over, and the server is told */

/* Once it is over: its text, which lives with c; *failed: the server says so, or it did not answer. */
const struct buf *mcp_call_text(const struct mcp_call *c, bool *failed);
void mcp_call_close(struct mcp_call *c); /* NULL is fine */
#endif
