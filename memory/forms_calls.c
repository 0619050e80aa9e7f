/* forms_calls.c - all the calls of an answer, where a model makes several at once. */
#include "memory/forms.h"
#include "memory/forms_impl.h"

static bool begins(struct form_text t, size_t at, struct form_text word)
{
    return t.len - at >= word.len && memcmp(t.text + at, word.text, word.len) == 0;
}

static size_t behind_blanks(struct form_text t, size_t at)
{
    while (at < t.len && form_is_blank(t.text[at])) at++;
    return at;
}

int form_calls_add(struct form_calls_said *l, struct form_call *call, size_t from, size_t end, struct err *err)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 4;
        struct form_call_said *v = realloc(l->v, cap * sizeof *v);
        if (!v) {
            forms_call_free(call);
            return err_set(err, FORMS_NO_MEMORY, "no memory");
        }
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = (struct form_call_said){.call = *call, .from = from, .end = end};
    *call = (struct form_call){0};
    return 0;
}

void forms_calls_free(struct form_calls_said *l)
{
    for (size_t i = 0; i < l->n; i++) {
        forms_call_free(&l->v[i].call);
        buf_free(&l->v[i].said);
    }
    free(l->v);
    *l = (struct form_calls_said){0};
}

/* Behind the JSON that stands at `at`; at: there is none. */
static size_t behind_json(struct form_text t, size_t at)
{
    json_error_t e;
    json_t *v = json_loadb(t.text + at, t.len - at, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &e);
    json_decref(v);
    return v ? at + (size_t)e.position : at;
}

/* Behind the call in our form that stands at `at`; at: none does, or it does not end. */
static size_t behind_marked(struct form_text t, size_t at)
{
    struct form_text open, close;
    form_call_marks(&open, &close);
    if (!begins(t, at, open)) return at;
    const size_t json = at + open.len, end = behind_json(t, json), mark = behind_blanks(t, end);
    return end > json && begins(t, mark, close) ? mark + close.len : at;
}

/* The call that is all of [at, end), said with what stands before it, from `from` on. */
static int take(enum form_calls how, struct form_text t, size_t from, size_t at, size_t end, struct form_calls_said *l,
                struct err *err)
{
    struct form_call call;
    int rc = forms_read_call_as(how, t.text + at, end - at, &call, err);
    return rc ? rc : form_calls_add(l, &call, from, end, err);
}

/* One behind the other and nothing else from *at on, the first with what stands before that: in our form, or bare ones
 * of Llama's, which may have a ';' between them.  *at: where it was none. */
static int list_in_a_row(enum form_calls how, struct form_text t, size_t *at, struct form_calls_said *l,
                         struct err *err)
{
    const bool bare = how == FORM_CALLS_LLAMA3;
    int rc = 0;
    for (size_t from = 0; rc == 0 && (*at = behind_blanks(t, *at)) < t.len;) {
        if (bare && l->n > 0 && t.text[*at] == ';') *at = behind_blanks(t, *at + 1);
        const size_t end = bare ? behind_json(t, *at) : behind_marked(t, *at);
        rc = end > *at ? take(how, t, from, *at, end, l, err) : FORMS_OTHER;
        if (rc == 0) *at = from = end;
    }
    return rc;
}

/* In our form, all of an answer or behind words: where a line begins with the first, and calls alone follow. */
static int list_at_end(struct form_text t, struct form_calls_said *l, struct err *err)
{
    static const char line[] = "\n<tool_call>";
    for (size_t at = 0;;) {
        const int rc = list_in_a_row(FORM_CALLS_OWN, t, &at, l, err);
        if (rc == 0 || rc == FORMS_NO_MEMORY) return rc;
        forms_calls_free(l);
        const char *next = at < t.len ? memmem(t.text + at, t.len - at, line, sizeof line - 1) : NULL;
        if (!next) return rc;
        at = (size_t)(next - t.text) + 1;
    }
}

/* Behind a thought that stands at `at`, which may say anything, a call too; the text's end: it has none.  at: none
 * does. */
static size_t behind_thought(struct form_text t, size_t at)
{
    static const char open[] = "<think>", close[] = "</think>";
    if (!begins(t, at, form_text(open))) return at;
    const char *end = memmem(t.text + at, t.len - at, close, sizeof close - 1);
    return end ? (size_t)(end - t.text) + sizeof close - 1 : t.len;
}

/* Wherever a paragraph begins with one: no words say that, where marks are tokens.  The last ends the answer. */
static int list_by_tokens(struct form_text t, struct form_calls_said *l, struct err *err)
{
    size_t from = 0, at = behind_blanks(t, 0);
    while (at < t.len) {
        at = behind_thought(t, at);
        const size_t end = behind_marked(t, at);
        const int rc = end > at ? take(FORM_CALLS_OWN, t, from, at, end, l, err) : FORMS_OTHER;
        if (rc == FORMS_NO_MEMORY) return rc;
        if (rc == 0) from = end;
        const char *line = memmem(t.text + MAX(at, end), t.len - MAX(at, end), "\n\n", 2);
        if (!line) break;
        at = (size_t)(line - t.text) + 2;
        while (at < t.len && t.text[at] == '\n') at++;
    }
    return behind_blanks(t, from) == t.len ? 0 : FORMS_OTHER;
}

static int list_as(enum form_calls how, struct form_text t, struct form_calls_said *l, struct err *err)
{
    if (forms_in_list(how)) {
        const size_t at = behind_blanks(t, 0);
        const int rc = form_list_mistral((struct form_text){t.text + at, t.len - at}, l, err);
        if (rc != FORMS_OTHER) return rc;
    }
    if (how == FORM_CALLS_LLAMA3) {
        const int rc = list_in_a_row(how, t, &(size_t){0}, l, err);
        if (rc != FORMS_OTHER) return rc;
        forms_calls_free(l);
    }
    if (forms_in_tags(how)) {
        const int rc = form_list_tags(t, l, err);
        if (rc != FORMS_OTHER) return rc;
    }
    return forms_by_tokens(how) ? list_by_tokens(t, l, err) : list_at_end(t, l, err);
}

int forms_read_calls(enum form_calls how, const char *text, size_t len, struct form_calls_said *out, struct err *err)
{
    struct form_call one;
    const struct form_text t = {text, len};
    const bool small = len <= FORMS_READ_LIMIT, python = small && forms_in_python(how) && form_begins_python(t);
    *out = (struct form_calls_said){0};
    int rc = !small ? FORMS_OTHER : python ? form_list_python(t, out, err) : list_as(how, t, out, err);
    if (rc == 0 && (python || out->n > 1)) return 0;
    forms_calls_free(out);
    if (rc == FORMS_NO_MEMORY || python) return rc;
    rc = forms_read_call_as(how, text, len, &one, err); /* one, or what is wrong */
    return rc ? rc : form_calls_add(out, &one, 0, len, err);
}
