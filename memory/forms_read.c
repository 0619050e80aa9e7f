/* forms_read.c - calls, records and hand-overs out of what a model wrote.  The words looked for are those around the
 * places of the forms, so that a form that changes is read as it is written. */
#include "memory/forms.h"
#include "memory/forms_impl.h"

static bool same(struct form_text a, struct form_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.text, b.text, a.len) == 0);
}

/* Past these words at the front, and the blank that must follow them unless nothing does. */
static bool skip_words(struct form_text *t, struct form_text words)
{
    if (t->len < words.len || memcmp(t->text, words.text, words.len) != 0) return false;
    if (t->len > words.len && !form_is_blank(t->text[words.len])) return false;
    *t = form_trim((struct form_text){t->text + words.len, t->len - words.len});
    return true;
}

static struct form_text find(struct form_text in, struct form_text what)
{
    const char *p = in.len > 0 ? memmem(in.text, in.len, what.text, what.len) : NULL;
    return (struct form_text){p, p ? what.len : 0};
}

/* The words before the form's place number i, without blanks at their ends. */
static struct form_text words_before(enum form f, int i)
{
    struct form_text s = form_source(f), name;
    size_t before = 0, from = 0, to = 0;
    for (int k = 0; k <= i; k++) {
        before = to;
        bool found = form_next_place(s, to, &name, &from, &to);
        assert(found); /* the tests read every form that is read here */
        (void)found;
    }
    return form_trim((struct form_text){s.text + before, from - before});
}

/* ------------------------------------------------------------------ lines and items */

struct lines {
    struct form_text rest;
    int number; /* of the last one given, from 1 */
};

/* The next line that is not blank, trimmed. */
static bool next_line(struct lines *l, struct form_text *line)
{
    while (l->rest.len > 0) {
        const char *newline = memchr(l->rest.text, '\n', l->rest.len);
        size_t n = newline ? (size_t)(newline - l->rest.text) : l->rest.len, used = n + (newline != NULL);
        *line = form_trim((struct form_text){l->rest.text, n});
        l->rest = (struct form_text){l->rest.text + used, l->rest.len - used};
        l->number++;
        if (line->len > 0) return true;
    }
    return false;
}

struct items {
    struct form_text *v;
    size_t n, cap;
};

static int add_item(struct items *it, struct form_text t, struct err *err)
{
    if (it->n == it->cap) {
        size_t cap = it->cap ? 2 * it->cap : 16;
        struct form_text *v = realloc(it->v, cap * sizeof *v);
        if (!v) return err_set(err, FORMS_NO_MEMORY, "no memory");
        it->v = v;
        it->cap = cap;
    }
    it->v[it->n++] = t;
    return 0;
}

static int too_long(size_t len, const char *what, struct err *err)
{
    if (len <= FORMS_READ_LIMIT) return 0;
    return err_set(err, FORMS_BAD, "%s longer than %d MiB", what, FORMS_READ_LIMIT >> 20);
}

/* ------------------------------------------------------------------ calls */

void form_call_marks(struct form_text *open, struct form_text *close)
{
    struct form_text s = form_source(FORM_CALL);
    const char *first = memchr(s.text, '{', s.len), *last = memrchr(s.text, '}', s.len);
    assert(first && last);
    *open = (struct form_text){s.text, (size_t)(first - s.text)};
    *close = (struct form_text){last + 1, (size_t)(s.text + s.len - last - 1)};
}

/* The JSON between the marks. */
static int unwrap_call(struct form_text t, struct form_text *json, struct err *err)
{
    struct form_text open, close;
    form_call_marks(&open, &close);
    struct form_text at = find(t, open);
    if (!at.text) return err_set(err, FORMS_OTHER, "no call of a tool");
    t = form_trim(t);
    if (at.text != t.text) return err_set(err, FORMS_BAD, "text before the call");
    if (t.len < open.len + close.len || memcmp(t.text + t.len - close.len, close.text, close.len) != 0) {
        bool closed = find(t, close).text != NULL;
        return err_set(err, FORMS_BAD, "%s", closed ? "text after the call" : "the call does not end");
    }
    *json = (struct form_text){t.text + open.len, t.len - open.len - close.len};
    return 0;
}

int form_take_call(json_t *root, const char *key, struct form_call *out, struct err *err)
{
    const char *name;
    json_t *arguments;
    json_error_t e;
    struct buf b = {0};
    if (json_unpack_ex(root, &e, JSON_STRICT, "{s:s, s:o}", "name", &name, key, &arguments))
        return err_set(err, FORMS_BAD, "a call is {\"name\":..., \"%s\":...}: %s", key,
                       form_quote(e.text).s);
    if (!*name) return err_set(err, FORMS_BAD, "the call names no tool");
    if (!json_is_object(arguments)) return err_set(err, FORMS_BAD, "the call's arguments are no object");
    form_json_compact(arguments, &b);
    *out = (struct form_call){strdup(name), b.data};
    if (out->name && !b.failed) return 0;
    forms_call_free(out);
    return err_set(err, FORMS_NO_MEMORY, "no memory");
}

int forms_read_call(const char *text, size_t len, struct form_call *out, struct err *err)
{
    struct form_text json = {0};
    json_error_t e;
    *out = (struct form_call){0};
    int rc = too_long(len, "an answer", err);
    if (rc == 0) rc = unwrap_call((struct form_text){text, len}, &json, err);
    if (rc) return rc;
    json_t *root = json_loadb(json.text, json.len, JSON_REJECT_DUPLICATES, &e);
    rc = root ? form_take_call(root, "arguments", out, err)
              : err_set(err, FORMS_BAD, "the call is not JSON: %s", form_quote(e.text).s);
    json_decref(root);
    return rc;
}

/* JSON that is a call of a tool that there is; else it is an answer. */
static int read_bare_call(struct form_text t, struct form_call *out, struct err *err)
{
    struct err why = {0};
    json_t *root = json_loadb(t.text, t.len, JSON_REJECT_DUPLICATES, NULL), *type = json_object_get(root, "type");
    bool function = json_is_string(type) && strcmp(json_string_value(type), "function") == 0;
    if (function) json_object_del(root, "type");
    int rc = root ? form_take_call(root, "parameters", out, &why) : FORMS_OTHER;
    json_decref(root);
    if (rc == FORMS_NO_MEMORY) return err_set(err, rc, "%s", why.text);
    if (rc == 0 && forms_tool(out->name)) return 0;
    forms_call_free(out);
    return err_set(err, FORMS_OTHER, "no call of a tool");
}

/* Behind what else was said, where a line begins with it.  Looking for it is linear: JSON ends where another call could
 * begin. */
static int read_last_call(const char *text, size_t len, struct form_call *out, struct err *err)
{
    struct form_text open, close, t = form_trim((struct form_text){text, len});
    int rc = forms_read_call(text, len, out, err);
    form_call_marks(&open, &close);
    if (len > FORMS_READ_LIMIT || t.len < close.len ||
        memcmp(t.text + t.len - close.len, close.text, close.len) != 0)
        return rc;
    while (rc == FORMS_BAD) {
        const char *end = t.text + t.len, *line = find(t, form_text("\n")).text;
        if (!line) break;
        t = (struct form_text){line + 1, (size_t)(end - line) - 1};
        if (t.len > open.len && memcmp(t.text, open.text, open.len) == 0) rc = forms_read_call(t.text, t.len, out, err);
    }
    return rc;
}

/* What is no call otherwise may be one in Python, which may have words behind it: all others end their text, so that
 * whoever quotes a list of Python's before a call of its own form has made that. */
static int or_python(struct form_text t, int rc, struct form_call *out, struct err *err)
{
    struct err why = {0};
    if (rc == 0 || rc == FORMS_NO_MEMORY || !form_begins_python(t)) return rc;
    const int python = form_read_python(t, out, &why);
    if (python == FORMS_NO_MEMORY) err_set(err, python, "%s", why.text);
    return python == 0 || python == FORMS_NO_MEMORY ? python : rc;
}

int forms_read_call_as(enum form_calls how, const char *text, size_t len, struct form_call *out, struct err *err)
{
    struct form_text t = form_trim((struct form_text){text, len});
    bool any = how == FORM_CALLS_ANY, small = len <= FORMS_READ_LIMIT;
    *out = (struct form_call){0};
    int rc = FORMS_OTHER;
    if (small && (any || how == FORM_CALLS_LLAMA3) && t.len > 0 && *t.text == '{') {
        rc = read_bare_call(t, out, err);
        if (!any || rc != FORMS_OTHER) return rc;
    }
    if (small && (any || forms_in_list(how)) && form_begins_mistral(t)) {
        rc = form_read_mistral(t, out, err);
        if (!any || rc != FORMS_OTHER) return rc;
    }
    if (small && forms_in_python(how) && form_begins_python(t)) return form_read_python(t, out, err);
    if (small && (any || forms_in_tags(how))) {
        rc = form_find_tags(text, len, any, out, err);
        if (!any) return rc;
    }
    if (rc == FORMS_OTHER) rc = read_last_call(text, len, out, err);
    return any && small ? or_python(t, rc, out, err) : rc;
}

void forms_call_free(struct form_call *c)
{
    free(c->name);
    free(c->arguments);
    *c = (struct form_call){0};
}

/* ------------------------------------------------------------------ records */

/* One line under a heading; n items and perhaps "none" were there before it. */
static int take_item(struct form_text line, size_t n, bool *none, struct items *it, int number, struct err *err)
{
    static const char both[] = "line %d: \"none\" beside items";
    if (same(line, form_source(FORM_NONE))) {
        if (n > 0 || *none) return err_set(err, FORMS_BAD, both, number);
        *none = true;
        return 0;
    }
    if (!skip_words(&line, words_before(FORM_ITEM, 0)))
        return err_set(err, FORMS_BAD, "line %d: neither an item nor the next heading", number);
    if (line.len == 0) return err_set(err, FORMS_BAD, "line %d: an empty item", number);
    if (*none) return err_set(err, FORMS_BAD, both, number);
    return add_item(it, line, err);
}

/* The lines of section s up to the next heading, or to the end. */
static int take_section(struct lines *l, int s, struct items *it, struct err *err)
{
    struct form_text heading = words_before(FORM_SUMMARY, s), next = {0}, line;
    bool none = false, last = s + 1 == RECORD_SECTIONS, ended = false;
    size_t begin = it->n;
    if (!last) next = words_before(FORM_SUMMARY, s + 1);
    while (!ended) {
        if (!next_line(l, &line)) {
            if (!last) return err_set(err, FORMS_BAD, "no heading \"%.*s\"", (int)next.len, next.text);
            break;
        }
        ended = !last && same(line, next);
        int rc = ended ? 0 : take_item(line, it->n - begin, &none, it, l->number, err);
        if (rc) return rc;
    }
    if (none || it->n > begin) return 0;
    return err_set(err, FORMS_BAD, "nothing under \"%.*s\", not even \"none\"", (int)heading.len, heading.text);
}

int forms_read_record(const char *text, size_t len, struct form_record *out, struct err *err)
{
    struct lines l = {{text, len}, 0};
    struct items it = {0};
    struct form_text line;
    size_t begin[RECORD_SECTIONS + 1] = {0};
    *out = (struct form_record){0};
    int rc = too_long(len, "a record", err);
    if (rc) return rc;
    if (!next_line(&l, &line) || !same(line, words_before(FORM_SUMMARY, 0)))
        return err_set(err, FORMS_OTHER, "no record");
    for (int s = 0; s < RECORD_SECTIONS && rc == 0; s++) {
        rc = take_section(&l, s, &it, err);
        begin[s + 1] = it.n;
    }
    if (rc) {
        free(it.v);
        return rc;
    }
    for (int s = 0; s < RECORD_SECTIONS; s++)
        if (begin[s + 1] > begin[s])
            out->section[s] = (struct form_list){it.v + begin[s], begin[s + 1] - begin[s]};
    out->items = it.v;
    return 0;
}

void forms_record_free(struct form_record *r)
{
    free(r->items);
    *r = (struct form_record){0};
}

/* ------------------------------------------------------------------ hand-overs */

enum { PLACE_FROM, PLACE_TO, PLACE_TASK, PLACE_RESULT, PLACE_ARTIFACTS };

/* "planner to critic" */
static int take_names(struct form_text line, struct form_handover *h, struct err *err)
{
    struct form_text word = words_before(FORM_HANDOVER, PLACE_TO);
    for (size_t i = 1; i + word.len < line.len; i++) {
        struct form_text to = {line.text + i, line.len - i};
        if (!form_is_blank(line.text[i - 1]) || !skip_words(&to, word)) continue;
        h->from = form_trim((struct form_text){line.text, i});
        h->to = to;
        return 0;
    }
    return err_set(err, FORMS_BAD, "the hand-over does not say from whom to whom");
}

static int take_field(struct lines *l, int place, struct form_text *out, struct err *err)
{
    struct form_text words = words_before(FORM_HANDOVER, place);
    if (!next_line(l, out) || !skip_words(out, words))
        return err_set(err, FORMS_BAD, "the hand-over's line \"%.*s\" lacks", (int)words.len, words.text);
    if (out->len == 0) return err_set(err, FORMS_BAD, "\"%.*s\" says nothing", (int)words.len, words.text);
    return 0;
}

static int take_artifacts(struct form_text rest, struct items *it, struct err *err)
{
    if (same(rest, form_source(FORM_NONE))) return 0;
    for (bool more = true; more;) {
        const char *comma = rest.len > 0 ? memchr(rest.text, ',', rest.len) : NULL;
        size_t n = comma ? (size_t)(comma - rest.text) : rest.len;
        struct form_text name = form_trim((struct form_text){rest.text, n});
        if (name.len == 0) return err_set(err, FORMS_BAD, "an artifact without a name");
        int rc = add_item(it, name, err);
        if (rc) return rc;
        more = comma != NULL;
        if (more) rest = (struct form_text){comma + 1, rest.len - n - 1};
    }
    return 0;
}

static int take_handover(struct lines *l, struct form_handover *h, struct items *it, struct err *err)
{
    struct form_text line, artifacts = {0};
    if (!next_line(l, &line) || !skip_words(&line, words_before(FORM_HANDOVER, PLACE_FROM)))
        return err_set(err, FORMS_OTHER, "no hand-over");
    int rc = take_names(line, h, err);
    if (rc == 0) rc = take_field(l, PLACE_TASK, &h->task, err);
    if (rc == 0) rc = take_field(l, PLACE_RESULT, &h->result, err);
    if (rc == 0) rc = take_field(l, PLACE_ARTIFACTS, &artifacts, err);
    if (rc == 0) rc = take_artifacts(artifacts, it, err);
    if (rc == 0 && next_line(l, &line)) rc = err_set(err, FORMS_BAD, "line %d: text after the hand-over", l->number);
    return rc;
}

int forms_read_handover(const char *text, size_t len, struct form_handover *out, struct err *err)
{
    struct lines l = {{text, len}, 0};
    struct items it = {0};
    *out = (struct form_handover){0};
    int rc = too_long(len, "a hand-over", err);
    if (rc == 0) rc = take_handover(&l, out, &it, err);
    if (rc) {
        free(it.v);
        *out = (struct form_handover){0};
        return rc;
    }
    out->artifacts = (struct form_list){it.v, it.n};
    out->items = it.v;
    return 0;
}

void forms_handover_free(struct form_handover *h)
{
    free(h->items);
    *h = (struct form_handover){0};
}
