/* test_count.c - the tokens of texts that are longer than the scratch: as many as encoding them at once makes, whatever
 * the vocabulary, the size of the scratch, and the parts in which the text comes. */
#include "engine/template.h"
#include "engine/vocab_impl.h"
#include "tests/check.h"
#include "tests/gguf_make.h"
#include "tests/vocab_make.h"

static const char *const family[] = {"gpt-2",  "llama-bpe", "dbrx",   "qwen2", "qwen35",
                                     "smollm", "falcon",    "gpt-4o", "tekken"};
enum { FAMILIES = COUNT_OF(family), TEXT = 1500, LEAST = 24 };

static uint32_t state = 1;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* ---------------------------------------------------------------- vocabularies */

static struct vocab *open_made(struct vocab_make *m)
{
    struct err err = {0};
    struct buf file = vocab_make_bytes(m);
    struct gguf *g = gguf_open(gguf_make_write("vocab.gguf", file.data, file.len), &err);
    struct vocab *v = g ? vocab_open(g, &err) : NULL;
    if (!v) check_fail(__FILE__, __LINE__, "%s", err.text);
    gguf_close(g);
    buf_free(&file);
    return v;
}

static void add_marks(struct vocab_make *m)
{
    vocab_make_add(m, "<|im_start|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|im_end|>", VOCAB_CONTROL, 0);
}

/* Tokens that plain text may have too, one the beginning of the other, one of a single byte. */
static void add_plain_marks(struct vocab_make *m)
{
    static const char *const mark[] = {"<u>", "<u> a", "\n\n", "~"};
    for (size_t i = 0; i < COUNT_OF(mark); i++) vocab_make_add(m, mark[i], VOCAB_USER_DEFINED, 0);
}

static const char *const letter[] = {"a", "b", "c", "\xc4\xa0" /* space */, "\xc4\x8a" /* \n */, "!", "1", "\xc3\xa4"};

/* Merges of tokens that are there by then, in an order that may be any (wild) or a trained vocabulary's. */
static struct vocab *open_bpe(const char *pre, bool marks, bool wild)
{
    struct vocab_make m;
    char made[24][64];
    int n = 0;
    vocab_make_bpe(&m, pre);
    for (int tries = 0; n < 24 && tries < 1000; tries++) {
        const char *half[2];
        for (int i = 0; i < 2; i++) {
            size_t pick = draw((uint32_t)(wild ? n : n / 2) + (uint32_t)COUNT_OF(letter));
            half[i] = pick < COUNT_OF(letter) ? letter[pick] : made[pick - COUNT_OF(letter)];
        }
        snprintf(made[n], sizeof made[n], "%.30s%.30s", half[0], half[1]);
        bool known = strlen(half[0]) + strlen(half[1]) > 24;
        for (int i = 0; i < n; i++) known = known || strcmp(made[i], made[n]) == 0;
        if (known) continue;
        vocab_make_merge(&m, half[0], half[1]);
        n++;
    }
    for (int i = 0; wild && i < n; i++) { /* lower ranks for what is made of others */
        int k = (int)draw((uint32_t)n);
        struct gguf_str keep = m.merge[i];
        m.merge[i] = m.merge[k];
        m.merge[k] = keep;
    }
    add_marks(&m);
    if (marks) add_plain_marks(&m);
    m.token[200].n = 0; /* a byte that cannot be said */
    return open_made(&m);
}

static struct vocab *open_spm(bool marks, bool prefix)
{
    static const char *const part[] = {"\xe2\x96\x81", "a", "b", "c", "\n", "!", "\xe4\xbd\xa0"};
    struct vocab_make m;
    char text[64];
    vocab_make_spm(&m);
    for (size_t i = draw(2); i < COUNT_OF(part); i++) /* with U+2581 as a token, or not */
        vocab_make_add(&m, part[i], VOCAB_NORMAL, -(float)draw(50));
    for (int i = 0; i < 40; i++) {
        text[0] = '\0';
        for (uint32_t k = 2 + draw(6); k > 0; k--) strcat(text, part[draw(COUNT_OF(part))]);
        vocab_make_add(&m, vocab_make_keep(&m, text, strlen(text)), VOCAB_NORMAL, -(float)draw(50));
    }
    add_marks(&m);
    if (marks) add_plain_marks(&m);
    m.add_space_prefix = prefix;
    return open_made(&m);
}

/* ---------------------------------------------------------------- texts */

/* wide: also parts of which one word may be as long as one likes. */
static struct buf text_of(size_t n, bool wide)
{
    static const char *const any[] = {
        "a", "b", "ab", " a", " c", "\n", "1", "'ll", "!?", "<|im_end|>", "<u>", "<u> ", "~", "A", "\xc3\xa9",
        "\xe4\xbd\xa0", "\xe3\x80\x82", "\xf0\x9f\xa6\x99", "/", " \t", "\xe2\x96\x81", "\xff", "\xe2\x96", "\xc8",
        "  ",
    };
    struct buf b = {0};
    buf_put(&b, "", 1), b.len = 0; /* never NULL */
    while (b.len < n) {
        const char *s = any[draw(COUNT_OF(any))];
        uint32_t times = wide && draw(12) == 0 ? draw(300) : 1;
        for (uint32_t i = 0; i <= times; i++) buf_puts(&b, s);
        if (!wide) buf_puts(&b, draw(4) ? "" : " a");
    }
    CHECK(!b.failed);
    return b;
}

/* ---------------------------------------------------------------- counted and encoded */

static struct vocab_scratch *scratch_of(const struct vocab *v, size_t text_bytes, void **mem)
{
    struct err err = {0};
    size_t bytes = vocab_scratch_bytes(v, text_bytes);
    *mem = malloc(bytes);
    struct vocab_scratch *s = vocab_scratch_open(v, *mem, bytes, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(s->text_bytes, text_bytes);
    return s;
}

static size_t encoded(const struct vocab *v, const struct buf *b)
{
    struct ids ids = {0};
    struct err err = {0};
    CHECK_EQ(vocab_encode(v, NULL, b->data, b->len, 0, &ids, &err), 0);
    size_t n = ids.n;
    ids_free(&ids);
    return n;
}

/* Counts b, fed in parts; each of them a block of its own, that nobody may read over the end of. */
static void count(struct counter *c, const struct buf *b, int parts)
{
    char *part[8];
    struct err err = {0};
    size_t at = 0;
    for (int i = 0; i < parts; i++) {
        size_t n = i + 1 == parts ? b->len - at : draw((uint32_t)(b->len - at) + 1);
        part[i] = malloc(n ? n : 1);
        memcpy(part[i], b->data + at, n);
        CHECK_EQ(counter_feed(c, part[i], n, &err), 0);
        at += n;
    }
    CHECK_EQ(counter_end_run(c, &err), 0);
    for (int i = 0; i < parts; i++) free(part[i]);
}

/* How many of so many random texts could not be counted exactly. */
static int lost_of(const struct vocab *v, int texts, size_t least, bool wide)
{
    int lost = 0;
    for (int i = 0; i < texts; i++) {
        struct buf b = text_of(draw(TEXT), wide);
        struct counter c;
        void *mem;
        struct vocab_scratch *s = scratch_of(v, least + draw(200), &mem);
        counter_begin(&c, v, s);
        uint64_t want = 0;
        for (int runs = 0; runs < 2; runs++) { /* two, so that nothing is left of the first */
            count(&c, &b, 1 + (int)draw(6));
            want += encoded(v, &b);
        }
        if (c.exact) CHECK_EQ(c.out.n, want);
        CHECK(c.out.n >= want);
        lost += !c.exact;
        free(mem);
        buf_free(&b);
    }
    return lost;
}

/* A scratch of a few bytes, words of any length, merges in any order: a count, or a bound. */
TEST(count_is_what_encoding_makes_or_says_that_it_is_a_bound)
{
    int lost = 0, of = 0;
    for (int round = 0; round < 120; round++) {
        struct vocab *v = round % 4 == 3 ? open_spm(draw(2), draw(2))
                                         : open_bpe(family[draw(FAMILIES)], draw(2), draw(2));
        lost += lost_of(v, 20, LEAST, true);
        of += 20;
        vocab_close(v);
    }
    CHECK(lost > 0 && lost < of / 2);
}

/* Words and what they depend on fit the scratch, and so no text is lost. */
TEST(count_is_exact_where_words_fit_the_scratch)
{
    for (int i = 0; i < 2 * (int)FAMILIES; i++) {
        struct vocab *v = open_bpe(family[i / 2], i % 2, false);
        CHECK_EQ(lost_of(v, 60, 200, false), 0);
        vocab_close(v);
    }
    for (int i = 0; i < 8; i++) {
        struct vocab *v = open_spm(i % 2, i / 2 % 2);
        CHECK_EQ(lost_of(v, 60, 400, false), 0);
        vocab_close(v);
    }
}

/* One word of any length, and it is seen whole: nothing is fed behind it. */
TEST(count_is_exact_for_one_word_far_longer_than_the_scratch)
{
    static const char *const part[] = {"a", "ab", " ", "\n", "!", "\xff", "\xe4\xbd\xa0", "aab", "/"};
    for (size_t f = 0; f < FAMILIES + 1; f++) {
        struct vocab *v = f < FAMILIES ? open_bpe(family[f], false, false) : open_spm(false, true);
        for (size_t i = 0; i < COUNT_OF(part); i++) {
            struct buf b = {0};
            struct counter c;
            void *mem;
            while (b.len < 40000) buf_puts(&b, part[i]);
            struct vocab_scratch *s = scratch_of(v, 300, &mem);
            counter_begin(&c, v, s);
            count(&c, &b, 1);
            CHECK(c.exact);
            CHECK_EQ(c.out.n, encoded(v, &b));
            free(mem);
            buf_free(&b);
        }
        vocab_close(v);
    }
}

/* Each token is decided by the one behind it: windows never agree. */
TEST(count_of_a_text_that_is_felt_from_its_end_is_a_bound)
{
    enum { STEPS = 60 };
    struct vocab_make m;
    struct buf b = {0}, more = {0};
    char token[STEPS + 1][8];
    vocab_make_spm(&m);
    for (int i = 0; i <= STEPS; i++) { /* U+0400 and on; the later in the text, the earlier it merges */
        snprintf(token[i], sizeof token[i], "%c%c", 0xd0 + i / 64, 0x80 + i % 64);
        buf_puts(&b, token[i]);
    }
    for (int i = 0; i < STEPS; i++) {
        char both[16];
        int n = snprintf(both, sizeof both, "%s%s", token[i], token[i + 1]);
        vocab_make_add(&m, vocab_make_keep(&m, both, (size_t)n), VOCAB_NORMAL, (float)i);
    }
    m.add_space_prefix = 0;
    struct vocab *v = open_made(&m);
    struct counter c;
    void *mem;
    struct vocab_scratch *s = scratch_of(v, 41, &mem);
    counter_begin(&c, v, s);
    count(&c, &b, 1);
    CHECK(!c.exact && c.out.n >= encoded(v, &b));
    buf_put(&more, b.data, 40); /* the next run has forgotten it */
    uint64_t before = c.out.n;
    count(&c, &more, 1);
    CHECK_EQ(c.out.n - before, encoded(v, &more));
    free(mem);
    buf_free(&b);
    buf_free(&more);
    vocab_close(v);
}

/* ---------------------------------------------------------------- words */

struct words {
    const char *text;
    size_t end[TEXT + 700];
    int n;
};

static int put_end(void *self, const char *word, size_t n)
{
    struct words *w = self;
    w->end[w->n++] = (size_t)(word - w->text) + n;
    return 0;
}

/* However a text goes on: the words that were cut before are its words. */
TEST(pretok_cut_of_a_text_that_goes_on_ends_before_the_first_doubt)
{
    static struct words whole, part;
    long cuts = 0, bytes = 0, left = 0;
    struct err err = {0};
    struct pretok_match *m = aligned_alloc(64, size_align(pretok_match_bytes(), 64));
    CHECK(m && pretok_match_open(m) == m);
    for (size_t f = 0; f < FAMILIES; f++) {
        struct pretok *p = pretok_open(pretok_find(family[f], strlen(family[f])), &err);
        for (int i = 0; i < 40; i++) {
            struct buf b = text_of(draw(400), i % 2);
            whole = (struct words){.text = b.data};
            CHECK_EQ(pretok_cut(p, m, b.data, b.len, false, put_end, &whole, NULL, &err), 0);
            CHECK(b.len == 0 || whole.end[whole.n - 1] == b.len);
            for (size_t n = 0; n <= b.len; n++) {
                size_t done;
                part = (struct words){.text = b.data};
                char *copy = malloc(n + 1);
                memcpy(copy, b.data, n);
                part.text = copy;
                CHECK_EQ(pretok_cut(p, m, copy, n, true, put_end, &part, &done, &err), 0);
                free(copy);
                CHECK(part.n <= whole.n && done == (part.n ? part.end[part.n - 1] : 0));
                CHECK_MEM(part.end, whole.end, (size_t)part.n * sizeof part.end[0]);
                cuts++;
                if (i % 2 == 0) { /* words are short */
                    bytes += (long)n;
                    left += (long)(n - done);
                }
            }
            buf_free(&b);
        }
        pretok_close(p);
    }
    free(m);
    CHECK(cuts > 10000 && left < bytes / 20); /* it does cut */
}

/* ---------------------------------------------------------------- messages */

TEST(template_count_is_the_length_of_what_is_rendered)
{
    struct vocab *vocab[] = {open_bpe("qwen2", true, false), open_spm(true, true), open_bpe("tekken", false, false)};
    int exact = 0;
    for (int i = 0; i < 600; i++) {
        const struct vocab *v = vocab[i % 3];
        static const enum template_kind kinds[] = {TEMPLATE_RAW, TEMPLATE_CHATML, TEMPLATE_LLAMA2, TEMPLATE_MISTRAL1};
        const enum template_kind kind = kinds[i / 3 % (i % 3 == 1 ? 4 : 2)]; /* the last two need <s> and </s> */
        struct buf text[5];
        struct msg msgs[5];
        struct ids ids = {0};
        struct err err = {0};
        uint64_t tokens;
        bool sure, open = draw(2);
        int n = (int)draw(6);
        void *mem;
        for (int k = 0; k < n; k++) {
            text[k] = text_of(draw(draw(3) ? 60 : TEXT), draw(2));
            msgs[k] = (struct msg){.role = (enum role)draw(ROLE_COUNT), .text = text[k].data, .len = text[k].len};
        }
        CHECK_EQ(template_render(kind, v, NULL, msgs, n, open, &ids, NULL, 0, &err), 0);
        struct vocab_scratch *s = scratch_of(v, 100 + draw(600), &mem);
        CHECK_EQ(template_count(kind, v, s, msgs, n, open, &tokens, &sure, &err), 0);
        if (sure) CHECK_EQ(tokens, ids.n);
        CHECK(tokens >= ids.n);
        exact += sure;
        for (int k = 0; k < n; k++) buf_free(&text[k]);
        free(mem);
        ids_free(&ids);
    }
    CHECK(exact > 400);
    struct err err = {0};
    uint64_t tokens;
    bool sure;
    void *mem;
    struct vocab_scratch *s = scratch_of(vocab[0], 10, &mem);
    CHECK_EQ(template_count(TEMPLATE_LLAMA3, vocab[0], s, NULL, 0, true, &tokens, &sure, &err), -1);
    CHECK(strstr(err.text, "<|begin_of_text|>"));
    free(mem);
    for (int i = 0; i < 3; i++) vocab_close(vocab[i]);
}

CHECK_MAIN
