/* What servers tell of their load, by each one's names; and texts that nobody should believe. */
#include "engine/remote/load.h"
#include "engine/remote/metrics.h"
#include "tests/check.h"

static struct load loaded(const char *text)
{
    struct load l;
    load_read(text, strlen(text), &l);
    return l;
}

/* Every line that is one, with its name, its labels and its number: "name|labels|number;". */
static const char *lines_of(const char *text, size_t n)
{
    static char out[1000];
    struct metric m;
    size_t len = 0;
    out[0] = '\0';
    for (size_t at = 0; metrics_next(text, n, &at, &m);)
        len += (size_t)snprintf(out + len, sizeof out - len, "%.*s|%.*s|%g;", (int)m.n_name, m.name, (int)m.n_labels,
                                m.labels, m.value);
    return out;
}

TEST(a_line_is_a_name_labels_and_a_number)
{
    static const struct { const char *text, *lines; } row[] = {
        {"", ""}, {"a 1", "a||1;"}, {"a 1\n", "a||1;"}, {"\n\na\t1.5e3 1700000000\r\nb 0\n", "a||1500;b||0;"},
        {"# HELP a b\n# TYPE a gauge\na 2", "a||2;"},
        {"a{x=\"1\",y=\"} 9\"} 3", "a|x=\"1\",y=\"} 9\"|3;"}, {"a{x=\"\\\"}\"} 4", "a|x=\"\\\"}\"|4;"},
        {"a{} 5", "a||5;"}, {"a{x=\"1\"}6", "a|x=\"1\"|6;"},
        {"a", ""}, {"a ", ""}, {"{x=\"1\"} 7", ""}, {" a 8", ""}, {"a{x=\"1\" 9", ""}, {"a{x=\"} 1", ""},
        {"a NaN", ""}, {"a +Inf", ""}, {"a -1", ""}, {"a 1x", ""}, {"a 0x10\nb 1e400\nc 2", "a||16;c||2;"},
        {"<html>\n<p>no metrics</p>", ""},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) CHECK_STR(lines_of(row[i].text, strlen(row[i].text)), row[i].lines);
    char *long_number = malloc(1000);
    memset(long_number, '1', 1000);
    memcpy(long_number, "a ", 2);
    CHECK_STR(lines_of(long_number, 1000), "");
    free(long_number);
}

TEST(a_label_is_found_by_its_name_and_is_one_line)
{
    static const char text[] = "a{model=\"no\",model_name=\"a \\\"b\\\"\\\\\\n\x1b[2Jc\",class=\"KV\"} 1";
    struct metric m;
    char out[64];
    size_t at = 0;
    CHECK(metrics_next(text, sizeof text - 1, &at, &m));
    CHECK(metric_label(&m, "model_name", out, sizeof out));
    CHECK(strstr(out, "a \"b\"\\ ") == out && !strchr(out, '\x1b') && !strchr(out, '\n'));
    CHECK(metric_label(&m, "class", out, sizeof out));
    CHECK_STR(out, "KV");
    CHECK(metric_label(&m, "model", out, sizeof out));
    CHECK_STR(out, "no");
    CHECK(!metric_label(&m, "name", out, sizeof out));
    CHECK_STR(out, "");
    CHECK(metric_label(&m, "model_name", out, 4));
    CHECK(strlen(out) < 4);
    static const char *const bad[] = {"a{x} 1", "a{x=} 1", "a{x=y} 1", "a{x=\"1\" y=2} 1", "a{,,=\"\"} 1"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        at = 0;
        CHECK(metrics_next(bad[i], strlen(bad[i]), &at, &m));
        CHECK(!metric_label(&m, "y", out, sizeof out));
    }
}

TEST(each_server_is_known_by_its_names)
{
    struct load l = loaded("vllm:num_requests_running{model_name=\"m/8b\",engine=\"0\"} 3\n"
                           "vllm:num_requests_running{model_name=\"m/8b\",engine=\"1\"} 4\n"
                           "vllm:num_requests_waiting 2\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.25\n"
                           "vllm:kv_cache_usage_perc{engine=\"1\"} 0.5\nvllm:num_preemptions_total 7\n"
                           "vllm:prompt_tokens_total 100\nvllm:generation_tokens_total 200\n"
                           "vllm:prefix_cache_queries_total 90\nvllm:prefix_cache_hits_total 30\n"
                           "vllm:time_to_first_token_seconds_bucket{le=\"1\"} 9\n"
                           "vllm:time_to_first_token_seconds_sum 4.5\nvllm:time_to_first_token_seconds_count 9\n");
    CHECK_EQ(l.kind, SERVER_VLLM);
    CHECK_STR(l.model, "m/8b");
    CHECK(l.running == 7 && l.waiting == 2 && l.kv_permille == 500);
    static const double counts[LOAD_COUNTS] = {7, 100, 200, 90, 30, 4.5, 9};
    for (int i = 0; i < LOAD_COUNTS; i++) CHECK(l.count[i] == counts[i]);
    CHECK(l.ceiling == -1 && l.tokens[LOAD_POOL] == -1 && l.bytes[LEDGER_KV] == -1 && l.model_bytes == -1);

    l = loaded("sglang:num_running_reqs 3\nsglang:num_queue_reqs 1\nsglang:token_usage 0.91\n"
               "sglang:num_retracted_requests_total 2\nsglang:max_total_num_tokens 4096\n"
               "sglang:prompt_tokens_total 40\nsglang:cached_tokens_total 10\n");
    CHECK(l.kind == SERVER_SGLANG && l.running == 3 && l.waiting == 1 && l.kv_permille == 910);
    CHECK(l.count[LOAD_LOST] == 2 && l.count[LOAD_HITS] == 10 && l.count[LOAD_ASKED] == 40);
    CHECK(l.tokens[LOAD_POOL] == 4096 && l.count[LOAD_GENERATED] == -1);

    l = loaded("llamacpp:requests_processing 1\nllamacpp:requests_deferred 5\nllamacpp:tokens_predicted_total 11\n");
    CHECK(l.kind == SERVER_LLAMA && l.running == 1 && l.waiting == 5 && l.kv_permille == -1);
    CHECK(l.count[LOAD_GENERATED] == 11);

    l = loaded("tgi_batch_current_size 2\ntgi_queue_size 0\ntgi_request_generated_tokens_sum 6\n");
    CHECK(l.kind == SERVER_TGI && l.running == 2 && l.waiting == 0 && l.count[LOAD_GENERATED] == 6);

    l = loaded("vllm:num_requests_running 1\nplimsoll:memory_bytes{class=\"weights\"} 1000\n"
               "plimsoll:memory_bytes{class=\"KV pool\"} 500\nplimsoll:memory_bytes{class=\"no such\"} 9\n"
               "plimsoll:memory_ceiling_bytes 2000\nplimsoll:kv_tokens{state=\"pool\"} 64\n"
               "plimsoll:kv_tokens{state=\"reserved\"} 32\nplimsoll:kv_tokens{state=\"filled\"} 16\n"
               "plimsoll:kv_tokens{state=\"cached\"} 8\n");
    CHECK(l.kind == SERVER_PLIMSOLL && l.running == 1 && l.ceiling == 2000);
    CHECK(l.bytes[LEDGER_WEIGHTS] == 1000 && l.bytes[LEDGER_KV] == 500 && l.bytes[LEDGER_TEXT] == -1);
    CHECK(l.tokens[LOAD_POOL] == 64 && l.tokens[LOAD_RESERVED] == 32 && l.tokens[LOAD_FILLED] == 16);
    CHECK(l.tokens[LOAD_CACHED] == 8);

    CHECK_EQ(loaded("process_cpu_seconds_total 3\nup 1\n").kind, SERVER_OTHER);
}

TEST(figures_that_cannot_be_are_none)
{
    struct load l = loaded("vllm:kv_cache_usage_perc 7\nvllm:num_requests_running 1e300\nvllm:num_requests_waiting -3\n"
                           "vllm:prompt_tokens_total nan\n");
    CHECK(l.kv_permille == 1000 && l.running == -1 && l.waiting == -1 && l.count[LOAD_PROMPT] == -1);
    l = loaded("vllm:num_requests_running 1e15\nvllm:num_requests_running 1e15\nvllm:prompt_tokens_total 1e15\n"
               "vllm:prompt_tokens_total 1e15\n");
    CHECK(l.running == 1000000000000000 && l.count[LOAD_PROMPT] == 1e15);
}

static int ollama(const char *json, struct load *l) { return load_read_ollama(json, strlen(json), l); }

TEST(ollama_lists_what_it_has_loaded)
{
    struct load l;
    CHECK_EQ(ollama("{\"models\":[{\"name\":\"a:8b\",\"size\":1000,\"size_vram\":600},{\"name\":\"b\",\"size\":10,"
                    "\"size_vram\":10}]}", &l), 0);
    CHECK_EQ(l.kind, SERVER_OLLAMA);
    CHECK_STR(l.model, "a:8b");
    CHECK(l.model_bytes == 1010 && l.model_device_bytes == 610 && l.running == -1);
    CHECK_EQ(ollama("{\"models\":[]}", &l), 0);
    CHECK(l.model_bytes == 0 && !*l.model);
    CHECK_EQ(ollama("{\"models\":[1,{},{\"name\":7,\"size\":\"9\",\"size_vram\":-4}]}", &l), 0);
    CHECK(l.model_bytes == 0 && l.model_device_bytes == 0 && !*l.model);
    static const char *const bad[] = {"", "{}", "[]", "{\"models\":{}}", "{\"models\":[", "null"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_EQ(ollama(bad[i], &l), -1);
        CHECK_EQ(l.kind, SERVER_OTHER);
    }
}

CHECK_MAIN
