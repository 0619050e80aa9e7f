/* test_harmony.c - what a gpt-oss model writes, or Mistral's, told in the words of other families: every cut into
 * tokens, streams of a model that means no good, and how much is told for how many tokens. */
#include "engine/harmony.h"
#include "engine/request.h"
#include "tests/check.h"
#include "tests/template_rig.h"

static const char *const marks[] = {"<|start|>",     "<|end|>",    "<|message|>", "<|channel|>",
                                    "<|constrain|>", "<|return|>", "<|call|>",
                                    "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "[THINK]", "[/THINK]"};
enum { MISTRAL = 7, N_MARKS = COUNT_OF(marks), FIRST_MARK = 256 }; /* ids below are bytes */
static bool by_mistral; /* who writes */

static struct vocab *open_vocab(void)
{
    struct vocab_make m;
    vocab_make_bpe(&m, "gpt-4o");
    for (size_t i = 0; i < N_MARKS; i++) vocab_make_add(&m, marks[i], VOCAB_USER_DEFINED, 0);
    m.eos = FIRST_MARK + 5;
    return tpl_made(&m);
}

static uint32_t seed = 1;
static uint32_t draw(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static struct buf told;
static void take(void *self, const char *bytes, size_t n, bool apart)
{
    (void)self;
    (void)apart;
    buf_put(&told, bytes, n);
}
static const struct harmony_out out = {take, NULL};

static int mark_at(const char *s)
{
    for (int i = by_mistral ? MISTRAL : 0; i < (by_mistral ? N_MARKS : MISTRAL); i++)
        if (strncmp(s, marks[i], strlen(marks[i])) == 0) return i;
    return -1;
}

/* The stream behind an opened head, its text in tokens of up to `most` bytes; whole: the last mark ends the answer
 * (Mistral's: its end). */
static const char *tell_cut(const struct vocab *v, const char *stream, size_t most, bool whole)
{
    struct harmony h;
    const int32_t head[] = {FIRST_MARK, 'a'};
    if (by_mistral) harmony_begin_mistral(&h);
    else harmony_begin(&h, v, head, 2);
    told.len = 0;
    for (const char *s = stream; *s;) {
        const int m = mark_at(s);
        size_t n = m >= 0 ? strlen(marks[m]) : 1;
        if (m >= 0 && whole && !by_mistral && !s[n]) break;
        while (m < 0 && n < most && s[n] && mark_at(s + n) < 0) n++;
        if (m >= 0) harmony_token(&h, v, FIRST_MARK + m, "", 0, &out);
        else harmony_token(&h, v, 'a', s, n, &out);
        s += n;
    }
    harmony_end(&h, whole, &out);
    buf_put(&told, "", 1);
    return told.data;
}

static void check_told(const struct vocab *v, const char *stream, bool whole, const char *want)
{
    for (size_t most = 1; most < 40; most++) {
        const char *got = tell_cut(v, stream, most, whole);
        if (strcmp(got, want) == 0) continue;
        check_fail(__FILE__, __LINE__, "%s in %zus is\n%s\nnot\n%s", stream, most, got, want);
    }
    CHECK_STR(tell_cut(v, stream, 4000, whole), want);
}

#define A "<|start|>assistant"
#define C "<|channel|>"
#define M "<|message|>"
#define E "<|end|>"
#define R "<|return|>"
#define K "<|call|>"
#define CALL(name, args) "<tool_call>{\"name\":\"" name "\",\"arguments\":" args "}</tool_call>"
#define THINK(t) "<think>\n" t "\n</think>\n\n"

struct told { const char *stream, *want; };

TEST(harmony_s_channels_are_told_as_thinking_calls_and_text)
{
    static const struct told row[] = {
        {C "final" M "Hello." R, "Hello."},
        {C "analysis" M "Hm.\nSo." E A C "final" M "Hello." R, THINK("Hm.\nSo.") "Hello."},
        {C "analysis" M "a" E A C "analysis" M "b" E A C "final" M "c" R, THINK("a\n\nb") "c"},
        {C "analysis" M "a" E A C "commentary to=functions.search <|constrain|>json" M "{\"query\":\"x\"}" K,
         THINK("a") CALL("search", "{\"query\":\"x\"}")},
        {" to=functions.x" C "commentary json" M "{\"a\": 1}" K, CALL("x", "{\"a\": 1}")},
        {C "commentary to=functions.x json" M "{}" K, CALL("x", "{}")},
        {C "commentary json to=functions.x" M "{}" K, CALL("x", "{}")},
        {" to=functions.x <|constrain|>json" C "commentary" M " {}" K, CALL("x", " {}")},
        {C "analysis to=python code" M "1+1" K, CALL("python", "1+1")},
        {C "commentary to=browser.search" M "{}" K, CALL("browser.search", "{}")},
        {C "commentary to=functions.x" M K, CALL("x", "{}")},
        {C "commentary to=functions.x" M " \n" K, CALL("x", " \n{}")},
        {C "commentary to=functions.a\"b\\c\xc3\xa4" M "{}" K, CALL("a_b_c__", "{}")},
        {C "commentary" M "I look." E A C "commentary to=functions.x json" M "{}" K, "I look.\n\n" CALL("x", "{}")},
        {C "analysis" M "a" E A C "commentary" M "p" E A C "analysis" M "b" E A " to=functions.x" C "commentary json" M
         "{}" K, THINK("a") "p\n\n" THINK("b") CALL("x", "{}")},
        {C "commentary to=user" M "Hi" R, "Hi"},
        {A C "final" M "Hello." R, "Hello."}, /* the head was open already */
        {C "final" M "" R, ""},
        {C "analysis" M E A C "final" M "x" R, "x"},
        {C "analysis" M "a" R, THINK("a")},
        {C "analysis" M "a" E A C "final" M R, THINK("a")},
    };
    struct vocab *v = open_vocab();
    for (size_t i = 0; i < COUNT_OF(row); i++) check_told(v, row[i].stream, true, row[i].want);
    vocab_close(v);
}

TEST(harmony_loses_no_text_where_marks_are_missing_or_strange)
{
    static const struct told row[] = {
        {"Hello, I am a model.", "Hello, I am a model."},
        {"json", "json"},
        {" \n", " \n"},
        {"", ""},
        {"Hello" M "x" R, "Hello\n\nx"},
        {"Sure!" C "final" M "x" R, "Sure!\n\nx"},
        {C "Hello" E, "Hello"},
        {C "what" M "x" R, "x"}, /* a channel that nobody knows */
        {M "x" R, "x"},
        {C "final Hello" M "x" R, "final Hello\n\nx"},
        {C "final" M "x" M "y" "<|constrain|>" "z" R, "xyz"},
        {C "analysis" M "a" C "final" M "b" R, THINK("a") "b"},
        {C "analysis" M "a" A C "final" M "b" R, THINK("a") "b"},
        {C "analysis" M "a" E "b" E "c" R, THINK("a") "b\n\nc"},
        {C "analysis" M "a" E C "final" M "b" R, THINK("a") "b"},
        {C "final" M "a" E A, "a"},
        {C "final" M "a" E "<|start|>user" M "b" E A C "final" M "c" R, "a\n\nb\n\nc"},
        {C "final" M "a" E "<|start|>functions.x to=assistant" C "commentary" M "b" R,
         "a\n\nfunctions.x to=assistant\n\nb"},
        {C "commentary to=functions.x" M "{\"a\":" E A C "final" M "b" R, CALL("x", "{\"a\":") "\n\nb"},
        {C "final" M "a" K K E E E A A A C C M M "b" R, "a\n\nb"},
        {C C C "analysis" C "final" M "x" R, "x"},
        {M M E M E A M, ""},
    };
    struct vocab *v = open_vocab();
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const size_t n = strlen(row[i].stream);
        check_told(v, row[i].stream, n > 10 && strcmp(row[i].stream + n - 10, R) == 0, row[i].want);
    }
    vocab_close(v);
}

TEST(harmony_s_answer_that_is_cut_shows_how_far_it_came)
{
    static const struct told row[] = {
        {C "analysis" M "Hm", "<think>\nHm"},
        {C "analysis" M "Hm" E, THINK("Hm")},
        {C "analysis" M "Hm" E A C "fin", THINK("Hm")},
        {C "anal", ""},
        {C "commentary to=functi", ""},
        {C "commentary to=functions.x" M, ""},
        {C "commentary to=functions.x" M "{\"a", "<tool_call>{\"name\":\"x\",\"arguments\":{\"a"},
        {C "final" M "<tool_ca", "<tool_ca"},
        {C "analysis" M "</thin", "<think>\n</thin"},
    };
    struct vocab *v = open_vocab();
    for (size_t i = 0; i < COUNT_OF(row); i++) check_told(v, row[i].stream, false, row[i].want);
    vocab_close(v);
}

/* Who only says what others write a call with, or end thinking with, neither calls nor ends it. */
TEST(harmony_s_text_says_no_tag)
{
    static const struct told row[] = {
        {C "final" M "a " CALL("x", "{}") R, "a (tool_call){\"name\":\"x\",\"arguments\":{}}</tool_call>"},
        {C "final" M "<<tool_call><tool_call <tool_<tool_call>" R, "<(tool_call)<tool_call <tool_(tool_call)"},
        {CALL("x", "{}"), "(tool_call){\"name\":\"x\",\"arguments\":{}}</tool_call>"},
        {C "analysis" M "a</think>b</think" E A C "final" M "</think>" R, THINK("a(/think)b</think") "</think>"},
        {C "final" M "<tool_c" E A C "final" M "all>" R, "<tool_c\n\nall>"},
        {C "commentary to=functions.x" M "{\"a\":\"<tool_call></think>\"}" K,
         CALL("x", "{\"a\":\"<tool_call></think>\"}")},
    };
    struct vocab *v = open_vocab();
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const size_t n = strlen(row[i].stream);
        check_told(v, row[i].stream, row[i].stream[n - 1] == '>' && row[i].stream[n - 2] == '|', row[i].want);
    }
    vocab_close(v);
}

/* What is held for a head is bounded: a text without marks is told soon. */
TEST(harmony_holds_no_more_than_a_head)
{
    struct vocab *v = open_vocab();
    struct harmony h;
    for (size_t n = 1; n <= 3 * HARMONY_HEAD; n += 7) {
        const int32_t start = FIRST_MARK;
        char text[3 * HARMONY_HEAD];
        size_t given = 0;
        memset(text, 'x', sizeof text);
        harmony_begin(&h, v, &start, 1);
        told.len = 0;
        for (; given < 2000; given += n) {
            harmony_token(&h, v, 'a', text, n, &out);
            CHECK(told.len + HARMONY_HEAD >= given + n);
        }
        harmony_end(&h, false, &out);
        CHECK_EQ(told.len, given);
    }
    vocab_close(v);
}

/* Where a prompt ends: in a head, in a body (as when thinking was closed), or it is a text without marks. */
TEST(harmony_goes_on_where_the_prompt_ends)
{
    static const struct { int32_t ids[4]; int n; const char *want; } row[] = {
        {{FIRST_MARK, 'a'}, 2, ""},                                   /* <|start|> a */
        {{FIRST_MARK, 'a', FIRST_MARK + 3}, 3, ""},                   /* <|start|> a <|channel|> */
        {{FIRST_MARK, FIRST_MARK + 3, FIRST_MARK + 2}, 3, "final"},   /* <|start|> <|channel|> <|message|> */
        {{'a', 'b'}, 2, "final"}, {{0}, 0, "final"},
    };
    struct vocab *v = open_vocab();
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct harmony h;
        harmony_begin(&h, v, row[i].ids, (size_t)row[i].n);
        told.len = 0;
        harmony_token(&h, v, 'a', "final", 5, &out);
        CHECK_EQ(told.len, strlen(row[i].want));
        harmony_token(&h, v, FIRST_MARK + 2, "", 0, &out);
        harmony_token(&h, v, 'a', "x", 1, &out);
        buf_put(&told, "", 1);
        if (i > 0) CHECK(strstr(told.data, i == 1 ? "x" : "finalx") == told.data);
    }
    vocab_close(v);
}

/* ---------------------------------------------------------------- in a request */

static struct request_live *make(const struct vocab *v, const struct request *r)
{
    const int32_t prompt[] = {FIRST_MARK, 'a'};
    const size_t token = request_token_text(v), bytes = request_bytes(r, 2, token, 0);
    char *mem = aligned_alloc(64, (size_t)size_align(bytes, 64));
    CHECK(mem != NULL);
    struct request_live *q = request_make(r, prompt, NULL, 2, token, 0, NULL, mem);
    request_channels(q, v, false);
    return q;
}

static void add(struct request_live *q, const struct vocab *v, const char *stream)
{
    for (const char *s = stream; *s && atomic_load(&q->a.end) == END_NONE;) {
        const int m = mark_at(s);
        const struct kern_choice c = {.id = m >= 0 ? FIRST_MARK + m : (unsigned char)*s};
        request_add(q, &c, v);
        s += m >= 0 ? strlen(marks[m]) : 1;
    }
}

static void check_answer(struct request_live *q, const char *text, enum engine_end end)
{
    const size_t n = strlen(text);
    CHECK_EQ(atomic_load(&q->a.text_len), n);
    CHECK_MEM(q->a.text, text, n);
    CHECK_EQ(atomic_load(&q->a.end), end);
    free(q);
}

TEST(harmony_s_answer_ends_with_return_and_call_and_not_with_end)
{
    struct vocab *v = open_vocab();
    const struct request r = {.max_tokens = 200};
    struct request_live *q = make(v, &r);
    add(q, v, C "analysis" M "a" E A C "final" M "b" R "c");
    check_answer(q, THINK("a") "b", END_STOP);
    q = make(v, &r);
    add(q, v, C "commentary to=functions.x" M "b" K "c");
    check_answer(q, CALL("x", "b"), END_STOP);
    q = make(v, &r);
    add(q, v, C "commentarytool" M "b" E);
    CHECK_EQ(atomic_load(&q->a.end), END_NONE);
    request_end(q, END_CANCELLED, NULL);
    check_answer(q, "b", END_CANCELLED);
    vocab_close(v);
}

/* The house's own words stop no answer, nor does what a call carries. */
TEST(harmony_s_stop_strings_are_looked_for_in_text_alone)
{
    struct vocab *v = open_vocab();
    static const char *const stop[] = {"think", "tool", "\n\n", "Z"};
    struct request r = {.max_tokens = 200, .stop = stop, .n_stop = 4};
    struct request_live *q = make(v, &r);
    add(q, v, C "analysis" M "thi" E A " to=functions.x" C "commentary" M "{\"a\":\"Z\"}" K);
    check_answer(q, THINK("thi") CALL("x", "{\"a\":\"Z\"}"), END_STOP);
    q = make(v, &r);
    add(q, v, C "analysis" M "a" E A C "final" M "bcZdef" R);
    check_answer(q, THINK("a") "bc", END_STOP);
    vocab_close(v);
}

/* Any tokens, into a text of just the size that a request has: no more is told than the tokens allow. */
TEST(harmony_s_text_is_bounded_by_its_tokens)
{
    static const char *const words[] = {"to=functions.f", "analysis", "final", "x", " ", "<tool_call>", "</think>",
                                        "assistant", "{}", "\xc3", "\xf0\x9f", "commentary ", "json"};
    struct vocab *v = open_vocab();
    for (int i = 0; i < (CHECK_SANITIZED ? 3000 : 20000); i++) {
        const int n = 1 + (int)draw(40);
        struct request_live *q = make(v, &(struct request){.max_tokens = n, .ignore_end = draw(2)});
        const uint32_t often = 1 + draw(4);
        while (atomic_load(&q->a.end) == END_NONE) {
            const char *word = words[draw(COUNT_OF(words))];
            int32_t id[20] = {FIRST_MARK + (int32_t)draw(N_MARKS)};
            size_t k = 1;
            if (draw(4) >= often)
                for (k = 0; word[k]; k++) id[k] = (unsigned char)word[k];
            for (size_t b = 0; b < k && atomic_load(&q->a.end) == END_NONE; b++) {
                const struct kern_choice c = {.id = id[b]};
                request_add(q, &c, v);
            }
        }
        const size_t len = atomic_load(&q->a.text_len);
        CHECK(len <= (size_t)n * request_token_text(v));
        CHECK_EQ(text_valid_utf8(q->a.text, len), len);
        free(q);
    }
    vocab_close(v);
}

/* The least that lets a model write most: a mark for each call, and nothing in it. */
TEST(harmony_s_shortest_messages_add_the_most)
{
    struct vocab *v = open_vocab();
    struct harmony h;
    const int32_t head[] = {FIRST_MARK};
    for (int kind = 0; kind < 3; kind++) {
        static const char *const heads[] = {"to=x", "analysis", "y"};
        size_t tokens = 0, bytes = 0;
        harmony_begin(&h, v, head, 1);
        told.len = 0;
        for (int i = 0; i < 500; i++) {
            if (kind == 1) harmony_token(&h, v, FIRST_MARK + 3, "", 0, &out), tokens++;
            harmony_token(&h, v, 'a', heads[kind], strlen(heads[kind]), &out), bytes += strlen(heads[kind]);
            harmony_token(&h, v, FIRST_MARK + 2, "", 0, &out), tokens++;
            if (kind > 0) harmony_token(&h, v, 'a', "z", 1, &out), bytes++;
            harmony_token(&h, v, FIRST_MARK + 1, "", 0, &out), tokens++;
            if (kind != 1) continue;
            harmony_token(&h, v, FIRST_MARK + 2, "", 0, &out), tokens++;
            harmony_token(&h, v, 'a', "z", 1, &out), bytes++;
            harmony_token(&h, v, FIRST_MARK, "", 0, &out), tokens++;
        }
        harmony_end(&h, true, &out);
        CHECK(told.len <= bytes + tokens * HARMONY_ADDS);
        if (kind == 0) CHECK(told.len > 500 * 48); /* it is a test of something */
    }
    vocab_close(v);
}

TEST(harmony_is_spoken_by_vocabularies_that_have_its_marks)
{
    for (int without = -1; without < MISTRAL; without++) {
        struct vocab_make m;
        vocab_make_bpe(&m, "gpt-4o");
        for (int i = 0; i < MISTRAL; i++) vocab_make_add(&m, i == without ? "<|none|>" : marks[i], VOCAB_NORMAL, 0);
        m.eos = FIRST_MARK + 1; /* whatever the file says */
        struct vocab *v = tpl_made(&m);
        const bool speaks = without < 0 || without == 4; /* <|constrain|> may lack */
        CHECK_EQ(harmony_speaks(v), speaks);
        if (without != 1) CHECK_EQ(vocab_is_end(v, FIRST_MARK + 1), !speaks);
        if (speaks) CHECK(vocab_is_end(v, FIRST_MARK + 5) && vocab_is_end(v, FIRST_MARK + 6));
        CHECK_EQ(request_token_text(v) >= HARMONY_ADDS, speaks);
        vocab_close(v);
    }
}

/* ---------------------------------------------------------------- Mistral's */

TEST(mistral_s_marks_are_told_as_thinking_calls_and_text)
{
    static const struct { bool cut; const char *stream, *want; } row[] = {
        {false, "Hello.", "Hello."},
        {false, "", ""},
        {false, "[TOOL_CALLS]read[CALL_ID]abcdefghi[ARGS]{\"a\": 1}", CALL("read", "{\"a\": 1}")},
        {false, "[TOOL_CALLS]read[ARGS]{}", CALL("read", "{}")},
        {false, "[TOOL_CALLS] read [ARGS]{}", CALL("read", "{}")},
        {false, "[TOOL_CALLS]read[ARGS]", CALL("read", "{}")},
        {false, "[TOOL_CALLS]a\"b[ARGS]{}", CALL("a_b", "{}")},
        {false, "I look.[TOOL_CALLS]read[ARGS]{}", "I look.\n\n" CALL("read", "{}")},
        {false, "[TOOL_CALLS]a[ARGS]{}[TOOL_CALLS]b[CALL_ID]x[ARGS]{}", CALL("a", "{}") "\n\n" CALL("b", "{}")},
        {false, "[THINK]Hm.[/THINK]So.", THINK("Hm.") "So."},
        {false, "[THINK]Hm.[/THINK][TOOL_CALLS]a[ARGS]{}", THINK("Hm.") CALL("a", "{}")},
        {false, "[THINK]Hm.[TOOL_CALLS]a[ARGS]{}", THINK("Hm.") CALL("a", "{}")},
        {false, "[THINK]Hm.", THINK("Hm.")},
        {false, "[THINK][/THINK]So.", "So."},
        {false, "[/THINK]So[ARGS].[CALL_ID]", "So."},
        {false, "[TOOL_CALLS]read", "read"},             /* no call after all: nothing of it is lost */
        {false, "[TOOL_CALLS]read[TOOL_CALLS]ls[ARGS]{}", "read\n\n" CALL("ls", "{}")},
        {false, "[TOOL_CALLS][ARGS]{}", "{}"},
        {false, "say " CALL("x", "{}"), "say (tool_call){\"name\":\"x\",\"arguments\":{}}</tool_call>"},
        {false, "[THINK]a</think>b[/THINK]c", THINK("a(/think)b") "c"},
        {false, "<|channel|>final<|message|>x", "<|channel|>final<|message|>x"}, /* they are text to it */
        {true, "[TOOL_CALLS]read[ARGS]{\"a", "<tool_call>{\"name\":\"read\",\"arguments\":{\"a"},
        {true, "[THINK]Hm", "<think>\nHm"},
        {true, "[TOOL_CALLS]rea", "rea"},
        {true, "So", "So"},
    };
    struct vocab *v = open_vocab();
    by_mistral = true;
    for (size_t i = 0; i < COUNT_OF(row); i++) check_told(v, row[i].stream, !row[i].cut, row[i].want);
    by_mistral = false;
    vocab_close(v);
}

/* Whatever it writes: no more is told than there is room for. */
TEST(mistral_s_marks_add_no_more_than_there_is_room_for)
{
    enum { OWN = N_MARKS - MISTRAL };
    struct vocab_make m;
    vocab_make_bpe(&m, "tekken");
    for (int i = MISTRAL; i < N_MARKS; i++) vocab_make_add(&m, marks[i], VOCAB_CONTROL, 0);
    struct vocab *v = tpl_made(&m);
    CHECK(harmony_speaks_mistral(v) && !harmony_speaks(v) && request_token_text(v) >= HARMONY_ADDS);
    for (int k = 0; k < 20000; k++) {
        struct harmony h;
        size_t room = 0;
        harmony_begin_mistral(&h);
        told.len = 0;
        for (uint32_t i = draw(30); i > 0; i--) {
            const uint32_t what = draw(OWN + 3);
            if (what < OWN) harmony_token(&h, v, (int32_t)(FIRST_MARK + what), "", 0, &out);
            else harmony_token(&h, v, 'a', &" a<"[what - OWN], 1, &out);
            room += HARMONY_ADDS;
            CHECK(told.len <= room);
        }
        harmony_end(&h, draw(2), &out);
        CHECK(told.len <= room + HARMONY_ADDS);
    }
    vocab_close(v);
}

CHECK_MAIN
