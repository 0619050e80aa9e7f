/* prompt.h - from the items of a window to the messages of one call.
 *
 *     system, tools, pinned, task, summary, reference ──> one system message, a blank line between them
 *     history, results ──> user, assistant and tool messages; what stands in as a line is that line
 *     request          ──> a user message that asks for a summary
 *
 * A model of Mistral's, or of harmony, has its own marks for tools, calls and results (engine/template.h): the tools
 * are a message of their own then, before the system message (v3) or behind it; calls and results are written as it
 * writes them, whoever made them.  So are calls in tags (memory/forms.h), whose tools stand in the system message, with
 * Qwen 3.5 before all else.
 *
 * Threads: the app's. */
#ifndef PROMPT_H
#define PROMPT_H
#include "app/session/texts.h"
#include "engine/template.h"
#include "memory/forms.h"
#include "memory/window.h"

struct prompt { /* all zeros is an empty one; for use again and again */
    struct msg *msgs;
    int n, cap;
    enum effort effort; /* that the first message asks for */
    int front_msgs; /* that the front is: system message and tools */
    struct buf front, lines; /* what the messages point into, beside the texts */
};

/* 0, or -1 with err. The messages are good until texts change or the next call. */
int prompt_make(struct prompt *p, enum form_calls calls, struct texts *texts, const struct window_item *items, size_t n,
                struct err *err);
void prompt_free(struct prompt *p);
#endif
