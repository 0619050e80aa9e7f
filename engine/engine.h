/* engine.h - the one face of every engine: messages go in, text comes out.
 *
 *     const struct engine_ops *ops = &engine_local;
 *     struct engine *e = ops->open(&config, &err);
 *     int id;
 *     if (ops->submit(e, &request, &id, &err) == 0) {
 *         while ((n = ops->step(e, events, 64, &err)) > 0)   // a pass over all running requests
 *             ...                                            // ENGINE_ADVANCED: answer->text grew
 *         ops->drop(e, id);
 *     }
 *
 * Makers: engine_local (a GGUF model on one of kernels/'s backends), engine_scripted (answers, timings and faults from
 * a file, tokens counted with a real vocabulary; the same scheduler, pages and text path, only the forward pass left
 * out) and engine_remote (the same, and what is said comes from another server over HTTP: vLLM, SGLang, TGI,
 * llama-server, Ollama, plimsoll serve).  app/, memory/ and their tests know only this table.
 *
 * Text does not travel in events: a request owns an answer, sized when it is submitted, that grows in place; an event
 * says only that it did.  A reader takes what is new by offset, whenever it likes, until drop().
 *
 * Who goes first: parked requests, then by priority, then by age.  A request that finds no room may be overtaken by
 * smaller or more important ones, but 16 times at most: then nobody is admitted before it.  A request that was admitted
 * can finish: its pages are promised to it for prompt + max_tokens (without overcommit; of a model whose attention has
 * a window, for what it sees at once), and are given back when it ends, or its window has left them behind; then they
 * are cache, and whoever comes next may have them.  So an agent that waits for a tool holds nothing.
 *
 * Threads: one thread calls the operations, but snapshot(), memory() and count_aside().  After open() nothing is
 * allocated, except by the policies of naive.h, by count_aside(), by engine_remote for what it sends and receives (no
 * more than its requests have room for), and while submit() reads a grammar that is not held yet: heap, within what the
 * ledger has for it, that is given back at once.  struct answer may be read by another
 * thread while it grows: its counters are atomic, and what they cover never moves or changes.
 * Errors: 0, or one of enum engine_error with err filled (open: in err's code).  After a refusal the engine is as it
 * was before. */
#ifndef ENGINE_H
#define ENGINE_H
#include "engine/grammar.h"
#include "engine/ledger.h"
#include "engine/naive.h"
#include "engine/template.h"
#include "kernels/kernels.h"
#include "plimsoll.h"
#include <stdatomic.h>

struct engine; /* opaque; each maker has its own */

enum engine_error {
    ENGINE_OK = 0,
    ENGINE_FAULT = -1,       /* the engine failed: model file, backend, memory at open */
    ENGINE_BAD_REQUEST = -2, /* a field is out of its range: err names it (open: what a remote server does not have) */
    ENGINE_NEVER_FITS = -3,  /* prompt + max_tokens exceed the context or the whole pool: err has the figures */
    ENGINE_QUEUE_FULL = -4,  /* too many requests wait: try again when one ended */
    ENGINE_NO_MEMORY = -5,   /* the room for requests and their answers is taken: err says by how many; drop some */
    ENGINE_NOT_NOW = -6,     /* no_wait, and it would have to: err says for what, and for whose end */
    ENGINE_UNKNOWN = -7      /* page_get, page_put: the page, or the one before it, is not known */
};

enum { ENGINE_AGENTS = 64 }; /* agents that figures tell apart */

/* Another server, as a maker: http://HOST:PORT of one that has OpenAI's chat API. */
struct engine_remote {
    const char *at, *model, *key; /* model: as the server names it, NULL: the only one that it has; key NULL: none */
    bool own_vocab; /* `model` of the configuration has the vocabulary of the server's model: counts are exact */
};

enum { DRAFTS_NONE = -1 };

struct engine_config {
    const char *model;  /* GGUF file: the model, or (scripted, remote) the vocabulary */
    const char *script; /* scripted only: the file of answers */
    struct engine_remote remote; /* remote only */
    const char *backend; /* as kern_named() knows it: "auto" (NULL means it), "cpu", "cuda" or "ref" */
    const struct kern *kernels; /* a backend of one's own instead; NULL: by name */
    bool fast; /* answers may differ in their last bits with company, where the backend has that mode (a GPU) */
    struct kern_config kern;
    int ctx;      /* most tokens a sequence may hold; 0: the model's own context, at most 4096 */
    int max_seqs; /* sequences that run at once; 0: 8 */
    int max_rows; /* tokens in one pass; 0: by backend and size of the model (chunk.h) */
    int step_rows; /* of those as many as one step computes; 0: all that max_rows names, or by chunk.h */
    uint64_t pool_tokens; /* tokens that the KV pool holds; 0: what max_seqs sequences of ctx can need, */
    /* ... or, where that is more, the contexts of so many, as far as the ceiling has room: some wait for their turn,
     * and their pages are a cache.  Not of a model with two groups of pages (a window in some layers, states): the
     * second has room for max_seqs, so nothing of those who wait is found again. */
    int kept_seqs;
    enum ktype kv_type;   /* KT_F16, KT_F32, or KT_Q8_0 where heads are a whole number of 32 values */
    int template; /* enum template_kind, or -1: what the file asks for */
    /* Room for requests and their answers, until they are dropped; 0: twice max_seqs of the largest. */
    uint64_t text_bytes;
    /* Admit on expectation instead of the worst case; when pages run out, the last in rank is parked. */
    bool overcommit;
    int drafts; /* tokens that a sequence may try beside its next one at most (draft.h): the same answers in fewer
                   passes; 0: by backend, DRAFTS_NONE: none */
    uint64_t park_bytes; /* host memory for the pages of the parked; what finds no room there is computed again */
    int grammars; /* different ones that are held for requests (struct request_grammar); 0: requests carry none */
    struct grammar_limits grammar_limits; /* of each of them; all 0: GRAMMAR_LIMITS */
    enum naive_policy naive; /* a memory policy that fails, for teaching (naive.h); NAIVE_NONE: the sound one */
    uint64_t vram; /* most bytes that all of it may take; 0: half of what the machine has free.  On a device, of its
                      memory, its context included; 0: nine tenths; the host's part has half of the machine's */
    double vram_part; /* instead: so much of what is free where the engine is, 0.5 is half; 0: not given */
    bool fit;      /* take the largest context up to ctx that fits, instead of refusing */
    struct buf *fits; /* when open() refuses for want of memory: what would fit, as a table; NULL: not wanted */
    struct ledger *needs; /* then too: what all of it would take, under which ceiling; NULL: not wanted */
    /* Called while the model loads, from open(): bytes done and in all; of a server, seconds, and those that it is
     * waited for.  NULL: silent. */
    void (*progress)(void *self, uint64_t done, uint64_t all);
    void *progress_self;
};

/* Sixteen bytes that stand for what an engine's pages depend on, or for all tokens up to a page's end as well. */
struct engine_name {
    uint8_t byte[16];
};

/* What of a prompt's hidden states, each by the output's norm, becomes its vector: their mean, or the last one. */
enum engine_pool { POOL_NONE, POOL_MEAN, POOL_LAST };

/* What was opened: constant until close. */
struct engine_info {
    char maker[16], arch[32], name[64], template[16], types[96]; /* types: "Q4_K 120, Q6_K 21, F32 61" */
    char backend[128];   /* the device in words */
    char kernels[320];   /* which kernel serves which weight type */
    bool fast;           /* answers may differ in their last bits with company; else each is exact */
    bool remote;         /* another server computes: the KV pool is what these requests take there, by our count */
    bool own_vocab;      /* of a remote one: tokens are counted with its model's vocabulary */
    bool plain_sampling; /* it knows no top_k, min_p and repeat */
    bool on_device;      /* weights and pages lie in memory of its own, not in the host's */
    char note[480];      /* why the CPU serves, where --backend auto would have a device do it; "": nothing to say */
    uint64_t parameters, weight_bytes, kv_bytes, work_bytes; /* bytes as taken from the device */
    uint64_t kv_bytes_per_token, kv_seq_tokens; /* seq_tokens: of the KV pool that one sequence is promised at most */
    uint64_t kv_local_bytes;     /* of kv_bytes; beside the pool of tokens: what local layers keep of all sequences */
    size_t page_bytes;           /* what page_get() copies; 0: this engine's pages cannot be kept elsewhere */
    struct engine_name identity; /* engines that say the same may exchange pages: identity.h says what is in it */
    struct ledger ledger; /* the same bytes by class, under their ceiling */
    int ctx, ctx_trained, vocab, layers, max_seqs, max_rows, step_rows;
    int experts, experts_used; /* of a mixture: in each layer, and by one token; 0: it is none */
    bool shared_expert;        /* and one more, that every token goes through */
    int window; /* a token sees itself and the window - 1 before it, and no more is kept; 0: all of ctx */
    int local_window, local_layers; /* so it is in these layers alone, of `layers`; 0: there are none */
    bool states; /* local layers have no window: they keep a state instead of keys and values */
    bool thinks; /* its template has tags for what a model thinks before it answers (thinking.h) */
    int drafts;  /* most that a sequence tries in a pass beside its next token (draft.h); 0: none */
    int embd;    /* values of a prompt's vector (request.pool); 0: this engine makes none */
    enum engine_pool pool; /* how its model is meant to make them; of one that says nothing, POOL_LAST */
};

enum { RECENT_ANSWER = -2 };

/* How tokens are chosen; struct kern_sample says what each does and in which order. */
struct sampling {
    float temp; /* 0: greedy */
    int top_k;
    float top_p, min_p;
    float repeat, frequency, presence;
    int recent; /* how many of the last tokens penalties look at; 0: none, -1: all, RECENT_ANSWER: the answer's alone */
    const struct kern_bias *bias;
    int n_bias;
    uint64_t seed;
};
#define SAMPLING_GREEDY ((struct sampling){.temp = 0, .top_p = 1, .repeat = 1, .recent = 64})

enum { ENGINE_MAX_BIAS = 64, ENGINE_STOPS = 8 };

/* Calls of tools that can only come out well-formed: from the opening on, in what is generated, only what makes a value
 * of the schema and then the closing can be chosen; no control token, no end of turn, and no stop string cuts there.
 * Before and behind it nothing is changed, but the few tokens that would complete the opening and go on with something
 * that is no call.  An answer may have several calls.  max_tokens may end one in its middle (END_LENGTH); when nothing
 * that `allowed` and bias leave can go on with it, END_NO_TOKEN does, and the text so far has an opening without a
 * call.  Texts of marks: at most 32 bytes each, and the schema's at most 32 KiB.
 *
 * whole: instead, the answer is the opening, one value, the closing and nothing else, from its first token on; opening
 * and closing may be NULL then.  Thinking has no place in it.
 *
 * Of a model that marks calls by tokens as gpt-oss does (harmony.h), all of the answer is held in the same words: with
 * an opening to calls or, unless it is whole, to any messages beside them; whole without one to a last message that is
 * a value.  Thoughts may come before.  The schema of calls is one {"name", "arguments"}, or a oneOf of them. */
struct request_grammar {
    const char *open, *close; /* "<tool_call>", "</tool_call>" */
    const char *schema;       /* a JSON Schema (grammar.h), of all calls that may come: mostly a oneOf */
    size_t n_schema;
    bool blanks;              /* a space may follow each ':' and ',' */
    bool whole;
    bool plain;  /* whole, without marks: no JSON, but one of a list of texts or what a pattern describes (grammar.h) */
    bool either; /* whole, without marks: the schema is an anyOf of two, the calls' and that of another answer */
    /* An answer that begins with the one, blanks before it not counted, is free until the other has come: thinking, in
     * which an opening is none.  NULL, both: there is no such. */
    const char *free_open, *free_close;
};

/* How long a model may think before it answers (thinking.h), as request.thinking: as its template has it where nobody
 * asks, or at most so many tokens, or as long as it likes, or not at all.  What that takes is written for it, in tokens
 * that count as its own: the opening tag, where its template opens a turn so; the end, once it has had its tokens
 * (gpt-oss: and its present thought has begun); instead of all, an empty pair of tags, which the text leaves out. */
enum { THINKING_FREE = 0, THINKING_OFF = -1, THINKING_ON = INT32_MAX };

struct request {
    const struct msg *msgs; /* rendered by the model's template, the assistant's turn opened ... */
    int n_msgs;
    const int32_t *ids; /* ... or, if not NULL, the prompt as ready tokens */
    int n_ids;
    const uint8_t *segment; /* with ids: (n_ids) enum segment of each; NULL: all history */
    int agent;    /* whose it is, for the figures: 0 .. ENGINE_AGENTS - 1 */
    int priority; /* the higher goes first; but see engine.h's word on fairness */
    bool no_wait; /* refuse with ENGINE_NOT_NOW rather than let it wait */
    int max_tokens; /* most tokens to generate; 0 only with score or pool */
    struct sampling sampling;
    const char *const *stop; /* text that ends the answer, itself left out */
    int n_stop;
    const uint32_t *allowed; /* bitset over the vocabulary; NULL: all; the caller keeps it until the request ended */
    const struct request_grammar *grammar; /* NULL: none */
    int thinking;            /* tokens, THINKING_FREE or THINKING_OFF */
    int top_n;               /* also keep the N likeliest tokens of each step, <= KERN_TOP */
    bool no_logprobs;        /* without top_n: the tokens' log-probabilities may stay 0, and each is chosen sooner */
    bool score;              /* also keep the log-probability of every prompt token, and with top_n the likeliest */
    enum engine_pool pool;   /* a vector of the prompt, and nothing more: max_tokens is 0 */
    bool fresh;              /* pre-fill the whole prompt, though pages of its front may be known (measurements) */
    bool ignore_end;         /* do not end at an end-of-turn token (measurements) */
};

enum engine_end {
    END_NONE,      /* still running or waiting */
    END_STOP,      /* the model ended its turn, or a stop string was met */
    END_LENGTH,    /* max_tokens were generated */
    END_CANCELLED,
    END_NO_TOKEN,  /* `allowed`, bias and grammar left no token to choose */
    END_FAULT,     /* a pass failed, or RELOAD's file (naive.h); err of step() said why */
    END_OOM        /* a policy of naive.h had no memory for it: answer->oom and fault say why; the sound one never */
};
const char *engine_end_name(enum engine_end end); /* "stop", "length", ... */

struct engine_token {
    int32_t id;
    float logprob;
    uint32_t text_end; /* length of the answer's text when this token had been added */
};
struct engine_top {
    int32_t id[KERN_TOP];
    float logprob[KERN_TOP];
};
struct engine_likely {
    int32_t id;
    float logprob;
};

/* A request's result.  Everything but the counters is set at submit(), n_shared before the ADMITTED event; arrays are
 * as long as the request allows. */
struct answer {
    int id;
    const int32_t *prompt;
    int n_prompt;
    int n_shared; /* prompt tokens whose pages were known when it was admitted: they needed no pre-fill */
    const char *text;
    const struct engine_token *token;
    const struct engine_top *top; /* a token; NULL without top_n */
    const float *prompt_logprob;  /* (n_prompt); [0] is 0; NULL without score */
    /* (n_prompt, top_n) what was likeliest in each place, the best first; id -1: none more, as in all of [0].  NULL
     * without score and top_n. */
    const struct engine_likely *prompt_top;
    const float *vector;          /* (info's embd) of any length, once END_LENGTH is there; NULL without pool */
    int max_tokens, top_n;
    atomic_size_t text_len;
    atomic_int n_tokens, n_prefilled;
    atomic_int end; /* enum engine_end */
    atomic_bool closed; /* its thinking had all its tokens, and is ended */
    char fault[240]; /* END_FAULT, END_OOM: why */
    bool too_long;   /* END_FAULT: as with ENGINE_NEVER_FITS, but a server alone could say that it never fits */
    struct engine_oom oom; /* END_OOM */
};

enum engine_event_kind { ENGINE_ADMITTED, ENGINE_PREFILL, ENGINE_ADVANCED, ENGINE_PARKED, ENGINE_RESUMED, ENGINE_END };
struct engine_event {
    enum engine_event_kind kind;
    int id;
    int n;    /* PREFILL: prompt tokens done; ADVANCED, END: tokens generated so far */
    int of;   /* PREFILL: prompt tokens in all */
    enum engine_end end; /* END */
};

/* Tokens in pages, by what they are.  Of an agent: in pages that its requests hold alone. */
struct engine_agent {
    int64_t running, waiting, parked; /* requests */
    uint64_t tokens[SEGMENTS];
    uint64_t shared_tokens; /* that it reads in pages which others hold too: counted at each of them */
};

/* What a remote server says of itself, last time that it was asked (by step(), once a second); -1: unknown. */
struct engine_server {
    int64_t kv_permille;        /* of its KV pool, in use */
    int64_t running, waiting;   /* requests, of all its clients */
    int64_t preempted;          /* that it took back to make room, since its start */
};
#define ENGINE_SERVER_UNKNOWN ((struct engine_server){-1, -1, -1, -1})

/* Figures of one moment, all of the same: between two operations.  KV words: pool (taken at start) >= reserved
 * (promised to admitted requests) >= filled (holding tokens).  Of eight-byte fields alone. */
struct engine_snapshot {
    uint64_t pool_tokens, usable_tokens;     /* whole pages, in tokens; usable: backed by memory so far */
    uint64_t reserved_tokens, filled_tokens; /* filled: tokens, each once; those of a half done pass too */
    uint64_t shared_tokens, cached_tokens; /* in pages that two or more hold; kept for a prompt that begins like them */
    uint64_t shared_segment[SEGMENTS];     /* the tokens of the shared pages; with all agents' own: filled_tokens */
    int64_t running, waiting, parked;
    uint64_t prefilled, generated, reused; /* tokens since open; reused: of prompts, that needed no pre-fill */
    uint64_t recomputed;                   /* of the parked, computed a second time */
    uint64_t parkings, resumes, evicted_pages;
    uint64_t adopted_pages;                /* that page_put() brought in */
    uint64_t passes;
    uint64_t drafted, drafts_right;        /* tokens that were tried (draft.h); of these what was chosen */
    uint64_t text_bytes, text_used, text_requests; /* room for requests, taken of it, by how many not yet dropped */
    uint64_t park_bytes, park_used;
    uint64_t weight_bytes, kv_bytes, work_bytes;
    uint64_t naive_policy, naive_failures; /* in force, 0: the sound one; END_OOM since open */
    /* While one is in force, in bytes of the KV pool, or of all under the ceiling where it is about other memory:
     * taken, of that really filled (by tokens, or what requests have of their own), the largest piece that is left. */
    uint64_t naive_size, naive_reserved, naive_allocated, naive_hole;
    struct engine_server server;
    struct engine_agent agent[ENGINE_AGENTS];
};

/* The device that the engine is on, as it is now: total = ours + context + outside + free, exactly.  On the CPU it is
 * the machine's memory, or what the process's control groups allow of it. */
struct engine_memory {
    uint64_t total, free; /* 0: the system does not say */
    uint64_t ours;        /* all classes of the ledger; on a device: weights, KV pool and work */
    uint64_t context;     /* what opening the device took: a driver's context, kernels (LEDGER_CONTEXT) */
    int64_t outside;      /* others; under 0 while memory that was promised to us is not taken yet */
};

/* Why a request waits. */
enum engine_wait_for {
    WAIT_NOTHING, /* it runs, or has ended */
    WAIT_SLOT,    /* max_seqs sequences run */
    WAIT_PAGES,   /* its pages do not fit now */
    WAIT_FRONT,   /* `after` is computing pages that it begins with */
    WAIT_TURN     /* `after` goes first: parked, or overtaken often enough */
};
struct engine_wait {
    enum engine_wait_for what;
    int pages, free;   /* PAGES: that must be free for it, with those that over-commit leaves to the running ones, and
                          those that nobody was promised */
    int after, others; /* request whose end makes room, if `others` running before it in rank have ended too; 0: none */
};

/* One cell of a page map: the pages [i * pages / n, (i + 1) * pages / n). */
enum engine_cell_state { CELL_FREE, CELL_CACHED, CELL_HELD, CELL_SHARED };
struct engine_cell {
    uint8_t state;   /* of most of its pages */
    uint8_t agent;   /* HELD, CACHED: whose most of those are (of the last holder) */
    uint8_t segment; /* most of their tokens */
    bool mixed;      /* others are among them */
};

struct engine_count {
    int tokens;
    bool exact; /* false: an upper bound (a remote server's count, say) */
};

struct engine_ops {
    const char *name;
    struct engine *(*open)(const struct engine_config *cfg, struct err *err);
    void (*close)(struct engine *e); /* ends everything; answers are gone */
    const struct engine_info *(*info)(const struct engine *e);
    const struct vocab *(*vocab)(const struct engine *e); /* for dumps; lives as long as e */

    /* What msgs, of any length, would weigh as a prompt.  An upper bound (not exact) where a word is longer than a
     * whole context and lies at the edge of a message, and for some texts made on purpose (template_count()). */
    int (*count_tokens)(struct engine *e, const struct msg *msgs, int n, struct engine_count *out, struct err *err);
    /* The same figures from any thread, while another calls operations; not after close().  Its memory, about 12 bytes
     * for each of the texts', is the heap's and given back before it returns.  ENGINE_NO_MEMORY: there is none. */
    int (*count_aside)(const struct engine *e, const struct msg *msgs, int n, struct engine_count *out,
                       struct err *err);

    /* Admit, or queue, or refuse.  Everything in r is copied but `allowed`.  *id > 0 names the request until drop(). */
    int (*submit)(struct engine *e, const struct request *r, int *id, struct err *err);
    const struct answer *(*answer)(struct engine *e, int id); /* NULL: no such */
    /* its pages are free when this returns; END follows in the next step(). -1: no such or ended */
    int (*cancel)(struct engine *e, int id);
    void (*drop)(struct engine *e, int id);  /* forget the request (cancelling it if it runs); its answer is gone */

    /* One pass: choose rows of running requests, compute, append text.  While a prompt goes on and nobody generates, a
     * part of one: then the events are its PREFILL, with no more tokens done than before, until the last part is.
     * Returns the events written to ev; 0: nothing is left to do.  cap >= 4 suffices for every ADMITTED and END to
     * come, sooner or later; others may be lost where more happens than cap holds: what they say is in the answer.
     * PREFILL also tells of tokens that a resumed request computes again.  A pass that fails ends every request in it
     * with END_FAULT (answer->fault and err say why); the engine lives and serves the next.  Of a device that is lost
     * it says so to every request from then on, and submit() refuses with the same line (ENGINE_FAULT). */
    int (*step)(struct engine *e, struct engine_event *ev, int cap, struct err *err);

    /* A text's KV pages kept elsewhere, so that it is not pre-filled again; by another process either, if its engine
     * has the same identity.  A page is named by the text up to its end: ids, n of them, a multiple of KERN_PAGE.  Of a
     * request that has ended, prompt and answer but its last token are computed, and their whole pages are known until
     * their room is needed.  bytes: info's page_bytes; the caller's, and free again when these return.  Nothing is
     * allocated.
     *
     * page_get: the page's bytes (NULL: only ask).  0, or ENGINE_UNKNOWN; ENGINE_FAULT: it could not be copied.
     * page_put: the page becomes known as if it had been computed: cache, until a request holds it.  From the first to
     * the last, since each goes on from the one before.  0, also for one that is known; or ENGINE_UNKNOWN: the one
     * before is not; ENGINE_NOT_NOW: no room; ENGINE_FAULT.  The bytes are believed: the caller has them from an engine
     * with this identity, by page_get(), and knows that they are whole.  agent: whose it is until a request holds it.
     * page_drop: the page's room is free, and it is not known any more.  From the last to the first, since what goes on
     * from one that is not known cannot be found.  0; ENGINE_UNKNOWN; ENGINE_NOT_NOW: a request holds it.
     *
     * Engines whose pages have no content (scripted), that fail on purpose (naive.h), or whose attention has a window
     * below the context (info's window) or several groups of layers, say page_bytes 0 and, to all of them,
     * ENGINE_BAD_REQUEST. */
    int (*page_get)(struct engine *e, const int32_t *ids, int n, void *bytes, struct err *err);
    int (*page_put)(struct engine *e, const int32_t *ids, int n, int agent, const void *bytes, struct err *err);
    int (*page_drop)(struct engine *e, const int32_t *ids, int n, struct err *err);

    /* From any thread, at any time: the figures after the last operation, in one piece. */
    void (*snapshot)(const struct engine *e, struct engine_snapshot *out);
    void (*memory)(const struct engine *e, struct engine_memory *out); /* the same; reads /proc */
    void (*waits)(struct engine *e, int id, struct engine_wait *out);
    void (*page_map)(struct engine *e, struct engine_cell *cell, int n); /* the pool in n cells */
    /* Up to n of what a policy of naive.h took and gave, from number `from` on (the last 4096 are kept): how many. */
    int (*naive_ops)(const struct engine *e, uint64_t from, struct naive_op *out, int n);
};

extern const struct engine_ops engine_local;
extern const struct engine_ops engine_scripted;
extern const struct engine_ops engine_remote;

/* The name of a page with these KERN_PAGE tokens: before is the name of the page before it, or of the first one info's
 * identity.  The same in every process; pure. */
struct engine_name engine_page_name(struct engine_name before, const int32_t *ids);

/* Tokens of the KV pool that a request of so many, prompt and answer together, is promised: whole pages, and no more
 * than a window needs. */
uint64_t engine_promised(const struct engine_info *i, int64_t tokens);

/* Tokens that a request may have at most, in a pool of so many: the whole context, unless the pool is too small to be
 * promised for it. */
int engine_longest(const struct engine_info *i, uint64_t pool_tokens);

/* 0, or ENGINE_BAD_REQUEST naming the field that is out of range (NaN included). */
int sampling_check(const struct sampling *s, int vocab, struct err *err);
#endif
