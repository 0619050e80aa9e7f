/* file_words.h - names of files in a line, blanks between them: read (/ingest, /attach, a lesson's check of them) and
 * written (completion).  As people write them and terminals put one that is dropped there:
 *
 *     "my \"old\" notes.txt"     in double quotes \" and \\ are a quote and a backslash
 *     'it'\''s mine.txt'         in single ones all is as it is, but for '\'', a quote
 *     my\ \(old\)\ notes.txt     without any a backslash takes its meaning from a blank or a sign
 *     it's.txt                  all else is as it is, a quote without its like too
 *
 * Header only. */
#ifndef FILE_WORDS_H
#define FILE_WORDS_H
#include "plimsoll.h"

struct file_word {
    size_t at, end; /* where it stands, with its quotes */
    char quote;     /* it stands in such ones; 0: in none */
    bool quoted;    /* it is not written as it is: in quotes, or with backslashes */
    bool open;      /* its ending quote lacks */
    bool bad;       /* something follows its ending quote, or it has a NUL: it names nothing */
};

static inline bool file_word_blank(char c) { return c == ' ' || c == '\t'; }

/* The quote in which the word at the front of text stands; 0: in none. */
static inline char file_word_quote(const char *text, size_t n)
{
    if (*text == '"') return '"';
    return *text == '\'' && memchr(text + 1, '\'', n - 1) ? '\'' : 0;
}

/* How many bytes at the front of text are written for the one behind them. */
static inline size_t file_word_escape(char quote, const char *text, size_t n)
{
    if (quote == '\'') return n > 3 && memcmp(text, "'\\''", 4) == 0 ? 3 : 0;
    if (n < 2 || *text != '\\') return 0;
    const char c = text[1];
    const bool sign = c > ' ' && c < 0x7f && c != '/' && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z') &&
                      !(c >= '0' && c <= '9');
    return quote ? c == '"' || c == '\\' : file_word_blank(c) || sign;
}

/* The first word at or behind `from`; its name is appended to out.  false: there is none. */
static inline bool file_word_next(const char *text, size_t n, size_t from, struct file_word *w, struct buf *out)
{
    while (from < n && file_word_blank(text[from])) from++;
    *w = (struct file_word){.at = from, .end = n};
    if (from == n) return false;
    const char quote = file_word_quote(text + from, n - from);
    w->quote = quote;
    w->quoted = w->open = quote != 0;
    for (size_t i = from + (quote != 0); i < n; i++) {
        const size_t escape = file_word_escape(quote, text + i, n - i);
        if (escape == 0 && (quote ? text[i] == quote : file_word_blank(text[i]))) {
            w->open = false;
            w->end = i + (quote != 0);
            break;
        }
        w->quoted |= escape > 0;
        i += escape;
        w->bad |= text[i] == '\0';
        buf_put(out, text + i, 1);
    }
    w->bad |= quote && w->end < n && !file_word_blank(text[w->end]);
    return true;
}

/* quoted: also where it need not be; open: the ending quote is left out. */
static inline void file_word_put(struct buf *out, const char *name, size_t n, bool quoted, bool open)
{
    for (size_t i = 0; i < n; i++)
        quoted |= file_word_blank(name[i]) || name[i] == '\\' || (i == 0 && (name[i] == '"' || name[i] == '\''));
    if (quoted) buf_puts(out, "\"");
    for (size_t i = 0; i < n; i++) {
        if (quoted && (name[i] == '"' || name[i] == '\\')) buf_puts(out, "\\");
        buf_put(out, name + i, 1);
    }
    if (quoted && !open) buf_puts(out, "\"");
}
#endif
