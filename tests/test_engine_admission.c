/* Who is let in, when, and before whom; what waits for what; over-commit; figures.  Without a model. */
#include "engine/maker.h"
#include "tests/check.h"
#include "tests/tiny_model.h"
#include <pthread.h>

static const struct engine_ops *const ops = &engine_scripted;

enum { P = KERN_PAGE };

static struct engine *open_with(const char *answers, struct engine_config cfg)
{
    struct gguf_make m;
    struct err err = {0};
    gguf_make_begin(&m);
    gguf_make_str(&m, "general.architecture", "llama");
    tiny_vocab(&m, NULL);
    cfg.model = gguf_make_file(&m, "vocab.gguf");
    cfg.script = tiny_text_file("answers.jsonl", answers);
    cfg.template = -1;
    struct engine *e = ops->open(&cfg, &err);
    CHECK_STR(err.text, "");
    return e;
}

static const char *const ENDLESS = "{\"answer\": \"abcdefghijklmnopqrstuvwxyz\", \"end\": false}\n";

/* A prompt of n tokens, all of them `what`: two prompts of different tokens share nothing. */
static struct request ask(int what, int n, int max_tokens)
{
    static int32_t ids[64][40 * P];
    for (int i = 0; i < n; i++) ids[what][i] = TINY_BYTE0 + what;
    return (struct request){.ids = ids[what], .n_ids = n, .max_tokens = max_tokens, .sampling = SAMPLING_GREEDY};
}

static int submit(struct engine *e, struct request r)
{
    struct err err = {0};
    int id = 0, rc = ops->submit(e, &r, &id, &err);
    CHECK_STR(err.text, "");
    CHECK_EQ(rc, 0);
    return id;
}

static void sound(const struct engine *e)
{
    struct err err = {0};
    if (sched_check(e->sched, &err)) check_fail(__FILE__, __LINE__, "%s", err.text);
}

/* One step; the kinds of events of id, a letter each. */
static const char *step(struct engine *e, int id)
{
    static char seen[64];
    struct engine_event ev[64];
    int n = ops->step(e, ev, 64, NULL), at = 0;
    for (int i = 0; i < n; i++)
        if (ev[i].id == id) seen[at++] = "apvkre"[ev[i].kind];
    seen[at] = '\0';
    sound(e);
    return seen;
}

static void run_all(struct engine *e)
{
    struct engine_event ev[64];
    while (ops->step(e, ev, 64, NULL) > 0) sound(e);
}

static struct engine_snapshot figures(const struct engine *e)
{
    struct engine_snapshot s;
    ops->snapshot(e, &s);
    return s;
}

static bool runs(struct engine *e, int id)
{
    struct engine_wait w;
    ops->waits(e, id, &w);
    return w.what == WAIT_NOTHING && atomic_load(&ops->answer(e, id)->end) == END_NONE;
}

/* ------------------------------------------------------------------ fairness */

/* Seven pages: one running holds four, so a request for seven waits; small ones pass it, sixteen times. */
TEST(admission_overtakes_a_waiting_request_sixteen_times_and_no_more)
{
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 7 * P, .pool_tokens = 7 * P, .max_seqs = 3});
    int first = submit(e, ask(0, P, 3 * P)), passed = 0;
    step(e, first);
    int big = submit(e, ask(1, 3 * P, 4 * P));
    for (int i = 0; i < 40; i++) {
        int small = submit(e, ask(2 + i, 2, 4));
        step(e, small);
        CHECK(!runs(e, big));
        if (!runs(e, small)) {
            struct engine_wait w;
            ops->waits(e, small, &w);
            CHECK(w.what == WAIT_TURN && w.after == big);
        } else {
            passed++;
        }
        ops->drop(e, small);
    }
    CHECK_EQ(passed, 16);
    ops->cancel(e, first);
    step(e, big);
    CHECK(runs(e, big));
    ops->close(e);
}

TEST(admission_prefers_priority_then_age)
{
    struct engine *e = open_with("{\"answer\": \"a\"}\n", (struct engine_config){.ctx = 4 * P, .max_seqs = 1});
    static const int priority[] = {0, -1, 2, 0, 2};
    static const int order[] = {2, 4, 0, 3, 1};
    int id[5], n, at = 0;
    struct engine_event ev[16];
    for (int i = 0; i < 5; i++) {
        struct request r = ask(i, 5, 9);
        r.priority = priority[i];
        id[i] = submit(e, r);
    }
    while ((n = ops->step(e, ev, 16, NULL)) > 0)
        for (int i = 0; i < n; i++)
            if (ev[i].kind == ENGINE_ADMITTED) CHECK_EQ(ev[i].id, id[order[at++]]);
    CHECK_EQ(at, 5);
    ops->close(e);
}

/* ------------------------------------------------------------------ waiting, and not */

TEST(admission_says_what_a_request_waits_for)
{
    struct engine_wait w;
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 10 * P, .pool_tokens = 12 * P, .max_seqs = 3,
                                                                 .max_rows = P});
    int a = submit(e, ask(0, P, 3 * P)), b = submit(e, ask(1, P, 2 * P));
    step(e, a);
    int c = submit(e, ask(2, P, 9 * P));
    step(e, c);
    ops->waits(e, c, &w); /* ten pages, five are free; a frees four, b three */
    CHECK(w.what == WAIT_PAGES && w.pages == 10 && w.free == 5 && w.after == b && w.others == 1);
    ops->waits(e, a, &w);
    CHECK_EQ(w.what, WAIT_NOTHING);
    ops->drop(e, c);
    ops->drop(e, b);
    int d = submit(e, ask(3, 4 * P, 2 * P)); /* takes four passes to pre-fill, beside a's row */
    step(e, d);
    int f = submit(e, ask(3, 4 * P, P));
    step(e, f);
    ops->waits(e, f, &w);
    CHECK(w.what == WAIT_FRONT && w.after == d);
    for (int i = 0; i < 6; i++) step(e, f);
    CHECK_EQ(ops->answer(e, f)->n_shared, 3 * P);
    int g = submit(e, ask(4, 2, 2));
    step(e, g);
    ops->waits(e, g, &w);
    CHECK(w.what == WAIT_SLOT && w.after == a);
    ops->waits(e, 12345, &w);
    CHECK_EQ(w.what, WAIT_NOTHING);
    ops->close(e);
}

TEST(admission_refuses_who_would_not_wait_with_the_figures)
{
    struct err err = {0};
    int id;
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 10 * P, .pool_tokens = 10 * P, .max_seqs = 2});
    struct request r = ask(0, P, 5 * P);
    r.no_wait = true;
    int a = submit(e, r);
    CHECK_EQ(figures(e).running, 1); /* in already, not only at the next step */
    CHECK_STR(step(e, a), "apv");
    struct engine_snapshot before = figures(e), after;
    r = ask(1, P, 4 * P);
    r.no_wait = true;
    CHECK_EQ(ops->submit(e, &r, &id, &err), ENGINE_NOT_NOW);
    CHECK(strstr(err.text, "needs 5 KV pages, 4 are free; request 1 must end first"));
    after = figures(e);
    CHECK_MEM(&before, &after, sizeof before);
    sound(e);
    int b = submit(e, ask(2, P, P));
    step(e, b);
    CHECK_EQ(ops->submit(e, &r, &id, &err), ENGINE_NOT_NOW);
    CHECK(strstr(err.text, "2 sequences run"));
    ops->cancel(e, a);
    ops->cancel(e, b);
    submit(e, r);
    ops->close(e);
}

TEST(admission_a_place_in_the_queue_is_not_taken_by_who_would_not_wait)
{
    struct err err = {0};
    int id;
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 4 * P, .max_seqs = 1});
    int a = submit(e, ask(0, P, P)), b = submit(e, ask(1, P, P));
    step(e, a);
    ops->cancel(e, a);
    struct request r = ask(2, P, P);
    r.no_wait = true;
    CHECK_EQ(ops->submit(e, &r, &id, &err), ENGINE_NOT_NOW); /* b is next, though the slot is free this moment */
    char want[64];
    snprintf(want, sizeof want, "request %d goes first", b);
    CHECK(strstr(err.text, want));
    ops->close(e);
}

TEST(admission_answers_have_room_until_they_are_dropped)
{
    struct err err = {0};
    int id, n = 0, ids[64];
    struct engine *e = open_with("{\"answer\": \"a\"}\n", (struct engine_config){.ctx = 8 * P, .text_bytes = 20000});
    struct request r = ask(0, P, 7 * P), huge = r;
    huge.top_n = 20;
    CHECK_EQ(ops->submit(e, &huge, &id, &err), ENGINE_NEVER_FITS);
    CHECK(strstr(err.text, "fewer likeliest tokens"));
    while (ops->submit(e, &r, &ids[n], &err) == 0) n++;
    CHECK(n >= 2 && n < 10);
    CHECK_EQ(err.code, ENGINE_NO_MEMORY);
    CHECK(strstr(err.text, "drop some that have ended"));
    run_all(e);
    struct engine_snapshot s = figures(e);
    CHECK(s.text_requests == (uint64_t)n && s.text_used > 0 && s.text_used <= s.text_bytes);
    CHECK_EQ(ops->submit(e, &r, &id, &err), ENGINE_NO_MEMORY); /* ended, but kept for their readers */
    ops->drop(e, ids[0]);
    CHECK_EQ(ops->submit(e, &r, &id, &err), 0);
    run_all(e);
    ops->drop(e, id);
    for (int i = 1; i < n; i++) ops->drop(e, ids[i]);
    CHECK_EQ(figures(e).text_used, 0);
    ops->close(e);
}

/* ------------------------------------------------------------------ over-commit */

/* Four that may need six pages each on a pool of ten: three run at once, some are parked, all end, each with its
 * text. */
TEST(overcommit_parks_the_last_in_rank_and_everyone_ends)
{
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 6 * P, .pool_tokens = 10 * P, .max_seqs = 4,
                                                                 .overcommit = true});
    int id[4], most = 0, n;
    bool parked[4] = {false};
    struct engine_event ev[64];
    for (int i = 0; i < 4; i++) id[i] = submit(e, ask(i, P / 2, 5 * P));
    while ((n = ops->step(e, ev, 64, NULL)) > 0) {
        sound(e);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 4; k++) parked[k] |= ev[i].kind == ENGINE_PARKED && ev[i].id == id[k];
        most = MAX(most, (int)figures(e).running);
    }
    CHECK(most == 3 && !parked[0] && parked[2]); /* by the worst case one would have run at a time */
    struct engine_snapshot s = figures(e);
    CHECK(s.parkings > 0 && s.parkings == s.resumes && s.recomputed > 0 && s.parked == 0 && s.reserved_tokens == 0);
    CHECK_EQ(s.prefilled, 4 * P / 2);
    for (int i = 0; i < 4; i++) {
        const struct answer *a = ops->answer(e, id[i]);
        CHECK_EQ(atomic_load(&a->end), END_LENGTH);
        for (int k = 0; k < 5 * P; k++) CHECK_EQ(a->text[k], 'a' + k % 26);
    }
    ops->close(e);
}

/* Parked half way through its prompt, and all its pages taken by the first: when it goes on alone, several passes
 * compute what it had before.  None of them may look like the end of all work. */
TEST(overcommit_who_computes_again_for_long_is_not_forgotten)
{
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 13 * P, .pool_tokens = 13 * P, .max_seqs = 2,
                                                                 .max_rows = 3, .overcommit = true});
    int a = submit(e, ask(0, P, 12 * P));
    while (atomic_load(&ops->answer(e, a)->n_tokens) < 60) step(e, a);
    int b = submit(e, ask(1, 5 * P, P));
    run_all(e);
    CHECK(figures(e).parkings == 1 && figures(e).recomputed > P);
    CHECK_EQ(atomic_load(&ops->answer(e, a)->end), END_LENGTH);
    CHECK_EQ(atomic_load(&ops->answer(e, b)->end), END_LENGTH);
    ops->close(e);
}

/* One that is alone may have all; with another running, a sixteenth of the pool stays free for what they still need. */
TEST(overcommit_leaves_a_watermark_for_those_who_run)
{
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 32 * P, .pool_tokens = 32 * P, .max_seqs = 3,
                                                                 .overcommit = true});
    int a = submit(e, ask(0, 14 * P, 4)); /* promised: its prompt and a page */
    int b = submit(e, ask(1, 15 * P, 4)); /* 16 pages: 31 of 32 */
    step(e, a);
    CHECK(runs(e, a) && !runs(e, b));
    int c = submit(e, ask(2, 14 * P, 4)); /* 30 of 32: two are left */
    step(e, c);
    CHECK(runs(e, c));
    ops->close(e);
}

TEST(overcommit_one_long_answer_does_not_change_what_is_expected)
{
    char script[4096] = "";
    for (int i = 0; i < 40; i++) strcat(script, "{\"answer\": \"ab\"}\n");
    strcat(script, "{\"answer\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}\n");
    struct engine *e = open_with(script, (struct engine_config){.ctx = 10 * P, .pool_tokens = 26 * P, .max_seqs = 8,
                                                                .overcommit = true});
    for (int i = 0; i < 41; i++) {
        ops->drop(e, submit(e, ask(i, P, 9 * P)));
        submit(e, ask(i, P, 9 * P));
        run_all(e);
    }
    for (int i = 41; i < 49; i++) submit(e, ask(i, P, 9 * P));
    step(e, 1);
    CHECK_EQ(figures(e).running, 8);
    ops->close(e);
}

/* What is said is what is looked for: a promise of what may be expected, and the page that the running ones keep. */
TEST(overcommit_says_of_a_waiting_request_what_it_is_let_in_for)
{
    struct engine_wait w;
    struct err err = {0};
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 9 * P, .pool_tokens = 9 * P, .max_seqs = 4,
                                                                 .overcommit = true});
    int a = submit(e, ask(0, P, 8 * P)); /* expected: a quarter of the answer, and a page more: four pages */
    step(e, a);
    int b = submit(e, ask(1, 3 * P, 8 * P - 3 * P)); /* 3 + 5 / 4 + 1 = 6, where 5 are free */
    int c = submit(e, ask(2, 4 * P, P)); /* all five that it can need, and one would have to be left */
    step(e, b);
    ops->waits(e, b, &w);
    CHECK_EQ(w.what, WAIT_PAGES);
    CHECK_EQ(w.pages, 6 + 1);
    CHECK_EQ(w.free, 5);
    CHECK(w.after == a && w.others == 0);
    ops->waits(e, c, &w);
    CHECK_EQ(w.what, WAIT_PAGES);
    CHECK_EQ(w.pages, 5 + 1);
    CHECK(w.free == 5 && w.after == a);
    struct request r = ask(3, 4 * P, P);
    int id;
    r.no_wait = true;
    ops->drop(e, b);
    ops->drop(e, c);
    CHECK_EQ(ops->submit(e, &r, &id, &err), ENGINE_NOT_NOW);
    char want[80];
    snprintf(want, sizeof want, "it needs 6 KV pages, 5 are free; request %d must end first", a);
    CHECK(strstr(err.text, want));
    int d = submit(e, ask(4, 3 * P, P)); /* one less */
    step(e, d);
    CHECK(runs(e, d));
    ops->close(e);
}

TEST(overcommit_cancels_a_parked_request)
{
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 6 * P, .pool_tokens = 9 * P, .max_seqs = 2,
                                                                 .overcommit = true});
    int a = submit(e, ask(0, P, 5 * P)), b = submit(e, ask(1, P, 5 * P));
    for (int i = 0; i < 6 * P && figures(e).parked == 0; i++) step(e, a);
    CHECK_EQ(figures(e).parked, 1);
    struct engine_wait w;
    ops->waits(e, b, &w);
    CHECK(w.what == WAIT_PAGES && w.after == a);
    int c = submit(e, ask(2, 1, 1)); /* room for it there is, but the parked one goes first */
    step(e, c);
    ops->waits(e, c, &w);
    CHECK(w.what == WAIT_TURN && w.after == b);
    CHECK_EQ(ops->cancel(e, b), 0);
    sound(e);
    CHECK_EQ(figures(e).parked, 0);
    CHECK_STR(step(e, c), "apve");
    ops->close(e);
}

TEST(overcommit_expects_what_answers_took_lately)
{
    struct engine *e = open_with("{\"answer\": \"ab\"}\n", (struct engine_config){.ctx = 10 * P, .pool_tokens = 26 * P,
                                                                              .max_seqs = 8, .overcommit = true});
    for (int i = 0; i < 40; i++) {
        submit(e, ask(i, P, 9 * P));
        if (i % 8 == 7) run_all(e);
    }
    for (int i = 40; i < 48; i++) submit(e, ask(i, P, 9 * P));
    step(e, 1);
    CHECK_EQ(figures(e).running, 8); /* of ten pages each at worst */
    CHECK_EQ(figures(e).parkings, 0);
    ops->close(e);
}

/* ------------------------------------------------------------------ whose tokens */

TEST(figures_tell_agents_and_segments_apart)
{
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 8 * P, .max_seqs = 4});
    uint8_t segment[4 * P];
    for (int i = 0; i < 4 * P; i++)
        segment[i] = i < 2 * P ? SEGMENT_SYSTEM : i < 3 * P ? SEGMENT_TOOL : SEGMENT_HISTORY;
    struct request r = ask(0, 3 * P + 4, 3 * P);
    r.segment = segment;
    r.agent = 5;
    int a = submit(e, r);
    for (int i = 0; i < 4; i++) step(e, a);
    struct engine_snapshot s = figures(e);
    const struct engine_agent *five = &s.agent[5];
    CHECK(five->running == 1 && five->tokens[SEGMENT_SYSTEM] == 2 * P && five->tokens[SEGMENT_TOOL] == P);
    CHECK(five->tokens[SEGMENT_HISTORY] == 4 && five->tokens[SEGMENT_ANSWER] == 3);
    CHECK_EQ(five->tokens[SEGMENT_SUMMARY], 0);
    CHECK_EQ(five->shared_tokens, 0);
    r = ask(0, 2 * P + 1, 3 * P);
    r.agent = 6;
    int b = submit(e, r);
    step(e, b);
    s = figures(e);
    CHECK(s.shared_segment[SEGMENT_SYSTEM] == 2 * P && s.agent[5].tokens[SEGMENT_SYSTEM] == 0);
    CHECK(s.agent[5].shared_tokens == 2 * P && s.agent[6].shared_tokens == 2 * P);
    struct engine_cell map[4 * 8];
    ops->page_map(e, map, 4 * 8); /* a cell a page */
    CHECK(map[0].state == CELL_SHARED && map[1].state == CELL_SHARED && map[2].state == CELL_HELD);
    CHECK(map[2].agent == 5 && map[2].segment == SEGMENT_TOOL && !map[2].mixed && map[31].state == CELL_FREE);
    ops->cancel(e, a);
    ops->page_map(e, map, 1); /* the pool in one cell: most of it is free */
    CHECK(map[0].state == CELL_FREE && map[0].mixed);
    ops->page_map(e, map, 4 * 8);
    CHECK(map[2].state == CELL_CACHED && map[2].agent == 5 && map[2].segment == SEGMENT_TOOL);
    CHECK(map[0].state == CELL_HELD && map[0].agent == 6);
    r = ask(1, 2, 2);
    r.segment = (const uint8_t[]){0, SEGMENTS};
    CHECK_EQ(ops->submit(e, &r, &b, NULL), ENGINE_BAD_REQUEST);
    r = ask(1, 2, 2);
    r.agent = ENGINE_AGENTS;
    CHECK_EQ(ops->submit(e, &r, &b, NULL), ENGINE_BAD_REQUEST);
    ops->close(e);
}

TEST(figures_a_cell_of_two_agents_is_mixed_and_the_majoritys)
{
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 4 * P, .max_seqs = 2, .pool_tokens = 4 * P});
    struct engine_cell map[2];
    struct request r = ask(0, 2 * P + 1, 9);
    r.agent = 3;
    step(e, submit(e, r));
    r = ask(1, P - 9, 9);
    r.agent = 4;
    step(e, submit(e, r));
    ops->page_map(e, map, 1);
    CHECK(map[0].state == CELL_HELD && map[0].agent == 3 && map[0].mixed);
    ops->page_map(e, map, 2);
    CHECK(map[0].agent == 3 && !map[0].mixed && map[1].mixed);
    ops->close(e);
}

TEST(figures_a_page_map_of_more_cells_than_pages_repeats_them)
{
    struct engine *e = open_with(ENDLESS, (struct engine_config){.ctx = 2 * P, .pool_tokens = 2 * P, .max_seqs = 1});
    struct engine_cell map[7];
    submit(e, ask(0, 4, 2 * P - 4));
    step(e, 1);
    ops->page_map(e, map, 7);
    for (int i = 0; i < 3; i++) CHECK_EQ(map[i].state, CELL_HELD);
    for (int i = 4; i < 7; i++) CHECK_EQ(map[i].state, CELL_FREE);
    ops->close(e);
}

struct watcher {
    struct engine *e;
    atomic_bool stop;
    atomic_int seen;
};

static void *watch(void *arg)
{
    struct watcher *w = arg;
    while (!atomic_load(&w->stop)) {
        struct engine_snapshot s = figures(w->e);
        uint64_t sum = 0;
        for (int k = 0; k < SEGMENTS; k++) sum += s.shared_segment[k];
        for (int a = 0; a < ENGINE_AGENTS; a++)
            for (int k = 0; k < SEGMENTS; k++) sum += s.agent[a].tokens[k];
        CHECK(sum == s.filled_tokens && s.filled_tokens <= s.reserved_tokens && s.reserved_tokens <= s.usable_tokens);
        atomic_fetch_add(&w->seen, 1);
    }
    return NULL;
}

TEST(figures_are_of_one_moment_in_any_thread)
{
    pthread_t thread;
    struct engine *e = open_with("{\"answer\": \"abcdefghijkl\"}\n",
                                 (struct engine_config){.ctx = 8 * P, .max_seqs = 3});
    struct watcher w = {.e = e};
    CHECK_EQ(pthread_create(&thread, NULL, watch, &w), 0);
    for (int round = 0; round < 200 || atomic_load(&w.seen) < 200; round++) {
        int id[5];
        for (int i = 0; i < 5; i++) {
            struct request r = ask(i % 3, 1 + round % (3 * P), P);
            r.agent = i;
            id[i] = submit(e, r);
        }
        run_all(e);
        for (int i = 0; i < 5; i++) ops->drop(e, id[i]);
    }
    atomic_store(&w.stop, true);
    pthread_join(thread, NULL);
    ops->close(e);
}

CHECK_MAIN
