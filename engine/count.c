/* count.c - how many tokens a run of text has, in a scratch that may be smaller than the run.
 *
 * Three cuts make the work small, and none changes the count:
 *   - behind a special token: what follows is a run of its own (encode.c);
 *   - between two words of a pre-tokenizer: they are merged apart, and no pattern looks back (pretok.c);
 *   - inside what is merged (a word of BPE, a whole run of SPM): a window as large as the scratch is merged, and after
 *     it one that begins in its middle, where one of its tokens does:
 *
 *         [ ..... tokens ..... |token ................ ]
 *                              [token .................................. ]
 *
 *     If both begin there with the same token, what stands before it is what it would be in the whole.  For merging
 *     goes by (key, position), and a key depends on two neighbours alone.  So as long as nothing has merged across the
 *     borders of some stretch, the stretch has gone through the very steps that it would go through alone.  Take the
 *     first merge in the whole that crosses a border between two of the tokens drawn above: these two, alone, would
 *     merge across it too.  But any two neighbours lie together in one window, which merged without crossing that
 *     border.  So there is no first one.
 *
 * What remains is lost: two windows that disagree (a merge would have to be felt over thousands of bytes; text and
 * vocabulary can be made for each other so), and a word larger than the scratch that goes over the end of what was fed
 * at once, so that no one sees it whole.  Then bytes are counted: in BPE one is at most a token; in SPM a space may be
 * three, and a special token of one byte has a space behind it. */
#include "engine/vocab_impl.h"

/* ---------------------------------------------------------------- what is merged, by windows */

static void merge(struct counter *c, const char *text, size_t n, bool prefix)
{
    if (c->v->kind == VOCAB_SPM) spm_merge(c->v, c->s, text, n, prefix);
    else bpe_merge(c->v, c->s, text, n);
}

/* The symbols at positions from .. to - 1. */
static void put(struct counter *c, size_t from, size_t to)
{
    if (c->v->kind == VOCAB_SPM) spm_put(c->v, c->s, from, to, &c->out);
    else bpe_put(c->v, c->s, from, to, 0, &c->out);
}

/* The last symbol that begins in the first half. */
static size_t middle(const struct symbols *y)
{
    size_t at = 0;
    while (at + y->len[at] <= y->n / 2) at += y->len[at];
    return at;
}

/* Bytes that are counted: all, or with `more` those before the last window. */
static size_t count_merged(struct counter *c, const char *text, size_t n, bool prefix, bool more)
{
    const struct symbols *y = &c->s->sym;
    for (size_t at = 0;;) {
        size_t len = MIN(n - at, c->s->text_bytes), cut;
        bool whole = len == n - at;
        if (whole && more && len < c->s->text_bytes) return at;
        merge(c, text + at, len, prefix && !c->begun);
        cut = whole && !more ? y->n : middle(y);
        c->lost = cut == 0 || (c->begun && y->len[0] != c->expected);
        if (c->lost) return at;
        put(c, 0, cut);
        if (cut == y->n) return n;
        c->expected = y->len[cut];
        at += cut - (prefix && !c->begun);
        c->begun = true;
    }
}

/* ---------------------------------------------------------------- runs and special tokens */

static int count_word(void *self, const char *word, size_t n)
{
    struct counter *c = self;
    if (bpe_whole(c->v, c->s, word, n) >= 0) c->out.n++;
    else count_merged(c, word, n, false, false);
    c->begun = false;
    return c->lost;
}

/* Text without special tokens: *done bytes of it are counted.  0, or VOCAB_PATTERN_LIMIT. */
static int count_run(struct counter *c, const char *text, size_t n, bool more, size_t *done, struct err *err)
{
    int rc = 0;
    if (c->v->kind == VOCAB_SPM) *done = n > 0 ? count_merged(c, text, n, c->v->space_prefix, more) : 0;
    else rc = pretok_cut(c->v->pretok, c->s->match, text, n, more, count_word, c, done, err);
    if (!more) c->begun = false;
    return c->lost ? 0 : rc;
}

/* The same, with special tokens in it. */
static int count_some(struct counter *c, const char *text, size_t n, bool more, size_t *done, struct err *err)
{
    const bool *start = c->v->special_start[0];
    size_t run = 0, in_run;
    int rc = 0;
    for (size_t at = 0; at < n && !rc && !c->lost;) {
        if (!start[(unsigned char)text[at]]) {
            at++;
            continue;
        }
        if (more && n - at < c->longest) { /* one may begin here */
            n = at;
            break;
        }
        int32_t id = vocab_special_at(c->v, text + at, n - at, 0);
        if (id >= 0) {
            rc = count_run(c, text + run, at - run, false, &in_run, err);
            c->out.n++;
            at += c->v->token[id].n_spelling;
            run = at;
        } else {
            at++;
        }
    }
    if (!rc && !c->lost) rc = count_run(c, text + run, n - run, more, &in_run, err);
    *done = run + in_run;
    return rc;
}

/* ---------------------------------------------------------------- what is fed */

void counter_begin(struct counter *c, const struct vocab *v, struct vocab_scratch *s)
{
    assert(s->v == v && s->text_bytes > 0);
    *c = (struct counter){.v = v, .s = s, .text = "", .exact = true};
    for (int i = 0; i < v->n_special; i++) {
        const struct token *t = &v->token[v->special[i]];
        if (t->attr == VOCAB_USER_DEFINED && !t->guarded) c->longest = MAX(c->longest, t->n_spelling);
    }
}

/* What was kept, and behind it as much of `text` as there is room for: until nothing is kept, or all is. */
static int settle_kept(struct counter *c, bool more, struct err *err)
{
    char *kept = c->s->run;
    while (c->n_kept > 0 && !c->lost) {
        size_t add = MIN(c->s->text_bytes - c->n_kept, c->n_text), n = c->n_kept + add, done = 0;
        bool all = add == c->n_text;
        if (add > 0) memcpy(kept + c->n_kept, c->text, add);
        int rc = count_some(c, kept, n, more || !all, &done, err);
        if (rc) return rc;
        if (done >= c->n_kept || all) {
            size_t used = MAX(done, all ? n : 0) - c->n_kept; /* of text */
            c->text += used;
            c->n_text -= used;
            n = all ? n : done;
            memmove(kept, kept + done, n - done);
            c->n_kept = n - done;
            return 0;
        }
        c->lost = c->lost || done == 0;
        memmove(kept, kept + done, c->n_kept - done);
        c->n_kept -= done;
    }
    return 0;
}

/* All that was fed is counted, or with `more` kept. */
static int settle(struct counter *c, bool more, struct err *err)
{
    size_t done = 0;
    int rc = settle_kept(c, more, err);
    if (rc || c->lost || c->n_text == 0) return rc;
    rc = count_some(c, c->text, c->n_text, more, &done, err);
    if (rc || c->lost) return rc;
    size_t rest = c->n_text - done;
    c->lost = rest > c->s->text_bytes;
    if (c->lost) return 0;
    memcpy(c->s->run, c->text + done, rest);
    c->n_kept = rest;
    c->n_text = 0;
    return 0;
}

int counter_feed(struct counter *c, const char *text, size_t n, struct err *err)
{
    c->bytes += n;
    if (c->n_text > 0 && !c->lost) {
        int rc = settle(c, true, err);
        if (rc) return rc;
    }
    if (c->lost || n == 0) return 0;
    if (n <= c->s->text_bytes - c->n_kept) {
        memcpy(c->s->run + c->n_kept, text, n);
        c->n_kept += n;
    } else {
        c->text = text;
        c->n_text = n;
    }
    return 0;
}

int counter_end_run(struct counter *c, struct err *err)
{
    int rc = c->lost ? 0 : settle(c, false, err);
    if (c->lost) {
        c->out.n = c->before + (c->v->kind == VOCAB_SPM ? 4 : 1) * (c->bytes + 1);
        c->exact = false;
    }
    c->before = c->out.n;
    c->bytes = c->n_kept = c->n_text = 0;
    c->lost = c->begun = false;
    return rc;
}
