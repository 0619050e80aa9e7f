/* request.h - one request inside the scheduler: its tokens, its sampling, its growing answer.  Used by sched.c alone.
 *
 *     ids      [ prompt ............ | generated ... ]     known tokens: n_ids
 *     computed [ ............... ]                         of these, in the KV pages
 *
 * The next rows of a request are ids[computed .. n_ids): many while it pre-fills, one while it generates.
 * Everything is allocated by request_make() for the longest answer that the request allows; nothing grows after. */
#ifndef REQUEST_H
#define REQUEST_H
#include "engine/engine.h"
#include "engine/text.h"

enum request_state { REQUEST_WAITING, REQUEST_RUNNING, REQUEST_ENDED };

struct request_live {
    struct answer a; /* what readers see */
    enum request_state state;
    int slot;       /* while running */
    uint64_t order; /* of submission, then of admission */
    bool told_end;  /* the END event went out */

    int32_t *ids; /* (n_prompt + max_tokens); a.prompt is its front */
    int n_ids, computed;

    struct sampling sampling; /* bias points to `bias` */
    struct kern_bias bias[ENGINE_MAX_BIAS];
    const uint32_t *allowed;
    bool score, fresh, ignore_end;
    struct text text;

    char *text_buf; /* what a.text, a.token ... point to, writable */
    struct engine_token *token;
    struct engine_top *top;
    float *prompt_logprob;
};

/* prompt: n tokens, copied.  NULL: *code says ENGINE_BAD_REQUEST or ENGINE_NO_MEMORY and err why. */
struct request_live *request_make(const struct request *r, const int32_t *prompt, int n, const struct vocab *v,
                                  int *code, struct err *err);
void request_free(struct request_live *q);

/* How the next token is to be chosen; points into q. */
struct kern_sample request_sample(const struct request_live *q);

/* The pass chose a token: append it and its text, and end if it ends the answer.  Sets q->a.end then (state is the
 * scheduler's). */
void request_add(struct request_live *q, const struct kern_choice *c, const struct vocab *v);

/* End for another reason; text that was held back comes out. */
void request_end(struct request_live *q, enum engine_end why, const char *fault);
#endif
