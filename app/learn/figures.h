/* figures.h - the figures of a run, folded from its events, by the names that lessons call them.
 *
 * A lesson has two runs, `broken` and `fixed`; a figure of one is broken.oom.wanted.  Texts of a lesson have them in
 * braces, its questions and expectations compare them, so that no number of a run is written down anywhere:
 *
 *     {broken.turn}                          9
 *     {broken.oom.wanted}                    3.0 MiB                 bytes are shown in their unit
 *     {broken.oom.wanted:exact}              3145728 bytes
 *     {broken.pool / broken.ctx}             3                       + - * or / of two; bytes / bytes is a count
 *
 * A figure that has no value (nothing ran out, or that run was not made) is NaN and shown as "?".
 *
 * Threads: one at a time. */
#ifndef FIGURES_H
#define FIGURES_H
#include "app/session/event.h"

enum { RUN_BROKEN, RUN_FIXED, RUNS };

enum figure_unit { UNIT_COUNT, UNIT_BYTES, UNIT_TOKENS, UNIT_PERCENT, UNIT_SECONDS, UNIT_END };

/* How a run ended, as lessons say it: the figure `end`. */
enum run_end {
    RUN_UNKNOWN,
    RUN_DONE,    /* every turn was answered */
    RUN_OOM,     /* a policy of --naive had no memory */
    RUN_REFUSED, /* by the sound policy, with the figures: a turn, or the model at open */
    RUN_HOST,    /* host memory's budget */
    RUN_STOPPED, /* an agent went in circles */
    RUN_WRONG,   /* what its script expects is not so */
    RUN_KILLED,  /* by a signal */
    RUN_FAILED,  /* anything else */
    RUN_ENDS
};
const char *run_end_name(enum run_end e); /* "unknown", "done", "oom", ... */
int run_end_find(const char *name);       /* -1: none */

#define FIGURE_TABLE(X)                                                                                    \
    X(END, "end", END, "how it ended: done, oom, refused, host, stopped, wrong, killed, failed")           \
    X(TURN, "turn", COUNT, "the turn of the agent that failed first; no value: none did")                  \
    X(TURNS, "turns", COUNT, "answered, of all agents")                                                    \
    X(ASKED, "asked", COUNT, "turns that were begun, of all agents")                                       \
    X(LOST, "lost", COUNT, "turns that died of memory or were refused")                                    \
    X(AGENTS, "agents", COUNT, "that said anything; 1: a single one")                                      \
    X(STATUS, "status", COUNT, "exit status")                                                              \
    X(PARAMETERS, "parameters", COUNT, "of the model")                                                     \
    X(CTX, "ctx", TOKENS, "of the context")                                                                \
    X(PROMPT_FIRST, "prompt.first", TOKENS, "of the first prompt")                                         \
    X(PROMPT_LAST, "prompt.last", TOKENS, "of the last prompt that was admitted")                          \
    X(PROMPT_MOST, "prompt.most", TOKENS, "of the longest")                                                \
    X(GROWTH, "growth", TOKENS, "that the prompt grew by in a turn, on average: (last - first) / (turns - 1)") \
    X(ANSWER, "answer", TOKENS, "of the last answer")                                                      \
    X(PROMISED, "promised", TOKENS, "prompt and longest answer of one request: the largest")               \
    X(READ, "read", TOKENS, "that were pre-filled, in all")                                                \
    X(WRITTEN, "written", TOKENS, "that were generated, in all")                                           \
    X(POOL, "pool", TOKENS, "that the KV pool holds")                                                      \
    X(TOKEN_BYTES, "token.bytes", BYTES, "of a token in the KV pool")                                      \
    X(PEAK, "peak", TOKENS, "promised in the KV pool at once, most")                                       \
    X(FILLED, "filled", TOKENS, "in the KV pool at once, most: written, promised or not")                  \
    X(RUNNING, "running", COUNT, "requests at once, most")                                                 \
    X(WAITING, "waiting", COUNT, "requests that waited at once, most")                                     \
    X(WEIGHTS, "weights", BYTES, "")                                                                       \
    X(KV, "kv", BYTES, "of the KV pool")                                                                   \
    X(WORK, "work", BYTES, "activations, scratch, logits")                                                 \
    X(CEILING, "ceiling", BYTES, "--vram")                                                                 \
    X(TAKEN, "taken", BYTES, "by a policy of --naive, most: of the pool, or of all under the ceiling")     \
    X(HOLES, "holes", PERCENT, "1 - largest hole / free, where a policy of --naive has runs: most")        \
    X(OOM_WANTED, "oom.wanted", BYTES, "")                                                                 \
    X(OOM_FREE, "oom.free", BYTES, "in all, then")                                                         \
    X(OOM_HOLE, "oom.hole", BYTES, "in one piece, then")                                                   \
    X(OOM_SIZE, "oom.size", BYTES, "of the pool, or of all under the ceiling")                             \
    X(OOM_HELD, "oom.held", BYTES, "of that, by others: size - free")                                      \
    X(OOM_LARGEST, "oom.largest", BYTES, "that one owner held")                                            \
    X(OOM_OWNERS, "oom.owners", COUNT, "who held it")                                                      \
    X(OOM_REQUEST, "oom.request", COUNT, "the engine's number of the request that died")                   \
    X(OOM_PAGE, "oom.page", COUNT, "of its sequence, that was wanted first")                               \
    X(OOM_FILLED, "oom.filled", PERCENT, "of the KV pool that held tokens, as it was seen last before that")   \
    X(HOST, "host", BYTES, "of texts, documents and traces kept by one conversation, most (--unguarded, --answers)") \
    X(HOST_LIMIT, "host.limit", BYTES, "that those of slice, docs and traces may have: --keep-unsaved")    \
    X(CALLS, "calls", COUNT, "of tools")                                                                   \
    X(RESULT_BYTES, "result.bytes", BYTES, "of the largest result of a tool or attached file, whole")      \
    X(RESULT_TOKENS, "result.tokens", TOKENS, "of what the model saw of that")                             \
    X(LEFT, "left", COUNT, "messages that left the context")                                               \
    X(SUMMARIES, "summaries", COUNT, "")                                                                   \
    X(SUMMARY_TOKENS, "summary.tokens", TOKENS, "of the last one")                                         \
    X(STOPS, "stops", COUNT, "agents that were stopped, going in circles")                                 \
    X(SAVED, "saved", COUNT, "turns that the store acknowledged")                                          \
    X(RESUMED, "resumed", COUNT, "turns that were there when a saved session went on")

#define FIGURE_ENUM_(id, name, unit, doc) FIGURE_##id,
enum figure { FIGURE_TABLE(FIGURE_ENUM_) FIGURES };
#undef FIGURE_ENUM_

struct figures {
    double value[FIGURES];
    int prompts;        /* after the first: for growth */
    double filled_now;  /* tokens */
    uint64_t agent[64]; /* hashes of the names of those who were seen */
    int agents;
};

void figures_init(struct figures *f);                         /* as of a run that was not made */
void figures_add(struct figures *f, const struct event *e);   /* the next event of the run */
void figures_end(struct figures *f, int status, int signal);  /* it ended: exit status, or by a signal; 0: by none */
enum figure_unit figure_unit(enum figure f);
void figures_doc(struct buf *out);                            /* their names and what they say, a line each */

/* ---------------------------------------------------------------- names in texts */

struct figure_term {
    bool is_number;
    double number; /* bytes where it was written with K, M or G */
    uint8_t run, figure;
};

/* a, or a op b. */
struct figure_sum {
    struct figure_term a, b;
    char op; /* 0: a alone */
};

/* A sum, as it stands in braces or in an expectation; `end` names (oom, done, ...) are numbers.  0, or -1: err says
 * what is wrong. */
int figure_read(const char *text, size_t n, struct figure_sum *out, struct err *err);
double figure_value(const struct figure_sum *s, const struct figures run[RUNS], enum figure_unit *unit);
void figure_show(double value, enum figure_unit unit, bool exact, struct buf *out);

/* Are all braces of the text sums?  0, or -1. */
int figures_check(const char *text, struct err *err);
/* The text with them filled in, appended. */
void figures_fill(const char *text, const struct figures run[RUNS], struct buf *out);
#endif
