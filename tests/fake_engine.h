/* fake_engine.h - an engine of the tests' own: one request at a time, a byte a token, and whatever end is wanted. */
#ifndef FAKE_ENGINE_H
#define FAKE_ENGINE_H
#include "engine/engine.h"

enum { FAKE_ROOM = 1 << 16 };

struct engine {
    int ctx;
    const char *says;    /* the answer; NULL: that of reply() */
    const char *(*reply)(const char *heard); /* to the messages, "role:text|" each */
    int fault_at;        /* the step that fails; 0: none */
    int interrupt_at;    /* the step in which Ctrl-C comes; 0: none */
    bool endless, mute;  /* never ends of itself; stops without an end */
    bool no_token;
    int amid; /* the prompt is read in two passes, each with so many steps before its last; 0: all in one step */
    int (*refuse)(struct err *err); /* NULL: it admits */

    int steps, dropped;
    bool open, cancelled;
    struct request asked; /* its figures; pointers are not to be followed later */
    struct buf heard;     /* the messages */
    int asides;           /* requests whose last message asks for a summary */
    struct answer a;
    char text[FAKE_ROOM];
    struct engine_token token[FAKE_ROOM];
};

extern struct engine fake;
extern const struct engine_ops fake_ops;
const struct engine_info *fake_begin(const char *says, int ctx); /* all as new */
#endif
