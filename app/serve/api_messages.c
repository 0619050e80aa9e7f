/* api_messages.c - messages as the engine's templates take them.
 *
 * Tools stand in the system message in the words of assets/forms/, a line each, or in those of a family that writes
 * calls in tags; the families that have marks of their own for tools, calls and results get them in a message of their
 * own, Mistral's as JSON and harmony's as types. */
#include "app/serve/api.h"
#include "engine/thinking.h"

bool api_has_marks(enum form_calls c) { return forms_has_tools_apart(c) && !forms_in_python(c); }

/* ---------------------------------------------------------------- what is composed */

/* A message whose text is what a->texts has from `from` on; the pointer comes once all is written: the buffer moves. */
static struct msg composed(const struct api_ask *a, enum role role, size_t from)
{
    return (struct msg){.role = role, .text = NULL, .len = a->texts.len - from};
}

static void place(struct api_ask *a)
{
    const char *at = a->texts.data ? a->texts.data : "";
    for (int i = 0; i < a->n_msgs; i++) {
        if (a->msgs[i].text) continue;
        a->msgs[i].text = at;
        at += a->msgs[i].len;
    }
}

static void push(struct api_ask *a, struct msg m) { a->msgs[a->n_msgs++] = m; }

/* ---------------------------------------------------------------- contents */

static const char *const roles[] = {"system", "developer", "user", "assistant", "tool"};
static const enum role role_is[] = {ROLE_SYSTEM, ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL};

/* A text, or a list of {"type": "text", "text": ...}, appended; nothing where it may lack and does. */
static int put_content(const json_t *content, size_t i, bool may_lack, struct buf *out, struct api_error *e)
{
    char where[48];
    const json_t *part;
    size_t k;
    snprintf(where, sizeof where, "messages[%zu].content", i);
    if (json_is_string(content)) {
        buf_put(out, json_string_value(content), json_string_length(content));
        return 0;
    }
    if (may_lack && (!content || json_is_null(content))) return 0;
    if (!json_is_array(content))
        return api_fail(e, 400, "invalid_type", where, "%s is to be a text, or a list of parts that are texts", where);
    json_array_foreach(content, k, part) {
        const json_t *type = json_object_get(part, "type");
        const char *name = json_is_string(type) ? json_string_value(type) : "";
        const bool refusal = strcmp(name, "refusal") == 0;
        const json_t *text = json_object_get(part, refusal ? "refusal" : "text");
        if (!json_is_string(text) || (!refusal && strcmp(name, "text") != 0))
            return api_fail(e, 400, "unsupported_value", where, "%s[%zu] is of type \"%.40s\"; only texts are read "
                            "here", where, k, name);
        buf_put(out, json_string_value(text), json_string_length(text));
    }
    return 0;
}

/* ---------------------------------------------------------------- calls and results */

/* How many calls there are.  Arguments that came as an object become the text that they should be. */
static int count_calls(const json_t *messages, size_t *n, struct api_error *e)
{
    json_t *c;
    const json_t *m;
    size_t i, k;
    char where[80];
    *n = 0;
    json_array_foreach(messages, i, m) {
        json_array_foreach(json_object_get(m, "tool_calls"), k, c) {
            json_t *f = json_object_get(c, "function"), *arguments = json_object_get(f, "arguments");
            struct buf text = {0};
            ++*n;
            if (!api_is_given(arguments) || json_is_string(arguments)) continue;
            snprintf(where, sizeof where, "messages[%zu].tool_calls[%zu]", i, k);
            if (!json_is_object(arguments))
                return api_fail(e, 400, "invalid_type", where, "%s.function.arguments is to be a text that is a JSON "
                                "object", where);
            api_put_json(arguments, JSON_COMPACT, &text);
            const int bad = text.failed || json_object_set_new(f, "arguments", json_stringn(text.data, text.len));
            buf_free(&text);
            if (bad) return api_fail(e, 500, "no_memory", NULL, "no memory for the messages");
        }
    }
    return 0;
}

/* The calls of one message get their numbers, from 1: Mistral's marks have numbers, and harmony's results the names of
 * tools.  An id that comes again is the later call's from there on. */
static void number_calls(struct api_ask *a, const json_t *calls)
{
    const json_t *c;
    size_t k;
    json_array_foreach(calls, k, c) {
        const char *id = json_string_value(json_object_get(c, "id"));
        a->calls_read++;
        if (!id) continue;
        json_object_set_new(a->numbers, id, json_integer(a->calls_read));
        json_object_set_new(a->names, id, json_string(api_tool_name(c)));
    }
}

static uint64_t call_number(const struct api_ask *a, const char *id)
{
    return (uint64_t)json_integer_value(json_object_get(a->numbers, id)); /* 0: no such */
}

static int check_call(const json_t *c, const char *where, struct api_error *e)
{
    if (api_is_name(api_tool_name(c)) && json_string_value(json_object_get(c, "id"))) return 0;
    return api_fail(e, 400, "invalid_value", where, "%s: a call needs an id, and a function with a name", where);
}

/* As it was written: a JSON text. */
static struct form_text arguments_of(const json_t *c)
{
    const json_t *arguments = json_object_get(json_object_get(c, "function"), "arguments");
    if (json_string_length(arguments) == 0) return (struct form_text){"{}", 2};
    return (struct form_text){json_string_value(arguments), json_string_length(arguments)};
}

static void put_arguments_spaced(const json_t *c, struct buf *out)
{
    const struct form_text text = arguments_of(c);
    json_t *v = json_loadb(text.text, text.len, 0, NULL);
    if (!v) v = json_stringn(text.text, text.len);
    api_put_json(v, 0, out);
    json_decref(v);
}

static int put_call(const struct api_ask *a, const struct api_model *m, const json_t *c, const char *where,
                    struct buf *out, struct api_error *e)
{
    const struct form_text text = arguments_of(c);
    char name[TEMPLATE_CALL];
    if (check_call(c, where, e)) return -1;
    if (forms_in_tags(a->calls)) {
        api_tags_call(api_tool_name(c), text, out);
        return 0;
    }
    if (!api_has_marks(m->calls)) {
        if (forms_call(api_tool_name(c), text, out, NULL) == 0) return 0;
        buf_printf(out, API_CALL_OPEN "{\"name\":\"%s\",\"arguments\":", api_tool_name(c)); /* as it was written */
        buf_put(out, text.text, text.len);
        buf_puts(out, "}</tool_call>");
        return 0;
    }
    template_call_name(call_number(a, json_string_value(json_object_get(c, "id"))), name);
    buf_printf(out, "{\"name\": \"%s\", \"arguments\": ", api_tool_name(c));
    put_arguments_spaced(c, out);
    buf_printf(out, ", \"id\": \"%s\"}", name);
    return 0;
}

/* What was thought before the calls of message i, if the client sends it and the model is told: what vLLM, llama.cpp
 * and this server call reasoning_content, and OpenRouter, and vLLM later, reasoning. */
static int read_thought(const struct api_ask *a, const struct api_model *m, const json_t *msg, size_t i,
                        struct form_text *out, struct api_error *e)
{
    static const char *const keys[] = {"reasoning_content", "reasoning"};
    *out = (struct form_text){"", 0};
    for (size_t k = 0; k < COUNT_OF(keys); k++) {
        const json_t *v = json_object_get(msg, keys[k]);
        char where[64];
        snprintf(where, sizeof where, "messages[%zu].%s", i, keys[k]);
        if (v && !json_is_null(v) && !json_is_string(v))
            return api_fail(e, 400, "invalid_type", where, "%s is to be a string", where);
        if (json_string_length(v) == 0 || out->len > 0 || !m->retells || i < a->asked) continue;
        const char *text = json_string_value(v);
        size_t at;
        out->len = thinking_inner(text, json_string_length(v), &at);
        out->text = text + at;
    }
    return 0;
}

/* Each is a message of its own; before the first is what was thought. */
static int put_calls_apart(struct api_ask *a, struct form_text thought, const json_t *calls, const char *where,
                           struct api_error *e)
{
    const json_t *c;
    size_t k;
    json_array_foreach(calls, k, c) {
        const size_t from = a->texts.len, thinks = k == 0 ? thought.len : 0;
        if (check_call(c, where, e)) return -1;
        buf_put(&a->texts, thought.text, thinks);
        const size_t name = forms_harmony_name(form_text(api_tool_name(c)), &a->texts);
        put_arguments_spaced(c, &a->texts);
        struct msg made = composed(a, ROLE_ASSISTANT, from);
        made.call = call_number(a, json_string_value(json_object_get(c, "id")));
        made.name = name;
        made.thought = thinks;
        push(a, made);
    }
    return 0;
}

/* All in one list, as the model makes them. */
static int put_python(struct api_ask *a, const json_t *calls, const char *where, struct api_error *e)
{
    struct form_call call[API_CALLS];
    const json_t *c;
    size_t k;
    json_array_foreach(calls, k, c) {
        if (check_call(c, where, e)) return -1;
        call[k].name = (char *)(uintptr_t)api_tool_name(c);
        call[k].arguments = (char *)(uintptr_t)arguments_of(c).text;
    }
    forms_python_calls(call, json_array_size(calls), &a->texts);
    return 0;
}

/* How much of a message's text the model said before its calls: what it said behind them is in what is kept of them. */
static size_t said_before(const char *kept, size_t n, const char *text, size_t len)
{
    size_t at = forms_python_end(kept, n);
    while (at > 0 && at < n && strchr(" \t\r\n", kept[at])) at++;
    if (at == 0 || at == n || len < n - at || memcmp(text + len - (n - at), kept + at, n - at) != 0) return len;
    len -= n - at;
    return len > 0 && text[len - 1] == '\n' ? len - 1 : len;
}

/* An assistant's message with calls: what was thought, its text, and the calls as the family writes them, or as this
 * model wrote them. */
static int put_calls(struct api_ask *a, const struct api_model *m, const struct api_memory *memory,
                     const json_t *messages, size_t i, struct api_error *e)
{
    const json_t *msg = json_array_get(messages, i), *calls = json_object_get(msg, "tool_calls"), *c;
    const json_t *content = json_object_get(msg, "content");
    const char *first = json_string_value(json_object_get(json_array_get(calls, 0), "id"));
    struct form_text thought;
    char where[48];
    size_t k, from = a->texts.len, n = 0;
    snprintf(where, sizeof where, "messages[%zu].tool_calls", i);
    if (json_array_size(calls) > API_CALLS)
        return api_fail(e, 400, "invalid_value", where, "%s has more than %d calls", where, API_CALLS);
    number_calls(a, calls);
    if (read_thought(a, m, msg, i, &thought, e)) return -1;
    if (thought.len > 0 && !api_has_marks(m->calls)) {
        buf_puts(&a->texts, "<think>\n");
        buf_put(&a->texts, thought.text, thought.len);
        buf_puts(&a->texts, "\n</think>\n\n");
    }
    const size_t said = a->texts.len;
    if (put_content(content, i, true, &a->texts, e)) return -1;
    if (api_has_marks(m->calls)) { /* text and calls are apart there */
        if (a->texts.len > from) push(a, composed(a, ROLE_ASSISTANT, from));
        if (forms_by_tokens(m->calls)) return put_calls_apart(a, thought, calls, where, e);
        from = a->texts.len;
        buf_puts(&a->texts, "[");
    }
    const bool may = first && memory && !api_has_marks(m->calls);
    const char *kept = may ? memory->text(memory->self, first, calls, &n) : NULL;
    if (kept && !forms_in_tags(a->calls) && forms_begins_tags((struct form_text){kept, n})) kept = NULL;
    if (kept && !forms_in_python(a->calls) && forms_python_end(kept, n) > 0) kept = NULL;
    if (kept && a->texts.len > said)
        a->texts.len = said + said_before(kept, n, a->texts.data + said, a->texts.len - said);
    if (kept) buf_put(&a->texts, kept, n);
    const bool python = !kept && forms_in_python(a->calls);
    if (python && put_python(a, calls, where, e)) return -1;
    json_array_foreach(calls, k, c) {
        if (kept || python) break;
        if (api_has_marks(m->calls)) buf_puts(&a->texts, k ? ", " : "");
        else if (a->texts.len > said) buf_puts(&a->texts, k == 0 && forms_in_tags(a->calls) ? "\n\n" : "\n");
        if (put_call(a, m, c, where, &a->texts, e)) return -1;
    }
    if (api_has_marks(m->calls)) buf_puts(&a->texts, "]");
    struct msg made = composed(a, ROLE_ASSISTANT, from);
    made.call = api_has_marks(m->calls) && first ? call_number(a, first) : 0;
    push(a, made);
    return 0;
}

static int put_result(struct api_ask *a, const struct api_model *m, const json_t *messages, size_t i,
                      struct api_error *e)
{
    const json_t *msg = json_array_get(messages, i);
    const char *id = json_string_value(json_object_get(msg, "tool_call_id"));
    char where[48], name[TEMPLATE_CALL];
    size_t from = a->texts.len;
    uint64_t number = id ? call_number(a, id) : 0;
    snprintf(where, sizeof where, "messages[%zu].tool_call_id", i);
    if (number == 0)
        return api_fail(e, 400, "invalid_value", where, "%s is to be the id of a call in a message before", where);
    struct buf text = {0};
    size_t named = 0;
    const bool wrapped = m->calls == FORM_CALLS_MISTRAL3 || m->calls == FORM_CALLS_HARMONY;
    int bad = put_content(json_object_get(msg, "content"), i, true, wrapped ? &text : &a->texts, e);
    const struct form_text said = {text.data ? text.data : "", text.len};
    template_call_name(number, name);
    if (m->calls == FORM_CALLS_MISTRAL3) forms_mistral_result(said, name, &a->texts);
    if (m->calls == FORM_CALLS_HARMONY) {
        named = forms_harmony_name(form_text(json_string_value(json_object_get(a->names, id))), &a->texts);
        forms_harmony_result(said, &a->texts);
    }
    a->texts.failed |= text.failed;
    buf_free(&text);
    if (bad) return -1;
    struct msg made = composed(a, ROLE_TOOL, from);
    made.name = named;
    made.call = number;
    push(a, made);
    return 0;
}

/* ---------------------------------------------------------------- all of them */

/* Before an answer that was begun: what was thought, or that nothing was, as the templates of models that think have an
 * answer that is the last.  (Harmony's is on a channel of its own.) */
static int put_begun_thought(struct api_ask *a, const struct api_model *m, const json_t *msg, size_t i,
                             struct api_error *e)
{
    struct form_text thought;
    struct thinking own = {0};
    struct buf text = {0};
    if (read_thought(a, m, msg, i, &thought, e)) return -1;
    int bad = put_content(json_object_get(msg, "content"), i, true, &text, e);
    if (text.data) thinking_follow(&own, text.data, text.len);
    buf_free(&text);
    if (bad) return -1;
    if (own.part == THINKING_INSIDE)
        return api_fail(e, 400, "unsupported_value", "messages", "messages[%zu]: a thought that was begun is not gone "
                        "on with here; an answer behind it is", i);
    if (own.part == THINKING_BEHIND || !m->thinks || m->calls == FORM_CALLS_HARMONY) return 0;
    buf_puts(&a->texts, THINKING_OPEN);
    buf_put(&a->texts, thought.text, thought.len);
    buf_puts(&a->texts, THINKING_CLOSE);
    return 0;
}

/* What a message may carry that is not read here, and would change the answer. */
static int check_message(const json_t *msg, size_t i, struct api_error *e)
{
    static const char *const never[] = {"images", "audio", "function_call", "input_audio"};
    for (size_t k = 0; k < COUNT_OF(never); k++) {
        const json_t *v = json_object_get(msg, never[k]);
        char where[64];
        if (!api_is_given(v) || (json_is_array(v) && json_array_size(v) == 0)) continue;
        snprintf(where, sizeof where, "messages[%zu].%s", i, never[k]);
        return api_fail(e, 400, "unsupported_value", where, "%s is not read here; leave it out%s", where,
                        k == 2 ? ", or say it as tool_calls" : "");
    }
    return 0;
}

static int put_message(struct api_ask *a, const struct api_model *m, const struct api_memory *memory,
                       const json_t *messages, size_t i, struct api_error *e)
{
    const json_t *msg = json_array_get(messages, i), *role = json_object_get(msg, "role");
    const json_t *calls = json_object_get(msg, "tool_calls");
    char where[48];
    size_t k = 0, from = a->texts.len;
    snprintf(where, sizeof where, "messages[%zu].role", i);
    while (json_is_string(role) && k < COUNT_OF(roles) && strcmp(json_string_value(role), roles[k]) != 0) k++;
    if (!json_is_string(role) || k == COUNT_OF(roles))
        return api_fail(e, 400, "invalid_value", where, "%s is to be system, developer, user, assistant or tool%s",
                        where, strcmp(api_text_in(msg, "role"), "function") == 0 ? " (which function was once, and has "
                        "the tool_call_id of its call)" : "");
    if (check_message(msg, i, e)) return -1;
    if (role_is[k] == ROLE_TOOL) return put_result(a, m, messages, i, e);
    const bool begun = a->goes_on && i + 1 == json_array_size(messages);
    if (begun && json_array_size(calls) > 0)
        return api_fail(e, 400, "invalid_value", where, "messages[%zu]: a call cannot be gone on with", i);
    if (role_is[k] == ROLE_ASSISTANT && json_array_size(calls) > 0) return put_calls(a, m, memory, messages, i, e);
    if (begun && put_begun_thought(a, m, msg, i, e)) return -1;
    if (put_content(json_object_get(msg, "content"), i, role_is[k] == ROLE_ASSISTANT, &a->texts, e)) return -1;
    struct msg made = composed(a, role_is[k], from);
    made.begun = begun;
    push(a, made);
    return 0;
}

static bool begins_with_system(const json_t *messages)
{
    const char *role = json_string_value(json_object_get(json_array_get(messages, 0), "role"));
    return role && (strcmp(role, "system") == 0 || strcmp(role, "developer") == 0);
}

/* The front: the system message and the tools, as the family has them.  *at: the first message behind it. */
static int put_front(struct api_ask *a, const struct api_model *m, const json_t *messages, size_t *at,
                     struct api_error *e)
{
    const bool system = begins_with_system(messages), apart = forms_has_tools_apart(m->calls);
    const bool first = forms_has_tools_first(a->calls);
    size_t from = a->texts.len;
    *at = system;
    if (!a->tools) {
        *at = 0;
        return 0;
    }
    for (int pass = 0; pass < 2; pass++) {
        bool tools_now = apart && pass == (m->calls == FORM_CALLS_MISTRAL3 ? 0 : 1);
        if (apart && tools_now) {
            api_put_tools(a, m, &a->texts);
            struct msg made = composed(a, ROLE_SYSTEM, from);
            made.tools = true;
            push(a, made);
        } else if (apart || pass == 0) {
            if (first) api_put_tools(a, m, &a->texts);
            if (first && system) buf_puts(&a->texts, "\n\n");
            if (system && put_content(json_object_get(json_array_get(messages, 0), "content"), 0, false, &a->texts, e))
                return -1;
            if (!apart && !first) {
                if (a->texts.len > from) buf_puts(&a->texts, "\n\n");
                api_put_tools(a, m, &a->texts);
            }
            if (a->texts.len > from) push(a, composed(a, ROLE_SYSTEM, from));
        }
        from = a->texts.len;
    }
    return 0;
}

static struct api_model told_in_json(const struct api_model *m)
{
    struct api_model as = *m;
    as.calls = FORM_CALLS_OWN;
    return as;
}

/* Whether the model is told of tools and calls in JSON, instead of its family's form, since only there a grammar holds:
 * of tags and Python whatever is to be held, and of other forms a call that it may make (one that it must is bare
 * JSON). */
static bool is_held(const struct api_ask *a, const struct api_model *m)
{
    const bool bound = a->strict || a->allowed;
    if (forms_in_tags(m->calls) || forms_in_python(m->calls))
        return bound || a->choice == API_REQUIRED || api_wants_form(a->root);
    return bound && a->choice != API_REQUIRED && m->calls != FORM_CALLS_OWN && m->calls != FORM_CALLS_HARMONY;
}

int api_read_messages(struct api_ask *a, const struct api_model *m, const struct api_memory *memory,
                      struct api_error *e)
{
    const json_t *messages = json_object_get(a->root, "messages");
    size_t n = json_array_size(messages), i;
    if (!json_is_array(messages) || n == 0 || n > API_MESSAGES)
        return api_fail(e, 400, "invalid_value", "messages", "messages is to be a list of 1 to %d messages",
                        API_MESSAGES);
    a->numbers = json_object();
    a->names = json_object();
    size_t calls;
    if (count_calls(messages, &calls, e)) return -1;
    a->msgs = calloc(n + calls + 2, sizeof *a->msgs); /* text and calls of one are as many, and tools and system */
    if (!a->msgs || !a->numbers || !a->names) return api_fail(e, 500, "no_memory", NULL, "no memory for the messages");
    for (size_t k = 0; k < n; k++) {
        const char *role = json_string_value(json_object_get(json_array_get(messages, k), "role"));
        if (role && strcmp(role, "user") == 0) a->asked = k;
    }
    if (api_read_tools(a, e)) return -1;
    const struct api_model as_json = told_in_json(m);
    if (a->tools && is_held(a, m)) {
        a->calls = FORM_CALLS_OWN;
        if (!forms_in_tags(m->calls)) m = &as_json;
    }
    if (put_front(a, m, messages, &i, e)) return -1;
    for (; i < n; i++)
        if (put_message(a, m, memory, messages, i, e)) return -1;
    if (a->texts.failed) return api_fail(e, 500, "no_memory", NULL, "no memory for the messages");
    place(a);
    if (a->n_msgs > 0) a->msgs[0].effort = a->effort;
    return 0;
}
