/* Requests that carry a grammar: whatever is drawn, a call that was opened can be read; and nothing else is changed. */
#include "tests/strict_rig.h"

/* ------------------------------------------------------------------ drawn at random */

static bool is_broken(const struct answer *a)
{
    struct form_call call;
    size_t n = atomic_load(&a->text_len);
    const char *at = find(a->text, n, OPEN);
    if (!at || atomic_load(&a->end) != END_STOP) return false;
    n -= (size_t)(at - a->text);
    int rc = forms_read_call(at, n, &call, NULL);
    if (rc) return true;
    rc = forms_check_call(&call, NULL);
    forms_call_free(&call);
    return rc != 0;
}

TEST(strict_whatever_is_drawn_can_be_read)
{
    enum { SEEDS = CHECK_SANITIZED ? 8 : 60 };
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 1024, .max_seqs = 4, .grammars = 1});
    struct calls calls = {0};
    int broken = 0, id[2];
    for (int seed = 0; seed < SEEDS; seed++) {
        struct talk t;
        talk_any(&t, seed);
        hot(&t, seed % 2 ? 1.5f : 2.2f, seed);
        const struct answer *a = ask(&engine_local, e, &t.r, &id[0]);
        check_calls(a, OPEN, all_tools, (int)COUNT_OF(all_tools), &calls);
        t.r.grammar = NULL; /* the same without: it shows that it was hot enough */
        broken += is_broken(ask(&engine_local, e, &t.r, &id[1]));
        for (int i = 0; i < 2; i++) engine_local.drop(e, id[i]);
        talk_end(&t);
    }
    CHECK(calls.whole > 0);
    CHECK(CHECK_SANITIZED || (calls.whole > SEEDS / 4 && broken > SEEDS / 16)); /* few are drawn there */
    engine_local.close(e);
}

/* A full stop as the opening comes by itself at any heat; nearly nothing that follows is what the model would say. */
TEST(strict_whatever_is_drawn_at_any_heat_can_be_read)
{
    static const float heat[] = {1.5f, 2.5f, 3, 4, 6, 20};
    enum { SEEDS = CHECK_SANITIZED ? 9 : 90 };
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 1024, .max_seqs = 4, .grammars = 1});
    struct calls calls = {0};
    int id, opened = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
        struct talk t;
        talk_any(&t, seed);
        hot(&t, heat[seed % (int)COUNT_OF(heat)], seed);
        t.grammar.open = ".";
        t.grammar.blanks = seed % 3 == 0;
        t.r.ignore_end = seed % 4 == 0;
        const struct answer *a = ask(&engine_local, e, &t.r, &id);
        check_calls(a, ".", all_tools, (int)COUNT_OF(all_tools), &calls);
        opened += find(a->text, atomic_load(&a->text_len), ".") != NULL;
        engine_local.drop(e, id);
        talk_end(&t);
    }
    CHECK(calls.cut > 0 && opened > 0);
    CHECK(CHECK_SANITIZED || (calls.whole > 5 && calls.cut > 10 && opened > 20));
    engine_local.close(e);
}

/* Before every byte of an opening, of any token: it is barred if it goes on behind the opening with what is no call;
 * one that has a whole opening in itself cannot be, and is not accepted. */
TEST(strict_bars_the_tokens_that_would_open_a_call_wrongly)
{
    static const char *const openings[] = {OPEN, "the", ". ", "aa", "anan", "ing"};
    static uint32_t all[1 << 12];
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 64, .max_seqs = 1});
    const struct vocab *v = engine_local.vocab(e);
    struct strict_config cfg;
    CHECK_EQ(strict_plan(v, 1, false, &(struct grammar_limits){0}, &cfg, &err), 0);
    struct strict *s = strict_open(&cfg, v, 1, &err);
    long barred = 0, inside = 0;
    CHECK(s && (size_t)vocab_size(v) <= 32 * COUNT_OF(all));
    memset(all, 0xff, sizeof all);
    for (size_t k = 0; k < COUNT_OF(openings); k++) {
        struct talk t;
        struct carried *c = NULL;
        size_t n = strlen(openings[k]), outside;
        talk_any(&t, 0);
        t.grammar.open = openings[k];
        CHECK_EQ(strict_take(s, &t.grammar, &c, &err), 0);
        for (size_t had = 0; had < n; had++) {
            struct strict_state st = {.phase = STRICT_OUTSIDE};
            CHECK(strict_accept(c, &st, 0, openings[k], had, &outside));
            const uint32_t *mask = strict_mask(s, c, &st, NULL, 0);
            CHECK(had > 0 || !mask);
            for (int32_t id = 0; id < vocab_size(v); id++) {
                const char *piece;
                size_t len = vocab_piece(v, id, &piece);
                struct strict_state then = st;
                bool may = strict_accept(c, &then, id, piece, len, &outside);
                bool allowed = !mask || mask[id / 32] >> id % 32 & 1, whole = find(piece, len, openings[k]) != NULL;
                if (allowed != may && !(allowed && whole))
                    check_fail(__FILE__, __LINE__, "%s, %zu bytes: %d %.*s", openings[k], had, id, (int)len, piece);
                barred += !allowed;
                inside += then.phase == STRICT_INSIDE;
            }
        }
        strict_give(c);
        talk_end(&t);
    }
    CHECK(barred > 10 && inside > 10);
    CHECK_EQ(strict_holds(s), 0);
    strict_close(s);
    engine_local.close(e);
}

/* ------------------------------------------------------------------ nothing else is changed */

TEST(strict_changes_nothing_where_no_call_is_opened)
{
    static const char *const plain[] = {"Hello!", "What is plimsoll?", "Why does memory run out?", "Tell me a story."};
    enum { SEEDS = CHECK_SANITIZED ? 4 : 32 };
    struct engine *strict = open_with(&engine_local, (struct engine_config){.ctx = 768, .max_seqs = 2, .grammars = 1});
    struct engine *loose = open_with(&engine_local, (struct engine_config){.ctx = 768, .max_seqs = 2});
    CHECK_EQ(engine_local.info(loose)->ledger.bytes[LEDGER_GRAMMARS], 0);
    int same = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
        struct talk t;
        int id[2];
        talk_begin(&t, all_tools, 2, plain[seed % (int)COUNT_OF(plain)]);
        if (seed >= (int)COUNT_OF(plain)) hot(&t, seed % 2 ? 0.8f : 1.5f, seed);
        const struct answer *a = ask(&engine_local, strict, &t.r, &id[0]);
        t.r.grammar = NULL;
        const struct answer *b = ask(&engine_local, loose, &t.r, &id[1]);
        if (!find(b->text, atomic_load(&b->text_len), OPEN)) {
            CHECK(same_answer(a, b));
            same++;
        }
        engine_local.drop(strict, id[0]);
        engine_local.drop(loose, id[1]);
        talk_end(&t);
    }
    CHECK(same > SEEDS / 2);
    engine_local.close(strict);
    engine_local.close(loose);
}

/* What the model says anyway, it says with the mask too, and the turn ends behind it. */
TEST(strict_leaves_a_good_call_as_it_is)
{
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 768, .max_seqs = 2, .grammars = 1});
    struct calls calls = {0};
    for (int i = 0; i < (int)COUNT_OF(questions); i++) {
        struct talk t;
        int id[2];
        talk_any(&t, i);
        const struct answer *a = ask(&engine_local, e, &t.r, &id[0]);
        check_calls(a, OPEN, all_tools, (int)COUNT_OF(all_tools), &calls);
        t.r.grammar = NULL;
        const struct answer *b = ask(&engine_local, e, &t.r, &id[1]);
        CHECK_EQ(atomic_load(&a->end), END_STOP);
        CHECK_EQ(atomic_load(&a->text_len), atomic_load(&b->text_len));
        CHECK_MEM(a->text, b->text, atomic_load(&b->text_len));
        talk_end(&t);
    }
    CHECK(calls.whole > 2 && calls.cut == 0);
    engine_local.close(e);
}

/* ------------------------------------------------------------------ answers from a script */

TEST(strict_follows_a_text_into_calls_and_out_of_them)
{
    static const char script[] =
        "{\"answer\":\"I look. <tool_call>" READ "</tool_call> \"}\n"
        "{\"answer\":\"<tool_call>" READ "</tool_call>, <tool_call>" READ "</tool_call>\"}\n"
        "{\"answer\":\"<tool_call>{\\\"name\\\":\\\"shell\"}\n"
        "{\"answer\":\"<tool_call>\"}\n" /* the turn may not end there */
        "{\"answer\":\"\\n<think>a <tool_call>? no</think><tool_call>!\"}\n"
        "{\"answer\":\" <tool_<tool_call>" READ "</tool_call>{\"}\n"
        "{\"answer\":\"<thinks><tool_call>no\"}\n"
        "{\"answer\":\"x<think><tool_call>no\"}\n";
    static const struct { enum engine_end end; const char *text; } says[] = {
        {END_STOP, "I look. <tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call> "},
        {END_STOP, "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call>, "
                   "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call>"},
        {END_NO_TOKEN, "<tool_call>{\"name\":\""},
        {END_NO_TOKEN, "<tool_call>"},
        {END_NO_TOKEN, "\n<think>a <tool_call>? no</think><tool_call>"},
        {END_STOP, " <tool_<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call>{"},
        {END_NO_TOKEN, "<thinks><tool_call>"},
        {END_NO_TOKEN, "x<think><tool_call>"},
    };
    struct engine *e = open_script(script, (struct engine_config){.ctx = 4096, .grammars = 1});
    for (size_t i = 0; i < COUNT_OF(says); i++) {
        struct talk t;
        int id;
        talk_begin(&t, (const char *const[]){"read", "list"}, 2, "?");
        const struct answer *a = ask(&engine_scripted, e, &t.r, &id);
        check_text(a, says[i].text);
        CHECK_EQ(atomic_load(&a->end), says[i].end);
        engine_scripted.drop(e, id);
        talk_end(&t);
    }
    engine_scripted.close(e);
}

TEST(strict_lets_no_stop_string_cut_a_call)
{
    static const struct { const char *stop, *text; } says[] = {
        {"name", "a <tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call> the "},
        {"{", "a <tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call> the name"},
        {"l>", "a <tool_cal"},
        {"> t", "a <tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call> the name"},
        {" the", "a <tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call>"},
    };
    struct engine *e = open_script("{\"answer\":\"a <tool_call>" READ "</tool_call> the name\"}\n",
                                   (struct engine_config){.ctx = 4096, .grammars = 1});
    for (size_t i = 0; i < COUNT_OF(says); i++) {
        struct talk t;
        int id;
        talk_begin(&t, (const char *const[]){"read"}, 1, "?");
        t.r.stop = &says[i].stop;
        t.r.n_stop = 1;
        const struct answer *a = ask(&engine_scripted, e, &t.r, &id);
        check_text(a, says[i].text);
        engine_scripted.drop(e, id);
        talk_end(&t);
    }
    engine_scripted.close(e);
}

TEST(strict_and_what_the_request_allows_are_both_obeyed)
{
    uint32_t allowed[(TINY_VOCAB + 31) / 32];
    struct engine *e = open_script("{\"answer\":\"q \\\" <tool_call>" READ "</tool_call>\"}\n",
                                   (struct engine_config){.ctx = 4096, .grammars = 1});
    struct talk t;
    int id;
    talk_begin(&t, (const char *const[]){"read"}, 1, "?");
    t.r.allowed = allowed;
    memset(allowed, 0xff, sizeof allowed);
    CHECK_EQ(atomic_load(&ask(&engine_scripted, e, &t.r, &id)->end), END_STOP);
    int32_t no = TINY_BYTE0 + 'h'; /* of "path", which only the grammar wants */
    allowed[no / 32] &= ~(1u << no % 32);
    const struct answer *a = ask(&engine_scripted, e, &t.r, &id);
    CHECK_EQ(atomic_load(&a->end), END_NO_TOKEN);
    check_text(a, "q \" <tool_call>{\"name\":\"read\",\"arguments\":{\"pat");
    talk_end(&t);
    engine_scripted.close(e);
}

/* The model itself has no token to choose when the request's own list has none of those that the grammar wants. */
TEST(strict_ends_with_no_token_when_none_is_left)
{
    static uint32_t allowed[1 << 12];
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 768, .max_seqs = 1, .grammars = 1});
    const struct vocab *v = engine_local.vocab(e);
    struct talk t;
    int id;
    talk_any(&t, 0);
    memset(allowed, 0xff, sizeof allowed);
    for (int32_t i = 0; i < vocab_size(v); i++) {
        const char *piece;
        if (memchr(vocab_piece(v, i, &piece) ? piece : "", 'g', vocab_piece(v, i, &piece)))
            allowed[i / 32] &= ~(1u << i % 32);
    }
    t.r.allowed = allowed; /* no "arguments" without a g */
    const struct answer *a = ask(&engine_local, e, &t.r, &id);
    CHECK(find(a->text, atomic_load(&a->text_len), OPEN));
    CHECK_EQ(atomic_load(&a->end), END_NO_TOKEN);
    talk_end(&t);
    engine_local.close(e);
}

/* ------------------------------------------------------------------ beside others */

/* Four at once, of two kinds, in one pass; each has its own tools alone, and says what it says when it is alone. */
TEST(strict_agents_with_different_tools_at_once)
{
    static const char *const files[] = {"read", "list", "search"}, *const others[] = {"calculator", "ask"};
    enum { MANY = 8 };
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 768, .max_seqs = MANY, .grammars = 2});
    struct talk t[MANY];
    struct calls calls[2] = {{0}};
    int id[MANY], alone;
    for (int round = 0; round < (CHECK_SANITIZED ? 1 : 3); round++) {
        for (int i = 0; i < MANY; i++) {
            talk_begin(&t[i], i % 2 ? files : others, i % 2 ? 3 : 2, questions[(i + round) % (int)COUNT_OF(questions)]);
            hot(&t[i], 1.5f, round * MANY + i);
            t[i].r.agent = i;
            id[i] = submit(&engine_local, e, &t[i].r);
        }
        run_all(&engine_local, e);
        for (int i = 0; i < MANY; i++) {
            const struct answer *a = engine_local.answer(e, id[i]);
            check_calls(a, OPEN, i % 2 ? files : others, i % 2 ? 3 : 2, &calls[i % 2]);
            CHECK(same_answer(a, ask(&engine_local, e, &t[i].r, &alone)));
            engine_local.drop(e, id[i]);
            engine_local.drop(e, alone);
            talk_end(&t[i]);
        }
    }
    CHECK(calls[0].whole > 0 && calls[1].whole > 0);
    engine_local.close(e);
}

/* Parked in the middle of calls, and gone on with: the same answers, and the states are those of the tokens. */
TEST(strict_goes_on_after_parking_where_it_was)
{
    enum { MANY = 3 };
    struct engine_config roomy = {.ctx = 640, .max_seqs = MANY, .grammars = 1}, tight = roomy;
    tight.overcommit = true;
    tight.pool_tokens = CHECK_SANITIZED ? 640 : 768;
    struct engine *e[2] = {open_with(&engine_local, roomy), open_with(&engine_local, tight)};
    struct talk t[MANY];
    int id[2][MANY];
    struct engine_snapshot figures;
    struct ids dot = {0};
    CHECK_EQ(vocab_encode(engine_local.vocab(e[0]), NULL, ".", 1, VOCAB_NO_PREFIX, &dot, &err), 0);
    CHECK_EQ(dot.n, 1);
    const struct kern_bias stop = {dot.id[0], 20};
    for (int i = 0; i < MANY; i++) {
        talk_any(&t[i], i);
        hot(&t[i], 2, i);
        t[i].grammar.open = ".";
        t[i].r.sampling.bias = &stop; /* so a call is opened at once, and its strings have hardly an end */
        t[i].r.sampling.n_bias = 1;
        t[i].r.max_tokens = CHECK_SANITIZED ? 200 : 400;
        t[i].r.fresh = true; /* no pages that another knows still */
        for (int k = 0; k < 2; k++) id[k][i] = submit(&engine_local, e[k], &t[i].r);
    }
    for (int k = 0; k < 2; k++) run_all(&engine_local, e[k]);
    struct calls calls = {0};
    for (int i = 0; i < MANY; i++) {
        check_calls(engine_local.answer(e[1], id[1][i]), ".", all_tools, 10, &calls);
        CHECK(same_answer(engine_local.answer(e[0], id[0][i]), engine_local.answer(e[1], id[1][i])));
        talk_end(&t[i]);
    }
    engine_local.snapshot(e[1], &figures);
    CHECK(figures.parkings > 0 && figures.recomputed > 0 && calls.cut > 1);
    ids_free(&dot);
    for (int k = 0; k < 2; k++) engine_local.close(e[k]);
}

CHECK_MAIN
