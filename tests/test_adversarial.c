/* 64 clients who ask for everything, in every way, and a stdout that nobody reads; and agents that wait for each other
 * on a pool for one.  The long form is the soak (make soak). */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/crowd.h"
#include "tests/tiny_model.h"

static const char *const CHATML =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";
static const char *const SCRIPT = "{\"answer\": \"a few words\"}\n"
                                  "{\"answer\": \"one that goes on and on, \", \"end\": false}\n{\"answer\": \"\"}\n";

static struct engine *open_engine(const struct engine_ops *ops, struct engine_config cfg)
{
    struct tiny t = TINY_LLAMA;
    struct err err = {0};
    cfg.model = tiny_file(&t, CHATML, "crowd.gguf");
    cfg.script = tiny_text_file("crowd.jsonl", SCRIPT);
    cfg.kern.threads = 1;
    cfg.kv_type = KT_F16;
    cfg.template = -1;
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

/* ------------------------------------------------------------------ 64 clients */

struct outcome {
    struct crowd_sum sum;
    struct engine_snapshot last;
};

static void fine(const char *wrong)
{
    if (wrong) check_fail(__FILE__, __LINE__, "%s", wrong);
}

static struct outcome run_crowd(const struct engine_ops *ops, struct engine_config cfg, int rounds, bool stalled)
{
    struct engine *e = open_engine(ops, cfg);
    struct crowd_plan plan = {.ops = ops, .e = e, .vocab = TINY_VOCAB, .pool_tokens = cfg.pool_tokens, .seed = 7,
                              .overcommit = cfg.overcommit};
    struct crowd *c = crowd_open(&plan);
    struct outcome out;
    crowd_stall(c, stalled);
    for (int i = 0; i < rounds; i++) fine(crowd_round(c));
    fine(crowd_drain(c));
    out.sum = *crowd_sum(c);
    ops->snapshot(e, &out.last);
    crowd_close(c);
    ops->close(e);
    return out;
}

/* The same clients once with a reader and once with none: the engine does not know.  Then with so little room for
 * answers that some are refused for it; how little depends on the alignment of what malloc gives. */
static void crowd_twice(const struct engine_ops *ops, struct engine_config cfg, int rounds)
{
    cfg.text_bytes = 1 << 20;
    struct outcome read = run_crowd(ops, cfg, rounds, false), stalled = run_crowd(ops, cfg, rounds, true);
    read.last.text_bytes = stalled.last.text_bytes = 0;
    CHECK_MEM(&read.sum, &stalled.sum, sizeof read.sum);
    CHECK_MEM(&read.last, &stalled.last, sizeof read.last);
    const struct crowd_sum *s = &read.sum;
    CHECK(s->finished > 40 && s->cancelled > 2 && s->dropped > 2 && s->most_before > 0);
    CHECK(s->refused[2] && s->refused[3] && s->refused[6]);
    CHECK(!cfg.overcommit || (read.last.parkings > 0 && read.last.resumes > 0));
    if (CHECK_TSAN) return; /* threads do the same where there is less room */
    cfg.text_bytes = 50 << 10;
    struct outcome tight = run_crowd(ops, cfg, rounds, false);
    CHECK(tight.sum.refused[5] > 5 && tight.sum.finished > 10);
}

TEST(adversarial_crowd_on_the_scripted_engine)
{
    struct engine_config cfg = {.ctx = 200, .max_seqs = 8, .pool_tokens = 640, .max_rows = 40, .step_rows = 12};
    crowd_twice(&engine_scripted, cfg, CHECK_TSAN ? 500 : 2000);
}

TEST(adversarial_crowd_on_the_scripted_engine_with_overcommit)
{
    struct engine_config cfg = {.ctx = 200, .max_seqs = 8, .pool_tokens = 400, .max_rows = 40, .overcommit = true};
    crowd_twice(&engine_scripted, cfg, CHECK_TSAN ? 500 : 2000);
}

TEST(adversarial_crowd_on_a_model)
{
    struct engine_config cfg = {.ctx = 160, .max_seqs = 6, .pool_tokens = 400, .max_rows = 40};
    crowd_twice(&engine_local, cfg, 500);
}

TEST(adversarial_crowd_on_a_model_with_overcommit)
{
    struct engine_config cfg = {.ctx = 200, .max_seqs = 6, .pool_tokens = 320, .max_rows = 40, .step_rows = 9,
                                .overcommit = true, .park_bytes = 1 << 20};
    crowd_twice(&engine_local, cfg, 500);
}

/* ------------------------------------------------------------------ a supervisor and its workers */

enum { WORKERS = 31, WHOLE = 256, ANSWER = 4 };

/* A worker is promised every page of the pool, whatever its prompt; the digits end it early. */
static int ask(const struct engine_ops *ops, struct engine *e, const int32_t *ids, int n, int agent)
{
    static const char *const digit[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    struct err err = {0};
    int id;
    struct request r = {.ids = ids, .n_ids = n, .max_tokens = agent ? WHOLE - n : ANSWER, .agent = agent,
                        .stop = digit, .n_stop = (int)COUNT_OF(digit),
                        .sampling = {.temp = 1, .top_p = 1, .repeat = 1, .seed = (uint64_t)agent}};
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    return id;
}

static enum engine_end end_of(const struct engine_ops *ops, struct engine *e, int id)
{
    return (enum engine_end)atomic_load(&ops->answer(e, id)->end);
}

/* Steps until the request has ended; between its agent's calls the agent holds nothing. */
static void wait_for(const struct engine_ops *ops, struct engine *e, int id, bool supervisor_calls)
{
    struct engine_event ev[256];
    struct engine_snapshot s;
    while (end_of(ops, e, id) == END_NONE) {
        CHECK(ops->step(e, ev, 256, NULL) > 0);
        ops->snapshot(e, &s);
        const struct engine_agent *a = &s.agent[0];
        uint64_t held = a->shared_tokens;
        for (int k = 0; k < SEGMENTS; k++) held += a->tokens[k];
        CHECK(supervisor_calls || held + (uint64_t)(a->running + a->waiting + a->parked) == 0);
    }
}

/* All workers ask at once for the whole pool; the supervisor calls, waits for one of them, and calls again with what it
 * said, on the same pool. */
static void supervise(const struct engine_ops *ops, struct engine_config cfg)
{
    struct engine *e = open_engine(ops, cfg);
    int32_t ids[WHOLE] = {1};
    int worker[WORKERS], n = 20;
    for (int i = 1; i < WHOLE; i++) ids[i] = TINY_BYTE0 + 'a' + i % 26;
    for (int i = 0; i < WORKERS; i++) worker[i] = ask(ops, e, ids, 10 + i, 1 + i);
    for (int i = 0; i <= WORKERS; i++) {
        int call = ask(ops, e, ids, n, 0);
        wait_for(ops, e, call, true);
        CHECK(end_of(ops, e, call) == END_LENGTH || end_of(ops, e, call) == END_STOP);
        ops->drop(e, call);
        if (i == WORKERS) break;
        wait_for(ops, e, worker[i], false);
        CHECK(end_of(ops, e, worker[i]) == END_LENGTH || end_of(ops, e, worker[i]) == END_STOP);
        const struct answer *a = ops->answer(e, worker[i]);
        for (int k = 0; k < MIN(5, atomic_load(&a->n_tokens)); k++) ids[n++] = a->token[k].id;
        n++; /* and a word of its own */
        ops->drop(e, worker[i]);
    }
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    CHECK_EQ(s.reserved_tokens + s.text_used + (uint64_t)(s.running + s.waiting + s.parked), 0);
    ops->close(e);
}

TEST(adversarial_a_supervisor_and_31_workers_on_a_pool_for_one)
{
    supervise(&engine_scripted, (struct engine_config){.ctx = WHOLE, .max_seqs = 8, .pool_tokens = WHOLE});
    supervise(&engine_local, (struct engine_config){.ctx = WHOLE, .max_seqs = 8, .pool_tokens = WHOLE});
}

TEST(adversarial_a_supervisor_and_31_workers_with_overcommit)
{
    struct engine_config cfg = {.ctx = WHOLE, .max_seqs = 8, .pool_tokens = WHOLE, .overcommit = true};
    supervise(&engine_scripted, cfg);
    cfg.park_bytes = 1 << 20;
    supervise(&engine_local, cfg);
}

CHECK_MAIN
