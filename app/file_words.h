/* file_words.h - names of files in a line, blanks between them: read (/ingest, a lesson's check of it) and written
 * (completion).  A name with blanks stands in double quotes, and there \" and \\ are a quote and a backslash; a name
 * that does not begin with a quote is taken as it is.  Header only. */
#ifndef FILE_WORDS_H
#define FILE_WORDS_H
#include "plimsoll.h"

struct file_word {
    size_t at, end; /* where it stands, with its quotes */
    bool quoted;
    bool open;      /* its ending quote lacks */
    bool bad;       /* something follows its ending quote, or it has a NUL: it names nothing */
};

static inline bool file_word_blank(char c) { return c == ' ' || c == '\t'; }

/* The first word at or behind `from`; its name is appended to out.  false: there is none. */
static inline bool file_word_next(const char *text, size_t n, size_t from, struct file_word *w, struct buf *out)
{
    size_t end = n;
    while (from < n && file_word_blank(text[from])) from++;
    *w = (struct file_word){.at = from, .quoted = from < n && text[from] == '"'};
    if (from == n) return false;
    w->open = w->quoted;
    for (size_t i = from + w->quoted; i < n; i++) {
        if (w->quoted && text[i] == '"') w->open = false;
        if (w->quoted ? !w->open : file_word_blank(text[i])) {
            end = i + w->quoted;
            break;
        }
        if (w->quoted && text[i] == '\\' && i + 1 < n && (text[i + 1] == '"' || text[i + 1] == '\\')) i++;
        w->bad |= text[i] == '\0';
        buf_put(out, text + i, 1);
    }
    w->end = end;
    w->bad |= w->quoted && end < n && !file_word_blank(text[end]);
    return true;
}

/* quoted: also where it need not be; open: the ending quote is left out. */
static inline void file_word_put(struct buf *out, const char *name, size_t n, bool quoted, bool open)
{
    for (size_t i = 0; i < n; i++) quoted |= file_word_blank(name[i]) || (i == 0 && name[i] == '"');
    if (quoted) buf_puts(out, "\"");
    for (size_t i = 0; i < n; i++) {
        if (quoted && (name[i] == '"' || name[i] == '\\')) buf_puts(out, "\\");
        buf_put(out, name + i, 1);
    }
    if (quoted && !open) buf_puts(out, "\"");
}
#endif
