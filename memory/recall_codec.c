/* recall_codec.c - the index's records: keys, figures, packs of chunks. */
#include "memory/recall_impl.h"

enum { INDEX_VERSION = 1, FRONT = 3 + STORE_SESSION_ID }; /* 'K' 'R' and a letter */

struct store_key recall_key(char letter, const uint8_t session[STORE_SESSION_ID])
{
    uint8_t name[FRONT - 1] = {'R', (uint8_t)letter};
    memcpy(name + 2, session, STORE_SESSION_ID);
    return store_key_cache(name, sizeof name);
}

void recall_key_add(struct store_key *key, uint64_t number, int bytes)
{
    put_be(key->byte + key->n, number, bytes);
    key->n += (size_t)bytes;
}

struct store_key recall_block_key(const uint8_t session[STORE_SESSION_ID], uint32_t segment, const uint8_t *term,
                                  size_t n, uint32_t block)
{
    struct store_key key = recall_key('b', session);
    recall_key_add(&key, segment, 4);
    memcpy(key.byte + key.n, term, n);
    key.n += n;
    key.byte[key.n++] = 0; /* no term has one: a term's blocks come before those of a longer one */
    recall_key_add(&key, block, 4);
    return key;
}

bool recall_key_session(const struct store_key *key, uint8_t session[STORE_SESSION_ID])
{
    if (key->n < FRONT || key->byte[0] != 'K' || key->byte[1] != 'R') return false;
    memcpy(session, key->byte + 3, STORE_SESSION_ID);
    return true;
}

static int strange(const struct store_key *key, struct err *err)
{
    char name[160];
    store_key_text(key->byte, key->n, name);
    return err_set(err, STORE_DAMAGED, "%s is damaged: it is no record of the recall index", name);
}

/* ------------------------------------------------------------------ a session's figures */

static void segment_encode(uint8_t *at, const struct segment *g)
{
    put_le(at, g->number, 4);
    put_le(at + 4, g->blocks, 4);
    put_le(at + 8, g->bytes, 8);
    put_le(at + 16, g->first, 8);
    put_le(at + 24, g->last, 8);
    at[32] = g->unclean;
}

static bool segment_decode(const uint8_t *at, const struct index *ix, struct segment *g)
{
    *g = (struct segment){.number = (uint32_t)get_le(at, 4),
                          .blocks = (uint32_t)get_le(at + 4, 4),
                          .bytes = get_le(at + 8, 8),
                          .first = get_le(at + 16, 8),
                          .last = get_le(at + 24, 8),
                          .unclean = at[32] & 1};
    return at[32] <= 1 && g->number < ix->next_segment && g->blocks > 0 && g->bytes > 0 &&
           g->bytes <= (uint64_t)g->blocks * BLOCK && g->first <= g->last && g->last < ix->next_doc;
}

int recall_index_put(struct store *s, const struct index *ix, uint8_t bytes[INDEX_BYTES], struct err *err)
{
    struct store_key key = recall_key('s', ix->session);
    put_le(bytes, INDEX_VERSION, 4);
    put_le(bytes + 4, ix->next_segment, 4);
    put_le(bytes + 8, ix->next_doc, 8);
    put_le(bytes + 16, ix->docs, 8);
    put_le(bytes + 24, ix->terms, 8);
    put_le(bytes + 32, ix->next, 8);
    for (uint32_t i = 0; i < ix->n; i++) segment_encode(bytes + INDEX_HEAD + i * SEGMENT_BYTES, &ix->segment[i]);
    return store_put(s, &key, REC_CACHE, bytes, INDEX_HEAD + ix->n * SEGMENT_BYTES, err);
}

int recall_index_decode(const uint8_t *bytes, size_t n, const struct store_key *key, struct index *out,
                        struct err *err)
{
    if (n < INDEX_HEAD || n > INDEX_BYTES || (n - INDEX_HEAD) % SEGMENT_BYTES != 0 || key->n != FRONT ||
        get_le(bytes, 4) != INDEX_VERSION || !recall_key_session(key, out->session))
        return strange(key, err);
    out->next_segment = (uint32_t)get_le(bytes + 4, 4);
    out->next_doc = get_le(bytes + 8, 8);
    out->docs = get_le(bytes + 16, 8);
    out->terms = get_le(bytes + 24, 8);
    out->next = get_le(bytes + 32, 8);
    out->n = (uint32_t)((n - INDEX_HEAD) / SEGMENT_BYTES);
    bool good = out->docs <= out->next_doc && out->terms / CHUNK_TERMS <= out->docs;
    for (uint32_t i = 0; good && i < out->n; i++)
        good = segment_decode(bytes + INDEX_HEAD + i * SEGMENT_BYTES, out, &out->segment[i]);
    return good ? 0 : strange(key, err);
}

/* ------------------------------------------------------------------ packs of chunks */

static void doc_encode(uint8_t *at, const struct doc *d)
{
    memset(at, 0, DOC_BYTES);
    put_le(at, d->number, 8);
    put_le(at + 8, d->doc.id, 8);
    put_le(at + 16, d->doc.at, 8);
    put_le(at + 24, d->doc.when, 8);
    put_le(at + 32, d->doc.chunk, 4);
    put_le(at + 36, d->doc.len, 4);
    put_le(at + 40, d->terms, 4);
    at[44] = (uint8_t)d->doc.kind;
}

static bool doc_decode(const uint8_t *at, const uint8_t *session, struct doc *d)
{
    *d = (struct doc){get_le(at, 8),
                      (uint32_t)get_le(at + 40, 4),
                      {.id = get_le(at + 8, 8),
                       .at = get_le(at + 16, 8),
                       .when = get_le(at + 24, 8),
                       .chunk = (uint32_t)get_le(at + 32, 4),
                       .len = (uint32_t)get_le(at + 36, 4),
                       .kind = (enum recall_kind)at[44]}};
    memcpy(d->doc.session, session, STORE_SESSION_ID);
    return at[44] < RECALL_KINDS && d->terms <= CHUNK_TERMS && d->doc.len <= RECALL_CHUNK;
}

int recall_pack_put(struct store *s, const uint8_t session[STORE_SESSION_ID], const struct pack *p, struct err *err)
{
    struct store_key key = recall_key('d', session);
    uint8_t bytes[PACK * DOC_BYTES];
    assert(p->n > 0);
    recall_key_add(&key, p->doc[p->n - 1].number, 8);
    for (size_t i = 0; i < p->n; i++) doc_encode(bytes + i * DOC_BYTES, &p->doc[i]);
    return store_put(s, &key, REC_CACHE, bytes, p->n * DOC_BYTES, err);
}

int recall_pack_decode(const uint8_t *bytes, size_t n, const struct store_key *key, struct pack *out, struct err *err)
{
    bool good = n > 0 && n % DOC_BYTES == 0 && n / DOC_BYTES <= PACK && key->n == FRONT + 8;
    out->n = 0;
    for (size_t i = 0; good && i < n / DOC_BYTES; i++) {
        good = doc_decode(bytes + i * DOC_BYTES, key->byte + 3, &out->doc[i]);
        good = good && (i == 0 || out->doc[i].number > out->doc[i - 1].number);
    }
    if (!good || out->doc[n / DOC_BYTES - 1].number != get_be(key->byte + FRONT, 8)) return strange(key, err);
    out->n = n / DOC_BYTES;
    return 0;
}
