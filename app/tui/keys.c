/* keys.c - one look at the bytes that are there: a key, no key, or too few of them to say. */
#include "app/tui/keys.h"
#include "engine/text.h"

enum { MODE_KEYS, MODE_PASTE, MODE_STRING };
enum { SEQUENCE_MAX = 64, PARAMS = 3, CODE_PASTE = 200 };

static const char paste_end[] = "\033[201~";

/* What was found: used bytes (0: more are needed), and whether they are a key or the start of something longer. */
struct found { size_t used; bool key; int mode; };

/* ------------------------------------------------------------------ characters */

/* Bytes of the character that c begins and the range of the byte behind it (table 3-7 of the Unicode Standard); 0: c
 * begins none. */
static int utf8_length(unsigned char c, unsigned char *low, unsigned char *high)
{
    *low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    *high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    return c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
}

static struct found found_char(const unsigned char *b, size_t n, bool final, struct key *key)
{
    unsigned char low, high;
    int length = utf8_length(b[0], &low, &high);
    uint32_t rune = length < 2 ? b[0] : b[0] & (0x7fu >> length);
    size_t i = 1;
    for (; i < (size_t)length && i < n && b[i] >= low && b[i] <= high; i++) {
        rune = rune << 6 | (b[i] & 0x3f);
        low = 0x80;
        high = 0xbf;
    }
    if (i < (size_t)length && i == n && !final) return (struct found){0};
    key->name = KEY_CHAR;
    key->rune = length > 0 && i == (size_t)length ? rune : 0xfffd;
    return (struct found){i, true, 0};
}

static size_t utf8_put(char *out, uint32_t rune)
{
    size_t more = rune < 0x80 ? 0 : rune < 0x800 ? 1 : rune < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    for (size_t i = more; i > 0; i--, rune >>= 6) out[i] = (char)(0x80 | (rune & 0x3f));
    out[0] = (char)(lead[more] | rune);
    out[more + 1] = '\0';
    return more + 1;
}

/* A byte below 0x20, or DEL. */
static void control_key(unsigned char c, struct key *key)
{
    if (c == '\r') key->name = KEY_ENTER;
    else if (c == '\t') key->name = KEY_TAB;
    else if (c == 0x7f) key->name = KEY_BACKSPACE;
    else if (c == '\b') *key = (struct key){.name = KEY_BACKSPACE, .mods = KEY_CTRL};
    else *key = (struct key){.name = KEY_CHAR, .mods = KEY_CTRL, .rune = c == 0 ? ' ' : c + (c <= 26 ? 'a' - 1u : '@')};
}

/* ------------------------------------------------------------------ sequences */

struct sequence {
    int param[PARAMS], n_params;
    int third; /* what stands behind a colon in the second parameter: kitty's kind of event; 3 is a key let go */
    bool odd;  /* private markers or intermediate bytes: no key */
    unsigned char final;
};

static void read_params(struct sequence *s, const unsigned char *b, size_t n)
{
    bool colon = false;
    s->n_params = n > 0;
    for (size_t i = 0; i < n; i++) {
        bool digit = b[i] >= '0' && b[i] <= '9';
        int at = s->n_params - 1;
        if (b[i] == ';') {
            s->n_params++;
            colon = false;
        } else if (b[i] == ':') {
            colon = true;
        } else if (!digit) {
            s->odd = true;
        } else if (colon) {
            if (at == 1) s->third = b[i] - '0';
        } else if (at < PARAMS && s->param[at] < 1000000) {
            s->param[at] = 10 * s->param[at] + b[i] - '0';
        }
    }
}

static unsigned mods_of(int param)
{
    unsigned bits = param > 1 && param <= 256 ? (unsigned)param - 1 : 0;
    return (bits & (KEY_SHIFT | KEY_ALT | KEY_CTRL)) | (bits & (8 | 32) ? KEY_ALT : 0); /* Meta as Alt */
}

/* The letter of CSI ... LETTER and SS3 LETTER; false: none of ours. */
static bool letter_key(unsigned char c, struct key *key)
{
    static const char letters[] = "ABCDHFPQRS";
    static const enum key_name names[] = {KEY_UP, KEY_DOWN, KEY_RIGHT, KEY_LEFT, KEY_HOME,
                                          KEY_END, KEY_F1, KEY_F2, KEY_F3, KEY_F4};
    const char *at = c ? strchr(letters, c) : NULL;
    if (at) key->name = names[at - letters];
    return at != NULL;
}

/* The number of CSI NUMBER ~. */
static bool number_key(int number, struct key *key)
{
    static const struct { int number; enum key_name name; } row[] = {
        {1, KEY_HOME}, {2, KEY_INSERT}, {3, KEY_DELETE}, {4, KEY_END}, {5, KEY_PAGE_UP}, {6, KEY_PAGE_DOWN},
        {7, KEY_HOME}, {8, KEY_END}, {11, KEY_F1}, {12, KEY_F2}, {13, KEY_F3}, {14, KEY_F4}, {15, KEY_F5},
        {17, KEY_F6}, {18, KEY_F7}, {19, KEY_F8}, {20, KEY_F9}, {21, KEY_F10}, {23, KEY_F11}, {24, KEY_F12}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        if (row[i].number != number) continue;
        key->name = row[i].name;
        return true;
    }
    return false;
}

/* A key that is told by the code of its character: CSI code ; mods u, CSI 27 ; mods ; code ~. */
static bool code_key(int code, unsigned mods, struct key *key)
{
    if (code <= 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    if (code >= 0xe000 && code <= 0xf8ff) return false; /* kitty's numbers for keys that have no character */
    if (code == 0x1b) key->name = KEY_ESCAPE;
    else if (code < 0x20 || code == 0x7f) control_key((unsigned char)code, key);
    else *key = (struct key){.name = KEY_CHAR, .rune = (uint32_t)code};
    if (key->name == KEY_CHAR && (mods & KEY_CTRL) && code >= 'A' && code <= 'Z') key->rune += 'a' - 'A';
    key->mods |= mods;
    return true;
}

static struct found csi_key(const struct sequence *s, size_t used, struct key *key)
{
    struct found f = {used, false, 0};
    unsigned mods = mods_of(s->param[1]);
    if (s->odd || s->third == 3) return f;
    switch (s->final) {
    case '~':
        if (s->param[0] == CODE_PASTE) f.mode = MODE_PASTE;
        else if (s->param[0] == 27) f.key = code_key(s->param[2], mods, key);
        else f.key = number_key(s->param[0], key);
        break;
    case 'u': f.key = code_key(s->param[0], mods, key); break;
    case 'Z':
        key->name = KEY_TAB;
        mods |= KEY_SHIFT;
        f.key = true;
        break;
    case '^': case '$': case '@': /* rxvt: the number of the ~ form, the modifier in the last byte */
        f.key = number_key(s->param[0], key);
        mods = s->final == '^' ? KEY_CTRL : s->final == '$' ? KEY_SHIFT : KEY_CTRL | KEY_SHIFT;
        break;
    case 'a': case 'b': case 'c': case 'd':
        f.key = letter_key((unsigned char)(s->final - 'a' + 'A'), key);
        mods = KEY_SHIFT;
        break;
    default: f.key = letter_key(s->final, key);
    }
    key->mods |= mods;
    return f;
}

enum { MOUSE_BYTES = 3 };

/* ESC [ and what is behind it.  What cannot end as a sequence is dropped up to the byte that says so. */
static struct found found_csi(const unsigned char *b, size_t n, bool final, struct key *key)
{
    size_t i = 2, params;
    if (n >= 4 && b[2] == '[') { /* the linux console: ESC [ [ A to E are F1 to F5 */
        bool ours = b[3] >= 'A' && b[3] <= 'E';
        if (ours) key->name = (enum key_name)(KEY_F1 + b[3] - 'A');
        return (struct found){ours ? 4 : 3, ours, 0};
    }
    while (i < n && i < SEQUENCE_MAX && b[i] >= 0x30 && b[i] <= 0x3f) i++;
    params = i;
    bool rxvt = i > 2 && i < n && b[i] == '$' && b[2] <= '9'; /* Shift; else $ stands before a last byte */
    while (!rxvt && i < n && i < SEQUENCE_MAX && b[i] >= 0x20 && b[i] <= 0x2f) i++;
    if (i == SEQUENCE_MAX) return (struct found){i, false, 0};
    if (i == n || (n == 3 && b[2] == '[')) return (struct found){final ? n : 0, false, 0};
    if (!rxvt && (b[i] < 0x40 || b[i] > 0x7e)) return (struct found){i, false, 0};
    if (b[i] == 'M' && i == 2) { /* a mouse in its oldest form, that an earlier program asked for: three bytes of it */
        const bool whole = n >= i + 1 + MOUSE_BYTES;
        return (struct found){whole ? i + 1 + MOUSE_BYTES : final ? n : 0, false, 0};
    }
    struct sequence s = {.final = b[i], .odd = i > params};
    read_params(&s, b + 2, params - 2);
    return csi_key(&s, i + 1, key);
}

/* ESC O, an optional number of modifiers, and a letter; the digits' block in application mode. */
static struct found found_ss3(const unsigned char *b, size_t n, bool final, struct key *key)
{
    struct sequence s = {0};
    size_t i = 2;
    while (i < n && i < 5 && b[i] >= '0' && b[i] <= '9') i++;
    if (i == n) return (struct found){final ? n : 0, false, 0};
    read_params(&s, b + 2, i - 2);
    unsigned char c = b[i];
    key->mods = mods_of(s.param[0]);
    if (letter_key(c, key)) return (struct found){i + 1, true, 0};
    if (c >= 'a' && c <= 'd') { /* rxvt: Ctrl and an arrow */
        letter_key((unsigned char)(c - 'a' + 'A'), key);
        key->mods |= KEY_CTRL;
    } else if (c >= 'j' && c <= 'y') {
        *key = (struct key){.name = KEY_CHAR, .rune = c - 0x40u, .mods = key->mods};
    } else if (c == 'M') {
        key->name = KEY_ENTER;
    } else {
        return (struct found){i + (c >= 0x40 && c < 0x7f), false, 0};
    }
    return (struct found){i + 1, true, 0};
}

static struct found found_plain(const unsigned char *b, size_t n, bool final, struct key *key)
{
    if (b[0] >= 0x20 && b[0] != 0x7f) return found_char(b, n, final, key);
    control_key(b[0], key);
    return (struct found){1, true, 0};
}

/* ESC ESC: Alt, as rxvt says it, where a sequence follows the second; else the first was the Escape key. */
static struct found found_two_escapes(const unsigned char *b, size_t n, bool final, struct key *key)
{
    struct found f = {0};
    if (n == 2 && !final) return f;
    if (n > 2 && b[2] == '[') f = found_csi(b + 1, n - 1, final, key);
    else if (n > 2 && b[2] == 'O') f = found_ss3(b + 1, n - 1, final, key);
    else {
        key->name = KEY_ESCAPE;
        return (struct found){1, true, 0};
    }
    if (f.used) f.used++;
    key->mods |= KEY_ALT;
    return f;
}

static struct found found_escape(const unsigned char *b, size_t n, bool final, struct key *key)
{
    if (n == 1) {
        key->name = KEY_ESCAPE;
        return (struct found){final, final, 0};
    }
    if (b[1] == 033) return found_two_escapes(b, n, final, key);
    bool begins = b[1] && strchr("[O]P_^X", b[1]); /* but if nothing follows, somebody pressed Alt and that character */
    if (begins && n == 2 && !final) return (struct found){0};
    if (begins && n > 2) {
        if (b[1] == '[') return found_csi(b, n, final, key);
        if (b[1] == 'O') return found_ss3(b, n, final, key);
        return (struct found){2, false, MODE_STRING};
    }
    struct found f = found_plain(b + 1, n - 1, final, key);
    if (f.used) f.used++;
    key->mods |= KEY_ALT;
    return f;
}

/* ------------------------------------------------------------------ what is no key: strings, a paste */

/* OSC, DCS and their like up to their end (BEL, ST, CAN, SUB); another ESC begins something new. */
static size_t skip_string(struct keys *k, const unsigned char *b, size_t n, bool final)
{
    size_t i = 0;
    while (i < n && b[i] != 033 && b[i] != 7 && b[i] != 030 && b[i] != 032) i++;
    if (i == n || (b[i] == 033 && i + 1 == n)) {
        if (final) k->mode = MODE_KEYS;
        return i;
    }
    k->mode = MODE_KEYS;
    return b[i] != 033 ? i + 1 : b[i + 1] == '\\' ? i + 2 : i;
}

static void paste_put(struct keys *k, const unsigned char *b, size_t n)
{
    size_t room = KEYS_PASTE_MAX - k->paste.len;
    if (n > room) k->cut = true;
    buf_put(&k->paste, b, MIN(n, room));
}

/* Bytes of the paste that are surely none of its end. */
static size_t take_paste(struct keys *k, const unsigned char *b, size_t n, bool *ended)
{
    const size_t length = sizeof paste_end - 1;
    const unsigned char *end = memmem(b, n, paste_end, length);
    size_t text = end ? (size_t)(end - b) : n;
    *ended = end != NULL;
    for (size_t tail = MIN(n, length - 1); !end && tail > 0; tail--) {
        if (memcmp(b + n - tail, paste_end, tail) != 0) continue;
        text = n - tail;
        break;
    }
    paste_put(k, b, text);
    return end ? text + length : text;
}

/* The paste as text: line ends, NUL, UTF-8.  In place but for the last, which may grow. */
static bool clean_paste(struct keys *k)
{
    struct text utf8;
    char *p = k->paste.data;
    size_t n = 0;
    for (size_t i = 0; i < k->paste.len; i++) {
        if (p[i] == '\0' || (p[i] == '\n' && i > 0 && p[i - 1] == '\r')) continue;
        p[n++] = p[i];
    }
    for (size_t i = 0; i < n; i++) p[i] = p[i] == '\r' ? '\n' : p[i];
    text_init(&utf8, NULL, 0, NULL);
    buf_free(&k->clean);
    char out[3 * 1024 + TEXT_HOLD + 16];
    for (size_t at = 0; at < n; at += 1024) {
        buf_put(&k->clean, out, text_feed(&utf8, p + at, MIN(1024, n - at), out));
    }
    buf_put(&k->clean, out, text_finish(&utf8, out));
    return !k->clean.failed && !k->paste.failed;
}

static bool paste_key(struct keys *k, struct key *key)
{
    bool whole = clean_paste(k);
    *key = (struct key){.name = KEY_PASTE, .text = k->clean.data ? k->clean.data : "", .n = k->clean.len,
                        .cut = k->cut || !whole};
    buf_free(&k->paste);
    k->mode = MODE_KEYS;
    k->cut = false;
    return true;
}

/* ------------------------------------------------------------------ from outside */

void keys_open(struct keys *k, int escape_ms)
{
    *k = (struct keys){.limit_ms = escape_ms};
}

void keys_close(struct keys *k)
{
    buf_free(&k->in);
    buf_free(&k->paste);
    buf_free(&k->clean);
}

int keys_feed(struct keys *k, const char *bytes, size_t n, int64_t now_ms)
{
    if (k->at > 0) {
        memmove(k->in.data, k->in.data + k->at, k->in.len - k->at);
        k->in.len -= k->at;
        k->at = 0;
    }
    buf_put(&k->in, bytes, n);
    k->fed_ms = now_ms;
    if (!k->in.failed) return 0;
    k->in.failed = false;
    return -1;
}

bool keys_next(struct keys *k, int64_t now_ms, struct key *key)
{
    if (!k->in.data) return false; /* nothing ever came */
    for (;;) {
        const unsigned char *b = (const unsigned char *)k->in.data + k->at;
        size_t n = k->in.len - k->at;
        bool final = now_ms - k->fed_ms >= k->limit_ms, ended = false;
        if (k->mode == MODE_PASTE) {
            if (n > 0) k->at += take_paste(k, b, n, &ended);
            return ended || now_ms - k->fed_ms >= KEYS_PASTE_MS ? paste_key(k, key) : false;
        }
        if (k->mode == MODE_STRING) {
            k->at += skip_string(k, b, n, final);
            if (k->mode == MODE_STRING) return false;
            continue;
        }
        if (n == 0) return false;
        *key = (struct key){0};
        struct found f = b[0] == 033 ? found_escape(b, n, final, key) : found_plain(b, n, final, key);
        if (f.used == 0) return false;
        k->at += f.used;
        k->mode = f.mode;
        if (!f.key) continue;
        if (key->name == KEY_CHAR) {
            key->n = utf8_put(k->text, key->rune);
            key->text = k->text;
        }
        return true;
    }
}

int keys_wait_ms(const struct keys *k, int64_t now_ms)
{
    if (k->mode == MODE_KEYS && k->at == k->in.len) return -1;
    int64_t limit = k->mode == MODE_PASTE ? KEYS_PASTE_MS : k->limit_ms;
    return (int)MAX(limit - (now_ms - k->fed_ms), 0);
}
