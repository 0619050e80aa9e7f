/* encode.c - vocab_encode(): special tokens are cut out of a text, the runs between them go to the kind's encoder. */
#include "engine/vocab_impl.h"

/* ---------------------------------------------------------------- scratch memory */

int work_symbols(struct work *w, size_t n)
{
    if (n <= w->sym_cap) return 0;
    size_t cap = MAX(n, 2 * w->sym_cap);
    struct symbol *sym = realloc(w->sym, cap * sizeof *sym);
    if (!sym) return -1;
    w->sym = sym;
    w->sym_cap = cap;
    return 0;
}

void work_free(struct work *w)
{
    free(w->sym);
    free(w->heap.e);
    free(w->words.s);
    free(w->cut.s);
    buf_free(&w->text);
    pretok_match_free(w->match);
    *w = (struct work){0};
}

int heap_push(struct heap *h, uint64_t key, int32_t made)
{
    if (h->n == h->cap) {
        size_t cap = h->cap ? 2 * h->cap : 64;
        struct heap_entry *e = realloc(h->e, cap * sizeof *e);
        if (!e) return -1;
        h->e = e;
        h->cap = cap;
    }
    size_t at = h->n++;
    for (; at > 0 && h->e[(at - 1) / 2].key > key; at = (at - 1) / 2) h->e[at] = h->e[(at - 1) / 2];
    h->e[at] = (struct heap_entry){key, made};
    return 0;
}

bool heap_pop(struct heap *h, struct heap_entry *out)
{
    if (h->n == 0) return false;
    *out = h->e[0];
    struct heap_entry last = h->e[--h->n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < h->n; at = child) {
        if (child + 1 < h->n && h->e[child + 1].key < h->e[child].key) child++;
        if (last.key <= h->e[child].key) break;
        h->e[at] = h->e[child];
    }
    h->e[at] = last;
    return true;
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

/* The longest special token that text begins with; -1: none.  The list is sorted by spelling, so the ones that fit are
 * a range of it that narrows with each byte. */
static int32_t special_at(const struct vocab *v, const char *text, size_t n, unsigned flags)
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

static int encode_run(const struct vocab *v, struct work *w, const char *text, size_t n, bool prefix, struct ids *out,
                      struct err *err)
{
    if (n == 0) return 0;
    return v->kind == VOCAB_SPM ? spm_encode(v, w, text, n, prefix, out, err) : bpe_encode(v, w, text, n, out, err);
}

int vocab_encode(const struct vocab *v, const char *text, size_t n, unsigned flags, struct ids *out, struct err *err)
{
    if (n > ENCODE_MAX)
        return err_set(err, -1, "a text of %zu bytes is too long to encode at once; at most %d", n, ENCODE_MAX);
    if (out->failed) return err_set(err, -1, "out of memory for ids");
    const bool *start = v->special_start[flags & VOCAB_SPECIAL ? 1 : 0];
    size_t n_before = out->n, run = 0;
    /* A file of the first Llama kind was trained with a space before each run, also after a special token. */
    bool prefix = v->space_prefix && !(flags & VOCAB_NO_PREFIX);
    struct work w = {0};
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0;) {
        int32_t id = start[(unsigned char)text[at]] ? special_at(v, text + at, n - at, flags) : -1;
        if (id < 0) {
            at++;
            continue;
        }
        rc = encode_run(v, &w, text + run, at - run, prefix, out, err);
        ids_put(out, id);
        at += v->token[id].n_spelling;
        run = at;
        prefix = v->space_prefix;
    }
    if (rc == 0) rc = encode_run(v, &w, text + run, n - run, prefix, out, err);
    if (rc == 0 && out->failed) rc = err_set(err, -1, "out of memory for the ids of a text of %zu bytes", n);
    if (rc) {
        out->n = n_before;
        out->failed = false;
    }
    work_free(&w);
    return rc;
}
