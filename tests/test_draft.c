/* Drafts: what is tried, when it is worth its row, and that no answer is another one for it: to the bit, of every kind
 * of request, alone and in company, with each kind of pages. */
#include "engine/draft.h"
#include "tests/strict_rig.h"

/* ------------------------------------------------------------------ what is tried */

#define FIND(want_at, want_match, ...)                                                           \
    do {                                                                                         \
        const int32_t ids_[] = {__VA_ARGS__};                                                    \
        int match_ = -1;                                                                         \
        CHECK_EQ(draft_find(ids_, (int)COUNT_OF(ids_), &match_), want_at);                       \
        CHECK_EQ(match_, want_match);                                                            \
    } while (0)

TEST(draft_find_gives_the_place_behind_the_longest_match_and_of_equals_the_last)
{
    FIND(0, 0, 1);
    FIND(0, 0, 1, 2);
    FIND(2, 1, 1, 2, 3, 4, 2);
    FIND(2, 2, 1, 2, 9, 1, 2);
    FIND(5, 2, 1, 2, 9, 1, 2, 8, 1, 2);        /* the last of equals */
    FIND(3, 3, 7, 1, 2, 9, 1, 2, 8, 7, 1, 2);  /* a longer one before it */
    FIND(4, 4, 1, 1, 1, 1, 1);                 /* overlaps itself */
    FIND(5, 4, 5, 1, 2, 1, 2, 1, 2);
    FIND(3, 1, 1, 2, 3, 2, 4, 3);
}

TEST(draft_find_looks_at_no_more_than_it_says)
{
    int32_t ids[200];
    int match;
    for (int i = 0; i < 200; i++) ids[i] = i % 50;
    CHECK_EQ(draft_find(ids, 200, &match), 150);
    CHECK_EQ(match, DRAFT_MATCH); /* the last that is as long as is looked at */
    for (int n = 0; n < 3; n++) CHECK_EQ(draft_find(ids, n, &match), 0);
}

static const float *costs_of(float row)
{
    static float all[DRAFT_ROWS - 1];
    for (int i = 0; i < DRAFT_ROWS - 1; i++) all[i] = row;
    return all;
}

/* Of one sequence, where a row more costs so much of a pass: how many drafts behind a match of `match` tokens. */
static int drafts_of(struct draft *d, int match, double row)
{
    struct draft_pass p = draft_pass_of(1, costs_of((float)row));
    int n = 0;
    while (n < DRAFT_ROWS - 1 && draft_worth(d, match, n, &p)) n++;
    return n;
}

TEST(drafts_follow_what_was_right)
{
    struct draft d;
    draft_begin(&d);
    int few = drafts_of(&d, 2, 0.2), many = drafts_of(&d, 4, 0.2);
    CHECK(few >= 1 && few < many && many < DRAFT_ROWS - 1);
    CHECK_EQ(drafts_of(&d, 4, 0.95), 0); /* not at any price */
    for (int i = 0; i < 20; i++) draft_learn(&d, many, many); /* of the match that was looked at last: 4 */
    CHECK_EQ(drafts_of(&d, 4, 0.2), DRAFT_ROWS - 1);
    CHECK_EQ(drafts_of(&d, 2, 0.2), few); /* which says nothing of short ones */
    for (int i = 0; i < 40; i++) draft_learn(&d, few, 0);
    CHECK_EQ(drafts_of(&d, 2, 0.2), 0);
    int tries = 0;
    for (int i = 0; i < 1000; i++) {
        const int n = drafts_of(&d, 2, 0.2);
        if (n > 0) draft_learn(&d, n, 0);
        tries += n;
    }
    CHECK(tries > 0 && tries < 100); /* a fifth of a pass, once in a while */
}

TEST(drafts_share_a_pass_by_what_they_bring)
{
    struct draft sure, unsure;
    draft_begin(&sure);
    draft_begin(&unsure);
    struct draft_pass one = draft_pass_of(1, costs_of(0.1f));
    draft_worth(&sure, 8, 0, &one);
    for (int i = 0; i < 40; i++) draft_learn(&sure, 1, 1);
    struct draft_pass p = draft_pass_of(4, one.row); /* a token costs a third of a pass */
    CHECK(p.cost > 1.29 && !draft_worth(&unsure, 1, 0, &p) && p.cost < 1.31 && p.rows == 4);
    CHECK(draft_worth(&sure, 8, 0, &p) && p.tokens > 4.9 && p.cost > 1.39 && p.rows == 5);
}

/* The first row more is cheap, the others are not. */
TEST(drafts_are_as_many_as_are_cheap)
{
    static const float row[DRAFT_ROWS - 1] = {0.01f, 0.8f, 0.8f, 0.8f, 0.8f, 0.8f, 0.8f};
    struct draft d;
    draft_begin(&d);
    struct draft_pass p = draft_pass_of(1, row);
    CHECK(draft_worth(&d, 2, 0, &p) && !draft_worth(&d, 2, 1, &p));
    p = draft_pass_of(2, row);
    CHECK(!draft_worth(&d, 2, 0, &p));
}

/* ------------------------------------------------------------------ the same answers */

enum { SEQS = 4, MOST = 120, NEW = 70 };

struct said {
    struct engine_token token[NEW];
    struct engine_top top[NEW];
    char text[4 * NEW];
    int n, end;
};

static const struct engine_ops *const ops = &engine_local;

/* A text of few letters, which says the same again and again, and none quite. */
static int make_prompt(uint32_t *seed, int32_t out[MOST])
{
    const int n = 1 + tiny_below(seed, MOST), period = 2 + tiny_below(seed, 12);
    for (int i = 0; i < n; i++)
        out[i] = i >= period && tiny_below(seed, 12) ? out[i - period] : TINY_BYTE0 + 'a' + tiny_below(seed, 4);
    return n;
}

/* Which of many ways to be asked. */
static void ask_in(int way, uint32_t *seed, struct request *r)
{
    static const char *const stops[] = {"ab", "ca"};
    static uint32_t letters[(TINY_VOCAB + 31) / 32];
    for (int c = 'a'; c <= 'e'; c++) letters[(TINY_BYTE0 + c) / 32] |= 1u << (TINY_BYTE0 + c) % 32;
    r->max_tokens = 1 + tiny_below(seed, NEW);
    r->sampling = SAMPLING_GREEDY;
    r->ignore_end = way % 3 == 0;
    r->top_n = way % 2 ? KERN_TOP : 0;
    r->no_logprobs = way % 5 == 4;
    if (way % 4 == 1) r->sampling = (struct sampling){.temp = 0.4f, .top_p = 0.9f, .top_k = 5, .repeat = 1, .seed = 5};
    if (way % 4 == 2) {
        r->sampling.repeat = 1.05f;
        r->sampling.frequency = 0.1f;
        r->sampling.recent = way % 8 == 2 ? RECENT_ANSWER : 20;
    }
    if (way % 7 == 3) r->stop = stops, r->n_stop = 2;
    if (way % 2 == 0) r->allowed = letters; /* so that it repeats itself, and meets the stops */
}

static void read_answer(struct engine *e, int id, struct said *out)
{
    const struct answer *a = ops->answer(e, id);
    memset(out, 0, sizeof *out);
    out->n = atomic_load(&a->n_tokens);
    out->end = atomic_load(&a->end);
    CHECK(out->n <= NEW && atomic_load(&a->text_len) < sizeof out->text);
    memcpy(out->token, a->token, (size_t)out->n * sizeof *out->token);
    if (a->top) memcpy(out->top, a->top, (size_t)out->n * sizeof *out->top);
    memcpy(out->text, a->text, atomic_load(&a->text_len));
}

struct how {
    const char *path;
    enum ktype kv;
    int seqs, drafts, max_rows;
    bool overcommit;
};

static struct engine *open_engine(const struct how *h)
{
    struct engine_config cfg = {.model = h->path, .backend = "cpu", .kern = {.threads = 2}, .kv_type = h->kv,
                                .ctx = 256, .max_seqs = h->seqs, .max_rows = h->max_rows, .template = -1,
                                .drafts = h->drafts,
                                .overcommit = h->overcommit, .pool_tokens = h->overcommit ? 320 : 0};
    err = (struct err){0};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

static void say_all(const struct how *h, uint32_t seed, int asked, struct said *out, struct engine_snapshot *figures)
{
    struct engine_event ev[64];
    struct engine *e = open_engine(h);
    int id[64];
    for (int i = 0; i < asked; i++) {
        int32_t prompt[MOST];
        struct request r = {.ids = prompt, .n_ids = make_prompt(&seed, prompt)};
        ask_in(i, &seed, &r);
        id[i] = submit(ops, e, &r);
        const int steps = tiny_below(&seed, 8);
        for (int k = 0; k < steps; k++) ops->step(e, ev, 64, &err);
    }
    while (ops->step(e, ev, 64, &err) > 0) continue;
    CHECK_STR(err.text, "");
    ops->snapshot(e, figures);
    for (int i = 0; i < asked; i++) read_answer(e, id[i], &out[i]);
    ops->close(e);
}

/* One after the other without drafts, and then with some and in company. */
static void check_same(const char *path, enum ktype kv, bool overcommit, uint32_t seed, uint64_t *right,
                       uint64_t *wrong)
{
    enum { ASKED = CHECK_SANITIZED ? 12 : 24 };
    static struct said alone[ASKED], now[ASKED];
    struct engine_snapshot without, with;
    const struct how plain = {.path = path, .kv = kv, .seqs = 1, .drafts = DRAFTS_NONE};
    say_all(&plain, seed, ASKED, alone, &without);
    CHECK_EQ((int64_t)without.drafted, 0);
    for (int seqs = 1; seqs <= SEQS; seqs += 3) {
        const struct how h = {.path = path, .kv = kv, .seqs = seqs, .drafts = seqs == 1 ? 0 : 5,
                              .max_rows = seqs == 1 ? 0 : 9, .overcommit = overcommit && seqs > 1};
        say_all(&h, seed, ASKED, now, &with);
        for (int i = 0; i < ASKED; i++)
            if (memcmp(&alone[i], &now[i], sizeof *now))
                check_fail(__FILE__, __LINE__, "%s, %s pages, %d at once: request %d is not the same: %d and %d "
                    "tokens, "
                           "ended by %d and %d", path, ktype_info(kv)->name, seqs, i, alone[i].n, now[i].n,
                           alone[i].end, now[i].end);
        CHECK_EQ((int64_t)with.generated, (int64_t)without.generated);
        if (seqs == 1) CHECK_EQ((int64_t)(with.passes + with.drafts_right), (int64_t)without.passes);
        *right += with.drafts_right;
        *wrong += with.drafted - with.drafts_right;
        if (overcommit && seqs > 1) CHECK(with.parkings > 0);
    }
}

TEST(answers_with_drafts_are_the_same_to_the_bit)
{
    static const enum ktype pages[] = {KT_F16, KT_Q8_0, KT_F32};
    static const struct { const char *arch; int window; enum ktype type; } of[] = {
        {"llama", 0, KT_Q8_0}, {"qwen2", 0, KT_Q4_0}, {"llama", 40, KT_F32}, {"qwen3", 0, KT_Q8_0}};
    uint64_t right = 0, wrong = 0;
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        const struct tiny t = {.arch = of[i].arch, .layers = 2, .embd = 64, .heads = 2, .kv_heads = 1, .ff = 96,
                               .window = of[i].window, .type = of[i].type, .seed = (uint32_t)i + 2};
        char name[32];
        snprintf(name, sizeof name, "draft-%zu.gguf", i);
        const char *path = tiny_file(&t, NULL, name);
        if (CHECK_SANITIZED && i > 1) continue;
        check_same(path, pages[i % 3], i == 1, 11 + (uint32_t)i, &right, &wrong);
    }
    printf("  %llu drafts right, %llu wrong\n", (unsigned long long)right, (unsigned long long)wrong);
    CHECK(right > 100 && wrong > (CHECK_SANITIZED ? 40 : 100));
}

/* A call whose arguments are what was just said, held by a grammar; or a value of which all is decided but its end. */
static void say_strictly(struct engine *e, struct request *r, struct said *out)
{
    const int id = submit(ops, e, r);
    run_all(ops, e);
    read_answer(e, id, out);
    ops->drop(e, id);
}

TEST(strict_answers_with_drafts_are_the_same)
{
    static const char *const tools[] = {"read", "calculator"}, *const question[] = {
        "Read notes.txt, then notes.txt, then notes.txt.", "What is 12345 * 678 + 12345 * 678?",
        "{\"name\":\"read\",\"arguments\":{\"path\":\"notes.txt\"}} is what you said."};
    static const char list[] = "{\"type\":\"array\",\"items\":{\"enum\":[\"apples and pears\",\"plums\"]},"
                               "\"minItems\":6,\"maxItems\":9}";
    static struct said said[2];
    struct engine *e[2];
    struct engine_snapshot s;
    for (int k = 0; k < 2; k++)
        e[k] = open_with(ops, (struct engine_config){.ctx = 1024, .max_seqs = 2, .grammars = 2, .backend = "cpu",
                                                     .drafts = k ? 0 : DRAFTS_NONE});
    for (int i = 0; i < (CHECK_SANITIZED ? 8 : 24); i++) {
        struct talk t;
        talk_begin(&t, tools, 2, question[i % (int)COUNT_OF(question)]);
        t.r.max_tokens = NEW;
        t.grammar.whole = i % 2;
        if (i % 2) t.grammar.free_open = t.grammar.free_close = NULL;
        if (i % 4 == 3)
            t.grammar = (struct request_grammar){.schema = list, .n_schema = strlen(list), .whole = true};
        if (i >= 6) t.r.sampling = (struct sampling){.temp = 1, .top_p = 1, .repeat = 1, .seed = (uint64_t)i};
        for (int k = 0; k < 2; k++) say_strictly(e[k], &t.r, &said[k]);
        if (memcmp(&said[0], &said[1], sizeof *said))
            check_fail(__FILE__, __LINE__, "%d: %s, and with drafts %s", i, said[0].text, said[1].text);
        talk_end(&t);
    }
    ops->snapshot(e[1], &s);
    printf("  %llu of %llu drafts right\n", (unsigned long long)s.drafts_right, (unsigned long long)s.drafted);
    CHECK(s.drafts_right > (CHECK_SANITIZED ? 30 : 100));
    for (int k = 0; k < 2; k++) ops->close(e[k]);
}

/* An answer of one letter, all of whose drafts are right: what came behind its end in the same pass never was. */
TEST(an_answer_ends_where_it_would_amid_drafts)
{
    static const struct kern_bias same = {TINY_BYTE0 + 'a', 1e4f};
    static const char many[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct tiny t = TINY_LLAMA;
    struct engine_snapshot s;
    struct said said;
    const int32_t ids[] = {TINY_BYTE0 + 'x'};
    struct engine *e = open_engine(&(struct how){tiny_file(&t, NULL, "ends.gguf"), KT_F16, 1, 0, 0, false});
    for (int n = 12; n < 30; n++) {
        const char *stop = many + sizeof many - 1 - n;
        struct request r = {.ids = ids, .n_ids = 1, .max_tokens = NEW, .sampling = SAMPLING_GREEDY,
                            .stop = &stop, .n_stop = 1};
        r.sampling.bias = &same;
        r.sampling.n_bias = 1;
        say_strictly(e, &r, &said);
        CHECK(said.n == n && said.end == END_STOP && !*said.text);
        r.n_stop = 0;
        r.max_tokens = n;
        say_strictly(e, &r, &said);
        CHECK(said.n == n && said.end == END_LENGTH && strcmp(said.text, stop) == 0);
    }
    ops->snapshot(e, &s);
    CHECK(s.drafts_right > 200);
    ops->close(e);
}

/* Its template begins the thinking, and at a bound it is closed, amid what the drafts would have said. */
TEST(thinking_that_is_closed_is_the_same)
{
    static const char chat[] = "<|im_start|>{{ m.content.split('</think>')[-1] }}<|im_end|>"
                               "{% if add_generation_prompt %}"
                               "{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}";
    static uint32_t letters[(TINY_VOCAB + 31) / 32];
    static struct said said[2];
    const struct msg msg = {.role = ROLE_USER, .text = "ababab", .len = 6};
    struct tiny t = TINY_LLAMA;
    struct engine_snapshot s;
    uint64_t right = 0;
    for (int c = 'a'; c <= 'b'; c++) letters[(TINY_BYTE0 + c) / 32] |= 1u << (TINY_BYTE0 + c) % 32;
    for (int bound = 9; bound < 32; bound++) {
        t.seed = (uint32_t)bound;
        const char *path = tiny_file(&t, chat, "thinks.gguf");
        for (int k = 0; k < 2; k++) {
            struct engine *e = open_engine(&(struct how){path, KT_F16, 1, k ? 0 : DRAFTS_NONE, 0, false});
            struct request r = {.msgs = &msg, .n_msgs = 1, .max_tokens = NEW, .sampling = SAMPLING_GREEDY,
                                .thinking = bound, .allowed = letters};
            say_strictly(e, &r, &said[k]);
            ops->snapshot(e, &s);
            right += s.drafts_right;
            ops->close(e);
        }
        CHECK_MEM(&said[0], &said[1], sizeof *said);
        CHECK(strstr(said[0].text, "<think>\n") == said[0].text && strstr(said[0].text, "\n</think>\n\n"));
    }
    CHECK(right > 100);
}

/* What is written for the model, 19 tokens here, takes three passes and no answer changes; each was one. */
TEST(what_is_decided_beforehand_is_drafted)
{
    static const char chat[] = "<|im_start|>{{ m.content.split('</think>')[-1] }}<|im_end|>"
                               "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
                               "{% if enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}"
                               "{% endif %}{% endif %}";
    static struct said said[2];
    const struct msg msg = {.role = ROLE_USER, .text = "?", .len = 1};
    const struct tiny t = TINY_LLAMA;
    struct engine_snapshot s[2];
    const char *path = tiny_file(&t, chat, "skips.gguf");
    for (int k = 0; k < 2; k++) {
        struct engine *e = open_engine(&(struct how){path, KT_F16, 1, k ? 0 : DRAFTS_NONE, 0, false});
        struct request r = {.msgs = &msg, .n_msgs = 1, .max_tokens = 19 + 2, .sampling = SAMPLING_GREEDY,
                            .thinking = THINKING_OFF, .ignore_end = true};
        say_strictly(e, &r, &said[k]);
        ops->snapshot(e, &s[k]);
        ops->close(e);
    }
    CHECK_MEM(&said[0], &said[1], sizeof *said);
    CHECK(said[0].n == 21 && s[1].drafts_right == s[1].drafted);
    CHECK_EQ((int64_t)(s[1].passes + s[1].drafts_right), (int64_t)s[0].passes);
    CHECK(s[1].drafts_right >= 15 && s[0].passes >= 21);
}

/* Rows are worth more there. */
TEST(nothing_is_tried_while_a_prompt_is_read)
{
    struct tiny t = TINY_LLAMA;
    struct engine_event ev[16];
    struct engine_snapshot now;
    static const struct kern_bias same = {TINY_BYTE0 + 'a', 1e4f};
    int32_t ids[200];
    for (int i = 0; i < 200; i++) ids[i] = TINY_BYTE0 + i;
    struct engine *e = open_engine(&(struct how){tiny_file(&t, NULL, "reads.gguf"), KT_F16, 2, 0, 20, false});
    struct request r = {.ids = ids, .n_ids = 4, .max_tokens = 200, .sampling = SAMPLING_GREEDY, .ignore_end = true};
    r.sampling.bias = &same;
    r.sampling.n_bias = 1;
    const int talker = submit(ops, e, &r);
    while (atomic_load(&ops->answer(e, talker)->n_tokens) < 40) CHECK(ops->step(e, ev, 16, &err) > 0);
    ops->snapshot(e, &now);
    const uint64_t before = now.drafted;
    r.n_ids = 200;
    r.max_tokens = 10;
    const int reader = submit(ops, e, &r), tokens = atomic_load(&ops->answer(e, talker)->n_tokens);
    int steps = 0;
    for (; atomic_load(&ops->answer(e, reader)->n_tokens) == 0; steps++) CHECK(ops->step(e, ev, 16, &err) > 0);
    ops->snapshot(e, &now);
    CHECK(before > 20 && now.drafted == before && steps > 5);
    CHECK_EQ(atomic_load(&ops->answer(e, talker)->n_tokens), tokens + steps);
    CHECK(ops->step(e, ev, 16, &err) > 0);
    ops->snapshot(e, &now);
    CHECK(now.drafted > before);
    ops->close(e);
}

/* Where nothing can be tried, nothing is; and who wants it all the same is told why. */
TEST(drafts_are_made_where_rows_are_known_to_be_cheap_and_alike)
{
    const struct tiny plain = TINY_LLAMA, states = {.arch = "lfm2", .layers = 3, .embd = 64, .heads = 2, .kv_heads = 1,
                                                    .ff = 96, .type = KT_F32, .seed = 1};
    const char *sound = tiny_file(&plain, NULL, "sound.gguf"), *kept = tiny_file(&states, NULL, "kept.gguf");
    const struct { const char *path, *backend; enum naive_policy naive; int asked, drafts; const char *no; } of[] = {
        {sound, "cpu", NAIVE_NONE, 0, DRAFT_ROWS - 1, NULL},
        {sound, "cpu", NAIVE_NONE, 3, 3, NULL},
        {sound, "cpu", NAIVE_NONE, 100, DRAFT_ROWS - 1, NULL},
        {sound, "cpu", NAIVE_NONE, DRAFTS_NONE, 0, NULL},
        {sound, "ref", NAIVE_NONE, 0, 0, NULL},
        {sound, "ref", NAIVE_NONE, 2, 2, NULL},
        {kept, "cpu", NAIVE_NONE, 0, 0, NULL},
        {kept, "cpu", NAIVE_NONE, 2, 0, "2 drafts: this model's layers keep a state"},
        {sound, "cpu", NAIVE_RESERVE, 0, 0, NULL},
        {sound, "cpu", NAIVE_RESERVE, 1, 0, "1 drafts: a memory policy that fails"},
    };
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        const struct engine_config cfg = {.model = of[i].path, .backend = of[i].backend, .kv_type = KT_F16,
                                          .template = -1, .naive = of[i].naive, .drafts = of[i].asked, .ctx = 64};
        err = (struct err){0};
        struct engine *e = ops->open(&cfg, &err);
        CHECK_EQ(e == NULL, of[i].no != NULL);
        if (!e) CHECK(strstr(err.text, of[i].no) == err.text && strstr(err.text, "leave them out"));
        if (e) CHECK_EQ(ops->info(e)->drafts, of[i].drafts);
        if (e) ops->close(e);
    }
}

CHECK_MAIN
