/* A pass of more rows than a step computes: a prompt that goes on while nobody generates is read in such passes, some
 * layers a step.  No bit of an answer shows it, a request may leave between two steps, and whoever generates gets a
 * token from each. */
#include "engine/chunk.h"
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/tiny_model.h"

enum { PROMPT = 100, NEW = 8, STEP = 9, LONG = 64, PARTS = (LONG + STEP - 1) / STEP, REST = PROMPT - LONG,
       REST_PARTS = (REST + STEP - 1) / STEP, LAYERS = 5 };

static const struct engine_ops *const ops = &engine_local;

struct said { /* to the bit */
    struct engine_token token[NEW];
    struct engine_top top[NEW];
};

static struct engine *open_engine(int max_rows, int step_rows, bool overcommit)
{
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    t.layers = LAYERS; /* fewer than parts: some have none */
    struct engine_config cfg = {.model = tiny_file(&t, NULL, "steps.gguf"), .kern = {.threads = 2}, .kv_type = KT_F16,
                                .max_rows = max_rows, .step_rows = step_rows, .ctx = 256, .max_seqs = 4,
                                .template = -1, .overcommit = overcommit, .drafts = DRAFTS_NONE};
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

static int submit(struct engine *e, uint32_t seed, int n, int max_tokens)
{
    static int32_t ids[PROMPT];
    struct err err = {0};
    struct request r = {.ids = ids, .n_ids = n, .max_tokens = max_tokens, .top_n = KERN_TOP, .ignore_end = true,
                        .fresh = true, .sampling = SAMPLING_GREEDY};
    int id;
    for (int i = 0; i < n; i++) ids[i] = TINY_BYTE0 + tiny_below(&seed, 256);
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    return id;
}

static int step(struct engine *e, struct engine_event *ev)
{
    struct err err = {0};
    int n = ops->step(e, ev, 64, &err);
    CHECK_STR(err.text, "");
    return n;
}

static void read_answer(struct engine *e, int id, struct said *out)
{
    const struct answer *a = ops->answer(e, id);
    CHECK_EQ(atomic_load(&a->n_tokens), NEW);
    memset(out, 0, sizeof *out);
    memcpy(out->token, a->token, sizeof out->token);
    memcpy(out->top, a->top, sizeof out->top);
    ops->drop(e, id);
}

static void finish(struct engine *e, int id, struct said *out)
{
    struct engine_event ev[64];
    while (step(e, ev) > 0) continue;
    read_answer(e, id, out);
}

static uint64_t passes(const struct engine *e)
{
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    return s.passes;
}

/* What the prompt of a seed leads to when each pass is one step. */
static void truth(uint32_t seed, struct said *out)
{
    struct engine *e = open_engine(LONG, 0, false);
    finish(e, submit(e, seed, PROMPT, NEW), out);
    ops->close(e);
}

/* Of the next event of this kind in a step, of a request. */
static const struct engine_event *find(const struct engine_event *ev, int n, enum engine_event_kind kind, int id)
{
    for (int i = 0; i < n; i++)
        if (ev[i].kind == kind && ev[i].id == id) return &ev[i];
    return NULL;
}

TEST(steps_a_prompt_alone_is_read_in_long_passes_of_several_steps)
{
    static struct said want, got;
    struct engine_event ev[64];
    struct engine *e = open_engine(LONG, STEP, false);
    CHECK_EQ(ops->info(e)->max_rows, LONG);
    CHECK_EQ(ops->info(e)->step_rows, STEP);
    truth(1, &want);
    int id = submit(e, 1, PROMPT, NEW);
    for (int part = 0; part < PARTS + REST_PARTS; part++) {
        int n = step(e, ev), done = part + 1 < PARTS ? 0 : part + 1 < PARTS + REST_PARTS ? LONG : PROMPT;
        const struct engine_event *p = find(ev, n, ENGINE_PREFILL, id);
        CHECK(p);
        CHECK_EQ(p->n, done);
        CHECK_EQ(p->of, PROMPT);
        CHECK_EQ(passes(e), part < PARTS ? 1 : 2);
        CHECK_EQ(atomic_load(&ops->answer(e, id)->n_tokens), done == PROMPT);
    }
    finish(e, id, &got);
    CHECK_MEM(&got, &want, sizeof got);
    ops->close(e);
}

/* Between any two of its steps, by cancel and by drop; the next one has the place, and its own bits. */
static void leave_after(int parts, bool drop, const struct said *want)
{
    static struct said got;
    struct engine_event ev[64];
    struct engine *e = open_engine(LONG, STEP, parts % 2);
    int id = submit(e, 7, PROMPT, NEW);
    for (int i = 0; i < parts; i++) CHECK(step(e, ev) > 0);
    int other = parts % 3 == 0 ? submit(e, 1, PROMPT, NEW) : 0; /* it waits, or comes afterwards */
    if (drop) ops->drop(e, id);
    else CHECK_EQ(ops->cancel(e, id), 0);
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    CHECK_EQ(s.filled_tokens, 0);
    CHECK_EQ(s.prefilled, parts < PARTS ? 0 : parts < PARTS + REST_PARTS ? LONG : PROMPT);
    if (!other) other = submit(e, 1, PROMPT, NEW);
    finish(e, other, &got);
    CHECK_MEM(&got, want, sizeof got);
    ops->close(e);
}

TEST(steps_who_leaves_between_them_takes_the_pass_along)
{
    static struct said want;
    truth(1, &want);
    for (int parts = 0; parts <= PARTS + REST_PARTS; parts++) {
        leave_after(parts, false, &want);
        leave_after(parts, true, &want);
    }
}

TEST(steps_who_generates_gets_a_token_from_each)
{
    static struct said want, got;
    struct engine_event ev[64];
    struct engine *e = open_engine(LONG, STEP, false);
    truth(1, &want);
    int talker = submit(e, 3, 5, 40), id = 0;
    for (int i = 0; i < 40; i++) {
        int n = step(e, ev);
        CHECK(find(ev, n, ENGINE_ADVANCED, talker) || find(ev, n, ENGINE_END, talker));
        const struct engine_event *p = find(ev, n, ENGINE_PREFILL, id);
        if (i > 2 && i - 2 <= PROMPT / (STEP - 1)) CHECK(p && p->n == (i - 2) * (STEP - 1));
        if (i == 2) id = submit(e, 1, PROMPT, NEW);
    }
    finish(e, id, &got);
    CHECK_MEM(&got, &want, sizeof got);
    ops->close(e);
}

TEST(steps_others_prompts_wait_their_turn_and_one_that_came_between_is_served_next)
{
    static struct said want[3], got;
    struct engine_event ev[64];
    struct engine *e = open_engine(LONG, STEP, false);
    int id[3];
    for (int i = 0; i < 3; i++) {
        truth((uint32_t)i + 1, &want[i]);
        id[i] = submit(e, (uint32_t)i + 1, PROMPT, NEW);
        for (int k = 0; k < 2; k++) CHECK(step(e, ev) > 0); /* amid a pass of the first */
    }
    CHECK_EQ(passes(e), 1);
    while (step(e, ev) > 0) continue;
    for (int i = 0; i < 3; i++) {
        read_answer(e, id[i], &got);
        CHECK_MEM(&got, &want[i], sizeof got);
    }
    ops->close(e);
}

TEST(steps_sizes_are_held_to_each_other)
{
    struct engine *e = open_engine(16, 40, false);
    CHECK_EQ(ops->info(e)->max_rows, 16);
    CHECK_EQ(ops->info(e)->step_rows, 16);
    ops->close(e);
    e = open_engine(16, 2, false); /* a row of each sequence that generates, and one */
    CHECK_EQ(ops->info(e)->step_rows, 5);
    ops->close(e);
    e = open_engine(0, 0, false);
    CHECK_EQ(ops->info(e)->step_rows, ops->info(e)->max_rows);
    ops->close(e);
}

/* By the table's own figure a step of the CPU stays under 100 ms, as far as a tile of 8 rows can. */
TEST(steps_of_the_table_are_short_and_passes_no_smaller)
{
    static const char *const backend[] = {"cpu", "cuda", "ref", "another"};
    for (size_t i = 0; i < COUNT_OF(backend); i++)
        for (uint64_t n = 1000; n < 1000000000000; n += n / 3) {
            const struct chunk c = chunk_of(backend[i], n, n), cpu = chunk_of("cpu", n, n);
            CHECK(c.step_rows >= 8 && c.step_rows <= c.rows);
            if (i == 0 && c.step_rows > 8) CHECK((double)n * c.step_rows < 0.1 * 6e11);
            if (i == 1 || i == 2) CHECK_EQ(c.rows, c.step_rows);
            if (i == 3) CHECK(c.rows == cpu.rows && c.step_rows == cpu.step_rows);
        }
    const struct chunk one = chunk_of("cpu", 1235814400, 1235814400),
                       eight = chunk_of("cpu", 8030261248, 8030261248);
    CHECK(one.rows == 64 && one.step_rows == 24);
    CHECK(eight.rows == 64 && eight.step_rows == 8);
}

/* By what a row is computed with, in passes that are worth reading all experts for: Qwen3 30B A3B, Mixtral 8x7B. */
TEST(steps_of_a_mixture_go_by_what_is_active_and_its_passes_are_large)
{
    for (uint64_t n = 1000; n < 1000000000000; n += n / 3) {
        const struct chunk c = chunk_of("cpu", 10 * n, n), dense = chunk_of("cpu", n, n);
        CHECK(c.step_rows <= dense.step_rows && 2 * c.step_rows >= dense.step_rows);
        CHECK(c.rows >= dense.rows && c.rows <= 256);
        CHECK_EQ(chunk_of("cuda", 10 * n, n).rows, chunk_of("cuda", n, n).rows);
    }
    const struct chunk qwen = chunk_of("cpu", 30532122624, 3353032704),
                       mixtral = chunk_of("cpu", 46702792704, 12879925248);
    CHECK(qwen.rows == 256 && qwen.step_rows == 8);
    CHECK(mixtral.rows == 128 && mixtral.step_rows == 8);
}

CHECK_MAIN
