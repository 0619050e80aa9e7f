/* journal.c - records as bytes, a turn's batch, and its commit. */
#include "memory/journal_impl.h"
#include <jansson.h>

const char *journal_kind_name(enum journal_kind k)
{
    static const char *const name[JOURNAL_KINDS] = {"none", "system", "user", "answer", "call", "result", "note",
                                                    "summary", "pin", "mark", "tools", "thinking", "document"};
    assert(k < JOURNAL_KINDS);
    return name[k];
}

void journal_slot(uint32_t turn, char name[16]) { snprintf(name, 16, "window.%u", (unsigned)(turn % JOURNAL_SLOTS)); }

void journal_id_text(const uint8_t id[STORE_SESSION_ID], char text[2 * STORE_SESSION_ID + 1])
{
    for (int i = 0; i < STORE_SESSION_ID; i++) snprintf(text + 2 * i, 3, "%02x", id[i]);
}

/* ------------------------------------------------------------------ one message */

static void encode(const struct journal_message *m, uint8_t head[JOURNAL_HEAD_BYTES])
{
    memset(head, 0, JOURNAL_HEAD_BYTES);
    head[0] = (uint8_t)m->kind;
    head[1] = (uint8_t)m->flags;
    put_le(head + 4, m->turn, 4);
    put_le(head + 8, (uint64_t)m->time_ms, 8);
    put_le(head + 16, m->first, 8);
    put_le(head + 24, m->last, 8);
    put_le(head + 32, m->artifact, 8);
    put_le(head + 40, m->results, 4);
}

/* A summary and a mark speak of what was said before them. */
static bool is_range(const struct journal_message *m, uint64_t number)
{
    if (m->kind != JOURNAL_SUMMARY && m->kind != JOURNAL_MARK) return m->first <= m->last;
    return m->first > 0 && m->first <= m->last && m->last < number;
}

int journal_decode(const uint8_t *body, size_t n, uint64_t number, struct journal_message *out)
{
    if (n < JOURNAL_HEAD_BYTES || body[0] == 0 || body[0] >= JOURNAL_KINDS || body[1] > JOURNAL_FLAGS) return -1;
    struct journal_message m = {
        .kind = (enum journal_kind)body[0], .flags = body[1], .turn = (uint32_t)get_le(body + 4, 4),
        .time_ms = (int64_t)get_le(body + 8, 8), .first = get_le(body + 16, 8), .last = get_le(body + 24, 8),
        .artifact = get_le(body + 32, 8), .results = (uint32_t)get_le(body + 40, 4),
        .text = (const char *)body + JOURNAL_HEAD_BYTES, .len = n - JOURNAL_HEAD_BYTES,
    };
    if (get_le(body + 2, 2) || get_le(body + 44, 4) || !is_range(&m, number)) return -1;
    if (m.kind == JOURNAL_MARK && (m.results == 0 || m.results >= JOURNAL_MARKS)) return -1;
    if ((m.kind == JOURNAL_CALL || m.kind == JOURNAL_SUMMARY) && m.results == 0) return -1;
    if (m.artifact ? !journal_has_artifact(m.kind) : m.kind == JOURNAL_DOCUMENT) return -1;
    *out = m;
    return 0;
}

/* ------------------------------------------------------------------ the head of a session */

static void hex_of(const uint8_t id[STORE_SESSION_ID], json_t *o, const char *key)
{
    char text[2 * STORE_SESSION_ID + 1];
    journal_id_text(id, text);
    json_object_set_new(o, key, json_string(text));
}

void journal_add_head(struct journal_batch *b, const struct journal_head *h)
{
    static const uint8_t none[STORE_SESSION_ID];
    json_t *o = json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "version", 1,
                          "title", h->title, "model", h->model,
                          "created", (json_int_t)h->created_ms, "updated", (json_int_t)h->updated_ms,
                          "next", (json_int_t)h->next, "artifacts", (json_int_t)h->artifacts,
                          "turns", (json_int_t)h->turns);
    if (o && memcmp(h->parent, none, sizeof none) != 0) {
        hex_of(h->parent, o, "parent");
        json_object_set_new(o, "parent_turn", json_integer((json_int_t)h->parent_turn));
    }
    if (o && journal_in_run(h)) {
        hex_of(h->run.id, o, "run");
        json_object_set_new(o, "crew", json_string(h->run.crew));
        json_object_set_new(o, "agent", json_string(h->run.agent));
    }
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    b->head.len = 0;
    if (text) buf_puts(&b->head, text);
    b->failed |= !text || b->head.failed;
    free(text);
}

static bool get_number(const json_t *o, const char *key, uint64_t most, uint64_t *out)
{
    const json_t *v = json_object_get(o, key);
    *out = (uint64_t)json_integer_value(v);
    return json_is_integer(v) && json_integer_value(v) >= 0 && *out <= most;
}

static bool get_text(const json_t *o, const char *key, char *out, size_t cap)
{
    const json_t *v = json_object_get(o, key);
    size_t n = json_string_length(v);
    if (!json_is_string(v) || n >= cap) return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)json_string_value(v)[i] < 0x20) return false;
    memcpy(out, json_string_value(v), n + 1);
    return true;
}

static bool get_id(const json_t *o, const char *key, uint8_t id[STORE_SESSION_ID])
{
    const json_t *v = json_object_get(o, key);
    const char *s = json_string_value(v);
    if (!v) return true;
    if (!s || strlen(s) != 2 * STORE_SESSION_ID) return false;
    for (int i = 0; i < 2 * STORE_SESSION_ID; i++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, s[i]);
        if (!at) return false;
        id[i / 2] = (uint8_t)(id[i / 2] << 4 | (at - digits));
    }
    return true;
}

/* Heads of before there were runs have none of the three. */
static bool get_run(const json_t *o, struct journal_run *run)
{
    if (!json_object_get(o, "run")) return true;
    return get_id(o, "run", run->id) && get_text(o, "crew", run->crew, sizeof run->crew) &&
           get_text(o, "agent", run->agent, sizeof run->agent);
}

/* Far beyond any session, and far enough below where counting on would overflow. */
#define MOST_NUMBER ((uint64_t)1 << 48)
enum { MOST_TURNS = 1 << 30 };

bool journal_is_head(const char *json, size_t n)
{
    json_t *o = json_loadb(json, n, JSON_REJECT_DUPLICATES, NULL);
    uint64_t version;
    bool is = json_is_object(o) && get_number(o, "version", 1, &version) && version == 1;
    json_decref(o);
    return is;
}

int journal_read_head(const uint8_t id[STORE_SESSION_ID], const char *json, size_t n, struct journal_head *out)
{
    json_t *o = json_loadb(json, n, JSON_REJECT_DUPLICATES, NULL);
    struct journal_head h = {0};
    uint64_t version, created, updated, turns, parent_turn = 0;
    bool ok = json_is_object(o) && get_number(o, "version", 1, &version) && version == 1;
    ok = ok && get_text(o, "title", h.title, sizeof h.title) && get_text(o, "model", h.model, sizeof h.model);
    ok = ok && get_number(o, "created", INT64_MAX, &created) && get_number(o, "updated", INT64_MAX, &updated);
    ok = ok && get_number(o, "next", MOST_NUMBER, &h.next) && get_number(o, "artifacts", MOST_NUMBER, &h.artifacts);
    ok = ok && get_number(o, "turns", MOST_TURNS, &turns) && get_id(o, "parent", h.parent) && get_run(o, &h.run);
    ok = ok && h.next > 0 && h.artifacts > 0 && turns < h.next; /* number 0 is the session's own event */
    if (ok && json_object_get(o, "parent_turn")) ok = get_number(o, "parent_turn", MOST_TURNS, &parent_turn);
    if (ok) {
        memcpy(h.id, id, sizeof h.id);
        h.created_ms = (int64_t)created;
        h.updated_ms = (int64_t)updated;
        h.turns = (uint32_t)turns;
        h.parent_turn = (uint32_t)parent_turn;
        *out = h;
    }
    json_decref(o);
    return ok ? 0 : -1;
}

/* ------------------------------------------------------------------ a batch */

enum { AS_MESSAGE = 'm', AS_EVENT = 'e', RECORD_HEAD = 13 };

static void add(struct journal_batch *b, char as, uint64_t number, const void *front, size_t n_front, const void *rest,
                size_t n)
{
    uint8_t head[RECORD_HEAD] = {(uint8_t)as};
    if (n > REC_BODY_MAX - n_front) { /* more than a record may have */
        b->failed = true;
        return;
    }
    put_le(head + 1, number, 8);
    put_le(head + 9, n_front + n, 4);
    buf_put(&b->records, head, sizeof head);
    buf_put(&b->records, front, n_front);
    buf_put(&b->records, rest, n);
    b->failed |= b->records.failed;
    b->n_records++;
}

void journal_add(struct journal_batch *b, uint64_t number, const struct journal_message *m)
{
    uint8_t head[JOURNAL_HEAD_BYTES];
    encode(m, head);
    add(b, AS_MESSAGE, number, head, sizeof head, m->text, m->len);
}

void journal_add_event(struct journal_batch *b, uint64_t number, const char *json, size_t n)
{
    add(b, AS_EVENT, number, NULL, 0, json, n);
}

/* The piece of this name, empty; of a batch whose commit failed it may be there. */
static struct journal_piece *piece_of(struct journal_batch *b, const char *name)
{
    size_t i = 0;
    while (i < b->n_pieces && strcmp(b->piece[i].name, name) != 0) i++;
    assert(i < JOURNAL_PIECES);
    b->n_pieces = MAX(b->n_pieces, i + 1);
    struct journal_piece *p = &b->piece[i];
    snprintf(p->name, sizeof p->name, "%s", name);
    p->bytes.len = 0;
    return p;
}

void journal_add_piece(struct journal_batch *b, const char *name, const void *bytes, size_t n)
{
    struct journal_piece *p = piece_of(b, name);
    buf_put(&p->bytes, bytes, n);
    b->failed |= p->bytes.failed;
}

void journal_add_window(struct journal_batch *b, uint32_t turn, const void *bytes, size_t n)
{
    char slot[16];
    uint8_t at[4];
    journal_slot(turn, slot);
    struct journal_piece *p = piece_of(b, slot);
    put_le(at, turn, 4);
    buf_put(&p->bytes, at, sizeof at);
    buf_put(&p->bytes, bytes, n);
    b->failed |= p->bytes.failed;
}

void journal_add_artifact(struct journal_batch *b, uint64_t id, struct buf *bytes)
{
    struct journal_artifact *p = realloc(b->artifact, (b->n_artifacts + 1) * sizeof *p);
    if (p) {
        b->artifact = p;
        b->artifact[b->n_artifacts++] = (struct journal_artifact){id, *bytes};
        *bytes = (struct buf){0};
    } else {
        b->failed = true;
        buf_free(bytes);
    }
}

void journal_batch_free(struct journal_batch *b)
{
    for (size_t i = 0; i < b->n_artifacts; i++) buf_free(&b->artifact[i].bytes);
    free(b->artifact);
    buf_free(&b->records);
    buf_free(&b->head);
    for (size_t i = 0; i < b->n_pieces; i++) buf_free(&b->piece[i].bytes);
    *b = (struct journal_batch){0};
}

/* ------------------------------------------------------------------ the commit */

static int put_records(struct store *s, const struct journal_batch *b, uint64_t *bytes, struct err *err)
{
    int rc = 0;
    const char *at = b->records.data, *end = at + b->records.len;
    while (rc == 0 && at < end) {
        struct store_key key = store_key_message(b->session, get_le((const uint8_t *)at + 1, 8));
        size_t n = (size_t)get_le((const uint8_t *)at + 9, 4);
        enum rec_kind kind = *at == AS_EVENT ? REC_EVENT : REC_MESSAGE;
        rc = store_put(s, &key, kind, at + RECORD_HEAD, n, err);
        *bytes += n;
        at += RECORD_HEAD + n;
    }
    return rc;
}

static int put_all(struct store *s, const struct journal_batch *b, uint64_t *bytes, struct err *err)
{
    int rc = b->records.len > 0 ? put_records(s, b, bytes, err) : 0;
    for (size_t i = 0; i < b->n_artifacts && rc == 0; i++) {
        const struct journal_artifact *a = &b->artifact[i];
        rc = store_put_artifact(s, b->session, a->id, a->bytes.len ? a->bytes.data : "", a->bytes.len, err);
        *bytes += a->bytes.len;
    }
    for (size_t i = 0; i < b->n_pieces && rc == 0; i++) {
        const struct journal_piece *p = &b->piece[i];
        struct store_key key = store_key_piece(b->session, p->name);
        rc = store_put(s, &key, REC_PIECE, p->bytes.len ? p->bytes.data : "", p->bytes.len, err);
        *bytes += p->bytes.len;
    }
    if (rc == 0 && b->head.len > 0) {
        struct store_key key = store_key_session(b->session);
        rc = store_put(s, &key, REC_SESSION, b->head.data, b->head.len, err);
        *bytes += b->head.len;
    }
    if (rc == 0 && b->finishes) {
        struct store_key key = store_key_piece(b->session, JOURNAL_UNFINISHED);
        rc = store_remove(s, &key, err);
    }
    return rc;
}

int journal_write(struct store *s, const struct journal_batch *b, uint64_t *bytes, struct err *err)
{
    uint64_t n = 0;
    if (b->failed) return err_set(err, STORE_NO_MEMORY, "no memory for what is to be saved, or it is over 64 MiB");
    store_begin(s, STORE_JOURNAL);
    int rc = put_all(s, b, &n, err);
    if (rc == 0) rc = store_commit(s, err);
    if (rc) store_abort(s);
    if (rc == 0 && bytes) *bytes = n;
    return rc;
}
