/* What a server is asked: the list of messages that every chat template takes, how each server names what is sampled,
 * what it cannot be asked for; and what is read out of what servers say of themselves. */
#include "engine/remote/ask.h"
#include "tests/check.h"
#include "tests/quoted.h"
#include <jansson.h>

#define TEXT(t) .text = (t), .len = sizeof(t) - 1

static json_t *asked(enum server_kind kind, const struct request *r)
{
    const struct server s = {.kind = kind, .model = "some/model"};
    struct buf body = {0};
    struct err err = {0};
    CHECK_EQ(remote_ask(&s, r, &body, &err), 0);
    json_t *o = json_loadb(body.data, body.len, 0, NULL);
    CHECK(o != NULL);
    buf_free(&body);
    return o;
}

static void check_messages(const struct msg *msgs, int n, const char *expected)
{
    const struct request r = {.msgs = msgs, .n_msgs = n, .max_tokens = 5, .sampling = SAMPLING_GREEDY};
    json_t *o = asked(SERVER_VLLM, &r), *want = json_loads(quoted(expected), 0, NULL);
    CHECK(want != NULL);
    if (!json_equal(json_object_get(o, "messages"), want)) {
        char *got = json_dumps(json_object_get(o, "messages"), 0);
        check_fail(__FILE__, __LINE__, "messages are %s", got);
    }
    json_decref(o);
    json_decref(want);
}

TEST(messages_alternate)
{
    static const struct msg plain[] = {{.role = ROLE_SYSTEM, TEXT("Be brief.")}, {.role = ROLE_USER, TEXT("Hi")},
                                       {.role = ROLE_ASSISTANT, TEXT("Hello.")}, {.role = ROLE_USER, TEXT("Bye")}};
    check_messages(plain, 4, "[{'role':'system','content':'Be brief.'},{'role':'user','content':'Hi'},"
                             "{'role':'assistant','content':'Hello.'},{'role':'user','content':'Bye'}]");
    static const struct msg fronts[] = {{.role = ROLE_SYSTEM, TEXT("A")},
                                        {.role = ROLE_SYSTEM, TEXT("B"), .tools = true},
                                        {.role = ROLE_USER, TEXT("x")}, {.role = ROLE_USER, TEXT("y")}};
    check_messages(fronts, 4, "[{'role':'system','content':'A\\n\\nB'},{'role':'user','content':'x\\n\\ny'}]");
    /* a system message behind the front, and a tool's results, are a user's */
    static const struct msg tools[] = {
        {.role = ROLE_USER, TEXT("read it")}, {.role = ROLE_ASSISTANT, TEXT("<tool_call>{}</tool_call>"), .call = 1},
        {.role = ROLE_TOOL, TEXT("one"), .call = 1}, {.role = ROLE_TOOL, TEXT("two"), .call = 2},
        {.role = ROLE_SYSTEM, TEXT("note")}, {.role = ROLE_ASSISTANT, TEXT("done")},
        {.role = ROLE_SYSTEM, TEXT("more")}};
    check_messages(tools, 7, "[{'role':'user','content':'read it'},"
                             "{'role':'assistant','content':'<tool_call>{}</tool_call>'},"
                             "{'role':'user','content':'<tool_response>\\none\\n</tool_response>\\n\\n"
                             "<tool_response>\\ntwo\\n</tool_response>\\n\\nnote'},"
                             "{'role':'assistant','content':'done'},"
                             "{'role':'user','content':'more'}]");
}

TEST(how_much_to_think_is_told_if_it_was_said)
{
    struct msg one = {.role = ROLE_USER, TEXT("Hi")};
    const struct request r = {.msgs = &one, .n_msgs = 1, .max_tokens = 5, .sampling = SAMPLING_GREEDY};
    for (int e = EFFORT_USUAL; e < EFFORTS; e++) {
        one.effort = (enum effort)e;
        json_t *o = asked(SERVER_VLLM, &r), *said = json_object_get(o, "reasoning_effort");
        CHECK(e == EFFORT_USUAL ? !said : json_is_string(said) &&
              strcmp(json_string_value(said), effort_name((enum effort)e)) == 0);
        json_decref(o);
    }
}

TEST(any_bytes_become_text)
{
    static const struct msg odd[] = {{.role = ROLE_USER, TEXT("a\0b\xff\xc3(\xe2\x82 \xf0\x9f\x98\x80")}};
    check_messages(odd, 1, "[{'role':'user','content':'a\xef\xbf\xbd" "b\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd "
                           "\xf0\x9f\x98\x80'}]");
    static const struct msg none[] = {{.role = ROLE_USER, TEXT("")}};
    check_messages(none, 1, "[{'role':'user','content':''}]");
}

static double number(const json_t *o, const char *name)
{
    const json_t *v = json_object_get(o, name);
    return json_is_number(v) ? json_number_value(v) : -1;
}

TEST(each_server_is_asked_for_what_it_knows)
{
    static const struct msg msg = {.role = ROLE_USER, TEXT("x")};
    struct request r = {.msgs = &msg, .n_msgs = 1, .max_tokens = 77,
                        .sampling = {.temp = 0.25f, .top_k = 40, .top_p = 0.5f, .min_p = 0.125f, .repeat = 1.5f,
                                     .frequency = 0.5f, .presence = -0.5f, .seed = 42}};
    json_t *o = asked(SERVER_VLLM, &r);
    CHECK_STR(json_string_value(json_object_get(o, "model")), "some/model");
    CHECK(json_is_true(json_object_get(o, "stream")));
    CHECK(json_is_true(json_object_get(json_object_get(o, "stream_options"), "include_usage")));
    static const struct { const char *name; double is; } vllm[] = {
        {"max_tokens", 77}, {"temperature", 0.25}, {"top_p", 0.5}, {"seed", 42}, {"frequency_penalty", 0.5},
        {"presence_penalty", -0.5}, {"top_k", 40}, {"min_p", 0.125}, {"repetition_penalty", 1.5},
        {"repeat_penalty", -1}};
    for (size_t i = 0; i < COUNT_OF(vllm); i++) CHECK_NEAR(number(o, vllm[i].name), vllm[i].is, 0);
    json_decref(o);
    o = asked(SERVER_LLAMA, &r);
    CHECK_NEAR(number(o, "repeat_penalty"), 1.5, 0);
    CHECK_NEAR(number(o, "repetition_penalty"), -1, 0);
    json_decref(o);
    o = asked(SERVER_OTHER, &r); /* OpenAI's fields alone: others may be refused */
    static const char *const more[] = {"top_k", "min_p", "repetition_penalty", "repeat_penalty"};
    for (size_t i = 0; i < COUNT_OF(more); i++) CHECK(!json_object_get(o, more[i]));
    CHECK_NEAR(number(o, "temperature"), 0.25, 0);
    json_decref(o);
    r.sampling.temp = 0.7f; /* as it was typed */
    o = asked(SERVER_OTHER, &r);
    CHECK_NEAR(number(o, "temperature"), 0.7, 0);
    json_decref(o);
    r.sampling = SAMPLING_GREEDY;
    r.sampling.seed = UINT64_MAX; /* JSON's integers end at 2^63 - 1 */
    o = asked(SERVER_PLIMSOLL, &r);
    CHECK(json_integer_value(json_object_get(o, "seed")) >= 0);
    CHECK(!json_object_get(o, "frequency_penalty") && !json_object_get(o, "repetition_penalty"));
    json_decref(o);
}

TEST(what_no_server_can_be_asked_for_is_refused_by_its_name)
{
    static const struct msg msg = {.role = ROLE_USER, TEXT("x")};
    static const int32_t ids[] = {1, 2};
    static const uint32_t allowed[] = {1};
    static const struct kern_bias bias = {.id = 1, .add = 1};
    static const struct request_grammar grammar = {.schema = "{}", .n_schema = 2};
    const struct request plain = {.msgs = &msg, .n_msgs = 1, .max_tokens = 7, .sampling = SAMPLING_GREEDY};
    struct request r[7] = {plain, plain, plain, plain, plain, plain, plain};
    static const char *const named[] = {"ready tokens", "likeliest", "log-probabilities", "allowed", "bias", "grammar",
                                        "behind its end"};
    r[0].ids = ids, r[0].n_ids = 2;
    r[1].top_n = 2;
    r[2].score = true;
    r[3].allowed = allowed;
    r[4].sampling.bias = &bias, r[4].sampling.n_bias = 1;
    r[5].grammar = &grammar;
    r[6].ignore_end = true;
    for (size_t i = 0; i < COUNT_OF(r); i++) {
        const struct server s = {.model = "m"};
        struct buf body = {0};
        struct err err = {0};
        CHECK_EQ(remote_ask(&s, &r[i], &body, &err), ENGINE_BAD_REQUEST);
        CHECK(strstr(err.text, named[i]) != NULL);
        buf_free(&body);
    }
}

/* ---------------------------------------------------------------- what servers say of themselves */

static int models(const char *json, const char *model, struct server *s, struct err *err)
{
    const char *q = quoted(json);
    *s = (struct server){0};
    *err = (struct err){0};
    return server_read_models(q, strlen(q), model, s, err);
}

TEST(lists_of_models_tell_who_serves_what)
{
    static const struct { const char *json; enum server_kind kind; const char *model; int64_t ctx; } known[] = {
        {"{'object':'list','data':[{'id':'Qwen/Qwen3-8B','object':'model','owned_by':'vllm','max_model_len':32768}]}",
         SERVER_VLLM, "Qwen/Qwen3-8B", 32768},
        {"{'data':[{'id':'m','owned_by':'sglang','max_model_len':8192}]}", SERVER_SGLANG, "m", 8192},
        {"{'models':[],'data':[{'id':'x.gguf','owned_by':'llamacpp','meta':{'n_ctx_train':131072}}]}", SERVER_LLAMA,
         "x.gguf", 0},
        {"{'data':[{'id':'plimsoll-tiny','owned_by':'plimsoll','max_model_len':4096}]}", SERVER_PLIMSOLL,
         "plimsoll-tiny", 4096},
        {"{'data':[{'id':'llama3:8b','owned_by':'library'}]}", SERVER_OLLAMA, "llama3:8b", 0},
        {"{'data':[{'id':'gpt','owned_by':'openai','max_model_len':-5}]}", SERVER_OTHER, "gpt", 0},
        {"{'data':[{'id':'gpt','max_model_len':1e30}]}", SERVER_OTHER, "gpt", 0},
    };
    struct server s;
    struct err err;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        CHECK_EQ(models(known[i].json, NULL, &s, &err), 0);
        CHECK_EQ(s.kind, known[i].kind);
        CHECK_STR(s.model, known[i].model);
        CHECK_EQ(s.ctx, known[i].ctx);
    }
}

TEST(of_several_models_one_has_to_be_named)
{
    static const char two[] = "{'data':[{'id':'a','owned_by':'vllm','max_model_len':1},"
                              "{'id':'b\\n\\u001b[2J','max_model_len':2}]}";
    struct server s;
    struct err err;
    CHECK_EQ(models(two, NULL, &s, &err), ENGINE_BAD_REQUEST);
    CHECK(strstr(err.text, "--remote-model") && strstr(err.text, ": a, b [2J"));
    CHECK_EQ(models(two, "a", &s, &err), 0);
    CHECK_STR(s.model, "a");
    CHECK_EQ(s.ctx, 1);
    CHECK_EQ(models(two, "c", &s, &err), ENGINE_BAD_REQUEST);
    CHECK(strstr(err.text, "no model \"c\"") && strstr(err.text, "a, b [2J"));
    static const char *const none[] = {"{'data':[]}", "{'data':[{}]}", "{'data':{}}", "[]", "{}", "", "x",
                                       "{'data':[{'id':7}]}", "{'data':[{'id':''}]}", "{'error':'no'}"};
    for (size_t i = 0; i < COUNT_OF(none); i++) CHECK_EQ(models(none[i], NULL, &s, &err), ENGINE_FAULT);
    struct buf many = {0};
    buf_puts(&many, "{'data':[");
    for (int i = 0; i < 100; i++) buf_printf(&many, "%s{'id':'model-number-%d'}", i ? "," : "", i);
    buf_puts(&many, "]}");
    CHECK_EQ(models(many.data, NULL, &s, &err), ENGINE_BAD_REQUEST);
    CHECK(strstr(err.text, "model-number-0, model-number-1") && strstr(err.text, ", ..."));
    buf_free(&many);
}

static struct engine_server figures(const char *text)
{
    struct engine_server s;
    const char *q = quoted(text);
    server_read_metrics(q, strlen(q), &s);
    return s;
}

static void check_figures(const char *text, int64_t kv, int64_t running, int64_t waiting, int64_t preempted)
{
    struct engine_server s = figures(text);
    CHECK_EQ(s.kv_permille, kv);
    CHECK_EQ(s.running, running);
    CHECK_EQ(s.waiting, waiting);
    CHECK_EQ(s.preempted, preempted);
}

TEST(figures_are_read_by_each_servers_names)
{
    check_figures("# HELP vllm:kv_cache_usage_perc x\n# TYPE vllm:kv_cache_usage_perc gauge\n"
                  "vllm:kv_cache_usage_perc{engine='0',model_name='a} b'} 0.4321\n"
                  "vllm:num_requests_running{engine='0'} 12.0\n"
                  "vllm:num_requests_waiting{engine='0'} 3.0\nvllm:num_preemptions_total{engine='0'} 7.0 1700000000\n",
                  432, 12, 3, 7);
    /* two engines: requests are added up, the fuller pool counts */
    check_figures("vllm:gpu_cache_usage_perc{e='0'} 0.25\nvllm:gpu_cache_usage_perc{e='1'} 0.75\n"
                  "vllm:num_requests_running{e='0'} 1\nvllm:num_requests_running{e='1'} 2", 750, 3, -1, -1);
    check_figures("sglang:token_usage 0.9\nsglang:num_running_reqs 4\nsglang:num_queue_reqs 5\n"
                  "sglang:num_retracted_requests_total 6\n", 900, 4, 5, 6);
    check_figures("llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n", -1, 2, 1, -1);
    check_figures("tgi_batch_current_size 8\ntgi_queue_size 9\n", -1, 8, 9, -1);
    /* what is no figure is none */
    check_figures("vllm:num_requests_running NaN\nvllm:num_requests_waiting -1\nvllm:kv_cache_usage_perc +Inf\n"
                  "vllm:num_preemptions_total 1e300\nvllm:num_requests_running{x\nvllm:num_requests_running\n"
                  "vllm:num_requests_running_total 5\n{} 1\n 1\n\n", -1, -1, -1, -1);
    check_figures("vllm:kv_cache_usage_perc 17\n", 1000, -1, -1, -1);
    check_figures("tgi_queue_size 1e15\ntgi_queue_size 1e15\n", -1, -1, 1000000000000000, -1); /* no sum runs over */
    check_figures("", -1, -1, -1, -1);
}

CHECK_MAIN
