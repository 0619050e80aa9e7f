/* explain_match.c - see explain_match.h.  Phrases are found by their first two characters, so that a place in the run
 * is tried against few of them. */
#include "app/learn/explain_match.h"
#include <math.h>

enum { LETTERS = 37, NUMBER_MOST = 32, UNIT_MOST = 9 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ------------------------------------------------------------------ numbers */

static const struct unit_row {
    const char *name;
    double bytes;
    bool whole; /* must end a word: a letter or two may also begin one */
} unit_row[] = {
    {"gigabytes", 0x1p30, false}, {"megabytes", 0x1p20, false}, {"kilobytes", 0x1p10, false}, {"bytes", 1, false},
    {"gib", 0x1p30, false}, {"mib", 0x1p20, false}, {"kib", 0x1p10, false}, {"tib", 0x1p40, false},
    {"gb", 0x1p30, true}, {"mb", 0x1p20, true}, {"kb", 0x1p10, true}, {"tb", 0x1p40, true},
    {"gi", 0x1p30, true}, {"mi", 0x1p20, true}, {"ki", 0x1p10, true}, {"g", 0x1p30, true}, {"m", 0x1p20, true},
    {"b", 1, true},
};

static size_t unit_at(const struct run *r, size_t at, double *bytes)
{
    for (size_t i = 0; i < COUNT_OF(unit_row); i++) {
        const struct unit_row *u = &unit_row[i];
        size_t len = strlen(u->name);
        if (r->n - at < len || memcmp(r->c + at, u->name, len) != 0) continue;
        if (u->whole && !r->mark[at + len]) continue;
        *bytes = u->bytes;
        return len;
    }
    return 0;
}

/* 26,184,840 is one number, and so is 1900,00: a comma is a point if it is the only one and not three digits follow. */
static double value_of(const char *s, size_t n)
{
    char plain[NUMBER_MOST + 1];
    size_t put = 0, commas = 0, points = 0, behind = 0;
    for (size_t i = 0; i < n; i++) {
        commas += s[i] == ',';
        points += s[i] == '.';
        if (s[i] == ',') behind = n - i - 1;
    }
    bool comma_is_point = commas == 1 && points == 0 && behind != 3;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == ',' && !comma_is_point) continue;
        if (s[i] == '.' && points > 1) continue;
        plain[put++] = (char)(s[i] == ',' ? '.' : s[i]);
    }
    plain[put] = '\0';
    return strtod(plain, NULL);
}

size_t match_number_at(const struct run *r, size_t at, struct match_number *n)
{
    size_t i = at + (r->c[at] == '-');
    if (!is_digit(r->c[i])) return 0;
    if (at > 0 && (is_digit(r->c[at - 1]) || r->c[at - 1] == '.' || r->c[at - 1] == ',')) return 0;
    while (i < r->n && i - at < NUMBER_MOST && (is_digit(r->c[i]) || r->c[i] == '.' || r->c[i] == ',')) i++;
    double bytes = 1;
    n->value = value_of(r->c + at, i - at);
    size_t unit = unit_at(r, i, &bytes);
    n->is_bytes = unit > 0;
    n->value *= bytes;
    if (!isfinite(n->value) || fabs(n->value) > 0x1p60) return 0;
    return i + unit - at;
}

bool match_whole(const char *s, size_t n, struct match_number *out)
{
    char c[NUMBER_MOST + UNIT_MOST + 2];
    uint8_t mark[sizeof c] = {0};
    struct run r = {.c = c, .mark = mark};
    for (size_t i = 0; i < n; i++) {
        if (s[i] == ' ' && r.n && i + 1 < n && !is_digit(s[i + 1])) continue;
        if (r.n + 1 == sizeof c) return false;
        c[r.n++] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] + 'a' - 'A' : s[i]);
    }
    c[r.n] = '\0';
    mark[r.n] = MARK_GAP | MARK_LINE;
    return r.n && match_number_at(&r, 0, out) == r.n;
}

bool match_number_before(const struct run *r, size_t at, struct match_number *n)
{
    size_t low = at > NUMBER_MOST + UNIT_MOST ? at - NUMBER_MOST - UNIT_MOST : 0, i = at;
    while (i > low && r->c[i - 1] >= 'a' && r->c[i - 1] <= 'z' && at - i < UNIT_MOST) i--;
    while (i > low && (is_digit(r->c[i - 1]) || r->c[i - 1] == '.' || r->c[i - 1] == ',' || r->c[i - 1] == '-')) i--;
    return i < at && match_number_at(r, i, n) == at - i;
}

/* ------------------------------------------------------------------ one phrase at one place */

static size_t fits(const struct run *r, size_t at, const char *p, struct hit *h);

static size_t fits_number(const struct run *r, size_t at, const char *p, struct hit *h)
{
    struct match_number n;
    while (r->c[at] == ' ' || r->c[at] == '/') at++;
    size_t len = match_number_at(r, at, &n);
    if (!len || (*p == '$' && !n.is_bytes) || h->numbers == MATCH_NUMBERS) return 0;
    h->number[h->numbers++] = n;
    size_t end = fits(r, at + len, p + 1, h);
    if (!end) h->numbers--;
    return end;
}

static size_t fits_gap(const struct run *r, size_t at, const char *p, struct hit *h)
{
    for (size_t k = 0; k <= MATCH_GAP && at + k <= r->n; k++) {
        size_t end = fits(r, at + k, p + 1, h);
        if (end) return end;
    }
    return 0;
}

/* Where the phrase p ends that begins at `at`; 0: it does not stand there. */
static size_t fits(const struct run *r, size_t at, const char *p, struct hit *h)
{
    for (; *p; p++) {
        if (*p == ' ') continue;
        if (*p == '*') return fits_gap(r, at, p, h);
        if (*p == '#' || *p == '$') return fits_number(r, at, p, h);
        if (*p == '~' && (r->mark[at] & MARK_GAP)) return 0;
        if (*p == '~') continue;
        if (*p == '|' || *p == '^') {
            if (!(r->mark[at] & (*p == '^' ? MARK_LINE : MARK_LINE | MARK_GAP))) return 0;
            continue;
        }
        while (r->c[at] != *p && (r->c[at] == ' ' || r->c[at] == '/')) at++;
        if (r->c[at] != *p) return 0;
        at++;
    }
    return at;
}

static bool fits_here(const struct run *r, size_t at, const char *p, struct hit *h)
{
    h->numbers = 0;
    if (*p == '@') {
        if (!match_number_before(r, at, &h->number[0]) || !h->number[0].is_bytes) return false;
        h->numbers = 1;
        p++;
    }
    size_t end = fits(r, at, p, h);
    h->at = (uint32_t)at;
    h->end = (uint32_t)end;
    return end > 0;
}

/* ------------------------------------------------------------------ all phrases at all places */

static int letter(char c)
{
    if (c >= 'a' && c <= 'z') return c - 'a';
    return is_digit(c) ? 26 + c - '0' : c == '/' ? 36 : -1;
}

struct index {
    int first[LETTERS * LETTERS]; /* -1: none */
    int *next, *seen;             /* by phrase; how often it was found */
    char *third;                  /* by phrase: its third character where that is a letter right behind; 0: it is not */
};

static char third_of(const char *p)
{
    for (int n = 0; *p; p++) {
        if (*p == ' ') continue;
        if (n == 2) return letter(*p) >= 0 && *p != '/' ? *p : '\0';
        n += letter(*p) >= 0;
    }
    return '\0';
}

static int key_of(const char *p)
{
    char two[2] = {0};
    int n = 0;
    for (; *p && n < 2; p++)
        if (letter(*p) >= 0) two[n++] = *p;
    return n == 2 ? letter(two[0]) * LETTERS + letter(two[1]) : -1;
}

static int index_open(struct index *x, const char *(*phrase_of)(int), int words)
{
    x->next = malloc((size_t)words * sizeof *x->next);
    x->seen = calloc((size_t)words, sizeof *x->seen);
    x->third = malloc((size_t)words);
    for (size_t i = 0; i < COUNT_OF(x->first); i++) x->first[i] = -1;
    for (int w = words - 1; x->next && x->seen && x->third && w >= 0; w--) {
        int key = key_of(phrase_of(w));
        assert(key >= 0);
        x->third[w] = third_of(phrase_of(w));
        x->next[w] = x->first[key];
        x->first[key] = w;
    }
    return x->next && x->seen && x->third ? 0 : -1;
}

static void index_close(struct index *x)
{
    free(x->next);
    free(x->seen);
    free(x->third);
}

/* A word's first hits are kept, and of the rest the last. */
static struct hit *place(struct hit *all, struct index *x, int word)
{
    int k = x->seen[word]++;
    if (k >= 2 * HITS_A_WORD) k = HITS_A_WORD + (k - HITS_A_WORD) % HITS_A_WORD;
    if (x->seen[word] == INT32_MAX) x->seen[word] -= HITS_A_WORD;
    return &all[(size_t)word * 2 * HITS_A_WORD + (size_t)k];
}

static int in_order(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->word < y->word ? -1 : x->word > y->word;
}

static void find(const struct run *r, const char *(*phrase_of)(int), struct index *x, struct hit *all)
{
    for (size_t at = 0; at + 1 < r->n; at++) {
        int a = letter(r->c[at]), b = letter(r->c[at + 1]);
        size_t third = at + 2; /* a NUL stands behind the run */
        if (b < 0 && a >= 0 && at + 2 < r->n) b = letter(r->c[third++]); /* a blank that is passed over */
        if (a < 0 || b < 0) continue;
        const char c = r->c[third];
        const bool passed_over = c == ' ' || c == '/';
        for (int w = x->first[a * LETTERS + b]; w >= 0; w = x->next[w]) {
            if (x->third[w] && x->third[w] != c && !passed_over) continue;
            struct hit h = {.word = w};
            if (!fits_here(r, at, phrase_of(w), &h)) continue;
            h.line = run_line_of(r, at);
            *place(all, x, w) = h;
        }
    }
}

int match_all(const struct run *r, const char *(*phrase_of)(int i), int words, struct hits *out)
{
    struct index x = {0};
    struct hit *all = calloc((size_t)words * 2 * HITS_A_WORD, sizeof *all);
    *out = (struct hits){0};
    if (!all || index_open(&x, phrase_of, words)) {
        index_close(&x);
        free(all);
        return -1;
    }
    find(r, phrase_of, &x, all);
    for (int w = 0; w < words; w++) { /* together, without the places that stayed empty */
        size_t had = (size_t)MIN(x.seen[w], 2 * HITS_A_WORD);
        memmove(all + out->n, all + (size_t)w * 2 * HITS_A_WORD, had * sizeof *all);
        out->n += had;
    }
    qsort(all, out->n, sizeof *all, in_order);
    out->hit = all;
    index_close(&x);
    return 0;
}

void hits_free(struct hits *h)
{
    free(h->hit);
    *h = (struct hits){0};
}
