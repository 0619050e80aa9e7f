/* forms_python_list.c - where LFM2's calls are in an answer (forms_python.c reads a list of them), and what such a
 * model is told of those that it made. */
#include "memory/forms.h"
#include "memory/forms_impl.h"

static struct form_text from(struct form_text t, size_t at) { return (struct form_text){t.text + at, t.len - at}; }

/* ------------------------------------------------------------------ in an answer */

/* Where the mark is at or behind `at`; goes_on: or may be, with more text.  t.len: nowhere. */
static size_t find_mark(struct form_text t, size_t at, bool goes_on)
{
    const size_t len = sizeof FORMS_PYTHON_OPEN - 1;
    const char *mark = at < t.len ? memmem(t.text + at, t.len - at, FORMS_PYTHON_OPEN, len) : NULL;
    if (mark) return (size_t)(mark - t.text);
    size_t same = goes_on ? MIN(t.len - at, len - 1) : 0;
    while (same > 0 && memcmp(t.text + t.len - same, FORMS_PYTHON_OPEN, same) != 0) same--;
    return t.len - same;
}

size_t forms_python_begin(const char *text, size_t at, size_t len)
{
    return find_mark((struct form_text){text, len}, at, true);
}

bool form_begins_python(struct form_text t)
{
    struct form_text open, close;
    form_call_marks(&open, &close);
    const size_t at = find_mark(t, 0, false);
    const struct form_text before = {t.text, at};
    return at < t.len && !memmem(before.text, before.len, open.text, open.len - 1) &&
           !memmem(before.text, before.len, "<function=", 10);
}

/* Each with the words around it: those before a list are its first call's, and those behind the last list the last's.
 * A list with several calls is written anew, call by call. */
static int say_apart(struct form_text t, size_t begin, size_t end, struct form_calls_said *l, size_t first,
                     struct err *err)
{
    const size_t open = find_mark(t, begin, false);
    if (l->n - first == 1) {
        l->v[first].from = begin;
        l->v[first].end = end;
        return 0;
    }
    for (size_t i = first; i < l->n; i++) {
        struct buf *said = &l->v[i].said;
        if (i == first) buf_put(said, t.text + begin, open - begin);
        forms_python_calls(&l->v[i].call, 1, said);
        if (said->failed) return err_set(err, FORMS_NO_MEMORY, "no memory");
    }
    return 0;
}

/* The words behind the last list. */
static int say_rest(struct form_text t, size_t at, struct form_calls_said *l, struct err *err)
{
    struct form_call_said *last = &l->v[l->n - 1];
    if (last->said.len > 0) buf_put(&last->said, t.text + at, t.len - at);
    else last->end = t.len;
    return last->said.failed ? err_set(err, FORMS_NO_MEMORY, "no memory") : 0;
}

int form_list_python(struct form_text t, struct form_calls_said *l, struct err *err)
{
    size_t begin = 0;
    int rc = 0;
    for (size_t at; rc == 0 && (at = find_mark(t, begin, false)) < t.len;) {
        struct form_text rest = from(t, at);
        const size_t first = l->n;
        rc = forms_read_python(&rest, l, err);
        if (rc) break;
        rc = say_apart(t, begin, t.len - rest.len, l, first, err);
        begin = t.len - rest.len;
    }
    if (rc == FORMS_BAD && l->n > 0) rc = 0; /* what is none behind one is words */
    if (rc == 0 && l->n == 0) rc = err_set(err, FORMS_OTHER, "no call of a tool");
    return rc ? rc : say_rest(t, begin, l, err);
}

int form_read_python(struct form_text t, struct form_call *out, struct err *err)
{
    struct form_calls_said l = {0};
    const int rc = form_list_python(t, &l, err);
    if (rc == 0) {
        *out = l.v[0].call;
        l.v[0].call = (struct form_call){0};
    }
    forms_calls_free(&l);
    return rc;
}

size_t forms_python_end(const char *text, size_t len)
{
    const struct form_text t = {text, len};
    struct form_calls_said l = {0};
    size_t end = 0;
    if (len > FORMS_READ_LIMIT || !form_begins_python(t)) return 0;
    for (size_t at; (at = find_mark(t, end, false)) < t.len;) {
        struct form_text rest = from(t, at);
        if (forms_read_python(&rest, &l, NULL)) break;
        end = t.len - rest.len;
    }
    forms_calls_free(&l);
    return end;
}

/* ------------------------------------------------------------------ what the program says */

static void say_string(const json_t *v, struct buf *out)
{
    const char *text = json_string_value(v);
    const size_t n = json_string_length(v);
    buf_puts(out, "\"");
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') buf_printf(out, "\\%c", c);
        else if (c == '\n' || c == '\t' || c == '\r') buf_puts(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
        else if (c < 0x20 || c == 0x7f) buf_printf(out, "\\x%02x", c);
        else buf_put(out, (const char *)&c, 1);
    }
    buf_puts(out, "\"");
}

static void say_value(const json_t *v, struct buf *out)
{
    const json_t *one;
    const char *key;
    size_t i, n = 0;
    if (json_is_string(v)) {
        say_string(v, out);
    } else if (json_is_array(v)) {
        buf_puts(out, "[");
        json_array_foreach(v, i, one) {
            buf_puts(out, i ? ", " : "");
            say_value(one, out);
        }
        buf_puts(out, "]");
    } else if (json_is_object(v)) {
        json_t *object = (json_t *)(uintptr_t)v, *value;
        buf_puts(out, "{");
        json_object_foreach(object, key, value) {
            json_t *name = json_string(key);
            buf_puts(out, n++ ? ", " : "");
            out->failed |= !name;
            if (name) say_string(name, out);
            json_decref(name);
            buf_puts(out, ": ");
            say_value(value, out);
        }
        buf_puts(out, "}");
    } else if (json_is_number(v)) {
        form_json_spaced_value(v, out);
    } else {
        buf_puts(out, json_is_true(v) ? "True" : json_is_false(v) ? "False" : "None");
    }
}

static bool is_word(const char *s)
{
    for (const char *c = s; *c; c++)
        if (!form_is_name(*c)) return false;
    return *s != '\0';
}

/* Whether Python's form can say it: its names are words. */
static bool can_say(const char *name, json_t *arguments)
{
    const char *key;
    json_t *v;
    bool can = is_word(name);
    json_object_foreach(arguments, key, v) can = can && is_word(key);
    return can;
}

static void say_object(const struct form_call *c, const json_t *arguments, struct buf *out)
{
    buf_puts(out, "{\"name\": ");
    form_json_string(form_text(c->name), out);
    buf_puts(out, ", \"arguments\": ");
    form_json_spaced_value(arguments, out);
    buf_puts(out, "}");
}

static void say_call(const struct form_call *c, json_t *arguments, struct buf *out)
{
    const char *key, *comma = "";
    json_t *v;
    buf_printf(out, "%s(", c->name);
    json_object_foreach(arguments, key, v) {
        buf_printf(out, "%s%s=", comma, key);
        say_value(v, out);
        comma = ", ";
    }
    buf_puts(out, ")");
}

void forms_python_calls(const struct form_call *c, size_t n, struct buf *out)
{
    buf_puts(out, FORMS_PYTHON_OPEN "[");
    for (size_t i = 0; i < n; i++) {
        json_t *arguments = json_loads(c[i].arguments, JSON_ALLOW_NUL, NULL);
        if (!json_is_object(arguments)) { /* a client's, as it was written */
            json_decref(arguments);
            arguments = json_pack("{s:s}", "arguments", c[i].arguments);
        }
        out->failed |= !arguments;
        buf_puts(out, i ? ", " : "");
        if (arguments && can_say(c[i].name, arguments)) say_call(&c[i], arguments, out);
        else if (arguments) say_object(&c[i], arguments, out);
        json_decref(arguments);
    }
    buf_puts(out, "]" FORMS_PYTHON_CLOSE);
}
