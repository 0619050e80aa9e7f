/* forms_python.c - calls as LFM2 writes them, in Python: see forms.h.
 *
 * A call is written as the JSON of ours, and that is read: so all that is no text (no UTF-8, a NUL, half a surrogate),
 * a key that comes twice, and numbers that are too large are refused in one place, where they are of other calls. */
#include "memory/forms.h"
#include "memory/forms_impl.h"

enum { DEPTH = 64 }; /* of lists and dicts within each other */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool form_is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-' || c == '.' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static bool next_is(struct form_text t, char c)
{
    t = form_behind_blanks(t);
    return t.len > 0 && *t.text == c;
}

/* A word, behind blanks, into out as a JSON string. */
static bool take_name(struct form_text *t, struct form_text *name)
{
    struct form_text at = form_behind_blanks(*t);
    size_t n = 0;
    while (n < at.len && form_is_name(at.text[n])) n++;
    *name = (struct form_text){at.text, n};
    *t = form_from(at, n);
    return n > 0;
}

/* ------------------------------------------------------------------ strings */

/* n digits of a base to a number; -1: they are not all there. */
static int64_t digits(struct form_text t, size_t n, int base)
{
    int64_t v = 0;
    if (t.len < n) return -1;
    for (size_t i = 0; i < n; i++) {
        const char c = t.text[i], low = (char)(c | 0x20);
        const int d = is_digit(c) ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 16;
        if (d >= base) return -1;
        v = v * base + d;
    }
    return v;
}

static int bad_escape(struct err *err)
{
    return err_set(err, FORMS_BAD, "a text of the call has an escape that is none");
}

/* \N with n digits; surrogates are put together, or refused, where the JSON is read. */
static int put_character(struct form_text *t, size_t n, int base, struct buf *out, struct err *err)
{
    const int64_t v = digits(*t, n, base);
    if (v < 0 || v > 0x10ffff) return bad_escape(err);
    const unsigned c = (unsigned)v, high = 0xd800 + ((c - 0x10000) >> 10), low = 0xdc00 + ((c - 0x10000) & 0x3ff);
    if (c > 0xffff) buf_printf(out, "\\u%04X\\u%04X", high, low);
    else buf_printf(out, "\\u%04X", c);
    *t = form_from(*t, n);
    return 0;
}

static size_t octal(struct form_text t)
{
    size_t n = 0;
    while (n < 3 && n < t.len && t.text[n] >= '0' && t.text[n] <= '7') n++;
    return n;
}

/* A run of a text's bytes as they are in JSON: what a quote's own is not. */
static void put_plain(struct form_text t, struct buf *out)
{
    struct buf quoted = {0};
    form_json_string(t, &quoted);
    out->failed |= quoted.failed;
    if (!quoted.failed) buf_put(out, quoted.data + 1, quoted.len - 2);
    buf_free(&quoted);
}

/* What follows a backslash; of what Python knows none of, both stay. */
static int put_escape(struct form_text *t, struct buf *out, struct err *err)
{
    static const char plain[] = "\\'\"", named[][2] = {{'n', 'n'}, {'t', 't'}, {'r', 'r'}, {'b', 'b'}, {'f', 'f'}};
    if (t->len == 0) return bad_escape(err);
    const char c = *t->text;
    *t = form_from(*t, 1);
    if (c == '\n') return 0; /* the line goes on */
    for (size_t i = 0; i < COUNT_OF(named); i++)
        if (c == named[i][0]) {
            buf_printf(out, "\\%c", named[i][1]);
            return 0;
        }
    if (c == 'a' || c == 'v') {
        buf_puts(out, c == 'a' ? "\\u0007" : "\\u000B");
        return 0;
    }
    if (c == 'x') return put_character(t, 2, 16, out, err);
    if (c == 'u') return put_character(t, 4, 16, out, err);
    if (c == 'U') return put_character(t, 8, 16, out, err);
    if (c >= '0' && c <= '7') {
        *t = (struct form_text){t->text - 1, t->len + 1};
        return put_character(t, octal(*t), 8, out, err);
    }
    if (!memchr(plain, c, sizeof plain - 1)) buf_puts(out, "\\\\");
    put_plain((struct form_text){&c, 1}, out);
    return 0;
}

/* At a quote.  A line may end within it, which Python allows between three alone. */
static int put_string(struct form_text *t, struct buf *out, struct err *err)
{
    const char quote = *t->text, three[] = {quote, quote, quote, '\0'}, one[] = {quote, '\0'};
    const char *end = form_begins(*t, three) ? three : one;
    struct form_text at = form_from(*t, strlen(end));
    buf_puts(out, "\"");
    while (at.len > 0 && !form_begins(at, end)) {
        size_t n = 0;
        while (n < at.len && at.text[n] != '\\' && !form_begins(form_from(at, n), end)) n++;
        if (n > 0) put_plain((struct form_text){at.text, n}, out);
        at = form_from(at, n);
        if (at.len == 0 || *at.text != '\\') continue;
        at = form_from(at, 1);
        if (put_escape(&at, out, err)) return FORMS_BAD;
    }
    if (at.len == 0) return err_set(err, FORMS_BAD, "a text of the call does not end");
    buf_puts(out, "\"");
    *t = form_from(at, strlen(end));
    return 0;
}

/* ------------------------------------------------------------------ values */

static int put_value(struct form_text *t, int depth, struct buf *out, struct err *err);

static int bad_value(struct err *err) { return err_set(err, FORMS_BAD, "an argument of the call is no value"); }

static size_t count_digits(struct form_text t, size_t at)
{
    size_t n = 0;
    while (at + n < t.len && is_digit(t.text[at + n])) n++;
    return n;
}

/* As JSON has it; how large it may be is asked where that is read. */
static bool is_number(struct form_text t)
{
    size_t at = t.len > 0 && *t.text == '-', n = count_digits(t, at);
    if (n == 0 || (n > 1 && t.text[at] == '0')) return false;
    at += n;
    if (at < t.len && t.text[at] == '.') {
        n = count_digits(t, at + 1);
        if (n == 0) return false;
        at += 1 + n;
    }
    if (at < t.len && (t.text[at] == 'e' || t.text[at] == 'E')) {
        at++;
        if (at < t.len && (t.text[at] == '+' || t.text[at] == '-')) at++;
        n = count_digits(t, at);
        if (n == 0) return false;
        at += n;
    }
    return at == t.len;
}

/* What Python has and JSON has not: a '+', digits parted by '_', a point with none on one side. */
static int put_number(struct form_text *t, struct buf *out, struct err *err)
{
    size_t n = 0, begin = 0;
    struct buf word = {0};
    while (n < t->len && (is_digit(t->text[n]) || strchr("+-._eE", t->text[n])) && t->text[n] != '\0') n++;
    if (n < t->len && form_is_name(t->text[n])) return bad_value(err); /* 0x10, 3px */
    if (n > 0 && (t->text[0] == '-' || t->text[0] == '+')) begin = 1;
    if (n > 0 && t->text[0] == '-') buf_puts(&word, "-");
    for (size_t i = begin; i < n; i++) {
        const char c = t->text[i], before = i > begin ? t->text[i - 1] : '\0';
        const char after = i + 1 < n ? t->text[i + 1] : '\0';
        if (c == '.' && !is_digit(before)) buf_puts(&word, "0");
        if (c == '_' && is_digit(before) && is_digit(after)) continue;
        buf_put(&word, &c, 1);
        if (c == '.' && !is_digit(after)) buf_puts(&word, "0");
    }
    const bool number = word.failed || is_number(form_text_of(&word));
    if (number) buf_put(out, word.data, word.len);
    out->failed |= word.failed;
    buf_free(&word);
    if (!number) return bad_value(err);
    *t = form_from(*t, n);
    return 0;
}

static int put_word(struct form_text *t, struct buf *out, struct err *err)
{
    static const char *const known[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"},
                                           {"true", "true"}, {"false", "false"}, {"null", "null"}};
    struct form_text name, rest = *t;
    take_name(&rest, &name);
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (name.len != strlen(known[i][0]) || memcmp(name.text, known[i][0], name.len) != 0) continue;
        buf_puts(out, known[i][1]);
        *t = rest;
        return 0;
    }
    return bad_value(err);
}

/* Values up to the bracket that ends them, a comma between two, and perhaps one behind the last.  *n: how many; *comma:
 * whether there was one. */
static int put_values(struct form_text *t, const char *close, int depth, int *n, bool *comma, struct buf *out,
                      struct err *err)
{
    int rc = 0;
    *n = 0;
    *comma = false;
    while (rc == 0 && !form_skip(t, close)) {
        if (*n > 0 && !*comma) return bad_value(err);
        if (*n > 0) buf_puts(out, ",");
        rc = put_value(t, depth, out, err);
        ++*n;
        *comma = rc == 0 && form_skip(t, ",");
    }
    if (*n > 1) *comma = true;
    return rc;
}

/* A tuple is a list; what one pair of brackets is around without a comma is that. */
static int put_list(struct form_text *t, const char *close, int depth, struct buf *out, struct err *err)
{
    struct buf values = {0};
    int n;
    bool comma;
    const int rc = put_values(t, close, depth, &n, &comma, &values, err);
    const bool bare = *close == ')' && n == 1 && !comma;
    if (!bare) buf_puts(out, "[");
    buf_put(out, values.data, values.len);
    if (!bare) buf_puts(out, "]");
    out->failed |= values.failed;
    buf_free(&values);
    return rc;
}

static int put_dict(struct form_text *t, int depth, struct buf *out, struct err *err)
{
    bool comma = true;
    int rc = 0;
    buf_puts(out, "{");
    for (int n = 0; rc == 0 && !form_skip(t, "}"); n++) {
        if (!comma) return bad_value(err);
        if (!next_is(*t, '"') && !next_is(*t, '\''))
            return err_set(err, FORMS_BAD, "a dict of the call has a key that is no text");
        if (n > 0) buf_puts(out, ",");
        *t = form_behind_blanks(*t);
        rc = put_string(t, out, err);
        if (rc == 0 && !form_skip(t, ":")) rc = bad_value(err);
        buf_puts(out, ":");
        if (rc == 0) rc = put_value(t, depth, out, err);
        comma = rc == 0 && form_skip(t, ",");
    }
    buf_puts(out, "}");
    return rc;
}

static int put_value(struct form_text *t, int depth, struct buf *out, struct err *err)
{
    *t = form_behind_blanks(*t);
    if (t->len == 0) return err_set(err, FORMS_BAD, "the call does not end");
    if (depth == 0) return err_set(err, FORMS_BAD, "the call's arguments are more than %d deep", DEPTH);
    if (*t->text == '"' || *t->text == '\'') return put_string(t, out, err);
    if (form_skip(t, "[")) return put_list(t, "]", depth - 1, out, err);
    if (form_skip(t, "(")) return put_list(t, ")", depth - 1, out, err);
    if (form_skip(t, "{")) return put_dict(t, depth - 1, out, err);
    if (is_digit(*t->text) || strchr("+-.", *t->text)) return put_number(t, out, err);
    return put_word(t, out, err);
}

/* ------------------------------------------------------------------ calls */

/* name(key=value, ...) as {"name":...,"arguments":{...}}. */
static int put_call(struct form_text *t, struct buf *out, struct err *err)
{
    struct form_text name;
    bool comma = true;
    int rc = 0;
    if (!take_name(t, &name) || !form_skip(t, "("))
        return err_set(err, FORMS_BAD, "the list has something that is no call");
    buf_puts(out, "{\"name\":");
    form_json_string(name, out);
    buf_puts(out, ",\"arguments\":{");
    for (int n = 0; rc == 0 && !form_skip(t, ")"); n++) {
        if (!comma || !take_name(t, &name) || !form_skip(t, "="))
            return err_set(err, FORMS_BAD, "an argument of the call has no name");
        buf_puts(out, n ? "," : "");
        form_json_string(name, out);
        buf_puts(out, ":");
        rc = put_value(t, DEPTH, out, err);
        comma = rc == 0 && form_skip(t, ",");
    }
    buf_puts(out, "}}");
    return rc;
}

static int read_json(struct form_text json, struct form_call *out, struct err *err)
{
    json_error_t e = {0};
    json_t *root = json_loadb(json.text, json.len, JSON_REJECT_DUPLICATES, &e);
    int rc = FORMS_BAD;
    if (root) rc = form_take_call(root, "arguments", out, err);
    else if (!*e.text) rc = err_set(err, FORMS_NO_MEMORY, "no memory");
    else err_set(err, rc, "the call's arguments: %s", form_quote(e.text).s);
    json_decref(root);
    return rc;
}

static int read_python(struct form_text *t, struct form_call *out, struct err *err)
{
    struct buf json = {0};
    int rc = put_call(t, &json, err);
    if (rc == 0 && json.failed) rc = err_set(err, FORMS_NO_MEMORY, "no memory");
    if (rc == 0) rc = read_json((struct form_text){json.data, json.len}, out, err);
    buf_free(&json);
    return rc;
}

/* A call in JSON, as the family writes it where it is asked for that. */
static int read_object(struct form_text *t, struct form_call *out, struct err *err)
{
    json_error_t e = {0};
    const struct form_text at = form_behind_blanks(*t);
    json_t *v = json_loadb(at.text, at.len, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &e);
    if (!v) return *e.text ? err_set(err, FORMS_BAD, "the call is not JSON: %s", form_quote(e.text).s)
                           : err_set(err, FORMS_NO_MEMORY, "no memory");
    *t = form_from(at, (size_t)e.position);
    const int rc = form_take_call(v, "arguments", out, err);
    json_decref(v);
    return rc;
}

int forms_read_python(struct form_text *t, struct form_calls_said *l, struct err *err)
{
    struct form_text rest = *t;
    const size_t before = l->n;
    bool comma = true;
    const bool begun = form_skip(&rest, FORMS_PYTHON_OPEN) && form_skip(&rest, "[");
    int rc = begun ? 0 : err_set(err, FORMS_BAD, "no list of calls");
    while (rc == 0 && !form_skip(&rest, "]")) {
        struct form_call call = {0};
        if (!comma) rc = err_set(err, FORMS_BAD, "the list has something between its calls");
        else rc = next_is(rest, '{') ? read_object(&rest, &call, err) : read_python(&rest, &call, err);
        if (rc == 0) rc = form_calls_add(l, &call, 0, 0, err);
        comma = rc == 0 && form_skip(&rest, ",");
    }
    if (rc == 0 && l->n == before) rc = err_set(err, FORMS_BAD, "the list has no call");
    if (rc == 0 && !form_skip(&rest, FORMS_PYTHON_CLOSE) && form_behind_blanks(rest).len > 0)
        rc = err_set(err, FORMS_BAD, "the list of calls does not end");
    while (rc && l->n > before) forms_call_free(&l->v[--l->n].call);
    if (rc == 0) *t = rest;
    return rc;
}
