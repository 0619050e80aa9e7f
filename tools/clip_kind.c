/* clip_kind.c - what kind of text a result is, by a look at its beginning. */
#include "tools/clip_impl.h"

static bool digit(char c) { return c >= '0' && c <= '9'; }

/* A level's name near the beginning. */
static bool level_line(const char *s, size_t n)
{
    static const char *const levels[] = {"INFO", "DEBUG", "TRACE", "WARN", "ERROR", "FATAL", "NOTICE"};
    enum { NEAR = 64 };
    for (size_t k = 0; k < COUNT_OF(levels); k++)
        if (memmem(s, MIN(n, NEAR), levels[k], strlen(levels[k]))) return true;
    return false;
}

/* A time or a date at the beginning (12:34, 2024-05, 2024/05), perhaps in brackets, or a level's name near it. */
static bool log_line(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && (s[i] == '[' || s[i] == '(' || s[i] == ' ')) i++;
    size_t from = i;
    while (i < n && digit(s[i])) i++;
    if ((i == from + 2 || i == from + 4) && i + 1 < n && strchr(":-/", s[i]) && digit(s[i + 1])) return true;
    return level_line(s, n);
}

/* Of its whole lines at least three, and at least half, look so. */
static bool is_log(const char *s, size_t n, bool (*looks)(const char *s, size_t n))
{
    int lines = 0, like = 0;
    while (n > 0) {
        const char *newline = memchr(s, '\n', n);
        if (!newline) break;
        size_t len = (size_t)(newline - s) + 1;
        lines++;
        like += looks(s, len - 1);
        s += len;
        n -= len;
    }
    return like >= 3 && 2 * like >= lines;
}

/* A container that is right as far as it was seen. */
static bool is_json(struct clip_json *j, const char *s, size_t n)
{
    size_t i = strnlen(s, n);
    if (i < n) return false;
    for (i = 0; i < n && strchr(" \t\r\n", s[i]); i++) {}
    if (i == n || (s[i] != '{' && s[i] != '[')) return false;
    clip_json_begin(j);
    clip_json_feed(j, s, n);
    return !j->bad;
}

/* The union's part for the kind is begun. */
enum clip_kind clip_look(struct clip *c, const char *s, size_t n, bool end)
{
    enum clip_kind kind = c->cfg.kind;
    char delimiter = 0;
    if (kind == CLIP_AUTO && is_json(&c->json, s, n)) kind = CLIP_JSON;
    if (kind == CLIP_AUTO || kind == CLIP_CSV) delimiter = clip_csv_delimiter(s, n, end);
    /* Commas in the sentences of a log are no columns: levels tell, and a table has none in its header. */
    const char *newline = memchr(s, '\n', n);
    size_t first = newline ? (size_t)(newline - s) : n;
    if (kind == CLIP_AUTO && delimiter && level_line(s, first) && is_log(s, n, level_line)) kind = CLIP_LOG;
    if (kind == CLIP_AUTO) kind = delimiter ? CLIP_CSV : is_log(s, n, log_line) ? CLIP_LOG : CLIP_TEXT;
    if (kind == CLIP_LOG) memset(&c->log, 0, sizeof c->log);
    if (kind == CLIP_JSON) clip_json_begin(&c->json);
    if (kind == CLIP_CSV) clip_csv_begin(&c->csv, delimiter ? delimiter : ',');
    return kind;
}
