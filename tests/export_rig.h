/* export_rig.h - the words of the tests of export and import: a small session, a text out of a store and into one.
 * Header only. */
#ifndef EXPORT_RIG_H
#define EXPORT_RIG_H
#include "memory/export.h"
#include "memory/import.h"
#include "tests/store_rig.h"
#include <jansson.h>
#include <zstd.h>

RIG uint64_t seed = 20261122;

RIG uint64_t draw(uint64_t below) { return rig_draw(&seed, below); }

/* ---------------------------------------------------------------- sessions */

RIG struct journal_head head_of(const uint8_t *id, uint64_t next, uint32_t turns)
{
    struct journal_head h = {.title = "Ships", .model = "tiny", .created_ms = 1000, .updated_ms = 2000,
                             .next = next, .artifacts = 1, .turns = turns};
    memcpy(h.id, id, sizeof h.id);
    return h;
}

RIG void add(struct journal_batch *b, uint64_t number, struct journal_message m, const char *text)
{
    m.text = text;
    m.len = m.len ? m.len : strlen(text);
    m.time_ms = 1000 + (int64_t)number;
    journal_add(b, number, &m);
}

RIG void write_all(struct store *s, struct journal_batch *b, const struct journal_head *h)
{
    memcpy(b->session, h->id, sizeof b->session);
    if (h->next > 0) journal_add_head(b, h);
    OK(journal_write(s, b, NULL, &err));
    journal_batch_free(b);
}

/* One of every kind; turn 2 was taken back. */
RIG struct journal_head small(struct store *s)
{
    struct journal_head h = head_of(ada, 12, 2);
    struct journal_batch b = {0};
    struct buf whole = {0};
    for (int i = 0; i < 5000; i++) buf_puts(&whole, "naïve ");
    h.artifacts = 2;
    memcpy(h.parent, bob, sizeof h.parent);
    h.parent_turn = 1;
    journal_add_event(&b, 0, "{\"event\":\"session_open\",\"temperature\":0.7}", 42);
    add(&b, 1, (struct journal_message){.kind = JOURNAL_SYSTEM}, "be kind");
    add(&b, 2, (struct journal_message){.kind = JOURNAL_USER, .turn = 1}, "read it");
    add(&b, 3, (struct journal_message){.kind = JOURNAL_CALL, .turn = 1, .results = 1}, "read(\"log\")");
    add(&b, 4, (struct journal_message){.kind = JOURNAL_RESULT, .turn = 1, .artifact = 1}, "na\xc3\xafve ...");
    add(&b, 5, (struct journal_message){.kind = JOURNAL_ANSWER, .turn = 1, .flags = JOURNAL_CUT}, "line\n```\nend");
    add(&b, 6, (struct journal_message){.kind = JOURNAL_USER, .turn = 2}, "secret");
    add(&b, 7, (struct journal_message){.kind = JOURNAL_ANSWER, .turn = 2}, "hidden");
    add(&b, 8, (struct journal_message){.kind = JOURNAL_MARK, .turn = 1, .first = 6, .last = 7,
                                        .results = JOURNAL_UNDONE}, "");
    add(&b, 9, (struct journal_message){.kind = JOURNAL_SUMMARY, .turn = 1, .first = 2, .last = 5, .results = 4,
                                        .flags = JOURNAL_EXTRACT}, "it was read");
    add(&b, 10, (struct journal_message){.kind = JOURNAL_PIN, .turn = 1}, "\xff\x00 bytes");
    add(&b, 11, (struct journal_message){.kind = JOURNAL_ANSWER, .turn = 2}, "done");
    journal_add_artifact(&b, 1, &whole);
    write_all(s, &b, &h);
    return h;
}

/* ---------------------------------------------------------------- out and in */

RIG struct buf lost; /* what an export could not read */

RIG bool write_buf(void *self, const char *bytes, size_t n)
{
    buf_put(self, bytes, n);
    return true;
}

RIG void missing(void *self, const char *line)
{
    (void)self;
    buf_puts(&lost, line);
}

RIG void export_to(struct store *s, const struct journal_head *h, enum export_format format, bool all,
                      struct buf *out)
{
    const struct export_sink sink = {write_buf, missing, out};
    lost.len = out->len = 0;
    OK(export_session(s, h, &(struct export_options){format, all}, &sink, &err));
    CHECK(!out->failed);
}

/* In pieces of at most `step` bytes. */
RIG int import(struct store *s, const char *bytes, size_t n, size_t step, struct journal_head *out)
{
    struct import *im;
    err = (struct err){0};
    OK(import_open(&im, s, &err));
    int rc = 0;
    for (size_t at = 0, part; at < n && rc == 0; at += part) {
        part = 1 + draw(step);
        part = MIN(part, n - at);
        char *copy = malloc(part); /* of exactly this size: ASan sees a read past it */
        memcpy(copy, bytes + at, part);
        rc = import_feed(im, copy, part, &err);
        free(copy);
    }
    if (rc == 0) rc = import_end(im, out, &err);
    import_close(im);
    return rc;
}

RIG struct buf pack(const struct buf *b, int level)
{
    size_t room = ZSTD_compressBound(b->len);
    struct buf out = {.data = malloc(room + 1), .cap = room + 1};
    out.len = ZSTD_compress(out.data, room, b->data, b->len, level);
    CHECK(!ZSTD_isError(out.len));
    return out;
}

RIG uint64_t records(struct store *s)
{
    struct store_stat st;
    OK(store_stat(s, STORE_JOURNAL, &st, &err));
    return st.records;
}

/* The first line without what a copy has of its own. */
RIG char *front(const struct buf *b)
{
    json_t *o = json_loadb(b->data, strcspn(b->data, "\n"), 0, NULL);
    CHECK(o && json_object_get(o, "id") && json_object_get(o, "updated"));
    json_object_del(o, "id");
    json_object_del(o, "updated");
    char *text = json_dumps(o, 0);
    json_decref(o);
    return text;
}

RIG void check_same(const struct buf *a, const struct buf *b)
{
    char *fa = front(a), *fb = front(b), *ra = strchr(a->data, '\n'), *rb = strchr(b->data, '\n');
    CHECK_STR(fa, fb);
    size_t na = a->len - (size_t)(ra - a->data), nb = b->len - (size_t)(rb - b->data);
    CHECK_EQ(na, nb);
    CHECK_MEM(ra, rb, na);
    free(fa);
    free(fb);
}

RIG void check_has(const struct buf *b, const char *part)
{
    if (!b->data || !strstr(b->data, part)) CHECK_STR(b->data, part);
}

RIG void check_hasnt(const struct buf *b, const char *part)
{
    if (b->data && strstr(b->data, part)) CHECK_STR(b->data, part);
}
#endif
