/* vt.h - a terminal to draw on in a test: a pty, and a grid that obeys what xterm-256color's terminfo has.
 *
 * A thread takes what is sent, so that a draw never waits; vt_settle() waits until `sent` bytes were taken.  Commands
 * that it does not know fail the test: what is drawn is what was understood. */
#ifndef VT_H
#define VT_H
#include "app/tui/surface.h"
#include "app/tui/theme.h"
#include <pthread.h>
#include <termios.h>

struct vt_cell { char text[24]; int width; struct ink ink; bool rgb; };

struct vt {
    int master, slave;
    int columns, rows, column, row;
    struct vt_cell *cell;
    struct ink ink;
    bool other_screen, paste, keypad, cursor, wrap;
    int clears;
    bool narrow; /* it takes wide characters for narrow ones when it moves its cursor */
    struct buf got; /* all bytes so far */
    size_t obeyed;
    pthread_t reader;
    pthread_mutex_t lock;
    bool reading;
};

void vt_open(struct vt *v, int columns, int rows, bool reading); /* false: the test reads by itself (a child draws) */
void vt_close(struct vt *v);
void vt_resize(struct vt *v, int columns, int rows);
void vt_settle(struct vt *v, size_t sent);   /* ... and obeys them */
void vt_take(struct vt *v);                  /* without a thread: what there is now */
void vt_same(const struct vt *v, const struct surface *s, enum theme theme, enum depth depth);
#endif
