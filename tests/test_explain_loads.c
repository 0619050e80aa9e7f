/* test_explain_loads.c - which loads of weights are again in one process, and which are not. */
#include "app/learn/explain_loads.h"
#include "tests/check.h"

static struct loads told(const char *text)
{
    struct loads l;
    loads_before(text, strlen(text), &(uint32_t){UINT32_MAX}, 1, &l);
    return l;
}

#define POST "INFO:  10.0.0.5:50612 - \"POST /answer HTTP/1.1\" 200 OK\n"
#define SHARDS "Loading checkpoint shards: 100%|####| 4/4 [00:05<00:00,  1.31s/it]\n"
#define META(name) "llama_model_loader: loaded meta data with 33 key-value pairs and 291 tensors from " name "\n"
#define RANK(pid) "(Worker pid=" pid ") INFO 11-02 09:10:11 [runner.py:1110] Starting to load model acme/S-7B...\n"

TEST(what_is_loaded_between_requests_is_counted_with_its_lines)
{
    struct loads l = told(SHARDS POST SHARDS POST SHARDS POST);
    CHECK_EQ(l.n, 3);
    CHECK_EQ(l.line[0], 1);
    CHECK_EQ(l.line[1], 3);
    CHECK_EQ(l.line[2], 5);
    CHECK_EQ(told(META("/m/a.gguf") "turn 2\n" META("/m/a.gguf")).n, 2);
    CHECK_EQ(told(SHARDS "job: 1\n" SHARDS "job: 2\n" SHARDS).n, 3);
    CHECK_EQ(told(RANK("7") "Received request cmpl-1\n" RANK("7")).n, 2);
    CHECK_EQ(told("LOADING CHECKPOINT SHARDS: 100%\\nPOST /x\\nLOADING CHECKPOINT SHARDS: 100%\\nPOST /x\\n"
                  "LOADING CHECKPOINT SHARDS: 100%\\n").n, 3);
}

/* One that does not name its model may be of another, as an embedder that comes with the first request. */
TEST(two_that_name_no_model_say_nothing)
{
    CHECK_EQ(told(SHARDS POST SHARDS).n, 0);
    CHECK_EQ(told(META("/m/a.gguf") POST META("/m/b.gguf") POST META("/m/c.gguf")).n, 0);
    CHECK_EQ(told(META("/m/a.gguf") "load_tensors: x\n" POST META("/m/b.gguf") "load_tensors: x\n" POST
                  META("/m/c.gguf") "load_tensors: x\n").n, 0);
}

TEST(a_bar_and_ranks_side_by_side_are_one_load)
{
    CHECK_EQ(told("Loading checkpoint shards:   0%| |\nLoading checkpoint shards:  33%|# |\n" POST
                  "Loading checkpoint shards:  67%|##|\n" POST "Loading checkpoint shards: 100%|##|\n").n, 0);
    CHECK_EQ(told(SHARDS SHARDS SHARDS SHARDS).n, 0);
    CHECK_EQ(told(RANK("7") RANK("8") POST RANK("9") POST RANK("10")).n, 0);
    CHECK_EQ(told(SHARDS "GET /health 200 OK\n" SHARDS "GET /health 200 OK\n" SHARDS).n, 0);
}

TEST(a_new_process_begins_anew)
{
#define BANNER "INFO:     Started server process [17]\n"
    CHECK_EQ(told(BANNER SHARDS POST BANNER SHARDS POST BANNER SHARDS POST).n, 0);
    CHECK_EQ(told(BANNER SHARDS POST BANNER SHARDS POST SHARDS POST SHARDS).n, 3);
    CHECK_EQ(told(META("/m/a") POST "msg=\"starting runner\"\n" META("/m/a") POST).n, 0);
    CHECK_EQ(told(META("/m/a") POST "Unloaded the model\n" META("/m/a") POST).n, 0);
}

/* Workers that load at their first request. */
TEST(as_many_loads_as_workers_are_one_each)
{
#define BOOT "[2026-01-02 10:20:30 +0000] [1] [INFO] Booting worker with pid: 7\n"
    CHECK_EQ(told(BOOT BOOT META("/m/a") POST META("/m/a") POST).n, 0);
    CHECK_EQ(told(BOOT BOOT META("/m/a") POST META("/m/a") POST META("/m/a") POST).n, 3);
}

TEST(a_failure_behind_another_needs_loads_of_its_own)
{
    static const char text[] = SHARDS POST SHARDS POST SHARDS "failed\nfailed\n" POST SHARDS "failed\n";
    static const uint32_t line[] = {6, 7, 10};
    struct loads l[COUNT_OF(line)];
    loads_before(text, strlen(text), line, COUNT_OF(line), l);
    CHECK_EQ(l[0].n, 3);
    CHECK_EQ(l[1].n, 0);
    CHECK_EQ(l[2].n, 4);
}

TEST(hostile_text_ends)
{
    struct buf b = {0};
    for (int i = 0; i < 3000; i++)
        buf_printf(&b, "loaded meta data with %d%%\nrequest %d\nloaded meta data with \n", i, i);
    buf_puts(&b, "post");
    struct loads l;
    loads_before(b.data, b.len, &(uint32_t){UINT32_MAX}, 1, &l);
    CHECK_EQ(l.n, 3000);
    CHECK_EQ(l.line[LOADS_LINES - 1], 3 * LOADS_LINES);
    loads_before("", 0, &(uint32_t){1}, 1, &l);
    CHECK_EQ(l.n, 0);
    CHECK_EQ(told("\\n\\n\n\\").n, 0);
    buf_free(&b);
}

CHECK_MAIN
