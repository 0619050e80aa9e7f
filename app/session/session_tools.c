/* session_tools.c - which tools an agent has, what it is told of them, and what comes of its calls. */
#include "app/session/session_result.h"
#include "app/session/tool_schema.h"
#include "engine/thinking.h"
#include "memory/forms.h"

/* ---------------------------------------------------------------- calls of the model */

static const struct memory_tool {
    const char *name;
    int (*run)(struct session *s, const json_t *args, struct result *r, struct err *err);
} tools[] = {
    {"artifact", session_tool_artifact},
    {"recall", session_tool_recall},
};

static bool has_tool(const struct session *s, const char *name)
{
    for (int i = 0; i < s->role.n_tools; i++)
        if (strcmp(s->role.tools[i], name) == 0) return true;
    return false;
}

/* One that works on the world: its result passes the boundary like every other. */
static int run_in_toolbox(struct session *s, const struct form_call *call, struct result *r, struct err *err)
{
    struct buf bytes = {0};
    enum clip_kind kind;
    int64_t room = (int64_t)session_room(s);
    int rc = toolbox_call(s->a, call->name, call->arguments, room, &bytes, &r->failed, &kind, err);
    if (rc == 0) rc = result_clip(s, &bytes, kind, r, err);
    if (rc == 0 && r->artifact) rc = session_offer_tools(s, err);
    buf_free(&bytes);
    return rc;
}

static void run_call(struct session *s, const struct form_call *call, struct result *r)
{
    struct err err = {0};
    json_t *args = json_loads(call->arguments, JSON_REJECT_DUPLICATES, NULL);
    const struct memory_tool *tool = NULL;
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        if (strcmp(tools[i].name, call->name) == 0) tool = &tools[i];
    if (!args) err_set(&err, -1, "the arguments are not a JSON object");
    else if (!tool && !has_tool(s, call->name)) err_set(&err, -1, "no such tool: %.60s", call->name);
    else if (forms_check_call(call, &err)) err.code = -1;
    else if (tool ? tool->run(s, args, r, &err) : run_in_toolbox(s, call, r, &err)) err.code = -1;
    else err.code = 0;
    if (err.code) result_fail(r, &err);
    json_decref(args);
}

static bool is_memory(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        if (strcmp(tools[i].name, name) == 0) return true;
    return false;
}

bool session_offers_tools(const struct session *s) { return s->tools != 0; }

enum { OFFERED = COUNT_OF(tools) + TOOLBOX_TOOLS };

/* Of the world's, and of its own memory.  How many. */
static int names_of(const struct session *s, const char *name[OFFERED])
{
    int n = 0;
    bool recall = opts_recalls(s->a->o) && !opts_recalls_summary(s->a->o);
    for (int i = 0; i < s->role.n_tools && n < TOOLBOX_TOOLS; i++)
        if (!is_memory(s->role.tools[i])) name[n++] = s->role.tools[i];
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        if (recall || tools[i].run != session_tool_recall) name[n++] = tools[i].name;
    return n;
}

const struct request_grammar *session_grammar(struct session *s)
{
    const char *name[OFFERED];
    if (!s->a->o->strict_tools || !s->tools) return NULL;
    s->schema.len = 0;
    if (tool_schema(name, names_of(s, name), &s->schema, NULL) || s->schema.failed) return NULL;
    s->grammar = (struct request_grammar){.open = "<tool_call>", .close = "</tool_call>", .schema = s->schema.data,
                                          .n_schema = s->schema.len, .free_open = "<think>", .free_close = "</think>"};
    return &s->grammar;
}

/* What it tells of them, as it would be now. */
static int tools_text(struct session *s, struct buf *text, struct err *err)
{
    const char *name[OFFERED];
    struct buf lines = {0};
    const enum form_calls calls = turn_calls(s->a);
    int n = names_of(s, name);
    if (forms_has_tools_apart(calls) && calls != FORM_CALLS_HARMONY) return forms_mistral_tools(name, n, text, err);
    if (calls == FORM_CALLS_HARMONY) return forms_harmony_tools(name, n, text, err);
    if (forms_in_tags(calls)) return forms_tags_tools(calls, name, n, text, err);
    int rc = forms_tool_lines(name, n, s->a->o->embedded, &lines, err);
    const struct form_value v[] = {{"tools", {lines.data ? lines.data : "", lines.len}}};
    if (rc == 0) rc = form_render(FORM_TOOLS, v, 1, text, err);
    buf_free(&lines);
    return rc;
}

int session_offer_tools(struct session *s, struct err *err)
{
    struct buf text = {0};
    if (s->tools || strcmp(s->a->info->template, "raw") == 0) return 0;
    int rc = tools_text(s, &text, err);
    if (rc == 0) rc = session_add_front(s, WINDOW_TOOLS, JOURNAL_TOOLS, text.data, text.len, &s->tools, err);
    if (rc) s->tools = 0;
    buf_free(&text);
    return rc;
}

int session_retell_tools(struct session *s, struct err *err)
{
    struct buf text = {0};
    const struct text_entry *e = s->tools ? texts_get(&s->texts, s->tools, NULL) : NULL;
    if (!s->tools && s->role.n_tools == 0) return 0;
    if (tools_text(s, &text, err)) return -1;
    bool same = e && e->len == text.len && memcmp(e->text, text.data, text.len) == 0;
    buf_free(&text);
    if (same) return 0;
    if (s->tools) {
        window_remove(s->w, WINDOW_TOOLS, s->tools, NULL);
        session_mark(s, JOURNAL_UNPINNED, s->tools, s->tools);
        s->tools = 0;
    }
    bool any = s->role.n_tools > 0 || s->keep.head.artifacts > 1 || session_has_left(s);
    int rc = any ? session_offer_tools(s, err) : 0;
    session_tell(s);
    return rc;
}

int session_set_tools(struct session *s, int n, struct err *err)
{
    s->role.n_tools = n;
    if (session_retell_tools(s, err)) return -1;
    if (session_begun(s)) return session_save(s, err);
    session_remember(s); /* a session begins to be saved with its first turn */
    return 0;
}

bool session_read_calls(const struct session *s, const struct buf *answer, struct form_calls_said *calls)
{
    const char *text = answer->data ? answer->data : "";
    size_t at = thinking_end(text, answer->len);
    return forms_read_calls(turn_calls(s->a), text + at, answer->len - at, calls, NULL) == 0;
}

/* The words of number i, where it is not all that was said: as they were written, or in our form. */
static int put_said(const char *text, const struct form_calls_said *calls, size_t i, struct buf *out, struct err *err)
{
    const struct form_call_said *c = &calls->v[i];
    size_t from = c->from;
    buf_put(out, c->said.data, c->said.len);
    if (c->said.len > 0) return 0;
    if (c->end == 0) return forms_call(c->call.name, form_text(c->call.arguments), out, err);
    while (i > 0 && memchr("; \t\r\n", text[from], 5)) from++; /* what stands between two */
    buf_put(out, text + from, c->end - from);
    return 0;
}

int session_make_call(struct session *s, const struct buf *answer, const struct form_calls_said *calls, size_t i,
                      struct buf *got, bool *failed, struct err *err)
{
    const struct form_call *call = &calls->v[i].call;
    struct result r = {.by = "model", .name = call->name};
    struct buf said = {0};
    const char *text = answer->data ? answer->data : "";
    const size_t at = thinking_end(text, answer->len);
    s->calls++;
    struct event e = {.kind = EV_CALL, .call = {.turn = s->voice.turns, .name = event_str(call->name),
                                                .arguments = event_str(call->arguments)}};
    trace_put(&s->a->trace, &e);
    run_call(s, call, &r);
    result_tell(s, &r, call->arguments);
    if (i == 0) buf_put(&said, text, at);
    int rc = put_said(text + at, calls, i, &said, err);
    if (rc == 0 && said.failed) rc = err_set(err, -1, "no memory for a call");
    const size_t thought = rc ? 0 : thinking_end(said.data, said.len);
    if (rc == 0) rc = result_append(s, (struct form_text){said.data, said.len}, thought, &r, err);
    buf_free(&said);
    *failed = r.failed;
    *got = r.text;
    return rc ? -1 : 0;
}

void session_leave_calls(struct buf *answer, const struct form_calls_said *calls, size_t i)
{
    struct buf left = {0};
    const size_t at = thinking_end(answer->data, answer->len);
    for (; i < calls->n; i++) {
        if (left.len > 0) buf_puts(&left, "\n\n");
        if (put_said(answer->data + at, calls, i, &left, NULL)) left.failed = true;
    }
    buf_free(answer);
    *answer = left;
}
