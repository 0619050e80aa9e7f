/* tui.c - the screen's loop (loop.h) for a session: keys to the screen, news of the sessions' thread, and how it opens
 * and closes.  Nothing here waits for the engine or the store. */
#include "app/tui/tui.h"
#include "app/faces.h"
#include "app/models.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/signals.h"
#include "app/tui/loop.h"
#include "app/tui/screen.h"
#include "app/tui/tui_host.h"
#include <poll.h>
#include <signal.h>
#include <unistd.h>

enum { GOODBYE_MS = 200 };

struct face {
    struct tui_host h;
    bool told_leave;
};

/* ------------------------------------------------------------------ what the loop calls */

static void leave(void *self)
{
    struct face *f = self;
    if (f->told_leave) return;
    f->told_leave = true;
    bridge_leave(f->h.bridge);
    desk_cancel(f->h.desk, "");
    ui_leave(f->h.ui);
}

static void press(void *self, const struct key *k)
{
    struct face *f = self;
    ui_key(f->h.ui, k, progress_clock());
    if (f->h.wants_leave) leave(f);
}

static void resize(void *self, int columns, int rows) { ui_resize(((struct face *)self)->h.ui, columns, rows); }

static bool take_news(void *self)
{
    struct tui_host *h = &((struct face *)self)->h;
    struct news *n = bridge_take(h->bridge), *next;
    const bool any = n;
    for (; n; n = next) {
        next = n->next;
        h->over = h->over || n->kind == NEWS_OVER;
        ui_news(h->ui, n);
        news_free(n);
    }
    return any;
}

static bool tick(void *self) { return ui_tick(((struct face *)self)->h.ui, progress_clock()); }

static int wait_ms(void *self)
{
    const struct ui *ui = ((struct face *)self)->h.ui;
    return ui_goes_on(ui) ? LOOP_TICK_MS / 5 : ui_busy(ui) ? LOOP_TICK_MS : 5 * LOOP_TICK_MS;
}

/* As a Ctrl-C that is typed. */
static void interrupt(void *self)
{
    struct face *f = self;
    if (ui_busy(f->h.ui) || f->told_leave) return; /* the sessions' thread sees it */
    signals_forget_interrupt();
    press(f, &(struct key){.name = KEY_CHAR, .mods = KEY_CTRL, .rune = 'c', .text = "c", .n = 1});
}

static bool over(void *self) { return ((struct face *)self)->h.over; }
static const struct surface *draw(void *self) { return ui_draw(((struct face *)self)->h.ui); }

static const struct loop_ops ops = {.key = press, .resize = resize, .step = take_news, .tick = tick,
                                    .wait_ms = wait_ms, .interrupt = interrupt, .leave = leave, .over = over,
                                    .draw = draw};

/* ------------------------------------------------------------------ open and close */

static bool is_utf8(void)
{
    static const char *const name[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        const char *v = opts_getenv(name[i]);
        if (v && *v) return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
    }
    return false;
}

static bool wants_utf8(const struct opts *o)
{
    return strcmp(o->glyphs, "auto") == 0 ? is_utf8() : strcmp(o->glyphs, "utf8") == 0;
}

bool tui_wanted(const struct opts *o, char why[120])
{
    const char *term = opts_getenv("TERM");
    if (why) *why = '\0';
    const bool dumps = o->nll || o->dump_tokens || o->top_logprobs >= 0;
    if (o->no_tui || o->prompt || o->script || o->json || dumps || o->agents > 0) return false;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return false;
    if (term && *term && strcmp(term, "dumb") != 0) return true;
    if (why && (!term || !*term)) snprintf(why, 120, "TERM is not set: a chat line by line");
    return false;
}

int tui_open_screen(const struct opts *o, struct ui_setup *setup, struct err *err)
{
    const struct screen_setup screen = {.in = STDIN_FILENO, .out = STDOUT_FILENO, .no_color = opts_getenv("NO_COLOR"),
                                        .theme = (enum theme)MAX(theme_find(o->theme), 0), .utf8 = wants_utf8(o)};
    if (screen_open(&screen, err)) return -1;
    setup->utf8 = screen.utf8;
    setup->mono = screen_depth() == DEPTH_MONO;
    screen_size(&setup->columns, &setup->rows);
    signals_before_exit(screen_suspend);
    return 0;
}

void tui_close_screen(void)
{
    signals_before_exit(NULL);
    screen_close();
}

static int open_face(struct face *f, struct app *a, struct err *err)
{
    struct ui_setup setup = {.live = true, .stored = a->keeper != NULL, .crew = a->o->crew};
    if (tui_open_screen(a->o, &setup, err)) return -1;
    if (tui_host_open(&f->h, a, &setup, err) == 0) return 0;
    tui_close_screen();
    return -1;
}

/* Flags of the command line without which the session would not be found, or another model would answer. */
static void put_same_flags(const struct opts *o, struct buf *out)
{
    const struct { const char *flag, *value; } same[] = {
        {"--crew", o->crew}, {"--store", o->store}, {"--model", o->model}, {"--remote", o->remote}};
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        if (!same[i].value || !opts_by_flag(o, &same[i].flag, 1)) continue;
        buf_printf(out, " %s ", same[i].flag);
        models_put_quoted(same[i].value, out);
    }
}

/* What a person wants to know when the screen is gone. */
static void say_goodbye(const struct app *a, const struct tui_host *h, int status)
{
    char id[9];
    struct buf flags = {0};
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&room, 1, GOODBYE_MS) <= 0) return; /* a terminal that takes nothing any more */
    put_same_flags(a->o, &flags);
    if (tui_host_session(h, id))
        say_dim("session %s is saved: plimsoll --resume %s%s goes on", id, id,
                flags.data && !flags.failed ? flags.data : "");
    buf_free(&flags);
    if (status != EXIT_DONE && *h->last_error) say_error("%s", h->last_error);
}

int tui_run(struct app *a)
{
    struct face f = {.told_leave = false};
    struct loop l;
    struct err err = {0};
    if (open_face(&f, a, &err)) {
        say("%s: a chat line by line", err.text);
        return console_run(a);
    }
    loop_run(&l, &ops, &f, bridge_fd(f.h.bridge));
    tui_close_screen();
    int status = tui_host_close(&f.h);
    say_goodbye(a, &f.h, status);
    if (l.ending) return 128 + l.ending;
    return l.gone && status == EXIT_DONE ? 128 + SIGHUP : status;
}
