/* term_rig.h - the program in a terminal of its own, and what that shows (vt.h).  Header only. */
#ifndef TERM_RIG_H
#define TERM_RIG_H
#include "tests/check.h"
#include "tests/child.h"
#include "tests/vt.h"
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define TERM_RIG __attribute__((unused)) static

TERM_RIG struct child c;
TERM_RIG struct vt vt;
TERM_RIG const struct child_terminal wide = {.term = "xterm-256color", .columns = 120, .rows = 36};

/* Starts, and waits until the screen is open. */
static inline void open_screen(const char *const *args, const struct child_terminal *t)
{
    child_free(&c);
    child_start_in(&c, args, t);
    child_wait_for(&c, "\033[?1049h");
    vt_open(&vt, t->columns, t->rows, false);
    buf_put(&vt.got, c.out_text.data, c.out_text.len); /* drawn already */
    c.out_text.len = 0;
    CHECK(dup2(c.in, vt.master) == vt.master);
}

/* What it shows now, a row a line. */
static inline const char *screen_now(void)
{
    static char text[1 << 16];
    size_t n = 0;
    vt_take(&vt);
    for (int i = 0; i < vt.columns * vt.rows && n < sizeof text - 64; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", vt.cell[i].width > 0 ? vt.cell[i].text : "");
        if ((i + 1) % vt.columns == 0) text[n++] = '\n';
    }
    text[n] = '\0';
    return text;
}

static inline bool screen_has(const char *part) { return strstr(screen_now(), part) != NULL; }

static inline void look_until(const char *part, bool there)
{
    for (int ms = 0; screen_has(part) != there; ms += 20) {
        if (ms > 1000 * CHILD_PATIENCE)
            check_fail(__FILE__, __LINE__, "\"%s\" is %s shown:\n%s", part, there ? "not" : "still", screen_now());
        struct pollfd p = {.fd = vt.master, .events = POLLIN};
        poll(&p, 1, 20);
    }
}

static inline void look_for(const char *part) { look_until(part, true); }

static inline void press(const char *keys)
{
    child_type(&c, keys, strlen(keys));
    buf_put(&vt.got, c.out_text.data, c.out_text.len); /* that came meanwhile */
    c.out_text.len = 0;
}

/* Nothing is looked at any more: the exit status.  What it says behind its screen is in c.out_text. */
static inline int close_screen(void)
{
    int status = child_end(&c);
    vt_close(&vt);
    return status;
}
#endif
