/* Keys from the bytes of terminals: their sequences, ESC alone, pastes, and bytes that are none of these. */
#include "app/tui/keys.h"
#include "tests/check.h"

enum { LIMIT = 25 };

static struct keys k;

/* A key as a word: C-A-S- before its name or its character. */
static const char *word(const struct key *key)
{
    static const char *const names[] = {
        "", "enter", "tab", "backspace", "escape", "up", "down", "left", "right", "home", "end", "pageup", "pagedown",
        "insert", "delete", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12", "paste:"};
    static char out[128];
    const char *text = key->name == KEY_CHAR || key->name == KEY_PASTE ? key->text : "";
    snprintf(out, sizeof out, "%s%s%s%s%s", key->mods & KEY_CTRL ? "C-" : "", key->mods & KEY_ALT ? "A-" : "",
             key->mods & KEY_SHIFT ? "S-" : "", names[key->name], text);
    return out;
}

/* All keys that are there at this time, with blanks between. */
static const char *keys_at(int64_t now)
{
    static char out[4096];
    size_t n = 0;
    struct key key;
    out[0] = '\0';
    while (keys_next(&k, now, &key)) {
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", n ? " " : "", word(&key));
    }
    return out;
}

static const char *fed(const char *bytes, size_t n, int64_t now)
{
    CHECK_EQ(keys_feed(&k, bytes, n, now), 0);
    return keys_at(now);
}

/* What the bytes are when they come at once, then when each comes by itself, then what silence makes of them. */
static void means(const char *bytes, size_t n, const char *expected)
{
    char singly[4096] = "";
    keys_open(&k, LIMIT);
    CHECK_STR(fed(bytes, n, 1000), expected);
    CHECK_EQ(keys_wait_ms(&k, 1000), -1);
    keys_close(&k);
    keys_open(&k, LIMIT);
    for (size_t i = 0; i < n; i++) {
        const char *some = fed(bytes + i, 1, 1000);
        if (*some && *singly) strcat(singly, " ");
        strcat(singly, some);
    }
    CHECK_STR(singly, expected);
    CHECK_STR(keys_at(9000), "");
    keys_close(&k);
}
#define MEANS(bytes, expected) means(bytes, sizeof(bytes) - 1, expected)

TEST(keys_characters_and_controls)
{
    MEANS("aZ~ 0", "a Z ~   0");
    MEANS("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    MEANS("\r\n\t\x7f\b", "enter C-j tab backspace C-backspace");
    MEANS("\x01\x03\x1a\x1c\x1f", "C-a C-c C-z C-\\ C-_");
    MEANS("\0", "C- ");
}

TEST(keys_bytes_that_are_no_utf8_are_one_replacement_each)
{
    MEANS("\x80\xff" "a", "\xef\xbf\xbd \xef\xbf\xbd a");
    MEANS("\xc0\xaf", "\xef\xbf\xbd \xef\xbf\xbd");
    MEANS("\xed\xa0\x80", "\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd"); /* a surrogate */
    MEANS("\xe2\x82" "a", "\xef\xbf\xbd a");
    MEANS("\xf0\x9f\x98\033[A", "\xef\xbf\xbd up");
    MEANS("\xf4\x90\x80\x80", "\xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd"); /* beyond U+10FFFF */
}

TEST(keys_arrows_and_the_block_above_them)
{
    MEANS("\033[A\033[B\033[C\033[D\033[H\033[F", "up down right left home end");
    MEANS("\033OA\033OB\033OC\033OD\033OH\033OF", "up down right left home end");
    MEANS("\033[1~\033[2~\033[3~\033[4~\033[5~\033[6~\033[7~\033[8~",
          "home insert delete end pageup pagedown home end");
}

TEST(keys_functions_of_xterm_the_console_and_rxvt)
{
    MEANS("\033OP\033OQ\033OR\033OS\033[15~\033[17~\033[18~\033[19~\033[20~\033[21~\033[23~\033[24~",
          "f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12");
    MEANS("\033[[A\033[[B\033[[C\033[[D\033[[E", "f1 f2 f3 f4 f5");
    MEANS("\033[11~\033[12~\033[13~\033[14~", "f1 f2 f3 f4");
    MEANS("\033[P\033[1;5Q\033[1;2R\033[15;3~", "f1 C-f2 S-f3 A-f5");
}

TEST(keys_modifiers)
{
    MEANS("\033[1;2A\033[1;3B\033[1;5C\033[1;8D\033[1;9H", "S-up A-down C-right C-A-S-left A-home");
    MEANS("\033[3;5~\033[Z\033[1;5Z", "C-delete S-tab C-S-tab");
    MEANS("\033[a\033Oc\033[5^\033[6$\033[7@\033\033[A", "S-up C-right C-pageup S-pagedown C-S-home A-up");
    MEANS("\033a\033\x7f\033\r\033\xc3\xa9\033\x01", "A-a A-backspace A-enter A-\xc3\xa9 C-A-a");
    MEANS("\033O5A\033[1;0A\033[1;999A", "C-up up up");
}

TEST(keys_codes_of_kitty_and_modify_other_keys)
{
    MEANS("\033[97;5u\033[13;2u\033[27u\033[9;5u\033[127;3u", "C-a S-enter escape C-tab A-backspace");
    MEANS("\033[27;5;13~\033[27;6;65~", "C-enter C-S-a");
    MEANS("\033[97;1:1u\033[97;1:3ub", "a b"); /* 3: let go */
    MEANS("\033[57441u\033[55296u\033[0u\033[1114112ux", "x");
}

TEST(keys_the_block_of_digits_in_application_mode) { MEANS("\033Op\033Oy\033Ok\033OM", "0 9 + enter"); }

TEST(keys_that_are_none_are_dropped_whole)
{
    MEANS("\033[?1;2cx\033[<0;12;7Mx\033[<0;12;7mx\033[?2026;2$yx\033[Ix", "x x x x x");
    MEANS("\033]11;rgb:00/00/00\033\\x\033]0;t\007x\033P1$r0m\033\\x\033_Gi=1\033\\x", "x x x x");
    MEANS("\033]0;half\033[Ax", "up x");
    MEANS("\033[1;\033[Bx", "down x"); /* a cut one, then a whole one */
    MEANS("\033[\001x\033[1\x80x", "C-a x \xef\xbf\xbd x");
    MEANS("\033[M !!x\033[M#\xa1\xffx\033[32;10;10Mx", "x x x"); /* a mouse that an earlier program asked for */
    MEANS("\033[201~x", "x"); /* an end without its start */
    MEANS("\033[99999999999999999999~x\033[1;2;3;4;5;6;7Ax", "x S-up x");
}

TEST(keys_escape_alone_waits_for_its_limit)
{
    keys_open(&k, LIMIT);
    CHECK_STR(fed("\033", 1, 100), "");
    CHECK_EQ(keys_wait_ms(&k, 100), LIMIT);
    CHECK_EQ(keys_wait_ms(&k, 110), LIMIT - 10);
    CHECK_STR(keys_at(100 + LIMIT - 1), "");
    CHECK_STR(keys_at(100 + LIMIT), "escape");
    CHECK_EQ(keys_wait_ms(&k, 200), -1);
    CHECK_STR(fed("\033", 1, 300), "");
    CHECK_STR(fed("[A", 2, 310), "up");
    CHECK_STR(fed("\033", 1, 400), "");
    CHECK_STR(keys_at(500), "escape");
    CHECK_STR(fed("[A", 2, 501), "[ A"); /* too late */
    keys_close(&k);
}

TEST(keys_silence_ends_what_began)
{
    static const struct { const char *bytes, *at_once, *then; } row[] = {
        {"\033\033", "", "escape escape"}, {"\033[", "", "A-["}, {"\033O", "", "A-O"}, {"\033]", "", "A-]"},
        {"\033[1;5", "", ""}, {"\033O5", "", ""}, {"\xe2\x82", "", "\xef\xbf\xbd"}, {"\033\xc3", "", "A-\xef\xbf\xbd"},
        {"\033]0;title", "", ""}, {"\033\033x", "escape A-x", ""}, {"\033\033[", "", ""}, {"\033[[", "", ""},
        {"\033[M !", "", ""}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        keys_open(&k, LIMIT);
        CHECK_STR(fed(row[i].bytes, strlen(row[i].bytes), 0), row[i].at_once);
        CHECK_STR(keys_at(LIMIT), row[i].then);
        CHECK_EQ(keys_wait_ms(&k, LIMIT), -1);
        CHECK_STR(fed("y", 1, LIMIT + 1), "y");
        keys_close(&k);
    }
}

/* ------------------------------------------------------------------ pastes */

TEST(keys_a_paste_is_one_event)
{
    MEANS("a\033[200~two\rlines\r\nof\ntext\033[A\003\033[201~b", "a paste:two\nlines\nof\ntext\033[A\003 b");
    MEANS("\033[200~\033[201~", "paste:");
    MEANS("\033[200~\033[20\033[201\033[201~x", "paste:\033[20\033[201 x");
    MEANS("\033[200~n\0ul \xff \xe2\x82\033[201~", "paste:nul \xef\xbf\xbd \xef\xbf\xbd");
    MEANS("\033[200~\xe2\x82\xac\033[200~\033[201~", "paste:\xe2\x82\xac\033[200~");
}

TEST(keys_a_paste_without_end_ends_by_itself)
{
    keys_open(&k, LIMIT);
    CHECK_STR(fed("\033[200~text\033[20", 14, 0), "");
    CHECK_EQ(keys_wait_ms(&k, 0), KEYS_PASTE_MS);
    CHECK_STR(keys_at(KEYS_PASTE_MS - 1), "");
    CHECK_STR(fed("x", 1, 1999), "");
    CHECK_STR(keys_at(2000), "");
    CHECK_STR(keys_at(1999 + KEYS_PASTE_MS), "paste:text\033[20x");
    CHECK_STR(fed("y", 1, 5000), "y");
    keys_close(&k);
}

TEST(keys_a_paste_beyond_the_limit_is_cut_and_says_so)
{
    enum { PIECE = 1 << 20 };
    char *piece = malloc(PIECE);
    CHECK(piece);
    memset(piece, 'p', PIECE);
    keys_open(&k, LIMIT);
    CHECK_STR(fed("\033[200~", 6, 0), "");
    for (int i = 0; i < 17; i++) CHECK_STR(fed(piece, PIECE, 0), "");
    struct key key;
    CHECK_EQ(keys_feed(&k, "\033[201~z", 7, 0), 0);
    CHECK(keys_next(&k, 0, &key) && key.name == KEY_PASTE && key.cut);
    CHECK_EQ(key.n, KEYS_PASTE_MAX);
    CHECK_STR(keys_at(0), "z");
    keys_close(&k);
    free(piece);
}

CHECK_MAIN
