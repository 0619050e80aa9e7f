/* script.c - see script.h. */
#include "app/script.h"
#include "engine/text.h"

static enum script_result bad(struct script *s, int64_t line, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static enum script_result bad(struct script *s, int64_t line, struct err *err, const char *fmt, ...)
{
    char why[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    err_set(err, -1, "line %lld: %s", (long long)(line ? line : s->line), why);
    return SCRIPT_BAD;
}

/* ------------------------------------------------------------------ lines */

void script_open(struct script *s, struct input *in)
{
    *s = (struct script){.in = in};
}

void script_open_text(struct script *s, const char *text, size_t n)
{
    *s = (struct script){.text = text, .n = n};
}

void script_close(struct script *s)
{
    buf_free(&s->doc);
}

static enum input_result text_line(struct script *s, const char **line, size_t *n, struct err *err)
{
    if (s->at == s->n) return INPUT_END;
    const char *from = s->text + s->at, *newline = memchr(from, '\n', s->n - s->at);
    size_t len = newline ? (size_t)(newline - from) : s->n - s->at;
    if (len > INPUT_LIMIT)
        return (void)err_set(err, -1, "longer than %d MiB", INPUT_LIMIT >> 20), INPUT_FAILED;
    s->at += len + (newline != NULL);
    *line = from;
    *n = newline && len > 0 && from[len - 1] == '\r' ? len - 1 : len;
    return INPUT_OK;
}

static void record(struct script *s, const char *line, size_t n)
{
    if (!s->record) return;
    if (s->record->len + n + 1 > INPUT_LIMIT) s->record->failed = true;
    buf_put(s->record, line, n);
    buf_puts(s->record, "\n");
}

/* The next line whatever it means.  SCRIPT_ITEM: there is one. */
static enum script_result next_line(struct script *s, const char **line, size_t *n, struct err *err)
{
    struct err why = {0};
    enum input_result r = s->in ? input_line(s->in, line, n, &why) : text_line(s, line, n, &why);
    if (r == INPUT_SIGNAL) return SCRIPT_SIGNAL;
    if (r == INPUT_END) return SCRIPT_END;
    s->line++;
    if (r == INPUT_FAILED) return bad(s, 0, err, "%.300s", why.text);
    const char *nul = *n > 0 ? memchr(*line, 0, *n) : NULL;
    if (nul) return bad(s, 0, err, "a NUL, at byte %zu of the line: this is no text", (size_t)(nul - *line) + 1);
    size_t valid = text_valid_utf8(*line, *n);
    if (valid < *n) return bad(s, 0, err, "byte %zu of the line is not UTF-8", valid + 1);
    record(s, *line, *n);
    return SCRIPT_ITEM;
}

/* ------------------------------------------------------------------ words */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static void trim(const char **at, size_t *n)
{
    for (; *n > 0 && is_blank(**at); (*n)--) (*at)++;
    while (*n > 0 && is_blank((*at)[*n - 1])) (*n)--;
}

/* The word that the line begins with, copied; false: there is none, it is too long, or no blank ends it. */
static bool take_word(const char **at, size_t *n, char word[SCRIPT_NAME + 1])
{
    size_t len = 0;
    while (len < *n && in_word((*at)[len])) len++;
    if (len == 0 || len > SCRIPT_NAME || (len < *n && !is_blank((*at)[len]))) return false;
    memcpy(word, *at, len);
    word[len] = '\0';
    *at += len;
    *n -= len;
    return true;
}

static bool begins(const char *line, size_t n, const char *with)
{
    size_t len = strlen(with);
    return n >= len && memcmp(line, with, len) == 0;
}

/* ------------------------------------------------------------------ the header */

/* Is this "plimsoll" and a number?  *is_ours: and the number is SCRIPT_VERSION. */
static bool names_version(const char *line, size_t n, bool *is_ours)
{
    static const char word[] = "plimsoll";
    char number[12];
    if (!begins(line, n, word) || n == strlen(word) || !is_blank(line[strlen(word)])) return false;
    line += strlen(word);
    n -= strlen(word);
    trim(&line, &n);
    size_t digits = 0;
    while (digits < n && line[digits] >= '0' && line[digits] <= '9') digits++;
    int len = snprintf(number, sizeof number, "%d", SCRIPT_VERSION);
    *is_ours = n == (size_t)len && memcmp(line, number, n) == 0;
    return n > 0 && digits == n;
}

bool script_is(const char *first_line, size_t n)
{
    bool is_ours;
    return begins(first_line, n, "#!") || names_version(first_line, n, &is_ours);
}

/* ------------------------------------------------------------------ items */

/* The lines up to the word, joined by newlines, into s->doc. */
static enum script_result here_document(struct script *s, const char *word, struct script_item *item, struct err *err)
{
    enum script_result r;
    const char *line;
    size_t n;
    s->doc.len = 0;
    for (bool first = true;; first = false) {
        r = next_line(s, &line, &n, err);
        if (r == SCRIPT_END)
            return bad(s, item->line, err, "the turn that begins here has no end: a line that is only %s", word);
        if (r != SCRIPT_ITEM) return r;
        if (n == strlen(word) && memcmp(line, word, n) == 0) break;
        if (!first) buf_puts(&s->doc, "\n");
        buf_put(&s->doc, line, n);
        if (s->doc.failed) return bad(s, item->line, err, "no memory for the turn that begins here");
        if (s->doc.len > INPUT_LIMIT)
            return bad(s, item->line, err, "the turn that begins here is longer than %d MiB", INPUT_LIMIT >> 20);
    }
    if (s->doc.len == 0) return bad(s, item->line, err, "the turn that begins here has no text");
    item->text = s->doc.data;
    item->n = s->doc.len;
    return SCRIPT_ITEM;
}

/* A turn's text, or where it begins: what is behind the name, or the whole line. */
static enum script_result turn(struct script *s, const char *line, size_t n, struct script_item *item, struct err *err)
{
    char word[SCRIPT_NAME + 1];
    if (begins(line, n, "<<")) {
        line += 2;
        n -= 2;
        bool has_word = take_word(&line, &n, word);
        trim(&line, &n);
        if (!has_word || n > 0)
            return bad(s, 0, err, "<< is for a turn of several lines and needs the word that ends it, of at most %d "
                       "letters, digits, _ and -, and no more; a turn that begins so is written \\<<", SCRIPT_NAME);
        return here_document(s, word, item, err);
    }
    if (begins(line, n, "\\")) line++, n--;
    if (n == 0) return bad(s, 0, err, "a turn without text");
    item->text = line;
    item->n = n;
    return SCRIPT_ITEM;
}

static enum script_result addressed(struct script *s, const char *line, size_t n, struct script_item *item,
                                    struct err *err)
{
    if (!take_word(&line, &n, s->name))
        return bad(s, 0, err, "@ needs an agent's name, of at most %d letters, digits, _ and -, and a blank behind it; "
                   "a turn that begins so is written \\@", SCRIPT_NAME);
    trim(&line, &n);
    if (n == 0) return bad(s, 0, err, "@%s has no text", s->name);
    return turn(s, line, n, item, err);
}

static enum script_result command(struct script *s, const char *line, size_t n, struct script_item *item,
                                  struct err *err)
{
    if (!take_word(&line, &n, s->name))
        return bad(s, 0, err, "/ needs a command's name, of at most %d letters, digits, _ and -, and a blank behind "
                   "it; a turn that begins so is written \\/", SCRIPT_NAME);
    trim(&line, &n);
    item->kind = SCRIPT_COMMAND;
    item->text = line;
    item->n = n;
    return SCRIPT_ITEM;
}

/* A line of the header: *is_header.  SCRIPT_BAD: of another version. */
static enum script_result header(struct script *s, const char *line, size_t n, bool *may_be, bool *is_header,
                                 struct err *err)
{
    bool is_ours = false;
    bool version = *may_be && names_version(line, n, &is_ours);
    *is_header = version || (s->line == 1 && begins(line, n, "#!"));
    *may_be = *is_header && !version;
    if (version && !is_ours)
        return bad(s, 0, err, "this script is of another version (\"%.*s\"); this program knows version %d",
                   (int)MIN(n, (size_t)60), line, SCRIPT_VERSION);
    return SCRIPT_ITEM;
}

enum script_result script_next(struct script *s, struct script_item *item, struct err *err)
{
    bool may_be_header = s->line == 0, is_header;
    for (;;) {
        const char *line, *words;
        size_t n, n_words;
        enum script_result r = next_line(s, &line, &n, err);
        if (r == SCRIPT_ITEM) r = header(s, line, n, &may_be_header, &is_header, err);
        if (r != SCRIPT_ITEM) return r;
        words = line;
        n_words = n;
        trim(&words, &n_words);
        if (is_header || n_words == 0 || *line == '#') continue;
        *item = (struct script_item){.kind = SCRIPT_TURN, .line = s->line, .name = s->name};
        s->name[0] = '\0';
        if (*line == '@') return addressed(s, line + 1, n - 1, item, err);
        if (*line == '/') return command(s, line + 1, n - 1, item, err);
        return turn(s, line, n, item, err);
    }
}
