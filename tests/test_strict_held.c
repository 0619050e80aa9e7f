/* Grammars of requests: refused in words, held once, given back, and in the memory that the ledger has for them. */
#include "tests/interpose.h"
#include "tests/strict_rig.h"
#include <jansson.h>
#include <malloc.h>

/* ------------------------------------------------------------------ refused */

static void refused(struct engine *e, const struct request *r, int code, const char *words)
{
    int id = -7;
    err = (struct err){0};
    CHECK_EQ(engine_scripted.submit(e, r, &id, &err), code);
    CHECK_EQ(err.code, code);
    if (!strstr(err.text, words)) check_fail(__FILE__, __LINE__, "\"%s\" lacks \"%s\"", err.text, words);
    CHECK_EQ(id, -7);
    err = (struct err){0};
    check_books(e);
}

static void refused_schema(struct engine *e, struct talk *t, const char *schema, const char *words)
{
    t->grammar.schema = schema;
    t->grammar.n_schema = schema ? strlen(schema) : 0;
    refused(e, &t->r, ENGINE_BAD_REQUEST, words);
}

TEST(strict_refuses_with_the_words_of_what_is_wrong)
{
    static char large[STRICT_SCHEMA + 2], mark[STRICT_MARK + 2];
    struct engine_config cfg = {.ctx = 4096, .grammars = 1,
                                .grammar_limits = {.states = 400, .nodes = 4096, .depth = 5}};
    struct engine *e = open_script("{\"answer\":\"<tool_call>" READ "</tool_call>\"}\n", cfg);
    struct engine *none = open_script("{\"answer\":\"a\"}\n", (struct engine_config){.ctx = 4096});
    struct talk t, fresh;
    int id;
    talk_begin(&t, (const char *const[]){"read"}, 1, "?");
    memset(large, ' ', sizeof large - 1);
    memset(mark, 'm', sizeof mark - 1);
    refused(none, &t.r, ENGINE_BAD_REQUEST, "opened to hold none");
    fresh = t;
    t.r.grammar = &t.grammar;
    refused_schema(e, &t, "{\"type\":\"string\",\"not\":{}}", "schema, at /: not is not known");
    refused_schema(e, &t, "{\"type\":", "schema: line 1");
    refused_schema(e, &t, "", "schema: line 1");
    refused_schema(e, &t, NULL, "needs a schema");
    refused_schema(e, &t, "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"maxItems\":99}",
                   "more than 400 states");
    refused_schema(e, &t, large, "at most 32768 are read");
    t.grammar = fresh.grammar;
    t.grammar.open = "";
    refused(e, &t.r, ENGINE_BAD_REQUEST, "a grammar's opening has 0 bytes");
    t.grammar.open = mark;
    refused(e, &t.r, ENGINE_BAD_REQUEST, "a grammar's opening has 33 bytes; allowed is 1 to 32");
    t.grammar.open = fresh.grammar.open;
    t.grammar.close = NULL;
    refused(e, &t.r, ENGINE_BAD_REQUEST, "a grammar's closing has 0 bytes");
    t.grammar.close = fresh.grammar.close;
    t.grammar.free_close = NULL;
    refused(e, &t.r, ENGINE_BAD_REQUEST, "a beginning and an end, or neither");
    t.grammar = fresh.grammar;
    t.grammar.blanks = false;
    CHECK_EQ(atomic_load(&ask(&engine_scripted, e, &t.r, &id)->end), END_STOP);
    talk_end(&t);
    engine_scripted.close(e);
    engine_scripted.close(none);
}

TEST(strict_refuses_to_open_with_limits_that_cannot_be)
{
    struct engine_config cfg = {.model = MODEL, .template = -1, .kern = {.threads = 1}, .ctx = 64, .max_seqs = 1};
    cfg.grammars = STRICT_GRAMMARS + 1;
    CHECK(!engine_local.open(&cfg, &err));
    CHECK(err.code == ENGINE_FAULT && strstr(err.text, "65 grammars are to be held"));
    cfg.grammars = 1;
    cfg.grammar_limits.states = 1 << 20;
    CHECK(!engine_local.open(&cfg, &err));
    CHECK(err.code == ENGINE_FAULT && strstr(err.text, "the limits of grammars"));
    cfg.grammar_limits = GRAMMAR_LIMITS;
    cfg.vram = 1 << 20;
    CHECK(!engine_local.open(&cfg, &err));
    CHECK(err.code == ENGINE_NEVER_FITS && strstr(err.text, "grammars "));
}

/* ------------------------------------------------------------------ held, shared, given back */

static long reads; /* of schemas: allocations that jansson made */
static size_t heap, most_heap;

static void *count_malloc(size_t n)
{
    void *p = malloc(n);
    reads++;
    heap += p ? malloc_usable_size(p) + sizeof(size_t) : 0;
    most_heap = MAX(most_heap, heap);
    return p;
}

static void count_free(void *p)
{
    heap -= p ? malloc_usable_size(p) + sizeof(size_t) : 0;
    free(p);
}

TEST(strict_requests_with_the_same_grammar_share_it)
{
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 768, .max_seqs = 4, .grammars = 1});
    struct talk one, same, other;
    int id[5];
    talk_begin(&one, all_tools, 4, questions[0]);
    talk_begin(&same, all_tools, 4, questions[1]);
    talk_begin(&other, all_tools, 3, questions[1]);
    json_set_alloc_funcs(count_malloc, count_free);
    id[0] = submit(&engine_local, e, &one.r);
    CHECK(reads > 0);
    reads = 0;
    id[1] = submit(&engine_local, e, &same.r);
    CHECK_EQ(reads, 0); /* it was compiled once */
    refused(e, &other.r, ENGINE_NO_MEMORY, "hold 1 different grammars");
    other.grammar = one.grammar;
    other.grammar.blanks = true;
    refused(e, &other.r, ENGINE_NO_MEMORY, "hold 1 different grammars");
    engine_local.drop(e, id[0]);
    refused(e, &other.r, ENGINE_NO_MEMORY, "hold 1 different grammars");
    run_all(&engine_local, e);
    reads = 0;
    id[0] = submit(&engine_local, e, &one.r); /* nobody held it, and it was kept */
    CHECK_EQ(reads, 0);
    CHECK_EQ(engine_local.cancel(e, id[0]), 0);
    check_books(e);
    id[2] = submit(&engine_local, e, &other.r); /* in the place of the other */
    CHECK(reads > 0);
    run_all(&engine_local, e);
    CHECK_EQ(strict_holds(e->sched->strict), 0);
    json_set_alloc_funcs(malloc, free);
    talk_end(&one);
    talk_end(&same);
    talk_end(&other);
    engine_local.close(e);
}

TEST(strict_a_request_that_is_refused_for_another_reason_holds_nothing)
{
    struct engine_config cfg = {.ctx = 4096, .max_seqs = 1, .grammars = 2, .text_bytes = 90 << 10};
    struct engine *e = open_script("{\"answer\":\"a\"}\n", cfg);
    struct talk t;
    int id = 0;
    talk_begin(&t, all_tools, 2, "?");
    t.r.max_tokens = 1500;
    id = submit(&engine_scripted, e, &t.r);
    t.r.no_wait = true;
    refused(e, &t.r, ENGINE_NOT_NOW, "would have to wait");
    t.r.no_wait = false;
    t.r.sampling.temp = -1;
    refused(e, &t.r, ENGINE_BAD_REQUEST, "temperature");
    t.r.sampling.temp = 0;
    t.r.max_tokens = 3000;
    refused(e, &t.r, ENGINE_NO_MEMORY, "hold");
    CHECK_EQ(strict_holds(e->sched->strict), 1);
    engine_scripted.drop(e, id);
    CHECK_EQ(strict_holds(e->sched->strict), 0);
    talk_end(&t);
    engine_scripted.close(e);
}

TEST(strict_a_call_that_is_cancelled_in_its_middle_gives_its_grammar_back)
{
    struct engine *e = open_with(&engine_local, (struct engine_config){.ctx = 768, .max_seqs = 2, .grammars = 1});
    struct engine_event ev[16];
    struct talk t, other;
    talk_begin(&t, all_tools, 10, questions[0]);
    talk_begin(&other, all_tools, 10, questions[1]);
    other.grammar.blanks = true;
    int id = submit(&engine_local, e, &t.r), more;
    const struct answer *a = engine_local.answer(e, id);
    while (!find(a->text, atomic_load(&a->text_len), "argu")) CHECK(engine_local.step(e, ev, 16, &err) > 0);
    CHECK_EQ(strict_holds(e->sched->strict), 1);
    CHECK_EQ(engine_local.cancel(e, id), 0);
    CHECK_EQ(strict_holds(e->sched->strict), 0);
    check_books(e);
    struct calls calls = {0};
    a = ask(&engine_local, e, &other.r, &more);
    check_calls(a, OPEN, all_tools, 10, &calls);
    CHECK_EQ(calls.whole, 1);
    talk_end(&t);
    talk_end(&other);
    engine_local.close(e);
}

/* ------------------------------------------------------------------ memory */

/* Of all short texts of JSON, these take most heap for a byte. */
TEST(strict_reads_every_schema_in_the_heap_that_the_ledger_has)
{
    static const char *const part[][3] = {
        {"[", "[],", "0]"}, {"[", "{},", "0]"}, {"[", "{\"\":{}},", "0]"}, {"[", "0,", "0]"}, {"[", "\"\",", "0]"},
        {"[", "[[[[[[]]]]]],", "0]"}, {"{\"enum\":[", "{},", "0]}"}, {"{\"enum\":[", "[{}],", "0]}"},
        {"{\"anyOf\":[", "{\"type\":\"object\"},", "{}]}"}, {"[", "1.5,", "0]"},
    };
    struct engine *e = open_script("{\"answer\":\"a\"}\n", (struct engine_config){.ctx = 4096, .grammars = 1});
    json_set_alloc_funcs(count_malloc, count_free);
    most_heap = 0;
    for (size_t i = 0; i < COUNT_OF(part) + 1; i++) {
        struct talk t;
        struct buf schema = {0};
        int id;
        talk_begin(&t, all_tools, 1, "?");
        if (i == COUNT_OF(part)) { /* as many names as there is room for */
            buf_puts(&schema, "{");
            for (int k = 0; schema.len < STRICT_SCHEMA - 20; k++) buf_printf(&schema, "\"%x\":{},", k);
            buf_puts(&schema, "\"\":0}");
        } else {
            buf_puts(&schema, part[i][0]);
            while (schema.len + strlen(part[i][1]) + 4 < STRICT_SCHEMA) buf_puts(&schema, part[i][1]);
            buf_puts(&schema, part[i][2]);
        }
        CHECK(schema.len <= STRICT_SCHEMA && schema.len > STRICT_SCHEMA - 64);
        t.grammar.schema = schema.data;
        t.grammar.n_schema = schema.len;
        heap = 0; /* what is given back with free() is not seen: it is counted as if it stayed */
        CHECK_EQ(engine_scripted.submit(e, &t.r, &id, &err), ENGINE_BAD_REQUEST);
        buf_free(&schema);
        talk_end(&t);
    }
    json_set_alloc_funcs(malloc, free);
    CHECK(most_heap <= STRICT_READ && most_heap > STRICT_READ / 4);
    engine_scripted.close(e);
}

static size_t heap_now(void)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

/* What open takes more for grammars is what the ledger has for them, less the heap that only submit() takes; serving
 * takes nothing more. */
TEST(strict_takes_what_the_ledger_says)
{
    enum { SLACK = 8192 }; /* malloc rounds its largest blocks to pages */
    struct engine_config cfg = {.ctx = 768, .max_seqs = 2};
    struct talk t;
    int id;
    engine_local.close(open_with(&engine_local, cfg)); /* what a library takes once */
    size_t before = heap_now();
    struct engine *e = open_with(&engine_local, cfg);
    size_t plain = heap_now() - before;
    engine_local.close(e);
    for (int n = 1; n < 12; n += 5) {
        cfg.grammars = n;
        cfg.grammar_limits = n == 6 ? (struct grammar_limits){.states = 700, .nodes = 900, .depth = 4, .masks = 3}
                                    : (struct grammar_limits){0};
        before = heap_now();
        e = open_with(&engine_local, cfg);
        uint64_t says = engine_local.info(e)->ledger.bytes[LEDGER_GRAMMARS];
        CHECK(says > STRICT_READ);
        int64_t took = (int64_t)(heap_now() - before) - (int64_t)plain, off = took - (int64_t)(says - STRICT_READ);
        if (before && (off < -SLACK || off > SLACK))
            check_fail(__FILE__, __LINE__, "open took %lld bytes, the ledger says %lld", (long long)took,
                       (long long)(says - STRICT_READ));
        for (int k = 0; k < 4; k++) {
            talk_begin(&t, all_tools, 1 + k % 2, questions[0]);
            interpose_arm(0, false);
            ask(&engine_local, e, &t.r, &id);
            engine_local.drop(e, id);
            interpose_disarm();
            CHECK_EQ(atomic_load(&interpose.live), 0);
            bool held = n > 1 && k > 1; /* it had room beside the other */
            if (INTERPOSE_WORKS) CHECK_EQ(atomic_load(&interpose.takes) == 0, held);
            talk_end(&t);
        }
        engine_local.close(e);
    }
}

CHECK_MAIN
