/* summary_extract.c - lines out of what was said. */
#include "memory/summary_impl.h"

enum {
    LINES_EACH = 8,       /* of one message, beside its first sentence */
    LOOK_BYTES = 1 << 16, /* of one message: the whole lines in them */
    LEFT_OUT_FROM = 512   /* messages that are looked through for what a record leaves out: the newest */
};

_Static_assert((LINES_EACH + 1) * LEFT_OUT_FROM <= SUMMARY_SAID, "what is left out finds room in items.room");

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_word(char c) { return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80; }
static bool is_blank(char c) { return (unsigned char)c <= ' '; }

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

static struct form_text copy(struct items *it, struct form_text t, const char *end)
{
    char *to = it->room + it->used;
    memcpy(to, t.text, t.len);
    memcpy(to + t.len, end, strlen(end));
    t = (struct form_text){to, t.len + strlen(end)};
    it->used += t.len;
    return t;
}

/* The whole line, or its beginning with "..." behind it. */
static struct form_text short_line(struct items *it, struct form_text t)
{
    if (t.len <= SUMMARY_LINE_BYTES) return t;
    size_t n = SUMMARY_LINE_BYTES - 3;
    while (n > 0 && ((unsigned char)t.text[n] & 0xc0) == 0x80) n--;
    return copy(it, (struct form_text){t.text, n}, "...");
}

/* "The port" is "the port": an item of a record is no sentence. */
static struct form_text lower_line(struct items *it, struct form_text t)
{
    static const char *const lowered[] = {"The ", "My ", "Your ", "Our "};
    for (size_t i = 0; i < COUNT_OF(lowered); i++) {
        size_t n = strlen(lowered[i]);
        if (t.len <= n || t.len > SUMMARY_LINE_BYTES || memcmp(t.text, lowered[i], n) != 0) continue;
        char *to = it->room + it->used;
        t = copy(it, t, "");
        to[0] = (char)(to[0] - 'A' + 'a');
        return t;
    }
    return t;
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

/* Half a line is another statement: "the port is 80" of "the port is 8080". */
static struct form_text beginning(struct form_text t)
{
    if (t.len <= LOOK_BYTES) return t;
    const char *end = memrchr(t.text, '\n', LOOK_BYTES);
    return (struct form_text){t.text, end ? (size_t)(end - t.text) : LOOK_BYTES};
}

/* ------------------------------------------------------------------ messages */

struct extract {
    struct items it;
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

/* A line of an answer that only says again what it answers. */
static bool is_echo(const struct extract *x, struct form_text line)
{
    char mine[SUMMARY_LINE_BYTES + 1], theirs[SUMMARY_LINE_BYTES + 1];
    struct form_text run = {mine, summary_words(summary_without_label(line), mine)};
    for (size_t i = x->asked; i < x->answered; i++) {
        if (x->it.v[i].text.len > SUMMARY_LINE_BYTES) continue;
        struct form_text words = {theirs, summary_words(x->it.v[i].text, theirs)};
        if (run_in(run, words)) return true;
    }
    return false;
}

static void add_line(struct extract *x, struct form_text line, bool user)
{
    line = short_line(&x->it, lower_line(&x->it, summary_bare(without_stop(line))));
    if (!user && is_echo(x, line)) return;
    summary_add_fact(&x->it, line, user);
}

static void add_message(struct extract *x, const struct summary_source *m)
{
    struct form_text rest = beginning(m->text), line;
    bool first = true;
    size_t begin = x->it.n;
    x->it.from = m->user ? ITEM_SAID : ITEM_MODEL;
    for (int left = x->lines; left >= 0 && summary_next_line(&rest, &line);) {
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

static bool is_small(struct form_text word)
{
    static const char *const small[] = {"the", "my", "your", "our", "a",  "an",  "of",
                                        "in",  "on", "at",   "to",  "is", "for", "and"};
    for (size_t i = 0; i < COUNT_OF(small); i++)
        if (word.len == strlen(small[i]) && memcmp(word.text, small[i], word.len) == 0) return true;
    return false;
}

/* Whether the words have all of a key: "door's code" has those of "the code of the door is". */
static bool has_key(struct form_text words, struct form_text key)
{
    char of[SUMMARY_LINE_BYTES + 2];
    struct form_text word;
    while (summary_next_word(&key, &word)) {
        if (is_small(word)) continue;
        size_t n = word.len > 2 && memcmp(word.text + word.len - 2, "'s", 2) == 0 ? word.len - 2 : word.len;
        memcpy(of, word.text, n);
        memcpy(of + n, "'s", 2);
        if (!run_in((struct form_text){of, n}, words) && !run_in((struct form_text){of, n + 2}, words)) return false;
    }
    return true;
}

/* Whether an item has all values of the line, and its key; of a line without any value, its last word. */
static bool has_values(struct form_text item, struct form_text line, struct form_text key, char *room)
{
    char one[SUMMARY_LINE_BYTES];
    struct form_text words = {room, summary_words(item, room)}, word, last = {0};
    if (!has_key(words, key)) return false;
    bool any = false;
    for (bool first = true; summary_next_word(&line, &word); first = false) {
        last = word;
        if (!is_value(word, first)) continue;
        any = true;
        if (!run_in((struct form_text){one, summary_words(word, one)}, words)) return false;
    }
    return any || run_in((struct form_text){one, summary_words(last, one)}, words);
}

static bool is_in(const struct form_record *r, struct form_text line, char *room)
{
    char mine[SUMMARY_LINE_BYTES];
    struct form_text key = summary_key(line, mine);
    for (int s = 0; r && s < RECORD_SECTIONS; s++)
        for (size_t i = 0; i < r->section[s].n; i++)
            if (has_values(r->section[s].item[i], line, key, room)) return true;
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
        struct form_text rest = beginning(said[i].text), line;
        for (int left = LINES_EACH; said[i].user && left >= 0 && summary_next_line(&rest, &line);) {
            line = summary_bare(without_stop(line));
            if (line.len > SUMMARY_LINE_BYTES || !summary_is_statement(line)) continue;
            left--;
            bool in = is_in(before, line, room) || is_in(now, line, room);
            summary_add_stated(it, lower_line(it, line), in);
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
    size_t most = SUMMARY_SAID, from = n > most ? n - most : 0;
    x.lines = (int)MIN((size_t)LINES_EACH, most / MAX(n - from, (size_t)1) - 1);
    *result = (struct summary_result){0};
    int rc = summary_take(&x.it, err);
    if (rc) return rc;
    summary_add_record(&x.it, before, !tasks);
    x.answered = x.it.n;
    if (tasks) summary_add_tasks(&x.it, tasks->done, tasks->open);
    for (size_t i = from; i < n; i++) add_message(&x, &said[i]);
    x.it.dropped = from;
    rc = summary_finish(&x.it, true, limit, out, result, err);
    summary_give(&x.it);
    return rc;
}
