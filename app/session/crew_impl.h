/* crew_impl.h - what the files of crew share among themselves.
 *
 *     bytes ──crew_yaml.c──> a tree with places ──crew_read.c──> struct crew ──crew_check.c──> one that can run
 *                                                     └── crew_keys.c: every key, once; help is made of it
 *
 * An error of any of them is one line "file:line:column: ...", and -1. */
#ifndef CREW_IMPL_H
#define CREW_IMPL_H
#include "app/session/crew.h"

enum { CREW_NODES = 1 << 14, CREW_DEPTH = 6, CREW_LINE = 240 };

/* ------------------------------------------------------------------ the tree (crew_yaml.c) */

enum crew_node_kind { NODE_TEXT, NODE_LIST, NODE_MAP };

struct crew_node {
    enum crew_node_kind kind;
    int line, column; /* from 1, in characters */
    int first, next;  /* nodes; -1: none.  In a map: key, value, key, value, ... */
    int n;            /* a list's items, a map's keys */
    char *text;       /* NODE_TEXT: UTF-8 without control characters but newline and tab */
    bool plain;       /* ... written without quotes, and not as a block: may be a number */
};

struct crew_doc {
    const char *name; /* of the file, for errors */
    struct err *err;
    struct crew_node *node; /* the first is the whole */
    int n, cap;
};

/* Empty doc but for name and err.  0, or -1 (err); either way for crew_doc_free(). */
int crew_doc_read(struct crew_doc *doc, const char *text, size_t n);
void crew_doc_free(struct crew_doc *doc);

int crew_doc_find(const struct crew_doc *doc, int map, const char *key); /* its value; -1: not there */

__attribute__((format(printf, 3, 4))) int crew_fail(const struct crew_doc *doc, int node, const char *fmt, ...);

struct crew_quote { char s[64]; };
struct crew_quote crew_quote(const char *s); /* outside text for an error: one short line of it */

/* ------------------------------------------------------------------ keys (crew_keys.c, their takers in crew_read.c) */

struct crew_reading {
    const struct crew_doc *doc;
    struct crew *crew;
    int flow, tasks, edges; /* nodes; -1: not there */
};

enum crew_level { LEVEL_FILE, LEVEL_AGENT, LEVEL_FLOW, LEVEL_TASK, LEVEL_EDGE, CREW_LEVELS };

struct crew_key {
    const char *name;
    int (*take)(const struct crew_reading *r, const struct crew_key *key, int value, void *out);
    size_t at;         /* the field, in the struct of this level */
    size_t has;        /* the field that says it was given; 0: none */
    double min, max;   /* of a number */
    const char *words; /* "a|b|c": the value is the number of one of them */
    unsigned kinds;    /* of flow, bits 1 << enum flow_kind, to which it belongs; 0: all */
    bool must;         /* it may not lack */
    bool some;         /* where it may, it is a list with something in it: leaving it out is no cure */
    const char *value, *help; /* what crew_help() calls its value, and says of it */
};

const struct crew_key *crew_keys(enum crew_level level, int *n); /* in the order in which they are read */

/* All of a map's keys are known, allowed here, and none lacks. */
int crew_keys_check(const struct crew_reading *r, enum crew_level level, int map);

#define CREW_TAKERS(X) X(name) X(line) X(text) X(int) X(real) X(bool) X(word) X(role) X(tools) X(agents) X(flow) \
    X(agent) X(members) X(tasks) X(needs) X(edges) X(task) X(task_or_end)
#define CREW_TAKER(name) \
    int crew_take_##name(const struct crew_reading *r, const struct crew_key *key, int value, void *out);
CREW_TAKERS(CREW_TAKER)

/* ------------------------------------------------------------------ the whole (crew_check.c) */

int crew_check(const struct crew_reading *r); /* fills in what was not said, too */

/* ------------------------------------------------------------------ those in the program (crew_builtin.c) */

int crew_builtin_count(void);
const char *crew_builtin_name(int i);
const char *crew_builtin_text(int i, size_t *n); /* as the file is */

/* ------------------------------------------------------------------ for messages */

/* The one of n names nearest to what was typed; NULL: none is near. */
const char *crew_nearest(const char *typed, const char *(*name)(const void *of, int i), const void *of, int n);
const char *crew_kind_about(enum flow_kind k);
#endif
