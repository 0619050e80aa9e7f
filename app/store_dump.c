/* store_dump.c - `plimsoll store dump`: every record as a JSON line, those that are damaged with what is wrong.
 *
 *     {"part":"journal","kind":"message","session":"61..","number":3,"length":5,"text":"hello"}
 *     {"part":"journal","session":"61..","number":4,"damaged":"its checksum does not fit"}
 *     {"part":"journal","kind":"artifact","session":"61..","artifact":7,"length":12,"bytes":40000,"crc32c":"0badcafe"}
 *     {"part":"journal","kind":"bytes","session":"61..","artifact":7,"offset":0,"length":48000,"base64":"..."}
 *
 * Text is what is UTF-8 without a NUL; the rest is base64.  Chunks, which are packed, come without their bodies;
 * --artifacts gives what is in them after the artifact's own line.
 *
 * Lines are made in a short transaction and written after it: a reader that is slow (a pager) holds nothing back. */
#include "app/faces.h"
#include "app/say.h"
#include "app/signals.h"
#include "app/store_cmd.h"
#include "engine/text.h"
#include <jansson.h>
#include <unistd.h>

enum { BATCH = 1 << 20, FRONT = 1 + STORE_SESSION_ID, ARTIFACT_HEAD = 12 };
enum { PIECE = 3 * STORE_CHUNK }; /* of an artifact, in a line */

struct artifact {
    bool due; /* its bytes come next */
    uint8_t session[STORE_SESSION_ID];
    uint64_t id, bytes;
    uint32_t crc;
};

struct dump {
    struct store *store;
    bool artifacts;
    enum store_part part;
    struct store_from range; /* keys that begin so */
    struct store_from next;  /* where to go on, if more */
    bool more, failed;
    struct artifact artifact;
    struct buf text; /* lines to be written */
    struct out out;
    uint64_t damaged;
};

/* ------------------------------------------------------------------ values */

static void set(struct dump *d, json_t *line, const char *name, json_t *value)
{
    if (json_object_set_new(line, name, value)) d->failed = true;
}

/* JSON's readers take whole numbers up to 2^63 - 1; keys may have larger ones. */
static void set_number(struct dump *d, json_t *line, const char *name, uint64_t n)
{
    set(d, line, name, n <= INT64_MAX ? json_integer((json_int_t)n) : json_sprintf("%llu", (unsigned long long)n));
}

static char *base64(const uint8_t *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((n + 2) / 3 * 4 + 1), *out = text;
    if (!text) return NULL;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        *out++ = digits[three >> 18];
        *out++ = digits[three >> 12 & 63];
        *out++ = left > 1 ? digits[three >> 6 & 63] : '=';
        *out++ = left > 2 ? digits[three & 63] : '=';
    }
    *out = '\0';
    return text;
}

static bool is_text(const void *bytes, size_t n) { return text_valid_utf8(bytes, n) == n && !memchr(bytes, 0, n); }

static void set_bytes(struct dump *d, json_t *line, const char *text_name, const char *base64_name, const void *bytes,
                      size_t n)
{
    if (n == 0 || is_text(bytes, n)) {
        set(d, line, text_name, json_stringn(n ? bytes : "", n));
        return;
    }
    char *text = base64(bytes, n);
    set(d, line, base64_name, text ? json_string(text) : NULL);
    free(text);
}

static void put_line(struct dump *d, json_t *line)
{
    char *text = line && !d->failed ? json_dumps(line, JSON_COMPACT) : NULL;
    if (text) buf_puts(&d->text, text);
    else d->failed = true;
    buf_puts(&d->text, "\n");
    free(text);
    json_decref(line);
}

/* ------------------------------------------------------------------ a record */

/* What the key says, in words; one of another shape as it is. */
static void set_key(struct dump *d, json_t *line, const uint8_t *key, size_t n)
{
    char letter = n > 0 ? (char)key[0] : 0;
    if (d->part == STORE_CACHE && letter == 'K' && n > 1) {
        set_bytes(d, line, "name", "name_base64", key + 1, n - 1);
        return;
    }
    bool whole = d->part == STORE_JOURNAL &&
                 ((letter == 'S' && n == FRONT) || (letter == 'M' && n == FRONT + 8) || (letter == 'P' && n > FRONT) ||
                  (letter == 'a' && n == FRONT + 8) || (letter == 'c' && n == FRONT + 12));
    if (!whole) {
        set_bytes(d, line, "key", "key_base64", key, n);
        return;
    }
    set(d, line, "session", json_string(store_cmd_hex(key + 1, STORE_SESSION_ID).text));
    if (letter == 'M') set_number(d, line, "number", get_be(key + FRONT, 8));
    if (letter == 'P') set_bytes(d, line, "name", "name_base64", key + FRONT, n - FRONT);
    if (letter == 'a' || letter == 'c') set_number(d, line, "artifact", get_be(key + FRONT, 8));
    if (letter == 'c') set_number(d, line, "chunk", get_be(key + FRONT + 8, 4));
}

static void set_body(struct dump *d, json_t *line, const struct store_entry *e)
{
    const struct rec *r = &e->rec;
    set_number(d, line, "length", r->len);
    if (r->kind == REC_CHUNK) return;
    if (r->kind != REC_ARTIFACT || r->len != ARTIFACT_HEAD || e->key_len != FRONT + 8 || e->key[0] != 'a') {
        set_bytes(d, line, "text", "base64", r->body, r->len);
        return;
    }
    struct artifact *a = &d->artifact;
    *a = (struct artifact){.due = d->artifacts, .id = get_be(e->key + FRONT, 8), .bytes = get_le(r->body, 8),
                           .crc = (uint32_t)get_le(r->body + 8, 4)};
    memcpy(a->session, e->key + 1, STORE_SESSION_ID);
    set_number(d, line, "bytes", a->bytes);
    set(d, line, "crc32c", json_sprintf("%08x", (unsigned)a->crc));
}

static json_t *new_line(struct dump *d, const char *kind)
{
    json_t *line = json_object();
    set(d, line, "part", json_string(d->part == STORE_JOURNAL ? "journal" : "cache"));
    if (kind) set(d, line, "kind", json_string(kind));
    return line;
}

/* false: enough for now; *next says where to go on, if there is more. */
static bool record(void *user, const struct store_entry *e)
{
    static const char *const kind[REC_KINDS] = {
        [REC_SESSION] = "session", [REC_MESSAGE] = "message", [REC_EVENT] = "event", [REC_PIECE] = "piece",
        [REC_ARTIFACT] = "artifact", [REC_CHUNK] = "chunk", [REC_CACHE] = "cache", [REC_WIPE] = "wipe"};
    struct dump *d = user;
    if (e->key_len < d->range.n || memcmp(e->key, d->range.byte, d->range.n) != 0) return false;
    if ((d->text.len >= BATCH || d->artifact.due) && e->key_len <= STORE_ANY_KEY) {
        d->more = true;
        memcpy(d->next.byte, e->key, e->key_len);
        d->next.n = e->key_len;
        return false;
    }
    json_t *line = new_line(d, e->why ? NULL : kind[e->rec.kind]);
    set_key(d, line, e->key, e->key_len);
    if (e->why) set(d, line, "damaged", json_string(e->why));
    else set_body(d, line, e);
    d->damaged += e->why != NULL;
    put_line(d, line);
    return !d->failed;
}

static void flush(struct dump *d)
{
    if (d->text.failed) d->failed = true;
    out_put(&d->out, d->text.data, d->text.len);
    d->text.len = 0;
}

static bool goes_on(const struct dump *d) { return !d->failed && !d->out.failed && !signals_pending(); }

/* ------------------------------------------------------------------ an artifact's bytes */

/* So much of a piece that no character is cut, if it is text as far as that. */
static size_t whole_characters(const struct buf *piece, bool last)
{
    size_t valid = text_valid_utf8(piece->data, piece->len);
    return !last && piece->len - valid < 4 && valid > 0 ? valid : piece->len;
}

static json_t *artifact_line(struct dump *d, const struct artifact *a, uint64_t offset)
{
    json_t *line = new_line(d, "bytes");
    set(d, line, "session", json_string(store_cmd_hex(a->session, STORE_SESSION_ID).text));
    set_number(d, line, "artifact", a->id);
    set_number(d, line, "offset", offset);
    return line;
}

static void artifact_damaged(struct dump *d, const struct artifact *a, uint64_t offset, const char *why)
{
    json_t *line = artifact_line(d, a, offset);
    set(d, line, "damaged", json_string(why));
    d->damaged++;
    put_line(d, line);
}

/* No size is believed: each piece is asked for, and what comes is what there is. */
static void dump_artifact(struct dump *d)
{
    const struct artifact a = d->artifact;
    struct buf piece = {0};
    struct err err = {0};
    uint64_t at = 0;
    uint32_t crc = 0;
    int rc = 0;
    d->artifact.due = false;
    while (!rc && at < a.bytes && goes_on(d)) {
        piece.len = 0;
        rc = store_read_artifact(d->store, a.session, a.id, at, PIECE, &piece, &err);
        if (!rc && piece.len == 0) rc = err_set(&err, STORE_DAMAGED, "it ended before its size");
        if (rc) break;
        piece.len = whole_characters(&piece, a.bytes - at <= piece.len);
        crc = crc32c(crc, piece.data, piece.len);
        json_t *line = artifact_line(d, &a, at);
        set_number(d, line, "length", piece.len);
        set_bytes(d, line, "text", "base64", piece.data, piece.len);
        put_line(d, line);
        at += piece.len;
        flush(d);
    }
    if (rc) artifact_damaged(d, &a, at, err.text);
    else if (at >= a.bytes && crc != a.crc) artifact_damaged(d, &a, at, "the checksum of all of it does not fit");
    flush(d);
    buf_free(&piece);
}

/* ------------------------------------------------------------------ all of it */

/* The records of a part whose keys begin with these bytes. */
static int dump_range(struct dump *d, enum store_part part, const struct store_from *range, struct err *err)
{
    int rc = 0;
    d->part = part;
    d->range = d->next = *range;
    do {
        const struct store_from from = d->next;
        d->more = false;
        rc = store_each_record(d->store, part, &from, record, d, err);
        flush(d);
        if (!rc && d->artifact.due) dump_artifact(d);
    } while (!rc && d->more && goes_on(d));
    return rc;
}

static int dump_session(struct dump *d, const uint8_t *session, struct err *err)
{
    int rc = 0;
    for (const char *c = "SMPac"; *c && !rc && goes_on(d); c++) {
        struct store_from range = {.byte = {(uint8_t)*c}, .n = FRONT};
        memcpy(range.byte + 1, session, STORE_SESSION_ID);
        rc = dump_range(d, STORE_JOURNAL, &range, err);
    }
    return rc;
}

/* The one session whose id begins so.  EXIT_DONE, or the exit status and it was said why. */
static int find_session(struct store *s, const char *digits, uint8_t session[STORE_SESSION_ID], struct err *err)
{
    struct store_session_stat *list;
    size_t n, hits = 0;
    if (store_stat_sessions(s, &list, &n, err)) {
        say_error("%s", err->text);
        return EXIT_INTERNAL;
    }
    for (size_t i = 0; i < n; i++) {
        if (strncasecmp(store_cmd_hex(list[i].session, STORE_SESSION_ID).text, digits, strlen(digits)) != 0) continue;
        memcpy(session, list[i].session, STORE_SESSION_ID);
        hits++;
    }
    free(list);
    if (hits == 0) say_error("no session's id begins with %s (plimsoll store stat lists them)", digits);
    if (hits > 1) say_error("the ids of %zu sessions begin with %s: give more of it", hits, digits);
    return hits == 1 ? EXIT_DONE : EXIT_USAGE;
}

static int dump_all(struct dump *d, const struct store_args *a)
{
    const struct store_from all = {.n = 0};
    uint8_t session[STORE_SESSION_ID] = {0};
    struct err err = {0};
    int status = a->session ? find_session(d->store, a->session, session, &err) : EXIT_DONE;
    if (status != EXIT_DONE) return status;
    int rc = a->session ? dump_session(d, session, &err) : dump_range(d, STORE_JOURNAL, &all, &err);
    if (!rc && a->cache && goes_on(d)) rc = dump_range(d, STORE_CACHE, &all, &err);
    out_end(&d->out);
    if (rc) say_error("%s", err.text);
    else if (d->failed) say_error("out of memory");
    if (rc || d->failed) return EXIT_INTERNAL;
    if (signals_pending()) return 128 + signals_pending();
    if (d->damaged && !d->out.failed)
        say_error("%llu damaged, see the lines that say so", (unsigned long long)d->damaged);
    return d->damaged && !d->out.failed ? EXIT_INTERNAL : EXIT_DONE;
}

int store_dump_run(const struct store_args *a)
{
    struct dump d = {.artifacts = a->artifacts};
    struct err err = {0};
    int status = store_cmd_open(&d.store, a->dir, true);
    if (status != EXIT_DONE) return status;
    out_init(&d.out, STDOUT_FILENO);
    if (signals_open(&err)) {
        say_error("%s", err.text);
        status = EXIT_INTERNAL;
    } else {
        status = dump_all(&d, a);
    }
    store_close(d.store);
    buf_free(&d.text);
    return face_finish(&d.out, status);
}
