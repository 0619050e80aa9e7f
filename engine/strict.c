/* strict.c - grammars kept for requests, and the state of an answer beside its grammar. */
#include "engine/strict.h"
#include "engine/harmony.h"

/* A text that is looked for, with the failure function of Knuth, Morris and Pratt ("Fast pattern matching in strings",
 * SIAM Journal on Computing 6, 1977): fail[i] is the longest proper beginning that text[0 .. i] ends with. */
struct mark {
    char text[STRICT_MARK];
    uint8_t fail[STRICT_MARK], n;
};

struct carried {
    struct mark open, close, free_open, free_close;
    bool blanks, whole, plain;
    unsigned harmony;  /* this and plain as struct grammar_source has them */
    struct grammar *g; /* NULL: nothing is compiled here */
    int holds;
    uint64_t used;     /* when it was last taken: the oldest goes first */
    size_t n_schema;
    char *schema;      /* (STRICT_SCHEMA) its text */
    void *mem;         /* (grammar_bytes) */
};

struct strict {
    struct strict_config cfg;
    const struct vocab *v;
    struct grammar_index *x;
    size_t mask_words;
    uint32_t *masks; /* (outs, mask_words) */
    int32_t end[GRAMMAR_AFTER]; /* tokens that end a turn */
    int n_end;
    uint64_t takes;
    struct carried all[];
};

/* ------------------------------------------------------------------ memory */

static struct grammar_words words_of(const struct vocab *v, bool harmony)
{
    return harmony ? grammar_words_harmony(v) : grammar_words(v);
}

int strict_plan(const struct vocab *v, int grammars, bool harmony, const struct grammar_limits *limits,
                struct strict_config *out, struct err *err)
{
    struct grammar_words words = words_of(v, harmony);
    bool given = limits->states || limits->nodes || limits->depth || limits->masks;
    *out = (struct strict_config){0};
    if (grammars == 0) return 0;
    if (grammars < 0 || grammars > STRICT_GRAMMARS)
        return err_set(err, ENGINE_FAULT, "%d grammars are to be held; allowed is 0 to %d", grammars, STRICT_GRAMMARS);
    out->limits = given ? *limits : GRAMMAR_LIMITS;
    out->index_bytes = grammar_index_bytes(&words);
    out->grammar_bytes = grammar_bytes_of(&words, &out->limits);
    if (out->index_bytes > PTRDIFF_MAX || out->grammar_bytes > PTRDIFF_MAX)
        return err_set(err, ENGINE_FAULT, "the limits of grammars (%d states, %d nodes, %d deep, %d masks) are out of "
                       "their range", out->limits.states, out->limits.nodes, out->limits.depth, out->limits.masks);
    out->grammars = grammars;
    out->harmony = harmony;
    out->mask_bytes = ((uint64_t)vocab_size(v) + 31) / 32 * sizeof(uint32_t);
    return 0;
}

/* What strict_open() takes in one piece; UINT64_MAX: it overflows. */
static uint64_t block_bytes(const struct strict_config *cfg, int outs)
{
    uint64_t n = (uint64_t)cfg->grammars, sum = sizeof(struct strict) + n * sizeof(struct carried), masks, grammars;
    bool over = size_mul(cfg->mask_bytes, (uint64_t)outs, &masks) || size_add(sum, masks, &sum) ||
                size_mul(cfg->grammar_bytes + STRICT_SCHEMA, n, &grammars) || size_add(sum, grammars, &sum) ||
                size_add(sum, cfg->index_bytes, &sum) || sum > PTRDIFF_MAX;
    return over ? UINT64_MAX : sum;
}

uint64_t strict_bytes(const struct strict_config *cfg, int outs)
{
    uint64_t sum;
    if (cfg->grammars == 0) return 0;
    return size_add(block_bytes(cfg, outs), STRICT_READ, &sum) ? UINT64_MAX : sum;
}

static void find_ends(struct strict *s, const struct vocab *v)
{
    for (int32_t id = 0; id < vocab_size(v) && s->n_end < GRAMMAR_AFTER; id++)
        if (vocab_is_end(v, id)) s->end[s->n_end++] = id;
}

struct strict *strict_open(const struct strict_config *cfg, const struct vocab *v, int outs, struct err *err)
{
    uint64_t bytes = block_bytes(cfg, outs);
    struct grammar_words words = words_of(v, cfg->harmony);
    struct strict *s = bytes < UINT64_MAX ? take_touched((size_t)bytes) : NULL;
    if (!s) {
        err_set(err, ENGINE_FAULT, "no host memory for %d grammars", cfg->grammars);
        return NULL;
    }
    s->cfg = *cfg;
    s->mask_words = cfg->mask_bytes / sizeof(uint32_t);
    s->masks = (uint32_t *)(void *)(s->all + cfg->grammars);
    char *at = (char *)(s->masks + (size_t)outs * s->mask_words);
    s->x = grammar_index_open(&words, at, cfg->index_bytes, err);
    if (!s->x) {
        if (err) err->code = ENGINE_FAULT;
        free(s);
        return NULL;
    }
    s->v = v;
    find_ends(s, v);
    at += cfg->index_bytes;
    for (int i = 0; i < cfg->grammars; i++, at += cfg->grammar_bytes + STRICT_SCHEMA) {
        s->all[i].mem = at;
        s->all[i].schema = at + cfg->grammar_bytes;
    }
    return s;
}

void strict_close(struct strict *s) { free(s); }

/* ------------------------------------------------------------------ marks */

static int set_mark(struct mark *m, const char *text, const char *name, bool must, struct err *err)
{
    size_t n = text ? strlen(text) : 0;
    *m = (struct mark){0};
    if (n > STRICT_MARK || (must && n == 0))
        return err_set(err, ENGINE_BAD_REQUEST, "a grammar's %s has %zu bytes; allowed is %d to %d", name, n, must,
                       STRICT_MARK);
    if (n == 0) return 0;
    m->n = (uint8_t)n;
    memcpy(m->text, text, n);
    for (uint8_t i = 1, at = 0; i < n; i++) {
        while (at > 0 && text[at] != text[i]) at = m->fail[at - 1];
        if (text[at] == text[i]) at++;
        m->fail[i] = at;
    }
    return 0;
}

/* How much of the mark the text ends with, after one more byte; before it, `at` < n. */
static uint8_t step(const struct mark *m, uint8_t at, char byte)
{
    while (at > 0 && m->text[at] != byte) at = m->fail[at - 1];
    return m->text[at] == byte ? at + 1 : at;
}

/* ------------------------------------------------------------------ grammars */

static int read_marks(struct carried *to, const struct request_grammar *r, struct err *err)
{
    to->whole = r->whole;
    if (set_mark(&to->open, r->open, "opening", !r->whole, err) ||
        set_mark(&to->close, r->close, "closing", !r->whole, err) ||
        set_mark(&to->free_open, r->free_open, "beginning of free text", false, err) ||
        set_mark(&to->free_close, r->free_close, "end of free text", false, err))
        return ENGINE_BAD_REQUEST;
    if (to->whole && (to->free_open.n > 0 || to->free_close.n > 0))
        return err_set(err, ENGINE_BAD_REQUEST, "a grammar of the whole answer leaves no free text");
    if (!to->free_open.n != !to->free_close.n)
        return err_set(err, ENGINE_BAD_REQUEST, "a grammar's free text needs a beginning and an end, or neither");
    if (!r->schema) return err_set(err, ENGINE_BAD_REQUEST, "a grammar needs a schema");
    if (r->n_schema > STRICT_SCHEMA)
        return err_set(err, ENGINE_BAD_REQUEST, "a grammar's schema has %zu bytes; at most %d are read", r->n_schema,
                       STRICT_SCHEMA);
    if (r->plain && (!r->whole || to->open.n > 0 || to->close.n > 0 || r->either))
        return err_set(err, ENGINE_BAD_REQUEST, "a grammar of texts is of the whole answer, without marks");
    to->blanks = r->blanks;
    to->plain = r->plain;
    return 0;
}

/* Marks and free text of its own are in the grammar itself. */
static void turn_harmony(struct carried *c, const struct request_grammar *r)
{
    const unsigned calls = c->open.n > 0 || r->either ? GRAMMAR_CALLS : 0;
    *c = (struct carried){.blanks = c->blanks, .whole = true, .plain = c->plain,
                          .harmony = calls | (!c->whole ? GRAMMAR_TEXT : c->open.n > 0 ? 0 : GRAMMAR_ANSWER)};
}

static bool same_mark(const struct mark *a, const struct mark *b)
{
    return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
}

static bool is_same(const struct carried *a, const struct carried *b, const struct request_grammar *r)
{
    return a->g && a->blanks == b->blanks && a->whole == b->whole && a->plain == b->plain &&
           a->harmony == b->harmony && a->n_schema == r->n_schema &&
           memcmp(a->schema, r->schema, r->n_schema) == 0 && same_mark(&a->open, &b->open) &&
           same_mark(&a->close, &b->close) && same_mark(&a->free_open, &b->free_open) &&
           same_mark(&a->free_close, &b->free_close);
}

/* One that is the same, or else the place that was used longest ago and is not held; NULL: all are. */
static struct carried *find_place(struct strict *s, const struct carried *want, const struct request_grammar *r)
{
    struct carried *oldest = NULL;
    for (int i = 0; i < s->cfg.grammars; i++) {
        struct carried *c = &s->all[i];
        if (is_same(c, want, r)) return c;
        if (c->holds == 0 && (!oldest || c->used < oldest->used)) oldest = c;
    }
    return oldest;
}

static int compile(struct strict *s, struct carried *c, const struct carried *want, const struct request_grammar *r,
                   struct err *err)
{
    struct grammar_source source = {.schema = r->schema, .n_schema = r->n_schema, .close = r->close,
                                    .n_close = want->close.n, .blanks = r->blanks, .plain = r->plain,
                                    .harmony = want->harmony};
    if (want->whole) source.after = s->end, source.n_after = s->n_end;
    struct err why = {0};
    struct carried old = *c;
    *c = *want;
    c->mem = old.mem;
    c->schema = old.schema;
    c->n_schema = r->n_schema;
    memcpy(c->schema, r->schema, r->n_schema);
    c->g = grammar_compile(s->x, &s->cfg.limits, &source, c->mem, s->cfg.grammar_bytes, &why);
    if (c->g) return 0;
    return err_set(err, why.code == GRAMMAR_NO_MEMORY ? ENGINE_NO_MEMORY : ENGINE_BAD_REQUEST, "%s", why.text);
}

int strict_take(struct strict *s, const struct request_grammar *r, struct carried **out, struct err *err)
{
    struct carried want = {0};
    if (!s)
        return err_set(err, ENGINE_BAD_REQUEST, "the request carries a grammar; the engine was opened to hold none");
    if (read_marks(&want, r, err)) return ENGINE_BAD_REQUEST;
    if (s->cfg.harmony) turn_harmony(&want, r);
    struct carried *c = find_place(s, &want, r);
    if (!c)
        return err_set(err, ENGINE_NO_MEMORY, "requests hold %d different grammars, as many as there is room for: try "
                       "again when one has ended", s->cfg.grammars);
    int rc = is_same(c, &want, r) ? 0 : compile(s, c, &want, r, err);
    if (rc) return rc;
    c->holds++;
    c->used = ++s->takes;
    *out = c;
    return 0;
}

void strict_give(struct carried *c)
{
    assert(!c || c->holds > 0);
    if (c) c->holds--;
}

int strict_holds(const struct strict *s)
{
    int holds = 0;
    for (int i = 0; s && i < s->cfg.grammars; i++) holds += s->all[i].holds;
    return holds;
}

/* ------------------------------------------------------------------ an answer */

bool strict_same(const struct strict_state *a, const struct strict_state *b)
{
    return a->phase == b->phase && a->match == b->match && a->skip == b->skip && a->at.at == b->at.at;
}

static struct strict_state inside(const struct carried *c)
{
    return (struct strict_state){.phase = STRICT_INSIDE, .at = grammar_begin(c->g)};
}

/* Where the whole answer is the grammar's: how it stands before its first token. */
static struct strict_state begun(const struct carried *c, const struct strict_state *st)
{
    return !c->whole || st->phase != STRICT_START || c->open.n > 0 ? *st : inside(c);
}

bool strict_is_whole(const struct carried *c) { return c->whole && !(c->harmony & GRAMMAR_TEXT); }

bool strict_begin(const struct strict *s, const struct carried *c, const int32_t *prompt, size_t n,
                  struct strict_state *st)
{
    size_t from = n;
    *st = (struct strict_state){0};
    if (!c->harmony) return true;
    *st = inside(c);
    while (from > 0 && harmony_mark(s->v, prompt[from - 1]) != MARK_START) from--;
    bool good = from > 0;
    for (size_t i = from - 1; good && i < n; i++) good = grammar_accept(c->g, &st->at, prompt[i]);
    return good;
}

int strict_may(const struct carried *c, const struct strict_state *st, const int32_t *ids, int n)
{
    struct strict_state now = begun(c, st);
    int may = 0;
    if (now.phase != STRICT_INSIDE) return n;
    while (may < n && grammar_accept(c->g, &now.at, ids[may])) may++;
    return may;
}

/* Where an opening must come: the tokens that go on with it. */
static const uint32_t *opening_mask(struct strict *s, struct carried *c, uint8_t had, const uint32_t *allowed,
                                    uint32_t *mask)
{
    const char *rest = c->open.text + had;
    const size_t lacks = (size_t)(c->open.n - had);
    memset(mask, 0, s->mask_words * sizeof *mask);
    for (int32_t id = 0; id < vocab_size(s->v); id++) {
        const char *piece;
        size_t n = vocab_piece(s->v, id, &piece);
        if (n > 0 && memcmp(piece, rest, MIN(n, lacks)) == 0) mask[id / 32] |= 1u << (id % 32);
    }
    for (size_t i = 0; allowed && i < s->mask_words; i++) mask[i] &= allowed[i];
    grammar_bar(c->g, rest, lacks, mask);
    return mask;
}

const uint32_t *strict_mask(struct strict *s, struct carried *c, const struct strict_state *st, const uint32_t *allowed,
                            int out)
{
    uint32_t *mask = s->masks + (size_t)out * s->mask_words;
    int barred = 0;
    const struct strict_state now = begun(c, st);
    if (now.phase == STRICT_INSIDE) {
        grammar_mask(c->g, &now.at, mask);
        for (size_t i = 0; allowed && i < s->mask_words; i++) mask[i] &= allowed[i];
        return mask;
    }
    if (c->whole) return opening_mask(s, c, st->match, allowed, mask);
    if (st->phase == STRICT_FREE || st->match == 0) return allowed;
    if (allowed) memcpy(mask, allowed, s->mask_words * sizeof *mask);
    else memset(mask, 0xff, s->mask_words * sizeof *mask);
    for (uint8_t at = st->match; at > 0; at = c->open.fail[at - 1])
        barred += grammar_bar(c->g, c->open.text + at, (size_t)(c->open.n - at), mask);
    return barred ? mask : allowed;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* One byte of an answer that is not inside a call. */
static void go_on(const struct carried *c, struct strict_state *st, char byte)
{
    if (st->phase == STRICT_FREE) {
        st->skip = step(&c->free_close, st->skip, byte);
        if (st->skip == c->free_close.n) *st = (struct strict_state){.phase = STRICT_OUTSIDE};
        return;
    }
    st->match = step(&c->open, st->match, byte);
    if (st->phase == STRICT_START && !(st->skip == 0 && is_blank(byte))) {
        if (c->free_open.n == 0 || c->free_open.text[st->skip] != byte) st->phase = STRICT_OUTSIDE;
        else if (++st->skip == c->free_open.n) *st = (struct strict_state){.phase = STRICT_FREE};
    }
    if (st->match == c->open.n) *st = inside(c);
}

/* One byte of the opening that must come. */
static bool go_on_opening(const struct carried *c, struct strict_state *st, char byte)
{
    if (c->open.text[st->match] != byte) return false;
    if (++st->match == c->open.n) *st = inside(c);
    return true;
}

bool strict_accept(const struct carried *c, struct strict_state *st, int32_t id, const char *bytes, size_t n,
                   size_t *outside)
{
    struct strict_state now = begun(c, st);
    size_t i = 0;
    if (now.phase == STRICT_INSIDE) {
        if (!grammar_accept(c->g, &now.at, id)) return false;
    } else {
        for (; i < n && now.phase != STRICT_INSIDE; i++) {
            if (!c->whole) go_on(c, &now, bytes[i]);
            else if (!go_on_opening(c, &now, bytes[i])) return false;
        }
        if (now.phase == STRICT_INSIDE && !grammar_follow(c->g, &now.at, bytes + i, n - i)) return false;
    }
    if (now.phase == STRICT_INSIDE && !c->whole && grammar_is_complete(c->g, &now.at))
        now = (struct strict_state){.phase = STRICT_OUTSIDE};
    *outside = c->whole ? 0 : i;
    *st = now;
    return true;
}
