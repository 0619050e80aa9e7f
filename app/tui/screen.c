/* screen.c - differences between two surfaces as commands of a terminal. */
#include "app/tui/screen.h"
#include "app/tui/leave.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <curses.h>
#include <term.h>
#undef columns /* names of terminfo that are macros */
#undef lines

_Static_assert((int)SCREEN_RESIZED == LEAVE_RESIZED && (int)SCREEN_CONTINUED == LEAVE_CONTINUED, "one set of bits");

enum { GAP = 4, LONG_FRAME = 256, LEAST_ERASED = 5, TYPED_MOST = 1 << 16 };

/* Terminfo's names of what is used, padding removed; NULL: the terminal has none. */
enum cap { CUP, CLEAR, EL, SMCUP, RMCUP, SMKX, RMKX, CIVIS, CNORM, RMAM, SMAM, SGR0, SETAF, SETAB,
           BOLD, SMUL, REV, SITM, BLINK, CAPS };
static const char *const cap_names[CAPS] = {
    "cup", "clear", "el", "smcup", "rmcup", "smkx", "rmkx", "civis", "cnorm", "rmam", "smam", "sgr0", "setaf", "setab",
    "bold", "smul", "rev", "sitm", "blink"};

static struct {
    bool open;
    int in, out;
    struct termios found, raw;
    TERMINAL *term;
    char *cap[CAPS];
    bool ansi;       /* its commands begin with ESC [ */
    bool rgb_as_ansi; /* 24 bits by ESC [ 38 ; 2, not by setaf */
    bool last_corner; /* the last cell of all may be written: nothing scrolls */
    bool utf8;
    enum theme theme;
    enum depth depth;
    struct ink ink[HUES][HUES]; /* of hue on ground */

    struct cell *cell; /* what is on the terminal */
    int columns, rows;
    bool known;        /* ... if this is so */
    int column, row;   /* where its cursor is; column -1: nobody knows */
    bool cursor_shown;
    struct ink now;
    bool now_known;
    struct buf text;
    struct buf typed;      /* before it was open */
    uint64_t sent;
} t;

/* ------------------------------------------------------------------ commands */

/* A command without its padding $<...>: no terminal of today waits. */
static char *unpadded(const char *cap)
{
    char *copy = strdup(cap), *to = copy;
    for (const char *from = copy; copy && *from;) {
        const char *end = from[0] == '$' && from[1] == '<' ? strchr(from, '>') : NULL;
        if (end) from = end + 1;
        else *to++ = *from++;
    }
    if (copy) *to = '\0';
    return copy;
}

static void put_cap(struct buf *b, enum cap cap)
{
    if (t.cap[cap]) buf_puts(b, t.cap[cap]);
}

static void put_cap_of(struct buf *b, enum cap cap, int x, int y)
{
    const char *s = t.cap[cap] ? tiparm(t.cap[cap], x, y) : NULL;
    if (s) buf_puts(b, s);
}

static void read_caps(void)
{
    for (int i = 0; i < CAPS; i++) {
        const char *cap = tigetstr(cap_names[i]);
        t.cap[i] = cap && cap != (char *)-1 && *cap ? unpadded(cap) : NULL;
    }
    const char *rgbs = tigetstr("RGB"), *fores = tigetstr("setrgbf");
    bool rgb = tigetflag("RGB") > 0 || tigetnum("RGB") > 0 || (rgbs && rgbs != (char *)-1);
    bool direct = tigetflag("Tc") > 0 || (fores && fores != (char *)-1);
    int colours = tigetnum("colors");
    t.ansi = t.cap[CUP] && strncmp(t.cap[CUP], "\033[", 2) == 0;
    t.rgb_as_ansi = colours < 1 << 24;
    t.last_corner = tigetflag("am") <= 0 || tigetflag("xenl") > 0 || t.cap[RMAM];
    if (!t.cap[SETAF] || !t.cap[SETAB]) colours = 0;
    bool all = (rgb && !t.rgb_as_ansi) || ((rgb || direct) && t.ansi && t.rgb_as_ansi);
    t.depth = theme_depth(colours, all, NULL);
}

/* ------------------------------------------------------------------ inks */

static void put_colour(struct ink was, int32_t colour, enum cap cap)
{
    if (colour < 0 || colour == (cap == SETAF ? was.fore : was.back)) return;
    if (t.depth == DEPTH_RGB && t.rgb_as_ansi) {
        buf_printf(&t.text, "\033[%d;2;%d;%d;%dm", cap == SETAF ? 38 : 48, colour >> 16 & 255, colour >> 8 & 255,
                   colour & 255);
    } else {
        bool palette = t.depth == DEPTH_RGB && colour < 8; /* there these numbers are of the palette; 0 is black */
        put_cap_of(&t.text, cap, palette ? 0 : colour, 0);
    }
}

static void set_ink(struct ink ink)
{
    static const struct { uint8_t attr; enum cap cap; } attr[] = {
        {LOOK_BOLD, BOLD}, {LOOK_UNDERLINE, SMUL}, {LOOK_REVERSE, REV}, {LOOK_ITALIC, SITM}, {LOOK_BLINK, BLINK}};
    bool less = (t.now.attr & ~ink.attr) || (t.now.fore >= 0 && ink.fore < 0) || (t.now.back >= 0 && ink.back < 0);
    if (!t.now_known || less) {
        put_cap(&t.text, SGR0);
        t.now = (struct ink){-1, -1, 0};
        t.now_known = true;
    }
    for (size_t i = 0; i < COUNT_OF(attr); i++) {
        if (ink.attr & ~t.now.attr & attr[i].attr) put_cap(&t.text, attr[i].cap);
    }
    put_colour(t.now, ink.fore, SETAF);
    put_colour(t.now, ink.back, SETAB);
    t.now = ink;
}

static struct ink ink_of(const struct cell *c)
{
    struct look look = c->look;
    struct ink ink = t.ink[look.hue < HUES ? look.hue : HUE_TEXT][look.ground < HUES ? look.ground : HUE_TEXT];
    if (t.depth == DEPTH_MONO) ink.attr ^= look.attr & LOOK_REVERSE;
    else ink.attr |= look.attr & LOOK_REVERSE;
    ink.attr |= look.attr & (uint8_t)~LOOK_REVERSE;
    return ink;
}

static void make_inks(void)
{
    for (unsigned i = 0; i < HUES * HUES; i++) {
        struct look look = {.hue = (uint8_t)(i / HUES), .ground = (uint8_t)(i % HUES)};
        t.ink[look.hue][look.ground] = theme_ink(t.theme, t.depth, look);
    }
}

/* ------------------------------------------------------------------ cells */

static bool is_blank(const struct cell *c)
{
    return c->width == 1 && (c->text[0] == '\0' || (c->text[0] == ' ' && c->text[1] == '\0'));
}

/* A blank shows only its ground: what one colour of glyph or another would write is the same. */
static bool shows_ground_alone(struct ink ink) { return !(ink.attr & (LOOK_REVERSE | LOOK_UNDERLINE)); }

static bool same(const struct cell *a, const struct cell *b)
{
    return a->width == b->width && a->look.hue == b->look.hue && a->look.ground == b->look.ground &&
           a->look.attr == b->look.attr && strncmp(a->text, b->text, CELL_BYTES) == 0;
}

/* The cluster as it is sent: nothing that a terminal obeys, and ASCII where it knows no more. */
static size_t sendable(const struct cell *c, char out[CELL_BYTES])
{
    size_t n = strnlen(c->text, CELL_BYTES);
    bool bad = n == 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)c->text[i];
        if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !t.utf8)) bad = true;
    }
    if (!bad) return memcpy(out, c->text, n), n;
    out[0] = n == 0 ? ' ' : '?';
    out[1] = ' ';
    return c->width == 2 ? 2 : 1;
}

static void put_cell(const struct cell *c)
{
    char out[CELL_BYTES];
    struct ink ink = ink_of(c);
    bool ground = is_blank(c) && t.now_known && shows_ground_alone(ink) && shows_ground_alone(t.now);
    if (!ground || ink.back != t.now.back) set_ink(ink);
    size_t n = sendable(c, out);
    buf_put(&t.text, out, n);
    t.column += c->width == 2 ? 2 : 1;
    bool sure = n == 1 || (c->width == 1 && ((unsigned char)out[0] >= 0xf0   ? n == 4
                                             : (unsigned char)out[0] >= 0xe0 ? n == 3
                                                                             : n == 2));
    if (!sure || t.column >= t.columns) t.column = -1;
}

/* The cursor to a cell; over a few that are there already by sending them again, where that is shorter. */
static void go(const struct cell *line, int column, int row)
{
    if (t.column == column && t.row == row) return;
    bool near = t.row == row && t.column >= 0 && t.column < column && column - t.column <= GAP && t.now_known;
    for (int i = t.column; near && i < column; i++) {
        struct ink ink = ink_of(&line[i]);
        const bool ascii = (unsigned char)line[i].text[0] < 0x80 && !line[i].text[1]; /* without a mark */
        near = line[i].width == 1 && ascii && ink.fore == t.now.fore && ink.back == t.now.back &&
               ink.attr == t.now.attr;
    }
    if (near) {
        while (t.column >= 0 && t.column < column) put_cell(&line[t.column]);
        return;
    }
    put_cap_of(&t.text, CUP, row, column);
    t.column = column;
    t.row = row;
}

/* The first cell of those that are blank without a ground up to the line's end. */
static int blank_from(const struct cell *line, int columns)
{
    int c = columns;
    while (c > 0 && is_blank(&line[c - 1])) {
        struct ink ink = ink_of(&line[c - 1]);
        if (ink.back >= 0 || !shows_ground_alone(ink)) break;
        c--;
    }
    return c;
}

static void erase_rest(const struct cell *line, int column, int row)
{
    go(line, column, row);
    if (!t.now_known || t.now.back >= 0 || !shows_ground_alone(t.now)) set_ink((struct ink){-1, -1, 0});
    put_cap(&t.text, EL);
}

/* A row of the surface as it may be drawn: halves of wide cells that have no other half are blanks. */
static void copy_row(struct cell *out, const struct cell *line, int columns)
{
    memcpy(out, line, (size_t)columns * sizeof *out);
    for (int c = 0; c < columns; c++) {
        bool wide = out[c].width == 2;
        bool whole = wide && c + 1 < columns && out[c + 1].width == CELL_COVERED;
        if (whole) c++;
        else if (out[c].width != 1) out[c] = (struct cell){.width = 1, .look = out[c].look};
    }
}

static void draw_row(const struct cell *line, int row)
{
    struct cell *last = t.cell + (size_t)row * (size_t)t.columns;
    int blank = blank_from(line, t.columns), end = t.columns, changed = 0;
    if (row == t.rows - 1 && !t.last_corner) end--;
    for (int c = blank; c < end; c++) changed += !same(&line[c], &last[c]);
    bool erase = t.cap[EL] && changed >= LEAST_ERASED;
    for (int c = 0; c < (erase ? blank : end); c++) {
        if (line[c].width == CELL_COVERED || same(&line[c], &last[c])) continue;
        go(line, c, row);
        put_cell(&line[c]);
    }
    if (erase) erase_rest(line, blank, row);
    memcpy(last, line, (size_t)t.columns * sizeof *last);
}

/* ------------------------------------------------------------------ frames */

static int send(const char *bytes, size_t n, struct err *err)
{
    for (size_t at = 0; at < n && leave_armed();) {
        ssize_t did = write(t.out, bytes + at, n - at);
        struct pollfd room = {.fd = t.out, .events = POLLOUT};
        if (did > 0) at += (size_t)did;
        else if (did < 0 && errno == EAGAIN) poll(&room, 1, -1);
        else if (did < 0 && errno != EINTR) return err_set(err, -1, "the terminal is gone: %s", strerror(errno));
    }
    t.sent += n;
    return 0;
}

/* Nothing is known of the terminal: it is cleared, and then all of it is blank. */
static int start_over(const struct surface *s, struct err *err)
{
    size_t n = (size_t)s->columns * (size_t)s->rows;
    struct cell *cell = calloc(n ? n : 1, sizeof *cell);
    if (!cell) return err_set(err, -1, "no memory for a screen of %d x %d", s->columns, s->rows);
    for (size_t i = 0; i < n; i++) cell[i].width = 1;
    free(t.cell);
    t.cell = cell;
    t.columns = s->columns;
    t.rows = s->rows;
    t.column = -1;
    t.now_known = false;
    set_ink((struct ink){-1, -1, 0});
    put_cap(&t.text, CLEAR);
    t.known = true;
    return 0;
}

static void place_cursor(const struct surface *s, bool hidden)
{
    bool show = s->cursor_column >= 0 && s->cursor_column < s->columns && s->cursor_row >= 0 && s->cursor_row < s->rows;
    if (show && (t.column != s->cursor_column || t.row != s->cursor_row)) {
        put_cap_of(&t.text, CUP, s->cursor_row, s->cursor_column);
        t.column = s->cursor_column;
        t.row = s->cursor_row;
    }
    if (show && (hidden || !t.cursor_shown)) put_cap(&t.text, CNORM);
    if (!show && t.cursor_shown && !hidden) put_cap(&t.text, CIVIS);
    t.cursor_shown = show;
}

int screen_draw(const struct surface *s, struct err *err)
{
    if (!leave_armed()) return 0;
    bool whole = !t.known || s->columns != t.columns || s->rows != t.rows;
    t.text.len = 0;
    if (whole && start_over(s, err)) return -1;
    struct cell *line = calloc(s->columns > 0 ? (size_t)s->columns : 1, sizeof *line);
    if (!line) return err_set(err, -1, "no memory for a line of %d columns", s->columns);
    for (int row = 0; row < s->rows; row++) {
        copy_row(line, s->cell + (size_t)row * (size_t)s->columns, s->columns);
        draw_row(line, row);
    }
    free(line);
    bool hide = t.cursor_shown && t.text.len > LONG_FRAME; /* else it would be seen to jump */
    if (hide && t.cap[CIVIS] && send(t.cap[CIVIS], strlen(t.cap[CIVIS]), err)) return -1;
    place_cursor(s, hide);
    if (t.text.failed) {
        buf_free(&t.text);
        t.known = false;
        return err_set(err, -1, "no memory for what the terminal is sent");
    }
    return send(t.text.data, t.text.len, err);
}

void screen_forget(void) { t.known = false; }

uint64_t screen_sent(void) { return t.sent; }

/* ------------------------------------------------------------------ taking the terminal, giving it back */

static int enter(struct err *err)
{
    leave_arm();
    if (tcsetattr(t.in, TCSADRAIN, &t.raw)) {
        leave_now();
        return err_set(err, -1, "the terminal's modes cannot be set: %s", strerror(errno));
    }
    t.text.len = 0;
    put_cap(&t.text, SMCUP);
    put_cap(&t.text, SMKX);
    put_cap(&t.text, RMAM);
    put_cap(&t.text, CIVIS);
    if (t.ansi) buf_puts(&t.text, "\033[?2004h");
    t.cursor_shown = t.known = false;
    return t.text.failed ? err_set(err, -1, "no memory") : send(t.text.data, t.text.len, err);
}

static int prepare_leave(struct err *err)
{
    struct buf back = {0};
    if (t.ansi) buf_puts(&back, "\033[?2004l");
    put_cap(&back, SGR0);
    put_cap(&back, SMAM);
    put_cap(&back, RMKX);
    put_cap(&back, t.cap[RMCUP] ? RMCUP : CLEAR);
    put_cap(&back, CNORM);
    int bad = back.failed ? err_set(err, -1, "no memory")
                          : leave_open(t.in, t.out, &t.found, back.data ? back.data : "", back.len, err);
    buf_free(&back);
    return bad;
}

/* What the terminal is and can; 0, or -1. */
static int look_up(const struct screen_setup *setup, struct err *err)
{
    int why = 0;
    const char *name = setup->term ? setup->term : getenv("TERM");
    if (!name || !*name) return err_set(err, -1, "TERM does not say which terminal this is");
    if (tcgetattr(setup->in, &t.found)) return err_set(err, -1, "no terminal to read keys from: %s", strerror(errno));
    if (!isatty(setup->out)) return err_set(err, -1, "no terminal to draw on: %s", strerror(errno));
    if (setupterm(name, setup->out, &why) == ERR || why != 1) {
        return err_set(err, -1, "terminfo does not know the terminal \"%.60s\" (TERM)", name);
    }
    t.term = cur_term;
    read_caps();
    if (!t.cap[CUP] || !t.cap[CLEAR]) {
        return err_set(err, -1, "the terminal \"%.60s\" (TERM) cannot place its cursor", name);
    }
    return 0;
}

/* What was typed while the program began came through the terminal's own editor of lines, which made a newline of
 * Enter and a NUL of Ctrl-D: as keys they are Enter and nothing. */
static void take_typed(void)
{
    char bytes[4096];
    int waits = 0;
    const bool newlines = t.found.c_iflag & ICRNL;
    while (t.typed.len < TYPED_MOST && ioctl(t.in, FIONREAD, &waits) == 0 && waits > 0) {
        const ssize_t n = read(t.in, bytes, (size_t)MIN(waits, (int)sizeof bytes));
        if (n <= 0) return;
        for (ssize_t i = 0; i < n; i++)
            if (bytes[i]) buf_put(&t.typed, newlines && bytes[i] == '\n' ? "\r" : &bytes[i], 1);
    }
}

const char *screen_typed(size_t *n)
{
    *n = t.typed.len;
    return t.typed.data ? t.typed.data : "";
}

int screen_open(const struct screen_setup *setup, struct err *err)
{
    assert(!t.open);
    memset(&t, 0, sizeof t);
    t.open = true;
    t.in = setup->in;
    t.out = setup->out;
    t.utf8 = setup->utf8;
    t.theme = setup->theme;
    if (look_up(setup, err)) {
        screen_close();
        return -1;
    }
    if (setup->no_color && *setup->no_color) t.depth = DEPTH_MONO;
    make_inks();
    t.raw = t.found;
    cfmakeraw(&t.raw);
    t.raw.c_cc[VMIN] = 1;
    t.raw.c_cc[VTIME] = 0;
    if (prepare_leave(err) || enter(err)) {
        screen_close();
        return -1;
    }
    if (t.found.c_lflag & ICANON) take_typed();
    return 0;
}

void screen_close(void)
{
    if (!t.open) return;
    leave_close();
    for (int i = 0; i < CAPS; i++) free(t.cap[i]);
    if (t.term) del_curterm(t.term);
    free(t.cell);
    buf_free(&t.text);
    buf_free(&t.typed);
    memset(&t, 0, sizeof t);
}

void screen_size(int *columns, int *rows)
{
    struct winsize size;
    bool known = ioctl(t.out, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    *columns = known ? MIN((int)size.ws_col, SURFACE_MAX) : 80;
    *rows = known ? MIN((int)size.ws_row, SURFACE_MAX) : 24;
}

enum depth screen_depth(void) { return t.depth; }

void screen_theme(enum theme theme)
{
    t.theme = theme;
    make_inks();
    t.known = false;
}

void screen_suspend(void) { leave_now(); }

int screen_resume(struct err *err) { return enter(err); }

void screen_stop(void) { raise(SIGTSTP); }

int screen_wake_fd(void) { return leave_wake_fd(); }

unsigned screen_woken(void) { return leave_woken(); }

/* ------------------------------------------------------------------ the clipboard */

enum { COPY_MOST = 100000 };

/* Not through a character. */
static size_t copied(const char *text, size_t n)
{
    size_t len = MIN(n, (size_t)COPY_MOST);
    for (int i = 0; i < 3 && len > 0 && len < n && ((unsigned char)text[len] & 0xc0) == 0x80; i++) len--;
    return len;
}

/* Base64 (RFC 4648) within OSC 52 (xterm's control sequences). */
size_t screen_copy(const char *text, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct buf b = {0};
    if (!leave_armed()) return 0;
    n = copied(text, n);
    buf_puts(&b, "\033]52;c;");
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = 0;
        for (size_t k = 0; k < 3; k++) v = v << 8 | (i + k < n ? (unsigned char)text[i + k] : 0);
        char four[4] = {digit[v >> 18], digit[v >> 12 & 63], digit[v >> 6 & 63], digit[v & 63]};
        if (i + 2 >= n) four[3] = '=';
        if (i + 1 >= n) four[2] = '=';
        buf_put(&b, four, 4);
    }
    buf_puts(&b, "\a");
    const bool bad = b.failed || send(b.data, b.len, &(struct err){0});
    buf_free(&b);
    return bad ? 0 : n;
}
