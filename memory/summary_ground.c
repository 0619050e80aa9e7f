/* summary_ground.c - what a model's record says and nobody said: those lines leave it.
 *
 *     shown ── lines ── pieces: runs of letters and digits, in lower case, as hashes ──> has a line all of these?
 */
#include "memory/summary_impl.h"
#include <strings.h>

enum {
    PIECES_MOST = 64, /* of one item: those behind are not looked at */
    SAME_MOST = 3,    /* times that one piece stands in an item: a model that says it once more cannot stop */
    FIGURE_LEAST = 2  /* digits: a single one may be a count, which is not copied from anywhere */
};

struct piece {
    uint64_t hash;
    bool figure, name; /* name: it begins in upper case, and no sentence begins with it */
};

struct pieces {
    struct piece v[PIECES_MOST];
    size_t n, value; /* value: the first one behind the last "is"; n: there is none */
};

struct run { size_t from, to; };

struct statement { struct run pieces, keys; }; /* keys: what it states the value of */

struct shown_line {
    struct form_text text;
    struct run pieces, statements; /* statements: its sentences that are one */
};

struct ground {
    struct shown_line *line;
    struct statement *statement;
    uint64_t *piece, *keys; /* keys are pieces, too: no more of them */
    size_t n_lines, n_pieces, n_statements, n_keys;
    uint64_t *table; /* every piece once; 0: empty */
    size_t slots;
};

/* ------------------------------------------------------------------ pieces */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_ascii(char c) { return (unsigned char)c < 0x80; }

/* The bytes of a mark that UTF-8 has here: Latin-1's signs, U+2000 to 2BFF (quotes, dashes, signs), the marks of CJK,
 * and their full-width forms.  0: there is none. */
static size_t wide_mark(const char *text, size_t n)
{
    const unsigned char *c = (const unsigned char *)text;
    if (n >= 2 && c[0] == 0xc2 && !is_ascii(text[1])) return 2;
    if (n < 3 || is_ascii(text[2])) return 0;
    bool full = c[0] == 0xef && c[1] == 0xbc && ((c[2] > 0x80 && c[2] < 0x90) || (c[2] > 0x99 && c[2] < 0xa1));
    bool sign = (c[0] == 0xe2 && c[1] >= 0x80 && c[1] < 0xb0) || (c[0] == 0xe3 && c[1] == 0x80);
    return full || sign ? 3 : 0;
}

/* Bytes here that are in no piece; 0: there is one. */
static size_t mark(const char *text, size_t n)
{
    char c = text[0];
    if (!is_ascii(c)) return wide_mark(text, n);
    return !is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z');
}

/* Scripts that have no blanks write a figure right behind a word. */
static bool is_border(char a, char b) { return (is_digit(a) && !is_ascii(b)) || (!is_ascii(a) && is_digit(b)); }

/* The next piece: true, and *t is what is behind it. */
static bool next_piece(struct form_text *t, struct form_text *piece)
{
    size_t i = 0, n = 0, m;
    if (t->len == 0) return false; /* it may be at NULL */
    while (i < t->len && (m = mark(t->text + i, t->len - i)) > 0) i += m;
    while (i + n < t->len && mark(t->text + i + n, t->len - i - n) == 0) {
        if (n > 0 && is_border(t->text[i + n - 1], t->text[i + n])) break;
        n++;
    }
    *piece = (struct form_text){t->text + i, n};
    *t = (struct form_text){t->text + i + n, t->len - i - n};
    return n > 0;
}

static const uint64_t no_hash = 0xcbf29ce484222325u; /* FNV-1a */

static uint64_t hash_on(uint64_t h, struct form_text p)
{
    for (size_t i = 0; i < p.len; i++) {
        char c = p.text[i] >= 'A' && p.text[i] <= 'Z' ? (char)(p.text[i] - 'A' + 'a') : p.text[i];
        h = (h ^ (unsigned char)c) * 0x100000001b3u;
    }
    return h ? h : 1;
}

static uint64_t hash(struct form_text p) { return hash_on(no_hash, p); }

static size_t leading_digits(struct form_text t)
{
    size_t n = 0;
    while (n < t.len && is_digit(t.text[n])) n++;
    return n;
}

/* ",080" here, as in "8,080": three digits of a figure whose others are before. */
static bool is_group(struct form_text t)
{
    if (t.len < 4 || !memchr(",'_", t.text[0], 3)) return false;
    struct form_text digits = {t.text + 1, t.len - 1}, behind = {t.text + 4, t.len - 4};
    if (leading_digits(digits) != 3) return false;
    return behind.len == 0 || mark(behind.text, behind.len) > 0 || !is_ascii(behind.text[0]);
}

/* A figure in groups, of which p is the first and *rest what is behind it: true, then *whole is the hash of it without
 * what is between them, and *rest is behind the last. */
static bool next_groups(struct form_text p, struct form_text *rest, uint64_t *whole)
{
    if (p.len > 3 || leading_digits(p) != p.len || !is_group(*rest)) return false;
    for (*whole = hash(p); is_group(*rest); *rest = (struct form_text){rest->text + 4, rest->len - 4})
        *whole = hash_on(*whole, (struct form_text){rest->text + 1, 3});
    return true;
}

static bool is_one_of(struct form_text p, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p.len == strlen(list[i]) && strncasecmp(p.text, list[i], p.len) == 0) return true;
    return false;
}

/* Words that every line may have. */
static bool is_small(struct form_text p)
{
    static const char *const small[] = {"the", "a",  "an",   "of",    "is",   "are",     "was",   "were", "called",
                                        "to",  "in", "on",   "at",    "for",  "and",     "s",     "i",    "my",
                                        "you", "it", "your", "noted", "note", "remember", "that", "he",   "she",
                                        "his", "her", "they", "their", "our", "we",      "user",  "its",
                                        "name"}; /* "my name is Ines": the user is Ines */
    return is_one_of(p, small, COUNT_OF(small));
}

static bool is_verb(struct form_text p)
{
    static const char *const verb[] = {"is", "are", "was", "were", "called", "named"};
    return is_one_of(p, verb, COUNT_OF(verb));
}

static bool begins_sentence(struct form_text t, const char *at)
{
    while (at > t.text && (unsigned char)at[-1] <= ' ') at--;
    return at == t.text || !is_ascii(at[-1]) || strchr(".:;!?-(\"", at[-1]) != NULL; /* quotes of UTF-8, too */
}

static struct piece read_piece(struct form_text line, struct form_text p)
{
    struct piece out = {.hash = hash(p)};
    size_t digits = 0;
    for (size_t i = 0; i < p.len; i++) digits += is_digit(p.text[i]);
    out.figure = digits >= FIGURE_LEAST;
    out.name = p.len > 1 && p.text[0] >= 'A' && p.text[0] <= 'Z' && !begins_sentence(line, p.text);
    return out;
}

/* ------------------------------------------------------------------ what was shown */

static void put(struct ground *g, uint64_t h)
{
    size_t at = (size_t)(h ^ h >> 32) & (g->slots - 1);
    while (g->table[at] && g->table[at] != h) at = (at + 1) & (g->slots - 1);
    g->table[at] = h;
    g->piece[g->n_pieces++] = h;
}

static bool was_said(const struct ground *g, uint64_t h)
{
    size_t at = (size_t)(h ^ h >> 32) & (g->slots - 1);
    while (g->table[at] && g->table[at] != h) at = (at + 1) & (g->slots - 1);
    return g->table[at] != 0;
}

/* A figure in groups is one piece where the whole of it was said, in whatever way. */
static struct pieces read_pieces(const struct ground *g, struct form_text line)
{
    struct pieces out = {.value = PIECES_MOST};
    struct form_text rest = line, p;
    while (out.n < PIECES_MOST && next_piece(&rest, &p)) {
        struct form_text behind = rest;
        uint64_t whole;
        if (is_verb(p)) out.value = out.n;
        if (is_small(p)) continue;
        bool grouped = next_groups(p, &behind, &whole) && was_said(g, whole);
        out.v[out.n++] = grouped ? (struct piece){.hash = whole, .figure = true} : read_piece(line, p);
        if (grouped) rest = behind;
    }
    out.value = MIN(out.value, out.n);
    return out;
}

/* Up to a full stop, or one of its kind, with a blank behind it: there is none in "main.c" and in 8.5. */
static bool next_sentence(struct form_text *rest, struct form_text *sentence)
{
    size_t n = 0;
    while (n < rest->len && !(strchr(".!?;", rest->text[n]) && n + 1 < rest->len && rest->text[n + 1] == ' ')) n++;
    n = MIN(n + 1, rest->len);
    *sentence = (struct form_text){rest->text, n};
    if (n > 0) *rest = (struct form_text){rest->text + n, rest->len - n};
    return n > 0;
}

/* Keys are made once for a sentence, not once for each item that has its value. */
static void read_statement(struct ground *g, struct form_text sentence, size_t from)
{
    sentence = summary_bare(summary_without_label(sentence));
    if (!summary_is_statement(sentence)) return;
    struct pieces p = read_pieces(g, sentence);
    struct statement *st = &g->statement[g->n_statements];
    *st = (struct statement){{from, g->n_pieces}, {g->n_keys, g->n_keys}};
    for (size_t i = 0; i < p.value; i++) g->keys[g->n_keys++] = p.v[i].hash;
    st->keys.to = g->n_keys;
    g->n_statements += st->keys.to > st->keys.from;
}

static void read_sentence(struct ground *g, struct form_text sentence)
{
    struct form_text p, rest = sentence;
    size_t from = g->n_pieces;
    const char *group_end = NULL; /* "1,234,567" has no 234567 */
    while (next_piece(&rest, &p)) {
        struct form_text behind = rest;
        uint64_t whole;
        put(g, hash(p));
        if ((group_end && p.text < group_end) || !next_groups(p, &behind, &whole)) continue;
        put(g, whole);
        group_end = behind.text;
    }
    read_statement(g, sentence, from);
}

static void read_line(struct ground *g, struct form_text line)
{
    struct shown_line *l = &g->line[g->n_lines++];
    struct form_text sentence, rest = line;
    *l = (struct shown_line){.text = line, .pieces.from = g->n_pieces, .statements.from = g->n_statements};
    while (next_sentence(&rest, &sentence)) read_sentence(g, sentence);
    l->pieces.to = g->n_pieces;
    l->statements.to = g->n_statements;
}

static int read_shown(struct ground *g, const struct form_text *shown, size_t n, struct err *err)
{
    size_t lines = 1, pieces = 1, sentences = 1;
    for (size_t i = 0; i < n; i++) {
        struct form_text rest = shown[i], line, t;
        for (; summary_next_line(&rest, &line); lines++) {
            struct form_text whole = line;
            while (next_sentence(&whole, &t)) sentences++;
            while (next_piece(&line, &t)) pieces += 1 + is_group(line); /* with each figure in groups as a whole */
        }
    }
    for (g->slots = 16; g->slots < 2 * pieces; g->slots *= 2) continue;
    g->line = malloc(lines * sizeof *g->line);
    g->statement = malloc(sentences * sizeof *g->statement);
    g->piece = malloc(pieces * sizeof *g->piece);
    g->keys = malloc(pieces * sizeof *g->keys);
    g->table = calloc(g->slots, sizeof *g->table);
    if (!g->line || !g->statement || !g->piece || !g->keys || !g->table)
        return err_set(err, SUMMARY_NO_MEMORY, "no memory for a summary");
    for (size_t i = 0; i < n; i++) {
        struct form_text rest = shown[i], t;
        while (summary_next_line(&rest, &t)) read_line(g, t);
    }
    return 0;
}

/* Whether a run of pieces has all of p from the first on. */
static bool run_has(const struct ground *g, struct run r, const struct pieces *p, size_t first)
{
    for (size_t i = first; i < p->n; i++) {
        size_t k = r.from;
        while (k < r.to && g->piece[k] != p->v[i].hash) k++;
        if (k == r.to) return false;
    }
    return true;
}

/* ------------------------------------------------------------------ what was not said */

/* A figure or a name that stands nowhere in what the model read. */
static bool is_invented(const struct ground *g, const struct pieces *p)
{
    for (size_t i = 0; i < p->n; i++)
        if ((p->v[i].figure || p->v[i].name) && !was_said(g, p->v[i].hash)) return true;
    return false;
}

static bool is_copied(const struct ground *g, struct form_text item)
{
    for (size_t i = 0; i < g->n_lines; i++)
        if (memmem(g->line[i].text.text, g->line[i].text.len, item.text, item.len)) return true;
    return false;
}

static bool is_endless(const struct ground *g, struct form_text item, const struct pieces *p)
{
    for (size_t i = 0; i < p->n; i++) {
        size_t same = 0;
        for (size_t k = i; k < p->n; k++) same += p->v[k].hash == p->v[i].hash;
        if (same > SAME_MOST) return !is_copied(g, item);
    }
    return false;
}

static bool is_key(const struct ground *g, const struct statement *st, uint64_t h)
{
    size_t i = st->keys.from;
    while (i < st->keys.to && g->keys[i] != h) i++;
    return i < st->keys.to;
}

/* Whether it is of something that p does not speak of.  In "I am Ines, and the port is 17" Ines is no value. */
static bool states_another(const struct ground *g, const struct statement *st, const struct pieces *p)
{
    for (size_t i = p->value; i < p->n; i++)
        if (p->v[i].name && is_key(g, st, p->v[i].hash)) return false;
    for (size_t i = st->keys.from; i < st->keys.to; i++) {
        size_t k = 0;
        while (k < p->n && p->v[k].hash != g->keys[i]) k++;
        if (k == p->n) return true;
    }
    return false;
}

/* Whether a line that is shown states the value of p, and only of something that p does not speak of. */
static bool is_of_another(const struct ground *g, const struct shown_line *l, const struct pieces *p)
{
    bool stated = false;
    for (size_t i = l->statements.from; i < l->statements.to; i++) {
        const struct statement *st = &g->statement[i];
        if (!run_has(g, st->pieces, p, p->value)) continue;
        if (!states_another(g, st, p)) return false;
        stated = true;
    }
    return stated;
}

/* "the colour of the door is 87685", where 87685 was said, but only ever to be something else; so with a name. */
static bool is_mixed_up(const struct ground *g, struct form_text item, const struct pieces *p)
{
    bool told = false, stated = false;
    for (size_t i = p->value; i < p->n; i++) told |= p->v[i].figure || p->v[i].name;
    if (!told || !summary_is_statement(item)) return false;
    for (size_t i = 0; i < g->n_lines; i++) {
        const struct shown_line *l = &g->line[i];
        if (!run_has(g, l->pieces, p, p->value)) continue;
        if (run_has(g, l->pieces, p, 0) || !is_of_another(g, l, p)) return false;
        stated = true;
    }
    return stated;
}

static size_t keep_said(struct form_text *item, struct form_list *list, const struct ground *g)
{
    size_t n = 0, all = list->n;
    for (size_t i = 0; i < all; i++) {
        struct pieces p = read_pieces(g, item[i]);
        bool made_up = is_endless(g, item[i], &p) || is_invented(g, &p) || is_mixed_up(g, item[i], &p);
        if (!made_up) item[n++] = item[i];
    }
    list->n = n;
    return all - n;
}

int summary_check(struct form_record *r, const struct form_text *shown, size_t n, size_t *left, struct err *err)
{
    struct ground g = {0};
    size_t all = 0;
    int rc = read_shown(&g, shown, n, err);
    *left = 0;
    for (int s = 0; rc == 0 && s < RECORD_SECTIONS; s++) {
        struct form_list *list = &r->section[s];
        all += list->n;
        if (list->n > 0) *left += keep_said(r->items + (list->item - r->items), list, &g);
    }
    free(g.line);
    free(g.statement);
    free(g.piece);
    free(g.keys);
    free(g.table);
    if (rc || *left == 0 || *left < all) return rc;
    return err_set(err, SUMMARY_EMPTY, "what the model's summary says was not said");
}
