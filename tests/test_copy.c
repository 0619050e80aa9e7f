/* The clipboard: what is sent is what is said to be, whole up to a bound, and never a part of a character. */
#include "app/tui/screen.h"
#include "tests/check.h"
#include "tests/vt.h"

enum { MOST = 100000 };

static struct vt v;
static struct err err;

static unsigned value_of(char c)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digit, c);
    CHECK(c && at);
    return (unsigned)(at - digit);
}

/* What the terminal's clipboard was sent last. */
static void clipboard(struct buf *out)
{
    static const char begin[] = "\033]52;c;";
    const size_t seen = v.obeyed;
    vt_settle(&v, screen_sent());
    const char *at = memmem(v.got.data + seen, v.got.len - seen, begin, sizeof begin - 1);
    CHECK(at != NULL);
    out->len = 0;
    for (at += sizeof begin - 1; *at != '\a'; at += 4) {
        unsigned bits = 0;
        for (int i = 0; i < 4; i++) bits = bits << 6 | (at[i] == '=' ? 0 : value_of(at[i]));
        const char three[] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
        buf_put(out, three, at[2] == '=' ? 1 : at[3] == '=' ? 2 : 3);
    }
}

static void copies(const struct buf *text, size_t n)
{
    struct buf got = {0};
    CHECK_EQ(screen_copy(text->data, text->len), n);
    clipboard(&got);
    CHECK_EQ(got.len, n);
    CHECK_MEM(got.data, text->data, n);
    buf_free(&got);
}

static void text_of(struct buf *b, size_t n, const char *more)
{
    b->len = 0;
    while (b->len < n) buf_put(b, "x", 1);
    buf_puts(b, more);
}

TEST(copy_is_whole_or_cut_between_characters_and_tells_how_much_it_was)
{
    struct screen_setup setup = {.term = "xterm-256color", .utf8 = true};
    struct buf text = {0};
    vt_open(&v, 20, 4, true);
    setup.in = setup.out = v.slave;
    CHECK_EQ(screen_open(&setup, &err), 0);
    for (size_t n = 1; n < 5; n++) text_of(&text, n, ""), copies(&text, n);
    text_of(&text, MOST, "");
    copies(&text, MOST);
    text_of(&text, MOST, "y");
    copies(&text, MOST);
    text_of(&text, MOST - 1, "\xc3\xa9"); /* it would not fit */
    copies(&text, MOST - 1);
    text_of(&text, MOST - 3, "\xf0\x9f\x98\x80zz");
    copies(&text, MOST - 3);
    text_of(&text, MOST - 4, "\xf0\x9f\x98\x80zz"); /* it just does */
    copies(&text, MOST);
    text_of(&text, 0, "");
    while (text.len < MOST + 9) buf_put(&text, "\x80", 1); /* no characters at all */
    copies(&text, MOST - 3);
    screen_suspend();
    CHECK_EQ(screen_copy("text", 4), 0); /* the terminal is somebody else's */
    screen_close();
    vt_close(&v);
    buf_free(&text);
}

CHECK_MAIN
