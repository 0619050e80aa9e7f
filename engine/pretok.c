/* pretok.c - the pre-tokenizers of byte-level BPE: which words a text is cut into before merging.
 *
 * A family is a list of patterns, applied in turn: each cuts every word that the one before left, into its matches and
 * what lies between them.  The patterns are those of the models' published tokenizer.json files, with two differences
 * that make them mean here what they mean there:
 *   - white space is written out (SPACE): PCRE2's \s in UCP mode also takes U+180E, which is none since Unicode 6.3;
 *   - "(?i:'s|...)" is written out for ASCII, so that U+017F is no s.
 * PCRE2 never sees bytes that are not UTF-8: they become words of their own, so no text can fail. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "engine/text.h"
#include "engine/vocab_impl.h"

#include <pcre2.h>

#define SPACE "\\p{Z}\\x09-\\x0d\\x{85}" /* inside a class: the Unicode property White_Space */
#define WS "[" SPACE "]"
#define NOT_WS "[^" SPACE "]"
#define SHORT_FORM "'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"
#define TRAILING WS "+(?!" NOT_WS ")|" WS "+"

#define GPT2 "'(?:s|t|re|ve|m|ll|d)| ?\\p{L}+| ?\\p{N}+| ?[^" SPACE "\\p{L}\\p{N}]+|" TRAILING

/* The patterns that began with cl100k differ in how many digits stay together, and in whether marks are letters. */
#define CL100K(letter, digits)                                                                                   \
    SHORT_FORM "|[^\\r\\n\\p{L}\\p{N}]?[" letter "]+|" digits "| ?[^" SPACE letter "\\p{N}]+[\\r\\n]*|" WS        \
               "*[\\r\\n]+|" TRAILING

/* o200k and its relatives: a word may not go from lower to upper case. */
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K(short_form, digits)                                                                                \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" short_form "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" short_form   \
    "|" digits "| ?[^" SPACE "\\p{L}\\p{N}]+[\\r\\n/]*|" WS "*[\\r\\n]+|" TRAILING

/* Which name belongs where: the list that converters and llama.cpp agree on. */
static const struct pretok_family family[] = {
    {"gpt-2 phi-2 jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code roberta-bpe gigachat a.x-4.0 mellum "
     "modern-bert exaone4 mpt olmo jais trillion granite-docling", false, false, {GPT2}},
    {"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano", true, true,
     {CL100K("\\p{L}", "\\p{N}{1,3}")}},
    {"dbrx smaug-bpe chatglm-bpe glm4", false, false, {CL100K("\\p{L}", "\\p{N}{1,3}")}},
    {"qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan grok-2", false, false,
     {CL100K("\\p{L}", "\\p{N}")}},
    {"qwen35", false, false, {CL100K("\\p{L}\\p{M}", "\\p{N}")}},
    {"smollm starcoder refact command-r codeshell exaone minerva-7b", false, false, {"\\p{N}", GPT2}},
    {"falcon", false, false, {"[\\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {"gpt-4o llama4 kanana2", false, false, {O200K("(?:" SHORT_FORM ")?", "\\p{N}{1,3}")}},
    {"tekken", true, true, {O200K("", "\\p{N}")}},
};
enum { STEPS = COUNT_OF(family[0].step) };

struct pretok {
    pcre2_code *step[STEPS];
    int n_steps;
};

/* PCRE2 matches in memory of ours.  Compiled patterns (JIT) take none while they match.  The interpreter, where there
 * is no JIT, takes one block for its frames, which it doubles when they are many; the heap limit says no at its first
 * size.  No pattern of ours repeats a group, so the depth of frames follows the pattern, not the text: a dozen. */
enum { FRAMES_KIB = 20, BLOCK = (FRAMES_KIB + 4) << 10 };

struct pretok_match {
    pcre2_match_data *data;
    pcre2_match_context *context;
    size_t used, last; /* bytes of block; where the newest piece begins */
    _Alignas(max_align_t) unsigned char block[BLOCK];
};

/* ---------------------------------------------------------------- families by name */

static bool names_have(const char *names, const char *name, size_t n)
{
    for (const char *at = names; *at;) {
        size_t len = strcspn(at, " ");
        if (len == n && memcmp(at, name, n) == 0) return true;
        at += len + (at[len] == ' ');
    }
    return false;
}

const struct pretok_family *pretok_find(const char *name, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(family); i++)
        if (names_have(family[i].names, name, n)) return &family[i];
    return NULL;
}

const char *pretok_known(void)
{
    return "gpt-2, llama-bpe, dbrx, qwen2, qwen35, smollm, falcon, gpt-4o, tekken and their other names";
}

/* ---------------------------------------------------------------- compiling */

static int fail(struct err *err, int code, int pcre2, size_t at, const char *what)
{
    unsigned char why[120];
    pcre2_get_error_message(pcre2, why, sizeof why);
    return err_set(err, code, "%s failed at byte %zu: %s", what, at, (char *)why);
}

/* Our own patterns: they can fail only where memory is short or PCRE2 was built without Unicode. */
static int compile(struct pretok *p, const struct pretok_family *f, struct err *err)
{
    while (p->n_steps < STEPS && f->step[p->n_steps]) {
        int code;
        PCRE2_SIZE at;
        pcre2_code *step = pcre2_compile((PCRE2_SPTR)f->step[p->n_steps], PCRE2_ZERO_TERMINATED,
                                         PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
        if (!step) return fail(err, -1, code, at, "compiling a pre-tokenizer's pattern (PCRE2 has to know Unicode)");
        /* where it is not possible, the interpreter gives the same */
        pcre2_jit_compile(step, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
        p->step[p->n_steps++] = step;
    }
    return 0;
}

struct pretok *pretok_open(const struct pretok_family *f, struct err *err)
{
    struct pretok *p = calloc(1, sizeof *p);
    if (!p) err_set(err, -1, "out of memory for a pre-tokenizer");
    if (p && compile(p, f, err) == 0) return p;
    pretok_close(p);
    return NULL;
}

size_t pretok_bytes(const struct pretok *p)
{
    size_t sum = p ? sizeof *p : 0;
    for (int i = 0; p && i < p->n_steps; i++) {
        size_t code = 0, jit = 0;
        pcre2_pattern_info(p->step[i], PCRE2_INFO_SIZE, &code);
        pcre2_pattern_info(p->step[i], PCRE2_INFO_JITSIZE, &jit);
        sum += code + jit;
    }
    return sum;
}

void pretok_close(struct pretok *p)
{
    if (!p) return;
    for (int i = 0; i < p->n_steps; i++) pcre2_code_free(p->step[i]);
    free(p);
}

/* ---------------------------------------------------------------- memory to match in */

static void *take(size_t n, void *self)
{
    struct pretok_match *m = self;
    if (n > BLOCK - m->used) return NULL;
    m->last = m->used;
    m->used += MIN(size_align(n, _Alignof(max_align_t)), BLOCK - m->used);
    return m->block + m->last;
}

/* Only the newest piece comes back: frames that make place for larger ones. */
static void give(void *piece, void *self)
{
    struct pretok_match *m = self;
    if (piece == m->block + m->last) m->used = m->last;
}

size_t pretok_match_bytes(void) { return sizeof(struct pretok_match); }

struct pretok_match *pretok_match_open(void *mem)
{
    struct pretok_match *m = mem;
    m->used = m->last = 0;
    pcre2_general_context *ours = pcre2_general_context_create(take, give, m);
    m->data = ours ? pcre2_match_data_create(1, ours) : NULL;
    m->context = ours ? pcre2_match_context_create(ours) : NULL;
    if (!m->data || !m->context) return NULL;
    pcre2_set_heap_limit(m->context, FRAMES_KIB);
    return m;
}

/* ---------------------------------------------------------------- cutting */

/* A cut that is under way.  Each word that a step leaves is a subject of its own for the next: a pattern that looks
 * ahead sees its end.
 *
 * No pattern looks back, so where a word begins, all that came before is forgotten.  And a text that will go on is
 * matched with PCRE2_PARTIAL_HARD, which gives up as soon as a match looks at its end: a match that is found is what it
 * will be, however the text goes on. */
struct cut {
    const struct pretok *p;
    struct pretok_match *m;
    pretok_word *word;
    void *self;
    const char *done; /* the end of the last word */
    struct err *err;
};

static int cut_word(struct cut *c, int step, const char *text, size_t n, bool more);

static int put_word(struct cut *c, const char *text, size_t n)
{
    c->done = text + n;
    return c->word(c->self, text, n);
}

static int pass_on(struct cut *c, int step, const char *text, size_t n, bool more)
{
    if (n == 0) return 0;
    if (step < c->p->n_steps) return cut_word(c, step, text, n, more);
    return more ? 0 : put_word(c, text, n); /* else it may become longer */
}

/* One word by one pattern, its matches and what lies between by the next pattern: as deep as a family has patterns. */
static int cut_word(struct cut *c, int step, const char *text, size_t n, bool more)
{
    /* NO_UTF_CHECK: else each match would check the whole rest again, and a long text take quadratic time */
    uint32_t how = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY | (more ? PCRE2_PARTIAL_HARD : 0);
    for (size_t at = 0; at < n;) {
        int rc = pcre2_match(c->p->step[step], (PCRE2_SPTR)text, n, at, how, c->m->data, c->m->context);
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(c->m->data);
        if (rc == PCRE2_ERROR_NOMATCH) return pass_on(c, step + 1, text + at, n - at, more);
        if (rc == PCRE2_ERROR_PARTIAL) return pass_on(c, step + 1, text + at, ends[0] - at, true);
        if (rc < 0)
            return fail(c->err, VOCAB_PATTERN_LIMIT, rc, at, "cutting a text into words (give it in parts)");
        size_t from = ends[0], to = ends[1]; /* the next pattern's matches go to the same place */
        if ((rc = pass_on(c, step + 1, text + at, from - at, false))) return rc;
        if ((rc = pass_on(c, step + 1, text + from, to - from, false))) return rc;
        at = to;
    }
    return 0;
}

/* Valid characters in turn with runs of bytes that are none, which are words by themselves. */
static int cut_text(struct cut *c, const char *text, size_t n, bool more)
{
    for (size_t at = 0; at < n;) {
        size_t good = text_valid_utf8(text + at, n - at), bad = 0;
        bool last = more && n - at - good < 4; /* what follows may be a character that is not whole yet */
        int rc = pass_on(c, 0, text + at, good, last);
        if (rc || last) return rc;
        at += good;
        while (at + bad < n && text_valid_utf8(text + at + bad, MIN(n - at - bad, 4)) == 0) bad++;
        if (more && n - at - bad < 4) return 0;
        if (bad > 0 && (rc = put_word(c, text + at, bad))) return rc;
        at += bad;
    }
    return 0;
}

int pretok_cut(const struct pretok *p, struct pretok_match *m, const char *text, size_t n, bool more, pretok_word *word,
               void *self, size_t *done, struct err *err)
{
    struct cut c = {.p = p, .m = m, .word = word, .self = self, .done = text, .err = err};
    /* No pattern of ours goes back over a text more than a few times; a limit that follows its length bounds the time
     * for any text without refusing a long one. */
    pcre2_set_match_limit(m->context, (uint32_t)(1000000 + 8 * MIN(n, (size_t)VOCAB_TEXT_MAX)));
    int rc = cut_text(&c, text, n, more);
    if (done) *done = (size_t)(c.done - text);
    return rc;
}
