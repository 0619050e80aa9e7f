/* keys.h - from the bytes that a terminal sends to keys that a person pressed.
 *
 *     read() ──> keys_feed() ──> keys_next(), till it says none ──> struct key
 *                    └ a sequence cut between two reads waits for its rest, at most the time that keys_open() was given
 *
 * Understood are the sequences of xterm, tmux, screen, kitty, rxvt and the linux console, in normal and application
 * mode, with modifiers (also as CSI u and modifyOtherKeys).  ESC may begin any of them: it is the Escape key only when
 * nothing follows within the time limit, and Alt with the key that follows at once.  Replies of the terminal that
 * nobody asked for (OSC, DCS, unknown CSI) are no keys and are dropped.
 *
 * A paste (bracketed) is one event, however long: \r and \r\n in it are \n, NUL is dropped, bytes that are no UTF-8 are
 * U+FFFD.  It has at most KEYS_PASTE_MAX bytes (`cut` says that there were more), and ends by itself when its end
 * does not come within KEYS_PASTE_MS of its last byte.
 *
 * Pure: no terminal, no clock (the caller says what time it is).  Threads: one.  Errors: out of memory alone. */
#ifndef KEYS_H
#define KEYS_H
#include "plimsoll.h"

enum { KEYS_PASTE_MAX = 16 << 20, KEYS_PASTE_MS = 2000 };

enum key_name {
    KEY_CHAR,      /* rune and text; with Ctrl the letter is small: Ctrl-C is 'c' with KEY_CTRL */
    KEY_ENTER, KEY_TAB, KEY_BACKSPACE, KEY_ESCAPE, /* Ctrl-H is Backspace with KEY_CTRL, Shift-Tab Tab with KEY_SHIFT */
    KEY_UP, KEY_DOWN, KEY_LEFT, KEY_RIGHT, KEY_HOME, KEY_END, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_INSERT, KEY_DELETE,
    KEY_F1, KEY_F2, KEY_F3, KEY_F4, KEY_F5, KEY_F6, KEY_F7, KEY_F8, KEY_F9, KEY_F10, KEY_F11, KEY_F12,
    KEY_PASTE      /* text, n bytes */
};
enum { KEY_SHIFT = 1, KEY_ALT = 2, KEY_CTRL = 4 };

struct key {
    enum key_name name;
    unsigned mods;    /* KEY_SHIFT ... */
    uint32_t rune;    /* KEY_CHAR */
    const char *text; /* UTF-8 of KEY_CHAR and KEY_PASTE, NUL behind it; the decoder's, till its next call */
    size_t n;
    bool cut;         /* a paste of which the end was dropped */
};

struct keys {
    int64_t limit_ms, fed_ms;
    struct buf in;    /* not decoded yet: from `at` on */
    size_t at;
    struct buf paste; /* while one comes, then till the next call */
    struct buf clean; /* the paste as UTF-8 */
    int mode;         /* of keys.c: what the bytes belong to */
    bool cut;
    char text[8];
};

void keys_open(struct keys *k, int escape_ms);
void keys_close(struct keys *k);

/* n bytes came at now_ms, of any clock that does not go back.  0, or -1: no memory, they are lost. */
int keys_feed(struct keys *k, const char *bytes, size_t n, int64_t now_ms);
/* The next key; false: none yet. */
bool keys_next(struct keys *k, int64_t now_ms, struct key *key);
/* How long to wait for more before asking again, since what is there may then be a key (ESC alone); -1: no need to. */
int keys_wait_ms(const struct keys *k, int64_t now_ms);
#endif
