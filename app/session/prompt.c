/* prompt.c - see prompt.h. */
#include "app/session/prompt.h"
#include "engine/thinking.h"

static int no_memory(struct err *err) { return err_set(err, -1, "no memory for a prompt"); }

static int push(struct prompt *p, struct msg m, struct err *err)
{
    if (p->n == p->cap) {
        int cap = p->cap ? 2 * p->cap : 16;
        struct msg *q = cap > INT32_MAX / 4 ? NULL : realloc(p->msgs, (size_t)cap * sizeof *q);
        if (!q) return no_memory(err);
        p->msgs = q;
        p->cap = cap;
    }
    p->msgs[p->n++] = m;
    return 0;
}

static enum role role_of(enum journal_kind kind)
{
    return kind == JOURNAL_ANSWER ? ROLE_ASSISTANT : ROLE_USER;
}

/* Of calls and results; LFM2's are text. */
static bool has_marks(enum form_calls calls) { return forms_has_tools_apart(calls) && !forms_in_python(calls); }

/* ---------------------------------------------------------------- the front */

static void blank_line(struct buf *out)
{
    if (out->len > 0) buf_puts(out, "\n\n");
}

static void put_summary(const struct window_item *it, const struct text_entry *e, struct buf *out)
{
    char name[48];
    window_ref_name(&it->ref, name);
    const struct form_value v[] = {{"id", form_text(name)}, {"record", {e->text, e->len}}};
    if (form_render(FORM_SUMMARY_CONTEXT, v, 2, out, NULL)) out->failed = true; /* a test renders it */
}

/* summary: how many bytes at the end sum up what is not there. */
static int put_front(struct prompt *p, struct texts *texts, const struct window_item *it, size_t *summary,
                     struct err *err)
{
    const struct text_entry *e = it->id ? texts_get(texts, it->id, err) : NULL;
    size_t before = p->front.len;
    if (it->id && !e) return -1;
    blank_line(&p->front);
    if (it->part == WINDOW_REFERENCE) window_reference(&it->ref, &p->front);
    else if (it->part == WINDOW_SUMMARY) put_summary(it, e, &p->front);
    else buf_put(&p->front, e->text, e->len);
    if (it->part == WINDOW_REFERENCE || it->part == WINDOW_SUMMARY) *summary += p->front.len - before;
    return p->front.failed ? no_memory(err) : 0;
}

static bool is_front(const struct window_item *it)
{
    return it->part <= WINDOW_SUMMARY || it->part == WINDOW_REFERENCE;
}

static int put_tools(struct prompt *p, struct texts *texts, const struct window_item *items, size_t n, struct err *err)
{
    for (size_t i = 0; i < n && is_front(&items[i]); i++) {
        if (items[i].part != WINDOW_TOOLS) continue;
        const struct text_entry *e = texts_get(texts, items[i].id, err);
        if (!e) return -1;
        return push(p, (struct msg){.role = ROLE_SYSTEM, .text = e->text, .len = e->len, .tools = true}, err);
    }
    return 0;
}

/* The messages of the front; *at: the first item behind it. */
static int put_all_front(struct prompt *p, enum form_calls calls, struct texts *texts, const struct window_item *items,
                         size_t n, size_t *at, struct err *err)
{
    size_t summary = 0;
    const bool apart = forms_has_tools_apart(calls), first = forms_has_tools_first(calls);
    for (size_t i = 0; first && i < n && is_front(&items[i]); i++)
        if (items[i].part == WINDOW_TOOLS && put_front(p, texts, &items[i], &summary, err)) return -1;
    for (*at = 0; *at < n && is_front(&items[*at]); ++*at) {
        if ((apart || first) && items[*at].part == WINDOW_TOOLS) continue;
        if (put_front(p, texts, &items[*at], &summary, err)) return -1;
    }
    if (calls == FORM_CALLS_MISTRAL3 && put_tools(p, texts, items, n, err)) return -1;
    const struct msg system = {.role = ROLE_SYSTEM, .text = p->front.data, .len = p->front.len, .summary = summary};
    if (p->front.len > 0 && push(p, system, err)) return -1;
    if (apart && calls != FORM_CALLS_MISTRAL3 && put_tools(p, texts, items, n, err)) return -1;
    p->front_msgs = p->n;
    return 0;
}

/* ---------------------------------------------------------------- what follows */

/* What p->lines has from `from` on; a pointer once all is written: the buffer moves. */
static int push_line(struct prompt *p, struct msg m, size_t from, struct err *err)
{
    m.text = NULL;
    m.len = p->lines.len - from;
    return p->lines.failed ? no_memory(err) : push(p, m, err);
}

/* The tool of a call, which may be one that a damaged store has lost: then there is no name.  How long it is. */
static size_t put_name(struct texts *texts, uint64_t id, struct buf *out)
{
    struct form_call call;
    const struct text_entry *e = id > 0 ? texts_get(texts, id, NULL) : NULL;
    if (!e || e->kind != JOURNAL_CALL || forms_read_call_as(FORM_CALLS_ANY, e->text, e->len, &call, NULL)) return 0;
    const size_t n = forms_harmony_name(form_text(call.name), out);
    forms_call_free(&call);
    return n;
}

/* v3 has a result with its call's name, as JSON; harmony a JSON text behind the tool's. */
static void put_result_text(enum form_calls calls, struct form_text text, uint64_t call, struct buf *out)
{
    char name[TEMPLATE_CALL];
    template_call_name(call, name);
    if (calls == FORM_CALLS_MISTRAL3) forms_mistral_result(text, name, out);
    else if (calls == FORM_CALLS_HARMONY) forms_harmony_result(text, out);
    else buf_put(out, text.text, text.len);
}

static int put_result(struct prompt *p, enum form_calls calls, struct texts *texts, uint64_t id, struct err *err)
{
    const size_t from = p->lines.len;
    const uint64_t call = id - 1;
    struct msg m = {.role = ROLE_TOOL, .call = call};
    if (calls == FORM_CALLS_HARMONY) m.name = put_name(texts, call, &p->lines);
    const struct text_entry *e = texts_get(texts, id, err); /* looking at the call may have moved it */
    if (!e) return -1;
    if (calls == FORM_CALLS_MISTRAL3 || calls == FORM_CALLS_HARMONY) {
        put_result_text(calls, (struct form_text){e->text, e->len}, call, &p->lines);
        return push_line(p, m, from, err);
    }
    m.text = e->text;
    m.len = e->len;
    return push(p, m, err);
}

/* The first bytes of it as they were written, what was thought before it included. */
static int put_plain_call(struct prompt *p, const struct text_entry *thought, const struct text_entry *e, size_t len,
                          struct err *err)
{
    const size_t from = p->lines.len;
    if (!thought) return push(p, (struct msg){.role = ROLE_ASSISTANT, .text = e->text, .len = len}, err);
    buf_put(&p->lines, thought->text, thought->len);
    buf_put(&p->lines, e->text, len);
    return push_line(p, (struct msg){.role = ROLE_ASSISTANT}, from, err);
}

/* In tags or in Python, for a model that writes them: its own as they were written, so that their pages are found
 * again, without others behind the one in tags that was made.  In our form, for one that writes that: those of a model
 * that wrote another. */
static int put_text_call(struct prompt *p, enum form_calls calls, const struct text_entry *thought,
                         const struct text_entry *e, struct err *err)
{
    struct form_call call;
    const size_t from = p->lines.len, end = forms_tags_end(e->text, e->len);
    const bool is_python = end == 0 && forms_python_end(e->text, e->len) > 0;
    const bool tags = forms_in_tags(calls), python = forms_in_python(calls);
    if ((tags == (end > 0) && python == is_python) ||
        forms_read_call_as(FORM_CALLS_ANY, e->text, e->len, &call, NULL))
        return put_plain_call(p, thought, e, tags && end > 0 ? end : e->len, err);
    if (thought) buf_put(&p->lines, thought->text, thought->len);
    if (tags) forms_tags_call(&call, &p->lines);
    else if (python) forms_python_calls(&call, 1, &p->lines);
    else if (forms_call(call.name, form_text(call.arguments), &p->lines, NULL)) p->lines.failed = true;
    forms_call_free(&call);
    return push_line(p, (struct msg){.role = ROLE_ASSISTANT}, from, err);
}

/* As the family writes it; what is no call after all stays what was said.  What was said before harmony's call is not
 * told again. */
static int put_call(struct prompt *p, enum form_calls calls, struct texts *texts, const struct text_entry *e,
                    struct err *err)
{
    struct form_call call;
    char name[TEMPLATE_CALL];
    struct msg m = {.role = ROLE_ASSISTANT, .call = e->id};
    const struct text_entry *thought = texts_thought(texts, e->id);
    size_t from = p->lines.len;
    if (!has_marks(calls)) return put_text_call(p, calls, thought, e, err);
    if (forms_read_call_as(FORM_CALLS_ANY, e->text, e->len, &call, NULL))
        return put_plain_call(p, thought, e, e->len, err);
    template_call_name(e->id, name);
    if (forms_by_tokens(calls)) {
        size_t at = 0;
        const bool told = thought && calls == FORM_CALLS_HARMONY;
        m.thought = told ? thinking_inner(thought->text, thought->len, &at) : 0;
        if (m.thought > 0) buf_put(&p->lines, thought->text + at, m.thought);
        m.name = forms_harmony_call(&call, &p->lines);
    } else {
        forms_mistral_call(&call, name, &p->lines);
    }
    forms_call_free(&call);
    return push_line(p, m, from, err);
}

static int put_line(struct prompt *p, enum form_calls calls, struct texts *texts, enum role role,
                    const struct window_item *it, struct err *err)
{
    struct buf line = {0};
    size_t from = p->lines.len;
    struct msg m = {.role = role};
    if (role == ROLE_TOOL) m.call = it->part == WINDOW_RESULTS ? it->id - 1 : it->ref.first;
    if (it->part == WINDOW_REQUEST) forms_summary_request(&line);
    else window_reference(&it->ref, &line);
    const struct form_text text = {line.data ? line.data : "", line.len};
    if (it->part == WINDOW_RESULTS && calls == FORM_CALLS_HARMONY) m.name = put_name(texts, m.call, &p->lines);
    if (role == ROLE_TOOL) put_result_text(calls, text, m.call, &p->lines);
    else buf_put(&p->lines, text.text, text.len);
    p->lines.failed |= line.failed;
    buf_free(&line);
    return push_line(p, m, from, err);
}

static int put_item(struct prompt *p, enum form_calls calls, struct texts *texts, const struct window_item *it,
                    struct err *err)
{
    if (it->part == WINDOW_REQUEST) return put_line(p, calls, texts, ROLE_USER, it, err);
    if (it->part == WINDOW_REFERENCE) return put_line(p, calls, texts, ROLE_TOOL, it, err); /* a call and results */
    if (it->ref.messages > 0) /* what it stands for is history of a person, or of the model, or a result */
        return put_line(p, calls, texts, it->part == WINDOW_RESULTS ? ROLE_TOOL : ROLE_USER, it, err);
    const struct text_entry *e = texts_get(texts, it->id, err);
    if (!e) return -1;
    if (e->kind == JOURNAL_RESULT) return put_result(p, calls, texts, it->id, err);
    if (e->kind == JOURNAL_CALL) return put_call(p, calls, texts, e, err);
    return push(p, (struct msg){.role = role_of(e->kind), .text = e->text, .len = e->len}, err);
}

static void place_lines(struct prompt *p)
{
    const char *at = p->lines.data;
    for (int i = 0; i < p->n; i++) {
        if (p->msgs[i].text) continue;
        p->msgs[i].text = at;
        at += p->msgs[i].len;
    }
}

int prompt_make(struct prompt *p, enum form_calls calls, struct texts *texts, const struct window_item *items, size_t n,
                struct err *err)
{
    size_t i;
    p->n = p->front_msgs = 0;
    p->front.len = p->lines.len = 0;
    p->front.failed = p->lines.failed = false;
    if (put_all_front(p, calls, texts, items, n, &i, err)) return -1;
    for (; i < n; i++)
        if (put_item(p, calls, texts, &items[i], err)) return -1;
    place_lines(p);
    if (p->n > 0) p->msgs[0].effort = p->effort;
    return 0;
}

void prompt_free(struct prompt *p)
{
    free(p->msgs);
    buf_free(&p->front);
    buf_free(&p->lines);
    *p = (struct prompt){0};
}
