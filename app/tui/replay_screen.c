/* replay_screen.c - see replay_screen.h. */
#include "app/tui/replay_screen.h"
#include "app/app.h"
#include "app/progress.h"
#include "app/say.h"
#include "app/signals.h"
#include "app/stream.h"
#include "app/tui/loop.h"
#include "app/tui/screen.h"
#include "app/tui/tape.h"
#include "app/tui/tui.h"
#include "app/tui/ui.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLICE 0.02 /* seconds of work between two looks at the keys */

struct player {
    struct stream stream; /* that is read for its marks */
    struct tape tape;
    struct ui *ui;
    struct buf line;      /* of the event that is shown next */
    double then;          /* when time passed last, by progress_clock() */
    bool asked[DOC_KINDS];
    struct doc_ask ask[DOC_KINDS];
    bool leaving;
    char error[240];      /* why no more is read or shown; "": it is */
};

/* ------------------------------------------------------------------ keys */

static const struct ui_own_key own_keys[] = {
    {"Space", "pauses, and goes on", "pause"},
    {"Left/Right", "to where the turn began, or the one before; to the next turn", "turns"},
    {"+/-", "twice as fast, up to 8 times; half as fast", "speed"},
    {"g/G", "to the beginning, to the end", "begin, end"},
    {"q", "leaves", "leave"},
    {"PgUp, PgDn, Ctrl-Home, Ctrl-End", "scroll the conversation", NULL},
    {"Ctrl-F", "searches the conversation: Enter the next, Up the one before, Esc ends", NULL},
    {"Ctrl-B", "marks a row of it: Enter folds and opens, c copies, Esc ends", NULL},
    {"Ctrl-N", "looks at the next agent", NULL},
};

/* Of the conversation: scrolling, Ctrl-F, Ctrl-B, Ctrl-N. */
static bool is_chats(const struct key *k)
{
    const bool ctrl = k->mods == KEY_CTRL;
    if (k->name == KEY_CHAR) return ctrl && (k->rune == 'f' || k->rune == 'b' || k->rune == 'n');
    if (k->name == KEY_HOME || k->name == KEY_END) return ctrl;
    return k->name == KEY_PAGE_UP || k->name == KEY_PAGE_DOWN;
}

/* true: it means something, or would be typed where there is nothing to type into. */
static bool obey(void *self, const struct key *k)
{
    struct player *p = self;
    struct tape *t = &p->tape;
    if (k->name == KEY_LEFT && !k->mods) tape_turn_before(t);
    else if (k->name == KEY_RIGHT && !k->mods) tape_next_turn(t);
    if (k->name != KEY_CHAR || k->mods & (KEY_CTRL | KEY_ALT)) return !is_chats(k);
    switch (k->rune) {
    case ' ': t->paused = !t->paused; break;
    case '+': tape_faster(t, true); break;
    case '-': tape_faster(t, false); break;
    case 'g': tape_go(t, false); break;
    case 'G': tape_go(t, true); break;
    case 'q': p->leaving = true; break;
    case '?': return false;
    default: break;
    }
    return true;
}

static void leave(void *self) { ((struct player *)self)->leaving = true; }
static size_t copy(void *self, const char *text, size_t n) { return (void)self, screen_copy(text, n); }
static void redraw(void *self) { (void)self, screen_forget(); }
static void suspend(void *self) { (void)self, screen_stop(); }

/* Answered behind the key that led to it: a view that asks is not done yet. */
static void ask(void *self, const struct doc_ask *what)
{
    struct player *p = self;
    p->ask[what->kind] = *what;
    p->asked[what->kind] = true;
}

/* ------------------------------------------------------------------ what is shown */

static void say_no_docs(struct player *p)
{
    for (int kind = 0; kind < DOC_KINDS; kind++) {
        struct news n = {.kind = NEWS_DOC, .doc.ask = p->ask[kind]};
        if (!p->asked[kind]) continue;
        p->asked[kind] = false;
        snprintf(n.doc.error, sizeof n.doc.error, "recorded: this is not in a stream of events");
        ui_news(p->ui, &n);
    }
}

/* What is wrong with a line: for the log. */
static void on_line(void *self, enum say_kind kind, const char *text, size_t n)
{
    struct player *p = self;
    struct news news = {.kind = NEWS_LINE, .value = kind == SAY_ERROR ? SAY_PLAIN : kind, .said = true};
    buf_put(&news.text, text, n);
    if (!news.text.failed) ui_news(p->ui, &news);
    buf_free(&news.text);
}

/* The next event of the file is put on the tape. */
static bool read_mark(struct player *p)
{
    struct stream *s = &p->stream;
    if (signals_pending()) return false; /* it would end the stream */
    if (!stream_next(s)) {
        p->tape.whole = true;
        return false;
    }
    const off_t behind = lseek(s->in.fd, 0, SEEK_CUR);
    const uint64_t at = (uint64_t)behind - s->in.bytes.len;
    if (behind >= 0 && tape_put(&p->tape, at, (uint32_t)s->n, s->event.time, s->event.kind == EV_TURN_USER) == 0)
        return true;
    snprintf(p->error, sizeof p->error, "the stream is not read to its end: %s",
             behind < 0 ? strerror(errno) : "no memory");
    p->tape.whole = true;
    return false;
}

static bool read_line(struct player *p, const struct tape_mark *m)
{
    const int fd = p->stream.in.fd;
    p->line.len = 0;
    while (p->line.len < m->n) {
        char bytes[65536];
        ssize_t n = pread(fd, bytes, MIN(m->n - p->line.len, sizeof bytes), (off_t)(m->at + p->line.len));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        buf_put(&p->line, bytes, (size_t)n);
        if (p->line.failed) return false;
    }
    return true;
}

static void show_next(struct player *p)
{
    struct err err = {0};
    struct news n = {.kind = NEWS_EVENT};
    if (!read_line(p, &p->tape.mark[p->tape.shown++])) {
        snprintf(p->error, sizeof p->error, "the file has changed, or cannot be read any more");
    } else if (event_read(p->line.data, p->line.len, &n.event, &err)) {
        snprintf(p->error, sizeof p->error, "the file has changed: %.180s", err.text);
    } else {
        ui_news(p->ui, &n);
        event_free(&n.event);
    }
}

/* ------------------------------------------------------------------ what the loop calls */

static void press(void *self, const struct key *k) { ui_key(((struct player *)self)->ui, k, progress_clock()); }
static void resize(void *self, int columns, int rows) { ui_resize(((struct player *)self)->ui, columns, rows); }

static bool step(void *self)
{
    struct player *p = self;
    struct tape *t = &p->tape;
    const double begun = progress_clock();
    say_no_docs(p);
    tape_pass(t, fmin(begun - p->then, 1)); /* no more, when it was stopped meanwhile */
    p->then = begun;
    const bool any = t->shown != t->due, reading = !t->whole;
    if (t->shown > t->due) {
        ui_begin_again(p->ui);
        t->shown = 0;
    }
    while (t->shown < t->due && !*p->error && progress_clock() - begun < SLICE) show_next(p);
    while (!t->whole && progress_clock() - begun < SLICE && read_mark(p)) {
    }
    if (*p->error) p->leaving = true;
    return any || (reading && t->whole);
}

static bool tick(void *self)
{
    struct player *p = self;
    return ui_tick(p->ui, progress_clock()) || !p->tape.whole;
}

static int wait_ms(void *self)
{
    const struct player *p = self;
    const double wait = p->tape.whole ? tape_wait(&p->tape) : 0;
    return (int)fmin(ceil(1e3 * wait), 5 * LOOP_TICK_MS);
}

static void interrupt(void *self)
{
    signals_forget_interrupt();
    press(self, &(struct key){.name = KEY_CHAR, .mods = KEY_CTRL, .rune = 'c', .text = "c", .n = 1});
}

static bool over(void *self) { return ((struct player *)self)->leaving; }

static const struct surface *draw(void *self)
{
    struct player *p = self;
    char words[80];
    tape_words(&p->tape, words);
    ui_recorded(p->ui, words, tape_part(&p->tape));
    return ui_draw(p->ui);
}

static const struct loop_ops ops = {.key = press, .resize = resize, .step = step, .tick = tick, .wait_ms = wait_ms,
                                    .interrupt = interrupt, .leave = leave, .over = over, .draw = draw};

/* ------------------------------------------------------------------ open and close */

static int open_file(struct player *p, const char *file, struct err *err)
{
    struct stat st;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, -1, "replay --screen needs a terminal; without one: plimsoll replay --text");
    if (!file || strcmp(file, "-") == 0)
        return err_set(err, -1, "replay --screen needs a FILE: what is typed is for the screen");
    if (stream_open(&p->stream, file, err)) return -1;
    if (fstat(p->stream.in.fd, &st) == 0 && S_ISREG(st.st_mode)) return 0;
    stream_close(&p->stream);
    return err_set(err, -1, "%.200s is no regular file: one is needed, to go back in it", file);
}

static int open_screen(struct player *p, struct err *err)
{
    char name[] = "plimsoll", *argv[] = {name, NULL};
    struct opts o;
    struct ui_setup setup = {.own = own_keys, .owns = (int)COUNT_OF(own_keys)};
    const struct ui_host host = {.self = p, .ask = ask, .copy = copy, .suspend = suspend, .redraw = redraw,
                                 .leave = leave, .key = obey};
    int bad = opts_parse(&o, 1, argv, NULL, err); /* the theme, as for a session */
    if (!bad) bad = signals_open(err) || tui_open_screen(&o, &setup, err);
    opts_free(&o);
    if (bad) return -1;
    p->ui = ui_open(&setup, &host, err);
    if (p->ui) return 0;
    tui_close_screen();
    return -1;
}

static int close_all(struct player *p)
{
    const int64_t wrong = p->stream.wrong;
    int status = stream_close(&p->stream);
    say_divert(NULL, NULL);
    tui_close_screen();
    if (wrong > 0) say_error("%lld line%s no event%s (plimsoll events --check names them)", (long long)wrong,
                             wrong == 1 ? " was" : "s were", plural(wrong));
    if (*p->error) say_error("%s", p->error);
    ui_close(p->ui);
    tape_free(&p->tape);
    buf_free(&p->line);
    return *p->error ? EXIT_USAGE : status;
}

int replay_screen(const char *file)
{
    struct player p = {.leaving = false};
    struct loop l;
    struct err err = {0};
    tape_open(&p.tape);
    int bad = open_file(&p, file, &err);
    if (!bad && (bad = open_screen(&p, &err))) stream_close(&p.stream);
    if (bad) {
        say_error("%s", err.text);
        return EXIT_USAGE;
    }
    say_divert(on_line, &p);
    p.then = progress_clock();
    loop_run(&l, &ops, &p, -1);
    const int status = close_all(&p);
    if (l.ending) return 128 + l.ending;
    return l.gone ? 128 + SIGHUP : status;
}
