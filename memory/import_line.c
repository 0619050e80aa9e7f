/* import_line.c - one line of JSON: looked at before a parser takes memory for it, then field by field. */
#include "memory/import_impl.h"
#include "memory/base64.h"
#include <inttypes.h>
#include <jansson.h>

#define TIME_MOST ((uint64_t)1 << 53)

/* A parser takes some hundred bytes for a value of two: lines that would have it build a forest are not parsed. */
static int look(const char *json, size_t n, struct err *err)
{
    size_t values = 0, depth = 0;
    bool string = false;
    for (size_t i = 0; i < n; i++) {
        char c = json[i];
        if (string && c == '\\') i++;
        else if (c == '"') string = !string;
        if (string) continue;
        if (c == '{' || c == '[') depth++;
        if ((c == '}' || c == ']') && depth > 0) depth--;
        values += c == '{' || c == '[' || c == ',';
        if (depth > IMPORT_DEPTH) return err_set(err, IMPORT_BAD, "its JSON is deeper than %d", IMPORT_DEPTH);
        if (values > IMPORT_VALUES) return err_set(err, IMPORT_BAD, "more than %d values in a line", IMPORT_VALUES);
    }
    return 0;
}

/* ------------------------------------------------------------------ fields */

struct fields {
    const json_t *o;
    size_t known; /* of its fields, those that were asked for and are there */
    int rc;       /* of the first that was wrong */
    struct err *err;
};

__attribute__((format(printf, 2, 3))) static void wrong(struct fields *f, const char *fmt, ...)
{
    char line[200];
    va_list ap;
    if (f->rc) return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    f->rc = err_set(f->err, IMPORT_BAD, "%s", line);
}

static const json_t *get(struct fields *f, const char *key, bool needed)
{
    const json_t *v = json_object_get(f->o, key);
    if (v) f->known++;
    else if (needed) wrong(f, "\"%s\" is missing", key);
    return v;
}

/* 0 when it is not there. */
static uint64_t get_number(struct fields *f, const char *key, bool needed, uint64_t least, uint64_t most)
{
    const json_t *v = get(f, key, needed);
    json_int_t n = json_integer_value(v);
    if (!v) return 0;
    if (!json_is_integer(v) || n < 0 || (uint64_t)n < least || (uint64_t)n > most) {
        wrong(f, "\"%s\" must be a whole number from %" PRIu64 " to %" PRIu64, key, least, most);
        return 0;
    }
    return (uint64_t)n;
}

static void get_name(struct fields *f, const char *key, char *out, size_t most)
{
    const json_t *v = get(f, key, true);
    const char *s = json_string_value(v);
    size_t n = json_string_length(v);
    bool well = s && n <= most;
    for (size_t i = 0; well && i < n; i++) well = (uint8_t)s[i] >= 0x20 && s[i] != 0x7f;
    if (well) memcpy(out, s, n + 1);
    else if (v) wrong(f, "\"%s\" must be a text of at most %zu bytes without control characters", key, most);
}

static void get_id(struct fields *f, const char *key, bool needed, uint8_t id[STORE_SESSION_ID])
{
    static const char digits[] = "0123456789abcdef";
    const json_t *v = get(f, key, needed);
    const char *s = json_string_value(v);
    bool well = json_string_length(v) == 2 * STORE_SESSION_ID;
    if (!v) return;
    for (int i = 0; well && i < 2 * STORE_SESSION_ID; i++) {
        const char *at = s[i] ? strchr(digits, s[i]) : NULL;
        well = at != NULL;
        if (well) id[i / 2] = (uint8_t)(id[i / 2] << 4 | (at - digits));
    }
    if (!well) wrong(f, "\"%s\" must be a session's id, %d digits of 0-9 a-f", key, 2 * STORE_SESSION_ID);
}

static void get_text(struct fields *f, struct buf *out)
{
    const json_t *text = get(f, "text", false), *coded = get(f, "base64", false), *v = text ? text : coded;
    if (!json_is_string(v) || (text && coded)) {
        wrong(f, "one string is needed, as \"text\" or \"base64\"");
        return;
    }
    if (text) buf_put(out, json_string_value(v), json_string_length(v));
    else if (base64_read(json_string_value(v), json_string_length(v), out)) wrong(f, "\"base64\" is none");
    if (out->failed && !f->rc) f->rc = err_set(f->err, STORE_NO_MEMORY, "no memory for a text");
}

/* ------------------------------------------------------------------ kinds of lines */

static void read_member(struct fields *f, const json_t *v)
{
    uint8_t id[STORE_SESSION_ID];
    char agent[JOURNAL_AGENT + 1];
    struct fields in = {.o = v, .err = f->err};
    get_id(&in, "session", true, id);
    get_name(&in, "agent", agent, JOURNAL_AGENT);
    if (in.known != json_object_size(v)) wrong(&in, "a field of a member is not known");
    if (!f->rc) f->rc = in.rc;
}

static void read_run(struct fields *f, struct journal_run *r)
{
    struct fields in = {.o = get(f, "run", true), .err = f->err};
    size_t i;
    json_t *v;
    get_id(&in, "id", true, r->id);
    get_name(&in, "crew", r->crew, JOURNAL_TITLE);
    get_name(&in, "agent", r->agent, JOURNAL_AGENT);
    const json_t *members = get(&in, "members", true);
    if (json_array_size(members) > EXPORT_MEMBERS) wrong(&in, "more than %d members", EXPORT_MEMBERS);
    json_array_foreach(members, i, v) read_member(&in, v);
    if (members && !json_is_array(members)) wrong(&in, "\"members\" must be a list");
    if (in.known != json_object_size(in.o)) wrong(&in, "a field of \"run\" is not known");
    if (!f->rc) f->rc = in.rc;
}

static void read_head(struct fields *f, struct import_line *l)
{
    struct journal_head *h = &l->head;
    uint8_t id[STORE_SESSION_ID];
    l->what = IMPORT_HEAD;
    uint64_t version = get_number(f, "plimsoll_session", true, 0, INT64_MAX);
    if (version != EXPORT_VERSION) wrong(f, "version %" PRIu64 " of an export; 1 is known here", version);
    get_id(f, "id", true, id); /* whose it was; it gets another */
    get_name(f, "title", h->title, JOURNAL_TITLE);
    get_name(f, "model", h->model, JOURNAL_TITLE);
    h->created_ms = (int64_t)get_number(f, "created", true, 0, TIME_MOST);
    h->updated_ms = (int64_t)get_number(f, "updated", true, 0, TIME_MOST);
    h->turns = (uint32_t)get_number(f, "turns", true, 0, IMPORT_TURNS);
    get_id(f, "parent", false, h->parent);
    h->parent_turn = (uint32_t)get_number(f, "parent_turn", json_object_get(f->o, "parent") != NULL, 0, IMPORT_TURNS);
    if (json_object_get(f->o, "run")) read_run(f, &h->run);
}

static void read_kind(struct fields *f, const char *name, struct journal_message *m)
{
    for (int k = JOURNAL_SYSTEM; name && k < JOURNAL_KINDS; k++)
        if (strcmp(journal_kind_name((enum journal_kind)k), name) == 0) m->kind = (enum journal_kind)k;
    if (m->kind == 0) wrong(f, "\"kind\" is none that is known");
}

static void read_message(struct fields *f, struct import_line *l)
{
    struct journal_message *m = &l->m;
    l->what = IMPORT_MESSAGE;
    bool spans = m->kind == JOURNAL_SUMMARY || m->kind == JOURNAL_MARK;
    bool counts = spans || m->kind == JOURNAL_CALL;
    uint64_t most = m->kind == JOURNAL_CALL ? (uint64_t)IMPORT_RESULTS
                  : m->kind == JOURNAL_MARK ? (uint64_t)JOURNAL_MARKS - 1 : (uint64_t)EXPORT_NUMBERS;
    if (l->number == 0) wrong(f, "number 0 is an event's");
    m->turn = (uint32_t)get_number(f, "turn", true, 0, IMPORT_TURNS);
    m->time_ms = (int64_t)get_number(f, "time", true, 0, TIME_MOST);
    m->flags = (unsigned)get_number(f, "flags", false, 0, JOURNAL_FLAGS);
    if (spans) {
        m->last = get_number(f, "last", true, 1, l->number ? l->number - 1 : 0);
        m->first = get_number(f, "first", true, 1, m->last);
    }
    if (counts) m->results = (uint32_t)get_number(f, "results", true, 1, most);
    if (journal_has_artifact(m->kind))
        m->artifact = get_number(f, "artifact", m->kind == JOURNAL_DOCUMENT, 1, EXPORT_NUMBERS - 1);
    get_text(f, &l->text);
    l->bytes = get_number(f, "bytes", false, l->text.len + 1, IMPORT_TEXT);
    if (l->bytes == 0) l->bytes = l->text.len;
}

static void read_event(struct fields *f, struct import_line *l)
{
    const json_t *event = get(f, "event", true);
    l->what = IMPORT_EVENT;
    if (!json_is_object(event)) {
        wrong(f, "\"event\" must be an object");
        return;
    }
    char *json = json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(15));
    buf_puts(&l->text, json ? json : "");
    if (!json || l->text.failed) f->rc = err_set(f->err, STORE_NO_MEMORY, "no memory for an event");
    else if (l->text.len > EXPORT_EVENT) wrong(f, "an event may have %d MiB", EXPORT_EVENT >> 20);
    free(json);
}

static void read_numbered(struct fields *f, struct import_line *l)
{
    l->number = get_number(f, "number", true, 0, EXPORT_NUMBERS - 1);
    const json_t *kind = get(f, "kind", false);
    const char *name = json_string_value(kind);
    if (name && strcmp(name, "event") == 0) {
        read_event(f, l);
    } else if (kind) {
        read_kind(f, name, &l->m);
        if (!f->rc) read_message(f, l);
    } else {
        l->what = IMPORT_MORE;
        l->offset = get_number(f, "offset", true, 1, IMPORT_TEXT);
        get_text(f, &l->text);
    }
}

static void read_artifact(struct fields *f, struct import_line *l)
{
    l->artifact = get_number(f, "artifact", true, 1, EXPORT_NUMBERS - 1);
    const json_t *lost = get(f, "lost", false);
    l->what = lost ? IMPORT_LOST : IMPORT_PIECE;
    if (lost && !json_is_true(lost)) wrong(f, "\"lost\" can only be true");
    if (lost) return;
    l->offset = get_number(f, "offset", true, 0, STORE_ARTIFACT_MAX);
    l->bytes = get_number(f, "bytes", true, 0, STORE_ARTIFACT_MAX);
    get_text(f, &l->text);
}

static void read_end(struct fields *f, struct import_line *l)
{
    struct fields in = {.o = get(f, "end", true), .err = f->err};
    l->what = IMPORT_END;
    l->records = get_number(&in, "records", true, 0, EXPORT_NUMBERS);
    l->artifacts = get_number(&in, "artifacts", true, 0, EXPORT_NUMBERS);
    if (in.known != json_object_size(in.o)) wrong(&in, "a field of \"end\" is not known");
    if (!f->rc) f->rc = in.rc;
}

int import_line_read(const char *json, size_t n, struct import_line *out, struct err *err)
{
    static const struct { const char *key; void (*read)(struct fields *f, struct import_line *l); } kinds[] = {
        {"plimsoll_session", read_head}, {"number", read_numbered}, {"artifact", read_artifact}, {"end", read_end}};
    json_error_t why;
    *out = (struct import_line){0};
    int rc = look(json, n, err);
    if (rc) return rc;
    json_t *o = json_loadb(json, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!json_is_object(o)) {
        json_decref(o);
        return err_set(err, IMPORT_BAD, "it is no JSON object%s%.120s", o ? "" : ": ", o ? "" : why.text);
    }
    struct fields f = {.o = o, .err = err};
    size_t k = 0;
    while (k < COUNT_OF(kinds) && !json_object_get(o, kinds[k].key)) k++;
    if (k < COUNT_OF(kinds)) kinds[k].read(&f, out);
    else wrong(&f, "it is no line of an export");
    if (f.known != json_object_size(o)) wrong(&f, "a field is not known here, or does not belong to this kind of line");
    json_decref(o);
    return f.rc;
}

void import_line_free(struct import_line *l)
{
    buf_free(&l->text);
}
