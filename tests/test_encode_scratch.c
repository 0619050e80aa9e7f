/* test_encode_scratch.c - encoding in memory that was taken beforehand: the same ids, not one allocation, not one byte
 * beyond the memory, and an error of its own for each way in which it does not fit. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "engine/template.h"
#include "engine/vocab_impl.h"

#include "tests/check.h"
#include "tests/gguf_make.h"
#include "tests/vocab_make.h"

#include <dlfcn.h>
#include <errno.h>
#include <pcre2.h>

/* ---------------------------------------------------------------- every allocation of this program */

#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
/* A sanitizer has an allocator of its own; the count is then left to the release build. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS_FEATURE(address_sanitizer) || \
    HAS_FEATURE(thread_sanitizer) || !defined(__GLIBC__)
enum { COUNTS = 0, GUARD = 0 }; /* no bytes behind a block either: there the sanitizer looks */
static size_t calls;
static bool refuse;
#else
enum { COUNTS = 1, GUARD = 64 };
static size_t calls; /* of malloc, free and their family */
static bool refuse;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

static bool refused(void)
{
    calls++;
    if (refuse) errno = ENOMEM;
    return refuse;
}

void *malloc(size_t n) { return refused() ? NULL : __libc_malloc(n); }
void *calloc(size_t count, size_t n) { return refused() ? NULL : __libc_calloc(count, n); }
void *realloc(void *p, size_t n) { return refused() ? NULL : __libc_realloc(p, n); }
void *memalign(size_t align, size_t n) { return refused() ? NULL : __libc_memalign(align, n); }
void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
int posix_memalign(void **p, size_t align, size_t n) { return (*p = memalign(align, n)) ? 0 : ENOMEM; }
void free(void *p)
{
    calls++;
    __libc_free(p);
}
#endif

/* ---------------------------------------------------------------- PCRE2, with its JIT or without, failing or not */

static bool no_jit;
static int match_error;
static size_t interpreted; /* matches of patterns that are not compiled for the machine */

int pcre2_jit_compile(pcre2_code *code, uint32_t options)
{
    int (*real)(pcre2_code *, uint32_t) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "pcre2_jit_compile_8");
    return no_jit ? PCRE2_ERROR_JIT_BADOPTION : real(code, options);
}

int pcre2_match(const pcre2_code *code, PCRE2_SPTR text, PCRE2_SIZE n, PCRE2_SIZE at, uint32_t options,
                pcre2_match_data *data, pcre2_match_context *context)
{
    static int (*real)(const pcre2_code *, PCRE2_SPTR, PCRE2_SIZE, PCRE2_SIZE, uint32_t, pcre2_match_data *,
                       pcre2_match_context *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pcre2_match_8");
    size_t compiled = 0;
    pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &compiled);
    interpreted += compiled == 0;
    return match_error ? match_error : real(code, text, n, at, options, data, context);
}

/* ---------------------------------------------------------------- vocabularies */

static struct vocab *open_file(const char *path)
{
    struct err err = {0};
    struct gguf *g = gguf_open(path, &err);
    if (!g) check_fail(__FILE__, __LINE__, "%s", err.text);
    struct vocab *v = vocab_open(g, &err);
    if (!v) check_fail(__FILE__, __LINE__, "%s", err.text);
    gguf_close(g);
    return v;
}

static struct vocab *open_made(struct vocab_make *m)
{
    struct buf file = vocab_make_bytes(m);
    struct vocab *v = open_file(gguf_make_write("vocab.gguf", file.data, file.len));
    buf_free(&file);
    return v;
}

static void add_marks(struct vocab_make *m)
{
    vocab_make_add(m, "<|im_start|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|im_end|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<u>", VOCAB_USER_DEFINED, 0);
    vocab_make_add(m, "<bos>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<start_of_turn>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<end_of_turn>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|im_sep|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|system|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|user|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|assistant|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|end|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|start|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|message|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|channel|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|return|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|call|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|start_of_role|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|end_of_role|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|end_of_text|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|startoftext|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|tool_list_start|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|tool_list_end|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|tool_call_start|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|tool_call_end|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|tool_response_start|>", VOCAB_CONTROL, 0);
    vocab_make_add(m, "<|tool_response_end|>", VOCAB_CONTROL, 0);
}

static struct vocab *open_spm(void)
{
    static const char *const s[] = {
        "\xe2\x96\x81", "a", "aa", "aaaa", "aaaaaaaa", "b", "ab", "ba", "b\xe2\x96\x81",
        "\xe2\x96\x81\xe2\x96\x81", "a\xe2\x96\x81", "\xe4\xbd\xa0", "\xe4\xbd\xa0\xe5\xa5\xbd",
    };
    struct vocab_make m;
    vocab_make_spm(&m);
    for (size_t i = 0; i < COUNT_OF(s); i++) vocab_make_add(&m, s[i], VOCAB_NORMAL, (float)(i * 7 % 5));
    add_marks(&m);
    return open_made(&m);
}

static struct vocab *open_bpe(const char *pre)
{
    struct vocab_make m;
    vocab_make_bpe(&m, pre);
    static const char *const pair[][2] = {{"b", "a"}, {"a", "a"}, {"a", "b"}, {"aa", "aa"}, {"aaaa", "aaaa"},
                                          {"\xc4\xa0", "\xc4\xa0"}, {"\xc4\xa0", "a"}, {"ab", "ba"}};
    for (size_t i = 0; i < COUNT_OF(pair); i++) vocab_make_merge(&m, pair[i][0], pair[i][1]);
    m.bos = vocab_make_add(&m, "<s>", VOCAB_CONTROL, 0);
    m.eos = vocab_make_add(&m, "</s>", VOCAB_CONTROL, 0);
    add_marks(&m);
    m.token[200].n = 0; /* a byte that cannot be said */
    return open_made(&m);
}

static const char *const family[] = {"gpt-2",  "llama-bpe", "dbrx",   "qwen2", "qwen35",
                                     "smollm", "falcon",    "gpt-4o", "tekken"};

/* ---------------------------------------------------------------- texts */

static uint32_t state = 1;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static void repeat(struct buf *out, const char *part, size_t n)
{
    while (out->len < n) buf_puts(out, part);
}

enum { KINDS = 10 };

static struct buf text_of(uint32_t kind, size_t n)
{
    static const char *const any[] = {
        "a", "b", " ", "\n", "12", "'ll", "!?", "<|im_end|>", "<u>", "<|im", "\xe2\x96\x81", "\xe2\x96", "\xc3\xa9",
        "\xe4\xbd\xa0", "\xf0\x9f\xa6\x99", "\xff", "\xed\xa0\x80",
    };
    struct buf b = {0};
    buf_put(&b, "", 1), b.len = 0; /* never NULL */
    switch (kind) {
    case 0: while (b.len < n) buf_put(&b, &(char){(char)draw(256)}, 1); break;
    case 1: while (b.len < n) buf_put(&b, &(char){(char)('a' + draw(3))}, 1); break; /* one word */
    case 2: repeat(&b, " ", n); break;
    case 3: repeat(&b, "a", n); break;
    case 4: while (b.len < n) buf_put(&b, &(char){(char)(0x80 + draw(128))}, 1); break;
    case 5: while (b.len < n) buf_puts(&b, any[7 + draw(3)]); break;
    case 6: repeat(&b, "\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c", n); break;
    case 7: repeat(&b, "\xf0\x9f\xa6\x99\xf0\x9f\x91\x8d", n); break;
    case 8: repeat(&b, n & 1 ? "A" : "1 ", n); break;
    default: while (b.len < n) buf_puts(&b, any[draw(COUNT_OF(any))]); break;
    }
    CHECK(!b.failed);
    return b;
}

/* ---------------------------------------------------------------- one text in a scratch made for it */

/* A block with a scratch at an odd place in it, and bytes around that nobody may touch. */
struct block {
    unsigned char *bytes;
    size_t before, n;
    struct vocab_scratch *s;
};

static struct block block_open(const struct vocab *v, size_t text_bytes)
{
    struct block b = {.before = 1 + draw(200), .n = vocab_scratch_bytes(v, text_bytes)};
    struct err err = {0};
    b.bytes = malloc(b.before + b.n + GUARD);
    CHECK(b.bytes != NULL);
    memset(b.bytes, 0xa5, b.before + b.n + GUARD);
    calls = 0;
    b.s = vocab_scratch_open(v, b.bytes + b.before, b.n, &err);
    CHECK_EQ(calls, 0);
    if (!b.s) check_fail(__FILE__, __LINE__, "%s", err.text);
    return b;
}

static void block_close(struct block *b)
{
    for (size_t i = 0; i < b->before; i++) CHECK_EQ(b->bytes[i], 0xa5);
    for (size_t i = b->before + b->n, end = i + GUARD; i < end; i++) CHECK_EQ(b->bytes[i], 0xa5);
    free(b->bytes);
}

static void check_same(const struct ids *got, const struct ids *want)
{
    CHECK_EQ(got->n, want->n);
    if (want->n > 0) CHECK_MEM(got->id, want->id, want->n * sizeof *want->id);
}

/* Counted in a scratch that is too small to encode it. */
static void check_counted(const struct vocab *v, const char *text, size_t n, uint64_t want)
{
    struct block b = block_open(v, n / 3 + 40);
    struct counter c;
    struct err err = {0};
    calls = 0;
    counter_begin(&c, v, b.s);
    CHECK_EQ(counter_feed(&c, text, n / 2, &err), 0);
    CHECK_EQ(counter_feed(&c, text + n / 2, n - n / 2, &err), 0);
    CHECK_EQ(counter_end_run(&c, &err), 0);
    CHECK_EQ(calls, 0);
    CHECK(c.exact ? c.out.n == want : c.out.n > want);
    block_close(&b);
}

static void check_text(const struct vocab *v, const char *text, size_t n, unsigned flags)
{
    struct ids want = {0};
    struct err err = {0};
    int32_t mem[3];
    CHECK_EQ(vocab_encode(v, NULL, text, n, flags, &want, &err), 0);
    struct block b = block_open(v, n);
    int32_t *room = malloc((want.n + 1) * sizeof *room);
    struct ids got = ids_fixed(room, want.n);
    calls = 0;
    CHECK_EQ(vocab_encode(v, b.s, text, n, flags, &got, &err), 0);
    CHECK_EQ(calls, 0);
    check_same(&got, &want);

    room[want.n] = -7;
    got = ids_fixed(room, want.n); /* once more, behind one that is there: then the last does not fit */
    ids_put(&got, 4711);
    if (want.n > 0) {
        calls = 0;
        CHECK_EQ(vocab_encode(v, b.s, text, n, flags, &got, &err), VOCAB_FULL);
        CHECK_EQ(calls, 0);
        CHECK_EQ(err.code, VOCAB_FULL);
        CHECK_EQ(got.n, 1);
        CHECK_EQ(got.id[0], 4711);
        CHECK(!got.failed && got.fixed);
    }
    CHECK_EQ(room[want.n], -7);

    got = ids_fixed(mem, 3);
    if (want.n <= 3) { /* what was full is no longer, and nothing stays from the call that failed */
        CHECK_EQ(vocab_encode(v, b.s, text, n, flags, &got, &err), 0);
        check_same(&got, &want);
    }
    block_close(&b);
    if (flags == 0) check_counted(v, text, n, want.n);
    free(room);
    ids_free(&want);
}

static void check_texts(const struct vocab *v, int rounds, uint32_t longest)
{
    for (int i = 0; i < rounds; i++) {
        struct buf b = text_of((uint32_t)i % KINDS, draw(draw(40) ? 60 : longest));
        check_text(v, b.data, b.len, draw(4));
        buf_free(&b);
    }
}

TEST(texts_of_every_kind_need_no_allocation_and_have_the_same_ids_with_spm)
{
    struct vocab *v = open_spm();
    check_texts(v, 3000, 5000);
    vocab_close(v);
}

TEST(texts_of_every_kind_need_no_allocation_and_have_the_same_ids_with_every_bpe_family)
{
    for (size_t i = 0; i < COUNT_OF(family); i++) {
        struct vocab *v = open_bpe(family[i]);
        check_texts(v, 600, 5000);
        vocab_close(v);
    }
}

TEST(texts_of_every_kind_need_no_allocation_with_real_vocabularies)
{
    static const char *const name[] = {"llama-spm", "qwen2", "llama3", "gpt-2", "falcon"};
    const char *vectors = check_vectors();
    if (!vectors) SKIP("no shared vectors");
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/tokenizers/%s.gguf", vectors, name[i]);
        struct vocab *v = open_file(path);
        check_texts(v, 600, 20000);
        vocab_close(v);
    }
}

/* The interpreter takes memory for what it goes back to; a block of fixed size has to be enough for any text. */
TEST(pcre2_s_interpreter_finds_the_same_words_in_the_scratch_s_own_memory)
{
    for (size_t i = 0; i < COUNT_OF(family); i++) {
        struct vocab *jit = open_bpe(family[i]);
        no_jit = true;
        struct vocab *v = open_bpe(family[i]);
        no_jit = false;
        interpreted = 0;
        check_texts(v, 200, 5000);
        CHECK(interpreted > 0);
        for (uint32_t kind = 0; kind < KINDS; kind++) {
            struct buf b = text_of(kind, 50000 + draw(2));
            struct ids got = {0}, want = {0};
            struct err err = {0};
            if (vocab_encode(v, NULL, b.data, b.len, 0, &got, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
            CHECK_EQ(vocab_encode(jit, NULL, b.data, b.len, 0, &want, &err), 0);
            check_same(&got, &want);
            ids_free(&got);
            ids_free(&want);
            buf_free(&b);
        }
        vocab_close(v);
        vocab_close(jit);
    }
}

TEST(the_allocations_are_really_counted)
{
    if (!COUNTS) SKIP("this build's allocator is a sanitizer's");
    struct vocab *v = open_bpe("qwen2");
    struct ids ids = {0};
    calls = 0;
    CHECK_EQ(vocab_encode(v, NULL, "a", 1, 0, &ids, NULL), 0);
    CHECK_EQ(calls, 3); /* the scratch taken and given back, and the list */
    ids_free(&ids);
    vocab_close(v);
}

/* ---------------------------------------------------------------- how much it is */

TEST(a_byte_more_of_text_is_a_byte_more_of_scratch_and_none_is_enough_for_too_long_a_text)
{
    for (int bpe = 0; bpe < 2; bpe++) {
        struct vocab *v = bpe ? open_bpe("qwen2") : open_spm();
        for (size_t n = 0; n < 3000; n++) CHECK(vocab_scratch_bytes(v, n) < vocab_scratch_bytes(v, n + 1));
        CHECK(vocab_scratch_bytes(v, VOCAB_TEXT_MAX) < SIZE_MAX);
        CHECK_EQ(vocab_scratch_bytes(v, VOCAB_TEXT_MAX + (size_t)1) == SIZE_MAX, 1);
        CHECK_EQ(vocab_scratch_bytes(v, SIZE_MAX) == SIZE_MAX, 1);
        vocab_close(v);
    }
}

TEST(a_scratch_has_no_more_bytes_for_each_byte_of_text_than_the_header_says)
{
    enum { N = 1 << 20 };
    char *longest = calloc(TOKEN_MAX + 1, 1);
    CHECK(longest != NULL);
    memset(longest, 'x', TOKEN_MAX);
    for (int bpe = 0; bpe < 2; bpe++) {
        struct vocab_make m;
        if (bpe) vocab_make_bpe(&m, "qwen2");
        else vocab_make_spm(&m);
        vocab_make_put(&m, longest, TOKEN_MAX, VOCAB_NORMAL, 0);
        struct vocab *v = open_made(&m);
        size_t none = vocab_scratch_bytes(v, 0), bytes = vocab_scratch_bytes(v, N);
        CHECK(none <= 42 << 10);
        CHECK((double)(bytes - none) / N <= (bpe ? 11.3 : 7.3));
        check_text(v, longest, TOKEN_MAX, 0);
        check_text(v, longest, TOKEN_MAX - 1, 0);
        vocab_close(v);
    }
    free(longest);
}

/* ---------------------------------------------------------------- what does not fit */

TEST(a_scratch_for_one_byte_less_refuses_the_text_and_writes_nothing)
{
    for (int i = 0; i < 200; i++) {
        struct vocab *v = i & 1 ? open_bpe("gpt-2") : open_spm();
        size_t n = 1 + draw(300);
        struct buf text = text_of((uint32_t)i % KINDS, n);
        struct block b = block_open(v, text.len - 1);
        unsigned char *before = malloc(b.before + b.n);
        int32_t mem[1] = {-7};
        struct ids out = ids_fixed(mem, 1);
        struct err err = {0};
        memcpy(before, b.bytes, b.before + b.n);
        CHECK_EQ(vocab_encode(v, b.s, text.data, text.len, 0, &out, &err), VOCAB_TOO_LONG);
        CHECK_EQ(err.code, VOCAB_TOO_LONG);
        CHECK_EQ(out.n, 0);
        CHECK_EQ(mem[0], -7);
        CHECK_MEM(b.bytes, before, b.before + b.n);
        free(before);
        block_close(&b);
        buf_free(&text);
        vocab_close(v);
    }
}

TEST(memory_that_is_too_little_for_any_text_is_refused)
{
    struct vocab *v = open_bpe("qwen2");
    struct err err = {0};
    size_t least = vocab_scratch_bytes(v, 0);
    unsigned char *mem = malloc(least);
    CHECK(vocab_scratch_open(v, mem, least - 1, &err) == NULL);
    CHECK_EQ(err.code, VOCAB_NO_MEMORY);
    CHECK(vocab_scratch_open(v, mem, 0, NULL) == NULL);
    CHECK(vocab_scratch_open(v, mem, least, &err) != NULL);
    free(mem);
    vocab_close(v);
}

TEST(a_pattern_s_limit_is_an_error_of_its_own)
{
    static const int why[] = {PCRE2_ERROR_MATCHLIMIT, PCRE2_ERROR_HEAPLIMIT, PCRE2_ERROR_JIT_STACKLIMIT};
    struct vocab *v = open_bpe("qwen2");
    struct ids out = {0};
    ids_put(&out, 5);
    for (size_t i = 0; i < COUNT_OF(why); i++) {
        struct err err = {0};
        match_error = why[i];
        int rc = vocab_encode(v, NULL, "<u>a b", 6, 0, &out, &err);
        match_error = 0;
        CHECK_EQ(rc, VOCAB_PATTERN_LIMIT);
        CHECK_EQ(err.code, VOCAB_PATTERN_LIMIT);
        CHECK_EQ(out.n, 1);
    }
    ids_free(&out);
    vocab_close(v);
}

TEST(memory_that_the_system_refuses_is_an_error_of_its_own)
{
    if (!COUNTS) SKIP("this build's allocator is a sanitizer's");
    struct vocab *v = open_bpe("qwen2");
    struct msg msg = {.role = ROLE_USER, .text = "a", .len = 1};
    struct block b = block_open(v, 100);
    struct ids out = {0};
    struct err err = {0};
    refuse = true;
    int whole = vocab_encode(v, NULL, "a", 1, 0, &out, &err);
    int list = vocab_encode(v, b.s, "a", 1, 0, &out, &err);
    int prompt = template_render(TEMPLATE_RAW, v, NULL, &msg, 1, true, &out, NULL, 0, &err);
    refuse = false;
    CHECK_EQ(whole, VOCAB_NO_MEMORY);
    CHECK_EQ(list, VOCAB_NO_MEMORY);
    CHECK_EQ(prompt, VOCAB_NO_MEMORY);
    CHECK_EQ(out.n, 0);
    CHECK_EQ(vocab_encode(v, b.s, "a", 1, 0, &out, &err), 0); /* and it does not stay */
    CHECK_EQ(out.n, 1);
    ids_free(&out);
    block_close(&b);
    vocab_close(v);
}

TEST(a_fixed_list_takes_as_many_as_it_has_room_for_and_frees_nothing)
{
    int32_t mem[3] = {0, 0, -7};
    struct ids out = ids_fixed(mem, 2);
    calls = 0;
    CHECK_EQ(ids_put(&out, 1), 0);
    CHECK_EQ(ids_put(&out, 2), 0);
    CHECK_EQ(ids_put(&out, 3), -1);
    CHECK_EQ(out.n, 2);
    CHECK(out.failed);
    CHECK_EQ(mem[2], -7);
    ids_free(&out);
    CHECK_EQ(calls, 0);
    CHECK(out.id == NULL);
}

/* ---------------------------------------------------------------- prompts */

enum { MSGS = 6 };

/* The families whose neighbouring messages share turns, and those that have ChatML's for results alone. */
static const enum template_kind turned[] = {TEMPLATE_LLAMA2, TEMPLATE_MISTRAL1, TEMPLATE_GEMMA, TEMPLATE_PHI3,
                                            TEMPLATE_PHI4, TEMPLATE_HARMONY, TEMPLATE_ZEPHYR, TEMPLATE_GRANITE30,
                                            TEMPLATE_GRANITE4, TEMPLATE_LFM2, TEMPLATE_LFM25, TEMPLATE_OLMO2,
                                            TEMPLATE_FALCON3, TEMPLATE_OLMO3};

static int draw_messages(struct buf text[MSGS], struct msg msgs[MSGS])
{
    int n = (int)draw(MSGS + 1);
    for (int i = 0; i < n; i++) {
        text[i] = text_of(draw(KINDS), draw(60));
        msgs[i] = (struct msg){.role = (enum role)draw(ROLE_COUNT), .text = text[i].data, .len = text[i].len,
                               .summary = draw(2) * draw(80), .name = draw(2) * draw(80), .tools = draw(4) == 0};
    }
    return n;
}

static size_t bytes_of(const struct msg *msgs, int n)
{
    size_t sum = 0;
    for (int i = 0; i < n; i++) sum += msgs[i].len;
    return sum;
}

/* The same prompt with and without scratch, in lists that are just long enough and one too short. */
static void check_prompt(enum template_kind k, const struct vocab *v, const struct msg *msgs, int n, bool open)
{
    struct ids want = {0};
    struct err err = {0};
    uint8_t segment[4096], again[4096];
    CHECK_EQ(template_render(k, v, NULL, msgs, n, open, &want, segment, sizeof segment, &err), 0);
    struct block b = block_open(v, template_text_bytes(bytes_of(msgs, n), n));
    int32_t *room = malloc((want.n + 1) * sizeof *room);
    struct ids got = ids_fixed(room, want.n);
    calls = 0;
    CHECK_EQ(template_render(k, v, b.s, msgs, n, open, &got, again, want.n, &err), 0);
    CHECK_EQ(calls, 0);
    check_same(&got, &want);
    CHECK_MEM(again, segment, want.n);
    if (want.n > 0) {
        got = ids_fixed(room, want.n - 1);
        calls = 0;
        CHECK_EQ(template_render(k, v, b.s, msgs, n, open, &got, NULL, 0, &err), VOCAB_FULL);
        CHECK_EQ(got.n, 0);
        got = ids_fixed(room, want.n);
        again[want.n - 1] = 0xee;
        CHECK_EQ(template_render(k, v, b.s, msgs, n, open, &got, again, want.n - 1, &err), VOCAB_FULL);
        CHECK_EQ(calls, 0);
        CHECK_EQ(again[want.n - 1], 0xee);
        CHECK_EQ(got.n, 0);
        CHECK_EQ(err.code, VOCAB_FULL);
        CHECK(!got.failed);
    }
    block_close(&b);
    free(room);
    ids_free(&want);
}

TEST(prompts_need_no_allocation_and_are_the_same_with_a_scratch)
{
    for (int bpe = 0; bpe < 2; bpe++) {
        struct vocab *v = bpe ? open_bpe("qwen2") : open_spm();
        for (int i = 0; i < 500; i++) {
            struct buf text[MSGS] = {{0}};
            struct msg msgs[MSGS];
            int n = draw_messages(text, msgs);
            check_prompt(TEMPLATE_RAW, v, msgs, n, i & 1);
            check_prompt(TEMPLATE_CHATML, v, msgs, n, i & 1);
            for (size_t k = 0; k < COUNT_OF(turned); k++) check_prompt(turned[k], v, msgs, n, i & 1);
            for (int j = 0; j < n; j++) buf_free(&text[j]);
        }
        vocab_close(v);
    }
}

TEST(prompts_in_llama3_need_no_allocation_either)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "llama-bpe");
    m.bos = vocab_make_add(&m, "<|begin_of_text|>", VOCAB_CONTROL, 0);
    vocab_make_add(&m, "<|start_header_id|>", VOCAB_CONTROL, 0);
    vocab_make_add(&m, "<|end_header_id|>", VOCAB_CONTROL, 0);
    vocab_make_add(&m, "<|eot_id|>", VOCAB_CONTROL, 0);
    struct vocab *v = open_made(&m);
    for (int i = 0; i < 500; i++) {
        struct buf text[MSGS] = {{0}};
        struct msg msgs[MSGS];
        int n = draw_messages(text, msgs);
        check_prompt(TEMPLATE_LLAMA3, v, msgs, n, i & 1);
        for (int j = 0; j < n; j++) buf_free(&text[j]);
    }
    vocab_close(v);
}

/* Neighbouring tool results are one run where the frame's marks are no tokens: the most that a template writes.
 * (Behind another's message they have a byte more in turns that are shared, and with one alone there is the turn.) */
TEST(a_scratch_of_template_text_bytes_holds_any_messages_of_so_many_bytes)
{
    struct vocab *v = open_bpe("qwen2");
    struct msg msgs[50], mixed[50];
    struct err err = {0};
    for (int n = 0; n <= 50; n = n == 0 ? 1 : n / 10 * 10 + 10) {
        for (int i = 0; i < n; i++) msgs[i] = (struct msg){.role = ROLE_TOOL, .text = "ab\n", .len = 3};
        check_prompt(TEMPLATE_CHATML, v, msgs, n, true);
        check_prompt(TEMPLATE_QWEN3_CODER, v, msgs, n, true);
        for (size_t k = 0; k < COUNT_OF(turned); k++) check_prompt(turned[k], v, msgs, n, true);
        for (int i = 0; i < n; i++) mixed[i] = i % 2 ? msgs[i] : (struct msg){.role = ROLE_USER, .text = "a", .len = 1};
        for (size_t k = 0; k < COUNT_OF(turned); k++) check_prompt(turned[k], v, mixed, n, true);
    }
    struct ids out = {0};
    struct block b = block_open(v, 50 * 3);
    CHECK_EQ(template_render(TEMPLATE_CHATML, v, b.s, msgs, 50, true, &out, NULL, 0, &err), VOCAB_TOO_LONG);
    CHECK_EQ(err.code, VOCAB_TOO_LONG);
    CHECK_EQ(out.n, 0);
    CHECK_EQ(template_render(TEMPLATE_RAW, v, b.s, msgs, 50, true, &out, NULL, 0, &err), 0); /* joined as they stand */
    block_close(&b);
    CHECK_EQ(template_text_bytes(SIZE_MAX, 1) == SIZE_MAX, 1);
    CHECK_EQ(template_text_bytes(SIZE_MAX - 100, INT32_MAX) == SIZE_MAX, 1);
    ids_free(&out);
    vocab_close(v);
}

CHECK_MAIN
