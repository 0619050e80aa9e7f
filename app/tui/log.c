/* log.c - see log.h. */
#include "app/tui/log.h"

int log_open(struct log *l, struct err *err)
{
    *l = (struct log){.line = calloc(LOG_LINES, sizeof *l->line)};
    return l->line ? 0 : err_set(err, -1, "no memory for the log");
}

void log_close(struct log *l)
{
    free(l->line);
    *l = (struct log){0};
}

static void put_line(struct log *l, double time, enum log_kind kind, const char *text, size_t n)
{
    struct log_line *line = &l->line[l->lines++ % LOG_LINES];
    size_t len = MIN(n, sizeof line->text - 1);
    while (len > 0 && len < n && ((unsigned char)text[len] & 0xc0) == 0x80) len--; /* not through a character */
    *line = (struct log_line){.time = time, .kind = (uint8_t)kind};
    for (size_t i = 0; i < len; i++) line->text[i] = text[i] ? text[i] : ' ';
}

void log_put(struct log *l, double time, enum log_kind kind, const char *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        put_line(l, time, kind, text + at, len);
        at += len + 1;
    }
}

const struct log_line *log_at(const struct log *l, uint64_t i)
{
    if (i >= l->lines || l->lines - i > LOG_LINES) return NULL;
    return &l->line[i % LOG_LINES];
}
