/* summary_extract.c - lines out of what was said, and how much a line looks like a fact. */
#include "memory/summary_impl.h"

enum {
    LINES_EACH = 8,       /* of one message, beside its first sentence */
    LOOK_BYTES = 1 << 16, /* of one message */
    VALUE_WORDS = 2,      /* of "the host is alba", behind "is" */
    LEFT_OUT_FROM = 512   /* messages that are looked through for what a record leaves out: the newest */
};

/* ------------------------------------------------------------------ what a line looks like */

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

/* The next word, up to a blank.  false: there is none. */
static bool next_word(struct form_text *rest, struct form_text *word)
{
    while (rest->len > 0 && is_blank(rest->text[0])) *rest = (struct form_text){rest->text + 1, rest->len - 1};
    size_t n = 0;
    while (n < rest->len && !is_blank(rest->text[n])) n++;
    *word = (struct form_text){rest->text, n};
    *rest = (struct form_text){rest->text + n, rest->len - n};
    return n > 0;
}

/* Whether a sentence ends within so many words. */
static bool ends_within(struct form_text rest, int words)
{
    struct form_text word;
    while (next_word(&rest, &word)) {
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
    while (next_word(&rest, &word)) {
        bool is = is_any(word, verb, COUNT_OF(verb)) && !is_any(before, nobody, COUNT_OF(nobody));
        bool gives = is || is_any(word, called, COUNT_OF(called)) || word.text[word.len - 1] == ':';
        struct form_text value = rest;
        before = word;
        if (!gives || !next_word(&value, &word)) continue;
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

static bool is_statement(struct form_text t)
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

/* ------------------------------------------------------------------ lines */

static bool ends_sentence(struct form_text t, size_t i)
{
    char c = t.text[i];
    return (c == '.' || c == '!' || c == '?') && (i + 1 == t.len || is_blank(t.text[i + 1]));
}

static struct form_text first_sentence(struct form_text line)
{
    for (size_t i = 0; i < line.len; i++)
        if (ends_sentence(line, i)) return (struct form_text){line.text, i + 1};
    return line;
}

/* The whole line, or its beginning with "..." behind it, copied into cut. */
static struct form_text short_line(struct form_text t, struct buf *cut, size_t *at)
{
    if (t.len <= SUMMARY_LINE_BYTES) return t;
    size_t n = SUMMARY_LINE_BYTES - 3;
    while (n > 0 && ((unsigned char)t.text[n] & 0xc0) == 0x80) n--;
    char *to = cut->data + *at;
    memcpy(to, t.text, n);
    memcpy(to + n, "...", 3);
    *at += n + 3;
    return (struct form_text){to, n + 3};
}

static bool next_line(struct form_text *rest, struct form_text *line)
{
    if (rest->len == 0) return false;
    const char *end = memchr(rest->text, '\n', rest->len);
    size_t n = end ? (size_t)(end - rest->text) : rest->len, used = n + (end != NULL);
    *line = (struct form_text){rest->text, n};
    *rest = (struct form_text){rest->text + used, rest->len - used};
    return true;
}

static bool is_blank_line(struct form_text t)
{
    for (size_t i = 0; i < t.len; i++)
        if (!is_blank(t.text[i])) return false;
    return true;
}

/* Items of a record have no full stop. */
static struct form_text without_stop(struct form_text t)
{
    while (t.len > 0 && is_blank(t.text[t.len - 1])) t.len--;
    if (t.len > 1 && t.text[t.len - 1] == '.' && is_word(t.text[t.len - 2])) t.len--;
    return t;
}

/* ------------------------------------------------------------------ messages */

struct extract {
    struct items it;
    struct buf cut;       /* lines that were cut; nothing of it moves */
    size_t at;
    int lines;            /* of one message */
    size_t asked, answered; /* items from, to: what the last message of a person gave, or else the record before */
};

/* Whether these words are a run of those. */
static bool run_in(struct form_text run, struct form_text words)
{
    for (size_t i = 0; run.len > 0 && i + run.len <= words.len; i++) {
        if (i > 0 && words.text[i - 1] != ' ') continue;
        if (i + run.len < words.len && words.text[i + run.len] != ' ') continue;
        if (memcmp(words.text + i, run.text, run.len) == 0) return true;
    }
    return false;
}

/* "Noted: the port is 8080" without its first word. */
static struct form_text without_label(struct form_text t)
{
    size_t n = 0;
    while (n < t.len && !is_blank(t.text[n])) n++;
    return n > 0 && t.text[n - 1] == ':' ? (struct form_text){t.text + n, t.len - n} : t;
}

/* A line of an answer that only says again what it answers. */
static bool is_echo(const struct extract *x, struct form_text line)
{
    char mine[SUMMARY_LINE_BYTES + 1], theirs[SUMMARY_LINE_BYTES + 1];
    struct form_text run = {mine, summary_words(without_label(line), mine)};
    for (size_t i = x->asked; i < x->answered; i++) {
        if (x->it.v[i].text.len > SUMMARY_LINE_BYTES) continue;
        struct form_text words = {theirs, summary_words(x->it.v[i].text, theirs)};
        if (run_in(run, words)) return true;
    }
    return false;
}

static void add_line(struct extract *x, struct form_text line, bool user)
{
    line = short_line(without_stop(line), &x->cut, &x->at);
    if (!user && is_echo(x, line)) return;
    summary_add_fact(&x->it, line, user);
}

static void add_message(struct extract *x, const struct summary_source *m)
{
    struct form_text rest = {m->text.text, MIN(m->text.len, (size_t)LOOK_BYTES)}, line;
    bool first = true;
    size_t begin = x->it.n;
    for (int left = x->lines; left >= 0 && next_line(&rest, &line);) {
        if (is_blank_line(line)) continue;
        int looks = summary_looks(line);
        if (!first && looks < 2) continue;
        add_line(x, first && looks < 2 ? first_sentence(line) : line, m->user);
        first = false;
        left--;
    }
    if (!m->user) return;
    x->asked = begin;
    x->answered = x->it.n;
}

/* ------------------------------------------------------------------ what a record leaves out */

static bool is_value(struct form_text word, bool first)
{
    for (size_t i = 0; i < word.len; i++) {
        char c = word.text[i];
        if (is_digit(c) || c == '/' || c == '_' || (is_upper(c) && !first)) return true;
    }
    return false;
}

/* Whether an item has all values of the line; of a line without any, its last word. */
static bool has_values(struct form_text item, struct form_text line, char *room)
{
    char one[SUMMARY_LINE_BYTES];
    struct form_text words = {room, summary_words(item, room)}, word, last = {0};
    bool any = false;
    for (bool first = true; next_word(&line, &word); first = false) {
        last = word;
        if (!is_value(word, first)) continue;
        any = true;
        if (!run_in((struct form_text){one, summary_words(word, one)}, words)) return false;
    }
    return any || run_in((struct form_text){one, summary_words(last, one)}, words);
}

static bool is_in(const struct form_record *r, struct form_text line, char *room)
{
    for (int s = 0; r && s < RECORD_SECTIONS; s++)
        for (size_t i = 0; i < r->section[s].n; i++)
            if (has_values(r->section[s].item[i], line, room)) return true;
    return false;
}

static size_t longest(const struct form_record *r)
{
    size_t n = 0;
    for (int s = 0; r && s < RECORD_SECTIONS; s++)
        for (size_t i = 0; i < r->section[s].n; i++) n = MAX(n, r->section[s].item[i].len);
    return n;
}

int summary_add_left_out(struct items *it, const struct form_record *before, const struct form_record *now,
                         const struct summary_source *said, size_t n, struct err *err)
{
    char *room = n > 0 ? malloc(MAX(longest(before), longest(now)) + 1) : NULL;
    if (n > 0 && !room) return err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
    for (size_t i = n - MIN(n, (size_t)LEFT_OUT_FROM); i < n; i++) {
        struct form_text rest = {said[i].text.text, MIN(said[i].text.len, (size_t)LOOK_BYTES)}, line;
        for (int left = LINES_EACH; said[i].user && left >= 0 && next_line(&rest, &line);) {
            line = without_stop(line);
            if (line.len > SUMMARY_LINE_BYTES || !is_statement(line)) continue;
            left--;
            if (!is_in(before, line, room) && !is_in(now, line, room)) summary_add_left(it, line);
        }
    }
    free(room);
    return 0;
}

int summary_extract(const struct form_record *before, const struct summary_source *said, size_t n,
                    const struct summary_tasks *tasks, const struct summary_limit *limit, struct buf *out,
                    struct summary_result *result, struct err *err)
{
    struct extract x = {0};
    size_t most = SUMMARY_ITEMS / 2, from = n > most ? n - most : 0;
    x.lines = (int)MIN((size_t)LINES_EACH, most / MAX(n - from, (size_t)1) - 1);
    *result = (struct summary_result){0};
    int rc = summary_take(&x.it, err);
    if (rc) return rc;
    x.cut.data = malloc(most * SUMMARY_LINE_BYTES); /* (lines + 1) of each message are at most `most` */
    if (!x.cut.data) rc = err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
    if (rc == 0) {
        summary_add_record(&x.it, before, !tasks);
        x.answered = x.it.n;
        if (tasks) summary_add_tasks(&x.it, tasks->done, tasks->open);
        for (size_t i = from; i < n; i++) add_message(&x, &said[i]);
        x.it.dropped = from;
        rc = summary_finish(&x.it, true, limit, out, result, err);
    }
    free(x.cut.data);
    free(x.it.v);
    return rc;
}
