/* learn_face.h - a lesson shown as text: its stages one behind the other on stdout; on a terminal the bar of a run that
 * goes on is one line, drawn over on stderr, elsewhere each turn is a line.
 *
 * Texts of a lesson and of its runs are those of others: a terminal obeys nothing in them.  Threads: one. */
#ifndef LEARN_FACE_H
#define LEARN_FACE_H
#include "app/input.h"
#include "app/learn/play.h"
#include "app/out.h"

struct learn_face {
    struct out *out;
    struct input *in;      /* of the learner */
    struct play *play;     /* opened with learn_on_event and this as its self */
    bool automatic;        /* nothing is asked */
    bool asks;             /* a person is there, who is waited for */
    bool ascii, drawn;     /* drawn: the bar stands on the terminal */
};

/* All stages of f->play, from the first to the last.  The exit status; what went wrong has been said. */
int learn_show(struct learn_face *f);

void learn_on_event(void *self, int run, const struct event *e); /* play_config.on_event */

/* Waits for a run of p, or a signal, and takes what came.  False: nothing did, or a signal is pending. */
bool learn_step(struct play *p);
#endif
