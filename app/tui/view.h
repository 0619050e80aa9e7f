/* view.h - one of the things that the screen can show in the chat's place: a table of functions each.
 *
 * A view draws from what it is given and from its own position (what is selected, how far it is scrolled), and does
 * nothing by itself: what a key wants done is a command line as the chat's own ("/resume 4f2"), or another doc.
 *
 * Threads: the screen's. */
#ifndef VIEW_H
#define VIEW_H
#include "app/tui/doc.h"
#include "app/tui/keys.h"
#include "app/tui/state.h"

enum view_name {
    VIEW_CHAT, VIEW_MAP, VIEW_INSPECT, VIEW_AGENTS, VIEW_TIMELINE, VIEW_SESSIONS, VIEW_ARTIFACTS, VIEW_FLIGHT,
    VIEW_MODELS, VIEW_LOG, VIEW_LESSONS, VIEW_HELP, VIEWS
};

struct view_in {
    const struct state *state;
    const struct doc *doc; /* the last of the kind that the view asked for last, its data NULL where it failed (error);
                              NULL: none came yet */
    const struct log *log;
    enum glyphs glyphs;
    bool mono;             /* the terminal has no colours: letters where a colour would tell */
    int agent;             /* of state: whom the person looks at */
};

struct view_out {
    struct buf order;      /* a command line to obey; or nothing */
    struct doc_ask ask;    /* kind != DOC_NONE: another doc than view_ops.ask() would name */
    bool leave;            /* back to the chat */
    enum view_name go;     /* another view; VIEW_CHAT with leave only */
    int agent;             /* -1, or whom to look at from now on */
    struct buf copy;       /* a text for the clipboard; or nothing */
};

enum view_tick { VIEW_RESTS, VIEW_GOES_ON /* it is to be asked again in a moment */, VIEW_CHANGED };

struct view_ops {
    const char *title;     /* "Memory map" */
    const char *keys;      /* of the footer: "d drop  p pin  Enter text" */
    double every;          /* seconds after which the doc is asked for again while it is looked at; 0: after orders */
    void *(*open)(void);   /* NULL: no memory */
    void (*close)(void *self);
    /* What to ask for in a box of this size; leaves out->kind DOC_NONE where nothing is wanted. */
    void (*ask)(void *self, struct box b, const struct view_in *in, struct doc_ask *out);
    void (*draw)(void *self, struct surface *s, struct box b, const struct view_in *in);
    /* false: not a key of this view's. */
    bool (*key)(void *self, const struct key *k, const struct view_in *in, struct view_out *out);
    enum view_tick (*tick)(void *self); /* often, also while another is looked at; NULL: nothing goes on in it */
};

extern const struct view_ops view_map, view_inspect, view_agents, view_timeline, view_sessions, view_artifacts,
    view_flight, view_models, view_log, view_lessons;
#endif
