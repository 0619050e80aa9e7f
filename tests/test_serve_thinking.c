/* How long a model may think: what a chat is told of it, what each API of `plimsoll serve` says, what then comes. */
#include "tests/serve_rig.h"
#include "tests/vocab_file.h"

#define CHAT "/v1/chat/completions"
#define USER "'messages':[{'role':'user','content':'x'}]"
#define THOUGHT "abcdefghijklmnop"
#define SCRIPT "{'answer': '" THOUGHT "</think>\\n\\nSo.'}\n"
/* The tag is begun for it.  A token a byte: <think> and its newline are eight, so of twelve four are left. */
#define BUDGET "12"
#define AFTER "efghijklmnop</think>\n\nSo."
#define INSTEAD THOUGHT "</think>\n\nSo."

#define THINKING_OF(asked, ...)                                                                                       \
    SERVE("-m", vocab_file_thinks(asked), "--engine", "scripted", "--script-file",                                    \
          serve_file("answers", quoted(SCRIPT)), ##__VA_ARGS__)
#define THINKING(...) THINKING_OF(false, ##__VA_ARGS__)

/* Of 32 tokens a chat leaves eight for the tag, and the one that begins it has eight. */
TEST(a_chat_begins_bounds_and_skips_thinking)
{
    static const struct { bool asked; const char *answer, *flag, *n, *out; } row[] = {
        {false, THOUGHT "</think>\\n\\nSo.", NULL, NULL, "<think>\n" THOUGHT "</think>\n\nSo.\n"},
        {false, THOUGHT "So.", "--thinking", "32", "<think>\n" THOUGHT "\n</think>\n\nSo.\n"},
        {false, "So.", "--no-thinking", NULL, "So.\n"},
        {true, "So.", NULL, NULL, "So.\n"},
        {true, "So.", "--no-thinking", NULL, "So.\n"},
        {true, THOUGHT "</think>\\n\\nSo.", "--thinking", "100", "<think>\n" THOUGHT "</think>\n\nSo.\n"},
        {true, THOUGHT "So.", "--thinking", "32", "<think>\n" THOUGHT "\n</think>\n\nSo.\n"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct buf script = {0};
        struct child c = {0};
        buf_printf(&script, "{'answer':'%s'}\n", row[i].answer);
        const char *args[] = {"-m", vocab_file_thinks(row[i].asked), "--engine", "scripted", "--script-file",
                              serve_file("answers", quoted(script.data)), "--no-save", "--ctx", "4096", row[i].flag,
                              row[i].n, NULL};
        CHECK_EQ(child_run(&c, args, "why\n", 4), 0);
        CHECK_STR(c.out_text.data, row[i].out);
        child_free(&c);
        buf_free(&script);
    }
}

static const struct {
    const char *path, *body, *thought, *said; /* where the answer has them */
    bool off;
} asks[] = {
    {CHAT, USER ",'thinking_token_budget':" BUDGET, "choices.0.message.reasoning_content",
     "choices.0.message.content", false},
    {CHAT, USER ",'thinking_budget':" BUDGET, "choices.0.message.reasoning_content",
     "choices.0.message.content", false},
    {CHAT, USER ",'enable_thinking':true,'thinking_budget':" BUDGET, "choices.0.message.reasoning_content",
     "choices.0.message.content", false},
    {CHAT, USER ",'thinking_token_budget':0", "choices.0.message.reasoning_content",
     "choices.0.message.content", true},
    {CHAT, USER ",'enable_thinking':false", "choices.0.message.reasoning_content",
     "choices.0.message.content", true},
    {CHAT, USER ",'chat_template_kwargs':{'enable_thinking':false}", "choices.0.message.reasoning_content",
     "choices.0.message.content", true},
    {CHAT, USER ",'chat_template_kwargs':{'thinking':false}", "choices.0.message.reasoning_content",
     "choices.0.message.content", true},
    {CHAT, USER ",'reasoning_effort':'none'", "choices.0.message.reasoning_content",
     "choices.0.message.content", true},
    {"/v1/responses", "'input':'x','reasoning':{'effort':'none'}", "output.1.content.0.text",
     "output.0.content.0.text", true},
    {"/v1/messages", USER ",'max_tokens':100,'thinking':{'type':'enabled','budget_tokens':" BUDGET "}",
     "content.0.thinking", "content.1.text", false},
    {"/v1/messages", USER ",'max_tokens':100,'thinking':{'type':'disabled'}", "content.0.thinking",
     "content.0.text", true},
    {"/api/chat", USER ",'stream':false,'think':false", "message.thinking", "message.content", true},
    {"/api/generate", "'prompt':'x','stream':false,'think':false", "thinking", "response", true},
};

static void check_ask(size_t i, bool off)
{
    struct buf body = {0};
    buf_printf(&body, "{%s}", asks[i].body);
    json_t *a = ask(asks[i].path, body.data, 200);
    const char *thought = text_at(a, asks[i].thought), *said = text_at(a, asks[i].said);
    const bool right = off ? !thought : thought && strcmp(thought, "abcd") == 0;
    if (!right || !said || strcmp(said, off ? INSTEAD : AFTER) != 0)
        check_fail(__FILE__, __LINE__, "%s: \"%s\", \"%s\"", body.data, thought ? thought : "", said ? said : "");
    json_decref(a);
    buf_free(&body);
}

#define CHAT_AT "choices.0.message.reasoning_content", "choices.0.message.content"

/* thought, said: where they are in the answer. */
static void check_whole(const char *path, const char *body, const char *thought, const char *said)
{
    struct buf all = {0};
    buf_printf(&all, "{%s}", body);
    json_t *a = ask(path, all.data, 200);
    CHECK_STR(text_at(a, thought), THOUGHT);
    CHECK_STR(text_at(a, said), "So.");
    json_decref(a);
    buf_free(&all);
}

/* Of a model that skips it where nobody asks. */
TEST(thinking_that_has_to_be_asked_for_is_asked_for_by_each_api)
{
    THINKING_OF(true);
    json_t *a = ask(CHAT, "{" USER "}", 200);
    CHECK_STR(text_at(a, "choices.0.message.content"), INSTEAD);
    CHECK(!text_at(a, "choices.0.message.reasoning_content"));
    json_decref(a);
    check_whole(CHAT, USER ",'enable_thinking':true", CHAT_AT);
    check_whole(CHAT, USER ",'chat_template_kwargs':{'enable_thinking':true}", CHAT_AT);
    check_whole("/api/chat", USER ",'stream':false,'think':true", "message.thinking", "message.content");
    check_whole("/api/generate", "'prompt':'x','stream':false,'think':true", "thinking", "response");
    check_ask(0, false); /* a budget asks too */
    THINKING_OF(true, "--thinking", BUDGET);
    a = ask(CHAT, "{" USER ",'enable_thinking':true}", 200);
    CHECK_STR(text_at(a, "choices.0.message.reasoning_content"), "abcd"); /* the server's bound */
    json_decref(a);
    THINKING_OF(true, "--no-thinking");
    check_whole(CHAT, USER ",'enable_thinking':true", CHAT_AT);
}

TEST(thinking_is_bounded_as_each_api_asks)
{
    THINKING();
    for (size_t i = 0; i < COUNT_OF(asks); i++) check_ask(i, asks[i].off);
    check_whole(CHAT, USER, CHAT_AT);
    check_whole(CHAT, USER ",'enable_thinking':true", CHAT_AT);
    json_t *a = ask(CHAT, "{" USER ",'thinking_token_budget':" BUDGET ",'max_tokens':23}", 200);
    CHECK_STR(text_at(a, "choices.0.finish_reason"), "length");
    CHECK_STR(text_at(a, "choices.0.message.reasoning_content"), "abcd");
    CHECK_EQ(number_at(a, "usage.completion_tokens"), 23);
    json_decref(a);
    a = ask(CHAT, "{" USER ",'thinking_token_budget':" BUDGET "}", 200);
    const long long thought = number_at(a, "usage.completion_tokens_details.reasoning_tokens");
    CHECK(thought >= 12 && thought < number_at(a, "usage.completion_tokens"));
    json_decref(a);
    a = ask(CHAT, "{" USER ",'thinking_token_budget':" BUDGET ",'n':3}", 200);
    CHECK_EQ(number_at(a, "usage.completion_tokens_details.reasoning_tokens"), 3 * thought);
    json_decref(a);
    a = ask("/v1/messages", "{" USER ",'thinking':{'type':'enabled','budget_tokens':" BUDGET "},'max_tokens':99}", 200);
    CHECK_EQ(number_at(a, "usage.output_tokens_details.thinking_tokens"), thought);
    json_decref(a);
}

TEST(streams_have_the_thought_that_was_cut_and_then_the_answer)
{
    struct buf thinking = {0}, content = {0};
    THINKING();
    json_t *events = stream_of(CHAT, "{" USER ",'stream':true,'thinking_token_budget':" BUDGET "}");
    gather(events, "delta.reasoning_content", &thinking);
    gather(events, "delta.content", &content);
    CHECK_STR(thinking.data, "abcd");
    CHECK_STR(content.data, AFTER);
    json_decref(events);
    buf_free(&thinking);
    buf_free(&content);
}

TEST(the_server_may_bound_all_who_say_nothing)
{
    THINKING("--thinking", BUDGET);
    json_t *a = ask(CHAT, "{" USER "}", 200);
    CHECK_STR(text_at(a, "choices.0.message.reasoning_content"), "abcd");
    json_decref(a);
    check_ask(3, true);
    THINKING("--no-thinking");
    a = ask(CHAT, "{" USER "}", 200);
    CHECK_STR(text_at(a, "choices.0.message.content"), INSTEAD);
    json_decref(a);
    check_ask(0, false);
}

#define BEGUN(text) "'messages':[{'role':'user','content':'x'},{'role':'assistant','content':'" text "'}]"
#define GOES_ON ",'continue_final_message':true"

static long long prompt_of(const char *body)
{
    struct buf all = {0};
    buf_printf(&all, "{%s" GOES_ON "}", body);
    json_t *a = ask(CHAT, all.data, 200);
    const long long n = number_at(a, "usage.prompt_tokens");
    CHECK_STR(text_at(a, "choices.0.message.content"), INSTEAD); /* no tag was opened for it */
    json_decref(a);
    buf_free(&all);
    return n;
}

/* Who begins the answer has left thinking behind: the empty pair is there, as in the models' own templates, unless the
 * client wrote one. */
TEST(an_answer_that_was_begun_is_not_thought_about)
{
    static const char *const bad[][2] = {
        {"{" BEGUN("<think>hm") GOES_ON "}", "a thought that was begun"},
        {"{" BEGUN("So") GOES_ON ",'enable_thinking':true}", "leave one of the two out"},
        {"{" BEGUN("So") GOES_ON ",'thinking_token_budget':9}", "leave one of the two out"}};
    for (int asked = 0; asked < 2; asked++) {
        THINKING_OF(asked);
        CHECK_EQ(prompt_of(BEGUN("So")), prompt_of(BEGUN("<think>\\n\\n</think>\\n\\nSo")));
        CHECK_EQ(prompt_of(BEGUN("So") ",'enable_thinking':false"), prompt_of(BEGUN("So")));
        CHECK(prompt_of(BEGUN("So")) - prompt_of(BEGUN("S")) == 1);
        for (size_t i = 0; i < COUNT_OF(bad); i++) {
            json_t *a = ask(CHAT, bad[i][0], 400);
            if (!strstr(text_at(a, "error.message"), bad[i][1]))
                check_fail(__FILE__, __LINE__, "%s: %s", bad[i][0], text_at(a, "error.message"));
            json_decref(a);
        }
    }
    SERVE("-m", vocab_file_harmony(), "--engine", "scripted", "--script-file",
          serve_file("answers", "{\"marks\":true,\"answer\":\"abcd<|return|>\"}\n"));
    json_t *a = ask(CHAT, "{" BEGUN("So") GOES_ON "}", 200);
    CHECK_STR(text_at(a, "choices.0.message.content"), "abcd");
    CHECK(!text_at(a, "choices.0.message.reasoning_content"));
    json_decref(a);
}

/* Their answers have no place for tags of thinking. */
TEST(one_value_and_a_model_that_does_not_think_are_left_alone)
{
    static const char *const plain = "tests/fixtures/llama-gqa.gguf";
    SERVE("-m", vocab_file_tags(false), "--engine", "scripted", "--script-file",
          serve_file("answers", "{\"answer\":\"{\\\"a\\\":1}\"}\n"));
    json_t *a = ask(CHAT, "{" USER ",'enable_thinking':false,'response_format':{'type':'json_object'}}", 200);
    CHECK_STR(text_at(a, "choices.0.message.content"), "{\"a\":1}");
    json_decref(a);
    SERVE("-m", plain, "--engine", "scripted", "--script-file", serve_file("answers", "{\"answer\":\"So.\"}\n"));
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        struct buf body = {0};
        if (!asks[i].off) continue;
        buf_printf(&body, "{%s}", asks[i].body);
        a = ask(asks[i].path, body.data, 200);
        CHECK_STR(text_at(a, asks[i].said), "So.");
        json_decref(a);
        buf_free(&body);
    }
    a = ask(CHAT, "{" USER ",'enable_thinking':true}", 400);
    CHECK(strstr(text_at(a, "error.message"), "does not support thinking"));
    json_decref(a);
}

static void refused(const char *path, const char *body, const char *words)
{
    json_t *a = ask(path, body, 400);
    const char *text = text_at(a, "error.message") ? text_at(a, "error.message") : text_at(a, "error");
    if (!text || !strstr(text, words)) check_fail(__FILE__, __LINE__, "%s: %s", body, text ? text : "");
    json_decref(a);
}

TEST(what_is_no_bound_is_refused)
{
    static const struct { const char *path, *body, *words; } bad[] = {
        {CHAT, "{" USER ",'thinking_token_budget':-1}", "thinking_token_budget is to be a whole number from 0"},
        {CHAT, "{" USER ",'thinking_budget':'5'}", "thinking_budget is to be a whole number"},
        {CHAT, "{" USER ",'enable_thinking':'no'}", "enable_thinking is to be true or false"},
        {CHAT, "{" USER ",'chat_template_kwargs':[]}", "chat_template_kwargs is to be an object"},
        {CHAT, "{" USER ",'chat_template_kwargs':{'builtin_tools':true}}", "builtin_tools is not known"},
        {CHAT, "{" USER ",'chat_template_kwargs':{'enable_thinking':1}}", "enable_thinking is to be true or false"},
        {CHAT, "{" USER ",'reasoning_effort':'low'}", "is not told how much to think; leave it out, or say \"none\""},
        {"/v1/completions", "{'prompt':'x','enable_thinking':false}", "enable_thinking is not known"},
        {"/v1/messages", "{" USER ",'max_tokens':9,'thinking':{'type':'enabled'}}", "budget_tokens is to be a whole"},
        {"/v1/messages", "{" USER ",'max_tokens':9,'thinking':{'type':'enabled','budget_tokens':0}}", "from 1"},
        {"/v1/messages", "{" USER ",'max_tokens':9,'thinking':{'type':'disabled','budget_tokens':5}}", "budget"},
    };
    THINKING();
    for (size_t i = 0; i < COUNT_OF(bad); i++) refused(bad[i].path, bad[i].body, bad[i].words);
    SERVE("-m", vocab_file_harmony(), "--engine", "scripted", "--script-file",
          serve_file("answers", "{\"answer\":\"So.\"}\n"));
    refused(CHAT, "{" USER ",'enable_thinking':false}", "this model cannot be kept from thinking");
    refused(CHAT, "{" USER ",'thinking_token_budget':0}", "this model cannot be kept from thinking");
    refused(CHAT, "{" USER ",'reasoning_effort':'none'}", "low, medium or high");
}

/* Its head is ten tokens: two marks and a word of eight letters. */
TEST(gpt_oss_is_held_to_a_budget)
{
    static const struct { const char *path, *body, *thought, *said; } row[] = {
        {CHAT, USER ",'thinking_token_budget':14", CHAT_AT},
        {"/v1/messages", USER ",'max_tokens':100,'thinking':{'type':'enabled','budget_tokens':14}",
         "content.0.thinking", "content.1.text"}};
    SERVE("-m", vocab_file_harmony(), "--engine", "scripted", "--script-file",
          serve_file("answers", "{\"marks\":true,\"answer\":\"<|channel|>analysis<|message|>abcdSo.<|return|>\"}\n"));
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        char body[400];
        snprintf(body, sizeof body, "{%s}", row[i].body);
        json_t *a = ask(row[i].path, body, 200);
        CHECK_STR(text_at(a, row[i].thought), "abcd");
        CHECK_STR(text_at(a, row[i].said), "So.");
        json_decref(a);
    }
}

TEST(flags_that_cannot_be_kept_are_refused)
{
    static const char *const both[] = {"serve", "--port", "0", "--thinking", "9", "--no-thinking", NULL};
    const char *harmony[] = {"serve", "--port", "0", "-m", vocab_file_harmony(), "--engine", "scripted",
                             "--script-file", serve_file("answers", "{\"answer\":\"So.\"}\n"), "--no-thinking", NULL};
    const struct { const char *const *args, *words; } bad[] = {
        {both, "--thinking and --no-thinking do not go together"},
        {harmony, "--no-thinking: a gpt-oss model cannot be kept from it"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct child c = {0};
        child_start(&c, bad[i].args);
        CHECK_EQ(child_end(&c), 2);
        if (!strstr(c.err_text.data, bad[i].words)) check_fail(__FILE__, __LINE__, "%s", c.err_text.data);
        child_free(&c);
    }
}

CHECK_MAIN
