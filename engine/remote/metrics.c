/* metrics.c - see metrics.h. */
#include "engine/remote/metrics.h"
#include "engine/remote/hear.h"
#include <math.h>

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Where the braces are closed, from behind the open one on; strings may have braces in them.  n: nowhere. */
static size_t behind_labels(const char *line, size_t at, size_t n)
{
    bool inside = false;
    for (; at < n; at++) {
        if (inside && line[at] == '\\') at++;
        else if (line[at] == '"') inside = !inside;
        else if (line[at] == '}' && !inside) return at;
    }
    return n;
}

static bool read_number(const char *at, size_t n, double *out)
{
    char text[64], *end;
    size_t len = 0;
    while (n > 0 && blank(*at)) at++, n--;
    while (len < n && !blank(at[len])) len++;
    if (len == 0 || len >= sizeof text) return false;
    memcpy(text, at, len);
    text[len] = '\0';
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out) && *out >= 0;
}

static bool read_line(const char *line, size_t n, struct metric *out)
{
    size_t name = 0, at;
    while (name < n && line[name] != '{' && !blank(line[name])) name++;
    if (name == 0 || name == n || line[0] == '#') return false;
    *out = (struct metric){.name = line, .n_name = name, .labels = line + name};
    at = name;
    if (line[at] == '{') {
        const size_t close = behind_labels(line, at + 1, n);
        if (close == n) return false;
        out->labels = line + at + 1;
        out->n_labels = close - at - 1;
        at = close + 1;
    }
    return read_number(line + at, n - at, &out->value);
}

bool metrics_next(const char *text, size_t n, size_t *at, struct metric *out)
{
    while (*at < n) {
        const char *line = text + *at, *end = memchr(line, '\n', n - *at);
        const size_t len = end ? (size_t)(end - line) : n - *at;
        *at += len + (end != NULL);
        if (read_line(line, len, out)) return true;
    }
    return false;
}

bool metric_is(const struct metric *m, const char *name)
{
    return strlen(name) == m->n_name && memcmp(name, m->name, m->n_name) == 0;
}

/* A string from behind its opening quote to the closing one; whether it has that. */
static bool unescape(const char *from, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (from[i] == '"') return true;
        const bool escaped = from[i] == '\\' && i + 1 < n;
        i += escaped;
        buf_put(out, escaped && from[i] == 'n' ? " " : from + i, 1);
    }
    return false;
}

bool metric_label(const struct metric *m, const char *label, char *out, size_t room)
{
    const size_t len = strlen(label);
    const char *l = m->labels;
    bool found = false;
    *out = '\0';
    for (size_t i = 0; i < m->n_labels && !found;) {
        while (i < m->n_labels && (blank(l[i]) || l[i] == ',')) i++;
        size_t name = i;
        while (i < m->n_labels && l[i] != '=') i++;
        const size_t n_name = i - name;
        if (i + 1 >= m->n_labels || l[i + 1] != '"') return false;
        i += 2;
        struct buf value = {0};
        found = n_name == len && memcmp(l + name, label, len) == 0 && unescape(l + i, m->n_labels - i, &value);
        if (found) hear_line(value.data ? value.data : "", value.len, out, room);
        buf_free(&value);
        while (i < m->n_labels && l[i] != '"') i += l[i] == '\\' ? 2 : 1;
        i++;
    }
    return found;
}
