/* test_vocab.c - tokenizers: the shared vectors exactly, small vocabularies known by hand, and round trips. */
#include "engine/vocab_impl.h"

#include "tests/check.h"
#include "tests/gguf_make.h"
#include "tests/vocab_make.h"

#define LB "\xe2\x96\x81" /* U+2581, SentencePiece's space */

/* ---------------------------------------------------------------- helpers */

static struct vocab *open_made(struct vocab_make *m)
{
    struct err err = {0};
    struct buf file = vocab_make_bytes(m);
    struct gguf *g = gguf_open(gguf_make_write("vocab.gguf", file.data, file.len), &err);
    buf_free(&file);
    if (!g) check_fail(__FILE__, __LINE__, "%s", err.text);
    struct vocab *v = vocab_open(g, &err);
    if (!v) check_fail(__FILE__, __LINE__, "%s", err.text);
    gguf_close(g); /* the vocabulary needs it no longer */
    return v;
}

static const char *ids_text(const struct ids *ids)
{
    static struct buf shown;
    shown.len = 0;
    buf_put(&shown, "", 0);
    for (size_t i = 0; i < ids->n; i++) buf_printf(&shown, "%s%d", i ? " " : "", ids->id[i]);
    return shown.len ? shown.data : "";
}

#define CHECK_ENCODE(v, text, n, flags, want)                            \
    do {                                                                 \
        struct ids got_ = {0};                                           \
        struct err err_ = {0};                                           \
        CHECK_EQ(vocab_encode(v, NULL, text, n, flags, &got_, &err_), 0);      \
        CHECK_STR(ids_text(&got_), want);                                \
        ids_free(&got_);                                                 \
    } while (0)
#define CHECK_ENCODES(v, text, flags, want) CHECK_ENCODE(v, text, strlen(text), flags, want)

static void decode(const struct vocab *v, const struct ids *ids, struct buf *out)
{
    for (size_t i = 0; i < ids->n; i++) {
        const char *piece;
        size_t n = vocab_piece(v, ids->id[i], &piece);
        CHECK(n <= vocab_max_piece(v));
        buf_put(out, piece, n);
    }
}

static void check_round_trip(const struct vocab *v, const char *text, size_t n, unsigned flags)
{
    struct ids ids = {0};
    struct buf back = {0};
    struct err err = {0};
    if (vocab_encode(v, NULL, text, n, flags, &ids, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
    decode(v, &ids, &back);
    CHECK_EQ(back.len, n);
    CHECK_MEM(back.data, text, n);
    ids_free(&ids);
    buf_free(&back);
}

static struct buf read_all(const char *path)
{
    struct buf b = {0};
    char part[4096];
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_put(&b, part, n);
    fclose(f);
    CHECK(!b.failed);
    return b;
}

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* ---------------------------------------------------------------- the shared vectors */

static struct vocab *open_vector(const char *name)
{
    const char *vectors = check_vectors();
    if (!vectors) SKIP("no shared vectors");
    char path[1024];
    struct err err = {0};
    snprintf(path, sizeof path, "%s/tokenizers/%s.gguf", vectors, name);
    struct gguf *g = gguf_open(path, &err);
    if (!g) check_fail(__FILE__, __LINE__, "%s", err.text);
    struct vocab *v = vocab_open(g, &err);
    if (!v) check_fail(__FILE__, __LINE__, "%s", err.text);
    gguf_close(g);
    return v;
}

static struct buf read_vector(const char *name, const char *suffix)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/tokenizers/%s.%s", check_vectors(), name, suffix);
    return read_all(path);
}

/* Each case's ids exactly, with what lies between cases and lines as the vectors' README says. */
static void check_cases(const char *name)
{
    static const char separator[] = "\n__ggml_vocab_test__\n";
    struct vocab *v = open_vector(name);
    struct buf in = read_vector(name, "inp"), out = read_vector(name, "out");
    int cases = 0;
    char *line = out.data;
    for (char *at = in.data, *end; (end = strstr(at, separator)); at = end + strlen(separator)) {
        char *newline = strchr(line, '\n');
        CHECK(newline != NULL);
        *newline = '\0';
        CHECK_ENCODE(v, at, (size_t)(end - at), 0, line + (*line == ' '));
        line = newline + 1;
        cases++;
    }
    CHECK_EQ(cases, 46);
    buf_free(&in);
    buf_free(&out);
    vocab_close(v);
}

TEST(llama_spm_gives_exactly_the_expected_ids) { check_cases("llama-spm"); }
TEST(gpt_2_gives_exactly_the_expected_ids) { check_cases("gpt-2"); }
TEST(falcon_gives_exactly_the_expected_ids) { check_cases("falcon"); }
TEST(llama3_gives_exactly_the_expected_ids) { check_cases("llama3"); }
TEST(qwen2_gives_exactly_the_expected_ids) { check_cases("qwen2"); }

/* Texts that no vector has: any bytes, half of them broken UTF-8. */
static void check_random_round_trips(const char *name, unsigned flags)
{
    static const char *const part[] = {
        "a", "The", " ", "  ", "\n", "\r\n", "\t", "12345", "'s", "'LL", ".", "!?", "\x01", "_", "<|im_end|>", "</s>",
        "[PAD151700]", "\xc3\xa9", "e\xcc\x81", "\xe4\xbd\xa0\xe5\xa5\xbd", "\xf0\x9f\xa6\x99", "\xe1\xa0\x8e",
        "\xc2\x85", "\xff", "\xe4\xbd", "\xc3", "\x80", "\xed\xa0\x80",
    };
    struct vocab *v = open_vector(name);
    uint32_t state = 7;
    for (int i = 0; i < 300; i++) {
        struct buf text = {0};
        for (uint32_t n = draw(&state) % 40; n > 0; n--) buf_puts(&text, part[draw(&state) % COUNT_OF(part)]);
        if (i % 3 == 0) buf_put(&text, "\0x", 2);
        check_round_trip(v, text.data ? text.data : "", text.len, flags);
        buf_free(&text);
    }
    vocab_close(v);
}

TEST(any_bytes_come_back_from_llama_spm) { check_random_round_trips("llama-spm", VOCAB_NO_PREFIX); }
TEST(any_bytes_come_back_from_gpt_2) { check_random_round_trips("gpt-2", 0); }
TEST(any_bytes_come_back_from_llama3) { check_random_round_trips("llama3", 0); }
TEST(any_bytes_come_back_from_qwen2) { check_random_round_trips("qwen2", 0); }

TEST(qwen2_s_control_tokens_are_parsed_only_when_asked_for)
{
    struct vocab *v = open_vector("qwen2");
    CHECK_ENCODES(v, "<|im_end|>", VOCAB_SPECIAL, "151645");
    CHECK_ENCODES(v, "<|im_end|>", 0, "27 91 318 6213 91 29");
    CHECK_EQ(vocab_bos(v), 151643);
    CHECK_EQ(vocab_eos(v), 151645);
    CHECK(!vocab_adds_bos(v));
    CHECK(vocab_is_end(v, 151643) && vocab_is_end(v, 151645) && !vocab_is_end(v, 151644));
    CHECK_EQ(vocab_attr(v, 151645), VOCAB_CONTROL);
    CHECK_EQ(vocab_attr(v, 151646), VOCAB_UNUSED);
    CHECK_STR(vocab_pre(v), "qwen2");
    vocab_close(v);
}

TEST(llama3_knows_what_ends_a_turn_and_that_it_adds_bos)
{
    struct vocab *v = open_vector("llama3");
    CHECK(vocab_adds_bos(v));
    CHECK(vocab_is_end(v, 128009) && vocab_is_end(v, 128008) && vocab_is_end(v, 128001) && !vocab_is_end(v, 128000));
    CHECK_ENCODES(v, "<|begin_of_text|><|eot_id|>", VOCAB_SPECIAL, "128000 128009");
    vocab_close(v);
}

/* ---------------------------------------------------------------- byte-level BPE, by hand */

TEST(the_lowest_rank_is_merged_first_wherever_it_stands)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "gpt-2");
    int bc = vocab_make_merge(&m, "b", "c"), ab = vocab_make_merge(&m, "a", "b"), abc = vocab_make_merge(&m, "a", "bc");
    CHECK_EQ(bc, 256);
    CHECK_EQ(ab, 257);
    CHECK_EQ(abc, 258);
    struct vocab *v = open_made(&m);
    CHECK_ENCODES(v, "abc", 0, "258");   /* bc, then a bc */
    CHECK_ENCODES(v, "abab", 0, "257 257");
    CHECK_ENCODES(v, "abbc", 0, "257 256");
    CHECK_ENCODES(v, "a b", 0, "97 32 98");
    CHECK_ENCODES(v, "", 0, "");
    CHECK_EQ(vocab_kind(v), VOCAB_BPE);
    CHECK_EQ(vocab_size(v), 259);
    CHECK_EQ(vocab_bos(v), -1);
    CHECK_EQ(vocab_find(v, "abc", 3), 258);
    CHECK_EQ(vocab_find(v, "abcd", 4), -1);
    CHECK_EQ(vocab_find(v, "", 0), -1);
    vocab_close(v);
}

TEST(of_equal_merges_the_leftmost_is_done_first)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "gpt-2");
    vocab_make_merge(&m, "a", "a");
    struct vocab *v = open_made(&m);
    CHECK_ENCODES(v, "aaaaa", 0, "256 256 97");
    vocab_close(v);
}

/* "ab" has no merge here: only where words are taken whole does it come out. */
TEST(a_whole_word_is_taken_as_it_is_only_by_the_llama_3_family)
{
    for (int family = 0; family < 2; family++) {
        struct vocab_make m;
        vocab_make_bpe(&m, family ? "llama-bpe" : "dbrx");
        vocab_make_add(&m, "ab", VOCAB_NORMAL, 0);
        struct vocab *v = open_made(&m);
        CHECK_ENCODES(v, "ab", 0, family ? "256" : "97 98");
        CHECK_ENCODES(v, "ab abc", 0, family ? "256 32 97 98 99" : "97 98 32 97 98 99");
        vocab_close(v);
    }
}

static int show_word(void *self, const char *word, size_t n)
{
    buf_printf(self, "[%.*s]", (int)n, word);
    return 0;
}

/* How one text is cut, as words in brackets. */
static const char *cut(const char *pre, const char *text, struct buf *out)
{
    struct err err = {0};
    struct pretok_match *m = aligned_alloc(64, size_align(pretok_match_bytes(), 64));
    const struct pretok_family *f = pretok_find(pre, strlen(pre));
    CHECK(f != NULL);
    struct pretok *p = pretok_open(f, &err);
    CHECK(p != NULL);
    CHECK(m != NULL && pretok_match_open(m) == m);
    out->len = 0;
    CHECK_EQ(pretok_cut(p, m, text, strlen(text), false, show_word, out, NULL, &err), 0);
    free(m);
    pretok_close(p);
    return out->data;
}

TEST(each_family_cuts_words_in_its_own_way)
{
    struct buf b = {0};
    CHECK_STR(cut("gpt-2", "aB12 'S's  b\n\n", &b), "[aB][12][ '][S]['s][ ][ b][\n\n]");
    CHECK_STR(cut("smollm", "aB12 's", &b), "[aB][1][2][ '][s]");
    CHECK_STR(cut("falcon", "a's!! 1212", &b), "[a]['][s][!!][ ][121][2]");
    CHECK_STR(cut("llama-bpe", "aB1212'S !\n b", &b), "[aB][121][2]['S][ !\n][ b]");
    CHECK_STR(cut("qwen2", "!ab12 \n \n  b", &b), "[!ab][1][2][ \n \n][ ][ b]");
    CHECK_STR(cut("qwen35", "ae\xcc\x81 \xcc\x81", &b), "[ae\xcc\x81][ \xcc\x81]");
    CHECK_STR(cut("gpt-4o", "abABaB123'S!/\n", &b), "[ab][ABa][B][123]['S][!/\n]");
    CHECK_STR(cut("gpt-4o", "ab'LLc", &b), "[ab'LL][c]");
    CHECK_STR(cut("tekken", "ABab12", &b), "[ABab][1][2]");
    buf_free(&b);
}

TEST(white_space_is_what_unicode_says_and_not_what_pcre2_says)
{
    struct buf b = {0};
    CHECK_STR(cut("gpt-2", "a\xe1\xa0\x8e\xe1\xa0\x8e b", &b), "[a][\xe1\xa0\x8e\xe1\xa0\x8e][ b]"); /* U+180E: none */
    CHECK_STR(cut("gpt-2", "a\xc2\x85\xc2\x85 b", &b), "[a][\xc2\x85\xc2\x85][ b]"); /* U+0085: white space */
    CHECK_STR(cut("gpt-2", "!\xe1\xa0\x8e!\xe3\x80\x80!", &b), "[!\xe1\xa0\x8e!][\xe3\x80\x80][!]");
    CHECK_STR(cut("llama-bpe", "a'\xc5\xbf", &b), "[a]['\xc5\xbf]");                               /* U+017F is no s */
    buf_free(&b);
}

TEST(bytes_that_are_not_utf_8_are_words_of_their_own)
{
    struct buf b = {0};
    CHECK_STR(cut("qwen2", "ab\xff\xfe cd", &b), "[ab][\xff\xfe][ cd]");
    CHECK_STR(cut("gpt-2", "\xe4\xbd", &b), "[\xe4\xbd]");
    CHECK_STR(cut("falcon", "a\xed\xa0\x80z", &b), "[a][\xed\xa0\x80][z]");
    buf_free(&b);
}

#define AS "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /* 64 */

/* Most of these are one word for the pre-tokenizer, and quadratic time would be hours. */
TEST(a_megabyte_of_anything_is_encoded_and_comes_back)
{
    static const char *const pattern[] = {"a", " ", "\n ", "ab", "\xff", "\xe4\xbd\xa0", "1", "!", "a\xff"};
    enum { N = 1 << 20 };
    char *text = malloc(N);
    CHECK(text != NULL);
    for (int spm = 0; spm < 2; spm++) {
        struct vocab_make m;
        if (spm) {
            vocab_make_spm(&m);
            vocab_make_add(&m, LB, VOCAB_NORMAL, -1);
            for (int n = 1; n <= 64; n *= 2)
                vocab_make_put(&m, AS, (size_t)n, VOCAB_NORMAL, (float)n);
        } else {
            vocab_make_bpe(&m, "llama-bpe");
            char left[64] = "a";
            for (int i = 0; i < 5; i++) {
                vocab_make_merge(&m, left, left);
                size_t n = strlen(left);
                memmove(left + n, left, n);
                left[2 * n] = '\0';
            }
        }
        struct vocab *v = open_made(&m);
        for (size_t p = 0; p < COUNT_OF(pattern); p++) {
            size_t n = strlen(pattern[p]);
            for (size_t i = 0; i < N; i++) text[i] = pattern[p][i % n];
            check_round_trip(v, text, N, VOCAB_NO_PREFIX);
        }
        vocab_close(v);
    }
    free(text);
}

TEST(a_byte_that_has_no_token_is_the_unknown_one_or_nothing)
{
    for (int unknown = 0; unknown < 2; unknown++) {
        struct vocab_make m;
        vocab_make_begin(&m, "gpt2");
        m.pre = "gpt-2";
        m.n_scores = VOCAB_MAKE_ABSENT;
        vocab_make_add(&m, "a", VOCAB_NORMAL, 0);
        vocab_make_add(&m, "<unk>", VOCAB_UNKNOWN, 0);
        if (unknown) m.unknown = 1;
        struct vocab *v = open_made(&m);
        CHECK_ENCODES(v, "aba", 0, unknown ? "0 1 0" : "0 0");
        vocab_close(v);
    }
}

TEST(tokens_spelled_plainly_in_a_byte_level_vocabulary_stand_for_themselves)
{
    struct vocab_make m;
    const char *piece;
    vocab_make_bpe(&m, "gpt-2");
    int user = vocab_make_add(&m, "<x> \xc4\xa0", VOCAB_USER_DEFINED, 0); /* U+0120, which spells a space elsewhere */
    int cjk = vocab_make_add(&m, "\xe4\xbd\xa0", VOCAB_NORMAL, 0);
    struct vocab *v = open_made(&m);
    CHECK_EQ(vocab_piece(v, user, &piece), 6);
    CHECK_MEM(piece, "<x> \xc4\xa0", 6);
    CHECK_EQ(vocab_piece(v, cjk, &piece), 3);
    CHECK_MEM(piece, "\xe4\xbd\xa0", 3);
    for (int b = 0; b < 256; b++) {
        CHECK_EQ(vocab_piece(v, b, &piece), 1);
        CHECK_EQ((unsigned char)piece[0], b);
    }
    CHECK_EQ(vocab_max_piece(v), 6);
    vocab_close(v);
}

/* ---------------------------------------------------------------- SPM, by hand */

TEST(the_highest_score_is_merged_first_and_of_equal_ones_the_leftmost)
{
    struct vocab_make m;
    vocab_make_spm(&m);
    static const struct { const char *s; float score; } token[] = {
        {LB, -1}, {"a", -2}, {"b", -3}, {"ab", -5}, {"ba", -4},
        {LB "a", -9}, {"aba", -10}, {"-", -11}, {"bb", 0.0f}, {"aa", -0.0f},
    };
    for (size_t i = 0; i < COUNT_OF(token); i++) vocab_make_add(&m, token[i].s, VOCAB_NORMAL, token[i].score);
    struct vocab *v = open_made(&m); /* 259 _, 260 a, 261 b, 262 ab, 263 ba, 264 _a, 265 aba, 266 -, 267 bb, 268 aa */
    CHECK_ENCODES(v, "aba", 0, "264 263");
    CHECK_ENCODES(v, "aba", VOCAB_NO_PREFIX, "265");
    CHECK_ENCODES(v, "a a", VOCAB_NO_PREFIX, "260 264");
    CHECK_ENCODES(v, "abb", VOCAB_NO_PREFIX, "260 267");
    CHECK_ENCODES(v, "bbaa", VOCAB_NO_PREFIX, "267 268");
    CHECK_ENCODES(v, "baaab", VOCAB_NO_PREFIX, "261 268 262");
    CHECK_ENCODES(v, "", 0, "");
    CHECK_EQ(vocab_kind(v), VOCAB_SPM);
    CHECK_STR(vocab_pre(v), "");
    CHECK(vocab_adds_bos(v));
    CHECK_EQ(vocab_bos(v), 1);
    CHECK(vocab_is_end(v, 2) && !vocab_is_end(v, 1));
    vocab_close(v);
}

TEST(a_negative_zero_is_no_lower_score_than_zero)
{
    struct vocab_make m;
    vocab_make_spm(&m);
    vocab_make_add(&m, "x", VOCAB_NORMAL, -1);     /* 259 */
    vocab_make_add(&m, "y", VOCAB_NORMAL, -1);     /* 260 */
    vocab_make_add(&m, "xy", VOCAB_NORMAL, -0.0f); /* 261 */
    vocab_make_add(&m, "yx", VOCAB_NORMAL, 0.0f);  /* 262 */
    struct vocab *v = open_made(&m);
    CHECK_ENCODES(v, "xyx", VOCAB_NO_PREFIX, "261 259");
    CHECK_ENCODES(v, "yxy", VOCAB_NO_PREFIX, "262 260");
    vocab_close(v);
}

TEST(text_that_spells_a_byte_token_is_not_that_byte)
{
    static const char spelling[] = "<0x41>";
    struct vocab_make m;
    vocab_make_spm(&m);
    for (size_t n = 1; n < 6; n++) vocab_make_put(&m, spelling, n, VOCAB_NORMAL, (float)n); /* 259.. */
    struct vocab *v = open_made(&m);
    CHECK_ENCODES(v, spelling, VOCAB_NO_PREFIX, "263 65"); /* "<0x41" and the byte ">" */
    CHECK_ENCODES(v, spelling, VOCAB_NO_PREFIX | VOCAB_SPECIAL, "263 65");
    vocab_close(v);
}

TEST(what_is_no_token_is_written_in_bytes_or_as_unknown)
{
    struct vocab_make m;
    vocab_make_spm(&m);
    vocab_make_add(&m, LB, VOCAB_NORMAL, -1);
    struct vocab *v = open_made(&m);
    CHECK_ENCODES(v, "\xc3\xa9", 0, "259 198 172");
    CHECK_ENCODES(v, "\xc3\xc3", VOCAB_NO_PREFIX, "198 198");
    CHECK_ENCODE(v, "\0", 1, VOCAB_NO_PREFIX, "3");
    vocab_close(v);

    vocab_make_begin(&m, "llama"); /* no byte tokens at all */
    m.no_merges = true;
    m.unknown = vocab_make_add(&m, "<unk>", VOCAB_UNKNOWN, 0);
    vocab_make_add(&m, "a", VOCAB_NORMAL, -1);
    v = open_made(&m);
    CHECK_ENCODES(v, "a\xc3\xa9" "a", VOCAB_NO_PREFIX, "1 0 1");
    CHECK(!vocab_adds_bos(v)); /* it has none to add */
    vocab_close(v);
}

TEST(a_space_is_put_before_each_run_unless_the_file_or_the_caller_says_no)
{
    for (int prefix = -1; prefix < 2; prefix++) {
        struct vocab_make m;
        vocab_make_spm(&m);
        m.add_space_prefix = prefix;
        vocab_make_add(&m, LB, VOCAB_NORMAL, -1);
        vocab_make_add(&m, "a", VOCAB_NORMAL, -1);
        struct vocab *v = open_made(&m);
        CHECK_ENCODES(v, "a", 0, prefix ? "259 260" : "260");
        CHECK_ENCODES(v, "a", VOCAB_NO_PREFIX, "260");
        CHECK_ENCODES(v, "a</s>a", VOCAB_SPECIAL, prefix ? "259 260 2 259 260" : "260 2 260");
        CHECK_ENCODES(v, "a</s>a", VOCAB_SPECIAL | VOCAB_NO_PREFIX, prefix ? "260 2 259 260" : "260 2 260");
        CHECK_ENCODES(v, "</s>", VOCAB_SPECIAL, "2");
        vocab_close(v);
    }
}

TEST(pieces_are_text_and_spellings_are_the_file_s)
{
    struct vocab_make m;
    const char *s;
    vocab_make_spm(&m);
    int id = vocab_make_add(&m, LB "a" LB, VOCAB_NORMAL, -1);
    struct vocab *v = open_made(&m);
    CHECK_EQ(vocab_piece(v, id, &s), 3);
    CHECK_MEM(s, " a ", 3);
    CHECK_EQ(vocab_spelling(v, id, &s), 7);
    CHECK_MEM(s, LB "a" LB, 7);
    CHECK_EQ(vocab_piece(v, 3 + 'A', &s), 1);
    CHECK_MEM(s, "A", 1);
    CHECK_EQ(vocab_spelling(v, 3 + 'A', &s), 6);
    CHECK_EQ(vocab_piece(v, 0, &s), 0);
    CHECK_EQ(vocab_piece(v, 1, &s), 0);
    CHECK_EQ(vocab_spelling(v, 1, &s), 3);
    CHECK_EQ(vocab_piece(v, -1, &s), 0);
    CHECK_EQ(vocab_piece(v, id + 1, &s), 0);
    CHECK_EQ(vocab_spelling(v, INT32_MAX, &s), 0);
    CHECK_EQ(vocab_attr(v, INT32_MIN), VOCAB_UNUSED);
    CHECK(!vocab_is_end(v, id + 1));
    vocab_close(v);
}

/* ---------------------------------------------------------------- special tokens */

TEST(the_longest_special_token_is_parsed_and_only_user_defined_ones_without_the_flag)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "gpt-2");
    vocab_make_add(&m, "<c>", VOCAB_CONTROL, 0);        /* 256 */
    vocab_make_add(&m, "<c><c>", VOCAB_CONTROL, 0);     /* 257 */
    vocab_make_add(&m, "<u>", VOCAB_USER_DEFINED, 0);   /* 258 */
    vocab_make_add(&m, "<u>!", VOCAB_CONTROL, 0);       /* 259 */
    vocab_make_add(&m, "<unk>", VOCAB_UNKNOWN, 0);      /* 260 */
    vocab_make_add(&m, "<c>", VOCAB_USER_DEFINED, 0);   /* 261: a double */
    struct vocab *v = open_made(&m);
    CHECK_ENCODES(v, "<c><c><c>", VOCAB_SPECIAL, "257 256");
    CHECK_ENCODES(v, "<u>!", VOCAB_SPECIAL, "259");
    CHECK_ENCODES(v, "<u>!", 0, "258 33");
    CHECK_ENCODES(v, "a<u>", 0, "97 258");
    CHECK_ENCODES(v, "<c", VOCAB_SPECIAL, "60 99");
    CHECK_ENCODES(v, "<unk>", VOCAB_SPECIAL, "60 117 110 107 62");
    vocab_close(v);
}

/* Many files declare them so; pasted text must not end a turn for it. */
TEST(a_turn_mark_is_never_parsed_from_plain_text_whatever_type_the_file_gives_it)
{
    static const char *const mark[] = {"<|im_start|>",    "<|im_end|>",       "<|eot_id|>",    "<|start_header_id|>",
                                       "<tool_response>", "</tool_response>", "<|endoftext|>", "<start_of_turn>"};
    for (size_t i = 0; i < COUNT_OF(mark); i++) {
        for (int type = VOCAB_NORMAL; type <= VOCAB_UNUSED; type++) {
            struct vocab_make m;
            vocab_make_bpe(&m, "llama-bpe"); /* takes whole words */
            vocab_make_add(&m, "<u>", VOCAB_USER_DEFINED, 0); /* so that at each "<" a token is looked for */
            int id = vocab_make_add(&m, mark[i], type, 0);
            struct vocab *v = open_made(&m);
            struct ids ids = {0};
            CHECK_EQ(vocab_encode(v, NULL, mark[i], strlen(mark[i]), 0, &ids, NULL), 0);
            CHECK_EQ(ids.n, strlen(mark[i]));
            for (size_t k = 0; k < ids.n; k++) CHECK(ids.id[k] < 256);
            ids.n = 0;
            if (mark[i][1] == '|') {
                CHECK_EQ(vocab_encode(v, NULL, mark[i], strlen(mark[i]), VOCAB_SPECIAL, &ids, NULL), 0);
                CHECK_EQ(ids.n, 1);
                CHECK_EQ(ids.id[0], id);
                CHECK_EQ(vocab_attr(v, id), VOCAB_CONTROL);
            }
            ids_free(&ids);
            vocab_close(v);
        }
    }
}

TEST(no_merge_makes_a_control_token_of_plain_text)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "gpt-2");
    vocab_make_merge(&m, "!", "?");
    vocab_make_merge(&m, "!?", "!");
    m.token[257].type = VOCAB_CONTROL;
    struct vocab *v = open_made(&m);
    CHECK_ENCODES(v, "!?!", 0, "256 33");
    CHECK_ENCODES(v, "!?!", VOCAB_SPECIAL, "257");
    vocab_close(v);

    vocab_make_spm(&m);
    vocab_make_add(&m, "<", VOCAB_NORMAL, -1);
    vocab_make_add(&m, "s", VOCAB_NORMAL, -1);
    vocab_make_add(&m, "<s", VOCAB_NORMAL, -1);
    vocab_make_add(&m, ">", VOCAB_NORMAL, -1);
    v = open_made(&m);
    CHECK_ENCODES(v, "<s>", VOCAB_NO_PREFIX, "261 262");
    CHECK_ENCODES(v, "<s>", VOCAB_SPECIAL, "1");
    vocab_close(v);
}

TEST(ends_of_a_turn_come_from_the_keys_and_from_known_control_spellings)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "gpt-2");
    int im_end = vocab_make_add(&m, "<|im_end|>", VOCAB_CONTROL, 0);
    int plain = vocab_make_add(&m, "</s>", VOCAB_NORMAL, 0);
    m.eos = vocab_make_add(&m, "<e>", VOCAB_CONTROL, 0);
    m.eot = vocab_make_add(&m, "<t>", VOCAB_CONTROL, 0);
    m.eom = vocab_make_add(&m, "<m>", VOCAB_CONTROL, 0);
    int other = vocab_make_add(&m, "<o>", VOCAB_CONTROL, 0);
    struct vocab *v = open_made(&m);
    CHECK(vocab_is_end(v, im_end) && vocab_is_end(v, (int32_t)m.eos) && vocab_is_end(v, (int32_t)m.eot) &&
          vocab_is_end(v, (int32_t)m.eom));
    CHECK(!vocab_is_end(v, plain) && !vocab_is_end(v, other) && !vocab_is_end(v, 'a'));
    vocab_close(v);
}

/* ---------------------------------------------------------------- the caller's list */

TEST(ids_are_appended_and_a_refusal_leaves_the_list_as_it_was)
{
    struct vocab_make m;
    struct ids ids = {0};
    struct err err = {0};
    vocab_make_bpe(&m, "gpt-2");
    struct vocab *v = open_made(&m);
    ids_put(&ids, 7);
    CHECK_EQ(vocab_encode(v, NULL, "ab", 2, 0, &ids, &err), 0);
    CHECK_STR(ids_text(&ids), "7 97 98");
    CHECK_EQ(vocab_encode(v, NULL, "ab", VOCAB_TEXT_MAX + (size_t)1, 0, &ids, &err), VOCAB_TOO_LONG); /* not read */
    CHECK_STR(ids_text(&ids), "7 97 98");
    CHECK(strstr(err.text, "too long") != NULL);
    ids_free(&ids);
    vocab_close(v);
}

CHECK_MAIN
