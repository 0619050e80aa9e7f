/* harmony.h - what a model writes whose calls and thoughts are marked by tokens of their own, never by text, in the
 * words of the other families, so that nothing behind it has to know.  gpt-oss:
 *
 *     <|channel|>analysis<|message|>T<|end|>                     <think>\nT\n</think>\n\n
 *     <|start|>assistant<|channel|>final<|message|>A<|return|>   A            (also a commentary to nobody, a preamble)
 *     <|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>J<|call|>
 *                                                                <tool_call>{"name":"f","arguments":J}</tool_call>
 *
 * and Mistral's models of v11 (with a call's id) and later:
 *
 *     [THINK]T[/THINK]A[TOOL_CALLS]f[CALL_ID]123456789[ARGS]J[TOOL_CALLS]...
 *
 *     HEAD: whose message, on which channel, to whom  -- <|message|> -->  BODY  -- <|end|>, <|start|>, <|channel|> -->
 *
 * Between two messages is a blank line, and thoughts in a row are one <think>.  A head is held until its <|message|>
 * comes.  What is none after all (too long, or it ends in another way) is text, but for words that only heads have: so
 * an answer without marks is told as it is.  Mistral's answers begin with a body, and heads are the names of tools.  A
 * body that says the tag by which others know a call or the end of thinking is told with other brackets, `(tool_call)`:
 * only marks make a call.
 *
 * Fixed memory.  Beside the bytes of tokens at most HARMONY_ADDS are told for each mark that the model has written.
 * Threads: pure. */
#ifndef HARMONY_H
#define HARMONY_H
#include "engine/vocab.h"

enum { HARMONY_HEAD = 160, HARMONY_ADDS = 64 };

enum harmony_mark {
    MARK_START, MARK_END, MARK_MESSAGE, MARK_CHANNEL, MARK_CONSTRAIN, MARK_RETURN, MARK_CALL,
    MARK_TOOL_CALLS, MARK_CALL_ID, MARK_ARGS, MARK_THINK, MARK_END_THINK, /* Mistral's */
    HARMONY_MARKS
};
/* Which one a token is; HARMONY_MARKS: none. */
enum harmony_mark harmony_mark(const struct vocab *v, int32_t id);

enum harmony_body { HARMONY_WORDS, HARMONY_THOUGHTS, HARMONY_CALL };

struct harmony {
    bool on;       /* false (all zeros): another family, whose text passes as it is */
    bool mistral;  /* these marks, and not gpt-oss's */
    bool marked;   /* the model has written a mark */
    bool body;     /* inside a message; else what is before one */
    bool begun;    /* of the body something was told */
    bool argued;   /* of a call's arguments too */
    bool said;     /* something was told since the last blank line */
    bool thinks;   /* <think> was told, and no </think> since */
    uint8_t kind;  /* enum harmony_body */
    uint8_t same;  /* bytes of the tag that it may not say which the text ends with: they are not told yet */
    int16_t channel, type; /* where <|channel|> and <|constrain|> are in the head; -1: nowhere */
    int16_t name, n_name;  /* of a call's tool in the head */
    int16_t n;
    char head[HARMONY_HEAD];
};

/* Where text goes.  apart: no stop string may be seen in it. */
struct harmony_out {
    void (*tell)(void *self, const char *bytes, size_t n, bool apart);
    void *self;
};

/* Whether the vocabulary has all of gpt-oss's marks; <|constrain|> may lack.  Or those of Mistral's calls. */
bool harmony_speaks(const struct vocab *v);
bool harmony_speaks_mistral(const struct vocab *v);

/* Behind these ids of a prompt. */
void harmony_begin(struct harmony *h, const struct vocab *v, const int32_t *ids, size_t n);
void harmony_begin_mistral(struct harmony *h);
/* The model's next token, with its text (vocab_piece()). */
void harmony_token(struct harmony *h, const struct vocab *v, int32_t id, const char *bytes, size_t n,
                   const struct harmony_out *out);
/* No more comes.  whole: the model ended its message; else it was cut. */
void harmony_end(struct harmony *h, bool whole, const struct harmony_out *out);
#endif
