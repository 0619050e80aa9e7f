/* `plimsoll serve` where one request wants several answers (n, a list of prompts), its prompt repeated (echo), or an
 * answer gone on with that the client began. */
#include "tests/serve_rig.h"
#include "tests/vocab_file.h"
#include <time.h>

#define CHAT "/v1/chat/completions"
#define TEXT "/v1/completions"

#define WORDS "tests/fixtures/llama-gqa.gguf"

enum { MOST = 128 };

static json_t *ask_with(const char *path, int status, const char *fmt, ...)
{
    struct buf body = {0};
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_puts(&body, text);
    json_t *a = ask(path, body.data, status);
    buf_free(&body);
    return a;
}

/* The text of choice i, which is where it should be. */
static const char *choice(const json_t *a, int i)
{
    char path[64];
    snprintf(path, sizeof path, "choices.%d.index", i);
    CHECK_EQ(number_at(a, path), i);
    snprintf(path, sizeof path, "choices.%d.text", i);
    const char *text = text_at(a, path);
    snprintf(path, sizeof path, "choices.%d.message.content", i);
    return text ? text : text_at(a, path);
}

static void check_idle(void)
{
    CHECK_NEAR(metric("vllm:num_requests_running"), 0, 0);
    CHECK_NEAR(metric("vllm:num_requests_waiting"), 0, 0);
    CHECK_NEAR(metric("plimsoll:kv_tokens{state=\"reserved\"}"), 0, 0);
    CHECK_NEAR(metric("plimsoll:http_body_bytes"), 0, 0);
}

/* ---------------------------------------------------------------- several answers */

/* Each is what a request of its own would have got with the next seed; the prompt is counted once. */
TEST(n_answers_are_those_of_n_requests)
{
    SERVE("--parallel", "3", "--seed", "1");
    json_t *a = ask(TEXT, "{'prompt':'What is a token?','n':5,'best_of':5,'seed':7,'temperature':1.5,'max_tokens':6}",
                    200);
    CHECK_EQ(json_array_size(json_at(a, "choices")), 5);
    long long tokens = 0, prompt = 0, differ = 0;
    for (int i = 0; i < 5; i++) {
        json_t *one = ask_with(TEXT, 200, "{'prompt':'What is a token?','seed':%d,'temperature':1.5,'max_tokens':6}",
                               7 + i);
        CHECK_STR(choice(a, i), choice(one, 0));
        differ += strcmp(choice(a, i), choice(a, 0)) != 0;
        tokens += number_at(one, "usage.completion_tokens");
        prompt = number_at(one, "usage.prompt_tokens");
        json_decref(one);
    }
    CHECK(differ > 0);
    CHECK_EQ(number_at(a, "usage.prompt_tokens"), prompt);
    CHECK_EQ(number_at(a, "usage.completion_tokens"), tokens);
    CHECK_EQ(number_at(a, "usage.total_tokens"), prompt + tokens);
    json_decref(a);
    a = ask(CHAT, "{'messages':[{'role':'user','content':'Who are you?'}],'n':2,'temperature':0,'max_tokens':8}", 200);
    CHECK_STR(choice(a, 0), choice(a, 1));
    json_decref(a);
    a = ask(TEXT, "{'prompt':'What is a token?','n':8,'temperature':2,'max_tokens':24}", 200);
    for (int i = 1; i < 8; i++) CHECK(strcmp(choice(a, i), choice(a, i - 1)) != 0); /* each draws its own numbers */
    json_decref(a);
    check_idle();
}

/* Texts and lists of ids, more than run at once or may wait, in their order. */
TEST(prompts_of_a_list_are_answered_in_their_order)
{
    struct buf body = {0};
    json_t *ids = ask("/tokenize", "{'content':'A KV cache'}", 200);
    char *list = json_dumps(json_at(ids, "tokens"), JSON_COMPACT);
    SERVE("--parallel", "2", "--ctx", "64");
    json_decref(ids);
    buf_puts(&body, "{'temperature':0,'max_tokens':4,'n':2,'prompt':[");
    for (int i = 0; i < MOST / 2; i++) {
        if (i % 3 == 2) buf_printf(&body, "%s%s", i ? "," : "", list);
        else buf_printf(&body, "%s'%s%d'", i ? "," : "", i % 3 ? "What is a " : "number ", i);
    }
    buf_puts(&body, "]}");
    json_t *a = ask(TEXT, body.data, 200);
    CHECK_EQ(json_array_size(json_at(a, "choices")), MOST);
    long long prompts = 0;
    for (int i = 0; i < MOST / 2; i++) {
        json_t *one = i % 3 == 2 ? ask_with(TEXT, 200, "{'temperature':0,'max_tokens':4,'prompt':%s}", list)
                                 : ask_with(TEXT, 200, "{'temperature':0,'max_tokens':4,'prompt':'%s%d'}",
                                            i % 3 ? "What is a " : "number ", i);
        CHECK_STR(choice(a, 2 * i), choice(one, 0));
        CHECK_STR(choice(a, 2 * i + 1), choice(one, 0));
        prompts += number_at(one, "usage.prompt_tokens");
        json_decref(one);
    }
    CHECK_EQ(number_at(a, "usage.prompt_tokens"), prompts);
    json_decref(a);
    free(list);
    buf_free(&body);
    check_idle();
}

TEST(streams_of_several_answers_are_told_apart_by_their_index)
{
    static const char asked[] = "{'messages':[{'role':'user','content':'What is a token?'}],'n':6,'seed':3,"
                                "'temperature':1,'max_tokens':12%s}";
    char body[400];
    struct buf text[6] = {{0}};
    int ends[6] = {0}, heads[6] = {0}, usages = 0;
    SERVE("--parallel", "4");
    snprintf(body, sizeof body, asked, "");
    json_t *whole = ask(CHAT, body, 200), *e;
    size_t i;
    snprintf(body, sizeof body, asked, ",'stream':true,'stream_options':{'include_usage':true}");
    json_t *events = stream_of(CHAT, body);
    json_array_foreach(events, i, e) {
        CHECK_STR(text_at(e, "id"), text_at(json_array_get(events, 0), "id"));
        if (json_at(e, "usage.total_tokens")) {
            CHECK_EQ(i, json_array_size(events) - 1);
            usages++;
            CHECK_EQ(number_at(e, "usage.completion_tokens"), number_at(whole, "usage.completion_tokens"));
            continue;
        }
        const long long k = number_at(e, "choices.0.index");
        CHECK(k >= 0 && k < 6 && ends[k] == 0);
        heads[k] += text_at(e, "choices.0.delta.role") != NULL;
        if (text_at(e, "choices.0.delta.content")) buf_puts(&text[k], text_at(e, "choices.0.delta.content"));
        if (!text_at(e, "choices.0.finish_reason")) continue;
        ends[k]++;
        char path[64];
        snprintf(path, sizeof path, "choices.%lld.finish_reason", k);
        CHECK_STR(text_at(e, "choices.0.finish_reason"), text_at(whole, path));
    }
    CHECK_EQ(usages, 1);
    for (int k = 0; k < 6; k++) {
        CHECK_EQ(heads[k], 1);
        CHECK_EQ(ends[k], 1);
        CHECK_STR(text[k].data ? text[k].data : "", choice(whole, k));
        buf_free(&text[k]);
    }
    json_decref(events);
    json_decref(whole);
    check_idle();
}

/* Which tokens are penalised where nobody says it: a prompt that repeats itself is gone on with as it is, but for
 * repetition_penalty. */
TEST(penalties_look_at_what_the_apis_say)
{
#define SAME "'prompt':'page page page page page page page page page page','max_tokens':8,'temperature':0"
    SERVE("--parallel", "2");
    json_t *plain = ask(TEXT, "{" SAME "}", 200), *frequent = ask(TEXT, "{" SAME ",'frequency_penalty':2}", 200);
    json_t *present = ask(TEXT, "{" SAME ",'presence_penalty':2,'frequency_penalty':0}", 200);
    json_t *window = ask(TEXT, "{" SAME ",'frequency_penalty':2,'repeat_last_n':64}", 200);
    json_t *repeated = ask(TEXT, "{" SAME ",'repetition_penalty':50}", 200);
    const size_t first = strcspn(choice(plain, 0) + 1, " ") + 1; /* a token */
    CHECK(strncmp(choice(frequent, 0), choice(plain, 0), first) == 0);
    CHECK(strcmp(choice(frequent, 0), choice(plain, 0)) != 0);
    CHECK(strncmp(choice(present, 0), choice(plain, 0), first) == 0);
    CHECK(strncmp(choice(window, 0), choice(plain, 0), first) != 0);
    CHECK(strncmp(choice(repeated, 0), choice(plain, 0), first) != 0);
    json_decref(plain);
    json_decref(frequent);
    json_decref(present);
    json_decref(window);
    json_decref(repeated);
}

/* ---------------------------------------------------------------- prompts repeated */

static double value_at(const json_t *a, const char *list, size_t i)
{
    const json_t *v = json_array_get(json_at(a, list), i);
    CHECK(json_is_real(v));
    return json_real_value(v);
}

/* What a prompt's tokens are given is what they are given where the model writes them itself, to the bit. */
TEST(echo_scores_the_prompt)
{
    SERVE("--parallel", "2");
    json_t *a = ask(TEXT, "{'prompt':'A KV cache','max_tokens':9,'temperature':0,'logprobs':3}", 200);
    const json_t *made = json_at(a, "choices.0.logprobs");
    const size_t n = json_array_size(json_object_get(made, "tokens"));
    char *whole = NULL;
    CHECK(asprintf(&whole, "A KV cache%s", choice(a, 0)) > 0);
    json_t *b = ask_with(TEXT, 200, "{'prompt':'%s','max_tokens':0,'echo':true,'logprobs':3}", whole);
    CHECK_STR(choice(b, 0), whole);
    CHECK_STR(text_at(b, "choices.0.finish_reason"), "length");
    CHECK_EQ(number_at(b, "usage.completion_tokens"), 0);
    const json_t *tokens = json_at(b, "choices.0.logprobs.tokens");
    const json_t *tops = json_at(b, "choices.0.logprobs.top_logprobs");
    const json_t *offsets = json_at(b, "choices.0.logprobs.text_offset");
    const size_t all = json_array_size(tokens);
    CHECK_EQ(all, (size_t)number_at(b, "usage.prompt_tokens"));
    CHECK(json_is_null(json_array_get(json_at(b, "choices.0.logprobs.token_logprobs"), 0)));
    CHECK(json_is_null(json_array_get(tops, 0)));
    size_t at = 0;
    for (size_t i = 0; i < all; i++) {
        CHECK_EQ((size_t)json_integer_value(json_array_get(offsets, i)), at);
        at += json_string_length(json_array_get(tokens, i));
    }
    CHECK_EQ(at, strlen(whole));
    for (size_t i = 0; i < n; i++) {
        const size_t there = all - n + i;
        CHECK_STR(json_string_value(json_array_get(tokens, there)),
                  json_string_value(json_array_get(json_object_get(made, "tokens"), i)));
        CHECK_NEAR(value_at(b, "choices.0.logprobs.token_logprobs", there),
                   value_at(a, "choices.0.logprobs.token_logprobs", i), 0);
        CHECK(json_equal(json_array_get(tops, there), json_array_get(json_object_get(made, "top_logprobs"), i)));
        CHECK_EQ(json_object_size(json_array_get(tops, there)), 3);
    }
    json_decref(a);
    json_decref(b);
    free(whole);
}

TEST(echo_puts_the_prompt_before_the_answer)
{
    struct buf text = {0};
    json_t *e;
    size_t i, scored = 0;
    SERVE("--parallel", "2");
    json_t *plain = ask(TEXT, "{'prompt':['Hell\u00f6','What is'],'max_tokens':4,'temperature':0}", 200);
    json_t *a = ask(TEXT, "{'prompt':['Hell\u00f6','What is'],'max_tokens':4,'temperature':0,'echo':true,'logprobs':0}",
                    200);
    for (int k = 0; k < 2; k++) {
        buf_puts(&text, k ? "What is" : "Hell\xc3\xb6");
        buf_puts(&text, choice(plain, k));
        CHECK_STR(choice(a, k), text.data);
        text.len = 0;
    }
    const json_t *offsets = json_at(a, "choices.0.logprobs.text_offset");
    const size_t first = json_array_size(offsets) - 4; /* characters, not bytes */
    CHECK_EQ(json_integer_value(json_array_get(offsets, first)), 5);
    json_decref(plain);
    json_decref(a);
    a = stream_of(TEXT, "{'prompt':'What is','max_tokens':4,'temperature':0,'echo':true,'logprobs':1,'stream':true}");
    json_array_foreach(a, i, e) {
        buf_puts(&text, text_at(e, "choices.0.text"));
        scored += json_array_size(json_at(e, "choices.0.logprobs.tokens"));
        CHECK_EQ(json_array_size(json_at(e, "choices.0.logprobs.token_logprobs")),
                 json_array_size(json_at(e, "choices.0.logprobs.tokens")));
    }
    CHECK(strncmp(text.data, "What is", 7) == 0 && text.len > 7);
    json_t *b = ask(TEXT, "{'prompt':'What is','max_tokens':4,'temperature':0,'echo':true,'logprobs':1}", 200);
    CHECK_EQ(scored, json_array_size(json_at(b, "choices.0.logprobs.tokens")));
    CHECK_STR(choice(b, 0), text.data);
    json_decref(a);
    json_decref(b);
    buf_free(&text);
    check_idle();
}

/* ---------------------------------------------------------------- what goes wrong */

#define TEN "0123456789 "
#define LONG TEN TEN TEN TEN TEN TEN TEN

TEST(what_is_too_much_is_refused_before_anything_is_begun)
{
    static const struct { const char *path, *body, *param; } bad[] = {
        {TEXT, "{'prompt':'x','n':0}", "n"},
        {TEXT, "{'prompt':'x','n':129}", "n"},
        {TEXT, "{'prompt':['x','y'],'n':65}", "prompt"},
        {TEXT, "{'prompt':'x','n':2,'best_of':3}", "best_of"},
        {TEXT, "{'prompt':'x','best_of':2}", "best_of"},
        {TEXT, "{'prompt':[]}", "prompt"},
        {TEXT, "{'prompt':['x',7]}", "prompt[1]"},
        {TEXT, "{'prompt':['x',[]]}", "prompt[1]"},
        {TEXT, "{'prompt':[[1],[1,9999999]]}", "prompt[1]"},
        {TEXT, "{'prompt':[1,'x']}", "prompt"},
        {TEXT, "{'prompt':['x','y',''],'max_tokens':1}", "prompt"},
        {TEXT, "{'prompt':'x','max_tokens':0}", "max_tokens"},
        {TEXT, "{'prompt':'x','echo':1}", "echo"},
        {TEXT, "{'prompt':'x','suffix':'y'}", "suffix"},
        {TEXT, "{'prompt':['x','" LONG "']}", "prompt[1]"},
        {TEXT, "{'prompt':'" LONG "'}", "prompt"},
        {CHAT, "{'messages':[{'role':'user','content':'x'}],'n':129}", "n"},
        {CHAT, "{'messages':[{'role':'user','content':'x'}],'echo':true}", "echo"},
    };
    SERVE("--ctx", "64");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        json_t *a = ask(bad[i].path, bad[i].body, 400);
        const char *param = text_at(a, "error.param");
        if (!param || strcmp(param, bad[i].param) != 0)
            check_fail(__FILE__, __LINE__, "%s: %s", bad[i].body, param ? param : "");
        json_decref(a);
    }
    CHECK_NEAR(metric("vllm:prompt_tokens_total"), 0, 0);
    check_idle();
}

#define SCRIPTED(answers, ...)                                                                                        \
    SERVE("-m", WORDS, "--engine", "scripted", "--script-file", serve_file("answers", quoted(answers)), ##__VA_ARGS__)

/* One of many fails: the client is told, and nothing of the others is left. */
TEST(an_engine_that_fails_one_answer_fails_the_request)
{
    static const char script[] = "{'answer':'one two three four five six seven eight nine'}\n"
                                 "{'fault':{'pass':8,'text':'the device was lost'}}\n";
    SCRIPTED(script, "--parallel", "2");
    json_t *a = ask(TEXT, "{'prompt':['a','b','c','d','e','f'],'max_tokens':9}", 500);
    CHECK(strstr(text_at(a, "error.message"), "the device was lost") != NULL);
    json_decref(a);
    json_decref(ask(TEXT, "{'prompt':'a','max_tokens':2}", 200));
    check_idle();
    SCRIPTED(script, "--parallel", "2");
    struct response r;
    post(TEXT, "{'prompt':['a','b','c','d','e','f'],'max_tokens':9,'stream':true}", &r);
    CHECK(strstr(r.body.data, "the device was lost") && !strstr(r.body.data, "[DONE]"));
    response_free(&r);
    check_idle();
}

static int begin_stream(const char *body)
{
    struct buf out = {0};
    const size_t n = strlen(body);
    int fd = client();
    buf_printf(&out, "POST " TEXT " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
               "%zu\r\nConnection: close\r\n\r\n%s", n, quoted(body));
    client_put(fd, out.data, out.len);
    buf_free(&out);
    return fd;
}

/* Of a hundred answers as many are in the engine as run at once, and the next when one is over; what was asked is held
 * until the engine has all of it.  Whoever needs more memory than they leave goes before the rest. */
TEST(others_do_not_wait_for_the_rest_of_a_batch)
{
    struct buf some = {0};
    SERVE("--parallel", "4", "--ctx", "512", "--pool", "512");
    int fd = begin_stream("{'prompt':'What is a token?','n':100,'max_tokens':90,'seed':1,'temperature':2,"
                          "'stream':true}");
    client_read(fd, &some, "data: ");
    CHECK_NEAR(metric("vllm:num_requests_running"), 4, 0);
    CHECK_NEAR(metric("vllm:num_requests_waiting"), 0, 0);
    CHECK(metric("plimsoll:http_body_bytes") > 0);
    const double before = metric("vllm:request_success_total{finished_reason=\"length\"}");
    json_decref(ask(TEXT, "{'prompt':'Hello','max_tokens':500}", 200));
    const double ended = metric("vllm:request_success_total{finished_reason=\"length\"}") - before;
    printf("  %.0f of the batch ended meanwhile\n", ended);
    CHECK(ended < 10);
    CHECK_NEAR(metric("vllm:num_requests_running"), 4, 0); /* it goes on */
    close(fd); /* and is given up with its client */
    buf_free(&some);
    double running = 1;
    for (int i = 0; i < 100 && running > 0; i++) {
        json_decref(ask(TEXT, "{'prompt':'Hello','max_tokens':1}", 200));
        running = metric("vllm:num_requests_running") + metric("vllm:num_requests_waiting");
    }
    check_idle();
    fd = begin_stream("{'prompt':'What is a token?','max_tokens':450,'stream':true}");
    client_read(fd, &some, "data: ");
    CHECK_NEAR(metric("plimsoll:http_body_bytes"), 0, 0);
    close(fd);
    buf_free(&some);
    CHECK_EQ(serve_end(), 130);
}

/* It ends while some of a request's answers were not begun yet. */
TEST(a_server_that_ends_tells_who_wanted_more)
{
    struct buf all = {0};
    SERVE("--parallel", "1", "--ctx", "1024");
    int fd = begin_stream("{'prompt':'What is a token?','n':3,'max_tokens':900,'seed':1,'temperature':3}");
    for (int i = 0; i < 100 && metric("vllm:num_requests_running") < 1; i++) continue;
    kill(server.pid, SIGINT);
    client_read(fd, &all, NULL);
    CHECK(all.data && strstr(all.data, "503") && strstr(all.data, "shutting_down"));
    close(fd);
    buf_free(&all);
    CHECK_EQ(serve_end(), 130);
}

/* ---------------------------------------------------------------- answers that were begun */

#define ASKED "{'role':'user','content':'What is a token?'}"
#define BEGUN "{'role':'assistant','content':'A token is'}"

/* As if the model had written the beginning itself. */
TEST(an_answer_that_was_begun_is_gone_on_with)
{
    static const struct { const char *path, *body, *where; } row[] = {
        {CHAT, "'messages':[" ASKED "," BEGUN "],'continue_final_message':true", "choices.0.message.content"},
        {CHAT, "'messages':[" ASKED "," BEGUN "],'continue_final_message':true,'add_generation_prompt':false",
         "choices.0.message.content"},
        {CHAT, "'messages':[" ASKED ",{'role':'assistant','prefix':true,'content':[{'type':'text','text':"
               "'A token is'}]}]", "choices.0.message.content"},
        {"/v1/messages", "'messages':[" ASKED "," BEGUN "]", "content.0.text"},
        {"/api/chat", "'stream':false,'messages':[" ASKED "," BEGUN "]", "message.content"},
    };
    SERVE("--temp", "0");
    json_t *a = ask(CHAT, "{'max_tokens':40,'messages':[" ASKED "]}", 200);
    const char *whole = text_at(a, "choices.0.message.content");
    CHECK(strncmp(whole, "A token is", 10) == 0);
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        json_t *b = ask_with(row[i].path, 200, "{%s%s}", row[i].body,
                             row[i].path[1] == 'a' ? ",'options':{'num_predict':37}" : ",'max_tokens':37");
        CHECK_STR(text_at(b, row[i].where), whole + 10);
        json_decref(b);
    }
    json_t *b = ask(CHAT, "{'max_tokens':40,'messages':[" ASKED "," BEGUN "],'add_generation_prompt':true}", 200);
    CHECK(strcmp(text_at(b, "choices.0.message.content"), whole + 10) != 0); /* a turn of its own */
    json_decref(b);
    json_decref(a);
    a = ask("/v1/messages/count_tokens", "{'messages':[" ASKED "," BEGUN "]}", 200);
    b = ask("/v1/messages", "{'max_tokens':1,'messages':[" ASKED "," BEGUN "]}", 200);
    CHECK_EQ(number_at(a, "input_tokens"), number_at(b, "usage.input_tokens"));
    json_decref(a);
    json_decref(b);
}

#define CALLED "{'role':'assistant','content':null,'tool_calls':[{'id':'a','type':'function','function':"             \
    "{'name':'f','arguments':'{}'}}]}"
#define TOOLS "'tools':[{'type':'function','function':{'name':'f','parameters':{'type':'object','properties':{}}}}]"

/* Anthropic's and Ollama's requests say of no message that it is to be gone on with: before a form, or a call, it
 * stands as it is.  So LangGraph's agents ask for response_format when they are done. */
TEST(what_was_said_stands_before_an_answer_of_a_form)
{
#define FORM "{'type':'object','required':['n'],'properties':{'n':{'type':'integer'}},'additionalProperties':false}"
    static const struct { const char *path, *form, *where; } row[] = {
        {"/v1/messages", ",'max_tokens':40,'output_config':{'format':{'type':'json_schema','schema':" FORM "}}",
         "content.0.text"},
        {"/api/chat", ",'stream':false,'format':" FORM, "message.content"},
    };
    SERVE("--temp", "0");
    json_t *a = ask(CHAT, "{'messages':[" ASKED "," BEGUN "],'response_format':{'type':'json_schema','json_schema':{"
                    "'name':'s','schema':" FORM "}}}", 200);
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        json_t *b = ask_with(row[i].path, 200, "{'messages':[" ASKED "," BEGUN "]%s}", row[i].form);
        CHECK_STR(text_at(b, row[i].where), text_at(a, "choices.0.message.content"));
        json_decref(b);
    }
    json_decref(a);
    a = ask("/v1/messages", "{'max_tokens':40,'messages':[" ASKED "," BEGUN "],'tool_choice':{'type':'any'},'tools':["
            "{'name':'f','input_schema':{'type':'object','properties':{}}}]}", 200);
    CHECK_STR(text_at(a, "content.0.name"), "f");
    json_decref(a);
}

TEST(what_cannot_be_gone_on_with_is_refused)
{
    static const struct { const char *path, *body, *words; } bad[] = {
        {CHAT, "{'messages':[" ASKED "],'continue_final_message':true}", "is to be the assistant's"},
        {CHAT, "{'messages':[{'role':'user','content':'x','prefix':true}]}", "is to be the assistant's"},
        {CHAT, "{'messages':[" ASKED "," BEGUN "],'continue_final_message':true,'add_generation_prompt':true}",
         "add_generation_prompt is false where"},
        {CHAT, "{'messages':[" ASKED "],'add_generation_prompt':false}", "add_generation_prompt is false where"},
        {CHAT, "{'messages':[" ASKED "," BEGUN "],'continue_final_message':1}", "is to be true or false"},
        {CHAT, "{'messages':[" ASKED "," CALLED "],'continue_final_message':true}", "a call cannot be gone on with"},
        {CHAT, "{'messages':[" ASKED "," BEGUN "],'continue_final_message':true,'response_format':"
               "{'type':'json_object'}}", "held to a form"},
        {CHAT, "{'messages':[" ASKED "," BEGUN "],'continue_final_message':true,'tool_choice':'required'," TOOLS "}",
         "held to a form"},
        {TEXT, "{'prompt':'x','continue_final_message':true}", "not known here"},
    };
    SERVE("--ctx", "512");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        json_t *a = ask(bad[i].path, bad[i].body, 400);
        const char *text = text_at(a, "error.message");
        if (!text || !strstr(text, bad[i].words)) check_fail(__FILE__, __LINE__, "%s: %s", bad[i].body, text);
        json_decref(a);
    }
}

CHECK_MAIN
