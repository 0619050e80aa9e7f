/* event.c - the table's descriptions, its JSON writer and reader, and its documentation. */
#include "app/session/event.h"
#include "engine/text.h"
#include <jansson.h>
#include <math.h>

#define ROW(S, type_, name_, mark, doc_) \
    {.name = #name_, .doc = doc_, .type = EVENT_##type_, .is_volatile = (mark) != STABLE, \
     .is_newer = (mark) == NEWER, .at = offsetof(struct event, S.name_)},
#define ROWS(kind, name, class, fields, doc) static const struct event_field rows_##name[] = {fields(ROW, name)};
EVENT_TABLE(ROWS)

#define INFO(kind, name_, class_, fields_, doc_) \
    [kind] = {.name = #name_, .doc = doc_, .class = EVENT_##class_, .fields = rows_##name_, \
              .n_fields = COUNT_OF(rows_##name_)},
static const struct event_info infos[EVENT_KINDS] = {EVENT_TABLE(INFO)};

const struct event_info *event_info(enum event_kind kind)
{
    assert((size_t)kind < EVENT_KINDS);
    return &infos[kind];
}

/* ---------------------------------------------------------------- writing */

static json_t *json_text(struct event_str s)
{
    if (s.len == 0) return json_stringn("", 0);
    if (text_valid_utf8(s.data, s.len) == s.len) return json_stringn_nocheck(s.data, s.len);
    struct text t;
    char *whole = s.len < SIZE_MAX / 8 ? malloc(text_room(s.len)) : NULL;
    if (!whole) return NULL;
    text_init(&t, NULL, 0, NULL);
    size_t n = text_feed(&t, s.data, s.len, whole);
    n += text_finish(&t, whole + n);
    json_t *j = json_stringn(whole, n);
    free(whole);
    return j;
}

static json_t *json_field(const struct event *e, const struct event_field *f)
{
    const void *p = (const char *)e + f->at;
    switch (f->type) {
    case EVENT_INT: return json_integer(*(const int64_t *)p);
    case EVENT_REAL: return isfinite(*(const double *)p) ? json_real(*(const double *)p) : json_null();
    case EVENT_STR: return json_text(*(const struct event_str *)p);
    case EVENT_BOOL: return json_boolean(*(const bool *)p);
    }
    return NULL;
}

static int put(const char *bytes, size_t n, void *out)
{
    buf_put(out, bytes, n);
    return ((struct buf *)out)->failed ? -1 : 0;
}

int event_write(const struct event *e, struct buf *out)
{
    const struct event_info *info = event_info(e->kind);
    size_t was = out->len;
    json_t *j = json_object();
    int bad = json_object_set_new(j, "schema_version", json_integer(EVENT_SCHEMA));
    bad |= json_object_set_new(j, "seq", json_integer(e->seq));
    bad |= json_object_set_new(j, "time", json_real(isfinite(e->time) ? e->time : 0));
    bad |= json_object_set_new(j, "event", json_string(info->name));
    if (e->agent.len > 0) bad |= json_object_set_new(j, "agent", json_text(e->agent));
    for (size_t i = 0; i < info->n_fields; i++)
        bad |= json_object_set_new(j, info->fields[i].name, json_field(e, &info->fields[i]));
    if (!bad) bad = json_dump_callback(j, put, out, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(j);
    buf_put(out, "\n", 1);
    if (!bad && !out->failed) return 0;
    out->len = was;
    return -1;
}

/* ---------------------------------------------------------------- reading */

static int take(const json_t *j, const struct event_field *f, struct event *e, const char *kind, struct err *err)
{
    static const char *const wanted[] = {"an integer", "a number or null", "a string", "true or false"};
    void *p = (char *)e + f->at;
    if (!j) return err_set(err, -1, "event %s has no field \"%s\"", kind, f->name);
    if (f->type == EVENT_INT && json_is_integer(j)) *(int64_t *)p = json_integer_value(j);
    else if (f->type == EVENT_REAL && json_is_number(j)) *(double *)p = json_number_value(j);
    else if (f->type == EVENT_REAL && json_is_null(j)) *(double *)p = (double)NAN;
    else if (f->type == EVENT_BOOL && json_is_boolean(j)) *(bool *)p = json_is_true(j);
    else if (f->type == EVENT_STR && json_is_string(j))
        *(struct event_str *)p = (struct event_str){json_string_value(j), json_string_length(j)};
    else return err_set(err, -1, "event %s, field \"%s\": it must be %s", kind, f->name, wanted[f->type]);
    return 0;
}

static const struct event_field common[] = {
    {.name = "seq", .type = EVENT_INT, .at = offsetof(struct event, seq), .doc = "1, 2, ... in this stream"},
    {.name = "time", .type = EVENT_REAL, .is_volatile = true, .at = offsetof(struct event, time),
     .doc = "seconds since the stream began"},
};

static const struct event_field agent = {.name = "agent", .type = EVENT_STR, .at = offsetof(struct event, agent),
    .doc = "which of several it is about; the field is only there where there are several"};

static int take_all(json_t *j, struct event *e, struct err *err)
{
    const char *name = json_string_value(json_object_get(j, "event"));
    json_t *schema = json_object_get(j, "schema_version");
    if (!json_is_integer(schema) || json_integer_value(schema) != EVENT_SCHEMA)
        return err_set(err, -1, "an event's \"schema_version\" must be %d", EVENT_SCHEMA);
    if (!name) return err_set(err, -1, "an event needs its name as \"event\"");
    size_t kind = 0;
    while (kind < EVENT_KINDS && strcmp(infos[kind].name, name)) kind++;
    if (kind == EVENT_KINDS) return err_set(err, -1, "no such event: %.60s", name);
    const struct event_info *info = &infos[kind];
    e->kind = (enum event_kind)kind;
    for (size_t i = 0; i < COUNT_OF(common); i++)
        if (take(json_object_get(j, common[i].name), &common[i], e, name, err)) return -1;
    size_t there = 0;
    for (size_t i = 0; i < info->n_fields; i++) {
        const json_t *value = json_object_get(j, info->fields[i].name);
        there += value != NULL;
        if (!value && info->fields[i].is_newer) continue;
        if (take(value, &info->fields[i], e, name, err)) return -1;
    }
    const json_t *who = json_object_get(j, agent.name);
    if (who && take(who, &agent, e, name, err)) return -1;
    if (json_object_size(j) != 2 + COUNT_OF(common) + there + (who ? 1 : 0))
        return err_set(err, -1, "event %s has a field that is not in the table", name);
    return 0;
}

int event_read(const char *line, size_t n, struct event *e, struct err *err)
{
    json_error_t why;
    *e = (struct event){0};
    if (n > EVENT_MAX_LINE) return err_set(err, -1, "an event's line has %zu bytes, more than %d", n, EVENT_MAX_LINE);
    json_t *j = json_loadb(line, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!j) return err_set(err, -1, "an event is not JSON: column %d: %.120s", why.column, why.text);
    e->owner = j;
    int bad = json_is_object(j) ? take_all(j, e, err) : err_set(err, -1, "an event must be a JSON object");
    if (bad) event_free(e);
    return bad;
}

void event_free(struct event *e)
{
    json_decref(e->owner);
    *e = (struct event){0};
}

/* ---------------------------------------------------------------- documentation */

static void doc_field(const struct event_field *f, struct buf *out)
{
    static const char *const type[] = {"int", "real", "string", "bool"};
    buf_printf(out, "    %-20s %-6s %s%s%s\n", f->name, type[f->type], f->is_volatile ? "volatile" : "",
               f->is_volatile && *f->doc ? ": " : "", f->doc);
}

void event_doc(struct buf *out)
{
    static const char *const class[] = {"durable", "live", "sample"};
    buf_printf(out,
               "Events of --json and --trace: one JSON object a line, \"schema_version\":%d.  durable: worth keeping;\n"
               "live: may be joined for a slow reader; sample: a figure at a moment, at most ten a second.\n"
               "volatile: two runs of the same session may differ there (and in which samples come).\n\nevery event\n",
               EVENT_SCHEMA);
    for (size_t i = 0; i < COUNT_OF(common); i++) doc_field(&common[i], out);
    doc_field(&agent, out);
    for (size_t k = 0; k < EVENT_KINDS; k++) {
        buf_printf(out, "\n%s (%s): %s\n", infos[k].name, class[infos[k].class], infos[k].doc);
        for (size_t i = 0; i < infos[k].n_fields; i++) doc_field(&infos[k].fields[i], out);
    }
}
