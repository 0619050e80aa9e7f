/* test_vocab_hostile.c - vocabularies that wish us harm: each is refused with one line that names the key and what was
 * found, or is read without harm. */
#include "engine/vocab_impl.h"

#include "tests/check.h"
#include "tests/gguf_make.h"
#include "tests/vocab_make.h"

/* ---------------------------------------------------------------- helpers */

static struct gguf *open_file(struct vocab_make *m)
{
    struct err err = {0};
    struct buf file = vocab_make_bytes(m);
    struct gguf *g = gguf_open(gguf_make_write("vocab.gguf", file.data, file.len), &err);
    buf_free(&file);
    if (!g) check_fail(__FILE__, __LINE__, "%s", err.text);
    return g;
}

static void check_refused(const char *file, int line, struct vocab_make *m, const char *key, const char *found)
{
    struct err err = {0};
    struct gguf *g = open_file(m);
    struct vocab *v = vocab_open(g, &err);
    gguf_close(g);
    if (v) check_fail(file, line, "it was opened; expected was a refusal that says %s and %s", key, found);
    CHECK_EQ(err.code, -1);
    if (!strstr(err.text, "vocab.gguf")) check_fail(file, line, "no file name in: %s", err.text);
    if (!strstr(err.text, key)) check_fail(file, line, "no %s in: %s", key, err.text);
    if (!strstr(err.text, found)) check_fail(file, line, "no %s in: %s", found, err.text);
    for (const char *s = err.text; *s; s++)
        if ((unsigned char)*s < 0x20 || (unsigned char)*s == 0x7f)
            check_fail(file, line, "a control byte in: %s", err.text);
}
#define CHECK_REFUSED(m, key, found) check_refused(__FILE__, __LINE__, m, key, found)

static struct vocab *open_made(struct vocab_make *m)
{
    struct err err = {0};
    struct gguf *g = open_file(m);
    struct vocab *v = vocab_open(g, &err);
    gguf_close(g);
    if (!v) check_fail(__FILE__, __LINE__, "%s", err.text);
    return v;
}

static void check_ids(const struct vocab *v, const char *text, size_t n, unsigned flags, const int32_t *want,
                      size_t n_want)
{
    struct ids ids = {0};
    struct err err = {0};
    CHECK_EQ(vocab_encode(v, NULL, text, n, flags, &ids, &err), 0);
    CHECK_EQ(ids.n, n_want);
    for (size_t i = 0; i < n_want; i++) CHECK_EQ(ids.id[i], want[i]);
    ids_free(&ids);
}

/* ---------------------------------------------------------------- kind and pre-tokenizer */

TEST(a_model_key_that_is_missing_or_unknown_is_refused_by_name)
{
    struct vocab_make m;
    vocab_make_spm(&m);
    m.model = NULL;
    CHECK_REFUSED(&m, "tokenizer.ggml.model", "no vocabulary");
    for (int i = 0; i < 2; i++) { /* what lies beside a model */
        struct gguf_make beside;
        struct err err = {0};
        gguf_make_begin(&beside);
        gguf_make_str(&beside, "general.type", i ? "mmproj" : "model");
        struct gguf *g = gguf_open(gguf_make_file(&beside, "beside.gguf"), &err);
        CHECK(g && !vocab_open(g, &err));
        CHECK(strstr(err.text, i ? "is no model: its key general.type is \"mmproj\"" : "the file has no vocabulary"));
        gguf_close(g);
    }
    vocab_make_spm(&m);
    m.model = "bert";
    CHECK_REFUSED(&m, "tokenizer.ggml.model", "\"bert\"");
    vocab_make_spm(&m);
    m.model = "\x1b[31mllama\n";
    CHECK_REFUSED(&m, "tokenizer.ggml.model", "\"\\x1b[31mllama\\x0a\"");
}

TEST(a_pre_tokenizer_that_is_missing_or_unknown_is_refused_and_never_guessed)
{
    static const char *const unknown[] = {"default", "", "gpt-2 ", "gpt", " ", "LLAMA-BPE", "llama-bpe llama3"};
    struct vocab_make m;
    vocab_make_bpe(&m, NULL);
    CHECK_REFUSED(&m, "tokenizer.ggml.pre", "missing");
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        vocab_make_bpe(&m, unknown[i]);
        CHECK_REFUSED(&m, "tokenizer.ggml.pre", unknown[i]);
    }
    char longer[5001];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    vocab_make_bpe(&m, longer);
    CHECK_REFUSED(&m, "tokenizer.ggml.pre", "xxx...\"");
}

/* ---------------------------------------------------------------- tokens */

TEST(a_vocabulary_without_tokens_is_refused)
{
    struct vocab_make m;
    vocab_make_spm(&m);
    m.no_tokens = true;
    CHECK_REFUSED(&m, "tokenizer.ggml.tokens", "missing");
    vocab_make_spm(&m);
    m.n = 0;
    m.unknown = m.bos = m.eos = VOCAB_MAKE_ABSENT;
    CHECK_REFUSED(&m, "tokenizer.ggml.tokens", "empty");
    vocab_make_spm(&m);
    m.tokens_of = GGUF_U8;
    CHECK_REFUSED(&m, "tokenizer.ggml.tokens", "u8");
}

TEST(a_vocabulary_of_one_token_works)
{
    struct vocab_make m;
    vocab_make_begin(&m, "llama");
    m.no_merges = true;
    m.add_space_prefix = 0;
    vocab_make_add(&m, "a", VOCAB_NORMAL, 0);
    struct vocab *v = open_made(&m);
    check_ids(v, "aba", 3, VOCAB_SPECIAL, (int32_t[]){0, 0}, 2);
    vocab_close(v);

    vocab_make_begin(&m, "gpt2");
    m.pre = "falcon";
    m.n_scores = VOCAB_MAKE_ABSENT;
    vocab_make_add(&m, "", VOCAB_CONTROL, 0);
    v = open_made(&m);
    check_ids(v, "aba", 3, VOCAB_SPECIAL, NULL, 0);
    CHECK_EQ(vocab_max_piece(v), 0);
    vocab_close(v);
}

TEST(empty_tokens_are_ids_that_no_text_becomes)
{
    for (int type = VOCAB_NORMAL; type <= VOCAB_UNUSED; type++) {
        struct vocab_make m;
        vocab_make_spm(&m);
        m.add_space_prefix = 0;
        int id = vocab_make_add(&m, "", type, 1e30f);
        struct vocab *v = open_made(&m);
        const char *s;
        check_ids(v, "ab", 2, VOCAB_SPECIAL, (int32_t[]){3 + 'a', 3 + 'b'}, 2);
        CHECK_EQ(vocab_piece(v, id, &s), 0);
        CHECK_EQ(vocab_find(v, "", 0), -1);
        vocab_close(v);
    }
}

TEST(a_token_may_hold_nul)
{
    struct vocab_make m;
    vocab_make_spm(&m);
    m.add_space_prefix = 0;
    vocab_make_put(&m, "\0", 1, VOCAB_NORMAL, 0);
    vocab_make_put(&m, "a\0", 2, VOCAB_NORMAL, 0);
    vocab_make_add(&m, "a", VOCAB_NORMAL, 0);
    vocab_make_put(&m, "<\0>", 3, VOCAB_CONTROL, 0);
    struct vocab *v = open_made(&m);
    check_ids(v, "a\0\0<\0>", 6, VOCAB_SPECIAL, (int32_t[]){260, 259, 262}, 3);
    CHECK_EQ(vocab_find(v, "a\0", 2), 260);
    vocab_close(v);
}

TEST(of_double_tokens_the_first_counts)
{
    struct vocab_make m;
    vocab_make_spm(&m);
    m.add_space_prefix = 0;
    vocab_make_add(&m, "a", VOCAB_NORMAL, 0);
    vocab_make_add(&m, "a", VOCAB_NORMAL, 9);
    vocab_make_add(&m, "<0x41>", VOCAB_BYTE, 0);
    struct vocab *v = open_made(&m);
    check_ids(v, "aA", 2, 0, (int32_t[]){259, 3 + 'A'}, 2);
    vocab_close(v);
}

TEST(a_token_of_any_length_is_refused_above_the_limit_and_read_below_it)
{
    char *s = malloc(TOKEN_MAX + 1);
    CHECK(s != NULL);
    memset(s, 'a', TOKEN_MAX + 1);
    struct vocab_make m;
    vocab_make_spm(&m);
    vocab_make_put(&m, s, TOKEN_MAX + 1, VOCAB_NORMAL, 0);
    CHECK_REFUSED(&m, "tokenizer.ggml.tokens[259]", "16385 bytes; at most 16384");
    vocab_make_spm(&m);
    vocab_make_put(&m, s, SPECIAL_MAX + 1, VOCAB_CONTROL, 0);
    CHECK_REFUSED(&m, "tokenizer.ggml.tokens[259]", "1025 bytes");
    vocab_make_spm(&m);
    m.add_space_prefix = 0;
    vocab_make_put(&m, s, TOKEN_MAX, VOCAB_NORMAL, 0);
    vocab_make_put(&m, s, SPECIAL_MAX, VOCAB_CONTROL, 0);
    struct vocab *v = open_made(&m);
    CHECK_EQ(vocab_max_piece(v), TOKEN_MAX);
    check_ids(v, s, SPECIAL_MAX, VOCAB_SPECIAL, (int32_t[]){260}, 1);
    vocab_close(v);
    free(s);
}

/* A length that is negative as 32 bits: the loader below refuses it, and nothing above ever sees it. */
TEST(a_token_that_claims_two_gigabytes_is_refused)
{
    struct gguf_make m;
    struct err err = {0};
    gguf_make_begin(&m);
    gguf_make_str(&m, "tokenizer.ggml.model", "llama");
    gguf_make_array(&m, "tokenizer.ggml.tokens", GGUF_STR, 1, "\x01\0\0\x80\0\0\0\0a", 9);
    struct gguf *g = gguf_open(gguf_make_file(&m, "vocab.gguf"), &err);
    CHECK(g == NULL);
    CHECK(strstr(err.text, "tokenizer.ggml.tokens") != NULL);
}

/* ---------------------------------------------------------------- types, scores, byte tokens */

TEST(token_types_of_another_width_count_or_value_are_refused)
{
    static const enum gguf_type narrow[] = {GGUF_U8, GGUF_I8, GGUF_BOOL};
    struct vocab_make m;
    for (size_t i = 0; i < COUNT_OF(narrow); i++) {
        vocab_make_spm(&m);
        m.types_of = narrow[i];
        for (int k = 0; k < m.n; k++) m.token[k].type = 1;
        CHECK_REFUSED(&m, "tokenizer.ggml.token_type", "array of");
    }
    for (int64_t n = 258; n <= 260; n += 2) {
        vocab_make_spm(&m);
        m.n_types = n;
        CHECK_REFUSED(&m, "tokenizer.ggml.token_type", n == 258 ? "258 types for 259" : "260 types for 259");
    }
    vocab_make_spm(&m);
    m.n_types = 0;
    CHECK_REFUSED(&m, "tokenizer.ggml.token_type", "0 types for 259");
    vocab_make_spm(&m);
    m.token[5].type = 7;
    CHECK_REFUSED(&m, "tokenizer.ggml.token_type[5]", "is 7");
    vocab_make_spm(&m);
    m.token[5].type = -1;
    CHECK_REFUSED(&m, "tokenizer.ggml.token_type[5]", "is -1");
    vocab_make_spm(&m);
    m.types_of = GGUF_U32;
    m.token[5].type = INT32_MIN;
    CHECK_REFUSED(&m, "tokenizer.ggml.token_type", "2147483648");
}

TEST(scores_of_another_width_count_or_value_are_refused)
{
    static const enum gguf_type narrow[] = {GGUF_U8, GGUF_I8, GGUF_BOOL};
    struct vocab_make m;
    for (size_t i = 0; i < COUNT_OF(narrow); i++) {
        vocab_make_spm(&m);
        m.scores_of = narrow[i];
        CHECK_REFUSED(&m, "tokenizer.ggml.scores", "array of");
    }
    vocab_make_spm(&m);
    m.n_scores = VOCAB_MAKE_ABSENT;
    CHECK_REFUSED(&m, "tokenizer.ggml.scores", "missing");
    vocab_make_spm(&m);
    m.n_scores = 1;
    CHECK_REFUSED(&m, "tokenizer.ggml.scores", "1 scores for 259");
    vocab_make_spm(&m);
    m.n_scores = 300;
    CHECK_REFUSED(&m, "tokenizer.ggml.scores", "300 scores for 259");
    vocab_make_spm(&m);
    m.token[258].score = NAN;
    CHECK_REFUSED(&m, "tokenizer.ggml.scores[258]", "not a number");
}

TEST(infinite_scores_have_a_place_in_the_order)
{
    struct vocab_make m;
    vocab_make_spm(&m);
    vocab_make_add(&m, "a", VOCAB_NORMAL, -INFINITY);
    vocab_make_add(&m, "aa", VOCAB_NORMAL, -INFINITY);
    vocab_make_add(&m, "ab", VOCAB_NORMAL, INFINITY);
    vocab_make_add(&m, "b", VOCAB_NORMAL, 0);
    struct vocab *v = open_made(&m);
    check_ids(v, "aab", 3, VOCAB_NO_PREFIX, (int32_t[]){259, 261}, 2);
    vocab_close(v);
}

TEST(byte_tokens_that_spell_no_byte_are_refused)
{
    static const char *const bad[] = {"<0x-1>", "<0xZZ>", "<0x+1>", "<0x 1>", "<0x1>", "<0x100>",
                                      "0x41",   "<0x41",  "",       "<0xG0>", "<0x0g>"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct vocab_make m;
        vocab_make_spm(&m);
        vocab_make_add(&m, bad[i], VOCAB_BYTE, 0);
        CHECK_REFUSED(&m, "tokenizer.ggml.tokens[259]", bad[i]);
    }
    struct vocab_make m;
    vocab_make_spm(&m);
    vocab_make_put(&m, "<0x4\0>", 6, VOCAB_BYTE, 0);
    CHECK_REFUSED(&m, "tokenizer.ggml.tokens[259]", "\"<0x4\\x00>\"");
}

TEST(a_file_without_token_types_is_read_by_spelling_and_by_its_ids)
{
    struct vocab_make m;
    const char *s;
    vocab_make_spm(&m);
    m.n_types = VOCAB_MAKE_ABSENT;
    m.bos = m.eos = m.unknown = VOCAB_MAKE_ABSENT; /* found by spelling */
    m.add_space_prefix = 0;
    vocab_make_add(&m, "<0xzz>", VOCAB_NORMAL, 0);
    struct vocab *v = open_made(&m);
    CHECK_EQ(vocab_attr(v, 0), VOCAB_UNKNOWN);
    CHECK_EQ(vocab_attr(v, 1), VOCAB_CONTROL);
    CHECK_EQ(vocab_attr(v, 2), VOCAB_CONTROL);
    CHECK_EQ(vocab_attr(v, 3), VOCAB_BYTE);
    CHECK_EQ(vocab_attr(v, 259), VOCAB_NORMAL);
    CHECK_EQ(vocab_bos(v), 1);
    CHECK_EQ(vocab_eos(v), 2);
    CHECK(vocab_is_end(v, 2));
    CHECK_EQ(vocab_piece(v, 3 + 0xff, &s), 1);
    CHECK_EQ((unsigned char)*s, 0xff);
    check_ids(v, "\xff", 1, 0, (int32_t[]){3 + 0xff}, 1);
    vocab_close(v);
}

/* ---------------------------------------------------------------- ids in keys */

TEST(ids_outside_the_vocabulary_are_refused_by_key)
{
    static const int64_t bad[] = {259, INT32_MAX, 4294967295, -1};
    static const char *const key[] = {"bos_token_id", "eos_token_id", "unknown_token_id", "eot_token_id",
                                      "eom_token_id"};
    for (size_t k = 0; k < COUNT_OF(key); k++) {
        for (size_t i = 0; i < COUNT_OF(bad); i++) {
            struct vocab_make m;
            vocab_make_spm(&m);
            int64_t *const id[] = {&m.bos, &m.eos, &m.unknown, &m.eot, &m.eom};
            *id[k] = bad[i];
            CHECK_REFUSED(&m, key[k], "from 0 to 258");
        }
    }
    struct vocab_make m;
    vocab_make_spm(&m);
    m.bos = m.eos = 258; /* the last one is inside */
    struct vocab *v = open_made(&m);
    CHECK_EQ(vocab_bos(v), 258);
    vocab_close(v);
}

/* ---------------------------------------------------------------- merges */

TEST(merges_that_are_no_two_tokens_are_refused_with_index_and_text)
{
    static const char *const bad[] = {"ab", "a ", " a", " ", "", "ab ", "  "};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct vocab_make m;
        vocab_make_bpe(&m, "gpt-2");
        vocab_make_merge(&m, "a", "b");
        vocab_make_merge_raw(&m, bad[i], strlen(bad[i]));
        CHECK_REFUSED(&m, "tokenizer.ggml.merges[1]", bad[i]);
    }
}

TEST(merges_of_absent_tokens_are_refused_with_index_and_text)
{
    static const struct { const char *merge, *says; } bad[] = {
        {"ab c", "the left half"}, {"a bc", "the right half"}, {"a b", "what it makes"}, {"a b c", "the right half"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct vocab_make m;
        vocab_make_bpe(&m, "gpt-2");
        vocab_make_merge_raw(&m, bad[i].merge, strlen(bad[i].merge));
        CHECK_REFUSED(&m, "tokenizer.ggml.merges[0]", bad[i].says);
    }
}

/* They are looked up some at a time. */
TEST(of_many_merges_the_first_that_is_wrong_is_told)
{
    for (int good = 0; good < 40; good++) {
        struct vocab_make m;
        char at[48];
        vocab_make_bpe(&m, "gpt-2");
        vocab_make_merge(&m, "a", "b");
        for (int i = 1; i < good; i++) vocab_make_merge_raw(&m, "a b", 3);
        vocab_make_merge_raw(&m, "abc b", 5);
        vocab_make_merge_raw(&m, "ab", 2);
        vocab_make_merge_raw(&m, "a abc", 5);
        snprintf(at, sizeof at, "tokenizer.ggml.merges[%d]", MAX(good, 1));
        CHECK_REFUSED(&m, at, "the left half");
    }
}

/* They are copied and hashed up to the length of the longest token, here the longest that may be. */
TEST(a_merge_that_makes_a_token_of_the_longest_works_and_longer_ones_are_refused)
{
    enum { HALF = TOKEN_MAX / 2, AGAIN = 31 }; /* the bad one is the last of those looked up together */
    static char as[TOKEN_MAX], equal[2 * HALF + 1], longer[TOKEN_MAX + HALF + 1];
    memset(as, 'a', sizeof as);
    memset(equal, 'a', sizeof equal);
    memset(longer, 'a', sizeof longer);
    equal[HALF] = longer[HALF] = ' ';
    for (int bad = 0; bad < 3; bad++) {
        struct vocab_make m;
        vocab_make_bpe(&m, "gpt-2");
        vocab_make_put(&m, as, HALF, VOCAB_NORMAL, 0);
        vocab_make_put(&m, as, TOKEN_MAX, VOCAB_NORMAL, 0);
        for (int i = 0; i < AGAIN; i++) vocab_make_merge_raw(&m, "a b", 3);
        vocab_make_add(&m, "ab", VOCAB_NORMAL, 0);
        if (bad == 1) vocab_make_merge_raw(&m, longer, sizeof longer);         /* HALF and TOKEN_MAX */
        if (bad == 2) vocab_make_merge_raw(&m, longer, sizeof longer - HALF + 1); /* HALF and HALF + 1 */
        if (bad) {
            CHECK_REFUSED(&m, "tokenizer.ggml.merges[31]", bad == 1 ? "what it makes" : "the right half");
            continue;
        }
        vocab_make_merge_raw(&m, equal, sizeof equal);
        struct vocab *v = open_made(&m);
        CHECK_EQ(v->n_merges, 2);
        CHECK_EQ(v->merge[1].made, 257);
        vocab_close(v);
    }
}

/* The longest token has 0 bytes. */
TEST(merges_of_a_vocabulary_whose_tokens_are_all_empty_are_refused)
{
    struct vocab_make m;
    vocab_make_begin(&m, "gpt2");
    m.pre = "gpt-2";
    m.n_scores = VOCAB_MAKE_ABSENT;
    for (int i = 0; i < 50; i++) vocab_make_add(&m, "", VOCAB_NORMAL, 0);
    vocab_make_merge_raw(&m, "a b", 3);
    CHECK_REFUSED(&m, "tokenizer.ggml.merges[0]", "the left half");
}

TEST(missing_merges_are_refused_and_none_at_all_are_allowed)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "gpt-2");
    m.no_merges = true;
    CHECK_REFUSED(&m, "tokenizer.ggml.merges", "missing");
    vocab_make_bpe(&m, "gpt-2");
    m.merges_of = GGUF_I8;
    CHECK_REFUSED(&m, "tokenizer.ggml.merges", "array of");
    vocab_make_bpe(&m, "gpt-2");
    struct vocab *v = open_made(&m);
    check_ids(v, "ab", 2, 0, (int32_t[]){'a', 'b'}, 2);
    vocab_close(v);
}

TEST(of_equal_merges_the_first_counts_and_a_merge_of_a_longer_text_into_itself_does_not_loop)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "gpt-2");
    vocab_make_merge(&m, "a", "b");              /* 256 */
    vocab_make_merge_raw(&m, "a b", 3);
    vocab_make_merge(&m, "ab", "ab");            /* 257 */
    vocab_make_merge_raw(&m, "ab ab", 5);
    struct vocab *v = open_made(&m);
    check_ids(v, "ababab", 6, 0, (int32_t[]){257, 256}, 2);
    vocab_close(v);
}

/* ---------------------------------------------------------------- keys of other types */

TEST(flags_that_are_no_bool_are_refused)
{
    static const char *const key[] = {"tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_space_prefix",
                                      "tokenizer.ggml.bos_token_id"};
    for (size_t i = 0; i < COUNT_OF(key); i++) {
        struct gguf_make m;
        struct err err = {0};
        gguf_make_begin(&m);
        gguf_make_str(&m, "tokenizer.ggml.model", "llama");
        gguf_make_strs(&m, "tokenizer.ggml.tokens", (const char *const[]){"a", "b"}, 2);
        gguf_make_f32s(&m, "tokenizer.ggml.scores", (const float[]){0, 1}, 2);
        gguf_make_str(&m, key[i], "true");
        struct gguf *g = gguf_open(gguf_make_file(&m, "vocab.gguf"), &err);
        CHECK(g != NULL);
        CHECK(vocab_open(g, &err) == NULL);
        CHECK(strstr(err.text, key[i]) != NULL);
        gguf_close(g);
    }
}

/* A pre-tokenizer key of the wrong type, and a model key that is a number. */
TEST(names_that_are_no_strings_are_refused)
{
    static const char *const key[] = {"tokenizer.ggml.model", "tokenizer.ggml.pre"};
    for (size_t i = 0; i < COUNT_OF(key); i++) {
        struct gguf_make m;
        struct err err = {0};
        gguf_make_begin(&m);
        if (i) gguf_make_str(&m, "tokenizer.ggml.model", "gpt2");
        gguf_make_u32(&m, key[i], 5);
        gguf_make_strs(&m, "tokenizer.ggml.tokens", (const char *const[]){"a", "b"}, 2);
        struct gguf *g = gguf_open(gguf_make_file(&m, "vocab.gguf"), &err);
        CHECK(g != NULL);
        CHECK(vocab_open(g, &err) == NULL);
        CHECK(strstr(err.text, key[i]) != NULL);
        gguf_close(g);
    }
}

CHECK_MAIN
