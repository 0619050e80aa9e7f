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

struct pretok_match {
    pcre2_match_data *data;
    pcre2_match_context *context;
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

static int fail(struct err *err, int code, size_t at, const char *what)
{
    unsigned char why[120];
    pcre2_get_error_message(code, why, sizeof why);
    return err_set(err, -1, "%s failed at byte %zu: %s", what, at, (char *)why);
}

/* Our own patterns: they can fail only where memory is short or PCRE2 was built without Unicode. */
static int compile(struct pretok *p, const struct pretok_family *f, struct err *err)
{
    while (p->n_steps < STEPS && f->step[p->n_steps]) {
        int code;
        PCRE2_SIZE at;
        pcre2_code *step = pcre2_compile((PCRE2_SPTR)f->step[p->n_steps], PCRE2_ZERO_TERMINATED,
                                         PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
        if (!step) return fail(err, code, at, "compiling a pre-tokenizer's pattern (a PCRE2 with Unicode is needed)");
        pcre2_jit_compile(step, PCRE2_JIT_COMPLETE); /* where it is not possible, the interpreter gives the same */
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

void pretok_close(struct pretok *p)
{
    if (!p) return;
    for (int i = 0; i < p->n_steps; i++) pcre2_code_free(p->step[i]);
    free(p);
}

/* What matching needs, made once for a text. */
static int match_ready(struct work *w, struct err *err)
{
    if (w->match) return 0;
    struct pretok_match *m = w->match = calloc(1, sizeof *m);
    if (m) m->data = pcre2_match_data_create(1, NULL);
    if (m) m->context = pcre2_match_context_create(NULL);
    return m && m->data && m->context ? 0 : err_set(err, -1, "out of memory for cutting a text into words");
}

void pretok_match_free(struct pretok_match *m)
{
    if (!m) return;
    pcre2_match_data_free(m->data);
    pcre2_match_context_free(m->context);
    free(m);
}

/* ---------------------------------------------------------------- cutting */

static int put_span(struct spans *v, size_t n, bool fixed, struct err *err)
{
    if (n == 0) return 0;
    if (v->n == v->cap) {
        size_t cap = v->cap ? 2 * v->cap : 64;
        struct span *s = realloc(v->s, cap * sizeof *s);
        if (!s) return err_set(err, -1, "out of memory for the words of a text");
        v->s = s;
        v->cap = cap;
    }
    v->s[v->n++] = (struct span){n, fixed};
    return 0;
}

/* The text's runs of valid UTF-8, and between them what is not. */
static int cut_invalid(struct spans *out, const char *text, size_t n, struct err *err)
{
    out->n = 0;
    for (size_t at = 0; at < n;) {
        size_t good = text_valid_utf8(text + at, n - at), bad = 0;
        at += good;
        while (at + bad < n && text_valid_utf8(text + at + bad, MIN(n - at - bad, 4)) == 0) bad++;
        at += bad;
        if (put_span(out, good, false, err) || put_span(out, bad, true, err)) return -1;
    }
    return 0;
}

/* One word, by one pattern: matches and what lies between.  The word is a subject of its own: a pattern that looks
 * ahead sees its end. */
static int cut_word(pcre2_code *step, const struct pretok_match *m, const char *word, size_t n, struct spans *out,
                    struct err *err)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(m->data);
    for (size_t at = 0; at < n;) {
        /* NO_UTF_CHECK: else each match would check the whole rest again, and a long text take quadratic time */
        int rc = pcre2_match(step, (PCRE2_SPTR)word, n, at, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, m->data, m->context);
        if (rc == PCRE2_ERROR_NOMATCH) return put_span(out, n - at, false, err);
        if (rc < 0) return fail(err, rc, at, "cutting a text into words (give it in parts)");
        if (put_span(out, ends[0] - at, false, err) || put_span(out, ends[1] - ends[0], false, err)) return -1;
        at = ends[1];
    }
    return 0;
}

static int cut_all(pcre2_code *step, const struct pretok_match *m, const char *text, const struct spans *in,
                   struct spans *out, struct err *err)
{
    size_t at = 0;
    out->n = 0;
    for (size_t i = 0; i < in->n; at += in->s[i++].n) {
        int rc = in->s[i].fixed ? put_span(out, in->s[i].n, true, err)
                                : cut_word(step, m, text + at, in->s[i].n, out, err);
        if (rc) return rc;
    }
    return 0;
}

int pretok_cut(const struct pretok *p, struct work *w, const char *text, size_t n, struct err *err)
{
    if (match_ready(w, err)) return -1;
    /* No pattern of ours goes back over a text more than a few times; a limit that follows its length bounds the time
     * for any text without refusing a long one. */
    pcre2_set_match_limit(w->match->context, (uint32_t)(1000000 + 8 * MIN(n, (size_t)ENCODE_MAX)));
    if (cut_invalid(&w->words, text, n, err)) return -1;
    for (int i = 0; i < p->n_steps; i++) {
        if (cut_all(p->step[i], w->match, text, &w->words, &w->cut, err)) return -1;
        struct spans swap = w->words;
        w->words = w->cut;
        w->cut = swap;
    }
    return 0;
}
