/* test_explain.c - what explain says of the corpus, of the sums in it, of hostile text, and what answers change. */
#include "tests/explain_rig.h"
#include <sys/resource.h>

enum { CORPUS_LEAST = 60, LOOK_ALIKES = 12 };

static struct verdict v[EXPLAIN_MOST];

static int explain(const char *text) { return explain_text(text, strlen(text), v, EXPLAIN_MOST); }

static bool says(const char lines[][VERDICT_TEXT], int n, const char *part)
{
    for (int i = 0; i < n; i++)
        if (strstr(lines[i], part)) return true;
    return false;
}

static uint64_t figure(const char *name)
{
    const struct verdict_figure *f = verdict_has(&v[0], name);
    CHECK(f != NULL);
    return f->value;
}

/* ------------------------------------------------------------------ the corpus */

TEST(every_message_of_the_corpus_is_judged_right)
{
    static struct corpus c;
    int wrong = 0, alike = 0, of[CAUSES] = {0};
    corpus_read(&c);
    CHECK(c.n >= CORPUS_LEAST);
    for (int i = 0; i < c.n; i++) {
        const struct sample *s = &c.one[i];
        int n = explain_text(s->text.data, s->text.len, v, EXPLAIN_MOST);
        enum cause got = n ? v[0].cause : CAUSE_UNKNOWN;
        bool whose = n == 0 || strcmp(s->stack, "unknown") == 0 || strcmp(s->stack, stack_name(v[0].stack)) == 0;
        of[s->cause]++;
        alike += s->cause == CAUSE_NOT_MEMORY || s->cause == CAUSE_UNKNOWN;
        if ((int)got == s->cause && whose && n <= 1) continue;
        wrong++;
        printf("  %-28s is %s in %s, judged %s in %s (%d verdicts)\n", s->name, cause_name((enum cause)s->cause),
               s->stack, cause_name(got), n ? stack_name(v[0].stack) : "-", n);
    }
    corpus_free(&c);
    CHECK_EQ(wrong, 0);
    CHECK(alike >= LOOK_ALIKES);
    for (int cause = CAUSE_NOT_MEMORY; cause < CAUSES; cause++) CHECK(of[cause] > 0);
}

TEST(no_message_of_the_corpus_names_a_person_or_a_machine)
{
    static const char *const word[] = {"@gmail", "github.com/", "http://192"};
    static struct corpus c;
    corpus_read(&c);
    for (int i = 0; i < c.n; i++)
        for (size_t k = 0; k < COUNT_OF(word); k++)
            if (strstr(c.one[i].text.data, word[k])) check_fail(c.one[i].name, 1, "has %s", word[k]);
    corpus_free(&c);
}

/* ------------------------------------------------------------------ the sums */

TEST(seed_004_a_gap_of_1_67_gib_cannot_explain_20_gib)
{
    CHECK_EQ(explain("torch.cuda.OutOfMemoryError: CUDA out of memory.\nTried to allocate 20.00 GiB\n(GPU 0; 79.20 GiB "
                     "total capacity;\n 71.45 GiB already allocated;\n 3.81 GiB free; 73.12 GiB reserved)\n"), 1);
    CHECK(v[0].cause != CAUSE_FRAGMENTATION);
    CHECK(says(v[0].not_it, v[0].nots, "reserved - allocated = 1.67 GiB; with 3.81 GiB free that is 5.48 GiB"));
    CHECK(says(v[0].not_it, v[0].nots, "2.27 GiB are outside"));
    CHECK(says(v[0].evidence, v[0].evidences, "16.19 GiB are missing"));
    CHECK_NEAR((double)figure("gap") / 0x1p30, 1.67, 0.001);
    CHECK_NEAR((double)figure("outside") / 0x1p30, 2.27, 0.001);
    CHECK(verdict_has(&v[0], "gap")->reckoned && !verdict_has(&v[0], "tried")->reckoned);
    CHECK(v[0].nexts > 0);
    CHECK_STR(v[0].where, "GPU 0");
}

#define TORCH(tried, total, free, mine, allocated, gap)                                                              \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " tried ". GPU 0 has a total capacity of " total   \
    " of which " free " is free. Including non-PyTorch memory, this process has " mine " memory in use. Of the "      \
    "allocated memory " allocated " is allocated by PyTorch, and " gap " is reserved by PyTorch but unallocated.\n"

TEST(the_same_message_is_another_cause_with_other_figures)
{
    CHECK_EQ(explain(TORCH("4.00 GiB", "24.00 GiB", "1.00 GiB", "22.80 GiB", "12.00 GiB", "10.00 GiB")), 1);
    CHECK_EQ(v[0].cause, CAUSE_FRAGMENTATION);
    CHECK_EQ(explain(TORCH("4.00 GiB", "24.00 GiB", "1.00 GiB", "6.00 GiB", "5.00 GiB", "0.50 GiB")), 1);
    CHECK_EQ(v[0].cause, CAUSE_OTHER_PROCESS);
    CHECK_NEAR((double)figure("outside") / 0x1p30, 17, 0.001);
    CHECK_EQ(explain(TORCH("30.00 GiB", "24.00 GiB", "8.00 GiB", "15.50 GiB", "15.00 GiB", "0.10 GiB")), 1);
    CHECK_EQ(v[0].cause, CAUSE_ACTIVATIONS);
    CHECK(says(v[0].not_it, v[0].nots, "fragmentation"));
}

TEST(units_are_bytes_whatever_they_are_called)
{
    CHECK_EQ(explain("CUDA out of memory. Tried to allocate 21474836480 bytes (GPU 0; 81100 MiB total capacity; "
                     "74932633600 bytes already allocated; 3,901 MiB free; 73,12 GiB reserved in total)"), 1);
    CHECK_EQ(figure("tried"), 20ull << 30);
    CHECK_EQ(figure("total"), 81100ull << 20);
    CHECK_EQ(figure("free"), 3901ull << 20);
    CHECK_NEAR((double)figure("reserved") / 0x1p30, 73.12, 0.001);
}

/* ------------------------------------------------------------------ the chain */

TEST(the_failure_within_a_wrapper_is_told_and_who_wrapped_it)
{
    CHECK_EQ(explain("litellm.exceptions.APIError: litellm.APIError: OpenAIException - Error code: 500 - {'error': "
                     "{'message': 'ValueError: To serve at least one request with the models\\'s max seq len (32768), "
                     "(4.00 GiB KV cache is needed, which is larger than the available KV cache memory (1.50 GiB).'}}"),
             1);
    CHECK_EQ(v[0].cause, CAUSE_KV);
    CHECK_EQ(v[0].stack, STACK_VLLM);
    CHECK_EQ(v[0].wrapped_by, STACK_LITELLM);
    CHECK_EQ(figure("KV needed"), 4ull << 30);
}

/* Scrolled out of sight: how much was asked for.  What lies unused is there, and may be much or little. */
TEST(a_message_without_its_head_is_judged_by_what_lies_unused)
{
    CHECK_EQ(explain("Of the allocated 58.20 GiB is allocated by PyTorch, and 18.40 GiB is reserved by PyTorch but "
                     "unallocated.\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_FRAGMENTATION);
    CHECK(v[0].sure != SURE_CERTAIN);
    CHECK(says(v[0].evidence, v[0].evidences, "18.40 GiB of 76.60 GiB lie unused"));
    CHECK_EQ(explain("Of the allocated 58.20 GiB is allocated by PyTorch, and 0.40 GiB is reserved by PyTorch but "
                     "unallocated.\n"), 1);
    CHECK(v[0].cause != CAUSE_FRAGMENTATION);
}

/* What a server answered, as its client tells it: the server is not Python, and its own log says more. */
TEST(a_report_of_a_client_points_to_the_log_of_its_server)
{
    static const char head[] = "  File \"/x/autogen_ext/models/openai/_openai_client.py\", line 676, in create\n";
    static const char tail[] = "openai.InternalServerError: Error code: 500 - {'error': {'message': 'OutOfMemoryError: "
                               "KV cache allocation failed', 'type': 'server_error', 'code': 500}}\n";
    char text[600];
    snprintf(text, sizeof text, "Traceback (most recent call last):\n%s%s", head, tail);
    CHECK_EQ(explain(text), 1);
    CHECK_EQ(v[0].cause, CAUSE_KV);
    CHECK_EQ(v[0].stack, STACK_OPENAI);
    CHECK_EQ(v[0].wrapped_by, STACK_AUTOGEN);
    CHECK(says(v[0].next, 1, "log of the server"));
    CHECK_EQ(explain("openai.InternalServerError: Error code: 500 - {'error': {'message': 'CUDA out of memory. Tried "
                     "to allocate 2 GiB. GPU 0 has a total capacity of 8 GiB of which 1 GiB is free.'}}\n"), 1);
    CHECK(!says(v[0].next, v[0].nexts, "log of the server")); /* the figures are there */
    CHECK_EQ(explain("Traceback (most recent call last):\nRuntimeError: CUDA out of memory.\n"), 1);
    CHECK(!says(v[0].next, v[0].nexts, "log of the server"));
}

TEST(a_failure_that_another_one_followed_is_still_the_cause)
{
    CHECK_EQ(explain("  File \"x.py\", line 3, in forward\nRuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n"
                     "\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent "
                     "call last):\n  File \"y.py\", line 9, in post\nConnectionError: Connection refused\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_ACTIVATIONS);
    CHECK_EQ(v[0].line, 2);
}

TEST(two_failures_are_two_verdicts_and_the_more_basic_is_first)
{
    CHECK_EQ(explain("openai.BadRequestError: This model's maximum context length is 8192 tokens. However, you "
                     "requested 9000 tokens.\nsome line\nanother line\nrestart\n"
                     "[  12.5] Memory cgroup out of memory: Killed process 7 (python) total-vm:9kB, anon-rss:8kB\n"),
             2);
    CHECK_EQ(v[0].cause, CAUSE_HOST);
    CHECK_EQ(v[1].cause, CAUSE_CONTEXT);
}

TEST(advice_about_memory_is_no_failure)
{
    CHECK_EQ(explain("INFO If you run out of memory, lower gpu_memory_utilization.\nINFO to avoid CUDA out of memory, "
                     "use fewer sequences\n"), 0);
    CHECK_EQ(explain("try:\n    run()\nexcept torch.cuda.OutOfMemoryError:\n    retry()\n"), 0);
}

TEST(a_kill_beside_a_failed_probe_is_no_want_of_memory)
{
    CHECK_EQ(explain("Exit Code: 137\nReason: Error\nLiveness probe failed: HTTP probe failed\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_NOT_MEMORY);
    CHECK_EQ(explain("Exit Code: 137\nReason: OOMKilled\nLiveness probe failed: HTTP probe failed\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_HOST);
}

/* ------------------------------------------------------------------ what is known beside the text */

TEST(answers_change_the_verdict_and_what_is_certain_asks_nothing)
{
    static const char bare[] = "RuntimeError: CUDA out of memory.";
    static const struct { int question, choice; enum cause cause; } row[] = {
        {ASK_WHEN, 1, CAUSE_WEIGHTS}, {ASK_WHEN, 3, CAUSE_GROWTH}, {ASK_WHEN, 4, CAUSE_LEAK},
        {ASK_LOAD, 2, CAUSE_CONCURRENCY}, {ASK_LENGTH, 2, CAUSE_KV}, {ASK_DEVICE, 2, CAUSE_OTHER_PROCESS}};
    struct explain_answers known = {0};
    CHECK_EQ(explain(bare), 1);
    CHECK_EQ(v[0].sure, SURE_GUESS);
    CHECK_EQ(explain_next_question(&v[0], &known), ASK_WHEN);
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        known = (struct explain_answers){0};
        known.of[row[i].question] = row[i].choice;
        CHECK_EQ(explain_with(bare, sizeof bare - 1, &known, v, EXPLAIN_MOST), 1);
        CHECK_EQ(v[0].cause, row[i].cause);
        CHECK(v[0].sure > SURE_GUESS);
    }
    CHECK_EQ(explain("Reason: OOMKilled"), 1);
    CHECK_EQ(explain_next_question(&v[0], &known), -1);
}

/* An answer is a person's word of when, not of what: likely.  What it says is the evidence, and what tells the two
 * causes of a failure after hours apart is asked next. */
TEST(an_answer_is_evidence_and_hours_have_two_causes)
{
    static const char bare[] = "RuntimeError: CUDA out of memory.";
    struct explain_answers known = {.of = {[ASK_WHEN] = 3}};
    CHECK_EQ(explain_with(bare, sizeof bare - 1, &known, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].sure, SURE_LIKELY);
    CHECK(says(v[0].evidence, v[0].evidences, "it was answered: after many turns"));
    CHECK_EQ(explain_next_question(&v[0], &known), ASK_LOAD);
    known.of[ASK_WHEN] = WHEN_HOURS;
    CHECK_EQ(explain_with(bare, sizeof bare - 1, &known, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_LEAK);
    CHECK_EQ(v[0].sure, SURE_LIKELY);
    CHECK_EQ(explain_next_question(&v[0], &known), ASK_GAP);
    known.of[ASK_GAP] = 1;
    CHECK_EQ(explain_with(bare, sizeof bare - 1, &known, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_LEAK);
    CHECK_EQ(v[0].sure, SURE_CERTAIN);
    known.of[ASK_GAP] = 2;
    CHECK_EQ(explain_with(bare, sizeof bare - 1, &known, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_FRAGMENTATION);
    CHECK_EQ(v[0].sure, SURE_CERTAIN);
}

/* A pool that is full does not say of what. */
TEST(a_pool_that_failed_is_asked_about)
{
    static const char text[] = "OutOfMemoryError: KV cache allocation failed";
    struct explain_answers known = {0};
    CHECK_EQ(explain(text), 1);
    CHECK_EQ(v[0].cause, CAUSE_KV);
    CHECK_EQ(v[0].sure, SURE_LIKELY);
    CHECK_EQ(explain_next_question(&v[0], &known), ASK_WHEN);
    known.of[ASK_LOAD] = 2;
    CHECK_EQ(explain_with(text, sizeof text - 1, &known, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_CONCURRENCY);
}

/* The model was loaded: a server answered, or it was at work. */
TEST(what_fails_at_work_is_no_question_of_the_weights)
{
    static const char *const text[] = {
        "OOM error during inference", "litellm.exceptions.APIError: OOM error during inference",
        "openai.BadRequestError: Error code: 400 - CUDA out of memory",
        "torch.OutOfMemoryError: CUDA out of memory when scaling to multiple requests per second"};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        CHECK_EQ(explain(text[i]), 1);
        CHECK_EQ(v[0].cause, CAUSE_CONCURRENCY);
    }
    CHECK_EQ(explain("LangGraph node failed: OOM error during inference"), 1);
    CHECK_EQ(v[0].cause, CAUSE_GROWTH);
    CHECK_EQ(explain("CUDA out of memory, but only after several runs of the crew"), 1);
    CHECK_EQ(v[0].cause, CAUSE_LEAK);
}

TEST(what_fails_as_a_batch_is_decoded_failed_within_a_pass)
{
    CHECK_EQ(explain("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1024.00 MiB on device 1: cudaMalloc "
                     "failed: out of memory\nsrv  update_slots: failed to decode the batch, n_batch = 2048, ret = -2\n"),
             1);
    CHECK_EQ(v[0].cause, CAUSE_ACTIVATIONS);
    CHECK_STR(v[0].where, "GPU 1");
}

TEST(what_fails_behind_a_start_that_succeeded_failed_at_work)
{
#define UP(then)                                                                                                     \
    "INFO [gpu_model_runner.py:2653] Model loading took 15.27 GiB and 12.1 seconds\nINFO: Application startup "       \
    "complete.\n" then "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total "    \
    "capacity of 23.64 GiB of which 1.10 GiB is free. Of the allocated memory 21.80 GiB is allocated by PyTorch.\n"
    CHECK_EQ(explain(UP("")), 1);
    CHECK_EQ(v[0].cause, CAUSE_ACTIVATIONS);
    CHECK(!says(v[0].evidence, v[0].evidences, "while the model was being loaded"));
    CHECK_EQ(explain(UP("INFO Starting to load model m2\n")), 1); /* it loads again */
    CHECK_EQ(v[0].cause, CAUSE_WEIGHTS);
    CHECK(says(v[0].evidence, v[0].evidences, "while the model was being loaded"));
}

TEST(fixes_carry_todays_names_of_the_stack)
{
    CHECK_EQ(explain("ValueError: To serve at least one request with the model's max seq len (131072), (16.00 GiB KV "
                     "cache is needed, which is larger than the available KV cache memory (5.83 GiB)."), 1);
    CHECK(v[0].fixes > 0);
    bool named = false;
    for (int i = 0; i < v[0].fixes; i++) named = named || strstr(v[0].fix[i].how, "--max-model-len");
    CHECK(named);
}

static bool offers(const char *how)
{
    for (int i = 0; i < v[0].fixes; i++)
        if (strstr(v[0].fix[i].how, how) || strstr(v[0].fix[i].what, how)) return true;
    return false;
}

/* What was asked is no limit, and fewer requests make no room for one that is longer than all the room there is. */
TEST(one_request_that_is_too_long_for_the_pool_has_its_sum)
{
    CHECK_EQ(explain("ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that "
                     "can be stored in KV cache (52000).\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_KV);
    CHECK_EQ(v[0].stack, STACK_VLLM);
    CHECK_EQ(figure("asked"), 131072);
    CHECK_EQ(figure("limit"), 52000);
    CHECK(says(v[0].evidence, v[0].evidences, "131072 tokens, and the pool holds 52000: 79072 too few"));
    CHECK(offers("--max-model-len") && !offers("--max-num-seqs") && !offers("--kv-offloading-size"));
    CHECK_STR(v[0].fix[0].how, "vllm serve --max-model-len 52000");
    CHECK_EQ(v[0].fix[0].frees, -1);
    CHECK_EQ(explain("INFO: Model loading took 14.99 GiB memory and 6 seconds\n" /* which is no reason to doubt it */
                     "ValueError: To serve at least one request with the models's max seq len (32768), (4.00 GiB KV "
                     "cache is needed, which is larger than the available KV cache memory (1.50 GiB). Based on the "
                     "available memory, the estimated maximum model length is 12288.\n"), 1);
    CHECK_EQ(figure("asked"), 32768);
    CHECK_EQ(figure("limit"), 12288);
    CHECK_EQ(v[0].sure, SURE_CERTAIN);
    CHECK_STR(v[0].fix[0].how, "vllm serve --max-model-len 12288");
    CHECK_EQ(v[0].fix[0].frees, 5ll << 29); /* 4.00 - 1.50 GiB */
    CHECK(v[0].fix[0].demand && !offers("--max-num-seqs"));
    CHECK_EQ(explain("WARNING vllm: sequence group 0 is preempted by RECOMPUTE mode: not enough KV cache space\n"), 1);
    CHECK(offers("--max-num-seqs"));
    CHECK_EQ(explain("OutOfMemoryError: KV cache allocation failed\n"), 1);
    CHECK(offers("fewer requests at once"));
}

TEST(a_model_that_needs_more_ram_has_more_fixes_than_a_cache)
{
    CHECK_EQ(explain("Error: model requires more system memory (8.4 GiB) than is available (5.6 GiB)\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_HOST);
    CHECK_EQ(v[0].stack, STACK_OLLAMA);
    CHECK(offers("a smaller model, or a tag of fewer bits") && offers("num_ctx") && offers("ollama stop"));
    CHECK(offers("end what else holds"));
}

/* Ollama's refusal as its log has it and as clients get it; "total" before "free" is no size that is free. */
TEST(a_model_that_is_too_large_for_the_system_has_its_sum)
{
    CHECK_EQ(explain("level=WARN msg=\"model request too large for system\" requested=\"63.5 GiB\" "
                     "available=45204647116 total=\"62.7 GiB\" free=\"40.1 GiB\" swap=\"2.0 GiB\"\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_HOST);
    CHECK_EQ(figure("available"), 45204647116);
    CHECK(!verdict_has(&v[0], "free"));
    CHECK(says(v[0].evidence, v[0].evidences, "21.40 GiB too few"));
    CHECK_EQ(explain("{\"error\":\"requested model (21.3 GiB) is too large for this system (7.4 GiB)\"}\n"), 1);
    CHECK(says(v[0].evidence, v[0].evidences, "13.90 GiB too few"));
}

TEST(a_heap_that_has_a_limit_of_its_own_is_not_pythons)
{
    CHECK_EQ(explain("Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_ALLOCATOR);
    CHECK_EQ(v[0].stack, STACK_UNKNOWN);
    CHECK(offers("-Xmx") && !offers("RLIMIT_AS"));
}

TEST(a_line_that_is_cut_says_so)
{
    struct buf b = {0};
    buf_puts(&b, "torch.OutOfMemoryError: CUDA out of memory.");
    for (int i = 0; i < 40; i++) buf_puts(&b, " Of the rest");
    buf_puts(&b, "\n");
    CHECK_EQ(explain_text(b.data, b.len, v, EXPLAIN_MOST), 1);
    const size_t n = strlen(v[0].what);
    CHECK(n > 150 && n < VERDICT_TEXT && strcmp(v[0].what + n - 4, " ...") == 0);
    buf_free(&b);
}

/* As the first seed's mem_debug() prints them: one of the two may rise, and numbers alone are MiB. */
TEST(two_series_that_take_turns_are_two)
{
    struct buf text = {0};
    for (int i = 0; i < 5; i++) buf_printf(&text, "rss_mb 2110.%d\ncuda_mb %d.5\n", i % 2, 15320 + 1000 * i);
    buf_puts(&text, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB.\n");
    CHECK_EQ(explain(text.data), 1);
    CHECK_EQ(v[0].cause, CAUSE_LEAK);
    CHECK(says(v[0].evidence, v[0].evidences, "from 14.96 GiB to 18.87 GiB in 5 steps"));
    text.len = 0;
    for (int i = 0; i < 5; i++) buf_printf(&text, "rss_mb %d\ncuda_mb 15320.5\n", 2110 + 6000 * i);
    buf_puts(&text, "Killed\n");
    CHECK_EQ(explain(text.data), 1);
    CHECK_EQ(v[0].cause, CAUSE_LEAK);
    CHECK(says(v[0].evidence, v[0].evidences, "from 2.06 GiB to 25.50 GiB in 5 steps"));
    text.len = 0;
    for (int i = 0; i < 5; i++) buf_printf(&text, "rss_mb %d\ncuda_mb 15320.5\n", 2110 + i % 2 * 900);
    buf_puts(&text, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB.\n");
    CHECK_EQ(explain(text.data), 1);
    CHECK(v[0].cause != CAUSE_LEAK);
    buf_free(&text);
}

/* ------------------------------------------------------------------ hostile text */

/* Of the program itself: pages that the system clears for it come when its host has them. */
static double seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec * 1e-6;
}

static double seconds_for(const char *part, size_t bytes)
{
    struct buf b = {0};
    while (b.len < bytes) buf_puts(&b, part);
    const double start = seconds();
    explain_text(b.data, b.len, v, EXPLAIN_MOST);
    const double taken = seconds() - start;
    buf_free(&b);
    return taken;
}

/* Four times as much takes some four times as long, and would sixteen times; a host that is busy may stand in the way,
 * but not every time. */
TEST(ten_megabytes_in_one_line_are_read_in_linear_time)
{
    static const char *const part[] = {"CUDA out of memory ", "requires more system memory 1 GiB than is available 2 ",
                                       "a 1 ", "[1] [1] ", "tried to allocate ", "kv cache ", "\033[31m", "\\n", "xy"};
    const size_t most = CHECK_SANITIZED ? 1 << 20 : 10 << 20;
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        double first = 0, second = 1;
        for (int tries = 0; tries < 3 && second > 12 * first + 0.2; tries++) {
            first = seconds_for(part[i], most / 4);
            second = seconds_for(part[i], most);
        }
        if (second > 12 * first + 0.2) check_fail(__FILE__, __LINE__, "%s: %g s, then %g s", part[i], first, second);
    }
}

TEST(a_failure_at_the_end_of_a_text_that_is_too_long_is_found_with_its_line)
{
    /* Words are looked at for long: under a sanitizer there are none. */
    const char *const line = CHECK_SANITIZED ? "----------------------------\n" : "GET /health answered in 3 ms\n";
    struct buf text = {0};
    while (text.len < (size_t)EXPLAIN_BYTES + (1 << 20)) buf_puts(&text, line);
    int64_t lines = 1;
    for (size_t i = 0; i < text.len; i++) lines += text.data[i] == '\n';
    buf_puts(&text, "MemoryError\n");
    CHECK(!text.failed);
    CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_HOST);
    CHECK_EQ(v[0].line, lines);
    CHECK_STR(v[0].what, "MemoryError");
    buf_free(&text);
}

/* Lines of dashes up to there, long ones as far as they go: of each line something is asked, and there are megabytes. */
static int64_t dashes(struct buf *text, size_t until)
{
    enum { LONG = 512 };
    static const char line[] = "----------------------------\n";
    int64_t lines = 0;
    for (; text->len + LONG + 1 < until; lines++) {
        for (int i = 0; i < LONG; i += 32) buf_puts(text, "--------------------------------");
        buf_puts(text, "\n");
    }
    for (; text->len < until; lines++) buf_puts(text, line);
    return lines;
}

/* A server that was started again writes on: its end is behind, and not at, the end of the log.  Where the parts that
 * are read meet, a failure is in one and what was done before it in the other: it is judged with both. */
TEST(a_failure_amid_a_text_that_is_too_long_is_found_with_its_line)
{
    enum { HALF = EXPLAIN_BYTES / 2, LENGTH = 5 * HALF, MEET = LENGTH - 3 * HALF + (1 << 16) };
    const struct { size_t at; bool wrapped; } row[] = {{MEET - 300, true}, {HALF + 400, false}, {MEET - 300, false}};
    const size_t rows = CHECK_SANITIZED ? 1 : COUNT_OF(row);
    struct buf text = {0};
    for (size_t i = 0; i < rows; i++) {
        text.len = 0;
        int64_t lines = dashes(&text, row[i].at);
        buf_puts(&text, "  File \"a.py\", line 3, in embed_documents\n");
        if (!row[i].wrapped) lines += dashes(&text, text.len + 600);
        buf_puts(&text, "CUDA out");
        for (int k = 0; row[i].wrapped && k < 600; k++) buf_puts(&text, "-"); /* it ends where the parts meet */
        buf_puts(&text, row[i].wrapped ? "\nof memory.\n" : " of memory.\n");
        dashes(&text, LENGTH);
        CHECK(!text.failed);
        CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 1);
        CHECK_EQ(v[0].cause, CAUSE_ACTIVATIONS);
        CHECK_EQ(v[0].line, lines + 2);
        CHECK(strncmp(v[0].what, "CUDA out", 8) == 0);
    }
    buf_puts(&text, "ValueError: Requested tokens (9) exceed context window of 8\n"); /* that is at its end, then */
    CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_CONTEXT);
    CHECK(says(v[0].next, v[0].nexts, "24.00 MiB in its middle were not read"));
    buf_free(&text);
}

/* Amid it something failed that is no memory, and a server came up before and behind. */
TEST(what_failed_amid_a_text_that_is_too_long_is_told_also_if_it_is_no_memory)
{
    struct buf text = {0};
    buf_puts(&text, "INFO: Application startup complete\n");
    const int64_t lines = dashes(&text, EXPLAIN_BYTES);
    buf_puts(&text, "Segmentation fault (core dumped)\n");
    dashes(&text, 2 * (size_t)EXPLAIN_BYTES);
    buf_puts(&text, "INFO: Application startup complete\n");
    CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_NOT_MEMORY);
    CHECK_EQ(v[0].line, lines + 2);
    buf_free(&text);
}

/* A shell of Windows writes what is sent into a file with two bytes a character. */
TEST(a_log_in_utf16_is_judged_as_in_utf8)
{
    static struct verdict plain[EXPLAIN_MOST];
    static struct corpus c;
    corpus_read(&c);
    for (int i = 0; i < c.n; i++) {
        const struct buf *one = &c.one[i].text;
        const int n = explain_text(one->data, one->len, plain, EXPLAIN_MOST);
        for (int way = 0; way < 4; way++) { /* either half first, with a mark and without */
            struct buf wide = {0};
            if (way < 2) buf_put(&wide, way ? "\xfe\xff" : "\xff\xfe", 2);
            for (size_t k = 0; k < one->len; k++)
                buf_put(&wide, (const char[]){way % 2 ? 0 : one->data[k], way % 2 ? one->data[k] : 0}, 2);
            const int got = explain_text(wide.data, wide.len, v, EXPLAIN_MOST);
            const bool same = got == n && (n == 0 || (v[0].cause == plain[0].cause && v[0].line == plain[0].line &&
                                                      v[0].figures == plain[0].figures));
            if (!same) check_fail(__FILE__, __LINE__, "%s, way %d", c.one[i].name, way);
            buf_free(&wide);
        }
    }
    corpus_free(&c);
    CHECK_EQ(explain_text("\xff\xfe" "M\0e\0m\0o\0r\0y\0E\0r\0r\0o\0r\0\x3d\xd8", 26, v, EXPLAIN_MOST), 1);
    CHECK_STR(v[0].what, "MemoryError");
    CHECK_EQ(explain_text("\xff\xfe", 2, v, EXPLAIN_MOST), 0);
    CHECK_EQ(explain_text("\xff\xfeM", 3, v, EXPLAIN_MOST), 0);
}

TEST(what_is_quoted_is_printable)
{
    static const char text[] = "\033[31mMemoryError\033[0m: \x01\x9b" "2J\xff\xe2\x80\xae evil\t\x7f\n";
    CHECK_EQ(explain_text(text, sizeof text - 1, v, EXPLAIN_MOST), 1);
    for (const char *p = v[0].what; *p; p++) CHECK(*p >= ' ' && *p <= '~');
    CHECK(strncmp(v[0].what, "MemoryError", 11) == 0);
    CHECK_EQ(explain("WARNING: MemoryError\n"), 1); /* a level goes with its colon */
    CHECK_STR(v[0].what, "MemoryError");
}

TEST(nothing_is_said_of_nothing)
{
    CHECK_EQ(explain_text("", 0, v, EXPLAIN_MOST), 0);
    CHECK_EQ(explain_text("\0\0\0", 3, v, EXPLAIN_MOST), 0);
    CHECK_EQ(explain("a letter about the weather, its memory and a zoom into the room"), 0);
    CHECK_EQ(explain_text("MemoryError", 11, v, 0), 0);
}

/* What people tell beside a log, or instead of one. */
TEST(a_complaint_without_a_message_is_heard)
{
    CHECK_EQ(explain("With hardly any traffic the memory of the pod still seems to grow over time, it is never "
                     "reclaimed, and the service crashes with OOM about twice a week."), 1);
    CHECK_EQ(v[0].cause, CAUSE_LEAK);
    CHECK_EQ(explain("The card is occupied by an external process, and loading ends in cudaMalloc failed: out of "
                     "memory."), 1);
    CHECK_EQ(v[0].cause, CAUSE_OTHER_PROCESS);
}

TEST(a_word_that_says_no_makes_a_verdict_less_sure)
{
    CHECK_EQ(explain("\"OOMKilled\": true,\n\"ExitCode\": 137,\n"), 1);
    CHECK_EQ(v[0].sure, SURE_CERTAIN);
    CHECK(explain("\"OOMKilled\": false,\n\"ExitCode\": 137,\n") <= 1);
    CHECK_EQ(v[0].sure, SURE_GUESS);
}

/* "4 GiB total allocation" is what a program wants, not what the device has. */
TEST(a_sum_of_wants_is_not_the_size_of_the_device)
{
    CHECK_EQ(explain("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6120445952 bytes.\n"
                     "     preallocated temp allocation:    5.70GiB\n                 total allocation:    6.11GiB\n"),
             1);
    CHECK(verdict_has(&v[0], "total") == NULL);
    CHECK_EQ(v[0].cause != CAUSE_STATIC_BATCH, 1);
}

CHECK_MAIN
