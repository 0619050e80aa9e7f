/* encode.c - vocab_encode(): special tokens are cut out of a text, the runs between them go to the kind's encoder.
 * Before that, what both kinds encode with: scratch memory, and symbols that merge. */
#include "engine/vocab_impl.h"

/* ---------------------------------------------------------------- scratch memory */

enum { ALIGN = 64, SPELLED_MIN = 4 }; /* a character that is no token is spelled too */

size_t vocab_spelled_room(const struct vocab *v) { return MAX(v->max_spelling, (size_t)SPELLED_MIN); }

/* Where each part lies, in bytes from the aligned beginning. */
struct places { uint64_t match, key[KEY_LEVELS], id, len, spelled, run, end; };

static uint64_t place(uint64_t *end, uint64_t bytes)
{
    uint64_t at = size_align(*end, ALIGN);
    *end = at + bytes;
    return at;
}

/* text_bytes <= VOCAB_TEXT_MAX: nothing here comes near to overflow. */
static struct places lay_out(const struct vocab *v, uint64_t text_bytes)
{
    struct places p = {.end = sizeof(struct vocab_scratch)};
    uint64_t positions = text_bytes + 1; /* SPM: a space is put before */
    bool bpe = v->kind == VOCAB_BPE;
    if (bpe) p.match = place(&p.end, pretok_match_bytes());
    for (uint64_t level = 0, count = positions; level < KEY_LEVELS; level++, count = (count + KEY_FAN - 1) / KEY_FAN)
        p.key[level] = place(&p.end, size_align(count, KEY_FAN) * sizeof(uint32_t));
    if (bpe) p.id = place(&p.end, positions * sizeof(int32_t));
    p.len = place(&p.end, positions * sizeof(uint16_t));
    p.spelled = place(&p.end, vocab_spelled_room(v));
    p.run = p.end; /* last and unaligned: so one byte of text more always is one byte more */
    p.end += text_bytes;
    return p;
}

size_t vocab_scratch_bytes(const struct vocab *v, size_t text_bytes)
{
    if (text_bytes > VOCAB_TEXT_MAX) return SIZE_MAX;
    uint64_t bytes = lay_out(v, text_bytes).end + ALIGN - 1;
    return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

/* The longest text for so many bytes, which are enough for an empty one. */
static size_t text_for(const struct vocab *v, size_t bytes)
{
    size_t low = 0, high = VOCAB_TEXT_MAX;
    while (low < high) {
        size_t mid = low + (high - low + 1) / 2;
        if (vocab_scratch_bytes(v, mid) <= bytes) low = mid;
        else high = mid - 1;
    }
    return low;
}

struct vocab_scratch *vocab_scratch_open(const struct vocab *v, void *mem, size_t bytes, struct err *err)
{
    size_t least = vocab_scratch_bytes(v, 0);
    if (bytes < least) {
        err_set(err, VOCAB_NO_MEMORY, "%zu bytes are too few to encode in; %zu are the least", bytes, least);
        return NULL;
    }
    size_t text_bytes = text_for(v, bytes), skip = (size_t)(-(uintptr_t)mem & (ALIGN - 1));
    struct places p = lay_out(v, text_bytes);
    char *base = (char *)mem + skip;
    struct vocab_scratch *s = (struct vocab_scratch *)(void *)base;
    *s = (struct vocab_scratch){.v = v, .text_bytes = text_bytes, .spelled = base + p.spelled, .run = base + p.run};
    for (int i = 0; i < KEY_LEVELS; i++) s->sym.key[i] = (uint32_t *)(void *)(base + p.key[i]);
    s->sym.len = (uint16_t *)(void *)(base + p.len);
    if (v->kind == VOCAB_SPM) return s;
    s->sym.id = (int32_t *)(void *)(base + p.id);
    s->match = pretok_match_open(base + p.match);
    if (s->match) return s;
    err_set(err, VOCAB_NO_MEMORY, "this PCRE2 needs more memory to match in than %zu bytes", pretok_match_bytes());
    return NULL;
}

struct vocab_scratch *vocab_scratch_new(const struct vocab *v, size_t text_bytes, struct err *err)
{
    size_t bytes = vocab_scratch_bytes(v, text_bytes);
    void *mem = aligned_alloc(ALIGN, size_align(bytes, ALIGN)); /* so that the scratch is where the block begins */
    struct vocab_scratch *s = mem ? vocab_scratch_open(v, mem, bytes, err) : NULL;
    if (!mem) err_set(err, VOCAB_NO_MEMORY, "out of memory for encoding a text of %zu bytes", text_bytes);
    if (mem && !s) free(mem);
    return s;
}

/* ---------------------------------------------------------------- symbols that merge */

static size_t padded(size_t n) { return (n + KEY_FAN - 1) / KEY_FAN * KEY_FAN; }

void symbols_begin(struct symbols *y, size_t n)
{
    y->n = n;
    y->levels = 0;
    for (size_t count = n;; count = padded(count) / KEY_FAN) {
        memset(y->key[y->levels++], 0xff, padded(count) * sizeof(uint32_t)); /* KEY_NONE */
        if (count <= KEY_FAN) return;
    }
}

static uint32_t lowest(const uint32_t *key)
{
    uint32_t low = key[0];
    for (int i = 1; i < KEY_FAN; i++) low = MIN(low, key[i]);
    return low;
}

/* The rows above the first, from it. */
static void raise_all(struct symbols *y)
{
    size_t count = y->n;
    for (int level = 1; level < y->levels; level++) {
        count = padded(count) / KEY_FAN;
        for (size_t i = 0; i < count; i++) y->key[level][i] = lowest(y->key[level - 1] + i * KEY_FAN);
    }
}

static void set_key(struct symbols *y, size_t at, uint32_t key)
{
    y->key[0][at] = key;
    for (int level = 1; level < y->levels; level++) {
        at /= KEY_FAN;
        uint32_t low = lowest(y->key[level - 1] + at * KEY_FAN);
        if (y->key[level][at] == low) return; /* so all above are right already */
        y->key[level][at] = low;
    }
}

/* The symbol that merges next; false: none does. */
static bool next_merge(const struct symbols *y, size_t *at)
{
    uint32_t low = lowest(y->key[y->levels - 1]);
    if (low == KEY_NONE) return false;
    *at = 0;
    for (int level = y->levels - 1; level >= 0; level--) {
        *at *= KEY_FAN;
        while (y->key[level][*at] != low) ++*at;
    }
    return true;
}

void symbols_merge(const struct vocab *v, struct vocab_scratch *s, symbol_key *key)
{
    struct symbols *y = &s->sym;
    for (size_t at = 0; at + y->len[at] < y->n; at += y->len[at]) y->key[0][at] = key(v, s, at);
    raise_all(y);
    for (size_t at; next_merge(y, &at);) {
        size_t right = at + y->len[at], end = right + y->len[right];
        if (v->kind == VOCAB_BPE) y->id[at] = v->merge[y->key[0][at]].made;
        y->len[at] = y->len[end - 1] = (uint16_t)(end - at);
        set_key(y, right, KEY_NONE);
        set_key(y, at, end < y->n ? key(v, s, at) : KEY_NONE);
        size_t left = at > 0 ? at - y->len[at - 1] : at;
        if (left < at) set_key(y, left, key(v, s, left));
    }
}

/* ---------------------------------------------------------------- special tokens in a text */

/* Whether special token t may be parsed under these flags. */
static bool parsed(const struct token *t, unsigned flags)
{
    return flags & VOCAB_SPECIAL || (t->attr == VOCAB_USER_DEFINED && !t->guarded);
}

/* In v->special[low..high), which agree in their first `depth` bytes: the first whose byte there is at least b (no byte
 * counts as less than any). */
static int lower_bound(const struct vocab *v, int low, int high, size_t depth, unsigned b)
{
    while (low < high) {
        int mid = low + (high - low) / 2;
        const struct token *t = &v->token[v->special[mid]];
        if (t->n_spelling <= depth || (unsigned char)t->spelling[depth] < b) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* The list is sorted by spelling, so the ones that fit are a range of it that narrows with each byte. */
int32_t vocab_special_at(const struct vocab *v, const char *text, size_t n, unsigned flags)
{
    int low = 0, high = v->n_special;
    int32_t found = -1;
    for (size_t depth = 0; depth < n; depth++) {
        unsigned b = (unsigned char)text[depth];
        low = lower_bound(v, low, high, depth, b);
        high = lower_bound(v, low, high, depth, b + 1);
        if (low == high) break;
        for (int i = low; i < high && v->token[v->special[i]].n_spelling == depth + 1; i++) {
            if (!parsed(&v->token[v->special[i]], flags)) continue;
            found = v->special[i];
            break;
        }
    }
    return found;
}

/* ---------------------------------------------------------------- the whole */

void sink_put(struct sink *out, int32_t id, size_t at)
{
    out->n++;
    if (out->ids && ids_put(out->ids, id) == 0 && out->began) out->began(out->self, out->base + at);
}

int vocab_no_room(const struct ids *out, struct err *err)
{
    return out->fixed ? err_set(err, VOCAB_FULL, "more tokens than the %zu that there is room for", out->cap)
                      : err_set(err, VOCAB_NO_MEMORY, "out of memory for more than %zu ids", out->n);
}

/* text[run..at) */
static int encode_run(const struct vocab *v, struct vocab_scratch *s, const char *text, size_t run, size_t at,
                      bool prefix, struct sink *out, struct err *err)
{
    int rc = 0;
    out->base = run;
    if (at > run && v->kind == VOCAB_SPM) spm_encode(v, s, text + run, at - run, prefix, out);
    else if (at > run) rc = bpe_encode(v, s, text + run, at - run, out, err);
    return rc == 0 && sink_full(out) ? vocab_no_room(out->ids, err) : rc;
}

static int encode_all(const struct vocab *v, struct vocab_scratch *s, const char *text, size_t n, unsigned flags,
                      struct sink *out, struct err *err)
{
    const bool *start = v->special_start[flags & VOCAB_SPECIAL ? 1 : 0];
    /* A file of the first Llama kind was trained with a space before each run, also after a special token. */
    bool prefix = v->space_prefix && !(flags & VOCAB_NO_PREFIX);
    size_t run = 0;
    for (size_t at = 0; at < n;) {
        int32_t id = start[(unsigned char)text[at]] ? vocab_special_at(v, text + at, n - at, flags) : -1;
        if (id < 0) {
            at++;
            continue;
        }
        int rc = encode_run(v, s, text, run, at, prefix, out, err);
        if (rc) return rc;
        out->base = at;
        sink_put(out, id, 0);
        at += v->token[id].n_spelling;
        run = at;
        prefix = v->space_prefix;
    }
    return encode_run(v, s, text, run, n, prefix, out, err);
}

int vocab_encode_to(const struct vocab *v, struct vocab_scratch *scratch, const char *text, size_t n, unsigned flags,
                    struct sink *out, struct err *err)
{
    size_t most = scratch ? scratch->text_bytes : VOCAB_TEXT_MAX, n_before = out->ids->n;
    assert(!scratch || scratch->v == v);
    if (n > most)
        return err_set(err, VOCAB_TOO_LONG, "a text of %zu bytes is too long to encode at once; at most %zu", n, most);
    if (out->ids->failed) return vocab_no_room(out->ids, err);
    struct vocab_scratch *s = scratch ? scratch : vocab_scratch_new(v, n, err);
    if (!s) return VOCAB_NO_MEMORY;
    int rc = encode_all(v, s, text, n, flags, out, err);
    if (rc) {
        out->ids->n = n_before;
        out->ids->failed = false;
    }
    if (!scratch) free(s);
    return rc;
}

int vocab_encode(const struct vocab *v, struct vocab_scratch *scratch, const char *text, size_t n, unsigned flags,
                 struct ids *out, struct err *err)
{
    struct sink sink = {.ids = out};
    return vocab_encode_to(v, scratch, text, n, flags, &sink, err);
}
