/* tui_host.h - what keys ask for, done: orders to the sessions' thread, the clipboard, an editor, the history.
 *
 * Threads: the screen's. */
#ifndef TUI_HOST_H
#define TUI_HOST_H
#include "app/app.h"
#include "app/tui/desk.h"
#include "app/tui/history.h"
#include "app/tui/ui.h"

struct tui_host {
    struct app *a;
    struct ui *ui;
    struct bridge *bridge;
    struct desk *desk;
    struct history history;
    struct complete_source source;
    struct complete_files files;
    struct complete_name agent[STATE_AGENTS], tool[TOOLBOX_TOOLS];
    int root;         /* the workspace's folder */
    bool wants_leave, over;
    char last_error[240];
    char session[9];  /* that was open last; "": none was saved */
};

int tui_host_open(struct tui_host *h, struct app *a, const struct ui_setup *setup, struct err *err);
int tui_host_close(struct tui_host *h); /* waits for the sessions; their exit status */
bool tui_host_session(const struct tui_host *h, char id[9]);
#endif
