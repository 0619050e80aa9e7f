/* expect.c - see expect.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "app/expect.h"
#include "app/opts.h"
#include "tools/escape.h"
#include <math.h>
#include <pcre2.h>

/* PCRE2 counts the steps of a match anew at each place where it may begin: WORK is for all of them together. */
enum { WORK = 200000000, WORK_LEAST = 1000, WORK_MOST = 200000, MATCH_KIB = 1024 };
enum { SHOWN_PATTERN = 80, SHOWN_ANSWER = 160, NUMBER = 64, SHOWN_NAMES = 300 };

static enum expect_result told(enum expect_result result, int64_t line, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static enum expect_result told(enum expect_result result, int64_t line, struct err *err, const char *fmt, ...)
{
    char why[448];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    err_set(err, result, "line %lld: %s", (long long)line, why);
    return result;
}

/* ------------------------------------------------------------------ the answer */

struct wanted {
    const char *text; /* the plain text, or the pattern between its slashes */
    size_t n;
    bool is_pattern, any_case;
};

static bool read_wanted(const char *s, size_t n, struct wanted *w)
{
    *w = (struct wanted){.text = s, .n = n};
    if (n > 0 && *s == '\\') {
        w->text++;
        w->n--;
    } else if (n > 0 && *s == '/') {
        w->is_pattern = true;
        w->any_case = n > 2 && s[n - 1] == 'i' && s[n - 2] == '/';
        size_t around = w->any_case ? 3 : 2;
        if (n < around || (!w->any_case && s[n - 1] != '/')) return false;
        w->text++;
        w->n -= around;
    }
    return w->n > 0;
}

static int cannot(int code, const char *what, char why[160])
{
    int n = snprintf(why, 160, "%s: ", what);
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why + n, 160 - (size_t)n);
    return -1;
}

/* 1: it matches, 0: it does not, -1: why says why that is not known. */
static int match(const struct wanted *w, const char *answer, size_t len, char why[160])
{
    int code, rc = PCRE2_ERROR_NOMEMORY;
    PCRE2_SIZE at;
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE;
    pcre2_code *pattern = pcre2_compile((PCRE2_SPTR)w->text, w->n, options | (w->any_case ? PCRE2_CASELESS : 0), &code,
                                        &at, NULL);
    if (!pattern) return cannot(code, "no pattern", why);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    if (data && context) {
        size_t steps = WORK / (len + 1);
        pcre2_set_match_limit(context, (uint32_t)MAX(MIN(steps, (size_t)WORK_MOST), (size_t)WORK_LEAST));
        pcre2_set_heap_limit(context, MATCH_KIB);
        rc = pcre2_match(pattern, (PCRE2_SPTR)answer, len, 0, 0, data, context);
    }
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    pcre2_code_free(pattern);
    if (rc == PCRE2_ERROR_NOMATCH) return 0;
    return rc >= 0 ? 1 : cannot(rc, "the pattern cannot be matched", why);
}

enum expect_result expect_answer(int64_t line, const char *pattern, size_t n, const char *answer, size_t len,
                                 struct err *err)
{
    struct wanted w;
    char why[160];
    if (n == 0 || n > EXPECT_PATTERN)
        return told(EXPECT_BAD, line, err, "/expect needs a text or a /pattern/ of 1 to %d bytes, not %zu",
                    EXPECT_PATTERN, n);
    if (!read_wanted(pattern, n, &w))
        return told(EXPECT_BAD, line, err, "/expect: a pattern is written /.../ or /.../i; a text that begins with '/' "
                    "or '\\' has a '\\' before it");
    if (!answer) return told(EXPECT_BAD, line, err, "/expect: there is no answer before it");
    int found = w.is_pattern ? match(&w, answer, len, why) : memmem(answer, len, w.text, w.n) != NULL;
    if (found > 0) return EXPECT_HOLDS;
    if (found < 0) return told(EXPECT_BAD, line, err, "/expect: %s", why);
    struct buf shown = {0};
    buf_puts(&shown, w.is_pattern ? "/expect: the answer does not match " : "/expect: the answer has no \"");
    if (w.is_pattern) escape_start(pattern, n, SHOWN_PATTERN, &shown);
    else escape_start(w.text, w.n, SHOWN_PATTERN, &shown);
    buf_puts(&shown, w.is_pattern ? "; it is \"" : "\"; it is \"");
    escape_start(answer, len, SHOWN_ANSWER, &shown);
    buf_puts(&shown, "\"");
    told(EXPECT_FAILED, line, err, "%s", shown.failed ? "/expect: the answer is another" : shown.data);
    buf_free(&shown);
    return EXPECT_FAILED;
}

/* ------------------------------------------------------------------ figures */

static const char *const ops[] = {"<=", ">=", "!=", "=", "<", ">"}; /* a longer one before what it begins with */

static bool holds(double a, const char *op, double b)
{
    switch (*op) {
    case '=': return a >= b && a <= b;
    case '!': return a < b || a > b;
    case '<': return op[1] ? a <= b : a < b;
    default: return op[1] ? a >= b : a > b;
    }
}

/* Digits, a point and an exponent as in 1.5e3, and what is behind them. */
static bool read_value(const char *s, size_t n, double *out)
{
    static const char units[] = "KMG";
    char digits[NUMBER], *end;
    size_t len = 0;
    while (len < n && memchr("0123456789+-.eE", s[len], 15)) len++;
    if (len == 0 || len >= sizeof digits || n - len > 1) return false;
    memcpy(digits, s, len);
    digits[len] = '\0';
    *out = strtod(digits, &end);
    if (*end || !isfinite(*out)) return false;
    if (len == n) return true;
    const char *unit = memchr(units, s[len], strlen(units));
    if (unit) *out = ldexp(*out, 10 * (int)(unit - units + 1));
    else *out /= 100;
    return unit || s[len] == '%';
}

struct comparison {
    char name[OPTS_NAME_MAX], value[NUMBER]; /* value: as it is written, a number or another figure's name */
    const char *op;
    double wanted;
    bool of_figure;
};

static size_t blanks(const char *s, size_t n)
{
    size_t len = 0;
    while (len < n && (s[len] == ' ' || s[len] == '\t')) len++;
    return len;
}

/* The bytes before the first blank or operator; 0: they are no name of a figure. */
static size_t name_length(const char *s, size_t n)
{
    size_t len = 0;
    while (len < n && !memchr("<>=! \t", s[len], 6)) len++;
    return len < OPTS_NAME_MAX && !memchr(s, 0, len) ? len : 0;
}

/* A number, or the name of a figure: that one begins with a letter, which no number does. */
static bool read_right(const char *s, size_t n, struct comparison *c)
{
    if (n == 0 || n >= sizeof c->value) return false;
    memcpy(c->value, s, n);
    if (read_value(s, n, &c->wanted)) return true;
    bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');
    c->of_figure = letter && name_length(s, n) == n;
    return c->of_figure;
}

/* "NAME OP VALUE"; the name is what is before the first blank or operator. */
static bool read_comparison(const char *s, size_t n, struct comparison *c)
{
    size_t len = name_length(s, n), at;
    *c = (struct comparison){.op = NULL};
    if (len == 0) return false;
    memcpy(c->name, s, len);
    at = len + blanks(s + len, n - len);
    for (size_t i = 0; i < COUNT_OF(ops) && !c->op; i++)
        if (n - at >= strlen(ops[i]) && memcmp(s + at, ops[i], strlen(ops[i])) == 0) c->op = ops[i];
    if (!c->op) return false;
    at += strlen(c->op);
    at += blanks(s + at, n - at);
    return read_right(s + at, n - at, c);
}

/* What figures there are, and the one that was meant. */
static enum expect_result unknown(int64_t line, const char *typed, const struct expect_figures *f, struct err *err)
{
    struct buf said = {0};
    const char *near = NULL, *name;
    int least = 0;
    buf_puts(&said, "/assert: no such figure: ");
    escape_text(typed, strlen(typed), &said);
    for (size_t i = 0; (name = f->name(f->self, i)); i++) {
        int edits = opts_edits(typed, name);
        if (!near || edits < least) near = name, least = edits;
    }
    if (near && least <= 1 + (int)strlen(typed) / 3) buf_printf(&said, "; did you mean %s?", near);
    buf_puts(&said, near ? " (there are:" : " (there are none");
    for (size_t i = 0; (name = f->name(f->self, i)); i++) {
        bool fits = said.len + strlen(name) < SHOWN_NAMES;
        buf_printf(&said, "%s %s", i ? "," : "", fits ? name : "...");
        if (!fits) break;
    }
    buf_puts(&said, ")");
    told(EXPECT_BAD, line, err, "%s", said.failed ? "/assert: no such figure" : said.data);
    buf_free(&said);
    return EXPECT_BAD;
}

/* A figure's value as it is now. */
static enum expect_result look_up(int64_t line, const char *name, const struct expect_figures *f, double *is,
                                  struct err *err)
{
    if (!f->figure(f->self, name, is)) return unknown(line, name, f, err);
    return isnan(*is) ? told(EXPECT_FAILED, line, err, "/assert: %s has no value now", name) : EXPECT_HOLDS;
}

enum expect_result expect_figure(int64_t line, const char *args, size_t n, const struct expect_figures *f,
                                 struct err *err)
{
    struct comparison c;
    double is = 0;
    if (!read_comparison(args, n, &c))
        return told(EXPECT_BAD, line, err, "/assert needs FIGURE OP VALUE: OP is = != < <= > or >=, VALUE a number, "
                    "also with K, M, G or %% behind it, or another FIGURE");
    enum expect_result known = look_up(line, c.name, f, &is, err);
    if (known == EXPECT_HOLDS && c.of_figure) known = look_up(line, c.value, f, &c.wanted, err);
    if (known != EXPECT_HOLDS || holds(is, c.op, c.wanted)) return known;
    if (c.of_figure)
        return told(EXPECT_FAILED, line, err, "/assert: %s %s %s was expected; they are %.15g and %.15g", c.name, c.op,
                    c.value, is, c.wanted);
    return told(EXPECT_FAILED, line, err, "/assert: %s %s %s was expected; it is %.15g", c.name, c.op, c.value, is);
}
