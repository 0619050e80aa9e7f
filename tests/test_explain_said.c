/* test_explain_said.c - what explain says beside the cause: sums, fixes, what to look at next. */
#include "tests/explain_rig.h"

static struct verdict v[EXPLAIN_MOST];

static int explain(const char *text) { return explain_text(text, strlen(text), v, EXPLAIN_MOST); }

static bool says(const char lines[][VERDICT_TEXT], int n, const char *part)
{
    for (int i = 0; i < n; i++)
        if (strstr(lines[i], part)) return true;
    return false;
}

static bool fixed_by(const char *how)
{
    for (int i = 0; i < v[0].fixes; i++)
        if (strstr(v[0].fix[i].how, how)) return true;
    return false;
}

/* A client's traceback alone: the cause is not in it, and not guessed. */
TEST(an_engine_that_is_dead_sends_to_the_log_that_says_why)
{
    static const char *const text[] = {
        "Traceback (most recent call last):\n  File \"/app/main.py\", line 20, in main\n"
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the "
        "root cause.\n",
        "openai.InternalServerError: Error code: 500 - {'error': {'message': 'EngineCore encountered an issue. See "
        "stack trace (above) for the root cause.', 'type': 'InternalServerError', 'param': None, 'code': 500}}\n",
        "vllm.engine.async_llm_engine.AsyncEngineDeadError: Background loop has errored already.\n"
        "openai.APIConnectionError: Connection error.\n"};
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        CHECK_EQ(explain(text[i]), 1);
        CHECK_EQ(v[0].cause, CAUSE_UNKNOWN);
        CHECK_EQ(v[0].stack, STACK_VLLM);
        CHECK_EQ(v[0].line, i == 0 ? 3 : 1);
        CHECK(says(v[0].evidence, v[0].evidences, "in the server's log"));
        CHECK(says(v[0].next, v[0].nexts, "docker logs NAME") && says(v[0].next, v[0].nexts, "grep -nE"));
        for (int k = 0; k < v[0].nexts; k++) CHECK(strlen(v[0].next[k]) < VERDICT_TEXT - 1);
        CHECK_EQ(v[0].fixes, 0);
        CHECK_EQ(explain_next_question(&v[0], NULL), -1);
    }
    CHECK_EQ(v[0].wrapped_by, STACK_OPENAI);
    /* What stands above it is the cause, be it memory or not. */
    CHECK_EQ(explain("(EngineCore pid=1) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
                     "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n"), 1);
    CHECK(v[0].cause != CAUSE_UNKNOWN && v[0].cause != CAUSE_NOT_MEMORY && v[0].line == 1);
    CHECK_EQ(explain("(EngineCore pid=1) RuntimeError: CUDA error: an illegal memory access was encountered\n"
                     "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n"), 1);
    CHECK(v[0].cause == CAUSE_NOT_MEMORY && v[0].line == 1);
}

/* llama.cpp goes on where it could not make a model fit: alone that is a warning, and behind it is the failure. */
TEST(a_fit_that_gave_up_says_what_was_set_by_hand)
{
#define GAVE_UP(why) "W common_fit_params: failed to fit params to free device memory: " why ", abort\n"
#define TOO_MUCH                                                                                                     \
    "I common_params_fit_impl: projected to use 24840 MiB of device memory vs. 22341 MiB of free device memory\n"     \
    "I common_params_fit_impl: cannot meet free memory target of 1024 MiB, need to reduce device memory by 3523 MiB\n"
    static const struct { const char *text, *next; enum cause cause; enum sure sure; } row[] = {
        {TOO_MUCH GAVE_UP("n_gpu_layers already set by user to 99"), "leave it out", CAUSE_WEIGHTS, SURE_LIKELY},
        {TOO_MUCH GAVE_UP("model_params::tensor_buft_overrides already set by user"), "--n-cpu-moe", CAUSE_WEIGHTS,
         SURE_LIKELY},
        {GAVE_UP("model_params::tensor_split already set by user"), "--tensor-split", CAUSE_WEIGHTS, SURE_GUESS},
        {GAVE_UP("llama_params_fit is not implemented for SPLIT_MODE_TENSOR"), "--split-mode", CAUSE_WEIGHTS,
         SURE_GUESS},
        {GAVE_UP("was unable to fit model into system memory by reducing context"), "RAM", CAUSE_HOST, SURE_GUESS},
        {"llama_params_fit: encountered an error while trying to fit params to free device memory: failed to load "
         "model\n", "trial", CAUSE_UNKNOWN, SURE_GUESS},
        {GAVE_UP("n_gpu_layers already set by user to 99") "main: model loaded\nmain: server is listening on "
         "http://127.0.0.1:8080\n", "leave it out", CAUSE_NOT_MEMORY, SURE_LIKELY}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        CHECK_EQ(explain(row[i].text), 1);
        CHECK_EQ(v[0].cause, row[i].cause);
        CHECK_EQ(v[0].sure, row[i].sure);
        CHECK_EQ(v[0].stack, STACK_LLAMA_CPP);
        CHECK(v[0].line > 0 && strstr(v[0].what, "fit params"));
        CHECK(says(v[0].next, v[0].nexts, row[i].next) && says(v[0].next, v[0].nexts, "llama-fit-params"));
        for (int k = 0; k < v[0].nexts; k++) CHECK(strlen(v[0].next[k]) < VERDICT_TEXT - 1);
        CHECK_EQ(says(v[0].evidence, v[0].evidences, "24.26 GiB and 21.82 GiB are free: 2.44 GiB too much"), i < 2);
    }
    CHECK_EQ(explain(TOO_MUCH "I common_params_fit_impl: context size set by user to 131072 -> no change\n"
                     GAVE_UP("model_params::tensor_buft_overrides already set by user")
                     "E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 14656.12 MiB on device 0: cudaMalloc "
                     "failed: out of memory\nE graph_reserve: failed to allocate compute buffers\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_ACTIVATIONS);
    CHECK_EQ(v[0].line, 5);
    CHECK(says(v[0].evidence, v[0].evidences, "line 4: --fit had given up"));
    CHECK(says(v[0].evidence, v[0].evidences, "smaller by 3.44 GiB"));
    CHECK(says(v[0].next, v[0].nexts, "--n-cpu-moe") && says(v[0].next, v[0].nexts, "--ctx-size is set"));
    /* One that fitted has nothing to say. */
    CHECK_EQ(explain("llama_params_fit: successfully fit params to free device memory\n"), 0);
}

/* llama-server at the end of its context, of one version: an assertion, and the process is gone. */
TEST(an_assertion_on_a_view_of_the_cache_is_the_end_of_the_context)
{
    CHECK_EQ(explain("slot update_slots: id  0 | task 0 | new prompt, n_ctx_slot = 4096, n_keep = 0, n_prompt_tokens = "
                     "3120\nslot update_slots: id  0 | task 0 | prompt done, n_past = 3120, n_tokens = 1072\n"
                     "C:\\llama.cpp\\ggml\\src\\ggml.c:1554: GGML_ASSERT(view_src == NULL || data_size == 0 || "
                     "data_size + view_offs <= ggml_nbytes(view_src)) failed\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_CONTEXT);
    CHECK_EQ(v[0].sure, SURE_LIKELY);
    CHECK_EQ(v[0].stack, STACK_LLAMA_CPP);
    CHECK(says(v[0].evidence, v[0].evidences, "prompt's 3120 tokens are within the limit of 4096"));
    CHECK(fixed_by("--ctx-size"));
    CHECK_EQ(explain("llama.cpp/ggml/src/ggml.c:3210: GGML_ASSERT(ggml_can_mul_mat(a, b)) failed\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_NOT_MEMORY);
}

TEST(a_first_layer_on_the_cpu_is_most_often_a_want_of_room)
{
    CHECK_EQ(explain("load_tensors: offloaded 61/66 layers to GPU\n"
                     "W sched_reserve: layer 0 is assigned to device CPU but the fused Gated Delta Net tensor is "
                     "assigned to device CUDA0 (usually due to missing support)\n"
                     "W sched_reserve: fused Gated Delta Net (chunked) not supported, set to disabled\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_WEIGHTS);
    CHECK_EQ(v[0].sure, SURE_GUESS);
    CHECK_EQ(v[0].stack, STACK_LLAMA_CPP);
    CHECK_EQ(v[0].line, 2);
    CHECK(says(v[0].evidence, v[0].evidences, "of 66 layers 61 are on the device"));
    CHECK_EQ(explain("W sched_reserve: layer 0 is assigned to device CPU but the fused Gated Delta Net tensor is "
                     "assigned to device CUDA0 (usually due to missing support)\nI main: model loaded\n"), 1);
    CHECK_EQ(v[0].stack, STACK_LLAMA_CPP);
    CHECK(fixed_by("llama-server"));
    CHECK(says(v[0].next, v[0].nexts, "--ctx-size") && says(v[0].next, v[0].nexts, "--n-cpu-moe"));
    for (int k = 0; k < v[0].nexts; k++) CHECK(strlen(v[0].next[k]) < VERDICT_TEXT - 1);
}

/* Servers name the prompt, the answer or both together, in this order or in that. */
TEST(what_is_too_long_has_its_sum_whoever_says_so)
{
    static const struct { const char *text, *sum; enum stack whose; } row[] = {
        {"You passed 29310 input tokens and requested 4096 output tokens. However, the model's context length is only "
         "32768 tokens, resulting in a maximum input length of 28672 tokens. (parameter=input_tokens, value=29310)",
         "29310 tokens of the prompt and 4096 for the answer are 33406, and 32768 are the limit", STACK_VLLM},
        {"You passed 2049 input tokens and requested 0 output tokens. However, the model's context length is only 2048 "
         "tokens", "2049 tokens were asked for and 2048 are the limit", STACK_VLLM},
        {"'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 "
         "tokens and your request has 1200 input tokens (8192 > 8192 - 1200).",
         "1200 tokens of the prompt and 8192 for the answer are 9392, and 8192 are the limit", STACK_VLLM},
        {"ValueError: max_tokens=140000 cannot be greater than max_model_len=max_total_tokens=131072.",
         "an answer of up to 140000 tokens was asked for, and 131072 are the limit", STACK_VLLM},
        {"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3801 `inputs` tokens and "
         "512 `max_new_tokens`",
         "3801 tokens of the prompt and 512 for the answer are 4313, and 4096 are the limit", STACK_TGI},
        {"time=2026-09-12T10:00:00Z level=WARN source=runner.go:153 msg=\"truncating input prompt\" limit=4096 "
         "prompt=10231 keep=5 new=4096", "10231 tokens were asked for and 4096 are the limit", STACK_OLLAMA},
        {"Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of "
         "34000 tokens", "34000 tokens were asked for and 32768 are the limit", STACK_SGLANG},
        {"prompt is too long: 213462 tokens > 200000 maximum", "213462 tokens were asked for and 200000 are the limit",
         STACK_UNKNOWN},
        {"input length and `max_tokens` exceed context limit: 199211 + 20000 > 200000, decrease input length or "
         "`max_tokens` and try again",
         "199211 tokens of the prompt and 20000 for the answer are 219211, and 200000 are the limit", STACK_UNKNOWN},
        {"The input token count (1200345) exceeds the maximum number of tokens allowed (1048576).",
         "1200345 tokens were asked for and 1048576 are the limit", STACK_UNKNOWN}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        CHECK_EQ(explain(row[i].text), 1);
        CHECK_EQ(v[0].cause, CAUSE_CONTEXT);
        CHECK_EQ(v[0].stack, row[i].whose);
        if (!says(v[0].evidence, v[0].evidences, row[i].sum)) check_fail(row[i].sum, 1, "%s", v[0].evidence[0]);
        CHECK_EQ(v[0].nexts, 0); /* whose device it is does not matter */
    }
}

/* 137 is SIGKILL: by whom, it does not say. */
TEST(an_exit_code_says_that_a_process_was_ended_and_not_why)
{
    static const char ray[] = "The actor died unexpectedly. There are some potential root causes. (1) The process is "
                              "killed by SIGKILL by OOM killer due to high memory usage.\n";
    static const char *const bare[] = {
        "api-1 exited with code 137\n", "Killed\n", "Exit Code: 137\nReason: Error\n",
        "RuntimeError: worker terminated unexpectedly\n",
        "Worker proc VllmWorker-0 died unexpectedly, shutting down executor.\n", ray};
    for (size_t i = 0; i < COUNT_OF(bare); i++) {
        CHECK_EQ(explain(bare[i]), 1);
        CHECK_EQ(v[0].cause, CAUSE_HOST);
        CHECK(v[0].sure < SURE_CERTAIN);
        CHECK(says(v[0].evidence, v[0].evidences, "137 = 128 + 9"));
        CHECK(says(v[0].next, v[0].nexts, "dmesg"));
        CHECK(!says(v[0].next, v[0].nexts, explain_ask[ASK_DEVICE].words)); /* it was the machine's memory, if any */
        CHECK(explain_next_question(&v[0], NULL) == ASK_WHEN);
        CHECK(!explain_asks(&v[0], ASK_LENGTH, NULL));
    }
    const struct explain_answers hours = {.of = {[ASK_WHEN] = WHEN_HOURS}};
    CHECK_EQ(explain_with("Killed\n", 7, &hours, v, EXPLAIN_MOST), 1);
    CHECK_EQ(v[0].cause, CAUSE_LEAK);
    CHECK(!explain_asks(&v[0], ASK_GAP, &hours) && explain_next_question(&v[0], &hours) == ASK_LOAD);
    CHECK(!says(v[0].not_it, v[0].nots, "pieces"));
    CHECK_EQ(explain("Reason: OOMKilled\nExit Code: 137\n"), 1);
    CHECK_EQ(v[0].sure, SURE_CERTAIN);
    CHECK(!says(v[0].evidence, v[0].evidences, "137 = 128 + 9"));
}

/* vLLM's image and its own files have a client's name in theirs. */
TEST(an_image_called_vllm_openai_is_vllm_and_nobodys_client)
{
    static const struct { const char *text; enum stack whose; } row[] = {
        {"image: vllm/vllm-openai:latest\nRuntimeError: CUDA out of memory.\n", STACK_VLLM},
        {"3f1e0a2b9c1d   docker.io/vllm/vllm-openai:v0.11.0   \"vllm serve\"   Exited (137) 3 minutes ago   llm\n",
         STACK_VLLM},
        {"container oom 3f1e0a (image=vllm/vllm-openai:latest, name=llm)\n"
         "container die 3f1e0a (execDuration=12, exitCode=137, image=vllm/vllm-openai:latest, name=llm)\n",
         STACK_LINUX},
        {"  Normal  Pulled  12m  kubelet  Container image \"vllm/vllm-openai:v0.11.0\" already present on machine\n"
         "      Reason:       OOMKilled\n", STACK_KUBERNETES},
        {"  File \"/usr/lib/python3/dist-packages/vllm/entrypoints/openai/api_server.py\", line 9, in run_server\n"
         "torch.OutOfMemoryError: CUDA out of memory.\n", STACK_VLLM}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        CHECK_EQ(explain(row[i].text), 1);
        CHECK_EQ(v[0].stack, row[i].whose);
        CHECK_EQ(v[0].wrapped_by, STACK_UNKNOWN);
        CHECK(!says(v[0].next, v[0].nexts, "client's report"));
    }
    CHECK_EQ(explain("openai.BadRequestError: Error code: 400 - CUDA out of memory, says vllm/vllm-openai\n"), 1);
    CHECK_EQ(v[0].wrapped_by, STACK_OPENAI); /* that names both */
}

TEST(who_ends_a_process_before_the_kernel_does_is_heard)
{
    CHECK_EQ(explain("earlyoom[904]: low memory! at or below SIGTERM limits: mem  8.00%, swap 30.42%\n"
                     "earlyoom[904]: sending SIGTERM to process 2232050 uid 1000 \"llama-server\": badness 1022, "
                     "VmRSS 4514 MiB\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_HOST);
    CHECK_STR(v[0].where, "process 2232050");
    CHECK_EQ(verdict_has(&v[0], "resident")->value, 4514ull << 20);
}

/* llama-server's slots share the cells of its context: where these are full, fewer of them would end more requests. */
TEST(a_pool_that_is_full_and_one_that_could_not_be_had_are_mended_differently)
{
    CHECK_EQ(explain("srv  update_slots: decode: failed to find a memory slot for batch of size 256\n"
                     "srv  update_slots: failed to find free space in the KV cache, retrying with smaller batch size, "
                     "i = 0, n_batch = 128, ret = 1\n"
                     "slot update_slots: id  2 | task 812 | Context size has been exceeded.\n"
                     "srv    send_error: task id = 812, error: Context size has been exceeded.\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_KV);
    CHECK(fixed_by("--parallel 1") && fixed_by("--ctx-size 65536") && fixed_by("--kv-unified-per-slot"));
    CHECK(!fixed_by("--ctx-size 8192") && !fixed_by("--no-kv-offload"));
    CHECK(says(v[0].evidence, v[0].evidences, "the pool of keys and values was there"));
    CHECK_EQ(explain("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc "
                     "failed: out of memory\nllama_init_from_model: failed to initialize the context: failed to "
                     "allocate buffer for kv cache\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_KV);
    CHECK(fixed_by("--ctx-size 8192") && fixed_by("--no-kv-offload"));
    CHECK(!fixed_by("--parallel 1") && !fixed_by("--ctx-size 65536") && !fixed_by("--kv-unified-per-slot"));
}

/* A buffer of the CPU is RAM: what moves weights off the device would ask for more of it. */
TEST(weights_that_ram_does_not_hold_are_not_moved_there)
{
#define LOAD(buffer)                                                                                                 \
    "alloc_tensor_range: failed to allocate " buffer " buffer of size 42949672960\n"                                  \
    "llama_model_load: error loading model: unable to allocate " buffer " buffer\n"
    CHECK_EQ(explain(LOAD("CPU")), 1);
    CHECK_EQ(v[0].cause, CAUSE_WEIGHTS);
    CHECK(says(v[0].evidence, v[0].evidences, "40 GiB of the machine's own memory"));
    CHECK(fixed_by("--hf-repo") && !fixed_by("--n-gpu-layers"));
    CHECK(!fixed_by("--n-cpu-moe") && !fixed_by("--fit-target"));
    CHECK_EQ(explain(LOAD("CUDA0")), 1);
    CHECK_EQ(v[0].cause, CAUSE_WEIGHTS);
    CHECK(fixed_by("--n-gpu-layers") && fixed_by("--n-cpu-moe"));
    CHECK(!says(v[0].evidence, v[0].evidences, "own memory"));
}

TEST(what_is_free_on_a_device_is_not_its_number)
{
    static const struct { const char *at, *where; } row[] = {
        {"(19.77/22.05 GiB)", ""}, {"(67/79 GiB)", ""}, {"cuda:1 (19.77/22.05 GiB)", "GPU 1"}, {"1", "GPU 1"}};
    char text[300];
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        snprintf(text, sizeof text, "ValueError: Free memory on device %s on startup is less than desired GPU memory "
                 "utilization (0.92, 80.28 GiB).\n", row[i].at);
        CHECK_EQ(explain(text), 1);
        CHECK_STR(v[0].where, row[i].where);
    }
}

TEST(a_pool_that_is_full_says_how_much_was_looked_for)
{
    CHECK_EQ(explain("RuntimeError: Prefill out of memory. Try to lower your batch size.\n"
                     "Try to allocate 4096 tokens.\n"
                     "Available tokens: 1011\n"), 1);
    CHECK(says(v[0].evidence, v[0].evidences, "room for 4096 tokens was looked for"));
    CHECK(says(v[0].evidence, v[0].evidences, "it had 1011"));
    /* The pool of windows is full, and that of whole sequences is not. */
    CHECK_EQ(explain("RuntimeError: Prefill out of memory. Try to lower your batch size.\n"
                     "Try to allocate 8192 tokens.\n"
                     "Available full tokens: 899840 (full_available_size=11776 + full_evictable_size_=888064)\n"), 1);
    CHECK(says(v[0].evidence, v[0].evidences, "had no room for 8192 tokens more"));
}

TEST(the_high_water_mark_of_a_mac_has_its_sum_and_its_own_setting)
{
    CHECK_EQ(explain("RuntimeError: MPS backend out of memory (MPS allocated: 16.94 GB, other allocations: 1.03 GB, "
                     "max allowed: 18.13 GB). Tried to allocate 512.00 MB on private pool.\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_ALLOCATOR);
    CHECK(says(v[0].evidence, v[0].evidences, "are 18.47 GiB: 348.16 MiB more than allowed"));
    CHECK(fixed_by("PYTORCH_MPS_HIGH_WATERMARK_RATIO"));
}

#define STATS(used, waiting)                                                                                          \
    "(APIServer pid=88) INFO 11-02 10:00:15 [loggers.py:259] Engine 000: Avg prompt throughput: 612.1 tokens/s, "      \
    "Running: 30 reqs, Waiting: " waiting " reqs, GPU KV cache usage: " used "%, Prefix cache hit rate: 11.1%\n"

TEST(a_pool_that_is_full_while_requests_wait_is_told_although_nothing_failed)
{
    CHECK_EQ(explain(STATS("97.0", "8") STATS("99.9", "90") STATS("41.0", "3")), 1);
    CHECK_EQ(v[0].cause, CAUSE_CONCURRENCY);
    CHECK_EQ(v[0].stack, STACK_VLLM);
    CHECK_EQ(v[0].line, 2);
    CHECK(says(v[0].evidence, v[0].evidences, "99.9 % full, 30 requests run and 90 wait"));
    CHECK(fixed_by("--max-num-seqs"));
    CHECK_EQ(explain("[2026-09-12 10:00:20 TP0] Decode batch, #running-req: 41, #token: 64101, token usage: 0.98, gen "
                     "throughput (token/s): 1802.10, #queue-req: 112\n"), 1);
    CHECK(says(v[0].evidence, v[0].evidences, "98.0 % full, 41 requests run and 112 wait"));
    CHECK_EQ(explain(STATS("99.9", "0")), 0); /* full of what is kept, and nobody wants it */
    CHECK_EQ(explain(STATS("62.0", "40")), 0); /* they wait for something else */
    CHECK_EQ(explain(STATS("99.9", "90") "openai.APITimeoutError: Request timed out.\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_NOT_MEMORY);
    CHECK(says(v[0].next, v[0].nexts, "Is it the wait?  line 1: the pool"));
}

/* vLLM: one that is longer than the pool is never admitted, and is the first in the queue. */
TEST(requests_that_wait_while_none_runs_are_told)
{
#define IDLE(waiting) "Engine 000: Running: 0 reqs, Waiting: " waiting " reqs, GPU KV cache usage: 0.0%, Prefix\n"
    CHECK_EQ(explain(STATS("62.0", "3") "INFO vllm answered\n" IDLE("14") "INFO GET /health\n" IDLE("15")), 1);
    CHECK_EQ(v[0].cause, CAUSE_KV);
    CHECK_EQ(v[0].sure, SURE_GUESS);
    CHECK_EQ(v[0].stack, STACK_VLLM);
    CHECK_EQ(v[0].line, 5);
    CHECK(says(v[0].evidence, v[0].evidences, "the last 2 lines") && says(v[0].evidence, v[0].evidences, "15 wait"));
    CHECK(fixed_by("--max-model-len"));
    CHECK_EQ(explain("INFO vllm\n" IDLE("14")), 0);                       /* it may just have come */
    CHECK_EQ(explain("INFO vllm\n" IDLE("14") IDLE("15") STATS("40.0", "0")), 0); /* it went on */
    CHECK_EQ(explain("INFO vllm\n" IDLE("0") IDLE("0")), 0);
    CHECK_EQ(explain(IDLE("14") IDLE("15") "openai.APITimeoutError: Request timed out.\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_NOT_MEMORY);
}

#define VLLM_METRICS(run, wait, kv, lost)                                                                            \
    "# HELP vllm:num_requests_running Number of requests in model execution batches.\n"                              \
    "# TYPE vllm:num_requests_running gauge\n"                                                                       \
    "vllm:num_requests_running{engine=\"0\",model_name=\"Qwen/Qwen3-8B\"} " run "\n"                                  \
    "vllm:num_requests_waiting{engine=\"0\",model_name=\"Qwen/Qwen3-8B\"} " wait "\n"                                 \
    "# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.\n"                                   \
    "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"Qwen/Qwen3-8B\"} " kv "\n"                                    \
    "vllm:num_preemptions_total{engine=\"0\",model_name=\"Qwen/Qwen3-8B\"} " lost "\n"

/* What a server tells of its load, by the names and in the words of `plimsoll watch`. */
TEST(metrics_that_are_pasted_are_read_as_watch_reads_them)
{
    static const struct { const char *text, *evidence; enum cause cause; enum sure sure; enum stack whose; } row[] = {
        {VLLM_METRICS("31.0", "12.0", "0.987", "0.0"), "12 wait for KV memory, of which 99% is taken",
         CAUSE_CONCURRENCY, SURE_LIKELY, STACK_VLLM},
        {VLLM_METRICS("1.0", "3.0", "0.99", "0.0"), "3 wait for KV memory", CAUSE_KV, SURE_LIKELY, STACK_VLLM},
        {VLLM_METRICS("31.0", "12.0", "0.31", "0.0"), "not for KV memory, but for the number that may run at once",
         CAUSE_NOT_MEMORY, SURE_LIKELY, STACK_VLLM},
        {VLLM_METRICS("8.0", "0.0", "0.31", "842.0"), "842 times since the server was started: then",
         CAUSE_CONCURRENCY, SURE_GUESS, STACK_VLLM},
        {VLLM_METRICS("0.0", "14.0", "0.0", "0.0"), "14 wait and none runs", CAUSE_NOT_MEMORY, SURE_LIKELY, STACK_VLLM},
        {"sglang:num_running_reqs{model_name=\"m\"} 41.0\nsglang:num_queue_reqs{model_name=\"m\"} 112.0\n"
         "sglang:token_usage{model_name=\"m\"} 0.98\n# HELP sglang:num_retracted_requests_total Retract requests.\n",
         "112 wait for KV memory", CAUSE_CONCURRENCY, SURE_LIKELY, STACK_SGLANG},
        {"tgi_batch_current_size 4\ntgi_queue_size 9\ntgi_request_failure{err=\"overloaded\"} 3\n",
         "9 wait until one of those that run has ended", CAUSE_NOT_MEMORY, SURE_LIKELY, STACK_TGI},
        {"llamacpp:requests_processing 4\r\nllamacpp:requests_deferred 0\r\n", "all that came run", CAUSE_NOT_MEMORY,
         SURE_LIKELY, STACK_LLAMA_CPP}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        CHECK_EQ(explain(row[i].text), 1);
        CHECK_EQ(v[0].cause, row[i].cause);
        CHECK_EQ(v[0].sure, row[i].sure);
        CHECK_EQ(v[0].stack, row[i].whose);
        const bool told = says(v[0].evidence, v[0].evidences, row[i].evidence);
        if (!told) check_fail(row[i].evidence, 1, "%s", v[0].evidence[0]);
        CHECK(says(v[0].next, v[0].nexts, "plimsoll watch"));
        CHECK_EQ(v[0].fixes > 0, row[i].cause != CAUSE_NOT_MEMORY);
    }
    CHECK_EQ(explain("vllm:num_requests_running\n"), 0); /* a name, and no figure of it */
}

TEST(of_scrapes_behind_each_other_the_last_counts_and_what_grew_is_told)
{
    CHECK_EQ(explain(VLLM_METRICS("31.0", "12.0", "0.987", "842.0") VLLM_METRICS("8.0", "0.0", "0.5", "900.0")), 1);
    CHECK_EQ(v[0].cause, CAUSE_CONCURRENCY);
    CHECK_EQ(v[0].line, 10);
    CHECK(strstr(v[0].what, "50.0 % of the pool") && strstr(v[0].what, "8 run, 0 wait"));
    CHECK(says(v[0].evidence, v[0].evidences, "58 times between the first scrape and the last"));
    CHECK_EQ(explain(VLLM_METRICS("31.0", "12.0", "0.987", "842.0") VLLM_METRICS("8.0", "0.0", "0.5", "842.0")), 1);
    CHECK_EQ(v[0].cause, CAUSE_NOT_MEMORY);
    CHECK(says(v[0].evidence, v[0].evidences, "none of them between these scrapes"));
}

TEST(metrics_beside_a_failure_are_evidence_of_it)
{
    CHECK_EQ(explain("$ curl -s localhost:8000/metrics\n" VLLM_METRICS("31.0", "12.0", "0.987", "0.0")
                     "$ docker logs llm\nERROR torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB. "
                     "GPU 0 has a total capacity of 24 GiB of which 20 MiB is free.\n"), 1);
    CHECK_EQ(v[0].line, 10);
    CHECK(says(v[0].evidence, v[0].evidences, "the metrics (line 4): 98.7 % of the pool"));
    CHECK_EQ(explain(VLLM_METRICS("8.0", "0.0", "0.3", "0.0") "openai.APITimeoutError: Request timed out.\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_NOT_MEMORY);
    CHECK_EQ(v[0].line, 8);
    CHECK_EQ(explain(VLLM_METRICS("31.0", "12.0", "0.987", "0.0") "openai.APITimeoutError: Request timed out.\n"), 1);
    CHECK_EQ(v[0].cause, CAUSE_CONCURRENCY); /* it is the wait */
}

TEST(what_is_no_want_of_memory_has_a_next_step_where_the_seeds_lead_there)
{
    static const struct { const char *text, *next; } row[] = {
        {"vllm serve: error: unrecognized arguments: --swap-space 16", "--kv-offloading-size"},
        {"TypeError: EngineArgs.__init__() got an unexpected keyword argument 'swap_space'", "--kv-offloading-size"},
        {"ResponseError: server busy, please try again.  maximum pending requests exceeded (status code: 503)",
         "max_concurrency"},
        {"{\"error\":\"Model is overloaded\",\"error_type\":\"overloaded\"}", "max_concurrency"},
        {"langgraph.errors.GraphRecursionError: Recursion limit of 25 reached without hitting a stop condition.",
         "END"},
        {"ImportError: cannot import name 'add_messages' from 'langgraph.prebuilt' (/opt/x/__init__.py)",
         "langgraph.graph.message"},
        {"ImportError: cannot import name 'AgentRuntimeError' from 'autogen_core.exceptions'", "BadRequestError"},
        {"ImportError: cannot import name 'AgentExecutor' from 'langchain.agents'", "create_agent()"},
        {"ModuleNotFoundError: No module named 'langchain.memory'", "langchain_classic.memory"},
        {"LangChainDeprecationWarning: Please see the migration guide at: "
         "https://python.langchain.com/docs/versions/migrating_memory/", "SummarizationMiddleware"},
        {"TypeError: trim_messages() missing 1 required keyword-only argument: 'token_counter'", "approximate"},
        {"TypeError: LlamaForCausalLM.__init__() got an unexpected keyword argument 'load_in_4bit'",
         "BitsAndBytesConfig"},
        {"UserWarning: PYTORCH_CUDA_ALLOC_CONF is deprecated, use PYTORCH_ALLOC_CONF instead", "set both"},
        {"AssertionError: Expandable segments are not compatible with memory pool.", "--enable-sleep-mode"}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        CHECK_EQ(explain(row[i].text), 1);
        CHECK_EQ(v[0].cause, CAUSE_NOT_MEMORY);
        CHECK_EQ(v[0].nexts, 1);
        CHECK(strlen(v[0].next[0]) < VERDICT_TEXT - 1 && says(v[0].next, v[0].nexts, row[i].next));
    }
    CHECK_EQ(explain("RecursionError: maximum recursion depth exceeded"), 1);
    CHECK_EQ(v[0].nexts, 0);
}

/* What a teaching policy of ours dies with, and what we refuse to start: the cause is known by name, or by the sum. */
TEST(our_own_messages_are_judged_by_what_they_say)
{
    static const struct { const char *policy; enum cause cause; } row[] = {
        {"reserve", CAUSE_STATIC_BATCH}, {"no-limit", CAUSE_CONCURRENCY}, {"first-fit", CAUSE_FRAGMENTATION},
        {"f32", CAUSE_WEIGHTS}, {"reload", CAUSE_LEAK}, {"whole-batch", CAUSE_ACTIVATIONS}};
    char text[400];
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        snprintf(text, sizeof text, "plimsoll: out of memory (%s): request 7 wanted 23068672 bytes of activations; of "
                 "41943040 bytes under the ceiling 10961578 are free, 10961578 in one piece\n", row[i].policy);
        CHECK_EQ(explain(text), 1);
        if (v[0].cause != row[i].cause) check_fail(row[i].policy, 1, "%s", cause_name(v[0].cause));
        CHECK_EQ(v[0].stack, STACK_PLIMSOLL);
        CHECK_EQ(verdict_has(&v[0], "tried")->value, 23068672);
        CHECK_EQ(verdict_has(&v[0], "total")->value, 41943040);
        CHECK_EQ(verdict_has(&v[0], "free")->value, 10961578);
    }
#define REFUSAL(weights, pool, allows)                                                                               \
    "plimsoll: m: needs 36.0 MiB (weights " weights " MiB, KV pool " pool " MiB, activations 0.8 MiB), --vram "       \
    "allows " allows " MiB: a smaller --ctx, --fit or a --vram of 36.0M\n"
    CHECK_EQ(explain(REFUSAL("6.0", "24.0", "12.0")), 1);
    CHECK_EQ(v[0].cause, CAUSE_KV);
    CHECK(fixed_by("--fit"));
    CHECK(says(v[0].evidence, v[0].evidences, "weights are 6 MiB and the pool of keys and values 24 MiB; 12 MiB are"));
    CHECK_EQ(explain(REFUSAL("24.0", "36.0", "12.0")), 1); /* without any pool it would not fit either */
    CHECK_EQ(v[0].cause, CAUSE_WEIGHTS);
    CHECK_EQ(explain("plimsoll: the prompt has 2600 tokens, the context holds 512: shorten the conversation\n"), 1);
    CHECK(says(v[0].evidence, v[0].evidences, "2600 tokens were asked for and 512 are the limit"));
}

CHECK_MAIN
