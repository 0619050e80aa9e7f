/* verdict.h - why memory ran out, in one form for all who say so: a log that somebody pasted (explain.h), a refusal or
 * a failure of our own engine, a lesson, a session that died (post-mortem).
 *
 * Figures are bytes unless a name says otherwise; a fix is ranked by the bytes that it frees where they can be
 * reckoned.
 * Texts are UTF-8 and may come from outside: whoever shows them filters (surface.h, term_filter.h), verdict_json()
 * escapes.  A verdict owns nothing: plain data, copied by assignment.  Threads: any. */
#ifndef VERDICT_H
#define VERDICT_H
#include "plimsoll.h"

/* The classes, in the words of facts 5.  Their names are stable: scripts and lessons compare them. */
enum cause {
    CAUSE_UNKNOWN,       /* nothing in it says what happened */
    CAUSE_NOT_MEMORY,    /* it says what happened, and that is no want of memory */
    CAUSE_WEIGHTS,       /* the model itself is too big for the device */
    CAUSE_ACTIVATIONS,   /* the workspace of one pass: prompt chunk, batch, logits */
    CAUSE_KV,            /* keys and values of long sequences pass the pool */
    CAUSE_STATIC_BATCH,  /* reserved in full beforehand: batch x longest context, pools that profile themselves full */
    CAUSE_CONCURRENCY,   /* each fits alone, all at once do not */
    CAUSE_FRAGMENTATION, /* enough is free, but in no one piece */
    CAUSE_GROWTH,        /* the history that is sent grows turn by turn */
    CAUSE_LEAK,          /* memory is not given back between requests */
    CAUSE_HOST,          /* the machine's RAM or a cgroup's limit, not the device */
    CAUSE_OTHER_PROCESS, /* somebody else holds the device */
    CAUSE_CONTEXT,       /* more tokens than the model or the server's limit takes: no memory ran out */
    CAUSE_ALLOCATOR,     /* the allocator's own limit or setting: map count, a process's fraction, pinned, ulimit */
    CAUSES
};
const char *cause_name(enum cause c);  /* "weights", "kv", "static-batch", "not-memory", ...; never NULL */
const char *cause_words(enum cause c); /* a title for a person: "the model's weights are too big" */
int cause_find(const char *name);      /* enum cause, or -1 */

/* Who ran out, or whose words those are. */
enum stack {
    STACK_UNKNOWN, STACK_PLIMSOLL, STACK_PYTORCH, STACK_TRANSFORMERS, STACK_VLLM, STACK_SGLANG, STACK_TGI,
    STACK_LLAMA_CPP, STACK_OLLAMA, STACK_LANGCHAIN, STACK_LANGGRAPH, STACK_AUTOGEN, STACK_CREWAI, STACK_LITELLM,
    STACK_OPENAI, STACK_CUDA, STACK_LINUX, STACK_KUBERNETES, STACK_PYTHON,
    STACKS
};
const char *stack_name(enum stack s); /* "vllm", "llama.cpp", ... */
const char *stack_words(enum stack s); /* "vLLM", "llama.cpp", ... */

enum sure { SURE_GUESS, SURE_LIKELY, SURE_CERTAIN };
const char *sure_name(enum sure s); /* "guess", "likely", "certain" */

enum { VERDICT_TEXT = 200, VERDICT_FIGURES = 16, VERDICT_LINES = 8, VERDICT_FIXES = 8 };

/* What a key of the screen can do about it; only our own verdicts have one. */
enum verdict_apply {
    APPLY_NOTHING, APPLY_COMPACT, APPLY_DROP_RESULT, APPLY_MAX_TOKENS, APPLY_SOUND_POLICY, APPLY_UNDO
};
const char *verdict_apply_name(enum verdict_apply a); /* "nothing", "compact", "drop_result", ... */

struct verdict_figure {
    char name[32];   /* "tried", "free", "allocated", "reserved", "outside", "total", "a token", ... */
    uint64_t value;  /* bytes; or, where unit says so, that */
    char unit[12];   /* "": bytes (so said in JSON); "tokens", "pages", "requests" */
    bool reckoned;   /* from others, not read */
};

struct verdict_fix {
    char what[VERDICT_TEXT]; /* "window and summary" */
    char how[VERDICT_TEXT];  /* where that is set in the stack at hand, today: "--max-model-len 8192"; "": no word */
    int64_t frees;           /* bytes; -1: the text does not say enough */
    bool demand;             /* those are asked for no more: of them not all were there to be freed */
    enum verdict_apply apply;
    int64_t value;           /* of apply: the new max_tokens, the message's number, ... */
};

struct verdict {
    enum cause cause;
    enum sure sure;
    enum stack stack;                  /* where the innermost real failure is */
    enum stack wrapped_by;             /* who reported it, if another */
    int64_t line;                      /* of the text that was read, from 1: where that failure is; 0: none */
    char what[VERDICT_TEXT];           /* one sentence: what failed, with its figures */
    char where[VERDICT_TEXT];          /* "turn 36 of researcher, policy no-limit", "GPU 0, process 4242"; or "" */
    struct verdict_figure figure[VERDICT_FIGURES];
    int figures;
    char evidence[VERDICT_LINES][VERDICT_TEXT]; /* each a sentence with its arithmetic */
    int evidences;
    char not_it[VERDICT_LINES][VERDICT_TEXT];   /* what it is not, and why: "fragmentation: the gap is 1.67 GiB, ..." */
    int nots;
    struct verdict_fix fix[VERDICT_FIXES];      /* the best first */
    int fixes;
    char next[VERDICT_LINES][VERDICT_TEXT];     /* what to look at next, where this does not decide it */
    int nexts;
};

enum { VERDICT_BYTES = 24 };
const char *verdict_bytes(uint64_t n, char out[VERDICT_BYTES]); /* "512 B", "20 GiB", "1.67 GiB"; returns out */

/* printf into the next free place; what finds none, or is too long, is cut (at a character).  Returned: v's, or NULL */
struct verdict_figure *verdict_figure(struct verdict *v, const char *name, uint64_t value);
const struct verdict_figure *verdict_has(const struct verdict *v, const char *name);
void verdict_evidence(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void verdict_not(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void verdict_next(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct verdict_fix *verdict_fix(struct verdict *v, int64_t frees, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Fixes by what they free, most first; those without a figure behind, in the order in which they came. */
void verdict_rank(struct verdict *v);

/* Lines of their own for who lays them out himself: "Out of memory: growth with turns"; how sure, and in whose words:
 * "likely; in vLLM, reported by LiteLLM, line 14 of the text"; "free 3.81 GiB".  All return out. */
const char *verdict_title(const struct verdict *v, char out[VERDICT_TEXT]);
const char *verdict_about(const struct verdict *v, char out[VERDICT_TEXT]);
const char *verdict_figure_text(const struct verdict_figure *f, char out[VERDICT_TEXT]);

/* A text behind `label`, in lines of at most `width` columns, all of it but the label set in by `indent`: for what
 * stands beside a verdict.  Appended. */
void verdict_paragraph(struct buf *out, int width, const char *label, int indent, const char *text);
/* For a person, wrapped at width columns (40 at least): title, what and where, figures, evidence, not, fixes, next.
 * Appended. */
void verdict_text(const struct verdict *v, int width, struct buf *out);
/* One JSON object, without a newline; every field, bytes as integers (frees_bytes: null where nothing says).
 * Appended. */
void verdict_json(const struct verdict *v, struct buf *out);
#endif
