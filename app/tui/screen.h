/* screen.h - the terminal, and the only one who talks to it.
 *
 *     surface ──> screen_draw(): what differs from the surface drawn last ──> bytes, in one write or two
 *
 * What the terminal can do comes from terminfo (ncursesw's), and nothing else of ncurses is used: its own window layer
 * would measure characters by another table than surface.h does, take over signals, and need a locale.  So every place
 * is addressed by itself after a character on whose width terminals might differ.
 *
 * While it is open the terminal is in raw mode (Ctrl-C is a key), on its other screen where it has one, with bracketed
 * paste and without mouse.  Whatever ends the program gives it back as it was found (leave.h); after that nothing is
 * drawn any more, till screen_resume().
 *
 * One terminal a process.  Threads: one.  Errors: what the terminal cannot do, and a terminal that is gone. */
#ifndef SCREEN_H
#define SCREEN_H
#include "app/tui/surface.h"
#include "app/tui/theme.h"

struct screen_setup {
    int in, out;          /* a terminal, usually 0 and 1; they stay the caller's */
    const char *term;     /* its name for terminfo; NULL: TERM of the environment */
    const char *no_color; /* NO_COLOR; NULL: not set */
    enum theme theme;
    bool utf8;            /* false: what is not ASCII is drawn as "?" */
};

int screen_open(const struct screen_setup *setup, struct err *err); /* open signals.h before it, if at all */
void screen_close(void);
/* What had been typed before it was open, as the bytes of keys; until screen_close(). */
const char *screen_typed(size_t *n);
void screen_size(int *columns, int *rows); /* now; 80 and 24 where the terminal does not say */
enum depth screen_depth(void);
void screen_theme(enum theme theme);       /* shows with the next draw */

/* Shows the surface.  One of another size than the last, and the first after a resume, is drawn whole. */
int screen_draw(const struct surface *s, struct err *err);
void screen_forget(void);     /* draw all the next time: somebody else wrote to the terminal */
/* To the clipboard, by OSC 52 where the terminal takes it; at most 100,000 bytes.  Returns how many were sent. */
size_t screen_copy(const char *text, size_t n);
uint64_t screen_sent(void);   /* bytes since screen_open() */

/* The terminal is given back for a while (an editor), and taken again.  Resume also after SCREEN_CONTINUED. */
void screen_suspend(void);
int screen_resume(struct err *err);
/* Ctrl-Z: gives it back and stops the process; SCREEN_CONTINUED comes after it, and at once where no shell is there to
 * continue the process: then it is not stopped. */
void screen_stop(void);

enum { SCREEN_RESIZED = 1, SCREEN_CONTINUED = 2 };
int screen_wake_fd(void);     /* readable when screen_woken() has something to say */
unsigned screen_woken(void);  /* what happened since the last call */
#endif
