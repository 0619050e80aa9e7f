/* crew.h - a crew: agents with their limits, and the flow that joins them, from a YAML file (assets/crews/ has one of
 * each flow; crew_help() says every key).
 *
 *     crew: review                      a name
 *     agents:
 *       - name: researcher
 *         role: researcher              one of assets/forms/role_*.txt, or system: a text of its own
 *         tools: [search, read]
 *         context: 1024                 tokens; answer, rounds, repeats, pages, temp, top_k, top_p, min_p
 *     flow:
 *       kind: sequential                what else it needs is in flow.h
 *       ...
 *
 * A file is hostile: it is bounded in size, depth and number of everything, has no aliases, tags or merges, and an
 * error says file:line:column.  A crew file can only shrink what the command line allows: it grants nothing.
 * Owner: crew_read() fills a crew that crew_free() empties.  Threads: any. */
#ifndef CREW_H
#define CREW_H
#include "plimsoll.h"

enum { CREW_AGENTS = 32, CREW_TOOLS = 16, CREW_TASKS = 64, CREW_EDGES = 128, CREW_NAME = 31, CREW_TEXT = 64 << 10,
       CREW_FILE = 1 << 20 };

enum flow_kind { FLOW_SINGLE, FLOW_ROUND_ROBIN, FLOW_SELECTOR, FLOW_SEQUENTIAL, FLOW_SUPERVISOR, FLOW_MAP, FLOW_DEBATE,
                 FLOW_GRAPH, FLOW_KINDS };
const char *flow_kind_name(enum flow_kind k); /* "single", "round_robin", ... as in the file */

struct crew_agent {
    char *name;       /* [a-z][a-z0-9_-]*, at most CREW_NAME bytes; no two alike */
    char *role;       /* of assets/forms, or NULL */
    char *system;     /* a text of its own behind the role's, or NULL */
    char **tools;
    int n_tools;
    int context;      /* tokens that its context may hold; 0 here and below: as the program's options say */
    int answer;       /* tokens of one answer */
    int rounds;       /* calls of tools in a turn */
    int repeats;      /* times that one call may be made in a turn */
    int pages;        /* KV pages that a call may take */
    bool has_temp, has_top_k, has_top_p, has_min_p; /* else: as the program's options say */
    double temp, top_p, min_p;
    int top_k;
};

struct crew_task { /* of sequential, and a node of a graph */
    char *name;
    int agent;
    char *text;        /* {input}: the person's words; {NAME}: what the task NAME gave, which is among needs; no other
                        * {word} of letters, digits, _ and - is in it */
    int needs[CREW_TASKS]; /* sequential: earlier ones; graph: any, itself too */
    int n_needs;
};

enum crew_when { WHEN_ALWAYS, WHEN_CONTAINS, WHEN_ACCEPT, WHEN_REVISE, WHEN_FAILED };
struct crew_edge { /* the first that holds is taken; none: the flow ends */
    int from, to;      /* tasks; to -1: the end */
    enum crew_when when;
    char *text;        /* WHEN_CONTAINS */
};

enum crew_handover { HANDOVER_CLIP, HANDOVER_MODEL }; /* what is too large is clipped, or said again by who said it */
enum crew_split { SPLIT_LINES, SPLIT_PARAGRAPHS };

struct crew {
    char *name, *about;
    struct crew_agent *agent;
    int n_agents;
    enum flow_kind flow;
    int members[CREW_AGENTS]; /* those who speak, work or debate, in their order, each once; the lead is none of them,
                               * but in a map may be.  single, map: one.  sequential, graph: none */
    int n_members;
    int lead;          /* who selects, supervises, judges or reduces; -1: nobody (selector, map, kinds without) */
    bool endless;      /* for teaching, and never of a file: steps, rounds and repeats do not count */
    int steps;         /* asks at most in one run, retries among them; 1 or more */
    int rounds;        /* of a debate (1 or more), or of a group chat (0: until steps) */
    int retries;       /* of an ask that failed */
    int handover;      /* tokens of what passes from one to another; 0: as --handover says, or as a result may have */
    enum crew_handover handover_by;
    int parallel;      /* asks at once; 0: as many as the ledger holds */
    enum crew_split split;
    char *stop;        /* an answer with this in it ends the flow; NULL */
    bool stop_on_accept; /* ... and one that is a verdict: accept */
    char *prompt;      /* what a member is told with the input ({input}), or NULL: the input alone */
    char *reduce;      /* what the lead is told at the end of map, debate or supervisor, or NULL: a text of ours */
    struct crew_task *task;
    int n_tasks;
    struct crew_edge *edge;
    int n_edges;
};

/* text: n bytes of a file called name.  0, or -1 with "name:line:column: what is wrong and what to do"; out is then
 * empty.  A text loses the newlines at its end if it was written as a block (|, >). */
int crew_read(const char *text, size_t n, const char *name, struct crew *out, struct err *err);
/* A regular file, or the name of one of those that are part of the program ("debate": assets/crews/debate.yaml; a
 * file of such a name is "./debate"). */
int crew_load(const char *path, struct crew *out, struct err *err);
void crew_free(struct crew *c);

int crew_find(const struct crew *c, const char *agent, size_t n); /* -1: nobody of that name */
void crew_builtin(struct buf *out);  /* the names and what they are about, a line each */
void crew_help(struct buf *out);     /* every key, for --help-crew */
#endif
