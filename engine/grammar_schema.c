/* grammar_schema.c - a JSON Schema read, refused or written out as nodes.
 *
 * What a schema says twice (an array's items) is written twice; limits.nodes ends that. */
#include "engine/grammar_nodes.h"

enum kind { K_OBJECT, K_ARRAY, K_STRING, K_INTEGER, K_NUMBER, K_BOOLEAN, K_NULL, K_VALUES, K_ONE, K_ANY, KINDS };
static const char *const type_name[] = {"object", "array", "string", "integer", "number", "boolean", "null"};

/* A keyword, and the kinds of schema that may have it. */
enum { OF_TYPES = (1 << K_VALUES) - 1, OF_ALL = (1 << KINDS) - 1, OF_NUMBERS = 1 << K_INTEGER | 1 << K_NUMBER };
static const struct keyword {
    const char *name;
    unsigned of;
} keywords[] = {
    {"type", OF_TYPES | 1 << K_VALUES}, {"const", 1 << K_VALUES},    {"enum", 1 << K_VALUES},
    {"properties", 1 << K_OBJECT},      {"required", 1 << K_OBJECT}, {"additionalProperties", 1 << K_OBJECT},
    {"pattern", 1 << K_STRING},         {"format", 1 << K_STRING},   {"minLength", 1 << K_STRING},
    {"maxLength", 1 << K_STRING},       {"minimum", OF_NUMBERS},     {"maximum", OF_NUMBERS},
    {"exclusiveMinimum", OF_NUMBERS},   {"exclusiveMaximum", OF_NUMBERS}, {"multipleOf", OF_NUMBERS},
    {"items", 1 << K_ARRAY},            {"minItems", 1 << K_ARRAY},  {"maxItems", 1 << K_ARRAY},
    {"prefixItems", 1 << K_ARRAY},      {"uniqueItems", 1 << K_ARRAY},
    {"oneOf", 1 << K_ONE},              {"anyOf", 1 << K_ANY},       {"title", OF_ALL},
    {"description", OF_ALL},            {"default", OF_ALL},         {"examples", OF_ALL},
    {"$schema", OF_ALL},                {"$comment", OF_ALL},
};

/* Foreign text for a message: printable ASCII of at most n - 1 bytes. */
static const char *shown(char *out, size_t n, const char *text)
{
    size_t i = 0;
    for (; text[i] && i + 1 < n; i++) out[i] = (char)(text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?');
    out[i] = '\0';
    return out;
}

int32_t grammar_refuse(struct reader *r, int code, const char *fmt, ...)
{
    char text[240];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return err_set(r->err, code, "schema, at %s: %s", r->n_place ? r->place : "/", text);
}

size_t grammar_enter(struct reader *r, const char *key, const char *name)
{
    size_t before = r->n_place;
    char safe[48];
    int n = snprintf(r->place + before, sizeof r->place - before, "/%s%s%s", key, name ? "/" : "",
                     name ? shown(safe, sizeof safe, name) : "");
    r->n_place = MIN(before + (size_t)n, sizeof r->place - 1);
    return before;
}

void grammar_leave(struct reader *r, size_t before)
{
    r->n_place = before;
    r->place[before] = '\0';
}

/* ':' or ',' and what may stand behind it. */
static int32_t mark(struct reader *r, int b, int32_t next)
{
    return byte(r, b, r->blanks ? split(r, byte(r, ' ', next), next) : next);
}

/* A value as text.  Fifteen digits of a real are what a person would write; seventeen are all that it has. */
static char *spell(const json_t *v)
{
    size_t flags = JSON_COMPACT | JSON_ENCODE_ANY;
    char *text = json_dumps(v, flags | JSON_REAL_PRECISION(15));
    json_t *again = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    bool same = again && json_equal(v, again);
    json_decref(again);
    if (same) return text;
    free(text);
    return json_dumps(v, flags | JSON_REAL_PRECISION(17));
}

static int32_t exactly(struct reader *r, const json_t *v, int32_t next)
{
    char *text = spell(v);
    if (!text) return grammar_refuse(r, GRAMMAR_NO_MEMORY, "no memory for a value");
    int32_t start = literal(r, text, strlen(text), next);
    free(text);
    return start;
}

static bool has_type(const json_t *v, enum kind type)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT: return type == K_OBJECT;
    case JSON_ARRAY: return type == K_ARRAY;
    case JSON_STRING: return type == K_STRING;
    case JSON_INTEGER: return type == K_INTEGER || type == K_NUMBER;
    case JSON_REAL: return type == K_NUMBER;
    case JSON_NULL: return type == K_NULL;
    default: return type == K_BOOLEAN;
    }
}

static int32_t values(struct reader *r, const json_t *s, int type, int32_t next)
{
    const json_t *one = json_object_get(s, "const"), *many = json_object_get(s, "enum");
    if (one && many) return grammar_refuse(r, GRAMMAR_REFUSED, "const and enum together are not known");
    if (many && json_array_size(many) == 0)
        return grammar_refuse(r, GRAMMAR_REFUSED, "enum must be a list that has values");
    int32_t all = 0;
    for (size_t i = one ? 1 : json_array_size(many); i-- > 0 && all >= 0;) {
        const json_t *v = one ? one : json_array_get(many, i);
        if (type >= 0 && !has_type(v, (enum kind)type))
            return grammar_refuse(r, GRAMMAR_REFUSED, "value %zu of const or enum is not of type %s", i,
                                  type_name[type]);
        int32_t this = exactly(r, v, next);
        all = one || i + 1 == json_array_size(many) ? this : split(r, this, all);
    }
    return all;
}

static int32_t inner(struct reader *r, const char *key, const char *name, json_t *s, int depth, int32_t next)
{
    if (next < 0) return next;
    size_t before = grammar_enter(r, key, name);
    int32_t start = grammar_value(r, s, depth + 1, next);
    grammar_leave(r, before);
    return start;
}

/* Where a oneOf stands, for when two of its alternatives turn out to meet. */
static int32_t remember_one(struct reader *r, const json_t *s)
{
    struct grammar_make *m = r->make;
    for (int i = 0; i < m->n_one; i++)
        if (m->one[i] == s) return i;
    if (m->n_one == MAX_ONE) return grammar_refuse(r, GRAMMAR_TOO_LARGE, "more than %d oneOf", MAX_ONE);
    m->one[m->n_one] = s;
    snprintf(m->one_place[m->n_one], PLACE_MAX, "%s", r->n_place ? r->place : "/");
    return m->n_one++;
}

/* Each alternative ends in a jump of its own, so that it comes to the meeting point once however it got there. */
static int32_t alternatives(struct reader *r, json_t *s, bool one, int depth, int32_t next)
{
    const char *key = one ? "oneOf" : "anyOf";
    const json_t *list = json_object_get(s, key);
    size_t n = json_array_size(list);
    if (n == 0) return grammar_refuse(r, GRAMMAR_REFUSED, "%s must be a list that has schemas", key);
    int32_t meet = one ? add(r, NODE_ONE, 0, 0, next, remember_one(r, s)) : next, all = 0;
    for (size_t i = n; i-- > 0 && all >= 0;) {
        char index[24];
        snprintf(index, sizeof index, "%zu", i);
        int32_t end = one ? add(r, NODE_JUMP, 0, 0, meet, 0) : meet;
        int32_t this = inner(r, key, index, json_array_get(list, i), depth, end);
        all = i + 1 == n ? this : split(r, this, all);
    }
    return all;
}

static bool is_required(const json_t *required, const char *name)
{
    for (size_t i = 0; i < json_array_size(required); i++)
        if (strcmp(json_string_value(json_array_get(required, i)), name) == 0) return true;
    return false;
}

static int check_object(struct reader *r, const json_t *s)
{
    const json_t *properties = json_object_get(s, "properties"), *required = json_object_get(s, "required");
    const json_t *others = json_object_get(s, "additionalProperties");
    char safe[48];
    if (properties && !json_is_object(properties))
        return grammar_refuse(r, GRAMMAR_REFUSED, "properties must be an object");
    if (json_is_object(others) && json_object_size(properties) + json_array_size(required) > 0)
        return grammar_refuse(r, GRAMMAR_REFUSED, "additionalProperties can only be a schema where there are no "
                              "properties");
    if (others && !json_is_false(others) && !json_is_object(others))
        return grammar_refuse(r, GRAMMAR_REFUSED, "additionalProperties can only be false, or a schema");
    if (required && !json_is_array(required))
        return grammar_refuse(r, GRAMMAR_REFUSED, "required must be a list of names");
    if (json_array_size(required) > json_object_size(properties))
        return grammar_refuse(r, GRAMMAR_REFUSED, "required has more names than properties");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (!name) return grammar_refuse(r, GRAMMAR_REFUSED, "required must be a list of names");
        if (!json_object_get(properties, name))
            return grammar_refuse(r, GRAMMAR_REFUSED, "required has \"%s\", which properties lack",
                                  shown(safe, sizeof safe, name));
    }
    return 0;
}

struct property {
    const char *name;
    json_t *schema;
};

static int32_t property(struct reader *r, const struct property *p, int depth, int32_t next)
{
    json_t *name = json_string(p->name);
    int32_t content = inner(r, "properties", p->name, p->schema, depth, next);
    int32_t colon = mark(r, ':', content);
    int32_t start = name && colon >= 0 ? exactly(r, name, colon) : colon;
    json_decref(name);
    return name ? start : grammar_refuse(r, GRAMMAR_NO_MEMORY, "no memory for a name");
}

/* Any names, each with a value of one schema; a name may come twice. */
static int32_t map(struct reader *r, json_t *others, int depth, int32_t next)
{
    int32_t end = byte(r, '}', next), again = add(r, NODE_SPLIT, 0, 0, end, 0);
    int32_t colon = mark(r, ':', inner(r, "additionalProperties", NULL, others, depth, again));
    int32_t start = byte(r, '"', add(r, NODE_STRING, 0, 0, colon, 0));
    int32_t comma = mark(r, ',', start);
    if (comma < 0) return comma;
    r->make->node[again].alt = comma;
    return byte(r, '{', split(r, start, end));
}

/* Two ways lead through the properties: nothing is written yet, or something is and a comma must come.
 *
 *     first --------> first --------> } 
 *         \ "a":value    \ "b":value
 *     more --,--^----> more --,--^--> }          (where a property is optional, also straight on) */
static int32_t object(struct reader *r, json_t *s, int depth, int32_t next)
{
    if (check_object(r, s)) return GRAMMAR_REFUSED;
    json_t *properties = json_object_get(s, "properties"), *others = json_object_get(s, "additionalProperties");
    const json_t *required = json_object_get(s, "required");
    if (json_is_object(others)) return map(r, others, depth, next);
    size_t n = json_object_size(properties), i = 0;
    struct property *list = malloc((n + 1) * sizeof *list);
    if (!list) return grammar_refuse(r, GRAMMAR_NO_MEMORY, "no memory for %zu properties", n);
    for (void *it = json_object_iter(properties); it; it = json_object_iter_next(properties, it))
        list[i++] = (struct property){json_object_iter_key(it), json_object_iter_value(it)};
    int32_t first = byte(r, '}', next), more = first;
    while (i-- > 0 && first >= 0 && more >= 0) {
        int32_t start = property(r, &list[i], depth, more), comma = mark(r, ',', start);
        bool must = start < 0 || is_required(required, list[i].name);
        first = must ? start : split(r, start, first);
        more = must ? comma : split(r, comma, more);
    }
    free(list);
    return byte(r, '{', first < 0 ? first : more < 0 ? more : first);
}

/* minItems and maxItems; absent: otherwise. */
static int items_bound(struct reader *r, const json_t *s, const char *key, int otherwise)
{
    const json_t *v = json_object_get(s, key);
    if (!v) return otherwise;
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > GRAMMAR_ITEMS)
        return grammar_refuse(r, GRAMMAR_REFUSED, "%s must be an integer of 0 to %d", key, GRAMMAR_ITEMS);
    return (int)json_integer_value(v);
}

/* Item number i of the array s, from 1 on: what stands first has schemas of its own. */
static int32_t item(struct reader *r, const json_t *s, int i, int depth, int32_t next)
{
    const json_t *first = json_object_get(s, "prefixItems");
    char index[24];
    if ((size_t)i > json_array_size(first)) return inner(r, "items", NULL, json_object_get(s, "items"), depth, next);
    snprintf(index, sizeof index, "%d", i - 1);
    return inner(r, "prefixItems", index, json_array_get(first, (size_t)i - 1), depth, next);
}

/* At least one item and at most `most` (0: any number, the last of those written out comes again). */
static int32_t items(struct reader *r, const json_t *s, int least, int most, int depth, int32_t end)
{
    const int first = (int)json_array_size(json_object_get(s, "prefixItems"));
    int copies = most ? most : MAX(least, first + 1);
    int32_t more = end;
    for (int i = copies; i >= 1 && more >= 0; i--) {
        int32_t behind = more, again = -1;
        if (!most && i == copies) behind = again = add(r, NODE_SPLIT, 0, 0, end, 0);
        else if (i >= least && i < copies) behind = split(r, end, more);
        int32_t start = item(r, s, i, depth, behind);
        int32_t comma = mark(r, ',', start);
        if (comma < 0) return comma;
        if (again >= 0) r->make->node[again].alt = comma;
        more = i == 1 ? start : comma;
    }
    return more;
}

/* Of a value nothing is added to the list that has it already: 1.0 is 1. */
static void put_once(json_t *list, json_t *v)
{
    const json_t *had;
    size_t i;
    json_array_foreach(list, i, had) {
        const double a = json_number_value(had), b = json_number_value(v);
        if (json_equal(had, v) || (json_is_number(had) && json_is_number(v) && !(a < b) && !(a > b))) return;
    }
    json_array_append(list, v);
}

/* The values that an item may be, a new list; NULL: they are not told one by one, or are too many. */
static json_t *values_of(const json_t *items)
{
    const json_t *type = json_object_get(items, "type"), *many = json_object_get(items, "enum");
    json_t *one = json_object_get(items, "const"), *list = json_array(), *v;
    bool told = many || one, simple = true;
    size_t i;
    if (one) put_once(list, one);
    json_array_foreach(many, i, v)
        put_once(list, v);
    if (!told && json_is_string(type) && strcmp(json_string_value(type), "boolean") == 0) {
        told = true;
        json_array_append(list, json_false());
        json_array_append(list, json_true());
    }
    json_array_foreach(list, i, v)
        simple = simple && !json_is_object(v) && !json_is_array(v);
    if (told && simple && json_array_size(list) > 0 && json_array_size(list) <= GRAMMAR_UNIQUE) return list;
    json_decref(list);
    return NULL;
}

/* Items that are one of these values, each once at most: what may come is known by which there were, whatever their
 * order. */
static int32_t each_once(struct reader *r, const json_t *list, int least, int most, int32_t end)
{
    const int n = (int)json_array_size(list), all = (1 << n) - 1;
    int32_t from[1 << GRAMMAR_UNIQUE] = {0}; /* where those of the bits were written; 0: no list has them */
    most = MIN(most, n);
    if (least > most)
        return grammar_refuse(r, GRAMMAR_REFUSED, "minItems is %d, and there are %d items that differ", least, most);
    for (int had = all; had >= 0; had--) {
        const int count = __builtin_popcount((unsigned)had);
        int32_t more = 0;
        for (int i = 0; i < n && count < most && more >= 0; i++) {
            if (had >> i & 1) continue;
            const int32_t this = exactly(r, json_array_get(list, (size_t)i), from[had | 1 << i]);
            more = more ? split(r, this, more) : this;
        }
        if (count > 0 && more > 0) more = mark(r, ',', more);
        from[had] = more < 0 || count < least || count > most ? more : more ? split(r, more, end) : end;
        if (from[had] < 0) return from[had];
    }
    return from[0];
}

static int32_t unique(struct reader *r, json_t *s, int least, int most, int depth, int32_t end)
{
    json_t *items = json_object_get(s, "items"), *list = values_of(items);
    int32_t start = list && !json_object_get(s, "prefixItems")
                        ? inner(r, "items", NULL, items, depth, end) /* for all else that it says */
                        : grammar_refuse(r, GRAMMAR_REFUSED, "uniqueItems is not known, but of items that are a const, "
                                         "an enum of up to %d texts, numbers, ..., or booleans", GRAMMAR_UNIQUE);
    if (start >= 0) start = each_once(r, list, least, most, end);
    json_decref(list);
    return start;
}

static int32_t array(struct reader *r, json_t *s, int depth, int32_t next)
{
    const json_t *once = json_object_get(s, "uniqueItems");
    const json_t *others = json_object_get(s, "items"), *first = json_object_get(s, "prefixItems");
    int least = items_bound(r, s, "minItems", 0), most = items_bound(r, s, "maxItems", GRAMMAR_ITEMS + 1);
    if (least < 0 || most < 0) return MIN(least, most);
    if (first && (json_array_size(first) == 0 || json_array_size(first) > GRAMMAR_ITEMS))
        return grammar_refuse(r, GRAMMAR_REFUSED, "prefixItems must be a list that has schemas, %d at most",
                              GRAMMAR_ITEMS);
    if (first && (!others || json_is_false(others))) most = MIN(most, (int)json_array_size(first));
    if (least > most) return grammar_refuse(r, GRAMMAR_REFUSED, "minItems %d is more than maxItems %d", least, most);
    int32_t end = byte(r, ']', next);
    if (most == 0) return byte(r, '[', end);
    if (!others && !first) return grammar_refuse(r, GRAMMAR_REFUSED, "items is needed");
    if (once && !json_is_boolean(once)) return grammar_refuse(r, GRAMMAR_REFUSED, "uniqueItems must be true or false");
    if (json_is_true(once) && most > 1) return byte(r, '[', unique(r, s, least, most, depth, end));
    int32_t some = items(r, s, least, most > GRAMMAR_ITEMS ? 0 : most, depth, end);
    return byte(r, '[', least == 0 ? split(r, some, end) : some);
}

/* What kind of schema it is, by the keyword that says most; *type is -1 or its type. */
static int kind_of(struct reader *r, const json_t *s, int *type)
{
    char safe[48];
    *type = -1;
    if (!json_is_object(s)) return grammar_refuse(r, GRAMMAR_REFUSED, "a schema must be an object");
    const json_t *t = json_object_get(s, "type");
    for (int i = 0; t && json_is_string(t) && i < (int)COUNT_OF(type_name); i++)
        if (strcmp(json_string_value(t), type_name[i]) == 0) *type = i;
    if (t && !json_is_string(t))
        return grammar_refuse(r, GRAMMAR_REFUSED, "type must be one name; for several use anyOf");
    if (t && *type < 0)
        return grammar_refuse(r, GRAMMAR_REFUSED, "type %s is not known",
                              shown(safe, sizeof safe, json_string_value(t)));
    if (json_object_get(s, "oneOf")) return K_ONE;
    if (json_object_get(s, "anyOf")) return K_ANY;
    if (json_object_get(s, "const") || json_object_get(s, "enum")) return K_VALUES;
    return *type < 0 ? KINDS : *type;
}

static int check_keywords(struct reader *r, json_t *s, int kind)
{
    char safe[48];
    for (void *it = json_object_iter(s); it; it = json_object_iter_next(s, it)) {
        const char *name = json_object_iter_key(it);
        const struct keyword *k = NULL;
        for (size_t i = 0; i < COUNT_OF(keywords) && !k; i++)
            if (strcmp(keywords[i].name, name) == 0) k = &keywords[i];
        if (!k) return grammar_refuse(r, GRAMMAR_REFUSED, "%s is not known", shown(safe, sizeof safe, name));
        if (kind < KINDS && !(k->of & 1u << kind))
            return grammar_refuse(r, GRAMMAR_REFUSED, "%s does not go with %s", k->name,
                          kind == K_ONE      ? "oneOf"
                          : kind == K_ANY    ? "anyOf"
                          : kind == K_VALUES ? "const or enum"
                                             : type_name[kind]);
    }
    return 0;
}

int32_t grammar_value(struct reader *r, json_t *s, int depth, int32_t next)
{
    int type, kind = kind_of(r, s, &type);
    if (depth > r->max_depth)
        return grammar_refuse(r, GRAMMAR_TOO_LARGE, "it is more than %d values deep", r->max_depth);
    if (kind < 0) return kind;
    if (check_keywords(r, s, kind)) return GRAMMAR_REFUSED;
    switch (kind) {
    case K_ONE: return alternatives(r, s, true, depth, next);
    case K_ANY: return alternatives(r, s, false, depth, next);
    case K_VALUES: return values(r, s, type, next);
    case K_OBJECT: return object(r, s, depth, next);
    case K_ARRAY: return array(r, s, depth, next);
    case K_STRING: return grammar_string(r, s, next);
    case K_INTEGER:
    case K_NUMBER: return grammar_number(r, s, kind == K_INTEGER, next);
    case K_BOOLEAN: return split(r, literal(r, "true", 4, next), literal(r, "false", 5, next));
    case K_NULL: return literal(r, "null", 4, next);
    default: return grammar_refuse(r, GRAMMAR_REFUSED, "a type, const, enum, oneOf or anyOf is needed");
    }
}

/* A list of texts, or one that is a pattern of the whole. */
static int32_t plain_text(struct reader *r, const json_t *s, int32_t next)
{
    int32_t all = 0;
    if (json_is_string(s)) return grammar_regex(r, json_string_value(s), json_string_length(s), 0, next);
    if (json_array_size(s) == 0)
        return grammar_refuse(r, GRAMMAR_REFUSED, "a pattern is wanted, or a list of texts to choose from");
    for (size_t i = json_array_size(s); i-- > 0 && all >= 0;) {
        const json_t *one = json_array_get(s, i);
        if (json_string_length(one) == 0)
            return grammar_refuse(r, GRAMMAR_REFUSED, "choice %zu is no text, or an empty one", i);
        const int32_t this = literal(r, json_string_value(one), json_string_length(one), next);
        all = all ? split(r, this, all) : this;
    }
    return all;
}

int32_t grammar_root(struct reader *r, json_t *s, int32_t next)
{
    return r->plain ? plain_text(r, s, next) : grammar_value(r, s, 1, next);
}

int grammar_read(struct grammar *g, const struct grammar_source *source, struct err *err)
{
    struct reader r = {.make = &g->make, .err = err, .max_nodes = g->limits.nodes, .max_depth = g->limits.depth,
                       .blanks = source->blanks, .plain = source->plain};
    json_error_t e;
    char safe[160];
    if (source->n_schema > GRAMMAR_SCHEMA_MAX)
        return err_set(err, GRAMMAR_TOO_LARGE, "schema: %zu bytes; at most %d are read", source->n_schema,
                       GRAMMAR_SCHEMA_MAX);
    json_t *s = json_loadb(source->schema, source->n_schema, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    if (!s)
        return err_set(err, GRAMMAR_REFUSED, "schema: line %d, column %d: %s", e.line, e.column,
                       shown(safe, sizeof safe, e.text));
    int32_t end = add(&r, NODE_END, 0, 0, 0, 0);
    g->make.root = source->harmony ? grammar_harmony(&r, s, source->harmony, end)
                                   : grammar_root(&r, s, literal(&r, source->close, source->n_close, end));
    json_decref(s);
    return MIN(g->make.root, 0);
}
