/* thinking.h - what a model writes before its answer: <think> ... </think>, as Qwen 3 and DeepSeek R1 do.
 *
 * Threads: pure. */
#ifndef THINKING_H
#define THINKING_H
#include "plimsoll.h"

#define THINKING_OPEN "<think>\n" /* what is written for a model whose template begins its thinking */
#define THINKING_TAG "<think>" /* the same where the template has no newline behind it */
#define THINKING_CLOSE "\n</think>\n\n" /* for one that would not end */
#define THINKING_HARMONY "<|end|><|start|>assistant<|channel|>final<|message|>" /* the same, of gpt-oss */
#define THINKING_SKIP "<think>\n\n</think>\n\n" /* and for one that is not to begin, as Qwen 3's template has it */

/* Where the answer begins: 0 if the text does not begin with thinking; n if that has no end yet; else behind its
 * closing tag and the blanks after that. */
size_t thinking_end(const char *text, size_t n);

/* Of a text that is thinking alone: what stands between its tags, without the blanks beside them.  *at: where it
 * begins; how long it is. */
size_t thinking_inner(const char *text, size_t n, size_t *at);

/* The same of a text that grows, asked again and again: each byte is looked at once, so that megabytes of blanks or of
 * thinking cost what they weigh.  All zeros at the beginning of a text. */
struct thinking {
    enum { THINKING_BEFORE, THINKING_INSIDE, THINKING_BEHIND, THINKING_NONE } part;
    size_t at; /* what was looked at */
};
size_t thinking_follow(struct thinking *t, const char *text, size_t n);
#endif
