/* request.h - one request inside the scheduler: its tokens, its sampling, its growing answer.  Used by sched.c alone.
 *
 *     ids      [ prompt ............ | generated ... ]     known tokens: n_ids
 *     computed [ ............... ]                         of these, in the KV pages
 *
 * The next rows of a request are ids[computed .. n_ids): many while it pre-fills, one while it generates, and its
 * drafts behind that, which stand in ids[n_ids ..) until the pass is over.
 * All of it lies in one block of memory, sized for the longest answer that the request allows; nothing grows after. */
#ifndef REQUEST_H
#define REQUEST_H
#include "engine/draft.h"
#include "engine/harmony.h"
#include "engine/strict.h"
#include "engine/text.h"
#include "engine/thinking.h"

/* What is written for a model that thinks, in tokens of its vocabulary: where it begins to, where that has to end, and
 * where it is not to begin.  0: nothing is. */
enum { THINKING_IDS = 40 };
struct request_marks {
    int32_t open[THINKING_IDS], close[THINKING_IDS], skip[THINKING_IDS];
    int n_open, n_close, n_skip;
};

enum request_state { REQUEST_WAITING, REQUEST_RUNNING, REQUEST_PARKED, REQUEST_ENDED };

struct request_live {
    struct answer a; /* what readers see */
    enum request_state state;
    int place;                    /* in the scheduler's table, until it is dropped */
    int slot;                     /* while running */
    uint64_t submitted, admitted; /* order of the one and of the other; 0: never yet */
    int overtaken;                /* times that a later one was admitted before it */
    bool told_admitted, told_end; /* the events went out */

    int32_t *ids;  /* (n_prompt + max_tokens); a.prompt is its front */
    uint8_t *kind; /* the same length: enum segment of each */
    int n_ids, computed;
    int high; /* most of its tokens that were ever computed: what is below was computed before it was parked */
    int drafts;     /* behind ids[n_ids]: tokens that the pass being made tries (draft.h) */
    int right;      /* of these, from the first, what was chosen, when its results are taken */
    int cut;        /* where a pass of it shall end, so that others may go on from its state there; 0: anywhere */
    int park_first; /* parked: its pages in host memory; -1: none are */

    int agent, priority;
    struct sampling sampling; /* bias points to `bias` */
    struct kern_bias bias[ENGINE_MAX_BIAS];
    const uint32_t *allowed;
    struct carried *carried;    /* its grammar, which the scheduler takes and gives; NULL: none */
    struct strict_state strict; /* where the answer is in it */
    bool score, fresh, ignore_end, no_logprobs;
    int most_thinking;       /* tokens; 0: no bound */
    struct thinking thinks;  /* how far it is, where there is a bound */
    const int32_t *decided;  /* ids that come next, whatever the model would choose */
    int n_decided;
    bool untold; /* these are no part of the answer's text */
    const struct request_marks *marks;
    enum engine_pool pool;
    int pooled; /* of its tokens, from the first: their states are in the vector, or not wanted there */
    struct draft draft;
    struct harmony channels;
    struct text text;

    char *text_buf; /* what a.text, a.token ... point to, writable */
    struct engine_token *token;
    struct engine_top *top;
    float *prompt_logprob;
    struct engine_likely *prompt_top;
    float *vector; /* as struct pass_pool has it */
};

/* The most bytes of text that one token can add: what may not be shown as it is becomes U+FFFD, three bytes; and in a
 * vocabulary with harmony's marks what is told for one. */
size_t request_token_text(const struct vocab *v);

/* Bytes of a request with n prompt tokens, checked or not; token_text: from request_token_text(); embd: values of a
 * vector, 0: there are none.  SIZE_MAX: overflow.  A negative field counts as 0. */
size_t request_bytes(const struct request *r, size_t n, size_t token_text, int embd);

/* 0, or ENGINE_BAD_REQUEST: err names the field. */
int request_check(const struct request *r, const int32_t *prompt, int n, const struct vocab *v, int embd,
                  struct err *err);

/* A checked request, in the caller's memory: request_bytes() at a multiple of 64.  prompt: n tokens, copied; segment:
 * (n) of each, or NULL.  stop: text that ends the answer beside the request's own, unless it ignores ends; or NULL. */
struct request_live *request_make(const struct request *r, const int32_t *prompt, const uint8_t *segment, int n,
                                  size_t token_text, int embd, const char *stop, void *mem);

/* Its model marks calls and thoughts by tokens: as gpt-oss does, or as Mistral's do. */
void request_channels(struct request_live *q, const struct vocab *v, bool mistral);

/* How long it may think, as struct request has it; whether thinking is begun for it where nothing forbids it.  marks
 * outlives q. */
void request_bound(struct request_live *q, int thinking, bool begun, const struct request_marks *marks);

/* How the next token is to be chosen, or which is decided (target), after so many drafts as if they had been; points
 * into q.  The grammar's part is left to the scheduler. */
struct kern_sample request_sample(const struct request_live *q, int drafts);

/* The pass chose a token: append it and its text, and end if it ends the answer, or no call can go on with it.  Sets
 * q->a.end then (state is the scheduler's). */
void request_add(struct request_live *q, const struct kern_choice *c, const struct vocab *v);

/* The pass scored token `at` of the prompt. */
void request_score(struct request_live *q, int at, const struct kern_choice *c);

/* All of the prompt is computed, and no more was asked for. */
void request_end_prompt(struct request_live *q, int embd);

/* End for another reason; text that was held back comes out. */
void request_end(struct request_live *q, enum engine_end why, const char *fault);
#endif
