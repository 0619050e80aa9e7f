/* fuzz_script.c - any bytes read as a script.
 *
 * covers: app/script.c app/expect.c
 *
 * What must hold: from a descriptor the items are those from the text; they stand in the order of their lines; a turn
 * is UTF-8 without NUL and never empty; an error is one line that names its line; and each item written as a script
 * again is read as the same item.  What /expect and /assert make of it is told in one line too; the last turn is the
 * answer. */
#include "app/expect.h"
#include "app/script.h"
#include "engine/text.h"
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORD = 12 };

static void must(bool holds)
{
    if (!holds) abort();
}

static bool same(const struct script_item *a, const struct script_item *b)
{
    return a->kind == b->kind && strcmp(a->name, b->name) == 0 && a->n == b->n &&
           (a->n == 0 || memcmp(a->text, b->text, a->n) == 0);
}

/* ------------------------------------------------------------------ an item written again */

static bool has_line(const struct script_item *item, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = item->text, *end = at + item->n; at <= end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        if ((size_t)(stop - at) == len && memcmp(at, word, len) == 0) return true;
        at = stop + 1;
    }
    return false;
}

/* Lines end in \r\n, so that a \r at a line's end is read as one. */
static void write_item(const struct script_item *item, struct buf *out)
{
    char word[WORD] = "E";
    if (item->kind == SCRIPT_COMMAND) {
        buf_printf(out, "/%s ", item->name);
        buf_put(out, item->text, item->n);
        buf_puts(out, "\r\n");
        return;
    }
    for (int i = 0; has_line(item, word); i++) snprintf(word, sizeof word, "E%d", i);
    if (*item->name) buf_printf(out, "@%s ", item->name);
    buf_printf(out, "<<%s\r\n", word);
    for (size_t i = 0; i < item->n; i++) {
        if (item->text[i] == '\n') buf_puts(out, "\r");
        buf_put(out, item->text + i, 1);
    }
    buf_printf(out, "\r\n%s\r\n", word);
}

static void check_again(const struct script_item *item)
{
    struct script s;
    struct script_item again;
    struct err err = {0};
    struct buf text = {0};
    write_item(item, &text);
    script_open_text(&s, text.data, text.len);
    must(script_next(&s, &again, &err) == SCRIPT_ITEM && again.line == 1 && same(item, &again));
    must(script_next(&s, &again, &err) == SCRIPT_END);
    script_close(&s);
    buf_free(&text);
}

/* ------------------------------------------------------------------ what it expects */

static bool figure(void *self, const char *name, double *value)
{
    (void)self;
    *value = 3;
    return strcmp(name, "turns") == 0;
}

static const char *figure_name(void *self, size_t i)
{
    (void)self;
    return i == 0 ? "turns" : NULL;
}

static void check_line(const char *text, int64_t line)
{
    char head[40];
    int n = snprintf(head, sizeof head, "line %lld: ", (long long)line);
    must(strncmp(text, head, (size_t)n) == 0 && text[n] && !strpbrk(text, "\n\r"));
}

static void obey(const struct script_item *item, const struct buf *answer)
{
    static const struct expect_figures figures = {NULL, figure, figure_name};
    struct err err = {0};
    enum expect_result r = EXPECT_HOLDS;
    if (item->kind != SCRIPT_COMMAND) return;
    if (strcmp(item->name, "expect") == 0)
        r = expect_answer(item->line, item->text, item->n, answer->data, answer->len, &err);
    if (strcmp(item->name, "assert") == 0) r = expect_figure(item->line, item->text, item->n, &figures, &err);
    must(err.code == (int)r);
    if (r != EXPECT_HOLDS) check_line(err.text, item->line);
}

static void check_item(const struct script_item *item, struct buf *answer)
{
    must(text_valid_utf8(item->text, item->n) == item->n && !memchr(item->text, 0, item->n));
    must(strlen(item->name) <= SCRIPT_NAME);
    check_again(item);
    obey(item, answer);
    if (item->kind != SCRIPT_TURN) return;
    must(item->n > 0);
    answer->len = 0;
    buf_put(answer, item->text, item->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script a, b;
    struct input in;
    struct script_item item, other;
    struct err err, why;
    struct buf answer = {0};
    enum script_result r;
    int fd = memfd_create("script", MFD_CLOEXEC);
    must(fd >= 0 && (size == 0 || write(fd, data, size) == (ssize_t)size) && lseek(fd, 0, SEEK_SET) == 0);
    input_open(&in, fd);
    script_open(&a, &in);
    script_open_text(&b, (const char *)data, size);
    for (int64_t line = 0;; line = item.line) {
        err = why = (struct err){0};
        r = script_next(&a, &item, &err);
        must(script_next(&b, &other, &why) == r);
        if (r != SCRIPT_ITEM) break;
        must(item.line > line && item.line == other.line && same(&item, &other));
        check_item(&item, &answer);
    }
    must(r == SCRIPT_END || r == SCRIPT_BAD);
    must(strcmp(err.text, why.text) == 0 && strlen(err.text) == strcspn(err.text, "\n\r"));
    must((r == SCRIPT_BAD) == (strncmp(err.text, "line ", 5) == 0));
    script_close(&a);
    script_close(&b);
    input_close(&in);
    close(fd);
    buf_free(&answer);
    return 0;
}
