/* fuzz_forms.c - what a model may have written, read as a call, a record or a hand-over; and dialogues to be rendered.
 *
 * covers: memory/forms.c memory/forms_read.c memory/forms_tools.c memory/forms_dialogue.c memory/forms_tags.c
 *         memory/forms_tags_list.c memory/forms_python.c memory/forms_python_list.c
 *
 * An input: one letter that says what the rest is (c, r, h, d; t: tools as JSON).  What must hold: a refusal has a
 * message of one line; what was read, written again and read again is the same; the first of calls in tags ends with a
 * tag, and whoever reads it, or calls in Python, reads the same; a rendered dialogue is one line of JSON. */
#include "memory/forms.h"
#include "memory/forms_dialogue.h"
#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) abort();
}

static void must_be_one_line(const struct err *err)
{
    must(err->text[0] != '\0');
    for (const char *c = err->text; *c; c++) must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static bool same_text(struct form_text a, struct form_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.text, b.text, a.len) == 0);
}

static bool same_list(struct form_list a, struct form_list b)
{
    if (a.n != b.n) return false;
    for (size_t i = 0; i < a.n; i++)
        if (!same_text(a.item[i], b.item[i])) return false;
    return true;
}

/* An item that flattening would change is not written as it was read. */
static bool is_flat(struct form_text t)
{
    for (size_t i = 0; i < t.len; i++)
        if ((unsigned char)t.text[i] < 0x20 || (unsigned char)t.text[i] >= 0x7f) return false;
    return true;
}

static bool is_flat_list(struct form_list l)
{
    bool flat = true;
    for (size_t i = 0; i < l.n; i++) flat = flat && is_flat(l.item[i]);
    return flat;
}

static void read_call(enum form_calls how, const char *text, size_t n)
{
    struct form_call first, again;
    struct err err = {0};
    struct buf out = {0};
    if (forms_read_call_as(how, text, n, &first, &err)) {
        must_be_one_line(&err);
        return;
    }
    if (forms_check_call(&first, &err)) must_be_one_line(&err);
    must(forms_call(first.name, form_text(first.arguments), &out, &err) == 0);
    must(forms_read_call(out.data, out.len, &again, &err) == 0);
    must(strcmp(first.name, again.name) == 0 && strcmp(first.arguments, again.arguments) == 0);
    forms_call_free(&first);
    forms_call_free(&again);
    buf_free(&out);
}

/* All of them: those that one call is, and others with the bytes that say them, one behind the other. */
static void read_calls(enum form_calls how, const char *text, size_t n)
{
    struct form_calls_said l;
    struct form_call one;
    size_t end = 0;
    const int rc = forms_read_calls(how, text, n, &l, NULL), alone = forms_read_call_as(how, text, n, &one, NULL);
    must((rc == 0) == (l.n > 0) && (rc == 0 || alone == rc));
    if (alone == 0) forms_call_free(&one);
    for (size_t i = 0; i < l.n; i++) {
        const struct form_call_said *c = &l.v[i];
        must(c->end <= n && c->call.name && c->call.arguments);
        if (forms_in_python(how)) must(c->said.len > 0 ? c->end == 0 : c->from >= end && c->end > c->from);
        else must(c->said.len == 0 && c->from == (c->end ? end : 0));
        end = c->end;
    }
    forms_calls_free(&l);
}

static void read_tags(const char *text, size_t n)
{
    struct form_call whole, first;
    struct buf out = {0};
    const size_t end = forms_tags_end(text, n), begin = forms_tags_begin(text, 0, n);
    must(end <= n && begin <= n && (end == 0 || begin < end));
    if (end == 0) return;
    must(text[end - 1] == '>');
    must(forms_read_call_as(FORM_CALLS_QWEN35, text, n, &whole, NULL) == 0);
    must(forms_read_call_as(FORM_CALLS_ANY, text, n, &first, NULL) == 0);
    must(strcmp(whole.name, first.name) == 0 && strcmp(whole.arguments, first.arguments) == 0);
    forms_tags_call(&first, &out);
    must(!out.failed && forms_begins_tags((struct form_text){out.data, out.len}));
    forms_call_free(&first);
    forms_call_free(&whole);
    buf_free(&out);
}

static void read_python(const char *text, size_t n)
{
    struct form_call whole, first, again;
    struct buf out = {0};
    const size_t end = forms_python_end(text, n), begin = forms_python_begin(text, 0, n);
    must(end <= n && begin <= n && (end == 0 || begin < end));
    if (end == 0) return;
    must(forms_read_call_as(FORM_CALLS_LFM2, text, n, &whole, NULL) == 0);
    must(forms_read_call_as(FORM_CALLS_LFM2, text, end, &first, NULL) == 0);
    must(strcmp(whole.name, first.name) == 0 && strcmp(whole.arguments, first.arguments) == 0);
    forms_python_calls(&first, 1, &out);
    must(!out.failed && forms_python_end(out.data, out.len) == out.len);
    must(forms_read_call_as(FORM_CALLS_ANY, out.data, out.len, &again, NULL) == 0);
    must(strcmp(again.name, first.name) == 0 && strcmp(again.arguments, first.arguments) == 0);
    forms_call_free(&again);
    forms_call_free(&first);
    forms_call_free(&whole);
    buf_free(&out);
}

static void tell_tools(const char *text, size_t n)
{
    struct buf out = {0};
    json_t *v = json_loadb(text, n, 0, NULL);
    for (enum form_calls how = FORM_CALLS_QWEN35; how <= FORM_CALLS_QWEN3_CODER; how++) {
        forms_tags_list(how, (struct form_text){text, n}, &out);
        must(out.failed == !v);
        out.failed = false;
    }
    json_decref(v);
    buf_free(&out);
}

static void read_record(const char *text, size_t n)
{
    struct form_record first, again;
    struct err err = {0};
    struct buf out = {0};
    bool flat = true;
    if (forms_read_record(text, n, &first, &err)) {
        must_be_one_line(&err);
        return;
    }
    forms_record(&first, &out);
    for (int s = 0; s < RECORD_SECTIONS; s++) flat = flat && is_flat_list(first.section[s]);
    int rc = forms_read_record(out.data, out.len, &again, &err);
    must(rc == 0 || !flat);
    for (int s = 0; flat && s < RECORD_SECTIONS; s++) must(same_list(first.section[s], again.section[s]));
    if (rc == 0) forms_record_free(&again);
    forms_record_free(&first);
    buf_free(&out);
}

static void read_handover(const char *text, size_t n)
{
    struct form_handover a, b;
    struct err err = {0};
    struct buf out = {0};
    if (forms_read_handover(text, n, &a, &err)) {
        must_be_one_line(&err);
        return;
    }
    forms_handover(&a, &out);
    bool flat = is_flat(a.from) && is_flat(a.to) && is_flat(a.task) && is_flat(a.result) && is_flat_list(a.artifacts);
    int rc = forms_read_handover(out.data, out.len, &b, &err);
    must(rc == 0 || !flat);
    if (flat)
        must(same_text(a.from, b.from) && same_text(a.to, b.to) && same_text(a.task, b.task) &&
             same_text(a.result, b.result) && same_list(a.artifacts, b.artifacts));
    if (rc == 0) forms_handover_free(&b);
    forms_handover_free(&a);
    buf_free(&out);
}

static void render(const char *text, size_t n)
{
    struct buf out = {0};
    struct err err = {0};
    json_error_t e;
    if (forms_dialogue(text, n, &out, &err)) {
        must_be_one_line(&err);
        must(out.len == 0);
        buf_free(&out);
        return;
    }
    must(!memchr(out.data, '\n', out.len));
    json_t *messages = json_loadb(out.data, out.len, 0, &e);
    must(json_is_object(messages));
    json_decref(messages);
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    char *text = malloc(size); /* its own block: reading past the end is seen */
    must(text != NULL);
    memcpy(text, data + 1, size - 1);
    switch (data[0]) {
    case 'c':
        read_call(FORM_CALLS_OWN, text, size - 1);
        read_call(FORM_CALLS_LLAMA3, text, size - 1);
        read_call(FORM_CALLS_MISTRAL3, text, size - 1);
        read_call(FORM_CALLS_HARMONY, text, size - 1);
        read_call(FORM_CALLS_QWEN35, text, size - 1);
        read_call(FORM_CALLS_LFM2, text, size - 1);
        read_call(FORM_CALLS_ANY, text, size - 1);
        for (enum form_calls how = FORM_CALLS_OWN; how < FORM_CALLS_ANY; how++) read_calls(how, text, size - 1);
        read_tags(text, size - 1);
        read_python(text, size - 1);
        break;
    case 't': tell_tools(text, size - 1); break;
    case 'r': read_record(text, size - 1); break;
    case 'h': read_handover(text, size - 1); break;
    case 'd': render(text, size - 1); break;
    default: break;
    }
    free(text);
    return 0;
}
