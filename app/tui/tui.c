/* tui.c - the loop of the screen: whatever is ready first, keys, news, the terminal, time; and a draw before it sleeps.
 *
 * Keys are drawn at once, text at most 30 times a second.  Nothing here waits for the engine or the store. */
#include "app/tui/tui.h"
#include "app/faces.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/signals.h"
#include "app/tui/screen.h"
#include "app/tui/tui_host.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

enum { ESCAPE_MS = 40, TICK_MS = 100, DRAW_MS = 33, CHUNK = 65536 };

struct loop {
    struct tui_host h;
    struct keys keys;
    bool dirty, at_once; /* something is to be drawn; without waiting for the next thirtieth of a second */
    int64_t drawn_ms;
    bool gone;           /* the terminal is */
    int ending;          /* the signal that ends it; 0 */
    bool told_leave;
};

static int64_t now_ms(void) { return (int64_t)(1e3 * progress_clock()); }

/* ------------------------------------------------------------------ what is ready */

static void leave(struct loop *l)
{
    if (l->told_leave) return;
    l->told_leave = true;
    bridge_leave(l->h.bridge);
    desk_stop(l->h.desk);
}

static void read_keys(struct loop *l)
{
    char bytes[CHUNK];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        l->gone = true;
        leave(l);
        return;
    }
    keys_feed(&l->keys, bytes, (size_t)n, now_ms());
}

static void obey_keys(struct loop *l)
{
    struct key k;
    while (keys_next(&l->keys, now_ms(), &k)) {
        ui_key(l->h.ui, &k, progress_clock());
        l->dirty = l->at_once = true;
        if (l->h.wants_leave) leave(l);
    }
}

static void take_news(struct loop *l)
{
    for (struct news *n = bridge_take(l->h.bridge), *next; n; n = next) {
        next = n->next;
        l->h.over = l->h.over || n->kind == NEWS_OVER;
        ui_news(l->h.ui, n);
        news_free(n);
        l->dirty = true;
    }
}

static void look_at_terminal(struct loop *l)
{
    struct err err = {0};
    const unsigned woken = screen_woken();
    int columns, rows;
    if (woken & SCREEN_CONTINUED && screen_resume(&err)) {
        l->gone = true;
        leave(l);
    }
    if (!woken) return;
    screen_size(&columns, &rows);
    ui_resize(l->h.ui, columns, rows);
    l->dirty = l->at_once = true;
}

/* What was signalled from outside: SIGINT is a Ctrl-C. */
static void look_at_signals(struct loop *l)
{
    const int sig = signals_pending();
    if (sig == 0) return;
    if (sig == SIGINT) {
        if (ui_busy(l->h.ui) || l->told_leave) return; /* the sessions' thread sees it */
        const struct key k = {.name = KEY_CHAR, .mods = KEY_CTRL, .rune = 'c', .text = "c", .n = 1};
        signals_forget_interrupt();
        ui_key(l->h.ui, &k, progress_clock());
        l->dirty = l->at_once = true;
        if (l->h.wants_leave) leave(l);
        return;
    }
    l->ending = sig;
    leave(l);
}

/* ------------------------------------------------------------------ the loop */

static int wait_ms(const struct loop *l)
{
    int ms = ui_busy(l->h.ui) ? TICK_MS : 5 * TICK_MS;
    const int keys = keys_wait_ms(&l->keys, now_ms());
    if (keys >= 0) ms = MIN(ms, keys);
    if (l->dirty) ms = MIN(ms, (int)MAX(l->drawn_ms + DRAW_MS - now_ms(), 0));
    return ms;
}

static void wait_for_something(struct loop *l)
{
    struct pollfd p[4] = {{.fd = l->gone ? -1 : STDIN_FILENO, .events = POLLIN},
                          {.fd = bridge_fd(l->h.bridge), .events = POLLIN},
                          {.fd = screen_wake_fd(), .events = POLLIN},
                          {.fd = signals_pending() ? -1 : signals_fd(), .events = POLLIN}};
    if (poll(p, COUNT_OF(p), wait_ms(l)) <= 0) return;
    if (p[0].revents) read_keys(l);
    if (p[2].revents) look_at_terminal(l);
}

static void draw(struct loop *l)
{
    struct err err = {0};
    const int64_t now = now_ms();
    if (l->gone || l->ending || !l->dirty) return;
    if (!l->at_once && now - l->drawn_ms < DRAW_MS) return;
    l->dirty = l->at_once = false;
    l->drawn_ms = now;
    if (screen_draw(ui_draw(l->h.ui), &err)) {
        l->gone = true;
        leave(l);
    }
}

static void run(struct loop *l)
{
    while (!l->h.over) {
        obey_keys(l);
        take_news(l);
        look_at_signals(l);
        if (ui_tick(l->h.ui, progress_clock()) && now_ms() - l->drawn_ms >= TICK_MS) l->dirty = true;
        draw(l);
        if (!l->h.over) wait_for_something(l);
    }
}

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

static int open_screen(struct loop *l, struct app *a, struct err *err)
{
    const struct screen_setup screen = {.in = STDIN_FILENO, .out = STDOUT_FILENO, .no_color = opts_getenv("NO_COLOR"),
                                        .theme = (enum theme)MAX(theme_find(a->o->theme), 0),
                                        .utf8 = wants_utf8(a->o)};
    if (screen_open(&screen, err)) return -1;
    struct ui_setup setup = {.utf8 = screen.utf8, .mono = screen_depth() == DEPTH_MONO, .live = true,
                             .stored = a->keeper != NULL, .crew = a->o->crew};
    screen_size(&setup.columns, &setup.rows);
    signals_before_exit(screen_suspend);
    if (tui_host_open(&l->h, a, &setup, err) == 0) return 0;
    signals_before_exit(NULL);
    screen_close();
    return -1;
}

/* What a person wants to know when the screen is gone. */
static void say_goodbye(const struct tui_host *h, int status)
{
    char id[9];
    if (tui_host_session(h, id)) say_dim("session %s is saved: plimsoll --resume %s goes on", id, id);
    if (status != EXIT_DONE && *h->last_error) say_error("%s", h->last_error);
}

int tui_run(struct app *a)
{
    struct loop l = {.drawn_ms = 0, .dirty = true};
    struct err err = {0};
    keys_open(&l.keys, ESCAPE_MS);
    if (open_screen(&l, a, &err)) {
        say("%s: a chat line by line", err.text);
        keys_close(&l.keys);
        return console_run(a);
    }
    run(&l);
    signals_before_exit(NULL);
    screen_close();
    int status = tui_host_close(&l.h);
    say_goodbye(&l.h, status);
    keys_close(&l.keys);
    if (l.ending) return 128 + l.ending;
    return l.gone && status == EXIT_DONE ? 128 + SIGHUP : status;
}
