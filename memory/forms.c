/* forms.c - the texts themselves, any form, and the writers. */
#include "memory/forms.h"
#include "memory/forms_impl.h"
#include <inttypes.h>

/* Paths are from the repository's root, where the compiler runs. */
#define FORMS_BYTES(id, file)                                                             \
    __asm__(".pushsection .rodata\n"                                                      \
            ".global plimsoll_form_" #id "\n.global plimsoll_form_end_" #id "\n"          \
            "plimsoll_form_" #id ":\n.incbin \"assets/forms/" file "\"\n"                 \
            "plimsoll_form_end_" #id ":\n.byte 0\n.popsection\n");                        \
    extern const char plimsoll_form_##id[] __attribute__((visibility("hidden")));         \
    extern const char plimsoll_form_end_##id[] __attribute__((visibility("hidden")));
FORMS(FORMS_BYTES)

#define FORMS_ROW(id, file) {file, plimsoll_form_##id, plimsoll_form_end_##id},
static const struct { const char *file, *begin, *end; } forms[] = {FORMS(FORMS_ROW)};

const char *form_file(enum form f) { return forms[f].file; }

struct form_text form_source(enum form f)
{
    struct form_text s = {forms[f].begin, (size_t)(forms[f].end - forms[f].begin)};
    if (s.len > 0 && s.text[s.len - 1] == '\n') s.len--;
    return s;
}

static uint64_t fnv1a(uint64_t h, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

void forms_hash(char hex[17])
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int f = 0; f < FORM_COUNT; f++) {
        struct form_text s = form_source((enum form)f);
        h = fnv1a(h, forms[f].file, strlen(forms[f].file) + 1);
        h = fnv1a(fnv1a(h, s.text, s.len), "", 1);
    }
    snprintf(hex, 17, "%016" PRIx64, h);
}

/* ------------------------------------------------------------------ any form */

bool form_next_place(struct form_text s, size_t at, struct form_text *name, size_t *from, size_t *to)
{
    while (at < s.len) {
        const char *brace = memchr(s.text + at, '{', s.len - at);
        if (!brace) return false;
        size_t begin = (size_t)(brace - s.text), i = begin + 1;
        while (i < s.len && ((s.text[i] >= 'a' && s.text[i] <= 'z') || s.text[i] == '_')) i++;
        if (i < s.len && s.text[i] == '}' && i > begin + 1) {
            *name = (struct form_text){brace + 1, i - begin - 1};
            *from = begin;
            *to = i + 1;
            return true;
        }
        at = begin + 1;
    }
    return false;
}

static int find_value(struct form_text name, const struct form_value *values, int n)
{
    for (int i = 0; i < n; i++)
        if (strlen(values[i].name) == name.len && memcmp(values[i].name, name.text, name.len) == 0) return i;
    return -1;
}

int form_render(enum form f, const struct form_value *values, int n, struct buf *out, struct err *err)
{
    struct form_text s = form_source(f), name;
    size_t before = out->len, at = 0, from, to;
    uint32_t used = 0;
    assert(n >= 0 && n < 32);
    while (form_next_place(s, at, &name, &from, &to)) {
        int i = find_value(name, values, n);
        if (i < 0 || !values[i].text.text) {
            out->len = before;
            if (out->data) out->data[before] = '\0';
            return err_set(err, -1, "form %s: no value for {%.*s}", forms[f].file, (int)name.len, name.text);
        }
        used |= UINT32_C(1) << i;
        buf_put(out, s.text + at, from - at);
        buf_put(out, values[i].text.text, values[i].text.len);
        at = to;
    }
    buf_put(out, s.text + at, s.len - at);
    for (int i = 0; i < n; i++) {
        if (used >> i & 1) continue;
        out->len = before;
        if (out->data) out->data[before] = '\0';
        return err_set(err, -1, "form %s: no place {%s}", forms[f].file, values[i].name);
    }
    return 0;
}

void form_put(enum form f, const struct form_value *values, int n, struct buf *out)
{
    struct err err = {0};
    if (form_render(f, values, n, out, &err) == 0) return;
    fprintf(stderr, "plimsoll: %s\n", err.text);
    abort();
}

/* ------------------------------------------------------------------ values for one line */

/* The bytes of the control character or line separator at s; 0: it is something else. */
static size_t control_at(const unsigned char *s, size_t n)
{
    if (s[0] < 0x20 || s[0] == 0x7f) return 1;
    if (n > 1 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f) return 2;
    if (n > 2 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9)) return 3;
    return 0;
}

void form_flat(struct form_text t, struct buf *out)
{
    const unsigned char *s = (const unsigned char *)t.text;
    if (t.len == 0) return;
    size_t start = out->len, kept = 0; /* kept: the bytes from here to i are not yet written */
    for (size_t i = 0; i < t.len;) {
        size_t blank = i, control;
        bool broken = false;
        while (i < t.len && ((control = control_at(s + i, t.len - i)) > 0 || s[i] == ' ')) {
            broken |= control > 0;
            i += control > 0 ? control : 1;
        }
        if (i == blank) {
            i++;
            continue;
        }
        bool edge = i == t.len || (blank == kept && out->len == start);
        if (!edge && !broken) continue;
        buf_put(out, t.text + kept, blank - kept);
        if (!edge) buf_put(out, " ", 1);
        kept = i;
    }
    buf_put(out, t.text + kept, t.len - kept);
}

struct form_quote form_quote(const char *s)
{
    struct form_quote q;
    size_t n = strnlen(s, sizeof q.s);
    if (n == sizeof q.s) {
        n--;
        while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80) n--; /* a character is cut before, not within */
    }
    for (size_t i = 0; i < n; i++) q.s[i] = (unsigned char)s[i] < 0x20 || s[i] == 0x7f ? '?' : s[i];
    q.s[n] = '\0';
    return q;
}

void form_json_string(struct form_text t, struct buf *out)
{
    if (t.len == 0) {
        buf_puts(out, "\"\"");
        return;
    }
    static const char *const named[] = {['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r",
                                        ['"'] = "\\\"", ['\\'] = "\\\\"};
    size_t kept = 0;
    buf_put(out, "\"", 1);
    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.text[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        buf_put(out, t.text + kept, i - kept);
        kept = i + 1;
        if (c < COUNT_OF(named) && named[c]) buf_puts(out, named[c]);
        else buf_printf(out, "\\u%04X", c);
    }
    buf_put(out, t.text + kept, t.len - kept);
    buf_put(out, "\"", 1);
}

static int dump_some(const char *bytes, size_t n, void *out)
{
    buf_put(out, bytes, n);
    return ((struct buf *)out)->failed ? -1 : 0;
}

void form_json_compact(const json_t *v, struct buf *out)
{
    /* 15 digits give 0.1 back as 0.1. */
    if (json_dump_callback(v, dump_some, out, JSON_COMPACT | JSON_REAL_PRECISION(15))) out->failed = true;
}

/* ------------------------------------------------------------------ lists */

static void put_line(struct form_text line, bool first, struct buf *out)
{
    if (!first) buf_put(out, "\n", 1);
    buf_put(out, line.text, line.len);
}

/* What each item becomes, a newline between them. */
static void put_list(enum form f, struct form_list list, struct buf *out)
{
    struct buf flat = {0}, line = {0};
    int number = 0;
    for (size_t i = 0; i < list.n; i++) {
        flat.len = line.len = 0;
        form_flat(list.item[i], &flat);
        if (flat.len == 0) continue;
        char digits[16];
        snprintf(digits, sizeof digits, "%d", ++number);
        struct form_value v[] = {{"text", form_text_of(&flat)}, {"number", form_text(digits)}};
        form_put(f, v, f == FORM_STEP ? 2 : 1, &line);
        put_line(form_text_of(&line), number == 1, out);
    }
    if (number == 0) form_put(FORM_NONE, NULL, 0, out);
    out->failed |= flat.failed || line.failed;
    buf_free(&flat);
    buf_free(&line);
}

/* A form with one list in it. */
static void put_with_list(enum form f, const char *place, enum form each, struct form_list list, struct buf *out)
{
    struct buf lines = {0};
    put_list(each, list, &lines);
    struct form_value v[] = {{place, form_text_of(&lines)}};
    form_put(f, v, 1, out);
    out->failed |= lines.failed;
    buf_free(&lines);
}

/* A form with one field in it. */
static void put_with_field(enum form f, const char *place, struct form_text field, struct buf *out)
{
    struct buf flat = {0};
    form_flat(field, &flat);
    struct form_value v[] = {{place, form_text_of(&flat)}};
    form_put(f, v, 1, out);
    out->failed |= flat.failed;
    buf_free(&flat);
}

/* ------------------------------------------------------------------ what the program says */

static int find_role(const char *role, enum form *out, struct err *err)
{
    char file[64];
    snprintf(file, sizeof file, "role_%.40s.txt", role);
    for (int f = 0; f < FORM_COUNT; f++) {
        *out = (enum form)f;
        if (strcmp(forms[f].file, file) == 0) return 0;
    }
    return err_set(err, -1, "no role \"%s\"", form_quote(role).s);
}

static void put_block(const struct buf *block, size_t start, struct buf *out)
{
    if (out->len > start) buf_puts(out, "\n\n");
    buf_put(out, block->data, block->len);
    out->failed |= block->failed;
}

static void put_summary(const struct form_system *s, struct buf *out)
{
    struct buf record = {0}, id = {0};
    forms_record(s->summary, &record);
    form_flat(s->artifact, &id);
    struct form_value v[] = {{"id", form_text_of(&id)}, {"record", form_text_of(&record)}};
    form_put(FORM_SUMMARY_CONTEXT, v, 2, out);
    out->failed |= record.failed || id.failed;
    buf_free(&record);
    buf_free(&id);
}

int forms_system(const struct form_system *s, struct buf *out, struct err *err)
{
    struct buf lines = {0}, block = {0};
    enum form role = FORM_COUNT;
    size_t start = out->len;
    if (s->role && find_role(s->role, &role, err)) return -1;
    if (s->n_tools > 0 && forms_tool_lines(s->tools, s->n_tools, true, &lines, err)) return -1;
    if (s->role) form_put(role, NULL, 0, out);
    if (s->n_tools > 0) {
        struct form_value v[] = {{"tools", form_text_of(&lines)}};
        form_put(FORM_TOOLS, v, 1, &block);
        put_block(&block, start, out);
        out->failed |= lines.failed;
    }
    if (s->summary) {
        block.len = 0;
        put_summary(s, &block);
        put_block(&block, start, out);
    }
    buf_free(&lines);
    buf_free(&block);
    return 0;
}

static void put_clip(const struct form_rest *rest, struct buf *out)
{
    struct buf id = {0};
    char number[3][24];
    snprintf(number[0], sizeof number[0], "%" PRId64, rest->shown);
    snprintf(number[1], sizeof number[1], "%" PRId64, rest->total);
    snprintf(number[2], sizeof number[2], "%" PRId64, rest->offset);
    form_flat(rest->id, &id);
    struct form_value v[] = {{"shown", form_text(number[0])}, {"total", form_text(number[1])},
                             {"offset", form_text(number[2])}, {"id", form_text_of(&id)}};
    form_put(FORM_CLIP, v, 4, out);
    out->failed |= id.failed;
    buf_free(&id);
}

void forms_result(struct form_text text, const struct form_rest *rest, struct buf *out)
{
    buf_put(out, text.text, text.len);
    if (!rest) return;
    if (text.len > 0 && text.text[text.len - 1] != '\n') buf_put(out, "\n", 1);
    if (rest->end) put_with_field(FORM_END, "id", rest->id, out);
    else put_clip(rest, out);
}

void forms_summary_request(struct buf *out) { form_put(FORM_SUMMARY_REQUEST, NULL, 0, out); }

void forms_handover_request(struct form_text to, struct buf *out)
{
    put_with_field(FORM_HANDOVER_REQUEST, "to", to, out);
}

/* ------------------------------------------------------------------ what the model says */

void forms_call_json(const char *name, const json_t *arguments, struct buf *out)
{
    struct buf quoted = {0}, object = {0};
    form_json_string(form_text(name), &quoted);
    form_json_compact(arguments, &object);
    struct form_value v[] = {{"name", form_text_of(&quoted)}, {"arguments", form_text_of(&object)}};
    form_put(FORM_CALL, v, 2, out);
    out->failed |= quoted.failed || object.failed;
    buf_free(&quoted);
    buf_free(&object);
}

int forms_call(const char *name, struct form_text arguments, struct buf *out, struct err *err)
{
    json_error_t e;
    json_t *object = json_loadb(arguments.text, arguments.len, JSON_REJECT_DUPLICATES, &e);
    int rc = 0;
    if (!object) rc = err_set(err, -1, "the arguments of %s: %s", form_quote(name).s, form_quote(e.text).s);
    else if (!json_is_object(object)) rc = err_set(err, -1, "the arguments of %s: no object", form_quote(name).s);
    else forms_call_json(name, object, out);
    json_decref(object);
    return rc;
}

void forms_record(const struct form_record *r, struct buf *out)
{
    static const char *const place[RECORD_SECTIONS] = {"facts", "decisions", "done", "open"};
    struct buf lines[RECORD_SECTIONS] = {{0}};
    struct form_value v[RECORD_SECTIONS];
    for (int i = 0; i < RECORD_SECTIONS; i++) {
        put_list(FORM_ITEM, r->section[i], &lines[i]);
        v[i] = (struct form_value){place[i], form_text_of(&lines[i])};
    }
    form_put(FORM_SUMMARY, v, RECORD_SECTIONS, out);
    for (int i = 0; i < RECORD_SECTIONS; i++) {
        out->failed |= lines[i].failed;
        buf_free(&lines[i]);
    }
}

static void put_artifacts(struct form_list list, struct buf *out)
{
    for (size_t i = 0; i < list.n; i++) {
        size_t before = out->len;
        if (before > 0) buf_puts(out, ", ");
        size_t start = out->len;
        form_flat(list.item[i], out);
        if (out->len == start) out->len = before;
    }
    if (out->len == 0) form_put(FORM_NONE, NULL, 0, out);
}

void forms_handover(const struct form_handover *h, struct buf *out)
{
    struct buf flat[5] = {{0}};
    form_flat(h->from, &flat[0]);
    form_flat(h->to, &flat[1]);
    form_flat(h->task, &flat[2]);
    form_flat(h->result, &flat[3]);
    put_artifacts(h->artifacts, &flat[4]);
    struct form_value v[] = {{"from", form_text_of(&flat[0])}, {"to", form_text_of(&flat[1])},
                             {"task", form_text_of(&flat[2])}, {"result", form_text_of(&flat[3])},
                             {"artifacts", form_text_of(&flat[4])}};
    form_put(FORM_HANDOVER, v, 5, out);
    for (int i = 0; i < 5; i++) {
        out->failed |= flat[i].failed;
        buf_free(&flat[i]);
    }
}

void forms_plan(struct form_list steps, struct buf *out) { put_with_list(FORM_PLAN, "steps", FORM_STEP, steps, out); }

static bool put_finding(const struct form_finding *f, struct buf *out)
{
    struct buf text = {0}, source = {0};
    form_flat(f->text, &text);
    form_flat(f->source, &source);
    struct form_value v[] = {{"text", form_text_of(&text)}, {"source", form_text_of(&source)}};
    bool some = text.len > 0;
    if (some) form_put(FORM_FINDING, v, 2, out);
    out->failed |= text.failed || source.failed;
    buf_free(&text);
    buf_free(&source);
    return some;
}

void forms_findings(const struct form_finding *finding, size_t n, struct buf *out)
{
    struct buf lines = {0}, line = {0};
    for (size_t i = 0; i < n; i++) {
        line.len = 0;
        if (put_finding(&finding[i], &line)) put_line(form_text_of(&line), lines.len == 0, &lines);
    }
    if (lines.len == 0) form_put(FORM_NONE, NULL, 0, &lines);
    struct form_value v[] = {{"findings", form_text_of(&lines)}};
    form_put(FORM_FINDINGS, v, 1, out);
    out->failed |= lines.failed || line.failed;
    buf_free(&lines);
    buf_free(&line);
}

void forms_verdict(bool accept, struct form_list reasons, struct buf *out)
{
    struct buf lines = {0};
    put_list(FORM_ITEM, reasons, &lines);
    struct form_value v[] = {{"verdict", form_text(accept ? "accept" : "revise")}, {"reasons", form_text_of(&lines)}};
    form_put(FORM_VERDICT, v, 2, out);
    out->failed |= lines.failed;
    buf_free(&lines);
}

void forms_draft(struct form_text text, struct buf *out)
{
    struct form_value v[] = {{"text", text}};
    form_put(FORM_DRAFT, v, 1, out);
}
