/* One request by itself: how its next token is to be chosen, and how its text grows. */
#include "engine/request.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include "tests/vocab_make.h"

static struct vocab *open_vocab(void)
{
    struct gguf_make m;
    struct err err = {0};
    gguf_make_begin(&m);
    tiny_vocab(&m, NULL);
    struct gguf *g = gguf_open(gguf_make_file(&m, "vocab.gguf"), &err);
    struct vocab *v = vocab_open(g, &err);
    gguf_close(g);
    CHECK_STR(err.text, "");
    return v;
}

static struct request_live *make(const struct request *r, const int32_t *prompt, int n, const struct vocab *v)
{
    struct err err = {0};
    size_t bytes = request_bytes(r, (size_t)n, request_token_text(v), 0);
    char *mem = aligned_alloc(64, (size_t)size_align(bytes, 64));
    CHECK(mem && bytes < SIZE_MAX);
    memset(mem, 0xa5, bytes); /* what was there before does not matter */
    CHECK_EQ(request_check(r, prompt, n, v, 0, &err), 0);
    return request_make(r, prompt, NULL, n, request_token_text(v), 0, NULL, mem);
}

static void add(struct request_live *q, const struct vocab *v, int c)
{
    struct kern_choice choice = {.id = c < 0 ? c : TINY_BYTE0 + c, .logprob = -0.5f};
    request_add(q, &choice, v);
}

TEST(request_hands_the_sampler_what_it_was_asked)
{
    static const struct kern_bias bias = {.id = 7, .add = -3};
    static const int32_t prompt[] = {1, 40, 41, 42};
    static const uint32_t allowed[(TINY_VOCAB + 31) / 32];
    struct vocab *v = open_vocab();
    struct request r = {.max_tokens = 8,
                        .top_n = 3,
                        .allowed = allowed,
                        .sampling = {.temp = 0.5f,
                                     .top_k = 9,
                                     .top_p = 0.25f,
                                     .min_p = 0.125f,
                                     .repeat = 1.5f,
                                     .frequency = 0.75f,
                                     .presence = -0.5f,
                                     .recent = 3,
                                     .bias = &bias,
                                     .n_bias = 1,
                                     .seed = 99}};
    struct request_live *q = make(&r, prompt, 4, v);
    struct kern_sample s = request_sample(q, 0);
    CHECK(s.temp == 0.5f && s.top_k == 9 && s.top_p == 0.25f && s.min_p == 0.125f && s.repeat == 1.5f &&
          s.frequency == 0.75f && s.presence == -0.5f);
    CHECK_EQ(s.n_bias, 1);
    CHECK_EQ(s.bias[0].id, 7);
    CHECK(s.bias != &bias); /* copied: the caller's may be gone */
    CHECK(s.allowed == allowed);
    CHECK_EQ(s.top_n, 3);
    CHECK(!s.no_logprob);
    CHECK_EQ(s.target, -1);
    CHECK_EQ(s.seed, 99);
    CHECK_EQ(s.step, 0);
    CHECK_EQ(s.n_recent, 3);
    CHECK_EQ(s.recent[0], 40);
    add(q, v, 'a');
    add(q, v, 'b');
    s = request_sample(q, 0);
    CHECK_EQ(s.step, 2); /* each draw has numbers of its own */
    CHECK_EQ(s.n_recent, 3);
    CHECK_EQ(s.recent[0], 42);
    CHECK_EQ(s.recent[2], TINY_BYTE0 + 'b');
    free(q);
    r.sampling.recent = -1;
    r.no_logprobs = true;
    q = make(&r, prompt, 4, v);
    CHECK(request_sample(q, 0).no_logprob);
    CHECK_EQ(request_sample(q, 0).n_recent, 4);
    r.sampling.recent = 0;
    free(q);
    q = make(&r, prompt, 4, v);
    CHECK_EQ(request_sample(q, 0).n_recent, 0);
    free(q);
    vocab_close(v);
}

TEST(request_says_where_each_token_ended_in_the_text)
{
    static const int32_t prompt[] = {1};
    static const char bytes[] = "a\xc3\xa9z";
    static const unsigned end[] = {1, 1, 3, 4}; /* the first half of a character shows nothing */
    struct vocab *v = open_vocab();
    struct request r = {.max_tokens = 4, .sampling = SAMPLING_GREEDY};
    struct request_live *q = make(&r, prompt, 1, v);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(atomic_load(&q->a.end), END_NONE);
        add(q, v, (unsigned char)bytes[i]);
        CHECK_EQ(q->a.token[i].text_end, end[i]);
        CHECK_EQ(q->a.token[i].id, TINY_BYTE0 + (unsigned char)bytes[i]);
        CHECK(q->a.token[i].logprob == -0.5f);
    }
    CHECK_EQ(atomic_load(&q->a.end), END_LENGTH);
    free(q);
    vocab_close(v);
}

TEST(request_shows_half_a_character_at_the_end_as_a_replacement)
{
    static const int32_t prompt[] = {1};
    struct vocab *v = open_vocab();
    static const uint32_t allowed[(TINY_VOCAB + 31) / 32];
    struct request r = {.max_tokens = 9, .allowed = allowed, .sampling = SAMPLING_GREEDY};
    struct request_live *q = make(&r, prompt, 1, v);
    add(q, v, 0xe2);
    add(q, v, -1); /* no token was allowed */
    CHECK_EQ(atomic_load(&q->a.end), END_NO_TOKEN);
    CHECK_EQ(atomic_load(&q->a.text_len), 3);
    CHECK_MEM(q->a.text, "\xef\xbf\xbd", 3);
    free(q);
    vocab_close(v);
}

/* Where no rule forbids anything it is the numbers that are none. */
TEST(request_without_rules_that_has_no_token_is_a_fault)
{
    static const int32_t prompt[] = {1};
    struct vocab *v = open_vocab();
    struct request r = {.max_tokens = 9, .sampling = SAMPLING_GREEDY};
    struct request_live *q = make(&r, prompt, 1, v);
    add(q, v, -1);
    CHECK_EQ(atomic_load(&q->a.end), END_FAULT);
    CHECK(strstr(q->a.fault, "no logit is a number"));
    free(q);
    vocab_close(v);
}

/* The worst answer for its block: every byte becomes three.  ASan sees a byte too many. */
TEST(request_has_room_for_the_worst_text)
{
    static const int32_t prompt[] = {1, 2, 3};
    struct vocab *v = open_vocab();
    for (int n = 1; n < 40; n++) {
        struct request r = {.max_tokens = n, .score = n % 2, .top_n = n % 3, .sampling = SAMPLING_GREEDY};
        struct request_live *q = make(&r, prompt, 3, v);
        for (int i = 0; i < n; i++) add(q, v, 0xff);
        CHECK_EQ(atomic_load(&q->a.end), END_LENGTH);
        CHECK_EQ(atomic_load(&q->a.text_len), 3 * n);
        for (int i = 0; i < n; i++) CHECK_MEM(q->a.text + 3 * i, "\xef\xbf\xbd", 3);
        CHECK(q->kind[2] == SEGMENT_HISTORY && q->kind[3] == SEGMENT_ANSWER && q->kind[2 + n] == SEGMENT_ANSWER);
        free(q);
    }
    vocab_close(v);
}

/* A model may break its longest token off in the middle again and again: each byte of it may become U+FFFD. */
TEST(request_counts_three_bytes_for_one_that_may_not_be_shown)
{
    struct vocab_make m;
    struct err err = {0};
    vocab_make_spm(&m);
    vocab_make_add(&m, "plain ascii of twenty", VOCAB_NORMAL, -1);
    vocab_make_add(&m, "\xe8\xa1\x8c\xe8\xa1\x8c\xe8\xa1\x8c", VOCAB_NORMAL, -2);
    struct buf file = vocab_make_bytes(&m);
    struct gguf *g = gguf_open(gguf_make_write("text.gguf", file.data, file.len), &err);
    buf_free(&file);
    struct vocab *v = vocab_open(g, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(vocab_max_piece(v), 21);
    CHECK_EQ(request_token_text(v), 27);
    vocab_close(v);
    gguf_close(g);
}

TEST(request_sizes_that_overflow_are_said_to)
{
    struct request r = {.max_tokens = INT32_MAX / 2};
    CHECK_EQ(request_bytes(&r, SIZE_MAX / 2, 8, 0), SIZE_MAX);
    CHECK_EQ(request_bytes(&r, 1, SIZE_MAX / 64, 0), SIZE_MAX);
    r.max_tokens = -5; /* a bad request, but nothing to fall over */
    CHECK(request_bytes(&r, 1, 8, 0) < 8192);
}

CHECK_MAIN
