/* flow_read.c - what an answer says: names, tasks, a verdict.  A model wrote it: any bytes, any size. */
#include "app/session/flow_impl.h"
#include "memory/forms.h"
#include <strings.h>

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static bool is_word(char c) /* bytes beyond ASCII are letters of other languages: a name within them is none */
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || (unsigned char)c >= 0x80;
}

struct flow_span flow_trim(struct flow_span s)
{
    while (s.n > 0 && is_blank(s.text[0])) {
        s.text++;
        s.n--;
    }
    while (s.n > 0 && is_blank(s.text[s.n - 1])) s.n--;
    return s;
}

static struct flow_span behind(struct flow_span s, size_t n) { return (struct flow_span){s.text + n, s.n - n}; }

static size_t word_length(struct flow_span s)
{
    size_t n = 0;
    while (n < s.n && is_word(s.text[n])) n++;
    return n;
}

static bool same_word(struct flow_span s, const char *word)
{
    return strlen(word) == s.n && strncasecmp(s.text, word, s.n) == 0;
}

bool flow_line(const char *text, size_t n, size_t *at, struct flow_span *line)
{
    if (*at >= n) return false;
    const char *newline = memchr(text + *at, '\n', n - *at);
    size_t to = newline ? (size_t)(newline - text) : n;
    *line = flow_trim((struct flow_span){text + *at, to - *at});
    *at = to + (newline != NULL);
    return true;
}

/* What a list or emphasis puts before a word: "- ", "2. ", "3) ", "**", "> ". */
static struct flow_span without_marks(struct flow_span line)
{
    size_t n = 0;
    while (n < line.n && (is_blank(line.text[n]) || strchr("-*+>#@`.)0123456789", line.text[n])) && line.text[n]) n++;
    return behind(line, n);
}

/* Past the end of emphasis, a colon and the end of emphasis; false: no colon is there. */
static bool colon(struct flow_span *s)
{
    size_t n = 0;
    while (n < s->n && (s->text[n] == '*' || s->text[n] == '`' || s->text[n] == ' ')) n++;
    if (n == s->n || s->text[n++] != ':') return false;
    while (n < s->n && (s->text[n] == '*' || is_blank(s->text[n]))) n++;
    *s = behind(*s, n);
    return true;
}

/* ------------------------------------------------------------------ names */

static int member(const struct crew *c, struct flow_span word)
{
    if (word.n > CREW_NAME) return -1;
    for (int i = 0; i < c->n_members; i++) {
        if (same_word(word, c->agent[c->members[i]].name)) return i;
    }
    return -1;
}

int flow_named(const struct crew *c, const char *text, size_t n, int not)
{
    struct flow_span rest = {text, n};
    while (rest.n > 0) {
        size_t len = word_length(rest);
        int m = member(c, (struct flow_span){rest.text, len});
        if (m >= 0 && c->members[m] != not) return m;
        rest = behind(rest, MAX(len, (size_t)1));
    }
    return -1;
}

int flow_task_line(const struct crew *c, const char *text, size_t n, size_t *at, struct flow_span *task)
{
    struct flow_span line;
    while (flow_line(text, n, at, &line)) {
        line = without_marks(line);
        size_t len = word_length(line);
        int m = member(c, (struct flow_span){line.text, len});
        if (m < 0) continue;
        *task = behind(line, len);
        if (colon(task) && task->n > 0) return m;
    }
    return -1;
}

bool flow_step_line(const char *text, size_t n, size_t *at, struct flow_span *step)
{
    struct form_text form = form_source(FORM_PLAN); /* "Plan:", then the steps */
    struct flow_span line;
    size_t head = 0;
    while (head < form.len && form.text[head] != '\n') head++;
    if (*at == 0) {
        do {
            if (!flow_line(text, n, at, &line)) return false;
        } while (line.n == 0);
        if (line.n != head || strncasecmp(line.text, form.text, head) != 0) return false;
    }
    while (flow_line(text, n, at, &line)) {
        size_t digits = 0;
        while (digits < line.n && line.text[digits] >= '0' && line.text[digits] <= '9') digits++;
        if (digits == 0 || digits == line.n || line.text[digits] != '.') continue;
        *step = flow_trim(behind(line, digits + 1));
        if (step->n > 0) return true;
    }
    return false;
}

/* ------------------------------------------------------------------ lines */

bool flow_says_line(const char *text, size_t n, const char *word)
{
    struct flow_span line;
    for (size_t at = 0; flow_line(text, n, &at, &line);) {
        line = without_marks(line);
        while (line.n > 0 && strchr(".!*`", line.text[line.n - 1]) && line.text[line.n - 1]) line.n--;
        if (same_word(line, word)) return true;
    }
    return false;
}

enum flow_verdict flow_verdict(const char *text, size_t n)
{
    struct form_text form = form_source(FORM_VERDICT); /* "Verdict: {verdict}", then the reasons */
    const char *end = memchr(form.text, '{', form.len);
    size_t words = end ? (size_t)(end - form.text) : form.len;
    while (words > 0 && !is_word(form.text[words - 1])) words--;
    struct flow_span line;
    for (size_t at = 0; flow_line(text, n, &at, &line);) {
        line = without_marks(line);
        if (line.n < words || strncasecmp(line.text, form.text, words) != 0) continue;
        struct flow_span verdict = behind(line, words);
        if (!colon(&verdict)) continue;
        verdict.n = word_length(verdict);
        if (same_word(verdict, "accept")) return VERDICT_ACCEPT;
        if (same_word(verdict, "revise")) return VERDICT_REVISE;
    }
    return VERDICT_NONE;
}
