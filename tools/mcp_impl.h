/* mcp_impl.h - what the files of mcp.h share: mcp.c (the program and its pipes), mcp_talk.c (what is said). */
#ifndef MCP_IMPL_H
#define MCP_IMPL_H
#include "tools/mcp.h"
#include <sys/types.h>

enum mcp_state { MCP_DOWN, MCP_STARTING /* "initialize" is not answered */, MCP_LISTING, MCP_READY };

enum { MCP_LAST_WORDS = 256 };

struct mcp_call {
    struct mcp *m;
    struct mcp_call *next;
    int64_t id, until; /* milliseconds */
    char *line;        /* the request, not sent yet; for free() */
    bool over, failed;
    struct buf text;
};

struct mcp {
    struct mcp_config c; /* its texts are the caller's */
    struct mcp_limits limits;
    enum mcp_state state;
    pid_t pid;
    int in, out, err;    /* of ours: what it reads, what it writes; -1 */
    struct buf sent, got; /* not written yet; an unfinished line */
    size_t n_sent;
    char words[MCP_LAST_WORDS]; /* the last line on its stderr, or on stdout one that is no message */
    int64_t last_id, awaited; /* the answer that starting waits for */
    int pages;           /* of the list of tools */
    struct mcp_call *calls; /* that are not over */
    struct mcp_tool tool[MCP_TOOLS];
    int n_tools;
    bool listed;         /* tools are known */
    struct err fault;    /* why it cannot be used */
};

/* Foreign words of a message, in one line of plain letters. */
static inline void mcp_plain(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f) *s = '?';
}

/* mcp.c */
int64_t mcp_now(void); /* milliseconds */
int mcp_spawn(struct mcp *m, struct err *err);
void mcp_down(struct mcp *m); /* its pipes are closed and the program is ended; calls are over, m->fault says why */
void mcp_step(struct mcp *m, int timeout_ms); /* reads, writes, and tells mcp_hear() each line */
void mcp_remember(struct mcp *m, const char *s, size_t n); /* as its last words */
void mcp_say(struct mcp *m, json_t *message); /* taken; a line more to be written */
/* Said once, and it goes down. */
__attribute__((format(printf, 2, 3))) void mcp_fault(struct mcp *m, const char *fmt, ...);

/* mcp_talk.c */
void mcp_begin(struct mcp *m);                               /* "initialize" */
void mcp_hear(struct mcp *m, const char *line, size_t n);
void mcp_call_fail(struct mcp_call *c, const char *why); /* it is over, and says so */
#endif
