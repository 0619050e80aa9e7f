/* summary_looks.c - how much a line looks like a fact, and what of it is one. */
#include "memory/summary_impl.h"
#include <strings.h>

enum { VALUE_WORDS = 2 }; /* of "the host is alba", behind "is" */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_word(char c) { return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80; }
static bool is_blank(char c) { return (unsigned char)c <= ' '; }

struct signs { bool figure, name, path, assigned, equated, question; };

static bool is_any(struct form_text word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (word.len == strlen(list[i]) && memcmp(word.text, list[i], word.len) == 0) return true;
    return false;
}

bool summary_next_word(struct form_text *rest, struct form_text *word)
{
    while (rest->len > 0 && is_blank(rest->text[0])) *rest = (struct form_text){rest->text + 1, rest->len - 1};
    size_t n = 0;
    while (n < rest->len && !is_blank(rest->text[n])) n++;
    *word = (struct form_text){rest->text, n};
    *rest = (struct form_text){rest->text + n, rest->len - n};
    return n > 0;
}

bool summary_next_line(struct form_text *rest, struct form_text *line)
{
    if (rest->len == 0) return false;
    const char *end = memchr(rest->text, '\n', rest->len);
    size_t n = end ? (size_t)(end - rest->text) : rest->len, used = n + (end != NULL);
    *line = (struct form_text){rest->text, n};
    *rest = (struct form_text){rest->text + used, rest->len - used};
    return true;
}

/* Whether a sentence ends within so many words. */
static bool ends_within(struct form_text rest, int words)
{
    struct form_text word;
    while (summary_next_word(&rest, &word)) {
        if (words-- == 0) return false;
        if (strchr(".,;!", word.text[word.len - 1])) return true;
    }
    return true;
}

/* "the user is Ines", "her dog is called Rufo", "name: Rufo"; "the host is alba", but not "that is all". */
static void read_statement(struct form_text line, struct signs *s)
{
    static const char *const verb[] = {"is", "are", "was", "were"}, *const called[] = {"called", "named"};
    static const char *const nobody[] = {"it", "It", "that", "That", "this", "This", "there", "There", "nothing"};
    struct form_text rest = line, word, before = {"it", 2};
    while (summary_next_word(&rest, &word)) {
        bool is = is_any(word, verb, COUNT_OF(verb)) && !is_any(before, nobody, COUNT_OF(nobody));
        bool gives = is || is_any(word, called, COUNT_OF(called)) || word.text[word.len - 1] == ':';
        struct form_text value = rest;
        before = word;
        if (!gives || !summary_next_word(&value, &word)) continue;
        s->assigned |= is_upper(word.text[0]) || word.text[0] == '"' || is_any(word, called, COUNT_OF(called));
        s->equated |= is && ends_within(rest, VALUE_WORDS);
    }
}

static struct signs read_signs(struct form_text t)
{
    struct signs s = {0};
    for (size_t i = 0; i < t.len; i++) {
        char c = t.text[i], before = i > 0 ? t.text[i - 1] : ' ', after = i + 1 < t.len ? t.text[i + 1] : ' ';
        s.figure |= is_digit(c);
        s.name |= is_upper(c) && i > 0 && !is_upper(before);
        s.path |= (c == '/' || c == '_' || c == '.' || c == '@') && is_word(before) && is_word(after);
        s.assigned |= c == '=' && (is_word(before) || before == ' ') && (is_word(after) || after == ' ');
        if (!is_blank(c)) s.question = c == '?';
    }
    read_statement(t, &s);
    return s;
}

bool summary_is_statement(struct form_text t)
{
    struct signs s = read_signs(t);
    return !s.question && (s.assigned || s.equated);
}

int summary_looks(struct form_text t)
{
    struct signs s = read_signs(t);
    if (s.question) return s.figure || s.path;
    if (s.figure || s.path || s.assigned) return 2;
    return s.name || s.equated;
}

/* ------------------------------------------------------------------ the statement alone */

static bool skip(struct form_text *t, const char *words)
{
    size_t n = strlen(words);
    if (t->len <= n || strncasecmp(t->text, words, n) != 0) return false;
    *t = (struct form_text){t->text + n, t->len - n};
    return true;
}

struct form_text summary_bare(struct form_text line)
{
    static const char *const lead[] = {"note that ", "note: ", "remember that ", "remember: ", "keep in mind that "};
    struct form_text t = line;
    skip(&t, "please ");
    for (size_t i = 0; i < COUNT_OF(lead); i++)
        if (skip(&t, lead[i])) return summary_is_statement(t) ? t : line;
    return line;
}

struct form_text summary_without_label(struct form_text t)
{
    size_t n = 0;
    while (n < t.len && !is_blank(t.text[n])) n++;
    return n > 0 && t.text[n - 1] == ':' ? (struct form_text){t.text + n, t.len - n} : t;
}
