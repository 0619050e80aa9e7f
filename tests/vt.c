/* vt.c - a small terminal. */
#include "tests/vt.h"
#include "tests/check.h"
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the grid */

static struct vt_cell *at(struct vt *v, int column, int row)
{
    CHECK(column >= 0 && column < v->columns && row >= 0 && row < v->rows);
    return &v->cell[row * v->columns + column];
}

/* The half of a wide character that is left when the other is written over is a blank. */
static void blank(struct vt *v, int column, int row, struct ink ink)
{
    struct vt_cell *c = at(v, column, row);
    if (c->width == 2 && column + 1 < v->columns) at(v, column + 1, row)->width = 1;
    if (c->width == 0 && column > 0) strcpy(at(v, column - 1, row)->text, " "), at(v, column - 1, row)->width = 1;
    *c = (struct vt_cell){.text = " ", .width = 1, .ink = ink};
}

static void erase(struct vt *v, int from, int to)
{
    struct ink ink = {-1, v->ink.back, 0}; /* as terminals with back colour erase do */
    for (int i = from; i < to; i++) blank(v, i % v->columns, i / v->columns, ink);
}

static void show(struct vt *v, const char *text, size_t n)
{
    unsigned char c = (unsigned char)text[0];
    uint32_t rune = n == 1 ? c : c & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) rune = rune << 6 | ((unsigned char)text[i] & 0x3f);
    if (rune >= 0x300 && rune < 0x370) { /* combines with the one before */
        strncat(at(v, v->column - 1, v->row)->text, text, n);
        return;
    }
    int width = rune >= 0x2e80 ? 2 : 1;
    CHECK(!v->wrap && v->column + width <= v->columns);
    for (int i = 0; i < width; i++) blank(v, v->column + i, v->row, v->ink);
    struct vt_cell *cell = at(v, v->column, v->row);
    snprintf(cell->text, sizeof cell->text, "%.*s", (int)n, text);
    cell->width = width;
    if (width == 2) *at(v, v->column + 1, v->row) = (struct vt_cell){.width = 0, .ink = v->ink};
    v->column += v->narrow ? 1 : width;
}

/* ------------------------------------------------------------------ commands */

/* skip: an empty parameter stands before the three of a colour, as in 38:2::R:G:B. */
static void colours(struct vt *v, const int *p, int n, int skip)
{
    for (int i = 0; i < n; i++) {
        static const struct { int n, attr; } attrs[] = {
            {1, LOOK_BOLD}, {3, LOOK_ITALIC}, {4, LOOK_UNDERLINE}, {5, LOOK_BLINK}, {7, LOOK_REVERSE}};
        int32_t *to = p[i] % 100 / 10 == 4 || p[i] >= 100 ? &v->ink.back : &v->ink.fore;
        size_t a = 0;
        while (a < COUNT_OF(attrs) && attrs[a].n != p[i]) a++;
        if (p[i] == 0) v->ink = (struct ink){-1, -1, 0};
        else if (a < COUNT_OF(attrs)) v->ink.attr |= (uint8_t)attrs[a].attr;
        else if ((p[i] == 38 || p[i] == 48) && i + 2 < n && p[i + 1] == 5) *to = p[i + 2], i += 2;
        else if ((p[i] == 38 || p[i] == 48) && i + 4 + skip < n && p[i + 1] == 2) {
            i += 4 + skip;
            *to = p[i - 2] << 16 | p[i - 1] << 8 | p[i];
        }
        else if ((p[i] >= 30 && p[i] < 38) || (p[i] >= 40 && p[i] < 48)) *to = p[i] % 10;
        else if ((p[i] >= 90 && p[i] < 98) || (p[i] >= 100 && p[i] < 108)) *to = p[i] % 10 + 8;
        else CHECK(p[i] == 39 || p[i] == 49);
    }
}

static void mode(struct vt *v, int number, bool on)
{
    if (number == 1049) v->other_screen = on;
    else if (number == 2004) v->paste = on;
    else if (number == 25) v->cursor = on;
    else if (number == 7) v->wrap = on;
    else if (number == 1) v->keypad = on;
    else CHECK(number == 12);
}

/* A command that begins with ESC: its length, 0 if it is not whole. */
static size_t obey(struct vt *v, const char *s, size_t n)
{
    int p[16] = {0}, n_params = 1;
    if (n < 2) return 0;
    if (s[1] == '=' || s[1] == '>') return 2;
    if (s[1] == '(') return n < 3 ? 0 : 3;
    if (s[1] == ']') { /* the clipboard: it shows nothing */
        const char *end = memchr(s, '\a', n);
        return end ? (size_t)(end - s) + 1 : 0;
    }
    CHECK_EQ(s[1], '[');
    size_t i = 2;
    for (; i < n && (s[i] == '?' || s[i] == ';' || s[i] == ':' || (s[i] >= '0' && s[i] <= '9')); i++) {
        if (s[i] == ';' || s[i] == ':') n_params++;
        else if (s[i] != '?') p[n_params - 1] = 10 * p[n_params - 1] + s[i] - '0';
        CHECK(n_params < 16);
    }
    if (i == n) return 0;
    switch (s[i]) {
    case 'H':
        v->row = MAX(p[0], 1) - 1;
        v->column = MAX(p[1], 1) - 1;
        break;
    case 'K': erase(v, v->row * v->columns + v->column, (v->row + 1) * v->columns); break;
    case 'J':
        erase(v, 0, v->columns * v->rows);
        v->clears++;
        break;
    case 'm': colours(v, p, n_params, memchr(s, ':', i) != NULL); break;
    case 'h': case 'l': mode(v, p[0], s[i] == 'h'); break;
    case 't': break; /* the window's title, put aside and taken back */
    default: check_fail(__FILE__, __LINE__, "unknown command, last byte %c", s[i]);
    }
    return i + 1;
}

static void obey_all(struct vt *v)
{
    while (v->obeyed < v->got.len) {
        const char *s = v->got.data + v->obeyed;
        size_t n = v->got.len - v->obeyed, used;
        unsigned char c = (unsigned char)s[0];
        if (c == 033) used = obey(v, s, n);
        else {
            used = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
            CHECK(c >= 0x20 && c != 0x7f);
            if (used > n) return; /* the rest of it is on its way */
            show(v, s, used);
        }
        if (used == 0) return;
        v->obeyed += used;
    }
}

/* ------------------------------------------------------------------ the pty */

static void *read_all(void *self)
{
    struct vt *v = self;
    char bytes[4096];
    for (;;) {
        ssize_t n = read(v->master, bytes, sizeof bytes);
        if (n <= 0) return NULL;
        pthread_mutex_lock(&v->lock);
        buf_put(&v->got, bytes, (size_t)n);
        pthread_mutex_unlock(&v->lock);
    }
}

void vt_resize(struct vt *v, int columns, int rows)
{
    struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};
    CHECK_EQ(ioctl(v->slave, TIOCSWINSZ, &size), 0);
    free(v->cell);
    v->columns = columns;
    v->rows = rows;
    v->cell = calloc((size_t)(columns * rows), sizeof *v->cell);
    CHECK(v->cell);
    for (int i = 0; i < columns * rows; i++) v->cell[i] = (struct vt_cell){.text = "#", .width = 1}; /* litter */
}

void vt_open(struct vt *v, int columns, int rows, bool reading)
{
    memset(v, 0, sizeof *v);
    CHECK_EQ(openpty(&v->master, &v->slave, NULL, NULL, NULL), 0);
    v->ink = (struct ink){-1, -1, 0};
    v->cursor = v->wrap = true;
    vt_resize(v, columns, rows);
    pthread_mutex_init(&v->lock, NULL);
    v->reading = reading;
    if (reading) CHECK_EQ(pthread_create(&v->reader, NULL, read_all, v), 0);
}

void vt_close(struct vt *v)
{
    close(v->slave); /* the reader sees the end of it */
    if (v->reading) pthread_join(v->reader, NULL);
    close(v->master);
    pthread_mutex_destroy(&v->lock);
    free(v->cell);
    buf_free(&v->got);
}

void vt_settle(struct vt *v, size_t sent)
{
    for (int i = 0; i < 10000; i++) {
        pthread_mutex_lock(&v->lock);
        bool all = v->got.len >= sent;
        if (all) obey_all(v);
        pthread_mutex_unlock(&v->lock);
        if (all) return;
        usleep(1000);
    }
    check_fail(__FILE__, __LINE__, "%zu of %zu bytes came", v->got.len, sent);
}

void vt_take(struct vt *v)
{
    char bytes[4096];
    ssize_t n;
    CHECK_EQ(fcntl(v->master, F_SETFL, O_NONBLOCK), 0);
    while ((n = read(v->master, bytes, sizeof bytes)) > 0) buf_put(&v->got, bytes, (size_t)n);
    obey_all(v);
}

/* ------------------------------------------------------------------ comparing */

void vt_same(const struct vt *v, const struct surface *s, enum theme theme, enum depth depth)
{
    CHECK_EQ(v->columns, s->columns);
    CHECK_EQ(v->rows, s->rows);
    for (int i = 0; i < s->columns * s->rows; i++) {
        const struct cell *want = &s->cell[i];
        const struct vt_cell *is = &v->cell[i];
        if (want->width == CELL_COVERED) {
            CHECK_EQ(is->width, 0);
            continue;
        }
        char text[CELL_BYTES + 1] = "";
        memcpy(text, want->text, CELL_BYTES);
        bool empty = !*text || strcmp(text, " ") == 0;
        struct ink ink = theme_ink(theme, depth, want->look);
        CHECK_STR(is->text, empty ? " " : text);
        CHECK_EQ(is->width, want->width);
        CHECK_EQ(is->ink.back, ink.back);
        uint8_t seen = empty ? LOOK_REVERSE | LOOK_UNDERLINE : 0xff; /* of a blank the rest does not show */
        CHECK_EQ(is->ink.attr & seen, ink.attr & seen);
        if (!empty || (ink.attr & seen)) CHECK_EQ(is->ink.fore, ink.fore);
    }
}
