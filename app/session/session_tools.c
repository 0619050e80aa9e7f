/* session_tools.c - the tools that a conversation's own memory is read with, and the boundary that every result passes:
 * clipped to what a call can carry, the whole kept as an artifact. */
#include "app/say.h"
#include "app/session/session_impl.h"
#include "app/session/tool_schema.h"
#include "app/thinking.h"
#include "memory/forms.h"
#include "tools/clip.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTACH_MOST = 64 << 20, COUNTED = 1 << 20, SHARE = 4, RESULT_LEAST = 32, RESULT_MOST = 2048, QUERY_MOST = 200 };

/* ---------------------------------------------------------------- tokens */

size_t session_tokens(struct session *s, const char *text, size_t n)
{
    struct engine_count empty = {0}, whole = {0};
    const struct msg none = {.role = ROLE_TOOL, .text = "", .len = 0}, m = {.role = ROLE_TOOL, .text = text, .len = n};
    if (s->a->ops->count_tokens(s->a->engine, &none, 1, &empty, NULL)) return SIZE_MAX;
    if (s->a->ops->count_tokens(s->a->engine, &m, 1, &whole, NULL)) return SIZE_MAX;
    return (size_t)MAX(0, whole.tokens - empty.tokens);
}

static size_t tokens_of(void *self, const char *text, size_t n) { return session_tokens(self, text, n); }

/* Of a large text two figures are exact, from its first MiB. */
static int64_t tokens_about(struct session *s, const struct buf *b)
{
    size_t counted = MIN(b->len, (size_t)COUNTED), n = tokens_of(s, b->data ? b->data : "", counted);
    if (counted == b->len || n == SIZE_MAX) return (int64_t)MIN(n, (size_t)INT64_MAX);
    double all = (double)n * ((double)b->len / (double)counted), unit = 1;
    while (all / unit >= 100) unit *= 10;
    return (int64_t)((double)(int64_t)(all / unit) * unit);
}

/* A share of the room beside the front, so that a result never drives the conversation out. */
size_t session_room(struct session *s)
{
    struct window_figures f;
    window_figures(s->w, &f);
    int64_t front = f.part[WINDOW_SYSTEM] + f.part[WINDOW_TOOLS] + f.part[WINDOW_PINNED];
    return (size_t)MAX(RESULT_LEAST, MIN(RESULT_MOST, (f.limit - front) / SHARE));
}

/* ---------------------------------------------------------------- the boundary */

struct result {
    const char *by, *name;
    struct buf text;      /* what the model sees */
    uint64_t artifact;    /* 0: all of it is in text */
    uint64_t bytes;
    bool failed;
    bool quote;           /* words that the store has already */
    char names[120];      /* of recall: whose words, "m3, m4"; else empty */
};

static void fail(struct result *r, const struct err *err)
{
    r->failed = true;
    r->text.len = 0;
    buf_printf(&r->text, "error: %s", err->text);
}

static void name_artifact(uint64_t id, char name[24]) { snprintf(name, 24, "a%" PRIu64, id); }

static void put_notice(uint64_t id, const struct clip_figures *f, int64_t total, const struct buf *shown,
                       struct result *r)
{
    char name[24];
    name_artifact(id, name);
    const struct form_rest rest = {.id = form_text(name), .shown = (int64_t)f->tokens, .total = total,
                                   .offset = (int64_t)f->next};
    forms_result((struct form_text){shown->data ? shown->data : "", shown->len}, &rest, &r->text);
}

/* The whole as an artifact, which a message names, so that copies of the session have it too; the model is told how to
 * read on. */
static int keep_whole(struct session *s, const char *name, const char *text, size_t n, uint64_t *id, struct err *err)
{
    struct buf whole = {0};
    const struct journal_message m = {.kind = JOURNAL_DOCUMENT, .turn = s->keep.head.turns, .text = name,
                                      .len = strlen(name), .artifact = s->keep.head.artifacts};
    buf_put(&whole, text, n);
    s->batch.failed |= whole.failed;
    journal_add_artifact(&s->batch, m.artifact, &whole);
    buf_free(&whole);
    if (session_note(s, &m, err) == 0) return -1;
    *id = s->keep.head.artifacts++;
    return session_offer_tools(s, err);
}

int session_hand_over(struct session *s, const char *text, size_t n, size_t tokens, struct buf *out,
                      uint64_t *artifact, struct err *err)
{
    struct clip_config cfg = {.counter = {tokens_of, s}, .max_tokens = tokens};
    struct clip_figures f;
    *artifact = 0;
    if (clip_whole(&cfg, text, n, out, &f, err)) return -1;
    return f.whole || !session_saves(s) ? 0 : keep_whole(s, "hand-over", text, n, artifact, err);
}

int session_put_data(struct session *s, const char *data, size_t n, size_t tokens, struct buf *out, struct err *err)
{
    struct result r = {0};
    struct clip_config cfg = {.counter = {tokens_of, s}, .max_tokens = tokens};
    struct clip_figures f;
    struct buf shown = {0};
    const struct buf all = {.data = (char *)(uintptr_t)data, .len = n};
    int rc = clip_whole(&cfg, data, n, &shown, &f, err);
    if (rc == 0 && !f.whole && session_saves(s)) {
        rc = keep_whole(s, "stdin", data, n, &r.artifact, err);
        if (rc == 0) put_notice(r.artifact, &f, tokens_about(s, &all), &shown, &r);
    }
    const struct buf *text = r.text.len > 0 ? &r.text : &shown;
    buf_put(out, text->data ? text->data : "", text->len);
    buf_free(&r.text);
    buf_free(&shown);
    return rc == 0 && out->failed ? err_set(err, -1, "no memory for the data") : rc;
}

/* Clips the whole, which becomes an artifact if anything is left out; bytes is emptied. */
static int clip_result(struct session *s, struct buf *bytes, enum clip_kind kind, struct result *r, struct err *err)
{
    struct clip_config cfg = {.counter = {tokens_of, s}, .max_tokens = session_room(s), .kind = kind};
    struct clip_figures f;
    struct buf shown = {0};
    r->bytes = bytes->len;
    int rc = clip_whole(&cfg, bytes->data ? bytes->data : "", bytes->len, &shown, &f, err);
    if (rc == 0 && f.whole) {
        r->text = shown;
        buf_free(bytes);
        return 0;
    }
    if (rc == 0) {
        uint64_t id = s->keep.head.artifacts;
        put_notice(id, &f, tokens_about(s, bytes), &shown, r);
        if (session_saves(s)) {
            journal_add_artifact(&s->batch, id, bytes);
            s->keep.head.artifacts++;
            r->artifact = id;
        }
    }
    buf_free(&shown);
    buf_free(bytes);
    return rc;
}

/* ---------------------------------------------------------------- into the conversation */

static void tell(struct session *s, const struct result *r, const char *arguments)
{
    char name[24] = "";
    size_t tokens = tokens_of(s, r->text.data ? r->text.data : "", r->text.len);
    bool by_model = strcmp(r->by, "model") == 0; /* within the turn that was admitted last; others come before one */
    if (r->artifact) name_artifact(r->artifact, name);
    struct event e = {.kind = EV_TOOL, .tool = {
        .turn = s->voice.turns + !by_model, .by = event_str(r->by), .name = event_str(r->name),
        .arguments = event_str(arguments), .failed = r->failed, .artifact = event_str(name),
        .bytes = (int64_t)r->bytes, .tokens = (int64_t)tokens,
        .text = {r->text.data ? r->text.data : "", r->text.len}}};
    trace_put(&s->a->trace, &e);
    say_dim("[%s %s: %s%zu tokens%s%s%s%s]", r->name, arguments, r->failed ? "failed, " : "", tokens,
            *name ? ", clipped; the whole is artifact " : "", name, *r->names ? " of " : "", r->names);
}

/* A call and its result enter together. */
static int append(struct session *s, const char *call, size_t n_call, const struct result *r, struct err *err)
{
    struct journal_message m = {.kind = JOURNAL_CALL, .turn = s->keep.head.turns + 1, .results = 1, .text = call,
                                .len = n_call};
    uint64_t id = session_note(s, &m, err);
    if (id == 0 || window_append(s->w, WINDOW_CALL, id, 1, err)) return -1;
    m = (struct journal_message){.kind = JOURNAL_RESULT, .turn = s->keep.head.turns + 1, .artifact = r->artifact,
                                 .flags = r->quote ? JOURNAL_QUOTE : 0,
                                 .text = r->text.data ? r->text.data : "", .len = r->text.len};
    id = r->text.failed ? 0 : session_note(s, &m, err);
    if (id == 0) return err_set(err, -1, "no memory for a result");
    return window_append(s->w, WINDOW_RESULT, id, 0, err);
}

/* As the model would have written it. */
static int append_ours(struct session *s, const char *arguments, const struct result *r, struct err *err)
{
    struct buf call = {0};
    int rc = forms_call(r->name, form_text(arguments), &call, err);
    if (rc == 0) rc = append(s, call.data, call.len, r, err);
    buf_free(&call);
    return rc;
}

/* ---------------------------------------------------------------- artifacts */

struct piece {
    const uint8_t *session;
    uint64_t id, at;
    size_t n;
    struct buf *out;
    uint64_t bytes;
};

static int read_piece(struct store *st, void *arg, struct err *err)
{
    struct piece *p = arg;
    p->out->len = 0;
    return store_read_artifact(st, p->session, p->id, p->at, p->n, p->out, err);
}

static int read_size(struct store *st, void *arg, struct err *err)
{
    struct piece *p = arg;
    return store_artifact_size(st, p->session, p->id, &p->bytes, err);
}

struct artifact_source {
    struct session *s;
    struct piece p;
    struct buf bytes;
};

static int get_bytes(void *self, uint64_t at, char *out, size_t n, struct err *err)
{
    struct artifact_source *a = self;
    a->p.at = at;
    a->p.n = n;
    if (keep_call(&a->s->keep, read_piece, &a->p, err)) return -1;
    if (a->bytes.len != n) return err_set(err, -1, "artifact a%" PRIu64 " ends early", a->p.id);
    memcpy(out, a->bytes.data, n);
    return 0;
}

int session_read_artifact(struct session *s, uint64_t id, const struct clip_request *ask, struct buf *out,
                          struct clip_figures *f, struct err *err)
{
    struct artifact_source a = {.s = s, .p = {.session = s->keep.head.id, .id = id}};
    if (!session_saves(s)) return err_set(err, -1, "this session is not saved: it has no artifacts");
    session_settle(s); /* it may be on its way there */
    a.p.out = &a.bytes;
    int rc = keep_call(&s->keep, read_size, &a.p, err);
    if (rc) return rc == STORE_NOT_FOUND ? err_set(err, -1, "no such artifact: a%" PRIu64, id) : rc;
    struct clip_source source = {get_bytes, &a, a.p.bytes};
    struct clip_config cfg = {.counter = {tokens_of, s}, .max_tokens = session_room(s), .kind = CLIP_TEXT};
    rc = clip_read(&cfg, &source, ask, out, f, err);
    buf_free(&a.bytes);
    return rc;
}

bool session_artifact_name(const char *name, size_t n, uint64_t *id)
{
    *id = 0;
    if (n < 2 || n > 12 || name[0] != 'a') return false;
    for (size_t i = 1; i < n; i++) {
        if (name[i] < '0' || name[i] > '9') return false;
        *id = *id * 10 + (uint64_t)(name[i] - '0');
    }
    return true;
}

/* A message that left, as a text to read on in: its reference line names it like an artifact. */
static int read_messages(struct session *s, const char *name, size_t n, uint64_t offset, struct result *r,
                         struct err *err)
{
    uint64_t first, last;
    struct buf all = {0};
    if (!window_ref_read(name, n, &first, &last))
        return err_set(err, -1, "no such artifact: %.*s", (int)MIN(n, (size_t)40), name);
    for (uint64_t id = first; id <= last && id < s->keep.head.next && all.len < COUNTED; id++) {
        const struct text_entry *e = texts_get(&s->texts, id, NULL);
        if (!e || e->kind == JOURNAL_MARK) continue;
        buf_printf(&all, "%s: ", journal_kind_name(e->kind));
        buf_put(&all, e->text, e->len);
        buf_puts(&all, "\n");
    }
    if (all.len == 0 || offset >= all.len) {
        buf_free(&all);
        return err_set(err, -1, "the offset is past the end of %.*s", (int)MIN(n, (size_t)40), name);
    }
    struct clip_figures f;
    struct buf shown = {0};
    struct clip_config cfg = {.counter = {tokens_of, s}, .max_tokens = session_room(s), .kind = CLIP_TEXT};
    int rc = clip_whole(&cfg, all.data + offset, all.len - offset, &shown, &f, err);
    struct form_rest rest = {.id = {name, n}, .end = f.whole, .shown = (int64_t)f.tokens,
                             .total = tokens_about(s, &all), .offset = (int64_t)(offset + f.next)};
    r->bytes = all.len - offset;
    if (rc == 0) forms_result((struct form_text){shown.data ? shown.data : "", shown.len}, &rest, &r->text);
    buf_free(&shown);
    buf_free(&all);
    return rc;
}

static int tool_artifact(struct session *s, const json_t *args, struct result *r, struct err *err)
{
    r->quote = true;
    const char *name = json_string_value(json_object_get(args, "id"));
    json_int_t offset = json_integer_value(json_object_get(args, "offset"));
    size_t n = json_string_length(json_object_get(args, "id"));
    struct clip_figures f;
    struct buf shown = {0};
    uint64_t id;
    if (offset < 0) return err_set(err, -1, "the offset is negative");
    if (n > 0 && name[0] == 'm') return read_messages(s, name, n, (uint64_t)offset, r, err);
    if (!session_artifact_name(name, n, &id)) return err_set(err, -1, "no such artifact: %.40s", name);
    struct clip_request ask = {.by = CLIP_BY_OFFSET, .from = (uint64_t)offset};
    int rc = session_read_artifact(s, id, &ask, &shown, &f, err);
    if (rc == 0) {
        uint64_t left = f.bytes - (uint64_t)offset, about = f.shown_bytes ? f.tokens * left / f.shown_bytes : 0;
        struct form_rest rest = {.id = {name, n}, .end = f.next >= f.bytes, .shown = (int64_t)f.tokens,
                                 .total = (int64_t)about, .offset = (int64_t)f.next};
        r->bytes = f.bytes;
        forms_result((struct form_text){shown.data ? shown.data : "", shown.len}, &rest, &r->text);
    }
    buf_free(&shown);
    return rc;
}

/* ---------------------------------------------------------------- recall */

enum { HITS = 5 };

/* The best of what was found, as many as a result has room for: a line each, "user: ..." if it is all that was said,
 * else "m12: ...", by which it is read on.  names: of all of them, for the person. */
static void put_quotes(struct session *s, const struct remember_found *f, size_t room, struct result *r)
{
    struct buf *out = &r->text;
    size_t names = 0;
    for (int i = 0; i < f->n; i++) {
        const struct remember_quote *q = &f->quote[i];
        const char *text = f->text.data + q->at, *speaker = session_quote_speaker(s, q);
        size_t before = out->len;
        buf_printf(out, "%s%s: ", i ? "\n" : "", speaker ? speaker : q->name);
        for (size_t k = 0; k < q->len; k++) buf_put(out, text[k] == '\n' || text[k] == '\r' ? " " : text + k, 1);
        if (!out->failed && tokens_of(s, out->data, out->len) > room) {
            out->len = before;
            break;
        }
        int len = snprintf(r->names + names, sizeof r->names - names, "%s%s", i ? ", " : "", q->name);
        names = MIN(names + (size_t)MAX(len, 0), sizeof r->names - 1);
    }
    if (out->len == 0) buf_puts(out, "nothing found");
    r->bytes = out->len;
}

static int tool_recall(struct session *s, const json_t *args, struct result *r, struct err *err)
{
    struct remember_found found;
    const json_t *query = json_object_get(args, "query");
    const struct session_question q = {.text = json_string_value(query), .n = json_string_length(query), .k = RECALL_K};
    int rc = session_recall(s, &q, &found, err);
    r->quote = true;
    if (rc == 0) {
        session_choose_quotes(s, q.text, q.n, &found);
        found.n = MIN(found.n, HITS);
        put_quotes(s, &found, session_room(s), r);
    }
    remember_free(&found);
    return rc;
}

int session_recalled(struct session *s, const char *query, size_t n, const struct remember_found *found,
                     struct err *err)
{
    struct result r = {.by = "plimsoll", .name = "recall", .quote = true};
    json_t *o = json_pack("{s:s%}", "query", query, MIN(n, (size_t)QUERY_MOST));
    char *args = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    if (!args) return 0; /* a question that is no UTF-8, or cut within a character: without */
    put_quotes(s, found, session_room(s) / 2, &r);
    int rc = append_ours(s, args, &r, err);
    if (rc == 0) tell(s, &r, args);
    buf_free(&r.text);
    free(args);
    return rc ? -1 : 0;
}

/* ---------------------------------------------------------------- calls of the model */

static const struct memory_tool {
    const char *name;
    int (*run)(struct session *s, const json_t *args, struct result *r, struct err *err);
} tools[] = {
    {"artifact", tool_artifact},
    {"recall", tool_recall},
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
    if (rc == 0) rc = clip_result(s, &bytes, kind, r, err);
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
    if (err.code) fail(r, &err);
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
    bool recall = !s->a->o->recall || strcmp(s->a->o->recall, "off") != 0;
    for (int i = 0; i < s->role.n_tools && n < TOOLBOX_TOOLS; i++)
        if (!is_memory(s->role.tools[i])) name[n++] = s->role.tools[i];
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        if (recall || tools[i].run != tool_recall) name[n++] = tools[i].name;
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
    int n = names_of(s, name), rc = forms_tool_lines(name, n, &lines, err);
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
    if (s->keep.head.turns > 0 || s->acknowledged > 0) return session_save(s, err);
    session_remember(s); /* a session begins to be saved with its first turn */
    return 0;
}

bool session_read_call(const struct buf *answer, struct form_call *call)
{
    const char *text = answer->data ? answer->data : "";
    size_t at = thinking_end(text, answer->len);
    return forms_read_call(text + at, answer->len - at, call, NULL) == 0;
}

int session_make_call(struct session *s, const struct buf *answer, const struct form_call *call, struct buf *got,
                      bool *failed, struct err *err)
{
    struct result r = {.by = "model", .name = call->name};
    const char *text = answer->data ? answer->data : "";
    size_t at = thinking_end(text, answer->len);
    s->calls++;
    run_call(s, call, &r);
    tell(s, &r, call->arguments);
    int rc = append(s, text + at, answer->len - at, &r, err);
    *failed = r.failed;
    *got = r.text;
    return rc ? -1 : 0;
}

/* ---------------------------------------------------------------- attach */

static int read_file(const char *path, struct buf *out, struct err *err)
{
    char part[1 << 16];
    struct stat st;
    ssize_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return err_set(err, -1, "%.200s: %s", path, strerror(errno));
    int rc = fstat(fd, &st) || !S_ISREG(st.st_mode) ? err_set(err, -1, "%.200s is no regular file", path) : 0;
    while (rc == 0 && (n = read(fd, part, sizeof part)) > 0) {
        buf_put(out, part, (size_t)n);
        if (out->len > ATTACH_MOST) rc = err_set(err, -1, "%.200s is over %d MiB", path, ATTACH_MOST >> 20);
        if (out->failed) rc = err_set(err, -1, "%.200s: no memory for it", path);
    }
    if (rc == 0 && n < 0) rc = err_set(err, -1, "%.200s: %s", path, strerror(errno));
    close(fd);
    return rc;
}

/* Its name tells more than a look at its first lines. */
static enum clip_kind kind_of(const char *path)
{
    static const struct { const char *end; enum clip_kind kind; } known[] = {
        {".log", CLIP_LOG}, {".json", CLIP_JSON}, {".csv", CLIP_CSV}, {".tsv", CLIP_CSV}, {".md", CLIP_TEXT},
    };
    size_t n = strlen(path);
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        size_t end = strlen(known[i].end);
        if (n > end && strcmp(path + n - end, known[i].end) == 0) return known[i].kind;
    }
    return CLIP_AUTO;
}

static char *path_argument(const char *path)
{
    json_t *o = json_pack("{s:s}", "path", path);
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    return text;
}

int session_result(struct session *s, const struct session_tool *t, struct buf *bytes, struct err *err)
{
    struct result r = {.by = t->by, .name = t->name};
    int rc = clip_result(s, bytes, t->kind, &r, err);
    if (rc == 0 && r.artifact) rc = session_offer_tools(s, err);
    if (rc == 0) rc = append_ours(s, t->arguments, &r, err);
    if (rc == 0) tell(s, &r, t->arguments);
    buf_free(&r.text);
    return rc ? -1 : 0;
}

int session_attach_file(struct session *s, const char *path, struct err *err)
{
    struct buf bytes = {0}, before = {0};
    uint64_t first = s->keep.head.next;
    char *args = path_argument(path);
    int rc = args ? read_file(path, &bytes, err) : err_set(err, -1, "%.200s is no name in UTF-8", path);
    window_save(s->w, s->vocabulary, &before);
    if (before.failed) rc = err_set(err, -1, "no memory for %.200s", path);
    const struct session_tool read = {.by = "user", .name = "read", .arguments = args, .kind = kind_of(path)};
    if (rc == 0) rc = session_result(s, &read, &bytes, err);
    if (rc && !before.failed) session_withdraw(s, &before, first);
    session_tell(s);
    struct err save = {0};
    if (session_save(s, &save)) app_error(s->a, "store", save.text);
    buf_free(&before);
    buf_free(&bytes);
    free(args);
    return rc;
}

int session_ingest(struct session *s, const char *path, struct err *err)
{
    struct buf bytes = {0};
    if (!session_saves(s)) return err_set(err, -1, "this session is not saved: nothing can be ingested");
    char *args = path_argument(path); /* a name that JSON can say can be shown */
    int rc = args ? read_file(path, &bytes, err) : err_set(err, -1, "%.200s is no name in UTF-8", path);
    if (rc == 0) {
        struct journal_message m = {.kind = JOURNAL_DOCUMENT, .turn = s->keep.head.turns, .text = path,
                                    .len = strlen(path), .artifact = s->keep.head.artifacts};
        journal_add_artifact(&s->batch, s->keep.head.artifacts, &bytes);
        rc = session_note(s, &m, err) ? 0 : -1;
        s->keep.head.artifacts++;
    }
    if (rc == 0) rc = session_offer_tools(s, err);
    session_tell(s);
    if (rc == 0) rc = session_save(s, err);
    session_index(s);
    buf_free(&bytes);
    free(args);
    return rc;
}
