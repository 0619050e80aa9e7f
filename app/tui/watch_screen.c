/* watch_screen.c - see watch_screen.h: the loop that asks, draws and takes keys. */
#include "app/tui/watch_screen.h"
#include "app/app.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/signals.h"
#include "app/tui/loop.h"
#include "app/tui/screen.h"
#include "app/tui/tui.h"
#include "app/tui/ui.h"
#include "app/tui/view_watch.h"
#include <signal.h>

struct face {
    struct watch *w;
    struct view_watch view;
    struct surface surface;
    bool leaving;
};

static void press(void *self, const struct key *k)
{
    struct face *f = self;
    const bool ctrl = k->name == KEY_CHAR && k->mods == KEY_CTRL, letter = k->name == KEY_CHAR && !k->mods;
    if (ctrl && k->rune == 'z') screen_stop();
    else if (ctrl && k->rune == 'l') screen_forget();
    else if (ctrl && (k->rune == 'c' || k->rune == 'd')) f->leaving = true;
    else if (!view_watch_key(&f->view, f->w, k) && letter && k->rune == 'q') f->leaving = true;
}

static void resize(void *self, int columns, int rows)
{
    struct err err = {0};
    struct face *f = self;
    surface_resize(&f->surface, columns, rows, &err); /* without memory for it the old size stays */
}

static bool step(void *self)
{
    struct face *f = self;
    return watch_step(f->w, progress_clock());
}

static bool tick(void *self) { return (void)self, false; }
static int wait_ms(void *self) { return (void)self, LOOP_TICK_MS / 2; }
static void leave(void *self) { ((struct face *)self)->leaving = true; }
static bool over(void *self) { return ((struct face *)self)->leaving; }

static void interrupt(void *self)
{
    signals_forget_interrupt();
    leave(self);
}

static const struct surface *draw(void *self)
{
    struct face *f = self;
    view_watch_draw(&f->view, f->w, progress_clock(), &f->surface);
    return &f->surface;
}

static const struct loop_ops ops = {.key = press, .resize = resize, .step = step, .tick = tick, .wait_ms = wait_ms,
                                    .interrupt = interrupt, .leave = leave, .over = over, .draw = draw};

/* The theme and the glyphs, as for a session. */
static int open_screen(struct face *f, struct err *err)
{
    char name[] = "plimsoll", *argv[] = {name, NULL};
    struct opts o;
    struct ui_setup setup = {.live = false};
    int bad = opts_parse(&o, 1, argv, NULL, err);
    if (!bad) bad = signals_open(err) || tui_open_screen(&o, &setup, err);
    opts_free(&o);
    if (bad) return -1;
    f->view.glyphs = setup.utf8 ? GLYPHS_UTF8 : GLYPHS_ASCII;
    if (surface_open(&f->surface, setup.columns, setup.rows, err) == 0) return 0;
    tui_close_screen();
    return -1;
}

int watch_screen(struct watch *w)
{
    struct face f = {.w = w};
    struct loop l;
    struct err err = {0};
    if (open_screen(&f, &err)) {
        say_error("plimsoll watch: %s (--once needs no screen)", err.text);
        return EXIT_USAGE;
    }
    loop_run(&l, &ops, &f, -1);
    tui_close_screen();
    surface_close(&f.surface);
    view_watch_close(&f.view);
    if (l.ending) return 128 + l.ending;
    return l.gone ? 128 + SIGHUP : EXIT_DONE;
}
