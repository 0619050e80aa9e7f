/* spm.c - SentencePiece BPE ("llama"): spaces become U+2581, and over the whole text the neighbours whose joint
 * spelling is the token of the highest score are joined, leftmost first, until none is left.  What is then no token is
 * written as byte tokens. */
#include "engine/text.h"
#include "engine/vocab_impl.h"

#include <math.h>

static const char lower_block[3] = {'\xe2', '\x96', '\x81'}; /* U+2581 */

/* ---------------------------------------------------------------- the file's keys */

/* The byte of "<0x41>"; -1: another spelling.  Read by hand: strtol() would take "<0x-1>". */
static int byte_of(const struct token *t)
{
    if (t->n_spelling != 6 || memcmp(t->spelling, "<0x", 3) != 0 || t->spelling[5] != '>') return -1;
    int value = 0;
    for (int i = 3; i < 5; i++) {
        char c = t->spelling[i];
        if (c >= '0' && c <= '9') value = 16 * value + (c - '0');
        else if (c >= 'A' && c <= 'F') value = 16 * value + (c - 'A' + 10);
        else if (c >= 'a' && c <= 'f') value = 16 * value + (c - 'a' + 10);
        else return -1;
    }
    return value;
}

/* Which token is which byte.  A file without token types is read by spelling. */
static int open_bytes(struct vocab *v, const struct gguf *g, struct err *err)
{
    bool typed = gguf_has(g, "tokenizer.ggml.token_type");
    for (int i = v->n - 1; i >= 0; i--) { /* downwards: of doubles the first counts */
        struct token *t = &v->token[i];
        int byte = byte_of(t);
        if (!typed && byte >= 0) t->attr = VOCAB_BYTE;
        if (t->attr != VOCAB_BYTE) continue;
        if (byte < 0) {
            char shown[QUOTE_ROOM];
            return vocab_fail(g, err,
                              "tokenizer.ggml.tokens[%d] is of type byte but %s; \"<0x00>\" to \"<0xFF>\" are bytes", i,
                              vocab_quote(shown, t->spelling, t->n_spelling));
        }
        v->byte_id[byte] = i;
    }
    return 0;
}

static int open_scores(struct vocab *v, const struct gguf *g, struct err *err)
{
    static const char key[] = "tokenizer.ggml.scores";
    const float *score;
    uint64_t n;
    int rc = gguf_float_array(g, key, &score, &n, err);
    if (rc == GGUF_MISSING) return vocab_fail(g, err, "key %s is missing; a llama vocabulary has it", key);
    if (rc) return -1;
    if (n != (uint64_t)v->n)
        return vocab_fail(g, err, "key %s has %llu scores for %d tokens; one for each is needed", key,
                          (unsigned long long)n, v->n);
    for (int i = 0; i < v->n; i++) {
        if (isnan(score[i])) return vocab_fail(g, err, "%s[%d] is not a number; scores order the merges", key, i);
        v->token[i].score = score[i];
    }
    return 0;
}

int spm_open(struct vocab *v, const struct gguf *g, struct err *err)
{
    v->space_prefix = true;
    if (gguf_bool(g, "tokenizer.ggml.add_space_prefix", &v->space_prefix, err) == GGUF_WRONG) return -1;
    if (open_scores(v, g, err)) return -1;
    return open_bytes(v, g, err);
}

size_t spm_piece(const struct token *t, char *out)
{
    size_t n = 0;
    if (t->attr == VOCAB_BYTE) {
        out[0] = (char)byte_of(t);
        return 1;
    }
    for (uint32_t i = 0; i < t->n_spelling;) {
        bool space = t->n_spelling - i >= 3 && memcmp(t->spelling + i, lower_block, 3) == 0;
        out[n++] = space ? ' ' : t->spelling[i];
        i += space ? 3 : 1;
    }
    return n;
}

/* ---------------------------------------------------------------- encoding */

/* Low keys first: the highest score, then the leftmost. */
static uint64_t heap_key(float score, int32_t left)
{
    uint32_t bits;
    score += 0.0f; /* -0 and 0 are one score */
    memcpy(&bits, &score, sizeof bits);
    uint32_t rising = bits >> 31 ? ~bits : bits | 0x80000000u;
    return (uint64_t)~rising << 32 | (uint32_t)left;
}

/* The merge of symbol `left` with its right neighbour, if they make a token, to the heap. */
static int offer(const struct vocab *v, struct work *w, int32_t left)
{
    if (left < 0 || w->sym[left].next < 0) return 0;
    size_t n = (size_t)w->sym[left].n + w->sym[w->sym[left].next].n;
    if (n > v->max_spelling) return 0;
    int32_t id = vocab_find(v, w->text.data + w->sym[left].start, n);
    if (id < 0 || !vocab_is_plain(v, id)) return 0;
    return heap_push(&w->heap, heap_key(v->token[id].score, left), id);
}

static int merge_all(const struct vocab *v, struct work *w)
{
    struct heap_entry e;
    while (heap_pop(&w->heap, &e)) {
        int32_t at = (int32_t)(uint32_t)e.key;
        struct symbol *left = &w->sym[at];
        if (left->n == 0 || left->next < 0) continue;
        struct symbol *right = &w->sym[left->next];
        if (left->n + right->n != v->token[e.made].n_spelling) continue; /* stale: same start, other length */
        left->n += right->n;
        left->id = e.made;
        left->next = right->next;
        right->n = 0;
        if (left->next >= 0) w->sym[left->next].prev = at;
        if (offer(v, w, left->prev) || offer(v, w, at)) return -1;
    }
    return 0;
}

/* The text's characters, bytes that are none one by one, as symbols.  0, or -1: out of memory. */
static int split(const struct vocab *v, struct work *w)
{
    const char *text = w->text.data;
    size_t n = w->text.len, count = 0;
    if (work_symbols(w, n)) return -1;
    for (size_t at = 0; at < n;) {
        size_t len = 1;
        while (len < 4 && len < n - at && text_valid_utf8(text + at, len) == 0) len++;
        if (text_valid_utf8(text + at, len) == 0) len = 1;
        int32_t id = vocab_find(v, text + at, len);
        if (id >= 0 && !vocab_is_plain(v, id)) id = -1;
        w->sym[count] = (struct symbol){(uint32_t)at, (uint32_t)len, (int32_t)count - 1, (int32_t)count + 1, id};
        count++;
        at += len;
    }
    w->sym[count - 1].next = -1;
    w->heap.n = 0;
    for (size_t i = 0; i + 1 < count; i++)
        if (offer(v, w, (int32_t)i)) return -1;
    return 0;
}

/* A character that is no token: its bytes, or, in a vocabulary that does not have them all, the unknown token once. */
static void put_bytes(const struct vocab *v, const char *bytes, size_t n, struct ids *out)
{
    for (size_t i = 0; i < n; i++) {
        if (v->byte_id[(unsigned char)bytes[i]] >= 0) continue;
        if (v->unknown >= 0) ids_put(out, v->unknown);
        return;
    }
    for (size_t i = 0; i < n; i++) ids_put(out, v->byte_id[(unsigned char)bytes[i]]);
}

int spm_encode(const struct vocab *v, struct work *w, const char *text, size_t n, bool prefix, struct ids *out,
               struct err *err)
{
    if (n == 0) return 0;
    w->text.len = 0;
    if (prefix) buf_put(&w->text, lower_block, 3);
    for (size_t at = 0; at < n; at++) {
        const char *space = memchr(text + at, ' ', n - at);
        size_t len = space ? (size_t)(space - text) - at : n - at;
        buf_put(&w->text, text + at, len);
        if (space) buf_put(&w->text, lower_block, 3);
        at += len;
    }
    if (w->text.failed || split(v, w) || merge_all(v, w))
        return err_set(err, -1, "out of memory for encoding a text of %zu bytes", n);
    for (int32_t i = 0; i >= 0; i = w->sym[i].next) {
        const struct symbol *s = &w->sym[i];
        if (s->id >= 0) ids_put(out, s->id);
        else put_bytes(v, w->text.data + s->start, s->n, out);
    }
    return out->failed ? err_set(err, -1, "out of memory for the ids of a text of %zu bytes", n) : 0;
}
