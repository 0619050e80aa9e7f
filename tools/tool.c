/* tool.c - the table, and what tools share. */
#include "tools/tool.h"
#include "tools/path.h"
#include <errno.h>
#include <unistd.h>

enum { PLACES_MAX = 100 };

static const struct tool own[] = {
    {"read", TOOL_READS, TOOL_JAILED, tool_read, NULL},
    {"write", TOOL_WRITES, TOOL_JAILED, tool_write, NULL},
    {"edit", TOOL_READS | TOOL_WRITES, TOOL_JAILED, tool_edit, NULL},
    {"list", TOOL_READS, TOOL_JAILED, tool_list, NULL},
    {"search", TOOL_READS, TOOL_JAILED, tool_search, NULL},
    {"shell", TOOL_RUNS, TOOL_COMMAND, NULL, tool_shell},
    {"calculator", 0, TOOL_HERE, tool_calculator, NULL},
    {"recall", 0, TOOL_APP, NULL, NULL},
    {"artifact", 0, TOOL_APP, NULL, NULL},
    {"ask", 0, TOOL_APP, NULL, NULL},
};
static struct tool added[TOOLS_MAX - COUNT_OF(own)];
static int n_added;

int tools_count(void) { return (int)COUNT_OF(own) + n_added; }

const struct tool *tool_at(int i)
{
    return i < (int)COUNT_OF(own) ? &own[i] : &added[i - (int)COUNT_OF(own)];
}

const struct tool *tool_find(const char *name)
{
    for (int i = 0; i < tools_count(); i++)
        if (strcmp(tool_at(i)->name, name) == 0) return tool_at(i);
    return NULL;
}

int tool_add(const char *name)
{
    char *copy = n_added == COUNT_OF(added) || tool_find(name) ? NULL : strdup(name);
    if (!copy) return -1;
    added[n_added++] = (struct tool){.name = copy, .effect = TOOL_WRITES, .place = TOOL_SERVER};
    return 0;
}

void tools_forget(void)
{
    while (n_added > 0) free((char *)(uintptr_t)added[--n_added].name);
}

int tool_arg_text(const json_t *arguments, const char *name, struct tool_text *out, struct err *err)
{
    const json_t *v = json_object_get(arguments, name);
    if (!json_is_string(v)) return err_set(err, -1, v ? "%s is not a text" : "%s is missing", name);
    *out = (struct tool_text){json_string_value(v), json_string_length(v)};
    return memchr(out->s, 0, out->n) ? err_set(err, -1, "%s has a NUL in it", name) : 0;
}

int tool_arg_int(const json_t *arguments, const char *name, int64_t absent, int64_t *out, struct err *err)
{
    const json_t *v = json_object_get(arguments, name);
    if (v && !json_is_integer(v)) return err_set(err, -1, "%s is not a whole number", name);
    *out = v ? json_integer_value(v) : absent;
    return 0;
}

enum tool_verdict tool_say(const struct tool_context *c, const char *bytes, size_t n)
{
    return n > 0 && c->put(c->self, bytes, n) ? TOOL_STOPPED : TOOL_DONE;
}

enum tool_verdict tool_fail(const struct tool_context *c, const struct err *err)
{
    char line[sizeof err->text + 8];
    int n = snprintf(line, sizeof line, "error: %s", err->text);
    tool_say(c, line, (size_t)n);
    return TOOL_FAILED;
}

int tool_places(const char *text, size_t len, struct tool_text old, size_t *at)
{
    int n = 0;
    const char *end = text + len;
    for (const char *p = text; n < PLACES_MAX && (p = memmem(p, (size_t)(end - p), old.s, old.n)); p++)
        if (n++ == 0) *at = (size_t)(p - text);
    return n;
}

/* What a file that grows gains meanwhile is not read. */
static size_t read_all(int fd, char *to, size_t n)
{
    size_t got = 0;
    while (got < n) {
        ssize_t k = read(fd, to + got, n - got);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return SIZE_MAX;
        if (k == 0) break;
        got += (size_t)k;
    }
    return got;
}

char *tool_slurp(int workspace, const char *path, uint64_t max, size_t *len, struct stat *st, struct err *err)
{
    int fd = path_open_file(workspace, path, st, err);
    if (fd < 0) return NULL;
    char *text = NULL;
    if (st->st_size < 0 || (uint64_t)st->st_size > max)
        err_set(err, -1, "%s is too large: %lld bytes, and %llu are allowed", path_shown(path).text,
                (long long)st->st_size, (unsigned long long)max);
    else if (!(text = malloc((size_t)st->st_size + 1)))
        err_set(err, -1, "out of memory");
    if (text && (*len = read_all(fd, text, (size_t)st->st_size)) == SIZE_MAX) {
        err_set(err, -1, "cannot read %s: %s", path_shown(path).text, strerror(errno));
        free(text);
        text = NULL;
    }
    if (text) text[*len] = '\0';
    close(fd);
    return text;
}

uint64_t tool_lines(const char *text, size_t n)
{
    uint64_t lines = n > 0 && text[n - 1] != '\n';
    for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
    return lines;
}
