/* explain_services.c - see explain_services.h. */
#include "app/learn/explain_services.h"
#include "app/learn/explain_read.h"
#include <ctype.h>

enum { WRAPPED_LEAST = 60 /* columns of a line that a terminal may have broken */ };

/* ------------------------------------------------------------------ whose a line is */

struct named { /* n 0: nobody is */
    const char *name;
    size_t n, behind; /* behind it, and the bar, the line goes on */
};

static size_t colours(const char *s, size_t n, size_t at)
{
    while (at + 1 < n && s[at] == 033 && s[at + 1] == '[') {
        for (at += 2; at < n && (isdigit((unsigned char)s[at]) || s[at] == ';'); at++) {}
        at += at < n;
    }
    return at;
}

static size_t blanks(const char *s, size_t n, size_t at)
{
    while (at < n && (s[at] == ' ' || s[at] == '\t')) at++;
    return at;
}

static bool in_name(char c) { return isalnum((unsigned char)c) || (c && strchr("-_.@", c)); }

/* "ERROR    | ...", "2026-11-02 | ...": loggers that put a level or a day first write as compose does. */
static bool is_loggers(const char *s, size_t n)
{
    bool letter = false;
    for (size_t i = 0; i < n; i++) letter |= isalpha((unsigned char)s[i]) != 0;
    if (!letter) return true;
    static const char *const level[] = {"info", "warning", "warn", "error", "debug", "critical", "fatal", "trace",
                                        "notice", "success"};
    for (size_t i = 0; i < COUNT_OF(level); i++)
        if (n == strlen(level[i]) && !strncasecmp(s, level[i], n)) return true;
    return false;
}

/* "vllm-1    | " */
static struct named by_compose(const char *s, size_t n)
{
    const size_t from = colours(s, n, 0);
    size_t to = from;
    while (to < n && in_name(s[to])) to++;
    const size_t end = colours(s, n, to), bar = colours(s, n, blanks(s, n, end));
    if (to == from || to - from >= SERVICE_NAME || bar == end || bar >= n || s[bar] != '|') return (struct named){0};
    size_t behind = colours(s, n, bar + 1);
    if (behind < n && s[behind] != ' ' && s[behind] != '\r') return (struct named){0};
    behind = colours(s, n, behind + (behind < n && s[behind] == ' '));
    return is_loggers(s + from, to - from) ? (struct named){0} : (struct named){s + from, to - from, behind};
}

/* "[pod/vllm-0/server] " */
static struct named by_kubectl(const char *s, size_t n)
{
    static const char head[] = "[pod/";
    size_t to = 1;
    if (n < sizeof head || memcmp(s, head, sizeof head - 1) != 0) return (struct named){0};
    while (to < n && (in_name(s[to]) || s[to] == '/')) to++;
    if (to >= n || s[to] != ']' || to >= SERVICE_NAME) return (struct named){0};
    return (struct named){s + 1, to - 1, to + 1 + (to + 1 < n && s[to + 1] == ' ')};
}

static struct named named(const char *s, size_t n)
{
    const struct named pod = by_kubectl(s, n);
    return pod.n ? pod : by_compose(s, n);
}

static int find(const struct services *s, const char *name, size_t n)
{
    for (int i = 0; i < s->n; i++)
        if (strlen(s->name[i]) == n && memcmp(s->name[i], name, n) == 0) return i;
    return SERVICE_NOBODY;
}

/* ------------------------------------------------------------------ all lines */

static size_t line_end(const char *text, size_t n, size_t at)
{
    const char *end = memchr(text + at, '\n', n - at);
    return end ? (size_t)(end - text) : n;
}

/* "vllm-1", "chat_vllm_1": as compose numbers them, or a pod. */
static bool is_numbered(const struct named *w)
{
    size_t digits = 0;
    while (digits < w->n && isdigit((unsigned char)w->name[w->n - 1 - digits])) digits++;
    const bool number = digits && digits < w->n && strchr("-_", w->name[w->n - 1 - digits]);
    return number || memchr(w->name, '/', w->n);
}

bool services_find(const char *text, size_t n, struct services *s)
{
    size_t lines = 0, theirs = 0;
    bool numbered = false;
    s->n = 0;
    for (size_t at = 0, end; at < n; at = end + 1) {
        end = line_end(text, n, at);
        const struct named w = named(text + at, end - at);
        lines += blanks(text, end, at) < end;
        if (!w.n) continue;
        theirs++;
        numbered = numbered || is_numbered(&w);
        if (s->n < SERVICES_MOST && find(s, w.name, w.n) < 0)
            snprintf(s->name[s->n++], SERVICE_NAME, "%.*s", (int)w.n, w.name);
    }
    /* A table has bars too, and every row of it another name. */
    const bool many = numbered ? theirs * 4 >= lines : theirs * 2 >= lines && theirs >= 3 * (size_t)s->n;
    return s->n >= 2 && many;
}

/* Who is said to have ended, in a line that names nobody before a bar: the longest name that stands in it. */
static int who_ended(const struct services *s, const char *line, size_t n)
{
    int who = SERVICE_NOBODY;
    if (!memmem(line, n, "exited", 6)) return who;
    for (int i = 0; i < s->n; i++)
        if (memmem(line, n, s->name[i], strlen(s->name[i])) && (who < 0 || strlen(s->name[i]) > strlen(s->name[who])))
            who = i;
    return who;
}

static bool add_number(struct line_map *map, uint32_t number)
{
    if (map->n == map->cap) {
        const size_t cap = map->cap ? 2 * map->cap : 256;
        uint32_t *more = realloc(map->of, cap * sizeof *more);
        if (!more) return false;
        map->of = more;
        map->cap = cap;
    }
    map->of[map->n++] = number;
    return true;
}

bool services_lines(const char *text, size_t n, const struct services *s, int which, struct buf *out,
                    struct line_map *map)
{
    int who = SERVICE_NOBODY;
    size_t before = 0;
    uint32_t line = 0;
    for (size_t at = 0, end; at < n; at = end + 1) {
        end = line_end(text, n, at);
        line += line < UINT32_MAX;
        const struct named w = named(text + at, end - at);
        const int ended = w.n ? SERVICE_NOBODY : who_ended(s, text + at, end - at);
        if (w.n) who = find(s, w.name, w.n);
        else if (ended >= 0) who = ended;
        else if (before < WRAPPED_LEAST) who = SERVICE_NOBODY;
        before = end - at;
        if (who != which) continue;
        if (who >= 0 && map->n == 0) {
            buf_printf(out, "%s\n", s->name[who]);
            if (!add_number(map, line)) return false;
        }
        buf_put(out, text + at + w.behind, end - at - w.behind);
        buf_puts(out, "\n");
        if (!add_number(map, line)) return false;
    }
    return !out->failed;
}

/* ------------------------------------------------------------------ numbers of lines */

uint32_t line_in_text(const struct line_map *map, uint32_t own)
{
    return !map ? own : own && own <= map->n ? map->of[own - 1] : 0;
}

uint32_t line_in_part(const struct line_map *map, uint32_t line)
{
    size_t low = 0, high = map ? map->n : 0;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (map->of[mid] < line) low = mid + 1;
        else high = mid;
    }
    return map ? (uint32_t)low + 1 : line;
}
