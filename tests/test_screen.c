/* The terminal: what is drawn is what the surface has, little is sent for little, and it is given back as it was. */
#include "app/tui/screen.h"
#include "tests/check.h"
#include "tests/vt.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct vt v;
static struct surface s;
static struct err err;
static struct termios before;

/* ------------------------------------------------------------------ surfaces made by hand */

static void blank_surface(int columns, int rows)
{
    free(s.cell);
    s = (struct surface){columns, rows, calloc((size_t)(columns * rows), sizeof(struct cell)), -1, -1};
    CHECK(s.cell);
    for (int i = 0; i < columns * rows; i++) s.cell[i].width = 1;
}

/* Halves of wide clusters that lost the other become blanks, as surface.h has it. */
static void unpair(int column, int row)
{
    struct cell *c = &s.cell[row * s.columns + column];
    if (c->width == 2) c[1] = (struct cell){.width = 1, .look = c->look};
    if (c->width == CELL_COVERED) c[-1] = (struct cell){.width = 1, .look = c->look};
}

static void set(int column, int row, const char *text, int width, struct look look)
{
    struct cell *c = &s.cell[row * s.columns + column];
    for (int i = 0; i < width; i++) unpair(column + i, row);
    *c = (struct cell){.width = (uint8_t)width, .look = look};
    memcpy(c->text, text, MIN(strlen(text), (size_t)CELL_BYTES));
    if (width == 2) c[1] = (struct cell){.width = CELL_COVERED, .look = look};
}

static void puts_at(int column, int row, const char *text, struct look look)
{
    for (; *text; text++) set(column++, row, (char[]){*text, 0}, 1, look);
}

static uint64_t seed = 88172645463325252u;
static unsigned below(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % n;
}

static void random_cell(void)
{
    static const struct { const char *text; int width; } glyph[] = {
        {"a", 1}, {"Z", 1}, {" ", 1}, {"", 1}, {"\xe2\x96\x88", 1}, {"\xc3\xa9", 1}, {"e\xcc\x81", 1},
        {"\xe6\xbc\xa2", 2}, {"\xe5\xad\x97", 2}};
    unsigned g = below(COUNT_OF(glyph)), many = below(6) ? 1 : below(30);
    struct look look = {0};
    if (below(3)) look = (struct look){(uint8_t)below(HUES), (uint8_t)(below(3) ? 0 : below(HUES)), 0};
    if (below(4) == 0) look.attr = (uint8_t)below(32);
    int column = (int)below((unsigned)s.columns), row = (int)below((unsigned)s.rows);
    for (; many > 0 && column + glyph[g].width <= s.columns; many--, column += glyph[g].width) {
        set(column, row, glyph[g].text, glyph[g].width, look);
    }
}

/* ------------------------------------------------------------------ opening */

static void open_as(const char *term, int columns, int rows, const char *no_color, bool utf8)
{
    struct screen_setup setup = {.term = term, .no_color = no_color, .theme = THEME_DARK, .utf8 = utf8};
    vt_open(&v, columns, rows, true);
    setup.in = setup.out = v.slave;
    CHECK_EQ(tcgetattr(v.slave, &before), 0);
    if (screen_open(&setup, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    blank_surface(columns, rows);
}

static void open_screen(int columns, int rows) { open_as("xterm-256color", columns, rows, NULL, true); }

static uint64_t draw(void)
{
    uint64_t sent = screen_sent();
    CHECK_EQ(screen_draw(&s, &err), 0);
    vt_settle(&v, screen_sent());
    return screen_sent() - sent;
}

static void same_modes(void)
{
    struct termios now;
    CHECK_EQ(tcgetattr(v.slave, &now), 0);
    CHECK_EQ(now.c_iflag, before.c_iflag);
    CHECK_EQ(now.c_oflag, before.c_oflag);
    CHECK_EQ(now.c_cflag, before.c_cflag);
    CHECK_EQ(now.c_lflag, before.c_lflag);
    CHECK_MEM(now.c_cc, before.c_cc, sizeof now.c_cc);
}

static void as_found(void)
{
    same_modes();
    CHECK(!v.other_screen && !v.paste && !v.keypad && v.cursor && v.wrap);
    CHECK(v.ink.fore == -1 && v.ink.back == -1 && v.ink.attr == 0);
}

/* What is sent at the end is not counted: it is there when the terminal is on its first screen and shows its cursor. */
static void close_screen(void)
{
    screen_close();
    for (int i = 0; i < 5000 && (v.other_screen || !v.cursor); i++) {
        usleep(1000);
        vt_settle(&v, 0);
    }
    as_found();
    vt_close(&v);
    free(s.cell);
    s.cell = NULL;
}

/* ------------------------------------------------------------------ drawing */

TEST(screen_shows_what_the_surface_has)
{
    open_screen(30, 6);
    puts_at(2, 1, "plain", (struct look){0});
    puts_at(8, 1, "bold", (struct look){.hue = HUE_HEAD, .attr = LOOK_BOLD});
    puts_at(0, 2, "on a ground", (struct look){.ground = HUE_KV});
    puts_at(20, 5, "the corner", (struct look){.hue = HUE_ERROR, .attr = LOOK_REVERSE});
    set(3, 3, "\xe6\xbc\xa2", 2, (struct look){.hue = HUE_OK});
    set(28, 3, "\xe5\xad\x97", 2, (struct look){0});
    set(5, 3, "e\xcc\x81", 1, (struct look){0});
    s.cursor_column = 4;
    s.cursor_row = 5;
    draw();
    CHECK_EQ(screen_depth(), DEPTH_256);
    vt_same(&v, &s, THEME_DARK, DEPTH_256);
    CHECK(v.other_screen && v.paste && v.cursor && !v.wrap && v.column == 4 && v.row == 5);
    s.cursor_column = -1;
    draw();
    CHECK(!v.cursor);
    close_screen();
}

TEST(screen_any_change_of_a_surface_shows)
{
    open_screen(40, 12);
    for (int i = 0; i < 600; i++) {
        for (unsigned n = below(12); n > 0; n--) random_cell();
        if (below(3) == 0) s.cursor_column = (int)below(40), s.cursor_row = (int)below(12);
        if (below(9) == 0) s.cursor_column = -1;
        if (below(40) == 0) screen_forget();
        if (below(50) == 0) blank_surface(40, 12);
        draw();
        vt_same(&v, &s, THEME_DARK, DEPTH_256);
        CHECK_EQ(v.cursor, s.cursor_column >= 0);
        if (v.cursor) CHECK(v.column == s.cursor_column && v.row == s.cursor_row);
    }
    close_screen();
}

TEST(screen_sends_little_for_little)
{
    open_screen(120, 36);
    for (int r = 0; r < 36; r++) {
        for (int c = 0; c < 119; c++) set(c, r, "x", 1, (struct look){.hue = (uint8_t)(r % 3)});
    }
    s.cursor_column = s.cursor_row = 0;
    uint64_t whole = draw();
    CHECK(whole > 119 * 36 && whole < 119 * 36 + 36 * 30);
    CHECK_EQ(draw(), 0);
    set(60, 18, "y", 1, (struct look){0});
    uint64_t one = draw(); /* there, the letter (once a colour), back to the cursor */
    CHECK(one > 0 && one <= 8 + 7 + 1 + 8);
    set(60, 18, "x", 1, (struct look){.hue = HUE_ERROR});
    set(62, 18, "y", 1, (struct look){.hue = HUE_ERROR});
    CHECK(draw() <= 60);
    for (int c = 10; c < 120; c++) set(c, 20, "", 1, (struct look){0});
    CHECK(draw() <= 30); /* the rest of a line in one command */
    vt_same(&v, &s, THEME_DARK, DEPTH_256);
    close_screen();
}

TEST(screen_neighbours_are_reached_without_a_command)
{
    open_screen(80, 4);
    puts_at(0, 1, "abcdefghij", (struct look){0});
    draw();
    set(2, 1, "X", 1, (struct look){0});
    set(5, 1, "Y", 1, (struct look){0});
    CHECK_EQ(draw(), 6 + 4); /* ESC [ 2 ; 3 H X d e Y */
    vt_same(&v, &s, THEME_DARK, DEPTH_256);
    close_screen();
}

/* Behind a mark nobody is sure where the cursor is, so that cell is not sent again to get over it. */
TEST(screen_a_letter_with_a_mark_between_changes_stays_where_it_is)
{
    open_screen(20, 2);
    for (int i = 0; i < 2; i++) {
        set(0, 1, i ? "3" : "1", 1, (struct look){0});
        set(1, 1, "x\xcc\x82", 1, (struct look){0});
        set(2, 1, "a", 1, (struct look){0});
        set(3, 1, i ? "4" : "2", 1, (struct look){0});
        draw();
        vt_same(&v, &s, THEME_DARK, DEPTH_256);
    }
    close_screen();
}

TEST(screen_another_size_is_drawn_whole)
{
    open_screen(40, 10);
    puts_at(0, 0, "before", (struct look){0});
    draw();
    CHECK_EQ(v.clears, 1);
    int columns, rows;
    for (int i = 0; i < 40; i++) {
        int wide = 1 + (int)below(300), high = 1 + (int)below(100);
        vt_resize(&v, wide, high);
        screen_size(&columns, &rows);
        CHECK(columns == wide && rows == high);
        blank_surface(columns, rows);
        for (int n = 0; n < 50; n++) random_cell();
        draw();
        vt_same(&v, &s, THEME_DARK, DEPTH_256);
    }
    CHECK(v.clears >= 40);
    close_screen();
}

TEST(screen_a_broken_surface_is_drawn_without_harm)
{
    open_screen(10, 3);
    s.cell[9] = (struct cell){.text = "\xe6\xbc\xa2", .width = 2};  /* no room for its other half */
    s.cell[12] = (struct cell){.width = CELL_COVERED};              /* no first half */
    s.cell[15] = (struct cell){.text = "\033[2J", .width = 1};
    s.cell[17] = (struct cell){.text = "z", .width = 1, .look = {.hue = 255, .ground = 255}};
    s.cursor_column = 99;
    draw();
    CHECK_EQ(v.clears, 1);
    CHECK_STR(v.cell[9].text, " ");
    CHECK_STR(v.cell[12].text, " ");
    CHECK_STR(v.cell[15].text, "?");
    CHECK_STR(v.cell[17].text, "z");
    CHECK(!v.cursor);
    close_screen();
}

TEST(screen_a_terminal_of_another_mind_about_a_width_loses_no_more_than_that)
{
    open_screen(20, 2);
    v.narrow = true;
    for (int c = 0; c < 18; c += 3) {
        set(c, 0, "\xe6\xbc\xa2", 2, (struct look){0});
        set(c + 2, 0, "Z", 1, (struct look){0});
    }
    draw();
    for (int c = 2; c < 18; c += 3) CHECK_STR(v.cell[c].text, "Z");
    close_screen();
}

/* ------------------------------------------------------------------ terminals */

static bool direct_seen; /* terminfo's own command for 24 bits */

static void shows_in(const char *term, const char *no_color, enum depth depth)
{
    open_as(term, 40, 8, no_color, true);
    CHECK_EQ(screen_depth(), depth);
    for (int i = 0; i < 60; i++) {
        for (unsigned n = below(8); n > 0; n--) random_cell();
        draw();
        vt_same(&v, &s, THEME_DARK, depth);
    }
    direct_seen = memmem(v.got.data, v.got.len, "\033[38:2::", 8) != NULL;
    close_screen();
}

TEST(screen_no_color_and_fewer_colours)
{
    shows_in("xterm-256color", "1", DEPTH_MONO);
    shows_in("xterm-256color", "", DEPTH_256);
    shows_in("xterm", NULL, DEPTH_8);
}

/* Terminals of 24 bits, by the way tmux and kitty say it and by terminfo's own, compiled into a folder. */
static bool make_terminfo(const char *folder)
{
    char path[300], command[900];
    snprintf(path, sizeof path, "%s/t.ti", folder);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    fputs("plimsoll-tc|a test,\n\tTc, use=xterm-256color,\n"
          "plimsoll-direct|a test,\n\tRGB, colors#0x1000000, pairs#0x7fff,\n"
          "\tsetaf=\\E[38\\:2\\:\\:%p1%{65536}%/%d\\:%p1%{256}%/%{255}%&%d\\:%p1%{255}%&%dm,\n"
          "\tsetab=\\E[48\\:2\\:\\:%p1%{65536}%/%d\\:%p1%{256}%/%{255}%&%d\\:%p1%{255}%&%dm, use=xterm-256color,\n", f);
    CHECK_EQ(fclose(f), 0);
    snprintf(command, sizeof command, "tic -x -o %s/ti %s >/dev/null 2>&1", folder, path);
    return system(command) == 0;
}

/* In a child that is not root: for root ncurses looks at no TERMINFO. */
TEST(screen_24_bits_where_terminfo_says_so)
{
    const char *folder = check_tmpdir();
    if (!make_terminfo(folder)) SKIP("tic is not here");
    CHECK_EQ(chmod(folder, 0755), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        char path[300];
        snprintf(path, sizeof path, "%s/ti", folder);
        setenv("TERMINFO", path, 1);
        if (getuid() == 0 && (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))) _exit(3);
        shows_in("plimsoll-tc", NULL, DEPTH_RGB);
        shows_in("plimsoll-direct", NULL, DEPTH_RGB);
        if (!direct_seen) _exit(5);
        shows_in("plimsoll-direct", "1", DEPTH_MONO);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

TEST(screen_without_utf8_other_characters_are_question_marks)
{
    open_as("xterm-256color", 10, 1, NULL, false);
    set(0, 0, "\xc3\xa9", 1, (struct look){0});
    set(2, 0, "\xe6\xbc\xa2", 2, (struct look){0});
    set(4, 0, "a", 1, (struct look){0});
    draw();
    CHECK_STR(v.cell[0].text, "?");
    CHECK_STR(v.cell[2].text, "?");
    CHECK_STR(v.cell[3].text, " ");
    CHECK_STR(v.cell[4].text, "a");
    close_screen();
}

TEST(screen_says_what_is_no_terminal)
{
    struct screen_setup setup = {.term = "xterm-256color"};
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    setup.in = ends[0];
    setup.out = ends[1];
    CHECK_EQ(screen_open(&setup, &err), -1);
    CHECK(strstr(err.text, "no terminal"));
    vt_open(&v, 20, 5, true);
    setup.in = setup.out = v.slave;
    CHECK_EQ(tcgetattr(v.slave, &before), 0);
    static const char *const bad[] = {"no-such-terminal", "dumb", ""};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        setup.term = bad[i];
        CHECK_EQ(screen_open(&setup, &err), -1);
        CHECK(strstr(err.text, "TERM"));
        same_modes();
    }
    CHECK_EQ(v.got.len, 0);
    vt_close(&v);
    close(ends[0]);
    close(ends[1]);
}

/* ------------------------------------------------------------------ giving it back */

TEST(screen_suspended_is_given_back_and_resumed_is_drawn_whole)
{
    open_screen(20, 4);
    puts_at(0, 0, "text", (struct look){.hue = HUE_OK});
    draw();
    screen_suspend();
    for (int i = 0; i < 5000 && v.other_screen; i++) usleep(1000), vt_settle(&v, 0);
    as_found();
    size_t got = v.got.len;
    screen_suspend();                   /* nothing: the terminal is not ours */
    CHECK_EQ(screen_draw(&s, &err), 0);
    usleep(20000);
    CHECK_EQ(v.got.len, got);
    CHECK_EQ(screen_resume(&err), 0);
    CHECK_EQ(screen_draw(&s, &err), 0);
    for (int i = 0; i < 5000 && !(v.clears == 2 && v.cell[3].text[0] == 't'); i++) usleep(1000), vt_settle(&v, 0);
    vt_same(&v, &s, THEME_DARK, DEPTH_256);
    CHECK(v.other_screen && v.paste);
    close_screen();
}

TEST(screen_wakes_when_its_size_changes)
{
    open_screen(20, 4);
    CHECK_EQ(screen_woken(), 0);
    raise(SIGWINCH);
    struct pollfd wake = {.fd = screen_wake_fd(), .events = POLLIN};
    CHECK_EQ(poll(&wake, 1, 1000), 1);
    for (int i = 0; i < 100000; i++) raise(SIGWINCH); /* a storm fills nothing that anybody waits for */
    CHECK_EQ(screen_woken(), SCREEN_RESIZED);
    CHECK_EQ(screen_woken(), 0);
    CHECK_EQ(poll(&wake, 1, 0), 0);
    raise(SIGCONT);
    CHECK_EQ(screen_woken(), SCREEN_CONTINUED);
    close_screen();
}

TEST(screen_a_terminal_that_is_gone_is_an_error)
{
    struct screen_setup setup = {.term = "xterm-256color"};
    vt_open(&v, 20, 4, false);
    setup.in = setup.out = v.slave;
    CHECK_EQ(screen_open(&setup, &err), 0);
    blank_surface(20, 4);
    close(v.master);
    CHECK_EQ(screen_draw(&s, &err), -1);
    CHECK(strstr(err.text, "gone"));
    screen_close();
    vt_close(&v);
}

static volatile int *volatile nowhere;
static volatile sig_atomic_t told;
static void on_term(int sig) { told = sig; }

static int deeper(int frames) /* more than any stack has */
{
    volatile char here[4096];
    here[0] = (char)frames;
    return frames > 0 ? deeper(frames - 1) + here[0] : 0;
}

static void *stop_soon(void *unused) { return usleep(1000), raise(SIGTERM), unused; }

/* UBSan would end the program by itself, without a signal, before it writes to nowhere. */
__attribute__((no_sanitize("undefined"))) static void end_by(char how)
{
    pthread_t thread;
    switch (how) {
    case 's': *nowhere = 1; break;
    case 'o': told = deeper(1 << 20); break;
    case 'k': raise(SIGSEGV); break;
    case 'a': abort();
    case 't': raise(SIGTERM); break;
    case 'T': pthread_create(&thread, NULL, stop_soon, NULL), pthread_join(thread, NULL); break;
    case 'h': raise(SIGHUP); break;
    default: raise(SIGQUIT);
    }
}

/* Whoever starts tests in the background may have had them ignore SIGINT and SIGQUIT (sh does), and so may nohup SIGHUP;
 * what is ignored ends nobody. */
static void default_ends(void)
{
    static const int ends[] = {SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < COUNT_OF(ends); i++) signal(ends[i], SIG_DFL);
}

/* A child draws and ends so; the terminal must be as it was, and the child's end must be what it would have been. */
static int child_ends(char how)
{
    struct screen_setup setup = {.term = "xterm-256color"};
    vt_open(&v, 20, 4, false);
    CHECK_EQ(tcgetattr(v.slave, &before), 0);
    setup.in = setup.out = v.slave;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int null = open("/dev/null", O_WRONLY); /* a sanitizer's report */
        dup2(null, 2);
        default_ends();
        if (screen_open(&setup, &err)) _exit(3);
        blank_surface(20, 4);
        puts_at(0, 0, "drawn", (struct look){.hue = HUE_OK, .attr = LOOK_BOLD});
        screen_draw(&s, &err);
        end_by(how);
        _exit(4);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    vt_take(&v);
    CHECK_STR(v.cell[4].text, "n"); /* it had drawn */
    as_found();
    vt_close(&v);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static int sanitized(int expected, int end) { return end < 0 && end != -3 && end != -4 ? expected : end; }

TEST(screen_after_a_fault_the_terminal_is_as_it_was)
{
    CHECK_EQ(sanitized(SIGSEGV, child_ends('s')), SIGSEGV);
    CHECK_EQ(sanitized(SIGSEGV, child_ends('o')), SIGSEGV);
    CHECK_EQ(sanitized(SIGSEGV, child_ends('k')), SIGSEGV);
    CHECK_EQ(sanitized(SIGABRT, child_ends('a')), SIGABRT);
}

TEST(screen_after_a_signal_that_ends_the_terminal_is_as_it_was)
{
    CHECK_EQ(child_ends('t'), SIGTERM);
    CHECK_EQ(child_ends('T'), SIGTERM);
    CHECK_EQ(child_ends('h'), SIGHUP);
    CHECK_EQ(child_ends('q'), SIGQUIT);
}

TEST(screen_who_handled_a_signal_before_still_does)
{
    struct sigaction mine = {.sa_handler = on_term}, old, now;
    CHECK_EQ(sigaction(SIGTERM, &mine, &old), 0);
    open_screen(20, 4);
    draw();
    raise(SIGTERM);
    CHECK_EQ(told, SIGTERM);
    for (int i = 0; i < 5000 && v.other_screen; i++) usleep(1000), vt_settle(&v, 0);
    as_found();
    size_t got = v.got.len;
    puts_at(0, 0, "late", (struct look){0});
    CHECK_EQ(screen_draw(&s, &err), 0);
    screen_suspend();
    usleep(20000);
    CHECK_EQ(v.got.len, got);
    close_screen();
    CHECK_EQ(sigaction(SIGTERM, &old, &now), 0);
    CHECK(now.sa_handler == on_term);
}

TEST(screen_stopped_gives_the_terminal_back_until_it_goes_on)
{
    struct screen_setup setup = {.term = "xterm-256color"};
    vt_open(&v, 20, 4, false);
    CHECK_EQ(tcgetattr(v.slave, &before), 0);
    setup.in = setup.out = v.slave;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0); /* a job of ours: its group is not orphaned, whatever ours is */
        if (screen_open(&setup, &err)) _exit(3);
        blank_surface(20, 4);
        puts_at(0, 0, "drawn", (struct look){0});
        screen_draw(&s, &err);
        screen_stop();
        if (!(screen_woken() & SCREEN_CONTINUED) || screen_resume(&err) || screen_draw(&s, &err)) _exit(5);
        screen_stop();
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    CHECK(WIFSTOPPED(status));
    vt_take(&v);
    as_found();
    CHECK_EQ(v.clears, 1);
    kill(child, SIGCONT);
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    CHECK(WIFSTOPPED(status));
    vt_take(&v);
    as_found();
    CHECK_EQ(v.clears, 2);
    kill(child, SIGCONT);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    vt_close(&v);
}

/* As under ssh -t and docker run -it: nobody is there who could make it go on. */
TEST(screen_is_not_stopped_where_no_shell_could_continue_it)
{
    struct screen_setup setup = {.term = "xterm-256color"};
    vt_open(&v, 20, 4, false);
    CHECK_EQ(tcgetattr(v.slave, &before), 0);
    setup.in = setup.out = v.slave;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setsid(); /* its group is orphaned */
        if (screen_open(&setup, &err)) _exit(3);
        blank_surface(20, 4);
        puts_at(0, 0, "drawn", (struct look){0});
        for (int i = 0; i < 2; i++) {
            screen_stop();
            if (!(screen_woken() & SCREEN_CONTINUED) || screen_resume(&err) || screen_draw(&s, &err)) _exit(5);
        }
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    if (WIFSTOPPED(status)) kill(child, SIGKILL), waitpid(child, NULL, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    vt_take(&v);
    CHECK_STR(v.cell[4].text, "n");
    CHECK_EQ(v.clears, 2);
    vt_close(&v);
}

CHECK_MAIN
