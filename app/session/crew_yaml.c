/* crew_yaml.c - bytes to a tree of texts, lists and maps that know their places.  Of YAML only what a crew needs. */
#include "app/session/crew_impl.h"
#include <yaml.h>

enum { MAP_KEYS = 64 };

/* ------------------------------------------------------------------ errors */

struct crew_quote crew_quote(const char *s)
{
    struct crew_quote q;
    size_t n = strnlen(s, sizeof q.s);
    if (n == sizeof q.s) {
        n--;
        while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80) n--; /* a character is cut before, not within */
    }
    for (size_t i = 0; i < n; i++) q.s[i] = (unsigned char)s[i] < 0x20 || s[i] == 0x7f ? ' ' : s[i];
    q.s[n] = '\0';
    return q;
}

__attribute__((format(printf, 4, 0)))
static int fail_at(const struct crew_doc *doc, size_t line, size_t column, const char *fmt, va_list ap)
{
    char what[320];
    vsnprintf(what, sizeof what, fmt, ap);
    return err_set(doc->err, -1, "%.120s:%zu:%zu: %s", doc->name, line, column, what);
}

int crew_fail(const struct crew_doc *doc, int node, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_at(doc, (size_t)doc->node[node].line, (size_t)doc->node[node].column, fmt, ap);
    va_end(ap);
    return -1;
}

__attribute__((format(printf, 3, 4)))
static int fail_mark(const struct crew_doc *doc, yaml_mark_t at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_at(doc, at.line + 1, at.column + 1, fmt, ap);
    va_end(ap);
    return -1;
}

/* The bytes of the line break at s, in any of YAML's spellings; 0: there is none. */
static size_t break_at(const char *s, size_t n)
{
    if (n > 1 && memcmp(s, "\r\n", 2) == 0) return 2;
    if (n > 0 && (s[0] == '\n' || s[0] == '\r')) return 1;
    if (n > 1 && memcmp(s, "\xc2\x85", 2) == 0) return 2;
    return n > 2 && (memcmp(s, "\xe2\x80\xa8", 3) == 0 || memcmp(s, "\xe2\x80\xa9", 3) == 0) ? 3 : 0;
}

/* The place of the byte at `at`, before which all is UTF-8. */
static yaml_mark_t mark_of(const char *text, size_t n, size_t at)
{
    yaml_mark_t m = {0};
    for (size_t i = 0, ends; i < at && i < n; i += ends ? ends : 1) {
        ends = break_at(text + i, n - i);
        if (ends) m.line++, m.column = 0;
        else if (((unsigned char)text[i] & 0xc0) != 0x80) m.column++;
    }
    return m;
}

/* ------------------------------------------------------------------ reading */

struct yaml {
    struct crew_doc *doc;
    const char *text;
    size_t n;
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
};

static int fail_parser(const struct yaml *y)
{
    const yaml_parser_t *p = &y->parser;
    const char *problem = p->problem ? p->problem : "it cannot be read";
    if (p->error == YAML_MEMORY_ERROR) return err_set(y->doc->err, -1, "%.200s: no memory for it", y->doc->name);
    if (p->error == YAML_READER_ERROR)
        return fail_mark(y->doc, mark_of(y->text, y->n, p->problem_offset), "no YAML in UTF-8: %.100s", problem);
    return fail_mark(y->doc, p->problem_mark, "no YAML: %.100s%s%.100s", p->context ? p->context : "",
                     p->context ? ", " : "", problem);
}

static int next_event(struct yaml *y)
{
    yaml_event_delete(&y->event);
    return yaml_parser_parse(&y->parser, &y->event) ? 0 : fail_parser(y);
}

static int new_node(struct yaml *y, enum crew_node_kind kind)
{
    struct crew_doc *doc = y->doc;
    if (doc->n == CREW_NODES)
        return fail_mark(doc, y->event.start_mark, "more than %d keys, values and lists", CREW_NODES);
    if (doc->n == doc->cap) {
        int cap = doc->cap ? 2 * doc->cap : 64;
        struct crew_node *node = realloc(doc->node, (size_t)cap * sizeof *node);
        if (!node) return err_set(doc->err, -1, "%.200s: no memory for it", doc->name);
        doc->node = node;
        doc->cap = cap;
    }
    doc->node[doc->n] = (struct crew_node){.kind = kind, .line = (int)y->event.start_mark.line + 1,
                                           .column = (int)y->event.start_mark.column + 1, .first = -1, .next = -1};
    return doc->n++;
}

/* An escape in quotes can write any character; these would reach a terminal, or end a text before its end. */
static bool has_control(const unsigned char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((s[i] < 0x20 && s[i] != '\n' && s[i] != '\t') || s[i] == 0x7f) return true;
        if (s[i] == 0xc2 && i + 1 < n && s[i + 1] < 0xa0) return true;
    }
    return false;
}

static int read_text(struct yaml *y)
{
    const char *value = (const char *)y->event.data.scalar.value;
    size_t n = y->event.data.scalar.length;
    yaml_scalar_style_t style = y->event.data.scalar.style;
    bool block = style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE;
    int at = new_node(y, NODE_TEXT);
    if (at < 0) return -1;
    if (has_control((const unsigned char *)value, n)) return crew_fail(y->doc, at, "a control character in a text");
    while (block && n > 0 && value[n - 1] == '\n') n--; /* that of the last line is the file's, not the text's */
    if (n > CREW_TEXT) return crew_fail(y->doc, at, "a text of more than %d KiB", CREW_TEXT >> 10);
    struct crew_node *node = &y->doc->node[at];
    node->plain = style == YAML_PLAIN_SCALAR_STYLE;
    node->text = strndup(value, n);
    if (!node->text) return err_set(y->doc->err, -1, "%.200s: no memory for it", y->doc->name);
    return at;
}

/* A key of a map: a text that is none of those before it. */
static int check_key(const struct crew_doc *doc, int map, int key)
{
    const char *text = doc->node[key].text;
    if (doc->node[key].kind != NODE_TEXT) return crew_fail(doc, key, "a key must be a word");
    if (strcmp(text, "<<") == 0) return crew_fail(doc, key, "merges (<<) are not taken: write the keys out");
    if (doc->node[map].n == MAP_KEYS) return crew_fail(doc, key, "more than %d keys in one place", MAP_KEYS);
    for (int k = doc->node[map].first; k != key; k = doc->node[doc->node[k].next].next)
        if (strcmp(doc->node[k].text, text) == 0)
            return crew_fail(doc, key, "the key \"%s\" is there twice: line %d has it too", crew_quote(text).s,
                             doc->node[k].line);
    return 0;
}

static int read_node(struct yaml *y, int depth);

/* What is between the start that is the current event and its end. */
static int read_inside(struct yaml *y, enum crew_node_kind kind, yaml_event_type_t end, int depth)
{
    int at = new_node(y, kind), last = -1;
    if (at < 0) return -1;
    if (depth == CREW_DEPTH) return crew_fail(y->doc, at, "lists and keys within each other more than %d deep", depth);
    for (int i = 0;; i++) {
        if (next_event(y)) return -1;
        if (y->event.type == end) return at;
        int item = read_node(y, depth + 1);
        if (item < 0) return -1;
        if (last < 0) y->doc->node[at].first = item;
        else y->doc->node[last].next = item;
        last = item;
        bool key = kind == NODE_MAP && i % 2 == 0;
        if (key && check_key(y->doc, at, item)) return -1;
        if (kind == NODE_LIST || key) y->doc->node[at].n++;
    }
}

static int refuse(const struct yaml *y, const char *what)
{
    return fail_mark(y->doc, y->event.start_mark, "%s are not taken: write it out", what);
}

/* The node that begins with the current event: its number, or -1. */
static int read_node(struct yaml *y, int depth)
{
    const yaml_event_t *e = &y->event;
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        if (e->data.scalar.anchor) return refuse(y, "anchors (&)");
        return e->data.scalar.tag ? refuse(y, "tags (!)") : read_text(y);
    case YAML_SEQUENCE_START_EVENT:
        if (e->data.sequence_start.anchor) return refuse(y, "anchors (&)");
        if (e->data.sequence_start.tag) return refuse(y, "tags (!)");
        return read_inside(y, NODE_LIST, YAML_SEQUENCE_END_EVENT, depth);
    case YAML_MAPPING_START_EVENT:
        if (e->data.mapping_start.anchor) return refuse(y, "anchors (&)");
        if (e->data.mapping_start.tag) return refuse(y, "tags (!)");
        return read_inside(y, NODE_MAP, YAML_MAPPING_END_EVENT, depth);
    default:
        return refuse(y, "aliases (*)");
    }
}

static int read_stream(struct yaml *y)
{
    if (next_event(y) || next_event(y)) return -1; /* the stream's start, then the document's */
    if (y->event.type == YAML_STREAM_END_EVENT)
        return fail_mark(y->doc, y->event.start_mark, "there is nothing in it: a crew begins with \"crew: NAME\"");
    if (next_event(y) || read_node(y, 0) < 0 || next_event(y) || next_event(y)) return -1;
    if (y->event.type == YAML_STREAM_END_EVENT) return 0;
    return fail_mark(y->doc, y->event.start_mark, "a second document: a file holds one crew");
}

/* Directives are of no use here, and libyaml compares each with all before it. */
static int refuse_directives(const struct crew_doc *doc, const char *text, size_t n)
{
    bool begins = true;
    for (size_t i = 0, ends; i < n; i += ends ? ends : 1) {
        if (begins && text[i] == '%') return fail_mark(doc, mark_of(text, n, i), "directives (%%) are not taken");
        ends = break_at(text + i, n - i);
        begins = ends > 0;
    }
    return 0;
}

int crew_doc_read(struct crew_doc *doc, const char *text, size_t n)
{
    struct yaml y = {.doc = doc, .text = text, .n = n};
    if (n > CREW_FILE) return err_set(doc->err, -1, "%.200s is over %d KiB", doc->name, CREW_FILE >> 10);
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) y.text = text += 3, y.n = n -= 3; /* a byte order mark */
    if (refuse_directives(doc, text, n)) return -1;
    if (!yaml_parser_initialize(&y.parser)) return err_set(doc->err, -1, "%.200s: no memory for it", doc->name);
    yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y.parser, (const unsigned char *)text, n);
    int rc = read_stream(&y);
    yaml_event_delete(&y.event);
    yaml_parser_delete(&y.parser);
    return rc;
}

void crew_doc_free(struct crew_doc *doc)
{
    for (int i = 0; i < doc->n; i++) free(doc->node[i].text);
    free(doc->node);
    *doc = (struct crew_doc){0};
}

int crew_doc_find(const struct crew_doc *doc, int map, const char *key)
{
    for (int k = doc->node[map].first; k >= 0; k = doc->node[doc->node[k].next].next)
        if (strcmp(doc->node[k].text, key) == 0) return doc->node[k].next;
    return -1;
}
