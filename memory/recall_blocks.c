/* recall_blocks.c - postings in blocks: written in order, read in order or from a term on.
 *
 *     block:    entry, entry, ...
 *     entry:    bytes of the term:1  term  postings:2  their bytes:2  postings
 *     posting:  chunk (less the one before in the entry), tf, terms of the chunk << 2 | its kind: varints
 *
 * A term whose postings do not fit goes on in the next block, in an entry of its own. */
#include "memory/recall_impl.h"

enum { ENTRY_MAX = 1 + FOLD_TERM_MAX + 4, POSTING_MAX = 10 + 3 + 3 };
_Static_assert((CHUNK_TERMS << 2 | 3) < 1 << 21 && RECALL_KINDS == 4, "three bytes hold a chunk's terms and its kind");

/* ------------------------------------------------------------------ numbers of one to ten bytes */

static size_t varint_put(uint8_t *at, uint64_t value)
{
    size_t n = 0;
    for (; value > 127; value >>= 7) at[n++] = (uint8_t)(value | 128);
    at[n++] = (uint8_t)value;
    return n;
}

static bool varint_get(const uint8_t *bytes, size_t end, size_t *at, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        uint64_t low = bytes[*at] & 127;
        if (shift == 63 && low > 1) return false;
        *out |= low << shift;
        if (bytes[(*at)++] < 128) return true;
    }
    return false;
}

/* ------------------------------------------------------------------ writing */

void recall_writer_open(struct writer *w, struct store *s, struct index *ix)
{
    w->store = s;
    w->session = ix->session;
    w->segment = (struct segment){.number = ix->next_segment++, .first = UINT64_MAX};
    w->n = w->entry = w->term_len = 0;
}

static void end_entry(struct writer *w)
{
    if (!w->entry) return;
    put_le(w->body + w->entry, w->count, 2);
    put_le(w->body + w->entry + 2, w->n - w->entry - 4, 2);
    w->entry = 0;
}

static int end_block(struct writer *w, struct err *err)
{
    struct store_key key = recall_block_key(w->session, w->segment.number, w->term, w->term_len, w->segment.blocks);
    end_entry(w);
    int rc = store_put(w->store, &key, REC_CACHE, w->body, w->n, err);
    w->segment.blocks++;
    w->segment.bytes += w->n;
    w->n = 0;
    return rc;
}

int recall_write_term(struct writer *w, const uint8_t *term, size_t n, struct err *err)
{
    end_entry(w);
    int rc = w->n + ENTRY_MAX + POSTING_MAX > BLOCK ? end_block(w, err) : 0;
    memcpy(w->term, term, n);
    w->term_len = n;
    return rc;
}

static void begin_entry(struct writer *w)
{
    w->body[w->n++] = (uint8_t)w->term_len;
    memcpy(w->body + w->n, w->term, w->term_len);
    w->n += w->term_len;
    w->entry = w->n;
    w->n += 4;
    w->count = 0;
    w->before = 0;
}

int recall_write(struct writer *w, const struct posting *p, struct err *err)
{
    int rc = w->n + POSTING_MAX > BLOCK ? end_block(w, err) : 0;
    if (!w->entry) begin_entry(w);
    w->n += varint_put(w->body + w->n, p->doc - w->before);
    w->n += varint_put(w->body + w->n, p->tf);
    w->n += varint_put(w->body + w->n, (uint64_t)p->terms << 2 | (unsigned)p->kind);
    w->count++;
    w->before = p->doc;
    w->segment.first = MIN(w->segment.first, p->doc);
    w->segment.last = MAX(w->segment.last, p->doc);
    return rc;
}

int recall_writer_close(struct writer *w, struct err *err) { return w->n ? end_block(w, err) : 0; }

/* ------------------------------------------------------------------ reading */

static int bad_block(const struct reader *rd, struct err *err)
{
    char name[160];
    store_key_text(rd->place.key.byte, rd->place.key.n, name);
    return err_set(err, STORE_DAMAGED, "%s is damaged: it is no block of the recall index", name);
}

static int missing(const struct reader *rd, struct err *err)
{
    return err_set(err, STORE_DAMAGED, "block %u of segment %u of the recall index is missing", rd->block,
                   rd->segment.number);
}

/* The next block of the segment.  1, 0: that was the last, or an error. */
static int load(struct reader *rd, struct err *err)
{
    const struct store_key *key = &rd->place.key;
    int rc = store_next(rd->store, &rd->place, REC_CACHE, rd->body, sizeof rd->body, &rd->n, err);
    rd->at = rd->end = 0;
    if (rc) rd->n = 0;
    if (rc == STORE_NOT_FOUND) return rd->known && rd->block != rd->segment.blocks ? missing(rd, err) : 0;
    if (rc) return rc;
    uint64_t number = get_be(key->byte + key->n - 4, 4);
    if (rd->known && number != rd->block) return missing(rd, err);
    if (rd->n == 0 || number >= rd->segment.blocks) return bad_block(rd, err);
    rd->block = (uint32_t)number + 1;
    rd->known = true;
    return 1;
}

static int compare(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    int order = memcmp(a, b, MIN(a_len, b_len));
    return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* The block's next entry.  1, 0: it has no more, or an error. */
static int entry(struct reader *rd, struct err *err)
{
    if (rd->at == rd->n) return 0;
    size_t len = rd->body[rd->at], from = rd->at + 1;
    if (len == 0 || len > FOLD_TERM_MAX || rd->n - from < len + 4) return bad_block(rd, err);
    int order = compare(rd->body + from, len, rd->term, rd->term_len);
    memcpy(rd->term, rd->body + from, len);
    rd->term_len = len;
    rd->left = (unsigned)get_le(rd->body + from + len, 2);
    rd->at = from + len + 4;
    size_t bytes = (size_t)get_le(rd->body + rd->at - 2, 2);
    if (order < 0 || rd->left == 0 || bytes > rd->n - rd->at) return bad_block(rd, err);
    rd->end = rd->at + bytes;
    if (order > 0) rd->floor = rd->segment.first;
    rd->now.doc = 0;
    return 1;
}

/* The entry's next posting; it has one. */
static int posting(struct reader *rd, struct err *err)
{
    uint64_t doc, tf, packed;
    if (!varint_get(rd->body, rd->end, &rd->at, &doc) || !varint_get(rd->body, rd->end, &rd->at, &tf) ||
        !varint_get(rd->body, rd->end, &rd->at, &packed) || size_add(doc, rd->now.doc, &doc) || doc < rd->floor ||
        doc > rd->segment.last || packed >> 2 > CHUNK_TERMS || tf == 0 || tf > packed >> 2)
        return bad_block(rd, err);
    rd->now = (struct posting){doc, (uint32_t)tf, (uint32_t)(packed >> 2), (enum recall_kind)(packed & 3)};
    rd->floor = doc + 1;
    rd->left--;
    return rd->left == 0 && rd->at != rd->end ? bad_block(rd, err) : 1;
}

/* The place is at a key of the segment; its other keys have the same front. */
static void reader_open(struct reader *rd, struct store *s, const struct segment *g, const struct store_key *key)
{
    rd->store = s;
    rd->segment = *g;
    rd->place = (struct store_place){STORE_CACHE, *key, 3 + STORE_SESSION_ID + 4, false};
    rd->n = rd->at = rd->end = rd->term_len = 0;
    rd->block = 0;
    rd->left = 0;
}

int recall_read_first(struct reader *rd, struct store *s, const uint8_t *session, const struct segment *g,
                      struct err *err)
{
    struct store_key key = recall_key('b', session);
    recall_key_add(&key, g->number, 4);
    reader_open(rd, s, g, &key);
    rd->known = true;
    return recall_read_on(rd, err);
}

int recall_read_on(struct reader *rd, struct err *err)
{
    while (rd->left == 0) {
        int rc = entry(rd, err);
        if (rc == 0) {
            rc = load(rd, err);
            if (rc <= 0) return rc;
        } else if (rc < 0) {
            return rc;
        }
    }
    return posting(rd, err);
}

int recall_seek(struct reader *rd, struct store *s, const uint8_t *session, const struct segment *g,
                const uint8_t *term, size_t n, struct err *err)
{
    struct store_key key = recall_block_key(session, g->number, term, n, 0);
    reader_open(rd, s, g, &key);
    rd->known = false;
    int rc = load(rd, err), order = -1;
    while (rc > 0 && order < 0) {
        rd->at = rd->end;
        rc = entry(rd, err);
        if (rc > 0) order = compare(rd->term, rd->term_len, term, n);
    }
    if (rc > 0 && order > 0) rc = 0;
    if (rc <= 0) rd->left = 0;
    return rc;
}

int recall_read(struct reader *rd, struct err *err)
{
    if (rd->left > 0) return posting(rd, err);
    if (rd->n == 0 || rd->at < rd->n) return 0; /* another term follows in the block */
    uint8_t term[FOLD_TERM_MAX];
    size_t n = rd->term_len;
    memcpy(term, rd->term, n);
    int rc = load(rd, err);
    if (rc > 0) rc = entry(rd, err);
    if (rc <= 0) return rc;
    return compare(term, n, rd->term, rd->term_len) == 0 ? posting(rd, err) : 0;
}
