/* models_json.c - what was found, as JSON Lines: an object that says where was looked, then one a file; and back. */
#include "app/models.h"
#include "app/json_text.h"

enum { SCHEMA = 1 };
static const char *const looked_name[] = {"not there", "looked through", "may not be read", "looked at in part",
                                          "not looked at"};

/* ---------------------------------------------------------------- out */

static void put_line(json_t *line, struct buf *out)
{
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    if (text) buf_printf(out, "%s\n", text);
    else out->failed = true;
    free(text);
    json_decref(line);
}

/* What is not known is left out. */
static void add(json_t *o, const char *key, uint64_t n)
{
    if (n > 0 && n <= INT64_MAX) json_object_set_new(o, key, json_integer((json_int_t)n));
}

static void add_text(json_t *o, const char *key, const char *text)
{
    if (text && *text) json_object_set_new(o, key, json_text(text));
}

static void put_row(const struct models *m, const struct models_row *r, struct buf *out)
{
    char verdict[400];
    struct buf command = {0};
    json_t *o = json_pack("{s:i, s:o, s:o, s:s}", "schema_version", SCHEMA, "name", json_text(r->name), "path",
                          json_text(r->path), "place", m->place[r->place].what);
    models_verdict(r, m->within, verdict, sizeof verdict);
    models_command(r, m->within, &command);
    add(o, "bytes", r->bytes);
    add_text(o, "architecture", r->arch);
    add(o, "parameters", r->parameters);
    add_text(o, "types", r->types);
    add_text(o, "tensors", r->tensors);
    add(o, "context_trained", (uint64_t)r->ctx_trained);
    add_text(o, "state", models_state_name(r->state));
    add(o, "context_fits", (uint64_t)r->ctx_fits);
    add(o, "context_usual", (uint64_t)r->ctx_usual);
    add(o, "needs_least", r->needs_least);
    add(o, "needs_usual", r->needs_usual);
    add_text(o, "why", r->why);
    add_text(o, "verdict", verdict);
    add_text(o, "command", command.data);
    out->failed = out->failed || command.failed;
    buf_free(&command);
    put_line(o, out);
}

void models_put_json(const struct models *m, struct buf *out)
{
    json_t *places = json_array();
    for (int i = 0; i < m->n_places; i++) {
        json_t *p = json_pack("{s:s, s:o, s:s}", "place", m->place[i].what, "path", json_text(m->place[i].path),
                              "state", looked_name[m->place[i].looked]);
        add(p, "left_out", (uint64_t)m->place[i].left_out);
        json_array_append_new(places, p);
    }
    json_t *o = json_pack("{s:i, s:o, s:i, s:b}", "schema_version", SCHEMA, "looked", places, "files", m->n, "whole",
                          !*m->stopped);
    add_text(o, "stopped", m->stopped);
    add(o, "again", (uint64_t)m->n_again);
    add(o, "within", m->within);
    put_line(o, out);
    for (int i = 0; i < m->n; i++) put_row(m, &m->row[i], out);
}

/* ---------------------------------------------------------------- in */

static void get_text(const json_t *o, const char *key, char *out, size_t n)
{
    const char *text = json_string_value(json_object_get(o, key));
    snprintf(out, n, "%s", text ? text : "");
}

static uint64_t get(const json_t *o, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(o, key));
    return n > 0 ? (uint64_t)n : 0;
}

/* The first place of this name. */
static int place_of(const struct models *m, const char *what)
{
    for (int i = 0; i < m->n_places; i++)
        if (strcmp(m->place[i].what, what) == 0) return i;
    return 0;
}

static void get_row(struct models *m, const json_t *o)
{
    struct models_row *r = &m->row[m->n];
    char word[32];
    if (m->n == MODELS_MAX || m->n_places == 0) return;
    get_text(o, "place", word, sizeof m->place->what);
    *r = (struct models_row){.place = place_of(m, word), .bytes = get(o, "bytes"), .parameters = get(o, "parameters"),
                             .ctx_trained = (int64_t)get(o, "context_trained"),
                             .ctx_fits = (int64_t)get(o, "context_fits"),
                             .ctx_usual = (int64_t)get(o, "context_usual"), .needs_least = get(o, "needs_least"),
                             .needs_usual = get(o, "needs_usual")};
    get_text(o, "path", r->path, sizeof r->path);
    get_text(o, "name", r->name, sizeof r->name);
    get_text(o, "architecture", r->arch, sizeof r->arch);
    get_text(o, "types", r->types, sizeof r->types);
    get_text(o, "tensors", r->tensors, sizeof r->tensors);
    get_text(o, "why", r->why, sizeof r->why);
    get_text(o, "state", word, sizeof word);
    for (int s = 0; s < MODEL_STATES; s++)
        if (strcmp(word, models_state_name((enum model_state)s)) == 0) r->state = (enum model_state)s;
    m->n++;
}

static void get_place(struct models *m, const json_t *o)
{
    struct models_place *p = &m->place[m->n_places];
    char word[32];
    if (m->n_places == MODELS_PLACES) return;
    get_text(o, "place", p->what, sizeof p->what);
    get_text(o, "path", p->path, sizeof p->path);
    get_text(o, "state", word, sizeof word);
    for (int k = 0; k < (int)COUNT_OF(looked_name); k++)
        if (strcmp(word, looked_name[k]) == 0) p->looked = (enum models_looked)k;
    p->left_out = (int)MIN(get(o, "left_out"), INT32_MAX);
    m->n_places++;
}

static void get_head(struct models *m, const json_t *o)
{
    size_t i;
    json_t *p;
    json_array_foreach(json_object_get(o, "looked"), i, p) get_place(m, p);
    get_text(o, "stopped", m->stopped, sizeof m->stopped);
    m->n_again = (int)MIN(get(o, "again"), INT32_MAX);
    m->within = get(o, "within");
    if (m->within == 0) m->within = UINT64_MAX; /* not known: it was left out */
}

bool models_take_json(struct models *m, const char *line, size_t n)
{
    json_t *o = json_loadb(line, n, 0, NULL);
    bool head = json_is_array(json_object_get(o, "looked"));
    if (head && m->n_places == 0) get_head(m, o);
    else if (json_is_string(json_object_get(o, "path"))) get_row(m, o);
    json_decref(o);
    return m->n_places > 0;
}
