/* bpe.c - byte-level BPE ("gpt2"): within a word, the neighbours whose merge has the lowest rank are joined, leftmost
 * first, until no merge is left.
 *
 * A file spells the 256 bytes as printable characters: those that are printable in Latin-1 as themselves, the other 68
 * as U+0100 and on, in order.  (The format of GPT-2's vocab.json.) */
#include "engine/vocab_impl.h"

/* ---------------------------------------------------------------- bytes and their spellings */

static unsigned spell_byte(unsigned b)
{
    if (b <= 32) return 256 + b;
    if (b >= 127 && b <= 160) return 256 + 33 + (b - 127);
    return b == 173 ? 256 + 67 : b;
}

/* The byte that a character spells; -1: none. */
static int spelled_byte(unsigned c)
{
    if (c >= 256 && c < 256 + 33) return (int)(c - 256);
    if (c >= 256 + 33 && c < 256 + 67) return (int)(c - 256 - 33 + 127);
    if (c == 256 + 67) return 173;
    return c < 256 && spell_byte(c) == c ? (int)c : -1;
}

/* 1 or 2 bytes to out; how many. */
static size_t spell(char out[2], unsigned char byte)
{
    unsigned c = spell_byte(byte);
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    out[0] = (char)(0xc0 | c >> 6);
    out[1] = (char)(0x80 | (c & 0x3f));
    return 2;
}

/* What spells no byte stands for itself: tokens that were added to a vocabulary later are written plainly. */
size_t bpe_piece(const struct token *t, char *out)
{
    const unsigned char *s = (const unsigned char *)t->spelling;
    size_t n = 0;
    for (uint32_t i = 0; i < t->n_spelling; i++) {
        int byte = -1;
        if (s[i] >= 0xc2 && s[i] <= 0xc5 && i + 1 < t->n_spelling && (s[i + 1] & 0xc0) == 0x80)
            byte = spelled_byte((s[i] & 0x1fu) << 6 | (s[i + 1] & 0x3fu));
        if (byte >= 0) i++;
        out[n++] = byte >= 0 ? (char)byte : (char)s[i];
    }
    return n;
}

/* ---------------------------------------------------------------- the merges */

static uint32_t pair_hash(const struct vocab *v, int32_t left, int32_t right)
{
    return (uint32_t)vocab_mix((uint64_t)(uint32_t)left << 32 | (uint32_t)right, v->seed);
}

static int32_t find_merge(const struct vocab *v, int32_t left, int32_t right)
{
    for (uint32_t i = pair_hash(v, left, right);; i++) {
        int32_t rank = v->by_pair[i & v->by_pair_mask];
        if (rank < 0) return -1;
        if (v->merge[rank].left == left && v->merge[rank].right == right) return rank;
    }
}

static void add_merge(struct vocab *v, struct merge m)
{
    uint32_t i = pair_hash(v, m.left, m.right);
    while (v->by_pair[i & v->by_pair_mask] >= 0) i++;
    v->by_pair[i & v->by_pair_mask] = (int32_t)v->n_merges;
    v->merge[v->n_merges++] = m;
}

/* MERGES at a time: their halves and wholes are looked up together. */
enum { MERGES = FIND_MANY / 3 };
struct merges {
    const struct gguf_str *s;        /* (MERGES) of the file's */
    struct spelled half[3 * MERGES]; /* left, right, whole */
    char *whole;                     /* (MERGES * max_spelling) */
};

/* Cut "left right" in two; a half is never empty.  What is longer than any token is not copied: it is none. */
static int cut_merge(const struct vocab *v, const struct gguf *g, struct merges *b, int i, uint64_t index,
                     struct err *err)
{
    char shown[QUOTE_ROOM], *whole = b->whole + (size_t)i * v->max_spelling;
    const struct gguf_str s = b->s[i];
    const char *space = s.len > 1 ? memchr(s.data + 1, ' ', s.len - 1) : NULL;
    size_t n_left = space ? (size_t)(space - s.data) : 0, n_right = space ? s.len - n_left - 1 : 0;
    if (n_right == 0)
        return vocab_fail(g, err,
                          "tokenizer.ggml.merges[%llu] is %s; it has to be two tokens with a space between them",
                          (unsigned long long)index, vocab_quote(shown, s.data, s.len));
    bool fits = n_left + n_right <= v->max_spelling;
    if (fits) {
        memcpy(whole, s.data, n_left);
        memcpy(whole + n_left, space + 1, n_right);
    }
    b->half[3 * i] = (struct spelled){s.data, n_left, 0, 0};
    b->half[3 * i + 1] = (struct spelled){space + 1, n_right, 0, 0};
    b->half[3 * i + 2] = (struct spelled){whole, fits ? n_left + n_right : 0, 0, 0};
    return 0;
}

/* Whatever the halves or the whole are, they have to be tokens: the tokenizers library, which wrote the files' sources,
 * refuses anything else too. */
static int take_merge(struct vocab *v, const struct gguf *g, const struct merges *b, int i, uint64_t index,
                      struct err *err)
{
    char shown[QUOTE_ROOM];
    const struct spelled *h = &b->half[3 * i];
    const struct merge m = {h[0].id, h[1].id, h[2].id};
    if (m.left < 0 || m.right < 0 || m.made < 0)
        return vocab_fail(g, err, "tokenizer.ggml.merges[%llu] is %s: %s is not in tokenizer.ggml.tokens",
                          (unsigned long long)index, vocab_quote(shown, b->s[i].data, b->s[i].len),
                          m.left < 0 ? "the left half" : m.right < 0 ? "the right half" : "what it makes");
    /* What makes a control token is left out: plain text must not become it.  Of equal ones the first counts. */
    if (vocab_is_plain(v, m.made) && find_merge(v, m.left, m.right) < 0) add_merge(v, m);
    return 0;
}

/* Of several that are wrong the first is told, so those before a merge that cannot be cut are still looked at. */
static int take_merges(struct vocab *v, const struct gguf *g, struct merges *b, int n, uint64_t first, struct err *err)
{
    int cut = 0, rc = 0, bad = 0;
    while (cut < n && (bad = cut_merge(v, g, b, cut, first + (uint64_t)cut, err)) == 0) cut++;
    vocab_find_many(v, b->half, 3 * cut);
    for (int i = 0; i < cut; i++)
        __builtin_prefetch(&v->by_pair[pair_hash(v, b->half[3 * i].id, b->half[3 * i + 1].id) & v->by_pair_mask]);
    for (int i = 0; i < cut && rc == 0; i++) rc = take_merge(v, g, b, i, first + (uint64_t)i, err);
    return rc ? rc : bad;
}

static int open_merges(struct vocab *v, const struct gguf *g, struct err *err)
{
    static const char key[] = "tokenizer.ggml.merges";
    const struct gguf_str *merges;
    uint64_t n;
    int rc = gguf_string_array(g, key, &merges, &n, err);
    if (rc == GGUF_MISSING) return vocab_fail(g, err, "key %s is missing; a gpt2 vocabulary has it", key);
    if (rc) return -1;
    uint32_t slots = vocab_slots(n);
    v->merge = malloc((size_t)MAX(n, 1) * sizeof *v->merge);
    v->by_pair = malloc((size_t)slots * sizeof *v->by_pair);
    if (!v->merge || !v->by_pair) return vocab_fail(g, err, "out of memory for %llu merges", (unsigned long long)n);
    memset(v->by_pair, 0xff, (size_t)slots * sizeof *v->by_pair);
    v->by_pair_mask = slots - 1;
    struct merges b = {.whole = malloc(MERGES * v->max_spelling + 1)};
    if (!b.whole) return vocab_fail(g, err, "out of memory for %s", key);
    for (uint64_t i = 0, many; i < n && rc == 0; i += many) {
        many = MIN(n - i, (uint64_t)MERGES);
        b.s = merges + i;
        rc = take_merges(v, g, &b, (int)many, i, err);
    }
    free(b.whole);
    return rc;
}

/* The family that the file names.  No guess: a wrong cut gives slightly wrong ids for ever, and nobody sees it. */
static int open_family(struct vocab *v, const struct gguf *g, struct err *err)
{
    struct gguf_str name;
    char shown[QUOTE_ROOM];
    int rc = gguf_string(g, "tokenizer.ggml.pre", &name, err);
    if (rc == GGUF_MISSING)
        return vocab_fail(g, err, "key tokenizer.ggml.pre is missing, so how text is to be cut into words is unknown: "
                          "convert the model again with a newer converter (known are %s)", pretok_known());
    if (rc) return -1;
    v->family = pretok_find(name.data, name.len);
    if (!v->family)
        return vocab_fail(g, err, "key tokenizer.ggml.pre is %s; known are %s",
                          vocab_quote(shown, name.data, name.len), pretok_known());
    snprintf(v->pre, sizeof v->pre, "%.*s", (int)name.len, name.data);
    v->pretok = pretok_open(v->family, err);
    return v->pretok ? 0 : -1;
}

int bpe_open(struct vocab *v, const struct gguf *g, struct err *err)
{
    if (open_family(v, g, err) || open_merges(v, g, err)) return -1;
    for (int b = 0; b < 256; b++) {
        char one[2];
        int32_t id = vocab_find(v, one, spell(one, (unsigned char)b));
        v->byte_id[b] = id >= 0 && vocab_is_plain(v, id) ? id : -1;
    }
    return 0;
}

/* ---------------------------------------------------------------- encoding */

/* The rank of the merge, as it is: lower ones come first. */
static uint32_t merge_key(const struct vocab *v, struct vocab_scratch *s, size_t at)
{
    int32_t left = s->sym.id[at], right = s->sym.id[at + s->sym.len[at]];
    int32_t rank = left < 0 || right < 0 ? -1 : find_merge(v, left, right);
    return rank < 0 ? KEY_NONE : (uint32_t)rank;
}

int32_t bpe_whole(const struct vocab *v, struct vocab_scratch *s, const char *word, size_t n)
{
    size_t len = 0;
    if (!v->family->ignore_merges || n > v->max_spelling) return -1;
    for (size_t i = 0; i < n; i++) {
        char one[2];
        size_t m = spell(one, (unsigned char)word[i]);
        if (len + m > v->max_spelling) return -1;
        memcpy(s->spelled + len, one, m);
        len += m;
    }
    int32_t id = vocab_find(v, s->spelled, len);
    return id >= 0 && vocab_is_plain(v, id) ? id : -1;
}

void bpe_merge(const struct vocab *v, struct vocab_scratch *s, const char *word, size_t n)
{
    struct symbols *y = &s->sym;
    symbols_begin(y, n);
    for (size_t i = 0; i < n; i++) {
        y->len[i] = 1;
        y->id[i] = v->byte_id[(unsigned char)word[i]];
    }
    symbols_merge(v, s, merge_key);
}

void bpe_put(const struct vocab *v, const struct vocab_scratch *s, size_t from, size_t to, size_t base,
             struct sink *out)
{
    const struct symbols *y = &s->sym;
    for (size_t at = from; at < to; at += y->len[at]) {
        /* A byte that the vocabulary cannot say: the unknown token, or nothing, as the reference tokenizers have it. */
        int32_t id = y->id[at] >= 0 ? y->id[at] : v->unknown;
        if (id >= 0) sink_put(out, id, base + at);
    }
}

/* What a run's words are encoded with. */
struct words {
    const struct vocab *v;
    struct vocab_scratch *s;
    const char *run;
    struct sink *out;
};

static int encode_word(void *self, const char *word, size_t n)
{
    const struct words *w = self;
    size_t base = (size_t)(word - w->run);
    int32_t whole = bpe_whole(w->v, w->s, word, n);
    if (whole >= 0) {
        sink_put(w->out, whole, base);
    } else {
        bpe_merge(w->v, w->s, word, n);
        bpe_put(w->v, w->s, 0, n, base, w->out);
    }
    return sink_full(w->out); /* the words that are left would find no room either */
}

int bpe_encode(const struct vocab *v, struct vocab_scratch *s, const char *text, size_t n, struct sink *out,
               struct err *err)
{
    struct words w = {.v = v, .s = s, .run = text, .out = out};
    int rc = pretok_cut(v->pretok, s->match, text, n, false, encode_word, &w, NULL, err);
    return sink_full(out) ? 0 : rc;
}
