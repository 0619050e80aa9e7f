/* test_explain_read.c - the lower layers of explain: a text as a run of letters and numbers, phrases in it, and the
 * lines of several services told apart. */
#include "app/learn/explain.h"
#include "app/learn/explain_match.h"
#include "app/learn/explain_services.h"
#include "tests/check.h"

static struct run r;

static void read_text(const char *text)
{
    run_free(&r);
    CHECK_EQ(run_read(text, strlen(text), &r), 0);
}

/* ------------------------------------------------------------------ the run */

TEST(wrapping_quotes_and_blanks_are_gone)
{
    read_text("CUDA out of\n memory: `Tried` \"to\"\tallocate 4.26 GiB KV cach\ne is");
    CHECK_STR(r.c, "cudaoutofmemorytriedtoallocate4.26gibkvcacheis");
}

TEST(two_numbers_stay_two)
{
    read_text("GPU 0 79.20 GiB, 3,901 MiB 1/2 -7 x-7");
    CHECK_STR(r.c, "gpu0 79.20gib3,901mib1/2-7x7");
}

TEST(marks_tell_where_something_else_stood)
{
    read_text("ab c\nd");
    CHECK_STR(r.c, "abcd");
    CHECK_EQ(r.mark[1], 0);
    CHECK(r.mark[2] & MARK_GAP);
    CHECK(!(r.mark[2] & MARK_LINE));
    CHECK(r.mark[3] & MARK_LINE);
    CHECK(r.mark[4] & MARK_LINE);
}

TEST(lines_keep_their_numbers)
{
    read_text("one\n\n\nfour\nfive");
    CHECK_EQ(run_line_of(&r, 0), 1);
    CHECK_EQ(run_line_of(&r, 3), 4);
    CHECK_EQ(run_line_of(&r, 7), 5);
    CHECK(run_blank_between(&r, 0, 3));
    CHECK(!run_blank_between(&r, 3, 7));
}

TEST(a_prefix_stays_once_and_is_then_left_out)
{
    read_text("(Worker pid=7) ERROR 05-10 16:00:15 [core.py:70] one\n"
              "(Worker pid=8) ERROR 05-10 16:00:16 [core.py:71] two\n");
    CHECK_STR(r.c, "workerpid7error05 10 16 00 15corepy70onetwo");
}

TEST(what_a_logger_writes_is_known)
{
    static const struct { const char *line; size_t n; } row[] = {
        {"2025-04-29T12:31:50.095+02:00 level", 30},  {"[rank0]: File", 9},
        {"Apr 29 12:31:50 box ollama[77]: x", 32},    {"[ 4018.450000] Killed", 15},
        {"vllm-1  | INFO 01-02 10:20:30 x", 30},       {"\033[31mERROR\033[0m x", 15},
        {"{\"log\":\"2025-04-29T12:31:50Z x\\n\",", 29},
        {"(4.26 GiB KV cache is needed)", 0},          {"[enforce fail at alloc_cpu]", 0},
        {"2048 tokens", 0},                            {"Error: model", 0}};
    for (size_t i = 0; i < COUNT_OF(row); i++)
        if (log_prefix(row[i].line, strlen(row[i].line)) != row[i].n)
            check_fail(__FILE__, __LINE__, "%s: %zu", row[i].line, log_prefix(row[i].line, strlen(row[i].line)));
}

TEST(a_quote_is_cut_at_a_word)
{
    static const char text[] = "x\nINFO 2026-01-02 10:20:30 one two three\n";
    char out[12];
    run_quote(text, sizeof text - 1, 2, out, sizeof out);
    CHECK_STR(out, "one two ...");
    run_quote(text, sizeof text - 1, 2, out, sizeof out - 1);
    CHECK_STR(out, "one ...");
    run_quote("one two thr \n", 13, 1, out, sizeof out); /* all of it has room */
    CHECK_STR(out, "one two thr");
    run_quote(text, sizeof text - 1, 9, out, sizeof out);
    CHECK_STR(out, "");
}

/* ------------------------------------------------------------------ phrases */

static const char *phrase;
static const char *the_phrase(int i)
{
    (void)i;
    return phrase;
}

/* How often a phrase stands in a text; the first of them in *first. */
static size_t found(const char *text, const char *wanted, struct hit *first)
{
    struct hits h;
    read_text(text);
    phrase = wanted;
    CHECK_EQ(match_all(&r, the_phrase, 1, &h), 0);
    size_t n = h.n;
    if (n && first) *first = h.hit[0];
    hits_free(&h);
    return n;
}

TEST(a_phrase_is_words_in_their_order)
{
    CHECK_EQ(found("CUDA out of memory. cuda OUT-OF-MEMORY", "cuda out of memory", NULL), 2);
    CHECK_EQ(found("CUDA out of mem\nory", "cuda out of memory", NULL), 1);
    CHECK_EQ(found("CUDA is out of memory", "cuda out of memory", NULL), 0);
    CHECK_EQ(found("needs a lot more than is free", "needs * than is free", NULL), 1);
}

TEST(borders_are_words_or_lines)
{
    CHECK_EQ(found("zoom oom room", "| oom |", NULL), 1);
    CHECK_EQ(found("a\nKilled\nb", "^ killed ^", NULL), 1);
    CHECK_EQ(found("a Killed b", "^ killed ^", NULL), 0);
    CHECK_EQ(found("\"a\\nKilled\\nb\"", "^ killed ^", NULL), 1); /* as JSON has it */
    CHECK_EQ(found("{\"log\":\"a\\n\"}\n{\"log\":\"Killed\\n\",\"stream\":\"stdout\"}", "^ killed ^", NULL), 1);
    CHECK_EQ(found("a\\rKilled\\rb", "^ killed ^", NULL), 0);
    CHECK_EQ(found("OutOfMemory error, MemoryError", "| memory~error |", NULL), 1);
    CHECK_EQ(found("12 3", "12 3", NULL), 0 + 1);
}

TEST(numbers_are_taken_with_their_units)
{
    struct hit h;
    CHECK_EQ(found("tried to allocate 1900,00 MiB", "allocate $", &h), 1);
    CHECK_NEAR(h.number[0].value, 1900 * 0x1p20, 1);
    CHECK(h.number[0].is_bytes);
    CHECK_EQ(found("total-vm:26,184,840kB", "total vm #", &h), 1);
    CHECK_NEAR(h.number[0].value, 26184840 * 0x1p10, 1);
    CHECK_EQ(found("allocate 4 layers", "allocate $", NULL), 0);
    CHECK_EQ(found("memory: 16Gi, x", "memory #", &h), 1);
    CHECK_NEAR(h.number[0].value, 16 * 0x1p30, 1);
    CHECK_EQ(found("3.81 GiB free", "@free", &h), 1);
    CHECK_NEAR(h.number[0].value, 3.81 * 0x1p30, 1e6);
    CHECK_EQ(found("4 free", "@free", NULL), 0);
    CHECK_EQ(found("process 42 has 2 GiB memory in use", "process # has $ memory", &h), 1);
    CHECK_EQ(h.numbers, 2);
    CHECK_NEAR(h.number[0].value, 42, 0);
    CHECK_EQ(found("of 8192 maximum", "of #", &h), 1);
    CHECK(!h.number[0].is_bytes);
    CHECK_EQ(found("of 99999999999999999999999999999999 GiB", "of #", NULL), 0);
}

TEST(of_many_the_first_and_the_last_are_kept)
{
    struct buf text = {0};
    struct hits h;
    for (int i = 1; i <= 1000; i++) buf_printf(&text, "turn %d\n", i);
    read_text(text.data);
    phrase = "turn #";
    CHECK_EQ(match_all(&r, the_phrase, 1, &h), 0);
    CHECK_EQ(h.n, 2 * HITS_A_WORD);
    CHECK_NEAR(h.hit[0].number[0].value, 1, 0);
    CHECK_NEAR(h.hit[h.n - 1].number[0].value, 1000, 0);
    CHECK_EQ(h.hit[h.n - 1].line, 1000);
    hits_free(&h);
    buf_free(&text);
    run_free(&r);
}

/* ------------------------------------------------------------------ a log of several services */

static struct services services;
static struct verdict v[EXPLAIN_MOST];

static bool are_services(const char *text) { return services_find(text, strlen(text), &services); }
static int explain(const char *text) { return explain_text(text, strlen(text), v, EXPLAIN_MOST); }

TEST(lines_with_a_name_and_a_bar_are_services_and_others_are_not)
{
    static const char *const are[] = {
        "vllm-1   | a\nredis    | b\n", "\033[36mvllm-1  | \033[0ma\n\033[33mapp-1   | \033[0mb\n",
        "chat_vllm_1  | a\nchat_web_1   | b\n$ exit\n", "[pod/vllm-0/server] a\n[pod/web-7d9/web] b\n",
        "[pod/a-deployment-with-a-long-name-6f7c8d9b5-x2x9z/and-a-container-that-has-one-too] a\n[pod/web-7d9/web] b\n",
        "vllm | a\nvllm | b\nvllm | c\nweb  | d\nweb  | e\nweb  |\n", "a-1  | x\r\nb-1  |\r\n"};
    static const char *const are_not[] = {
        "vllm-1  | a\nvllm-1  | b\n",                        /* one */
        "ERROR    | a\nINFO     | b\nERROR    | c\nINFO | d\nerror | e\ninfo | f\n", /* levels */
        "2026-11-02 | a\n2026-11-03 | b\n2026-11-03 | c\n",      /* days */
        "model  | size\nqwen3-8b | 8\nllama3 | 7\n plain\n line\n text\n line\n",   /* a table in a text */
        "name   | size\nqwen   | 8\nllama  | 7\n",           /* a table */
        "|   0  NVIDIA H100  On  |\n| N/A   41C  | 79000MiB |\n", "vllm-1|a\nweb-1|b\n", "vllm-1  |a\nweb-1  |b\n",
        "", "\n\n", "a [pod/x] b\n[pod/\n[pod/y\n"};
    for (size_t i = 0; i < COUNT_OF(are); i++)
        if (!are_services(are[i]) || services.n != 2) check_fail(are[i], 1, "%d", services.n);
    for (size_t i = 0; i < COUNT_OF(are_not); i++)
        if (are_services(are_not[i])) check_fail(are_not[i], 1, "%s", services.name[0]);
}

static void check_lines(const char *text, int which, const char *want, uint32_t last)
{
    struct buf part = {0};
    struct line_map map = {0};
    CHECK(services_lines(text, strlen(text), &services, which, &part, &map));
    CHECK_STR(part.data, want);
    CHECK_EQ(line_in_text(&map, (uint32_t)map.n), last);
    for (uint32_t i = 3; i <= map.n; i++) CHECK_EQ(line_in_part(&map, line_in_text(&map, i)), i); /* 1: its name */
    CHECK_EQ(line_in_text(&map, 0), 0);
    CHECK_EQ(line_in_text(&map, (uint32_t)map.n + 1), 0);
    buf_free(&part);
    free(map.of);
}

TEST(each_service_has_its_own_lines_with_their_numbers)
{
    static const char text[] =
        "Attaching to vllm-1, vllm-10\n"
        "\033[36mvllm-1   | \033[0mone\n"
        "vllm-10  | a line that is so long that the terminal has broken it and goes on\n"
        "in the next\n"
        "  vllm-1 is no name here\n"
        "vllm-1   | two | three\n"
        "Container chat-vllm-10 exited\n"
        "vllm-1 exited with code 137";
    CHECK(are_services(text));
    CHECK_STR(services.name[0], "vllm-1");
    check_lines(text, 0, "vllm-1\none\ntwo | three\nvllm-1 exited with code 137\n", 8);
    check_lines(text, 1, "vllm-10\na line that is so long that the terminal has broken it and goes on\nin the next\n"
                "Container chat-vllm-10 exited\n", 7);
    check_lines(text, SERVICE_NOBODY, "Attaching to vllm-1, vllm-10\n  vllm-1 is no name here\n", 5);
}

#define OOM(tried)                                                                                                   \
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " tried ". GPU 0 has a total capacity of 24.00 "    \
    "GiB of which 1.00 GiB is free.\n"

/* Who failed is one of them, with its own stages and in its own words; what its client was answered is no second. */
TEST(the_story_of_one_service_is_not_told_of_another)
{
    CHECK_EQ(explain("ollama-1  | time=2026-09-12T10:00:00Z level=INFO source=sched.go:517 msg=\"loading model\"\n"
                     "vllm-1    | INFO 11-02 10:00:31 [gpu_model_runner.py:2653] in execute_model\n"
                     "ollama-1  | time=2026-09-12T10:00:01Z level=INFO msg=\"load_tensors: loading model tensors\"\n"
                     "vllm-1    | ERROR " OOM("4.00 GiB")
                     "app-1     | openai.InternalServerError: Error code: 500 - {'message': 'CUDA out of memory'}\n"
                     "app-1     | requests.exceptions.ConnectionError: Connection refused\n"
                     "vllm-1 exited with code 1\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_ACTIVATIONS);
    CHECK_EQ(v[0].stack, STACK_VLLM);
    CHECK_EQ(v[0].wrapped_by, STACK_UNKNOWN);
    CHECK_EQ(v[0].line, 4);
    CHECK_STR(v[0].where, "service vllm-1, GPU 0");
    CHECK(strncmp(v[0].what, "torch.OutOfMemoryError", 22) == 0);
}

TEST(two_services_that_failed_are_two_verdicts_and_the_kernels_word_is_better_than_an_exit_code)
{
    CHECK_EQ(explain("tgi-1   | RuntimeError: Not enough memory to handle 4096 prefill tokens.\n"
                     "vllm-1  | ValueError: No available memory for the cache blocks.\n"), 2);
    CHECK_EQ(v[0].cause, CAUSE_WEIGHTS);
    CHECK_STR(v[0].where, "service vllm-1");
    CHECK_EQ(v[0].line, 2);
    CHECK_EQ(v[1].cause, CAUSE_ACTIVATIONS);
    CHECK_STR(v[1].where, "service tgi-1");
    CHECK_EQ(explain("app-1   | listening\nllm-1   | working\nllm-1 exited with code 137\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_HOST);
    CHECK_EQ(v[0].line, 3);
    CHECK_STR(v[0].where, "service llm-1");
    CHECK_EQ(explain("app-1   | listening\nllm-1   | working\nllm-1 exited with code 137\n\n$ dmesg\n"
                     "[4018.45] Memory cgroup out of memory: Killed process 77 (llama-server) total-vm:9kB\n"), 1);
    CHECK_EQ(v[0].line, 6);
    CHECK_EQ(v[0].sure, SURE_CERTAIN);
}

TEST(of_more_failures_than_have_room_the_more_basic_are_told)
{
    struct buf text = {0};
    for (int i = 0; i < 8; i++) buf_printf(&text, "web-%d  | prompt is too long: 9000 tokens > 8192 maximum\n", i);
    buf_puts(&text, "llm-1  | ValueError: No available memory for the cache blocks.\n");
    for (int i = 0; i < 2 * SERVICES_MOST; i++) buf_printf(&text, "other-%d  | ready\n", i);
    CHECK_EQ(explain(text.data), EXPLAIN_MOST);
    CHECK_EQ(v[0].cause, CAUSE_WEIGHTS);
    CHECK_EQ(v[1].cause, CAUSE_CONTEXT);
    buf_free(&text);
}

TEST(where_no_memory_ran_out_each_service_says_what_failed)
{
    CHECK_EQ(explain("app-1   | openai.APIConnectionError: Connection error.\n"
                     "llm-1   | RuntimeError: CUDA error: an illegal memory access was encountered\n"
                     "db-1    | ready\n"), 2);
    CHECK_EQ(v[0].cause, CAUSE_NOT_MEMORY);
    CHECK_EQ(v[1].cause, CAUSE_NOT_MEMORY);
    CHECK_EQ(explain("app-1   | INFO: Application startup complete.\nllm-1   | INFO: all slots are idle\n"), 1);
    CHECK_EQ(v[0].line, 0);
    CHECK_EQ(explain("app-1   | ready\nllm-1   | steady\n"), 0);
}

/* In a part of a log that is too long, its lines have the numbers that they have in the whole. */
TEST(a_service_whose_log_is_too_long_is_read_with_its_lines_numbers)
{
    struct buf text = {0};
    int64_t lines = 0;
    for (; text.len < (size_t)EXPLAIN_BYTES / 2; lines += 2) buf_puts(&text, "a-1  | ----------------\nb-1  | ---\n");
    buf_puts(&text, "b-1  | MemoryError\n");
    while (text.len < 4 * (size_t)EXPLAIN_BYTES) buf_puts(&text, "b-1  | ------------------------------\n");
    if (!CHECK_SANITIZED) {
        CHECK(!text.failed);
        CHECK_EQ(explain_text(text.data, text.len, v, EXPLAIN_MOST), 1);
        CHECK_EQ(v[0].cause, CAUSE_HOST);
        CHECK_EQ(v[0].line, lines + 1);
        CHECK_STR(v[0].where, "service b-1");
    }
    buf_free(&text);
}

CHECK_MAIN
