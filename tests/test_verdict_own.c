/* What a judge says of streams that are made here, figure by figure: each class from the failure that stands for it,
 * growth as a line through the prompts, fixes with the bytes that they free, and nothing untoward from any figures. */
#include "app/learn/verdict_own.h"
#include "tests/check.h"

enum { TOKEN = 6144, PAGE = 16 * TOKEN };

static struct judge *j;
static struct verdict v;

static void start(int64_t pool_tokens)
{
    judge_close(j);
    CHECK((j = judge_open()) != NULL);
    const struct event memory = {.kind = EV_MEMORY, .memory = {
        .pool_tokens = pool_tokens, .weight_bytes = 6 << 20, .kv_bytes = pool_tokens * TOKEN, .work_bytes = 4 << 20,
        .ceiling_bytes = 64 << 20}};
    const struct event machine = {.kind = EV_MACHINE, .machine = {.page_tokens = 16, .token_bytes = TOKEN}};
    judge_feed(j, &memory);
    judge_feed(j, &machine);
}

static void call(const char *agent, int64_t turn, int64_t round, int64_t prompt, int64_t most)
{
    const struct event e = {.kind = EV_TURN_START, .agent = event_str(agent), .turn_start = {
        .turn = turn, .call = round, .prompt_tokens = prompt, .max_tokens = most}};
    judge_feed(j, &e);
}

static void end(const char *agent, int64_t turn, const char *reason)
{
    const struct event e = {.kind = EV_TURN_END, .agent = event_str(agent), .turn_end = {
        .turn = turn, .call = 1, .termination_reason = event_str(reason)}};
    judge_feed(j, &e);
}

static void last_seen(double time, int64_t pool, int64_t filled, int64_t running)
{
    const struct event e = {.kind = EV_MEMORY, .time = time, .memory = {.pool_tokens = pool, .filled_tokens = filled,
                                                          .reserved_tokens = filled, .running = running}};
    judge_feed(j, &e);
}

static void carries(const char *agent, int64_t tool, int64_t frees)
{
    const struct event e = {.kind = EV_CARRIES, .agent = event_str(agent), .carries = {
        .ctx = 4096, .reserve_tokens = 300, .tool_tokens = tool, .frees_tokens = frees}};
    judge_feed(j, &e);
}

static void oom(const char *agent, const char *policy, const char *what, struct event_oom o)
{
    struct event e = {.kind = EV_OOM, .agent = event_str(agent), .oom = o};
    e.oom.policy = event_str(policy);
    e.oom.what = event_str(what);
    const int before = judge_failures(j);
    judge_feed(j, &e);
    CHECK_EQ(judge_failures(j), before + 1);
    CHECK(judge_verdict(j, JUDGE_LAST, &v));
    CHECK_EQ(v.sure, SURE_CERTAIN);
    CHECK_EQ(v.stack, STACK_PLIMSOLL);
}

static void refuse(const char *reason, const char *as, struct event_shortage s)
{
    struct event e = {.kind = EV_SHORTAGE, .shortage = s};
    e.shortage.reason = event_str(reason);
    if (*reason) judge_feed(j, &e);
    e = (struct event){.kind = EV_REFUSAL, .refusal = {.turn = 4, .termination_reason = event_str(as),
                                                       .text = event_str("the words")}};
    if (*as) judge_feed(j, &e);
    CHECK(judge_verdict(j, JUDGE_LAST, &v));
}

static const char *find(const char line[][VERDICT_TEXT], int n, const char *part)
{
    for (int i = 0; i < n; i++)
        if (strstr(line[i], part)) return line[i];
    return NULL;
}
#define SAYS(part) CHECK(find(v.evidence, v.evidences, part))
#define SAYS_NOT(part) CHECK(find(v.not_it, v.nots, part))

static const struct verdict_fix *fix_with(enum verdict_apply apply)
{
    for (int i = 0; i < v.fixes; i++)
        if (v.fix[i].apply == apply) return &v.fix[i];
    return NULL;
}

static void check_frees(enum verdict_apply apply, int64_t tokens)
{
    const struct verdict_fix *f = fix_with(apply);
    CHECK(f);
    CHECK_EQ(f->frees, tokens * TOKEN);
}

/* ------------------------------------------------------------------ growth */

TEST(growth_is_the_line_from_the_last_shrink_on)
{
    struct judge_growth g;
    start(4096);
    CHECK(!judge_growth(j, "", &g));
    static const int64_t prompt[] = {500, 900, 200, 390, 580, 770};
    for (int i = 0; i < 6; i++) call("", 10 + i, 1, prompt[i], 40), end("", 10 + i, "completed");
    CHECK(judge_growth(j, "", &g));
    CHECK_EQ(g.first, 12);
    CHECK_EQ(g.last, 15);
    CHECK_EQ(g.from, 200);
    CHECK_EQ(g.to, 770);
    CHECK_EQ(g.points, 4);
    CHECK(!g.calls);
    CHECK_NEAR(g.slope, 190, 1e-9);
    CHECK_NEAR(g.r2, 1, 1e-9);
    CHECK(!judge_growth(j, "nobody", &g));
}

TEST(of_a_turn_of_several_calls_the_last_counts_and_within_one_turn_its_calls)
{
    struct judge_growth g;
    start(4096);
    for (int turn = 1; turn <= 3; turn++)
        for (int round = 1; round <= 2; round++) call("a", turn, round, turn * 100 + round * 10, 40);
    CHECK(judge_growth(j, "a", &g));
    CHECK_EQ(g.from, 120);
    CHECK_EQ(g.to, 320);
    CHECK_NEAR(g.slope, 100, 1e-9);
    for (int round = 1; round <= 4; round++) call("b", 7, round, 1000 + 250 * round, 40);
    CHECK(judge_growth(j, "b", &g));
    CHECK(g.calls);
    CHECK_EQ(g.first, 1);
    CHECK_EQ(g.last, 4);
    CHECK_NEAR(g.slope, 250, 1e-9);
}

TEST(two_points_or_prompts_that_stay_are_no_growth)
{
    struct judge_growth g;
    start(4096);
    call("", 1, 1, 100, 40);
    call("", 2, 1, 200, 40);
    CHECK(!judge_growth(j, "", &g));
    for (int i = 0; i < 9; i++) call("same", i, 1, 300, 40);
    CHECK(!judge_growth(j, "same", &g));
    for (int i = 9; i < 13; i++) call("same", i, 1, 300 + 10 * (i - 9), 40);
    CHECK(judge_growth(j, "same", &g));
    CHECK_EQ(g.first, 9); /* from the last of those that were the same */
    for (int i = 0; i < 200; i++) call("long", i, 1, i * 7, 40); /* more than are kept */
    CHECK(judge_growth(j, "long", &g));
    CHECK_EQ(g.points, JUDGE_POINTS);
    CHECK_EQ(g.first, 200 - JUDGE_POINTS);
    CHECK_NEAR(g.slope, 7, 1e-9);
}

/* ------------------------------------------------------------------ the pool */

static void grown(int64_t tool, int64_t frees)
{
    start(1024);
    for (int turn = 1; turn <= 5; turn++) {
        call("researcher", turn, 1, 190 * turn, 100);
        carries("researcher", tool, frees);
        if (turn < 5) end("researcher", turn, "completed");
    }
}

TEST(a_history_that_grew_alone_is_growth_with_its_slope_and_its_fixes)
{
    grown(300, 0);
    oom("researcher", "no-limit", "KV pool", (struct event_oom){.turn = 5, .page = 64, .wanted_bytes = PAGE,
                                                                 .size_bytes = 64 * PAGE, .owners = 1});
    CHECK_EQ(v.cause, CAUSE_GROWTH);
    CHECK_STR(v.where, "turn 5 of researcher, policy no-limit");
    SAYS("grow by 190.0 tokens a turn since turn 1 (r2 1.00 over 5)");
    SAYS("turn 1 sent 190 tokens, turn 5 sent 950");
    SAYS_NOT("concurrency: no other request");
    SAYS_NOT("fragmentation: 0 B are free in all, and 96 KiB are wanted");
    SAYS_NOT("weights 6 MiB and workspace 4 MiB of a ceiling of 64 MiB");
    CHECK_STR(v.fix[0].what, "window and summary: 760 tokens leave the prompt");
    CHECK_EQ(v.fix[0].frees, (950 - 190) * TOKEN);
    CHECK(!fix_with(APPLY_COMPACT)); /* nobody said that it would free anything now */
    check_frees(APPLY_DROP_RESULT, 300);
    check_frees(APPLY_UNDO, 190);
    check_frees(APPLY_MAX_TOKENS, 50);
    CHECK_EQ(fix_with(APPLY_MAX_TOKENS)->value, 50);
    CHECK_EQ(v.fix[v.fixes - 1].apply, APPLY_SOUND_POLICY);
    CHECK_EQ(verdict_has(&v, "a turn")->value, 190);
    CHECK_EQ(verdict_has(&v, "held by it")->value, 64 * PAGE);
}

TEST(what_a_compaction_would_free_is_taken_from_who_knows_it)
{
    grown(0, 812);
    const struct event_oom o = {.turn = 5, .page = 64, .wanted_bytes = PAGE, .size_bytes = 64 * PAGE, .owners = 1};
    oom("researcher", "no-limit", "KV pool", o);
    CHECK_EQ(v.fix[0].frees, 812 * TOKEN);
    CHECK(!fix_with(APPLY_COMPACT)); /* 950 tokens and the 300 of a summary are more than the pool has */
    CHECK(!fix_with(APPLY_DROP_RESULT));
    last_seen(1, 2048, 1024, 1);
    oom("researcher", "no-limit", "KV pool", o);
    check_frees(APPLY_COMPACT, 812);
}

TEST(a_long_prompt_alone_is_kv_and_not_growth)
{
    start(1024);
    call("", 1, 1, 1500, 100);
    oom("", "no-limit", "KV pool", (struct event_oom){.turn = 1, .page = 60, .wanted_bytes = 34 * PAGE,
                                                      .size_bytes = 64 * PAGE, .free_bytes = 4 * PAGE,
                                                      .hole_bytes = 4 * PAGE, .owners = 1});
    CHECK_EQ(v.cause, CAUSE_KV);
    SAYS("prompt 1500 + up to 100 tokens of answer need 9.38 MiB by themselves; the pool has 6 MiB");
    SAYS_NOT("growth with turns: it is the first call");
    CHECK(!fix_with(APPLY_COMPACT));
    CHECK(!fix_with(APPLY_MAX_TOKENS)); /* the prompt alone is more than the pool has */
}

TEST(a_shorter_answer_is_a_fix_only_where_the_pool_then_holds_it)
{
    static const struct { int64_t prompt, to; } each[] = {{400, 100}, {924, 100}, {934, 90}, {1008, 16}, {1009, 0}};
    for (size_t i = 0; i < COUNT_OF(each); i++) {
        start(1024);
        call("", 1, 1, each[i].prompt, 200);
        oom("", "no-limit", "KV pool", (struct event_oom){.turn = 1, .page = 64, .wanted_bytes = PAGE,
                                                          .size_bytes = 64 * PAGE, .owners = 1});
        const struct verdict_fix *f = fix_with(APPLY_MAX_TOKENS);
        CHECK_EQ(f ? f->value : 0, each[i].to);
        if (f) CHECK_EQ(f->frees, (200 - each[i].to) * TOKEN);
    }
}

TEST(two_prompts_of_which_the_second_is_longer_are_not_said_not_to_grow)
{
    start(1024);
    call("", 1, 1, 100, 100);
    end("", 1, "completed");
    call("", 2, 1, 900, 100);
    oom("", "no-limit", "KV pool", (struct event_oom){.turn = 2, .page = 64, .wanted_bytes = PAGE,
                                                      .size_bytes = 64 * PAGE, .owners = 1});
    for (int i = 0; i < v.nots; i++) CHECK(!strstr(v.not_it[i], "growth"));
    call("", 3, 1, 850, 200);
    oom("", "no-limit", "KV pool", (struct event_oom){.turn = 3, .page = 64, .wanted_bytes = PAGE,
                                                      .size_bytes = 64 * PAGE, .owners = 1});
    SAYS_NOT("growth with turns: the prompts of the last calls do not grow");
}

static void crowd(int n, int64_t turn, bool well)
{
    char name[16];
    for (int i = 0; i < n; i++) snprintf(name, sizeof name, "a%d", i), call(name, turn, 1, 100 + 60 * turn, 156);
    for (int i = 0; i < n && well; i++) snprintf(name, sizeof name, "a%d", i), end(name, turn, "completed");
}

static const struct event_oom crowded = {.turn = 1, .page = 10, .wanted_bytes = PAGE, .size_bytes = 64 * PAGE,
                                         .owners = 8};

TEST(many_at_once_are_concurrency_with_how_many_fit)
{
    start(1024);
    crowd(8, 1, false);
    oom("a3", "no-limit", "KV pool", crowded);
    CHECK_EQ(v.cause, CAUSE_CONCURRENCY);
    SAYS("it holds 960 KiB, others hold 5.06 MiB; 8 run at once");
    SAYS("alone it needs 1.88 MiB at most, and the pool has 6 MiB: 3 such fit"); /* 316 tokens: 20 pages */
    CHECK_STR(v.fix[0].what, "3 at once instead of 8; the others wait");
    CHECK_EQ(v.fix[0].frees, 5 * 20 * PAGE);
    CHECK(v.fix[0].demand); /* more than the pool has: it frees nothing that is there */
    struct buf text = {0};
    verdict_text(&v, 200, &text);
    CHECK(text.data && strstr(text.data, "the others wait (asks for 9.38 MiB less)"));
    buf_free(&text);
    check_frees(APPLY_SOUND_POLICY, 160);
    check_frees(APPLY_MAX_TOKENS, 78 * 8);
}

TEST(as_many_as_fitted_before_and_longer_prompts_are_growth_and_the_first_time_is_not)
{
    start(1024);
    for (int turn = 1; turn <= 3; turn++) crowd(4, turn, true);
    crowd(4, 4, false);
    oom("a3", "no-limit", "KV pool", crowded);
    CHECK_EQ(v.cause, CAUSE_GROWTH);
    SAYS_NOT("concurrency: 4 at once fitted before (others hold 5.06 MiB now)");
    start(1024);
    for (int turn = 1; turn <= 3; turn++) crowd(3, turn, true);
    crowd(4, 4, false);
    oom("a2", "no-limit", "KV pool", crowded);
    CHECK_EQ(v.cause, CAUSE_CONCURRENCY);
    SAYS_NOT("growth with turns: it grows by 60.0 tokens a turn, but so many never ran at once before");
}

TEST(whole_contexts_reserved_are_a_static_batch)
{
    start(1024);
    call("a", 1, 1, 60, 40);
    oom("a", "reserve", "KV pool", (struct event_oom){.turn = 1, .wanted_bytes = 32 * PAGE, .size_bytes = 64 * PAGE,
                                                      .free_bytes = 20 * PAGE, .hole_bytes = 20 * PAGE, .owners = 1});
    CHECK_EQ(v.cause, CAUSE_STATIC_BATCH);
    SAYS("each request reserves 3 MiB, a whole context; this one needs 672 KiB at most (100 tokens)");
    SAYS("2 such runs fit the pool; by what it needs it would be 9");
    SAYS_NOT("what it needs would fit into what is free");
    check_frees(APPLY_SOUND_POLICY, 25 * 16);
}

TEST(enough_in_pieces_is_fragmentation_and_too_little_is_not)
{
    start(1024);
    call("a", 1, 1, 60, 40);
    oom("a", "first-fit", "KV pool", (struct event_oom){.turn = 1, .wanted_bytes = 7 * PAGE, .size_bytes = 64 * PAGE,
                                                        .free_bytes = 24 * PAGE, .hole_bytes = 6 * PAGE,
                                                        .owners = 5});
    CHECK_EQ(v.cause, CAUSE_FRAGMENTATION);
    SAYS("1 - largest/free = 0.75");
    SAYS_NOT("too little memory: 1.59 MiB are free beside what is wanted");
    check_frees(APPLY_SOUND_POLICY, 24 * 16);
    oom("a", "first-fit", "KV pool", (struct event_oom){.turn = 1, .wanted_bytes = 7 * PAGE, .size_bytes = 64 * PAGE,
                                                        .free_bytes = 6 * PAGE, .hole_bytes = 6 * PAGE, .owners = 5});
    CHECK_EQ(v.cause, CAUSE_CONCURRENCY);
    SAYS_NOT("fragmentation: 576 KiB are free in all, and 672 KiB are wanted");
}

TEST(weights_and_activations_are_told_by_what_was_wanted)
{
    start(1024);
    call("", 1, 1, 60, 40);
    const struct event_oom o = {.turn = 1, .wanted_bytes = 22 << 20, .size_bytes = 32 << 20, .free_bytes = 1 << 20};
    oom("", "f32", "weights", o);
    CHECK_EQ(v.cause, CAUSE_WEIGHTS);
    SAYS("as floats the weights take 22 MiB; as the file has them 6 MiB");
    CHECK_EQ(v.fix[0].frees, 16 << 20);
    oom("", "reload", "weights", o);
    CHECK_EQ(v.cause, CAUSE_WEIGHTS);
    SAYS("are there already (6 MiB); each request loads 22 MiB more");
    CHECK_EQ(v.fix[0].frees, 22 << 20);
    oom("", "whole-batch", "activations", o);
    CHECK_EQ(v.cause, CAUSE_ACTIVATIONS);
    SAYS("a prompt of 60 tokens, what is not known of it in one pass: a workspace of 22 MiB");
    CHECK_EQ(v.fix[0].frees, 22 << 20);
    CHECK(judge_verdict(j, JUDGE_FIRST, &v));
    SAYS("as floats"); /* the first one stays */
}

/* ------------------------------------------------------------------ refusals */

TEST(a_refusal_is_judged_by_its_shortage)
{
    start(1024);
    call("", 3, 1, 900, 100);
    carries("", 200, 500);
    refuse("context", "refused_kv", (struct event_shortage){.needs_tokens = 1100, .has_tokens = 1024,
                                                            .prompt_tokens = 950, .answer_tokens = 150});
    CHECK_EQ(v.cause, CAUSE_CONTEXT);
    CHECK_STR(v.where, "turn 4");
    SAYS("prompt 950 + answer 150 = 1100: 76 more than there is room for (456 KiB)");
    check_frees(APPLY_MAX_TOKENS, 76);
    CHECK_EQ(fix_with(APPLY_MAX_TOKENS)->value, 74);
    CHECK_EQ(v.fix[0].frees, 500 * TOKEN);
    check_frees(APPLY_DROP_RESULT, 200);
    refuse("pool", "refused_kv", (struct event_shortage){.needs_tokens = 1100, .has_tokens = 1024,
                                                         .prompt_tokens = 1020, .answer_tokens = 80});
    CHECK_EQ(v.cause, CAUSE_KV);
    CHECK(!fix_with(APPLY_MAX_TOKENS)); /* 4 tokens are no answer */
    refuse("turn", "refused_kv", (struct event_shortage){.needs_tokens = 900, .has_tokens = 700,
                                                         .answer_tokens = 150});
    CHECK_EQ(v.cause, CAUSE_CONTEXT);
    SAYS("200 tokens too many");
    CHECK_EQ(v.fix[0].frees, -1); /* of what was never taken nothing comes free */
    CHECK(strstr(v.fix[0].what, "in parts of at most 700 tokens"));
    carries("", 200, 5000);
    refuse("context", "refused_kv", (struct event_shortage){.needs_tokens = 6000, .has_tokens = 1024,
                                                            .prompt_tokens = 5900, .answer_tokens = 100});
    CHECK_EQ(v.fix[0].frees, 1024 * TOKEN); /* the pool has no more */
    refuse("requests", "refused_host", (struct event_shortage){.has_bytes = 2048});
    CHECK_EQ(v.cause, CAUSE_HOST);
    CHECK(strstr(v.what, "2 KiB are left"));
    refuse("host", "refused_host", (struct event_shortage){.needs_bytes = 5000, .has_bytes = 2048});
    CHECK_EQ(v.cause, CAUSE_HOST);
    refuse("queue", "refused_kv", (struct event_shortage){0});
    CHECK_EQ(v.cause, CAUSE_CONCURRENCY);
}

TEST(a_shortage_speaks_for_one_refusal_only)
{
    start(1024);
    refuse("pool", "refused_kv", (struct event_shortage){.needs_tokens = 9, .has_tokens = 4});
    CHECK_EQ(v.cause, CAUSE_KV);
    refuse("", "input_error", (struct event_shortage){0});
    CHECK_EQ(v.cause, CAUSE_NOT_MEMORY);
    CHECK_STR(v.what, "the words");
    refuse("", "refused_store", (struct event_shortage){0});
    CHECK_EQ(v.cause, CAUSE_NOT_MEMORY);
    refuse("", "refused_host", (struct event_shortage){0});
    CHECK_EQ(v.cause, CAUSE_HOST);
    CHECK_EQ(judge_failures(j), 4);
    CHECK(judge_failing(j));
    call("", 5, 1, 100, 40);
    CHECK(judge_failing(j));
    end("", 5, "completed");
    CHECK(!judge_failing(j));
}

TEST(a_window_that_refused_is_judged_by_its_event)
{
    const struct event e = {.kind = EV_CONTEXT, .context = {.change = event_str("refused"), .tokens = 5000}};
    start(4096);
    carries("", 0, 0);
    judge_feed(j, &e);
    refuse("", "refused_kv", (struct event_shortage){0});
    CHECK_EQ(v.cause, CAUSE_CONTEXT);
    SAYS("context 4096 - 300 set aside for what is written = 3796");
    CHECK_EQ(verdict_has(&v, "needs")->value, 5000);
}

TEST(at_start_the_first_class_that_does_not_fit_is_named)
{
    start(0);
    struct event_shortage s = {.needs_bytes = 40, .has_bytes = 30, .weight_bytes = 31, .kv_bytes = 5, .work_bytes = 4};
    refuse("open", "", s);
    CHECK_EQ(v.cause, CAUSE_WEIGHTS);
    CHECK_EQ(v.fix[0].frees, 10);
    s.weight_bytes = 20, s.work_bytes = 14;
    refuse("open", "", s);
    CHECK_EQ(v.cause, CAUSE_ACTIVATIONS);
    CHECK_EQ(v.fixes, 1); /* no context is small enough */
    CHECK_EQ(v.fix[0].frees, 10);
    s.kv_bytes = 15, s.work_bytes = 5;
    refuse("open", "", s);
    CHECK_EQ(v.cause, CAUSE_KV);
    SAYS("the pool is to have 15 B");
    CHECK_STR(v.fix[0].how, "--fit, or a smaller --ctx");
    CHECK_STR(v.where, "");
}

/* ------------------------------------------------------------------ a stream that breaks off */

TEST(a_death_points_to_memory_only_where_the_pool_was_full)
{
    start(1000);
    for (int turn = 1; turn <= 4; turn++) call("", turn, 1, 200 * turn, 40);
    last_seen(10, 1000, 960, 1);
    last_seen(12, 1000, 100, 0); /* it had just ended */
    judge_death(j, &v);
    CHECK_EQ(v.cause, CAUSE_GROWTH);
    CHECK_EQ(v.sure, SURE_GUESS);
    CHECK(strstr(v.what, "96 % of the pool of 1000 tokens was filled"));
    SAYS("200.0 tokens a turn since turn 1");
    last_seen(41, 1000, 400, 1);
    judge_death(j, &v);
    CHECK_EQ(v.cause, CAUSE_NOT_MEMORY);
    CHECK(v.nexts > 0 && v.fixes == 0);
    start(1000);
    last_seen(1, 1000, 999, 3);
    judge_death(j, &v);
    CHECK_EQ(v.cause, CAUSE_CONCURRENCY);
    last_seen(2, 1000, 999, 1);
    judge_death(j, &v);
    CHECK_EQ(v.cause, CAUSE_KV);
    const struct event scarce = {.kind = EV_MACHINE, .machine = {.total_bytes = 1000, .free_bytes = 19}};
    judge_feed(j, &scarce);
    judge_death(j, &v);
    CHECK_EQ(v.cause, CAUSE_HOST);
    CHECK(strstr(v.what, "19 B of 1000 B free"));
    start(0);
    judge_death(j, &v);
    CHECK_EQ(v.cause, CAUSE_UNKNOWN);
    CHECK_EQ(v.sure, SURE_GUESS);
}

/* ------------------------------------------------------------------ any figures */

static uint64_t seed = 1;
static int64_t any(void)
{
    static const int64_t edge[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1 << 20, -(1ll << 40), 1ll << 50, 16, 4096};
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return seed >> 62 ? edge[(seed >> 33) % COUNT_OF(edge)] : (int64_t)(seed >> 20) - (1ll << 42);
}

static void any_event(struct event *e, char text[64])
{
    static const char *const words[] = {"no-limit", "reserve", "first-fit", "KV pool", "weights", "context", "pool",
                                        "open", "refused", "refused_kv", "completed", "", "host", "f32"};
    const struct event_info *info = event_info((e->kind = (enum event_kind)((uint64_t)any() % EVENT_KINDS)));
    for (size_t i = 0; i < info->n_fields; i++) {
        char *at = (char *)e + info->fields[i].at;
        const char *word = words[(uint64_t)any() % COUNT_OF(words)];
        const struct event_str s = (uint64_t)any() % 4 ? event_str(word) : (struct event_str){text, 64};
        const int64_t n = any();
        if (info->fields[i].type == EVENT_INT) memcpy(at, &n, sizeof n);
        if (info->fields[i].type == EVENT_STR) memcpy(at, &s, sizeof s);
    }
    snprintf(text, 64, "agent %lld \xc3", (long long)(any() % 80));
    e->agent = (struct event_str){text, strlen(text)};
}

TEST(any_figures_and_names_make_a_verdict_within_its_bounds)
{
    char text[64];
    struct buf b = {0};
    start(1024);
    for (int i = 0; i < (CHECK_SANITIZED ? 20000 : 100000); i++) {
        struct event e = {0};
        memset(text, 0xbf, sizeof text);
        any_event(&e, text);
        judge_feed(j, &e);
        if (i % 50) continue;
        judge_death(j, &v);
        if (judge_verdict(j, JUDGE_LAST, &v)) verdict_text(&v, 80, &b);
        for (int f = 0; f < v.fixes; f++) CHECK(v.fix[f].frees >= -1);
        for (int f = 1; f < v.fixes; f++) CHECK(v.fix[f - 1].frees >= v.fix[f].frees);
        b.len = 0;
        verdict_json(&v, &b);
        b.len = 0;
    }
    CHECK(judge_failures(j) > 100);
    buf_free(&b);
    judge_close(j);
    j = NULL;
}

CHECK_MAIN
