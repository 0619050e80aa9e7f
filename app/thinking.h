/* thinking.h - what a model writes before its answer: <think> ... </think>, as Qwen 3 and DeepSeek R1 do.
 *
 * Threads: pure. */
#ifndef THINKING_H
#define THINKING_H
#include "plimsoll.h"

#define THINKING_CLOSE "\n</think>\n\n" /* what is written for a model that would not end */

/* Where the answer begins: 0 if the text does not begin with thinking; n if that has no end yet; else behind its
 * closing tag and the blanks after that. */
size_t thinking_end(const char *text, size_t n);
#endif
