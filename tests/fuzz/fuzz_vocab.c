/* fuzz_vocab.c - a small vocabulary of either kind, whole or broken in one way, and any text: opened, encoded, decoded.
 *
 * covers: engine/vocab.c engine/encode.c engine/count.c engine/spm.c engine/bpe.c engine/pretok.c
 *
 * An input: kind and family, what is broken, flags, tokens to add, pairs of tokens to merge, and the rest is the text.
 * What must hold: a refusal has a message of one line; ids are the vocabulary's; plain text becomes no control token;
 * the ids' pieces are the text again; a scratch of the stated size gives the same ids, and one that is too small their
 * number, or a bound of it. */
#include "engine/vocab_impl.h"
#include "tests/vocab_make.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) abort();
}

struct input { const uint8_t *p; size_t n; };

static uint8_t next(struct input *in)
{
    if (in->n == 0) return 0;
    in->n--;
    return *in->p++;
}

/* ---------------------------------------------------------------- the vocabulary */

static void add_tokens(struct vocab_make *m, struct input *in)
{
    static const char *const known[] = {"<|im_end|>", "<tool_response>", "\xe2\x96\x81", "</s>", "<0x41>", "<|im", ""};
    for (int count = next(in) % 16; count > 0; count--) {
        uint8_t kind = next(in);
        size_t n = kind & 15;
        const char *s = kind & 0x80 ? known[n % COUNT_OF(known)] : (const char *)in->p;
        n = kind & 0x80 ? strlen(s) : MIN(n, in->n);
        if (!(kind & 0x80)) {
            in->p += n;
            in->n -= n;
        }
        int32_t type = next(in) % 6; /* no byte tokens: what those may spell is broken on purpose below */
        vocab_make_put(m, vocab_make_keep(m, s, n), n, type, (float)(int8_t)next(in));
    }
}

/* Any two plain tokens, and what they make. */
static void add_merges(struct vocab_make *m, struct input *in)
{
    for (int count = next(in) % 16; count > 0; count--) {
        int left = next(in), right = next(in);
        left = (left & 1 ? 256 + left / 2 : left) % m->n;
        right = (right & 1 ? 256 + right / 2 : right) % m->n;
        char l[128], r[128];
        snprintf(l, sizeof l, "%.100s", m->token[left].s);
        snprintf(r, sizeof r, "%.100s", m->token[right].s);
        if (strlen(l) + strlen(r) < 120 && !strchr(l, ' ') && l[0] && r[0]) vocab_make_merge(m, l, r);
    }
}

/* One thing wrong, or, above the last of them, nothing. */
static void break_it(struct vocab_make *m, uint8_t how)
{
    static char longer[20000];
    switch (how) {
    case 1: m->model = NULL; break;
    case 2: m->model = "rwkv"; break;
    case 3: m->pre = NULL; break;
    case 4: m->pre = "no\nsuch"; break;
    case 5: m->no_tokens = true; break;
    case 6: m->n = 0; break;
    case 7: m->types_of = GGUF_I8; break;
    case 8: m->scores_of = GGUF_U8; break;
    case 9: m->n_types = m->n - 1; break;
    case 10: m->n_scores = m->n + 1; break;
    case 11: m->n_scores = VOCAB_MAKE_ABSENT; break;
    case 12: m->token[m->n - 1].type = 9; break;
    case 13: m->token[m->n - 1].score = NAN; break;
    case 14: vocab_make_add(m, "<0x-1>", VOCAB_BYTE, 0); break;
    case 15: m->bos = m->n; break;
    case 16: m->eom = -1; break;
    case 17: vocab_make_merge_raw(m, "ab", 2); break;
    case 18: vocab_make_merge_raw(m, "a zzzz", 6); break;
    case 19: m->no_merges = true; break;
    case 20: m->merges_of = GGUF_U8; break;
    case 21: m->tokens_of = GGUF_U8; break;
    case 22: memset(longer, 'a', sizeof longer), vocab_make_put(m, longer, sizeof longer, VOCAB_NORMAL, 0); break;
    case 23: memset(longer, 'a', sizeof longer), vocab_make_put(m, longer, 2000, VOCAB_CONTROL, 0); break;
    case 24: vocab_make_merge_raw(m, "\xff\x01 ", 3); break;
    default: break;
    }
}

static void make(struct vocab_make *m, struct input *in, unsigned *flags)
{
    static const char *const pre[] = {"gpt-2",  "llama-bpe", "dbrx",   "qwen2", "qwen35",
                                      "smollm", "falcon",    "gpt-4o", "tekken"};
    uint8_t kind = next(in), broken = next(in), switches = next(in);
    if (kind & 1) vocab_make_spm(m);
    else vocab_make_bpe(m, pre[kind / 2 % COUNT_OF(pre)]);
    add_tokens(m, in);
    if (!(kind & 1)) add_merges(m, in);
    m->add_space_prefix = switches & 1;
    if (switches & 2) m->add_bos = 1;
    if (switches & 4) m->n_types = VOCAB_MAKE_ABSENT;
    if (switches & 8) m->bos = m->eos = m->unknown = VOCAB_MAKE_ABSENT;
    if (switches & 16) m->eot = 5;
    if ((switches & 32) && !(kind & 1)) m->token[200].s = "", m->token[200].n = 0; /* a byte that cannot be said */
    *flags = switches >> 6;
    break_it(m, broken);
}

static struct vocab *open_it(struct vocab_make *m)
{
    static int fd = -1;
    char path[64];
    struct err err = {0};
    struct buf file = vocab_make_bytes(m);
    if (fd < 0) fd = memfd_create("vocab", MFD_CLOEXEC);
    must(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, file.data, file.len, 0) == (ssize_t)file.len);
    buf_free(&file);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct gguf *g = gguf_open(path, &err);
    must(g != NULL); /* what is broken here is broken for vocab_open() */
    struct vocab *v = vocab_open(g, &err);
    gguf_close(g);
    if (v) return v;
    must(err.code == -1 && err.text[0]);
    for (const char *s = err.text; *s; s++) must((unsigned char)*s >= 0x20 && *s != 0x7f);
    return NULL;
}

/* ---------------------------------------------------------------- the text */

static void put_normal(struct buf *out, const char *s, size_t n) /* U+2581 is a space */
{
    for (size_t i = 0; i < n;) {
        bool space = n - i >= 3 && memcmp(s + i, "\xe2\x96\x81", 3) == 0;
        buf_put(out, space ? " " : s + i, 1);
        i += space ? 3 : 1;
    }
}

/* Whether each byte of a text can be said, so that the text has to come back.  (Without token types a spelling may have
 * been read as unknown or control; in SPM a user-defined token puts a space before what follows.) */
static bool sayable(const struct vocab *v, bool prefix)
{
    const char *s;
    bool byte[256] = {false};
    for (int32_t id = 0; id < vocab_size(v); id++) {
        if (vocab_attr(v, id) == VOCAB_USER_DEFINED && prefix) return false;
        bool whole = vocab_kind(v) == VOCAB_BPE ? vocab_attr(v, id) == VOCAB_NORMAL : vocab_attr(v, id) == VOCAB_BYTE;
        if (whole && vocab_piece(v, id, &s) == 1 && id < 259) byte[(unsigned char)*s] = true;
    }
    for (int b = 0; b < 256; b++)
        if (!byte[b]) return false;
    return true;
}

static void decode(const struct vocab *v, const struct ids *ids, bool plain, struct buf *out)
{
    for (size_t i = 0; i < ids->n; i++) {
        const char *s;
        must(ids->id[i] >= 0 && ids->id[i] < vocab_size(v));
        if (plain) must(vocab_attr(v, ids->id[i]) != VOCAB_CONTROL);
        size_t n = vocab_piece(v, ids->id[i], &s);
        must(n <= vocab_max_piece(v));
        buf_put(out, s, n);
    }
}

/* In memory of exactly the stated size, and to a list of exactly as many ids: the same. */
static void check_scratch(const struct vocab *v, const char *text, size_t n, unsigned flags, const struct ids *want)
{
    size_t bytes = vocab_scratch_bytes(v, n);
    void *mem = malloc(bytes);
    int32_t *room = malloc(want->n * sizeof *room + 1);
    must(mem && room);
    struct ids ids = ids_fixed(room, want->n);
    struct vocab_scratch *scratch = vocab_scratch_open(v, mem, bytes, NULL);
    must(scratch && vocab_encode(v, scratch, text, n, flags, &ids, NULL) == 0);
    must(ids.n == want->n && (ids.n == 0 || memcmp(ids.id, want->id, ids.n * sizeof *room) == 0));
    ids = ids_fixed(room, want->n - (want->n > 0));
    must(vocab_encode(v, scratch, text, n, flags, &ids, NULL) == (want->n > 0 ? VOCAB_FULL : 0) && ids.n == 0);
    free(room);
    free(mem);
}

static void check_counted(const struct vocab *v, const char *text, size_t n, uint64_t want)
{
    size_t bytes = vocab_scratch_bytes(v, 4 + n / 5);
    void *mem = malloc(bytes);
    must(mem != NULL);
    struct counter c;
    counter_begin(&c, v, vocab_scratch_open(v, mem, bytes, NULL));
    must(counter_feed(&c, text, n / 3, NULL) == 0);
    must(counter_feed(&c, text + n / 3, n - n / 3, NULL) == 0);
    must(counter_end_run(&c, NULL) == 0);
    must(c.exact ? c.out.n == want : c.out.n >= want);
    free(mem);
}

static void check_text(const struct vocab *v, const char *text, size_t n, unsigned flags, bool prefix)
{
    struct ids ids = {0};
    struct err err = {0};
    struct buf back = {0}, got = {0}, want = {0};
    ids_put(&ids, 0); /* what was there stays */
    must(vocab_encode(v, NULL, text, n, flags, &ids, &err) == 0);
    must(ids.n >= 1 && ids.id[0] == 0);
    memmove(ids.id, ids.id + 1, --ids.n * sizeof *ids.id);
    check_scratch(v, text, n, flags, &ids);
    if (flags == 0) check_counted(v, text, n, ids.n);
    decode(v, &ids, !(flags & VOCAB_SPECIAL), &back);
    if (!(flags & VOCAB_SPECIAL) && sayable(v, prefix)) {
        bool spm = vocab_kind(v) == VOCAB_SPM;
        if (spm && prefix && n > 0 && !(flags & VOCAB_NO_PREFIX)) buf_puts(&want, " ");
        if (spm) put_normal(&want, text, n), put_normal(&got, back.data, back.len);
        else buf_put(&want, text, n), buf_put(&got, back.data, back.len);
        must(got.len == want.len && (got.len == 0 || memcmp(got.data, want.data, got.len) == 0));
    }
    buf_free(&back);
    buf_free(&got);
    buf_free(&want);
    ids_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vocab_make m;
    struct input in = {data, size};
    unsigned flags;
    make(&m, &in, &flags);
    bool prefix = m.add_space_prefix == 1;
    struct vocab *v = open_it(&m);
    if (!v) return 0;
    check_text(v, (const char *)in.p, in.n, flags, prefix);
    check_text(v, (const char *)in.p, in.n, 0, prefix);
    must(vocab_bos(v) < vocab_size(v) && vocab_eos(v) < vocab_size(v));
    must(!vocab_adds_bos(v) || vocab_bos(v) >= 0);
    must(vocab_find(v, (const char *)in.p, in.n) < vocab_size(v));
    must(!vocab_is_end(v, vocab_size(v)) && vocab_attr(v, -1) == VOCAB_UNUSED);
    const char *s = vocab_pre(v);
    must((vocab_kind(v) == VOCAB_BPE) == (*s != '\0'));
    must(vocab_spelling(v, 0, &s) <= 16384);
    vocab_close(v);
    return 0;
}
