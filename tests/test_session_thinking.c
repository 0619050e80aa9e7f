/* What a model thinks before a call of a tool: told to it again as long as the turn goes on, kept in the journal, and
 * out of the context with the turn's answer. */
#include "engine/thinking.h"
#include "tests/session_rig.h"

#define CALL(sum) "<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"" sum "\"}}</tool_call>"
#define TAGS(sum) "<tool_call>\n<function=calculator>\n<parameter=expression>\n" sum "\n</parameter>\n</function>\n" \
                  "</tool_call>"
#define SLOPPY "<tool_call><function=calculator><parameter=expression>42+1</parameter></function>"
#define THOUGHT(text) "<think>\n" text "\n</think>\n\n"

static const char *said[8]; /* what the model answers, one by one; the last again and again */
static struct buf heard[8]; /* the messages of each call, "role:text|" each */
static int n_said, fails_in; /* fails_in: the call that ends by an error; 0: none */
static int64_t exact[8], parts[8]; /* tokens of each call, counted as a whole and one by one */

static const char *one_by_one(const char *messages)
{
    struct window_figures f;
    const int i = MIN(n_said, 7);
    n_said++;
    heard[i].len = 0;
    buf_puts(&heard[i], messages);
    exact[i] = fake.a.n_prompt;
    fake.fault_at = i + 1 == fails_in ? 3 : 0;
    window_figures(s.w, &f);
    parts[i] = f.used;
    session_poll(&s); /* as while others go on: what no call carries may leave memory */
    return said[i] ? said[i] : "fine";
}

/* A session of the calculator's, with a model of this family. */
static void begin_as(const char *template, bool saved)
{
    folder = fresh_dir();
    open_app();
    struct engine_info *info = (struct engine_info *)app.info;
    snprintf(info->template, sizeof info->template, "%s", template);
    opts.tools = "calculator";
    opts.max_tokens = 1000;
    opts.keep_unsaved = 1; /* byte: where nothing is saved, nothing is kept that no call carries */
    fake.reply = one_by_one;
    n_said = fails_in = 0;
    memset(said, 0, sizeof said);
    OK(toolbox_open(&app.toolbox, &app, false, &err));
    struct session_role role = session_alone(&app);
    role.unsaved = !saved;
    CHECK_EQ(session_new_as(&s, &app, &role, "be brief", &err), 0);
}

static void end_all(void)
{
    CHECK_EQ(session_close(&s), 0);
    toolbox_close(&app.toolbox);
    close_app();
    for (size_t i = 0; i < COUNT_OF(heard); i++) buf_free(&heard[i]);
}

static const char *next(void)
{
    static struct buf prompt;
    next_prompt(&prompt);
    return prompt.data;
}

static void think_twice(void)
{
    said[0] = THOUGHT("Six sevens.") CALL("6*7");
    said[1] = THOUGHT("And one.") CALL("42+1");
    said[2] = THOUGHT("That is it.") "It is 43.";
    CHECK_EQ(say("what is it?"), 0);
    CHECK_STR(s.answer.data, "It is 43.");
    CHECK_EQ(n_said, 3);
}

/* Whether messages are those before, what the model wrote to them, and more. */
static bool go_on(int i)
{
    struct buf want = {0};
    buf_printf(&want, "%sassistant:%s|tool:", heard[i].data, said[i]);
    const bool same = strncmp(heard[i + 1].data, want.data, want.len) == 0;
    buf_free(&want);
    return same;
}

TEST(thinking_before_calls_is_told_while_the_turn_goes_on)
{
    for (int saved = 0; saved < 2; saved++) {
        begin_as("chatml", saved);
        CHECK_EQ(say("hello"), 0);
        n_said = 0;
        think_twice();
        CHECK(go_on(0)); /* so the pages of what was written are those of what is read */
        CHECK(go_on(1));
        for (int i = 1; i < 3; i++) /* its tokens are in the figures */
            CHECK_EQ(exact[i] - parts[i], exact[0] - parts[0]);
        CHECK(!strstr(next(), "<think>"));
        CHECK(strstr(next(), "assistant:" CALL("6*7") "|tool:42|assistant:" CALL("42+1") "|tool:43|"
                             "assistant:It is 43.|"));
        end_all();
    }
}

TEST(thinking_weighs_nothing_once_the_turn_is_over)
{
    struct window_figures f;
    struct window_call c;
    begin_as("chatml", true);
    OK(window_build(s.w, &c, &err));
    window_figures(s.w, &f);
    const int64_t seams = c.tokens - f.used;
    think_twice();
    OK(window_build(s.w, &c, &err));
    window_figures(s.w, &f);
    CHECK_EQ(f.used, c.tokens - seams);
    CHECK(c.broke && c.kept > 0); /* from the first call on it is another list */
    leave_and_come_back();
    window_figures(s.w, &f);
    CHECK_EQ(f.used, c.tokens - seams);
    CHECK(!strstr(next(), "<think>"));
    end_all();
}

TEST(thinking_before_calls_is_kept_in_the_journal)
{
    begin_as("chatml", true);
    think_twice();
    const uint64_t call = number_of(CALL("6*7"));
    check_text(call - 1, JOURNAL_THINKING, THOUGHT("Six sevens."));
    check_text(call, JOURNAL_CALL, CALL("6*7"));
    check_text(number_of(CALL("42+1")) - 1, JOURNAL_THINKING, THOUGHT("And one."));
    check_text(number_of("It is 43.") - 1, JOURNAL_THINKING, THOUGHT("That is it."));
    leave_and_come_back();
    check_text(call - 1, JOURNAL_THINKING, THOUGHT("Six sevens."));
    end_all();
}

TEST(thinking_is_not_told_to_families_that_never_see_it_again)
{
    begin_as("deepseek", true);
    think_twice();
    CHECK(!strstr(heard[1].data, "Six sevens") && !strstr(heard[2].data, "<think>"));
    check_text(number_of(CALL("6*7")) - 1, JOURNAL_THINKING, THOUGHT("Six sevens."));
    end_all();
}

/* In harmony it is a message of its own, which the template makes of it. */
TEST(thinking_is_told_to_harmony_without_tags)
{
    begin_as("harmony", true);
    think_twice();
    CHECK(strstr(heard[1].data, "|assistant:Six sevens.calculator {\"expression\": \"6*7\"}|tool:calculator \"42\"|"));
    CHECK(strstr(heard[2].data, "|assistant:And one.calculator {"));
    CHECK_EQ(parts[2] - parts[0] - (exact[2] - exact[0]), 0);
    next();
    for (int i = 0; i < s.prompt.n; i++) CHECK_EQ(s.prompt.msgs[i].thought, 0);
    CHECK(strstr(next(), "|assistant:calculator {"));
    end_all();
}

/* Before a call in tags, as Qwen 3.5's template has it: what the model reads is what it wrote, word for word. */
TEST(thinking_before_calls_in_tags)
{
    for (int coder = 0; coder < 2; coder++) {
        begin_as(coder ? "qwen3-coder" : "qwen3.5", true);
        said[0] = THOUGHT("Six sevens.") "I reckon.\n\n" TAGS("6*7");
        said[1] = THOUGHT("And one.") SLOPPY;
        said[2] = THOUGHT("That is it.") "It is 43.";
        CHECK_EQ(say("what is it?"), 0);
        CHECK_STR(s.answer.data, "It is 43.");
        CHECK(go_on(0));
        CHECK(go_on(1));
        for (int i = 1; i < 3; i++) CHECK_EQ(exact[i] - parts[i], exact[0] - parts[0]);
        const char *tools = strstr(heard[0].data, "# Tools\n\nYou have access to the following ");
        const char *brief = strstr(heard[0].data, "be brief");
        CHECK(tools && brief && (tools < brief) == !coder);
        CHECK(strstr(heard[0].data, coder ? "system:be brief\n\n# Tools" : "</IMPORTANT>\n\nbe brief|user:"));
        CHECK(strstr(next(), "assistant:I reckon.\n\n" TAGS("6*7") "|tool:42|assistant:" SLOPPY "|tool:43|"));
        CHECK(!strstr(next(), "<think>"));
        leave_and_come_back();
        CHECK(strstr(next(), "assistant:I reckon.\n\n" TAGS("6*7") "|tool:42|"));
        end_all();
    }
}

/* Of several calls the first is made, and told; those that others wrote are told as this model writes them. */
TEST(calls_are_told_in_the_form_that_the_model_writes)
{
    begin_as("qwen3.5", true);
    said[0] = "I reckon.\n\n" TAGS("6*7") "\n" TAGS("7*8");
    said[1] = CALL("42+1"); /* it drifts */
    said[2] = "It is 43.";
    CHECK_EQ(say("what is it?"), 0);
    CHECK_EQ(n_said, 3);
    check_text(number_of("I reckon.\n\n" TAGS("6*7")), JOURNAL_CALL, "I reckon.\n\n" TAGS("6*7"));
    check_text(number_of(TAGS("7*8")), JOURNAL_CALL, TAGS("7*8"));
    CHECK(strstr(heard[1].data, "|assistant:I reckon.\n\n" TAGS("6*7") "|tool:42|assistant:" TAGS("7*8") "|tool:56|"));
    CHECK(strstr(heard[2].data, "|tool:56|assistant:" TAGS("42+1") "|tool:43|"));
    struct engine_info *info = (struct engine_info *)app.info;
    snprintf(info->template, sizeof info->template, "chatml");
    CHECK(strstr(next(), "|assistant:" CALL("6*7") "|tool:42|assistant:" CALL("7*8") "|tool:56|assistant:"
                          CALL("42+1") "|tool:43|"));
    snprintf(info->template, sizeof info->template, "mistral-v7");
    CHECK(strstr(next(), "|assistant:[{\"name\": \"calculator\", \"arguments\": {\"expression\": \"6*7\"}, "));
    end_all();
}

/* As LFM2 does: words may stand behind a call too, several are a list, and the tools are a message of their own. */
TEST(calls_in_python_are_told_as_they_were_written)
{
#define PYTHON(sum) "<|tool_call_start|>[calculator(expression=\"" sum "\")]<|tool_call_end|>"
    for (int newer = 0; newer < 2; newer++) {
        begin_as(newer ? "lfm2.5" : "lfm2", true);
        said[0] = "I reckon. <|tool_call_start|>[calculator( expression='6*7' )]<|tool_call_end|> Wait.";
        said[1] = "So: <|tool_call_start|>[calculator(expression='7*8'), calculator(expression='1+1')]"
                  "<|tool_call_end|>!";
        said[2] = CALL("42+1"); /* it drifts */
        said[3] = "It is 43.";
        CHECK_EQ(say("what is it?"), 0);
        CHECK_EQ(n_said, 4);
        CHECK_STR(s.answer.data, "It is 43.");
        check_text(number_of(said[0]), JOURNAL_CALL, said[0]);
        CHECK(go_on(0)); /* so the pages of what was written are those of what is read */
        CHECK(strstr(heard[0].data, "system:be brief|system:[{\"type\": \"function\", \"function\": {\"name\": "));
        CHECK(strstr(heard[2].data, "|tool:42|assistant:So: " PYTHON("7*8") "|tool:56|assistant:" PYTHON("1+1")
                                    "!|tool:2|"));
        CHECK(strstr(heard[3].data, "!|tool:2|assistant:" PYTHON("42+1") "|tool:43|"));
        struct engine_info *info = (struct engine_info *)app.info;
        snprintf(info->template, sizeof info->template, "chatml");
        CHECK(strstr(next(), "|assistant:" CALL("6*7") "|tool:42|assistant:" CALL("7*8") "|tool:56|assistant:"
                              CALL("1+1") "|tool:2|assistant:" CALL("42+1") "|tool:43|"));
        snprintf(info->template, sizeof info->template, "qwen3.5");
        CHECK(strstr(next(), "|assistant:" TAGS("6*7") "|tool:42|assistant:" TAGS("7*8") "|tool:56|"));
        end_all();
    }
}

/* With --strict-tools there is one form alone, and a server gives calls in it. */
TEST(calls_in_tags_and_in_python_are_for_a_model_that_is_told_of_them)
{
    static const struct { const char *template; enum form_calls calls; } row[] = {
        {"qwen3.5", FORM_CALLS_QWEN35}, {"lfm2", FORM_CALLS_LFM2}, {"lfm2.5", FORM_CALLS_LFM2}};
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        begin_as(row[i].template, false);
        CHECK_EQ(turn_calls(&app), row[i].calls);
        opts.strict_tools = true;
        CHECK_EQ(turn_calls(&app), FORM_CALLS_OWN);
        opts.strict_tools = false;
        ((struct engine_info *)app.info)->remote = true;
        CHECK_EQ(turn_calls(&app), FORM_CALLS_OWN);
        ((struct engine_info *)app.info)->remote = false;
        end_all();
    }
}

TEST(thinking_that_is_longer_than_a_result_may_be_is_not_told)
{
    char text[CTX], more[CTX];
    begin_as("chatml", true);
    const int room = (int)session_room(&s), frame = (int)strlen(THOUGHT(""));
    for (int over = 0; over < 2; over++) {
        snprintf(text, sizeof text, THOUGHT("%0*d") CALL("6*7"), room - frame + over, 1);
        snprintf(more, sizeof more, "assistant:" THOUGHT("%0*d"), room - frame + over, 1);
        n_said = 0;
        said[0] = text;
        CHECK_EQ(say("what is it?"), 0);
        CHECK_EQ(strstr(heard[1].data, more) == NULL, over);
        CHECK(strstr(heard[1].data, CALL("6*7") "|tool:42|"));
    }
    end_all();
}

TEST(thinking_of_a_turn_that_is_withdrawn_is_forgotten)
{
    struct buf before = {0};
    begin_as("chatml", true);
    CHECK_EQ(say("hello"), 0);
    next_prompt(&before);
    n_said = 0;
    said[0] = THOUGHT("Six sevens.") CALL("6*7");
    fails_in = 2;
    CHECK(say("what is it?") != 0);
    fails_in = 0;
    CHECK(strstr(heard[1].data, THOUGHT("Six sevens.")));
    CHECK_STR(next(), before.data);
    CHECK(!texts_untell(&s.texts));
    n_said = 0;
    think_twice();
    CHECK(go_on(0) && go_on(1));
    CHECK(!strstr(next(), "<think>"));
    buf_free(&before);
    end_all();
}

TEST(thinking_s_inner_text_is_what_stands_between_its_tags)
{
    static const struct { const char *text, *inner; } t[] = {
        {THOUGHT("a b"), "a b"}, {"<think>a</think>", "a"}, {" \n<think> \n a\n\n b \t</think>\r\n", "a\n\n b"},
        {"<think>a", "a"}, {"a</think>", "a"}, {"a", "a"}, {" ", ""}, {"", ""}, {"<think></think>", ""},
        {"<think>\n \n</think>\n\n", ""}, {"<think>", ""}, {"</think>", ""}, {"<think><think>a</think></think>",
        "<think>a</think>"}, {"<thin", "<thin"},
    };
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        const size_t n = strlen(t[i].text);
        char *text = malloc(MAX(n, 1u)); /* nothing behind it may be read */
        size_t at = 99;
        CHECK(text != NULL);
        memcpy(text, t[i].text, n);
        const size_t len = thinking_inner(text, n, &at);
        CHECK_EQ(len, strlen(t[i].inner));
        CHECK(at <= n && memcmp(text + at, t[i].inner, len) == 0);
        free(text);
    }
}

CHECK_MAIN
