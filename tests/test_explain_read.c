/* test_explain_read.c - the two lower layers of explain: a text as a run of letters and numbers, and phrases in it. */
#include "app/learn/explain_match.h"
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

CHECK_MAIN
