/* complete_mention.c - see complete.h: @names in a text, written, read, and the files among them. */
#include "app/tui/complete_impl.h"
#include "tools/escape.h"
#include "tools/path.h"
#include <utf8proc.h>

enum { MARKS = 8 }; /* that are cut from a name */

static bool is_blank(char c) { return (unsigned char)c <= ' ' || c == 0x7f; }

/* ------------------------------------------------------------------ written */

static bool must_be_quoted(const char *path, size_t n, const struct buf *escaped)
{
    bool blank = n == 0;
    for (size_t i = 0; i < n; i++) blank |= is_blank(path[i]) || path[i] == '"';
    return blank || escaped->len != n || memcmp(escaped->data, path, n) != 0;
}

void mention_put(struct buf *out, const char *path, size_t n, bool quoted, bool open)
{
    struct buf escaped = {0};
    escape_text(path, n, &escaped);
    buf_puts(out, "@");
    if (escaped.failed) {
        out->failed = true;
    } else if (!quoted && (n == 0 || !must_be_quoted(path, n, &escaped))) {
        buf_put(out, path, n);
    } else {
        buf_puts(out, "\"");
        for (size_t i = 0; i < escaped.len; i++) {
            if (escaped.data[i] == '"') buf_puts(out, "\\");
            buf_put(out, escaped.data + i, 1);
        }
        if (!open) buf_puts(out, "\"");
    }
    buf_free(&escaped);
}

/* ------------------------------------------------------------------ read */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* {HEX} at s: a character. How long it was; 0: it is none. */
static size_t take_rune(const char *s, size_t n, struct buf *out)
{
    utf8proc_uint8_t bytes[4];
    utf8proc_int32_t rune = 0;
    size_t i = 1;
    if (n == 0 || s[0] != '{') return 0;
    for (; i < n && hex_digit(s[i]) >= 0 && rune < 0x110000; i++) rune = 16 * rune + hex_digit(s[i]);
    if (i == 1 || i >= n || s[i] != '}' || rune == 0 || !utf8proc_codepoint_valid(rune)) return 0;
    buf_put(out, bytes, (size_t)utf8proc_encode_char(rune, bytes));
    return i + 1;
}

/* What follows a backslash at s.  How long it was; 0: that is no escape. */
static size_t take_escape(const char *s, size_t n, struct buf *out)
{
    static const char letters[] = "ntr\"\\", bytes[] = "\n\t\r\"\\";
    if (n == 0) return 0;
    const char *letter = s[0] ? strchr(letters, s[0]) : NULL;
    if (letter) {
        buf_put(out, &bytes[letter - letters], 1);
        return 1;
    }
    if (s[0] == 'u') {
        size_t used = take_rune(s + 1, n - 1, out);
        return used ? used + 1 : 0;
    }
    if (s[0] != 'x' || n < 3 || hex_digit(s[1]) < 0 || hex_digit(s[2]) < 0) return 0;
    char byte = (char)(16 * hex_digit(s[1]) + hex_digit(s[2]));
    buf_put(out, &byte, 1);
    return byte ? 3 : 0;
}

static void read_quoted(const char *text, size_t n, struct mention *m)
{
    size_t i = m->at + 2;
    while (i < n && text[i] != '\n' && text[i] != '"') {
        size_t used = 1;
        if (text[i] != '\\') buf_put(&m->path, text + i, 1);
        else if ((used = take_escape(text + i + 1, n - i - 1, &m->path)) == 0) m->bad = true;
        m->bad |= text[i] == '\0';
        i += text[i] == '\\' ? used + 1 : used;
    }
    m->closed = i < n && text[i] == '"';
    m->end = i + m->closed;
}

static void read_bare(const char *text, size_t n, struct mention *m)
{
    size_t i = m->at + 1;
    while (i < n && !is_blank(text[i])) i++;
    buf_put(&m->path, text + m->at + 1, i - m->at - 1);
    m->end = i;
}

bool mention_next(const char *text, size_t n, size_t from, struct mention *m)
{
    static const char openers[] = "([{<'\"`,;:=";
    *m = (struct mention){0};
    for (const char *p = text + from; from < n && (p = memchr(p, '@', n - (size_t)(p - text))); p++) {
        if (p > text && !is_blank(p[-1]) && !memchr(openers, p[-1], sizeof openers - 1)) continue;
        m->at = (size_t)(p - text);
        m->quoted = m->at + 1 < n && p[1] == '"';
        if (m->quoted) read_quoted(text, n, m);
        else read_bare(text, n, m);
        m->bad |= m->path.len > PATH_TEXT;
        buf_put(&m->path, "", 1); /* there is memory, whatever it is */
        if (!m->path.failed) m->path.len--;
        return true;
    }
    return false;
}

bool mention_is_agent(const struct complete_source *s, const char *name, size_t n)
{
    const struct complete_names *a = &s->names[COMMAND_AGENT];
    for (size_t i = 0; i < a->n; i++)
        if (n > 0 && strlen(a->name[i].name) == n && memcmp(a->name[i].name, name, n) == 0) return true;
    return false;
}

/* ------------------------------------------------------------------ attachments */

/* The size of the file that it names; -1: it names none.  What ends a sentence is cut from a bare name that is none. */
static int64_t size_of(const struct complete_source *s, struct mention *m)
{
    static const char marks[] = ".,;:!?)]}>'\"`";
    struct buf *path = &m->path;
    for (int cuts = 0; path->len > 0; cuts++) {
        int64_t bytes = s->files ? s->files->size(s->files->arg, path->data) : -1;
        bool mark = !m->quoted && memchr(marks, path->data[path->len - 1], sizeof marks - 1);
        if (bytes >= 0 || !mark || cuts == MARKS) return bytes;
        path->data[--path->len] = '\0';
        m->end--;
    }
    return -1;
}

static bool is_known(const struct complete_mentions *all, const char *path)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->mention[i].path, path) == 0) return true;
    return false;
}

/* The agent that a text is for, with a mark behind the name or not. */
static bool names_agent(const struct complete_source *s, const struct mention *m)
{
    size_t n = m->path.len;
    if (m->at > 0 || m->quoted) return false;
    return mention_is_agent(s, m->path.data, n) ||
           (n > 1 && memchr(",:", m->path.data[n - 1], 2) && mention_is_agent(s, m->path.data, n - 1));
}

/* 0, or -1: no memory. */
static int take_mention(const struct complete_source *s, struct mention *m, struct complete_mentions *out)
{
    if (m->path.failed) return -1;
    if (m->bad || m->path.len == 0 || names_agent(s, m)) return 0;
    int64_t bytes = size_of(s, m);
    if (m->path.len == 0 || is_known(out, m->path.data)) return 0;
    char *path = strdup(m->path.data);
    if (!path) return -1;
    out->mention[out->n++] = (struct complete_mention){m->at, m->end - m->at, path, bytes};
    return 0;
}

int complete_attachments(const struct complete_source *s, const char *text, size_t n, struct complete_mentions *out)
{
    struct mention m;
    size_t looked = 0, from = 0;
    int rc = 0;
    *out = (struct complete_mentions){0};
    while (rc == 0 && mention_next(text, n, from, &m)) {
        if (looked == 0) out->mention = calloc(COMPLETE_MENTIONS, sizeof *out->mention);
        out->more = looked++ == COMPLETE_MENTIONS;
        from = m.end;
        rc = !out->mention ? -1 : out->more ? 1 : take_mention(s, &m, out);
        buf_free(&m.path);
    }
    if (rc < 0) complete_mentions_free(out);
    return rc < 0 ? -1 : 0;
}

void complete_mentions_free(struct complete_mentions *m)
{
    for (size_t i = 0; i < m->n; i++) free(m->mention[i].path);
    free(m->mention);
    *m = (struct complete_mentions){0};
}
