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

/* Positions are those of the run's bytes, behind one for the space that is put before it, if one is.  A space is one
 * position here and three bytes where it is spelled. */

/* Low keys first: the highest score. */
static uint32_t score_key(float score)
{
    uint32_t bits;
    score += 0.0f; /* -0 and 0 are one score */
    memcpy(&bits, &score, sizeof bits);
    uint32_t rising = bits >> 31 ? ~bits : bits | 0x80000000u;
    return ~rising; /* KEY_NONE would be a NaN, which no score is */
}

/* n positions from `at` on as a token would be spelled, to s->spelled; how many bytes, 0: more than any token has. */
static size_t spell(const struct vocab *v, struct vocab_scratch *s, size_t at, size_t n)
{
    size_t len = 0, room = vocab_spelled_room(v);
    for (size_t i = at; i < at + n; i++) {
        char c = s->prefix && i == 0 ? ' ' : s->text[i - s->prefix];
        size_t m = c == ' ' ? sizeof lower_block : 1;
        if (len + m > room) return 0;
        if (c == ' ') memcpy(s->spelled + len, lower_block, sizeof lower_block);
        else s->spelled[len] = c;
        len += m;
    }
    return len;
}

/* The plain token of this spelling; -1: none. */
static int32_t find_plain(const struct vocab *v, const char *spelled, size_t n)
{
    int32_t id = vocab_find(v, spelled, n);
    return id >= 0 && vocab_is_plain(v, id) ? id : -1;
}

static uint32_t merge_key(const struct vocab *v, struct vocab_scratch *s, size_t at)
{
    const uint16_t *len = s->sym.len;
    int32_t id = find_plain(v, s->spelled, spell(v, s, at, (size_t)len[at] + len[at + len[at]]));
    return id < 0 ? KEY_NONE : score_key(v->token[id].score);
}

/* The run's characters, bytes that are none one by one, as symbols. */
static void split(struct vocab_scratch *s, size_t n)
{
    uint16_t *len = s->sym.len;
    size_t first = s->prefix;
    symbols_begin(&s->sym, first + n);
    len[0] = 1;
    for (size_t at = 0, m; at < n; at += m) {
        for (m = 1; m < 4 && m < n - at && text_valid_utf8(s->text + at, m) == 0; m++) continue;
        if (text_valid_utf8(s->text + at, m) == 0) m = 1;
        len[first + at] = len[first + at + m - 1] = (uint16_t)m;
    }
}

/* A character that is no token: its bytes, or, in a vocabulary that does not have them all, the unknown token once. */
static void put_bytes(const struct vocab *v, const char *bytes, size_t n, struct sink *out, size_t at)
{
    for (size_t i = 0; i < n; i++) {
        if (v->byte_id[(unsigned char)bytes[i]] >= 0) continue;
        if (v->unknown >= 0) sink_put(out, v->unknown, at);
        return;
    }
    for (size_t i = 0; i < n; i++) sink_put(out, v->byte_id[(unsigned char)bytes[i]], at);
}

void spm_merge(const struct vocab *v, struct vocab_scratch *s, const char *text, size_t n, bool prefix)
{
    s->text = text;
    s->prefix = prefix;
    split(s, n);
    symbols_merge(v, s, merge_key);
}

void spm_put(const struct vocab *v, struct vocab_scratch *s, size_t from, size_t to, struct sink *out)
{
    for (size_t at = from; at < to && !sink_full(out); at += s->sym.len[at]) {
        size_t spelled = spell(v, s, at, s->sym.len[at]), begins = at > 0 ? at - s->prefix : 0;
        int32_t id = find_plain(v, s->spelled, spelled);
        if (id >= 0) sink_put(out, id, begins);
        else put_bytes(v, s->spelled, spelled, out, begins);
    }
}

void spm_encode(const struct vocab *v, struct vocab_scratch *s, const char *text, size_t n, bool prefix,
                struct sink *out)
{
    spm_merge(v, s, text, n, prefix);
    spm_put(v, s, 0, s->sym.n, out);
}
