/* explain_prefix.c - what loggers write before a line: times, levels, names of processes, of containers, of ranks. */
#include "app/learn/explain_read.h"
#include <ctype.h>

enum { PIECE_MOST = 64, PIECES_MOST = 12 }; /* bytes of one piece of a prefix; pieces */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static size_t blanks(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && (s[i] == ' ' || s[i] == '\t' || s[i] == '\r')) i++;
    return i;
}

/* ESC [ ... letter, or ESC ] ... BEL, or ESC and one character. */
static size_t colour(const char *s, size_t n)
{
    if (n < 2 || s[0] != 033) return 0;
    size_t i = 2;
    if (s[1] == '[') {
        while (i < n && i < PIECE_MOST && (isdigit((unsigned char)s[i]) || s[i] == ';' || s[i] == '?')) i++;
        return i < n ? i + 1 : i;
    }
    return i;
}

/* Digits with at least two of : - / . T between them: a date, a time, both as one word. */
static size_t time_word(const char *s, size_t n)
{
    size_t i = 0, digits = 0, between = 0;
    if (n == 0 || !isdigit((unsigned char)s[0])) return 0;
    for (; i < n && i < PIECE_MOST; i++) {
        if (isdigit((unsigned char)s[i])) digits++;
        else if (strchr(":-/+,.TZ", s[i]) && s[i]) between += i + 1 < n && isdigit((unsigned char)s[i + 1]);
        else break;
    }
    bool ends = i == n || !is_word(s[i]);
    bool is_date_only = digits >= 4 && between == 1 && memchr(s, '-', i); /* 05-10 */
    return ends && (is_date_only || (digits >= 4 && between >= 2)) ? i : 0;
}

static bool has(const char *s, size_t n, const char *part)
{
    return memmem(s, n, part, strlen(part)) != NULL;
}

/* {"log":" as Docker keeps a line in its file. */
static size_t json_file(const char *s, size_t n)
{
    static const char head[] = "{\"log\":\"";
    return n >= sizeof head - 1 && memcmp(s, head, sizeof head - 1) == 0 ? sizeof head - 1 : 0;
}

/* [...] or (...) that names a process, a rank, a place in a source file or a time; never a message's own. */
static size_t bracket(const char *s, size_t n)
{
    if (n < 2 || (s[0] != '[' && s[0] != '(')) return 0;
    const char *end = memchr(s, s[0] == '[' ? ']' : ')', MIN(n, (size_t)PIECE_MOST));
    if (!end) return 0;
    const char *in = s + 1;
    size_t len = (size_t)(end - in), i = blanks(in, len);
    bool tells = has(in, len, "pid") || has(in, len, "rank") || has(in, len, ".py") || has(in, len, ".cc") ||
                 has(in, len, ".rs") || has(in, len, "TP") || has(in, len, "DP") || has(in, len, "raylet");
    tells = tells || time_word(in + i, len - i) > 0;
    static const char *const level[] = {"INFO",   "WARN",  "ERROR", "DEBUG", "CRITICAL",
                                        "NOTICE", "FATAL", "Error", "Info",  "Warn"};
    for (size_t k = 0; !tells && k < COUNT_OF(level); k++) tells = len < 12 && has(in, len, level[k]);
    size_t plain = i;
    while (!tells && plain < len && (isdigit((unsigned char)in[plain]) || in[plain] == '.')) plain++;
    if (!tells && (plain == i || plain != len)) return 0;
    return len + 2 + (len + 2 < n && s[len + 2] == ':');
}

static size_t level_word(const char *s, size_t n)
{
    static const char *const level[] = {"INFO", "WARNING", "WARN", "ERROR", "DEBUG", "CRITICAL", "FATAL", "TRACE",
                                        "I ", "W ", "E ", "D "};
    for (size_t k = 0; k < COUNT_OF(level); k++) {
        size_t len = strlen(level[k]);
        if (n > len && memcmp(s, level[k], len) == 0 && !is_word(s[len - (level[k][len - 1] == ' ')]))
            return len + (s[len] == ':');
    }
    return 0;
}

/* "Apr 29 12:31:50 machine ollama[1654667]:", as journals write. */
static size_t journal(const char *s, size_t n)
{
    static const char month[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char want[4] = {0};
    if (n < 16 || s[3] != ' ') return 0;
    memcpy(want, s, 3);
    const char *found = strstr(month, want);
    if (!found || (found - month) % 3) return 0;
    size_t i = 3;
    for (int word = 0; word < 4 && i < n; word++) { /* day, time, machine, name[pid]: */
        i += blanks(s + i, n - i);
        size_t len = 0;
        while (i + len < n && len < PIECE_MOST && s[i + len] != ' ') len++;
        if (word == 1 && !memchr(s + i, ':', len)) return 0;
        if (word == 3 && (len == 0 || s[i + len - 1] != ':')) return i;
        i += len;
    }
    return i;
}

/* "vllm-1  | ", as docker compose writes; a quoted line's ">". */
static size_t container(const char *s, size_t n)
{
    size_t i = 0;
    if (n && (s[0] == '>' || s[0] == '|')) return 1;
    while (i < n && i < PIECE_MOST && (is_word(s[i]) || s[i] == '-' || s[i] == '.')) i++;
    size_t gap = blanks(s + i, n - i);
    bool is_numbered = i > 1 && memchr(s, '-', i);
    return is_numbered && gap && i + gap < n && s[i + gap] == '|' ? i + gap + 1 : 0;
}

size_t log_prefix(const char *line, size_t n)
{
    static size_t (*const piece[])(const char *, size_t) = {colour,    journal, json_file, container,
                                                            time_word, bracket, level_word};
    size_t at = blanks(line, n);
    for (int k = 0; k < PIECES_MOST; k++) {
        size_t len = 0;
        for (size_t p = 0; !len && p < COUNT_OF(piece); p++) len = piece[p](line + at, n - at);
        if (!len) break;
        at += len;
        at += blanks(line + at, n - at);
    }
    return at;
}
