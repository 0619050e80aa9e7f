/* forms_dialogue.c - see forms_dialogue.h.  One table says whose message each kind of turn is. */
#include "memory/forms_dialogue.h"
#include "memory/forms.h"
#include "memory/forms_impl.h"

/* Take an object apart (json_unpack's format), and say what is wrong with it. */
#define UNPACK(v, err, ...) unpack_said(json_unpack_ex(v, &unpack_error, JSON_STRICT, __VA_ARGS__), &unpack_error, err)

static int unpack_said(int rc, const json_error_t *e, struct err *err)
{
    return rc ? err_set(err, -1, "%s", form_quote(e->text).s) : 0;
}

static struct form_text text_of(const json_t *v)
{
    return (struct form_text){json_string_value(v), json_string_length(v)};
}

/* An array of texts.  The items are freed by the caller in every case. */
static int read_list(const json_t *v, const char *what, struct form_text **items, struct form_list *out,
                     struct err *err)
{
    size_t n = json_array_size(v);
    *out = (struct form_list){0};
    if (!json_is_array(v)) return err_set(err, -1, "\"%s\" must be a list", what);
    struct form_text *item = *items = malloc((n ? n : 1) * sizeof *item);
    if (!item) return err_set(err, -1, "no memory");
    for (size_t i = 0; i < n; i++) {
        const json_t *t = json_array_get(v, i);
        if (!json_is_string(t)) return err_set(err, -1, "\"%s\" must be a list of texts", what);
        item[i] = text_of(t);
    }
    *out = (struct form_list){item, n};
    return 0;
}

static int text_only(const json_t *v, struct form_text *out, struct err *err)
{
    *out = text_of(v);
    return json_is_string(v) ? 0 : err_set(err, -1, "it must be a text");
}

/* ------------------------------------------------------------------ records, hand-overs */

static const char *const section_name[RECORD_SECTIONS] = {"facts", "decisions", "done", "open"};

struct record_items { struct form_text *list[RECORD_SECTIONS]; };

static void free_items(struct record_items *it)
{
    for (int i = 0; i < RECORD_SECTIONS; i++) free(it->list[i]);
}

static int read_record(json_t *const part[RECORD_SECTIONS], struct record_items *it, struct form_record *r,
                       struct err *err)
{
    for (int i = 0; i < RECORD_SECTIONS; i++)
        if (read_list(part[i], section_name[i], &it->list[i], &r->section[i], err)) return -1;
    return 0;
}

static int write_record(json_t *v, struct buf *out, struct err *err)
{
    json_error_t unpack_error;
    json_t *part[RECORD_SECTIONS];
    struct record_items it = {0};
    struct form_record r = {0};
    if (UNPACK(v, err, "{s:o, s:o, s:o, s:o}", "facts", &part[0], "decisions", &part[1], "done", &part[2], "open",
               &part[3]))
        return -1;
    int rc = read_record(part, &it, &r, err);
    if (rc == 0) forms_record(&r, out);
    free_items(&it);
    return rc;
}

static int write_handover(json_t *v, struct buf *out, struct err *err)
{
    json_error_t unpack_error;
    json_t *artifacts;
    struct form_handover h = {0};
    struct form_text *items = NULL;
    if (UNPACK(v, err, "{s:s%, s:s%, s:s%, s:s%, s:o}", "from", &h.from.text, &h.from.len, "to", &h.to.text, &h.to.len,
               "task", &h.task.text, &h.task.len, "result", &h.result.text, &h.result.len, "artifacts", &artifacts))
        return -1;
    int rc = read_list(artifacts, "artifacts", &items, &h.artifacts, err);
    if (rc == 0) forms_handover(&h, out);
    free(items);
    return rc;
}

/* ------------------------------------------------------------------ the other kinds of turns */

static int write_text(json_t *v, struct buf *out, struct err *err)
{
    struct form_text t;
    if (text_only(v, &t, err)) return -1;
    buf_put(out, t.text, t.len);
    return 0;
}

static int write_draft(json_t *v, struct buf *out, struct err *err)
{
    struct form_text t;
    if (text_only(v, &t, err)) return -1;
    forms_draft(t, out);
    return 0;
}

static int write_result(json_t *v, struct buf *out, struct err *err)
{
    json_error_t unpack_error;
    struct form_text text;
    struct form_rest rest = {0};
    json_int_t shown, total, offset;
    if (json_object_get(v, "end")) {
        rest.end = true;
        if (UNPACK(v, err, "{s:s%, s:s%}", "text", &text.text, &text.len, "end", &rest.id.text, &rest.id.len))
            return -1;
    } else if (json_object_size(v) > 1) {
        if (UNPACK(v, err, "{s:s%, s:I, s:I, s:s%, s:I}", "text", &text.text, &text.len, "shown", &shown, "total",
                   &total, "id", &rest.id.text, &rest.id.len, "offset", &offset))
            return -1;
        rest.shown = shown;
        rest.total = total;
        rest.offset = offset;
    } else {
        if (UNPACK(v, err, "{s:s%}", "text", &text.text, &text.len)) return -1;
    }
    forms_result(text, rest.id.text ? &rest : NULL, out);
    return 0;
}

static int write_call(json_t *v, struct buf *out, struct err *err)
{
    json_error_t unpack_error;
    const char *name;
    json_t *arguments;
    if (UNPACK(v, err, "{s:s, s:o}", "name", &name, "arguments", &arguments)) return -1;
    if (!json_is_object(arguments)) return err_set(err, -1, "\"arguments\" must be an object");
    if (forms_check_json(name, arguments, err)) return -1;
    forms_call_json(name, arguments, out);
    return 0;
}

static int write_plan(json_t *v, struct buf *out, struct err *err)
{
    struct form_text *items = NULL;
    struct form_list steps;
    int rc = read_list(v, "plan", &items, &steps, err);
    if (rc == 0) forms_plan(steps, out);
    free(items);
    return rc;
}

static int write_findings(json_t *v, struct buf *out, struct err *err)
{
    json_error_t unpack_error;
    size_t n = json_array_size(v);
    if (!json_is_array(v)) return err_set(err, -1, "it must be a list");
    struct form_finding *f = calloc(n ? n : 1, sizeof *f);
    int rc = f ? 0 : err_set(err, -1, "no memory");
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = UNPACK(json_array_get(v, i), err, "{s:s%, s:s%}", "text", &f[i].text.text, &f[i].text.len, "source",
                    &f[i].source.text, &f[i].source.len);
    if (rc == 0) forms_findings(f, n, out);
    free(f);
    return rc;
}

static int write_verdict(json_t *v, struct buf *out, struct err *err)
{
    json_error_t unpack_error;
    json_t *reasons;
    int accept;
    struct form_text *items = NULL;
    struct form_list list;
    if (UNPACK(v, err, "{s:b, s:o}", "accept", &accept, "reasons", &reasons)) return -1;
    int rc = read_list(reasons, "reasons", &items, &list, err);
    if (rc == 0) forms_verdict(accept, list, out);
    free(items);
    return rc;
}

static int write_ask_summary(json_t *v, struct buf *out, struct err *err)
{
    if (!json_is_true(v)) return err_set(err, -1, "it must be true");
    forms_summary_request(out);
    return 0;
}

static int write_ask_handover(json_t *v, struct buf *out, struct err *err)
{
    struct form_text to;
    if (text_only(v, &to, err)) return -1;
    forms_handover_request(to, out);
    return 0;
}

static const struct kind {
    const char *name, *role;
    int (*write)(json_t *v, struct buf *out, struct err *err);
} kinds[] = {
    {"user", "user", write_text},
    {"result", "tool", write_result},
    {"ask_summary", "user", write_ask_summary},
    {"ask_handover", "user", write_ask_handover},
    {"receive", "user", write_handover},
    {"assistant", "assistant", write_text},
    {"call", "assistant", write_call},
    {"record", "assistant", write_record},
    {"handover", "assistant", write_handover},
    {"plan", "assistant", write_plan},
    {"findings", "assistant", write_findings},
    {"verdict", "assistant", write_verdict},
    {"draft", "assistant", write_draft},
};

/* ------------------------------------------------------------------ the whole dialogue */

static void put_message(const char *role, const struct buf *content, bool first, struct buf *out)
{
    if (!first) buf_put(out, ",", 1);
    buf_puts(out, "{\"role\":\"");
    buf_puts(out, role);
    buf_puts(out, "\",\"content\":");
    form_json_string(form_text_of(content), out);
    buf_put(out, "}", 1);
    out->failed |= content->failed;
}

static int write_turn(json_t *turn, size_t number, bool first, struct buf *content, struct buf *out, struct err *err)
{
    struct err why = {0};
    const char *name = json_object_iter_key(json_object_iter(turn));
    if (!json_is_object(turn) || json_object_size(turn) != 1)
        return err_set(err, -1, "turn %zu: it must be an object with one key, its kind", number);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(kinds[i].name, name) != 0) continue;
        content->len = 0;
        if (kinds[i].write(json_object_get(turn, name), content, &why))
            return err_set(err, -1, "turn %zu, %s: %s", number, name, why.text);
        put_message(kinds[i].role, content, first, out);
        return 0;
    }
    return err_set(err, -1, "turn %zu: \"%s\" is no kind of turn", number, form_quote(name).s);
}

static bool absent(const json_t *v) { return !v || json_is_null(v); }

static int read_summary(json_t *v, struct record_items *it, struct form_record *r, struct form_text *artifact,
                        struct err *err)
{
    json_error_t unpack_error;
    json_t *part[RECORD_SECTIONS];
    struct err why = {0};
    if (UNPACK(v, &why, "{s:o, s:o, s:o, s:o, s:s%}", "facts", &part[0], "decisions", &part[1], "done", &part[2],
               "open", &part[3], "artifact", &artifact->text, &artifact->len) ||
        read_record(part, it, r, &why))
        return err_set(err, -1, "summary: %s", why.text);
    return 0;
}

/* content is empty afterwards where there is nothing to say. */
static int write_system(const json_t *dialogue, struct buf *content, struct err *err)
{
    json_t *role = json_object_get(dialogue, "role"), *tools = json_object_get(dialogue, "tools");
    json_t *summary = json_object_get(dialogue, "summary");
    const char *name[64];
    struct record_items it = {0};
    struct form_record record = {0};
    struct form_system s = {.role = json_string_value(role), .tools = name};
    if (!absent(role) && !json_is_string(role)) return err_set(err, -1, "\"role\" must be a text or null");
    if (!absent(tools) && !json_is_array(tools)) return err_set(err, -1, "\"tools\" must be a list");
    if (json_array_size(tools) > COUNT_OF(name)) return err_set(err, -1, "more tools than %zu", COUNT_OF(name));
    for (size_t i = 0; i < json_array_size(tools); i++) {
        name[i] = json_string_value(json_array_get(tools, i));
        if (!name[i]) return err_set(err, -1, "\"tools\" must be a list of names");
        s.n_tools++;
    }
    int rc = absent(summary) ? 0 : read_summary(summary, &it, &record, &s.artifact, err);
    if (!absent(summary)) s.summary = &record;
    if (rc == 0) rc = forms_system(&s, content, err);
    free_items(&it);
    return rc;
}

static int write_messages(const json_t *dialogue, struct buf *out, struct err *err)
{
    const json_t *turns = json_object_get(dialogue, "turns");
    struct buf content = {0};
    if (!json_is_object(dialogue)) return err_set(err, -1, "it must be an object");
    if (!json_is_array(turns)) return err_set(err, -1, "\"turns\" must be a list");
    buf_puts(out, "{\"messages\":[");
    int rc = write_system(dialogue, &content, err);
    bool first = content.len == 0;
    if (!first) put_message("system", &content, true, out);
    for (size_t i = 0; rc == 0 && i < json_array_size(turns); i++)
        rc = write_turn(json_array_get(turns, i), i + 1, first && i == 0, &content, out, err);
    buf_puts(out, "]}");
    buf_free(&content);
    return rc;
}

int forms_dialogue(const char *json, size_t len, struct buf *out, struct err *err)
{
    json_error_t e;
    json_t *dialogue = json_loadb(json, len, JSON_REJECT_DUPLICATES, &e);
    size_t before = out->len;
    if (!dialogue) return err_set(err, -1, "not JSON: %s (at byte %d)", form_quote(e.text).s, e.position);
    int rc = write_messages(dialogue, out, err);
    json_decref(dialogue);
    if (rc == 0 && out->failed) rc = err_set(err, -1, "no memory");
    if (rc) {
        out->len = before;
        if (out->data) out->data[before] = '\0';
    }
    return rc;
}
