/* import_write.c - the lines of an import in their order: records in parts, artifacts chunk by chunk, the head last. */
#include "memory/import_impl.h"
#include "memory/journal_impl.h"
#include <errno.h>
#include <inttypes.h>
#include <sys/random.h>

_Static_assert(IMPORT_TEXT == REC_BODY_MAX - JOURNAL_HEAD_BYTES, "what an import takes can be stored");

static int bad(struct err *err, const char *why) { return err_set(err, IMPORT_BAD, "%s", why); }

/* ------------------------------------------------------------------ commits */

static int write_batch(struct import_write *w, struct err *err)
{
    memcpy(w->batch.session, w->head.id, sizeof w->batch.session);
    if (!w->batch.finishes) journal_add_piece(&w->batch, JOURNAL_UNFINISHED, "", 0);
    w->written = true; /* also when it fails: what is on the disk then is not known */
    int rc = journal_write(w->s, &w->batch, NULL, err);
    journal_batch_free(&w->batch);
    return rc;
}

static int commit_chunks(struct import_write *w, struct err *err)
{
    if (!w->putting) return 0;
    w->written = true;
    int rc = store_commit(w->s, err);
    if (rc) store_abort(w->s);
    w->putting = false;
    w->put = 0;
    return rc;
}

/* ------------------------------------------------------------------ messages */

static int add_message(struct import_write *w, uint64_t number, const struct journal_message *m, struct err *err)
{
    if (m->kind == JOURNAL_MARK && ++w->marks > IMPORT_MARKS)
        return err_set(err, IMPORT_BAD, "more than %d marks of what was taken back", IMPORT_MARKS);
    if (m->artifact && !number_set_add(&w->named, m->artifact))
        return err_set(err, STORE_NO_MEMORY, "no memory for an import");
    journal_add(&w->batch, number, m);
    return 0;
}

/* An export leaves out what was taken back.  Numbers stay as they are, since texts and marks speak of them. */
static void note_gap(struct import_write *w, uint64_t first, uint64_t last)
{
    uint8_t span[STORE_GAP];
    put_le(span, first, 8);
    put_le(span + 8, last, 8);
    if (w->gaps.len < (size_t)IMPORT_GAPS * STORE_GAP) buf_put(&w->gaps, span, sizeof span);
    else memcpy(w->gaps.data + w->gaps.len - 8, span + 8, 8);
}

static int on_message(struct import_write *w, const struct import_line *l, struct err *err)
{
    struct journal_message m = l->m;
    if (w->next_artifact > 0) return bad(err, "a message comes after artifacts");
    if (l->number < w->next) return bad(err, "its number is not greater than the one before");
    if (l->number > w->next) note_gap(w, w->next, l->number - 1);
    if (w->gaps.failed) return err_set(err, STORE_NO_MEMORY, "no memory for an import");
    w->next = l->number + 1;
    w->records++;
    m.text = l->text.data ? l->text.data : "";
    m.len = l->text.len;
    if (l->what == IMPORT_EVENT) {
        journal_add_event(&w->batch, l->number, m.text, m.len);
    } else if (l->bytes > m.len) {
        w->open.number = l->number;
        w->open.bytes = l->bytes;
        w->open.m = m;
        buf_put(&w->open.text, m.text, m.len);
    } else {
        int rc = add_message(w, l->number, &m, err);
        if (rc) return rc;
    }
    return w->batch.records.len >= JOURNAL_PART ? write_batch(w, err) : 0;
}

static int on_more(struct import_write *w, const struct import_line *l, struct err *err)
{
    if (w->open.bytes == 0 || l->number != w->open.number) return bad(err, "no text of this number is open");
    if (l->offset != w->open.text.len || l->text.len == 0 || l->text.len > w->open.bytes - l->offset)
        return bad(err, "this piece does not follow the one before");
    buf_put(&w->open.text, l->text.data, l->text.len);
    if (w->open.text.failed) return err_set(err, STORE_NO_MEMORY, "no memory for a text");
    if (w->open.text.len < w->open.bytes) return 0;
    w->open.m.text = w->open.text.data;
    w->open.m.len = w->open.text.len;
    int rc = add_message(w, w->open.number, &w->open.m, err);
    w->open.bytes = 0;
    buf_free(&w->open.text);
    return rc || w->batch.records.len < JOURNAL_PART ? rc : write_batch(w, err);
}

/* ------------------------------------------------------------------ artifacts */

static int put_chunk(struct import_write *w, struct err *err)
{
    struct buf *chunk = &w->artifact.chunk;
    uint32_t number = (uint32_t)((w->artifact.have - chunk->len) / STORE_CHUNK);
    if (!w->putting) store_begin(w->s, STORE_JOURNAL);
    w->putting = true;
    int rc = store_put_artifact_chunk(w->s, w->head.id, w->artifact.id, number, chunk->data, chunk->len, err);
    w->put += chunk->len;
    chunk->len = 0;
    return rc || w->put < JOURNAL_PART ? rc : commit_chunks(w, err);
}

static int begin_artifact(struct import_write *w, const struct import_line *l, struct err *err)
{
    if (!number_set_has(&w->named, l->artifact)) return bad(err, "no message names this artifact");
    if (l->artifact < w->next_artifact) return bad(err, "its number is not greater than the one before");
    w->next_artifact = l->artifact + 1;
    return w->batch.n_records > 0 ? write_batch(w, err) : 0;
}

static int end_artifact(struct import_write *w, struct err *err)
{
    int rc = w->artifact.chunk.len > 0 ? put_chunk(w, err) : 0;
    if (!w->putting) store_begin(w->s, STORE_JOURNAL);
    w->putting = true;
    if (!rc) rc = store_put_artifact_head(w->s, w->head.id, w->artifact.id, w->artifact.bytes, w->artifact.crc, err);
    w->artifacts++;
    w->artifact.id = 0;
    return rc;
}

static int on_piece(struct import_write *w, const struct import_line *l, struct err *err)
{
    int rc = 0;
    if (w->artifact.id == 0) {
        rc = begin_artifact(w, l, err);
        w->artifact.id = l->artifact;
        w->artifact.bytes = l->bytes;
        w->artifact.have = w->artifact.crc = 0;
    }
    if (rc) return rc;
    if (l->artifact != w->artifact.id || l->bytes != w->artifact.bytes || l->offset != w->artifact.have ||
        (l->text.len == 0) != (l->bytes == 0) || l->text.len > STORE_CHUNK || l->text.len > l->bytes - l->offset)
        return bad(err, "this piece does not follow the one before");
    w->artifact.crc = crc32c(w->artifact.crc, l->text.data ? l->text.data : "", l->text.len);
    for (size_t at = 0, n; at < l->text.len && rc == 0; at += n) {
        n = MIN(l->text.len - at, STORE_CHUNK - w->artifact.chunk.len);
        buf_put(&w->artifact.chunk, l->text.data + at, n);
        w->artifact.have += n;
        if (w->artifact.chunk.failed) return err_set(err, STORE_NO_MEMORY, "no memory for an artifact");
        if (w->artifact.chunk.len == STORE_CHUNK) rc = put_chunk(w, err);
    }
    return rc || w->artifact.have < w->artifact.bytes ? rc : end_artifact(w, err);
}

/* ------------------------------------------------------------------ the first and the last */

static int on_head(struct import_write *w, const struct import_line *l, struct err *err)
{
    if (w->begun) return bad(err, "a second head");
    w->begun = true;
    w->head = l->head;
    w->run = l->head.run;
    w->head.run = (struct journal_run){0};
    if (getrandom(w->head.id, sizeof w->head.id, 0) != (ssize_t)sizeof w->head.id)
        return err_set(err, STORE_FAILED, "no random number for a session: %s", strerror(errno));
    return 0;
}

static int on_end(struct import_write *w, const struct import_line *l, struct err *err)
{
    if (w->artifacts != w->named.n) return bad(err, "an artifact that a message names is not there");
    if (l->records != w->records || l->artifacts != w->artifacts)
        return err_set(err, IMPORT_BAD, "there should be %" PRIu64 " records and %" PRIu64 " artifacts, and are %"
                       PRIu64 " and %" PRIu64, l->records, l->artifacts, w->records, w->artifacts);
    if (w->head.turns >= MAX(w->next, (uint64_t)1)) /* such a head would be refused when it is read */
        return bad(err, "it claims more turns than it has messages");
    w->ended = true;
    return 0;
}

int import_write_line(struct import_write *w, const struct import_line *l, struct err *err)
{
    if (w->ended) return bad(err, "something follows the end");
    if (!w->begun && l->what != IMPORT_HEAD) return bad(err, "it does not begin with the head of a session");
    if (w->open.bytes > 0 && l->what != IMPORT_MORE) return bad(err, "the text before it is not complete");
    if (w->artifact.id && l->what != IMPORT_PIECE) return bad(err, "the artifact before it is not complete");
    switch (l->what) {
    case IMPORT_HEAD: return on_head(w, l, err);
    case IMPORT_MESSAGE:
    case IMPORT_EVENT: return on_message(w, l, err);
    case IMPORT_MORE: return on_more(w, l, err);
    case IMPORT_PIECE: return on_piece(w, l, err);
    case IMPORT_LOST: w->artifacts++; return begin_artifact(w, l, err);
    case IMPORT_END: return on_end(w, l, err);
    }
    return 0;
}

int import_write_end(struct import_write *w, struct err *err)
{
    int rc = commit_chunks(w, err);
    if (rc) return rc;
    w->head.next = MAX(w->next, (uint64_t)1);
    w->head.artifacts = MAX(w->next_artifact, (uint64_t)1);
    journal_add_head(&w->batch, &w->head);
    if (w->gaps.len > 0) journal_add_piece(&w->batch, STORE_GAPS, w->gaps.data, w->gaps.len);
    w->batch.finishes = true;
    return write_batch(w, err);
}

void import_write_close(struct import_write *w, bool keep)
{
    if (w->putting) store_abort(w->s);
    journal_batch_free(&w->batch);
    buf_free(&w->open.text);
    buf_free(&w->gaps);
    buf_free(&w->artifact.chunk);
    buf_free(&w->named.bits);
    if (!keep && w->written) store_delete_session(w->s, w->head.id, NULL);
    *w = (struct import_write){0};
}
