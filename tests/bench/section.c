/* section.c - see section.h. */
#include "tests/bench/section.h"

/* The length of the line at `at`, its newline included. */
static size_t line_length(const char *at)
{
    size_t n = strcspn(at, "\n");
    return at[n] ? n + 1 : n;
}

static bool is_line(const char *at, size_t n, const char *what)
{
    size_t len = strlen(what);
    return n >= len && strncmp(at, what, len) == 0 && (n == len || strcmp(what, "### ") == 0 || at[len] == '\n');
}

static void put_section(const char *section, struct buf *out)
{
    buf_puts(out, section);
    size_t n = strlen(section);
    if (n < 2 || section[n - 1] != '\n') buf_puts(out, "\n");
    if (n < 2 || section[n - 1] != '\n' || section[n - 2] != '\n') buf_puts(out, "\n");
}

int section_insert(const char *text, const char *section, struct buf *out, struct err *err)
{
    bool below = false, put = false;
    for (const char *at = text; *at;) {
        size_t n = line_length(at);
        if (below && !put && is_line(at, n, "### ")) {
            put_section(section, out);
            put = true;
        }
        bool chart = put && is_line(at, n, SECTION_CHART);
        if (is_line(at, n, SECTION_HEADING)) below = true;
        if (!chart) buf_put(out, at, n);
        at += n;
        /* With it goes the empty line after it, if there is one before it. */
        if (chart && *at == '\n' && out->len >= 2 && out->data[out->len - 2] == '\n') at++;
    }
    if (!below) return err_set(err, -1, "there is no line \"%s\" to put the section under", SECTION_HEADING);
    if (!put) {
        if (out->len && out->data[out->len - 1] != '\n') buf_puts(out, "\n");
        buf_puts(out, "\n");
        put_section(section, out);
    }
    return out->failed ? err_set(err, -1, "no memory for the text") : 0;
}
