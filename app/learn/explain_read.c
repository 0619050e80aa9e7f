/* explain_read.c - see explain_read.h. */
#include "app/learn/explain_read.h"
#include "app/learn/explain.h"
#include <ctype.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static int add_line(struct run *r, uint32_t number)
{
    if (r->n_lines == r->cap_lines) {
        size_t cap = r->cap_lines ? 2 * r->cap_lines : 256;
        struct run_line *more = realloc(r->lines, cap * sizeof *more);
        if (!more) return -1;
        r->lines = more;
        r->cap_lines = cap;
    }
    r->lines[r->n_lines++] = (struct run_line){.at = (uint32_t)r->n, .line = number};
    return 0;
}

/* What stands at s for the run: a character that stays, or a blank for what does not. */
static char kept(const char *s, size_t i, size_t n, char before)
{
    char c = s[i];
    if (c >= 'A' && c <= 'Z') return (char)(c + 'a' - 'A');
    if ((c >= 'a' && c <= 'z') || is_digit(c) || c == '/') return c;
    bool digit_next = i + 1 < n && is_digit(s[i + 1]);
    if ((c == '.' || c == ',') && digit_next && i > 0 && is_digit(s[i - 1])) return c;
    if (c == '-' && digit_next && !isalnum((unsigned char)before)) return c;
    return ' ';
}

/* Colours, and the "\n", "\t", "\"" and "\u001b[31m" of text that went through JSON or repr(). */
static size_t noise(const char *s, size_t n)
{
    if (s[0] == 033 && n > 1 && s[1] == '[') {
        size_t i = 2;
        while (i < n && i < 16 && (is_digit(s[i]) || s[i] == ';' || s[i] == '?')) i++;
        return MIN(i + 1, n);
    }
    if (s[0] == '\\' && n > 1 && strchr("ntr\"'\\", s[1]) && s[1]) return 2;
    return 0;
}

/* Where the message of a line begins.  A prefix of new letters stays in the run: it may name the program. */
static size_t message(struct run *r, const char *s, size_t n)
{
    size_t prefix = log_prefix(s, n);
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < prefix; i++)
        if (isalpha((unsigned char)s[i])) hash = (hash ^ (unsigned char)s[i]) * 16777619u;
    for (int i = 0; i < r->prefixes; i++)
        if (r->prefix[i] == hash) return prefix;
    if (r->prefixes == PREFIXES_MOST) return prefix;
    r->prefix[r->prefixes++] = hash;
    return 0;
}

static int put_line(struct run *r, const char *s, size_t n, uint32_t number, uint8_t *mark)
{
    bool begun = false;
    for (size_t i = message(r, s, n); i < n;) {
        size_t skip = noise(s + i, n - i);
        char c = skip ? ' ' : kept(s, i, n, i ? s[i - 1] : ' ');
        const bool written_end = skip == 2 && s[i] == '\\' && s[i + 1] == 'n';
        i += skip ? skip : 1;
        if (c == ' ') {
            *mark |= written_end ? MARK_GAP | MARK_LINE : MARK_GAP;
            continue;
        }
        if (!begun && add_line(r, number)) return -1;
        begun = true;
        if (*mark && r->n && is_digit(r->c[r->n - 1]) && is_digit(c)) { /* two numbers stay two */
            r->mark[r->n] = 0;
            r->c[r->n++] = ' ';
        }
        r->mark[r->n] = *mark;
        r->c[r->n++] = c;
        *mark = 0;
    }
    *mark |= MARK_LINE;
    return 0;
}

static int put_text(struct run *r, const char *text, size_t n)
{
    uint8_t mark = MARK_LINE;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        if (put_line(r, text + at, len, ++r->last_line, &mark)) return -1;
        at += len + 1;
    }
    return 0;
}

/* Where the letter of a pair stands, 0 or 1; -1: this is no UTF-16.  Without a mark most of the first pairs must have a
 * NUL in one place and none in the other. */
static int letter_of_pair(const char *text, size_t n)
{
    enum { LOOKED_AT = 4096, LEAST = 8 };
    size_t nul[2] = {0}, looked = MIN(n, (size_t)LOOKED_AT);
    if (n >= 2 && memcmp(text, "\xff\xfe", 2) == 0) return 0;
    if (n >= 2 && memcmp(text, "\xfe\xff", 2) == 0) return 1;
    for (size_t i = 0; i < looked; i++) nul[i % 2] += text[i] == '\0';
    if (looked < LEAST) return -1;
    for (int k = 0; k < 2; k++)
        if (nul[k] == 0 && nul[1 - k] * 4 >= looked / 2 * 3) return k;
    return -1;
}

bool run_narrow(const char *text, size_t n, struct buf *out)
{
    char part[4096];
    const int letter = letter_of_pair(text, n);
    if (letter < 0) return false;
    for (size_t at = 0, put = 0; at + 1 < n; at += 2) {
        const char c = text[at + (size_t)letter];
        part[put++] = (char)(text[at + (size_t)(1 - letter)] || (unsigned char)c >= 0x80 ? 0xff : c);
        if (put < sizeof part && at + 3 < n) continue;
        buf_put(out, part, put);
        put = 0;
    }
    return !out->failed;
}

uint32_t run_ends(const char *s, size_t n)
{
    uint32_t lines = 0;
    for (const char *p = s, *end = s + n; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        lines += lines < UINT32_MAX;
    return lines;
}

size_t run_tail(const char *text, size_t n)
{
    if (n <= EXPLAIN_BYTES) return n;
    size_t tail = n - EXPLAIN_BYTES / 2;
    const char *line = memchr(text + tail, '\n', EXPLAIN_BYTES / 4);
    return line ? (size_t)(line - text) + 1 : tail;
}

int run_read(const char *text, size_t n, struct run *r)
{
    size_t tail = run_tail(text, n), head = tail < n ? EXPLAIN_BYTES / 2 : n, size = head + (n - tail);
    *r = (struct run){0};
    r->c = malloc(2 * size + 2); /* a blank may stand between two numbers */
    r->mark = malloc(2 * size + 2);
    bool bad = !r->c || !r->mark || put_text(r, text, head);
    if (!bad && tail < n) {
        uint32_t missed = run_ends(text + head, tail - head);
        r->last_line -= text[head - 1] != '\n'; /* a line that was cut is counted with those that are missed */
        r->last_line += MIN(missed, UINT32_MAX - r->last_line - EXPLAIN_BYTES);
        bad = put_text(r, text + tail, n - tail);
    }
    if (bad) {
        run_free(r);
        return -1;
    }
    r->c[r->n] = '\0';
    r->mark[r->n] = MARK_GAP | MARK_LINE;
    return 0;
}

void run_free(struct run *r)
{
    free(r->c);
    free(r->mark);
    free(r->lines);
    *r = (struct run){0};
}

bool run_next_line(struct run_lines *l)
{
    if (l->at >= l->n) return false;
    if (l->at >= l->stop) { /* the text's next line; stop is behind its end */
        const char *end = memchr(l->text + l->at, '\n', l->n - l->at);
        l->stop = end ? (size_t)(end - l->text) + 1 : l->n + 1;
        l->line += l->line < UINT32_MAX;
    }
    const size_t left = l->stop - 1 - l->at;
    const char *written = memmem(l->text + l->at, left, "\\n", 2);
    l->s = l->text + l->at;
    l->len = written ? (size_t)(written - l->s) : left;
    l->at = written ? l->at + l->len + 2 : l->stop;
    return true;
}

/* How many of the run's lines begin at or before this place. */
static size_t lines_before(const struct run *r, size_t at)
{
    size_t low = 0, high = r->n_lines;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r->lines[mid].at <= at) low = mid + 1;
        else high = mid;
    }
    return low;
}

uint32_t run_line_of(const struct run *r, size_t at)
{
    size_t n = lines_before(r, at);
    return n ? r->lines[n - 1].line : 0;
}

bool run_blank_between(const struct run *r, size_t from, size_t to)
{
    size_t a = lines_before(r, from), b = lines_before(r, to);
    return a && b > a && r->lines[b - 1].line - r->lines[a - 1].line > b - a;
}

/* At most n of the bytes, so that no word is cut, if one ends near. */
static size_t to_a_word(const char *s, size_t n)
{
    for (size_t back = n; back > 0 && n - back < 24; back--)
        if (s[back] == ' ') return back;
    return n;
}

void run_quote(const char *text, size_t n, uint32_t number, char *out, size_t size)
{
    static const char cut[] = " ...";
    size_t at = 0, put = 0;
    for (uint32_t line = 1; line < number && at < n; line++) {
        const char *end = memchr(text + at, '\n', n - at);
        at = end ? (size_t)(end - text) + 1 : n;
    }
    const char *end = at < n ? memchr(text + at, '\n', n - at) : NULL;
    size_t len = (end ? (size_t)(end - text) : n) - at;
    size_t i = at < n ? log_prefix(text + at, len) : len;
    while (i < len && put + 1 < size) {
        size_t skip = noise(text + at + i, len - i);
        char c = text[at + i];
        i += skip ? skip : 1;
        bool blank = skip || (unsigned char)c <= ' ' || (unsigned char)c > '~';
        if (blank && (put == 0 || out[put - 1] == ' ')) continue;
        out[put++] = blank ? ' ' : c;
    }
    while (i < len && (unsigned char)text[at + i] <= ' ') i++;
    if (i < len && size > sizeof cut && put > size - sizeof cut) put = to_a_word(out, size - sizeof cut);
    while (put && out[put - 1] == ' ') put--;
    if (size) snprintf(out + put, size - put, "%s", i < len ? cut : "");
}
